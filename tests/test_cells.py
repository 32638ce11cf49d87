"""The algebra of cells, and what kernels share: each against a plain loop over records, rows or numbers."""

from __future__ import annotations

import heapq
import json
import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plain_twins as twins
import sfumato
from plain_engine import PlainEngine
from sfumato import BadInputError, Roles, numeric, prefixes, tree
from sfumato.anonymizers.anonymizer import loss_of
from sfumato.auditing.notation import Notation, leaves_covered
from sfumato.data.cells import Assignment, Points, laid_out, ranges, weighted_counts
from sfumato.data.coarsening import usual_most_cells
from sfumato.data.reading import with_roles
from sfumato.engines.duckdb.engine import DuckDBEngine
from sfumato.engines.protocol import Coding, Reading, Rule
from sfumato.publish.apply import apply
from sfumato.publish.mapping import mapping_of, read_mapping
from sfumato.publish.pipeline import publish_point
from sfumato.report.folder import save_map
from sfumato.runtime._kernel_helpers import (
    drawing_state,
    falling,
    first_from,
    members_by,
    pop,
    pushed,
    room,
    sort_falling,
    sorted_together,
    uniform,
)
from strategies import cells_of_tables, tries

numbers = st.lists(st.integers(0, 5), min_size=1, max_size=12)


def whole(values):
    return np.array(values, np.int64)


# ---------------------------------------------------------------- cells


@given(cells_of_tables(sensitive=(1, 2)))
@tries(60)
def test_points_are_the_combinations_that_occur_and_their_truth_counts_their_records(cells):
    records, points = twins.records_of(cells), cells.points
    expected = Counter(record.codes for record in records)
    codes = [tuple(row) for row in points.codes.tolist()]
    assert dict(zip(codes, points.counts.tolist(), strict=True)) == expected
    assert [codes[point] for point in points.number] == [tuple(row) for row in cells.codes.tolist()]
    assert (cells.codes[points.first] == points.codes).all()
    assert (np.diff(points.number) >= 0).all(), "the cells of a point stand together"
    for place, attribute in enumerate(cells.sensitive):
        for point, row in zip(codes, cells.truth[:, cells.span(place)].tolist(), strict=True):
            own = [record for record in records if record.codes == point]
            assert row == twins.histogram(own, place, attribute.size)


@given(cells_of_tables(sensitive=(0, 2)), st.data())
@tries(60)
def test_selected_points_are_those_of_a_table_with_these_columns_alone(cells, data):
    columns = data.draw(st.lists(st.integers(0, len(cells.quasi) - 1), unique=True))
    chosen = cells.points.select(columns)
    expected = Counter(tuple(record.codes[a] for a in columns) for record in twins.records_of(cells))
    codes = [tuple(row) for row in chosen.codes.tolist()]
    assert dict(zip(codes, chosen.counts.tolist(), strict=True)) == expected
    assert [codes[point] for point in chosen.number] == [tuple(row) for row in cells.points.codes[:, columns].tolist()]


@given(cells_of_tables(sensitive=(1, 2)), st.data())
@tries(60)
def test_columns_and_spans_name_the_same_places_of_a_histogram(cells, data):
    histogram = cells.baseline.counts[0]
    for place, attribute in enumerate(cells.sensitive):
        assert histogram[cells.span(place)].tolist() == attribute.counts.tolist()
        inside = cells.columns[:, place] - cells.span(place).start
        assert inside.tolist() == cells.values[:, place].tolist()
    lo, hi = cells.whole
    assert [b - a + 1 for a, b in zip(lo, hi, strict=True)] == cells.domains.tolist()


# ---------------------------------------------------------------- assignments


@given(cells_of_tables(sensitive=(0, 2)), st.data())
@tries(60)
def test_cells_go_to_groups_as_a_whole_or_nowhere(cells, data):
    group = data.draw(st.lists(st.integers(-1, 3), min_size=cells.size, max_size=cells.size))
    assignment = cells.assigned(whole(group))
    expected = {cell: (own, int(cells.counts[cell])) for cell, own in enumerate(group) if own >= 0}
    pairs = zip(assignment.group.tolist(), assignment.count.tolist(), strict=True)
    assert dict(zip(assignment.cell.tolist(), pairs, strict=True)) == expected
    sizes = [sum(n for own, n in expected.values() if own == g) for g in range(4)]
    assert assignment.sizes(4).tolist() == sizes == cells.histograms(assignment, 4).sizes.tolist()


