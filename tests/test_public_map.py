"""What may leave the house of a map tells nothing of suppressed records, and no value shows records of itself."""

from __future__ import annotations

import base64
import csv
import dataclasses
import itertools
import json
import random
import re
from collections.abc import Iterator
from datetime import date
from math import isclose
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from points import point_of
from sfumato import MEASURES, Candidate, Grid, Map, Scales, Study, TableDeclaration, explore
from sfumato.anonymizers.items import candidate_maker
from sfumato.data.declaration import BasketsDeclaration
from sfumato.measures.all_measures import published_risks
from sfumato.measures.reconstruction import UniformReader
from sfumato.measures.scales import BasketScales
from sfumato.report.folder import PUBLIC_FILES, save_map
from sfumato.report.page import page
from sfumato.requirements.items import basket_requirement
from sfumato.tradeoff.exploration.explore import promised_risk
from sfumato.tradeoff.map import Point
from sfumato.tradeoff.public import ALLOWED, LARGEST_STEP, WORTH, public_map, public_steps, rounded
from sfumato.tradeoff.question.question import Bound
from sfumato.tradeoff.search.tuner import tune
from sfumato.tradeoff.study.presets import usual_baskets

MARKER = "MARKER"
SEED = 471113
RECORDS = 237
FORBIDDEN = ("suppressed", "loss", "discernibility", "generalization_loss", "suppression_loss", "weighted_k")
DIGITS = 2


# -- the attack: page and file in hand, find the suppressed values


def write_table(path: Path, rows: list[tuple[Any, ...]]) -> Path:
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["age", "town", "ill"])
        writer.writerows(rows)
    return path


class Asked(NamedTuple):
    """A release of a map that is made without a study."""

    maker: str
    requirement: str = "k-anonymity k=3"
    form: Literal["generalization", "bucketization"] = "generalization"
    suppress: float = 0.0


ONE = (Asked("full-domain", suppress=0.03), Asked("without-quasi"))
SEVERAL = (
    Asked("full-domain", suppress=0.01),
    Asked("full-domain", "k-anonymity k=6", suppress=0.05),
    Asked("mondrian"),
    Asked("mondrian", suppress=0.03),
    Asked("mondrian", "t-closeness t=0.4 distance=equal", suppress=0.02),
    Asked("mondrian", "l-diversity l=2 variant=distinct", "bucketization"),
    Asked("exchange", "t-closeness t=0.3 distance=equal", "bucketization"),
    Asked("without-quasi"),
)


def light_map(path: Path, releases: tuple[Asked, ...] = ONE) -> tuple[Map, dict[str, float]]:
    """Make a map of releases, and the measures of the first at full precision."""
    table = sfumato.read(str(path), quasi=["age", "town"], sensitive=["ill"])
    prepared = Scales(reader=UniformReader()).prepare(table)
    points = []
    for place, asked in enumerate(releases):
        wanted = sfumato.requirement(asked.requirement)
        release = sfumato.anonymizer(asked.maker).anonymize(table, wanted, asked.form, asked.suppress)
        measures = dict(prepared.measure(release).values)
        risks = published_risks(release, wanted, asked.suppress)
        parameters = {"suppress": asked.suppress} if asked.suppress else {}
        point = point_of(
            f"p{place}", asked.maker, asked.form, str(wanted), parameters, "measured", None, measures, risks
        )
        points.append(point)
    grid = Grid((sfumato.anonymizer("full-domain"),), (sfumato.requirement("k-anonymity k=3"),))
    study = Study("small", TableDeclaration("table.csv", ("age", "town"), ("ill",)), (grid,))
    about = {"records": table.cells.records, "quasi": ["age", "town"], "sensitive": ["ill"], "notices": []}
    return Map(study, tuple(points), about), dict(points[0].measures)


