"""What an adversary and a researcher gain: by hand, against scikit-learn on every record, and against the file."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato import BadInputError, InfeasibleError, Study, measure
from sfumato.data.cells import Assignment
from sfumato.measures.classification._classifiers import (
    CLASSIFIERS,
    features,
    intervals_block,
    shares_block,
    texts_block,
    trained,
)
from sfumato.measures.classification._validation import (
    DealtRecords,
    Fold,
    Folds,
    Validation,
    deal,
    folds_of,
    records_of,
    score,
)
from sfumato.measures.classification.classification import Classification, interval
from sfumato.measures.divergence import group_gains
from sfumato.measures.scales import Scales
from strategies import tries

AGE = {"type": "numeric", "lower": 20, "upper": 59, "intervals": [10]}


def people(rows: int = 240, seed: int = 1) -> pa.Table:
    """Ages and sexes that say something of a disease; a neutral column that follows from it; a copy of the sex."""
    random = np.random.default_rng(seed)
    age, sex = random.integers(20, 60, rows), random.integers(2, size=rows)
    disease = np.where(random.random(rows) < 0.3, random.integers(3, size=rows), (age - 20) // 14)
    drug = np.where(random.random(rows) < 0.2, 1 - sex, (disease > 0) ^ (sex > 0))
    return pa.table(
        {
            "age": age,
            "sex": np.array(["f", "m"])[sex],
            "disease": np.array(["flu", "gout", "mumps"])[disease],
            "drug": np.array(["a", "b"])[drug.astype(int)],
            "copy": np.array(["f", "m"])[sex],
            "line": np.arange(rows),
        }
    )


def opened(neutral=("drug",), rows: int = 240, **more) -> sfumato.Table:
    return sfumato.read(
        people(rows),
        quasi=["age", "sex"],
        sensitive=["disease"],
        neutral=list(neutral),
        hierarchies={"age": AGE, "sex": ["f", "m"]},
        **more,
    )


# -- the adversary -----------------------------------------------------------------------------------------


def small() -> sfumato.Table:
    frame = pa.table({"q": list("aaaabbbb"), "s": list("xxxyxyyz")})
    return sfumato.read(frame, quasi=["q"], sensitive=["s"])


def test_an_adversary_by_hand():
    """Q is x 4/8, y 3/8, z 1/8; group a has x 3, y 1; group b x 1, y 2, z 1."""
    measured = measure(sfumato.anonymize(small(), "k-anonymity k=4", "original"))
    assert measured["a_know"] == pytest.approx((0.25 + 0.25) / 2)
    assert measured["a_acc"] == pytest.approx((3 + 2) / 8 - 4 / 8)
    in_a = 0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.375)
    in_b = 0.25 * math.log(0.25 / 0.5) + 0.5 * math.log(0.5 / 0.375) + 0.25 * math.log(0.25 / 0.125)
    assert measured["information_gain"] == pytest.approx((in_a + in_b) / 2)
    gains = group_gains(sfumato.anonymize(small(), "k-anonymity k=4", "original"))
    assert gains.a_diff.tolist() == pytest.approx([0.25, 0.25])
    assert gains.a_quot.tolist() == [math.inf, pytest.approx(math.log(2))]


@pytest.mark.parametrize("name", ["without-quasi", "without-sensitive"])
def test_without_quasi_identifiers_or_sensitive_values_an_adversary_gains_nothing(name):
    release = sfumato.anonymize(small(), "k-anonymity k=1", name)
    measured = measure(release)
    assert group_gains(release).a_diff.max() == 0
    if name == "without-quasi":
        assert [measured[of] for of in ("a_know", "a_acc", "information_gain")] == [0, 0, 0]
    else:
        assert "a_know" not in measured.values


@tries(40)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), min_size=3, max_size=60), st.floats(0.2, 3))
def test_the_information_gain_is_below_delta(rows, delta):
    """The paper's lemma: delta-disclosure bounds Gain(S, Q), also where records are suppressed."""
    frame = pa.table({"q": [q for q, _ in rows], "s": [f"v{s}" for _, s in rows]})
    try:
        table = sfumato.read(frame, quasi=["q"], sensitive=["s"])
        release = sfumato.anonymize(table, f"delta-disclosure delta={delta}", suppress=0.3)
    except (BadInputError, InfeasibleError):
        return
    measured = measure(release)
    assert measured["information_gain"] < delta
    assert measured["information_gain"] <= group_gains(release).a_quot.max() + 1e-12


