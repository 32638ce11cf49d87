"""Running the user's code, a Python function or an SQL query, in a child process with a time limit.

A child runs one analysis on all frames of one release, so no state passes from one release to the next. It gets code
and frames on its standard input, and returns the findings of every frame, or a sentence about its failure. Whatever the
code prints is discarded.

A function of an imported module is found there again by its name. Any other function (of a notebook, or inside another
function) is sent as its byte code with the names that it uses.
"""

from __future__ import annotations

import builtins
import importlib
import io
import marshal
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.errors import SfumatoError
from sfumato.measures.analysis.findings import Finding
from sfumato.measures.analysis.formulas import label
from sfumato.texts.catalogue import refusal

LONGEST = 300
"""Characters of a message about a failure."""

Work = tuple[str, Any]
"""A kind of code (file, function, sql), and the code."""

NAME = "analysis"
"""The name of the function in a file."""


def pack(function: Callable[..., Any]) -> Work:
    """Return a function in a form that a child can read."""
    try:
        return "function", pickle.dumps(_packed(function))
    except (pickle.PicklingError, AttributeError, TypeError, ValueError, RecursionError):
        raise refusal("analysis.function", name=getattr(function, "__name__", "this function")) from None


def _packed(thing: Any) -> tuple[str, Any]:
    if isinstance(thing, ModuleType):
        return "module", thing.__name__
    if not isinstance(thing, FunctionType) or _is_importable(thing):
        return "value", pickle.dumps(thing)
    names = {name for code in _codes(thing.__code__) for name in code.co_names}
    known = {name: _packed(thing.__globals__[name]) for name in sorted(names) if name in thing.__globals__}
    closure = [_packed(cell.cell_contents) for cell in thing.__closure__ or ()]
    return "function", (thing.__name__, marshal.dumps(thing.__code__), known, thing.__defaults__, closure)


def _is_importable(function: FunctionType) -> bool:
    module = sys.modules.get(function.__module__)
    return function.__module__ != "__main__" and getattr(module, function.__qualname__, None) is function


def _codes(code: CodeType) -> list[CodeType]:
    return [code, *(inner for each in code.co_consts if isinstance(each, CodeType) for inner in _codes(each))]


def _unpacked(thing: tuple[str, Any]) -> Any:
    kind, content = thing
    if kind == "module":
        return importlib.import_module(content)
    if kind == "value":
        return pickle.loads(content)
    name, code, known, defaults, closure = content
    names = {"__builtins__": builtins, "__name__": NAME} | {key: _unpacked(each) for key, each in known.items()}
    return FunctionType(
        marshal.loads(code), names, name, defaults, tuple(CellType(_unpacked(each)) for each in closure)
    )


def run_apart(name: str, work: Work, frames: Sequence[pa.Table], seconds: float) -> list[list[Finding]]:
    """Run an analysis on some frames in a child; raise with a sentence if it fails or takes too long."""
    sent = pickle.dumps((name, work, [_sent(frame) for frame in frames], sys.path))
    command = [sys.executable, "-c", "from sfumato.measures.analysis.child import main; main()"]
    environment = os.environ | {"PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(command, input=sent, capture_output=True, timeout=seconds, env=environment, check=False)
    except subprocess.TimeoutExpired:
        raise refusal("analysis.seconds", name=name, seconds=f"{seconds:g}") from None
    if done.returncode or not done.stdout:
        raise refusal("analysis.died", name=name, code=done.returncode)
    failure, found = pickle.loads(done.stdout)
    if failure:
        raise refusal("analysis.failed", name=name, why=" ".join(failure.split())[:LONGEST])
    return [[Finding(name, *each) for each in one] for one in found]


def _sent(frame: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, frame.schema) as writer:
        writer.write_table(frame)
    return bytes(sink.getvalue())


def main() -> None:
    """Run in the child: read code and frames, and write what was found."""
    out = sys.stdout.buffer
    name, work, frames, sys.path = pickle.loads(sys.stdin.buffer.read())
    answer: tuple[str, list[list[tuple[Any, ...]]]] = ("", [])
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            function = _function(name, work)
            for frame in frames:
                random.seed(0)
                np.random.seed(0)
                answer[1].append(as_findings(function(pa.ipc.open_stream(frame).read_all())))
        except SfumatoError as error:
            answer = (str(error), [])
        except Exception as error:
            answer = (f"{type(error).__name__}: {error}", [])
    out.write(pickle.dumps(answer))
    out.flush()
    os._exit(0)


def _function(name: str, work: Work) -> Callable[[pa.Table], Any]:
    kind, content = work
    if kind == "sql":
        from sfumato.engines.duckdb.sources import queried  # DuckDB is slow to import

        return lambda frame: queried(frame, content)
    if kind == "file":
        names: dict[str, Any] = {"__name__": NAME, "__file__": name}
        exec(compile(content, name, "exec"), names)
        function = names.get(NAME)
        if not callable(function):
            raise refusal("analysis.no_function", function=NAME)
    else:
        function = _unpacked(pickle.loads(content))
    return lambda frame: function(frame_for_people(frame))


def frame_for_people(frame: pa.Table) -> Any:
    """Return a frame as one of pandas, or unchanged if pandas is not installed."""
    return frame.to_pandas(date_as_object=False) if find_spec("pandas") else frame


def as_findings(result: Any) -> list[tuple[Any, ...]]:
    """Return the result of an analysis as findings: name, estimate, and the ends of an interval if there is one.

    A result is a number, a mapping of names to numbers or to (estimate, low, high), or a frame. In a frame the last
    number of a row is the estimate, or the column `estimate`, with `low` and `high`; the other columns are the name.
    """
    if isinstance(result, pa.Table):
        return _of_frame(result)
    if hasattr(result, "columns"):
        return _of_frame(result.to_arrow() if hasattr(result, "to_arrow") else pa.Table.from_pandas(result))
    if hasattr(result, "items"):
        return [(str(name), *_numbers(value)) for name, value in result.items()]
    return [("result", *_numbers(result))]


def _numbers(value: Any) -> tuple[float, ...]:
    numbers = tuple(map(float, value)) if isinstance(value, Sequence | np.ndarray) else (float(value),)
    if len(numbers) not in (1, 3):
        raise refusal("analysis.result", value=repr(value)[:60])
    return numbers


def _of_frame(frame: pa.Table) -> list[tuple[Any, ...]]:
    kinds = {name: frame.schema.field(name).type for name in frame.column_names}
    numbers = [
        name
        for name, kind in kinds.items()
        if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    ]
    if not numbers:
        raise refusal("analysis.result", value=", ".join(frame.column_names))
    estimate = "estimate" if "estimate" in numbers else [name for name in numbers if name not in ("low", "high")][-1]
    ends = ["low", "high"] if {"low", "high"} <= set(numbers) else []
    names = [name for name in frame.column_names if name not in (estimate, *ends)]
    found = []
    for row in frame.to_pylist():
        name = ", ".join(f"{key} {label(row[key])}" for key in names) or estimate
        if row[estimate] is not None:
            found.append((name, *(float(row[key]) for key in (estimate, *ends))))
    return found
