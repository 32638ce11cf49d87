"""The reproduction of Brickell & Shmatikov 2008 on a few sanitizations, classifiers and folds, and its claims.

`sfumato reproduce brickell-shmatikov-2008` runs all of it in two to three minutes.
"""

from __future__ import annotations

import json
from functools import partial
from types import SimpleNamespace

import pytest

from sfumato.measures.classification.classification import Classification, Learned
from sfumato.papers import brickell_shmatikov_2008 as paper

REQUIRED = {
    "adversary-baselines",
    "researcher-baselines",
    "a-know-k-anonymity",
    "adversary-gains-more",
    "artificial-table",
    "gain-below-delta",
}
FEW = {"k-anonymity k={}": (1000,), "l-diversity l={} variant=recursive c=3": (6,), "delta-disclosure delta={}": (1,)}


@pytest.fixture(scope="module")
def results():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper, "GRID", FEW)
        patch.setattr(paper, "PAPER_NAMES", {paper.TREE: "J48", paper.BAYES: "Naive Bayes"})
        patch.setattr(paper, "FOREST", paper.BAYES)  # the forest's claim is told by the full reproduction
        patch.setattr(paper, "Classification", partial(Classification, folds=3))
        told = []
        found = paper.reproduce(lambda done, total, what: told.append((done, total)))
    assert told[-1] == (len(told), len(told)) and [done for done, _ in told] == list(range(1, len(told) + 1))
    return found


def test_every_required_claim_holds(results):
    required = {claim.id: claim for claim in results.claims if claim.status == "required"}
    assert set(required) == REQUIRED
    assert [name for name, claim in required.items() if not claim.holds] == []
    assert results.holds


def test_claims_are_measured(results):
    claims = {claim.id: claim for claim in results.claims}
    assert claims["adversary-baselines"].ours == {"Occupation": 0.1331, "Marital": 0.4656}
    assert 0.75 < claims["a-know-k-anonymity"].ours["k=1000"] < 1
    assert claims["table-3"].ours["intact"][1] == pytest.approx(0.2492, abs=1e-4)
    artificial = claims["artificial-table"].ours
    assert artificial["a4"]["without-quasi"] < 0.6 and artificial["a4"]["without-sensitive"] < 0.6
    assert "l=6" not in {point["x"] for point in results.figures[0].curves[0].points}  # infeasible for marital-status
    assert claims["adversary-gains-more"].ours["sanitizations"] == 4 * 2 + 2
    assert claims["adversary-gains-more"].tested_over.startswith(
        "10 sanitizations of figures 1, 2, 3, 4; 2 of the grid"
    )
    assert claims["li-li-reply"].ours["of"] == claims["li-li-reply-losses"].ours["of"] == 10


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
    kept, lost = paper._replies(study)
    assert kept.ours["releases that keep a larger share of utility than they give up of privacy"] == 2
    assert lost.ours["releases that lose a smaller share of utility than they give up of privacy"] == 1
    assert (kept.ours["of"], kept.holds, lost.holds) == (3, True, False)


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
