"""Is it worth it: the marks on the map, the section of the report, and what explore and choose say of it."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from points import point_of, write_report
from sfumato import Grid, Map, Scales, Study, TableDeclaration, anonymizer, requirement
from sfumato.commands.app import app
from sfumato.measures.classification.classification import Classification, Worth
from sfumato.report import verdicts as words
from sfumato.report.data_summary import meanings
from sfumato.report.folder import save_map
from sfumato.report.verdicts import advice, signed
from sfumato.tradeoff.chart import map_chart, rows
from sfumato.tradeoff.comparison import VERDICTS
from sfumato.tradeoff.map import Point
from sfumato.tradeoff.public import ALLOWED
from test_report import data_of, opened

HOSTILE = "</script><script>window.pwned=1</script>"
BASE = ("without-sensitive", 0.70, 0.80)
CLASSIFIERS = "decision-tree,naive-bayes"


def made(
    id: str, gain: float, reach: float, adversary: float = 0.05, maker: str = "mondrian", p_loss: float = 0.2
) -> Point:
    """Make a point whose gain lies in the middle of an interval."""
    own = Worth("pay", "decision-tree", 0.7 + gain, *BASE, gain, gain - reach, gain + reach, adversary)
    measures = {"p_loss": p_loss, "u_loss": 1 - p_loss, "a_acc": adversary, "utility_gain": gain}
    asked, worth = "k-anonymity k=2", {**asdict(own), "verdict": own.verdict}
    return point_of(id, maker, "generalization", asked, {}, "measured", None, measures, worth=worth)


def mapped(*points: Point, target: str | None = "pay", sensitive: tuple[str, ...] = ("illness",)) -> Map:
    scales = Scales(classification=None if target is None else Classification(target, CLASSIFIERS, folds=4))
    grid = Grid((anonymizer("mondrian"),), (requirement("k-anonymity k=2"),))
    study = Study("clinic", TableDeclaration("t.csv", ("age",), sensitive), (grid,), scales=scales)
    return Map(study, points, {"records": 90, "quasi": ["age"], "sensitive": list(sensitive)})


GOOD, LESS, OPEN = made("aa", 0.04, 0.01, p_loss=0.5), made("bb", -0.03, 0.01), made("cc", 0.01, 0.02, p_loss=0.3)
TRIVIAL = made("dd", -0.05, 0.01, 0.0, "without-quasi", p_loss=0.0)
TABLE = made("ee", 0.10, 0.01, 0.2, "original", p_loss=0.6)
EVERY = mapped(GOOD, LESS, OPEN, TRIVIAL, TABLE)


def test_only_releases_that_do_not_beat_the_trivial_ones_are_marked() -> None:
    assert TRIVIAL.worth is not None and TRIVIAL.worth["verdict"] == "no better"
    marks = {row["id"]: row["verdict"] for row in rows(EVERY, "p_loss", "u_loss")}
    assert marks == {"aa": "", "bb": "no better", "cc": "not shown", "dd": "", "ee": ""}


def test_a_map_says_what_its_marks_mean_and_has_none_where_nothing_was_learned() -> None:
    learned, plain = map_chart(EVERY).to_dict(), map_chart(mapped(GOOD, LESS, target=None)).to_dict()
    assert len(learned["layer"]) == len(plain["layer"]) + 1
    assert "A cross marks" in " ".join(learned["title"]["subtitle"]) and "pay" in " ".join(learned["title"]["subtitle"])
    assert len(plain["title"]["subtitle"]) == 1
    said = {verdicts.marks for verdicts in (mapped(GOOD, TRIVIAL, TABLE).verdicts,) if verdicts}
    assert said == {""}
    assert "cross" not in " ".join(map_chart(mapped(GOOD, OPEN)).to_dict()["title"]["subtitle"])


@pytest.mark.parametrize(
    ("points", "said"),
    [
        (
            (GOOD, LESS, OPEN, TRIVIAL, TABLE),
            "1 of 3 releases beats both .* pay; 1 is no better .*; for 1 it is not shown",
        ),
        ((GOOD, made("ff", 0.02, 0.01)), "All 2 releases beat both trivial sanitizations at learning pay."),
        ((LESS, OPEN), "None of 2 releases is shown to beat both"),
        ((TRIVIAL,), "No release was compared"),
    ],
)
def test_the_tally_counts_releases_and_no_baselines(points: tuple[Point, ...], said: str) -> None:
    verdicts = mapped(*points).verdicts
    assert verdicts is not None and re.search(said, words.tally(verdicts))


def test_sentences_give_the_numbers_and_do_not_claim_what_is_not_shown() -> None:
    verdicts = EVERY.verdicts
    assert verdicts is not None
    good, less, unclear, trivial, table = (words.sentence(verdicts, point) for point in EVERY.points)
    assert good == (
        "It beats both trivial sanitizations at learning pay: 74.0 % right, +4.0 percentage points (95 % interval "
        "+3.0 to +5.0); an adversary gains 5.0 percentage points, more than the researcher."
    )
    assert less.startswith("It does not beat the better trivial") and "-4.0 to -2.0)" in less
    assert unclear.startswith("It is not shown") and "-1.0 to +3.0, which contains zero" in unclear
    assert "itself a trivial sanitization" in trivial and "70.0 %" in trivial and "no release" in table


@given(st.floats(-1, 1).filter(lambda value: abs(value) > 1e-9))
def test_a_difference_is_never_rounded_to_the_other_side_of_zero(value: float) -> None:
    told = float(signed(value))
    assert told * value > 0 and abs(told - 100 * value) <= 0.05 + 1e-9


def test_meanings_explain_learning_only_where_there_was_some() -> None:
    assert "Learning a column" in dict(meanings(EVERY))
    assert "Learning a column" not in dict(meanings(mapped(GOOD, target=None)))


def test_choose_says_plainly_what_the_point_is_worth() -> None:
    bounds = {"aa": 0.5, "bb": 0.2, "dd": 0.0}
    told = {id: advice(EVERY, EVERY.choose(max={"p_loss": bound}).point) for id, bound in bounds.items()}
    assert (told["aa"] or "").startswith("It beats both") and "--prefer" not in (told["aa"] or "")
    assert (told["bb"] or "").startswith("It does not beat the better trivial sanitization")
    assert (told["bb"] or "").endswith(
        "1 release of this map beats both: --prefer utility_gain finds the largest gain."
    )
    assert (told["dd"] or "").startswith("It is itself a trivial sanitization")
    assert (advice(mapped(LESS), LESS) or "").endswith("No release of this map beats both.")
    assert advice(mapped(GOOD, target=None), GOOD) is None
    assert EVERY.choose(prefer="utility_gain").point.id == "aa"


# -- on the page


def test_the_page_without_a_learned_column_has_no_such_section(browser: Any, tmp_path: Path) -> None:
    shown = mapped(*(Point(**{**vars(point), "worth": None}) for point in EVERY.points), target=None)
    with opened(browser, write_report(shown, tmp_path / "report.html")) as page:
        assert page.locator("#worth").count() == 0 and page.locator(".mark-symbol").count() == 3
        assert "trivial" not in page.inner_text("#reading") + page.inner_text("#legend")


def test_crosses_and_strokes_are_drawn_over_the_right_points(browser: Any, tmp_path: Path) -> None:
    with opened(browser, write_report(EVERY, tmp_path / "report.html")) as page:
        ids = page.evaluate("drawn().map((row) => row.id)")
        found = page.evaluate(
            """[...document.querySelectorAll("#chart .mark-symbol")].map((group) =>
                [...group.querySelectorAll("path")].map((path) => [path.getAttribute("d").split("M").length - 1,
                path.getAttribute("d").includes("A"), path.getBoundingClientRect().width]))"""
        )
        layers = [dict(zip(ids, layer, strict=True)) for layer in found if not any(mark[1] for mark in layer)]
        marks = next(layer for layer in layers if layer["bb"][0] == 2 and layer["bb"][2] > 3)
        assert marks["cc"][0] == 1 and marks["cc"][2] > 3
        assert all(marks[id][2] < 3 for id in ("aa", "dd", "ee"))
        assert "A cross marks a release" in page.inner_text("#reading")
        assert "no better than a trivial sanitization" in page.inner_text("#legend")


def test_the_panel_of_a_point_says_its_verdict(browser: Any, tmp_path: Path) -> None:
    with opened(browser, write_report(EVERY, tmp_path / "report.html")) as page:
        for point, said in ((GOOD, "It beats both"), (LESS, "It does not beat the better"), (OPEN, "It is not shown")):
            page.click(f"#worth button[data-point='{point.id}']")
            assert page.evaluate("state.chosen") == point.id
            assert said in page.inner_text("#point")
            assert (page.locator("#point .note").count() == 1) == (point is not GOOD)


def test_every_row_gives_accuracy_gain_interval_adversary_and_verdict(browser: Any, tmp_path: Path) -> None:
    expected = {
        "aa": ["74.0 %", "+4.0 (+3.0 to +5.0)", "5.0", "beats both trivial sanitizations"],
        "bb": ["67.0 %", "\u22123.0 (\u22124.0 to \u22122.0)", "5.0", "does not beat the better trivial sanitization"],
        "cc": ["71.0 %", "+1.0 (\u22121.0 to +3.0)", "5.0", VERDICTS["not shown"]],
        "dd": ["65.0 %", "\u22125.0 (\u22126.0 to \u22124.0)", "0", "trivial sanitization"],
        "ee": ["80.0 %", "+10.0 (+9.0 to +11.0)", "20.0", "no release, to compare with"],
    }
    with opened(browser, write_report(EVERY, tmp_path / "report.html")) as page:
        for id, cells in expected.items():
            assert page.locator(f"#worth tr[data-id='{id}'] td").all_inner_texts()[1:] == cells


def test_without_sensitive_values_there_is_no_adversary_on_the_page(browser: Any, tmp_path: Path) -> None:
    bare = [Point(**{**vars(p), "measures": {"k": 2.0, "loss": 0.1}}) for p in (GOOD, LESS)]
    with opened(browser, write_report(mapped(*bare, sensitive=()), tmp_path / "report.html")) as page:
        assert "dversary" not in page.inner_text("#worth")
        assert "+4.0" in page.inner_text("#worth")


def test_many_releases_unfold(browser: Any, tmp_path: Path) -> None:
    many = [made(f"{i:02}", (40 - i) / 1000, 0.02) for i in range(40)]
    with opened(browser, write_report(mapped(*many, TRIVIAL), tmp_path / "report.html")) as page:
        ids = page.evaluate("[...document.querySelectorAll('#worth tr[data-id]')].map((row) => row.dataset.id)")
        assert ids == [f"{i:02}" for i in range(12)] + ["dd"] + [f"{i:02}" for i in range(12, 40)]
        assert "The other 28 releases" in page.inner_text("#worth summary")


# -- from the table to the page


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Explore a table whose column to learn has a hostile name."""
    folder = tmp_path_factory.mktemp("worth")
    lines = [f'age,town,illness,"{HOSTILE}"']
    for i in range(240):
        age, ill = 20 + i * 7 % 60, ["flu", "none", "gout"][(i * i + i // 7) % 3]
        lines.append(f"{age},secret-town-{i % 5},{ill},{'high' if age > 50 else 'low'}")
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "study.toml").write_text(
        'schema = 1\nname = "small"\n[table]\nsource = "people.csv"\nquasi = ["age", "town"]\nsensitive = ["illness"]\n'
        '[[candidates]]\nrequirements = ["k-anonymity k=5", "k-anonymity k=150"]\n'
        '[[candidates]]\nanonymizers = ["without-quasi", "without-sensitive", "original"]\n'
    )
    words = ["explore", str(folder / "study.toml"), "--target", HOSTILE, "--out", str(folder / "map"), "--details"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    return folder / "map", result.stdout


def test_numbers_on_the_page_are_those_of_points_json(explored: tuple[Path, str], browser: Any, tmp_path: Path) -> None:
    folder, _ = explored
    worths = {p["id"]: p["worth"] for p in json.loads((folder / "points.json").read_text())["points"]}
    assert len(worths) == 5
    told = {point["id"]: point["worth"] for point in data_of(folder / "report.html")["points"]}
    assert {id: {key: own[key] for key in worths[id]} for id, own in told.items()} == worths
    with opened(browser, folder / "report.html") as page:
        assert HOSTILE in page.text_content("#worth") and page.locator("script").count() == 4


def test_the_public_page_has_neither_the_section_nor_records(explored: tuple[Path, str]) -> None:
    folder, _ = explored
    public = (folder / "report-public.html").read_text("utf-8")
    assert "Is it worth it?" not in public and "secret-town" not in public and ">high<" not in public
    assert all(point["worth"] is None for point in data_of(folder / "report-public.html")["points"])
    assert all(set(point["measures"]) <= set(ALLOWED) for point in data_of(folder / "report-public.html")["points"])
    assert "secret-town" in (folder / "report.html").read_text("utf-8")
    assert HOSTILE not in public


def test_explore_and_choose_say_the_verdict_on_the_terminal(explored: tuple[Path, str]) -> None:
    folder, said = explored
    points = json.loads((folder / "points.json").read_text())["points"]
    better = [p["id"] for p in points if p["anonymizer"] == "mondrian" and p["worth"]["verdict"] == "better"]
    assert "Is it worth it?" in said and HOSTILE in said
    words = ["explore", str(folder / "study.toml"), "--out", str(folder), "--json"]
    verdicts = json.loads(CliRunner().invoke(app, words).stdout)["verdicts"]
    assert sorted(verdicts["better"]) == sorted(better) and sum(map(len, verdicts.values())) == 2
    chosen = CliRunner().invoke(app, ["choose", str(folder), "--prefer", "utility_gain", "--details"])
    assert chosen.exit_code == 0 and "Is it worth it:" in chosen.stdout


def test_a_map_without_a_learned_column_says_nothing_of_it(tmp_path: Path) -> None:
    shown = mapped(*(Point(**{**vars(point), "worth": None}) for point in EVERY.points), target=None)
    save_map(Map(shown.study, shown.points, {**shown.about, "digest": "0", "cells": 9, "dropped": 0}), tmp_path)
    chosen = CliRunner().invoke(app, ["choose", str(tmp_path), "--knee"])
    assert chosen.exit_code == 0 and "worth" not in chosen.stdout
    assert json.loads(CliRunner().invoke(app, ["choose", str(tmp_path), "--knee", "--json"]).stdout)["worth"] is None
