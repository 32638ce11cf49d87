"""Comparisons of a published file with its original: households, loss, and neutral columns.

**Households.** A published row does not identify its record, so values are compared. If only one published combination
of the shared attributes covers the values of a household's members, they all show that one. If several do, the file
cannot confirm it: two members may show two of them, and an attacker who knows both intersects these. A member without a
value may show just an empty field, which reveals nothing about it.

**Loss**: the width of the published texts, as `sfumato.measures` defines it.

**Neutral columns** of a large file, compared by digests of engines. With neutral columns nearly all rows are different,
so a large file is not matched by them. If every record is published, the values of these columns must be the same on
both sides in any order, with those of sensitive columns that are published unchanged. So the digests, sums over rows,
must be equal. With suppressed records this means nothing, and the columns are not compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.auditing.coverage import Coverage, Places, TextCombinations, locate
from sfumato.auditing.notation import Meaning, Notation, leaves_covered
from sfumato.auditing.published_file import Counted
from sfumato.auditing.question import AuditQuestion
from sfumato.data.cells import weighted_counts
from sfumato.data.hierarchies.automatic import automatic
from sfumato.data.hierarchies.categorical import flat
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.engines.protocol import Engine
from sfumato.errors import BadInputError
from sfumato.runtime.arrays import Counts, Flags, RedactedRepr
from sfumato.texts.catalogue import t

MOST_NAMED = 3
"""The most named combinations that several published combinations cover."""


@dataclass(frozen=True, repr=False)
class Together(RedactedRepr):
    """The published form of the shared attributes of households."""

    public_fields: ClassVar[tuple[str, ...]] = ("holds",)

    column: str
    shared: tuple[str, ...]
    """The quasi-identifiers of which no household has two values."""

    households: int
    """Households with several members."""

    confirmed: int
    """Those whose shared values one published combination covers, or none, if they are not in the file."""

    examples: tuple[str, ...]
    """Shared values of some others, with the number of published combinations that cover them. It shows records."""

    @property
    def holds(self) -> bool:
        """Whether all households are confirmed."""
        return self.confirmed == self.households


def together(
    published: Counted,
    original: Counted,
    column: str,
    quasi: Sequence[str],
    domains: Mapping[str, Hierarchy],
    notations: Mapping[str, Notation],
) -> Together:
    """Check the households of an original (counted over their column and the quasi-identifiers) in a published file."""
    named = np.array([text != "" for text in original.columns[column].texts], np.bool_)[original.columns[column].codes]
    if not named.any():
        return Together(column, (), 0, 0, ())
    members = original.where(named)
    household = members.number((column,))[1]
    several = np.bincount(household, weights=members.counts) > 1
    shared = [name for name in quasi if _same(members, name, domains[name], household)]
    if not shared or not several.any():
        return Together(column, tuple(shared) if several.any() else (), int(several.sum()), int(several.sum()), ())
    boxes, points = TextCombinations.of(published, shared), TextCombinations.of(members, shared)
    places = locate(boxes, points, notations)
    if places is None:
        return Together(column, tuple(shared), int(several.sum()), 0, (t("notice.too_many_combinations_look"),))
    many = _differ_in_households(places, boxes, points, household)
    examples = [
        f"{', '.join(f'{name} {text}' for name, text in points.show(place).items())}: {number} published combinations"
        for place, number in _worst(places, points.number[(many & several)[household]])
    ]
    confirmed = int((several & ~many).sum())
    return Together(column, tuple(shared), int(several.sum()), confirmed, tuple(examples))


def _same(members: Counted, name: str, domain: Hierarchy, household: Counts) -> bool:
    """Return whether every household has one value of a column, without missing ones if some two members have one."""
    column = members.columns[name]
    leaves = domain.encode([text or None for text in column.texts]).astype(np.int64)
    numbers = np.where(leaves < 0, domain.size + np.arange(len(leaves)), leaves)  # by their text without a leaf
    values, has = numbers[column.codes], ~_empty(column.texts)[column.codes]
    together = bool(has.any()) and np.bincount(household[has], weights=members.counts[has]).max() > 1
    return _one_each(values, household) or bool(together and _one_each(values[has], household[has]))


def _one_each(values: Counts, household: Counts) -> bool:
    order = np.argsort(household, kind="stable")
    starts = np.flatnonzero(np.diff(household[order], prepend=-1))
    low, high = np.minimum.reduceat(values[order], starts), np.maximum.reduceat(values[order], starts)
    return bool((low == high).all())


def _empty(texts: Sequence[str]) -> Flags:
    return np.array([text == "" for text in texts], np.bool_)


def _differ_in_households(
    places: Places, boxes: TextCombinations, points: TextCombinations, household: Counts
) -> Flags:
    """Return in which households members may show two texts of one column, other than the missing one."""
    starts = np.searchsorted(places.point, np.arange(places.points + 1))
    number = (starts[1:] - starts[:-1])[points.number]
    offset = np.arange(int(number.sum())) - np.repeat(np.cumsum(number) - number, number)
    box = places.box[np.repeat(starts[:-1][points.number], number) + offset]
    home, point = np.repeat(household, number), np.repeat(points.number, number)
    differ = np.zeros(int(household.max()) + 1, np.bool_)
    for place in range(len(points.names)):
        text, value = boxes.codes[box, place], points.codes[point, place]
        telling = ~(_empty(boxes.texts[place])[text] & _empty(points.texts[place])[value])
        pairs = np.unique(np.stack([home[telling], text[telling]], axis=1), axis=0)
        differ |= np.bincount(pairs[:, 0], minlength=len(differ)) > 1
    return differ


def _worst(places: Places, points: Counts) -> list[tuple[int, int]]:
    """Return some of these points that most boxes cover, each with their number."""
    number = np.bincount(places.point, minlength=places.points)
    distinct = np.unique(points)
    order = np.lexsort((distinct, -number[distinct]))[:MOST_NAMED]
    return [(int(distinct[i]), int(number[distinct[i]])) for i in order]


def observed_hierarchy(name: str, original: Counted) -> Hierarchy:
    """Build the domain of a column without a hierarchy from the original's values and their frequencies."""
    column = original.columns[name]
    sizes = weighted_counts(column.codes, original.counts, len(column.texts)).tolist()
    present = sorted((text, size) for text, size in zip(column.texts, sizes, strict=True) if text)
    texts = [text for text, _ in present]
    try:
        return automatic(name, texts, [size for _, size in present])
    except BadInputError:
        return flat(texts or ["none"], observed=True)


