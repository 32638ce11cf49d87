"""The audit as a gate: text as published, rows of `*` counted, no empty requirement, and a plain reader that agrees."""

import datetime
import itertools
import json
import math
import tempfile
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from command_line import told
from strategies import tries
from test_audit import records, write

pytestmark = pytest.mark.quick

ENDS = ["", " ", "&", " & & "]


@pytest.fixture
def flat(tmp_path):
    return write(tmp_path / "out.csv", records("age ill", "3 flu", "3 none", "4 flu", "4 none"))


@pytest.mark.parametrize("text", ENDS)
def test_an_empty_requirement_is_refused(flat, text):
    code, said = told("audit", flat, "--quasi", "age", "--sensitive", "ill", "--require", text)
    assert code == 2 and "is empty" in said
    with pytest.raises(sfumato.BadInputError, match="is empty"):
        sfumato.audit(flat, "age", "ill", require=text)
    with pytest.raises(sfumato.BadInputError, match="is empty"):
        sfumato.requirement(text)


@pytest.mark.parametrize("text", ENDS)
def test_an_empty_requirement_of_baskets_is_refused(tmp_path, text):
    (tmp_path / "b.txt").write_text("a b\na b\n")
    code, said = told("audit", tmp_path / "b.txt", "--baskets", "--require", text)
    assert code == 2 and said


# ---------------------------------------------------------------- text as published


def group_sizes(found):
    """Count groups and the smallest of them."""
    return found.groups, found["k"], found.uniques


def sizes(keys):
    """Count groups from a plain list of keys."""
    counts = Counter(keys)
    return len(counts), min(counts.values()), sum(count == 1 for count in counts.values())


def raw(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "tokens",
    [
        ("9007199254740993", "9007199254740992.0"),
        ("1", "1.0", "1e0", "1E0", "1.00"),
        ('"2020-01-01T00:00:00Z"', '"2020-01-01T01:00:00+01:00"', '"2020-01-01 00:00:00"', '"2020-01-01"'),
        ("null", '""'),
        ("1", '"1"'),
        ("true", '"true"', "1"),
        ("0.1", "0.10", "0.1000000000000000055511151231257827"),
        ('"1"', '"01"', '"1 "', '" 1"'),
        ("-0", "0", "-0.0", "0.0"),
        ('"null"', "null"),
        ("[1,2]", '"[1,2]"', "[1.0,2]", "[[1],2]"),
        ('"\\"\\""', '""', "null"),
    ],
)
@pytest.mark.parametrize("lines", [False, True])
def test_tokens_of_json_that_differ_are_different_groups(tmp_path, tokens, lines):
    objects = [f'{{"q": {token}, "s": "{s}"}}' for token in tokens for s in "ab"]
    name, text = ("x.jsonl", "\n".join(objects)) if lines else ("x.json", f"[{', '.join(objects)}]")
    found = sfumato.audit(raw(tmp_path / name, text), "q", "s", require="k-anonymity k=2")
    assert group_sizes(found) == (len(tokens), 2, 0) and found.holds
    assert not sfumato.audit(tmp_path / name, "q", "s", require="k-anonymity k=3").holds


class Number(str):
    """A number as it is written."""


def plainly_read_json(text):
    """Read objects with another parser's hooks: numbers as their tokens, kept apart from texts."""
    found = json.loads(text, parse_float=Number, parse_int=Number, parse_constant=Number)
    return [{name: (type(value).__name__, value) for name, value in row.items()} for row in found]


tokens = st.one_of(
    st.integers(-3, 3).map(str),
    st.sampled_from(["1.0", "1e0", "0.0", "-0", "1.00", "9007199254740993", "9007199254740992.0", "1E400", "true"]),
    st.sampled_from(["null", "false", '""', '"1"', '"true"', '"*"', '"null"', '"1.0"', '"\\u0031"', '"é"', '"\\""']),
    st.text(max_size=2).filter(lambda text: text.isprintable()).map(json.dumps),
)


