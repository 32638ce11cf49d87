"""Choosing one point of a map by the knee, bounds or the recipient, with reasons; and the reply to a question.

**Choice.** Loukides et al. 2012 (knee), Cormode et al. 2013 (ideal corner, recipients). Only measured
points count. The original ends many frontiers, so it helps to find the knee; it is never recommended.

**Reply.** The best releases within the bounds, their neighbours, and the gain from relaxed bounds. Every release on the
map counts if it has the measures in question and may be published (`recipients`). Nothing is searched. A looser bound
or a further point only adds releases, so neither makes an answer worse.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.config.options import check_choice
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.measures.all_measures import ANALYSIS, ATTACK_MEASURES, FIDELITY, MEASURES, READ_NOISY
from sfumato.runtime.arrays import RedactedRepr
from sfumato.texts.catalogue import listed, number, refusal, t
from sfumato.tradeoff.comparison import cost
from sfumato.tradeoff.question import question as questions
from sfumato.tradeoff.question import reasons
from sfumato.tradeoff.question.best_possible import Optimum, impossible, optimum
from sfumato.tradeoff.question.knee import Curve, KeptShares, Scale
from sfumato.tradeoff.question.recipients import (
    ABOUT_HIDING,
    EXACT,
    RECIPIENTS,
    shows_exact,
    unpublishable_reason,
    warnings,
)

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map, Point
    from sfumato.tradeoff.study.study import Study

BY = ("knee", "ideal", "best", "analysis")


@dataclass(frozen=True, repr=False)
class Neighbour(RedactedRepr):
    """The next point of the frontier on one side of the chosen one, and the changes of measures."""

    public_fields: ClassVar[tuple[str, ...]] = ("side", "point")

    side: str
    """more private or less private."""

    point: str
    changes: Mapping[str, tuple[float, float]]
    within_bounds: bool
    is_release: bool
    """Whether it could be published; the original could not."""

    said: str


@dataclass(frozen=True, repr=False)
class Choice(RedactedRepr):
    """The recommended point of a map with reasons, and the gains and costs of its neighbours."""

    public_fields: ClassVar[tuple[str, ...]] = ("point", "by", "axes", "prefer", "recipient")

    point: Point
    by: str
    axes: tuple[str, str]
    prefer: str | None
    recipient: str | None
    bounds: tuple[questions.Bound, ...]
    why: tuple[str, ...]
    warnings: tuple[str, ...]
    neighbours: tuple[Neighbour, ...]
    landmarks: Mapping[str, str | None]
    """The recommendation within the bounds of each method that needs no preference."""

    kept: KeptShares | None
    """The shares of the original's risk and utility that the point keeps; None if the map lacks one of its ends."""

    @property
    def compared(self) -> tuple[str, ...]:
        """The measures of the choice: the axes, the preferred one, and those with a bound."""
        return _compared(self)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values."""
        content = asdict(self)
        point = {name: getattr(self.point, name) for name in ("id", "anonymizer", "form", "requirement", "measures")}
        return content | {"point": point}


class NothingFitsError(InfeasibleError):
    """No point satisfies the bounds; has the relaxations that would help."""

    def __init__(
        self,
        message: str,
        relax: Sequence[questions.Relaxation] = (),
        nearest: Point | None = None,
        impossible: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.relax, self.nearest, self.impossible = tuple(relax), nearest, tuple(impossible)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values."""
        relax = [
            asdict(each.bound)
            | {"fits_at": each.value, "point": each.point, "option": each.relaxed and each.relaxed.option}
            for each in self.relax
        ]
        nearest = None if self.nearest is None else {"id": self.nearest.id, "measures": dict(self.nearest.measures)}
        return {
            "point": None,
            "why": [line.strip() for line in str(self).splitlines()],
            "impossible": list(self.impossible),
            "relax": relax,
            "nearest": nearest,
        }


