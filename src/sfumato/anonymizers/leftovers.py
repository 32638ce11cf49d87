"""Records that a sweep leaves over: they join the groups where that costs least, or are left out within the budget."""

from __future__ import annotations

import numpy as np

from sfumato.anonymizers.sweeping import Codes, Counts, Domain, Numbers, add_point
from sfumato.kernels import kernel
from sfumato.requirements.predicates import group_admitted


def place_leftovers(domain: Domain, group: Counts, budget: int, priced: bool) -> bool:
    """Give every point without a group one, or leave it out; return whether that could be done.

    """
    left = np.flatnonzero(group < 0)
    if not len(left):
        return True
    groups = int(group.max()) + 1
    reps, levels = group_boxes(domain, group, groups)
    budget = join_singly(domain, group, left, reps, levels, budget if priced else 0)
    left = np.flatnonzero(group == -1)
    ok = True
    if len(left):
        ok = join_all(domain, group, left, box_losses(domain, reps, levels))
        if not ok and int(domain.counts[left].sum()) <= budget and groups:
            group[left] = -2
            ok = True
    return ok


@kernel
def group_boxes(domain: Domain, group: Counts, groups: int) -> tuple[Codes, Codes]:
    """Find for every group the codes of one of its points and the lowest levels on which its points agree."""
    d = domain.codes.shape[1]
    reps, levels = np.full((groups, d), -1, np.int32), np.zeros((groups, d), np.int32)
    for p in range(len(group)):
        g = group[p]
        if g < 0:
            continue
        for a in range(d):
            if reps[g, a] < 0:
                reps[g, a] = domain.codes[p, a]
            levels[g, a] = joint_level(domain, a, reps[g, a], levels[g, a], domain.codes[p, a])
    return reps, levels


@kernel
def joint_level(domain: Domain, a: int, rep: int, level: int, code: int) -> int:
    """Return the lowest level from `level` on, on which a code has the same node as a representative."""
    while domain.above[a, level, rep] != domain.above[a, level, code]:
        level += 1
    return level


@kernel
def box_losses(domain: Domain, reps: Codes, levels: Codes) -> Numbers:
    """Return the loss of every group's box."""
    losses = np.zeros(len(reps))
    for g in range(len(reps)):
        for a in range(reps.shape[1]):
            losses[g] += domain.losses[a, levels[g, a], reps[g, a]]
    return losses


@kernel
def join_singly(domain: Domain, group: Counts, left: Counts, reps: Codes, levels: Codes, budget: int) -> int:
    """Let every left-over point join the group where that costs least and which stays admitted."""
    groups, d = reps.shape
    histograms = np.zeros((groups, len(domain.rules.q)), np.int64)
    sizes = np.zeros(groups, np.int64)
    for p in range(len(group)):
        if group[p] >= 0:
            sizes[group[p]] += add_point(domain, p, 1, histograms[group[p]])
    for i in range(len(left)):
        p = left[i]
        best, best_cost = -1, np.inf
        if domain.counts[p] <= budget:
            best, best_cost = -2, float(domain.counts[p])
        for g in range(groups):
            before = after = 0.0
            for a in range(d):
                before += domain.losses[a, levels[g, a], reps[g, a]]
                level = joint_level(domain, a, reps[g, a], levels[g, a], domain.codes[p, a])
                after += domain.losses[a, level, reps[g, a]]
            cost = sizes[g] * (after - before) + domain.counts[p] * after
            if cost < best_cost - 1e-12:
                size = sizes[g] + add_point(domain, p, 1, histograms[g])
                if group_admitted(domain.rules, histograms[g], size):
                    best, best_cost = g, cost
                add_point(domain, p, -1, histograms[g])
        group[p] = best
        if best == -2:
            budget -= domain.counts[p]
        if best >= 0:
            sizes[best] += add_point(domain, p, 1, histograms[best])
            for a in range(d):
                levels[best, a] = joint_level(domain, a, reps[best, a], levels[best, a], domain.codes[p, a])
    return budget


def join_all(domain: Domain, group: Counts, left: Counts, losses: Numbers) -> bool:
    """Make one group of the left-over points and as many groups as needed, those that lose least by it first."""
    histogram = np.zeros(len(domain.rules.q), np.int64)
    size = sum(add_point(domain, int(p), 1, histogram) for p in left)
    taken = []
    for g in np.argsort(-losses, kind="stable"):
        if group_admitted(domain.rules, histogram, size):
            break
        taken.append(g)
        size += sum(add_point(domain, int(p), 1, histogram) for p in np.flatnonzero(group == g))
    if not group_admitted(domain.rules, histogram, size):
        return False
    group[np.isin(group, taken)] = len(losses)
    group[left] = len(losses)
    return True
