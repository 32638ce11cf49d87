"""The information of the groups of a published file about one sensitive attribute, computed from the definitions.

The second opinion beside `sfumato.measures`: it shares nothing with the kernels there. Only the values that are
present in a group are looked at; what absent values add is known from Q alone. So time and memory follow the counts
that DuckDB returned, however many values the attribute has. Natural logarithms everywhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing.notation import read_number, set_members
from sfumato.auditing.published_file import LARGEST_KEY, STAR, TextColumn
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.hierarchies.notation import comparable_text
from sfumato.runtime.arrays import Counts, Numbers
from sfumato.runtime.threads import together
from sfumato.texts.catalogue import refusal

RECURSIVE_C = 3
"""The c with which `l_recursive` is reported."""

MOST_EMPTY = 8
"""Groups x values are laid out as a table where it has at most so many places for each count."""

DEFINED = (
    *("l_frequency", "l_distinct", "l_entropy", "l_recursive"),
    *("t_equal", "t_ordered", "t_hierarchical", "t_js", "delta", "beta"),
)
"""The measures of every group."""

NEEDED = ("sizes", "p", "q", "largest", "l_distinct", "strange")
"""Shared intermediate results: computed before the measures, which run in threads."""

HIGHER_IS_BETTER = ("l_frequency", "l_distinct", "l_entropy", "l_recursive")


@dataclass(frozen=True, eq=False)
class Baseline:
    """Q: the values of a sensitive attribute in their order, and how many records have each."""

    name: str
    values: tuple[str, ...]
    counts: Counts
    """Of the table that is compared with; 0 for a value that only the published file has."""

    order: str
    """By what the values are ordered, in words."""

    levels: NDArray[np.int64] | None
    """The node above every value at every level of its hierarchy, if one was given."""

    of_original: bool = True
    """Whether the counts are those of the original, and not of the published file itself."""

    @cached_property
    def open(self) -> NDArray[np.bool_]:
        """Which texts may hide any value: `*`, a missing value, a set; unless the original itself has the text."""
        hides = [comparable_text(text) in ("", STAR) or set_members(text) is not None for text in self.values]
        unknown = (self.counts == 0) if self.of_original else np.ones(len(hides), np.bool_)
        return np.array(hides, np.bool_) & unknown

    @cached_property
    def shares(self) -> Numbers:
        """Q itself."""
        shares: Numbers = self.counts / self.counts.sum()
        return shares

    @property
    def known(self) -> int:
        """The number of values that occur in the table that is compared with."""
        return int((self.counts > 0).sum())


def baseline(
    name: str,
    occurring: TextColumn,
    weights: Counts,
    more: Sequence[str],
    given: Hierarchy | None,
    of_original: bool = True,
) -> Baseline:
    """Count the values of an attribute and order them; `more` are values that only the published file may have."""
    totals = np.bincount(occurring.codes, weights=weights, minlength=len(occurring.texts)).astype(np.int64)
    counts: dict[str, int] = dict.fromkeys(more, 0)
    for text, total in zip(occurring.texts, totals.tolist(), strict=True):
        counts[text] = counts.get(text, 0) + total
    order, levels = "text", None
    if given is not None:
        hierarchy = given.with_missing() if "" in counts else given
        codes = dict(zip(counts, leaf_codes(name, hierarchy, list(counts)), strict=True))
        ranked, order = sorted(counts, key=codes.__getitem__), "the hierarchy"
        levels = hierarchy.ancestors[:, [codes[text] for text in ranked]].astype(np.int64)
    elif all(text == "" or np.isfinite(read_number(text)) for text in counts):
        ranked, order = sorted(counts, key=lambda text: (text == "", read_number(text or "0"), text)), "number"
    else:
        ranked = sorted(counts, key=lambda text: (text == "", text))
    return Baseline(name, tuple(ranked), np.array([counts[text] for text in ranked]), order, levels, of_original)


def leaf_codes(name: str, hierarchy: Hierarchy, texts: Sequence[str]) -> list[int]:
    """Find the leaf of every sensitive value; a text that is none is an error."""
    known = {label: code for code, label in enumerate(hierarchy.leaves)}
    codes = hierarchy.encode([text or None for text in texts]).tolist()
    codes = [known.get(text, code) for text, code in zip(texts, codes, strict=True)]
    for text, code in zip(texts, codes, strict=True):
        if code < 0:
            raise refusal(
                "audit_error.unknown_value", name=name, text=text, domain_in_words=hierarchy.domain_in_words()
            )
    return codes


@dataclass(frozen=True, eq=False)
class Profile:
    """The sensitive values of every group: entries (group, value, count) sorted by group and value."""

    baseline: Baseline
    group: Counts
    value: Counts
    count: Counts

    @staticmethod
    def of(baseline: Baseline, column: TextColumn, group: Counts, weights: Counts) -> Profile:
        """Count the values of every group; values are numbered as in the baseline."""
        places = {text: place for place, text in enumerate(baseline.values)}
        value = np.array([places[text] for text in column.texts], np.int64)[column.codes]
        return Profile.counted(baseline, group, value, weights)

    @staticmethod
    def counted(baseline: Baseline, group: Counts, value: Counts, weights: Counts) -> Profile:
        """Sort entries and add up those of one group and value; by a table of all, unless it is mostly empty.

        Entries that are in order, and none twice, are already the result.
        """
        key = group * len(baseline.values) + value
        if (key[1:] > key[:-1]).all():
            return Profile(baseline, group, value, weights)
        size = (int(group.max()) + 1) * len(baseline.values)
        if size <= MOST_EMPTY * len(key):
            table = np.bincount(key, weights=weights, minlength=size)
            used = np.flatnonzero(table)
            count = table[used].astype(np.int64)
            return Profile(baseline, used // len(baseline.values), used % len(baseline.values), count)
        order = np.argsort(key)
        key = key[order]
        starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
        count = np.add.reduceat(weights[order], starts)
        return Profile(baseline, key[starts] // len(baseline.values), key[starts] % len(baseline.values), count)

    # -- values that the file leaves open ------------------------------------------------------------------

    @property
    def open(self) -> NDArray[np.bool_]:
        """Which entries may hide any value."""
        return self.baseline.open[self.value]

    def closings(self) -> Iterator[tuple[Counts, Profile]]:
        """Give all open entries of a group one value, for every value in turn: the groups, and what they then show.

        Diversity is concave and every distance from Q is convex in the shares of a group, and the largest ratio lies
        at an end of its interval. So whatever the open entries hide, the group is no worse than in one of these.
        """
        compared = replace(self.baseline, counts=np.where(self.baseline.open, 0, self.baseline.counts))
        values = np.flatnonzero(~self.baseline.open)
        if not len(values):
            compared, values = self.baseline, np.zeros(1, np.int64)
        groups, hidden = np.arange(len(self.sizes)), self.open
        yield groups, Profile.counted(compared, self.group, np.where(hidden, values[0], self.value), self.count)
        groups = np.unique(self.group[hidden])
        kept = np.isin(self.group, groups)
        group, value, hidden = np.searchsorted(groups, self.group[kept]), self.value[kept], hidden[kept]
        for other in values[1:]:
            yield groups, Profile.counted(compared, group, np.where(hidden, other, value), self.count[kept])

    # -- what all measures need ----------------------------------------------------------------------------

    @cached_property
    def starts(self) -> Counts:
        """The first entry of every group."""
        return np.flatnonzero(np.r_[True, self.group[1:] != self.group[:-1]])

    @cached_property
    def sizes(self) -> Counts:
        """The number of records of every group."""
        return self.sums(self.count)

    @cached_property
    def p(self) -> Numbers:
        """The share of its value in its group, for every entry."""
        shares: Numbers = self.count / self.sizes[self.group]
        return shares

    @cached_property
    def q(self) -> Numbers:
        """The share of its value in the table, for every entry."""
        return self.baseline.shares[self.value]

    @cached_property
    def largest(self) -> Counts:
        """The count of the commonest value of every group."""
        largest: Counts = np.maximum.reduceat(self.count, self.starts)
        return largest

    @cached_property
    def l_distinct(self) -> Counts:
        """The number of values present in every group."""
        return self.sums(np.ones(len(self.group), np.int64))

    @cached_property
    def strange(self) -> NDArray[np.bool_]:
        """Which groups have a value that does not occur in the table at all."""
        return np.maximum.reduceat(self.q == 0, self.starts)

    def sums(self, of_entries: NDArray[Any]) -> NDArray[Any]:
        """Add something up over the entries of every group."""
        return np.add.reduceat(of_entries, self.starts)

    def dominant(self, group: int) -> tuple[str, float]:
        """Return the commonest value of a group and its share."""
        entries = slice(self.starts[group], self.starts[group] + self.l_distinct[group])
        place = int(np.argmax(self.count[entries]))
        return self.baseline.values[self.value[entries][place]], float(self.p[entries][place])

    # -- one definition each -------------------------------------------------------------------------------

    @cached_property
    def l_frequency(self) -> Numbers:
        """1 / the largest share."""
        return self.sizes / self.largest

    @cached_property
    def l_entropy(self) -> Numbers:
        """Exp of the entropy: the number of equally frequent values with the same entropy."""
        return np.exp(self.entropy)

    @cached_property
    def entropy(self) -> Numbers:
        """Entropy in nats: ln n - (sum of c ln c) / n."""
        return np.log(self.sizes) - self.sums(self.count * np.log(self.count)) / self.sizes

    def tails(self, rank: int) -> Counts:
        """Add up for every group r_l + ... + r_m, the counts from the l-th commonest on."""
        order, place = self._falling
        kept = np.where(place >= rank - 1, self.count[order], 0)
        return self.sums(kept)

    @cached_property
    def _falling(self) -> tuple[Counts, Counts]:
        """Entries by group and falling count, and the place of each in its group, from 0."""
        most = int(self.count.max())
        if len(self.sizes) * (most + 1) < LARGEST_KEY:
            order = np.argsort(self.group * (most + 1) - self.count, kind="stable")  # quick: groups are in order
        else:
            order = np.lexsort((-self.count, self.group))
        return order, np.arange(len(order)) - self.starts[self.group]

    @cached_property
    def l_recursive(self) -> Counts:
        """The largest l with r_1 < c (r_l + ... + r_m); 0 where there is none."""
        order, place = self._falling
        count = self.count[order]
        before = np.cumsum(count) - count
        tail = self.sizes[self.group] - (before - before[self.starts][self.group])
        enough = self.largest[self.group] < RECURSIVE_C * tail
        return np.maximum.reduceat(np.where(enough, place + 1, 0), self.starts)

    @cached_property
    def t_equal(self) -> Numbers:
        """Half the L1 distance from Q; an absent value adds its q."""
        return self._half_l1(self.p, self.q, self.starts)

    @staticmethod
    def _half_l1(p: Numbers, q: Numbers, starts: Counts) -> Numbers:
        distance: Numbers = np.clip((np.add.reduceat(np.abs(p - q) - q, starts) + 1) / 2, 0, 1)
        return distance

    @cached_property
    def t_ordered(self) -> Numbers:
        """Sum of |P(<= s) - Q(<= s)| over the values that occur in the table, in their order, / (m - 1).

        P is constant between two values that are present, and Q rises, so such a stretch is two sums of Q's.
        """
        m = self.baseline.known
        if m < 2:
            return np.where(self.strange, np.inf, 0.0)
        occurs = self.baseline.counts > 0
        rank = (np.cumsum(occurs) - 1)[self.value]
        up_to = np.cumsum(self.baseline.counts[occurs]) / self.baseline.counts.sum()
        summed = np.r_[0.0, np.cumsum(up_to)]
        ends = np.r_[rank[1:], m]
        ends[self.starts[1:] - 1] = m
        running = np.cumsum(self.count)
        reached = running - (running - self.count)[self.starts][self.group]
        level = reached / self.sizes[self.group]
        crossing = np.clip(np.searchsorted(up_to, level), rank, np.maximum(ends, rank))
        below = level * (crossing - rank) - (summed[crossing] - summed[rank])
        above = summed[ends] - summed[crossing] - level * (ends - crossing)
        total = self.sums(below + above) + summed[rank[self.starts]]
        return np.where(self.strange, np.inf, np.maximum(total, 0) / (m - 1))

    @cached_property
    def t_hierarchical(self) -> Numbers:
        """Earth mover's distance on the tree: half L1 between nodes, averaged over the levels below the root."""
        levels = self.baseline.levels
        assert levels is not None
        height = len(levels) - 1
        if height == 0:
            return np.zeros(len(self.sizes))
        total = np.zeros(len(self.sizes))
        for nodes in levels[:height]:
            node = nodes[self.value]
            starts = np.flatnonzero(np.r_[True, (node[1:] != node[:-1]) | (self.group[1:] != self.group[:-1])])
            q = np.bincount(nodes, weights=self.baseline.shares)[node[starts]]
            total += self._half_l1(np.add.reduceat(self.p, starts), q, np.searchsorted(starts, self.starts))
        return total / height

    @cached_property
    def t_js(self) -> Numbers:
        """Jensen-Shannon divergence from Q; an absent value adds q ln 2 / 2."""
        p, q = self.p, self.q
        q_log_q = q * np.log(np.where(q > 0, q, 1))
        terms = p * np.log(p) + q_log_q - (p + q) * np.log((p + q) / 2) - q * log(2)
        distance: Numbers = np.maximum((self.sums(terms) + log(2)) / 2, 0)
        return distance

    @cached_property
    def log_ratios(self) -> Numbers:
        """The largest |ln(p/q)| of a value that is present."""
        with np.errstate(divide="ignore"):
            return np.maximum.reduceat(np.abs(np.log(self.p / self.q)), self.starts)

    @cached_property
    def delta(self) -> Numbers:
        """The largest |ln(p/q)|; infinite where a value of the table is absent."""
        return np.where(self.l_distinct < self.baseline.known, np.inf, self.log_ratios)

    @cached_property
    def gains(self) -> Numbers:
        """(p - q)/q for every entry."""
        with np.errstate(divide="ignore"):
            return (self.p - self.q) / self.q

    @cached_property
    def beta(self) -> Numbers:
        """The largest relative gain (p - q)/q."""
        return np.maximum.reduceat(self.gains, self.starts)

    def per_group(self) -> dict[str, NDArray[Any]]:
        """Return all measures of every group, by name."""
        names = [name for name in DEFINED if name != "t_hierarchical" or self.baseline.levels is not None]
        for name in NEEDED:
            getattr(self, name)
        return dict(zip(names, together(lambda name: getattr(self, name), names), strict=True))

    def measures(self) -> dict[str, float]:
        """Return the measures of the worst group, and how privacy loss spreads over the records."""
        worst = {}
        for name, values in self.per_group().items():
            value = values.min() if name in HIGHER_IS_BETTER else values.max()
            worst[name] = int(value) if name in ("l_distinct", "l_recursive") else float(value)
        worst["p_loss"] = worst["t_js"]
        worst["p_loss_mean"] = steady_sum(self.t_js * self.sizes) / int(self.sizes.sum())
        records = int(self.sizes.sum())
        worst["a_know"] = steady_sum(self.t_equal * self.sizes) / records
        worst["a_acc"] = int(self.largest.sum()) / records - float(self.baseline.shares.max())
        with np.errstate(divide="ignore"):
            worst["information_gain"] = max(steady_sum(self.count * np.log(self.p / self.q)) / records, 0.0)
        in_order = np.sort(self.t_js)
        for name, share in (("p_loss_median", 0.5), ("p_loss_95", 0.95)):
            worst[name] = self._reached(in_order, share * records)
        return worst

    def _reached(self, in_order: Numbers, records: float) -> float:
        """Find the least t_js that so many records have or stay below; to halve costs less than to sort sizes along."""
        place = bisect_left(range(len(in_order)), records, key=lambda i: self.sizes[self.t_js <= in_order[i]].sum())
        return float(in_order[place])


