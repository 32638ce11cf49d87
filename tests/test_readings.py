"""Ways to read that Cormode et al. 2013 leave open: negative counts, closed ranges, the widest attribute."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.anonymizers import MECHANISMS, anonymizer
from sfumato.anonymizers.dp.mechanism import BoxMechanism
from sfumato.anonymizers.dp.noise import UnsafeSeededNoise
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.errors import BadInputError
from sfumato.measures.attribute_attack import Attack
from sfumato.measures.queries import CLOSED_HALF_RANGES, HALF_RANGES, Queries
from sfumato.measures.reconstruction import UniformReader
from sfumato.measures.scales import Scales
from sfumato.requirements.requirement import KAnonymity

ADULT = {"quasi": ["workclass", "education", "sex", "hours-per-week", "salary"], "sensitive": ["occupation"]}


@pytest.fixture(scope="module")
def adult():
    return sfumato.load("adult-train", **ADULT)


@pytest.fixture(scope="module")
def drawn(adult):
    return anonymizer("dp-kd-tree epsilon=0.1 height=8").draw(adult, UnsafeSeededNoise(5))


# ---------------------------------------------------------------- negative counts


def test_one_draw_is_read_both_ways_without_new_noise(drawn):
    cut, unbiased = drawn.read("cut"), drawn.read("unbiased")
    assert unbiased.counts.min() < 0 <= cut.counts.min()
    assert np.array_equal(cut.counts, np.where(unbiased.counts < 0, 0, unbiased.counts))
    for release in (cut, unbiased):
        assert np.array_equal(release.boxes.mass, release.counts.sum(axis=1))
        assert np.array_equal(release.boxes.lo, drawn.boxes.lo) and release.guarantee == drawn.guarantee
        assert np.array_equal(release.read("cut").read("unbiased").counts, unbiased.counts)


def test_both_readings_write_the_same_synthetic_records(drawn):
    assert np.array_equal(drawn.read("cut").synthetic_counts, drawn.read("unbiased").synthetic_counts)


def test_cut_counts_tell_what_the_readers_of_the_file_will_see(adult, drawn):
    """Queries on the records of the file, which are whole numbers, have the error of `cut`, far from `unbiased`."""
    prepared = Scales(queries=HALF_RANGES, reader=UniformReader()).prepare(adult)
    file = replace(drawn, drawn=drawn.synthetic_counts.astype(np.float64))
    in_file, cut, unbiased = (
        np.median(prepared.query_errors(release, HALF_RANGES, prepared.workloads[0], None))
        for release in (file, drawn.read("cut"), drawn.read("unbiased"))
    )
    assert in_file == pytest.approx(cut, rel=0.02) and unbiased < cut / 2


def test_the_attacker_cuts_negative_counts_in_either_reading(drawn):
    cut, unbiased = (Attack().run(drawn.read(reading)) for reading in ("cut", "unbiased"))
    assert cut == unbiased


def test_cut_sums_are_too_high_by_all_that_was_cut(drawn):
    surplus = -drawn.drawn[drawn.drawn < 0].sum()
    assert drawn.read("cut").counts.sum() == pytest.approx(drawn.drawn.sum() + surplus)


@pytest.mark.parametrize("mechanism", [kind for kind in MECHANISMS if issubclass(kind, BoxMechanism)])
def test_maps_read_what_the_file_will_hold_unless_told_otherwise(mechanism):
    assert anonymizer(mechanism.example).counts == "cut"


def test_an_unknown_reading_is_named(drawn):
    with pytest.raises(BadInputError, match="reading must be one of cut, unbiased"):
        drawn.read("rounded")


# ---------------------------------------------------------------- closed ranges


def test_closed_ranges_take_both_ends_in(adult):
    cells = adult.cells
    workload = Queries(reading="closed-half-range", number=40).workload(cells, cells.points, 0)
    taken = {
        quasi.name: set(bank.masks[workload.regions.used[:, a]].sum(axis=1))
        for a, (quasi, bank) in enumerate(zip(cells.quasi, workload.regions.selections, strict=True))
    }
    assert taken == {"workclass": {5}, "education": {9}, "sex": {2}, "hours-per-week": {50}, "salary": {2}}
    assert set(workload.values.sum(axis=1)) == {8}, "of 14 occupations"


def test_closed_ranges_start_anywhere_they_fit(adult):
    workload = Scales(queries=CLOSED_HALF_RANGES).prepare(adult).workloads[0]
    education = [quasi.name for quasi in adult.cells.quasi].index("education")
    selected = workload.regions.selections[education].masks[workload.regions.used[:, education]]
    first, last = selected.argmax(axis=1), 15 - selected[:, ::-1].argmax(axis=1)
    assert set(first.tolist()) == set(range(8)) and set((last - first).tolist()) == {8}


def test_closed_ranges_take_no_other_shares():
    with pytest.raises(BadInputError, match="dimensions has no say where reading=closed-half-range"):
        Queries(reading="closed-half-range", dimensions=2)


# ---------------------------------------------------------------- the widest attribute


@pytest.mark.parametrize("cut", ["median", "range"])
def test_the_widest_attribute_is_that_of_the_largest_share_or_of_the_most_leaves(cut):
    """Sex has all of its 2 leaves here, age 4 of 100: a share of 1 against .04, a width of 2 against 4."""
    frame = pa.table({"age": [20, 20, 23, 23], "sex": ["f", "m", "f", "m"], "illness": list("abcd")})
    hierarchies = {"age": {"type": "numeric", "lower": 0, "upper": 99}, "sex": {"type": "flat", "values": ["f", "m"]}}
    table = sfumato.read(frame, quasi=["age", "sex"], sensitive=["illness"], hierarchies=hierarchies)
    extents = {}
    for spread in ("share", "width"):
        release = Mondrian(spread=spread, cut=cut, ranges="tight").anonymize(table, KAnonymity(2))
        extents[spread] = (release.boxes.hi - release.boxes.lo).tolist()
    assert extents == {"share": [[3, 0], [3, 0]], "width": [[0, 1], [0, 1]]}


def test_an_unknown_spread_is_named():
    with pytest.raises(BadInputError, match="spread must be one of share, width"):
        Mondrian(spread="normalised")
