"""Memory limits: of the shell, of spilling to disk, and of opening a file.

**The shell's limit** (`ulimit -v`) is checked before work begins, because Numpy, LLVM, Arrow and DuckDB abort the
process if a thread or a library finds no address space. Below the minimum nothing is started; under any limit these
libraries use few threads.

**The spill folder** for data that do not fit into memory is private and removed with its user, with the process, and at
Ctrl-C. A killed process cannot remove it, so the next maker of a folder in the same place removes stale ones. Each
maker holds a lock, which the operating system releases at its death. Process numbers are not used, because containers
have their own.

**Limits of opening a file** are set by the workbench; commands have none.
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
"""The minimum address space for loading the libraries, measured with a table of 40 rows."""

THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1"}
"""Each thread of a library reserves address space at loading, by default one per core."""


def allowed_bytes() -> int | None:
    """Return the address space in bytes that the shell allows (`ulimit -v`); None without a limit."""
    try:
        import resource  # not on every system
    except ImportError:
        return None
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if allowed == resource.RLIM_INFINITY else allowed


def keep_within_limit() -> None:
    """Raise if the shell allows too little; under a limit, configure libraries to use few threads."""
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
    """Parse a size in bytes such as 4GB; units are powers of 1024."""
    match = SIZE.fullmatch(text.strip())
    if match is None or (size := int(float(match[1]) * UNITS[match[2].upper()])) <= 0:
        raise BadInputError(f"{name} must be a size such as 4GB or 500MB, not {text!r}")
    return size


def machine_bytes() -> int | None:
    """Return the memory of the machine, or less if the container or the shell allows less; None if unknown."""
    sizes = [size for size in (allowed_bytes(), _installed(), _in_container()) if size is not None]
    return min(sizes, default=None)


def _installed() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _in_container() -> int | None:
    """Return the limit of the control group of this process."""
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
            f"{where}: no folder for data that do not fit into memory can be created there ({error.strerror}); name "
            "another (--spill)"
        ) from None


def private_folder(prefix: str, where: Path) -> Path:
    """Return the private folder of this process with a prefix in a place; it is removed with the process."""
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
    """Take the lock of an open file until this process ends; False if another process has it.

    `without_locks` is the result on a system without such locks.
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
    """Remove the folders of killed processes: those of this user whose lock is free."""
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
    """The limits of opening a file."""

    expanded: int = 2 * GIGABYTE
    """Bytes of a workbook's parts, unpacked."""

    memory: int = 4 * GIGABYTE
    """Bytes of memory of the process that opens it."""

    seconds: float = 120
    columns: int = 2000


in_force: ContextVar[OpeningLimits | None] = ContextVar("in_force", default=None)
"""The limits of this process; None without limits."""


def check_columns(origin: str, number: int) -> None:
    """Raise if a file has more columns than allowed."""
    limits = in_force.get()
    if limits is not None and number > limits.columns:
        raise BadInputError(
            f"{origin}: the file has {number:,} columns, and at most {limits.columns:,} are opened here "
            "(--most-columns); remove unneeded ones"
        )


def check_expanded(path: Path) -> None:
    """Raise if a packed file would exceed the limit when unpacked."""
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
