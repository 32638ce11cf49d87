"""Guessing the roles and hierarchies of a table's columns, for a person to correct.

Names and values are examined: a sample of the values for their kind, the whole column (counted by the engine) for their
number and range. A column is never guessed to be neutral, because publishing it unchanged must be a decision. An
unknown column is undecided, and undecided columns are not published. Descriptions show no value of an identifier and no
rare value of any other column.
"""

import datetime
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from math import inf, isfinite
from statistics import median
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from sfumato.config.documents import bundled_facts
from sfumato.config.options import check_whole
from sfumato.data import _column_names
from sfumato.data.hierarchies import automatic
from sfumato.data.hierarchies.notation import read_date, read_number
from sfumato.data.hierarchies.numeric import LARGEST
from sfumato.data.persons import looks_like_keys
from sfumato.data.reading import LOOKS
from sfumato.engines.protocol import ColumnFacts, DistinctValues, Engine
from sfumato.runtime.arrays import RedactedRepr
from sfumato.texts.catalogue import refusal, t

SAMPLE = 100_000
EXAMINED = 2_000
"""The number of distinct values that are examined."""

ALMOST = 0.95
"""The least share of distinct values of a column that differs in almost every record."""

TOO_FEW = 20
"""The number of records below which different values mean nothing."""

FEWEST_PERSONS = 4
"""The least number of different values of a code that may identify persons."""

MOST_QUASI = 10
MOST_SENSITIVE = 3
"""The most columns of these roles in a first study, which limits its time; the others are undecided."""

DOMINANT = 0.9
"""The largest share of one value in a preferred sensitive column."""

MANY_VALUES = 50
"""The most values of a preferred sensitive column: each is counted in every group."""

SAID = "you said so"

MOST_SENSITIVE_VALUES = 2_000
QUASI_LEAVES = 1_000
SENSITIVE_LEAVES = 20
FEWEST_OTHERS = 5
"""The least number of different numbers besides 9999 that it can be far from."""

OLDEST = 90
"""Ages from here on are one value in an age column, as in the rules for health data in the US."""

CERTAINLY_MISSING = frozenset(bundled_facts("column_names")["missing"]["anywhere"])
"""Texts that always mean missing, in any case."""

NOT_AVAILABLE = CERTAINLY_MISSING | set(bundled_facts("column_names")["missing"]["beside_numbers"])
"""Texts that mean missing among numbers or dates."""

MARKS = frozenset(bundled_facts("column_names")["missing"]["marks"])
"""Marks that are entered instead of a value."""

POSITIVE = re.compile(r"\+|pos", re.IGNORECASE)
"""If this occurs, a dash may mean the opposite."""

LONGER = 3
"""The word length above which NA among words is no code."""

NINES = re.compile(r"-?9{2,}")
"""Numbers that mean missing if they are far from all others."""

Entry = Mapping[str, object]


@dataclass(frozen=True, repr=False)
class Guess(RedactedRepr):
    """The guess about one column, with its reason."""

    public_fields: ClassVar[tuple[str, ...]] = ("column", "role", "type")

    column: str
    role: _column_names.Role | None
    """None: undecided."""

    type: str
    """A short description of its values."""

    reason: str
    hierarchy: Entry | None = None
    """The entry for `[table.hierarchy]`, if its role needs one."""

    advice: str = ""
    """The facts to check before the guess is used."""

    distinct: int = 0
    """The number of different values."""

    strength: int = 0
    """The strength of the evidence: 3 declared, 2 by its name, 1 by its values."""

    commonest: float = 0.0
    """The share of its most frequent value among the sampled records that have one."""

    missing: float = 0.0
    """The share of the records that have no value."""

    missing_texts: tuple[str, ...] = ()
    """Its texts that probably mean missing."""


