"""What a file of baskets must satisfy so that nobody infers a sensitive item: from the definitions, in plain Python.

Nothing here knows how a release is made: a file is a list of sets of published texts (`read_lines` reads one), and
every number is counted over all of its records, in fractions.

Definitions, and where a reading is ours:

**rho-uncertainty** (Cao, Karras, Raissi & Tan, VLDB 2010). For every set q of published items that some record shows,
and every sensitive item s outside q: sup(q + s) / sup(q) is at most rho. The paper bounds the adversary's knowledge
by nothing and lets sensitive items be known too ("an adversary may possess information on any of them"); it asks for
less than rho. Ours: `most` bounds how many items are known (None: the paper's); at most instead of less than, as
bounds are everywhere here; `known="public"` is the weaker adversary who knows no sensitive item; the empty q counts,
that is, who knows nothing and takes the share of all records.

**(h,k,p)-coherence** (Xu, Wang, Fu & Yu, KDD 2008). For every set of 1 to p public items that some record shows: at
least k records show it, and of these at most a share h show any one private item. Ours: the empty set counts for the
share.

**PS-rules** (Loukides, Gkoulalas-Divanis & Shao, "Efficient and flexible anonymization of transaction data", KAIS
2013). A rule I -> J of public items I and sensitive items J: sup(I) is 0 or at least k, and sup(I + J) / sup(I) is at
most c. Ours: an item that is published nowhere is no knowledge and is left out of I, and a J with such an item is
shown by no record; with `subsets`, every subset of I (the empty one for the share alone) is protected as I is.

A **published text** stands for items (`reading` says which): itself, the members of a set `{a, b}`, those of a
legend's line. A record *fits* an item if it shows a text that stands for it. For a text that stands for several
items, some of them sensitive, a reader who finds it takes each nonempty choice to be possible; these checkers count a
record as showing the sensitive item then (`careful`), which is the safe side.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path

Row = frozenset[str]
Reading = Mapping[str, frozenset[str]]
"""For every published text the items it stands for."""


def read_lines(path: Path) -> list[Row]:
    """Read a published file of lines: csv fields, each a published text; an empty line shows nothing."""
    with path.open(newline="", encoding="utf-8") as file:
        return [frozenset(field.strip() for field in row if field.strip()) for row in csv.reader(file)]


def members(text: str) -> list[str]:
    """Take `{a, "b, c"}` apart; any other text stands for itself."""
    if len(text) < 3 or text[0] != "{" or text[-1] != "}":
        return [text]
    inside = text[1:-1].removesuffix(",")
    return next(csv.reader([inside], skipinitialspace=True))


def reading(rows: Iterable[Row], items: Iterable[str], legend: Mapping[str, Sequence[str]] | None = None) -> Reading:
    """Say which of the original items every published text stands for: an item is itself, whatever it looks like."""
    every, named = frozenset(items), legend or {}
    stands: dict[str, frozenset[str]] = {}
    for text in {text for row in rows for text in row}:
        if text in every:
            stands[text] = frozenset([text])
        elif text in named:
            stands[text] = frozenset(named[text]) & every
        elif text == "*":
            stands[text] = every
        else:
            stands[text] = frozenset(members(text)) & every
    return stands


def subsets(row: Iterable[str], most: int | None) -> Iterable[Row]:
    """Yield the sets of up to `most` members, the empty one first."""
    ordered = sorted(row)
    for size in range(0, (len(ordered) if most is None else min(most, len(ordered))) + 1):
        yield from map(frozenset, combinations(ordered, size))


def occurring(rows: Sequence[Row], most: int | None) -> set[Row]:
    """Return every set of up to `most` published texts that some record shows, the empty one too."""
    return {known for row in rows for known in subsets(row, most)}


def support(rows: Sequence[Row], known: Row) -> int:
    """Count the records that show all of some texts."""
    return sum(known <= row for row in rows)


def rho(rows: Sequence[Row], sensitive: Iterable[str], most: int | None = None, known: str = "any") -> Fraction:
    """Return the largest confidence of a sensitive item given other published items; 0 where there is none."""
    hidden = frozenset(sensitive)
    seen = rows if known == "any" else [row - hidden for row in rows]
    worst = Fraction(0)
    for given in occurring(seen, most):
        having = [row for row in rows if given <= row]
        for item in hidden - given:
            worst = max(worst, Fraction(sum(item in row for row in having), len(having)))
    return worst


def rho_uncertain(rows: Sequence[Row], sensitive: Iterable[str], bound: Fraction, most: int | None = None) -> bool:
    """Say whether rho-uncertainty holds, sensitive items being known too."""
    return rho(rows, sensitive, most) <= bound


def coherent(rows: Sequence[Row], private: Iterable[str], h: Fraction, k: int, p: int) -> bool:
    """Say whether (h,k,p)-coherence holds."""
    hidden = frozenset(private)
    for given in occurring([row - hidden for row in rows], p):
        having = [row for row in rows if given <= row]
        if given and len(having) < k:
            return False
        if any(sum(item in row for row in having) > h * len(having) for item in hidden):
            return False
    return True


def fitting(rows: Sequence[Row], items: Iterable[str], stands: Reading) -> list[Row]:
    """Return the records that fit all of some items: each is among what one of the record's texts stands for."""
    wanted = list(items)
    return [row for row in rows if all(any(item in stands[text] for text in row) for item in wanted)]


