"""Regrouping: dissolve a group, move its records to where that costs least, and keep what lowers the loss.

    For every group, the one with the widest box first:
        take its records out
        while one of them is left, the one that would pay most elsewhere:
            gather the cheapest companions around it (its old fellows, and donors whose groups can spare them)
            keep this new group if all of them together pay less than otherwise
        let the others join the groups where that costs least (or leave them out, within the budget)
        undo everything unless the total loss has fallen.

A sweep takes easy groups first, and what is left over for the last ones is scattered widely; this mends it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.local_recoding._groups import (
    NONE,
    Grouping,
    Journal,
    admitted_with,
    close,
    draw_box,
    draw_touched,
    journal_for,
    least_size,
    members_admitted,
    move,
    new_group,
    note,
    put,
    return_group,
    take,
    undo,
    widen_box,
    widened_loss,
)
from sfumato.anonymizers.local_recoding._sweep import (
    FARTHEST,
    NearestHeap,
    PointDomain,
    Tree,
    add_point,
    branch_distance,
    build_tree,
    distance,
    keep_nearest,
    persons_admitted,
    room_for_nearest,
)
from sfumato.anonymizers.mondrian._cuts import only_sizes, sizes_admitted
from sfumato.requirements._predicates import group_admitted
from sfumato.runtime.arrays import Counts, Numbers
from sfumato.runtime.kernels import kernel

MOST_PORTIONS = 100
"""Groups with more portions than this are not dissolved: a few moves hardly change what so many have in common."""

MOST_FAILURES = 4
"""After this many seeds around which no group is worth it, the rest of a dissolved group looks for hosts."""

MOST_ASKED = 100_000_000
"""Left-over records ask every group, unless there are more questions than this: then only those nearby."""

HOSTS = 16
"""The groups of this many nearest portions are asked to take a record in."""

STRETCH = 1000
FEWEST = 64
"""After about so many records and groups a pass asks whether going on pays."""

PAYS = 0.08
"""It does while a record that is dissolved saves on average this share of what one saved in the best stretch."""

LEAST = 0.02
"""A pass is the last if at a third it saves the loss at such a rate that all records together would save this share."""

WORTH = 1e-9
"""A change that saves less is not worth it (and may be a rounding error)."""


def candidates(domain: PointDomain) -> int:
    """Return how many near portions are considered as companions."""
    return min(2 * least_size(domain), 2 * MOST_PORTIONS) + 32


class Workshop(NamedTuple):
    """The state of regrouping besides the groups."""

    tree: Tree
    journal: Journal
    hosts: NearestHeap
    companions: NearestHeap
    fallbacks: Numbers
    """The price per record of every portion if it did not go to a new group."""

    budget: int
    """How many records may be left out in all; each costs 1."""


def workshop_for(domain: PointDomain, grouping: Grouping, budget: int) -> Workshop:
    """Build the tree of neighbours and allocate arrays for trials."""
    tree = build_tree(domain)
    journal = journal_for(grouping, MOST_PORTIONS * (candidates(domain) + 2))
    hosts, companions = room_for_nearest(HOSTS, tree), room_for_nearest(candidates(domain), tree)
    return Workshop(tree, journal, hosts, companions, np.ones(len(grouping.point)), budget)


def regroup(domain: PointDomain, grouping: Grouping, shop: Workshop, passes: int) -> None:
    """Improve groups in passes: first all of them are tried, then those that the last pass has changed.

    The widest groups come first, and the further a pass comes the less it saves: it ends where that pays no more.
    Time of a pass is O(records in groups that lose something x the time of a search for neighbours), so it grows a
    little faster than the number of records.
    """
    changed = np.ones(len(grouping.sizes), np.bool_)
    best = 0.0
    for _ in range(passes):
        order = np.argsort(-grouping.losses, kind="stable")
        order = order[changed[order] & (grouping.losses[order] > 0)]
        changed[:] = False
        records, begun, done, pays = int(grouping.sizes[order].sum()), total_loss(grouping), 0, True
        for stretch in np.array_split(order, max(1, min(records // STRETCH, len(order) // FEWEST))):
            before, number = total_loss(grouping), int(grouping.sizes[stretch].sum())
            regroup_once(domain, grouping, shop, stretch, changed)
            loss, done = total_loss(grouping), done + number
            best = max(best, (before - loss) / max(1, number))
            pays = 3 * done < records or begun - loss >= LEAST * begun * done / domain.counts.sum()
            if not pays or (before - loss) / max(1, number) < PAYS * best:
                break
        gather_outside(domain, grouping, shop, np.flatnonzero(grouping.group == NONE), changed)
        if not pays or not changed.any():
            break


def total_loss(grouping: Grouping) -> float:
    """Return what all records lose together; one that is left out loses 1."""
    return float(grouping.sizes @ grouping.losses + grouping.outside[0])


@kernel
def regroup_once(
    domain: PointDomain, grouping: Grouping, shop: Workshop, order: Counts, changed: NDArray[np.bool_]
) -> None:
    """Try to dissolve every group of the order once; mark the groups that have changed."""
    portions, nearby = np.empty(MOST_PORTIONS, np.int64), np.empty(0, np.int64)
    journal = shop.journal
    for group in order:
        count = list_portions(grouping, group, portions)
        if count == 0:
            continue
        outside = grouping.outside[0]
        paid = grouping.losses[group]
        for portion in portions[:count]:
            move(grouping, journal, portion, NONE)
        form_groups(domain, grouping, shop, portions[:count], shop.budget - outside, paid)
        settle(domain, grouping, shop, portions[:count], shop.budget - outside, nearby)
        change = draw_touched(domain, grouping, journal) + (grouping.outside[0] - outside)
        if change < -WORTH and grouping.outside[0] <= shop.budget:
            for i in range(journal.lengths[1]):
                changed[journal.touched[i]] = True
        else:
            undo(grouping, journal, 0)
            draw_touched(domain, grouping, journal)
        close(grouping, journal)


@kernel
def gather_outside(
    domain: PointDomain, grouping: Grouping, shop: Workshop, portions: Counts, changed: NDArray[np.bool_]
) -> None:
    """Form groups around portions that were left out, where donors make that cheaper than leaving them out."""
    for portion in portions:
        if grouping.group[portion] == NONE and gather(domain, grouping, shop, portion):
            draw_touched(domain, grouping, shop.journal)
            for i in range(shop.journal.lengths[1]):
                changed[shop.journal.touched[i]] = True
        close(grouping, shop.journal)


@kernel
def list_portions(grouping: Grouping, group: int, portions: Counts) -> int:
    """List the portions of a group in ascending order; return how many they are, 0 where they are too many."""
    count = 0
    portion = grouping.heads[group]
    while portion != NONE:
        if count == len(portions):
            return 0
        at = count
        while at > 0 and portions[at - 1] > portion:
            portions[at] = portions[at - 1]
            at -= 1
        portions[at] = portion
        count += 1
        portion = grouping.following[portion]
    return count


@kernel
def form_groups(
    domain: PointDomain, grouping: Grouping, shop: Workshop, portions: Counts, free: int, paid: float
) -> None:
    """Form new groups around portions of a dissolved group, those that would pay most elsewhere first."""
    for portion in portions:
        shop.fallbacks[portion] = fallback(domain, grouping, shop, portion, free, paid)
    tried = np.zeros(len(portions), np.bool_)
    failures = 0
    while failures < MOST_FAILURES:
        seed = -1
        for i in range(len(portions)):
            open_ = not tried[i] and grouping.group[portions[i]] == NONE
            if open_ and (seed < 0 or shop.fallbacks[portions[i]] > shop.fallbacks[portions[seed]]):
                seed = i
        if seed < 0:
            break
        tried[seed] = True
        shop.fallbacks[portions[seed]] = fallback(domain, grouping, shop, portions[seed], free, paid)
        if not gather(domain, grouping, shop, portions[seed]):
            failures += 1
    for portion in portions:
        shop.fallbacks[portion] = 1.0


@kernel
def fallback(domain: PointDomain, grouping: Grouping, shop: Workshop, portion: int, free: int, paid: float) -> float:
    """Return what a portion would pay per record with a host or left out; without either, what it paid before."""
    host, cost = cheapest_host(domain, grouping, shop, portion, np.empty(0, np.int64))
    weight = grouping.weight[portion]
    if weight <= free:
        return float(min(cost / weight, 1.0))
    return float(paid if host == NONE else cost / weight)


@kernel
def settle(domain: PointDomain, grouping: Grouping, shop: Workshop, portions: Counts, free: int, hosts: Counts) -> int:
    """Let portions that are in no group join the hosts (without a list: the groups nearby) where that costs least.

    Up to `free` records stay out where that costs less; returns how many more could.
    """
    for portion in portions:
        if grouping.group[portion] != NONE:
            continue
        host, cost = cheapest_host(domain, grouping, shop, portion, hosts)
        weight = grouping.weight[portion]
        if weight <= free and cost > weight:
            free -= weight
        elif host != NONE:
            move(grouping, shop.journal, portion, host)
            widen_box(domain, grouping, host, grouping.point[portion])
    return free


@kernel
def cheapest_host(
    domain: PointDomain, grouping: Grouping, shop: Workshop, portion: int, hosts: Counts
) -> tuple[int, float]:
    """Find the host (without a list of hosts: the group nearby) that can take a portion in at the least cost."""
    everywhere = len(hosts) > 0
    number = len(hosts)
    if not everywhere:
        number = nearest_portions(domain, grouping, shop.tree, shop.hosts, grouping.point[portion], False)
    best, best_cost = NONE, np.inf
    for i in range(number):
        group = hosts[i] if everywhere else grouping.group[shop.hosts.numbers[i]]
        if group in (NONE, best):
            continue
        loss = widened_loss(domain, grouping, group, grouping.point[portion])
        cost = grouping.sizes[group] * (loss - grouping.losses[group]) + grouping.weight[portion] * loss
        if (cost < best_cost or (cost == best_cost and group < best)) and admitted_with(
            domain, grouping, group, portion, 1
        ):
            best, best_cost = group, cost
    return best, best_cost


@kernel
def nearest_portions(
    domain: PointDomain, grouping: Grouping, tree: Tree, nearest: NearestHeap, point: int, movable: bool
) -> int:
    """Find the portions nearest to a point, on request only those that their groups can spare by their size."""
    nearest.branches[0], nearest.bounds[0] = 0, 0.0
    pending, count, most = 1, 0, len(nearest.numbers)
    while pending > 0:
        pending -= 1
        branch = nearest.branches[pending]
        limit = nearest.distances[0] if count == most else FARTHEST
        if nearest.bounds[pending] >= limit:
            continue
        half = tree.halves[branch]
        if half >= 0:
            first = branch_distance(domain, tree, half, point, limit)
            second = branch_distance(domain, tree, half + 1, point, limit)
            nearer = half if first <= second else half + 1
            for each, bound in ((2 * half + 1 - nearer, max(first, second)), (nearer, min(first, second))):
                if bound < limit:
                    nearest.branches[pending], nearest.bounds[pending] = each, bound
                    pending += 1
            continue
        for i in range(tree.starts[branch], tree.ends[branch]):
            far = distance(domain, tree.points[i], point, limit)
            if far >= limit:
                continue
            for portion in range(grouping.portions[tree.points[i]], grouping.portions[tree.points[i] + 1]):
                if not movable or can_spare(domain, grouping, portion):
                    count = keep_nearest(nearest, count, far, portion)
            limit = nearest.distances[0] if count == most else FARTHEST
    return count


@kernel
def can_spare(domain: PointDomain, grouping: Grouping, portion: int) -> bool:
    """Return whether a portion is in no group, or in one that is large enough without it."""
    group = grouping.group[portion]
    return group == NONE or sizes_admitted(domain.rules, grouping.sizes[group] - grouping.weight[portion])


@kernel
def gather(domain: PointDomain, grouping: Grouping, shop: Workshop, seed: int) -> bool:
    """Gather a new group around a seed, keep it if its members together pay less than they did, and return whether it
    was kept.

    The companion that costs least comes next: what the box's growth costs those who are in it already, plus what the
    companion itself loses. Of all stages on the way that are admitted the one that saves most is kept.
    """
    count = nearest_portions(domain, grouping, shop.tree, shop.companions, grouping.point[seed], True)
    near = shop.companions.numbers
    start = shop.journal.lengths[0]
    group = new_group(grouping)
    note(grouping, shop.journal, group)
    histogram = np.zeros(len(domain.rules.q), np.int64)
    losses, open_ = np.empty(count), np.ones(count, np.bool_)
    for i in range(count):
        open_[i] = near[i] != seed
    saved = join(domain, grouping, shop, group, seed, histogram)
    draw_box(domain, grouping, group)
    best_saving, best_moves, drawn = WORTH, start, -1.0
    while True:
        size, loss = grouping.sizes[group], grouping.losses[group]
        complete = sizes_admitted(domain.rules, size) and group_admitted(domain.rules, histogram, size)
        complete = complete and members_admitted(domain, grouping, group, seed, 0)
        if complete and saved - size * loss > best_saving:
            best_saving, best_moves = saved - size * loss, shop.journal.lengths[0]
        if loss != drawn:
            widen_losses(domain, grouping, group, near, open_, losses)
            drawn = loss
        best, best_cost = -1, np.inf
        for i in range(count):
            if open_[i]:
                weight = grouping.weight[near[i]]
                cost = size * (losses[i] - loss) / weight + losses[i] - worth(grouping, shop, near[i])
                if cost < best_cost:
                    home = grouping.group[near[i]]
                    if home == NONE or admitted_with(domain, grouping, home, near[i], -1):
                        best, best_cost = i, cost
                    else:
                        open_[i] = False
        if best < 0 or (complete and best_cost >= 0):
            break
        open_[best] = False
        saved += join(domain, grouping, shop, group, near[best], histogram)
        widen_box(domain, grouping, group, grouping.point[near[best]])
    undo(grouping, shop.journal, best_moves)
    draw_box(domain, grouping, group)
    return bool(best_moves > start)


@kernel
def worth(grouping: Grouping, shop: Workshop, portion: int) -> float:
    """Return what a portion pays per record where it is, or would pay if it is in no group."""
    group = grouping.group[portion]
    return float(shop.fallbacks[portion] if group == NONE else grouping.losses[group])


@kernel
def join(domain: PointDomain, grouping: Grouping, shop: Workshop, group: int, portion: int, histogram: Counts) -> float:
    """Move a portion into a group that is being gathered; return what it paid before."""
    paid = grouping.weight[portion] * worth(grouping, shop, portion)
    move(grouping, shop.journal, portion, group)
    if not only_sizes(domain.rules):
        add_point(domain, grouping.point[portion], 1, histogram)
    return float(paid)


@kernel
def widen_losses(
    domain: PointDomain, grouping: Grouping, group: int, near: Counts, open_: NDArray[np.bool_], losses: Numbers
) -> None:
    """Write for every open portion the loss of the group's box if it covered that portion as well."""
    for i in range(len(losses)):
        if open_[i]:
            losses[i] = widened_loss(domain, grouping, group, grouping.point[near[i]])


