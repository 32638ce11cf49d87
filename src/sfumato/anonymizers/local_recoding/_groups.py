"""Groups that change: portions of points in linked lists, boxes drawn around them, and a journal to undo moves.

A portion is a number of records with equal quasi-identifiers that move together. If only sizes are required, each
record is a portion (except for the bulk of a frequent point). A requirement about sensitive values gets whole points,
because dividing equal records in view of their sensitive values would reveal something about these. Persons get whole
points too: nobody knows whose records a part of a point is.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.local_recoding._sweep import PointDomain, add_point, joint_level, persons_admitted
from sfumato.anonymizers.mondrian._cuts import only_sizes, sizes_admitted
from sfumato.requirements._predicates import SIZE, group_admitted
from sfumato.runtime._kernel_helpers import room
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel

NONE = -1
"""The group of a portion that is in none."""


class Grouping(NamedTuple):
    """Portions and the groups they are in; group g has a size, a box, and a list of portions that starts at heads[g].

    A box is the codes of one of the group's points and per attribute the lowest level on which all points agree.
    """

    point: Counts
    weight: Counts
    portions: Counts
    """The portions of point p are `portions[p]:portions[p + 1]`."""

    group: Counts
    following: Counts
    previous: Counts
    heads: Counts
    sizes: Counts
    losses: Numbers
    codes: Codes
    levels: Codes
    spare: Counts
    """Numbers of groups without portions, after their count."""

    outside: Counts
    """How many records are in no group."""


class Journal(NamedTuple):
    """The moves of one trial, and what the groups they touched cost before it."""

    portions: Counts
    origins: Counts
    touched: Counts
    costs: Numbers
    """The cost of every touched group before the trial."""

    noted: NDArray[np.bool_]
    lengths: Counts
    """How many moves and how many touched groups there are."""


def least_size(domain: PointDomain) -> int:
    """Return the size below which no group is admitted."""
    sizes = [float(k) for kind, (k, _) in zip(domain.rules.kinds, domain.rules.parameters, strict=True) if kind == SIZE]
    return max(1, *(int(np.ceil(size)) for size in sizes)) if sizes else 1


def grouping_of(domain: PointDomain, group: Counts, margin: int) -> Grouping:
    """Cut points into portions and list those of every group; arrays are `margin` groups larger than needed."""
    least = least_size(domain)
    bulk = domain.counts - 1  # a whole point is one portion
    if domain.problem.persons.k == 0 and only_sizes(
        domain.rules
    ):  # one portion a record, but no point has more than is worth a choice
        bulk = np.where(domain.counts > 4 * least, domain.counts - 2 * least - 1, 0)
    starts = np.concatenate([[0], np.cumsum(domain.counts - bulk)])
    point = np.repeat(np.arange(len(domain.counts)), domain.counts - bulk)
    weight = np.ones(len(point), np.int64)
    weight[starts[:-1]] += bulk
    most = min(int(domain.counts.sum()) // least, len(point)) + int(group.max()) + 1 + margin
    d = domain.codes.shape[1]
    grouping = Grouping(
        point,
        weight,
        starts,
        np.full(len(point), NONE),
        np.full(len(point), NONE),
        np.full(len(point), NONE),
        np.full(most, NONE),
        np.zeros(most, np.int64),
        np.zeros(most),
        np.zeros((most, d), np.int32),
        np.zeros((most, d), np.int32),
        np.zeros(most + 1, np.int64),
        domain.counts.sum(keepdims=True),
    )
    fill_groups(domain, grouping, group)
    return grouping


@kernel
def fill_groups(domain: PointDomain, grouping: Grouping, group: Counts) -> None:
    """Put all portions of every point into the point's group, and draw the boxes."""
    for portion in range(len(grouping.point)):
        put(grouping, portion, group[grouping.point[portion]])
    for g in range(len(grouping.heads) - 1, -1, -1):
        draw_box(domain, grouping, g)
        if grouping.sizes[g] == 0:
            return_group(grouping, g)


def journal_for(grouping: Grouping, moves: int) -> Journal:
    """Open an empty journal for at most this many moves."""
    groups = len(grouping.sizes)
    return Journal(
        np.zeros(moves, np.int64),
        np.zeros(moves, np.int64),
        np.zeros(groups, np.int64),
        np.zeros(groups),
        np.zeros(groups, np.bool_),
        np.zeros(2, np.int64),
    )


@kernel
def new_group(grouping: Grouping) -> int:
    """Take the number of a group without portions."""
    grouping.spare[0] -= 1
    return int(grouping.spare[grouping.spare[0] + 1])


@kernel
def return_group(grouping: Grouping, group: int) -> None:
    """Give back the number of a group without portions."""
    grouping.spare[0] += 1
    grouping.spare[grouping.spare[0]] = group


@kernel
def put(grouping: Grouping, portion: int, group: int) -> None:
    """Put a portion that is in no group into one, or leave it where it is for no group."""
    if group == NONE:
        return
    head = grouping.heads[group]
    grouping.group[portion] = group
    grouping.previous[portion], grouping.following[portion] = NONE, head
    if head != NONE:
        grouping.previous[head] = portion
    grouping.heads[group] = portion
    grouping.sizes[group] += grouping.weight[portion]
    grouping.outside[0] -= grouping.weight[portion]


