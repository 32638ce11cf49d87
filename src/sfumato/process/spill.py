"""A private folder for what does not fit into memory: nobody else may look into it, and nothing of it stays behind.

It goes with its user, with the process, and at Ctrl-C. A process that is killed cannot remove anything, so whoever
makes a folder in the same place next removes those whose makers are gone: each maker holds a lock as long as it lives,
which the operating system takes from the dead. It asks no number of a process, for containers count their own.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from sfumato.errors import BadInputError
from sfumato.process.interrupts import removed_when_left

PREFIX = "sfumato-spill-"
LOCK = "lock"

_folders: dict[tuple[Path, str], tuple[Path, IO[str]]] = {}


def spill_folder(parent: str | None = None) -> Path:
    """Return the private folder of this process below a folder, by default the system's temporary one."""
    where = Path(parent or tempfile.gettempdir()).absolute()
    try:
        return private_folder(PREFIX, where)
    except OSError as error:
        raise BadInputError(
            f"{where}: no folder can be made there for what does not fit into memory ({error.strerror}); name another "
            "(--spill)"
        ) from None


def private_folder(prefix: str, where: Path) -> Path:
    """Return the folder of this process in a place whose name begins so: for its owner alone, gone with the process."""
    if (where, prefix) in _folders and _folders[where, prefix][0].is_dir():
        return _folders[where, prefix][0]
    folder = removed_when_left(Path(tempfile.mkdtemp(prefix=prefix, dir=where)))  # mode 0700
    lock = (folder / LOCK).open("w", encoding="ascii")
    took_lock(lock, without_locks=False)
    _folders[where, prefix] = folder, lock
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _remove_stale(where, prefix)
    return folder


def took_lock(stream: IO[Any], without_locks: bool) -> bool:
    """Take the lock of an open file until this process ends; False where another has it.

    What a system that knows no such locks is taken to answer is up to the caller.
    """
    try:
        import fcntl  # not on every system
    except ImportError:
        return without_locks
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_stale(where: Path, prefix: str) -> None:
    """Remove what processes that were killed have left behind: folders of this user whose lock can be taken."""
    known = {folder for folder, _ in _folders.values()}
    for folder in where.glob(f"{prefix}*"):
        with suppress(OSError):
            if folder in known or folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / LOCK).open("r+", encoding="ascii") as lock:
                if took_lock(lock, without_locks=False):
                    shutil.rmtree(folder, ignore_errors=True)
