"""Every kernel gives what its slow plain twin gives."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import plain_twins as twins
from sfumato.anonymizers.mondrian._cuts import (
    code_weights,
    count_values,
    divide,
    domain_width,
    find_ranges,
    median_cut,
    problem_of,
    sizes_admitted,
    sparse_code_weights,
    taken_left,
    width,
)
from sfumato.anonymizers.mondrian._suppression import best_trim, loss
from sfumato.anonymizers.mondrian.mondrian import Mondrian, one_group, partition
from sfumato.anonymizers.trivial import WithoutQuasi, WithoutSensitive
from sfumato.data.cells import (
    MANY_ENTRIES,
    Assignment,
    Histograms,
    Quasi,
    Sensitive,
    distinct_rows,
    number_numbers,
    sorted_cells,
)
from sfumato.data.hierarchies.numeric import numeric
from sfumato.errors import InfeasibleError
from sfumato.measures.groups import COLUMNS, measure, of_groups
from sfumato.release.release import bucketization, generalization
from sfumato.requirements import _predicates as distances
from sfumato.requirements.requirement import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    TCloseness,
    sensitive_levels,
)
from strategies import (
    cells_of_tables,
    flat_sensitive,
    group_counts,
    hierarchies,
    one_histogram,
    requirements_for,
    sensitives,
    single_requirements,
    table_of,
    tries,
)

WIDE = numeric(0, 4999)


def close(a, b):
    """Equal but for rounding; infinities are equal to themselves."""
    return math.isclose(float(a), float(b), rel_tol=1e-9, abs_tol=1e-12)


def widths_of(cells):
    return [[int(w) for w in quasi.hierarchy.widths] for quasi in cells.quasi]


def levels_of(attribute):
    return attribute.hierarchy.ancestors[:, attribute.leaves].tolist()


def everything(cells):
    return np.arange(cells.size), cells.counts


def domain(cells):
    tops = [quasi.hierarchy.size - 1 for quasi in cells.quasi]
    return np.zeros(len(tops), np.int32), np.array(tops, np.int32)


# ---------------------------------------------------------------- rows and histograms


@given(st.integers(0, 4).flatmap(lambda w: st.lists(st.lists(st.integers(-2, 2), min_size=w, max_size=w), max_size=40)))
@tries(150)
def test_distinct_rows(rows):
    array = np.array(rows, np.int32).reshape(len(rows), len(rows[0]) if rows else 1)
    first, number = distinct_rows(array)
    assert (first.tolist(), number.tolist()) == twins.distinct_rows(rows)


@given(st.lists(st.tuples(*[st.integers(-(2**31), 2**31 - 1)] * 2), min_size=1, max_size=30))
@tries(150)
def test_distinct_rows_of_any_codes_and_of_columns_laid_out_apart(rows):
    array = np.asfortranarray(np.array(rows + rows[::-1], np.int32))
    first, number = distinct_rows(array)
    assert (first.tolist(), number.tolist()) == twins.distinct_rows(rows + rows[::-1])


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3), max_size=40))
@tries(150)
def test_distinct_numbers(numbers):
    first, number = number_numbers(np.array(numbers, np.int64))
    assert (first.tolist(), number.tolist()) == twins.distinct_rows([[own] for own in numbers])


def test_distinct_rows_of_many_rows():
    rows = np.random.default_rng(1).integers(0, 40, (20_000, 3)).astype(np.int32)
    first, number = distinct_rows(rows)
    unique, inverse = np.unique(rows, axis=0, return_inverse=True)
    assert len(first) == len(unique)
    assert (np.diff(first) > 0).all()
    assert (rows[first][number] == rows).all()
    assert len(np.unique(np.stack([number, inverse.ravel()]), axis=1).T) == len(unique)


@st.composite
def assignments(draw, cells):
    """Every record goes to some group or is left out; every group has a record."""
    records = twins.records_of(cells)
    groups = draw(st.lists(st.integers(-1, 4), min_size=len(records), max_size=len(records)))
    assume(max(groups) >= 0)
    numbers = sorted(set(groups) - {-1})
    members = [[r for r, g in zip(records, groups, strict=True) if g == number] for number in numbers]
    rows = [(cell, g, count) for g, own in enumerate(members) for cell, count in sorted(twins.entries(own))]
    shuffled = np.array(draw(st.permutations(rows)), np.int64).reshape(-1, 3).T
    return Assignment(*np.ascontiguousarray(shuffled)), members


@given(st.data(), cells_of_tables())
@tries(150)
def test_histograms(data, cells):
    assignment, members = data.draw(assignments(cells))
    histograms = cells.histograms(assignment, len(members))
    assert histograms.sizes.tolist() == [len(own) for own in members]
    for place, attribute in enumerate(cells.sensitive):
        expected = [twins.histogram(own, place, attribute.size) for own in members]
        assert histograms.of(place).tolist() == expected


@pytest.mark.parametrize("values", [256, 257])
@pytest.mark.parametrize("ordered", [True, False])
def test_histograms_of_many_entries(values, ordered):
    """Enough for two threads, with as many values as one byte tells apart and with more."""
    draw = np.random.default_rng(1).integers
    entries = MANY_ENTRIES + 1
    codes = np.stack([np.arange(entries) % 50, draw(0, values, entries)], axis=1).astype(np.int32)
    codes[:values, 1] = np.arange(values)
    cells = sorted_cells([Quasi("a", numeric(0, 49))], [("s", numeric(0, values - 1))], codes, draw(1, 4, entries))
    group = draw(0, 90, entries)
    assignment = Assignment(draw(0, entries, entries), np.sort(group) if ordered else group, draw(1, 4, entries))
    histograms = cells.histograms(assignment, 90)
    expected = np.zeros((90, values), np.int64)
    np.add.at(expected, (assignment.group, cells.values[assignment.cell, 0]), assignment.count)
    assert (histograms.counts == expected).all()
    assert (histograms.sizes == expected.sum(axis=1)).all()


@given(cells_of_tables(sensitive=(1, 2)))
@tries(150)
def test_the_baseline_is_the_whole_table(cells):
    records = twins.records_of(cells)
    assert cells.records == len(records)
    for place, attribute in enumerate(cells.sensitive):
        expected = twins.histogram(records, place, attribute.size)
        assert cells.baseline.of(place).tolist() == [expected]
        assert attribute.counts.tolist() == expected
        assert attribute.shares.tolist() == [float(share) for share in twins.shares(expected)]


# ---------------------------------------------------------------- distances


@given(st.data(), sensitives())
@tries(150)
def test_distances(data, attribute):
    counts = np.array(data.draw(group_counts(attribute.size)), np.int64)
    size, q, levels = counts.sum(), attribute.shares, sensitive_levels(attribute)
    own, table = counts.tolist(), attribute.counts.tolist()
    assert close(distances.equal_distance(counts, size, q), twins.equal(own, table))
    assert close(distances.ordered_distance(counts, size, q), twins.ordered(own, table))
    expected = twins.hierarchical(own, table, levels_of(attribute))
    assert close(distances.hierarchical_distance(counts, size, q, levels), expected)
    assert close(distances.js_distance(counts, size, q), twins.js(own, table))
    assert close(distances.largest_log_ratio(counts, size, q, True), twins.delta(own, table))
    assert close(distances.largest_log_ratio(counts, size, q, False), twins.delta(own, table, "ignore"))
    assert close(distances.largest_gain(counts, size, q), twins.beta(own, table))
    assert close(distances.entropy(counts, size), twins.entropy(own))
    assert distances.largest(counts) == max(own)
    assert distances.distinct(counts) == twins.distinct_l(own)
    assert distances.falling(counts).tolist() == sorted((n for n in own if n), reverse=True)


def test_earth_movers_distances_of_li_et_al():
    """Salaries 3k..11k: {3k,4k,5k} is 0.375 and {6k,8k,11k} 0.167 from the table (their section 4.1)."""
    q = np.full(9, 1 / 9)
    for present, expected in (((0, 1, 2), 0.375), ((3, 5, 8), 1 / 6)):
        counts = np.array([int(s in present) for s in range(9)])
        assert close(distances.ordered_distance(counts, 3, q), expected)


def test_a_hierarchical_distance_on_one_level_is_the_equal_one():
    counts, q = np.array([3, 0, 1]), np.array([0.2, 0.3, 0.5])
    levels = np.array([[0, 1, 2], [0, 0, 0]])
    assert close(distances.hierarchical_distance(counts, 4, q, levels), distances.equal_distance(counts, 4, q))


# ---------------------------------------------------------------- requirements


@given(st.data(), sensitives(), single_requirements())
@tries(150)
def test_admits(data, attribute, requirement):
    groups = data.draw(st.lists(group_counts(attribute.size), min_size=1, max_size=5))
    table, levels = attribute.counts.tolist(), levels_of(attribute)
    expected = [twins.admits(requirement, own, table, levels) for own in groups]
    assert requirement.admits(one_histogram(attribute, *groups)).tolist() == expected


KINDS = [
    *(TCloseness(0.5, distance) for distance in ("equal", "ordered", "hierarchical", "js")),
    LDiversity(2.0, "frequency"),
    LDiversity(2.0, "entropy"),
    LDiversity(2, "recursive", c=1.0),
    DeltaDisclosure(1.0),
    DeltaDisclosure(1.0, "ignore"),
    BetaLikeness(1.0, "basic"),
    BetaLikeness(1.0, "enhanced"),
    AlphaK(0.5, 1),
]


def at_boundary(requirement, counts, table, levels):
    """The requirement whose parameter is just what this group has, as the nearest float; None where there is none."""
    if requirement.name == "t-closeness":
        own = {
            "equal": lambda: twins.equal(counts, table),
            "ordered": lambda: twins.ordered(counts, table),
            "hierarchical": lambda: twins.hierarchical(counts, table, levels),
            "js": lambda: twins.js(counts, table),
        }[requirement.distance]()
        return TCloseness(float(own), requirement.distance)
    if requirement.name == "l-diversity" and requirement.variant == "frequency":
        return LDiversity(float(twins.frequency_l(counts)), "frequency")
    if requirement.name == "l-diversity" and requirement.variant == "entropy":
        return LDiversity(max(math.exp(twins.entropy(counts)), 1.0), "entropy")
    if requirement.name == "l-diversity":
        tail = twins.recursive_tail(counts, 2)
        return LDiversity(2, "recursive", c=max(counts) / tail) if tail else None
    if requirement.name == "delta-disclosure":
        own = twins.delta(counts, table, requirement.absent)
        return DeltaDisclosure(own, requirement.absent) if 0 < own < math.inf else None
    if requirement.name == "beta-likeness":
        own = float(twins.beta(counts, table))
        return BetaLikeness(own, requirement.variant) if own > 0 else None
    return AlphaK(float(max(twins.shares(counts))), sum(counts))


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(data=st.data(), attribute=sensitives())
@tries(60)
def test_admits_exactly_at_the_boundary(kind, data, attribute):
    counts = data.draw(group_counts(attribute.size))
    table, levels = attribute.counts.tolist(), levels_of(attribute)
    requirement = at_boundary(kind, counts, table, levels)
    assume(requirement is not None)
    expected = twins.admits(requirement, counts, table, levels)
    assert requirement.admits(one_histogram(attribute, counts)).tolist() == [expected]
    strict = kind.name == "delta-disclosure" or getattr(kind, "variant", "") == "recursive"
    if kind.name != "beta-likeness" or kind.variant == "basic":
        assert expected is not strict, "a strict comparison refuses its boundary, any other admits it"


@given(st.integers(2, 12), st.integers(1, 50))
@tries(150)
def test_a_share_of_exactly_one_in_l_is_admitted_and_one_record_more_is_not(ell, times):
    attribute = flat_sensitive([1] * ell)
    requirement = LDiversity(ell, "frequency")
    even = [times] * ell
    more = [times + 1, *even[1:]]
    assert requirement.admits(one_histogram(attribute, even, more)).tolist() == [True, False]
    assert LDiversity(ell, "entropy").admits(one_histogram(attribute, even, more)).tolist() == [True, False]
    assert AlphaK(1 / ell, 1).admits(one_histogram(attribute, even, more)).tolist() == [True, False]


@given(st.data(), st.lists(sensitives(), min_size=2, max_size=3))
@tries(150)
def test_a_requirement_reads_the_attribute_it_is_about(data, attributes):
    named = tuple(Sensitive(f"s{place}", own.hierarchy, own.leaves, own.counts) for place, own in enumerate(attributes))
    size = data.draw(st.integers(1, 12))
    counts = []
    for own in named:
        cuts = sorted(data.draw(st.lists(st.integers(0, size), min_size=own.size - 1, max_size=own.size - 1)))
        counts.append([b - a for a, b in itertools.pairwise([0, *cuts, size])])
    place = data.draw(st.integers(0, len(named) - 1))
    requirement = data.draw(single_requirements((f"s{place}",)))
    histograms = Histograms(named, np.array([size]), np.concatenate(counts)[None])
    expected = twins.admits(requirement, counts[place], named[place].counts.tolist(), levels_of(named[place]))
    assert requirement.admits(histograms).tolist() == [expected]


# ---------------------------------------------------------------- measures


@given(st.data(), sensitives())
@tries(150)
def test_measures_of_groups(data, attribute):
    groups = data.draw(st.lists(group_counts(attribute.size), min_size=1, max_size=4))
    table, levels = attribute.counts.tolist(), levels_of(attribute)
    counts = np.array(groups, np.int64)
    found = of_groups(counts, counts.sum(axis=1), attribute)
    for own, row in zip(groups, found, strict=True):
        expected = {
            "l_frequency": twins.frequency_l(own),
            "l_distinct": twins.distinct_l(own),
            "l_entropy": math.exp(twins.entropy(own)),
            "l_recursive": twins.recursive_l(own, 3),
            "t_equal": twins.equal(own, table),
            "t_ordered": twins.ordered(own, table),
            "t_hierarchical": twins.hierarchical(own, table, levels),
            "t_js": twins.js(own, table),
            "delta": twins.delta(own, table),
            "beta": twins.beta(own, table),
        }
        for name, value in zip(COLUMNS, row, strict=True):
            assert close(value, expected[name]), name


def published_by(cells, assignment, box_by_group):
    """The published records of an assignment; a group is its box, or its number where boxes are the cells' own."""
    found = []
    for cell, group, count in zip(assignment.cell, assignment.group, assignment.count, strict=True):
        codes = tuple(cells.codes[cell].tolist())
        lo, hi = box_by_group[group] if box_by_group else (codes, codes)
        own = twins.Published(lo, hi, (lo, hi) if box_by_group else group, tuple(cells.values[cell].tolist()))
        found.extend([own] * int(count))
    return found