@pytest.mark.parametrize("seed", range(4))
def test_page_and_file_leave_every_explanation_of_the_suppressed_values(seed: int, tmp_path: Path) -> None:
    """The reader even knows all other records; with the raw measures the same enumeration finds few or one."""
    draw = random.Random(seed)
    values = [f"v{i}" for i in range(draw.randint(3, 5))]
    kept = [
        (draw.randint(20, 30), draw.choice("ABC"), draw.choice(values[: 2 + i % 3])) for i in range(150 + 20 * seed)
    ]
    kept += [(age, town, value) for age in range(20, 31) for town in "ABC" for value in values]
    truth = tuple(draw.choice(values) for _ in range(1 + seed % 2))

    def looked_at(hidden: tuple[str, ...]) -> tuple[str, dict[str, float]]:
        odd = [(95 + 2 * i, "Z", value) for i, value in enumerate(hidden)]
        shown, raw = light_map(write_table(tmp_path / "table.csv", [*kept, *odd]))
        assert raw["suppressed"] == len(hidden)
        return page(shown, True, date(2026, 5, 1)), raw

    public, raw = looked_at(truth)
    assert '"a_know"' in public
    fits_raw, tried = [], 0
    for size in (1, 2):
        explanations = list(itertools.combinations_with_replacement(values, size))
        found = {hidden: looked_at(hidden) for hidden in explanations}
        tried += len(found)
        assert all(text == public for text, _ in found.values())  # byte by byte
        telling = ("suppressed", "t_equal", "t_js", "a_know", "beta", "loss")
        fits_raw += [h for h, (_, own) in found.items() if all(isclose(own[n], raw[n], rel_tol=1e-12) for n in telling)]
    assert tuple(sorted(truth)) in fits_raw and 3 * len(fits_raw) <= tried


@pytest.mark.parametrize("seed", range(2))
def test_a_map_of_several_releases_leaves_more_than_one_explanation_of_every_size(seed: int, tmp_path: Path) -> None:
    """What one release suppresses another one publishes, so a reader tries every value against all numbers."""
    draw = random.Random(seed)
    values = ["flu", "cold", "HIV"]
    kept = [
        (draw.randint(20, 60), draw.choice("AAABBC"), draw.choices(values, (6, 3, 2))[0])
        for _ in range(1020 + 80 * seed)
    ]
    truth = tuple(draw.choices(values, k=1 + seed))

    def numbers(hidden: tuple[str, ...]) -> list[dict[str, float]]:
        odd = [(95 - 3 * i, "Z", value) for i, value in enumerate(hidden)]
        shown, raw = light_map(write_table(tmp_path / "table.csv", [*kept, *odd]), SEVERAL)
        assert raw["suppressed"] >= len(hidden)
        return [dict(point.measures) for point in shown.public().points]

    public = numbers(truth)
    assert all({"a_know", "u_loss"} <= set(own) for own in public)
    assert len({own["a_know"] for own in public}) > 1  # the map still says something
    for size in (1, 2):
        explanations = itertools.combinations_with_replacement(values, size)
        assert sum(numbers(hidden) == public for hidden in explanations) > 1


