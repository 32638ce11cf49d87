"""Writing the files of one command, all or nothing: drafts next to their targets, renamed together at the end.

Replaced files are kept aside until every file is renamed, so a failing rename restores everything. The first target
(the data) is removed first and renamed last: even after a kill, a folder never has data with a certificate that does
not fit.
"""

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from sfumato.errors import BadInputError
from sfumato.runtime.cancellation import finishing, named, unfinished

PRIVATE = 0o600
"""The mode of files that show records: for their owner only."""

PART = "part-"
"""The prefix of the files of one release that a distributed engine wrote."""

NAME_KEPT = 100
"""Characters of a target's name in the name of its draft, which limits its length."""


def check_targets(targets: Sequence[Path], force: bool, inputs: Collection[Path] = ()) -> None:
    """Raise unless all targets are different files, none is an input, and all may be written."""
    for place, target in enumerate(targets):
        with writable(target):
            if any(_same(target, other) for other in targets[:place]):
                raise BadInputError(f"{target} is named for two outputs of one command; give each a different file")
            if any(source.exists() and _same(target, source) for source in inputs):
                raise BadInputError(
                    f"{target} is the table itself, or another file that this command reads, and an output never "
                    "replaces one: choose another name"
                )
        check_target(target, force)


def check_target(path: Path, force: bool) -> None:
    """Raise unless a file of this name may be written."""
    with writable(path):
        if os.path.lexists(path) and not force:
            raise BadInputError(
                f"{path} exists already; choose another name or overwrite it with --force (in Python force=True)"
            )
        if path.is_dir() and not is_parts(path):
            raise BadInputError(f"{path} is a folder; give the name of a file")
        above = next(folder for folder in path.absolute().parents if folder.exists())
        if not above.is_dir():
            raise BadInputError(f"{path}: {above} is a file, not a folder; choose another name")


def _same(path: Path, other: Path) -> bool:
    """Return whether two paths are one file, also before it is written."""
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turn errors of the disk into a sentence."""
    try:
        yield
    except OSError as error:
        raise BadInputError(f"{path}: cannot be written ({error.strerror or error}); nothing was left behind") from None


@contextmanager
def staged(targets: Sequence[Path], private: Collection[Path] = ()) -> Iterator[list[Path]]:
    """Yield a draft next to each target; after success rename all drafts, the first target last, or none.

    Other processes see whole files or none. No draft remains in any case, and if a file cannot be renamed, everything
    is restored. `private` targets are readable by their owner only. A missing folder is created, and removed again if
    nothing is written into it.
    """
    drafts: list[Path] = []
    made: list[Path] = []
    with ExitStack() as held:
        try:
            for target in targets:
                with finishing(), writable(target):
                    made += _make_folders(target.parent)
                    start, end = f".{target.name[:NAME_KEPT]}.", f".part{target.suffix}"
                    handle, name = tempfile.mkstemp(end, start, target.parent)
                    os.close(handle)
                    drafts.append(Path(name))
                    held.enter_context(unfinished(drafts[-1]))
            with writable(targets[0]):
                yield drafts
            for draft, target in zip(drafts, targets, strict=True):
                with writable(target):
                    _settle(draft, PRIVATE if target in private else 0o666 & ~_umask())
            with finishing():
                _rename(drafts, targets)
                named()
        finally:
            for draft in drafts:
                _remove(draft)
            for folder in reversed(made):
                with suppress(OSError):  # it has files
                    folder.rmdir()


def _make_folders(folder: Path) -> list[Path]:
    """Create a folder and its missing parents; return them, the outermost first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()][::-1]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def is_parts(path: Path) -> bool:
    """Return whether a folder contains only a release that an engine wrote in parts."""
    names = [entry.name for entry in path.iterdir()] if path.is_dir() else []
    return any(name.startswith(PART) for name in names) and all(name.startswith((PART, "_", ".")) for name in names)


def parts_of(path: Path) -> list[Path]:
    """List the files of a released file: itself, or those of its folder ordered by name."""
    return sorted(path.glob(f"{PART}*")) if path.is_dir() else [path]


def _settle(draft: Path, mode: int) -> None:
    """Flush a draft to disk, and set its mode."""
    for file in filter(Path.is_file, draft.iterdir()) if draft.is_dir() else [draft]:
        with file.open("rb+") as stream:
            os.fsync(stream.fileno())
        file.chmod(mode)
    if draft.is_dir():
        draft.chmod(mode | (mode & 0o444) >> 2)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _rename(drafts: Sequence[Path], targets: Sequence[Path]) -> None:
    """Rename all drafts; restore everything if that fails."""
    aside = {target: target.with_name(f".{target.name[:NAME_KEPT]}.{token_hex(8)}.old") for target in targets}
    try:
        for target, kept in aside.items():
            with writable(target):
                if target.is_dir() and not is_parts(target):
                    raise IsADirectoryError(None, "it is a folder")
                if os.path.lexists(target):
                    target.replace(kept)
        for draft, target in reversed(list(zip(drafts, targets, strict=True))):
            with writable(target):
                draft.replace(target)
    except BaseException:
        for draft, target in zip(drafts, targets, strict=True):
            if not draft.exists():
                _remove(target)
        for target, kept in reversed(aside.items()):
            if os.path.lexists(kept):
                kept.replace(target)
        raise
    for kept in aside.values():
        _remove(kept)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