@tries(30)
@given(st.lists(st.tuples(tokens, tokens), min_size=1, max_size=12), st.booleans())
def test_groups_of_json_are_those_of_a_plain_reader(rows, spaced):
    blank = " \n " if spaced else ""
    text = "[" + ",".join(f'{{"a":{blank}{a},"b":{b}{blank}}}' for a, b in rows) + "]"
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = sfumato.audit(raw(Path(folder) / "x.json", text), ["a", "b"], suppressed="keep")
        except sfumato.BadInputError as error:
            assert "Unicode" in str(error)
            return
    assert group_sizes(found) == sizes([tuple(row.items()) for row in plainly_read_json(text)])


values = {
    "text": (pa.string(), st.sampled_from(["", "a", "A", " a", '""', "NULL", "*"])),
    "double": (pa.float64(), st.sampled_from([0.0, -0.0, 0.1, 0.1 + 0.2, 0.3, 1.0, 1e22, 1e300, 2.0**53])),
    "float": (pa.float32(), st.sampled_from([0.0, 1.5, 16777216.0, 3.0])),
    "whole": (pa.int64(), st.sampled_from([0, 1, 2**53, 2**53 + 1, -(2**63)])),
    "decimal": (pa.decimal128(20, 3), st.sampled_from([Decimal("1.100"), Decimal("1.101"), Decimal("-1")])),
    "instant": (
        pa.timestamp("us", "Europe/Berlin"),
        st.integers(0, 4).map(lambda h: datetime.datetime(2020, 10, 25, h, tzinfo=datetime.UTC)),
    ),
    "nanoseconds": (pa.timestamp("ns"), st.integers(0, 3)),
    "day": (pa.date32(), st.integers(0, 3)),
    "flag": (pa.bool_(), st.booleans()),
    "bytes": (pa.binary(), st.sampled_from([b"", b"\\", b"\\x5C", b"\x00", b"a"])),
}


def plainly(cell):
    """Return what tells a value of a Parquet file apart: bits of a number, the count of units since 1970."""
    value = cell.value if pa.types.is_timestamp(cell.type) else cell.as_py()
    return value.hex() if isinstance(value, float) else value


@tries(25)
@given(st.data())
def test_groups_of_parquet_are_those_of_a_plain_reader(data):
    kinds = data.draw(st.lists(st.sampled_from(sorted(values)), min_size=1, max_size=3, unique=True))
    n = data.draw(st.integers(1, 10))
    columns = {}
    for kind in kinds:
        type_, drawn = values[kind]
        columns[kind] = pa.array(data.draw(st.lists(st.none() | drawn, min_size=n, max_size=n)), type_)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        pq.write_table(pa.table(columns), path)
        found = sfumato.audit(path, kinds, suppressed="keep")
        again = sfumato.audit(pa.table(columns), kinds, suppressed="keep")
        rows = pq.read_table(path)
        keys = [tuple(plainly(rows[kind][i]) for kind in kinds) for i in range(n)]
    assert group_sizes(found) == sizes(keys) == group_sizes(again)


def test_what_misses_and_what_is_empty_are_told_apart_and_shown(tmp_path):
    pq.write_table(pa.table({"q": ["", None, "", None, "x", "x"], "s": list("ababab")}), tmp_path / "x.parquet")
    found = sfumato.audit(tmp_path / "x.parquet", "q", "s", require="k-anonymity k=3")
    assert found.failures[0].groups == 3
    assert {group.shows["q"] for group in found.worst} == {"", '""', "x"}
    assert any("were distinguished" in notice for notice in found.notices)
    json.loads(found.to_json())
    code, said = told("audit", tmp_path / "x.parquet", "--quasi", "q", "--sensitive", "s", "--set", "missing=any")
    assert code == 0 and '""' in said
    covered = sfumato.audit(tmp_path / "x.parquet", "q", "s", original=tmp_path / "x.parquet")
    assert covered.coverage.holds
    pq.write_table(pa.table({"q": ["a"] * 4, "s": ["", None, "x", "x"]}), tmp_path / "y.parquet")
    found = sfumato.audit(tmp_path / "y.parquet", "q", "s")
    assert found["l_distinct"] == 2 and any("counted as one value" in notice for notice in found.notices)