# -- records and folds -------------------------------------------------------------------------------------


@tries(60)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.lists(st.integers(1, 3), max_size=3)), min_size=1, max_size=6), st.data()
)
def test_records_are_dealt_out_in_order(cells, data):
    """Every cell has some distinct records; its groups take records from the front, the rest is suppressed."""
    cell, counts, entries = [], [], []
    for number, (kinds, wanted) in enumerate(cells):
        own = [data.draw(st.integers(1, 3)) for _ in range(kinds)]
        cell += [number] * kinds
        counts += own
        left = sum(own)
        for count in wanted:
            if count <= left:
                entries.append((number, len(entries), count))
                left -= count
    order = data.draw(st.permutations(entries))
    columns = [np.array([entry[i] for entry in order], np.int64) for i in range(3)]
    records = DealtRecords(np.array(cell), np.zeros((len(cell), 0), np.int64), np.array(counts), (), ())
    dealt = deal(records, Assignment(*columns))
    found = [
        (int(record), int(group))
        for record, group, first, last in zip(dealt.record, dealt.group, dealt.first, dealt.last, strict=True)
        for _ in range(last - first)
    ]
    plain = []
    for number in range(len(cells)):
        own = [record for record in range(len(cell)) if cell[record] == number for _ in range(counts[record])]
        groups = [group for at, group, count in entries if at == number for _ in range(count)]
        plain += list(zip(own, groups + [-1] * (len(own) - len(groups)), strict=True))
    assert found == plain


@pytest.mark.parametrize("maker", ["mondrian", "mondrian mode=relaxed seed=3"])
def test_records_go_where_the_written_file_shows_them(maker, tmp_path):
    table = opened(("line", "drug"))
    release = sfumato.anonymize(table, "k-anonymity k=9", maker)
    with release.to_csv(tmp_path / "r.csv")[0].open() as stream:
        shown = {row["line"]: (row["age"], row["sex"]) for row in csv.DictReader(stream)}
    records = records_of(table)
    dealt = deal(records, release.assignment)
    assert records.names == ("drug", "line")
    texts = [release.quasi_texts(a) for a in range(2)]
    for record, group in zip(dealt.record, dealt.group, strict=True):
        line = records.texts[1][records.neutral[record, 1]]
        assert shown[line] == tuple(own[codes[group]] for own, codes in texts)


@tries(50)
@given(st.lists(st.integers(0, 2), min_size=5, max_size=80), st.integers(2, 5), st.integers(0, 60), st.integers(0, 9))
def test_folds_spread_every_class_evenly(labels, folds, sample, seed):
    labels = np.array(labels)
    fold = folds_of(labels, folds, sample, seed)
    assert (fold == folds_of(labels, folds, sample, seed)).all()
    drawn = fold >= 0
    assert drawn.sum() == (min(sample, len(labels)) if sample else len(labels))
    for members in [np.bincount(fold[drawn], minlength=folds)] + [
        np.bincount(fold[drawn & (labels == label)], minlength=folds) for label in range(3)
    ]:
        assert members.max() - members.min() <= 1
    counted = Folds.of(fold, folds).counts(np.array([0, 2]), np.array([2, len(labels)]))
    assert counted.tolist() == [[int((part == f).sum()) for f in range(folds)] for part in (fold[:2], fold[2:])]


def fold_of_lines(table: sfumato.Table, **options) -> dict[str, int]:
    """Say in which fold the record of every line is: the column `line` is neutral and different in every record."""
    task = table_task(table, **options)
    lines = task.records.names.index("line")
    first = np.arange(task.records.size)
    fold = task.folds.counts(first, first + 1)
    shown = [task.records.texts[lines][value] for value in task.records.neutral[:, lines]]
    return {line: int(row.argmax()) if row.any() else -1 for line, row in zip(shown, fold, strict=True)}


def table_task(table: sfumato.Table, **options):
    return Classification("disease", **options).prepare(table)


