"""Tables with a set-valued column: read, made, written; every file counted again by plain Python."""

import csv
import io
import itertools
import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_line import run
from plain_patients import by_notation, candidates, estimate, least_candidates, read_records, stands_for, true_count
from sfumato import BadInputError, DataDeclaration, InfeasibleError, ItemsDeclaration, TableDeclaration, anonymizer
from sfumato.anonymizers.items import candidate_maker
from sfumato.anonymizers.items.items_of_groups import MixedRecipe, merging
from sfumato.measures.items.estimates import MixedReader, Questions
from sfumato.measures.items.linking import Linking, Persons, listed_items
from sfumato.measures.items.queries import ItemQueries
from sfumato.measures.scales import MixedScales
from sfumato.release.writing_items import write_items
from sfumato.requirements.items import KKMAnonymity, SuppressionLimit, mixed_requirement


def opened(people, **items):
    """Open records (age, sex, items)."""
    frame = pa.table(
        {
            "age": [str(age) for age, _, _ in people],
            "sex": [sex for _, sex, _ in people],
            "codes": pa.array([list(codes) for _, _, codes in people], pa.list_(pa.string())),
        }
    )
    return DataDeclaration(
        TableDeclaration(frame, quasi=("age", "sex")), ItemsDeclaration(column="codes", **items)
    ).open()


def made(data, require, maker="mondrian", items="coat", merge="none", suppress=0.0, limit=1.0, sets="group"):
    recipe = MixedRecipe(
        anonymizer(maker),
        mixed_requirement(require),
        candidate_maker(items),
        merging(merge),
        suppress,
        None,
        SuppressionLimit(limit, "occurrences"),
        sets,
    )
    return recipe.make(data)


def rows_of(path):
    """Read a written CSV by the notation alone: (quasi-identifiers, set of parts) of every record."""
    with path.open(encoding="utf-8", newline="") as stream:
        head, *rows = csv.reader(stream)
    at = head.index("codes")
    records = []
    for row in rows:
        parts = next(csv.reader(io.StringIO(row[at], newline=""), delimiter=";"), []) if row[at] else []
        records.append((tuple(row[:at] + row[at + 1 :]), frozenset(parts)))
        assert parts == sorted(parts) and len(set(parts)) == len(parts)
    return records


def least(records, m):
    """Count by the definition: the fewest records of a group that show a set of up to m parts."""
    counts = {}
    for quasi, parts in records:
        for size in range(m + 1):
            for chosen in itertools.combinations(sorted(parts), size):
                counts[quasi, chosen] = counts.get((quasi, chosen), 0) + 1
    return min(counts.values())


def letters_of(part):
    """Say which items a part stands for, of items that are letters."""
    return set(part.strip("{}").split(", ")) if part.startswith("{") else {part}


PEOPLE = st.lists(
    st.tuples(st.integers(20, 40), st.sampled_from("mf"), st.frozensets(st.sampled_from("abcdef"), max_size=4)),
    min_size=8,
    max_size=24,
).filter(lambda people: any(codes for _, _, codes in people))
MAKERS = ("mondrian", "mondrian mode=relaxed seed=1", "full-domain", "local-recoding", "hilbert", "without-quasi")
ITEM_MAKERS = ("coat", "pcta", "aa", "lra", "vpa", "partition", "one-item")
MERGING = ("none", "r-merge bound=0.8", "t-merge bound=0.8", "rt-merge bound=0.8")


@settings(max_examples=40, deadline=None, report_multiple_bugs=False, suppress_health_check=list(HealthCheck))
@given(
    people=PEOPLE,
    k=st.integers(2, 4),
    m=st.integers(0, 3),
    maker=st.sampled_from(MAKERS),
    items=st.sampled_from(ITEM_MAKERS),
    merge=st.sampled_from(MERGING),
    suppress=st.sampled_from([0.0, 0.2]),
    sets=st.sampled_from(["group", "common"]),
)
def test_every_file_holds_what_was_promised_counted_again(
    people, k, m, maker, items, merge, suppress, sets, tmp_path_factory
):
    if maker in ("local-recoding", "hilbert", "without-quasi"):
        suppress = 0.0
    path = tmp_path_factory.mktemp("release") / "out.csv"
    release = made(opened(people), f"k-km-anonymity k={k} m={m}", maker, items, merge, suppress, sets=sets)
    write_items(release, path)
    records = rows_of(path)
    assert len(records) == release.records >= len(people) * (1 - suppress)
    assert least(records, m) >= k
    occurring = {code for _, _, codes in people for code in codes}
    everything = occurring if items == "one-item" else set()
    letters = sorted(occurring)
    steps = range(2, len(letters) + 1)  # whatever the fan-out of a maker's tree
    nodes = [set(letters[first : first + step]) for step in steps for first in range(0, len(letters), step)]
    for _, parts in records:
        for part in parts:
            assert (part == "*" and everything) or letters_of(part) <= occurring
            if sets == "common" and part.startswith("{"):
                assert letters_of(part) in nodes  # of a tree over all letters, whatever the group has


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("items", ITEM_MAKERS)
def test_every_maker_of_tables_goes_with_every_maker_of_items(maker, items, tmp_path):
    people = [(20 + i % 13, "mf"[i % 2], "abcdef"[i % 5 :][:3]) for i in range(40)]
    write_items(made(opened(people), "k-km-anonymity k=3 m=2", maker, items), tmp_path / "out.csv")
    assert least(rows_of(tmp_path / "out.csv"), 2) >= 3


