"""The command line: what it prints where, how it ends, and that nobody ever sees a traceback."""

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from independent_checker import measures, read_rows, uncovered, violations
from sfumato.commands import COMMANDS
from sfumato.commands import app as cli
from sfumato.commands._options import help_texts

RECORDS = [
    # age, zip, disease, name, the column "a,b"
    ("21", "81001", "flu", "Ann", "1"),
    ("22", "81001", "cold", "Bob", "2"),
    ("23", "81002", "flu", "Cid", "1"),
    ("24", "81002", "cold", "Dan", "2"),
    ("65", "99001", "flu", "Eve", "1"),
    ("66", "99001", "cold", "Fay", "2"),
    ("67", "99002", "flu", "Gus", "1"),
    ("68", "99002", "cold", "Hal", "2"),
]
HEADER = ["age", "zip", "disease", "name", "a,b"]
K2 = ["--require", "k-anonymity k=2"]
DISTINCT = "l-diversity l=2 variant=distinct"
USUAL = ["--quasi", "age,zip", "--sensitive", "disease", *K2]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder of its own with a small table."""
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([HEADER, *RECORDS])
    return tmp_path


class Ended:
    """How a run of the command line ended."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


def sfumato(*words):
    """Run the command line in this process, through `main`, as the installed script does."""
    runner = CliRunner()
    result = runner.invoke(_Main(), list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ended(result.exit_code, result.stdout, result.stderr)


class _Main:
    """What CliRunner wants of a command, around `sfumato.commands.app.main`."""

    name = "sfumato"

    def main(self, args=None, prog_name=None, **_):
        before = sys.argv
        sys.argv = ["sfumato", *args]
        try:
            cli.main()
        finally:
            sys.argv = before


@pytest.fixture(autouse=True)
def plain_runner(monkeypatch):
    """CliRunner asks typer for the click command; ours is one already."""
    monkeypatch.setattr("typer.testing._get_command", lambda app: app)


def anonymized(*words, to="o.csv"):
    """Anonymize t.csv, expect success, and return what --json says."""
    ended = sfumato("anonymize", "t.csv", "--to", to, "--json", *words)
    assert ended.code == 0, ended.err
    return json.loads(ended.out), ended


def original():
    return [dict(zip(HEADER, record, strict=True)) for record in RECORDS]


# ---------------------------------------------------------------- how it ends


def test_done_is_0_with_the_headline_measures_in_words(here):
    ended = sfumato("anonymize", "t.csv", *USUAL, "--to", "o.csv")
    assert ended.code == 0
    assert "o.csv" in ended.out and "8 records" in ended.out and "k-anonymity k=2" in ended.out
    assert len(read_rows(here / "o.csv")) == 8
    for name in ("k", "prosecutor", "l_frequency", "p_loss", "a_acc", "loss", "suppressed"):
        assert f"  {name} " in ended.out
    assert "  t_js " not in ended.out and "more measures: add --json" in ended.out and "{" not in ended.out


@pytest.mark.parametrize(
    ("require", "feasible"),
    [
        ("k-anonymity k=9", "k=8"),
        ("l-diversity l=3 variant=distinct", "l=2"),
        ("l-diversity l=2.5 variant=frequency", "l=2"),
        ("l-diversity l=2.5 variant=entropy", "l=2"),
        ("k-anonymity k=2 & l-diversity l=3 variant=distinct", "l=2"),
        ("alpha-k alpha=0.4 k=2", "alpha=0.5"),
        ("l-diversity l=2 variant=recursive c=0.5", "c=1"),
        ("k-anonymity k=99999999999999999999", "k=8"),
    ],
)
def test_infeasible_is_1_and_says_what_would_be_feasible(here, require, feasible):
    words = ["--quasi", "age,zip", "--sensitive", "disease", "--require", require]
    ended = sfumato("anonymize", "t.csv", *words, "--to", "o.csv")
    assert ended.code == 1
    assert ended.out == ""
    assert ended.err.startswith("sfumato: ") and ended.err.count("\n") == 1
    assert "feasible" in ended.err and feasible in ended.err
    assert not (here / "o.csv").exists()


def test_what_is_said_to_be_feasible_is(here):
    ended = sfumato("anonymize", "t.csv", *USUAL[:4], "--require", "k-anonymity k=8", "--to", "o.csv")
    assert ended.code == 0
    words = ["--require", "l-diversity l=2 variant=entropy"]
    assert sfumato("anonymize", "t.csv", *USUAL[:4], *words, "--to", "o2.csv").code == 0


def test_infeasible_keeps_the_old_file(here):
    (here / "o.csv").write_text("precious")
    words = [*USUAL[:4], "--require", "k-anonymity k=9", "--to", "o.csv", "--force"]
    assert sfumato("anonymize", "t.csv", *words).code == 1
    assert (here / "o.csv").read_text() == "precious"
    assert sorted(path.name for path in here.iterdir()) == ["o.csv", "t.csv"]


NONSENSE = {
    "no words but one": ["nonsense"],
    "an unknown option": ["anonymize", "t.csv", *USUAL, "--to", "o.csv", "--sensitve", "x"],
    "no table": ["anonymize"],
    "no target": ["anonymize", "t.csv", *USUAL],
    "no requirement": ["anonymize", "t.csv", "--quasi", "age", "--to", "o.csv"],
    "no quasi-identifier": ["anonymize", "t.csv", *K2, "--to", "o.csv"],
    "a comma for quasi-identifiers": ["anonymize", "t.csv", *K2, "--quasi", ",", "--to", "o.csv"],
    "two tables": ["anonymize", "t.csv", "t.csv", *USUAL, "--to", "o.csv"],
    "a table that is not there": ["anonymize", "nope.csv", *USUAL, "--to", "o.csv"],
    "a table with no name": ["anonymize", "", *USUAL, "--to", "o.csv"],
    "a folder without a table": ["anonymize", "nothing", *USUAL, "--to", "o.csv"],
    "a bundled name misspelt": ["anonymize", "adullt", *K2, "--to", "o.csv"],
    "an unknown column": ["anonymize", "t.csv", *K2, "--quasi", "agee", "--to", "o.csv"],
    "two roles": ["anonymize", "t.csv", *USUAL, "--neutral", "age", "--to", "o.csv"],
    "an unknown form": ["anonymize", "t.csv", *USUAL, "--form", "cubism", "--to", "o.csv"],
    "an unknown layout": ["anonymize", "t.csv", *USUAL, "--set", "layout=x", "--to", "o.csv"],
    "an unknown anonymizer": ["anonymize", "t.csv", *USUAL, "--with", "magic", "--to", "o.csv"],
    "an anonymizer with an unknown key": ["anonymize", "t.csv", *USUAL, "--with", "mondrian x=1", "--to", "o.csv"],
    "an anonymizer with no name": ["anonymize", "t.csv", *USUAL, "--with", "", "--to", "o.csv"],
    "a share above 1": ["anonymize", "t.csv", *USUAL, "--suppress", "2", "--to", "o.csv"],
    "a share that is no number": ["anonymize", "t.csv", *USUAL, "--suppress", "some", "--to", "o.csv"],
    "a share of NaN": ["anonymize", "t.csv", *USUAL, "--suppress", "nan", "--to", "o.csv"],
    "an empty requirement": ["anonymize", "t.csv", "--quasi", "age", "--require", "", "--to", "o.csv"],
    "an unfinished requirement": ["anonymize", "t.csv", *USUAL[:2], "--require", "k-anonymity k=2 &", "--to", "o"],
    "a requirement without its key": ["anonymize", "t.csv", *USUAL[:2], "--require", "k-anonymity", "--to", "o.csv"],
    "k=0": ["anonymize", "t.csv", "--quasi", "age", "--require", "k-anonymity k=0", "--to", "o.csv"],
    "k=2.5": ["anonymize", "t.csv", "--quasi", "age", "--require", "k-anonymity k=2.5", "--to", "o.csv"],
    "diversity of nothing": ["anonymize", "t.csv", *USUAL[:2], "--require", DISTINCT, "--to", "o.csv"],
    "no variant": ["anonymize", "t.csv", *USUAL[:4], "--require", "l-diversity l=2", "--to", "o.csv"],
    "missing=any": ["anonymize", "t.csv", *USUAL, "--set", "missing=any", "--to", "o.csv"],
    "missing=nonsense": ["anonymize", "t.csv", *USUAL, "--set", "missing=nonsense", "--to", "o.csv"],
    "no hierarchies there": ["anonymize", "t.csv", *USUAL, "--hierarchies", "nowhere", "--to", "o.csv"],
    "a folder without hierarchies": ["anonymize", "t.csv", *USUAL, "--hierarchies", ".", "--to", "o.csv"],
    "hierarchies that are none": ["anonymize", "t.csv", *USUAL, "--hierarchies", "t.csv", "--to", "o.csv"],
    "two characters as delimiter": ["anonymize", "t.csv", *USUAL, "--delimiter", "||", "--to", "o.csv"],
    "a wrong delimiter": ["anonymize", "t.csv", *USUAL, "--delimiter", ";", "--to", "o.csv"],
    "an unknown encoding": ["anonymize", "t.csv", *USUAL, "--set", "encoding=klingon", "--to", "o.csv"],
    "an unknown ending": ["anonymize", "t.csv", *USUAL, "--to", "o.xls"],
    "a folder as target": ["anonymize", "t.csv", *USUAL, "--to", "."],
    "no name for the target": ["anonymize", "t.csv", *USUAL, "--to", ""],
    "a target in a file": ["anonymize", "t.csv", *USUAL, "--to", "t.csv/o.csv"],
    "an existing target": ["anonymize", "t.csv", *USUAL, "--to", "t.csv"],
    "datasets of something": ["datasets", "all"],
}


@pytest.mark.parametrize("words", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_2_with_a_sentence_and_no_traceback(here, words):
    (here / "nothing").mkdir()
    ended = sfumato(*words)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.strip()
    assert "Traceback" not in ended.err and "should not have happened" not in ended.err
    assert sorted(path.name for path in here.iterdir()) == ["nothing", "t.csv"]
    assert not list((here / "nothing").iterdir())


def test_a_message_names_what_was_typed():
    assert "magic" in sfumato(*NONSENSE["an unknown anonymizer"]).err
    assert "mondrian" in sfumato(*NONSENSE["an unknown anonymizer"]).err
    assert "nonsense" in sfumato(*NONSENSE["missing=nonsense"]).err
    assert "'agee'" in sfumato(*NONSENSE["an unknown column"]).err
    assert "||" in sfumato(*NONSENSE["two characters as delimiter"]).err
    assert "another name" in sfumato(*NONSENSE["an existing target"]).err
    assert "adult" in sfumato(*NONSENSE["a bundled name misspelt"]).err.replace("adullt", "")


def test_hierarchies_that_are_no_tables_are_bad_input(here):
    (here / "h.toml").write_text("age = 3\n")
    ended = sfumato("anonymize", "t.csv", *USUAL, "--hierarchies", "h.toml", "--to", "o.csv")
    assert ended.code == 2
    assert "h.toml" in ended.err or "'age'" in ended.err
    assert "should not have happened" not in ended.err


def test_the_installed_script_ends_the_same_way(here):
    def run(*words):
        command = [sys.executable, "-m", "sfumato.commands.app", *words]
        return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"COLUMNS": "200"})

    done = run("anonymize", "t.csv", *USUAL, "--to", "o.csv", "--json")
    assert (done.returncode, json.loads(done.stdout)["records"]) == (0, 8)
    bad = run("anonymize", "nope.csv", *USUAL, "--to", "o3.csv")
    assert (bad.returncode, bad.stdout, bad.stderr) == (2, "", "sfumato: nope.csv: there is no such file\n")
    assert "Traceback" not in done.stderr + bad.stderr


