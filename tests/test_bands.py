"""Published ranges: rounded ends by default, nodes or tight ranges by name; checked on the written file."""

import csv
import datetime
import json
import random
import re
from collections import Counter

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from command_line import run
from sfumato import BadInputError, InfeasibleError, dates, numeric
from sfumato.tradeoff.study.search_plan import SearchPlan
from strategies import tries

DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
COUNTED = re.compile(r"\d+ of \d+ published ends and values of birth")


def birth_table(path, records=240, seed=7):
    """Write a table of dates of birth, most of one person each; return the dates."""
    draw = random.Random(seed)
    first = datetime.date(1930, 1, 1).toordinal()
    births = [datetime.date.fromordinal(first + draw.randrange(70 * 365)).isoformat() for _ in range(records)]
    rows = [(birth, draw.choice("mf"), draw.choice(["flu", "cold", "gout"])) for birth in births]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("birth", "sex", "illness"), *rows])
    return births


def days_of(text):
    """Read the first and the last day of a published date: a day, month, year, decade or range; None for `*`."""
    if text == "*":
        return None
    first, _, last = text.partition("..")
    decade = re.fullmatch(r"(\d{4})-(\d{4})", text)
    if decade:
        return datetime.date(int(decade[1]), 1, 1), datetime.date(int(decade[2]), 12, 31)
    return _first_day(first), _last_day(last or first)


def _first_day(text):
    quarter = re.fullmatch(r"(\d{4})-Q(\d)", text)
    if quarter:
        return datetime.date(int(quarter[1]), 3 * int(quarter[2]) - 2, 1)
    parts = [int(part) for part in text.split("-")]
    return datetime.date(*parts, *[1] * (3 - len(parts)))


