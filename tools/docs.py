"""Fill the parts of the docs that are made of the code: tables of options, the list of packages, the reference.

    python tools/docs.py          writes them
    python tools/docs.py --check  says which file is out of date, exit code 1

A part stands between `<!-- made: WHAT -->` and `<!-- end -->`. A test runs the check.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import sfumato
from sfumato._packages import PACKAGES
from sfumato.tradeoff import catalogue

DOCS = Path(__file__).resolve().parent.parent / "docs"
PART = re.compile(r"<!-- made: (?P<what>.+?) -->\n.*?<!-- end -->", re.DOTALL)


def packages() -> str:
    """Write the packages as a table, in their order."""
    lines = [f"| `{name}` | {what} |" for name, what in PACKAGES.items()]
    return "\n".join(["| package | responsibility |", "| --- | --- |", *lines])


def of_entry(entry: catalogue.Entry) -> str:
    """Write how a kind is typed, what it does, and the table of its options."""
    lines = [f"**`{entry.text}`**: {entry.meaning}"]
    if entry.options:
        lines += ["", "| option | may be | default | meaning |", "| --- | --- | --- | --- |"]
    for key, *words in entry.rows():
        lines.append(" | ".join([f"| `{key}`", *(text.replace("|", "\\|") for text in words)]) + " |")
    return "\n".join(lines)


def options(section: str, name: str) -> str:
    """Write one kind of a section with its options, or all."""
    return "\n\n".join(of_entry(entry) for entry in catalogue.sections()[section] if name in ("", entry.name))


def reference() -> str:
    """Write every public name with the first line of its docstring."""
    lines = ["| name | what it is |", "| --- | --- |"]
    for name in sorted(sfumato.__all__, key=str.lower):
        thing = getattr(sfumato, name)
        said = "All measures by name." if name == "MEASURES" else (thing.__doc__ or "").strip().split("\n")[0]
        lines.append(f"| `{name}` | {said.replace('|', chr(92) + '|')} |")
    return "\n".join(lines)


def made(what: str) -> str:
    """Write one part by its name."""
    kind, _, rest = what.partition(" ")
    if kind == "packages":
        return packages()
    if kind == "reference":
        return reference()
    if kind == "options":
        section, _, name = rest.partition(": ")
        return options(section, name)
    raise SystemExit(f"docs: nobody makes {what!r}")


def filled(text: str) -> str:
    """Return a page with all its made parts anew."""
    return PART.sub(lambda part: f"<!-- made: {part['what']} -->\n{made(part['what'])}\n<!-- end -->", text)


def main() -> None:
    """Write the pages, or say which are out of date."""
    stale = []
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if filled(text) != text:
            stale.append(page.relative_to(DOCS).as_posix())
            if "--check" not in sys.argv:
                page.write_text(filled(text), encoding="utf-8")
    if "--check" in sys.argv and stale:
        raise SystemExit(f"out of date: {', '.join(stale)}; run python tools/docs.py")


if __name__ == "__main__":
    main()
