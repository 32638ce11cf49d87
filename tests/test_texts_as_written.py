"""What is written is what is read: no text of ours is ever taken for a number, a truth or a missing value again."""

import csv
import json
import shlex
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from command_line import run
from sfumato import Candidate, audit
from sfumato.engines._text_files import escaped, formula_notice, is_formula, unescaped
from sfumato.publish.publication import Origin, Publishable, written_formulas

NASTY = [
    *("01", "1", "TRUE", "true", "nan", "NaN", "null", "None", " 1", "1 ", "1.0", "1e0", "-0", "+0", "0x1", "inf"),
    *("2020-01-01", "9007199254740993", "9007199254740992.0", "NA", "a,b", 'say "x"', "two\nlines", "a\rb", "\rq"),
    *("é", "=1+1", "'=1+1", "''=1+1", "@x", "-x", "\tx", "-5..-1", "-5", "'", "'x", '=HYPERLINK("http://x","y")'),
]


def table_of(texts):
    """Every text stands in every column, twice."""
    frame = pa.table({"q": texts * 2, "s": [*texts[1:], texts[0]] * 2, "n": [*texts[2:], *texts[:2]] * 2})
    flat = {"type": "flat"}  # nothing is taken for numbers, among which NaN would be refused
    return sfumato.read(frame, quasi="q", sensitive="s", neutral="n", hierarchies={"q": flat, "s": flat})


def read(path, escape=False):
    """Read the columns of a file by means that are not ours."""
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        return {name: table.column(name).to_pylist() for name in table.column_names}
    with path.open(newline="", encoding="utf-8") as stream:
        head, *rows = csv.reader(stream)
    unmarked = [[unescaped(cell) if escape else cell for cell in row] for row in rows]
    return dict(zip(head, map(list, zip(*unmarked, strict=True)), strict=True))


@pytest.mark.parametrize("escape", [False, True])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("form", ["generalization", "bucketization"])
@settings(max_examples=6, deadline=None)
@given(texts=st.lists(st.sampled_from(NASTY), min_size=3, max_size=12, unique=True))
def test_every_text_is_written_and_audited_as_it_is(tmp_path_factory, texts, form, ending, escape):
    if escape and ending == "parquet":
        return
    table, path = table_of(texts), tmp_path_factory.mktemp("o") / f"o.{ending}"
    wanted = sfumato.requirement("k-anonymity k=3")
    release = sfumato.anonymize(table, wanted, form=form)
    if ending == "csv":
        files = release.to_csv(path, escape_formulas=escape)
    else:
        files = release.to_parquet(path)
    columns = read(path, escape)
    for name in ("s", "n", *(["q"] if form == "bucketization" else [])):
        assert Counter(columns[name]) == Counter(texts * 2), name
    made = Candidate(sfumato.anonymizer("mondrian"), wanted, form)
    found = Publishable(release, made, path, Origin("", ""), escape_formulas=escape).verify(files)
    assert found.coverage.holds
    if escape:
        assert not any(is_formula(cell) for file in files for own in read(file).values() for cell in own)


# -- formulas ----------------------------------------------------------------------------------------------------------


@given(st.text(alphabet="'=+-@\t\r\n15.,e%a ", max_size=6), st.text(alphabet="'=+-@\t\r\n15.,e%a ", max_size=6))
def test_escaping_is_undone_and_never_makes_two_texts_one(one, other):
    assert unescaped(escaped(one)) == one
    assert not is_formula(escaped(one))
    assert (escaped(one) == escaped(other)) == (one == other)


def test_numbers_with_a_sign_and_ranges_are_no_formulas():
    harmless = [
        "-5",
        "-5..-1",
        "-1.5..+2",
        "+3",
        "-1e-5",
        "-1,5",
        "-5%",
        "20-29",
        "{-1, -2}",
        "*",
        "-",
        "a=b",
        "",
        "'=1",
    ]
    assert [text for text in harmless if is_formula(text)] == []
    assert all(map(is_formula, ["=1", "+A1", "-A1", "@x", "\tx", "\rx", "=", "-5+cmd", "-5..x", "+49 170", "--1"]))


