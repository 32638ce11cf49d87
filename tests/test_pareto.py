"""Cut vectors: the space, the counting kernels against plain numpy, the frontier against brute force, the audit."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.anonymizers import anonymizer
from sfumato.anonymizers.cut_vector import _evaluation as counting
from sfumato.anonymizers.cut_vector._evaluation import CutTable
from sfumato.anonymizers.cut_vector.cut_vector import CutAttribute, CutSpace, CutVector, cut_space
from sfumato.auditing.audit import audit
from sfumato.data.declaration import TableDeclaration
from sfumato.data.hierarchies.categorical import tree
from sfumato.data.hierarchies.numeric import numeric
from sfumato.data.reading import read
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.measures.groups import measure
from sfumato.requirements.requirement import requirement
from sfumato.tradeoff.comparison import non_dominated
from sfumato.tradeoff.exploration.explore import explore
from sfumato.tradeoff.search._enumeration import exact
from sfumato.tradeoff.search._variation import cross, drawn, flip, levelled, mutate, neighbours, tree_of
from sfumato.tradeoff.search.pareto import NSGA2, Search, pareto
from sfumato.tradeoff.search.problems import MeasuredProblem, Problem1, Problem2, Problem3, Problem4, problem
from sfumato.tradeoff.study.study import Study
from small_tables import small_table
from strategies import cells_of_tables, hierarchies, table_of, tries

SMALL = NSGA2(population=24, generations=12, seed=3)


# -- plain twins -------------------------------------------------------------------------------------------


def plain_groups(cells, space, vector):
    """The groups of a vector: a dict from the parts to the cells."""
    keys = []
    for row in cells.codes:
        key = []
        for own, cuts, code in zip(space.attributes, space.parts(vector), row, strict=True):
            atom = int(np.searchsorted(own.starts, code, side="right") - 1)
            key.append(int(cuts[:atom].sum()))
        keys.append(tuple(key))
    groups = {}
    for i, key in enumerate(keys):
        groups.setdefault(key, []).append(i)
    return groups


def atom_of(own, leaf):
    """The atom that holds a leaf."""
    return int(np.searchsorted(own.starts, leaf, side="right") - 1)


def plain_group_facts(cells, space, vector, privacy):
    """Size, diversity and loss of one record, of every group."""
    found = []
    for key, members in plain_groups(cells, space, vector).items():
        size = int(cells.counts[members].sum())
        loss = 0.0
        for own, cuts, part in zip(space.attributes, space.parts(vector), key, strict=True):
            inside = [leaf for leaf in range(own.hierarchy.size) if int(cuts[: atom_of(own, leaf)].sum()) == part]
            share = sum(own.hierarchy.widths[leaf] for leaf in inside) / sum(own.hierarchy.widths)
            leaves = own.hierarchy.size
            loss += max((share - 1 / leaves) / (1 - 1 / leaves), 0) if len(inside) > 1 else 0.0
        diversity = 0.0
        if privacy != "k":
            counts = np.bincount(cells.values[members, 0], weights=cells.counts[members])
            diversity = float((counts > 0).sum()) if privacy == "l-distinct" else size / counts.max()
        found.append((size, diversity, loss))
    return found


def plain_row(groups, keeps, columns):
    """Losses and what is left where `keeps` says which groups are."""
    total = sum(size for size, _, _ in groups)
    left = [own for own in groups if keeps(own)]
    generalized = sum(size * loss for size, _, loss in left) / (total * columns)
    suppressed = 1 - sum(size for size, _, _ in left) / total
    return generalized, suppressed, min(size for size, _, _ in left), min(own[1] for own in left)


def plain_best(groups, budget, of):
    """The largest privacy such that groups below it hold at most the budget."""
    fits = [of(own) for own in groups if sum(g[0] for g in groups if of(g) < of(own)) <= budget]
    return max(fits)


# -- the space ---------------------------------------------------------------------------------------------


def is_node_partition(own, cuts):
    """The definition: every part is a node of some level."""
    parts, first = [], 0
    for atom in range(own.bits + 1):
        if atom == own.bits or cuts[atom]:
            last = own.starts[atom + 1] - 1 if atom < own.bits else own.hierarchy.size - 1
            parts.append((int(own.starts[first]), int(last)))
            first = atom + 1
    return all(part in own.hierarchy.nodes for part in parts)


@given(hierarchies(1, 6), st.data())
@tries(60)
def test_constrained_cut_sets_are_the_partitions_into_nodes(hierarchy, data):
    level = data.draw(st.integers(0, hierarchy.height))
    own = CutAttribute("a", hierarchy, True, level)
    every = [np.array(bits, np.uint8) for bits in product((0, 1), repeat=own.bits)]
    valid = {cuts.tobytes() for cuts in every if is_node_partition(own, cuts)}
    assert {cuts.tobytes() for cuts in every if own.is_valid(cuts)} == valid
    assert {cuts.tobytes() for cuts in own.every()} == valid
    assert own.count == len(own.every()) == len(valid)


@given(cells_of_tables(sensitive=(0, 0)), st.integers(0, 2**32 - 1), st.booleans())
@tries(60)
def test_no_operator_leaves_the_space(cells, seed, constrain):
    names = [quasi.name for quasi in cells.quasi]
    space = cut_space(cells, constrained=names if constrain else names[:1])
    generator = np.random.default_rng(seed)
    layout = tree_of(space)
    left, right = drawn(space, 12, generator, True), drawn(space, 12, generator, False)
    for vector in (*left, *right, *levelled(space, 5, generator)):
        assert space.is_valid(vector)
    for vector in left[:3]:
        assert all(space.is_valid(other) for other in neighbours(space, vector))
    for swap in (False, True):
        both = np.sort(np.stack([left, right]), axis=0)
        cross(left, right, layout, generator.random((12, len(names), 2)), swap)
        assert all(space.is_valid(vector) for vector in (*left, *right))
        assert (np.sort(np.stack([left, right]), axis=0) == both).all()  # every bit is still there, in one of the two
    mutate(left, layout, generator.random((12, len(names), 3)), 1.0)
    flip(right, layout, generator.random((12, space.bits)), 0.5)
    assert all(space.is_valid(vector) for vector in (*left, *right))


def test_constrained_parents_are_crossed_behind_their_common_cut():
    space = CutSpace((CutAttribute("x", tree([["A", "a", "b", "c"], ["B", "d", "e", "f"]]), True),))
    left, right = np.array([[1, 1, 1, 1, 1]], np.uint8), np.array([[0, 0, 1, 0, 0]], np.uint8)
    cross(left, right, tree_of(space), np.array([[[0.9, 0.9]]]), False)
    assert left.tolist() == [[1, 1, 1, 0, 0]] and right.tolist() == [[0, 0, 1, 1, 1]]


def test_mutation_reaches_every_valid_cut_set():
    own = tree([["A", ["AA", "a", "b"], "c"], ["B", "d", "e", "f"]])
    attribute = CutAttribute("x", own, True)
    space = CutSpace((attribute,))
    generator, layout = np.random.default_rng(0), tree_of(space)
    vectors = np.zeros((40, space.bits), np.uint8)
    seen = set()
    for _ in range(60):
        mutate(vectors, layout, generator.random((40, 1, 3)), 1.0)
        seen |= {vector.tobytes() for vector in vectors}
    assert seen | {bytes(space.bits)} == {cuts.tobytes() for cuts in attribute.every()}


@given(cells_of_tables(sensitive=(0, 0)), st.integers(0, 2**32 - 1))
@tries(60)
def test_the_text_of_a_vector_makes_its_groups(cells, seed):
    space = cut_space(cells, constrained=())
    for vector in drawn(space, 3, np.random.default_rng(seed), True):
        maker = CutVector(space.text(vector))
        assert anonymizer(str(maker)) == maker
        release = maker.anonymize(table_of(cells), requirement("k-anonymity k=1"))
        sizes = sorted(int(cells.counts[members].sum()) for members in plain_groups(cells, space, vector).values())
        assert sorted(release.sizes.tolist()) == sizes


def test_names_and_labels_with_marks_go_through_the_text():
    rows = {"a, b=c": ["x|y", 'q"uote', "@0", "", "z"] * 2}
    import pyarrow as pa

    table = read(pa.table(rows), quasi=["a, b=c"])
    space = cut_space(table.cells, constrained=())
    for vector in drawn(space, 20, np.random.default_rng(1), True):
        maker = CutVector(space.text(vector))
        assert anonymizer(str(maker)) == maker
        assert maker.anonymize(table, requirement("k-anonymity k=1")).groups == vector.sum() + 1


@pytest.mark.parametrize(
    ("cuts", "says"), [("age", "cannot read"), ("age=1, age=2", "appears twice"), ("age=@x", "is no level")]
)
def test_bad_cuts_are_refused_at_once(cuts, says):
    with pytest.raises(BadInputError, match=says):
        CutVector(cuts)


def test_unknown_names_values_and_levels_are_refused(small):
    for cuts, says in (("size=1", "no quasi-identifier"), ("age=300", "no value of"), ("age=@9", "has the levels")):
        with pytest.raises(BadInputError, match=says):
            CutVector(cuts).anonymize(small, requirement("k-anonymity k=1"))


def test_too_little_suppression_says_how_much_it_takes(small):
    with pytest.raises(InfeasibleError, match=r"allow --suppress 0\.\d+"):
        CutVector("age=@0, sex=@0").anonymize(small, requirement("k-anonymity k=4"))


# -- the kernels -------------------------------------------------------------------------------------------


@given(cells_of_tables(sensitive=(1, 1), rows=24), st.integers(0, 2**32 - 1), st.floats(0, 1))
@tries(40)
def test_facts_agree_with_plain_python(cells, seed, eta):
    space = cut_space(cells)
    columns = len(space.attributes)
    budget = int(eta * cells.records + 1e-9)
    vectors = drawn(space, 3, np.random.default_rng(seed), True)
    for name, privacy in (("k", counting.SIZE), ("l-frequency", counting.FREQUENCY), ("l-distinct", counting.DISTINCT)):
        table = CutTable.of(cells, space, diverse=name != "k")

        def of(own, name=name):
            return own[0] if name == "k" else own[1]

        for i, vector in enumerate(vectors):
            groups = plain_group_facts(cells, space, vector, name)
            mean = sum(of(own) * own[0] for own in groups) / cells.records
            best = plain_best(groups, budget, of)
            for kind, bound, reached in (
                (counting.KEEP_ALL, 0, mean),
                (counting.LIMITED, best, best),
                (counting.FREE, mean * (1 - 1e-9), mean),
            ):
                expected = plain_row(groups, lambda own, bound=bound, of=of: of(own) >= bound, columns)
                [row] = table.facts(vectors, kind, privacy, budget)[i]
                assert row[counting.PRIVACY] == pytest.approx(reached, abs=1e-9)
                assert row[1:5] == pytest.approx(expected, abs=1e-9)
            rows = table.facts(vectors, counting.LIMITED, privacy, budget, every=True)[i]
            thresholds = sorted({of(own) for own in groups if of(own) <= best}, reverse=True)
            assert rows[:, counting.PRIVACY].tolist() == pytest.approx(thresholds)
            for bound, row in zip(thresholds, rows, strict=True):
                expected = plain_row(groups, lambda own, bound=bound, of=of: of(own) >= bound, columns)
                assert row[1:5] == pytest.approx(expected, abs=1e-9)


@given(cells_of_tables(sensitive=(1, 1), rows=24), st.integers(0, 2**32 - 1), st.floats(0, 1))
@tries(60)
def test_safe_pairs_agree_with_plain_python(cells, seed, eta):
    space = cut_space(cells)
    budget = int(eta * cells.records + 1e-9)
    vectors = drawn(space, 3, np.random.default_rng(seed), True)
    for name, privacy in (("l-frequency", counting.FREQUENCY), ("l-distinct", counting.DISTINCT)):
        table = CutTable.of(cells, space, diverse=True)
        facts = table.facts(vectors, counting.SAFE, privacy, budget)
        for vector, rows in zip(vectors, facts, strict=True):
            groups = plain_group_facts(cells, space, vector, name)
            pairs = set()
            for l in range(1, cells.sensitive[0].size + 1):
                ks = [
                    k
                    for k in {own[0] for own in groups}
                    if any(own[0] >= k and own[1] + 1e-9 >= l for own in groups)
                    and sum(own[0] for own in groups if own[0] < k or own[1] + 1e-9 < l) <= budget
                ]
                assert (len(rows) >= l) == bool(ks)
                for k in ks:
                    wanted = plain_row(
                        groups, lambda own, k=k, l=l: own[0] >= k and own[1] + 1e-9 >= l, len(space.attributes)
                    )
                    pairs.add((wanted[2], int(wanted[3] + 1e-9), round(wanted[0], 9), round(wanted[1], 9)))
                    if k == max(ks):
                        assert rows[l - 1][counting.PRIVACY] == k
                        assert rows[l - 1][1:5] == pytest.approx(wanted, abs=1e-9)
            every = table.facts(vector[None], counting.SAFE, privacy, budget, every=True)[0]
            k, general, suppressed, _, l = every[:, :5].T.round(9)
            found = list(zip(k, np.floor(l + 1e-9), general, suppressed, strict=True))
            assert np.array(sorted(found)) == pytest.approx(np.array(sorted(pairs)), abs=1e-8)  # each once


def test_the_printed_order_claims_what_does_not_hold():
    import pyarrow as pa

    rows = {"a": list("xxxxxyyz"), "s": list("11111121")}
    table = read(pa.table(rows), quasi=["a"], sensitive=["s"])
    vector = np.ones((1, 2), np.uint8)
    facts = CutTable.of(table.cells, cut_space(table.cells), diverse=True)
    row = facts.facts(vector, counting.PAPER_L, counting.DISTINCT, 1)[0][0]
    assert (row[counting.SMALLEST], row[counting.LEAST]) == (2, 2)  # claimed, but x has the value 1 alone
    sound = facts.facts(vector, counting.SAFE, counting.DISTINCT, 1)[0]
    assert len(sound) == 1 and sound[0, counting.PRIVACY] == 2


# -- frontiers ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small():
    return small_table()


ALL_PROBLEMS = [
    Problem1(),
    Problem1("l-frequency"),
    Problem2(0.1),
    Problem2(0.0),
    Problem2(1.0),
    Problem2(0.1, "l-distinct"),
    Problem2(0.2, "l-frequency", minimize="loss"),
    Problem3(),
    Problem3("l-distinct"),
    Problem4(0.1),
    Problem4(0.2, "distinct"),
    Problem2(0.3, minimize="loss"),
    Problem4(0.3, minimize="loss"),
]


@pytest.mark.parametrize("wanted", ALL_PROBLEMS, ids=str)
def test_exact_frontier_is_that_of_brute_force(small, wanted):
    """Every allowed vector is made as a release and measured by the public measures, without the kernels' help."""
    space = cut_space(small.cells)
    found = exact(small, wanted, space)
    assert found.exact and found.evaluations == space.count
    vectors = [np.concatenate(parts) for parts in product(*(own.every() for own in space.attributes))]
    judged = np.concatenate([plain_costs(small, space, vector, wanted) for vector in vectors])
    best = np.unique(judged[non_dominated(judged)].round(9), axis=0)
    assert np.unique(found.costs.round(9), axis=0) == pytest.approx(best)
    assert problem(str(wanted)) == wanted


