"""A search between two generations, in memory and on disk, so that it can be stopped at any moment and goes on exactly.

What a search knows of vectors it met is not kept, only which they were: few are met again, and their facts can be
worked out anew. The file holds plain arrays (npz), nothing that could be executed, a digest of everything the search
depends on (table, problem, space, solver and version of this program), and one of all that it holds: what was changed
since it was written is not believed. Its owner alone can read it.
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
    """All that a search needs to go on."""

    generation: int
    vectors: Bits
    facts: Numbers
    """Those of the archive."""

    polished: bool
    known: Bits | int = 0
    """The vectors that were worked out, in order; in memory only how many they were."""

    done: Bits | int = 0
    """The vectors whose neighbours the local search has seen; in memory only how many."""

    limit: int = 0
    """The number of vectors at which the local search ends; 0 before it has begun."""

    stage: int = 0
    before: int = 0
    """Vectors that were worked out in the stages before."""

    start: Bits = field(default_factory=lambda: np.zeros((0, 0), np.uint8))
    front: Bits = field(default_factory=lambda: np.zeros((0, 0), np.uint8))
    """The front of the stage, where the archive is not that."""

    front_facts: Numbers = field(default_factory=lambda: np.zeros((0, 0), np.float64))
    individuals: Codes = field(default_factory=lambda: np.zeros((0, 0), np.int16))
    """Those of NSGA-II, with their rank and crowding; none where all vectors are looked at."""

    rank: Counts = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    crowding: Numbers = field(default_factory=lambda: np.zeros((0, 0), np.float64))
    random: str = ""
    """The state of the random numbers, as JSON."""


def key_of(search: Search | Enumeration) -> str:
    """Digest everything that a search depends on."""
    table = search.table
    start = None if search.start is None else search.start.tobytes()
    of_table = table.digest(), table.roles, table.missing, table.ranges
    sources = source_digest(*up_to("measures"), "tradeoff/search")
    parts = (*of_table, search.problem, search.space, search.solver, start, sources)
    return sha256("\n".join(map(repr, parts)).encode()).hexdigest()


def write_checkpoint(path: Path, key: str, snapshot: Snapshot) -> None:
    """Write a snapshot with the vectors it speaks of; the file is whole or as it was before."""
    arrays = {name: np.asarray(value) for name, value in vars(snapshot).items()}
    with staged([path], private=[path]) as [draft], draft.open("wb") as stream:
        np.savez_compressed(stream, key=np.asarray(key), content=np.asarray(_content(key, arrays)), **arrays)  # type: ignore[arg-type]


def read_checkpoint(path: Path, key: str) -> Snapshot | None:
    """Read a snapshot; None where the file belongs to another search. Raises ValueError where it cannot be read."""
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
    """Digest all that a checkpoint holds."""
    digest = sha256(key.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


def joined(vectors: Iterable[bytes], bits: int) -> Bits:
    """Write vectors one below the other."""
    listed = list(vectors)
    return np.frombuffer(b"".join(listed), np.uint8).reshape(len(listed), bits)


def kept_snapshot(checkpoint: Path, key: str) -> tuple[Snapshot | None, str]:
    """Read a checkpoint; None where there is none or it is of no use, and the sentence that says why."""
    if not checkpoint.is_file():
        return None, ""
    try:
        kept = read_checkpoint(checkpoint, key)
    except ValueError:
        return None, f"{checkpoint} is damaged, so the search begins anew"
    if kept is None:
        return None, (
            f"{checkpoint} belongs to another search (table, problem, columns, solver or version differ), so this one "
            "begins anew"
        )
    return kept, ""