def house_leftovers(domain: PointDomain, grouping: Grouping, shop: Workshop, budget: int) -> bool:
    """Find groups for all portions that a sweep has left without one; return whether that could be done.

    Each joins the near group where that costs least and which stays admitted. If more records remain than may be
    suppressed, they form one group together with as many groups as it takes, the widest first. A requirement that
    survives merging is satisfied at the latest when that group is the whole table.
    """
    left = np.flatnonzero(grouping.group == NONE)
    free = shop.budget
    hosts = np.flatnonzero(grouping.sizes)
    if len(left) * len(hosts) > MOST_ASKED:
        hosts = hosts[:0]
    for start in range(0, len(left), MOST_PORTIONS):
        free = settle(domain, grouping, shop, left[start : start + MOST_PORTIONS], free, hosts)
        close(grouping, shop.journal)
    if grouping.outside[0] <= shop.budget:
        return bool(grouping.outside[0] < domain.counts.sum())
    order = np.argsort(-grouping.losses, kind="stable")
    order = order[grouping.sizes[order] > 0]
    return join_widest(domain, grouping, order) or bool(len(order) > 0 and grouping.outside[0] <= budget)


@kernel
def join_widest(domain: PointDomain, grouping: Grouping, order: Counts) -> bool:
    """Make one group of all portions that are in none and of the first groups of the order, as few as are enough."""
    histogram = np.zeros(len(domain.rules.q), np.int64)
    size = grouping.outside[0]
    sizes_only = only_sizes(domain.rules)
    for portion in range(len(grouping.point)):
        if grouping.group[portion] == NONE and not sizes_only:
            add_point(domain, grouping.point[portion], 1, histogram)
    enough = 0
    while not (
        group_admitted(domain.rules, histogram, size) and joined_admitted(domain, grouping, order, enough, size)
    ):
        if enough == len(order):
            return False
        size += grouping.sizes[order[enough]]
        member = grouping.heads[order[enough]]
        while member != NONE and not sizes_only:
            add_point(domain, grouping.point[member], 1, histogram)
            member = grouping.following[member]
        enough += 1
    together = new_group(grouping)
    for group in order[:enough]:
        while grouping.heads[group] != NONE:
            take(grouping, grouping.heads[group])
        draw_box(domain, grouping, group)
        return_group(grouping, group)
    for portion in range(len(grouping.point)):
        if grouping.group[portion] == NONE:
            put(grouping, portion, together)
    draw_box(domain, grouping, together)
    return True


@kernel
def joined_admitted(domain: PointDomain, grouping: Grouping, order: Counts, enough: int, size: int) -> bool:
    """Return whether the persons outside of all groups and of the first groups of the order are admitted as one group.

    That is not looked at for every number of groups: the time would grow with its square.
    """
    if domain.problem.persons.k == 0:
        return True
    if enough & (enough - 1) != 0 and enough < len(order):
        return False
    chosen = np.zeros(len(grouping.heads), np.bool_)
    chosen[order[:enough]] = True
    joined = np.empty(len(grouping.point), np.int64)
    used = 0
    for portion in range(len(grouping.point)):
        if grouping.group[portion] == NONE or chosen[grouping.group[portion]]:
            joined[used] = grouping.point[portion]
            used += 1
    return persons_admitted(domain, joined[:used], size)
