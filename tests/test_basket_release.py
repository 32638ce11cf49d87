"""Writing, auditing and certifying releases of baskets: the file alone says the same as its maker."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from itertools import compress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import plain_basket_measures as plain
import plain_baskets
from command_line import run
from plain_baskets import owners
from sfumato.anonymizers.items import anonymize_baskets
from sfumato.anonymizers.items._item_tree import cut_recoding, nodes_of
from sfumato.auditing.audit import audit_baskets
from sfumato.auditing.item_audit import stands_for
from sfumato.auditing.items import read_published
from sfumato.auditing.ledger import read_ledger
from sfumato.config.documents import json_text
from sfumato.data.hierarchies.categorical import tree as tree_of
from sfumato.data.item_reading import read_baskets
from sfumato.data.items import baskets_of
from sfumato.engines.item_files import LONG
from sfumato.errors import BadInputError
from sfumato.measures.items.estimates import BasketReader
from sfumato.measures.items.queries import ItemQueries
from sfumato.measures.scales import BasketScales, measure_baskets, protected_risk
from sfumato.publish._written_file import numbers_of_baskets
from sfumato.publish.mapping import SCHEMA, basket_mapping
from sfumato.release.items import BasketRelease, global_release, set_recoding
from sfumato.release.writing_items import published_rows, release_names, rows_of_kinds, write_items
from sfumato.requirements.items import basket_requirement
from test_basket_measures import FIGURE_1, all_as_one, as_it_is, figure_1, releases

tries = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def partitioned(text: str):
    """Release figure 1 under a partition such as `ab|ce|dg|f`; what is not named is suppressed."""
    baskets = figure_1()
    keys = np.full(7, -1)
    for number, part in enumerate(text.split("|")):
        for item in part:
            keys[baskets.places[item]] = number
    return global_release(baskets, set_recoding(baskets.items, keys))


@tries
@given(releases(pieces=2), st.sampled_from([("r.csv", "lines"), ("r.csv", "long"), ("r.parquet", "lines")]))
def test_the_file_says_what_its_maker_says(tmp_path: Path, case, written) -> None:
    release, records, parts = case
    name, layout = written
    path = write_items(release, tmp_path / name, layout, force=True)[0]
    read = read_published(path, **(LONG if layout == "long" else {}))
    shown = Counter(plain.published(row, part) for row, part in zip(records, parts, strict=True))
    assert dict(read.rows) == dict(shown)
    whose, rows = owners(release.baskets), [plain.published(*each) for each in zip(records, parts, strict=True)]
    named = rows_of_kinds(release, release_names(release)) if release.persons is not None else None
    for known in (1, 2, 3):
        of_original = {"original": release.baskets, "local": not release.is_global, "named": named}
        found = audit_baskets(read, known=known, **of_original)
        mine = numbers_of_baskets(release, known)
        wanted = sorted(plain.supports(rows, known, whose).values())
        assert found["least_support"] == (wanted[0] if wanted else math.inf)
        for measure, value in found.measures.items():
            assert value == pytest.approx(mine[measure]), measure
        assert found.coverage is not None and found.coverage.holds
        assert found.persons is None if named is None else found.persons.persons == len(set(whose))
    if named is not None and not release.is_global:  # whose rows these are the file and the original do not show
        assert audit_baskets(read, original=release.baskets, local=True).unconfirmed
        with pytest.raises(AssertionError, match="does not hold the rows"):
            audit_baskets(read, original=release.baskets, local=True, named=dict(list(named.items())[1:]))


@tries
@given(releases(), st.integers(1, 4), st.integers(1, 3))
def test_requirements_hold_in_the_file_as_they_do_by_hand(tmp_path: Path, case, k: int, m: int) -> None:
    release, records, parts = case
    path = write_items(release, tmp_path / "r.csv", force=True)[0]
    shown = [plain.published(row, part) for row, part in zip(records, parts, strict=True)]
    rare = {own: n for own, n in plain.supports(shown, m).items() if n < k}
    found = audit_baskets(path, f"km-anonymity k={k} m={m}")
    assert found.holds == (not rare)
    if rare:
        [failure] = found.failures
        assert failure.sets == len(rare)
        assert all(rare[frozenset(own.items)] == own.records for own in failure.examples)
    few = [row for row, n in Counter(shown).items() if n < k]
    assert audit_baskets(path, f"k-anonymity k={k}").holds == (not few)


def test_the_order_of_rows_says_nothing() -> None:
    """Other records in another order with the same published baskets give the same file."""
    one = partitioned("abcdefg")
    other = baskets_of([list(own) for own in reversed(("g", "abc", "de", "f", "ag", "b"))])
    assert published_rows(one) == published_rows(all_as_one(other))
    mixed = published_rows(as_it_is(figure_1()))
    assert mixed != sorted(mixed) and sorted(mixed) == sorted(tuple(own) for own in FIGURE_1)


def test_awkward_labels_survive_the_file(tmp_path: Path) -> None:
    records = [['a, "b"', "{x}", "*"], ["plain", "{x}"], ["új\n", "plain"], []]
    baskets = baskets_of(records)
    for keys in (np.arange(len(baskets.items)), np.array([0, 0, 1, 1, 2])[: len(baskets.items)]):
        release = global_release(baskets, set_recoding(baskets.items, keys))
        for name, layout in (("a.csv", "lines"), ("a.csv", "long"), ("a.parquet", "lines")):
            path = write_items(release, tmp_path / name, layout, force=True)[0]
            found = audit_baskets(path, original=baskets, **(LONG if layout == "long" else {}))
            if "új\n" not in baskets.items:
                assert found.coverage is not None and found.coverage.holds, found.coverage
            assert found.records == 4 and found.empty == 1


def test_parquet_holds_lists_and_long_holds_pairs(tmp_path: Path) -> None:
    release = partitioned("ab|ce|dg|f")
    table = parquet.read_table(write_items(release, tmp_path / "r.parquet")[0])
    assert table.column_names == ["items"] and table.num_rows == 6
    with write_items(release, tmp_path / "r.csv", "long")[0].open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["record"] for row in rows} == {str(n) for n in range(1, 7)}
    assert {row["item"] for row in rows} == {"{a, b}", "{c, e}", "{d, g}", "f"}


# -- against the original -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["{a, b}"] * 5, "5 records, the original 6"),
        (["{a, b},{c, e},{d, g},f"] * 6, "cannot come"),
        (["z"] * 6, "corresponds to no item"),
    ],
)
def test_a_file_that_is_not_of_this_original(tmp_path: Path, lines: list[str], said: str) -> None:
    path = tmp_path / "r.txt"
    path.write_text("\n".join(['"' + own.replace(",{", '","{').replace(",f", '","f') + '"' for own in lines]) + "\n")
    found = audit_baskets(path, original=figure_1())
    assert found.coverage is not None and not found.coverage.holds and not found.holds
    told = " ".join(found.coverage.examples)
    assert said in told or (said == "cannot come" and found.coverage.uncovered == 5)


def test_one_changed_record_is_found(tmp_path: Path) -> None:
    path = write_items(partitioned("ab|ce|dg|f"), tmp_path / "r.csv")[0]
    lines = path.read_text().splitlines()
    place = lines.index('f,"{c, e}"')
    lines[place] = "f"
    path.write_text("\n".join(lines) + "\n")
    found = audit_baskets(path, original=figure_1())
    assert found.coverage is not None and (found.coverage.uncovered, found.coverage.exact) == (1, True)


def test_texts_of_other_tools_are_read() -> None:
    items = tree_of([["X", ["Y", "a", "b"], "c"], "d"])
    found = stands_for(["(a,b)", "{a, b}", "X", "*", "d", "?"], ["a", "b", "c", "d"], items)
    assert {label: sorted(own) for label, own in found.items()} == {
        "(a,b)": [0, 1], "{a, b}": [0, 1], "X": [0, 1, 2], "*": [0, 1, 2, 3], "d": [3], "?": [],
    }  # fmt: skip


def test_nodes_of_a_tree_cost_their_leaves(tmp_path: Path) -> None:
    """A node stands for all its leaves, also those that do not occur (e)."""
    items = tree_of([["X", ["Y", "a", "b"], "c"], ["Z", "d", "e"]])
    baskets = baskets_of([["a", "d"], ["b", "c"], ["d"], ["c"]], tree=items)
    nodes = nodes_of(items, baskets)
    under = {(int(lo), int(n)): place for place, (lo, n) in enumerate(zip(nodes.start, nodes.width, strict=True))}
    cut = np.array([under[0, 2], under[0, 2], under[2, 1], under[3, 2]], np.int32)
    release = global_release(baskets, cut_recoding(items, nodes, cut))
    assert release.labels == ("Y", "c", "Z")
    path = write_items(release, tmp_path / "r.csv")[0]
    found, mine = audit_baskets(path, original=baskets), numbers_of_baskets(release, 2)
    assert found["ncp"] == pytest.approx(mine["ncp"]) == pytest.approx((2 * 2 / 5 + 2 * 2 / 5) / 6)
    assert found["ul"] == pytest.approx(mine["ul"])


def test_privacy_constraints_are_read_as_items(tmp_path: Path) -> None:
    known = tmp_path / "known.txt"
    known.write_text("a c\ne f\n")
    path = write_items(partitioned("ab|ce|dg|f"), tmp_path / "r.csv")[0]
    with pytest.raises(BadInputError, match="give the original"):
        audit_baskets(path, f"privacy-constraints k=2 file={known}")
    # {a, b} + {c, e}: Anne, Greg, Jack; {c, e} + f: Anne, Jim
    assert audit_baskets(path, f"privacy-constraints k=2 file={known}", figure_1()).holds
    [failure] = audit_baskets(path, f"privacy-constraints k=3 file={known}", figure_1()).failures
    assert [(own.records, own.items) for own in failure.examples] == [(2, ("e", "f"))]


def test_the_risk_of_the_promise_is_that_of_the_protected_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protected are a + c, b + g and their parts; any two items may be alone."""
    monkeypatch.chdir(tmp_path)
    Path("known.txt").write_text("a c\nb g\n")
    release = partitioned("a|b|ce|dg|f")
    rows = [frozenset(own) for own in FIGURE_1]
    shown = {"a": "a", "b": "b", "c": "ce", "g": "dg"}
    fits = [
        sum(all(any(item in row for item in shown[code]) for code in line) for row in rows)
        for line in ("ac", "bg", "a", "b", "c", "g")
    ]
    assert min(fits) == 3
    path = write_items(release, Path("r.csv"))[0]
    wanted = "privacy-constraints k=2 file=known.txt"
    found = audit_baskets(path, wanted, figure_1())
    assert found["protected_risk"] == 1 / 3 and found["itemset_risk"] > 1 / 3 and found.holds
    assert next(iter(found.measures)) == "protected_risk"
    assert protected_risk(release, basket_requirement(wanted)) == {"protected_risk": 1 / 3}
    assert protected_risk(release, basket_requirement("km-anonymity k=2 m=2")) == {}
    Path("in.txt").write_text("\n".join(" ".join(own) for own in FIGURE_1) + "\n")
    ended = run("anonymize", "in.txt", "--baskets", "--require", wanted, "--with", "coat", "--to", "a.csv", "--json")
    measures = json.loads(ended.stdout)["measures"]
    again = run("audit", "a.csv", "--baskets", "--require", wanted, "--original", "in.txt", "--json")
    assert json.loads(again.stdout)["measures"]["protected_risk"] == measures["protected_risk"] <= 1 / 2
    Path("study.toml").write_text(
        "name = 's'\n[baskets]\nsource = 'in.txt'\n[[candidates]]\nanonymizers = ['coat']\n"
        f"requirements = ['{wanted}']\n"
    )
    assert run("explore", "study.toml", "--out", "map", "--workers", "1").returncode == 0
    [point] = json.loads(Path("map/points.json").read_text())["points"]
    assert point["measures"]["protected_risk"] == measures["protected_risk"]
    ended = run("release", "map", "--point", point["id"], "--to", "p.csv")
    assert ended.returncode == 0, ended.stderr
    yours = json.loads(Path("p.csv.certificate.json").read_text())
    public = json.loads(Path("p.csv.certificate-public.json").read_text())
    assert yours["internal"]["measures"]["protected_risk"] == measures["protected_risk"]
    assert "protected_risk" not in public["measures"]  # the file alone does not tell it


