"""What certificates are made of: for the public settings and what the file shows, for the publisher the release too.

`PublicContext` holds no release and no table: what a public certificate says follows from plain values. `shown_by` is
the one place that reads them off a release, and it reads nothing that the written file does not show.
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
"""What a mechanism draws: boxes with noisy counts, or records."""


@dataclass(frozen=True)
class ReleasedColumns:
    """The columns of a released file by their roles, as they were declared."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    """Those that are published."""

    neutral: tuple[str, ...]
    household: str | None = None
    """The original's column that says who lives together; never published."""

    ordered: tuple[str, ...] = ()
    """Sensitive columns whose order everybody sees: rising, for no other was declared."""

    weights: Weights = ()
    """How much a loss in every quasi-identifier counted, where not all did alike."""

    unit: Unit = "records"
    """What was counted in groups."""

    items: str | None = None
    """The column of items."""


@dataclass(frozen=True)
class PublishedFacts:
    """What everybody sees in what is published, and settings of its columns: plain values alone."""

    content: str
    """groups, noisy counts, records, external."""

    attributes: bool = True
    items: bool = False
    published: tuple[str, ...] = ()
    """The sensitive attributes that are."""

    exact: bool = False
    """Whether every record shows its quasi-identifiers as they are."""

    sensitive: bool = True
    """Whether sensitive attributes are published."""

    single: tuple[str, ...] = ()
    """Sensitive columns with a number that stands in one row."""

    homogeneous: tuple[str, ...] = ()
    similar: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()
    """Sensitive columns whose hierarchy was not declared."""

    automatic: tuple[str, ...] = ()
    """Columns whose intervals and groups were taken from the table."""

    target: str = ""
    """The role of the column by which groups were formed."""

    ends: str = ""
    """What the ends of ranges are: exact, rounded, or nothing of single records."""

    people: bool = True
    rows: int = 0
    spread: tuple[str, float, str] = ("", math.inf, "")
    """Of a noisy draw: over which counts it spreads, how many records each has on average, what would lower that."""

    noise: float = 0.0
    drawn: Mapping[str, Any] = field(default_factory=dict)
    guarantee: Guarantee | None = None
    sets: bool = False
    """Whether a published set lists items that occur."""

    names_sensitive: bool = False
    """Whether items were named as sensitive."""


@dataclass(frozen=True)
class PublicContext:
    """All that a public certificate is made of."""

    candidate: Candidate
    columns: ReleasedColumns
    shown: PublishedFacts
    rows: int = 0
    missing: str = "value"
    files: Mapping[str, Path] = field(default_factory=dict)
    """The written files by their final names, where they stand now."""

    promised: Any = None
    """The strongest requirement of the kinds asked for that the file keeps."""

    confirmed: tuple[str, ...] = ()
    """The parts of it that the file alone confirms, relative to itself."""

    alone: Any = None
    """What the audit of the file without its original found."""

    meanings: Sequence[tuple[str, str]] = ()
    layout: str = "rows"
    entries: int = 0
    """How many published items the legend explains."""

    on_a_map: bool = True
    """Whether it was chosen on a map of candidates."""

    @property
    def maker(self) -> Any:
        """Who made the release."""
        return self.candidate.anonymizer

    @property
    def required(self) -> Any:
        """What is required of the release."""
        return self.candidate.requirement

    def asks(self, *kinds: type) -> bool:
        """Say whether a requirement of some kind is asked for."""
        return isinstance(self.required, kinds)

    @property
    def is_noisy(self) -> bool:
        """Whether rows are drawn from noisy counts."""
        return self.shown.content == "noisy"

    @property
    def is_records(self) -> bool:
        """Whether records stand in place of the table's records."""
        return self.shown.content == "records"

    @property
    def is_external(self) -> bool:
        """Whether it was made elsewhere."""
        return self.shown.content == "external"

    def is_confirmed(self, part: Any) -> bool:
        """Say whether the file alone confirms a part of the promise."""
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
        """Whether there is nothing but items."""
        return self.shown.items and not self.shown.attributes

    @property
    def lists_items(self) -> bool:
        """Whether the file shows sets of items that were made of a group's: a setting, and what the file shows."""
        return self.shown.sets and self.candidate.sets == "group"

    @property
    def wanted(self) -> Any:
        """What is required of groups."""
        return self.required.of_groups if self.asks(MixedRequirement) else self.required


