"""The knee of the whole frontier, against brute force; what is as good as publishing nothing, and what it is told."""

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from points import point_of
from sfumato import Grid, Map, Study
from sfumato.report.answer_summary import choice_lines, choice_values
from sfumato.tradeoff.question.knee import TRIVIAL
from strategies import tries

ANY = Study(
    "any",
    sfumato.TableDeclaration("adult"),
    (Grid((sfumato.anonymizer("mondrian"),), (sfumato.requirement("k-anonymity k=1"),)),),
)


def made(id, maker="mondrian", **measures):
    return point_of(id, maker, "generalization", "k-anonymity k=2", {}, "measured", None, measures)


def mapped(places, ends=((0, 10), (20, 0))):
    """A map of releases at these (p_loss, u_loss), with the trivial release and the original where they are given."""
    points = [made(f"r{i}", p_loss=x / 40, u_loss=y / 80) for i, (x, y) in enumerate(places)]
    makers = zip(("without-quasi", "original"), ends, strict=False)
    return Map(ANY, (*points, *(made(m, m, p_loss=x / 40, u_loss=y / 80) for m, (x, y) in makers)))


def kept(place):
    """Risk and utility as shares of the original's, which is at (20, 0); the trivial release is at (0, 10)."""
    return Fraction(place[0], 20), 1 - Fraction(place[1], 10)


def is_corner(place, places):
    """Whether no segment between two other places passes below or through this one, nor any of them is better."""
    x, y = place
    for (a, b), (c, d) in combinations(sorted(set(places) - {place}), 2):
        if a < x < c and b + Fraction(d - b, c - a) * (x - a) < y:
            return False
    return not any(a <= x and b <= y and (a, b) != place for a, b in places)


PLACES = st.lists(st.tuples(st.integers(0, 22), st.integers(0, 12)), min_size=1, max_size=9)


@tries(200)
@given(PLACES)
def test_the_knee_lies_furthest_inside_the_line_and_is_a_corner_of_the_hull(places):
    shown = mapped(places)
    choice = shown.choose(by="knee")
    advantage = {place: kept(place)[1] - kept(place)[0] for place in places}
    best = max(advantage.values())
    if best <= 0:
        assert "no knee" in choice.why[0]
        return
    place = places[int(choice.point.id[1:])]
    assert advantage[place] == best and choice.landmarks["knee"] == choice.point.id
    assert is_corner(place, [*places, (0, 10), (20, 0)])
    assert (choice.kept.risk, choice.kept.utility) == pytest.approx(tuple(map(float, kept(place))))


@tries(200)
@given(PLACES)
def test_the_weights_told_are_those_at_which_it_stays_the_first(places):
    """Within the interval no release beats it at utility - weight x risk, outside of it some other does."""
    from sfumato.tradeoff.question.knee import Curve, Scale

    shown = mapped(places)
    frontier = Curve.through(shown.points[: len(places)], ("p_loss", "u_loss"))
    scale = Scale.of(shown.points, frontier)
    knees = scale.knees(frontier)
    if not knees:
        return
    least, most = scale.weights(knees[0], frontier.points)
    shares = {p.id: kept(places[int(p.id[1:])]) for p in frontier.points}

    def is_first(weight):
        worth = {id: float(utility) - weight * float(risk) for id, (risk, utility) in shares.items()}
        return worth[knees[0].id] >= max(worth.values()) - 1e-9

    most = min(most, 1e3)
    assert least - 1e-9 <= 1 <= most + 1e-9
    assert all(is_first(least + share * (most - least)) for share in (0, 0.3, 0.7, 1))
    assert not is_first(most + 0.01) or most == 1e3
    assert not is_first(least - 0.01) or least == 0


@tries(100)
@given(PLACES, st.integers(0, 22), st.integers(0, 22))
def test_a_tighter_bound_never_finds_a_better_knee_and_moves_it_only_when_it_cuts_it_off(places, one, other):
    shown, (tight, loose) = mapped(places), sorted((one, other))
    free = shown.choose(by="knee", max={"p_loss": loose / 40})
    near = shown.choose(by="knee", max={"p_loss": tight / 40})
    if near.landmarks["knee"] is None:
        return
    assert free.kept.advantage >= near.kept.advantage - 1e-12
    if free.point.measures["p_loss"] <= tight / 40:
        assert near.point == free.point


