"""Defects found by running other tools, each of them a promise here (see shared/PEERS.md)."""

import csv
import itertools
import math
import random
import re
import tomllib
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

import sfumato
from independent_checker import measures, read_rows, shares, violations

RECORDS = [
    ("21", "flu"),
    ("22", "cold"),
    ("23", "flu"),
    ("24", "cold"),
    ("41", "flu"),
    ("42", "flu"),
    ("43", "gout"),
    ("44", "cold"),
]


def frame(records=RECORDS):
    return pd.DataFrame(records, columns=["age", "disease"])


def original(records=RECORDS):
    return [{"age": age, "disease": disease} for age, disease in records]


def release_of(source, require="k-anonymity k=4", **how):
    table = sfumato.read(source, quasi=["age"], sensitive=["disease"], **how)
    return sfumato.anonymize(table, require)


def written(release, tmp_path, name="o.csv"):
    return release.to_csv(tmp_path / name, force=True)[0]


# ---------------------------------------------------------------- pycanon


def test_a_shuffled_frame_gives_the_same_measures_and_file(tmp_path):
    # pycanon takes row labels for positions: a shuffled frame gives a silently wrong t.
    plain = release_of(frame())
    expected = written(plain, tmp_path).read_bytes()
    for seed in range(5):
        shuffled = release_of(frame().sample(frac=1, random_state=seed))
        assert sfumato.measure(shuffled).values == sfumato.measure(plain).values
        assert written(shuffled, tmp_path, "s.csv").read_bytes() == expected
    found = measures(tmp_path / "o.csv", quasi="age", sensitive="disease", original=original())
    assert sfumato.measure(plain)["t_equal"] == pytest.approx(found["t_equal"])


def test_a_frame_after_dropping_rows_works(tmp_path):
    # pycanon crashes on a frame whose labels have gaps.
    kept = [record for i, record in enumerate(RECORDS) if i not in (0, 5)]
    dropped = release_of(frame().drop(index=[0, 5]), "k-anonymity k=3")
    expected = release_of(frame(kept), "k-anonymity k=3")
    assert sfumato.measure(dropped).values == sfumato.measure(expected).values
    assert written(dropped, tmp_path).read_bytes() == written(expected, tmp_path, "e.csv").read_bytes()


def test_records_with_a_missing_quasi_identifier_count_for_k(tmp_path):
    # pycanon leaves rows with a missing quasi-identifier out, so k is overstated.
    records = [("21", "flu"), ("21", "cold"), ("21", "gout"), (None, "flu")]
    release = release_of(frame(records), "k-anonymity k=1")
    assert release.groups == 2 and sfumato.measure(release)["k"] == 1
    rows = read_rows(written(release, tmp_path))
    assert Counter(row["age"] for row in rows) == {"21": 3, "": 1}
    wanted = release_of(frame(records), "k-anonymity k=2")
    assert sfumato.measure(wanted)["k"] == 4
    assert {row["age"] for row in read_rows(written(wanted, tmp_path))} == {"*"}


def test_recursive_diversity_begins_with_the_most_frequent_value():
    # pycanon sorts the wrong way round. Counts 5, 3, 2: r_1 < c (r_2 + r_3) is 5 < c 5, r_1 < c r_3 is 5 < c 2.
    records = [("1", "flu")] * 5 + [("1", "cold")] * 3 + [("1", "gout")] * 2
    for require, holds in [
        ("l-diversity l=2 variant=recursive c=1", False),
        ("l-diversity l=2 variant=recursive c=1.01", True),
        ("l-diversity l=3 variant=recursive c=2.5", False),
        ("l-diversity l=3 variant=recursive c=2.51", True),
        ("l-diversity l=4 variant=recursive c=1000", False),
    ]:
        if holds:
            assert release_of(frame(records), require).groups == 1
        else:
            with pytest.raises(sfumato.InfeasibleError, match="recursive"):
                release_of(frame(records), require)


