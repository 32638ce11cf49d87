"""The papers' worked examples that concern tables, with the errata of shared/papers/README.md."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import independent_checker as checker
import sfumato
from sfumato import BadInputError, Queries, Scales, papers
from sfumato.commands.app import main
from sfumato.data.cells import Assignment
from sfumato.measures.classification.classification import Learned
from sfumato.papers import brickell_shmatikov_2008 as paper
from sfumato.papers import li_li_2009 as li_li_paper
from sfumato.papers import reproduce
from sfumato.papers.claims import Claim, Results, all_of, tally
from sfumato.papers.li_li_2009 import (
    DENSE,
    GRIDS,
    JS,
    PANELS,
    LiLi2009,
    LiLiFrontier,
    Panel,
    frontier_claims,
    frontier_figures,
    ratio,
)
from sfumato.release.release import generalization
from sfumato.requirements._predicates import js_distance

MARITAL = [["Not Married", "Never Married", ["Once-Married", "Divorced", "Widowed", "Separated"]]]
MARITAL += [["Married", "Civ-Spouse", "AF-Spouse", "spouse-absent"]]


@pytest.fixture
def dewri() -> sfumato.Table:
    """Dewri et al. 2011, table 1; the sensitive attribute is the marital status itself."""
    ages = [15, 17, 20, 26, 28, 30, 30]
    status = ["Never Married"] * 2 + ["Civ-Spouse", "AF-Spouse", "AF-Spouse", "Civ-Spouse", "AF-Spouse"]
    frame = pa.table({"age": ages, "marital status": status, "truth": status})
    age = {"type": "numeric", "lower": 10, "upper": 39, "intervals": [10]}
    return sfumato.read(
        frame, quasi=["age", "marital status"], sensitive=["truth"], hierarchies={"age": age, "marital status": MARITAL}
    )


def grouped(table: sfumato.Table, ranges: list[tuple[int, int]]) -> sfumato.Release:
    """Publish ages in these ranges and marital status as (Not) Married."""
    age, status = (quasi.hierarchy for quasi in table.cells.quasi)
    boxes = []
    for low, high in ranges:
        node = "Not Married" if high < 20 else "Married"
        boxes.append([*age.encode([str(low), str(high)]), *status.intervals[node]])
    lo, hi = (np.array([[box[i], box[i + 2]] for box in boxes], np.int32) for i in (0, 1))
    codes = table.cells.codes
    group = np.array(
        [
            next(g for g, (a, b) in enumerate(zip(lo, hi, strict=True)) if (a <= c).all() and (c <= b).all())
            for c in codes
        ]
    )
    return generalization(table, Assignment(np.arange(len(codes)), group, table.cells.counts), lo, hi)


@pytest.mark.parametrize(
    ("ranges", "texts", "weighted_k", "sizes"),
    [
        ([(10, 19), (20, 39)], {"10-19", "20-39"}, 29 / 7, [2, 5]),
        ([(10, 19), (20, 29), (30, 39)], {"10-19", "20-29", "30-39"}, 17 / 7, [2, 3, 2]),
    ],
)
def test_dewri_tables_t1_and_t2(dewri, tmp_path, ranges, texts, weighted_k, sizes):
    release = grouped(dewri, ranges)
    measured = sfumato.measure(release)
    assert measured["weighted_k"] == pytest.approx(weighted_k)
    assert release.sizes.tolist() == sizes
    assert (measured["k"], measured["l_distinct"]) == (2, 1)  # both are (2,1)-safe: tuples 1 and 2 share a value
    written = checker.read_rows(release.to_csv(tmp_path / "t.csv")[0])
    assert {row["age"] for row in written} == texts
    assert {row["marital status"] for row in written} == {"Married", "Not Married"}
    last = [row["truth"] for row in written if row["age"] == "30-39"]
    assert sorted(last) in ([], ["AF-Spouse", "Civ-Spouse"])


def test_dewri_loss_is_the_share_of_the_domain_without_one_leaf(dewri):
    status = dewri.hierarchies["marital status"]
    assert status.loss(*status.intervals["Married"]) == pytest.approx((3 - 1) / (7 - 1))
    assert status.loss(*status.intervals["*"]) == 1


def test_li_li_privacy_loss_of_a_revealed_record():
    """Li & Li 2009, section 5: .692 for Armed-Forces, .488 for Craft-repair, on 45,222 records."""
    occupation = sfumato.load("adult").cells.sensitive[0]
    found = {}
    for position, label in enumerate(occupation.labels):
        revealed = np.zeros(occupation.size, np.int64)
        revealed[position] = 1
        found[label] = js_distance(revealed, 1, occupation.shares)
    assert found["Armed-Forces"] == pytest.approx(0.692, abs=5e-4)
    assert found["Craft-repair"] == pytest.approx(0.488, abs=5e-4)


def test_brickell_shmatikov_artificial_table_has_no_privacy_loss_when_a2_is_suppressed():
    """Section 7: a1 = r1, a2 = r2, sensitive a3 = (r2, r3); without a2 the rest tells nothing about a3."""
    flips = list(product("01", repeat=3))
    frame = pa.table(
        {
            "a1": [f"{r1}" for r1, r2, r3 in flips],
            "a2": [f"{r2}" for r1, r2, r3 in flips],
            "a3": [f"{r2}{r3}" for r1, r2, r3 in flips],
        }
    )
    table = sfumato.read(frame, quasi=["a1", "a2"], sensitive=["a3"])
    cells = table.cells
    lo, hi = np.array([[0, 0], [1, 0]], np.int32), np.array([[0, 1], [1, 1]], np.int32)
    assignment = Assignment(np.arange(cells.size), cells.codes[:, 0].astype(np.int64), cells.counts)
    suppressed = sfumato.measure(generalization(table, assignment, lo, hi))
    assert suppressed["p_loss"] == pytest.approx(0, abs=1e-12)
    assert suppressed["l_distinct"] == 4
    intact = sfumato.anonymize(table, "k-anonymity k=2", "mondrian")
    assert sfumato.measure(intact)["p_loss"] > 0.1


def test_a_study_that_declares_a_hierarchy_leaves_the_bundled_ones_as_they_are():
    """What is kept of a bundled table was once written to, so the next one to load it got another study's hierarchy."""
    before = sfumato.load("adult").hierarchies["workclass"]
    flat = {"workclass": {"type": "flat"}}
    own = sfumato.TableDeclaration("adult", quasi=["workclass"], hierarchy=flat).open().hierarchies["workclass"]
    assert own.height < before.height and sfumato.load("adult").hierarchies["workclass"] == before


