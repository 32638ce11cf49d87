"""Findings: the results of an analysis as named numbers with intervals, and whether a release keeps them.

Every analysis returns a list of findings. Everything else is computed from two such lists: that of the original, and
that of a release.

A release that is read by repeated draws has one list per draw. They are combined by Rubin's rules (Rubin, "Multiple
Imputation for Nonresponse in Surveys", 1987): the estimate is the mean over m draws, and with the half-widths w of the
intervals and the variance B of the estimates between draws the combined half-width is

    sqrt(mean(w^2) + (1 + 1/m) c^2 B),        c = 1.96.

The overlap of two intervals is the mean share of their common part in either of them (Karr et al. 2006), as in
`fidelity`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from math import isfinite, sqrt
from statistics import fmean, variance

from sfumato.texts.catalogue import t

QUANTILE = 1.959963984540054
"""Of the normal distribution: intervals of 95 %."""


@dataclass(frozen=True)
class Finding:
    """One result of an analysis."""

    analysis: str
    """The analysis: its formula, table, query or function."""

    name: str
    estimate: float
    low: float | None = None
    high: float | None = None
    """The ends of its interval, if the analysis gives one."""

    @property
    def sign(self) -> int:
        """The sign of the estimate."""
        return (self.estimate > 0) - (self.estimate < 0)

    @property
    def has_interval(self) -> bool:
        """Whether it has an interval."""
        return self.low is not None and self.high is not None

    @property
    def effect(self) -> int:
        """The sign if the interval excludes 0, else 0; without an interval the sign of the estimate."""
        if self.low is None or self.high is None:
            return self.sign
        return (self.low > 0) - (self.high < 0)


def combined(draws: Sequence[Sequence[Finding]]) -> list[Finding]:
    """Combine the findings of repeated draws; one that some draw lacks is left out."""
    if len(draws) == 1:
        return list(draws[0])
    by_key = [{(each.analysis, each.name): each for each in draw} for draw in draws]
    shared = [key for key in by_key[0] if all(key in draw for draw in by_key)]
    return [_pooled([draw[key] for draw in by_key]) for key in shared]


def _pooled(same: Sequence[Finding]) -> Finding:
    mean = fmean(each.estimate for each in same)
    if not all(each.has_interval for each in same):
        return Finding(same[0].analysis, same[0].name, mean)
    between = (1 + 1 / len(same)) * QUANTILE**2 * variance([each.estimate for each in same], mean)
    below = sqrt(fmean((each.estimate - (each.low or 0)) ** 2 for each in same) + between)
    above = sqrt(fmean(((each.high or 0) - each.estimate) ** 2 for each in same) + between)
    return Finding(same[0].analysis, same[0].name, mean, mean - below, mean + above)


@dataclass(frozen=True)
class Conclusion:
    """A finding of the original beside that of a release; `lost_by` is empty if its conclusion is kept."""

    original: Finding
    released: Finding | None
    lost_by: str

    @property
    def error(self) -> float:
        """The relative error, at most 1; 1 if the release lacks it."""
        if self.released is None:
            return 1.0
        apart = abs(self.released.estimate - self.original.estimate)
        return 0.0 if apart == 0 else min(apart / abs(self.original.estimate), 1.0) if self.original.sign else 1.0

    @property
    def has_same_sign(self) -> bool:
        """Whether sign and significance are those of the original."""
        return self.released is not None and self.released.effect == self.original.effect

    @property
    def overlap(self) -> float | None:
        """The overlap of the intervals; None if the original has none."""
        one, other = self.original, self.released
        if one.low is None or one.high is None:
            return None
        if other is None or other.low is None or other.high is None:
            return 0.0
        common = min(one.high, other.high) - max(one.low, other.low)
        if common <= 0:
            return float((one.low, one.high) == (other.low, other.high))
        return (common / (one.high - one.low) + common / (other.high - other.low)) / 2


Rule = Callable[[Conclusion, bool], str]
"""Why a conclusion is lost, or nothing; the second argument is whether it kept its place in the ranking."""


def outcomes(
    original: Sequence[Finding], released: Sequence[Finding], rule: Rule, failures: Mapping[str, str]
) -> list[Conclusion]:
    """Judge every finding of the original by a rule; `failures` has the sentences of analyses that failed."""
    found = {(each.analysis, each.name): each for each in released if isfinite(each.estimate)}
    pairs = [Conclusion(each, found.get((each.analysis, each.name)), "") for each in original]
    moved = {id(one) for pair in _pairs(pairs) if not _in_order(*pair) for one in pair}
    return [
        Conclusion(
            each.original,
            each.released,
            failures.get(each.original.analysis, t("analysis.lost_missing"))
            if each.released is None
            else rule(each, id(each) not in moved),
        )
        for each in pairs
    ]


def analysis_measures(judged: Sequence[Conclusion]) -> dict[str, float]:
    """Return the measures of an analysis."""
    overlaps = [each.overlap for each in judged if each.overlap is not None]
    ranked = [_in_order(*pair) for pair in _pairs(judged)]
    return {
        "conclusions_kept": fmean(not each.lost_by for each in judged),
        "analysis_error": fmean(each.error for each in judged),
        "analysis_signs": fmean(each.has_same_sign for each in judged),
        **({"analysis_ranking": fmean(ranked)} if ranked else {}),
        **({"analysis_overlap": fmean(overlaps)} if overlaps else {}),
    }


def _pairs(judged: Sequence[Conclusion]) -> list[tuple[Conclusion, Conclusion]]:
    """List the pairs of one analysis whose estimates differ in the original."""
    parts = [list(part) for _, part in groupby(judged, key=lambda each: each.original.analysis)]
    pairs = [pair for part in parts for pair in combinations(part, 2)]
    return [(one, other) for one, other in pairs if one.original.estimate != other.original.estimate]


def _in_order(one: Conclusion, other: Conclusion) -> bool:
    """Return whether a release ranks two findings as the original does."""
    if one.released is None or other.released is None:
        return False
    before = one.original.estimate < other.original.estimate
    return one.released.estimate != other.released.estimate and before == (
        one.released.estimate < other.released.estimate
    )