entries = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 3)), max_size=10)


@given(entries, st.lists(st.booleans(), min_size=5, max_size=5), st.permutations(range(5)))
@tries(100)
def test_assignments_are_gathered_merged_and_thinned_as_their_records_are(rows, kept, into):
    cell, group, count = whole(rows).reshape(-1, 3).T.copy()
    records = [(c, g) for c, g, n in rows for _ in range(n)]

    def records_of(assignment):
        triples = zip(*(own.tolist() for own in (assignment.group, assignment.cell, assignment.count)), strict=True)
        return [(c, g) for g, c, n in triples for _ in range(n)]

    gathered = Assignment.gathered(cell, group, count)
    assert records_of(gathered) == sorted(records, key=lambda own: own[::-1])
    assert len(set(zip(gathered.cell.tolist(), gathered.group.tolist(), strict=True))) == len(gathered.cell)
    ones = Assignment.gathered(whole([c for c, _ in records]), whole([g for _, g in records]))
    assert records_of(ones) == records_of(gathered)
    assignment = Assignment(cell, group, count)
    merged = np.minimum(np.arange(5), 2)
    assert sorted(records_of(assignment.merged(merged))) == sorted((c, min(g, 2)) for c, g in records)
    assert assignment.merged(np.arange(5)) is assignment
    number = {g: sum(kept[:g]) for g in range(5) if kept[g]}
    thinned = [(c, number[g]) for c, g in records if kept[g]]
    assert sorted(records_of(assignment.only(np.array(kept)))) == sorted(thinned)


# ---------------------------------------------------------------- rows


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 9), st.integers(0, 9)), min_size=1, max_size=12))
@tries(100)
def test_sums_and_ranges_of_groups(rows):
    number, low, weight = whole(rows).T
    assert weighted_counts(number, weight, 5).tolist() == [sum(w for g, _, w in rows if g == own) for own in range(5)]
    assert weighted_counts(number, None, 5).tolist() == [sum(g == own for g, _, _ in rows) for own in range(5)]
    codes = np.stack([low, -low], axis=1).astype(np.int32)
    lo, hi = ranges(number, codes, codes + 1)
    for place, own in enumerate(sorted({g for g, _, _ in rows})):
        inside = [v for g, v, _ in rows if g == own]
        assert lo[place].tolist() == [min(inside), -max(inside)]
        assert hi[place].tolist() == [max(inside) + 1, -min(inside) + 1]


@given(st.lists(st.lists(st.floats(0, 1), max_size=4), min_size=1, max_size=4))
def test_arrays_side_by_side_are_found_again(parts):
    joined, starts = laid_out([np.array(part, np.float64) for part in parts])
    assert [joined[a:b].tolist() for a, b in zip(starts, starts[1:], strict=False)] == parts


def test_points_of_no_rows():
    points = Points.of(np.zeros((0, 2), np.int32), whole([]))
    assert len(points.codes) == len(points.counts) == 0


# ---------------------------------------------------------------- what kernels share


@given(numbers)
@tries(60)
def test_kernels_sort_as_python_does(values):
    keys = whole(values)
    order = np.arange(len(keys))
    sort_falling(order, keys)
    assert order.tolist() == sorted(range(len(keys)), key=lambda i: -values[i]), "equal ones stay in order"
    assert falling(keys).tolist() == sorted((value for value in values if value), reverse=True)
    together = sorted_together(keys.copy(), np.arange(len(keys)))
    pairs = list(zip(*(own.tolist() for own in together), strict=True))
    assert pairs == sorted(zip(values, range(len(keys)), strict=True))
    places = [first_from(together[0], 0, len(keys), wanted) for wanted in range(7)]
    assert places == [sum(value < wanted for value in values) for wanted in range(7)]
    offsets, members = members_by(keys, 6)
    for value in range(6):
        own = members[offsets[value] : offsets[value + 1]].tolist()
        assert own == [i for i, other in enumerate(values) if other == value]


