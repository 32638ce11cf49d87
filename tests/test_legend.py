"""What a file of baskets calls what it publishes, and the legend beside it: written, audited, read back."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_line import told
from sfumato import BadInputError, audit_baskets
from sfumato.anonymizers.items import anonymize_baskets
from sfumato.auditing.items import legend_file, read_legend, read_published
from sfumato.data.hierarchies.categorical import tree as tree_of
from sfumato.data.items import baskets_of
from sfumato.engines.item_files import LONG
from sfumato.publish._written_file import numbers_of_baskets
from sfumato.publish.mapping import basket_mapping
from sfumato.release.items import global_release, set_recoding
from sfumato.release.writing_items import Behind, names_of, release_names, write_items

HOSTILE = [
    "{a, b}",
    "a",
    "b",
    "*",
    "g1",
    "g01",
    '=HYPERLINK("x")',
    "a,b",
    'say "no"',
    "új ∑",
    "{",
    "(a, b)",
    "'=1",
    "..",
]
WAYS = [("r.csv", "lines"), ("r.csv", "long"), ("r.parquet", "lines")]
tries = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def grouped(records: list[list[str]], keys: list[int]):
    """Records, with items that share a key published as one set; -1 is suppressed."""
    baskets = baskets_of(records)
    return global_release(baskets, set_recoding(baskets.items, np.array(keys[: len(baskets.items)])))


def rows_by_hand(path: Path, layout: str) -> list[frozenset[str]]:
    """The records of a written file, read with nothing of ours."""
    import csv

    from pyarrow import parquet

    if path.suffix == ".parquet":
        return [frozenset(row) for row in parquet.read_table(path)["items"].to_pylist()]
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    if layout == "lines":
        return [frozenset(cell for cell in row if cell) for row in rows]
    records: dict[str, set[str]] = {}
    for number, item in rows[1:]:
        records.setdefault(number, set()).update([item] if item else [])
    return [frozenset(items) for items in records.values()]


@tries
@given(
    st.lists(st.lists(st.sampled_from(HOSTILE), max_size=5), min_size=1, max_size=12),
    st.lists(st.integers(-1, 4), min_size=len(HOSTILE), max_size=len(HOSTILE)),
    st.sampled_from(WAYS),
    st.sampled_from(["auto", "always", "never"]),
    st.booleans(),
)
def test_file_and_legend_say_what_was_published(tmp_path: Path, records, keys, way, mode, escape) -> None:
    release = grouped(records, keys)
    name, layout = way
    escape = escape and name.endswith("csv")
    for old in tmp_path.glob("r.*"):
        old.unlink()
    path = write_items(release, tmp_path / name, layout, escape_formulas=escape, legend=mode)[0]
    columns = LONG if layout == "long" else {}
    found = audit_baskets(path, original=release.baskets, **columns, escaped_formulas=escape)
    assert found.coverage is not None and found.coverage.holds, found.coverage
    mine = numbers_of_baskets(release, 2)
    for measure, value in found.measures.items():
        assert value == pytest.approx(mine[measure]), measure
    legend = json.loads(legend_file(path).read_text())["legend"] if legend_file(path).exists() else {}
    assert (mode == "never") <= (not legend)
    if not escape:  # by hand: every record, with its legend, is the record that was published
        parts = dict(zip(release.baskets.items, keys, strict=False))
        behind = Counter()
        for row in rows_by_hand(path, layout):
            behind[frozenset(frozenset(legend[text]) if text in legend else text for text in row)] += 1
        wanted: Counter = Counter()
        for record in records:
            groups = {parts[item] for item in record if parts[item] >= 0}
            sets = [frozenset(item for item in parts if parts[item] == group) for group in groups]
            wanted[frozenset(own if own in map(frozenset, legend.values()) else spelled(own) for own in sets)] += 1
        assert Counter({frozenset(map(spelled, row)): n for row, n in behind.items()}) == Counter(
            {frozenset(map(spelled, row)): n for row, n in wanted.items()}
        )


def spelled(behind):
    """A set by its members; a text that spells one out is read by the notation that docs/guides/items.md describes."""
    from sfumato.auditing.notation import set_members

    if isinstance(behind, frozenset):
        return behind
    members = [member for member, _ in set_members(behind) or ()]
    return frozenset(members) if len(members) > 1 and behind not in HOSTILE else frozenset([behind])


def test_no_item_is_called_like_a_class() -> None:
    shown = {"{a, g12}": Behind(("a", "g12"), 99), "{b, c}": Behind(("b", "c"), 99), "gg3": Behind(("gg3",), 1)}
    names = names_of(shown, 5, "always")
    assert dict(names.legend) == {"ggg1": ("a", "g12"), "ggg2": ("b", "c")}
    assert names_of(shown, 5, "always", taken={"ggg7"}).texts["{b, c}"] == "gggg2"


def test_names_are_given_in_the_order_of_items_and_to_shown_sets_alone() -> None:
    """Names depend on what is published: not on the number of records, on their order, or on what nobody shows."""
    one = grouped([["a", "z"], ["b"], ["c", "a"], ["d"], ["a"]] * 9, [0, 1, 0, 1, -1])
    other = grouped([["d", "c"], ["b"], ["a"], ["z", "d"]] * 9, [0, 1, 0, 1, -1])
    assert dict(release_names(one, "always").legend) == dict(release_names(other, "always").legend)
    assert dict(release_names(one, "always").legend) == {"g1": ("a", "c"), "g2": ("b", "d")}


def test_sets_are_named_where_that_halves_the_file_and_more() -> None:
    few = {"{a, b}": Behind(("a", "b"), 3)}
    assert names_of(few, 2).texts["{a, b}"] == "{a, b}"
    long = "{" + ", ".join(f"item {i:04}" for i in range(300)) + "}"
    items = tuple(f"item {i:04}" for i in range(300))
    many = {long: Behind(items, 100)}
    assert names_of(many, 300).texts[long] == "g1"
    assert names_of({long: Behind(items, 20)}, 300).texts[long] == long  # a small file
    single = {f"{{a{i}, {'b' * 999}{i}}}": Behind((f"a{i}", "b" * 999 + str(i)), 1) for i in range(400)}
    assert not names_of(single, 800).legend  # shown once each: a legend would gain nothing
    assert names_of(many, 300, "never").legend == {}


def test_a_node_of_a_declared_tree_says_itself_unless_a_legend_is_forced() -> None:
    tree = tree_of([["X", "a", "b"], ["Y", "c", "d"]])
    baskets = baskets_of([["a", "c"], ["b", "c"], ["a"], ["c"]] * 3, tree=tree)
    release = anonymize_baskets(baskets, "km-anonymity k=6 m=2", "aa")
    assert "X" in release.labels and not release_names(release).legend
    legend = release_names(release, "always").legend
    assert legend["X"] == ("a", "b")
    assert "Y" not in legend and release_names(release).texts["c"] == "c"


@pytest.mark.parametrize(
    ("maker", "wanted"),
    [("aa", "km-anonymity k=3 m=2"), ("partition", "k-anonymity k=3"), ("coat", "km-anonymity k=3 m=2")],
)
@pytest.mark.parametrize(("name", "layout"), WAYS)
def test_what_anonymize_writes_passes_our_own_audit(tmp_path: Path, maker, wanted, name, layout, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    lines = [" ".join(f"i{i}" for i in sorted(set(random.zipf(1.4, 6).clip(1, 30).tolist()))) for _ in range(60)]
    Path("in.txt").write_text("\n".join(lines) + "\n")
    out = tmp_path / name
    code, said = told("anonymize", "in.txt", "--baskets", "--require", wanted, "--with", maker, "--to", str(out),
                     "--set", f"layout={'long' if layout == 'long' else 'rows'}", "--set", "legend=always",
                     "--json")  # fmt: skip
    assert code == 0, said
    values = json.loads(said[said.index("{") :])
    assert values["files"][:2] == [str(out), f"{out}.legend.json"]
    columns = ["--id", "record", "--item", "item"] if layout == "long" else []
    code, said = told("audit", str(out), "--baskets", *columns, "--require", wanted, "--original", "in.txt", "--json")
    assert code == 0, said
    found = json.loads(said[said.index("{") :])
    assert found["coverage"]["holds"]
    for measure, value in found["measures"].items():
        assert value == pytest.approx(values["measures"][measure]), measure
    shown = set(read_published(out, **(LONG if layout == "long" else {})).labels)
    assert set(read_legend(legend_file(out))) <= shown  # nothing that the file does not show
    legend_file(out).unlink()  # and without it the audit says what it lacks
    code, said = told("audit", str(out), "--baskets", *columns, "--original", "in.txt")
    assert code == 1 and "corresponds to no item" in said


def test_a_legend_of_another_file_is_not_read(tmp_path: Path) -> None:
    release = grouped([["a", "b", "c"], ["a"], ["b"]] * 3, [0, 0, 1])
    path = write_items(release, tmp_path / "r.csv", legend="always")[0]
    lines = path.read_text().splitlines()
    path.write_text("\n".join(reversed(lines)) + "\n")
    found = audit_baskets(path, original=release.baskets)
    assert not found.coverage.holds and any("legend of another file" in notice for notice in found.notices)
    known = read_legend(legend_file(path))
    assert audit_baskets(path, original=release.baskets, legend=known).coverage.holds


def test_a_legend_is_written_with_its_file_or_neither_is(tmp_path: Path) -> None:
    release = grouped([["a", "b"], ["a"]] * 3, [0, 0])
    (tmp_path / "r.csv.legend.json").mkdir()
    with pytest.raises(BadInputError, match=r"legend\.json"):
        write_items(release, tmp_path / "r.csv", legend="always")
    assert not (tmp_path / "r.csv").exists()
    with pytest.raises(BadInputError, match="legend"):
        write_items(release, tmp_path / "q.csv", legend="perhaps")


@pytest.mark.parametrize(
    "wrong", ["{}", "[]", "7", '{"kind": "sfumato legend"}', '{"kind": "other", "legend": {}}', ""]
)
def test_a_damaged_legend_is_a_sentence(tmp_path: Path, wrong: str) -> None:
    path = write_items(grouped([["a", "b"], ["a"]], [0, 0]), tmp_path / "r.csv", legend="always")[0]
    legend_file(path).write_text(wrong)
    with pytest.raises(BadInputError, match=r"r\.csv\.legend\.json"):
        audit_baskets(path)


def test_a_mapping_calls_things_as_the_file_does(tmp_path: Path) -> None:
    release = grouped([["a", "b", "c"], ["a"], ["b", "d"]] * 3, [0, 0, 1, -1])
    names = release_names(release, "always")
    mapping = basket_mapping(release, "km-anonymity k=2 m=1", names)
    assert mapping["published"] == {"g1": ["a", "b"], "c": ["c"]} and mapping["suppressed"] == ["d"]


def test_release_certifies_data_and_legend(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(2)
    lines = [" ".join(f"i{i}" for i in sorted(set(random.zipf(1.4, 6).clip(1, 40).tolist()))) for _ in range(80)]
    Path("in.txt").write_text("\n".join(lines) + "\n")
    Path("study.toml").write_text(
        'name = "s"\n[baskets]\nsource = "in.txt"\n[scales]\nknown = 2\n[[candidates]]\n'
        'anonymizers = ["aa", "coat"]\nrequirements = ["km-anonymity k=4 m=2"]\n'
        '[[candidates]]\nanonymizers = ["partition"]\nrequirements = ["k-anonymity k=4"]\n'
    )
    assert told("explore", "study.toml", "--out", "map", "--workers", "1")[0] == 0
    points = json.loads(Path("map/points.json").read_text())["points"]
    for point in (one for one in points if not one["anonymizer"].startswith(("one-item", "original"))):
        name = f"{point['anonymizer']}.csv"
        code, said = told(
            "release",
            "map",
            "--point",
            point["id"],
            "--to",
            name,
            "--set",
            "legend=always",
            "--mapping",
            f"{name}.m.json",
        )
        assert code == 0, said
        assert f"{name}.legend.json" in said
        for whose in ("certificate", "certificate-public"):
            content = json.loads(Path(f"{name}.{whose}.json").read_text())
            assert [file["name"] for file in content["files"]] == [name, f"{name}.legend.json"]
            assert content["legend"]["entries"] == len(read_legend(Path(f"{name}.legend.json")))
            assert read_legend(Path(f"{name}.{whose}.json")) == read_legend(Path(f"{name}.legend.json"))
            assert f"{name}.legend.json" in Path(f"{name}.{whose}.html").read_text()
            words = content["verify"]
            code, said = told(*words[1:], "--certificate", f"{name}.{whose}.json", "--json")
            assert code == 0, said
            measures = {**content["measures"], **content.get("internal", {}).get("measures", {})}
            for measure, value in json.loads(said[said.index("{") :])["measures"].items():
                assert value == measures[measure] or value == pytest.approx(measures[measure]), measure
        assert set(read_legend(Path(f"{name}.m.json"))) >= set(read_legend(Path(f"{name}.legend.json")))
        legend = Path(f"{name}.legend.json")
        legend.write_text(legend.read_text().replace("i1", "i2"))
        code, said = told(*words[1:], "--certificate", f"{name}.certificate.json")
        assert code == 2 and re.search(r"legend\.json", said), said