def test_a_mapping_says_what_stands_for_what() -> None:
    from sfumato.requirements.items import KMAnonymity

    found = basket_mapping(partitioned("ab|ce|f"), KMAnonymity(2, 2))
    assert found["published"] == {"{a, b}": ["a", "b"], "{c, e}": ["c", "e"], "f": ["f"]}
    assert found["suppressed"] == ["d", "g"] and found["pieces"] == []


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("no.csv", None, "there is no such file"),
        ("empty.csv", b"", "the file is empty"),
        ("bad.csv", b"\xff\xfe\xfa", "cannot be read as utf-16"),
        ("bad.parquet", b"nothing", "the file cannot be read"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes | None, said: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInputError, match=said):
        audit_baskets(path)


def test_long_rows_are_counted_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.auditing import items as basket_reading

    path = write_items(as_it_is(figure_1()), tmp_path / "r.csv")[0]
    whole = read_published(path)
    wanted = plain.supports([frozenset(own) for own in FIGURE_1], 3)
    for block in (3, 7, 1 << 21):
        monkeypatch.setattr(basket_reading, "BLOCK", block)
        _, sets, supports = whole.itemsets(3)
        found = {frozenset(whole.labels[code] for code in own): int(n) for own, n in zip(sets, supports, strict=True)}
        assert found == {own: n for own, n in wanted.items() if len(own) == 3}


