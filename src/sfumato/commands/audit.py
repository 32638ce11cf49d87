"""`sfumato audit`: measures any published file, also one made by another tool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from sfumato.commands._options import (
    LISTED,
    AsJson,
    Known,
    Notations,
    OfBaskets,
    OptionGroup,
    TextFile,
    columns,
    option,
    refuse,
)
from sfumato.commands._output import say, tell
from sfumato.config.options import WEIGHTS, spelled
from sfumato.texts.catalogue import refusal, t

if TYPE_CHECKING:
    from sfumato.auditing.audit import Audit

LAID_OUT = ("delimiter", "encoding", "sheet", "header", "header_row", "columns", "engine", "memory", "spill")
NO_ITEMS = "is not supported for a table with a column of items (--items); leave one of them out"
NO_TABLE = "is about tables, but --baskets means that the file contains sets of items; leave one of them out"


@dataclass(frozen=True)
class OriginalOptions(OptionGroup):
    """The original data of the file."""

    original: str | None = None
    original_encoding: str | None = None


@dataclass(frozen=True)
class AboutTable(OptionGroup):
    """How to read a published table, and further facts about it."""

    group: str | None = None
    hierarchies: Path | None = None
    weight: Annotated[list[str], option(WEIGHTS, f"; of the original{LISTED}")] = field(default_factory=list)
    earlier: Annotated[str | None, typer.Option("--with")] = None
    suppressed: str | None = None
    household: str | None = None
    person: str | None = None
    include_neutral: bool = False
    missing: str = "value"
    na: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class AboutBaskets(OptionGroup):
    """Facts about published baskets."""

    panel: ClassVar[str | None] = OfBaskets.panel

    known: int | None = None
    legend_file: Annotated[Path | None, typer.Option("--legend")] = None
    local: bool = False
    original_separator: str | None = None


@dataclass(frozen=True)
class AboutItems(OptionGroup):
    """A column of items in addition to the quasi-identifiers of a table."""

    panel: ClassVar[str | None] = OfBaskets.panel

    items: str | None = None
    sensitive_items: list[str] = field(default_factory=list)
    items_file: str | None = None

    def second(self, original: str | None, sets: OfBaskets) -> tuple[str, str, str] | None:
        """Return the second file of the original with its items, if there is one."""
        if self.items_file is None:
            return None
        if original is None or sets.id is None or sets.item is None:
            raise refusal("audit_error.items_file", items_file=self.items_file)
        return self.items_file, sets.id, sets.item


def audit(
    file: str,
    roles: Known,
    original: OriginalOptions,
    about: AboutTable,
    text: Notations,
    baskets: OfBaskets,
    about_baskets: AboutBaskets,
    about_items: AboutItems,
    require: list[str] = [],  # noqa: B006
    certificate: Path | None = None,
    escaped_formulas: bool = False,
    as_json: AsJson = False,
) -> None:
    """Measure any published file from its content: a second opinion that shares no code with its maker."""
    from sfumato.publish.audit_report import audit_lines

    wanted = " & ".join(require) if require else None
    if about_items.items is None:
        refuse(about_items.given(), t("notice.about_column_items"))
    if not baskets.baskets and about_items.items is None:
        baskets.refuse_for_table(about_baskets.given())
    if certificate is not None and _certified(Path(file), certificate, wanted, as_json):
        return
    if about_items.items is None and baskets.baskets:
        refuse({**roles.given(), **about.given(), "--person": None}, NO_TABLE)
        found = _of_baskets(file, wanted, original, baskets, about_baskets, text, escaped_formulas, about.person)
    else:
        more = _about_items(Path(file), original, about, baskets, about_baskets, about_items)
        found = _of_table(file, wanted, roles, original, about, text, escaped_formulas, more)
    if not as_json:
        tell(found.notices)
    say(found.content(), audit_lines(found), as_json)
    if not found.holds:
        raise typer.Exit(1)


def _of_table(
    file: str,
    wanted: str | None,
    roles: Known,
    original: OriginalOptions,
    about: AboutTable,
    text: Notations,
    escaped: bool,
    of_items: dict[str, Any],
) -> Audit:
    """Audit a published table, which may have a column of items."""
    from sfumato.auditing.audit import audit as audit_file
    from sfumato.auditing.audit import audit_mixed
    from sfumato.auditing.published_file import open_published
    from sfumato.data.cells import read_weights
    from sfumato.engines.protocol import Reading

    laid_out = {name: text.declared()[name] for name in LAID_OUT}
    source = open_published(file, Reading(**laid_out, escaped=escaped))
    names = [*source.engine.columns]
    asked = {
        **about.values(),
        **original.values(),
        **text.declared(),
        "quasi": columns(roles.quasi, names),
        "sensitive": columns(roles.sensitive, names),
        "require": wanted,
        "escaped_formulas": escaped,
    }
    asked["weights"] = read_weights(asked.pop("weight")) or None
    if not of_items:
        return audit_file(source, **asked)
    if beside := of_items.pop("beside"):
        asked["original"] = _with_items(original, about, beside, names, of_items["items"])
    return audit_mixed(source, **asked, **of_items)


def _about_items(
    file: Path, original: OriginalOptions, about: AboutTable, baskets: OfBaskets, sets: AboutBaskets, items: AboutItems
) -> dict[str, Any]:
    """Return the options of a column of items; empty without one. `beside` is the original's second file."""
    if items.items is None:
        return {}
    from sfumato.auditing.items import legend_beside, read_legend
    from sfumato.data.hierarchies.declared import read_tree

    second = items.second(original.original, baskets)
    kept = [spelled(name) for name in ("hierarchies", "weight", "suppressed", "na", "separator", "tree")]
    kept += [] if second is None else ["--id", "--item"]
    options = {**about.given(), **baskets.given()}
    refuse({name: value for name, value in options.items() if name not in kept}, NO_ITEMS)
    legend, notices = legend_beside(file) if sets.legend_file is None else (read_legend(sets.legend_file), ())
    tell(notices)
    return {
        "items": items.items,
        "sensitive_items": columns(items.sensitive_items, ()),
        "legend": legend,
        "tree": None if baskets.tree is None else read_tree(baskets.tree)[0],
        "known": sets.known,
        "local": sets.local,
        "separator": baskets.separator,
        "original_separator": sets.original_separator,
        "beside": second,
    }


