"""The attacks with a control against plain Python, closed forms and what was proved."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import exp, inf, isclose

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato
from plain_persons import WORKED
from sfumato import MEASURES, BadInputError, Scales, Study, anonymizer, flat, numeric, read, requirement
from sfumato.anonymizers.dp.noise import UnsafeSeededNoise
from sfumato.anonymizers.external.external import ExternalFunction
from sfumato.data.dataset import RemainingTable, held_out
from sfumato.measures.all_measures import ATTACK_MEASURES
from sfumato.measures.attacks import membership as shadow
from sfumato.measures.attacks._persons import PersonRecords
from sfumato.measures.attacks._view import View
from sfumato.measures.attacks.advantage import Advantage, Rate, worst_of
from sfumato.measures.attacks.anonymeter import (
    Predicates,
    growth,
    inference,
    linkability,
    linked_by_one,
    multivariate,
    two_sources,
    univariate,
)
from sfumato.measures.attacks.attacks import Attacks
from sfumato.measures.attacks.membership import ShadowAttack, Suspects, area, best_threshold, membership, proved_bound
from sfumato.measures.attacks.record_linkage import (
    leaf_places,
    nearest,
    nearest_records,
    placed,
    record_linkage,
    replicated_uniques,
)
from sfumato.measures.attribute_attack import Attack, naive_bayes
from sfumato.measures.reconstruction import EmReader, Entries, best_values, definetti
from sfumato.release.records import Records, cell_codes, record_release
from sfumato.release.release import generalization
from sfumato.report.data_summary import meanings
from strategies import tries

NOTHING = requirement("k-anonymity k=1")


def people(records=1500, seed=3, missing=0.0):
    """Columns that hang together, with names that hold spaces and quotes, and enough values that most are alone."""
    random = np.random.default_rng(seed)
    age = random.integers(18, 90, records)
    town = random.choice([f"town {i}" for i in range(12)], records)
    work = np.where(age > 60, "retired", random.choice(["a job", "no job", "studies"], records))
    income = (age * 3 + random.integers(0, 60, records)) // 10
    ill = np.where(random.random(records) < 0.5, random.choice(["flu", "cold", "cough", "gout"], records), "none")
    columns = {
        'age "in years"': age.tolist(),
        "home town": town.tolist(),
        "work now": work.tolist(),
        "income": income.tolist(),
        "the illness": ill.tolist(),
    }
    if missing:
        columns["home town"] = [None if random.random() < missing else value for value in columns["home town"]]
        columns["income"] = [None if random.random() < missing else value for value in columns["income"]]
    return columns


def table_of(columns, **more):
    names = list(columns)
    domains = {names[0]: numeric(18, 90), "home town": flat([f"town {i}" for i in range(12)])}
    domains |= {"work now": flat(["retired", "a job", "no job", "studies"]), "income": numeric(0, 40)}
    domains["the illness"] = flat(["flu", "cold", "cough", "gout", "none"])
    return read(pa.table(columns), quasi=names[:4], sensitive=["the illness"], hierarchies=domains, **more)


@pytest.fixture(scope="module")
def table():
    return table_of(people())


@pytest.fixture(scope="module")
def attacked(table):
    return Attacks(number=300, seed=5).prepare(table).ready()


def made(text, required=NOTHING):
    maker = anonymizer(text)

    def make(table, turn=0):
        if maker.noisy:
            return [maker.draw(table, UnsafeSeededNoise(10 * turn + draw)) for draw in range(3)]
        return [maker.with_seed(1 + turn).anonymize(table, required)]

    return make


def points_of(table, codes):
    return record_release(table, Records(table.cells, np.asarray(codes, np.int32)), people=False)


# -- rates and their intervals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("successes", "tries_", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_the_interval_of_a_rate_is_wilsons_as_published(successes, tries_, low, high):
    """The last line is the example of Newcombe (1998)."""
    found = Rate(successes, tries_).interval()
    assert found[0] == pytest.approx(low, abs=5e-5) and found[1] == pytest.approx(high, abs=5e-5)


def test_the_interval_of_a_difference_is_newcombes_example():
    """56/70 - 48/80 = .2 has the interval .0524 to .3339 by his method 10."""
    plain = Advantage("x", Rate(56, 70), Rate(48, 80), of_failures=False)
    assert plain.value == pytest.approx(0.2)
    assert plain.interval() == pytest.approx((0.0524, 0.3339), abs=5e-5)


@given(st.integers(0, 50), st.integers(0, 50))
@tries(60)
def test_a_risk_is_the_part_of_the_failures_that_become_successes(successes, controls):
    advantage = Advantage("x", Rate(successes, 50), Rate(controls, 50))
    expected = 0.0 if controls == 50 else max((successes - controls) / (50 - controls), 0.0)
    low, high = advantage.interval()
    assert isclose(advantage.value, expected) and 0 <= low <= advantage.value <= high <= 1


def test_intervals_cover_the_true_risk_as_often_as_they_say():
    random, inside = np.random.default_rng(1), 0
    for _ in range(600):
        each = Advantage("x", Rate(int(random.binomial(200, 0.4)), 200), Rate(int(random.binomial(200, 0.25)), 200))
        low, high = each.interval()
        inside += low <= (0.4 - 0.25) / 0.75 <= high
    assert 0.925 <= inside / 600 <= 0.985


def test_the_worst_attack_counts_only_what_was_tried_often_and_its_interval_allows_for_the_choice():
    few = Advantage("a", Rate(9, 10), Rate(0, 10))
    many = [Advantage("b", Rate(60, 200), Rate(40, 200)), Advantage("c", Rate(50, 200), Rate(40, 200))]
    assert worst_of([few]) is None
    value, (low, high) = worst_of([few, *many])
    assert value == many[0].value
    assert low < many[0].interval()[0] and high > many[0].interval()[1]


def test_an_attack_that_is_no_better_than_not_looking_says_so():
    advantage = Advantage("inference", Rate(20, 200), Rate(10, 200), naive=Rate(30, 200), on="illness")
    assert advantage.cautions == [
        "inference (illness) is no better than guessing without looking, so it is no evidence about this release"
    ]


# -- nearest records -----------------------------------------------------------------------------------------


def plain_distance(table, one, other):
    """Gower's distance by the texts of the leaves."""
    total = 0.0
    for a, attribute in enumerate((*table.cells.quasi, *table.cells.sensitive)):
        tree = attribute.hierarchy
        texts = [None if tree.missing and code == tree.size - 1 else tree.leaves[code] for code in (one[a], other[a])]
        if None in texts or tree.scale == "category":
            total += texts[0] != texts[1]
        else:
            numbers = [float(tree.leaves[code]) for code in cell_codes(table.cells)[:, a] if tree.leaves[code]]
            total += abs(float(texts[0]) - float(texts[1])) / (max(numbers) - min(numbers))
    return total / (len(table.cells.quasi) + len(table.cells.sensitive))


