"""The reasons for a choice, or for its failure, as sentences with numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from sfumato.measures.all_measures import MEASURES
from sfumato.texts.catalogue import counted, listed, number, t
from sfumato.tradeoff.question.knee import Curve, KeptShares, Scale
from sfumato.tradeoff.question.question import Bound, Relaxation
from sfumato.tradeoff.question.recipients import RECIPIENTS, unpublishable_reason

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Point


def both(before: float, after: float) -> tuple[str, str]:
    """Format two numbers with enough digits to distinguish them."""
    for digits in range(4, 17):
        if (texts := (number(before, digits), number(after, digits)))[0] != texts[1]:
            return texts
    return number(before), number(after)


def change(name: str, before: float, after: float) -> str:
    """Describe the change of a measure.

    >>> change("p_loss", 0.31, 0.25)
    'lowers p_loss from 0.31 to 0.25'
    """
    old, new = both(before, after)
    return t("reason.raises" if after > before else "reason.lowers", name=name, old=old, new=new)


# -- why this point


def best(order: Sequence[Point], prefer: str, bounds: Sequence[Bound]) -> str:
    """Explain that a point is the best of several by a measure, with the value of the next best."""
    word = "highest" if MEASURES[prefer].better == "higher" else "lowest"
    value, many = number(order[0].measures[prefer]), counted(len(order), "point")
    if not bounds:
        text = t("reason.all_no", many=many, word=word, prefer=prefer, value=value)
    elif len(order) == 1:
        return t("reason.only_point", bounds=bounds, prefer=prefer, value=value)
    else:
        text = t("reason.of_the", many=many, bounds=bounds, word=word, prefer=prefer, value=value)
    if len(order) > 1:
        first, second = (point.measures[prefer] for point in order[:2])
        text += t("reason.next", id_=order[1].id, the=t("reason.same") if first == second else both(first, second)[1])
    return text


def best_of_others(order: Sequence[Point], prefer: str) -> str:
    """List the best point of each other family, if families are makers."""
    first: dict[str, Point] = {}
    for point in order:
        if point.family and not point.is_baseline:
            first.setdefault(point.family, point)
    others = [(name, point) for name, point in first.items() if point is not order[0]]
    if not others:
        return ""
    values = listed(f"{name} {number(point.measures[prefer])} ({point.id})" for name, point in others)
    return t("reason.within_same", prefer=prefer, values=values)


def kept(share: KeptShares) -> str:
    """Describe the shares that a release keeps of the original; they may be below 0 or above 1."""
    return t("reason.utility_risk", share=_share(share.utility), share2=_share(share.risk))


def _share(share: float) -> str:
    return f"{100 * share + 0.0:.0f} %"


def knee(curve: Curve, scale: Scale, point: Point, others: Sequence[Point], strongest: bool = True) -> str:
    """Describe the knee of the whole frontier: its shares, their scale, and the exchange rates for which it is best."""
    least, most = scale.weights(point, others)
    upto = (
        t("reason.between", least=number(least, 2), most=number(most, 2))
        if isfinite(most)
        else t("reason.least", least=number(least, 2))
    )
    where, them = ("", "") if strongest else (t("reason.within_bounds"), t("reason.within_them"))
    shares, ends = kept(scale.kept(point)), _ends(scale)
    return t("reason.knee_whole", where=where, curve=curve, kept=shares, them=them, ends=ends, upto=upto)


def _ends(scale: Scale) -> str:
    """Describe the ends of a scale."""
    if scale.is_absolute:
        return t("reason.trivial_release", scale=scale)
    return t("reason.ends_frontier", scale=scale)


def other_ways(ways: Mapping[str, Sequence[Point]], by: str, point: Point, axes: tuple[str, str]) -> list[str]:
    """List the results of other methods in one sentence; empty if they agree."""
    values = [
        t("reason.takes", way=way, point=points[0], values=[f"{a} {number(points[0].measures[a])}" for a in axes])
        for way, points in ways.items()
        if way != by and points and points[0] != point
    ]
    return [t("reason.other_ways", values=values)] if values else []


def trivial(share: KeptShares, axes: tuple[str, str], inside: int, better: Mapping[str, KeptShares]) -> str:
    """Warn that a release is as good as publishing nothing, or as risky as the original, with an alternative."""
    risk, utility = axes
    useless = t("reason.no_more", utility=utility, share=_share(share.utility))
    open_ = t("reason.as_risky", risk=risk, share=_share(share.risk))
    text = listed([*([useless] if share.is_useless else []), *([open_] if share.is_open else [])])
    best = max(better.items(), key=lambda each: each[1].advantage, default=None)
    if best is None:
        many = t("reason.only_release") if inside == 1 else t("reason.holds_all", inside=inside)
        return t("reason.hardly_release_publish", text=text, many=many)
    return t("reason.hardly_release", text=text, best=best[0], kept=kept(best[1]))


def ideal(curve: Curve, point: Point) -> str:
    """Describe the distance of the point from the ideal corner."""
    first, second = curve.axes
    return t("reason.frontier_point", first=first, second=second, distance=curve.distance(point))


def no_knee(curve: Curve, elsewhere: bool) -> str:
    """Explain why there is no knee."""
    if elsewhere:
        return t("reason.there_no_knee_within")
    if len(curve.finite) < 3:
        many = counted(len(curve.finite), "point")
        return t("reason.there_no_knee", many=many)
    return t("reason.there_no")


def knee_outside(point: Point, bounds: Sequence[Bound]) -> str:
    """Explain why the strongest knee is not available."""
    broken = [bound for bound in bounds if not bound.admits(point)]
    cause = t("reason.outside_bounds_asked", broken=broken) if broken else t("reason.not_release")
    return t("reason.frontier_stronger", point=point, cause=cause)


def beaten(point: Point, other: Point, axes: tuple[str, str]) -> str:
    """Explain that a point is not on the frontier of the axes."""
    values = [f"{axis} {' against '.join(both(other.measures[axis], point.measures[axis]))}" for axis in axes]
    outside = t("reason.which_not") if not other.candidate.anonymizer.is_release else ""
    return t("reason.not_frontier", axes=axes, other=other, outside=outside, values=values)


def no_place(point: Point, axes: tuple[str, str]) -> str:
    """Explain that a point lacks measures of the axes."""
    lacking = listed([axis for axis in axes if not point.has([axis])])
    return t("reason.no_so", lacking=lacking, axes=axes)


def recipient(name: str, bounds: Sequence[Bound]) -> str:
    """State the bounds of a recipient."""
    asked = [f"{bound} ({bound.reason})" for bound in bounds if not bound.is_given]
    text = t("reason.asks", reasons=asked) if asked else t("reason.asks_nothing")
    return t("reason.recipient_which", name=name, preset=RECIPIENTS[name], asked=text)


def unusual(bound: Bound) -> str:
    """Warn that a bound excludes the better values."""
    measure, other = MEASURES[bound.measure], "min" if bound.side == "max" else "max"
    return t("reason.better_when", bound=bound, measure=measure, other=other)


def warnings(point: Point) -> list[str]:
    """Return warnings about the utility of a point."""
    errors = {name: point.measures.get(name, 0.0) for name in ("are", "joint_query_error")}
    return [
        t("reason.mean_relative", name=name, error=error)
        for name, error in errors.items()
        if error > 1 and not point.is_baseline
    ]


# -- around it


def neighbour(other: Point, changes: Mapping[str, tuple[float, float]], broken: Sequence[Bound]) -> str:
    """Describe the gains and costs of a neighbour."""
    what = f" ({other.candidate.anonymizer.called})" if other.is_baseline else ""
    text = t("reason.going", other=other, what=what, change=[change(name, *values) for name, values in changes.items()])
    return t("reason.outside_bounds", text=text, broken=broken) if broken else f"{text}."


# -- nothing fits


def no_release(points: Sequence[Point], needed: Sequence[str]) -> str:
    """Explain that no release is eligible."""
    measured = [point for point in points if point.status == "measured"]
    if not measured:
        return t("reason.none_map", points=len(points))
    if not any(point.candidate.anonymizer.is_release for point in measured):
        return t("reason.original_only")
    if all(unpublishable_reason(point) for point in measured if point.has(needed)) and any(
        p.has(needed) for p in measured
    ):
        return t("reason.every_point", needed=needed)
    return t("reason.no_release_map", needed=needed)


def nothing_fits(
    bounds: Sequence[Bound],
    relax: Sequence[Relaxation],
    nearest: Point | None,
    recipient: str | None,
    never: Sequence[str] = (),
) -> str:
    """List impossible bounds, the relaxation of each single bound, and the nearest point."""
    asked = f"{listed(bounds)}{t('reason.for', recipient=recipient) if recipient else ''}"
    lines = [t("reason.no_point", asked=asked, beyond=t("reason.no_release") if never else "")]
    lines += [f"  {sentence}" for sentence in never]
    alone = len(bounds) == 1
    for each in relax:
        if each.relaxed is None:
            lines.append(t("reason.relaxing_alone", each=each))
        else:
            kept = "" if alone else t("reason.all_else")
            lines.append(t("reason.instead_would", each=each, kept=kept))
    if nearest is not None:
        names = dict.fromkeys(bound.measure for bound in bounds if nearest.has([bound.measure]))
        values = [f"{name} {number(nearest.measures[name])}" for name in names]
        lines.append(
            t("reason.nearest_point", nearest=nearest, values=listed(values) if values else t("reason.none_these"))
        )
    return "\n".join(lines)
