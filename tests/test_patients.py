"""Synthetic patients are what their rule says: the same from the same seed, with codes that hang on age and sex."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import mean

import pyarrow.parquet
import pytest

from patients import patient, patients, within, write_pair, write_patients


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
