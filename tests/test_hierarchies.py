"""Hierarchies: every way to give one, what its intervals are called, what they lose, and what is refused."""

import csv
import datetime
import itertools
import os
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

import sfumato
from independent_checker import covers, labels_of, set_members

SHARED = Path(__file__).resolve().parents[2] / "shared"
ARX = SHARED / "data" / "arx" / "adult"
ARX_COLUMNS = [path.stem.split("_")[-1] for path in sorted(ARX.glob("*_hierarchy_*.csv"))] or ["age"]


def all_intervals(size):
    return [(lo, hi) for lo in range(size) for hi in range(lo, size)]


def labels_at(hierarchy, level):
    return list(hierarchy.levels[level].labels)


def refuses(what, *parts):
    """Expect a refusal that has all the parts (regular expressions), in one sentence."""
    with pytest.raises(sfumato.BadInputError) as caught:
        what()
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert re.search(part, message), f"{part!r} is not in {message!r}"


def read_with(tmp_path, hierarchy, values=("1", "2"), column="q"):
    """Read a tiny table whose quasi-identifier has the declared hierarchy; return the table's hierarchy."""
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([[column], *([value] for value in values)])
    given_ = hierarchy if isinstance(hierarchy, Path) else {column: hierarchy}
    return sfumato.read(path, quasi=column, hierarchies=given_).hierarchies[column]


# ---------------------------------------------------------------- trees and flat lists


def test_a_tree_of_nested_lists():
    status = sfumato.tree([["Married", "Civ", "AF"], ["Not married", "Never", ["Was", "Divorced", "Widowed"]]])
    assert status.leaves == ("Civ", "AF", "Never", "Divorced", "Widowed")
    assert status.nodes == {
        (0, 0): "Civ",
        (1, 1): "AF",
        (2, 2): "Never",
        (3, 3): "Divorced",
        (4, 4): "Widowed",
        (0, 1): "Married",
        (2, 4): "Not married",
        (3, 4): "Was",
        (0, 4): "*",
    }
    assert status.text(1, 2) == "{AF, Never}"
    assert status.text(1, 4) == "{AF, Not married}"
    assert status.text(0, 3) == "{Married, Never, Divorced}"
    assert status.loss(3, 4) == pytest.approx(1 / 4) and status.loss(2, 4) == pytest.approx(2 / 4)


def test_members_of_a_set_are_quoted_where_they_must_be():
    odd = sfumato.tree(["a, b", "c", 'say "d"', "{e}", "?", " f"])
    assert odd.text(0, 1) == '{"a, b", c}'
    assert odd.text(1, 2) == '{c, "say ""d"""}'
    assert odd.text(2, 4) == '{"say ""d""", "{e}", "?"}'
    assert odd.text(4, 5) == '{"?", " f"}'


def test_a_set_is_not_mistaken_for_a_value_that_looks_like_it():
    odd = sfumato.tree(["a", "b", "{a, b}", "c"])
    assert odd.text(0, 1) != "{a, b}"
    assert odd.text(2, 2) == "{a, b}"


def test_a_flat_list_is_sorted_as_numbers_where_it_is_numbers():
    assert sfumato.flat(["10", "9", "-1.5"]).leaves == ("-1.5", "9", "10")
    assert sfumato.flat(["b", "a", "10", "9"]).leaves == ("10", "9", "a", "b")
    assert labels_at(sfumato.flat(["b", "a"]), 1) == ["*"]
    assert sfumato.flat(["b", "a", "c"]).text(0, 1) == "{a, b}"
    assert sfumato.flat(["1", "5", "9"]).text(0, 1) == "1-5"


def test_a_domain_of_one_value_loses_nothing():
    for one in (sfumato.flat(["a"]), sfumato.numeric(5, 5), sfumato.dates("2020-01-01", "2020-01-01")):
        assert one.size == 1 and one.loss(0, 0) == 0


def test_a_table_whose_only_number_has_many_digits_is_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("q\n0.12345678\n0.12345678\n")
    assert sfumato.read(path, quasi="q").hierarchies["q"].size == 1


def test_a_tree_of_text_is_no_tree():
    refuses(lambda: sfumato.tree("abc"), "list|tree")


def test_whole_numbers_as_leaves_match_the_texts_of_a_table(tmp_path):
    assert read_with(tmp_path, [["low", 1, 2], 3]).encode(["1", "2", "3"]).tolist() == [0, 1, 2]
    assert read_with(tmp_path, {"type": "flat", "values": [1, 2]}).encode(["1", "2"]).tolist() == [0, 1]
    rows = [[1, "low", "*"], [2, "high", "*"]]
    assert read_with(tmp_path, {"type": "level-table", "rows": rows}).encode(["1", "2"]).tolist() == [0, 1]


# ---------------------------------------------------------------- level tables


def write_level_table(path, rows, delimiter=";"):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


ROWS = [["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"], ["d", "C", "*"], ["e", "C", "*"]]


@pytest.mark.parametrize("delimiter", [";", ",", "\t"])
def test_a_level_table_is_read_whatever_its_delimiter(tmp_path, delimiter):
    found = sfumato.read_level_table(write_level_table(tmp_path / "h.csv", ROWS, delimiter))
    assert found == sfumato.tree([["A", "a", "b"], ["C", "c", "d", "e"]])


