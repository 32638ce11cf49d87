"""What leaves the house tells nothing of records that do not: the attack on public certificates, and their bytes."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from datetime import UTC, datetime
from fractions import Fraction
from itertools import combinations_with_replacement
from math import log
from pathlib import Path

import pytest

import sfumato
from sfumato.anonymizers.dp.mechanism import assigned
from sfumato.publish.certificate import certificate_files
from sfumato.publish.pipeline import publish_point
from sfumato.publish.publication import Origin, Publishable, publish
from sfumato.report.data_summary import meanings
from sfumato.tradeoff.map import Map, Point
from test_check_command import basket_study, mapped

ILLS = ("asthma", "cold", "flu", "gout")
STUDY = """
name = "small"
axes = ["p_loss", "loss"]
[table]
source = "t.csv"
quasi = ["age", "sex"]
sensitive = ["ill"]
[scales]
min_support = 0.2
queries = "queries number=5"
"""
CUT = """
[[candidates]]
anonymizers = ["mondrian"]
requirements = [
  "k-anonymity k=3",
  "l-diversity l=1.6 variant=frequency",
  "t-closeness t=0.4 distance=equal",
  "t-closeness t=0.3 distance=ordered",
  "beta-likeness beta=1.2 variant=basic",
]
suppress = [0.3]
"""
LEVELS = """
[[candidates]]
anonymizers = ["full-domain"]
requirements = [
  "k-anonymity k=3",
  "k-anonymity k=2 & l-diversity l=2 variant=distinct",
  "t-closeness t=0.4 distance=equal",
  "delta-disclosure delta=1.2 absent=ignore",
]
forms = ["generalization", "bucketization"]
suppress = [0.3]
"""


@pytest.fixture(autouse=True)
def frozen(monkeypatch):
    """Let all certificates be made at one moment, so that nothing but their content can differ."""

    class Then(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2026, 1, 2, tzinfo=UTC)

    monkeypatch.setattr("sfumato.publish.certificate.datetime", Then)


def published(folder: Path, study: str, rows: str) -> dict[str, Path]:
    """Publish every candidate of a study that can be: its settings, and the data file."""
    folder.mkdir()
    (folder / "t.csv").write_text(rows, encoding="utf-8")
    declared = sfumato.Study.from_toml(study, str(folder / "study.toml"))
    table = declared.table.open()
    chance = {"attack_accuracy": table.cells.records / 1000, "empirical_breach": 0.5}
    found = {}
    for own in declared.candidates:
        try:
            release = assigned(own.anonymizer.anonymize(table, own.requirement, own.form, own.suppress))
        except sfumato.InfeasibleError:
            continue
        point = Point(own.id, own, "measured", measures=chance)
        about = {"sensitive": ["ill"], "dropped": table.dropped, "records": table.cells.records}
        origin = Origin("t.csv", "digest", declared.name, "digest", own.id, str(folder / "study.toml"))
        known = meanings(Map(declared, (point,), about))
        publish(Publishable(release, own, folder / f"{own.id}.csv", origin, known))
        found[str(own)] = folder / f"{own.id}.csv"
    return found


def public_bytes(path: Path) -> list[bytes]:
    return [file.read_bytes() for file in (path, *certificate_files(path)[2:])]


def people(seed: int, size: int = 14) -> list[tuple[int, str, str]]:
    """Draw people of two sexes and few ages, so that groups are small and some must be left out."""
    chance = random.Random(seed)
    return [(20 + chance.randrange(4), chance.choice("fm"), chance.choice(ILLS)) for _ in range(size)]


def as_csv(rows: list[tuple[int, str, str]]) -> str:
    return "age,sex,ill\n" + "".join(f"{age},{sex},{ill}\n" for age, sex, ill in rows)


# -- the attack --------------------------------------------------------------------------------------------------


def numbers(groups: list[Counter[str]], q: Counter[str]) -> dict[str, float]:
    """Work the measures out from the definitions, with Q as it is supposed to be; exact until the last step."""
    total = sum(q.values())
    share = {value: Fraction(n, total) for value, n in q.items()}
    found = []
    for own in groups:
        size = sum(own.values())
        p = {value: Fraction(own[value], size) for value in share}
        middle = {value: (p[value] + share[value]) / 2 for value in share}
        found.append(
            {
                "t_equal": sum(abs(p[value] - share[value]) for value in share) / 2,
                "beta": max((p[value] - share[value]) / share[value] for value in share if p[value]),
                "t_js": sum(
                    float(part) * log(part / middle[value]) / 2
                    for of in (p, share)
                    for value, part in of.items()
                    if part
                ),
            }
        )
    records = sum(sum(own.values()) for own in groups)
    dominant = Fraction(sum(max(own.values()) for own in groups), records)
    known = sum(own["t_equal"] * sum(group.values()) for own, group in zip(found, groups, strict=True)) / records
    worst = {name: float(max(own[name] for own in found)) for name in found[0]}
    return {**worst, "a_acc": float(dominant - max(share.values())), "a_know": float(known)}


def explanations(data: Path, outside: dict, size: int) -> list[tuple[str, ...]]:
    """Find the suppressed values that explain the public numbers: against Q of all records, or of the file alone."""
    with data.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    key = ("group",) if "group" in rows[0] else ("age", "sex")
    groups: dict[tuple[str, ...], Counter[str]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in key), Counter())[row["ill"]] += 1
    shown = Counter(row["ill"] for row in rows)

    def explains(q: Counter[str]) -> bool:
        supposed = numbers(list(groups.values()), q)
        return all(
            abs(supposed[name] - float(value)) < 1e-12
            for name, value in outside["measures"].items()
            if name in supposed
        )

    alone = explains(shown)
    hidden = combinations_with_replacement(ILLS, size)
    return [values for values in hidden if alone or explains(shown + Counter(values))]


def test_public_numbers_leave_more_than_one_explanation_of_what_was_suppressed(tmp_path):
    attacked = 0
    for seed in range(3):
        for path in published(tmp_path / str(seed), STUDY + LEVELS, as_csv(people(seed))).values():
            with path.open(newline="", encoding="utf-8") as stream:
                left_out = 14 - sum(1 for _ in csv.DictReader(stream))
            outside = json.loads(certificate_files(path)[2].read_text(encoding="utf-8"))
            assert {"t_equal", "t_js", "beta", "a_acc", "a_know"} <= set(outside["measures"])
            for size in (1, 2, 3):
                assert len(explanations(path, outside, size)) > 1, (path, left_out, size)
            attacked += left_out in (1, 2, 3)
    assert attacked > 5


# -- the bytes ---------------------------------------------------------------------------------------------------


def pairs_of(first: dict[str, Path], second: dict[str, Path]) -> list[str]:
    """Compare the public files of two tables wherever the data came out the same; return where that was."""
    same = [key for key in first if key in second and first[key].read_bytes() == second[key].read_bytes()]
    for key in same:
        assert public_bytes(first[key]) == public_bytes(second[key]), key
    return same


def test_public_files_of_tables_that_differ_in_suppressed_records_are_the_same_bytes(tmp_path):
    base = [(20 + i % 3, "fm"[i % 2], ILLS[i * 7 % 4]) for i in range(36)]
    outliers = [[(90, "f", "flu")], [(90, "f", "cold"), (90, "f", "cold")], [(90, "f", "moonpox")]]
    made = [
        published(tmp_path / str(number), STUDY + CUT + LEVELS, as_csv([*base, *own]))
        for number, own in enumerate(outliers)
    ]
    same = [key for number, own in enumerate(made) for other in made[:number] for key in pairs_of(other, own)]
    hit = Counter(key.split(", ")[1].split()[0] for key in same), Counter(key.split(", ")[2] for key in same)
    assert {"k-anonymity", "l-diversity", "t-closeness", "delta-disclosure", "beta-likeness"} <= set(hit[0]), hit
    assert {"generalization", "bucketization"} <= set(hit[1]) and len(same) > 10, hit


def test_the_version_on_a_certificate_is_that_of_the_code_and_not_of_an_installation(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.publish.certificate.version", lambda library: "0")
    path = next(iter(published(tmp_path / "t", STUDY + LEVELS, as_csv(people(0))).values()))
    outside = json.loads(certificate_files(path)[2].read_text(encoding="utf-8"))
    assert outside["versions"]["sfumato"] == sfumato.__version__ and outside["versions"]["numpy"] == "0"


def test_cuts_that_a_search_found_are_not_public(tmp_path):
    """A cut can stand at the value of a record that was left out; the file does not show where."""
    base = [(20 + i % 3, "fm"[i % 2], ILLS[i * 7 % 4]) for i in range(36)]
    made = []
    for age in (88, 90):
        maker = f"""
