"""What releases say of regions, from the definitions: records one by one, no kernels. And random releases to try.

A region is, for every attribute, the set of leaf codes it selects, or None where it selects nothing in particular.
"""

import math
from itertools import product
from statistics import fmean
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from sfumato.anonymizers import anonymizer
from sfumato.data.cells import Assignment, Quasi, sorted_cells
from sfumato.data.hierarchies.categorical import tree
from sfumato.data.hierarchies.numeric import numeric
from sfumato.errors import InfeasibleError
from sfumato.release._selections import Selections
from sfumato.release.release import bucketization, generalization
from sfumato.requirements.requirement import requirement
from strategies import hierarchies

UNBALANCED = tree([["a", ["aa", ["aaa", "x1", "x2"]]], ["b", "x3", ["bb", "x4", "x5"]], "x6"])
"""Leaves at different depths; `aa` is the only child of `a`, so both are one node."""

BASELINES = ("original", "without-quasi")


# ---------------------------------------------------------------- selections of leaves


def packed(masks):
    """Masks as bits, from the definition: 64 leaves to a word, the first leaf lowest."""
    words = range(0, masks.shape[1], 64)
    rows = [[sum(1 << i for i in range(len(mask[at : at + 64])) if mask[at + i]) for at in words] for mask in masks]
    return np.array(rows, np.uint64).reshape(len(masks), len(words))


def selections(hierarchy, masks):
    """Some scattered selections of the leaves of a hierarchy, by an array (selections, leaves) that says which."""
    return Selections.scattered(hierarchy, packed(masks))


# ---------------------------------------------------------------- records


class Record(NamedTuple):
    """A record of the table: its quasi-identifiers and its sensitive values."""

    codes: tuple
    values: tuple


class Published(NamedTuple):
    """A published record: the box that stands for its quasi-identifiers, and its group."""

    lo: tuple
    hi: tuple
    group: int


def records_of(cells):
    """Every record of the table."""
    rows = zip(cells.codes.tolist(), cells.values.tolist(), cells.counts.tolist(), strict=True)
    return [Record(tuple(codes), tuple(values)) for codes, values, count in rows for _ in range(count)]


def published_records(release):
    """Every record that is left, and the records of every group."""
    cells, assignment = release.cells, release.assignment
    box_of_group = {}
    if release.form == "generalization":
        boxes = release.boxes
        for lo, hi, group in zip(boxes.lo.tolist(), boxes.hi.tolist(), boxes.group.tolist(), strict=True):
            assert group not in box_of_group
            box_of_group[group] = (tuple(lo), tuple(hi))
    published, members = [], {}
    entries = zip(assignment.cell.tolist(), assignment.group.tolist(), assignment.count.tolist(), strict=True)
    for cell, group, count in entries:
        codes = tuple(cells.codes[cell].tolist())
        lo, hi = box_of_group.get(group, (codes, codes))
        assert all(a <= code <= b for a, code, b in zip(lo, codes, hi, strict=True))
        published += [Published(lo, hi, group)] * count
        members.setdefault(group, []).extend([tuple(cells.values[cell].tolist())] * count)
    return published, members


def histogram(values, attribute, size):
    """Count the values of one sensitive attribute."""
    counts = [0] * size
    for value in values:
        counts[value[attribute]] += 1
    return counts


# ---------------------------------------------------------------- populations


def conjunctions(cells):
    """Every conjunction of nodes below the root, at least one and at most one per attribute: lo and hi, or None."""
    options = []
    for quasi in cells.quasi:
        root = (0, quasi.hierarchy.size - 1)
        nodes = {
            (start, end - 1)
            for level in quasi.hierarchy.levels
            for start, end in zip(level.starts, (*level.starts[1:], quasi.hierarchy.size), strict=True)
        }
        options.append([None, *sorted(nodes - {root})])
    return [chosen for chosen in product(*options) if any(node is not None for node in chosen)]


def inside(codes, region):
    """Say whether a record is in a region of intervals."""
    return all(node is None or node[0] <= code <= node[1] for code, node in zip(codes, region, strict=True))


