"""Sets of items in every layout that people have: read as they are meant, or refused; never misread without a word."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from command_line import run
from sfumato import read_baskets
from sfumato.engines._item_layouts import named_rows
from sfumato.errors import BadInputError

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
    "commented.csv": ("# a till\n" + READ["comma.csv"], "take such lines out"),
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
