"""Where rows are: the notation of sources, what is shown of it, secrets, and the private folder beside memory."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato
from sfumato.data.declaration import TableDeclaration
from sfumato.engines import open_rows
from sfumato.engines.locations import beside, files_in, input_files, is_many, seen_from, shown_place, split_table
from sfumato.engines.protocol import Reading
from sfumato.errors import BadInputError
from sfumato.runtime.memory import PREFIX, read_size, spill_folder
from sfumato.tradeoff.study.study import read_study


def test_a_url_is_shown_without_user_and_parameters():
    assert shown_place("postgresql://me@host:5432/db?sslmode=require#public.t") == "postgresql://host:5432/db#public.t"
    assert shown_place("s3://bucket/a/*.parquet") == "s3://bucket/a/*.parquet"
    assert shown_place("./people.csv") == "people.csv"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter2@host/db#t",
        "postgres://me@host/db?password=hunter2#t",
        "https://host/t.parquet?X-Amz-Signature=hunter2",
        "postgresql://me%3Ahunter2@host/db#t",
    ],
)
def test_a_secret_in_a_url_is_refused_and_not_repeated(url, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(f'[table]\nsource = "{url}"\nquasi = ["a"]\n[[candidates]]\n')
    for open_it in (lambda: open_rows(url), lambda: TableDeclaration(url), lambda: read_study(str(study))):
        with pytest.raises(BadInputError, match="secrets come from the environment: PGPASSWORD") as told:
            open_it()
        assert "hunter2" not in str(told.value) and "me@" not in str(told.value)


def test_a_table_is_named_behind_its_database():
    assert split_table("a#b/people.duckdb#main.people") == ("a#b/people.duckdb", "main.people")
    assert split_table("postgresql://h/db#t") == ("postgresql://h/db", "t")
    assert split_table("odd#name.csv") == ("odd#name.csv", None)
    assert input_files("people.duckdb#main.people") == [Path("people.duckdb")]
    assert input_files("s3://bucket/people.parquet") == []


def test_a_folder_or_pattern_stands_for_its_files(tmp_path):
    for name in ("y=2/b.parquet", "y=1/a.parquet", "_SUCCESS", "y=1/.a.parquet.crc", "_temporary/0/c.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = [tmp_path / "y=1/a.parquet", tmp_path / "y=2/b.parquet"]
    assert files_in(tmp_path) == found == files_in(f"{tmp_path}/y=*/*.parquet")
    assert is_many(tmp_path) and is_many(f"{tmp_path}/*.csv") and not is_many(found[0])
    (tmp_path / "a[1].csv").write_text("x")
    assert not is_many(tmp_path / "a[1].csv")
    with pytest.raises(BadInputError, match=r"there is no file by this pattern; is the pattern in quotes\?"):
        files_in(f"{tmp_path}/*.csv.nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInputError, match=r"no file in this folder; it must hold .parquet, .pq, .csv, .tsv, .txt"):
        files_in(tmp_path / "empty")
    with pytest.raises(BadInputError, match="are files of two kinds; name one kind by a pattern"):
        files_in(tmp_path)


def test_sources_of_a_study_move_with_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in/parts").mkdir(parents=True)
    (tmp_path / "in/parts/a.csv").write_text("x")
    (tmp_path / "in/p.duckdb").write_text("x")
    for source in ("parts/*.csv", "parts", "p.duckdb#main.t"):
        there = beside(Path("in"), source)
        assert there == f"in/{source}" and seen_from(Path("in"), there) == source
        assert seen_from(Path("out"), there) == f"../in/{source}"
    for source in ("s3://b/x.parquet", "nothing.csv", "nothing/*.csv"):
        assert beside(Path("in"), source) == source == seen_from(Path("in"), source)


def test_an_engine_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(BadInputError, match=r"there is no engine 'oracle'; there are duckdb.* \(--engine\)"):
        sfumato.read(pa.table({"a": ["1", "2"]}), quasi=["a"], engine="oracle")
    assert open_rows(pa.table({"a": ["1"]}), Reading(engine="duckdb")).row_count == 1


def test_sizes_are_read_as_people_write_them():
    sizes = {"4GB": 4 << 30, "500 mb": 500 << 20, "1.5GiB": 3 << 29, "1024": 1024, "2k": 2048}
    assert {text: read_size("memory", text) for text in sizes} == sizes
    for text in ("", "much", "4 GBs", "-1GB", "0MB"):
        with pytest.raises(BadInputError, match="memory must be a size such as 4GB or 500MB, not"):
            TableDeclaration("people.csv", memory=text)


# -- the private folder ----------------------------------------------------------------------------------------


def test_the_private_folder_is_for_its_owner_alone(tmp_path):
    folder = spill_folder(str(tmp_path))
    assert folder == spill_folder(str(tmp_path)) and folder.parent == tmp_path
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    with pytest.raises(BadInputError, match=r"nowhere: no folder can be made there .* name another \(--spill\)"):
        spill_folder(str(tmp_path / "nowhere"))


def started(tmp_path, ending):
    """Start a process that makes its private folder, says so, and ends in some way."""
    code = f"""
        import sys, pathlib
        from sfumato.runtime.memory import spill_folder
        folder = spill_folder({str(tmp_path)!r})
        (folder / "rows").write_text("secret")
        print(folder, flush=True)
        {ending}
    """
    words = [sys.executable, "-c", textwrap.dedent(code)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return process, Path(process.stdout.readline().strip())


def test_nothing_stays_behind_however_a_process_ends(tmp_path):
    for ending in ("pass", "raise SystemExit(2)", "1 / 0"):
        process, folder = started(tmp_path, ending)
        process.communicate()
        assert folder.parent == tmp_path and not folder.exists()
    alive, kept = started(tmp_path, "sys.stdin.read()")
    killed, left = started(tmp_path, "sys.stdin.read()")
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert (left / "rows").exists()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path)  # nobody may be led elsewhere
    process, _ = started(tmp_path, "pass")
    process.communicate()
    assert not left.exists() and (kept / "rows").exists()
    alive.kill()
    alive.communicate()
