"""Weights of quasi-identifiers: every loss that is made small, measured, audited or told is the same weighted mean."""

import json
import tomllib
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import plain_cuts
import plain_twins as twins
import sfumato
from command_line import run
from sfumato.anonymizers.anonymizer import loss_of
from sfumato.anonymizers.cut_vector.cut_vector import cut_space
from sfumato.anonymizers.hilbert import points_on_curve
from sfumato.anonymizers.local_recoding._sweep import domain_of
from sfumato.anonymizers.mondrian._cuts import problem_of
from sfumato.anonymizers.mondrian._scores import scoring_of
from sfumato.anonymizers.mondrian._suppression import best_trim
from sfumato.anonymizers.mondrian.mondrian import one_group, partition
from sfumato.data.cells import read_weights, scaled
from sfumato.data.declaration import TableDeclaration
from sfumato.data.hierarchies.categorical import flat, tree
from sfumato.data.hierarchies.numeric import numeric
from sfumato.data.reading import Roles
from sfumato.errors import BadInputError
from sfumato.publish.mapping import read_mapping
from sfumato.publish.pipeline import publish_point
from sfumato.release.release import generalization
from sfumato.report.folder import save_map
from sfumato.requirements.requirement import KAnonymity, requirement
from sfumato.tradeoff.exploration.explore import explore
from sfumato.tradeoff.exploration.folder import read_map
from sfumato.tradeoff.search._enumeration import exact
from sfumato.tradeoff.search.problems import Problem2
from sfumato.tradeoff.study.grids import Grid
from sfumato.tradeoff.study.study import Study, study_from_toml
from strategies import cells_of_tables, table_of, tries

DOMAINS = {"age": numeric(20, 25), "sex": flat(["f", "m"]), "town": tree([["North", "a", "b"], ["South", "c", "d"]])}
MAKERS = ("mondrian", "mondrian cut=loss", "full-domain", "local-recoding seed=1", "hilbert seed=1")
K4 = requirement("k-anonymity k=4")


def rows_of(records=60):
    random = np.random.default_rng(5)
    return {
        "age": random.integers(20, 26, records).tolist(),
        "sex": random.choice(["f", "m"], records).tolist(),
        "town": random.choice(["a", "b", "c", "d"], records, p=[0.4, 0.3, 0.2, 0.1]).tolist(),
        "illness": random.choice(["flu", "cold", "cough"], records).tolist(),
    }


def people(weights=None, order=("age", "sex", "town", "illness")):
    rows = rows_of()
    table = pa.table({name: rows[name] for name in order})
    quasi = [name for name in order if name in DOMAINS]
    return sfumato.read(table, quasi=quasi, sensitive=["illness"], hierarchies=DOMAINS, weights=weights)


@st.composite
def weighted_cells(draw, **about):
    """The cells of a small table whose quasi-identifiers have weights, some of them 0, and these as fractions."""
    cells = draw(cells_of_tables(**about))
    weight = st.sampled_from([0, 1, 1, 3, 0.5, 0.1, 40])
    weights = draw(st.lists(weight, min_size=len(cells.quasi), max_size=len(cells.quasi)).filter(any))
    quasi = tuple(replace(own, weight=w) for own, w in zip(cells.quasi, weights, strict=True))
    return replace(cells, quasi=quasi), [Fraction(str(w)) for w in weights]


def widths_of(cells):
    return [[int(width) for width in own.hierarchy.widths] for own in cells.quasi]


def plain_loss(release, weights):
    """The weighted mean over all records, from the boxes; a suppressed record costs 1."""
    widths, boxes = widths_of(release.cells), release.boxes
    lost = [
        int(mass) * twins.box_loss(widths, lo, hi, weights)
        for lo, hi, mass in zip(boxes.lo.tolist(), boxes.hi.tolist(), boxes.mass, strict=True)
    ]
    return (sum(lost) + release.suppressed) / Fraction(release.cells.records)


# -- measures, audit ---------------------------------------------------------------------------------------


