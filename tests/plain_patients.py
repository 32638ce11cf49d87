"""What a table with a set-valued column must satisfy and what it loses: from the definitions, in plain Python.

Nothing here knows how a release is made. A file is a list of records: the published texts of the quasi-identifiers and
a set of published texts that stand for items (`read_records` reads one).

Definitions, and where a reading is ours:

**(k, k^m)-anonymity** (Poulis, Loukides, Gkoulalas-Divanis & Skiadopoulos, ECML PKDD 2013). A group is all records with
the same published quasi-identifiers. Every group has at least k records, and every set of 1 to m published items that
some record of a group shows is shown by at least k records of that group. Sets of all sizes up to m are asked for,
since a record may be shorter than m. Not the paper's: m = 0 asks for the groups alone.

**The attack by both** is what the definition is for: somebody knows the quasi-identifiers of a person of the original
and up to m of the person's items, and counts the published records that can be that person's: every quasi text covers
the value, and for every known item there is a text in the record that stands for it. An item that is published
nowhere in the records that cover the quasi-identifiers is no knowledge (ours: as for baskets, who knows a suppressed
item knows nothing by it). `candidates` counts them; the least number of candidates over all persons and known items
is never below that of (k, k^m)-anonymity where a person's own group is among those that cover.

**Joint query error.** A query asks how many records have values in given sets of quasi values *and* all of some items.
The estimate adds up over published records: for every quasi-identifier the share of the values its text covers that the
query selects (values of a declared domain, each as likely), times for every text of the record that stands for asked
items the odds that all these are in it. `half`: each member of a text that stands for several is in with chance 1/2,
`nonempty`: all nonempty choices are as likely, `uniform`: it is one of them. A text that stands for one item is it.
An item is taken to stand in one text of a record at most. The error is |estimate - count| / max(count, sanity),
averaged over queries; `sanity` 0 leaves out queries that nobody fits.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path

from independent_checker import covers

Record = tuple[tuple[str, ...], frozenset[str]]
Reading = Mapping[str, frozenset[str]]
Query = tuple[tuple[frozenset[str] | None, ...], frozenset[str]]
"""For every quasi-identifier the values that are asked for (None: any), and the items."""


def cell_items(cell: str, separator: str = ";") -> frozenset[str]:
    """Take a cell apart: items separated by `;`, in double quotes where an item holds one, by the rules of csv."""
    fields = next(csv.reader(io.StringIO(cell, newline=""), delimiter=separator), [])
    return frozenset(field.strip() for field in fields if field.strip())


def read_records(path: Path, quasi: Sequence[str], items: str, separator: str = ";") -> list[Record]:
    """Read a published file: CSV with cells of items, Parquet or JSON lines with lists of them."""
    if path.suffix == ".parquet":
        import pyarrow.parquet

        rows = pyarrow.parquet.read_table(path).to_pylist()
    elif path.suffix in (".json", ".jsonl"):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    else:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
    records = []
    for row in rows:
        given = row[items]
        listed = cell_items(given or "", separator) if given is None or isinstance(given, str) else frozenset(given)
        records.append((tuple("" if row[name] is None else str(row[name]) for name in quasi), listed))
    return records


def groups(records: Iterable[Record]) -> dict[tuple[str, ...], list[frozenset[str]]]:
    """Put records with the same published quasi-identifiers together."""
    found: dict[tuple[str, ...], list[frozenset[str]]] = {}
    for texts, items in records:
        found.setdefault(texts, []).append(items)
    return found


def supports(rows: Sequence[frozenset[str]], m: int) -> dict[frozenset[str], int]:
    """Count the records of every set of 1 to m published items that some record shows."""
    counts: dict[frozenset[str], int] = {}
    for row in rows:
        for size in range(1, min(m, len(row)) + 1):
            for known in combinations(sorted(row), size):
                counts[frozenset(known)] = counts.get(frozenset(known), 0) + 1
    return counts


def least_group(records: Iterable[Record]) -> int:
    """Return the number of records of the smallest group."""
    return min(map(len, groups(records).values()))


def least_candidates(records: Iterable[Record], m: int) -> int:
    """Return the largest k for which (k, k^m)-anonymity holds."""
    return min(min([len(rows), *supports(rows, m).values()]) for rows in groups(records).values())


def k_km_holds(records: Iterable[Record], k: int, m: int) -> bool:
    """Say whether (k, k^m)-anonymity holds."""
    return least_candidates(records, m) >= k


def stands_for(records: Iterable[Record], items: Iterable[str], legend: Mapping[str, Sequence[str]] | None) -> Reading:
    """Say which items every published text stands for."""
    from plain_inference import reading

    return reading([row for _, row in records], items, legend)


Covers = Callable[[int, str, str], bool]
"""Whether, of the quasi-identifier of a number, a published text covers a value."""


def by_notation(numeric: Sequence[bool], labels: Sequence[Mapping[str, set[str]] | None]) -> Covers:
    """Read texts by notation and by the labels of level tables, as the independent checker does."""
    return lambda place, text, value: covers(text, value, labels=labels[place], numeric=numeric[place])


def may_be(record: Record, quasi: Sequence[str], known: Iterable[str], stands: Reading, covering: Covers) -> bool:
    """Say whether a published record can be that of a person with these values and items."""
    texts, row = record
    return all(covering(place, text, value) for place, (text, value) in enumerate(zip(texts, quasi, strict=True))) and (
        all(any(item in stands[text] for text in row) for item in known)
    )


def candidates(
    records: Sequence[Record], person: Record, known: Iterable[str], stands: Reading, covering: Covers
) -> int:
    """Count the records that fit an attacker who knows a person's quasi-identifiers and some items."""
    alike = [record for record in records if may_be(record, person[0], (), stands, covering)]
    published = frozenset(item for _, row in alike for text in row for item in stands[text])
    helpful = [item for item in known if item in published]
    return sum(may_be(record, person[0], helpful, stands, covering) for record in alike)


