"""Members of a household show the same value of what they share: read off the written file, row by row.

A neutral column names every record, so a test sees which published row is whose; nobody else does.
"""

from __future__ import annotations

import csv
import json
import random
import re
import tempfile
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from command_line import told
from sfumato.anonymizers.anonymizer import checked_households
from strategies import tries

QUASI = ["age", "kind", "sex", "zip"]
HIERARCHIES = {"zip": {"type": "numeric", "lower": 0, "upper": 30, "intervals": [3, 9]}}
REQUIREMENTS = [
    "k-anonymity k=2",
    "k-anonymity k=4",
    "l-diversity l=2 variant=distinct",
    "delta-disclosure delta=2 absent=ignore",
]


@st.composite
def households(draw, most=14):
    """Records of households that share zip and kind; some records have no household, some members lack the zip."""
    rows = []
    lacking = draw(st.sampled_from([0, 0, 1, 4]))
    for home in range(draw(st.integers(2, most))):
        zip_code, kind = draw(st.integers(0, 30)), draw(st.sampled_from(["flat", "house", "farm", None]))
        named = draw(st.integers(0, 9)) > 0
        for _ in range(draw(st.integers(1, 4))):
            own = (draw(st.integers(0, 9)), draw(st.sampled_from("mf")), draw(st.sampled_from("abc")))
            known = draw(st.integers(0, 9)) >= lacking
            rows.append((f"h{home}" if named else None, zip_code if known else None, kind, *own))
    rows.append((None, 0, "flat", 1, "m", "a"))
    rows.append((None, 30, "house", 2, "f", "b"))
    return [
        {"id": str(i), **dict(zip(("home", "zip", "kind", "age", "sex", "ill"), row, strict=True))}
        for i, row in enumerate(rows)
    ]


def table_of(rows, household="home", hierarchies=HIERARCHIES):
    columns = {name: pa.array([None if r[name] is None else str(r[name]) for r in rows]) for name in rows[0]}
    roles = {"quasi": QUASI, "sensitive": ["ill"], "neutral": ["id"], "household": household}
    return sfumato.read(pa.table(columns), hierarchies=hierarchies, **roles)


def written(release):
    """Write a release and read the rows back, by the record's name."""
    with tempfile.TemporaryDirectory() as folder:
        release.to_csv(Path(folder) / "r.csv")
        with (Path(folder) / "r.csv").open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        group = "group" if release.form == "bucketization" else None
        asked = {"original": release.table, "household": "home", "group": group}
        audited = sfumato.audit(Path(folder) / "r.csv", QUASI, ["ill"], **asked)
    assert all("home" not in row for row in rows)
    return {row["id"]: row for row in rows}, audited


def shared_of(rows):
    """The quasi-identifiers of which no household has two values, if any has several members that have one."""
    homes = defaultdict(list)
    for row in rows:
        homes[row["home"] or f"alone {row['id']}"].append(row)
    shared = []
    for name in QUASI if any(len(home) > 1 for home in homes.values()) else ():
        known = [[row[name] for row in home if row[name] is not None] for home in homes.values()]
        strict = all(len({row[name] for row in home}) == 1 for home in homes.values())
        if strict or (all(len(set(values)) <= 1 for values in known) and any(len(values) > 1 for values in known)):
            shared.append(name)
    return shared


def lack(rows, shared):
    """Whether anybody has no value of what is shared."""
    return any(row[name] is None for row in rows for name in shared if row["home"] is not None)


def homes_that_differ(rows, published, shared):
    """The households whose published members show several texts of what they share; that it is missing is none."""
    shows = defaultdict(set)
    for row in rows:
        for name in shared if row["home"] is not None and row["id"] in published else ():
            if text := published[row["id"]][name]:
                shows[row["home"], name].add(text)
    return {home for (home, _), seen in shows.items() if len(seen) > 1}


