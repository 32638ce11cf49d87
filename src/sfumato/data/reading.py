"""A table: rows in an engine, a role for each relevant column, a hierarchy for each coded one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, get_args

import numpy as np

from sfumato.config.documents import named
from sfumato.config.options import check_choice
from sfumato.data import cells as cell_values
from sfumato.data import coarsening, households
from sfumato.data._column_names import may_number_persons
from sfumato.data.cells import weighted_counts
from sfumato.data.hierarchies.automatic import FEW, MOST_CATEGORIES, automatic, looks_like_dates, looks_numeric
from sfumato.data.hierarchies.categorical import APART, flat
from sfumato.data.hierarchies.declared import Declared, Filed, declared, place_of, read_hierarchies
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.hierarchies.notation import ascii_where_unclear, find_look_alikes, read_number
from sfumato.data.persons import BYTES_OF_A_PAIR, is_repeated_key, persons_of
from sfumato.engines import open_rows
from sfumato.engines.frames import FrameKind, frame_kind
from sfumato.engines.notations import DayOrder
from sfumato.engines.protocol import BYTES, Coding, DistinctValues, Engine, Reading, column_pairs
from sfumato.errors import BadInputError
from sfumato.runtime.arrays import Codes, Counts
from sfumato.texts.catalogue import counted, refusal, t

Missing = Literal["value", "drop"]
Unknown = Literal["refuse", "count"]
Ranges = Literal["tight", "rounded", "node"]
"""How a group's ranges are published: by its records' ends, by rounded ends, or by nodes; each wider than the last."""

AllowedRanges = Literal["rounded", "node"]
"""The finest ranges that a study may allow; without one, everything is allowed."""


def coarser(ranges: Ranges, allowed: Ranges | None) -> Ranges:
    """Return the wider one of the chosen ranges and the finest that the table allows."""
    order: tuple[Ranges, ...] = get_args(Ranges)
    return max(ranges, allowed or ranges, key=order.index)


Unit = Literal["records", "persons", "one each"]
"""The unit that groups count: records, different persons, or records declared to be of different persons."""


def unit_of(person: str | None, one_record_per_person: bool) -> Unit:
    """Return the unit that groups count."""
    return "persons" if person is not None else "one each" if one_record_per_person else "records"


@dataclass(frozen=True)
class Roles:
    """Which columns are quasi-identifiers, sensitive, neutral (published unchanged) and identifiers (dropped)."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    neutral: tuple[str, ...] = ()
    identifier: tuple[str, ...] = ()
    household: str | None = None
    """The household column: never published, even if it names persons."""

    weights: cell_values.Weights = ()
    """The weights of quasi-identifiers in losses; empty if they are equal."""

    person: str | None = None
    """The person column: never published. Groups then count different persons."""

    one_record_per_person: bool = False
    """Whether every record is declared to be of another person, although an identifier may repeat."""

    def __post_init__(self) -> None:
        if not self.quasi:
            raise refusal("no_quasi_identifier")
        seen: dict[str, str] = {}
        for role in ("quasi", "sensitive", "neutral", "identifier"):
            for name in getattr(self, role):
                if name in seen:
                    twice = f"twice as {role}" if seen[name] == role else f"both {seen[name]} and {role}"
                    raise refusal("column_named_give", name=name, twice=twice)
                seen[name] = role
        object.__setattr__(self, "weights", cell_values.weights_of(self.quasi, dict(self.weights)))
        other = None if self.household is None else seen.get(self.household)
        if other not in (None, "identifier"):
            raise refusal("household_with_a_role", roles=self, other=other)
        self._check_person(None if self.person is None else seen.get(self.person))

    def _check_person(self, other: str | None) -> None:
        """Raise if the person column is invalid with the other declarations."""
        if other not in (None, "identifier"):
            raise refusal("person_with_a_role", roles=self, other=other)
        if self.person is not None and self.one_record_per_person:
            raise refusal("person_and_one_record_per_person", roles=self)
        if self.person is not None and self.household is not None:
            raise refusal("person_beside_households", roles=self)

    @property
    def unit(self) -> Unit:
        """The unit that groups count."""
        return unit_of(self.person, self.one_record_per_person)

    @property
    def named(self) -> tuple[str, ...]:
        """All columns that have a role."""
        others = [name for name in (self.household, self.person) if name not in (None, *self.identifier)]
        return (*self.quasi, *self.sensitive, *self.neutral, *self.identifier, *map(str, others))

    @property
    def naming_persons(self) -> tuple[str, ...]:
        """The identifiers, without the declared household and person columns."""
        return tuple(name for name in self.identifier if name not in (self.household, self.person))


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Rows in an engine with the roles and hierarchies of their columns; the input of every anonymizer."""

    engine: Engine
    roles: Roles
    hierarchies: Mapping[str, Hierarchy]
    codings: tuple[Coding, ...]
    missing: Missing
    notices: tuple[str, ...] = ()
    grown: tuple[str, ...] = ()
    """Columns whose domain has a leaf for missing values only because some record lacks a value."""

    fine: Mapping[str, Hierarchy] = field(default_factory=dict)
    """The declared hierarchies of coarsened columns, by which losses are counted."""

    most_cells: int | None = None
    """The limit on cells that caused the coarsening."""

    memory: str | None = None
    """The declared memory."""

    kind: FrameKind = "arrow"
    """The kind of frame of its releases: its own, or Arrow."""

    ranges: AllowedRanges | None = None
    """The finest ranges that a release of it may publish; None allows all."""

    has_items: bool = False
    """Whether its records have sets of items, with which persons are not counted."""

    def __repr__(self) -> str:
        return t(
            "notice.table_quasi", quasi=", ".join(self.roles.quasi), sensitive=", ".join(self.roles.sensitive) or "none"
        )

    @property
    def coarsened(self) -> dict[str, dict[str, int]]:
        """The numbers of values of coarsened columns, after and before."""
        sizes = {name: (self.hierarchies[name].size, tree.size) for name, tree in self.fine.items()}
        return {name: {"values": coarse, "instead_of": fine} for name, (coarse, fine) in sizes.items()}

    @cached_property
    def _counted(self) -> tuple[cell_values.Cells, int, str]:
        counted = self.engine.count_cells(self.codings)
        weights = dict(self.roles.weights)
        quasi = [
            cell_values.Quasi(name, self.hierarchies[name], weights.get(name, 1.0)) for name in sorted(self.roles.quasi)
        ]
        sensitive = [(name, self.hierarchies[name]) for name in sorted(self.roles.sensitive)]
        try:
            cells = cell_values.sorted_cells(quasi, sensitive, counted.codes, counted.counts)
        except BadInputError as error:
            raise BadInputError(f"{self.engine.origin}: {error}") from None
        if self.roles.person is not None:
            persons = persons_of(self.engine, self.roles.person, counted.link, cells.counts, self._most_pairs)
            cells = cells.with_persons(persons)
        return cells, counted.dropped, counted.link

    @property
    def _most_pairs(self) -> int:
        """The number of pairs of a cell and a person that fit into memory."""
        return coarsening.usual_most_cells(self.memory) * coarsening.BYTES_OF_A_CELL // BYTES_OF_A_PAIR

    @property
    def cells(self) -> cell_values.Cells:
        """The table compressed to distinct tuples of codes with their counts."""
        return self._counted[0]

    @property
    def dropped(self) -> int:
        """The number of records dropped because they lack a value (only with missing='drop')."""
        return self._counted[1]

    @property
    def link(self) -> str:
        """The engine's name for the link from its rows to the cells."""
        return self._counted[2]

    def digest(self, more: Iterable[str] = ()) -> str:
        """Return a digest of the columns from which releases are made, and of some more.

        Neutral columns are published unchanged and not searched, so they are omitted, which matters for wide tables.
        """
        read = {*self.roles.quasi, *self.roles.sensitive, *more, self.roles.household, self.roles.person}
        return self.engine.digest(sorted(name for name in read if name is not None))

    def over(self, quasi: Sequence[cell_values.Quasi]) -> Table:
        """Return the table with other hierarchies of the same leaves for its quasi-identifiers."""
        other = replace(self, hierarchies={**self.hierarchies, **{each.name: each.hierarchy for each in quasi}})
        vars(other)["_counted"] = (replace(self.cells, quasi=tuple(quasi)), self.dropped, self.link)
        return other

    def counts_of(self, column: str) -> cell_values.CountedValues:
        """Count the values of a published column in every cell: leaves where it is coded, texts where it is neutral."""
        cells = self.cells
        for a, quasi in enumerate(cells.quasi):
            if quasi.name == column:
                return cell_values.counted_leaves(quasi.hierarchy, cells.codes[:, a], cells.counts)
        for s, sensitive in enumerate(cells.sensitive):
            if sensitive.name == column:
                return cell_values.counted_leaves(
                    sensitive.hierarchy, sensitive.leaves[cells.values[:, s]], cells.counts
                )
        if column not in self.roles.neutral:
            raise BadInputError(self._why_not_counted(column))
        if column not in self._neutral_counts:
            self._neutral_counts[column] = self._count_neutral(column)
        return self._neutral_counts[column]

    @cached_property
    def _neutral_counts(self) -> dict[str, cell_values.CountedValues]:
        """Cached counts."""
        return {}

    def _count_neutral(self, column: str) -> cell_values.CountedValues:
        pairs = column_pairs(self.engine, column, self.link)
        offsets = np.searchsorted(pairs.cell, np.arange(self.cells.size + 1))
        numbers = np.array([np.nan if value is None else read_number(value) for value in pairs.values], np.float64)
        return cell_values.CountedValues(offsets, pairs.value, pairs.counts, tuple(pairs.values), numbers)

    def _why_not_counted(self, column: str) -> str:
        known = ", ".join(map(repr, self.published))
        if column not in self.engine.columns:
            return t("notice.no_column_columns", origin=self.engine.origin, column=column, known=known)
        if column in self.roles.identifier:
            return t("notice.column_identifier", origin=self.engine.origin, column=column, known=known)
        return t("notice.column_not_published", table=self, column=column, known=known)

    @cached_property
    def memberships(self) -> households.Memberships | None:
        """The cells of each household's records; None without a household column."""
        column = self.roles.household
        return None if column is None else households.memberships_of(self.engine, column, self.link)

    @cached_property
    def shared(self) -> tuple[int, ...]:
        """The shared quasi-identifiers of households, by their index in the cells."""
        if self.memberships is None:
            return ()
        return households.shared_attributes(self.cells.codes, self.memberships, self.cells.missing)

    @cached_property
    def cells_together(self) -> cell_values.Cells:
        """The cells with equal codes of shared attributes for the members of a household."""
        if self.memberships is None or not self.shared:
            return self.cells
        codes = households.kept_together(self.cells.codes, self.memberships, self.shared, self.cells.missing)
        return replace(self.cells, codes=codes)

    @property
    def shared_names(self) -> list[str]:
        """The names of shared attributes."""
        return [self.cells.quasi[place].name for place in self.shared]

    def household_notices(self) -> list[str]:
        """Report the shared attributes of households, and attributes that a few households do not share."""
        memberships, column = self.memberships, self.roles.household
        if memberships is None:
            return []
        names = [quasi.name for quasi in self.cells.quasi]
        notice = t("notice.members_household", column=column)
        if self.shared:
            names_shared = ", ".join(self.shared_names)
            notice = t("notice.members_household_show", column=column, names_shared=names_shared)
        lacking = households.lacking_members(self.cells.codes, memberships, self.cells.missing)
        lacks = [
            t("notice.shared_but_missing", name=names[place], members=counted(int(lacking[place]), "member"))
            for place in self.shared
            if lacking[place]
        ]
        return [notice, *lacks] + [
            t("notice.nearly_shared", name=names[place], few=few)
            for place, few in households.nearly_shared(self.cells.codes, memberships, self.cells.missing).items()
        ]

    @cached_property
    def repeated_key(self) -> str | None:
        """A key of persons that repeats, unless the records are declared to be persons; None if there is none.

        Candidates are the identifiers, and uncoded columns that are named like a key (`Patient`, `id`); in households
        such a column may number the members.
        """
        roles, engine = self.roles, self.engine
        if roles.person is not None or roles.one_record_per_person:
            return None
        others = [name for name in engine.columns if name not in roles.named or name in roles.neutral]
        named = filter(may_number_persons, others if roles.household is None else ())
        candidates = [*roles.naming_persons, *named]
        return next((name for name in candidates if is_repeated_key(engine, name)), None)

    @property
    def why_no_persons(self) -> str | None:
        """Explain why records of this table cannot be considered persons, with the two remedies; None if they can."""
        key = self.repeated_key
        if key is None:
            return None
        remedy = t("notice.say_whose_record", key=key)
        if self.has_items:  # these count no persons
            remedy = t("notice.give_table_record_per")
        return t("notice.identifier_repeats", table=self, key=key, remedy=remedy)

    @property
    def published(self) -> list[str]:
        """The columns of a release, in the order of the input."""
        kept = {*self.roles.quasi, *self.roles.sensitive, *self.roles.neutral}
        return [name for name in self.engine.columns if name in kept]