@dataclass(frozen=True, eq=False, repr=False)
class SampledColumn(RedactedRepr):
    """An examined column: its name, facts of the whole column, the values of a sample."""

    name: str
    rows: int
    facts: ColumnFacts
    sampled: DistinctValues

    @cached_property
    def values(self) -> Sequence[str]:
        """The distinct values of the sample that are not missing."""
        return [value for value in self.sampled.values if value is not None]

    @cached_property
    def counts(self) -> Sequence[int]:
        """The number of sampled records of each of them."""
        counted = zip(self.sampled.values, self.sampled.counts.tolist(), strict=True)
        return [count for value, count in counted if value is not None]

    @property
    def usual_length(self) -> int:
        """The length of most of its texts."""
        lengths = Counter[int]()
        for value, count in zip(self.values, self.counts, strict=True):
            lengths[len(value)] += count
        return max(lengths, key=lambda length: (lengths[length], length))

    @cached_property
    def examined(self) -> Sequence[str]:
        """An evenly spaced selection of them, to be examined."""
        return self.values[:: -(-len(self.values) // EXAMINED) or 1]

    @cached_property
    def meaning(self) -> _column_names.ColumnMeaning | None:
        """The meaning of its name."""
        return _column_names.meaning_of(self.name)

    @cached_property
    def likeness(self) -> _column_names.Likeness | None:
        """The kind of its values."""
        return None if self.type in ("dates", "numbers") else _column_names.likeness_of(self.examined)

    @cached_property
    def type(self) -> str:
        """The type of its values."""
        facts = self.facts
        if facts.present == 0:
            return "empty"
        if facts.numbers == facts.present and _holds(facts.lowest) and _holds(facts.highest):
            return "numbers" if facts.decimals else "whole numbers"
        if facts.days == facts.present and facts.first and facts.last:
            return "dates" if (facts.last - facts.first).days < automatic.FINEST else "categories"
        if (
            facts.shortest == facts.longest
            and facts.distinct > automatic.FEW
            and automatic.looks_like_codes(self.examined)
        ):
            return "codes"
        return "text" if self.is_prose else "categories"

    @cached_property
    def is_prose(self) -> bool:
        """Whether many values are sentences."""
        words = [value.count(" ") + 1 for value in self.examined]
        return self.facts.distinct >= max(10, 0.1 * self.facts.present) and float(np.mean(words)) >= 5

    @property
    def share(self) -> float:
        """Distinct values per record."""
        return self.facts.distinct / max(self.facts.present, 1)

    @property
    def is_almost_unique(self) -> bool:
        """Whether nearly every record has a different value."""
        return self.facts.present >= TOO_FEW and self.share >= ALMOST

    @property
    def in_order(self) -> bool:
        """Whether its values are numbers or dates with a meaningful order."""
        nominal = self.meaning is not None and self.meaning.nominal and not _column_names.is_counted(self.name)
        return self.type in ("numbers", "dates") or (self.type == "whole numbers" and not nominal)

    @property
    def nearly(self) -> str:
        """Return the type of the column except for a few texts or the notation; empty if none."""
        if self.type not in ("categories", "codes") or self.facts.distinct <= automatic.FEW:
            return ""
        for what, look in LOOKS.items():
            if sum(look.fullmatch(value.strip()) is not None for value in self.examined) >= 0.9 * len(self.examined):
                return what
        return "numbers" if 0.95 * self.facts.present <= self.facts.numbers < self.facts.present else ""

    @property
    def missing_texts(self) -> tuple[str, ...]:
        """The texts that probably mean missing: words for it, and numbers such as 9999 far from all others."""
        facts = self.facts
        odd = facts.present - max(facts.numbers, facts.days)
        if odd == 0:
            return self._codes()
        texts = [value for value in self.values if not _is_plain(value)]
        if odd <= 0.9 * facts.present and all(text.strip().casefold() in NOT_AVAILABLE for text in texts):
            return (*texts, *self._codes())
        if odd <= 0.5 * facts.present and all(self._is_repeated_word(text) for text in texts):
            return (*texts, *self._codes())
        certain = [text for text in texts if text.strip().casefold() in CERTAINLY_MISSING]
        missing = (*certain, *_among_words([text for text in texts if text not in certain]))
        return missing if len(missing) < facts.distinct else ()

    def _is_repeated_word(self, text: str) -> bool:
        """Return whether a text without digits occurs in several records: among numbers or dates it means missing."""
        count = self.sampled.counts[self.sampled.values.index(text)]
        return bool(count > 1) and not any(map(str.isdigit, text))

    def _codes(self) -> tuple[str, ...]:
        """List numbers such as 9999 that are farther from all others than those are from each other."""
        numbers = {value: float(value) for value in self.values if automatic.looks_numeric([value])}
        nines = [value for value in numbers if NINES.fullmatch(value)]
        others = sorted(number for value, number in numbers.items() if value not in nines)
        if len(others) < FEWEST_OTHERS:
            return ()
        low, high = others[0], others[-1]
        return tuple(v for v in nines if min(abs(numbers[v] - low), abs(numbers[v] - high)) > high - low)

    @property
    def commonest(self) -> float:
        """The share of the most frequent value in the sample, of the records that have one."""
        counts = [int(n) for v, n in zip(self.sampled.values, self.sampled.counts, strict=True) if v is not None]
        return max(counts, default=0) / max(sum(counts), 1)

    def described(self) -> str:
        """Describe the values, with frequent ones only."""
        facts = self.facts
        lacking = self.rows - facts.present
        missing = t("notice.missing_records", lacking=lacking, rows=self.rows) if lacking else ""
        if self.type == "empty":
            return t("notice.no_value_all_guessing")
        if self.type == "dates" and facts.first and facts.last:
            first, last = _rounded_days(facts.first, facts.last)
            return t("notice.dates_between", year=first.year, year_2=last.year, missing=missing)
        if self.is_almost_unique:
            return t(
                "notice.different_records_guessing", distinct=facts.distinct, present=facts.present, missing=missing
            )
        if self.in_order and facts.distinct > automatic.FEW:
            span = automatic.rounded_span(
                _decimal(facts.lowest), _decimal(facts.highest), -facts.decimals, QUASI_LEAVES
            )
            return f"{self.type} between {span.lower:,f} and {span.end:,f}{missing}"
        frequent = self.frequent()
        count = f"{facts.distinct:,} {'value' if facts.distinct == 1 else 'values'}"
        if not frequent or facts.distinct > automatic.FEW:
            return f"{count}{missing}"
        others = facts.distinct - len(frequent)
        more = f" and {others} more" if others else ""
        return f"{count}: {', '.join(frequent)}{more}{missing}"

    def frequent(self) -> list[str]:
        """List up to five values of many records for display."""
        counted = [(-int(n), v) for v, n in zip(self.sampled.values, self.sampled.counts, strict=True) if v is not None]
        least = max(TOO_FEW, 0.01 * int(self.sampled.counts.sum()))
        often = [value for count, value in sorted(counted)[:5] if -count >= least]
        return [shown(value) for value in sorted(often, key=lambda value: (_number(value), value))]


def guess(
    engine: Engine, sample: int = SAMPLE, roles: Mapping[str, _column_names.Role] = MappingProxyType({})
) -> tuple[Guess, ...]:
    """Guess role and hierarchy of every column of a table from about `sample` of its rows.

    `roles` are decided roles by column; the others are guessed.
    """
    check_whole("sample", sample, least=1)
    columns = [look(engine, name, sample) for name in engine.columns]
    guesses = _limited([guess_column(column, roles.get(column.name), engine.origin) for column in columns])
    return tuple(replace(each, missing_texts=_missing_everywhere(each, columns, guesses)) for each in guesses)


def _missing_everywhere(of: Guess, columns: Sequence[SampledColumn], guesses: Sequence[Guess]) -> tuple[str, ...]:
    """Keep the texts that may mean missing in all columns: a number must be no value of another one."""
    others = [(column.values, guess_.missing_texts) for column, guess_ in zip(columns, guesses, strict=True)]
    return tuple(
        text
        for text in of.missing_texts
        if not (NINES.fullmatch(text) and any(text in values and text not in missing for values, missing in others))
    )


def _among_words(texts: Sequence[str]) -> list[str]:
    """List the texts among categories that probably mean missing: a dash, and NA among words that are no codes."""
    plain = {text: text.strip().casefold() for text in texts}
    words = [text for text, word in plain.items() if word not in NOT_AVAILABLE | MARKS]
    if len(words) < 2 or any(POSITIVE.match(word) or not any(map(str.isalnum, word)) for word in words):
        return []
    marks = NOT_AVAILABLE - {"none"} if median(map(len, words)) > LONGER else MARKS
    return [text for text, word in plain.items() if word in marks | MARKS]


def look(engine: Engine, name: str, sample: int) -> SampledColumn:
    """Examine one column."""
    return SampledColumn(name, engine.row_count, engine.facts(name), engine.sample(name, sample))


def guess_column(column: SampledColumn, role: _column_names.Role | None = None, origin: str = "the table") -> Guess:
    """Guess one column, unless its role is given: the first matching rule decides."""
    rules = (answer for rule in RULES if (answer := rule(column)) is not None)
    column_guess = _decided(column, role, origin) if role else next(rules, None)
    column_guess = column_guess or _undecided(column, column.described())
    return replace(
        column_guess,
        distinct=column.facts.distinct,
        missing_texts=column.missing_texts,
        commonest=column.commonest,
        missing=1 - column.facts.present / max(column.rows, 1),
    )


def _decided(column: SampledColumn, role: _column_names.Role, origin: str) -> Guess:
    """Return the guess for a decided role; raise if the column cannot have it."""
    if role in ("identifier", "neutral"):
        return Guess(column.name, role, column.type, SAID, strength=3)
    given = _coded(column, role, f"{SAID}; {column.described()}", 3)
    if given.role is None or column.facts.distinct == 0:
        reason = given.advice.removeprefix(f"{role}? ") or t("notice.no_value_all")
        raise refusal("column_cannot", origin=origin, name=column.name, role=role, reason=reason)
    return given


# -- the rules, in order ---------------------------------------------------------------------------------------------


def _nothing_in_it(column: SampledColumn) -> Guess | None:
    if column.facts.distinct == 0:
        return _undecided(column, t("notice.no_value_all_leave"))
    if column.facts.distinct == 1 and column.facts.present >= TOO_FEW:
        return _undecided(column, t("notice.same_value_every_record"))
    return None


def _named_identifier(column: SampledColumn) -> Guess | None:
    meaning = column.meaning
    if meaning is None or meaning.role != "identifier" or meaning.weak:
        return None
    if meaning.what == _column_names.NAME and column.type in ("numbers", "whole numbers", "dates"):
        return None
    if column.facts.distinct <= 3 and column.facts.present >= TOO_FEW:
        return _undecided(column, t("notice.named_like", what=meaning.what, described=column.described()))
    return _identifier(column, f"named like {meaning.what}; {_counted(column)}", 2)


def _like_an_identifier(column: SampledColumn) -> Guess | None:
    if column.likeness is not None and column.likeness.role == "identifier":
        return _identifier(column, t("notice.values_look_like", what=column.likeness.what), 1)
    if column.type == "text":
        return _identifier(column, t("notice.free_text"), 1)
    return None


def _numbers_persons(column: SampledColumn) -> Guess | None:
    """A code or number that several records share, named for persons or written like P0001."""
    repeats = FEWEST_PERSONS <= column.facts.distinct < column.facts.present
    written = column.facts.distinct >= TOO_FEW and len({_key_shape(value) for value in column.examined}) == 1
    told = _column_names.may_number_persons(column.name) or (written and _key_shape(column.examined[0]) is not None)
    otherwise = column.meaning is not None and column.meaning.role != "identifier"
    if not repeats or not told or otherwise or not looks_like_keys(column.examined):
        return None
    return _identifier(column, t("notice.code_several_records_share", counted=_counted(column)), 2)


def _key_shape(value: str) -> tuple[str, int] | None:
    """Return the letters and the number of digits of a code such as P0001; None for other texts."""
    code = re.fullmatch(r"([A-Za-z]{1,5}[-_]?)(\d{3,})", value.strip())
    return None if code is None else (code[1], len(code[2]))


def _a_day(column: SampledColumn) -> Guess | None:
    if column.type == "dates" or "dates" in column.nearly:
        named = column.meaning is not None and column.meaning.role == "quasi"
        what = (
            f"named like {column.meaning.what}" if column.meaning and named else t("notice.somebody_may_remember_day")
        )
        born = named and column.meaning is not None and column.meaning.what == "a birth"
        return _coded(column, "quasi", f"{what}; {column.described()}", 2 if born else 1)
    return None


def _named(column: SampledColumn) -> Guess | None:
    """A quasi-identifier or sensitive attribute by its name."""
    meaning = column.meaning
    if meaning is None or meaning.role == "identifier":
        return None
    reason = f"named like {meaning.what}; {column.described()}"
    if "comma" in column.nearly:
        advice = t("notice.name_column_decimal_comma", role=meaning.role, nearly=column.nearly)
        return _undecided(column, reason, advice)
    if not column.in_order and column.type == "categories" and column.is_almost_unique and column.facts.present >= 100:
        return _identifier(column, reason, 1)
    return _coded(column, meaning.role, reason, 2)


STRUCTURED: Mapping[str, tuple[_column_names.Role, str]] = {
    "icd": ("sensitive", "diagnoses"),
    "countries": ("quasi", "countries"),
    "education": ("quasi", "levels of education"),
}
"""The role suggested by values with a known structure, if the name of a column is unclear."""


def _like_something(column: SampledColumn) -> Guess | None:
    """A quasi-identifier or sensitive attribute by its values."""
    if column.likeness is not None and not column.is_almost_unique:
        return _coded(
            column,
            column.likeness.role,
            t("notice.values_look_like_guessing", what=column.likeness.what, counted=_counted(column)),
            1,
        )
    if column.type == "categories" and column.facts.distinct <= 3 * automatic.FEW:
        vocabulary = _column_names.vocabulary_of(column.values)
        if vocabulary is not None:
            return _coded(
                column,
                vocabulary[1],
                t("notice.values_look_like_3", vocabulary=vocabulary[0], described=column.described()),
                1,
            )
    structure = automatic.structure_of(column.name, column.values) if column.type == "categories" else None
    if structure is not None and structure in STRUCTURED and not column.is_almost_unique:
        role, what = STRUCTURED[structure]
        return _coded(column, role, t("notice.values_look_like_2", what=what, described=column.described()), 1)
    zeros = sum(value.startswith("0") for value in column.examined)
    five_digits = column.facts.longest == 5 and all(value.isdigit() for value in column.examined)
    if column.type == "codes" and five_digits and zeros and not column.is_almost_unique:
        return _coded(column, "quasi", t("notice.five_digits", counted=_counted(column)), 1)
    return None


def _different_everywhere(column: SampledColumn) -> Guess | None:
    weak = column.meaning is not None and column.meaning.weak
    if column.is_almost_unique and (
        column.type in ("categories", "codes") or (weak and column.type == "whole numbers")
    ):
        return _identifier(column, column.described(), 2 if weak else 1)
    if column.is_almost_unique and column.type == "whole numbers" and _is_a_count_of_rows(column.facts):
        return _identifier(column, t("notice.numbered_run", described=column.described()), 1)
    if weak and column.meaning and column.meaning.what == "a name" and column.share >= 0.3:
        return _identifier(column, t("notice.named_like_name", counted=_counted(column)), 1)
    if weak and column.facts.distinct > automatic.FEW:
        return _undecided(column, t("notice.identifier_if_stands_persons", counted=_counted(column)))
    return None


BY_WORD: tuple[bool | int, ...] = (-3,)
"""The rank of a decided column."""

RULES: tuple[Callable[[SampledColumn], Guess | None], ...] = (
    _nothing_in_it,
    _named_identifier,
    _like_an_identifier,
    _numbers_persons,
    _a_day,
    _named,
    _like_something,
    _different_everywhere,
)


def _identifier(column: SampledColumn, reason: str, strength: int) -> Guess:
    return Guess(column.name, "identifier", column.type, reason, strength=strength)


def _undecided(column: SampledColumn, reason: str, advice: str = "") -> Guess:
    return Guess(column.name, None, column.type, reason, advice=advice)


def _coded(column: SampledColumn, role: _column_names.Role, reason: str, strength: int) -> Guess:
    """Return the guess for a role that needs a hierarchy; undecided if none can be built."""
    facts = column.facts
    ranges = column.type in ("numbers", "whole numbers", "dates")
    most = (
        MOST_SENSITIVE_VALUES
        if role == "sensitive"
        else automatic.MOST_CODES
        if column.type == "codes"
        else automatic.MOST_CATEGORIES
    )
    if role == "sensitive" and facts.distinct == 1:
        return _undecided(column, reason, t("notice.sensitive_value_only_nothing"))
    if not ranges and facts.distinct > most:
        advice = t("notice.texts_too_many", role=role, distinct=facts.distinct)
        return _undecided(column, reason, advice)
    entry, advice = _sensitive_entry(column) if role == "sensitive" else _quasi_entry(column)
    return Guess(column.name, role, column.type, reason, entry, advice, strength=strength)


def _limited(guesses: Sequence[Guess]) -> tuple[Guess, ...]:
    """Make surplus columns of a first study undecided: those with the least evidence and information."""
    kept: dict[int, Guess] = dict(enumerate(guesses))
    for role, most in (("quasi", MOST_QUASI), ("sensitive", MOST_SENSITIVE)):
        places = sorted((_rank(each), i) for i, each in kept.items() if each.role == role)
        for rank, i in places[most:]:
            if rank > BY_WORD:
                advice = t("notice.such_columns_enough_first", role=role, most=most)
                kept[i] = replace(kept[i], role=None, hierarchy=None, advice=advice)
    return tuple(kept[i] for i in range(len(guesses)))


def _rank(of: Guess) -> tuple[bool | int, ...]:
    """Return the sort key of columns of one role, those to keep first."""
    if of.strength >= 3:
        return BY_WORD
    says_little = of.role == "sensitive" and (of.commonest >= DOMINANT, of.distinct > MANY_VALUES)
    return -of.strength, of.missing > 0.5, *(says_little or (False, False))


# -- hierarchies ----------------------------------------------------------------------------------------------------


def _quasi_entry(column: SampledColumn) -> tuple[Entry, str]:
    facts = column.facts
    if column.type == "dates" and facts.first and facts.last:
        first, last = _rounded_days(facts.first, facts.last)
        levels = automatic.date_levels(*_years(column, first, last))
        return {"type": "dates", "first": first, "last": last, "levels": levels, "observed": True}, ""
    structure = automatic.structure_of(column.name, column.values)
    if structure is not None:
        return {"type": structure}, ""
    if _is_postal(column) and facts.longest > 1 and facts.distinct > 2:
        lengths = t("notice.characters_leading_zero_lost", shortest=facts.shortest, longest=facts.longest)
        advice = lengths if facts.shortest < facts.longest else ""
        return {"type": "prefixes", "keep": _kept(column.usual_length)}, advice
    if column.in_order and facts.distinct > 2:
        return _numeric_entry(column, QUASI_LEAVES, levels=True), ""
    return {"type": "flat"}, _flat_advice(column)


def _flat_advice(column: SampledColumn) -> str:
    if "dates" in column.nearly:
        return t("notice.say_dates_day_first", nearly=column.nearly)
    if "comma" in column.nearly:
        return t("notice.name_column_decimal_comma_point", nearly=column.nearly)
    if column.nearly:
        return t("notice.nearly_all", nearly=column.nearly)
    if column.facts.distinct > automatic.FEW:
        return t("notice.many_values_without_groups")
    return ""


def _sensitive_entry(column: SampledColumn) -> tuple[Entry, str]:
    if column.in_order and column.type != "dates" and column.facts.distinct > SENSITIVE_LEAVES:
        entry = _numeric_entry(column, SENSITIVE_LEAVES, levels=False)
        return entry, t("notice.published_these_stretches")
    return {"type": "flat"}, ""


def _numeric_entry(column: SampledColumn, leaves: int, levels: bool) -> Entry:
    """Declare rounded bounds, a resolution, (for a quasi-identifier) round intervals, and long tails as one leaf."""
    core = _core(column)
    is_age = column.meaning is not None and column.meaning.what == "an age"
    entry = core.entry(leaves, levels)
    if is_age and core.low < OLDEST < entry["upper"] and core.high < 150:  # type: ignore[operator]
        entry = replace(core, high=Decimal(OLDEST - 1)).entry(leaves, levels)
        return entry | {"upper": OLDEST, "open_above": OLDEST}
    return entry


def _core(column: SampledColumn) -> automatic.Core:
    """Return the core of the sample with the ends of the whole column."""
    facts = column.facts
    ends = (_decimal(facts.lowest), _decimal(facts.highest))
    counted = zip(column.values, column.counts, strict=True)
    numbers = [(Decimal(value.strip()), n) for value, n in counted if automatic.looks_numeric([value])]
    known = int(not numbers)  # the ends of the whole column are included, but decide nothing
    core = automatic.Core.of(
        [*ends, *(number for number, _ in numbers)], [known, known, *(n for _, n in numbers)], automatic.FEW + 2
    )
    return replace(core, finer=core.finer or -facts.decimals < core.exponent)


def _years(column: SampledColumn, first: datetime.date, last: datetime.date) -> tuple[int, int]:
    """Return the range of years of nearly all days of the sample."""
    days = [(read_date(value), n) for value, n in zip(column.values, column.counts, strict=True)]
    years = [(datetime.date.fromordinal(int(day)).year, n) for day, n in days if isfinite(day)]
    return automatic.reach(*zip(*years, strict=True)) if years else (first.year, last.year)


def _is_postal(column: SampledColumn) -> bool:
    named = column.meaning is not None and column.meaning.what == "a postal code"
    like = column.likeness is not None and column.likeness.what == "British postcodes"
    short = column.facts.longest <= 12 and column.type in ("codes", "categories", "whole numbers")
    return short and (named or like or column.type == "codes")


def _kept(length: int) -> list[int]:
    """Return the numbers of leading characters in the levels of a code."""
    if length <= 4:
        return list(range(length - 1, 0, -1)) or [1]
    return [3, 2, 1] if length == 5 else [4, 2, 1]


def _rounded_days(first: datetime.date, last: datetime.date) -> tuple[datetime.date, datetime.date]:
    """Widen an interval of days to whole years, or to whole decades if it is long."""
    unit = 10 if last.year - first.year > 20 else 1
    start, end = first.year // unit * unit, last.year // unit * unit + unit - 1
    return datetime.date(max(start, 1), 1, 1), datetime.date(min(end, 9999), 12, 31)


# -- texts ----------------------------------------------------------------------------------------------------------


def shown(text: str, most: int = 40) -> str:
    """Return a text on one line, shortened, without control characters of a terminal."""
    plain = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    return plain if len(plain) <= most else f"{plain[: most - 3]}..."


def _counted(column: SampledColumn) -> str:
    return t("notice.different_records", distinct=column.facts.distinct, present=column.facts.present)


def _number(value: str) -> float:
    number = read_number(value)
    return number if isfinite(number) else inf


def _is_plain(value: str) -> bool:
    number = automatic.looks_numeric([value]) and value.strip().casefold() not in NOT_AVAILABLE
    return number or isfinite(read_date(value))


def _is_a_count_of_rows(facts: ColumnFacts) -> bool:
    assert facts.highest is not None and facts.lowest is not None
    return facts.highest - facts.lowest < 1.2 * facts.distinct


def _holds(number: float | None) -> bool:
    return number is not None and abs(number) <= LARGEST


def _decimal(number: float | None) -> Decimal:
    return Decimal(repr(number or 0.0))
