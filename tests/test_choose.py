"""Choosing: knees that are known, bounds against their definition, recipients, and what is said when nothing fits."""

import json
import random
import re
import shlex
from dataclasses import FrozenInstanceError, replace
from math import cos, hypot, inf, pi, sin

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from command_line import run
from points import point_of
from sfumato import MEASURES, BadInputError, Candidate, Grid, InfeasibleError, Map, Study
from sfumato.anonymizers.items import candidate_maker
from sfumato.config.documents import json_text
from sfumato.report.point_summary import fit_sentence
from sfumato.requirements.items import basket_requirement
from sfumato.tradeoff.map import Point
from sfumato.tradeoff.question.answer import NothingFitsError
from sfumato.tradeoff.question.question import Bound, read_bounds
from sfumato.tradeoff.question.recipients import RECIPIENTS
from strategies import tries

ANY = Study(
    "any",
    sfumato.TableDeclaration("adult"),
    (Grid((sfumato.anonymizer("mondrian"),), (sfumato.requirement("k-anonymity k=1"),)),),
)


def make_point(id, form="generalization", anonymizer="mondrian", status="measured", **measures):
    return point_of(id, anonymizer, form, "k-anonymity k=2", {}, status, None, measures)


def make_map(*points):
    return Map(ANY, points)


def curve(*places):
    """A map whose points are at these (p_loss, u_loss), named by their order."""
    return make_map(*(make_point(f"{i:03}", p_loss=x, u_loss=y) for i, (x, y) in enumerate(places)))


# ---------------------------------------------------------------- knees that are known

L_SHAPE = [(0.0, 0.6), (0.02, 0.4), (0.03, 0.2), (0.05, 0.02), (0.2, 0.015), (0.4, 0.01), (0.6, 0.0)]


@pytest.mark.parametrize("by", ["knee", "ideal"])
def test_the_knee_of_an_l_is_its_corner(by):
    assert curve(*L_SHAPE).choose(by=by).point.id == "003"


@pytest.mark.parametrize("by", ["knee", "ideal"])
@pytest.mark.parametrize("steps", [4, 18, 90])
def test_the_knee_of_an_arc_is_at_45_degrees(by, steps):
    """On the quarter circle around the worst corner all bends are equal; the middle one is furthest from the chord."""
    angles = [i * pi / 2 / steps for i in range(steps + 1)]
    own = curve(*((0.7 * (1 - cos(a)), 0.05 * (1 - sin(a))) for a in angles))
    assert own.choose(by=by).point.id == f"{steps // 2:03}"


@pytest.mark.parametrize(
    "places",
    [
        [(0, 1), (0.25, 0.75), (0.5, 0.5), (1, 0)],
        [(i / 50, 0.3 - 0.3 * i / 50) for i in range(51)],
        [(sin(i * pi / 20), cos(i * pi / 20)) for i in range(11)],
    ],
    ids=["line", "dense line", "bent away"],
)
def test_a_frontier_without_a_knee_is_said_to_have_none(places):
    choice = curve(*places).choose(by="knee")
    assert "no knee" in choice.why[0]
    assert "closest to the ideal corner" in choice.why[1]
    assert choice.landmarks["knee"] is None
    ends = [y for _, y in places]
    scaled = [(x / places[-1][0], (y - ends[-1]) / (ends[0] - ends[-1])) for x, y in places]
    assert hypot(*scaled[int(choice.point.id)]) == pytest.approx(min(hypot(*own) for own in scaled))


def test_two_nearly_equal_releases_make_no_knee():
    """The jag at .1 turns by 40 degrees between its immediate neighbours; the real bend is at .6."""
    line = [(i / 10, 1 - 1.4 * i / 10) for i in range(7)]
    jag = [(0.1001, line[1][1] - 0.012)]
    own = curve(*line, *jag, (0.8, 0.08), (1.0, 0.0))
    assert own.choose(by="knee").point.id == "006"


def test_axes_may_be_better_when_higher_and_come_in_any_order():
    ks = [(2, 0.05), (5, 0.06), (40, 0.1), (50, 0.5), (60, 0.9)]
    own = make_map(*(make_point(f"k{k}", k=k, loss=loss) for k, loss in ks))
    for axes in (["k", "loss"], ["loss", "k"]):
        choice = own.choose(by="knee", axes=axes)
        assert choice.point.id == "k40" and choice.axes == ("k", "loss")
        assert [n.said for n in choice.neighbours] == [
            "Going to k50 raises k from 40 to 50 and raises loss from 0.1 to 0.5.",
            "Going to k5 lowers k from 40 to 5 and lowers loss from 0.1 to 0.06.",
        ]


def test_a_bound_on_an_axis_does_not_move_the_knee_but_may_exclude_it():
    own = curve(*L_SHAPE, (0.021, 0.3))
    assert own.choose(by="knee", max={"p_loss": 0.3}).point.id == "003"
    beyond = own.choose(by="knee", max={"p_loss": 0.04})
    assert beyond.point.measures["p_loss"] <= 0.04
    assert any("003" in why and "p_loss at most 0.04" in why for why in beyond.why)


