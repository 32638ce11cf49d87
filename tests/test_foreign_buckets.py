"""Bucketizations that were made elsewhere: points with the right form and measures, and who is where, if certain.

What is right is worked out from rows by Counter, or is what our own release of the same file has.
"""

from __future__ import annotations

import csv
import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from command_line import run
from sfumato.anonymizers.external.external import BroughtFile
from sfumato.data.hierarchies.categorical import flat, tree
from sfumato.data.hierarchies.numeric import numeric
from sfumato.data.reading import read
from sfumato.errors import BadInputError
from sfumato.measures.fidelity.fidelity import Fidelity
from sfumato.measures.groups import measure
from sfumato.measures.queries import Queries
from sfumato.measures.scales import Scales
from sfumato.release.records import RecordRelease
from sfumato.release.release import Release
from sfumato.requirements.requirement import requirement
from test_foreign import COLUMNS, brought, found, people, plain_measures, write
from test_foreign_release import explore, folder_with, point_of, release

NOTHING = requirement("k-anonymity k=1")
NAMES = (*COLUMNS, "group")
NEED_PEOPLE = {"u_loss_em", "query_error_em", "definetti_accuracy", "definetti_gain"}
MAKERS = [
    ("mondrian", "k-anonymity k=6"),
    ("mondrian", "l-diversity l=2 variant=distinct"),
    ("anatomy", "l-diversity l=2 variant=frequency"),
    ("exchange", "t-closeness t=0.3 distance=js"),
]


def scales(table):
    return Scales(queries=Queries(number=30), fidelity=Fidelity(), min_support=0.2).prepare(table)


def close(theirs, own, names):
    for name in names:
        assert theirs[name] == pytest.approx(own[name], rel=1e-12, abs=1e-12), name


@pytest.mark.parametrize(("maker", "wanted"), MAKERS)
def test_a_copy_of_our_own_bucketization_has_its_measures(tmp_path, maker, wanted):
    table, _ = people()
    own = sfumato.anonymize(table, wanted, maker, form="bucketization")
    [file] = own.to_csv(tmp_path / "out.csv")
    copy = BroughtFile(file=str(file), group="group").anonymize(table, NOTHING, "bucketization")
    assert copy.form == "bucketization" and found(copy)["truthful"] and found(copy)["buckets"] == own.groups
    ours, theirs = scales(table).measure(own).values, scales(table).measure(copy).values
    certain = isinstance(copy, Release)
    assert certain == found(copy)["certain"] and (certain or maker != "mondrian")
    assert set(theirs) == set(ours) - (set() if certain else NEED_PEOPLE)
    random = set() if certain else {name for name in theirs if name.startswith("pmse")}  # values are dealt anew
    close(theirs, ours, set(theirs) - random)


def test_buckets_of_any_tool_are_measured_as_their_rows_say():
    table, rows = people()
    order = np.random.default_rng(2).permutation(len(rows))
    labels = {int(i): f"bucket {place // 10}" for place, i in enumerate(order)}
    shown = [(*row, labels[i]) for i, row in enumerate(rows)]
    copy = brought(table, shown, NAMES, group="group")
    buckets = [row[4] for row in shown]
    wanted = plain_measures(buckets, [row[3] for row in shown], [row[3] for row in rows], len(rows))
    measured = measure(copy).values
    for name in ("l_frequency", "l_distinct", "t_equal", "average_group"):
        assert measured[name] == pytest.approx(wanted[name], abs=1e-12), name
    assert measured["smallest_group"] == 10 and measured["loss"] == 0
    assert measured["k"] == min(Counter(row[:3] for row in rows).values())  # from exact quasi-identifiers