def plain_costs(table, space, vector, wanted):
    """All rows of objectives of one vector, lower is better, from plain Python."""
    groups = plain_group_facts(table.cells, space, vector, wanted.privacy)
    columns, n = len(space.attributes), table.cells.records
    of = (lambda own: own[0]) if wanted.privacy == "k" else (lambda own: own[1])
    budget = int(wanted.share * n + 1e-9)
    mean = sum(of(own) * own[0] for own in groups) / n
    if isinstance(wanted, Problem1):
        return np.array([[-mean, plain_row(groups, lambda own: True, columns)[0]]])
    if isinstance(wanted, Problem3):
        row = plain_row(groups, lambda own: of(own) >= mean * (1 - 1e-9), columns)
        return np.array([[-mean, row[0], row[1]]])
    rows, lost = [], (lambda row: row[0] + (row[1] if wanted.minimize == "loss" else 0))
    if isinstance(wanted, Problem2):
        for least in {of(own) for own in groups if of(own) <= plain_best(groups, budget, of)}:
            rows.append([-least, lost(plain_row(groups, lambda own, least=least: of(own) >= least, columns))])
        return np.array(rows)
    for k, l in product({own[0] for own in groups}, range(1, 4)):
        bad = [own[0] for own in groups if own[0] < k or own[1] + 1e-9 < l]
        if sum(bad) <= budget and len(bad) < len(groups):
            row = plain_row(groups, lambda own, k=k, l=l: own[0] >= k and own[1] + 1e-9 >= l, columns)
            rows.append([-k, -l, lost(row)])
    return np.array(rows, np.float64).reshape(len(rows), 3)