@tries(20)
@given(
    rows=households(),
    require=st.sampled_from(REQUIREMENTS),
    maker=st.sampled_from(
        [
            *("mondrian", "mondrian cut=loss", "mondrian ranges=tight", "mondrian ranges=region"),
            *("mondrian ranges=node", "full-domain"),
        ]
    ),
    form=st.sampled_from(["generalization", "generalization", "bucketization"]),
    suppress=st.sampled_from([0.0, 0.2, 0.5]),
    declared=st.booleans(),
)
def test_members_show_the_same_value_in_the_written_file(rows, require, maker, form, suppress, declared):
    table = table_of(rows, hierarchies=HIERARCHIES if declared else None)
    shared = shared_of(rows)
    assert table.shared_names == shared
    try:
        release = sfumato.anonymize(table, require, maker, form, suppress)
    except sfumato.SfumatoError as error:
        assert "would show different values" not in str(error)
        return
    published, audited = written(release)
    assert len(published) >= len(rows) * (1 - suppress) - 1e-9
    assert not homes_that_differ(rows, published, shared)
    assert audited.coverage is not None and audited.coverage.holds
    assert audited.households is not None and audited.households.shared == tuple(shared)
    if "ranges=node" not in maker and not lack(rows, shared):  # nodes may be nested
        assert audited.households.holds
    if form == "generalization":
        groups = Counter(tuple(row[name] for name in QUASI) for row in published.values())
        wanted = sfumato.requirement(require)
        assert groups.total() == release.assignment.records and len(groups) == release.groups
        assert not require.startswith("k-") or min(groups.values()) >= wanted.k


@tries(12)
@given(rows=households(), maker=st.sampled_from(["mondrian", "mondrian ranges=node", "local-recoding", "full-domain"]))
def test_what_the_audit_confirms_holds_row_by_row_whoever_made_the_file(rows, maker):
    table, plain = table_of(rows), table_of(rows, household=None)
    release = sfumato.anonymize(plain, "k-anonymity k=2", maker)
    published, audited = written(release)
    shared = shared_of(rows)
    own = audited.households
    assert own.shared == tuple(shared) == tuple(table.shared_names)
    homes = Counter(row["home"] for row in rows if row["home"] is not None)
    assert own.households == sum(members > 1 for members in homes.values())
    covering = {home: set() for home, members in homes.items() if members > 1}
    shown = [other for other in published.values() if any(other[name] != "*" for name in QUASI)]  # nothing but *: none
    shows = {tuple(other[name] for name in shared) for other in shown}
    for row in rows:
        for texts in shows if row["home"] in covering else ():
            if all(map(covers, shared, texts, [row] * len(shared))):
                seen = {pair for pair in zip(shared, texts, strict=True) if pair[1] or row[pair[0]] is not None}
                covering[row["home"]] |= seen
    assert own.confirmed == sum(len(seen) == len({name for name, _ in seen}) for seen in covering.values())
    if own.holds:
        assert not homes_that_differ(rows, published, shared)


def covers(name, text, row):
    """Say whether a published text of these tables covers a record's value, by the notations themselves."""
    value = "" if row[name] is None else str(row[name])
    if text in ("*", value):
        return True
    if text.startswith("{"):
        return any(covers(name, member.strip() or "{}", row) for member in text[1:-1].split(",")) or (
            value == "" and "?" in text
        )
    if name in ("zip", "age") and re.fullmatch(r"\d+(-|\.\.)\d+", text) and value:
        low, high = map(int, re.split(r"-|\.\.", text))
        return low <= int(value) <= high
    return False


# ---------------------------------------------------------------- what it is for

PAIRS = [
    {
        "id": str(2 * h + m),
        "home": f"h{h}",
        "zip": h,
        "kind": "flat",
        "age": 9 * m + h % 2,
        "sex": "mf"[m],
        "ill": "ab"[h % 2],
    }
    for h in range(12)
    for m in range(2)
]
"""Twelve couples, one old and one young each: whoever cuts ages first may cut zip codes differently on both sides."""


