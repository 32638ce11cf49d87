"""The algebra of cells, and what kernels share: each against a plain loop over records, rows or numbers."""

import heapq
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plain_twins as twins
from sfumato.data.assignment import Assignment, Points, laid_out, ranges, weighted_counts
from sfumato.runtime._kernel_helpers import (
    drawing_state,
    falling,
    first_from,
    members_by,
    pop,
    pushed,
    room,
    sort_falling,
    sorted_together,
    uniform,
)
from strategies import cells_of_tables, tries

pytestmark = pytest.mark.quick

numbers = st.lists(st.integers(0, 5), min_size=1, max_size=12)


def whole(values):
    return np.array(values, np.int64)


# ---------------------------------------------------------------- cells


@given(cells_of_tables(sensitive=(1, 2)))
@tries(60)
def test_points_are_the_combinations_that_occur_and_their_truth_counts_their_records(cells):
    records, points = twins.records_of(cells), cells.points
    expected = Counter(record.codes for record in records)
    codes = [tuple(row) for row in points.codes.tolist()]
    assert dict(zip(codes, points.counts.tolist(), strict=True)) == expected
    assert [codes[point] for point in points.number] == [tuple(row) for row in cells.codes.tolist()]
    assert (cells.codes[points.first] == points.codes).all()
    assert (np.diff(points.number) >= 0).all(), "the cells of a point stand together"
    for place, attribute in enumerate(cells.sensitive):
        for point, row in zip(codes, cells.truth[:, cells.span(place)].tolist(), strict=True):
            own = [record for record in records if record.codes == point]
            assert row == twins.histogram(own, place, attribute.size)


@given(cells_of_tables(sensitive=(0, 2)), st.data())
@tries(60)
def test_selected_points_are_those_of_a_table_with_these_columns_alone(cells, data):
    columns = data.draw(st.lists(st.integers(0, len(cells.quasi) - 1), unique=True))
    chosen = cells.points.select(columns)
    expected = Counter(tuple(record.codes[a] for a in columns) for record in twins.records_of(cells))
    codes = [tuple(row) for row in chosen.codes.tolist()]
    assert dict(zip(codes, chosen.counts.tolist(), strict=True)) == expected
    assert [codes[point] for point in chosen.number] == [tuple(row) for row in cells.points.codes[:, columns].tolist()]


@given(cells_of_tables(sensitive=(1, 2)), st.data())
@tries(60)
def test_columns_and_spans_name_the_same_places_of_a_histogram(cells, data):
    histogram = cells.baseline.counts[0]
    for place, attribute in enumerate(cells.sensitive):
        assert histogram[cells.span(place)].tolist() == attribute.counts.tolist()
        inside = cells.columns[:, place] - cells.span(place).start
        assert inside.tolist() == cells.values[:, place].tolist()
    lo, hi = cells.whole
    assert [b - a + 1 for a, b in zip(lo, hi, strict=True)] == cells.domains.tolist()


# ---------------------------------------------------------------- assignments


@given(cells_of_tables(sensitive=(0, 2)), st.data())
@tries(60)
def test_cells_go_to_groups_as_a_whole_or_nowhere(cells, data):
    group = data.draw(st.lists(st.integers(-1, 3), min_size=cells.size, max_size=cells.size))
    assignment = cells.assigned(whole(group))
    expected = {cell: (own, int(cells.counts[cell])) for cell, own in enumerate(group) if own >= 0}
    pairs = zip(assignment.group.tolist(), assignment.count.tolist(), strict=True)
    assert dict(zip(assignment.cell.tolist(), pairs, strict=True)) == expected
    sizes = [sum(n for own, n in expected.values() if own == g) for g in range(4)]
    assert assignment.sizes(4).tolist() == sizes == cells.histograms(assignment, 4).sizes.tolist()


entries = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 3)), max_size=10)


@given(entries, st.lists(st.booleans(), min_size=5, max_size=5), st.permutations(range(5)))
@tries(100)
def test_assignments_are_gathered_merged_and_thinned_as_their_records_are(rows, kept, into):
    cell, group, count = whole(rows).reshape(-1, 3).T.copy()
    records = [(c, g) for c, g, n in rows for _ in range(n)]

    def records_of(assignment):
        triples = zip(*(own.tolist() for own in (assignment.group, assignment.cell, assignment.count)), strict=True)
        return [(c, g) for g, c, n in triples for _ in range(n)]

    gathered = Assignment.gathered(cell, group, count)
    assert records_of(gathered) == sorted(records, key=lambda own: own[::-1])
    assert len(set(zip(gathered.cell.tolist(), gathered.group.tolist(), strict=True))) == len(gathered.cell)
    ones = Assignment.gathered(whole([c for c, _ in records]), whole([g for _, g in records]))
    assert records_of(ones) == records_of(gathered)
    assignment = Assignment(cell, group, count)
    merged = np.minimum(np.arange(5), 2)
    assert sorted(records_of(assignment.merged(merged))) == sorted((c, min(g, 2)) for c, g in records)
    assert assignment.merged(np.arange(5)) is assignment
    number = {g: sum(kept[:g]) for g in range(5) if kept[g]}
    thinned = [(c, number[g]) for c, g in records if kept[g]]
    assert sorted(records_of(assignment.only(np.array(kept)))) == sorted(thinned)