def test_a_loss_that_is_too_small_to_be_written_is_not_written_as_none(tmp_path: Path) -> None:
    """2^-418 would read 0: then ul_log2 alone says it, in the audit as in the maker's measures."""
    baskets = baskets_of([[f"i{i}" for i in range(420)], ["i0", "i1"], ["i0"]])
    keys = np.arange(420)
    keys[baskets.places["i1"]] = keys[baskets.places["i0"]]
    release = global_release(baskets, set_recoding(baskets.items, keys))
    path = write_items(release, tmp_path / "r.csv")[0]
    found, mine = audit_baskets(path, original=baskets), numbers_of_baskets(release, 2)
    assert "ul" not in found.measures and "ul" not in mine
    assert found["ul_log2"] == pytest.approx(mine["ul_log2"]) and -420 < found["ul_log2"] < -400
    whole = global_release(baskets, set_recoding(baskets.items, np.zeros(420, int)))
    assert audit_baskets(write_items(whole, tmp_path / "w.csv")[0], original=baskets)["ul"] == 1


OWNERS = {
    "baskets": (
        '[baskets]\nsource = "rows.txt"',
        "a b\na c\nb c\na b c\na\n",
        'anonymizers = ["coat weights={file}"]',
        "",
    ),
    "patients": (
        '[table]\nsource = "rows.csv"\nquasi = ["age"]\n[items]\ncolumn = "codes"',
        "age,codes\n" + "20,a;b\n20,a;c\n20,b;c\n" * 2,
        'anonymizers = ["mondrian"]\nitem_anonymizers = ["coat weights={file}"]',
        "k-",
    ),
}


