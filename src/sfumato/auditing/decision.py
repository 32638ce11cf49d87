"""Deciding from the definitions whether every group of a published file satisfies a requirement.

Only the text of a requirement is parsed by shared code. `*`, a missing value and a set may hide any sensitive value, so
a group with such entries is judged by the worst value that they may hide. Whole numbers are compared where the
definition allows it. Otherwise the tolerance is that of all comparisons: `a <= b` is `a <= b + 1e-9`, `a < b` is `a < b
- 1e-9`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing.profile import Profile
from sfumato.requirements import requirement as requirements
from sfumato.runtime.arrays import Counts, Numbers, RedactedRepr
from sfumato.texts.catalogue import refusal, t

TOLERANCE = 1e-9
Admitted = NDArray[np.bool_]
Judged = tuple[Admitted, Numbers, str]
"""Which groups are admitted; a score of each (higher is better); a description of what the file satisfies."""


@dataclass(frozen=True, repr=False)
class Failure(RedactedRepr):
    """A violated part of a requirement."""

    public_fields: ClassVar[tuple[str, ...]] = ("requirement",)

    requirement: str
    groups: int
    """The number of failing groups."""

    of: int
    records: int
    """The number of records of these groups."""

    worst: Mapping[str, str]
    """The published texts of the worst group."""

    size: int
    """The number of records of the worst group."""

    achieved: str
    """The requirement that the file satisfies instead."""


def failures(
    wanted: requirements.Requirement,
    profiles: Mapping[str, Profile],
    sizes: Counts,
    texts_of: Callable[[str | None, int], dict[str, str]],
) -> list[Failure]:
    """List the violated parts of a requirement; `texts_of` returns the texts of a group of an attribute's profile."""
    failed = []
    for part in wanted.parts:
        column = sensitive_column(part, tuple(profiles)) if part.about_sensitive else None
        part_sizes = sizes if column is None else profiles[column].sizes
        admitted, goodness, achieved = _judge_worst_case(part, part_sizes, None if column is None else profiles[column])
        failing = np.flatnonzero(~admitted)
        if len(failing):
            worst = int(failing[np.argmin(goodness[failing])])
            records = int(part_sizes[failing].sum())
            example = (texts_of(column, worst), int(part_sizes[worst]), achieved)
            failed.append(Failure(str(part), len(failing), len(part_sizes), records, *example))
    return failed


def sensitive_column(part: requirements.Requirement, sensitive: Sequence[str]) -> str:
    """Return the sensitive column of a part."""
    if not sensitive:
        raise refusal("about_sensitive_attribute", part=part)
    if part.on is not None and part.on not in sensitive:
        raise refusal("not_among_sensitive_columns", part=part, on=part.on, sensitive=", ".join(sensitive))
    if part.on is None and len(sensitive) > 1:
        raise refusal("several_sensitive_columns", part=part, sensitive=", ".join(sensitive))
    return part.on or sensitive[0]


def _judge_worst_case(part: requirements.Requirement, sizes: Counts, profile: Profile | None) -> Judged:
    """Judge every group by the worst values that its open entries may hide."""
    if profile is None or not profile.open.any():
        return judge(part, sizes, profile)
    admitted, goodness, achieved = np.ones(len(profile.sizes), np.bool_), np.full(len(profile.sizes), np.inf), ""
    for groups, closed in profile.closings():
        holds, own, reached = judge(part, sizes, closed)
        achieved = reached if not achieved or own.min() < goodness.min() else achieved
        admitted[groups] &= holds
        goodness[groups] = np.minimum(goodness[groups], own)
    return admitted, goodness, achieved


def judge(part: requirements.Requirement, sizes: Counts, profile: Profile | None) -> Judged:
    """Judge one part by its definition: with group sizes, and, if it reads values, with profiles."""
    if isinstance(part, requirements.KAnonymity):
        return sizes >= part.k, sizes.astype(np.float64), f"k={int(sizes.min())}"
    assert profile is not None
    judges: dict[type, Callable[[Any, Profile], Judged]] = {
        requirements.LDiversity: _diversity,
        requirements.TCloseness: _closeness,
        requirements.DeltaDisclosure: _disclosure,
        requirements.BetaLikeness: _likeness,
        requirements.AlphaK: _alpha_k,
    }
    judge = judges.get(type(part), _by_its_own_definition)
    return judge(part, profile)


