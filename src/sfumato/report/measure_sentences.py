"""Sentences about measures with their values, for readers without formulas; all other texts use these.

A sentence is true for every value of a measure: zero, all, infinite. It names its column. Frequencies are whole
numbers: `31 times in 100, 13 without the data`. Rounding never produces "never" or "always", nor a frequency above the
one without the data if it is not above it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import ceil, exp, floor, inf, isfinite, isnan, log
from typing import TYPE_CHECKING

from sfumato.data.reading import Unit
from sfumato.measures.all_measures import MEASURES
from sfumato.release.changes import UNCHANGED
from sfumato.texts.catalogue import counted, either, ended, listed, number, percent, t, texts, worst_share

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map


BASES = (100, 1_000, 10_000, 100_000, 1_000_000)
"""Possible denominators of a frequency."""

NEAR = 0.05
"""The largest relative error of a rounded frequency, measured on the rarer side."""

EVEN = 1e-12
"""Shares closer than this are equal."""


def times(share: float) -> str:
    """Describe a frequency; "never" and "always" only if exact.

    >>> times(0.31), times(0.013), times(0), times(1), times(0.9996)
    ('31 times in 100', '13 times in 1,000', 'never', 'always', '9,996 times in 10,000')
    """
    if abs(share) < EVEN:
        return "never"
    if abs(share - 1) < EVEN:
        return "always"
    base = _base(share)
    if base is None:
        return t("chance.hardly_ever") if share < 0.5 else t("chance.nearly_always")
    return t("chance.in", many=_many(share, base), base=base)


def _base(share: float) -> int | None:
    """Return the smallest denominator with which a share is nearly a whole number."""
    room = NEAR * min(share, 1 - share)
    return next((base for base in BASES if abs(round(share * base) / base - share) <= room), None)


def _many(share: float, base: int) -> str:
    many = round(share * base)
    return "once" if many == 1 else t("chance.times", many=many)


def beside(share: float, other: float) -> str:
    """Describe a frequency and the one without the data, with the same denominator.

    >>> beside(0.31, 0.13), beside(0.231, 0.2309), beside(0.2, 0.3)[17:]
    ('31 times in 100, 13 without the data', '23 times in 100, hardly more than without the data', \
'no more often than without the data')
    """
    if share <= other + EVEN:
        return t("chance.no_more", times=times(share))
    base = max(_base(share) or BASES[-1], _base(other) or BASES[-1])
    if round(other * base) == round(share * base):
        return t("chance.hardly_more", times=times(share))
    if abs(share - 1) < EVEN:
        return t("chance.always_without", many=_many(other, base), base=base)
    return t("chance.without_data", many=_many(share, base), base=base, round=round(other * base))


def one_in(share: float) -> str:
    """Describe a risk that is one over a number of people.

    >>> one_in(0.05), one_in(1), one_in(0)
    ('at most 1 time in 20', 'for certain', 'never')
    """
    if share <= 0:
        return "never"
    many = floor(1 / share + 1e-6)  # a risk never reads as smaller than it is
    return t("chance.certain") if many <= 1 else t("chance.most_time", many=many)


def at_most(share: float) -> str:
    """Return a share as an upper bound, never rounded down.

    >>> at_most(0.1381), at_most(0.5), at_most(0.9996)
    ('13.9 %', '50.0 %', '100.0 %')
    """
    return f"{ceil(1000 * share - 1e-6) / 10:.1f} %"


def points(difference: float) -> str:
    """Return a difference of shares in percentage points."""
    return t("chance.percentage", value=number(abs(100 * difference), 2), value2=abs(100 * difference))


def more_often(gain: float) -> str:
    """Describe how much more or less often something happens."""
    if abs(gain) < EVEN:
        return t("chance.as_often")
    return t("chance.often_than", points=points(gain), more=t("chance.more") if gain > 0 else t("chance.less"))


def off_by(error: float) -> str:
    """Return a relative error: as a share, above 2 as a factor.

    >>> off_by(0.021), off_by(3.4), off_by(float("inf"))
    ('2.1 %', '3.4 times their truth', 'more than a number can express')
    """
    if not isfinite(error):
        return t("chance.more_than")
    return percent(error, 3) if 0.0005 < error < 2 else t("chance.times_their", error=number(error, 3))


@dataclass(frozen=True)
class Subject:
    """The subject of sentences: facts of the table or the baskets."""

    sensitive: tuple[str, ...] = ()
    target: str = "a column"
    """The column that classifiers learn."""

    records: int | None = None
    support: float | None = None
    """The least share of records of a large population."""

    known: str = "what an attacker may know of"
    """For baskets: the items of a person that an attacker knows."""

    below: int | None = None
    """For baskets: fewer matching records than this are too few."""

    surest: float = 1.0
    """The share of the records that the attacker guesses: those with the most certain guesses."""

    are_bounds: bool = False
    """Whether the values were rounded to the worse side."""

    unit: Unit = "records"
    """The counted unit."""

    @staticmethod
    def of(map_: Map) -> Subject:
        """Return the subject of a map."""
        from sfumato.report.data_summary import subject_of

        return subject_of(map_)

    @property
    def column(self) -> str:
        """The sensitive column, or one of several."""
        if len(self.sensitive) == 1:
            return self.sensitive[0]
        return t("sentence.value_of", names=self.sensitive) if self.sensitive else t("sentence.sensitive_value")

    @property
    def values_of(self) -> str:
        """The sensitive columns as text."""
        return either(self.sensitive) if self.sensitive else self.column

    def of_columns(
        self, measures: Mapping[str, float], by_sensitive: Mapping[str, Mapping[str, float]]
    ) -> list[tuple[Subject, Mapping[str, float]]]:
        """Return each sensitive column with its own measures; all together if these are unknown."""
        if len(self.sensitive) < 2 or not by_sensitive:
            return [(self, measures)]
        shared = {name: measures[name] for name in ("suppressed",) if name in measures}
        return [(replace(self, sensitive=(name,)), {**shared, **own}) for name, own in by_sensitive.items()]

    def worst_column(
        self, name: str, measures: Mapping[str, float], by_sensitive: Mapping[str, Mapping[str, float]]
    ) -> tuple[Subject, Mapping[str, float]]:
        """Return the column with the worst value of a measure, with its own measures."""
        columns = self.of_columns(measures, by_sensitive)
        worst = min if MEASURES[name].better == "higher" else max
        known = [(own[name], i) for i, (_, own) in enumerate(columns) if name in own and not isnan(own[name])]
        return columns[worst(known)[1]] if known else (self, measures)


def sentence(name: str, value: float, subject: Subject, baseline: float | None = None) -> str:
    """Return the sentence of a measure; `baseline` is the success rate of a guess without the data, if known.

    >>> sentence("prosecutor", 0.05, Subject())
    'The record that is easiest to find is found at most 1 time in 20.'
    >>> sentence("attack_accuracy", 0.31, Subject(("occupation",)), 0.13)
    "An attacker's guess about a record's occupation is right 31 times in 100, 13 without the data."
    """
    if isnan(value):
        return t("sentence.unknown", meaning=f"{MEASURES[name].meaning[:1].upper()}{MEASURES[name].meaning[1:]}")
    if name in GUESSES:
        text = _guess(name, value, subject, baseline)
    elif f"measure.{name}.usual" in texts():
        text = _said(name, value, subject)
    else:
        text = f"{MEASURES[name].meaning}: {number(value)}"
    end = t("sentence.rounded") if subject.are_bounds and name not in PROMISED and value > EVEN else "."
    return f"{text[:1].upper()}{text[1:]}{end}"


PROMISED = ("k", "itemset_risk", "protected_risk")
"""Promised measures, which a public page shows without rounding."""


def sentences(
    measures: Mapping[str, float], subject: Subject, by_sensitive: Mapping[str, Mapping[str, float]] | None = None
) -> dict[str, str]:
    """Return the sentences of all measures; with several sensitive columns, of the worst one."""
    said = {}
    for name, value in measures.items():
        about, own = subject.worst_column(name, measures, by_sensitive or {})
        said[name] = sentence(name, value, about, guess_without(name, own, about))
    return said


def guess_without(name: str, measures: Mapping[str, float], subject: Subject) -> float | None:
    """Return the success rate of guessing the table's most frequent value; None if unknown.

    It is known if one column is guessed. On the published records alone it is the same only if these are all. Guesses
    about persons in a group or at a point have other baselines.
    """
    if name == "definetti_accuracy" and measures.get("suppressed"):
        return None
    if subject.unit == "persons" and name != "attack_accuracy":
        return None
    accuracy, breach = measures.get("attack_accuracy"), measures.get("empirical_breach")
    if len(subject.sensitive) != 1 or not accuracy or breach is None:
        return None
    return accuracy / (1 + breach)


# -- guesses -----------------------------------------------------------------------------------------------

GUESSES = ("a_acc", "attack_accuracy", "definetti_accuracy")
"""Measures of the success rate of guesses."""


def guess_share(name: str, value: float, baseline: float | None) -> float | None:
    """Return the success rate of a guess: the measure, or the baseline plus the measure."""
    if name != "a_acc":
        return value
    return None if baseline is None else min(max(baseline + value, 0.0), 1.0)


def _guess(name: str, value: float, subject: Subject, baseline: float | None) -> str:
    of_persons = "_of_persons" * (subject.unit == "persons")
    who, share = t(f"guess.{name}{of_persons}", column=subject.column), guess_share(name, value, baseline)
    if name == "attack_accuracy" and subject.surest < 1:
        who += t(f"guess.surest{of_persons}", share=subject.surest)
    if share is None:
        return t("guess.gain", who=who, often=more_often(value))
    return t("guess.right", who=who, often=times(share) if baseline is None else beside(share, baseline))


# -- one for each ------------------------------------------------------------------------------------------


def _said(name: str, given: float, subject: Subject) -> str:
    """Fill a value into the sentence of a measure, or into the one of a special value."""
    value = TURNED.get(name, float)(given)
    ids = [f"measure_of_persons.{name}"] * (subject.unit == "persons") + [f"measure.{name}"]
    id = next(id for id in ids if f"{id}.usual" in texts())
    is_none = value == -inf or (MEASURES[name].least >= 0 and value <= EVEN)
    stands_out = {"none": is_none, "one": value <= 1, "infinite": value == inf}
    case = next((case for case, is_so in stands_out.items() if is_so and f"{id}.{case}" in texts()), "usual")
    return texts()[f"{id}.{case}"].format_map(Filling(value, subject))


class Filling(dict[str, str]):
    """The parameters of a sentence: the value in several formats, and the subject."""

    def __init__(self, value: float, subject: Subject) -> None:
        super().__init__(column=subject.column, values_of=subject.values_of, target=subject.target, known=subject.known)
        self.value, self.subject = value, subject

    def __missing__(self, name: str) -> str:
        return FILLINGS[name](self.value, self.subject)


def _share(value: float) -> str:
    return percent(min(value, 1.0)) if isfinite(value) else number(value)


def _number(value: float) -> str:
    """Format a number with three digits, or with all digits before the point."""
    return number(value, max(3, len(f"{abs(value):.0f}")) if isfinite(value) and abs(value) < 1e15 else 3)


def _count(value: float, noun: str) -> str:
    return counted(round(value), noun) if isfinite(value) else t("sentence.infinitely_many", noun=noun)


def _large(value: float, subject: Subject) -> str:
    return t("sentence.large" if subject.support is None else "sentence.large_from", share=subject.support)


def _of_records(value: float, subject: Subject) -> str:
    if not subject.records or not isfinite(value):
        return ""
    return t("sentence.of_records", records=subject.records, share=value / subject.records)


def _alike(value: float, subject: Subject) -> str:
    """Describe the number of pairs of records in one group; with a known table size, the average group size.

    In a bucketization the records of a bucket do not look the same.
    """
    if not subject.records:
        return t("sentence.pairs", pairs=value)
    return t("sentence.group_of", size=_number(value / subject.records))


FILLINGS: Mapping[str, Callable[[float, Subject], str]] = {
    "number": lambda value, subject: _number(value),
    "share": lambda value, subject: _share(value),
    "size": lambda value, subject: _share(abs(value)) if abs(value) <= 1 else f"{number(100 * abs(value), 3)} %",
    "more": lambda value, subject: t("sentence.more" if value > 0 else "sentence.less"),
    "of_most": lambda value, subject: t("sentence.of_most", share=_share(value / log(2))),
    "part": lambda value, subject: worst_share(1 / value),
    "at_most": lambda value, subject: at_most(min(value / log(2), 1)),
    "off_at_most": lambda value, subject: at_most(value) if isfinite(value) else off_by(value),
    "mixed": lambda value, subject: number(floor(100 * value + 1e-6) / 100 if isfinite(value) else value, 6),
    "times": lambda value, subject: times(value),
    "one_in": lambda value, subject: one_in(value),
    "off": lambda value, subject: off_by(value),
    "more_often": lambda value, subject: more_often(value),
    "bits": lambda value, subject: number(value / log(2), 3),
    "records": lambda value, subject: _count(value, "record"),
    "other_records": lambda value, subject: _count(value - 1, "other record"),
    "persons": lambda value, subject: _count(value, "different person"),
    "fitting": lambda value, subject: _count(1 / value, "different person"),
    "values": lambda value, subject: _count(value, "different value"),
    "rank": lambda value, subject: _number(value),
    "factor": lambda value, subject: _number(1 + value),
    "ratio": lambda value, subject: number(ceil(100 * exp(min(value, 300)) - 1e-6) / 100, 6),
    "large": _large,
    "of_records": _of_records,
    "alike": _alike,
    "left": lambda value, subject: t("sentence.is_are", count=value),
    "few": lambda value, subject: t("sentence.few" if subject.below is None else "sentence.fewer", below=subject.below),
    "item": lambda value, subject: listed(subject.sensitive) if subject.sensitive else t("sentence.sensitive_item"),
}
"""The formats of a value, by name."""


def _error(usefulness: float) -> float:
    """Return the error of which a usefulness is the inverse."""
    return 0.0 if usefulness == inf else inf if usefulness <= 0 else 1 / usefulness


def _bounded_error(usefulness: float) -> float:
    """Return the error e of a usefulness 1 / (1 + e)."""
    return inf if usefulness <= 0 else max(1 / usefulness - 1, 0.0)


TURNED: Mapping[str, Callable[[float], float]] = {
    "query_utility": _error,
    "utility_half": _error,
    "utility_expanded": _error,
    "bounded_utility": _bounded_error,
    "pmse": lambda pmse: 4 * pmse,  # its maximum is 1/4
}
"""Conversions of values in sentences: of a usefulness, to its error."""


ARROWS = "(^ higher is better, v lower is better)"
EXACT_VALUES = (
    "WARNING: the exact quasi-identifiers ARE in this file. It does not hide who is in the table; it only\n"
    "loosens the link to the sensitive values."
)


def measure_lines(
    measures: Mapping[str, float], sentences: Mapping[str, str] | None = None, columns: Mapping[str, str] | None = None
) -> list[str]:
    """Return the lines of measures in their usual order: name, value, better direction, sentence or meaning.

    `columns` names the column of a measure, in brackets.
    """
    meanings = {name: measure.meaning for name, measure in MEASURES.items()} | dict(sentences or {})
    meanings |= {name: f"{meanings[name]} ({column})" for name, column in (columns or {}).items() if name in meanings}
    return [
        f"  {name:22} {number(measures[name]):>12} {'^' if measure.better == 'higher' else 'v'} {meanings[name]}"
        for name, measure in MEASURES.items()
        if name in measures
    ]


def changes_sentence(changes: Mapping[str, str], suppressed: float = 0, records: int | None = None) -> str:
    """Describe the changes of each column, changed ones first, and the number of suppressed records.

    >>> changes_sentence({"ZIP": "to 2 digits", "sex": "unchanged", "birth": "by decade"}, 13, 1000)
    'ZIP to 2 digits; birth by decade; sex unchanged; 1.3 % of the records left out.'
    """
    changed = [f"{column} {what}" for column, what in changes.items() if what != UNCHANGED]
    same = [column for column, what in changes.items() if what == UNCHANGED]
    parts = changed + ([f"{listed(same)} {UNCHANGED}"] if same else [])
    if suppressed:
        some = percent(suppressed / records) + t("release.records") if records else counted(int(suppressed), "record")
        parts.append(t("release.left_out", some=some))
    return ended("; ".join(parts)) if parts else ""
