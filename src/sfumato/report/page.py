"""The report as one HTML page without network access: `report.html` of the templates, drawn by its scripts.

The workbench shares some scripts (`SHARED`): the map, one release, several side by side. A content security policy
allows our scripts by digest and forbids all others, and every request.
"""

from base64 import b64encode
from contextlib import suppress
from datetime import date
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from textwrap import wrap
from typing import Any

from sfumato.config.options import as_typed
from sfumato.errors import BadInputError, SfumatoError
from sfumato.measures.all_measures import MEASURES
from sfumato.report import point_summary as summary
from sfumato.report import verdicts as of_verdicts
from sfumato.report.data_summary import DECLARED, declares_hierarchies, meanings
from sfumato.report.measure_sentences import Subject, sentences
from sfumato.runtime.kernels import cache_folder
from sfumato.runtime.staging import staged
from sfumato.texts.catalogue import counted, drawing_texts, listed, t
from sfumato.texts.html import file, in_script, libraries, render, source
from sfumato.tradeoff import chart
from sfumato.tradeoff.comparison import VERDICTS, Verdicts
from sfumato.tradeoff.limit import AXES, MEANING, Scores
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.public import PublicStudy
from sfumato.tradeoff.question.knee import place

TITLE = 80
"""The maximum line length of an axis title."""

SHARED = ("values.js", "chart.js", "tables.js", "release.js", "fidelity.js", "sides.js")
"""The scripts that draw a map and releases."""


def page(map_: Map, public: bool, day: date) -> str:
    """Render the page; the public one from the public map alone."""
    if public:
        map_ = map_.public()
    scripts = [source(vega_script()), script_of(*SHARED, "report.js", "compare.js")]
    about = map_.about
    return render(
        "report.html",
        scripts=scripts,
        digests=[f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts],
        data=in_script(content(map_, public)),
        texts=in_script(drawing_texts()),
        public=public,
        name=map_.study.name,
        tried=_tried(map_, day),
        recommended=([], []) if public else _recommended(map_),
        notices=[*map(as_typed, about.get("notices", ())), *([about["note"]] if "note" in about else [])],
        scores=None if public else scores_of(map_),
        limit_meaning=MEANING,
        verdicts=None if map_.verdicts is None else _verdicts(map_.verdicts),
        unmade=[point for point in map_.points if not (point.measures if public else point.status == "measured")],
        meanings=meanings(map_),
        risk=chart.drawn_axes(map_)[0],
        declared=DECLARED if declares_hierarchies(map_.study) else None,
        settings=summary.settings,
        has_noisy=any(point.is_noisy for point in map_.points),
    )


def _recommended(map_: Map) -> tuple[list[str], list[str]]:
    """Return the recommendation as sentences, or why there is none."""
    try:
        return summary.brief(map_, map_.choose().point)
    except SfumatoError as error:  # nothing fits, or the map has no two axes
        return [t("brief.nothing", why=str(error).splitlines()[0])], []


def script_of(*names: str) -> str:
    """Concatenate scripts in this order."""
    return source("".join(file(f"scripts/{name}") for name in names))


def content(map_: Map, public: bool) -> dict[str, Any]:
    """Return the data of the page's script."""
    plain = None if public else summary.plain_axes(map_)
    return chart_content(map_, public, plain) | {
        "points": [
            point_content(map_, point, plain is not None)
            | (
                {}
                if public
                else {"details": dict(point.details), "command": summary.anonymize_command(map_.study, point)}
            )
            for point in map_.points
            if point.status == "measured"
        ]
    }


def chart_content(map_: Map, public: bool, plain: tuple[str, str] | None) -> dict[str, Any]:
    """Return the chart's data without points; `plain` are the headlines of the initial axes."""
    measured = [point for point in map_.points if point.status == "measured"]
    verdicts, subject = map_.verdicts, Subject.of(map_)
    return {
        "public": public,
        "axes": list(plain or chart.drawn_axes(map_)),
        "formulas": list(chart.drawn_axes(map_)),
        "forms": list(map_.study.forms),
        "spec": _empty_chart(map_),
        "limit": limit_content(map_),
        "worth": None if verdicts is None else {"marks": verdicts.marks},
        "measures": [
            *(_plain_measure(map_, name, subject) for name in (summary.plain_names(map_) if plain else ())),
            *(
                {
                    "name": measure.name,
                    "label": measure.name,
                    "kind": measure.kind,
                    "better": measure.better,
                    "meaning": measure.meaning,
                    "title": chart.axis_title(measure.name),
                    "ticks": chart.ticks_of(map_, measure.name),
                    "step": chart.step(measure.better),
                }
                for measure in MEASURES.values()
                if any(measure.name in point.measures for point in measured)
            ),
        ],
    }


def point_content(map_: Map, point: Point, plain: bool) -> dict[str, Any]:
    """Return the settings, measures and texts of a point; with `plain` also its place on headlines."""
    texts = point_settings(point) | judged(map_, point) | _said(map_, point)
    return texts | (plain_place(map_, point) if plain else {})