def losses(
    published: Counted,
    quasi: Sequence[str],
    domains: Mapping[str, Hierarchy],
    suppressed: int,
    weights: Mapping[str, float],
) -> dict[str, float]:
    """Return the loss of the published values and of the suppressed records, as shares of the original.

    A record's loss is the (weighted) mean over the quasi-identifiers.
    """
    records = published.records + suppressed
    total = 0.0
    for name in quasi:
        column, domain = published.columns[name], domains[name]
        notation = Notation(domain)
        lost = np.array([text_loss(domain, notation.read(text)) for text in column.texts])
        rows = np.bincount(column.codes, published.counts, len(lost))  # by text, because tuples have no fixed order
        total += weights.get(name, 1.0) * float((lost * rows).sum())
    generalization = total / (sum(weights.get(name, 1.0) for name in quasi) * records)
    return {
        "loss": generalization + suppressed / records,
        "generalization_loss": generalization,
        "suppression_loss": suppressed / records,
    }


def unreadable(published: Counted, quasi: Sequence[str], domains: Mapping[str, Hierarchy]) -> list[str]:
    """Describe for each column a published text that covers no value of its domain, if there is one."""
    sentences = []
    for name in quasi:
        notation = Notation(domains[name])
        texts = [t for t in published.columns[name].texts if not leaves_covered(domains[name], notation.read(t)).any()]
        if texts:
            more = t("notice.other_texts", texts=len(texts) - 1) if len(texts) > 1 else ""
            sentences.append(t("audit_notice.unreadable", name=name, text=texts[0], more=more))
    return sentences


def text_loss(domain: Hierarchy, meaning: Meaning) -> float:
    """Return (s - 1/N) / (1 - 1/N), s the share of the domain's width that a text covers and N the leaves.

    In an observed domain a set omits values between its ends that no published record has, so its ends count. A text
    that covers no leaf is useless: 1.
    """
    covered = np.flatnonzero(leaves_covered(domain, meaning))
    if len(covered) == 0:
        return 1.0
    if len(covered) == 1:
        return domain.loss(int(covered[0]), int(covered[0]))
    if domain.observed:
        covered = np.arange(covered[0], covered[-1] + 1)
    share = float(np.asarray(domain.widths)[covered].sum() / sum(domain.widths))
    least = 1 / domain.finest
    return min(max((share - least) / (1 - least), 0.0), 1.0)


def carried_values(asked: AuditQuestion, neutral: Sequence[str]) -> Coverage:
    """Compare the values of neutral columns of all rows together."""
    assert asked.original is not None
    file, original = asked.file.engine, asked.original.engine
    named = ", ".join(neutral)
    if file.row_count != original.row_count:
        return Coverage(t("notice.left_aside", named=named), False, 0, ())
    kept = (
        [] if asked.group is not None else [name for name in asked.sensitive if _has_same_texts(name, file, original)]
    )
    columns = [*neutral, *kept]
    beside = f" beside {', '.join(kept)}" if kept else ""
    if file.digest(columns) == original.digest(columns):
        return Coverage(t("notice.values_all_rows_digest", named=named, beside=beside), True, 0, ())
    if any(engine.facts(name).shortest == 0 for name in columns for engine in (file, original)):
        return Coverage(t("notice.left_aside_some", named=named), False, 0, ())
    example = t("notice.taken_together", named=named, beside=beside)
    return Coverage(t("notice.values_all_rows_digest", named=named, beside=beside), True, 1, (example,))


def _has_same_texts(name: str, file: Engine, original: Engine) -> bool:
    """Return whether a column has the same texts in both: sensitive values may be published by other names."""
    return set(file.distinct(name).values) == set(original.distinct(name).values)
