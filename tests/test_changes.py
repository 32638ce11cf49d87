"""What was done to each column: held against the texts of the written file, which a reader would go by."""

from __future__ import annotations

import csv
import re
from collections import Counter
from importlib import import_module

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato import anonymizer, dates, flat, numeric, prefixes, read, requirement, tree
from sfumato.data.items import baskets_of
from sfumato.release.changes import column_changes, shown_in_file
from sfumato.release.items import BasketRelease, global_release, set_recoding
from sfumato.release.release import generalization
from sfumato.report.measure_sentences import changes_sentence
from sfumato.tradeoff.exploration.details import item_changes
from small_tables import small_table


@pytest.fixture(scope="module")
def people():
    """Records with a code, a day, a number and a status, each with a hierarchy."""
    random = np.random.default_rng(7)
    days = np.array(["1970-03-01", "1971-07-09", "1978-12-31", "1984-01-01"])
    rows = {
        "zip": random.choice(["1010", "1020", "1150", "2100", "2120"], 60).tolist(),
        "birth": random.choice(days, 60).tolist(),
        "age": random.integers(0, 40, 60).tolist(),
        "status": random.choice(["single", "widowed", "married"], 60).tolist(),
        "job": random.choice(["nurse", "cook"], 60).tolist(),
    }
    hierarchies = {
        "zip": prefixes(sorted(set(rows["zip"]))),
        "birth": dates("1970-01-01", "1989-12-31"),
        "age": numeric(0, 39, intervals=[5, 10, 20]),
        "status": tree([["alone", "single", "widowed"], ["together", "married"]]),
    }
    return read(pa.table(rows), quasi=["zip", "birth", "age", "status"], sensitive=["job"], hierarchies=hierarchies)


def at_levels(table, levels):
    """Publish every column at one level of its hierarchy: that of a label, or a number."""
    cells, lo, hi = table.cells, [], []
    for a, quasi in enumerate(cells.quasi):
        hierarchy, level = quasi.hierarchy, levels[quasi.name]
        if isinstance(level, str):
            level = next(i for i, each in enumerate(hierarchy.levels) if level in each.labels)
        starts = np.array([*hierarchy.levels[level].starts, hierarchy.size])
        node = hierarchy.ancestors[level, cells.codes[:, a]]
        lo.append(starts[node])
        hi.append(starts[node + 1] - 1)
    ends = np.stack(lo, axis=1).astype(np.int32), np.stack(hi, axis=1).astype(np.int32)
    return generalization(table, cells.assigned(np.arange(cells.size)), *ends)


def test_levels_are_called_as_a_person_would_call_them(people):
    release = at_levels(people, {"zip": "10**", "birth": "1970-1979", "age": "0-9", "status": "alone"})
    changes = column_changes(release)
    assert changes["zip"] == "to 2 digits" and changes["birth"] == "by decade"
    assert changes["age"] == "in ranges of 10" and changes["job"] == "unchanged"
    assert changes["status"] == "to 2 groups such as alone"  # the other, together, is one value and shows nothing
    year = at_levels(people, {"zip": 0, "birth": "1971", "age": -1, "status": 0})
    assert column_changes(year) == {
        "zip": "unchanged",
        "birth": "by year",
        "age": "left out (*)",
        "status": "unchanged",
        "job": "unchanged",
    }
    assert changes_sentence(column_changes(year), 3, 60) == (
        "birth by year; age left out (*); zip, status and job unchanged; 5.0 % of the records left out."
    )


def widths_in(path, column):
    """Read how wide the ranges of a column are, row by row."""
    with path.open(encoding="utf-8", newline="") as stream:
        texts = [row[column] for row in csv.DictReader(stream)]
    ends = [re.fullmatch(r"(\d+)(?:-(\d+))?", text) for text in texts]
    return texts, [int(match[2] or match[1]) - int(match[1]) + 1 for match in ends if match]


@pytest.mark.parametrize("k", [2, 4, 7, 15])
def test_a_local_recoding_is_between_what_the_rows_show(people, tmp_path, k):
    release = anonymizer("mondrian").anonymize(people, requirement(f"k-anonymity k={k}"), "generalization", 0.0)
    path = tmp_path / "release.csv"
    release.to_csv(path)
    texts, widths = widths_in(path, "age")
    said = column_changes(release)["age"]
    counts = Counter(texts)
    if "*" not in counts:
        assert shown_in_file(list(counts), list(counts.values())) == said
    if len(set(widths)) == 1 and len(widths) == len(texts):
        assert said == f"in ranges of {widths[0]}"
        return
    between = re.fullmatch(r"between (.+?) and (.+?), (mostly|half in) (.+?)(?: or finer)?", said)
    assert between is not None, said
    width = {"single values": 1, "*": np.inf}
    width |= {f"ranges of {n}": n for n in set(widths)} | {f"{n}": n for n in set(widths)}
    all_widths = sorted(widths + [np.inf] * (len(texts) - len(widths)))
    assert (width[between[1]], width[between[2]]) == (all_widths[0], all_widths[-1])
    if between[3] == "mostly":
        assert 2 * all_widths.count(width[between[4]]) > len(all_widths)
    else:
        within = sum(each <= width[between[4]] for each in all_widths)
        finer = sum(each < width[between[4]] for each in all_widths)
        assert 2 * within >= len(all_widths) > 2 * finer