def choose(
    map_: Map,
    largest: Mapping[str, float] | None = None,
    least: Mapping[str, float] | None = None,
    prefer: str | None = None,
    by: str | None = None,
    recipient: str | None = None,
    axes: Sequence[str] | None = None,
    allow: Collection[str] = (),
) -> Choice:
    """Recommend one point: the best one if bounds, a recipient or a preference are given, or a knee.

    Without a question it is the best one for the most careful recipient for which a useful release is fit.
    """
    for word in allow:
        check_choice("allow", word, (EXACT,))
    if by == "analysis":
        return _keeping_analysis(map_, least or {}, recipient, axes, largest=largest, allow=allow)
    bounds, allowed = questions.given_bounds(largest, least), frozenset(allow)
    if bounds or prefer or by or recipient:
        return _Answer(map_, _question(map_, bounds, prefer, by, recipient, axes, allowed)).choice()
    passed: list[str] = []
    for name in RECIPIENTS:
        answer = _Answer(map_, _question(map_, [], None, None, name, axes, allowed))
        if answer.inside and not answer.is_useless:
            choice = answer.choice()
            return replace(choice, why=(" ".join([*passed, choice.why[0]]), *choice.why[1:]))
        passed.append(answer.passed_over)
    raise answer.nothing_fits(t("reason.fit_for_nobody", names=RECIPIENTS))


KEPT = "conclusions_kept"
"""The measure of the user's analysis that `by="analysis"` bounds."""


def _keeping_analysis(map_: Map, least: Mapping[str, float], recipient: str | None, axes: Any, **more: Any) -> Choice:
    """Choose the release with the least risk that keeps the analysis, for the most careful recipient that it fits."""
    if not any(point.has([KEPT]) for point in map_.points):
        raise refusal("analysis.not_run")
    risk = _axes(axes or map_.study.axes[:2])[0]
    tried = [point for point in map_.points if point.has([KEPT]) and point.candidate.anonymizer.is_release]
    for name in (*RECIPIENTS, None) if recipient is None else (recipient,):
        try:
            choice = choose(map_, least={KEPT: 1.0, **least}, prefer=risk, recipient=name, axes=axes, **more)
            why = t("analysis.kept", kept=sum(p.measures[KEPT] == 1 for p in tried), tried=len(tried), risk=risk)
            return replace(choice, why=(why, *choice.why))
        except NothingFitsError as error:
            last = error
    fit = [point for point in tried if not unpublishable_reason(point)]
    nearest = min(fit, key=lambda point: (-point.measures[KEPT], _costs(point, (risk,)), questions.rank(point)))
    for_whom = "" if recipient is None else t("analysis.for_whom", recipient=recipient)
    said = t("analysis.none_keeps", tried=len(tried), whom=for_whom, id=nearest.id, kept=nearest.measures[KEPT])
    raise NothingFitsError(said, last.relax, nearest)


@dataclass(frozen=True, repr=False)
class _Question(RedactedRepr):
    """A validated choice question with all defaults filled in."""

    axes: tuple[str, str]
    bounds: tuple[questions.Bound, ...]
    by: str
    prefer: str | None
    recipient: str | None
    allow: frozenset[str]
    notes: tuple[str, ...]

    @property
    def needed(self) -> tuple[str, ...]:
        """The measures that a point must have to be compared."""
        return self.axes if self.prefer is None else (self.prefer,)

    @property
    def given(self) -> tuple[questions.Bound, ...]:
        """The bounds that are not a recipient's."""
        return tuple(bound for bound in self.bounds if bound.is_given)

    @property
    def other_bounds(self) -> tuple[questions.Bound, ...]:
        """The bounds on other measures than the axes."""
        return tuple(bound for bound in self.bounds if bound.measure not in self.axes)