def test_who_is_where_is_found_only_where_there_is_one_way():
    """Random buckets of small tables: what is settled is the truth, and what is not has a second way."""
    settled = 0
    for seed in range(24):
        generator = np.random.default_rng(seed)
        number = int(generator.integers(6, 30))
        table, rows = people(number, seed)
        rows = [(20 + int(generator.integers(0, number)), "f", "a", row[3]) for row in rows]
        domains = {"age": numeric(20, 60), "sex": flat(["f", "m"]), "town": tree([["North", "a"], ["South", "c"]])}
        columns = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
        table = read(pa.table(columns), quasi=COLUMNS[:3], sensitive=COLUMNS[3:], hierarchies=domains)
        bucket = generator.integers(0, max(number // 4, 1), number)
        copy = brought(table, [(*row, int(b)) for row, b in zip(rows, bucket, strict=True)], NAMES, group="group")
        assert found(copy)["truthful"]
        if not isinstance(copy, Release):
            continue
        settled += 1
        cells, given = table.cells, copy.assignment
        age, ill = cells.quasi[0].hierarchy, cells.sensitive[0]
        names = {place: label for label, place in zip(sorted(map(str, set(bucket.tolist()))), range(99), strict=False)}
        shown = Counter()
        for cell, group, count in zip(given.cell, given.group, given.count, strict=True):
            shown[age.leaves[cells.codes[cell, 0]], ill.labels[cells.values[cell, 0]], names[int(group)]] += int(count)
        assert shown == Counter((str(row[0]), row[3], str(int(b))) for row, b in zip(rows, bucket, strict=True))
    assert 3 < settled < 24


def test_a_file_whose_buckets_have_other_values_is_not_truthful():
    table, rows = people()
    shown = [(*row, i // 12) for i, row in enumerate(rows)]
    first = next(i for i, row in enumerate(shown[12:], 12) if row[3] != shown[0][3])
    shown[0], shown[first] = (*shown[0][:3], shown[first][3], shown[0][4]), (*shown[first][:3], *shown[0][3:4], 1)
    copy = brought(table, shown, NAMES, group="group")
    assert isinstance(copy, RecordRelease) and not found(copy)["truthful"] and "loss" not in measure(copy).values


def test_a_linked_bucketization_is_certain_where_the_file_alone_is_not():
    doubled = [(age, "f", "a", ill) for age in (20, 30) for ill in ("flu", "cold")]
    columns = dict(zip(COLUMNS, map(list, zip(*doubled, strict=True)), strict=True))
    table = sfumato.read(pa.table(columns), quasi=list(COLUMNS[:3]), sensitive=["illness"])
    shown = [(*row, bucket) for row, bucket in zip(doubled, (0, 1, 1, 0), strict=True)]
    assert not found(brought(table, shown, NAMES, group="group"))["certain"]
    assert found(brought(table, shown, NAMES, group="group", aligned="yes"))["certain"]


@pytest.mark.parametrize(
    ("said", "change", "message"),
    [
        ({"group": "bucket"}, {}, "there is no column 'bucket' (group)"),
        ({"group": "town"}, {}, "is one of the table's, so it cannot tell buckets"),
        ({"group": "group", "records": "synthetic"}, {}, "synthetic records stand for nobody"),
        ({"group": "group"}, {0: "20-29"}, "it shows '20-29', and a bucketization (group) shows exact"),
    ],
)
def test_what_cannot_be_a_bucketization_is_refused_in_a_sentence(said, change, message):
    table, rows = people()
    shown = [(change.get(0, row[0]), *row[1:], i % 9) for i, row in enumerate(rows)]
    with pytest.raises(BadInputError) as raised:
        brought(table, shown, NAMES, **said)
    assert message in str(raised.value)


def test_a_bucketization_without_its_values_is_refused():
    table, rows = people()
    with pytest.raises(BadInputError, match=r"there is no column 'illness'.*leave group out"):
        brought(table, [(*row[:3], 1) for row in rows], (*COLUMNS[:3], "group"), group="group")


def test_a_column_called_group_is_asked_about_and_not_guessed_at():
    table, rows = people()
    copy = brought(table, [(*row, i % 9) for i, row in enumerate(rows)], NAMES)
    assert copy.form == "generalization"
    assert any("""say so: group = "group\"""" in notice for notice in found(copy)["notices"])


# -- on a map, and published ---------------------------------------------------------------------------------------

CLAIM = 'claim = "l-diversity l=2 variant=distinct"\n'
BLOCK = f'[[candidates]]\nfile = "buckets.csv"\nname = "Anatomist"\ngroup = "bag"\n{CLAIM}'


def bucketized(tmp_path, size=6):
    """A study with a file that has the raw rows with a column of buckets."""
    rows = folder_with(tmp_path, BLOCK)
    ordered = sorted(rows, key=lambda row: row[3])
    apart = [ordered[place : place + len(rows) // size] for place in range(0, len(rows), len(rows) // size)]
    bags = [(*row, f"bag {i}") for part in apart for i, row in enumerate(part)]
    write(tmp_path / "buckets.csv", bags, (*COLUMNS, "bag"))
    return bags


def test_a_bucketization_is_published_with_its_values_dealt_anew(tmp_path):
    """The file that is brought has every value beside the person whose it is: what is published must not."""
    bags = bucketized(tmp_path)
    done = explore(tmp_path)
    point = point_of(tmp_path, "buckets.csv")
    assert point["form"] == "bucketization" and point["status"] == "measured", point["reason"]
    assert point["brought"]["verdict"] == "holds" and "smallest_group" in point["measures"]
    assert "Anatomist" in done.stdout
    out = release(tmp_path, point["id"], "out.csv")
    assert out.returncode == 0, out.stderr
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as stream:
        written = [tuple(row.values()) for row in csv.DictReader(stream)]
    texts = [tuple(map(str, row)) for row in bags]
    for columns in ((0, 1, 2, 4), (3, 4)):  # people in their buckets, values in theirs
        assert Counter(tuple(row[c] for c in columns) for row in written) == Counter(
            tuple(row[c] for c in columns) for row in texts
        )
    kept = (Counter(written) & Counter(texts)).total()
    assert kept < 0.7 * len(texts)
    outside = json.loads((tmp_path / "out.csv.certificate-public.json").read_text(encoding="utf-8"))
    assert outside["warnings"][1]["about"] == "identity" and "--group" in outside["verify"]
    assert any("does not hide who is in it" in said for said in outside["in_plain_words"]["does_not"])
    assert "bag 1" in {row[4] for row in written} and "bag" not in outside["columns"]["quasi"]
    again = run(*outside["verify"][1:], cwd=tmp_path)
    assert again.returncode == 0, again.stderr


def test_a_map_takes_buckets_as_a_frame_and_as_a_file(tmp_path):
    study = sfumato.read_study(str(bucket_study(tmp_path)))
    map_ = sfumato.explore(study, workers=1)
    own = sfumato.anonymize(study.table.open(), "k-anonymity k=6", form="bucketization")
    [file] = own.to_csv(tmp_path / "own.csv")
    framed = map_.add(own.to_pandas(), "frame", group="group").points[-1]
    filed = map_.add(file, "file", group="group").points[-1]
    assert framed.form == filed.form == "bucketization" and framed.measures == filed.measures
    assert framed.measures["smallest_group"] == measure(own)["smallest_group"]
    grown = study.with_candidate(file, "file", group="group")
    again = sfumato.Study.from_toml(grown.to_toml(tmp_path), str(tmp_path / "study.toml"))
    assert again.candidates[-1].form == "bucketization"


def bucket_study(tmp_path):
    folder_with(tmp_path)
    return tmp_path / "study.toml"


def test_a_bucket_of_one_is_not_published(tmp_path):
    bags = bucketized(tmp_path)
    write(tmp_path / "buckets.csv", [(*bags[0][:4], "bag alone"), *bags[1:]], (*COLUMNS, "bag"))
    study = tmp_path / "study.toml"
    text = study.read_text(encoding="utf-8").replace(CLAIM, "")
    study.write_text(text, encoding="utf-8")
    explore(tmp_path)
    refused = release(tmp_path, point_of(tmp_path, "buckets.csv")["id"], "out.csv")
    assert refused.returncode == 2 and "has 1 row alone in a bucket" in refused.stderr