[[candidates]]
anonymizers = ['cut-vector cuts="age=21|{age}, sex=@0"']
requirements = ["k-anonymity k=3"]
suppress = [0.3]
"""
        [path] = published(tmp_path / str(age), STUDY + maker, as_csv([*base, (age, "f", "flu")])).values()
        made.append([each.replace(path.stem.encode(), b"name") for each in public_bytes(path)])
        assert f"21|{age}" in certificate_files(path)[0].read_text("utf-8")
    assert made[0] == made[1]


def baskets_published(folder: Path, rare: dict[int, str], monkeypatch) -> dict[str, Path]:
    """Publish baskets in which some records have a rare item beside the common ones; nothing goes together with it."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    common = [("bread", "milk"), ("bread", "tea"), ("milk", "tea"), ("bread",)]
    rows = [[*common[number % 4], *([rare[number]] if number in rare else [])] for number in range(24)]
    Path("b.txt").write_text("\n".join(",".join(own) for own in rows) + "\n", encoding="utf-8")
    lines = ["bread,milk,tea", *sorted(set(rare.values()))]
    Path("useful.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    made = (
        'requirements = ["km-anonymity k=3 m=2"]\nutility = ["utility-constraints file=useful.txt"]\n'
        'anonymizers = ["coat"]\nlimits = ["suppression share=0.5"]'
    )
    Path("study.toml").write_text(basket_study('source = "b.txt"', made), encoding="utf-8")
    found = {}
    for id in mapped(Path()):
        publish_point("map", id, folder / f"{id}.csv")
        found[id] = folder / f"{id}.csv"
    return found


