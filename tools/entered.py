"""Count the files of the package that a command enters: those in which a function body runs after the imports.

    python tools/entered.py anonymize adult --require "k-anonymity k=10" --to x.csv --no-certificate

Class bodies, modules, and what runs while a module is imported are left out. Files are listed by their first entry.
"""

import contextlib
import io
import os
import sys
import tempfile
import threading
from pathlib import Path

import sfumato
from sfumato.commands.app import _command

PACKAGE = str(Path(sfumato.__file__).parent)
entered: dict[str, list[str]] = {}


def note(frame: object, event: str, _: object) -> None:
    """Note the file of a function that begins, unless a module is being imported below it."""
    code = frame.f_code  # type: ignore[attr-defined]
    if (
        event != "call" or not code.co_filename.startswith(PACKAGE) or not code.co_flags & 0x2
    ):  # no CO_NEWLOCALS: module
        return
    above = frame
    while above is not None:
        if above.f_code.co_name == "<module>" and above.f_code.co_filename.startswith(PACKAGE):  # type: ignore[attr-defined]
            return
        above = above.f_back  # type: ignore[attr-defined]
    entered.setdefault(code.co_filename.removeprefix(f"{PACKAGE}/"), []).append(code.co_qualname)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    sys.argv = ["sfumato", *sys.argv[1:]]
    threading.setprofile(note)  # type: ignore[arg-type]
    sys.setprofile(note)  # type: ignore[arg-type]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            _command()
    finally:
        sys.setprofile(None)
for file, functions in entered.items():
    names = list(dict.fromkeys(functions))
    print(f"{file}: {len(names)} ({', '.join(names[:6])}{', ...' if len(names) > 6 else ''})")
print(f"{len(entered)} files, {sum(len(set(each)) for each in entered.values())} functions")
