"""The cache of machine code: never stale, never in the way, never somebody else's."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np
import pytest

from sfumato.runtime import kernels

CALLED = "from small.runtime.kernels import kernel\n\n\n@kernel\ndef called(x):\n    return x + {}\n"
CALLING = """\
from small.called import called
from small.runtime.kernels import kernel


@kernel
def calling(x):
    return called(x) * 2
"""
RUN = """\
import json, numba
from small.runtime import kernels
before = kernels.compiled_before()
from small.calling import calling
print(json.dumps({
    "result": calling(1),
    "hits": sum(calling.stats.cache_hits.values()),
    "digest": kernels.kernel_digest(),
    "folder": str(kernels.cache_folder()),
    "before": before,
    "after": kernels.compiled_before(),
    "config": numba.config.CACHE_DIR,
}))
"""


@pytest.fixture
def package(tmp_path):
    """A small package with the real `kernels.py`, a kernel, and a kernel in another file that calls it."""
    folder = tmp_path / "site" / "small"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "runtime").mkdir()
    (folder / "runtime" / "__init__.py").write_text("")
    shutil.copy(Path(kernels.__file__), folder / "runtime" / "kernels.py")
    (folder / "called.py").write_text(CALLED.format(10))
    (folder / "calling.py").write_text(CALLING)
    return folder


def run(package, code=RUN, **environment):
    """Run code in a new process that sees the small package and no cache folder but the ones given."""
    ours = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "PYTHONPATH")
    clean = {name: value for name, value in os.environ.items() if name not in ours}
    given = {name: str(value) for name, value in environment.items()}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**clean, "PYTHONPATH": str(package.parent), **given},
        cwd=package.parent,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    return json.loads(done.stdout)


# ---------------------------------------------------------------- fresh


def test_editing_a_kernel_changes_its_caller_in_another_file(package, tmp_path):
    base = tmp_path / "cache"
    first = run(package, NUMBA_CACHE_DIR=base)
    assert (first["result"], first["before"], first["after"], first["hits"]) == (22, False, True, 0)
    again = run(package, NUMBA_CACHE_DIR=base)
    assert (again["result"], again["before"], again["hits"]) == (22, True, 1), "the second process reads the cache"
    assert again["digest"] == first["digest"] and again["folder"] == first["folder"]
    keep_size_and_time(package / "called.py", CALLED.format(20))
    edited = run(package, NUMBA_CACHE_DIR=base)
    assert (edited["result"], edited["before"], edited["hits"]) == (42, False, 0)
    assert edited["digest"] != first["digest"] and edited["folder"] != first["folder"]
    keep_size_and_time(package / "called.py", CALLED.format(10))
    back = run(package, NUMBA_CACHE_DIR=base)
    assert (back["result"], back["folder"], back["hits"]) == (22, first["folder"], 1)


def keep_size_and_time(path, text):
    """Write a file so that neither its size nor its time tells of the edit; no compiled module may hide it."""
    times = path.stat()
    path.write_text(text)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)


def test_two_processes_at_once_compile_a_kernel_once(package, tmp_path):
    """Compiling lasts long enough for the other to begin."""
    waits = """\
    import json, time
    from pathlib import Path
    from numba.core import compiler
    from small.calling import called
    make, at = compiler.Compiler.compile_extra, Path("compiles")

    def counted(*given):
        at.open("a").write("x")
        time.sleep(1)
        return make(*given)

    compiler.Compiler.compile_extra = counted
    print(json.dumps(called(1)))
    """
    with ThreadPoolExecutor() as both:
        results = list(both.map(lambda _: run(package, waits, NUMBA_CACHE_DIR=tmp_path), range(2)))
    assert results == [11, 11] and (package.parent / "compiles").read_text() == "x"


def test_constants_and_small_integers_between_kernels_need_no_machine_code_of_their_own():
    @kernels.kernel
    def inner(x, wanted):
        return x + 1 if wanted else x

    @kernels.kernel
    def outer(codes):
        return inner(codes[0], True) + inner(5, codes[0] > 3)

    assert outer(np.array([7], np.int32)) == 14
    assert [str(own) for own in inner.signatures] == ["(int64, bool)"]


def test_an_edit_of_anything_but_kernels_and_their_constants_keeps_the_machine_code(package, tmp_path):
    (package / "constants.py").write_text("from small.deeper import STEP\n\nADDED = STEP\n")
    (package / "deeper.py").write_text("STEP = 5\n")
    (package / "page.py").write_text("TITLE = 'before'\n")
    (package / "called.py").write_text("from small.constants import (\n    ADDED,\n)\n" + CALLED.format("ADDED"))
    first = run(package, NUMBA_CACHE_DIR=tmp_path / "cache")
    keep_size_and_time(package / "page.py", "TITLE = 'after!'\n")
    again = run(package, NUMBA_CACHE_DIR=tmp_path / "cache")
    assert (first["result"], again["result"], again["hits"], again["folder"]) == (12, 12, 1, first["folder"])
    keep_size_and_time(package / "deeper.py", "STEP = 6\n")
    edited = run(package, NUMBA_CACHE_DIR=tmp_path / "cache")
    assert (edited["result"], edited["hits"]) == (14, 0), "a constant that a kernel reads is part of its code"


def test_the_digest_of_sources_is_that_of_names_and_contents_of_the_parts_it_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "PACKAGE", tmp_path)
    (tmp_path / "room").mkdir()

    def digest():
        return kernels.source_digest.__wrapped__("room", "b")

    (tmp_path / "b.py").write_text("x = 0")
    seen = [digest()]
    for name, text in (("room/a.py", "x = 1"), ("room/a.py", "x = 2"), ("b.py", "x = 2")):
        (tmp_path / name).write_text(text)
        seen.append(digest())
    (tmp_path / "room" / "a.py").rename(tmp_path / "room" / "c.py")
    seen.append(digest())
    assert len(set(seen)) == len(seen)
    (tmp_path / "room" / "page.html").write_text("not a source")
    (tmp_path / "other.py").write_text("nobody asked")
    assert digest() == seen[-1]


# ---------------------------------------------------------------- where it is kept


def test_a_read_only_installation_without_a_home_works_in_a_temporary_folder(package, tmp_path):
    """Everything that could be written lies below regular files, which stops even root."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    (package / "__pycache__").write_text("")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    nowhere = {"HOME": blocked / "home", "XDG_CACHE_HOME": blocked / "cache", "NUMBA_CACHE_DIR": blocked / "numba"}
    for left_out in ((), ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")):
        given = {name: path for name, path in nowhere.items() if name not in left_out}
        found = run(package, TMPDIR=temporary, **given)
        assert found["result"] == 22
        assert Path(found["folder"]).parent == temporary
        assert list(temporary.iterdir()) == []  # it lives no longer than its process
    names = {"__init__.py", "__pycache__", "called.py", "calling.py", "runtime"}
    assert {path.name for path in package.iterdir()} == names


def test_the_temporary_folder_is_this_users_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "_candidates", lambda: [])
    monkeypatch.setattr(kernels.tempfile, "tempdir", str(tmp_path))
    folder = kernels.cache_folder.__wrapped__()
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o777 == 0o700


