"""Recoding new baskets as an earlier release was, by the same rules as tables (`publish.applied`).

An item that the mapping does not know is bad input: its records are counted and nothing is published, or they are left
out (`rest="drop"`). What was left out of the release is left out again. The promise does not carry over by itself: it
is counted again in the written draft, against the new baskets, and where it fails nothing gets a name. A release that
was recoded piece by piece has no rule by which a new record would find its piece, so it recodes nothing new.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sfumato.configuration import check_choice
from sfumato.documents import fields, in_shape, listed, one_of, read_json, text
from sfumato.engines.formulas import check_escaping, formula_items, formula_notice
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.phrases import counted
from sfumato.publish.baskets.audit import BasketAudit, audit_baskets
from sfumato.publish.baskets.mapping import KIND, SCHEMA, WORDS
from sfumato.publish.baskets.publication import columns_of
from sfumato.publish.ledger import Ledger, LedgerEntry, file_digest, kept_in, now
from sfumato.quiet import Quiet
from sfumato.release import check_targets, format_of, staged
from sfumato.transactions import BasketRelease, BasketRequirement, Baskets, basket_requirement, global_release
from sfumato.transactions.baskets import counted_baskets, taken_rows
from sfumato.transactions.files.legend import EVERYTHING, Behind, Names, is_spelled
from sfumato.transactions.files.writing import check_layout, files_of, published_rows, write_drafts
from sfumato.transactions.recoding import SUPPRESSED, Recoding, numbered

WHAT = "a mapping of baskets"
MAPPING = fields({"requirement": text, "published": WORDS, "suppressed": listed(text), "pieces": listed(fields({}))})
Rest = Literal["refuse", "drop"]


@dataclass(frozen=True, repr=False)
class BasketMapping(Quiet):
    """What every item of a release is published as."""

    requirement: BasketRequirement
    published: Mapping[str, tuple[str, ...]]
    """Which items each text of the file stands for."""

    suppressed: tuple[str, ...]
    digest: str


@dataclass(frozen=True)
class UnknownItems:
    """The records of new baskets that have an item which the mapping does not know."""

    records: int
    of: int
    items: int
    example: str | None

    def reason(self) -> str:
        """Say how many there are, and name one of the items."""
        return (
            f"{counted(self.records, 'record')} of {self.of:,} have an item that the mapping does not know "
            f"({counted(self.items, 'item')}, such as {self.example!r})"
        )


def is_basket_mapping(path: Path) -> bool:
    """Say whether a file is a mapping of baskets; any other is for those who read tables."""
    content = read_json(path, "a mapping of sfumato", fields({"kind": text}))
    return bool(content["kind"] == KIND)


def read_basket_mapping(path: Path) -> BasketMapping:
    """Read a mapping back; one of a release that was recoded piece by piece is refused."""
    content = read_json(path, WHAT, fields({"kind": one_of(KIND), "schema": one_of(SCHEMA)}))
    in_shape(content, str(path), WHAT, MAPPING)
    if content["pieces"]:
        raise BadInputError(
            f"{path}: this release recodes its records in {counted(len(content['pieces']), 'piece')}, each in its own "
            "way, and no rule says to which one a new record belongs; make a new release, or one by aa, coat or pcta"
        )
    behind = Counter(item for items in content["published"].values() for item in items)
    twice = [item for item, times in behind.items() if times > 1]
    if twice:
        raise BadInputError(f"{path}: not {WHAT} (the item {twice[0]!r} is published in two ways)")
    published = {name: tuple(items) for name, items in content["published"].items()}
    wanted = basket_requirement(content["requirement"])
    return BasketMapping(wanted, published, tuple(content["suppressed"]), file_digest(path))


@dataclass(frozen=True, eq=False, repr=False)
class AppliedBaskets(Quiet):
    """New baskets recoded, and what was left out of them."""

    release: BasketRelease
    mapping: BasketMapping
    left_out: UnknownItems
    source_digest: str

    @property
    def names(self) -> Names:
        """What the file calls what it shows, as the release did, and the legend of what does not say it itself."""
        release = self.release
        labels = [release.labels[number] for number in np.flatnonzero(release.part_supports).tolist()]
        legend = {
            name: items
            for name, items in sorted(self.mapping.published.items())
            if name in labels and items != (name,) and name != EVERYTHING and not is_spelled(name, Behind(items, 1), ())
        }
        return Names({name: name for name in labels}, legend)

    def write(
        self,
        path: str | Path,
        layout: str = "lines",
        force: bool = False,
        escape_formulas: bool = False,
        inputs: Sequence[Path] = (),
        ledger: Path | None = None,
    ) -> tuple[BasketAudit, tuple[str, ...]]:
        """Write the file and its legend; they get their names only if the audit of what was written finds no fault.

        `inputs` are files that may not be replaced. In a `ledger` it is said what was published. Returns the audit, and
        what who opens the file should know.
        """
        target = Path(path)
        check_layout(layout, format_of(target))
        check_escaping(escape_formulas, target, format_of(target))
        given = [Path(self.release.baskets.origin), *inputs, *([] if ledger is None else [ledger])]
        check_targets(files_of(target, self.names), force, given)
        if ledger is None:
            return self._written(target, layout, escape_formulas, None)[0]
        how = partial(self._written, target, layout, escape_formulas)
        (verdict, notices), again = kept_in(ledger, self.source_digest, how, "baskets")
        return verdict, (*notices, *again)

    def _written(
        self, target: Path, layout: str, escape_formulas: bool, book: Ledger | None
    ) -> tuple[tuple[BasketAudit, tuple[str, ...]], int]:
        """Write, audit and name the files; where there is a ledger, its line comes right before the names."""
        names, wanted, number = self.names, self.mapping.requirement, 0
        rows = published_rows(self.release, names)
        with staged(files_of(target, names)) as drafts:
            write_drafts(rows, names, drafts, target, layout, escape_formulas)
            known = dict(self.mapping.published)
            columns = columns_of(layout)
            of, escaped = self.release.baskets, escape_formulas
            verdict = audit_baskets(drafts[0], str(wanted), of, None, known, False, **columns, escaped_formulas=escaped)
            if not verdict.holds:
                fault = verdict.failures[0].requirement if verdict.failures else "that the records are those given"
                raise InfeasibleError(
                    f"{target}: the promise does not carry over to the new baskets: the audit of what would be written "
                    f"does not confirm {fault}; nothing was written: make a new release"
                )
            if book is not None:
                number = book.begin(self._entry(book.path, target, drafts[0], verdict, escape_formulas))
        cells = formula_items(rows, escape_formulas) if format_of(target) == "csv" else {}
        notices = (*self.release.baskets.notices, *formula_notice(cells, escape_formulas))
        return (verdict, notices), number

    def _entry(self, ledger: Path, target: Path, draft: Path, verdict: BasketAudit, escaped: bool) -> LedgerEntry:
        """Say what is published, of what, and what was confirmed."""
        return LedgerEntry(
            when=now(),
            file=os.path.relpath(target, ledger.parent),
            file_digest=file_digest(draft),
            source=self.release.baskets.origin,
            source_digest=self.source_digest,
            mapping_digest=self.mapping.digest,
            records=self.left_out.of,
            published=verdict.records,
            left_out={"unknown": self.left_out.records},
            promised=str(self.mapping.requirement),
            confirmed={name: value for name, value in verdict.measures.items() if isfinite(value)},
            escaped=escaped,
        )


def apply_baskets(mapping: BasketMapping, baskets: Baskets, rest: Rest = "refuse") -> AppliedBaskets:
    """Recode new baskets as an earlier release was.

    `rest` says what happens to records with items that the mapping does not know: nothing is published (`refuse`), or
    they are left out (`drop`).
    """
    check_choice("rest", rest, ("refuse", "drop"))
    number = {item: place for place, items in enumerate(mapping.published.values()) for item in items}
    number |= dict.fromkeys(mapping.suppressed, SUPPRESSED)
    known = np.array([item in number for item in baskets.items], np.bool_)
    row = np.repeat(np.arange(baskets.distinct), baskets.lengths)
    fits = np.ones(baskets.distinct, np.bool_)
    fits[row[~known[baskets.codes]]] = False
    strange = [item for item, is_known in zip(baskets.items, known.tolist(), strict=True) if not is_known]
    of = baskets.size
    left_out = UnknownItems(int(baskets.weights[~fits].sum()), of, len(strange), strange[0] if strange else None)
    if left_out.records and (rest == "refuse" or not fits.any()):
        way = "" if rest == "refuse" and fits.any() else "; none is left"
        raise BadInputError(
            f"{baskets.origin}: {left_out.reason()}{way}. Make a new release, or --rest drop leaves such records out"
        )
    kept = _without(baskets, np.flatnonzero(fits), known)
    keys = np.array([number[item] for item in kept.items], np.int64)
    parts = numbered(keys)
    names = list(mapping.published)
    _, first = np.unique(parts[parts >= 0], return_index=True)
    texts = [names[place] for place in keys[parts >= 0][first].tolist()]
    leaves = np.array([len(mapping.published[name]) for name in texts], np.int64)
    recoding = Recoding(parts, tuple(texts), leaves, len(number))
    return AppliedBaskets(global_release(kept, recoding, "mapping"), mapping, left_out, baskets.digest)


def _without(baskets: Baskets, rows: Any, known: Any) -> Baskets:
    """Return some of the baskets, none of which has an unknown item, without these items and without a tree."""
    starts, codes = taken_rows(baskets.starts, baskets.codes, rows)
    used = np.zeros(len(baskets.items), np.bool_)
    used[codes] = True
    place = np.cumsum(used & known) - 1
    items = tuple(item for item, is_used in zip(baskets.items, (used & known).tolist(), strict=True) if is_used)
    kept = counted_baskets(items, starts, place[codes].astype(np.int32), baskets.weights[rows], None, baskets.origin)
    return replace(kept, notices=baskets.notices)