def test_an_existing_target_is_kept_until_forced(here):
    (here / "o.csv").write_text("precious")
    assert sfumato("anonymize", "t.csv", *USUAL, "--to", "o.csv").code == 2
    assert (here / "o.csv").read_text() == "precious"
    assert sfumato("anonymize", "t.csv", *USUAL, "--to", "o.csv", "--force").code == 0
    assert len(read_rows(here / "o.csv")) == 8


def test_a_broken_table_is_not_looked_at_before_a_bad_requirement(here):
    (here / "broken.csv").write_text('a,b\n1,"2\n')
    assert (
        "klingon-anonymity" in sfumato("anonymize", "broken.csv", "--require", "klingon-anonymity", "--to", "o.csv").err
    )


# ---------------------------------------------------------------- what it prints


def test_json_is_all_there_is_on_stdout_and_columns_that_are_not_listed_are_dropped_with_a_notice(here):
    said, ended = anonymized(*USUAL)
    assert said["schema"] == 1
    assert said["records"] == 8 and said["dropped"] == 0 and said["suppressed"] == 0
    assert said["requirement"] == "k-anonymity k=2" and said["anonymizer"] == "mondrian"
    assert said["files"][:1] == ["o.csv"]
    assert len(said["notices"]) == 1 and "not published" in ended.err
    assert "note: " in ended.err and "'name', 'a,b'" in ended.err and "--neutral" in ended.err
    assert list(read_rows(here / "o.csv")[0]) == ["age", "zip", "disease"]
    assert not any(record[3] in (here / "o.csv").read_text() for record in RECORDS)