# ---------------------------------------------------------------- small and odd maps


def test_one_point_two_points_and_equal_points():
    one = curve((0.1, 0.2)).choose(by="knee")
    assert one.point.id == "000" and one.neighbours == ()
    assert "it takes three points, and the frontier has 1 point" in one.why[0]
    two = curve((0.1, 0.2), (0.2, 0.1)).choose(by="knee")
    assert two.point.id == "000"  # both are as far from the corner: the more private one
    same = curve(*[(0.1, 0.2)] * 4).choose(by="knee")
    assert same.point.id == "000"


def test_what_hides_more_is_chosen_among_equals():
    own = make_map(
        make_point("a", anonymizer="original", p_loss=0.1, u_loss=0.1),
        make_point("b", form="bucketization", p_loss=0.1, u_loss=0.1),
        make_point("c", p_loss=0.1, u_loss=0.1),
    )
    for by in ("knee", "ideal", "best"):
        assert own.choose(by=by).point.id == "c"


def test_infinite_measures_have_no_place_on_the_curve_but_can_be_neighbours():
    deltas = [(0.5, 0.9), (0.6, 0.5), (0.7, 0.1), (1.9, 0.05), (inf, 0.0)]
    own = make_map(*(make_point(f"d{d}", delta=d, u_loss=u) for d, u in deltas))
    choice = own.choose(by="knee", axes=["delta", "u_loss"])
    assert choice.point.id == "d0.7"
    last = own.choose(max={"delta": 2}, axes=["delta", "u_loss"])
    assert last.point.id == "d1.9"
    assert "raises delta from 1.9 to infinite" in last.neighbours[1].said
    only = make_map(make_point("x", delta=inf, u_loss=0.1), make_point("y", delta=inf, u_loss=0.2))
    assert only.choose(by="knee", axes=["delta", "u_loss"]).point.id == "x"


def test_points_that_lack_a_measure_are_not_within_a_bound_on_it():
    own = make_map(make_point("a", u_loss=0.0), make_point("b", u_loss=0.1, k=5))
    assert own.choose(prefer="u_loss").point.id == "a"
    assert own.choose(prefer="u_loss", min={"k": 1}).point.id == "b"


@pytest.mark.parametrize("status", ["failed", "infeasible"])
def test_only_measured_points_count(status):
    own = make_map(make_point("a", status=status, p_loss=0, u_loss=0), make_point("b", p_loss=0.1, u_loss=0.1))
    assert own.choose(by="knee").point.id == "b"
    with pytest.raises(InfeasibleError, match="none of the 1 point of this map was measured"):
        make_map(own.points[0]).choose(by="knee")
    with pytest.raises(InfeasibleError, match="nothing to choose"):
        make_map().choose(max={"p_loss": 1})


def test_the_order_of_the_points_does_not_matter():
    places = [*L_SHAPE, (0.05, 0.02), (0.03, 0.2)]
    points = curve(*places).points
    for kind in ({"by": "knee"}, {"by": "ideal"}, {"max": {"p_loss": 0.1}}):
        one, other = Map(ANY, points).choose(**kind), Map(ANY, points[::-1]).choose(**kind)
        assert one.point == other.point and one.why == other.why and one.neighbours == other.neighbours


# ---------------------------------------------------------------- bounds, against their definition

VALUES = {
    "p_loss": st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.123456789]),
    "u_loss": st.sampled_from([0.0, 0.01, 0.02, 0.0345678912]),
    "k": st.integers(1, 20),
    "delta": st.sampled_from([0.5, 1.0, 1.23456789, inf]),
    "l_frequency": st.floats(1, 5),
    "smallest_group": st.integers(1, 6),
    "l_distinct": st.integers(1, 4),
}
MAKERS = ["mondrian"] * 6 + ["original", "without-quasi", "without-sensitive"]


@st.composite
def maps(draw):
    points = []
    for i in range(draw(st.integers(1, 12))):
        measures = {name: draw(values) for name, values in VALUES.items() if draw(st.integers(0, 9))}
        form = draw(st.sampled_from(["generalization", "bucketization"]))
        status = draw(st.sampled_from(["measured"] * 5 + ["failed"]))
        points.append(
            point_of(f"id{i}", draw(st.sampled_from(MAKERS)), form, "k-anonymity k=2", {}, status, None, measures)
        )
    return Map(ANY, tuple(points))


@st.composite
def questions(draw):
    bounds = {
        side: draw(st.dictionaries(st.sampled_from(sorted(VALUES)), st.floats(0, 15), max_size=2))
        for side in ("max", "min")
    }
    by = draw(st.sampled_from([None, "best", "knee", "ideal"]))
    prefer = draw(st.sampled_from([None, *VALUES])) if by in (None, "best") else None
    recipient = draw(st.sampled_from([None, *RECIPIENTS]))
    if not any((by, prefer, recipient, *bounds.values())):
        by = "knee"  # without a question the recipient is chosen, which has a test of its own
    return bounds | {"by": by, "prefer": prefer, "recipient": recipient}


