"""What studies of diagnoses need: trees of ICD codes, studies that a release supports, items that no line names."""

from __future__ import annotations

import csv
import gzip
from fractions import Fraction
from pathlib import Path
from statistics import mean

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import command_line
from patients import patient, patients, within, write_pair, write_patients
from sfumato import BadInputError, read_baskets, tree
from sfumato.anonymizers.items import anonymize_baskets
from sfumato.config.options import parse
from sfumato.data.declaration import BasketsDeclaration
from sfumato.data.hierarchies.classifications import CLASSIFICATIONS
from sfumato.data.items import baskets_of
from sfumato.measures.items.losses import ItemLosses
from sfumato.measures.scales import BasketScales, measure_baskets
from sfumato.release.items import global_release, set_recoding
from sfumato.requirements.items import itemsets_of, read_weights, utility_constraints
from sfumato.requirements.policy_files import Policy
from strategies import tries

ICD_9, ICD_10 = CLASSIFICATIONS["icd-9-cm"], CLASSIFICATIONS["icd-10"]

# -- trees of facts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("classification", "code", "path"),
    [
        (ICD_9, "250.01", ["250", "249-259", "240-279"]),
        (ICD_9, "042", ["042", "042", "001-139"]),
        (ICD_9, "8", ["008", "001-009", "001-139"]),
        (ICD_9, "285.1", ["285", "280-289", "280-289"]),
        (ICD_9, "V5867", ["V58", "V50-V59", "V01-V91"]),
        (ICD_9, "E812.0", ["E812", "E810-E819", "E000-E999"]),
        (ICD_10, "E11.9", ["E11", "E10-E14", "E00-E90"]),
        (ICD_10, "I10", ["I10", "I10-I15", "I00-I99"]),
        (ICD_10, "Y05", ["Y05", "X85-Y09", "V00-Y99"]),
    ],
)
def test_codes_have_the_category_block_and_chapter_of_the_classification(classification, code, path):
    assert classification.path(code) == [code, *path]


def test_a_tree_is_named_in_place_of_a_file_and_survives_a_study(tmp_path):
    file = tmp_path / "visits.txt"
    file.write_text("250.01 250.02 V58\n250 401.9\n")
    declared = BasketsDeclaration(str(file), tree="icd-9-cm")
    own = declared.open()
    assert [level.labels for level in own.tree.levels][1:4] == [
        ("250 (all)", "401", "V58"),
        ("249-259", "401-405", "V50-V59"),
        ("240-279", "390-459", "V01-V91"),
    ]
    assert declared.entries(tmp_path / "elsewhere")["tree"] == "icd-9-cm" and declared.files == [file]
    assert any("called '250 (all)'" in notice for notice in own.notices)


def test_codes_that_fit_nothing_are_named_with_a_remedy(tmp_path):
    with pytest.raises(BadInputError, match=r"2 of 3 items are no codes of ICD-10 \('cold', 'flu'\); correct them"):
        read_baskets([{"cold", "flu", "J10"}], tree="icd-10")


def test_chapters_and_blocks_agree_with_the_tree_of_the_diabetes_data(shared):
    """Blocks there have other texts (10-18 for 010-018), and some were made up; the others must hold the same codes."""
    with gzip.open(shared / "data" / "transactions" / "uci_diabetes130_icd9_hierarchy.csv.gz", "rt") as stream:
        rows = list(csv.reader(stream))[1:]
    ours = {row[0]: row for row in ICD_9.rows(row[0] for row in rows)}
    assert [ours[row[0]][3] for row in rows] == [row[3] for row in rows]
    assert [ours[row[0]][1] for row in rows] == [row[1] for row in rows]
    made_up = {"1-139", "E800-E999", "V01-V89"}  # the blocks there of 42, E929, V85 and V86: chapters
    theirs: dict[str, set[str]] = {}
    for row in rows:
        theirs.setdefault(row[2], set()).add(row[0])
    blocks: dict[str, set[str]] = {}
    for code, row in ours.items():
        blocks.setdefault(row[2], set()).add(code)
    real = [codes for name, codes in theirs.items() if "/" not in name and name not in made_up]
    assert all(codes in blocks.values() for codes in real) and len(real) > 120


# -- studies ---------------------------------------------------------------------------------------------------


@given(st.lists(st.sets(st.sampled_from("abcde")), min_size=1, max_size=8), st.data())
@tries(60)
def test_studies_are_supported_as_the_definition_says(tmp_path_factory, rows, data):
    own = baskets_of([*rows, {"a", "b"}])
    keys = data.draw(st.lists(st.integers(-1, 3), min_size=len(own.items), max_size=len(own.items)))
    studies = data.draw(st.lists(st.sets(st.sampled_from(own.items), min_size=1), min_size=1, max_size=4))
    file = tmp_path_factory.getbasetemp() / "studies.txt"
    file.write_text("# studies\n" + "".join(f"study {n}: {' '.join(sorted(s))}\n" for n, s in enumerate(studies)))
    release = global_release(own, set_recoding(own.items, np.array(keys)))
    key_of = dict(zip(own.items, keys, strict=True))
    expected = sum(
        all(
            key_of[code] >= 0 and all(other in study for other in own.items if key_of[other] == key_of[code])
            for code in study
        )
        for study in studies
    )
    assert measure_baskets(release, BasketScales(studies=str(file)))["studies_supported"] == expected


