"""What was made elsewhere in a study: `[[candidates]]` with a `file`, and what is said of it.

    [[candidates]]
    file = "arx-k5.csv"
    name = "ARX"
    claim = "k-anonymity k=5"

Keys are those of the maker's text, but for `name`, which is `label` there. Files are looked for beside the study.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from sfumato.anonymizers import NO_COMMANDS, Brought, BroughtFile
from sfumato.config.sections import known_keys
from sfumato.configuration import described, shortened
from sfumato.engines.places import beside, seen_from
from sfumato.errors import BadInputError
from sfumato.release.maker import ReleaseMaker

FLAGS = {True: "yes", False: "no"}
AnyMaker = TypeVar("AnyMaker", bound=ReleaseMaker)


def brought_of(block: Mapping[str, Any], folder: Path) -> Brought | None:
    """Read a block of candidates that is made elsewhere; None where it is not."""
    if "command" in block:
        raise BadInputError(f"[[candidates]] command = {shortened(block['command'])}: {NO_COMMANDS}")
    if "file" not in block:
        return None
    options = described(BroughtFile)
    keys = {_key_of(name): name for name in options if name != "digest"}
    known_keys("[[candidates]] with a file", block, keys)
    values: dict[str, Any] = {}
    for key, value in block.items():
        if key == "na" and isinstance(value, list):
            value = ",".join(map(str, value))
        if key == "aligned" and isinstance(value, bool):
            value = FLAGS[value]
        if options[keys[key]].type is str and not isinstance(value, str):
            raise BadInputError(f"{key} must be a text, not {shortened(value)}")
        values[keys[key]] = value
    return beside_study(BroughtFile(**values), folder)


def _key_of(name: str) -> str:
    return "name" if name == "label" else name


def beside_study(maker: AnyMaker, folder: Path) -> AnyMaker:
    """Look for the files of what was made elsewhere beside the study."""
    return maker.renamed(lambda file: beside(folder, file)) if isinstance(maker, BroughtFile) else maker


def found_again(maker: AnyMaker, known: Iterable[ReleaseMaker]) -> AnyMaker:
    """Take the files of a maker, as a map names them, from the study, which says where they are now."""
    if not isinstance(maker, BroughtFile):
        return maker
    identity = replace(maker.identity, digest="")
    for other in known:
        if isinstance(other, BroughtFile) and replace(other.identity, digest="") == identity:
            return replace(other, digest=maker.digest)  # type: ignore[return-value]
    return maker


def brought_block(maker: Brought, folder: Path | None) -> dict[str, Any]:
    """Write what was made elsewhere as a block of candidates."""
    if not isinstance(maker, BroughtFile):
        raise BadInputError(
            f"{maker.label or maker.made_of} is in memory, which no file can name; write it to a file and bring that, "
            "so that the study and the map can be saved"
        )
    if folder is not None:
        maker = maker.renamed(lambda file: seen_from(folder, file))
    written: dict[str, Any] = {}
    for each in fields(maker):
        value = getattr(maker, each.name)
        if each.name != "digest" and (each.default is MISSING or value != each.default):
            written[_key_of(each.name)] = value == "yes" if each.name == "aligned" else value
    return {"file": written.pop("file"), **written}
