"""What a release of baskets must satisfy, once more in plain Python from the definitions: sets, loops, no arrays."""

from itertools import combinations


def records(baskets):
    """The records as sets of labels, in the order of the input."""
    return [set(baskets.basket(int(own))) for own in baskets.link]


def published(release):
    """For every record the set of labels that stands in the file, read off recodings and pieces."""
    rows = []
    for own in release.baskets.link:
        recoding = release.recodings[int(release.piece[own])]
        parts = [int(recoding.parts[release.baskets.items.index(item)]) for item in release.baskets.basket(int(own))]
        rows.append({recoding.labels[part] for part in parts if part >= 0})
    return rows


def supports(rows, size):
    """How many rows have each set of so many labels that some row has."""
    counts = {}
    for row in rows:
        for own in combinations(sorted(row), size):
            counts[own] = counts.get(own, 0) + 1
    return counts


def km_holds(release, k, m):
    """Whoever knows up to m items finds, in every piece, none or at least k records."""
    rows, link = published(release), release.baskets.link
    for piece in range(len(release.recodings)):
        own = [row for row, basket in zip(rows, link, strict=True) if release.piece[basket] == piece]
        for size in range(1, m + 1):
            if any(count < k for count in supports(own, size).values()):
                return False
    return True


def matching_holds(release, k, m):
    """The attack itself: for every record and all sets of up to m of its items, count records that may be meant."""
    known = records(release.baskets)
    link = release.baskets.link
    places = release.baskets.places
    rows = published(release)
    for record in known:
        for size in range(1, min(m, len(record)) + 1):
            for items in combinations(sorted(record), size):
                if not 0 < _matching(release, rows, link, places, items) < k:
                    continue
                return False
    return True


def _matching(release, rows, link, places, items):
    total = 0
    for row, basket in zip(rows, link, strict=True):
        recoding = release.recodings[int(release.piece[basket])]
        parts = [int(recoding.parts[places[item]]) for item in items]
        shown = {recoding.labels[part] for part in parts if part >= 0}
        total += bool(shown) and shown <= row
    return total


def complete_holds(release, k):
    """Every published basket is that of at least k records."""
    rows = [frozenset(row) for row in published(release)]
    return all(rows.count(row) >= k for row in set(rows))


def constraint_holds(release, items, k):
    """One privacy constraint: its published form is in no record or in at least k; suppressed items are dropped."""
    return not 0 < _matching(release, published(release), release.baskets.link, release.baskets.places, items) < k


def is_honest(release):
    """Every published label of a record stands for an item it has, and every item for its label or for nothing."""
    for record, row in zip(records(release.baskets), published(release), strict=True):
        assert bool(row) <= bool(record)
    for recoding in release.recodings:
        assert sorted(set(recoding.parts.tolist()) - {-1}) == list(range(len(recoding.labels)))
        for part, label in enumerate(recoding.labels):
            members = [item for item, own in zip(release.baskets.items, recoding.parts, strict=True) if own == part]
            assert len(members) > 1 or members == [label] or release.baskets.tree is not None or ".." in label
    return True


def utility_loss(parts, rows, items):
    """UL of section 3.4 (w = 1, nothing suppressed), singletons included."""
    total = 0.0
    for part in parts:
        support = sum(bool(part & row) for row in rows)
        total += (2 ** len(part) - 1) / (2**items - 1) * support / len(rows)
    return total


def partitions(items):
    """All partitions of a list."""
    if not items:
        yield []
        return
    first, *rest = items
    for own in partitions(rest):
        yield [[first], *own]
        for place in range(len(own)):
            yield [*own[:place], [first, *own[place]], *own[place + 1 :]]
