"""Full-domain recoding: one level per attribute for the whole table, the best of all that satisfy the requirement.

Every value of an attribute is replaced by its node at the attribute's level. Groups that the requirement does not
admit are suppressed, as far as the budget allows. `searching` finds the transformation of least loss. It is exact
unless a time limit is given; then it reports how much better the optimum could be.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.anonymizer import Anonymizer, infeasible
from sfumato.anonymizers.full_domain._lattice import Lattice, LatticeNode, Levels, lattice_of
from sfumato.anonymizers.full_domain._search import (
    LatticeSearch,
    branch_and_bound,
    decide_all,
    descend,
    evolve,
    objective,
)
from sfumato.config.options import Option, check_number, named_entries, quoted_name
from sfumato.data.cells import Cells, Quasi, distinct_rows, read_weights, scaled, weights_of
from sfumato.data.reading import Table
from sfumato.errors import InfeasibleError
from sfumato.release.release import Form, Release, bucketization, generalization, shown_ends
from sfumato.requirements.requirement import Requirement
from sfumato.runtime.arrays import Codes
from sfumato.texts.catalogue import refusal, t

USUAL_SECONDS = 10.0
LARGE = 200_000_000
"""An exact search of more transformations than this is not begun."""

LEVELS = "age=1..3, sex=0"
"""How levels are written."""


@dataclass(frozen=True)
class FullDomain(Anonymizer):
    """Choose one level per attribute: the transformation of least loss that satisfies the requirement."""

    minimize: Annotated[Literal["loss", "generalization_loss", "discernibility", "average_group"], Option()] = "loss"
    """The measure to make small."""

    aggregate: Annotated[
        Literal["mean", "max", "geometric"], Option(when=("minimize", "loss", "generalization_loss"))
    ] = "mean"
    """How the losses of the attributes are joined: mean, max, or geometric (the mean of 1 + loss, less 1)."""

    weights: Annotated[str, Option(when=("minimize", "loss", "generalization_loss"))] = ""
    """How much an attribute's loss counts in the search, such as `age=2, sex=0.5`. Default: its weight in the
    table."""

    levels: Annotated[str, Option()] = ""
    """The levels an attribute may have, such as `age=1..3, sex=0`. Default: from 0 (unchanged) to the root."""

    search: Annotated[Literal["exact", "best-first", "genetic"], Option()] = "exact"
    """exact; or, for a lattice too large to decide, best-first or genetic: the best found in `seconds`."""

    seconds: Annotated[float | None, Option(more_than=0, when=("search", "best-first", "genetic"))] = None
    """The time a best-first or genetic search may take. Default: 10."""

    seed: Annotated[int, Option(least=0, when=("search", "genetic"))] = 0
    """The seed of a genetic search."""

    name: ClassVar[str] = "full-domain"
    effort: ClassVar[float] = 0.8
    treats_households_alike = True
    counts_persons = True
    has_lattice: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        read_weights([self.weights])
        named_entries("levels", self.levels, LEVELS)

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Search the lattice and publish the best transformation."""
        result = self.find(table, requirement, budget)
        if result.best is None:
            raise _nothing(requirement, table.cells, result)
        details = {
            "transformation": named_levels(table, result.best.levels),
            "nodes_checked": len(result.nodes),
            "nodes": result.size,
            "minimum": float(result.value),
            "bound": float(result.bound),
            **({"least": float(result.bound)} if self.search != "exact" else {}),
        }
        return replace(transformed(table, requirement, form, result.best.levels), details=details)

    def account(self, release: Release) -> list[str]:
        """Say which levels were chosen, and whether anything better could be left."""
        details = release.details
        levels = ", ".join(f"{name} {level}" for name, level in details["transformation"].items())
        checked = t("notice.transformations_checked", details=details["nodes_checked"], details_2=details["nodes"])
        ended = t("notice.optimum", checked=checked)
        if details["bound"] < details["minimum"]:
            ended = t(
                "notice.stopped_time_limit", checked=checked, details=details["minimum"], details_2=details["bound"]
            )
        return [t("notice.levels", levels=levels), ended]

    def find(self, table: Table, requirement: Requirement, budget: int) -> LatticeSearch:
        """Search the lattice: the best transformation, what was checked, and the bound on all that was not."""
        search = self._search(table, requirement, budget)
        if self.search == "exact":
            if search.size > LARGE:
                raise refusal("lattice_transformations", size=search.size)
            branch_and_bound(search)
        else:
            started, seconds = time.monotonic(), self.seconds or USUAL_SECONDS
            descend(search, started + seconds / 2)
            if self.search == "genetic":
                evolve(search, started + seconds / 2, self.seed)
            branch_and_bound(search, started + seconds)
        return search

    def lattice(self, table: Table, requirement: Requirement, suppress: float = 0.0) -> DecidedLattice:
        """Decide every transformation, so that one can look around the optimum."""
        check_number("suppress", suppress, least=0, most=1)
        search = self._search(table, requirement, int(suppress * table.cells.records + 1e-9))
        if search.size > LARGE:
            raise refusal("lattice_transformations_too", size=search.size)
        return DecidedLattice.of(table, search, decide_all(search))

    def _search(self, table: Table, requirement: Requirement, budget: int) -> LatticeSearch:
        cells = table.cells
        names = [quasi.name for quasi in cells.quasi]
        lattice = lattice_of(cells, requirement)
        weights = column_weights(self.weights, cells.quasi)
        lowest, highest = _limits(self.levels, names, lattice)
        aim = objective(lattice, budget, self.minimize, weights, self.aggregate)
        return LatticeSearch(lattice, aim, budget, lowest, highest)


