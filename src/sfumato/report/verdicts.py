"""Sentences about verdicts, for the report and the terminal.

Accuracies are in per cent, differences of them in percentage points.
"""

from collections.abc import Mapping
from typing import Any

from sfumato.anonymizers import anonymizer
from sfumato.measures.classification.classification import CONFIDENCE
from sfumato.texts.catalogue import counted, signed, t, unsigned
from sfumato.tradeoff import comparison
from sfumato.tradeoff.map import Map, Point

INTERVAL = f"{100 * CONFIDENCE:g} % interval"


# -- the question and its range


def question(verdicts: comparison.Verdicts) -> str:
    """Describe the comparison of every release."""
    workload, records = verdicts.workload, int(verdicts.map_.about.get("records", 0))
    methods = [t(f"verdict.method_{name.replace('-', '_')}") for name in workload.methods]
    best = "" if len(methods) == 1 else t("verdict.whichever_right")
    drawn = t("verdict.records_drawn", workload=workload, records=records)
    dealt = drawn if 0 < workload.sample < records else t("verdict.records")
    taught = t("verdict.taught_other", methods=methods, best=best)
    tested = "" if workload.test == "release" else t("verdict.shown_as")
    return t("verdict.how_well", workload=workload, dealt=dealt, tested=tested, taught=taught)


# -- the answer


def tally(verdicts: comparison.Verdicts) -> str:
    """Describe the number of releases that beat both trivial sanitizations."""
    learning = t("verdict.both_trivial", verdicts=verdicts)
    if not verdicts.releases:
        return t("verdict.no_release_compared", verdicts=verdicts)
    better, less, unclear = (len(verdicts.by_verdict[verdict]) for verdict in comparison.VERDICTS)
    of = counted(len(verdicts.releases), "release")
    beat = t("verdict.of", better=better, of=of) if better else t("verdict.none_shown", of=of)
    beat = t("verdict.all_beat", of=of) if better == len(verdicts.releases) > 1 else beat
    rest = [t("verdict.no_better", less=less)] if less else []
    rest += [t("verdict.not_shown", unclear=unclear)] if unclear else []
    return f"{'; '.join([f'{beat} {learning}', *rest])}."


def sentence(verdicts: comparison.Verdicts, point: Point) -> str:
    """Describe the worth of a point; empty if the column cannot be learned from it."""
    if point.worth is None:
        return ""
    worth, target = point.worth, verdicts.workload.target
    right = t("verdict.right", accuracy=worth["accuracy"])
    if not point.candidate.anonymizer.is_release:
        return t("verdict.original_table", target=target, right=right)
    if point.anonymizer == worth["base"]:
        return t("verdict.itself_trivial_sanitization", target=target, right=right)
    if point.is_baseline:
        better = t("verdict.better_one", made=anonymizer(worth["base"]).in_words(), worth=worth)
        return t("verdict.itself_trivial", target=target, right=right, better=better)
    said = t(f"verdict.it_{worth['verdict'].replace(' ', '_')}")
    return t("verdict.learning", said=said, target=target, gained=_gained(verdicts, worth))


def advice(map_: Map, point: Point) -> str | None:
    """Describe whether a point beats both trivial sanitizations, and otherwise how to find one that does."""
    verdicts = map_.verdicts
    if verdicts is None or point.worth is None:
        return None
    text, better = sentence(verdicts, point), len(verdicts.by_verdict["better"])
    if not point.is_baseline and point.worth["verdict"] == "better":
        return text
    if not better:
        return t("verdict.no_release", text=text)
    beat = t("verdict.releases_map") if better > 1 else t("verdict.release_map")
    return t("verdict.both_prefer", text=text, better=better, beat=beat)


def _sensitive(verdicts: comparison.Verdicts) -> list[str]:
    return list(verdicts.map_.about.get("sensitive", ()))


def _gained(verdicts: comparison.Verdicts, worth: Mapping[str, Any]) -> str:
    """Describe the gain of a release: right answers, gain with interval, and the adversary's gain."""
    gain, low, high = (signed(worth[name]) for name in ("gain", "low", "high"))
    zero = t("verdict.which_contains") if worth["verdict"] == "not shown" else ""
    text = t("verdict.right_percentage", worth=worth, gain=gain, interval=INTERVAL, low=low, high=high, zero=zero)
    if not verdicts.has_adversary:
        return text
    more = "more" if worth["adversary"] > worth["gain"] else t("verdict.no_more")
    return t("verdict.adversary_gains", text=text, unsigned=unsigned(worth["adversary"]), more=more)
