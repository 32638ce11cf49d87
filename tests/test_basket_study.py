"""The whole walk of baskets through the house: study, map, report, choice, release, audit; by Python and commands."""

from __future__ import annotations

import csv
import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import command_line
import plain_basket_measures as plain
from sfumato import BadInputError, Candidate, Grid, InfeasibleError, Study, explore, read_map, read_study, tune
from sfumato.anonymizers.items import candidate_maker
from sfumato.auditing.items import read_published
from sfumato.commands import app as cli
from sfumato.data.declaration import BasketsDeclaration
from sfumato.data.items import baskets_of
from sfumato.measures.items.linking import Linking
from sfumato.measures.items.losses import ItemLosses
from sfumato.measures.items.queries import ItemQueries
from sfumato.measures.scales import BasketScales
from sfumato.publish.pipeline import publish_point
from sfumato.report.folder import save_map
from sfumato.requirements.items import SuppressionLimit, UtilityConstraints, basket_requirement
from sfumato.tradeoff.exploration.folder import point_values
from sfumato.tradeoff.question.question import Bound
from sfumato.tradeoff.search.families import basket_proposals
from sfumato.tradeoff.study.presets import usual_baskets
from sfumato.tradeoff.study.study import study_from_toml

ITEMS = ["bread", "milk", "eggs", "tea", "coffee", "beer", "wine", "soap", "rice", "salt", "plums", "leeks"]
CALM = ItemQueries(number=60, workloads=2)


def records(number: int = 300) -> list[list[str]]:
    draw = random.Random(1)
    found = []
    for _ in range(number):
        size = draw.choice([0, 1, 2, 2, 3, 3, 4, 5])
        found.append(sorted({ITEMS[min(int(draw.expovariate(0.35)), 11)] for _ in range(size)}))
    return found


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with baskets, a study of them, and its map."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.txt").write_text("\n".join(", ".join(own) for own in records()) + "\n")
    study = usual_baskets("shop", BasketsDeclaration(str(folder / "shop.txt")), (2, 5, 10))
    local = [("lra pieces=3", "km-anonymity k=5 m=2"), ("partition", "k-anonymity k=5")]
    more = [Grid((candidate_maker(own),), (basket_requirement(wanted),)) for own, wanted in local]
    scales = BasketScales(sensitive=("beer",), queries=CALM)
    study = Study(study.name, study.data.sets, (*study.grids, *more), scales)
    shown = explore(study, folder / "cache.jsonl", workers=2)
    (folder / "map").mkdir()
    save_map(shown, folder / "map")
    return folder


def run(*words: str, code: int = 0) -> str:
    found = CliRunner().invoke(cli.app, words)
    if found.exit_code != code and found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == code, found.output
    return found.stdout


# -- studies -------------------------------------------------------------------------------------------------


def studies() -> st.SearchStrategy[Study]:
    makers = st.sampled_from(["aa", "coat", "pcta order=ascending", "one-item", "original"]).map(candidate_maker)
    wanted = st.sampled_from(["km-anonymity k=3 m=2", "k-anonymity k=4", "privacy-constraints k=2 file=x.txt"])
    utility = st.sampled_from([None, UtilityConstraints(level=1), UtilityConstraints(file="groups.txt")])
    limits = st.builds(SuppressionLimit, st.floats(0, 1), st.sampled_from(["items", "occurrences"]))
    grids = st.builds(
        Grid,
        st.lists(makers, min_size=1, max_size=3).map(tuple),
        st.lists(wanted.map(basket_requirement), min_size=1, max_size=2).map(tuple),
        utility=st.lists(utility, min_size=1, max_size=2).map(tuple),
        limits=st.lists(limits, min_size=1, max_size=2).map(tuple),
    )
    queries = st.builds(
        ItemQueries,
        st.sampled_from(["transaction", "uniform-items", "frequency-weighted"]),
        st.integers(1, 5),
        st.integers(1, 9),
        st.integers(1, 5),
        st.integers(0, 99),
        st.sampled_from(["half", "expanded"]),
        st.sampled_from(["product", "exact"]),
        st.floats(0, 1),
    )
    texts = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=5)
    scales = st.builds(
        BasketScales,
        st.integers(1, 4),
        st.none() | st.just("known.txt"),
        st.lists(texts, max_size=2).map(tuple),
        st.none() | st.just("studies.txt"),
        queries,
        st.builds(Linking, st.integers(1, 9), st.integers(1, 9)),
        st.builds(ItemLosses, st.sampled_from(["yes", "no"]), st.sampled_from(["yes", "no"])),
    )
    files = st.builds(BasketsDeclaration, texts, st.none() | texts, st.none() | texts, tree=st.none() | texts)
    return st.builds(Study, texts, files, st.lists(grids, min_size=1, max_size=2).map(tuple), scales)