def _question(
    map_: Map,
    given: list[questions.Bound],
    prefer: str | None,
    by: str | None,
    recipient: str | None,
    axes: Sequence[str] | None,
    allow: frozenset[str],
) -> _Question:
    known = [name for name in MEASURES if any(point.has([name]) for point in map_.points)]
    first, second = _axes(axes or map_.study.axes[:2])
    method = by or ("best" if given or prefer or recipient else "knee")
    check_choice("by", method, BY)
    if prefer is not None and method != "best":
        raise BadInputError(f"a preferred measure ({prefer}) needs by='best'; {method} uses both axes")
    wanted = (prefer or second) if method == "best" else None
    bounds, notes = list(given), [reasons.unusual(bound) for bound in given if not bound.is_natural]
    if recipient is not None:
        check_choice("recipient", recipient, RECIPIENTS)
        asked_already = {(bound.measure, bound.side) for bound in given}
        asked_of = RECIPIENTS[recipient].bounds_on(map_)
        kept = [bound for bound in asked_of if (bound.measure, bound.side) not in asked_already]
        bounds += kept
        notes += [t("reason.your_own", bound=bound, recipient=recipient) for bound in asked_of if bound not in kept]
    asked = [*dict.fromkeys([*(bound.measure for bound in bounds), *((first, second) if not wanted else (wanted,))])]
    noisy = [point for point in map_.points if not point.candidate.anonymizer.people and point.status == "measured"]
    left = {"points": len(noisy), "read_noisy": READ_NOISY}
    notes += [t("reason.left_out", measure=name, **left) for name in asked if noisy and name not in READ_NOISY]
    if map_.points and known:
        for name in [bound.measure for bound in given] + ([first, second] if wanted is None else [wanted]):
            _check_known(name, known, asked=name in (*(axes or ()), prefer, *(bound.measure for bound in given)))
    return _Question((first, second), tuple(bounds), method, wanted, recipient, allow, tuple(notes))


def _axes(names: Sequence[str]) -> tuple[str, str]:
    """Check the two axes, and put the risk first."""
    if len(names) != 2 or names[0] == names[1]:
        raise BadInputError(f"axes must be two different measures, not {', '.join(names)!r}")
    for name in names:
        questions.check_measure(name)
    first, second = names
    turned = MEASURES[first].kind == "utility" and MEASURES[second].kind == "risk"
    return (second, first) if turned else (first, second)


def _check_known(name: str, known: Sequence[str], asked: bool) -> None:
    """Raise unless some point has the measure; `asked` is false for an axis of the study."""
    questions.check_measure(name)
    if name not in known:
        remedy = "" if asked else "; give other axes (--axes), or a measure to prefer (--prefer)"
        raise BadInputError(f"no point of this map has the measure {name!r}; it has {', '.join(known)}{remedy}")