def assert_measured(release, published, sensitive=True):
    cells = release.cells
    about = {attribute.name: levels_of(attribute) for attribute in cells.sensitive} if sensitive else None
    expected, by_sensitive = twins.measures(published, twins.records_of(cells), about, widths_of(cells))
    found = measure(release)
    assert set(found.values) == set(expected)
    for name, value in expected.items():
        assert close(found[name], value), name
    assert set(found.by_sensitive) == set(by_sensitive)
    for attribute, own in by_sensitive.items():
        assert set(found.by_sensitive[attribute]) == set(own)
        for name, value in own.items():
            assert close(found.by_sensitive[attribute][name], value), (attribute, name)


@given(st.data(), cells_of_tables())
@tries(150)
def test_measures_of_a_generalization(data, cells):
    """Groups get their own range or one of the few wider boxes, so that some have equal boxes."""
    assignment, members = data.draw(assignments(cells))
    bottom, top = domain(cells)
    boxes = []
    for own in members:
        lo, hi = twins.box_of(own)
        wide = data.draw(st.lists(st.booleans(), min_size=len(lo), max_size=len(lo)))
        boxes.append(
            (
                tuple(int(b) if w else a for a, b, w in zip(lo, bottom, wide, strict=True)),
                tuple(int(b) if w else a for a, b, w in zip(hi, top, wide, strict=True)),
            )
        )
    lo, hi = (np.array(side, np.int32) for side in zip(*boxes, strict=True))
    release = generalization(table_of(cells), assignment, lo, hi)
    assert release.groups == len(set(boxes))
    assert_measured(release, published_by(cells, assignment, boxes))