def rules_hold(
    rows: Sequence[Row],
    rules: Iterable[tuple[Sequence[str], Sequence[str]]],
    k: int,
    c: Fraction,
    stands: Reading,
    every_subset: bool = True,
) -> bool:
    """Say whether PS-rules hold."""
    published = frozenset().union(*stands.values()) if stands else frozenset()
    for known, concluded in rules:
        for items in subsets(known, None) if every_subset else [frozenset(known)]:
            left = items & published
            having = fitting(rows, left, stands)
            if left and 0 < len(having) < k:
                return False
            shown = len(fitting(having, concluded, stands)) if set(concluded) <= published else 0
            if shown > c * len(having):
                return False
    return True


def sensitive_alone(stands: Reading, sensitive: Iterable[str]) -> bool:
    """Say whether every text that stands for a sensitive item stands for it alone, so that shares mean it."""
    hidden = frozenset(sensitive)
    return all(len(items) == 1 for items in stands.values() if items & hidden)


def careful(rows: Sequence[Row], stands: Reading, sensitive: Iterable[str]) -> list[Row]:
    """Let every record also show the sensitive items that one of its texts may stand for."""
    hidden = frozenset(sensitive)
    return [row | frozenset(item for text in row for item in stands[text] & hidden) for row in rows]


def supported_studies(
    stands: Reading, original: Sequence[Row], rows: Sequence[Row], studies: Iterable[Iterable[str]], told: str = "apart"
) -> int:
    """Count the studies that a file still supports. A study is a set of items it is about.

    `apart` (ours, after the issue: codes that must stay distinguishable): every item of the study is published, and
    only as a text that stands for it alone, by as many records as have it; so its records can be counted and told
    from all others. `together` (a utility constraint of Loukides, Gkoulalas-Divanis & Malin, 2011): every item is
    published, texts that stand for items of the study stand for no other item, and as many records show one of them
    as have one of the items. An item nobody has supports anything.
    """
    supported = 0
    for study in studies:
        items = frozenset(item for item in study if any(item in row for row in original))
        apart = [frozenset([item]) for item in sorted(items)] if told == "apart" else [items]
        published = frozenset().union(*stands.values()) if stands else frozenset()
        supported += items <= published and all(
            all(one <= group for one in stands.values() if one & group)
            and sum(bool(row & group) for row in original)
            == sum(any(stands[text] & group for text in row) for row in rows)
            for group in apart
        )
    return supported
