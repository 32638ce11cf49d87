"""How many different persons stand behind the groups of a published file, and how many of their records one has.

A published row does not say whose it is. A record of the original fits a group if the group's box covers it and a row
there agrees with it in every other column. A group is counted where no record that fits it fits another group, and its
rows are as many as these records. Of other groups the fewest persons who can supply the rows bound the number from
below, and the records of one person the share from above. Values that a bound does not decide are not confirmed.

The publisher knows more: the rows as they were written, each with its person (`named`). These must be the rows of the
file, and then every group is counted.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing.coverage import Located, joint_numbers
from sfumato.auditing.decision import TOLERANCE, Failure, judge, sensitive_column
from sfumato.auditing.notation import Notation
from sfumato.auditing.profile import RECURSIVE_C, Profile, baseline
from sfumato.auditing.published_file import Counted, Source, TextColumn
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.errors import BadInputError
from sfumato.requirements.requirement import AlphaK, KAnonymity, LDiversity, Requirement
from sfumato.runtime.arrays import Counts, RedactedRepr

OF_RECORDS = ("average_group", "discernibility", "generalization_loss", "loss", "suppressed", "suppression_loss")
"""Measures of utility, which count records whatever risks count."""

OF_VALUES = ("a_acc", "l_recursive")
"""Measures of values that a profile of weights does not give: of whole counts, and of suppressed records."""

Calling = Callable[[str, TextColumn], TextColumn]
"""Calls the values of a sensitive column by the labels of their leaves."""


@dataclass(frozen=True, eq=False, repr=False)
class GroupEvidence(RedactedRepr):
    """The known persons of every group: to whom the counted records belong."""

    shown: tuple[Mapping[str, str], ...]
    """What every group shows."""

    sizes: Counts
    least: Counts
    """Its persons, or the fewest that there can be."""

    most: Counts
    """The records of its largest person, or the most that one can have."""

    counted: NDArray[np.bool_]
    """Whether these are no bounds."""

    group: Counts
    person: Counts
    values: Mapping[str, TextColumn]
    count: Counts
    """Records of the counted groups: group, person, sensitive values, number of equal ones. Suppressed records have the
    group -1 - the number of their combination of quasi-identifiers."""

    complete: bool
    """Whether these are all records of the original, if every group is counted."""

    def held(self, name: str, called: Calling) -> dict[int, dict[int, Counter[str]]]:
        """Return for every counted group which values of a column each person has; for suppressed records likewise."""
        return _held(self.group, self.person, called(name, self.values[name]), self.count)


@dataclass(frozen=True, repr=False)
class PersonAudit(RedactedRepr):
    """The persons behind the groups of a file."""

    public_fields: ClassVar[tuple[str, ...]] = ("column", "holds")

    column: str
    groups: int
    counted: int
    """Groups whose persons were counted."""

    k: int
    """The fewest different persons of a group; a lower bound where not all groups were counted."""

    share: float
    """The largest share of a group's records that belongs to one person; else an upper bound."""

    marketer: float | None
    """Groups per sighting, a sighting being a person in a group; None where not all groups were counted."""

    unconfirmed: tuple[str, ...] = ()
    """Parts of the requirement that can neither be confirmed nor refuted, each with the reason."""

    @property
    def holds(self) -> bool:
        """Whether nothing that is required stays open."""
        return not self.unconfirmed

    def measures(self) -> dict[str, float]:
        """Return the risks by persons; none where not all groups were counted."""
        return {} if self.marketer is None else {"k": self.k, "prosecutor": self.share, "marketer": self.marketer}


