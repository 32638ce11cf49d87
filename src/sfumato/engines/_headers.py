"""The names of columns: whether a file begins with them, the blanks around them, and their errors.

A file is considered to have no header only if its first record looks like the others in every respect. A text above
numbers, or above texts that all occur again, is a name.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from sfumato.engines.notations import BLANKS, looks_measured
from sfumato.engines.protocol import Reading
from sfumato.errors import BadInputError
from sfumato.runtime.memory import check_columns
from sfumato.texts.catalogue import refusal, t

FEWEST = 5
"""The least number of further records with which the first is compared."""

LOOKED_AT = 1000
RENAME = "rename columns, name them all (--columns a,b,c), or give the row of the names (--header-row N)"


@dataclass(frozen=True)
class Header:
    """The names of columns, whether the file contains them, and notices."""

    names: tuple[str, ...]
    stands: bool
    notices: tuple[str, ...] = ()


def check_header_row(reading: Reading) -> None:
    """Raise unless the declared row of names is possible."""
    row, origin = reading.header_row, reading.origin
    if row is not None and row < 1:
        raise refusal("rows_counted_from", origin=origin, row=row)
    if row is not None and reading.header is False:
        raise refusal("header_row_says_names", origin=origin)


def find_header(rows: Sequence[Sequence[object]]) -> int:
    """Return the first row of names: titles above it have fewer than half as many cells as most rows."""
    filled = [sum(cell not in (None, "") for cell in row) for row in rows]
    usual = median(filled)
    return next((place for place, number in enumerate(filled) if number > 1 and 2 * number > usual), 0)


def name_titles(origin: str, titles: Sequence[Sequence[str | None]], row: int) -> str:
    """Report the row of the names, and the skipped titles above it."""
    texts = [cell for title in titles for cell in title if cell]
    shown = ", ".join(map(repr, texts[:2])) + (", ..." if len(texts) > 2 else "")
    above = t("notice.stands_above_left_out", shown=shown) if texts else ""
    return t("notice.row_holds_names_columns", origin=origin, row=row, above=above)


def header_of(
    origin: str, records: Sequence[Sequence[str]], given: bool | None, columns: Sequence[str], trims: bool
) -> Header:
    """Return the names of columns from the first records of a file; raise if they are unusable.

    `given` is whether there is a header, if declared; `columns` are declared names.
    """
    first, rest = records[0], records[1 : 1 + LOOKED_AT]
    check_columns(origin, max(map(len, records)))
    stands = given if given is not None else not _is_data(first, rest)
    notices = []
    if not stands and given is None:
        called = "" if columns else t("notice.columns_called_column")
        notices.append(t("engines.no_header", origin=origin, called=called))
    names = tuple(name.strip(BLANKS) if trims else name for name in first)
    if stands and names != tuple(first):
        notices.append(t("notice.blanks_around_names_columns", origin=origin, listed=_listed(names, first)))
    fields = Counter(len(record) for record in rest).most_common(1)[0][0] if rest else len(first)
    if columns:
        if len(columns) != max(fields, len(first)):
            raise refusal("names_given", origin=origin, columns=len(columns), first=max(fields, len(first)))
        names = tuple(columns)
    elif not stands:
        names = tuple(f"column{place}" for place in range(1, len(first) + 1))
    extra = 0 if columns else max(fields - len(names), 0)
    return Header(checked_header(origin, names, extra), stands, (*notices, *_oddities(origin, names)))


def _is_data(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Return whether the first record is certainly no header."""
    rest = [record for record in rest if len(record) == len(first)]
    if len(rest) < FEWEST or _is_a_scale(first):
        return False
    votes = 0
    for name, *values in zip(first, *rest, strict=True):
        vote = _vote(name.strip(BLANKS), [value.strip(BLANKS) for value in values])
        if vote < 0:  # mostly by the first columns
            return False
        votes += vote
    return 2 * votes >= len(first)


def _vote(name: str, values: Sequence[str]) -> int:
    """Vote by one column: 1 if its first value is like the others, -1 if it is a name, 0 if unknown."""
    present = [value for value in values if value]
    if not name or not present:
        return 0
    counts = Counter(present)
    measured = sum(count for value, count in counts.items() if looks_measured(value))
    if measured > len(present) / 2:
        return 1 if looks_measured(name) else -1 if measured == len(present) and name not in counts else 0
    if name in counts:
        return 1
    return -1 if all(count > 1 for count in counts.values()) else 0


def _is_a_scale(first: Sequence[str]) -> bool:
    """Return whether numbers in the first record are names such as 2019, 2020, 2021: whole, in equal steps."""
    numbers = [int(name) for name in first if name.strip().isdecimal()]
    steps = {later - earlier for earlier, later in pairwise(numbers)}
    return len(numbers) > 2 and len(steps) == 1 and steps != {0}


def checked_header(origin: str, names: tuple[str, ...], extra: int = 0, remedy: str = RENAME) -> tuple[str, ...]:
    """Return the names if there are any and all are different; `extra` fields of the rows have none."""
    if not names:
        raise refusal("no_column", origin=origin)
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names, start=1):
        places.setdefault(name, []).append(place)
    problems = [
        t("notice.column_stands", name=name, times=_times(len(where)), and_=_and(where))
        for name, where in places.items()
        if len(where) > 1
    ]
    if extra:
        fields = f"{extra} field{'s' if extra > 1 else ''}"
        problems.append(t("notice.rows_no_name", fields=fields, extra="have" if extra > 1 else "has", names=len(names)))
    if not problems:
        return names
    problems += _alike(places)
    raise BadInputError(f"{origin}: {'; '.join(problems)}; {remedy}")


def _oddities(origin: str, names: Sequence[str]) -> list[str]:
    """Describe suspicious names in a usable header."""
    places = {name: [place] for place, name in enumerate(names, start=1)}
    problems = _alike(places)
    if "" in places:
        problems.append(t("notice.column_empty_name", places=places[""][0]))
    return [t("notice.names_read_stand", origin=origin, problems="; ".join(problems))] if problems else []


def _alike(places: dict[str, list[int]]) -> list[str]:
    """List names that differ only in case and blanks."""
    alike: dict[str, list[str]] = {}
    for name in places:
        alike.setdefault("".join(name.split()).casefold(), []).append(name)
    return [
        t("notice.differ_case_blanks_only", and_=_and(list(map(repr, same))))
        for same in alike.values()
        if len(same) > 1
    ]


def _times(number: int) -> str:
    return "twice" if number == 2 else f"{number} times"


def _and(parts: Sequence[object]) -> str:
    *others, last = map(str, parts)
    return f"{', '.join(others)} and {last}"


def _listed(names: Sequence[str], written: Sequence[str]) -> str:
    changed = [repr(name) for name, before in zip(names, written, strict=True) if name != before]
    return ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