def test_the_nearest_records_are_those_of_plain_python_with_numbers_categories_and_missing_values():
    table = table_of(people(60, missing=0.2))
    codes = cell_codes(table.cells)
    trees = [each.hierarchy for each in (*table.cells.quasi, *table.cells.sensitive)]
    places = placed([leaf_places(tree, codes[:, a]) for a, tree in enumerate(trees)], codes)
    found, apart = nearest_records(places[:20], places[20:], 3, np.random.default_rng(0))
    for i in range(20):
        plain = sorted(plain_distance(table, codes[i], other) for other in codes[20:])
        assert apart[i] == pytest.approx(plain[:3])
        assert len({*found[i].tolist()}) == 3
        assert [plain_distance(table, codes[i], codes[20 + j]) for j in found[i]] == pytest.approx(plain[:3])


@given(st.lists(st.integers(0, 3), min_size=6, max_size=24), st.integers(1, 4), st.integers(0, 99))
@tries(40)
def test_of_equally_near_records_the_first_in_random_order_are_taken_and_none_twice(values, neighbours, seed):
    candidates = np.array(values, np.float64)[:, None] / 8
    target = np.array([[0.2]])
    found, apart = nearest_records(target, candidates, neighbours, np.random.default_rng(seed))
    assert len({*found[0].tolist()}) == neighbours
    assert apart[0] == pytest.approx(np.sort(np.abs(candidates[:, 0] - 0.2))[:neighbours])
    exact, distances = nearest(target, candidates, neighbours)
    assert distances[0] == pytest.approx(apart[0]) and len({*exact[0].tolist()}) == neighbours


def test_ties_are_broken_evenly():
    candidates, taken = np.zeros((4, 2)), np.zeros(4)
    candidates[3] = 1.0
    for seed in range(300):
        taken[nearest_records(np.zeros((1, 2)), candidates, 1, np.random.default_rng(seed))[0]] += 1
    assert taken[3] == 0 and (taken[:3] > 70).all()


# -- the control ---------------------------------------------------------------------------------------------


def test_the_split_does_not_depend_on_the_order_of_rows():
    columns = people(400)
    order = np.random.default_rng(9).permutation(400)
    mixed = {name: [values[i] for i in order] for name, values in columns.items()}
    one, other = (Attacks(seed=2).prepare(table_of(each)) for each in (columns, mixed))
    assert (one.control.codes == other.control.codes).all() and len(one.control) == 80
    assert (one.training.cells.codes == other.training.cells.codes).all()
    assert (Attacks(seed=3).prepare(table_of(columns)).control.codes != one.control.codes).any()


def test_makers_see_a_table_that_never_had_the_control(table):
    held = held_out(table.cells, 0.2, np.random.default_rng(0))
    left = RemainingTable.of(table, table.cells.counts - held)
    rows = {tuple(row): count for row, count in zip(cell_codes(left.cells).tolist(), left.cells.counts, strict=True)}
    expected = {}
    for row, count, out in zip(cell_codes(table.cells).tolist(), table.cells.counts, held, strict=True):
        if count > out:
            expected[tuple(row)] = count - out
    assert rows == expected and held.sum() == 300 and left.cells.records == 1200
    assert (left.cells.counts > 0).all()
    assert [secret.counts.sum() for secret in left.cells.sensitive] == [1200]


def visits(owners, seed):
    random = np.random.default_rng(seed)
    kinds = [("north", "flu"), ("north", "gout"), ("south", "flu"), ("west", "cold")]
    drawn = [kinds[random.integers(4)] for _ in owners]
    return [(town, ill, f"p{owner:03}") for (town, ill), owner in zip(drawn, owners, strict=True)]


def of_visits(rows, person="who"):
    columns = dict(zip(("town", "ill", "who"), map(list, zip(*rows, strict=True)), strict=True))
    return read(pa.table(columns), quasi=["town"], sensitive=["ill"], person=person)


def records_by_person(people, of=tuple):
    """What every person has, of persons whom attacks are run against."""
    records = [[] for _ in range(len(people))]
    for row, owner in zip(people.codes.tolist(), people.owner.tolist(), strict=True):
        records[owner].append(of(row))
    return records


def shown(table, rows):
    """Every combination by its texts."""
    cells = table.cells
    town, ill = cells.quasi[0].hierarchy, cells.sensitive[0]
    towns = {int(town.encode([text])[0]): text for text, *_ in rows}
    pairs = zip(cells.codes[:, 0].tolist(), cells.values[:, 0].tolist(), strict=True)
    return [(towns[code], ill.labels[value]) for code, value in pairs]


@tries(30)
@given(st.lists(st.integers(0, 12), min_size=8, max_size=40), st.integers(0, 9))
def test_whoever_is_held_out_is_held_out_with_all_records(owners, seed):
    rows = visits([*owners, 20, 21, 22, 23, 24, 25], seed)
    assume(len({ill for _, ill, _ in rows}) > 1)
    table = of_visits(rows)
    attacked = Attacks(control=0.3, seed=seed).prepare(table)
    names = sorted({name for *_, name in rows})  # as engines number them
    out = table.cells.persons.drawn(0.3, attacked.random(0))
    held = {name for name, is_out in zip(names, out, strict=True) if is_out}
    assert len(held) == round(0.3 * len(names))
    assume(len({ill for _, ill, name in rows if name not in held}) > 1)
    kept = Counter((town, ill) for town, ill, name in rows if name not in held)
    combinations, left = shown(attacked.training, rows), attacked.training.cells
    assert dict(zip(combinations, left.counts.tolist(), strict=True)) == kept
    named = [name for name in names if name not in held]
    pairs = Counter(
        {
            (named[person], combinations[cell]): count
            for cell, person, count in zip(
                *map(np.ndarray.tolist, (left.persons.cell, left.persons.person, left.persons.count)), strict=True
            )
        }
    )
    assert pairs == Counter((name, (town, ill)) for town, ill, name in rows if name not in held)
    whole = dict(zip(map(tuple, cell_codes(table.cells).tolist()), shown(table, rows), strict=True))
    control = [{*each} for each in records_by_person(attacked.control, lambda row: whole[tuple(row)])]
    expected = [{row[:2] for row in rows if row[2] == name} for name in held]
    assert sorted(map(sorted, control)) == sorted(map(sorted, expected))
    mixed = [
        (*rows[i][:2], f"p{999 - int(rows[i][2][1:])}") for i in np.random.default_rng(seed).permutation(len(rows))
    ]
    again = Attacks(control=0.3, seed=seed).prepare(of_visits(mixed)).control
    assert (again.codes == attacked.control.codes).all() and (again.known == attacked.control.known).all()