@settings(max_examples=60, deadline=None)
@given(studies())
def test_a_study_is_read_back_as_it_was_written(study: Study) -> None:
    again = study_from_toml(study.to_toml(), "nowhere/study.toml")
    assert again == study and again.to_toml() == study.to_toml()


def test_points_know_their_candidates() -> None:
    own = Candidate(
        candidate_maker("coat visit=once"),
        basket_requirement("km-anonymity k=3 m=2"),
        utility=UtilityConstraints(level=2),
        limit=SuppressionLimit(0.1),
    )
    study = usual_baskets("shop", BasketsDeclaration("shop.txt"), (5,))
    assert study.candidate_of(point_values(own.point())) == own
    assert own.point().words == (
        "COAT (visit=once): someone who knows any two items of a person (or fewer) finds at least 3 records that fit, "
        "or none; items published together only within a node of level 2 of the item tree; at most 10 % of the items "
        "left out"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[baskets]\n", r"at least one"),
        ("[baskets]\n[[candidates]]\n", r"\[baskets\] needs source"),
        ('[baskets]\nsource = "x"\nlayout = "y"\n[[candidates]]\n', "unknown key 'layout'; known are source, id"),
        ('axes = ["k", "are"]\n[baskets]\nsource = "x"\n[[candidates]]\n', "axes must be one of protected_risk"),
        ('[baskets]\nsource = "x"\n[scales]\nqueries = 3\n[[candidates]]\n', "queries must be a text such as"),
        ('[baskets]\nsource = "x"\n[[candidates]]\nanonymizers = "mondrian"\n', "unknown anonymizer of baskets"),
        ("[baskets]\nsource = 3\n[[candidates]]\n", "source must be a text"),
    ],
)
def test_bad_studies_say_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        study_from_toml(text)


def test_the_bundled_study_is_the_papers() -> None:
    study = read_study("online-retail")
    assert study == usual_baskets("online-retail", BasketsDeclaration("online-retail"))
    makers = {own.anonymizer.name for own in study.candidates}
    assert makers == {"aa", "coat", "pcta", "one-item", "original"} and len(study.candidates) == 32
    with pytest.raises(BadInputError, match="adult-all, online-retail"):
        read_study("no-such-thing")


# -- the map -------------------------------------------------------------------------------------------------


def test_the_map_does_not_depend_on_workers_and_resumes(shop: Path, tmp_path: Path) -> None:
    study = read_map(shop / "map").study
    seen: list[int] = []
    again = explore(study, shop / "cache.jsonl", progress=lambda done, total, last: seen.append(done))
    assert seen == [13]  # everything was kept
    save_map(again, tmp_path)
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    save_map(explore(study, workers=1), fresh)
    assert (tmp_path / "points.json").read_bytes() == (fresh / "points.json").read_bytes()
    assert (
        json.loads((fresh / "points.json").read_text())["points"]
        == json.loads((shop / "map" / "points.json").read_text())["points"]
    )


def test_a_budget_searches_baskets_as_it_searches_tables(shop: Path, tmp_path: Path) -> None:
    given = read_map(shop / "map").study
    assert isinstance(given, Study)
    axes = ("itemset_risk", "query_utility", "ncp")
    study = replace(given, grids=given.grids[:1], axes=axes)
    cache = tmp_path / "cache.jsonl"
    short, long = (tune(study, cache=cache, workers=n, tries=tries) for n, tries in ((1, 6), (2, 16)))
    ids = [point.id for point in long.points]
    assert ids[: len(short.points)] == [point.id for point in short.points] and len(ids) > len(short.points)
    assert not any(point.is_baseline for point in long.points)
    makers = {point.candidate.anonymizer.name for point in long.points}
    assert len(makers - {"aa", "coat", "pcta"}) > 0
    again = explore(long.study, cache)
    assert {point.id: dict(point.measures) for point in again.points} == {p.id: dict(p.measures) for p in long.points}
    asked = tune(
        study, cache=cache, workers=1, tries=8, best="query_utility", bounds=[Bound("itemset_risk", "max", 0.1)]
    )
    before = explore(study, cache).ask("query_utility within itemset_risk 0.1").answer
    after = asked.ask("query_utility within itemset_risk 0.1").answer
    assert before is not None and after is not None
    assert after.measures["query_utility"] >= before.measures["query_utility"]