def test_items_come_from_a_column_a_list_or_a_second_file_alike(tmp_path):
    people = [("1", "30", ["250", "a;b"]), ("2", "31", ["250"]), ("3", "32", []), ("4", "33", ["401.9", "250"])]
    lines = [[who, age, ";".join(f'"{code}"' if ";" in code else code for code in codes)] for who, age, codes in people]
    with (tmp_path / "people.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["id", "age", "codes"], *lines])
    with (tmp_path / "codes.csv").open("w", newline="") as stream:
        rows = [[who, code] for who, _, codes in people for code in codes]
        csv.writer(stream).writerows([["id", "codes"], *rows, ["9", "777"]])
    frame = {"id": [who for who, _, _ in people], "age": [int(age) for _, age, _ in people]}
    table = pa.table({**frame, "codes": pa.array([codes or None for _, _, codes in people], pa.list_(pa.string()))})
    pq.write_table(table, tmp_path / "people.parquet")
    (tmp_path / "people.json").write_text(json.dumps(table.to_pylist()))
    column = ItemsDeclaration(column="codes")
    sources = {
        "people.csv": column,
        "people.parquet": column,
        "people.json": column,
        "second": ItemsDeclaration(source=str(tmp_path / "codes.csv"), id="id", item="codes"),
    }
    seen = {}
    for name, items in sources.items():
        file = tmp_path / ("people.csv" if name == "second" else name)
        data = DataDeclaration(TableDeclaration(str(file), quasi=("age",)), items).open()
        baskets = [data.baskets.basket(basket) for basket in data.pairs.basket.tolist()]
        seen[name] = (baskets, data.cells.codes[data.pairs.cell].tolist())
        assert any("1 record" in notice and "without items" in notice for notice in data.notices)
    assert seen["people.csv"][0] == [("250", "a;b"), ("250",), (), ("250", "401.9")]
    assert len({repr(each) for each in seen.values()}) == 1
    assert any(
        "'id'" in notice for notice in DataDeclaration(TableDeclaration(table, quasi=("age",)), column).open().notices
    )


def test_what_is_not_right_with_the_items_is_a_sentence(tmp_path):
    (tmp_path / "people.csv").write_text("id,age,codes\n1,30,a;b\n1,31,b\n")
    (tmp_path / "codes.csv").write_text("id,code\n7,a\n")
    table = TableDeclaration(str(tmp_path / "people.csv"), quasi=("age",))
    second = {"source": str(tmp_path / "codes.csv"), "id": "id", "item": "code"}
    with pytest.raises(BadInputError, match="repeat a value of 'id'"):
        DataDeclaration(table, ItemsDeclaration(**second)).open()
    with pytest.raises(BadInputError, match=r"no column 'illness' \(--items\)"):
        DataDeclaration(table, ItemsDeclaration(column="illness")).open()
    with pytest.raises(BadInputError, match="name one of the two"):
        ItemsDeclaration()
    with pytest.raises(BadInputError, match="--sensitive-items"):
        DataDeclaration(TableDeclaration(table.source, quasi=("codes",)), ItemsDeclaration(column="codes"))
    with pytest.raises(BadInputError, match="neutral"):
        DataDeclaration(
            TableDeclaration(table.source, quasi=("age",), neutral=("id",)), ItemsDeclaration(column="codes")
        )
    (tmp_path / "people.csv").write_text("id,age,codes\n1,*,*;a\n2,x,b\n")
    with pytest.raises(BadInputError, match=r"people.csv: column 'age': the label '\*' names two different nodes"):
        DataDeclaration(table, ItemsDeclaration(column="codes")).open()
    of_items = TableDeclaration(table.source, quasi=("id",))
    with pytest.raises(BadInputError, match=r"sensitive items of column 'codes': the label '\*' names two"):
        DataDeclaration(of_items, ItemsDeclaration(column="codes", sensitive=("*",))).open()
    (tmp_path / "people.csv").write_text("id,age\n1,30\n2,31\n")
    with pytest.raises(BadInputError, match="both files must name a person alike"):
        DataDeclaration(table, ItemsDeclaration(**second)).open()


def test_a_requirement_on_the_sensitive_items_is_about_the_items_records_have(tmp_path):
    people = [(20 + i, "m", ["hiv", "flu"] if i % 4 == 0 else ["flu", "cold"]) for i in range(24)]
    data = opened(people, sensitive=("hiv",))
    assert [(each.name, each.labels) for each in data.cells.sensitive] == [("codes", ["hiv", "none"])]
    release = made(data, "k-km-anonymity k=4 m=1 & l-diversity l=2 variant=distinct on=codes")
    by_group = {}
    for entry, group in enumerate(release.placed.group.tolist()):
        basket = int(data.pairs.basket[release.placed.pair[entry]])
        by_group.setdefault(group, set()).add("hiv" in data.baskets.basket(basket))
    assert all(len(values) == 2 for values in by_group.values())
    write_items(release, tmp_path / "out.csv")
    assert least(rows_of(tmp_path / "out.csv"), 1) >= 4
    with pytest.raises(BadInputError, match="no record"):
        opened(people, sensitive=("aids",))


def test_groups_without_enough_items_are_refused_unless_items_may_be_left_out():
    people = [(20 + i, "m", ["a"] if i == 3 else []) for i in range(12)]
    with pytest.raises(InfeasibleError, match="suppression share=1 of=occurrences"):
        made(opened(people), "k-km-anonymity k=3 m=1", limit=0.0)
    assert made(opened(people), "k-km-anonymity k=3 m=1").suppressed_occurrences == 1


def test_the_release_does_not_depend_on_the_order_of_records(tmp_path):
    people = [(20 + i % 3, "mf"[i % 2], "abcdef"[i % 5 :][:3]) for i in range(40)]
    for number, order in enumerate((people, people[::-1])):
        release = made(opened(order), "k-km-anonymity k=3 m=2", "mondrian mode=relaxed seed=3", suppress=0.1)
        write_items(release, tmp_path / f"{number}.csv")
    assert (tmp_path / "0.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()


def test_merging_lets_items_lose_less_and_keeps_its_bound():
    people = [(20 + i % 17, "mf"[i % 2], "abcdefghij"[i % 7 :][:3]) for i in range(120)]
    data = opened(people)

    def losses(release):
        sizes = release.parts.sizes[release.part]
        cost = [0.0 if size == 1 else size / release.parts.domain for size in sizes.tolist()]
        boxes, cells = release.relational.boxes, data.cells
        each = [quasi.hierarchy.losses(boxes.lo[:, a], boxes.hi[:, a]) for a, quasi in enumerate(cells.quasi)]
        relational = sum(float(column @ release.relational.sizes) for column in each) / len(each) / data.records
        return relational, sum(c * n for c, n in zip(cost, release.count[release.row_of_item].tolist(), strict=True))

    before = losses(made(data, "k-km-anonymity k=3 m=2"))
    for method in ("r-merge", "t-merge", "rt-merge"):
        after = losses(made(data, "k-km-anonymity k=3 m=2", merge=f"{method} bound=0.5"))
        assert after[0] <= 0.5 + 1e-9 and after[1] < before[1]
        assert losses(made(data, "k-km-anonymity k=3 m=2", merge=f"{method} bound=0")) == before


TREE = "a,ab,*\nb,ab,*\nc,cd,*\nd,cd,*\ne,ef,*\nf,ef,*\ng,gh,*\nh,gh,*\n"
"""A level table in which g and h are had by nobody."""


@pytest.mark.parametrize("items", ["coat", "pcta", "aa", "partition"])
def test_common_sets_are_nodes_of_the_tree_and_what_a_group_shows_does_not_say_which_of_them_it_has(items, tmp_path):
    (tmp_path / "tree.csv").write_text(TREE)
    nodes = {"ab": "ab", "cd": "cd", "ef": "ef", "*": "abcdefgh"}
    people = [(20 + i % 13, "mf"[i % 2], "abcdef"[i % 5 :][:3]) for i in range(60)]
    data = opened(people, tree=str(tmp_path / "tree.csv"))
    write_items(made(data, "k-km-anonymity k=4 m=2", items=items, sets="common"), tmp_path / "out.csv")
    records = rows_of(tmp_path / "out.csv")
    assert least(records, 2) >= 4
    assert {part for _, parts in records for part in parts} <= {*"abcdef", *nodes}


@pytest.mark.parametrize("items", ["coat", "pcta", "aa"])
def test_which_of_a_sets_items_a_group_has_shows_in_its_own_sets_and_not_in_common_ones(items, tmp_path):
    (tmp_path / "tree.csv").write_text("a,abc,*\nb,abc,*\nc,abc,*\nd,d,*\n")
    files = {}
    for sets in ("group", "common"):
        for other in "bc":  # what two of the young have beside two who have a
            young = [(20 + i, "m", code) for i, code in enumerate(["a", "a", other, other])]
            old = [(60 + i % 5, "f", code) for i, code in enumerate("aaaabbbbccccdddd")]
            data = opened(young + old, tree=str(tmp_path / "tree.csv"))
            path = tmp_path / f"{sets}-{other}.csv"
            write_items(made(data, "k-km-anonymity k=4 m=2", items=items, sets=sets), path)
            assert least(rows_of(path), 2) >= 4
            files[sets, other] = path.read_text()
    assert "abc" in files["common", "b"] and files["common", "b"] == files["common", "c"]
    if items != "aa":  # which publishes nodes of a declared tree anyway
        assert "{a, b}" in files["group", "b"] and "{a, c}" in files["group", "c"]


def test_what_sets_list_of_their_group_is_counted():
    young = [(20 + i, "m", code) for i, code in enumerate(["a", "a", "b", "x"])]
    old = [(60, "f", code) for code in "aaaabbbbccccdddd"]
    data = opened(young + old)
    listed = listed_items(made(data, "k-km-anonymity k=4 m=2"), 4)
    # the young show {a, b, x}, all of which they have; x is had by nobody else. The old show every item by itself
    assert (listed.groups, listed.of_groups, listed.most, listed.records, listed.of_items) == (1, 2, 3, 4, 5)
    assert listed.rare == 1
    assert listed_items(made(data, "k-km-anonymity k=4 m=0"), 4).groups == 0


def test_a_requirement_prints_as_what_was_read_with_the_linking_part_first():
    text = "l-diversity l=2 variant=distinct on=outcome & k-km-anonymity k=5 m=2"
    asked = mixed_requirement(text)
    assert str(asked) == "k-km-anonymity k=5 m=2 & l-diversity l=2 variant=distinct on=outcome"
    assert mixed_requirement(str(asked)) == asked
    assert asked.linking == KKMAnonymity(5, 2)


def test_either_side_gets_its_own_part():
    asked = mixed_requirement("k-km-anonymity k=5 m=2 & l-diversity l=2 variant=distinct on=outcome")
    assert str(asked.of_groups) == "k-anonymity k=5 & l-diversity l=2 variant=distinct on=outcome"
    assert str(asked.of_items) == "km-anonymity k=5 m=2"
    assert mixed_requirement("k-km-anonymity k=3 m=0").of_items is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("k-anonymity k=5", "does not cover attackers who know items"),
        ("", "does not cover attackers who know items"),
        ("k-km-anonymity k=5 m=2 & k-km-anonymity k=3 m=1", "has 2 parts"),
        ("k-km-anonymity k=5", "m is not given"),
        ("k-km-anonymity k=0 m=2", "k must be a whole number of at least 1"),
        ("k-km-anonymity k=5 m=-1", "m must be a whole number of at least 0"),
        ("km-anonymity k=5 m=2", "unknown requirement 'km-anonymity'"),
    ],
)
def test_what_promises_nothing_of_the_items_is_refused(text, said):
    with pytest.raises(BadInputError, match=said):
        mixed_requirement(text)


