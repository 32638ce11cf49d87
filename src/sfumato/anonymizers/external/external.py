"""A release that was made elsewhere: the claims about it, and its conversion to a release.

Any file or frame with columns of the table is read as in the audit (`columns`, `rows`) and becomes a release
(`_placement`) with every measure that is defined for it. Claims for it are checked (`claims`) and never assumed: an
unknown anonymizer promises no requirement.

The claims for a file that was made elsewhere, and whether the file shows them.

A requirement is judged on the groups of equal texts from the definitions (`evidence.decision`), Q being that of the
table, as the audit judges it. Differential privacy is a promise about how a file was drawn: nothing in it can show it.

Releases that a function of Python makes: any synthesizer that takes a frame becomes a candidate.
"""

import inspect
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa

from sfumato.anonymizers.anonymizer import ReleaseMaker, check_persons
from sfumato.anonymizers.external._columns import MissingMeans
from sfumato.anonymizers.external._placement import PlacedRows, placed
from sfumato.anonymizers.external._rows import ReadRows, read_rows
from sfumato.auditing.decision import Failure, failures
from sfumato.auditing.missing_values import Matching, misses_a_value
from sfumato.auditing.profile import Profile, baseline
from sfumato.auditing.published_file import Source, TextColumn, open_published
from sfumato.config.options import Option, check_options
from sfumato.data.cells import distinct_rows
from sfumato.data.dataset import RemainingTable
from sfumato.data.reading import Table
from sfumato.engines.frames import Frame, arrow_table
from sfumato.engines.locations import input_files, scheme_of
from sfumato.engines.protocol import Reading
from sfumato.errors import BadInputError
from sfumato.release.records import RecordRelease, cell_codes
from sfumato.release.release import Form, Release
from sfumato.release.writing import pandas_frame, typed
from sfumato.requirements.requirement import KAnonymity, Requirement, requirement
from sfumato.runtime.arrays import Counts
from sfumato.texts.catalogue import counted, number, refusal, t

Judgement = Literal["holds", "fails", "unchecked"]


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds of a file."""

    claim: str
    verdict: Judgement
    why: str
    """In a sentence; it tells no value of the table."""

    def values(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)


def epsilon_text(epsilon: float, delta: float | None) -> str:
    """Write a claim of differential privacy."""
    return f"differential privacy epsilon={number(epsilon)}" + ("" if delta is None else f" delta={delta:g}")


def epsilon_verdict(epsilon: float, delta: float | None) -> Verdict:
    """Describe what a file can show of a claim of differential privacy."""
    why = t("notice.promise_about_how_file")
    return Verdict(epsilon_text(epsilon, delta), "unchecked", why)


def judged(claim: str, rows: ReadRows, people: bool) -> Verdict:
    """Judge a required property of groups on the rows of a file."""
    wanted = requirement(claim)
    if not people:
        why = t("notice.records_stand_nobody")
        return Verdict(claim, "unchecked", why)
    if not rows.quasi:
        return Verdict(claim, "unchecked", t("notice.no_quasi_identifier_file"))
    try:
        failed = _failures(wanted, rows)
    except BadInputError as error:
        return Verdict(claim, "unchecked", t("notice.cannot_checked_file", error=error))
    if not failed:
        return Verdict(claim, "holds", t("notice.every_group_rows_look"))
    worst = failed[0]
    where = f"{counted(worst.groups, 'group')} of {worst.of:,} ({counted(worst.records, 'row')})"
    return Verdict(
        claim,
        "fails",
        t("notice.fails_file_reaches", requirement=worst.requirement, where=where, achieved=worst.achieved),
    )


def _failures(wanted: Requirement, rows: ReadRows) -> list[Failure]:
    quasi = list(rows.quasi)
    if any(column.any_missing for column in rows.quasi.values()) and misses_a_value(rows.texts, quasi):
        return list(Matching.of(rows.texts, quasi).failures(wanted))
    group = rows.group[1]
    sizes = np.rint(np.bincount(group, rows.counted.counts)).astype(np.int64)
    return failures(wanted, profiles(rows), sizes, lambda column, place: {})


def profiles(rows: ReadRows) -> Mapping[str, Profile]:
    """Count the sensitive values of every group beside those of the table."""
    known = {}
    for attribute in rows.table.cells.sensitive:
        if attribute.name in rows.sensitive:
            column, labels = rows.sensitive[attribute.name], attribute.hierarchy.leaves
            labelled = column.column.called([labels[leaf] for leaf in column.leaves])
            every = TextColumn(tuple(attribute.labels), np.arange(attribute.size, dtype=np.int32))
            compared = baseline(attribute.name, every, attribute.counts, labelled.texts, attribute.hierarchy)
            known[attribute.name] = Profile.of(compared, labelled, rows.group[1], rows.counted.counts)
    return known


def people_alone(rows: ReadRows) -> int:
    """Count the rows that no other row looks like; where a missing value is any value, that no other row matches."""
    quasi = list(rows.quasi)
    if not quasi:
        return 0
    if any(column.any_missing for column in rows.quasi.values()) and misses_a_value(rows.texts, quasi):
        matching = Matching.of(rows.texts, quasi)
        return int(matching.records[matching.frequencies == 1].sum())
    sizes = np.rint(np.bincount(rows.group[1], rows.counted.counts))
    return int((sizes == 1).sum())


NOTHING = KAnonymity(1)
DIGITS = 16
"""How many digits of a digest tell contents apart."""


@dataclass(frozen=True, eq=False)
class Content:
    """The external release: rows to read, and the order of the table if a function was given the table in that
    order."""

    source: Any
    """A path or a frame."""

    handed: Counts | None = None
    """The cells of the table's rows in that order."""


