"""Any file or frame comes in, any column name goes out, and what cannot be used is said in one sentence."""

import csv
import gzip
import json
import os
import re
import resource
import subprocess
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato.engines.duckdb.engine import DuckDBEngine

PLAIN = "age,d\n20,x\n31,y\n21,y\n30,x\n"
PUBLISHED = [["20-21", "x"], ["20-21", "y"], ["30-31", "x"], ["30-31", "y"]]
"""What Mondrian with k=2 makes of PLAIN: four ages, cut once in the middle."""


def save(path, content):
    """Write text (as UTF-8, line ends as given) or bytes and return the path."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read_csv(path):
    """The lines of a written CSV file: the header and the sorted records."""
    with path.open(newline="", encoding="utf-8") as file:
        header, *records = csv.reader(file, strict=True)
    return header, sorted(records)


def published(source, tmp_path, k=2, **how):
    """Read, anonymize, write, read back: header and sorted records, with exact ends, which show what was read."""
    how = {"quasi": ["age"], "sensitive": ["d"], **how}
    release = sfumato.anonymize(sfumato.read(source, **how), f"k-anonymity k={k}", "mondrian ranges=tight")
    return read_csv(release.to_csv(tmp_path / "out" / "published.csv", force=True)[0])


def refused(source, *parts, **how):
    """Expect a refusal in one sentence that has all the parts (regular expressions)."""
    how = {"quasi": ["age"], "sensitive": ["d"], **how}
    with pytest.raises(sfumato.BadInputError) as caught:
        sfumato.anonymize(sfumato.read(source, **how), "k-anonymity k=1")
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert re.search(part, message), f"{part!r} is not in {message!r}"
    return message


@pytest.fixture(autouse=True)
def out(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


# ---------------------------------------------------------------- the same table in many dresses


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt", ".data"])
def test_every_delimiter_is_found_whatever_the_ending(tmp_path, delimiter, ending):
    path = save(tmp_path / f"t{ending}", PLAIN.replace(",", delimiter))
    assert published(path, tmp_path) == (["age", "d"], PUBLISHED)


def test_a_given_delimiter_wins_over_the_guess(tmp_path):
    path = save(tmp_path / "t.csv", "a b;c,d\n1;x,3\n1;y,6\n")
    assert published(path, tmp_path, quasi="a b", sensitive="c,d", delimiter=";") == (
        ["a b", "c,d"],
        [["1", "x,3"], ["1", "y,6"]],
    )


def test_commas_inside_fields_do_not_fool_the_guess(tmp_path):
    path = save(tmp_path / "t.csv", "age;d;note\n20;x;a,b,c\n31;y;d,e,f\n21;y;g,h,i\n30;x;j,k,l\n")
    assert published(path, tmp_path) == (["age", "d"], PUBLISHED)


def test_a_delimiter_of_two_characters_is_refused(tmp_path):
    refused(save(tmp_path / "t.csv", "age||d\n1||x\n2||y\n"), "delimiter", r"\|\|", delimiter="||")


@pytest.mark.parametrize(
    "content",
    [
        "\ufeff" + PLAIN,
        PLAIN.replace("\n", "\r\n"),
        "\ufeff" + PLAIN.replace("\n", "\r\n"),
        PLAIN.rstrip("\n"),
        PLAIN + "\n\n",
        PLAIN.replace("x\n", "x\r\n"),
        '"age","d"\n"20","x"\n"31","y"\n"21","y"\n"30","x"\n',
    ],
    ids=["BOM", "CRLF", "BOM and CRLF", "no final line end", "empty last lines", "mixed line ends", "all quoted"],
)
def test_marks_and_line_ends_do_not_matter(tmp_path, content):
    assert published(save(tmp_path / "t.csv", content), tmp_path) == (["age", "d"], PUBLISHED)


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("inside", ["\n", "\r\n"], ids=["LF inside", "CRLF inside"])
def test_a_quoted_line_break_belongs_to_its_value(tmp_path, end, inside):
    content = end.join(["age,d", f'20,"two{inside}lines"', '20,"say ""hi"", now"', ""])
    _, records = published(save(tmp_path / "t.csv", content), tmp_path)
    assert records == [["20", 'say "hi", now'], ["20", f"two{inside}lines"]]


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_line_break_in_the_header_is_part_of_a_name(tmp_path, end):
    path = save(tmp_path / "t.csv", end.join(['age,"two\nlines"', "20,x", "20,y", ""]))
    assert published(path, tmp_path, sensitive="two\nlines") == (["age", "two\nlines"], [["20", "x"], ["20", "y"]])


def test_a_value_longer_than_any_buffer_is_read(tmp_path):
    csv.field_size_limit(1_000_000)
    long = "x" * 200_000
    path = save(tmp_path / "t.csv", f"age,d\n20,{long}\n20,y\n")
    assert published(path, tmp_path)[1] == [["20", long], ["20", "y"]]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("latin-1", "é"),
        ("ISO-8859-1", "é"),
        ("cp1252", "€"),
        ("utf-8", "名"),
        ("utf8", "名"),
        ("UTF-8", "名"),
        ("utf-8-sig", "名"),
        ("utf-16", "名"),
        ("ascii", "e"),
    ],
)
def test_an_encoding_that_python_knows_is_read(tmp_path, encoding, text):
    path = save(tmp_path / "t.csv", f"âge{text},d\n20,{text}\n20,y\n".replace("â", "a").encode(encoding))
    header, records = published(path, tmp_path, quasi=f"age{text}", encoding=encoding)
    assert header == [f"age{text}", "d"]
    assert records == sorted([["20", text], ["20", "y"]])


def test_utf_16_of_either_byte_order_is_read(tmp_path):
    little = save(tmp_path / "little.csv", b"\xff\xfe" + PLAIN.encode("utf-16-le"))
    big = save(tmp_path / "big.csv", b"\xfe\xff" + PLAIN.encode("utf-16-be"))
    assert published(little, tmp_path, encoding="utf-16") == (["age", "d"], PUBLISHED)
    assert published(big, tmp_path, encoding="utf-16") == (["age", "d"], PUBLISHED)


def test_a_gzipped_file_is_read(tmp_path):
    path = save(tmp_path / "t.csv.gz", gzip.compress(PLAIN.encode()))
    assert published(path, tmp_path) == (["age", "d"], PUBLISHED)
    latin = save(tmp_path / "latin.csv.gz", gzip.compress("age,d\n20,é\n20,y\n".encode("latin-1")))
    assert published(latin, tmp_path, encoding="latin-1")[1] == [["20", "y"], ["20", "é"]]


def records_of(text):
    ages, values = zip(*[line.split(",") for line in text.splitlines()[1:]], strict=True)
    return [int(age) for age in ages], list(values)


def test_parquet_and_json_are_read(tmp_path):
    ages, values = records_of(PLAIN)
    pq.write_table(pa.table({"age": ages, "d": values}), tmp_path / "t.parquet")
    rows = [{"age": age, "d": value} for age, value in zip(ages, values, strict=True)]
    save(tmp_path / "t.json", json.dumps(rows))
    save(tmp_path / "t.jsonl", "\n".join(map(json.dumps, rows)))
    for name in ("t.parquet", "t.json", "t.jsonl"):
        assert published(tmp_path / name, tmp_path) == (["age", "d"], PUBLISHED), name


def test_a_path_may_be_text(tmp_path):
    assert published(str(save(tmp_path / "t.csv", PLAIN)), tmp_path) == (["age", "d"], PUBLISHED)


@pytest.mark.parametrize("name", ["t[1].csv", "t*.csv", "t?.csv", "it's.csv", "ü ❤.csv", "{a,b}.csv", "a b.csv"])
def test_a_file_name_is_a_name_and_not_a_pattern(tmp_path, name):
    save(tmp_path / "t1.csv", "age,d\n77,q\n78,r\n")
    assert published(save(tmp_path / name, PLAIN), tmp_path) == (["age", "d"], PUBLISHED)


def test_a_parquet_file_name_is_a_name_and_not_a_pattern(tmp_path):
    ages, values = records_of(PLAIN)
    pq.write_table(pa.table({"age": [77, 78], "d": ["q", "r"]}), tmp_path / "t1.parquet")
    pq.write_table(pa.table({"age": ages, "d": values}), tmp_path / "t[1].parquet")
    assert published(tmp_path / "t[1].parquet", tmp_path) == (["age", "d"], PUBLISHED)


# ---------------------------------------------------------------- frames


def frame():
    ages, values = records_of(PLAIN)
    return pd.DataFrame({"age": ages, "d": values})


@pytest.mark.parametrize(
    "make",
    [
        frame,
        lambda: frame().sample(frac=1, random_state=5),
        lambda: pd.concat([pd.DataFrame({"age": [1, 2], "d": ["x", "y"]}), frame()]).iloc[2:],
        lambda: pd.concat([frame(), frame()], ignore_index=True).drop(index=[0, 1, 6, 7]),
        lambda: frame().set_index(pd.Index([7, 7, 7, 7])),
        lambda: frame().set_index(pd.Index(["w", "x", "y", "z"], name="person")),
        lambda: frame().set_index(pd.Index([99, 98, 97, 96], name="age"), drop=False),
        lambda: frame().astype({"d": "category", "age": "int8"}),
        lambda: frame().astype({"age": "float64"}),
        lambda: pl.DataFrame({"age": [20, 31, 21, 30], "d": ["x", "y", "y", "x"]}),
        lambda: pa.table({"age": [20, 31, 21, 30], "d": ["x", "y", "y", "x"]}),
        lambda: pa.record_batch({"age": [20, 31, 21, 30], "d": ["x", "y", "y", "x"]}),
    ],
    ids=[
        "pandas",
        "shuffled",
        "labels from another frame",
        "rows dropped",
        "one label for all",
        "named index",
        "index named like a column",
        "small types",
        "floats",
        "polars",
        "pyarrow",
        "record batch",
    ],
)
def test_every_frame_gives_what_its_file_gives(tmp_path, make):
    assert published(make(), tmp_path) == (["age", "d"], PUBLISHED)


def test_a_frame_of_numbers_as_names_is_read(tmp_path):
    assert published(pd.DataFrame({0: [1, 1], 1: ["x", "y"]}), tmp_path, quasi="0", sensitive="1") == (
        ["0", "1"],
        [["1", "x"], ["1", "y"]],
    )


def test_missing_values_of_frames_are_missing(tmp_path):
    expected = [["", "x"], ["", "y"], ["20-21", "x"], ["20-21", "y"]]
    ages, values = [20.0, None, 21.0, None], ["x", "x", "y", "y"]
    for made in (
        pd.DataFrame({"age": ages, "d": values}),
        pl.DataFrame({"age": ages, "d": values}),
        pa.table({"age": ages, "d": values}),
    ):
        assert published(made, tmp_path) == (["age", "d"], expected), type(made)


def test_what_is_no_frame_is_refused():
    for source in (42, [{"age": 1}], {"age": [1]}, None):
        refused(source, "path", "Arrow|frame")


def test_a_frame_without_columns_or_rows_is_refused():
    refused(pd.DataFrame(index=[1, 2]), "DataFrame", "column")
    refused(frame().iloc[:0], "DataFrame", "no row")


def test_a_duplicated_column_of_a_frame_is_refused():
    refused(pd.DataFrame([[1, 2, "x"], [2, 3, "y"]], columns=["age", "age", "d"]), "'age'", "twice", "rename")
    refused(pa.table([[1, 2], [1, 2], ["x", "y"]], names=["age", "age", "d"]), "'age'", "twice", "rename")


def test_a_frame_column_of_mixed_types_is_refused_by_name():
    refused(pd.DataFrame({"age": [1, "b", 2.5], "d": ["x", "y", "x"]}), "age", "DataFrame|pandas")


# ---------------------------------------------------------------- column names

NAMES = [
    "with space",
    " both ends ",
    "com,ma",
    'quo"te',
    "it's",
    "semi;colon",
    "ünï ❤ 名",
    "new\nline",
    "tab\there",
    "select",
    "from",
    "order by",
    "NULL",
    "rows",
    "rowid",
    "c0",
    "o1",
    "cell",
    "line",
    "grp",
    "*",
    "",
    "{x}",
    "%s",
    "\\",
    "--",
    "1",
]


@pytest.mark.parametrize("target", ["csv", "parquet"])
@pytest.mark.parametrize("source", ["csv", "parquet", "frame"])
@pytest.mark.parametrize("name", NAMES)
def test_any_column_name_simply_works(tmp_path, name, source, target):
    header = ["plain", name, name + "!", name + "?"]
    rows = [["1", "a", "x", "n"], ["1", "b", "y", "m"], ["2", "a", "x", "n"], ["2", "b", "y", "m"]]
    kept = [each.strip(" ") for each in header] if source == "csv" else header  # blanks around a text mean nothing
    check_names(tmp_path, header, rows, source, target, kept)


@pytest.mark.parametrize("target", ["csv", "parquet"])
@pytest.mark.parametrize("source", ["csv", "parquet", "frame"])
def test_names_that_differ_in_case_only_are_different_columns(tmp_path, source, target):
    header = ["age", "Age", "AGE", "aGe"]
    rows = [["1", "a", "x", "n"], ["1", "b", "y", "m"], ["2", "a", "x", "n"], ["2", "b", "y", "m"]]
    check_names(tmp_path, header, rows, source, target)


def check_names(tmp_path, header, rows, source, target, kept=None):
    """Two quasi-identifiers, a sensitive and a neutral column survive the way in and out under their names."""
    given = written_as(tmp_path, source, header, rows)
    header = kept or header
    table = sfumato.read(given, quasi=header[:2], sensitive=header[2:3], neutral=header[3:])
    release = sfumato.anonymize(table, "k-anonymity k=1")
    if target == "csv":
        found, records = read_csv(release.to_csv(tmp_path / "out" / "o.csv")[0])
    else:
        back = pq.read_table(release.to_parquet(tmp_path / "out" / "o.parquet")[0])
        found, records = back.column_names, sorted(map(list, zip(*(c.to_pylist() for c in back.columns), strict=True)))
    assert found == header
    assert records == sorted(rows)


def written_as(tmp_path, source, header, rows):
    arrow = pa.table([pa.array(column) for column in zip(*rows, strict=True)], names=header)
    if source == "csv":
        with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])
        return tmp_path / "t.csv"
    if source == "parquet":
        pq.write_table(arrow, tmp_path / "t.parquet")
        return tmp_path / "t.parquet"
    if source == "json":
        return save(tmp_path / "t.json", json.dumps([dict(zip(header, row, strict=True)) for row in rows]))
    return arrow


def test_published_columns_keep_the_order_of_the_input(tmp_path):
    path = save(tmp_path / "t.csv", "z,d,a,m\n1,x,1,7\n1,y,1,8\n")
    header, records = published(path, tmp_path, quasi=["a", "z"], sensitive="d", neutral="m")
    assert header == ["z", "d", "a", "m"]
    assert records == [["1", "x", "1", "7"], ["1", "y", "1", "8"]]


def test_a_table_without_a_sensitive_column_is_published_whole(tmp_path):
    path = save(tmp_path / "t.csv", PLAIN)
    assert published(path, tmp_path, sensitive=[]) == (["age"], [["20-21"], ["20-21"], ["30-31"], ["30-31"]])


# ---------------------------------------------------------------- missing values

GAPS = "age,d\n20,x\n,x\n21,y\n,y\n"


def test_a_missing_value_is_a_value_of_its_own(tmp_path):
    _, records = published(save(tmp_path / "t.csv", GAPS), tmp_path)
    assert records == [["", "x"], ["", "y"], ["20-21", "x"], ["20-21", "y"]]


def test_a_missing_value_beside_others_stands_as_a_question_mark(tmp_path):
    _, records = published(save(tmp_path / "t.csv", "age,d\n20,x\n20,y\n21,x\n,y\n"), tmp_path)
    assert records == [["20", "x"], ["20", "y"], ["{21, ?}", "x"], ["{21, ?}", "y"]]


def test_dropped_records_are_counted(tmp_path):
    path = save(tmp_path / "t.csv", GAPS)
    table = sfumato.read(path, quasi="age", sensitive="d", missing="drop")
    assert (table.cells.records, table.dropped) == (2, 2)
    assert published(path, tmp_path, missing="drop")[1] == [["*", "x"], ["*", "y"]]


def test_a_missing_sensitive_value_is_a_value_too(tmp_path):
    path = save(tmp_path / "t.csv", "age,d\n20,x\n20,\n")
    assert published(path, tmp_path)[1] == [["20", ""], ["20", "x"]]
    assert sfumato.read(path, quasi="age", missing="value").dropped == 0


def test_a_missing_neutral_value_drops_nothing(tmp_path):
    path = save(tmp_path / "t.csv", "age,d,n\n20,x,\n20,y,1\n")
    _, records = published(path, tmp_path, neutral="n", missing="drop")
    assert records == [["20", "x", ""], ["20", "y", "1"]]


def test_declared_texts_mean_missing(tmp_path):
    for mark in ("?", "NA", "999", "n/a, really", "it's"):
        path = tmp_path / "t.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([["age", "d"], ["20", "x"], [mark, "x"], ["21", "y"], [mark, "y"]])
        _, records = published(path, tmp_path, na=[mark])
        assert records == [["", "x"], ["", "y"], ["20-21", "x"], ["20-21", "y"]], mark


def test_a_declared_missing_number_is_missing_in_every_format(tmp_path):
    expected = [["", "x"], ["", "y"], ["20-21", "x"], ["20-21", "y"]]
    ages, values = [20, 999, 21, 999], ["x", "x", "y", "y"]
    pq.write_table(pa.table({"age": ages, "d": values}), tmp_path / "t.parquet")
    save(tmp_path / "t.csv", "age,d\n20,x\n999,x\n21,y\n999,y\n")
    for source in (tmp_path / "t.csv", tmp_path / "t.parquet", pd.DataFrame({"age": ages, "d": values})):
        assert published(source, tmp_path, na=["999"])[1] == expected, source


def test_na_as_a_quoted_text_is_missing_too(tmp_path):
    path = save(tmp_path / "t.csv", 'age,d\n20,x\n"NA",x\n21,y\n"",y\n')
    assert published(path, tmp_path, na=["NA"])[1] == [["", "x"], ["", "y"], ["20-21", "x"], ["20-21", "y"]]


def test_missing_any_is_not_offered_here(tmp_path):
    refused(save(tmp_path / "t.csv", PLAIN), "missing", "value", "drop", "any", missing="any")


def test_dropping_everything_is_refused(tmp_path):
    refused(save(tmp_path / "t.csv", "age,d\n,x\n1,\n2,\n,y\n"), r"t\.csv", "miss", missing="drop")


# ---------------------------------------------------------------- bad input


def test_a_missing_file_is_named(tmp_path):
    refused(tmp_path / "nope.csv", r"nope\.csv", "no such file")
    refused(tmp_path / "nope.parquet", r"nope\.parquet", "no such file")
    refused(tmp_path / ("long" * 2000), "long", "")


def test_a_folder_without_a_table_is_named(tmp_path):
    refused(tmp_path, re.escape(str(tmp_path)), "no file in this folder", r"must hold .*\.csv")


@pytest.mark.parametrize("content", ["", "\n", "\n\n  \n", "\ufeff"])
def test_an_empty_file_is_named(tmp_path, content):
    refused(save(tmp_path / "t.csv", content), r"t\.csv", "empty")


@pytest.mark.parametrize("content", ["age,d", "age,d\n", "age,d\r\n", "\ufeffage,d\n"])
def test_a_header_without_rows_is_named(tmp_path, content):
    refused(save(tmp_path / "t.csv", content), r"t\.csv", "no row")


def test_an_empty_line_before_the_header_does_no_harm_or_is_named(tmp_path):
    path = save(tmp_path / "t.csv", "\n" + PLAIN)
    try:
        found = published(path, tmp_path)
    except sfumato.BadInputError as error:
        assert "quoted" not in str(error) and re.search("line 1|header|empty", str(error))
    else:
        assert found == (["age", "d"], PUBLISHED)


def test_an_unknown_column_is_named_with_those_there_are(tmp_path):
    path = save(tmp_path / "t.csv", PLAIN)
    for role in ("quasi", "sensitive", "neutral", "identifier"):
        refused(path, r"t\.csv", "'Age'", "'age', 'd'", **{"quasi": ["age"], role: ["Age"]})


def test_a_duplicated_column_is_named(tmp_path):
    refused(save(tmp_path / "t.csv", "age,d,age\n1,x,2\n2,y,3\n"), r"t\.csv", "'age'", "1 and 3", "rename")


def test_a_column_has_one_role(tmp_path):
    path = save(tmp_path / "t.csv", PLAIN)
    refused(path, "'age'", "quasi", "sensitive", "one role", sensitive=["age"])
    refused(path, "'age'", "twice", "quasi", quasi=["age", "age"])
    refused(path, "'d'", "neutral", "identifier", sensitive=[], neutral="d", identifier="d")


def test_there_must_be_a_quasi_identifier(tmp_path):
    refused(save(tmp_path / "t.csv", PLAIN), "quasi-identifier", "--quasi", quasi=[])


def test_bytes_that_are_not_of_the_given_encoding_are_found_at_the_beginning_and_far_inside(tmp_path):
    first = save(tmp_path / "t.csv", "age,d\n20,x\n20,é\n30,y\n".encode("latin-1"))
    refused(first, r"t\.csv", "line 3", "encoding", encoding="utf-8")
    header = save(tmp_path / "h.csv", "âge,d\n20,x\n".encode("latin-1"))
    refused(header, r"h\.csv", "line 1", "encoding", encoding="utf-8")
    far = save(tmp_path / "far.csv", b"age,d\n" + b"20,xxxxxxx\n" * 200_000 + "20,é\n30,y\n".encode("latin-1"))
    refused(far, r"far\.csv", "line 200,?002", "encoding", encoding="utf-8")
    zipped = save(tmp_path / "t.csv.gz", gzip.compress("age,d\n20,x\n20,é\n30,y\n".encode("latin-1")))
    refused(zipped, r"t\.csv\.gz", "line 3", "encoding", encoding="utf-8")


def test_utf_16_read_as_utf_8_is_told_what_it_is(tmp_path):
    for encoding in ("utf-16", "utf-16-le"):
        path = save(tmp_path / "t.csv", PLAIN.encode(encoding))
        message = refused(path, r"t\.csv", "utf-16", encoding="utf-8")
        assert "latin-1" not in message


def test_an_unknown_encoding_is_named(tmp_path):
    path = save(tmp_path / "t.csv", PLAIN)
    refused(path, "klingon", "encoding", "utf-8", encoding="klingon")
    refused(path, "base64", "encoding", "utf-8", encoding="base64")


@pytest.mark.parametrize(
    ("line", "fields"), [("30", 1), ("30,y,z", 3), ("30,y,z,w,v", 5)], ids=["short", "long", "much longer"]
)
def test_a_ragged_row_is_named(tmp_path, line, fields):
    path = save(tmp_path / "t.csv", f"age,d\n20,x\n{line}\n40,y\n")
    refused(path, r"t\.csv", "line 3", rf"\b{fields}\b|more|least", r"\b2\b", "correct|delimiter")


def test_a_ragged_row_far_inside_is_named(tmp_path):
    path = save(tmp_path / "t.csv", "age,d\n" + "20,x\n" * 300_000 + "30,y,z\n")
    refused(path, r"t\.csv", "line 300,?002", r"\b3\b", r"\b2\b", "correct|delimiter")


@pytest.mark.parametrize("after", ["40,y\n", "40,y\n" * 50_000], ids=["short", "long"])
def test_an_unterminated_quote_is_named(tmp_path, after):
    path = save(tmp_path / "t.csv", f'age,d\n20,x\n30,"y\n{after}')
    refused(path, r"t\.csv", r"line 3\b", "quote", "correct")


def test_text_after_a_closing_quote_is_named_for_what_it_is(tmp_path):
    message = refused(save(tmp_path / "t.csv", 'age,d\n20,x\n30,"y"z\n40,y\n'), r"t\.csv", "line 3", "quote")
    assert "does not end" not in message


def test_what_only_claims_to_be_a_format_is_named(tmp_path):
    for ending in ("parquet", "json", "csv.gz"):
        refused(save(tmp_path / f"t.{ending}", "certainly {not"), rf"t\.{ending}")
    refused(save(tmp_path / "t.csv", b"age,d\n20,x\x00\n30,y\n"), r"t\.csv", "zero bytes|text")


def test_a_sensitive_attribute_with_one_value_is_refused(tmp_path):
    path = save(tmp_path / "t.csv", "age,d\n20,x\n30,x\n")
    refused(path, r"t\.csv", "'d'", "'x'", "neutral|leave it out")


def test_a_column_without_any_value_is_refused(tmp_path):
    refused(save(tmp_path / "t.csv", "age,d\n,x\n,y\n"), r"t\.csv", "'age'", "no value", "leave it out")
    refused(save(tmp_path / "t.csv", "age,d\n1,\n2,\n"), r"t\.csv", "'d'", "no value|one value", "leave it out")


def few_categories(monkeypatch, most):
    for module in ("sfumato.data.hierarchies.automatic", "sfumato.data.reading"):
        monkeypatch.setattr(f"{module}.MOST_CATEGORIES", most)


def test_too_many_distinct_texts_want_a_hierarchy(tmp_path, monkeypatch):
    few_categories(monkeypatch, 5)
    path = save(tmp_path / "t.csv", "who,d\n" + "".join(f"person {i},{i % 2}\n" for i in range(6)))
    refused(path, r"t\.csv", "'who'", r"\b6\b", "--hierarchies", "--identifier|--neutral", quasi="who")


def test_as_many_distinct_texts_as_allowed_are_fine(tmp_path, monkeypatch):
    few_categories(monkeypatch, 5)
    path = save(tmp_path / "t.csv", "who,d\n" + "".join(f"person {i},{i % 2}\n" for i in range(5)))
    assert sfumato.read(path, quasi="who", sensitive="d").hierarchies["who"].size == 5


def test_many_distinct_texts_with_a_hierarchy_are_fine(tmp_path, monkeypatch):
    few_categories(monkeypatch, 3)
    values = [f"person {i}" for i in range(6)]
    path = save(tmp_path / "t.csv", "who,d\n" + "".join(f"{value},{i % 2}\n" for i, value in enumerate(values)))
    table = sfumato.read(path, quasi="who", sensitive="d", hierarchies={"who": [["Low", *values[:3]], *values[3:]]})
    assert table.hierarchies["who"].size == 6


def test_too_many_distinct_sensitive_texts_are_refused(tmp_path, monkeypatch):
    few_categories(monkeypatch, 5)
    path = save(tmp_path / "t.csv", "age,d\n" + "".join(f"{i},text {i}\n" for i in range(6)))
    refused(path, r"t\.csv", "'d'", r"\b6\b", "hierarchy", "--neutral")


def test_a_million_distinct_texts_are_refused_with_advice(tmp_path):
    path = tmp_path / "t.csv"
    with path.open("w") as file:
        file.write("who,d\n")
        file.writelines(f"person {i},{i % 2}\n" for i in range(1_000_000))
    refused(path, r"t\.csv", "'who'", "1,000,000", "--hierarchies", "--identifier|--neutral", quasi="who")


@pytest.mark.parametrize("value", ["NaN", "nan", "inf", "-inf", "Infinity", "1e400"])
def test_numbers_that_are_not_finite_are_named(tmp_path, value):
    path = save(tmp_path / "t.csv", f"age,d\n20,x\n30,y\n{value},x\n40,y\n")
    said = ["'age'", re.escape(value), "row 3|line 4", "correct|--na"]
    refused(path, r"t\.csv", *said)
    domain = {"age": {"type": "numeric", "lower": 0, "upper": 100}}
    refused(path, r"t\.csv", *said, hierarchies=domain)


@pytest.mark.parametrize("value", ["NaN", "inf"])
def test_sensitive_numbers_that_are_not_finite_are_named(tmp_path, value):
    path = save(tmp_path / "t.csv", f"age,d\n20,1\n30,2\n20,{value}\n30,4\n")
    refused(path, r"t\.csv", "'d'", re.escape(value), "row 3|line 4", "correct|--na")


def test_a_column_of_nothing_but_nan_is_no_category(tmp_path):
    refused(save(tmp_path / "t.csv", "age,d\nnan,x\nnan,y\n"), r"t\.csv", "'age'", "nan", "correct|--na|leave")


def test_frames_with_nan_or_inf_are_refused_by_column_and_row():
    values = ["x", "y", "x"]
    refused(pl.DataFrame({"age": [20.0, float("nan"), 40.0], "d": values}), "'age'", "nan", "row 2", "correct|--na")
    refused(pd.DataFrame({"age": [20.0, float("inf"), 40.0], "d": values}), "'age'", "inf", "row 2", "correct|--na")


def test_nan_declared_as_missing_is_missing(tmp_path):
    path = save(tmp_path / "t.csv", "age,d\n20,x\nNaN,x\n21,y\nNaN,y\n")
    assert published(path, tmp_path, na=["NaN"])[1] == [["", "x"], ["", "y"], ["20-21", "x"], ["20-21", "y"]]
    made = pl.DataFrame({"age": [20.0, float("nan"), 21.0, float("nan")], "d": ["x", "x", "y", "y"]})
    assert published(made, tmp_path, na=["nan"])[1] == [["", "x"], ["", "y"], ["20-21", "x"], ["20-21", "y"]]


def test_a_value_outside_the_domain_is_named_with_row_and_count(tmp_path):
    path = save(tmp_path / "t.csv", "age,d\n20,x\n99,y\n30,x\n99,y\n98,y\n")
    domain = {"age": {"type": "numeric", "lower": 0, "upper": 50}}
    message = refused(path, r"t\.csv", "'age'", "0 to 50", r"\b3 rows", "add|correct|--na", hierarchies=domain)
    assert ("'99'" in message and "row 2" in message) or ("'98'" in message and "row 5" in message)
    refused(path, r"t\.csv", "'d'", "'y'", "row 2", "add|correct|--na", hierarchies={"d": ["x", "z"]})


def test_huge_whole_numbers_are_read_or_refused_with_a_remedy(tmp_path):
    path = save(tmp_path / "t.csv", f"age,d\n{10**17},x\n{10**17 + 1},y\n2,x\n")
    try:
        table = sfumato.read(path, quasi="age", sensitive="d")
    except sfumato.BadInputError as error:
        assert re.search("'age'", str(error)) and re.search("resolution|--hierarchies|--neutral", str(error))
    else:
        assert table.cells.records == 3


# ---------------------------------------------------------------- writing: all or nothing


def release_of(tmp_path, **how):
    return sfumato.anonymize(sfumato.read(save(tmp_path / "t.csv", PLAIN), quasi="age", sensitive="d"), **how)


def test_an_existing_file_is_kept_without_force(tmp_path, out):
    release = release_of(tmp_path, require="k-anonymity k=2")
    for name, write in (("o.csv", release.to_csv), ("o.parquet", release.to_parquet)):
        save(out / name, "precious")
        with pytest.raises(sfumato.BadInputError, match=rf"{name}.*exists.*--force"):
            write(out / name)
        assert (out / name).read_text() == "precious"
        write(out / name, force=True)
        assert (out / name).read_bytes() != b"precious"
    assert sorted(path.name for path in out.iterdir()) == ["o.csv", "o.parquet"]


def test_a_name_that_is_a_folder_or_in_a_file_is_refused(tmp_path, out):
    release = release_of(tmp_path, require="k-anonymity k=2")
    (out / "file").touch()
    for force in (False, True):
        with pytest.raises(sfumato.BadInputError, match="out"):
            release.to_csv(out, force=force)
        with pytest.raises(sfumato.BadInputError, match=r"is a file, not a folder"):
            release.to_csv(out / "file" / "o.csv", force=force)
    assert list(out.iterdir()) == [out / "file"]


def test_a_parquet_file_is_not_given_the_name_of_a_csv(tmp_path, out):
    release = release_of(tmp_path, require="k-anonymity k=2")
    with pytest.raises(sfumato.BadInputError, match=r"o\.csv"):
        release.to_parquet(out / "o.csv")
    with pytest.raises(sfumato.BadInputError, match=r"o\.parquet"):
        release.to_csv(out / "o.parquet")
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("name", ["o.csv", "o.parquet"])
def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(tmp_path, out, monkeypatch, name):
    release = release_of(tmp_path, require="k-anonymity k=2")
    save(out / name, "precious")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    write = release.to_csv if name == "o.csv" else release.to_parquet
    with pytest.raises(sfumato.BadInputError, match=rf"{re.escape(name)}.*No space left"):
        write(out / name, force=True)
    assert {path.name: path.read_text() for path in out.iterdir()} == {name: "precious"}


def test_a_failure_of_the_engine_leaves_nothing(tmp_path, out, monkeypatch):
    release = release_of(tmp_path, require="k-anonymity k=2", form="bucketization")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(DuckDBEngine, "write", fail)
    with pytest.raises(sfumato.BadInputError, match="No space left"):
        release.to_csv(out / "o.csv")
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("name", ["o.csv", "o.parquet"])
def test_a_full_disk_is_said_and_nothing_is_left(tmp_path, out, name):
    path = tmp_path / "big.csv"
    with path.open("w") as file:
        file.write("age,d,n\n")
        file.writelines(f"{20 + i % 50},{i % 7},{(i * 2654435761) % 2**32:032x}\n" for i in range(60_000))
    save(out / name, "precious")
    limit = 400_000

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    words = ["--quasi", "age", "--sensitive", "d", "--neutral", "n", "--require", "k-anonymity k=2", "--force"]
    command = [sys.executable, "-m", "sfumato.commands.app", "anonymize", str(path), *words, "--to", str(out / name)]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=small_files)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and "should not have happened" not in done.stderr
    assert name in done.stderr
    assert {path.name: path.read_text() for path in out.iterdir()} == {name: "precious"}


def test_a_written_csv_is_plain(tmp_path, out):
    path = save(tmp_path / "t.csv", 'age;d;n\n20;"a, b";"say ""hi"""\n20;é;"two\nlines"\n'.encode("latin-1"))
    table = sfumato.read(path, quasi="age", sensitive="d", neutral="n", encoding="latin-1")
    written = sfumato.anonymize(table, "k-anonymity k=2").to_csv(out / "o.csv")[0]
    content = written.read_bytes()
    assert not content.startswith(b"\xef\xbb\xbf") and "é" in content.decode("utf-8")
    assert read_csv(written) == (["age", "d", "n"], [["20", "a, b", 'say "hi"'], ["20", "é", "two\nlines"]])


@pytest.mark.parametrize("force", [False, True])
def test_a_table_is_never_replaced_by_its_own_release(tmp_path, force):
    path = save(tmp_path / "t.csv", PLAIN)
    release = sfumato.anonymize(sfumato.read(path, quasi="age", sensitive="d"), "k-anonymity k=2")
    with pytest.raises(sfumato.BadInputError, match="the table itself"):
        release.to_csv(path, force=force)
    assert path.read_text() == PLAIN
