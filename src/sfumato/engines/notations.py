"""Notations of numbers and dates: detected from all values of a column, or declared.

`1.234,5`, `1'234.5` and `1 234,5` become numbers with a point, `31/12/1999` and `31-Dec-1999` become ISO dates. A
column is converted only if every value with a digit fits one notation. If two fit, as with `1.234` or `05/06/1999`
everywhere, other columns of the file may decide, or a declaration. The patterns mean the same in Python and in DuckDB.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from sfumato.texts.catalogue import t

BLANKS = " \t\u00a0"
"""Characters that are trimmed around values."""

SPACES = "'’ \u00a0\u2009\u202f"
"""Characters that only separate thousands."""

_WHOLE = "(0|[1-9][0-9]*)"
_POWER = "([eE][+-]?[0-9]+)?"
PLAIN = rf"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+){_POWER}"
COMMA = rf"[+-]?(({_WHOLE}|[1-9][0-9]{{0,2}}((\.[0-9]{{3}})+|([{SPACES}][0-9]{{3}})+))(,[0-9]+)?|,[0-9]+)"
POINT = (
    rf"[+-]?(({_WHOLE}|[1-9][0-9]{{0,2}}((,[0-9]{{3}})+|([{SPACES}][0-9]{{3}})+))(\.[0-9]*)?{_POWER}|\.[0-9]+{_POWER})"
)
EITHER = r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}"
"""Ambiguous: thousands, or three decimals."""

TIME = r"([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2})?( ?[AaPp][Mm])?)?"
TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S", " %I:%M %p", " %I:%M:%S %p", " %I:%M%p")
ISO = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}.*)?"

NumberStyle = Literal["comma", "point"]
DayOrder = Literal["day-first", "month-first"]


@dataclass(frozen=True)
class DateForm:
    """One notation of dates: its pattern, and DuckDB's formats by the order of day and month."""

    example: str
    pattern: str
    formats: Mapping[str, tuple[str, ...]]
    usual: DayOrder | None = None
    """The default order if no value decides it; None if there is no convention."""

    @property
    def ordered(self) -> bool:
        """Whether day and month could be confused."""
        return len(self.formats) > 1


def _parts(mark: str, usual: DayOrder | None = None) -> DateForm:
    pattern = rf"[0-9]{{1,2}}[{mark}][0-9]{{1,2}}[{mark}][0-9]{{4}}{TIME}"
    formats = {"day-first": (f"%d{mark}%m{mark}%Y",), "month-first": (f"%m{mark}%d{mark}%Y",)}
    return DateForm(f"31{mark}12{mark}1999", pattern, formats, usual)


DATE_FORMS = (
    _parts(".", "day-first"),  # dates with dots always have the day first
    _parts("/"),
    _parts("-"),
    DateForm("1999/12/31", rf"[0-9]{{4}}/[0-9]{{1,2}}/[0-9]{{1,2}}{TIME}", {"": ("%Y/%m/%d",)}),
    DateForm("1999.12.31", rf"[0-9]{{4}}\.[0-9]{{1,2}}\.[0-9]{{1,2}}{TIME}", {"": ("%Y.%m.%d",)}),
    DateForm(
        "31-Dec-1999",
        rf"([0-9]{{1,2}}[ -][A-Za-z]{{3,9}}[ -][0-9]{{4}}|[A-Za-z]{{3,9}} [0-9]{{1,2}}, [0-9]{{4}}){TIME}",
        {"": tuple(form for month in "bB" for form in (f"%d-%{month}-%Y", f"%d %{month} %Y", f"%{month} %d, %Y"))},
    ),
    DateForm("19991231", "(19|20)[0-9]{6}", {"": ("%Y%m%d",)}),
)

_NUMBERS = [re.compile(pattern) for pattern in (PLAIN, COMMA, POINT)]
_DATES = [re.compile(pattern) for pattern in (ISO, *(form.pattern for form in DATE_FORMS))]
_MEASURED = re.compile("|".join(f"(?:{pattern.pattern})" for pattern in (*_NUMBERS, *_DATES)))


def looks_measured(text: str) -> bool:
    """Return whether a text is a number or a date, in any notation."""
    return _MEASURED.fullmatch(text) is not None


def is_plain(texts: Iterable[str]) -> bool:
    """Return whether all numbers among texts are plain, and none is a date."""
    measured = [text for text in texts if looks_measured(text)]
    return all(map(_NUMBERS[0].fullmatch, measured)) and not (measured and all(map(_DATES[-1].fullmatch, measured)))


def is_iso(texts: Iterable[str]) -> bool:
    """Return whether all texts are ISO dates."""
    return all(map(_DATES[0].fullmatch, texts))


@dataclass(frozen=True)
class NumberCounts:
    """The numbers of values of one column by notation."""

    present: int
    words: int
    """Values without any digit: `k.A.`, `-`."""

    comma: int
    point: int
    both: int
    """Values that are numbers in either notation."""

    either_point: int
    either_comma: int
    """Those of them that are different numbers: `1.234`, `1,234`."""

    plain: int

    @property
    def are_numbers(self) -> bool:
        """Whether most values are numbers and the others are words."""
        numbers = self.comma + self.point - self.both
        return numbers + self.words == self.present and 2 * numbers >= self.present > 0

    @property
    def tells(self) -> NumberStyle | Literal["mixed", "unclear", "nothing"]:
        """Return the notation that the values themselves determine."""
        comma, point = self.comma > self.both, self.point > self.both
        if (comma and point) or (self.either_point and self.either_comma and not (comma or point)):
            return "mixed"
        if comma or point:
            return "comma" if comma else "point"
        return "unclear" if self.either_point or self.either_comma else "nothing"


