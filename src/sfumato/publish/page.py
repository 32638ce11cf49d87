"""A certificate as a page that a person can read and print: self-contained, no script, everything escaped."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from sfumato.measures import MEASURES
from sfumato.plain import json_text

SHOWN_VALUES = 12
"""How many sensitive values of a baseline are shown, the most frequent ones."""

RELATIVE = (
    "Measured relative to the file: Q, the distribution that groups are compared with, is here that of the published "
    "rows, so everybody can work these numbers out again."
)


def certificate_page(content: Mapping[str, Any]) -> str:
    """Write a certificate as HTML."""
    meanings = definitions((own["name"], own["text"]) for own in content["meanings"])
    sections = [
        ("What is promised", _promise(content)),
        ("What it does not protect against", f"<dl>{warnings_list(content['warnings'])}</dl>"),
        ("What the file achieves", f"<p>{RELATIVE}</p><table>{measures_table(content['measures'])}</table>"),
        ("What was left out", f"<p>{_allowed(content)}</p>"),
        ("How the sensitive values are distributed", _baselines(content["baselines"])),
        ("What the words mean", f"<dl>{meanings}</dl>"),
        ("Which files this is about", f"<table>{digests(content)}</table>"),
        ("Check it yourself", check_yourself(content)),
    ]
    if "for_your_eyes" in content:
        sections.append(("For your eyes only", _eyes(content["for_your_eyes"])))
    return framed(content, sections)


def check_yourself(content: Mapping[str, Any]) -> str:
    """Show the command that checks a release, and where it is run."""
    where = f"<p>In {escape(content['verify_in'])}:</p>"
    return f"{where}<pre>{escape(shlex.join(content['verify']))}</pre>"


def framed(content: Mapping[str, Any], sections: Iterable[tuple[str, str]]) -> str:
    """Put the sections of a certificate, each a title and its HTML, into the page that all certificates share."""
    name = content["files"][0]["name"]
    return Template(files("sfumato.publish").joinpath("page.html").read_text(encoding="utf-8")).substitute(
        title=escape(f"Certificate of {name}"),
        name=escape(name),
        reader=escape(content["for"]),
        badge="public" if content["for"] == "the public" else "internal",
        made=escape(content["made"][:10]),
        sections="\n".join(f"<h2>{escape(title)}</h2>\n{text}" for title, text in sections),
    )


def write_certificates(
    own: dict[str, Any],
    outside: dict[str, Any],
    drafts: Sequence[Path],
    page: Callable[[Mapping[str, Any]], str] = certificate_page,
) -> None:
    """Write the publisher's certificate and the public one, each as JSON and as a page."""
    texts = [json_text(own), page(own), json_text(outside), page(outside)]
    for draft, text in zip(drafts, texts, strict=True):
        draft.write_text(text, encoding="utf-8")


def _promise(content: Mapping[str, Any]) -> str:
    promise = content["promise"]
    items = "".join(
        f"<li>{sentence(part['in_words'])} <code>{escape(part['requirement'])}</code><br>"
        f"<small>{sentence(part['checked'])}</small></li>"
        for part in promise["parts"]
    )
    if "households" in promise:
        items += f"<li>{sentence(promise['households']['in_words'])}</li>"
    form = "ranges and sets" if promise["form"] == "generalization" else "buckets, with exact quasi-identifiers"
    return (
        f"<p>Re-checked on the written file, group by group:</p><ul>{items}</ul>"
        f"<p>Published as {form}: {content['rows']:,} rows.</p>{said_columns(content['columns'])}"
    )


def said_columns(columns: Mapping[str, Sequence[str]]) -> str:
    """Name the columns of every role."""
    return "".join(
        f"<p><b>{label}:</b> {escape(', '.join(columns[role]))}</p>"
        for role, label in (("quasi", "Quasi-identifiers"), ("sensitive", "Sensitive"), ("neutral", "Published as is"))
        if columns[role]
    )


def sentence(text: str) -> str:
    """Write a text as a sentence."""
    return escape(text[:1].upper() + text[1:]) + "."