@dataclass(frozen=True, kw_only=True)
class ExternalRelease(ReleaseMaker, ABC):
    """Anything that was made elsewhere, and what is claimed of it."""

    label: Annotated[str | None, Option()] = None
    """How it is called; in a study `name`."""

    claim: Annotated[str | None, Option(takes="requirement")] = None
    """The requirement that is claimed for it: it is judged, not believed."""

    epsilon: Annotated[float | None, Option(more_than=0)] = None
    """The epsilon of differential privacy that is claimed for it."""

    delta: Annotated[float | None, Option(least=0, most=1)] = None
    """The delta beside that epsilon."""

    records: Annotated[Literal["people", "synthetic"] | None, Option()] = None
    """Whether its records represent people of the table or nobody. Default: people, unless an epsilon is claimed."""

    aligned: Annotated[Literal["yes", "no"], Option()] = "no"
    """Whether its rows are in the order of the table's; in a study true or false."""

    id: Annotated[str | None, Option(takes="column")] = None
    """A column that the table has too and that says for whom a row stands."""

    missing: Annotated[MissingMeans, Option()] = "value"
    """Whether a missing quasi-identifier is one more value, or any value (suppressed)."""

    na: Annotated[str, Option()] = ""
    """Texts that mean missing, with commas between; NA and the like are known."""

    suppressed: Annotated[Literal["keep", "leave-out"], Option()] = "keep"
    """Whether rows of `*` in all quasi-identifiers are a group, or suppressed records to leave out."""

    digest: Annotated[str, Option()] = ""
    """Of its content, filled in when it is explored: another content is another release."""

    external: ClassVar[bool] = True
    runs: ClassVar[bool] = False
    """Whether it is a function that can be called again."""

    takes_requirements: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.aligned in ("true", "false"):  # as a study has it
            object.__setattr__(self, "aligned", "yes" if self.aligned == "true" else "no")
        check_options(self)
        if self.claim is not None:
            requirement(self.claim)
            if self.epsilon is not None:
                raise refusal("claim_epsilon", claim=self.claim, epsilon=self.epsilon)
        if self.delta is not None and self.epsilon is None:
            raise refusal("delta_stands_beside_epsilon", delta=self.delta)
        if self.aligned == "yes" and self.id is not None:
            raise refusal("aligned_id_both_say", id=self.id)
        if not self.people and (self.aligned == "yes" or self.id is not None):
            link = "aligned" if self.aligned == "yes" else f"id={self.id!r}"
            raise refusal("says_whom_rows_stand", link=link)

    # -- what it is ----------------------------------------------------------------------------------------------

    @property
    def remakes(self) -> bool:  # type: ignore[override]
        """Whether it can be made of another table: functions can, but for ids, which are looked up in the table."""
        return self.runs and self.id is None

    @property
    def people(self) -> bool:  # type: ignore[override]
        """Whether its records represent people."""
        return self.records == "people" or (self.records is None and self.epsilon is None)

    @property
    def claimed(self) -> str:
        """The claims for it; empty if there are none."""
        if self.epsilon is not None:
            return epsilon_text(self.epsilon, self.delta)
        return self.claim or ""

    @property
    @abstractmethod
    def made_of(self) -> str:
        """Its origin in a few words, for the publisher: the name of a file."""

    @property
    def described_in_words(self) -> str:
        """Describe it and the claims for it."""
        named = f"{self.label} ({self.made_of})" if self.label and self.made_of else self.label or self.made_of
        claimed = t("notice.claimed", claimed=self.claimed) if self.claimed else t("notice.nothing_claimed")
        return f"made elsewhere: {named or 'a file'}{claimed}"

    @property
    def family(self) -> str:
        """What it is drawn as."""
        return "made elsewhere"

    @property
    @abstractmethod
    def pinned(self) -> Self:
        """The same with the digest of what it is now."""

    @property
    def identity(self) -> Self:
        """The components of its name on a map: the same wherever its files lie."""
        return self

    @property
    def public(self) -> Self:
        """The same without what only the publisher knows: names of files, digests, how rows are linked."""
        return replace(self, aligned="no", id=None, na="", digest="")

    # -- making it -----------------------------------------------------------------------------------------------

    def anonymize(
        self, table: Table, requirement: Requirement, form: Form = "generalization", suppress: float = 0.0
    ) -> Release | RecordRelease:
        """Read it as a release of a table; its `details` have what was found."""
        self.check(table, requirement, form, suppress)
        return self.read_content(self.made(table), table)

    def published(self, table: Table) -> tuple[Release | RecordRelease, pa.Table]:
        """Bring it to be published: as a release, and its rows as they stand, columns that are published alone."""
        self.check(table, NOTHING, "generalization", 0.0)
        content = self.made(table)
        return self.read_content(content, table), shown_rows(self.opened(content), table)

    def check(self, table: Table, requirement: Requirement, form: Form, suppress: float) -> None:
        """Raise where something is asked for that cannot be asked of it."""
        why = t("notice.made_elsewhere")
        check_persons(table, self.made_of or self.name, False, why)
        if requirement != NOTHING:
            raise refusal("made_elsewhere", made_of=self.made_of or self.name, requirement=requirement)
        if form != "generalization":
            raise refusal("made_elsewhere_rows", made_of=self.made_of or self.name, form=form)
        if suppress:
            raise refusal("made_elsewhere_leave", made_of=self.made_of or self.name)

    @abstractmethod
    def made(self, table: Table) -> Content:
        """Bring it; raise where it is not what was explored."""

    @property
    def reading(self) -> Reading:
        """How its rows are read."""
        return Reading()

    def opened(self, content: Content) -> Source:
        """Open its rows as their readers see them."""
        return open_published(content.source, self.reading)

    def rows(self, content: Content, table: Table) -> ReadRows:
        """Read its rows against a table."""
        return read_rows(
            self.opened(content),
            table,
            aligned=self.aligned == "yes",
            id=self.id,
            handed=content.handed,
            missing=self.missing,
            na=[text.strip() for text in self.na.split(",") if text.strip()],
            stars=self.suppressed,
        )

    def check_readable(self, table: Table) -> None:
        """Raise where what is at hand already cannot be read against a table; what a function will return is not."""
        if not self.runs:
            self.rows(self.made(table), table)

    def read_content(self, content: Content, table: Table) -> Release | RecordRelease:
        """Make a release of external rows, and report what was found."""
        rows = self.rows(content, table)
        placed_rows = placed(rows, self.people)
        return replace(placed_rows.release, details={"brought": self._findings(rows, placed_rows)})

    def _findings(self, rows: ReadRows, placed_rows: PlacedRows) -> dict[str, Any]:
        """Report the claims, whether they hold, and further cautions; internal to the publisher."""
        verdict = self._verdict(rows)
        release = placed_rows.release
        return {
            **({} if verdict is None else verdict.values()),
            "rows": rows.records,
            "truthful": bool(release.truthful and release.people),
            "certain": placed_rows.certain,
            "linked": rows.linked is not None,
            "alone": people_alone(rows) if self.people else 0,
            "cautions": _cautions(rows, placed_rows, self.people),
            "notices": list(rows.notices),
        }

    def _verdict(self, rows: ReadRows) -> Verdict | None:
        if self.epsilon is not None:
            return epsilon_verdict(self.epsilon, self.delta)
        return None if self.claim is None else judged(self.claim, rows, self.people)