@pytest.mark.usefixtures("counted_time")
def test_a_budget_and_a_searched_question_on_the_command_line(shop: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "map")
    run("explore", str(shop / "map" / "study.toml"), "--budget", "1s", "--out", out)
    answer = json.loads(run("ask", out, "ncp, query_utility within itemset_risk 0.2", "--search", "1s", "--json"))[
        "answer"
    ]
    assert answer["measures"]["itemset_risk"] <= 0.2
    run("release", out, "--point", answer["id"], "--to", str(tmp_path / "out.csv"))


def test_risk_is_one_over_k_or_less_and_the_ends_are_the_ends(shop: Path) -> None:
    shown = read_map(shop / "map")
    for point in shown.points:
        assert point.status == "measured", point.reason
        if not point.is_baseline and point.family != "Partition":
            assert point.measures["itemset_risk"] <= 1 / point.parameters["k"]
            assert point.measures["match_least"] >= point.parameters["k"]
    ends = {point.anonymizer: point for point in shown.points if point.is_baseline}
    filled = sum(1 for own in records() if own)
    assert ends["one-item"].measures["itemset_risk"] == 1 / filled
    assert ends["original"].measures["itemset_risk"] == 1 and ends["original"].measures["are"] == 0
    assert {point.family for point in shown.points if not point.is_baseline} == {
        "AA",
        "COAT",
        "PCTA",
        "LRA (pieces=3)",
        "Partition",
    }


def test_choosing_within_a_bound_names_the_best_of_every_anonymizer(shop: Path) -> None:
    shown = read_map(shop / "map")
    choice = shown.choose(max={"itemset_risk": 0.2})
    inside = [p for p in shown.points if p.measures["itemset_risk"] <= 0.2 and p.anonymizer != "original"]
    assert choice.point.measures["query_utility"] == max(p.measures["query_utility"] for p in inside)
    others = {"AA", "COAT", "PCTA"} - {choice.point.family}
    assert all(name in choice.why[1] for name in others)
    public = shown.choose(recipient="public")
    assert public.point.measures["itemset_risk"] <= 1 / 11
    assert "quasi-identifiers" not in " ".join(public.why) and "l_frequency" not in " ".join(public.why)


def test_the_report_is_drawn(shop: Path, browser) -> None:
    page = browser.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text))
    page.goto((shop / "map" / "report.html").as_uri())
    page.wait_for_selector("body[data-ready]")
    id = read_map(shop / "map").choose(max={"itemset_risk": 0.2}).point.id
    page.evaluate(f"choose('{id}')")
    text = page.inner_text("#point")
    assert "someone who knows any two items" in text and "Some records, before and after" in text
    assert "The rarest published items and pairs" in text and "sfumato anonymize" in text
    assert page.locator("#form").count() == 0
    assert "COAT" in page.inner_text("#legend") and not problems
    page.goto((shop / "map" / "report-public.html").as_uri())
    page.wait_for_selector("body[data-ready]")
    assert page.evaluate("data.points.every((point) => !point.details && !point.command)")
    assert str(shop) not in page.content()


