"""The purpose page: what the user's analysis asked, and what every release keeps of it. Internal."""

from datetime import date
from typing import Any

from sfumato.measures.analysis.findings import Finding
from sfumato.report.point_summary import settings
from sfumato.texts.catalogue import number, t
from sfumato.texts.html import render
from sfumato.tradeoff.map import Map
from sfumato.tradeoff.question.answer import KEPT, NothingFitsError


def purpose_page(map_: Map, day: date) -> str | None:
    """Render the page; None if no release was analysed."""
    judged = [point for point in map_.points if "analysis" in point.details]
    if not judged:
        return None
    asked = judged[0].details["analysis"]
    kept = [[not each["lost_by"] for each in point.details["analysis"]["conclusions"]] for point in judged]
    return render(
        "purpose.html",
        name=map_.study.name,
        day=f"{day:%Y-%m-%d}",
        rule=asked["rule"],
        digest=asked["digest"],
        answer=_answer(map_),
        conclusions=[
            (each["analysis"], each["name"], _in_words(each["original"]), sum(one[i] for one in kept), len(kept))
            for i, each in enumerate(asked["conclusions"])
        ],
        releases=[
            {
                "id": point.id,
                "settings": settings(point),
                "kept": point.measures[KEPT],
                "reading": point.details["analysis"]["reading"],
                "lost": [
                    (f"{each['analysis']}: {each['name']}", _in_words(each["released"]), each["lost_by"])
                    for each in point.details["analysis"]["conclusions"]
                    if each["lost_by"]
                ],
            }
            for point in sorted(judged, key=lambda point: -point.measures[KEPT])
        ],
    )


def _answer(map_: Map) -> str:
    """Return the answer to "safest release that keeps analysis"."""
    try:
        choice = map_.choose(by="analysis")
    except NothingFitsError as error:
        return str(error).splitlines()[0]
    return t("analysis.answer", id=choice.point.id, recipient=choice.recipient or t("analysis.nobody"))


def _in_words(values: Any) -> str:
    """Return estimate and interval as text."""
    if values is None:
        return t("analysis.lost_missing")
    found = Finding("", "", *values)
    ends = f" ({number(found.low, 4)} to {number(found.high, 4)})" if found.has_interval else ""  # type: ignore[arg-type]
    return f"{number(found.estimate, 4)}{ends}"
