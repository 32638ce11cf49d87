"""The promise of the whole walk: whatever table goes in, the written file keeps its requirement.

The checker is the independent one, which reads the file and knows only the definitions.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import independent_checker as checker
import sfumato
from sfumato.data.cells import Assignment
from sfumato.engines import open_rows
from sfumato.release.release import Release, generalization

COLORS = [["warm", "red", "orange"], ["cold", "blue", ["dark", "violet", "black"]], "white"]
COLOR_TABLE = [
    ["red", "red", "warm", "*"],
    ["orange", "orange", "warm", "*"],
    ["blue", "blue", "cold", "*"],
    ["violet", "dark", "cold", "*"],
    ["black", "dark", "cold", "*"],
    ["white", "white", "white", "*"],
]
ILLS = [["lung", "asthma", "flu"], ["heart", "angina", "stroke"], "none"]
ILL_TABLE = [["asthma", "lung", "*"], ["flu", "lung", "*"], ["angina", "heart", "*"], ["stroke", "heart", "*"]]
ILL_TABLE.append(["none", "none", "*"])
QUASI = ["age", "color", 'odd, "name"\n']
HIERARCHIES = {"age": {"type": "numeric", "lower": 0, "upper": 20, "intervals": [2, 6]}, "color": COLORS, "ill": ILLS}

ages = st.one_of(st.none(), st.integers(0, 20).map(str))
colors = st.one_of(st.none(), st.sampled_from([row[0] for row in COLOR_TABLE]))
odds = st.sampled_from(["x", "y", "{z}", 'say "hi"', "a, b", "*?", "20-29", " blank "])
ills = st.sampled_from([row[0] for row in ILL_TABLE])
jobs = st.one_of(st.none(), st.integers(1, 4).map(str))
notes = st.sampled_from(["=1+1", "n", "m, o"])


def rows(least=1, most=30):
    names = [*QUASI, "ill", "job", "note"]
    lines = st.tuples(ages, colors, odds, ills, jobs, notes).map(lambda line: dict(zip(names, line, strict=True)))
    return st.lists(lines, min_size=least, max_size=most)


def requirements(on):
    number = st.floats(0.05, 1.0).map(lambda x: round(x, 2))
    about = f" on={on}"
    kinds = [
        st.integers(1, 8).map(lambda k: f"k-anonymity k={k}"),
        st.integers(1, 4).map(lambda l: f"l-diversity l={l} variant=distinct" + about),
        st.sampled_from([1, 1.5, 2, 3]).map(lambda l: f"l-diversity l={l} variant=frequency" + about),
        st.sampled_from([1, 1.5, 2, 3]).map(lambda l: f"l-diversity l={l} variant=entropy" + about),
        st.sampled_from([1, 2, 3]).map(lambda l: f"l-diversity l={l} variant=recursive c=2" + about),
        st.tuples(number, st.sampled_from(["equal", "ordered", "hierarchical", "js"])).map(
            lambda p: f"t-closeness t={p[0]} distance={p[1]}" + about
        ),
        number.map(lambda d: f"delta-disclosure delta={3 * d:.2f}" + about),
        number.map(lambda d: f"delta-disclosure delta={3 * d:.2f} absent=ignore" + about),
        st.tuples(number, st.sampled_from(["basic", "enhanced"])).map(
            lambda p: f"beta-likeness beta={4 * p[0]:.2f} variant={p[1]}" + about
        ),
        st.tuples(number, st.integers(1, 5)).map(lambda p: f"alpha-k alpha={p[0]} k={p[1]}" + about),
    ]
    return st.lists(st.one_of(kinds), min_size=1, max_size=2).map(" & ".join)


def frame(lines):
    return pa.table({name: pa.array([line[name] for line in lines], pa.string()) for name in lines[0]})


def table_of(lines, **roles):
    chosen = {"quasi": QUASI, "sensitive": ["ill"], "neutral": ["note"], **roles}
    return sfumato.read(frame(lines), hierarchies=HIERARCHIES, **chosen)


def texts(lines, names):
    return [{name: line[name] or "" for name in names} for line in lines]


def interesting(lines, column="ill"):
    return len({line[column] for line in lines}) > 1


def level_tables(lines):
    odd = sorted({line[QUASI[2]] for line in lines})
    numbers = [[str(age), f"{age // 2 * 2}-{min(age // 2 * 2 + 1, 20)}", *_sixes(age)] for age in range(21)]
    return {"age": numbers, "color": COLOR_TABLE, QUASI[2]: [[o, "*"] for o in odd], "ill": ILL_TABLE}


def _sixes(age):
    return [f"{age // 6 * 6}-{min(age // 6 * 6 + 5, 20)}", "*"]


ORDERS = {"ill": [row[0] for row in ILL_TABLE]}


def check_file(path, release: Release, lines, requirement, group=None):
    names = release.table.published
    original = texts(lines, names)
    tables = level_tables(lines)
    about = {"quasi": QUASI, "sensitive": ["ill"], "original": original, "group": group}
    assert checker.violations(path, requirement, orders=ORDERS, level_tables=tables, **about) == []
    uncovered = checker.uncovered(
        path,
        quasi=QUASI,
        original=original,
        level_tables=tables,
        numeric=["age"],
        suppressed=release.suppressed,
        group=group,
        sensitive=["ill"],
    )
    assert uncovered == []
    expected = checker.measures(path, orders=ORDERS, level_tables=tables, **about)
    measured = sfumato.measure(release).values
    for name, value in expected.items():
        assert measured[name] == pytest.approx(value, abs=1e-9), name


def one_group_fails(lines, requirement, folder):
    """Whether by the checker even all records in one group fail the requirement."""
    import csv

    path = folder / "one.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*QUASI, "ill"])
        writer.writerows([["*"] * len(QUASI) + [line["ill"]] for line in lines])
    about = {"quasi": QUASI, "sensitive": ["ill"], "original": texts(lines, [*QUASI, "ill"])}
    return checker.violations(path, requirement, orders=ORDERS, level_tables=level_tables(lines), **about) != []


def check_made(lines, requirement, maker, form, suppress=0.0):
    """Check the file of a release; return its rows, or None where it is refused as even one group would fail."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        try:
            release = sfumato.anonymize(table_of(lines), requirement, maker, form, suppress)
        except sfumato.InfeasibleError as error:
            assert one_group_fails(lines, requirement, folder)
            assert "feasible" in str(error) or "absent" in str(error)
            return None
        path = release.to_csv(folder / "release.csv")[0]
        check_file(path, release, lines, requirement, "group" if form == "bucketization" else None)
        assert release.suppressed <= suppress * len(lines)
        return checker.read_rows(path)


