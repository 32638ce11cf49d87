"""All makers on one map against the limit: the run of `reproduce li-li-2009 --frontier` on grids that take seconds."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sfumato.errors import BadInputError
from sfumato.papers import li_li_2009 as li_li_frontier
from sfumato.papers import reproduce
from sfumato.papers.li_li_2009 import (
    DENSE,
    GRIDS,
    JS,
    PANELS,
    LiLiFrontier,
    Panel,
    frontier_claims,
    frontier_figures,
    ratio,
)


@pytest.fixture(scope="module")
def study():
    short = {
        "mondrian_dense": ("mondrian", JS, (0.02, 0.05, 0.1, 0.2)),
        "exchange": ("exchange regions=40", JS, (0.02, 0.1)),
        "anatomy": ("anatomy", "l-diversity l={} variant=frequency", (3,)),
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(li_li_frontier, "GRIDS", short)
        patched.setattr(li_li_frontier, "LI_LI_2009", {JS: (0.1,)})
        small = ("age", "marital-status", "sex")
        panels = [Panel("small", "occupation", small, "bucketization", PANELS[0].reader)]
        made = LiLiFrontier(panels=[*panels, Panel("small, generalized", "occupation", small, "generalization")])
        assert made.maps
        yield made


def area(points, shown):
    """The score by its definition: the staircase on a fine grid of P_loss, the trivial release at its start."""
    steps = 20_000
    width, height = shown.limit.revealed, shown.limit.trivial
    places = sorted((own.measures["p_loss"], own.measures["u_loss"]) for own in points)
    total, best, place = 0.0, height, 0
    for i in range(steps):
        x = (i + 0.5) / steps * width
        while place < len(places) and places[place][0] <= x:
            best = min(best, places[place][1])
            place += 1
        total += best
    return total / steps / height


def test_scores_are_areas_and_the_ratio_is_what_is_left_of_the_room(study):
    panel = study.panels[0]
    shown, found = study.maps[panel.name], study.scores(panel)
    assert set(found) == {
        "limit",
        "mondrian_paper",
        "mondrian_dense",
        "exchange",
        "anatomy",
        "limit_bucketized",
        "union",
        "ratio",
    }
    for name in panel.sets:
        assert found[name] == pytest.approx(area(study.points(panel, name), shown), abs=2e-3)
    every = [own for own in shown.points if own.status == "measured" and own.anonymizer != "original"]
    assert found["union"] == pytest.approx(area(every, shown), abs=2e-3)
    assert found["limit"] < found["union"] <= min(found["exchange"], found["mondrian_dense"])
    left = (found["union"] - found["limit"]) / (found["mondrian_dense"] - found["limit"])
    assert found["ratio"] == pytest.approx(left)
    assert ratio({"limit": None, "union": 0.1, "mondrian_dense": 0.2}) is None


def test_claims_and_figures(study):
    scores = {panel.name: study.scores(panel) for panel in study.panels}
    claims = {claim.id: claim for claim in frontier_claims(study, scores)}
    assert claims["above-limit"].holds and claims["above-limit"].status == "required"
    assert claims["frontier-ratio"].status == "required"
    assert claims["frontier-ratio"].holds == (scores["small"]["ratio"] <= 0.65)
    assert set(claims["frontier-attacked"].ours) == {"mondrian_dense", "exchange"}  # anatomy is beyond .05
    figures = {figure.name: figure for figure in frontier_figures(study)}
    assert set(figures) == {"frontier", "frontier-small-generalized", "frontier-em", "frontier-definetti"}
    assert [curve.label for curve in figures["frontier"].curves][-2:] == ["limit", "limit for buckets"]
    assert [curve.label for curve in figures["frontier-small-generalized"].curves][-1] == "limit"
    assert claims["above-limit-bucketized"].holds and set(claims["above-limit-bucketized"].ours) == {"small"}
    for curve in figures["frontier"].curves[:-2]:
        ups = [point["y"] for point in curve.points]
        assert ups == sorted(ups, reverse=True)


def test_where_mondrian_is_the_best_or_absent_nobody_is_held_against_it():
    def accuracies(**losses):
        points = {}
        for name, loss in losses.items():
            measures = {"p_loss": 0.04, "u_loss": loss, "u_loss_em": loss, "definetti_accuracy": 0.2}
            points[name] = SimpleNamespace(measures=measures, has=lambda names: True)
        fake = SimpleNamespace(
            panels=(SimpleNamespace(sets=dict.fromkeys(losses)),), points=lambda panel, name: [points[name]]
        )
        return li_li_frontier._attacked(fake).holds

    assert accuracies(mondrian_dense=0.03, exchange=0.02) is True
    assert accuracies(mondrian_dense=0.01, exchange=0.02) is None
    assert accuracies(exchange=0.02) is None
    assert accuracies() is None


def test_the_generalized_form_has_no_makers_of_buckets(study):
    assert set(study.panels[1].sets) == {"mondrian_paper", "mondrian_dense"}


def test_mondrians_grid_contains_every_other_grid_of_t():
    for maker, text, values in GRIDS.values():
        if text == JS and maker in ("exchange", "hilbert"):
            assert set(values) <= set(DENSE)


def test_frontier_belongs_to_one_paper():
    with pytest.raises(BadInputError, match="--frontier belongs to li-li-2009, not to dewri-2011"):
        reproduce("dewri-2011", frontier=True)