@tries(25)
@given(st.lists(st.integers(0, 30), min_size=40, max_size=90), st.sampled_from([0, 30]), st.integers(0, 9))
def test_a_fold_holds_out_whole_persons_whatever_their_names_and_the_order_of_rows(owners, sample, seed):
    owners = [*range(4), *owners]
    frame = people(len(owners)).append_column("who", pa.array([f"p{owner}" for owner in owners]))
    shuffled = frame.take(np.random.default_rng(seed).permutation(len(owners)))
    renamed = shuffled.drop_columns("who").append_column(
        "who", pa.array([f"q{99 - int(name[1:]):02}" for name in shuffled["who"].to_pylist()])
    )
    roles = {"quasi": ["age", "sex"], "sensitive": ["disease"], "neutral": ["line"], "person": "who"}
    tables = [sfumato.read(each, hierarchies={"age": AGE, "sex": ["f", "m"]}, **roles) for each in (frame, renamed)]
    folds = [fold_of_lines(table, folds=4, sample=sample, seed=seed) for table in tables]
    assert folds[0] == folds[1]
    of_person: dict[int, set[int]] = {}
    for line, fold in folds[0].items():
        of_person.setdefault(owners[int(line)], set()).add(fold)
    assert all(len(own) == 1 for own in of_person.values())
    drawn = [fold for own in of_person.values() for fold in own if fold >= 0]
    held = [drawn.count(fold) for fold in range(4)]
    assert max(held) - min(held) <= 1
    records = sum(fold >= 0 for fold in folds[0].values())
    assert records <= sample if sample else -1 not in drawn and records == len(owners)


@tries(40)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 8)), min_size=12, max_size=40),
    st.integers(0, 9),
)
def test_folds_of_persons_who_share_combinations_are_those_of_a_plain_twin(rows, seed):
    """Persons in the order of what they have, shuffled, dealt out by the class that most of their records have."""
    rows += [(0, 0, 9), (1, 1, 10), (2, 0, 11)]
    columns = {name: [f"{name}{row[i]}" for row in rows] for i, name in enumerate(("age", "disease", "who"))}
    table = sfumato.read(pa.table(columns), quasi=["age"], sensitive=["disease"], person="who")
    task = table_task(table, folds=3, seed=seed)
    kinds = sorted({(age, disease) for age, disease, _ in rows})
    held: dict[int, dict[int, int]] = {}
    for age, disease, owner in rows:
        own = held.setdefault(owner, {})
        own[kinds.index((age, disease))] = own.get(kinds.index((age, disease)), 0) + 1
    order = sorted(sorted(own.items()) for own in held.values())
    classes = []
    for own in order:
        by_class = [sum(count for kind, count in own if kinds[kind][1] == disease) for disease in (0, 1)]
        classes.append(int(by_class[1] > by_class[0]))
    shuffled = np.random.default_rng(seed).permutation(len(order)).tolist()
    expected = [[0] * 3 for _ in kinds]
    for place, person in enumerate(sorted(shuffled, key=lambda each: classes[each])):
        for kind, count in order[person]:
            expected[kind][place % 3] += count
    starts = task.records.starts
    assert task.folds.counts(starts, starts + task.records.counts).tolist() == expected


@pytest.mark.parametrize("target", ["disease", "drug"])
def test_with_one_record_per_person_classifiers_find_what_they_find_without_persons(target):
    names = pa.array([f"p{name}" for name in np.random.default_rng(3).permutation(240)])
    roles = {"quasi": ["age", "sex"], "sensitive": ["disease"], "neutral": ["drug"]}
    frame, hierarchies = people().append_column("who", names), {"age": AGE, "sex": ["f", "m"]}
    tables = [sfumato.read(frame, hierarchies=hierarchies, person=person, **roles) for person in (None, "who")]
    scales = Scales(classification=Classification(target, folds=4, sample=200))
    plain, counted = (
        scales.prepare(table).measure(sfumato.anonymize(table, "k-anonymity k=5", "full-domain")) for table in tables
    )
    assert plain.worth == counted.worth
    learned = [name for name in plain.values if name.startswith(("workload", "utility_gain"))]
    assert len(learned) == 5
    assert [plain.values[name] for name in learned] == [counted.values[name] for name in learned]