def rows_made(lines, requirement, maker, form, suppress=0.0, threads=1, **roles):
    """Count the rows of the written file, whatever their order and that of its columns, or return why there is none."""
    table = table_of(lines, **roles)
    table.engine._connection.execute(f"SET threads = {threads}")
    try:
        release = sfumato.anonymize(table, requirement, maker, form, suppress)
    except sfumato.SfumatoError as error:
        return str(error)
    with tempfile.TemporaryDirectory() as folder:
        written = checker.read_rows(release.to_csv(Path(folder) / "out.csv")[0])
    return Counter(tuple(sorted(row.items())) for row in written)


def job_values(lines):
    return len({line["job"] for line in lines}) > 1 and interesting(lines)


MAKERS = [
    "mondrian",
    "mondrian mode=relaxed",
    "mondrian ranges=region",
    "mondrian mode=relaxed ranges=region",
    "mondrian ranges=node",
    "mondrian cut=range",
    "mondrian cut=variance ranges=node",
    "mondrian cut=loss",
    "mondrian cut=information-gain target=ill",
    "mondrian cut=information-gain target=note ranges=region",
    "mondrian cut=variance target=age",
    "full-domain",
    "full-domain minimize=discernibility",
]
EXAMPLES = int(os.environ.get("SFUMATO_EXAMPLES", "20"))
settled = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


@settled
@given(
    lines=rows(least=2).filter(interesting),
    requirement=requirements("ill"),
    form=st.sampled_from(["generalization", "bucketization"]),
    maker=st.sampled_from(MAKERS),
    suppress=st.sampled_from([0, 0, 0.1, 0.5]),
)
def test_written_file_keeps_its_requirement(lines, requirement, form, maker, suppress):
    try:
        check_made(lines, requirement, maker, form, suppress)
    except sfumato.BadInputError as error:
        assert "mode=relaxed" in maker or "ranges=node" in maker
        assert "absent=ignore" in requirement and "merging" in str(error)


@settled
@given(lines=rows(least=2).filter(interesting), k=st.integers(1, 5), mode=st.sampled_from(["strict", "relaxed"]))
def test_boxes_cover_their_records_and_counts_are_conserved(lines, k, mode):
    table = table_of(lines)
    try:
        release = sfumato.anonymize(
            table, sfumato.KAnonymity(k), sfumato.anonymizers.Mondrian(mode=mode, ranges="tight")
        )
    except sfumato.InfeasibleError:
        assert k > len(lines)
        return
    cells, assignment, boxes = table.cells, release.assignment, release.boxes
    placed = Counter()
    for cell, group, count in zip(assignment.cell, assignment.group, assignment.count, strict=True):
        assert count > 0
        placed[int(cell)] += int(count)
        assert (boxes.lo[group] <= cells.codes[cell]).all() and (cells.codes[cell] <= boxes.hi[group]).all()
    assert [placed[i] for i in range(cells.size)] == cells.counts.tolist()
    assert release.sizes.sum() == len(lines) == cells.records
    if mode == "strict":
        for a in range(release.groups):
            for b in range(a):
                apart = (boxes.hi[a] < boxes.lo[b]) | (boxes.hi[b] < boxes.lo[a])
                assert apart.any()