def number_styles(
    counts: Mapping[str, NumberCounts], usual: Mapping[str, str], decimals: bool
) -> tuple[dict[str, NumberStyle], list[str]]:
    """Choose the notation of each column of numbers that needs one, with notices.

    `usual` decides for columns that do not, before other columns do; `decimals` is whether a plain column has decimal
    points.
    """
    numbers = {name: count for name, count in counts.items() if count.are_numbers}
    told = {count.tells for count in numbers.values()} | ({"point"} if decimals else set())
    common = "comma" if "comma" in told and "point" not in told else "point" if "point" in told else None
    common = None if {"comma", "point"} <= told else common
    styles: dict[str, NumberStyle] = {}
    notices = []
    for name, count in numbers.items():
        tells = count.tells
        if tells == "mixed":
            notices.append(t("engines.comma_and_point", name=name, flags=_flags(name)))
        elif tells == "unclear":
            style = usual.get(name, common)
            if style == "comma" or (style == "point" and count.either_comma):
                styles[name] = style  # type: ignore[assignment]
            notices.append(_unclear(name, count, style, name in usual))
        elif tells == "comma" or count.plain < count.present - count.words:
            styles[name] = "comma" if tells == "comma" else "point"
    return styles, [*_number_notices(styles, numbers), *notices]


def _unclear(name: str, count: NumberCounts, style: str | None, known: bool) -> str:
    """Describe both readings of an ambiguous column, and how to declare it."""
    written = "1.234" if count.either_point else "1,234"
    thousands = (style == "comma") == bool(count.either_point)
    taken = "1234" if thousands else "1.234"
    if style is None:
        reading = t("notice.read_notations") if count.either_point else t("notice.left_text")
    else:
        why = t("notice.table_mapping") if known else t("notice.other_columns_file_suggest")
        reading = t("notice.read", taken=taken, why=why)
    return t("engines.ambiguous_numbers", name=name, written=written, reading=reading, flags=_flags(name))


def _flags(name: str) -> str:
    return t("notice.decimal_comma_decimal_point", name=name)


def _number_notices(styles: Mapping[str, NumberStyle], counts: Mapping[str, NumberCounts]) -> list[str]:
    notices = []
    for style, example in (("comma", "1.234,5"), ("point", "1,234.5 or 1'234.5")):
        names = [name for name, own in styles.items() if own == style and counts[name].tells != "unclear"]
        if names:
            notices.append(t("notice.numbers_written_read", example=example, names=", ".join(map(repr, names))))
    return notices


@dataclass(frozen=True)
class DateCounts:
    """The numbers of values of one column that are dates of one form, and the largest of their two small numbers."""

    form: DateForm
    present: int
    words: int
    dates: int
    first: int
    second: int
    valid: Mapping[str, int]
    """By the order of day and month: the number of valid days."""

    @property
    def are_dates(self) -> bool:
        """Whether most values are dates of this form and the others are words."""
        return self.dates + self.words == self.present and 2 * self.dates >= self.present > 0

    def order(self, wanted: DayOrder | None) -> str | None:
        """Choose the order of day and month: by the values, the declaration, the convention; or none."""
        if not self.form.ordered:
            return ""
        if self.first > 12 or self.second > 12:
            return "day-first" if self.second <= 12 else "month-first" if self.first <= 12 else None
        return wanted or self.form.usual


def date_orders(
    counts: Mapping[str, DateCounts], wanted: DayOrder | None, usual: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Choose the order of day and month of each column of dates, with notices; `usual` decides if values do not."""
    orders: dict[str, str] = {}
    notices = []
    told: dict[tuple[str, str], list[str]] = {}
    for name, count in counts.items():
        if not count.are_dates:
            continue
        before: DayOrder | None = usual.get(name)  # type: ignore[assignment]
        order = count.order(wanted or (before if before in ("day-first", "month-first") else None))
        if order is None and count.first <= 12:
            notices.append(t("engines.ambiguous_dates", name=name, example=count.form.example[2]))
        elif order is None or count.valid[order] < count.dates:
            if count.form.example.isdecimal():
                continue  # numbers, some of which could be days
            notices.append(t("engines.dates_beside_texts", name=name, example=count.form.example))
        else:
            orders[name] = order
            told.setdefault((count.form.example, order), []).append(name)
    for (example, order), names in told.items():
        words = f" ({order.replace('-', ' ')})" if order else ""
        notices.append(
            t(
                "notice.dates_written_read",
                written=_written(example, order),
                words=words,
                names=", ".join(map(repr, names)),
            )
        )
    return orders, notices


def _written(example: str, order: str) -> str:
    mark = example[2]
    return f"12{mark}31{mark}1999" if order == "month-first" else example
