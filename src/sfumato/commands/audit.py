"""`sfumato audit`: measures any published file, also one made by another tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.commands.baskets import audit_of_baskets, refuse
from sfumato.commands.common import Columns, columns, print_json
from sfumato.errors import BadInputError
from sfumato.phrases import counted

if TYPE_CHECKING:
    from sfumato.publish import Audit, WorstGroup
    from sfumato.publish.audit.decision import Failure
    from sfumato.publish.audit.households import Together
    from sfumato.publish.audit.intersection import Intersection


def audit(
    file: Annotated[Path, typer.Argument(help="The published file (CSV, TSV, Parquet, ...), whoever made it.")],
    quasi: Annotated[Columns, typer.Option(help="Columns an outsider may know; repeat, or separate by commas.")] = [],  # noqa: B006
    sensitive: Annotated[Columns, typer.Option(help="Columns nobody should learn about a person.")] = [],  # noqa: B006
    original: Annotated[
        str | None,
        typer.Option(
            help="The table it was made of: the true Q, what is lost, whether every value covers. Or the study (or "
            "folder of a map) that declares it, which brings roles, hierarchies and everything needed to read it."
        ),
    ] = None,
    sensitive_table: Annotated[
        Path | None,
        typer.Option(help="The second of Anatomy's two tables: the sensitive values of every group with their counts."),
    ] = None,
    group: Annotated[str | None, typer.Option(help="The column that tells the groups of a bucketized file.")] = None,
    require: Annotated[
        list[str],
        typer.Option("--require", help='Fail (exit 1) unless every group satisfies "k-anonymity k=10 & ...".'),
    ] = [],  # noqa: B006
    hierarchies: Annotated[
        Path | None, typer.Option(help="A TOML file, or a folder of level tables <table>_hierarchy_<column>.csv.")
    ] = None,
    earlier: Annotated[
        str | None, typer.Option("--with", help="An earlier release of the same people: what do both tell together?")
    ] = None,
    suppressed: Annotated[
        str | None,
        typer.Option(
            help="Rows with * in all quasi-identifiers: keep (a group; the default with --require) or leave-out."
        ),
    ] = None,
    household: Annotated[
        str | None,
        typer.Option(help="The original's column that says who lives together: is what members share shown alike?"),
    ] = None,
    missing: Annotated[
        str, typer.Option(help="A missing quasi-identifier is a value of its own, or matches everything: value | any.")
    ] = "value",
    baskets: Annotated[
        bool,
        typer.Option("--baskets", help="The file holds sets of items: lines, rows (--id, --item), or Parquet lists."),
    ] = False,
    known: Annotated[
        int | None, typer.Option(help="Of baskets: how many items of a person an attacker knows; by default the m.")
    ] = None,
    id: Annotated[str | None, typer.Option(help="Of baskets in rows: the column that tells records apart.")] = None,
    item: Annotated[str | None, typer.Option(help="Of baskets in rows: the column of items.")] = None,
    column: Annotated[str | None, typer.Option(help="Of baskets: the column of lists, if there are several.")] = None,
    tree: Annotated[str | None, typer.Option(help="Of baskets: the tree of items, as a level table.")] = None,
    legend: Annotated[
        Path | None,
        typer.Option(help="Of baskets: a mapping or certificate that says which items published ones stand for."),
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help="Of baskets: an item may be published in several ways, record by record.")
    ] = False,
    certificate: Annotated[
        Path | None, typer.Option(help="A certificate: refuse (exit 2) unless this is the very file it speaks of.")
    ] = None,
    na: Annotated[
        list[str], typer.Option(help="A text that means missing in the original (with --missing any in both); repeat.")
    ] = [],  # noqa: B006
    delimiter: Annotated[
        str | None, typer.Option(help="The delimiter of the published file, if it is guessed wrongly.")
    ] = None,
    encoding: Annotated[str, typer.Option(help="The encoding of the published file.")] = "utf-8",
    original_encoding: Annotated[str, typer.Option(help="The encoding of the original.")] = "utf-8",
    escaped_formulas: Annotated[
        bool, typer.Option("--escaped-formulas", help="The file was written with --escape-formulas: read it back so.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Measure any published file from what stands in it: a second opinion that shares nothing with its maker."""
    from sfumato.publish import audit as audit_file
    from sfumato.publish import read_certificate
    from sfumato.publish.audit.counted import open_published
    from sfumato.publish.certificate import check_certificate
    from sfumato.publish.noisy.certificate import is_noisy_certificate

    if not baskets:
        named = {"--id": id, "--item": item, "--column": column, "--tree": tree, "--legend": legend}
        refuse({**named, "--known": known, "--local": local}, "is about sets of items; say so (--baskets)")
    wanted = " & ".join(require) if require else None
    if certificate is not None:
        content = read_certificate(certificate)
        check_certificate(content, certificate, file)
        if is_noisy_certificate(content):
            _print_noisy(content, file, certificate, wanted, as_json)
            return
    if baskets:
        of_tables = {
            "--quasi": quasi,
            "--sensitive": sensitive,
            "--sensitive-table": sensitive_table,
            "--group": group,
            "--hierarchies": hierarchies,
            "--with": earlier,
            "--suppressed": suppressed,
            "--household": household,
            "--na": na,
        }
        refuse(
            of_tables, "is about tables, and --baskets says that the file holds sets of items; leave one of them out"
        )
        at = id, item, column
        audit_of_baskets(
            file, wanted, original, known, at, tree, legend, local, delimiter, encoding, escaped_formulas, as_json
        )
        return
    source = open_published(file, delimiter, encoding, escaped_formulas)
    names = [*source.engine.columns]
    names += [] if sensitive_table is None else open_published(sensitive_table, delimiter, encoding).engine.columns
    found = audit_file(
        source if sensitive_table is None else file,
        quasi=columns(quasi, names),
        sensitive=columns(sensitive, names),
        original=original,
        group=group,
        require=wanted,
        hierarchies=hierarchies,
        earlier=earlier,
        suppressed=suppressed,  # type: ignore[arg-type]
        household=household,
        missing=missing,  # type: ignore[arg-type]
        na=na,
        delimiter=delimiter,
        encoding=encoding,
        original_encoding=original_encoding,
        sensitive_table=sensitive_table,
    )
    if as_json:
        print_json(found.content())
    else:
        _print(found)
    if not found.holds:
        raise typer.Exit(1)