def test_without_a_household_column_two_boxes_of_one_value_can_be_intersected():
    uneven = [row for row in PAIRS if not (row["sex"] == "f" and row["zip"] in (0, 1, 2))]
    published, audited = written(sfumato.anonymize(table_of(uneven, household=None), "k-anonymity k=3"))
    assert homes_that_differ(uneven, published, ["zip"]) and not audited.households.holds
    published, audited = written(sfumato.anonymize(table_of(uneven), "k-anonymity k=3"))
    assert not homes_that_differ(uneven, published, ["zip"]) and audited.households.holds


def test_other_attributes_are_still_cut():
    release = sfumato.anonymize(table_of(PAIRS), "k-anonymity k=2")
    ages = {row["age"] for row in written(release)[0].values()}
    assert len(ages) > 1, "cutting zip to the end would leave no room for ages"
    plain = sfumato.measure(sfumato.anonymize(table_of(PAIRS, household=None), "k-anonymity k=2"))
    assert sfumato.measure(release).values["loss"] <= 3 * plain.values["loss"] + 0.1


def test_the_end_of_a_shared_range_is_no_value_of_a_suppressed_record():
    outlier = {"id": "x", "home": None, "zip": 30, "kind": "flat", "age": 5, "sex": "m", "ill": "a"}
    release = sfumato.anonymize(table_of([*PAIRS, outlier]), "k-anonymity k=3", suppress=0.05)
    published, _ = written(release)
    assert release.suppressed == 1 and "x" not in published
    assert not any("30" in row["zip"] for row in published.values())


def test_a_release_that_treats_members_differently_is_not_let_through():
    uneven = [row for row in PAIRS if not (row["sex"] == "f" and row["zip"] in (0, 1, 2))]
    plain = sfumato.anonymize(table_of(uneven, household=None), "k-anonymity k=3")
    differ = homes_that_differ(uneven, written(plain)[0], ["kind", "zip"])
    with pytest.raises(sfumato.InfeasibleError, match=f"members of {len(differ)} households would show different"):
        checked_households(replace(plain, table=table_of(uneven)))
    checked_households(plain)
    checked_households(sfumato.anonymize(table_of(uneven), "k-anonymity k=3"))


@pytest.mark.parametrize("maker", ["local-recoding", "mondrian mode=relaxed"])
def test_makers_that_cannot_do_it_are_refused_in_one_sentence(maker):
    with pytest.raises(sfumato.BadInputError, match="who share kind, zip; with a household column use mondrian"):
        sfumato.anonymize(table_of(PAIRS), "k-anonymity k=2", maker)
    assert sfumato.anonymize(table_of(PAIRS), "k-anonymity k=2", maker, "bucketization").suppressed == 0
    assert sfumato.anonymize(table_of(PAIRS, household=None), "k-anonymity k=2", maker).suppressed == 0


def test_the_column_has_no_other_role_than_an_identifiers():
    columns = pa.table({"home": ["1", "1", "2"], "age": ["1", "2", "3"]})
    for role in ("quasi", "sensitive", "neutral"):
        with pytest.raises(sfumato.BadInputError, match=f"'home' is named both {role} and household"):
            sfumato.read(
                columns, **{"quasi": ["age"], "household": "home", role: ["home"] + ["age"] * (role == "quasi")}
            )
    table = sfumato.read(columns, quasi=["age"], identifier=["home"], household="home")
    assert table.notices == () and table.published == ["age"]
    assert table.household_notices() == [
        "members of a household (home) share no quasi-identifier, so each is treated separately"
    ]


def without_zip(number, rows=PAIRS):
    """The couples, one member of some of which has no zip code."""
    return [{**row, "zip": None} if int(row["id"]) in {4 * i + 1 for i in range(number)} else row for row in rows]