def test_with_one_record_per_person_the_same_records_are_held_out_as_without_persons():
    rows = visits(np.random.default_rng(1).permutation(300), 2)
    by_record, by_person = (Attacks(seed=4).prepare(of_visits(rows, person)) for person in (None, "who"))
    assert (by_record.control.codes == by_person.control.codes).all() and len(by_record.control) == 60
    assert (by_record.training.cells.counts == by_person.training.cells.counts).all()
    assert by_person.training.cells.persons.number == 240


def test_a_control_of_single_records_would_hide_who_is_recognized_by_another_record():
    """Everybody has a town of his own and five records. The attack finds a person by any record from his town."""
    rows = [(f"t{owner:03}", ("flu", "cold")[owner % 2], f"p{owner:03}") for owner in range(100) for _ in range(5)]
    table = of_visits(rows)
    attacked = Attacks().prepare(table)

    def advantage(training, control):
        towns = set(training[:, 0].tolist())
        found = [sum(row[0] in towns for row in side.tolist()) for side in (training, control)]
        return Advantage("fake", Rate(found[0], len(training)), Rate(found[1], len(control))).value

    left = attacked.training.cells
    assert advantage(np.repeat(cell_codes(left), left.counts, axis=0), attacked.control.codes) == 1
    out = held_out(table.cells, 0.2, np.random.default_rng(0))
    codes = cell_codes(table.cells)
    by_records = [np.repeat(codes, counts, axis=0) for counts in (table.cells.counts - out, out)]
    assert advantage(*by_records) < 0.05
    with pytest.raises(BadInputError, match="has several"):
        RemainingTable.of(table, table.cells.counts - out)


EXAMPLE = {name: [row[name] for row in WORKED] for name in ("person", "age", "clinic", "illness")}


def worked(**more):
    trees = {"age": numeric(0, 99), "clinic": flat(["A", "B"]), "illness": flat(["cold", "flu", "gout"])}
    return read(pa.table(EXAMPLE), quasi=["age", "clinic"], sensitive=["illness"], hierarchies=trees, **more)


def test_in_the_worked_example_a_person_is_linked_by_the_share_of_its_rows():
    """Ann has 3 of 4 rows of clinic A, Cem 2 of 4 of clinic B, the others 1 of 4: whichever record is known."""
    table = worked(person="person")
    [release] = made('cut-vector cuts="age=30|40, clinic=@0"')(table)
    lines = Attacks().prepare(table).lines[:2]
    for seed in range(5):
        found = record_linkage(release, lines, 100, np.random.default_rng(seed))
        assert found.attack.tries == 4 and found.attack.share == pytest.approx(7 / 16)
        assert found.control.share == 1 / 4 and found.bound == 3 / 4
        assert found.value == pytest.approx(1 / 4)
    everybody = Attacks().prepare(table)._uniques[3]
    assert (len(everybody), len(everybody.codes)) == (4, 6)
    ages = Predicates(*(np.array([[each]], np.int32) for each in (0, 31, 31)))
    assert ages.fit(everybody) == 1 and ages.fit(PersonRecords.each(everybody.codes)) == 2
    assert Attack().run(release).accuracy == Attack().run(release).baseline == 3 / 5
    table = worked()
    [release] = made('cut-vector cuts="age=30|40, clinic=@0"')(table)
    found = record_linkage(release, lines, 100, np.random.default_rng(0))
    assert found.attack.share == 1 / 4 and found.value == pytest.approx(1 / 7)


def stays(persons=150, most=5, seed=4):
    """Stays of persons with up to so many each, at an age and one of some places that may change."""
    random = np.random.default_rng(seed)
    rows = []
    for person in range(persons):
        age = int(random.integers(20, 80))
        for _ in range(random.integers(1, most + 1)):
            place, ill = f"place {random.integers(6)}", random.choice(["flu", "cold", "gout", "cough"])
            rows.append((str(age), place, str(ill), f"p{person:03}"))
    return dict(zip(("age", "place", "ill", "who"), map(list, zip(*rows, strict=True)), strict=True))


def of_stays(columns, **more):
    trees = {"age": numeric(0, 99), "place": flat([f"place {i}" for i in range(6)])}
    return read(pa.table(columns), quasi=["age", "place"], sensitive=["ill"], hierarchies=trees, **more)


ONE_EACH = [
    "mondrian cut=loss ranges=tight",
    "full-domain",
    "hilbert",
    "original",
    "without-sensitive",
]


@pytest.mark.parametrize("by_file", [False, True])
@pytest.mark.parametrize("text", ONE_EACH)
def test_with_one_record_per_person_every_attack_finds_the_same_as_without_persons(text, by_file, tmp_path):
    columns = people(500) | {"who": [f"p{i}" for i in np.random.default_rng(1).permutation(500)]}
    options = Attacks(number=100, seed=6)
    if by_file:
        pa.csv.write_csv(pa.table(people(200, 9) | {"who": list(range(200))}), tmp_path / "control.csv")
        options = Attacks(number=100, seed=6, file=str(tmp_path / "control.csv"))
    required = requirement("k-anonymity k=3") if text in ONE_EACH[:3] else NOTHING
    found = []
    for more in ({"person": "who"}, {}):
        names = [*columns][:5]
        table = table_of(columns if more else {name: columns[name] for name in names}, **more)
        make = made(text, required)
        releases = make(table)
        outcome = options.prepare(table).ready().attacked(releases, make)
        guessed = Scales(reader=EmReader(3)).prepare(table).measure(releases[0]).values
        inferred = {name: guessed[name] for name in GUESSED if name in guessed}
        for each in outcome.details["attacks"]:
            del each["bound_by"]
        found.append((outcome, inferred))
    assert found[0] == found[1]
    assert {"linkability", "attack_worst"} <= {*found[0][0].measures} and (found[0][1] or "without" in text)


GUESSED = ("attack_accuracy", "empirical_breach", "definetti_accuracy", "definetti_gain")