@given(st.data(), cells_of_tables())
@tries(150)
def test_measures_of_a_bucketization(data, cells):
    assignment, members = data.draw(assignments(cells))
    release = bucketization(table_of(cells), assignment, len(members))
    assert_measured(release, published_by(cells, assignment, None))


@given(cells_of_tables(sensitive=(1, 2)))
@tries(50)
def test_measures_of_the_trivial_releases(cells):
    table = table_of(cells)
    whole = Assignment(np.arange(cells.size), np.zeros(cells.size, np.int64), cells.counts)
    box = tuple(tuple(side.tolist()) for side in domain(cells))
    assert_measured(WithoutQuasi().anonymize(table, KAnonymity(1)), published_by(cells, whole, [box]))
    points = [(tuple(codes), tuple(codes)) for codes in cells.codes.tolist()]
    alone = Assignment(np.arange(cells.size), np.arange(cells.size), cells.counts)
    release = WithoutSensitive().anonymize(table, KAnonymity(1))
    assert_measured(release, published_by(cells, alone, points), sensitive=False)


@given(hierarchies(1, 8))
@tries(150)
def test_the_loss_of_an_interval(hierarchy):
    cells = sorted_cells([Quasi("q", hierarchy)], [], np.zeros((1, 1), np.int32), np.ones(1, np.int64))
    problem = problem_of(cells, KAnonymity(1))
    for lo in range(hierarchy.size):
        for hi in range(lo, hierarchy.size):
            expected = twins.interval_loss([int(w) for w in hierarchy.widths], lo, hi)
            assert close(hierarchy.loss(lo, hi), expected)
            assert close(loss(problem, 0, lo, hi), expected)


