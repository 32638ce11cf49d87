"""Requirements of releases: frozen values, joined with `&`, checked group by group.

Each requirement is one or two predicates over a group's histogram. `monotone` means that the union of two admitted
groups is always admitted; searches rely on it, and a test tries to refute it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.config.options import Configured, Option, parse, split_outside_quotes
from sfumato.data.cells import Histograms, Sensitive, find_sensitive, spans_of
from sfumato.data.hierarchies.notation import write_number
from sfumato.requirements import _predicates as predicates
from sfumato.requirements._predicates import Rules, groups_admitted, groups_of_persons_admitted
from sfumato.texts.catalogue import percent, refusal, t

Rule = tuple[int, float, float]
"""A kind of predicate and its two parameters."""

USUAL_SHARE = 0.5
"""The default largest share of a group's records of one person, if k-anonymity counts persons."""


class PersonRule(NamedTuple):
    """The requirement on the persons of each group."""

    k: int
    """The least number of different persons."""

    share: float
    """The largest share of the records of one person."""

    def admits(self, persons: NDArray[np.int64], largest: NDArray[np.int64], sizes: NDArray[np.int64]) -> Admitted:
        """Return which groups have enough persons, none with too many of the records."""
        admitted: Admitted = (persons >= self.k) & (largest <= (self.share + predicates.TOLERANCE) * sizes)
        return admitted


Admitted = NDArray[np.bool_]
On = Annotated[str | None, Option("Its sensitive column; needed only if there are several.", takes="sensitive")]
DISTANCES = {
    "equal": predicates.EQUAL,
    "ordered": predicates.ORDERED,
    "hierarchical": predicates.HIERARCHICAL,
    "js": predicates.JS,
}
DISTANCE_WORDS = {
    "equal": "half L1",
    "ordered": "earth mover's, ordered values",
    "hierarchical": "earth mover's, value hierarchy",
    "js": "Jensen-Shannon",
}