def test_a_level_table_with_a_mark_quotes_and_windows_lines_is_read(tmp_path):
    path = tmp_path / "h.csv"
    path.write_bytes("\ufeff".encode() + b'"a; b";A;*\r\n"say ""c""";A;*\r\n"two\nlines";B;*\r\n')
    found = sfumato.read_level_table(path)
    assert found.leaves == ("a; b", 'say "c"', "two\nlines")


def test_a_level_table_without_a_root_gets_one():
    assert sfumato.from_level_table([row[:-1] for row in ROWS]) == sfumato.from_level_table(ROWS)
    assert sfumato.from_level_table([["a"], ["b"]]) == sfumato.flat(["a", "b"])


def test_a_level_table_whose_root_has_another_name_publishes_a_star():
    found = sfumato.from_level_table([["a", "Any"], ["b", "Any"]])
    assert found.text(0, 1) == "*"


def test_rows_of_a_level_table_may_stand_in_any_order():
    shuffled = [ROWS[i] for i in (4, 0, 2, 1, 3)]
    found = sfumato.from_level_table(shuffled)
    for lo, hi in all_intervals(5):
        leaves = set(found.leaves[lo : hi + 1])
        if leaves == {"a", "b"}:
            assert found.text(lo, hi) == "A"
        if leaves == {"c", "d", "e"}:
            assert found.text(lo, hi) == "C"
    assert found.nodes.keys() >= {found.intervals["A"], found.intervals["C"]}


def test_a_level_table_is_a_tree_or_says_where_it_is_none(tmp_path):
    rows = [["a", "A", "X", "*"], ["b", "B", "Y", "*"], ["c", "A", "Y", "*"]]
    refuses(lambda: sfumato.from_level_table(rows), "not a tree", "'A'", "'X'", "row 1", "'Y'", "row 3")
    path = write_level_table(tmp_path / "h.csv", rows)
    refuses(lambda: sfumato.read_level_table(path), r"h\.csv", "not a tree", "row 3")


def test_a_value_listed_twice_is_named_with_its_rows(tmp_path):
    rows = [["a", "*"], ["b", "*"], ["a", "*"]]
    refuses(lambda: sfumato.from_level_table(rows), "'a'", "twice", "rows 1 and 3")
    refuses(lambda: sfumato.tree([["A", "x"], ["B", "x"]]), "'x'", "twice")
    refuses(lambda: sfumato.flat(["x", "y", "x"]), "'x'", "twice")


def test_a_row_with_too_few_levels_is_named():
    refuses(lambda: sfumato.from_level_table([["a", "A", "*"], ["b", "*"]]), "row 2", r"\b2\b", r"\b3\b")


def test_an_empty_level_table_is_refused(tmp_path):
    refuses(lambda: sfumato.from_level_table([]), "no rows")
    refuses(lambda: sfumato.from_level_table([[]]), "row")
    path = tmp_path / "h.csv"
    path.write_text("")
    refuses(lambda: sfumato.read_level_table(path), r"h\.csv", "no rows|empty")


def test_an_empty_label_is_refused_because_it_would_read_as_missing():
    refuses(lambda: sfumato.from_level_table([["a", "*"], ["", "*"]]), "row 2", "empty", "missing")
    rows = [["a", "", "*"], ["b", "", "*"], ["c", "C", "*"]]
    refuses(lambda: sfumato.from_level_table(rows), "empty|''")


def test_an_ambiguous_label_is_refused():
    refuses(lambda: sfumato.tree([["A", "x", "y"], ["B", "A", "z"]]), "'A'", "two", "rename")
    refuses(lambda: sfumato.tree([["x", "x", "y"]]), "'x'", "two", "rename")
    refuses(lambda: sfumato.tree([["*", "a", "b"], "c"]), r"'\*'", "rename")
    refuses(lambda: sfumato.flat(["*", "a"]), r"'\*'", "rename")


def test_a_value_without_a_row_is_named_with_file_column_and_row(tmp_path):
    path = write_level_table(tmp_path / "t_hierarchy_q.csv", ROWS)
    refuses(
        lambda: read_with(tmp_path, path.parent, values=("a", "b", "zebra", "zebra", "e")),
        r"t\.csv",
        "'q'",
        "'zebra'",
        "row 3",
        r"\b2 rows",
        "add|correct|--na",
    )


def test_a_level_table_that_cannot_be_read_is_named(tmp_path):
    refuses(lambda: sfumato.read_level_table(tmp_path / "nope.csv"), r"nope\.csv", "no such file")
    refuses(lambda: sfumato.read_level_table(tmp_path), re.escape(str(tmp_path)))
    path = tmp_path / "latin.csv"
    path.write_bytes("é;*\n".encode("latin-1"))
    refuses(lambda: sfumato.read_level_table(path), r"latin\.csv", "UTF-8")


# ---------------------------------------------------------------- ARX's own files


@pytest.fixture
def arx():
    if not ARX.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"{ARX} is not there, and in CI nothing is skipped")
        pytest.skip(f"{ARX} is not there")
    return ARX


def arx_rows(folder, column):
    with (folder / f"adult_hierarchy_{column}.csv").open(newline="") as file:
        return list(csv.reader(file, delimiter=";"))


@pytest.mark.parametrize("column", ARX_COLUMNS)
def test_the_loss_of_arx_nodes_is_arx_formula_on_the_rows_of_the_file(arx, column):
    rows = arx_rows(arx, column)
    hierarchy = sfumato.read_level_table(arx / f"adult_hierarchy_{column}.csv")
    assert set(hierarchy.leaves) == {row[0] for row in rows}
    for level in range(len(rows[0])):
        for label in {row[level] for row in rows}:
            share = Fraction(sum(row[level] == label for row in rows), len(rows))
            expected = (share - Fraction(1, len(rows))) / (1 - Fraction(1, len(rows)))
            assert hierarchy.loss(*hierarchy.intervals[label]) == pytest.approx(float(expected)), label


