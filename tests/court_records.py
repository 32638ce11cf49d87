"""An invented extract of a court's scores, as wide and as uneven as such files come: the hard case of a first draft.

53 columns under the names of a well known public extract (names of persons, dates of birth, of arrests and of offences,
times at which somebody came to and left jail, charges in hundreds of texts, scores, counts, columns that are empty in
most records). Nobody in it exists: everything is drawn, and the same seed always gives the same rows.

    python tests/court_records.py courts.csv 7214
"""

from __future__ import annotations

import csv
import random
import sys
from datetime import date, datetime, timedelta
from pathlib import Path

# fmt: off
HEADER = [
    "id", "name", "first", "last", "compas_screening_date", "sex", "dob", "age", "age_cat", "race", "juv_fel_count",
    "decile_score", "juv_misd_count", "juv_other_count", "priors_count", "days_b_screening_arrest", "c_jail_in",
    "c_jail_out", "c_case_number", "c_offense_date", "c_arrest_date", "c_days_from_compas", "c_charge_degree",
    "c_charge_desc", "is_recid", "r_case_number", "r_charge_degree", "r_days_from_arrest", "r_offense_date",
    "r_charge_desc", "r_jail_in", "r_jail_out", "violent_recid", "is_violent_recid", "vr_case_number",
    "vr_charge_degree", "vr_offense_date", "vr_charge_desc", "type_of_assessment", "decile_score.1", "score_text",
    "screening_date", "v_type_of_assessment", "v_decile_score", "v_score_text", "v_screening_date", "in_custody",
    "out_custody", "priors_count.1", "start", "end", "event", "two_year_recid",
]
# fmt: on
FIRST = ("ada", "ben", "cleo", "dora", "elif", "finn", "gina", "hugo", "ines", "jon", "kira", "lars", "mina", "noah")
RACES = ("African-American", "Caucasian", "Hispanic", "Other", "Asian", "Native American")
DEGREES = ("(F3)", "(M1)", "(M2)", "(F2)", "(F1)", "(MO3)", "(F7)")


def records(rows: int = 7214, seed: int = 2013) -> list[list[object]]:
    """Draw the rows."""
    draw = random.Random(seed)
    surnames = [f"{a}{b}{c}" for a in ("mar", "lo", "ber", "sa") for b in ("ti", "re", "na") for c in ("n", "z", "sen")]
    charges = [f"charge {n}" for n in range(430)]
    return [_record(draw, number, surnames, charges) for number in range(1, rows + 1)]


def _record(draw: random.Random, number: int, surnames: list[str], charges: list[str]) -> list[object]:
    first, last = draw.choice(FIRST), draw.choice(surnames) + draw.choice("abcdefghij")
    screened = date(2013, 1, 1) + timedelta(draw.randrange(730))
    age = min(18 + int(draw.expovariate(1 / 16)), 96)
    born = screened - timedelta(int(age * 365.25) + draw.randrange(365))
    score, violent = draw.randint(1, 10), draw.randint(1, 10)
    priors = int(draw.expovariate(1 / 3.5))
    jailed = datetime(2013, 1, 1) + timedelta(seconds=draw.randrange(63_000_000))
    jail = ["", ""] if draw.random() < 0.04 else [jailed, jailed + timedelta(seconds=draw.randrange(5_000_000))]
    arrested = "" if draw.random() < 0.85 else screened - timedelta(draw.randrange(400))
    again, harder = draw.random() < 0.48, draw.random() < 0.11
    charge = charges[min(int(draw.expovariate(1 / 40)), 429)]
    return [
        number, f"{first} {last}", first, last, screened, "Male" if draw.random() < 0.81 else "Female", born, age,
        "Less than 25" if age < 25 else "25 - 45" if age <= 45 else "Greater than 45",
        draw.choices(RACES, (51, 34, 9, 5, 1, 0.5))[0], *_rare(draw), score, *_rare(draw), *_rare(draw), priors,
        draw.choices((-1, 0, -20, 30, draw.randrange(-400, 900), ""), (60, 15, 5, 3, 10, 4))[0], *jail,
        f"{draw.randrange(10**7, 10**8)}CF10A", "" if arrested else screened - timedelta(draw.randrange(30)), arrested,
        int(draw.expovariate(1 / 60)), draw.choices("FM", (65, 35))[0], charge, int(again),
        *_offence(draw, again, screened, charges), "", int(harder), *_offence(draw, harder, screened, charges, True),
        "Risk of Recidivism", score, _text(score), screened, "Risk of Violence", violent, _text(violent), screened,
        screened + timedelta(draw.randrange(-30, 300)), screened + timedelta(draw.randrange(300, 700)), priors,
        draw.randrange(0, 900) if draw.random() < 0.5 else 0, draw.randrange(1, 1180), int(again), int(again),
    ]  # fmt: skip


def _rare(draw: random.Random) -> list[int]:
    return [0 if draw.random() < 0.95 else 1 + int(draw.expovariate(1))]


def _text(score: int) -> str:
    return "Low" if score < 5 else "Medium" if score < 8 else "High"


def _offence(draw: random.Random, there: bool, screened: date, charges: list[str], short: bool = False) -> list[object]:
    """A later case: its number, degree, (days,) date, charge, (and the days in jail)."""
    if not there:
        return [""] * (4 if short else 7)
    day = screened + timedelta(draw.randrange(1, 700))
    case, degree, charge = f"{draw.randrange(10**7, 10**8)}MM10A", draw.choice(DEGREES), draw.choice(charges)
    if short:
        return [case, degree, day, charge]
    return [case, degree, draw.randrange(0, 90), day, charge, day, day + timedelta(draw.randrange(60))]


def write(path: Path, rows: int = 7214) -> Path:
    """Write the file."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([HEADER, *records(rows)])
    return path


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 7214)
