"""Bring your own: files and frames that were made elsewhere become points with measures that are right.

What is right is worked out here from the rows, by Counter and numpy, and by ARX's own numbers.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.anonymizers import anonymizer
from sfumato.anonymizers.external._rows import row_cells
from sfumato.anonymizers.external.external import ExternalFile, ExternalFrame
from sfumato.data.cells import Assignment
from sfumato.data.hierarchies.categorical import flat, tree
from sfumato.data.hierarchies.numeric import numeric
from sfumato.data.reading import read
from sfumato.engines.frames import Frame
from sfumato.errors import BadInputError
from sfumato.measures.groups import measure
from sfumato.measures.queries import Queries
from sfumato.measures.scales import Scales
from sfumato.release.records import RecordRelease
from sfumato.release.release import Release, generalization
from sfumato.requirements.requirement import requirement
from small_tables import small_table

NOTHING = requirement("k-anonymity k=1")
COLUMNS = ("age", "sex", "town", "illness")


def people(records=120, seed=3):
    """A small table, and its rows."""
    generator = np.random.default_rng(seed)
    rows = [
        (int(age), str(sex), str(town), str(ill))
        for age, sex, town, ill in zip(
            generator.integers(20, 40, records),
            generator.choice(["f", "m"], records),
            generator.choice(["a", "b", "c", "d"], records),
            generator.choice(["flu", "cold", "cough"], records),
            strict=True,
        )
    ]
    domains = {
        "age": numeric(20, 39),
        "sex": flat(["f", "m"]),
        "town": tree([["North", "a", "b"], ["South", "c", "d"]]),
    }
    columns = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
    table = read(pa.table(columns), quasi=COLUMNS[:3], sensitive=COLUMNS[3:], hierarchies=domains)
    return table, rows


def brought(table, rows, names=COLUMNS, **said):
    """A frame of rows as a release of a table."""
    frame = pa.table(
        {name: pa.array(list(map(str, column))) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    )
    maker = ExternalFrame(frame=Frame.of(frame), **said)
    return maker.anonymize(table, NOTHING)


def found(release):
    return release.details["brought"]


def write(path, rows, names=COLUMNS, delimiter=","):
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerow(names)
        writer.writerows(rows)
    return path


# -- by other means ----------------------------------------------------------------------------------------------


def plain_measures(texts, secrets, table_secrets, people):
    """k, l, t, discernibility of published rows, from the definitions."""
    groups = {}
    for text, secret in zip(texts, secrets, strict=True):
        groups.setdefault(text, []).append(secret)
    q, n = Counter(table_secrets), len(table_secrets)
    distances, frequencies, kinds = [], [], []
    for members in groups.values():
        p = Counter(members)
        distances.append(sum(abs(p[v] / len(members) - q[v] / n) for v in q) / 2)
        frequencies.append(len(members) / max(p.values()))
        kinds.append(len(p))
    sizes = [len(members) for members in groups.values()]
    gone = people - len(texts)
    return {
        "k": min(sizes),
        "l_frequency": min(frequencies),
        "l_distinct": min(kinds),
        "t_equal": max(distances),
        "average_group": len(texts) / len(groups),
        "discernibility": sum(size**2 for size in sizes) + gone * people,
        "suppressed": gone,
    }


def plain_answers(workload, boxes, secrets, values):
    """Answer queries from rows that are boxes (sets of leaf codes by attribute): each leaf of a box equally likely."""
    masks = [selection.masks for selection in workload.regions.selections]
    answers = []
    for query, used in enumerate(workload.regions.used):
        total = 0.0
        for box, secret in zip(boxes, secrets, strict=True):
            if secret in values and workload.values[query, values.index(secret)]:
                shares = [
                    np.mean([masks[a][chosen][leaf] for leaf in box[a]]) for a, chosen in enumerate(used) if chosen >= 0
                ]
                total += math.prod(shares)
        answers.append(total)
    return np.array(answers)


def close(measured, expected):
    for name, value in expected.items():
        assert measured[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name


# -- a copy of our own release --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("maker", "require", "suppress"),
    [
        ("mondrian ranges=tight", "k-anonymity k=4", 0),
        ("mondrian ranges=tight", "k-anonymity k=3 & l-diversity l=2 variant=distinct", 0.1),
        ("full-domain", "k-anonymity k=4", 0),
        ("full-domain", "k-anonymity k=4", 0.2),
        ("without-quasi", "k-anonymity k=1", 0),
        ("without-sensitive", "k-anonymity k=1", 0),
        ("original", "k-anonymity k=1", 0),
    ],
)
def test_every_measure_of_a_copy_of_our_own_release_is_that_of_the_release(tmp_path, maker, require, suppress):
    table = small_table(records=140)
    release = anonymizer(maker).anonymize(table, requirement(require), suppress=suppress)
    file = release.to_csv(tmp_path / "copy.csv")[0]
    copy = ExternalFile(file=str(file), claim=require).anonymize(table, NOTHING)
    assert isinstance(copy, Release)
    assert found(copy)["truthful"] and found(copy)["certain"]
    scales = Scales(queries=Queries(number=100)).prepare(table)
    own, theirs = scales.measure(release).values, scales.measure(copy).values
    assert list(own) == list(theirs)
    close(theirs, own)
    if maker != "without-sensitive":
        assert found(copy)["verdict"] == "holds"


def test_where_people_cannot_be_placed_all_that_groups_tell_is_right_and_the_rest_is_not_said(tmp_path):
    """Boxes of local recoding overlap: several people could stand in several groups."""
    table = small_table(records=140)
    release = anonymizer("local-recoding").anonymize(table, requirement("k-anonymity k=4"))
    copy = ExternalFile(file=str(release.to_csv(tmp_path / "copy.csv")[0])).anonymize(table, NOTHING)
    own, theirs = measure(release).values, measure(copy).values
    close(theirs, own)
    assert set(theirs) == set(own)
    if isinstance(copy, RecordRelease):
        assert copy.truthful and "the assignment of people to groups is not certain" in found(copy)["cautions"][0]


def test_overlapping_boxes_have_every_measure_where_rows_are_linked():
    """People of 23 and 24 are covered by both groups: the rows alone do not tell who stands where, their order does."""
    rows = [(20, "flu"), (23, "flu"), (24, "flu"), (28, "flu"), (20, "cold"), (28, "cold")]
    columns = {"age": [str(age) for age, _ in rows], "illness": [ill for _, ill in rows]}
    table = read(pa.table(columns), quasi=["age"], sensitive=["illness"], hierarchies={"age": numeric(20, 29)})
    group = np.array([0, 0, 1, 1, 0, 1])
    lo, hi = np.array([[0], [3]], np.int32), np.array([[4], [8]], np.int32)
    own = generalization(table, Assignment.gathered(row_cells(table), group), lo, hi, ranges=None)
    shown = [(("20-24", "23-28")[g], ill) for g, (_, ill) in zip(group, rows, strict=True)]
    linked = brought(table, shown, ("age", "illness"), aligned="yes")
    alone = brought(table, shown, ("age", "illness"))
    assert isinstance(linked, Release) and isinstance(alone, RecordRelease) and alone.truthful
    scales = Scales(queries=Queries(number=30), min_support=0.2).prepare(table)
    ours, theirs, less = (scales.measure(release).values for release in (own, linked, alone))
    assert set(theirs) == set(ours) and "definetti_accuracy" in set(theirs) - set(less)
    close(theirs, ours)


# -- notations of others -----------------------------------------------------------------------------------------------


def test_a_file_of_arx_has_arx_s_loss_and_groups(shared, tmp_path):
    """Full-domain, k=5, at most 5 % suppressed: the optimum of ORACLES.md, applied here by the hierarchy files."""
    folder = shared / "data" / "arx" / "adult"
    rows = list(csv.reader((folder / "adult.csv").open(encoding="utf-8"), delimiter=";"))
    names, rows = rows[0], rows[1:]
    levels = dict(zip([name for name in names if name != "occupation"], (0, 3, 0, 0, 2, 1, 1, 0), strict=True))
    labels = {}
    for name in levels:
        lines = csv.reader((folder / f"adult_hierarchy_{name}.csv").open(encoding="utf-8"), delimiter=";")
        labels[name] = {line[0]: line[levels[name]] for line in lines}
    shown = [tuple(labels[name][row[names.index(name)]] for name in levels) for row in rows]
    sizes = Counter(shown)
    stars = tuple("*" for _ in levels)
    texts = [text if sizes[text] >= 5 else stars for text in shown]
    secrets = [row[names.index("occupation")] for row in rows]
    file = write(
        tmp_path / "arx-k5.csv",
        [(*text, secret) for text, secret in zip(texts, secrets, strict=True)],
        (*levels, "occupation"),
        ";",
    )
    table = read(folder / "adult.csv", quasi=list(levels), sensitive=["occupation"], hierarchies=folder)
    release = ExternalFile(file=str(file), claim="k-anonymity k=5", label="ARX").anonymize(table, NOTHING)
    assert isinstance(release, Release) and found(release)["verdict"] == "holds"
    measured = measure(release).values
    expected = plain_measures(texts, secrets, secrets, len(rows))
    close(measured, expected)
    assert measured["loss"] == pytest.approx(0.178339, abs=5e-7)
    assert expected["k"] == 5 and sizes and texts.count(stars) == 1346
    left_out = ExternalFile(file=str(file), suppressed="leave-out").anonymize(table, NOTHING)
    kept = [(text, secret) for text, secret in zip(texts, secrets, strict=True) if text != stars]
    close(measure(left_out).values, plain_measures(*zip(*kept, strict=True), secrets, len(rows)))
    assert left_out.suppressed == 1346
    assert measure(left_out).values["loss"] == pytest.approx(0.178339, abs=5e-7)


def test_intervals_of_arx_r_and_mondrian_programs_are_the_same_boxes():
    table, rows = people()
    notations = {
        "arx": lambda low: f"[{low}, {low + 5}[",
        "cut of R": lambda low: f"({low - 1},{low + 4}]",
        "mondrian": lambda low: f"{low}~{low + 4}",
        "ours": lambda low: f"{low}-{low + 4}",
    }
    for write_interval in notations.values():
        shown = [(write_interval(age // 5 * 5), "*", "North" if t in "ab" else "South", ill) for age, _, t, ill in rows]
        release = brought(table, shown)
        assert isinstance(release, Release)
        lo, hi = release.boxes.lo, release.boxes.hi
        assert (hi[:, 0] - lo[:, 0] == 4).all() and (lo[:, 0] % 5 == 0).all()
        expected = plain_measures([row[:3] for row in shown], [row[3] for row in shown], [r[3] for r in rows], 120)
        close(measure(release).values, expected)
        loss = np.mean([(5 - 1) / (20 - 1), 1.0, (2 - 1) / (4 - 1)])
        assert measure(release).values["loss"] == pytest.approx(loss, abs=1e-9)


def test_a_file_of_sdcmicro_with_na_for_suppressed_values_has_their_loss_and_its_k_by_texts():
    table, rows = people()
    hidden = np.random.default_rng(1).random((len(rows), 3)) < 0.3
    shown = [
        (
            "NA" if gone[0] else f"({(age - 20) // 10 * 10 + 19},{(age - 20) // 10 * 10 + 29}]",
            "NA" if gone[1] else sex,
            "NA" if gone[2] else town,
            ill,
        )
        for (age, sex, town, ill), gone in zip(rows, hidden, strict=True)
    ]
    release = brought(table, shown, claim="k-anonymity k=2")
    assert found(release)["truthful"]
    assert any("'NA' is read as missing" in notice for notice in found(release)["notices"])
    measured = measure(release).values
    texts = [row[:3] for row in shown]
    expected = plain_measures(texts, [row[3] for row in shown], [row[3] for row in rows], 120)
    close(measured, expected)
    widths = [(1.0 if t[0] == "NA" else 9 / 19) + (t[1] == "NA") + (t[2] == "NA") for t in texts]
    assert measured["loss"] == pytest.approx(np.mean(widths) / 3, abs=1e-9)
    matches = [
        sum(all("NA" in (a, b) or a == b for a, b in zip(one, other, strict=True)) for other in texts) for one in texts
    ]
    assert found(release)["verdict"] == ("holds" if min(matches) >= 2 else "fails")


def test_sets_and_members_that_are_no_neighbours_are_told_and_groups_stay_those_of_texts():
    table, rows = people()
    shown = [(age, sex, "{a, c}" if town in "ac" else "b~d", ill) for age, sex, town, ill in rows]
    release = brought(table, shown)
    expected = plain_measures([row[:3] for row in shown], [row[3] for row in shown], [r[3] for r in rows], 120)
    close(measure(release).values, expected)
    assert any("no neighbours" in notice for notice in found(release)["notices"])


def test_texts_that_mean_the_same_but_differ_are_two_groups_as_a_reader_sees_them():
    table, rows = people()
    shown = [(f"{age}.0" if i % 2 else f"{age}", "*", "*", ill) for i, (age, _, _, ill) in enumerate(rows)]
    release = brought(table, shown, claim="k-anonymity k=2")
    assert found(release)["truthful"]
    sizes = Counter(row[0] for row in shown)
    assert measure(release).values["k"] == min(sizes.values()) and release.groups == len(sizes)


# -- perturbed and synthetic -------------------------------------------------------------------------------------------


def test_an_mst_like_synthetic_frame_has_right_counts_and_answers_and_nothing_that_counts_people():
    table, rows = people()
    generator = np.random.default_rng(7)
    drawn = [
        tuple(str(rows[generator.integers(len(rows))][column]) for column in range(4)) for _ in range(100)
    ]  # independent columns
    release = brought(table, drawn, epsilon=1)
    assert isinstance(release, RecordRelease) and not release.people
    assert found(release)["verdict"] == "unchecked" and "nothing in a file" in found(release)["why"]
    scales = Scales(queries=Queries(number=100)).prepare(table)
    measured = scales.measure(release).values
    assert "k" not in measured and "loss" not in measured
    check_counts_and_answers(
        release,
        scales,
        [[[int(r[0]) - 20], ["fm".index(r[1])], ["abcd".index(r[2])]] for r in drawn],
        [r[3] for r in drawn],
    )


def test_a_ctgan_like_frame_of_floats_in_another_order_with_more_columns_is_measured_on_its_nearest_values():
    table, rows = people()
    generator = np.random.default_rng(8)
    ages = generator.normal(30, 8, 90)
    others = [rows[i] for i in generator.integers(0, 120, 90)]
    frame = pa.table(
        {
            "row": list(range(90)),
            "illness": [row[3] for row in others],
            "town": [row[2] for row in others],
            "age": ages,
            "sex": [row[1] for row in others],
        }
    )
    release = ExternalFrame(frame=Frame.of(frame), records="synthetic").anonymize(table, NOTHING)
    nearest = np.clip(np.ceil(ages - 0.5), 20, 39).astype(int) - 20  # of two that are equally near the lower one
    boxes = [
        [[int(age)], ["fm".index(row[1])], ["abcd".index(row[2])]] for age, row in zip(nearest, others, strict=True)
    ]
    check_counts_and_answers(
        release, Scales(queries=Queries(number=100)).prepare(table), boxes, [row[3] for row in others]
    )
    notices = " ".join(found(release)["notices"])
    outside = int(((ages < 20) | (ages > 39)).sum())
    assert f"{outside} rows have a number outside of the domain (20 to 39)" in notices
    assert "no such column to publish: row" in notices and "fewer than the table's 120 records" in notices


def check_counts_and_answers(release, scales, boxes, secrets):
    """Compare marginal counts and the errors of all queries with those of plain rows."""
    values = release.cells.sensitive[0].labels
    for attribute, size in enumerate((20, 2, 4)):
        plain = np.zeros((size, len(values)))
        for box, secret in zip(boxes, secrets, strict=True):
            plain[box[attribute][0], values.index(secret)] += 1
        ours = np.zeros_like(plain)
        np.add.at(ours, release.boxes.lo[:, attribute], release.content)
        assert np.allclose(ours, plain, atol=1e-9)
    workload = scales.workloads[0]
    answers = plain_answers(workload, boxes, secrets, values)
    least = scales.scales.queries.sanity * 120
    errors = np.abs(answers - workload.answers) / np.maximum(workload.answers, least)
    measured = scales.measure(release).values
    assert measured["query_error"] == pytest.approx(errors.mean(), rel=1e-9)
    assert measured["query_error_median"] == pytest.approx(np.median(errors), rel=1e-9)


def test_a_swapped_file_is_not_truthful_and_counts_texts_and_says_so():
    table, rows = people()
    towns = np.random.default_rng(4).permutation([row[2] for row in rows])
    shown = [(age, sex, town, ill) for (age, sex, _, ill), town in zip(rows, towns, strict=True)]
    release = brought(table, shown, aligned="yes")
    assert isinstance(release, RecordRelease) and release.people and not release.truthful
    changed = sum(a[2] != b[2] for a, b in zip(rows, shown, strict=True))
    assert f"{changed} of 120 rows do not cover their person" in found(release)["cautions"][0]
    measured = measure(release).values
    expected = plain_measures([row[:3] for row in shown], [row[3] for row in shown], [r[3] for r in rows], 120)
    close({**measured, "discernibility": expected["discernibility"]}, expected)
    assert "loss" not in measured
    assert release.link is not None and release.link.records == 120


def test_aligned_rows_and_rows_of_an_id_stand_for_the_same_people():
    table, rows = people()
    frame = pa.table(
        {
            "who": [f"p{i}" for i in range(120)],
            **{n: list(c) for n, c in zip(COLUMNS, zip(*rows, strict=True), strict=True)},
        }
    )
    table = read(frame, quasi=COLUMNS[:3], sensitive=COLUMNS[3:], identifier=["who"], hierarchies=table.hierarchies)
    noisy = [(min(age + i % 3, 39), sex, town, ill) for i, (age, sex, town, ill) in enumerate(rows)]
    aligned = brought(table, noisy, aligned="yes")
    shuffled = np.random.default_rng(2).permutation(120)
    by_id = brought(table, [(f"p{i}", *noisy[i]) for i in shuffled], ("who", *COLUMNS), id="who")

    def pairs(release):
        link, rows = release.link, release.rows[release.link.group]
        return Counter(
            {(int(c), *map(int, row)): int(n) for c, row, n in zip(link.cell, rows, link.count, strict=True)}
        )

    assert pairs(aligned) == pairs(by_id)
    plain = Counter()
    codes = {
        tuple(map(int, (*c, v[0]))): i
        for i, (c, v) in enumerate(zip(table.cells.codes, table.cells.values, strict=True))
    }
    order = [quasi.name for quasi in table.cells.quasi]
    assert order == ["age", "sex", "town"]
    ills = table.cells.sensitive[0].labels
    leaf = {label: int(code) for label, code in zip(ills, table.cells.sensitive[0].leaves, strict=True)}
    for (age, sex, town, ill), (shown, *_) in zip(rows, noisy, strict=True):
        place = ("fm".index(sex), "abcd".index(town))
        cell = codes[(age - 20, *place, ills.index(ill))]
        plain[cell, shown - 20, *place, shown - 20, *place, leaf[ill]] += 1
    assert pairs(aligned) == plain


def test_aligned_rows_that_cover_their_people_are_an_ordinary_release():
    table, rows = people()
    shown = [(f"{age // 5 * 5}-{age // 5 * 5 + 4}", sex, town, ill) for age, sex, town, ill in rows]
    release = brought(table, shown, aligned="yes")
    assert isinstance(release, Release) and found(release)["linked"]


# -- columns that are not there ----------------------------------------------------------------------------------------


def test_a_quasi_identifier_that_is_absent_shows_its_whole_domain():
    table, rows = people()
    release = brought(table, [(sex, ill) for _, sex, _, ill in rows], ("sex", "illness"))
    assert measure(release).values["loss"] == pytest.approx(2 / 3, abs=1e-9)
    assert measure(release).values["k"] == min(Counter(row[1] for row in rows).values())
    assert "age and town are not in the file" in found(release)["notices"][0]


def test_without_sensitive_columns_nothing_is_said_of_sensitive_values():
    table, rows = people()
    release = brought(table, [row[:3] for row in rows], COLUMNS[:3])
    assert release.histograms is None and "t_equal" not in measure(release).values


def test_a_claim_that_does_not_hold_is_told_with_what_holds_instead():
    table, rows = people()
    release = brought(table, [("*", sex, "*", ill) for _, sex, _, ill in rows], claim="k-anonymity k=100")
    smallest = min(Counter(row[1] for row in rows).values())
    assert found(release)["verdict"] == "fails" and f"the file reaches k={smallest}" in found(release)["why"]


def test_t_of_a_claim_is_that_of_the_table():
    table, rows = people()
    shown = [("*", sex, "*", ill) for _, sex, _, ill in rows]
    t = plain_measures([r[:3] for r in shown], [r[3] for r in shown], [r[3] for r in rows], 120)["t_equal"]
    for bound, verdict in ((t + 0.001, "holds"), (t - 0.001, "fails")):
        claim = f"t-closeness t={bound:.6f} distance=equal"
        assert found(brought(table, shown, claim=claim))["verdict"] == verdict


# -- what is wrong with a file -----------------------------------------------------------------------------------------


def test_a_category_that_the_table_does_not_know_is_refused_by_file_column_value_and_rows(tmp_path):
    table, rows = people()
    shown = [(*row[:2], "z" if i < 3 else row[2], row[3]) for i, row in enumerate(rows)]
    file = write(tmp_path / "x.csv", shown)
    with pytest.raises(BadInputError, match=r"x\.csv, column 'town': 'z' \(3 rows\) is no value .*na = 'z'"):
        ExternalFile(file=str(file)).anonymize(table, NOTHING)


@pytest.mark.parametrize(
    ("said", "rows", "names", "message"),
    [
        ({"aligned": "yes"}, [("20", "f", "a", "flu")], COLUMNS, "1 row and the table 120 rows"),
        ({"id": "who"}, [("20", "f", "a", "flu")], COLUMNS, "there is no column 'who'"),
        ({}, [("1",)], ("nothing",), "it has none of the table's columns"),
        ({}, [("20", "f", "a", None)], COLUMNS, "1 row miss the sensitive value"),
        ({}, [("20", "f", "a", "plague")], COLUMNS, "'plague' .1 row. is no value"),
        ({"suppressed": "leave-out"}, [("*", "*", "*", "flu")], COLUMNS, "every row shows"),
    ],
)
def test_what_is_wrong_with_a_frame_is_said_in_a_sentence(said, rows, names, message):
    table, _ = people()
    frame = pa.table(
        {name: pa.array(list(column), pa.string()) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    )
    with pytest.raises(BadInputError, match=message):
        ExternalFrame(frame=Frame.of(frame), **said).anonymize(table, NOTHING)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"claim": "k-anonymity k=0"}, "k must be"),
        ({"claim": "k-anonymity k=5", "epsilon": 1.0}, "say one of them"),
        ({"delta": 0.1}, "needs an epsilon"),
        ({"epsilon": 1.0, "aligned": "yes"}, "represent nobody"),
        ({"aligned": "yes", "id": "who"}, "say one of them"),
        ({"records": "robots"}, "records must be one of"),
    ],
)
def test_what_cannot_be_said_of_a_file_is_refused(said, message):
    with pytest.raises(BadInputError, match=message):
        ExternalFile(file="x.csv", **said)


def test_a_missing_and_an_empty_file_are_refused_by_name(tmp_path):
    table, _ = people()
    with pytest.raises(BadInputError, match=r"none\.csv: there is no such file"):
        ExternalFile(file=str(tmp_path / "none.csv")).anonymize(table, NOTHING)
    empty = write(tmp_path / "empty.csv", [])
    with pytest.raises(BadInputError, match=r"empty\.csv: there is a header but no row"):
        ExternalFile(file=str(empty)).anonymize(table, NOTHING)


def test_ids_must_tell_rows_apart(tmp_path):
    _, rows = people()
    frame = pa.table(
        {
            "who": [f"p{i}" for i in range(120)],
            **{n: list(c) for n, c in zip(COLUMNS, zip(*rows, strict=True), strict=True)},
        }
    )
    table = read(frame, quasi=COLUMNS[:3], sensitive=COLUMNS[3:], identifier=["who"])
    twice = [("p1", *rows[0]), ("p1", *rows[1])]
    with pytest.raises(BadInputError, match="1 id in several rows"):
        brought(table, twice, ("who", *COLUMNS), id="who")
    with pytest.raises(BadInputError, match="1 row of 1 have an id that the table has not"):
        brought(table, [("p999", *rows[0])], ("who", *COLUMNS), id="who")


def test_nothing_can_be_required_of_what_was_made_elsewhere():
    table, _ = people()
    with pytest.raises(BadInputError, match="nothing can be required of it"):
        ExternalFile(file="x.csv").check(table, requirement("k-anonymity k=5"), "generalization", 0)


def test_the_text_of_a_brought_file_reads_back():
    maker = ExternalFile(file="a b.csv", label="ARX 3.9", claim="k-anonymity k=5", aligned="yes", na="?,-")
    assert anonymizer(str(maker)) == maker
    assert sfumato.anonymizer("brought file=x.csv epsilon=1").people is False


# -- who stands where, against all ways of matching --------------------------------------------------------------------


def ways(persons, rows):
    """All ways to match rows one to one with persons whom they cover: for each, who stands in which group."""
    found_ways = set()
    for chosen in permutations(range(len(persons)), len(rows)):
        if all(
            low <= persons[p][0] <= high and persons[p][1] == ill
            for p, (low, high, ill) in zip(chosen, rows, strict=True)
        ):
            placed = Counter((persons[p], rows[i][:2]) for i, p in enumerate(chosen))
            found_ways.add(frozenset(placed.items()))
    return found_ways


def test_people_are_placed_where_there_is_one_way_and_a_file_is_truthful_where_there_is_any():
    persons = [(1, "x"), (1, "y"), (2, "x"), (3, "y"), (3, "y"), (4, "x")]
    columns = {"age": [p[0] for p in persons], "ill": [p[1] for p in persons]}
    table = read(pa.table(columns), quasi=["age"], sensitive=["ill"], hierarchies={"age": numeric(1, 4)})
    generator = np.random.default_rng(11)
    seen = Counter()
    for _ in range(30):
        rows = []
        for person in generator.permutation(6)[: generator.integers(3, 7)]:
            age, ill = persons[person]
            low, high = int(generator.integers(1, age + 1)), int(generator.integers(age, 5))
            rows.append((low, high, ill if generator.random() < 0.95 else "x"))
        shown = [(f"{low}-{high}" if low < high else f"{low}", ill) for low, high, ill in rows]
        release = brought(table, shown, ("age", "ill"))
        possible = ways(persons, rows)
        assert found(release)["truthful"] == bool(possible)
        seen[len(possible) > 1, isinstance(release, Release)] += 1
        if isinstance(release, Release):
            cells, boxes, entries = table.cells, release.boxes, release.assignment
            labels = cells.sensitive[0].labels
            placed = {
                (
                    (int(cells.codes[c, 0]) + 1, labels[cells.values[c, 0]]),
                    (int(boxes.lo[g, 0]) + 1, int(boxes.hi[g, 0]) + 1),
                ): int(n)
                for c, g, n in zip(entries.cell, entries.group, entries.count, strict=True)
            }
            assert possible == {frozenset(placed.items())}
    assert seen[False, True] > 1 and seen[True, False] > 1 and seen[True, True] == 0