@pytest.mark.parametrize("column", ARX_COLUMNS)
def test_arx_hierarchies_have_one_text_for_every_interval_and_it_says_which_values(arx, column):
    rows = arx_rows(arx, column)
    hierarchy = sfumato.read_level_table(arx / f"adult_hierarchy_{column}.csv")
    labels = labels_of(rows)
    texts = {hierarchy.text(lo, hi): (lo, hi) for lo, hi in all_intervals(hierarchy.size)}
    assert len(texts) == hierarchy.size * (hierarchy.size + 1) // 2
    for text, (lo, hi) in list(texts.items())[:: 1 if hierarchy.size < 50 else 17]:
        covered = {leaf for leaf in hierarchy.leaves if covers(text, leaf, labels=labels, numeric=column == "age")}
        assert covered == set(hierarchy.leaves[lo : hi + 1]), text


def test_loss_of_arx_ages_is_that_of_the_same_hierarchy_built(arx):
    table = sfumato.read_level_table(arx / "adult_hierarchy_age.csv")

    def stretch(first, width, *widths):
        """Nested lists of the ages from first on; the labels do not matter here."""
        ages = range(first, first + width)
        inside = [stretch(age, *widths) for age in ages[:: widths[0]]] if widths else map(str, ages)
        return [f"from {first}, {width} wide", *inside]

    tree = sfumato.tree([stretch(age, 20, 10, 5) for age in range(1, 100, 20)])
    assert table.leaves == tree.leaves and set(table.nodes) == set(tree.nodes)
    fives = sfumato.numeric(1, 100, fan_out=5)
    for lo, hi in all_intervals(table.size):
        assert table.loss(lo, hi) == tree.loss(lo, hi) == fives.loss(lo, hi) == pytest.approx((hi - lo) / 99)


def test_a_label_of_arx_is_not_taken_for_the_stretch_it_looks_like(arx):
    table = sfumato.read_level_table(arx / "adult_hierarchy_age.csv")
    assert table.text(20, 24) == "20-24", "the label that ARX's file gives to the ages 21 to 25"
    assert table.text(19, 23) != "20-24" and covers(table.text(19, 23), "20", numeric=True)


def test_arx_table_with_arx_hierarchies_is_read(arx):
    table = sfumato.read(arx / "adult.csv", quasi=ARX_COLUMNS, hierarchies=arx)
    assert table.cells.records == 30_162
    assert not table.hierarchies["education"].observed


# ---------------------------------------------------------------- the same hierarchy however given


def test_loss_does_not_depend_on_how_a_hierarchy_was_given(tmp_path):
    tree = sfumato.tree([["A", "a", "b"], ["C", "c", "d", "e"]])
    file = write_level_table(tmp_path / "t_hierarchy_q.csv", ROWS)
    toml = tmp_path / "h.toml"
    toml.write_text('[q]\ntype = "tree"\nchildren = [["A", "a", "b"], ["C", "c", "d", "e"]]\n')
    assert sfumato.read_level_table(file) == tree
    (tmp_path / "t.csv").write_text("q\na\nb\nc\nd\ne\ne\n")
    found = []
    for hierarchies in ({"q": tree}, {"q": file}, {"q": ROWS_AS_TREE}, tmp_path, toml):
        table = sfumato.read(tmp_path / "t.csv", quasi="q", hierarchies=hierarchies)
        release = sfumato.anonymize(table, "k-anonymity k=2")
        found.append((sfumato.measure(release)["loss"], release.boxes.lo.tolist(), release.boxes.hi.tolist()))
    assert all(each == found[0] for each in found)


ROWS_AS_TREE = [["A", "a", "b"], ["C", "c", "d", "e"]]


def test_a_numeric_level_table_is_the_numeric_hierarchy_built():
    rows = [[str(v), f"{v // 5 * 5}-{v // 5 * 5 + 4}", "*"] for v in range(20)]
    table, built = sfumato.from_level_table(rows), sfumato.numeric(0, 19, intervals=[5])
    assert table == built
    for lo, hi in all_intervals(20):
        assert table.loss(lo, hi) == built.loss(lo, hi) == pytest.approx((hi - lo) / 19)


def test_a_prefix_hierarchy_is_the_level_table_of_its_prefixes():
    rows = [[code, code[:3] + "**", code[:1] + "****", "*"] for code in ("81667", "81675", "81925", "90001")]
    codes, table = sfumato.prefixes(["81925", "90001", "81667", "81675"], keep=[3, 1]), sfumato.from_level_table(rows)
    assert codes.levels == table.levels and codes.widths == table.widths
    assert codes.text(1, 2) == "{81675, 81925}"  # codes are no numbers, however they look


# ---------------------------------------------------------------- numbers


def test_numbers_with_bounds_and_equal_intervals():
    age = sfumato.numeric(17, 90, intervals=[5, 20])
    assert age.size == 74 and age.leaves[0] == "17" and age.leaves[-1] == "90"
    assert labels_at(age, 1)[:3] == ["17-19", "20-24", "25-29"] and labels_at(age, 1)[-1] == "90"
    assert labels_at(age, 2) == ["17-19", "20-39", "40-59", "60-79", "80-90"]
    assert age.text(4, 13) == "21-30"
    assert age.loss(3, 7) == pytest.approx(4 / 73)


