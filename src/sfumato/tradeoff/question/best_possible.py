"""Bounds on the best possible answer, and bounds of a question that no release of a table satisfies.

**Distance from the best possible.** Four results give it, each for a class of releases. Further bounds of a question
only exclude releases, so all remain valid:

- The limit (`tradeoff/limit`): no truthful release with at most this P_loss has less U_loss, whoever makes it.
- All cuts of a small space (`Decided`): after a complete enumeration, their frontier is exact for all of them.
- All partitions (`tradeoff/limit`): no truthful release has more k within a loss, in whatever groups.
- The exact lattice: `full-domain` decides every combination of whole levels. No other one with the same requirement and
  at most as many suppressed records has less loss. If its search was stopped, branch and bound gives a lower bound
  (`Point.least`).

**Impossible bounds.** Merging groups never lowers k or l, so one group of all records has the maximum of any release
without suppression. Suppression never raises k or the number of values. It can lower the share of the most frequent
value; the message contains the necessary number of suppressed records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, floor, inf, isfinite
from typing import TYPE_CHECKING

from sfumato.anonymizers.full_domain.full_domain import FullDomain
from sfumato.data.hierarchies.declared import Filed
from sfumato.measures.all_measures import MEASURES
from sfumato.requirements.requirement import KAnonymity
from sfumato.texts.catalogue import t
from sfumato.tradeoff.comparison import cost
from sfumato.tradeoff.question.question import SHARE, Bound, Question
from sfumato.tradeoff.question.recipients import shows_exact

if TYPE_CHECKING:
    from sfumato.tradeoff.limit import Limit
    from sfumato.tradeoff.map import Map, Point

LINE, CUTS, LATTICE, PARTITIONS = "limit", "cuts", "lattice", "partitions"
TRUTHFUL = "truthful release of this table, whoever makes it,"
WHOLE_LEVELS = "release with one level of its hierarchy for every column (full-domain)"
EVERY_LEVEL = FullDomain()
"""The search that decides all combinations of levels by the measured loss."""


@dataclass(frozen=True)
class Decided:
    """The frontier of all cuts of a small space: no release of these cuts beats it."""

    names: tuple[str, ...]
    """The measures of the frontier."""

    rows: tuple[tuple[float, ...], ...]
    """The measures of the frontier's releases, or upper bounds for the releases that a row represents."""

    share: float
    """The maximum share of suppressed records."""

    vectors: int
    """The number of cut vectors in the space; 0 of a bound on all truthful releases, in whatever groups."""

    space: str
    """A description of where each column may be cut."""

    require: str = ""
    """The requirement that all of them satisfy, if there is one."""

    @property
    def among(self) -> str:
        """Describe the releases to which it applies."""
        if not self.vectors:
            return t("scale.any_partition")
        some = t("scale.most_records", self=self)
        required = t("scale.under", self=self) if self.require else ""
        out = some if self.share else t("scale.no_record")
        return t("scale.release_cut", self=self, required=required, out=out)

    def best(self, question: Question) -> float | None:
        """Return an upper bound on the first asked measure of all of them; None if none fits or nothing is known.

        A bound that cuts off better values is ignored: a dominated release may satisfy it and is not in `rows`.
        """
        name = question.asked[0]
        endless = {each for each in self.names if MEASURES[each].better == "lower" and MEASURES[each].most == inf}
        if name not in self.names or not endless <= set(question.measures):  # frontiers exclude infinite values
            return None
        bounds = [
            (self.names.index(each.measure), each)
            for each in question.bounds
            if each.measure in self.names and each.is_natural
        ]
        fitting = (row for row in self.rows if not any(each.outside(row[place]) for place, each in bounds))
        values = (row[self.names.index(name)] for row in fitting)
        return min(values, key=lambda value: cost(name, value), default=None)


def all_decided(*several: Iterable[Decided]) -> tuple[Decided, ...]:
    """Merge frontiers of cuts, each once and in a fixed order."""
    each = {one for some in several for one in some}
    return tuple(sorted(each, key=lambda one: (one.names, one.space, one.require, one.share, one.vectors, one.rows)))