def test_formulas_are_counted_by_column_the_name_too(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("=h,b,c\n=1,-5,x\n@a,-a,'=1\n")
    assert written_formulas([path], False) == {"=h": 3, "b": 1}
    assert "'=h' 3, 'b' 1" in formula_notice({"=h": 3, "b": 1}, False)[0]


def ended(*words):
    """Run a command; how it ended, and everything that it said."""
    done = run(*words)
    return done.returncode, done.stdout + done.stderr


STUDY = """
name = "nasty"
axes = ["k", "loss"]
[table]
source = "t.csv"
quasi = ["age"]
sensitive = ["d"]
[[candidates]]
requirements = ["k-anonymity k=3"]
forms = ["generalization", "bucketization"]
"""
BASKETS = """
name = "sets"
axes = ["itemset_risk", "ul"]
[baskets]
source = "b.csv"
[[candidates]]
anonymizers = ["coat"]
requirements = ["km-anonymity k=2 m=1"]
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = ("=1+1", "01", "'=1+1", "-5")
    (tmp_path / "t.csv").write_text("age,d\n" + "".join(f"{-20 + i % 6},{values[i % 4]}\n" for i in range(36)))
    (tmp_path / "b.csv").write_text("".join(f"{'=a' if i % 2 else '@b'},c\n" for i in range(12)))
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "sets.toml").write_text(BASKETS)
    return tmp_path


@pytest.mark.parametrize("kind", ["study", "sets"])
def test_release_tells_of_formulas_and_escapes_them_and_the_certificates_command_still_finds_all_rows(here, kind):
    code, said = ended("explore", f"{kind}.toml", "--out", "map")
    assert code == 0, said
    for point in json.loads(Path("map/points.json").read_text())["points"]:
        words = ["release", "map", "--point", point["id"], "--to", "r.csv", "--force"]
        code, said = ended(*words)
        assert code == 0 and "--set escape-formulas" in said and ("'d' 9" in said or "'items' 12" in said), said
        code, said = ended(*words, "--set", "escape-formulas=yes")
        assert code == 0 and "with ' in front" in said, said
        with Path("r.csv").open(newline="") as stream:
            assert not any(is_formula(cell) for row in csv.reader(stream) for cell in row)
        for name in ("certificate", "certificate-public"):
            content = json.loads(Path(f"r.csv.{name}.json").read_text())
            assert content["formulas"]["escaped"] is True
            assert "in front" in Path(f"r.csv.{name}.html").read_text()
            code, said = ended(*content["verify"][1:])
            assert code == 0 and "NOT COVERED" not in said, shlex.join(content["verify"])


def test_anonymize_tells_of_formulas_and_escapes_them(here):
    words = ["anonymize", "t.csv", "--quasi", "age", "--sensitive", "d", "--require", "k-anonymity k=3"]
    code, said = ended(*words, "--to", "a.csv")
    assert code == 0 and "'d' 9" in said and "'age'" not in said
    code, said = ended(*words, "--to", "escaped.csv", "--set", "escape-formulas=yes")
    assert code == 0 and "'d' 18" in said
    assert Counter(read(Path("escaped.csv"), True)["d"]) == Counter(read(Path("a.csv"))["d"])
    code, said = ended(*words, "--to", "c.parquet", "--set", "escape-formulas=yes")
    assert code == 2 and "leave it out" in said
    plain = audit("escaped.csv", ["age"], ["d"], escaped_formulas=True)
    assert plain.measures == audit("a.csv", ["age"], ["d"]).measures
    with pytest.raises(sfumato.BadInputError, match="not written with --escape-formulas"):
        audit("a.csv", ["age"], ["d"], escaped_formulas=True)