def _print_noisy(content: dict[str, Any], file: Path, certificate: Path, require: str | None, as_json: bool) -> None:
    """Say what can be said of a differentially private file: that it is the certified one, and what that promises."""
    if require is not None:
        raise BadInputError(
            f"{file}: nobody is behind the rows of a differentially private release, so {require} can neither hold "
            "nor fail of it; leave out --require, or leave out --certificate to measure the rows all the same"
        )
    promise = content["promise"]
    own = promise["differential_privacy"]
    if as_json:
        print_json({"holds": True, "file": str(file), "certificate": str(certificate), "promise": promise})
        return
    typer.echo(f"{file} is the very file that {certificate} certifies, byte by byte.")
    typer.echo(f"Promised: differential privacy with epsilon {own['epsilon']:g}. {own['in_words']}")
    typer.echo(f"{promise['why_not_checked']} Its rows are synthetic records, so groups and k were not measured.")


def _print(found: Audit) -> None:
    """Say in words what was found, the verdict last."""
    from sfumato.measures import MEASURES

    for notice in found.notices:
        typer.echo(f"note: {notice}", err=True)
    grouped = "smallest_group" in found.measures
    kinds = counted(found.groups, "group" if grouped else "different combination")
    typer.echo(f"{found.file}: {counted(found.records, 'record')} in {kinds}.")
    alone = f"{counted(found.uniques, 'record')} ({found.uniques / found.records:.1%})"
    if found.uniques:
        typer.echo(f"No other record looks like it by its quasi-identifiers: {alone}.")
    if found.group is not None:
        typer.echo(
            "WARNING: the exact quasi-identifiers ARE in this file. It does not hide who is in the table; it only\n"
            "loosens the link to the sensitive values."
        )
    several = ", of the worst sensitive attribute where there are several" if len(found.sensitive) > 1 else ""
    typer.echo(f"\nMeasured relative to {found.relative_to}{several} (^ higher is better, v lower is better):")
    for name in (name for name in MEASURES if name in found.measures):
        arrow = "^" if MEASURES[name].better == "higher" else "v"
        typer.echo(f"  {name:20} {_number(found.measures[name]):>12} {arrow} {MEASURES[name].meaning}")
    _print_worst(found, grouped)
    for both in found.repeated:
        _print_repeated(both)
    if found.coverage is not None:
        typer.echo(f"\nChecked: {found.coverage.checked}.")
        if found.coverage.holds:
            typer.echo("All rows fit." if found.coverage.exact else "Nothing was found that does not fit.")
        else:
            typer.echo(f"NOT COVERED: {counted(found.coverage.uncovered, 'row')} cannot come from this original:")
            for example in found.coverage.examples:
                typer.echo(f"  {example}")
    if found.households is not None:
        _print_together(found.households)
    for failure in found.failures:
        _print_failure(failure, "group" if grouped else "combination")
    if found.require is not None and not found.failures:
        typer.echo(f"\nEvery {'group' if grouped else 'record'} satisfies: {found.require}")