class Requirement(Configured, ABC):
    """A condition on every group of a release."""

    on: str | None = None
    """Its sensitive attribute; needed only if there are several."""

    monotone: bool = True
    """Whether the union of two admitted groups is always admitted."""

    about_sensitive: ClassVar[bool] = True
    """Whether it concerns a sensitive attribute, and not only group sizes."""

    @property
    def parts(self) -> tuple[Requirement, ...]:
        """Its parts."""
        return (self,)

    def of_parts(self, parts: Sequence[Requirement]) -> Requirement:
        """Return the requirement with other parts."""
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    @abstractmethod
    def rules(self) -> Sequence[Rule]:
        """List its predicates."""

    def holds(self, counts: Mapping[str, int], shares: Mapping[str, float]) -> bool:
        """Decide for one group by the plain definition: counts of its sensitive values, and their shares in the table.

        The audit uses this for requirements without its own definition; those here have one.
        """
        raise refusal("audit_no_definition", self=self, name=self.name)

    def strengthen(self, measures: Mapping[str, float], by_sensitive: Mapping[str, Mapping[str, float]]) -> Requirement:
        """Return the strongest requirement of this kind that groups with these measures satisfy, by column.

        A requirement that compares groups with the whole table is unchanged, because its strongest parameter would
        depend on suppressed records.
        """
        return self

    def rule_in_words(self, group: str = "group") -> str:
        """Return the requirement of each group in words."""
        return str(self)

    def words_of_persons(self) -> str:
        """Return the requirement of each group in words, counting persons."""
        return t("notice.all_records_person_group", rule_in_words=self.rule_in_words())

    @property
    def _value(self) -> str:
        return t("sensitive.value_of", column=self.on) if self.on else t("sensitive.value")

    @property
    def _values(self) -> str:
        return t("sensitive.values_of", column=self.on) if self.on else t("sensitive.values")

    @abstractmethod
    def would_admit(self, size: int, counts: NDArray[np.int64], attribute: Sensitive | None) -> str:
        """Return the nearest parameter that admits a group with these counts."""

    def __and__(self, other: Requirement) -> Requirement:
        return All((*self.parts, *other.parts))

    def compile(self, sensitive: tuple[Sensitive, ...]) -> Rules:
        """Compile to the numbers for kernels."""
        rules, places = [], []
        for part in self.parts:
            place = find_sensitive(sensitive, part.on) if part.about_sensitive else -1
            if place >= 0:
                sensitive[place].check_look_alikes()
            for rule in part.rules():
                rules.append(rule)
                places.append(place)
        return _compiled(rules, places, sensitive)

    @property
    def of_persons(self) -> PersonRule:
        """Its requirement on the persons of each group, if persons are counted."""
        sizes = [size for kind, size, _ in self.rules() if kind == predicates.SIZE]
        shares = [part.usual_share for part in self.parts if isinstance(part, KAnonymity)]
        return PersonRule(int(max(sizes, default=1)), min(shares, default=1.0))

    @property
    def by_persons(self) -> Requirement:
        """The same with all defaults of counting persons."""
        return self

    def survives_merging(self, persons: bool) -> bool:
        """Return whether the union of two admitted groups is always admitted, by records or by persons.

        A person of both groups counts once in their union, so shares of persons may exceed those of both.
        """
        kinds = (predicates.SIZE, predicates.DISTINCT)
        return self.monotone and not (persons and any(kind not in kinds for kind, _, _ in self.rules()))

    def check_counting(self, person: str | None) -> None:
        """Raise if it cannot be counted: shares of one person without a person column."""
        for part in self.parts:
            if person is None and isinstance(part, KAnonymity) and part.share is not None:
                raise refusal("share_without_a_person", part=part)

    def admits(self, histograms: Histograms) -> NDArray[np.bool_]:
        """Return for each group whether it satisfies the requirement."""
        rules, counted = self.compile(histograms.sensitive), histograms.persons
        if counted is None:
            return groups_admitted(rules, histograms.counts, histograms.sizes)
        admitted = self.of_persons.admits(counted.persons, counted.largest, histograms.sizes)
        for rule, kind in enumerate(rules.kinds):
            if kind != predicates.SIZE:
                place = int(np.searchsorted(counted.spans, rules.firsts[rule]))
                matchings = counted.matchings[:, place] if kind == predicates.DISTINCT else counted.persons
                groups = counted.persons, counted.having, counted.weighted, matchings
                admitted &= groups_of_persons_admitted(rules, rule, *groups)
        return admitted

    def explain_failure(self, histograms: Histograms, group: int) -> str:
        """Describe which part a group violates, and a parameter that admits it."""
        reasons = []
        alone = histograms.only(group)
        for part in self.parts:
            if not part.admits(alone)[0]:
                if alone.persons is not None and not part.about_sensitive:
                    persons, largest = int(alone.persons.persons[0]), int(alone.persons.largest[0])
                    reasons.append(
                        t(
                            "notice.not_hold_feasible",
                            by_persons=part.by_persons,
                            persons=persons,
                            up=_up(largest / int(alone.sizes[0])),
                        )
                    )
                    continue
                place = find_sensitive(histograms.sensitive, part.on) if part.about_sensitive else None
                attribute = None if place is None else histograms.sensitive[place]
                size, counts = part.counted(alone, place)
                reasons.append(t("notice.not_hold", part=part, would_admit=part.would_admit(size, counts, attribute)))
        return "; ".join(reasons)

    def counted(self, alone: Histograms, place: int | None) -> tuple[int, NDArray[Any]]:
        """Return the size of a single group, and the counts of its sensitive values."""
        size, counts = int(alone.sizes[0]), alone.counts[0] if place is None else alone.of(place)[0]
        if place is None or alone.persons is None:
            return size, counts
        persons, kind = alone.persons, self.rules()[-1][0]
        if kind == predicates.DISTINCT:
            return int(persons.persons[0]), np.ones(persons.matchings[0, place], np.int64)
        columns = slice(persons.spans[place], persons.spans[place + 1])
        counts = persons.having if kind == predicates.FREQUENCY else persons.weighted
        return int(persons.persons[0]), counts[0, columns]


