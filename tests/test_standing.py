"""The table itself, but for a few values, is not published under anybody's name: not by us, not brought from elsewhere.

What stands in a release just as recorded is counted here from rows, by Counter.
"""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

import sfumato
from command_line import run
from sfumato.measures.group_risk import standing
from sfumato.report.point_summary import done_sentence
from sfumato.tradeoff.exploration.folder import read_map
from test_foreign import COLUMNS, brought, people, write
from test_foreign_release import explore, folder_with, point_of, release

QUASI = 3


def other(row):
    """The same person in another town."""
    return (*row[:2], "a" if row[2] != "a" else "b", *row[3:])


def plain_standing(rows, published):
    """Count by rows: standing, of, bare, alone."""
    table, file = Counter(rows), Counter(published)
    looks, shown = Counter(row[:QUASI] for row in rows), Counter(row[:QUASI] for row in published)
    bare = sum(looks[row[:QUASI]] == 1 and file[row] == 1 and shown[row[:QUASI]] == 1 for row in table)
    alone = min(sum(count == 1 for count in looks.values()), sum(count == 1 for count in shown.values()))
    return (table & file).total(), min(len(rows), len(published)), bare, alone


def counts(found):
    return found.standing, found.of, found.bare, found.alone


@pytest.mark.parametrize("changed", [1, 4, 30, 120])
@pytest.mark.parametrize("kept", [120, 70])
def test_who_stands_as_recorded_is_what_the_rows_say(changed, kept):
    table, rows = people()
    generator = np.random.default_rng(changed)
    published = [rows[i] for i in generator.permutation(len(rows))[:kept]]
    published = [other(row) if i < changed else row for i, row in enumerate(published)]
    found = standing(brought(table, published))
    assert counts(found) == plain_standing(rows, published)
    assert found.hardly_changed == (changed / min(kept, 120) < 0.05)


def test_of_our_own_makers_the_same_is_counted():
    table, rows = people()
    made = sfumato.draw(table, "record-swapping share=0.3 seed=1")
    published = [tuple(row) for row in made.to_pandas()[list(COLUMNS)].astype(str).itertuples(index=False)]
    assert counts(standing(made)) == plain_standing([tuple(map(str, row)) for row in rows], published)


def test_a_sample_of_the_table_said_to_be_synthetic_is_not_taken_for_it_and_a_copy_is():
    table, rows = people()
    generator = np.random.default_rng(5)
    assert standing(brought(table, [other(rows[0]), *rows[1:]], records="synthetic")).hardly_changed
    for _ in range(20):
        drawn = [rows[i] for i in generator.integers(len(rows), size=len(rows))]
        assert not standing(brought(table, drawn, records="synthetic")).hardly_changed


def test_who_changes_the_few_that_are_alone_has_changed_what_matters():
    table, rows = people(1200, 4)
    looks = Counter(row[:QUASI] for row in rows)
    alone = [looks[row[:QUASI]] == 1 for row in rows]
    assert 0 < sum(alone) < 30
    aside = [other(row) if is_alone else row for row, is_alone in zip(rows, alone, strict=True)]
    found = standing(brought(table, aside))
    assert found.standing > 0.95 * found.of and not found.hardly_changed
    assert standing(brought(table, [other(rows[alone.index(False)]), *rows[1:]])).hardly_changed


