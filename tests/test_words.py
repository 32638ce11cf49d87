"""What is said to people: numbers as they are, one function for tables and baskets, every verdict worked out once."""

import math
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.report.data_summary import meanings
from sfumato.report.map_summary import map_lines
from sfumato.report.page import page
from sfumato.report.point_summary import anonymize_command, settings, studied
from sfumato.texts.format import counted, listed, number, percent, wrapped
from sfumato.tradeoff.comparison import Disagreements, Verdicts
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.question import Bound
from sfumato.tradeoff.study.presets import bundled_study as bundled_table
from sfumato.tradeoff.study.study import read_study as bundled_baskets

pytestmark = pytest.mark.quick


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_a_measured_share_reads_as_none_or_all_only_where_it_is(some, of):
    share = Fraction(min(some, of), of)
    text = percent(float(share))
    assert (text == "0.0 %") == (share == 0) and (text == "100.0 %") == (share == 1)
    if not text.startswith(("less", "more")):
        digits, _ = text.split(" ")
        places = len(digits.partition(".")[2])
        assert 1 <= places <= 4 and abs(Fraction(digits) - 100 * share) <= Fraction(51, 100) / 10**places


@given(st.floats(1e-9, 1e9))
def test_a_number_is_near_to_what_it_says(value):
    assert math.isclose(float(number(value).replace(",", "")), value, rel_tol=5.1e-4)


def test_shares_that_were_set_counts_and_lists_read_as_a_person_writes_them():
    assert [percent(share, 3) for share in (0.05, 1 / 3, 0.005, 1)] == ["5 %", "33.3 %", "0.5 %", "100 %"]
    assert percent(-1e-17) == "0.0 %" and percent(1 - 1e-16) == "100.0 %"
    assert [counted(n, "box", "boxes") for n in (0, 1, 1234)] == ["0 boxes", "1 box", "1,234 boxes"]
    assert [listed(parts) for parts in ([], "a", "ab", ("x", 2, Bound("k", "min", 3)))] == [
        "",
        "a",
        "a and b",
        "x, 2 and k at least 3",
    ]
    assert wrapped("word " * 40, "- ").splitlines()[1].startswith("    word")


def point_of(candidate, **more):
    return Point("p", candidate, "measured", **more)


def test_one_function_speaks_of_tables_and_of_baskets():
    table, baskets = bundled_table("adult"), bundled_baskets("online-retail")
    [made, *_] = table.candidates
    sold = baskets.candidates[0].point()
    maps = {
        "table": Map(table, (point_of(made),), {"records": 1, "quasi": ["age"], "sensitive": ["pay"], "dropped": 0}),
        "baskets": Map(baskets, (sold,), {"records": 2000, "items": 7, "tree": True}),
    }
    assert studied(maps["table"]) == (
        "the table adult were tried: 1 record, 1 quasi-identifier an outsider may know (age), and the sensitive pay "
        "nobody should learn. "
    )
    assert studied(maps["baskets"]) == (
        "the baskets online-retail were tried: 2,000 records, each a set of some of 7 items that lie in a tree. "
    )
    public = {name: studied(map_.public()) for name, map_ in maps.items()}
    assert "records" not in public["table"] and "thousands of records, each a set of items. " in public["baskets"]
    named = {name: dict(meanings(map_)) for name, map_ in maps.items()}
    assert "Groups" in named["table"] and "Published items" in named["baskets"]
    assert [set(dict(meanings(map_.public()))) >= {"Rounded to the worse side"} for map_ in maps.values()] == [True] * 2
    words = {name: anonymize_command(map_.study, map_.points[0]) for name, map_ in maps.items()}
    assert words["table"].startswith("sfumato anonymize adult ") and f"--require '{made.requirement}'" in words["table"]
    assert words["baskets"] == (
        "sfumato anonymize online-retail --with aa --require 'km-anonymity k=2 m=2' --to release-" + sold.id + ".csv"
    )
    assert anonymize_command(maps["baskets"].public().study, sold) is None


@pytest.mark.parametrize(("text", "family"), [("one-item", "all items as one"), ("original", "original baskets")])
def test_the_ends_of_a_map_of_baskets_say_themselves_what_they_are(text, family):
    [end] = [own for own in bundled_baskets("online-retail").candidates if own.anonymizer.name == text]
    assert settings(end.point()) == type(end.anonymizer).baseline and end.point().family == family
    assert anonymize_command(bundled_baskets("online-retail"), end.point()) is None


def test_verdicts_and_disagreements_are_worked_out_once_per_map(monkeypatch):
    calls = []
    for kind in (Verdicts, Disagreements):
        known = kind.of
        monkeypatch.setattr(kind, "of", staticmethod(lambda map_, of=known: calls.append(id(map_)) or of(map_)))
    worth = dict.fromkeys(("accuracy", "gain", "low", "high", "adversary", "base_accuracy", "original_accuracy"), 0.5)
    points = [
        point_of(own, measures={"p_loss": 0.1 * n, "u_loss": 1 - 0.1 * n}, worth={**worth, "verdict": "better"})
        for n, own in enumerate(bundled_table("adult").candidates[:8])
    ]
    map_ = Map(bundled_table("adult"), tuple(points), {"quasi": ["age"], "sensitive": ["pay"]})
    page(map_, False, date(2026, 11, 16))
    assert calls.count(id(map_)) == 2


def test_points_at_the_same_place_are_one_line_of_the_terminal_and_all_of_them_points_of_the_frontier():
    study = bundled_table("adult")
    one, two, three, *_ = (each for each in study.candidates if not each.anonymizer.baseline)
    places = {one: (0.1, 0.04), two: (0.1, 0.04), three: (0.3, 0.01)}
    points = tuple(
        Point(f"point{i}", candidate, "measured", None, dict(zip(("p_loss", "u_loss"), place, strict=True)))
        for i, (candidate, place) in enumerate(places.items())
    )
    map_ = Map(study, points, {"records": 9, "sensitive": ["occupation"]})
    lines = [line for line in map_lines(map_, None) for line in line.splitlines() if line.startswith("  point")][1:]
    assert len(map_.frontier()) == 3 and len(lines) == 2
    assert lines[0].endswith("(and 1 more at the same place)") and "more at" not in lines[1]
    assert lines[0].split()[0] in ("point0", "point1") and lines[1].split()[0] == "point2"