@given(st.integers(0, 2**32))
@tries(20)
def test_attacks_count_persons_as_plain_python_does(seed):
    """Persons with up to three records: whom a predicate singles out, whose value is guessed, who is replicated."""
    random = np.random.default_rng(seed)
    people = some_persons(random, 20, 3, 4)
    records = records_by_person(people)
    different = {frozenset(each) for each in records}
    distinct = people.distinct()
    assert sorted(map(sorted, map(set, records_by_person(distinct)))) == sorted(map(sorted, different))
    one = Predicates(*(np.array(part, np.int32) for part in ([[0], [1], [0]], [[0], [2], [1]], [[0], [3], [1]])))
    fits = [
        sum(any(lo <= row[c] <= hi for row in each) for each in different)
        for c, lo, hi in ((0, 0, 0), (1, 2, 3), (0, 1, 1))
    ]
    assert one.fit(distinct, most=99).tolist() == fits
    owners = {row: {i for i, each in enumerate(records) if row in each} for each in records for row in each}
    exact = random.integers(0, 4, size=(6, 2)).astype(np.int32)
    alone = {next(iter(who)) for who in owners.values() if len(who) == 1}
    copied = {next(iter(who)) for row, who in owners.items() if len(who) == 1 and row in {*map(tuple, exact.tolist())}}
    rate = replicated_uniques(people.unique(), exact)
    assert (rate.successes, rate.tries) == (len(copied), len(alone))
    attribute = worked().cells.sensitive[0]
    guesses, naive = (random.integers(0, 4, 20).astype(np.int32) for _ in range(2))
    secrets = replace(people, codes=np.ascontiguousarray(people.codes[:, 1]))
    found = inference(attribute, guesses, naive, secrets, 12)
    has = [[{row[1] for row in each} for each in records], guesses.tolist(), naive.tolist()]
    right = [guess in own for own, guess, _ in zip(*has, strict=True)]
    assert (found.attack, found.control) == (Rate(sum(right[:12]), 12), Rate(sum(right[12:]), 8))
    assert found.naive == Rate(sum(guess in own for own, _, guess in list(zip(*has, strict=True))[:12]), 12)


@pytest.mark.parametrize("text", ["mondrian", "original"])
def test_a_guess_is_right_if_a_record_of_the_person_with_these_quasi_identifiers_has_the_value(text):
    """And whoever learns across groups guesses a person once in each group and at each combination."""
    columns = stays(40, 4)
    table = of_stays(columns, person="who")
    required = requirement("k-anonymity k=3") if text == "mondrian" else NOTHING
    [release] = made(text, required)(table)
    points, attribute = table.cells.points, table.cells.sensitive[0]
    trees = [quasi.hierarchy for quasi in table.cells.quasi]
    places = {
        tuple(tree.leaves[c] for tree, c in zip(trees, code, strict=True)): i
        for i, code in enumerate(points.codes.tolist())
    }
    had = {}
    for age, place, ill, who in zip(*columns.values(), strict=True):
        had.setdefault((who, places[age, place]), set()).add(ill)
    guess, _ = naive_bayes(release, points, np.maximum(release.content, 0.0)).guesses()
    right = sum(attribute.labels[guess[point]] in values for (_, point), values in had.items())
    found = Attack().run(release)
    assert found.accuracy == right / len(had) and found.records == len(had)
    assert found.baseline == max(sum(ill in own for own in had.values()) for ill in attribute.labels) / len(had)
    reader, entries = EmReader(3), Entries.of(release, points)
    dealt = reader.dealt(entries, release.histograms.of(0).astype(np.float64))
    guess = best_values(dealt, release.histograms.of(0)[entries.group])
    whose, seen, group = table.cells.persons, {}, release.group_persons.group
    entry = dict(zip(release.assignment.cell.tolist(), entries.of_assignment.tolist(), strict=True))
    together = {}
    for cell, person in zip(whose.cell.tolist(), whose.person.tolist(), strict=True):
        if group[cell] >= 0:
            value = int(table.cells.values[cell, 0])
            seen.setdefault((entry[cell], person), set()).add(value)
            together.setdefault(int(group[cell]), {}).setdefault(person, set()).add(value)
    counts = {
        g: [sum(s in own for own in each.values()) for s in range(attribute.size)] for g, each in together.items()
    }
    common = {g: each.index(max(each)) for g, each in counts.items()}
    told = definetti(release, reader)
    assert told.accuracy == sum(guess[e] in values for (e, _), values in seen.items()) / len(seen)
    assert told.baseline == sum(common[int(entries.group[e])] in values for (e, _), values in seen.items()) / len(seen)


@pytest.mark.parametrize(("maker", "suppressed"), [("mondrian", False), ("mondrian", True), ("local-recoding", False)])
def test_persons_are_linked_as_looking_through_all_rows_gives_on_average(maker, suppressed):
    columns = stays(12, 4)
    table = of_stays(columns, person="who")
    release = anonymizer(maker).anonymize(table, requirement("k-anonymity k=3"))
    cells, pairs, group = table.cells, table.cells.persons, release.group_persons.group
    if suppressed:
        group = np.where(np.arange(cells.size) % 5 == 0, -1, group)
        group[pairs.cell[pairs.person == 0]] = -1
        boxes = release.boxes.lo, release.boxes.hi
        release = generalization(table, cells.assigned(group), *boxes, ranges=None)
        assert release.sizes.min() > 0
    lines = Attacks().prepare(table).lines[:2]

    def apart(cell, g):
        total = 0.0
        for a, line in enumerate(lines):
            x, low, high = (
                line[leaf] for leaf in (cells.codes[cell, a], release.boxes.lo[g, a], release.boxes.hi[g, a])
            )
            total += min(max(low - x, x - high, 0), 1)
        return round(total, 9)

    own = [Counter() for _ in range(pairs.number)]
    known = [Counter() for _ in range(pairs.number)]
    for cell, person, count in zip(pairs.cell.tolist(), pairs.person.tolist(), pairs.count.tolist(), strict=True):
        known[person][cell] += count
        if group[cell] >= 0:
            own[person][int(group[cell])] += count
    least, most, mean = 0.0, 0.0, 0.0
    for person, cell_counts in enumerate(known):
        chances = []
        for cell, count in cell_counts.items():
            distances = [apart(cell, g) for g in range(release.groups)]
            near = [g for g, each in enumerate(distances) if each == min(distances)]
            chances += [sum(own[person][g] for g in near) / sum(release.sizes[g] for g in near)] * count
        least, most, mean = least + min(chances), most + max(chances), mean + sum(chances) / len(chances)
    found = [record_linkage(release, lines, 99, np.random.default_rng(seed)).attack.successes for seed in range(300)]
    assert least - 1e-9 <= min(found) <= max(found) <= most + 1e-9
    assert np.mean(found) == pytest.approx(mean, abs=4 * np.std(found) / np.sqrt(300) + 1e-9)