@dataclass(frozen=True)
class All(Requirement):
    """Several requirements at once; made with `&`."""

    joined: tuple[Requirement, ...]
    name: ClassVar[str] = "all"

    def __post_init__(self) -> None:
        if not self.joined:
            raise refusal("joined_requirement_needs_least")

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Whether all of its parts are monotone."""
        return all(part.monotone for part in self.joined)

    @property
    def by_persons(self) -> Requirement:
        """Its parts with all defaults of counting persons."""
        return All(tuple(part.by_persons for part in self.joined))

    @property
    def parts(self) -> tuple[Requirement, ...]:
        """Its parts."""
        return self.joined

    def strengthen(self, measures: Mapping[str, float], by_sensitive: Mapping[str, Mapping[str, float]]) -> Requirement:
        """Strengthen every part."""
        return All(tuple(part.strengthen(measures, by_sensitive) for part in self.joined))

    def rules(self) -> Sequence[Rule]:
        """List the predicates of all parts."""
        return [rule for part in self.joined for rule in part.rules()]

    def would_admit(self, size: int, counts: NDArray[np.int64], attribute: Sensitive | None) -> str:
        """Return for each part a parameter that admits the group."""
        return "; ".join(part.would_admit(size, counts, attribute) for part in self.joined)

    def __str__(self) -> str:
        return " & ".join(map(str, self.joined))


@dataclass(frozen=True)
class KAnonymity(Requirement):
    """Every group has at least k records (Samarati & Sweeney 1998), or k different persons if these are counted.

    >>> str(KAnonymity(10))
    'k-anonymity k=10'
    """

    k: Annotated[int, Option(least=1)]
    """The least number of records in every group; with a person column, of persons."""

    share: Annotated[float | None, Option(more_than=0, most=1)] = None
    """With a person column: the largest share of a group's records that belongs to one person; default: 0.5."""

    name: ClassVar[str] = "k-anonymity"
    about_sensitive: ClassVar[bool] = False

    @property
    def usual_share(self) -> float:
        """The largest share of one person: the given one, or one half if at least two persons are required."""
        return self.share if self.share is not None else USUAL_SHARE if self.k > 1 else 1.0

    @property
    def by_persons(self) -> Requirement:
        """The same with the largest share of one person; a single person has no bound."""
        return self if self.k == 1 and self.share is None else KAnonymity(self.k, self.usual_share)

    def rule_in_words(self, group: str = "group") -> str:
        """Return the least group size in words."""
        if self.share is None:
            return t("notice.every_least_requirement", group=group, k=self.k)
        least = t("notice.every_least", group=group, k=self.k)
        return least if self.share == 1 else t("notice.none_more_than_records", least=least, share=self.share)

    def words_of_persons(self) -> str:
        """Return the least number of persons in words; a single person has no bound."""
        return self.by_persons.rule_in_words()

    def strengthen(self, measures: Mapping[str, float], by_sensitive: Mapping[str, Mapping[str, float]]) -> Requirement:
        """Use the size of the smallest group."""
        return replace(self, k=max(self.k, int(measures.get("smallest_group", 0))))

    def rules(self) -> Sequence[Rule]:
        """List the one predicate: the size."""
        return [(predicates.SIZE, float(self.k), 0.0)]

    def would_admit(self, size: int, counts: NDArray[np.int64], attribute: Sensitive | None) -> str:
        """Return the largest k."""
        return t("notice.feasible_up", size=size)