def _number(value: float) -> str:
    value = 0.0 if abs(value) < 1e-12 else value
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"


def _shows(texts: dict[str, str]) -> str:
    return ", ".join(f"{name} {text or '(missing)'}" for name, text in texts.items())


def _print_worst(found: Audit, grouped: bool) -> None:
    """Show the groups that stand out, those of one kind together."""
    kinds: dict[tuple[str, str | None], list[WorstGroup]] = {}
    for group in found.worst:
        about = None if group.why == "smallest" or len(found.sensitive) == 1 else group.sensitive
        kinds.setdefault((group.why, about), []).append(group)
    for (why, about), groups in kinds.items():
        which = (
            f"groups that are {why}{f' in {about}' if about else ''}" if grouped else "combinations that fewest match"
        )
        typer.echo(f"\nThe {which}:")
        for group in groups:
            value = "" if group.share is None else f"; {group.share:.0%} have {group.sensitive} {group.dominant!r}"
            distance = f", distance {group.measures['t_js']:.3g}" if why == "farthest from Q" else ""
            typer.echo(f"  {counted(group.size, 'record')}{value}{distance}: {_shows(dict(group.shows))}")


def _print_failure(failure: Failure, what: str) -> None:
    typer.echo(
        f"\nFAILS: {failure.requirement} does not hold in {failure.groups:,} of {counted(failure.of, what)} "
        f"({counted(failure.records, 'record')}).\n"
        f"  The worst has {counted(failure.size, 'record')}: {_shows(dict(failure.worst))}\n"
        f"  What the file achieves: {failure.achieved}."
    )


def _print_together(own: Together) -> None:
    """Say whether members of a household show the same value of what they share."""
    several = counted(own.households, "household")
    if not own.shared:
        typer.echo(f"\nHouseholds: members of the {several} with several members share no quasi-identifier.")
        return
    typer.echo(f"\nHouseholds: within each of the {several} with several members all have the same")
    typer.echo(f"  {', '.join(own.shared)}.")
    if own.holds:
        typer.echo("  One published combination of these covers each of them: members show the same values.")
        return
    typer.echo(
        f"  NOT CONFIRMED for {counted(own.households - own.confirmed, 'household')}: several published combinations "
        "cover their values, so two\n  members may show two of them, and who knows of both members intersects these:"
    )
    for example in own.examples:
        typer.echo(f"  {example}")


def _print_repeated(both: Intersection) -> None:
    """Say what two releases tell together."""
    most = "" if both.exact else "at most "
    typer.echo(
        f"\nTogether with {both.earlier}: who knows a person's {', '.join(both.quasi)} finds their group in both\n"
        f"files; only {both.sensitive} values that stand in both groups remain possible."
    )
    found = f"  {counted(both.pairs, 'pair')} of groups that a person may be in"
    typer.echo(f"{found}; {most}{counted(both.people, 'record')} are in both files.")
    if both.unmatched_groups:
        typer.echo(
            f"  {counted(both.unmatched_groups, 'group')} of this file meet none of the earlier one"
            + ("." if both.exact else ": give --hierarchies or --original if their texts cannot be compared.")
        )
    if both.worst is None:
        typer.echo("  The two files together tell no more of anybody than one of them alone.")
    else:
        typer.echo(
            f"  {counted(both.raised_pairs, 'pair')} ({most}{counted(both.raised_people, 'record')}) make a value more "
            f"certain than either file alone, in {counted(both.raised_groups, 'group')} of this file;\n"
            f"  {counted(both.single_pairs, 'pair')} ({most}{counted(both.single_people, 'record')}) leave one value "
            "where each file alone leaves several."
        )
        remain = ", ".join(f"{value!r} ({number})" for value, number in list(both.worst.candidates.items())[:5])
        typer.echo(f"  The worst: {_shows(dict(both.worst.earlier))}  in the earlier file,")
        typer.echo(f"             {_shows(dict(both.worst.later))}  in this one; what remains: {remain}.")
    for name, together in (("l_frequency", both.l_frequency), ("l_distinct", both.l_distinct), ("p_loss", both.p_loss)):
        typer.echo(f"  {name:12} {_number(both.alone[name]):>8} alone, {_number(together):>8} together")
