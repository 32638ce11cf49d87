"""The claims of Dewri et al. 2011 on frontiers made by hand: where they hold, where not, where nothing is told."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.anonymizers.cut_vector.cut_vector import CutVector, cut_space
from sfumato.papers import dewri_2011 as paper
from sfumato.papers.charts import draw
from sfumato.papers.claims import Figure, FigureLine, Inset
from sfumato.papers.dewri_2011 import (
    FREQUENCY,
    SearchRun,
    _reaches,
    converge,
    example_claims,
    fitted_curve,
    hypervolume,
    mended,
    reproduce,
)
from sfumato.requirements.requirement import KAnonymity
from sfumato.tradeoff.search._enumeration import Frontier, FrontierPoint
from sfumato.tradeoff.search._variation import tree_of
from sfumato.tradeoff.search.pareto import NSGA2, Search
from sfumato.tradeoff.search.problems import Problem2

TOWNS = [["north", "a", "b", ["coast", "c", "d"]], ["south", "e", "f"]]


def points(names, *rows):
    return [FrontierPoint("", dict(zip(names, row, strict=True)), None) for row in rows]


def steps(*rows):
    """Points of problem 2: k, generalization loss."""
    return points(("k", "generalization_loss"), *rows)


def front(problem, own):
    return Frontier(problem, tuple(own), np.zeros((len(own), 0), np.uint8), 0)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    frame = pa.table({"town": rng.choice(list("abcdef"), 200), "age": rng.integers(20, 40, 200)})
    domains = {"town": sfumato.tree(TOWNS), "age": sfumato.numeric(20, 39, intervals=[5])}
    return sfumato.read(frame, quasi=["town", "age"], hierarchies=domains)


@pytest.fixture(scope="module")
def space(people):
    return cut_space(people.cells, ["town"], {"age": 1}, counts_atoms=True)


def test_the_example_of_the_paper():
    weighted, safe = example_claims()
    assert weighted.holds and weighted.ours == pytest.approx([29 / 7, 17 / 7], abs=1e-6)
    assert safe.verdict == "differs" and safe.erratum and safe.ours["k and l"] == [[2, 1], [2, 1]]


# -- fronts (7.1, 7.2) -----------------------------------------------------------------------------------


def test_flat_stretches_are_found_where_they_are():
    own = steps((4, 0.1), (10, 0.2), (14, 0.205), (16, 0.2101), (40, 0.3))
    assert paper.flat_stretches(own) == []
    own += steps((15, 0.21))
    assert paper.flat_stretches(own) == [(10, 0.2, 15, 0.21)]
    assert [paper.zoomed(own, most) for most in (50, 15, 14)] == [1, 1, 0]
    assert "1 of them up to k = 36" in paper.where_flat(paper.flat_stretches(own))
    far = paper.where_flat(paper.flat_stretches(steps((389, 0.4), (600, 0.405))))
    assert "0 of them up to k = 36" in far and "k = 389" in far


def test_the_papers_own_stretch_has_a_price():
    own = steps((13, 0.2), (20, 0.25), (30, 0.255), (40, 0.258))
    assert paper.step_cost(own, "generalization_loss") == pytest.approx(0.258 - 0.25)
    assert paper.step_cost(own[:3], "generalization_loss") is None


def test_a_front_rises_only_if_no_release_beats_another():
    assert paper.is_rising([(4, 0.2), (2, 0.1)])
    assert not paper.is_rising([(2, 0.1), (4, 0.1)])
    assert not paper.is_rising([(2, 0.3), (4, 0.2)])
    assert paper.largest_error([(4, 0.2)], [(5, 0.21)]) == pytest.approx(0.25)
    assert paper.largest_error([(4, 0.2)], [(4, 0.6)]) == pytest.approx(0.4)


def test_who_is_beaten_by_another_search():
    own = steps((2, 0.1), (4, 0.2), (8, 0.3))
    assert paper.beaten(own, steps((4, 0.2), (9, 0.31))) == 0  # an equal one and one beyond beat nobody
    assert paper.beaten(own, steps((8, 0.2))) == 2
    assert paper.beaten(own, []) == 0


def test_the_loss_of_boxes_is_that_of_the_search(people, space):
    """Counted record by record from the published text: ages in steps of five years, towns of a node."""
    release = CutVector('age="30", town=e').anonymize(people, KAnonymity(1))
    losses = {"20-29": 1 / 3, "30-39": 1 / 3, "north": 3 / 5, "south": 1 / 5}
    lost = 0.0
    for attribute in (0, 1):
        texts, which = release.quasi_texts(attribute)
        lost += sum(losses[texts[i]] * mass for i, mass in zip(which, release.boxes.mass, strict=True))
    assert paper.atom_loss(release) == pytest.approx(lost / 400)
    found = Search(people, Problem2(0.1), space, NSGA2(8, 2)).run()
    for point in found:
        candidate = point.candidate
        made = candidate.anonymizer.anonymize(people, candidate.requirement, suppress=candidate.suppress)
        assert paper.atom_loss(made) == pytest.approx(point.values["generalization_loss"])


# -- insets and trends (7.1, 7.3) ------------------------------------------------------------------------


def test_insets_are_cumulative_shares_of_records():
    assert paper.cumulated(np.array([5, 1, 1, 3])) == [(1, 0.2), (3, 0.5), (5, 1.0)]


def test_insets_of_the_papers_shape_hold_and_others_do_not():
    even = paper.cumulated(np.array([1, 2, 4, 8, 16, 32, 64]))
    extreme = paper.cumulated(np.array([1, 1, 1, 1000]))
    assert [claim.holds for claim in paper.inset_claims(even, extreme)] == [True, True, True]
    assert [claim.holds for claim in paper.inset_claims(extreme, even)] == [False, False, False]
    assert paper.largest_jump(even) == pytest.approx(64 / 127)
    assert paper.middle_share(even) == pytest.approx((8 + 16) / 127)  # sizes above 4, up to 16
    assert paper.largest_lead(extreme, even) == pytest.approx(3 / 1003 - 1 / 127)


def test_trends_are_rank_correlations():
    names = ("weighted_k_before", "generalization_loss", "suppression_loss")
    usual = points(names, (10, 0.1, 0.9), (50, 0.2, 0.5), (1000, 0.3, 0.4))
    assert [claim.holds for claim in paper.trend_claims(usual)] == [True, True, True]
    odd = points(names, (10, 0.1, 0.3), (50, 0.2, 0.5), (1000, 0.05, 0.7))
    assert [claim.holds for claim in paper.trend_claims(odd)] == [True, False, False]
    assert [claim.holds for claim in paper.trend_claims(usual[:1])] == [None, None, None]
    tied = points(("a", "b"), (1, 1), (1, 2), (7, 3), (8, 4))  # ranks 1.5, 1.5, 3, 4 and 1, 2, 3, 4
    assert paper.rank_correlation(tied, "a", "b") == pytest.approx(4.5 / np.sqrt(4.5 * 5))


def test_what_is_encircled_is_nearest_to_the_papers_point():
    names = ("weighted_k_before", "generalization_loss", "suppression_loss")
    own = points(names, (5000, 0.36, 0.17), (5000, 0.9, 0.0), (4900, 0.35, 0.17), (5200, 0.35, 0.18), (10, 0.1, 0.9))
    assert [point.values["weighted_k_before"] for point in paper.encircled(own)] == [5000, 4900, 5200]
    left, right = paper.near_claims(own)
    assert left.holds is False and right.holds is False
    left, right = paper.near_claims(points(names, (5001, 0.29, 0.16)))
    assert left.holds and right.holds
    left, right = paper.near_claims(points(names, (5001, 0.31, 0.3)))
    assert left.holds is None and right.holds is None


# -- problem 4 (7.4) -------------------------------------------------------------------------------------


def test_relaxing_helps_only_with_a_whole_l_more_and_no_less_k():
    def claims(*rows):
        own = points(("k", "l_frequency", "loss"), *rows)
        return [claim.holds for claim in paper.relaxing("relaxing-helps", front(FREQUENCY, own))]

    assert claims((20, 4, 0.195), (20, 5, 0.205)) == [True, False]
    assert claims((20, 4, 0.195), (30, 4, 0.205)) == [False, False]  # a little more k is to be had nearly always
    assert claims((20, 4, 0.195), (19, 5, 0.205)) == [False, True]
    assert claims((20, 4, 0.195), (20, 5, 0.25)) == [False, False]
    assert claims((20, 5, 0.205)) == [None, None]


def test_choices_are_counted_by_preference():
    def holds(k_first, l_first):
        both = (points(("k", "l_frequency"), *rows) for rows in (k_first, l_first))
        return [claim.holds for claim in paper.choice_claims(*both)]

    assert holds([(2, 1), (3, 1), (4, 2)], [(2, 1), (2, 2), (2, 3)]) == [True, True, True]
    assert holds([(2, 1), (3, 1)], [(2, 1), (3, 1), (4, 1)]) == [True, False, False]
    assert holds([], [(2, 1)]) == [None, None, None]


def test_a_question_without_an_answer_is_not_tested():
    assert (_reaches(2600, 2528), _reaches(2500, 2528)) == (True, False)
    assert _reaches(None, 2528) is None and _reaches(900, None) is None


# -- seeds and crossovers (6, 7) -------------------------------------------------------------------------


def run_of(area, *rows):
    own = points(("k", "loss"), *rows)
    return SearchRun("special", 1, (0.1, area), front(Problem2(0.1), own))


def test_seeds_matter_where_fronts_or_answers_differ():
    alike = [run_of(0.63, (10, 0.2), (30, 0.255)), run_of(0.635, (12, 0.24), (33, 0.26))]
    assert [claim.holds for claim in paper.seed_claims(alike)] == [True, True]
    apart = [*alike, run_of(0.641, (16, 0.24), (33, 0.26))]
    assert [claim.holds for claim in paper.seed_claims(apart)] == [False, False]
    nothing = [*alike, run_of(0.63, (10, 0.3))]
    assert [claim.holds for claim in paper.seed_claims(nothing)] == [True, None]


def test_a_crossover_is_faster_where_it_is_ahead():
    def holds(special, repair):
        return [claim.holds for claim in paper.crossover_claims(special, repair, (1, 10, 100))]

    slow, fast = [(0.3, 0.4, 0.6)] * 3, [(0.3, 0.61, 0.65)] * 3
    assert holds(fast, slow) == [True, True]
    assert holds(slow, fast) == [False, False]
    assert holds([(0.3, 0.5, 0.65)] * 3, slow) == [True, False]  # ahead, but there only in the end


def test_hypervolume_is_the_area_that_is_beaten():
    own = steps((1, 0.0), (10, 0.25), (100, 1.0))
    assert hypervolume(own, 10_000) == pytest.approx(0.25 * 0.75)  # up to k = 10, a quarter of the way: 1 - loss


def test_mending_finds_the_nearest_valid_cuts(space):
    """All cuts of the towns, each against all valid ones."""
    age, attribute = space.attributes
    valid = np.array(attribute.every())
    every = np.array(list(product((0, 1), repeat=space.bits)), np.uint8)
    nearest = mended(every, tree_of(space))
    ages, towns = slice(0, age.bits), slice(age.bits, space.bits)
    assert attribute.name == "town" and 2 < len(valid) < 2**attribute.bits
    assert np.array_equal(nearest[:, ages], every[:, ages])  # ages may be cut anywhere
    for vector, made in zip(every[:, towns], nearest[:, towns], strict=True):
        assert attribute.is_valid(made)
        assert (vector != made).sum() == (valid != vector).sum(axis=1).min()


def test_both_crossovers_search_the_same_space(people, space):
    solver = NSGA2(12, 6, operators="paper", seed=3)
    searches = {crossing: Search(people, Problem2(0.1), space, solver) for crossing in ("special", "repair")}
    runs = {crossing: converge(search, (1, 6), crossing) for crossing, search in searches.items()}
    assert runs["special"].areas[0] == runs["repair"].areas[0]  # the same first population
    for crossing, run in runs.items():
        assert run.areas[1] >= run.areas[0] and run.seed == 3
        assert all(space.is_valid(vector) for vector in searches[crossing].archive.vectors)
    known = [set(search.evaluator.known) for search in searches.values()]
    assert known[0] != known[1]
    usual = Search(people, Problem2(0.1), space, solver).run()
    assert [point.cuts for point in usual] == [point.cuts for point in runs["special"].frontier]


# -- figures ---------------------------------------------------------------------------------------------


def test_the_fitted_curve_never_falls_nor_is_below_zero():
    rng = np.random.default_rng(5)
    losses = np.sort(np.concatenate([np.zeros(20), rng.random(10)]))
    own = front(Problem2(0.1), steps(*zip(np.arange(1, 31) ** 3, losses, strict=True)))
    curve, error = fitted_curve(own)
    heights = np.array([point["y"] for point in curve])
    plain = np.polynomial.Polynomial.fit(np.log(np.arange(1, 31) ** 3), losses, 3)(np.log(np.arange(1, 31) ** 3))
    assert plain.min() < 0 <= heights.min() and (np.diff(heights) >= -1e-12).all()
    assert error == pytest.approx(np.abs(heights - losses).max())
    cubic = front(Problem2(0.1), steps(*((k, (np.log(k) / 10) ** 3) for k in (1, 3, 10, 50, 400))))
    assert fitted_curve(cubic)[1] == pytest.approx(0, abs=1e-9)


def marks_of(spec):
    """All marks of a chart with what they show, whatever they are nested in."""
    if "mark" in spec:
        yield spec
    for layer in spec.get("layer", ()):
        yield from marks_of(layer)


def shown_by(spec, mark):
    """The rows that a mark draws."""
    data = mark.get("data", {})
    return data["values"] if "values" in data else spec["datasets"][data["name"]] if data else []


def test_insets_rings_and_whole_ticks_are_drawn():
    curve = FigureLine("a", [{"x": 18, "y": 3}, {"x": 23, "y": 5}], line=False, opacity=0.4)
    inset = Inset(
        FigureLine("loss 5%", [{"x": 1, "y": 0.5}, {"x": 9, "y": 1.0}]), curve.points[0], (0.2, 0.1), "size", "share"
    )
    figure = Figure("1", "t", "k", "l", [curve], insets=[inset], encircled=curve.points[:1], whole=True)
    spec = draw(figure).to_dict()
    assert spec["resolve"]["scale"] == {"x": "independent", "y": "independent"}
    marks = list(marks_of(spec))
    rings = [own for own in marks if own["mark"].get("shape") == "circle" and own["mark"].get("filled") is False]
    assert [shown_by(spec, own) for own in rings] == [[{"x": 18, "y": 3}]]
    assert [own["encoding"]["x"]["axis"]["values"] for own in rings] == [[18, 19, 20, 21, 22, 23]]
    stepped = [own for own in marks if own["mark"].get("interpolate") == "step-after"]
    assert [shown_by(spec, own) for own in stepped] == [list(inset.curve.points)]
    left, right = stepped[0]["encoding"]["x"]["scale"]["range"]
    assert left == 0.2 * 560 and left < right < 560
    assert {row["ink"] for own in marks for row in shown_by(spec, own) if "ink" in row} == {0.4}
    assert [own.label for own in figure.series] == ["a", "loss 5%"]


def test_a_short_reproduction_says_what_it_found():
    results = reproduce(usual=NSGA2(24, 2), large=NSGA2(12, 1))
    claims = {claim.id: claim for claim in results.claims}
    checks = {"problem-1-front", "problem-2-front", "problem-4-sound"}
    shown = {"question-1-at-25%", "hypervolume", "problem-2-unbeaten"}
    assert {name for name, claim in claims.items() if claim.kind == "check"} == checks | shown
    assert {name for name, claim in claims.items() if claim.verdict == "shown"} == shown
    assert claims["problem-1-front"].holds and claims["problem-4-sound"].holds  # the other needs the whole search
    told = {claim.id for claim in results.claims if claim.holds or claim.reason or claim.erratum or claim.reading}
    assert told | shown | checks == set(claims)
    assert len({claim.id for claim in results.claims}) == len(results.claims)
    names = {figure.name for figure in results.figures}
    assert {"6", "7a", "7d", "7-fitted", "8", "9a", "9b", "10a", "10b", "11a", "11b", "crossover"} <= names
    assert len(next(figure for figure in results.figures if figure.name == "6").insets) == 2