def steady_sum(terms: NDArray[Any]) -> float:
    """Add terms up in their own order of size: groups come in the order in which DuckDB's threads found them."""
    return float(np.sort(terms).sum())


def worst_of(by_sensitive: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return every measure of the worst sensitive attribute."""
    names = {name: None for measures in by_sensitive.values() for name in measures}
    pick = {name: min if name in HIGHER_IS_BETTER else max for name in names}
    return {
        name: pick[name](measures[name] for measures in by_sensitive.values() if name in measures) for name in names
    }


def size_measures(sizes: Counts, alike: Counts) -> dict[str, float]:
    """Return what the sizes of groups say; `alike` counts the records of each combination of quasi-identifiers."""
    records = int(sizes.sum())
    squares = float((sizes.astype(np.float64) ** 2).sum())
    return {
        "k": int(alike.min()),
        "smallest_group": int(sizes.min()),
        "prosecutor": 1 / int(alike.min()),
        "marketer": len(alike) / records,
        "average_group": records / len(sizes),
        "weighted_k": squares / records,
    }


def suppression_measures(sizes: Counts | None, suppressed: int | None) -> dict[str, float]:
    """Return the facts about suppressed records; nothing where a file alone does not show how many are missing."""
    if suppressed is None:
        return {}
    if sizes is None:
        return {"suppressed": suppressed}
    records, squares = int(sizes.sum()), float((sizes.astype(np.float64) ** 2).sum())
    return {"discernibility": squares + float(suppressed) * (records + suppressed), "suppressed": suppressed}
