"""`sfumato serve`: the workbench in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from sfumato.texts.catalogue import t


def serve(
    folder: Annotated[Path, typer.Argument()] = Path(),
    port: Annotated[int, typer.Option(min=0, max=65535)] = 0,
    no_browser: bool = False,
    most_upload: str = "2GB",
    most_expanded: str = "2GB",
    most_memory: str = "4GB",
    most_seconds: Annotated[float, typer.Option(min=1)] = 120,
    most_columns: Annotated[int, typer.Option(min=1)] = 2000,
    allow_databases: bool = False,
    allow_servers: bool = False,
) -> None:
    """Open the workbench: all steps from a file to a published release, in a browser.

    It listens on this machine alone. The printed address contains a secret that admits one browser, once.
    """
    from sfumato.runtime.memory import OpeningLimits, read_size
    from sfumato.workbench.app import serve as served

    def tell(address: str) -> None:
        typer.echo(address)
        if not no_browser:
            typer.launch(address)

    most = read_size("--most-upload", most_upload)
    expanded, memory = read_size("--most-expanded", most_expanded), read_size("--most-memory", most_memory)
    limits = OpeningLimits(expanded, memory, most_seconds, most_columns)
    served(folder, tell, port, allow_databases, allow_servers, most_upload=most, limits=limits)
    typer.echo(t("notice.workbench_ended"), err=True)
