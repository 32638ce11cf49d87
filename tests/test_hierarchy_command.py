"""`sfumato hierarchy`: trees with counts, TOML that comes back unchanged, and what a level does to k."""

import json
from collections import Counter

import pytest

import sfumato
from command_line import run
from sfumato import BadInputError, dates, flat, from_level_table, numeric, prefixes, read, tree
from sfumato.data.hierarchies.declared import from_entry
from sfumato.data.hierarchies.written import entry_of

AGES = [21, 22, 22, 35, 36, 36, 36, 36, 36, 58]
ZIPS = ["81667", "81667", "81675", "81675", "81925", "81925", "81925", "80331", "80331", ""]


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    lines = [f"{age},{code},{'flu' if age < 30 else 'cold'}" for age, code in zip(AGES, ZIPS, strict=True)]
    path.write_text("\n".join(["age,zip,illness", *lines]) + "\n", encoding="utf-8")
    (tmp_path / "ages.toml").write_text('[age]\ntype = "numeric"\nlower = 0\nupper = 99\nintervals = [10, 20]\n')
    return path


def stand_out(keys):
    """Count by hand: records in groups below 5, alone, and the smallest group."""
    sizes = Counter(keys)
    few = [sizes[key] for key in keys]
    return {"below_5": sum(n < 5 for n in few), "unique": sum(n == 1 for n in few), "smallest": min(few)}