def test_a_neutral_column_of_the_remaining_table_has_the_values_of_the_remaining_records():
    columns = people(300) | {"note": [f"n{i % 7}" for i in range(300)]}
    columns = {name: values for name, values in columns.items() if name != "income"}
    table = read(pa.table(columns), quasi=["work now", "home town"], sensitive=["the illness"], neutral=["note"])
    left = Attacks(control=0.3).prepare(table).training
    whole, fewer = table.counts_of("note"), left.counts_of("note")
    assert len(fewer.offsets) == left.cells.size + 1
    assert (np.add.reduceat(fewer.counts, fewer.offsets[:-1]) == left.cells.counts).all()
    for cell, place in enumerate(left.places):
        before = dict(
            zip(
                *(
                    part[whole.offsets[place] : whole.offsets[place + 1]].tolist()
                    for part in (whole.values, whole.counts)
                ),
                strict=True,
            )
        )
        after = dict(
            zip(
                *(
                    part[fewer.offsets[cell] : fewer.offsets[cell + 1]].tolist()
                    for part in (fewer.values, fewer.counts)
                ),
                strict=True,
            )
        )
        assert all(before[value] >= count > 0 for value, count in after.items())


def test_members_of_a_household_are_not_torn_apart_silently():
    columns = people(60) | {"family": [str(i // 3) for i in range(60)]}
    table = read(pa.table(columns), quasi=["home town"], sensitive=["the illness"], household="family")
    with pytest.raises(BadInputError, match=r"family\) belong together; give the control as a file"):
        Attacks().prepare(table).ready()


def test_a_control_file_is_read_in_the_codes_of_the_table_and_nothing_is_held_out(table, tmp_path):
    other = people(200, seed=8)
    other["the illness"][0], other["home town"][1] = "plague", "elsewhere"
    file = tmp_path / "control.csv"
    pa.csv.write_csv(pa.table(other), file)
    attacked = Attacks(file=str(file), number=100).prepare(table)
    assert attacked.training is table and len(attacked.control) == 200
    names = [*(quasi.name for quasi in table.cells.quasi), "the illness"]
    texts = []
    for row in attacked.control.codes:
        leaves = [table.hierarchies[name].leaves for name in names]
        texts.append(tuple("?" if code < 0 else leaf[code] for code, leaf in zip(row, leaves, strict=True)))
    expected = [tuple(str(other[name][i]) for name in names) for i in range(200)]
    expected = [tuple({"plague": "?", "elsewhere": "?"}.get(text, text) for text in row) for row in expected]
    assert sorted(texts) == sorted(expected)
    with pytest.raises(BadInputError, match=r"the control has no column 'age"):
        pa.csv.write_csv(pa.table({"income": [1]}), file)
        _ = Attacks(file=str(file)).prepare(table).control


# -- singling out --------------------------------------------------------------------------------------------


def plain_fit(predicates, records):
    return [
        sum(all(lo <= row[column] <= hi for column, lo, hi in zip(*each, strict=True)) for row in records.tolist())
        for each in zip(predicates.columns.tolist(), predicates.lo.tolist(), predicates.hi.tolist(), strict=True)
    ]


def test_every_predicate_fits_exactly_one_released_record_and_none_stands_twice(attacked):
    view, random = attacked.whole, np.random.default_rng(4)
    released = view.distinct[0].codes[:300]
    for predicates in (
        multivariate(released, view.hierarchies, 150, 3, random),
        univariate(released, view.hierarchies, 150, random),
    ):
        assert len(predicates) > 0 and plain_fit(predicates, released) == [1] * len(predicates)
        assert predicates.fit(view.distinct[1], most=10**6).tolist() == plain_fit(predicates, view.distinct[1].codes)
        rows = np.column_stack([predicates.columns, predicates.lo, predicates.hi]).tolist()
        assert len({tuple(row) for row in rows}) == len(rows)


def test_predicates_on_one_column_are_all_that_can_be_listed():
    """Ages 1, 2, 2, 5 and the words a, a, b, b: 1 and 5 are alone, as values and as ends."""
    trees = (numeric(0, 9), flat(["a", "b"]))
    released = np.array([[1, 0], [2, 0], [2, 1], [5, 1]], np.int32)
    found = univariate(released, trees, 10, np.random.default_rng(0))
    rows = sorted(np.column_stack([found.columns, found.lo, found.hi]).tolist())
    assert rows == [[0, 0, 1], [0, 1, 1], [0, 5, 5], [0, 5, 9]]


def test_what_a_control_of_another_size_tells_is_rescaled_as_matches_of_gamma_weights_are():
    random = np.random.default_rng(0)
    weights = random.gamma(0.7, 1 / 4000, 400_000)
    few, many = random.poisson(weights * 2000), random.poisson(weights * 9000)
    grown = growth((few == 0).mean(), (few == 1).sum() / (few == 0).sum(), 4.5)
    assert (few == 1).mean() * grown == pytest.approx((many == 1).mean(), rel=0.03)


# -- linkability and inference -------------------------------------------------------------------------------


def test_two_sources_share_all_columns_and_the_most_telling_go_to_different_ones():
    random = np.random.default_rng(1)
    codes = np.column_stack([random.integers(n, size=500) for n in (2, 100, 5, 80, 3)]).astype(np.int32)
    first, second = two_sources(codes)
    assert sorted(first + second) == [0, 1, 2, 3, 4] and 1 in first and 3 in second


@given(st.integers(0, 10**6))
@tries(60)
def test_linked_is_who_has_one_nearest_record_by_both_halves(seed):
    """By plain sets: all nearest records of the one half, those of the other, and exactly one in both."""
    random = np.random.default_rng(seed)
    released, targets = (random.integers(0, 4, (n, 5)) * 0.3 for n in (int(random.integers(1, 15)), 6))
    sources = [0, 3], [1, 2, 4]

    def closest(target, source):
        apart = [sum(min(abs(target[a] - row[a]), 1.0) for a in source) for row in released]
        return {j for j, far in enumerate(apart) if far <= min(apart) + 1e-9}

    plain = [len(closest(target, sources[0]) & closest(target, sources[1])) == 1 for target in targets]
    halves = [np.ascontiguousarray(rows[:, source]) for rows in (targets, released) for source in sources]
    assert linked_by_one(*halves).tolist() == plain


def test_unique_records_of_few_values_are_linked_in_the_original_and_not_in_a_stranger():
    """Every combination of 4 columns of 4 values once: hundreds tie by each half, and one fits both."""
    grid = np.array(list(np.ndindex(4, 4, 4, 4)), float) * 2
    random = np.random.default_rng(1)
    there, elsewhere = grid[::2], grid[1::2]
    found = linkability(there, elsewhere, there, ([0, 1], [2, 3]), random)
    assert found.attack.share == 1 and found.control.share == 0 and found.value == 1


def test_a_copy_is_linked_and_inferred_by_plain_python_where_every_half_is_alone():
    """Two telling halves, a secret that is noise: a copy links and tells everybody, and nobody of the control."""
    random = np.random.default_rng(2)
    rows = np.column_stack([random.permutation(400), random.permutation(400), random.integers(4, size=400)])
    columns = {
        "left half": rows[:, 0].tolist(),
        "right half": rows[:, 1].tolist(),
        "secret": [f"s{v}" for v in rows[:, 2]],
    }
    table = read(pa.table(columns), quasi=["left half", "right half"], sensitive=["secret"])
    attacked = Attacks(number=400, columns=2).prepare(table)
    found = {
        each.name: each for each in attacked.whole.against(made("original")(attacked.training)[0], random).advantages
    }
    assert found["linkability"].value == 1 and found["linkability"].control.successes < 15
    assert found["inference"].attack.share == 1 and found["inference"].interval()[0] > 0.9
    assert found["singling_out"].value > 0.9 and found["membership"].value == 1


def test_a_copy_of_which_everybody_is_known_anyway_is_no_crash_and_no_risk():
    """Their issue 32: where the attack always succeeds on the control too, there is nothing to divide by."""
    columns = {"a": ["x", "y"] * 200, "b": ["x", "y"] * 200, "secret": ["1", "2"] * 200}
    table = read(pa.table(columns), quasi=["a", "b"], sensitive=["secret"])
    outcome = Attacks(number=100).prepare(table).attacked(made("original")(table), made("original"))
    assert outcome.measures["inference"] == 0 and outcome.intervals["inference"] == (0, 1)
    assert any("always succeeds against the control as well" in each for each in outcome.details["cautions"])
    assert not {"membership", "membership_auc"} & {*outcome.measures}, "nobody could be asked about"


def test_a_control_of_a_few_records_measures_nothing():
    table = table_of(people(200))
    outcome = Attacks(control=0.05, number=100).prepare(table).attacked(made("original")(table), made("original"))
    assert not {"attack_worst", "linkability", "inference", "membership_auc"} & {*outcome.measures}
    assert any("the control has 10 records only" in each for each in outcome.details["cautions"])


def test_a_control_that_was_taken_from_the_table_is_refused(table, tmp_path):
    file = tmp_path / "control.csv"
    columns = people()
    pa.csv.write_csv(pa.table({name: values[:300] for name, values in columns.items()}), file)
    with pytest.raises(BadInputError, match=r"only 0 of 300 records are not in the table as they are"):
        _ = Attacks(file=str(file)).prepare(table).control


# -- membership ----------------------------------------------------------------------------------------------


def test_membership_is_certain_on_the_original_and_on_whatever_shows_it(attacked, table):
    outcome = attacked.attacked(made("original")(table), made("original"))
    assert outcome.measures["membership"] == 1 == outcome.measures["attack_worst"] == outcome.measures["membership_auc"]
    assert outcome.measures["replicated_uniques"] == 1


def independent(table, seed, number):
    """A release that is another sample of the same source than the table, and a control that is a third."""
    random = np.random.default_rng(seed)
    codes = np.repeat(cell_codes(table.cells), table.cells.counts, axis=0)[random.permutation(table.cells.records)]
    training, released, control = (np.ascontiguousarray(part) for part in np.split(codes, 3))
    base = Attacks(number=number, seed=seed).prepare(table)
    sides = PersonRecords.each(training), PersonRecords.each(control)
    view = View(base.options, base._hierarchies, base.lines, table.cells.sensitive, *sides)
    return view, released, random


def test_membership_is_guessing_on_an_independent_sample_of_the_same_source(table):
    values, seen = [], 0
    for seed in range(30):
        view, released, random = independent(table, seed, 300)
        apart = nearest_records(view.placed(view.suspects.both), view.placed(released), 1, random)[1][:, 0]
        found = membership(apart, view.to_reference, len(view.suspects.members))
        values.append(found.attack.share - found.control.share)
        seen += found.interval()[0] > 0
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(len(values)) and seen <= 4


def test_no_attack_finds_anything_in_an_independent_sample(table):
    found = []
    for seed in range(4):
        view, released, random = independent(table, seed, 200)
        found += view.against(points_of(table, released), random).advantages
    assert len(found) == 20 and sum(each.interval()[0] > 0 for each in found) <= 2


def some_persons(random, number, most, values=6):
    """Persons with up to so many records, one of which is known."""
    sizes = random.integers(1, most + 1, size=number)
    owner = np.repeat(np.arange(number), sizes)
    known = np.cumsum(sizes) - sizes + random.integers(0, sizes)
    return PersonRecords(random.integers(0, values, size=(len(owner), 2)).astype(np.int32), owner, known)


@pytest.mark.parametrize("most", [1, 3])
@given(st.integers(0, 2**32))
@tries(20)
def test_whom_the_attacker_asks_about_is_on_one_side_alone(most, seed):
    random = np.random.default_rng(seed)
    training, control = some_persons(random, 40, most), some_persons(random, 24, most)
    suspects = Suspects.drawn(training, control, 100, np.random.default_rng(seed))
    asked = np.random.default_rng(seed).permutation(24)[8:]  # the first third is the reference
    members, others = ({tuple(row) for row in rows.tolist()} for rows in (suspects.members, suspects.others))
    records = [{*each} for each in records_by_person(control)]
    assert members <= {tuple(row) for row in training.known_codes.tolist()}
    assert not members & set().union(*(records[person] for person in asked))
    assert others <= {tuple(control.known_codes[person].tolist()) for person in asked}
    assert not others & set().union(*({*each} for each in records_by_person(training)))
    assert len(suspects.reference) == 8


def test_the_threshold_is_the_best_of_all():
    inside, outside = np.array([0.0, 0.1, 0.5, 2.0]), np.array([0.1, 0.4, 0.9, inf])
    gains = {t: (inside <= t).mean() - (outside <= t).mean() for t in np.concatenate([inside, outside])}
    assert gains[best_threshold(inside, outside)] == max(gains.values())
    assert best_threshold(np.array([3.0]), np.array([1.0])) == -1


def test_the_area_is_the_share_of_pairs_in_the_right_order():
    random = np.random.default_rng(3)
    to_release, to_reference = random.integers(0, 4, 50) / 4, np.ones(50)
    value, (low, high) = area(to_release, to_reference, 20)
    pairs = [(a < b) + (a == b) / 2 for a in to_release[:20] for b in to_release[20:]]
    assert value == pytest.approx(np.mean(pairs)) and low < value < high
    assert membership(np.zeros(0), np.zeros(0), 0).attack.tries == 0


# -- record linkage and replicated uniques -------------------------------------------------------------------


@pytest.mark.parametrize("text", ["mondrian", "rounding base=5", "original"])
def test_record_linkage_is_what_looking_through_all_records_gives(text):
    table = table_of(people(120, missing=0.1))
    required = requirement("k-anonymity k=3") if text == "mondrian" else NOTHING
    [release] = made(text, required)(table)
    cells, trees = table.cells, [quasi.hierarchy for quasi in table.cells.quasi]
    lines = [leaf_places(tree, cells.codes[:, a]) for a, tree in enumerate(trees)]
    link = release.link if text.startswith("rounding") else release.assignment
    lo, hi = (release.lo, release.hi) if text.startswith("rounding") else (release.boxes.lo, release.boxes.hi)
    everybody = [(int(c), int(g)) for c, g, n in zip(link.cell, link.group, link.count, strict=True) for _ in range(n)]

    def apart(person, record):
        total = 0.0
        for a, line in enumerate(lines):
            x, low, high = line[cells.codes[person, a]], line[lo[record, a]], line[hi[record, a]]
            total += min(max(low - x, x - high, 0), 1)
        return round(total, 9)

    expected = 0.0
    for person, own in everybody:
        distances = [apart(person, record) for _, record in everybody]
        nearest_ = min(distances)
        expected += (apart(person, own) == nearest_) / distances.count(nearest_)
    found = record_linkage(release, lines, 10**6, np.random.default_rng(0))
    assert found.attack.tries == 120 and found.attack.successes == pytest.approx(expected)
    assert found.control.share == pytest.approx(1 / 120)


@pytest.mark.parametrize("k", [2, 5, 20])
def test_nobody_is_linked_beyond_what_k_anonymity_proves(attacked, table, k):
    required = requirement(f"k-anonymity k={k}")
    for text in ("mondrian", "full-domain"):
        outcome = attacked.attacked(made(text, required)(table), made(text, required))
        [linked] = [each for each in outcome.details["attacks"] if each["name"] == "record_linkage"]
        assert linked["attack"]["rate"] <= linked["bound"] <= 1 / k


def test_replicated_uniques_are_counted_as_they_stand(attacked, table):
    codes = np.repeat(cell_codes(table.cells), table.cells.counts, axis=0)
    rows = [tuple(row) for row in codes.tolist()]
    alone = {row for row in rows if rows.count(row) == 1}
    release = points_of(table, codes[::3])
    expected = len(alone & {tuple(row) for row in codes[::3].tolist()})
    outcome = attacked.attacked([release])
    assert outcome.details["beside"]["replicated"] == expected
    assert outcome.measures["replicated_uniques"] == pytest.approx(expected / len(alone))
    [boxes] = made("without-quasi")(table)
    assert attacked.attacked([boxes]).measures["replicated_uniques"] == 0


# -- guarantees ----------------------------------------------------------------------------------------------


def test_the_bound_on_membership_is_that_of_the_best_test_between_two_neighbours():
    """Of randomized response, which is the worst case, and for one record replaced, which is two steps."""
    for epsilon in (0.1, 1.0, 3.0):
        keep = exp(2 * epsilon) / (1 + exp(2 * epsilon))
        assert proved_bound(epsilon) == pytest.approx(keep - (1 - keep))
    assert proved_bound(0.0) == 0 and proved_bound(1000.0) == 1 and proved_bound(1, 1e-3) > proved_bound(1)


@pytest.mark.parametrize("text", ["dp-grid epsilon=0.1", "dp-privtree epsilon=0.5", "mst epsilon=0.5"])
def test_no_attack_beats_differential_privacy(attacked, table, text):
    outcome = attacked.attacked(made(text)(table), made(text))
    [found] = [each for each in outcome.details["attacks"] if each["name"] == "membership"]
    assert found["bound"] == pytest.approx(proved_bound(float(text.split("=")[1])))
    assert outcome.intervals["membership"][0] <= found["bound"]
    assert not any("beats" in each for each in outcome.details["cautions"])


def test_shadow_models_find_outliers_in_the_original_and_nobody_behind_noise(table, monkeypatch):
    monkeypatch.setattr(shadow, "PAIRS", 12)
    options = Attacks(number=100, shadow=5, seed=1)
    attacked = options.prepare(table)
    told = attacked._shadowed(made("original"))[0].advantages[0]
    hidden = attacked._shadowed(made("dp-grid epsilon=0.2"))[0].advantages[0]
    assert told.attack.tries == 60 and told.value > 0.9
    assert hidden.interval()[0] <= hidden.bound == proved_bound(0.2) and hidden.value < 0.4
    lost = attacked._shadowed(made("mondrian", requirement("k-anonymity k=1000")))
    assert not lost[0].advantages and "cannot be made" in lost[1][0]


def test_with_one_record_per_person_shadow_models_are_those_of_records(monkeypatch):
    monkeypatch.setattr(shadow, "PAIRS", 4)
    columns, found = people(80) | {"who": [f"p{i}" for i in np.random.default_rng(2).permutation(80)]}, []
    make = made("mondrian cut=loss ranges=tight", requirement("k-anonymity k=2"))
    for more in ({"person": "who"}, {}):
        table = table_of(columns if more else {name: columns[name] for name in [*columns][:5]}, **more)
        found.append(Attacks(shadow=2, seed=1).prepare(table)._shadowed(make))
    assert found[0] == found[1] and found[0][0].advantages[0].attack.tries == 8


def test_shadow_models_draw_whole_persons(monkeypatch):
    monkeypatch.setattr(shadow, "PAIRS", 4)
    columns, drawn = stays(60, 4), []
    whose = Counter(Counter(columns["who"]).values())

    def keep(part, turn):
        drawn.append(part.cells)
        return made("original")(part, turn)

    told = Attacks(shadow=3).prepare(of_stays(columns, person="who"))._shadowed(keep)[0].advantages[0]
    assert told.attack.tries == 12 and told.value > 0.6 and len(drawn) == 48
    for cells, other in zip(drawn[::2], drawn[1::2], strict=True):  # with and without the target
        assert cells.persons.number == other.persons.number in (14, 15)
        assert cells.persons.records.sum() == cells.records and not Counter(cells.persons.records.tolist()) - whose


def test_outliers_are_those_farthest_from_anybody(table):
    attacked = Attacks(shadow=3).prepare(table)
    attack = ShadowAttack(table, attacked._hierarchies, attacked.lines, 3, 0)
    codes, chosen = cell_codes(table.cells), attack.outliers()
    places = placed(attacked.lines, codes)
    apart = np.minimum(np.abs(places[:, None, :] - places[None, :, :]), 1).sum(axis=2) + 99 * np.eye(len(codes))
    closest = apart.min(axis=1)
    alone = table.cells.counts == 1
    assert sorted(closest[chosen]) == pytest.approx(sorted(closest[alone])[-3:])


def test_a_release_that_only_claims_differential_privacy_is_told_of(attacked, table):
    guarantee = made("dp-grid epsilon=0.2")(table)[0].guarantee

    def make(table, turn=0):
        return [
            replace(
                points_of(table, np.repeat(cell_codes(table.cells), table.cells.counts, axis=0)), guarantee=guarantee
            )
        ]

    outcome = attacked.attacked(make(table), make)
    assert any(
        "membership beats what differential privacy with epsilon 0.2 proves" in each
        for each in outcome.details["cautions"]
    )


# -- on maps -------------------------------------------------------------------------------------------------


def test_a_release_that_cannot_be_made_again_is_told_what_needs_no_control(attacked, table):
    outcome = attacked.attacked(made("rounding base=5")(table))
    assert {*outcome.measures} == {"record_linkage", "replicated_uniques"}  # the worst of a few is not the worst of all
    assert "it cannot be made a second time" in outcome.details["cautions"][0]


def test_a_function_is_called_again_on_the_records_that_are_left_and_sees_no_other(table):
    handed = []

    def copied(frame):
        handed.append(frame)
        return frame

    maker = ExternalFunction(function=copied, records="synthetic")
    attacked = Attacks(number=100, seed=5).prepare(table)
    outcome = attacked.attacked([maker.anonymize(table, NOTHING)], lambda part, turn: [maker.anonymize(part, NOTHING)])
    assert maker.remakes and not replace(maker, id="income", records="people").remakes
    assert [len(frame) for frame in handed] == [1500, 1200] and outcome.measures["membership"] == 1
    names = [*(quasi.name for quasi in table.cells.quasi), "the illness"]
    texts = [table.hierarchies[name].leaves for name in names]
    given = Counter(tuple(map(str, row)) for row in handed[1][names].itertuples(index=False))
    left = Counter(
        tuple(leaf[c] for leaf, c in zip(texts, row, strict=True)) for row in attacked.whole.training.codes.tolist()
    )
    assert given == left


def test_a_release_that_is_infeasible_without_the_control_keeps_its_other_measures(attacked, table):
    required = requirement("k-anonymity k=1400")
    outcome = attacked.attacked(made("mondrian", required)(table), made("mondrian", required))
    assert "membership" not in outcome.measures and "record_linkage" in outcome.measures
    assert "it cannot be made of the records that are left" in outcome.details["cautions"][0]


STUDY = """
schema = 1
name = "people"
axes = ["attack_worst", "query_error_median"]
[table]
source = "people.csv"
quasi = ['age "in years"', "home town", "work now"]
sensitive = ["the illness"]
[[candidates]]
anonymizers = ["mondrian"]
requirements = ["k-anonymity k=5"]
[[candidates]]
anonymizers = ["original", "without-sensitive", "rounding base=5"]
"""


def test_axes_that_are_attacks_turn_them_on_and_a_map_has_them_with_intervals(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pa.csv.write_csv(pa.table(people(1200)), tmp_path / "people.csv")
    study = Study.from_toml(STUDY)
    assert study.scales.attacks == Attacks()
    assert Study.from_toml(study.to_toml()) == study and "attacks control=0.2" in study.to_toml()
    study = replace(study, scales=replace(study.scales, attacks=Attacks(number=100)))
    one, two = (sfumato.explore(study, workers=workers) for workers in (1, 2))
    for point, other in zip(one.points, two.points, strict=True):
        assert point.status == "measured", point.reason
        assert point.measures == other.measures and point.intervals == other.intervals
        assert {"attack_worst", "singling_out", "linkability", "record_linkage"} <= {*point.measures}
        for name in ATTACK_MEASURES:
            if name in point.measures:
                low, high = point.intervals[name]
                assert MEASURES[name].least <= low <= point.measures[name] <= high <= MEASURES[name].most
        assert point.details["tables"][0]["title"] == "Attacks on a release made of 80 % of the records"
    assert one.points[1].measures["membership"] == 1
    assert "inference" not in one.points[2].measures
    assert one.points[0].measures["k"] >= 5
    [said] = [text for title, text in meanings(one) if title == "Attacks with a control"]
    assert "20 % of the records are held out (seed 0)" in said and "the other 80 %" in said


def test_a_control_file_is_looked_for_beside_the_study_and_written_as_seen_from_it(tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    for name in ("people.csv", "control.csv"):
        (folder / name).write_text("a\n1\n")
    text = STUDY.replace("[[candidates]]", '[scales]\nattacks = "attacks file=control.csv"\n[[candidates]]', 1)
    study = Study.from_toml(text, str(folder / "study.toml"))
    assert study.scales.attacks.file == str(folder / "control.csv")
    assert "file=control.csv" in study.to_toml(folder) or str(folder / "control.csv") in study.to_toml(folder)


def test_a_control_is_a_share_or_a_file():
    with pytest.raises(BadInputError, match=r"file=a.csv is a control already; give one of them"):
        Attacks(control=0.3, file="a.csv")
    assert str(Attacks(file="a.csv")) == "attacks file=a.csv"


def test_other_studies_are_not_attacked():
    study = sfumato.read_study("adult")
    assert study.scales.attacks is None and "attacks" not in study.to_toml()
    assert Scales().attacks is None


def test_bounds_of_a_search_that_are_attacks_turn_them_on():
    text = '[table]\nsource = "adult"\n[search]\nwithin = "membership 0.1"\n'
    assert Study.from_toml(text).scales.attacks == Attacks()