@dataclass(frozen=True, repr=False)
class _Answer(RedactedRepr):
    """A question with its map."""

    map_: Map
    question: _Question

    def choice(self) -> Choice:
        """Return the chosen point with reasons."""
        asked, inside, curve, scale = self.question, self.inside, self._curve, self._scale
        if not inside:
            raise self.nothing_fits()
        ways = self._ways(curve, scale, inside)
        point, why = self._best(inside) if asked.by == "best" else self._on(curve, scale, inside, ways)
        why += [] if asked.by == "best" else reasons.other_ways(ways, asked.by, point, asked.axes)
        if asked.recipient:
            why = [reasons.recipient(asked.recipient, asked.bounds), *why]
        why += self._place(curve, point)
        return Choice(
            point=point,
            by=asked.by,
            axes=asked.axes,
            prefer=asked.prefer,
            recipient=asked.recipient,
            bounds=asked.bounds,
            why=(*why, *asked.notes),
            warnings=(*self._exposure(scale, point, inside), *reasons.warnings(point)),
            neighbours=tuple(self._neighbours(curve, point)),
            landmarks={by: points[0].id if points else None for by, points in ways.items()},
            kept=self._kept(scale, point),
        )

    # -- eligible points

    @cached_property
    def _releases(self) -> list[Point]:
        """The comparable releases."""
        return [
            point for point in self.map_.points if point.has(self.question.needed) and not unpublishable_reason(point)
        ]

    @cached_property
    def inside(self) -> list[Point]:
        """The releases within the bounds; of those fit for a recipient none that another one beats at once."""
        asked = self.question
        inside = [point for point in self._releases if all(bound.admits(point) for bound in asked.given)]
        if asked.recipient is None:
            return inside
        judge = RECIPIENTS[asked.recipient].fitness
        fit = [point for point in inside if judge(self.map_, point, given=asked.given, allow=asked.allow).is_fit]
        return [point for point in fit if not any(beats_at_once(other, point) for other in fit)]

    @property
    def is_useless(self) -> bool:
        """Whether no release within the bounds is better than publishing nothing."""
        kept = {point.id: self._kept(self._scale, point) for point in self.inside if not point.is_baseline}
        return all(share is not None and share.is_useless for share in kept.values())

    @property
    def passed_over(self) -> str:
        """Why a recipient gets no recommendation: a bound that no release can keep, or that none of the map keeps."""
        asked = self.question
        never = next((text for bound in asked.bounds if (text := impossible(self.map_, bound))), "")
        cause = never.partition(t("ceiling.then"))[0].strip() or t("reason.none_fit")
        return t("reason.passed_over", recipient=asked.recipient, cause=cause)

    @cached_property
    def _scale(self) -> Scale | None:
        return Scale.of(self.map_.points, self._curve)

    @cached_property
    def _curve(self) -> Curve:
        """Return the frontier of the points within the bounds on other measures; bounds on the axes do not change it.

        It ends at the original (publishing the table unchanged, Loukides, section 5), unless the original beats a
        release. Other unpublishable points are excluded.
        """
        asked = self.question
        kept = [p for p in self._releases if all(b.admits(p) for b in asked.other_bounds)]
        originals = [p for p in self.map_.points if not p.candidate.anonymizer.is_release and p.status == "measured"]
        alone = Curve.through(kept, asked.axes)
        ended = Curve.through(
            [*alone.points, *(p for p in originals if all(b.admits(p) for b in asked.other_bounds))], asked.axes
        )
        return ended if set(alone.ids) <= set(ended.ids) else alone

    # -- ways of choosing

    def _best(self, inside: list[Point]) -> tuple[Point, list[str]]:
        """Return the best point by the preferred measure; among equals the best on the axes."""
        asked = self.question
        assert asked.prefer is not None
        order = sorted(inside, key=lambda p: (*_costs(p, (asked.prefer or "", *asked.axes)), questions.rank(p)))
        others = reasons.best_of_others(order, asked.prefer)
        return order[0], [reasons.best(order, asked.prefer, asked.bounds), *([others] if others else [])]

    def _on(
        self, curve: Curve, scale: Scale | None, inside: list[Point], ways: Mapping[str, list[Point]]
    ) -> tuple[Point, list[str]]:
        """Return the knee, or the point closest to the ideal corner if there is none."""
        point = (ways[self.question.by] or ways["ideal"])[0]
        if self.question.by == "ideal":
            return point, [reasons.ideal(curve, point)]
        every = scale.knees(curve) if scale else []
        if scale is None or not ways["knee"]:
            return point, [reasons.no_knee(curve, bool(every)), reasons.ideal(curve, point)]
        strongest = point is every[0]
        reason = reasons.knee(curve, scale, point, [p for p in inside if p in curve.finite], strongest)
        outside = [] if strongest else [reasons.knee_outside(every[0], self.question.bounds)]
        return point, [reason, *outside]

    def _ways(self, curve: Curve, scale: Scale | None, inside: list[Point]) -> dict[str, list[Point]]:
        """List the results of each method within the bounds, best first."""
        ids = {point.id for point in inside}
        placed = [point for point in curve.points if point.id in ids]
        placed = placed or list(Curve.through(inside, self.question.axes).points)
        knees = [point for point in (scale.knees(curve) if scale else []) if point.id in ids]
        return {"knee": knees, "ideal": sorted(placed, key=lambda point: round(curve.distance(point), 9))}

    # -- around the chosen point

    def _kept(self, scale: Scale | None, point: Point) -> KeptShares | None:
        """Return the shares that a point keeps of the original, if the map has both ends and a place for it."""
        placed = point.has(self.question.axes) and all(isfinite(point.measures[axis]) for axis in self.question.axes)
        return scale.kept(point) if scale is not None and scale.is_absolute and placed else None

    def _exposure(self, scale: Scale | None, point: Point, inside: list[Point]) -> list[str]:
        """Warn first if a point is no better than publishing nothing or no safer than the original."""
        kept, cautions = self._kept(scale, point), warnings(point)
        if kept is None or not kept.is_trivial:
            return cautions
        places = {other.id: self._kept(scale, other) for other in inside}
        better = {id: place for id, place in places.items() if place and not place.is_trivial}
        hardly = reasons.trivial(kept, self.question.axes, len(inside), better)
        return [*cautions, hardly] if point.is_baseline else [hardly, *cautions]

    def _place(self, curve: Curve, point: Point) -> list[str]:
        """Warn if the chosen point is not on the frontier of the axes."""
        if not point.has(self.question.axes):
            return [reasons.no_place(point, self.question.axes)]
        costs = _costs(point, self.question.axes)
        better = [other for other in curve.points if _beats(_costs(other, self.question.axes), costs)]
        return [reasons.beaten(point, better[0], self.question.axes)] if better else []

    def _neighbours(self, curve: Curve, point: Point) -> list[Neighbour]:
        """Return the next points of the frontier that are better on one axis and worse on the other."""
        if not point.has(self.question.axes):
            return []
        x, y = _costs(point, self.question.axes)
        placed = [(other, _costs(other, self.question.axes)) for other in curve.points]
        more = [other for other, (u, v) in placed if u < x and v > y]
        less = [other for other, (u, v) in placed if u > x and v < y]
        sides = (("more private", more[-1:]), ("less private", less[:1]))
        return [self._neighbour(side, point, other) for side, others in sides for other in others]

    def _neighbour(self, side: str, point: Point, other: Point) -> Neighbour:
        asked = self.question
        changes = {
            name: (point.measures[name], other.measures[name])
            for name in _compared(asked)
            if point.has([name]) and other.has([name]) and point.measures[name] != other.measures[name]
        }
        broken = [bound for bound in asked.bounds if not bound.admits(other)]
        sentence = reasons.neighbour(other, changes, broken)
        return Neighbour(side, other.id, changes, not broken, other.candidate.anonymizer.is_release, sentence)

    # -- no feasible point

    def nothing_fits(self, first: str = "") -> NothingFitsError:
        """Return the error with its reasons, behind a first sentence if one is given."""
        asked = self.question
        better = [point for point in self._releases if not (asked.recipient and point.is_baseline)]
        releases = better or self._releases
        if self.inside:
            ids = [point.id for point in self.inside]
            return NothingFitsError(f"{first}\n{t('reason.useless', ids=ids, n=len(ids))}")
        if not asked.bounds or not releases:
            return NothingFitsError(reasons.no_release(self.map_.points, asked.needed))
        if unknown := [bound for bound in asked.bounds if not any(point.has([bound.measure]) for point in releases)]:
            return NothingFitsError(t("reason.also_asks", recipient=asked.recipient, bound=unknown[0]))
        relax = []
        for bound in asked.bounds:
            others = [other for other in asked.bounds if other is not bound]
            fits_at = [(point.measures[bound.measure], point) for point in releases if point.has([bound.measure])]
            relax.append(questions.relaxation(fits_at, bound, others))
        nearest = questions.nearest_point(releases, asked.bounds)
        never = [sentence for bound in asked.bounds if (sentence := impossible(self.map_, bound))]
        reason = reasons.nothing_fits(asked.bounds, relax, nearest, asked.recipient, never)
        return NothingFitsError(f"{first}\n{reason}{self._next_recipient()}".strip(), relax, nearest, never)

    def _next_recipient(self) -> str:
        """Name the release for the next less careful recipient that has one, on a line of its own."""
        names = list(RECIPIENTS)
        for name in names[names.index(self.question.recipient) + 1 :] if self.question.recipient else ():
            answer = _Answer(self.map_, _question(self.map_, [], None, None, name, None, self.question.allow))
            if answer.inside and not answer.is_useless:
                point = answer._best(answer.inside)[0]
                return "\n" + t("reason.next_recipient", point=point.id, name=name)
        return ""