def test_json_measures_are_those_of_the_file_whose_boxes_cover_its_records(here):
    said, _ = anonymized(*USUAL, "--hierarchies", flat_zip(here))
    found = measures(here / "o.csv", quasi=["age", "zip"], sensitive="disease", original=original())
    for name, value in found.items():
        assert said["measures"][name] == pytest.approx(value), name
    assert said["groups"] == len({(row["age"], row["zip"]) for row in read_rows(here / "o.csv")})
    level_table = {"zip": [[zip_code, "*"] for zip_code in ("81001", "81002", "99001", "99002")]}
    how = {"quasi": ["age", "zip"], "original": original()}
    assert violations(here / "o.csv", "k-anonymity k=2", sensitive="disease", **how) == []
    assert uncovered(here / "o.csv", numeric=["age"], level_tables=level_table, **how) == []


def flat_zip(here):
    (here / "h.toml").write_text('[zip]\ntype = "flat"\n')
    return "h.toml"


def test_infinities_are_the_text_inf(here):
    (here / "t.csv").write_text("age,d\n1,x\n1,x\n2,y\n2,y\n")
    said, ended = anonymized("--quasi", "age", "--sensitive", "d", *K2)
    assert said["measures"]["delta"] == "inf"
    assert said["by_sensitive"]["d"]["delta"] == "inf"
    assert "Infinity" not in ended.out and "NaN" not in ended.out


