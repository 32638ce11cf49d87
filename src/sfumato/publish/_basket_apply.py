"""Recoding new baskets as an earlier release was, by the same rules as tables (`publish.applied`).

An item that the mapping does not know is bad input: its records are counted and nothing is published, or they are left
out (`rest="drop"`). What was left out of the release is left out again. The promise does not carry over by itself: it
is counted again in the written draft, against the new baskets, and where it fails nothing gets a name. A release that
was recoded piece by piece has no rule by which a new record would find its piece, so it recodes nothing new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.auditing._legend import MAPPING, WORDS
from sfumato.auditing.audit import Audit
from sfumato.auditing.baskets import audit_baskets
from sfumato.auditing.ledger import file_digest
from sfumato.config.documents import fields, in_shape, listed, one_of, read_json, text
from sfumato.data.items import Baskets, counted_baskets, taken_rows
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.publish._basket_mapping import SCHEMA
from sfumato.publish._written_file import reading_of
from sfumato.publish.apply import LeftOut, NewData, RecodedFile, Rest, UnknownValues
from sfumato.release.items import SUPPRESSED, Recoding, global_release, numbered
from sfumato.release.legend import names_as_before
from sfumato.requirements import basket_requirement
from sfumato.requirements.items import BasketRequirement
from sfumato.runtime.arrays import Quiet
from sfumato.texts.format import counted
from sfumato.tradeoff.question.recipients import shown_baskets
from sfumato.tradeoff.study.candidate import files_of as files_in

WHAT = "a mapping of baskets"
SHAPE = fields({"requirement": text, "published": WORDS, "suppressed": listed(text), "pieces": listed(fields({}))})


@dataclass(frozen=True, repr=False)
class BasketMapping(Quiet):
    """What every item of a release is published as."""

    requirement: BasketRequirement
    published: Mapping[str, tuple[str, ...]]
    """Which items each text of the file stands for."""

    suppressed: tuple[str, ...]
    digest: str


def read_basket_mapping(path: Path) -> BasketMapping:
    """Read a mapping back; one of a release that was recoded piece by piece is refused."""
    content = read_json(path, WHAT, fields({"kind": one_of(MAPPING), "schema": one_of(SCHEMA)}))
    in_shape(content, str(path), WHAT, SHAPE)
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


def apply_baskets(mapping: BasketMapping, baskets: Baskets, rest: Rest = "refuse") -> RecodedFile:
    """Recode new baskets as an earlier release was.

    `rest` says what happens to records with items that the mapping does not know: nothing is published (`refuse`), or
    they are left out (`drop`).
    """
    number = {item: place for place, items in enumerate(mapping.published.values()) for item in items}
    number |= dict.fromkeys(mapping.suppressed, SUPPRESSED)
    known = np.array([item in number for item in baskets.items], np.bool_)
    row = np.repeat(np.arange(baskets.distinct), baskets.lengths)
    fits = np.ones(baskets.distinct, np.bool_)
    fits[row[~known[baskets.codes]]] = False
    strange = [item for item, is_known in zip(baskets.items, known.tolist(), strict=True) if not is_known]
    unknown = int(baskets.weights[~fits].sum())
    by_item = (UnknownValues("items", unknown, strange[0]),) if unknown else ()
    left_out = LeftOut(baskets.size, str(mapping.requirement), unknown, by_item)
    left_out.check(baskets.origin, rest, "" if fits.any() else "no record is left")
    kept = _without(baskets, np.flatnonzero(fits), known)
    keys = np.array([number[item] for item in kept.items], np.int64)
    parts = numbered(keys)
    names = list(mapping.published)
    _, first = np.unique(parts[parts >= 0], return_index=True)
    texts = [names[place] for place in keys[parts >= 0][first].tolist()]
    leaves = np.array([len(mapping.published[name]) for name in texts], np.int64)
    recoding = Recoding(parts, tuple(texts), leaves, len(number))
    release = global_release(kept, recoding, "mapping")

    def audited(drafts: Sequence[Path], layout: str, escape: bool) -> Audit:
        original, at = _with_all_items(kept, mapping), reading_of(layout)
        legend = dict(mapping.published)
        wanted = str(mapping.requirement)
        verdict = audit_baskets(drafts[0], wanted, original, None, legend, False, **at, escaped_formulas=escape)
        if why := shown_baskets(verdict.measures, mapping.requirement):
            raise InfeasibleError(f"{baskets.origin}: recoded by this mapping it {why}; make a new release")
        return verdict

    shown = [release.labels[number] for number in np.flatnonzero(release.part_supports).tolist()]
    files = [Path(file) for file in files_in(mapping.requirement)]
    source = NewData(baskets.origin, baskets.notices, lambda: baskets.digest, files)
    return RecodedFile(release, mapping, left_out, source, audited, names_as_before(shown, mapping.published))


def _with_all_items(of: Baskets, mapping: BasketMapping) -> Baskets:
    """Return baskets with all items that the mapping knows: the promise may name one that nobody has."""
    known = [item for items in (*mapping.published.values(), mapping.suppressed) for item in items]
    return replace(of, items=(*of.items, *(item for item in known if item not in of.places)))


def _without(baskets: Baskets, rows: Any, known: Any) -> Baskets:
    """Return some of the baskets, none of which has an unknown item, without these items and without a tree."""
    starts, codes = taken_rows(baskets.starts, baskets.codes, rows)
    used = np.zeros(len(baskets.items), np.bool_)
    used[codes] = True
    place = np.cumsum(used & known) - 1
    items = tuple(item for item, is_used in zip(baskets.items, (used & known).tolist(), strict=True) if is_used)
    kept = counted_baskets(items, starts, place[codes].astype(np.int32), baskets.weights[rows], None, baskets.origin)
    return replace(kept, notices=baskets.notices)
