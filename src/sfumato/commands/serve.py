"""`sfumato serve`: the workbench in the browser."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from sfumato.errors import BadInputError

NEEDED = ("starlette", "uvicorn")


def serve(
    folder: Annotated[
        Path, typer.Argument(help="The folder of the projects; maps in it are opened as they are.")
    ] = Path(),
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address only.")] = False,
    most_upload: Annotated[
        str, typer.Option(help="How much may be uploaded; what is larger is put into the folder by hand.")
    ] = "2GB",
    most_expanded: Annotated[str, typer.Option(help="How much a workbook may take when it is unpacked.")] = "2GB",
    most_memory: Annotated[str, typer.Option(help="How much memory opening a file may take.")] = "4GB",
    most_seconds: Annotated[float, typer.Option(help="How long opening a file may take.", min=1)] = 120,
    most_columns: Annotated[int, typer.Option(help="How many columns a file may have.", min=1)] = 2000,
    allow_databases: Annotated[
        bool,
        typer.Option(
            "--allow-databases",
            help="Let studies open databases and use Spark: for studies you trust.",
        ),
    ] = False,
    allow_servers: Annotated[
        bool, typer.Option("--allow-servers", help="Let studies read from servers (postgresql://, https://, s3://).")
    ] = False,
) -> None:
    """Open the workbench: the whole walk in a browser, for whoever does not want to type commands.

    It listens on this machine alone. The address that is printed holds a secret that lets one browser in, once.
    """
    lacking = [each for each in NEEDED if find_spec(each) is None]
    if lacking:
        raise BadInputError(
            f"the workbench needs {' and '.join(lacking)}, which is not installed: pip install 'sfumato[workbench]'"
        )
    from sfumato.runtime.memory import OpeningLimits, read_size
    from sfumato.workbench.server import Serving
    from sfumato.workbench.server import serve as served

    def tell(address: str) -> None:
        typer.echo(address)
        if not no_browser:
            typer.launch(address)

    most = read_size("--most-upload", most_upload)
    expanded, memory = read_size("--most-expanded", most_expanded), read_size("--most-memory", most_memory)
    limits = OpeningLimits(expanded, memory, most_seconds, most_columns)
    served(Serving(folder, port, most, allow_databases, allow_servers, limits), tell)
    typer.echo("The workbench has ended.", err=True)
