"""The limit: no measured truthful release is ever below it; its line against its definition; scores against areas."""

from __future__ import annotations

import json
import math
from datetime import date
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plain_releases as plain
import sfumato
from points import point_of
from sfumato.anonymizers import anonymizer
from sfumato.data.cells import Quasi, sorted_cells
from sfumato.data.declaration import TableDeclaration
from sfumato.data.hierarchies.categorical import tree
from sfumato.errors import BadInputError, SfumatoError
from sfumato.measures.scales import Scales
from sfumato.report.folder import save_map
from sfumato.report.page import limit_content, page
from sfumato.requirements._jensen_shannon import nearest_js
from sfumato.requirements.requirement import requirement
from sfumato.tradeoff.chart import map_chart
from sfumato.tradeoff.exploration import explore as exploring
from sfumato.tradeoff.exploration.explore import explore
from sfumato.tradeoff.exploration.folder import read_map
from sfumato.tradeoff.limit import Limit, ScoreBox, best_of_all_partitions, envelope, limit, revealed_loss
from sfumato.tradeoff.map import Map
from sfumato.tradeoff.question.answer import NothingFitsError
from sfumato.tradeoff.question.best_possible import impossible
from sfumato.tradeoff.question.question import Bound, Question
from sfumato.tradeoff.study.grids import Grid
from sfumato.tradeoff.study.study import Study
from strategies import tries

TOLERANCE = 1e-9
SUPPORTS = st.sampled_from([0.05, 0.2, 0.5])
MAKERS = st.sampled_from(["mondrian", "mondrian mode=relaxed seed=3", "full-domain", "local-recoding seed=1"])
REQUIREMENTS = st.sampled_from(
    [
        "k-anonymity k=2",
        "k-anonymity k=4",
        "l-diversity l=1.5 variant=frequency",
        "t-closeness t=0.05 distance=js",
        "t-closeness t=0.2 distance=js",
        "t-closeness t=0.4 distance=equal",
        "delta-disclosure delta=1.5 absent=ignore",
        "beta-likeness beta=1 variant=basic",
    ]
)

FORMS = st.sampled_from(["generalization", "bucketization"])


# ---------------------------------------------------------------- no release is below


def assert_above(release, min_support):
    """Measured P_loss and U_loss are those of the definitions (other tests), so a release is above or a proof fails."""
    prepared = Scales(min_support).prepare(release.table)
    floor = limit(prepared)
    measured = prepared.measure(release)
    assert (floor is None) == ("u_loss" not in measured.values)
    if floor is not None:
        assert measured["u_loss"] >= floor.at(measured["p_loss"] + TOLERANCE) - TOLERANCE


@tries(80)
@given(plain.releases(), SUPPORTS)
def test_no_release_is_below_the_limit(release, min_support):
    """Any groups at all: cells divided, records suppressed (whole populations too), boxes wider than needed."""
    assert_above(release, min_support)


@tries(30)
@given(plain.small_cells(rows=16), MAKERS, REQUIREMENTS, FORMS, st.sampled_from([0.0, 0.2]), SUPPORTS)
def test_no_maker_gets_below_the_limit(cells, maker, required, form, suppress, min_support):
    table = plain.table_of(cells)
    table.published = tuple(own.name for own in (*cells.quasi, *cells.sensitive))
    try:
        release = plain.made(table, required, maker, form, suppress)
    except SfumatoError:  # infeasible, or the maker does not make this
        release = plain.made(table, "k-anonymity k=1", "without-quasi")
    assert_above(release, min_support)


@tries(40)
@given(plain.small_cells())
def test_both_ends_are_on_the_limit(cells):
    """The release without quasi-identifiers is where it starts; the original's P_loss is where it may be 0."""
    table = plain.table_of(cells)
    prepared = Scales(0.05).prepare(table)
    floor = limit(prepared)
    if floor is None:
        return
    trivial = prepared.measure(plain.made(table, "k-anonymity k=1", "without-quasi"))
    assert floor.trivial == pytest.approx(trivial["u_loss"], abs=1e-12)
    assert floor.trivial - 1e-3 <= floor.at(0.0) <= floor.trivial + 1e-12
    original = prepared.measure(plain.made(table, "k-anonymity k=1", "original"))
    assert floor.at(original["p_loss"] + TOLERANCE) <= TOLERANCE
    assert original["p_loss"] <= floor.revealed + 1e-12


# ---------------------------------------------------------------- the line