# ---------------------------------------------------------------- rows


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 9), st.integers(0, 9)), min_size=1, max_size=12))
@tries(100)
def test_sums_and_ranges_of_groups(rows):
    number, low, weight = whole(rows).T
    assert weighted_counts(number, weight, 5).tolist() == [sum(w for g, _, w in rows if g == own) for own in range(5)]
    assert weighted_counts(number, None, 5).tolist() == [sum(g == own for g, _, _ in rows) for own in range(5)]
    codes = np.stack([low, -low], axis=1).astype(np.int32)
    lo, hi = ranges(number, codes, codes + 1)
    for place, own in enumerate(sorted({g for g, _, _ in rows})):
        inside = [v for g, v, _ in rows if g == own]
        assert lo[place].tolist() == [min(inside), -max(inside)]
        assert hi[place].tolist() == [max(inside) + 1, -min(inside) + 1]


@given(st.lists(st.lists(st.floats(0, 1), max_size=4), min_size=1, max_size=4))
def test_arrays_side_by_side_are_found_again(parts):
    joined, starts = laid_out([np.array(part, np.float64) for part in parts])
    assert [joined[a:b].tolist() for a, b in zip(starts, starts[1:], strict=False)] == parts


def test_points_of_no_rows():
    points = Points.of(np.zeros((0, 2), np.int32), whole([]))
    assert len(points.codes) == len(points.counts) == 0


# ---------------------------------------------------------------- what kernels share


@given(numbers)
@tries(60)
def test_kernels_sort_as_python_does(values):
    keys = whole(values)
    order = np.arange(len(keys))
    sort_falling(order, keys)
    assert order.tolist() == sorted(range(len(keys)), key=lambda i: -values[i]), "equal ones stay in order"
    assert falling(keys).tolist() == sorted((value for value in values if value), reverse=True)
    together = sorted_together(keys.copy(), np.arange(len(keys)))
    pairs = list(zip(*(own.tolist() for own in together), strict=True))
    assert pairs == sorted(zip(values, range(len(keys)), strict=True))
    places = [first_from(together[0], 0, len(keys), wanted) for wanted in range(7)]
    assert places == [sum(value < wanted for value in values) for wanted in range(7)]
    offsets, members = members_by(keys, 6)
    for value in range(6):
        own = members[offsets[value] : offsets[value + 1]].tolist()
        assert own == [i for i, other in enumerate(values) if other == value]


@given(st.lists(st.one_of(st.none(), st.integers(0, 20)), max_size=40))
@tries(60)
def test_a_queue_gives_the_least_first(steps):
    keys, stamps, size, plain = whole([]), whole([]), 0, []
    for step in steps:
        if step is not None:
            keys, stamps = pushed(keys, stamps, size, step, -step)
            size += 1
            heapq.heappush(plain, step)
        elif plain:
            assert (keys[0], stamps[0]) == (plain[0], -plain[0])
            pop(keys, stamps, size)
            size -= 1
            heapq.heappop(plain)


def test_arrays_grow_to_twice_their_length_and_keep_what_they_hold():
    assert room(whole([1, 2, 3]), 3).tolist() == [1, 2, 3]
    grown = room(whole([1, 2, 3]), 4)
    assert len(grown) == 6 and grown[:3].tolist() == [1, 2, 3]
    rows = room(np.array([[1, 2]], np.int32), 5)
    assert rows.shape == (5, 2) and rows.dtype == np.int32 and rows[0].tolist() == [1, 2]


def test_numbers_are_drawn_by_splitmix64():
    """The first outputs of the published reference for seed 1234567, and their highest 53 bits."""
    state = drawing_state(1234567)
    reference = (6457827717110365317, 3203168211198807973, 9817491932198370423)
    assert [uniform(state) for _ in range(3)] == [(number >> 11) / 2**53 for number in reference]
    assert drawing_state(None) != drawing_state(None)
