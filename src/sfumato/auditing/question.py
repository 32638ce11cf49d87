"""The question of an audit: the file, its columns, the comparison; and how the columns are counted.

A study contains the place of its table and its reading options: roles, hierarchies, texts that mean missing, encoding.
So naming the study of the original provides all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing.missing_values import reread
from sfumato.auditing.profile import Profile, baseline, leaf_codes
from sfumato.auditing.published_file import EMPTY, STAR, Counted, Source, TextColumn
from sfumato.config import documents
from sfumato.config.options import check_choice
from sfumato.data import bundled
from sfumato.data.bundled import DATASETS
from sfumato.data.cells import weights_of
from sfumato.data.declaration import DataDeclaration
from sfumato.data.hierarchies.declared import declared, read_hierarchies
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.hierarchies.notation import name_alike
from sfumato.data.reading import Table
from sfumato.requirements.requirement import requirement
from sfumato.runtime.arrays import Counts, RedactedRepr
from sfumato.texts.catalogue import refusal, t

Suppressed = Literal["keep", "leave-out"]
Missing = Literal["value", "any"]
STUDY = "study.toml"
OF_ORIGINAL = (
    *("na", "original_encoding", "hierarchies", "weight"),
    *("decimal_comma", "decimal_point", "dates", "as_written"),
)
"""Options of reading the original that a study contains."""

MOST_MATCHED = 1_000_000
"""The most records that are matched by neutral columns, too: with these nearly all rows are different and must be
loaded. For more, engines compare neutral columns by digests."""

MOST_WORST = 3
"""The most groups shown for each kind of worst group."""


@dataclass(frozen=True)
class AuditQuestion:
    """The audited file, its columns, and the comparison."""

    file: Source
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    original: Source | None
    group: str | None
    suppressed: Suppressed | None
    household: str | None = None
    person: str | None = None
    """The original's person column."""

    missing: Missing = "value"
    na: tuple[str, ...] = ()
    require: str | None = None
    """The requirement, if any: with it, rows with `*` only are a group, unless declared otherwise."""

    weights: Mapping[str, float] = field(default_factory=dict)
    """The weights of quasi-identifiers in losses; empty if they are equal."""

    apart: tuple[str, ...] = ()
    """Columns of both files that are not compared here: a column of items."""

    neutral: tuple[str, ...] = ()
    """Further columns that define groups: neutral columns that an attacker may know."""

    @cached_property
    def judges_values(self) -> bool:
        """Whether a requirement about sensitive values decides: then values that look alike count as one."""
        return self.require is not None and any(part.about_sensitive for part in requirement(self.require).parts)

    def check(self) -> None:
        """Raise unless all columns exist and each has one role."""
        if not self.quasi:
            raise refusal("no_quasi_identifier_name")
        named = (*self.quasi, *self.sensitive, *(() if self.group is None else (self.group,)))
        twice = [name for name in named if named.count(name) > 1]
        if twice:
            raise refusal("column_named_twice", twice=twice[0])
        check_choice("missing", self.missing, ("value", "any"))
        if self.suppressed is not None:
            check_choice("suppressed", self.suppressed, ("keep", "leave-out"))
        self.file.check(self.quasi, "--quasi")
        self.file.check(self.sensitive, "--sensitive")
        self.file.check([] if self.group is None else [self.group], "--group")
        if self.household is not None and self.original is None:
            raise refusal("audit_error.households_alone")
        if self.person is not None:
            self._check_person()
        if self.original is not None:
            self.original.check([] if self.household is None else [self.household], t("notice.household_original"))
            self.original.check(self.quasi, t("notice.quasi_original"))
            self.original.check(self.sensitive, t("notice.sensitive_original"))

    def _check_person(self) -> None:
        """Raise if persons cannot be counted."""
        if self.original is None:
            raise refusal("audit_error.persons_alone", person=self.person)
        others = {"--group": self.group, "--missing any": self.missing == "any", "--include-neutral": self.neutral}
        for option, given in others.items():
            if given:
                raise refusal("persons_person_not_counted", person=self.person, option=option)
        self.original.check([str(self.person)], t("notice.person_original"))
        named = (*self.quasi, *self.sensitive)
        if self.person in named:
            raise refusal("column_named_twice_person", person=self.person)

    @property
    def grouping(self) -> tuple[str, ...]:
        """The columns whose texts define groups."""
        return (*self.quasi, *self.neutral) if self.group is None else (self.group,)

    def count(self, more: Sequence[str]) -> tuple[Counted, int]:
        """Count the file by the grouping columns and some more; return also the omitted rows of `*`."""
        columns = dict.fromkeys([*(() if self.group is None else (self.group,)), *self.quasi, *self.neutral, *more])
        counted = self.file.count(list(columns))
        counted = reread(counted, [name for name in more if name in self.sensitive], {EMPTY: ""})
        if self.missing == "any":
            counted = reread(counted, self.quasi, dict.fromkeys(self.na, ""))
        stars = counted.all_stars(self.quasi)
        left_out = int(counted.counts[stars].sum())
        kept = self.suppressed == "keep" or (
            self.suppressed is None and (self.require is not None or left_out == counted.records)
        )
        if kept or left_out == 0:
            return counted, 0
        if left_out == counted.records:
            raise refusal("audit_error.only_stars", origin=self.file.origin)
        return counted.where(~stars), left_out

    def covering(self, counted: Counted) -> Counted:
        """Return the covered values of the counted texts: an empty text covers missing values, or everything."""
        counted = reread(counted, list(counted.columns), {EMPTY: ""})
        return counted if self.missing == "value" else reread(counted, self.quasi, {"": STAR})