def test_a_bend_between_neighbours_is_not_the_knee_of_the_whole():
    """As on COMPAS: the sharpest angle is at the private end, where next to nothing is left of the table."""
    shown = mapped([(0.1, 9.3), (5, 9), (6, 1.5), (14, 0.8)])
    assert shown.choose(by="knee").point.id == "r2"


def test_it_says_what_is_kept_on_which_scale_and_for_whom():
    why = mapped([(2, 8), (5, 2), (12, 1)]).choose(by="knee").why[0]
    assert why.startswith(
        "It is the knee of the whole frontier of p_loss and u_loss: it keeps 80 % of the utility at 25 %"
    )
    assert "(0 % is the trivial release (without-quasi), 100 % the original (original))" in why
    # the edges of the hull: to the trivial release (80 - 0) / (25 - 0) = 3.2, to (60 %, 90 %) 10 / 35
    assert why.endswith("for any exchange rate of between 0.29 and 3.2 percent of utility per percent of risk.")
    ends = mapped([(0, 10), (2, 8), (5, 2), (12, 1)], ends=()).choose(by="knee")
    assert "0 % and 100 % are the ends of the frontier, r0 and r3, since the map has no trivial release" in ends.why[0]
    assert ends.kept is None


def test_ways_that_disagree_are_told_in_one_sentence_with_their_points():
    shown = mapped([(1, 9), (4, 4), (9, 1), (19, 0)])
    choice = shown.choose(by="knee")
    others = {by: id for by, id in choice.landmarks.items() if id not in (None, choice.point.id)}
    sentence = [why for why in choice.why if why.startswith("Other ways to choose (--by) disagree: ")]
    assert len(sentence) == (1 if others else 0)
    for by, id in others.items():
        measures = shown[id].measures
        assert f"{by} takes {id} (p_loss {measures['p_loss']:g} and u_loss {measures['u_loss']:g})" in sentence[0]
    agreed = mapped([(0, 10), (1, 1), (20, 0)]).choose(by="knee")
    assert {*agreed.landmarks.values()} == {"r1"} and not any("disagree" in why for why in agreed.why)


def test_counts_are_compared_by_their_risk():
    """k from 1 to 1000 records: the risk 1/k falls to a tenth by k = 10, which k itself would call one percent."""
    points = [made(f"k{k}", k=k, loss=loss) for k, loss in ((2, 0.05), (10, 0.1), (100, 0.6), (500, 0.9))]
    ends = [made("none", "without-quasi", k=1000, loss=1.0), made("all", "original", k=1, loss=0.0)]
    choice = Map(ANY, (*points, *ends)).choose(by="knee", axes=["k", "loss"])
    assert choice.point.id == "k10"
    assert choice.kept.risk == pytest.approx((1 / 10 - 1 / 1000) / (1 - 1 / 1000))


def test_what_is_as_good_as_publishing_nothing_is_said_first():
    shown = mapped([(1, 10), (2, 9.9), (6, 3)])
    choice = shown.choose(max={"p_loss": 2 / 40})
    assert choice.point.id == "r1" and choice.kept.is_trivial
    assert choice.warnings[0] == (
        "This is hardly a release to publish: by u_loss it is no more useful than publishing nothing (it keeps 1 %); "
        "that holds of all 3 releases within what was asked for."
    )
    lines = list(choice_lines(choice, shown, "the command"))
    assert " ".join(lines[0].split()) == choice.warnings[0]
    assert choice_values(choice, shown)["kept"] == pytest.approx({"risk": 0.1, "utility": 0.01})
    assert not shown.choose(by="knee").warnings and not shown.choose(by="knee").kept.is_trivial


def test_what_is_as_risky_as_the_original_is_said_first_with_what_there_is_instead():
    shown = mapped([(19.8, 0.5), (5, 3)])
    choice = shown.choose(prefer="u_loss")
    assert choice.warnings[0] == (
        "This is hardly a release to publish: by p_loss it is as risky as the original (99 % of its risk). "
        "r1 keeps 70 % of the utility at 25 % of the risk."
    )
    inside = 20 * (1 - TRIVIAL) - 0.1
    assert not mapped([(inside, 0.5)]).choose(prefer="u_loss").warnings
