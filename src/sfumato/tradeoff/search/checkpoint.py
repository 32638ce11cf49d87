"""A search between two generations, in memory and on disk, so that it can be stopped at any moment and goes on exactly.

What a search knows of vectors it met is not kept, only which they were: few are met again, and their facts can be
worked out anew. The file holds plain arrays (npz), nothing that could be executed, a digest of everything the search
depends on (table, problem, space, solver and version of this program), and one of all that it holds: what was changed
since it was written is not believed. Its owner alone can read it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from sfumato._packages import up_to
from sfumato.anonymizers.cut_vector.cut_vector import Bits
from sfumato.config.documents import fields, parse_json, text
from sfumato.errors import BadInputError
from sfumato.runtime.kernels import source_digest
from sfumato.runtime.staging import staged

if TYPE_CHECKING:
    from sfumato.tradeoff.search._enumeration import Enumeration
    from sfumato.tradeoff.search.pareto import Search

Numbers = NDArray[np.float64]
BETWEEN = 5.0
"""Seconds between two checkpoints."""


@dataclass(frozen=True)
class Evolved:
    """A generation of NSGA-II: its individuals with rank and crowding, and where the random numbers are."""

    individuals: NDArray[np.int16]
    rank: NDArray[np.int64]
    crowding: Numbers
    random: dict[str, Any]


NOT_EVOLVED = Evolved(np.zeros((0, 0), np.int16), np.zeros(0, np.int64), np.zeros(0), {})
"""The generation of what looks at all vectors: it has none."""


@dataclass(frozen=True)
class Stage:
    """Which stage a search is in: where it began, and its own front, where the archive is not that."""

    number: int
    before: int
    """Vectors that were worked out in the stages before."""

    start: Bits
    vectors: Bits
    facts: Numbers


ONLY_STAGE = Stage(0, 0, *(np.zeros((0, 0), np.uint8),) * 2, np.zeros((0, 0)))
"""The stage of what has only one and no start of its own."""


@dataclass(frozen=True)
class Snapshot:
    """All that a search needs to go on."""

    generation: int
    evolved: Evolved
    known: tuple[bytes, ...] | int
    """The vectors that were worked out, in order; in memory only how many they were."""

    vectors: Bits
    facts: Numbers
    """Those of the archive."""

    limit: int
    """The number of vectors at which the local search ends; 0 before it has begun."""

    done: tuple[bytes, ...] | int
    """The vectors whose neighbours the local search has seen; in memory only how many."""

    polished: bool
    stage: Stage


def key_of(search: Search | Enumeration) -> str:
    """Digest everything that a search depends on."""
    table = search.table
    start = None if search.start is None else search.start.tobytes()
    parts = [
        table.digest(),
        table.roles,
        table.missing,
        table.ranges,
        search.problem,
        search.space,
        search.solver,
        start,
    ]
    sources = source_digest(*up_to("measures"), "tradeoff/search")
    return sha256("\n".join(map(repr, [*parts, sources])).encode()).hexdigest()


def write_checkpoint(path: Path, key: str, snapshot: Snapshot, known: Iterable[bytes], done: Iterable[bytes]) -> None:
    """Write a snapshot with the vectors it speaks of; the file is whole or as it was before."""
    bits = snapshot.vectors.shape[1]
    about = {
        "key": key,
        "generation": snapshot.generation,
        "random": snapshot.evolved.random,
        "limit": snapshot.limit,
        "polished": snapshot.polished,
        "stage": snapshot.stage.number,
        "before": snapshot.stage.before,
        "bits": bits,
    }
    arrays: dict[str, NDArray[Any]] = {
        "individuals": snapshot.evolved.individuals,
        "rank": snapshot.evolved.rank,
        "crowding": snapshot.evolved.crowding,
        "known": _packed(known, bits),
        "vectors": snapshot.vectors,
        "facts": snapshot.facts,
        "done": _packed(done, bits),
        "start": snapshot.stage.start,
        "front": snapshot.stage.vectors,
        "front facts": snapshot.stage.facts,
    }
    signed = {**about, "content": _content(about, arrays)}
    with staged([path], private=[path]) as [draft], draft.open("wb") as stream:
        np.savez(stream, about=np.array(json.dumps(signed)), **arrays)  # type: ignore[arg-type]


def read_checkpoint(path: Path, key: str) -> Snapshot | None:
    """Read a snapshot; None where the file belongs to another search. Raises ValueError where it cannot be read."""
    try:
        with np.load(path, allow_pickle=False) as file:
            held = dict(file)
    except (
        OSError,
        EOFError,
        KeyError,
        TypeError,
        AttributeError,
        NotImplementedError,
        BadZipFile,
        zlib.error,
    ) as error:
        raise ValueError(str(error)) from None
    try:
        about = parse_json(str(held.pop("about", "")), str(path), "a checkpoint", fields({"key": text}))
    except BadInputError as error:
        raise ValueError(str(error)) from None
    if about["key"] != key:
        return None
    if about.pop("content", None) != _content(about, held):
        raise ValueError(f"{path}: it does not fit its check sum")
    bits = about["bits"]
    return Snapshot(
        about["generation"],
        Evolved(held["individuals"], held["rank"], held["crowding"], about["random"]),
        _unpacked(held["known"], bits),
        held["vectors"],
        held["facts"],
        about["limit"],
        _unpacked(held["done"], bits),
        about["polished"],
        Stage(about["stage"], about["before"], held["start"], held["front"], held["front facts"]),
    )


def _content(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Digest all that a checkpoint holds."""
    digest = sha256(json.dumps(about, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _packed(vectors: Iterable[bytes], bits: int) -> Bits:
    """Write vectors with eight bits to a byte."""
    listed = list(vectors)
    return np.packbits(np.frombuffer(b"".join(listed), np.uint8).reshape(len(listed), bits), axis=1)


def _unpacked(packed: Bits, bits: int) -> tuple[bytes, ...]:
    return tuple(row.tobytes() for row in np.unpackbits(packed, axis=1, count=bits))


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
