"""The reproductions report what comes out: every required claim of a paper holds, and is measured, not typed in."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sfumato.cli import main
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
    assert [len(curve["points"]) for curve in families] == [8] * 5
    assert floor["label"] == "limit" and floor["points"][-1]["y"] == 0
    for name in results["figures"]:
        assert (tmp_path / f"figure-{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_paper_has_64_releases_and_the_strict_reading_of_delta(li_li):
    keys = set(LiLi2009().releases)
    assert len(keys) == 64 + 8


def test_an_unknown_paper_is_bad_input(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["sfumato", "reproduce", "li-li-2010"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "li-li-2009" in capsys.readouterr().err