class Columns(TypedDict, total=False):
    """The keywords of `read`: the roles of columns, and reading options."""

    quasi: Iterable[str]
    sensitive: Iterable[str]
    neutral: Iterable[str]
    identifier: Iterable[str]
    person: str | None
    one_record_per_person: bool
    household: str | None
    hierarchies: Mapping[str, Declared] | str | Path | None
    weights: Mapping[str, float] | None
    missing: Missing
    na: Sequence[str]
    delimiter: str | None
    encoding: str | None
    sheet: str | None
    header: bool | None
    header_row: int | None
    columns: Sequence[str]
    decimal_comma: Iterable[str]
    decimal_point: Iterable[str]
    dates: DayOrder | None
    as_written: Iterable[str]
    engine: str | None
    memory: str | None
    spill: str | None
    most_cells: int | None
    ranges: AllowedRanges | None


def read(source: Any, **columns: Unpack[Columns]) -> Table:
    """Read a file or a frame with the roles of its columns.

    `source` is a path, a pattern or folder of many files, `people.duckdb#main.people`, a URL, or a frame with the Arrow
    interface (pandas, polars, pyarrow). `hierarchies` maps columns to hierarchies, or is a TOML file or a folder of
    level tables; other columns get an automatic one. `missing` makes a missing value a separate value, or drops its
    record; `na` lists texts that mean missing, besides the empty one. `person` is the column that identifies the person
    of each record: groups then count different persons; `one_record_per_person` declares that every record is of
    another person. `household` is the column that identifies the household of each record: its members then show the
    same values of shared attributes. `weights` are the weights of quasi-identifiers in losses, such as `{"age": 2}`;
    default: 1.

    The others are reading options that correct wrong guesses: encoding, sheet, header and its row, names of columns.
    Columns can be declared to have a decimal comma or point, an order of day and month, or unchanged texts. `engine`
    is the engine that reads the rows, if the source does not determine it. Beyond `memory` (`"4GB"`) it works on disk,
    in a private folder of `spill`. Above `most_cells` distinct combinations (default: what fits into memory) columns
    are coarsened. `ranges` is the finest that a release may publish: `rounded` or `node`.
    """
    said: dict[str, Any] = {"quasi": (), **columns}
    check_keywords("read", said)
    for name, allowed in (("ranges", get_args(AllowedRanges)), ("dates", get_args(DayOrder))):
        if said.get(name) is not None:
            check_choice(name, said[name], allowed)
    several = [each.name for each in (*fields(Reading), *fields(Roles)) if str(each.type).startswith("tuple[str")]
    said |= {name: _names(said[name]) for name in several if name in said}
    said["weights"] = tuple((said.get("weights") or {}).items())
    reading = Reading(**{each.name: said[each.name] for each in fields(Reading) if each.name in said})
    rows, given = open_rows(source, reading), said.get("hierarchies")
    roles = Roles(**{each.name: said[each.name] for each in fields(Roles) if each.name in said})
    hierarchies = read_hierarchies(Path(given)) if isinstance(given, str | Path) else dict(given or {})
    most = said.get("most_cells")
    most = coarsening.usual_most_cells(reading.memory) if most is None else most
    table = with_roles(rows, roles, hierarchies, said.get("missing", "value"), most_cells=most)
    return replace(table, kind=frame_kind(source), ranges=said.get("ranges"), memory=reading.memory)