def test_a_value_absent_from_a_group_makes_delta_infinite(tmp_path):
    # pycanon skips absent values where the definition gives infinity.
    release = release_of(frame())
    assert release.groups == 2
    assert sfumato.measure(release)["delta"] == math.inf
    rows = read_rows(written(release, tmp_path))
    groups = {row["age"]: {r["disease"] for r in rows if r["age"] == row["age"]} for row in rows}
    assert any("gout" not in values for values in groups.values())
    kept = release_of(frame(), "k-anonymity k=4 & delta-disclosure delta=5")
    assert kept.groups == 1 and sfumato.measure(kept)["delta"] == 0
    assert release_of(frame(), "k-anonymity k=4 & delta-disclosure delta=5 absent=ignore").groups == 2


# ---------------------------------------------------------------- anjana


def test_no_column_carries_the_row_number_or_the_order_of_the_input(tmp_path):
    # anjana's output carries a column with the original row number after suppression.
    records = [(str(20 + i % 3), "flu" if i % 2 else "cold") for i in range(60)] + [("90", "gout")]
    table = sfumato.read(frame(records), quasi="age", sensitive="disease")
    release = sfumato.anonymize(table, "k-anonymity k=5", suppress=0.05)
    assert release.suppressed == 1
    first = written(release, tmp_path)
    assert list(read_rows(first)[0]) == ["age", "disease"]
    random.Random(1).shuffle(records)
    again = sfumato.anonymize(
        sfumato.read(frame(records), quasi="age", sensitive="disease"),
        "k-anonymity k=5",
        "mondrian",
        "generalization",
        0.05,
    )
    assert written(again, tmp_path, "again.csv").read_bytes() == first.read_bytes()


def test_the_order_of_rows_says_nothing_about_the_input(tmp_path):
    # anjana again: an index, or rows in the order of the input, lead back to the persons.
    path = tmp_path / "t.csv"
    values = [f"v{i:03}" for i in range(100)]
    path.write_text("age,disease,n\n" + "".join(f"20,{i % 2},{value}\n" for i, value in enumerate(values)))
    table = sfumato.read(path, quasi="age", sensitive="disease", neutral="n")
    rows = read_rows(written(sfumato.anonymize(table, "k-anonymity k=2"), tmp_path))
    published = [row["n"] for row in rows]
    assert sorted(published) == values
    assert published != values and published != values[::-1]
    neighbours = sum(abs(int(a[1:]) - int(b[1:])) == 1 for a, b in itertools.pairwise(published))
    assert neighbours < 15, "about 2 of 99 by chance"


def test_suppression_is_spent_only_where_generalization_does_not_help():
    # anjana suppresses before it generalizes: 22,385 of 45,222 records dropped, nothing generalized.
    records = [(str(20 + i), "flu" if i % 2 else "cold") for i in range(20)]  # every record is unique
    table = sfumato.read(frame(records), quasi="age", sensitive="disease")
    for ranges, most in (("tight", 0.1), ("rounded", 0.25)):
        release = sfumato.anonymize(table, "k-anonymity k=2", f"mondrian ranges={ranges}", suppress=0.5)
        assert release.suppressed == 0
        assert sfumato.measure(release)["loss"] < most


def test_a_value_missing_from_a_hierarchy_is_a_sentence(tmp_path):
    # anjana: a bare KeyError.
    path = tmp_path / "people.csv"
    path.write_text("job,disease\nclerk,flu\nbaker,cold\nbaker,flu\npilot,flu\n")
    with pytest.raises(sfumato.BadInputError) as caught:
        sfumato.read(path, quasi="job", sensitive="disease", hierarchies={"job": [["Office", "clerk"], "pilot"]})
    message = str(caught.value)
    assert "\n" not in message
    for part in ("people.csv", "'job'", "'baker'", "row 2", "2 rows"):
        assert part in message


def test_an_infeasible_request_is_an_error_and_never_an_empty_table():
    # anjana prints a line and returns an empty frame.
    with pytest.raises(sfumato.InfeasibleError, match=r"k-anonymity k=9.*k=8"):
        release_of(frame(), "k-anonymity k=9")
    table = sfumato.read(frame(), quasi="age", sensitive="disease")
    with pytest.raises(sfumato.InfeasibleError, match=r"l=4.*l=3"):
        sfumato.anonymize(table, "l-diversity l=4 variant=distinct", suppress=1.0)
    with pytest.raises(sfumato.InfeasibleError):
        sfumato.anonymize(table, "k-anonymity k=9", suppress=1.0)


