"""Records in place of records: what is said of them, what is written, and what the certificates tell."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from command_line import run
from sfumato import BadInputError, Candidate, Scales, anonymizer, measure
from sfumato.anonymizers.perturbation.noise_and_rounding import Rounding
from sfumato.anonymizers.perturbation.record_anonymizer import NOTHING
from sfumato.publish.cautions import cautions_of
from sfumato.publish.certificate import certificate_files
from sfumato.publish.pipeline import publish_point, record_lines
from sfumato.release.records import Records, boxed_records, read_as_records, replicated_uniques, unchanged_records
from test_check_command import mapped

AGES = {"age": {"type": "numeric", "lower": 0, "upper": 99}}
STUDY = """
name = "small"
axes = ["empirical_breach", "query_error"]
[table]
source = "people.csv"
quasi = ["age", "sex"]
sensitive = ["ill"]
[table.hierarchy.age]
type = "numeric"
lower = 0
upper = 99
[[candidates]]
anonymizers = ["rounding base=10"]
[scales]
min_support = 0.2
queries = "queries number=5"
"""


def people(seed: int = 0, number: int = 60) -> dict[str, list[str]]:
    generator = np.random.default_rng(seed)
    return {
        "age": [str(age) for age in generator.integers(20, 60, number)],
        "sex": [str(sex) for sex in generator.choice(["f", "m"], number)],
        "ill": [str(ill) for ill in generator.choice(["cold", "flu", "gout"], number)],
    }


def table_of(columns: dict[str, list[str]]) -> Any:
    return sfumato.read(pa.table(columns), quasi=["age", "sex"], sensitive=["ill"], hierarchies=AGES)


def rows_of(path: Path) -> list[tuple[str, ...]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [tuple(row.values()) for row in csv.DictReader(file)]


def explored(folder: Path, columns: dict[str, list[str]]) -> str:
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    return mapped(folder)[0]


def test_the_written_file_holds_the_rounded_records_and_no_others(tmp_path: Path) -> None:
    columns = people()
    sfumato.draw(table_of(columns), "rounding base=10").to_csv(tmp_path / "out.csv")
    nearest = [str(10 * round(int(age) / 10)) for age in columns["age"]]  # Python and numpy round halves to even
    wanted = Counter(zip(nearest, columns["sex"], columns["ill"], strict=True))
    assert Counter(rows_of(tmp_path / "out.csv")) == wanted


def test_what_is_counted_of_groups_is_what_the_rows_of_the_file_say(tmp_path: Path) -> None:
    release = sfumato.draw(table_of(people()), "rounding base=20")
    release.to_csv(tmp_path / "out.csv")
    groups: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for *quasi, ill in rows_of(tmp_path / "out.csv"):
        groups[tuple(quasi)][ill] += 1
    measures = sfumato.measure(release)
    assert measures["k"] == min(sum(group.values()) for group in groups.values())
    assert measures["l_distinct"] == min(map(len, groups.values()))
    assert measures["average_group"] == pytest.approx(60 / len(groups), abs=1e-12)
    assert "loss" not in measures.values  # points that are not true have no width to lose


def test_a_copy_of_a_release_as_boxes_has_its_estimates(tmp_path: Path) -> None:
    table = table_of(people(3))
    release = sfumato.anonymize(table, "k-anonymity k=5")
    cell, group = release.assignment.cell, release.assignment.group
    values = table.cells.sensitive[0].leaves[table.cells.values[cell]]
    copy = boxed_records(
        table, release.boxes.lo[group], release.boxes.hi[group], values, people=True, truthful=True,
        counts=release.assignment.count,
    )  # fmt: skip
    prepared = Scales(min_support=0.2).prepare(table)
    ours, others = prepared.measure(release).values, prepared.measure(copy).values
    assert others.keys() == ours.keys() - {"u_loss_em", "query_error_em", "definetti_accuracy", "definetti_gain"}
    assert all(others[name] == pytest.approx(ours[name], abs=1e-9) for name in others)


def test_a_reader_of_any_release_finds_records_inside_its_boxes_with_the_values_of_its_groups() -> None:
    table, generator = table_of(people(1)), np.random.default_rng(0)
    for form in ("generalization", "bucketization"):
        release = sfumato.anonymize(table, "k-anonymity k=6", form=form)
        codes = read_as_records(release, generator).codes
        assert len(codes) == 60
        values = Counter(codes[:, 2].tolist())
        assert values == Counter(Records.of(table.cells).codes[:, 2].tolist())
        if form == "bucketization":  # exact quasi-identifiers
            assert Counter(map(tuple, codes[:, :2].tolist())) == Counter(
                map(tuple, Records.of(table.cells).codes[:, :2].tolist())
            )
        else:
            inside = (codes[:, None, :2] >= release.boxes.lo) & (codes[:, None, :2] <= release.boxes.hi)
            assert inside.all(axis=2).any(axis=1).all()


def test_how_many_records_are_published_as_they_are_is_counted() -> None:
    columns = people(2)
    release = sfumato.draw(table_of(columns), "rounding base=10")
    assert unchanged_records(release) == sum(int(age) % 10 == 0 for age in columns["age"])
    records = Counter(zip(*columns.values(), strict=True))
    once = {record for record, number in records.items() if number == 1}
    shown = {(str(10 * round(int(age) / 10)), sex, ill) for age, sex, ill in records}
    assert replicated_uniques(release) == (len(once & shown), len(once))


def test_two_tables_that_come_out_as_one_file_have_one_public_certificate(tmp_path: Path) -> None:
    first = people(4)
    second = {**first, "age": [str(10 * round(int(age) / 10) + 1) for age in first["age"]]}
    texts = []
    for name, columns in (("one", first), ("two", second)):
        folder = tmp_path / name
        folder.mkdir()
        publish_point(folder / "map", explored(folder, columns), folder / "out.csv")
        public = json.loads(certificate_files(folder / "out.csv")[2].read_text(encoding="utf-8"))
        texts.append(json.dumps({**public, "made": ""}))
        assert (folder / "out.csv").read_bytes() == (tmp_path / "one" / "out.csv").read_bytes()
    assert texts[0] == texts[1]


def test_a_list_of_columns_stands_in_a_text_and_comes_back() -> None:
    for columns in ((), ("age",), ("a b", "c,d", 'e"f'), ("x=y", " z")):
        maker = Rounding(5, columns)
        assert anonymizer(str(maker)) == maker


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-50, 150), min_size=1, max_size=20))
def test_the_nearest_leaf_is_found(numbers: list[float]) -> None:
    table = table_of(people())
    records = Records(table.cells, np.zeros((len(numbers), 3), np.int32))
    found = records.nearest(0, np.array(numbers))
    for code, number in zip(found, numbers, strict=True):
        assert abs(code - number) <= min(abs(leaf - number) for leaf in range(100)) + 1e-9


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rounding base=10 columns=sex", "column 'sex' has none"),
        ("rounding base=10 columns=nobody", "there is no coded column 'nobody'"),
        ("rounding base=0", "base must be a number of more than 0"),
    ],
)
def test_columns_that_cannot_be_changed_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(BadInputError, match=sentence):
        sfumato.draw(table_of(people()), text)


def test_no_requirement_is_promised_by_changing_values() -> None:
    with pytest.raises(BadInputError, match="cannot promise k-anonymity k=5"):
        anonymizer("rounding base=5").anonymize(table_of(people()), sfumato.requirement("k-anonymity k=5"))


def test_the_worst_of_some_sensitive_attributes_is_not_said_for_the_worst_of_all() -> None:
    columns = people() | {"pay": ["10", "30"] * 30}
    domains = AGES | {"pay": {"type": "numeric", "lower": 0, "upper": 50}}
    table = sfumato.read(pa.table(columns), quasi=["age", "sex"], sensitive=["ill", "pay"], hierarchies=domains)
    moved = Rounding(50.0, columns=("pay",)).draw(table)  # 0 and 50, which nobody has
    measured = measure(moved)
    assert {*measured.by_sensitive} == {"ill"} and "l_distinct" in measured.by_sensitive["ill"]
    assert not {"l_distinct", "l_frequency", "t_equal", "p_loss", "a_know"} & {*measured.values}
    assert measured.values["k"] == 1


def test_a_maker_that_changed_nothing_cannot_publish_the_table(tmp_path: Path) -> None:
    columns = people()
    id = explored(tmp_path, columns | {"age": [str(int(age) // 10 * 10) for age in columns["age"][:-1]] + ["90"]})
    with pytest.raises(BadInputError, match="shows the table as it is: not one of 60 records is changed"):
        publish_point(tmp_path / "map", id, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_the_publisher_alone_is_told_of_a_seed() -> None:
    table = table_of(people())
    seeded, fresh = (anonymizer(text) for text in ("noise scale=0.3 seed=7", "noise scale=0.3"))
    told = [
        {each.about: each for each in cautions_of(maker.anonymize(table, NOTHING), Candidate(maker, NOTHING))}["chance"]
        for maker in (seeded, fresh)
    ]
    assert told[0].text == told[1].text and "seed" not in told[0].text
    assert "drawn with a seed" in told[0].count and not told[1].count


def test_only_what_was_audited_is_called_re_checked(tmp_path: Path) -> None:
    maker = anonymizer("microaggregation k=5")
    release = sfumato.draw(table_of(people()), maker)
    said = {audited: record_lines(release, maker, tmp_path / "out.csv", audited)[1] for audited in (True, False)}
    assert "re-checked on the written file" in said[True]
    assert "re-checked" not in said[False] and "checked before it was written" in said[False]


SCRIPT = "<script>window.pwned=1</script>"
FORMULA = '=HYPERLINK("http://evil","click")'
IMAGE = "<img src=x onerror=alert(1)>"
PLACE = "<b>Ort</b>"
RAW = ("<script>window.pwned", "<img src=x", "<b>Ort</b>", "</title><svg")
MAKERS = ["rounding base=10", "pram keep=0.5", "microaggregation k=4", "cart", "mst epsilon=5"]
PAGES_STUDY = f"""
name = "</title><svg onload=alert(1)>"
axes = ["empirical_breach", "query_error"]
[table]
source = "people.csv"
quasi = ["age", "{PLACE}"]
sensitive = ["illness"]
[table.hierarchy]
age = {{type = "numeric", lower = 20, upper = 59}}
"{PLACE}" = {{type = "flat", values = ["{SCRIPT}", '{FORMULA}', "a"]}}
illness = {{type = "flat", values = ["{IMAGE}", "flu", '{FORMULA}']}}
[scales]
queries = "queries number=5"
reader = "uniform"
[[candidates]]
anonymizers = {json.dumps(MAKERS)}
[[candidates]]
file = "theirs.csv"
name = "{IMAGE}"
claim = "k-anonymity k=1"
"""


def written(path: Path, names: list[str], rows: list[tuple[Any, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([names, *rows])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    generator = np.random.default_rng(4)
    ages = generator.integers(20, 60, 80).tolist()
    places = [(SCRIPT, FORMULA, "a")[i] for i in generator.integers(0, 3, 80)]
    ills = [(IMAGE, "flu", FORMULA)[i % 3] for i in range(80)]
    names = ["age", PLACE, "illness"]
    rows = list(zip(ages, places, ills, strict=True))
    written(folder / "people.csv", names, rows)
    written(folder / "theirs.csv", names, [(min(age + 7, 59), place, ill) for age, place, ill in rows])
    (folder / "study.toml").write_text(PAGES_STUDY, encoding="utf-8")
    done = run("explore", "study.toml", "--out", "map", "--workers", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def points(folder: Path) -> dict[str, dict[str, Any]]:
    found = json.loads((folder / "map" / "points.json").read_text(encoding="utf-8"))["points"]
    return {point["anonymizer"].split()[0] + point["form"]: point for point in found}


def test_no_page_of_a_map_has_a_value_or_name_as_code(folder: Path) -> None:
    assert all(point["status"] == "measured" for point in points(folder).values()), points(folder)
    for name in ("report.html", "report-public.html"):
        text = (folder / "map" / name).read_text(encoding="utf-8")
        assert not [raw for raw in RAW if raw in text], name
    assert "pwned" in (folder / "map" / "report.html").read_text(encoding="utf-8")  # it is told, escaped


@pytest.mark.parametrize("which", range(len(MAKERS) + 1))
def test_no_certificate_has_a_value_or_name_as_code_and_no_cell_runs(folder: Path, which: int) -> None:
    name, point = sorted(points(folder).items())[which]
    out = folder / f"out{which}.csv"
    done = run("release", "map", "--point", point["id"], "--to", out, "--set", "escape-formulas=yes", cwd=folder)
    assert done.returncode == 0, (name, done.stderr)
    pages = sorted(folder.glob(f"out{which}.csv.*.html"))
    assert len(pages) >= 2
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not [raw for raw in RAW if raw in text], (name, page.name)
    with out.open(encoding="utf-8", newline="") as stream:
        cells = [cell for row in csv.reader(stream) for cell in row]
    assert any(cell == f"'{FORMULA}'" or cell == f"'{FORMULA}" for cell in cells)
    assert not any(cell.startswith("=") for cell in cells), name
    public = json.loads((folder / f"out{which}.csv.certificate-public.json").read_text(encoding="utf-8"))
    again = run(*public["verify"][1:], cwd=folder) if public["verify"][0] == "sfumato" else done
    assert again.returncode == 0, (name, again.stderr)
