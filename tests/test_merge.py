"""Maps of one table put together: commutative, idempotent, and never a number that was not measured on these scales."""

import json
from dataclasses import replace

import pytest

from sfumato import BadInputError, Grid, Queries, Scales, Study, TableDeclaration, explore, requirement
from test_explore import folder, sfumato  # noqa: F401  (folder is a fixture)

pytestmark = pytest.mark.quick


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    path = tmp_path_factory.mktemp("merge") / "t.csv"
    path.write_text("\n".join(["a,b,s", *(f"{i % 9},{'xyz'[i % 3]},{'pq'[i % 2]}" for i in range(90))]))
    declared = TableDeclaration(str(path), ("a", "b"), ("s",))
    made = []
    for ks in ((2, 5), (5, 9)):
        wanted = tuple(f"k-anonymity k={k}" for k in ks)
        grid = Grid(requirements=tuple(map(requirement, wanted)))
        made.append(explore(Study("small", declared, (grid,)), workers=1))
    return made


def values(map_):
    return [(point.id, dict(point.measures)) for point in map_.points], map_.study.to_toml()


def test_merging_is_commutative_and_idempotent(two):
    one, other = two
    both = one.merged(other)
    assert values(both) == values(other.merged(one)) == values(both.merged(one)) == values(both.merged(both))
    assert {point.id for point in both.points} == {point.id for map_ in two for point in map_.points}
    assert len(both.points) == 3
    again = explore(both.study, workers=1)
    assert {point.id: dict(point.measures) for point in again.points} == dict(values(both)[0])


def test_maps_that_do_not_compare_are_refused(two):
    one, other = two
    elsewhere = replace(other, about={**other.about, "digest": "another"})
    with pytest.raises(BadInputError, match="different data"):
        one.merged(elsewhere)
    scales = replace(other, study=replace(other.study, scales=Scales(queries=Queries(seed=5))))
    with pytest.raises(BadInputError, match="different scales"):
        one.merged(scales)
    stale = replace(other, points=tuple(replace(point, measures={"k": 1.0}) for point in other.points))
    with pytest.raises(BadInputError, match="measured differently"):
        one.merged(stale)


def test_a_folder_is_added_without_measuring_again(folder):  # noqa: F811
    small = (folder / "study.toml").read_text()
    assert sfumato(folder, "explore", "study.toml", "--out", "one").returncode == 0
    first = json.loads((folder / "one/points.json").read_text())["points"]
    head = small.split("[[candidates]]")[0]
    (folder / "other.toml").write_text(head + '[[candidates]]\nrequirements = ["k-anonymity k=7"]\n')
    ended = sfumato(folder, "explore", "other.toml", "--out", "both", "--add", "one")
    assert ended.returncode == 0, ended.stderr
    both = {point["id"]: point for point in json.loads((folder / "both/points.json").read_text())["points"]}
    assert len(both) == len(first) + 1
    assert all(both[point["id"]]["measures"] == point["measures"] for point in first)
    kept = (folder / "both/cache.jsonl").read_text().splitlines()
    assert set((folder / "one/cache.jsonl").read_text().splitlines()) <= set(kept)
    refused = sfumato(folder, "explore", "other.toml", "--out", "both", "--add", "nowhere")
    assert refused.returncode == 2 and refused.stderr.splitlines()[-1].startswith(
        "sfumato: nowhere: there is no such file"
    )
