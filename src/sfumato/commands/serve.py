"""`sfumato serve`: the workbench in the browser."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.errors import BadInputError

if TYPE_CHECKING:
    from sfumato.workbench.server import Team

NEEDED = ("starlette", "uvicorn")
TEAM = "For a team"


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
    allow_programs: Annotated[
        bool,
        typer.Option(
            "--allow-programs",
            help="Let studies run programs (candidates with a command) and open databases: for studies you trust.",
        ),
    ] = False,
    allow_servers: Annotated[
        bool, typer.Option("--allow-servers", help="Let studies read from servers (postgresql://, https://, s3://).")
    ] = False,
    host: Annotated[
        str | None,
        typer.Option(
            help="Let others in: the address or name to listen on. Needs --certificate, --key and --users.",
            rich_help_panel=TEAM,
        ),
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="The TLS certificate (PEM).", rich_help_panel=TEAM)] = None,
    key: Annotated[Path | None, typer.Option(help="Its key (PEM).", rich_help_panel=TEAM)] = None,
    users: Annotated[
        Path | None, typer.Option(help="The file of who may log in; made by --add-user.", rich_help_panel=TEAM)
    ] = None,
    name: Annotated[
        list[str],
        typer.Option(
            help="A name by which browsers call this machine, if not that of --host; repeat.", rich_help_panel=TEAM
        ),
    ] = [],  # noqa: B006
    add_user: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Ask for a password, add somebody to the file of users, and end.", rich_help_panel=TEAM
        ),
    ] = None,
) -> None:
    """Open the workbench: the whole walk in a browser, for whoever does not want to type commands.

    It listens on this machine alone, unless --host lets others in. The address that is printed holds a secret: who
    has it can work here.
    """
    lacking = [each for each in NEEDED if find_spec(each) is None]
    if lacking:
        raise BadInputError(
            f"the workbench needs {' and '.join(lacking)}, which is not installed: pip install 'sfumato[workbench]'"
        )
    from sfumato.process.limits import OpeningLimits
    from sfumato.process.memory import read_size

    if add_user is not None:
        _add(add_user, users)
        return
    team = _team(host, certificate, key, users, tuple(name))
    from sfumato.workbench.server import Serving
    from sfumato.workbench.server import serve as served

    def tell(address: str) -> None:
        if team is not None:
            typer.echo(_said(team, folder), err=True)
        typer.echo(address)
        if not no_browser and team is None:
            typer.launch(address)

    most = read_size("--most-upload", most_upload)
    expanded, memory = read_size("--most-expanded", most_expanded), read_size("--most-memory", most_memory)
    limits = OpeningLimits(expanded, memory, most_seconds, most_columns)
    served(Serving(folder, port, most, allow_programs, allow_servers, team, limits), tell)
    typer.echo("The workbench has ended.", err=True)


def _team(
    host: str | None, certificate: Path | None, key: Path | None, users: Path | None, names: tuple[str, ...]
) -> Team | None:
    """Read what it takes to let others in: all of it, or nothing."""
    from sfumato.workbench.server import Team

    needed = {"--certificate": certificate, "--key": key, "--users": users}
    if host is None:
        given = [option for option, value in needed.items() if value is not None] + (["--name"] if names else [])
        if given:
            raise BadInputError(
                f"{given[0]} is for a team, which --host lets in; give the address to listen on, or leave it out"
            )
        return None
    lacking = [option for option, value in needed.items() if value is None]
    if lacking:
        raise BadInputError(
            f"--host lets others on the network in, so it needs {', '.join(lacking)} too: a TLS certificate with its "
            "key, so that nobody can listen, and a file of users (--add-user NAME --users FILE makes one)"
        )
    assert certificate is not None and key is not None and users is not None
    return Team(host, certificate, key, users, names)


def _said(team: Team, folder: Path) -> str:
    return (
        f"The workbench is open to other machines. Whoever is in {team.users} can log in, upload data and work with "
        f"them, each in a folder of their own below {folder.resolve()}; none sees the folders of the others by the "
        "workbench. All of it is done by your account on this machine, which can read everything. Connections are "
        "encrypted by your certificate. Ctrl-C ends it."
    )


def _add(name: str, users: Path | None) -> None:
    """Ask for a password twice, unseen, and keep what scrypt makes of it."""
    from sfumato.workbench.teams import MembersFile, check_name

    if users is None:
        raise BadInputError("--add-user needs the file to add to: --users users.txt")
    check_name(name)
    password = typer.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True, err=True)
    MembersFile(users).add(name, password)
    typer.echo(f"{name} can log in; {users} has a digest of the password, not the password.")