SETS = "what sets tell of a group"
COVERING = by_notation([True, False], [None, None])
FEW_PEOPLE = st.lists(
    st.tuples(st.integers(20, 30), st.sampled_from("mf"), st.frozensets(st.sampled_from("abcde"), max_size=3)),
    min_size=8,
    max_size=20,
).filter(lambda people: any(codes for _, _, codes in people) and len({age for age, _, _ in people}) > 1)


def domains_of(data):
    return [list(quasi.hierarchy.leaves) for quasi in data.cells.quasi]


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(people=FEW_PEOPLE, items=st.sampled_from(["coat", "aa", "partition"]), m=st.integers(1, 2))
def test_answers_and_candidates_are_those_of_plain_python_on_the_file(people, items, m, tmp_path_factory):
    data = opened(people)
    release = made(data, f"k-km-anonymity k=2 m={m}", "mondrian", items)
    path = tmp_path_factory.mktemp("release") / "out.csv"
    write_items(release, path)
    quasi = [each.name for each in data.cells.quasi]
    records = read_records(path, quasi, "codes")
    labels = sorted({code for _, _, codes in people for code in codes})
    stands, reader, domains = stands_for(records, labels, None), MixedReader.of(release), domains_of(data)
    whole = MixedReader.of_data(data)
    original = [((str(age), sex), frozenset(codes)) for age, sex, codes in people]
    ages = domains[0]
    for first, last in combinations(range(len(ages)), 2):
        for item in labels[:2]:
            query = ((frozenset(ages[first : last + 1]), None), frozenset([item]))
            codes = np.array([[first, 0]], np.int32), np.array([[last, len(domains[1]) - 1]], np.int32)
            asked = Questions(*codes, [(data.baskets.places[item],)])
            assert whole.fitting(asked)[0] == true_count(original, query)
            for estimator in ("half", "uniform", "nonempty"):
                plain = float(estimate(records, query, stands, COVERING, domains, estimator))
                assert reader.estimates(asked, estimator)[0] == pytest.approx(plain)
    persons = Persons.drawn(data, Linking(), m)
    kept, known = persons.in_release(release)
    fits = reader.fitting(persons.questions(data, kept, known, True))
    for person, itemset, number in zip(kept, known, fits.tolist(), strict=True):
        pair = persons.pair[person]
        row = data.cells.codes[data.pairs.cell[pair]]
        texts = tuple(domains[place][code] for place, code in enumerate(row.tolist()))
        held = frozenset(data.baskets.basket(int(data.pairs.basket[pair])))
        names = [data.baskets.items[item] for item in itemset]
        assert number == candidates(records, (texts, held), names, stands, COVERING) >= 2


