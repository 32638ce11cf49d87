"""The verdicts on releases in words: one place for what the report and the terminal say, so that they say the same.

Accuracies are told in per cent, differences of them in percentage points.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.anonymizers import anonymizer
from sfumato.measures.classification.classification import CONFIDENCE
from sfumato.texts.format import counted, either, listed, percent, signed, unsigned
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.worth import Verdicts, worth_of

SENTENCES = {
    "better": "It beats both trivial sanitizations",
    "no better": "It does not beat the better trivial sanitization",
    "not shown": "It is not shown to beat the better trivial sanitization",
}
INTERVAL = f"{100 * CONFIDENCE:g} % interval"
METHODS = {
    "decision-tree": "a decision tree",
    "naive-bayes": "naive Bayes",
    "random-forest": "a random forest",
    "gradient-boosting": "gradient boosting",
    "logistic-regression": "logistic regression",
}


# -- what was asked, and what there is to be had


def question(verdicts: Verdicts) -> str:
    """Say what was asked of every release."""
    workload, records = verdicts.workload, int(verdicts.map_.about.get("records", 0))
    methods = [METHODS[name] for name in workload.methods]
    best = "" if len(methods) == 1 else ", whichever was right more often"
    drawn = f"{workload.sample:,} of the {records:,} records, drawn at random,"
    dealt = drawn if 0 < workload.sample < records else "The records"
    taught = f"by {listed(methods)}{best}, taught with the other parts"
    tested = "" if workload.test == "release" else ", shown as they are in the original table"
    return (
        f"How well can the column {workload.target} be learned from each release? {dealt} were dealt into "
        f"{workload.folds} parts (folds); {workload.target} was guessed in each part{tested} {taught}. The same was "
        "done with the trivial sanitizations, which need no anonymizer: they leave out all quasi-identifiers, or all "
        "sensitive values."
    )


def reach(verdicts: Verdicts) -> str:
    """Say what the better trivial sanitization gives already, and what the original would give."""
    worth, target, sensitive = worth_of(verdicts.known[0]), verdicts.workload.target, _sensitive(verdicts)
    base, original = worth["base_accuracy"], worth["original_accuracy"]
    if not sensitive:
        return (
            "No column is sensitive, so a table without sensitive values is the original table itself "
            f"({percent(original)} right): no release can be expected to beat it, and the verdicts only say "
            "whether learning suffers."
        )
    which = f"trivial sanitization that still has {target}" if target in sensitive else "better trivial sanitization"
    left = (
        f"so there are about {unsigned(original - base)} percentage points to be gained by publishing more"
        if original > base
        else "so there is hardly anything to be gained by publishing more"
    )
    return (
        f"The {which}, {anonymizer(worth['base']).in_words()}, already gives {percent(base)} right; the "
        f"original table gives {percent(original)}, {left}."
    )


# -- the answer


def tally(verdicts: Verdicts) -> str:
    """Say how many releases beat both trivial sanitizations."""
    learning = f"both trivial sanitizations at learning {verdicts.workload.target}"
    if not verdicts.releases:
        return f"No release was compared with the trivial sanitizations at learning {verdicts.workload.target}."
    better, less, unclear = (len(verdicts.by_verdict[verdict]) for verdict in SENTENCES)
    of = counted(len(verdicts.releases), "release")
    beat = f"{better:,} of {of} {'beats' if better == 1 else 'beat'}" if better else f"None of {of} is shown to beat"
    beat = f"All {of} beat" if better == len(verdicts.releases) > 1 else beat
    rest = [f"{less:,} {'is' if less == 1 else 'are'} no better than one of them"] if less else []
    rest += [f"for {unclear:,} it is not shown, since the interval of the gain contains zero"] if unclear else []
    return f"{'; '.join([f'{beat} {learning}', *rest])}."


def best(verdicts: Verdicts) -> str:
    """Say what the release with the largest gain gives, and what its adversary."""
    if not verdicts.releases:
        return ""
    point = verdicts.releases[0]
    return f"The largest gain is that of {point.id}: {_gained(verdicts, worth_of(point))}."


def by_chance() -> str:
    """Say how far a single interval can be trusted."""
    return (
        f"A {INTERVAL} compares a release with the better trivial sanitization fold by fold, and allows for folds "
        "that share records. Each holds for its own release: among "
        f"{2 / (1 - CONFIDENCE):.0f} releases that are no better, about one would seem better by chance."
    )


def adversaries(verdicts: Verdicts) -> str:
    """Say in how many releases the adversary gains more than the researcher."""
    if not verdicts.has_adversary or not verdicts.releases:
        return ""
    more = sum(worth_of(point)["adversary"] > worth_of(point)["gain"] for point in verdicts.releases)
    gains = [worth_of(point)["adversary"] for point in verdicts.releases]
    low, high = unsigned(min(gains)), unsigned(max(gains))
    span = f"{low} percentage points" if low == high else f"{low} to {high} percentage points"
    target, sensitive = verdicts.workload.target, _sensitive(verdicts)
    worst = ", of the column where that is most" if len(sensitive) > 1 else ""
    text = (
        f"An adversary who knows the quasi-identifiers of a record guesses {either(sensitive)} right by {span} more "
        f"often than from the table's totals alone (a_acc{worst}). {_share(more, len(gains))} that is more than the "
        "researcher gains."
    )
    if target in sensitive:
        text += f" {target} is itself sensitive: what is learned of it here, an adversary learns too."
    return text


def sentence(verdicts: Verdicts, point: Point) -> str:
    """Say what one point is worth; nothing where the column cannot be learned from it."""
    if point.worth is None:
        return ""
    worth, target = point.worth, verdicts.workload.target
    right = f"{percent(worth['accuracy'])} right"
    if not point.candidate.anonymizer.is_release:
        return f"The original table is no release; learning {target} from it gives {right}."
    if point.anonymizer == worth["base"]:
        return f"It is itself a trivial sanitization, the better one at learning {target}: {right}."
    if point.is_baseline:
        better = f"the better one, {anonymizer(worth['base']).in_words()}, gives {percent(worth['base_accuracy'])}"
        return f"It is itself a trivial sanitization: learning {target} from it gives {right}; {better}."
    return f"{SENTENCES[worth['verdict']]} at learning {target}: {_gained(verdicts, worth)}."


def advice(map_: Map, point: Point) -> str | None:
    """Say whether a point beats both trivial sanitizations, and where it does not, how to find one that does."""
    verdicts = map_.verdicts
    if verdicts is None or point.worth is None:
        return None
    text, better = sentence(verdicts, point), len(verdicts.by_verdict["better"])
    if not point.is_baseline and point.worth["verdict"] == "better":
        return text
    if not better:
        return f"{text} No release of this map beats both."
    beat = "releases of this map beat" if better > 1 else "release of this map beats"
    return f"{text} {better:,} {beat} both: --prefer utility_gain finds the largest gain."


def _sensitive(verdicts: Verdicts) -> list[str]:
    return list(verdicts.map_.about.get("sensitive", ()))


def _gained(verdicts: Verdicts, worth: Mapping[str, Any]) -> str:
    """Say what a release gives: right answers, its gain with its interval, and what an adversary gains beside it."""
    gain, low, high = (signed(worth[name]) for name in ("gain", "low", "high"))
    zero = ", which contains zero" if worth["verdict"] == "not shown" else ""
    text = f"{percent(worth['accuracy'])} right, {gain} percentage points ({INTERVAL} {low} to {high}{zero})"
    if not verdicts.has_adversary:
        return text
    more = "more" if worth["adversary"] > worth["gain"] else "no more"
    return f"{text}; an adversary gains {unsigned(worth['adversary'])} percentage points, {more} than the researcher"


def _share(some: int, of: int) -> str:
    """Say in how many of the releases something holds.

    >>> _share(2, 5), _share(5, 5), _share(0, 5)
    ('In 2 of 5 releases', 'In all 5 releases', 'In none of 5 releases')
    """
    many = counted(of, "release")
    if some == of:
        return f"In {'the only' if of == 1 else 'all'} {many.removeprefix('1 ')}"
    return f"In {some:,} of {many}" if some else f"In none of {many}"