def _compared(asked: Choice | _Question) -> tuple[str, ...]:
    preferred = [asked.prefer] if asked.prefer else []
    return tuple(dict.fromkeys([*asked.axes, *preferred, *(bound.measure for bound in asked.bounds)]))


def _costs(point: Point, names: Sequence[str]) -> tuple[float, ...]:
    """Return the costs of a point; unknown measures are last."""
    return tuple(cost(name, point.measures[name]) if point.has([name]) else inf for name in names)


AT_ONCE = (
    ("prosecutor", "itemset_risk"),
    ("p_loss", "attack_accuracy"),
    ("query_error", "are", "joint_query_error"),
    ("loss", "ncp"),
)
"""Identity risk, attribute risk, error of counts and loss of detail: the first measure of each that both have."""


def beats_at_once(one: Point, other: Point) -> bool:
    """Return whether a release is better in identity and attribute risk, counts and detail, as far as measured.

    Without detail, a release with columns that are `*` would beat others by random counts alone.
    """
    names = [next((name for name in several if one.has([name]) and other.has([name])), None) for several in AT_ONCE]
    known = [name for name in names if name is not None]
    better = zip(_costs(one, known), _costs(other, known), strict=True)
    return len(known) > 1 and all(mine < theirs for mine, theirs in better)


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


