"""What the commands say of baskets: the same verbs, for sets of items."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sfumato.commands.common import counted, print_json
from sfumato.errors import BadInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.publish import BasketAudit


def refuse(given: Mapping[str, object], why: str) -> None:
    """Raise where an option was given that has no say here."""
    for option, value in given.items():
        if value:
            raise BadInputError(f"{option} {why}")


def print_measures(measures: Mapping[str, float]) -> None:
    """Print measures with what they mean."""
    from sfumato.measures import MEASURES
    from sfumato.tradeoff.bounds import number

    typer.echo("\nMeasured (^ higher is better, v lower is better):")
    for name in (name for name in MEASURES if name in measures):
        arrow = "^" if MEASURES[name].better == "higher" else "v"
        typer.echo(f"  {name:22} {number(measures[name]):>12} {arrow} {MEASURES[name].meaning}")


def short(text: str, most: int = 90) -> str:
    """Cut a long text short."""
    return text if len(text) <= most else f"{text[:most]} ..."


def audit_of_baskets(
    file: Path,
    layout: str,
    require: str | None,
    original: str | None,
    known: int | None,
    record: str | None,
    item: str | None,
    tree: str | None,
    legend: Path | None,
    local: bool,
    delimiter: str | None,
    encoding: str,
    as_json: bool,
) -> None:
    """Audit a published file of baskets, print what was found, and exit 1 where it does not hold."""
    from sfumato.configuration import check_choice
    from sfumato.publish import audit_baskets
    from sfumato.publish.basket_mapping import read_legend
    from sfumato.transactions.declaration import BasketsDeclaration

    check_choice("--baskets", layout, ("lines", "long", "list"))
    against = None
    if original is not None:
        against = BasketsDeclaration(original, tree=tree).open()
    elif tree is not None:
        raise BadInputError("--tree says which items a published node stands for: give the original too (--original)")
    words = None if legend is None else read_legend(legend)
    found = audit_baskets(file, require, against, known, words, local, layout, record, item, delimiter, encoding)
    if as_json:
        print_json(found.content())
    else:
        _print_audit(found)
    if not found.holds:
        raise typer.Exit(1)


def _print_audit(found: BasketAudit) -> None:
    from sfumato.transactions.basket_words import basket_rule, known_in_words
    from sfumato.transactions.policy import basket_requirement

    for notice in found.notices:
        typer.echo(f"note: {notice}", err=True)
    typer.echo(
        f"{found.file}: {counted(found.records, 'record')} with {counted(found.published_items, 'published item')}; an "
        f"attacker is taken to know {known_in_words(found.known)} of a person."
    )
    print_measures(found.measures)
    typer.echo("\nWhat fewest records show together:")
    for own in found.weakest:
        typer.echo(f"  {counted(own.records, 'record')}: {short(' + '.join(own.items))}")
    if found.coverage is not None:
        typer.echo(f"\nChecked against the original: {found.coverage.checked}.")
        if found.coverage.holds:
            typer.echo("All records fit." if found.coverage.exact else "Nothing was found that does not fit.")
        else:
            typer.echo(f"NOT COVERED: {counted(found.coverage.uncovered, 'record')} cannot come from this original:")
            for example in found.coverage.examples:
                typer.echo(f"  {short(example)}")
    for failure in found.failures:
        typer.echo(
            f"\nFAILS: {failure.requirement} does not hold: {counted(failure.sets, 'set')} of known items "
            f"{'is' if failure.sets == 1 else 'are'} in too few records, such as"
        )
        for own in failure.examples:
            typer.echo(f"  {counted(own.records, 'record')}: {short(' + '.join(own.items) or '(nothing)')}")
    if found.require is not None and not found.failures:
        typer.echo(f"\nIt holds: {basket_rule(basket_requirement(found.require))}.")
