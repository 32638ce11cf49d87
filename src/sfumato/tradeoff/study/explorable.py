"""What a map, its report and a choice ask of a study, whatever it is about: a table, baskets of items, or both.

Candidates and studies with their data at hand are of the kinds `Settings` and `Opened`, which have what is the same
for all; how the candidates of a study are listed, read and written stands in `grids`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from sfumato.configuration import described, value_text
from sfumato.kernels import source_digest
from sfumato.measures import Classification
from sfumato.release.maker import ReleaseMaker
from sfumato.rooms import up_to
from sfumato.table.table import Unit

if TYPE_CHECKING:
    from sfumato.tradeoff.limit.limit import Limit
    from sfumato.tradeoff.map import Point
    from sfumato.tradeoff.search.aims import Aim
    from sfumato.tradeoff.search.families import Proposals


class Settings:
    """How a release is made, whatever it is a release of: what a point keeps of its candidate.

    Candidates are frozen dataclasses of this kind; their texts tell them apart.
    """

    anonymizer: ReleaseMaker
    requirement: Any
    """What it satisfies. It prints as what one would type."""

    if TYPE_CHECKING:  # fields of candidates, or the same for all of a kind

        @property
        def form(self) -> str:
            """In which form it is published."""

        @property
        def suppress(self) -> float:
            """The share of the records that may be left out."""

    mark: ClassVar[str] = ""
    """What stands before the text of which the id is a digest, so that two kinds have no id in common."""

    empty: ClassVar[tuple[object, ...]] = (None, "")
    """Values of options that are not listed among the parameters."""

    @property
    def id(self) -> str:
        """A short name that depends on the configuration alone."""
        return sha256(f"{self.mark}{self.identity}".encode()).hexdigest()[:8]

    @property
    def identity(self) -> str:
        """What tells it from others, wherever the files it names are."""
        return str(self)

    @property
    def parameters(self) -> dict[str, Any]:
        """The numbers and choices of the configuration, by name."""
        parameters: dict[str, Any] = {}
        for part in (self.anonymizer, *self.requirement.parts):
            for setting in fields(part):
                value = getattr(part, setting.name)
                if value not in self.empty and setting.name not in part.unwritten:
                    keys = (setting.name if n == 1 else f"{setting.name} {n}" for n in count(1))
                    key = next(key for key in keys if key not in parameters)
                    parameters[key] = value_text(value) if isinstance(value, tuple) else value
        return parameters | self.further_parameters

    @property
    def further_parameters(self) -> dict[str, Any]:
        """What is said beside the anonymizer and the requirement, where it is not as usual."""
        return {"suppress": self.suppress} if self.suppress else {}

    @property
    def in_words(self) -> str:
        """How the release is made, in a sentence, where its texts do not say it to everybody."""
        return self.anonymizer.described_in_words

    @property
    def family(self) -> str:
        """What it is drawn as, where that is not its requirement."""
        return self.anonymizer.family

    @property
    def public(self) -> Self:
        """The same as everybody may know it: without a seed, with which it could be made again, and names of files."""
        return replace(self, anonymizer=self.anonymizer.public)  # type: ignore[type-var]

    def point(self) -> Point:
        """Return the point of this candidate, before it is measured."""
        from sfumato.tradeoff.map import Point  # a map is about studies: not before them

        return Point(self.id, self, "measured")


class Opened(ABC):
    """A study with its data at hand: its candidates, and how each becomes a point."""

    study: Any
    """The study, with what opening its data has decided."""

    sources: ClassVar[tuple[str, ...]]
    """The rooms and folders beside those up to the measures on whose sources a point depends."""

    @cached_property
    def key(self) -> str:
        """A digest of everything a point depends on besides its candidate."""
        parts = [*self.dependencies, source_digest(*up_to("measures"), *self.sources)]
        return sha256("\n".join(map(repr, parts)).encode()).hexdigest()

    @property
    @abstractmethod
    def dependencies(self) -> list[Any]:
        """What a point depends on besides its candidate and our sources: the data, the scales, files they name."""

    @property
    def files(self) -> list[tuple[str, str]]:
        """Digest the files that scales and candidates read, so that a changed one is measured anew."""
        paths = sorted({Path(name) for name in files_of(self.study.scales, *self.study.candidates)})
        return [(str(path), sha256(path.read_bytes()).hexdigest() if path.is_file() else "") for path in paths]

    @property
    def candidates(self) -> Sequence[Any]:
        """All candidates, each once, in order. Their texts tell them apart."""
        return self.study.candidates  # type: ignore[no-any-return]

    @property
    @abstractmethod
    def about(self) -> Mapping[str, Any]:
        """What is said of the data itself: records, digest, notices."""

    @abstractmethod
    def prepared(self) -> Callable[[Any], Point]:
        """Make the scales ready; return what makes and measures one candidate, by many threads at once."""

    @abstractmethod
    def proposals(self, aim: Aim, workers: int | None) -> Proposals:
        """Say what a tuner can try beside the candidates."""

    def limit(self) -> Limit | None:
        """Work out the line below which no truthful release can lie on p_loss and u_loss; None where none is proved."""
        return None


def files_of(*values: Any) -> Iterator[str]:
    """Name the files that configurations read: what options that take a file say, at any depth."""
    for value in values:
        if isinstance(value, tuple):
            yield from files_of(*value)
        elif is_dataclass(value):
            known = described(type(value))
            for each in fields(value):
                given = getattr(value, each.name)
                if each.name not in known or known[each.name].option.takes != "file":
                    yield from files_of(given)
                elif given is not None:
                    yield given


class Explorable(Protocol):
    """A study: the object is its configuration, and stands in `study.toml`."""

    section: ClassVar[str]
    """The section of `study.toml` and of `points.json` that is about the data."""

    @property
    def unit(self) -> Unit:
        """What is counted in groups."""

    facts: ClassVar[tuple[str, ...]]
    """What `points.json` keeps of the data, so that data that have changed since are noticed."""

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms that a release can have; where there is one, nobody is asked to choose."""

    @property
    def name(self) -> str:
        """How it is called."""

    @property
    def axes(self) -> tuple[str, ...]:
        """The measures that the frontier is of, two or more; the map is drawn on the first two."""

    @property
    def learned(self) -> Classification | None:
        """The column that classifiers learn from every release, if there is one."""

    def opened(self, data: Any = None) -> Opened:
        """Open the data, unless they are given, and list the candidates."""

    def grown(self, candidates: Sequence[Any]) -> Self:
        """Return the same study with further candidates."""

    def with_seed(self, seed: int) -> Self:
        """Return the same study with another seed of the random queries."""

    def to_toml(self, folder: Path | None = None) -> str:
        """Write the study with every default filled in; files named as seen from a folder, if one is given."""

    def candidate_of(self, entry: Mapping[str, Any]) -> Settings:
        """Read a candidate from the texts that a file keeps of it."""
