"""What a differentially private release does not protect against, and what its epsilon means in words.

The texts are for everybody: they depend on the settings and on what the mechanism published, never on the records.
What is for the publisher alone stands in `count`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sfumato.anonymizers.dp._private_cells import CountedTable
from sfumato.anonymizers.dp.mechanism import Mechanism
from sfumato.anonymizers.dp.noise import variance
from sfumato.data.reading import Table
from sfumato.publish.cautions import Caution
from sfumato.release.content import NoisyRelease
from sfumato.release.guarantee import Budget
from sfumato.release.records import RecordRelease, coded_columns
from sfumato.texts.format import counted, listed, percent

Drawn = NoisyRelease | RecordRelease
"""What a mechanism draws: boxes with noisy counts, or records."""

NEARLY_SURE = 0.99
"""Where even odds may become this belief, a promise is too weak to be left without a warning."""

NOISE_PREVAILS = "more noise than records"
"""What is said first of counts that drown in noise."""

RARE = 0.1
"""A delta times the number of rows that is more than this is no small probability any more."""

MANY_ROWS = 0.1
"""The share by which rows and records may differ before the publisher is told."""

SAID_OTHERWISE = ("columns without a role", "neutral column", "identifier")
"""Notices of a table that speak of groups or of columns kept as they are; of noisy releases the cautions do."""


def belief(epsilon: float, delta: float = 0.0) -> float:
    """Return how sure somebody can become of what was as likely as not before: e^epsilon / (1 + e^epsilon).

    With a delta it is how often the best guess is right: (e^epsilon + delta) / (1 + e^epsilon).
    """
    return min(1.0, (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon)))


def promise_in_words(budget: Budget) -> str:
    """Say what a budget promises."""
    return delta_in_words(budget.epsilon, budget.delta) if budget.delta else epsilon_in_words(budget.epsilon)


def delta_in_words(epsilon: float, delta: float) -> str:
    """Say what an epsilon with a delta promises: of guesses, since single files are bounded by delta alone.

    To have another value is one record less and one more: 2 epsilon, and a delta of (1 + e^epsilon) delta.
    """
    twice = belief(2 * epsilon, delta * (1 + math.exp(min(epsilon, 700))))
    return (
        f"Whatever is looked for in the file, the probability to find it is at most {_factor(epsilon)} times "
        f"(e^epsilon) that without the one record of a given person, plus {delta:g} (delta), and the other way round. "
        "So whoever guesses by this file whether this person is in the table, which "
        f"was as likely as not before, is right at most {_percent(belief(epsilon, delta))} of the time; and about "
        f"which of two equally likely values the person has there, at most {_percent(twice)}. A delta has to be far "
        "less than 1 / the number of records: with that probability the file may tell more of somebody."
    )


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


def noisy_cautions(release: Drawn, maker: Mechanism) -> list[Caution]:
    """List what this release does not protect against; what is alarming about it first."""
    return [*alarms(release, maker), *_always(release, maker)]


def alarms(release: Drawn, maker: Mechanism) -> Iterator[Caution]:
    """Find what is wrong with the settings: a budget that promises little, noise that drowns the counts."""
    budget = maker.budget
    if belief(budget.epsilon, budget.delta) > NEARLY_SURE:
        yield Caution(
            "large epsilon",
            f"An epsilon of {maker.epsilon:g} promises very little: by the promise alone, even odds may become near "
            f"certainty. At most {math.log(NEARLY_SURE / (1 - NEARLY_SURE)):.1f} would keep them below "
            f"{NEARLY_SURE:.0%}; 1 or less is usual.",
        )
    if budget.delta * release.rows_written > RARE:
        yield Caution(
            "large delta",
            f"A delta of {budget.delta:g} with {counted(release.rows_written, 'row')} is too large: by the promise "
            "alone, with that probability each, somebody's record may be in the file as it is. Less than 1 / (100 x "
            "the number of records) is usual.",
        )
    noise, (counts, mean, remedy) = noise_of_counts(release), _spread(release)
    if mean < noise:
        yield Caution(
            NOISE_PREVAILS,
            f"The file spreads over {counts}: on average {mean:.2g} records each, with noise of about {noise:.2g}. "
            f"Most of it is noise; {remedy}, or a larger epsilon, would tell more.",
        )


def _spread(release: Drawn) -> tuple[str, float, str]:
    """Say over how many counts the file spreads, how many records each has on average, and what would lower that."""
    if isinstance(release, NoisyRelease):
        boxes = counted(release.groups, "box", "boxes")
        counts = f"{release.counts.size:,} counts ({boxes} x {release.counts.shape[1]} values)"
        return counts, release.synthetic_counts.mean(), "fewer boxes (a lower height)"
    sizes = {attribute.name: attribute.hierarchy.size for attribute in coded_columns(release.cells)}
    tables = _tables(release)
    cells = sum(math.prod(sizes[name] for name in table.names) for table in tables)
    counts = f"{cells:,} counts of {counted(len(tables), 'table')}"
    return counts, release.rows_written * len(tables) / cells, "fewer declared values"


def _tables(release: RecordRelease) -> list[CountedTable]:
    """List the tables of most columns that were counted: the model is as fine as they are."""
    tables: tuple[CountedTable, ...] = release.details["counted"]
    most = max(len(table.names) for table in tables)
    return [table for table in tables if len(table.names) == most]


def noise_of_counts(release: Drawn) -> float:
    """Return the standard deviation of the noise in the finest counts, before they are made to add up."""
    if isinstance(release, RecordRelease):
        return float(np.median([table.deviation for table in _tables(release)]))
    final = max((part for part in release.guarantee.spent if part.what == "counts"), key=lambda part: part.level)
    return math.sqrt(variance(final.amount))


def _always(release: Drawn, maker: Mechanism) -> Iterator[Caution]:
    grown = " and a delta of n e^((n - 1) epsilon) times delta" if maker.budget.delta else ""
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
        f"{maker.not_kept}",
    )
    yield Caution(
        "composition",
        "Budgets add up: another differentially private release about the same people, by whomever, adds its epsilon "
        "to this one's (and its delta), also a second draw with the same settings. Releases that are not "
        "differentially private have no epsilon to add, and nothing bounds what they tell together with this one.",
    )
    yield Caution(
        "several records",
        "One record is taken for one person. Of somebody with n records, or of a family of n, the file may tell as "
        f"much as a budget of n times epsilon{grown} allows.",
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
        "Only quasi-identifiers and sensitive attributes are in this file; no column is published as it is.",
        f"not in it: {listed(others)}" if others else "",
    )


def _rows(release: Drawn) -> str:
    """Say how many rows and records there are, where they differ much: noise below zero is cut off, above it stays."""
    rows, records = release.rows_written, release.cells.records
    if abs(rows - records) <= MANY_ROWS * records:
        return ""
    nearer = "a lower height or a larger epsilon" if isinstance(release, NoisyRelease) else "a larger epsilon"
    return f"{counted(rows, 'row')}, but the table has {counted(records, 'record')}; {nearer} brings them nearer"


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