@dataclass(frozen=True)
class InternalContext:
    """What the publisher alone may see."""

    public: PublicContext
    release: Any
    candidate: Candidate
    """With what only the publisher knows: a seed, names of files."""

    origin: Origin = field(default_factory=lambda: Origin("", ""))
    path: Path = Path()
    """The data file by its final name."""

    findings: Any = None
    """What the audit of the written file against its original found."""

    measures: Mapping[str, float] = field(default_factory=dict)
    """Those of the map, or the maker's own."""

    meanings: Sequence[tuple[str, str]] = ()
    prepared: Any = None
    """The prepared scales of baskets."""

    promised: Any = None
    """The promise with the names of its files."""

    asked: tuple[str, ...] = ()
    """What is asked of the file when it is checked again."""

    @property
    def named(self) -> PublicContext:
        """The public context with the settings as the publisher knows them."""
        return replace(self.public, candidate=self.candidate, promised=self.promised)

    @property
    def records(self) -> int:
        """How many records the original has."""
        return int(self.release.baskets.size if self.public.shown.items else self.release.table.cells.records)

    @property
    def groups(self) -> Any:
        """The part of the release that is groups by quasi-identifiers."""
        return getattr(self.release, "relational", self.release)


def shown_by(release: Any, maker: ReleaseMaker, names_sensitive: bool = False) -> PublishedFacts:
    """Read off a release what its file shows."""
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
    """Read off groups what their rows show."""
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
    """Count groups whose values differ and yet lie all under one node below the root.

    A hierarchy that was made of the table's values depends on all of them, so then nothing is said of what it finds.
    """
    hierarchy = attribute.hierarchy
    if hierarchy.observed or hierarchy.height < 2:
        return 0
    parents = hierarchy.ancestors[-2][attribute.leaves]
    present = histograms.of(place) > 0
    families = np.stack([present[:, parents == node].any(axis=1) for node in np.unique(parents)], axis=1)
    return int(((families.sum(axis=1) == 1) & (present.sum(axis=1) > 1)).sum())


def _ends(release: Release, maker: Anonymizer) -> str:
    """Say what the ends of published ranges are, where the anonymizer publishes ranges of groups.

    Cuts and limits that the publisher names may lie within bands; then ranges end there.
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
    """Say over how many counts the file spreads, how many records each has on average, and what would lower that."""
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
    """Pick the tables of most columns that were counted: the model is as fine as they are."""
    tables: tuple[CountedTable, ...] = release.details["counted"]
    most = max(len(table.names) for table in tables)
    return (table for table in tables if len(table.names) == most)


def noise_of_counts(release: Drawn) -> float:
    """Return the standard deviation of the noise in the finest counts, before they are made to add up."""
    if isinstance(release, RecordRelease):
        return float(np.median([table.deviation for table in _finest(release)]))
    final = max((part for part in release.guarantee.spent if part.what == "counts"), key=lambda part: part.level)
    return math.sqrt(variance(final.amount / release.guarantee.budget.factor))


def drawn_from(release: Drawn) -> dict[str, Any]:
    """Say what the rows were drawn from: boxes, or a model of tables that were counted with noise."""
    if isinstance(release, NoisyRelease):
        return {"boxes": release.groups, "drawn_from": f"the noisy counts of {counted(release.groups, 'box', 'boxes')}"}
    tables: Sequence[CountedTable] = release.details["counted"]
    pairs = [" x ".join(table.names) for table in tables if len(table.names) > 1]
    of_pairs = f" and of {listed(dict.fromkeys(pairs))}" if pairs else ""
    return {
        "tables": [{"columns": list(table.names), "noise": table.deviation} for table in tables],
        "drawn_from": f"a model of the noisy counts of single columns{of_pairs}",
    }
