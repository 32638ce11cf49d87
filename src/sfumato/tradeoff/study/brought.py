"""What was made elsewhere in a study: `[[candidates]]` with a `file` or a `command`, and what is said of it.

    [[candidates]]                          [[candidates]]
    file = "arx-k5.csv"                     command = "python make.py {table} {out}"
    name = "ARX"                            records = "synthetic"
    claim = "k-anonymity k=5"               epsilon = 1

Keys are those of the makers' texts, but for `name`, which is `label` there. Files are looked for beside the study.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from sfumato.anonymizers import Brought, BroughtCommand, BroughtFile, Maker
from sfumato.configuration import described, shortened
from sfumato.engines.places import beside, seen_from
from sfumato.errors import BadInputError
from sfumato.tradeoff.study.texts import known_keys

BROUGHT_KEYS: dict[str, type[BroughtFile] | type[BroughtCommand]] = {"file": BroughtFile, "command": BroughtCommand}
"""The key by which a block says that it is made elsewhere, and what then makes it."""

RENAMED = {"name": "label", "command": "run"}
FLAGS = {True: "yes", False: "no"}
AnyMaker = TypeVar("AnyMaker", bound=Maker)


def brought_of(block: Mapping[str, Any], folder: Path) -> Brought | None:
    """Read a block of candidates that is made elsewhere; None where it is not."""
    named = [key for key in BROUGHT_KEYS if key in block]
    if not named:
        return None
    if len(named) > 1:
        raise BadInputError("[[candidates]] has a file and a command; make two blocks of them")
    kind = BROUGHT_KEYS[named[0]]
    options = described(kind)
    keys = {RENAMED_BACK.get(name, name): name for name in options if name != "digest"}
    known_keys(f"[[candidates]] with a {named[0]}", block, keys)
    values: dict[str, Any] = {}
    for key, value in block.items():
        if key in ("na", "environment") and isinstance(value, list):
            value = ",".join(map(str, value))
        if key == "aligned" and isinstance(value, bool):
            value = FLAGS[value]
        if options[keys[key]].type is str and not isinstance(value, str):
            raise BadInputError(f"{key} must be a text, not {shortened(value)}")
        values[keys[key]] = value
    return beside_study(kind(**values), folder)


RENAMED_BACK = {name: key for key, name in RENAMED.items()}


def beside_study(maker: AnyMaker, folder: Path) -> AnyMaker:
    """Look for the files of what was made elsewhere beside the study."""
    return _renamed(maker, lambda file: beside(folder, file))


def _renamed(maker: AnyMaker, name: Callable[[str], str]) -> AnyMaker:
    """Give the files that a maker names other names."""
    return maker.renamed(name) if isinstance(maker, BroughtFile | BroughtCommand) else maker  # type: ignore[return-value]


def found_again(maker: AnyMaker, known: Iterable[Maker]) -> AnyMaker:
    """Take the files of a maker, as a map names them, from the study, which says where they are now."""
    if not isinstance(maker, BroughtFile | BroughtCommand):
        return maker
    identity = replace(maker.identity, digest="")
    for other in known:
        if isinstance(other, BroughtFile | BroughtCommand) and replace(other.identity, digest="") == identity:
            return replace(other, digest=maker.digest)  # type: ignore[return-value]
    return maker


def brought_block(maker: Brought, folder: Path | None) -> dict[str, Any]:
    """Write what was made elsewhere as a block of candidates."""
    if not isinstance(maker, BroughtFile | BroughtCommand):
        raise BadInputError(
            f"{maker.label or maker.made_of} is in memory, which no file can name; write it to a file and bring that, "
            "so that the study and the map can be saved"
        )
    if folder is not None:
        maker = _renamed(maker, lambda file: seen_from(folder, file))
    written: dict[str, Any] = {}
    for each in fields(maker):
        value = getattr(maker, each.name)
        if each.name != "digest" and (each.default is MISSING or value != each.default):
            written[RENAMED_BACK.get(each.name, each.name)] = value == "yes" if each.name == "aligned" else value
    first = "file" if isinstance(maker, BroughtFile) else "command"
    return {first: written.pop(first), **written}