@pytest.mark.parametrize("wanted", ALL_PROBLEMS, ids=str)
def test_every_point_is_a_release_that_the_audit_confirms(small, wanted, tmp_path):
    frontier = pareto(small, wanted, solver=SMALL)
    assert len(non_dominated(frontier.costs)) == len(frontier) > 0
    for i, point in enumerate(frontier.points[:: max(1, len(frontier) // 4)]):
        candidate = point.candidate
        release = candidate.anonymizer.anonymize(small, candidate.requirement, suppress=candidate.suppress)
        assert release.suppressed / small.cells.records <= point.values["suppression_loss"] + 1e-12
        path = tmp_path / f"{i}.csv"
        release.to_csv(path)
        checked = audit(
            path,
            ["age", "sex", "town"],
            ["illness"],
            original=small,
            require=str(candidate.requirement),
            suppressed="keep",
        )
        assert checked.holds
        for name in ("k", "l_frequency", "l_distinct"):
            if name in point.values and not isinstance(wanted, Problem3):
                assert checked[name] >= point.values[name] - 1e-6
        if release.suppressed / small.cells.records == pytest.approx(point.values["suppression_loss"]):
            own = measure(release)
            assert own["generalization_loss"] == pytest.approx(point.values["generalization_loss"])


def test_search_finds_the_exact_frontier_of_a_small_space(small):
    wanted = Problem2(0.1)
    everything = exact(small, wanted)
    found = pareto(small, wanted, solver=NSGA2(population=40, generations=30))
    assert found.costs == pytest.approx(everything.costs)
    within = exact(small, wanted, within="levels")
    assert within.evaluations == 2 * 2 * 3 and not within.exact


def test_same_seed_same_frontier_for_any_number_of_threads(small):
    ones = [pareto(small, Problem4(0.1), solver=SMALL, workers=workers) for workers in (1, 2, 5)]
    assert [own.points for own in ones] == [ones[0].points] * 3
    other = Search(small, Problem4(0.1), solver=NSGA2(population=24, generations=2, seed=4, operators="paper")).run()
    again = Search(small, Problem4(0.1), solver=NSGA2(population=24, generations=2, seed=5, operators="paper")).run()
    assert other.points != again.points


def test_stopped_and_continued_is_the_same_as_at_once(small):
    whole = pareto(small, Problem2(0.1), solver=SMALL)
    search = Search(small, Problem2(0.1), solver=SMALL)
    first = search.run(generations=4)
    assert search.generation == 4 and first.evaluations < whole.evaluations
    assert search.run().points == whole.points
    assert len(search.evaluator.known) == whole.evaluations


def test_time_limit_and_ctrl_c_return_the_best_so_far(small):
    stopped = Search(small, Problem2(0.1), solver=SMALL)
    stopped.run(generations=1)
    found = stopped.run(seconds=1e-9)
    assert found.stopped == "time" and len(found) > 0

    def pressed(done, total, last):
        if done == 3:
            raise KeyboardInterrupt

    found = pareto(small, Problem2(0.1), solver=SMALL, progress=pressed)
    assert found.stopped == "interrupted" and len(found) > 0


def test_a_search_can_begin_with_what_was_found_before(small):
    first = pareto(small, Problem2(0.1), solver=SMALL)
    search = Search(small, Problem2(0.1), solver=NSGA2(population=40, generations=1), start=first.vectors)
    assert search.run(generations=1).costs.shape[0] >= 1
    best = np.concatenate([search.archive.costs, first.costs])
    assert len(np.unique(best[non_dominated(best)], axis=0)) == len(search.archive.costs)


def test_no_vector_is_worked_out_twice(small):
    search = Search(small, Problem1(), solver=SMALL)
    seen = []
    judge = search.evaluator.judge
    search.evaluator.judge = lambda vectors: (seen.extend(v.tobytes() for v in vectors), judge(vectors))[1]
    search.run()
    assert len(seen) == len(set(seen)) == len(search.evaluator.known)


def test_one_row_and_one_attribute():
    import pyarrow as pa

    table = read(pa.table({"a": ["x"]}), quasi=["a"])
    for wanted in (Problem1(), Problem2(0), Problem2(1), Problem3()):
        assert [point.values["k"] for point in exact(table, wanted)] == [1]
        assert len(pareto(table, wanted, solver=NSGA2(population=4, generations=2))) == 1


def test_eta_0_suppresses_nothing_and_eta_1_keeps_something(small):
    assert all(point.values["suppression_loss"] == 0 for point in exact(small, Problem2(0.0)))
    for point in exact(small, Problem2(1.0)):
        assert point.values["suppression_loss"] < 1 and point.values["k"] >= 1


def test_the_unsound_problem_cannot_be_published(small):
    frontier = pareto(small, Problem4(0.1, order="paper"), solver=SMALL)
    assert all(point.publishable is None for point in frontier)
    with pytest.raises(BadInputError, match="unsound"):
        _ = frontier.points[0].candidate
    with pytest.raises(BadInputError, match="unsound"):
        _ = frontier.grids


def test_any_measures_as_objectives_under_any_requirement(small):
    space = cut_space(small.cells, constrained=["age", "sex", "town"])
    values = []
    for parts in product(*(own.every() for own in space.attributes)):
        maker = CutVector(space.text(np.concatenate(parts)))
        try:
            values.append(measure(maker.anonymize(small, requirement("k-anonymity k=3"), suppress=0.1)))
        except InfeasibleError:
            continue
    for names, signs in (("p_loss, loss", (1, 1)), ("l_frequency, weighted_k, loss", (-1, -1, 1))):
        wanted = MeasuredProblem(names, "k-anonymity k=3", suppress=0.1)
        assert problem(str(wanted)) == wanted
        found = exact(small, wanted, space)
        costs = np.array(
            [[sign * own[name] for name, sign in zip(wanted.objectives, signs, strict=True)] for own in values]
        )
        best = np.unique(costs[non_dominated(costs)].round(9), axis=0)
        assert np.unique(found.costs.round(9), axis=0) == pytest.approx(best)
        assert all(measure(_made(small, point))["k"] >= 3 for point in found)


def _made(table, point):
    candidate = point.candidate
    return candidate.anonymizer.anonymize(table, candidate.requirement, candidate.form, candidate.suppress)


def test_a_frontier_stands_on_a_map(small):
    frontier = pareto(small, Problem2(0.1), solver=SMALL)
    study = Study("front", TableDeclaration("adult"), frontier.grids, axes=("k", "loss"))
    shown = explore(study, table=small, workers=1)
    assert len(shown.points) == len(frontier)
    assert all(point.status == "measured" for point in shown.points)
    for point, own in zip(frontier, shown.points, strict=True):
        assert own.measures["k"] >= point.values["k"]
        assert own.measures["loss"] == pytest.approx(point.values["loss"])
    assert Study.from_toml(study.to_toml()).candidates == study.candidates


def test_parameters_are_checked_when_they_are_given(small):
    for make, says in (
        (lambda: Problem2(1.5), "eta must be"),
        (lambda: Problem1("m"), "privacy must be one of"),
        (lambda: Problem4(0.1, order="other"), "order must be one of"),
        (lambda: MeasuredProblem("loss"), "two measures"),
        (lambda: MeasuredProblem("loss, beauty"), "unknown measure 'beauty'"),
        (lambda: NSGA2(population=1), "population must be"),
        (lambda: cut_space(small.cells, constrained=["x"]), "no quasi-identifier"),
        (lambda: cut_space(small.cells, levels={"age": 9}), "at most"),
    ):
        with pytest.raises(BadInputError, match=says):
            make()


# -- the publisher's questions, the command, the paper -----------------------------------------------------


def test_the_command_leaves_a_map_from_which_a_point_is_published(small, tmp_path, monkeypatch, capsys):
    import sys

    from sfumato.commands.app import main

    rows = tmp_path / "rows.csv"
    made = CutVector("age=@0, sex=@0, town=@0").anonymize(small, requirement("k-anonymity k=1"))
    made.to_csv(rows)
    study = tmp_path / "study.toml"
    study.write_text(
        'schema = 1\nname = "s"\naxes = ["k", "loss"]\n[table]\nsource = "rows.csv"\nquasi = ["age", "sex", "town"]\n'
        'sensitive = ["illness"]\n[[candidates]]\nanonymizers = ["mondrian"]\nrequirements = ["k-anonymity k=2"]\n'
        '[search]\npoints = 4\nsolver = "nsga2 population=24 generations=6"\n'
    )

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, arguments)])
        try:
            main()
        except SystemExit as ended:
            assert not ended.code, capsys.readouterr().err
        return capsys.readouterr().out

    monkeypatch.chdir(tmp_path)
    said = json.loads(run("explore", study, "--preset", "dewri", "--out", "map", "--json"))
    assert said["search"]["frontier"]
    points = json.loads((tmp_path / "map" / "points.json").read_text())["points"]
    cuts = [point for point in points if point["anonymizer"].startswith("cut-vector")]
    chosen = max(cuts, key=lambda p: 1 < p["measures"]["k"] < 90)
    run("release", "map", "--point", chosen["id"], "--to", "out.csv")
    checked = audit(tmp_path / "out.csv", ["age", "sex", "town"], ["illness"], require=chosen["requirement"])
    assert checked.holds and checked["k"] == chosen["measures"]["k"]