@pytest.mark.parametrize("seed", range(5))
def test_published_risks_are_never_below_the_true_ones(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    rows = [(draw.randint(20, 60), draw.choice("ABCD"), f"v{min(int(draw.expovariate(0.7)), 5)}") for _ in range(120)]
    table = sfumato.read(str(write_table(tmp_path / "t.csv", rows)), quasi=["age", "town"], sensitive=["ill"])
    wanted = sfumato.requirement("k-anonymity k=4")
    for suppress in (0.0, 0.2):
        release = sfumato.anonymize(table, "k-anonymity k=4", suppress=suppress)
        true, bounds = sfumato.measure(release), published_risks(release, wanted, suppress)
        assert bounds["k"] == 4 <= true["k"]
        assert bounds["a_know"] >= true["a_know"] - 1e-12
        if not suppress:
            assert bounds["a_know"] == pytest.approx(true["a_know"], abs=1e-12)


def test_baskets_promise_a_risk_where_the_scales_ask_for_no_more_than_is_required() -> None:
    scales = BasketScales(known=2)
    for text, risk in (("km-anonymity k=4 m=2", 0.25), ("km-anonymity k=4 m=1", None), ("k-anonymity k=5", 0.2)):
        candidate = Candidate(candidate_maker("aa"), basket_requirement(text))
        assert promised_risk(candidate, scales).get("itemset_risk") == risk


# -- rounding


@given(st.sampled_from(ALLOWED), st.floats(0, 5000), st.sampled_from([0.001, 0.005, 0.02, 0.1, 0.2]))
def test_rounding_is_coarse_and_to_the_worse_side(name: str, value: float, least: float) -> None:
    own = MEASURES[name]
    value = min(max(value, own.least), own.most)
    number = rounded(name, value, least)
    assert number is not None
    worse = number - value if own.better == "lower" else value - number
    assert worse >= -1e-6 * max(abs(value), 1)
    assert significant(repr(number)) <= DIGITS
    if number <= 1:
        assert isclose(number / least, round(number / least), abs_tol=1e-6)


@given(st.integers(100, 10**7), st.integers(1, 500))
def test_more_releases_and_fewer_records_mean_coarser_steps(records: int, releases: int) -> None:
    def steps(records: int, releases: int) -> dict[str, float]:
        return public_steps(
            Map(usual_baskets("s", BasketsDeclaration("s.txt"), (5,)), (), {"records": records}), releases
        )

    here, more, tenfold = steps(records, releases), steps(records, 2 * releases), steps(10 * records, releases)
    for name, least in here.items():
        assert least * records >= WORTH[name] * releases * (1 - 1e-6)
        assert more.get(name, 1) >= least >= tenfold[name] and least <= LARGEST_STEP


def significant(number: str) -> int:
    digits = re.sub(r"e.*", "", number.lower()).replace(".", "").replace("-", "").lstrip("0")
    return len(digits.rstrip("0")) or 1


# -- everything public of an explored map


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Map]:
    folder = tmp_path_factory.mktemp("public")
    rows = [(20 + i * 7 % 40, f"{MARKER}-town-{i % 5}", f"{MARKER}-ill-{i * i % 7 % 4}") for i in range(RECORDS - 1)]
    path = write_table(folder / "secret-name.csv", [*rows, (97, f"{MARKER}-rare", f"{MARKER}-rarest")])
    asked = tuple(sfumato.requirement(f"k-anonymity k={k}") for k in (3, 9, 1000))
    makers = (sfumato.anonymizer("mondrian"), sfumato.anonymizer(f"mondrian mode=relaxed seed={SEED}"))
    ends = tuple(sfumato.anonymizer(name) for name in ("without-quasi", "original"))
    grids = (Grid(makers, asked, suppress=(0.0, 0.02)), Grid(ends, asked[:1]))
    shown = explore(Study("clinic", TableDeclaration(str(path), ("age", "town"), ("ill",)), grids))
    (folder / "map").mkdir()
    save_map(shown, folder / "map")
    return folder / "map", shown


def public_texts(folder: Path) -> tuple[dict[str, Any], str]:
    """Return the page's data, and the page without data, libraries, style and script."""
    text = (folder / "report-public.html").read_text("utf-8")
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    return json.loads(data[1]), re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)


def walked(value: Any) -> Iterator[Any]:
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walked(inner)


def test_public_page_has_no_seed_no_exact_number_and_no_forbidden_measure(explored: tuple[Path, Map]) -> None:
    folder, shown = explored
    data, text = public_texts(folder)
    whole = json.dumps(data) + text
    for private in (str(SEED), MARKER, "secret-name", str(shown.about["digest"]), "seed="):
        assert private not in whole, private
    assert not re.search(rf"seed \d|\b{RECORDS}\b", whole)
    ids = {point.id for point in shown.points if f"seed={SEED}" in point.anonymizer}
    assert len(ids) == 6 and not any(id in whole for id in ids)
    assert "hundreds of records" in text and "infeasible" in text
    assert all(str(point.reason) not in whole for point in shown.points if point.reason)
    assert {measure["name"] for measure in data["measures"]} <= set(ALLOWED)
    assert not any(f'"{name}"' in json.dumps(data) or f"<code>{name}" in text for name in FORBIDDEN)
    assert data["limit"] is None and data["worth"] is None
    for point in data["points"]:
        assert set(point["measures"]) <= set(ALLOWED) and not point["intervals"] and point["anonymizer"] != "original"
        for value in walked([point["measures"], [measure["ticks"] for measure in data["measures"]]]):
            if isinstance(value, float | int):
                assert significant(repr(value)) <= DIGITS