def test_a_resolution_makes_stretches_that_keep_to_the_bounds():
    income = sfumato.numeric(17, 33, 5)
    assert income.leaves == ("17-19", "20-24", "25-29", "30-33")
    assert income.widths == (3, 5, 5, 4)
    assert income.encode(["16", "17", "19", "20", "33", "34"]).tolist() == [-1, 0, 0, 1, 3, -1]


@pytest.mark.parametrize(("lower", "upper"), [(0, 9), (17, 90), (0, 7), (-7, 12)])
@pytest.mark.parametrize("resolution", [1, 5, 10, 100])
def test_values_outside_the_bounds_have_no_leaf(lower, upper, resolution):
    codes = sfumato.numeric(lower, upper, resolution).encode([str(lower - 1), str(lower), str(upper), str(upper + 1)])
    assert (codes >= 0).tolist() == [False, True, True, False]


def test_a_value_outside_the_bounds_is_named(tmp_path):
    domain = {"type": "numeric", "lower": 0, "upper": 10}
    refuses(lambda: read_with(tmp_path, domain, ("5", "11", "6")), r"t\.csv", "'q'", "'11'", "row 2", "0 to 10", "--na")
    refuses(lambda: read_with(tmp_path, domain, ("5", "-1", "6")), "'-1'", "row 2")
    refuses(lambda: read_with(tmp_path, domain, ("5", "6", "five")), "'five'", "row 3", "number")
    refuses(lambda: read_with(tmp_path, domain, ("5", "6", "5.5")), r"'5\.5'", "row 3")


def test_negative_numbers_are_written_with_dots():
    cold = sfumato.numeric(-10, 9, 5, intervals=[10])
    assert cold.leaves == ("-10..-6", "-5..-1", "0..4", "5..9")  # one notation in one column
    assert labels_at(cold, 1) == ["-10..-1", "0..9"]
    assert cold.text(1, 2) == "-5..4"
    assert cold.encode(["-10", "-6", "-5", "0"]).tolist() == [0, 0, 1, 2]
    assert sfumato.numeric(-3, -1).leaves == ("-3", "-2", "-1")


def test_decimals_are_exact():
    tenths = sfumato.numeric(0, 2, 0.1)
    assert tenths.size == 21
    assert tenths.leaves[3] == "0.3" and tenths.leaves[7] == "0.7" and tenths.leaves[20] == "2"
    assert tenths.encode(["0.1", "0.3", "0.7", "1.1", "0.30", "2.0", "0.35"]).tolist() == [1, 3, 7, 11, 3, 20, -1]
    assert tenths.text(3, 7) == "0.3..0.7"
    small = sfumato.numeric(0, 1e-6, 1e-7)
    assert small.leaves[1] == "0.0000001" and "e" not in "".join(small.leaves)


def test_continuous_stretches_are_half_open_but_for_the_last():
    weight = sfumato.numeric(0, 10, 2.5, continuous=True)
    assert weight.leaves == ("0..<2.5", "2.5..<5", "5..<7.5", "7.5..10")
    assert weight.encode(["0", "2.4999", "2.5", "9.99", "10", "10.01", "-0.01"]).tolist() == [0, 0, 1, 3, 3, -1, -1]
    assert weight.text(1, 2) == "2.5..<7.5" and weight.text(1, 3) == "2.5..10"
    assert weight.widths == (2.5,) * 4
    assert weight.loss(0, 1) == pytest.approx((0.5 - 0.25) / 0.75)


def test_continuous_bounds_need_not_be_multiples_of_the_resolution():
    weight = sfumato.numeric(1, 9, 2.5, continuous=True)
    assert weight.leaves == ("1..<2.5", "2.5..<5", "5..<7.5", "7.5..9")
    assert weight.widths == (1.5, 2.5, 2.5, 1.5)


def test_decimal_bounds_off_the_resolution_work_or_are_refused_by_name():
    for lower, upper, resolution in [(0.3, 2, 0.5), (2.5, 20, 5), (0.25, 1, 0.1)]:
        try:
            made = sfumato.numeric(lower, upper, resolution)
        except sfumato.BadInputError as error:
            assert "resolution" in str(error) and str(lower) in str(error)
        else:
            assert made.encode([str(lower)])[0] >= 0


def test_open_ends_take_everything_beyond():
    age = sfumato.numeric(0, 99, open_below=18, open_above=90)
    assert age.leaves[0] == "<18" and age.leaves[1] == "18" and age.leaves[-2:] == ("89", "90+")
    last = age.size - 1
    assert age.encode(["-7", "0", "17", "18", "89", "90", "99", "250"]).tolist() == [0, 0, 0, 1, 72, last, last, last]
    assert age.text(0, 2) == "<20" and age.text(last - 1, last) == "89+" and age.text(0, last) == "*"
    assert age.widths[0] == 18 and age.widths[-1] == 10
    assert age.encode(["inf", "nan"]).tolist() == [-1, -1]


def test_open_ends_with_a_missing_value_are_still_written():
    for how in ({"open_below": 18}, {"open_above": 90}, {"open_below": 18, "open_above": 90}):
        age = sfumato.numeric(0, 99, 10, **how).with_missing()
        texts = {age.text(lo, hi) for lo, hi in all_intervals(age.size)}
        assert len(texts) == age.size * (age.size + 1) // 2