# -- more freedom is never worse ---------------------------------------------------------------------------


def best_within(frontier, loss):
    """The pairs (k, l) or k that a frontier offers within a loss, from the definition."""
    names = frontier.problem.privacies
    return [[point.values[name] for name in names] for point in frontier if point.values["loss"] <= loss + 1e-9]


def reaches(more, less):
    return all(any(all(a >= b - 1e-9 for a, b in zip(own, other, strict=True)) for own in more) for other in less)


@given(cells_of_tables(sensitive=(1, 1), rows=16), st.lists(st.floats(0, 1), min_size=2, max_size=2), st.data())
@tries(25)
def test_more_suppression_or_loss_never_gives_a_worse_answer(cells, etas, data):
    table, space = table_of(cells), cut_space(cells)
    if space.count > 500:
        return
    small_eta, large_eta = sorted(etas)
    loss = data.draw(st.floats(0, 1))
    relaxed = data.draw(st.floats(loss, 1))
    make = data.draw(
        st.sampled_from([lambda eta: Problem2(eta, minimize="loss"), lambda eta: Problem4(eta, minimize="loss")])
    )
    tight, free = exact(table, make(small_eta), space), exact(table, make(large_eta), space)
    assert len(non_dominated(tight.costs)) == len(tight)
    assert reaches(best_within(free, loss), best_within(tight, loss))
    assert reaches(best_within(tight, relaxed), best_within(tight, loss))