@pytest.mark.parametrize("maker", ["mondrian", "mondrian ranges=region", "mondrian ranges=node", "full-domain"])
@pytest.mark.parametrize("number", [1, 3])
def test_one_missing_zip_does_not_switch_households_off(maker, number):
    rows = without_zip(number)
    table = table_of(rows)
    assert table.shared_names == ["kind", "zip"]
    assert table.household_notices()[1].startswith(f"column 'zip' is missing for {number} member")
    published, audited = written(sfumato.anonymize(table, "k-anonymity k=3", maker))
    assert len(published) == len(rows) and not homes_that_differ(rows, published, ["kind", "zip"])
    if maker == "mondrian" and number == 1:
        assert len({row["zip"] for row in published.values()}) > 1, "the others' zip codes are still told apart"
    assert audited.households.shared == ("kind", "zip") and audited.coverage.holds


def test_a_member_who_lacks_one_thing_shows_the_same_of_another():
    """Who shows a smaller range of the zip code than the others, because a second shared value is missing, is found."""
    rows = [{**row, "kind": None if row["id"] == "1" else "house" if int(row["zip"]) > 5 else "flat"} for row in PAIRS]
    table = table_of(rows)
    assert table.shared_names == ["kind", "zip"]
    release = sfumato.anonymize(table, "k-anonymity k=2")
    published, _ = written(release)
    assert published["0"]["zip"] == published["1"]["zip"]
    plain = sfumato.anonymize(table_of(rows, household=None), "k-anonymity k=2")
    differ = homes_that_differ(rows, written(plain)[0], ["kind", "zip"])
    if differ:
        with pytest.raises(sfumato.InfeasibleError, match=f"members of {len(differ)} households would show"):
            checked_households(replace(plain, table=table))


def test_a_column_that_only_one_member_of_every_household_has_is_not_shared():
    rows = [{**row, "age": row["age"] if row["sex"] == "m" else None} for row in PAIRS]
    table = table_of(rows)
    assert table.shared_names == ["kind", "zip"]
    two = [{**row, "age": int(row["id"]), "zip": 5} for row in rows if row["sex"] == "m"]
    two += [{**row, "zip": 5} for row in rows if row["sex"] == "f"][:2]
    published, _ = written(sfumato.anonymize(table_of(two), "k-anonymity k=3"))
    assert homes_that_differ(two, published, ["age"]), "so a certificate may not promise it of such a column"
    assert sfumato.check(table_of(without_zip(1)), household="home").shared == ("kind", "zip")


def test_a_column_that_a_few_households_do_not_share_is_told():
    rows = [dict(row) for row in PAIRS]
    rows[0]["zip"] = 5
    table = table_of(rows)
    assert table.shared_names == ["kind"]
    assert table.household_notices()[1].startswith("column 'zip' differs within 1 households")


# ---------------------------------------------------------------- by the command line


def write(path, rows):
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("seed", range(6))
def test_the_audit_confirms_households_under_rounded_ranges(tmp_path, seed):
    draw, rows = random.Random(seed), []
    for home in range(draw.randrange(20, 60)):
        shared = {
            "home": f"h{home}",
            "zip": draw.randrange(10_000, 12_000),
            "since": f"{draw.randrange(1990, 2020)}-03-09",
        }
        rows += [{**shared, "age": draw.randrange(90), "ill": draw.choice("abc")} for _ in range(draw.randrange(1, 5))]
    rows = [{**row, "id": place} for place, row in enumerate(rows)]
    table, to = write(tmp_path / "t.csv", rows), tmp_path / "r.csv"
    words, k = ("--quasi", "zip,since,age", "--sensitive", "ill"), 2 + seed % 3
    asked = (*words, "--household", "home", "--require", f"k-anonymity k={k}")
    code, output = told("anonymize", table, *asked, "--neutral", "id", "--suppress", 0.1 * (seed % 2), "--to", to)
    assert code == 0, output
    code, output = told("audit", to, *asked, "--original", table)
    assert code == 0, output
    with to.open(newline="") as stream:
        published = {row["id"]: row for row in csv.DictReader(stream)}
    assert not homes_that_differ([{**row, "id": str(row["id"])} for row in rows], published, ["since", "zip"])
    assert min(Counter((row["zip"], row["since"], row["age"]) for row in published.values()).values()) >= k
    assert len({row["zip"] for row in published.values()}) > 3


