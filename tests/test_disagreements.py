"""Where the axes disagree: the rule against its definition, and what report, explore and choose say of it."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from points import point_of
from sfumato import MEASURES, BadInputError, Grid, Map, Study, TableDeclaration, anonymizer, requirement
from sfumato.commands.app import app
from sfumato.report import verdicts as words
from sfumato.report.answer_summary import choice_values
from sfumato.report.data_summary import meanings
from sfumato.report.page import content, page
from sfumato.tradeoff.comparison import COMPARED, FEWEST
from strategies import tries


def made(id, maker="mondrian", **measures):
    """A measured release."""
    return point_of(id, maker, "generalization", "k-anonymity k=2", {}, "measured", None, measures)


def mapped(points, axes=("p_loss", "u_loss")):
    grid = Grid((anonymizer("mondrian"),), (requirement("k-anonymity k=2"),))
    study = Study("clinic", TableDeclaration("t.csv", ("age",), ("illness",)), (grid,), axes=axes)
    return Map(study, tuple(points), {"records": 90, "quasi": ["age"], "sensitive": ["illness"]})


def third(values, own, better):
    """The rule, counted one by one: good, bad or neither; a release counts among those that are as good as it."""
    above = sum(v <= own if better == "lower" else v >= own for v in values)
    below = sum(v >= own if better == "lower" else v <= own for v in values)
    return "good" if above <= len(values) / 3 else "bad" if below <= len(values) / 3 else ""


NAMES = ("p_loss", "definetti_accuracy", "u_loss", "u_loss_em", "k")


@tries(150)
@given(
    st.lists(st.dictionaries(st.sampled_from(NAMES), st.integers(0, 9), min_size=3), min_size=1, max_size=14),
    st.sampled_from([("p_loss", "u_loss"), ("k", "u_loss_em")]),
)
def test_standings_and_disagreements_follow_the_rule(rows, axes):
    points = [made(f"{i:02}", **row) for i, row in enumerate(rows)]
    trivial = made("99", "without-quasi", **dict.fromkeys(NAMES, 0))
    found = mapped([*points, trivial], axes).disagreements
    if len(points) < FEWEST:
        assert found is None
        return
    assert found.standing(trivial, "p_loss") is None and found.of_point(trivial) == []
    for point in points:
        sides = {}
        for name in NAMES:
            values = [row[name] for row in rows if name in row]
            known = name in point.measures and len(values) >= FEWEST
            own = found.standing(point, name)
            assert (own is not None) == known
            if known:
                better = MEASURES[name].better
                sides[name] = third(values, point.measures[name], better)
                assert own.side == sides[name] and own.of == len(values)
                assert own.rank == 1 + sum(v < own.value if better == "lower" else v > own.value for v in values)
        expected = {
            (axis, other)
            for axis in axes
            for other in COMPARED[MEASURES[axis].kind]
            if {sides.get(axis), sides.get(other)} == {"good", "bad"}
        }
        assert {(d.axis.measure, o.measure) for d in found.of_point(point) for o in d.others} == expected


def torn_map():
    """Nine releases on a frontier; the safest by p_loss is the riskiest by the deFinetti attack."""
    points = []
    for i in range(9):
        attack = 0.9 if i == 0 else 0.3 + i / 100
        measures = {"p_loss": i / 10, "u_loss": 1 - i / 10, "u_loss_em": (1 - i / 10) / 2}
        attacks = {
            "definetti_accuracy": attack,
            "definetti_gain": 0.05,
            "attack_accuracy": 0.3,
            "empirical_breach": 0.5,
        }
        points.append(made(f"p{i}", **measures, **attacks))
    return mapped([*points, made("end", "original", p_loss=0.95, u_loss=0.0)])


SAID = (
    "By p_loss it is among the safer third of the releases (0, rank 1 of 9), but among the riskier third by "
    "definetti_accuracy (0.9, rank 9 of 9: the deFinetti attack guesses the sensitive value right 90.0 % of "
    "the time, the commonest value of each group is right 85.0 % of the time)."
)


def test_it_is_said_in_words():
    found = torn_map().disagreements
    assert found is not None and list(map(words.disagreement_sentence, found.on_frontier)) == [SAID]
    assert words.disagreement_tally(found).startswith(
        "1 of the 9 releases on the frontier looks good by one measure and bad by another"
    )
    assert (
        "Compared were p_loss with attack_accuracy and definetti_accuracy and u_loss with u_loss_em."
        in words.disagreement_rule(found)
    )
    assert "u_loss of at most 0.6, and" in words.readers(found) and "at most 0.3." in words.readers(found)
    told = "guesses illness right 35.0 % of the time in the median release, the commonest value of each group is right"
    assert f"{told} 30.0 %" in words.readers(found)


def test_an_attack_that_does_not_beat_its_baseline_is_no_alarm():
    """The first of the frontier looks bad by the attack's rank; only a gain over guessing makes that a disagreement."""
    alarms = {}
    for gain in (-0.1, 0.0, 1e-3):
        points = [replace(p, measures={**p.measures, "definetti_gain": gain}) for p in torn_map().points]
        held = mapped(points).disagreements
        by_attack = held.of_point(points[0], ("definetti_accuracy", "u_loss"))
        alarms[gain] = (len(held.on_frontier), [d.axis.measure for d in by_attack])
    assert alarms == {-0.1: (0, []), 0.0: (0, []), 1e-3: (1, ["definetti_accuracy"])}


