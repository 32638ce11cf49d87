"""`sfumato anonymize`: one release in one line."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.commands.baskets import anonymize_of_baskets, refuse
from sfumato.commands.common import Columns, announce_first_run, columns, print_json
from sfumato.commands.noisy import print_drawn, write_drawn
from sfumato.errors import BadInputError
from sfumato.phrases import counted

if TYPE_CHECKING:
    from sfumato.measures import Measured
    from sfumato.release import Release


USUAL = "mondrian"


def anonymize(
    table: Annotated[
        str, typer.Argument(help="A file (CSV, TSV, Parquet, JSON, ...) or a bundled table such as adult.")
    ],
    to: Annotated[Path, typer.Option("--to", help="The file to write: .csv or .parquet.")],
    require: Annotated[
        list[str],
        typer.Option(
            "--require",
            help='What every group must satisfy: "k-anonymity k=10 & ..."; nothing with dp-... anonymizers.',
        ),
    ] = [],  # noqa: B006
    quasi: Annotated[Columns, typer.Option(help="Columns an outsider may know; repeat, or separate by commas.")] = [],  # noqa: B006
    sensitive: Annotated[Columns, typer.Option(help="Columns nobody should learn about a person.")] = [],  # noqa: B006
    neutral: Annotated[Columns, typer.Option(help="Columns to publish as they are.")] = [],  # noqa: B006
    identifier: Annotated[Columns, typer.Option(help="Columns that name a person: never published.")] = [],  # noqa: B006
    household: Annotated[
        str | None, typer.Option(help="The column that says who lives together: never published.")
    ] = None,
    maker: Annotated[
        str | None,
        typer.Option(
            "--with",
            help='The anonymizer: "mondrian" (the default), "full-domain", "dp-kd-tree epsilon=1 height=8", ...; of '
            'baskets "coat", "pcta", "aa", ...',
        ),
    ] = None,
    form: Annotated[
        str,
        typer.Option(help="generalization (boxes) or bucketization (exact quasi-identifiers, dealt-out values)."),
    ] = "generalization",
    layout: Annotated[str, typer.Option(help="rows, or anatomy: a bucketization as two tables.")] = "rows",
    suppress: Annotated[float, typer.Option(help="The largest share of records that may be left out.")] = 0.0,
    hierarchies: Annotated[
        list[Path],
        typer.Option(
            help="A TOML file, or a folder of level tables <table>_hierarchy_<column>.csv; of several, the last that "
            "knows a column decides."
        ),
    ] = [],  # noqa: B006
    missing: Annotated[
        str,
        typer.Option(help="A missing value is a value of its own, or its record is dropped: value | drop."),
    ] = "value",
    na: Annotated[list[str], typer.Option(help="A text that means missing, beside the empty one; repeat.")] = [],  # noqa: B006
    delimiter: Annotated[
        str | None, typer.Option(help="The delimiter of a text file, if it is guessed wrongly.")
    ] = None,
    encoding: Annotated[str, typer.Option(help="The encoding of a text file.")] = "utf-8",
    baskets: Annotated[
        bool, typer.Option("--baskets", help="The file holds sets of items: lines, rows (--id, --item), or lists.")
    ] = False,
    id: Annotated[str | None, typer.Option(help="Of baskets in rows: the column that says whose an item is.")] = None,
    item: Annotated[str | None, typer.Option(help="Of baskets in rows: the column of items.")] = None,
    column: Annotated[str | None, typer.Option(help="Of baskets: the column of lists, if there are several.")] = None,
    separator: Annotated[str | None, typer.Option(help="Of baskets in lines: what separates items.")] = None,
    tree: Annotated[str | None, typer.Option(help="Of baskets: the tree of items, as a level table.")] = None,
    utility: Annotated[
        str | None, typer.Option(help='Of baskets: which items may go together: "utility-constraints level=1".')
    ] = None,
    limit: Annotated[
        str | None, typer.Option(help='Of baskets: what may be left out: "suppression share=0.05 of=items".')
    ] = None,
    lattice: Annotated[
        Path | None,
        typer.Option(help="With full-domain: also write every transformation with its values to this CSV file."),
    ] = None,
    escape_formulas: Annotated[
        bool,
        typer.Option(
            "--escape-formulas", help="Write cells that a spreadsheet would run as formulas with ' in front of them."
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Make one release of a table or of baskets, in one line, and say what it achieves."""
    from sfumato.anonymizers import FullDomain, Mechanism, anonymizer
    from sfumato.engines.formulas import check_escaping, formula_notice
    from sfumato.measures import measure
    from sfumato.publish.formulas import written_formulas
    from sfumato.release import check_targets, format_of, write_release
    from sfumato.requirements import KAnonymity, requirement
    from sfumato.table import TableDeclaration
    from sfumato.table.hierarchies.declared import read_hierarchies
    from sfumato.transactions.files.bundled import BASKETS
    from sfumato.transactions.files.declaration import BasketsDeclaration

    of_baskets = {"--id": id, "--item": item, "--column": column, "--separator": separator, "--tree": tree}
    if baskets or (table in BASKETS and not Path(table).is_file()):
        roles_given = {"--quasi": quasi, "--sensitive": sensitive, "--neutral": neutral, "--identifier": identifier}
        others = {"--household": household, "--hierarchies": hierarchies, "--na": na, "--lattice": lattice}
        for options in (roles_given, others, {"--suppress": suppress or None}):
            refuse(options, "is about tables, and these are baskets; leave it out")
        declared_baskets = BasketsDeclaration(table, id, item, column, separator or delimiter, tree, encoding)
        anonymize_of_baskets(
            declared_baskets, to, require, maker, utility, limit, layout, force, escape_formulas, as_json
        )
        return
    refuse({**of_baskets, "--utility": utility, "--limit": limit}, "is about sets of items; say so (--baskets)")
    started = time.perf_counter()
    written_as = format_of(to)
    check_escaping(escape_formulas, to, written_as)
    chosen = anonymizer(USUAL if maker is None else maker)
    if not require and not isinstance(chosen, Mechanism):
        raise BadInputError(f'{chosen.name} needs to know what to satisfy: --require "k-anonymity k=10", for example')
    wanted = requirement(" & ".join(require)) if require else KAnonymity(1)
    if isinstance(chosen, Mechanism):
        chosen.check_request(wanted, form, suppress)  # type: ignore[arg-type]
        if layout != "rows":
            raise BadInputError(
                f"{chosen.name} publishes synthetic records, which are rows; leave out --layout {layout}"
            )
    if lattice is not None and not isinstance(chosen, FullDomain):
        raise BadInputError(f"--lattice belongs to --with full-domain; {chosen.name} searches no lattice")
    declared = TableDeclaration(
        source=table,
        household=household,
        hierarchies=str(hierarchies[0]) if hierarchies else None,
        hierarchy={column: own for path in hierarchies[1:] for column, own in read_hierarchies(path).items()},
        missing=missing,  # type: ignore[arg-type]
        na=tuple(na),
        delimiter=delimiter,
        encoding=encoding,
    )
    check_targets([to, *([] if lattice is None else [lattice])], force, declared.files)
    announce_first_run()
    rows = declared.open_rows()
    named = [columns(names, rows.columns) for names in (quasi, sensitive, neutral, identifier)]
    roles = dict(zip(("quasi", "sensitive", "neutral", "identifier"), named, strict=True))
    given = replace(declared, **roles).open(rows)  # type: ignore[arg-type]
    read = time.perf_counter()
    if isinstance(chosen, Mechanism):
        drawn = write_drawn(chosen, given, to, force, written_as, escape_formulas)
        for notice in formula_notice(written_formulas([to], escape_formulas), escape_formulas):
            typer.echo(f"note: {notice}", err=True)
        by_step = {"read": round(read - started, 4), "draw_and_write": round(time.perf_counter() - read, 4)}
        more = {"files": [str(to)], "seconds": round(sum(by_step.values()), 4), "seconds_by_step": by_step}
        print_drawn(drawn, chosen, more, as_json)
        return
    release = chosen.anonymize(given, wanted, form, suppress)  # type: ignore[arg-type]
    measured = measure(release)
    made = time.perf_counter()
    beside = {}
    if lattice is not None and isinstance(chosen, FullDomain):
        beside = {lattice: chosen.lattice(given, wanted, suppress).to_text()}
    files = write_release(release, to, layout, force, written_as, beside, escape_formulas)  # type: ignore[arg-type]
    seconds = {"read": read - started, "anonymize": made - read, "write": time.perf_counter() - made}
    written = [path for path in files if path not in beside]
    notices = [*given.notices, *given.household_notices()]
    notices += formula_notice(written_formulas(written, escape_formulas), escape_formulas)
    for notice in notices:
        typer.echo(f"note: {notice}", err=True)
    said = {
        "table": given.engine.origin,
        "records": given.cells.records,
        "dropped": given.dropped,
        "anonymizer": str(chosen),
        "requirement": str(wanted),
        "form": form,
        "groups": release.groups,
        "loss": measured.values["loss"],
        "suppressed": release.suppressed,
        **release.details,
        "measures": dict(measured.values),
        "by_sensitive": {name: dict(own) for name, own in measured.by_sensitive.items()},
        "files": [str(file) for file in files],
        "same_in_households": given.shared_names,
        "notices": notices,
        "seconds": round(sum(seconds.values()), 4),
        "seconds_by_step": {name: round(value, 4) for name, value in seconds.items()},
    }
    if as_json:
        print_json(said)
    else:
        _print_release(said, release, measured)