def point_settings(point: Point) -> dict[str, Any]:
    """Return the settings and the measures of a release."""
    return {
        "id": point.id,
        "words": summary.settings(point),
        "anonymizer": point.anonymizer,
        "requirement": "" if chart.requires_nothing(point) else point.requirement,
        "form": point.form,
        "family": chart.family(point),
        "baseline": chart.baseline_label(point),
        "measures": dict(point.measures),
        "intervals": {name: list(ends) for name, ends in point.intervals.items()},
    }


def _plain_measure(map_: Map, name: str, subject: Subject) -> dict[str, Any]:
    """Describe a headline as an axis, in the form of a measure."""
    kind, better = summary.PLAIN[name]
    words = summary.plain_meaning(map_, name, subject.column)
    title = [*wrap(words, TITLE), f"{better} is better"]
    described = {
        "name": name,
        "label": summary.plain_label(name),
        "kind": kind,
        "better": better,
        "meaning": words,
        "title": title,
    }
    return described | {"plain": True, "ticks": None, "step": chart.step(better)}


def plain_place(map_: Map, point: Point) -> dict[str, Any]:
    """Return the place of a release on the headlines, with intervals."""
    intervals = {**point.intervals, **summary.plain_intervals(map_, point)}
    return {
        "plain": summary.plain_values(map_, point),
        "intervals": {name: list(ends) for name, ends in intervals.items()},
    }


def _said(map_: Map, point: Point) -> dict[str, Any]:
    """Return the headlines of a release, the changes of its columns, and every measure with its place on the scale."""
    public = isinstance(map_.study, PublicStudy)
    places = {} if public else {name: place(map_, name, point) for name in point.measures}
    return {
        "headlines": [headline.values() for headline in summary.headlines(map_, point)],
        "done": "" if public else summary.done_sentence(map_, point),
        "sentences": sentences(point.measures, Subject.of(map_), point.by_sensitive),
        "places": {name: [where.share, where.reason] for name, where in places.items()},
    }


def judged(map_: Map, point: Point) -> dict[str, Any]:
    """Return the worth of a release, for its panel and its tooltip."""
    worth = None
    if map_.verdicts is not None and point.worth is not None:
        verdict = "" if point.is_baseline else VERDICTS[point.worth["verdict"]]
        worth = {**point.worth, "told": verdict, "said": of_verdicts.sentence(map_.verdicts, point)}
    return {"worth": worth}


def _verdicts(verdicts: Verdicts) -> dict[str, Any]:
    """Return the worth of the releases of the whole map.

    The public map has no intervals, because these are facts of single folds.
    """
    return {
        "question": of_verdicts.question(verdicts),
        "tally": of_verdicts.tally(verdicts),
        "has_adversary": verdicts.has_adversary,
        "releases": verdicts.releases,
        "references": [point for point in verdicts.known if point.is_baseline],
        "words": VERDICTS,
        "interval": of_verdicts.INTERVAL,
    }


def _empty_chart(map_: Map) -> dict[str, Any]:
    """Return the chart's specification without data, title and legend: the page has its own.

    The page's script sets the axes, and removes the limit's layers if it is not drawn.
    """
    spec = chart.specification(chart.map_chart(map_, *(chart.drawn_axes(map_) if map_.limit is None else AXES)))
    spec["datasets"] = {name: [] for name in spec["datasets"]}
    spec |= {"width": "container", "height": 460, "autosize": {"type": "fit-x", "contains": "padding"}}
    spec["config"] |= {"background": None, "padding": 4}
    del spec["title"]
    return spec


@cache
def vega_script() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that defines only `vegaEmbed`.

    Building it takes a second, so it is cached next to the kernels' machine code.
    """
    kept = cache_folder() / f"vega-{version('vl-convert-python')}.js"
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    script = "(function () {" + libraries("window.vegaEmbed = vegaEmbed;") + "})();"
    with suppress(BadInputError), staged([kept]) as drafts:
        drafts[0].write_text(script, encoding="utf-8")
    return script


def _tried(map_: Map, day: date) -> str:
    """Describe the candidates, the data and the outcome."""
    states = [point.status for point in map_.points]
    text = f"On {day.day} {day:%B %Y}, {counted(len(states), 'candidate release')} of {summary.studied(map_)}"
    measured, infeasible, failed = (states.count(state) for state in ("measured", "infeasible", "failed"))
    if measured == len(states):
        text += "All of them could be made and were measured on the same scales."
    else:
        parts = [f"{measured:,} were made and measured on the same scales"]
        parts += [f"{infeasible:,} cannot be made of this table"] if infeasible else []
        parts += [f"{failed:,} failed"] if failed else []
        text += listed(parts) + "."
    return text


def scores_of(map_: Map) -> Scores | None:
    """Return the scores of a map; None if nothing can be scored."""
    try:
        return map_.scores()
    except BadInputError:  # nothing measured on these axes, or all equal
        return None


def limit_content(map_: Map) -> dict[str, Any] | None:
    """Return the limit for the page's script; None if there is none."""
    if map_.limit is None:
        return None
    named = [bool(row["label"]) for row in chart.limit_rows(map_, *AXES)]
    return {"axes": list(AXES), "points": [list(vertex) for vertex in map_.limit.points], "named": named.index(True)}
