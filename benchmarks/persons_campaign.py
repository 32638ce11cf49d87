"""Random tables and baskets with persons: every release that is made is judged on the written file by plain code.

Run: python benchmarks/persons_campaign.py [--releases 2000] [--seed 1]

Every anonymizer that counts persons gets requirements of every kind. Groups, items and their persons are those of the
written file and the original (`tests/plain_persons.py` and `tests/plain_baskets.py`, in fractions). The measures of the
release and of its audit are compared with them.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

import sfumato
import sfumato.data.reading as reading
from sfumato.anonymizers.items import anonymize_baskets
from sfumato.auditing.audit import audit_baskets
from sfumato.data.items import baskets_of
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.release.writing_items import release_names, rows_of_kinds, write_items

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import plain_baskets
import plain_inference
import plain_persons as plain
from test_inference_requirements import coherent, rho_holds

MAKERS = (
    *(
        f"mondrian{cut}{ranges}"
        for cut in ("", " cut=loss", " cut=range", " cut=variance target=age", " cut=information-gain target=value")
        for ranges in ("", " ranges=tight", " ranges=node", " ranges=region")
    ),
    *(
        "mondrian height=2",
        "mondrian spread=width",
        "full-domain",
        "full-domain minimize=discernibility",
        "full-domain aggregate=max",
    ),
    *(
        "full-domain search=best-first seconds=1",
        'cut-vector cuts="age=30|50, place=@0"',
        'cut-vector cuts="age=45, town=@1"',
    ),
    *(
        'top-coding upper="age=50"',
        'top-coding upper="age=60" lower="age=30"',
        "without-quasi",
        "without-sensitive",
        "original",
    ),
    *("hilbert", "hilbert ranges=tight", "hilbert ranges=node", "hilbert within=0.4"),
    *(
        "local-recoding",
        "local-recoding passes=0",
        "local-recoding passes=1",
        "local-suppression",
        "local-suppression passes=0",
    ),
)
TREE = {
    "grade": sfumato.tree([["low", "a", "b"], ["high", "c", "d"]]),
    "town": sfumato.tree([["N", "p", "q"], ["S", "r", "s"]]),
}
HIERARCHIES = {"age": {"type": "numeric", "lower": 20, "upper": 80, "intervals": [10]}, **TREE}
GRADE = plain.Attribute("abcd", [[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]])


def table_of(draw: random.Random) -> list[dict[str, str]]:
    """Draw a table: few or many persons, some of whom have most records; values may follow the person."""
    records, persons = draw.randint(4, 70), draw.choice([1, 2, 4, 8, 20, 60])
    fixed = {
        u: (draw.randint(20, 79), draw.choice("NS"), draw.choice("pqrs"), draw.choice("xyz"), draw.choice("abcd"))
        for u in range(persons)
    }
    stay, skew = draw.choice([0, 0.7, 1]), draw.choice([1, 3])
    rows = []
    for number in range(records):
        who = int(persons * draw.random() ** skew)
        mine = [
            own if draw.random() < stay else new
            for own, new in zip(
                fixed[who],
                (draw.randint(20, 79), draw.choice("NS"), draw.choice("pqrs"), draw.choice("xyz"), draw.choice("abcd")),
                strict=True,
            )
        ]
        named = dict(zip(("age", "place", "town", "value", "grade"), map(str, mine), strict=True))
        rows.append({"row": f"r{number}", "person": f"u{who}", **named})
    for place, row in enumerate(rows[:4]):
        row["value"], row["grade"] = "xyxy"[place], "abcd"[place]
    return rows


def part_of(draw: random.Random, on: str) -> str:
    """Draw a requirement about sensitive values."""
    number = draw.choice
    return (
        number(
            [
                f"l-diversity l={number([1.3, 1.5, 2, 3])} variant=frequency",
                f"l-diversity l={draw.randint(2, 4)} variant=distinct",
                f"l-diversity l={number([1.2, 1.5, 1.9, 2.5])} variant=entropy",
                f"l-diversity l={draw.randint(2, 3)} variant=recursive c={number([1, 3, 5])}",
                *(
                    f"t-closeness t={number([0.05, 0.15, 0.3, 0.5])} distance={kind}"
                    for kind in ("equal", "ordered", "hierarchical", "js")
                ),
                f"delta-disclosure delta={number([0.9, 1.5])}",
                f"delta-disclosure delta={number([0.5, 0.9, 1.5])} absent=ignore",
                f"beta-likeness beta={number([0.3, 1, 2])} variant={number(['basic', 'enhanced'])}",
                f"alpha-k alpha={number([0.5, 0.7, 0.9])} k={draw.randint(1, 4)}",
            ]
        )
        + f" on={on}"
    )


def required(draw: random.Random, sensitive: list[str]) -> str:
    """Draw a requirement of one to three parts."""
    k = f"k-anonymity k={draw.randint(1, 6)}{draw.choice(['', '', ' share=1.0', ' share=0.34'])}"
    parts = [part_of(draw, draw.choice(sensitive)) for _ in range(draw.choice([0, 1, 1, 2]))]
    return " & ".join([k] * (not parts or draw.random() < 0.6) + parts)


def judged_table(draw: random.Random, folder: Path, seen: Counter[str]) -> list[str]:
    """Make a release of a random table, and return what is wrong with it."""
    rows, maker = table_of(draw), draw.choice(MAKERS)
    quasi, sensitive = (
        draw.choice([["age"], ["age", "place"], ["age", "town"], ["age", "place", "town"]]),
        ["value", "grade"],
    )
    if maker.startswith("cut-vector"):
        quasi = ["age", "place" if "place" in maker else "town"]
    text, suppress = required(draw, sensitive), draw.choice([0, 0, 0.1, 0.4])
    if maker.startswith("without-sensitive"):
        text = f"k-anonymity k={draw.randint(1, 2)} share=1.0"
    arrow = pa.table({name: [row[name] for row in rows] for name in rows[0]})
    given = {name: one for name, one in HIERARCHIES.items() if name in [*quasi, *sensitive]}
    table = sfumato.read(arrow, quasi=quasi, sensitive=sensitive, neutral=["row"], person="person", hierarchies=given)
    bytes_of_a_pair, above = reading.BYTES_OF_A_PAIR, draw.random() < 0.25
    reading.BYTES_OF_A_PAIR = 1 << 60 if above else bytes_of_a_pair  # then no pair fits into memory
    assert table.cells.persons.in_engine == above
    reading.BYTES_OF_A_PAIR = bytes_of_a_pair
    request = f"{maker} | {text} | suppress={suppress} | {quasi} | {above}"
    try:
        release = sfumato.anonymize(table, text, maker, suppress=suppress)
    except (InfeasibleError, BadInputError) as error:
        seen[f"{type(error).__name__} {maker.split()[0]}{' above memory' * above}"] += 1
        return []
    release.to_csv(folder / "out.csv", force=True)
    seen[f"release {maker.split()[0]}{' above memory' * above}"] += 1
    published, of_row, groups, left = plain.read_rows(folder / "out.csv"), {row["row"]: row for row in rows}, {}, {}
    for row in published:
        groups.setdefault(tuple(row.get(name, "*") for name in quasi), []).append(of_row[row["row"]])
    shown, wrong = {row["row"] for row in published}, []
    for row in rows:
        if row["row"] not in shown:
            left.setdefault(tuple(row[name] for name in quasi), []).append(row)
    if (
        len(published) != len(shown)
        or len(rows) - len(published) != release.suppressed
        or any("person" in row for row in published)
    ):
        wrong.append(f"{request}: rows")
    for row in published:
        wrong += [
            f"{request}: {name} of {row['row']}"
            for name in sensitive
            if name in row and row[name] != of_row[row["row"]][name]
        ]

    def held(records: Any, name: str) -> Any:
        return [(row["person"], row[name]) for row in records]

    attributes = {"value": plain.Attribute.flat("xyz"), "grade": GRADE}
    if len({row["value"] for row in rows}) < 3:
        attributes["value"] = plain.Attribute.flat(sorted({row["value"] for row in rows}))
    wanted, own = sfumato.requirement(text), list(groups.values())

    def true(requirement: Any) -> bool:
        return all(
            plain.admits(
                part, held(group, part.on or "value"), held(rows, part.on or "value"), attributes[part.on or "value"]
            )
            for part in requirement.parts
            for group in own
        )

    if not true(wanted):
        wrong.append(f"{request}: BROKEN")
    counted = plain.risks(plain.groups_of(published, rows, [name for name in quasi if name in published[0]], "person"))
    measures, numbers = sfumato.measure(release).values, dict(counted)
    numbers["singled_out"] = plain.singled_out([held(group, "value") for group in own])
    by_sensitive = {
        name: plain.value_risks(
            [held(group, name) for group in own],
            held(rows, name),
            [held(group, name) for group in left.values()],
            attributes[name],
        )
        for name in sensitive
        if name in published[0]
    }
    for name, worst in (("l_distinct", min), ("l_frequency", min), ("l_entropy", min), ("l_recursive", min)):
        if by_sensitive:
            numbers[name] = worst(each.pop(name) for each in by_sensitive.values())
    for name in next(iter(by_sensitive.values()), {}):
        numbers[name] = max(each[name] for each in by_sensitive.values())
    unknown = ("certain", "one_value_left", "singled_out") if above else ()
    wrong += differences(request, {n: v for n, v in numbers.items() if n not in unknown}, measures, seen)
    other = required(draw, sensitive)
    if by_sensitive:
        asked = {
            "quasi": quasi,
            "sensitive": sensitive,
            "original": table,
            "person": "person",
            "require": draw.choice([text, other]),
        }
        found, unnumbered = (
            sfumato.audit(folder / "out.csv", **asked),
            sfumato.audit(pa.table({n: [row[n] for row in published] for n in published[0] if n != "row"}), **asked),
        )
        truth = true(sfumato.requirement(asked["require"]))
        seen["audits"] += 2
        if found.persons.counted != len(own) or (not found.failures) != truth or not found.persons.holds:
            wrong.append(f"{request}: audit by {asked['require']}: {truth}, {found.failures}, {found.persons}")
        wrong += differences(
            f"{request}: audit", {n: v for n, v in numbers.items() if n in found.measures}, found.measures, seen
        )
        if (unnumbered.failures and truth) or (not truth and not unnumbered.failures and unnumbered.persons.holds):
            wrong.append(f"{request}: audit without numbers by {asked['require']}: {truth}, {unnumbered.persons}")
        if unnumbered.persons.k > counted["k"] or unnumbered.persons.share < counted["prosecutor"] - 1e-9:
            wrong.append(f"{request}: audit without numbers is not a bound: {unnumbered.persons}, {counted}")
        if unnumbered.persons.counted == len(own):
            wrong += differences(
                f"{request}: audit without numbers",
                {n: v for n, v in numbers.items() if n in unnumbered.measures and n != "singled_out"},
                unnumbered.measures,
                seen,
            )
    return wrong


def differences(request: str, exact: Any, found: Any, seen: Counter[str]) -> list[str]:
    """Compare numbers."""
    seen["numbers"] += len(exact)
    return [
        f"{request}: {name} is {found.get(name)}, not {float(value)}"
        for name, value in exact.items()
        if name not in found or not (found[name] == value or abs(found[name] - float(value)) < 1e-6)
    ]


ITEM_MAKERS = {
    "km-anonymity": ("aa", "coat", "pcta", "upcta", "lra pieces=2", "vpa parts=2", "partition", "one-item", "original"),
    "k-anonymity": ("partition", "one-item", "original"),
    "privacy-constraints": ("coat", "pcta", "upcta"),
    "rho-uncertainty": ("suppress-control", "td-control"),
    "hkp-coherence": ("suppress-control", "td-control"),
}


def judged_baskets(draw: random.Random, folder: Path, seen: Counter[str]) -> list[str]:
    """Make a release of random baskets of persons, and return what is wrong with it."""
    names, persons = "abcdefghij"[: draw.randint(2, 9)], draw.choice([1, 3, 6, 20])
    liked = {u: draw.sample(names, draw.randint(1, len(names))) for u in range(persons)}
    original = []
    for _ in range(draw.randint(3, 40)):
        who = int(persons * draw.random() ** draw.choice([1, 2]))
        original.append(
            (who, frozenset(draw.choice(liked[who]) for _ in range(draw.randint(0 if draw.random() < 0.2 else 1, 4))))
        )
    items = sorted(set().union(*(own for _, own in original)))
    if not items:
        return []
    tree = sfumato.tree([["n", *"abcde"], ["m", *"fghij"]]) if draw.random() < 0.5 else None
    baskets = baskets_of([own for _, own in original], tree, persons=[who for who, _ in original])
    kind = draw.choice(list(ITEM_MAKERS))
    maker, k, m = draw.choice(ITEM_MAKERS[kind]), draw.randint(1, 5), draw.randint(1, 3)
    secret = frozenset(draw.sample(items, draw.randint(1, min(2, len(items)))))
    share = draw.choice(["0.25", "0.5", "0.75"])
    lines = [frozenset(draw.sample(items, draw.randint(1, min(3, len(items))))) for _ in range(3)]
    (folder / "known.txt").write_text("".join(" ".join(sorted(line)) + "\n" for line in lines))
    text = {
        "km-anonymity": f"km-anonymity k={k} m={m}",
        "k-anonymity": f"k-anonymity k={k}",
        "privacy-constraints": f"privacy-constraints k={k} file={folder / 'known.txt'}",
        "rho-uncertainty": f"rho-uncertainty rho={share} m={m} sensitive={','.join(sorted(secret))}",
        "hkp-coherence": f"hkp-coherence h={share} k={k} p={m} private={','.join(sorted(secret))}",
    }[kind]
    request = f"{maker} | {text} | {original}"
    try:
        release = anonymize_baskets(
            baskets,
            text,
            maker,
            None,
            "suppression share=1"
            if maker not in ("aa", "pcta", "lra pieces=2", "vpa parts=2", "partition", "one-item", "original")
            else None,
        )
    except (InfeasibleError, BadInputError) as error:
        seen[f"{type(error).__name__} {maker.split()[0]}"] += 1
        return []
    seen[f"release {maker.split()[0]}"] += 1
    path, wrong = write_items(release, folder / "out.csv", force=True)[0], []
    written = plain_inference.read_lines(path)
    whose, shown = plain_baskets.owners(release.baskets), list(map(frozenset, plain_baskets.published(release)))
    if Counter(written) != Counter(shown) and "automatic" not in str(release):
        texts = Counter(map(len, written)) == Counter(map(len, shown))
        wrong += [] if texts else [f"{request}: rows"]
    if release.is_global:
        labels = [release.recoding.labels[part] if part >= 0 else None for part in release.recoding.parts.tolist()]
        called = dict(zip(release.baskets.items, labels, strict=True))
        pairs = [(who, frozenset(called[item] for item in own if called[item] is not None)) for who, own in original]
        if Counter(row for _, row in pairs) != Counter(shown):
            wrong.append(f"{request}: whose")
    else:
        pairs = list(zip(whose, shown, strict=True))
    having: dict[frozenset[str], set[Any]] = {}
    for who, row in pairs:
        for own in plain_inference.subsets(row, m):
            having.setdefault(own, set()).add(who)
    counts = {own: len(who) for own, who in having.items() if own}
    rows = [(row, who) for who, row in pairs]
    limit = Fraction(share) + Fraction(1, 10**9)
    good = {
        "km-anonymity": lambda: all(n >= k for n in counts.values()),
        "k-anonymity": lambda: all(len({u for u, other in pairs if other == row}) >= k for _, row in pairs),
        "privacy-constraints": lambda: all(
            plain_baskets.constraint_holds(release, part, k)
            for line in lines
            for part in plain_inference.subsets(line, None)
            if part
        ),
        "rho-uncertainty": lambda: rho_holds(rows, secret, limit, m),
        "hkp-coherence": lambda: coherent(rows, secret, limit, k, m),
    }[kind]()
    if not good and maker not in ("original",):
        wrong.append(f"{request}: BROKEN")
    seen["audits"] += 1
    named = rows_of_kinds(release, release_names(release))
    found = audit_baskets(path, text, baskets, known=m, local=not release.is_global, named=named)
    if found.holds != good:
        wrong.append(f"{request}: audit says {found.holds}")
    least = min(counts.values(), default=float("inf"))
    wrong += differences(
        request, {"least_support": least, "itemset_risk": 1 / least if counts else 0}, found.measures, seen
    )
    return wrong


def main() -> None:
    """Draw releases until there are enough, and print what is wrong with them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    seen, wrong, number = Counter[str](), [], 0
    with tempfile.TemporaryDirectory() as folder:
        while sum(n for what, n in seen.items() if what.startswith("release")) < given.releases:
            number += 1
            judge = judged_baskets if number % 4 == 0 else judged_table
            try:
                found = judge(random.Random(f"{given.seed} {number}"), Path(folder), seen)
            except Exception as error:
                found = [f"{type(error).__name__}: {error}"]
            for each in found:
                print(f"{number}: {each}", flush=True)
            wrong += found
    for what, n in sorted(seen.items()):
        print(f"{what}: {n:,}")
    made = sum(n for what, n in seen.items() if what.startswith("release"))
    print(f"{number:,} requests, {made:,} releases, {len(wrong)} faults")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