def _of_baskets(
    file: str,
    wanted: str | None,
    original: OriginalOptions,
    baskets: OfBaskets,
    about: AboutBaskets,
    text: TextFile,
    escaped: bool,
    person: str | None,
) -> Audit:
    """Audit published baskets."""
    from sfumato.auditing.audit import audit_baskets
    from sfumato.auditing.items import read_legend
    from sfumato.auditing.question import study_file

    against = None
    text.refuse_for_baskets()
    who, item, column = baskets.id, baskets.item, baskets.column
    if original.original is not None:
        of_original = baskets
        if study_file(original.original) is None:
            if _are_of_published(Path(file), Path(original.original), baskets):
                of_original = replace(baskets, id=None, item=None)
            else:
                who = item = column = None
        said = about.original_separator, original.original_encoding, person
        against = of_original.declared_in(original.original, text, *said).open()
        tell(against.notices)
    elif person is not None:
        raise refusal("audit_error.persons_alone", person=person)
    elif baskets.tree is not None:
        raise refusal("tree_says_items_published")
    legend = None if about.legend_file is None else read_legend(about.legend_file)
    at: dict[str, Any] = {"who": who, "item": item, "column": column, "separator": baskets.separator or text.delimiter}
    how: dict[str, Any] = {
        "encoding": text.encoding,
        "escaped_formulas": escaped,
        "memory": text.memory,
        "spill": text.spill,
    }
    return audit_baskets(Path(file), wanted, against, about.known, legend, about.local, **at, **how)


def _are_of_published(file: Path, original: Path, sets: OfBaskets) -> bool:
    """Return whether --id and --item are columns of the published file, and not of the original, which has priority."""
    from sfumato.engines.item_files import has_columns

    names = sets.id, sets.item
    return None not in names and has_columns(file, names) and not has_columns(original, names)


def _with_items(
    original: OriginalOptions, about: AboutTable, second: tuple[str, str, str], names: Sequence[str], column: str
) -> Any:
    """Read the original with items from a second file as one column."""
    from sfumato.data.item_reading import rows_with_items
    from sfumato.engines import open_rows
    from sfumato.engines.protocol import Reading

    source, owner, item = second
    reading = Reading(encoding=original.original_encoding, na=tuple(about.na), as_written=(owner,))
    rows = open_rows(original.original, reading)
    shared = [name for name in names if name in rows.columns and name not in (owner, column)]
    return rows_with_items(rows, shared, source, owner, item, column)


def _certified(file: Path, certificate: Path, wanted: str | None, as_json: bool) -> bool:
    """Check that a certificate belongs to a file; return whether nothing else can be checked."""
    from sfumato.auditing.items import legend_file
    from sfumato.publish.audit_report import certified_lines
    from sfumato.publish.certificate import check_certificate, read_certificate

    content: dict[str, Any] = read_certificate(certificate)
    check_certificate(content, certificate, file)
    beside = {entry["name"] for entry in content["files"]} & {legend_file(file).name}
    if beside and legend_file(file).is_file():
        check_certificate(content, certificate, legend_file(file))
    if "why_not_checked" not in content["promise"]:
        return False
    if wanted is not None:
        raise refusal("audit_error.nothing_to_check", file=file, wanted=wanted)
    values = {"holds": True, "file": str(file), "certificate": str(certificate), "promise": content["promise"]}
    say(values, certified_lines(content, file, certificate), as_json)
    return True
