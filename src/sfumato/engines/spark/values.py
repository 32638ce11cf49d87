"""The texts of values in Spark's SQL, as the protocol defines them: whatever the session's time zone or ANSI mode.

Nothing here asks for a function of Python: every text is an expression of SQL that the executors work out.
"""

import re
from collections.abc import Sequence

from sfumato.engines.protocol import LONG_FLOAT

SHORT = {"float": 6, "double": 15}
"""Up to so many digits all engines write a floating point number by the same ones."""

PLAIN_SCALE = 6
"""Decimals with more places than this Java writes with an exponent where they are small, unless in ANSI mode."""

WHOLE = ("tinyint", "smallint", "int", "bigint")
AS_CAST = (*WHOLE, "string", "boolean", "timestamp_ntz", "time")
"""Types, without their parameters, whose text is that of a cast."""

FLOATING = re.compile(r"-?[0-9]+\.[0-9]+|-?[0-9](\.[0-9]+)?e[+-][0-9]{2,3}|nan|-?inf")
"""The texts that floating point numbers have."""

TEXTS = {
    "boolean": re.compile("true|false"),
    "decimal": re.compile(r"-?[0-9]+(\.[0-9]+)?"),
    "date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "timestamp_ntz": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]+"),
    "timestamp": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]+\+00"),
}
"""The texts that values of other types have."""

DAY = 86_400_000_000
"""Microseconds."""


def literal(text: str) -> str:
    """Write a text as a literal, whatever the session says that a backslash means."""
    return f"decode(X'{text.encode().hex()}', 'UTF-8')"


def matches(text: str, pattern: str) -> str:
    """Write whether the whole of a text matches a pattern."""
    whole = literal(rf"^(?:{pattern})\z")
    return f"({text} RLIKE {whole})"


def has_text(kind: str) -> bool:
    """Return whether values of a type, named as in Spark, have a text of our definition."""
    return bare(kind) in (*AS_CAST, "decimal", "date", "timestamp", *SHORT)


def bare(kind: str) -> str:
    """Return a type's name without its parameters; texts are one type however long they may be, or how compared."""
    name = kind.partition("(")[0].partition(" collate")[0]
    return "string" if name in ("char", "varchar") else name


def missing_value(text: str, kind: str) -> str | None:
    """Write the value of a type that has a text which means a missing one; nothing where none has."""
    name = bare(kind)
    if name == "string":
        return literal(text)
    if name in WHOLE:
        return f"{text}L" if re.fullmatch(r"0|-?[1-9][0-9]{0,17}", text) else None
    if name in SHORT:
        return f"TRY_CAST({literal(text)} AS {name})" if FLOATING.fullmatch(text) else None
    fits = TEXTS.get(name)
    return f"TRY_CAST({literal(text)} AS {kind})" if fits and fits.fullmatch(text) else None


def text_of(column: str, kind: str, called: str = "") -> str:
    """Write the text of a value; a refused one is reported with the name of its column."""
    name, cast = bare(kind), f"CAST({column} AS STRING)"
    if name in SHORT:
        return _float_text(column, name, called)
    if name == "decimal" and int(kind.rstrip(")").rpartition(",")[2]) > PLAIN_SCALE:
        return f"replace(format_number({column}, {kind.rstrip(')').rpartition(',')[2]}), ',', '')"
    if name == "date":
        refused = f"CASE WHEN {column} IS NOT NULL THEN {_refusal(called, FAR)} END"
        return f"CASE WHEN year({column}) BETWEEN 1 AND 9999 THEN {cast} ELSE {refused} END"
    if name == "timestamp":
        return _instant_text(column, called)
    return cast


FAR = "a day before the year 1 or after 9999, which engines write in different ways; correct it"
"""The message about a refused value, raised when Spark meets it."""


def _refusal(called: str, why: str) -> str:
    return f"raise_error({literal(f'column {called!r} holds {why}')})"


def _instant_text(column: str, called: str) -> str:
    """Write an instant in UTC by whole numbers alone, which no zone of a session touches."""
    micros = f"unix_micros({column})"
    day = f"date_from_unix_date(CAST(({micros} - pmod({micros}, {DAY})) DIV {DAY} AS INT))"
    of_day = f"pmod({micros}, {DAY})"
    clock = [
        f"lpad(CAST({of_day} DIV {unit} % {size} AS STRING), 2, '0')"
        for unit, size in ((3_600_000_000, 24), (60_000_000, 60), (1_000_000, 60))
    ]
    fraction = f"lpad(CAST({of_day} % 1000000 AS STRING), 6, '0')"
    tail = f"CASE WHEN {of_day} % 1000000 = 0 THEN '' ELSE concat('.', rtrim('0', {fraction})) END"
    hours = ", ':', ".join(clock)
    text = f"concat({text_of(day, 'date', called)}, ' ', {hours}, {tail}, '+00')"
    return f"CASE WHEN {column} IS NOT NULL THEN {text} END"