@tries(30)
@given(plain.small_cells(), st.floats(0, 0.3))
def test_the_line_is_just_below_its_definition(cells, p_loss):
    """At every P_loss, between vertices too: at most the worst attribute's mean of least losses, and close to it."""
    prepared = Scales(0.1).prepare(plain.table_of(cells))
    floor = limit(prepared)
    if floor is None:
        return
    means = []
    for i, attribute in enumerate(cells.sensitive):
        regions = [plain.selected_leaves(own) for own in plain.large_populations(cells, 0.1)]
        rows = np.array([plain.true_counts(cells, region, i) for region in regions], float)
        means.append(float(nearest_js(rows, attribute.shares, p_loss).distances.mean()))
    assert floor.at(p_loss) <= max(means) + 1e-12
    assert floor.at(p_loss) >= max(means) - 0.02 * floor.trivial - 1e-12


@tries(30)
@given(plain.small_cells())
def test_the_line_falls_and_is_convex(cells):
    floor = limit(Scales(0.1).prepare(plain.table_of(cells)))
    if floor is None:
        return
    x, y = np.array(floor.points).T
    assert x[0] == 0 and (np.diff(x) > 0).all() and (np.diff(y) <= 0).all() and y[-1] == pytest.approx(0, abs=1e-12)
    slopes = np.diff(y) / np.diff(x)
    assert (np.diff(slopes) >= -1e-6 * np.abs(slopes[1:])).all()


def test_there_is_no_limit_without_sensitive_values_or_populations():
    assert limit(Scales().prepare(plain.table_of(two_records(0)))) is None
    assert limit(Scales(1.0).prepare(plain.table_of(two_records(1)))) is None


def two_records(sensitive):
    """Two records that differ in everything."""
    leaves = tree(["x", "y"])
    about = [(f"s{i}", leaves) for i in range(sensitive)]
    codes = np.array([[0] * (1 + len(about)), [1] * (1 + len(about))], np.int32)
    return sorted_cells([Quasi("q", leaves)], about, codes, np.ones(2, np.int64))


def test_envelope_is_the_largest_tangent():
    tangents = np.array([[0.1, 0.5, -4.0], [0.3, 0.1, -1.0], [0.1, 0.1, -9.0], [0.0, 0.0, 0.0]])
    vertices = envelope(tangents)
    for at in np.linspace(0, 0.6, 61):
        largest = max(u + slope * (at - p) for p, u, slope in tangents)
        x, y = zip(*vertices, strict=True)
        assert np.interp(at, x, y) == pytest.approx(largest, abs=1e-12)
    assert len(vertices) == 4 and vertices[-1] == pytest.approx((0.4, 0.0))


def test_a_revealed_rarest_value():
    q = [0.7, 0.2, 0.1]
    assert revealed_loss(np.array(q)) == pytest.approx(plain.jensen_shannon(q, [0, 0, 1]), abs=1e-14)


# ---------------------------------------------------------------- scores

AXES = ("p_loss", "u_loss")
STUDY = Study("any", TableDeclaration("adult"), (Grid((anonymizer("mondrian"),), (requirement("k-anonymity k=1"),)),))
FLOOR = Limit(((0.0, 0.4), (0.25, 0.0)), 0.5, 0.6)


def point(id, maker="mondrian", form="bucketization", **measures):
    return point_of(id, maker, form, "k-anonymity k=2", {}, "measured", None, measures)


def counted_area(places, frame, cells=400):
    """The same area by counting small squares, none of which a place dominates."""
    xs = np.linspace(*frame.x, cells, endpoint=False) + (frame.x[1] - frame.x[0]) / cells / 2
    ys = np.linspace(*frame.y, cells, endpoint=False) + (frame.y[1] - frame.y[0]) / cells / 2
    free = np.ones((cells, cells), bool)
    for x, y in places:
        free &= ~((xs[:, None] >= x) & (ys[None, :] >= y))
    return float(free.mean())


places = st.lists(st.tuples(st.floats(-0.2, 1.2), st.floats(-0.2, 1.2)), max_size=8)


@tries(60)
@given(places)
def test_area_is_that_of_squares_no_release_beats(found):
    frame = ScoreBox((0.0, 1.0), (0.0, 1.0))
    assert frame.area(found) == pytest.approx(counted_area(found, frame), abs=0.02)