def test_bundled_adult_has_the_papers_counts():
    assert sfumato.load("adult").cells.records == 45_222
    assert sfumato.load("adult-train").cells.records == 30_162
    whole = sfumato.load("adult-all")
    assert whole.cells.records == 48_842
    assert (
        len(sfumato.load("adult").hierarchies["workclass"].leaves) == 8
    )  # Never-worked is in the domain, not in the data
    dropped = sfumato.load("adult-all", missing="drop")
    assert dropped.cells.records + dropped.dropped == 48_842


def results_of(*claims: Claim) -> Results:
    return Results("li-li-2009", claims, [])


NOTHING = Claim("nothing", "a is above b", "above", {}, None, place="1", tested_over="no P_loss that both reach")
GOOD = Claim("good", "a is above b", "above", {"a": 2}, True, "headline", "2", tested_over="P_loss .1 to .3")
OTHER = Claim("other", "a is above b", "above", {"a": 0}, False, place="3", reason="other groups")
CHECK = Claim("check", "a is not negative", None, {"a": 0}, True, "check")


def test_nothing_to_judge_is_neither_yes_nor_no():
    assert all_of([]) is None
    assert all_of([True, True]) is True
    assert all_of(answer for answer in (True, False)) is False
    assert all_of([True, None]) is None
    assert all_of([None, False, True]) is False