# ---------------------------------------------------------------- cutting


@given(cells_of_tables())
@tries(150)
def test_ranges_widths_and_values_of_a_node(cells):
    problem = problem_of(cells, KAnonymity(2))
    records = twins.records_of(cells)
    lo, hi = (side.copy() for side in domain(cells))
    find_ranges(problem, np.arange(cells.size), lo, hi)
    assert (tuple(lo.tolist()), tuple(hi.tolist())) == twins.box_of(records)
    for a, widths in enumerate(widths_of(cells)):
        assert width(problem, a, lo[a], hi[a]) == sum(widths[lo[a] : hi[a] + 1])
        assert domain_width(problem, a) == sum(widths)
    counted = np.full(int(cells.spans[-1]), 7, np.int64)
    assert count_values(problem, *everything(cells), counted) == len(records)
    expected = [twins.histogram(records, place, own.size) for place, own in enumerate(cells.sensitive)]
    assert counted.tolist() == list(itertools.chain(*expected))
    assert [sizes_admitted(problem.rules, size) for size in (0, 1, 2, 3)] == [False, False, True, True]


@st.composite
def wide_cells(draw, most=12, sensitive=0):
    """Few cells of an attribute with 5,000 leaves (or of a stretch of it), beside a small one."""
    reach = draw(st.sampled_from([40, 200, 5000]))
    rows = st.tuples(st.integers(0, reach - 1), st.integers(0, 3), *[st.integers(0, 2)] * sensitive)
    counted = draw(st.dictionaries(rows, st.integers(1, 3), min_size=1, max_size=most))
    codes = sorted(counted)
    if sensitive:
        assume(len({row[2] for row in codes}) > 1)
    counts = np.array([counted[row] for row in codes], np.int64)
    small = numeric(0, 3)
    about = [("s", numeric(0, 2))] if sensitive else []
    return sorted_cells([Quasi("a", WIDE), Quasi("b", small)], about, np.array(codes, np.int32), counts)


