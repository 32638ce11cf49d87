"""Compare two captures: `compare.py OLD NEW [PREFIX]` prints every difference that changes.toml does not list.

The exit code is 1 if there is any. With a prefix only the cases are compared whose id begins so.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

CHANGES = tomllib.loads((Path(__file__).parent / "changes.toml").read_text(encoding="utf-8"))


def main(old: Path, new: Path, prefix: str = "", shown: int = 40) -> int:
    """Print the differences and return the exit code."""
    files = {path.relative_to(root) for root in (old, new) for path in root.rglob("*") if path.is_file()}
    files = {name for name in files if str(name).startswith(prefix)}
    different = 0
    for name in sorted(files):
        lines = [line for line in _difference(old / name, new / name) if not _listed(str(name), line)]
        if lines:
            different += 1
            print(f"== {name}: {len(lines)} lines differ", *lines[:shown], sep="\n")
    print(f"{different} of {len(files)} files differ")
    return int(different > 0)


def _difference(old: Path, new: Path) -> list[str]:
    before, after = _lines(old, renamed=True), _lines(new, renamed=False)
    if before == after:
        return []
    return [
        line
        for line in difflib.unified_diff(before, after, n=0, lineterm="")
        if line[:3] not in ("---", "+++") and line[0] != "@"
    ]


def _lines(path: Path, renamed: bool) -> list[str]:
    if not path.is_file():
        return ["<no such file>"]
    text = path.read_text(encoding="utf-8")
    if renamed and path.suffix == ".json" and (keys := CHANGES.get("renamed_keys")):
        text = json.dumps(_rename(json.loads(text), keys), sort_keys=True, indent=1, ensure_ascii=False)
    return text.splitlines()


def _rename(value: Any, keys: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {keys.get(key, key): _rename(part, keys) for key, part in value.items()}
    return [_rename(part, keys) for part in value] if isinstance(value, list) else value


def _listed(name: str, line: str) -> bool:
    """Say whether changes.toml lists this line: its file matches, and the line contains the pattern."""
    return any(
        fnmatch(name, change["file"]) and re.search(change.get("line", ""), line) for change in CHANGES["change"]
    )


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:4]))
