"""What the shell allows of memory (`ulimit -v`): told before work begins, where native code would only abort.

Numpy, LLVM, Arrow and DuckDB end the process when a thread or a library finds no room, without a word of ours. So below
what they need to be loaded at all nothing is begun, and under any limit they get few threads.

A private folder for what does not fit into memory: nobody else may look into it, and nothing of it stays behind.

It goes with its user, with the process, and at Ctrl-C. A process that is killed cannot remove anything, so whoever
makes a folder in the same place next removes those whose makers are gone: each maker holds a lock as long as it lives,
which the operating system takes from the dead. It asks no number of a process, for containers count their own.

Limits on what a file may ask of the machine while it is opened: the workbench sets them, commands set none.
"""

import atexit
import os
import re
import shutil
import tempfile
import zipfile
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sfumato.errors import BadInputError
from sfumato.runtime.cancellation import removed_when_left

LEAST = 2 << 30
"""With less address space the libraries may abort while they are loaded; measured with a table of 40 rows."""

THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1"}
"""Every further thread of a library takes address space when it is loaded, one for each core of the machine."""


def allowed_bytes() -> int | None:
    """Return how many bytes of address space the shell allows (`ulimit -v`), or None where it sets no limit."""
    try:
        import resource  # not on every system
    except ImportError:
        return None
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if allowed == resource.RLIM_INFINITY else allowed


def keep_within_limit() -> None:
    """Raise where the shell allows too little to begin; let libraries that are loaded later be modest under a limit."""
    allowed = allowed_bytes()
    if allowed is None:
        return
    if allowed < LEAST:
        raise BadInputError(
            f"there is not enough memory: the shell allows {_gigabytes(allowed)} of address space (ulimit -v), and "
            f"{_gigabytes(LEAST)} are needed before a table is read; raise the limit"
        )
    for name, value in THREADS.items():
        os.environ.setdefault(name, value)


UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE)


def read_size(name: str, text: str) -> int:
    """Read a size in bytes as people write it, such as 4GB; a thousand is 1024 here."""
    match = SIZE.fullmatch(text.strip())
    if match is None or (size := int(float(match[1]) * UNITS[match[2].upper()])) <= 0:
        raise BadInputError(f"{name} must be a size such as 4GB or 500MB, not {text!r}")
    return size


def machine_bytes() -> int | None:
    """Return how much memory the machine has, or less where the container or the shell allows less; None: unknown."""
    sizes = [size for size in (allowed_bytes(), _installed(), _in_container()) if size is not None]
    return min(sizes, default=None)


def _installed() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _in_container() -> int | None:
    """Return the limit of the control group that this process runs in."""
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            return int(Path(name).read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
    return None


def _gigabytes(size: int) -> str:
    return f"{size / (1 << 30):.3g} GB"


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


GIGABYTE = 1 << 30


@dataclass(frozen=True)
class OpeningLimits:
    """How much a file may take until it is open."""

    expanded: int = 2 * GIGABYTE
    """Bytes of a workbook's parts, unpacked."""

    memory: int = 4 * GIGABYTE
    """Bytes of memory of the process that opens it."""

    seconds: float = 120
    columns: int = 2000


in_force: ContextVar[OpeningLimits | None] = ContextVar("in_force", default=None)
"""The limits of this process; None where there are none."""


def check_columns(origin: str, number: int) -> None:
    """Raise where a file has more columns than are opened here."""
    limits = in_force.get()
    if limits is not None and number > limits.columns:
        raise BadInputError(
            f"{origin}: the file has {number:,} columns, and at most {limits.columns:,} are opened here "
            "(--most-columns); leave out those that nobody needs"
        )


def check_expanded(path: Path) -> None:
    """Raise where a packed file would take more room than is allowed here; of what is not packed nothing is said."""
    limits = in_force.get()
    if limits is None or not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as parts:
        expanded = sum(part.file_size for part in parts.infolist())
    if expanded > limits.expanded:
        raise BadInputError(
            f"{path}: unpacked, the file takes {expanded / GIGABYTE:.1f} GB, and at most "
            f"{limits.expanded / GIGABYTE:g} GB are opened here (--most-expanded); save the sheet as CSV"
        )
