"""Policies made from the data: files of an attacker's knowledge, or of items that may be published together.

Loukides, Gkoulalas-Divanis & Malin (PNAS 2010) protect the codes of one visit of a patient; owners also consider rare
codes, and the codes of a chapter. The result is a file of sets of items, one per line, for
`privacy-constraints file=` or `utility-constraints file=`, for review and editing. It describes the data: internal.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.data.items import Baskets, items_in_words
from sfumato.engines._text_files import existing_file, opened_text
from sfumato.errors import BadInputError
from sfumato.requirements.items import COMMENT, MOST_SUBSETS, Itemset, is_comment, under_node
from sfumato.runtime.arrays import RedactedRepr
from sfumato.runtime.staging import check_targets, staged
from sfumato.texts.catalogue import counted, refusal, t

VISIT_COLUMNS = ("id", "visit", "item")
PRIVACY, UTILITY = "privacy-constraints", "utility-constraints"


@dataclass(frozen=True, repr=False)
class Policy(RedactedRepr):
    """Sets of items with a description."""

    kind: str
    """The use of the file: privacy-constraints or utility-constraints."""

    head: tuple[str, ...]
    """The description of the sets."""

    itemsets: tuple[tuple[str, ...], ...]

    def text(self) -> str:
        """Return the content of the file: comments, then one set per line."""
        return "".join(f"{COMMENT}{line}\n" for line in self.head) + "".join(map(line_of, self.itemsets))

    def write(self, to: Path, force: bool = False, inputs: Sequence[Path] = ()) -> None:
        """Write the file, all or nothing."""
        check_targets([to], force, inputs)
        with staged([to]) as [draft]:
            draft.write_text(self.text(), encoding="utf-8")

    def values(self, to: Path) -> dict[str, Any]:
        """Return the values of the JSON output."""
        longest = max(map(len, self.itemsets), default=0)
        return {"kind": self.kind, "to": str(to), "sets": len(self.itemsets), "longest": longest}

    def lines(self, to: Path) -> list[str]:
        """Return lines about the file and its use."""
        sets, longest = counted(len(self.itemsets), "set"), max(map(len, self.itemsets), default=0)
        asked = (
            f"privacy-constraints k=5 file={to}" if self.kind == PRIVACY else f"utility=utility-constraints file={to}"
        )
        if self.kind == PRIVACY and sum(2.0 ** len(itemset) for itemset in self.itemsets) > MOST_SUBSETS:
            asked += " protect-subsets=no"
        option = "--require" if self.kind == PRIVACY else "--set"
        return [
            t("notice.wrote_up", to=to, sets=sets, longest=longest, head=" ".join(self.head[1:])),
            t("notice.look_correct", option=option, asked=asked),
        ]


def line_of(itemset: Sequence[str]) -> str:
    """Return a line for a set of items that is parsed correctly for all item names.

    >>> line_of(["250.01", "a, b"]), line_of(["# 1", "x"])
    ('250.01\\ta, b\\n', '"# 1"\\t"x"\\n')
    """
    if len(itemset) == 1:
        return f"{itemset[0]}\n"  # a line that is the name of an item is that item
    quoting: Any = csv.QUOTE_ALL if is_comment(itemset[0]) else csv.QUOTE_MINIMAL
    written = io.StringIO()
    csv.writer(written, delimiter="\t", quoting=quoting, lineterminator="\n").writerow(itemset)
    return written.getvalue()


def privacy_policy(
    baskets: Baskets,
    rare: int | None = None,
    nodes: Sequence[str] = (),
    visits: Path | None = None,
    columns: Sequence[str] = VISIT_COLUMNS,
) -> Policy:
    """Collect an attacker's knowledge: items in fewer than `rare` records, items under nodes, the items of visits."""
    head = [t("notice.attacker_may_know", origin=baskets.origin)]
    itemsets: dict[Itemset, None] = {}
    if rare is not None:
        few = np.flatnonzero(baskets.supports < rare).tolist()
        itemsets |= dict.fromkeys((code,) for code in few)
        head.append(t("notice.items_fewer_than", rare=rare, few=len(few)))
    for node in nodes:
        under = under_node(baskets, node)
        if not under:
            raise BadInputError(f"--chapter {node}: {_no_node(baskets)}")
        itemsets |= dict.fromkeys((code,) for code in under)
        head.append(f"Items under {node}: {len(under):,}.")
    if visits is not None:
        sets = visit_sets(baskets, visits, columns)
        itemsets |= dict.fromkeys(sets)
        head.append(t("notice.different_sets_items_visit", visits=visits, sets=len(sets)))
    if len(head) == 1:
        raise refusal("say_may_known")
    if not itemsets:
        raise refusal("nothing_protect", head=" ".join(head[1:]))
    ordered = sorted(itemsets, key=lambda codes: (len(codes), codes))
    return Policy(PRIVACY, tuple(head), tuple(tuple(baskets.items[code] for code in codes) for codes in ordered))


def utility_policy(baskets: Baskets, level: int) -> Policy:
    """Collect items that may be published together: those under each node of a level of the tree."""
    if baskets.tree is None:
        raise BadInputError(f"--groups {level}: {_no_node(baskets)}")
    if not 1 <= level <= baskets.tree.height:
        raise refusal("no_such_level", level=level, baskets=baskets)
    above = baskets.tree.ancestors[level][baskets.leaf]
    groups: dict[int, list[str]] = {}
    for item, node in zip(baskets.items, above.tolist(), strict=True):
        groups.setdefault(node, []).append(item)
    head = (
        t("notice.may_published_together", origin=baskets.origin),
        t("notice.items_under_every_node", level=level, groups=len(groups)),
    )
    return Policy(UTILITY, head, tuple(tuple(groups[node]) for node in sorted(groups)))


def visit_sets(baskets: Baskets, file: Path, columns: Sequence[str]) -> list[Itemset]:
    """Read rows of who, visit and item (CSV); return the different sets of items of one visit."""
    if len(columns) != len(VISIT_COLUMNS):
        raise refusal("visit_columns_three")
    existing_file(file, t("notice.give_csv_file_row"))
    visits: dict[tuple[str, str], set[int]] = {}
    with opened_text(file, None) as stream:
        rows = csv.DictReader(stream)
        lacking = [name for name in columns if name not in (rows.fieldnames or ())]
        if lacking:
            known = ", ".join(rows.fieldnames or ())
            raise refusal("no_column_visit", file=file, lacking=lacking[0], known=known)
        who, visit, item = columns
        for row in rows:
            label = (row[item] or "").strip()
            if label and label not in baskets.places:
                raise refusal(
                    "visit_of_an_unknown_item", file=file, rows=rows, item=items_in_words([label]), baskets=baskets
                )
            if label:
                visits.setdefault((row[who] or "", row[visit] or ""), set()).add(baskets.places[label])
    return sorted({tuple(sorted(codes)) for codes in visits.values()})


def _no_node(baskets: Baskets) -> str:
    if baskets.tree is None:
        return t("notice.no_tree_items")
    return t("notice.tree_no_such_node", origin=baskets.origin)


def joined(values: Iterable[str]) -> list[str]:
    """Split comma lists of columns.

    >>> joined(["id,visit", "code"])
    ['id', 'visit', 'code']
    """
    return [part.strip() for value in values for part in value.split(",") if part.strip()]
