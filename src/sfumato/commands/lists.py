"""`sfumato options`: all choices, and the meaning of each option.

`sfumato datasets`: the bundled tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands._options import AsJson
from sfumato.commands._output import print_json
from sfumato.texts.catalogue import t

if TYPE_CHECKING:
    from sfumato.measures.all_measures import Measure
    from sfumato.tradeoff.catalogue import Entry


def options(
    name: Annotated[str | None, typer.Argument()] = None,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """List anonymizers, requirements, measures and scales, or the options of one of them."""
    from sfumato.tradeoff import catalogue

    if name is None and as_json:
        print_json(catalogue.catalogue())
    elif name is None:
        _print_all()
    elif as_json:
        print_json({section: _values(entry) for section, entry in catalogue.find(name)})
    else:
        for section, entry in catalogue.find(name):
            _print_one(section, entry)


def _values(entry: Entry | Measure) -> dict[str, object]:
    from sfumato.tradeoff import catalogue

    return entry.schema() if isinstance(entry, catalogue.Entry) else catalogue.measure_values(entry)


def _print_all() -> None:
    """List every name with its description, section by section."""
    from sfumato.measures.all_measures import MEASURES
    from sfumato.tradeoff import catalogue

    for section, members in catalogue.sections().items():
        typer.echo(f"{section[0].upper()}{section[1:]}")
        for entry in members:
            typer.echo(f"  {entry.name:20} {entry.meaning}")
        typer.echo("")
    typer.echo(t("notice.measures_higher_better"))
    for measure in MEASURES.values():
        arrow = "^" if measure.better == "higher" else "v"
        typer.echo(f"  {measure.name:20} {arrow} {measure.meaning}")
    typer.echo(t("notice.sfumato_options_name_shows"))


def _print_one(section: str, entry: Entry | Measure) -> None:
    """Print the description, the text form and the options of an entry."""
    from sfumato.measures.all_measures import Measure

    if isinstance(entry, Measure):
        typer.echo(f"{entry.name} ({entry.kind}, {entry.better} is better): {entry.meaning}")
        return
    typer.echo(f"{entry.name} ({section}): {entry.meaning}")
    typer.echo(f"  write: {entry.text}")
    for key, values, default, meaning in entry.rows():
        typer.echo(f"  {key:16} {values}; default: {default}")
        typer.echo(f"  {'':16} {meaning}")


def datasets(as_json: AsJson = False) -> None:
    """List the bundled tables."""
    from sfumato.data.bundled import BASKETS, DATASETS

    if as_json:
        of_table = ("name", "records", "description", "quasi", "sensitive")
        of_sets = ("name", "records", "items", "description")
        listed = [{name: getattr(each, name) for name in of_table} for each in DATASETS.values()]
        sets = [{name: getattr(each, name) for name in of_sets} for each in BASKETS.values()]
        print_json({"datasets": listed, "baskets": sets})
        return
    for dataset in DATASETS.values():
        typer.echo(f"{dataset.name:12} {dataset.records:>7,} records  {dataset.description}")
        typer.echo(f"{'':12} quasi: {', '.join(dataset.quasi)}; sensitive: {', '.join(dataset.sensitive)}")
    for baskets in BASKETS.values():
        typer.echo(f"{baskets.name:12} {baskets.records:>7,} baskets  {baskets.description}")
        typer.echo(f"{'':12} {baskets.items:,} items")
