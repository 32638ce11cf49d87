"""What releases of baskets and of tables with items have in common on their way out: a legend, and what is said."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from sfumato.phrases import counted
from sfumato.publish.leaving import Leaving
from sfumato.tradeoff.study.explorable import files_of as files_in
from sfumato.transactions.files.legend import Names
from sfumato.transactions.files.writing import files_of


class LeavingItems(Leaving):
    """A release of sets of items on its way out: the records, and a legend of what stands for several items."""

    only_yours: ClassVar[str] = "it tells what was left out"

    candidate: Any

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

    @abstractmethod
    def published(self, verdict: Any) -> str:
        """Say how much was published, but for the published items."""

    @property
    def data(self) -> Sequence[Path]:
        """The records, and the legend where they need one."""
        return files_of(self.path, self.names)

    def lines(self, verdict: Any) -> Sequence[str]:
        """Say how much was published, and what was re-checked."""
        wanted, items = self.candidate.requirement, counted(verdict.published_items, "published item")
        return [
            f"Published {self.path}: {self.published(verdict)} with {items}.",
            f"Re-checked on the written file: {wanted}",
            f"  That is: {wanted.rule_in_words()}.",
            *(legend_line(file, len(self.names.legend)) for file in self.data[1:]),
        ]


def legend_line(file: Path, entries: int) -> str:
    """Say what a legend is for."""
    stand = "1 published item stands" if entries == 1 else f"{entries:,} published items stand"
    return f"What {stand} for: {file} (part of the release: hand it out with the data)"
