"""The printed answer to a question, and the printed choice: the point, reasons, neighbours, and how to publish it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfumato.measures.all_measures import MEASURES
from sfumato.report import point_summary as summary
from sfumato.report.data_summary import weights_sentences
from sfumato.report.verdicts import advice
from sfumato.texts.catalogue import listed, number, section, t, wrapped
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.answer import Choice, Reply, in_numbers, within
from sfumato.tradeoff.question.best_possible import Optimum, surpassed
from sfumato.tradeoff.question.question import Question
from sfumato.tradeoff.question.reasons import both
from sfumato.tradeoff.question.recipients import is_unchanged, unpublishable_reason, warnings


def reply_values(reply: Reply, map_: Map, folder: Path) -> dict[str, Any]:
    """Return a reply as plain values."""
    answer = reply.answer
    neighbours = {"cheaper": reply.cheaper, "dearer": reply.dearer}
    return {
        "question": str(reply.question),
        "answer": None if answer is None else _values(answer, answer_words(reply)),
        "headlines": [] if answer is None else [headline.values() for headline in summary.headlines(map_, answer)],
        "done": None if answer is None else summary.done_sentence(map_, answer),
        "others": [_values(point, place_words(point, reply)) for point in reply.best[1:]],
        "neighbours": [
            {"side": side, **_values(point, place_words(point, reply))}
            for side, point in neighbours.items()
            if point is not None
        ],
        "bound": None if reply.bound is None else vars(reply.bound) | {"words": bound_words(reply, map_)},
        "why_no_bound": bound_words(reply, map_) if reply.bound is None else None,
        "relaxed": [_values(point, place_words(point, reply)) for point in reply.bought],
        "tried": tried_words(reply, map_),
        "why": [] if answer is not None else list(nothing_fits(reply)),
        "weights": map_.about.get("weights", {}),
        "notes": list(note_words(reply)),
        "command": None if answer is None else summary.release_command(folder, map_, answer),
    }


def reply_lines(reply: Reply, map_: Map, folder: Path) -> Iterator[str]:
    """Return the lines of a reply that has an answer."""
    answer = reply.answer
    assert answer is not None
    yield wrapped(answer_words(reply)).lstrip()
    yield ""
    yield from summary.headline_lines(map_, answer)
    if done := summary.done_sentence(map_, answer):
        yield wrapped(t("reply.what_done", done=done))
    yield from section(t("reply.also_among"), (place_words(point, reply) for point in reply.best[1:]))
    around = {"cheaper": reply.cheaper, t("reply.next_step"): reply.dearer}
    yield from section(
        t("reply.neighbours"),
        (f"{side}: {place_words(point, reply)}" for side, point in around.items() if point is not None),
    )
    yield from _asked_besides(reply)
    yield from section(t("reply.what_tried"), [tried_words(reply, map_)])
    yield from section(t("reply.how_far"), [bound_words(reply, map_)])
    yield from section(t("reply.what_loss"), weights_sentences(map_))
    yield from section(t("reply.what_does"), note_words(reply))
    which = "it" if len(reply.best) == 1 else t("reply.first_them")
    yield t("reply.publish", which=which, release_command=summary.release_command(folder, map_, answer))


def reply_brief(reply: Reply, map_: Map, folder: Path) -> Iterator[str]:
    """Return a short reply: the answer, the headlines, the distance from the best possible, how to publish it."""
    answer = reply.answer
    assert answer is not None
    yield wrapped(answer_words(reply), width=summary.SHORT).lstrip()
    _, *facts = summary.brief_lines(map_, answer)
    yield from facts
    yield from _asked_besides(reply)
    yield wrapped(tried_words(reply, map_), width=summary.SHORT).lstrip()
    if reply.bound is not None:
        yield wrapped(t("brief.bound", bound=bound_words(reply, map_)), width=summary.SHORT).lstrip()
    yield t("brief.publish", command=summary.release_command(folder, map_, answer))


def _asked_besides(reply: Reply) -> Iterator[str]:
    """Describe what weaker bounds of the question give."""
    if reply.question.relaxed:
        bought = [place_words(point, reply) for point in reply.bought]
        more = listed(bound.typed for bound in reply.question.relaxed)
        yield from section(t("reply.also", more=more), bought or [t("reply.nothing_better")])


def answer_words(reply: Reply) -> str:
    """Describe the answer; what it shows of people comes first."""
    answer, question = reply.answer, reply.question
    assert answer is not None
    within = t("reply.with", question=question) if question.bounds else ""
    extreme = listed(
        f"{t('reply.most') if MEASURES[name].better == 'higher' else t('reply.least')} {name}"
        for name in question.asked
    )
    one = t("reply.is_in") if len(reply.best) == 1 else t("reply.releases_which", best=len(reply.best))
    first = "".join(
        t("reply.before_you", answer=answer, text=text[0].lower(), text2=text[1:]) for text in warnings(answer)
    )
    place = place_words(answer, reply)
    return t("reply.map_point", first=first, extreme=extreme, within=within, one=one, place=place)


def place_words(point: Point, reply: Reply) -> str:
    """Describe the place of a release and its settings."""
    return f"{point.id}: {in_numbers(point, reply.question)} ({summary.settings(point)})."


def bound_words(reply: Reply, map_: Map) -> str:
    """Describe the distance of the answer from the best possible, or why it is unknown."""
    asked = reply.question.asked
    if reply.answer is None:
        return t("reply.nothing_fits_so")
    if reply.bound is not None:
        return _bound(reply.bound, reply.answer, len(asked) > 1)
    beyond = surpassed(map_, reply.question, reply.answer)
    if beyond is not None:
        best, here = both(beyond.value, reply.answer.measures[beyond.measure])
        better = "more" if MEASURES[beyond.measure].better == "higher" else "less"
        return t("reply.not_known_all", beyond=beyond, better=better, best=best, here=here)
    if {"p_loss", "u_loss"} <= set(reply.question.measures):
        known = t("reply.says_only") if map_.limit else t("reply.not_worked")
        return t("reply.not_known_limit", asked=asked[0], known=known)
    return t("reply.not_known", asked=asked[0])


MOST_NAMED = 5
"""The most anonymizers that the sentence about what was tried names."""


def tried_words(reply: Reply, map_: Map) -> str:
    """Describe how many releases were tried, with the best of each anonymizer, or the nearest outside the bounds."""
    name = reply.question.asked[0]
    points = [point for point in map_.points if point.status == "measured" and not point.is_baseline]
    inside = {id(point) for point in within((point for _, point in reply.tried), reply.question.bounds)}
    fit = [f"{maker} {number(point.measures[name])}" for maker, point in reply.tried if id(point) in inside]
    more = [t("reply.tried_more", n=len(fit) - MOST_NAMED)] if len(fit) > MOST_NAMED else []
    left = [
        f"{maker} ({in_numbers(point, reply.question)})" for maker, point in reply.tried if id(point) not in inside
    ][:MOST_NAMED]
    beyond = t("reply.tried_beyond", makers=left) if left else ""
    return t("reply.tried", n=len(points), name=name, best=[*fit[:MOST_NAMED], *more], beyond=beyond)


def note_words(reply: Reply) -> Iterator[str]:
    """Describe the omitted releases with reasons."""
    if refused := [point for point in reply.refused if point.anonymizer != "original"]:
        many = "" if len(refused) == 1 else t("reply.more_like", refused=len(refused) - 1)
        yield t("reply.point_which", id_=refused[0].id, refusal=unpublishable_reason(refused[0]), many=many)
    if reply.passed_over:
        yield (t("reply.exact_quasi", passed_over=len(reply.passed_over), reply=reply))
    for bound in reply.question.bounds:
        if not bound.is_natural:
            better = MEASURES[bound.measure].better
            yield t("reply.better_when", bound=bound, better=better)


def nothing_fits(reply: Reply) -> Iterator[str]:
    """Describe the necessary relaxation of each bound, and the nearest release."""
    bounds = reply.question.bounds
    within = t("reply.has_2", bounds=bounds) if bounds else t("reply.has", reply=reply)
    yield t("reply.no_release", within=within)
    for each in reply.relax:
        if each.relaxed is None:
            yield t("reply.relaxing_alone", each=each)
        else:
            kept = "" if len(bounds) == 1 else t("reply.all_else")
            yield t("reply.instead_would", each=each, kept=kept)
    if reply.nearest is not None:
        yield t("reply.nearest", place_words=place_words(reply.nearest, reply))
    yield from note_words(reply)


def _bound(known: Optimum, answer: Point, several: bool) -> str:
    """Describe the best possible value; of several measures only the first."""
    here, best = both(answer.measures[known.measure], known.value)
    better = "more" if MEASURES[known.measure].better == "higher" else "less"
    alone = t("reply.said_alone", known=known) if several else ""
    if known.gap == 0:
        return t("reply.no_within", known=known, better=better, alone=alone)
    return t("reply.no_than", known=known, better=better, best=best, here=here, alone=alone)


def _values(point: Point, words: str) -> dict[str, Any]:
    return {"id": point.id, "measures": dict(point.measures), "words": words}


def choice_brief(choice: Choice, map_: Map, command: str) -> Iterator[str]:
    """Return a short choice: the verdict, the headlines, the first reason, how to publish it."""
    yield from summary.brief_lines(map_, choice.point)
    why, *_ = choice.why or [""]
    texts = [t("brief.why", why=why), *(t("brief.caution", text=text) for text in choice.warnings[:1])]
    yield from (wrapped(text, width=summary.SHORT).lstrip() for text in texts)
    if choice.prefer and any(bound.is_given for bound in choice.bounds):
        yield wrapped(
            t("brief.map_alone", question=Question((choice.prefer,), choice.bounds)), width=summary.SHORT
        ).lstrip()
    yield t("brief.publish", command=command)


def choice_lines(choice: Choice, map_: Map, command: str) -> Iterator[str]:
    """Return the lines of a choice."""
    point = choice.point
    trivial = choice.kept is not None and choice.kept.is_trivial
    if is_unchanged(point) or trivial:
        yield wrapped(choice.warnings[0]).lstrip()
    yield t("choice.point", point=point, settings=summary.settings(point))
    yield from summary.headline_lines(map_, point)
    if done := summary.done_sentence(map_, point):
        yield wrapped(t("choice.what_done", done=done))
    yield ""
    for name in [name for name in choice.compared if point.has([name])]:
        arrow = "^" if MEASURES[name].better == "higher" else "v"
        yield f"  {name:18} {number(point.measures[name]):>10} {arrow} {MEASURES[name].meaning}"
    yield from (f"\n{wrapped(sentence).lstrip()}" for sentence in weights_sentences(map_))
    worth = advice(map_, point)
    ways = choice.landmarks.items() if choice.by == "best" else ()  # otherwise the reasons list differences
    others = [f"{by}: {id}" for by, id in ways if id not in (None, point.id)]
    neighbours = [f"{each.side}: {each.said} [{summary.settings(map_[each.point])}]" for each in choice.neighbours]
    yield from section(t("choice.why_one"), choice.why)
    yield from section(t("choice.worth"), [worth] if worth else [])
    yield from section(t("choice.before_you"), choice.warnings)
    yield from section(t("choice.neighbours_frontier", choice=choice), neighbours)
    yield from section(t("choice.other_ways"), others)
    yield t("choice.publish", command=command)


def choice_values(choice: Choice, map_: Map) -> dict[str, Any]:
    """Return a choice as plain values, with the texts about its point."""
    values, worth = choice.to_dict(), advice(map_, choice.point)
    values["weights"] = map_.about.get("weights", {})
    values["headlines"] = [headline.values() for headline in summary.headlines(map_, choice.point)]
    values["done"] = summary.done_sentence(map_, choice.point)
    return values | {"worth": worth, "relax": []}
