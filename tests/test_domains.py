"""Large domains and few records: memory follows what is selected and what occurs, and results stay what they were."""

import re
import resource
import subprocess
import sys
import tracemalloc
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plain_releases as plain
import sfumato
from plain_reader import box_weights
from sfumato import BadInputError, anonymizer, read, requirement
from sfumato.anonymizers.full_domain.full_domain import fixed_levels
from sfumato.data.cells import Points
from sfumato.data.hierarchies.automatic import automatic
from sfumato.data.hierarchies.categorical import from_level_table
from sfumato.data.hierarchies.declared import from_entry
from sfumato.data.hierarchies.numeric import dates, numeric
from sfumato.data.reading import Roles, with_roles
from sfumato.measures.attribute_attack import naive_bayes
from sfumato.measures.divergence import box_densities
from sfumato.measures.queries import Queries
from sfumato.measures.reconstruction import EmReader, Entries, weighted_estimates
from sfumato.publish._written_file import columns_of
from sfumato.publish.cautions import cautions_of
from sfumato.publish.mapping import mapping_of
from sfumato.release import regions as stretches
from sfumato.release._selections import Selections, choose_smallest, unpacked, words_for
from sfumato.release.populations import large_populations
from sfumato.release.regions import Members, Regions, overlap_estimates
from sfumato.release.release import generalization
from sfumato.tradeoff.study.candidate import Candidate
from strategies import tries

MANY = 6_000
WITH_VALUES = plain.releases().filter(lambda release: release.histograms is not None)


