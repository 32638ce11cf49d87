"""The door: the commands put together, and errors turned into sentences."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from sfumato.commands import COMMANDS
from sfumato.errors import BadInputError, SfumatoError, lacks_memory
from sfumato.pipes import end_quietly_when_closed

app = typer.Typer(
    name="sfumato",
    help="Decide what to publish: make anonymized releases of a table, measure them, choose one, prove its promise.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        from sfumato import __version__

        typer.echo(f"sfumato {__version__}")
        raise typer.Exit


@app.callback()
def _sfumato(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Decide what to publish: make anonymized releases of a table, measure them, choose one, prove its promise."""


for command in COMMANDS:
    app.command()(command)


def main() -> None:
    """Run the command line; every error is a sentence, never a traceback."""
    end_quietly_when_closed()
    try:
        app()
    except SfumatoError as error:
        _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        _fail("stopped", 130)
    except Exception as error:
        if os.environ.get("SFUMATO_DEBUG"):
            raise
        _fail(f"{_sentence(error)}; nothing was published", BadInputError.exit_code)


def _sentence(error: Exception) -> str:
    """Say what went wrong that no room has a sentence for."""
    if lacks_memory(error):
        return (
            "there is not enough memory for this; close other programs, raise the limit (ulimit -v), work with fewer "
            "threads (--workers 1) or take a larger machine"
        )
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or error}"
    return (
        f"this should not have happened ({type(error).__name__}: {error}): please report it, with what SFUMATO_DEBUG=1 "
        "prints"
    )


def _fail(message: str, code: int) -> None:
    print(f"sfumato: {message}", file=sys.stderr)
    raise SystemExit(code)


if __name__ == "__main__":
    main()
