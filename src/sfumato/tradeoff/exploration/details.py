"""Details of a release: group sizes, worst groups, items, columns and some records before and after.

A column is counted on the same few bins in the table and in the release. The details show values and records: internal.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.anonymizer import Anonymizer, ReleaseMaker
from sfumato.data.cells import Quasi, Sensitive
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.reading import Ranges
from sfumato.measures.fidelity.marginals import column_distances
from sfumato.measures.groups import Measured
from sfumato.measures.items.losses import ItemStudy
from sfumato.release._itemsets import Rows, weakest
from sfumato.release.changes import column_changes, ends_of_single_records
from sfumato.release.content import NoisyRelease
from sfumato.release.items import BasketRelease, MixedRelease
from sfumato.release.records import RecordRelease, replicated_uniques, unchanged_values
from sfumato.release.release import Grouped, Published, Release
from sfumato.runtime.arrays import Counts, Numbers
from sfumato.texts.catalogue import number, percent, t

MOST_BINS = 10
FEW_BINS = 4
"""The fewest nodes of a hierarchy level that serves as bins; otherwise the most frequent values do."""

OTHERS = "all others"


def columns_before_and_after(release: Published) -> list[dict[str, Any]]:
    """Describe each column of a release: shares of its values before and after, and the number of its texts."""
    return [*(_quasi(release, place) for place in range(len(release.cells.quasi))), *_sensitive(release)]


def _quasi(release: Published, place: int) -> dict[str, Any]:
    """Describe a quasi-identifier; a box counts for all its leaves by their widths."""
    quasi, before, boxes = release.cells.quasi[place], release.cells.leaf_counts[place], release.boxes
    hierarchy = quasi.hierarchy
    lo, hi, mass = boxes.lo[:, place].astype(np.int64), boxes.hi[:, place].astype(np.int64), boxes.mass.astype(float)
    density = mass / (hierarchy.cumulative[hi + 1] - hierarchy.cumulative[lo])
    steps = np.bincount(lo, density, hierarchy.size + 1) - np.bincount(hi + 1, density, hierarchy.size + 1)
    after = np.cumsum(steps)[:-1] * np.asarray(hierarchy.widths)
    texts = np.unique(lo * hierarchy.size + hi)
    return {
        "name": quasi.name,
        "role": "quasi",
        "values": int((before > 0).sum()),
        "texts": len(texts),
        "exact": _share(mass[lo == hi].sum(), mass.sum()),
        **_distances(hierarchy, before, after),
        "bins": _binned(*_bins(hierarchy, before), before, after),
    }


def _sensitive(release: Published) -> list[dict[str, Any]]:
    """Describe the sensitive attributes, which are published exactly or not at all."""
    described = []
    published = _columns_published(release)
    for place, attribute in enumerate(release.cells.sensitive):
        after = None if published is None else published[release.cells.span(place)]
        described.append(
            {
                "name": attribute.name,
                "role": "sensitive",
                "values": attribute.size,
                "texts": 0 if after is None else int((after > 0).sum()),
                **({} if after is None else _distances_of_values(attribute, after)),
                "bins": _binned(*_commonest(attribute), attribute.counts, after),
            }
        )
    return described


def _distances(hierarchy: Hierarchy, before: Counts | Numbers, after: Numbers) -> dict[str, Any]:
    """Return the distances of a column from the table's, rounded for sentences."""
    distances = column_distances(hierarchy, before, after)
    return {
        name: [round(v, 4) for v in value] if isinstance(value, list) else round(value, 4)
        for name, value in distances.items()
    }


def _distances_of_values(attribute: Sensitive, after: Numbers) -> dict[str, Any]:
    """Return the distances between the occurring values of a sensitive attribute."""
    before, then = np.zeros((2, attribute.hierarchy.size))
    before[attribute.leaves], then[attribute.leaves] = attribute.counts, after
    return _distances(attribute.hierarchy, before, then)


def _columns_published(release: Published) -> Numbers | None:
    """Count the published sensitive values, all attributes in a row; None if none are published."""
    if isinstance(release, Grouped):
        return None if release.histograms is None else release.histograms.counts.sum(axis=0).astype(float)
    noisy: Numbers = release.content.sum(axis=0)
    return noisy


