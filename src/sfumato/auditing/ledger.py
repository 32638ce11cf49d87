"""The ledger of a mapping: its publications with time and confirmation; lines are only appended.

A file is published in three steps: a line that announces the rename, the rename, a line that confirms it. After a kill
at any point the ledger is true: an announced file is published exactly if a file with the digest of the line has the
name. Each line has a check sum over itself and the line before, so changes and removals are detected; a line that a
crash cut short is the last and is ignored. A ledger contains digests and counts, and no value of a record.

**Many releases** by one recoding: what their difference and their intersection reveal. If a release may contain all
rows of another, group by group, the further rows are a release that nobody has checked: one further row in a group
reveals that person's value. A person in all files with an unchanged value has a value that occurs in each of their
groups, at most the smallest count over all files. Groups are those with equal texts, as a fixed recoding makes them.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, ClassVar, Literal, TypeVar

import numpy as np

from sfumato.auditing.intersection import TOLERANCE, Seen
from sfumato.config.documents import fields, flag, mapped, number, one_of, parse_json, text, whole
from sfumato.runtime.arrays import Counts, Numbers, RedactedRepr
from sfumato.runtime.cancellation import check_cancelled
from sfumato.runtime.memory import took_lock
from sfumato.runtime.staging import PRIVATE, parts_of, writable
from sfumato.texts.catalogue import refusal, t

SUFFIX = ".ledger.jsonl"
WHAT = "a ledger of sfumato"
CHECK = "check"
WAIT_SECONDS = 0.05
BEGUN, DONE = "begun", "published"


@dataclass(frozen=True)
class LedgerEntry:
    """A file that was published under a mapping."""

    when: str
    """In UTC."""

    file: str
    """Relative to the ledger's folder."""

    file_digest: str
    source: str
    source_digest: str
    """Of its source rows, independent of the engine."""

    mapping_digest: str
    records: int
    published: int
    left_out: Mapping[str, int]
    """By the reason."""

    promised: str
    confirmed: Mapping[str, float]
    """The measures of the written file's audit."""

    escaped: bool
    """Whether formulas were escaped."""


ENTRY = {
    **dict.fromkeys(("when", "file", "file_digest", "source", "source_digest", "mapping_digest", "promised"), text),
    **dict.fromkeys(("records", "published"), whole()),
    "left_out": mapped(whole()),
    "confirmed": mapped(number),
    "escaped": flag,
}
LINE = fields({"state": one_of(BEGUN, DONE), "number": whole(), CHECK: text}, {"entry": fields(ENTRY)})


def ledger_of(mapping: str | Path) -> Path:
    """Return the ledger of a mapping, next to it."""
    return Path(f"{mapping}{SUFFIX}")


def is_ledger(source: object) -> bool:
    """Return whether a source is a ledger, by its name."""
    return isinstance(source, str | Path) and str(source).endswith(SUFFIX)


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file; of a folder of parts that of the output of `sha256sum part-*` in it."""
    if path.is_dir():
        lines = (f"{file_digest(part)}  {part.name}\n" for part in parts_of(path))
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def now() -> str:
    """Return the current time in the format of a ledger."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class PublishedFile:
    """An entry of a ledger, and the state of its file."""

    entry: LedgerEntry
    path: Path
    is_there: bool
    """Whether the file still exists unchanged."""