@pytest.mark.parametrize("kind", OWNERS)
def test_nobody_learns_what_the_owners_file_of_weights_is_called(kind: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    data, rows, makers, more = OWNERS[kind]
    Path("rows.txt" if kind == "baskets" else "rows.csv").write_text(rows)
    Path("hush.txt").write_text("a: 3 10\n")
    required = f'requirements = ["{more}km-anonymity k=2 m=1"]'
    Path("s.toml").write_text(f'name = "s"\n{data}\n[[candidates]]\n{makers.format(file="hush.txt")}\n{required}\n')
    assert run("explore", "s.toml", "--out", "m")[0] == 0
    point = json.loads(Path("m/points.json").read_text())["points"][0]
    assert run("release", "m", "--point", point["id"], "--to", "r.csv")[0] == 0
    public = [*Path().glob("r.csv.certificate-public.*"), Path("m/report-public.html")]
    assert len(public) == 3 and "hush" in Path("r.csv.certificate.json").read_text()
    assert [path.name for path in public if "hush" in path.read_text()] == []
    assert "a file" in json.loads(Path("r.csv.certificate-public.json").read_text())["anonymizer"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(releases(pieces=2), st.data())
def test_listed_sets_are_counted_as_a_loop_over_the_written_rows_counts_them(tmp_path: Path, case, data) -> None:
    release, records, parts = case
    items = release.baskets.items
    lines = data.draw(st.lists(st.sets(st.sampled_from(items), min_size=1, max_size=3), min_size=1, max_size=8))
    (tmp_path / "known.txt").write_text("".join(" ".join(sorted(line)) + "\n" for line in lines))
    path = write_items(release, tmp_path / "r.parquet", force=True)[0]
    written = [set(row or ()) for [row] in (row.values() for row in parquet.read_table(path).to_pylist())]
    shown = [plain.published(*each) for each in zip(records, parts, strict=True)]
    assert Counter(map(frozenset, written)) == Counter(shown)
    named = rows_of_kinds(release, release_names(release)) if release.persons is not None else None
    wanted = f"privacy-constraints k=4 file={tmp_path / 'known.txt'} protect-subsets=no"
    found = audit_baskets(path, wanted, release.baskets, local=not release.is_global, named=named)
    shows = stands_for(sorted(set().union(*written)), items)
    fits = {}
    for line in {frozenset(line) for line in lines}:
        known = [item for item in line if any(release.baskets.places[item] in own for own in shows.values())]
        names = [{label for label, own in shows.items() if release.baskets.places[item] in own} for item in known]
        fit = [bool(known) and all(each & row for each in names) for row in shown]
        fits[line] = len(set(compress(owners(release.baskets), fit)))
    some = [n for n in fits.values() if n]
    assert found["protected_risk"] == (1 / min(some) if some else 0)
    assert sum(failure.sets for failure in found.failures) == sum(n < 4 for n in some)


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
    assert ended.returncode == 2 and "no rule assigns a new record to one" in ended.stderr


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


# -- several baskets of one person -----------------------------------------------------------------------------


WORKED = [("Ann", "bread milk"), ("Ann", "milk tea"), ("Ann", "milk tea"), ("Ben", "bread milk"), ("Cem", "bread")]
WORKED = [(who, frozenset(items.split())) for who, items in [*WORKED, ("Cem", "milk")]]
"""The example of docs/definitions.md."""


def test_the_worked_example_of_persons_with_sets_of_items(tmp_path: Path) -> None:
    known = tmp_path / "known.txt"
    known.write_text("bread,milk\n")
    for persons, counts in (([who for who, _ in WORKED], (3, 3, 1, 2, 1)), (None, (3, 5, 2, 2, 2))):
        baskets = baskets_of([items for _, items in WORKED], persons=persons)
        sets = [("bread",), ("milk",), ("tea",), ("bread", "milk"), ("milk", "tea")]
        codes = [tuple(baskets.places[item] for item in own) for own in sets]
        assert tuple(BasketReader.of_baskets(baskets).matches(codes)) == counts
        release = as_it_is(baskets)
        found = measure_baskets(release, BasketScales(queries=ItemQueries(size=1), sensitive=("tea",))).values
        assert (found["least_support"], found["itemset_risk"]) == ((1, 1) if persons else (2, 1 / 2))
        assert found["rho"] == pytest.approx(1 / 3 if persons else 2 / 5)
        path = write_items(release, tmp_path / "out.csv", force=True)[0]
        holds = {k: audit_baskets(path, f"km-anonymity k={k} m=2", baskets).holds for k in (1, 2, 3)}
        assert holds == {1: True, 2: persons is None, 3: False}
        protected = f'privacy-constraints k=2 file="{known}"'
        found = audit_baskets(path, protected, baskets)
        assert found.holds and found["protected_risk"] == 1 / 2
        for rho, said in (("0.34", True), ("0.3", False)):
            assert audit_baskets(path, f"rho-uncertainty rho={rho} m=0 sensitive=tea", baskets).holds == said


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Invoices of customers, some of whom have many, from `init` to a release of each way to lay the file out."""
    folder = tmp_path_factory.mktemp("shop")
    random = np.random.default_rng(4)
    lines, invoice = ["invoice,customer,item"], 0
    for customer in range(120):
        liked = random.choice(12, 4, replace=False)
        for _ in range(1 + int(9 * random.random() ** 3)):
            invoice += 1
            bought = {int(random.choice(liked)) for _ in range(random.integers(1, 4))}
            lines += [f"{invoice},C{customer:03},i{item:02}" for item in sorted(bought)]
    (folder / "sales.csv").write_text("\n".join(lines) + "\n")
    said = ("--baskets", "--person", "customer")
    assert run("init", "sales.csv", *said, cwd=folder).returncode == 0
    study = (folder / "study.toml").read_text()
    head, tail = study.split("requirements = [", 1)
    small = head + 'requirements = ["km-anonymity k=6 m=2"' + tail[tail.index("]", tail.index("k=100")) :]
    (folder / "study.toml").write_text(small)
    assert run("explore", "study.toml", "--out", "map", cwd=folder).returncode == 0
    return folder


def original_of(folder: Path) -> list[tuple[str, set[str]]]:
    held: dict[str, tuple[str, set[str]]] = {}
    for row in csv.DictReader((folder / "sales.csv").read_text().splitlines()):
        held.setdefault(row["invoice"], (row["customer"], set()))[1].add(row["item"])
    return list(held.values())


def rows_in(path: Path) -> list[frozenset[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return [frozenset(text for text in row if text) for row in csv.reader(file)]


def test_invoices_are_counted_in_customers_from_init_to_audit(shop: Path) -> None:
    original = original_of(shop)
    points = json.loads((shop / "map/points.json").read_text())["points"]
    audited = 0
    for point in points:
        if "original" in point["anonymizer"] or "one-item" in point["anonymizer"] or point["anonymizer"] == "aa":
            continue
        assert point["requirement"] == "km-anonymity k=6 m=2 of=persons"
        path = f"{point['id']}.csv"
        assert (
            run("release", "map", "--point", point["id"], "--to", path, "--set", "legend=never", cwd=shop).returncode
            == 0
        )
        counts = sorted(plain_baskets.persons_of_sets(rows_in(shop / path), original, 2).values())
        assert counts[0] >= 6
        wanted = {"least_support": counts[0], "itemset_risk": 1 / counts[0]}
        wanted["itemset_risk_95"] = 1 / counts[len(counts) - math.ceil(0.95 * len(counts))]
        assert {name: point["measures"][name] for name in wanted} == pytest.approx(wanted)
        asked = ("audit", path, "--baskets", "--original", "sales.csv", "--person", "customer", "--json")
        found = json.loads(run(*asked, "--require", "km-anonymity k=6 m=2", cwd=shop).stdout)
        assert found["holds"] and found["persons"]["persons"] == 120
        assert {name: found["measures"][name] for name in wanted} == pytest.approx(wanted)
        refused = run(*asked, "--require", f"km-anonymity k={counts[0] + 1} m=2", cwd=shop)
        assert refused.returncode == 1
        public = json.loads((shop / f"{path}.certificate-public.json").read_text())
        assert public["measures"] == {} and public["promise"]["requirement"] == "km-anonymity k=6 m=2 of=persons"
        assert not public["promise"]["parts"][0]["confirmed_by_the_file"]
        assert public["promise"]["counted"]["unit"] == "persons" and "--require" not in public["verify"]
        inside = json.loads((shop / f"{path}.certificate.json").read_text())
        assert run(*inside["verify"][1:], cwd=shop).returncode == 0
        audited += 1
    assert audited >= 3


def test_counted_in_records_one_customer_fills_a_set_alone(tmp_path: Path) -> None:
    """By records k=6 holds of what one customer shows six times: then the audit by persons fails."""
    rows = [(f"{n}", "X", item) for n in range(6) for item in ("y", "z")]
    rows += [(f"{n}", f"C{n}", item) for n in range(6, 20) for item in ("a", "b")]
    (tmp_path / "sales.csv").write_text("invoice,customer,item\n" + "".join(",".join(row) + "\n" for row in rows))
    asked = ("--baskets", "--id", "invoice", "--item", "item", "--require", "km-anonymity k=6 m=2")
    assert run("anonymize", "sales.csv", *asked, "--to", "records.csv", cwd=tmp_path).returncode == 0
    original = [("X", {"y", "z"})] * 6 + [(f"C{n}", {"a", "b"}) for n in range(6, 20)]
    counts = plain_baskets.persons_of_sets(rows_in(tmp_path / "records.csv"), original, 2)
    assert counts["y", "z"] == 1
    audit = ("audit", "records.csv", *asked, "--original", "sales.csv")
    assert run(*audit, cwd=tmp_path).returncode == 0
    failed = run(*audit, "--person", "customer", cwd=tmp_path)
    assert failed.returncode == 1 and "shown by too few persons" in failed.stdout
    made = run("anonymize", "sales.csv", *asked, "--person", "customer", "--to", "persons.csv", cwd=tmp_path)
    assert made.returncode == 0
    assert min(plain_baskets.persons_of_sets(rows_in(tmp_path / "persons.csv"), original, 2).values()) >= 6


def test_check_counts_customers_and_apply_needs_their_column(shop: Path) -> None:
    original = original_of(shop)
    asked = ("--baskets", "--id", "invoice", "--item", "item")
    found = json.loads(run("check", "sales.csv", *asked, "--person", "customer", "--json", cwd=shop).stdout)
    persons = plain_baskets.persons_of_sets([items for _, items in original], original, 2)
    assert found["unit"] == "person" and found["attacked"] == 120
    assert {tuple(items): n for n, items in found["weakest"]}.items() <= persons.items()
    assert [n for n, _ in found["weakest"]] == sorted(persons.values())[: len(found["weakest"])]
    point = next(p for p in json.loads((shop / "map/points.json").read_text())["points"] if p["anonymizer"] == "pcta")
    to = ("release", "map", "--point", point["id"], "--to", "m.csv", "--mapping", "m.json", "--force")
    assert run(*to, cwd=shop).returncode == 0
    done = run("apply", "m.json", "sales.csv", *asked[1:], "--baskets", "--to", "new.csv", cwd=shop)
    assert done.returncode == 0 and "of=persons" in done.stdout
    assert Counter(rows_in(shop / "new.csv")) == Counter(rows_in(shop / "m.csv"))
    (shop / "nameless.csv").write_text("invoice,item\n1,i01\n2,i02\n")
    refused = run("apply", "m.json", "nameless.csv", *asked[1:], "--baskets", "--to", "no.csv", cwd=shop)
    assert refused.returncode == 2 and "there is no column 'customer'" in refused.stderr


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("a b\nc d\n", [], "a list of items without other columns does not identify its person"),
        ("i,p,x\n1,A,a\n1,B,b\n", ["--id", "i", "--item", "x"], "the rows with i '1' name several persons in 'p'"),
        ("i,p,x\n1,A,a\n2,,b\n", ["--id", "i", "--item", "x"], "'p' is missing in some rows"),
        ("i,q,x\n1,A,a\n2,B,b\n", ["--id", "i", "--item", "x"], "there is no column 'p'"),
    ],
)
def test_persons_of_baskets_that_cannot_be_told_are_refused_in_a_sentence(text, options, said, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(text)
    refused = run("check", "bad.csv", "--baskets", *options, "--person", "p", cwd=tmp_path)
    assert refused.returncode == 2 and said in refused.stderr and "Traceback" not in refused.stderr


def test_persons_are_counted_in_rows_and_in_lists_alike(shop: Path) -> None:
    original = original_of(shop)
    table = pa.table({"who": [who for who, _ in original], "items": [sorted(items) for _, items in original]})
    by_list = read_baskets(table, person="who")
    by_row = read_baskets(shop / "sales.csv", who="invoice", item="item", person="customer")
    by_python = baskets_of([items for _, items in original], persons=[who for who, _ in original])
    assert by_list.digest == by_row.digest == by_python.digest
    with pytest.raises(BadInputError, match=r"persons cannot be counted where nothing says whose a record is"):
        anonymize_baskets(baskets_of([{"a"}]), "km-anonymity k=1 m=1 of=persons")


@pytest.mark.parametrize("maker", ["lra pieces=3", "partition"])
def test_makers_that_publish_items_in_several_ways_are_audited_as_written(maker: str, shop: Path) -> None:
    wanted = "k-anonymity k=5" if maker == "partition" else "km-anonymity k=5 m=2"
    asked = ("--baskets", "--id", "invoice", "--item", "item", "--person", "customer", "--require", wanted)
    done = run("anonymize", "sales.csv", *asked, "--with", maker, "--to", "local.csv", "--force", cwd=shop)
    assert done.returncode == 0, done.stderr
    open_ = run("audit", "local.csv", "--original", "sales.csv", *asked, "--local", cwd=shop)
    assert open_.returncode == 1 and "NOT CONFIRMED" in open_.stdout
