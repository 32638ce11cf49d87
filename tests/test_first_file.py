"""The first file: what people write is read as they mean it, it is said, and it can be said otherwise."""

from __future__ import annotations

import csv
import datetime
import itertools
import math
import random
import sys
import tomllib
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import german_hospital
import sfumato
import sfumato.publish.apply
import sfumato.publish.mapping
from command_line import run
from points import point_of
from sfumato import Grid, Map, Study
from sfumato.commands.app import app
from sfumato.data.hierarchies.automatic import automatic
from sfumato.data.hierarchies.declared import from_entry
from sfumato.data.hierarchies.written import entry_of
from sfumato.engines import open_rows
from sfumato.engines.notations import COMMA, POINT
from sfumato.engines.protocol import Reading
from sfumato.tradeoff.question.best_possible import impossible
from sfumato.tradeoff.question.question import Bound
from strategies import tries

runner = CliRunner()


def save(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def opened(path, **how):
    return open_rows(path, Reading(**how))


def texts(rows, column):
    """The values of a column in the order of its first rows."""
    distinct = rows.distinct(column)
    return [value for _, value in sorted(zip(distinct.first_rows.tolist(), distinct.values, strict=True))]


def column(tmp_path, values, name="t.csv", **how):
    """Write one column beside another, read it back, and return its distinct values and what was said."""
    path = tmp_path / name
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["x", "who"], *([value, f"p{i}"] for i, value in enumerate(values))])
    rows = opened(path, **how)
    return texts(rows, "x"), " ".join(rows.notices)


# -- numbers -----------------------------------------------------------------------------------------------------

AMOUNTS = [Decimal(text) for text in ("0.5", "7", "-71.25", "999.9", "1234.5", "-12345.06", "1234567.8")]
MARKS = {
    "comma": [(",", mark) for mark in ("", ".", "'", "’", " ", "\u00a0", "\u202f")],
    "point": [(".", mark) for mark in (",", "'", " ", "\u2009")],
}


@pytest.mark.parametrize(("style", "marks"), [(style, each) for style, pairs in MARKS.items() for each in pairs])
def test_numbers_are_read_whatever_separates_thousands_and_decimals(tmp_path, style, marks):
    decimal, thousands = marks
    written = [f"{amount:,}".replace(",", "T").replace(".", decimal).replace("T", thousands) for amount in AMOUNTS]
    values, said = column(tmp_path, [*written, "k.A."])
    assert [Decimal(value) for value in values[:-1]] == AMOUNTS
    assert values[-1] == "k.A."
    assert "published so: 'x'" in said and "--as-written" in said


def test_plain_numbers_and_texts_are_left_as_they_are_without_a_word(tmp_path):
    for values in (["1.5", "20", "1e5"], ["007", "1,5"], ["1,2,3", "1,2"], ["I10.9", "1.234"], ["a.b", "c,d"]):
        assert column(tmp_path, values) == (values, ""), values


@pytest.mark.parametrize(("value", "other"), [("1.234", "1234"), ("1,234", "1.234")])
def test_what_may_mean_two_numbers_is_told_and_can_be_decided(tmp_path, value, other):
    values, said = column(tmp_path, [value, value.replace("1", "5")])
    assert values[0] == value
    assert "1234 (thousands) or 1.234 (decimals)" in said and "--decimal-comma 'x'" in said
    assert column(tmp_path, [value], decimal_comma=("x",)) == ([other], "")
    decimals = {"1.234": "1.234", "1,234": "1234"}[value]
    assert column(tmp_path, [value], decimal_point=("x",)) == ([decimals], "")


def test_one_value_decides_for_its_column_and_a_column_for_the_others_that_do_not_tell(tmp_path):
    assert column(tmp_path, ["1.234", "1.234.567"])[0] == ["1234", "1234567"]
    assert column(tmp_path, ["1,234", "0.5"])[0] == ["1234", "0.5"]
    rows = opened(save(tmp_path / "t.csv", "a;b\n1.234;7,5\n5.678;8,25\n"))
    assert texts(rows, "a") == ["1234", "5678"]
    assert "may be 1234" in " ".join(rows.notices) and "as other columns of the file suggest" in " ".join(rows.notices)