# ---------------------------------------------------------------- anonypy, anonypyx

TWO_KINDS = [(str(20 + i), "flu" if i < 16 else "cold") for i in range(32)] + [
    (str(20 + i), "cold" if i < 16 else "flu") for i in range(8, 24)
]


def test_the_threshold_t_is_kept_for_every_group(tmp_path):
    # anonypy overwrites the t threshold inside the loop: t=.3 and t=.01 give the same result.
    groups = {}
    for t in (0.5, 0.3, 0.1, 0.01):
        require = f"t-closeness t={t} distance=equal"
        release = release_of(frame(TWO_KINDS), require)
        groups[t] = release.groups
        how = {"quasi": "age", "sensitive": "disease", "original": original(TWO_KINDS)}
        assert violations(written(release, tmp_path), require, **how) == []
    assert groups[0.5] > groups[0.01] and groups[0.3] > groups[0.01]


@pytest.mark.parametrize("distance", ["equal", "ordered", "js"])
def test_t_means_the_distance_that_was_named(tmp_path, distance):
    # anonypyx: "t=.3" yields a true distance of .737 because another distance is meant.
    require = f"t-closeness t=0.2 distance={distance}"
    release = release_of(frame(TWO_KINDS), require)
    found = measures(written(release, tmp_path), quasi="age", sensitive="disease", original=original(TWO_KINDS))
    assert found[f"t_{distance}"] <= 0.2 + 1e-9
    assert sfumato.measure(release)[f"t_{distance}"] == pytest.approx(found[f"t_{distance}"])


def test_t_closeness_has_no_silent_distance_and_l_diversity_no_silent_variant():
    # anonypyx again: what changes a meaning must be said.
    with pytest.raises(sfumato.BadInputError, match="distance"):
        sfumato.requirement("t-closeness t=0.2")
    with pytest.raises(sfumato.BadInputError, match="variant"):
        sfumato.requirement("l-diversity l=2")


def test_a_misspelt_key_or_name_is_an_error_that_lists_the_known():
    # anonypyx swallows unknown keyword arguments, so a typo changes nothing.
    for text, wrong, known in [
        ("k-anonymity kk=10", "kk", "k"),
        ("k-anonymity k=10 l=3", "l", "k"),
        ("l-diversity l=3 variant=distict", "distict", "distinct"),
        ("k-anonimity k=10", "k-anonimity", "k-anonymity"),
        ("t-closeness t=0.2 distance=equal onn=x", "onn", "on"),
    ]:
        with pytest.raises(sfumato.BadInputError, match=rf"{known}\b") as caught:
            sfumato.requirement(text)
        assert wrong in str(caught.value)
    with pytest.raises(sfumato.BadInputError, match=r"unknown key 'mod'.*mode"):
        sfumato.anonymizer("mondrian mod=relaxed")
    with pytest.raises(TypeError):
        sfumato.read(frame(), quasi="age", sensitve="disease")
    with pytest.raises(TypeError):
        sfumato.KAnonymity(k=2, l=3)


# ---------------------------------------------------------------- pyarxaas


def test_unlisted_columns_become_nothing_and_are_said(tmp_path):
    # pyarxaas #29: unlisted columns silently become quasi-identifiers.
    made = frame().assign(ssn=[f"{i:09}" for i in range(len(RECORDS))])
    table = sfumato.read(made, quasi="age", sensitive="disease")
    assert any("ssn" in notice for notice in table.notices)
    release = sfumato.anonymize(table, "k-anonymity k=4")
    assert [quasi.name for quasi in release.cells.quasi] == ["age"]
    assert list(read_rows(written(release, tmp_path))[0]) == ["age", "disease"]
    assert sfumato.measure(release).values == sfumato.measure(release_of(frame())).values


# ---------------------------------------------------------------- anonymeter


