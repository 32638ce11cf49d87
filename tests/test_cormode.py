"""The reproduction of Cormode et al. 2013 on a few of its settings; `sfumato reproduce cormode-2013` runs them all."""

from __future__ import annotations

import pytest

from sfumato.papers import cormode_2013 as paper

REQUIRED = {
    "root-accuracy",
    "k-small",
    "falls-with-k",
    "l-6-root",
    "error-grows-with-k-and-l",
    "epsilon-.01",
    "epsilon-monotone",
}
FEW = {
    paper.K: (8, 128, 1024),
    paper.L: (2, 4, 6),
    paper.T: (0.2, 0.9),
    paper.T_STOP: (0.2, 0.9),
    paper.DP: (0.01, 0.5, 1),
    paper.DP_UNBIASED: (0.01, 0.5, 1),
}


@pytest.fixture(scope="module")
def study():
    few = {name: (*own[:2], FEW[name]) for name, own in paper.FAMILIES.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper, "KS", FEW[paper.K])
        patch.setattr(paper, "EPSILONS", FEW[paper.DP])
        patch.setattr(paper, "HEIGHTS", (2, 5))
        patch.setattr(paper, "SHARES", (0.1, 1))
        told = []
        found = paper.Cormode2013(lambda done, total, what: told.append((done, total)), 3, few)
        claims = {claim.id: claim for claim in [*paper._required(found), *paper._reported(found)]}
        figures = list(paper._figures(found))
    assert told[-1] == (len(told), len(told))
    return found, claims, figures


def test_every_required_claim_holds(study):
    _, claims, _ = study
    required = {name: claim.holds for name, claim in claims.items() if claim.status == "required"}
    assert set(required) == REQUIRED
    assert [name for name, holds in required.items() if not holds] == []


def test_claims_are_measured(study):
    found, claims, _ = study
    assert claims["root-accuracy"].ours == pytest.approx(4038 / 30162, abs=5e-5)  # Prof-specialty
    assert claims["l-6-root"].ours == {"6": 1}
    assert claims["k-small"].ours["8"] == pytest.approx(0.34, abs=0.01)
    assert all(claim.holds or claim.reason for claim in claims.values())
    stopped, required = (
        next(own for own in found.adult[name] if own.parameter == 0.2) for name in (paper.T_STOP, paper.T)
    )
    assert stopped.boxes > 1 and required.boxes > 1 and stopped.accuracy != required.accuracy
    draws = found.adult[paper.DP][0]
    assert draws.errors[0] < draws.error < draws.errors[1]


def test_every_figure_has_both_tables_or_both_models(study):
    _, _, figures = study
    names = [figure.name for figure in figures]
    assert names == [f"{n}-{part}" for n in "1234" for part in ("error", "attack")] + ["5a", "5b", "6a", "6b"]
    assert all(len(figure.curves) >= 2 and all(curve.points for curve in figure.curves) for figure in figures)


def test_claims_can_fail():
    def found(*pairs):
        return [paper.Found(value, accuracy, error, 1, (error, error)) for value, accuracy, error in pairs]

    assert paper._levels_off(found((0.1, 0.2, 0.5), (0.2, 0.3, 0.1), (0.3, 0.3, 0.1))) == 0.2
    assert paper._levels_off(found((0.1, 0.3, 0.1), (0.2, 0.2, 0.1), (0.3, 0.3, 0.1))) == 0.3
    assert paper._best(found((1, 0.3, 0.05), (2, 0.2, 0.2)), 0.1) == 0.3
    assert paper._best(found((1, 0.3, 0.5)), 0.1) is None
    assert paper._rises([1, 2, 1.995], 0.01) and not paper._rises([1, 2, 1.9], 0.01)