def test_a_claim_is_called_what_came_out():
    assert [claim.verdict for claim in (GOOD, OTHER, NOTHING)] == ["reproduced", "differs", "not tested"]
    assert [replace(CHECK, holds=holds).verdict for holds in (True, False, None)] == ["holds", "fails", "shown"]


def test_a_check_quotes_nothing_and_a_claim_says_where():
    for wrong in ({"kind": "check"}, {"place": None}, {"paper": None}):
        with pytest.raises(ValueError, match="a check has neither"):
            replace(GOOD, **wrong)


def test_only_a_check_of_our_own_fails_a_reproduction():
    assert results_of(GOOD, OTHER, NOTHING, CHECK, replace(CHECK, holds=None)).sound
    assert not results_of(GOOD, replace(CHECK, holds=False)).sound


def test_a_tally_counts_each_kind():
    claims = [claim.content() for claim in (GOOD, OTHER, NOTHING, OTHER, CHECK)]
    assert tally(claims) == [
        "1 headline statement: 1 reproduced.",
        "3 further statements: 2 differ and 1 not tested.",
        "1 check of our own: 1 hold.",
    ]


def test_results_say_the_range_and_that_nothing_was_tested(tmp_path):
    results_of(GOOD, OTHER, NOTHING).write(tmp_path)
    good, other, nothing = json.loads((tmp_path / "results.json").read_text())["claims"]
    assert (good["tested_over"], good["holds"], good["verdict"]) == ("P_loss .1 to .3", True, "reproduced")
    assert (other["tested_over"], other["holds"], other["verdict"]) == (None, False, "differs")
    assert (nothing["holds"], nothing["verdict"], nothing["kind"]) == (None, "not tested", "claim")
    written = json.loads((tmp_path / "results.json").read_text())
    assert written["versions"]["sfumato"] == sfumato.__version__ and written["date"] >= "2026" and written["command"]