@settled
@given(
    lines=rows(least=2).filter(job_values),
    requirement=requirements("ill"),
    form=st.sampled_from(["generalization", "bucketization"]),
    maker=st.sampled_from(["mondrian", "mondrian mode=relaxed seed=7", "local-recoding seed=7"]),
    data=st.data(),
)
def test_nothing_depends_on_order_of_rows_or_columns_or_on_threads(lines, requirement, form, maker, data):
    names = data.draw(st.permutations(list(lines[0])))
    shuffled = [{name: line[name] for name in names} for line in data.draw(st.permutations(lines))]
    about = requirement, maker, form, 0.1
    # the order of quasi-identifiers matters to the neighbours of a local recoding
    quasi = QUASI if maker.startswith("local") else data.draw(st.permutations(QUASI))
    first = rows_made(lines, *about, sensitive=["ill", "job"])
    assert first == rows_made(shuffled, *about, threads=4, quasi=quasi, sensitive=["ill", "job"])


@settled
@given(lines=rows(least=3).filter(job_values), first=requirements("ill"), second=requirements("job"))
def test_several_sensitive_attributes_each_keep_their_requirement(lines, first, second):
    first, second = (text.replace("hierarchical", "js") for text in (first, second))
    table = table_of(lines, sensitive=["ill", "job"])
    try:
        release = sfumato.anonymize(table, f"{first} & {second}")
    except sfumato.InfeasibleError:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = release.to_csv(Path(folder) / "out.csv")[0]
        for column, requirement in (("ill", first), ("job", second)):
            about = {"quasi": QUASI, "sensitive": [column], "original": texts(lines, table.published)}
            orders = ORDERS if column == "ill" else None
            assert checker.violations(path, requirement, orders=orders, **about) == []


@settled
@given(lines=rows(least=2).filter(interesting))
def test_bucketized_pairs_depend_on_nothing_but_the_published_margins(lines):
    """Exchanging sensitive values inside a bucket before publishing gives the very same file."""
    table = table_of(lines)
    release = sfumato.anonymize(table, f"k-anonymity k={len(lines)}", form="bucketization")
    values = [line["ill"] for line in lines]
    exchanged = [{**line, "ill": ill} for line, ill in zip(lines, values[1:] + values[:1], strict=True)]
    other = sfumato.anonymize(table_of(exchanged), f"k-anonymity k={len(lines)}", form="bucketization")
    with tempfile.TemporaryDirectory() as folder:
        first = release.to_csv(Path(folder) / "a.csv")[0].read_bytes()
        second = other.to_csv(Path(folder) / "b.csv")[0].read_bytes()
    assert first == second


def test_trivial_sanitizations_publish_no_link(tmp_path):
    lines = [
        {"age": str(i % 7), "color": "red", QUASI[2]: "x", "ill": ["flu", "none"][i % 2], "job": "1", "note": "n"}
        for i in range(20)
    ]
    table = table_of(lines)
    nothing_known = sfumato.anonymize(table, "k-anonymity k=20", "without-quasi")
    written = checker.read_rows(nothing_known.to_csv(tmp_path / "a.csv")[0])
    assert {row["age"] for row in written} == {"*"} and Counter(row["ill"] for row in written) == {
        "flu": 10,
        "none": 10,
    }
    assert sfumato.measure(nothing_known)["p_loss"] == pytest.approx(0, abs=1e-12)
    with pytest.raises(sfumato.BadInputError, match="publish all of them"):
        sfumato.anonymize(table, "k-anonymity k=20", "without-quasi", "bucketization")
    nothing_sensitive = sfumato.anonymize(table, "k-anonymity k=2", "without-sensitive")
    written = checker.read_rows(nothing_sensitive.to_csv(tmp_path / "b.csv")[0])
    assert "ill" not in written[0] and sorted(row["age"] for row in written) == sorted(line["age"] for line in lines)
    with pytest.raises(sfumato.InfeasibleError, match="groups fail"):
        sfumato.anonymize(table, "k-anonymity k=3", "without-sensitive")
    with pytest.raises(sfumato.InfeasibleError, match="groups fail"):
        sfumato.anonymize(table, "alpha-k alpha=0.9 k=3", "without-sensitive")
    with pytest.raises(sfumato.BadInputError, match="nonsense"):
        sfumato.anonymize(table, "l-diversity l=2 variant=distinct on=nonsense", "without-sensitive")


