"""What no release of a table can have: told of bounds beyond it, held against all releases of small tables."""

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from points import point_of
from sfumato.tradeoff.map import Map
from sfumato.tradeoff.question.answer import NothingFitsError
from sfumato.tradeoff.question.best_possible import impossible
from sfumato.tradeoff.question.question import Bound
from sfumato.tradeoff.study.grids import Grid
from sfumato.tradeoff.study.study import Study
from strategies import tries

ANY = Study(
    "any",
    sfumato.TableDeclaration("t.csv", ("age",), ("illness",)),
    (Grid((sfumato.anonymizer("mondrian"),), (sfumato.requirement("k-anonymity k=1"),)),),
)


def made(id, maker="mondrian", **measures):
    return point_of(id, maker, "generalization", "k-anonymity k=2", {}, "measured", None, measures)


def table_map(values, *points):
    """The map of a table with these sensitive values, one letter a record, with its trivial release."""
    records = len(values)
    most = max(map(values.count, values))
    trivial = made(
        "none", "without-quasi", k=records, smallest_group=records, l_frequency=records / most,
        l_distinct=len(set(values)), p_loss=0.0, u_loss=0.1,
    )  # fmt: skip
    return Map(ANY, (trivial, *points), {"records": records, "sensitive": ["illness"]})


@tries(60)
@given(st.text("abc", min_size=2, max_size=6), st.integers(2, 7), st.sampled_from(["k", "l_frequency", "l_distinct"]))
def test_it_is_said_of_exactly_what_no_release_has(values, least, measure):
    """All ways to put the records into two groups or to leave them out: the fewest left out by a release that fits."""
    fewest = None
    for places in product((0, 1, None), repeat=len(values)):
        groups = [[v for v, place in zip(values, places, strict=True) if place == g] for g in (0, 1)]
        groups = [group for group in groups if group]
        had = {
            "k": [len(group) for group in groups],
            "l_distinct": [len(set(group)) for group in groups],
            "l_frequency": [len(group) / max(map(group.count, group)) for group in groups],
        }[measure]
        if groups and min(had) >= least - 1e-9:
            left_out = places.count(None)
            fewest = left_out if fewest is None else min(fewest, left_out)
    said = impossible(table_map(values), Bound(measure, "min", least))
    assert bool(said) == (fewest != 0)
    if said and measure == "l_frequency" and fewest is not None:
        least_gone = int(said.split("unless at least ")[1].split()[0].replace(",", ""))
        assert 0 < least_gone <= fewest
    elif said and measure != "l_frequency":
        assert fewest is None and "unless" not in said


LOPSIDED = "a" * 94 + "b" * 6
POINTS = (made("r", k=20, l_frequency=1.02, l_distinct=2, p_loss=0.1, u_loss=0.05),)


def test_a_table_of_one_value_is_not_for_the_public_whatever_is_done():
    with pytest.raises(NothingFitsError) as failed:
        table_map(LOPSIDED, *POINTS).choose(recipient="public")
    lines = str(failed.value).splitlines()
    assert lines[0] == (
        "no point of this map fits k at least 11 and l_frequency at least 2 (for 'public'), and no release of this "
        "table can."
    )
    assert lines[1].startswith(
        "  No release of this table can have l_frequency at least 2 unless at least 88 records (88.0 %) are left out: "
        "94.0 % of the 100 records have the same value of 'illness', so in some group"
    )
    assert "What a publisher does then: leave that column out" in lines[1]
    assert failed.value.exit_code == 1
    assert json.loads(json.dumps(failed.value.to_dict()))["impossible"] == [lines[1].strip()]


def test_a_table_with_too_few_records_is_said_to_have_too_few():
    shown = table_map("aabbccd", made("r", k=3, l_frequency=2.0, l_distinct=2, p_loss=0.1, u_loss=0.05))
    with pytest.raises(NothingFitsError, match="can have k at least 11: the table has 7 records"):
        shown.choose(recipient="public")
    with pytest.raises(NothingFitsError, match="l_distinct at least 5: 'illness' has 4 different values"):
        shown.choose(min={"l_distinct": 5})
    with pytest.raises(NothingFitsError) as failed:  # nothing on this map, but four groups are not all there is
        shown.choose(min={"l_distinct": 4}, max={"p_loss": -1})
    assert failed.value.impossible == () and "no release of this table" not in str(failed.value)
