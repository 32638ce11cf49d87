"""Divergences between what is true and what a release says: JS per population, KL over all cells.

The gain of an adversary who knows the quasi-identifiers (Brickell & Shmatikov 2008, section 4).

Before the release he knows the table's distribution Q of the sensitive values; from the release he learns that of
the person's group. Records that are not published teach him nothing and are not counted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.data.cells import Cells, Points, find_sensitive, laid_out
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.measures._box_tree import FEW_FOUND, BoxTree, covering
from sfumato.release.release import Published, Release, counts_people
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel


@kernel
def js_of_rows(truth: Numbers, estimate: Numbers, fallback: Numbers) -> Numbers:
    """Return JS(P, P^) in nats for every row of counts; a row without any estimate takes the fallback's shares."""
    out = np.empty(len(truth))
    values = truth.shape[1]
    for r in range(len(truth)):
        total = guessed = 0.0
        for s in range(values):
            total += truth[r, s]
            guessed += estimate[r, s]
        js = 0.0
        for s in range(values):
            p = truth[r, s] / total
            q = estimate[r, s] / guessed if guessed > 0 else fallback[s]
            middle = (p + q) / 2
            if p > 0:
                js += p * math.log(p / middle)
            if q > 0:
                js += q * math.log(q / middle)
        out[r] = max(js / 2, 0.0)
    return out


def kl(release: Published, points: Points, truth: Numbers, estimate: Numbers | None, sensitive: int) -> float:
    """Return KL(P, P^) of the joint distribution of quasi-identifiers and one sensitive attribute, in nats.

    P^ spreads every box's records uniformly over its leaves (Kifer & Gehrke 2006). Combinations that no box covers,
    because their records were suppressed or noise left no count, are counted as in the release without
    quasi-identifiers. `truth` and, for a release of point boxes, `estimate` are the sensitive counts of every point.
    """
    cells = release.cells
    span = cells.span(sensitive)
    if estimate is None:
        estimate = box_densities(release, points)
        if not counts_people(release):  # noisy counts do not add up to the number of records; shares must
            total = float(np.maximum(release.content[:, span], 0.0).sum())
            estimate *= cells.records / total if total > 0 else 0.0
    point, value = np.nonzero(truth[:, span] > 0)
    counts, guessed = truth[:, span][point, value], estimate[:, span][point, value]
    nothing = ~(guessed > 0)
    if nothing.any():
        shares = cells.sensitive[sensitive].shares[value[nothing]] * cells.records
        guessed[nothing] = shares * domain_shares(cells, points)[point[nothing]]
    return max(float((counts * np.log(counts / guessed)).sum()) / cells.records, 0.0)


def domain_shares(cells: Cells, points: Points) -> Numbers:
    """Return the share of every point in the volume of the whole domain."""
    share = np.ones(len(points.codes))
    for a, quasi in enumerate(cells.quasi):
        widths = np.asarray(quasi.hierarchy.widths)
        share *= widths[points.codes[:, a]] / widths.sum()
    return share


def box_densities(release: Published, points: Points) -> Numbers:
    """Estimate the sensitive counts of every point from boxes (negative ones cut at 0): points x values."""
    boxes, hierarchies = release.boxes, [attribute.hierarchy for attribute in release.cells.quasi]
    return densities_at(points.codes, boxes.lo, boxes.hi, np.maximum(release.content, 0.0), hierarchies)


def densities_at(codes: Codes, lo: Codes, hi: Codes, content: Numbers, hierarchies: Sequence[Hierarchy]) -> Numbers:
    """Estimate the counts at points from boxes and their content over the same attributes: points x values."""
    cumulative, starts = laid_out([hierarchy.cumulative for hierarchy in hierarchies])
    tree = BoxTree.of(lo, hi, np.array([hierarchy.size for hierarchy in hierarchies]))
    nodes = tree.order, tree.lo, tree.hi, tree.depth
    return densities(codes, lo, hi, np.ascontiguousarray(content), cumulative, starts[:-1], *nodes)


@kernel
def densities(
    codes: Codes,
    lo: Codes,
    hi: Codes,
    content: Numbers,
    cumulative: Numbers,
    starts: Counts,
    order: Counts,
    node_lo: Codes,
    node_hi: Codes,
    depth: int,
) -> Numbers:
    """Add up for every point its share of each box that covers it, boxes in their order."""
    out = np.zeros((len(codes), content.shape[1]))
    found, open_ = np.empty(FEW_FOUND, np.int64), np.empty(depth + 2, np.int64)
    for i in range(len(codes) if len(lo) else 0):
        found, number = covering(codes, i, lo, hi, order, node_lo, node_hi, depth, found, open_)
        for b in found[:number]:
            share = 1.0
            for a in range(codes.shape[1]):
                share *= leaf_share(cumulative, starts[a], codes[i, a], lo[b, a], hi[b, a])
            if share > 0.0:
                for s in range(content.shape[1]):
                    out[i, s] += share * content[b, s]
    return out


@kernel
def leaf_share(cumulative: Numbers, start: int, leaf: int, lo: int, hi: int) -> float:
    """The share of one leaf in the width of leaves lo..hi."""
    return (cumulative[start + leaf + 1] - cumulative[start + leaf]) / (
        cumulative[start + hi + 1] - cumulative[start + lo]
    )


@dataclass(frozen=True, eq=False)
class GroupGains:
    """The adversary's gain in every group of a release."""

    a_diff: Numbers
    """Half the sum of |p - q| over the sensitive values."""

    a_quot: Numbers
    """The largest |ln(p/q)|, infinite where a value of the table is absent."""


def group_gains(release: Release, on: str | None = None) -> GroupGains:
    """Work out what the adversary gains in every group, from one sensitive attribute."""
    if release.histograms is None:
        return GroupGains(np.zeros(release.groups), np.zeros(release.groups))
    position = find_sensitive(release.histograms.sensitive, on)
    p, q = release.histograms.of(position) / release.sizes[:, None], release.histograms.sensitive[position].shares
    with np.errstate(divide="ignore"):
        return GroupGains(np.abs(p - q).sum(axis=1) / 2, np.abs(np.log(p / q)).max(axis=1))


def adversary_gains(counts: Counts | Numbers, sizes: Counts, q: Numbers) -> dict[str, float]:
    """Average over the published records: `a_know`, `a_acc`, and the information gain in nats."""
    rows: Any = np.ascontiguousarray(counts)
    know, right, gain = sum_gains(rows, sizes, q)
    published = float(sizes.sum())
    return {
        "a_know": know / published,
        "a_acc": right / published - float(q.max()),
        "information_gain": max(gain / published, 0.0),
    }


@kernel
def sum_gains(counts: Counts | Numbers, sizes: Counts, q: Numbers) -> tuple[float, float, float]:
    """Sum up over records half the L1 distance to q, the share of the commonest value, and KL(p, q)."""
    know = right = gain = 0.0
    log_q = np.log(q)
    for g in range(len(sizes)):
        share = 1.0 / sizes[g]
        distance = divergence = 0.0
        top = 0
        for s in range(len(q)):
            n = counts[g, s]
            p = n * share
            distance += abs(p - q[s])
            top = max(top, n)
            if n > 0:
                divergence += n * (math.log(p) - log_q[s])
        know += distance * sizes[g]
        right += top
        gain += divergence
    return know / 2, right, gain