@dataclass(frozen=True)
class LDiversity(Requirement):
    """The sensitive values of every group are diverse, in one of four variants.

    `frequency`: the largest share is at most 1/l (l real); `distinct`: at least l values; `entropy`: at least ln l;
    `recursive`: r_1 < c (r_l + ... + r_m) (Machanavajjhala et al. 2006).
    """

    l: Annotated[float, Option(least=1)]  # noqa: E741
    """The least diversity of the sensitive values of every group."""

    variant: Annotated[Literal["frequency", "distinct", "entropy", "recursive"], Option()]
    """The kind of diversity: no share above 1/l, at least l different values, an entropy of at least ln l, or recursive
    (c, l)-diversity."""

    c: Annotated[float | None, Option(more_than=0, when=("variant", "recursive"), needed="3")] = None
    """The factor of recursive diversity."""

    on: On = None
    name: ClassVar[str] = "l-diversity"
    example: ClassVar[str | None] = "l-diversity l=3 variant=distinct (or frequency, entropy, recursive with c=3)"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant in ("distinct", "recursive") and not float(self.l).is_integer():
            raise refusal("must_whole_number_variant", variant=self.variant, l=self.l)

    def rule_in_words(self, group: str = "group") -> str:
        """Return the diversity in words, by the variant."""
        match self.variant:
            case "frequency":
                return t("notice.no_above", value=self._value, l=self.l, l_2=100 / self.l, group=group)
            case "distinct":
                return t("notice.least_different_every", l=self.l, values=self._values, group=group)
            case "entropy":
                return t("notice.every_least_diverse_equally", group=group, l=self.l, values=self._values)
        return t("notice.recursive_diversity_every", c=self.c, l=self.l, values=self._values, group=group)

    def words_of_persons(self) -> str:
        """Return which persons are counted, by the variant."""
        match self.variant:
            case "frequency":
                return t("notice.no_more_than_persons", value=self._value, l=self.l)
            case "distinct":
                return t("notice.least_different_every_group", l=self.l, values=self._values)
        return super().words_of_persons()

    def strengthen(self, measures: Mapping[str, float], by_sensitive: Mapping[str, Mapping[str, float]]) -> Requirement:
        """Use the l of the least diverse group; that of recursive diversity is measured with one c only."""
        own = by_sensitive.get(self.on or next(iter(by_sensitive), ""), {})
        value = 0.0 if self.variant == "recursive" else own.get(f"l_{self.variant}", 0.0)
        return replace(self, l=max(self.l, math.floor(value * 1000) / 1000))

    def rules(self) -> Sequence[Rule]:
        """List the one predicate of the variant."""
        return {
            "frequency": [(predicates.FREQUENCY, 1 / self.l, float(self.l) if float(self.l).is_integer() else 0.0)],
            "distinct": [(predicates.DISTINCT, float(self.l), 0.0)],
            "entropy": [(predicates.ENTROPY, float(self.l), 0.0)],
            "recursive": [(predicates.RECURSIVE, float(self.l), float(self.c or 0))],
        }[self.variant]

    def would_admit(self, size: int, counts: NDArray[np.int64], attribute: Sensitive | None) -> str:
        """Return the largest l, or for recursive diversity the bound of c."""
        if self.variant == "frequency":
            return t("notice.feasible_up_requirement", down=_down(size / counts.max()))
        if self.variant == "distinct":
            return t("notice.feasible_up_2", count_nonzero=np.count_nonzero(counts))
        if self.variant == "entropy":
            return t("notice.feasible_up_requirement", down=_down(math.exp(predicates.entropy(counts, size))))
        falling = np.sort(counts)[::-1]
        tail = float(falling[int(self.l) - 1 :].sum())
        if tail == 0:
            return t("notice.feasible_up_large", count_nonzero=np.count_nonzero(counts))
        least = (falling[0] + predicates.TOLERANCE * size) / tail  # strictly less, with the tolerance of comparisons
        return f"feasible above c={_up(float(least))}" + (t("notice.smaller") if self.l > 1 else "")


@dataclass(frozen=True)
class TCloseness(Requirement):
    """The sensitive distribution of every group is within t of the whole table's (Li et al. 2007).

    distance: equal (half L1), ordered and hierarchical (earth mover's), js (Jensen-Shannon, in nats).
    """

    t: Annotated[float, Option(least=0, most=1)]
    """The largest distance of a group's sensitive values from the whole table's."""

    distance: Annotated[Literal["equal", "ordered", "hierarchical", "js"], Option()]
    """The distance: half L1, earth mover's over ordered values or a hierarchy, Jensen-Shannon."""

    on: On = None
    name: ClassVar[str] = "t-closeness"
    example: ClassVar[str | None] = "t-closeness t=0.2 distance=equal (or ordered, hierarchical, js)"

    def rule_in_words(self, group: str = "group") -> str:
        """Return the closeness in words."""
        words = DISTANCE_WORDS[self.distance]
        return t("notice.every_within_whole_table", values=self._values, group=group, t=self.t, words=words)

    def rules(self) -> Sequence[Rule]:
        """List the one predicate of the distance."""
        return [(DISTANCES[self.distance], float(self.t), 0.0)]

    def would_admit(self, size: int, counts: NDArray[np.int64], attribute: Sensitive | None) -> str:
        """Return the smallest t."""
        assert attribute is not None
        levels = sensitive_levels(attribute)
        value = predicates.distance(DISTANCES[self.distance], counts, size, attribute.q, levels)
        return f"feasible from t={_up(value)}"


