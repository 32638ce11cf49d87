"""The command that a report shows for a point makes the very bytes that `release` publishes of that point."""

import csv
import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import openpyxl
import pytest
import tomlkit

import command_line
from sfumato import TableDeclaration, read_map
from sfumato.data.declaration import ATTRIBUTES, ITEMS, BasketsDeclaration
from sfumato.report.point_summary import anonymize_command
from sfumato.tradeoff.study.grids import lists_of

ROWS = [
    (20 + i % 6, ("n.a.", "8100", "8101", "")[i % 4], ("flü", "cold", "?")[i * 7 % 3], "ab"[i % 2], i, i // 2, "x;y")
    for i in range(48)
]
HEADER = "age;zip, code;-ill;other;who;home;note"
TREE = {"children": [{"label": "low", "children": [str(a) for a in range(20, 23)]}, {"label": "high"}]}
LEVELS = "".join(f"{value};{value[:2]};*\n" for value in ("8100", "8101", "n.a."))
USUAL = {"quasi": ("age",), "sensitive": ("-ill",), "delimiter": ";"}

NAMES = tuple(next(csv.reader([HEADER], delimiter=";")))

DECLARATIONS = {
    "source": {"source": "-t.csv"},
    "quasi": {"quasi": ("age", "zip, code")},
    "sensitive": {"sensitive": ("-ill", "other")},
    "neutral": {"neutral": ("note", "other")},
    "identifier": {"identifier": ("who",)},
    "household": {"household": "home"},
    "person": {"person": "home"},
    "one_record_per_person": {"identifier": ("home",), "one_record_per_person": True},
    "hierarchies": {"quasi": ("age", "zip, code"), "hierarchies": "h", "na": ("n.a.",)},
    "hierarchy": {
        "quasi": ("age", "zip, code"),
        "hierarchies": "h",
        "hierarchy": {"age": {"type": "numeric", "lower": 20, "upper": 29, "intervals": [5]}},
    },
    "weights": {"quasi": ("age", "zip, code"), "weights": {"zip, code": 0.25, "age": 3}},
    "missing": {"quasi": ("age", "zip, code"), "missing": "drop"},
    "na": {"quasi": ("age", "zip, code"), "na": ("n.a.", "?"), "missing": "drop"},
    "delimiter": {},
    "encoding": {"encoding": "latin-1"},
    "sheet": {"source": "t.xlsx", "sheet": "two"},
    "header": {"header": False, "columns": NAMES},
    "header_row": {"source": "titled.csv", "header_row": 2},
    "columns": {"columns": tuple("years" if name == "age" else name for name in NAMES), "quasi": ("years",)},
    "decimal_comma": {"decimal_comma": ("age",)},
    "decimal_point": {"decimal_point": ("age",)},
    "dates": {"dates": "day-first"},
    "as_written": {"as_written": ("age", "zip, code")},
    "engine": {"engine": "duckdb"},
    "memory": {"memory": "1GB"},
    "spill": {"spill": "h"},
    "most_cells": {"quasi": ("age", "zip, code"), "hierarchies": "h", "na": ("n.a.",), "most_cells": 20},
    "ranges": {"ranges": "node"},
}
"""For every field of a declaration a table on which it has a say."""

K = "k-anonymity k=4"
ON = "l-diversity l=1.2 variant=frequency on=-ill"
CANDIDATES = {
    "anonymizer": (
        '"mondrian mode=relaxed", "full-domain weights=\\"age=2\\"", "without-quasi"',
        K,
        "generalization",
        0,
    ),
    "requirement": ('"mondrian"', f"{K} & l-diversity l=2 variant=distinct", "generalization", 0),
    "form": ('"mondrian"', "k-anonymity k=3", "bucketization", 0),
    "suppress": ('"mondrian"', "k-anonymity k=5", "generalization", 0.25),
}
"""For every field of a candidate some that use it."""

BASKETS = {
    "source": {"source": "-b.csv"},
    "id": {"source": "rows.csv", "id": "whose", "item": "what"},
    "item": {"source": "rows.csv", "id": "whose", "item": "what"},
    "column": {"source": "lists.json", "column": "some"},
    "separator": {"source": "dashes.txt", "separator": "-"},
    "tree": {"tree": "tree.csv"},
    "encoding": {"encoding": "latin-1"},
    "memory": {"memory": "1GB"},
    "spill": {"spill": "h"},
    "lines": {"lines": True},
    "person": {"source": "owned.csv", "id": "whose", "item": "what", "person": "owner"},
}
BASKET_CANDIDATES = {
    "anonymizer": {"anonymizers": ["pcta", "aa"]},
    "requirement": {"requirements": ["km-anonymity k=3 m=1"]},
    "utility": {"utility": ["utility-constraints level=1"], "anonymizers": ["coat"]},
    "limit": {"limits": ["suppression share=0.3 of=items"], "anonymizers": ["coat"]},
}


@pytest.fixture
def here(tmp_path, monkeypatch, undrawn):
    """A folder with tables and baskets in which commands run, and a shell in which `sfumato` is this very program."""
    text = HEADER + "\n" + "".join(";".join(f'"{cell}"' for cell in row) + "\n" for row in ROWS)
    for name, encoding in (("t.csv", "utf-8"), ("-t.csv", "utf-8"), ("latin.csv", "latin-1")):
        (tmp_path / name).write_text(text, encoding=encoding)
    (tmp_path / "titled.csv").write_text(f"a title\n{text}", encoding="utf-8")
    book = openpyxl.Workbook()
    for sheet, rows in (("one", [["none"]]), ("two", [NAMES, *ROWS])):
        for row in rows:
            (book[sheet] if sheet in book.sheetnames else book.create_sheet(sheet)).append(list(map(str, row)))
    book.remove(book["Sheet"])
    book.save(tmp_path / "t.xlsx")
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "t_hierarchy_zip, code.csv").write_text(LEVELS)
    sets = [[*"abü"[: 1 + i % 3], "c" if i % 2 else "d"] for i in range(24)]
    for name, encoding in (("b.csv", "utf-8"), ("-b.csv", "utf-8"), ("latin-b.csv", "latin-1")):
        (tmp_path / name).write_text("".join(",".join(own) + "\n" for own in sets), encoding=encoding)
    (tmp_path / "dashes.txt").write_text("".join("-".join(own) + "\n" for own in sets))
    (tmp_path / "rows.csv").write_text(
        "whose,what\n" + "".join(f"{i},{x}\n" for i, own in enumerate(sets) for x in own)
    )
    (tmp_path / "owned.csv").write_text(
        "whose,what,owner\n" + "".join(f"{i},{x},{i // 2}\n" for i, own in enumerate(sets) for x in own)
    )
    (tmp_path / "lists.json").write_text(json.dumps([{"some": own, "more": own[:1]} for own in sets]))
    (tmp_path / "tree.csv").write_text("a;ab;*\nb;ab;*\nü;cdü;*\nc;cdü;*\nd;cdü;*\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    ended = command_line.run(*words)
    assert ended.returncode == 0, (words, ended.stderr)


def written(section, declared, candidates, axes):
    document = {"name": "small", "axes": axes, section: declared, "candidates": candidates}
    Path("study.toml").write_text(tomlkit.dumps(document))


def as_toml(given):
    return {name: list(own) if isinstance(own, tuple) else own for name, own in given.items()}


def parsed_by_the_shell(command):
    """Let a real shell split the words; run them in this process."""
    script = f"set -- {command.removeprefix('sfumato ')}; for word; do printf '%s\\0' \"$word\"; done"
    words = subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout.decode().split("\0")[:-1]
    run(*words, "--no-certificate")


def check_all():
    run("explore", "study.toml", "--out", "map", "--workers", "1")
    shown = read_map("map")
    points = [point for point in shown.points if point.status == "measured"]
    assert points, [point.reason for point in shown.points]
    for point in points:
        run("release", "map", "--point", point.id, "--to", "published.csv", "--force")
        parsed_by_the_shell(anonymize_command(shown.study, point))
        made, published = Path(f"release-{point.id}.csv").read_bytes(), Path("published.csv").read_bytes()
        assert made == published, anonymize_command(shown.study, point)
        Path(f"release-{point.id}.csv").unlink()


def test_every_field_has_an_example():
    assert set(DECLARATIONS) == {own.name for own in fields(TableDeclaration)}
    assert set(CANDIDATES) == set(lists_of(ATTRIBUTES))
    assert set(BASKETS) == {own.name for own in fields(BasketsDeclaration)}
    assert set(BASKET_CANDIDATES) == set(lists_of(ITEMS))


@pytest.mark.parametrize("field", [own.name for own in fields(TableDeclaration)])
def test_the_command_of_a_point_says_everything_of_the_table(here, field):
    declared = {"source": "latin.csv" if field == "encoding" else "t.csv", **USUAL, **DECLARATIONS[field]}
    if "hierarchy" in declared:
        Path("hierarchies.toml").write_text(tomlkit.dumps(declared["hierarchy"]))
    wanted = K if len(declared["sensitive"]) == 1 else f"{K} & {ON}"
    written("table", as_toml(declared), [{"anonymizers": ["mondrian"], "requirements": [wanted]}], ["k", "loss"])
    check_all()


@pytest.mark.parametrize("field", list(lists_of(ATTRIBUTES)))
def test_the_command_of_a_point_says_everything_of_the_candidate(here, field):
    makers, wanted, form, suppress = CANDIDATES[field]
    block = f'[[candidates]]\nanonymizers = [{makers}]\nrequirements = ["{wanted}"]\nforms = ["{form}"]\n'
    table = tomlkit.dumps({"table": as_toml({"source": "t.csv", **USUAL})})
    Path("study.toml").write_text(f'name = "s"\naxes = ["k", "loss"]\n{table}\n{block}suppress = [{float(suppress)}]\n')
    check_all()


@pytest.mark.parametrize("field", [own.name for own in fields(BasketsDeclaration)])
def test_the_command_of_a_point_says_everything_of_baskets(here, field):
    declared = {"source": "latin-b.csv" if field == "encoding" else "b.csv", **BASKETS[field]}
    block = {"anonymizers": ["aa" if field == "tree" else "coat"], "requirements": ["km-anonymity k=3 m=2"]}
    written("baskets", declared, [block], ["itemset_risk", "ul"])
    check_all()


@pytest.mark.parametrize("field", BASKET_CANDIDATES)
def test_the_command_of_a_point_says_everything_of_a_candidate_of_baskets(here, field):
    block = {"anonymizers": ["coat"], "requirements": ["km-anonymity k=3 m=2"], **BASKET_CANDIDATES[field]}
    written("baskets", {"source": "b.csv", "tree": "tree.csv"}, [block], ["itemset_risk", "ul"])
    check_all()


def test_a_seed_that_the_study_states_is_in_the_command(here):
    maker = "full-domain search=genetic seed=7 seconds=600"
    written(
        "table", as_toml({"source": "t.csv", **USUAL}), [{"anonymizers": [maker], "requirements": [K]}], ["k", "loss"]
    )
    check_all()


def test_the_installed_script_runs_the_command_as_it_stands(here):
    written("table", as_toml({"source": "t.csv", **USUAL, "household": "home"}), [{"requirements": [K]}], ["k", "loss"])
    run("explore", "study.toml", "--out", "map")
    shown = read_map("map")
    point = shown.points[0]
    run("release", "map", "--point", point.id, "--to", "published.csv")
    Path("sfumato").write_text(f'#!/bin/sh\nexec {sys.executable} -m sfumato.commands.app "$@"\n')
    Path("sfumato").chmod(0o755)
    environment = {**os.environ, "PATH": f"{here}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", anonymize_command(shown.study, point)], env=environment, check=True)
    assert Path(f"release-{point.id}.csv").read_bytes() == Path("published.csv").read_bytes()