def test_a_public_id_finds_its_point_and_cannot_confirm_a_seed(explored: tuple[Path, Map]) -> None:
    _, shown = explored
    public = public_map(shown)
    for point in public.points:
        own = shown[point.id]
        assert own.requirement == point.requirement and own.status == point.status
        assert own.parameters.get("suppress") == point.parameters.get("suppress")
    names = set()
    for seed in (1, 2):
        maker, asked = sfumato.anonymizer(f"mondrian mode=relaxed seed={seed}"), sfumato.requirement("k-anonymity k=3")
        own = sfumato.Candidate(maker, asked)
        point = Point(own.id, own, "measured")
        names.add(public_map(Map(shown.study, (point,), {"records": 500})).points[0].id)
    assert len(names) == 1


def test_public_map_is_made_once_and_drawn_from_nothing_else(explored: tuple[Path, Map]) -> None:
    folder, shown = explored
    public = shown.public()
    assert public.public() == public and public.limit is None and set(public.about) == {"quasi", "sensitive", "note"}
    assert (folder / "map-public.png").read_bytes() == public.chart(internal=True).png()
    assert (folder / "map-public.png").read_bytes() != (folder / "map-internal.png").read_bytes()
    assert set(PUBLIC_FILES) == {"map-public.png", "report-public.html"}
    assert all(set(point.published) == {"a_know", "k"} for point in shown.points if point.status == "measured")


def test_a_map_that_would_tell_nothing_apart_shows_settings_only(tmp_path: Path) -> None:
    """Many releases of a table of some hundreds: all would stand in one row, each at the k of its settings."""
    rows = [(20 + i * 7 % 40, "ABC"[i % 3], f"v{i * i % 7 % 3}") for i in range(400)]
    public = light_map(write_table(tmp_path / "t.csv", rows), SEVERAL[:4] * 2)[0].public()
    assert all(not point.measures for point in public.points) and "No numbers" in public.about["note"]


def test_of_few_records_only_words_are_public(tmp_path: Path, browser: Any) -> None:
    rows = [(20 + i % 9, "AB"[i % 2], f"v{i % 3}") for i in range(60)]
    shown, _ = light_map(write_table(tmp_path / "t.csv", rows))
    assert all(not point.measures for point in shown.public().points)
    (tmp_path / "page.html").write_text(page(shown, True, date(2026, 5, 1)), "utf-8")
    tab = browser.new_page()
    tab.goto((tmp_path / "page.html").as_uri())
    tab.wait_for_selector("body[data-ready]")
    text = tab.inner_text("body")
    assert "No numbers are shown" in text and "every group at least 3 records" in text and not tab.is_visible("#map")


def test_public_settings_of_baskets_name_no_file() -> None:
    asked = basket_requirement("privacy-constraints k=5 file=secret/known.txt")
    point = Candidate(candidate_maker("coat"), asked).point()
    study = usual_baskets("shop", BasketsDeclaration("secret/shop.txt"), (5,))
    public = public_map(Map(study, (point,), {"records": 5000, "items": 123, "origin": "secret/shop.txt"}))
    text = page(public, True, date(2026, 5, 1))
    assert "secret" not in text.replace("no secret", "") and "123 item" not in text and "thousands of records" in text
    assert public.points[0].id != point.id and "a line of a file" in public.points[0].words


# -- representations


def test_no_value_shows_records_of_itself(explored: tuple[Path, Map], tmp_path: Path) -> None:
    folder, shown = explored
    table = sfumato.read(str(folder.parent / "secret-name.csv"), quasi=["age", "town"], sensitive=["ill"])
    release = sfumato.anonymize(table, "k-anonymity k=3", suppress=0.02)
    release.to_csv(tmp_path / "published.csv")
    audited = sfumato.audit(
        tmp_path / "published.csv", ["age", "town"], ["ill"], original=folder.parent / "secret-name.csv"
    )
    (tmp_path / "baskets.txt").write_text("".join(f"{MARKER}-a {MARKER}-{i % 3}\n" for i in range(40)))
    baskets = sfumato.read_baskets(str(tmp_path / "baskets.txt"))
    recoded = sfumato.anonymize(baskets, "km-anonymity k=2 m=1", "coat")
    values = [
        *(table, table.cells, release, sfumato.measure(release), sfumato.check(table), audited, baskets, recoded),
        *(
            shown,
            shown.public(),
            shown.choose(),
            sfumato.ask(shown, "k within loss 0.9"),
            sfumato.draft(str(folder.parent / "secret-name.csv")),
        ),
        *(sfumato.measure(recoded), shown.scores(), shown.frontier(), shown.chart(internal=True)),
    ]
    seen: set[int] = set()
    for value in values:
        for inner in inside(value, seen):
            assert MARKER not in repr(inner) + str(inner), type(inner)
            for hook in ("_repr_html_", "_repr_mimebundle_"):
                if hasattr(inner, hook):
                    assert MARKER not in str(getattr(inner, hook)()), type(inner)
    assert str(RECORDS) not in repr(table) + repr(release) + repr(shown) + repr(shown.points[0])
    assert str(SEED) not in repr(shown.points) + repr(shown.choose())
    assert MARKER in str(shown.details(shown.points[0].id)["records"])


