"""What a map, its report and a choice ask of a study, whatever it is about: a table, or baskets of items."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from sfumato.measures import Classification

if TYPE_CHECKING:
    from sfumato.tradeoff.limit.limit import Limit
    from sfumato.tradeoff.map import Point


class Opened(Protocol):
    """A study with its data at hand: its candidates, and how each becomes a point."""

    @property
    def key(self) -> str:
        """A digest of everything a point depends on besides its candidate."""

    @property
    def candidates(self) -> Sequence[Hashable]:
        """All candidates, each once, in order. Their texts tell them apart."""

    @property
    def about(self) -> Mapping[str, Any]:
        """What is said of the data itself: records, digest, notices."""

    def prepared(self) -> Callable[[Any], Point]:
        """Make the scales ready; return what makes and measures one candidate, by many threads at once."""

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
    def axes(self) -> tuple[str, str]:
        """The two measures that the map is drawn on."""

    @property
    def learned(self) -> Classification | None:
        """The column that classifiers learn from every release, if there is one."""

    def opened(self, data: Any = None) -> Opened:
        """Open the data, unless they are given, and list the candidates."""

    def with_seed(self, seed: int) -> Self:
        """Return the same study with another seed of the random queries."""

    def to_toml(self, folder: Path | None = None) -> str:
        """Write the study with every default filled in; files named as seen from a folder, if one is given."""

    def public_settings(self, point: Point) -> Point:
        """Return how the release of a point is made as everybody may know it: without seeds and names of files."""
