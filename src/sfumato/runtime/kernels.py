"""The decorator of all numba kernels, and the folder in which their machine code is kept.

Numba decides whether cached code is fresh by the file of the kernel alone, so a kernel that calls a kernel
of another file keeps running the old one after an edit. Here the cache folder carries a digest of all files
that have kernels, and of those whose constants they read: an edit there starts an empty folder, any other keeps
it. Where neither the user's cache folder nor the package folder can be written, a private temporary folder
serves for the life of the process.
"""

import atexit
import hashlib
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, cast

from sfumato.runtime.cancellation import removed_when_left


def _imported_numba() -> Any:
    """Import numba; on the command line, where nobody else's kernels run, as numba is where there is no BLAS.

    Numba asks for scipy's linear algebra, which takes .2 s to import, for matrix products inside kernels: ours have
    none. The answer is given to this one question of numba's; scipy is there for whoever imports it.
    """
    numba = import_module("numba")
    if "sfumato.commands.app" in sys.modules and "numba.np.arraymath" not in sys.modules:
        linalg: Any = import_module("numba.np.linalg")
        asked, linalg.ensure_blas = linalg.ensure_blas, _no_blas
        try:
            import_module("numba.np.arraymath")  # asks when it is imported, and never again
        finally:
            linalg.ensure_blas = asked
    return numba


def _no_blas() -> None:
    raise ImportError("kernels of sfumato multiply no matrices")


numba = _imported_numba()

Function = TypeVar("Function", bound=Callable[..., object])
PACKAGE = Path(__file__).resolve().parents[1]
OURS = re.compile("sfumato-[0-9a-f]{16}")
KEPT_FOLDERS = 12
"""Cache folders of other versions of the sources that are left in place; older ones are removed."""

DECORATED = re.compile(r"^@kernel\b", re.MULTILINE)
IMPORTED = re.compile(rf"^from ({PACKAGE.name}[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
CONSTANT = re.compile(r"\b[A-Z][A-Z0-9_]+\b")


@cache
def source_digest(*parts: str) -> str:
    """Digest the sources of some files and folders of the package: what something depends on that is kept."""
    places = [PACKAGE / part for part in parts]
    files = (sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")] for place in places)
    return _digest(path for several in files for path in several)


def _digest(files: Iterable[Path]) -> str:
    """Digest the names and the contents of files, with the version of numba."""
    digest = hashlib.sha256(f"numba {numba.__version__}".encode())
    for path in files:
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def kernel_digest() -> str:
    """Digest what machine code is made of: the files with kernels, those whose constants they read, and versions."""
    texts = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    waiting = [path for path, text in texts.items() if DECORATED.search(text)]
    covered: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in covered:
            covered.add(path)
            waiting += _constants_from(texts[path])
    return _digest(sorted(covered))


def _constants_from(text: str) -> list[Path]:
    """Find the files of the package from which a file takes constants, which compiling freezes into its kernels."""
    files = []
    for module, names in IMPORTED.findall(text):
        if CONSTANT.search(names):
            place = PACKAGE.joinpath(*module.split(".")[1:])
            files += [path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()]
    return files


@cache
def cache_folder() -> Path:
    """Find or make the first folder that can be written and that belongs to this user alone."""
    for base in _candidates():
        folder = base / f"sfumato-{kernel_digest()}"
        if _usable(folder):
            _remove_old(base, folder)
            return folder
    temporary = tempfile.mkdtemp(prefix="sfumato-numba-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return removed_when_left(Path(temporary))


def _candidates() -> list[Path]:
    named = os.environ.get("NUMBA_CACHE_DIR")
    caches = os.environ.get("XDG_CACHE_HOME")
    candidates = [Path(named)] if named else []
    if caches:
        candidates.append(Path(caches) / "sfumato")
    else:
        with suppress(RuntimeError):  # there is no home folder
            candidates.append(Path.home() / ".cache" / "sfumato")
    return [*candidates, PACKAGE / "__pycache__"]


def _usable(folder: Path) -> bool:
    """Say whether machine code may be kept here: writable, and not somebody else's (it will be executed)."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            pass
        status = folder.stat()
        return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)
    except OSError:
        return False


def _remove_old(base: Path, current: Path) -> None:
    try:
        others = [path for path in base.iterdir() if OURS.fullmatch(path.name) and path != current and path.is_dir()]
        others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in others[KEPT_FOLDERS:]:
            shutil.rmtree(path, ignore_errors=True)
    except OSError:
        return


def compiled_before() -> bool:
    """Say whether these sources have left machine code behind, so that a first run can announce the wait."""
    return any(cache_folder().rglob("*.nbi"))


def kernel(function: Function) -> Function:
    """Compile a function without the GIL and keep the machine code in `cache_folder`."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())
    try:
        compiled = numba.njit(nogil=True, cache=True)(function)
    finally:
        numba.config.CACHE_DIR = before
    typed, compile_once = compiled.get_call_template, compiled.compile

    def typed_widely(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return typed(tuple(map(_widened, args)), {name: _widened(own) for name, own in kws.items()})

    def compile_alone(signature: Any) -> Any:
        if signature in compiled.overloads:
            return compile_once(signature)
        with numba.core.compiler_lock.global_compiler_lock, _locked(f"{function.__module__}.{function.__name__}"):
            return compile_once(signature)

    compiled.get_call_template, compiled.compile = typed_widely, compile_alone
    return cast("Function", compiled)


def _widened(argument: Any) -> Any:
    """Return the type that serves constants and small integers too, so that they need no machine code of their own."""
    own = numba.types.unliteral(argument)
    return numba.types.int64 if isinstance(own, numba.types.Integer) and own.bitwidth < 64 else own


@contextmanager
def _locked(name: str) -> Iterator[None]:
    """Wait while another process compiles the same kernel: its machine code is read then, not made a second time.

    A process holds one byte of the file per kernel, never against itself; a lock that would never come is refused.
    """
    try:
        import fcntl  # not on every system

        byte = zlib.crc32(name.encode())
        fcntl.lockf(_lock_file(), fcntl.LOCK_EX, 1, byte)
    except (ImportError, OSError):
        yield
        return
    try:
        yield
    finally:
        fcntl.lockf(_lock_file(), fcntl.LOCK_UN, 1, byte)


@cache
def _lock_file() -> int:
    return os.open(cache_folder() / "compiling", os.O_RDWR | os.O_CREAT, 0o600)