def _print_release(said: dict[str, Any], release: Release, measured: Measured) -> None:
    """Say in words what was written and what it achieves."""
    from sfumato.measures import MEASURES

    published = release.assignment.records
    records, groups = counted(published, "record"), counted(release.groups, "group")
    typer.echo(f"Wrote {' and '.join(said['files'])}: {records} in {groups}.")
    typer.echo(f"Every group satisfies: {said['requirement']}")
    if release.histograms is None:
        typer.echo("(No sensitive attribute is published, so what this says of sensitive values holds of itself.)")
    if release.form == "bucketization":
        typer.echo(
            "WARNING: the exact quasi-identifiers ARE in this file. It does not hide who is in the table; it only\n"
            "loosens the link to the sensitive values. The size of a group is a bucket size, not k-anonymity."
        )
    if "exchanged" in release.details:
        typer.echo(
            "WARNING: records were exchanged between groups because of their sensitive values. Of people who do not\n"
            "fit their group by their quasi-identifiers, who knows the algorithm can guess more than the group says."
        )
    if "transformation" in release.details:
        _print_transformation(release.details)
    if "reached" in release.details:
        typer.echo(f"Within the loss that was allowed, every group even satisfies: {release.details['reached']}")
    if "target_missing" in release.details:
        missing = counted(release.details["target_missing"], "record")
        typer.echo(f"The target is missing in {missing}, which did not count in the choice of cuts.")
    if release.suppressed:
        typer.echo(f"Left out (suppressed): {counted(release.suppressed, 'record')}.")
    if said["dropped"]:
        typer.echo(f"Dropped because a value is missing: {counted(said['dropped'], 'record')}.")
    several = ", of the worst sensitive attribute where there are several" if len(measured.by_sensitive) > 1 else ""
    typer.echo(f"\nMeasured{several} (^ higher is better, v lower is better):")
    for name, value in measured.values.items():
        value = 0.0 if abs(value) < 1e-12 else value
        shown = f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"
        arrow = "^" if MEASURES[name].better == "higher" else "v"
        typer.echo(f"  {name:20} {shown:>12} {arrow} {MEASURES[name].meaning}")


def _print_transformation(details: Mapping[str, Any]) -> None:
    """Say which levels were chosen, and whether anything better could be left."""
    levels = ", ".join(f"{name} {level}" for name, level in details["transformation"].items())
    typer.echo(f"Levels (0: as it is): {levels}.")
    checked = f"{details['nodes_checked']:,} of {details['nodes']:,} transformations were checked"
    if details["bound"] >= details["minimum"]:
        typer.echo(f"This is the optimum; {checked}.")
    else:
        typer.echo(
            f"Stopped by the time limit; {checked}. Found {details['minimum']:.6g}; nothing is below "
            f"{details['bound']:.6g}."
        )