def test_open_ends_must_lie_within_the_bounds():
    refuses(lambda: sfumato.numeric(0, 90, open_above=95), "open", "0", "90")
    refuses(lambda: sfumato.numeric(0, 90, open_below=60, open_above=50), "open", "0", "90")


def test_fan_out_joins_so_many_nodes_at_a_time():
    joined = sfumato.numeric(0, 9, fan_out=3)
    assert labels_at(joined, 1) == ["0-2", "3-5", "6-8", "9"]
    assert labels_at(joined, 2) == ["0-8", "9"]
    assert labels_at(joined, 3) == ["*"]
    refuses(lambda: sfumato.numeric(0, 9, fan_out=1), "fan_out", "2", "1")


def test_quantiles_cut_where_the_records_are():
    values, counts = list(range(10)), [8, 1, 1, 1, 1, 4, 0, 0, 0, 0]
    halves = sfumato.numeric(0, 9, quantiles=[2], values=values, counts=counts)
    assert labels_at(halves, 1) == ["0", "1-9"]
    even = sfumato.numeric(0, 7, quantiles=[4, 2], values=list(range(8)), counts=[5] * 8)
    assert labels_at(even, 1) == ["0-1", "2-3", "4-5", "6-7"] and labels_at(even, 2) == ["0-3", "4-7"]


def test_quantiles_are_taken_from_the_column(tmp_path):
    values = ["0"] * 8 + ["1", "2", "3", "4"] + ["5"] * 4
    found = read_with(tmp_path, {"type": "numeric", "lower": 0, "upper": 9, "quantiles": [2]}, values)
    assert labels_at(found, 1) == ["0", "1-9"]


def test_bad_quantiles_are_refused(tmp_path):
    refuses(lambda: sfumato.numeric(0, 9, quantiles=[4, 3], values=[1], counts=[1]), "quantiles", "divisor")
    refuses(lambda: sfumato.numeric(0, 9, quantiles=[4, 2]), "quantiles", "values")
    refuses(lambda: sfumato.numeric(0, 9, quantiles=[4, 2], values=[1, 2, 3]), "counts")
    domain = {"type": "numeric", "lower": 0, "upper": 9, "quantiles": [2]}
    refuses(lambda: read_with(tmp_path, domain, ("1", "2", "five", "3")), r"t\.csv", "'q'", "'five'")


def test_bad_numbers_are_refused_by_name():
    refuses(lambda: sfumato.numeric(9, 0), "lower", "upper", "9", "0")
    refuses(lambda: sfumato.numeric(0, 9, 0), "resolution")
    refuses(lambda: sfumato.numeric(0, 9, -1), "resolution")
    refuses(lambda: sfumato.numeric(float("nan"), 9), "lower", "nan")
    refuses(lambda: sfumato.numeric(0, float("inf")), "upper", "inf")
    refuses(lambda: sfumato.numeric("a", 9), "lower", "'a'")
    refuses(lambda: sfumato.numeric(0, 10**9), "1000000001|1,000,000,001", "resolution")
    refuses(lambda: sfumato.numeric(0, 9, intervals=[2, 3]), "not a tree", "3", "2", "multiple")
    refuses(lambda: sfumato.numeric(0, 9, intervals=[2], fan_out=2), "intervals", "fan_out")


def test_numbers_too_large_to_be_told_apart_are_refused_with_the_reason():
    refuses(lambda: sfumato.numeric(10**17, 10**17 + 5), "digits|precis|resolution|large")


# ---------------------------------------------------------------- dates


def test_dates_have_months_years_and_decades():
    days = sfumato.dates("2019-12-30", "2020-01-02")
    assert days.leaves == ("2019-12-30", "2019-12-31", "2020-01-01", "2020-01-02")
    assert [labels_at(days, level) for level in (1, 2, 3, 4)] == [
        ["2019-12", "2020-01"],
        ["2019", "2020"],
        ["2010-2019", "2020-2029"],
        ["*"],
    ]
    assert days.text(1, 2) == "2019-12-31..2020-01-01"
    assert days.encode(["2019-12-31", "2020-01-01 13:00:00", "2020-01-03", "soon", None]).tolist() == [1, 2, -1, -1, -1]


def test_dates_may_have_some_levels_only():
    years = sfumato.dates(datetime.date(2019, 1, 1), datetime.date(2020, 12, 31), levels=["year"])
    assert [labels_at(years, level) for level in (1, 2)] == [["2019", "2020"], ["*"]]
    assert years.size == 731 and years.loss(0, 364) == pytest.approx(364 / 730)


def test_bad_dates_are_refused():
    refuses(lambda: sfumato.dates("soon", "2020-01-01"), "first", "'soon'", "ISO")
    refuses(lambda: sfumato.dates("2020-01-02", "2020-01-01"), "first", "last")
    refuses(lambda: sfumato.dates("2020-01-01", "2020-01-02", ["week"]), "month, quarter, year, decade")
    refuses(lambda: sfumato.dates("0001-01-01", "9999-12-31"), "days", "narrow")


def test_a_date_outside_the_bounds_is_named(tmp_path):
    domain = {"type": "dates", "first": "2020-01-01", "last": "2020-12-31"}
    refuses(lambda: read_with(tmp_path, domain, ("2020-02-01", "2021-01-01")), "'2021-01-01'", "row 2", "2020-12-31")
    refuses(lambda: read_with(tmp_path, domain, ("2020-02-01", "2020-02-30")), "'2020-02-30'", "row 2")


# ---------------------------------------------------------------- prefixes