def test_quoted_and_bare_empty_fields_of_csv_are_one_value(tmp_path):
    path = raw(tmp_path / "x.csv", 'q,s\n"",a\n,b\n')
    assert group_sizes(sfumato.audit(path, "q", "s")) == (1, 2, 0)


def test_lists_and_records_cannot_be_grouped_by(tmp_path):
    pq.write_table(pa.table({"q": [["a"], ["b"]], "s": list("ab"), "r": [{"a": 1}] * 2}), tmp_path / "x.parquet")
    for name in "qr":
        code, said = told("audit", tmp_path / "x.parquet", "--quasi", name)
        assert code == 2 and "lists or records" in said and repr(name) in said
    assert sfumato.audit(tmp_path / "x.parquet", "s")["k"] == 1
    wide = pa.array([Decimal(1)], pa.decimal256(60, 2))
    pq.write_table(pa.table({"q": wide}), tmp_path / "y.parquet")
    code, said = told("audit", tmp_path / "y.parquet", "--quasi", "q")
    assert code == 2 and "60 digits" in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[{"a": 1}', "no JSON"),
        ("[1, 2]", "no object"),
        ('{"a": 1, "a": 2}', "appears twice"),
        ('[{"a": 1}] {"a": 2}', "after the end"),
        ('{"a": "\\ud800"}', "Unicode"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ("[]", "no column"),
        ("{}", "no column"),
        ("hello", "no JSON"),
        ('{"a": 1} x', "no JSON"),
    ],
)
def test_json_that_is_no_table_is_one_sentence(tmp_path, text, why):
    code, said = told("audit", raw(tmp_path / "x.json", text), "--quasi", "a")
    assert code == 2 and why in said and "x.json" in said


def test_long_numbers_and_long_files_of_json_are_read(tmp_path):
    number = "1" * 5000
    rows = [{"a": "x" * 3000, "b": i % 3} for i in range(1500)]  # several chunks
    text = "\n".join(map(json.dumps, rows)) + f'\n{{"b": {number}}}\n'
    found = sfumato.audit(raw(tmp_path / "x.ndjson", text), ["a", "b"])
    assert (found.records, found.groups, found.uniques) == (1501, 4, 1)


# ---------------------------------------------------------------- rows that show nothing


def test_rows_of_stars_count_where_a_requirement_decides(tmp_path):
    lines = [*records("age zip ill", "3 8 flu", "3 8 none", "3 8 flu"), *records("age zip ill", "* * HIV")]
    path = write(tmp_path / "x.csv", lines)
    about = ("--quasi", "age,zip", "--sensitive", "ill")
    code, said = told("audit", path, *about, "--require", "k-anonymity k=2")
    assert code == 1 and "FAILS" in said and "counted as a group" in said
    code, said = told("audit", path, *about, "--require", "k-anonymity k=2", "--suppressed", "leave-out")
    assert code == 0 and "left out" in said
    code, said = told("audit", path, *about)
    assert code == 0 and "left out" in said
    code, said = told("audit", path, *about, "--require", "k-anonymity k=2", "--suppressed", "keep")
    assert code == 1 and "as asked" in said


# ---------------------------------------------------------------- values that look alike


def test_sensitive_values_that_differ_in_blanks_or_case_are_told(tmp_path):
    path = write(tmp_path / "x.csv", [{"q": "a", "s": s} for s in ["HIV", "hiv ", "H IV", "flu"]])
    found = sfumato.audit(path, "q", "s")
    assert found["l_distinct"] == 4
    [notice] = [notice for notice in found.notices if "look alike" in notice]
    assert all(repr(value) in notice for value in ("HIV", "hiv ", "H IV")) and "'flu'" not in notice
    path = write(tmp_path / "y.csv", [{"q": "a", "s": s} for s in ["HIV", "flu"]])
    assert not any("look alike" in notice for notice in sfumato.audit(path, "q", "s").notices)


# ---------------------------------------------------------------- sensitive values in disguise

