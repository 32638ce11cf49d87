"""Patients that nobody is: age, sex and race for every basket of diagnosis codes, by a rule that reads the codes.

    python tests/patients.py BASKETS.dat.gz /tmp/patients.csv     # or .parquet; --number 5000 --seed 1
    python tests/patients.py --number 2000 /tmp/patients.csv      # codes drawn too, where there is no file of baskets

The codes of `uci_diabetes130_icd9_by_patient.dat.gz` are real, its demographics were dropped. A table with
quasi-identifiers and a set-valued column needs both, and they must hang together as in a hospital, or age would say
nothing about codes. The rule, every draw from a seed and the patient's number:

- each line of `TRAITS` names ranges of ICD-9 categories with a mean age, a spread of ages, a share of women and odds of
  the race `AfricanAmerican`; it applies to a patient who has a code there;
- **pregnancy** (630-679, V22 to V27) decides alone: a woman of 15 to 45, triangular with its peak at 28;
- **age** otherwise is normal, its mean and spread the averages over the lines that apply (58 and 17 where none does), a
  whole number of years from 0 to 99;
- **sex**: female with the average share of the lines that apply (.53 where none does); where one says 0 or 1, the first
  such line decides;
- **race**: Caucasian .76, AfricanAmerican .19, Hispanic .02, Asian .01, Other .02, the second with its odds multiplied
  by those of all lines that apply.

Shares and means are round numbers of our own, plausible and no facts about anybody. Nothing of the file is kept here.
What comes out of it with seed 1: 71,517 patients, 53 % women, 62.8 years on average, 839 combinations of age, sex and
race, of which 205 are those of fewer than five patients.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

COLUMNS = ("age", "sex", "race", "codes")
QUASI = COLUMNS[:3]
RACES = {"Caucasian": 0.76, "AfricanAmerican": 0.19, "Hispanic": 0.02, "Asian": 0.01, "Other": 0.02}
PREGNANCY = ("630-679", "V22-V27")


@dataclass(frozen=True)
class Trait:
    """What codes of some categories say of a patient."""

    categories: tuple[str, ...]
    age: float
    spread: float
    women: float = 0.53
    odds: float = 1.0


TRAITS = (
    Trait(("185", "600-608"), 70, 9, women=0.0),  # prostate and other organs of men
    Trait(("174", "179-184", "218-221", "614-629"), 52, 14, women=1.0),  # breast, organs of women
    Trait(("290", "294", "331", "797"), 82, 7, women=0.62),  # dementia
    Trait(("820", "733"), 79, 9, women=0.73),  # fractures of the hip, bones that break
    Trait(("428", "427", "424-425"), 74, 11, women=0.52),  # heart failure and its company
    Trait(("410-414", "440-443"), 67, 11, women=0.42),  # coronary and peripheral arteries
    Trait(("433-438",), 71, 11),  # stroke
    Trait(("401",), 62, 13, women=0.54, odds=1.3),  # high blood pressure
    Trait(("402-405", "585"), 63, 14, odds=2.2),  # blood pressure with heart or kidney
    Trait(("490-492", "496"), 69, 10, women=0.55, odds=0.6),  # chronic bronchitis, emphysema
    Trait(("493",), 50, 17, women=0.68, odds=1.6),  # asthma
    Trait(tuple(f"250.{digit}{kind}" for digit in range(10) for kind in (1, 3)), 36, 15),  # diabetes of the young
    Trait(("278",), 49, 12, women=0.67, odds=1.3),  # obesity
    Trait(("282",), 28, 11, odds=90.0),  # sickle cells
    Trait(("291-292", "303-305"), 44, 12, women=0.33),  # alcohol and drugs
    Trait(("295-301", "311"), 48, 14, women=0.6),  # mind and mood
    Trait(("715", "721-724"), 68, 10, women=0.6),  # worn joints
    Trait(("42", "70"), 43, 11, women=0.35, odds=2.5),  # HIV, hepatitis
    Trait(("745-759",), 38, 18),  # inborn
)

COMMON = """
250 428 401 276 414 427 599 496 486 786 780 403 410 250.02 584 682 491 411 585 518 285 707 250.6 996 715 272 250.01
425 493 38 434 424 250.8 V45 998 305 413 560 530 574 278 440 280 562 577 578 V57 435 820 402 650 664 648 V27 331 294
185 174 600 282 42 303 295 758
"""
"""Codes for who has no file of baskets, the frequent ones first."""


@dataclass(frozen=True)
class Patient:
    """One row: demographics and a set of codes, in the order of the file."""

    age: int
    sex: str
    race: str
    codes: tuple[str, ...]


def within(code: str, categories: Sequence[str]) -> bool:
    """Say whether a code is one of some codes ("250.01"), or its category in one of some ranges ("630-679", "V22")."""
    letter = code[0] if code[0] in "EV" else ""
    category = int(code[len(letter) :].split(".")[0])
    for entry in categories:
        first, last = (entry.split("-") * 2)[:2]
        if "." in entry:
            if entry == code:
                return True
        elif letter == (entry[0] if entry[0] in "EV" else ""):
            size = len(letter)
            if int(first[size:]) <= category <= int(last[size:]):
                return True
    return False


@cache
def traits_of(code: str) -> frozenset[int]:
    """Say which lines of `TRAITS` a code is in; -1 for pregnancy."""
    lines = {place for place, trait in enumerate(TRAITS) if within(code, trait.categories)}
    return frozenset(lines | ({-1} if within(code, PREGNANCY) else set()))


def patient(codes: Sequence[str], number: int, seed: int = 1) -> Patient:
    """Give a set of codes its demographics: the same codes, number and seed give the same patient."""
    draw = random.Random(f"{seed}:{number}")
    age_draw, sex_draw, race_draw = draw.gauss(0, 1), draw.random(), draw.random()
    lines = sorted(set().union(*map(traits_of, codes)))
    traits = [TRAITS[line] for line in lines if line >= 0]
    odds = 1.0
    for trait in traits:
        odds *= trait.odds
    weights = {race: share * (odds if race == "AfricanAmerican" else 1.0) for race, share in RACES.items()}
    race, left = "Other", race_draw * sum(weights.values())
    for name, weight in weights.items():
        if left < weight:
            race = name
            break
        left -= weight
    if -1 in lines:
        return Patient(round(draw.triangular(15, 45, 28)), "female", race, tuple(codes))
    mean = sum(trait.age for trait in traits) / len(traits) if traits else 58.0
    spread = sum(trait.spread for trait in traits) / len(traits) if traits else 17.0
    certain = [trait.women for trait in traits if trait.women in (0.0, 1.0)]
    women = certain[0] if certain else sum(trait.women for trait in traits) / len(traits) if traits else 0.53
    age = min(99, max(0, round(mean + spread * age_draw)))
    return Patient(age, "female" if sex_draw < women else "male", race, tuple(codes))


def baskets_of(path: Path) -> list[list[str]]:
    """Read a file with a basket of codes in every line."""
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return [line.split() for line in text.splitlines()]


def drawn_baskets(number: int, seed: int = 1) -> list[list[str]]:
    """Draw baskets of common codes where there is no file: one to nine each, the chance of rank r about 1 / r."""
    draw = random.Random(f"codes {seed}")
    weights = [1 / (rank + 3) for rank in range(len(COMMON.split()))]
    lengths = [min(9, 1 + int(draw.expovariate(0.45))) for _ in range(number)]
    return [list(dict.fromkeys(draw.choices(COMMON.split(), weights, k=length))) for length in lengths]


def patients(baskets: Path | None = None, number: int | None = None, seed: int = 1) -> Iterator[Patient]:
    """Yield the patients of a file of baskets, or `number` of them drawn evenly; without a file, of drawn codes.

    A patient of a subsample is the one of the whole: who is in it hangs on the seed, what they are on their number.
    """
    rows = drawn_baskets(2000 if number is None else number, seed) if baskets is None else baskets_of(baskets)
    chosen = range(len(rows))
    if number is not None and number < len(rows):
        chosen = sorted(random.Random(f"sample {seed}").sample(chosen, number))
    return (patient(rows[i], i, seed) for i in chosen)


def write_patients(path: Path, rows: Iterator[Patient]) -> Path:
    """Write patients: CSV with codes joined by `;`, or Parquet with a column of lists, by the file's ending."""
    if path.suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet

        held = list(rows)
        columns = {name: [getattr(row, name) for row in held] for name in QUASI}
        table = pyarrow.table({**columns, "codes": [list(row.codes) for row in held]})
        pyarrow.parquet.write_table(table, path)
        return path
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([row.age, row.sex, row.race, ";".join(row.codes)] for row in rows)
    return path


def write_pair(table: Path, items: Path, rows: Iterator[Patient]) -> None:
    """Write patients as two CSV files: `id, age, sex, race` and `id, item` with a line for every code."""
    with table.open("w", newline="", encoding="utf-8") as left, items.open("w", newline="", encoding="utf-8") as right:
        people, codes = csv.writer(left, lineterminator="\n"), csv.writer(right, lineterminator="\n")
        people.writerow(["id", *QUASI])
        codes.writerow(["id", "item"])
        for number, row in enumerate(rows, 1):
            people.writerow([number, row.age, row.sex, row.race])
            codes.writerows([number, code] for code in row.codes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("baskets", type=Path, nargs="?")
    parser.add_argument("path", type=Path)
    parser.add_argument("--number", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    write_patients(given.path, patients(given.baskets, given.number, given.seed))
