"""Aggregate queries and KL against the definitions, record by record."""

from __future__ import annotations

from math import ceil
from statistics import fmean, median

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import plain_releases as plain
from sfumato import BadInputError, Queries, Scales, anonymize, flat, numeric
from sfumato.config.options import parse
from sfumato.data.cells import Quasi, sorted_cells
from strategies import tries


@st.composite
def workloads(draw, number=15):
    return Queries(
        dimensions=draw(st.integers(1, 4)),
        selectivity=draw(st.sampled_from([0.05, 0.2, 0.5, 0.9, 1.0])),
        reading=draw(st.sampled_from(["query", "attribute"])),
        number=number,
        seed=draw(st.integers(0, 5)),
        sanity=draw(st.sampled_from([0.001, 0.05, 0.5, 1.0])),
        select=draw(st.sampled_from(["values", "range"])),
    )


def regions_of(workload):
    """Every query as sets of leaves, None where it does not look at an attribute."""
    return [
        [
            None if used < 0 else set(np.flatnonzero(workload.regions.selections[a].masks[used]).tolist())
            for a, used in enumerate(row)
        ]
        for row in workload.regions.used
    ]


def plain_errors(release, workload, attribute, sanity):
    """Answer every query on the records and from the release."""
    errors = []
    for region, selected in zip(regions_of(workload), workload.values, strict=True):
        truth = plain.true_counts(release.cells, region, attribute)
        estimate = plain.estimated_counts(release, region, attribute)
        answer = sum(n for n, wanted in zip(truth, selected, strict=True) if wanted)
        guess = sum(n for n, wanted in zip(estimate, selected, strict=True) if wanted)
        errors.append(abs(guess - answer) / max(answer, sanity * release.cells.records))
    return errors


def drawn(cells, queries, attribute=0):
    return queries.workload(cells, cells.points, attribute)


# ---------------------------------------------------------------- errors


@tries(120)
@given(plain.releases(), workloads())
def test_query_errors_are_their_definition(release, queries):
    prepared = Scales(queries=queries).prepare(release.table)
    measured = prepared.measure(release)
    expected = []
    for i, attribute in enumerate(release.cells.sensitive):
        errors = plain_errors(release, prepared.workloads[i], i, queries.sanity)
        own = measured.by_sensitive[attribute.name]
        assert own["query_error"] == pytest.approx(fmean(errors), rel=1e-9, abs=1e-9)
        assert own["query_error_median"] == pytest.approx(median(errors), rel=1e-9, abs=1e-9)
        expected.append((fmean(errors), median(errors)))
    assert measured["query_error"] == pytest.approx(max(mean for mean, _ in expected), rel=1e-9, abs=1e-9)
    assert measured["query_error_median"] == pytest.approx(max(mid for _, mid in expected), rel=1e-9, abs=1e-9)


@tries(60)
@given(plain.small_cells(), workloads())
def test_answers_are_true_counts(cells, queries):
    for i in range(len(cells.sensitive)):
        workload = drawn(cells, queries, i)
        for region, selected, answer in zip(regions_of(workload), workload.values, workload.answers, strict=True):
            assert answer == np.array(plain.true_counts(cells, region, i)) @ selected


# ---------------------------------------------------------------- the draw


@tries(100)
@given(plain.small_cells(), workloads())
def test_queries_select_the_stated_share_of_values(cells, queries):
    workload = drawn(cells, queries)
    dimensions = min(queries.dimensions, len(cells.quasi))
    if queries.reading == "attribute":
        share = queries.selectivity
    else:
        share = queries.selectivity ** (1 / (dimensions + 1))
    assert workload.regions.size == len(workload.values) == len(workload.answers) == queries.number

    def check(selected):
        assert selected.sum() == ceil(len(selected) * share - 1e-9)  # rounded up, so never nothing
        if queries.select == "range":
            first = int(np.argmax(selected))
            assert selected[first : first + selected.sum()].all()

    for row, values in zip(workload.regions.used, workload.values, strict=True):
        assert (row >= 0).sum() == dimensions
        check(values)
        for a, used in enumerate(row):
            if used >= 0:
                check(workload.regions.selections[a].masks[used])


def test_both_readings_on_a_large_domain():
    cells = wide_cells(100)
    asked = drawn(cells, Queries(dimensions=2, selectivity=0.008, number=200))
    assert all(len(leaves) == 20 for region in regions_of(asked) for leaves in region if leaves is not None)
    assert (asked.values.sum(axis=1) == 2).all()  # .2 of ten values
    literal = drawn(cells, Queries(dimensions=2, selectivity=0.25, number=200, reading="attribute"))
    assert all(len(leaves) == 25 for region in regions_of(literal) for leaves in region if leaves is not None)
    asked_for = [tuple(np.flatnonzero(row >= 0)) for row in asked.regions.used]
    assert set(asked_for) == {(0, 1), (0, 2), (1, 2)}
    for a in range(3):
        chosen = [leaf for region in regions_of(asked) if region[a] is not None for leaf in region[a]]
        assert np.bincount(chosen, minlength=100).min() > 5  # every leaf is asked for


