"""Analyses that are written as a text: a formula or a table. Each is a function from a frame to findings.

    formula = ["logistic:"] column ["=" value] "~" term {"+" term}
    term    = column | "log(" column ")" | "C(" column ")" | column "^" number | term ":" term
    table   = ("count" | "share" | "mean" column | "median" column) "by" column {"," column}

A formula is fitted by least squares, or with `logistic:`, a value or a target of two texts by maximum likelihood. A
column of texts (or `C(column)`) enters by its values, each against the first in alphabetical order. Records that lack a
value are left out. Intervals are of 95 %, from the usual standard errors. A term that others determine is left out.

A cell of a table has no interval, except a mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial, reduce
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.measures.analysis.findings import QUANTILE, Finding
from sfumato.runtime.arrays import Numbers
from sfumato.texts.catalogue import refusal

Function = Callable[[pa.Table], list[Finding]]
STEPS = 50
LARGEST = 15.0
"""A logistic coefficient beyond this is that of a value which is never or always seen with the target."""

COLLINEAR = 1e-9
TABLE = re.compile(r"\s*(?:(count|share)|(mean|median)\s+(.+?))\s+by\s+(.+)", re.DOTALL)
WRAPPED = re.compile(r"(log|C)\((.+)\)")


def formula(text: str) -> Function:
    """Read a formula."""
    target, sign, terms = text.partition("~")
    kind, colon, rest = target.partition(":")
    logistic = bool(colon) and kind.strip() == "logistic"
    column, equals, value = (rest if logistic else target).partition("=")
    parts = [term.strip() for term in terms.split("+")]
    if not sign or not column.strip() or not all(parts):
        raise refusal("analysis.formula", text=text)
    wanted = value.strip() if equals else None
    return partial(_fitted, text=text, target=column.strip(), value=wanted, terms=parts, logistic=logistic)


def table(text: str) -> Function:
    """Read a table."""
    found = TABLE.fullmatch(text)
    if found is None:
        raise refusal("analysis.table", text=text)
    by = [name.strip() for name in found[4].split(",")]
    return partial(_counted, text=text, kind=found[1] or found[2], column=(found[3] or "").strip(), by=by)


def label(value: Any) -> str:
    """Return a value as a part of a finding's name: whole numbers without a point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def cell_name(by: list[str], values: list[Any]) -> str:
    """Return the name of a cell of a table."""
    return ", ".join(f"{name} {label(value)}" for name, value in zip(by, values, strict=True))