def _bins(hierarchy: Hierarchy, before: Counts) -> tuple[list[str], Counts]:
    """Choose bins: the finest level with few enough nodes, else equal intervals or the most frequent values."""
    for level, nodes in enumerate(map(len, (level.starts for level in hierarchy.levels))):
        if nodes <= MOST_BINS and (nodes >= FEW_BINS or level == 0):
            return list(hierarchy.levels[level].labels), hierarchy.ancestors[level].astype(np.int64)
    if hierarchy.scale != "category":
        return _stretches(hierarchy)
    return _most(list(hierarchy.leaves), before)


def _stretches(hierarchy: Hierarchy) -> tuple[list[str], Counts]:
    """Cut numbers or days into intervals of 2, 5, 10, ... leaves; missing and outside values have separate bins."""
    inner = hierarchy.domain_size
    steps = (base * 10**power for power in range(10) for base in (1, 2, 5))
    step = next(step for step in steps if inner <= step * MOST_BINS)
    starts = [*range(0, inner, step), *range(inner, hierarchy.size)]
    ends = [*(start - 1 for start in starts[1:]), hierarchy.size - 1]
    places = np.repeat(np.arange(len(starts)), np.diff([*starts, hierarchy.size]))
    return [hierarchy.text(lo, hi) for lo, hi in zip(starts, ends, strict=True)], places


def _commonest(attribute: Sensitive) -> tuple[list[str], Counts]:
    if attribute.size <= MOST_BINS:
        return attribute.labels, np.arange(attribute.size)
    return _most(attribute.labels, attribute.counts)


def _most(labels: list[str], counts: Counts) -> tuple[list[str], Counts]:
    """Return a bin for each of the most frequent values, in their order, and one for all others."""
    kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_BINS - 1])
    places = np.full(len(labels), len(kept), np.int64)
    places[kept] = np.arange(len(kept))
    return [*(labels[place] for place in kept), OTHERS], places


def _binned(labels: list[str], places: Counts, before: Counts, after: Numbers | None) -> list[list[Any]]:
    """Return each bin with its share before and after; after is None if nothing is published.

    Noise can make a count negative; it counts as zero.
    """
    first = np.bincount(places, before, len(labels))
    then = None if after is None else np.maximum(np.bincount(places, after, len(labels)), 0.0)
    return [
        [label, _share(first[i], first.sum()), None if then is None else _share(then[i], then.sum())]
        for i, label in enumerate(labels)
    ]


def _share(part: float, whole: float) -> float:
    """Return a share, rounded for a small drawing."""
    return round(float(part) / float(whole), 4) if whole > 0 else 0.0


SHOWN = 5
"""The number of worst groups and of records in the output."""


def details(release: Release, losses: NDArray[np.float64] | None, ranges: Ranges) -> dict[str, Any]:
    """Describe a release in small tables; `losses` are the privacy losses of its groups, if known.

    The tables show records: internal.
    """
    return {
        "groups": release.groups,
        "sizes": _sizes(release),
        "worst": _worst_groups(release, losses),
        "records": _records(release),
        "columns": columns_before_and_after(release),
        "ends": list(map(str, ends_of_single_records(release, ranges))),
    }


def noisy_details(release: NoisyRelease | RecordRelease) -> dict[str, Any]:
    """Describe one draw of a noisy release: the number of boxes or distinct records, and how epsilon was spent."""
    guarantee = release.guarantee
    assert guarantee is not None
    return {
        "groups": release.groups,
        "epsilon": guarantee.epsilon,
        **({"delta": guarantee.delta} if guarantee.delta else {}),
        "neighbours": guarantee.neighbours,
        "by_purpose": guarantee.by_purpose,
        "by_level": [[level, epsilon] for level, epsilon in guarantee.by_level.items()],
        "columns": columns_before_and_after(release),
    }


def record_details(release: RecordRelease) -> dict[str, Any]:
    """Describe a release of perturbed or synthetic records: counts, unchanged values, and each column."""
    about: dict[str, Any] = {"groups": release.groups, "rows": release.records}
    if release.people:
        about["unchanged_values"] = unchanged_values(release)
    else:
        about["replicated_uniques"], about["unique_records"] = replicated_uniques(release)
    return about | {"columns": columns_before_and_after(release)}