DISTINCT = "l-diversity l=2 variant=distinct"
DISGUISES = {
    "case": "hiv",
    "star": "*",
    "full-width star": "\uff0a",
    "missing": "",
    "set": "{HIV, HIV}",
    "set of others": "{flu, HIV}",
    "zero-width": "H\u200bIV",
    "soft hyphen": "HI\u00adV",
    "blank glyph": "\u2800HIV",
    "no-break blank": "HI\u00a0V",
    "full-width": "\uff28\uff29\uff36",
    "Cyrillic": "\u041d\u0406V",
    "Greek": "\u0397\u0399V",
}


def written(path, rows):
    """Write a file of ages and illnesses."""
    return write(path, [{"age": f"{age}", "ill": value} for age, value in rows])


def two_rows(tmp_path, *values):
    return written(tmp_path / "out.csv", [(3, value) for value in values])


@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=list(DISGUISES))
def test_a_disguised_value_makes_no_group_diverse(tmp_path, disguise):
    found = sfumato.audit(two_rows(tmp_path, "HIV", disguise), "age", "ill", require=DISTINCT)
    assert not found.holds and found.failures[0].achieved == "l=1"
    assert any("'ill'" in notice and ("look alike" in notice or "worst" in notice) for notice in found.notices)


@pytest.mark.parametrize("pair", [("1", "1.0"), ("1", "1e0"), ("0", "-0"), ("caf\u00e9", "cafe\u0301"), (".5", "0.50")])
def test_values_that_are_equal_as_numbers_or_texts_count_as_one(tmp_path, pair):
    assert not sfumato.audit(two_rows(tmp_path, *pair), "age", "ill", require=DISTINCT).holds
    assert sfumato.audit(two_rows(tmp_path, *pair), "age", "ill")["l_distinct"] == 2  # no gate: as they stand


@pytest.mark.parametrize(
    "pair", [("HIV", "flu"), ("1", "10"), ("1", "-1"), ("a", "\u00e4"), ("\u0440\u0430\u043a", "HIV")]
)
def test_values_that_differ_count_as_two(tmp_path, pair):
    found = sfumato.audit(two_rows(tmp_path, *pair), "age", "ill", require=DISTINCT)
    assert found.holds and not any("alike" in notice for notice in found.notices)


def test_a_missing_value_that_the_original_has_is_a_value(tmp_path):
    path = two_rows(tmp_path, "HIV", "")
    original = written(tmp_path / "in.csv", [(3, "HIV"), (3, ""), (4, "flu")])
    assert sfumato.audit(path, "age", "ill", original=original, require=DISTINCT).holds


def requirements_by_plain_definition(counts, shares):
    """Decide ten requirements for one group of counts against the table's shares, in fractions where possible."""
    n, present = sum(counts.values()), {value: count for value, count in counts.items() if count}
    p = {value: Fraction(count, n) for value, count in present.items()}
    ordered = sorted(present.values(), reverse=True)
    entropy = -sum(float(share) * math.log(share) for share in p.values())
    distance = sum(abs(p.get(value, 0) - share) for value, share in shares.items()) / 2
    rising, running, moved = sorted(shares), Fraction(0), Fraction(0)
    for value in rising[:-1]:
        running += p.get(value, 0) - shares[value]
        moved += abs(running)
    ratios = [abs(math.log(p[value] / shares[value])) if value in p else math.inf for value in shares]
    gains = {value: (p[value] - shares[value]) / shares[value] for value in p}
    return {
        "l-diversity l=2 variant=distinct": len(present) >= 2,
        "l-diversity l=3 variant=distinct": len(present) >= 3,
        "l-diversity l=2 variant=frequency": ordered[0] * 2 <= n,
        "l-diversity l=1.5 variant=entropy": entropy >= math.log(1.5) - 1e-9,
        "l-diversity l=2 variant=recursive c=2": ordered[0] < 2 * sum(ordered[1:]),
        "t-closeness t=0.3 distance=equal": distance <= Fraction(3, 10),
        "t-closeness t=0.2 distance=ordered": len(shares) == 1 or moved / (len(shares) - 1) <= Fraction(2, 10),
        "delta-disclosure delta=1": max(ratios) < 1 - 1e-9,
        "beta-likeness beta=1 variant=enhanced": all(
            gain <= min(1, -math.log(shares[value])) + 1e-9 for value, gain in gains.items()
        ),
        "alpha-k alpha=0.6 k=3": n >= 3 and Fraction(ordered[0], n) <= Fraction(6, 10),
    }