def test_missing_and_suppressed_records_are_said(here):
    (here / "t.csv").write_text("age,d\n1,x\n1,y\n2,x\n2,y\n,x\n9,y\n")
    said, _ = anonymized("--quasi", "age", "--sensitive", "d", *K2, "--set", "missing=drop", "--suppress", "0.2")
    assert said["dropped"] == 1 and said["records"] == 5
    assert said["suppressed"] + len(read_rows(here / "o.csv")) == 5


def test_na_may_be_repeated(here):
    (here / "t.csv").write_text("age,d\n1,x\n1,y\n?,x\nNA,y\n")
    anonymized("--quasi", "age", "--sensitive", "d", *K2, "--set", "na=?", "--set", "na=NA")
    assert Counter(row["age"] for row in read_rows(here / "o.csv")) == {"1": 2, "": 2}


# ---------------------------------------------------------------- columns


def test_columns_repeat_or_stand_in_a_comma_list(here):
    one, _ = anonymized("--quasi", "age, zip", "--sensitive", "disease", *K2, to="one.csv")
    two, _ = anonymized("--quasi", "age", "--quasi", "zip", "--sensitive", "disease", *K2, to="two.csv")
    assert one["measures"] == two["measures"]
    assert (here / "one.csv").read_bytes() == (here / "two.csv").read_bytes()


def test_a_comma_list_is_split_only_where_no_column_has_the_whole_name(here):
    anonymized("--quasi", "age,zip", "--quasi", "a,b", *K2, "--sensitive", "disease", to="more.csv")
    anonymized("--quasi", "a,b", "--sensitive", "disease", *K2, "--neutral", "age,zip")
    for name in ("more.csv", "o.csv"):
        assert list(read_rows(here / name)[0]) == ["age", "zip", "disease", "a,b"]
    assert Counter(row["a,b"] for row in read_rows(here / "o.csv")) == {"1": 4, "2": 4}


def test_neutral_columns_are_published_as_they_are_and_identifiers_never(here):
    _, ended = anonymized(*USUAL, "--neutral", "a,b", "--identifier", "name")
    assert list(read_rows(here / "o.csv")[0]) == ["age", "zip", "disease", "a,b"]
    assert "note:" not in ended.err
    assert Counter(row["a,b"] for row in read_rows(here / "o.csv")) == {"1": 4, "2": 4}


