"""The report as one HTML page that needs no network: texts made here, the map and the chosen point drawn by page.js.

Everything that comes from data is escaped in HTML; inside scripts it is JSON in pure ASCII without `<`, `>` and `&`.
A content security policy names the page's two scripts by digest and forbids all others, and every request.
"""

from __future__ import annotations

import json
from base64 import b64encode
from contextlib import suppress
from datetime import date
from functools import cache
from hashlib import sha256
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import Any

from sfumato.drawing import libraries
from sfumato.errors import BadInputError
from sfumato.kernels import cache_folder
from sfumato.measures import MEASURES
from sfumato.phrases import counted, listed
from sfumato.plain import to_plain
from sfumato.release import staged
from sfumato.report.agreement import agreeing_section, said_of_points
from sfumato.report.budget import tuning_section
from sfumato.report.limit import limit_content, limit_section
from sfumato.report.worth import worth_content, worth_of_point, worth_section
from sfumato.tradeoff import Map, Point
from sfumato.tradeoff.chart import axis_title, baseline_label, drawn_axes, family, map_chart, step, ticks_of
from sfumato.tradeoff.limit.limit import AXES
from sfumato.words.command import DECLARED, anonymize_command, declares_hierarchies
from sfumato.words.meanings import meanings
from sfumato.words.points import settings, studied


def page(map_: Map, public: bool, day: date) -> str:
    """Write the whole page; the public one from the public map alone."""
    shown = map_.public() if public else map_
    scripts = {"libraries": _libraries(), "script": _own("page.js")}
    return Template(_own("page.html")).substitute(
        scripts,
        style=_own("page.css"),
        policy=_policy(list(scripts.values())),
        data=in_script(content(shown, public)),
        title=escape(f"{shown.study.name}: a map of releases"),
        name=escape(shown.study.name),
        badge="public" if public else "internal",
        caution=_caution(public),
        tried=_tried(shown, day),
        limit="" if public else limit_section(shown),
        tuning=tuning_section(shown),
        agreeing=agreeing_section(shown),
        worth=worth_section(shown),
        notices=_notices(shown),
        unmade=_untold(shown) if public else _unmade(shown),
        meanings=_meanings(shown),
        go_on=_go_on(shown, public),
    )


def content(shown: Map, public: bool) -> dict[str, Any]:
    """Collect what the page's script reads."""
    measured, said = [p for p in shown.points if p.status == "measured"], said_of_points(shown)
    return {
        "public": public,
        "axes": list(drawn_axes(shown)),
        "forms": list(shown.study.forms),
        "spec": _empty_chart(shown),
        "limit": limit_content(shown),
        "worth": worth_content(shown),
        "measures": [
            {
                "name": measure.name,
                "kind": measure.kind,
                "better": measure.better,
                "meaning": measure.meaning,
                "title": axis_title(measure.name),
                "ticks": ticks_of(shown, measure.name),
                "step": step(measure.name),
            }
            for measure in MEASURES.values()
            if any(measure.name in point.measures for point in measured)
        ],
        "points": [_point(shown, point, public) | {"disagreements": said.get(point.id, [])} for point in measured],
    }


def _point(shown: Map, point: Point, public: bool) -> dict[str, Any]:
    open_part = {
        "id": point.id,
        "words": settings(point),
        "anonymizer": point.anonymizer,
        "requirement": "" if point.is_baseline or point.is_noisy else point.requirement,
        "form": point.form,
        "family": family(point),
        "baseline": baseline_label(point),
        "measures": dict(point.measures),
        "intervals": {name: list(ends) for name, ends in point.intervals.items()},
        "worth": worth_of_point(shown, point),
    }
    if public:
        return open_part
    return open_part | {"details": dict(point.details), "command": anonymize_command(shown.study, point)}


def _empty_chart(shown: Map) -> dict[str, Any]:
    """Return the chart's specification without data, title and legend: the page has its own.

    The page's script sets the axes, and takes the limit's layers out where it is not drawn.
    """
    spec: dict[str, Any] = map_chart(shown, *(drawn_axes(shown) if shown.limit is None else AXES)).to_dict()
    spec["datasets"] = {name: [] for name in spec["datasets"]}
    spec |= {"width": "container", "height": 460, "autosize": {"type": "fit-x", "contains": "padding"}}
    spec["config"] |= {"background": None, "padding": 4}
    del spec["title"]
    return spec