@tries(60)
@given(places, places)
def test_more_releases_never_score_worse(some, more):
    frame = ScoreBox((0.0, 1.0), (0.0, 1.0))
    assert frame.area([*some, *more]) <= min(frame.area(some), frame.area(more)) + 1e-12


def test_a_score_by_hand():
    shown = Map(
        STUDY,
        (
            point("t", "without-quasi", "generalization", p_loss=0.0, u_loss=0.5),
            point("a", p_loss=0.1, u_loss=0.25),
            point("b", 'full-domain levels="age=1"', "generalization", p_loss=0.3, u_loss=0.1),
            point("c", 'full-domain levels="age=2"', "generalization", p_loss=0.4, u_loss=0.3),
            point("o", "original", "generalization", p_loss=0.2, u_loss=0.0),
        ),
        limit=FLOOR,
    )
    whole = 0.6 * 0.5
    assert shown.score([]) == pytest.approx(1)
    assert shown.score() == pytest.approx((0.1 * 0.5 + 0.2 * 0.25 + 0.3 * 0.1) / whole)
    found = shown.scores()
    assert found.limit == pytest.approx(0.4 * 0.25 / 2 / whole) and found.limit <= found.union == shown.score()
    assert found.anonymizers == {
        "mondrian": pytest.approx((0.1 * 0.5 + 0.5 * 0.25) / whole),
        "full-domain": pytest.approx((0.3 * 0.5 + 0.3 * 0.1) / whole),
    }
    mondrian, full = found.parts
    assert (mondrian.share, full.share) == (pytest.approx(0.2 / 0.6), pytest.approx(0.3 / 0.6))
    assert mondrian.stretches == (pytest.approx((0.1, 0.3)),) and full.stretches == (pytest.approx((0.3, 0.6)),)
    assert (mondrian.without, full.without) == (found.anonymizers["full-domain"], found.anonymizers["mondrian"])
    assert shown.score(axes=("u_loss", "p_loss")) == shown.score()


def test_other_measures_score_by_hypervolume():
    shown = Map(
        STUDY,
        (
            point("a", k=10, loss=0.5, delta=math.inf),
            point("b", k=2, loss=0.1, delta=1.0),
            point("c", k=5, loss=0.2, delta=math.inf),
        ),
    )
    assert shown.score(axes=("k", "loss")) == pytest.approx((5 * 0.4 + 3 * 0.1) / (8 * 0.4))
    assert shown.scores(("k", "loss")).limit is None
    assert shown.scores(("k", "loss")).parts[0].stretches == ((10, 2),)
    with pytest.raises(BadInputError, match="all points of the map have the same delta"):
        shown.score(axes=("delta", "loss"))
    with pytest.raises(BadInputError, match="needs the map's limit"):
        shown.score()
    with pytest.raises(BadInputError, match="two different measures"):
        shown.score(axes=("k", "k"))


def test_no_releases_score_below_the_limit():
    """The limit's own score is at most that of a dense staircase that runs on it."""
    shown = Map(
        STUDY, tuple(point(str(p), p_loss=p, u_loss=FLOOR.at(p)) for p in np.linspace(0, 0.6, 601)), limit=FLOOR
    )
    found = shown.scores()
    assert found.limit <= found.union <= found.limit + 0.01


# ---------------------------------------------------------------- on the map, in the folder, in the report


def shown_map(floor=FLOOR):
    points = (
        point("t", "without-quasi", "generalization", p_loss=0.0, u_loss=0.5, k=9),
        point("a", p_loss=0.1, u_loss=0.25, k=3),
        point("b", "full-domain", "generalization", p_loss=0.3, u_loss=0.1, k=2),
    )
    about = {"digest": "0", "records": 9, "cells": 9, "dropped": 0, "quasi": ["age"], "sensitive": ["s"]}
    return Map(STUDY, points, about, floor)


def test_the_folder_keeps_limit_and_score(tmp_path):
    shown = shown_map()
    save_map(shown, tmp_path)
    content = json.loads((tmp_path / "points.json").read_text())
    assert content["limit"] == [[0.0, 0.4], [0.25, 0.0]]
    assert content["score"]["union"] == pytest.approx(shown.score())
    assert content["score"]["anonymizers"].keys() == {"mondrian", "full-domain"}
    assert read_map(tmp_path).limit == FLOOR and read_map(tmp_path).score() == shown.score()
    for name, told in (("report.html", True), ("report-public.html", False)):
        assert ("How good can a release be?" in (tmp_path / name).read_text()) == told