@dataclass(frozen=True, eq=False)
class DecidedLattice:
    """Every transformation of a lattice with its values; row by row in the order of the levels."""

    names: tuple[str, ...]
    """The attributes, in the order of the table's columns."""

    levels: NDArray[np.int64]
    """One row per transformation, one column per attribute."""

    values: NDArray[np.float64]
    """The minimized value; infinite where nothing would be published."""

    suppressed: NDArray[np.int64]
    groups: NDArray[np.int64]
    feasible: NDArray[np.bool_]

    @staticmethod
    def of(table: Table, search: LatticeSearch, nodes: list[LatticeNode]) -> DecidedLattice:
        """Lay the checked transformations out as columns."""
        known = [quasi.name for quasi in table.cells.quasi]
        names = column_order(table)
        levels = np.array([node.levels for node in nodes])[:, [known.index(name) for name in names]]
        order = np.lexsort(levels.T[::-1])
        value = [search.objective.value(node) if node.groups else math.inf for node in nodes]
        return DecidedLattice(
            names,
            levels[order],
            np.array(value)[order],
            np.array([node.suppressed for node in nodes])[order],
            np.array([node.groups for node in nodes])[order],
            np.array([search.feasible(node) for node in nodes])[order],
        )

    def __len__(self) -> int:
        return len(self.values)

    @property
    def optimum(self) -> int | None:
        """The row of the best feasible transformation."""
        if not self.feasible.any():
            return None
        return int(np.argmin(np.where(self.feasible, self.values, math.inf)))

    def anonymizer(self, row: int) -> FullDomain:
        """Return the anonymizer that publishes just this transformation: a candidate for a map."""
        return fixed_levels(dict(zip(self.names, map(int, self.levels[row]), strict=True)))


def fixed_levels(levels: Mapping[str, int]) -> FullDomain:
    """Return the anonymizer of one single transformation."""
    return FullDomain(levels=", ".join(f"{quoted_name(name)}={level}" for name, level in levels.items()))


def column_order(table: Table) -> tuple[str, ...]:
    """Return the quasi-identifiers in the order in which the table's columns stand."""
    quasi = {attribute.name for attribute in table.cells.quasi}
    return tuple(name for name in table.published if name in quasi)


def named_levels(table: Table, levels: Levels) -> dict[str, int]:
    """Say the level of every column, in the order of the table's columns."""
    by_name = dict(zip((quasi.name for quasi in table.cells.quasi), levels, strict=True))
    return {name: by_name[name] for name in column_order(table)}