def test_what_is_known_within_groups_is_counted_as_in_the_file(tmp_path):
    people = [(20 + i % 11, "mf"[i % 2], "abcdefg"[i % 5 :][:3]) for i in range(60)]
    data = opened(people)
    release = made(data, "k-km-anonymity k=4 m=2")
    write_items(release, tmp_path / "out.csv")
    records = read_records(tmp_path / "out.csv", ["age", "sex"], "codes")
    scales = MixedScales(known=2, item_queries=ItemQueries(size=1, number=50, workloads=1))
    measured = scales.prepare(data).measure(release).values
    assert measured["candidates"] == least_candidates(records, 2) >= 4
    assert measured["itemset_risk"] <= 1 / 4 and measured["k"] >= 4
    assert measured["joint_match_least"] >= 4
    original = scales.prepare(data).measure(made(data, "k-km-anonymity k=1 m=1", "original", "original")).values
    assert original["joint_query_error"] == original["are"] == original["ncp"] == 0


@pytest.fixture
def study(tmp_path):
    """Write patients in two files and a study of them."""
    people = [(20 + i % 11, "mf"[i % 2], "abcdefg"[i % 5 :][:3], "yn"[i % 3 == 0]) for i in range(80)]
    rows = "".join(f"{i},{age},{sex},{outcome}\n" for i, (age, sex, _, outcome) in enumerate(people))
    (tmp_path / "people.csv").write_text(f"id,age,sex,outcome\n{rows}")
    codes = "".join(f"{i},{code}\n" for i, (_, _, codes, _) in enumerate(people) for code in codes)
    (tmp_path / "codes.csv").write_text(f"id,code\n{codes}")
    (tmp_path / "study.toml").write_text(
        """
name = "patients"
[table]
source = "people.csv"
quasi = ["age", "sex"]
sensitive = ["outcome"]
[items]
source = "codes.csv"
id = "id"
item = "code"
sensitive = ["g"]
[scales]
item_queries = "item-queries size=1 number=50 workloads=1"
joint_queries = "joint-queries number=50"
[[candidates]]
item_anonymizers = ["coat", "aa"]
merging = ["none", "rt-merge bound=0.5"]
requirements = ["k-km-anonymity k=4 m=2 & l-diversity l=2 variant=distinct on=outcome"]
[[candidates]]
requirements = ["k-km-anonymity k=4 m=2 & l-diversity l=2 variant=distinct on=code"]
sets = ["group", "common"]
limits = ["suppression share=0.5 of=occurrences"]
[[candidates]]
anonymizers = ["original"]
item_anonymizers = ["original"]
"""
    )
    return tmp_path / "study.toml"


