"""What was made elsewhere in a study: on the map, in the cache, asked for, published; functions too."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest

import sfumato
from command_line import run
from sfumato import BadInputError, Candidate, Queries, Scales, Study, anonymizer, read_map, requirement
from sfumato.anonymizers.external.external import ExternalFile, ExternalFunction
from sfumato.measures.attacks.attacks import Attacks
from sfumato.measures.reconstruction import UniformReader
from sfumato.tradeoff.exploration.explore import measured_point
from test_foreign import COLUMNS, people, write

NOTHING = requirement("k-anonymity k=1")
STUDY = """
name = "small"
axes = ["empirical_breach", "query_error_median"]
[table]
source = "people.csv"
quasi = ["age", "sex", "town"]
sensitive = ["illness"]
hierarchy = {town = [["North", "a", "b"], ["South", "c", "d"]]}
[scales]
queries = "queries number=20"
reader = "uniform"
[[candidates]]
anonymizers = ["without-quasi"]
"""
CLAIMED = """
[[candidates]]
file = "arx.csv"
name = "ARX"
claim = "k-anonymity k=3"
"""


def folder_with(tmp_path, *blocks):
    """A folder with a table, a file that was made of it, and a study with some blocks."""
    _, rows = people()
    write(tmp_path / "people.csv", rows)
    write(tmp_path / "arx.csv", [("*", sex, "North" if town in "ab" else "South", ill) for _, sex, town, ill in rows])
    (tmp_path / "study.toml").write_text(STUDY + "".join(blocks), encoding="utf-8")
    return rows


def explore(tmp_path, *words, drawn=()):
    """Explore the study; pages and pictures are drawn only where they are looked at."""
    with mock.patch("sfumato.report.folder.DRAWN", drawn):
        done = run("explore", "study.toml", "--out", "map", "--workers", "1", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done


def point_of(tmp_path, name):
    """The point that was made elsewhere under a name."""
    points = json.loads((tmp_path / "map" / "points.json").read_text(encoding="utf-8"))["points"]
    return next(point for point in points if name in point["anonymizer"])


def release(tmp_path, id, to, *words):
    return run("release", "map", "--point", id, "--to", to, *words, cwd=tmp_path)


def test_a_brought_file_is_a_point_with_its_verdict_that_reads_back_and_can_be_published(tmp_path):
    rows = folder_with(tmp_path, CLAIMED)
    done = explore(tmp_path)
    assert "made elsewhere: ARX (arx.csv)" in done.stdout and "it holds of the file" in done.stdout
    point = point_of(tmp_path, "arx.csv")
    assert point["brought"]["verdict"] == "holds" and point["brought"]["truthful"]
    assert point["family"] == "made elsewhere"
    assert read_map(tmp_path / "map")[point["id"]].brought == point["brought"]
    out = release(tmp_path, point["id"], "out.csv")
    assert out.returncode == 0, out.stderr
    published = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    brought = (tmp_path / "arx.csv").read_text(encoding="utf-8").splitlines()
    assert sorted(published) == sorted(brought) and len(published) == len(rows) + 1
    outside = json.loads((tmp_path / "out.csv.certificate-public.json").read_text(encoding="utf-8"))
    assert outside["promise"]["claimed"] == "k-anonymity k=3"
    assert outside["promise"]["parts"][0]["confirmed_by_the_file"] is True
    assert "ARX" in outside["anonymizer"] and "promises nothing" in outside["warnings"][0]["text"]
    inside = json.loads((tmp_path / "out.csv.certificate.json").read_text(encoding="utf-8"))
    assert inside["internal"]["verdict"]["verdict"] == "holds"
    assert inside["internal"]["coverage"]["holds"] is True
    again = run(*outside["verify"][1:], cwd=tmp_path)
    assert again.returncode == 0, again.stderr


def test_nothing_public_names_the_file_or_tells_what_the_table_alone_tells(tmp_path):
    folder_with(tmp_path, CLAIMED)
    explore(tmp_path, drawn=("report-public.html",))
    id = point_of(tmp_path, "arx.csv")["id"]
    assert release(tmp_path, id, "out.csv").returncode == 0
    for name in ("map/report-public.html", "out.csv.certificate-public.json", "out.csv.certificate-public.html"):
        assert "arx.csv" not in (tmp_path / name).read_text(encoding="utf-8"), name
    public = read_map(tmp_path / "map").public()
    [theirs] = [point for point in public.points if point.candidate.anonymizer.external]
    assert theirs.measures == {} and theirs.brought is None and theirs.words.startswith("made elsewhere: ARX;")
    outside = json.loads((tmp_path / "out.csv.certificate-public.json").read_text(encoding="utf-8"))
    assert "internal" not in outside and "digest" not in json.dumps(outside["promise"])


def test_a_public_certificate_depends_on_the_file_alone(tmp_path):
    """Another table of which the same file could have been made: nothing that leaves the house differs."""
    outsides = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        folder_with(folder, CLAIMED)
        if number:  # somebody who is not in the file
            with (folder / "people.csv").open("a", encoding="utf-8") as stream:
                stream.write("20,f,a,flu\n")
        explore(folder)
        assert release(folder, point_of(folder, "arx.csv")["id"], "out.csv").returncode == 0
        outside = json.loads((folder / "out.csv.certificate-public.json").read_text(encoding="utf-8"))
        outsides.append({key: value for key, value in outside.items() if key != "made"})
    assert outsides[0] == outsides[1]


def test_an_edited_file_is_measured_anew_and_the_old_point_is_not_published(tmp_path):
    rows = folder_with(tmp_path, CLAIMED)
    explore(tmp_path)
    first = point_of(tmp_path, "arx.csv")
    write(tmp_path / "arx.csv", [("*", "*", "North" if town in "ab" else "South", ill) for _, _, town, ill in rows])
    refused = release(tmp_path, first["id"], "out.csv")
    assert refused.returncode == 2 and "arx.csv has changed since it was explored" in refused.stderr
    explore(tmp_path)
    second = point_of(tmp_path, "arx.csv")
    assert second["id"] != first["id"] and second["measures"]["k"] > first["measures"]["k"]


def test_a_study_with_files_reads_back_from_where_it_was_written(tmp_path):
    folder_with(tmp_path, CLAIMED, '[[candidates]]\nfile = "arx.csv"\nepsilon = 1\nrecords = "synthetic"\nna = ["?"]\n')
    study = sfumato.read_study(str(tmp_path / "study.toml"))
    (tmp_path / "elsewhere").mkdir()
    written = tmp_path / "elsewhere" / "study.toml"
    written.write_text(study.to_toml(tmp_path / "elsewhere"), encoding="utf-8")
    again = sfumato.read_study(str(written))
    makers = [[candidate.anonymizer for candidate in each.candidates] for each in (study, again)]
    assert [Path(maker.file).resolve() for maker in makers[0][1:]] == [Path(m.file).resolve() for m in makers[1][1:]]
    assert [replace(m, file="") for m in makers[0][1:]] == [replace(m, file="") for m in makers[1][1:]]


def test_points_of_a_study_without_such_files_are_kept_as_they_were(tmp_path):
    folder_with(tmp_path)
    explore(tmp_path)
    assert "brought" not in (tmp_path / "map" / "points.json").read_text(encoding="utf-8")


def test_a_file_is_added_on_the_command_line_with_or_without_a_claim(tmp_path):
    folder_with(tmp_path)
    explore(tmp_path, "--add", "arx.csv", "--add", 'brought file=arx.csv claim="k-anonymity k=1000" label=bold')
    assert point_of(tmp_path, "brought digest")["status"] == "measured"
    bold = point_of(tmp_path, "bold")
    assert bold["brought"]["verdict"] == "fails"
    refused = release(tmp_path, bold["id"], "out.csv")
    assert refused.returncode == 2 and "is claimed to be k-anonymity k=1000, and is not" in refused.stderr
    missing = run("explore", "study.toml", "--out", "map", "--add", "none.csv", cwd=tmp_path)
    assert missing.returncode == 2 and "none.csv: there is no such file" in missing.stderr


def test_a_file_that_shows_people_alone_and_truthfully_is_not_published(tmp_path):
    rows = folder_with(tmp_path, '[[candidates]]\nfile = "raw.csv"\n')
    write(tmp_path / "raw.csv", rows)
    explore(tmp_path)
    refused = release(tmp_path, point_of(tmp_path, "raw.csv")["id"], "out.csv")
    assert refused.returncode == 2 and "look like no other (k is 1)" in refused.stderr
    assert not (tmp_path / "out.csv").exists()


def test_what_is_published_has_neither_the_order_of_the_table_nor_other_columns(tmp_path):
    rows = folder_with(tmp_path, '[[candidates]]\nfile = "noisy.csv"\naligned = true\n')
    noisy = [(min(row[0] + 1 + i % 2, 39), *row[1:], f"note {i}") for i, row in enumerate(rows)]
    write(tmp_path / "noisy.csv", noisy, (*COLUMNS, "note"))
    explore(tmp_path)
    done = release(tmp_path, point_of(tmp_path, "noisy.csv")["id"], "out.csv")
    assert done.returncode == 0, done.stderr
    assert "WARNING: It is not truthful" in done.stdout
    lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    plain = [",".join(map(str, row[:4])) for row in noisy]
    assert lines[0] == ",".join(COLUMNS) and sorted(lines[1:]) == sorted(plain) and lines[1:] != plain


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ('[[candidates]]\nfile = "arx.csv"\nclaim = "k-anonymity"\n', "k is not given"),
        ('[[candidates]]\nfile = "arx.csv"\nanonymizers = ["mondrian"]\n', "unknown key 'anonymizers'"),
        ("[[candidates]]\nfile = 5\n", "file must be a text, not 5"),
        ('[[candidates]]\nfile = "arx.csv"\nepsilon = -1\n', "epsilon must be a number"),
        ('[[candidates]]\nfile = "none.csv"\n', "none.csv: there is no such file"),
        ('[[candidates]]\ncommand = "python make.py {table} {out}"\n', "run the program yourself and name the file"),
        ("[[candidates]]\nanonymizers = ['command run=\"make {table} {out}\"']\n", "run the program yourself"),
    ],
)
def test_a_wrong_block_is_refused_in_a_sentence(tmp_path, block, message):
    folder_with(tmp_path, block)
    done = run("explore", "study.toml", "--out", "map", cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr


UNREADABLE = {
    "strange.csv": ("age,sex,town,illness\n20,f,Atlantis,flu\n", "column 'town': 'Atlantis' (1 row) is no value"),
    "other.csv": ("a,b\n1,2\n", "other.csv: it has none of the table's columns"),
    "empty.csv": ("", "empty.csv"),
    "book.xlsx": ("no workbook", "book.xlsx"),
    "short.csv": ("age,sex,town,illness\n20,f,a,\n", "miss the sensitive value"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_named_file_that_cannot_be_read_is_bad_input_before_anything_is_explored(tmp_path, name):
    content, message = UNREADABLE[name]
    folder_with(tmp_path)
    (tmp_path / name).write_text(content, encoding="utf-8")
    done = run("explore", "study.toml", "--out", "map", "--add", name, cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr and not done.stdout
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert not (tmp_path / "map" / "cache.jsonl").exists() and not (tmp_path / "map" / "points.json").exists()
    with (tmp_path / "study.toml").open("a", encoding="utf-8") as stream:
        stream.write(f'[[candidates]]\nfile = "{name}"\n')
    listed = run("explore", "study.toml", "--out", "map", cwd=tmp_path)
    assert listed.returncode == 2 and listed.stderr == done.stderr
    with pytest.raises(BadInputError):
        sfumato.explore(small_study(tmp_path), workers=1).add(tmp_path / name)


# -- in Python -------------------------------------------------------------------------------------------------------


def small_study(tmp_path):
    folder_with(tmp_path)
    study = sfumato.read_study(str(tmp_path / "study.toml"))
    assert isinstance(study, Study)
    return study


def test_a_map_takes_a_file_a_frame_and_a_function(tmp_path):
    study = small_study(tmp_path)
    map_ = sfumato.explore(study, workers=1)
    by_file = map_.add(tmp_path / "arx.csv", "ARX", claim="k-anonymity k=3")
    assert by_file.points[-1].brought["verdict"] == "holds" and len(by_file.points) == len(map_.points) + 1
    assert len(by_file.add(tmp_path / "arx.csv", "ARX", claim="k-anonymity k=3").points) == len(by_file.points)
    frame = pa.table({"sex": ["f", "m"] * 30, "illness": ["flu", "cold"] * 30})
    by_frame = by_file.add(frame, "synthetic", epsilon=2, delta=1e-6)
    claimed = by_frame.points[-1].brought["claim"]
    assert claimed == "differential privacy epsilon=2 delta=1e-06" and "k" not in by_frame.points[-1].measures

    def half(people, seed):
        return people.sample(frac=0.5, random_state=seed)

    by_function = by_frame.add(half, "half", seed=3)
    assert by_function.points[-1].brought["rows"] == 60 and by_function.points[-1].brought["truthful"]
    rows = by_function.release(by_file.points[-1].id).to_pandas()
    assert len(rows) == 120
    with pytest.raises(BadInputError, match="is in memory, which no file can name"):
        by_frame.study.to_toml()


def test_a_candidate_that_fails_after_ctrl_c_is_made_again(tmp_path):
    """That it failed then says nothing of it, so the cache does not keep it; what fails by itself is kept."""

    def fails(people):
        raise ValueError

    study, cache = small_study(tmp_path).with_candidate(fails, name="fails"), tmp_path / "cache.jsonl"
    for is_pressed, kept in ((True, ["measured"]), (False, ["measured", "failed"])):
        with mock.patch("sfumato.tradeoff.exploration.explore.pressed", return_value=is_pressed):
            sfumato.explore(study, cache, workers=1)
        entries = [json.loads(line) for line in cache.read_text(encoding="ascii").splitlines()]
        assert [entry["point"]["status"] for entry in entries if "point" in entry] == kept


def test_rows_of_a_function_that_keeps_the_order_are_linked_to_people():
    table, _ = people()
    copied = ExternalFunction(function=lambda rows: rows, aligned="yes").anonymize(table, NOTHING)
    assert copied.details["brought"]["linked"] and copied.details["brought"]["certain"]
    assert (copied.boxes.lo[copied.assignment.group] == table.cells.codes[copied.assignment.cell]).all()


def test_a_function_that_fails_is_a_failed_point_with_one_sentence_and_no_data(tmp_path):
    study = small_study(tmp_path)

    def broken(people):
        raise ValueError(f"secret {people.iloc[0]}")

    map_ = sfumato.explore(study.with_candidate(broken, name="broken", records="synthetic"), workers=1)
    assert map_.points[-1].status == "failed" and "secret" not in map_.points[-1].reason
    assert "broken() failed with ValueError" in map_.points[-1].reason


def test_a_file_is_drawn_and_chosen_like_any_release(tmp_path):
    study = small_study(tmp_path).with_candidate(str(tmp_path / "arx.csv"), name="ARX", claim="k-anonymity k=3")
    map_ = sfumato.explore(study, workers=1)
    choice = map_.choose(by="best", prefer="query_error_median")
    theirs = next(point for point in map_.points if point.candidate.anonymizer.external)
    assert choice.point.id in {point.id for point in map_.points}
    assert theirs.id in {point.id for point in map_.frontier()} or theirs.has(study.axes)
    drawn = sfumato.draw(study.table.open(), ExternalFile(file=str(tmp_path / "arx.csv")))
    assert drawn.records == 120
    assert anonymizer(str(theirs.candidate.anonymizer)) == theirs.candidate.anonymizer


def test_the_worst_of_fewer_attacks_is_not_set_beside_the_worst_of_all(tmp_path):
    """A file cannot be made again without a control, so some attacks cannot be tried on it."""
    table, rows = people()
    noisy = write(tmp_path / "noisy.csv", [(min(row[0] + i % 2, 39), *row[1:]) for i, row in enumerate(rows)])
    candidate = Candidate(ExternalFile(file=str(noisy), aligned="yes"), NOTHING)
    scales = Scales(queries=Queries(number=5), reader=UniformReader(), attacks=Attacks(number=100))
    point = measured_point(candidate, scales.prepare(table).ready())
    assert point.status == "measured", point.reason
    assert "record_linkage" in point.measures and "attack_worst" not in point.measures