OTHER_NAMES = {
    **dict.fromkeys(("maker", "method", "algorithm"), "with_"),
    **dict.fromkeys(("qi", "qis", "quasi_identifiers"), "quasi"),
    **dict.fromkeys(("id", "identifiers", "identifying"), "identifier"),
}
"""Keywords that people try, and ours."""


def check_keywords(function: str, given: Iterable[str], more: Sequence[str] = ()) -> None:
    """Raise for an unknown keyword of a function that takes the keywords of `read` and `more`; name the nearest one."""
    known = [*more, *Columns.__annotations__]
    for name in given:
        if name not in known:
            likely = [OTHER_NAMES[name]] if OTHER_NAMES.get(name) in known else get_close_matches(name, known, 1)
            id = "refusal.unknown_keyword_nearest" if likely else "refusal.unknown_keyword"
            raise TypeError(t(id, function=function, name=name, likely="".join(likely), known=", ".join(known)))


def as_table(source: Any, columns: Columns) -> Table:
    """Return a table (any object with cells), or read a source with the roles of its columns."""
    if not isinstance(source, Table) and not isinstance(getattr(source, "cells", None), cell_values.Cells):
        if "quasi" not in columns:
            raise refusal("no_roles")
        return read(source, **columns)
    if columns:
        raise refusal("said_table_read_already", columns=next(iter(columns)))
    table: Table = source
    return table


