"""Record linkage by distance: finding a person's own record in the release (Domingo-Ferrer and Torra 2001).

The attacker knows everybody's quasi-identifiers and takes the released record that is nearest to them for the person's
own. It needs the link from people to records, which the publisher has where records were generalized or perturbed one
by one. Of a box the distance is that of its nearest value, so a box that the person lies in is at distance 0.

    success: the person's own record is among the nearest; where m of them are equally near, with probability 1 / m
    somebody whose record is not published is never found
    at random: 1 / the number of released records

**What k says.** Where every combination of published quasi-identifiers is that of k records, one's own is among k that
look alike, so nobody is found with a probability of more than 1 / k, at whatever distance.
"""

from __future__ import annotations

import numpy as np

from sfumato.arrays import Numbers
from sfumato.kernels import kernel
from sfumato.measures.attacks.advantage import Advantage, Rate
from sfumato.measures.attacks.nearest import placed
from sfumato.release import Grouped, RecordRelease, Release

TOLERANCE = 1e-9
"""Distances that differ by less are equal: sums come out a little different in another order."""


def record_linkage(
    release: Grouped, lines: list[Numbers], tries: int, generator: np.random.Generator
) -> Advantage | None:
    """Look for some persons' own records, drawn at random; None where nobody knows whose record is whose."""
    link = release.link if isinstance(release, RecordRelease) else getattr(release, "assignment", None)
    if link is None:
        return None
    cells = release.cells
    persons = np.sort(generator.permutation(cells.records)[:tries])
    entry = np.searchsorted(np.cumsum(link.count), persons, side="right")
    published = entry < len(link.count)
    entry = entry[published]
    codes = cells.codes[link.cell[entry]]
    if isinstance(release, RecordRelease):
        own = release.lo[link.group[entry]], release.hi[link.group[entry]]
    elif isinstance(release, Release) and release.form == "generalization":
        own = release.boxes.lo[link.group[entry]], release.boxes.hi[link.group[entry]]
    else:
        own = codes, codes
    boxes = release.boxes
    own_lo, own_hi, lo, hi = (placed(lines, ends) for ends in (*own, boxes.lo, boxes.hi))
    chances = own_found(placed(lines, codes), own_lo, own_hi, lo, hi, boxes.mass.astype(np.float64))
    everybody = int(release.records)
    smallest = int(release.quasi_counts.min())
    return Advantage(
        "record_linkage",
        Rate(float(chances.sum()), len(persons)),
        Rate(len(persons) / everybody, len(persons), known=True),
        on="the release itself",
        bound=1 / smallest,
        bound_by=f"that every published combination is that of {smallest} records",
    )


@kernel
def own_found(targets: Numbers, own_lo: Numbers, own_hi: Numbers, lo: Numbers, hi: Numbers, mass: Numbers) -> Numbers:
    """Return for every target the probability to take its own record; O(targets x boxes)."""
    chances = np.zeros(len(targets))
    for i in range(len(targets)):
        own = 0.0
        for a in range(targets.shape[1]):
            own += min(max(own_lo[i, a] - targets[i, a], targets[i, a] - own_hi[i, a], 0.0), 1.0)
        tied = 0.0
        for j in range(len(lo)):
            distance = 0.0
            for a in range(targets.shape[1]):
                distance += min(max(lo[j, a] - targets[i, a], targets[i, a] - hi[j, a], 0.0), 1.0)
                if distance > own + TOLERANCE:
                    break
            if distance < own - TOLERANCE:
                tied = 0.0
                break
            if distance <= own + TOLERANCE:
                tied += mass[j]
        if tied > 0:
            chances[i] = 1 / tied
    return chances