def test_public_files_of_baskets_that_differ_in_suppressed_items_are_the_same_bytes(tmp_path, monkeypatch):
    kinds = [{3: "saffron"}, {3: "truffle"}, {5: "saffron", 8: "saffron"}, {3: "saffron", 4: "truffle"}]
    made = [baskets_published(tmp_path / str(number), rare, monkeypatch) for number, rare in enumerate(kinds)]
    assert all("saffron" not in path.read_text() for own in made for path in own.values())
    same = [key for number, own in enumerate(made) for other in made[:number] for key in pairs_of(other, own)]
    assert len(same) == 6 * len(made[0])


def test_public_certificates_of_baskets_name_no_file_of_the_house(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("secret").mkdir()
    common = ["bread,milk", "bread,tea", "milk,tea", "bread"]
    Path("secret/b.txt").write_text("\n".join(common * 6) + "\n", encoding="utf-8")
    for name in ("useful.txt", "known.txt"):
        Path(f"secret/{name}").write_text("bread,milk,tea\n", encoding="utf-8")
    made = (
        'requirements = ["privacy-constraints k=3 file=secret/known.txt", "km-anonymity k=3 m=2"]\n'
        'utility = ["utility-constraints file=secret/useful.txt"]\nanonymizers = ["coat"]'
    )
    Path("study.toml").write_text(basket_study('source = "secret/b.txt"', made), encoding="utf-8")
    for id in mapped(Path()):
        publish_point("map", id, tmp_path / f"{id}.csv")
        own, _, *public = certificate_files(tmp_path / f"{id}.csv")
        assert "useful.txt" in own.read_text("utf-8")
        for path in public:
            assert not any(word in path.read_text("utf-8") for word in ("secret", "useful.txt", "known.txt")), path
