"""Texts about a point: three headlines, settings, changes, claims, and the commands that make or publish its release.

The headlines answer who can be found, what can be learned, and how useful the release is. Each is a sentence with its
measures in brackets, and a share, so that it can be an axis of a map.

The settings are read from the candidate alone, so a map read from a file has the same texts. A command line is derived
from the fields of the declaration and of the candidate, so a new field has an option of the same name or is an error.
"""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

from sfumato.config.sections import changed, source_word
from sfumato.measures.all_measures import MEASURES
from sfumato.release.changes import LEFT_OUT
from sfumato.report.data_summary import data_words
from sfumato.report.measure_sentences import GUESSES, Subject, changes_sentence, guess_share, guess_without, sentence
from sfumato.texts.catalogue import counted, number, percent, t, wrapped
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.public import PublicStudy
from sfumato.tradeoff.question.knee import COUNT_ERRORS, Place, place
from sfumato.tradeoff.question.recipients import RECIPIENTS, unpublishable_reason
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.study import Study

FOUND = (("prosecutor",), ("protected_risk", "itemset_risk"))
"""The risks of being found, by columns and by items. The first known one of each is used, and the worse of these."""

IDENTITY = frozenset(
    ("k", "smallest_group", "prosecutor", "marketer", "weighted_k", "protected_risk", "itemset_risk", "itemset_risk_99")
)
"""The risks of being found: a map with one of these as axis opens on this headline."""

LINKED = "record_linkage"
"""The risk of being found if values were changed; k then counts equal records, which means little."""

WORST_GROUP = "l_frequency"
"""One over the largest share of a sensitive value in any group."""

MOST_COLUMNS = 3
"""The most sensitive columns of a headline."""

USEFUL = ("u_loss", "query_error", "bounded_utility", "loss", "ncp")
"""The measures of usefulness, if the study has no utility axis."""


FINITE = {"query_utility": "bounded_utility"}
"""Measures that are infinite for the original, with their finite equivalents."""


@dataclass(frozen=True)
class Headline:
    """One of the three: its title, its sentence, and its share."""

    about: str
    said: str
    measures: tuple[str, ...] = ()
    """Its measures."""

    share: float | None = None
    """The success rate of finding a person or of a guess; the share of usefulness kept."""

    def values(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"about": self.about, "said": self.said, "measures": list(self.measures), "share": self.share}


def headlines(map_: Map, point: Point) -> tuple[Headline, Headline, Headline]:
    """Return the three headlines of a point."""
    subject = Subject.of(map_)
    return found(point, subject), learned(point, subject), useful(map_, point, subject)


def found(point: Point, subject: Subject) -> Headline:
    """Describe the risk of being found."""
    about, measures = t("headline.who_can"), point.measures
    known = [next((name for name in names if point.has([name])), None) for names in FOUND]
    risks = {name: measures[name] for name in known if name is not None}
    if point.is_changed and point.has([LINKED]):
        risks = {LINKED: measures[LINKED]}
    elif point.is_changed and measures.get("k", 1) <= 1:
        return Headline(about, t("headline.changed", linked=LINKED))
    elif not risks and point.has(["k"]):
        return Headline(
            about,
            sentence("k", measures["k"], subject),
            ("k",),
            None if subject.unit == "persons" else 1 / measures["k"],
        )
    if risks:
        worst = max(risks, key=lambda name: risks[name])
        counted_persons = subject.unit == "persons" and MEASURES[worst].said_of == "baskets"  # no row is found so often
        value = None if counted_persons else risks[worst]
        return Headline(about, sentence(worst, risks[worst], subject), (worst,), value)
    if not point.candidate.anonymizer.people and not point.is_noisy:
        return Headline(about, t("headline.records_synthetic"))
    if point.is_noisy:
        return Headline(about, t("headline.no_record", point=point))
    return Headline(about, t("headline.not_measured_2"))