def transformed(table: Table, requirement: Requirement, form: Form, levels: Levels) -> Release:
    """Publish one transformation: groups that are not admitted are suppressed."""
    nodes = nodes_at(table.cells.quasi, table.cells.codes, levels)
    release = recoded(table, requirement, form, *nodes)
    return release if form == "bucketization" else replace(release, levels=levels)


def nodes_at(quasi: Sequence[Quasi], codes: Codes, levels: Levels) -> tuple[Codes, Codes]:
    """Find the node above every code at its column's level: the first and the last leaf."""
    lo, hi = np.empty_like(codes), np.empty_like(codes)
    for a, (attribute, level) in enumerate(zip(quasi, levels, strict=True)):
        starts = np.asarray(attribute.hierarchy.levels[level].starts, np.int32)
        above = attribute.hierarchy.ancestors[level][codes[:, a]]
        lo[:, a] = starts[above]
        hi[:, a] = (np.append(starts[1:], attribute.hierarchy.size) - 1)[above]
    return lo, hi


def recoded(table: Table, requirement: Requirement, form: Form, lo: Codes, hi: Codes, draw_in: bool = False) -> Release:
    """Publish the box of every cell, all boxes equal or apart; groups that are not admitted are suppressed.

    If a domain was observed, `draw_in` moves ends inwards to the bands of values that are published.
    """
    cells = table.cells
    first, group = distinct_rows(lo)
    everything = cells.assigned(group)
    admitted = requirement.admits(cells.histograms(everything, len(first)))
    assignment, first = everything.only(admitted), first[admitted]
    if form == "bucketization":
        return bucketization(table, assignment, len(first))
    lo, hi = lo[first], hi[first]
    if draw_in:
        lo, hi = shown_ends(cells, assignment, lo, hi, table.grown, to_bands=True)
    return generalization(table, assignment, lo, hi, ranges=None)


def _nothing(requirement: Requirement, cells: Cells, search: LatticeSearch) -> InfeasibleError:
    """Say why no transformation does."""
    if not requirement.admits(cells.baseline)[0]:
        within = t("notice.none_suppresses_only_records", budget=search.budget) if search.budget else ""
        return infeasible(requirement, cells.baseline, t("notice.even_all_records_group_not", within=within))
    nearest = min(search.nodes.values(), key=lambda node: node.suppressed)
    levels = ", ".join(f"{quasi.name}={level}" for quasi, level in zip(cells.quasi, nearest.levels, strict=True))
    share = math.ceil(nearest.suppressed / cells.records * 1e4) / 1e4
    return InfeasibleError(
        t(
            "notice.no_transformation_within_these",
            requirement=requirement,
            budget=search.budget,
            records=cells.records,
            levels=levels,
            suppressed=nearest.suppressed,
            share=share,
        )
    )


# -- what is said of single attributes -----------------------------------------------------------------------


def _place(field: str, name: str, names: list[str]) -> int:
    if name not in names:
        raise refusal("no_quasi_identifier_these", field=field, name=name, names=", ".join(names))
    return names.index(name)


def column_weights(text: str, quasi: Sequence[Quasi]) -> list[float]:
    """Return the table's weights, scaled to a mean of 1, with the given weights overriding them."""
    given = {attribute.name: attribute.weight for attribute in quasi} | read_weights([text])
    weights = dict(weights_of((attribute.name for attribute in quasi), given))
    return scaled([weights.get(attribute.name, 1.0) for attribute in quasi])


def _limits(text: str, names: list[str], lattice: Lattice) -> tuple[Levels, Levels]:
    lowest, highest = list(lattice.zero), list(lattice.tops)
    for name, value in named_entries("levels", text, LEVELS):
        a = _place("levels", name, names)
        least, dots, most = value.partition("..")
        try:
            lowest[a], highest[a] = int(least), int(most if dots else least)
        except ValueError:
            raise refusal("levels_those_must", name=name, value=value) from None
        if not 0 <= lowest[a] <= highest[a] <= lattice.tops[a]:
            raise refusal("levels_levels", name=name, tops=lattice.tops[a], value=value)
    return tuple(lowest), tuple(highest)