# -- floating point numbers ------------------------------------------------------------------------------------


def _float_text(column: str, kind: str, called: str) -> str:
    """Write a floating point number by the fewest digits that give it back, laid out as Python does.

    Java's own text is that for most numbers; the others are taken apart. Of 32 bits, engines agree on short numbers
    only, so others are refused.
    """
    size, java = f"abs({column})", f"CAST(abs({column}) AS STRING)"
    short = f"{size} < 1e7D AND length({java}) <= {SHORT[kind] + 1}"
    sign = f"CASE WHEN CAST({column} AS STRING) LIKE '-%' THEN '-' ELSE '' END"
    return (
        f"CASE WHEN {column} IS NULL THEN NULL WHEN isnan({column}) THEN 'nan' "
        f"WHEN {size} >= 1e-3D AND {short} THEN CAST({column} AS STRING) "
        f"WHEN {java} = 'Infinity' THEN concat({sign}, 'inf') WHEN {size} = 0 THEN concat({sign}, '0.0') "
        f"ELSE concat({sign}, {_laid_out(java, size, kind, called)}) END"
    )


def let(name: str, value: str, body: str) -> str:
    """Write an expression in which a value that is used several times has a name."""
    return f"element_at(transform(array({value}), {name} -> {body}), 1)"


def _laid_out(java: str, size: str, kind: str, called: str) -> str:
    """Write a number by its digits: it is 0.DIGITS times ten to the power of `p`."""
    mantissa = f"substring_index({java}, 'E', 1)"
    power = f"CASE WHEN {java} LIKE '%E%' THEN CAST(substring_index({java}, 'E', -1) AS INT) ELSE 0 END"
    parts = _parts(f"replace({mantissa}, '.', '')", f"length(substring_index({mantissa}, '.', 1)) + {power}")
    bare = _parts("ltrim('0', r.d)", "r.p - length(r.d) + length(ltrim('0', r.d))")
    if kind == "float":
        short = f"length(rtrim('0', s.d)) <= {SHORT[kind]} AND s.p <= 7"
        shortest = f"CASE WHEN {short} THEN s ELSE {_refusal(called, LONG_FLOAT)} END"
    else:
        whole = f"CAST(CAST({size} AS BIGINT) AS STRING)"  # where Java has rounded already
        parts = f"CASE WHEN {size} BETWEEN 9e15D AND 9.22e18D THEN {_parts(whole, f'length({whole})')} ELSE {parts} END"
        shortest = f"coalesce({', '.join([*(_rounded(digits, size) for digits in (1, 15, 16, 17)), 's'])})"
    final = _parts("rtrim('0', f.d)", "f.p")
    return let("r", parts, let("s", bare, let("f", shortest, let("n", final, _digits()))))


def _parts(digits: str, power: str) -> str:
    return f"named_struct('d', {digits}, 'p', {power})"


def _rounded(digits: int, size: str) -> str:
    """Write `s` rounded to fewer digits: old versions of Java write more than there must be, and two at least."""
    unit = f"CAST(rpad('1', length(s.d) - {digits} + 1, '0') AS DECIMAL(20, 0))"
    text = f"CAST(CAST(CAST(s.d AS DECIMAL(20, 0)) + {unit} DIV 2 AS DECIMAL(20, 0)) DIV {unit} AS STRING)"
    same = f"CAST(concat({text}, 'E', CAST(s.p - {digits} AS STRING)) AS DOUBLE) = {size}"
    kept = _parts(text, f"s.p - {digits} + length({text})")
    return f"CASE WHEN length(s.d) > {digits} AND {same} THEN {kept} END"


def _digits() -> str:
    """Write digits `n.d` with their point before place `n.p`, or with an exponent where that is the custom."""
    exponent = "concat(CASE WHEN n.p > 0 THEN 'e+' ELSE 'e-' END, lpad(CAST(abs(n.p - 1) AS STRING), greatest(2, "
    exponent += "length(CAST(abs(n.p - 1) AS STRING))), '0'))"
    fraction = "CASE WHEN length(n.d) > 1 THEN concat('.', substring(n.d, 2)) ELSE '' END"
    return (
        f"CASE WHEN n.p <= -4 OR n.p > 16 THEN concat(left(n.d, 1), {fraction}, {exponent}) "
        "WHEN n.p <= 0 THEN concat('0.', repeat('0', -n.p), n.d) "
        "WHEN n.p >= length(n.d) THEN concat(n.d, repeat('0', n.p - length(n.d)), '.0') "
        "ELSE concat(left(n.d, n.p), '.', substring(n.d, n.p + 1)) END"
    )


# -- several texts ---------------------------------------------------------------------------------------------


def framed(texts: Sequence[str]) -> str:
    """Write the one text of several that the protocol defines."""
    parts = [f"coalesce(concat(CAST(length({text}) AS STRING), ':', {text}), '-')" for text in texts]
    return f"concat({', '.join(parts)})" if parts else "''"
