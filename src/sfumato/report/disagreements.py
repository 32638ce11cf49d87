"""Where the axes disagree, in words: one place for what the report, `explore` and `choose` say."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from sfumato.measures.all_measures import MEASURES
from sfumato.texts.catalogue import t
from sfumato.texts.format import counted, number
from sfumato.tradeoff.comparison import Disagreement, Disagreements, StandingByMeasure, attacked_column
from sfumato.tradeoff.map import Point

VALUE = "the sensitive value"
READ = ("u_loss", "u_loss_em", "definetti_accuracy", "definetti_gain")


def sentence(disagreement: Disagreement) -> str:
    """Say of a release that it looks good by one measure and bad by others."""
    point, axis, others = disagreement.point, disagreement.axis, disagreement.others
    kind = MEASURES[axis.measure].kind
    first, second = (t(f"disagreement.{kind}_{side}") for side in (axis.side, others[0].side))
    beside = [f"{other.measure} ({_place(other)}{_beside(point, other.measure)})" for other in others]
    return t("disagreement.among_third", axis=axis, first=first, place=_place(axis), second=second, beside=beside)


def rule(disagreements: Disagreements) -> str:
    """Say when a release looks good or bad, and by what."""
    pairs = [t("disagreement.with", axis=axis, others=others) for axis, others in disagreements.compared.items()]
    return t("disagreement.among_one", releases=len(disagreements.releases), pairs=pairs)


def tally(disagreements: Disagreements) -> str:
    """Say how many releases of the frontier look good by one measure and bad by another."""
    torn = len({each.point.id for each in disagreements.on_frontier})
    many = counted(len(disagreements.frontier), "release")
    if not torn:
        return t("disagreement.none_frontier", many=many)
    return t("disagreement.frontier_good", torn=torn, many=many)


def readers(disagreements: Disagreements) -> str:
    """Say what reading across groups gives the researcher and the adversary; nothing where it was not measured."""
    known = [point for point in disagreements.releases if point.has(READ)]
    if not known:
        return ""
    plain, clever = (number(median(point.measures[name] for point in known)) for name in ("u_loss", "u_loss_em"))
    column, right, usual = _guessed_best(disagreements, known)
    return t("disagreement.half_releases", plain=plain, clever=clever, column=column, right=right, usual=usual)


def _guessed_best(disagreements: Disagreements, points: Sequence[Point]) -> tuple[str, float, float]:
    """Return the column that the deFinetti attack gains most of, how often it is right, and how often a group's is."""
    by_column = []
    for name in disagreements.map_.about.get("sensitive") or [VALUE]:
        known = [point.by_sensitive.get(name, point.measures) for point in points]
        right = median(own["definetti_accuracy"] for own in known)
        usual = median(own["definetti_accuracy"] - own["definetti_gain"] for own in known)
        by_column.append((right - usual, right, name))
    gain, right, name = max(by_column)
    return name, right, right - gain


def _place(standing: StandingByMeasure) -> str:
    return t("disagreement.rank", standing=standing)


def _beside(point: Point, measure: str) -> str:
    """Say what an attack's accuracy is to be held against."""
    column, measures = attacked_column(point, measure)
    if measure == "definetti_accuracy" and "definetti_gain" in measures:
        usual = measures[measure] - measures["definetti_gain"]
        return t("disagreement.definetti_attack", value=column or VALUE, measures=measures[measure], usual=usual)
    if measure == "attack_accuracy" and measures.get("empirical_breach", -1.0) > -1:
        usual = measures[measure] / (1 + measures["empirical_breach"])
        return t("disagreement.attack_guesses", value=column or VALUE, measures=measures[measure], usual=usual)
    return ""
