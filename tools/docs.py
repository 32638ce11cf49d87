"""Fill the parts of the docs that are generated from the code: commands, options, measures, packages, public names.

    python tools/docs.py          writes them
    python tools/docs.py --check  says which file is out of date, exit code 1

A part stands between `<!-- made: WHAT -->` and `<!-- end -->`. A test runs the check.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, get_args

import typer

import sfumato
from sfumato._packages import PACKAGES
from sfumato.commands.app import app
from sfumato.papers.claims import tally
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


def commands() -> str:
    """Write every command with its arguments, options and settings."""
    parts = []
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        arguments = " ".join(each.name.upper() for each in command.params if each.param_type_name == "argument")
        parts += [f"## {name}", f"`sfumato {name} {arguments}`".replace(" `", "`"), " ".join(command.help.split())]
        rows = [(each.opts[0], each.help) for each in command.params if each.opts[0] != "--set"]
        rare = {f"--set {key.replace('_', '-')}=": each for key, each in getattr(command.callback, "rare", {}).items()}
        rows += [(key, get_args(each.annotation)[1].help) for key, each in sorted(rare.items())]
        lines = [f"| `{key if key.startswith('-') else key.upper()}` | {in_cell(text)} |" for key, text in rows]
        parts.append("\n".join(["| option | meaning |", "| --- | --- |", *lines]))
    return "\n\n".join(parts)


def measures() -> str:
    """Write every measure: what it is about, its direction, its range and its meaning."""
    lines = ["| measure | kind | better | data | meaning |", "| --- | --- | --- | --- | --- |"]
    for name, each in sfumato.MEASURES.items():
        data = {"table": "attributes", "baskets": "items", "items": "both"}[each.said_of]
        lines.append(f"| `{name}` | {each.kind} | {each.better} | {data} | {in_cell(each.meaning)} |")
    return "\n".join(lines)


def in_cell(text: str) -> str:
    """Return a text for one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


MOST_SHOWN = 150
"""The most characters of our numbers in a cell; `results.json` has all of them."""

HEADINGS = {"headline": "Headline statements", "claim": "Further statements", "check": "Checks of our own"}


def paper(name: str) -> str:
    """Write a paper's page from its results: the tally, what was run, the tables of statements, and the figures."""
    results = json.loads((DOCS / "papers" / "results" / f"{name}.json").read_text(encoding="utf-8"))
    versions = ", ".join(f"{package} {version}" for package, version in results["versions"].items())
    parts = [" ".join(f"**{sentence}**" for sentence in tally(results["claims"]))]
    parts.append(
        f"Run on {results['date']} by `{results['command']}` with {versions}. Made of: {plain(results['made_of'])}."
    )
    for kind, heading in HEADINGS.items():
        claims = [claim for claim in results["claims"] if claim["kind"] == kind]
        if claims:
            parts += [f"## {heading}", claim_list(claims)]
    figures = sorted((DOCS / "papers" / "figures" / name).glob("*.png"))
    parts += ["## Figures"] if figures else []
    parts += [f"![{path.stem.replace('-', ' ')}](figures/{name}/{path.name})" for path in figures]
    return "\n\n".join(parts)


def claim_list(claims: list[dict[str, Any]]) -> str:
    """Write the claims of a kind as a list: the verdict, the paper's words and their place, ours, and why."""
    lines = []
    for claim in claims:
        words = claim["paper"] if isinstance(claim["paper"], str) else plain(claim["paper"])
        printed = f": \u201c{words}\u201d ({claim['place']})" if claim["place"] else ""
        told = [f"Tested: {claim['claim']}.", f"Ours: {plain(claim['ours'])}."]
        told += [f"{label}: {claim[key]}." for key, label in WHY.items() if claim[key]]
        lines.append(f"- **{claim['verdict']}** `{claim['id']}`{printed}")
        lines += [f"  {in_cell(each)}".replace(" ....", " ...") for each in told]
    return "\n\n".join(lines)


DIGEST = re.compile(r"^([0-9a-f]{12})[0-9a-f]{52}$")
WHY = {"reason": "Likely reason", "erratum": "Erratum, as we read it", "reading": "Our reading"}


def plain(value: Any) -> str:
    """Write numbers, lists and tables by name as a text, cut where it is long."""
    if isinstance(value, dict):
        text = "; ".join(f"{name}: {plain(each)}" for name, each in value.items())
    elif isinstance(value, list):
        text = "(" + ", ".join(map(plain, value)) + ")"
    else:
        text = f"{value:.4g}" if isinstance(value, float) else DIGEST.sub(r"\1", str(value))
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN].rpartition(' ')[0]} ..."


def made(what: str) -> str:
    """Write one part by its name."""
    kind, _, rest = what.partition(" ")
    if kind == "paper":
        return paper(rest)
    if kind in (single := {"packages": packages, "reference": reference, "commands": commands, "measures": measures}):
        return single[kind]()
    if kind == "options":
        section, _, name = rest.partition(": ")
        return options(section, name)
    raise SystemExit(f"docs: the generated part {what!r} is not known")


def filled(text: str) -> str:
    """Return a page with its generated parts replaced."""
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
