"""What a budget tries on baskets."""

import json

import pytest

import command_line
from sfumato.tradeoff.search.families import basket_proposals
from sfumato.tradeoff.study.study import study_from_toml

ROWS = ["a b s", "a c", "b c s", "a b c", "c d", "d e", "a e s", "e", "b d", "a d e", "c e", "a b d"] * 2


@pytest.fixture
def study(tmp_path):
    """Twelve baskets twice, with rules and groups beside them."""
    (tmp_path / "shop.txt").write_text("\n".join(ROWS))
    (tmp_path / "rules.txt").write_text("a b -> s\n")
    (tmp_path / "known.txt").write_text("a b\nd e\n")

    def made(candidates):
        text = f"""
            [baskets]
            source = "{tmp_path / "shop.txt"}"
            [scales]
            sensitive = ["s"]
            {candidates}
        """
        return study_from_toml(text)

    return made


def test_every_promise_has_its_numbers_for_dials(study, tmp_path):
    own = study(f"""
        [[candidates]]
        anonymizers = ["td-control", "suppress-control"]
        requirements = ["rho-uncertainty rho=0.5 m=1 sensitive=s", "hkp-coherence h=0.5 k=2 p=1 private=s"]
        limits = "suppression share=1"
        [[candidates]]
        anonymizers = "td-control"
        requirements = 'ps-rules k=2 c=0.5 file="{tmp_path / "rules.txt"}"'
        limits = "suppression share=1"
        [[candidates]]
        anonymizers = "coat"
        requirements = 'privacy-constraints k=2 file="{tmp_path / "known.txt"}"'
    """)
    families = basket_proposals(own, own.data.sets.open()).families
    dials = {(family.example.requirement.name, family.dial.field) for family in families}
    assert dials == {
        ("rho-uncertainty", "rho"),
        ("hkp-coherence", "k"),
        ("hkp-coherence", "h"),
        ("ps-rules", "k"),
        ("ps-rules", "c"),
        ("privacy-constraints", "k"),
        ("km-anonymity", "k"),
        ("k-anonymity", "k"),
    }
    makers = {str(family.example.anonymizer) for family in families}
    assert {"pcta visit=round", "coat loss=size", "pcta order=ascending loss=size"} <= makers
    listed = {family.example.anonymizer.name for family in families if family.example.requirement.names_items}
    assert listed == {"td-control", "suppress-control", "coat", "pcta"}
    for family in families:  # every member is a candidate that can be written down and read back
        for candidate, _ in family.first:
            texts = {"anonymizer": str(candidate.anonymizer), "requirement": str(candidate.requirement)}
            entry = json.loads(json.dumps({**texts, "parameters": candidate.parameters}))
            assert own.candidate_of(entry) == candidate


@pytest.mark.usefixtures("counted_time")
def test_a_question_about_sensitive_items_is_searched(study, tmp_path):
    own = study("""
        [[candidates]]
        anonymizers = "td-control"
        requirements = "rho-uncertainty rho=0.5 m=1 sensitive=s"
        limits = "suppression share=1"
    """)
    (tmp_path / "study.toml").write_text(own.to_toml())
    ended = command_line.run("explore", tmp_path / "study.toml", "--budget", "1s", "--out", tmp_path / "map")
    assert ended.returncode == 0, ended.stderr
    ended = command_line.run("ask", tmp_path / "map", "ncp within rho 0.4", "--search", "1s", "--json")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["answer"]["measures"]["rho"] <= 0.4
