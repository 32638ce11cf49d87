"""The reproduction of Loukides et al. 2012 on a small file of baskets, its second opinion, and the files it takes.

`sfumato reproduce loukides-2012` runs all of it on Online Retail, or on files that are given.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from itertools import combinations
from math import cos, pi, sin

import numpy as np
import pytest

from points import point_of
from sfumato import BadInputError, read_baskets
from sfumato.anonymizers.items import anonymize_baskets
from sfumato.commands.app import main
from sfumato.data.items import baskets_of
from sfumato.papers import loukides_2012 as paper
from sfumato.papers import reproduce
from sfumato.papers.loukides_2012 import (
    KS,
    VARIANTS,
    RUMap,
    angles,
    checked,
    checked_file,
    has_diagnoses,
    is_feasible,
    knees_by_angle,
    knees_by_kneedle,
    least_support,
    opened,
    optima,
    partitions,
    tree_beside,
    utility_loss,
)
from sfumato.release.items import global_release, set_recoding
from sfumato.tradeoff.question.knee import Curve


def small_baskets(records=600, items=40, seed=3):
    """Baskets whose items come in kinds that are bought together, kinds unlike the order of the items."""
    random = np.random.default_rng(seed)
    kinds = random.permutation(items) % 8
    rows = []
    for _ in range(records):
        kind, size = random.integers(8), 1 + random.poisson(2)
        odds = np.where(kinds == kind, 12.0, 1.0) / (1 + np.arange(items))
        rows.append(sorted(random.choice(items, size, replace=False, p=odds / odds.sum()).tolist()))
    return rows


@pytest.fixture(scope="module")
def small_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("baskets") / "small.dat"
    path.write_text("".join(" ".join(f"i{item:02}" for item in row) + "\n" for row in small_baskets()))
    return path


@pytest.fixture(scope="module")
def results(small_file):
    told = []
    found = reproduce(
        "loukides-2012", lambda done, total, what: told.append((done, total)), full=True, data=[small_file]
    )
    assert told == [(step, 50) for step in range(1, 51)]
    return found


def run(monkeypatch, *words):
    monkeypatch.setattr("sys.argv", ["sfumato", "reproduce", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


# -- figure 1 ------------------------------------------------------------------------------------------------


def test_the_worked_example_is_the_papers(results):
    claims = {claim.id: claim for claim in results.claims}
    assert claims["figure-1"].ours == {"ncp": 1.0, "ul": 1.0, "answer": 3.0, "error": 0.25, "risk": 0.166667}
    assert claims["figure-1"].holds and claims["optimum-bounds"].holds
    assert claims["aa-for-every-k"].ours == dict.fromkeys(KS, 1)
    assert claims["erratum-cf"].ours == 2 and not claims["erratum-cf"].holds


def test_all_partitions_are_tried():
    every = {frozenset(own) for own in partitions("abcdefg")}
    assert len(every) == 877  # the seventh Bell number
    assert float(utility_loss([frozenset(item) for item in "abcdefg"])) == pytest.approx(19 / 6 / 127)
    assert not is_feasible([frozenset(item) for item in "abcdefg"], 2) and is_feasible([frozenset("abcdefg")], 6)


def test_the_optima_are_those_of_the_notes():
    found = optima()
    assert {k: round(loss, 5) for k, (loss, _) in found.items()} == {
        2: 0.05118,
        3: 0.07218,
        4: 0.0853,
        5: 0.15354,
        6: 0.17323,
    }
    assert [number for _, number in found.values()] == [304, 133, 52, 27, 7]


# -- the second opinion --------------------------------------------------------------------------------------


def test_supports_are_counted_as_sets():
    rows = [frozenset(f"i{item}" for item in row) for row in small_baskets(80, 12)]
    counts = Counter(own for row in rows for size in (1, 2) for own in combinations(sorted(row), size))
    assert least_support(Counter(rows)) == min(counts.values())
    assert least_support(Counter({frozenset("ab"): 3, frozenset("a"): 5, frozenset("c"): 4})) == 3
    assert least_support(Counter({frozenset(): 3})) == 0


def test_the_second_opinion_finds_what_breaks_k(small_file):
    baskets = read_baskets(small_file)
    items = len(baskets.items)
    alone = global_release(baskets, set_recoding(baskets.items, np.arange(items)))
    assert checked(alone).least == 1 and checked_file(alone).least == 1
    made = anonymize_baskets(baskets, "km-anonymity k=9 m=2", "coat")
    assert checked(made) == checked_file(made)
    assert checked(made).least >= 9 and checked(made).honest


def test_the_second_opinion_finds_records_that_are_shown_as_others(small_file):
    baskets = read_baskets(small_file)
    made = anonymize_baskets(baskets, "km-anonymity k=5 m=2", "pcta")
    lying = global_release(baskets, made.recoding)
    starts, codes = made.shown
    lying.__dict__["shown"] = (starts, codes[::-1].copy())
    assert not checked(lying).honest and not checked_file(lying).honest


# -- the maps ------------------------------------------------------------------------------------------------


def test_every_check_holds(results):
    checks = {claim.id: claim.verdict for claim in results.claims if claim.kind == "check"}
    names = ("optimum-bounds", "aa-for-every-k", "feasible", "risk-is-1-over-k-or-less")
    assert checks == dict.fromkeys(names, "holds")
    assert {claim.id for claim in results.claims if claim.verdict == "reproduced"} >= {"figure-1", "knee-found"}


def test_claims_that_differ_have_our_number_and_a_reason(results):
    reported = [claim for claim in results.claims if claim.kind != "check"]
    ids = {own.id for own in reported}
    assert {"pcta-beats-coat-at-.2", "choice-at-.2", "erratum-km", "erratum-table-1"} <= ids
    assert {f"pcta{which}-beats-coat-at-every-k" for which in ("", "-round", "-stay")} <= ids
    assert all(c.ours is not None and (c.holds or c.reason or c.erratum or c.reading) for c in reported)


def test_the_map_has_every_release_under_both_estimators(results, tmp_path):
    files = {file.name for file in results.write(tmp_path)}
    assert files == {"results.json", *(f"figure-{n}.png" for n in ("1-optima", "6a", "6b", "6c", "7", "7-expanded"))}
    written = json.loads((tmp_path / "results.json").read_text())
    points = written["maps"]["small"]["points"]
    assert [(own["anonymizer"], own["k"]) for own in points] == [
        (label, k) for label in ("AA", "COAT", "PCTA", *VARIANTS) for k in paper.LOUKIDES_2012
    ]
    for own in points:
        measures = own["measures"]
        assert measures["itemset_risk"] <= 1 / own["k"] + 1e-12
        assert measures["utility_half"] == pytest.approx(1 / measures["are_half"])
        assert measures["are_expanded"] >= measures["are_half"]
    drawn = {curve["label"]: curve["points"] for curve in written["figures"]["7-expanded"]}
    shown = sum(len(drawn.get(label, ())) for label in ("AA", "COAT", "PCTA", "beaten by another k"))
    assert shown == 30 and [point["y"] for point in drawn["risk 0.2"]] == [0.2, 0.2]


def test_the_choice_is_the_largest_utility_within_the_bound(small_file):
    own = RUMap(read_baskets(small_file), (2, 4, 8, 20))
    for estimator in ("half", "expanded"):
        found = [run for run in own.runs if run.point.measures["itemset_risk"] <= 0.2]
        best = max(found, key=lambda run: run.point.measures[f"utility_{estimator}"])
        assert own.best(estimator) is best
    assert own.best("half", bound=1e-9) is None


def test_variants_are_held_against_coat_at_every_k(results):
    """Ahead means a lower error, as the map has it."""
    points = {(own["anonymizer"], own["k"]): own["measures"] for own in results.more["maps"]["small"]["points"]}
    claims = {claim.id: claim for claim in results.claims}
    for label, name in (("PCTA", "pcta"), *((label, text.replace(" visit=", "-")) for label, text in VARIANTS.items())):
        claim = claims[f"{name}-beats-coat-at-every-k"]
        ahead = [k for k in paper.LOUKIDES_2012 if points[label, k]["are_half"] < points["COAT", k]["are_half"]]
        assert claim.ours["ahead at k"] == ahead and claim.holds == (len(ahead) == len(paper.LOUKIDES_2012))


def test_a_file_with_a_legend_is_checked_by_the_items_behind_its_names(small_file, monkeypatch):
    """Where sets have names, the second opinion reads the legend; one that lies is found."""
    made = anonymize_baskets(read_baskets(small_file), "km-anonymity k=9 m=2", "coat")
    monkeypatch.setattr("sfumato.release.writing_items.SMALL", 0)
    monkeypatch.setattr("sfumato.release.writing_items.WORTH_A_NAME", 0)
    assert checked_file(made) == checked(made)
    written = paper.write_items

    def lying(release, path):
        _, beside = written(release, path)
        content = json.loads(beside.read_text())
        first, second = list(content["legend"])[:2]
        legend = content["legend"]
        legend[first], legend[second] = legend[second], legend[first]
        beside.write_text(json.dumps(content))
        return [path, beside]

    monkeypatch.setattr(paper, "write_items", lying)
    assert not checked_file(made).honest


def test_a_k_beyond_the_records_is_told_and_not_an_output(tmp_path):
    path = tmp_path / "few.dat"
    path.write_text("a b\na b c\nb c\na c\nb\na b c\n" * 3)
    own = RUMap(read_baskets(path), (2, 50))
    assert [run.point.status for run in own.runs] == ["measured", "infeasible"] * 3
    feasible = paper._feasible([own])
    assert feasible.holds and feasible.ours["few"]["releases"] == 3
    assert set(feasible.ours["few"]["cannot be made"]) == {"AA k=50", "COAT k=50", "PCTA k=50"}


def test_a_release_that_breaks_its_promise_fails_the_reproduction(small_file):
    own = RUMap(read_baskets(small_file), (2, 5))
    assert paper._feasible([own]).holds and paper._bounded_risk([own]).holds
    first = own.runs[0]
    own.runs[0] = type(first)(first.label, 10**6, first.point, first.release, first.checked)
    assert not paper._feasible([own]).holds and not paper._bounded_risk([own]).holds


def test_an_anonymizer_without_a_release_within_the_bound_is_not_beaten(tmp_path):
    """Every pair of items is in three of nine records: a risk of a third, so nobody is in the range of figure 7."""
    path = tmp_path / "few.dat"
    path.write_text("a b\nb c\na c\n" * 3)
    own = RUMap(read_baskets(path), (2, 3))
    assert {run.point.measures["itemset_risk"] for run in own.runs} == {1 / 3}
    claims = [paper._set_based_beats_aa([own]), *paper._compared([own])]
    assert [claim.holds for claim in claims] == [None] * 3
    assert all("risk up to 0.2" in claim.tested_over for claim in claims)


def test_a_curve_without_a_knee_is_told_as_not_tested(small_file):
    own = RUMap(read_baskets(small_file), (2,))
    claims = list(paper._knee_of_figure_5(own, True))
    assert [(claim.id, claim.holds) for claim in claims] == [
        ("figure-5-knee-half", None),
        ("figure-5-knee-expanded", None),
    ]


def test_bms_webview_2_at_one_k(shared):
    baskets, diagnoses = opened([shared / "data" / "transactions" / "bms_webview_2.dat.gz"])
    assert diagnoses is None and baskets.size == 77_512 and baskets.tree.size == 3_340
    own = RUMap(baskets, (5,))
    assert paper._feasible([own]).holds and paper._set_based_beats_aa([own]).holds
    errors = {run.label: run.point.measures["are_half"] for run in own.runs}
    assert errors["AA"] > 3.8 * max(errors["COAT"], errors["PCTA"])  # 3.8 to 13.6 times in the notes' prototypes
    table = {claim.id: claim for claim in paper._errata(own)}["table-1"]
    assert table.ours == {"records": 77_512, "items": 3_340, "longest": 161, "mean": 4.622} and not table.holds


# -- files ---------------------------------------------------------------------------------------------------


def test_diagnoses_are_told_by_their_codes(shared):
    folder = shared / "data" / "transactions"
    assert tree_beside(folder / "bms_webview_2.dat.gz").name == "bms_webview_2_hierarchy.txt.gz"
    file = folder / "uci_diabetes130_icd9_by_patient.dat.gz"
    assert tree_beside(file).name == "uci_diabetes130_icd9_hierarchy.csv.gz"
    baskets, diagnoses = opened([file])
    assert baskets.origin == "online-retail"
    assert (diagnoses.size, len(diagnoses.items)) == (71_517, 915)
    assert [len(level.labels) for level in diagnoses.tree.levels] == [915, 881, 138, 18, 1]


def test_numbers_alone_are_no_diagnoses():
    assert not has_diagnoses(baskets_of([{"1", "22"}, {"333"}]))
    assert not has_diagnoses(baskets_of([{"10295", "V58"}, {"10307"}]))
    assert has_diagnoses(baskets_of([{"250.83", "V58"}, {"401"}]))


def test_figure_5_is_drawn_of_diagnoses(tmp_path, monkeypatch):
    rows = small_baskets(400, 24)
    codes = [f"{300 + 30 * (item % 3) + item}.{item % 10}" for item in range(24)]
    file = tmp_path / "visits_2012.dat"
    file.write_text("".join(" ".join(codes[item] for item in row) + "\n" for row in rows))
    (tmp_path / "visits_hierarchy.csv").write_text(
        "code,chapter\n" + "".join(f"{code},{'abc'[item % 3]}\n" for item, code in enumerate(codes))
    )
    other = tmp_path / "shop.dat"
    other.write_text("".join(" ".join(f"i{item}" for item in row) + "\n" for row in rows))
    monkeypatch.setattr(paper, "LOUKIDES_2012", (2, 5, 10))
    monkeypatch.setattr(paper, "KS_5", (2, 5, 10, 20))
    found = reproduce("loukides-2012", data=[file, other])
    names = {figure.name: figure for figure in found.figures}
    assert {"5", "5-expanded", "5-compared", "5-compared-expanded", "6a", "7"} <= set(names)
    assert {"COAT", "COAT within the tree"} <= {curve.label for curve in names["5"].curves}
    assert set(found.more["maps"]) == {"shop", "visits_2012"}
    chapter = {code: item % 3 for item, code in enumerate(codes)}
    for label in _published(found, file):
        assert len({chapter[code] for code in label}) == 1


def _published(found, file):
    """The sets that COAT publishes within the tree of a file."""
    own = RUMap(opened([file])[1], (5,), within=True)
    release = own.of("COAT within the tree")[0].release
    return [[release.baskets.items[i] for i in part] for part in release.recoding.members]


def test_bad_data_are_one_sentence(tmp_path, monkeypatch, capsys, small_file):
    lacking = tmp_path / "lacking.dat"
    assert run(monkeypatch, "loukides-2012", "--data", lacking, "--out", tmp_path / "out") == 2
    assert str(lacking) in capsys.readouterr().err
    assert run(monkeypatch, "loukides-2012", "--data", tmp_path, "--out", tmp_path / "out") == 2
    assert "this is a folder; give a file in it" in capsys.readouterr().err
    empty = tmp_path / "empty.dat"
    empty.write_text("\n\n")
    assert run(monkeypatch, "loukides-2012", "--data", empty, "--out", tmp_path / "out") == 2
    assert "no line has an item" in capsys.readouterr().err
    again = ["--data", small_file, "--data", small_file]
    assert run(monkeypatch, "loukides-2012", *again, "--out", tmp_path / "out") == 2
    told = capsys.readouterr().err
    assert "give one of them" in told and told.strip().count("\n") == 0
    (tmp_path / "short.dat").write_text("a b\nb c\n")
    with gzip.open(tmp_path / "short_hierarchy.csv.gz", "wt") as stream:
        stream.write("a,x\nb,x\n")
    assert run(monkeypatch, "loukides-2012", "--data", tmp_path / "short.dat", "--out", tmp_path / "out") == 2
    assert "'c' is not in the item tree" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []


def test_data_belong_to_this_paper(monkeypatch, capsys, tmp_path, small_file):
    assert run(monkeypatch, "li-li-2009", "--data", small_file, "--out", tmp_path / "out") == 2
    assert "--data belongs to loukides-2012 and cormode-2013, not to li-li-2009" in capsys.readouterr().err
    with pytest.raises(BadInputError, match="--nothing belongs to no paper"):
        reproduce("loukides-2012", nothing=True)


# -- the knees of the paper's curves


def curve(*places):
    """A curve whose points are at these (p_loss, u_loss), named by their order."""
    values = [{"p_loss": x, "u_loss": y} for x, y in places]
    kind = ("mondrian", "generalization", "k-anonymity k=2", {}, "measured", None)
    return Curve.through([point_of(f"{i:03}", *kind, each) for i, each in enumerate(values)], ("p_loss", "u_loss"))


L_SHAPE = [(0.0, 0.6), (0.02, 0.4), (0.03, 0.2), (0.05, 0.02), (0.2, 0.015), (0.4, 0.01), (0.6, 0.0)]
WAYS = (knees_by_angle, knees_by_kneedle)


@pytest.mark.parametrize("way", WAYS)
def test_knees_of_an_l_an_arc_and_a_line_are_known(way):
    """On the quarter circle around the worst corner all bends are equal; the middle one is furthest from the chord."""
    assert way(curve(*L_SHAPE))[0].id == "003"
    for steps in (4, 18, 90):
        turns = [i * pi / 2 / steps for i in range(steps + 1)]
        assert way(curve(*((0.7 * (1 - cos(a)), 0.05 * (1 - sin(a))) for a in turns)))[0].id == f"{steps // 2:03}"
    assert way(curve((0, 1), (0.25, 0.75), (0.5, 0.5), (1, 0))) == []
    assert way(curve(*((sin(i * pi / 20), cos(i * pi / 20)) for i in range(11)))) == []


def test_the_angle_is_that_of_elementary_geometry():
    """At (0, 0) of (0, 1), (0, 0), (1, 0) the angle is 90 degrees; the ends are moved a little to be a frontier."""
    assert angles(curve((0, 1), (1e-12, 1e-12), (1, 0)))["001"] == pytest.approx(90)
    assert angles(curve((0, 1), (0.25, 0.25), (1, 0)))["001"] == pytest.approx(126.87, abs=0.01)  # atan 3 - atan 1/3


def test_two_nearly_equal_releases_make_no_knee():
    """The jag at .1 turns by 40 degrees between its immediate neighbours; the real bend is at .6."""
    line = [(i / 10, 1 - 1.4 * i / 10) for i in range(7)]
    assert knees_by_angle(curve(*line, (0.1001, line[1][1] - 0.012), (0.8, 0.08), (1.0, 0.0)))[0].id == "006"


def test_kneedle_finds_the_knee_of_the_figure_in_its_paper():
    """Satopaa et al. 2011, figure 2: y = -1/(x + 0.1) + 5 at ten places in 0..1 has its knee at x = 2/9."""
    own = curve(*((i / 9, 0.2 * (5 - (5 - 1 / (i / 9 + 0.1)))) for i in range(10)))
    assert knees_by_kneedle(own)[0].id == "002"


def test_kneedle_waits_for_a_fall_before_the_next_maximum():
    """The difference curves are 0, .3, .2, 0 (a mean step is 1/3), and 0, .3, .25, .5, 0 (a fall of .05 is none)."""
    own = curve((0, 1), (0.2, 0.5), (0.7, 0.1), (1, 0))
    assert [p.id for p in knees_by_kneedle(own, 0.85)] == ["001"] and knees_by_kneedle(own, 0.95) == []
    twice = curve((0, 1), (0.25, 0.45), (0.5, 0.25), (0.5 + 1e-9, -1e-9), (1, -0.0001))
    assert [p.id for p in knees_by_kneedle(twice)] == ["003"]