def test_anonymize_and_audit(tmp_path):
    table, to = write(tmp_path / "t.csv", PAIRS), tmp_path / "r.csv"
    words = ("--quasi", "age,kind,sex,zip", "--sensitive", "ill")
    code, output = told("anonymize", table, *words, "--household", "home", "--require", "k-anonymity k=3", "--to", to)
    assert code == 0 and "show the same value of what they share: kind, zip" in output
    assert to.read_text().splitlines()[0] == "zip,kind,age,sex,ill"
    code, output = told("audit", to, *words, "--original", table, "--household", "home")
    assert code == 0 and "One published combination of these covers each of them" in output
    code, output = told("audit", to, *words, "--household", "home")
    assert code == 2 and "give the table it was made of too (--original)" in output
    plain = tmp_path / "p.csv"
    assert told("anonymize", table, *words, "--require", "k-anonymity k=3", "--to", plain)[0] == 0
    code, output = told("audit", plain, *words, "--original", table, "--household", "home", "--json")
    found = json.loads(output[output.index("{") :])
    assert code == (0 if found["households"]["confirmed"] == 12 else 1)


def test_a_study_with_households_from_init_to_the_certificate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{("household_id" if k == "home" else k): v for k, v in row.items()} for row in PAIRS * 2]
    rows = [row | {"id": str(place)} for place, row in enumerate(rows)]
    write(tmp_path / "t.csv", rows)
    assert told("init", "t.csv")[0] == 0
    text = (tmp_path / "study.toml").read_text()
    assert 'household = "household_id"' in text
    study = sfumato.Study.from_toml(text, "study.toml")
    assert study.table.household == "household_id"
    assert sfumato.Study.from_toml(study.to_toml()).table == study.table
    code, output = told("check", "study.toml")
    assert code == 0 and "households by 'household_id'" in output and "By 'household_id'" not in output
    (tmp_path / "study.toml").write_text(text.replace('"mondrian",', '"mondrian",\n    "local-recoding",'))
    code, output = told("check", "study.toml")
    assert code == 1 and "local-recoding may publish different values for members of one household" in output
    (tmp_path / "study.toml").write_text(text)
    assert told("explore", "study.toml", "--out", "map", "--workers", "1")[0] == 0
    points = json.loads((tmp_path / "map/points.json").read_text())["points"]
    chosen = next(p for p in points if p["anonymizer"] == "mondrian" and p["status"] == "measured")
    code, output = told("release", "map", "--point", chosen["id"], "--to", "r.csv", "--mapping", "m.json")
    assert code == 0, output
    for kind in ("certificate", "certificate-public"):
        promise = json.loads((tmp_path / f"r.csv.{kind}.json").read_text())["promise"]["households"]
        assert set(promise) == {"in_words"}  # what members share, only the table tells
        assert (
            "that never differs within a household of the table and that two members have somewhere;"
            in promise["in_words"]
        )
        assert promise["in_words"][1:] in (tmp_path / f"r.csv.{kind}.html").read_text()
    own = json.loads((tmp_path / "r.csv.certificate.json").read_text())
    assert own["internal"]["households"] == {"same_value_of": ["zip"], "confirmed_on_the_file": True}
    assert told(*own["verify"][1:])[0] == 0
    assert told("apply", "m.json", "t.csv", "--to", "again.csv")[0] == 0