def with_roles(
    engine: Engine,
    roles: Roles,
    given: Mapping[str, Declared],
    missing: Missing,
    unknown: Unknown = "refuse",
    most_cells: int | None = None,
) -> Table:
    """Return the table with a hierarchy and a coding for every quasi-identifier and sensitive attribute.

    `unknown` is the treatment of values outside of a declared hierarchy: an error, or they are counted. Counted records
    are part of the table and of Q: a sensitive value as a separate leaf, a quasi-identifier by the code -1, which no
    box covers. Above `most_cells` distinct combinations quasi-identifiers are coarsened.
    """
    check_choice("missing", missing, ("value", "drop"))
    check_choice("unknown", unknown, ("refuse", "count"))
    check_columns(engine, roles)
    hierarchies: dict[str, Hierarchy] = {}
    codings = []
    counts: dict[str, Counts] = {}
    grown = []
    notices = [*engine.notices, *_notices(engine, roles, given)]
    coded = [*sorted(roles.quasi), *sorted(roles.sensitive)]
    needed = coded if roles.person is None else [*coded, roles.person]
    unknown_persons = _records_without_person(engine, roles, missing)
    for name in coded:
        entry = given.get(name)
        rule, complete = coarsening.rule_for(engine, name, entry), needed if missing == "drop" else ()
        distinct = engine.distinct(name, complete) if rule is None else engine.distinct_by(rule, name, complete)
        if not distinct.values:
            raise refusal("every_record_misses_value", origin=engine.origin)
        if entry is not None and rule is not None and rule.kind == "prefix" and not coarsening.is_built(entry):
            hierarchy = coarsening.prefix_hierarchy(engine, rule, entry, distinct, name)
            notices.append(t("notice.prefixes_are_read", name=name, hierarchy=hierarchy, rule=rule))
        else:
            hierarchy = _hierarchy(engine, name, name in roles.quasi, entry, distinct)
        if unknown == "count" and name in roles.sensitive:
            codes = hierarchy.encode(distinct.values)
            hierarchy = hierarchy.with_strange(
                [value for value, code in zip(distinct.values, codes, strict=True) if code < 0 and value is not None]
            )
        kept = unknown == "refuse" or name in roles.sensitive
        if missing == "value" and None in distinct.values and kept and not hierarchy.missing:
            hierarchy = hierarchy.with_missing()
            grown.append(name)
        hierarchies[name] = hierarchy
        codes = hierarchy.encode(distinct.values)
        if unknown == "refuse":
            _check_known(engine, name, hierarchy, given.get(name), distinct, codes)
        counts[name] = weighted_counts(codes[codes >= 0].astype(np.int64), distinct.counts[codes >= 0], hierarchy.size)
        known = zip(distinct.values, codes.tolist(), strict=True)
        codes_by_text = {value: code for value, code in known if value is not None or missing == "value"}
        codings.append(Coding(name, codes_by_text, rule))
        notices.extend(_value_notices(name, name in roles.sensitive, given.get(name), distinct))
        notices.extend(_named_like_groups(name, hierarchy) if name in roles.quasi else ())
    if unknown_persons:
        texts = engine.distinct(str(roles.person)).values
        codings.append(Coding(str(roles.person), {text: 0 for text in texts if text is not None}))  # a record has one
    table = Table(engine, roles, hierarchies, tuple(codings), missing, tuple(notices), tuple(grown))
    return table if most_cells is None else _within(table, counts, most_cells)


