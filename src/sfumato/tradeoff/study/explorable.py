"""What a map, its report and a choice ask of a study, whatever it is about: a table, or baskets of items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from sfumato.measures import Classification
from sfumato.release.maker import ReleaseMaker

if TYPE_CHECKING:
    from sfumato.tradeoff.limit.limit import Limit
    from sfumato.tradeoff.map import Point
    from sfumato.tradeoff.search.aims import Aim
    from sfumato.tradeoff.search.families import Proposals


class Settings(Protocol):
    """How a release is made, whatever it is a release of: what a point keeps of its candidate."""

    @property
    def id(self) -> str:
        """A short name that depends on the configuration alone."""

    @property
    def anonymizer(self) -> ReleaseMaker:
        """Who makes it."""

    @property
    def requirement(self) -> object:
        """What it satisfies. It prints as what one would type."""

    @property
    def form(self) -> str:
        """In which form it is published."""

    @property
    def suppress(self) -> float:
        """The share of the records that may be left out."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The numbers and choices of the configuration, by name."""

    @property
    def in_words(self) -> str:
        """How the release is made, in a sentence, where its texts do not say it to everybody."""

    @property
    def family(self) -> str:
        """What it is drawn as, where that is not its requirement."""

    @property
    def public(self) -> Self:
        """The same as everybody may know it: without seeds and names of files."""


class Opened(Protocol):
    """A study with its data at hand: its candidates, and how each becomes a point."""

    @property
    def study(self) -> Explorable:
        """The study, with what opening its data has decided."""

    @property
    def key(self) -> str:
        """A digest of everything a point depends on besides its candidate."""

    @property
    def candidates(self) -> Sequence[Any]:
        """All candidates, each once, in order. Their texts tell them apart."""

    @property
    def about(self) -> Mapping[str, Any]:
        """What is said of the data itself: records, digest, notices."""

    def prepared(self) -> Callable[[Any], Point]:
        """Make the scales ready; return what makes and measures one candidate, by many threads at once."""

    def proposals(self, aim: Aim, workers: int | None) -> Proposals:
        """Say what a tuner can try beside the candidates."""

    def limit(self) -> Limit | None:
        """Work out the line below which no truthful release can lie on p_loss and u_loss, where it is proved."""


class Explorable(Protocol):
    """A study: the object is its configuration, and stands in `study.toml`."""

    section: ClassVar[str]
    """The section of `study.toml` and of `points.json` that is about the data."""

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
