"""A choice in words: which point, why, what else is known of it, what is around it, and how to publish it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sfumato.measures import MEASURES
from sfumato.phrases import number, section, wrapped
from sfumato.texts.catalogue import t
from sfumato.tradeoff import Choice, Map
from sfumato.tradeoff.choice.curve import Step
from sfumato.tradeoff.choice.exposure import is_unchanged
from sfumato.tradeoff.choice.reasons import stretch
from sfumato.words.columns import done_sentence
from sfumato.words.data_summary import weights_sentences
from sfumato.words.disagreements import sentence
from sfumato.words.headlines import headline_lines, headlines
from sfumato.words.points import alike_sentences, not_told_apart, settings
from sfumato.words.verdicts import advice


def choice_lines(choice: Choice, map_: Map, command: str) -> Iterator[str]:
    """Write a choice as lines for the terminal."""
    point = choice.point
    trivial = choice.kept is not None and choice.kept.is_trivial
    if is_unchanged(point) or trivial:
        yield wrapped(choice.warnings[0]).lstrip()
    yield t("choice.point", point=point, settings=settings(point))
    yield from headline_lines(map_, point)
    if done := done_sentence(map_, point):
        yield wrapped(t("choice.what_done", done=done))
    yield ""
    for name in [name for name in choice.compared if point.has([name])]:
        arrow = "^" if MEASURES[name].better == "higher" else "v"
        yield f"  {name:18} {number(point.measures[name]):>10} {arrow} {MEASURES[name].meaning}"
    yield from (f"\n{wrapped(sentence).lstrip()}" for sentence in weights_sentences(map_))
    worth = advice(map_, point)
    steps = [_next_step(step, choice.axes) for step in choice.slope if step.start == point.id]
    ways = choice.landmarks.items() if choice.by == "best" else ()  # else the reasons say where they disagree
    others = [f"{by}: {id}" for by, id in ways if id not in (None, point.id)]
    neighbours = [f"{each.side}: {each.said} [{settings(map_[each.point])}]" for each in choice.neighbours]
    yield from section(t("choice.why_one"), choice.why)
    yield from section(t("choice.what_cannot"), alike_sentences(map_.points, choice.point, choice.axes))
    yield from section(t("choice.worth"), [worth] if worth else [])
    yield from section(t("choice.do_axes"), _disagreements(choice, map_))
    yield from section(t("choice.before_you"), choice.warnings)
    yield from section(t("choice.neighbours_frontier", choice=choice), neighbours)
    yield from section(t("choice.what_privacy"), [*steps, *(stretch(each, choice.axes) for each in choice.stretches)])
    yield from section(t("choice.other_ways"), others)
    yield from section(t("choice.quadrant_points"), [choice.quadrant.said])
    yield t("choice.publish", command=command)


def choice_values(choice: Choice, map_: Map) -> dict[str, Any]:
    """Return a choice as plain values, with what else is said of its point."""
    values, worth = choice.to_dict(), advice(map_, choice.point)
    values["weights"] = map_.about.get("weights", {})
    values["headlines"] = [headline.values() for headline in headlines(map_, choice.point)]
    values["done"] = done_sentence(map_, choice.point)
    values["not_told_apart"] = [rival.id for rival in not_told_apart(map_.points, choice.point, choice.axes)]
    return values | {"worth": worth, "disagreements": _disagreements(choice, map_), "relax": []}


def _disagreements(choice: Choice, map_: Map) -> list[str]:
    """Say where the point looks good by one measure and bad by another of the same kind."""
    if map_.disagreements is None:
        return []
    return [sentence(each) for each in map_.disagreements.of_point(choice.point, choice.axes)]


def _next_step(step: Step, axes: tuple[str, str]) -> str:
    """Say what the next step of privacy costs, in all and for each unit."""
    first, second = axes
    rate = "" if step.rate is None else t("choice.each_unit", step=step, second=second, first=first)
    return t("choice.next_step", step=step, second=second, first=first, rate=rate)
