"""`sfumato datasets`: the bundled tables."""

from __future__ import annotations

import typer

from sfumato.commands.common import print_json
from sfumato.commands.groups import AsJson


def datasets(
    as_json: AsJson = False,
) -> None:
    """List the bundled tables."""
    from sfumato.table import DATASETS
    from sfumato.transactions.files.bundled import BASKETS

    if as_json:
        listed = [
            {
                "name": d.name,
                "records": d.records,
                "description": d.description,
                "quasi": d.quasi,
                "sensitive": d.sensitive,
            }
            for d in DATASETS.values()
        ]
        sets = [
            {"name": b.name, "records": b.records, "items": b.items, "description": b.description}
            for b in BASKETS.values()
        ]
        print_json({"datasets": listed, "baskets": sets})
        return
    for dataset in DATASETS.values():
        typer.echo(f"{dataset.name:12} {dataset.records:>7,} records  {dataset.description}")
        typer.echo(f"{'':12} quasi: {', '.join(dataset.quasi)}; sensitive: {', '.join(dataset.sensitive)}")
    for baskets in BASKETS.values():
        typer.echo(f"{baskets.name:12} {baskets.records:>7,} baskets  {baskets.description}")
        typer.echo(f"{'':12} {baskets.items:,} items")