def in_script(value: Any) -> str:
    """Write JSON that can end no script and open no tag."""
    text = json.dumps(to_plain(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _libraries() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that leaves only `vegaEmbed` behind.

    Making it takes a second, so it is kept beside the kernels' machine code.
    """
    kept = cache_folder() / f"vega-{version('vl-convert-python')}.js"
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    script = "(function () {" + libraries("window.vegaEmbed = vegaEmbed;") + "})();"
    with suppress(BadInputError), staged([kept]) as drafts:
        drafts[0].write_text(script, encoding="utf-8")
    return script


def _own(name: str) -> str:
    return (files("sfumato.report") / name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _policy(scripts: list[str]) -> str:
    digests = " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts)
    return f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


# -- texts -------------------------------------------------------------------------------------------------


def _caution(public: bool) -> str:
    if public:
        return "Settings and rounded measures only: nothing of individual records."
    return "This page shows records of the table. Keep it inside; report-public.html is the one to pass on."


def _tried(shown: Map, day: date) -> str:
    """Say what was tried, of which data, and what became of it."""
    states = [point.status for point in shown.points]
    text = f"On {day.day} {day:%B %Y}, {counted(len(states), 'candidate release')} of {studied(shown)}"
    measured, infeasible, failed = (states.count(state) for state in ("measured", "infeasible", "failed"))
    if measured == len(states):
        text += "All of them could be made and were measured on the same scales."
    else:
        parts = [f"{measured:,} were made and measured on the same scales"]
        parts += [f"{infeasible:,} cannot be made of this table"] if infeasible else []
        parts += [f"{failed:,} failed"] if failed else []
        text += listed(parts) + "."
    return escape(text)


def _notices(shown: Map) -> str:
    """List what is to be noted of the data, and of the numbers."""
    notes = [*shown.about.get("notices", ()), *([shown.about["note"]] if "note" in shown.about else [])]
    entries = "".join(f"<li>{escape(str(note))}</li>" for note in notes)
    return f'<ul class="notices">{entries}</ul>' if entries else ""


def _unmade(shown: Map) -> str:
    """List the candidates that could not be made, with their reasons."""
    lost = [point for point in shown.points if point.status != "measured"]
    rows = "".join(
        f"<tr><td>{escape(settings(point))}<br><code>{escape(point.id)}</code></td>"
        f'<td class="state">{escape(point.status)}</td><td>{escape(point.reason or "")}</td></tr>'
        for point in lost
    )
    said = (
        "<p>Infeasible: no such release of this table exists, and the reason names the nearest that does. "
        "Failed: the candidate as written makes no sense.</p>"
        '<div class="wide"><table><thead><tr><th>Candidate</th><th>What became of it</th><th>Why</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
    told = said if lost else "<p>Every candidate could be made.</p>"
    return f'<section id="unmade"><h2>What could not be made</h2>{told}</section>'


def _untold(shown: Map) -> str:
    """List, for the public, the candidates that have no numbers, and what became of them."""
    rows = "".join(
        f"<tr><td>{escape(settings(point))}<br><code>{escape(point.id)}</code></td>"
        f'<td class="state">{escape(point.status)}</td></tr>'
        for point in shown.points
        if not point.measures
    )
    if not rows:
        return ""
    return (
        '<section id="unmade"><h2>Without numbers</h2><p>Measured: a release was made. Infeasible: no such release of '
        "this table exists.</p>"
        '<div class="wide"><table><thead><tr><th>Candidate</th><th>What became of it</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _pass_on(shown: Map) -> str:
    """Say what may leave the house; what is measured of a noisy release against the original may not."""
    noisy = (
        " They have no noisy release: what is measured of those against the original is covered by no epsilon."
        if any(point.is_noisy for point in shown.points)
        else ""
    )
    return (
        "<b>Pass the map on.</b> <code>report-public.html</code> and <code>map.png</code> may leave the house: "
        f"settings and rounded measures.{noisy} All other files of this folder are internal."
    )


def _meanings(shown: Map) -> str:
    return "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in meanings(shown))


def _go_on(shown: Map, public: bool) -> str:
    """Say what can be done next with ids, files and commands."""
    if public:
        return "<p>Each release has an id, such as those in the table above: name it when you ask for one.</p>"
    risk = drawn_axes(shown)[0]
    steps = [
        "<b>Pick a point.</b> Click it on the map or in the table. Its page address then ends in its id "
        "(<code>#id</code>), and the same id stands in <code>points.json</code>. <code>sfumato choose DIR</code> "
        "recommends one and says why; <code>--for public</code>, "
        f"<code>--max {escape(risk)}=0.1</code> ask for more.",
        "<b>Publish it.</b> <code>sfumato release DIR --point ID --to FILE.csv</code> writes the data with its "
        "certificate, re-checked on the written file. DIR is the folder of this page.",
        "<b>Or make it without the map.</b> The chosen point shows the exact <code>sfumato anonymize</code> command, "
        "to be run in the folder from which this study was explored.",
        "<b>Look closer, or elsewhere.</b> Change candidates or scales in <code>study.toml</code> and run "
        "<code>sfumato explore study.toml --out DIR</code> again; what is measured already is not measured twice.",
        _pass_on(shown),
    ]
    if declares_hierarchies(shown.study):
        steps.insert(
            3,
            "<b>Hierarchies first.</b> This study declares some of its own; for the command, copy each "
            f"<code>[table.hierarchy.COLUMN]</code> of <code>study.toml</code> to <code>{DECLARED}</code> as "
            "<code>[COLUMN]</code>.",
        )
    return "<ol>" + "".join(f"<li>{step}</li>" for step in steps) + "</ol>"