@dataclass(frozen=True)
class Optimum:
    """A value of the asked measure that no release of some kind exceeds."""

    measure: str
    value: float
    kind: str
    """limit and partitions: of all truthful releases; cuts: of those of a space; lattice: of one level per column."""

    gap: float
    """How much better than the answer it is: 0 if the answer is the best possible of this kind.

    Negative if the answer is of another kind and better than all of this one.
    """

    among: str
    """A description of the releases to which it applies."""


def optimum(map_: Map, question: Question, point: Point) -> Optimum | None:
    """Return the best possible value; None if unknown, or if the answer is better."""
    return next((known for known in _known(map_, question, point) if known.gap >= 0), None)


def surpassed(map_: Map, question: Question, point: Point) -> Optimum | None:
    """Return the kind of releases that the answer provably surpasses; None if there is none."""
    return next((known for known in _known(map_, question, point) if known.gap < 0), None)


def _known(map_: Map, question: Question, point: Point) -> Iterator[Optimum]:
    """List the bounds on the first asked measure, that of the largest class first."""
    name = question.asked[0]
    for kind, value, among in _best_of_each(map_, question):
        if value is not None:
            gap = cost(name, point.measures[name]) - cost(name, value)
            says_nothing = gap > 0 and value <= MEASURES[name].least  # trivially true
            if not says_nothing:
                yield Optimum(name, value, kind, gap if gap < -1e-9 else max(gap, 0.0), among)


def _best_of_each(map_: Map, question: Question) -> Iterator[tuple[str, float | None, str]]:
    yield LINE, _line(map_.limit, question), TRUTHFUL
    wanted = _share(question)
    cuts = [each for each in map_.decided if each.vectors]
    decided = sorted(cuts, key=lambda each: (each.share < wanted, abs(each.share - wanted), each.among))
    for each in decided:
        yield CUTS, each.best(question), each.among
    yield LATTICE, _lattice(map_, question), WHOLE_LEVELS
    name = question.asked[0]
    proved = [(each, each.best(question)) for each in map_.decided if not each.vectors]
    known = [(value, each.among) for each, value in proved if value is not None]
    yield from ((PARTITIONS, *one) for one in sorted(known, key=lambda one: -cost(name, one[0]))[:1])


def _share(question: Question) -> float:
    """Return the maximum share of suppressed records."""
    shares = [bound.value for bound in question.bounds if (bound.measure, bound.side) == (SHARE, "max")]
    return shares[0] if shares else 1.0


def _line(limit: Limit | None, question: Question) -> float | None:
    """Return the least u_loss within a p_loss, or the least p_loss within a u_loss."""
    if limit is None:
        return None
    most = {bound.measure: bound.value for bound in question.bounds if bound.side == "max"}
    if question.asked[0] == "u_loss" and "p_loss" in most:
        return limit.at(most["p_loss"])
    if question.asked[0] == "p_loss" and "u_loss" in most:
        return _least_p_loss(limit, most["u_loss"])
    return None


def _least_p_loss(limit: Limit, u_loss: float) -> float:
    """Return the P_loss at which the line reaches a u_loss; it is unique because the line is convex and falling."""
    if limit.points[0][1] <= u_loss:
        return limit.points[0][0]
    for (x, y), (x2, y2) in pairwise(limit.points):
        if y2 <= u_loss < y:
            return x + (x2 - x) * (y - u_loss) / (y - y2)
    return limit.points[-1][0]


def _lattice(map_: Map, question: Question) -> float | None:
    """Return the least loss of whole levels with a k, or the largest k within a loss."""
    within = {(bound.measure, bound.side): bound for bound in question.bounds}
    share = _share(question)
    if question.asked[0] == "loss" and ("k", "min") in within:
        least_k = within["k", "min"].value
        return max((loss for k, loss in _least_losses(map_, share) if k <= least_k and isfinite(loss)), default=None)
    if question.asked[0] == "k" and ("loss", "max") in within:
        bound = within["loss", "max"]
        beyond = [k for k, loss in _least_losses(map_, share) if bound.outside(loss)]
        return min(beyond) - 1.0 if beyond else None
    return None


