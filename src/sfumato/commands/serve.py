"""`sfumato serve`: the workbench in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.errors import BadInputError


def serve(
    folder: Annotated[
        Path, typer.Argument(help="The folder of the projects; maps in it are opened as they are.")
    ] = Path(),
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address only.")] = False,
) -> None:
    """Open the workbench: the whole walk in a browser, for whoever does not want to type commands.

    It listens on this machine alone. The address that is printed holds a secret: who has it can work here.
    """
    try:
        from sfumato.workbench.serving import serve as served
    except ModuleNotFoundError as lacking:
        raise BadInputError(
            f"the workbench needs {lacking.name}, which is not installed: pip install 'sfumato[workbench]'"
        ) from None

    def tell(address: str) -> None:
        typer.echo(address)
        if not no_browser:
            typer.launch(address)

    served(folder, port, tell)