def limits(question, own):
    """The bounds of a question as (measure, side, value), by the documented rules."""
    given = [(name, side, value) for side in ("max", "min") for name, value in question[side].items()]
    if question["recipient"] is None:
        return given
    named = {(name, side) for name, side, _ in given}
    preset = RECIPIENTS[question["recipient"]].bounds
    return given + [
        (b.measure, b.side, b.value)
        for b in preset
        if b.measure != "itemset_risk" and (b.measure, b.side) not in named  # these maps are of tables
    ]


def holds(point, name, side, value):
    own = point.measures.get(name)
    if own is None:
        return False
    slack = 1e-9 * max(1, abs(value))
    return own <= value + slack if side == "max" else own >= value - slack


def somebody_is_alone(point):
    """Whether a release in ranges has a group of one; without sensitive values, exact quasi-identifiers are meant."""
    ranges = point.form == "generalization" and point.anonymizer != "without-sensitive"
    return ranges and 1 in (point.measures.get("k"), point.measures.get("smallest_group"))


def plainly_inside(own, question):
    """The points that may be chosen, from the documentation alone."""
    needed = [question["prefer"] or "u_loss"] if is_best(question) else ["p_loss", "u_loss"]
    return [
        point
        for point in own.points
        if point.status == "measured"
        and point.anonymizer != "original"
        and not somebody_is_alone(point)
        and all(name in point.measures for name in needed)
        and all(holds(point, *bound) for bound in limits(question, own))
    ]


def is_best(question):
    asked = question["max"] or question["min"] or question["prefer"] or question["recipient"]
    return question["by"] == "best" or (question["by"] is None and bool(asked))


def asked(own, question):
    """The choice, None where nothing fits, or an example to skip where a measure is on no point at all."""
    try:
        return own.choose(**question)
    except BadInputError as error:
        assert "no point of this map has the measure" in str(error)
        return "skip"
    except NothingFitsError as error:
        return error


def turned(name, value):
    return value if MEASURES[name].better == "lower" else -value


@tries(200)
@given(maps(), questions())
def test_the_choice_is_within_the_bounds_and_the_best_there(own, question):
    choice, inside = asked(own, question), plainly_inside(own, question)
    if choice == "skip":
        return
    if isinstance(choice, NothingFitsError):
        assert inside == []
        return
    assert choice.point in inside
    if is_best(question):
        prefer = question["prefer"] or "u_loss"
        assert choice.prefer == prefer
        best = min(turned(prefer, point.measures[prefer]) for point in inside)
        assert turned(prefer, choice.point.measures[prefer]) == best
        names = [name for name in (prefer, "p_loss", "u_loss") if name in choice.point.measures]
    else:
        names = ["p_loss", "u_loss"]
    for other in inside:
        values = [(turned(n, other.measures.get(n, inf)), turned(n, choice.point.measures[n])) for n in names]
        assert not (all(a <= b for a, b in values) and any(a < b for a, b in values))


@tries(200)
@given(maps(), questions())
def test_relaxing_as_told_makes_it_feasible(own, question):
    error = asked(own, question)
    if not isinstance(error, NothingFitsError):
        return
    told = {(entry.bound.measure, entry.bound.side): entry for entry in error.relax}
    if told:
        assert set(told) == {(name, side) for name, side, _ in limits(question, own)}
    for (name, side), entry in told.items():
        if entry.value is None:
            continue
        word, value = entry.relaxed.option.removeprefix(f"--{side} ").split("=")
        for limit in (entry.value, float(value)):
            again = own.choose(**question | {side: question[side] | {word: limit}})
            assert again.point in plainly_inside(own, question | {side: question[side] | {name: limit}})
        assert entry.value < entry.bound.value if side == "min" else entry.value > entry.bound.value
        stricter = entry.value + 1 if name == "k" and side == "min" else (entry.value + entry.bound.value) / 2
        if (
            question["recipient"] is None
            and abs(stricter - entry.value) > 1e-6
            and stricter != entry.bound.value
            and abs(stricter) < inf
        ):
            assert isinstance(asked(own, question | {side: question[side] | {name: stricter}}), NothingFitsError)


@tries(150)
@given(maps(), questions())
def test_neighbours_are_the_next_trades_on_the_frontier(own, question):
    choice = asked(own, question)
    if choice == "skip" or isinstance(choice, NothingFitsError) or not choice.point.has(["p_loss", "u_loss"]):
        return
    x, y = (choice.point.measures[name] for name in ("p_loss", "u_loss"))
    for neighbour in choice.neighbours:
        u, v = (own[neighbour.point].measures[name] for name in ("p_loss", "u_loss"))
        assert (u < x and v > y) if neighbour.side == "more private" else (u > x and v < y)
        assert neighbour.within_bounds == all(holds(own[neighbour.point], *bound) for bound in limits(question, own))
    if any("not on the frontier" in why for why in choice.why):
        return
    for point in plainly_inside(own, question):  # a neighbour costs no more than any other trade that gives something
        if not point.has(["p_loss", "u_loss"]):
            continue
        u, v = (point.measures[name] for name in ("p_loss", "u_loss"))
        if u < x and v > y:
            assert any(own[n.point].measures["u_loss"] <= v for n in choice.neighbours if n.side == "more private")
        if u > x and v < y:
            assert any(own[n.point].measures["p_loss"] <= u for n in choice.neighbours if n.side == "less private")
    assert json.loads(json_text(choice.to_dict()))["point"]["id"] == choice.point.id