def test_who_is_recognized_by_another_record_teaches_nothing_where_persons_are_held_out():
    """Forty persons, each with its own mark and one coin in all ten records: one record tells the others' coin."""
    coins = np.random.default_rng(0).permutation(np.repeat([0, 1], 20))
    who = np.repeat(np.arange(40), 10)
    frame = pa.table(
        {"who": who, "mark": np.char.add("m", who.astype(str)), "coin": np.char.add("c", coins[who].astype(str))}
    )
    accuracy = []
    for person in (None, "who"):
        table = sfumato.read(frame, quasi=["mark"], sensitive=["coin"], person=person)
        task = Classification("coin", "naive-bayes", folds=5).prepare(table)
        accuracy.append(
            task.learn(
                sfumato.anonymize(table, "k-anonymity k=1 share=1" if person else "k-anonymity k=1", "original")
            ).accuracy
        )
    assert accuracy[0] == 1
    assert accuracy[1] <= 0.6
    with pytest.raises(BadInputError, match=r"folds=41 is more than the 40 persons"):
        assert Classification("coin", folds=41).prepare(table).folds


# -- what a classifier sees --------------------------------------------------------------------------------


def test_features_are_what_the_file_shows():
    age = opened().hierarchies["age"]
    lo, hi = np.array([0, 5, 10]), np.array([9, 5, 39])
    assert intervals_block(age, lo, hi, False).shown.tolist() == [[20, 24.5, 29], [25, 25, 25], [30, 44.5, 59]]
    assert intervals_block(age, lo, hi, False).mass.tolist() == np.eye(3).tolist()
    assert intervals_block(age, lo, lo, False).shown.tolist() == [[20], [25], [30]]
    spread = intervals_block(age, lo, hi, True).mass
    assert spread.sum(axis=1) == pytest.approx([1, 1, 1])
    assert spread[0, :10] == pytest.approx([0.1] * 10) and spread[0, 10:].sum() == 0
    assert shares_block(np.array([[1, 3], [2, 0]]), True).shown.tolist() == [[0.25, 0.75], [1, 0], [1, 0], [0, 1]]


def test_missing_values_and_rare_categories_are_features_too():
    frame = pa.table({"q": [21, 33, None, 58], "s": list("xyxy")})
    hierarchy = sfumato.read(frame, quasi=["q"], sensitive=["s"], hierarchies={"q": AGE}).hierarchies["q"]
    last = hierarchy.size - 1
    shown = intervals_block(hierarchy, np.array([0, last, 0]), np.array([0, last, last]), False).shown
    assert shown.tolist() == [[20, 20, 20, 0], [20, 39.5, 59, 1], [20, 39.5, 59, 1]]
    many = [f"c{i}" for i in range(300)]
    block = texts_block(many, np.arange(300))
    assert block.shown.shape == (300, 100)
    assert block.shown[:, 99].sum() == 201  # the rarest share a column
    numbers = texts_block(["1", "2", "4", None], np.array([1, 1, 2, 1]))
    assert numbers.shown.tolist() == [[1, 0], [2, 0], [4, 0], [2.75, 1]]


def learned(table, release, classifier="decision-tree", target="drug", **more):
    return Classification(target, classifier, folds=5, **more).prepare(table).learn(release)