@pytest.mark.parametrize("reading", ["query", "attribute"])
@pytest.mark.parametrize("selectivity", [1e-6, 1e-12, 1e-300])
def test_a_query_never_selects_nothing_at_all(selectivity, reading):
    workload = drawn(wide_cells(10), Queries(dimensions=1, selectivity=selectivity, number=20, reading=reading))
    assert (workload.values.sum(axis=1) == 1).all()
    assert all(len(leaves) == 1 for region in regions_of(workload) for leaves in region if leaves is not None)


def wide_cells(leaves, records=400):
    """Three numeric attributes, records scattered over them, ten sensitive values."""
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.integers(0, leaves, (records, 3)), rng.integers(0, 10, records)])
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    quasi = [Quasi(f"q{i}", numeric(0, leaves - 1)) for i in range(3)]
    return sorted_cells(quasi, [("s", flat(range(10)))], distinct.astype(np.int32), counts.astype(np.int64))


def test_a_sanity_bound_of_zero_draws_only_queries_with_an_answer():
    cells = wide_cells(30)
    queries = Queries(dimensions=3, selectivity=0.001, number=150, sanity=0)
    workload = drawn(cells, queries)
    assert workload.regions.size == 150 and (workload.answers > 0).all()
    assert (drawn(cells, Queries(dimensions=3, selectivity=0.001, number=150)).answers == 0).any()
    release = anonymize(plain.table_of(cells), "k-anonymity k=20", form="bucketization")
    measured = Scales(queries=queries).prepare(release.table).measure(release)
    assert measured["query_error"] == pytest.approx(fmean(plain_errors(release, workload, 0, 0)))


@tries(40)
@given(plain.releases(sensitive=(1, 1)), workloads())
def test_without_a_sanity_bound_errors_are_relative_to_the_answer(release, queries):
    asked = Queries(queries.dimensions, queries.selectivity, queries.reading, 10, queries.seed, 0, queries.select)
    try:
        workload = drawn(release.cells, asked)
    except BadInputError as error:
        assert "above zero" in str(error)
        assume(False)
    measured = Scales(queries=asked).prepare(release.table).measure(release)
    assert (workload.answers > 0).all()
    assert measured["query_error"] == pytest.approx(fmean(plain_errors(release, workload, 0, 0)), abs=1e-9)


def test_too_few_queries_with_an_answer_is_an_error_that_says_so():
    cells = wide_cells(1000, records=2)
    queries = Queries(dimensions=3, selectivity=1e-9, number=3, sanity=0)
    with pytest.raises(BadInputError, match=r"above zero; use a larger selectivity"):
        drawn(cells, queries)


@tries(40)
@given(plain.releases(attributes=2), workloads())
def test_the_same_seed_gives_the_same_numbers(release, queries):
    first, second = (Scales(queries=queries).prepare(release.table).measure(release) for _ in range(2))
    assert first == second


def test_another_seed_gives_other_queries():
    cells = wide_cells(100)
    first, again, other = (drawn(cells, Queries(seed=seed, number=50)) for seed in (1, 1, 2))
    assert regions_of(first) == regions_of(again) != regions_of(other)
    assert (first.answers == again.answers).all()


def test_a_range_wraps_nowhere_and_reaches_both_ends():
    workload = drawn(wide_cells(10), Queries(dimensions=3, selectivity=0.2, number=300, select="range"))
    starts = {min(leaves) for region in regions_of(workload) for leaves in region if leaves is not None}
    ends = {max(leaves) for region in regions_of(workload) for leaves in region if leaves is not None}
    assert min(starts) == 0 and max(ends) == 9


# ---------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("queries dimensions=0", "dimensions"),
        ("queries dimensions=1.5", "dimensions"),
        ("queries selectivity=0", "selectivity"),
        ("queries selectivity=1.01", "selectivity"),
        ("queries selectivity=nan", "selectivity"),
        ("queries selectivity=much", "selectivity"),
        ("queries reading=mine", "reading"),
        ("queries number=0", "number"),
        ("queries seed=-1", "seed"),
        ("queries sanity=-0.1", "sanity"),
        ("queries sanity=2", "sanity"),
        ("queries select=some", "select"),
        ("queries kind=odd", "kind"),
    ],
)
def test_bad_parameters_are_named(text, field):
    with pytest.raises(BadInputError, match=field) as caught:
        parse(text, (Queries,), "workload")
    assert "\n" not in str(caught.value)


@tries(50)
@given(workloads())
def test_queries_print_as_what_they_are_read_from(queries):
    assert parse(str(queries), (Queries,), "workload") == queries


# ---------------------------------------------------------------- kl


@tries(120)
@given(plain.releases(attributes=2))
def test_kl_is_its_definition_over_all_cells_of_the_domain(release):
    measured = Scales().prepare(release.table).measure(release)
    expected = [plain.kl(release, i) for i in range(len(release.cells.sensitive))]
    for attribute, own in zip(release.cells.sensitive, expected, strict=True):
        assert measured.by_sensitive[attribute.name]["kl"] == pytest.approx(own, rel=1e-9, abs=1e-9)
    assert measured["kl"] == pytest.approx(max(expected), rel=1e-9, abs=1e-9)