def test_a_map_without_limit_says_nothing_of_it(tmp_path):
    save_map(shown_map(None), tmp_path)
    content = json.loads((tmp_path / "points.json").read_text())
    assert "limit" not in content and "score" not in content and read_map(tmp_path).limit is None
    assert "How good can a release be?" not in (tmp_path / "report.html").read_text()


def test_the_limit_is_drawn_where_it_is_proved():
    shown = shown_map()
    for axes, expected in ((AXES, FLOOR.points), (AXES[::-1], [(y, x) for x, y in FLOOR.points])):
        spec = map_chart(shown, *axes).to_dict()
        assert [(row["x"], row["y"]) for row in spec["datasets"]["limit"]] == list(expected)
        assert [row["label"] for row in spec["datasets"]["limit"]].count("limit") == 1
        assert "limit" in {layer.get("name") for layer in spec["layer"]}
    assert "limit" not in map_chart(shown, "k", "u_loss").to_dict()["datasets"]


def test_the_public_map_has_no_limit():
    assert shown_map().public().limit is None and limit_content(shown_map().public()) is None
    assert limit_content(shown_map())["points"] == [list(vertex) for vertex in FLOOR.points]


def test_the_section_tells_who_gives_what():
    told = page(shown_map(), False, date(2026, 5, 1))
    assert "together score 0.4333" in told and "score below 0.1667" in told
    assert "mondrian, bucketization" in told and "0.1 to 0.3" in told and "33.3 %" in told
    assert 'id="limit"' in told and 'id="limit"' not in page(shown_map(None), False, date(2026, 5, 1))


def test_an_explored_limit_is_kept(tmp_path, monkeypatch):
    """The second time the limit comes from the cache, as points do."""
    rows = [f"{age},{'flu' if age % 3 else 'cold'}" for age in range(20, 40)]
    (tmp_path / "t.csv").write_text("age,ill\n" + "\n".join(rows) + "\n")
    makers = (anonymizer("mondrian"), anonymizer("without-quasi"))
    table = TableDeclaration(str(tmp_path / "t.csv"), quasi=("age",), sensitive=("ill",))
    study = Study("small", table, (Grid(makers, (requirement("k-anonymity k=4"),)),))
    first = explore(study, tmp_path / "cache.jsonl", 1)
    assert first.limit is not None and first.score() >= first.scores().limit
    monkeypatch.setattr(exploring, "limit", None)
    assert explore(study, tmp_path / "cache.jsonl", 1).limit == first.limit


ANY = Study(
    "any",
    sfumato.TableDeclaration("t.csv", ("age",), ("illness",)),
    (Grid((sfumato.anonymizer("mondrian"),), (sfumato.requirement("k-anonymity k=1"),)),),
)


def made(id, maker="mondrian", **measures):
    return point_of(id, maker, "generalization", "k-anonymity k=2", {}, "measured", None, measures)


def table_map(values, *points):
    """The map of a table with these sensitive values, one letter a record, with its trivial release."""
    records = len(values)
    most = max(map(values.count, values))
    trivial = made(
        "none", "without-quasi", k=records, smallest_group=records, l_frequency=records / most,
        l_distinct=len(set(values)), p_loss=0.0, u_loss=0.1,
    )  # fmt: skip
    return Map(ANY, (trivial, *points), {"records": records, "sensitive": ["illness"]})


@tries(60)
@given(st.text("abc", min_size=2, max_size=6), st.integers(2, 7), st.sampled_from(["k", "l_frequency", "l_distinct"]))
def test_it_is_said_of_exactly_what_no_release_has(values, least, measure):
    """All ways to put the records into two groups or to leave them out: the fewest left out by a release that fits."""
    fewest = None
    for places in product((0, 1, None), repeat=len(values)):
        groups = [[v for v, place in zip(values, places, strict=True) if place == g] for g in (0, 1)]
        groups = [group for group in groups if group]
        had = {
            "k": [len(group) for group in groups],
            "l_distinct": [len(set(group)) for group in groups],
            "l_frequency": [len(group) / max(map(group.count, group)) for group in groups],
        }[measure]
        if groups and min(had) >= least - 1e-9:
            left_out = places.count(None)
            fewest = left_out if fewest is None else min(fewest, left_out)
    said = impossible(table_map(values), Bound(measure, "min", least))
    assert bool(said) == (fewest != 0)
    if said and measure == "l_frequency" and fewest is not None:
        least_gone = int(said.split("unless at least ")[1].split()[0].replace(",", ""))
        assert 0 < least_gone <= fewest
    elif said and measure != "l_frequency":
        assert fewest is None and "unless" not in said