def test_what_is_withheld_or_dealt_out_is_said():
    table = small_table()
    nothing = requirement("k-anonymity k=1")
    said = {
        name: column_changes(anonymizer(name).anonymize(table, nothing, "generalization", 0.0))
        for name in ("without-quasi", "without-sensitive")
    }
    assert said["without-quasi"] == dict.fromkeys(["age", "sex", "town"], "left out (*)") | {"illness": "unchanged"}
    assert said["without-sensitive"]["illness"] == "not published" and said["without-sensitive"]["age"] == "unchanged"
    dealt = anonymizer("anatomy").anonymize(
        table, requirement("l-diversity l=2 variant=distinct"), "bucketization", 0.0
    )
    assert column_changes(dealt) == dict.fromkeys(["age", "sex", "town"], "unchanged") | {
        "illness": "dealt out within each bucket"
    }


def test_a_sensitive_column_in_stretches_is_not_called_unchanged(tmp_path):
    rows = {"town": ["Ulm", "Jena"] * 10, "cost": [f"{i * 70}.5" for i in range(20)], "drug": ["a", "b"] * 10}
    cost = {"type": "numeric", "lower": 0, "upper": 2000, "resolution": 1000, "continuous": True}
    table = read(pa.table(rows), quasi=["town"], sensitive=["cost", "drug"], hierarchies={"cost": cost})
    release = anonymizer("mondrian").anonymize(table, requirement("k-anonymity k=2"))
    assert column_changes(release) == {"town": "unchanged", "cost": "in stretches", "drug": "unchanged"}
    written = release.to_csv(tmp_path / "a.csv")[0].read_text()
    assert "0..<1000" in written and "70.5" not in written


def test_open_ends_missing_values_and_values_left_out_of_sets_are_told_as_published():
    rows = {"age": ["90", "91", "95", "20", None, "21"], "town": ["a", "b", "c", "a", "b", "c"]}
    domains = {"age": numeric(0, 99, open_above=90), "town": flat(["a", "b", "c", "d"])}
    table = read(pa.table(rows), quasi=["age", "town"], hierarchies=domains)
    assert table.cells.quasi[0].hierarchy.missing
    lo, hi = table.cells.codes.copy(), table.cells.codes.copy()
    lo[:, 1], hi[:, 1] = 0, 2
    release = generalization(table, table.cells.assigned(np.arange(table.cells.size)), lo, hi)
    said = column_changes(release)
    assert said["age"] == "between single values and 90+, half in single values or finer"  # three of six records each
    assert said["town"] == "in groups of 3 values"


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"*": 3}, "left out (*)"),
        ({"nurse": 1, "cook": 2}, "as single labels (2 different ones)"),
        ({"41": 1, "42": 2, "": 1}, "as single values (3 different ones)"),
        ({"Asia": 1, "*": 1}, "as single labels; * in 50.0 % of the rows"),
        (
            {"Western Europe": 3, "861**": 1, "{Italy, Austria}": 1},
            "between single labels and sets, mostly single labels",
        ),
        ({"{a, b}": 1, "c": 3}, "between single labels and sets, mostly single labels"),
        ({"2020-01-01..2020-12-31": 1, "2021-01-01..2021-12-31": 1}, "by year"),
        ({"0..<5": 2, "5..<10": 1}, "in ranges of 5"),
        ({"20-29": 3, "*": 1}, "in ranges of 10; * in 25.0 % of the rows"),
        ({"20-29": 2, "30-34": 1, "*": 7}, "between ranges of 5 and 10, mostly ranges of 10; * in 70.0 % of the rows"),
        (
            {"20-29": 1, "30-34": 1, "*": 7},
            "between ranges of 5 and 10, half in ranges of 5 or finer; * in 77.8 % of the rows",
        ),
        ({"12345-6789": 1, "2020-01": 1}, "as single labels (2 different ones)"),
        ({"-5..-1": 1, "1.5..2.5": 1}, "between ranges of 1 and 5, half in ranges of 1 or finer"),
    ],
)
def test_a_file_alone_tells_how_its_columns_are_shown(texts, said):
    assert shown_in_file(list(texts), list(texts.values())) == said