def test_more_generations_never_give_a_worse_answer(small):
    search = Search(small, Problem2(0.2, minimize="loss"), solver=SMALL)
    before = search.run(generations=1)
    for _ in range(5):
        after = search.run(generations=1)
        both = np.concatenate([after.costs, before.costs])
        assert set(non_dominated(both)) >= set(range(len(after)))
        before = after


def test_every_threshold_of_a_search_is_found_and_made(small):
    """The frontier of the search is the exact one, and each of its points is the release it speaks of."""
    wanted = Problem2(0.3, minimize="loss")
    found = pareto(small, wanted, solver=NSGA2(population=40, generations=30))
    assert found.costs == pytest.approx(exact(small, wanted).costs)
    assert len({point.cuts for point in found}) < len(found)
    for point in found:
        release = measure(_made(small, point))
        for name in ("k", "loss", "suppression_loss"):
            assert release[name] == pytest.approx(point.values[name])


# -- one name, one number; the map; the command ------------------------------------------------------------


def test_losses_of_a_coarser_space_are_those_of_its_releases(small):
    space = cut_space(small.cells, levels={"age": 1})
    for wanted in (Problem2(0.3, minimize="loss"), Problem1(), Problem3()):
        for point in exact(small, wanted, space).points[::3]:
            release = measure(_made(small, point))
            for name, value in point.values.items():
                if name in release.values:
                    assert release[name] == pytest.approx(value), name
    atoms = exact(small, Problem1(), cut_space(small.cells, levels={"age": 1}, counts_atoms=True))
    assert min(point.values["loss"] for point in atoms) == 0  # as if nobody had ever known more than the level


