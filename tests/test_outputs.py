"""All files that one command writes are one transaction: all of them have their names, or everything is as it was."""

import json
import os
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import command_line
from sfumato.commands import app as cli
from sfumato.errors import BadInputError
from sfumato.runtime.staging import staged

ROWS = [(20 + i % 9, ("flu", "cold", "=1+1", "01")[i * 7 % 4]) for i in range(40)]
STUDY = """
name = "small"
axes = ["k", "loss"]
[table]
source = "t.csv"
quasi = ["age"]
sensitive = ["d"]
[[candidates]]
anonymizers = ["mondrian"]
requirements = ["k-anonymity k=4"]
"""
BASKETS = """
name = "sets"
axes = ["itemset_risk", "ul"]
[baskets]
source = "b.csv"
[[candidates]]
anonymizers = ["coat"]
requirements = ["km-anonymity k=2 m=2"]
"""
TOO_LONG = "m" * 300 + ".json"
"""A name that no file system takes: its draft can be written, its rename fails."""


def command(*words, monkeypatch, capsys):
    """Run the command line in this process; return how it ended and what it said."""
    monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, words)])
    capsys.readouterr()
    try:
        cli.main()
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    said = capsys.readouterr()
    return code, said.out + said.err


@pytest.fixture
def run(monkeypatch, capsys):
    return lambda *words: command(*words, monkeypatch=monkeypatch, capsys=capsys)


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    """A folder with a table, baskets, and a map of each."""
    folder = tmp_path_factory.mktemp("maps")
    (folder / "t.csv").write_text("age,d\n" + "".join(f"{age},{d}\n" for age, d in ROWS))
    (folder / "b.csv").write_text("".join(f"{'a,b' if i % 3 else 'c,b'},{'e' if i % 2 else 'f'}\n" for i in range(30)))
    (folder / "study.toml").write_text(STUDY)
    (folder / "sets.toml").write_text(BASKETS)
    for study, out in (("study.toml", "map"), ("sets.toml", "sets")):
        done = command_line.run("explore", study, "--out", out, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def here(maps, tmp_path, monkeypatch):
    """An empty folder beside the maps; their points."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def point_of(folder):
    return next(own["id"] for own in json.loads((folder / "points.json").read_text())["points"])


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def release(maps, kind, *words):
    return ["release", maps / kind, "--point", point_of(maps / kind), *words]


@pytest.mark.parametrize("kind", ["map", "sets"])
@pytest.mark.parametrize("mapping", [f"x/{TOO_LONG}", "x", "/proc/m.json"])
def test_a_mapping_that_cannot_be_written_publishes_nothing(maps, here, run, kind, mapping):
    (here / "x").mkdir()
    code, said = run(*release(maps, kind, "--to", "r.csv", "--mapping", mapping))
    assert code == 2 and Path(mapping).name[:9] in said and "Traceback" not in said and "should not" not in said
    assert files(here) == {}


@pytest.mark.parametrize("kind", ["map", "sets"])
def test_what_force_would_have_replaced_comes_back_when_another_output_fails(maps, here, run, kind):
    code, _ = run(*release(maps, kind, "--to", "r.csv"))
    assert code == 0
    (here / "r.csv").write_text("older data")
    before = files(here)
    code, said = run(*release(maps, kind, "--to", "r.csv", "--mapping", TOO_LONG, "--force"))
    assert code == 2 and "mmm" in said
    assert files(here) == before


@pytest.mark.parametrize("kind", ["map", "sets"])
def test_a_mapping_in_another_folder_is_drafted_there_and_written_with_the_rest(maps, here, run, kind):
    (here / "elsewhere").mkdir()
    code, said = run(*release(maps, kind, "--to", "r.csv", "--mapping", "elsewhere/m.json"))
    assert code == 0, said
    kinds = ("", ".certificate.json", ".certificate.html", ".certificate-public.json", ".certificate-public.html")
    assert set(files(here)) == {f"r.csv{kind}" for kind in (*kinds, ".board.html")} | {"elsewhere/m.json"}


@pytest.mark.parametrize("kind", ["map", "sets"])
@pytest.mark.parametrize("mapping", ["r.csv", "./r.csv", "r.csv.certificate.json", "link/r.csv"])
def test_one_file_cannot_be_two_outputs(maps, here, run, kind, mapping):
    (here / "link").symlink_to(here)
    code, said = run(*release(maps, kind, "--to", "r.csv", "--mapping", mapping, "--force"))
    assert code == 2 and "two outputs" in said
    assert files(here) == {}


@pytest.mark.parametrize("kind", ["map", "sets"])
def test_no_output_replaces_what_is_read(maps, here, run, kind):
    before = files(maps)
    data = "t.csv" if kind == "map" else "b.csv"
    for target in (data, f"{kind}/study.toml", f"{kind}/points.json"):
        code, said = run(*release(maps, kind, "--to", "r.csv", "--mapping", maps / target, "--force"))
        assert code == 2 and "reads" in said, target
    code, said = run(*release(maps, kind, "--to", maps / data, "--force"))
    assert code == 2 and "reads" in said
    assert files(maps) == before and files(here) == {}


def test_a_release_never_replaces_a_hierarchy_that_it_reads(maps, here, run):
    (here / "h").mkdir()
    levels = here / "h" / "t_hierarchy_age.csv"
    levels.write_text("".join(f"{age};*\n" for age in range(20, 29)))
    before = files(here)
    words = ["anonymize", maps / "t.csv", "--quasi", "age", "--hierarchies", "h", "--require", "k-anonymity k=4"]
    code, said = run(*words, "--to", levels, "--force")
    assert code == 2 and "reads" in said and files(here) == before


@pytest.mark.parametrize("failing", range(3))
@pytest.mark.parametrize("there", [False, True])
def test_a_rename_that_fails_brings_everything_back(tmp_path, monkeypatch, failing, there):
    targets = [tmp_path / str(i) / "f" for i in range(3)]
    for target in targets:
        target.parent.mkdir()
        if there:
            target.write_text("old")
    before, replace = files(tmp_path), Path.replace

    def fails(path, target):
        if Path(target) == targets[failing] and ".part" in path.name:
            raise PermissionError(13, "Permission denied")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(BadInputError, match=f"{failing}/f: cannot be written .Permission denied"), staged(targets):
        pass
    assert files(tmp_path) == before


def test_a_folder_that_appears_at_a_target_is_kept(tmp_path):
    targets = [tmp_path / "data", tmp_path / "more"]
    targets[0].write_text("old")
    with pytest.raises(BadInputError, match=r"more: cannot be written \(it is a folder"), staged(targets):
        targets[1].mkdir()
        (targets[1] / "inside").write_text("kept")
    assert files(tmp_path) == {"data": b"old", "more/inside": b"kept"}


KILLED = """
import os, sys
from pathlib import Path
from sfumato.runtime.staging import staged
folder, last = Path(sys.argv[1]), int(sys.argv[2])
left = iter(range(last))
replace = Path.replace
def killing(path, target):
    if next(left, None) is None:
        os.kill(os.getpid(), 9)
    return replace(path, target)
Path.replace = killing
with staged([folder / "data", folder / "certificate"]) as drafts:
    for draft in drafts:
        draft.write_text("new")
"""


@pytest.mark.parametrize("renames", range(5))
def test_killed_in_between_no_data_stand_beside_a_certificate_of_others_and_nothing_is_lost(tmp_path, renames):
    for name in ("data", "certificate"):
        (tmp_path / name).write_text("old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(renames)])
    assert done.returncode == (-signal.SIGKILL if renames < 4 else 0)
    texts = files(tmp_path)
    if "data" in texts:
        assert texts["data"] == texts.get("certificate")
    olds = [text for name, text in texts.items() if text == b"old"]
    assert len(olds) == 2 or texts == {"data": b"new", "certificate": b"new"}


FULL = """
import sys
from pathlib import Path
from sfumato.errors import BadInputError
from sfumato.runtime.staging import staged
folder = Path(sys.argv[1])
try:
    with staged([folder / "data", folder / "mapping"]) as [data, mapping]:
        data.write_text("few")
        mapping.write_text("many" * 1000)
except BadInputError as error:
    sys.exit(str(error))
"""


def test_a_full_disk_in_the_mapping_leaves_everything_as_it_was(tmp_path):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))

    (tmp_path / "data").write_text("old")
    words = [sys.executable, "-B", "-c", FULL, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, preexec_fn=small_files)
    assert done.returncode == 1 and "File too large" in done.stderr and "nothing was left behind" in done.stderr
    assert files(tmp_path) == {"data": b"old"}


def test_what_tells_of_records_is_for_its_owner_alone(maps, here, run):
    before = os.umask(0o022)
    try:
        code, _ = run(*release(maps, "map", "--to", "r.csv", "--mapping", "m.json"))
    finally:
        os.umask(before)
    assert code == 0
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in here.iterdir()}
    private = {"m.json", "r.csv.certificate.json", "r.csv.certificate.html", "r.csv.board.html"}
    assert modes == {name: 0o600 if name in private else 0o644 for name in modes}
    for name in ("map/report.html", "map/cache.jsonl"):
        assert stat.S_IMODE((maps / name).stat().st_mode) == 0o600