def learned(point: Point, subject: Subject) -> Headline:
    """Describe for each sensitive column its worst group, and the success rate of the best guess.

    The most exposed columns come first. The share is the highest success rate.
    """
    about, measures = t("headline.what_can"), point.measures
    columns = subject.of_columns(measures, point.by_sensitive)
    guesses = [guess for about_column, own in columns if (guess := best_guess(about_column, own)) is not None]
    if guesses:
        guesses.sort(key=lambda guess: (-guess.in_worst_group, -guess.share))
        names = dict.fromkeys(name for guess in guesses for name in guess.measures)
        said = " ".join(guess.said for guess in guesses[:MOST_COLUMNS])
        left = counted(len(guesses) - MOST_COLUMNS, "more column")
        more = t("headline.report", left=left) if len(guesses) > MOST_COLUMNS else ""
        return Headline(about, said + more, tuple(names), max(guess.share for guess in guesses))
    for name in ("rho", "a_know"):
        if point.has([name]):
            return Headline(about, sentence(name, measures[name], subject), (name,), measures[name])
    if subject.sensitive and not subject.are_bounds:
        return Headline(about, t("headline.no_published", subject=subject))
    kind = "item" if "itemset_risk" in measures else "column"
    nothing = t("headline.not_measured_2") if subject.sensitive else t("headline.no_declared", kind=kind)
    return Headline(about, nothing)


@dataclass(frozen=True)
class BestGuess:
    """The success rate of the best guess about one sensitive column: on average, and in the worst group."""

    said: str
    measures: tuple[str, ...]
    share: float
    """The average, at least that of a guess without the file: a misleading release is not safer than that."""

    without: float | None
    in_worst_group: float


def best_guess(subject: Subject, measures: Mapping[str, float]) -> BestGuess | None:
    """Return the best attempted guess about a sensitive column; None if none is known."""
    baselines = {name: guess_without(name, measures, subject) for name in GUESSES}
    shares = {name: guess_share(name, measures[name], baselines[name]) for name in GUESSES if name in measures}
    right = {name: share for name, share in shares.items() if share is not None}
    if not right:
        return None
    best = max(right, key=lambda name: right[name])
    known = [name for name in (WORST_GROUP, best) if name in measures]
    said = " ".join(sentence(name, measures[name], subject, baselines.get(name)) for name in known)
    worst = min(1 / measures[WORST_GROUP], 1.0) if WORST_GROUP in measures else 0.0
    return BestGuess(said, tuple(known), max(right[best], baselines[best] or 0.0), baselines[best], worst)


def useful(map_: Map, point: Point, subject: Subject) -> Headline:
    """Describe the share of the original's usefulness that is kept, by the study's own measure."""
    about, name = t("headline.how_useful"), useful_measure(map_)
    if name is None or not point.has([name]):
        return Headline(about, t("headline.not_measured_2") if name is None else t("headline.not_measured", name=name))
    kept = Place(None) if subject.are_bounds else place(map_, name, point)
    whose, _ = subject.worst_column(name, point.measures, point.by_sensitive)
    words = sentence(name, point.measures[name], whose)
    return Headline(about, f"{kept_words(kept)} {words}".lstrip(), (name,), kept.share)


def useful_measure(map_: Map) -> str | None:
    """Return the measure of usefulness: the study's utility axis, else the first known one."""
    names = [FINITE.get(name, name) for name in (*map_.study.axes, *USEFUL)]
    useful = (name for name in names if name in MEASURES and MEASURES[name].kind == "utility")
    return next((name for name in useful if any(point.has([name]) for point in map_.points)), None)


def kept_words(kept: Place) -> str:
    """Describe the share of usefulness that is kept; empty if unknown.

    >>> kept_words(Place(0.8)), kept_words(Place(-0.1)), kept_words(Place(0.0))
    ('80 % of the achievable usefulness is kept.', 'It is less useful than publishing nothing.', \
'It is as useful as publishing nothing.')
    """
    if kept.share is None:
        return ""
    if abs(kept.share) < 1e-9:
        return t("headline.as_useful")
    if kept.share < 0:
        return t("headline.less_useful")
    return t("headline.achievable_usefulness", whole_percent=whole_percent(kept.share))


def whole_percent(share: float) -> str:
    """Return a share in whole percent, with more digits only if it would be 0 or 100 otherwise.

    >>> whole_percent(0.797), whole_percent(0.9996), whole_percent(1), whole_percent(0.004), whole_percent(-0.412)
    ('80 %', '99.96 %', '100 %', '0.4 %', '-41 %')
    """
    if share <= -1e-6:
        return f"-{whole_percent(-share)}"
    whole = round(round(100 * share, 9))  # so that 1 / (1 / 0.095) equals 0.095
    return f"{whole:,} %" if abs(share - whole / 100) < 1e-9 or 0 < whole < 100 or whole > 100 else percent(share)


def headline_lines(map_: Map, point: Point) -> Iterator[str]:
    """Return the lines of the three headlines, with their measures in brackets."""
    for headline in headlines(map_, point):
        formulas = ", ".join(f"{name} {number(point.measures[name])}" for name in headline.measures)
        yield wrapped(f"{headline.about}: {headline.said}{f' [{formulas}]' if formulas else ''}")


