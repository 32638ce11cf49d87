"""The reproductions report what comes out: every required claim of a paper holds, and is measured, not typed in."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest

import sfumato
from sfumato.commands.app import main
from sfumato.measures.queries import Queries
from sfumato.measures.scales import Scales
from sfumato.papers import li_li_2009 as li_li_tie
from sfumato.papers import reproduce
from sfumato.papers.li_li_2009 import LiLi2009

REQUIRED = {
    "q-distribution",
    "js-armed-forces",
    "js-craft-repair",
    "u-loss-trivial",
    "t-below-k-l-delta",
    "bucketization-below-generalization",
    "u-loss-below-trivial",
    "error-falls-with-sel",
    "error-falls-with-qd",
    "t-bounds-p-loss",
    "baselines",
}


@pytest.fixture(scope="module")
def li_li():
    return reproduce("li-li-2009")


def test_every_required_claim_of_li_li_holds(li_li):
    required = {claim.id: claim.holds for claim in li_li.claims if claim.status == "required"}
    assert set(required) == REQUIRED
    assert all(required.values()), [name for name, holds in required.items() if not holds]
    assert li_li.holds


def test_claims_that_differ_stay_in_the_table_with_our_number(li_li):
    reported = {claim.id: claim for claim in li_li.claims if claim.status == "reported"}
    assert {"k-5000-bucketization", "u-loss-below-.04", "p-loss-l-3", "p-loss-l-3.5", "rank-correlation"} <= set(
        reported
    )
    for claim in reported.values():
        assert claim.ours is not None
        assert claim.holds or claim.reason


def test_a_failed_required_claim_fails_the_reproduction(li_li):
    broken = replace(li_li, claims=[replace(li_li.claims[0], holds=False), *li_li.claims[1:]])
    assert not broken.holds


def test_results_are_written_with_one_picture_per_figure(li_li, tmp_path):
    li_li.write(tmp_path)
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["schema"] == 1
    assert set(results["figures"]) == {"2a", "2b", "3a", "3b", "3c"}
    assert all({"id", "claim", "paper", "ours", "holds", "status"} <= set(claim) for claim in results["claims"])
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
    assert strict.holds is None and strict.status == "reported"


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
    assert li_li_tie._gain_on_seen(release) == pytest.approx(1 / 6)
    assert sfumato.measure(release)["a_acc"] == pytest.approx(1 / 6)
    left_out = table.cells.records  # every record is left out once: of p p q the rest is p q (a tie, so q) or p p
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(li_li_tie, "FOLDS", left_out)
        assert li_li_tie._gain_on_unseen(release) == pytest.approx(3 / 6 - 4 / 6)


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