def test_prefixes_lose_one_character_a_level():
    codes = sfumato.prefixes(["81667", "81675", "81925"])
    assert [labels_at(codes, level) for level in (1, 2, 3, 4, 5)] == [
        ["8166*", "8167*", "8192*"],
        ["816**", "819**"],
        ["81***"],
        ["8****"],
        ["*"],
    ]
    assert codes.text(0, 1) == "816**" and codes.text(1, 2) in ("{81675, 81925}", "81675-81925")
    assert sfumato.prefixes(["01667", "01675", "01925"]).text(1, 2) == "{01675, 01925}"


def test_prefixes_of_codes_of_different_length_nest():
    codes = sfumato.prefixes(["A", "A1", "A12", "B"])
    assert set(codes.leaves) == {"A", "A1", "A12", "B"}
    texts = {codes.text(lo, hi) for lo, hi in all_intervals(codes.size)}
    assert len(texts) == 10


def test_leading_zeros_of_codes_survive(tmp_path):
    codes = read_with(tmp_path, {"type": "prefixes", "keep": [2]}, ("01234", "01999", "10001"))
    assert codes.leaves == ("01234", "01999", "10001") and labels_at(codes, 1) == ["01***", "10***"]


def test_bad_prefixes_are_refused():
    for keep in ([1, 3], [0], [5], [3, 3]):
        refuses(lambda keep=keep: sfumato.prefixes(["81667", "81675"], keep=keep), "keep", re.escape(str(keep)))


# ---------------------------------------------------------------- TOML


def test_every_kind_of_entry_in_toml(tmp_path):
    (tmp_path / "h.toml").write_text(
        """
        schema = 1
        list = [["A", "a", "b"], "c"]
        [age]
        type = "numeric"
        lower = 0
        upper = 99
        intervals = [5, 10]
        open_above = 90
        [weight]
        type = "numeric"
        lower = 0.5
        upper = 9.5
        resolution = 0.5
        fan_out = 2
        continuous = true
        [born]
        type = "dates"
        first = 1990-01-01
        last = "1999-12-31"
        levels = ["year", "decade"]
        ["zip code"]
        type = "prefixes"
        values = ["81667", "81675"]
        keep = [3]
        [sex]
        type = "flat"
        values = ["m", "f"]
        [job]
        type = "tree"
        children = [["A", "a", "b"], "c"]
        [race]
        type = "level-table"
        rows = [["a", "A", "*"], ["b", "A", "*"], ["c", "c", "*"]]
        """
    )
    columns = {
        "list": ("a", sfumato.tree([["A", "a", "b"], "c"])),
        "age": ("95", sfumato.numeric(0, 99, intervals=[5, 10], open_above=90)),
        "weight": ("0.7", sfumato.numeric(0.5, 9.5, 0.5, fan_out=2, continuous=True)),
        "born": ("1990-05-05", sfumato.dates("1990-01-01", "1999-12-31", ["year", "decade"])),
        "zip code": ("81675", sfumato.prefixes(["81667", "81675"], keep=[3])),
        "sex": ("f", sfumato.flat(["m", "f"])),
        "job": ("c", sfumato.tree([["A", "a", "b"], "c"])),
        "race": ("c", sfumato.tree([["A", "a", "b"], "c"])),
    }
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([list(columns), [value for value, _ in columns.values()]])
    table = sfumato.read(tmp_path / "t.csv", quasi=list(columns), hierarchies=tmp_path / "h.toml")
    for column, (_, expected) in columns.items():
        assert table.hierarchies[column] == expected, column


@pytest.mark.parametrize(
    ("entry", "parts"),
    [
        ({"type": "numbers"}, ["unknown type 'numbers'", "numeric, dates, prefixes, flat, tree, level-table"]),
        ({}, ["type", "numeric, dates, prefixes, flat, tree, level-table"]),
        ({"type": ["numeric"]}, ["type", "numeric, dates"]),
        ({"type": "numeric", "lower": 0, "uper": 3}, ["unknown key 'uper'", "numeric", "lower", "upper"]),
        ({"type": "numeric", "lower": 0}, ["upper"]),
        ({"type": "numeric", "lower": "a", "upper": 3}, ["lower", "'a'"]),
        ({"type": "numeric", "lower": 0, "upper": 9, "intervals": 5}, ["intervals"]),
        ({"type": "numeric", "lower": 0, "upper": 9, "fan_out": "2"}, ["fan_out"]),
        ({"type": "numeric", "lower": 0, "upper": 9, "fan_out": 2.5}, ["fan_out", r"2\.5"]),
        ({"type": "numeric", "lower": 0, "upper": 9, "continuous": "no"}, ["continuous", "no"]),
        ({"type": "tree"}, ["children"]),
        ({"type": "tree", "children": 3}, ["children|tree", "list|3"]),
        ({"type": "tree", "children": "ab"}, ["children|tree", "list|ab"]),
        ({"type": "tree", "children": [["A"]]}, ["'A'"]),
        ({"type": "tree", "children": []}, ["no rows|empty|no "]),
        ({"type": "flat", "values": 3}, ["values"]),
        ({"type": "icd", "values": 3}, ["values must be a list"]),
        ({"type": "countries", "values": 3}, ["values must be a list"]),
        ({"type": "flat", "observed": "yes"}, ["observed must be true or false", "'yes'"]),
        ({"type": "dates", "first": "soon", "last": "2020-01-01"}, ["first", "'soon'"]),
        ({"type": "level-table", "rows": "ab"}, ["rows|row"]),
        (3, ["3|hierarchy"]),
        (True, ["True|hierarchy"]),
    ],
)
def test_a_bad_entry_is_refused_with_column_and_key(tmp_path, entry, parts):
    refuses(lambda: read_with(tmp_path, entry), "'q'", *parts)