SHORT = 80
"""The line length without `--details`."""


def brief_lines(map_: Map, point: Point) -> Iterator[str]:
    """Write the verdict on a point, its three headlines, and what was done to the columns, in a few lines."""
    texts, facts = brief(map_, point)
    yield from (wrapped(text, width=SHORT).lstrip() for text in texts)
    yield from (wrapped(fact, "- ", SHORT) for fact in facts)


def brief(map_: Map, point: Point) -> tuple[list[str], list[str]]:
    """Return the verdict on a point, and its three headlines with what was done to the columns, as sentences."""
    hidden = [name for name, change in point.changes.items() if change.startswith(LEFT_OUT)]
    texts = [t("brief.recommended", point=point, settings=settings(point)), fit_sentence(map_, point)]
    texts += [t("brief.hidden", names=hidden, n=len(hidden))] if hidden else []
    facts = [f"{headline.about}: {headline.said}" for headline in headlines(map_, point)]
    if done := done_sentence(map_, point):
        facts.append(t("choice.what_done", done=done))
    return texts, facts


def fit_sentence(map_: Map, point: Point) -> str:
    """Describe the recipients for which a point is fit, the first objection of the others, and unknown measures."""
    if why := unpublishable_reason(point):
        return t("brief.unfit", why=why)
    judged = {name: own.fitness(map_, point) for name, own in RECIPIENTS.items()}
    fit = [name for name, each in judged.items() if each.is_fit]
    unfit = [name for name, each in judged.items() if each.against]
    open_ = [name for name, each in judged.items() if each.unmeasured and not each.against]
    sentences = [
        t("brief.fit", fit=fit) if fit else "",
        t("brief.not_fit", name=unfit[0], why=judged[unfit[0]].against[0]) if unfit else "",
        t("brief.not_known", names=open_, measures=judged[open_[0]].unmeasured) if open_ else "",
    ]
    return " ".join(filter(None, sentences))


# -- axes --------------------------------------------------------------------------------------------------

PLAIN = {
    "found": ("risk", "lower"),
    "guessed": ("risk", "lower"),
    "sure": ("risk", "lower"),
    "kept": ("utility", "higher"),
    "attacked": ("risk", "lower"),
}
"""The headlines as axes of a map, in shares: kind and direction; the last one only with attacks."""

WORST = "attack_worst"


def plain_label(name: str) -> str:
    """Return the title of a headline as axis."""
    return t(f"plain.{name}.label")


def plain_meaning(map_: Map, name: str, column: str) -> str:
    """Define a headline's share on a map, and its limits for perturbed or synthetic records."""
    linked = name == "found" and any(point.is_changed and point.has([LINKED]) for point in map_.points)
    misled = name == "guessed" and any(point.measures.get("empirical_breach", 0.0) < 0 for point in map_.points)
    several = name in ("guessed", "sure") and len(map_.about.get("sensitive", ())) > 1
    empty = name == "kept" and useful_measure(map_) in COUNT_ERRORS
    untried = name in ("found", "guessed") and not _attacked(map_) and any(map(_are_records, map_.points))
    persons = name != "kept" and map_.study.unit == "persons"
    more = {"several": several, "linked": linked, "misled": misled, "empty": empty, "untried": untried}
    meaning = t(f"plain.{name}.{'persons' if persons else 'meaning'}", column=column)
    return meaning + "".join(t(f"plain.{each}") for each, is_so in more.items() if is_so)


def plain_names(map_: Map) -> list[str]:
    """Return the headlines that points of a map can have."""
    return [name for name in PLAIN if name != "attacked" or _attacked(map_)]


def _attacked(map_: Map) -> bool:
    """Return whether several releases of a map were attacked."""
    return sum(point.has([WORST]) and not point.is_baseline for point in map_.points) > 1


def _are_records(point: Point) -> bool:
    """Return whether a release has perturbed or synthetic records, without a proof."""
    nobodys = not point.candidate.anonymizer.people
    return point.status == "measured" and not point.is_noisy and (point.is_changed or nobodys)


APART = 0.1
"""The least range of releases along an axis of a map."""


