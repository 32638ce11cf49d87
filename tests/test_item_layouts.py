"""Sets of items in every layout that people have: read as they are meant, or refused; never misread without a word."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato
from command_line import run
from sfumato import BadInputError, TableDeclaration, read_baskets, read_study
from sfumato.engines import open_rows
from sfumato.engines.item_files import named_rows
from sfumato.engines.locations import beside, files_in, input_files, is_many, seen_from, shown_place, split_table
from sfumato.engines.protocol import Reading
from sfumato.runtime.memory import PREFIX, read_size, spill_folder

Sets = list[list[str]]


def some_sets(number: int, items: int, seed: int = 1) -> Sets:
    """Draw sets of one to six items; every item occurs."""
    draw = random.Random(seed)
    names = [f"thing{place:03d}" for place in range(items)]
    sets = [sorted(draw.sample(names, draw.randint(1, 6))) for _ in range(number)]
    return [*sets[:-items], *([name] for name in names)]


def rows_of(sets: Sets, header: str, mark: str = ",", more=lambda number: ()) -> str:
    """Write one item per row; `more` are further fields of a set."""
    rows = [[f"R{number:05d}", item, *map(str, more(number))] for number, own in enumerate(sets) for item in own]
    return "\n".join([header, *(mark.join(row) for row in rows)]) + "\n"


def as_lines(sets: Sets, mark: str = " ") -> str:
    return "\n".join(mark.join(own) for own in sets) + "\n"


def sets_in(baskets) -> Counter[tuple[str, ...]]:
    """List what was read, independently of the order of records."""
    return Counter(
        {tuple(sorted(baskets.basket(place))): int(baskets.weights[place]) for place in range(baskets.distinct)}
    )


SETS = some_sets(300, 40)
READ = {
    "comma.csv": rows_of(SETS, "invoice,item"),
    "semicolon.csv": rows_of(SETS, "Rechnung;Artikel", ";"),
    "tab.tsv": rows_of(SETS, "basket_id\titem", "\t"),
    "pipe.txt": rows_of(SETS, "order|product", "|"),
    "blank.txt": rows_of(SETS, "basket item", " "),
    "unnamed.csv": rows_of(SETS, "one,two"),
    "priced.csv": rows_of(SETS, "InvoiceNo,StockCode,Quantity,UnitPrice", ",", lambda n: (n % 7, n % 11 + 0.5)),
    "header.txt": "items\n" + as_lines(SETS, ","),
    "comment.txt": "# made by a till\n" + as_lines(SETS),
    "spmf.txt": "\n".join(" -1 ".join(own) + " -1 -2" for own in SETS) + "\n",
    "lines.csv": as_lines(SETS, ","),
    "lines.dat": as_lines(SETS),
}


@pytest.mark.parametrize("name", READ)
def test_a_layout_is_recognised_and_it_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(READ[name])
    baskets = read_baskets(tmp_path / name)
    assert sets_in(baskets) == Counter(tuple(sorted(own)) for own in SETS)
    assert any("--lines" in notice for notice in baskets.notices) == (not name.startswith("lines"))


def test_rows_in_any_order_are_gathered_where_the_columns_are_named(tmp_path: Path) -> None:
    header, *rows = rows_of(SETS, "order,product").splitlines()
    random.Random(2).shuffle(rows)
    (tmp_path / "named.csv").write_text("\n".join([header, *rows]))
    (tmp_path / "unnamed.csv").write_text("\n".join(["one,two", *rows]))
    assert sets_in(read_baskets(tmp_path / "named.csv")) == Counter(tuple(sorted(own)) for own in SETS)
    with pytest.raises(BadInputError, match=r"names of columns \('one', 'two'\).*--id.*--item.*--lines"):
        read_baskets(tmp_path / "unnamed.csv")


UNSURE = {
    "bare.csv": (READ["comma.csv"].partition("\n")[2], "field 1 repeats line after line"),
    "customers.csv": (
        rows_of(SETS, "invoice,item,customer", ",", lambda n: (n // 4,)),
        "--id invoice --item item makes 300 sets, --id customer --item item makes 75 sets",
    ),
    "matrix.csv": ("tea,milk,beer\n" + "0,1,1\n1,0,1\n" * 20, "names of columns"),
    "numbered.csv": ("\n".join(f"T{n},{','.join(own)}" for n, own in enumerate(SETS)), "the number of a record"),
    "commented.csv": ("# a till\n" + READ["comma.csv"], "remove such lines"),
}


@pytest.mark.parametrize("name", UNSURE)
def test_what_may_be_read_in_two_ways_is_refused_with_the_remedies(tmp_path: Path, name: str) -> None:
    text, said = UNSURE[name]
    (tmp_path / name).write_text(text)
    ended = run("check", tmp_path / name, "--baskets")
    assert ended.returncode == 2 and said in ended.stderr, ended.stderr
    baskets = read_baskets(tmp_path / name, lines=True)
    assert baskets.size == len(text.splitlines())


def test_lines_of_equal_length_are_sets_where_nothing_speaks_for_a_table(tmp_path: Path) -> None:
    draw = random.Random(3)
    sets = [draw.sample("abcdefgh", 3) for _ in range(60)]
    (tmp_path / "b.csv").write_text(as_lines(sets, ","))
    assert sets_in(read_baskets(tmp_path / "b.csv")) == Counter(tuple(sorted(own)) for own in sets)


def test_hashtags_are_items(tmp_path: Path) -> None:
    (tmp_path / "tags.txt").write_text("#a #b\n#b #c\n#a\n")
    assert read_baskets(tmp_path / "tags.txt").items == ("#a", "#b", "#c")


def test_no_invoice_number_is_published_from_init_to_audit(tmp_path: Path) -> None:
    """Rows with a header, every command, and the file counted again: k, the sets, and no invoice number anywhere."""
    (tmp_path / "tills.csv").write_text(READ["semicolon.csv"])
    drafted = run("init", "tills.csv", "--baskets", cwd=tmp_path)
    assert (
        "300 records, each a set of some of 40 items" in drafted.stdout
        and "One of the sets that were read: {" in drafted.stderr
    )
    study = (tmp_path / "study.toml").read_text()
    assert 'id = "Rechnung"' in study and 'item = "Artikel"' in study
    words = ("anonymize", "tills.csv", "--baskets", "--require", "km-anonymity k=5 m=2", "--set", "legend=always")
    assert run(*words, "--to", "out.csv", cwd=tmp_path).returncode == 0
    files = [tmp_path / "out.csv", tmp_path / "out.csv.legend.json"]
    assert not any(f"R{number:05d}" in file.read_text() for file in files for number in range(300))
    published = [set(filter(None, line.strip('"').split(","))) for line in files[0].read_text().splitlines()]
    legend = {name: set(items) for name, items in json.loads(files[1].read_text())["legend"].items()}
    assert len(published) == 300 and set().union(*legend.values()) <= {item for own in SETS for item in own}
    pairs = Counter(frozenset((a, b)) for row in published for a in row for b in row)
    assert min(pairs.values()) >= 5
    for more in (("--id", "Rechnung", "--item", "Artikel"), ()):
        told = run("audit", "out.csv", "--baskets", "--original", "tills.csv", *more, "--json", cwd=tmp_path)
        found = json.loads(told.stdout)
        assert found["holds"] and found["coverage"]["holds"] and found["records"] == 300, told.stderr


def test_the_audit_recognises_long_files_and_reads_the_original_by_its_options(tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text(rows_of(SETS, "p;c", ";"))
    words = ("anonymize", "codes.csv", "--baskets", "--id", "p", "--item", "c", "--require", "km-anonymity k=5 m=1")
    assert run(*words, "--set", "layout=long", "--to", "long.csv", cwd=tmp_path).returncode == 0
    about = ("--baskets", "--original", "codes.csv", "--id", "p", "--item", "c", "--require", "km-anonymity k=5 m=1")
    told = run("audit", "long.csv", *about, "--json", cwd=tmp_path)
    assert told.returncode == 0 and json.loads(told.stdout)["coverage"]["holds"], told.stderr


@pytest.mark.parametrize("name", ["comma.csv", "lines.dat", "lines.csv"])
def test_a_table_that_looks_like_sets_of_items_gets_a_hint(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(READ[name])
    assert "use --baskets" in run("init", name, cwd=tmp_path).stderr


def test_a_table_about_persons_is_no_table_of_items(tmp_path: Path) -> None:
    rows = "".join(f"{n // 3},{20 + n % 50},{n % 7},d{n % 5}\n" for n in range(60))
    (tmp_path / "visits.csv").write_text("patient,age,zip,diagnosis\n" + rows)
    assert named_rows(tmp_path / "visits.csv") is None


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
    with pytest.raises(BadInputError, match=r"nowhere: no folder .* can be created there .* name another \(--spill\)"):
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
