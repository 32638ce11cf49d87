"""All attacks on one table's releases, and the control: records that the makers never saw.

A share of the records is held out, or of the persons with all their records, and every candidate is made a second time
from the others. That release is attacked: records of the table and of the control have then the same source, and differ
in one thing only. The release that is published is still that of the whole table. If the publisher has a file of
other records of the same source, it is the control, and the release itself is attacked. Attacks that need no control
are always run on the release itself. Targets and successes are persons; without a person column every record is
another person.

Everything independent of the release is computed once for all releases: the split, the lines that columns are put on,
the targets, and the distance of the suspects from the reference.

A control that the publisher has as a file: other records of the same source, in the table's own codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np

from sfumato.config.options import Configured, Option
from sfumato.data.cells import distinct_rows
from sfumato.data.dataset import RemainingTable
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.reading import Roles, Table, with_roles
from sfumato.engines import open_rows
from sfumato.engines.protocol import Reading
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.measures.attacks._persons import PersonRecords, records_of
from sfumato.measures.attacks._view import View
from sfumato.measures.attacks.advantage import LEAST_TRIES, AttackFindings, AttackOutcome
from sfumato.measures.attacks.membership import ShadowAttack
from sfumato.measures.attacks.record_linkage import exact_rows, leaf_places, record_linkage, replicated_uniques
from sfumato.release.records import cell_codes
from sfumato.release.release import Published, counts_people
from sfumato.runtime.arrays import Codes, Numbers, RedactedRepr
from sfumato.runtime.cancellation import check_cancelled
from sfumato.texts.catalogue import counted, percent, refusal, t

LEAST_NEW, LEAST_SHARE = 20, 0.5
"""With so many new records expected, a control with less than this share of them is not one of other people."""

OUTSIDE = -1
"""The code of a value that the table's domain does not have."""


def control_records(table: Table, file: str, everybody: PersonRecords, generator: np.random.Generator) -> PersonRecords:
    """Read the records of a control file: quasi-identifiers in the order of the cells, then sensitive attributes."""
    roles = Roles(table.roles.quasi, table.roles.sensitive, person=table.roles.person)
    rows = open_rows(file, Reading())
    lacking = [name for name in roles.named if name not in rows.columns]
    if lacking:
        raise refusal("control_lacks_a_column", file=file, lacking=lacking, columns=", ".join(roles.named))
    other = with_roles(rows, roles, dict(table.hierarchies), table.missing, unknown="count")
    codes = cell_codes(other.cells)
    for place, name in enumerate([*sorted(roles.quasi), *sorted(roles.sensitive)]):
        codes[:, place] = as_in_table(codes[:, place], other.hierarchies[name], table.hierarchies[name])
    control = PersonRecords.of(other.cells, codes, other.cells.persons, generator)
    check_other_records(everybody.known_codes, control.known_codes, file)
    return control


def check_other_records(known: Codes, others: Codes, file: str) -> None:
    """Raise where a control has far fewer records that the table lacks than other people's records would have.

    Of m persons of the same source, m x (the share of the table's persons whose known record is nobody else's) are
    expected to be new (Good 1953). A control that was taken from the table itself would let every attack look like
    guessing.
    """
    first, number = distinct_rows(np.concatenate([known, others]))
    new = int((first[number[len(known) :]] >= len(known)).sum())
    once = int((np.bincount(number[: len(known)], minlength=len(first)) == 1).sum())
    expected = len(others) * once / len(known)
    if expected >= LEAST_NEW and new < LEAST_SHARE * expected:
        raise refusal("control_taken_from_the_table", file=file, new=new, counts=len(others), expected=expected)


def as_in_table(codes: Codes, theirs: Hierarchy, ours: Hierarchy) -> Codes:
    """Write codes of a domain that has grown by strange and missing values in those of the table's."""
    leaves = np.full(theirs.size + 1, OUTSIDE, np.int32)
    leaves[: ours.domain_size] = np.arange(ours.domain_size)
    if theirs.missing and ours.missing:
        leaves[theirs.size - 1] = ours.size - 1
    return leaves[codes]