def test_original_values_inside_a_box_change_nothing():
    """Two tables with the same boxes, other ages inside them: a classifier must not see a difference."""
    first = people()
    moved = first.set_column(0, "age", pa.array((first["age"].to_numpy() // 10) * 10 + 3))
    scores = []
    for frame in (first, moved):
        table = sfumato.read(
            frame, quasi=["age", "sex"], sensitive=["disease"], neutral=["drug"], hierarchies={"age": AGE}
        )
        release = sfumato.anonymize(table, "k-anonymity k=2", 'full-domain levels="age=1, sex=0"')
        assert release.groups == 8
        scores.append(learned(table, release, ",".join(CLASSIFIERS)))
    counts = [sum(own.mean(name) for name in CLASSIFIERS) for own in scores]
    assert counts[0] == pytest.approx(counts[1], abs=0.1)  # folds are drawn by the order of cells, so not the same
    blocks = [
        np.concatenate([block.shown.ravel() for block in _validation(frame).blocks]).tolist()
        for frame in (first, moved)
    ]
    assert blocks[0] == blocks[1]


def _validation(frame) -> Validation:
    table = sfumato.read(frame, quasi=["age", "sex"], sensitive=["disease"], neutral=["drug"], hierarchies={"age": AGE})
    release = sfumato.anonymize(table, "k-anonymity k=2", 'full-domain levels="age=1, sex=0"')
    task = Classification("drug", folds=5).prepare(table)
    return Validation.of(task, release, deal(task.records, release.assignment))


@pytest.mark.parametrize("form", ["generalization", "bucketization"])
@pytest.mark.parametrize("classifier", ["decision-tree", "naive-bayes", "logistic-regression"])
def test_weighted_rows_teach_what_all_records_teach(classifier, form):
    table = opened()
    release = sfumato.anonymize(table, "k-anonymity k=12", form=form)
    task = Classification("drug", classifier, folds=4).prepare(table)
    validation = Validation.of(task, release, deal(task.records, release.assignment))
    blocks = validation.readings[CLASSIFIERS[classifier][1]]
    weights = validation.training_weights(1)
    row, label = np.nonzero(weights)
    x, w = features(blocks, validation.train.rows[row]), weights[row, label]
    every = np.repeat(np.arange(len(row)), w.astype(int))
    assert len(every) > len(row)
    ours = trained(classifier, 0, x, label, w).predict_proba(x)
    plain = trained(classifier, 0, x[every], label[every], np.ones(len(every))).predict_proba(x)
    assert ours == pytest.approx(plain, abs=2e-3)


def test_the_forest_draws_records_not_rows():
    """A row of weight 99 and one of weight 1: nearly every bootstrap sample of records is ruled by the first."""
    x, y = np.zeros((2, 1), np.float32), np.array([0, 1])
    said = trained("random-forest", 5, x, y, np.array([99.0, 1.0])).predict_proba(x)
    assert said[0, 0] == pytest.approx(0.99, abs=0.02)


# -- no leaks ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classifier", list(CLASSIFIERS))
@pytest.mark.parametrize("test", ["release", "original"])
def test_a_copy_of_a_fully_generalized_column_cannot_be_learned(classifier, test):
    table = opened(("copy",))
    release = sfumato.anonymize(table, "k-anonymity k=1", 'full-domain levels="age=0, sex=1"')
    commonest = max(np.bincount((people()["copy"].to_numpy() == "m").astype(int))) / 240
    task = Classification("copy", classifier, folds=5, test=test).prepare(table)
    with_sex = task.baselines["original"].accuracy
    own = task.learn(release)
    assert with_sex == 1
    assert own.mean(classifier) < commonest + 0.08  # ages and diseases are drawn apart from the sex
    bare = sfumato.read(people(), quasi=["sex"], sensitive=["disease"], neutral=["copy"])
    all_the_same = sfumato.anonymize(bare, "k-anonymity k=240", "without-quasi")
    nothing = replace(all_the_same, histograms=None)
    found = Classification("copy", classifier, folds=5, test=test).prepare(bare).learn(nothing)
    assert found.mean(classifier) == pytest.approx(commonest, abs=0.005)


def test_the_values_of_a_bucket_are_counted_without_the_test_fold():
    table = opened(())
    release = sfumato.anonymize(table, "l-diversity l=2 variant=distinct", form="bucketization")
    task = Classification("disease", folds=4).prepare(table)
    dealt = deal(task.records, release.assignment)
    validation = Validation.of(task, release, dealt)
    train = validation.train
    assert validation.dealt_out
    other = (train.label + (train.counts[:, 2] > 0)) % 3  # records that are only in the test fold change their class
    only = train.counts.sum(axis=1) == train.counts[:, 2]
    changed = replace(validation, train=replace(train, label=np.where(only, other, train.label)))
    assert only.any() and (changed.train.label != train.label).any()
    assert (changed.training_weights(2) == validation.training_weights(2)).all()
    assert not (changed.training_weights(1) == validation.training_weights(1)).all()
    # what a row teaches is its group's histogram of the other folds, spread over the records of the group
    weights, counts = validation.training_weights(2), train.counts.sum(axis=1) - train.counts[:, 2]
    for row in range(0, len(train.rows), 17):
        expected = np.zeros(3)
        for g, n in zip(train.group[train.row == row], counts[train.row == row], strict=True):
            own = np.bincount(train.label[train.group == g], counts[train.group == g], 3)
            expected += n * own / max(own.sum(), 1)
        assert weights[row] == pytest.approx(expected)


def test_a_bucketized_column_is_a_distribution():
    table = opened()
    release = sfumato.anonymize(table, "k-anonymity k=30", form="bucketization")
    task = Classification("drug", folds=4).prepare(table)
    validation = Validation.of(task, release, deal(task.records, release.assignment))
    assert any(
        block.shown.shape == (release.groups, 3)
        and block.shown == pytest.approx(release.histograms.of(0) / release.sizes[:, None])
        for block in validation.blocks
        if block.shown.shape == (release.groups, 3)
    )


# -- scores ------------------------------------------------------------------------------------------------


@tries(40)
@given(st.integers(2, 4), st.integers(2, 12), st.integers(0, 99))
def test_scores_are_those_of_scikit_learn_on_every_record(classes, rows, seed):
    from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score

    random = np.random.default_rng(seed)
    said = random.dirichlet(np.ones(classes), rows).round(2)
    said /= said.sum(axis=1, keepdims=True)
    true = random.integers(0, 3, (rows, classes)).astype(float)
    true[0] += 1  # every class occurs
    row, label = np.nonzero(true)
    every = np.repeat(np.arange(len(row)), true[row, label].astype(int))
    row, label = row[every], label[every]
    found = score(Fold(said, true))
    guess = said.argmax(axis=1)[row]
    assert found["accuracy"] == pytest.approx(accuracy_score(label, guess))
    assert found["balanced"] == pytest.approx(balanced_accuracy_score(label, guess))
    areas = [roc_auc_score(label == c, said[row, c]) for c in range(classes)]
    assert found["auc"] == pytest.approx(np.mean(areas))
    hot = np.eye(classes)[label]
    assert found["brier"] == pytest.approx(((said[row] - hot) ** 2).sum(axis=1).mean())


def test_the_interval_of_paired_differences_by_hand():
    """Differences 1, 2, 3, 6 points: mean 3, variance 14/3; t with 3 degrees of freedom is 3.18245."""
    low, high = interval([0.51, 0.52, 0.53, 0.56], [0.5] * 4)
    reach = 3.182446 * math.sqrt((1 / 4 + 1 / 3) * Fraction(14, 3)) / 100
    assert (low, high) == (pytest.approx(0.03 - reach, abs=1e-7), pytest.approx(0.03 + reach, abs=1e-7))


def test_suppressed_records_are_guessed_by_the_shares_of_the_published():
    table = opened()
    release = sfumato.anonymize(table, "k-anonymity k=3", 'full-domain levels="age=0, sex=0"', suppress=0.6)
    assert release.suppressed > 0
    task = Classification("drug", folds=3).prepare(table)
    validation = Validation.of(task, release, deal(task.records, release.assignment))
    assert validation.unseen.sum() == release.suppressed
    fold = validation.fold("decision-tree", 0, 0)
    assert fold.true.sum() == task.folds.sums[0, -1]
    weights = validation.training_weights(0).sum(axis=0)
    assert fold.chances[-1] == pytest.approx(weights / weights.sum())


def test_the_same_seed_gives_the_same_numbers_and_another_one_others():
    table = opened()
    release = sfumato.anonymize(table, "k-anonymity k=12")
    every = ",".join(CLASSIFIERS)
    assert learned(table, release, every) == learned(opened(), release, every)
    assert learned(table, release) != learned(table, release, seed=1)


def test_on_the_original_both_ways_to_test_are_one():
    table = opened()
    release = sfumato.anonymize(table, "k-anonymity k=1", "original")
    assert learned(table, release) == learned(table, release, test="original")


def test_a_sample_leaves_the_other_records_out():
    table = opened()
    task = Classification("drug", folds=3, sample=60).prepare(table)
    assert task.folds.sums[:, -1].tolist() == [20, 20, 20]


# -- the worth of a release --------------------------------------------------------------------------------


def test_what_a_release_is_worth_is_held_against_the_better_trivial_one():
    table = opened()
    scales = sfumato.Scales(classification=Classification("drug", folds=4))
    prepared = scales.prepare(table).ready()
    measured = prepared.measure(sfumato.anonymize(table, "k-anonymity k=12"))
    own, task = measured.worth, prepared.task
    accuracies = {name: task.baselines[name].accuracy for name in ("without-quasi", "without-sensitive")}
    assert own.base == max(accuracies, key=accuracies.__getitem__)
    assert own.gain == pytest.approx(measured["workload_accuracy"] - max(accuracies.values()))
    assert own.gain == measured["utility_gain"] and own.adversary == measured["a_acc"]
    assert own.low < own.gain < own.high
    assert own.verdict == ("better" if own.low > 0 else "no better" if own.high <= 0 else "not shown")
    itself = prepared.measure(sfumato.anonymize(table, "k-anonymity k=1", own.base))
    assert (itself.worth.gain, itself.worth.verdict) == (0, "no better")
    assert replace(own, low=0.01).verdict == "better"


def test_a_release_without_the_sensitive_column_cannot_teach_it():
    table = opened()
    task = Classification("disease", folds=4).prepare(table)
    assert task.learn(sfumato.anonymize(table, "k-anonymity k=1", "without-sensitive")) is None
    assert set(task.baselines) == {"without-quasi", "original"}


@pytest.mark.parametrize(
    ("target", "more", "said"),
    [
        ("sex", {}, "quasi-identifier"),
        ("line", {}, "not published"),
        ("drug", {"folds": 1}, "folds must be a whole number of at least 2"),
        ("drug", {"folds": 500}, "more than the 240 records"),
        ("drug", {"classifiers": "oracle"}, "classifiers must be one of decision-tree"),
        ("drug", {"test": "both"}, "test must be one of release, original"),
        ("", {}, "target must name the column"),
    ],
)
def test_a_workload_that_makes_no_sense_is_refused(target, more, said):
    with pytest.raises(BadInputError, match=said):
        Classification(target, **more).prepare(opened()).baselines  # noqa: B018


def test_a_column_of_too_many_classes_is_refused():
    with pytest.raises(BadInputError, match=r"has 240 different values; a classifier learns a column of 2 to 50"):
        Classification("line").prepare(opened(("line",))).classes  # noqa: B018


def test_a_study_with_a_column_to_learn_is_written_and_read_back():
    from sfumato.tradeoff.study.presets import bundled_study

    wanted = bundled_study("adult").with_target(Classification("hours-per-week", "naive-bayes", test="original"))
    assert wanted.table.neutral == ("hours-per-week",)
    again = Study.from_toml(wanted.to_toml())
    assert again.scales == wanted.scales and again.table.neutral == wanted.table.neutral
    assert bundled_study("adult").with_target(Classification("occupation")).table.neutral == ()


def test_group_gains_are_of_a_named_sensitive_column():
    release = sfumato.anonymize(small(), "k-anonymity k=4", "original")
    with pytest.raises(BadInputError, match="no sensitive attribute"):
        group_gains(release, "other")
    assert group_gains(release, "s").a_diff.tolist() == pytest.approx([0.25, 0.25])


def test_the_column_to_learn_is_no_feature_of_itself():
    """Without quasi-identifiers and neutral columns nothing is left to learn the sensitive column from."""
    table = opened(())
    release = sfumato.anonymize(table, "k-anonymity k=1", "without-quasi")
    commonest = table.cells.sensitive[0].shares.max()
    own = learned(table, release, target="disease")
    assert own.mean("decision-tree") == pytest.approx(commonest, abs=0.005)
    task = Classification("disease", folds=5).prepare(table)
    assert len(Validation.of(task, release, deal(task.records, release.assignment)).blocks) == 2  # age and sex


def test_the_original_as_test_shows_exact_values():
    """Trained on decades, asked about single years: the rows that are asked about are those of the original."""
    table = opened()
    release = sfumato.anonymize(table, "k-anonymity k=2", 'full-domain levels="age=1, sex=0"')
    task = Classification("drug", folds=5, test="original").prepare(table)
    validation = Validation.of(task, release, deal(task.records, release.assignment))
    age = validation.blocks[0].shown
    asked, taught = (age[side.rows[:, 0]] for side in (validation.test, validation.train))
    assert (asked[:, 0] == asked[:, 2]).all() and len(np.unique(asked[:, 0])) == len(np.unique(table.cells.codes[:, 0]))
    assert {tuple(row) for row in taught.tolist()} == {(d, d + 4.5, d + 9) for d in (20, 30, 40, 50)}