def _cautions(rows: ReadRows, placed_rows: PlacedRows, people: bool) -> list[str]:
    """Say where a measure means something else than of a release that was made here."""
    if not people:
        nobody = t("notice.records_stand_nobody_nothing")
        return [nobody, *_replicated(rows)]
    cautions = []
    release, total = placed_rows.release, counted(rows.records, "row")
    if not release.truthful:
        if placed_rows.outside:
            why = t("notice.not_show_covers_person", outside=placed_rows.outside, total=total)
        elif placed_rows.coverage is not None and not placed_rows.coverage.holds:
            why = t("notice.cannot_records_table", uncovered=placed_rows.coverage.uncovered, total=total)
        elif rows.moved:
            why = t("notice.not_table_domain", moved=rows.moved)
        else:
            why = t("notice.not_certain_records_table", total=total)
        cautions.append(t("notice.not_truthful", why=why))
        cautions += _replicated(rows)
    elif not placed_rows.certain:
        cautions.append(t("notice.truthful_but_not_certain"))
    if any(column.any_missing for column in rows.quasi.values()):
        cautions.append(t("notice.missing_value_read_any"))
    return cautions


def _replicated(rows: ReadRows) -> list[str]:
    """Return how many rows equal records of the table, and how many of these are unique there."""
    lo, hi = rows.ends
    exact = (lo == hi).all(axis=1)
    if not exact.any():
        return []
    cells, known = rows.table.cells, rows.shows_sensitive
    width = len(cells.quasi) + (len(cells.sensitive) if known else 0)
    table_codes = np.ascontiguousarray(cell_codes(cells)[:, :width])
    points = np.ascontiguousarray(np.column_stack([lo, rows.values if known else rows.values[:, :0]])[exact])
    first, number = distinct_rows(np.concatenate([table_codes, points.astype(np.int32)]))
    people = np.bincount(number[: cells.size], cells.counts, len(first))
    same = people[number[cells.size :]]
    weights = rows.counted.counts[exact]
    replicated, uniques = int(weights[same > 0].sum()), int(weights[same == 1].sum())
    if not replicated:
        return []
    rounded = t("notice.numbers_taken_nearest_values") if rows.moved else ""
    return [
        t(
            "notice.table_them_those_people",
            replicated=replicated,
            records=rows.records,
            rounded=rounded,
            uniques=uniques,
        )
    ]