def large_populations(cells, min_support):
    """Conjunctions of nodes that enough records satisfy, and how many do."""
    records = records_of(cells)
    found = {}
    for region in conjunctions(cells):
        support = sum(inside(record.codes, region) for record in records)
        if support >= 1 and support >= min_support * len(records) - 1e-9:
            found[region] = support
    return found


def selected_leaves(region):
    """Turn a region of intervals to sets of leaves."""
    return [None if node is None else set(range(node[0], node[1] + 1)) for node in region]


# ---------------------------------------------------------------- estimates


def true_counts(cells, region, attribute):
    """The sensitive values of the records inside a region."""
    chosen = [
        record.values
        for record in records_of(cells)
        if all(leaves is None or code in leaves for code, leaves in zip(record.codes, region, strict=True))
    ]
    return histogram(chosen, attribute, cells.sensitive[attribute].size)


def estimated_counts(release, region, attribute):
    """Every published record is in the region by overlap / volume of its box, with its group's distribution."""
    cells = release.cells
    size = cells.sensitive[attribute].size
    published, members = published_records(release)
    shares = {}
    for group, values in members.items():
        shares[group] = [count / len(values) for count in histogram(values, attribute, size)]
    estimate = [0.0] * size
    for record in published:
        weight = 1.0
        for a, leaves in enumerate(region):
            if leaves is not None:
                widths = cells.quasi[a].hierarchy.widths
                box = range(record.lo[a], record.hi[a] + 1)
                weight *= sum(widths[leaf] for leaf in box if leaf in leaves) / sum(widths[leaf] for leaf in box)
        for value in range(size):
            estimate[value] += weight * shares[record.group][value]
    return estimate


def jensen_shannon(p, q):
    """JS of two lists of counts, in nats."""
    total = 0.0
    p, q = [n / sum(p) for n in p], [n / sum(q) for n in q]
    for a, b in zip(p, q, strict=True):
        total += a * math.log(2 * a / (a + b)) / 2 if a > 0 else 0
        total += b * math.log(2 * b / (a + b)) / 2 if b > 0 else 0
    return total


def u_loss(release, min_support, attribute):
    """Li & Li 2009: mean JS of true and estimated distribution over large populations."""
    baseline = release.cells.sensitive[attribute].counts.tolist()
    losses = []
    for population in large_populations(release.cells, min_support):
        region = selected_leaves(population)
        estimate = estimated_counts(release, region, attribute)
        if sum(estimate) == 0:
            estimate = baseline
        losses.append(jensen_shannon(true_counts(release.cells, region, attribute), estimate))
    return fmean(losses)


def kl(release, attribute):
    """KL of the joint distribution over all cells of the domain; what is not covered is as in the trivial release."""
    cells = release.cells
    baseline = cells.sensitive[attribute].counts
    whole = math.prod(sum(quasi.hierarchy.widths) for quasi in cells.quasi)
    divergence = covered = 0.0
    for point in product(*(range(quasi.hierarchy.size) for quasi in cells.quasi)):
        region = [{leaf} for leaf in point]
        truth = true_counts(cells, region, attribute)
        estimate = estimated_counts(release, region, attribute)
        covered += sum(estimate)
        volume = math.prod(q.hierarchy.widths[leaf] for q, leaf in zip(cells.quasi, point, strict=True))
        for value, count in enumerate(truth):
            if count:
                guess = estimate[value] or float(baseline[value]) * volume / whole
                divergence += count / cells.records * math.log(count / guess)
    assert math.isclose(covered, release.assignment.records, rel_tol=1e-9, abs_tol=1e-9)
    return max(divergence, 0.0)


# ---------------------------------------------------------------- random tables and releases

trees = st.one_of(
    hierarchies(1, 5),
    hierarchies(1, 4).map(lambda own: own.with_missing()),
    st.just(UNBALANCED),
    st.sampled_from([numeric(0, 5, 1, intervals=[2, 4]), numeric(0, 6, 2, open_above=5), numeric(0, 6, fan_out=2)]),
)