def test_a_node_supports_the_study_of_that_node_and_no_other(tmp_path):
    """`lung` stands for c too, which nobody has: a study of a and b alone is not told from it."""
    own = baskets_of([{"a"}, {"a", "b"}, {"b", "x"}, {"x"}, {"x"}], tree([["lung", "a", "b", "c"], ["skin", "x", "y"]]))
    file = tmp_path / "studies.txt"
    file.write_text("lungs: lung\nboth: a b\neverything: lung skin\nx: x\n")
    release = anonymize_baskets(own, "k-anonymity k=2", "partition")
    measured = measure_baskets(anonymize_baskets(own, "km-anonymity k=3 m=1", "aa"), BasketScales(studies=str(file)))
    assert measured["studies_supported"] == 3
    assert measure_baskets(release, BasketScales(studies=str(file)))["studies_supported"] >= 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b", "a name, a colon and its items"),
        ("s: a\ns: b", "is in another line"),
        ("s: q", "'q' is in no basket"),
    ],
)
def test_bad_studies_are_named_by_line(tmp_path, text, message):
    file = tmp_path / "studies.txt"
    file.write_text(text)
    with pytest.raises(BadInputError, match=message):
        BasketScales(studies=str(file)).prepare(baskets_of([{"a", "b"}])).ready()


# -- items that no line names ------------------------------------------------------------------------------------


def test_items_in_no_line_may_be_published_together(tmp_path):
    file = tmp_path / "groups.txt"
    file.write_text("a b\n")
    own = baskets_of([{"a"}, {"b"}, {"c"}, {"d"}])
    alone, together = (
        utility_constraints(f'utility-constraints file="{file}"{rest}') for rest in ("", " rest=together")
    )
    assert len(set(alone.blocks(own).tolist())) == 3 and len(set(together.blocks(own).tolist())) == 2
    assert anonymize_baskets(own, "km-anonymity k=2 m=1", "coat", together).recoding.labels == ("{a, b}", "{c, d}")
    with pytest.raises(BadInputError, match="rest=together is about items that no line"):
        utility_constraints("utility-constraints level=1 rest=together")


# -- policies made of the data -------------------------------------------------------------------------------------

NAMES = ["a", "b c", "d,e", "# f", 'g "h"', "i;j", "#k"]


@given(st.lists(st.sets(st.sampled_from(NAMES), min_size=1), min_size=1, max_size=6))
@tries(60)
def test_whatever_items_are_called_a_policy_is_read_back_as_it_was_made(tmp_path_factory, sets):
    own = baskets_of([*sets, set(NAMES)])
    file = tmp_path_factory.getbasetemp() / "policy.txt"
    itemsets = tuple(tuple(own.items[code] for code in sorted(own.places[name] for name in some)) for some in sets)
    Policy("privacy-constraints", ("a comment", "another"), itemsets).write(file, force=True)
    read = [tuple(own.items[code] for code in codes) for _, codes in itemsets_of(own, str(file))]
    assert read == list(itemsets)


def test_the_command_makes_what_it_says(tmp_path):
    visits, codes = tmp_path / "visits.csv", tmp_path / "codes.txt"
    codes.write_text("250.01 401.9\n250.02 401.9 V58\n401.9\n")
    visits.write_text("id,visit,item\n1,1,250.01\n1,1,401.9\n1,2,401.9\n2,1,250.02\n2,1,401.9\n")
    tree = ("--tree", "icd-9-cm", "--baskets")
    made = {}
    for name, options in {
        "rare": ("--rare", "2"),
        "chapter": ("--chapter", "240-279"),
        "visits": ("--visits", visits),
        "groups": ("--groups", "3"),
    }.items():
        ended = command_line.run("policy", codes, *tree, *options, "--to", tmp_path / f"{name}.txt")
        assert ended.returncode == 0, ended.stderr
        lines = (tmp_path / f"{name}.txt").read_text().splitlines()
        made[name] = [line for line in lines if not line.startswith("# ")]
    assert made == {
        "rare": ["250.01", "250.02", "V58"],
        "chapter": ["250.01", "250.02"],
        "visits": ["401.9", "250.01\t401.9", "250.02\t401.9"],
        "groups": ["250.01\t250.02", "401.9", "V58"],
    }
    asked = f"privacy-constraints k=2 file={tmp_path / 'visits.txt'}"
    ended = command_line.run("anonymize", codes, *tree, "--require", asked, "--to", tmp_path / "out.csv")
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "name the attacker's knowledge"),
        (("--rare", "2", "--groups", "1"), "write two files"),
        (("--chapter", "x"), "there is no tree of items"),
        (("--visits", "absent.csv"), "absent.csv"),
    ],
)
def test_bad_policies_are_one_sentence_and_write_nothing(tmp_path, options, message):
    codes = tmp_path / "codes.txt"
    codes.write_text("a b\n")
    ended = command_line.run("policy", codes, "--baskets", *options, "--to", tmp_path / "known.txt")
    assert ended.returncode == 2 and message in ended.stderr and not (tmp_path / "known.txt").exists()


