"""Fidelity against the slow way: every release listed leaf by leaf, samples enumerated, models by other programs."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import plain_fidelity as plain
import sfumato
from points import write_report
from sfumato.anonymizers import anonymizer
from sfumato.data.cells import Quasi, sorted_cells
from sfumato.data.declaration import TableDeclaration
from sfumato.data.hierarchies.categorical import flat
from sfumato.data.hierarchies.numeric import numeric
from sfumato.data.reading import read
from sfumato.measures.all_measures import FIDELITY, MEASURES
from sfumato.measures.classification.classification import Classification
from sfumato.measures.fidelity._intervals import coded_columns
from sfumato.measures.fidelity.fidelity import Fidelity, expected_saturated, saturated
from sfumato.measures.fidelity.marginals import Sampled, Truth, column_distances, sets_of_columns
from sfumato.measures.scales import Scales
from sfumato.release.content import Budget, Guarantee, noisy_release
from sfumato.release.records import Records, boxed_records, cell_codes, leaf_numbers, record_release
from sfumato.release.release import bucketization, generalization
from sfumato.requirements.requirement import KAnonymity, requirement
from sfumato.tradeoff.exploration.explore import explore
from sfumato.tradeoff.map import Map
from sfumato.tradeoff.study.grids import Grid
from sfumato.tradeoff.study.presets import bundled_study
from sfumato.tradeoff.study.search_plan import SearchPlan
from sfumato.tradeoff.study.study import Study, study_from_toml
from small_tables import small_table
from strategies import hierarchies, table_of, tries
from test_report import IMAGE, SCRIPT, data_of, opened

NO = KAnonymity(1)
GUARANTEE = Guarantee(Budget(1.0), (), "one record more or less", ())


@st.composite
def tables(draw, sensitive=(1, 2)):
    """A small table: numbers with an open end and missing values, other numbers, a category of leaves of any width."""
    quasi = [
        Quasi("age", numeric(0, 5, open_above=3).with_missing()),
        Quasi("income", numeric(0, 30, resolution=10)),
        Quasi("town", draw(hierarchies(2, 3))),
    ]
    about = [(f"s{i}", flat(["x", "y", "z"])) for i in range(draw(st.integers(*sensitive)))]
    sizes = [each.hierarchy.size for each in quasi] + [3] * len(about)
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    counted = draw(st.dictionaries(row, st.integers(1, 4), min_size=4, max_size=16))
    for place in range(len(quasi), len(sizes)):
        assume(len({key[place] for key in counted}) > 1)
    codes = sorted(counted)
    return table_of(sorted_cells(quasi, about, np.array(codes, np.int32), np.array([counted[key] for key in codes])))


@st.composite
def releases(draw, kinds=("generalization", "no sensitive", "bucketization", "records", "boxes", "noisy")):
    """Any kind of release of a small table."""
    kind = draw(st.sampled_from(kinds))
    table = draw(tables((1, 1) if kind == "noisy" else (1, 2)))
    cells = table.cells
    seed = np.random.default_rng(draw(st.integers(0, 1000)))
    if kind in ("records", "boxes"):
        sizes = [a.hierarchy.size for a in (*cells.quasi, *cells.sensitive)]
        codes = np.stack([seed.integers(0, size, 12) for size in sizes], axis=1).astype(np.int32)
        if kind == "records":
            return record_release(table, Records(cells, codes), people=False)
        d = len(cells.quasi)
        hi = np.minimum(codes[:, :d] + seed.integers(0, 3, (12, d)), cells.domains - 1).astype(np.int32)
        return boxed_records(table, codes[:, :d], hi, codes[:, d:], people=False, truthful=False)
    if kind == "noisy":
        ends = np.sort([[seed.integers(0, size, 2) for size in cells.domains] for _ in range(3)], axis=2)
        lo, hi = ends[:, :, 0], ends[:, :, 1]
        counts = np.maximum(seed.normal(3, 3, (3, cells.sensitive[0].hierarchy.size)), 0) + 0.1
        return noisy_release(table, lo, hi, counts, GUARANTEE)
    group = seed.integers(0, 3, cells.size)
    group = np.unique(group, return_inverse=True)[1]
    groups = int(group.max()) + 1
    if kind == "bucketization":
        return bucketization(table, cells.assigned(group), groups)
    ends = [(cells.codes[group == g].min(axis=0), cells.codes[group == g].max(axis=0)) for g in range(groups)]
    lo, hi = (np.stack(side) for side in zip(*ends, strict=True))
    return generalization(table, cells.assigned(group), lo, hi, sensitive=kind == "generalization", ranges=None)


def numbers_of(cells):
    trees = [attribute.hierarchy for attribute in (*cells.quasi, *cells.sensitive)]
    return [None if tree.scale == "category" else leaf_numbers(tree) for tree in trees]


@tries(25)
@given(releases())
def test_every_measure_is_what_listing_all_leaves_gives(release):
    cells = release.cells
    portrait = Fidelity(ways=3).prepare(release.table)
    values = portrait.compared(release).values
    table, own = plain.original(cells), plain.listed(release)
    for ways in (1, 2, 3):
        assert values[f"marginal_error_{ways}"] == pytest.approx(plain.marginal_error(table, own, ways), abs=1e-9)
    assert values["nist_score"] == pytest.approx(1000 * (1 - values["marginal_error_3"]))
    assert values["pmse"] == pytest.approx(plain.pmse(table, own), abs=1e-9)
    numbers, columns = numbers_of(cells), len(cells.quasi) + len(cells.sensitive)
    apart = [
        abs(plain.association(table, a, b, numbers) - plain.association(own, a, b, numbers))
        for a, b in combinations(range(columns), 2)
    ]
    assert values["correlation_error"] == pytest.approx(np.mean(apart), abs=1e-9)


@tries(10)
@given(tables())
def test_the_original_is_true_to_itself_and_a_release_of_nothing_is_uniform(table):
    portrait = Fidelity().prepare(table)
    cells = table.cells
    same = portrait.compared(record_release(table, Records.of(cells), people=True)).values
    assert set(FIDELITY) <= set(same)
    for name in ("marginal_error_1", "marginal_error_2", "marginal_error_3", "pmse", "correlation_error"):
        assert same[name] == pytest.approx(0, abs=1e-12)
    assert same["sample_equivalent"] == 1 and same["nist_score"] == 1000
    lo, hi = (ends[None, :] for ends in cells.whole)
    hidden = np.full((1, len(cells.sensitive)), -1, np.int32)
    nothing = boxed_records(table, lo, hi, hidden, people=False, truthful=False)
    shares = []
    for a, attribute in enumerate((*cells.quasi, *cells.sensitive)):
        tree = attribute.hierarchy
        before = np.zeros(tree.size)
        np.add.at(before, [key[a] for key in plain.original(cells)], list(plain.original(cells).values()))
        shares.append(np.abs(before / before.sum() - np.array(tree.widths) / sum(tree.widths)).sum() / 2)
    assert portrait.compared(nothing).values["marginal_error_1"] == pytest.approx(np.mean(shares))


@tries(25)
@given(releases(("noisy",)), st.integers(0, 1000), st.floats(0, 8))
def test_any_noise_has_measures_within_their_ranges(release, seed, shift):
    drawn = release.drawn + np.random.default_rng(seed).normal(-shift, 4, release.drawn.shape)
    noisy = noisy_release(release.table, release.boxes.lo, release.boxes.hi, drawn, GUARANTEE)
    values = Fidelity(ways=2).prepare(release.table).compared(noisy).values
    for name, value in values.items():
        assert MEASURES[name].least <= value <= MEASURES[name].most, name
    if (drawn <= 0).all():
        lo, hi = (ends[None, :] for ends in release.cells.whole)
        nothing = boxed_records(release.table, lo, hi, np.full((1, 1), -1, np.int32), people=False, truthful=False)
        expected = Fidelity(ways=2).prepare(release.table).compared(nothing).values["marginal_error_2"]
        assert values["marginal_error_2"] == pytest.approx(expected)


def test_one_column_is_measured():
    rows = pa.table({"age": [1, 2, 2, 3, 5, 5, 5, 9]})
    table = read(rows, quasi=["age"], hierarchies={"age": numeric(1, 9)})
    release = sfumato.anonymize(table, "k-anonymity k=3", "mondrian")
    values = Scales(fidelity=Fidelity()).prepare(table).measure(release).values
    assert {"marginal_error_1", "sample_equivalent", "pmse"} == set(values) & set(FIDELITY)


def test_an_external_copy_of_a_release_measures_as_the_release():
    table = small_table(records=200)
    release = sfumato.anonymize(table, "k-anonymity k=10", "mondrian")
    entries, boxes = release.assignment, release.boxes
    values = Records(table.cells, cell_codes(table.cells)).codes[entries.cell][:, 3:]
    lo, hi = boxes.lo[entries.group], boxes.hi[entries.group]
    copy = boxed_records(table, lo, hi, values, people=True, truthful=True, counts=entries.count)
    portrait = Fidelity().prepare(table)
    one, other = portrait.compared(release), portrait.compared(copy)
    assert one.values == pytest.approx(other.values, abs=1e-12) and one.picture == other.picture


def test_a_shuffled_column_shows_in_the_pairs_and_not_in_the_columns():
    table = small_table()
    records = Records.of(table.cells)
    shuffled = records.replaced({2: np.random.default_rng(1).permutation(records.codes[:, 2])})
    compared = Fidelity().prepare(table).compared(record_release(table, shuffled, people=True))
    assert compared.values["marginal_error_1"] == 0 < compared.values["marginal_error_2"]
    off = {(one, other): error for one, other, error in compared.picture["pairs"]}
    assert all((error > 0) == ("town" in pair) for pair, error in off.items()) and len(off) == 6


# -- samples -----------------------------------------------------------------------------------------------


def mean_error(counts, drawn):
    """Average over samples, given as lists of bins, how far their shares are from those of the counts."""
    shares = np.array(counts) / sum(counts)
    found = [np.bincount(sample, minlength=len(counts)) / len(sample) for sample in drawn]
    return np.mean([np.abs(each - shares).sum() / 2 for each in found])


@tries(20)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_the_errors_of_samples_are_those_of_all_samples_there_are(counts, data):
    records = np.repeat(np.arange(len(counts)), counts)
    size = data.draw(st.integers(1, len(records)))
    sampled = Sampled.of([Truth(np.arange(len(counts)), np.array(counts, float))], len(records))
    every = [list(sample) for sample in combinations(records, size)]
    assert sampled.of_sample(size) == pytest.approx(mean_error(counts, every), abs=1e-12)
    assume(len(records) <= 5)
    again = [list(sample) for sample in product(records, repeat=len(records))]
    assert sampled.of_resample() == pytest.approx(mean_error(counts, again), abs=1e-12)
    expected = np.mean(
        [
            saturated(np.array(counts) / len(records), np.bincount(each, minlength=len(counts)) / len(records))
            for each in again
        ]
    )
    assert expected_saturated(np.array(counts)) == pytest.approx(expected, abs=1e-12)


def test_the_share_of_a_sample_that_is_as_good_is_found():
    table = small_table(records=400)
    portrait = Fidelity(ways=2).prepare(table)
    sampled = portrait.samples[1]
    errors = [sampled.of_sample(size) for size in range(1, 401)]
    assert (np.diff(errors) < 0).all() and errors[-1] == 0
    for size in (1, 40, 173, 400):
        assert sampled.equivalent(errors[size - 1]) == pytest.approx(size / 400)
    assert 100 < 400 * sampled.equivalent((errors[99] + errors[100]) / 2) < 101
    assert sampled.equivalent(0.99) == 1 / 400
    records, generator = Records.of(table.cells), np.random.default_rng(3)
    found = []
    for _ in range(20):
        some = records.recoded(records.codes[generator.permutation(400)[:100]])
        found.append(portrait.compared(record_release(table, some, people=True)).values["sample_equivalent"])
    assert np.mean(found) == pytest.approx(0.25, abs=0.03)


# -- pMSE and models ---------------------------------------------------------------------------------------


def test_pmse_is_that_of_a_saturated_logistic_model():
    from sklearn.linear_model import LogisticRegression

    table = small_table()
    records = Records.of(table.cells)
    other = records.recoded(records.codes[np.random.default_rng(2).integers(0, 90, 90)])
    both = np.concatenate([records.codes, other.codes])
    cell = np.unique(both, axis=0, return_inverse=True)[1].ravel()
    label = np.repeat([0, 1], 90)
    model = LogisticRegression(C=1e8, max_iter=5000, tol=1e-10).fit(np.eye(cell.max() + 1)[cell], label)
    expected = ((model.predict_proba(np.eye(cell.max() + 1)[cell])[:, 1] - 0.5) ** 2).mean()
    compared = Fidelity(ways=1).prepare(table).compared(record_release(table, other, people=True))
    assert compared.values["pmse"] == pytest.approx(expected, abs=1e-5)


# -- columns -----------------------------------------------------------------------------------------------


def test_a_long_column_is_cut_into_bins_of_as_many_records_each_and_missing_values_stand_apart():
    generator = np.random.default_rng(5)
    income = [None if i % 50 == 0 else int(v) for i, v in enumerate(generator.lognormal(6, 1, 2000))]
    rows = pa.table({"income": income, "s": generator.choice(["a", "b"], 2000).tolist()})
    table = read(rows, quasi=["income"], sensitive=["s"], hierarchies={"income": numeric(0, 100_000)})
    column, sensitive = coded_columns(table.cells, 20)
    assert (column.bins, sensitive.bins) == (21, 2)
    codes = Records.of(table.cells).codes[:, 0]
    records = np.bincount(column.bin_of[codes], minlength=column.bins)
    assert records[-1] == 40 and records[:-1].min() > 70 and records[:-1].max() < 130
    assert (np.diff(column.bin_of[:-1]) >= 0).all()


def test_of_many_columns_so_many_sets_are_drawn_and_always_the_same():
    sets = sets_of_columns(40, 3, 100, 7)
    assert len(set(sets)) == 100 and sets == sets_of_columns(40, 3, 100, 7) != sets_of_columns(40, 3, 100, 8)
    assert sets_of_columns(4, 2, 100, 7) == tuple(combinations(range(4), 2))


def test_distances_of_a_column_by_hand():
    tree = numeric(0, 3).with_missing()
    found = column_distances(tree, np.array([2, 0, 0, 2, 0]), np.array([0.0, 2, 0, 1, 1]))
    assert found["distance"] == pytest.approx(0.75) and found["missing"] == [0, 0.25]
    # Of the numbers a half is at 0 and a half at 3 before; two thirds at 1 and a third at 3 after.
    assert found["moved"] == pytest.approx(0.5 * 1 + (2 / 3 - 0.5) * 2)
    assert column_distances(flat(["a", "b"]), np.array([1, 1]), np.array([-3.0, 5])) == {"distance": 0.5}


# -- studies and makers ------------------------------------------------------------------------------------


def test_fidelity_is_measured_where_it_is_named_and_nowhere_else():
    study = bundled_study("adult")
    assert study.scales.fidelity is None and "fidelity" not in study.to_toml()
    named = replace(study, axes=("p_loss", "marginal_error_2"))
    assert named.scales.fidelity == Fidelity() and study_from_toml(named.to_toml()) == named
    bounded = replace(study, search=SearchPlan(within="pmse 0.1"))
    assert bounded.scales.fidelity == Fidelity()
    table = small_table()
    release = sfumato.anonymize(table, "k-anonymity k=5", "mondrian")
    usual = Scales().prepare(table).measure(release).values
    measured = Scales(fidelity=Fidelity(ways=2)).prepare(table).measure(release)
    assert not set(FIDELITY) & set(usual)
    assert set(measured.values) - set(usual) == {
        "marginal_error_1", "marginal_error_2", "sample_equivalent", "pmse", "correlation_error"
    }  # fmt: skip
    assert {name: measured.values[name] for name in usual} == usual
    binned = replace(study, scales=Scales(fidelity=Fidelity(bins=50)))
    assert Study.from_toml(binned.to_toml()) == binned


def test_perturbed_synthetic_and_noisy_releases_teach_a_classifier_and_are_tested_on_people():
    generator = np.random.default_rng(6)
    age, sex = generator.integers(20, 60, 600), generator.choice(["f", "m"], 600)
    illness = np.where(age + generator.normal(0, 4, 600) > 40, "old", "young")
    rows = pa.table({"age": age, "sex": sex, "illness": illness})
    table = read(rows, quasi=["age", "sex"], sensitive=["illness"], hierarchies={"age": numeric(20, 59)})
    learning = Classification("illness", classifiers="decision-tree", folds=5, test="original")
    task = learning.prepare(table)
    records = Records.of(table.cells)
    cell = np.repeat(np.arange(table.cells.size), table.cells.counts)
    linked = task.learn(record_release(table, records, people=True, linked=cell))
    original = task.learn(anonymizer("original").anonymize(table, NO))
    assert linked.accuracy == pytest.approx(original.accuracy, abs=0.01), "a copy teaches what the original does"
    copied = task.learn(record_release(table, records, people=False))
    assert copied.accuracy > linked.accuracy, "it has seen the people it is asked about"
    shuffled = records.replaced({2: generator.permutation(records.codes[:, 2])})
    assert task.learn(record_release(table, shuffled, people=False)).accuracy < 0.65 < linked.accuracy
    counts = np.array([[0.2, 99.7], [150.4, -4.0]])
    noisy = noisy_release(table, [[0, 0], [20, 0]], [[19, 1], [39, 1]], counts, GUARANTEE)
    old = 1 if table.cells.sensitive[0].labels[1] == "old" else 0
    taught = task.learn(noisy).accuracy
    share = np.mean((age < 40) == (illness == "young"))
    assert taught == pytest.approx(share if old == 0 else 1 - share, abs=1e-9)
    prepared = Scales(classification=learning).prepare(table)
    measured = prepared.measure(record_release(table, shuffled, people=False))
    assert {"workload_accuracy", "utility_gain"} <= set(measured.values) and measured.worth is None
    perturbed = prepared.measure(anonymizer("rounding base=10").anonymize(table, NO))
    assert perturbed.worth is not None and perturbed.values["workload_accuracy"] > 0.6


TOWN, ILL = f"town {IMAGE}", f"ill {SCRIPT}"


@pytest.fixture(scope="module")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> Map:
    path = tmp_path_factory.mktemp("fidelity") / "ward.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["age", TOWN, ILL])
        for i in range(120):
            writer.writerow([20 + i % 40, [SCRIPT, IMAGE, "Rome"][i % 3], "old" if i % 40 > 20 + i % 3 else "young"])
    made = Grid((anonymizer("mondrian"),), (requirement("k-anonymity k=20"),))
    others = Grid((anonymizer("rounding base=10"), anonymizer("original")))
    table = TableDeclaration(str(path), ("age", TOWN), (ILL,))
    return explore(Study("ward", table, (made, others), axes=("empirical_breach", "marginal_error_2")))


def test_a_release_and_two_side_by_side_show_pairs_associations_and_models(
    mapped: Map, browser: Any, tmp_path: Path
) -> None:
    first, second = mapped.points[:2]
    page_path = write_report(mapped, tmp_path / "report.html")
    with opened(browser, page_path, f"#{first.id}&with={second.id}") as page:
        for place, sides in (("#point", 1), ("#compared", 2)):
            section = page.locator(place)
            assert section.locator("table.matrix").count() == 1 + 2 * sides
            said = section.inner_text()
            assert "How true" in said and f"age × {TOWN}" in said and f"2 {TOWN}" in said
            assert said.count("as good as a random sample of") == sides
        shown = page.locator("#point table.matrix").nth(0).locator("td").all_inner_texts()
    picture = first.details["fidelity"]
    expected = [picture["original"][i][j] for i, j in ((1, 0), (2, 0), (2, 1))]
    assert [float(text.replace("−", "-")) for text in shown if text] == pytest.approx(expected, abs=0.006)
    for column in first.details["columns"]:  # on the drawn bins columns are no farther apart than on their leaves
        drawn = sum(abs(before - after) for _, before, after in column["bins"]) / 2
        assert drawn <= column["distance"] + 0.001


def test_nothing_of_fidelity_is_on_the_public_page(mapped: Map, tmp_path: Path) -> None:
    page = data_of(write_report(mapped, tmp_path / "public.html", public=True))
    assert all("details" not in point and not set(FIDELITY) & set(point["measures"]) for point in page["points"])
    assert not set(FIDELITY) & {measure["name"] for measure in page["measures"]}