def test_a_name_with_spaces_changes_no_risk(tmp_path):
    # anonymeter #37: column names with spaces break every query and the risk is underestimated.
    plain = sfumato.measure(release_of(frame()))
    for age, disease in [("age in years", "main disease"), ("a,ge", 'dis"ease'), ("select", "from"), ("ä\nge", "*")]:
        renamed = frame().rename(columns={"age": age, "disease": disease})
        release = sfumato.anonymize(sfumato.read(renamed, quasi=age, sensitive=disease), "k-anonymity k=4")
        assert sfumato.measure(release).values == plain.values
        assert list(read_rows(written(release, tmp_path))[0]) == [age, disease]


# ---------------------------------------------------------------- ARX


def test_suppressed_records_are_counted_and_form_no_group(tmp_path):
    # ARX #259: suppressed rows counted as a group when a release is read back.
    records = [("21", "flu"), ("21", "cold"), ("22", "flu"), ("22", "cold")] * 5 + [("90", "gout")]
    table = sfumato.read(frame(records), quasi="age", sensitive="disease")
    release = sfumato.anonymize(table, "k-anonymity k=5", suppress=0.1)
    assert release.suppressed == 1
    rows = read_rows(written(release, tmp_path))
    assert len(rows) == 20 and {row["age"] for row in rows} == {"21", "22"}
    said = sfumato.measure(release)
    assert said["suppressed"] == 1 and said["k"] == 10 and release.groups == 2
    assert said["average_group"] == 10 and said["discernibility"] == 2 * 10**2 + 1 * 21
    assert said["loss"] == pytest.approx(1 / 21), "the one suppressed record counts 1, all others are exact"


def test_suppressed_records_stay_in_the_baseline_distribution():
    # ARX #259 and DESIGN: Q is that of the whole input table, suppressed records included.
    records = [("21", "flu"), ("21", "cold"), ("22", "flu"), ("22", "cold")] * 5 + [("90", "gout")]
    table = sfumato.read(frame(records), quasi="age", sensitive="disease")
    release = sfumato.anonymize(table, "k-anonymity k=5", suppress=0.1)
    assert release.suppressed == 1
    q = shares([disease for _, disease in records])
    expected = (abs(0.5 - q["flu"]) + abs(0.5 - q["cold"]) + q["gout"]) / 2
    assert sfumato.measure(release)["t_equal"] == pytest.approx(float(expected))


def test_loss_is_the_same_for_a_hierarchy_given_and_built(tmp_path):
    # ARX #433: loss differs between a hierarchy given as table and the same one built.
    with (tmp_path / "age.csv").open("w", newline="") as file:
        rows = [
            [str(v), f"{v // 5 * 5}-{v // 5 * 5 + 4}", f"{v // 10 * 10}-{v // 10 * 10 + 9}", "*"] for v in range(50)
        ]
        csv.writer(file, delimiter=";").writerows(rows)
    built = {"type": "numeric", "lower": 0, "upper": 49, "intervals": [5, 10]}
    found = []
    for hierarchy in (tmp_path / "age.csv", built, {"type": "level-table", "rows": rows}):
        release = release_of(frame(), "k-anonymity k=3", hierarchies={"age": hierarchy})
        found.append((sfumato.measure(release)["loss"], written(release, tmp_path).read_bytes()))
    assert found[0] == found[1] == found[2]
    # two boxes of four records each: 20-24 and 40-44, four steps of 49 each
    assert found[0][0] == pytest.approx(4 / 49)


# ---------------------------------------------------------------- packaging


def test_no_dependency_is_pinned():
    # pycanon and anjana pin everything with ==, so they cannot live beside other packages.
    project = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text())["project"]
    extras = project.get("optional-dependencies", {}).values()
    wanted = [*project["dependencies"], *itertools.chain(*extras)]
    assert wanted
    for dependency in wanted:
        assert not re.search(r"==|~=|<", dependency.split(";")[0]) or "pyspark" in dependency, dependency
    names = {re.match(r"[\w.-]+", dependency)[0] for dependency in project["dependencies"]}
    assert "pandas" not in names
