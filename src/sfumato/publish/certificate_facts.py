"""The contents of certificates: settings and facts of the file (public), and the release (internal).

`PublicContext` contains no release and no table, so a public certificate follows from plain values. Only `shown_by`
reads these from a release, and it reads nothing that the written file does not show.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.anonymizers.anonymizer import Anonymizer, ReleaseMaker
from sfumato.anonymizers.dp._private_cells import CountedTable
from sfumato.anonymizers.dp.noise import variance
from sfumato.data.cells import Histograms, Sensitive, Weights
from sfumato.data.reading import Unit
from sfumato.measures.items.linking import set_parts
from sfumato.publish.publication import Origin
from sfumato.release.changes import unique_numbers
from sfumato.release.content import Guarantee, NoisyRelease
from sfumato.release.records import RecordRelease, coded_columns
from sfumato.release.release import Release, widened
from sfumato.requirements.items import MixedRequirement
from sfumato.texts.catalogue import counted, listed
from sfumato.tradeoff.study.candidate import Candidate

Drawn = NoisyRelease | RecordRelease
"""The draws of a mechanism: boxes with noisy counts, or records."""


@dataclass(frozen=True)
class ReleasedColumns:
    """The columns of a released file by their declared roles."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    """The published ones."""

    neutral: tuple[str, ...]
    household: str | None = None
    """The original's household column; never published."""

    ordered: tuple[str, ...] = ()
    """Sensitive columns with a known order: ascending, because no other was declared."""

    weights: Weights = ()
    """The weights of quasi-identifiers in losses, if they differ."""

    unit: Unit = "records"
    """The unit that groups count."""

    items: str | None = None
    """The column of items."""


@dataclass(frozen=True)
class PublishedFacts:
    """The facts that a published file shows, and settings of its columns: plain values only."""

    content: str
    """groups, noisy counts, records, external."""

    attributes: bool = True
    items: bool = False
    published: tuple[str, ...] = ()
    """The published sensitive attributes."""

    exact: bool = False
    """Whether every record shows its exact quasi-identifiers."""

    sensitive: bool = True
    """Whether sensitive attributes are published."""

    single: tuple[str, ...] = ()
    """Sensitive columns with a number that occurs in one row."""

    homogeneous: tuple[str, ...] = ()
    similar: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()
    """Sensitive columns with an undeclared hierarchy."""

    automatic: tuple[str, ...] = ()
    """Columns whose intervals and groups come from the table."""

    target: str = ""
    """The role of the column that determined the groups."""

    ends: str = ""
    """The ends of ranges: exact, rounded, or empty if none is the value of a single record."""

    people: bool = True
    rows: int = 0
    spread: tuple[str, float, str] = ("", math.inf, "")
    """Of a noisy draw: its counts, the mean number of records per count, and what would reduce the counts."""

    noise: float = 0.0
    drawn: Mapping[str, Any] = field(default_factory=dict)
    guarantee: Guarantee | None = None
    sets: bool = False
    """Whether a published set lists occurring items."""

    names_sensitive: bool = False
    """Whether items were declared as sensitive."""


@dataclass(frozen=True)
class PublicContext:
    """The contents of a public certificate."""

    candidate: Candidate
    columns: ReleasedColumns
    shown: PublishedFacts
    rows: int = 0
    missing: str = "value"
    files: Mapping[str, Path] = field(default_factory=dict)
    """The current places of the written files, by their final names."""

    promised: Any = None
    """The strongest requirement of the requested kinds that the file satisfies."""

    confirmed: tuple[str, ...] = ()
    """Its parts that the file alone confirms, with its own Q."""

    alone: Any = None
    """The audit of the file without its original."""

    meanings: Sequence[tuple[str, str]] = ()
    layout: str = "rows"
    entries: int = 0
    """The number of published items in the legend."""

    on_a_map: bool = True
    """Whether it was chosen on a map of candidates."""

    @property
    def maker(self) -> Any:
        """The maker of the release."""
        return self.candidate.anonymizer

    @property
    def required(self) -> Any:
        """The requirement of the release."""
        return self.candidate.requirement

    def asks(self, *kinds: type) -> bool:
        """Return whether the requirement is of some kind."""
        return isinstance(self.required, kinds)

    @property
    def is_noisy(self) -> bool:
        """Whether rows are drawn from noisy counts."""
        return self.shown.content == "noisy"

    @property
    def is_records(self) -> bool:
        """Whether the records are perturbed or synthetic."""
        return self.shown.content == "records"

    @property
    def is_external(self) -> bool:
        """Whether it is an external release."""
        return self.shown.content == "external"

    def is_confirmed(self, part: Any) -> bool:
        """Return whether the file alone confirms a part of the promise."""
        return str(part) in self.confirmed

    @property
    def bucketized(self) -> bool:
        """Whether quasi-identifiers are exact and sensitive values in buckets."""
        return self.candidate.form == "bucketization"

    @property
    def in_groups(self) -> bool:
        """Whether rows of the table are published in groups by quasi-identifiers."""
        return self.shown.content == "groups" and self.shown.attributes

    @property
    def baskets(self) -> bool:
        """Whether there are only items."""
        return self.shown.items and not self.shown.attributes

    @property
    def lists_items(self) -> bool:
        """Whether the file shows sets of items made from a group's items."""
        return self.shown.sets and self.candidate.sets == "group"

    @property
    def wanted(self) -> Any:
        """The requirement of groups."""
        return self.required.of_groups if self.asks(MixedRequirement) else self.required