SUBJECTS = {"table": "a table", "baskets": "baskets", "items": "a table with items"}
"""The kind of data of a map, by the section of its study."""


@dataclass(frozen=True, repr=False)
class Reply(RedactedRepr):
    """The answer of a map to a question."""

    public_fields: ClassVar[tuple[str, ...]] = ("question",)

    question: questions.Question
    best: tuple[Point, ...]
    """The releases within the bounds that no other one equals or beats in the asked measures; empty if none fits."""

    cheaper: Point | None
    """The next step down the frontier: the best release with less of the first bounded measure."""

    dearer: Point | None
    """The next step up: a release better than the best, or any if none fits, at the least excess of the first bound."""

    bought: tuple[Point, ...]
    """The releases that fit only the relaxed bounds."""

    tried: tuple[tuple[str, Point], ...]
    """The best release of each anonymizer with its own settings; if none fits, the one with the least excess."""

    bound: Optimum | None
    """The distance of the answer from the best possible, if known."""

    refused: tuple[Point, ...]
    """Releases that fit but may not be published."""

    passed_over: tuple[Point, ...]
    """Releases that fit but show exact quasi-identifiers, although the question is how well these are hidden."""

    relax: tuple[questions.Relaxation, ...]
    """If nothing fits: the required value of each bound, the others unchanged."""

    nearest: Point | None

    @property
    def answer(self) -> Point | None:
        """The first of the best; None if nothing fits."""
        return self.best[0] if self.best else None

    def __str__(self) -> str:
        lines = [f"  {point.id}: {in_numbers(point, self.question)}" for point in self.best]
        return "\n".join([str(self.question), *(lines or ["  nothing on this map fits"])])


def ask(map_: Map, question: questions.Question | str) -> Reply:
    """Answer a question such as `k within loss 0.25` over a map; `docs/guides/choosing.md` has the grammar."""
    asked = questions.read_question(question) if isinstance(question, str) else question
    return _Asked(map_, asked).reply()