def attack_tables(attacks: Mapping[str, Any], made_of: str) -> list[dict[str, Any]]:
    """Return a table of the attacks with their baselines, and one of their cautions."""
    rows = [
        [
            f"{entry['name']} ({entry['on']})" if entry["on"] else entry["name"],
            number(entry["value"], 3),
            " to ".join(number(end, 3) for end in entry["interval"]),
            _rate(entry["attack"]),
            _rate(entry["control"]),
            _rate(entry["naive"]),
            "" if entry["bound"] is None else f"at most {number(entry['bound'], 3)}",
        ]
        for entry in attacks["attacks"]
    ]
    heads = [[head] for head in t("detail.attacks_heads").split(" | ")]
    cautions = [[each] for each in attacks["cautions"]]
    tables = [
        {"title": t("detail.attacks", made_of=made_of), "heads": heads, "rows": rows},
        {"title": t("detail.cautions"), "heads": [["caution"]], "rows": cautions},
    ]
    return [table for table in tables if table["rows"]]


def _rate(rate: Mapping[str, Any] | None) -> str:
    return "" if rate is None else f"{percent(rate['rate'], 3)} of {rate['tries']:,}"


def pictured(measured: Measured) -> dict[str, Any]:
    """Return the fidelity of a release and the outcome of the analysis, if they were measured."""
    return {name: dict(picture) for name, picture in measured.pictures.items()}


def _sizes(release: Release) -> list[dict[str, int]]:
    """Count groups and records by group size, in steps of 1, 2, 5, 10, ..."""
    edges = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 10**9]
    place = np.searchsorted(edges, release.sizes, side="right") - 1
    counted = []
    for i in range(len(edges) - 1):
        sizes = release.sizes[place == i]
        if len(sizes):
            counted.append(
                {"from": edges[i], "to": edges[i + 1] - 1, "groups": len(sizes), "records": int(sizes.sum())}
            )
    return counted


def _worst_groups(release: Release, losses: NDArray[np.float64] | None) -> list[dict[str, Any]]:
    """Describe the groups with the largest privacy loss; without sensitive values, the smallest."""
    if release.histograms is None or losses is None:
        order = np.argsort(release.sizes, kind="stable")[:SHOWN]
        return [{"quasi": _box(release, int(g)), "size": int(release.sizes[g])} for g in order]
    attribute = release.histograms.sensitive[0]
    counts = release.histograms.of(0)
    worst = []
    for g in np.argsort(-losses, kind="stable")[:SHOWN]:
        common = int(np.argmax(counts[g]))
        worst.append(
            {
                "quasi": _box(release, int(g)),
                "size": int(release.sizes[g]),
                "p_loss": float(losses[g]),
                "attribute": attribute.name,
                "commonest": attribute.labels[common],
                "share": float(counts[g, common] / release.sizes[g]),
                "share_in_table": float(attribute.shares[common]),
            }
        )
    return worst


def _box(release: Release, group: int) -> dict[str, str]:
    """Return the box of a group, or the range of its points if quasi-identifiers are exact."""
    rows = release.boxes.group == group
    lo, hi = release.boxes.lo[rows].min(axis=0), release.boxes.hi[rows].max(axis=0)
    return {quasi.name: quasi.hierarchy.text(int(lo[i]), int(hi[i])) for i, quasi in enumerate(release.cells.quasi)}


def _records(release: Release) -> list[dict[str, Any]]:
    """Return some records, spread evenly over the table, before and after.

    They are the same for every release of a table, so two releases can be compared. A suppressed record has no `after`.
    """
    cells, assignment = release.cells, release.assignment
    places = np.linspace(0, cells.records - 1, SHOWN).astype(int)
    records = []
    for cell in np.searchsorted(np.cumsum(cells.counts), places, side="right").tolist():
        before = {quasi.name: _leaf(quasi, int(cells.codes[cell, a])) for a, quasi in enumerate(cells.quasi)}
        secrets = {each.name: each.labels[cells.values[cell, j]] for j, each in enumerate(cells.sensitive)}
        entries = np.flatnonzero(assignment.cell == cell)
        group = int(assignment.group[entries[0]]) if len(entries) else None
        after = None if group is None else _published(release, group, before, secrets)
        size = 0 if group is None else int(release.sizes[group])
        records.append({"before": before | secrets, "after": after, "size": size})
    return records


def _leaf(quasi: Quasi, code: int) -> str:
    """Return the text of a leaf code, including the code of values outside of the domain."""
    return quasi.hierarchy.leaves[code] if code >= 0 else "outside of the domain"


def _published(release: Release, group: int, before: dict[str, str], secrets: dict[str, str]) -> dict[str, str]:
    """Return a record as published in a group."""
    after = dict(before) if release.form == "bucketization" else _box(release, group)
    if release.histograms is None:
        return after
    if release.form == "generalization":
        return after | secrets
    dealt = f"one of {release.sizes[group]:,} values dealt out in bucket {group + 1}"
    return after | dict.fromkeys(secrets, dealt)


