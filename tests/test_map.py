"""The map: the frontier against its definition, studies as text, and exploring whatever the workers and the cache."""

from __future__ import annotations

import json
import random
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from points import point_of
from sfumato.anonymizers import anonymizer
from sfumato.anonymizers.anonymizer import Anonymizer
from sfumato.data.declaration import TableDeclaration
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import ANALYSIS, MEASURES
from sfumato.measures.queries import Queries
from sfumato.measures.scales import Scales
from sfumato.requirements.requirement import requirement
from sfumato.tradeoff.exploration import explore as exploring
from sfumato.tradeoff.exploration.explore import explore
from sfumato.tradeoff.map import Map
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.grids import Grid
from sfumato.tradeoff.study.presets import bundled_study
from sfumato.tradeoff.study.study import Study, read_study
from strategies import tries

NOTHING = requirement("k-anonymity k=1")
ANY = Study("any", TableDeclaration("adult"), (Grid((anonymizer("mondrian"),), (NOTHING,)),))


# ---------------------------------------------------------------- the frontier

INF = float("inf")
VALUES = {
    "p_loss": st.sampled_from([0.0, 0.1, 0.2, 0.3]),
    "u_loss": st.sampled_from([0.0, 0.01, 0.02, 0.03]),
    "k": st.integers(1, 4),
    "delta": st.sampled_from([0.5, 1.0, INF]),
    "l_entropy": st.floats(1, 5),
}


@st.composite
def maps(draw):
    points = []
    for i in range(draw(st.integers(0, 14))):
        measures = {name: draw(values) for name, values in VALUES.items() if draw(st.integers(0, 7))}
        status = draw(st.sampled_from(["measured"] * 5 + ["failed", "infeasible"]))
        if status != "measured" and draw(st.booleans()):
            measures = {}
        points.append(point_of(f"id{i}", "mondrian", "generalization", "k-anonymity k=2", {}, status, None, measures))
    return Map(ANY, tuple(points))


def at_least_as_good(a, b, name):
    higher = MEASURES[name].better == "higher"
    return a.measures[name] >= b.measures[name] if higher else a.measures[name] <= b.measures[name]


def dominates(a, b, names):
    """At least as good everywhere, and better somewhere."""
    everywhere = all(at_least_as_good(a, b, name) for name in names)
    return everywhere and any(a.measures[name] != b.measures[name] for name in names)


def plain_frontier(own, names):
    known = [p for p in own.points if p.status == "measured" and all(name in p.measures for name in names)]
    return {p.id for p in known if not any(dominates(other, p, names) for other in known)}


@tries(300)
@given(maps(), st.lists(st.sampled_from(list(VALUES)), min_size=2, max_size=4, unique=True))
def test_the_frontier_is_its_definition(own, names):
    found = own.frontier(*names)
    assert len(found) == len({point.id for point in found})
    assert {point.id for point in found} == plain_frontier(own, names)
    first = [point.measures[names[0]] for point in found]
    assert first == sorted(first, reverse=MEASURES[names[0]].better == "higher")


def test_equal_points_are_all_on_the_frontier():
    points = [make_point(str(i), p_loss=0.1, u_loss=0.2) for i in range(3)] + [make_point("x", p_loss=0.1, u_loss=0.3)]
    assert [point.id for point in Map(ANY, tuple(points)).frontier()] == ["0", "1", "2"]


def test_for_two_measures_the_frontier_is_a_staircase():
    points = [make_point(str(i), p_loss=i % 37 / 37, u_loss=i * 17 % 101 / 101) for i in range(500)]
    own = Map(ANY, tuple(points))
    losses = [point.measures["u_loss"] for point in own.frontier()]
    assert losses == sorted(losses, reverse=True)
    assert {point.id for point in own.frontier()} == plain_frontier(own, ["p_loss", "u_loss"])


def make_point(id, **measures):
    return point_of(id, "mondrian", "generalization", "k-anonymity k=2", {}, "measured", None, measures)


@pytest.mark.parametrize(("names", "said"), [(("p_loss", "nonsense"), "nonsense"), (("p_loss",), "two measures")])
def test_a_frontier_of_bad_measures_is_refused(names, said):
    with pytest.raises(BadInputError, match=said):
        Map(ANY, (make_point("a", p_loss=1, u_loss=1),)).frontier(*names)


