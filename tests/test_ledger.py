"""What was published under a mapping as data arrive: the ledger, kills and two at once, the audit of the sequence."""

from __future__ import annotations

import csv
import hashlib
import json
import subprocess
import sys
from collections import Counter

import pytest

import sfumato
from command_line import run
from sfumato.auditing.ledger import SUFFIX, ledger_of, read_ledger
from sfumato.publish.apply import apply
from sfumato.publish.mapping import mapping_of, read_mapping

HIERARCHIES = {"age": {"type": "numeric", "lower": 0, "upper": 99, "intervals": [20]}}
FIRST = [(age, ill) for age in (5, 25, 45) for ill in ("flu", "gout", "flu", "gout", "cold")]


def write(path, rows):
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([["age", "ill"], *rows])
    return path


@pytest.fixture
def folder(tmp_path):
    """A folder with a mapping of stretches of 20 years and the table that it was made of."""
    table = sfumato.read(
        write(tmp_path / "first.csv", FIRST), quasi=["age"], sensitive=["ill"], hierarchies=HIERARCHIES
    )
    release = sfumato.anonymize(table, "k-anonymity k=2", "full-domain")
    text = mapping_of(release, sfumato.requirement("k-anonymity k=2")).to_text()
    (tmp_path / "mapping.json").write_text(text)
    return tmp_path


def applied(folder, name, rows, *options):
    """Apply the mapping to a day's data."""
    write(folder / f"{name}.csv", rows)
    return run("apply", "mapping.json", f"{name}.csv", "--to", f"{name}-out.csv", *options, cwd=folder)


def audited(folder, name, *options):
    ended = run(
        *("audit", f"{name}-out.csv", "--quasi", "age", "--sensitive", "ill"),
        *("--with", f"mapping.json{SUFFIX}", *options),
        cwd=folder,
    )
    assert ended.returncode == 0, ended.stderr
    return ended


def test_every_file_has_an_entry_that_says_what_it_is_and_shows_no_value(folder):
    for day in ("monday", "tuesday"):
        ended = applied(folder, day, [*FIRST, (5, day), (99, "rare illness")], "--rest", "drop")
        assert ended.returncode == 0, ended.stderr
    ledger = ledger_of(folder / "mapping.json")
    assert "rare illness" not in ledger.read_text() and ledger.stat().st_mode & 0o077 == 0
    monday, tuesday = read_ledger(ledger)
    mapping = hashlib.sha256((folder / "mapping.json").read_bytes()).hexdigest()
    for known, day in ((monday, "monday"), (tuesday, "tuesday")):
        entry = known.entry
        assert known.is_there and entry.file == f"{day}-out.csv" and entry.mapping_digest == mapping
        assert entry.file_digest == hashlib.sha256((folder / f"{day}-out.csv").read_bytes()).hexdigest()
        assert (entry.records, entry.published, entry.left_out["failing"]) == (17, 16, 1)
        assert entry.promised == "k-anonymity k=2" and entry.confirmed["k"] == 5
    assert monday.entry.source_digest != tuesday.entry.source_digest and monday.entry.when <= tuesday.entry.when


def test_the_same_records_published_twice_are_told(folder):
    assert "published" not in applied(folder, "one", FIRST).stderr
    again = applied(folder, "two", FIRST[::-1])
    assert "the very same records were published under this mapping before: one-out.csv" in again.stderr
    said = audited(folder, "two")
    assert "two-out.csv was made of the very same records as one-out.csv: they are published twice" in said.stderr


def test_an_entry_that_was_changed_or_taken_out_is_found(folder):
    for day in "abc":
        applied(folder, day, [*FIRST, (5, day)])
    ledger = ledger_of(folder / "mapping.json")
    lines = ledger.read_text().splitlines(keepends=True)
    assert len(lines) == 6
    for changed in (
        lines[:2] + lines[4:],
        [*lines[:2], lines[2].replace('"records": 16', '"records": 15'), *lines[3:]],
    ):
        ledger.write_text("".join(changed))
        ended = applied(folder, "d", FIRST)
        assert ended.returncode == 2 and "line 3: it is not what was written" in ended.stderr
        assert not (folder / "d-out.csv").exists() and ended.stderr.count("\n") == 1
    ledger.write_text("".join(lines) + lines[2][:40])  # a crash while a line was written
    assert len(read_ledger(ledger)) == 3
    assert applied(folder, "e", [*FIRST, (25, "e")]).returncode == 0 and len(read_ledger(ledger)) == 4


PROCESSES = """
import os, signal
import sfumato.auditing.ledger as ledger
import sfumato.runtime.staging as staging
from sfumato.publish.apply import apply
from sfumato.publish.mapping import read_mapping

def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def started(day, place=None, name=None):
    child = os.fork()
    if child:
        return child
    if place is not None:
        setattr(place, name, killed)
    for i in range(1 if place is not None else 2):
        recoded = apply(read_mapping("mapping.json"), f"{day}.csv")
        recoded.write(f"{day}{i}-out.csv", ledger="mapping.json.ledger.jsonl")
    os._exit(0)

def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

moments = [(ledger.Ledger, "begin"), (staging, "_rename"), (ledger.Ledger, "done")]
codes = [ended(started(day, *moment)) for day, moment in zip("abc", moments)]
children = [started("x"), started("y")]
print(codes, [ended(child) for child in children])
"""
"""One process, for its start takes longer than all that its children do."""