@dataclass(frozen=True, eq=False, repr=False)
class PublishedAttribute(RedactedRepr):
    """One published sensitive attribute (or none): the counted tuples, and the group of each."""

    public_fields: ClassVar[tuple[str, ...]] = ("name",)

    counted: Counted
    first: Counts
    number: Counts
    profile: Profile | None
    column: TextColumn | None = None
    """The counted published values."""

    texts: tuple[str, ...] = ()
    """The values of the file and of the compared table, before look-alikes were merged."""

    def shown(self, group: int, names: Sequence[str]) -> dict[str, str]:
        """Return the published texts of a group."""
        return self.counted.show(int(self.first[group]), names)


@dataclass(frozen=True, repr=False)
class WorstGroup(RedactedRepr):
    """A worst group, by its published texts."""

    public_fields: ClassVar[tuple[str, ...]] = ("why", "sensitive")

    why: str
    sensitive: str | None
    shows: Mapping[str, str]
    size: int
    dominant: str | None
    """The most frequent sensitive value."""

    share: float | None
    """The share of that value in the group."""

    measures: Mapping[str, float]


def given_hierarchies(asked: AuditQuestion, original: Any, given: Any) -> dict[str, Hierarchy]:
    """Return the given hierarchies, or those of the original table."""
    if given is None and isinstance(original, Table):
        return {**original.hierarchies, **original.fine}
    if given is None and isinstance(original, str) and original in DATASETS and not Path(original).exists():
        given = bundled.hierarchies(original)
    entries = read_hierarchies(Path(given)) if isinstance(given, str | Path) else dict(given or {})
    wanted = {*asked.quasi, *asked.sensitive}
    return {name: declared(name, entry, _observed(asked, name)) for name, entry in entries.items() if name in wanted}


def given_weights(quasi: tuple[str, ...], original: Any, given: Mapping[str, float] | None) -> dict[str, float]:
    """Return the given weights, or those of the original table."""
    if given and original is None:
        raise refusal("audit_error.weights_alone")
    if given is None and isinstance(original, Table):
        given = {name: weight for name, weight in original.roles.weights if name in quasi}
    return dict(weights_of(quasi, given or {}))


def _observed(asked: AuditQuestion, name: str) -> Any:
    def values() -> tuple[list[str], list[int]]:
        if asked.original is None:
            raise refusal("hierarchy_made_values_table")
        distinct = asked.original.engine.distinct(name, asked.original.complete)
        pairs = [(value, int(count)) for value, count in zip(distinct.values, distinct.counts, strict=True) if value]
        return [value for value, _ in pairs], [count for _, count in pairs]

    return values


def attribute_of(asked: AuditQuestion, name: str, counted: Counted, hierarchy: Hierarchy | None) -> PublishedAttribute:
    """Count one sensitive attribute in every group, and in the compared table."""
    published = canonical(name, counted.columns[name], hierarchy)
    table, weights = published, counted.counts
    if asked.original is not None:
        original = asked.original.count((name,))
        table, weights = canonical(name, original.columns[name], hierarchy), original.counts
    texts = tuple(dict.fromkeys((*table.texts, *published.texts)))
    if asked.judges_values:
        names = dict(zip(texts, name_alike(texts), strict=True))
        table, published = (column.called([names[text] for text in column.texts]) for column in (table, published))
    compared = baseline(name, table, weights, published.texts, hierarchy, asked.original is not None)
    first, number = counted.number(asked.grouping)
    profile = Profile.of(compared, published, number, counted.counts)
    return PublishedAttribute(counted, first, number, profile, published, texts)