@given(weighted_cells(sensitive=(0, 0)), st.data())
@tries(60)
def test_the_measured_loss_is_the_weighted_mean(given_cells, data):
    cells, weights = given_cells
    group = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=cells.size, max_size=cells.size)))
    assume((group >= 0).any())
    kept = np.unique(group[group >= 0])
    group = np.where(group >= 0, np.searchsorted(kept, group), -1)
    wide = data.draw(st.booleans())
    lo, hi = np.array(
        [
            cells.whole if wide else (cells.codes[group == g].min(axis=0), cells.codes[group == g].max(axis=0))
            for g in range(len(kept))
        ]
    ).transpose(1, 0, 2)
    release = generalization(table_of(cells), cells.assigned(group), lo, hi)
    measured, expected = sfumato.measure(release), plain_loss(release, weights)
    assert measured["loss"] == pytest.approx(float(expected), abs=1e-12) and measured["loss"] <= 1
    suppressed = Fraction(release.suppressed, cells.records)
    assert measured["generalization_loss"] == pytest.approx(float(expected - suppressed), abs=1e-12)
    assert measured["suppression_loss"] == pytest.approx(float(suppressed))
    assert loss_of(release) == pytest.approx(float(expected * cells.records))


@pytest.mark.parametrize("weights", [{"age": 3, "sex": 0.5}, {"town": 0}])
def test_maker_measure_audit_and_fractions_agree(weights, tmp_path):
    table, unweighted = people(weights), people()
    fractions = [Fraction(str(weights.get(name, 1))) for name in DOMAINS]
    for number, maker in enumerate((*MAKERS, "mondrian cut=loss")):
        suppress = 0.2 if number == len(MAKERS) else 0.0
        release = sfumato.anonymize(table, K4, maker, suppress=suppress)
        [path] = release.to_csv(tmp_path / f"{number}.csv")
        expected = float(plain_loss(release, fractions))
        assert sfumato.measure(release)["loss"] == pytest.approx(expected)
        audited = sfumato.audit(path, original=table, require="k-anonymity k=4")
        assert audited.holds and audited["loss"] == pytest.approx(expected)  # also of what weighs 0
        assert any("by these weights: age" in notice for notice in audited.notices)
        given_here = sfumato.audit(path, DOMAINS, ["illness"], original=unweighted, weights=weights)
        assert given_here["loss"] == pytest.approx(expected)
        plain = sfumato.audit(path, DOMAINS, ["illness"], original=unweighted)
        assert plain["loss"] == pytest.approx(float(plain_loss(release, [1, 1, 1])))
        if maker == "full-domain":
            assert release.details["minimum"] == pytest.approx(expected)


# -- what is made small ------------------------------------------------------------------------------------


@given(weighted_cells(sensitive=(0, 0), most_leaves=5), st.integers(1, 5), st.integers(0, 6))
@tries(60)
def test_the_full_domain_optimum_is_that_of_brute_force(given_cells, k, budget):
    (cells, weights), losses = given_cells, []
    widths, hierarchies = widths_of(cells), [own.hierarchy for own in cells.quasi]
    for levels in product(*(range(len(own.levels)) for own in hierarchies)):
        groups = {}
        for record in twins.records_of(cells):
            box = [
                next((a, b - 1) for a, b in pairwise([*own.levels[level].starts, own.size]) if a <= code < b)
                for own, level, code in zip(hierarchies, levels, record.codes, strict=True)
            ]
            groups.setdefault(tuple(box), []).append(record)
        kept = {box: len(own) for box, own in groups.items() if len(own) >= k}
        left_out = cells.records - sum(kept.values())
        if kept and left_out <= budget:
            lost = [size * twins.box_loss(widths, *zip(*box, strict=True), weights) for box, size in kept.items()]
            losses.append((sum(lost) + left_out) / Fraction(cells.records))
    found = sfumato.anonymizers.FullDomain().find(table_of(cells), KAnonymity(k), budget)
    assert (found.best is None) == (not losses)
    if losses:
        assert found.value == pytest.approx(float(min(losses)), abs=1e-9)


def test_a_maker_may_weigh_otherwise_than_its_table():
    table, own = people({"age": 3}), sfumato.anonymizers.FullDomain(weights="age=1, town=9")
    same = people({"town": 9})
    assert own.find(table, K4, 0).value == sfumato.anonymizers.FullDomain().find(same, K4, 0).value
    assert own.find(table, K4, 0).value != sfumato.anonymizers.FullDomain().find(table, K4, 0).value