@pytest.mark.parametrize(("claims", "code"), [((GOOD, OTHER, CHECK), 0), ((GOOD, replace(CHECK, holds=False)), 1)])
def test_the_printed_table_says_so_and_the_exit_code_too(claims, code, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(papers, "reproduce", lambda *_, **__: results_of(*claims))
    for more in ((), ("--json",)):
        monkeypatch.setattr("sys.argv", ["sfumato", "reproduce", "li-li-2009", "--out", str(tmp_path), *more])
        with pytest.raises(SystemExit) as ended:
            main()
        assert (ended.value.code or 0) == code
        out = capsys.readouterr().out
        if more:
            assert [own["verdict"] for own in json.loads(out)["claims"]] == [claim.verdict for claim in claims]
        else:
            assert out.startswith("1 headline statement: 1 reproduced.") and "tested over: P_loss .1 to .3" in out
            assert ("fails       check" in out) == (code == 1)
            assert ("likely reason: other groups" in out) == ("paper: above (3)" in out) == (code == 0)


def verdicts(results):
    return {claim.id: claim.verdict for claim in results.claims}


def printed_verdicts(name):
    """The verdicts of the results from which the paper's page is made."""
    written = Path(__file__).resolve().parents[1] / "docs" / "papers" / "results" / f"{name}.json"
    return {claim["id"]: claim["verdict"] for claim in json.loads(written.read_text(encoding="utf-8"))["claims"]}


@pytest.fixture(scope="module")
def li_li():
    return reproduce("li-li-2009")


def test_li_li_is_what_its_page_says(li_li):
    assert li_li.sound and verdicts(li_li) == printed_verdicts("li-li-2009")


def test_claims_that_differ_stay_in_the_table_with_our_number(li_li):
    differing = {claim.id: claim for claim in li_li.claims if claim.verdict in ("differs", "not tested")}
    assert {"k-5000-bucketization", "u-loss-below-.04", "p-loss-l-3", "p-loss-l-3.5"} <= set(differing)
    for claim in differing.values():
        assert claim.ours is not None
        assert claim.reason or claim.erratum or claim.reading


def test_results_are_written_with_one_picture_per_figure(li_li, tmp_path):
    li_li.write(tmp_path)
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["schema"] == 1
    assert set(results["figures"]) == {"2a", "2b", "3a", "3b", "3c"}
    assert all(
        {"id", "claim", "paper", "place", "ours", "verdict", "kind"} <= set(claim) for claim in results["claims"]
    )
    *families, floor = results["figures"]["2a"]
    assert [len(curve["points"]) for curve in families] == [8] * 5 + [1, 1]
    assert floor["label"] == "limit" and floor["points"][-1]["y"] == 0
    for name in results["figures"]:
        assert (tmp_path / f"figure-{name}.png").read_bytes().startswith(b"\x89PNG")


def test_both_baselines_are_points_of_figures_2a_and_2b(li_li):
    original = LiLi2009().original
    for figure in li_li.figures[:2]:
        places = {curve.label: [(point["x"], point["y"]) for point in curve.points] for curve in figure.curves}
        assert places["baseline: no quasi-identifiers"] == [(pytest.approx(0), pytest.approx(0.0483, abs=1e-4))]
        assert places["baseline: original"] == [(original["p_loss"], pytest.approx(0))]


def test_what_no_curve_reaches_is_not_tested(li_li):
    claims = {claim.id: claim for claim in li_li.claims}
    drawn, strict = claims["t-below-k-l-delta"], claims["t-below-delta-infinite"]
    assert set(drawn.ours) == {"k-anonymity", "l-diversity", "semantic privacy (absent ignored)"}
    assert all(own["from"] < own["to"] for own in drawn.ours.values())
    reach = {curve.label: [point["x"] for point in curve.points] for curve in li_li.figures[0].curves}
    assert min(reach["t-closeness"]) > max(reach["semantic privacy (absent infinite)"])
    assert strict.verdict == "not tested"


def test_rounding_up_is_what_lets_queries_on_more_attributes_select_more(li_li):
    selected = next(claim for claim in li_li.claims if claim.id == "realised-selectivity").ours
    up, nearest = ([own[f"qd={qd}"] for qd in (2, 3, 4, 5, 6)] for own in (selected["up"], selected["nearest"]))
    assert up[-1] > 1.5 * up[0] and nearest[-1] < nearest[0]


def test_queries_select_what_their_values_select_in_the_table():
    """The share that a workload selects, counted record by record on a table small enough."""
    table = sfumato.read(
        pa.table({"a": list("xyzxyzxx"), "b": list("uvuvuvuv"), "s": list("ppqqrrpp")}),
        quasi=["a", "b"],
        sensitive=["s"],
    )
    study = SimpleNamespace(table=table, prepared=Scales().prepare(table))
    queries = Queries(dimensions=2, selectivity=0.3, number=50, sanity=0)
    workload = queries.workload(table.cells, study.prepared.points, 0)
    cells, selected = table.cells, 0
    for query, used in enumerate(workload.regions.used):
        for code, value, count in zip(cells.codes, cells.values[:, 0], cells.counts, strict=True):
            fits = (
                bank.masks[row][leaf] for bank, row, leaf in zip(workload.regions.selections, used, code, strict=True)
            )
            selected += int(count) * (all(fits) and bool(workload.values[query, value]))
    assert LiLi2009.selected(study, queries) == pytest.approx(selected / 50 / 8)


def test_a_tie_on_seen_records_and_less_on_unseen_ones():
    """Groups {p, p, q} and {q, q, q}: 5 of 6 are guessed from their group, 4 by the commonest value."""
    table = sfumato.read(pa.table({"a": list("xxxyyy"), "s": list("ppqqqq")}), quasi=["a"], sensitive=["s"])
    release = sfumato.anonymize(table, "k-anonymity k=3", "mondrian")
    assert li_li_paper._gain_on_seen(release) == pytest.approx(1 / 6)
    assert sfumato.measure(release)["a_acc"] == pytest.approx(1 / 6)
    left_out = table.cells.records  # every record is left out once: of p p q the rest is p q (a tie, so q) or p p
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(li_li_paper, "FOLDS", left_out)
        assert li_li_paper._gain_on_unseen(release) == pytest.approx(3 / 6 - 4 / 6)


def test_claims_of_section_3_and_of_delta_below_1_are_in_the_table(li_li):
    claims = {claim.id: claim for claim in li_li.claims}
    assert claims["tie"].holds and claims["tie"].ours == 0
    unseen = claims["tie-on-unseen-records"].ours
    assert unseen["of"] == 32 and unseen["widest gap"] < 0
    assert claims["one-class-below-delta-1"].ours["semantic privacy (absent infinite)"]["delta=0.8"] == 3
    assert not claims["one-class-below-delta-1"].holds


def test_the_paper_has_64_releases_and_the_strict_reading_of_delta(li_li):
    keys = set(LiLi2009().releases)
    assert len(keys) == 64 + 8


def test_an_unknown_paper_is_bad_input(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["sfumato", "reproduce", "li-li-2010"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "li-li-2009" in capsys.readouterr().err


FEW = {"k-anonymity k={}": (1000,), "l-diversity l={} variant=recursive c=3": (6,), "delta-disclosure delta={}": (1,)}


@pytest.fixture(scope="module")
def results():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper, "GRID", FEW)
        patch.setattr(paper, "PAPER_NAMES", {paper.TREE: "J48", paper.BAYES: "Naive Bayes"})
        patch.setattr(paper, "FOREST", paper.BAYES)  # the forest's claim is told by the full reproduction
        patch.setattr(paper, "SHORT_RUN", {"sample": 0, "folds": 3})
        told = []
        found = paper.reproduce(lambda done, total, what: told.append((done, total)))
    assert told[-1] == (len(told), len(told)) and [done for done, _ in told] == list(range(1, len(told) + 1))
    return found


def test_checks_hold_and_differences_have_a_reason(results):
    assert results.sound
    told = {claim.id for claim in results.claims if claim.reason or claim.erratum or claim.reading}
    differing = {claim.id for claim in results.claims if claim.verdict in ("differs", "not tested")}
    assert differing - told <= {"trivial-is-as-useful", "trivial-is-as-useful-on-original", "adversary-gains-more"}


def test_the_papers_numbers_are_as_printed_and_their_errata_are_told(results):
    """Captions exchange the data sets, and salaries are learned without the sensitive attribute."""
    claims = {claim.id: claim for claim in results.claims}
    for name in ("adversary-baselines", "researcher-learns-sensitive", "salary-baseline-decision-tree"):
        assert claims[name].verdict == "differs" and claims[name].erratum
    assert claims["adversary-baselines"].ours == dict(zip(("Marital", "Occupation"), (0.4656, 0.1331), strict=True))
    salary = claims["salary-baseline-decision-tree"].ours
    assert abs(salary["without-sensitive"] - 0.8073) < 0.025 < abs(salary["without-quasi"] - 0.8073)


def test_destruction_is_counted_where_privacy_is_gained():
    """Of two sanitizations that take privacy gain away, one keeps a tenth of 0.2 or less on the release."""
    room = SimpleNamespace(base=0.6, most=0.8, intact={"a_acc": 0.4}, panel=SimpleNamespace(figure="3"))
    gains = {"a": (0.02, 0.0), "b": (0.2, 0.01), "c": (0.0, 0.0)}
    room.gain = lambda made, original: gains[made.label][original]
    made = [SimpleNamespace(label=label, adversary=a) for label, a in (("a", 0.3), ("b", 0.1), ("c", 0.39))]
    study = SimpleNamespace(all=[(room, each) for each in made], over="3 sanitizations")
    release, same, original, _ = paper._destruction(study)
    assert (release.ours["destroyed"], release.ours["of"], release.holds) == (1, 2, False)
    assert (original.ours["destroyed"], original.ours["of"], original.holds) == (2, 2, True)
    assert (same.ours["no better"], same.ours["of"], same.holds) == (1, 3, False)


def test_claims_are_measured(results):
    claims = {claim.id: claim for claim in results.claims}
    assert 0.75 < claims["a-know-k-anonymity"].ours["k=1000"] < 1
    assert claims["table-3"].ours["intact"][1] == pytest.approx(0.2492, abs=1e-4)
    artificial = claims["artificial-table"].ours
    assert artificial["a4"]["without-quasi"] < 0.6 and artificial["a4"]["without-sensitive"] < 0.6
    assert "l=6" not in {point["x"] for point in results.figures[0].curves[0].points}  # infeasible for marital-status
    assert claims["adversary-gains-more"].ours["sanitizations"] == 4 * 2 + 2
    assert claims["adversary-gains-more"].tested_over.startswith(
        "10 sanitizations of figures 1, 2, 3, 4; 2 of the grid"
    )
    assert claims["li-li-reply"].ours["of"] == 10


def test_pictures_are_bars(results, tmp_path):
    files = results.write(tmp_path)
    assert {file.name for file in files} == {
        "results.json",
        *(f"figure-{name}.png" for name in ("1", "2", "3", "4", "table-2", "table-3", "li-li")),
    }
    figures = json.loads((tmp_path / "results.json").read_text())["figures"]
    assert [curve["label"] for curve in figures["3"]][:2] == ["adversary (A_acc)", "researcher, decision-tree"]


def test_an_adversary_who_gains_less_breaks_the_claim():
    finding = type("F", (), {"gain": staticmethod(lambda own: own.researcher)})()
    own = [type("S", (), {"adversary": a, "researcher": r})() for a, r in ((0.1, 0.0), (0.1, 0.2), (0.0, 0.0))]
    study = type("B", (), {"all": [(finding, each) for each in own], "over": "three sanitizations"})()
    claim = paper._adversary_gains_more(study)
    assert (claim.ours["share"], claim.holds) == (0.3333, False)
    study.all = study.all[:1]
    assert paper._adversary_gains_more(study).holds


def test_the_artificial_table_needs_both_halves():
    found = {"a4": {"p_loss": 0.0, "a_know": 0.0, "a_acc": 0.0, "accuracy": 1.0, "U_max": 1.0}}
    assert paper._artificial(found).holds
    assert not paper._artificial({"a4": found["a4"] | {"a_know": 0.1}}).holds
    assert not paper._artificial({"a4": found["a4"] | {"accuracy": 0.9}}).holds


def sanitized(label, groups=2, **measured):
    return SimpleNamespace(label=label, release=SimpleNamespace(groups=groups), measured=measured)


def test_the_reply_counts_what_its_label_says():
    """Of utility .4 is lost and of privacy .5 given up: .6 is kept, more than .5; then .7 and .5, .2 and .1."""
    ends = SimpleNamespace(trivial={"u_loss": 0.1}, intact={"p_loss": 0.6}, infeasible={})
    own = [sanitized("k", u_loss=0.1 * u, p_loss=0.6 * p) for u, p in ((0.4, 0.5), (0.7, 0.5), (0.2, 0.1))]
    study = SimpleNamespace(all=[(ends, each) for each in own], over="3 sanitizations")
    kept = paper._reply(study)
    assert kept.ours["releases that keep a larger share of utility than they give up of privacy"] == 2
    assert (kept.ours["of"], kept.verdict) == (3, "shown")


def test_l_diversity_goes_on_to_12_and_is_not_tested_where_all_is_one_group():
    assert paper.GRID["l-diversity l={} variant=recursive c=3"] == tuple(range(2, 13))
    lacking = {"l-diversity l=12 variant=recursive c=3": "even all records in one group are not enough"}
    finding = SimpleNamespace(intact={"a_know": 0.2}, infeasible=lacking, made=[sanitized("l=6", a_know=0.15)])
    claim = paper._l_diversity(finding)
    assert claim.holds and claim.tested_over.startswith("l=6") and claim.tested_over.endswith("satisfies l=12")
    finding.made = [*finding.made, sanitized("l=11", a_know=0.08)]
    assert paper._l_diversity(finding).holds is False
    finding.made = [sanitized("l=11", groups=1, a_know=0.0)]
    assert paper._l_diversity(finding).holds is None


def test_table_3_looks_at_both_of_its_columns():
    finding = SimpleNamespace(intact={"a_know": 0.2, "a_acc": 0.1}, made=[sanitized("k=10", a_know=0.1, a_acc=0.05)])
    assert paper._table_3(finding).holds
    finding.made = [sanitized("k=10", a_know=0.1, a_acc=0.15)]
    assert not paper._table_3(finding).holds


def test_a_second_certain_drop_breaks_alone_but_not_most():
    def learned(*accuracies):
        return Learned({"decision-tree": {"accuracy": accuracies}})

    same = (learned(0.5, 0.6, 0.7), learned(0.52, 0.6, 0.68))
    table_2 = {"marital-status": (learned(0.8, 0.81, 0.82), learned(0.6, 0.61, 0.62)), "salary": same}
    most, alone = paper._drops(table_2)
    assert most.holds and alone.holds
    most, alone = paper._drops(table_2 | {"sex": (learned(0.5, 0.51, 0.52), learned(0.45, 0.46, 0.47))})
    assert most.holds and not alone.holds


@pytest.fixture(scope="module")
def study():
    short = {
        "mondrian_dense": ("mondrian", JS, (0.02, 0.05, 0.1, 0.2)),
        "exchange": ("exchange regions=40", JS, (0.02, 0.1)),
        "anatomy": ("anatomy", "l-diversity l={} variant=frequency", (3,)),
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(li_li_paper, "GRIDS", short)
        patched.setattr(li_li_paper, "LI_LI_2009", {JS: (0.1,)})
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
    assert claims["above-limit"].verdict == "holds"
    assert claims["frontier-ratio"].holds == (scores["small"]["ratio"] <= 0.65)
    assert set(claims["frontier-attacked"].ours) == {"mondrian_dense", "exchange"}  # anatomy is beyond .05
    figures = {figure.name: figure for figure in frontier_figures(study)}
    assert set(figures) == {"frontier", "frontier-small-generalized", "frontier-em", "frontier-definetti"}
    assert [curve.label for curve in figures["frontier"].curves][-1] == "limit"
    assert [curve.label for curve in figures["frontier-small-generalized"].curves][-1] == "limit"
    for curve in figures["frontier"].curves[:-1]:
        ups = [point["y"] for point in curve.points]
        assert ups == sorted(ups, reverse=True)


def test_the_generalized_form_has_no_makers_of_buckets(study):
    assert set(study.panels[1].sets) == {"mondrian_paper", "mondrian_dense"}


def test_mondrians_grid_contains_every_other_grid_of_t():
    for maker, text, values in GRIDS.values():
        if text == JS and maker in ("exchange", "hilbert"):
            assert set(values) <= set(DENSE)


def test_frontier_belongs_to_one_paper():
    with pytest.raises(BadInputError, match="--frontier belongs to li-li-2009, not to dewri-2011"):
        reproduce("dewri-2011", frontier=True)