@given(st.lists(st.one_of(st.none(), st.integers(0, 20)), max_size=40))
@tries(60)
def test_a_queue_gives_the_least_first(steps):
    keys, stamps, size, plain = whole([]), whole([]), 0, []
    for step in steps:
        if step is not None:
            keys, stamps = pushed(keys, stamps, size, step, -step)
            size += 1
            heapq.heappush(plain, step)
        elif plain:
            assert (keys[0], stamps[0]) == (plain[0], -plain[0])
            pop(keys, stamps, size)
            size -= 1
            heapq.heappop(plain)


def test_arrays_grow_to_twice_their_length_and_keep_what_they_hold():
    assert room(whole([1, 2, 3]), 3).tolist() == [1, 2, 3]
    grown = room(whole([1, 2, 3]), 4)
    assert len(grown) == 6 and grown[:3].tolist() == [1, 2, 3]
    rows = room(np.array([[1, 2]], np.int32), 5)
    assert rows.shape == (5, 2) and rows.dtype == np.int32 and rows[0].tolist() == [1, 2]


def test_numbers_are_drawn_by_splitmix64():
    """The first outputs of the published reference for seed 1234567, and their highest 53 bits."""
    state = drawing_state(1234567)
    reference = (6457827717110365317, 3203168211198807973, 9817491932198370423)
    assert [uniform(state) for _ in range(3)] == [(number >> 11) / 2**53 for number in reference]
    assert drawing_state(None) != drawing_state(None)


DRAWN = random.Random(5)
STATUS = tree([["Married", "civil", "army"], ["Alone", "never", "divorced", "widowed"], "other"])
AGE = numeric(0, 99, intervals=[5, 20])
PEOPLE = pa.table(
    {
        "age": [str(min(99, int(DRAWN.expovariate(1 / 30)))) for _ in range(3000)],
        "status": [DRAWN.choice(["civil", "army", "never", "divorced", "widowed", "other"]) for _ in range(3000)],
        "sex": [DRAWN.choice("fm") for _ in range(3000)],
        "ill": [DRAWN.choice(["flu", "cold", "none", None]) for _ in range(3000)],
        "note": [str(i % 7) for i in range(3000)],
    }
)
ROLES = {"quasi": ["age", "status", "sex"], "sensitive": ["ill"], "neutral": ["note"]}
TREES = {"age": AGE, "status": STATUS}


def people(most_cells=None):
    return sfumato.read(PEOPLE, **ROLES, hierarchies=TREES, most_cells=most_cells)