@given(st.data(), wide_cells())
@tries(150)
def test_code_weights_where_cells_are_few_or_many_for_their_range(data, cells):
    problem = problem_of(cells, KAnonymity(1))
    order = np.array(data.draw(st.permutations(range(cells.size))))
    attribute = data.draw(st.integers(0, 1))
    own = cells.codes[:, attribute]
    expected = twins.code_weights(twins.records_of(cells), attribute)
    arguments = problem, order, cells.counts[order], attribute
    for codes, weights in (code_weights(*arguments, own.min(), own.max()), sparse_code_weights(*arguments)):
        assert (codes.tolist(), weights.tolist()) == expected


@pytest.mark.parametrize("beyond", [-1, 0, 1, 2])
@pytest.mark.parametrize("n", [2, 3, 7])
def test_code_weights_on_either_side_of_the_change_to_sorting(n, beyond):
    reach = 4 * n + 32 + beyond
    codes = np.array([[reach * i // (n - 1) - (i == n - 1), 0] for i in range(n)], np.int32)
    cells = sorted_cells([Quasi("a", WIDE), Quasi("b", numeric(0, 3))], [], codes, np.arange(1, n + 1))
    problem = problem_of(cells, KAnonymity(1))
    found = code_weights(problem, np.arange(n)[::-1].copy(), cells.counts[::-1].copy(), 0, 0, reach - 1)
    assert [part.tolist() for part in found] == [codes[:, 0].tolist(), list(range(1, n + 1))]


@given(cells_of_tables(), st.booleans())
@tries(150)
def test_cuts_at_the_median(cells, relaxed):
    problem = problem_of(cells, KAnonymity(1))
    records = twins.records_of(cells)
    lo, hi = twins.box_of(records)
    for attribute in (a for a in range(len(lo)) if lo[a] < hi[a]):
        codes, weights = code_weights(problem, *everything(cells), attribute, lo[attribute], hi[attribute])
        place, at_code, left = median_cut(codes, weights, len(records), relaxed)
        expected = twins.halves(records, attribute, relaxed)
        assert left == len(expected[0])
        taken = taken_left(problem, *everything(cells), attribute, codes[place], at_code, np.array([5], np.uint64))
        parts = divide(*everything(cells), taken)
        found = [zip(parts[i].tolist(), parts[i + 1].tolist(), strict=True) for i in (0, 2)]
        if relaxed:  # which of several equal records go left is drawn, so only their number is fixed
            wanted = [Counter(record.codes for record in part) for part in expected]
            assert [points_of(cells, entries) for entries in found] == wanted
            continue
        assert [frozenset(entries) for entries in found] == [twins.entries(part) for part in expected]
        counted = np.full(int(cells.spans[-1]), 7, np.int64)
        count_values(problem, np.arange(cells.size), taken, counted)
        histograms = [twins.histogram(expected[0], s, own.size) for s, own in enumerate(cells.sensitive)]
        assert counted.tolist() == list(itertools.chain(*histograms))


def points_of(cells, entries):
    """How many records of each combination of quasi-identifiers some entries have."""
    counted = Counter()
    for cell, count in entries:
        counted[tuple(cells.codes[cell].tolist())] += count
    return counted


def test_which_equal_records_a_relaxed_cut_sends_left_does_not_depend_on_their_sensitive_values():
    """Five equal records with values 0..4, three of which go left: each one in three of five draws."""
    codes = np.array([[0, 0, s] for s in range(5)] + [[0, 1, 0]], np.int32)
    quasi = [Quasi("a", numeric(0, 1)), Quasi("b", numeric(0, 3))]
    cells = sorted_cells(quasi, [("s", numeric(0, 9))], codes, np.ones(6, np.int64))
    problem = problem_of(cells, KAnonymity(1))
    draws = 3000
    left = sum(
        taken_left(problem, *everything(cells), 1, 0, 3, np.array([seed * 7919], np.uint64)) for seed in range(draws)
    )
    assert left[5] == 0 and left.sum() == 3 * draws
    assert np.abs(left[:5] / draws - 0.6).max() < 0.04


# ---------------------------------------------------------------- Mondrian


def entries_of(groups):
    """The groups of a kernel as sorted lists of (cell, count)."""
    parts = itertools.pairwise(groups.offsets)
    cells, counts = groups.cells.tolist(), groups.counts.tolist()
    return sorted(sorted(zip(cells[a:b], counts[a:b], strict=True)) for a, b in parts)


def assert_partition(cells, requirement, relaxed):
    records = twins.records_of(cells)
    judge = twins.Judge(requirement, records, cells.sensitive)
    whole = judge(records)
    assert requirement.admits(cells.baseline).tolist() == [whole]
    assume(whole)
    state, scoring = np.array([11], np.uint64), None  # given, as makers give it: left out, all is compiled once more
    groups = partition(problem_of(cells, requirement), *everything(cells), *domain(cells), relaxed, state, scoring)
    if relaxed:
        assert_relaxed(cells, requirement, records, groups)
        return groups, None
    expected = twins.mondrian(records, widths_of(cells), judge, relaxed)
    assert entries_of(groups) == sorted(sorted(twins.entries(own)) for own in expected)
    return groups, expected


def assert_relaxed(cells, requirement, records, groups):
    """Groups are admitted and keep all records; where sizes alone decide, they are the twin's but for the draw."""
    judge = twins.Judge(requirement, records, cells.sensitive)
    placed = Counter()
    for own in entries_of(groups):
        placed.update(dict(own))
        assert judge([record for cell, count in own for record in of_cell(records, cell)[:count]])
    assert placed == Counter(record.cell for record in records)
    if all(part.name == "k-anonymity" for part in requirement.parts):
        expected = twins.mondrian(records, widths_of(cells), judge, True)
        found = [sorted(points_of(cells, own).items()) for own in entries_of(groups)]
        assert sorted(found) == sorted(sorted(Counter(r.codes for r in own).items()) for own in expected)


def of_cell(records, cell):
    return [record for record in records if record.cell == cell]


@given(data=st.data(), cells=cells_of_tables())
@tries(150)
def test_relaxed_mondrian(data, cells):
    assert_partition(cells, data.draw(requirements_for(cells)), relaxed=True)


@given(cells=cells_of_tables(rows=40), k=st.integers(1, 4))
@tries(100)
def test_relaxed_mondrian_by_sizes_is_the_twin(cells, k):
    assert_partition(cells, KAnonymity(k), relaxed=True)


@given(data=st.data(), cells=cells_of_tables())
@tries(300)
def test_mondrian(data, cells):
    groups, expected = assert_partition(cells, data.draw(requirements_for(cells)), relaxed=False)
    assert sorted(map(tuple, groups.boxes[:, : 2 * len(cells.quasi)].tolist())) == sorted(
        (*lo, *hi) for lo, hi in map(twins.box_of, expected)
    )


@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
@given(data=st.data(), cells=cells_of_tables(sensitive=(1, 2), rows=60))
@tries(60)
def test_mondrian_with_many_cuts(relaxed, data, cells):
    requirement = data.draw(
        st.one_of(
            st.builds(KAnonymity, st.integers(1, 3)),
            st.builds(LDiversity, st.just(2), st.just("distinct"), on=st.just("s0")),
        )
    )
    assert_partition(cells, requirement, relaxed)


@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
@given(data=st.data(), cells=wide_cells(sensitive=1))
@tries(60)
def test_mondrian_on_a_domain_of_many_more_leaves_than_cells(relaxed, data, cells):
    assert_partition(cells, data.draw(requirements_for(cells)), relaxed)


@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
@given(data=st.data(), cells=cells_of_tables(most_leaves=5))
@tries(150)
def test_regions_of_cuts_cover_their_records_and_the_domain_where_strict_once(relaxed, data, cells):
    groups, _ = assert_partition(cells, data.draw(requirements_for(cells)), relaxed)
    lo, hi, region_lo, region_hi = np.split(groups.boxes, 4, axis=1)
    assert (region_lo <= lo).all() and (hi <= region_hi).all()
    for point in itertools.product(*(range(quasi.hierarchy.size) for quasi in cells.quasi)):
        covering = ((region_lo <= point) & (point <= region_hi)).all(axis=1).sum()
        assert covering >= 1 if relaxed else covering == 1


@given(cells=cells_of_tables())
@tries(50)
def test_one_group_holds_everything(cells):
    groups = one_group(problem_of(cells, KAnonymity(1)), *everything(cells), *domain(cells))
    records = twins.records_of(cells)
    assert entries_of(groups) == [sorted(twins.entries(records))]
    lo, hi = twins.box_of(records)
    assert groups.boxes.tolist() == [[*lo, *hi, *domain(cells)[0].tolist(), *domain(cells)[1].tolist()]]


makers = st.builds(Mondrian, st.sampled_from(["strict", "relaxed"]), st.sampled_from(["tight", "region"]))
forms = st.sampled_from(["generalization", "bucketization"])


@given(data=st.data(), cells=cells_of_tables(), maker=makers, form=forms, suppress=st.sampled_from([0, 0.1, 0.5]))
@tries(150)
def test_releases_of_mondrian_keep_the_requirement_and_the_budget(data, cells, maker, form, suppress):
    requirement = data.draw(requirements_for(cells))
    assume(requirement.monotone or maker.mode == "strict" or form == "bucketization")
    assume(cells.sensitive or form == "generalization")
    records = twins.records_of(cells)
    judge = twins.Judge(requirement, records, cells.sensitive)
    try:
        release = maker.anonymize(table_of(cells), requirement, form, suppress)
    except InfeasibleError:
        assert not judge(records)
        return
    assert suppress or judge(records)
    assert 0 <= release.suppressed <= suppress * len(records)
    placed = {}
    left = {cell: int(count) for cell, count in enumerate(cells.counts)}
    entries = zip(release.assignment.cell, release.assignment.group, release.assignment.count, strict=True)
    for cell, group, count in entries:
        assert count > 0
        left[cell] -= count
        codes, values = tuple(cells.codes[cell].tolist()), tuple(cells.values[cell].tolist())
        placed.setdefault(group, []).extend([twins.Record(cell, codes, values)] * int(count))
    assert min(left.values()) >= 0 and sum(left.values()) == release.suppressed
    assert sorted(placed) == list(range(release.groups))
    for own in placed.values():
        assert judge(own)
    if form == "generalization":
        for group, own in placed.items():
            lo, hi = twins.box_of(own)
            assert (release.boxes.lo[group] <= lo).all() and (hi <= release.boxes.hi[group]).all()
            if maker.ranges == "tight":
                assert (release.boxes.lo[group] == lo).all() and (hi == release.boxes.hi[group]).all()
        assert len(set(map(tuple, np.hstack([release.boxes.lo, release.boxes.hi]).tolist()))) == release.groups


# ---------------------------------------------------------------- suppression


@given(data=st.data(), cells=cells_of_tables(rows=20), budget=st.integers(0, 20))
@tries(200)
def test_the_best_trim_keeps_its_promise(data, cells, budget):
    requirement = data.draw(requirements_for(cells))
    problem, records, widths = problem_of(cells, requirement), twins.records_of(cells), widths_of(cells)
    judge = twins.Judge(requirement, records, cells.sensitive)
    whole = judge(records)
    box = one_group(problem, *everything(cells), *domain(cells)).boxes[0]
    attribute, code, keep_left, cost, gain = best_trim(problem, *everything(cells), box, budget)
    possible = [
        (kept, removed)
        for kept, removed in twins.trims(records, budget)
        if judge(kept) and not (whole and judge(removed))
    ]
    if attribute < 0:
        if whole:
            at_least = [trimmed_gain(records, kept, widths) for kept, _ in possible]
            assert all(own <= 1e-9 for own in at_least)
        else:
            assert not possible
        return
    kept = [record for record in records if (record.codes[attribute] <= code) == keep_left]
    removed = [record for record in records if (record.codes[attribute] <= code) != keep_left]
    assert len(removed) == cost and 0 < cost <= budget
    assert judge(kept)
    assert gain <= float(twins.trim_saving(records, kept, widths)) + 1e-9
    if whole:
        assert not judge(removed)
        assert gain > 0
        best = max(trimmed_gain(records, kept, widths) / len(removed) for kept, removed in possible)
        assert close(gain / cost, best)
    else:
        assert cost == min(len(removed) for _, removed in possible)


def trimmed_gain(records, kept, widths):
    """The saving of a trim in the attribute that it trims, the other attributes left as wide as they were.

    Which attribute was trimmed is read off what is kept: the one that separates kept from removed best.
    """
    lo, hi = twins.box_of(records)
    before = twins.box_loss(widths, lo, hi)
    chosen = set(map(id, kept))
    removed = [record for record in records if id(record) not in chosen]
    found = []
    for a in range(len(lo)):
        own, other = {r.codes[a] for r in kept}, {r.codes[a] for r in removed}
        if max(own) < min(other) or max(other) < min(own):
            narrow_lo, narrow_hi = list(lo), list(hi)
            narrow_lo[a], narrow_hi[a] = min(own), max(own)
            after = twins.box_loss(widths, narrow_lo, narrow_hi)
            found.append(float(len(removed) * (before - 1) + len(kept) * (before - after)))
    return max(found)


def losses_without_and_with_suppression(data, cells, maker, form):
    requirement = data.draw(requirements_for(cells))
    assume(requirement.monotone or maker.mode == "strict" or form == "bucketization")
    assume(requirement.admits(cells.baseline)[0])
    table = table_of(cells)
    without = measure(maker.anonymize(table, requirement, form))["loss"]
    return without, measure(maker.anonymize(table, requirement, form, 0.4))["loss"]


@given(data=st.data(), cells=cells_of_tables(rows=20), mode=st.sampled_from(["strict", "relaxed"]))
@tries(100)
def test_suppression_never_costs_more_than_it_saves(data, cells, mode):
    maker = Mondrian(mode, seed=seed_for(mode))
    without, loss = losses_without_and_with_suppression(data, cells, maker, "generalization")
    assert loss <= without + 1e-9


@given(data=st.data(), cells=cells_of_tables(rows=20), mode=st.sampled_from(["strict", "relaxed"]))
@tries(100)
def test_suppression_never_costs_more_than_it_saves_where_regions_are_published(data, cells, mode):
    maker = Mondrian(mode, "region", seed=seed_for(mode))
    without, loss = losses_without_and_with_suppression(data, cells, maker, "generalization")
    assert loss <= without + 1e-9


@given(data=st.data(), cells=cells_of_tables(sensitive=(1, 2), rows=20), mode=st.sampled_from(["strict", "relaxed"]))
@tries(100)
def test_suppression_never_costs_more_than_it_saves_in_a_bucketization(data, cells, mode):
    maker = Mondrian(mode, seed=seed_for(mode))
    without, loss = losses_without_and_with_suppression(data, cells, maker, "bucketization")
    assert loss <= without + 1e-9


def seed_for(mode):
    return 3 if mode == "relaxed" else None


def five_leaves(codes, values, counts):
    """The cells of a quasi-identifier of five leaves and a sensitive attribute of two."""
    columns = np.stack([codes, values], axis=1).astype(np.int32)
    return sorted_cells([Quasi("q", numeric(0, 4))], [("s", numeric(0, 1))], columns, np.array(counts, np.int64))


def test_suppression_counts_what_a_region_still_covers_between_the_records():
    """Without the two records at 0, the region of the three at 2 still reaches down to 1."""
    table = table_of(five_leaves([0, 2, 3], [0, 1, 1], [2, 3, 3]))
    maker = Mondrian(ranges="region")
    without, loss = (measure(maker.anonymize(table, KAnonymity(3), suppress=share))["loss"] for share in (0, 0.4))
    assert loss <= without + 1e-9


def test_a_bucketization_that_is_feasible_suppresses_nothing():
    """Its quasi-identifiers are exact, so there is no loss that leaving out records could save."""
    table = table_of(five_leaves([0, 4], [0, 1], [9, 1]))
    release = Mondrian().anonymize(table, KAnonymity(5), "bucketization", 0.2)
    assert release.suppressed == 0