def plain_axes(map_: Map) -> tuple[str, str] | None:
    """Return the two headlines of the initial axes; None if the points do not have two of them.

    The risk is that of the study's axis, unless the releases hardly differ in it and differ in the other. With attacks
    it is the worst attack, because guesses of values follow from the usefulness of a file, and look least risky for
    changed values, which do not hide identities.
    """
    if _attacked(map_):
        return _lying_apart(map_, ("attacked", "kept"))
    risks = [name for name in map_.study.axes if MEASURES[name].kind == "risk"]
    by_identity = not map_.about.get("sensitive") or bool(risks and risks[0] in IDENTITY)
    first, second = ("found", "guessed") if by_identity else ("guessed", "found")
    hardly = _apart(map_, first) < APART <= _apart(map_, second)
    return _lying_apart(map_, (second if hardly else first, "kept"))


def _lying_apart(map_: Map, names: tuple[str, str]) -> tuple[str, str] | None:
    places = {values for point in map_.points if (values := _drawn(map_, point, names)) is not None}
    return names if len(places) > 1 else None


def _apart(map_: Map, name: str) -> float:
    """Return the range of the releases of a map in a headline, without its two ends."""
    shares = [plain_values(map_, point).get(name) for point in map_.points if not point.is_baseline]
    known = [share for share in shares if share is not None]
    return max(known) - min(known) if known else 0.0


def plain_values(map_: Map, point: Point) -> dict[str, float]:
    """Return the shares of a point on the headlines."""
    if point.status != "measured":
        return {}
    three = (headline.share for headline in headlines(map_, point))
    shares = dict(zip(("found", "guessed", "kept"), three, strict=True)) | {"attacked": point.measures.get(WORST)}
    if point.has([WORST_GROUP]):
        shares["sure"] = min(1 / point.measures[WORST_GROUP], 1.0)
    return {name: share for name, share in shares.items() if share is not None and isfinite(share)}


def plain_intervals(map_: Map, point: Point) -> dict[str, tuple[float, float]]:
    """Return the intervals of a point's headlines, from the intervals of its measures."""
    ends = [
        plain_values(map_, replace(point, measures={**point.measures, **{n: e[i] for n, e in point.intervals.items()}}))
        for i in (0, 1)
    ]
    shares = {name: sorted((share, ends[1][name])) for name, share in ends[0].items() if name in ends[1]}
    return {name: (low, high) for name, (low, high) in shares.items() if low < high}


def _drawn(map_: Map, point: Point, names: tuple[str, str]) -> tuple[float, float] | None:
    values = plain_values(map_, point)
    return (values[names[0]], values[names[1]]) if set(names) <= set(values) else None


def settings(point: Point) -> str:
    """Describe in a sentence how a release is made.

    >>> from sfumato import anonymizer, requirement
    >>> settings(Point("1", Candidate(anonymizer("mondrian"), requirement("k-anonymity k=10")), "measured"))
    'Mondrian, every group at least 10 records, published as ranges'
    """
    if point.words:
        return point.words
    candidate = point.candidate
    assert isinstance(candidate, Candidate)
    maker = candidate.anonymizer
    if maker.baseline:
        return maker.baseline
    if maker.shown_as:
        promise = t("release.differential_privacy") if maker.noisy else ""
        return t("release.published_as", maker=maker.in_words(), promise=promise, shown_as=maker.shown_as)
    group = "bucket" if point.form == "bucketization" else "group"
    parts = [
        maker.in_words(),
        *(part.rule_in_words(group) for part in candidate.requirement.parts),
        t(f"release.form_{point.form}"),
    ]
    if candidate.suppress:
        parts.append(t("release.most_records", candidate=candidate))
    return ", ".join(parts)


def claim_sentence(point: Point) -> str:
    """Describe the claim for a release with its verdict; empty without a claim.

    >>> from sfumato import anonymizer, requirement
    >>> candidate = Candidate(anonymizer("brought file=arx.csv"), requirement("k-anonymity k=1"))
    >>> found = {"claim": "k-anonymity k=5", "verdict": "holds", "why": "Every group satisfies it."}
    >>> claim_sentence(Point("1", candidate, "measured", brought=found))
    'Claimed: k-anonymity k=5; it holds of the file. Every group satisfies it.'
    """
    findings = point.brought or {}
    if "claim" not in findings:
        return ""
    return t(
        "release.claimed",
        claim=findings["claim"],
        claims=t(f"release.claim_{findings['verdict']}"),
        why=findings["why"],
    )


def found_sentences(point: Point) -> list[str]:
    """Return the findings about an external release, first why it may not be published."""
    findings = point.brought
    if findings is None:
        return []
    refused = t("release.it", point=point) if point.refused else ""
    notices = [f"{notice[:1].upper()}{notice[1:]}." for notice in findings["notices"]]
    return [sentence for sentence in (refused, claim_sentence(point), *findings["cautions"], *notices) if sentence]