@st.composite
def small_cells(draw, sensitive=(1, 2), attributes=3, rows=12):
    """The cells of a small table with hierarchies of all kinds; its sensitive attributes have two values or more."""
    quasi = [Quasi(f"q{i}", draw(trees)) for i in range(draw(st.integers(1, attributes)))]
    about = [(f"s{i}", draw(hierarchies(2, 4))) for i in range(draw(st.integers(*sensitive)))]
    sizes = [own.hierarchy.size for own in quasi] + [hierarchy.size for _, hierarchy in about]
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    counted = draw(st.dictionaries(row, st.integers(1, 3), min_size=2, max_size=rows))
    for place in range(len(quasi), len(sizes)):
        if len({key[place] for key in counted}) == 1:
            only = next(iter(counted))
            counted[(*only[:place], (only[place] + 1) % sizes[place], *only[place + 1 :])] = 1
    codes = sorted(counted)
    counts = np.array([counted[key] for key in codes], np.int64)
    return sorted_cells(quasi, about, np.array(codes, np.int32), counts)


def table_of(cells):
    """What releases and scales read of a table."""
    sensitive = tuple(attribute.name for attribute in cells.sensitive)
    roles = SimpleNamespace(sensitive=sensitive, person=None)
    return SimpleNamespace(
        cells=cells, roles=roles, why_no_persons=None, shared=(), memberships=None, grown=(), ranges=None, fine={}
    )


@st.composite
def arbitrary_releases(draw, cells):
    """Records in any groups at all, cells split, some records suppressed, boxes wider than needed."""
    units = [cell for cell, count in enumerate(cells.counts.tolist()) for _ in range(count)]
    drawn = draw(st.lists(st.integers(-1, 3), min_size=len(units), max_size=len(units)))
    if all(group < 0 for group in drawn):
        drawn[0] = 0
    names = sorted({group for group in drawn if group >= 0})
    entries = {}
    for cell, group in zip(units, drawn, strict=True):
        if group >= 0:
            entries[names.index(group), cell] = entries.get((names.index(group), cell), 0) + 1
    groups, members = (np.array(column, np.int64) for column in zip(*entries, strict=True))
    assignment = Assignment(members, groups, np.array(list(entries.values()), np.int64))
    if draw(st.booleans()):
        return bucketization(table_of(cells), assignment, len(names))
    lo, hi = [], []
    for group in range(len(names)):
        own = cells.codes[members[groups == group]]
        lo.append([draw(st.integers(0, int(code))) for code in own.min(axis=0)])
        top = [quasi.hierarchy.size - 1 for quasi in cells.quasi]
        hi.append([draw(st.integers(int(code), end)) for code, end in zip(own.max(axis=0), top, strict=True)])
    return generalization(table_of(cells), assignment, np.array(lo, np.int32), np.array(hi, np.int32))


def made(table, wanted, maker, form="generalization", suppress=0.0):
    """What a maker makes of a table that has no rows, which nobody could read as a file or a frame."""
    return anonymizer(maker).anonymize(table, requirement(wanted), form, suppress)


@st.composite
def made_releases(draw, cells):
    """A release by one of the makers; relaxed Mondrian makes overlapping boxes."""
    maker = draw(
        st.sampled_from(
            ["mondrian", "mondrian mode=relaxed seed=1", "mondrian mode=relaxed ranges=region seed=2", *BASELINES]
        )
    )
    k = draw(st.integers(1, 5)) if maker not in BASELINES else 1
    forms = ["generalization", "bucketization"] if cells.sensitive and maker not in BASELINES else ["generalization"]
    suppress = draw(st.sampled_from([0.0, 0.1, 0.3])) if maker not in BASELINES else 0.0
    try:
        return made(table_of(cells), f"k-anonymity k={k}", maker, draw(st.sampled_from(forms)), suppress)
    except InfeasibleError:
        return made(table_of(cells), "k-anonymity k=1", "without-quasi")


@st.composite
def releases(draw, **about):
    """A release of a small table, made by a maker or arbitrary."""
    cells = draw(small_cells(**about))
    return draw(st.one_of(arbitrary_releases(cells), made_releases(cells)))