def test_what_agrees_is_said_to_agree_and_what_was_not_measured_is_not_told():
    points = [made(f"p{i}", p_loss=i / 10, u_loss=1 - i / 10, u_loss_em=1 - i / 10) for i in range(7)]
    found = mapped(points).disagreements
    assert (
        found is not None
        and found.on_frontier == []
        and words.disagreement_tally(found).startswith("None of the 7 releases")
    )
    assert words.readers(found) == "" and found.compared == {"u_loss": ["u_loss_em"]}
    assert mapped(points[:5]).disagreements is None


def test_all_alike_look_neither_good_nor_bad():
    points = [made(f"p{i}", p_loss=i / 10, u_loss=0.5, definetti_accuracy=0.3 + 1e-13 * i) for i in range(8)]
    found = mapped(points).disagreements
    assert found is not None
    assert {found.standing(point, "definetti_accuracy").side for point in points} == {""}
    assert {found.standing(point, "definetti_accuracy").rank for point in points} == {1}


def test_the_report_says_it(tmp_path):
    from datetime import date

    shown = torn_map()
    text = page(shown, False, date(2026, 11, 16))
    assert "Do the axes agree?" in text and SAID in text and 'data-point="p0"' in text
    told = {point["id"]: point["disagreements"] for point in content(shown, False)["points"]}
    assert told["p0"] == [SAID] and told["p5"] == [] and told["end"] == []
    few = page(replace(shown, points=shown.points[:3]), False, date(2026, 11, 16))
    assert "Do the axes agree?" not in few
    assert "A cleverer reader" in dict(meanings(shown)) and "5 rounds" in dict(meanings(shown))["A cleverer reader"]


def test_noisy_releases_are_not_ranked_on_the_public_page():
    noisy = [made(f"n{i}", "dp-quadtree epsilon=1 height=2", attack_accuracy=0.1 * i, u_loss=0.5) for i in range(9)]
    shown = torn_map()
    both = replace(shown, points=(*shown.points, *noisy))
    assert [own["disagreements"] for own in content(both.public(), True)["points"]] == [
        own["disagreements"] for own in content(shown.public(), True)["points"]
    ]


@pytest.fixture(scope="module")
def explored(tmp_path_factory):
    """A study of 70 made-up patients, explored; the study, its folder and what was printed."""
    folder = tmp_path_factory.mktemp("clinic")
    rows = [f"{20 + i % 40},{'fm'[i % 2]},{['flu', 'cold', 'none'][(i * i + i // 7) % 3]}" for i in range(70)]
    (folder / "t.csv").write_text("age,sex,illness\n" + "\n".join(rows) + "\n")
    (folder / "study.toml").write_text(
        'name = "clinic"\n[table]\nsource = "t.csv"\nquasi = ["age", "sex"]\nsensitive = ["illness"]\n'
        '[scales]\nmin_support = 0.2\nqueries = "queries number=20"\n[[candidates]]\n'
        'requirements = ["k-anonymity k=2", "k-anonymity k=5", "k-anonymity k=9", "k-anonymity k=20"]\n'
        'forms = ["generalization", "bucketization"]\n'
    )
    done = CliRunner().invoke(app, ["explore", str(folder / "study.toml"), "--out", str(folder / "map"), "--details"])
    assert done.exit_code == 0, done.output
    return folder, done.output


def test_explore_and_choose_say_it(explored):
    folder, printed = explored
    assert "Do the axes agree?" in printed and "learns across groups (u_loss_em)" in " ".join(printed.split())
    said = json.loads(
        CliRunner().invoke(app, ["explore", str(folder / "study.toml"), "--out", str(folder / "map"), "--json"]).stdout
    )
    assert all({"point", "axis", "looks", "others", "said"} == set(own) for own in said["disagreements"])
    from sfumato.tradeoff.exploration.folder import read_map

    shown = read_map(folder / "map")
    found = shown.disagreements
    assert found is not None and [own["said"] for own in said["disagreements"]] == list(
        map(words.disagreement_sentence, found.on_frontier)
    )
    for axes in ("p_loss,u_loss", "definetti_accuracy,u_loss_em"):
        done = CliRunner().invoke(app, ["choose", str(folder / "map"), "--axes", axes, "--json"])
        chosen = json.loads(done.stdout)
        expected = list(map(words.disagreement_sentence, found.of_point(shown[chosen["point"]["id"]], axes.split(","))))
        assert chosen["disagreements"] == expected


def test_choose_prints_it(tmp_path):
    shown = torn_map()
    choice = shown.choose(max={"p_loss": 0.05}, prefer="p_loss")
    assert choice.point.id == "p0" and choice_values(choice, shown)["disagreements"] == [SAID]


def test_explore_reads_as_it_is_told(explored):
    folder, _ = explored
    where = ["explore", str(folder / "study.toml"), "--out", str(folder / "plain"), "--details"]
    done = CliRunner().invoke(app, [*where, "--reader", "uniform"])
    assert done.exit_code == 0 and "u_loss_em" not in done.output
    assert 'reader = "uniform"' in (folder / "plain" / "study.toml").read_text()
    points = json.loads((folder / "plain" / "points.json").read_text())["points"]
    assert not any("definetti_accuracy" in point["measures"] for point in points)
    wrong = CliRunner().invoke(app, [*where, "--reader", "clever"])
    assert isinstance(wrong.exception, BadInputError) and "known are uniform, em" in str(wrong.exception)
