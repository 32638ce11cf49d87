"""Why a point was chosen, or none: sentences with numbers that a choice and its refusal carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from sfumato.measures.all_measures import MEASURES, READ_NOISY
from sfumato.texts.format import counted, listed, number
from sfumato.tradeoff.question.curve import Curve, CurveStretch
from sfumato.tradeoff.question.knee import KeptShares, Scale
from sfumato.tradeoff.question.question import Bound, Relaxation
from sfumato.tradeoff.question.recipients import RECIPIENTS, refusal

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Point


def both(before: float, after: float) -> tuple[str, str]:
    """Write two numbers with as many digits as it takes to tell them apart."""
    for digits in range(4, 17):
        if (texts := (number(before, digits), number(after, digits)))[0] != texts[1]:
            return texts
    return number(before), number(after)


def change(name: str, before: float, after: float) -> str:
    """Say how a measure changes.

    >>> change("p_loss", 0.31, 0.25)
    'lowers p_loss from 0.31 to 0.25'
    """
    old, new = both(before, after)
    return f"{'raises' if after > before else 'lowers'} {name} from {old} to {new}"


# -- why this point


def best(order: Sequence[Point], prefer: str, bounds: Sequence[Bound]) -> str:
    """Say that a point is the best by a measure, among how many, and what the next best has."""
    word = "highest" if MEASURES[prefer].better == "higher" else "lowest"
    value, many = number(order[0].measures[prefer]), counted(len(order), "point")
    if not bounds:
        text = f"Of all {many} it has the {word} {prefer}: {value}. No bound was given on anything."
    elif len(order) == 1:
        return f"It is the only point with {listed(bounds)}; its {prefer} is {value}."
    else:
        text = f"Of the {many} with {listed(bounds)} it has the {word} {prefer}: {value}."
    if len(order) > 1:
        first, second = (point.measures[prefer] for point in order[:2])
        text += f" The next is {order[1].id} with {'the same' if first == second else both(first, second)[1]}."
    return text


def best_of_others(order: Sequence[Point], prefer: str) -> str:
    """Say what the best point of every other family has, where families are who made a release."""
    first: dict[str, Point] = {}
    for point in order:
        if point.family and not point.is_baseline:
            first.setdefault(point.family, point)
    others = [(name, point) for name, point in first.items() if point is not order[0]]
    if not others:
        return ""
    values = listed(f"{name} {number(point.measures[prefer])} ({point.id})" for name, point in others)
    return f"Within the same bounds the best {prefer} of the others is: {values}."


def kept(share: KeptShares) -> str:
    """Say what a release keeps of the original: shares below 0 and above 1 are beyond its ends."""
    return f"{_share(share.utility)} of the utility at {_share(share.risk)} of the risk"


def _share(share: float) -> str:
    return f"{100 * share + 0.0:.0f} %"


def knee(curve: Curve, scale: Scale, point: Point, others: Sequence[Point], strongest: bool = True) -> str:
    """Say what the knee of the whole frontier keeps, on which scale, and for whom it stays the first."""
    least, most = scale.weights(point, others)
    upto = f"between {number(least, 2)} and {number(most, 2)}" if isfinite(most) else f"at least {number(least, 2)}"
    where, them = ("", "") if strongest else (" within the bounds", " within them")
    return (
        f"It is the knee{where} of the whole frontier of {listed(curve.axes)}: it keeps {kept(scale.kept(point))}, and "
        f"no other release{them} has more utility beyond its risk ({_ends(scale)}). It stays the first{them} for "
        f"whoever counts one percent of risk as much as {upto} percent of utility."
    )


def _ends(scale: Scale) -> str:
    """Say what 0 % and 100 % are."""
    if scale.is_absolute:
        return f"0 % is the trivial release ({scale.private.id}), 100 % the original ({scale.useful.id})"
    return (
        f"0 % and 100 % are the ends of the frontier, {scale.private.id} and {scale.useful.id}, since the map has no "
        f"trivial release and original to compare {listed(scale.axes)} with"
    )


def other_ways(ways: Mapping[str, Sequence[Point]], by: str, point: Point, axes: tuple[str, str]) -> list[str]:
    """Say in one sentence what the other ways of choosing would take; nothing where they agree."""
    values = [
        f"{way} takes {points[0].id} ({listed(f'{axis} {number(points[0].measures[axis])}' for axis in axes)})"
        for way, points in ways.items()
        if way != by and points and points[0] != point
    ]
    return [f"Other ways to choose (--by) disagree: {listed(values)}."] if values else []


def trivial(share: KeptShares, axes: tuple[str, str], inside: int, better: Mapping[str, KeptShares]) -> str:
    """Say that a release is as good as publishing nothing, or as risky as the original, and what there is instead."""
    risk, utility = axes
    useless = f"by {utility} it is no more useful than publishing nothing (it keeps {_share(share.utility)})"
    open_ = f"by {risk} it is as risky as the original ({_share(share.risk)} of its risk)"
    text = listed([*([useless] if share.is_useless else []), *([open_] if share.is_open else [])])
    best = max(better.items(), key=lambda each: each[1].advantage, default=None)
    if best is None:
        many = "it is the only release" if inside == 1 else f"that holds of all {inside:,} releases"
        return f"This is hardly a release to publish: {text}; {many} within what was asked for."
    return f"This is hardly a release to publish: {text}. {best[0]} keeps {kept(best[1])}."


def ideal(curve: Curve, point: Point) -> str:
    """Say how close the point is to the corner where both measures are best."""
    first, second = curve.axes
    return (
        f"Of the frontier it is the point closest to the ideal corner, where {first} and {second} are both as good as "
        f"anywhere on it: {number(curve.distance(point))} away, both axes scaled to 0..1."
    )


def no_knee(curve: Curve, elsewhere: bool) -> str:
    """Say why there is no knee."""
    if elsewhere:
        return "There is no knee within the bounds."
    if len(curve.finite) < 3:
        many = counted(len(curve.finite), "point")
        return f"There is no knee: it takes three points, and the frontier has {many} to draw."
    return "There is no knee: the frontier is straight or bends away from the ideal corner."


def knee_outside(point: Point, bounds: Sequence[Bound]) -> str:
    """Say that the sharpest knee cannot be had, and why."""
    broken = [bound for bound in bounds if not bound.admits(point)]
    cause = f"outside the bounds ({listed(broken)} asked for)" if broken else "not a release"
    return f"The frontier has a stronger knee at {point.id}, but that is {cause}."


def beaten(point: Point, other: Point, axes: tuple[str, str]) -> str:
    """Say that a point is not on the frontier of the axes."""
    values = [f"{axis} {' against '.join(both(other.measures[axis], point.measures[axis]))}" for axis in axes]
    outside = ", which is not a release" if not other.candidate.anonymizer.is_release else ""
    return f"It is not on the frontier of {listed(axes)}: {other.id}{outside} has {listed(values)}."


def no_place(point: Point, axes: tuple[str, str]) -> str:
    """Say that a point has no place on the axes."""
    lacking = listed([axis for axis in axes if not point.has([axis])])
    return f"It has no {lacking}, so it has no neighbours on the frontier of {listed(axes)}."


def recipient(name: str, bounds: Sequence[Bound]) -> str:
    """Say what a recipient asks for."""
    preset = RECIPIENTS[name]
    reasons = [f"{bound} ({bound.reason})" for bound in bounds if bound in preset.bounds]
    asked = f"asks for {listed(reasons)}" if reasons else "asks for nothing that applies here"
    return f"The recipient is '{name}', {preset.meaning}, which {asked}."


def left_out(recipient: str) -> str:
    """Say that exact quasi-identifiers are not for this recipient."""
    return (
        f"Releases with exact quasi-identifiers (bucketization) were left out for '{recipient}': they do not hide who "
        "is in the table. A weaker bound of your own on k, such as --min k=1, admits them."
    )


def replaced(bound: Bound, recipient: str, exact_allowed: bool) -> str:
    """Say that a bound of a preset gave way."""
    text = f"Your own bound on {bound.measure} stands in place of '{recipient}': {bound}."
    if bound.measure == "k" and RECIPIENTS[recipient].hides_identity and exact_allowed:
        text += " It is weaker, so releases with exact quasi-identifiers were considered too."
    return text


def unknown(bound: Bound, recipient: str) -> str:
    """Say that a bound of a preset does not apply."""
    return f"'{recipient}' also asks for {bound}, but no point of this map has that measure."


def not_of_noisy(measure: str, points: int) -> str:
    """Say that a measure leaves out noisy and synthetic releases, and what could be asked of them instead."""
    return (
        f"{counted(points, 'noisy or synthetic release')} {'was' if points == 1 else 'were'} left out: {measure} is "
        f"counted on the records of groups, and these have none. They can be asked for {listed(READ_NOISY)}."
    )


def unusual(bound: Bound) -> str:
    """Say that a bound cuts off the better values."""
    measure, other = MEASURES[bound.measure], "min" if bound.side == "max" else "max"
    return (
        f"{bound.measure} is better when {measure.better}: --{bound.side} {bound.measure}={bound.value:g} cuts off the "
        f"better values; --{other} would cut off the worse."
    )


def warnings(point: Point) -> list[str]:
    """Say what else a person should know before publishing this point, besides what it shows."""
    errors = {name: point.measures.get(name, 0.0) for name in ("are", "joint_query_error")}
    return [
        f"Its mean relative error of counts ({name}) is {number(error)}: an answer of 0 to every query would be "
        "nearer to the truth, and gets 1."
        for name, error in errors.items()
        if error > 1 and not point.is_baseline
    ]


# -- around it


def neighbour(other: Point, changes: Mapping[str, tuple[float, float]], broken: Sequence[Bound]) -> str:
    """Say what going to a neighbour would give and cost."""
    what = f" ({other.candidate.anonymizer.called})" if other.is_baseline else ""
    text = f"Going to {other.id}{what} {listed([change(name, *values) for name, values in changes.items()])}"
    return f"{text}; that is outside the bounds ({listed(broken)} asked for)." if broken else f"{text}."


def quadrant(by_axis: Mapping[str, Sequence[Bound]], points: int, others: int) -> str:
    """Say how many points lie within the bounds on both axes, and which axis has none."""
    parts = [listed(bounds) if bounds else f"any {axis} (no bound given)" for axis, bounds in by_axis.items()]
    beside = ", the other bounds kept" if others else ""
    return f"{counted(points, 'point')} with {listed(parts)}{beside}."


def stretch(steps: CurveStretch, axes: tuple[str, str]) -> str:
    """Say where privacy is almost free, or expensive."""
    first, second = axes
    start, end = both(*steps.first)
    kind = "privacy is almost free" if steps.kind == "flat" else "privacy is expensive"
    return (
        f"From {first} {start} to {end} {kind}: these are {100 * steps.gain_share:.0f}% of the range of {first} on the "
        f"frontier, for {100 * steps.cost_share:.0f}% of the range of {second} ({' to '.join(both(*steps.second))})."
    )


# -- nothing fits


def no_release(points: Sequence[Point], needed: Sequence[str], exact_allowed: bool) -> str:
    """Say that there is nothing to choose from."""
    measured = [point for point in points if point.status == "measured"]
    if not measured:
        return f"none of the {counted(len(points), 'point')} of this map was measured, so there is nothing to choose"
    if not any(point.candidate.anonymizer.is_release for point in measured):
        return "the original is the only measured point of this map, and it is not a release"
    if all(refusal(point) for point in measured if point.has(needed)) and any(p.has(needed) for p in measured):
        return f"every point of this map with {listed(needed)} shows a record that is alone in it, so none is a release"
    if exact_allowed:
        return f"no release on this map has {listed(needed)}"
    return "every release on this map has exact quasi-identifiers; --min k=1 would admit them"


def nothing_fits(
    bounds: Sequence[Bound],
    relax: Sequence[Relaxation],
    nearest: Point | None,
    recipient: str | None,
    exact_allowed: bool,
    never: Sequence[str] = (),
) -> str:
    """Say what no release can have, what would have to be relaxed, one bound at a time, and which point is nearest."""
    asked = f"{listed(bounds)}{f' (for {recipient!r})' if recipient else ''}"
    lines = [f"no point of this map fits {asked}{', and no release of this table can' if never else ''}."]
    lines += [f"  {sentence}" for sentence in never]
    if not exact_allowed:
        lines.append(f"  {left_out(recipient or '')}")
    alone = len(bounds) == 1
    for each in relax:
        if each.relaxed is None:
            lines.append(f"  Relaxing --{each.bound.side} {each.bound.measure} alone does not help.")
        else:
            kept = "" if alone else ", all else kept,"
            lines.append(
                f"  With {each.relaxed.option} instead of {number(each.bound.value)}{kept} {each.point} would fit."
            )
    if nearest is not None:
        names = dict.fromkeys(bound.measure for bound in bounds if nearest.has([bound.measure]))
        values = [f"{name} {number(nearest.measures[name])}" for name in names]
        lines.append(
            f"  The nearest point is {nearest.id}: {listed(values) if values else 'none of these is known of it'}."
        )
    return "\n".join(lines)
