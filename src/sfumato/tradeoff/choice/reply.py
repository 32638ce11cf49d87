"""The reply of a map to a question: the best releases within the bounds, their neighbours, what more would buy.

Every release on the map counts, whoever made it, if it has the measures that are asked about and may be published
(`exposure`). Nothing is searched. A looser bound and a further point only add to what the best are taken of, so neither
makes an answer worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, ClassVar

from sfumato.errors import BadInputError
from sfumato.measures import ATTACK_MEASURES, FIDELITY, MEASURES
from sfumato.phrases import listed, number
from sfumato.quiet import Quiet
from sfumato.requirements import KAnonymity, LDiversity, Requirement
from sfumato.tradeoff.choice.bounds import Bound, Relaxation, nearest_point, relaxation
from sfumato.tradeoff.choice.curve import rank
from sfumato.tradeoff.choice.exposure import ABOUT_HIDING, refusal, shows_exact
from sfumato.tradeoff.choice.optimum import Optimum, optimum
from sfumato.tradeoff.choice.question import SHARE, Question, read_question
from sfumato.tradeoff.dominance import cost

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map, Point
    from sfumato.tradeoff.study.study import Study

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""The shares of suppressed records by which a reply says how much suppression helps."""

SUBJECTS = {"table": "a table", "baskets": "baskets", "items": "a table with items"}
"""What maps are of, by the section of their study."""


@dataclass(frozen=True, repr=False)
class Reply(Quiet):
    """What a map says to a question."""

    spoken: ClassVar[tuple[str, ...]] = ("question",)

    question: Question
    best: tuple[Point, ...]
    """The releases within the bounds that none other there equals or beats in what is asked; none if nothing fits."""

    cheaper: Point | None
    """The next step down the frontier: the best with less of what the first bound is on."""

    dearer: Point | None
    """The next step up: what is better than the best, or all that fits, at the least cost beyond the first bound."""

    bought: tuple[Point, ...]
    """What the relaxed bounds offer and the bounds do not."""

    by_maker: tuple[tuple[str, Point | None], ...]
    """The best release of every maker, the best first; None where nothing of it fits."""

    by_suppression: tuple[tuple[float, Point | None], ...]
    """By the largest share of suppressed records, where it makes a difference, the best release."""

    bound: Optimum | None
    """How far from the best possible the answer can be, where that is known."""

    refused: tuple[Point, ...]
    """What would fit but may not be published."""

    passed_over: tuple[Point, ...]
    """What would fit, but shows exact quasi-identifiers, and the question is how well these are hidden."""

    relax: tuple[Relaxation, ...]
    """Where nothing fits: what each bound would have to be, the others kept."""

    nearest: Point | None

    @property
    def answer(self) -> Point | None:
        """The first of the best; None where nothing fits."""
        return self.best[0] if self.best else None

    def __str__(self) -> str:
        lines = [f"  {point.id}: {in_numbers(point, self.question)}" for point in self.best]
        return "\n".join([str(self.question), *(lines or ["  nothing on this map fits"])])


def ask(map_: Map, question: Question | str) -> Reply:
    """Answer a question such as `k within loss 0.25` over all releases of a map: `docs/choosing.md` has the grammar."""
    asked = read_question(question) if isinstance(question, str) else question
    return _Asked(map_, asked).reply()


def check_subject(question: Question, study: Study) -> None:
    """Raise where a question is about a measure of baskets and the study about a table, or the other way round."""
    for name in question.measures:
        if not MEASURES[name].is_said_of(study.section):
            raise BadInputError(
                f"{name} is said of {SUBJECTS[MEASURES[name].said_of]}, and this study is of {SUBJECTS[study.section]}"
            )


def required(map_: Map) -> tuple[str, ...]:
    """Name the privacies that all measured releases in ranges require, k first; k where there is none."""
    releases = [
        p for p in map_.points if p.status == "measured" and p.is_grouped and not (p.is_baseline or shows_exact(p))
    ]
    names = []
    for point in releases:
        wanted = point.candidate.requirement
        parts = wanted.parts if isinstance(wanted, Requirement) else ()
        l_names = {f"l_{part.variant}" for part in parts if isinstance(part, LDiversity)}
        names.append({"k" for part in parts if isinstance(part, KAnonymity)} | (l_names & set(MEASURES)))
    common = reduce(set.__and__, names) if names else set()
    return tuple(sorted(common)) or ("k",)


def in_numbers(point: Point, question: Question) -> str:
    """Write what a question is about of a point: the measures asked for, at those that are bounded."""
    texts = {name: f"{name} {number(point.measures[name])}" for name in question.measures if point.has([name])}
    paid = [texts[name] for name in question.measures if name in texts and name not in question.asked]
    return listed(texts[name] for name in question.asked if name in texts) + (f" at {listed(paid)}" if paid else "")