@dataclass(frozen=True)
class InternalContext:
    """The contents of an internal certificate."""

    public: PublicContext
    release: Any
    candidate: Candidate
    """With internal settings: a seed, names of files."""

    origin: Origin = field(default_factory=lambda: Origin("", ""))
    path: Path = Path()
    """The final name of the data file."""

    findings: Any = None
    """The audit of the written file against its original."""

    measures: Mapping[str, float] = field(default_factory=dict)
    """The measures of the map, or of the maker."""

    meanings: Sequence[tuple[str, str]] = ()
    prepared: Any = None
    """The prepared scales of baskets."""

    promised: Any = None
    """The promise with the names of its files."""

    asked: tuple[str, ...] = ()
    """The requirements of a later check of the file."""

    @property
    def named(self) -> PublicContext:
        """The public context with the internal settings."""
        return replace(self.public, candidate=self.candidate, promised=self.promised)

    @property
    def records(self) -> int:
        """The number of records of the original."""
        return int(self.release.baskets.size if self.public.shown.items else self.release.table.cells.records)

    @property
    def groups(self) -> Any:
        """The part of the release with groups by quasi-identifiers."""
        return getattr(self.release, "relational", self.release)


def shown_by(release: Any, maker: ReleaseMaker, names_sensitive: bool = False) -> PublishedFacts:
    """Return the facts that the file of a release shows."""
    if release.kind == "baskets":
        sets = bool(set_parts(release).any())
        return PublishedFacts("groups", attributes=False, items=True, sets=sets, names_sensitive=names_sensitive)
    if release.kind == "items":
        return PublishedFacts(**_groups(release.relational, maker), items=True, sets=bool(set_parts(release).any()))
    if release.kind == "table":
        return PublishedFacts(**_groups(release, maker))
    if release.kind == "records":
        return PublishedFacts("records", people=release.people, rows=release.records)
    rows, noise, guarantee = release.rows_written, noise_of_counts(release), release.guarantee
    spread, drawn = _spread(release), drawn_from(release)
    return PublishedFacts(
        "noisy", people=False, rows=rows, spread=spread, noise=noise, drawn=drawn, guarantee=guarantee
    )


def _groups(release: Release, maker: ReleaseMaker) -> dict[str, Any]:
    """Return the facts that the rows of groups show."""
    assert isinstance(maker, Anonymizer)
    histograms, roles = release.histograms, release.table.roles
    sensitive = () if histograms is None else histograms.sensitive
    places: Any = [(each, histograms, place) for place, each in enumerate(sensitive)]
    target = maker.decided_by
    automatic = [quasi.name for quasi in release.cells.quasi if quasi.hierarchy.observed]
    automatic = automatic if release.form == "generalization" else []
    binned = (each for each in sensitive if each.hierarchy.firsts != each.hierarchy.lasts)
    automatic += [attribute.name for attribute in binned if attribute.hierarchy.observed]
    return {
        "content": "groups",
        "exact": release.is_exact,
        "published": tuple(each.name for each in sensitive),
        "sensitive": histograms is not None,
        "single": tuple(own[0].name for own in places if unique_numbers(*own)),
        "homogeneous": tuple(own[0].name for own in places if alike_groups(*own[1:]).any()),
        "similar": tuple(own[0].name for own in places if similar_groups(*own)),
        "undeclared": tuple(each.name for each in sensitive if each.hierarchy.observed),
        "automatic": tuple(automatic),
        "target": "sensitive" if target in roles.sensitive else "neutral" if target in roles.neutral else "",
        "ends": _ends(release, maker),
    }


