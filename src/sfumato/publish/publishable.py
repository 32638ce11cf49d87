"""Leaving the house: what a release of any kind offers to be published, and the one loop that publishes it.

Whatever the release is (groups of a table, a noisy draw, baskets), it names its files, writes them to drafts, verifies
what was written, and says what its certificates say. The loop does the rest: drafts beside their targets, the public
certificate made of what is allowed, certificates and mapping named first, data last; all of it or nothing.
"""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any, ClassVar

from sfumato.config.documents import json_text
from sfumato.engines.formulas import formula_notice
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import MEASURES
from sfumato.publish._written_file import note_formulas
from sfumato.publish.board import Decision, board_file, board_page
from sfumato.publish.certificate import certificate_files, internal
from sfumato.publish.plain_language import PlainWords
from sfumato.runtime.arrays import Quiet
from sfumato.runtime.cancellation import look, step
from sfumato.runtime.staging import check_targets, staged
from sfumato.texts.render import render
from sfumato.tradeoff.map import Map

STEPS = ("read", "make", "write", "verify", "certify")
"""What publishing does, in order: each is told as it begins (`process.steps`), and can be the last."""

AGREE = 1e-9
"""How far a measure of the audit may lie from the maker's own."""


class Leaving(ABC):
    """A release on its way out."""

    template: ClassVar[str]
    """What a certificate is shown by as a page."""

    only_yours: ClassVar[str]
    """What the publisher's certificate tells that nobody else may know."""

    use_of_mapping: ClassVar[str] = ""
    """What the mapping is for, with `{}` in place of its file."""

    release: Any
    path: Path
    escape_formulas: bool
    """Whether cells that a spreadsheet would run are written so that it does not."""

    @property
    def data(self) -> Sequence[Path]:
        """The files of the data by their final names, mostly one; the certificates are called after the first."""
        return (self.path,)

    @property
    @abstractmethod
    def inputs(self) -> Collection[Path]:
        """Files that it was made of, which no output may replace."""

    @abstractmethod
    def mapping(self) -> str:
        """Write how values were recoded, for the publisher; raises where nothing is."""

    @abstractmethod
    def write(self, drafts: Sequence[Path]) -> Mapping[str, int]:
        """Write the data; return by column how many cells a spreadsheet would run."""

    @abstractmethod
    def verify(self, drafts: Sequence[Path]) -> Any:
        """Check what was written by means that share nothing with its maker; raise AssertionError where it fails."""

    @abstractmethod
    def certificates(self, drafts: Sequence[Path], verdict: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Say what the publisher's certificate says and what the public one, which sees nothing but the files."""

    @abstractmethod
    def in_plain_words(self, outside: Mapping[str, Any]) -> PlainWords:
        """Say first what the file is, what it protects and what it does not, of the public certificate alone."""

    @abstractmethod
    def values(self, verdict: Any) -> Mapping[str, Any]:
        """Return what a program reads of it."""

    @abstractmethod
    def lines(self, verdict: Any) -> Sequence[str]:
        """Say to a person what was published."""


@dataclass(frozen=True, repr=False)
class Publication(Quiet):
    """What was published, and where."""

    spoken: ClassVar[tuple[str, ...]] = ("audit", "files")

    leaving: Leaving
    audit: Any
    """What verifying the written file found; nothing is found in a noisy one that would prove its promise."""

    files: tuple[Path, ...]
    """Data first, then the certificates, the board's page, the mapping."""

    notices: tuple[str, ...] = ()
    """What who opens the file should know, in sentences."""

    mapping: Path | None = None

    @property
    def release(self) -> Any:
        """The release that was published."""
        return self.leaving.release

    def values(self) -> dict[str, Any]:
        """Return what a program reads of it."""
        return {**self.leaving.values(self.audit), "files": [str(file) for file in self.files]}

    def lines(self) -> list[str]:
        """Say to a person what was published, and for whom each file is."""
        data = self.files[0]
        lines = [
            *self.leaving.lines(self.audit),
            "",
            f"For you:        {data}.certificate.html (and .json) - keep it; {self.leaving.only_yours}",
            f"For the public: {data}.certificate-public.html (and .json) - hand it out with the data",
        ]
        if (board := board_file(data)) in self.files:
            lines.insert(-1, f"For the board:  {board} - one page, also printed: what, what for, who decided; internal")
        return lines if self.mapping is None else [*lines, self.leaving.use_of_mapping.format(self.mapping)]


def check_unchanged(map_: Map, folder: Path, origin: str, digest: str) -> None:
    """Raise unless the data of a map are still those that were measured."""
    if digest != map_.about.get("digest"):
        raise BadInputError(
            f"{origin} has changed since the map in {folder} was made, so its points say nothing of it any more; run "
            f"`sfumato explore {folder / 'study.toml'} --out {folder}` again"
        )


def check_confirmed(verdict: Any, measured: Mapping[str, float]) -> None:
    """Refuse to publish where the audit of the written draft fails or differs from what the maker measured."""
    if verdict.unconfirmed:
        raise AssertionError(verdict.unconfirmed)
    for name, value in verdict.measures.items():
        if name in measured and not isclose(value, measured[name], rel_tol=AGREE, abs_tol=AGREE):
            raise AssertionError(
                f"{name} is {value!r} in the written file and {measured[name]!r} by the maker's measure"
            )


def publish(
    leaving: Leaving, force: bool = False, mapping: str | Path | None = None, decision: Decision | None = None
) -> Publication:
    """Write a release with its certificates and its mapping: these get their names first, the data last.

    With the `decision` that it comes from there is a page for the board, too.
    """
    data = list(leaving.data)
    certificates = certificate_files(data[0])
    boards = [] if decision is None else [board_file(data[0])]
    mappings = {} if mapping is None else {Path(mapping): leaving.mapping()}
    targets = [*data, *certificates, *boards, *mappings]
    check_targets(targets, force, leaving.inputs)
    with staged(targets, private=[*internal(certificates), *boards, *mappings]) as drafts:
        written = drafts[: len(data)]
        step("write")
        cells = leaving.write(written)
        step("verify")
        verdict = leaving.verify(written)
        if decision is not None:
            decision.check(None if verdict is None else verdict.measures)
        step("certify")
        texts: list[str] = []
        certified = leaving.certificates(written, verdict)
        plain = leaving.in_plain_words(certified[1])
        for content in certified:
            content["in_plain_words"] = plain
            note_formulas(content, cells, leaving.escape_formulas)
            texts += [json_text(content), certificate_page(leaving.template, content)]
        if decision is not None:
            texts.append(board_page(certified[0], decision, data[0]))
        for draft, text in zip(drafts[len(data) :], [*texts, *mappings.values()], strict=True):
            draft.write_text(text, encoding="utf-8")
        look()
    notices = formula_notice(dict(cells), leaving.escape_formulas)
    return Publication(leaving, verdict, tuple(targets), tuple(notices), next(iter(mappings), None))


def certificate_page(template: str, content: Mapping[str, Any]) -> str:
    """Write a certificate as HTML, by the template for its kind of release."""
    return render(template, certificate=content, measures=MEASURES, command=shlex.join(content["verify"]))