def _records_without_person(engine: Engine, roles: Roles, missing: Missing) -> int:
    """Count the records without a value in the person column; raise if they may not be dropped."""
    if roles.person is None:
        return 0
    lacking = engine.row_count - engine.facts(roles.person).present
    if lacking == engine.row_count:
        raise refusal("person_column_no_value", origin=engine.origin, person=roles.person)
    if lacking and missing != "drop":
        raise refusal("no_value_person_column", origin=engine.origin, lacking=lacking, person=roles.person)
    return lacking


def _within(table: Table, counts: Mapping[str, Counts], most_cells: int) -> Table:
    """Return the table with at most so many cells: unchanged, or coarsened with a notice."""
    weights, codings = dict(table.roles.weights), {coding.column: coding for coding in table.codings}
    columns = {
        name: coarsening.BudgetedColumn(table.hierarchies[name], codings[name], counts[name], weights.get(name, 1.0))
        for name in sorted(table.roles.quasi)
    }
    others = [codings[name] for name in sorted(table.roles.sensitive)]
    coarse = coarsening.coarsened(table.engine, columns, others, most_cells)
    if coarse is None:
        return table
    trees = {name: table.hierarchies[name].coarsened(level) for name, level in coarse.levels.items()}
    coded = tuple(
        columns[coding.column].at(coarse.levels[coding.column]) if coding.column in trees else coding
        for coding in table.codings
    )
    notices = [coarse.notice(name, table.hierarchies[name], most_cells) for name in trees]
    fine = {name: table.hierarchies[name] for name in trees}
    hierarchies = {**table.hierarchies, **trees}
    return replace(
        table,
        hierarchies=hierarchies,
        codings=coded,
        notices=(*table.notices, *notices),
        fine=fine,
        most_cells=most_cells,
    )