def inside(value: Any, seen: set[int]) -> Iterator[Any]:
    """Walk over the values of ours inside a value."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if type(value).__module__.startswith("sfumato"):
        yield value
        if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                yield from inside(getattr(value, field.name), seen)
    elif isinstance(value, list | tuple):
        for item in value[:40]:
            yield from inside(item, seen)
    elif isinstance(value, dict):
        for item in list(value.values())[:40]:
            yield from inside(item, seen)


def test_a_notebook_shows_the_public_chart_without_network(
    explored: tuple[Path, Map], browser: Any, tmp_path: Path
) -> None:
    _, shown = explored
    data, metadata = shown._repr_mimebundle_()
    assert set(data) == {"image/png", "text/plain"} and len(data["text/plain"]) < 200
    assert base64.b64decode(data["image/png"]) == shown.public().chart().png()
    path = tmp_path / "notebook.html"
    path.write_text(f'<img src="data:image/png;base64,{data["image/png"]}" width="{metadata["image/png"]["width"]}">')
    context = browser.new_context(offline=True)
    tab = context.new_page()
    tab.goto(path.as_uri())
    size = tab.evaluate("[document.images[0].complete, document.images[0].naturalWidth, document.images[0].width]")
    assert size[0] and size[1] > 600 and size[2] == metadata["image/png"]["width"]
    context.close()


def test_what_a_search_found_in_the_records_is_not_public(tmp_path):
    """Two tables that differ in one record, and so in the k that the same cuts reach: nobody outside can tell which."""
    public = []
    for last in ("21", "45"):
        ages = ["21"] * 3 + ["45"] * 8 + [last]
        path = tmp_path / "t.csv"
        path.write_text("\n".join(["age,ill", *(f"{age},{'xy'[i % 2]}" for i, age in enumerate(ages))]))
        reached = min(ages.count("21"), ages.count("45"))
        maker, wanted = sfumato.anonymizer('cut-vector cuts="age=45"'), sfumato.requirement(f"k-anonymity k={reached}")
        study = Study("found", TableDeclaration(str(path), ("age",), ("ill",)), (Grid((maker,), (wanted,)),))
        map_ = sfumato.explore(study, workers=1)
        assert [point.measures["k"] for point in map_.points] == [reached]
        public.append((page(map_, True, date(2026, 5, 1)), map_.chart().png(), repr(map_.public())))
    assert public[0] == public[1] and "cut-vector" not in public[0][0]


def test_what_a_search_has_found_is_not_public(tmp_path: Path) -> None:
    """The largest k within a loss is a fact about all records: no public map shows it, also after exploring again."""
    rows = [(20 + i * 7 % 60, "AB"[i % 2], f"v{i % 5}") for i in range(400)]
    source = write_table(tmp_path / "t.csv", rows)
    grid = Grid((sfumato.anonymizer("mondrian"),), (sfumato.requirement("k-anonymity k=5"),))
    study = Study("s", TableDeclaration(str(source), ("age", "town"), ("ill",)), (grid,), axes=("k", "loss"))
    asked = tune(study, tries=8, best=("k", "loss"), bounds=[Bound("loss", "max", 0.3)])
    given = {candidate.id for candidate in study.candidates}
    found = {point.id for point in asked.points if point.status == "measured"} - given
    assert found
    for shown in (asked, explore(Study.from_toml(asked.study.to_toml(), str(tmp_path / "s.toml")))):
        assert {point.requirement for point in shown.public().points} <= {str(c.requirement) for c in study.candidates}
        assert found <= {point.id for point in shown.points}