# -- release and audit ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("maker", "name"),
    [("coat", "r.csv"), ("aa", "r.csv"), ("pcta", "r.parquet"), ("lra", "r.csv"), ("partition", "r.parquet")],
)
def test_a_release_is_certified_on_its_file(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, maker: str, name: str
) -> None:
    shown = read_map(shop / "map")
    point = next(p for p in shown.points if p.anonymizer.split()[0] == maker and p.parameters["k"] == 5)
    done = publish_point(shop / "map", point.id, tmp_path / name, mapping=tmp_path / "mapping.json")
    legend = [f"{name}.legend.json"] if maker in ("aa", "lra", "partition") else []  # no tree of their own
    assert [file.name for file in done.files] == [
        name,
        *legend,
        f"{name}.certificate.json",
        f"{name}.certificate.html",
        f"{name}.certificate-public.json",
        f"{name}.certificate-public.html",
        f"{name}.board.html",
        "mapping.json",
    ]
    certificates = done.files[1 + len(legend) :]
    own, public = (json.loads(certificates[i].read_text()) for i in (0, 2))
    for measure in ("itemset_risk", "least_support", "ncp", "ul"):  # of the file, or of the map where it is local
        assert own["internal"]["measures"][measure] == pytest.approx(point.measures[measure])
    promised = own["promise"]["parts"][0]["in_words"]
    about = {warning["about"] for warning in own["warnings"]}
    assert {"what the rest of a record tells", "sensitive items"} <= about
    if maker != "partition":
        assert promised.startswith("someone who knows any two items of a person") and "more known items" in about
    assert "found" in next(w for w in own["warnings"] if w["about"] == "sensitive items")
    assert not {"suppressed", "input", "study", "details", "internal"} & set(public)
    assert set(public["measures"]) == {"itemset_risk", "itemset_risk_99", "itemset_risk_95", "least_support"}
    assert not any("found" in warning for warning in public["warnings"])
    assert str(shop) not in certificates[2].read_text() + certificates[3].read_text()
    read = read_published(tmp_path / name)
    assert read.records == 300
    monkeypatch.chdir(tmp_path)
    assert public["verify_in"] == f"the folder that contains {name}"
    assert f"It holds: {promised}" in run(*public["verify"][1:])
    fits = "Nothing was found that does not fit." if "--local" in own["verify"] else "All records fit."
    assert fits in run(*own["verify"][1:])


def test_the_original_and_changed_baskets_are_not_published(shop: Path, tmp_path: Path) -> None:
    shown = read_map(shop / "map")
    original = next(p.id for p in shown.points if p.anonymizer == "original")
    with pytest.raises(BadInputError, match="is the original baskets, the other end of the map"):
        publish_point(shop / "map", original, tmp_path / "r.csv")
    point = next(p.id for p in shown.points if p.anonymizer == "coat")
    text = (shop / "shop.txt").read_text()
    try:
        (shop / "shop.txt").write_text(text + "bread\n")
        with pytest.raises(BadInputError, match="has changed since the map"):
            publish_point(shop / "map", point, tmp_path / "r.csv")
    finally:
        (shop / "shop.txt").write_text(text)
    assert not list(tmp_path.iterdir())