def test_the_walk_from_two_files_to_map_release_certificate_and_audit(study, tmp_path):
    assert "can be explored" in run("check", study).stdout
    folder = tmp_path / "map"
    run("explore", study, "--out", folder, "--workers", "1")
    points = json.loads((folder / "points.json").read_text())["points"]
    assert {point["status"] for point in points} == {"measured"}
    assert all(point["measures"]["candidates"] >= 4 for point in points if point["anonymizer"] == "mondrian")
    assert run("choose", folder, "--max", "itemset_risk=0.25").returncode == 0
    assert run("ask", folder, "joint_query_error within itemset_risk 0.25").returncode == 0
    for number, point in enumerate(one for one in points if one["anonymizer"] == "mondrian"):
        target = tmp_path / f"published{number}.csv"
        run("release", folder, "--point", point["id"], "--to", target)
        records = read_records(target, ["age", "sex"], "code")
        assert len(records) == 80 and least_candidates(records, 2) >= 4
        public = json.loads((tmp_path / f"{target.name}.certificate-public.json").read_text())
        inside = json.loads((tmp_path / f"{target.name}.certificate.json").read_text())
        said = [next(one for one in each["warnings"] if one["about"] == SETS) for each in (public, inside)]
        common = point["parameters"].get("sets") == "common"
        assert public["promise"]["sets"] == ("common" if common else "group")
        sets = any(text.startswith("{") for _, shown in records for text in shown)
        assert "found" not in said[0] and ("somebody in the group has each" in said[0]["text"]) is (sets and not common)
        assert public["items"]["sets_list_items_of_groups"] is (sets and not common)
        assert ("the longest list has" in said[1].get("found", "")) is (sets and not common)
        assert "internal" not in public and inside["internal"]["input"]["records"] == 80
        parts = {part["requirement"]: part["confirmed_by_the_file"] for part in public["promise"]["parts"]}
        kept = point["requirement"].replace("k=4 ", f"k={least_candidates(records, 2)} ")
        assert parts == {text: not text.endswith("on=code") for text in kept.split(" & ")}
        assert run(*public["verify"][1:], cwd=tmp_path).returncode == 0
    bad = target.read_text().splitlines()
    (tmp_path / "broken.csv").write_text("\n".join([*bad[:-1], "20,m,a;b;zz,y"]) + "\n")
    broken = ["broken.csv" if word == target.name else word for word in public["verify"][1:]]
    assert run(*broken, cwd=tmp_path).returncode == 1