@dataclass(frozen=True)
class DeltaDisclosure(Requirement):
    """|ln(p/q)| < delta for every group and every sensitive value (Brickell & Shmatikov 2008).

    A value of the table that is absent from a group is infinite; `absent="ignore"` compares only present values, and
    then the union of two admitted groups may not be admitted.
    """

    delta: Annotated[float, Option(more_than=0)]
    """The bound of |ln(p/q)| for every group and value."""

    absent: Annotated[Literal["infinite", "ignore"], Option()] = "infinite"
    """Whether a value that is absent from a group is infinitely far, or ignored."""

    on: On = None
    name: ClassVar[str] = "delta-disclosure"

    def rule_in_words(self, group: str = "group") -> str:
        """Return in words the factor by which shares may differ from the table's."""
        extra = "" if self.absent == "infinite" else t("notice.values_absent_from_not", group=group)
        times = t("notice.times_frequent_rare", exp=math.exp(self.delta))
        return t("notice.no_table_requirement", value=self._value, times=times, group=group, extra=extra)

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Whether it survives merging: only if absent values count."""
        return self.absent == "infinite"

    def rules(self) -> Sequence[Rule]:
        """List the one predicate of the reading."""
        kind = predicates.DELTA if self.absent == "infinite" else predicates.DELTA_PRESENT
        return [(kind, float(self.delta), 0.0)]

    def would_admit(self, size: int, counts: NDArray[np.int64], attribute: Sensitive | None) -> str:
        """Return the bound of delta."""
        assert attribute is not None
        value = predicates.largest_log_ratio(counts, size, attribute.q, self.absent == "infinite")
        return t("notice.value_table_absent") if math.isinf(value) else f"feasible above delta={_up(value)}"


@dataclass(frozen=True)
class BetaLikeness(Requirement):
    """No sensitive value is much more frequent in a group than in the table (Cao & Karras 2012).

    basic: (p - q)/q <= beta; enhanced: (p - q)/q <= min(beta, -ln q).
    """

    beta: Annotated[float, Option(more_than=0)]
    """How much more frequent, relatively, a value may be in a group."""

    variant: Annotated[Literal["basic", "enhanced"], Option()]
    """(p - q)/q at most beta, or at most the smaller of beta and -ln q."""

    on: On = None
    name: ClassVar[str] = "beta-likeness"
    example: ClassVar[str | None] = "beta-likeness beta=2 variant=basic (or enhanced)"

    def most_shares(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest share that every value may have in a group, given its share in the table."""
        gain = np.full(len(q), float(self.beta))
        most: NDArray[np.float64] = q * (1 + (gain if self.variant == "basic" else np.minimum(gain, -np.log(q))))
        return most

    def rule_in_words(self, group: str = "group") -> str:
        """Say by which factor a value may be more frequent than in the table."""
        extra = "" if self.variant == "basic" else t("notice.frequent_values_less")
        return t("notice.no_more_than_times", value=self._value, beta=1 + self.beta, group=group, extra=extra)

    def rules(self) -> Sequence[Rule]:
        """List the one predicate of the variant."""
        return [(predicates.BETA if self.variant == "basic" else predicates.BETA_ENHANCED, float(self.beta), 0.0)]

    def would_admit(self, size: int, counts: NDArray[np.int64], attribute: Sensitive | None) -> str:
        """Name the smallest beta."""
        assert attribute is not None
        value = predicates.largest_gain(counts, size, attribute.q)
        return f"feasible from beta={_up(value)}" + ("" if self.variant == "basic" else " with variant=basic")