def check_subject(question: questions.Question, study: Study) -> None:
    """Raise if a measure of the question does not apply to the study's kind of data."""
    for name in question.measures:
        if not MEASURES[name].is_said_of(study.section):
            raise BadInputError(
                f"{name} applies to {SUBJECTS[MEASURES[name].said_of]}, but this study is of {SUBJECTS[study.section]}"
            )


def in_numbers(point: Point, question: questions.Question) -> str:
    """Return the asked and the bounded measures of a point as text."""
    texts = {name: f"{name} {number(point.measures[name])}" for name in question.measures if point.has([name])}
    paid = [texts[name] for name in question.measures if name in texts and name not in question.asked]
    return listed(texts[name] for name in question.asked if name in texts) + (f" at {listed(paid)}" if paid else "")


@dataclass(frozen=True, repr=False)
class _Asked(RedactedRepr):
    """A question with its map."""

    map_: Map
    question: questions.Question

    def reply(self) -> Reply:
        question = self.question
        self._check_known()
        known = [point for point in self.map_.points if point.has(question.measures)]
        hiding = bool(ABOUT_HIDING & set(question.measures))
        may = [point for point in known if not unpublishable_reason(point)]
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
            self._tried(counted),
            optimum(self.map_, question, best[0]) if best else None,
            tuple(point for point in within(known, question.bounds) if unpublishable_reason(point)),
            tuple(point for point in within(may, question.bounds) if hiding and shows_exact(point)),
            () if best else self._relaxations(counted),
            None if best else questions.nearest_point(counted, question.bounds),
        )

    def _check_known(self) -> None:
        """Raise if no point has a measure."""
        check_subject(self.question, self.map_.study)
        known = [name for name in MEASURES if any(point.has([name]) for point in self.map_.points)]
        for name in self.question.measures:
            if known and name not in known:
                raise BadInputError(f"no point of this map has the measure {name!r}{self._remedy(name, known)}")

    def _remedy(self, name: str, known: Sequence[str]) -> str:
        """Return the remedy for a missing measure, or the measures of the map."""
        if name in ANALYSIS:
            raise refusal("analysis.not_run")
        if name == "epsilon":
            return ": only differentially private releases have one; --search 60s searches for some"
        if name in (*FIDELITY, *ATTACK_MEASURES):
            return ": it is measured only on request; ask the study instead of its map"
        return f"; it has {', '.join(known)}"

    def _order(self, point: Point) -> tuple[object, ...]:
        """Return the sort key of a point: the asked measures, then its costs, then tie-breakers."""
        return (*(cost(name, point.measures[name]) for name in self.question.measures), questions.rank(point))

    def _best(self, points: Iterable[Point], bounds: Sequence[questions.Bound]) -> tuple[Point, ...]:
        """Return the points within bounds that no other one equals or beats in the asked measures, best first."""
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
        """Return the next steps on the frontier of the asked measures and the first bound, other bounds unchanged."""
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

    def _tried(self, counted: Sequence[Point]) -> tuple[tuple[str, Point], ...]:
        of_each: dict[str, list[Point]] = {}
        for point in counted:
            if not point.is_baseline:
                of_each.setdefault(str(point.candidate.anonymizer.public), []).append(point)

        def excess(point: Point) -> tuple[Any, ...]:
            return (sum(bound.excess(point) for bound in self.question.bounds), *self._order(point))

        best = [(name, min(points, key=excess)) for name, points in of_each.items()]
        return tuple(sorted(best, key=lambda entry: excess(entry[1])))

    def _relaxations(self, counted: Sequence[Point]) -> tuple[questions.Relaxation, ...]:
        bounds = self.question.bounds
        return tuple(
            questions.relaxation(
                [(p.measures[b.measure], p) for p in counted], b, [other for other in bounds if other is not b]
            )
            for b in bounds
        )


def within(points: Iterable[Point], bounds: Sequence[questions.Bound]) -> list[Point]:
    """List the points that all bounds admit."""
    return [point for point in points if all(bound.admits(point) for bound in bounds)]