def test_values_of_records_that_are_not_published_do_not_show(tmp_path):
    """Only the suppressed or dropped person is a king aged 777: no set, no range and no bound may say so."""
    people = [(30 + i % 2, ["baker", "miller"][i % 2]) for i in range(8)] + [(40, "smith")] * 4 + [(777, "king")]
    frame = pa.table({"age": [a for a, _ in people], "job": [j for _, j in people]})
    for ranges in ("tight", "rounded", "node", "region"):
        table = sfumato.read(frame, quasi=["age", "job"])
        release = sfumato.anonymize(table, "k-anonymity k=4", sfumato.anonymizers.Mondrian(ranges=ranges), suppress=0.2)
        assert release.suppressed == 1
        text = release.to_csv(tmp_path / f"{ranges}.csv")[0].read_text()
        assert "king" not in text and "777" not in text
    holes = pa.table({"age": [None if j == "king" else a for a, j in people], "job": [j for _, j in people]})
    table = sfumato.read(holes, quasi=["age", "job"], missing="drop")
    text = sfumato.anonymize(table, "k-anonymity k=4").to_csv(tmp_path / "d.csv")[0].read_text()
    assert table.dropped == 1 and "king" not in text


def test_categories_that_look_like_sets_are_told_apart(tmp_path):
    """Leaves `a`, `b`, `{a, b}` and `{"a", "b"}`: a group of a and b must not look like either of the others."""
    values = [("a", "z")] * 3 + [("b", "x")] * 3 + [("{a, b}", "x")] * 2 + [("{a, b}", "y")] * 3
    values += [('{"a", "b"}', "y")] + [('{"a", "b"}', "z")] * 2
    frame = pa.table({"q": [q for q, _ in values], "s": [s for _, s in values]})
    hierarchy = [["group", "a", "b"], "{a, b}", '{"a", "b"}']
    for declared in ({"q": ["a", "b", "{a, b}", '{"a", "b"}']}, {"q": hierarchy}):
        table = sfumato.read(frame, quasi=["q"], sensitive=["s"], hierarchies=declared)
        own = table.hierarchies["q"]
        texts = [own.text(a, b) for a in range(own.size) for b in range(a, own.size)]
        assert len(set(texts)) == len(texts)


def test_split_cells_are_told_apart_by_neutral_values_only(tmp_path):
    """Twenty equal records with different notes: whatever the order of rows, the same notes go to the same group."""
    lines = [{"age": "3", "color": "red", QUASI[2]: "x", "ill": "flu", "job": "1", "note": f"{i}"} for i in range(20)]
    lines += [{**lines[0], "age": "9", "ill": "none", "note": "z"} for _ in range(4)]
    found = []
    for order in (lines, lines[::-1]):
        release = sfumato.anonymize(table_of(order), "k-anonymity k=12", "mondrian mode=relaxed seed=3")
        assert release.groups == 2
        found.append(release.to_csv(tmp_path / "out.csv", force=True)[0].read_bytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_rows_are_shuffled_and_no_row_number_survives(tmp_path, ending):
    lines = [
        {
            "age": str(i % 20),
            "color": "red",
            QUASI[2]: "x",
            "ill": ["flu", "none"][i % 2],
            "job": "1",
            "note": f"{i:04}",
        }
        for i in range(400)
    ]
    release = sfumato.anonymize(table_of(lines), "k-anonymity k=5")
    path = tmp_path / f"out.{ending}"
    release.to_csv(path) if ending == "csv" else release.to_parquet(path)
    engine = open_rows(path)
    assert list(engine.columns) == [*QUASI, "ill", "note"]
    notes = [int(row[0]) for row in engine._connection.execute("SELECT c4 FROM rows ORDER BY rowid").fetchall()]
    assert sorted(notes) == list(range(400))
    rising = sum(a < b for a, b in zip(notes, notes[1:], strict=False))
    assert 150 < rising < 250


def test_the_ends_of_boxes_never_show_a_value_of_an_unpublished_record(tmp_path):
    """Whatever box an anonymizer hands in: with the record of 50 and king suppressed, no box may end at either."""
    frame = pa.table({"age": [10, 11, 12, 50], "job": ["baker", "cook", "dyer", "king"]})
    table = sfumato.read(frame, quasi=["age", "job"])
    cells = table.cells
    lo, hi = cells.codes[:1].copy(), cells.codes[3:].copy()
    lo[0, 1] = 1  # from cook on, so that the box is not the whole domain
    assignment = Assignment(np.arange(1, 3), np.zeros(2, np.int64), np.ones(2, np.int64))
    for ranges, age in (("tight", "11-12"), ("rounded", "10-14")):
        release = generalization(table, assignment, lo, hi, ranges=ranges)
        written = checker.read_rows(release.to_csv(tmp_path / "out.csv", force=True)[0])
        assert written == [{"age": age, "job": "{cook, dyer}"}] * 2