@st.composite
def wide_selections(draw):
    """A domain of thousands of leaves of uneven widths, and some selections of them, as masks and as values."""
    size = draw(st.sampled_from([1, 63, 64, 65, 4096, 4097, MANY]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    base = numeric(0, size - 1)
    widths = rng.choice([1.0, 0.1, 3.0, 1 / 3], size) if draw(st.booleans()) else np.ones(size)
    hierarchy = sfumato.Hierarchy(base.levels, tuple(widths.tolist()), "number", base.firsts, base.lasts)
    if draw(st.booleans()):
        ends = np.sort(rng.integers(0, size + 1, (3, 2)), axis=1)
        leaf = np.arange(size)
        masks = (leaf >= ends[:, :1]) & (leaf < ends[:, 1:])
        return hierarchy, masks, Selections.stretches(hierarchy, ends[:, 0], ends[:, 1])
    masks = rng.random((3, size)) < rng.random()
    return hierarchy, masks, plain.selections(hierarchy, masks)


class Shown:
    """A release of one quasi-identifier, as far as estimates read it."""

    def __init__(self, hierarchy, lo, hi, content):
        self.cells = type("Cells", (), {"quasi": (type("Quasi", (), {"hierarchy": hierarchy}),)})
        self.boxes = type("Boxes", (), {"lo": lo[:, None], "hi": hi[:, None]})
        self.content = content


@tries(60)
@given(wide_selections(), st.integers(0, 2**32 - 1))
def test_selections_hold_and_weigh_what_their_masks_do(selected, seed):
    hierarchy, masks, selections = selected
    assert (selections.masks == masks).all()
    rng = np.random.default_rng(seed)
    lo, hi = np.sort(rng.integers(0, hierarchy.size, (5, 2)), axis=1).T.astype(np.int32)
    content = rng.random((5, 2))
    used = np.array([[0], [1], [2], [-1]], np.int32)
    found = overlap_estimates(Shown(hierarchy, lo, hi, content), Regions((selections,), used))
    widths = np.array(hierarchy.widths)
    for r, mask in enumerate([*masks, np.ones(hierarchy.size, bool)]):
        inside = [(widths * mask)[a : b + 1].sum() / widths[a : b + 1].sum() for a, b in zip(lo, hi, strict=True)]
        assert found[r] == pytest.approx(np.array(inside) @ content, rel=1e-9, abs=1e-9)
    codes = rng.integers(0, hierarchy.size, (20, 1)).astype(np.int32)
    rows = np.arange(20)
    members = Members.of(Points(codes, rows, rows, np.ones(20, np.int64)), Regions((selections,), used))
    for r, mask in enumerate(masks):
        inside = members.points[members.offsets[r] : members.offsets[r + 1]]
        assert inside.tolist() == np.flatnonzero(mask[codes[:, 0]]).tolist()
    kept = Regions((selections,), used).only(np.array([3, 2, 2]))
    assert kept.used[:, 0].tolist() == [-1, 0, 0] and (kept.selections[0].masks == masks[2:]).all()


@tries(60)
@given(st.integers(1, 300), st.integers(0, 2**32 - 1), st.booleans(), st.data())
def test_the_smallest_are_chosen_and_of_equal_ones_the_first(size, seed, coarse, data):
    numbers = np.random.default_rng(seed).random((3, size))
    numbers = np.floor(numbers * 4) / 4 if coarse else numbers
    chosen = data.draw(st.integers(1, size))
    bits = np.zeros((3, words_for(size)), np.uint64)
    choose_smallest(numbers, chosen, bits)
    expected = np.argsort(np.argsort(numbers, axis=1, kind="stable"), axis=1) < chosen
    assert (unpacked(bits, size) == expected).all() and (plain.packed(expected) == bits).all()


@tries(30)
@given(WITH_VALUES, st.integers(0, 4))
def test_leaves_taken_together_say_what_each_leaf_says(release, rounds):
    cells, points, results = release.cells, release.cells.points, []
    workload = Queries(number=8, sanity=0.01).workload(cells, points, 0)
    content = np.ascontiguousarray(release.content[:, : int(cells.spans[1])])
    before = stretches.FEW_LEAVES
    for few in (1000, 0):
        stretches.FEW_LEAVES = few
        try:
            weights = EmReader(rounds).leaf_weights(release, content)
            guess, confidence = naive_bayes(release, points, content).guesses()
            read = weighted_estimates(release, workload.regions, weights, content)
            results.append((guess, confidence, read, box_densities(release, points)))
        finally:
            stretches.FEW_LEAVES = before
    for each, together in zip(*results, strict=True):
        assert together == pytest.approx(each, rel=1e-9, abs=1e-9)
    expected, _, _ = box_weights(release, 0, rounds)
    for a, own in enumerate(weights):
        cumulative = [sum(expected[a][0][:leaf]) for leaf in own.cut.bounds]
        assert own.weights[:, 0] == pytest.approx(np.diff(cumulative), abs=1e-5)


def test_what_is_dealt_does_not_depend_on_leaves_that_do_not_occur():
    rows = {"age": [0, 0, 7, 7, 7, 9, 9, 9], "s": list("xyxyzzyx")}
    dealt = []
    for upper in (9, 99_999):
        table = sfumato.read(pa.table(rows), quasi=["age"], sensitive=["s"], hierarchies={"age": numeric(0, upper)})
        release = sfumato.anonymize(table, "k-anonymity k=4", form="bucketization")
        entries = Entries.of(release, table.cells.points)
        dealt.append(EmReader().dealt(entries, release.histograms.of(0).astype(float)))
    assert (dealt[0] == dealt[1]).all()


def peak_of(work) -> int:
    """The most bytes that Python's arrays took at a time."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_queries_on_a_hundred_thousand_leaves_take_a_bit_per_leaf():
    rng = np.random.default_rng(1)
    frame = pa.table({"code": rng.integers(0, 100_000, 301), "s": rng.choice(list("xyz"), 301)})
    table = sfumato.read(frame, quasi=["code"], sensitive=["s"], hierarchies={"code": numeric(0, 99_999)})
    points = table.cells.points
    workload = Queries(number=200).workload(table.cells, points, 0)
    assert (
        peak_of(lambda: Queries(number=200).workload(table.cells, points, 0)) < 100e6
    )  # a byte per leaf and its sums: 180
    release = sfumato.anonymize(table, "k-anonymity k=10")
    assert peak_of(lambda: overlap_estimates(release, workload.regions)) < 5e6
    assert peak_of(lambda: large_populations(table.cells, 0.01)) < 60e6


def test_many_days_and_many_values_stay_small():
    rng = np.random.default_rng(2)
    days = np.datetime64("1920-01-01") + rng.integers(0, 36_500, 600)
    values = np.where(np.arange(600) < 570, np.arange(600), rng.integers(0, 570, 600))
    frame = pa.table({"born": [str(day) for day in days], "s": [f"v{value}" for value in values]})
    born = dates("1920-01-01", "2019-12-31")
    table = sfumato.read(frame, quasi=["born"], sensitive=["s"], hierarchies={"born": born})
    release = sfumato.anonymize(table, "k-anonymity k=5")
    points, content = table.cells.points, np.ascontiguousarray(release.content)
    assert content.shape[1] > 500 and born.size > 36_000  # leaves x values x 8 bytes are 160 MB
    assert peak_of(lambda: naive_bayes(release, points, content).guesses()) < 60e6
    assert peak_of(lambda: EmReader().leaf_weights(release, content)) < 60e6
    entries = Entries.of(release, points)
    assert peak_of(lambda: EmReader().dealt(entries, release.histograms.of(0).astype(float))) < 60e6


@tries(60)
@given(st.sampled_from(["1", "0.5", "0.1", "7"]).map(Decimal), st.integers(-40, 40), st.integers(0, 60), st.booleans())
def test_edges_on_a_grid_are_those_of_exact_decimals(step, start, number, continuous):
    low, high = start * step, (start + number) * step
    if continuous and low == high:
        return
    hierarchy = numeric(low, high, step, continuous=continuous, intervals=[step * 5])
    count = number + (not continuous)
    assert hierarchy.firsts == tuple(float(low + i * step) for i in range(count))
    groups = [(low + i * step) // (step * 5) if low + i * step >= 0 else None for i in range(count)]
    if None not in groups and 1 < len(set(groups)) < count:
        assert len(hierarchy.levels[1].starts) == len(set(groups))


def test_days_are_those_of_a_level_table():
    import datetime

    days = [datetime.date(1999, 12, 30) + datetime.timedelta(i) for i in range(40)]
    rows = [
        [str(day), f"{day:%Y-%m}", f"{day:%Y}", f"{day.year // 10 * 10}-{day.year // 10 * 10 + 9}", "*"] for day in days
    ]
    assert dates(days[0], days[-1]).levels == from_level_table(rows).levels


GIBIBYTES = 4
SMALL_STUDY = """
schema = 1
name = "wide"
axes = ["p_loss", "u_loss"]
[table]
source = "wide.csv"
quasi = ["code", "sex"]
sensitive = ["s"]
[table.hierarchy.code]
type = "numeric"
lower = 0
upper = 99999
intervals = [10, 100, 1000, 10000]
[[candidates]]
anonymizers = ["mondrian"]
requirements = ["k-anonymity k=10"]
forms = ["generalization", "bucketization"]
"""


def test_three_hundred_records_with_five_digits_are_explored_in_little_memory(tmp_path):
    rng = np.random.default_rng(3)
    rows = [f"{rng.integers(0, 100_000)},{rng.choice(['m', 'f'])},{rng.choice(['x', 'y', 'z'])}" for _ in range(301)]
    (tmp_path / "wide.csv").write_text("\n".join(["code,sex,s", *rows]) + "\n")
    (tmp_path / "study.toml").write_text(SMALL_STUDY)
    command = [sys.executable, "-m", "sfumato.commands.app", "explore", "study.toml", "--out", "map", "--workers", "2"]
    limit = GIBIBYTES * 2**30

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, preexec_fn=limited)
    assert done.returncode == 0, done.stderr
    assert "2 candidates: 2 measured" in done.stdout
    assert "map-public.png: not drawn" in done.stderr and "ulimit -v" in done.stderr  # V8 reserves addresses for 70 GB
    assert (tmp_path / "map" / "points.json").exists() and not (tmp_path / "map" / "map-public.png").exists()


K5 = requirement("k-anonymity k=5")
NODES = ("full-domain", "local-recoding", "mondrian ranges=node")


def people(*more):
    """Three hundred people of 21 to 57 with incomes of 1,000 to 2,999, and more."""
    draw = np.random.default_rng(1)
    ages, incomes, months = draw.integers(21, 58, 300), draw.integers(1000, 3000, 300), draw.integers(1, 13, 300)
    days = [f"2020-{month:02}-15" for month in months]
    rows = zip(map(str, ages), map(str, incomes), days, map(str, draw.choice(["a", "b"], 300)), strict=True)
    age, income, seen, ill = zip(*rows, *more, strict=True)
    return pa.table({"age": age, "income": income, "seen": seen, "ill": ill})


def released(rows, maker, quasi=("age", "income"), suppress=0.05):
    table = read(rows, quasi=quasi, sensitive=["ill"])
    return (anonymizer(maker) if isinstance(maker, str) else maker).anonymize(table, K5, suppress=suppress)


def texts(release):
    return {quasi.name: set(release.quasi_texts(a)[0]) for a, quasi in enumerate(release.cells.quasi)}


def paths(release):
    """The labels above every published value of every column, from the value to the root."""
    found = {}
    for a, quasi in enumerate(release.cells.quasi):
        leaves = np.unique(release.cells.codes[release.assignment.cell, a])
        levels = zip(quasi.hierarchy.levels, quasi.hierarchy.ancestors, strict=True)
        found[quasi.name] = [[level.labels[node] for node in above[leaves]] for level, above in levels]
    return found


@pytest.mark.parametrize("maker", NODES)
def test_the_ends_of_nodes_are_round_and_nobodys_income(maker):
    """They were drawn in to values that occur: 1022-1490 names the incomes of two people."""
    published = texts(released(people(), maker))
    ends = [int(end) for text in published["income"] for end in re.findall(r"\d+", text) if "-" in text]
    assert ends and {end % 50 for end in ends} == {0, 49}
    assert all(int(text[:2]) % 5 == 0 for text in published["age"] if "-" in text)


ODD = {
    "an old person": ("90", "2000", "2020-06-15", "a"),
    "a rich person": ("40", "4800", "2020-06-15", "a"),
    "a debtor": ("40", "-800", "2020-06-15", "a"),
    "both": ("90", "90000", "2020-06-15", "a"),
}


@pytest.mark.parametrize("odd", ODD)
def test_a_record_that_is_left_out_does_not_move_the_intervals_of_the_others(odd):
    """Levels are fixed, so that nothing but the hierarchy can differ; the one record more is alone, and left out."""
    levels = fixed_levels({"age": 2, "income": 4})
    without, beside = (released(people(*more), levels, suppress=1) for more in ((), (ODD[odd],)))
    assert beside.suppressed == without.suppressed + 1
    assert texts(beside) == texts(without)
    assert paths(beside) == paths(without)  # so they are alike on all other levels, too


def test_one_early_day_does_not_take_the_quarters_away():
    levels = fixed_levels({"seen": 2})
    without, beside = (released(people(*more), levels, ["seen"]) for more in ((), (("40", "2000", "1931-05-06", "a"),)))
    assert beside.suppressed == 1 and texts(beside) == texts(without) == {"seen": {f"2020-Q{n}" for n in (1, 2, 3, 4)}}


def test_the_digits_of_one_number_do_not_stand_in_all_labels():
    """That there is one that is not whole shows in half-open stretches: no other label would be true of it."""
    made = automatic("age", ["30.125", *map(str, range(20, 60))], [1, *[10] * 40])
    assert made.encode(["30.125", "30", "59"]).tolist() == [10, 10, 39]
    assert not any("." in text.replace("..", "") for level in made.levels for text in level.labels)
    many = automatic("age", ["30.125", *map(str, range(20, 60))], [9, *[10] * 40])
    assert any("999" in text for text in many.levels[1].labels)


def test_in_small_tables_single_records_decide_which_is_why_there_is_a_caution():
    ages = [*map(str, range(20, 60))]
    assert automatic("age", [*ages, "103"], [1] * 41).leaves[-1] == "119"
    assert automatic("age", [*ages, "103"], [2] * 40 + [1]).leaves[-1] == "60+"


def test_one_long_code_does_not_lengthen_the_labels_of_the_others():
    entry = {"type": "prefixes", "keep": [3, 1]}
    zips = ["81667", "81675", "81925"]
    short, long = (from_entry(dict(entry), lambda v=values: (v, ())) for values in (zips, [*zips, "81667-1234"]))
    assert short.levels[1].labels == ("816**", "819**")
    assert set(short.levels[1].labels) <= set(long.levels[1].labels)
    declared = from_entry({**entry, "values": [*zips, "81667-1234"]}, lambda: ((), ()))
    assert declared.levels[1].labels[0] == "816*******"  # of a list that everybody may know


def test_a_missing_value_that_is_left_out_does_not_show():
    values = ["a"] * 3 + ["b", "c", "d"] * 3 + [None]
    table = read(pa.table({"x": values}), quasi=["x"], hierarchies={"x": {"type": "flat", "values": list("abcd")}})
    lo, hi = np.array([[0], [2]], np.int32), np.array([[1], [4]], np.int32)
    cells = table.cells
    for kept, text in ((cells.codes[:, 0] < 4, "{c, d}"), (cells.codes[:, 0] < 9, "{c, d, ?}")):
        entries = cells.assigned((cells.codes[:, 0] >= 2).astype(np.int64))
        of_them = type(entries)(entries.cell[kept], entries.group[kept], entries.count[kept])
        assert text in generalization(table, of_them, lo, hi).quasi_texts(0)[0]


def test_a_value_with_the_name_of_a_group_is_told_to_the_publisher():
    rows = pa.table({"country": ["Germany", "France", "Poland", "Japan", "Europe"] * 3})
    notices = read(rows, quasi=["country"]).notices
    assert any(
        "'Europe', which is also the name of a group" in notice and "'Europe (group)'" in notice for notice in notices
    )
    assert not any("group's name" in notice for notice in read(rows.slice(0, 4), quasi=["country"]).notices)


# -- what a certificate says -------------------------------------------------------------------------------------------


def test_the_caution_about_automatic_hierarchies_is_said_where_they_are():
    declared = {name: {"type": "numeric", "lower": 0, "upper": top} for name, top in (("age", 120), ("income", 9999))}
    for hierarchies, names in ((declared, None), ({"age": declared["age"]}, "income"), ({}, "age and income")):
        table = read(people(), quasi=["age", "income"], sensitive=["ill"], hierarchies=hierarchies)
        release = anonymizer("mondrian").anonymize(table, K5)
        told = [
            c.text
            for c in cautions_of(release, Candidate(anonymizer("mondrian"), K5))
            if c.about == "automatic hierarchies"
        ]
        assert len(told) == int(names is not None) and all(f" {names} can have" in text for text in told)


# -- differential privacy ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drafted(tmp_path_factory):
    """The draft of a table of numbers and dates, and its study."""
    from pyarrow import csv

    path = tmp_path_factory.mktemp("draft") / "people.csv"
    csv.write_csv(people().rename_columns(["age", "income", "birth date", "diagnosis"]), path)
    text = sfumato.draft(str(path)).to_toml()
    return text, sfumato.Study.from_toml(text).table.open()


def test_differential_privacy_refuses_bounds_that_a_draft_took_from_the_records(drafted):
    """It took them for declared: a draft of the same table with one record more had other bounds."""
    text, table = drafted
    assert table.hierarchies["age"].observed and table.hierarchies["birth date"].observed
    assert text.count("observed = true") == text.count("delete `observed`") >= 2
    table = with_roles(table.engine, Roles(("age", "birth date"), ("diagnosis",)), table.hierarchies, "value")
    named = r"columns 'age', 'birth date' and 'diagnosis' were taken from the records.* remove observed = true"
    with pytest.raises(BadInputError, match=named):
        sfumato.draw(table, "dp-kd-tree epsilon=1 height=2")


def test_stretches_that_a_draft_made_of_a_sensitive_column_are_kept_for_new_data(drafted):
    """Where they were left out of the mapping, new data would have been published with exact incomes."""
    _, table = drafted
    assert table.roles.sensitive == ("income", "diagnosis") and table.hierarchies["income"].observed
    release = anonymizer("mondrian").anonymize(table, K5)
    assert "income" in mapping_of(release, K5).hierarchies
    assert columns_of(release).ordered == ("diagnosis",)  # rising, as texts, is the order of what is listed only


def test_a_hierarchy_of_one_value_each_lists_values():
    assert automatic("x", ["b", "a"]).lists_values
    assert not from_entry({"type": "flat", "values": ["a"]}, lambda: ((), ())).lists_values
    assert not automatic("x", [*map(str, range(40)), "9000"], [9] * 40 + [1]).lists_values  # 9000 is in 40+