def test_a_bound_is_met_at_its_boundary():
    """One tolerance, 1e-9, as in makers and checkers."""
    own = make_map(make_point("a", p_loss=0.1 + 5e-10, u_loss=0.1), make_point("b", p_loss=0.0, u_loss=0.2))
    assert own.choose(max={"p_loss": 0.1}).point.id == "a"
    assert own.choose(max={"p_loss": 0.1 - 1e-8}).point.id == "b"


def test_it_says_why_and_what_the_neighbours_give_and_cost():
    own = curve((0.1, 0.05), (0.25, 0.024), (0.31, 0.021), (0.4, 0.01))
    choice = own.choose(max={"p_loss": 0.35})
    assert choice.point.id == "002"
    assert (
        choice.why[0]
        == "Of the 3 points with p_loss at most 0.35 it has the lowest u_loss: 0.021. The next is 001 with 0.024."
    )
    assert [n.said for n in choice.neighbours] == [
        "Going to 001 lowers p_loss from 0.31 to 0.25 and raises u_loss from 0.021 to 0.024.",
        "Going to 003 raises p_loss from 0.31 to 0.4 and lowers u_loss from 0.021 to 0.01; that is outside the bounds "
        "(p_loss at most 0.35 asked for).",
    ]


def test_a_choice_off_the_frontier_of_the_axes_says_so():
    own = make_map(make_point("a", p_loss=0.1, u_loss=0.1, kl=2.0), make_point("b", p_loss=0.2, u_loss=0.2, kl=1.0))
    choice = own.choose(prefer="kl")
    assert choice.point.id == "b"
    assert (
        choice.why[1]
        == "It is not on the frontier of p_loss and u_loss: a has p_loss 0.1 against 0.2 and u_loss 0.1 against 0.2."
    )


def test_a_bound_that_cuts_off_the_better_values_is_remarked_on():
    own = make_map(make_point("a", p_loss=0.1, u_loss=0.1, k=3))
    assert "k is better when higher" in own.choose(max={"k": 5}).why[-1]
    assert not any("is better when" in why for why in own.choose(min={"k": 2}).why)


