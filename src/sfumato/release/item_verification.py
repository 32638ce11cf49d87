"""Proof of a release of baskets: count the published rows from scratch and compare with what was required.

Nothing here knows how a release was made. Rows are recoded again from the baskets, pairs of parts are counted by a
sparse matrix product, larger ones by enumeration, published baskets as they are. If pieces of the baskets have their
own recodings, every piece must satisfy the requirement. For k^m-anonymity, whoever matches known items against all
pieces then finds, in each, none or records of at least k persons. For requirements about inference, the share of all
records that fit is a mean of shares that are small enough. Shares of persons are not, so they are counted in releases
of one piece. An item whose label nobody shows counts as one that is not published; with one recoding for all records,
which all makers of such releases have, there is none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from sfumato.data.items import equal_rows, taken_rows
from sfumato.release._inference_rules import CodedRows, broken_listed, broken_rules, known_sizes
from sfumato.release._itemsets import Rows, rare_itemsets
from sfumato.release.items import SUPPRESSED, BasketRelease, rows_by_piece
from sfumato.requirements import items as item_rules
from sfumato.runtime.arrays import Codes, Counts, RedactedRepr


@dataclass(frozen=True, repr=False)
class Weak(RedactedRepr):
    """A published set of parts and how many persons have it; of a rule also what is behind its arrow."""

    support: int
    parts: tuple[str, ...]


def inference_violations(release: BasketRelease, requirement: item_rules.InferenceRequirement, most: int) -> list[Weak]:
    """List (at most `most`) sensitive items that are published with others, and rules of too high confidence."""
    return list(islice(_violations(release, requirement, max(most, 1)), max(most, 1)))


def _violations(release: BasketRelease, requirement: item_rules.InferenceRequirement, most: int) -> Iterator[Weak]:
    assert release.persons is None or release.is_global, "shares of persons in pieces do not bound the share of all "
    "records"
    sensitive = requirement.sensitive_items(release.baskets)
    for recoding in release.recodings:
        for item in sensitive:
            part = recoding.parts[item]
            if part != SUPPRESSED and recoding.leaves[part] != 1:
                yield Weak(0, (f"{release.baskets.items[item]} published together with others",))
    for piece in range(len(release.recodings)):
        yield from _broken(release, requirement, sensitive, piece, most)


def _broken(
    release: BasketRelease,
    requirement: item_rules.InferenceRequirement,
    sensitive: Sequence[int],
    piece: int,
    most: int,
) -> Iterator[Weak]:
    recoded, labels = release.recoded, release.labels
    places, parts = np.flatnonzero(release.piece == piece), release.published_in(piece)
    starts, codes = taken_rows(recoded.starts, recoded.codes, places)
    flags = np.zeros(len(labels), np.int32)
    flags[[parts[item] for item in sensitive if parts[item] != SUPPRESSED]] = 1
    people = None if release.persons is None else release.persons.some(places)
    rows = CodedRows(Rows(starts, codes, recoded.weights[places], len(labels), people), flags)
    if isinstance(requirement, item_rules.PSRules):
        for (known, concluded), persons, _ in broken_listed(
            rows, requirement, requirement.rules(release.baskets), parts
        ):
            yield Weak(persons, _rule(labels, known, concluded))
        return
    for size in known_sizes(requirement):
        broken = broken_rules(rows, requirement, size, most)
        for known, concluded, persons in zip(broken.known, broken.concluded, broken.persons, strict=True):
            yield Weak(int(persons), _rule(labels, known, [concluded] if concluded >= 0 else []))


def _rule(labels: Sequence[str], known: Sequence[int], concluded: Sequence[int]) -> tuple[str, ...]:
    return (*(labels[code] for code in known), *(f"-> {labels[code]}" for code in concluded))


SHOWN = 3


def verify(release: BasketRelease, requirement: item_rules.BasketRequirement) -> None:
    """Raise an AssertionError that names a counterexample unless the release satisfies the requirement."""
    weak_sets = violations(release, requirement)
    examples = "; ".join(f"{{{', '.join(weak.parts)}}} in {weak.support}" for weak in weak_sets)
    assert not weak_sets, f"{release.maker or 'this release'} breaks {requirement}: {examples}"


def violations(release: BasketRelease, requirement: item_rules.BasketRequirement, most: int = SHOWN) -> list[Weak]:
    """List published sets (at most `most`) that fewer than k persons have although the requirement protects them."""
    if isinstance(requirement, item_rules.KMAnonymity):
        return _km_violations(release, requirement, most)
    if isinstance(requirement, item_rules.CompleteKAnonymity):
        return _complete_violations(release, requirement.k, most)
    if isinstance(requirement, item_rules.InferenceRequirement):
        return inference_violations(release, requirement, most)
    assert isinstance(requirement, item_rules.PrivacyConstraints), f"cannot verify {requirement}"
    return _constraint_violations(release, requirement.itemsets(release.baskets), requirement.k, most)


# -- k^m-anonymity -------------------------------------------------------------------------------------------


def _km_violations(release: BasketRelease, requirement: item_rules.KMAnonymity, most: int) -> list[Weak]:
    weak_sets: list[Weak] = []
    for rows, labels in _rows_of_pieces(release):
        for size in range(1, requirement.m + 1):
            if len(weak_sets) < most:
                parts, supports = _rare(rows, size, requirement.k, most - len(weak_sets))
                named = [tuple(labels[part] for part in itemset) for itemset in parts]
                weak_sets += [Weak(int(support), names) for support, names in zip(supports, named, strict=True)]
    return weak_sets


def _rows_of_pieces(release: BasketRelease) -> Iterator[tuple[Rows, Sequence[str]]]:
    rows, labels = release.recoded, release.labels
    for places in rows_by_piece(release.piece, len(release.recodings)):
        starts, codes = taken_rows(rows.starts, rows.codes, places)
        used, small = np.unique(codes, return_inverse=True)
        people = None if release.persons is None else release.persons.some(places)
        of_piece = Rows(starts, small.ravel().astype(np.int32), rows.weights[places], len(used), people)
        yield of_piece, [labels[part] for part in used]


def _rare(rows: Rows, size: int, k: int, most: int) -> tuple[Codes, Counts]:
    """Find sets of so many parts that occur in records of fewer than k persons."""
    if size == 2 and rows.persons is None:
        return _rare_pairs(rows, k, most)
    return rare_itemsets(rows, size, k, most)[:2]


def _rare_pairs(rows: Rows, k: int, most: int) -> tuple[Codes, Counts]:
    """Count all pairs by the product of the rows with themselves."""
    from scipy.sparse import csr_array, triu

    shape = (len(rows.starts) - 1, rows.size)
    weights = np.repeat(rows.weights, np.diff(rows.starts))
    weighted = csr_array((weights, rows.codes, rows.starts), shape=shape)
    plain = csr_array((np.ones_like(weights), rows.codes, rows.starts), shape=shape)
    product = triu(plain.T @ weighted, k=1, format="coo")
    rare = np.flatnonzero(product.data < k)[:most]
    pairs = np.stack([product.row[rare], product.col[rare]], axis=1).astype(np.int32)
    return pairs, product.data[rare].astype(np.int64)


# -- complete k-anonymity ------------------------------------------------------------------------------------


def _complete_violations(release: BasketRelease, k: int, most: int) -> list[Weak]:
    rows = Rows.of_persons(release)
    first, link = equal_rows(rows.starts, rows.codes)
    counts = rows.people.by_group(link, len(first))
    few = np.flatnonzero(counts < k)[:most]
    parts = [rows.codes[rows.starts[row] : rows.starts[row + 1]] for row in first[few]]
    named = [tuple(release.labels[part] for part in codes) for codes in parts]
    return [Weak(int(support), names) for support, names in zip(counts[few], named, strict=True)]


# -- privacy constraints -------------------------------------------------------------------------------------


def _constraint_violations(release: BasketRelease, itemsets: list[item_rules.Itemset], k: int, most: int) -> list[Weak]:
    """Count the persons who show the published form of each constraint; what their piece leaves out is dropped."""
    rows, people = release.recoded, release.baskets.people
    showing = _records_showing(release)
    left_out: dict[int, set[int]] = {}
    for piece, items in release.withheld:
        places = set(np.flatnonzero(release.piece == piece).tolist())
        for item in items.tolist():
            left_out.setdefault(item, set()).update(places)
    records = len(rows.weights)

    def fitting(itemset: item_rules.Itemset) -> tuple[set[int], list[int]]:
        asked = [item for item in itemset if len(left_out.get(item, ())) < records]
        if not asked:
            return set(), asked
        shown = [showing.get(item, set()) | left_out[item] if item in left_out else showing[item] for item in asked]
        together = set.intersection(*sorted(shown, key=len))
        if all(item in left_out for item in asked):
            together = {row for row in together if not all(row in left_out[item] for item in asked)}
        return together, asked

    weak_sets: list[Weak] = []
    for itemset in itemsets:
        together, asked = fitting(itemset)
        number = people.count(np.array(sorted(together), np.int64)) if together else 0
        if 0 < number < k and len(weak_sets) < max(most, 1):
            shown = {rows.labels[code] for row in together for code in _shown_for(release, row, asked)}
            weak_sets.append(Weak(number, tuple(sorted(shown))))
    return weak_sets


def _records_showing(release: BasketRelease) -> dict[int, set[int]]:
    """List for each item the rows with a label that contains it."""
    rows, parts = release.recoded, release.parts
    row = np.repeat(np.arange(len(rows.starts) - 1), np.diff(rows.starts))
    by_label: dict[int, set[int]] = {}
    for code, place in zip(rows.codes.tolist(), row.tolist(), strict=True):
        by_label.setdefault(code, set()).add(place)
    showing: dict[int, set[int]] = {}
    for code, places in by_label.items():
        for item in parts.members(code).tolist():
            showing[item] = showing[item] | places if item in showing else places
    return showing


def _shown_for(release: BasketRelease, row: int, itemset: list[int]) -> list[int]:
    """Return the labels of a row for a set of items."""
    rows = release.recoded
    codes = rows.codes[rows.starts[row] : rows.starts[row + 1]].tolist()
    return [code for code in codes if set(itemset) & set(release.parts.members(code).tolist())]
