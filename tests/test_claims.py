"""A claim says over which range it was tested, and what has nothing in its range is not tested: it does not hold."""

from __future__ import annotations

import json

import pytest

from sfumato import papers
from sfumato.commands.app import main
from sfumato.papers.claims import Claim, Results, all_of

pytestmark = pytest.mark.quick


def results_of(*claims: Claim) -> Results:
    return Results("li-li-2009", claims, [])


NOTHING = Claim("nothing", "a is above b", "above", {}, None, tested_over="no P_loss that both reach")
GOOD = Claim("good", "a is above b", "above", {"a": 2}, True, tested_over="P_loss .1 to .3")
OTHER = Claim("other", "a is above b", "above", {"a": 0}, False, "reported", "other groups")


def test_nothing_to_judge_is_neither_yes_nor_no():
    assert all_of([]) is None
    assert all_of([True, True]) is True
    assert all_of(answer for answer in (True, False)) is False
    assert all_of([True, None]) is None
    assert all_of([None, False, True]) is False


def test_a_claim_is_called_what_came_out():
    assert [claim.verdict for claim in (GOOD, OTHER, NOTHING)] == ["holds", "differs", "not tested"]


def test_a_required_claim_that_was_not_tested_fails_the_reproduction():
    reported = Claim("reported", "a is above b", "above", {}, None, "reported")
    assert results_of(GOOD, OTHER, reported).holds
    assert not results_of(GOOD, NOTHING).holds


def test_results_say_the_range_and_that_nothing_was_tested(tmp_path):
    results_of(GOOD, OTHER, NOTHING).write(tmp_path)
    good, other, nothing = json.loads((tmp_path / "results.json").read_text())["claims"]
    assert (good["tested_over"], good["holds"], good["verdict"]) == ("P_loss .1 to .3", True, "holds")
    assert (other["tested_over"], other["holds"], other["verdict"]) == (None, False, "differs")
    assert (nothing["holds"], nothing["verdict"], nothing["status"]) == (None, "not tested", "required")


@pytest.mark.parametrize(("claims", "code"), [((GOOD, OTHER), 0), ((GOOD, NOTHING), 1)])
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
            lines = out.splitlines()
            assert lines[0].split()[:2] == ["holds", "good"] and "tested over: P_loss .1 to .3" in lines[1]
            assert ("not tested" in out) == ("no P_loss that both reach" in out) == (code == 1)
