"""A reply to a question in words: what there is, what is around it, how far from the best it is, how to publish it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfumato.measures import MEASURES
from sfumato.phrases import counted, listed, number, percent, section, wrapped
from sfumato.tradeoff import Map, Point, Reply
from sfumato.tradeoff.choice.exposure import refusal, warnings
from sfumato.tradeoff.choice.optimum import Optimum, surpassed
from sfumato.tradeoff.choice.reasons import both
from sfumato.tradeoff.choice.reply import in_numbers, within
from sfumato.words.columns import done_sentence
from sfumato.words.command import release_command
from sfumato.words.data_summary import weights_sentences
from sfumato.words.headlines import headline_lines, headlines
from sfumato.words.points import alike_sentences, not_told_apart, settings


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