LOPSIDED = "a" * 94 + "b" * 6
POINTS = (made("r", k=20, l_frequency=1.02, l_distinct=2, p_loss=0.1, u_loss=0.05),)


def test_a_table_of_one_value_is_not_for_the_public_whatever_is_done():
    with pytest.raises(NothingFitsError) as failed:
        table_map(LOPSIDED, *POINTS).choose(recipient="public")
    lines = str(failed.value).splitlines()
    assert lines[0] == (
        "no point of this map fits k at least 11 and l_frequency at least 2 (for 'public'), and no release of this "
        "table can."
    )
    assert lines[1].startswith(
        "  No release of this table can have l_frequency at least 2 unless at least 88 records (88.0 %) are left out. "
        "94.0 % of the 100 records have the same value of 'illness', so in some group"
    )
    assert "The publisher's options: leave that column out" in lines[1]
    assert failed.value.exit_code == 1
    assert json.loads(json.dumps(failed.value.to_dict()))["impossible"] == [lines[1].strip()]


def test_a_table_with_too_few_records_is_said_to_have_too_few():
    shown = table_map("aabbccd", made("r", k=3, l_frequency=2.0, l_distinct=2, p_loss=0.1, u_loss=0.05))
    with pytest.raises(NothingFitsError, match="can have k at least 11: the table has 7 records"):
        shown.choose(recipient="public")
    with pytest.raises(NothingFitsError, match="l_distinct at least 5: 'illness' has 4 different values"):
        shown.choose(min={"l_distinct": 5})
    with pytest.raises(NothingFitsError) as failed:  # nothing on this map, but four groups are not all there is
        shown.choose(min={"l_distinct": 4}, max={"p_loss": -1})
    assert failed.value.impossible == () and "no release of this table" not in str(failed.value)


# -- all partitions --------------------------------------------------------------------------------------------------


def partitions(records):
    """List all ways to put records into groups, and to suppress some."""
    if not records:
        yield [], 0
        return
    first, *others = records
    for groups, suppressed in partitions(others):
        yield groups, suppressed + 1
        yield [*groups, [first]], suppressed
        for i in range(len(groups)):
            yield [*groups[:i], [*groups[i], first], *groups[i + 1 :]], suppressed


def plain_loss(table, rows, groups, suppressed):
    """The loss from its definition: leaves of the group's box but one, of all but one; 1 where suppressed."""
    total = float(suppressed)
    for group in groups:
        shares = []
        for a, domain in enumerate(table.cells.domains):
            codes = [rows[i][a] for i in group]
            shares.append((max(codes) - min(codes)) / (domain - 1))
        total += len(group) * sum(shares) / len(shares)
    return total / len(rows)


@pytest.mark.parametrize("most_boxes", [8, 60, 1_000_000])
def test_no_partition_of_a_tiny_table_beats_the_bound(tmp_path, monkeypatch, most_boxes):
    monkeypatch.setattr("sfumato.tradeoff.limit.MOST_BOXES", most_boxes)
    tight = 0
    for seed in range(12):
        draw = np.random.default_rng(seed)
        rows = draw.integers(0, 6, (6, 2 + seed % 2)).tolist()
        names = "abc"[: len(rows[0])]
        (tmp_path / "t.csv").write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]))
        entry = {"type": "numeric", "lower": 0, "upper": 5, "cuts": []}
        hierarchies = dict.fromkeys(names, entry)
        table = TableDeclaration(str(tmp_path / "t.csv"), tuple(names), hierarchy=hierarchies).open()
        made = [
            (min(map(len, groups), default=0), plain_loss(table, rows, groups, suppressed))
            for groups, suppressed in partitions(list(range(len(rows))))
            if groups
        ]
        for asked in (0.05, 0.3, 0.6):
            decided = best_of_all_partitions(table.cells, asked)
            for k, loss in made:
                assert any(row[0] >= k and row[1] <= loss for row in decided.rows), (seed, k, loss)
            value = decided.best(Question(("k",), (Bound("loss", "max", asked),)))
            reached = max((k for k, loss in made if loss <= asked), default=1)
            assert value >= reached
            tight += value == reached
    assert tight >= (12 if most_boxes > 8 else 0), "the bound says something"
