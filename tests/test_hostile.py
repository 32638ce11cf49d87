"""Whatever is handed in, however the machine is: a sentence that names the file, the right exit code, nothing left."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
import tomlkit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato
import sfumato.data.hierarchies.hierarchy
import sfumato.tradeoff.limit
from command_line import told
from sfumato.auditing.items import read_legend
from sfumato.commands import COMMANDS
from sfumato.commands import app as cli
from sfumato.config import documents
from sfumato.engines._text_files import text_encoding
from sfumato.publish.certificate import read_certificate
from sfumato.publish.mapping import basket_mapping, read_mapping
from sfumato.runtime import memory
from sfumato.tradeoff.exploration.folder import Cache
from sfumato.tradeoff.search.checkpoint import Snapshot, read_checkpoint, write_checkpoint
from sfumato.tradeoff.study.candidate import Candidate

DEEP = 5000
LONG = "9" * 5000
QUICKLY = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


def assert_ended_well(code, said, *names):
    """A known exit code without a word of ours about defects; bad input names the file."""
    assert code in (0, 1, 2), said
    assert "Traceback" not in said and "should not have happened" not in said
    if code == 2:
        flat = said.replace("\n", "")
        assert any(Path(name).name in flat for name in names), said


# -- tables with nothing to trade ------------------------------------------------------------------------------

STUDY = """
schema = 1
[table]
source = "t.csv"
quasi = ["age", "zip"]
sensitive = ["ill"]
[scales]
min_support = 0.1
reader = "uniform"
queries = "queries dimensions=1 number=20"
[[candidates]]
requirements = ["k-anonymity k=2", "k-anonymity k=4"]
[[candidates]]
anonymizers = ["without-quasi", "original"]
"""
DEGENERATE = {
    "independent": [(age, place, ill) for age in (20, 30, 40) for place in "ab" for ill in ("flu", "cold")] * 3,
    "constant quasi-identifiers": [(20, "a", "xyz"[i % 3]) for i in range(12)],
    "all different": [(20 + i, f"z{i}", f"ill{i}") for i in range(8)],
}
ONE_VALUE = {
    "one sensitive value": [(20 + i % 9, "ab"[i % 2], "flu") for i in range(30)],
    "all equal": [(20, "a", "flu")] * 12,
    "one record": [(20, "a", "flu")],
}


def write_table(path, rows):
    path.write_text("\n".join(["age,zip,ill", *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def explored(folder, rows):
    """Explore the study of a table in a folder."""
    write_table(folder / "t.csv", rows)
    (folder / "study.toml").write_text(STUDY)
    return told("explore", "study.toml", "--out", "map", "--workers", "1")


@pytest.mark.parametrize("kind", DEGENERATE)
def test_a_table_with_nothing_to_trade_is_explored_and_chosen_from(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, said = explored(tmp_path, DEGENERATE[kind])
    assert code == 0, said
    content = json.loads((tmp_path / "map/points.json").read_text())
    assert "score" not in content or kind == "all different"
    assert not [point["reason"] for point in content["points"] if "Error:" in (point["reason"] or "")]
    assert_ended_well(*told("choose", "map"), "map")


@pytest.mark.parametrize("kind", ONE_VALUE)
def test_a_sensitive_column_of_one_value_is_refused_in_a_sentence(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, said = explored(tmp_path, ONE_VALUE[kind])
    assert code == 2 and "t.csv: the sensitive attribute 'ill' has one value only" in said


@pytest.mark.parametrize("trivial, revealed, said", [(0.0, 0.4, "whole table"), (0.2, 0.0, "one value")])
def test_a_score_needs_something_to_lose(trivial, revealed, said):
    study = sfumato.Study.from_toml(STUDY)
    floor = sfumato.tradeoff.limit.Limit(((0.0, 0.0),), trivial, revealed)
    with pytest.raises(sfumato.BadInputError, match=said):
        sfumato.Map(study, (), {}, floor).score(axes=("p_loss", "u_loss"))


BASKETS = {
    "one basket": ["a b c"],
    "one item": ["a"] * 6,
    "all equal": ["a b c"] * 5,
    "all different": ["a", "b", "c"],
    "mostly empty": ["", "a b", "", "a c", ""],
}


@pytest.mark.parametrize("kind", BASKETS)
def test_baskets_with_nothing_to_trade_go_through_every_command(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    io_lines(tmp_path, BASKETS[kind])
    asked = ["--baskets", "--require", "km-anonymity k=1 m=2"]
    for words in (
        ["init", "baskets.txt", "--baskets", "--to", "study.toml"],
        ["check", "baskets.txt", "--baskets"],
        ["check", "study.toml"],
        ["explore", "study.toml", "--out", "map", "--workers", "1"],
        ["choose", "map", "--knee"],
        ["audit", "baskets.txt", "--baskets"],
        ["anonymize", "baskets.txt", *asked, "--to", "out.csv"],
        ["audit", "out.csv", *asked, "--original", "baskets.txt"],
    ):
        code, said = told(*words)
        assert code == 0, (words, said)
    points = json.loads((tmp_path / "map/points.json").read_text())["points"]
    assert {point["status"] for point in points} == {"measured"}
    code, said = told("anonymize", "baskets.txt", "--baskets", "--require", "km-anonymity k=7 m=2", "--to", "no.csv")
    assert code == 1 and "k=7" in said and not (tmp_path / "no.csv").exists()


# -- our own files, damaged ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A map, a mapping, a certificate, a legend, hierarchies: all that we write and read back."""
    folder = tmp_path_factory.mktemp("made")
    before = Path.cwd()
    os.chdir(folder)
    try:
        rows = [(20 + i % 10, "ab"[i // 10 % 2], ("flu", "cold", "cough")[i % 3]) for i in range(40)]
        write_table(folder / "t.csv", rows)
        (folder / "study.toml").write_text(STUDY)
        assert told("explore", "study.toml", "--out", "map", "--workers", "1")[0] == 0
        code, said = told(
            "release", "map", "--point", made_point(folder), "--to", "out.csv", "--mapping", "mapping.json"
        )
        assert code == 0, said
        (folder / "hierarchies.toml").write_text(
            'age = {type = "numeric", lower = 0, upper = 99}\nzip = [["north", "a"], ["south", "b"]]\n'
        )
    finally:
        os.chdir(before)
    return folder


def made_point(folder):
    """The id of the map's point of 4-anonymity."""
    points = json.loads((folder / "map/points.json").read_text())["points"]
    return next(point["id"] for point in points if point["requirement"] == "k-anonymity k=4")


def places(content, place=()):
    """All places in a document, by their keys."""
    yield place
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in inner:
        yield from places(value, (*place, key))


WRONG = [None, True, -1, 0, 7, 10**30, 1e300, "", "x", "inf", "\ud800", [], {}, [[]], [None], {"x": []}, [1, 2, 3]]
TOKENS = ["NaN", "-Infinity", "1e999", LONG, "[" * DEEP + "]" * DEEP, '{"a":1,"a":2}', "[" * 400 + "]" * 400]
MARK = "\u2603 here"


def changed(content, place, value):
    """A copy of a document with another value at a place."""
    if not place:
        return value
    copy = dict(content) if isinstance(content, dict) else list(content)
    copy[place[0]] = changed(content[place[0]], place[1:], value)
    return copy


@st.composite
def damaged_json(draw, text):
    """The text of a JSON document with one thing wrong with it."""
    content = json.loads(text)
    place = draw(st.sampled_from(sorted(places(content), key=repr)))
    how = draw(st.sampled_from(["wrong", "token", "lacking", "cut", "mark", "byte"]))
    if how == "wrong":
        return json.dumps(changed(content, place, draw(st.sampled_from(WRONG)))).encode()
    if how == "token":
        marked = json.dumps(changed(content, place, MARK), ensure_ascii=False)
        return marked.replace(f'"{MARK}"', draw(st.sampled_from(TOKENS))).encode()
    if how == "lacking" and place and isinstance(place[-1], str):
        around = content
        for key in place[:-1]:
            around = around[key]
        return json.dumps(changed(content, place[:-1], {k: v for k, v in around.items() if k != place[-1]})).encode()
    if how == "mark":
        return b"\xef\xbb\xbf" + text.encode()
    position = draw(st.integers(0, len(text) - 1))
    if how == "byte":
        return text.encode()[:position] + draw(st.binary(min_size=1, max_size=3)) + text.encode()[position + 1 :]
    return text.encode()[:position]


def files_in(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def attacked(made, tmp_path, name, words, data, strategy):
    """Damage one file of a copy of the folder, run a command there, and look at how it ends and what it leaves."""
    folder = tmp_path / "copy"
    if not folder.exists():
        copytree(made, folder)
    original = (made / name).read_text(encoding="utf-8")
    (folder / name).write_bytes(data.draw(strategy(original)))
    before = files_in(folder)
    here = Path.cwd()
    os.chdir(folder)
    try:
        code, said = told(*words)
    finally:
        os.chdir(here)
    (folder / name).write_text(original, encoding="utf-8")
    assert_ended_well(code, said, name)
    left = [path for path in files_in(folder) if path not in before]
    assert code == 0 or not left, (code, left, said)
    for path in left:
        (folder / path).unlink()


ATTACKS = {
    "map/points.json": ["choose", "map", "--json"],
    "mapping.json": ["apply", "mapping.json", "t.csv", "--to", "new.csv", "--rest", "drop"],
    "out.csv.certificate.json": ["audit", "out.csv", "--quasi", "age,zip", "--certificate", "out.csv.certificate.json"],
}


@st.composite
def damaged_toml(draw, text):
    """The text of a TOML document with one thing wrong with it."""
    content = tomllib.loads(text)
    how = draw(st.sampled_from(["wrong", "token", "cut", "mark", "twice"]))
    if how == "mark":
        return b"\xef\xbb\xbf" + text.encode()
    if how == "twice":
        return (text + "\n" + text).encode()
    if how == "cut":
        return text.encode()[: draw(st.integers(0, len(text) - 1))]
    place = draw(st.sampled_from(sorted([p for p in places(content) if p], key=repr)))
    if how == "wrong":
        wrong = [value for value in WRONG if value is not None and value != "\ud800" and value != [None]]
        return tomlkit.dumps(changed(content, place, draw(st.sampled_from(wrong)))).encode()
    tokens = ["nan", "inf", "1e999", LONG, "[" * DEEP + "]" * DEEP, "2020-01-01", "{a = " * 200 + "1" + "}" * 200]
    marked = tomlkit.dumps(changed(content, place, MARK))
    return marked.replace(f'"{MARK}"', draw(st.sampled_from(tokens))).encode()


ATTACKS |= {
    "map/study.toml": ["choose", "map"],
    "hierarchies.toml": [
        *("anonymize", "t.csv", "--quasi", "age,zip", "--sensitive", "ill", "--require", "k-anonymity k=4"),
        *("--hierarchies", "hierarchies.toml", "--to", "new.csv"),
    ],
}


@pytest.mark.parametrize("name", ATTACKS)
@QUICKLY
@given(data=st.data())
def test_a_damaged_document_ends_in_a_sentence(name, made, tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp() / f"attacked-{Path(name).name}"
    attacked(made, folder, name, ATTACKS[name], data, damaged_json if name.endswith(".json") else damaged_toml)


@pytest.mark.parametrize("reader", [read_mapping, read_certificate, read_legend, sfumato.read_hierarchies])
@pytest.mark.parametrize("content", [None, "", " \n", b"\xff\xfe{}", "[" * DEEP, "{", LONG, "null", "[]", "7", '"x"'])
def test_what_is_no_document_of_ours_is_refused_by_name(reader, content, tmp_path):
    path = tmp_path / "document"
    if content is None:
        if reader is not sfumato.read_hierarchies:  # a folder of level tables is fine
            path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content)
    with pytest.raises(sfumato.BadInputError, match="document"):
        reader(path)


def test_a_place_in_a_document_is_named():
    shape = documents.fields(
        {"points": documents.listed(documents.fields({"measures": documents.mapped(documents.number)}))}
    )
    text = '{"points": [{"measures": {"k": 3}}, {"measures": {"two words": "x"}}]}'
    with pytest.raises(sfumato.BadInputError, match=r"f: not a thing \(points\[1\]\.measures\.'two words' must"):
        documents.parse_json(text, "f", "a thing", shape)


@pytest.mark.parametrize(
    "change, said",
    [
        ({"lo": [[-1, 0]], "hi": [[3, 1]]}, r"lo\[0\]\[0\] must be a whole number"),
        ({"lo": [[0, 0]], "hi": [[3, 9]]}, "box 1 has 0 to 9 in column 'zip', whose leaves are 0 to 1"),
        ({"lo": [[3, 0]], "hi": [[2, 1]]}, "box 1 has 3 to 2 in column 'age'"),
        ({"lo": [[0, 0]], "hi": []}, "as many lower as upper ends"),
        ({"lo": [[0]], "hi": [[3]]}, r"lo\[0\] must be a list of 2"),
        ({"levels": [0, 99], "lo": [], "hi": []}, "column 'zip' has no level 99"),
        ({"levels": [0], "lo": [], "hi": []}, "one level for each of 2"),
        ({"hierarchies": {}}, "no hierarchy of the quasi-identifier 'age'"),
        ({"requirement": "k-anonymity k=0"}, "mapping"),
    ],
)
def test_a_mapping_stays_within_its_domains(change, said, made, tmp_path):
    content = json.loads((made / "mapping.json").read_text())
    content = {key: value for key, value in content.items() if not key.startswith("core_")}
    (tmp_path / "mapping.json").write_text(json.dumps(content | change))
    with pytest.raises(sfumato.BadInputError, match=said) as refused:
        read_mapping(tmp_path / "mapping.json")
    assert str(refused.value).startswith(str(tmp_path / "mapping.json"))


def test_levels_that_do_not_rise_are_no_hierarchy():
    level = sfumato.data.hierarchies.hierarchy.Level
    leaves = level((0, 1, 2, 3), ("a", "b", "c", "d"))
    for starts in ((0, 3, 2), (0, 2, 2), ()):
        with pytest.raises(sfumato.BadInputError, match="not a tree"):
            sfumato.Hierarchy((leaves, level(starts, ("x", "y", "z")[: len(starts)]), level((0,), ("*",))), (1.0,) * 4)


@QUICKLY
@given(data=st.data())
def test_a_damaged_cache_is_measured_anew(made, tmp_path_factory, data):
    cache = tmp_path_factory.getbasetemp() / "cache.jsonl"
    lines = (made / "map/cache.jsonl").read_text().splitlines()
    damaged = data.draw(damaged_json(lines[0]))
    cache.write_bytes(b"\n".join([damaged, *(line.encode() for line in lines[1:])]) + b"\n")
    kept, whole = Cache(cache), [json.loads(line) for line in lines[1:] if '"point"' in line]
    candidate = sfumato.read_study("adult").candidates[0]
    assert all(kept.point(entry["key"], candidate).status == entry["point"]["status"] for entry in whole)


def test_a_checkpoint_that_was_changed_is_not_believed(tmp_path):
    path = tmp_path / "checkpoint.npz"
    state = json.dumps(np.random.default_rng(1).bit_generator.state)
    write_checkpoint(path, "key", Snapshot(3, np.zeros((1, 3), np.uint8), np.zeros((1, 5)), False, random=state))
    assert read_checkpoint(path, "other") is None
    assert read_checkpoint(path, "key").random == state
    with np.load(path) as held:
        arrays = dict(held)
    for name in [name for name in arrays if name != "key"]:
        for wrong in (None, -1, "[" * DEEP, [], ["x"], 10**30):
            np.savez(path, **{**arrays, name: np.array(wrong)})
            with pytest.raises(ValueError):
                read_checkpoint(path, "key")


def test_a_legend_must_list_texts(tmp_path):
    baskets = sfumato.read_baskets(io_lines(tmp_path, ["a b", "a b", "b c", "a c"]))
    wanted = "km-anonymity k=2 m=1"
    release = sfumato.anonymize(baskets, wanted)
    content, path = basket_mapping(release, wanted), tmp_path / "m.json"
    path.write_text(json.dumps(content))
    assert read_legend(path)
    for wrong in (None, 7, [None], {"x": "abc"}, {"x": None}, {"x": [7]}):
        path.write_text(json.dumps(content | {"published": wrong}))
        with pytest.raises(sfumato.BadInputError, match=r"m\.json: not a legend, a mapping or a certificate .* \(publ"):
            read_legend(path)


def io_lines(folder, lines):
    path = folder / "baskets.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


# -- encodings -------------------------------------------------------------------------------------------------

NO_FILES = ["punycode", "idna", "undefined", "unicode_escape", "raw-unicode-escape"]
NO_TEXTS = ["base64", "rot13", "hex", "zlib", "uu", "aliases", "", "x" * 3000, "utf-8\0", "\ud800", "é", "../utf_8"]


@pytest.mark.parametrize("encoding", [*NO_FILES, *NO_TEXTS])
def test_what_is_no_encoding_of_text_files_is_refused(encoding):
    with pytest.raises(sfumato.BadInputError, match="unknown encoding"):
        text_encoding(encoding)


def test_every_command_refuses_what_is_no_encoding(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "t.csv", DEGENERATE["independent"])
    io_lines(tmp_path, ["a b", "a b"])
    for words in (
        ["anonymize", "t.csv", "--quasi", "age", "--require", "k-anonymity k=2", "--to", "new.csv"],
        ["audit", "t.csv", "--quasi", "age"],
        ["audit", "baskets.txt", "--baskets"],
        ["check", "baskets.txt", "--baskets"],
        ["init", "t.csv", "--to", "new.toml"],
    ):
        code, said = told(*words, "--set", "encoding=punycode")
        assert code == 2 and "unknown encoding 'punycode'" in said, said
    assert files_in(tmp_path) == ["baskets.txt", "t.csv"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-32-be", "cp037", "utf-7"])
def test_encodings_of_text_files_are_read(encoding, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes("age,ill\n20,flu\n20,cold\n".encode(encoding))
    code, said = told("audit", "t.csv", "--quasi", "age", "--set", f"encoding={encoding}", "--json")
    assert code == 0 and json.loads(said)["records"] == 2


# -- low memory ------------------------------------------------------------------------------------------------


LACKS = [
    MemoryError(),
    RuntimeError("can't start new thread"),
    OSError(12, "Cannot allocate memory"),
    ImportError("libx.so: failed to map segment from shared object"),
]


@pytest.mark.parametrize("error", LACKS, ids=lambda error: type(error).__name__)
def test_a_lack_of_memory_is_told_as_such(error, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(cli, "app", fail)
    code, said = told("datasets")
    assert code == 2 and "not enough memory" in said and "Traceback" not in said


def test_duckdbs_lack_of_memory_is_not_the_files_fault(tmp_path):
    import duckdb

    from sfumato.engines.duckdb.sources import load
    from sfumato.engines.protocol import Reading
    from sfumato.errors import BadInputError

    path = write_table(tmp_path / "t.csv", [(i, f"{i:0200}", "x") for i in range(20_000)])
    connection = duckdb.connect(config={"memory_limit": "2MB", "temp_directory": "", "threads": 1})
    with pytest.raises(BadInputError, match=r"no disk space is left.*--spill.*--memory") as told:
        load(connection, path, Reading())
    assert str(path) not in str(told.value)


def test_duckdb_keeps_to_the_limit_of_the_shell(monkeypatch):
    resource = pytest.importorskip("resource")

    from sfumato.engines.duckdb.sources import connect

    monkeypatch.setattr(resource, "getrlimit", lambda _: (2 << 30, 2 << 30))
    assert connect().execute("SELECT current_setting('memory_limit')").fetchone() == ("1.0 GiB",)


@pytest.fixture
def allow(monkeypatch):
    """Say how many bytes of address space the shell allows."""
    resource = pytest.importorskip("resource")
    for name in memory.THREADS:
        monkeypatch.setenv(name, "1")  # what is set in this process shall not outlive the test
    return lambda size: monkeypatch.setattr(resource, "getrlimit", lambda _: (size, size))


def test_too_narrow_a_limit_is_told_before_anything_is_begun(allow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "t.csv", DEGENERATE["independent"])
    allow(1 << 30)
    code, said = told("anonymize", "t.csv", "--quasi", "age", "--require", "k-anonymity k=2", "--to", "new.csv")
    assert code == 2 and "allows 1 GB of address space (ulimit -v), and 2 GB are needed" in said
    assert files_in(tmp_path) == ["t.csv"]


def test_figures_are_refused_before_the_work_where_they_could_not_be_drawn(allow, tmp_path, monkeypatch):
    """`explore` writes its map without pictures instead (`test_domains`)."""
    monkeypatch.chdir(tmp_path)
    allow(4 << 30)
    code, said = told("reproduce", "li-li-2009", "--out", "folder")
    assert code == 2 and "this shell allows fewer (ulimit -v)" in said, said
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("megabytes", [300, 750, 1500])
def test_a_real_limit_ends_in_a_sentence(megabytes, tmp_path):
    resource = pytest.importorskip("resource")
    size = megabytes << 20
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))  # noqa: E731
    write_table(tmp_path / "t.csv", DEGENERATE["independent"])
    words = ["check", "t.csv", "--quasi", "age,zip", "--sensitive", "ill"]
    done = started("-m", "sfumato", *words, text=True, cwd=tmp_path, preexec_fn=limit)
    assert (done.returncode, done.stdout) == (2, "") and "not enough memory" in done.stderr, done.stderr


def test_a_point_that_lacked_memory_is_tried_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "t.csv", DEGENERATE["independent"])
    study, cache = sfumato.Study.from_toml(STUDY), tmp_path / "cache.jsonl"
    real = Candidate.repeatable

    def poor(candidate, *turn):
        if "k=4" in str(candidate.requirement):
            raise MemoryError
        return real(candidate, *turn)

    monkeypatch.setattr(Candidate, "repeatable", poor)
    failed = [point for point in sfumato.explore(study, cache).points if point.status == "failed"]
    assert [point.requirement for point in failed] == ["k-anonymity k=4"]
    assert "not enough memory" in failed[0].reason
    monkeypatch.setattr(Candidate, "repeatable", real)
    assert all(point.status == "measured" for point in sfumato.explore(study, cache).points)


# -- the threshold: Ctrl-C while importing, and closed pipes ---------------------------------------------------


def started(*words, **options):
    return subprocess.run([sys.executable, *words], capture_output=options.pop("capture_output", True), **options)


@pytest.mark.parametrize(
    "module", ["typer", "sfumato.commands", "sfumato.runtime.cancellation", "sfumato.commands.app"]
)
def test_an_interruption_while_importing_ends_in_a_word(module):
    program = f"""
import builtins, sys
real = builtins.__import__
def interrupted(name, *rest):
    if name == {module!r}:
        raise KeyboardInterrupt
    return real(name, *rest)
builtins.__import__ = interrupted
from sfumato.__main__ import main
main()
"""
    done = started("-c", program, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "sfumato: stopped\n")


def test_nothing_slow_is_loaded_before_interruptions_are_caught():
    program = "import sys; before = set(sys.modules); import sfumato.__main__; print(*set(sys.modules) - before)"
    loaded = set(started("-c", program, text=True).stdout.split())
    assert loaded <= {"__future__", "sfumato", "sfumato.__main__"}
    project = Path(sfumato.__file__).parents[2] / "pyproject.toml"
    assert tomllib.loads(project.read_text())["project"]["scripts"]["sfumato"] == "sfumato.__main__:main"


@pytest.mark.parametrize(("words", "code"), [(["--version"], 0), (["datasets", "--no-such-option"], 2)])
def test_what_was_registered_for_the_end_is_done_and_said(words, code):
    program = f"""
import atexit, sys
atexit.register(print, "removed")
sys.argv = ["sfumato", *{words}]
from sfumato.__main__ import main
main()
"""
    done = started("-c", program, text=True)
    assert done.returncode == code and done.stdout.endswith("removed\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no file that is always full")
def test_output_that_cannot_be_written_is_no_success():
    with Path("/dev/full").open("w") as full:
        streams = {"stdout": full, "stderr": subprocess.PIPE, "text": True, "capture_output": False}
        done = started("-m", "sfumato", "--version", **streams)
    assert done.returncode != 0 and "No space left on device" in done.stderr


ROLES = ["--quasi", "age,zip", "--sensitive", "ill"]
PRINTING = {
    "datasets": ["--json"],
    "options": [],
    "init": ["t.csv", "--to", "new.toml"],
    "check": ["t.csv", *ROLES],
    "hierarchy": ["t.csv", "age"],
    "policy": ["t.csv", "--baskets", "--set", "lines=yes", "--rare", "2", "--to", "known.txt"],
    "explore": ["study.toml", "--out", "map"],
    "ask": ["map", "k"],
    "choose": ["map"],
    "release": ["map", "--point", "ID", "--to", "new.csv"],
    "apply": ["mapping.json", "t.csv", "--to", "new.csv"],
    "anonymize": ["t.csv", *ROLES, "--require", "k-anonymity k=4", "--to", "new.csv"],
    "audit": ["out.csv", *ROLES, "--certificate", "out.csv.certificate.json"],
    "reproduce": ["--help"],
    "serve": ["--help"],
}
"""Every command, with something to print; those that take minutes, or go on until they are ended, print their help."""


@pytest.mark.parametrize("command", [command.__name__ for command in COMMANDS])
def test_every_command_ends_quietly_when_nobody_reads(command, made, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(copytree(made, tmp_path / "copy"))
    words = [made_point(made) if word == "ID" else word for word in PRINTING[command]]
    monkeypatch.setattr(sys, "argv", ["sfumato", command, *words])
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as nobody, monkeypatch.context() as here:
        here.setattr(sys, "stdout", nobody)
        with pytest.raises(SystemExit) as end:
            cli.main()
    said = capsys.readouterr().err
    assert end.value.code == 141 and "Traceback" not in said and "sfumato:" not in said, said


@pytest.mark.parametrize("words", [["--version"], ["datasets"], ["audit", "out.csv", *ROLES]])
def test_a_closed_pipe_ends_quietly_with_the_shells_code(words, made):
    reading, writing = os.pipe()
    os.close(reading)
    pipes = {"stdout": writing, "stderr": subprocess.PIPE, "text": True, "capture_output": False}
    done = started("-m", "sfumato", *words, **pipes, cwd=made)
    os.close(writing)
    assert done.returncode == 141 and "Traceback" not in done.stderr and "Error" not in done.stderr, done.stderr


def test_a_closed_pipe_for_errors_ends_quietly_too():
    reading, writing = os.pipe()
    os.close(reading)
    done = started("-m", "sfumato", "nonsense", stderr=writing, stdout=subprocess.PIPE, text=True, capture_output=False)
    os.close(writing)
    assert (done.returncode, done.stdout) == (141, "")
