"""The decorator of all numba kernels, and the cache folder of their machine code.

Numba considers cached code fresh by the kernel's file alone, so after an edit a kernel could call an old version of a
kernel in another file. Therefore the name of the cache folder contains a digest of all files with kernels, and of the
files whose constants they use. An edit there starts an empty folder, any other edit keeps it. If neither the user's
cache folder nor the package folder is writable, a private temporary folder is used.
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
    """Import numba; on the command line, where all kernels are ours, without BLAS.

    For matrix products in kernels numba imports scipy's linear algebra, which takes .2 s; our kernels have none. Only
    this question of numba is answered so; other imports of scipy work.
    """
    numba = import_module("numba")
    if "sfumato.commands.app" in sys.modules and "numba.np.arraymath" not in sys.modules:
        linalg: Any = import_module("numba.np.linalg")
        asked, linalg.ensure_blas = linalg.ensure_blas, _no_blas
        try:
            import_module("numba.np.arraymath")  # asks at import, and never again
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
"""The number of cache folders of other versions that are kept; older ones are removed."""

DECORATED = re.compile(r"^@kernel\b", re.MULTILINE)
IMPORTED = re.compile(rf"^from ({PACKAGE.name}[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
CONSTANT = re.compile(r"\b[A-Z][A-Z0-9_]+\b")


@cache
def source_digest(*parts: str) -> str:
    """Digest the sources of some files and folders of the package, for keys of caches."""
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
    """Digest the sources of machine code: files with kernels, files with their constants, and versions."""
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
    """Return the files of the package from which a file takes constants, which are compiled into its kernels."""
    files = []
    for module, names in IMPORTED.findall(text):
        if CONSTANT.search(names):
            place = PACKAGE.joinpath(*module.split(".")[1:])
            files += [path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()]
    return files


@cache
def cache_folder() -> Path:
    """Return the first folder that is writable and belongs to this user alone; it is created if needed."""
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
    """Return whether machine code may be cached here: writable, and not another user's, because it is executed."""
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
    """Return whether these sources have cached machine code; otherwise a first run announces the wait."""
    return any(cache_folder().rglob("*.nbi"))


def kernel(function: Function) -> Function:
    """Compile a function without the GIL and cache the machine code in `cache_folder`."""
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
    """Return the type that also fits constants and small integers, so that they need no separate machine code."""
    own = numba.types.unliteral(argument)
    return numba.types.int64 if isinstance(own, numba.types.Integer) and own.bitwidth < 64 else own


@contextmanager
def _locked(name: str) -> Iterator[None]:
    """Wait while another process compiles the same kernel, and then read its machine code.

    A process locks one byte of the file per kernel, never against itself; an impossible lock is refused.
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