@dataclass(frozen=True, kw_only=True)
class ExternalFile(ExternalRelease):
    """A file that was made elsewhere, by ARX, sdcMicro, a synthesizer or anybody: read in any notation of the audit."""

    file: Annotated[str, Option(takes="file")]
    """The file: CSV, Excel, Parquet, ..."""

    delimiter: Annotated[str | None, Option()] = None
    """The delimiter of a text file, if it is guessed wrongly."""

    encoding: Annotated[str | None, Option()] = None
    """The encoding of a text file, if it is guessed wrongly."""

    sheet: Annotated[str | None, Option()] = None
    """The sheet of a workbook, if it is not the first."""

    name: ClassVar[str] = "brought"
    example: ClassVar[str | None] = 'brought file=arx-k5.csv claim="k-anonymity k=5"'

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it is read from."""
        return (self.file,) if self.file else ()

    def renamed(self, name: Callable[[str], str]) -> Self:
        """Return the same with other names of its files."""
        return replace(self, file=name(self.file))

    @property
    def made_of(self) -> str:
        """The name of the file."""
        return Path(self.file).name if self.file else ""

    @property
    def public(self) -> Self:
        """The same without the names of files."""
        return replace(super().public, file="", delimiter=None, encoding=None, sheet=None)

    @property
    def pinned(self) -> Self:
        """The same with the digest of what the file holds now."""
        return replace(self, digest=self._digest)

    @property
    def _digest(self) -> str:
        return file_digest(*self.files)

    @property
    def reading(self) -> Reading:
        """How the file is read."""
        return Reading(delimiter=self.delimiter, encoding=self.encoding, sheet=self.sheet)

    def check(self, table: Table, requirement: Requirement, form: Form, suppress: float) -> None:
        """Raise also where the file is not there."""
        super().check(table, requirement, form, suppress)
        file_digest(*self.files)

    @property
    def identity(self) -> Self:
        """The same with the names of files alone."""
        return self.renamed(lambda file: Path(file).name)

    def made(self, table: Table) -> Content:
        """Take the file, if it is the one that was explored."""
        if self.digest and self._digest != self.digest:
            raise refusal("changed_since_explored", file=self.file)
        return Content(self.file)


@dataclass(frozen=True, kw_only=True)
class ExternalFrame(ExternalRelease):
    """A frame that was made elsewhere, in memory: it can be explored and published, but no study can name it."""

    frame: Frame | None = None

    name: ClassVar[str] = "frame"
    unwritten: ClassVar[tuple[str, ...]] = ("frame",)
    caution: ClassVar[str] = ExternalFile.caution

    @property
    def made_of(self) -> str:
        """The kind of the frame."""
        return f"a {self.frame.origin}" if self.frame is not None else ""

    @property
    def public(self) -> Self:
        """The same without the frame."""
        return replace(super().public, frame=None)

    @property
    def pinned(self) -> Self:
        """The same with the digest of what the frame holds."""
        if self.frame is None:
            return self
        return replace(self, digest=frame_digest(self.frame))

    def made(self, table: Table) -> Content:
        """Take the frame, if it is at hand and the one that was explored."""
        if self.frame is None:
            raise refusal("frame_memory", label=self.label or "this point")
        if self.digest and frame_digest(self.frame) != self.digest:
            raise refusal("changed_since_explored_add", made_of=self.made_of)
        return Content(self.frame.content)


def shown_rows(source: Source, table: Table) -> pa.Table:
    """Return the rows of a file as texts, in the columns that are published of a table and no others."""
    names = [name for name in table.published if name in source.engine.columns]
    counted_rows = pa.Table.from_batches(source.engine.count_texts(names))
    times = counted_rows.column(len(names)).to_numpy()
    rows = pa.table([column.cast(pa.string()) for column in counted_rows.columns[: len(names)]], names)
    return rows.take(pa.array(np.repeat(np.arange(len(times)), times)))


def file_digest(*files: str) -> str:
    """Return a digest of the bytes of files, or of all files of a folder or pattern; raise where there is none."""
    if remote := [file for file in files if scheme_of(file) is not None]:
        raise refusal("file_compare_must_machine", remote=remote[0])
    paths: Sequence[Path] = [path for file in files for path in input_files(file)]
    digest = sha256()
    for path in paths:
        if not path.is_file():
            raise refusal("no_such_file_name", path=path)
        with path.open("rb") as stream:
            while part := stream.read(1 << 20):
                digest.update(part)
    return digest.hexdigest()[:DIGITS]


def frame_digest(frame: Frame) -> str:
    """Return a digest of what a frame holds, in its order."""
    table = arrow_table(frame.content, frame.origin)[0].combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.remove_metadata()) as writer:
        writer.write_table(table.replace_schema_metadata(None))
    return sha256(sink.getvalue()).hexdigest()[:DIGITS]


ORDER_SEED = 0
"""Rows are handed over in an order that depends on nothing but the number of rows: not on where they stood."""

SEED_BITS = 31
"""Seeds that every language reads as a whole number."""


@dataclass(frozen=True, kw_only=True)
class ExternalFunction(ExternalRelease):
    """A function of Python that takes a frame (and a seed, if it has a parameter of that name) and returns another."""

    function: Callable[..., Any] | None = None
    seed: Annotated[int | None, Option(least=0)] = None
    """Handed to the function, where it takes a seed; without one a map draws it from the settings, and what is
    published afresh."""

    runs: ClassVar[bool] = True
    name: ClassVar[str] = "function"
    unwritten: ClassVar[tuple[str, ...]] = ("function",)
    caution: ClassVar[str] = ExternalFile.caution
    effort: ClassVar[float] = 10.0

    @property
    def draws_at_random(self) -> bool:
        """Whether the function takes a seed."""
        return self.function is not None and "seed" in inspect.signature(self.function).parameters

    @property
    def made_of(self) -> str:
        """The function's name."""
        return f"{getattr(self.function, '__name__', type(self.function).__name__)}()" if self.function else ""

    @property
    def pinned(self) -> Self:
        """The same with a digest of the function's source, where Python has it; else of its name."""
        if self.function is None:
            return self
        try:
            source = inspect.getsource(self.function)
        except (OSError, TypeError):
            source = self.made_of
        return replace(self, digest=sha256(source.encode()).hexdigest()[:DIGITS])

    @property
    def public(self) -> Self:
        """The same without the function."""
        return replace(super().public, function=None, seed=None)

    def made(self, table: Table) -> Content:
        """Call the function."""
        if self.function is None:
            raise refusal("made_function", label=self.label or "this point")
        rows, cells = handed_rows(table)
        frame = pandas_frame(typed(rows, table.engine.texts))
        seed = secrets.randbits(SEED_BITS) if self.seed is None else self.seed % (1 << SEED_BITS)
        try:
            returned = self.function(frame, **({"seed": seed} if self.draws_at_random else {}))
        except Exception as error:
            raise refusal("failed_message_may_show", made_of=self.made_of, name=type(error).__name__) from None
        if returned is None:
            raise refusal("returned_nothing", made_of=self.made_of)
        return Content(returned, cells)


def handed_rows(table: Table) -> tuple[pa.Table, Counts]:
    """Return the rows of a table as texts, in the published columns and an order that tells nothing.

    Behind them stands the cell of every row.
    """
    names = table.published
    tuples = table.engine.tuples(names, table.link)
    order = np.random.default_rng(ORDER_SEED).permutation(int(tuples.counts.sum()))
    row = np.repeat(np.arange(len(tuples.counts)), tuples.counts)[order]
    cell = tuples.cell[row]
    if isinstance(table, RemainingTable):
        left, cell = table.remaining(cell)
        row = row[left]
    columns = [
        pa.array(list(texts), pa.string()).take(pa.array(tuples.values[row, i])) for i, texts in enumerate(tuples.texts)
    ]
    return pa.table(columns, names), cell