def evidence_of_rows(
    file: Source, named: Source, person: str, quasi: Sequence[str], sensitive: Sequence[str], original: Counted
) -> GroupEvidence:
    """Count persons in the rows that were written, each with its person; raise where they are not those of the file."""
    columns = list(file.engine.columns)
    both = [source.count(columns) for source in (file, named)]
    written, known = (dict(zip(rows.texts(columns), rows.counts.tolist(), strict=True)) for rows in both)
    if written != known:
        raise AssertionError("the written file does not hold the rows of which persons were counted")
    rows = named.count([*quasi, person, *sensitive])
    first, group = rows.number(quasi)
    sizes = np.bincount(group, rows.counts).astype(np.int64)
    shown = tuple(rows.show(int(place), quasi) for place in first)
    place = {text: number for number, text in enumerate(original.columns[person].texts)}
    whose = np.array([place[text] for text in rows.columns[person].texts])[rows.columns[person].codes]
    persons, largest = _persons(group, whose, rows.counts, len(sizes))
    values = {name: rows.columns[name] for name in sensitive}
    every, complete = np.ones(len(sizes), np.bool_), bool(rows.counts.sum() == original.counts.sum())
    return GroupEvidence(shown, sizes, persons, largest, every, group, whose, values, rows.counts, complete)


def evidence_of_original(
    published: Counted,
    original: Counted,
    person: str,
    quasi: Sequence[str],
    others: Sequence[str],
    sensitive: Sequence[str],
    notations: Mapping[str, Notation],
) -> GroupEvidence:
    """Count persons by the original (counted over quasi-identifiers, other columns and persons), or bound them.

    A row is one of the records that fit its group, so a group is counted if its rows are as many as these records, and
    none of them fits another group.
    """
    located = Located.of(published, original, quasi, notations)
    if located is None:
        raise BadInputError("the boxes of this file are too many to find whose records they hold")
    boxes, points, places = located.boxes, located.points, located.places
    groups = len(boxes.codes)
    sizes = np.bincount(boxes.number, published.counts, groups).astype(np.int64)
    row_class, record_class = joint_numbers(published, original, others)
    record, box = _fitting(places.point, places.box, points.number, record_class, boxes.number, row_class)
    covering = np.bincount(record, minlength=len(original.counts))
    group = np.full(len(original.counts), -1, np.int64)
    group[record] = box
    group[covering != 1] = -1
    open_boxes = np.zeros(groups, np.bool_)
    open_boxes[box[covering[record] > 1]] = True
    counted = ~open_boxes & _same_rows(
        boxes.number, row_class, published.counts, group, record_class, original.counts, groups
    )
    whose = original.number([person])[1]
    least, most = _bounds(*_of_persons(box, whose[record], original.counts[record]), sizes)
    if published.counts.sum() == original.counts.sum():  # a record that fits one group only is in it
        least = np.maximum(
            least, _persons(group[group >= 0], whose[group >= 0], original.counts[group >= 0], groups)[0]
        )
    inside = (group >= 0) & counted[group]
    persons, largest = _persons(group[inside], whose[inside], original.counts[inside], groups)
    shown = tuple(boxes.show(place) for place in range(groups))
    group = np.where(group < 0, -1 - points.number, group)
    inside |= group < 0
    values = {name: original.columns[name].where(inside) for name in sensitive}
    return GroupEvidence(
        shown,
        sizes,
        np.where(counted, persons, least),
        np.where(counted, largest, most),
        counted,
        group[inside],
        whose[inside],
        values,
        original.counts[inside],
        complete=True,
    )


def judged_by_persons(
    column: str,
    found: GroupEvidence,
    wanted: Requirement | None,
    sensitive: Sequence[str],
    called: Calling,
    table: Mapping[str, tuple[TextColumn, Counts, Counts]],
    hierarchies: Mapping[str, Hierarchy],
) -> tuple[PersonAudit, tuple[Failure, ...]]:
    """Judge a requirement by persons; `table` has of every sensitive column the original's values, persons, counts."""
    failed: list[Failure] = []
    unconfirmed: list[str] = []
    for part in () if wanted is None else wanted.parts:
        if isinstance(part, KAnonymity):
            rule = KAnonymity(part.k, part.usual_share)
            good = (found.least >= rule.k) & (found.most <= (rule.usual_share + TOLERANCE) * found.sizes)
            bad = ~good & (found.counted | (found.sizes < rule.k))
            achieved = f"{int(found.least.min()):,} persons, the largest share {(found.most / found.sizes).max():.3g}"
            failed += _failures(str(rule), bad, found, found.least, achieved)
            if (still := int((~good & ~bad).sum())) > 0:
                unconfirmed.append(f"{rule}: the persons of {still:,} groups are not certain")
            continue
        name = sensitive_column(part, tuple(sensitive))
        admitted, achieved = _values_admitted(part, name, found, called, table[name], hierarchies.get(name))
        goodness = np.ones(len(found.sizes))
        goodness[list(admitted)] = list(admitted.values())
        failed += _failures(str(part), goodness == 0, found, goodness, achieved)
        if len(admitted) < len(found.sizes):
            unconfirmed.append(f"{part}: the persons of {len(found.sizes) - len(admitted):,} groups are not certain")
    sightings = int(found.least.sum())
    audit = PersonAudit(
        column,
        len(found.sizes),
        int(found.counted.sum()),
        int(found.least.min()),
        float((found.most / found.sizes).max()),
        len(found.sizes) / sightings if found.counted.all() else None,
        tuple(unconfirmed),
    )
    return audit, tuple(failed)