def test_commands(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = run("choose", str(shop / "map"), "--max", "itemset_risk=0.2")
    assert "someone who knows any two items" in told and "sfumato release" in told
    id = json.loads(run("choose", str(shop / "map"), "--max", "itemset_risk=0.2", "--json"))["point"]["id"]
    told = run("release", str(shop / "map"), "--point", id, "--to", "r.csv", "--set", "layout=long")
    assert "300 records" in told and "hand it out with the data" in told
    rows = ["--baskets", "--id", "record", "--item", "item"]
    assert "It holds" in run("audit", "r.csv", *rows, "--require", "km-anonymity k=5 m=2")
    assert "FAILS: km-anonymity k=250" in run("audit", "r.csv", *rows, "--require", "km-anonymity k=250 m=2", code=1)
    found = json.loads(run("audit", "r.csv", *rows, "--original", str(shop / "shop.txt"), "--json"))
    assert found["holds"] and found["coverage"]["exact"] and found["measures"]["ncp"] > 0
    text = str(shop / "shop.txt")
    told = run("anonymize", text, "--baskets", "--require", "km-anonymity k=5 m=2", "--with", "coat", "--to", "a.csv")
    assert "12 items published as" in told
    assert "It holds" in run("audit", "a.csv", "--baskets", "--require", "km-anonymity k=5 m=2")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["anonymize", "x.txt", "--baskets", "--quasi", "a", "--to", "y.csv"], "--quasi is about tables"),
        (["anonymize", "x.txt", "--tree", "t.csv", "--to", "y.csv"], "--tree is about sets of items"),
        (["anonymize", "x.txt", "--baskets", "--to", "y.csv"], "baskets need one requirement"),
        (
            [
                "anonymize",
                "x.txt",
                "--baskets",
                "--require",
                "km-anonymity k=2 m=2",
                "--with",
                "mondrian",
                "--to",
                "y.csv",
            ],
            "unknown anonymizer of baskets 'mondrian'",
        ),
        (["audit", "x.csv", "--id", "record"], "--id is about sets of items"),
        (["audit", "x.csv", "--baskets", "--sensitive", "s"], "--sensitive is about tables"),
        (["explore", "online-retail", "--target", "x"], "is about baskets, and this is about tables"),
    ],
)
def test_options_of_the_other_kind_are_refused(words: list[str], said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        run(*words, code=2)


def test_the_ends_of_the_map_promise_nothing_they_do_not_keep() -> None:
    own = baskets_of([["a"], ["a", "b"], []])
    wanted = basket_requirement("km-anonymity k=2 m=2")
    with pytest.raises(InfeasibleError, match="the original baskets do not satisfy km-anonymity k=2 m=2"):
        candidate_maker("original").anonymize(own, wanted)
    assert candidate_maker("one-item").anonymize(own, wanted).labels == ("*",)
    with pytest.raises(InfeasibleError, match="only 2 records have any item"):
        candidate_maker("one-item").anonymize(own, basket_requirement("km-anonymity k=3 m=1"))


@pytest.mark.parametrize("maker", ["aa", "lra", "vpa", "coat", "pcta"])
def test_too_few_records_with_items_are_no_internal_error_whatever_may_be_left_out(tmp_path, maker) -> None:
    (tmp_path / "two.txt").write_text("tea milk\nbeer milk\n")
    words = ("anonymize", "two.txt", "--baskets", "--require", "km-anonymity k=5 m=1", "--with", maker)
    done = command_line.run(*words, "--set", "limit=suppression share=1", "--to", "out.csv", cwd=tmp_path)
    if maker in ("coat", "pcta"):
        assert done.returncode == 0 and (tmp_path / "out.csv").read_text().split() == ['""', '""']
    else:
        assert done.returncode == 1 and "only 2 records have any item" in done.stderr, done.stderr
        assert not (tmp_path / "out.csv").exists()


def test_baskets_made_in_python_are_explored(tmp_path: Path) -> None:
    own = baskets_of(records(60))
    study = usual_baskets("mine", BasketsDeclaration("nowhere"), (2,))
    study = Study("mine", study.data.sets, study.grids, BasketScales(queries=CALM))
    shown = explore(study, table=own)
    assert shown.about["records"] == 60 and len(shown.frontier()) >= 2


# -- check and init --------------------------------------------------------------------------------------------


def test_check_says_how_risky_baskets_are(shop: Path) -> None:
    told = json.loads(run("check", str(shop / "shop.txt"), "--baskets", "--json"))
    rows = [frozenset(own) for own in records()]
    counts = plain.supports(rows, 2)
    assert (told["records"], told["items"], told["empty"]) == (300, 12, sum(not own for own in rows))
    singles = [n for own, n in counts.items() if len(own) == 1]
    assert told["rare_items"] == {str(k): sum(n < k for n in singles) for k in (3, 5, 11, 20)}
    assert told["rare_sets"]["5"] == pytest.approx(sum(n < 5 for n in counts.values()) / len(counts))
    assert [n for n, _ in told["weakest"]] == sorted(counts.values())[:8]
    assert set(told["alone"]) == {"1", "2", "3", "4"} and told["alone"]["1"] <= told["alone"]["4"]
    said = run("check", str(shop / "map" / "study.toml"))
    assert "can be explored" in said and "How easily can an attacker" in said


def test_check_finds_candidates_that_cannot_be_made(shop: Path, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(
        f"[baskets]\nsource = {str(shop / 'shop.txt')!r}\n[scales]\nsensitive = ['gin']\n[[candidates]]\n"
        "anonymizers = ['aa', 'partition']\nrequirements = ['km-anonymity k=9999 m=2', 'k-anonymity k=5']\n"
    )
    told = run("check", str(path), code=1)
    assert "sensitive item 'gin'" in told and "so k can be at most" in told
    assert "aa satisfies km-anonymity, not k-anonymity" in told and "partition, km-anonymity" in told


def test_init_writes_a_study_that_runs(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "few.txt").write_text("\n".join(" ".join(own) for own in records(30)) + "\n")
    told = run("init", "few.txt", "--baskets")
    assert "30 records" in told and "sfumato explore study.toml" in told
    study = read_study("study.toml")
    assert isinstance(study, Study) and study.data.sets.source == "few.txt"
    filled = sum(1 for own in records(30) if own)
    assert max(own.requirement.k for own in study.candidates) <= filled
    assert "can be explored" in run("check", "study.toml")
    with pytest.raises(BadInputError, match="exists already"):
        run("init", "few.txt", "--baskets", code=2)


def test_the_draft_has_the_default_anonymizer_a_limit_and_the_tree(tmp_path: Path) -> None:
    (tmp_path / "few.txt").write_text("\n".join(" ".join(own) for own in records(30)) + "\n")
    labels = sorted({item for own in records(30) for item in own})
    (tmp_path / "tree.csv").write_text(
        "".join(f"{item},{'low' if item < labels[3] else 'high'},*\n" for item in labels)
    )
    default = "coat order=ascending visit=once loss=size"
    for words, constraints in (((), {None}), (("--tree", "tree.csv"), {None, "utility-constraints level=1"})):
        told = command_line.run("init", "few.txt", "--baskets", *words, "--force", cwd=tmp_path)
        assert "It may suppress up to 5 % of the occurrences" in told.stdout
        candidates = read_study(str(tmp_path / "study.toml")).candidates
        best = [own for own in candidates if str(own.anonymizer) == default]
        assert {None if own.utility is None else str(own.utility) for own in best} == constraints
        assert {str(own.limit) for own in best} == {"suppression share=0.05 of=occurrences"}
        named = {default, "aa", "coat", "pcta", "one-item", "original"}
        by_tree = {default.replace("size", "tree")} if words else set()
        assert {str(own.anonymizer) for own in candidates} == named | by_tree


def test_explore_reports_its_progress_where_stderr_is_no_terminal(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("sfumato.commands._output.SECONDS_BETWEEN_LINES", 0.0)
    (tmp_path / "few.txt").write_text("\n".join(" ".join(own) for own in records(30)) + "\n")
    content = '[baskets]\nsource = "few.txt"\n[[candidates]]\nanonymizers = ["aa", "coat"]\n'
    (tmp_path / "s.toml").write_text(f'name = "s"\n{content}requirements = ["km-anonymity k=2 m=1"]\n')
    told = command_line.run("explore", "s.toml", "--workers", "1", cwd=tmp_path)
    assert told.returncode == 0 and "1 of 2" in told.stderr and "2 of 2" in told.stderr


def test_a_certificate_speaks_of_as_many_known_items_as_its_promise(shop: Path, tmp_path: Path) -> None:
    """The map takes two items for known; a promise about one item is measured for one."""
    study = usual_baskets("one", BasketsDeclaration(str(shop / "shop.txt")), (4,), m=1)
    study = Study("one", study.data.sets, study.grids, BasketScales(known=2, queries=CALM))
    (tmp_path / "map").mkdir()
    shown = explore(study)
    save_map(shown, tmp_path / "map")
    point = next(p for p in shown.points if p.anonymizer == "coat")
    done = publish_point(tmp_path / "map", point.id, tmp_path / "r.csv")
    content = json.loads(done.files[1].read_text())
    assert content["measures"]["least_support"] >= 4 > point.measures["least_support"]
    assert content["internal"]["measures"]["match_least"] >= 4
    meaning = next(own["text"] for own in content["meanings"] if own["name"] == "What an attacker knows")
    assert "any one item of a person" in meaning


def test_bundled_baskets_with_a_tree_of_ones_own(tmp_path: Path) -> None:
    from sfumato.data.bundled import load_baskets

    items = load_baskets("online-retail").items
    path = tmp_path / "tree.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows((item, f"initial {item[0]}", "*") for item in items)
    found = BasketsDeclaration("online-retail", tree=str(path)).open()
    assert found.tree is not None and set(found.tree.leaves) == set(items) and found.origin == "online-retail"


def test_baskets_are_counted_within_the_memory_and_in_the_folder_that_are_declared(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    owner, item = np.divmod(np.arange(200_000), 4)
    pq.write_table(pa.table({"who": owner, "what": owner * 7 + item}), tmp_path / "rows.parquet")
    entries = {"source": "rows.parquet", "id": "who", "item": "what", "spill": "scratch", "memory": "5MB"}
    declared = BasketsDeclaration.of(entries, tmp_path)
    assert (tmp_path / declared.entries(tmp_path)["spill"]).samefile(tmp_path / "scratch")
    with pytest.raises((MemoryError, BadInputError)):
        declared.open()
    assert list((tmp_path / "scratch").glob("sfumato-spill-*"))  # the private folder is made where the study says
    assert replace(declared, memory="2GB").open().size == 50_000
    with pytest.raises(BadInputError, match="memory"):
        BasketsDeclaration("x", memory="plenty")


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