def test_nothing_vanishes_silently(tmp_path):
    (tmp_path / "p.csv").write_text("id,age,code\n1,30,a\n1,30,b\n2,31,a\n2,31,b\n")
    rows = ["anonymize", tmp_path / "p.csv", "--baskets", "--id", "id", "--item", "code"]
    asked = ["--require", "km-anonymity k=2 m=2", "--to", tmp_path / "o.csv"]
    assert "not read: 'age'" in run(*rows, *asked).stderr
    refused = run(*rows, "--quasi", "age", *asked)
    assert refused.returncode == 2 and "--items COLUMN" in refused.stderr


def test_a_study_reads_back_as_it_was_written(study):
    from sfumato.tradeoff.study.study import read_study, study_from_toml

    one = read_study(str(study))
    again = study_from_toml(one.to_toml(), str(study))
    assert again == one and [each.id for each in again.candidates] == [each.id for each in one.candidates]
    entries = [
        {"anonymizer": str(each.anonymizer), "requirement": str(each.requirement), "parameters": each.parameters}
        for each in one.candidates
    ]
    assert [one.candidate_of(entry) for entry in entries] == list(one.candidates)
    assert replace(one, name="other") != one


def test_frames_with_a_list_column_are_patients_too():
    frame = pa.table({"age": ["1", "2"], "codes": pa.array([["a"], ["a", "b"]], pa.list_(pa.string()))})
    from sfumato.data.declaration import DataDeclaration, ItemsDeclaration, TableDeclaration

    data = DataDeclaration(TableDeclaration(frame, quasi=("age",)), ItemsDeclaration(column="codes")).open()
    assert data.baskets.items == ("a", "b") and data.records == 2