def _names(given: Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def check_columns(engine: Engine, roles: Roles) -> None:
    """Raise unless every column with a role exists, and its values are allowed for this role."""
    for name in roles.named:
        if name not in engine.columns:
            known = ", ".join(map(repr, engine.columns[:30]))
            raise refusal("no_column_reading", origin=engine.origin, name=name, known=known)
    for role in ("quasi", "sensitive", "neutral"):
        for name in getattr(roles, role):
            kind = engine.nested.get(name)
            if kind is not None and (role != "neutral" or kind == BYTES):
                what = "bytes" if kind == BYTES else t("notice.lists_records", kind=kind)
                raise refusal("nested_values", engine=engine, role=role, name=name, what=what)


def _hierarchy(engine: Engine, name: str, quasi: bool, given: Declared | None, distinct: DistinctValues) -> Hierarchy:
    """Return the declared hierarchy of a column, or an automatic one."""
    present = [value for value in distinct.values if value is not None]
    if given is None:
        _check_finite(engine, name, present, distinct)
    with named(given.origin if isinstance(given, Filed) else engine.origin):
        counts = [int(n) for v, n in zip(distinct.values, distinct.counts, strict=True) if v is not None]
        if given is not None:
            return declared(name, given, lambda: (present, counts))
        with _of_column(name):
            return automatic(name, present, counts) if quasi else _flat_sensitive(name, present)


@contextmanager
def _of_column(name: str) -> Iterator[None]:
    """Add the column to an error about a hierarchy, if it is missing."""
    try:
        yield
    except BadInputError as error:
        if repr(name) in str(error):
            raise
        raise BadInputError(f"column {name!r}: {error}") from None


def _check_finite(engine: Engine, name: str, present: Sequence[str], distinct: DistinctValues) -> None:
    """Raise if a column of numbers has one that is not finite."""
    if not looks_numeric(present):
        return
    for i, value in enumerate(distinct.values):
        if value is not None and not np.isfinite(read_number(value)):
            raise refusal("no_finite_number", engine=engine, name=name, place=distinct.place(i), value=value)


def _flat_sensitive(name: str, values: Sequence[str]) -> Hierarchy:
    if not values:
        raise refusal("sensitive_column_no_value", name=name)
    if len(values) > MOST_CATEGORIES:
        raise refusal("too_many_sensitive_values", name=name, many_values=len(values))
    return flat(values, observed=True)


def _check_known(
    engine: Engine, name: str, hierarchy: Hierarchy, given: Declared | None, distinct: DistinctValues, codes: Codes
) -> None:
    """Raise if a text of a column has no leaf, with its place and that of the leaves."""
    strange = [i for i in np.flatnonzero(codes < 0).tolist() if distinct.values[i] is not None]
    if strange:
        i = strange[0]
        rows = int(sum(distinct.counts[j] for j in strange))
        value = str(distinct.values[i])
        more = t("notice.other_values", strange=len(strange) - 1) if len(strange) > 1 else ""
        raise refusal(
            "rows_add_hierarchy",
            origin=engine.origin,
            name=name,
            place=distinct.place(i),
            why_unknown=_why_unknown(hierarchy, value),
            more=more,
            rows=rows,
            place_of=place_of(given),
            value=value,
        )


def _why_unknown(hierarchy: Hierarchy, value: str) -> str:
    if hierarchy.scale == "number" and not np.isfinite(read_number(value)):
        return t("notice.value_not_finite_number", value=value)
    return t("notice.value_not_domain", value=value, domain_in_words=hierarchy.domain_in_words())


def _notices(engine: Engine, roles: Roles, given: Mapping[str, Declared]) -> list[str]:
    notices = [t("notice.hierarchy_not_used", name=name) for name in given if name not in engine.columns]
    notices += cell_values.weights_in_words(dict(roles.weights))
    unlisted = [name for name in engine.columns if name not in roles.named]
    if unlisted:
        notices.append(t("notice.columns_without_role_not", unlisted=", ".join(map(repr, unlisted))))
    named = roles.naming_persons if roles.unit == "records" else ()
    different = engine.all_different([*roles.neutral, *named])
    for name in roles.neutral:
        if engine.row_count > 100 and name in different:
            notices.append(t("notice.neutral_everywhere_different", name=name))
    return notices + [_repeated(engine, name) for name in named if name not in different]


def _repeated(engine: Engine, name: str) -> str:
    """Report that an identifier does not identify single records; for many records without the number of repeats."""
    what = t("notice.some_values_stand_several")
    if engine.row_count <= coarsening.MANY_RECORDS:
        distinct = engine.distinct(name)
        what = t("notice.values_stand_several_records", counts=(distinct.counts > 1).sum(), values=len(distinct.values))
    return t("notice.repeated_identifier", name=name, what=what)


def _value_notices(name: str, sensitive: bool, given: Declared | None, distinct: DistinctValues) -> list[str]:
    """Report suspicious values of a coded column."""
    present = [value for value in distinct.values if value is not None]
    notices = []
    if given is None:
        notices.extend(_nearly(name, present))
    if not sensitive and len(present) > 100 and len(present) == int(distinct.counts.sum()):
        notices.append(t("notice.column_different_every_record", name=name))
    if sensitive:
        for alike in find_look_alikes(present)[:1]:
            one, other = map(ascii_where_unclear, alike[:2])
            notices.append(t("notice.sensitive_column", name=name, one=one, other=other))
        if None in distinct.values:
            notices.append(t("notice.sensitive_column_missing", name=name))
    return notices


def _named_like_groups(name: str, hierarchy: Hierarchy) -> list[str]:
    """Report a value with the name of a group, which is then published under another name."""
    labels = [label for level in hierarchy.levels[1:] for label in level.labels if label.endswith(APART)]
    for label in labels:
        value = label.removesuffix(APART)
        if value in hierarchy.leaves:
            return [t("notice.value_called_like_a_group", name=name, value=value, label=label)]
    return []


LOOKS = {
    "dates such as 31/12/1999": re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{4}"),
    "numbers with a decimal comma": re.compile(r"-?\d+,\d+"),
    "ISO dates": re.compile(r"\d{4}-\d{2}-\d{2}"),
}


def _nearly(name: str, present: Sequence[str]) -> list[str]:
    """Report a column that is numbers or dates except for a few texts, or for the notation."""
    if len(present) <= FEW or looks_numeric(present) or looks_like_dates(present):
        return []
    odd = [value for value in present if not looks_numeric([value])]
    if 0 < len(odd) <= len(present) * 0.05:
        examples = ", ".join(map(repr, odd[:3]))
        remedy = " ".join(f"--na {value}" for value in odd[:3])
        return [t("notice.column_numeric_but", name=name, examples=examples, remedy=remedy)]
    for what, look in LOOKS.items():
        if sum(look.fullmatch(value) is not None for value in present) >= len(present) * 0.9:
            return [t("notice.written_otherwise", name=name, what=what, values=len(present))]
    return []