def test_items_are_counted_by_how_they_are_published():
    baskets = baskets_of([list("abcdefg"), list("abcdefgh")])
    keys = ([0, 1, 1, -1, 2, 3, -1, 4], [0, 1, 1, -1, 1, -1, 1, 4])
    recodings = tuple(set_recoding(baskets.items, np.array(own)) for own in keys)
    assert item_changes(BasketRelease(baskets, recodings, np.array([0, 1], np.int32)))["items"] == (
        "published as they are (2 of 8), together with others (4 of 8), left out of some records (1 of 8), "
        "left out (1 of 8)"
    )
    whole = baskets_of([["a", "b"]])
    assert (
        item_changes(global_release(whole, set_recoding("ab", np.array([0, 1]))))["items"]
        == "published as they are (all 2)"
    )


@pytest.mark.parametrize("level", [1, 2])
def test_of_two_levels_that_divide_alike_the_one_is_told_whose_labels_are_in_the_file(level, tmp_path):
    rows = {"zip": ["01025", "01500", "44100", "44900", "80331", "80999"] * 10, "ill": ["flu", "cold"] * 30}
    ladder = {"zip": prefixes(set(rows["zip"]), keep=[2, 1])}
    table = read(pa.table(rows), quasi=["zip"], sensitive=["ill"], hierarchies=ladder)
    maker = anonymizer(f'full-domain levels="zip={level}"')
    release = maker.anonymize(table, requirement("k-anonymity k=5"), "generalization", 0.0)
    release.to_csv(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as stream:
        left = {len(row["zip"].rstrip("*")) for row in csv.DictReader(stream)}
    assert left == {3 - level}
    assert column_changes(release)["zip"] == ("to 2 digits" if level == 1 else "to 1 digit")


PEOPLE = {
    "age": [20 + i % 4 for i in range(24)],
    "ill": ["flu" if i % 3 else "gout" for i in range(24)],
    "paid": [i / 8 for i in range(24)],
    "note": [None if i % 5 == 0 else f"note {i}" for i in range(24)],
}


@pytest.fixture
def audited(tmp_path, monkeypatch):
    """Publish people, do something to the rows, and audit them against the original as if there were very many."""
    monkeypatch.setattr(import_module("sfumato.auditing.audit"), "MOST_MATCHED", 10)
    pq.write_table(pa.table(PEOPLE), tmp_path / "people.parquet")
    table = sfumato.read(tmp_path / "people.parquet", quasi=["age"], sensitive=["ill"], neutral=["paid", "note"])
    published = sfumato.anonymize(table, "k-anonymity k=12").to_arrow()

    def audited(change, name="out.parquet"):
        rows = change(published.to_pylist())
        if name.endswith("csv"):
            lines = [",".join("" if value is None else str(value) for value in row.values()) for row in rows]
            (tmp_path / name).write_text("\n".join([",".join(rows[0]), *lines]) + "\n")
        else:
            pq.write_table(pa.Table.from_pylist(rows, published.schema), tmp_path / name)
        return sfumato.audit(tmp_path / name, ["age"], "ill", original=tmp_path / "people.parquet").coverage

    return audited


def exchanged(rows):
    """Exchange what two rows with different sensitive values paid."""
    one, other = rows[0], next(row for row in rows if row["ill"] != rows[0]["ill"])
    one["paid"], other["paid"] = other["paid"], one["paid"]
    return rows


@pytest.mark.parametrize("name", ["out.parquet", "out.csv"])
def test_values_that_are_the_originals_are_confirmed_by_a_digest(audited, name):
    found = audited(lambda rows: rows, name)
    assert found.holds and found.checked.endswith("; paid, note beside ill: the values of all rows by a digest")


def test_a_value_that_is_not_the_originals_is_found(audited):
    found = audited(lambda rows: [{**rows[0], "paid": 99.0}, *rows[1:]])
    assert found.uncovered == 1 and "paid, note: taken together, rows have not the values" in found.examples[0]


def test_values_beside_those_of_other_people_are_found(audited):
    assert not audited(exchanged).holds


def test_where_records_are_left_out_neutral_columns_are_left_aside_and_that_is_said(audited):
    found = audited(lambda rows: rows[1:])
    assert found.holds and found.checked.endswith(
        "(paid, note left aside: records are left out, and too many to be matched)"
    )


def test_where_texts_may_be_empty_or_missing_a_difference_is_no_fault(audited):
    found = audited(lambda rows: [{**row, "note": row["note"] or ""} for row in rows])
    assert found.holds and "left aside: some are empty" in found.checked