def test_a_column_of_both_kinds_is_left_and_told_and_a_wrong_decision_refused(tmp_path):
    values, said = column(tmp_path, ["1,5", "2.5"])
    assert values == ["1,5", "2.5"] and "decimal comma and with a decimal point" in said
    with pytest.raises(
        sfumato.BadInputError, match=r"t\.csv, column 'x', row 2 .*'2\.5' is no number with a decimal c"
    ):
        column(tmp_path, ["1,5", "2.5"], decimal_comma=("x",))
    with pytest.raises(sfumato.BadInputError, match=r"no column 'y' .--decimal-point."):
        column(tmp_path, ["1,5"], decimal_point=("y",))
    with pytest.raises(sfumato.BadInputError, match="--decimal-comma and --as-written"):
        column(tmp_path, ["1,5"], decimal_comma=("x",), as_written=("x",))


def test_a_value_far_inside_changes_the_reading_of_all(tmp_path):
    values, said = column(tmp_path, [*map(str, range(1, 999)), *map(str, range(1, 999)), "1.234"])
    assert values[-1] == "1.234" and "may be 1234" in said
    values, said = column(tmp_path, [*map(str, range(1, 2000)), "2.500,5"])
    assert values[-1] == "2500.5" and "'x'" in said


def test_a_column_left_as_written_is_not_read(tmp_path):
    values = ["1,5 ", "2,5"]
    assert column(tmp_path, values, as_written=("x",)) == (values, "")


def test_patterns_never_read_one_text_as_two_numbers_unless_it_is_told():
    """Every short text of digits and marks, against a reading by hand."""
    import re

    for letters in itertools.product("10.,", repeat=5):
        text = "".join(letters)
        for pattern, decimal, thousands in ((COMMA, ",", "."), (POINT, ".", ",")):
            whole, *rest = text.split(decimal)
            first, *groups = whole.split(thousands)
            grouped = all(len(group) == 3 for group in groups) and (not groups or (0 < len(first) <= 3))
            led = whole == "0" or not whole.startswith("0")
            number = grouped and led and len(rest) <= 1 and all(thousands not in part for part in rest)
            number = number and (whole != "" or bool(rest and rest[0])) and not (decimal == "," and rest == [""])
            assert (re.fullmatch(pattern, text) is not None) == number, (text, pattern)


# -- dates -------------------------------------------------------------------------------------------------------

DAYS = [datetime.date(1999, 12, 31), datetime.date(2001, 5, 6), datetime.date(1984, 2, 29)]


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%d-%b-%Y", "%Y%m%d"])
@pytest.mark.parametrize("time", ["", " %H:%M", " %I:%M %p"])
def test_dates_are_read_as_people_write_them(tmp_path, form, time):
    if time and form == "%Y%m%d":
        return
    moments = [datetime.datetime.combine(day, datetime.time(15, 7)) for day in DAYS]
    values, said = column(tmp_path, [*(moment.strftime(form + time) for moment in moments), "unbekannt"])
    assert values[:-1] == [f"{moment:%Y-%m-%d}" + (" 15:07:00" if time else "") for moment in moments]
    assert values[-1] == "unbekannt" and "are read as 1999-12-31" in said
    assert ("month first" in said) == (form == "%m/%d/%Y")


def test_where_no_value_tells_day_from_month_a_person_is_asked(tmp_path):
    written = ["05/06/1999", "01/02/2000"]
    values, said = column(tmp_path, written)
    assert values == written and "--dates day-first or month-first" in said
    assert column(tmp_path, written, dates="day-first")[0] == ["1999-06-05", "2000-02-01"]
    assert column(tmp_path, written, dates="month-first")[0] == ["1999-05-06", "2000-01-02"]
    decided = ["05/06/1999", "31/12/1999"]
    assert column(tmp_path, decided, dates="month-first")[0] == ["1999-06-05", "1999-12-31"]


def test_what_is_no_day_leaves_its_column_as_it_is(tmp_path):
    for values in (["31/12/1999", "12/31/1999"], ["31/12/1999", "30/02/2000"], ["20210101", "20210199"]):
        assert column(tmp_path, values)[0] == values
    assert "no days" in column(tmp_path, ["31/12/1999", "30/02/2000"])[1]
    assert column(tmp_path, ["20210101", "20210199"])[1] == ""


# -- encodings, headers, blanks ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "said"),
    [("cp1252", "cp1252"), ("latin-1", "latin-1"), ("utf-8", ""), ("utf-16", "UTF-16"), ("utf-16-le", "UTF-16")],
)
def test_the_encoding_is_found_and_told(tmp_path, encoding, said):
    letter = "ü" if encoding == "latin-1" else "€ü"
    content = f"a;{letter}\n" + "1;x\n" * 300_000 + f"2;{letter}\n"
    rows = opened(save(tmp_path / "t.csv", content.encode(encoding)))
    assert rows.columns == ("a", letter) and rows.distinct(letter).values == ["x", letter]
    assert said in " ".join(rows.notices) and bool(rows.notices) == bool(said)


