"""What a budget tries on baskets, and warm sweeps as candidates of a study."""

import json
from dataclasses import replace

import pytest

import command_line
from sfumato.errors import BadInputError
from sfumato.report import save_map
from sfumato.tradeoff import explore, read_map
from sfumato.tradeoff.search.families import basket_proposals
from sfumato.tradeoff.study.candidate import WARM
from sfumato.tradeoff.study.study import study_from_toml
from sfumato.transactions import sweep

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


WARM_GRID = """
    [[candidates]]
    anonymizers = ["coat", "pcta"]
    requirements = ["km-anonymity k=2 m=2", "km-anonymity k=4 m=2", "km-anonymity k=6 m=2", "km-anonymity k=3 m=1"]
    warm = true
"""


def test_warm_candidates_are_the_releases_of_a_warm_sweep(study):
    own = study(WARM_GRID)
    baskets = own.data.sets.open()
    chains = {(one.anonymizer.name, one.requirement.k): one.warm for one in own.candidates}
    assert chains["coat", 6] == (2, 4, 6) and chains["coat", 3] == (3,) and chains["pcta", 2] == (2,)
    for maker in ("coat", "pcta"):
        for k, release in zip(
            (2, 4, 6), sweep(baskets, "km-anonymity k=2 m=2", [2, 4, 6], maker, warm=True), strict=True
        ):
            [one] = [c for c in own.candidates if (c.anonymizer.name, c.requirement.k) == (maker, k)]
            made = one.make(baskets)
            assert made.recoding.labels == release.recoding.labels and made.maker == f"{maker} (warm)"
            cold = replace(one, warm=())
            assert cold.id != one.id and "(warm)" in one.family and "(warm)" in one.in_words


def test_warm_points_do_not_depend_on_workers_resume_and_are_written_down(study, tmp_path):
    own = study(WARM_GRID)
    assert study_from_toml(own.to_toml()).candidates == own.candidates
    maps = []
    for workers in (1, 2):
        WARM._results.clear()
        folder = tmp_path / f"by-{workers}"
        folder.mkdir()
        save_map(explore(own, tmp_path / f"cache-{workers}.jsonl", workers=workers), folder)
        maps.append((folder / "points.json").read_bytes())
    assert maps[0] == maps[1]
    seen = []
    explore(own, tmp_path / "cache-1.jsonl", progress=lambda done, total, last: seen.append(done))
    assert seen == [len(own.candidates)]  # everything was kept
    read = read_map(tmp_path / "by-1")
    assert [point.candidate for point in read.points] == list(own.candidates)
    released = command_line.run(
        "release", tmp_path / "by-1", "--point", read.points[2].id, "--to", tmp_path / "out.csv"
    )
    assert released.returncode == 0, released.stderr


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ('anonymizers = "aa"\nrequirements = "km-anonymity k=2 m=1"\nwarm = true', "aa cannot go on"),
        ('anonymizers = "coat"\nrequirements = "k-anonymity k=2"\nwarm = true', "is not served so"),
        ('anonymizers = "coat"\nwarm = "yes"', "warm must be true or false"),
    ],
)
def test_what_cannot_be_warm_says_so(study, block, message):
    with pytest.raises(BadInputError, match=message):
        study(f"[[candidates]]\n{block}")


def test_a_budget_turns_k_of_cold_releases(study):
    own = study(WARM_GRID)
    families = basket_proposals(own, own.data.sets.open()).families
    assert families and not any(family.example.warm for family in families)
