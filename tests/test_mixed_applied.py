"""New patients under the mapping of an earlier release: everything recoded alike, the rest refused or left out."""

import json
from dataclasses import replace

import numpy as np
import pytest

from command_line import run
from plain_patients import least_candidates, read_records
from sfumato.data.declaration import ItemsDeclaration
from sfumato.errors import BadInputError
from sfumato.publish._item_mapping import mixed_mapping, read_item_mapping
from sfumato.release.writing_items import release_names
from sfumato.requirements.items import mixed_requirement
from test_mixed import made, opened, rows_of

STUDY = """
name = "patients"
[table]
source = "people.csv"
quasi = ["age", "sex"]
sensitive = ["outcome"]
[items]
{items}
sensitive = ["g"]
[scales]
item_queries = "item-queries size=1 number=20 workloads=1"
joint_queries = "joint-queries number=20"
[[candidates]]
item_anonymizers = ["{maker}"]
requirements = ["k-km-anonymity k=3 m=2 & l-diversity l=2 variant=distinct on=outcome"]
sets = ["{sets}"]
limits = ["suppression share=0.9 of=occurrences"]
"""
ASKED = "k-km-anonymity k=3 m=2 & l-diversity l=2 variant=distinct on=outcome"
CODES = ["abc", "abd", "ab", "c", "cd", "dg", "g", "e", "ef", ""]


def people(number, shift=0):
    """Make records: (age, sex, outcome, codes)."""
    return [(20 + (i + shift) * 7 % 12, "mf"[i % 2], "yn"[i % 3 == 0], CODES[i * i % 10]) for i in range(number)]


def write(folder, rows, name="people", items="column"):
    """Write records with their codes in a column, or in a second file."""
    lines = [f"{n},{a},{s},{o},{';'.join(c)}" for n, (a, s, o, c) in enumerate(rows)]
    if items == "second":
        codes = [f"{n},{code}" for n, (_, _, _, codes) in enumerate(rows) for code in codes]
        (folder / f"{name}-codes.csv").write_text("id,codes\n" + "\n".join(codes) + "\n")
        lines = [line.rpartition(",")[0] for line in lines]
    head = "id,age,sex,outcome" + (",codes" if items == "column" else "")
    (folder / f"{name}.csv").write_text(head + "\n" + "\n".join(lines) + "\n")
    return folder / f"{name}.csv"


def released(folder, maker="coat", sets="group", items="column"):
    """Publish a release with its mapping; return the mapping."""
    write(folder, people(120), items=items)
    where = 'column = "codes"' if items == "column" else 'source = "people-codes.csv"\nid = "id"\nitem = "codes"'
    (folder / "study.toml").write_text(STUDY.format(maker=maker, sets=sets, items=where))
    run("explore", folder / "study.toml", "--out", folder / "map", "--workers", "1")
    (point,) = json.loads((folder / "map" / "points.json").read_text())["points"]
    to = ["--to", folder / "published.csv", "--mapping", folder / "mapping.json"]
    assert run("release", folder / "map", "--point", point["id"], *to).returncode == 0
    return folder / "mapping.json"


def applied(folder, mapping, rows, *more, items="column"):
    table = write(folder, rows, "new", items)
    second = ["--set", f"items-file={folder}/new-codes.csv"] if items == "second" else []
    done = run("apply", mapping, table, *second, "--to", folder / "new-published.csv", *more, "--json")
    return done, json.loads(done.stdout) if done.returncode == 0 else None


