"""What a differentially private release does not protect against, and what its epsilon means in words.

The texts are for everybody: they depend on the settings and on what the mechanism published, never on the records.
What is for the publisher alone stands in `count`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from sfumato.anonymizers import Mechanism
from sfumato.anonymizers.dp.noise import variance
from sfumato.phrases import counted, listed, percent
from sfumato.publish.cautions import Caution
from sfumato.release import NoisyRelease
from sfumato.table import Table

NEARLY_SURE = 0.99
"""Where even odds may become this belief, a promise is too weak to be left without a warning."""

NOISE_PREVAILS = "more noise than records"
"""What is said first of counts that drown in noise."""

MANY_ROWS = 0.1
"""The share by which rows and records may differ before the publisher is told."""

SAID_OTHERWISE = ("columns without a role", "neutral column", "identifier")
"""Notices of a table that speak of groups or of columns kept as they are; of noisy releases the cautions do."""


def belief(epsilon: float) -> float:
    """Return how sure somebody can become of what was as likely as not before: e^epsilon / (1 + e^epsilon)."""
    return 1 / (1 + math.exp(-epsilon))


def epsilon_in_words(epsilon: float) -> str:
    """Say what an epsilon promises. To have another value is one record less and one more, so it counts twice."""
    return (
        f"Any file that could have come out is at most {_factor(epsilon)} times (e^epsilon) as likely with the one "
        "record of a given person in the table as without it, and the other way round. So whoever holds it for as "
        f"likely as not that this person is in the table can become at most {_percent(belief(epsilon))} sure by this "
        "file; and of which of two equally likely values the person has there, at most "
        f"{_percent(belief(2 * epsilon))} sure."
    )


def _percent(share: float) -> str:
    return "100 % (as good as)" if share > 0.9995 else percent(share, 3)


def _factor(epsilon: float) -> str:
    return f"{math.exp(epsilon):.3g}" if epsilon < math.log(1e6) else f"10^{epsilon / math.log(10):.0f}"


def noisy_cautions(release: NoisyRelease, maker: Mechanism) -> list[Caution]:
    """List what this release does not protect against; what is alarming about it first."""
    return [*alarms(release, maker), *_always(release)]


def alarms(release: NoisyRelease, maker: Mechanism) -> Iterator[Caution]:
    """Find what is wrong with the settings: a budget that promises little, noise that drowns the counts."""
    if belief(maker.epsilon) > NEARLY_SURE:
        yield Caution(
            "large epsilon",
            f"An epsilon of {maker.epsilon:g} promises very little: by the promise alone, even odds may become near "
            f"certainty. At most {math.log(NEARLY_SURE / (1 - NEARLY_SURE)):.1f} would keep them below "
            f"{NEARLY_SURE:.0%}; 1 or less is usual.",
        )
    noise, mean = noise_of_counts(release), release.synthetic_counts.mean()
    if mean < noise:
        yield Caution(
            NOISE_PREVAILS,
            f"The file spreads over {release.counts.size:,} counts ({counted(release.groups, 'box', 'boxes')} x "
            f"{release.counts.shape[1]} values): on average {mean:.2g} records each, with noise of about {noise:.2g}. "
            "Most of it is noise; fewer boxes (a lower height), or a larger epsilon, would tell more.",
        )


def noise_of_counts(release: NoisyRelease) -> float:
    """Return the standard deviation of the noise in the counts of the final boxes, before they are made to add up."""
    final = max((part for part in release.guarantee.spent if part.what == "counts"), key=lambda part: part.level)
    return math.sqrt(variance(final.epsilon))


def _always(release: NoisyRelease) -> Iterator[Caution]:
    yield Caution(
        "synthetic records",
        "The rows look like people, but nobody is behind them: they were drawn from noisy counts. A row that fits "
        "somebody fits by chance; a person whom no row fits may be in the table all the same. The number of rows is "
        "not the number of records.",
        _rows(release),
    )
    yield Caution(
        "statistics",
        "What the file teaches of everybody, such as which values go with which ages, it teaches of a person who is "
        "known to be alike, whether in the table or not. No release that is of any use prevents this; the promise is "
        "that having been in the table adds no more to it than epsilon allows.",
    )
    yield Caution(
        "small groups",
        f"Every count behind the file carries noise of about {noise_of_counts(release):.2g} records (one standard "
        "deviation), also where there was nobody. Groups of about that size are noise: draw no conclusion from them. "
        "Within a box, quasi-identifiers were drawn evenly and say nothing of how they go together.",
    )
    yield Caution(
        "composition",
        "Budgets add up: another differentially private release about the same people, by whomever, adds its epsilon "
        "to this one's, also a second draw with the same settings. Releases that are not differentially private have "
        "no epsilon to add, and nothing bounds what they tell together with this one.",
    )
    yield Caution(
        "several records",
        "One record is taken for one person. Of somebody with n records, or of a family of n, the file may tell as "
        "much as a budget of n times epsilon allows.",
        _repeated(release.table),
    )
    yield Caution(
        "declared domains",
        "Which values are possible was declared by the publisher and is taken as public. A domain that was read off "
        "the records (the age of the oldest, a rare illness in the list) tells what no noise hides.",
    )
    others = columns_left_out(release.table)
    yield Caution(
        "other columns",
        "Only quasi-identifiers and the sensitive attribute are in this file; no column is published as it is.",
        f"not in it: {listed(others)}" if others else "",
    )


def _rows(release: NoisyRelease) -> str:
    """Say how many rows and records there are, where they differ much: noise below zero is cut off, above it stays."""
    rows, records = int(release.synthetic_counts.sum()), release.cells.records
    if abs(rows - records) <= MANY_ROWS * records:
        return ""
    return (
        f"{counted(rows, 'row')}, but the table has {counted(records, 'record')}; a lower height or a larger epsilon "
        "brings them nearer"
    )


def _repeated(table: Table) -> str:
    """Say how many records one identifier has at most, if more than one."""
    most = {name: int(table.engine.distinct(name).counts.max()) for name in table.roles.naming_persons}
    repeated = [f"up to {n:,} records with one value of {name}" for name, n in most.items() if n > 1]
    household = table.roles.household
    return listed(repeated if household is None else [*repeated, f"families ({household})"])


def columns_left_out(table: Table) -> list[str]:
    """Return the columns of a table that are not in its noisy releases."""
    kept = {*table.roles.quasi, *table.roles.sensitive}
    return [name for name in table.engine.columns if name not in kept]


def noisy_notices(table: Table) -> list[str]:
    """Return what there is to notice about a table, as far as it is true of noisy releases."""
    return [notice for notice in table.notices if not notice.startswith(SAID_OTHERWISE)]