# -- our own makers, in one line -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "maker",
    ["rounding base=1", "rounding base=1 method=random", "record-swapping share=0.01 seed=3", "noise scale=0.0001"],
)
def test_one_line_does_not_write_a_table_that_was_hardly_changed(tmp_path, maker):
    folder_with(tmp_path)
    words = ["--quasi", "age,sex,town", "--sensitive", "illness", "--to", "out.csv"]
    done = run("anonymize", "people.csv", *words, "--with", maker, cwd=tmp_path)
    assert done.returncode == 2 and not (tmp_path / "out.csv").exists(), done.stdout
    assert "shows the table" in done.stderr and "not a release to publish; take one that changes more" in done.stderr
    assert "like no other" in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_where_nobody_is_alone_an_unchanged_table_may_be_written(tmp_path):
    write(tmp_path / "people.csv", [(20 + i % 3, "f", "a", ["flu", "cold"][i % 2]) for i in range(60)])
    words = ["--quasi", "age,sex,town", "--sensitive", "illness", "--to", "out.csv", "--with", "rounding base=1"]
    done = run("anonymize", "people.csv", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_map_keeps_such_a_point_and_nobody_is_offered_it(tmp_path):
    folder_with(tmp_path, '[[candidates]]\nanonymizers = ["rounding base=1", "rounding base=10"]\n')
    explore(tmp_path)
    points = json.loads((tmp_path / "map" / "points.json").read_text(encoding="utf-8"))["points"]
    same, rounded = (next(p for p in points if p["anonymizer"] == f"rounding base={base}") for base in (1, 10))
    assert "query_error_median" in same["measures"] and "shows the table as it is" in same["refused"]
    assert "refused" not in rounded
    asked = run("ask", "map", "query_error_median", "--search", "0", "--details", cwd=tmp_path)
    assert asked.returncode == 0 and f"Point {same['id']}, which shows the table as it is" in asked.stdout
    chosen = run("choose", "map", "--prefer", "query_error_median", cwd=tmp_path)
    assert chosen.returncode == 0 and same["id"] not in chosen.stdout
    map_ = read_map(tmp_path / "map")
    assert done_sentence(map_, map_[same["id"]]) == f"It {same['refused']}."  # in the report
    refused = release(tmp_path, same["id"], "out.csv")
    assert refused.returncode == 2 and f"point {same['id']} shows the table as it is" in refused.stderr


# -- brought from elsewhere ----------------------------------------------------------------------------------------

COPIES = {
    "one value off": lambda rows: [other(rows[0]), *rows[1:]],
    "shuffled": lambda rows: [other(rows[7]), *(rows[i] for i in np.random.default_rng(1).permutation(120) if i != 7)],
    "one row more": lambda rows: [*rows, rows[0]],
    "half of it, one value off": lambda rows: [other(rows[0]), *rows[1:60]],
}


SAID = ("", 'records = "synthetic"\n', "epsilon = 1\n")
CASES = [
    *((how, said) for how in COPIES for said in SAID if not ("half" in how and said)),  # half of it: the caution tells
    ("one value off", "aligned = true\n"),
]


@pytest.mark.parametrize(("how", "said"), CASES)
def test_a_raw_copy_is_not_published_whatever_is_said_of_it(tmp_path, how, said):
    rows = folder_with(tmp_path, f'[[candidates]]\nfile = "raw.csv"\n{said}')
    permuted = [(ill, town, age, sex) for age, sex, town, ill in COPIES[how](rows)]
    write(tmp_path / "raw.csv", permuted, ("illness", "town", "age", "sex"))
    done = explore(tmp_path)
    point = point_of(tmp_path, "raw.csv")
    told = " ".join(done.stdout.split())
    assert f"made elsewhere: raw.csv. It {point['refused']}." in told  # before anything else that is said of it
    refused = release(tmp_path, point["id"], "out.csv")
    assert refused.returncode == 2 and f"point {point['id']} shows" in refused.stderr, refused.stdout
    assert "so it is not a release to publish" in refused.stderr and not (tmp_path / "out.csv").exists()
    asked = run("ask", "map", "query_error_median", "--search", "0", "--json", cwd=tmp_path)
    assert point["id"] not in json.loads(asked.stdout)["command"] and f"Point {point['id']}, which" in asked.stdout


def test_a_file_of_changed_people_is_still_published(tmp_path):
    rows = folder_with(tmp_path, '[[candidates]]\nfile = "changed.csv"\n')
    write(tmp_path / "changed.csv", [other(row) if i % 8 == 0 else row for i, row in enumerate(rows)])
    explore(tmp_path)
    done = release(tmp_path, point_of(tmp_path, "changed.csv")["id"], "out.csv")
    assert done.returncode == 0, done.stderr