def test_words_of_the_programming_language_stay_out_of_messages(tmp_path):
    for entry in (
        {"type": "tree"},
        {"type": "numeric", "lower": 0},
        {"type": "numeric"},
        {"type": "flat", "values": 3},
    ):
        with pytest.raises(sfumato.BadInputError) as caught:
            read_with(tmp_path, entry)
        assert not re.search(r"lambda|positional|iterable|object|\(\)", str(caught.value)), str(caught.value)


def test_a_file_that_is_no_toml_is_named(tmp_path):
    (tmp_path / "h.toml").write_text("[q\n")
    refuses(lambda: read_with(tmp_path, tmp_path / "h.toml"), r"h\.toml", "TOML", "line 1")
    refuses(lambda: read_with(tmp_path, tmp_path / "nope.toml"), r"nope\.toml", "no such file")
    (tmp_path / "empty").mkdir()
    refuses(lambda: read_with(tmp_path, tmp_path / "empty"), "empty", "_hierarchy_")


# ---------------------------------------------------------------- missing values


@pytest.mark.parametrize(
    "hierarchy",
    [
        sfumato.tree([["A", "a", "b"], ["B", "c", ["D", "d", "e"]]]),
        sfumato.numeric(17, 90, intervals=[5, 20]),
        sfumato.numeric(0, 9, fan_out=2),
        sfumato.dates("2019-01-01", "2020-03-01"),
        sfumato.prefixes(["81667", "81675", "90000"]),
        sfumato.flat(["x"]),
        sfumato.numeric(5, 5),
        sfumato.dates("2020-01-01", "2020-01-02"),
        sfumato.prefixes(["81667"]),
        sfumato.prefixes(["81667", "81668", "81675"]),
        sfumato.tree([["A", "a", "b"]]),
    ],
    ids=[
        "tree",
        "intervals",
        "fan-out",
        "dates",
        "prefixes",
        "one text",
        "one number",
        "one month",
        "one code",
        "one prefix",
        "one node",
    ],
)
def test_the_missing_leaf_is_in_no_other_node_below_the_root(hierarchy):
    grown = hierarchy.with_missing()
    last = grown.size - 1
    assert grown.size == hierarchy.size + 1 and grown.missing
    assert [node for node in grown.nodes if node[1] == last] == [(last, last), (0, last)]
    assert grown.text(last, last) == "" and grown.text(0, last) == "*"
    assert grown.encode([None])[0] == last
    assert grown.with_missing() == grown
    for lo, hi in all_intervals(hierarchy.size):
        if (lo, hi) != (0, hierarchy.size - 1):
            assert grown.text(lo, hi) == hierarchy.text(lo, hi)


def test_without_a_missing_leaf_a_missing_value_has_no_code():
    assert sfumato.numeric(0, 9).encode([None, "3"]).tolist() == [-1, 3]
    assert sfumato.flat(["a", "b"]).encode([None, "b", ""]).tolist() == [-1, 1, -1]


def test_all_but_the_missing_value_is_not_everything():
    assert sfumato.numeric(0, 9).with_missing().text(0, 9) == "0-9"
    assert sfumato.tree([["A", "a", "b"], "c"]).with_missing().text(0, 2) == "{A, c}"
    assert sfumato.numeric(0, 9).with_missing().text(7, 10) == "{7-9, ?}"


# ---------------------------------------------------------------- over random hierarchies

NASTY = [
    "{a, b}",
    "a, b",
    '"a"',
    "?",
    "1-3",
    "2..3",
    "1",
    "2",
    "3",
    "1..<3",
    "{",
    "}",
    ",",
    "2+",
    "<2",
    " a",
    "a ",
    "''",
]
LABELS = st.one_of(st.sampled_from(NASTY), st.text("ab12-.,{}\"'?*<+ ", min_size=1, max_size=4)).filter(
    lambda label: label != "*"
)


@st.composite
def trees(draw, leaf_labels=LABELS):
    """The children of a root as nested lists, all labels different; and its level table, made here."""
    budget = [draw(st.integers(2, 7))]
    used = set()

    def fresh(strategy):
        for _ in range(4):
            if (label := draw(strategy)) not in used:
                used.add(label)
                return label
        return reject()

    def node(depth):
        if depth >= 3 or budget[0] <= 1 or draw(st.booleans()):
            budget[0] -= 1
            return fresh(leaf_labels)
        label = fresh(LABELS)
        return [label, *(node(depth + 1) for _ in range(draw(st.integers(1, 3))))]

    children = [node(0)]
    while budget[0] > 0:
        children.append(node(0))
    return children


def paths_of(node, above=()):
    """The leaves of nested lists, each with the labels above it."""
    if isinstance(node, str):
        return [(node, *above)]
    return [path for child in node[1:] for path in paths_of(child, (node[0], *above))]


