"""The state of a search between two generations, in memory and on disk, so that it can be continued exactly.

A checkpoint contains the evaluated vectors without their facts: few vectors are met again, and their facts can be
computed again. The file contains plain arrays (npz) and nothing executable. One digest covers everything the search
depends on (table, problem, space, solver, version), another one the content: a changed file is refused. Only its owner
can read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato._packages import up_to
from sfumato.anonymizers.cut_vector.cut_vector import Bits
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import source_digest
from sfumato.runtime.staging import staged

if TYPE_CHECKING:
    from sfumato.tradeoff.search._enumeration import Enumeration
    from sfumato.tradeoff.search.pareto import Search

BETWEEN = 5.0
"""Seconds between two checkpoints."""


@dataclass(frozen=True)
class Snapshot:
    """The state of a search."""

    generation: int
    vectors: Bits
    facts: Numbers
    """The facts of the archive."""

    polished: bool
    known: Bits | int = 0
    """The evaluated vectors in order; in memory only their number."""

    done: Bits | int = 0
    """The vectors whose neighbours were evaluated by the local search; in memory only their number."""

    limit: int = 0
    """The number of vectors at which the local search ends; 0 before it begins."""

    stage: int = 0
    before: int = 0
    """Vectors evaluated in earlier stages."""

    start: Bits = field(default_factory=lambda: np.zeros((0, 0), np.uint8))
    front: Bits = field(default_factory=lambda: np.zeros((0, 0), np.uint8))
    """The front of the stage, if it differs from the archive."""

    front_facts: Numbers = field(default_factory=lambda: np.zeros((0, 0), np.float64))
    individuals: Codes = field(default_factory=lambda: np.zeros((0, 0), np.int16))
    """The individuals of NSGA-II, with rank and crowding; none in an enumeration."""

    rank: Counts = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    crowding: Numbers = field(default_factory=lambda: np.zeros((0, 0), np.float64))
    random: str = ""
    """The state of the random number generator, as JSON."""


def key_of(search: Search | Enumeration) -> str:
    """Digest everything that a search depends on."""
    table = search.table
    start = None if search.start is None else search.start.tobytes()
    of_table = table.digest(), table.roles, table.missing, table.ranges
    sources = source_digest(*up_to("measures"), "tradeoff/search")
    parts = (*of_table, search.problem, search.space, search.solver, start, sources)
    return sha256("\n".join(map(repr, parts)).encode()).hexdigest()


def write_checkpoint(path: Path, key: str, snapshot: Snapshot) -> None:
    """Write a snapshot with its vectors; an interrupted write leaves the old file."""
    arrays = {name: np.asarray(value) for name, value in vars(snapshot).items()}
    with staged([path], private=[path]) as [draft], draft.open("wb") as stream:
        np.savez_compressed(stream, key=np.asarray(key), content=np.asarray(_content(key, arrays)), **arrays)  # type: ignore[arg-type]


def read_checkpoint(path: Path, key: str) -> Snapshot | None:
    """Read a snapshot; None if the file belongs to another search. Raises ValueError if it is damaged."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        own, content = str(arrays.pop("key")), str(arrays.pop("content"))
        if own == key and content != _content(key, arrays):
            raise ValueError("it does not fit its check sum")
        values: dict[str, Any] = {name: array if array.ndim else array.item() for name, array in arrays.items()}
        return Snapshot(**values) if own == key else None
    except Exception as error:  # a damaged archive raises many kinds
        raise ValueError(f"{path} is not a checkpoint: {error}") from None


def _content(key: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Digest the content of a checkpoint."""
    digest = sha256(key.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


def joined(vectors: Iterable[bytes], bits: int) -> Bits:
    """Stack vectors into an array."""
    listed = list(vectors)
    return np.frombuffer(b"".join(listed), np.uint8).reshape(len(listed), bits)


def kept_snapshot(checkpoint: Path, key: str) -> tuple[Snapshot | None, str]:
    """Read a checkpoint; None with a sentence if there is none or it is unusable."""
    if not checkpoint.is_file():
        return None, ""
    try:
        kept = read_checkpoint(checkpoint, key)
    except ValueError:
        return None, f"{checkpoint} is damaged, so the search starts again"
    if kept is None:
        return None, (
            f"{checkpoint} belongs to another search (table, problem, columns, solver or version differ), so this one "
            "starts again"
        )
    return kept, ""