def test_bytes_of_no_likely_encoding_are_refused(tmp_path):
    with pytest.raises(sfumato.BadInputError, match=r"t\.csv: .*neither UTF-8 nor cp1252.*--encoding"):
        opened(save(tmp_path / "t.csv", "a;b\n1;ü\n".encode("cp850")))
    assert opened(save(tmp_path / "t.csv", "a;b\n1;ü\n".encode("cp850")), encoding="cp850").distinct("b").values == [
        "ü"
    ]


CENSUS = [("39", "State-gov", "Male"), ("50", "?", "Female"), ("38", "Private", "Male"), ("53", "State-gov", "Male")]


def test_a_file_without_a_header_is_recognised_and_its_blanks_taken_away(tmp_path):
    path = save(tmp_path / "t.data", "".join(", ".join(record) + "\n" for record in CENSUS * 3))
    rows = opened(path)
    assert rows.columns == ("column1", "column2", "column3") and rows.row_count == 12
    assert set(rows.distinct("column2").values) == {"State-gov", "?", "Private"}
    said = " ".join(rows.notices)
    assert "no header" in said and "--columns" in said and "blanks around 24 values" in said
    named = opened(path, columns=("age", "work", "sex"), na=("?",))
    assert named.columns == ("age", "work", "sex") and None in named.distinct("work").values
    first = opened(path, header=True)
    assert first.columns == ("39", "State-gov", "Male") and first.row_count == 11
    with pytest.raises(sfumato.BadInputError, match=r"2 names are given \(--columns\) for 3 columns"):
        opened(path, columns=("a", "b"))


@pytest.mark.parametrize(
    "header", ["age,work,sex", "age,work,Male", ",work,sex", "AGE,State,SEX", "2019,2020,2021", "v1,v2,v3"]
)
def test_a_header_is_not_taken_for_a_record(tmp_path, header):
    body = "".join(",".join(record) + "\n" for record in CENSUS * 3)
    if header.startswith("2019"):
        body = "".join(f"{i},{i * 7 % 5},{i * 3 % 4}\n" for i in range(9))
    rows = opened(save(tmp_path / "t.csv", f"{header}\n{body}"))
    assert rows.columns == tuple(header.split(",")) and not any("no header" in notice for notice in rows.notices)
    assert opened(tmp_path / "t.csv", header=False).row_count == rows.row_count + 1


def test_all_problems_of_a_header_stand_in_one_message(tmp_path):
    path = save(tmp_path / "t.csv", "age,d,age,D,,\n1,x,2,3,4,5,6\n2,y,3,4,5,6,7\n")
    with pytest.raises(sfumato.BadInputError) as caught:
        opened(path)
    for part in (
        "t.csv",
        "'age' appears twice, as columns 1 and 3",
        "'' appears twice",
        "'d' and 'D'",
        "1 field",
        "--col",
    ):
        assert part in str(caught.value)
    assert opened(path, columns=tuple("abcdefg")).columns == tuple("abcdefg")


def test_quotes_behind_blanks_are_quotes(tmp_path):
    rows = opened(save(tmp_path / "t.csv", 'age,  "PLZ/zip", note \n1,  "a, b", x\n2, c ,y\n'))
    assert rows.columns == ("age", "PLZ/zip", "note")
    assert texts(rows, "PLZ/zip") == ["a, b", "c"] and texts(rows, "note") == ["x", "y"]
    assert "names of columns" in " ".join(rows.notices)


# -- workbooks and files of statistics programs --------------------------------------------------------------------