@dataclass(frozen=True, repr=False)
class _Asked(Quiet):
    """A question put to a map."""

    map_: Map
    question: Question

    def reply(self) -> Reply:
        question = self.question
        self._check_known()
        known = [point for point in self.map_.points if point.has(question.measures)]
        hiding = bool(ABOUT_HIDING & set(question.measures))
        may = [point for point in known if not refusal(point)]
        counted = [point for point in may if not (hiding and shows_exact(point))]
        best = self._best(counted, question.bounds)
        more = self._best(counted, question.loosened) if question.relaxed else ()
        cheaper, dearer = self._neighbours(counted, best)
        return Reply(
            question,
            best,
            cheaper,
            dearer,
            tuple(point for point in more if not self._offered(point, best)),
            self._by_maker(counted) if "maker" in question.by else (),
            self._by_suppression(counted) if "suppression" in question.by else (),
            optimum(self.map_, question, best[0]) if best else None,
            tuple(point for point in within(known, question.bounds) if refusal(point)),
            tuple(point for point in within(may, question.bounds) if hiding and shows_exact(point)),
            () if best else self._relaxations(counted),
            None if best else nearest_point(counted, question.bounds),
        )

    def _check_known(self) -> None:
        """Raise where a measure is on no point."""
        check_subject(self.question, self.map_.study)
        known = [name for name in MEASURES if any(point.has([name]) for point in self.map_.points)]
        needed = [*self.question.measures, *([SHARE] if "suppression" in self.question.by else [])]
        for name in needed:
            if known and name not in known:
                raise BadInputError(f"no point of this map has the measure {name!r}{self._remedy(name, known)}")

    def _remedy(self, name: str, known: Sequence[str]) -> str:
        """Say where a measure that a map lacks is to be had; where it is not, what the map has."""
        if name == "epsilon":
            return ": only differentially private releases have one; --search 60s looks for some"
        if name in (*FIDELITY, *ATTACK_MEASURES):
            return ": it is measured where it is asked for; ask the study itself instead of its map"
        return f"; it has {', '.join(known)}"

    def _order(self, point: Point) -> tuple[object, ...]:
        """Order points by what is asked, then by what it costs; ties are decided."""
        return (*(cost(name, point.measures[name]) for name in self.question.measures), rank(point))

    def _best(self, points: Iterable[Point], bounds: Sequence[Bound]) -> tuple[Point, ...]:
        """Return the points within bounds that none other there equals or beats in what is asked, the first first."""
        kept: list[Point] = []
        for point in sorted(within(points, bounds), key=self._order):
            if not self._offered(point, kept):
                kept.append(point)
        return tuple(kept)

    def _offered(self, point: Point, others: Iterable[Point]) -> bool:
        return any(
            all(cost(name, other.measures[name]) <= cost(name, point.measures[name]) for name in self.question.asked)
            for other in others
        )

    def _neighbours(self, counted: Sequence[Point], best: Sequence[Point]) -> tuple[Point | None, Point | None]:
        """Find the next steps on the frontier of what is asked and the first bound, the other bounds kept."""
        if not self.question.bounds:
            return None, None
        first, *others = self.question.bounds

        def paid(point: Point) -> float:
            value = point.measures[first.measure]
            return value if first.side == "max" else -value

        pool = within(counted, others)
        below = [point for point in pool if best and paid(point) < paid(best[0])]
        beyond = [point for point in pool if not first.admits(point) and not self._offered(point, best)]
        cheaper = min(below, key=self._order, default=None)
        dearer = min(beyond, key=lambda point: (paid(point), self._order(point)), default=None)
        return cheaper, dearer

    def _by_maker(self, counted: Sequence[Point]) -> tuple[tuple[str, Point | None], ...]:
        names = dict.fromkeys(point.candidate.anonymizer.name for point in counted)
        first: dict[str, Point | None] = {}
        for name in names:
            best = self._best([p for p in counted if p.candidate.anonymizer.name == name], self.question.bounds)
            first[name] = best[0] if best else None
        some = sorted(((name, p) for name, p in first.items() if p), key=lambda entry: self._order(entry[1]))
        return (*some, *((name, None) for name, point in first.items() if point is None))

    def _by_suppression(self, counted: Sequence[Point]) -> tuple[tuple[float, Point | None], ...]:
        others = [bound for bound in self.question.bounds if bound.measure != SHARE]
        rows: list[tuple[float, Point | None]] = []
        for share in SHARES:
            best = self._best(counted, [*others, Bound(SHARE, "max", share)])
            point = best[0] if best else None
            if not rows or point is not rows[-1][1]:
                rows.append((share, point))
        return tuple(rows)

    def _relaxations(self, counted: Sequence[Point]) -> tuple[Relaxation, ...]:
        bounds = self.question.bounds
        return tuple(
            relaxation([(p.measures[b.measure], p) for p in counted], b, [other for other in bounds if other is not b])
            for b in bounds
        )


def within(points: Iterable[Point], bounds: Sequence[Bound]) -> list[Point]:
    """List the points that all bounds admit."""
    return [point for point in points if all(bound.admits(point) for bound in bounds)]