def attack(records: Sequence[Record], original: Sequence[Record], m: int, stands: Reading, covering: Covers) -> int:
    """Return the least number of candidates over all persons and all sets of up to m of their items."""
    least = len(records)
    for person in set(original):
        for size in range(min(m, len(person[1])) + 1):
            for known in combinations(sorted(person[1]), size):
                least = min(least, candidates(records, person, known, stands, covering))
    return least


def covered(records: Sequence[Record], original: Sequence[Record], stands: Reading, covering: Covers) -> bool:
    """Say whether the records can be those of different original ones, one each (a matching is looked for).

    A published record can be an original one if its quasi texts cover the values and every text of it stands for an
    item that the original has; items may have been suppressed, so an original item may stand nowhere.
    """
    reach = [
        [
            place
            for place, (values, items) in enumerate(original)
            if may_be((texts, row), values, (), stands, covering) and all(stands[text] & items for text in row)
        ]
        for texts, row in records
    ]
    taken: dict[int, int] = {}

    def place_it(number: int, seen: set[int]) -> bool:
        for target in reach[number]:
            if target not in seen:
                seen.add(target)
                if target not in taken or place_it(taken[target], seen):
                    taken[target] = number
                    return True
        return False

    return all(place_it(number, set()) for number in range(len(records)))


def odds(size: int, asked: int, estimator: str) -> Fraction:
    """Say how likely asked members of a text that stands for `size` items are all in a record that shows it."""
    if size == 1 or asked == 0:
        return Fraction(1)
    if estimator == "half":
        return Fraction(1, 2) ** asked
    if estimator == "nonempty":
        return Fraction(2 ** (size - asked), 2**size - 1)
    return Fraction(1, size) if asked == 1 else Fraction(0)


def estimate(
    records: Sequence[Record],
    query: Query,
    stands: Reading,
    covering: Covers,
    domains: Sequence[Sequence[str]],
    estimator: str = "half",
) -> Fraction:
    """Estimate how many records a query selects; every asked item may be in one text of a record at most."""
    total = Fraction(0)
    values, items = query
    for texts, row in records:
        share = Fraction(1)
        for place, (text, wanted) in enumerate(zip(texts, values, strict=True)):
            if wanted is not None:
                inside = [value for value in domains[place] if covering(place, text, value)]
                share *= Fraction(sum(value in wanted for value in inside), len(inside)) if inside else 0
        for item in items:
            assert sum(item in stands[text] for text in row) <= 1
            share *= any(item in stands[text] for text in row)
        for text in row:
            share *= odds(len(stands[text]), len(stands[text] & items), estimator)
        total += share
    return total


def true_count(original: Sequence[Record], query: Query) -> int:
    """Count the original records that a query selects."""
    values, items = query
    return sum(
        items <= row and all(wanted is None or value in wanted for value, wanted in zip(texts, values, strict=True))
        for texts, row in original
    )


def joint_query_error(
    records: Sequence[Record],
    original: Sequence[Record],
    queries: Sequence[Query],
    stands: Reading,
    covering: Covers,
    domains: Sequence[Sequence[str]],
    estimator: str = "half",
    sanity: Fraction = Fraction(0),
) -> Fraction | None:
    """Return the mean relative error; None where no query is left."""
    errors = []
    for query in queries:
        count = true_count(original, query)
        if count or sanity:
            answer = estimate(records, query, stands, covering, domains, estimator)
            errors.append(abs(answer - count) / max(Fraction(count), sanity))
    return sum(errors, Fraction(0)) / len(errors) if errors else None
