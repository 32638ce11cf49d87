"""Recoding new baskets under an existing release: what is refused, what is counted again, what is kept."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from command_line import run
from sfumato.anonymizers.items import anonymize_baskets
from sfumato.auditing.ledger import read_ledger
from sfumato.config.documents import json_text
from sfumato.data.items import baskets_of
from sfumato.publish._item_mapping import SCHEMA, basket_mapping
from sfumato.release.items import BasketRelease, global_release, set_recoding
from sfumato.release.writing_items import release_names
from sfumato.requirements.items import basket_requirement

HOSTILE = ["{a, b}", "a", "b", "*", "g1", '=HYPERLINK("x")', "a,b", "új", "z"]


def mapping_file(release: BasketRelease, wanted: str, mode: str = "auto") -> Path:
    content = basket_mapping(release, basket_requirement(wanted), release_names(release, mode))
    Path("m.json").write_text(json_text(content, SCHEMA), encoding="utf-8")
    return Path("m.json")


def long_file(name: str, records: list[list[str]]) -> None:
    with Path(name).open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(["who", "what"])
        rows.writerows([str(number), item] for number, record in enumerate(records) for item in record)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


ROWS = ["--id", "who", "--item", "what"]


@pytest.mark.parametrize("mode", ["auto", "always", "never"])
def test_new_baskets_are_recoded_as_the_release_was_and_audited(mode: str) -> None:
    """Hostile labels too: items that look like sets, names, formulas, everything."""
    old = [HOSTILE[:3], HOSTILE[3:6], HOSTILE[6:], HOSTILE] * 2
    baskets = baskets_of(old)
    keys = np.array([{"z": -1, "a": 0, "b": 0, "{a, b}": 1, "*": 1}.get(item, 2) for item in baskets.items])
    mapping = mapping_file(global_release(baskets, set_recoding(baskets.items, keys)), "km-anonymity k=2 m=2", mode)
    new = [["a", "*"], ["b", "{a, b}"], ["g1"], ["új", "z"], ["a,b"], ["*", '=HYPERLINK("x")'], ["{a, b}", "g1"], ["z"]]
    long_file("new.csv", new)
    ended = run("apply", mapping, "new.csv", *ROWS, "--to", "out.csv", "--json")
    assert ended.returncode == 0, ended.stderr
    values = json.loads(ended.stdout)
    legend = json.loads(Path("out.csv.legend.json").read_text())["legend"] if len(values["files"]) == 2 else {}
    assert (mode == "always") == bool(legend)
    group = dict(zip(baskets.items, keys.tolist(), strict=True))
    members = {key: frozenset(item for item in group if group[item] == key) for key in (0, 1, 2)}
    from sfumato.auditing.notation import set_members

    def behind(text: str) -> frozenset[str]:
        return frozenset(legend[text] if text in legend else [member for member, _ in set_members(text) or ()])

    with Path("out.csv").open(newline="", encoding="utf-8") as stream:
        found = Counter(frozenset(behind(text) for text in row if text) for row in csv.reader(stream))
    assert found == Counter(frozenset(members[group[i]] for i in record if group[i] >= 0) for record in new)
    again = run("audit", "out.csv", "--baskets", "--require", "km-anonymity k=2 m=2")
    assert again.returncode == 0, again.stdout
    [entry] = [line.entry for line in read_ledger(Path("m.json.ledger.jsonl"))]
    assert (entry.records, entry.published, entry.promised) == (8, 8, "km-anonymity k=2 m=2")
    ended = run("apply", mapping, "new.csv", *ROWS, "--to", "again.csv")
    assert ended.returncode == 0 and "the very same baskets were published" in ended.stderr


def test_unknown_items_are_refused_or_their_records_left_out() -> None:
    baskets = baskets_of([["a", "b"], ["a"], ["b", "c"], ["c"]] * 3)
    mapping = mapping_file(anonymize_baskets(baskets, "km-anonymity k=2 m=2", "coat"), "km-anonymity k=2 m=2")
    Path("new.txt").write_text("a b\na b\nb q\nc\nc\nr q\n")
    ended = run("apply", mapping, "new.txt", "--to", "out.csv")
    assert ended.returncode == 2 and "does not fit 2 of 6 records: 2 have a value that the mapping" in ended.stderr
    assert "(items: 2 records, such as 'q')" in ended.stderr
    assert not Path("out.csv").exists() and not Path("m.json.ledger.jsonl").exists()
    ended = run("apply", mapping, "new.txt", "--to", "out.csv", "--rest", "drop", "--json")
    assert ended.returncode == 0, ended.stderr
    values = json.loads(ended.stdout)
    assert (values["published"], values["left_out"]["records"], values["left_out"]["unknown"]) == (4, 2, 2)


def test_the_promise_is_counted_again() -> None:
    baskets = baskets_of([["a", "b"], ["a"], ["b", "c"], ["c"]] * 3)
    mapping = mapping_file(anonymize_baskets(baskets, "km-anonymity k=3 m=2", "coat"), "km-anonymity k=3 m=2")
    Path("new.txt").write_text("a\na\na\nc\n")
    ended = run("apply", mapping, "new.txt", "--to", "out.csv")
    assert ended.returncode == 1 and "the promise does not carry over" in ended.stderr
    assert not Path("out.csv").exists()


@pytest.mark.parametrize(
    "wanted", ["privacy-constraints k=3 file=known.txt", "rho-uncertainty rho=0.9 sensitive=c m=1"]
)
def test_the_promise_may_name_an_item_that_nobody_has_today(wanted: str) -> None:
    Path("known.txt").write_text("a b\nb c\n")
    baskets = baskets_of([["a", "b"], ["a"], ["b", "c"], ["c"], ["d"]] * 6)
    keys = np.array([0, 0, 1, -1])
    mapping = mapping_file(global_release(baskets, set_recoding(baskets.items, keys)), wanted)
    Path("new.txt").write_text("a b\na\nb\nd\n")
    ended = run("apply", mapping, "new.txt", "--to", "out.csv")
    assert ended.returncode == 0, ended.stderr
    [kept] = read_ledger(Path("m.json.ledger.jsonl"))
    assert kept.entry.confirmed["items_suppressed"] == pytest.approx(1 / 3)  # d, of a, b and d


def test_pieces_recode_nothing_new() -> None:
    rows = [[f"i{n % 7}", f"i{n % 5}"] for n in range(40)]
    release = anonymize_baskets(baskets_of(rows), "k-anonymity k=4", "partition")
    assert len(release.recodings) > 1
    ended = run("apply", mapping_file(release, "k-anonymity k=4"), "new.txt", "--to", "out.csv")
    assert ended.returncode == 2 and "no rule says to which one a new record belongs" in ended.stderr


@pytest.mark.parametrize("wrong", [{"published": 7}, {"pieces": None}, {"requirement": "x"}, {"schema": 1}])
def test_a_damaged_mapping_is_a_sentence(wrong: dict) -> None:
    mapping = mapping_file(anonymize_baskets(baskets_of([["a"]] * 3), "km-anonymity k=2 m=1"), "km-anonymity k=2 m=1")
    mapping.write_text(json.dumps(json.loads(mapping.read_text()) | wrong))
    ended = run("apply", mapping, "new.txt", "--to", "out.csv")
    assert ended.returncode == 2 and ended.stderr.count("\n") <= 2


def test_an_item_called_star_goes_all_the_way_or_is_refused_in_a_sentence() -> None:
    """Written, audited and applied as the item that it is; a tree over the items has that name for all of them."""
    Path("in.txt").write_text("*\n* a\na\n*\na b\nb\n" * 3)
    wanted = "km-anonymity k=3 m=2"
    for maker in ("coat", "pcta"):
        ended = run("anonymize", "in.txt", "--baskets", "--require", wanted, "--with", maker, "--to", f"{maker}.csv")
        assert ended.returncode == 0, ended.stderr
        ended = run("audit", f"{maker}.csv", "--baskets", "--require", wanted, "--original", "in.txt")
        assert ended.returncode == 0, ended.stdout
    ended = run("anonymize", "in.txt", "--baskets", "--require", wanted, "--with", "aa", "--to", "aa.csv")
    assert ended.returncode == 2 and "an item is called '*'" in ended.stderr and not Path("aa.csv").exists()


def test_baskets_of_one_item_go_all_the_way() -> None:
    Path("in.txt").write_text("a\nb\nc\na\nb\na\n" * 2)
    wanted = "km-anonymity k=3 m=2"
    for maker in ("aa", "coat", "pcta"):
        ended = run("anonymize", "in.txt", "--baskets", "--require", wanted, "--with", maker, "--to", f"{maker}.csv")
        assert ended.returncode == 0, ended.stderr
        ended = run("audit", f"{maker}.csv", "--baskets", "--require", wanted, "--original", "in.txt")
        assert ended.returncode == 0, ended.stdout