def test_folders_are_tried_in_order(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    within = kernels.PACKAGE / "__pycache__"
    assert kernels._candidates() == [tmp_path / "numba", tmp_path / "xdg" / "sfumato", within]
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert kernels._candidates() == [tmp_path / "home" / ".cache" / "sfumato", within]


def test_the_next_folder_is_used_where_one_cannot_be_written(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setattr(kernels, "_candidates", lambda: [blocked, blocked / "below", tmp_path / "good"])
    folder = kernels.cache_folder.__wrapped__()
    assert folder == tmp_path / "good" / f"sfumato-{kernels.kernel_digest()}"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_of_somebody_else_is_not_used(tmp_path, monkeypatch):
    """Machine code is executed, so another user's would be another user's program."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    current = f"sfumato-{kernels.kernel_digest()}"
    (theirs / current).mkdir(parents=True)
    monkeypatch.setattr(kernels, "_candidates", lambda: [theirs, ours])
    if os.getuid() == 0:
        os.chown(theirs / current, 12345, 12345)
    else:
        own, stat = os.getuid(), Path.stat
        fields = list(stat(theirs / current))
        strange = os.stat_result([*fields[:4], own + 1, *fields[5:]])
        monkeypatch.setattr(Path, "stat", lambda path, **k: strange if path == theirs / current else stat(path, **k))
    assert kernels.cache_folder.__wrapped__() == ours / current


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_can_write_is_not_used(tmp_path, monkeypatch, mode):
    open_to_all, ours = tmp_path / "open", tmp_path / "ours"
    current = f"sfumato-{kernels.kernel_digest()}"
    (open_to_all / current).mkdir(parents=True)
    (open_to_all / current).chmod(mode)
    monkeypatch.setattr(kernels, "_candidates", lambda: [open_to_all, ours])
    assert kernels.cache_folder.__wrapped__() == ours / current


# ---------------------------------------------------------------- not in the way


def test_decorating_leaves_the_setting_of_numba_as_it_was(monkeypatch):
    for before in ("", "/somewhere/else"):
        monkeypatch.setattr(numba.config, "CACHE_DIR", before)

        @kernels.kernel
        def twice(x):
            return 2 * x

        assert before == numba.config.CACHE_DIR
        with pytest.raises(Exception, match=r".*"):
            kernels.kernel(3)
        assert before == numba.config.CACHE_DIR


def test_kernels_of_others_are_not_kept_in_our_folder(package, tmp_path):
    code = """\
    import json, numba
    from small.calling import calling
    from small.runtime import kernels
    import theirs
    theirs.thrice(1)
    ours = str(kernels.cache_folder())
    print(json.dumps([ours, str(theirs.thrice._cache.cache_path), str(calling._cache.cache_path)]))
    """
    (package.parent / "theirs.py").write_text(
        "import numba\n\n\n@numba.njit(cache=True)\ndef thrice(x):\n    return 3 * x\n"
    )
    ours, theirs, calling = run(package, code, XDG_CACHE_HOME=tmp_path / "cache", HOME=tmp_path / "home")
    assert calling.startswith(ours)
    assert not theirs.startswith(ours)


def old_folders(base, names):
    """Folders with a file each, every one newer than the one before, all in the past."""
    for age, name in enumerate(reversed(names), start=1):
        (base / name).mkdir(parents=True)
        (base / name / "code.nbi").write_text("")
        os.utime(base / name, (10**9 - age, 10**9 - age))


def test_old_folders_are_removed_and_the_newest_few_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "_candidates", lambda: [tmp_path])
    names = [f"sfumato-{number:016x}" for number in range(kernels.KEPT_FOLDERS + 5)]
    old_folders(tmp_path, names)
    current = kernels.cache_folder.__wrapped__()
    assert {path.name for path in tmp_path.iterdir()} == {*names[5:], current.name}
    (current / "code.nbi").write_text("")
    assert kernels.cache_folder.__wrapped__() == current
    assert (current / "code.nbi").exists()
    assert {path.name for path in tmp_path.iterdir()} == {*names[5:], current.name}


def test_the_folder_in_use_is_kept_however_old_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "_candidates", lambda: [tmp_path])
    current = f"sfumato-{kernels.kernel_digest()}"
    old_folders(tmp_path, [current, *(f"sfumato-{number:016x}" for number in range(kernels.KEPT_FOLDERS))])
    assert kernels.cache_folder.__wrapped__() == tmp_path / current
    assert (tmp_path / current / "code.nbi").exists()
    assert len(list(tmp_path.iterdir())) == kernels.KEPT_FOLDERS + 1


def test_folders_that_only_look_like_ours_are_never_removed(tmp_path, monkeypatch):
    """NUMBA_CACHE_DIR may be any folder of the user, `~/projects` or `/tmp`, with a `sfumato-thesis` in it."""
    monkeypatch.setattr(kernels, "_candidates", lambda: [tmp_path])
    theirs = [f"sfumato-{name}" for name in ("thesis", "data", "main", "notes", "numba-x1y2z3", "releases-2024")]
    old_folders(tmp_path, [*theirs, *(f"sfumato-{number:016x}" for number in range(kernels.KEPT_FOLDERS + 1))])
    kernels.cache_folder.__wrapped__()
    assert set(theirs) <= {path.name for path in tmp_path.iterdir()}


def test_the_command_line_spares_numba_the_linear_algebra_and_has_scipy_afterwards():
    """A process of its own: in this one numba is there already."""
    code = (
        "import sys, sfumato.commands.app, sfumato.runtime.kernels\n"
        "assert 'numba.np.arraymath' in sys.modules and 'scipy.linalg' not in sys.modules\n"
        "import scipy.special, sklearn.tree, numba.np.linalg\n"
        "numba.np.linalg.ensure_blas()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    other = (
        "import sfumato.runtime.kernels, numba.np.arraymath as a; assert a._HAVE_BLAS"  # somebody's own may multiply
    )
    subprocess.run([sys.executable, "-c", other], check=True)