def canonical(name: str, column: TextColumn, hierarchy: Hierarchy | None) -> TextColumn:
    """Rename sensitive values to the labels of their leaves, if they have a hierarchy (`22` may become `20-24`)."""
    if hierarchy is None:
        return column
    domain = hierarchy.with_missing() if "" in column.texts else hierarchy
    return column.called([domain.leaves[code] for code in leaf_codes(name, domain, column.texts)])


def group_sizes(attribute: PublishedAttribute) -> Counts:
    """Count the records of every group."""
    return np.bincount(attribute.number, weights=attribute.counted.counts).astype(np.int64)


def worst_groups(
    asked: AuditQuestion, attributes: Mapping[str, PublishedAttribute], one: PublishedAttribute, sizes: Counts
) -> tuple[WorstGroup, ...]:
    """Return the smallest groups, and for each sensitive attribute the least diverse and those farthest from Q."""
    worst = []
    name = next(iter(attributes), None)
    for place in _least(sizes, sizes):
        worst.append(_described(asked, "smallest", name, one, place, sizes))
    for name, attribute in attributes.items():
        assert attribute.profile is not None
        profile = attribute.profile
        for why, goodness in (("least diverse", profile.l_frequency), ("farthest from Q", -profile.t_js)):
            places = _least(goodness, profile.sizes)
            worst += [_described(asked, why, name, attribute, place, profile.sizes) for place in places]
    return tuple(worst)


def _least(values: NDArray[Any], sizes: Counts) -> list[int]:
    """Return the groups with the least values, the smallest first among equals."""
    last = min(MOST_WORST, len(values)) - 1
    candidates = np.flatnonzero(values == values.min())
    if len(candidates) <= last:  # for many equal ones a search for the next would be slow
        candidates = np.flatnonzero(values <= np.partition(values, last)[last])
    order = np.lexsort((sizes[candidates], values[candidates]))
    return [int(place) for place in candidates[order[:MOST_WORST]]]


def _described(
    asked: AuditQuestion, why: str, name: str | None, attribute: PublishedAttribute, place: int, sizes: Counts
) -> WorstGroup:
    shows = attribute.shown(place, asked.grouping)
    if attribute.profile is None:
        return WorstGroup(why, None, shows, int(sizes[place]), None, None, {})
    value, share = attribute.profile.dominant(place)
    by_measure = {
        "l_frequency": attribute.profile.l_frequency,
        "l_distinct": attribute.profile.l_distinct,
        "t_js": attribute.profile.t_js,
    }
    measures = {measure: values[place].item() for measure, values in by_measure.items()}
    return WorstGroup(why, name, shows, int(sizes[place]), value, share, measures)


def study_file(given: Any) -> Path | None:
    """Return the study of an original: a file that ends in .toml, or the one in the folder of a map."""
    if not isinstance(given, str | Path):
        return None
    path = Path(given)
    if path.suffix.lower() == ".toml":
        return path
    return path / STUDY if (path / STUDY).is_file() else None


def opened_original(given: Any, options: Mapping[str, Any]) -> Any:
    """Open the table of a study; other objects are returned unchanged. `options` are alternative reading options."""
    path = study_file(given)
    if path is None:
        return given
    for name in OF_ORIGINAL:
        if options.get(name):
            raise refusal("says_how_table_read", replace=name.replace("_", "-"), path=path)
    content = documents.parse_toml(documents.read_text(path), str(path))
    if content.keys().isdisjoint(("table", "items", "baskets")):
        raise refusal("no_table", path=path)
    with documents.named(str(path)):
        data = DataDeclaration.of(content, path.parent)
    if data.table is None or data.items is not None:
        name = content.get("name", path.stem)
        raise refusal("study_about", name=name, section=data.section)
    return data.table.open()


def roles_in(
    columns: Sequence[str], quasi: tuple[str, ...], sensitive: tuple[str, ...], original: Any
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return quasi-identifiers and sensitive columns: the named ones, or if none is, those of the original's roles.

    A release may lack sensitive columns, so only those in the file are used.
    """
    if quasi or not isinstance(original, Table):
        return quasi, sensitive
    return original.roles.quasi, sensitive or tuple(name for name in original.roles.sensitive if name in columns)
