"""A hierarchy as the entry of a TOML file: the plainest entry that builds an equal hierarchy.

Each proposal is built and compared before it is returned, so a file is always equivalent to its hierarchy.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import groupby, pairwise
from math import isfinite

from sfumato.data.hierarchies.automatic import plain
from sfumato.data.hierarchies.declared import from_entry
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.hierarchies.notation import write_date
from sfumato.data.hierarchies.numeric import DATE_LEVELS
from sfumato.errors import BadInputError
from sfumato.texts.catalogue import refusal

Entry = dict[str, object]


def entry_of(hierarchy: Hierarchy) -> Entry:
    """Return an entry that declares a hierarchy, with observed and missing values."""
    for entry in _proposals(hierarchy):
        whole = entry | ({"observed": True} if hierarchy.observed else {})
        whole |= {"missing": True} if hierarchy.missing else {}
        if _builds(whole, hierarchy):
            return whole
    raise refusal("hierarchy_without_an_entry")


def _builds(entry: Entry, hierarchy: Hierarchy) -> bool:
    try:
        built = from_entry(dict(entry), lambda: ((), ()))
    except BadInputError:
        return False
    return built == hierarchy


def _proposals(hierarchy: Hierarchy) -> Iterator[Entry]:
    """Yield possible entries, the plainest first."""
    if hierarchy.strange:
        return
    if hierarchy.scale == "date":
        yield (entry := _dates(hierarchy))
        yield from _with_cuts(entry, "levels", hierarchy)
        return
    if hierarchy.scale == "number" and hierarchy.domain_size > 1:
        yield (entry := _numbers(hierarchy))
        yield (own := _with_edges(entry, hierarchy))
        yield from _with_cuts(own, "intervals", hierarchy)
        yield from _with_cuts(entry, "intervals", hierarchy)
    leaves = list(hierarchy.leaves[: hierarchy.domain_size])
    if hierarchy.height <= 1:
        yield {"type": "flat", "values": leaves}
    if hierarchy.scale == "category" and (keep := _kept(hierarchy)):
        yield {"type": "prefixes", "values": leaves, "keep": keep}
    above = hierarchy.ancestors[:, : hierarchy.domain_size].T.tolist()
    rows = [[level.labels[node] for level, node in zip(hierarchy.levels, row, strict=True)] for row in above]
    yield {"type": "tree", "children": _nested([row[-2::-1] for row in rows])}
    yield {"type": "level-table", "rows": rows}


def _with_cuts(entry: Entry, levels: str, hierarchy: Hierarchy) -> Iterator[Entry]:
    """Return entries with the first values of each level's intervals, and with renamed intervals."""
    inner = list(hierarchy.levels[1:-1])
    begins = [
        [hierarchy.firsts[start] for start in level.starts[1:] if start < hierarchy.domain_size] for level in inner
    ]
    write = write_date if hierarchy.scale == "date" else lambda number: plain(_decimal(number))
    cut: Entry = {key: value for key, value in entry.items() if key != levels}
    cut |= {"cuts": [[write(begin) for begin in level] for level in begins]} if begins else {}
    for bare in (entry, cut):
        try:
            named = from_entry(dict(bare), lambda: ((), ())).levels[1:-1]
        except BadInputError:
            continue
        pairs = [
            pair
            for level, node in zip(named, inner, strict=False)
            for pair in zip(level.labels, node.labels, strict=False)
        ]
        labels = {label: node for label, node in pairs if label != node}
        yield bare | ({"labels": labels} if labels else {})


def _nested(paths: Sequence[Sequence[str]]) -> list[object]:
    """Return paths from coarse to fine as nested lists; a repeated node appears once."""
    nodes: list[object] = []
    for label, below in groupby(paths, key=lambda path: path[0]):
        children = _nested([path[1:] for path in below if len(path) > 1])
        nodes.append(label if children in ([], [label]) else [label, *children])
    return nodes


def _kept(hierarchy: Hierarchy) -> list[int]:
    """Return the numbers of leading characters of the levels between leaves and root, if they are prefixes."""
    return [max(len(label.rstrip("*")) for label in level.labels) for level in hierarchy.levels[1:-1]]


def _dates(hierarchy: Hierarchy) -> Entry:
    """Return the bounds and the levels of days."""
    entry: Entry = {"type": "dates"}
    entry |= {"first": write_date(hierarchy.firsts[0]), "last": write_date(hierarchy.lasts[-1])}
    every = from_entry({**entry, "levels": list(DATE_LEVELS)}, lambda: ((), ()))
    present = {level.labels[0] for level in hierarchy.levels[1:]}
    levels = zip(DATE_LEVELS, every.levels[1:-1], strict=True)
    return entry | {"levels": [name for name, level in levels if level.labels[0] in present]}


def _numbers(hierarchy: Hierarchy) -> Entry:
    """Return bounds, resolution, intervals and open ends of numeric leaves."""
    size = hierarchy.domain_size
    starts = [_decimal(first) for first in hierarchy.firsts]
    unit = Decimal(0) if hierarchy.continuous else starts[1] - _decimal(hierarchy.lasts[0])
    below, above = starts[0].is_infinite(), not isfinite(hierarchy.lasts[-1])
    widths = [_decimal(width) * (unit or 1) for width in hierarchy.widths[:size]]
    edges = [starts[1] - widths[0] if below else starts[0], *starts[1:], starts[-1] + widths[-1]]
    steps = [b - a for a, b in pairwise(edges[int(below) : size + 1 - int(above)])]
    entry: Entry = {"type": "numeric", "lower": plain(edges[0]), "upper": plain(edges[-1] - unit)}
    resolution = max(steps, default=Decimal(1))
    if resolution != 1:
        entry["resolution"] = plain(resolution)
    if hierarchy.height > 1:
        entry["intervals"] = _intervals(hierarchy, edges, resolution)
    if below:
        entry["open_below"] = plain(edges[1])
    if above:
        entry["open_above"] = plain(edges[-2])
    if hierarchy.continuous:
        entry["continuous"] = True
    return entry


def _with_edges(entry: Entry, hierarchy: Hierarchy) -> Entry:
    """Add the start of every leaf, except for the first one and for open ends."""
    begins = hierarchy.firsts[1 + int("open_below" in entry) : len(hierarchy.firsts) - int("open_above" in entry)]
    cut: Entry = {key: value for key, value in entry.items() if key not in ("resolution", "intervals")}
    return cut | {"edges": [plain(_decimal(first)) for first in begins]}


def _intervals(hierarchy: Hierarchy, edges: Sequence[Decimal], resolution: Decimal) -> list[int | float]:
    """Return the width of each level's intervals: the largest between two inner edges, or the least possible one."""
    widths: list[Decimal] = [resolution]
    for level in hierarchy.levels[1:-1]:
        inside = [edges[start] for start in level.starts[1:] if start < hierarchy.domain_size]
        if len(inside) > 1:
            widths.append(max(b - a for a, b in pairwise(inside)))
            continue
        edge = inside[0] if inside else edges[0]
        width = widths[-1] * 2
        while width < max(edge - edges[0], edges[-1] - edge) or edge % width:
            width += widths[-1]
            if width > max(abs(edges[0]), abs(edges[-1])) * 2:
                break
        widths.append(width)
    return [plain(width) for width in widths[1:]]


def _decimal(number: float) -> Decimal:
    return Decimal(repr(float(number)))