hidden = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "*", "", "{a, b}"]), min_size=1, max_size=5), min_size=1, max_size=3
)


@tries(50)
@given(hidden, st.data())
def test_a_group_is_judged_by_the_worst_values_that_it_may_hide(groups, data):
    """Against every way to fill in the open values, and not only against those that the audit tries."""
    certain = Counter(value for group in groups for value in group if value in "abc" and value)
    if not certain:
        return
    shares = {value: Fraction(count, sum(certain.values())) for value, count in certain.items()}
    expected = dict.fromkeys(requirements_by_plain_definition({"a": 1}, shares={"a": Fraction(1)}), True)
    for group in groups:
        known = [value for value in group if value in certain]
        for filled in itertools.product(certain, repeat=len(group) - len(known)):
            judged = requirements_by_plain_definition(Counter([*known, *filled]), shares)
            expected = {text: holds and judged[text] for text, holds in expected.items()}
    rows = [(number, value) for number, group in enumerate(groups) for value in group]
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder) / "out.csv", rows)
        for text in data.draw(st.permutations(sorted(expected)))[:4]:
            assert sfumato.audit(path, "age", "ill", require=text).holds == expected[text], text


# ---------------------------------------------------------------- at the boundary of each definition


def file_of_groups(tmp_path, *groups):
    """Write one group for each mapping of values to counts."""
    rows = [(age, value) for age, group in enumerate(groups) for value, count in group.items() for _ in range(count)]
    return written(tmp_path / "out.csv", rows)


BOUNDARIES = {
    "alpha-k asks for its k": ([{"a": 1, "b": 1}], "alpha-k alpha=0.5 k=2", "alpha-k alpha=0.5 k=3"),
    "enhanced beta takes the smaller bound": (
        [{"a": 9, "b": 1}, {"a": 1, "b": 9}],
        "beta-likeness beta=1 variant=basic",
        "beta-likeness beta=1 variant=enhanced",  # gain .8 above ln 2
    ),
    "entropy has no slack": (
        [{"a": 51, "b": 49}],
        "l-diversity l=1.999 variant=entropy",
        "l-diversity l=2 variant=entropy",  # short by .0002
    ),
    "recursive is strict": (
        [{"a": 2, "b": 2}],
        "l-diversity l=2 c=1.001 variant=recursive",
        "l-diversity l=2 c=1 variant=recursive",
    ),
    "t has no slack": (
        [{"a": 5, "b": 1}, {"a": 1, "b": 5}],
        "t-closeness t=0.33334 distance=equal",
        "t-closeness t=0.33333 distance=equal",  # 1/3
    ),
    "delta is strict": (
        [{"a": 3, "b": 1}, {"a": 1, "b": 3}],
        "delta-disclosure delta=0.69315",
        "delta-disclosure delta=0.6931471805599453",  # ln 2
    ),
}


@pytest.mark.parametrize(("groups", "holds", "fails"), BOUNDARIES.values(), ids=list(BOUNDARIES))
def test_the_gate_decides_exactly_at_the_boundary(tmp_path, groups, holds, fails):
    path = file_of_groups(tmp_path, *groups)
    assert sfumato.audit(path, "age", "ill", require=holds).holds
    assert not sfumato.audit(path, "age", "ill", require=fails).holds


def test_a_requirement_refuses_a_table_whose_values_look_alike(tmp_path):
    rows = [(age, value) for age in (3, 3, 4, 4) for value in ("HIV", "h\u0456v", "flu")]
    table = written(tmp_path / "in.csv", rows)
    with pytest.raises(sfumato.BadInputError, match=r"column 'ill'.*look alike.*write them alike"):
        sfumato.anonymize(table, DISTINCT, quasi="age", sensitive="ill")
    assert sfumato.anonymize(table, "k-anonymity k=2", quasi="age", sensitive="ill")
