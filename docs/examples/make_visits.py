"""Write visits.csv, the made-up hospital file of the guides: as ugly as exports are, and about nobody.

python docs/examples/make_visits.py
"""

import random
from datetime import date, timedelta
from pathlib import Path

DRAW = random.Random(2026)
DIAGNOSES = {  # ICD-10 codes, how common each is, and how likely it brings somebody back
    "I10": (20, 0.5), "E11": (14, 0.6), "J45": (10, 0.4), "M54": (16, 0.2), "F32": (9, 0.5),
    "K21": (8, 0.2), "J18": (6, 0.1), "S72": (5, 0.1), "C50": (3, 0.7), "B20": (1, 0.6),
}  # fmt: skip
PLACES = {"10115": 6, "10117": 5, "10119": 4, "10243": 5, "10245": 6, "10247": 4, "10405": 3, "10407": 2, "10435": 3}
WARDS = {"I": "internal", "E": "internal", "J": "lungs", "M": "surgery", "F": "psychiatry", "K": "internal"}


def visits(persons: int = 900) -> list[list[str]]:
    """Draw the visits of so many persons, several of each."""
    rows = []
    for number in range(persons):
        born = date(1930, 1, 1) + timedelta(days=DRAW.randrange(78 * 365))
        sex, place = DRAW.choice("mf"), DRAW.choices(list(PLACES), list(PLACES.values()))[0]
        code = DRAW.choices(list(DIAGNOSES), [common for common, _ in DIAGNOSES.values()])[0]
        while True:
            day = date(2024, 1, 1) + timedelta(days=DRAW.randrange(730))
            cost = f"{DRAW.lognormvariate(7, 0.8):,.2f}".translate(str.maketrans(",.", ".,"))
            ward = WARDS.get(code[0], "surgery")
            rows.append([f"P{number:05}", f"{born:%d.%m.%Y}", sex, place, f"{day:%d.%m.%Y}", ward, code, cost])
            if DRAW.random() > DIAGNOSES[code][1]:
                break
            if DRAW.random() < 0.3:
                code = DRAW.choices(list(DIAGNOSES), [common for common, _ in DIAGNOSES.values()])[0]
    DRAW.shuffle(rows)
    return [[f"V{number:06}", *row] for number, row in enumerate(rows)]


if __name__ == "__main__":
    names = ["visit", "patient", "born", "sex", "zip", "admitted", "ward", "diagnosis", "cost"]
    lines = ["Hospital export; visits 2024 and 2025", ";".join(names), *(";".join(row) for row in visits())]
    Path(__file__).with_name("visits.csv").write_text("\r\n".join(lines) + "\r\n", encoding="cp1252")