SHOWN_ITEMS = 8
LENGTHS = (0, 1, 2, 3, 6, 11, 21, 51, 101)
"""The first numbers of items of the bins."""

LONG = 160
"""The maximum length of a text."""

SAMPLE = t("detail.sample")
"""The title of the table that shows records."""


def item_details(
    release: Any, measured: Measured, maker: ReleaseMaker, studies: Sequence[ItemStudy] = ()
) -> dict[str, Any]:
    """Describe a release with items."""
    if release.kind == "items":
        return _mixed_details(release, measured, maker)
    return _basket_details(release, measured.matching, studies)


def item_changes(release: Any) -> dict[str, str]:
    """Summarize the changes of each column."""
    if release.kind == "baskets":
        return {"items": _changes_of_sets(release)}
    changes = {name: text for name, text in column_changes(release.relational).items() if name != release.data.column}
    return changes | {release.data.column: _changes_of_items(release)}


def _basket_details(
    release: BasketRelease, matching: Mapping[str, int], studies: Sequence[ItemStudy]
) -> dict[str, Any]:
    """Describe a release: its rarest published sets, its largest published items, some records before and after."""
    supported = [[study.name, len(study.labels), "yes" if study.supported(release) else "no"] for study in studies]
    shares = {name: "%" in name or name == "half" for name in matching}
    heads = [[t("detail.of_records", share=name) if is_share else name, "number"] for name, is_share in shares.items()]
    return {
        "groups": len(release.labels),
        "columns": [_lengths(release)],
        "tables": [
            *([_table("studies", supported)] if supported else []),
            _table("commonest", _commonest_items(release)),
            _table("rarest", _rarest(release)),
            _table("largest", _largest(release), items=len(release.labels)),
            {"title": t("detail.attack"), "heads": heads, "rows": [list(matching.values())] if matching else []},
            _table("sample", _records_of_sets(release)),
        ],
    }


def _table(id: str, rows: list[list[Any]], heads: str = "", **places: Any) -> dict[str, Any]:
    """Return a small table; the heading of a numeric column ends in #."""
    columns = t(f"detail.{heads or id}_heads").split(" | ")
    shown = [[head.removesuffix(" #"), "number" if head.endswith(" #") else ""] for head in columns]
    return {"title": t(f"detail.{id}", **places), "heads": shown, "rows": rows}


def _changes_of_sets(release: BasketRelease) -> str:
    """Summarize the changes of the items; an item that is published in several ways counts as the coarsest."""
    items, codes = release.baskets.codes, release.part
    alone, together, gone = (np.zeros(len(release.baskets.items), np.bool_) for _ in range(3))
    is_alone = np.append(release.parts.sizes == 1, False)[codes]
    alone[items[is_alone]], gone[items[codes < 0]] = True, True
    together[items[(codes >= 0) & ~is_alone]] = True
    ways = {
        "published as they are": alone & ~together & ~gone,
        "together with others": together,
        "left out of some records": ~together & alone & gone,
        "left out": gone & ~alone & ~together,
    }
    counts, size = {way: int(items.sum()) for way, items in ways.items()}, len(alone)
    some = {way: f"all {size:,}" if many == size else f"{many:,} of {size:,}" for way, many in counts.items() if many}
    return ", ".join(f"{way} ({many})" for way, many in some.items())


def _rarest(release: BasketRelease) -> list[list[Any]]:
    rarest = weakest(Rows.of_release(release), SHOWN_ITEMS)
    return [[" + ".join(short(release.labels[code]) for code in codes), support] for support, codes in rarest]


def _largest(release: BasketRelease) -> list[list[Any]]:
    sizes = dict(zip(release.labels, release.parts.sizes.tolist(), strict=True))
    supports = dict(zip(release.labels, release.part_supports.tolist(), strict=True))
    order = sorted(release.labels, key=lambda label: (-sizes[label], -supports[label], label))
    return [[short(label), sizes[label], supports[label]] for label in order[:SHOWN_ITEMS]]


def _commonest_items(release: BasketRelease) -> list[list[Any]]:
    """Return the published forms of the most frequent items."""
    baskets, codes, rows = release.baskets, release.part, []
    for item in np.argsort(-baskets.supports, kind="stable")[:SHOWN_ITEMS].tolist():
        ways = [code for code in dict.fromkeys(codes[baskets.codes == item].tolist()) if code >= 0]
        label = short(" or ".join(release.labels[code] for code in ways)) or "left out"
        occurrences = int(release.part_supports[ways].sum())
        rows.append([baskets.items[item], int(baskets.supports[item]), label, occurrences])
    return rows