def test_repeated_identifiers_are_reported(here):
    (here / "t.csv").write_text("who,age,d\nAnn,1,x\nAnn,1,y\nBob,2,x\nCid,2,y\n")
    _, ended = anonymized("--quasi", "age", "--sensitive", "d", "--identifier", "who", *K2)
    assert "'who'" in ended.err and "1 of 3" in ended.err


# ---------------------------------------------------------------- forms and layouts


@pytest.mark.parametrize("mode", ["strict", "relaxed"])
@pytest.mark.parametrize("ranges", ["tight", "rounded", "node", "region"])
def test_every_way_of_mondrian(here, mode, ranges):
    said, _ = anonymized(*USUAL, "--hierarchies", flat_zip(here), "--with", f"mondrian mode={mode} ranges={ranges}")
    how = {"quasi": ["age", "zip"], "original": original()}
    assert violations(here / "o.csv", "k-anonymity k=2", sensitive="disease", **how) == []
    assert said["groups"] >= 2


def test_bucketization_as_rows(here):
    require = ["--require", "l-diversity l=2 variant=distinct"]
    said, _ = anonymized(*USUAL[:4], *require, "--form", "bucketization")
    assert list(read_rows(here / "o.csv")[0]) == ["age", "zip", "disease", "group"]
    how = {"quasi": ["age", "zip"], "sensitive": "disease", "original": original(), "group": "group"}
    assert violations(here / "o.csv", require[1], **how) == []
    assert uncovered(here / "o.csv", **how) == []
    assert said["measures"]["k"] == 1, "quasi-identifiers are exact, and every record is alone"


def test_bucketization_says_that_identity_is_not_hidden(here):
    ended = sfumato("anonymize", "t.csv", *USUAL, "--form", "bucketization", "--to", "o.csv")
    assert "does not hide" in ended.out and "bucket size" in ended.out


def test_a_release_without_quasi_identifiers(here):
    anonymized(*USUAL, "--with", "without-quasi")
    assert {(row["age"], row["zip"]) for row in read_rows(here / "o.csv")} == {("*", "*")}
    assert Counter(row["disease"] for row in read_rows(here / "o.csv")) == {"flu": 4, "cold": 4}


def test_a_release_without_sensitive_values(here):
    words = ["--quasi", "age,zip", "--sensitive", "disease", "--require", "k-anonymity k=1"]
    said, _ = anonymized(*words, "--with", "without-sensitive")
    assert [sorted(row.items()) for row in sorted(read_rows(here / "o.csv"), key=lambda row: row["age"])] == [
        [("age", record[0]), ("zip", record[1])] for record in RECORDS
    ]
    assert said["measures"]["loss"] == 0


def test_parquet_has_the_same_records_as_csv(here):
    for words in ([], ["--form", "bucketization"]):
        anonymized(*USUAL, *words, "--force", to="o.csv")
        anonymized(*USUAL, *words, "--force", to="o.parquet")
        rows = pq.read_table(here / "o.parquet").to_pylist()
        as_text = [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows]
        key = str
        assert sorted(as_text, key=key) == sorted(read_rows(here / "o.csv"), key=key)


def test_several_sensitive_columns_want_on(here):
    words = ["--quasi", "age", "--sensitive", "disease", "--sensitive", "a,b"]
    ended = sfumato("anonymize", "t.csv", *words, "--require", "l-diversity l=2 variant=distinct", "--to", "o.csv")
    assert ended.code == 2 and "on=" in ended.err
    require = 'k-anonymity k=2 & l-diversity l=2 variant=distinct on="a,b"'
    said, _ = anonymized(*words, "--require", require)
    assert set(said["by_sensitive"]) == {"disease", "a,b"}
    how = {"quasi": ["age"], "sensitive": ["disease", "a,b"], "original": original()}
    assert violations(here / "o.csv", require, **how) == []


def test_repeated_requirements_are_joined(here):
    said, _ = anonymized(*USUAL, "--require", "l-diversity l=2 variant=distinct")
    assert said["requirement"] == "k-anonymity k=2 & l-diversity l=2 variant=distinct"
    assert said["measures"]["k"] >= 2 and said["measures"]["l_distinct"] == 2


def test_a_file_named_like_a_bundled_table_is_that_file(here):
    (here / "t.csv").rename(here / "adult")
    ended = sfumato("anonymize", "adult", *USUAL, "--to", "o.csv", "--json")
    assert json.loads(ended.out)["records"] == 8


