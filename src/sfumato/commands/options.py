"""`sfumato options`: what can be chosen, and what each option means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands.common import print_json

if TYPE_CHECKING:
    from sfumato.configuration import Configured
    from sfumato.measures import Measure


def options(
    name: Annotated[str | None, typer.Argument(help="An anonymizer, a requirement, a measure, a scale.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as JSON Schema, for forms and programs.")] = False,
) -> None:
    """List anonymizers, requirements, measures and scales, or the options of one of them."""
    from sfumato import catalogue

    if name is None and as_json:
        print_json(catalogue.catalogue())
    elif name is None:
        _print_all()
    elif as_json:
        found = catalogue.find(name)
        print_json({section: _values(kind) for section, kind in found})
    else:
        for section, kind in catalogue.find(name):
            _print_one(section, kind)


def _values(kind: type[Configured] | Measure) -> dict[str, object]:
    from sfumato import catalogue
    from sfumato.measures import Measure

    return catalogue.measure_values(kind) if isinstance(kind, Measure) else catalogue.schema_of(kind)


def _print_all() -> None:
    """List every name with what it does, section by section."""
    from sfumato import catalogue
    from sfumato.measures import MEASURES

    for section, members in catalogue.sections().items():
        typer.echo(f"{section[0].upper()}{section[1:]}")
        for kind in members:
            typer.echo(f"  {kind.name:20} {catalogue.meaning_of(kind)}")
        typer.echo("")
    typer.echo("Measures (^ higher is better, v lower is better)")
    for measure in MEASURES.values():
        arrow = "^" if measure.better == "higher" else "v"
        typer.echo(f"  {measure.name:20} {arrow} {measure.meaning}")
    typer.echo("\nsfumato options NAME shows the options of one; --json prints JSON Schema.")


def _print_one(section: str, kind: type[Configured] | Measure) -> None:
    """Say what something is, how it is written, and what each option means."""
    from sfumato import catalogue
    from sfumato.measures import Measure

    if isinstance(kind, Measure):
        typer.echo(f"{kind.name} ({kind.kind}, {kind.better} is better): {kind.meaning}")
        return
    typer.echo(f"{kind.name} ({section}): {catalogue.meaning_of(kind)}")
    typer.echo(f"  write: {kind.example or catalogue.text_form(kind)}")
    for key, values, default, meaning in catalogue.rows(kind):
        typer.echo(f"  {key:16} {values}; default: {default}")
        typer.echo(f"  {'':16} {meaning}")