def digest_of(file: str) -> str:
    """Digest a control file, so that a changed one is attacked again."""
    return sha256(Path(file).read_bytes()).hexdigest() if Path(file).is_file() else ""


Remake = Callable[[Table, int], Iterable[Published]]
"""Makes a candidate of another table in the same way, with the randomness of a turn: one release, or several draws."""

SPLIT, OWN, VERSUS, KNOWN = 0, 11, 12, 13
"""The random draws, each with its own seed."""


@dataclass(frozen=True)
class Attacks(Configured):
    """Attacks on every release, and the records that its maker never saw: the control."""

    control: Annotated[float, Option(least=0.01, most=0.5)] = 0.2
    """The share of the records (with a person column: of the persons) that is held out where no file is given. Attacks
    are then run on a release that is made in the same way from the others."""

    file: Annotated[str | None, Option(takes="file")] = None
    """A file of other records of the same source: the control, and nothing is held out."""

    number: Annotated[int, Option(least=100)] = 2000
    """How many times each attack is tried."""

    columns: Annotated[int, Option(least=2)] = 3
    """How many columns a predicate that singles out is about."""

    draws: Annotated[int, Option(least=1)] = 3
    """How many draws of a noisy release are attacked."""

    shadow: Annotated[int, Option(least=0, most=1000)] = 0
    """How many outlying records are attacked by shadow models as well, for which every candidate is made 80 times each;
    0 leaves it."""

    seed: Annotated[int, Option(least=0)] = 0
    """Of the records that are held out, and of all that an attacker draws."""

    name: ClassVar[str] = "attacks"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.file is not None and self.control != type(self).control:
            raise refusal("two_controls", attacks=self)

    def prepare(self, table: Table) -> AttackedTable:
        """Make the attacks ready for a table."""
        return AttackedTable(table, self)

    @property
    def digest(self) -> str:
        """A digest of the control file; nothing without one."""
        return "" if self.file is None else digest_of(self.file)