def test_level_tables_in_a_folder_are_used(here):
    (here / "levels").mkdir()
    rows = "".join(f"{code};{code[:2]};*\n" for code in ("81001", "81002", "99001", "99002"))
    (here / "levels" / "t_hierarchy_zip.csv").write_text(rows)
    anonymized("--quasi", "zip", "--sensitive", "disease", "--require", "k-anonymity k=4", "--hierarchies", "levels")
    assert Counter(row["zip"] for row in read_rows(here / "o.csv")) == {"81": 4, "99": 4}


# ---------------------------------------------------------------- help and data sets


def test_help_mentions_every_option(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    ended = sfumato("anonymize", "--help")
    assert ended.code == 0
    wanted = "--quasi --sensitive --neutral --identifier --require --with --form --suppress --hierarchies --to --json"
    for option in [*wanted.split(), "--force", "--set", "--delimiter"]:
        assert option in ended.out, option


@pytest.mark.parametrize("command", [each.__name__ for each in COMMANDS])
def test_no_command_has_more_than_25_options(monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "100")
    shown = sfumato(command, "--help").out
    named = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", shown))
    assert len(named) <= 25 and len(shown.splitlines()) <= 70 and command in sfumato("--help").out


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--set", "layot=x"], "there is no setting 'layot' here; known are as-written, column, columns, dates"),
        (["--set", "header"], "--set header=VALUE: Whether the first record is the names"),
        (["--set", "header=perhaps"], "yes or no is expected"),
        (["--set", "header-row=two"], "a whole number is expected"),
        (["--set", "encoding=a", "--set", "encoding=b"], "encoding is given twice"),
        (["--layout", "long"], "layout is a setting now, not an option: write --set layout=VALUE"),
        (["--no-header"], "no-header is a setting now, not an option: write --set header=no"),
    ],
)
def test_a_setting_that_is_wrong_or_spelled_as_before_is_refused_with_the_right_one(here, given, says):
    ended = sfumato("anonymize", "t.csv", *USUAL, "--to", "o.csv", *given)
    assert ended.code == 2 and says in " ".join(ended.err.split()) and not (here / "o.csv").exists()


def test_datasets_lists_the_bundled_tables():
    ended = sfumato("datasets")
    assert ended.code == 0
    assert "45,222" in ended.out and "30,162" in ended.out
    listed = json.loads(sfumato("datasets", "--json").out)
    assert listed["schema"] == 1
    assert {item["name"]: item["records"] for item in listed["datasets"]}.items() >= {
        "adult": 45_222,
        "adult-train": 30_162,
    }.items()
    assert all(item["quasi"] and item["sensitive"] for item in listed["datasets"])


def test_a_bundled_table_needs_no_columns(here):
    ended = sfumato("anonymize", "adult-train", "--require", "k-anonymity k=10", "--to", "o.csv", "--json")
    said = json.loads(ended.out)
    assert said["records"] == 30_162 and said["table"] == "adult-train"
    rows = read_rows(here / "o.csv")
    assert len(rows) == 30_162
    quasi = ["age", "workclass", "education", "marital-status", "race", "sex"]
    assert min(Counter(tuple(row[name] for name in quasi) for row in rows).values()) == said["measures"]["k"] >= 10


PARSERS = typer.main.get_command(cli.app).commands


@pytest.mark.parametrize("name", PARSERS)
def test_help_has_at_most_ten_options_first_and_an_example_that_is_accepted(name):
    command = PARSERS[name]
    first = [each for each in command.params if each.param_type_name == "option" and each.rich_help_panel is None]
    assert len(first) <= 10
    program, called, *words = shlex.split(help_texts()["example"][name])
    assert (program, called) == ("sfumato", name) and command.epilog.endswith(help_texts()["example"][name])
    assert command.make_context(name, words).params.keys() == {
        each.name for each in command.params if each.name != "help"
    }


def test_the_shell_completes_commands(here):
    asked = {"_SFUMATO_COMPLETE": "complete_bash", "COMP_WORDS": "sfumato ch", "COMP_CWORD": "1"}
    script = Path(sys.executable).with_name("sfumato")
    done = subprocess.run([script], capture_output=True, text=True, cwd=here, env={**os.environ, **asked})
    assert done.stdout.split() == ["check", "choose"]