@pytest.mark.parametrize(
    ("asked_for", "said"),
    [
        ({"max": {"nonsense": 1}}, "unknown measure 'nonsense'; known are k, "),
        ({"max": {"p_loss": float("nan")}}, "must be a number"),
        ({"max": {"p_loss": "0.1"}}, "must be a number"),
        ({"min": {"k": True}}, "must be a number"),
        ({"max": {"kl": 1}}, "no point of this map has the measure 'kl'; it has p_loss, u_loss"),
        ({"prefer": "nonsense"}, "unknown measure 'nonsense'"),
        ({"prefer": "kl"}, "no point of this map has the measure 'kl'"),
        ({"by": "magic"}, "by must be one of knee, ideal, best, analysis, not 'magic'"),
        ({"recipient": "aunt"}, "recipient must be one of public, partner, internal, not 'aunt'"),
        ({"by": "knee", "prefer": "u_loss"}, "needs by='best'"),
        ({"axes": ["p_loss"]}, "two different measures"),
        ({"axes": ["p_loss", "nonsense"]}, "unknown measure"),
        ({"axes": ["k", "loss"]}, "no point of this map has the measure 'loss'"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_a_sentence(asked_for, said):
    with pytest.raises(BadInputError, match=re.escape(said)):
        curve((0.1, 0.2), (0.2, 0.1)).choose(**asked_for)


def test_a_map_without_the_axes_of_its_study_says_what_to_give():
    own = make_map(make_point("a", k=3, loss=0.2), make_point("b", k=9, loss=0.4))
    with pytest.raises(
        BadInputError, match=r"no point of this map has the measure 'p_loss'; it has k, loss; give other axes"
    ):
        own.choose(by="knee")
    assert own.choose(by="knee", axes=["k", "loss"]).point.id == "b"
    assert (
        own.choose(prefer="loss").why[1]
        == "It has no p_loss and u_loss, so it has no neighbours on the frontier of p_loss and u_loss."
    )


def test_a_choice_is_a_value():
    own = curve(*L_SHAPE)
    choice = own.choose(max={"p_loss": 0.1})
    assert choice == own.choose(max={"p_loss": 0.1})
    with pytest.raises(FrozenInstanceError):
        choice.by = "ideal"
    assert isinstance(choice, sfumato.Choice)


# ---------------------------------------------------------------- recipients

NAMES = ("k", "smallest_group", "l_frequency", "l_distinct", "p_loss", "u_loss")


def person(id, *values, **kind):
    return make_point(id, **kind, **dict(zip(NAMES, values, strict=True)))


PEOPLE = make_map(
    person("safe", 20, 20, 3.0, 5, 0.1, 0.04),
    person("fair", 11, 11, 2.0, 4, 0.2, 0.03),
    person("five", 5, 5, 1.5, 2, 0.3, 0.02),
    person("three", 3, 3, 1.5, 2, 0.4, 0.015),
    person("bucket", 1, 11, 2.5, 4, 0.15, 0.01, form="bucketization"),
    person("coarse", 12, 12, 2.5, 4, 0.15, 0.02, form="bucketization"),
    person("same", 9, 9, 1.0, 1, 0.5, 0.001),
    person("all", 1, 1, 1.0, 1, 0.6, 0.0, anonymizer="original"),
)


def test_the_less_trusted_the_recipient_the_stricter_the_choice():
    found = {name: PEOPLE.choose(recipient=name).point.id for name in RECIPIENTS}
    assert found == {"public": "coarse", "partner": "coarse", "internal": "three"}


def test_exact_quasi_identifiers_count_by_their_own_k_unless_they_are_allowed():
    """A bucket of eleven records hides nobody if its quasi-identifiers are unique; twelve equal ones do."""
    assert {PEOPLE.choose(recipient=name).point.id for name in RECIPIENTS}.isdisjoint({"bucket"})
    for k, id in ((11, "coarse"), (12, "coarse"), (13, "safe")):  # a stricter bound never admits more
        assert PEOPLE.choose(recipient="public", min={"k": k}).point.id == id
    assert PEOPLE.choose(recipient="public", max={"k": 11}).point.id == "fair"  # the other side of the preset stays
    waived = PEOPLE.choose(recipient="public", min={"k": 1})
    assert waived.point.id == "bucket" and waived.warnings
    assert any("in place of 'public': k at least 11" in why or "'public': k at least 11" in why for why in waived.why)
    allowed = PEOPLE.choose(allow=["exact"])
    assert (allowed.point.id, allowed.recipient) == ("bucket", "public")  # its buckets have eleven records
    smaller = make_map(person("bucket", 1, 10, 2.5, 4, 0.15, 0.01, form="bucketization"))
    with pytest.raises(NothingFitsError):
        smaller.choose(recipient="public", allow=["exact"])
    assert smaller.choose(recipient="partner", allow=["exact"]).point.id == "bucket"
    with pytest.raises(BadInputError, match="allow must be one of exact, not 'everything'"):
        PEOPLE.choose(allow=["everything"])


def test_without_a_question_the_most_careful_recipient_with_a_useful_release_is_named():
    choices = {
        "public": make_map(*PEOPLE.points),
        "partner": make_map(*(p for p in PEOPLE.points if p.id not in ("safe", "fair", "coarse"))),
        "internal": make_map(*(p for p in PEOPLE.points if p.id in ("three", "same", "bucket", "all"))),
    }
    assert {name: own.choose().recipient for name, own in choices.items()} == {name: name for name in RECIPIENTS}
    trivial = make_point("none", anonymizer="without-quasi", k=99, l_frequency=5.0, l_distinct=9, p_loss=0, u_loss=0.05)
    useless = make_map(*(p for p in PEOPLE.points if p.id in ("same", "bucket", "all")), trivial)
    with pytest.raises(NothingFitsError) as failed:
        useless.choose()
    assert str(failed.value).splitlines() == [
        "no useful release on this map is fit for public, partner and internal use.",
        "  none is fit, and as useful as publishing nothing.",
    ]
    with pytest.raises(NothingFitsError, match=r"no useful release(.|\n)*With --min l_distinct=1 instead of 2"):
        make_map(PEOPLE["same"], PEOPLE["all"]).choose()


def test_what_another_release_beats_in_identity_attribute_and_counts_is_not_recommended():
    def release(id, u_loss, *values):
        names = ("prosecutor", "p_loss", "query_error")
        return make_point(
            id, k=20, l_frequency=3.0, l_distinct=3, u_loss=u_loss, **dict(zip(names, values, strict=True))
        )

    beaten, best = release("beaten", 0.01, 0.05, 0.2, 0.5), release("best", 0.02, 0.04, 0.1, 0.4)
    assert make_map(beaten, best).choose().point.id == "best"
    for values in ((0.05, 0.1, 0.4), (0.04, 0.2, 0.4), (0.04, 0.1, 0.5)):  # as good in one of the three
        assert make_map(beaten, release("other", 0.02, *values)).choose().point.id == "beaten"

    def detailed(point, loss):
        return replace(point, measures={**point.measures, "loss": loss})

    for loss, id in ((0.3, "best"), (0.4, "beaten")):  # coarser columns do not beat
        assert make_map(detailed(beaten, 0.35), detailed(best, loss)).choose().point.id == id


def test_the_choice_says_why_a_more_careful_recipient_gets_none():
    below = [p for p in PEOPLE.points if p.id not in ("safe", "fair", "coarse")]
    assert (
        make_map(*below)
        .choose()
        .why[0]
        .startswith("Not 'public': no release on this map is fit and useful. The recipient is 'partner'")
    )
    whole = person("whole", 40, 40, 1.6, 5, 0.0, 0.05, anonymizer="without-quasi")
    about = {"records": 40, "sensitive": ["illness"]}
    choice = Map(PEOPLE.study, (*below, whole), about).choose()
    assert choice.why[0].startswith(
        "Not 'public': No release of this table can have l_frequency at least 2 unless at least 10 records (25.0 %) "
        "are left out. 62.5 % of the 40 records have the same value of 'illness'"
    )
    assert "The publisher's options" not in choice.why[0] and "The recipient is 'partner'" in choice.why[0]
    with pytest.raises(NothingFitsError) as failed:
        Map(PEOPLE.study, (*below, whole), about).choose(recipient="public")
    *_, nearest, named = str(failed.value).splitlines()
    assert "whole" not in nearest, "the trivial release is no repair"
    assert named == "  Nearest fit: five is fit for 'partner'; `sfumato choose DIR --for partner` explains it."


def test_differential_privacy_is_bounded_by_its_epsilon():
    def noisy(id, epsilon):
        return make_point(
            id, anonymizer=f"dp-quadtree epsilon={epsilon} height=2", epsilon=epsilon, query_error=epsilon
        )

    shown = Map(ANY, (noisy("small", 1.0), noisy("large", 1.2)))
    asked = {"recipient": "public", "axes": ["epsilon", "query_error"]}
    assert shown.choose(**asked).point.id == "small"  # at most ln 3
    with pytest.raises(NothingFitsError):
        Map(ANY, shown.points[1:]).choose(**asked)


def test_thresholds_of_recipients_are_those_in_use():
    """Smallest groups 11, 5 and 3: risks .09, .2 and .33."""
    sizes = {name: [b.value for b in own.bounds if b.measure == "k"] for name, own in RECIPIENTS.items()}
    assert {name: round(1 / size[0], 2) for name, size in sizes.items()} == {
        "public": 0.09,
        "partner": 0.2,
        "internal": 0.33,
    }
    assert all(bound.reason != "given" and bound.is_natural for own in RECIPIENTS.values() for bound in own.bounds)


def test_presets_apply_to_the_measures_a_map_has():
    points = make_point("a", k=12, loss=0.5), make_point("b", k=3, loss=0.1)
    choice = Map(ANY, points, {"sensitive": []}).choose(recipient="public", prefer="loss")
    assert choice.point.id == "a"
    assert [bound.measure for bound in choice.bounds] == ["k"]
    with pytest.raises(NothingFitsError, match="'public' requires l_frequency at least 2, and no release of this map"):
        make_map(*points).choose(recipient="public", prefer="loss")


def test_the_original_is_never_recommended_and_trivial_releases_are_with_a_word():
    assert PEOPLE.choose(prefer="u_loss").point.id == "same"
    own = make_map(
        make_point("o", anonymizer="original", p_loss=0.6, u_loss=0.0),
        make_point("q", anonymizer="without-quasi", p_loss=0.0, u_loss=0.05),
    )
    choice = own.choose(max={"p_loss": 0.1})
    assert choice.point.id == "q" and "trivial release" in choice.warnings[0]
    assert not choice.neighbours[0].is_release
    assert "(the original table, which is not a release)" in choice.neighbours[0].said
    with pytest.raises(InfeasibleError, match="not a release"):
        make_map(own.points[0]).choose(by="knee")
    exact = make_map(make_point("s", anonymizer="without-sensitive", k=1, loss=0.0)).choose(prefer="loss")
    assert "exact quasi-identifiers are" in exact.warnings[0]


def test_the_ends_of_a_map_of_baskets_are_called_what_they_are():
    asked = basket_requirement("km-anonymity k=1 m=1")
    ends = {"one-item": (0.0, 0.05), "original": (0.6, 0.0)}
    points = [
        Point(name, Candidate(candidate_maker(name), asked), "measured", measures={"p_loss": risk, "u_loss": loss})
        for name, (risk, loss) in ends.items()
    ]
    choice = make_map(*points).choose(max={"p_loss": 0.1})
    assert "all items are published as one" in choice.warnings[0]
    assert "original (the original baskets, which are not a release)" in choice.neighbours[0].said


# ---------------------------------------------------------------- nothing fits


def test_when_nothing_fits_it_says_what_to_relax():
    own = make_map(
        make_point("a", k=2, p_loss=0.05, u_loss=0.3),
        make_point("b", k=8, p_loss=0.14996, u_loss=0.2),
        make_point("c", k=9, p_loss=0.4, u_loss=0.01),
    )
    with pytest.raises(NothingFitsError) as failed:
        own.choose(max={"p_loss": 0.1}, min={"k": 5})
    assert str(failed.value).splitlines() == [
        "no point of this map fits p_loss at most 0.1 and k at least 5.",
        "  With --max p_loss=0.15 instead of 0.1, all else kept, b would fit.",
        "  With --min k=2 instead of 5, all else kept, a would fit.",
        "  The nearest point is a: p_loss 0.05 and k 2.",
    ]
    assert failed.value.relax[0].value == 0.14996
    bucket = PEOPLE["bucket"]
    with pytest.raises(NothingFitsError, match="With --min k=1 instead of 11, all else kept, bucket would fit"):
        make_map(bucket).choose(recipient="public")
    assert make_map(bucket).choose(recipient="public", min={"k": 1}).point == bucket
    with pytest.raises(NothingFitsError, match="Relaxing --min k alone does not help") as failed:
        own.choose(max={"p_loss": 0.01}, min={"k": 50})
    assert failed.value.nearest.id == "a"


def test_an_option_to_relax_is_never_stricter_than_the_value():
    assert Bound("p_loss", "max", 0.123412).option == "--max p_loss=0.1235"
    assert Bound("l_entropy", "min", 2.99999).option == "--min l_entropy=2.999"
    assert Bound("k", "min", 45222).option == "--min k=45222"
    assert Bound("delta", "max", inf).option == "--max delta=inf"


# ---------------------------------------------------------------- the command line


@pytest.fixture
def folder(tmp_path):
    """A folder as `explore` leaves it."""
    own = tmp_path / "my map"
    own.mkdir()
    write(own, PEOPLE)
    return own


def write(folder, shown):
    entries = [
        {
            name: getattr(p, name)
            for name in ("id", "anonymizer", "form", "requirement", "parameters", "status", "reason")
        }
        | {"measures": p.measures}
        for p in shown.points
    ]
    (folder / "points.json").write_text(json_text({"table": {}, "points": entries}))
    (folder / "study.toml").write_text(shown.study.to_toml())


def test_without_details_the_verdict_is_first_and_the_command_last(folder):
    code, out, _ = run("choose", folder, "--prefer", "u_loss")
    lines = out.splitlines()
    verdict = next(place for place, line in enumerate(lines) if line.startswith(("Fit for", "Not fit for")))
    assert code == 0 and lines[0].startswith("Recommended: ") and verdict <= 3 and len(lines) <= 25
    assert lines[-2].startswith("Publish it: sfumato release ") and lines[-1] == "Everything else: add --details."
    assert all(len(line) <= 80 for line in lines[:-2])


def test_the_command_recommends_and_says_how_to_publish(folder):
    code, out, err = run("choose", folder, "--for", "public", "--details")
    assert (code, err) == (0, "")
    flat = " ".join(out.split())
    assert out.startswith("Point coarse: Mondrian, every bucket at least 2 records, published in buckets")
    assert "The recipient is 'public'" in flat and "1/11 = .09" in flat
    assert "Of the 3 points with k at least 11 and l_frequency at least 2 it has the lowest u_loss: 0.02." in flat
    assert "more private: Going to safe lowers p_loss from 0.15 to 0.1, raises u_loss from 0.02 to 0.04, " in flat
    words = shlex.split(out.splitlines()[-1])
    assert words == [
        "sfumato",
        "release",
        str(folder),
        *["--point", "coarse", "--to", "release-coarse.csv", "--for", "public"],
    ]


def test_the_command_as_json(folder):
    code, out, _ = run("choose", folder, "--max", "p_loss=0.3", "--min", "k=5", "--min", "l_distinct=2", "--json")
    said = json.loads(out)
    assert code == 0
    assert {"point", "why", "neighbours", "relax", "landmarks", "bounds", "by"} <= {*said}
    assert said["point"]["id"] == "coarse" and said["relax"] == [] and said["prefer"] == "u_loss"
    assert [bound["measure"] for bound in said["bounds"]] == ["p_loss", "k", "l_distinct"]
    assert said["command"].endswith("--point coarse --to release-coarse.csv")
    assert said["neighbours"][0]["changes"]["p_loss"] == [0.15, 0.1]


def test_the_command_without_a_question_answers_for_the_most_careful_recipient(folder):
    public = run("choose", folder, "--for", "public", "--json")
    assert json.loads(run("choose", folder, "--json")[1]) == json.loads(public[1])
    assert json.loads(run("choose", folder, "--knee", "--json")[1])["by"] == "knee"
    allowed = json.loads(run("choose", folder, "--allow", "exact", "--json")[1])
    assert allowed["point"]["id"] == "bucket" and "--for" not in allowed["command"]
    swapped = json.loads(run("choose", folder, "--axes", "u_loss, k", "--by", "ideal", "--json")[1])
    assert swapped["axes"] == ["k", "u_loss"]


def test_the_command_when_nothing_fits(folder):
    code, out, err = run("choose", folder, "--max", "u_loss=0.0001", "--min", "k=11")
    assert code == 1 and out == ""
    assert err.startswith("sfumato: no point of this map fits u_loss at most 0.0001 and k at least 11.\n")
    option = re.search(r"With (--max u_loss=\S+) instead", err)[1]
    assert run("choose", folder, *option.split(), "--min", "k=11")[0] == 0
    code, out, err = run("choose", folder, "--max", "u_loss=0.0001", "--min", "k=11", "--json")
    said = json.loads(out)
    assert code == 1 and err == "" and said["point"] is None
    assert said["relax"][0] | {"reason": ""} == {
        "measure": "u_loss", "side": "max", "value": 0.0001, "reason": "", "fits_at": 0.02, "point": "coarse",
        "option": "--max u_loss=0.02",
    }  # fmt: skip
    assert said["nearest"]["id"] in {point.id for point in PEOPLE.points}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--max", "nonsense=1"], "unknown measure 'nonsense'; known are k, smallest_group"),
        (["--max", "p_loss"], "--max 'p_loss' cannot be read: write measure=number"),
        (["--min", "k=many"], "--min 'k=many' cannot be read"),
        (["--min", "k=nan"], "--min 'k=nan' cannot be read"),
        (["--max", "=3"], "--max '=3' cannot be read"),
        (["--max", "p_loss=1", "--max", "p_loss=2"], "--max p_loss is given twice, as 1 and 2"),
        (["--knee", "--by", "ideal"], "--knee and --by ideal contradict each other"),
        (["--by", "magic"], "by must be one of"),
        (["--for", "aunt"], "recipient must be one of"),
        (["--axes", "p_loss"], "two different measures"),
        (["--prefer", "kl"], "no point of this map has the measure 'kl'"),
    ],
)
def test_bad_input_is_2_and_one_sentence(folder, words, said):
    code, out, err = run("choose", folder, *words)
    assert (code, out) == (2, "")
    assert err.startswith("sfumato: ") and said in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("knee", ["--knee"]),
        ("ideal", ["--by", "ideal"]),
        ("partner", ["--for", "partner"]),
        ("public", ["--for", "public"]),
    ],
)
def test_ask_answers_what_choose_answers(folder, question, words):
    for more in ((), ("--json",)):
        assert run("ask", folder, question, "--search", 0, *more) == run("choose", folder, *words, *more)


