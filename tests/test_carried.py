"""Neutral columns of files too large to be matched row by row: engines compare digests of them."""

from importlib import import_module

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato

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