def distinct_tuples(levels):
    """Count combinations by hand: ages in stretches of a width, statuses by their groups or not."""
    groups = {"civil": "M", "army": "M", "never": "A", "divorced": "A", "widowed": "A", "other": "o"}
    widths = [1, 5, 20]
    rows = zip(*(PEOPLE[name].to_pylist() for name in ("age", "status", "sex", "ill")), strict=True)
    return len({
        (int(age) // widths[levels[0]], groups[status] if levels[1] else status, sex, ill)
        for age, status, sex, ill in rows
    })  # fmt: skip


def test_columns_are_coarsened_until_cells_are_few_enough():
    assert people().fine == {} and people().cells.size == distinct_tuples((0, 0))
    for most in (2500, 1200, 700, 300, 150):
        table = people(most)
        levels = [
            next(level for level in range(3) if coarse.size == len(fine.levels[level].starts))
            for coarse, fine in ((table.hierarchies[name], TREES[name]) for name in ("age", "status"))
        ]
        assert table.cells.size == distinct_tuples(levels) <= most
        said = [notice for notice in table.notices if "is coarsened to" in notice]
        assert len(said) == sum(map(bool, levels)) == len(table.fine)
        assert all(f"{distinct_tuples((0, 0)):,} distinct combinations would be more than {most:,}" in s for s in said)
    with pytest.raises(BadInputError, match=r"as coarse as possible, more than 10 \(most_cells\)"):
        people(10)


def test_the_same_is_coarsened_on_every_engine():
    plain = PlainEngine.open(PEOPLE, Reading())
    roles = Roles(**{name: tuple(columns) for name, columns in ROLES.items()})
    ours, theirs = people(700), with_roles(plain, roles, TREES, "value", most_cells=700)
    assert ours.fine == theirs.fine and ours.cells.codes.tolist() == theirs.cells.codes.tolist()
    assert ours.notices == theirs.notices


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_coarse_leaf_loses_what_its_node_loses(data):
    fine = data.draw(st.sampled_from([STATUS, AGE, STATUS.with_missing(), AGE.with_missing()]))
    level = data.draw(st.integers(1, fine.height - 1))
    coarse = fine.coarsened(level)
    starts = [*fine.levels[level].starts, fine.size]
    lo = data.draw(st.integers(0, coarse.size - 1))
    hi = data.draw(st.integers(lo, coarse.size - 1))
    assert coarse.loss(lo, hi) == pytest.approx(fine.loss(starts[lo], starts[hi + 1] - 1), abs=1e-12)
    covered = leaves_covered(fine, Notation(fine).read(coarse.text(lo, hi)))  # as the audit reads it
    assert np.flatnonzero(covered).tolist() == list(range(starts[lo], starts[hi + 1]))
    values = [*fine.leaves[: fine.domain_size], None, "nobody"]
    above = [int(fine.ancestors[level][code]) if code >= 0 else -1 for code in fine.encode(values)]
    assert coarse.encode(values).tolist() == above
    twice = coarse.coarsened(1) if coarse.height > 1 else coarse
    assert twice.finest == fine.size


def test_measures_and_the_audit_count_what_coarsening_loses(tmp_path):
    table = people(300)
    release = sfumato.anonymize(table, "k-anonymity k=3")
    path = release.to_csv(tmp_path / "out.csv")[0]
    loss = sfumato.measure(release)["loss"]
    assert loss == pytest.approx(loss_of(release) / 3000) and loss > 0
    original = sfumato.anonymize(table, "k-anonymity k=1", "original")
    floor = sfumato.measure(original)["loss"]
    by_hand = 0.0
    for name in ("age", "status"):
        fine, coarse = TREES[name], table.hierarchies[name]
        level = next(level for level in range(3) if coarse.size == len(fine.levels[level].starts))
        starts = [*fine.levels[level].starts, fine.size]
        nodes = fine.ancestors[level][fine.encode(PEOPLE[name].to_pylist())]
        by_hand += sum(fine.loss(starts[node], starts[node + 1] - 1) for node in nodes.tolist())
    assert floor == pytest.approx(by_hand / (3 * 3000)) and floor > 0
    found = sfumato.audit(path, original=table, require="k-anonymity k=3")
    assert found.holds and found.measures["loss"] == pytest.approx(loss)
    against_rows = sfumato.audit(path, ROLES["quasi"], ["ill"], original=PEOPLE, hierarchies=TREES)
    assert against_rows.holds and against_rows.measures["loss"] == pytest.approx(loss)


def test_a_mapping_of_a_coarsened_release_recodes_new_records(tmp_path):
    release = sfumato.anonymize(people(300), "k-anonymity k=3", "full-domain")
    wanted = sfumato.requirement("k-anonymity k=3")
    (tmp_path / "mapping.json").write_text(mapping_of(release, wanted).to_text())
    mapping = read_mapping(tmp_path / "mapping.json")
    assert mapping.hierarchies["status"] == people(300).hierarchies["status"]
    again = apply(mapping, PEOPLE)
    assert sorted(map(repr, again.release.to_arrow().to_pylist())) == sorted(map(repr, release.to_arrow().to_pylist()))


def test_a_private_mechanism_refuses_what_records_have_decided():
    trees = TREES | {"sex": tree(["f", "m"])}
    table = sfumato.read(PEOPLE, quasi=["age", "status"], sensitive=["sex"], hierarchies=trees, most_cells=50)
    with pytest.raises(BadInputError, match="are coarsened because the table has many distinct combinations"):
        sfumato.anonymizer("dp-grid epsilon=1").draw(table)


def test_the_usual_budget_is_what_fits_into_memory():
    assert usual_most_cells("4GB") == 4 * usual_most_cells("1GB") + 4 * (2**30 % 2000) // 2000
    assert usual_most_cells(None) > 100_000


def test_a_wide_table_is_searched_by_few_columns():
    wide = {f"n{i}": pa.array(np.arange(3000) % (i + 2)) for i in range(790)}
    table = pa.table({**{name: PEOPLE[name] for name in ("age", "sex", "ill")}, **wide, "key": np.arange(3000)})
    read = sfumato.read(table, quasi=["age", "sex"], sensitive=["ill"], neutral=[*wide, "key"])
    assert [n for n in read.notices if "different in every record" in n] == [
        "neutral column 'key' is different in every record and is published as it is: if it names persons or says "
        "something of them, use --identifier"
    ]
    assert sfumato.read(table, quasi=["age"], identifier=["key", "n0"], sensitive=["ill"]).repeated_key == "n0"
    assert sfumato.read(table, quasi=["age"], identifier=["key"], sensitive=["ill"]).repeated_key is None
    narrow = sfumato.read(table.drop_columns("n5"), quasi=["age", "sex"], sensitive=["ill"])
    assert read.digest() == narrow.digest() and read.published[:3] == ["age", "sex", "ill"]


# -- columns that are read by a rule -------------------------------------------------------------------------------

TEXTS = [
    "12345-6789",
    "",
    "é日本x",
    "-0.5",
    "+7",
    "1e3",
    "7.",
    ".5",
    "-21",
    "19",
    "2020-01-31",
    "2020-01-31 10:00",
    "x9",
]
TEXTS += ["2020-01-31T1\n2", "2020-1-31", "20200131", None, "9.999", "2020-01-3100"]


@pytest.mark.parametrize("rule", [Rule("prefix", 3), Rule("day"), Rule("floor", 10), Rule("floor", 1)], ids=str)
def test_rules_make_of_texts_what_they_say(rule):
    content = pa.table({"t": TEXTS, "n": list(range(len(TEXTS)))})
    ours, theirs = (kind.open(content, Reading(as_it_stands=True)) for kind in (DuckDBEngine, PlainEngine))
    mine, plain = ours.distinct_by(rule, "t"), theirs.distinct_by(rule, "t")
    assert list(mine.values) == list(plain.values) and mine.counts.tolist() == plain.counts.tolist()
    assert mine.kinds.tolist() == plain.kinds.tolist() and mine.first_rows.tolist() == plain.first_rows.tolist()
    codes = {text: i for i, text in enumerate(plain.values)}
    cells = [engine.count_cells([Coding("t", codes, rule)]) for engine in (ours, theirs)]
    assert cells[0].codes.tolist() == cells[1].codes.tolist() and cells[0].counts.tolist() == cells[1].counts.tolist()


def large(monkeypatch, listed=50):
    monkeypatch.setattr("sfumato.data.coarsening.MANY_RECORDS", 100)
    monkeypatch.setattr("sfumato.data.coarsening.MOST_LISTED", listed)


def test_days_and_stretches_are_the_same_by_a_rule(monkeypatch):
    times = [f"2020-0{1 + i % 3}-1{i % 7} 0{i % 10}:{i % 60:02}:0{i % 9}" for i in range(600)]
    table = pa.table(
        {"time": times, "pay": [str(DRAWN.randrange(0, 90000) / 7) for _ in range(600)], "s": ["a", "b"] * 300}
    )
    trees = {
        "time": {"type": "dates", "first": "2020-01-01", "last": "2020-12-31"},
        "pay": {"type": "numeric", "lower": 0, "upper": 20000, "resolution": 500, "continuous": True},
    }
    few = sfumato.read(table, quasi=["time", "pay"], sensitive=["s"], hierarchies=trees)
    large(monkeypatch)
    many = sfumato.read(table, quasi=["time", "pay"], sensitive=["s"], hierarchies=trees)
    assert [coding.rule for coding in many.codings] == [Rule("floor", 500), Rule("day"), None]
    assert max(len(coding.codes) for coding in many.codings) < 60 < max(len(coding.codes) for coding in few.codings)
    assert many.cells.codes.tolist() == few.cells.codes.tolist() and many.hierarchies == few.hierarchies


def test_codes_beyond_number_are_read_by_their_prefixes(monkeypatch, tmp_path):
    codes = [f"{i % 40:02}{i % 7}-{i % 331:04}" for i in range(2000)]
    table = pa.table({"zip": codes, "s": ["a", "b"] * 1000})
    large(monkeypatch)
    trees = {"zip": {"type": "prefixes", "keep": [3, 2, 1]}}
    read = sfumato.read(table, quasi=["zip"], sensitive=["s"], hierarchies=trees)
    tree_ = read.hierarchies["zip"]
    assert tree_.finest == len(set(codes)) and tree_.size == len({code[:3] for code in codes})
    assert any(f"has {len(set(codes)):,} distinct texts: of each the first 3 characters" in n for n in read.notices)
    release = sfumato.anonymize(read, "k-anonymity k=60", "full-domain")
    path = release.to_csv(tmp_path / "out.csv")[0]
    whole = prefixes(set(codes), keep=[3, 2, 1])
    by_hand = sum(whole.loss(*whole.intervals[text]) for text in release.to_arrow()["zip"].to_pylist() if text != "*")
    by_hand += release.to_arrow()["zip"].to_pylist().count("*")
    assert sfumato.measure(release)["loss"] == pytest.approx(by_hand / 2000) and by_hand > 0
    found = sfumato.audit(path, original=read)
    assert found.holds and found.measures["loss"] == pytest.approx(by_hand / 2000)
    mapping_file = tmp_path / "mapping.json"
    mapping_file.write_text(mapping_of(release, sfumato.requirement("k-anonymity k=60")).to_text())
    again = apply(read_mapping(mapping_file), table).release
    assert sorted(map(repr, again.to_arrow().to_pylist())) == sorted(map(repr, release.to_arrow().to_pylist()))
    monkeypatch.setattr("sfumato.engines.protocol.MOST_TEXTS", 100)
    with pytest.raises(
        BadInputError, match=r"column 'zip' has [\d,]+ distinct values, more than 100; give it another role"
    ):
        sfumato.read(table, quasi=["zip"], sensitive=["s"])


STUDY = """
name = "people"
axes = ["k", "loss"]
[table]
source = "people.parquet"
quasi = ["age", "status"]
sensitive = ["ill"]
neutral = ["note"]
[table.hierarchy.age]
type = "numeric"
lower = 0
upper = 99
intervals = [5, 20]
[[candidates]]
anonymizers = ["mondrian"]
requirements = ["k-anonymity k=5"]
"""


@pytest.mark.usefixtures("undrawn")
def test_a_map_says_by_which_budget_it_was_made_and_is_released_so_on_a_larger_machine(tmp_path, monkeypatch):
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    (tmp_path / "study.toml").write_text(STUDY)
    points, rows = {}, {}
    for folder, most in (("small", 600), ("large", 1 << 40)):
        monkeypatch.setattr("sfumato.data.declaration.usual_most_cells", lambda memory, most=most: most)
        map_ = sfumato.explore(tmp_path / "study.toml")
        (tmp_path / folder).mkdir()
        save_map(map_, tmp_path / folder)
        points[folder] = json.loads((tmp_path / folder / "points.json").read_text())
    assert points["small"]["table"]["coarsened"] == {"age": {"values": 20, "instead_of": 100}}
    assert "coarsened" not in points["large"]["table"]
    assert "most_cells = 600\n" in (tmp_path / "small" / "study.toml").read_text()
    assert "most_cells" not in (tmp_path / "large" / "study.toml").read_text()
    for folder, content in points.items():
        (point,) = content["points"]
        publish_point(tmp_path / folder, point["id"], tmp_path / f"{folder}.csv")
        rows[folder] = (tmp_path / f"{folder}.csv").read_text()
        certificate = json.loads((tmp_path / f"{folder}.csv.certificate.json").read_text())
        found = sfumato.audit(tmp_path / f"{folder}.csv", ["age", "status"], original=PEOPLE, hierarchies={"age": AGE})
        assert found.measures["loss"] == pytest.approx(point["measures"]["loss"])
        said = [
            notice
            for notice in certificate["internal"]["notices"]
            if "is coarsened to 20 values instead of 100" in notice
        ]
        assert len(said) == (folder == "small")
    assert rows["small"] != rows["large"]
