"""Attacks on automatic hierarchies: what a reader of the file learns of records that are not in it, or of single ones.

The reader knows the code. For every table of many records there is one with a record more that the release leaves out;
where the two files differ, the reader knows that there was such a record.
"""

import re

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato import BadInputError, anonymizer, read, requirement
from sfumato.anonymizers.full_domain.full_domain import fixed_levels
from sfumato.data.hierarchies.automatic import automatic
from sfumato.data.hierarchies.declared import from_entry
from sfumato.data.reading import Roles, with_roles
from sfumato.publish._written_file import columns_of
from sfumato.publish.cautions import cautions_of
from sfumato.publish.mapping import mapping_of
from sfumato.release.release import generalization
from sfumato.tradeoff.study.candidate import Candidate

K5 = requirement("k-anonymity k=5")
NODES = ("full-domain", "local-recoding", "mondrian ranges=node")


def people(*more):
    """Three hundred people of 21 to 57 with incomes of 1,000 to 2,999, and more."""
    draw = np.random.default_rng(1)
    ages, incomes, months = draw.integers(21, 58, 300), draw.integers(1000, 3000, 300), draw.integers(1, 13, 300)
    days = [f"2020-{month:02}-15" for month in months]
    rows = zip(map(str, ages), map(str, incomes), days, map(str, draw.choice(["a", "b"], 300)), strict=True)
    age, income, seen, ill = zip(*rows, *more, strict=True)
    return pa.table({"age": age, "income": income, "seen": seen, "ill": ill})


def released(rows, maker, quasi=("age", "income"), suppress=0.05):
    table = read(rows, quasi=quasi, sensitive=["ill"])
    return (anonymizer(maker) if isinstance(maker, str) else maker).anonymize(table, K5, suppress=suppress)


def texts(release):
    return {quasi.name: set(release.quasi_texts(a)[0]) for a, quasi in enumerate(release.cells.quasi)}


def paths(release):
    """The labels above every published value of every column, from the value to the root."""
    found = {}
    for a, quasi in enumerate(release.cells.quasi):
        leaves = np.unique(release.cells.codes[release.assignment.cell, a])
        levels = zip(quasi.hierarchy.levels, quasi.hierarchy.ancestors, strict=True)
        found[quasi.name] = [[level.labels[node] for node in above[leaves]] for level, above in levels]
    return found


@pytest.mark.parametrize("maker", NODES)
def test_the_ends_of_nodes_are_round_and_nobodys_income(maker):
    """They were drawn in to values that occur: 1022-1490 names the incomes of two people."""
    published = texts(released(people(), maker))
    ends = [int(end) for text in published["income"] for end in re.findall(r"\d+", text) if "-" in text]
    assert ends and {end % 50 for end in ends} == {0, 49}
    assert all(int(text[:2]) % 5 == 0 for text in published["age"] if "-" in text)


ODD = {
    "an old person": ("90", "2000", "2020-06-15", "a"),
    "a rich person": ("40", "4800", "2020-06-15", "a"),
    "a debtor": ("40", "-800", "2020-06-15", "a"),
    "both": ("90", "90000", "2020-06-15", "a"),
}


@pytest.mark.parametrize("odd", ODD)
def test_a_record_that_is_left_out_does_not_move_the_intervals_of_the_others(odd):
    """Levels are fixed, so that nothing but the hierarchy can differ; the one record more is alone, and left out."""
    levels = fixed_levels({"age": 2, "income": 4})
    without, beside = (released(people(*more), levels, suppress=1) for more in ((), (ODD[odd],)))
    assert beside.suppressed == without.suppressed + 1
    assert texts(beside) == texts(without)
    assert paths(beside) == paths(without)  # so they are alike on all other levels, too


def test_one_early_day_does_not_take_the_quarters_away():
    levels = fixed_levels({"seen": 2})
    without, beside = (released(people(*more), levels, ["seen"]) for more in ((), (("40", "2000", "1931-05-06", "a"),)))
    assert beside.suppressed == 1 and texts(beside) == texts(without) == {"seen": {f"2020-Q{n}" for n in (1, 2, 3, 4)}}


def test_the_digits_of_one_number_do_not_stand_in_all_labels():
    """That there is one that is not whole shows in half-open stretches: no other label would be true of it."""
    made = automatic("age", ["30.125", *map(str, range(20, 60))], [1, *[10] * 40])
    assert made.encode(["30.125", "30", "59"]).tolist() == [10, 10, 39]
    assert not any("." in text.replace("..", "") for level in made.levels for text in level.labels)
    many = automatic("age", ["30.125", *map(str, range(20, 60))], [9, *[10] * 40])
    assert any("999" in text for text in many.levels[1].labels)


def test_in_small_tables_single_records_decide_which_is_why_there_is_a_caution():
    ages = [*map(str, range(20, 60))]
    assert automatic("age", [*ages, "103"], [1] * 41).leaves[-1] == "119"
    assert automatic("age", [*ages, "103"], [2] * 40 + [1]).leaves[-1] == "60+"