@pytest.mark.parametrize(
    "wanted", [Problem1(), Problem2(0.3, minimize="loss"), Problem2(0.3), Problem2(0.2, "l-distinct", minimize="loss")]
)
def test_what_is_on_the_frontier_of_a_search_is_on_that_of_its_map(small, wanted):
    frontier = exact(small, wanted)
    assert wanted.axes == wanted.objectives
    study = Study("front", TableDeclaration("adult"), frontier.grids, axes=wanted.axes)
    shown = explore(study, table=small, workers=1)
    assert len(shown.frontier()) == len(shown.points) == len(frontier)


def test_points_lie_evenly_along_the_frontier():
    from sfumato.tradeoff.search._enumeration import Frontier, FrontierPoint

    sizes = [2**13, *range(1000, 900, -1), 2**7, 2**4, 2]
    points = tuple(FrontierPoint("", {"k": k, "generalization_loss": np.log2(k)}, None) for k in sizes)
    frontier = Frontier(Problem2(0.1), points, np.zeros((len(points), 0), np.uint8), 0)
    chosen = [sizes[i] for i in frontier.spread(5)]
    assert chosen[0] == 2**13 and chosen[2:] == [2**7, 2**4, 2] and 900 <= chosen[1] <= 1000
    assert frontier.spread(1) == [0] and frontier.spread(999) == list(range(len(sizes)))