@dataclass(frozen=True)
class AlphaK(Requirement):
    """At least k records, and no sensitive value with a share above alpha (Wong et al. 2006, general form)."""

    alpha: Annotated[float, Option(more_than=0, most=1)]
    """The largest share of a sensitive value in a group."""

    k: Annotated[int, Option(least=1)]
    """How many records every group has at least."""

    on: On = None
    name: ClassVar[str] = "alpha-k"

    def rule_in_words(self, group: str = "group") -> str:
        """Describe how large groups are, and which share a value may have."""
        share = percent(self.alpha, 3)
        return t("notice.every_least_records_no", group=group, k=self.k, value=self._value, share=share)

    def words_of_persons(self) -> str:
        """Describe how many persons groups have, and how many of them may have a value."""
        persons, share = t("notice.every_group_least_different", k=self.k), percent(self.alpha, 3)
        return t("notice.no_more_than_them", persons=persons, value=self._value, share=share)

    def strengthen(self, measures: Mapping[str, float], by_sensitive: Mapping[str, Mapping[str, float]]) -> Requirement:
        """Take the size of the smallest group, and the largest share of a value."""
        own = by_sensitive.get(self.on or next(iter(by_sensitive), ""), {})
        share = math.ceil(1000 / own["l_frequency"]) / 1000 if "l_frequency" in own else 1.0
        size = int(measures.get("smallest_group", 0))
        return replace(self, alpha=min(self.alpha, share), k=max(self.k, size))

    def rules(self) -> Sequence[Rule]:
        """List the two predicates: the size and the largest share."""
        return [(predicates.SIZE, float(self.k), 0.0), (predicates.FREQUENCY, float(self.alpha), 0.0)]

    def would_admit(self, size: int, counts: NDArray[np.int64], attribute: Sensitive | None) -> str:
        """Name the largest k and the smallest alpha."""
        return t("notice.feasible_up_from_alpha", size=size, up=_up(counts.max() / size))


REQUIREMENTS: list[type[Requirement]] = [
    KAnonymity,
    LDiversity,
    TCloseness,
    DeltaDisclosure,
    BetaLikeness,
    AlphaK,
]


def requirement(text: str) -> Requirement:
    """Read a requirement from its text form, parts joined by `&`.

    >>> str(requirement("k-anonymity k=10 & t-closeness t=0.20 distance=js"))
    'k-anonymity k=10 & t-closeness t=0.2 distance=js'
    """
    if not text.replace("&", "").strip():
        raise refusal("empty_requirement", text=text)
    parts = [parse(part, REQUIREMENTS, "requirement") for part in split_outside_quotes(text, "&")]
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def with_stronger_parts(wanted: Requirement, asked: Sequence[Requirement], kept: str | None) -> Requirement:
    """Replace the requested parts by those that were found to be satisfied (`kept`)."""
    stronger = {} if kept is None else dict(zip(map(str, asked), requirement(kept).parts, strict=True))
    parts = tuple(stronger.get(str(part), part) for part in wanted.parts)
    return parts[0] if len(parts) == 1 else All(parts)


def sensitive_levels(attribute: Sensitive) -> NDArray[np.int64]:
    """Return the node above every occurring value at every level of its hierarchy."""
    return attribute.hierarchy.ancestors[:, attribute.leaves].astype(np.int64)


def _compiled(rules: Sequence[Rule], places: Sequence[int], sensitive: tuple[Sensitive, ...]) -> Rules:
    starts = spans_of(sensitive)
    shares = [attribute.q for attribute in sensitive]
    heights = [attribute.hierarchy.height for attribute in sensitive]
    levels = np.zeros((max(heights, default=0) + 1, int(starts[-1])), dtype=np.int64)
    for attribute, start in zip(sensitive, starts[:-1], strict=True):
        attribute_levels = sensitive_levels(attribute)
        levels[: len(attribute_levels), start : start + attribute.size] = attribute_levels
    known = [place >= 0 for place in places]
    return Rules(
        np.array([kind for kind, _, _ in rules], dtype=np.int64),
        np.array([starts[place] if ok else 0 for place, ok in zip(places, known, strict=True)], dtype=np.int64),
        np.array([starts[place + 1] if ok else 0 for place, ok in zip(places, known, strict=True)], dtype=np.int64),
        np.array([[first, second] for _, first, second in rules], dtype=np.float64).reshape(-1, 2),
        np.concatenate(shares) if shares else np.zeros(0),
        levels,
        np.array([heights[place] if ok else 0 for place, ok in zip(places, known, strict=True)], dtype=np.int64),
    )


def _down(value: float) -> str:
    return write_number(math.floor(value * 1000) / 1000)


def _up(value: float) -> str:
    return write_number(math.ceil(value * 1000) / 1000)
