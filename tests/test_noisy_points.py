"""Differentially private candidates on a map: several draws, medians and intervals, and what stays inside."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato import BadInputError, Study, anonymizer, read_map
from sfumato.anonymizers.dp.noise import UnsafeSeededNoise
from sfumato.report.folder import save_map
from sfumato.report.point_summary import settings

TEXT = """
schema = 1
name = "noisy"
axes = ["attack_accuracy", "query_error_median"]
[table]
source = "{source}"
quasi = ["age", "sex"]
sensitive = ["disease"]
[table.hierarchy.age]
type = "numeric"
lower = 0
upper = 31
[table.hierarchy]
sex = ["f", "m"]
disease = ["flu", "gout", "mumps"]
[scales]
draws = {draws}
queries = "queries number=40"
[[candidates]]
anonymizers = ["dp-kd-tree epsilon=1 height=3", "dp-quadtree epsilon=1 height=3"]
[[candidates]]
anonymizers = ["mondrian"]
requirements = ["k-anonymity k=5"]
"""


@pytest.fixture
def source(tmp_path):
    random = np.random.default_rng(3)
    age = random.integers(0, 32, 400)
    disease = np.array(["flu", "gout", "mumps"])[np.minimum(age // 11, random.integers(0, 3, 400))]
    sex = np.array(["f", "m"])[random.integers(0, 2, 400)]
    import pyarrow.csv as csv

    csv.write_csv(pa.table({"age": age, "sex": sex, "disease": disease}), tmp_path / "people.csv")
    return tmp_path / "people.csv"


def study(source, draws=5) -> Study:
    lines = TEXT.format(source=source, draws=draws)
    # the table of one column comes after the plain keys of [table.hierarchy]
    head, rest = lines.split("[table.hierarchy.age]")
    age, rest = rest.split("[table.hierarchy]")
    plain, tail = rest.split("[scales]")
    return Study.from_toml(f"{head}[table.hierarchy]{plain}[table.hierarchy.age]{age}[scales]{tail}")


def test_a_noisy_point_is_the_median_of_its_draws(source):
    wanted = study(source)
    shown = sfumato.explore(wanted)
    point = next(own for own in shown.points if own.anonymizer.startswith("dp-kd-tree"))
    table = wanted.table.open()
    prepared = wanted.scales.prepare(table)
    seeds = np.random.SeedSequence(int(point.id, 16)).generate_state(5, np.uint64)
    maker = anonymizer(point.anonymizer)
    found = [prepared.measure(maker.draw(table, UnsafeSeededNoise(int(seed)))).values for seed in seeds]
    assert len({own["u_loss"] for own in found}) == 5
    for name, value in point.measures.items():
        own = sorted(values[name] for values in found)
        assert (value, point.intervals[name]) == (own[2], (own[0], own[-1]))
    assert "k" not in point.measures and "p_loss" not in point.measures
    assert point.details["epsilon"] == pytest.approx(1) and sum(point.details["by_purpose"].values()) == pytest.approx(
        1
    )
    assert sum(epsilon for _, epsilon in point.details["by_level"]) == pytest.approx(1)


def test_a_map_of_noisy_points_comes_out_the_same_twice_for_any_number_of_workers(source):
    first, again = (sfumato.explore(study(source), workers=workers) for workers in (1, 2))
    assert [point.measures for point in first.points] == [point.measures for point in again.points]
    other = sfumato.explore(study(source, draws=1))
    assert all(low == high for low, high in other.points[0].intervals.values())


def test_intervals_are_written_read_back_and_kept_from_the_public(source, tmp_path):
    shown = sfumato.explore(study(source), cache=tmp_path / "cache.jsonl")
    save_map(shown, tmp_path)
    entries = {entry["id"]: entry for entry in json.loads((tmp_path / "points.json").read_text())["points"]}
    again = read_map(tmp_path)
    for point in shown.points:
        assert again[point.id].intervals == point.intervals
        assert ("intervals" in entries[point.id]) == point.is_noisy
    resumed = sfumato.explore(study(source), cache=tmp_path / "cache.jsonl")
    assert [point.intervals for point in resumed.points] == [point.intervals for point in shown.points]
    inside, outside = ((tmp_path / name).read_text() for name in ("report.html", "report-public.html"))
    noisy = [point.id for point in shown.points if point.is_noisy]
    assert all(id in inside and id not in outside for id in noisy)
    assert "covered by no epsilon" in inside


def test_words_of_a_noisy_point(source):
    point = sfumato.explore(study(source, draws=1)).points[0]
    assert settings(point).startswith("Private kd-tree (epsilon=1, height=3): differential privacy")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('axes = ["attack_accuracy"', 'axes = ["p_loss"', "p_loss is counted on the records of groups"),
        ("draws = 5", "draws = 0", "draws must be a whole number of at least 1"),
    ],
)
def test_a_study_that_noisy_candidates_cannot_have_is_refused(source, old, new, said):
    text = study(source).to_toml()
    assert old in text
    with pytest.raises(BadInputError, match=said):
        Study.from_toml(text.replace(old, new))


def test_a_requirement_of_a_noisy_candidate_fails_in_a_sentence(source):
    text = study(source).to_toml().replace('requirements = ["k-anonymity k=1"]', 'requirements = ["k-anonymity k=3"]')
    points = sfumato.explore(Study.from_toml(text)).points
    failed = [point for point in points if point.status == "failed"]
    assert len(failed) == 2 and all("protects by noise and cannot promise" in point.reason for point in failed)