def check_texts_and_losses(hierarchy, is_covered):
    """Texts are injective and say exactly which codes they mean; losses go from 0 to 1 with inclusion."""
    size = hierarchy.size
    texts = {}
    for lo, hi in all_intervals(size):
        text = hierarchy.text(lo, hi)
        assert text not in texts, f"{text!r} is {texts[text]} and {(lo, hi)}"
        texts[text] = (lo, hi)
        loss = hierarchy.loss(lo, hi)
        assert 0 <= loss <= 1
        assert loss == 0 if lo == hi else True
        if lo > 0:
            assert loss <= hierarchy.loss(lo - 1, hi) + 1e-12
        if hi < size - 1:
            assert loss <= hierarchy.loss(lo, hi + 1) + 1e-12
    if size > 1:
        assert hierarchy.loss(0, size - 1) == pytest.approx(1)
        spanning = {label for label, whole in hierarchy.intervals.items() if whole == (0, size - 1)}
        assert hierarchy.text(0, size - 1) in ({"*"} if hierarchy.missing else spanning)
    for text, (lo, hi) in texts.items():
        for code in range(size):
            for value, covered in is_covered(text, code):
                assert covered == (lo <= code <= hi), (text, (lo, hi), value)


@settings(max_examples=200, deadline=None)
@given(trees() | trees(leaf_labels=st.integers(-3, 12).map(str)), st.booleans())
def test_random_trees_have_one_text_for_every_interval(children, missing):
    paths = [path for child in children for path in paths_of(child)]
    hierarchy = sfumato.tree(children)
    labels = {"*": {path[0] for path in paths}}
    for path in paths:
        for label in path:
            labels.setdefault(label, set()).add(path[0])
    numeric = hierarchy.scale == "number"
    if missing:
        hierarchy = hierarchy.with_missing()
    assert sorted(filter(None, hierarchy.leaves)) == sorted(path[0] for path in paths)

    def is_covered(text, code):
        value = hierarchy.leaves[code]
        return [(value, covers(text, value, labels=labels, numeric=numeric))]

    check_texts_and_losses(hierarchy, is_covered)


@st.composite
def numerics(draw):
    """A random numeric hierarchy's arguments, and values of its domain as exact decimals."""
    unit = draw(st.sampled_from([Decimal(1), Decimal("0.5"), Decimal("0.1"), Decimal("0.25")]))
    continuous = draw(st.booleans())
    step = draw(st.sampled_from([1, 2, 3, 5]))
    aligned = unit != 1 and not continuous
    low = draw(st.integers(-8, 8)) * (step if aligned else 1)
    high = low + draw(st.integers(1, 8)) * (step if aligned else 1)
    how = {"continuous": continuous}
    shape = draw(st.sampled_from(["none", "intervals", "fan_out"]))
    if shape == "intervals":
        factors = draw(st.lists(st.integers(2, 3), min_size=1, max_size=3))
        how["intervals"] = [step * unit * f for f in itertools.accumulate(factors, lambda a, b: a * b)]
    elif shape == "fan_out":
        how["fan_out"] = draw(st.integers(2, 4))
    grid = [low + i * (step if aligned else 1) for i in range((high - low) // (step if aligned else 1) + 1)]
    if draw(st.booleans()):
        how["open_below"] = draw(st.sampled_from(grid)) * unit
    if draw(st.booleans()):
        how["open_above"] = draw(st.sampled_from(grid)) * unit
    assume(how.get("open_below", low * unit) < how.get("open_above", high * unit))
    values = [v * unit for v in grid]
    if continuous:
        values += [v + unit / 3 for v in values[:-1]]
    if "open_below" in how:
        values.append(low * unit - 7 * unit)
    if "open_above" in how:
        values.append(high * unit + 7 * unit)
    return (low * unit, high * unit, step * unit), how, values


def says(text, value):
    """Does this text, in the notations of a file, cover that value? Open ends here, all else by the checker."""
    members = set_members(text)
    if members is not None:
        return any(value == "" if member == "?" else says(member, value) for member, _ in members)
    if value == "" or text == "*":
        return text in (value, "*")
    if text.endswith("+"):
        return Decimal(value) >= Decimal(text[:-1])
    if text.startswith("<="):
        return Decimal(value) <= Decimal(text[2:])
    if text.startswith("<"):
        return Decimal(value) < Decimal(text[1:])
    return covers(text, value, numeric=True)


@settings(max_examples=200, deadline=None)
@given(numerics(), st.booleans())
def test_random_numbers_have_one_text_for_every_interval(arguments, missing):
    bounds, how, values = arguments
    hierarchy = sfumato.numeric(*bounds, **how)
    if missing:
        hierarchy = hierarchy.with_missing()
    texts = [format(value, "f") for value in values]
    codes = hierarchy.encode(texts).tolist()
    assert min(codes) >= 0, [text for text, code in zip(texts, codes, strict=True) if code < 0]
    under = {}
    for text, code in zip(texts, codes, strict=True):
        under.setdefault(code, []).append(text)
    if missing:
        under[hierarchy.size - 1] = [""]

    def is_covered(text, code):
        return [(value, says(text, value)) for value in under.get(code, [])]

    check_texts_and_losses(hierarchy, is_covered)


@settings(max_examples=100, deadline=None)
@given(trees(), st.randoms(use_true_random=False))
def test_a_random_tree_given_as_a_shuffled_level_table_loses_the_same(children, random):
    paths = [path for child in children for path in paths_of(child)]
    height = max(map(len, paths))
    rows = [[*path[:1] * (height - len(path)), *path, "*"] for path in paths]
    random.shuffle(rows)
    tree, table = sfumato.tree(children), sfumato.from_level_table(rows)
    for label, (lo, hi) in tree.intervals.items():
        assert table.loss(*table.intervals[label]) == tree.loss(lo, hi)