def _last_day(text):
    parts = [int(part) for part in text.split("-")]
    if len(parts) == 3:
        return datetime.date(*parts)
    year, month = (parts[0], parts[1]) if len(parts) == 2 else (parts[0], 12)
    following = datetime.date(year + month // 12, month % 12 + 1, 1)
    return following - datetime.timedelta(days=1)


@pytest.mark.parametrize("maker", ["mondrian", "mondrian cut=loss", "mondrian mode=relaxed seed=1", "hilbert seed=1"])
def test_no_published_end_is_a_birth_date_of_one_person(tmp_path, maker):
    births = birth_table(tmp_path / "people.csv")
    words = ["--quasi", "birth,sex", "--sensitive", "illness", "--require", "k-anonymity k=5", "--with", maker]
    ended = run("anonymize", "people.csv", *words, "--to", "out.csv", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert min(Counter((row["birth"], row["sex"]) for row in rows).values()) >= 5
    ranges = {row["birth"] for row in rows} - {"*"}
    assert len(ranges) > 5
    for text in ranges:
        first, last = days_of(text)
        assert first == last or (first.day == 1 and (last + datetime.timedelta(days=1)).day == 1), text
    alone = {birth for birth, count in Counter(births).items() if count == 1}
    written = {day for text in ranges for day in DAY.findall(text)}
    shared = {text for text in ranges if DAY.fullmatch(text)}
    firsts_and_lasts = {day for day in written if days_of(day)[0].day == 1 or _last_day(day[:7]).isoformat() == day}
    assert not (written - shared - firsts_and_lasts), "an end is neither the first nor the last day of a month"
    assert len(written & alone - shared) < 0.1 * len(written), "ends are birth dates of single persons"


def test_tight_ranges_have_the_dates_of_single_persons_and_are_there_by_name(tmp_path):
    births = birth_table(tmp_path / "people.csv")
    words = ["--quasi", "birth,sex", "--require", "k-anonymity k=5", "--with", "mondrian ranges=tight"]
    assert run("anonymize", "people.csv", *words, "--to", "out.csv", cwd=tmp_path).returncode == 0
    written = set(DAY.findall((tmp_path / "out.csv").read_text()))
    assert written <= set(births) and len(written) > 20


MAKERS = [
    "mondrian",
    "mondrian cut=loss",
    "mondrian mode=relaxed seed=1",
    "hilbert seed=1",
    "hilbert within=0.6 seed=1",
    "local-recoding seed=1",
    "full-domain",
]
HIERARCHIES = {
    "age": numeric(0, 99, intervals=[5, 10, 50]),
    "born": dates("1990-01-01", "1992-12-31"),
    "bare": numeric(0, 99),
    "few": numeric(1, 3),
}


@st.composite
def small_columns(draw):
    """Columns of ages, days, numbers without levels and a few numbers, some values missing."""
    records = draw(st.integers(4, 24))
    numbers = st.integers(0, 99).map(str)
    days = st.dates(datetime.date(1990, 1, 1), datetime.date(1992, 12, 31)).map(datetime.date.isoformat)
    kinds = {"age": st.one_of(numbers, st.just("")), "born": days, "bare": numbers, "few": st.sampled_from("123")}
    names = draw(st.lists(st.sampled_from(list(kinds)), min_size=1, max_size=3, unique=True))
    columns = {name: draw(st.lists(kinds[name], min_size=records, max_size=records)) for name in names}
    return columns | {"group": draw(st.lists(st.sampled_from("abc"), min_size=records, max_size=records))}


def number_ends(text):
    """Read the ends of a published range of whole numbers."""
    first, _, last = text.replace("..", "-").partition("-")
    return int(first), int(last or first)


def covered(name, value, text):
    """Say whether a published text covers a value; a set covers what its members and `?` do."""
    if text == "*" or value == text:
        return True
    if text.startswith("{"):
        members = text[1:-1].split(", ")
        return any(value == "" if member == "?" else value != "" and covered(name, value, member) for member in members)
    if value == "":
        return False
    if name == "born":
        first, last = days_of(text)
        return first <= datetime.date.fromisoformat(value) <= last
    if name == "group":
        return False
    first, last = number_ends(text)
    return first <= int(value) <= last


def on_bands(name, text):
    """Say whether the ends of a published range lie on the first level's bounds: 5 years, a month."""
    if name == "group" or text in ("*", ""):
        return True
    if text.startswith("{"):
        return all(on_bands(name, member) for member in text[1:-1].split(", ") if member != "?")
    if name == "born":
        first, last = days_of(text)
        return first == last or (first.day == 1 and (last + datetime.timedelta(days=1)).day == 1)
    first, last = number_ends(text)
    return first == last or (first % 5 == 0 and last % 5 == 4)


@tries(30)
@given(
    columns=small_columns(), maker=st.sampled_from(MAKERS), k=st.integers(2, 4), ranges=st.sampled_from([None, "node"])
)
def test_every_box_covers_its_records_on_the_bounds_of_bands(columns, maker, k, ranges):
    columns["row"] = [str(number) for number in range(len(columns["group"]))]
    quasi = [name for name in columns if name != "row"]
    hierarchies = {name: HIERARCHIES[name] for name in quasi if name in HIERARCHIES}
    table = sfumato.read(pyarrow.table(columns), quasi=quasi, neutral=["row"], hierarchies=hierarchies, ranges=ranges)
    try:
        release = sfumato.anonymize(table, f"k-anonymity k={k}", maker)
    except InfeasibleError:
        return
    written = release.to_arrow().to_pylist()
    texts = {row["row"]: {name: "" if row[name] is None else str(row[name]) for name in quasi} for row in written}
    assert min(Counter(tuple(each.values()) for each in texts.values()).values()) >= k
    for row, each in texts.items():
        for name, text in each.items():
            assert covered(name, columns[name][int(row)], text), (name, text)
            assert on_bands(name, text), (name, text)


def test_whole_nodes_are_equal_disjoint_or_nested():
    draw = random.Random(3)
    people = {"age": [str(draw.randrange(100)) for _ in range(200)], "s": [draw.choice("ab") for _ in range(200)]}
    hierarchies = {"age": numeric(0, 99, intervals=[5, 10, 50])}
    table = sfumato.read(pyarrow.table(people), quasi=["age"], sensitive=["s"], hierarchies=hierarchies, ranges="node")
    for maker in ("mondrian", "hilbert", "sabre", "burel"):
        wanted = {"sabre": "t-closeness t=0.5 distance=equal", "burel": "beta-likeness beta=2 variant=basic"}
        release = sfumato.anonymize(table, wanted.get(maker, "k-anonymity k=3"), maker)
        texts = {str(row["age"]) for row in release.to_arrow().to_pylist()}
        spans = {(0, 99) if text == "*" else number_ends(text) for text in texts}
        for one in spans:
            assert all(
                one[1] < other[0]
                or other[1] < one[0]
                or (one[0] >= other[0] and one[1] <= other[1])
                or (one[0] <= other[0] and one[1] >= other[1])
                for other in spans
            )


def test_a_table_that_allows_nodes_alone_refuses_tight_ranges():
    table = sfumato.read(pyarrow.table({"age": ["1", "2", "3", "40"]}), quasi=["age"], ranges="node")
    with pytest.raises(BadInputError, match="the table allows no finer ranges than node; leave out ranges=tight"):
        sfumato.anonymize(table, "k-anonymity k=2", "mondrian ranges=tight")
    with pytest.raises(BadInputError, match="ranges"):
        sfumato.read(pyarrow.table({"age": ["1", "2"]}), quasi=["age"], ranges="tight")


@pytest.mark.parametrize("old", ["publish=node", "box=region", "box=tight"])
def test_the_old_names_are_refused_with_the_new_one(old):
    with pytest.raises(BadInputError, match="ranges"):
        sfumato.anonymizer(f"mondrian {old}")


@tries(12)
@given(
    ages=st.lists(st.integers(0, 99), min_size=8, max_size=30), maker=st.sampled_from(["mondrian", "mondrian cut=loss"])
)
def test_rounded_ranges_of_a_table_with_persons_do_not_overlap(ages, maker):
    people = {"person": [f"P{place // 2}" for place in range(len(ages))], "age": list(map(str, ages))}
    hierarchies = {"age": numeric(0, 99, intervals=[5, 10, 50])}
    table = sfumato.read(pyarrow.table(people), quasi=["age"], person="person", hierarchies=hierarchies)
    release = sfumato.anonymize(table, "k-anonymity k=2", maker)
    texts = {str(row["age"]) for row in release.to_arrow().to_pylist()}
    spans = sorted((0, 99) if text == "*" else number_ends(text) for text in texts)
    assert all(one[1] < other[0] for one, other in zip(spans, spans[1:], strict=False))
    assert all(on_bands("age", text) for text in texts)


def test_ends_of_tight_ranges_that_belong_to_one_record_are_counted(tmp_path):
    births = Counter(birth_table(tmp_path / "t.csv"))
    how = ("--quasi", "birth,sex", "--sensitive", "illness", "--require", "k-anonymity k=4", "--with")
    ended = run("anonymize", "t.csv", *how, "mondrian ranges=tight", "--to", "o.csv", cwd=tmp_path)
    shown = {row["birth"] for row in csv.DictReader((tmp_path / "o.csv").open(newline=""))}
    ends = {end for text in shown for end in text.split("..") if DAY.fullmatch(end)}
    alone = sum(births[end] == 1 for end in ends)
    assert alone > 20
    said = f"{alone} of {len(ends)} published ends and values of birth belong to one record each"
    assert said in ended.stdout + ended.stderr
    ended = run("anonymize", "t.csv", *how, "mondrian", "--to", "rounded.csv", cwd=tmp_path)
    assert "belong to one record each" not in ended.stdout + ended.stderr


def test_every_internal_page_counts_the_ends_of_single_records(tmp_path):
    births = Counter(birth_table(tmp_path / "t.csv"))
    (tmp_path / "study.toml").write_text(
        'schema = 1\nname = "t"\naxes = ["k", "loss"]\n[table]\nsource = "t.csv"\nquasi = ["birth", "sex"]\n'
        'sensitive = ["illness"]\n[[candidates]]\nanonymizers = ["mondrian ranges=tight", "mondrian"]\n'
        'requirements = ["k-anonymity k=4"]\n'
    )
    assert run("explore", "study.toml", "--out", "map", "--workers", "1", cwd=tmp_path).returncode == 0
    points = json.loads((tmp_path / "map/points.json").read_text())["points"]
    report = (tmp_path / "map/report.html").read_text()
    for point in points:
        ended = run("release", "map", "--point", point["id"], "--to", "o.csv", "--force", cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
        shown = {row["birth"] for row in csv.DictReader((tmp_path / "o.csv").open(newline=""))}
        ends = {end for text in shown for end in text.split("..") if DAY.fullmatch(end)}
        said = f"{sum(births[end] == 1 for end in ends)} of {len(ends)} published ends and values of birth"
        pages = [ended.stdout, *((tmp_path / f"o.csv.{kind}.html").read_text() for kind in ("certificate", "board"))]
        is_tight = "ranges=tight" in point["anonymizer"]
        assert all((said in page) == is_tight for page in pages), (said, point["anonymizer"])
        assert not is_tight or (len(ends) > 20 and set(COUNTED.findall(report)) == {said})
        assert "published ends and values" not in (tmp_path / "o.csv.certificate-public.html").read_text()
    assert "published ends and values" not in (tmp_path / "map/report-public.html").read_text()


def test_given_cuts_within_bands_are_counted_and_searched_cuts_lie_between_bands(tmp_path):
    births = Counter(birth_table(tmp_path / "t.csv"))
    alone = sorted(birth for birth, count in births.items() if count == 1)[100]
    how = ("--quasi", "birth,sex", "--require", "k-anonymity k=4", "--with")
    ended = run("anonymize", "t.csv", *how, f"cut-vector cuts=birth={alone}", "--to", "o.csv", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    shown = {row["birth"] for row in csv.DictReader((tmp_path / "o.csv").open(newline=""))}
    assert any(alone in text for text in shown)
    assert "1 of 1 published end or value of birth belongs to one record." in ended.stdout
    table = sfumato.read(tmp_path / "t.csv", quasi=["birth", "sex"])
    space = SearchPlan().space(table.cells)
    hierarchy = table.hierarchies["birth"]
    starts = {hierarchy.leaves[leaf] for leaf in space.attributes[0].starts}
    assert len(starts) > 100 and all(start.endswith("-01") for start in starts)
    within = SearchPlan(levels=("birth=0",)).space(table.cells)
    assert len(within.attributes[0].starts) == hierarchy.size