@pytest.mark.parametrize(("maker", "sets", "items"), [("coat", "group", "column"), ("aa", "common", "second")])
def test_the_same_records_are_recoded_as_they_were_and_new_ones_alike(maker, sets, items, tmp_path):
    mapping = released(tmp_path, maker, sets, items)
    done, said = applied(tmp_path, mapping, people(120), items=items)
    assert done.returncode == 0 and said["published"] == 120
    assert sorted(rows_of(tmp_path / "new-published.csv"), key=repr) == sorted(
        rows_of(tmp_path / "published.csv"), key=repr
    )
    # a record goes to a box that covers it, and every item is published as the group publishes it, or left out
    rules = json.loads(mapping.read_text())
    new = [*people(240), *people(24, 5), (25, "m", "y", "z")]
    done, said = applied(tmp_path, mapping, new, "--force", "--rest", "drop", items=items)
    assert done.returncode == 0
    records = read_records(tmp_path / "new-published.csv", ["age", "sex"], "codes")
    assert len(records) == said["published"] >= 240 and least_candidates(records, 2) >= 3
    assert said["left_out"]["records"] == len(new) - len(records) > 0
    texts = {text for group in rules["groups"] for text in group["published"]}
    assert {text for _, shown in records for text in shown} <= texts
    ledger = [json.loads(line) for line in (tmp_path / "mapping.json.ledger.jsonl").read_text().splitlines()]
    assert [line["state"] for line in ledger] == ["begun", "published"] * 2
    assert ledger[2]["entry"]["published"] == len(records) and ledger[2]["entry"]["records"] == len(new)
    outcomes = {}
    with (tmp_path / "new-published.csv").open() as stream:
        head = stream.readline().strip().split(",")
        for line in stream:
            row = dict(zip(head, line.strip().split(","), strict=False))
            outcomes.setdefault((row["age"], row["sex"]), set()).add(row["outcome"])
    assert all(len(values) == 2 for values in outcomes.values())


def test_what_the_mapping_does_not_know_is_refused_or_left_out_and_so_are_groups_that_fail(tmp_path):
    mapping = released(tmp_path)
    strange = [*people(120), (20, "m", "y", ["zz"]), (99, "m", "y", ["a"]), (20, "x", "y", ["a"])]
    done, _ = applied(tmp_path, mapping, strange)
    assert done.returncode == 2 and not (tmp_path / "new-published.csv").exists()
    assert "codes: 1 record, such as 'zz'" in done.stderr, done.stderr
    assert "sex: 1 record, such as 'x'" in done.stderr
    done, said = applied(tmp_path, mapping, strange, "--rest", "drop")
    assert done.returncode == 0 and said["published"] == 120 and said["left_out"]["unknown_by_column"]["codes"] == 1
    women, men = ([row for row in people(120) if row[1] == sex] for sex in "fm")
    alone = next(place for place, row in enumerate(men) if row[3])
    bare = [row if place == alone else (*row[:3], "") for place, row in enumerate(men)]
    # two records are too few for a group, and so is one that shows what nobody else of its group does
    for few, failing in ((men[:2], range(2, 3)), (bare, range(3, 60))):
        done, _ = applied(tmp_path, mapping, women + few, "--force")
        assert done.returncode == 1 and "do not satisfy k-km-anonymity k=3 m=2" in done.stderr
        done, said = applied(tmp_path, mapping, women + few, "--force", "--rest", "drop")
        records = read_records(tmp_path / "new-published.csv", ["age", "sex"], "codes")
        assert done.returncode == 0 and least_candidates(records, 2) >= 3
        assert said["left_out"]["failing"] == len(women + few) - len(records) in failing
    second = run(
        "apply", mapping, tmp_path / "new.csv", "--set", f"items-file={tmp_path}/new.csv", "--to", tmp_path / "o.csv"
    )
    assert second.returncode == 2 and "leave out --set items-file" in second.stderr


def test_a_release_that_publishes_items_of_a_group_in_several_ways_recodes_nothing_new(tmp_path):
    release = made(opened([(30, "m", codes) for codes in ("ab", "ab", "a", "a", "c", "c")]), "k-km-anonymity k=2 m=2")
    pieces = replace(release, part=np.where(release.row_of_item == 0, -1, release.part))  # left out of one row alone
    declared = ItemsDeclaration(column="codes")
    several = []
    for one in (release, pieces):
        text = mixed_mapping(one, mixed_requirement("k-km-anonymity k=2 m=2"), declared, release_names(one))
        several.append(json.loads(text)["in_several_ways"])
    assert several == [0, 1]
    (tmp_path / "mapping.json").write_text(text)
    with pytest.raises(BadInputError, match="in several ways within 1 group"):
        read_item_mapping(tmp_path / "mapping.json")
