"""An invented extract of a German hospital's records, written as such files come: the hard case of a first file.

Semicolons, cp1252, CRLF, decimal commas and thousands points, dates such as 31.12.1999, `k.A.` for what nobody
knows, umlauts in names and values, a euro sign in the header. Nobody in it exists: names are drawn from two
short lists, postal codes from made-up districts, and the same seed always gives the same bytes.

    python tests/german_hospital.py krankenhaus.csv 3000

Columns, in their order (`HEADER`): a running case number, the name, the date of birth, postal code, sex, day of
admission, ICD-10 code, weight in kg with a decimal comma (`k.A.` in 1 of 25 records), costs in euros such as
`1.234,50` (`k.A.` in 1 of 50). `records` gives the truth that was written, in Python's own types.
"""

from __future__ import annotations

import datetime
import random
import sys
from decimal import Decimal
from pathlib import Path

HEADER = (
    "Fallnummer",
    "Name des Patienten",
    "Geburtsdatum",
    "PLZ",
    "Geschlecht",
    "Aufnahme",
    "Diagnose (ICD-10)",
    "Körpergewicht",
    "Kosten (€)",
)
UNKNOWN = "k.A."
LAST = ("Müller", "Schmidt", "Jäger", "Weiß", "Groß", "Öztürk", "Köhler", "Nowak", "Böhm", "Lang", "Fuchs", "Kühn")
FIRST = {
    "männlich": ("Jörg", "Hans", "Günther", "Ali", "Lukas", "Björn", "Emil", "Paul"),
    "weiblich": ("Käthe", "Anna", "Zoë", "Ulrike", "Fatma", "Jürgen-Marie", "Lena", "Emma"),
    "divers": ("Kim", "Robin", "Toni"),
}
SEXES = ("männlich", "weiblich", "divers")
DISTRICTS = ("01067", "01069", "04103", "10115", "10117", "20095", "50667", "50668", "80331", "80333", "89073", "99084")
DIAGNOSES = ("I10", "I21.0", "I50.9", "E11.9", "E66.0", "J18.9", "J44.1", "C50.9", "F32.1", "K35.8", "M16.1", "S72.0")


def records(rows: int = 3000, seed: int = 1999) -> list[tuple]:
    """The truth: texts, dates, and decimals; None where it is not known."""
    draw = random.Random(seed)
    made = []
    for number in range(rows):
        sex = draw.choices(SEXES, (48, 50, 2))[0]
        birth = datetime.date(1925, 1, 1) + datetime.timedelta(int(draw.betavariate(2, 1.5) * 35_000))
        admission = max(birth, datetime.date(2021, 1, 1) + datetime.timedelta(draw.randrange(1095)))
        weight = Decimal(max(25, round(draw.gauss(760 if sex != "weiblich" else 670, 130)))).scaleb(-1)
        cost = Decimal(round(draw.lognormvariate(8, 0.9) * 2) * 50).scaleb(-2)
        made.append(
            (
                str(2_021_000_001 + number),
                f"{draw.choice(LAST)}, {draw.choice(FIRST[sex])}",
                birth,
                draw.choices(DISTRICTS, range(1, len(DISTRICTS) + 1))[0],
                sex,
                admission,
                draw.choices(DIAGNOSES, range(len(DIAGNOSES), 0, -1))[0],
                None if draw.random() < 1 / 25 else weight,
                None if draw.random() < 1 / 50 else cost,
            )
        )
    return made


def german(value: object) -> str:
    """Write a value as a German clerk does."""
    if value is None:
        return UNKNOWN
    if isinstance(value, datetime.date):
        return f"{value:%d.%m.%Y}"
    if isinstance(value, Decimal):
        return f"{value:,f}".translate(str.maketrans(",.", ".,"))
    return str(value)


def write(path: str | Path, rows: int = 3000, seed: int = 1999) -> Path:
    """Write the extract and return its path."""
    lines = [HEADER, *(tuple(map(german, record)) for record in records(rows, seed))]
    path = Path(path)
    path.write_bytes("".join(";".join(line) + "\r\n" for line in lines).encode("cp1252"))
    return path


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3000)