@pytest.mark.parametrize("weights", [{"age": 7, "sex": 0.1}, {"sex": 0}])
def test_the_exact_frontier_of_cuts_is_that_of_brute_force(weights):
    table, wanted = people(weights), Problem2(0.2, minimize="loss")
    cells, space = table.cells, cut_space(table.cells)
    fractions, widths = [Fraction(str(weights.get(name, 1))) for name in DOMAINS], widths_of(table.cells)
    best = {}
    for parts in product(*(own.every() for own in space.attributes)):
        ends = [
            [0, *own.leaf_cuts(cuts), own.hierarchy.size] for own, cuts in zip(space.attributes, parts, strict=True)
        ]
        sizes = {}
        for codes, count in zip(cells.codes.tolist(), cells.counts.tolist(), strict=True):
            box = tuple(
                next((a, b - 1) for a, b in pairwise(own) if a <= code < b)
                for own, code in zip(ends, codes, strict=True)
            )
            sizes[box] = sizes.get(box, 0) + count
        for k in set(sizes.values()):
            kept = {box: size for box, size in sizes.items() if size >= k}
            left_out = cells.records - sum(kept.values())
            if left_out <= 0.2 * cells.records:
                lost = [size * twins.box_loss(widths, *zip(*box, strict=True), fractions) for box, size in kept.items()]
                loss = (sum(lost) + left_out) / Fraction(cells.records)
                best[k] = min(best.get(k, loss), loss)
    frontier = {k: loss for k, loss in best.items() if all(loss < best[other] for other in best if other > k)}
    found = {int(point.values["k"]): point.values["loss"] for point in exact(table, wanted, space)}
    assert found == pytest.approx({k: float(loss) for k, loss in frontier.items()}, abs=1e-9)


@given(weighted_cells(), st.integers(1, 4))
@tries(60)
def test_cuts_by_the_loss_are_the_twins(given_cells, k):
    cells, weights = given_cells
    widths = widths_of(cells)
    records = [plain_cuts.Record(*record, None) for record in twins.records_of(cells)]
    assume(len(records) >= k)

    def score(whole, left, right, attribute, widths):
        costs = [len(part) * twins.box_loss(widths, *twins.box_of(part), weights) for part in (whole, left, right)]
        return (costs[0] - costs[1] - costs[2]) / Fraction(len(whole))

    expected = plain_cuts.mondrian(records, widths, lambda part: len(part) >= k, score)
    everything = (np.arange(cells.size), cells.counts, *cells.whole)
    scoring = scoring_of(table_of(cells), "loss", None)
    groups = partition(problem_of(cells, KAnonymity(k)), *everything, False, np.zeros(1, np.uint64), scoring)
    boxes = sorted(map(tuple, groups.boxes[:, : 2 * len(cells.quasi)].tolist()))
    assert boxes == sorted((*lo, *hi) for lo, hi in map(twins.box_of, expected))


@given(weighted_cells(rows=20, sensitive=(0, 0)), st.integers(1, 4), st.integers(1, 9))
@tries(60)
def test_a_trim_gains_what_it_says(given_cells, k, budget):
    cells, weights = given_cells
    assume(cells.records >= k)
    problem, records, widths = problem_of(cells, KAnonymity(k)), twins.records_of(cells), widths_of(cells)
    everything = (np.arange(cells.size), cells.counts)
    box = one_group(problem, *everything, *cells.whole).boxes[0]
    attribute, code, keep_left, cost, gain = best_trim(problem, *everything, box, budget)
    assume(attribute >= 0)
    lo, hi = map(list, twins.box_of(records))
    before, codes = twins.box_loss(widths, lo, hi, weights), [record.codes[attribute] for record in records]
    kept = [own for own in codes if (own <= code) == keep_left]
    lo[attribute], hi[attribute] = min(kept), max(kept)
    after = twins.box_loss(widths, lo, hi, weights)
    assert cost == len(codes) - len(kept) <= budget
    assert gain == pytest.approx(float(cost * (before - 1) + len(kept) * (before - after)), abs=1e-9)


@given(weighted_cells(rows=5, sensitive=(0, 0)), st.integers(1, 4))
@tries(40)
def test_the_curve_is_cut_where_the_weighted_loss_is_least(given_cells, k):
    (cells, weights), points = given_cells, points_on_curve(given_cells[0])
    codes = [cells.codes[cell].tolist() for cell, n in zip(points.cells, points.weights, strict=True) for _ in range(n)]
    assume(k <= len(codes) <= 10)
    release = sfumato.anonymizers.Hilbert(seed=1).release(table_of(cells), KAnonymity(k), "generalization", 0)
    widths, costs = widths_of(cells), []
    for number in range(len(codes)):
        for inner in combinations(range(1, len(codes)), number):
            parts = [codes[a:b] for a, b in pairwise([0, *inner, len(codes)])]
            if all(len(part) >= k for part in parts):
                boxes = [tuple(tuple(map(end, zip(*part, strict=True))) for end in (min, max)) for part in parts]
                costs.append(
                    sum(len(p) * twins.box_loss(widths, *b, weights) for p, b in zip(parts, boxes, strict=True))
                )
    assert loss_of(release) == pytest.approx(float(min(costs)), abs=1e-9)