def test_kills_at_any_moment_and_two_at_once_leave_a_ledger_that_tells_what_is_published(folder):
    for day in "abcxy":
        write(folder / f"{day}.csv", [*FIRST, (5, day)])
    done = subprocess.run([sys.executable, "-c", PROCESSES], cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.stdout == "[-9, -9, -9] [0, 0]\n", done.stderr
    ledger = ledger_of(folder / "mapping.json")
    published = read_ledger(ledger)
    names = {known.entry.file for known in published}
    assert names == {file.name for file in folder.glob("*-out.csv")} and all(known.is_there for known in published)
    assert names == {"c0-out.csv", *(f"{day}{i}-out.csv" for day in "xy" for i in (0, 1))}  # a and b got no name
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert [line["state"] for line in lines[:2]] == ["begun", "begun"]  # b, c
    for begun, done in zip(lines[2::2], lines[3::2], strict=True):  # nobody comes between a file's two lines
        assert (begun["state"], done["state"], done["number"]) == ("begun", "published", begun["number"])
    again = run("apply", "mapping.json", "c.csv", "--to", "again.csv", cwd=folder)
    assert "published under this mapping before: c0-out.csv" in again.stderr
    again = run("apply", "mapping.json", "b.csv", "--to", "first-time.csv", cwd=folder)
    assert again.returncode == 0 and "before" not in again.stderr


# -- the sequence --------------------------------------------------------------------------------------------------


def histograms(path):
    groups: dict[str, Counter] = {}
    with path.open(newline="") as stream:
        for row in csv.DictReader(stream):
            groups.setdefault(row["age"], Counter())[row["ill"]] += 1
    return groups


def test_a_day_that_holds_the_day_before_tells_who_came(folder):
    applied(folder, "one", FIRST)
    applied(folder, "two", [*FIRST, (5, "hiv"), (25, "flu"), (25, "gout")])
    found = json.loads(audited(folder, "two", "--json").stdout)
    [difference] = found["differences"]
    one, two = (histograms(folder / f"{day}-out.csv") for day in ("one", "two"))
    more = {age: group - one[age] for age, group in two.items() if group - one[age]}
    assert difference["larger"] == "later" and difference["more"]["records"] == sum(
        sum(g.values()) for g in more.values()
    )
    assert difference["more"]["groups"] == len(more) == 2 and difference["more"]["smallest"] == 1
    [worst] = [age for age, group in more.items() if group == {"hiv": 1}]
    assert difference["more"]["single_groups"] == 1 and difference["more"]["candidates"] == {"hiv": 1}
    assert difference["more"]["worst"] == {"age": worst} and difference["more"]["l_distinct"] == 1
    said = audited(folder, "two").stdout
    assert "an attacker who removes it obtains a release of the rest,\n  3 records in 2 groups." in said
    assert "what remains: 'hiv' (1)" in said
    earlier = json.loads(audited(folder, "one", "--json").stdout)
    assert earlier["differences"] == [] and earlier["repeated"] == []  # nothing was published before it


def test_who_is_in_every_file_has_a_value_that_all_of_them_leave(folder):
    days = {"one": ("flu", "gout"), "two": ("gout", "cold", "acne"), "three": ("gout", "flu", "acne")}
    for day, ills in days.items():
        applied(folder, day, [(age, ill) for age in (5, 25) for ill in (*ills, *ills, "x" if age == 25 else ills[0])])
    found = json.loads(audited(folder, "three", "--json").stdout)
    assert len(found["repeated"]) == 2 and found["differences"] == []
    groups = [histograms(folder / f"{day}-out.csv") for day in days]
    left = {age: groups[0][age] & groups[1][age] & groups[2][age] for age in groups[0]}
    [every] = found["throughout"]
    assert every["files"] == 3 and every["left"]["groups"] == sum(bool(group) for group in left.values())
    assert every["left"]["records"] == sum(sum(group.values()) for group in left.values())
    assert every["left"]["single_groups"] == sum(len(group) == 1 for group in left.values()) == 1
    assert every["left"]["candidates"] == {"gout": 2}
    assert "A person in all 3 files with the same ill in each:" in audited(folder, "three").stdout


def test_files_that_are_gone_or_changed_and_files_nobody_kept_are_told(folder):
    applied(folder, "one", FIRST)
    applied(folder, "two", [*FIRST, (5, "hiv")])
    (folder / "one-out.csv").unlink()
    assert "one-out.csv: it was published on" in audited(folder, "two").stderr
    (folder / "own-out.csv").write_text((folder / "two-out.csv").read_text() + "0-19,flu\n")
    said = audited(folder, "own")
    assert "this file is not in it; all 2 files are looked at" in said.stderr
    assert "1 record in 1 group" in said.stdout


def test_a_day_on_a_server_is_recoded_as_a_file_is(postgresql, folder):
    import pyarrow as pa

    day = [*FIRST, (5, "new"), (99, "left out")]
    ages, ills = zip(*day, strict=True)
    url = postgresql.load("a_day", pa.table({"age": pa.array(ages, pa.int32()), "ill": list(ills)}))
    applied(folder, "here", day, "--rest", "drop")
    there = run("apply", "mapping.json", url, "--to", "there.csv", "--rest", "drop", cwd=folder)
    assert there.returncode == 0 and "the very same records were published" in there.stderr
    assert (folder / "there.csv").read_bytes() == (folder / "here-out.csv").read_bytes()
    refused = run("apply", "mapping.json", url, "--to", "no.csv", cwd=folder)
    assert refused.returncode == 1 and refused.stderr.startswith("sfumato: postgresql:///postgres#public.a_day: the ")
    assert [known.entry.source for known in read_ledger(ledger_of(folder / "mapping.json"))] == [
        "here.csv",
        "postgresql:///postgres#public.a_day",
    ]
    recoded = apply(read_mapping(folder / "mapping.json"), url, "drop")
    assert recoded.left_out.records == 1