def test_one_long_code_does_not_lengthen_the_labels_of_the_others():
    entry = {"type": "prefixes", "keep": [3, 1]}
    zips = ["81667", "81675", "81925"]
    short, long = (from_entry(dict(entry), lambda v=values: (v, ())) for values in (zips, [*zips, "81667-1234"]))
    assert short.levels[1].labels == ("816**", "819**")
    assert set(short.levels[1].labels) <= set(long.levels[1].labels)
    declared = from_entry({**entry, "values": [*zips, "81667-1234"]}, lambda: ((), ()))
    assert declared.levels[1].labels[0] == "816*******"  # of a list that everybody may know


def test_a_missing_value_that_is_left_out_does_not_show():
    values = ["a"] * 3 + ["b", "c", "d"] * 3 + [None]
    table = read(pa.table({"x": values}), quasi=["x"], hierarchies={"x": {"type": "flat", "values": list("abcd")}})
    lo, hi = np.array([[0], [2]], np.int32), np.array([[1], [4]], np.int32)
    cells = table.cells
    for kept, text in ((cells.codes[:, 0] < 4, "{c, d}"), (cells.codes[:, 0] < 9, "{c, d, ?}")):
        entries = cells.assigned((cells.codes[:, 0] >= 2).astype(np.int64))
        of_them = type(entries)(entries.cell[kept], entries.group[kept], entries.count[kept])
        assert text in generalization(table, of_them, lo, hi).quasi_texts(0)[0]


def test_a_value_with_the_name_of_a_group_is_told_to_the_publisher():
    rows = pa.table({"country": ["Germany", "France", "Poland", "Japan", "Europe"] * 3})
    notices = read(rows, quasi=["country"]).notices
    assert any("'Europe', which is a group's name too" in notice and "'Europe (group)'" in notice for notice in notices)
    assert not any("group's name" in notice for notice in read(rows.slice(0, 4), quasi=["country"]).notices)


# -- what a certificate says -------------------------------------------------------------------------------------------


def test_the_caution_about_automatic_hierarchies_is_said_where_they_are():
    declared = {name: {"type": "numeric", "lower": 0, "upper": top} for name, top in (("age", 120), ("income", 9999))}
    for hierarchies, names in ((declared, None), ({"age": declared["age"]}, "income"), ({}, "age and income")):
        table = read(people(), quasi=["age", "income"], sensitive=["ill"], hierarchies=hierarchies)
        release = anonymizer("mondrian").anonymize(table, K5)
        told = [
            c.text
            for c in cautions_of(release, Candidate(anonymizer("mondrian"), K5))
            if c.about == "automatic hierarchies"
        ]
        assert len(told) == int(names is not None) and all(f" {names} can have" in text for text in told)


# -- differential privacy ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drafted(tmp_path_factory):
    """The draft of a table of numbers and dates, and its study."""
    from pyarrow import csv

    path = tmp_path_factory.mktemp("draft") / "people.csv"
    csv.write_csv(people().rename_columns(["age", "income", "birth date", "diagnosis"]), path)
    text = sfumato.draft(str(path)).to_toml()
    return text, sfumato.Study.from_toml(text).table.open()


def test_differential_privacy_refuses_bounds_that_a_draft_took_from_the_records(drafted):
    """It took them for declared: a draft of the same table with one record more had other bounds."""
    text, table = drafted
    assert table.hierarchies["age"].observed and table.hierarchies["birth date"].observed
    assert text.count("observed = true") == text.count("take `observed` out") >= 2
    table = with_roles(table.engine, Roles(("age", "birth date"), ("diagnosis",)), table.hierarchies, "value")
    named = r"columns 'age', 'birth date' and 'diagnosis' were taken from the records.* take out observed = true"
    with pytest.raises(BadInputError, match=named):
        sfumato.draw(table, "dp-kd-tree epsilon=1 height=2")


def test_stretches_that_a_draft_made_of_a_sensitive_column_are_kept_for_new_data(drafted):
    """Where they were left out of the mapping, new data would have been published with exact incomes."""
    _, table = drafted
    assert table.roles.sensitive == ("income", "diagnosis") and table.hierarchies["income"].observed
    release = anonymizer("mondrian").anonymize(table, K5)
    assert "income" in mapping_of(release, K5).hierarchies
    assert columns_of(release).ordered == ("diagnosis",)  # rising, as texts, is the order of what is listed only


def test_a_hierarchy_of_one_value_each_lists_values():
    assert automatic("x", ["b", "a"]).lists_values
    assert not from_entry({"type": "flat", "values": ["a"]}, lambda: ((), ())).lists_values
    assert not automatic("x", [*map(str, range(40)), "9000"], [9] * 40 + [1]).lists_values  # 9000 is in 40+
