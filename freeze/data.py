"""Write the data of the frozen cases: subsets of the bundled tables, and generated ones. Every draw has a seed."""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet as parquet

COLUMNS = ("age", "workclass", "education", "marital-status", "sex", "hours-per-week", "occupation", "salary")
ILLNESSES = ("flu", "cold", "asthma", "diabetes", "HIV", "cancer")
CODES = [f"{chapter}{number}" for chapter in "ABCDE" for number in range(1, 9)]


def write_data(folder: Path) -> None:
    """Write all files into a folder."""
    adult = _read_adult(2000)
    _write(folder / "adult.csv", COLUMNS, adult)
    _write(folder / "small.csv", COLUMNS, adult[:150])
    _write_external(folder, adult)
    _write_baskets(folder)
    _write_persons(folder)
    _write_patients(folder)


def _bundled(name: str) -> list[dict[str, object]]:
    """Return the rows of a bundled file, wherever the package keeps it."""
    places = find_spec("sfumato").submodule_search_locations  # type: ignore[union-attr]
    (path,) = (path for place in places or () for path in Path(place).rglob(name))
    rows: list[dict[str, object]] = parquet.read_table(path).to_pylist()
    return rows


def _read_adult(number: int) -> list[list[object]]:
    rows = [[row[column] for column in COLUMNS] for row in _bundled("adult.parquet")]
    complete = [row for row in rows if None not in row]
    return random.Random(1).sample(complete, number)


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def _write_external(folder: Path, adult: list[list[object]]) -> None:
    """Write what another tool could have made of adult.csv: bands of ages, buckets, synthetic records."""

    def band(age: object, width: int) -> str:
        return f"{(first := int(str(age)) // width * width)}-{first + width - 1}"

    bands = [[band(row[0], 20), "*", "*", "*", *row[4:]] for row in adult]
    mixed = [[band(row[0], 20 if n % 3 else 40), "*", "*", "*", *row[4:]] for n, row in enumerate(adult)]
    _write(folder / "bands.csv", COLUMNS, bands)
    _write(folder / "mixed-bands.csv", COLUMNS, mixed)
    order = sorted(adult, key=lambda row: (row[6], row[0]))
    buckets = [[*row, n % (len(order) // 5)] for n, row in enumerate(order)]
    _write(folder / "buckets.csv", (*COLUMNS, "group"), sorted(buckets, key=lambda row: row[-1]))  # type: ignore[arg-type,return-value]
    draw = random.Random(2)
    columns = list(zip(*adult, strict=True))
    _write(folder / "synthetic.csv", COLUMNS, [[draw.choice(column) for column in columns] for _ in adult])
    _write(folder / "new.csv", COLUMNS, adult[100:700])
    _write(folder / "strange.csv", COLUMNS, [[17, "Astronaut", *row[2:]] for row in adult[:50]] + adult[100:300])


def _write_baskets(folder: Path) -> None:
    """Write the 40 most frequent items of Online Retail as codes, a tree of them, rules and constraints."""
    bought = [row["items"] for row in _bundled("online_retail.parquet")][:1500]
    counts = Counter(item for basket in bought for item in basket)  # type: ignore[attr-defined]
    code = {
        item: CODES[n] for n, (item, _) in enumerate(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:40])
    }
    baskets = [sorted(code[item] for item in basket if item in code)[:12] for basket in bought]  # type: ignore[attr-defined]
    baskets = [basket for basket in baskets if basket]
    (folder / "baskets.dat").write_text("".join(" ".join(basket) + "\n" for basket in baskets))
    (folder / "few.dat").write_text("".join(" ".join(basket) + "\n" for basket in baskets[:80]))
    _write(folder / "long.csv", ("who", "what"), [(n, item) for n, basket in enumerate(baskets) for item in basket])
    _write(
        folder / "tree.csv",
        ("item", "half", "chapter"),
        [(c, f"{c[0]}{'low' if c[1] < '5' else 'high'}", c[0]) for c in CODES],
    )
    (folder / "known.txt").write_text("A1 A2\nB1\nC3 D4\n")
    (folder / "rules.txt").write_text("A1 A2 -> E1\nB1 -> E2\n")
    (folder / "groups.txt").write_text("".join(" ".join(CODES[n : n + 8]) + "\n" for n in range(0, 40, 8)))
    _write(folder / "new-baskets.csv", ("items",), [(" ".join(basket),) for basket in baskets[:400]])
    (folder / "new.dat").write_text("".join(" ".join(basket) + "\n" for basket in baskets[200:900]))


def _write_persons(folder: Path) -> None:
    """Write households, and visits of persons who come several times."""
    draw = random.Random(3)
    homes, visits = [], []
    for home in range(250):
        street = f"{draw.choice('12')}{draw.choice('0123')}{draw.randrange(10)}"
        homes += [
            (home, street, draw.randrange(1, 90), draw.choice("fm"), draw.choice(ILLNESSES))
            for _ in range(draw.randint(1, 4))
        ]
    for person in range(300):
        who = (
            person,
            f"{draw.choice('12')}{draw.choice('0123')}{draw.randrange(10)}",
            draw.randrange(18, 90),
            draw.choice("fm"),
        )
        visits += [
            (*who, f"20{draw.randrange(10, 20)}-0{draw.randint(1, 9)}-1{draw.randrange(10)}", draw.choice(ILLNESSES))
            for _ in range(draw.randint(1, 4))
        ]
    _write(folder / "homes.csv", ("home", "zip", "age", "sex", "illness"), homes)
    _write(folder / "visits.csv", ("patient", "zip", "age", "sex", "day", "illness"), visits)


def _write_patients(folder: Path) -> None:
    """Write patients with codes, in one file and in two."""
    draw = random.Random(4)
    weights = [1 / (n + 1) for n in range(len(CODES))]
    patients = []
    for number in range(800):
        age = min(99, max(0, round(draw.gauss(55, 20))))
        codes = sorted(set(draw.choices(CODES, weights, k=draw.randint(1, 6))))
        patients.append(
            (
                f"p{number}",
                age,
                draw.choice("fm"),
                draw.choice(("north", "south", "east", "west")),
                draw.choice(ILLNESSES),
                codes,
            )
        )
    names = ("age", "sex", "region", "illness")
    _write(folder / "patients.csv", (*names, "codes"), [(*row[1:5], ";".join(row[5])) for row in patients])
    _write(folder / "ward.csv", (*names, "codes"), [(*row[1:5], ";".join(row[5])) for row in patients[:120]])
    _write(folder / "new-patients.csv", (*names, "codes"), [(*row[1:5], ";".join(row[5])) for row in patients[300:600]])
    _write(folder / "people.csv", ("id", *names), [row[:5] for row in patients])
    _write(folder / "codes.csv", ("id", "code"), [(row[0], code) for row in patients for code in row[5]])