def test_a_folder_without_a_map_is_2(tmp_path):
    code, _, err = run("choose", tmp_path)
    assert code == 2 and "points.json" in err and "sfumato explore" in err


def test_bounds_are_read_with_blanks_and_infinities():
    assert read_bounds([" delta = inf ", "p_loss=1e-3"], "--max") == {"delta": inf, "p_loss": 0.001}


def test_the_best_is_the_highest_or_the_lowest():
    from sfumato.tradeoff.question.reasons import best

    points = [
        point_of(str(k), "mondrian", "generalization", "k-anonymity k=2", {}, "measured", measures={"k": k})
        for k in (9, 4)
    ]
    assert "it has the highest k: 9" in best(points, "k", [])


def test_a_release_is_called_fit_only_where_every_bound_was_measured():
    shown, full = PEOPLE, PEOPLE["fair"]
    assert fit_sentence(shown, full) == "Fit for public, partner and internal use."
    for name, whom in {"k": "public, partner and internal", "l_frequency": "public"}.items():
        less = replace(full, measures={n: v for n, v in full.measures.items() if n != name})
        words = f"Not known to be fit for {whom} use: {name} not measured for this release."
        assert fit_sentence(shown, less).endswith(words)
    nothing = fit_sentence(shown, replace(full, measures={"u_loss": 0.1}))
    assert nothing.startswith("Not known to be fit for public, partner and internal use")