@given(weighted_cells(sensitive=(0, 0)))
@tries(30)
def test_local_recoding_pays_for_nodes_by_their_weight(given_cells):
    cells, weights = given_cells
    domain, widths = domain_of(cells, KAnonymity(1)), widths_of(cells)
    for a, own in enumerate(cells.quasi):
        for level, nodes in enumerate(own.hierarchy.levels):
            for first, end in pairwise([*nodes.starts, own.hierarchy.size]):
                expected = weights[a] * twins.interval_loss(widths[a], first, end - 1) / sum(weights)
                assert domain.losses[a, level, first:end] == pytest.approx(float(expected))


# -- only ratios matter ------------------------------------------------------------------------------------


def test_scaled_weights_and_other_orders_of_columns_change_nothing():
    tables = [
        people({"age": 0.1, "sex": 0.3, "town": 0.2}),
        people({"age": 1, "sex": 3, "town": 2}),
        people({"town": 2, "sex": 3}, ("illness", "town", "age", "sex")),
    ]
    for maker in MAKERS:
        made = [sfumato.measure(sfumato.anonymize(table, K4, maker)).values for table in tables]
        assert made[0] == made[1] == made[2]
    alike = people({"age": 7, "sex": 7, "town": 7})
    assert not alike.roles.weights and alike.roles == people().roles


def test_weights_are_scaled_to_a_mean_of_one():
    assert scaled([1, 1, 1]) == [1.0, 1.0, 1.0] and scaled([0.1, 0.3]) == scaled([1, 3]) == [0.5, 1.5]
    assert scaled([1e300, 1e-300]) == [2.0, 0.0]


# -- what is refused, said and kept ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ({"agee": 2}, "'agee' is no quasi-identifier; these are age, zip"),
        ({"age": -1}, "the weight of 'age' must be a number of at least 0, not -1"),
        ({"age": float("nan")}, "'age' must be a number of at least 0, not nan"),
        ({"age": float("inf")}, "'age' must be a number of at least 0, not inf"),
        ({"age": "2"}, "'age' must be a number of at least 0, not '2'"),
        ({"age": True}, "'age' must be a number of at least 0, not True"),
        ({"age": 0, "zip": 0}, "at least one quasi-identifier must weigh more than 0"),
    ],
)
def test_what_cannot_be_a_weight_is_refused(weights, says):
    with pytest.raises(BadInputError, match=says):
        Roles(("age", "zip"), weights=tuple(weights.items()))
    with pytest.raises(BadInputError, match=says):
        TableDeclaration("t.csv", ("age", "zip"), weights=weights).roles  # noqa: B018