def test_the_local_search_looks_at_the_clock_and_tells_how_far_it_is(small, monkeypatch):
    solver, told = NSGA2(population=4, generations=40, seed=1), []
    search = Search(small, Problem2(0.1), solver=solver)
    looked, look_at = [], search.look_at
    monkeypatch.setattr(search, "look_at", lambda vectors: (looked.append(len(vectors)), look_at(vectors))[1])
    search.run(progress=lambda done, total, last: told.append((done, total, last)))
    local = [own for own in told if "local search" in own[2]]
    most = max(len(neighbours(search.space, vector)) for vector in search.archive.vectors)
    assert local and [own[0] for own in told] == sorted(own[0] for own in told) and told[-1][0] <= told[-1][1] == 50
    assert max(looked) <= solver.population + most  # one vector's neighbours at the least, about a generation's at most


def test_enumeration_stops_goes_on_and_says_when_it_is_whole(small, tmp_path, monkeypatch):
    module = __import__("sys").modules["sfumato.tradeoff.search._enumeration"]
    monkeypatch.setattr(module, "CHUNK", 50)
    path, wanted = tmp_path / "search.npz", Problem4(0.3, minimize="loss")
    whole = exact(small, wanted)

    def pressed(done, total, last):
        if done >= 150:
            raise KeyboardInterrupt

    first = module.Enumeration(small, wanted)
    assert first.resume(path) == ""
    part = first.run(progress=pressed, checkpoint=path)
    assert part.stopped == "interrupted" and not part.exact and part.evaluations == 150
    second = module.Enumeration(small, wanted)
    assert "150 of" in second.resume(path)
    found = second.run(checkpoint=path)
    assert found.exact and found.points == whole.points and found.evaluations == whole.evaluations
    third = module.Enumeration(small, wanted)
    assert "finished" in third.resume(path) and third.run().points == whole.points
    assert "another search" in Search(small, wanted).resume(path)
    assert pareto(small, wanted).exact and not pareto(small, wanted, solver=SMALL).exact


def test_what_cannot_be_searched_is_refused_in_a_sentence(small):
    for make, says in (
        (lambda: MeasuredProblem("k, k"), "k appears twice"),
        (lambda: MeasuredProblem("loss, are"), "measures sets of items"),
        (lambda: pareto(small, Problem2(0.1, on="shoes")), "'shoes' is no sensitive attribute"),
        (lambda: pareto(small, Problem2(0.1, "l-distinct", on="shoes")), "'shoes' is no sensitive attribute"),
    ):
        with pytest.raises(BadInputError, match=says):
            make()


def test_a_column_of_very_many_values_is_refused_before_it_fills_the_memory():
    rows = pa.table({"zip": [str(10_000 + 1_111 * (i % 80)) for i in range(200)], "b": ["x", "y"] * 100})
    table = read(rows, quasi=["zip", "b"], hierarchies={"zip": numeric(10_000, 99_999)})
    with pytest.raises(BadInputError, match="'zip' can be cut at 89,999 places, too many to search"):
        Search(table, Problem2(0.1))
    with pytest.raises(BadInputError, match=r"more than 10\^27092 cut vectors, too many to enumerate"):
        exact(table, Problem2(0.1))
    levels = {"zip": 1}
    assert len(pareto(table, Problem2(0.1), cut_space(table.cells, levels=levels), solver=NSGA2(8, 1))) > 0


