"""The certificate of a differentially private release as a page that a person can read and print."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from sfumato.publish.page import (
    check_yourself,
    definitions,
    digests,
    framed,
    inputs,
    measures_table,
    rows_of,
    said_columns,
    sentence,
    warnings_list,
)


def noisy_certificate_page(content: Mapping[str, Any]) -> str:
    """Write the certificate of a noisy release as HTML."""
    promise = content["promise"]
    sections = [
        ("What is promised", _promise(content)),
        ("What the budget was spent on", _budget(promise["differential_privacy"])),
        ("What it does not protect against", f"<dl>{warnings_list(content['warnings'])}</dl>"),
        ("What was taken as known to everybody", _items(promise["differential_privacy"]["public"])),
        ("How it was drawn", "".join(f"<p>{escape(text)}</p>" for text in content["mechanism"].values())),
        ("What the words mean", f"<dl>{definitions((own['name'], own['text']) for own in content['meanings'])}</dl>"),
        ("Which files this is about", f"<table>{digests(content)}</table>"),
        ("Check that it is the file", _verify(content)),
    ]
    if "for_your_eyes" in content:
        sections.append(("For your eyes only", _eyes(content["for_your_eyes"])))
    return framed(content, sections)


def _promise(content: Mapping[str, Any]) -> str:
    promise = content["promise"]
    own = promise["differential_privacy"]
    return (
        f"<ul><li>Differential privacy with epsilon {own['epsilon']:g}. <code>{escape(content['anonymizer'])}</code>"
        f"</li></ul><p>{escape(own['in_words'])}</p>"
        f"<p><b>Neighbouring tables:</b> {escape(own['neighbours'])}.</p>"
        f"<p><b>How it was chosen:</b> {escape(promise['selection'])}</p>"
        f"<p>Published as synthetic records: {content['rows']:,} rows, drawn from the noisy counts of "
        f"{content['boxes']:,} boxes.</p>{said_columns(content['columns'])}"
    )


def _budget(own: Mapping[str, Any]) -> str:
    """Show levels in rows, purposes in columns, sums at both ends; an empty place where nothing was spent."""
    purposes = list(own["by_purpose"])
    spent: dict[tuple[int, str], float] = {}
    for part in own["parts"]:
        place = part["level"], part["what"]
        spent[place] = spent.get(place, 0.0) + part["epsilon"]
    head = "".join(f"<th class=n>{escape(what)}</th>" for what in (*purposes, "in all"))
    rows = [f"<tr><th>level</th>{head}</tr>"]
    for level, total in own["by_level"].items():
        cells = [spent.get((int(level), what)) for what in purposes]
        rows.append(_row(level, [*cells, total]))
    rows.append(_row("in all", [*own["by_purpose"].values(), own["epsilon"]]))
    return f"<table>{''.join(rows)}</table>"


def _row(name: str, values: list[float | None]) -> str:
    cells = "".join(f"<td class=n>{'' if value is None else f'{value:.4g}'}</td>" for value in values)
    return f"<tr><th>{escape(name)}</th>{cells}</tr>"


def _items(texts: list[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>"


def _verify(content: Mapping[str, Any]) -> str:
    return f"<p>{escape(content['promise']['why_not_checked'])}</p>{check_yourself(content)}"


def _eyes(own: Mapping[str, Any]) -> str:
    """Show what the publisher alone may see."""
    dropped = f" {own['dropped']:,} were dropped before because they miss a value." if own["dropped"] else ""
    about = rows_of(inputs(own))
    notices = "".join(f"<p>{sentence(notice)}</p>" for notice in own["notices"])
    return (
        f"<p><b>{escape(own['note'])}</b></p><p>The table has {own['input']['records']:,} records.{dropped}</p>"
        f"{notices}<table>{about}</table><table>{measures_table(own['measures_on_the_map'])}</table>"
    )