@kernel
def take(grouping: Grouping, portion: int) -> None:
    """Take a portion out of its group, if it is in one."""
    group = grouping.group[portion]
    if group == NONE:
        return
    before, after = grouping.previous[portion], grouping.following[portion]
    if before == NONE:
        grouping.heads[group] = after
    else:
        grouping.following[before] = after
    if after != NONE:
        grouping.previous[after] = before
    grouping.sizes[group] -= grouping.weight[portion]
    grouping.outside[0] += grouping.weight[portion]
    grouping.group[portion] = NONE


@kernel
def draw_box(domain: PointDomain, grouping: Grouping, group: int) -> None:
    """Find the smallest nodes that cover a group, and their loss."""
    portion = grouping.heads[group]
    grouping.losses[group] = 0.0
    if portion == NONE:
        return
    for a in range(domain.codes.shape[1]):
        grouping.codes[group, a] = domain.codes[grouping.point[portion], a]
        grouping.levels[group, a] = 0
    while portion != NONE:
        widen_box(domain, grouping, group, grouping.point[portion])
        portion = grouping.following[portion]


@kernel
def widen_box(domain: PointDomain, grouping: Grouping, group: int, point: int) -> None:
    """Widen a group's box so that it covers a point."""
    loss = 0.0
    for a in range(domain.codes.shape[1]):
        code = grouping.codes[group, a]
        level = joint_level(domain, a, code, grouping.levels[group, a], domain.codes[point, a])
        grouping.levels[group, a] = level
        loss += domain.losses[a, level, code]
    grouping.losses[group] = loss


@kernel
def widened_loss(domain: PointDomain, grouping: Grouping, group: int, point: int) -> float:
    """Return the loss of a group's box if it covered a point as well."""
    loss = 0.0
    for a in range(domain.codes.shape[1]):
        code = grouping.codes[group, a]
        loss += domain.losses[a, joint_level(domain, a, code, grouping.levels[group, a], domain.codes[point, a]), code]
    return loss


@kernel
def admitted_with(domain: PointDomain, grouping: Grouping, group: int, portion: int, sign: int) -> bool:
    """Return whether a group is admitted with one more portion (sign 1), or without one of its portions (sign -1)."""
    if not sizes_admitted(domain.rules, grouping.sizes[group] + sign * grouping.weight[portion]):
        return False
    if domain.problem.persons.k > 0:
        return members_admitted(domain, grouping, group, portion, sign)
    if only_sizes(domain.rules):
        return True
    histogram = np.zeros(len(domain.rules.q), np.int64)
    size = add_point(domain, grouping.point[portion], sign, histogram)
    member = grouping.heads[group]
    while member != NONE:
        size += add_point(domain, grouping.point[member], 1, histogram)
        member = grouping.following[member]
    return group_admitted(domain.rules, histogram, size)


@kernel
def members_admitted(domain: PointDomain, grouping: Grouping, group: int, portion: int, sign: int) -> bool:
    """Return whether the persons of a group are admitted, with or without a portion as above (0: just as it is)."""
    points, used = np.empty(16, np.int64), 0
    if sign > 0:
        points[0], used = grouping.point[portion], 1
    size = grouping.sizes[group] + sign * grouping.weight[portion]
    member = grouping.heads[group]
    while member != NONE:
        if sign == 0 or member != portion:
            points = room(points, used + 1)
            points[used] = grouping.point[member]
            used += 1
        member = grouping.following[member]
    return persons_admitted(domain, points[:used], size)


@kernel
def note(grouping: Grouping, journal: Journal, group: int) -> None:
    """Write down what a group costs before its first move of a trial."""
    if group != NONE and not journal.noted[group]:
        journal.noted[group] = True
        journal.touched[journal.lengths[1]] = group
        journal.costs[journal.lengths[1]] = grouping.sizes[group] * grouping.losses[group]
        journal.lengths[1] += 1


@kernel
def move(grouping: Grouping, journal: Journal, portion: int, group: int) -> None:
    """Move a portion to another group, or to none, and write it down. Boxes are not drawn again."""
    note(grouping, journal, grouping.group[portion])
    note(grouping, journal, group)
    journal.portions[journal.lengths[0]] = portion
    journal.origins[journal.lengths[0]] = grouping.group[portion]
    journal.lengths[0] += 1
    take(grouping, portion)
    put(grouping, portion, group)


@kernel
def undo(grouping: Grouping, journal: Journal, moves: int) -> None:
    """Take back all but the first moves of a trial."""
    for i in range(journal.lengths[0] - 1, moves - 1, -1):
        take(grouping, journal.portions[i])
        put(grouping, journal.portions[i], journal.origins[i])
    journal.lengths[0] = moves


@kernel
def draw_touched(domain: PointDomain, grouping: Grouping, journal: Journal) -> float:
    """Recompute the boxes of all touched groups; return by how much they cost more than before the trial."""
    change = 0.0
    for i in range(journal.lengths[1]):
        group = journal.touched[i]
        draw_box(domain, grouping, group)
        change += grouping.sizes[group] * grouping.losses[group] - journal.costs[i]
    return change


@kernel
def close(grouping: Grouping, journal: Journal) -> None:
    """End a trial: give back the numbers of groups that are empty now, and empty the journal."""
    for i in range(journal.lengths[1]):
        group = journal.touched[i]
        journal.noted[group] = False
        if grouping.sizes[group] == 0:
            return_group(grouping, group)
    journal.lengths[:] = 0