@pytest.fixture
def command(small, tmp_path, monkeypatch, capsys):
    import sys

    from sfumato.commands.app import main

    CutVector("age=@0, sex=@0, town=@0").anonymize(small, requirement("k-anonymity k=1")).to_csv(tmp_path / "rows.csv")
    study = (
        'schema = 1\nname = "s"\n[table]\nsource = "rows.csv"\nquasi = ["age", "sex", "town"]\n'
        'sensitive = ["illness"]\n[scales]\nmin_support = 0.3\n[[candidates]]\nanonymizers = ["mondrian"]\n'
        'requirements = ["k-anonymity k=2"]\n[search]\n'
    )
    monkeypatch.chdir(tmp_path)
    for draw in ("report_bytes", "picture_bytes"):
        monkeypatch.setattr(f"sfumato.report.folder.{draw}", lambda *arguments, **options: b"")

    def run(*arguments, problem="", **search):
        texts = [f"{key} = {json.dumps(value)}" for key, value in search.items()]
        (tmp_path / "study.toml").write_text("\n".join([study, *texts]))
        words = ("explore", "study.toml", "--preset", f"dewri {problem}".strip(), *arguments)
        monkeypatch.setattr(sys, "argv", ["sfumato", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code or 0, said.out, said.err

    return run


def test_problems_have_folders_of_their_own_and_small_spaces_are_looked_at_whole(command, tmp_path):
    code, out, _ = command("--json", points=3)
    assert code == 0 and json.loads(out)["search"]["exact"]
    code, out, _ = command(problem="problem-2 eta=0.1", points=3)
    assert code == 0 and "which are all" in out and "drawn on k and generalization_loss" in out
    made = sorted(path.name for path in tmp_path.iterdir() if path.is_dir())
    assert made == ["s-dewri-map", "s-dewri-problem-2-eta-0.1-map"]
    axes = [json.loads((tmp_path / name / "points.json").read_text())["axes"] for name in made]
    assert axes == [["k", "loss"], ["k", "generalization_loss"]]
    code, _, err = command("--out", "s-dewri-map", problem="problem-1")
    assert code == 2 and "the map of another search" in err


def test_the_solver_is_that_of_the_study(command):
    paper = "nsga2 operators=paper mutation=0.2 crossover=0.5 population=12 generations=3"
    code, out, _ = command("--json", solver=paper, points=2)
    said = json.loads(out)["search"]
    assert code == 0 and not said["exact"] and said["evaluations"] <= 2 * 36  # stages
    assert command(solver="nsga2 colour=red")[0] == 2
    code, _, err = command(solver=paper, exact=True)
    assert code == 2 and "exact enumerates all cuts" in err


def test_nothing_feasible_is_exit_code_1(command):
    hard = 'measured minimize="k, loss" require="k-anonymity k=100000"'
    code, _, err = command(problem=hard, solver="nsga2 population=4 generations=1")
    assert code == 1 and "No cuts satisfy what is required" in err


def test_what_may_not_be_published_has_no_map(command, tmp_path):
    code, out, err = command("--out", "m", problem="problem-4 eta=0.1 order=paper")
    assert code == 1 and "on the frontier of" in out and "may not be published, so there is no map" in err
    assert not (tmp_path / "m" / "points.json").exists()


def test_measured_objectives_use_the_scales_of_the_study(command, tmp_path):
    wanted = 'measured minimize="p_loss, u_loss" require="k-anonymity k=5"'
    solver = "nsga2 population=4 generations=2"
    code, out, err = command("--out", "m", "--json", problem=wanted, solver=solver, points=99)
    assert code == 0, err
    searched = sorted((point["p_loss"], point["u_loss"]) for point in json.loads(out)["search"]["frontier"])
    points = json.loads((tmp_path / "m" / "points.json").read_text())["points"]
    cuts = [point["measures"] for point in points if point["anonymizer"].startswith("cut-vector")]
    mapped = sorted((measures["p_loss"], measures["u_loss"]) for measures in cuts)
    assert np.array(searched) == pytest.approx(np.array(mapped))
    assert all(point["on_frontier"] for point in points)


def test_the_counted_loss_is_the_measured_one_where_values_were_observed():
    """Ends of published parts are values that occur: a gap in the domain costs nothing, counted or measured."""
    rows = [(1, "x"), (3, "x"), (4, "y"), (4, "z"), (7, "y"), (9, "z"), (9, "x"), (3, "y")] * 2
    table = read(pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]}), quasi=["a", "b"])
    frontier = exact(table, Problem2(0.2, minimize="loss"))
    assert len(frontier) > 3
    for point in frontier:
        candidate = point.candidate
        release = candidate.anonymizer.anonymize(table, candidate.requirement, suppress=candidate.suppress)
        measured = measure(release)
        assert point.values["loss"] >= measured["loss"] - 1e-9
        if not release.suppressed:
            assert point.values["loss"] == pytest.approx(measured["loss"], abs=1e-12)