def read_ledger(path: str | Path) -> list[PublishedFile]:
    """Read the publications in order; an announced file that was not renamed is none."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise refusal("cannot_read", path=path, strerror=error.strerror or error) from None
    lines = _lines(path, content)[0]
    done = {line["number"] for line in lines if line["state"] == DONE}
    published = []
    for line in lines:
        if line["state"] == BEGUN:
            entry = LedgerEntry(**line["entry"])
            file = path.parent / entry.file
            is_there = file.exists() and file_digest(file) == entry.file_digest
            if line["number"] in done or is_there:
                published.append(PublishedFile(entry, file, is_there))
    return published


@dataclass(frozen=True)
class EarlierFiles:
    """The earlier publications of a file, and notices."""

    files: tuple[tuple[Any, bool], ...] = ()
    """Each, and whether its formulas were escaped."""

    notices: tuple[str, ...] = ()
    named: bool = False
    """Whether the user named the one file."""


def earlier_files(earlier: Any, later: str) -> EarlierFiles:
    """Return the earlier publications of a file, given by its name: a named file, or those of a ledger."""
    if earlier is None:
        return EarlierFiles()
    if not is_ledger(earlier):
        return EarlierFiles(((earlier, False),), named=True)
    published = read_ledger(earlier)
    digest = file_digest(Path(later)) if Path(later).exists() else None
    alike = [i for i, known in enumerate(published) if known.is_there and known.entry.file_digest == digest]
    place = max(alike, key=lambda i: (published[i].path.resolve() == Path(later).resolve(), i), default=None)
    before = published if place is None else published[:place]
    notices = [t("notice.file_not", earlier=earlier, before=len(before))] if place is None else []
    notices += [
        t("audit_notice.earlier_changed", path=known.path, when=known.entry.when)
        for known in before
        if not known.is_there
    ]
    notices += _published_twice([known.entry for known in published[: len(before) + (place is not None)]])
    files = {known.entry.file_digest: known for known in before if known.is_there and known.entry.file_digest != digest}
    return EarlierFiles(tuple((one.path, one.entry.escaped) for one in files.values()), tuple(notices))


def _published_twice(entries: Sequence[LedgerEntry]) -> Iterator[str]:
    """Report files made from exactly the same records as an earlier one."""
    first: dict[str, LedgerEntry] = {}
    for entry in entries:
        same = first.setdefault(entry.source_digest, entry)
        if same is not entry:
            yield t("notice.made_very_same_records", file=entry.file, file_2=same.file)


@contextmanager
def publishing(path: Path) -> Iterator[Ledger]:
    """Open a ledger for appending; a second process waits until the first has ended."""
    with writable(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, PRIVATE)
        with os.fdopen(handle, "rb+", buffering=0) as stream:
            while not took_lock(stream, without_locks=True):
                check_cancelled()
                time.sleep(WAIT_SECONDS)
            lines, end = _lines(path, stream.read())
            stream.truncate(end)  # a line that a crash cut short
            yield Ledger(path, stream, lines)


Written = TypeVar("Written")


def kept_in(
    path: Path, source_digest: str, write: Callable[[Ledger], tuple[Written, int]], what: str = "records"
) -> tuple[Written, tuple[str, ...]]:
    """Publish recoded data and record them in a ledger; report earlier publications of the same records.

    `write` writes, audits and renames the files, and returns the result with the number of its line.
    """
    with publishing(path) as book:
        same = book.earlier(source_digest)
        written, number = write(book)
        book.done(number)
    if same is None:
        return written, ()
    return written, (t("notice.very_same_published_under", what=what, file=same.file, when=same.when),)


class Ledger:
    """A locked ledger, open for appending."""

    def __init__(self, path: Path, stream: IO[bytes], lines: list[dict[str, Any]]) -> None:
        self.path, self._stream = path, stream
        self._before = lines[-1][CHECK] if lines else ""
        self._number = len(lines)

    def earlier(self, source_digest: str) -> LedgerEntry | None:
        """Return the last entry of a file made from the same rows."""
        published = [known.entry for known in read_ledger(self.path)]
        return next((entry for entry in reversed(published) if entry.source_digest == source_digest), None)

    def begin(self, entry: LedgerEntry) -> int:
        """Announce a rename; return the number for its confirmation."""
        self._add({"state": BEGUN, "number": self._number, "entry": asdict(entry)})
        return self._number - 1

    def done(self, number: int) -> None:
        """Confirm a rename."""
        self._add({"state": DONE, "number": number})

    def _add(self, line: Mapping[str, Any]) -> None:
        plain = json.loads(json.dumps(line))
        self._before = _sum(self._before, plain)
        with writable(self.path):
            self._stream.write((json.dumps({**plain, CHECK: self._before}) + "\n").encode())
            os.fsync(self._stream.fileno())
        self._number += 1


def _lines(path: Path, content: bytes) -> tuple[list[dict[str, Any]], int]:
    """Read the lines with valid check sums, and the end of the last complete one."""
    lines, before, end = [], "", 0
    *whole_lines, _ = content.split(b"\n")
    for place, line in enumerate(whole_lines, start=1):
        entry = parse_json(line.decode("utf-8", "replace"), f"{path}, line {place}", WHAT, LINE)
        check = entry.pop(CHECK)
        if check != _sum(before, entry):
            raise refusal("audit_error.ledger_changed", path=path, place=place)
        lines.append({**entry, CHECK: check})
        before, end = check, end + len(line) + 1
    return lines, end


def _sum(before: str, line: Mapping[str, Any]) -> str:
    return hashlib.sha256((before + json.dumps(line, sort_keys=True)).encode()).hexdigest()


@dataclass(frozen=True, repr=False)
class Remainder(RedactedRepr):
    """The remaining groups: their number, the fewest rows, and the certainty of a value in them."""

    public_fields: ClassVar[tuple[str, ...]] = ("groups", "smallest")

    groups: int
    records: int
    smallest: int
    """The remaining rows of the smallest."""

    single_groups: int
    """Groups with one remaining value, although every file alone has several."""

    raised_groups: int
    """Groups in which a value is more certain than in any file alone."""

    l_frequency: float
    l_distinct: int
    worst: Mapping[str, str]
    """The texts of the group with the most certain value."""

    candidates: Mapping[str, int]
    """Its remaining values."""


@dataclass(frozen=True, repr=False)
class Difference(RedactedRepr):
    """The rows of the larger of two files that the other, possibly contained one lacks."""

    public_fields: ClassVar[tuple[str, ...]] = ("earlier", "sensitive", "larger")

    earlier: str
    sensitive: str
    larger: Literal["earlier", "later", "neither"]
    """Neither: they have the same groups with the same values."""

    more: Remainder | None


@dataclass(frozen=True, repr=False)
class Throughout(RedactedRepr):
    """The remainder of the groups that are in every file of a sequence."""

    public_fields: ClassVar[tuple[str, ...]] = ("files", "sensitive")

    files: int
    sensitive: str
    left: Remainder | None
    """None if no group is in all of them with a remaining value."""


def difference(earlier: Seen, later: Seen, origin: str) -> Difference | None:
    """Subtract the smaller release from the larger; None if neither may contain the other."""
    theirs, ours, shows = _aligned(earlier, later)
    name = later.profile.baseline.name
    if (theirs == ours).all():
        return Difference(origin, name, "neither", None)
    if (ours >= theirs).all():
        return Difference(origin, name, "later", _remainder(ours - theirs, [ours, theirs], shows, later))
    if (theirs >= ours).all():
        return Difference(origin, name, "earlier", _remainder(theirs - ours, [theirs, ours], shows, later))
    return None


def throughout(pairs: Sequence[tuple[Seen, Seen]]) -> Throughout:
    """Intersect all earlier releases and the later one, given as pairs of each with the later."""
    later = pairs[0][1]
    values = later.profile.baseline.values
    later_texts = _texts(later)
    every = [_counts(later)]
    for earlier, ours in pairs:
        place = {value: i for i, value in enumerate(ours.profile.baseline.values)}
        groups = {texts: i for i, texts in enumerate(_texts(earlier))}
        counts, columns = _counts(earlier), [place[value] for value in values]
        rows = np.array([groups.get(texts, -1) for texts in later_texts])
        every.append(np.where(rows[:, None] >= 0, counts[rows][:, columns], 0))
    left = np.minimum.reduce(every)
    return Throughout(len(every), later.profile.baseline.name, _remainder(left, every, later_texts, later))


def _remainder(left: Counts, files: Sequence[Counts], shows: Sequence[tuple[str, ...]], seen: Seen) -> Remainder | None:
    """Describe the remainder of each group, compared with each file alone."""
    totals = left.sum(axis=1)
    some = np.flatnonzero(totals)
    if not len(some):
        return None
    left, totals = left[some], totals[some]
    shares, distinct = left.max(axis=1) / totals, (left > 0).sum(axis=1)
    present = [counts[some] for counts in files]
    alone: Numbers = np.max([counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1) for counts in present], axis=0)
    several = np.min([np.where(counts.any(axis=1), (counts > 0).sum(axis=1), 2) for counts in present], axis=0) > 1
    single = (distinct == 1) & several
    raised = shares > alone + TOLERANCE
    worst = int(np.lexsort((totals, -shares, ~single))[0])
    values = seen.profile.baseline.values
    return Remainder(
        groups=len(some),
        records=int(totals.sum()),
        smallest=int(totals.min()),
        single_groups=int(single.sum()),
        raised_groups=int(raised.sum()),
        l_frequency=float(1 / shares.max()),
        l_distinct=int(distinct.min()),
        worst=dict(zip(seen.grouping, shows[some[worst]], strict=True)),
        candidates={values[i]: int(left[worst, i]) for i in np.argsort(-left[worst], kind="stable") if left[worst, i]},
    )


def _aligned(earlier: Seen, later: Seen) -> tuple[Counts, Counts, list[tuple[str, ...]]]:
    """Return the counts of both releases, a row for each group of either, and the texts of these groups."""
    places = {texts: i for i, texts in enumerate(dict.fromkeys([*_texts(earlier), *_texts(later)]))}
    both = []
    for seen in (earlier, later):
        counts = np.zeros((len(places), len(seen.profile.baseline.values)), np.int64)
        counts[[places[texts] for texts in _texts(seen)]] = _counts(seen)
        both.append(counts)
    return both[0], both[1], list(places)


def _counts(seen: Seen) -> Counts:
    return seen.histograms([(group,) for group in range(len(seen.profile.sizes))])


def _texts(seen: Seen) -> list[tuple[str, ...]]:
    """Return the texts of each group."""
    columns = [seen.counted.columns[name] for name in seen.grouping]
    listed = [[column.texts[code] for code in column.codes[seen.first]] for column in columns]
    return list(zip(*listed, strict=True))