def measures_table(measures: Mapping[str, float]) -> str:
    """Show measures with what they mean, as rows of a table."""
    rows = []
    for name, value in measures.items():
        about = MEASURES.get(name)
        better = {"higher": "higher is better", "lower": "lower is better"}[about.better] if about else ""
        meaning = escape(about.meaning) if about else ""
        rows.append(
            f"<tr><th>{escape(name)}</th><td class=n>{number(value)}</td>"
            f"<td>{meaning}</td><td class=b>{better}</td></tr>"
        )
    return "".join(rows)


def number(value: Any) -> str:
    """Write a number as a person reads it."""
    if value in (float("inf"), "inf"):
        return "infinite"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"


def warnings_list(warnings: Iterable[Mapping[str, str]]) -> str:
    """Show what a release does not protect against, as a list of definitions."""
    return "".join(
        f"<dt>{sentence(own['about'])[:-1]}"
        + (f" <span class=found>found here: {escape(own['found'])}</span>" if "found" in own else "")
        + f"</dt><dd>{escape(own['text'])}</dd>"
        for own in warnings
    )


def _baselines(baselines: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    parts = []
    for name, own in baselines.items():
        kinds = [kind for kind in ("table", "file") if kind in own]
        ordered = sorted(own[kinds[0]], key=lambda value: -own[kinds[0]][value])
        head = "".join(f"<th class=n>in the {kind}</th>" for kind in kinds)
        rows = "".join(
            f"<tr><td>{escape(value) or '(missing)'}</td>"
            + "".join(f"<td class=n>{100 * own[kind].get(value, 0):.2f} %</td>" for kind in kinds)
            + "</tr>"
            for value in ordered[:SHOWN_VALUES]
        )
        more = len(ordered) - SHOWN_VALUES
        rest = f"<tr><td colspan=3>and {more} more values (see the JSON)</td></tr>" if more > 0 else ""
        parts.append(f"<table><tr><th>{escape(name)}</th>{head}</tr>{rows}{rest}</table>")
    return "".join(parts) or "<p>No sensitive column is published.</p>"


def _allowed(content: Mapping[str, Any]) -> str:
    limit = content["promise"]["suppress_at_most"]
    if not limit:
        return "No record was allowed to be left out."
    return f"At most {100 * limit:.3g} % of the records were allowed to be left out."


def _eyes(own: Mapping[str, Any]) -> str:
    """Show what the publisher alone may see."""
    left_out = own["suppressed"]
    dropped = f" {left_out['dropped']:,} more were dropped before: they miss a value." if left_out["dropped"] else ""
    together = ""
    if "households" in own:
        shared = ", ".join(own["households"]["same_value_of"]) or "nothing"
        seen = "confirms" if own["households"]["confirmed_on_the_file"] else "by itself cannot confirm"
        together = f"<p>Members of a household share {escape(shared)}; the file {seen} that they show it alike.</p>"
    notices = "".join(f"<p>{sentence(notice)}</p>" for notice in own["notices"])
    meanings = definitions((entry["name"], entry["text"]) for entry in own["meanings"])
    return (
        f"<p><b>{escape(own['note'])}</b></p><p>Left out: {left_out['records']:,} of {left_out['of']:,} records."
        f"{dropped}</p>{together}<table>{measures_table(own['measures'])}</table>{_baselines(own['baselines'])}"
        f"{notices}<table>{rows_of(inputs(own))}</table><dl>{meanings}</dl>"
    )


def inputs(own: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name the table, the study and the point that a release comes from, with their digests."""
    study = own["study"]
    return [
        (f"input: {own['input']['table']}", own["input"]["sha256"]),
        *([(f"study {study['name']}, point {study['point']}", study["sha256"])] if study["sha256"] else []),
    ]


def definitions(entries: Iterable[tuple[str, str]]) -> str:
    """Show names with what they mean, as a list of definitions."""
    return "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in entries)


def digests(content: Mapping[str, Any]) -> str:
    """Show which files a certificate is about, as rows of a table."""
    rows = [(own["name"], f"{own['sha256']} ({own['bytes']:,} bytes)") for own in content["files"]]
    rows.append(("made by", f"{content['anonymizer']}"))
    rows.append(("versions", ", ".join(f"{name} {number}" for name, number in content["versions"].items())))
    return rows_of(rows)


def rows_of(entries: Iterable[tuple[str, str]]) -> str:
    """Show names with their values, as rows of a table."""
    return "".join(f"<tr><th>{escape(name)}</th><td><code>{escape(value)}</code></td></tr>" for name, value in entries)