def test_a_first_study_of_persons_has_what_recipients_require_of_them(tmp_path):
    """The public's share of one person, 1/11, is asked of groups. Asked for one half, only large groups were fit.

    The release that was recommended then blanked two columns of four.
    """
    draw, lines = random.Random(5), []
    for person in range(900):
        known = f"{draw.randrange(18, 88)},{draw.choice('FM')},{draw.choice(['north', 'south', 'east', 'west'])}"
        for _ in range(min(1 + int(draw.expovariate(0.8)), 8)):
            lines.append(f"P{person:04},{known},{draw.choice(['flu', 'asthma', 'gout', 'cold', 'burn'])}")
    (tmp_path / "stays.csv").write_text("\n".join(["patient,age,sex,region,illness", *lines]) + "\n")
    study = sfumato.draft(tmp_path / "stays.csv").study
    assert any("share=0.0909 & l-diversity l=2" in str(candidate.requirement) for candidate in study.candidates)
    choice = sfumato.explore(study).choose()
    assert choice.recipient == "public" and not [each for each in choice.point.changes.values() if "(*)" in each]
    bounds = {bound.measure: bound.value for bound in RECIPIENTS["public"].bounds_of(study, True)}
    assert bounds["prosecutor"] == pytest.approx(1 / 11)
    for own in RECIPIENTS.values():
        part, k = sfumato.requirement(own.requirement(["illness"], True)).parts[0], own.bounds[0].value
        assert 1 / k - 1e-4 < part.share <= 1 / k
