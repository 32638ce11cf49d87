"""An anonymizer that changes or synthesizes records: a frozen configuration that perturbs a table, or draws another.

It is the sibling of an `Anonymizer`. An `Anonymizer` puts records into groups and publishes them truthfully but
coarsely. Here every column is as fine as in the table, and the published values are not the recorded ones. So no
requirement on groups is searched for. If an anonymizer guarantees something by its construction, it declares that in
`promised`. It is checked here on the records made, and by the audit on the written file.

The columns that a perturbation changes: those given, or all quasi-identifiers that it can change.
"""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar

import numpy as np

from sfumato.anonymizers.anonymizer import ReleaseMaker, check_persons, checked
from sfumato.config.options import Option
from sfumato.data.reading import Table
from sfumato.errors import BadInputError
from sfumato.release.records import RecordRelease, Records, record_release, unchanged_values
from sfumato.release.release import Form
from sfumato.requirements.requirement import KAnonymity, Requirement
from sfumato.texts.catalogue import percent, refusal

NOTHING = KAnonymity(1)

Seed = Annotated[
    int | None,
    Option(
        "Makes it repeatable. Published releases should have none: knowledge of the seed allows undoing much.", least=0
    ),
]
InColumns = Annotated[
    tuple[str, ...],
    Option("The columns that are changed; without any, all quasi-identifiers that it can change.", takes="columns"),
]


class RecordMaker(ReleaseMaker, ABC):
    """Replaces records by others."""

    aligned: ClassVar[bool] = True
    """Whether record i of its output represents record i of the table; synthetic records represent nobody."""

    takes_requirements: ClassVar[bool] = False
    drawn_as: ClassVar[str] = "changed records"

    @property
    def shows_exact(self) -> bool:  # type: ignore[override]
        """Whether values that look exact stand alone in the file: wherever no groups are promised."""
        return self.promised == NOTHING

    @property
    def promised(self) -> Requirement:
        """The guarantee for the groups of its records by construction; k-anonymity k=1 is none."""
        return NOTHING

    @property
    def promises(self) -> tuple[Requirement, ...]:
        """The parts of what it promises, if anything."""
        return tuple(part for part in self.promised.parts if part != NOTHING)

    def anonymize(
        self, table: Table, requirement: Requirement, form: Form = "generalization", suppress: float = 0.0
    ) -> RecordRelease:
        """Make the release where an anonymizer would make one."""
        self.check(table, requirement, form, suppress)
        return self.draw(table)

    def draw(self, table: Table) -> RecordRelease:
        """Make the release, and check what is promised of its groups."""
        cells = table.cells
        seed = getattr(self, "seed", None)
        generator = np.random.default_rng(secrets.randbits(256) if seed is None else seed)
        records = self.records(Records.of(cells), generator)
        linked = np.repeat(np.arange(cells.size), cells.counts) if self.aligned else None
        release = record_release(table, records, people=self.people, linked=linked)
        checked(release, self.promised)
        return release

    def check(self, table: Table, requirement: Requirement, form: Form, suppress: float) -> None:
        """Raise where `anonymize` would refuse what is asked for, without making anything."""
        self.check_request(requirement, form, suppress)
        check_persons(table, self.name, False, "it replaces single records, and its promises count records")
        if table.shared:
            raise refusal("splits_households_of_records", name=self.name, table=", ".join(table.shared_names))
        self.check_columns(records_of_none(table))

    def check_request(self, requirement: Requirement, form: Form, suppress: float) -> None:
        """Raise where something is asked for that it cannot give."""
        lacking = [part for part in requirement.parts if not any(_implies(each, part) for each in self.promised.parts)]
        if lacking:
            raise refusal("changes_records", name=self.name, lacking=lacking[0])
        if form != "generalization":
            raise BadInputError(f"{self.name} publishes records, which is the form generalization, not {form}")
        if suppress != 0:
            raise BadInputError(f"{self.name} suppresses no records; leave suppress at 0 instead of {suppress}")

    def check_columns(self, columns: Records) -> None:
        """Raise where it cannot be used on these columns (`columns` has no record); usually nothing to say."""

    def account(self, release: RecordRelease) -> list[str]:
        """List facts about a release that it made, as sentences: which values stayed, where that is known."""
        changed = {name: share for name, share in unchanged_values(release).items() if share < 1}
        if not changed:
            return []
        each = ", ".join(f"{name} {percent(share)}" for name, share in changed.items())
        return [f"Values that are as they were recorded: {each}; of other columns all."]

    @abstractmethod
    def records(self, original: Records, generator: np.random.Generator) -> Records:
        """Make the records; where they are `aligned`, record i replaces record i."""


def _implies(promised: Requirement, part: Requirement) -> bool:
    """Return whether one promise implies the other: the same, or groups that need not be as large."""
    if isinstance(promised, KAnonymity) and isinstance(part, KAnonymity):
        return part.k <= promised.k
    return part in (promised, NOTHING)


def records_of_none(table: Table) -> Records:
    """Return the columns of a table without a record."""
    columns = len(table.cells.quasi) + len(table.cells.sensitive)
    return Records(table.cells, np.zeros((0, columns), np.int32))


def number_places(maker: str, records: Records, names: Sequence[str]) -> list[int]:
    """Find the columns of numbers or dates to change."""
    return _places(maker, records, names, records.is_number, "numbers or dates")


def category_places(maker: str, records: Records, names: Sequence[str]) -> list[int]:
    """Find the columns of categories to change."""
    return _places(maker, records, names, lambda place: not records.is_number(place), "categories")


def all_places(maker: str, records: Records, names: Sequence[str]) -> list[int]:
    """Find the columns to change, whatever is in them."""
    return _places(maker, records, names, lambda place: True, "values")


def _places(maker: str, records: Records, names: Sequence[str], fits: Callable[[int], bool], what: str) -> list[int]:
    if not names:
        places = [place for place in range(len(records.cells.quasi)) if fits(place)]
        if not places:
            raise BadInputError(f"{maker} changes {what}, and no quasi-identifier of the table has any")
        return places
    places = list(dict.fromkeys(records.place(name) for name in names))
    for place in places:
        if not fits(place):
            raise BadInputError(f"{maker} changes {what}, and column {records.names[place]!r} has none; leave it out")
    return places