def _failures(
    part: str, bad: NDArray[np.bool_], found: GroupEvidence, goodness: NDArray[np.generic], achieved: str
) -> list[Failure]:
    failing = np.flatnonzero(bad)
    if not len(failing):
        return []
    worst = int(failing[np.argmin(goodness[failing])])
    records = int(found.sizes[failing].sum())
    return [
        Failure(part, len(failing), len(found.sizes), records, found.shown[worst], int(found.sizes[worst]), achieved)
    ]


# -- values ----------------------------------------------------------------------------------------------------------


def _values_admitted(
    part: Requirement,
    name: str,
    found: GroupEvidence,
    called: Calling,
    table: tuple[TextColumn, Counts, Counts],
    hierarchy: Hierarchy | None,
) -> tuple[dict[int, bool], str]:
    """Return, for every counted group, whether it satisfies a part about sensitive values; and the value that the file
    achieves."""
    held = {g: own for g, own in found.held(name, called).items() if g >= 0}
    if not held:
        return {}, ""
    if isinstance(part, AlphaK) or (isinstance(part, LDiversity) and part.variant == "frequency"):
        shares = {g: max(Counter(s for own in held[g].values() for s in own).values()) / len(held[g]) for g in held}
        worst = max(shares.values())
        if isinstance(part, LDiversity):
            return {g: share <= 1 / part.l + TOLERANCE for g, share in shares.items()}, f"l={1 / worst:.3g}"
        fewest = min(map(len, held.values()))
        good = {g: len(held[g]) >= part.k and share <= part.alpha + TOLERANCE for g, share in shares.items()}
        return good, f"k={fewest}, alpha={worst:.3g}"
    if isinstance(part, LDiversity) and part.variant == "distinct":
        matched = {g: _matched(persons) for g, persons in held.items()}
        return {g: number >= part.l for g, number in matched.items()}, f"l={min(matched.values())}"
    profile = _profile(held, name, called, table, hierarchy)
    admitted, _, achieved = judge(part, profile.sizes, profile)
    return dict(zip(held, admitted.tolist(), strict=True)), achieved


def _profile(
    held: Mapping[int, Mapping[int, Counter[str]]],
    name: str,
    called: Calling,
    table: tuple[TextColumn, Counts, Counts],
    hierarchy: Hierarchy | None,
) -> Profile:
    """Return the values of every group, where all records of a person in it weigh one together, beside those of all."""
    texts, persons, counts = table
    everybody = _held(np.zeros(len(counts), np.int64), persons, called(name, texts), counts)[0]
    weights = _weights(everybody)
    known = tuple(weights)
    compared = baseline(
        name, TextColumn(known, np.arange(len(known), dtype=np.int32)), np.ones(len(known), np.int64), (), hierarchy
    )
    compared = replace(compared, counts=np.array([weights[text] for text in compared.values]))
    place = {text: number for number, text in enumerate(compared.values)}
    entries = sorted((i, place[text], w) for i, own in enumerate(held.values()) for text, w in _weights(own).items())
    group, value, count = (np.array(column) for column in zip(*entries, strict=True))
    profile = Profile(compared, group, value, count)
    vars(profile)["sizes"] = np.array(list(map(len, held.values())))  # weights add up to it but for rounding
    return profile