def test_every_level_says_who_would_stand_out_alone_and_with_the_others(people):
    done = run("hierarchy", people, "age", "--quasi", "zip", "--hierarchies", people.parent / "ages.toml", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["others"] == ["zip"] and len(said["levels"]) == 4
    for level, width in zip(said["levels"], [1, 10, 20, 100], strict=True):
        groups = [age // width for age in AGES]
        alone = {key: value for key, value in level["alone"].items() if key != "groups"}
        together = {key: value for key, value in level["together"].items() if key != "groups"}
        assert alone == stand_out(groups)
        assert together == stand_out(list(zip(groups, ZIPS, strict=True)))
        assert level["alone"]["groups"] == len(set(groups))


def test_the_tree_counts_what_is_below_every_node(people):
    view = sfumato.hierarchy(read(people, quasi=["zip"], hierarchies={"zip": {"type": "prefixes", "keep": [3]}}), "zip")
    root = view.tree(0)
    counts = Counter(ZIPS)
    expected = {prefix: sum(n for code, n in counts.items() if code[:3] == prefix) for prefix in ("803", "816", "819")}
    assert {node.label[:3]: node.records for node in root.children if node.label} == expected
    assert {node.label: node.records for node in root.children[1].children} == {"81667": 2, "81675": 2}
    assert next(node.records for node in root.children if not node.label) == 1  # the missing one
    assert root.records == len(ZIPS)
    assert all(not node.children for node in view.tree(1).children)


def test_wide_trees_are_folded_and_nothing_is_lost_in_the_sum(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["town", *(f"town {n:02}" for n in range(40))]) + "\n", encoding="utf-8")
    done = run("hierarchy", path, "town", "--level", "0")
    lines = [line.split() for line in done.stdout.splitlines()]
    folded = next(words for words in lines if words[:1] == ["…"])
    assert folded[1] == folded[-1] == str(40 - sum(words[:1] == ["town"] and len(words) == 3 for words in lines))
    assert "publisher's eyes" in done.stdout


@pytest.mark.parametrize(
    "hierarchy",
    [
        numeric(17, 90, intervals=[5, 10, 20, 40]),
        numeric(17, 90, intervals=[50]),
        numeric(0, 120, intervals=[5, 10, 20], open_above=90, open_below=18),
        numeric(0, 90, intervals=[20], open_above=90),
        numeric(-3, 12.5, 0.5, intervals=[1, 5]),
        numeric(40, 220, 2.5, intervals=[5, 10], continuous=True),
        numeric(0, 1000, 50, open_above=800, continuous=True),
        numeric(5, 6),
        dates("2019-12-30", "2020-03-02"),
        dates("2019-01-01", "2020-12-31", ["month", "year"]),
        dates("2019-01-01", "2020-12-31", ["quarter", "year", "decade"]),
        prefixes(["81667", "81675", "81925", "8"], keep=[3, 1]),
        flat(["b", "a", "10"], observed=True),
        flat([3, 1, 2]),
        flat(["only"]),
        tree([["Government", ["Far", "Federal", "x"], "State"], "Private"]),
        from_level_table([["1", "low"], ["2", "low"], ["3", "high"]]),
        from_level_table([["a", "A", "*"], ["b", "B", "*"]]),
        numeric(0, 9, 2, quantiles=[4, 2], values=[0, 1, 2, 8, 9], counts=[5, 1, 1, 1, 1]),
        numeric(17, 90, open_above=80, cuts=[[25, 35, 65], [65]], labels={"17-24": "young"}),
        numeric(0, 10, 0.5, continuous=True, cuts=[[2.5, 5]]),
        numeric(17, 90, intervals=[5, 20], labels={"20-24": "young"}),
        dates("2019-12-30", "2021-03-05", cuts=[["2020-01-01", "2020-06-15"], ["2020-06-15"]]),
        dates("2019-12-30", "2021-03-05", labels={"2020": "the year"}),
    ],
)
@pytest.mark.parametrize("missing", [False, True])
def test_a_hierarchy_comes_back_from_its_entry_as_it_was(hierarchy, missing):
    hierarchy = hierarchy.with_missing() if missing else hierarchy
    entry = entry_of(hierarchy)
    assert from_entry(dict(entry), lambda: ((), ())) == hierarchy
    assert hierarchy.without_missing().with_missing() == hierarchy.with_missing()


def test_what_no_entry_describes_is_refused():
    with pytest.raises(BadInputError, match="no entry of a TOML file"):
        entry_of(numeric(0, 9).with_strange(["many"]))


@pytest.mark.parametrize(
    ("cuts", "sentence"),
    [
        ([[30, 20]], "cuts must rise"),
        ([[]], "at least one"),
        ([[20.5]], "no leaf begins at 20.5"),
        ([[0]], "no leaf begins at 0 that could be cut off"),
        ([[20, 40], [30]], "the cut at 30 goes through a stretch of the level below"),
        ([20, 40], "cuts must be lists of values"),
    ],
)
def test_cuts_that_are_no_tree_are_refused(cuts, sentence):
    with pytest.raises(BadInputError, match=sentence):
        numeric(0, 90, cuts=cuts)


def test_a_label_of_no_stretch_is_refused():
    with pytest.raises(BadInputError, match="no stretch '0-17'"):
        numeric(0, 90, cuts=[[21]], labels={"0-17": "minor"})


def test_cuts_say_where_a_level_begins_anew():
    ages = numeric(0, 90, cuts=[[18, 30, 65], [65]], labels={"0-17": "minor"})
    assert ages.levels[1].labels == ("minor", "18-29", "30-64", "65-90")
    assert ages.levels[2].labels == ("0-64", "65-90")
    assert ages.text(*ages.intervals["minor"]) == "minor"


@pytest.mark.parametrize("column", ["age", "zip", "illness"])
def test_the_file_is_taken_back_unchanged_by_tables_and_studies(people, column):
    file = people.parent / "out.toml"
    done = run("hierarchy", people, column, "--to", file)
    assert done.returncode == 0, done.stderr
    before = read(people, quasi=[column])
    after = read(people, quasi=[column], hierarchies=file)
    assert after.hierarchies == before.hierarchies
    assert after.hierarchies[column].observed and after.grown == before.grown
    study = people.parent / "study.toml"
    entry = file.read_text(encoding="utf-8").replace(f"[{column}]", f"[table.hierarchy.{column}]")
    study.write_text(
        f'schema = 1\nname = "s"\n[table]\nsource = "people.csv"\nquasi = ["{column}"]\n{entry}'
        '\n[[candidates]]\nanonymizers = ["original"]\n',
        encoding="utf-8",
    )
    again = run("hierarchy", study, column, "--to", people.parent / "again.toml")
    assert again.returncode == 0, again.stderr
    assert (people.parent / "again.toml").read_text() == file.read_text()


def test_mistakes_are_sentences(people):
    for words, sentence in [
        (["nothing"], "there is no column 'nothing'"),
        (["age", "--level", "9"], "level"),
        (["age", "--to", people], "is the table itself"),
    ]:
        done = run("hierarchy", people, *words)
        assert done.returncode == 2 and sentence in done.stderr, words
    study = people.parent / "s.toml"
    study.write_text('schema = 1\nname = "s"\n[table]\nsource = "people.csv"\nquasi = ["age"]\n', encoding="utf-8")
    done = run("hierarchy", study, "age", "--quasi", "zip")
    assert done.returncode == 2 and "declares this itself" in done.stderr