def external_lines(map_: Map) -> Iterator[str]:
    """Describe each external release of a map."""
    for point in map_.points:
        if point.candidate.anonymizer.external:
            name = f"{point.id}, {point.words.partition(';')[0]}"
            if point.status == "measured":
                yield " ".join([f"{name}.", *found_sentences(point)])
            else:
                yield f"{name}: {point.status}, {point.reason}."


def studied(map_: Map) -> str:
    """Describe the studied data, after `N candidate releases of`, as far as known."""
    study, about = map_.study, map_.about
    section, size = study.section, counted(int(about["records"]), "record") if "records" in about else ""
    if isinstance(study, PublicStudy):
        section, size = study.studied, study.size
    origin = "" if about.get("origin") in (None, study.name) else f" ({about['origin']})"
    size = f"{size}, " if size else ""
    if section == "items":
        columns, held = _columns(about), _held(about)
        return t("release.table_items", study=study, origin=origin, size=size, columns=columns, held=held)
    tried = t("release.tried", section=section, study=study, origin=origin, size=size)
    return tried + (_items(about) if section == "baskets" else _columns(about))


def _columns(about: Mapping[str, Any]) -> str:
    """Describe the quasi-identifiers and the sensitive columns."""
    quasi, sensitive = about.get("quasi", ()), about.get("sensitive", ())
    text = t("release.attacker_may", quasi=len(quasi), quasi2=quasi)
    return text + (t("release.sensitive_nobody", sensitive=sensitive) if sensitive else ". ")


def _held(about: Mapping[str, Any]) -> str:
    """Describe the items of records."""
    return t("release.every_record", items=_items(about).removeprefix("each ")) if "items" in about else ""


def _items(about: Mapping[str, Any]) -> str:
    items = t("release.some", items=int(about["items"])) if "items" in about else "items"
    return t("release.each_set", items=items) + (t("release.lie_tree") if about.get("tree") else ". ")


OPTIONS = {
    "anonymizer": "--with",
    "requirement": "--require",
    "form": "--form",
    "suppress": "--suppress",
    "utility": "--set utility",
    "limit": "--set limit",
    "item_anonymizer": "--items-with",
    "merging": "--set merging",
    "sets": "--set sets",
}
"""The option of each field of a candidate."""


def _words(option: str, value: str) -> list[str]:
    """Return an option, or a setting, with its value."""
    name, _, key = option.partition(" ")
    return [name, f"{key}={value}" if key else value]


def anonymize_command(study: Study, point: Point) -> str | None:
    """Return the `sfumato anonymize` command of a point's release; None if no single command makes it."""
    named = data_words(study, point)
    if named is None:
        return None
    source, options = named
    given = changed(point.candidate)
    names = list(given) if point.is_grouped else ["anonymizer"]  # others have no requirement
    names.sort(key=list(OPTIONS).index)
    settings = [word for name in names for word in _words(OPTIONS[name], str(given[name]))]
    words = ["sfumato", "anonymize", source_word(source), *options, *settings]
    return shlex.join([*words, "--to", f"release-{point.id}.csv"])


def release_command(folder: Path, map_: Map, point: Point, recipient: str | None = None) -> str:
    """Return the command that publishes a point of a map in a folder.

    It names the recipient of the choice, unless weaker bounds than the recipient's were given.
    """
    words = ["sfumato", "release", str(folder), "--point", point.id, "--to", f"release-{point.id}.csv"]
    fits = recipient is not None and RECIPIENTS[recipient].fitness(map_, point).is_fit
    return shlex.join([*words, "--for", str(recipient)] if fits else words)


def done_sentence(map_: Map, point: Point) -> str:
    """Describe the changes of each column in the release of a point; empty if unknown."""
    if point.brought is not None:
        changed = changes_sentence(point.changes, point.measures.get("suppressed", 0), map_.about.get("records"))
        return " ".join([*found_sentences(point), *([changed] if changed else [])])
    if point.is_noisy:
        return t("release.no_record")
    if point.refused:
        return t("release.it", point=point)
    if not point.is_grouped:
        return t("release.records_stand")
    changed = changes_sentence(point.changes, point.measures.get("suppressed", 0), map_.about.get("records"))
    return " ".join([changed, *(t("release.warning", found=found) for found in point.details.get("ends", ()))])