def alike_groups(histograms: Histograms, place: int) -> Any:
    """Mark the groups in which all records have the same value."""
    return (histograms.of(place) > 0).sum(axis=1) == 1


def similar_groups(attribute: Sensitive, histograms: Histograms, place: int) -> int:
    """Count groups with several values that are all below one node other than the root.

    An observed hierarchy depends on all values of the table, so its count is not published.
    """
    hierarchy = attribute.hierarchy
    if hierarchy.observed or hierarchy.height < 2:
        return 0
    parents = hierarchy.ancestors[-2][attribute.leaves]
    present = histograms.of(place) > 0
    families = np.stack([present[:, parents == node].any(axis=1) for node in np.unique(parents)], axis=1)
    return int(((families.sum(axis=1) == 1) & (present.sum(axis=1) > 1)).sum())


def _ends(release: Release, maker: Anonymizer) -> str:
    """Return the kind of the ends of published ranges, if the anonymizer publishes ranges of groups.

    Cuts and limits that the publisher chooses may be inside bands; then the ends of ranges are exact.
    """
    if release.form == "bucketization":
        return ""
    ranges, boxes = maker.ranges_of(release.table), release.boxes
    of_groups = "ranges" in {each.name for each in fields(maker)}  # type: ignore[arg-type]
    rounded = widened(release.cells, boxes.lo, boxes.hi, "rounded")
    within_bands = any((ends != own).any() for ends, own in zip(rounded, (boxes.lo, boxes.hi), strict=True))
    if ranges == "tight" if of_groups else within_bands:
        return "exact"
    return "rounded" if of_groups and ranges == "rounded" else ""


def _spread(release: Drawn) -> tuple[str, float, str]:
    """Return the counts of the file, the mean number of records per count, and what would reduce the counts."""
    if isinstance(release, NoisyRelease):
        boxes = counted(release.groups, "box", "boxes")
        counts = f"{release.counts.size:,} counts ({boxes} x {release.counts.shape[1]} values)"
        return counts, release.synthetic_counts.mean(), "fewer boxes (a lower height)"
    sizes = {attribute.name: attribute.hierarchy.size for attribute in coded_columns(release.cells)}
    tables = list(_finest(release))
    cells = sum(math.prod(sizes[name] for name in table.names) for table in tables)
    counts = f"{cells:,} counts of {counted(len(tables), 'table')}"
    return counts, release.rows_written * len(tables) / cells, "fewer declared values"


def _finest(release: RecordRelease) -> Iterator[CountedTable]:
    """Yield the counted tables with most columns, which determine the resolution of the model."""
    tables: tuple[CountedTable, ...] = release.details["counted"]
    most = max(len(table.names) for table in tables)
    return (table for table in tables if len(table.names) == most)


def noise_of_counts(release: Drawn) -> float:
    """Return the standard deviation of the noise in the finest counts, before consistency."""
    if isinstance(release, RecordRelease):
        return float(np.median([table.deviation for table in _finest(release)]))
    final = max((part for part in release.guarantee.spent if part.what == "counts"), key=lambda part: part.level)
    return math.sqrt(variance(final.amount / release.guarantee.budget.factor))


def drawn_from(release: Drawn) -> dict[str, Any]:
    """Return the source of the rows: boxes, or a model of tables that were counted with noise."""
    if isinstance(release, NoisyRelease):
        return {"boxes": release.groups, "drawn_from": f"the noisy counts of {counted(release.groups, 'box', 'boxes')}"}
    tables: Sequence[CountedTable] = release.details["counted"]
    pairs = [" x ".join(table.names) for table in tables if len(table.names) > 1]
    of_pairs = f" and of {listed(dict.fromkeys(pairs))}" if pairs else ""
    return {
        "tables": [{"columns": list(table.names), "noise": table.deviation} for table in tables],
        "drawn_from": f"a model of the noisy counts of single columns{of_pairs}",
    }