def test_weights_as_texts():
    assert read_weights(["age=2", '"zip, code"=0.5, sex=0']) == {"age": 2.0, "zip, code": 0.5, "sex": 0.0}
    for texts, says in (["age"], "cannot read 'age'"), (["age=much"], "not 'much'"), (["a=1", "a=2"], "appears twice"):
        with pytest.raises(BadInputError, match=says):
            read_weights(texts)
    with pytest.raises(BadInputError, match="weights must map columns to numbers"):
        TableDeclaration("t.csv", ("age",), weights=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, and the maps of it with weights and without."""
    path = tmp_path_factory.mktemp("weights")
    pyarrow.csv.write_csv(pa.table(rows_of()), path / "t.csv")
    for name, weights in (("plain", {}), ("heavy", {"age": 3, "sex": 0})):
        declared = TableDeclaration(str(path / "t.csv"), ("age", "sex", "town"), ("illness",), weights=weights)
        grid = Grid(
            (sfumato.anonymizer("mondrian"), sfumato.anonymizers.FullDomain()), (K4, requirement("k-anonymity k=9"))
        )
        study = Study("people", declared, (grid,), axes=("k", "loss"))
        (path / f"{name}.toml").write_text(study.to_toml(path))
        (path / name).mkdir()
        save_map(explore(study, path / name / "cache.jsonl", 1), path / name)
    return path


def test_a_map_keeps_its_weights_apart_and_says_them(folder):
    heavy, plain = read_map(folder / "heavy"), read_map(folder / "plain")
    assert heavy.about["weights"] == {"age": 3, "sex": 0, "town": 1} and "weights" not in plain.about
    assert "weights" not in tomllib.loads((folder / "plain/study.toml").read_text())["table"]
    again = study_from_toml((folder / "heavy.toml").read_text(), str(folder / "heavy.toml"))
    assert again.table.weights == {"age": 3, "sex": 0}
    keys = [map_.study.opened().key for map_ in (heavy, plain)]
    assert keys[0] != keys[1]
    losses = [{point.id: point.measures["loss"] for point in map_.points} for map_ in (heavy, plain)]
    assert losses[0].keys() == losses[1].keys() and losses[0] != losses[1]
    said = "age 3, sex 0, town 1; what weighs 0 is protected like the others"
    for words in (("choose",), ("ask", "k within loss 0.9", "--search", "0")):
        code, out, _ = run(words[0], folder / "heavy", *words[1:], "--details")
        assert code == 0 and said in " ".join(out.split())
        assert "by these weights" not in run(words[0], folder / "plain", *words[1:], "--details")[1]
        values = run(words[0], folder / "heavy", *words[1:], "--json")[1]
        assert json.loads(values)["weights"] == heavy.about["weights"]
    assert said in (folder / "heavy/report.html").read_text()


def test_a_release_says_its_weights_and_new_data_is_recoded_by_them(folder, tmp_path):
    point = next(point for point in read_map(folder / "heavy").points if point.anonymizer == "mondrian")
    publish_point(folder / "heavy", point.id, tmp_path / "r.csv", mapping=tmp_path / "m.json")
    for name in ("certificate", "certificate-public"):
        content = json.loads((tmp_path / f"r.csv.{name}.json").read_text())
        assert content["columns"]["weights"] == {"age": 3, "sex": 0, "town": 1}
        assert any("age 3, sex 0, town 1" in meaning["text"] for meaning in content["meanings"])
        assert "age 3, sex 0, town 1" in (tmp_path / f"r.csv.{name}.html").read_text()
    mapping = read_mapping(tmp_path / "m.json")
    assert dict(mapping.roles.weights) == {"age": 3, "sex": 0, "town": 1}
    hierarchies = [mapping.hierarchies[name] for name in ("age", "sex", "town")]
    lost = [
        3 * hierarchies[0].loss(lo[0], hi[0]) + hierarchies[2].loss(lo[2], hi[2])
        for lo, hi in zip(mapping.lo.tolist(), mapping.hi.tolist(), strict=True)
    ]
    assert lost == pytest.approx(sorted(lost)) and len(lost) > 1


def test_the_command_line_weighs(folder, tmp_path):
    roles = ["--quasi", "age,sex,town", "--sensitive", "illness"]
    made = [folder / "t.csv", *roles, "--require", "k-anonymity k=4", "--with", "full-domain"]
    to = ["--to", tmp_path / "r.csv", "--force", "--json"]
    code, out, _ = run("anonymize", *made, "--set", "weight=age=3,sex=0", *to)
    heavy = json.loads(out)
    assert code == 0 and heavy["weights"] == {"age": 3, "sex": 0, "town": 1}
    against = ["audit", tmp_path / "r.csv", *roles, "--original", folder / "t.csv", "--json"]
    code, out, _ = run(*against, "--set", "weight=age=3", "--set", "weight=sex=0")
    assert code == 0 and json.loads(out)["measures"]["loss"] == pytest.approx(heavy["loss"])
    code, out, _ = run(*against)
    assert code == 0 and json.loads(out)["measures"]["loss"] != pytest.approx(heavy["loss"])
    for words, says in (
        (
            ["anonymize", *made, "--set", "weight=agee=3", *to],
            "'agee' is no quasi-identifier; these are age, sex, town",
        ),
        (["anonymize", *made, "--set", "weight=age", *to], "cannot read 'age'"),
        (["audit", tmp_path / "r.csv", *roles, "--set", "weight=age=3"], "give that too (--original)"),
        (
            ["audit", tmp_path / "r.csv", "--original", folder / "heavy.toml", "--set", "weight=age=3"],
            "leave the option out",
        ),
    ):
        code, _, err = run(*words)
        assert code == 2 and says in " ".join(err.split()), err