def _by_its_own_definition(part: requirements.Requirement, profile: Profile) -> Judged:
    """Ask the requirement itself, group by group: for requirements of plugins."""
    values = profile.baseline.values
    shares = dict(zip(values, profile.baseline.shares.tolist(), strict=True))
    counts: list[dict[str, int]] = [{} for _ in profile.sizes]
    for group, value, count in zip(profile.group, profile.value, profile.count, strict=True):
        counts[group][values[value]] = int(count)
    admitted = np.array([part.holds(histogram, shares) for histogram in counts], np.bool_)
    return admitted, admitted.astype(np.float64), f"{int(admitted.sum()):,} of {len(admitted):,} groups"


def _diversity(part: requirements.LDiversity, profile: Profile) -> Judged:
    if part.variant == "distinct":
        return profile.l_distinct >= part.l, profile.l_distinct.astype(np.float64), f"l={int(profile.l_distinct.min())}"
    if part.variant == "entropy":
        worst = np.exp(profile.entropy.min())
        return profile.entropy >= log(part.l) - TOLERANCE, profile.entropy, f"l={_down(worst)}"
    if part.variant == "frequency":
        if float(part.l).is_integer():
            admitted = profile.largest * int(part.l) <= profile.sizes
        else:
            admitted = profile.largest / profile.sizes <= 1 / part.l + TOLERANCE
        return admitted, profile.l_frequency, f"l={_down(profile.l_frequency.min())}"
    assert part.c is not None
    first, tail = profile.largest / profile.sizes, profile.tails(int(part.l)) / profile.sizes
    with np.errstate(divide="ignore"):
        needed = float((profile.largest / profile.tails(int(part.l))).max())
    few = int(profile.l_distinct.min())
    achieved = t("notice.only_values_group", few=few) if needed == np.inf else f"l={int(part.l)} above c={_up(needed)}"
    return first < part.c * tail - TOLERANCE, part.c * tail - first, achieved


def _closeness(part: requirements.TCloseness, profile: Profile) -> Judged:
    if part.distance == "hierarchical" and profile.baseline.levels is None:
        raise refusal("audit_error.no_tree", part=part, name=profile.baseline.name)
    distance = profile.per_group()[f"t_{part.distance}"]
    return distance <= part.t + TOLERANCE, -distance, f"t={_up(distance.max())}"


def _disclosure(part: requirements.DeltaDisclosure, profile: Profile) -> Judged:
    ratios = profile.delta if part.absent == "infinite" else profile.log_ratios
    infinite = t("notice.value_absent_from_group")
    achieved = infinite if np.isinf(ratios.max()) else t("notice.any_delta_above", up=_up(ratios.max()))
    return ratios < part.delta - TOLERANCE, -ratios, achieved


def _likeness(part: requirements.BetaLikeness, profile: Profile) -> Judged:
    bound = np.full(len(profile.q), float(part.beta))
    if part.variant == "enhanced":
        with np.errstate(divide="ignore"):
            bound = np.minimum(bound, -np.log(profile.q))
    room = np.minimum.reduceat(bound - profile.gains, profile.starts)
    basic = "" if part.variant == "basic" else " with variant=basic"
    return room >= -TOLERANCE, room, f"beta={_up(profile.beta.max())}{basic}"


def _alpha_k(part: requirements.AlphaK, profile: Profile) -> Judged:
    share = profile.largest / profile.sizes
    admitted = (profile.sizes >= part.k) & (share <= part.alpha + TOLERANCE)
    goodness = np.minimum(profile.sizes / part.k, part.alpha / share)
    return admitted, goodness, f"k={int(profile.sizes.min())}, alpha={_up(share.max())}"


def _down(value: float) -> str:
    return f"{floor(value * 1000 + TOLERANCE) / 1000:g}"


def _up(value: float) -> str:
    return "infinite" if np.isinf(value) else f"{-floor(-value * 1000 + TOLERANCE) / 1000:g}"