def workbook(path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Daten"
    cells = {"B3": "Alter", "C3": "Tag", "D3": "Kosten", "B4": 31, "C4": datetime.date(1999, 12, 31), "D4": 1.5}
    cells |= {"B5": 32.0, "C5": datetime.datetime(2000, 1, 1, 14, 5), "D5": "=B5+1", "B6": " 33", "C6": None, "D6": 2}
    for place, value in cells.items():
        sheet[place] = value
    book.create_sheet("Zwei").append(["x"])
    book.save(path)
    return path


def test_a_sheet_is_read_as_texts(tmp_path):
    path = workbook(tmp_path / "w.xlsx")
    rows = opened(path)
    assert rows.columns == ("Alter", "Tag", "Kosten")
    assert texts(rows, "Alter") == ["31", "32", "33"]
    assert texts(rows, "Tag") == ["1999-12-31", "2000-01-01 14:05:00", None]
    said = " ".join(rows.notices)
    for part in (
        "'Daten' is read, the first of 2",
        "2 empty rows",
        "1 formulas have no value",
        "blanks around 1 values",
    ):
        assert part in said
    with pytest.raises(sfumato.BadInputError, match=r"no sheet 'Drei'; there are 'Daten', 'Zwei'"):
        opened(path, sheet="Drei")
    with pytest.raises(sfumato.BadInputError, match=r"bad\.xlsx: .*workbook"):
        opened(save(tmp_path / "bad.xlsx", "no"))


def titled(path, *above):
    """Write a sheet with something above its names."""
    book = openpyxl.Workbook()
    for row in (*above, ["Eta", "Reddito", "Esito"], [31, "1.234,5", "x"], [32, None, "y"], [33, "2.000,0", "x"]):
        book.active.append(row)
    book.save(path)
    return path


@pytest.mark.parametrize(
    ("above", "row"),
    [([["ASL Napoli"]], 2), ([["ASL Napoli"], [], ["estratto il 12/01/2024"]], 4), ([[], [None, "ASL Napoli"], []], 4)],
)
def test_a_title_above_the_names_is_found_and_told(tmp_path, above, row):
    rows = opened(titled(tmp_path / "w.xlsx", *above))
    assert rows.columns == ("Eta", "Reddito", "Esito") and rows.row_count == 3
    [told] = [notice for notice in rows.notices if "holds the names" in notice]
    assert f"row {row} holds the names of the columns" in told and "--header-row" in told and "'ASL Napoli'" in told


@pytest.mark.parametrize("title", ["ASL Napoli", "ASL Napoli;;", '"ASL\nNapoli"', "ASL Napoli\n\n01/02/2024;;"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_title_above_the_names_of_a_text_file_is_left_out(tmp_path, title, end):
    lines = [title, "Eta;Reddito;Esito", *(f"{31 + i};1.234,{i};{'xy'[i % 2]}" for i in range(30))]
    rows = opened(save(tmp_path / "t.csv", end.join(lines).replace("\n", end).replace("\r\r", "\r") + end))
    assert rows.columns == ("Eta", "Reddito", "Esito") and rows.row_count == 30
    row = 2 + title.count("\n")
    assert sum(f"row {row} holds the names of the columns" in notice for notice in rows.notices) == 1


def test_a_first_row_that_may_hold_data_is_no_title(tmp_path):
    """A short first set of items, and a first record with missing values."""
    with pytest.raises(sfumato.BadInputError, match="the header has 1"):
        opened(save(tmp_path / "t.txt", "a\na b c\na b\nb c d e\n" * 9), delimiter=" ")
    rows = opened(save(tmp_path / "t.csv", "a,b,c\n1,,\n" + "1,2,3\n" * 30))
    assert rows.columns == ("a", "b", "c") and rows.row_count == 31


def test_the_row_of_the_names_can_be_said(tmp_path):
    path = titled(tmp_path / "w.xlsx", ["ASL", "2023", "riservato"])
    assert opened(path).columns == ("ASL", "2023", "riservato")
    rows = opened(path, header_row=2)
    assert rows.columns == ("Eta", "Reddito", "Esito") and texts(rows, "Eta") == ["31", "32", "33"]
    with pytest.raises(sfumato.BadInputError, match=r"w\.xlsx, sheet 'Sheet': row 9 is empty"):
        opened(path, header_row=9)
    for content in ("ASL, 2023\n\nage;ill\n1;x\n2;y\n", "ASL, 2023\r\n\r\nage;ill\r\n1;x\n2;y\n"):
        text = save(tmp_path / "t.csv", content)
        rows = opened(text, header_row=3)
        assert rows.columns == ("age", "ill") and texts(rows, "age") == ["1", "2"]
    with pytest.raises(sfumato.BadInputError, match="counted from 1"):
        opened(text, header_row=0)
    with pytest.raises(sfumato.BadInputError, match=r"empty from line 9 on \(--header-row\)"):
        opened(text, header_row=9)
    study = runner.invoke(app, ["init", str(path), "--set", "header-row=2", "--to", str(tmp_path / "study.toml")])
    assert study.exit_code == 0 and "header_row = 2" in (tmp_path / "study.toml").read_text()


@pytest.mark.parametrize("word", ["n.d.", "s.d.", "k. A.", "ND", "NULL", ".", "non rilevato"])
def test_a_word_that_repeats_between_numbers_or_dates_is_proposed_as_missing(tmp_path, word):
    lines = ["when,cost", *(f"{day:02d}/0{month}/2020,{day * month * 7}" for day in range(1, 28) for month in (1, 2))]
    lines += [f"{word},5", f"03/03/2020,{word}", f"{word},{word}"]
    drafted = sfumato.draft(sfumato.TableDeclaration(str(save(tmp_path / "t.csv", "\n".join(lines) + "\n"))))
    assert {guess.column: guess.type for guess in drafted.guesses} == {"when": "dates", "cost": "whole numbers"}
    assert drafted.study.table.na == (word,)


def test_a_top_code_between_numbers_is_not_missing(tmp_path):
    lines = ["age", *map(str, range(20, 90)), "90+", "90+"]
    drafted = sfumato.draft(sfumato.TableDeclaration(str(save(tmp_path / "t.csv", "\n".join(lines) + "\n"))))
    assert drafted.study.table.na == ()


PLACED = {
    "health": "sensitive", "black": "quasi", "ethn": "quasi", "married": "quasi", "child": "quasi", "educdec": "quasi",
    "exper": "quasi", "union": "sensitive", "wage": "sensitive", "school": "quasi",
}  # fmt: skip


def test_names_of_surveys_are_placed_and_years_of_school_are_no_place(tmp_path):
    rows = [
        {name: ["yes", "no"][(i + len(name)) % 2] for name in PLACED} | {"school": i % 13, "exper": i % 17, "wage": i}
        for i in range(60)
    ]
    lines = [",".join(PLACED), *(",".join(str(row[name]) for name in PLACED) for row in rows)]
    path = save(tmp_path / "t.csv", "\n".join(lines) + "\n")
    guesses = {guess.column: guess for guess in sfumato.draft(sfumato.TableDeclaration(str(path))).guesses}
    meant = {name: guess.role for name, guess in guesses.items() if guess.role is not None}
    assert all(PLACED[name] == role for name, role in meant.items()) and len(meant) >= 8
    assert "place" not in guesses["school"].reason and "education" in guesses["school"].reason


def test_a_reader_that_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(sfumato.BadInputError, match=r"s.sav: .*pip install 'sfumato\[stats\]'"):
        opened(save(tmp_path / "s.sav", "x"))


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta", "xpt"])
def test_files_of_statistics_programs_are_read_by_their_labels(tmp_path, ending):
    frame = pd.DataFrame({"sex": [1.0, 2.0, 9.0], "w": [1.5, 2.0, 3.0], "day": [datetime.date(1999, 12, 31)] * 3})
    path, labels = tmp_path / f"s.{ending}", {"sex": {1: "male", 2: "female", 9: "no answer"}}
    if ending == "xpt":
        pyreadstat.write_xport(frame, path)
    elif ending == "dta":
        pyreadstat.write_dta(frame, path, column_labels={"sex": "Sex of the person"}, variable_value_labels=labels)
    else:
        options = {"column_labels": {"sex": "Sex of the person"}, "variable_value_labels": labels}
        pyreadstat.write_sav(frame, path, **options, missing_ranges={"sex": [9]}, compress=ending == "zsav")
    rows = opened(path)
    known = {"xpt": ["1", "2", "9"], "dta": ["male", "female", "no answer"]}.get(ending, ["male", "female", None])
    assert texts(rows, "sex") == known
    assert texts(rows, "w") == ["1.5", "2", "3"] and texts(rows, "day") == ["1999-12-31"]
    assert ("'sex': Sex of the person" in " ".join(rows.notices)) == (ending != "xpt")


# -- the walk ------------------------------------------------------------------------------------------------------


def test_the_hospital_walks_from_its_draft_to_an_audited_release(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    german_hospital.write("kh.csv", 400)
    made = runner.invoke(app, ["init", "kh.csv"])
    assert made.exit_code == 0, made.output
    for part in ("cp1252", "€", "1.234,5", "31.12.1999", "k.A."):
        assert part in made.output, part
    assert sfumato.Study.from_toml(Path("study.toml").read_text(encoding="utf-8")).table.na == ("k.A.",)
    truth = german_hospital.records(400)
    roles = ["--quasi", "PLZ,Geschlecht,Körpergewicht", "--sensitive", "Diagnose (ICD-10)", "--neutral", "Kosten (€)"]
    command = ["anonymize", "kh.csv", *roles, "--set", "na=k.A.", "--require", "k-anonymity k=5", "--to", "out.csv"]
    made = runner.invoke(app, command)
    assert made.exit_code == 0, made.output
    with Path("out.csv").open(encoding="utf-8", newline="") as stream:
        costs = [row["Kosten (€)"] for row in csv.DictReader(stream)]
    assert sorted(map(Decimal, filter(None, costs))) == sorted(record[8] for record in truth if record[8] is not None)
    words = ["audit", "out.csv", *roles[:4], "--original", "kh.csv", "--set", "na=k.A.", "--require", "k-anonymity k=5"]
    checked = runner.invoke(app, words)
    assert checked.exit_code == 0, checked.output


def test_an_original_in_parquet_is_compared_by_what_its_texts_mean(tmp_path):
    weights = [f"{60 + i % 20},{i % 10}" for i in range(40)]
    pq.write_table(pa.table({"w": weights, "d": ["x", "y"] * 20}), tmp_path / "t.parquet")
    table = sfumato.read(tmp_path / "t.parquet", quasi="w", sensitive="d")
    assert table.hierarchies["w"].scale == "number"
    sfumato.anonymize(table, "k-anonymity k=4").to_csv(tmp_path / "o.csv")
    found = sfumato.audit(tmp_path / "o.csv", ["w"], ["d"], original=tmp_path / "t.parquet")
    assert found.coverage.holds and found["loss"] < 1
    assert any("1.234,5" in notice for notice in found.notices)


def test_new_data_are_read_as_the_mapping_s_table_was(tmp_path):
    first = save(tmp_path / "a.csv", "w;d\n" + "".join(f"{i}.500,5;{'xy'[i % 2]}\n" for i in range(1, 9)))
    release = sfumato.anonymize(sfumato.read(first, quasi="w", sensitive="d"), "k-anonymity k=2", "full-domain")
    mapping = sfumato.publish.mapping.mapping_of(release, sfumato.requirement("k-anonymity k=2"))
    save(tmp_path / "m.json", mapping.to_text())
    new = save(tmp_path / "b.csv", "w;d\n" + "".join(f"{i}.500;{'xy'[i % 2]}\n" for i in range(1, 9)))
    again = sfumato.publish.mapping.read_mapping(tmp_path / "m.json")
    assert again.notations == {"w": "comma"}
    applied = sfumato.publish.apply.apply(again, new)
    assert applied.left_out.records == 0
    assert texts(applied.release.table.engine, "w")[0] == "1500"


@pytest.mark.parametrize(
    ("values", "proposed"),
    [
        (["1", "2", "3", "4", "5", "k.A.", "-"], ("-", "k.A.")),
        (["a", "b", "unbekannt", "-"], ("-", "unbekannt")),
        (["21", "35", "48", "52", "60", "9999"], ("9999",)),
        (["9100", "9350", "9480", "9520", "9600", "9999"], ()),
        (["+", "-", "0"], ()),
    ],
)
def test_what_seems_to_mean_missing_is_proposed_by_init_and_never_taken_by_read(tmp_path, values, proposed):
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([["x", "d"], *([value, "yz"[i % 2]] for i, value in enumerate(values * 5))])
    draft = sfumato.draft(str(path))
    assert draft.added_na == proposed
    assert None not in open_rows(path).distinct("x").values
    if proposed:
        assert "Delete those that are values" in draft.to_toml()


def test_a_number_that_is_a_value_elsewhere_is_not_proposed_as_missing(tmp_path):
    rows = [
        [value, 9990 + i] for i, value in enumerate(["21", "35", "48", "52", "60", "61", "62", "63", "9999", "9999"])
    ]
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([["x", "cost"], *rows])
    assert sfumato.draft(str(path)).added_na == ()


def test_every_option_stands_in_a_study_and_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(Path("t.csv"), "05/06/1999;1.234;1,5;a\n" + "01/02/2000;5.678;2,5;b\n" * 30)
    flags = ["--set", "header=no", "--set", "columns=day,n,m,d", "--set", "dates=day-first", "--set", "decimal-comma=n"]
    made = runner.invoke(app, ["init", "t.csv", *flags, "--set", "as-written=m"])
    assert made.exit_code == 0, made.output
    table = sfumato.Study.from_toml(Path("study.toml").read_text()).table
    assert (table.header, table.columns, table.dates) == (False, ("day", "n", "m", "d"), "day-first")
    assert (table.decimal_comma, table.as_written) == (("n",), ("m",))
    rows = table.open_rows()
    assert (texts(rows, "n"), texts(rows, "m")) == (["1234", "5678"], ["1,5", "2,5"])
    assert texts(rows, "day") == ["1999-06-05", "2000-02-01"]
    wrong = runner.invoke(app, ["init", "t.csv", "--set", "dates=year-first", "--force"])
    assert isinstance(wrong.exception, sfumato.BadInputError) and "day-first, month-first" in str(wrong.exception)


def test_a_file_that_kept_its_blanks_is_compared_with_an_original_that_has_them(tmp_path):
    lines = "".join(f"{20 + i % 2}, {'ab'[i % 2]}, {'xy'[i // 2 % 2]}\n" for i in range(12))
    original = save(tmp_path / "t.csv", f"age,job,ill\n{lines}")
    for published in (original.read_text(), original.read_text().replace(", ", ",")):
        found = sfumato.audit(save(tmp_path / "o.csv", published), ["age", "job"], ["ill"], original=original)
        assert found.coverage.holds and found["k"] == 6


SIXTY_DAYS = [datetime.date(1990, 1, 1) + datetime.timedelta(37 * i % 3000) for i in range(60)]


def write(path, texts):
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([["born", "ill"], *([text, "ab"[i % 2]] for i, text in enumerate(texts))])
    return path


@pytest.mark.parametrize("how", ["{0.day}.{0.month}.{0.year}", "{0:%d.%m.%Y}", "{0:%Y-%m-%d}"])
def test_however_written_the_release_is_the_same_and_covers(tmp_path, how):
    iso = write(tmp_path / "iso.csv", [day.isoformat() for day in SIXTY_DAYS])
    other = write(tmp_path / "other.csv", [how.format(day) for day in SIXTY_DAYS])
    files = []
    for table in (iso, other):
        to = table.with_suffix(".out.csv")
        words = ["--quasi", "born", "--sensitive", "ill"]
        made = runner.invoke(app, ["anonymize", str(table), *words, "--require", "k-anonymity k=4", "--to", str(to)])
        assert made.exit_code == 0 and "seems to hold" not in made.output, made.output
        found = sfumato.audit(to, ["born"], ["ill"], original=table)
        assert found.coverage is not None and found.coverage.holds and found["k"] >= 4
        files.append((to.read_text(), found["loss"]))
    assert files[0][0] == files[1][0]
    assert files[0][1] == pytest.approx(files[1][1])  # summed up in the order in which DuckDB's threads count
    assert ".." in files[0][0] and "1990-01-01.." in files[0][0]


def test_init_declares_them_as_dates(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.csv", [f"{day:%d.%m.%Y}" for day in SIXTY_DAYS])
    assert runner.invoke(app, ["init", "t.csv"]).exit_code == 0
    declared = sfumato.Study.from_toml((tmp_path / "study.toml").read_text(), "study.toml").table.hierarchy["born"]
    assert declared["type"] == "dates" and declared["first"] == datetime.date(1990, 1, 1)
    checked = runner.invoke(app, ["check", "study.toml"])
    assert checked.exit_code == 0, checked.output


def test_what_is_no_day_is_none_and_slashes_are_left_to_a_person(tmp_path):
    wrong = write(tmp_path / "w.csv", [f"{day:%d.%m.%Y}" for day in SIXTY_DAYS] + ["31.02.1999"])
    table = sfumato.read(wrong, quasi=["born"])
    assert table.hierarchies["born"].scale == "category"
    early = [day.replace(day=day.day % 12 + 1) for day in SIXTY_DAYS]
    slashes = write(tmp_path / "s.csv", [f"{day:%d/%m/%Y}" for day in early])
    table = sfumato.read(slashes, quasi=["born"])
    assert table.hierarchies["born"].scale == "category"
    assert any("05/06/1999" in notice and "--dates" in notice for notice in table.notices)
    with pytest.raises(sfumato.BadInputError, match=r"'31\.02\.1999' is not in the domain"):
        sfumato.read(wrong, quasi=["born"], hierarchies={"born": sfumato.dates("1990-01-01", "1999-12-31")})


def costs(records=600, decimals=2, spread=2.0, seed=1):
    """Log-normal costs as texts."""
    draw = random.Random(seed)
    return [f"{math.exp(draw.gauss(6, spread)):.{decimals}f}" for _ in range(records)]


def largest_share(values, begins):
    """Count by hand which share of the numbers lies in the fullest interval, given where intervals begin."""
    counted = Counter(sum(float(value) >= begin for begin in begins) for value in values)
    return max(counted.values()) / len(values)


def is_round(number):
    """Say whether a number has at most two digits before its zeros."""
    digits = f"{float(number):.10f}".replace(".", "").strip("0")
    return len(digits) <= 2


@pytest.mark.parametrize("decimals", [0, 2])
def test_a_sensitive_cost_column_gets_intervals_of_as_many_records_with_round_ends(tmp_path, decimals):
    values = costs(decimals=decimals)
    rows = [f"{20 + place % 60},{value}" for place, value in enumerate(values)]
    (tmp_path / "t.csv").write_text("\n".join(["age,cost", *rows]) + "\n")
    ended = run("init", "t.csv", "--quasi", "age", "--sensitive", "cost", "--to", "study.toml", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    entry = tomllib.loads((tmp_path / "study.toml").read_text())["table"]["hierarchy"]["cost"]
    begins = [*entry["edges"], entry["open_above"]]
    assert 5 <= len(begins) <= 20
    assert largest_share(values, begins) < 0.5
    assert all(map(is_round, begins))
    study = sfumato.read_study(str(tmp_path / "study.toml"))
    release = sfumato.anonymize(study.table.open(), "k-anonymity k=5 & l-diversity l=2 variant=frequency")
    published = Counter(str(row["cost"]) for row in release.to_arrow().to_pylist())
    assert max(published.values()) / len(values) < 0.5


def test_an_equal_width_stays_where_no_interval_holds_most():
    draw = random.Random(2)
    values = [str(round(draw.gauss(45, 12))) for _ in range(400)]
    made = automatic("age", sorted(set(values)), [values.count(value) for value in sorted(set(values))])
    widths = {last - first for first, last in zip(made.levels[1].starts[1:-1], made.levels[1].starts[2:], strict=True)}
    assert len(widths) == 1


def test_levels_of_a_skewed_quasi_identifier_lie_at_quantiles():
    values = costs(decimals=0, spread=1.5)
    distinct = sorted(set(values), key=float)
    made = automatic("cost", distinct, [values.count(value) for value in distinct])
    for level in made.levels[1:-1]:
        begins = [made.firsts[start] for start in level.starts[1:]]
        assert largest_share(values, begins) < 0.5
        assert all(map(is_round, begins))
    assert from_entry(dict(entry_of(made)), lambda: ((), ())) == made


@tries(40)
@given(st.lists(st.integers(1, 400), min_size=2, max_size=12, unique=True), st.integers(-5, 10))
def test_edges_of_ones_own_are_the_leaves_and_are_written_back(edges, lower):
    edges = sorted(edge + lower for edge in edges)
    made = from_entry({"type": "numeric", "lower": lower, "upper": edges[-1], "edges": edges[:-1]}, lambda: ((), ()))
    bounds = [lower, *edges[:-1], edges[-1] + 1]
    assert made.size == len(bounds) - 1
    for value in range(lower, edges[-1] + 1):
        leaf = sum(value >= bound for bound in bounds) - 1
        assert made.encode([str(value)]).tolist() == [leaf]
    assert from_entry(dict(entry_of(made)), lambda: ((), ())) == made


@pytest.mark.parametrize("edges", [[5, 5], [0, 5], [5, 200]])
def test_edges_that_do_not_rise_within_the_bounds_are_refused(edges):
    with pytest.raises(sfumato.BadInputError, match="edges must rise"):
        from_entry({"type": "numeric", "lower": 0, "upper": 100, "edges": edges}, lambda: ((), ()))


def test_what_no_release_can_names_the_column_and_the_repair():
    declared = {"cost": {"type": "numeric", "lower": 0, "upper": 99, "resolution": 50, "observed": True}}
    table = sfumato.TableDeclaration("t.csv", ("age",), ("illness", "cost"), hierarchy=declared)
    study = Study("any", table, (Grid((sfumato.anonymizer("mondrian"),), (sfumato.requirement("k-anonymity k=1"),)),))
    measures = {"k": 100, "smallest_group": 100, "l_frequency": 100 / 76, "p_loss": 0.0, "u_loss": 0.1}
    trivial = point_of("none", "without-quasi", "generalization", "k-anonymity k=2", {}, "measured", None, measures)
    about = {"records": 100, "sensitive": ["illness", "cost"]}

    def said(illness, cost):
        shares = {"illness": {"l_frequency": 1 / illness}, "cost": {"l_frequency": 1 / cost}}
        return impossible(Map(study, (replace(trivial, by_sensitive=shares),), about), Bound("l_frequency", "min", 2))

    assert "76.0 % of the 100 records have the same value of 'cost'" in said(0.4, 0.76)
    assert "The intervals of 'cost' were made automatically: give it others in the study" in said(0.4, 0.76)
    assert "automatically" not in said(0.76, 0.4)