def measured_values(
    found: GroupEvidence,
    sensitive: Sequence[str],
    called: Calling,
    table: Mapping[str, tuple[TextColumn, Counts, Counts]],
    hierarchies: Mapping[str, Hierarchy],
) -> dict[str, dict[str, float]]:
    """Return the risks by persons of every sensitive column; none where not all groups were counted."""
    measured: dict[str, dict[str, float]] = {}
    for name in sensitive if found.counted.all() else ():
        everything = found.held(name, called)
        held = {g: own for g, own in everything.items() if g >= 0}
        profile = _profile(held, name, called, table[name], hierarchies.get(name))
        own = {measure: value for measure, value in profile.measures().items() if measure not in OF_VALUES}
        commonest = [max(Counter(s for each in persons.values() for s in each).values()) for persons in held.values()]
        own["l_frequency"] = float((profile.sizes / np.array(commonest)).min())
        own["l_distinct"] = min(_matched(persons) for persons in held.values())
        own["l_recursive"] = min(map(_recursive_rank, held.values()))
        if found.complete:
            own["a_acc"] = _guessing_gain(held, everything)
        own["certain"] = _certain(held)
        texts, persons, counts = table[name]
        whole = _held(np.zeros(len(counts), np.int64), persons, called(name, texts), counts)[0]
        own["one_value_left"] = _one_value_left(held, whole)
        measured[name] = own
    return measured


def measured_groups(found: GroupEvidence) -> dict[str, float]:
    """Return the risks by persons that read no sensitive value; none where not all groups were counted."""
    if not found.counted.all():
        return {}
    places: dict[int, Counter[int]] = {}
    for g, u, n in zip(found.group.tolist(), found.person.tolist(), found.count.tolist(), strict=True):
        if g >= 0:
            places.setdefault(u, Counter())[g] += n
    alike = Counter(frozenset(own.items()) for own in places.values())
    alone = sum(number == 1 for number in alike.values())
    persons = found.least.tolist()
    return {"weighted_k": sum(k * k for k in persons) / sum(persons), "singled_out": alone / len(places)}


def _recursive_rank(persons: Mapping[int, Counter[str]]) -> int:
    """Return the largest l with r_1 < c (r_l + ... + r_m), where the records of a person weigh one together."""
    falling = sorted(_weights(persons).values(), reverse=True)
    least = TOLERANCE * len(persons)
    ranks = (rank for rank in range(len(falling), 0, -1) if falling[0] < RECURSIVE_C * sum(falling[rank - 1 :]) - least)
    return next(ranks, 0)


def _guessing_gain(
    held: Mapping[int, Mapping[int, Counter[str]]], everything: Mapping[int, Mapping[int, Counter[str]]]
) -> float:
    """Compare a guess in every group with one guess everywhere, suppressed records at their own combinations too."""
    had = {g: Counter(s for own in persons.values() for s in own) for g, persons in everything.items()}
    right = sum(max(had[g].values()) for g in held) / sum(map(len, held.values()))
    one = max(sum(map(Counter, had.values()), Counter[str]()).values())
    return right - one / sum(map(len, everything.values()))


def _one_value_left(held: Mapping[int, Mapping[int, Counter[str]]], whole: Mapping[int, Counter[str]]) -> float:
    """Return the share of persons with one value in all records, and only one value in all of their groups."""
    left: dict[int, set[str]] = {}
    for persons in held.values():
        present = {text for own in persons.values() for text in own}
        for person in persons:
            left[person] = left.get(person, present) & present
    return sum(len(left[person]) == len(whole[person]) == 1 for person in left) / len(left)


def _certain(held: Mapping[int, Mapping[int, Counter[str]]]) -> float:
    """Return the share of persons with more records in a group than it has rows without some value."""
    certain: set[int] = set()
    everybody: set[int] = set()
    for persons in held.values():
        rows = sum(own.total() for own in persons.values())
        commonest = max(Counter(s for own in persons.values() for s in own.elements()).values())
        certain |= {person for person, own in persons.items() if own.total() > rows - commonest}
        everybody |= persons.keys()
    return len(certain) / len(everybody)