def _least_losses(map_: Map, share: float) -> Iterator[tuple[int, float]]:
    """List k with a lower bound on the loss of all transformations that suppress at most a share.

    If the search allowed fewer suppressed records than the share, a release with more suppression has at least that
    loss.
    """
    for point in map_.points:
        candidate, maker = point.candidate, point.candidate.anonymizer
        if not isinstance(maker, FullDomain) or replace(maker, search="exact", seconds=None, seed=0) != EVERY_LEVEL:
            continue
        wanted = candidate.requirement
        if isinstance(wanted, KAnonymity) and wanted.share in (None, 1) and point.form == "generalization":
            loss = _least_loss(point, maker.search == "exact")
            if loss is not None:
                yield wanted.k, loss if candidate.suppress >= share else min(loss, candidate.suppress)


def _least_loss(point: Point, exact: bool) -> float | None:
    """Return a lower bound on the loss of all combinations of levels with the same requirement; None if undecided."""
    if not exact:
        return point.least if point.status == "measured" else None
    if point.status == "failed":
        return None
    return point.measures["loss"] if point.has(["loss"]) else inf


EVEN = 1e-9
"""The tolerance for whole counts derived from measures."""


def impossible(map_: Map, bound: Bound) -> str:
    """Return why no release of the table satisfies a bound, with a remedy; empty if one may."""
    if bound.measure not in WHY:
        return ""
    most, records = _most(map_), map_.about.get("records")
    if bound.side != "min" or bound.measure not in most or bound.outside(most[bound.measure]) == 0 or not records:
        return ""
    return WHY[bound.measure](map_, bound, most[bound.measure])


def _most(map_: Map) -> Mapping[str, float]:
    """Return k and l of all records in one group, as far as the map contains them."""
    records, whole = map_.about.get("records"), _whole(map_)
    sizes = {} if records is None else {"k": records, "smallest_group": records}
    return {**({} if whole is None else {name: whole.measures[name] for name in WHY if whole.has([name])}), **sizes}


def _whole(map_: Map) -> Point | None:
    """Return the trivial release with all records in one group, if the map has it."""
    records = map_.about.get("records")
    trivial = (point for point in map_.points if point.is_baseline and not shows_exact(point))
    return next((point for point in trivial if point.measures.get("k") == records), None)


def _too_few_records(map_: Map, bound: Bound, most: float) -> str:
    return t("ceiling.records", bound=bound, most=int(most))


def _too_few_values(map_: Map, bound: Bound, most: float) -> str:
    return t("ceiling.values", bound=bound, column=_column(map_, bound.measure), most=int(most))


def _too_common(map_: Map, bound: Bound, most: float) -> str:
    records = int(map_.about["records"])
    common = round(records / most)
    kept = floor((records - common) / (bound.value - 1) + EVEN) if isfinite(bound.value) else 0
    column, gone = _column(map_, bound.measure), common - kept
    shares = {"gone_share": gone / records, "share": common / records, "records": records}
    return t("ceiling.common", bound=bound, gone=gone, **shares, column=column, finer=_finer(map_, column))


def _too_uneven(map_: Map, bound: Bound, most: float) -> str:
    return t("ceiling.uneven", bound=bound, column=_column(map_, bound.measure), most=ceil(100 * most) / 100)


def _column(map_: Map, measure: str) -> str:
    """Return the sensitive column; of several the worst one, as far as known."""
    whole = _whole(map_)
    known = {} if whole is None else {name: own[measure] for name, own in whole.by_sensitive.items() if measure in own}
    if known:
        return f"'{min(known, key=lambda name: known[name])}'"
    names = [f"'{name}'" for name in map_.about.get("sensitive", ())]
    return names[0] if len(names) == 1 else t("ceiling.one", names=names) if names else t("ceiling.sensitive_column")


def _finer(map_: Map, column: str) -> str:
    """Return the remedy for a column whose most frequent value is an automatic interval."""
    declared = getattr(getattr(getattr(map_.study, "data", None), "table", None), "hierarchy", {}).get(column[1:-1])
    entry = declared.content if isinstance(declared, Filed) else declared
    if not isinstance(entry, Mapping) or entry.get("type") != "numeric" or not entry.get("observed"):
        return ""
    return t("ceiling.intervals_made", column=column)


WHY: Mapping[str, Callable[[Map, Bound, float], str]] = {
    "k": _too_few_records,
    "smallest_group": _too_few_records,
    "l_distinct": _too_few_values,
    "l_frequency": _too_common,
    "l_entropy": _too_uneven,
}
"""By measure, the explanation of a bound that the table cannot satisfy."""