def _column(frame: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in frame.column_names:
        raise refusal("analysis.column", name=name, known=", ".join(frame.column_names))
    return frame.column(name)


def _counted(frame: pa.Table, text: str, kind: str, column: str, by: list[str]) -> list[Finding]:
    keys = pa.table([_column(frame, name) for name in by], [f"k{i}" for i in range(len(by))])
    if not column:
        cells = keys.group_by(keys.column_names).aggregate([([], "count_all")])
        total = frame.num_rows if kind == "share" else 1
        rows = [(cell, Finding(text, "", number / total)) for *cell, number in _rows(cells, by, "count_all")]
    else:
        held = keys.append_column("x", pc.cast(_column(frame, column), pa.float64()))
        cells = held.filter(pc.is_valid(held["x"])).group_by(keys.column_names).aggregate([("x", "list")])
        summary = _mean if kind == "mean" else lambda text, values: Finding(text, "", float(np.median(values)))
        rows = [(cell, summary(text, np.array(values))) for *cell, values in _rows(cells, by, "x_list")]
    named = [Finding(text, cell_name(by, cell), each.estimate, each.low, each.high) for cell, each in rows]
    return sorted(named, key=lambda each: each.name)


def _rows(cells: pa.Table, by: list[str], last: str) -> list[tuple[Any, ...]]:
    return list(
        zip(*(cells.column(name).to_pylist() for name in (*(f"k{i}" for i in range(len(by))), last)), strict=True)
    )


def _mean(text: str, values: Numbers) -> Finding:
    from scipy.special import stdtrit  # comes with scikit-learn

    mean, many = float(values.mean()), len(values)
    if many < 2:
        return Finding(text, "", mean)
    half = float(stdtrit(many - 1, 0.975)) * float(values.std(ddof=1)) / sqrt(many)
    return Finding(text, "", mean, mean - half, mean + half)


def _fitted(
    frame: pa.Table, text: str, target: str, value: str | None, terms: list[str], logistic: bool
) -> list[Finding]:
    used = list(dict.fromkeys(_bare(part) for term in (target, *terms) for part in term.split(":")))
    frame = pa.table([_column(frame, name) for name in used], used).drop_null()
    if not frame.num_rows:
        raise refusal("analysis.empty")
    y, logistic = _target(frame, text, target, value, logistic)
    columns = [pair for term in terms for pair in _term(frame, term)]
    kept, design = _independent([("", np.ones(len(y))), *columns])
    if len(y) <= design.shape[1]:
        raise refusal("analysis.empty")
    estimates, errors, quantile = (_maximum_likelihood if logistic else _least_squares)(design, y)
    found = zip(kept, estimates.tolist(), (quantile * errors).tolist(), strict=True)
    return [Finding(text, name, at, at - half, at + half) for name, at, half in found if name and np.isfinite(half)]


def _target(frame: pa.Table, text: str, target: str, value: str | None, logistic: bool) -> tuple[Numbers, bool]:
    """Return the target as numbers, and whether its share is modelled."""
    if not pa.types.is_string(frame.schema.field(_bare(target)).type):
        numbers = _part(frame, target)[0][1]
        return (numbers, logistic) if value is None else (np.equal(numbers, float(value)).astype(float), True)
    texts = frame.column(target).to_pylist()
    values = sorted(set(texts))
    if value is None and len(values) != 2:
        raise refusal("analysis.values", text=text, name=target, example=values[-1], values=len(values))
    wanted = values[-1] if value is None else value
    return np.array([each == wanted for each in texts], float), True


def _bare(term: str) -> str:
    """Return the column of a term."""
    wrapped = WRAPPED.fullmatch(term.strip())
    return (wrapped[2] if wrapped else term.partition("^")[0]).strip()


def _numbers(frame: pa.Table, name: str) -> Numbers:
    column = _column(frame, name)
    if pa.types.is_date(column.type):
        column = pc.cast(column, pa.int32())
    return np.asarray(pc.cast(column, pa.float64()), np.float64)


def _term(frame: pa.Table, term: str) -> list[tuple[str, Numbers]]:
    """Return the columns of a term with their names."""
    parts = [_part(frame, part.strip()) for part in term.split(":")]
    return reduce(lambda left, right: [(f"{a}:{b}", x * y) for a, x in left for b, y in right], parts)


def _part(frame: pa.Table, part: str) -> list[tuple[str, Numbers]]:
    name, wrapped = _bare(part), WRAPPED.fullmatch(part)
    texts = pa.types.is_string(frame.schema.field(name).type)
    if texts or (wrapped and wrapped[1] == "C"):
        known, code = np.unique([label(value) for value in frame.column(name).to_pylist()], return_inverse=True)
        return [(f"{name} {value} against {known[0]}", (code == i).astype(float)) for i, value in enumerate(known) if i]
    numbers = _numbers(frame, name)
    if wrapped:
        with np.errstate(divide="ignore", invalid="ignore"):
            numbers = np.log(numbers)
        if not np.isfinite(numbers).all():
            raise refusal("analysis.log", name=name)
    power = part.partition("^")[2].strip()
    return [(part, numbers ** float(power) if power else numbers)]


def _independent(columns: list[tuple[str, Numbers]]) -> tuple[list[str], Numbers]:
    """Leave out every column that those before it determine."""
    from scipy.linalg import qr

    design = np.column_stack([column for _, column in columns])
    scale = np.sqrt((design**2).sum(axis=0))
    scaled = design / np.where(scale > 0, scale, 1.0)
    left = np.abs(np.diagonal(qr(scaled, mode="r")[0]))
    kept = [i for i in range(min(design.shape)) if left[i] > COLLINEAR and scale[i] > 0]
    return [columns[i][0] for i in kept], design[:, kept]


def _least_squares(design: Numbers, y: Numbers) -> tuple[Numbers, Numbers, float]:
    from scipy.special import stdtrit

    orthogonal, upper = np.linalg.qr(design)
    inverse = np.linalg.inv(upper)
    estimates = inverse @ (orthogonal.T @ y)
    freedom = len(y) - design.shape[1]
    residual = float(((y - design @ estimates) ** 2).sum()) / freedom
    return estimates, np.sqrt(residual * (inverse**2).sum(axis=1)), float(stdtrit(freedom, 0.975))


def _maximum_likelihood(design: Numbers, y: Numbers) -> tuple[Numbers, Numbers, float]:
    """Fit a logistic model by Newton steps."""
    scale = np.sqrt((design**2).mean(axis=0))
    scaled, estimates = design / scale, np.zeros(design.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(scaled @ estimates, -30, 30)))
        hessian = (scaled.T * (chance * (1 - chance))) @ scaled
        step = np.linalg.lstsq(hessian, scaled.T @ (y - chance), rcond=None)[0]
        estimates = estimates + step
        if np.abs(step).max() < 1e-10 or np.abs(estimates).max() > 10 * LARGEST:
            break
    errors = np.sqrt(np.maximum(np.diagonal(np.linalg.pinv(hessian)), 0.0))
    errors[np.abs(estimates) > LARGEST] = np.inf  # separated: the data do not tell it
    return estimates / scale, errors / scale, QUANTILE
