"""What a release of baskets must satisfy, once more in plain Python from the definitions: sets, loops, no arrays."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, compress, product


def baskets_by_record(baskets):
    """For every record its distinct basket."""
    return [distinct for distinct, weight in enumerate(baskets.weights.tolist()) for _ in range(weight)]


def records(baskets):
    """The records as sets of labels."""
    return [set(baskets.basket(distinct)) for distinct in baskets_by_record(baskets)]


def published(release):
    """For every record the set of labels that stands in the file, read off recodings and pieces."""
    rows = []
    for own in baskets_by_record(release.baskets):
        recoding = release.recodings[int(release.piece[own])]
        parts = [int(recoding.parts[release.baskets.items.index(item)]) for item in release.baskets.basket(int(own))]
        rows.append({recoding.labels[part] for part in parts if part >= 0})
    return rows


def owners(baskets):
    """For every record its person: of a kind of n persons each has one n-th of the records; else each its own."""
    if baskets.persons is None:
        return list(range(baskets.size))
    kinds, numbers = (each.tolist() for each in baskets.persons)
    rows = zip(kinds, numbers, baskets.weights.tolist(), strict=True)
    return [(kind, one) for kind, n, weight in rows for one in range(n) for _ in range(weight // n)]


def supports(rows, size, whose=None):
    """How many persons (by default rows) have a row with each set of so many labels that some row has."""
    having = {}
    for row, who in zip(rows, range(len(rows)) if whose is None else whose, strict=True):
        for own in combinations(sorted(row), size):
            having.setdefault(own, set()).add(who)
    return {own: len(persons) for own, persons in having.items()}


def km_holds(release, k, m):
    """Whoever knows up to m items finds, in every piece, none or at least k persons."""
    rows, link, whose = published(release), baskets_by_record(release.baskets), owners(release.baskets)
    for piece in range(len(release.recodings)):
        own = [place for place, basket in enumerate(link) if release.piece[basket] == piece]
        for size in range(1, m + 1):
            counts = supports([rows[place] for place in own], size, [whose[place] for place in own])
            if any(count < k for count in counts.values()):
                return False
    return True


def matching_holds(release, k, m):
    """The attack itself: for every record and all sets of up to m of its items, count persons who may be meant."""
    known = records(release.baskets)
    link = baskets_by_record(release.baskets)
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
    found = set()
    for row, basket, who in zip(rows, link, owners(release.baskets), strict=True):
        recoding = release.recodings[int(release.piece[basket])]
        parts = [int(recoding.parts[places[item]]) for item in items]
        shown = {recoding.labels[part] for part in parts if part >= 0}
        if shown and shown <= row:
            found.add(who)
    return len(found)


def complete_holds(release, k):
    """Every published basket is that of at least k persons."""
    having = {}
    for row, who in zip(published(release), owners(release.baskets), strict=True):
        having.setdefault(frozenset(row), set()).add(who)
    return all(len(persons) >= k for persons in having.values())


def constraint_holds(release, items, k):
    """One privacy constraint: its published form is in no record or in at least k; suppressed items are dropped."""
    return (
        not 0
        < _matching(release, published(release), baskets_by_record(release.baskets), release.baskets.places, items)
        < k
    )


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


def plain_clusters(rows, items, k, m, maker, blocks=None, owner=None, nodes=(), whose=None):
    """What COAT and PCTA should do, by counting everything anew at every step (m up to 2): clusters of item numbers.

    `owner` has for every item its weight and its penalty, and how many items may be left out by choice; `nodes` are
    those of a tree, as sets of item numbers, by which `loss=tree` prices a part; `whose` has the person of every row.
    """
    block = dict.fromkeys(items, 0) if blocks is None else blocks
    clusters, turns = {frozenset([item]) for item in items}, {}

    def support(own):
        return sum(all(cluster & row for cluster in own) for row in rows)

    def persons(own):
        having = [all(cluster & row for cluster in own) for row in rows]
        return sum(having) if whose is None else len(set(compress(whose, having)))

    def key(own):
        count = persons(own)
        urgency = count if maker.order == "ascending" else k - count
        turn = max(turns.get(cluster, 0) for cluster in own)
        return turn, urgency, len(own), sorted(min(cluster) for cluster in own)

    while True:
        rare = [own for size in range(1, m + 1) for own in combinations(clusters, size) if 0 < persons(own) < k]
        if not rare:
            return clusters
        chosen = min(rare, key=key)
        turn, names = key(chosen)[0], [min(cluster) for cluster in chosen]
        while True:
            present = [cluster for cluster in clusters if cluster & set(names)]
            if not present or not 0 < persons(present) < k:
                break
            clusters = plain_step(clusters, present, support, maker, block, owner, len(items), nodes)
            if maker.visit != "stay":
                break
        for cluster in clusters:
            if cluster & set(names) and cluster not in chosen and maker.visit == "round":
                turns[cluster] = turn + 1


def plain_step(clusters, present, support, maker, block, owner, items, nodes=()):
    """Merge one cluster of a constraint with its cheapest partner, or suppress one of them."""

    def price(part):
        """UL of a part, but for the number of records; of all items together it would be their mean weight."""
        counted = Fraction(len(part), items) if maker.loss == "size" else Fraction(2 ** len(part) - 1, 2**items - 1)
        if maker.loss == "tree":
            counted = Fraction(min(len(node) for node in nodes if part <= node), items)
        weight = 1 if owner is None else Fraction(sum(owner.weights[item] for item in part), len(part))
        return counted * weight * max(support([part]), 1)

    def penalty(part):
        return sum(owner.penalties[item] * support([{item}]) for item in part)

    least = min(present, key=lambda own: (support([own]), len(own), min(own)))
    best = {}  # the best partner of every candidate, then the best of these
    for own in present if maker.seed == "any" else [least]:
        partners = [other for other in clusters - {own} if block[min(own)] == block[min(other)]]
        for other in partners:
            entry = price(own | other), support([own | other]), min(other), other
            best[own] = min(best.get(own, entry), entry)
    if not best:
        gone = least if owner is None else min(present, key=lambda own: (penalty(own), own != least))
        return clusters - {gone}
    own = min(best, key=lambda own: (*best[own][:2], min(own)))
    lost, _, _, other = best[own]
    left_out = items - sum(map(len, clusters))
    if owner is not None and left_out + len(own) <= owner.most and penalty(own) < lost - price(other):
        return clusters - {own}
    return (clusters - {own, other}) | {own | other}


def plain_vpa(rows, items, k, m, tree, parts):
    """What VPA should do: AA for runs of the items in the order of the leaves, then for all from there on."""
    cut = {}
    for run in parts:
        cut |= plain_cut([set(row) & set(run) for row in rows], run, k, m, tree)
    return plain_cut(rows, items, k, m, tree, cut)


def plain_lra(rows, items, k, m, tree, most):
    """What LRA should do: for every basket what it shows. `items` are in the order of the leaves.

    Baskets stand in the order of reflected Gray codes, an item a bit, the first one the highest: the number of a Gray
    code has as its bits the parity of all bits up to there. A piece is closed where taking the next basket would bring
    it further from its size than it is; each is anonymized by itself.
    """
    distinct = sorted(
        {frozenset(row) for row in rows},
        key=lambda row: [sum(item in row for item in items[: place + 1]) % 2 for place in range(len(items))],
    )
    size = max(k, -(-sum(bool(row) for row in rows) // most))
    pieces = [[]]
    for basket in distinct:
        held = sum(map(bool, pieces[-1]))
        alike = [set(basket)] * sum(set(row) == basket for row in rows)
        after = held + (len(alike) if basket else 0)
        if held >= k and after - size > size - held:
            pieces.append([])
        pieces[-1] += alike
    if len(pieces) > 1 and sum(map(bool, pieces[-1])) < k:
        last = pieces.pop()
        pieces[-1] += last
    shown = {}
    for piece in pieces:
        cut = plain_cut(piece, items, k, m, tree)
        shown |= {frozenset(row): {cut[item][0] for item in row} for row in piece}
    return shown


def plain_cut(rows, items, k, m, tree, start=None, whose=None):
    """What AA should do, by counting everything anew: for every item its node. `tree`: see `plain_tree`.

    Only nodes whose items are all among `items` are lifted to; a set that they cannot help stays as it is.
    """
    items = list(items)
    tree = {item: [node for node in tree[item] if node[0] <= set(items)] for item in items}
    cut = {item: tree[item][0] for item in items} if start is None else dict(start)
    occurrences = {item: sum(item in row for row in rows) for item in items}

    def support(own):
        return sum(all(node[0] & row for node in own) for row in rows)

    def persons(own):
        having = [all(node[0] & row for node in own) for row in rows]
        return sum(having) if whose is None else len(set(compress(whose, having)))

    def cost(node):
        return node[1] * sum(occurrences[item] for item in node[0]) if node[1] > 1 else 0

    def lift(present, nodes):
        lifted = dict(present)
        for node in sorted(nodes, key=lambda own: own[1]):
            for item in node[0]:
                lifted[item] = max(lifted[item], node, key=lambda own: own[1])
        return lifted

    def penalty(present):
        return sum(cost(node) for node in set(present.values()))

    for size in range(1, m + 1):
        while any(0 < persons(own) < k for own in combinations(set(cut.values()), size)):
            before = dict(cut)
            for own in _count_tree_paths(cut, size, support, persons, k):
                if not set(own) <= set(cut.values()):
                    continue
                chains = [[up for up in tree[min(node[0])] if up[1] >= node[1]] for node in own]
                lifts = []
                for steps in product(*(range(len(chain)) for chain in reversed(chains))):
                    nodes = [chain[step] for chain, step in zip(chains, reversed(steps), strict=True)]
                    if persons(nodes) >= k:
                        lifts.append((penalty(lift(cut, nodes)), sum(steps), steps, nodes))
                if lifts:
                    cut = lift(cut, min(lifts)[3])
            if cut == before:
                break
    return cut


def plain_tree(hierarchy, items):
    """The chain of nodes above every item, itself first; a node is its items, its number of leaves, and a number."""
    nodes, chains = {}, {item: [] for item in items}
    for level in hierarchy.levels:
        for start, end in zip(level.starts, (*level.starts[1:], hierarchy.size), strict=True):
            under = frozenset(hierarchy.leaves[start:end]) & frozenset(items)
            if under and (start, end) not in nodes:
                nodes[start, end] = (under, end - start, len(nodes))
                for item in under:
                    chains[item].append(nodes[start, end])
    return chains


def _count_tree_paths(cut, size, support, persons, k):
    """The rare sets of a size with their most frequent nodes first, in the order of such paths."""
    nodes = sorted(set(cut.values()), key=lambda node: (-support([node]), node[2]))
    return [own for own in combinations(nodes, size) if 0 < persons(own) < k]


def plain_partition(baskets, weights, k, tree):
    """What Partition should do, by dividing lists of rows: for every basket the set of nodes it shows."""
    root = next(iter(tree.values()))[-1]
    filled = [row for row, basket in enumerate(baskets) if basket]
    waiting, shows = (
        [(filled, dict.fromkeys(tree, root), frozenset())],
        {row: frozenset() for row in range(len(baskets))},
    )
    while waiting:
        rows, cut, closed = waiting.pop()
        parts = _divided(baskets, weights, rows, cut, closed, k, tree)
        if not parts:
            shows |= {row: frozenset(cut[item] for item in baskets[row]) for row in rows}
        waiting += parts
    return [shows[row] for row in range(len(baskets))]


def _divided(baskets, weights, rows, cut, closed, k, tree):
    def loss(node):
        return node[1] * sum(weights[row] for row in rows for item in baskets[row] if cut[item] == node)

    nodes = {cut[item] for row in rows for item in baskets[row]}
    for node in sorted((n for n in nodes - closed if n[1] > 1), key=lambda own: (-loss(own), own[2])):
        below = {item: tree[item][tree[item].index(own) - 1] if own == node else own for item, own in cut.items()}
        parts = {}
        for row in rows:
            children = sorted({below[item][2] for item in baskets[row] if cut[item] == node})
            parts.setdefault(tuple(children), []).append(row)
        parts = [parts[children] for children in sorted(parts)]
        kept = _balanced(parts, weights, k)
        if kept:
            left = [row for row in rows if not any(row in part for part in kept)]
            groups = [(part, below, closed) for part in kept]
            return groups + ([(left, cut, closed | {node})] if left else [])
        closed = closed | {node}
    return []


def _balanced(parts, weights, k):
    """Keep parts of at least k records; what is gathered has none or at least k."""

    def size(part):
        return sum(weights[row] for row in part)

    kept = [list(part) for part in parts if size(part) >= k]
    gathered = sum(size(part) for part in parts if size(part) < k)
    while kept and 0 < gathered < k:
        largest = max(kept, key=size)
        spare = [row for row in largest if weights[row] <= size(largest) - k]
        if spare:
            moved = [min(spare, key=lambda row: weights[row])]
            largest.remove(moved[0])
        else:
            moved = min(kept, key=size)
            kept.remove(moved)
        gathered += size(moved)
    return kept


def members(text):
    """The items of a published text: a set `{a, b}` spelled out, or an item."""
    return text[1:-1].split(", ") if text.startswith("{") else [text]


def persons_of_sets(rows, original, most):
    """For every set of up to `most` published texts the persons with a record that shows it.

    `rows` are those of the written file, sets of texts; `original` has for every record its person and its items. Every
    item is published in one way, so the original says whose a row is; its records must be the rows of the file.
    """
    called = {item: text for row in rows for text in row for item in members(text)}
    shown = [(who, frozenset(called[item] for item in items if item in called)) for who, items in original]
    assert Counter(row for _, row in shown) == Counter(map(frozenset, rows)), "these are not the original's records"
    having = {}
    for who, row in shown:
        for size in range(1, most + 1):
            for own in combinations(sorted(row), size):
                having.setdefault(own, set()).add(who)
    return {own: len(persons) for own, persons in having.items()}
