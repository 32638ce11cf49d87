"""Every measure as a sentence with its value in it, for a person who knows no formula: said here, and nowhere else.

A sentence is true for every value that a measure can have: none, all, infinite. It names the column it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import ceil, exp, floor, inf, isfinite, isnan, log

from sfumato.data.reading import Unit
from sfumato.measures.all_measures import ESTIMATORS, MEASURES
from sfumato.report.kinds import words_of
from sfumato.texts.format import (
    EVEN,
    at_most,
    beside,
    counted,
    either,
    listed,
    more_often,
    number,
    off_by,
    one_in,
    percent,
    times,
    worst_share,
)
from sfumato.tradeoff.map import Map

ROUNDED = "or better: rounded to the worse side"


@dataclass(frozen=True)
class Subject:
    """What sentences are about: what is known of the table or the baskets beside a release."""

    sensitive: tuple[str, ...] = ()
    target: str = "a column"
    """The column that classifiers learn."""

    records: int | None = None
    support: float | None = None
    """The least share of records that makes a population large."""

    known: str = "what an attacker may know of"
    """Of baskets: which items of a person an attacker knows."""

    below: int | None = None
    """Of baskets: fewer records than this that fit are too few."""

    surest: float = 1.0
    """The share of the records that the attacker guesses: those he is surest of."""

    are_bounds: bool = False
    """Whether the values were rounded to the worse side."""

    unit: Unit = "records"
    """What was counted."""

    @staticmethod
    def of(map_: Map) -> Subject:
        """Read it from a map."""
        subject: Subject = words_of(map_.study).subject(map_)
        return subject

    @property
    def column(self) -> str:
        """The sensitive column, or one of several."""
        if len(self.sensitive) == 1:
            return self.sensitive[0]
        return f"value of {self.values_of}" if self.sensitive else "sensitive value"

    @property
    def values_of(self) -> str:
        """Whose values something is said of."""
        return either(self.sensitive) if self.sensitive else self.column

    def of_columns(
        self, measures: Mapping[str, float], by_sensitive: Mapping[str, Mapping[str, float]]
    ) -> list[tuple[Subject, Mapping[str, float]]]:
        """Return each sensitive column with its own measures; all together where nothing is known of each."""
        if len(self.sensitive) < 2 or not by_sensitive:
            return [(self, measures)]
        shared = {name: measures[name] for name in ("suppressed",) if name in measures}
        return [(replace(self, sensitive=(name,)), {**shared, **own}) for name, own in by_sensitive.items()]

    def worst_column(
        self, name: str, measures: Mapping[str, float], by_sensitive: Mapping[str, Mapping[str, float]]
    ) -> tuple[Subject, Mapping[str, float]]:
        """Return the column that has the worst value of a measure, with its own measures."""
        columns = self.of_columns(measures, by_sensitive)
        worst = min if MEASURES[name].better == "higher" else max
        known = [(own[name], i) for i, (_, own) in enumerate(columns) if name in own and not isnan(own[name])]
        return columns[worst(known)[1]] if known else (self, measures)


def sentence(name: str, value: float, subject: Subject, baseline: float | None = None) -> str:
    """Say a measure with its value; `baseline` is how often a guess is right without the data, where that is known.

    >>> sentence("prosecutor", 0.05, Subject())
    'The record that is easiest to find is found at most 1 time in 20.'
    >>> sentence("attack_accuracy", 0.31, Subject(("occupation",)), 0.13)
    "An attacker's guess about a record's occupation is right 31 times in 100, 13 without the data."
    """
    if isnan(value):
        return f"{MEASURES[name].meaning[:1].upper()}{MEASURES[name].meaning[1:]}: not known."
    if name in GUESSES:
        text = _guess(name, value, subject, baseline)
    elif name in SAYINGS:
        sayings = SAYINGS_OF_PERSONS if subject.unit == "persons" and name in SAYINGS_OF_PERSONS else SAYINGS
        text = sayings[name].text(name, value, subject)
    else:
        text = f"{MEASURES[name].meaning}: {number(value)}"
    end = f" ({ROUNDED})." if subject.are_bounds and name not in PROMISED and value > EVEN else "."
    return f"{text[:1].upper()}{text[1:]}{end}"


PROMISED = ("k", "itemset_risk", "protected_risk")
"""What a public page says as it was promised, without rounding."""


def sentences(
    measures: Mapping[str, float], subject: Subject, by_sensitive: Mapping[str, Mapping[str, float]] | None = None
) -> dict[str, str]:
    """Say every measure; of several sensitive columns, of the one that has the worst value."""
    said = {}
    for name, value in measures.items():
        about, own = subject.worst_column(name, measures, by_sensitive or {})
        said[name] = sentence(name, value, about, guess_without(name, own, about))
    return said


def guess_without(name: str, measures: Mapping[str, float], subject: Subject) -> float | None:
    """Return how often a guess is right that always takes the table's commonest value; None where that is not known.

    It is known where one column is guessed. Of published records alone it is the same only where these are all.
    """
    if name == "definetti_accuracy" and measures.get("suppressed"):
        return None
    accuracy, breach = measures.get("attack_accuracy"), measures.get("empirical_breach")
    if len(subject.sensitive) != 1 or not accuracy or breach is None:
        return None
    return accuracy / (1 + breach)


# -- guesses -----------------------------------------------------------------------------------------------

GUESSES = {
    "a_acc": "A guess by the group of a published record about its {}",
    "attack_accuracy": "An attacker's guess about a record's {}",
    "definetti_accuracy": "A guess about a published record's {} by somebody who learns across groups",
}
"""Who guesses a sensitive value."""


def guess_share(name: str, value: float, baseline: float | None) -> float | None:
    """Return how often a guess is right: itself, or what it adds to the baseline."""
    if name != "a_acc":
        return value
    return None if baseline is None else min(max(baseline + value, 0.0), 1.0)


def _guess(name: str, value: float, subject: Subject, baseline: float | None) -> str:
    who, share = GUESSES[name].format(subject.column), guess_share(name, value, baseline)
    if name == "attack_accuracy" and subject.surest < 1:
        who += f", of the {percent(subject.surest, 3)} of the records he is surest of,"
    if share is None:
        return f"{who} is right {more_often(value)} without the quasi-identifiers"
    return f"{who} is right {times(share) if baseline is None else beside(share, baseline)}"


# -- one for each ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Saying:
    """The sentence of a measure without capital and full stop, and what is said where a value stands out."""

    usual: str
    none: str = ""
    """Of nothing at all: 0."""

    one: str = ""
    """Of 1 or less, where that is an end of the range."""

    infinite: str = ""
    turned: Callable[[float], float] = float
    """What is said in place of the value: of a usefulness, the error it is worked out from."""

    def text(self, name: str, given: float, subject: Subject) -> str:
        """Fill in a value."""
        value = self.turned(given)
        is_none = value == -inf or (MEASURES[name].least >= 0 and value <= EVEN)
        if self.none and is_none:
            return self.none.format_map(Filling(value, subject))
        if self.one and value <= 1:
            return self.one.format_map(Filling(value, subject))
        if self.infinite and value == inf:
            return self.infinite.format_map(Filling(value, subject))
        return self.usual.format_map(Filling(value, subject))


class Filling(dict[str, str]):
    """What can be filled into a sentence: a value in many ways, and what it is about."""

    def __init__(self, value: float, subject: Subject) -> None:
        super().__init__(column=subject.column, values_of=subject.values_of, target=subject.target, known=subject.known)
        self.value, self.subject = value, subject

    def __missing__(self, name: str) -> str:
        return FILLINGS[name](self.value, self.subject)


def _share(value: float) -> str:
    return percent(min(value, 1.0)) if isfinite(value) else number(value)


def _number(value: float) -> str:
    """Write a number with three digits, or with all before its point."""
    return number(value, max(3, len(f"{abs(value):.0f}")) if isfinite(value) and abs(value) < 1e15 else 3)


def _count(value: float, noun: str) -> str:
    return counted(round(value), noun) if isfinite(value) else f"infinitely many {noun}s"


def _large(value: float, subject: Subject) -> str:
    return "large groups" if subject.support is None else f"groups of {percent(subject.support, 3)} and more"


def _of_records(value: float, subject: Subject) -> str:
    if not subject.records or not isfinite(value):
        return ""
    return f" of {subject.records:,} ({percent(value / subject.records)})"


def _alike(value: float, subject: Subject) -> str:
    """Say how many pairs of records are in one group; of a table whose size is known, how large the average one's is.

    In a bucket records do not look the same.
    """
    if not subject.records:
        return f"{number(value)} pairs of records are in one group, each with itself included"
    size = _number(value / subject.records)
    return f"the average record is in a group of {size}, if one that is left out counts as in a group of all"


FILLINGS: Mapping[str, Callable[[float, Subject], str]] = {
    "number": lambda value, subject: _number(value),
    "share": lambda value, subject: _share(value),
    "size": lambda value, subject: _share(abs(value)) if abs(value) <= 1 else f"{number(100 * abs(value), 3)} %",
    "more": lambda value, subject: "more" if value > 0 else "less",
    "of_most": lambda value, subject: f"{_share(value / log(2))} of the most there can be",
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
    "values": lambda value, subject: _count(value, "different value"),
    "rank": lambda value, subject: _number(value),
    "factor": lambda value, subject: _number(1 + value),
    "ratio": lambda value, subject: number(ceil(100 * exp(min(value, 300)) - 1e-6) / 100, 6),
    "large": _large,
    "of_records": _of_records,
    "alike": _alike,
    "left": lambda value, subject: "is" if value == 1 else "are",
    "few": lambda value, subject: "too few" if subject.below is None else f"fewer than {subject.below}",
    "item": lambda value, subject: listed(subject.sensitive) if subject.sensitive else "a sensitive item",
}
"""By name, how a value is filled in."""


def _error(usefulness: float) -> float:
    """Return the error that a usefulness is one over."""
    return 0.0 if usefulness == inf else inf if usefulness <= 0 else 1 / usefulness


def _bounded_error(usefulness: float) -> float:
    """Return the error of which 1 more is one over a usefulness."""
    return inf if usefulness <= 0 else max(1 / usefulness - 1, 0.0)


def _off(what: str, how: str = "{off}, on average", turned: Callable[[float], float] = float) -> Saying:
    return Saying(f"{what} are off by {how}", f"{what} are exact", turned=turned)


def _learned_of(whom: str, how: str = "{of_most}") -> Saying:
    """Speak of a Jensen-Shannon divergence: its most is ln 2."""
    about = f"is learned of {{values_of}} about {whom}"
    return Saying(f"{how} {about}", f"nothing {about}")


def _distribution(reader: str) -> Saying:
    what = f"what {reader} of {{values_of}} in {{large}} of the records is"
    return Saying(f"{what} off by {{of_most}}, on average", f"{what} exact")


def _lost(to: str) -> Saying:
    what = "of what the quasi-identifiers say is lost"
    return Saying(f"{{share}} {what}{to}, on average", f"nothing {what}{to}")


def _found_by(which: str) -> Saying:
    who = "who knows {known} a person finds"
    return Saying(f"{who} the record {{one_in}}{which}", f"{who} no record")


def _marginal(columns: str) -> Saying:
    as_in = f"for {columns} to be distributed as in the table"
    return Saying(
        f"{{share}} of the records would need other values {as_in}, on average", f"no record is amiss {as_in}"
    )


def _advantage(attack: str) -> Saying:
    """Speak of an attack: the part of its failures against records outside the table that it turns into successes."""
    strangers = "against records that are not in the table"
    return Saying(
        f"{attack} succeeds {{share}} of the way from what it reaches {strangers} to certainty",
        f"{attack} does no better than {strangers}",
    )


def _told_apart(who: str) -> Saying:
    """Speak of a pMSE: its most is 1/4."""
    return Saying(f"{who} to {{share}} of the most there can be", f"{who} not at all", turned=lambda pmse: 4 * pmse)


COUNTS, ITEM_COUNTS = "counts of records by quasi-identifiers and sensitive value", "counts of records with some items"
BOTH_COUNTS = "counts of records by quasi-identifiers and items"
STANDS_OUT = "in the group that stands out most,"
NO_MORE = "no more than {at_most} of the most there can be"
LIKE_TABLE = "every group looks like the whole table in {values_of}"
ALL_ALIKE = "in some group all records have the same {column}"
SAYINGS: Mapping[str, Saying] = {
    "k": Saying(
        "every record shares its quasi-identifiers with {other_records} or more",
        one="some record shares its quasi-identifiers with no other",
    ),
    "smallest_group": Saying("the smallest group has {records}"),
    "prosecutor": Saying("the record that is easiest to find is found {one_in}"),
    "record_linkage": Saying("who knows a record and takes the most similar published one for it is right {times}"),
    "marketer": Saying("the average record is found at most {times}"),
    "weighted_k": Saying("the average record is in a group of {number}"),
    "l_frequency": Saying("in the worst group {part} of the records have the same {column}", one=ALL_ALIKE),
    "l_distinct": Saying("every group has {values} of {values_of} or more", one=ALL_ALIKE),
    "l_entropy": Saying(
        "every group is at least as mixed in {values_of} as {mixed} equally common values", one=ALL_ALIKE
    ),
    "l_recursive": Saying(
        "in no group is the commonest {column} 3 times as common as those from the {rank}. commonest on together",
        one="in some group the commonest {column} is 3 times as common as all others together, or more",
    ),
    "t_equal": Saying(
        f"{STANDS_OUT} {{share}} of the records would need another {{column}} for it to look like the whole table",
        LIKE_TABLE,
    ),
    "t_ordered": Saying(
        f"{STANDS_OUT} {{column}} is {{share}} of the way from its first to its last value away from the table",
        LIKE_TABLE,
    ),
    "t_hierarchical": Saying(
        f"{STANDS_OUT} {{column}} is {{share}} of the way up its hierarchy away from the table", LIKE_TABLE
    ),
    "t_js": _learned_of("the most exposed record"),
    "p_loss": _learned_of("the most exposed record"),
    "p_loss_mean": _learned_of("the average record"),
    "p_loss_median": _learned_of("half of the records", NO_MORE),
    "p_loss_95": _learned_of("95 % of the records", NO_MORE),
    "delta": Saying(
        "no {column} is more than {ratio} times as common, or as rare, in a group as in the table",
        "every {column} is as common in every group as in the table",
        infinite="some {column} is absent from a group, so it is known that none of its records has it",
    ),
    "beta": Saying(
        "some {column} is {factor} times as common in a group as in the table",
        "no {column} is more common in a group than in the table",
    ),
    "a_know": Saying(
        "what is believed about the average record's {column} shifts by {share}",
        "nothing is learned of any record's {column} that the table's totals do not tell",
    ),
    "empirical_breach": Saying("the attack is right {size} {more} often than always guessing the commonest {column}"),
    "definetti_gain": Saying("who learns across groups guesses {column} right {more_often} by a record's group alone"),
    "information_gain": Saying(
        "a record's group tells {bits} bits of its {column}, on average",
        "a record's group tells nothing of its {column}",
    ),
    "u_loss": _distribution("the release says"),
    "u_loss_em": _distribution("somebody who learns across groups reads"),
    "query_error": _off(COUNTS),
    "query_error_em": _off(f"{COUNTS}, answered by who learns across groups,"),
    "query_error_median": _off(f"half of the {COUNTS}", "{off_at_most} or less"),
    "kl": Saying(
        "who takes the release for the truth needs {bits} more bits to describe a record",
        "the release tells how often every combination of values occurs",
        infinite="the release rules out combinations of values that the table has",
    ),
    "loss": _lost(""),
    "generalization_loss": _lost(" to ranges and sets"),
    "suppression_loss": _lost(" to records that are left out"),
    "discernibility": Saying("{alike}"),
    "average_group": Saying("a group has {number} records on average", one="every group is a single record"),
    "marginal_error_1": _marginal("a column"),
    "marginal_error_2": _marginal("two columns together"),
    "marginal_error_3": _marginal("three columns together"),
    "nist_score": Saying("by three columns together its records agree with the table's to {number} of 1,000"),
    "sample_equivalent": Saying("by two columns together it is as good as a random sample of {share} of the records"),
    "pmse": _told_apart("its records can be told from the table's, by all columns together,"),
    "pmse_tree": _told_apart("a decision tree can tell its records from the table's"),
    "correlation_error": Saying(
        "the association of two columns among its records is off by {number}, on average",
        "the association of any two columns among its records is exact",
    ),
    "interval_overlap": Saying(
        "confidence intervals of models overlap with those of the table's records by {share}, on average"
    ),
    "workload_accuracy": Saying("a classifier that learns {target} from the release is right {times}"),
    "workload_balanced": Saying("with every value of {target} given the same weight, the classifier is right {times}"),
    "workload_auc": Saying("of two records the classifier tells {times} which has a value of {target} and which not"),
    "workload_brier": Saying(
        "the classifier's chances for {target} are off by {number}: 0 is sure and right, 2 sure and wrong",
        "the classifier is always sure of {target}, and right",
    ),
    "utility_gain": Saying("a classifier learns {target} right {more_often} from the better trivial release"),
    "suppressed": Saying("{records}{of_records} {left} left out", "no record is suppressed"),
    "epsilon": Saying(
        "one record makes any outcome at most {ratio} times as likely, apart from delta where there is one",
        "nothing that is published depends on any one record",
        infinite="nothing bounds what one record does to the release",
    ),
    "attack_worst": _advantage("the worst attack that was tried"),
    "singling_out": _advantage("describing a record by several columns, so that the description fits no other,"),
    "singling_out_univariate": _advantage("describing a record by one column, so that the description fits no other,"),
    "linkability": _advantage("joining what two sources know of a record by way of the release"),
    "inference": _advantage("guessing {column} of a record from the nearest record of the release"),
    "membership": Saying(
        "who knows a record tells whether it was in the table {share} of the way from guessing to certainty",
        "who knows a record cannot tell better than by guessing whether it was in the table",
    ),
    "membership_auc": Saying("of a record in the table and one that is not, an attacker tells {times} which is which"),
    "membership_shadow": Saying(
        "whether an unusual record was in the table is told {share} of the way from guessing to certainty",
        "whether an unusual record was in the table is told no better than by guessing",
    ),
    "replicated_uniques": Saying(
        "{share} of the records that are unique in the table stand in the release as they are",
        "no record that is unique in the table stands in the release as it is",
    ),
    "protected_risk": Saying(
        "who knows a protected set of items of a person finds the record {one_in}",
        "who knows a protected set of items of a person finds no record",
    ),
    "itemset_risk": _found_by(""),
    "itemset_risk_99": _found_by(", by 99 % of such sets of items"),
    "itemset_risk_95": _found_by(", by 95 % of such sets of items"),
    "least_support": Saying(
        "{records} or more fit whatever is known of a person", infinite="no record fits what is known of a person"
    ),
    "match_least": Saying("in the attack {records} or more fit what is known of a person"),
    "match_median": Saying("in the attack {records} fit what is known of the median record"),
    "matched_below": Saying(
        "for {share} of the records attacked, {few} records fit what is known",
        "for no record that was attacked, {few} records fit what is known",
    ),
    "candidates": Saying("{records} or more fit the quasi-identifiers and what is known of a person's items"),
    "joint_match_least": Saying("in the attack by both {records} or more fit what is known of a person"),
    "joint_match_median": Saying("in the attack by both {records} fit what is known of the median record"),
    "joint_matched_below": Saying(
        "for {share} of the records attacked by both, {few} records fit what is known",
        "for no record that was attacked by both, {few} records fit what is known",
    ),
    "joint_query_error": _off(BOTH_COUNTS),
    "joint_query_error_median": _off(f"half of the {BOTH_COUNTS}", "{off_at_most} or less"),
    "rho": Saying("an attacker gets {share} sure that a record has {item}", "no record can be thought to have {item}"),
    "query_utility": _off(ITEM_COUNTS, turned=_error),
    "bounded_utility": _off(ITEM_COUNTS, turned=_bounded_error),
    "are": _off(ITEM_COUNTS),
    "are_median": _off(f"half of the {ITEM_COUNTS}", "{off_at_most} or less"),
    **{f"are_{name}": _off(f"{ITEM_COUNTS}, read as if {how},") for name, how in ESTIMATORS.items()},
    **{
        f"utility_{name}": _off(f"{ITEM_COUNTS}, read as if {ESTIMATORS[name]},", turned=_error)
        for name in ("half", "expanded")
    },
    "ncp": Saying(
        "an item leaves open {share} of all items on average; one that is left out, all of them",
        "every item is published as itself",
    ),
    "ul": Saying("the loss by publishing items as sets is {number}", "nothing is lost by publishing items as sets"),
    "ul_log2": Saying(
        "the loss by publishing items as sets is 2 to the power of {number}",
        "nothing is lost by publishing items as sets",
    ),
    "studies_supported": Saying(
        "the items of {number} of the named studies can be told from all others",
        "of none of the named studies can the items be told from all others",
    ),
    "items_suppressed": Saying("{share} of the items are published nowhere", "every item is published somewhere"),
    "occurrences_suppressed": Saying(
        "{share} of what the records hold is left out", "nothing that the records hold is left out"
    ),
}
"""By measure, its sentence."""


SAYINGS_OF_PERSONS: Mapping[str, Saying] = {
    "k": Saying(
        "at least {persons} are behind every combination of quasi-identifiers",
        one="a single person is behind some combination of quasi-identifiers",
    ),
    "prosecutor": Saying("the most exposed person has {share} of the records of a group"),
    "marketer": Saying("the average person has {share} of the records of a group"),
}
"""The sentences of measures that count persons where the table names them; all others count records."""