def _held(group: Counts, person: Counts, column: TextColumn, count: Counts) -> dict[int, dict[int, Counter[str]]]:
    """Return for every group (rising) which values each of its persons has, and how often."""
    held: dict[int, dict[int, Counter[str]]] = {int(g): {} for g in np.unique(group)}
    for g, u, code, n in zip(group.tolist(), person.tolist(), column.codes.tolist(), count.tolist(), strict=True):
        held[g].setdefault(u, Counter())[column.texts[code]] += n
    return held


def _weights(persons: Mapping[int, Counter[str]]) -> Counter[str]:
    """Add up values with weights that add up to one for every person."""
    weights: Counter[str] = Counter()
    for values in persons.values():
        for text, number in values.items():
            weights[text] += number / values.total()  # type: ignore[assignment]
    return weights


def _matched(persons: Mapping[int, Counter[str]]) -> int:
    """Return how many persons can each be given a value of their own that they have."""
    given: dict[str, int] = {}

    def give(person: int, refused: set[str]) -> bool:
        for text in persons[person]:
            if text in refused:
                continue
            refused.add(text)
            if text not in given or give(given[text], refused):
                given[text] = person
                return True
        return False

    return sum(give(person, set()) for person in persons)


# -- counting --------------------------------------------------------------------------------------------------------


def _persons(group: Counts, person: Counts, counts: Counts, groups: int) -> tuple[Counts, Counts]:
    """Count the different persons of every group, and the records of the largest."""
    of_pair, records = _of_persons(group, person, counts)
    largest = np.zeros(groups, np.int64)
    np.maximum.at(largest, of_pair, records)
    return np.bincount(of_pair, minlength=groups), largest


def _of_persons(group: Counts, person: Counts, counts: Counts) -> tuple[Counts, Counts]:
    """Count the records of every person in every group: the group of each such pair, and its records."""
    pairs, at = np.unique(np.stack([group, person], axis=1), axis=0, return_inverse=True)
    return pairs[:, 0], np.bincount(at.ravel(), counts, len(pairs)).astype(np.int64)


def _same_rows(
    of_row: Counts,
    row_class: Counts,
    row_counts: Counts,
    of_record: Counts,
    record_class: Counts,
    record_counts: Counts,
    groups: int,
) -> NDArray[np.bool_]:
    """Return of every group whether its rows are the records that fit it alone, in all other columns."""
    classes = int(max(row_class.max(initial=0), record_class.max(initial=0))) + 1
    inside, same = of_record >= 0, np.ones(groups, np.bool_)
    keys = np.concatenate([of_row * classes + row_class, (of_record * classes + record_class)[inside]])
    distinct, at = np.unique(keys, return_inverse=True)
    more = np.bincount(at.ravel(), np.concatenate([row_counts, -record_counts[inside]]), len(distinct))
    same[distinct[more != 0] // classes] = False
    return same


def _fitting(
    point: Counts, box: Counts, of_record: Counts, record_class: Counts, of_row: Counts, row_class: Counts
) -> tuple[Counts, Counts]:
    """List the boxes that every record fits: they cover it, and a row of theirs agrees with it in all other columns."""
    starts = np.searchsorted(point, np.arange(int(of_record.max(initial=0)) + 2))
    number = (starts[1:] - starts[:-1])[of_record]
    record = np.repeat(np.arange(len(of_record)), number)
    boxes = box[np.arange(len(record)) - np.repeat(np.cumsum(number) - number - starts[:-1][of_record], number)]
    classes = int(max(row_class.max(initial=0), record_class.max(initial=0))) + 1
    fits = np.isin(boxes * classes + record_class[record], of_row * classes + row_class)
    return record[fits], boxes[fits]


def _bounds(box: Counts, records: Counts, sizes: Counts) -> tuple[Counts, Counts]:
    """Return the fewest persons who can supply the rows of every box, and the most rows that one of them can have."""
    least, most = np.zeros(len(sizes), np.int64), sizes.copy()
    order = np.lexsort((-records, box))
    ends = np.searchsorted(box[order], np.arange(len(sizes) + 1))
    for place, size in enumerate(sizes.tolist()):
        held = records[order[ends[place] : ends[place + 1]]]
        if held.sum() >= size:
            least[place] = int(np.searchsorted(np.cumsum(held), size)) + 1
            most[place] = min(int(held[0]), size)
    return least, most
