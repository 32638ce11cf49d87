"""How far from the best possible an answer can be, where that is known.

- The limit line: no truthful release with at most this P_loss has less U_loss (`tradeoff/limit`), whoever makes it.
- All cuts of a small space (`Decided`): where every cut vector was looked at, their frontier says of all of them what
  none has within bounds.
- The exact lattice: `full-domain` decides every combination of whole levels, so a point of it says of all others that
  satisfy what it was required to, with at most as many records suppressed, that none has less loss. Where its search
  was stopped, branch and bound says what none is below (`Point.least`).

Further bounds of a question only leave fewer releases, so all hold with them too. Each says of which releases it is
true: nothing is said of releases that are made in other ways.

What no release of a table can have, whoever makes it: told from all records in one group.

To put groups together never lowers k or l, so one group of everybody has the most that a release of all records can
have. Leaving records out never helps k or the number of values; of the commonest value it can take so many that its
share falls, and how many that would have to be is told.
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

LINE, CUTS, LATTICE = "limit", "cuts", "lattice"
TRUTHFUL = "truthful release of this table, whoever makes it,"
WHOLE_LEVELS = "release with one level of its hierarchy for every column (full-domain)"
EVERY_LEVEL = FullDomain()
"""What decides all combinations of levels by the loss that is measured."""


@dataclass(frozen=True)
class Decided:
    """The frontier of all cuts of a small space: no release of these cuts beats it."""

    names: tuple[str, ...]
    """The measures whose frontier it is."""

    rows: tuple[tuple[float, ...], ...]
    """What the releases of the frontier have of them, or what none of those that a row stands for exceeds."""

    share: float
    """At most this share of the records is left out."""

    vectors: int
    """How many cut vectors were looked at: all of the space."""

    space: str
    """Where each column may be cut, in words."""

    require: str = ""
    """What all of them satisfy, where that was asked for."""

    @property
    def among(self) -> str:
        """Say of which releases it is true."""
        some = t("scale.most_records", self=self)
        required = t("scale.under", self=self) if self.require else ""
        out = some if self.share else t("scale.no_record")
        return t("scale.release_cut", self=self, required=required, out=out)

    def best(self, question: Question) -> float | None:
        """Return what none of them exceeds of what is asked first; None where none fits, or it says nothing of it.

        A bound that cuts off better values is passed over: what is beaten may keep it, and is not on the frontier.
        """
        name = question.asked[0]
        endless = {each for each in self.names if MEASURES[each].better == "lower" and MEASURES[each].most == inf}
        if name not in self.names or not endless <= set(question.measures):  # an infinite value is on no frontier
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
    """Put together what was decided, each once and in an order of its own."""
    each = {one for some in several for one in some}
    return tuple(sorted(each, key=lambda one: (one.names, one.space, one.require, one.share, one.vectors, one.rows)))


@dataclass(frozen=True)
class Optimum:
    """A value of the measure that is asked for which no release of some kind can better."""

    measure: str
    value: float
    kind: str
    """limit: of all truthful releases; cuts: of all cuts of a space; lattice: of one level for every column."""

    gap: float
    """How much better than the answer that is: 0 where the answer is the best there is of this kind.

    Less than 0 where the answer is of another kind and better than all of this one.
    """

    among: str
    """Of which releases it is true, in words."""


def optimum(map_: Map, question: Question, point: Point) -> Optimum | None:
    """Return what is known of the best possible; None where nothing is, or the answer is beyond it already."""
    return next((known for known in _known(map_, question, point) if known.gap >= 0), None)


def surpassed(map_: Map, question: Question, point: Point) -> Optimum | None:
    """Return the kind of releases of which the answer is known to be better than all; None where there is none."""
    return next((known for known in _known(map_, question, point) if known.gap < 0), None)


def _known(map_: Map, question: Question, point: Point) -> Iterator[Optimum]:
    """List what is known of what is asked first, that of the most releases before the others."""
    name = question.asked[0]
    for kind, value, among in _best_of_each(map_, question):
        if value is not None:
            gap = cost(name, point.measures[name]) - cost(name, value)
            says_nothing = gap > 0 and value <= MEASURES[name].least  # everybody knows that
            if not says_nothing:
                yield Optimum(name, value, kind, gap if gap < -1e-9 else max(gap, 0.0), among)


def _best_of_each(map_: Map, question: Question) -> Iterator[tuple[str, float | None, str]]:
    yield LINE, _line(map_.limit, question), TRUTHFUL
    wanted = _share(question)
    decided = sorted(map_.decided, key=lambda each: (each.share < wanted, abs(each.share - wanted), each.among))
    for each in decided:
        yield CUTS, each.best(question), each.among
    yield LATTICE, _lattice(map_, question), WHOLE_LEVELS


def _share(question: Question) -> float:
    """Return how many records may be left out, as a share."""
    shares = [bound.value for bound in question.bounds if (bound.measure, bound.side) == (SHARE, "max")]
    return shares[0] if shares else 1.0


def _line(limit: Limit | None, question: Question) -> float | None:
    """Return the least u_loss within a p_loss, or the other way round."""
    if limit is None:
        return None
    most = {bound.measure: bound.value for bound in question.bounds if bound.side == "max"}
    if question.asked[0] == "u_loss" and "p_loss" in most:
        return limit.at(most["p_loss"])
    if question.asked[0] == "p_loss" and "u_loss" in most:
        return _least_p_loss(limit, most["u_loss"])
    return None


def _least_p_loss(limit: Limit, u_loss: float) -> float:
    """Return where the line comes down to a u_loss: it is convex and falls, so once."""
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
    """List, for k that all levels were decided for, what no transformation with at most a share suppressed is below.

    Where fewer records could be suppressed than the share, one that suppresses more has at least that loss.
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
    """Return what no combination of levels that is required the same is below; None where that was not decided."""
    if not exact:
        return point.least if point.status == "measured" else None
    if point.status == "failed":
        return None
    return point.measures["loss"] if point.has(["loss"]) else inf


EVEN = 1e-9
"""Counts that follow from measures are whole up to this share of them."""


def impossible(map_: Map, bound: Bound) -> str:
    """Say why no release of the table keeps within a bound, and what to do then; nothing where one may."""
    if bound.measure not in WHY:
        return ""
    most, records = _most(map_), map_.about.get("records")
    if bound.side != "min" or bound.measure not in most or bound.outside(most[bound.measure]) == 0 or not records:
        return ""
    return WHY[bound.measure](map_, bound, most[bound.measure])


def _most(map_: Map) -> Mapping[str, float]:
    """Return what all records in one group have of k and l: as far as the map says it."""
    records, whole = map_.about.get("records"), _whole(map_)
    sizes = {} if records is None else {"k": records, "smallest_group": records}
    return {**({} if whole is None else {name: whole.measures[name] for name in WHY if whole.has([name])}), **sizes}


def _whole(map_: Map) -> Point | None:
    """Return the trivial release that has all records in one group, where the map has it."""
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
    """Name the sensitive column; of several that which has the least, as far as it is known of each."""
    whole = _whole(map_)
    known = {} if whole is None else {name: own[measure] for name, own in whole.by_sensitive.items() if measure in own}
    if known:
        return f"'{min(known, key=lambda name: known[name])}'"
    names = [f"'{name}'" for name in map_.about.get("sensitive", ())]
    return names[0] if len(names) == 1 else t("ceiling.one", names=names) if names else t("ceiling.sensitive_column")


def _finer(map_: Map, column: str) -> str:
    """Explain how to repair a column whose commonest value is an interval that was made automatically."""
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
"""By measure, what is said of a bound that is beyond the table."""
