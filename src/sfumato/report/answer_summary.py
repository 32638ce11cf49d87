"""A reply to a question in words: what there is, what is around it, how far from the best it is, how to publish it.

A choice in words: which point, why, what else is known of it, what is around it, and how to publish it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfumato.measures.all_measures import MEASURES
from sfumato.report.disagreements import sentence
from sfumato.report.kinds.table import weights_sentences
from sfumato.report.point_summary import (
    alike_sentences,
    done_sentence,
    headline_lines,
    headlines,
    not_told_apart,
    release_command,
    settings,
)
from sfumato.report.verdicts import advice
from sfumato.texts.format import counted, listed, number, percent, section, wrapped
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.answer import Choice, Reply, in_numbers, within
from sfumato.tradeoff.question.best_possible import Optimum, surpassed
from sfumato.tradeoff.question.curve import Step
from sfumato.tradeoff.question.reasons import both, stretch
from sfumato.tradeoff.question.recipients import is_unchanged, refusal, warnings


def reply_values(reply: Reply, map_: Map, folder: Path) -> dict[str, Any]:
    """Return a reply as plain values."""
    answer = reply.answer
    neighbours = {"cheaper": reply.cheaper, "dearer": reply.dearer}
    return {
        "question": str(reply.question),
        "answer": None if answer is None else _values(answer, answer_words(reply)),
        "headlines": [] if answer is None else [headline.values() for headline in headlines(map_, answer)],
        "done": None if answer is None else done_sentence(map_, answer),
        "others": [_values(point, place_words(point, reply)) for point in reply.best[1:]],
        "not_told_apart": [] if answer is None else [rival.id for rival in _rivals(reply, map_)],
        "neighbours": [
            {"side": side, **_values(point, place_words(point, reply))}
            for side, point in neighbours.items()
            if point is not None
        ],
        "bound": None if reply.bound is None else vars(reply.bound) | {"words": bound_words(reply, map_)},
        "why_no_bound": bound_words(reply, map_) if reply.bound is None else None,
        "relaxed": [_values(point, place_words(point, reply)) for point in reply.bought],
        "by_maker": [{"maker": maker, **_row(point, reply)} for maker, point in reply.by_maker],
        "by_suppression": [{"suppressed": share, **_row(point, reply)} for share, point in reply.by_suppression],
        "why": [] if answer is not None else list(nothing_fits(reply)),
        "weights": map_.about.get("weights", {}),
        "notes": list(note_words(reply)),
        "command": None if answer is None else release_command(folder, map_, answer),
    }


def reply_lines(reply: Reply, map_: Map, folder: Path) -> Iterator[str]:
    """Write a reply that has an answer as lines for the terminal."""
    answer = reply.answer
    assert answer is not None
    yield wrapped(answer_words(reply)).lstrip()
    yield ""
    yield from headline_lines(map_, answer)
    if done := done_sentence(map_, answer):
        yield wrapped(f"What was done: {done}")
    yield from section("Also among the best", (place_words(point, reply) for point in reply.best[1:]))
    alike = alike_sentences(within(map_.points, reply.question.bounds), answer, reply.question.asked)
    yield from section("What it cannot be told from", alike)
    around = {"cheaper": reply.cheaper, "the next step": reply.dearer}
    yield from section(
        "Its neighbours",
        (f"{side}: {place_words(point, reply)}" for side, point in around.items() if point is not None),
    )
    if reply.question.relaxed:
        bought = [place_words(point, reply) for point in reply.bought]
        more = listed(bound.typed for bound in reply.question.relaxed)
        yield from section(f"With {more} also", bought or ["nothing better"])
    yield from section("By maker", (f"{maker}: {_place(point, reply)}" for maker, point in reply.by_maker))
    rows = ((f"at most {percent(s, 3)}" if s else "no record", point) for s, point in reply.by_suppression)
    yield from section("By suppression", (f"{share} suppressed: {_place(point, reply)}" for share, point in rows))
    yield from section("How far from the best possible", [bound_words(reply, map_)])
    yield from section("What a loss is here", weights_sentences(map_))
    yield from section("What does not count", note_words(reply))
    which = "it" if len(reply.best) == 1 else "the first of them"
    yield f"\nTo publish {which}:\n  {release_command(folder, map_, answer)}"


def _rivals(reply: Reply, map_: Map) -> list[Point]:
    """List the releases within the bounds that the answer is ahead of by no more than the draw."""
    assert reply.answer is not None
    return not_told_apart(within(map_.points, reply.question.bounds), reply.answer, reply.question.asked)


def answer_words(reply: Reply) -> str:
    """Say what the answer is, in sentences; what it shows of people comes before all else."""
    answer, question = reply.answer, reply.question
    assert answer is not None
    within = f" with {listed(question.bounds)}" if question.bounds else ""
    extreme = listed(f"{'most' if MEASURES[name].better == 'higher' else 'least'} {name}" for name in question.asked)
    one = (
        "is in" if len(reply.best) == 1 else f"is in {len(reply.best)} releases, of which none beats another; first in"
    )
    first = "".join(f"Before you publish point {answer.id}: {text[0].lower()}{text[1:]} " for text in warnings(answer))
    return f"{first}The {extreme} on this map{within} {one} point {place_words(answer, reply)}"


def place_words(point: Point, reply: Reply) -> str:
    """Say where a release lies and how it is made."""
    return f"{point.id}: {in_numbers(point, reply.question)} ({settings(point)})."


def bound_words(reply: Reply, map_: Map) -> str:
    """Say how far from the best possible the answer can be, or why that is not known."""
    asked = reply.question.asked
    if reply.answer is None:
        return "Nothing fits, so there is nothing to compare."
    if reply.bound is not None:
        return _bound(reply.bound, reply.answer, len(asked) > 1)
    beyond = surpassed(map_, reply.question, reply.answer)
    if beyond is not None:
        best, here = both(beyond.value, reply.answer.measures[beyond.measure])
        better = "more" if MEASURES[beyond.measure].better == "higher" else "less"
        return (
            f"Not known of all releases, but it is beyond what one kind can do: no {beyond.among} has {better} "
            f"{beyond.measure} than {best} within these bounds; this one has {here}."
        )
    if {"p_loss", "u_loss"} <= set(reply.question.measures):
        known = "says only that it is not below 0 here" if map_.limit else "was not worked out for this map"
        return f"Not known: the limit of {asked[0]} {known}."
    return (
        f"Not known: no bound on {asked[0]} is proved for this question. A limit is known for u_loss within p_loss, "
        "and the other way round; what whole levels can have of k within loss, and of loss within k, where "
        "full-domain on this map decided it; what cuts can have of what they were searched for, where a space was so "
        "small that all of them were looked at. A search may find better (--search 60s)."
    )


def note_words(reply: Reply) -> Iterator[str]:
    """Say what was left out, and why."""
    if refused := [point for point in reply.refused if point.anonymizer != "original"]:
        many = "" if len(refused) == 1 else f", and {len(refused) - 1:,} more like it"
        yield f"Point {refused[0].id}, which {refusal(refused[0])}{many}."
    if reply.passed_over:
        yield (
            f"{counted(len(reply.passed_over), 'release')} with exact quasi-identifiers: "
            f"{listed(reply.question.measures)} say how well quasi-identifiers are hidden, and these do not hide them."
        )
    for bound in reply.question.bounds:
        if not bound.is_natural:
            better = MEASURES[bound.measure].better
            yield f"{bound.measure} is better when {better}: {bound} cuts off the better values."


def nothing_fits(reply: Reply) -> Iterator[str]:
    """Say what would have to be relaxed, one bound at a time, and what comes nearest."""
    bounds = reply.question.bounds
    within = f" has {listed(bounds)}" if bounds else f" has {listed(reply.question.asked)}"
    yield f"no release on this map that may be published{within}."
    for each in reply.relax:
        if each.relaxed is None:
            yield f"Relaxing {each.bound.measure} alone does not help."
        else:
            kept = "" if len(bounds) == 1 else ", all else kept,"
            yield f"With {each.relaxed.typed} instead of {number(each.bound.value)}{kept} {each.point} would fit."
    if reply.nearest is not None:
        yield f"The nearest is {place_words(reply.nearest, reply)}"
    yield from note_words(reply)


def _bound(known: Optimum, answer: Point, several: bool) -> str:
    """Say what the best possible is; of several measures that are asked for, of the first alone."""
    here, best = both(answer.measures[known.measure], known.value)
    better = "more" if MEASURES[known.measure].better == "higher" else "less"
    alone = f" This is said of {known.measure} alone." if several else ""
    if known.gap == 0:
        return f"No {known.among} has {better} {known.measure} within these bounds.{alone}"
    return f"No {known.among} has {better} {known.measure} than {best} within these bounds; this one has {here}.{alone}"


def _values(point: Point, words: str) -> dict[str, Any]:
    return {"id": point.id, "measures": dict(point.measures), "words": words}


def _row(point: Point | None, reply: Reply) -> dict[str, Any]:
    return {"id": None} if point is None else _values(point, place_words(point, reply))


def _place(point: Point | None, reply: Reply) -> str:
    return "nothing fits" if point is None else place_words(point, reply)


def choice_lines(choice: Choice, map_: Map, command: str) -> Iterator[str]:
    """Write a choice as lines for the terminal."""
    point = choice.point
    trivial = choice.kept is not None and choice.kept.is_trivial
    if is_unchanged(point) or trivial:
        yield wrapped(choice.warnings[0]).lstrip()
    yield f"Point {point.id}: {settings(point)}.\n"
    yield from headline_lines(map_, point)
    if done := done_sentence(map_, point):
        yield wrapped(f"What was done: {done}")
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
    yield from section("Why this one", choice.why)
    yield from section("What it cannot be told from", alike_sentences(map_.points, choice.point, choice.axes))
    yield from section("Is it worth it", [worth] if worth else [])
    yield from section("Do the axes agree", _disagreements(choice, map_))
    yield from section("Before you publish it", choice.warnings)
    yield from section(f"Its neighbours on the frontier of {listed(choice.axes)}", neighbours)
    yield from section(
        "What privacy costs along the frontier", [*steps, *(stretch(each, choice.axes) for each in choice.stretches)]
    )
    yield from section("Other ways to choose (--by) recommend within the same bounds", others)
    yield from section("The quadrant, points within the bounds on both axes", [choice.quadrant.said])
    yield f"\nTo publish it:\n  {command}"


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
    rate = "" if step.rate is None else f", {number(step.rate)} of {second} for each unit of {first}"
    return (
        f"The next step of privacy, to {step.end}, costs {number(step.cost)} of {second} for {number(step.gain)} of "
        f"{first}{rate}."
    )
