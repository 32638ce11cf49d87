"""The command-line application: all commands, and errors as sentences."""

import os
import sys
from typing import Annotated

import typer

from sfumato.commands import COMMANDS
from sfumato.commands._options import CommandWithSettings, grouped, help_texts
from sfumato.config.options import as_typed
from sfumato.errors import BadInputError, SfumatoError, StoppedError, unforeseen
from sfumato.runtime import cancellation as interrupts
from sfumato.runtime.cancellation import end_quietly_when_closed
from sfumato.runtime.memory import keep_within_limit
from sfumato.texts.catalogue import t

app = typer.Typer(
    name="sfumato",
    help="Decide what to publish: make anonymized releases of a table, measure them, choose one, prove its promise.",
    no_args_is_help=True,
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
    keep_within_limit()


NO_FRONTIER = (
    "the command frontier was removed; run `sfumato explore STUDY --preset dewri`, then ask the map: "
    '`sfumato ask DIR "k within loss 0.25" --search 60s`'
)

for command in COMMANDS:
    app.command(cls=CommandWithSettings, epilog=t("cli.example", example=help_texts()["example"][command.__name__]))(
        grouped(command)
    )


def main() -> None:
    """Run the command line; every error is a sentence, never a traceback, and Ctrl-C ends it within seconds."""
    end_quietly_when_closed()
    try:
        code = interrupts.run(_command)
    except StoppedError as error:
        code = _failed(str(error), error.exit_code)
    raise SystemExit(code)


def _command() -> int:
    """Run one command and return its exit code."""
    try:
        if sys.argv[1:2] == ["frontier"]:
            raise BadInputError(NO_FRONTIER)
        app()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except StoppedError:
        raise
    except SfumatoError as error:
        return _failed(str(error), error.exit_code)
    except Exception as error:
        if os.environ.get("SFUMATO_DEBUG"):
            raise
        return _failed(t("notice.nothing_published", unforeseen=unforeseen(error)), BadInputError.exit_code)
    return 0


def _failed(message: str, code: int) -> int:
    """Report the reason, unless Ctrl-C was pressed."""
    if not interrupts.pressed():
        print(f"sfumato: {as_typed(message)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