# -- what items are worth to their owner ---------------------------------------------------------------------------


@given(st.lists(st.sets(st.sampled_from("abcd")), min_size=1, max_size=8), st.data())
@tries(40)
def test_utility_loss_takes_the_owners_weights_and_penalties(tmp_path_factory, rows, data):
    """Against fractions: the sum over parts of (2^s - 1)/(2^I - 1) w sup/N, and Y sup/N of what is left out."""
    records = [*rows, set("abcd")]
    own = baskets_of(records)
    keys = data.draw(st.lists(st.integers(-1, 2), min_size=4, max_size=4))
    numbers = data.draw(st.lists(st.integers(1, 20), min_size=8, max_size=8))
    file = tmp_path_factory.getbasetemp() / "weights.txt"
    file.write_text("".join(f"{item}: {numbers[i]} {numbers[4 + i]}\n" for i, item in enumerate("abcd")))
    release = global_release(own, set_recoding(own.items, np.array(keys)))
    expected = Fraction(0)
    for key in {key for key in keys if key >= 0}:
        part = {item for item, other in zip("abcd", keys, strict=True) if other == key}
        weight = Fraction(sum(numbers["abcd".index(item)] for item in part), len(part))
        expected += Fraction(2 ** len(part) - 1, 15) * weight * sum(bool(row & part) for row in records)
    for i, item in enumerate("abcd"):
        expected += numbers[4 + i] * sum(item in row for row in records) if keys[i] < 0 else 0
    losses = parse(f'item-losses weights=file file="{file}"', (ItemLosses,), "losses")
    assert losses.measure(release)["ul"] == pytest.approx(float(expected / len(records)))


@pytest.mark.parametrize("text", ["a", "a: x", "a: 0", "a: 1 2 3", "a: -1", "a: nan", "a: 1\na b: 2"])
def test_bad_weights_are_named_by_line(tmp_path, text):
    file = tmp_path / "weights.txt"
    file.write_text(text)
    with pytest.raises(BadInputError, match=r"weights\.txt, line \d: "):
        read_weights(baskets_of([{"a", "b"}]), str(file))


@pytest.mark.parametrize(
    ("code", "ranges", "inside"),
    [
        ("648", ("630-679",), True),
        ("648.1", ("630-679",), True),
        ("680", ("630-679",), False),
        ("V27", ("V22-V27",), True),
        ("27", ("V22-V27",), False),
        ("E630", ("630-679",), False),
        ("250.01", ("250.01",), True),
        ("250", ("250.01",), False),
        ("250.02", ("250",), True),
        ("8", ("8-12",), True),
    ],
)
def test_a_code_is_in_the_ranges_of_its_category(code: str, ranges: tuple[str, ...], inside: bool) -> None:
    assert within(code, ranges) is inside


def test_pregnant_patients_are_women_of_15_to_45_and_men_have_a_prostate() -> None:
    pregnant = [patient(["250", "648"], number) for number in range(200)]
    assert {row.sex for row in pregnant} == {"female"}
    assert all(15 <= row.age <= 45 for row in pregnant)
    assert {patient(["600"], number).sex for number in range(200)} == {"male"}
    assert {patient(["600", "648"], number).sex for number in range(200)} == {"female"}


def test_age_and_race_hang_on_codes() -> None:
    rows = list(patients(number=3000))
    with_failure = [row.age for row in rows if "428" in row.codes]
    assert mean(with_failure) > mean(row.age for row in rows if "428" not in row.codes) + 5
    sickle = [patient(["282"], number) for number in range(300)]
    assert mean(row.race == "AfricanAmerican" for row in sickle) > 0.85
    assert {row.race for row in rows} == {"Caucasian", "AfricanAmerican", "Hispanic", "Asian", "Other"}


def test_the_same_seed_gives_the_same_files_and_both_kinds_hold_the_same(tmp_path: Path) -> None:
    rows = list(patients(number=150, seed=4))
    assert rows == list(patients(number=150, seed=4)) != list(patients(number=150, seed=5))
    text = write_patients(tmp_path / "p.csv", iter(rows)).read_text()
    table = pyarrow.parquet.read_table(write_patients(tmp_path / "p.parquet", iter(rows))).to_pylist()
    read = list(csv.DictReader(text.splitlines()))
    assert [(int(row["age"]), row["codes"].split(";")) for row in read] == [(row["age"], row["codes"]) for row in table]
    write_pair(tmp_path / "t.csv", tmp_path / "i.csv", iter(rows))
    assert len((tmp_path / "i.csv").read_text().splitlines()) == 1 + sum(len(row.codes) for row in rows)


def test_a_patient_of_a_subsample_is_the_one_of_the_whole(shared: Path) -> None:
    baskets = shared / "data" / "transactions" / "uci_diabetes130_icd9_by_patient.dat.gz"
    whole = list(patients(baskets))
    assert len(whole) == 71_517
    assert set(patients(baskets, 500)) <= set(whole)
