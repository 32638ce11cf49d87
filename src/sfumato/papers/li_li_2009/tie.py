"""The tie of Li & Li 2009, section 3.1: adversary and researcher who know, read and want the same gain the same.

Brickell & Shmatikov let the researcher know neutral attributes that the adversary does not. Without these, both guess
the sensitive value of a record from its group, beyond the commonest value of the table: a tie by definition, as long as
the researcher is tested on the records that he learned from. Tested on others, as classifiers are, he gains less.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.papers.li_li_2009.study import STRICT_DELTA, LiLi2009
from sfumato.papers.results import Claim, claim_rows
from sfumato.release import Release

row = claim_rows(__name__.rpartition(".")[0])

FOLDS = 10
SEED = 2009
TIE = 0.025
"""What counts as equal where records were not seen before: as for classifiers in Brickell & Shmatikov 2008."""

Whole = NDArray[np.int64]


def tie_claims(study: LiLi2009) -> Iterator[Claim]:
    """Compare what adversary and researcher gain in accuracy from every generalized release of figure 2."""
    keys = [key for key in study.releases if key[2] == "generalization" and key[0] != STRICT_DELTA]
    adversary = {key: study.measures[key]["a_acc"] for key in keys}
    same = {key: _gain_on_seen(study.releases[key]) - adversary[key] for key in keys}
    unseen = {key: _gain_on_unseen(study.releases[key]) - adversary[key] for key in keys}
    over = f"{len(keys)} generalized releases, A_acc {min(adversary.values()):.4f} to {max(adversary.values()):.4f}"
    gap = max(map(abs, same.values()))
    yield row("tie", round(gap, 6), gap < 1e-9, tested_over=over)
    widest = max(unseen, key=lambda key: abs(unseen[key]))
    ours = {
        "mean gap": round(float(np.mean(list(unseen.values()))), 4),
        "widest gap": round(unseen[widest], 4),
        "at": f"{widest[0]} {widest[1]:g}",
        "within": sum(abs(gap) <= TIE for gap in unseen.values()),
        "of": len(keys),
    }
    yield row("tie-on-unseen-records", ours, all(abs(gap) <= TIE for gap in unseen.values()), tested_over=over)


def _records(release: Release) -> tuple[Whole, Whole]:
    """Return the group and the sensitive value of every published record."""
    rows = release.assignment
    return np.repeat(rows.group, rows.count), np.repeat(release.cells.values[rows.cell, 0].astype(np.int64), rows.count)


def _gain_on_seen(release: Release) -> float:
    """Guess the commonest value of every record's group; say how much better that is than the commonest of all."""
    group, value = _records(release)
    return float((_guesses(group, value, release)[group] == value).mean()) - _commonest(release)


def _gain_on_unseen(release: Release) -> float:
    """Do the same, but let every guess be learned from the other folds alone."""
    group, value = _records(release)
    fold = np.random.default_rng(SEED).permutation(len(value)) % FOLDS
    right = 0
    for held in range(FOLDS):
        learned, asked = fold != held, fold == held
        right += int((_guesses(group[learned], value[learned], release)[group[asked]] == value[asked]).sum())
    return right / len(value) - _commonest(release)


def _guesses(group: Whole, value: Whole, release: Release) -> Whole:
    """Return the commonest value of every group among some records; the table's where a group has none of them."""
    shares = release.cells.sensitive[0].shares
    counts = np.bincount(group * len(shares) + value, minlength=release.groups * len(shares))
    table = counts.reshape(release.groups, len(shares)) + shares / 2  # less than a record: for ties and empty groups
    guesses: Whole = table.argmax(axis=1)
    return guesses


def _commonest(release: Release) -> float:
    return float(release.cells.sensitive[0].shares.max())