def test_a_point_is_found_by_its_id():
    own = Map(ANY, (make_point("a"), make_point("b")))
    assert own["b"].id == "b"
    with pytest.raises(BadInputError, match="no point 'c'"):
        own["c"]


# ---------------------------------------------------------------- studies as text

names = st.one_of(
    st.sampled_from(["age", 'say "hi"', "a.b", "a, b", "two\nlines", "tab\t", "é ß", "'", "\\", " ", "=", "[x]", "#"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
)
labels = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
declared = st.one_of(
    st.builds(lambda top: {"type": "numeric", "lower": 0, "upper": top, "intervals": [2, 4.5]}, st.integers(9, 99)),
    st.builds(lambda all: {"type": "flat", "values": all}, st.lists(labels, min_size=1, max_size=3, unique=True)),
    st.builds(lambda a, b, c: [[a, b, c], ["node", "x"], "leaf"], labels, labels, labels),
    st.builds(lambda a, b: {"type": "tree", "children": [[a, [b, "x", "y"]], "z"]}, labels, labels),
    st.builds(lambda rows: {"type": "level-table", "rows": [[row, "*"] for row in rows]}, st.lists(labels, min_size=1)),
    st.just({"type": "dates", "first": "2020-01-01", "last": "2021-12-31", "levels": ["month"]}),
    st.just("levels.csv"),
)
shares = st.one_of(st.sampled_from([0.0, 0.05, 1.0]), st.floats(0, 1))


@st.composite
def requirements(draw):
    on = draw(st.one_of(st.none(), names))
    text = draw(
        st.sampled_from(
            [
                "k-anonymity k=10",
                "l-diversity l=3.5 variant=frequency",
                "t-closeness t=0.075 distance=js",
                "delta-disclosure delta=1.2 absent=ignore",
                "k-anonymity k=3 & l-diversity l=2 variant=recursive c=3",
                "beta-likeness beta=2 variant=enhanced",
                "alpha-k alpha=0.5 k=10",
            ]
        )
    )
    own = requirement(text)
    if on is not None and on.strip() == on and own.parts[-1].about_sensitive:
        parts = [*own.parts[:-1], replace(own.parts[-1], on=on)]
        own = parts[0] if len(parts) == 1 else parts[0] & parts[1]
    return own


@st.composite
def grids(draw):
    makers = ["mondrian", "mondrian ranges=region", "original", "without-quasi", "without-sensitive"]
    return Grid(
        tuple(anonymizer(text) for text in draw(st.lists(st.sampled_from(makers), min_size=1, max_size=3))),
        tuple(draw(st.lists(requirements(), min_size=1, max_size=3))),
        tuple(draw(st.lists(st.sampled_from(["generalization", "bucketization"]), min_size=1, max_size=2))),
        tuple(draw(st.lists(shares, min_size=1, max_size=3))),
    )


@st.composite
def studies(draw):
    columns = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    cut = draw(st.integers(1, len(columns)))
    hierarchy = draw(st.dictionaries(st.sampled_from(columns), declared, max_size=3))
    table = TableDeclaration(
        draw(st.sampled_from(["adult", "no such/file.csv", "C:\\data\\x.csv", 'od"d.csv'])),
        quasi=tuple(columns[:cut]),
        sensitive=tuple(columns[cut:]),
        hierarchies=draw(st.sampled_from([None, "no such folder"])),
        hierarchy=hierarchy,
        missing=draw(st.sampled_from(["value", "drop"])),
        na=tuple(draw(st.lists(labels, max_size=2))),
        delimiter=draw(st.sampled_from([None, ";", "\t"])),
        encoding=draw(st.sampled_from(["utf-8", "latin-1"])),
    )
    queries = Queries(
        dimensions=draw(st.integers(1, 9)),
        selectivity=draw(st.floats(0, 1, exclude_min=True)),
        reading=draw(st.sampled_from(["query", "attribute"])),
        number=draw(st.integers(1, 10**6)),
        seed=draw(st.integers(0, 2**63)),
        sanity=draw(shares),
        select=draw(st.sampled_from(["values", "range"])),
    )
    scales = Scales(draw(st.floats(0, 1, exclude_min=True)), queries)
    known = [name for name, measure in MEASURES.items() if measure.by_records and name not in ANALYSIS]
    axes = tuple(draw(st.lists(st.sampled_from(known), min_size=2, max_size=4, unique=True)))
    return Study(draw(labels), table, tuple(draw(st.lists(grids(), min_size=1, max_size=3))), scales, axes)


@tries(200)
@given(studies())
def test_a_study_is_read_back_as_it_was_written(study):
    text = study.to_toml()
    again = Study.from_toml(text, "nowhere/study.toml")
    assert again == study
    assert again.to_toml() == text
    assert [c.id for c in again.candidates] == [c.id for c in study.candidates]


def test_a_short_study_gets_its_defaults(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[table]\nsource = "adult"\n[[candidates]]\nrequirements = "k-anonymity k=5"\n')
    study = read_study(str(path))
    assert study.name == "mine" and study.axes == ("p_loss", "u_loss") and study.scales == Scales()
    assert [str(c) for c in study.candidates] == ["mondrian, k-anonymity k=5, generalization"]
    assert Study.from_toml(study.to_toml(), str(path)) == study


def test_paths_are_relative_to_the_study(tmp_path):
    (tmp_path / "people.csv").write_text("a,b\n1,x\n2,y\n")
    path = tmp_path / "study.toml"
    path.write_text('[table]\nsource = "people.csv"\nquasi = ["a"]\n[[candidates]]\n')
    assert read_study(str(path)).table.open().cells.records == 2


def test_the_hierarchy_of_a_column_may_name_a_file_beside_the_study(tmp_path):
    (tmp_path / "people.csv").write_text("a,b\n1,x\n2,y\n")
    (tmp_path / "levels.csv").write_text("1;low;*\n2;high;*\n")
    path = tmp_path / "study.toml"
    inline = '[table.hierarchy]\na = "levels.csv"\n'
    path.write_text('[table]\nsource = "people.csv"\nquasi = ["a"]\n' + inline + "[[candidates]]\n")
    assert "low" in read_study(str(path)).table.open().hierarchies["a"].intervals


def test_a_folder_with_the_name_of_a_bundled_table_does_not_hide_it(tmp_path, monkeypatch):
    (tmp_path / "adult").mkdir()  # `sfumato explore adult --out adult`, run twice
    monkeypatch.chdir(tmp_path)
    assert bundled_study("adult").table.open().cells.records == 45_222
    (tmp_path / "study.toml").write_text('[table]\nsource = "adult"\n[[candidates]]\n')
    assert read_study("study.toml").table.open().cells.records == 45_222


def test_a_study_made_in_python_is_written_or_refused_with_the_column(tmp_path):
    table = TableDeclaration("adult", hierarchy={"age": Path("levels.csv")})
    assert Study.from_toml(replace(ANY, data=table).to_toml()).table.hierarchy == {"age": "levels.csv"}
    table = TableDeclaration("adult", hierarchy={"age": sfumato.numeric(0, 99)})
    with pytest.raises(BadInputError, match="age"):
        replace(ANY, data=table).to_toml()


GOOD = '[table]\nsource = "adult"\n[[candidates]]\nrequirements = ["k-anonymity k=5"]\n'
BAD = {
    "unknown key": ('color = "red"\n' + GOOD, "color"),
    "unknown key of table": (GOOD.replace("source", "colour = 1\nsource"), "colour"),
    "unknown key of candidates": (GOOD + 'form = "x"\n', "form"),
    "unknown key of scales": (GOOD + "[scales]\nsupport = 1\n", "support"),
    "no table": ("[[candidates]]\n", "table"),
    "no candidates": ('[table]\nsource = "adult"\n', "candidates"),
    "empty candidates": ('candidates = []\n[table]\nsource = "adult"\n', "candidate"),
    "no requirement": (GOOD.replace('["k-anonymity k=5"]', "[]"), "candidate"),
    "no source": ("[table]\n[[candidates]]\n", "source"),
    "schema": ("schema = 2\n" + GOOD, "schema"),
    "not toml": ("schema = = 1\n", "TOML"),
    "one axis": ('axes = ["p_loss"]\n' + GOOD, "axes"),
    "axes is a text": ('axes = "p_loss"\n' + GOOD, "axes"),
    "axes is a number": ("axes = 2\n" + GOOD, "axes"),
    "unknown axis": ('axes = ["p_loss", "beauty"]\n' + GOOD, "beauty"),
    "table is a text": ('table = "adult"\n[[candidates]]\n', "table"),
    "table is a number": ("table = 3\n[[candidates]]\n", "table"),
    "candidates is a text": ('candidates = "mondrian"\n[table]\nsource = "adult"\n', "candidates"),
    "candidates is a number": ('candidates = 3\n[table]\nsource = "adult"\n', "candidates"),
    "candidates is a table": ('[table]\nsource = "adult"\n[candidates]\nforms = ["generalization"]\n', "candidates"),
    "scales is a number": ("scales = 3\n" + GOOD, "scales"),
    "bad anonymizer": (GOOD + 'anonymizers = ["rembrandt"]\n', "rembrandt"),
    "anonymizer is a number": (GOOD + "anonymizers = [3]\n", "anonymizers"),
    "bad requirement": (GOOD.replace("k=5", "k=0"), "k"),
    "requirement is a number": (GOOD.replace('["k-anonymity k=5"]', "[5]"), "requirements"),
    "bad form": (GOOD + 'forms = ["sculpture"]\n', "sculpture"),
    "suppress is a text": (GOOD + 'suppress = ["a lot"]\n', "suppress"),
    "suppress is a list": (GOOD + "suppress = [[0.1]]\n", "suppress"),
    "suppress too large": (GOOD + "suppress = [2]\n", "suppress"),
    "bad support": (GOOD + "[scales]\nmin_support = 2\n", "min_support"),
    "support is a text": (GOOD + '[scales]\nmin_support = "some"\n', "min_support"),
    "bad queries": (GOOD + '[scales]\nqueries = "queries number=0"\n', "number"),
    "queries is a number": (GOOD + "[scales]\nqueries = 3\n", "queries"),
    "quasi is a text": (GOOD.replace("source", 'quasi = "age"\nsource'), "quasi"),
    "quasi is a number": (GOOD.replace("source", "quasi = 3\nsource"), "quasi"),
    "quasi of numbers": (GOOD.replace("source", "quasi = [3]\nsource"), "quasi"),
    "source is a number": (GOOD.replace('"adult"', "3"), "source"),
    "hierarchy is a number": (GOOD.replace("source", "hierarchy = 3\nsource"), "hierarchy"),
    "hierarchies is a number": (GOOD.replace("source", "hierarchies = 3\nsource"), "hierarchies"),
    "missing": (GOOD.replace("source", 'missing = "any"\nsource'), "missing"),
    "delimiter is a number": (GOOD.replace("source", "delimiter = 3\nsource"), "delimiter"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_study_is_one_sentence_that_names_file_and_key(case, tmp_path):
    text, key = BAD[case]
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(BadInputError) as caught:
        read_study(str(path))
    said = str(caught.value)
    assert said.startswith(str(path)) and key in said and "\n" not in said


def test_a_study_that_is_not_there(tmp_path):
    with pytest.raises(BadInputError, match="no such file"):
        read_study(str(tmp_path / "nothing.toml"))
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"\n')
    with pytest.raises(BadInputError, match="UTF-8"):
        read_study(str(tmp_path / "latin.toml"))


def test_candidates_that_differ_have_different_ids():
    texts = ["k-anonymity k=2", "k-anonymity k=3", "t-closeness t=0.1 distance=js", "t-closeness t=0.1 distance=equal"]
    every = Grid(
        (anonymizer("mondrian"), anonymizer("mondrian ranges=region")),
        tuple(map(requirement, texts)),
        ("generalization", "bucketization"),
        (0.0, 0.1, 0.1000001, 0.1000002, 1e-7),
    ).candidates
    assert len({candidate.id for candidate in every}) == len(every) == 80


def test_parameters_of_all_parts_are_kept():
    parts = [f"l-diversity l={l} variant=distinct on={on}" for l, on in ((2, "a"), (3, "b"), (4, "c"))]
    found = Candidate(anonymizer("mondrian"), requirement(" & ".join(parts))).parameters
    assert {2, 3, 4, "a", "b", "c"} <= set(found.values())


# ---------------------------------------------------------------- exploring

HIERARCHIES = {"age": {"type": "numeric", "lower": 0, "upper": 19, "intervals": [5, 10]}}
REQUIREMENTS = (
    "k-anonymity k=2",
    "k-anonymity k=7",
    "l-diversity l=2 variant=frequency",
    "t-closeness t=0.1 distance=js",
    "k-anonymity k=5000",
)


def rows(odd="plain", changed=False):
    rng = random.Random(1)
    lines = []
    for i in range(120):
        ill = rng.choice(["flu", "asthma", "angina", odd])
        lines.append({"age": str(rng.randrange(20)), "town": rng.choice(["Rome", "Pisa", odd]), "ill": ill, "id": i})
    if changed:
        lines[17]["age"] = "19" if lines[17]["age"] != "19" else "0"
    return lines


def table_of(lines, hierarchies=HIERARCHIES):
    frame = pa.table({name: [line[name] for line in lines] for name in lines[0]})
    return sfumato.read(frame, quasi=["age", "town"], sensitive=["ill"], hierarchies=hierarchies)


def study_of(scales=None, makers=("mondrian", "mondrian ranges=region", "without-sensitive")):
    grid = Grid(
        tuple(map(anonymizer, makers)),
        tuple(map(requirement, REQUIREMENTS)),
        ("generalization", "bucketization"),
        (0.0, 0.1),
    )
    own = scales or Scales(0.05, Queries(number=40))
    return Study("small", TableDeclaration("nowhere.csv", ("age", "town"), ("ill",)), (grid,), own)


def without_seconds(own):
    return [replace(point, seconds=0.0) for point in own.points]


@pytest.fixture
def made(monkeypatch):
    """Record which candidates are really worked out."""
    worked_out = []
    original = exploring.measured_point

    def counted(candidate, prepared):
        worked_out.append(candidate)
        return original(candidate, prepared)

    monkeypatch.setattr(exploring, "measured_point", counted)
    return worked_out


def test_the_points_do_not_depend_on_the_number_of_workers():
    table, study = table_of(rows()), study_of()
    one, four = (explore(study, workers=n, table=table) for n in (1, 4))
    assert without_seconds(one) == without_seconds(four) and one.about == four.about
    assert [point.id for point in one.points] == [candidate.id for candidate in study.candidates]


def test_the_points_do_not_depend_on_the_order_of_rows_and_columns():
    lines = rows()
    turned = [dict(reversed(line.items())) for line in reversed(lines)]
    first, second = (explore(study_of(), workers=2, table=table_of(own)) for own in (lines, turned))
    assert [point.measures for point in first.points] == [point.measures for point in second.points]


def test_a_relaxed_candidate_gives_the_same_point_again():
    study = study_of(makers=("mondrian mode=relaxed",))
    first, second = (explore(study, workers=2, table=table_of(rows())) for _ in range(2))
    assert without_seconds(first) == without_seconds(second)


def test_candidates_that_cannot_be_made_are_marked_with_a_reason():
    own = explore(study_of(), workers=2, table=table_of(rows()))
    by_requirement = {(p.anonymizer, p.requirement, p.form): p for p in own.points}
    infeasible = by_requirement["mondrian", "k-anonymity k=5000", "generalization"]
    assert infeasible.status == "infeasible" and "5000" in infeasible.reason and not infeasible.measures
    failed = by_requirement["without-sensitive", "k-anonymity k=2", "bucketization"]
    assert failed.status == "failed" and "without-sensitive" in failed.reason and not failed.measures
    measured = by_requirement["mondrian", "k-anonymity k=7", "generalization"]
    assert measured.status == "measured" and measured.reason is None and measured.measures["k"] >= 7
    assert {p.status for p in own.points} == {"measured", "infeasible", "failed"}
    assert {p.id for p in own.frontier()} == plain_frontier(own, ["p_loss", "u_loss"])


@dataclass(frozen=True)
class Clumsy(Anonymizer):
    name: ClassVar[str] = "clumsy"

    def release(self, table, requirement, form, budget):
        raise ZeroDivisionError("the clumsy maker fell")


def test_a_candidate_that_breaks_does_not_break_the_others():
    grid = Grid((Clumsy(), anonymizer("mondrian")), (requirement("k-anonymity k=2"),))
    own = explore(replace(study_of(), grids=(grid,)), workers=1, table=table_of(rows()))
    assert [point.status for point in own.points] == ["failed", "measured"]
    assert "the clumsy maker fell" in own.points[0].reason


def test_measures_of_a_point_are_those_of_its_release():
    table, study = table_of(rows()), study_of()
    own = explore(study, workers=1, table=table)
    prepared = study.scales.prepare(table)
    for candidate, point in zip(study.candidates, own.points, strict=True):
        if point.status == "measured":
            release = candidate.anonymizer.anonymize(table, candidate.requirement, candidate.form, candidate.suppress)
            assert dict(prepared.measure(release).values) == point.measures


# ---------------------------------------------------------------- the cache


@pytest.mark.parametrize("half_a_line", [False, True])
@pytest.mark.parametrize("odd", ["plain", "inf", "-inf", "nan", "line\u2028break", "\x85", '"}\n{', "é"])
def test_a_study_goes_on_where_it_was_stopped(tmp_path, made, odd, half_a_line):
    cache = tmp_path / "cache.jsonl"
    table, study = table_of(rows(odd)), study_of()
    whole = explore(study, cache, workers=2, table=table)
    assert len(made) == len(study.candidates)

    lines = cache.read_bytes().split(b"\n")
    kept = len(lines) // 2
    cut = b"\n".join(lines[:kept]) + b"\n" + (lines[kept][: len(lines[kept]) // 2] if half_a_line else b"")
    cache.write_bytes(cut)
    made.clear()
    with pytest.warns(UserWarning, match="1 entry does not fit") if half_a_line else nullcontext():
        resumed = explore(study, cache, workers=2, table=table)
    assert without_seconds(resumed) == without_seconds(whole)
    assert len(made) == len(study.candidates) - kept

    made.clear()
    again = explore(study, cache, workers=1, table=table)
    assert without_seconds(again) == without_seconds(whole)
    assert made == []


def test_stopping_by_hand_keeps_what_is_done(tmp_path, made):
    cache = tmp_path / "cache.jsonl"
    table, study = table_of(rows()), study_of()

    def stop(finished, total, last):
        if finished == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(study, cache, workers=2, progress=stop, table=table)
    assert len(cache.read_text().splitlines()) == 5
    made.clear()
    resumed = explore(study, cache, workers=2, table=table)
    assert len(made) == len(study.candidates) - 5
    assert without_seconds(resumed) == without_seconds(explore(study, workers=1, table=table))


def test_progress_counts_up_to_the_end(tmp_path):
    told = []
    study = study_of()

    def listen(*about):
        told.append(about)

    explore(study, tmp_path / "cache.jsonl", workers=3, progress=listen, table=table_of(rows()))
    total = len(study.candidates)
    assert [(finished, of) for finished, of, _ in told] == [(i, total) for i in range(total + 1)]
    assert {last for _, _, last in told[1:]} == {str(candidate) for candidate in study.candidates}
    told.clear()
    explore(study, tmp_path / "cache.jsonl", progress=listen, table=table_of(rows()))
    assert [(finished, of) for finished, of, _ in told] == [(total, total)]


def changes():
    other_tree = {"age": {"type": "numeric", "lower": 0, "upper": 19, "intervals": [2, 10]}}
    wider = {"age": {"type": "numeric", "lower": 0, "upper": 29, "intervals": [5, 10]}}
    dropped = rows()[1:]
    return {
        "a value": (table_of(rows(changed=True)), study_of()),
        "a record": (table_of(dropped), study_of()),
        "a hierarchy": (table_of(rows(), other_tree), study_of()),
        "a domain": (table_of(rows(), wider), study_of()),
        "the support": (table_of(rows()), study_of(Scales(0.1, Queries(number=40)))),
        "the seed": (table_of(rows()), study_of(Scales(0.05, Queries(number=40, seed=1)))),
        "the workload": (table_of(rows()), study_of(Scales(0.05, Queries(number=41)))),
        "a role": (roles_of(rows()), study_of()),
    }


def roles_of(lines):
    frame = pa.table({name: [line[name] for line in lines] for name in lines[0]})
    return sfumato.read(frame, quasi=["age"], sensitive=["ill"], hierarchies=HIERARCHIES)


@pytest.mark.parametrize("what", list(changes()))
def test_the_cache_is_not_used_after_a_change(tmp_path, made, what):
    cache = tmp_path / "cache.jsonl"
    table, study = changes()[what]
    explore(study_of(), cache, workers=1, table=table_of(rows()))
    made.clear()
    again = explore(study, cache, workers=1, table=table)
    assert len(made) == len(study.candidates)
    assert without_seconds(again) == without_seconds(explore(study, workers=1, table=table))


def test_the_cache_is_used_for_more_candidates_and_other_axes(tmp_path, made):
    cache, study = tmp_path / "cache.jsonl", study_of()
    explore(study, cache, workers=1, table=table_of(rows()))
    made.clear()
    more = Grid((anonymizer("original"),), (NOTHING,))
    other = replace(study, name="other", axes=("k", "loss"), grids=(more, *study.grids))
    explore(other, cache, workers=1, table=table_of(list(reversed(rows()))))
    assert [str(candidate.anonymizer) for candidate in made] == ["original"]


def test_suppression_limits_that_differ_little_are_different_candidates(tmp_path, made):
    cache, study = tmp_path / "cache.jsonl", study_of()
    for share in (0.2, 0.2 + 1e-8):
        grid = Grid((anonymizer("mondrian"),), (requirement("k-anonymity k=4"),), suppress=(share,))
        explore(replace(study, grids=(grid,)), cache, workers=1, table=table_of(rows()))
    assert len(made) == 2


def test_a_cache_of_something_else_is_passed_over(tmp_path, made):
    cache, study = tmp_path / "cache.jsonl", study_of()
    cache.write_text('{"key": "x"}\n[]\nnull\n3\n"text"\n\nnonsense\n{"key": 3, "point": {"id": 1}}\n{"point": {}}\n')
    with pytest.warns(UserWarning, match="8 entries do not fit"):
        assert explore(study, cache, workers=1, table=table_of(rows())).points
    assert len(made) == len(study.candidates)


@pytest.mark.parametrize("workers", [0, -1, 1.5, True])
def test_a_bad_number_of_workers_is_refused(workers):
    with pytest.raises(BadInputError, match="workers"):
        explore(study_of(), workers=workers, table=table_of(rows()))


# ---------------------------------------------------------------- the bundled study


@pytest.fixture(scope="module")
def adult():
    return explore(bundled_study("adult"))


def test_the_bundled_study_has_70_points(adult):
    assert len(adult.points) == len({point.id for point in adult.points}) == 70
    assert {point.status for point in adult.points} == {"measured"}
    assert sum(point.anonymizer == "mondrian ranges=tight" for point in adult.points) == 64
    assert {form: sum(p.form == form for p in adult.points) for form in ("generalization", "bucketization")} == {
        "generalization": 38,
        "bucketization": 32,
    }
    assert adult.about["records"] == 45_222
    assert Study.from_toml(bundled_study("adult").to_toml()) == bundled_study("adult")


def test_the_baselines_are_the_ends_of_the_map(adult):
    by_maker = {point.anonymizer: point for point in adult.points}
    assert by_maker["without-quasi"].measures["p_loss"] == pytest.approx(0, abs=1e-12)
    assert 0.045 <= by_maker["without-quasi"].measures["u_loss"] <= 0.055
    assert by_maker["original"].measures["u_loss"] == pytest.approx(0, abs=1e-12)
    assert "p_loss" not in by_maker["without-sensitive"].measures
    frontier = adult.frontier()
    assert frontier[0].anonymizer == "without-quasi" and frontier[-1].anonymizer == "original"
    assert all(by_maker[name].is_baseline for name in ("without-quasi", "without-sensitive", "original"))


def test_t_closeness_bounds_p_loss_on_adult(adult):
    bounded = [point for point in adult.points if point.requirement.startswith("t-closeness")]
    assert len(bounded) == 16
    assert all(point.measures["p_loss"] <= point.parameters["t"] + 1e-9 for point in bounded)


def test_points_are_plain_values_that_json_can_hold(adult):
    from sfumato.config.documents import json_text, to_plain

    for point in adult.points:
        assert json.loads(json_text({"parameters": point.parameters, "measures": point.measures}))["schema"] == 1
        assert to_plain(point.details) == point.details


def test_a_map_shows_itself_in_a_notebook(adult):
    data, _ = adult._repr_mimebundle_(include=None, exclude=None)
    assert set(data) == {"image/png", "text/plain"} and data["text/plain"] == repr(adult)
