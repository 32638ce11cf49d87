"""What releases of baskets and of tables with items have in common on their way out: a legend, and what is said."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sfumato.phrases import counted
from sfumato.publish.certificate import Origin
from sfumato.publish.leaving import Leaving
from sfumato.tradeoff.study.candidate import files_of as files_in
from sfumato.transactions.files.legend import Names
from sfumato.transactions.files.writing import files_of


@dataclass(frozen=True)
class LeavingItems(Leaving):
    """A release of sets of items on its way out: the records, and a legend of what stands for several items."""

    only_yours: ClassVar[str] = "it tells what was left out"

    release: Any
    candidate: Any
    study: Any
    path: Path
    origin: Origin
    layout: str
    escape_formulas: bool = False
    legend: str = "auto"

    @property
    @abstractmethod
    def read(self) -> Sequence[Path]:
        """The files of the data that it was made of."""

    @property
    def inputs(self) -> Sequence[Path]:
        """The files of the data, and those that its settings name."""
        return [*self.read, *map(Path, files_in(self.candidate))]

    @property
    @abstractmethod
    def names(self) -> Names:
        """What the file calls what is published."""

    @property
    def data(self) -> Sequence[Path]:
        """The records, and the legend where they need one."""
        return files_of(self.path, self.names)

    def files_written(self, drafts: Sequence[Path]) -> dict[str, Path]:
        """Return the drafts by their final names."""
        return dict(zip((target.name for target in self.data), drafts, strict=True))

    def values(self, verdict: Any) -> Mapping[str, Any]:
        """Return what a program reads of it."""
        return {
            "requirement": str(self.candidate.requirement),
            "promise": str(self.promised(verdict)),
            "anonymizer": str(self.candidate.anonymizer),
            **self.settings(verdict),
            "published_items": verdict.published_items,
            "suppressed": self.suppressed,
            "legend": str(self.data[1]) if self.names.legend else None,
            "measures": dict(verdict.measures),
        }

    @abstractmethod
    def promised(self, verdict: Any) -> Any:
        """Return the strongest requirement of the kind asked for that the file keeps."""

    @property
    @abstractmethod
    def suppressed(self) -> int:
        """How many items, or records, are not published."""

    def settings(self, verdict: Any) -> Mapping[str, Any]:
        """Return what else was set, and the groups where there are any."""
        return {}

    def lines(self, verdict: Any) -> Sequence[str]:
        """Say how much was published, and what was re-checked."""
        wanted, items = self.promised(verdict), counted(verdict.published_items, "published item")
        groups = f" in {counted(verdict.groups, 'group')}" if hasattr(verdict, "groups") else ""
        return [
            f"Published {self.path}: {counted(verdict.records, 'record')}{groups} with {items}.",
            f"Re-checked on the written file: {wanted}",
            f"  That is: {wanted.rule_in_words()}.",
            *(legend_line(file, len(self.names.legend)) for file in self.data[1:]),
        ]


def legend_line(file: Path, entries: int) -> str:
    """Say what a legend is for."""
    stand = "1 published item stands" if entries == 1 else f"{entries:,} published items stand"
    return f"What {stand} for: {file} (part of the release: hand it out with the data)"