@dataclass(frozen=True, eq=False, repr=False)
class AttackedTable(RedactedRepr):
    """A table whose releases are attacked: which records makers see, and which they never saw."""

    table: Table
    options: Attacks

    def random(self, *what: int) -> np.random.Generator:
        """Return a generator for one purpose."""
        return np.random.default_rng([self.options.seed, *what])

    @property
    def made_of(self) -> str:
        """The part of the table that a release under attack is made of, in words."""
        unit = "records" if self.table.roles.person is None else "persons"
        return (
            "all records" if self.options.file is not None else f"{percent(1 - self.options.control, 3)} of the {unit}"
        )

    @cached_property
    def _left(self) -> RemainingTable:
        if self.table.roles.household is not None:
            raise refusal("attacks_beside_households", attacked_table=self)
        return RemainingTable.drawn(self.table, self.options.control, self.random(SPLIT))

    @cached_property
    def training(self) -> Table:
        """The anonymizers' view of releases that are attacked."""
        if self.options.file is not None:
            return self.table
        return self._left

    @cached_property
    def control(self) -> PersonRecords:
        """The persons whose records they do not see."""
        generator, cells = self.random(KNOWN, 1), self.table.cells
        if self.options.file is not None:
            return control_records(self.table, self.options.file, self._everybody, generator)
        assert self._left.kept is not None
        held_out = replace(cells, counts=cells.counts - self._left.kept)
        return PersonRecords.of(held_out, cell_codes(cells), self._left.held_out, generator)

    @cached_property
    def _everybody(self) -> PersonRecords:
        return records_of(self.training.cells, self.random(KNOWN, 0))

    @cached_property
    def _uniques(self) -> dict[int, PersonRecords]:
        """By the number of columns that a release shows: the records that one person of the whole table alone has."""
        everybody = records_of(self.table.cells, self.random(KNOWN, 2))
        widths = (len(self.table.cells.quasi), len(self._hierarchies))
        return {width: everybody.columns(width).unique() for width in widths}

    @cached_property
    def lines(self) -> list[Numbers]:
        """The line of every column, on which its leaves are put."""
        codes = cell_codes(self.table.cells)
        return [leaf_places(tree, codes[:, place]) for place, tree in enumerate(self._hierarchies)]

    @property
    def _hierarchies(self) -> tuple[Hierarchy, ...]:
        cells = self.table.cells
        return (*(quasi.hierarchy for quasi in cells.quasi), *(secret.hierarchy for secret in cells.sensitive))

    @cached_property
    def whole(self) -> View:
        """The table for releases that show all columns."""
        return self._view(len(self._hierarchies))

    @cached_property
    def without_sensitive(self) -> View:
        """The table for releases that show no sensitive attribute."""
        return self._view(len(self.table.cells.quasi))

    def _view(self, width: int) -> View:
        quasi = len(self.table.cells.quasi)
        training, control = self._everybody.columns(width), self.control.columns(width)
        sensitive = self.table.cells.sensitive[: width - quasi]
        return View(self.options, self._hierarchies[:width], self.lines[:width], sensitive, training, control)

    def ready(self) -> AttackedTable:
        """Work out now what all releases share, so that threads only read."""
        assert self._uniques is not None
        self.whole.ready()
        self.without_sensitive.ready()
        return self

    def attacked(self, releases: Sequence[Published], again: Remake | None = None) -> AttackOutcome:
        """Attack a candidate: `releases` of the whole table, and those that `again` makes of what is left of it.

        A release that cannot be made again is attacked where the control is a file, or else in what needs none.
        """
        releases = releases[: self.options.draws]
        alone_findings = [self._alone(release, self.random(OWN, draw)) for draw, release in enumerate(releases)]
        made, cautions = self._attackable(releases, again)
        versus = []
        for draw, release in enumerate(made):
            check_cancelled()
            view = self.whole if release.shows_sensitive else self.without_sensitive
            versus.append(view.against(release, self.random(VERSUS, draw)))
        pairs = (
            zip(alone_findings, versus, strict=False)
            if versus
            else ((findings, AttackFindings()) for findings in alone_findings)
        )
        draws = [one.joined(other) for one, other in pairs]
        if self.options.shadow and again is not None:
            shadow, why = self._shadowed(again)
            draws, cautions = [draw.joined(shadow) for draw in draws], [*cautions, *why]
        return AttackOutcome.of(draws, cautions, all_tried=bool(versus))

    def _shadowed(self, again: Remake) -> tuple[AttackFindings, list[str]]:
        """Run the attack by shadow models; where releases of few records cannot be made, say so."""
        attack = ShadowAttack(self.table, self._hierarchies, self.lines, self.options.shadow, self.options.seed)
        try:
            return AttackFindings((attack.against(lambda table, turn: next(iter(again(table, turn)))),)), []
        except (InfeasibleError, BadInputError) as error:
            return AttackFindings(), [f"shadow models are made of fewer records, of which it cannot be made: {error}"]

    def _attackable(self, releases: Sequence[Published], again: Remake | None) -> tuple[Sequence[Published], list[str]]:
        """Return the releases to attack against the control; where there are none, why."""
        if len(self.control) < LEAST_TRIES:
            unit = "record" if self.table.roles.person is None else "person"
            return [], [t("notice.control_too_small", records=counted(len(self.control), unit))]
        if self.options.file is not None:
            return releases, []
        if again is None:
            return [], [t("notice.not_made_again")]
        try:
            return list(islice(again(self.training, 0), self.options.draws)), []
        except (InfeasibleError, BadInputError) as error:
            return [], [f"it cannot be made of the records that are left without the control: {error}"]

    def _alone(self, release: Published, generator: np.random.Generator) -> AttackFindings:
        """Report results that need no control: found records and replicated persons."""
        quasi = len(self.table.cells.quasi)
        width = len(self._hierarchies) if release.shows_sensitive else quasi
        rate = replicated_uniques(self._uniques[width], exact_rows(release, width, generator))
        described = {"replicated_uniques": (rate.share, rate.interval())}
        beside = {"replicated": int(rate.successes), "uniques": rate.tries}
        linkage = None
        if counts_people(release):
            linkage = record_linkage(release, self.lines[:quasi], self.options.number, generator)
        return AttackFindings(() if linkage is None else (linkage,), described, beside)
