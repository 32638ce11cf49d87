"""Large populations and u_loss (Li & Li 2009) against brute force over all conjunctions of nodes, record by record."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plain_releases as plain
from sfumato import BadInputError, Scales, TCloseness, anonymize, measure, numeric, tree
from sfumato.data.cells import Quasi, sorted_cells
from sfumato.measures.divergence import js_of_rows
from sfumato.release import populations
from sfumato.release.populations import large_populations
from sfumato.release.regions import Members, estimated_histograms, overlap_estimates
from strategies import tries

supports = st.one_of(st.sampled_from([0.05, 0.1, 0.2, 0.25, 0.5, 1.0]), st.floats(0.01, 1.0))


def same(a, b):
    return a == pytest.approx(b, rel=1e-9, abs=1e-9)


def regions_found(cells, found):
    """Write populations as the plain version does: an interval per attribute, None for the whole domain."""
    tops = [quasi.hierarchy.size - 1 for quasi in cells.quasi]
    return [
        tuple(None if (a, b) == (0, top) else (a, b) for a, b, top in zip(lo, hi, tops, strict=True))
        for lo, hi in zip(found.lo.tolist(), found.hi.tolist(), strict=True)
    ]


# ---------------------------------------------------------------- the search


@tries(150)
@given(plain.small_cells(sensitive=(0, 1)), supports)
def test_large_populations_are_all_conjunctions_with_enough_support(cells, min_support):
    found = large_populations(cells, min_support)
    regions = regions_found(cells, found)
    assert len(set(regions)) == len(regions) == found.size
    assert dict(zip(regions, found.supports.tolist(), strict=True)) == plain.large_populations(cells, min_support)


@tries(60)
@given(plain.small_cells(), supports)
def test_a_population_is_the_same_as_interval_region_and_selection(cells, min_support):
    found = large_populations(cells, min_support)
    for lo, hi, used in zip(found.lo, found.hi, found.regions.used, strict=True):
        for a, quasi in enumerate(cells.quasi):
            selected = (
                np.ones(quasi.hierarchy.size, bool) if used[a] < 0 else found.regions.selections[a].masks[used[a]]
            )
            assert np.flatnonzero(selected).tolist() == list(range(lo[a], hi[a] + 1))


@tries(80)
@given(plain.small_cells(), supports, st.integers(0, 10))
def test_replayed_sums_are_sums_over_members(cells, min_support, seed):
    found = large_populations(cells, min_support)
    values = np.random.default_rng(seed).normal(size=(len(found.points.codes), 3))
    sums = found.sums(values)
    members = Members.of(found.points, found.regions)
    np.testing.assert_allclose(sums, members.sums(values), rtol=1e-9, atol=1e-9)
    for r in range(found.size):
        own = ((found.points.codes >= found.lo[r]) & (found.points.codes <= found.hi[r])).all(axis=1)
        assert members.points[members.offsets[r] : members.offsets[r + 1]].tolist() == np.flatnonzero(own).tolist()
        np.testing.assert_allclose(sums[r], values[own].sum(axis=0), rtol=1e-9, atol=1e-9)


def test_a_node_with_one_child_is_counted_once():
    cells = one_attribute(plain.UNBALANCED, [0, 1, 2, 3, 4, 5])
    found = large_populations(cells, 0.01)
    intervals = sorted(zip(found.lo[:, 0].tolist(), found.hi[:, 0].tolist(), strict=True))
    assert intervals == [(0, 0), (0, 1), (1, 1), (2, 2), (2, 4), (3, 3), (3, 4), (4, 4), (5, 5)]


def test_the_missing_value_is_a_population_of_its_own():
    cells = one_attribute(numeric(0, 3, 1, intervals=[2]).with_missing(), [0, 1, 2, 3, 4])
    found = large_populations(cells, 0.01)
    intervals = sorted(zip(found.lo[:, 0].tolist(), found.hi[:, 0].tolist(), strict=True))
    assert intervals == [(0, 0), (0, 1), (1, 1), (2, 2), (2, 3), (3, 3), (4, 4)]


def test_support_is_compared_on_counts():
    cells = one_attribute(tree(["a", "b", "c"]), [0] * 7 + [1] * 7 + [2] * 86)
    for share, expected in ((0.07, 3), (0.0700001, 1), (0.86, 1), (0.87, 0)):  # .07 x 100 is 7.000000000000001
        assert large_populations(cells, share).size == expected


@pytest.mark.parametrize("share", [0, -0.1, 1.1, float("nan"), "a", None, True])
def test_a_bad_support_is_refused(share):
    with pytest.raises(BadInputError, match="min_support"):
        Scales(min_support=share)
    with pytest.raises(BadInputError, match="min_support"):
        large_populations(one_attribute(tree(["a", "b"]), [0, 1]), share)


def one_attribute(hierarchy, codes):
    """Cells of one quasi-identifier with these codes; a sensitive attribute alternates."""
    rows = np.array([(code, i % 2) for i, code in enumerate(codes)], np.int32)
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    about = [("s", tree(["yes", "no"]))]
    return sorted_cells([Quasi("q", hierarchy)], about, distinct.astype(np.int32), counts.astype(np.int64))


# ---------------------------------------------------------------- estimates and u_loss


@tries(100)
@given(plain.releases(attributes=2), st.data())
def test_estimates_are_mass_times_overlap_over_volume(release, data):
    cells = release.cells
    found = large_populations(cells, data.draw(supports))
    by_overlap = overlap_estimates(release, found.regions)
    by_point = None
    if (release.boxes.lo == release.boxes.hi).all():
        by_point = found.sums(estimated_histograms(release))
    for r, region in enumerate(regions_found(cells, found)):
        leaves = plain.selected_leaves(region)
        for i in range(len(cells.sensitive)):
            own = slice(cells.spans[i], cells.spans[i + 1])
            expected = plain.estimated_counts(release, leaves, i)
            np.testing.assert_allclose(by_overlap[r, own], expected, rtol=1e-9, atol=1e-9)
            if by_point is not None:
                np.testing.assert_allclose(by_point[r, own], expected, rtol=1e-9, atol=1e-9)


@tries(80)
@given(plain.releases(), st.sampled_from([0.05, 0.1, 0.3, 0.6]))
def test_u_loss_is_its_definition(release, min_support):
    measured = Scales(min_support).prepare(release.table).measure(release)
    if not plain.large_populations(release.cells, min_support):
        assert "u_loss" not in measured.values
        return
    expected = [plain.u_loss(release, min_support, i) for i in range(len(release.cells.sensitive))]
    for attribute, loss in zip(release.cells.sensitive, expected, strict=True):
        assert same(measured.by_sensitive[attribute.name]["u_loss"], loss)
    assert same(measured["u_loss"], max(expected))


@tries(60)
@given(plain.small_cells())
def test_the_original_gives_true_counts_and_loses_nothing(cells):
    release = anonymize(plain.table_of(cells), "k-anonymity k=1", "original")
    prepared = Scales(0.05).prepare(release.table)
    if not prepared.populations.size:
        return
    np.testing.assert_allclose(estimated_histograms(release), cells.truth, rtol=1e-12)
    truth = prepared.populations.sums(cells.truth)
    np.testing.assert_allclose(overlap_estimates(release, prepared.populations.regions), truth, atol=1e-9)
    for i, region in enumerate(regions_found(cells, prepared.populations)):
        expected = [plain.true_counts(cells, plain.selected_leaves(region), s) for s in range(len(cells.sensitive))]
        assert truth[i].tolist() == [count for own in expected for count in own]
        assert prepared.populations.supports[i] == sum(expected[0])
    measured = prepared.measure(release)
    assert measured["u_loss"] == pytest.approx(0, abs=1e-12)
    assert measured["query_error"] == pytest.approx(0, abs=1e-9)
    assert measured["kl"] == pytest.approx(0, abs=1e-9)


@tries(60)
@given(plain.small_cells())
def test_without_quasi_identifiers_every_population_looks_like_the_table(cells):
    release = anonymize(plain.table_of(cells), "k-anonymity k=1", "without-quasi")
    prepared = Scales(0.05).prepare(release.table)
    found = plain.large_populations(cells, 0.05)
    if not found:
        return
    measured = prepared.measure(release)
    for i, attribute in enumerate(cells.sensitive):
        truth = [plain.true_counts(cells, plain.selected_leaves(region), i) for region in found]
        expected = np.mean([plain.jensen_shannon(own, attribute.counts.tolist()) for own in truth])
        assert same(measured.by_sensitive[attribute.name]["u_loss"], expected)
    assert measured["p_loss"] == pytest.approx(0, abs=1e-12)


def test_a_population_without_any_record_left_counts_as_the_trivial_release():
    baseline = np.array([0.25, 0.75])
    truth, nothing = np.array([[3.0, 1.0], [2.0, 2.0]]), np.array([[0.0, 0.0], [1.0, 1.0]])
    losses = js_of_rows(truth, nothing, baseline)
    assert losses.tolist() == pytest.approx([plain.jensen_shannon([3, 1], [1, 3]), 0.0])


@tries(30)
@given(plain.releases(), st.sampled_from([0.05, 0.3]))
def test_without_a_plan_the_measures_are_the_same(release, min_support):
    kept = Scales(min_support).prepare(release.table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(populations, "LONGEST_PLAN", 3)
        lost = Scales(min_support).prepare(release.table)
        assert lost.populations.size == kept.populations.size
        if kept.populations.plan is not None and len(kept.populations.plan.sources) > 3:
            assert lost.populations.plan is None
        first, second = kept.measure(release).values, lost.measure(release).values
    assert list(first) == list(second)
    assert list(first.values()) == pytest.approx(list(second.values()), rel=1e-9, abs=1e-12)


@tries(40)
@given(plain.releases(sensitive=(0, 0), attributes=2))
def test_a_table_without_sensitive_attributes_can_be_measured(release):
    measured = Scales().prepare(release.table).ready().measure(release)
    assert measured.by_sensitive == {}
    assert "u_loss" not in measured.values and measured["k"] >= 1


# ---------------------------------------------------------------- p_loss


@tries(100)
@given(
    plain.small_cells(sensitive=(1, 1), rows=30),
    st.one_of(st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.4]), st.floats(0, 0.7)),
    st.sampled_from(["generalization", "bucketization"]),
    st.sampled_from([0.0, 0.2]),
)
def test_t_closeness_by_js_bounds_p_loss(cells, t, form, suppress):
    if t == 0:
        t = 1e-6
    release = anonymize(plain.table_of(cells), TCloseness(t, "js"), "mondrian", form, suppress)
    measured = measure(release)
    assert measured["p_loss"] <= t + 1e-9
    baseline = cells.sensitive[0].counts.tolist()
    _, members = plain.published_records(release)
    losses = []
    for values in members.values():
        own = plain.jensen_shannon(plain.histogram(values, 0, len(baseline)), baseline)
        losses += [own] * len(values)
    losses.sort()
    assert same(measured["p_loss"], losses[-1])
    assert same(measured["p_loss_mean"], float(np.mean(losses)))
    for name, share in (("p_loss_median", 0.5), ("p_loss_95", 0.95)):
        below = int(np.ceil(share * len(losses) - 1e-9))
        assert same(measured[name], losses[below - 1])