def _lengths(release: BasketRelease) -> dict[str, Any]:
    """Describe the numbers of items per record before and after, in the form of a column."""
    weights, lengths = release.baskets.weights, np.diff(release.recoded.starts)
    before, after = (
        np.bincount(np.searchsorted(LENGTHS, counts, side="right") - 1, weights, len(LENGTHS)) / weights.sum()
        for counts in (release.baskets.lengths, lengths)
    )
    lasts = [following - 1 for following in LENGTHS[1:]]
    labels = [str(lo) if lo == hi else f"{lo}-{hi}" for lo, hi in zip(LENGTHS, lasts, strict=False)]
    bins = zip([*labels, f"{LENGTHS[-1]}+"], before.round(4).tolist(), after.round(4).tolist(), strict=True)
    return {"name": "items of a record", "role": "length", "bins": [list(each) for each in bins]}


def _records_of_sets(release: BasketRelease) -> list[list[Any]]:
    """Return some records, spread evenly over the distinct baskets."""
    baskets, rows = release.baskets, release.recoded
    examples = []
    for place in dict.fromkeys(np.linspace(0, baskets.distinct - 1, SHOWN_ITEMS).astype(int).tolist()):
        codes = rows.codes[rows.starts[place] : rows.starts[place + 1]]
        after = ", ".join(release.labels[code] for code in codes) or "(nothing)"
        examples.append(
            [short(", ".join(baskets.basket(place)) or "(nothing)"), short(after), int(baskets.weights[place])]
        )
    return examples


def _mixed_details(release: MixedRelease, relational: Measured, maker: ReleaseMaker) -> dict[str, Any]:
    """Describe a release: its groups as those of a table, its largest parts, some records before and after."""
    table = release.relational.table
    ranges = maker.ranges_of(table) if isinstance(maker, Anonymizer) else "tight"
    seen = details(release.relational, relational.losses, ranges)
    return {
        "ends": seen["ends"],
        "groups": seen["groups"],
        "sizes": seen["sizes"],
        "columns": [column for column in seen["columns"] if column["name"] != release.data.column],
        "tables": [
            _table("parts", _largest_of_groups(release), parts=len(release.parts.labels)),
            _table("sample", _records_of_groups(release), "sample_of_groups"),
        ],
    }


def _changes_of_items(release: MixedRelease) -> str:
    records = release.count[release.row_of_item]
    sizes = np.append(release.parts.sizes, 0)[release.part]  # zero for a suppressed item
    total = max(int(records.sum()), 1)
    ways = {"published as they are": sizes == 1, "together with others": sizes > 1, "left out": sizes == 0}
    shares = {way: int(records[kind].sum()) / total for way, kind in ways.items()}
    return ", ".join(f"{way} ({share:.1%} of the items of records)" for way, share in shares.items() if share)


def _largest_of_groups(release: MixedRelease) -> list[list[Any]]:
    supports = release.part_supports
    order = sorted(np.flatnonzero(supports).tolist(), key=lambda p: (-release.parts.sizes[p], -supports[p], p))
    return [
        [short(release.parts.labels[p]), int(release.parts.sizes[p]), int(supports[p])] for p in order[:SHOWN_ITEMS]
    ]


def _records_of_groups(release: MixedRelease) -> list[list[Any]]:
    """Return some rows, spread evenly over all."""
    data, relational = release.data, release.relational
    texts = [relational.quasi_texts(attribute) for attribute in range(len(data.cells.quasi))]
    starts, codes = release.shown
    examples = []
    for row in dict.fromkeys(np.linspace(0, len(release.count) - 1, SHOWN_ITEMS).astype(int).tolist()):
        group = int(release.group[row])
        box = ", ".join(each[number[group]] for each, number in texts)
        after = ", ".join(release.parts.labels[code] for code in codes[starts[row] : starts[row + 1]])
        before = ", ".join(data.baskets.basket(int(release.basket[row])))
        examples.append([box, short(before or "(nothing)"), short(after or "(nothing)"), int(release.count[row])])
    return examples


def short(text: str) -> str:
    """Cut a long text short."""
    return text if len(text) <= LONG else f"{text[:LONG]} ..."
