"""Mondrian's cuts by a score: the kernels make the plain twin's groups, whatever the table, target and requirement."""

import itertools
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import plain_cuts as plain
import plain_twins as twins
import sfumato
from sfumato import Candidate, Hierarchy, KAnonymity, LDiversity, numeric
from sfumato.anonymizers.mondrian._cuts import problem_of
from sfumato.anonymizers.mondrian._scores import scoring_of
from sfumato.anonymizers.mondrian.mondrian import partition
from sfumato.data.cells import CountedValues, Quasi, sorted_cells
from sfumato.data.hierarchies.hierarchy import Level
from sfumato.publish.cautions import cautions_of
from sfumato.tradeoff.check import problems
from strategies import cells_of_tables, integers, lists, requirements_for, tries

LABELS = ("3", "0.5", None, "-20", "100000")
"""Values of a target: of 4 records with the third, none is a number."""

CUTS = ["range", "variance", "loss", "information-gain target", "variance target"]


@st.composite
def targets_of(draw, cells):
    """The target's values of every record, cell by cell."""
    value = integers(0, len(LABELS) - 1)
    return [draw(lists(value, min_size=int(n), max_size=int(n))) for n in cells.counts]


def with_target(cells, targets):
    """A table of these cells whose column `t` has these values."""
    counted = [sorted({value: own.count(value) for value in own}.items()) for own in targets]
    pairs = [pair for own in counted for pair in own]
    values = CountedValues(
        np.cumsum([0, *map(len, counted)]),
        np.array([value for value, _ in pairs], np.int64),
        np.array([count for _, count in pairs], np.int64),
        LABELS,
        np.array([np.nan if label is None else float(label) for label in LABELS]),
    )
    return SimpleNamespace(cells=cells, grown=(), ranges=None, fine={}, counts_of=lambda column: {"t": values}[column])


def records_of(cells, targets):
    records = iter(twins.records_of(cells))
    return [plain.Record(*next(records), LABELS[value]) for own in targets for value in own]


def expected_groups(cut, records, widths, judge):
    scores = {
        "range": plain.range_score,
        "variance": plain.variance_score,
        "loss": plain.loss_score,
        "information-gain target": plain.gain_score,
        "variance target": plain.target_variance_score(records),
    }
    return plain.mondrian(records, widths, judge, scores[cut], widest_first=cut == "range")


def made_groups(cut, table, requirement):
    cells = table.cells
    name, *target = cut.split()
    scoring = scoring_of(table, name, "t" if target else None)
    top = np.array([quasi.hierarchy.size - 1 for quasi in cells.quasi], np.int32)
    state = np.zeros(1, np.uint64)
    whole = (np.arange(cells.size), cells.counts, np.zeros(len(top), np.int32), top)
    return partition(problem_of(cells, requirement), *whole, False, state, scoring)


def assert_same(cut, cells, targets, requirement):
    records = records_of(cells, targets)
    judge = twins.Judge(requirement, records, cells.sensitive)
    assume(judge(records))
    widths = [[int(w) for w in quasi.hierarchy.widths] for quasi in cells.quasi]
    expected = expected_groups(cut, records, widths, judge)
    groups = made_groups(cut, with_target(cells, targets), requirement)
    found = [
        sorted(zip(groups.cells[a:b].tolist(), groups.counts[a:b].tolist(), strict=True))
        for a, b in itertools.pairwise(groups.offsets)
    ]
    assert sorted(found) == sorted(sorted(twins.entries(own)) for own in expected)
    boxes = sorted(map(tuple, groups.boxes[:, : 2 * len(cells.quasi)].tolist()))
    assert boxes == sorted((*lo, *hi) for lo, hi in map(twins.box_of, expected))
    return groups


@pytest.mark.parametrize("cut", CUTS)
@given(data=st.data(), cells=cells_of_tables())
@tries(80)
def test_cuts_with_any_requirement_are_the_twins(cut, data, cells):
    assert_same(cut, cells, data.draw(targets_of(cells)), data.draw(requirements_for(cells)))


@pytest.mark.parametrize("cut", CUTS)
@given(data=st.data(), cells=cells_of_tables(sensitive=(1, 1), rows=40))
@tries(40)
def test_many_cuts_are_the_twins(cut, data, cells):
    requirement = data.draw(
        st.one_of(
            st.builds(KAnonymity, st.integers(1, 4)),
            st.builds(LDiversity, st.just(2), st.sampled_from(["distinct", "frequency"])),
        )
    )
    assert_same(cut, cells, data.draw(targets_of(cells)), requirement)


@st.composite
def wide_cells(draw):
    """Few cells far apart in domains of thousands of leaves."""
    wide = numeric(0, 4999)
    row = st.tuples(st.integers(0, 4999), st.integers(0, 3), st.integers(0, 4999))
    codes = sorted(draw(st.sets(row, min_size=2, max_size=15)))
    quasi = [Quasi("a", wide), Quasi("b", numeric(0, 3)), Quasi("c", wide)]
    return sorted_cells(quasi, [], np.array(codes, np.int32), np.ones(len(codes), np.int64))


@pytest.mark.parametrize("cut", CUTS)
@given(data=st.data(), cells=wide_cells(), k=st.integers(1, 3))
@tries(25)
def test_cuts_on_domains_of_many_more_leaves_than_cells(cut, data, cells, k):
    assert_same(cut, cells, data.draw(targets_of(cells)), KAnonymity(k))


@pytest.mark.parametrize("cut", CUTS)
@given(data=st.data(), cells=cells_of_tables(most_leaves=5))
@tries(25)
def test_regions_cover_the_domain_once(cut, data, cells):
    requirement = data.draw(requirements_for(cells))
    groups = assert_same(cut, cells, data.draw(targets_of(cells)), requirement)
    lo, hi, region_lo, region_hi = np.split(groups.boxes, 4, axis=1)
    assert (region_lo <= lo).all() and (hi <= region_hi).all()
    for point in itertools.product(*(range(quasi.hierarchy.size) for quasi in cells.quasi)):
        assert ((region_lo <= point) & (point <= region_hi)).all(axis=1).sum() == 1


# ---------------------------------------------------------------- by hand


def frame(**columns):
    return pa.table({name: pa.array([None if v is None else str(v) for v in own]) for name, own in columns.items()})


def published(table, maker, k=2, column="age"):
    """The text of every record's group, in the order of the groups' boxes, and how many records have it."""
    tight = maker if "ranges=" in maker else f"{maker} ranges=tight"  # where it cuts is what is looked at
    release = sfumato.anonymize(table, f"k-anonymity k={k}", tight)
    hierarchy = table.hierarchies[column]
    a = [quasi.name for quasi in table.cells.quasi].index(column)
    ends = sorted(
        (int(lo), int(hi), int(n))
        for lo, hi, n in zip(release.boxes.lo[:, a], release.boxes.hi[:, a], release.sizes, strict=True)
    )
    return [(hierarchy.text(lo, hi), n) for lo, hi, n in ends]


AGES = {"age": {"type": "numeric", "lower": 0, "upper": 99}}


def ages(*own, **more):
    neutral = [name for name in more if name not in ("sex",)]
    quasi = ["age", *(name for name in more if name == "sex")]
    return sfumato.read(frame(age=own, **more), quasi=quasi, neutral=neutral, hierarchies=AGES)


def test_range_cuts_in_the_middle_and_median_halves():
    table = ages(0, 1, 2, 3, 4, 5, 80, 90)
    assert published(table, "mondrian", k=2) == [("0-1", 2), ("2-3", 2), ("4-5", 2), ("80-90", 2)]
    table = ages(0, 1, 2, 3, 4, 80, 90)
    assert published(table, "mondrian", k=2)[0] == ("0-2", 3)
    assert published(table, "mondrian cut=range", k=2) == [("0-1", 2), ("2-4", 3), ("80-90", 2)]


def test_range_cuts_its_regions_at_the_middle_of_the_domain():
    table = ages(0, 10, 90, 99)
    assert published(table, "mondrian cut=range ranges=region") == [("0-49", 2), ("50-99", 2)]
    assert published(table, "mondrian ranges=region") == [("0-10", 2), ("11-99", 2)]


def test_range_takes_the_admitted_cut_nearest_to_the_middle():
    """In the middle only one record would stand right of the cut."""
    assert published(ages(0, 1, 2, 3, 99), "mondrian cut=range") == [("0-2", 3), ("3-99", 2)]
    assert published(ages(0, 1, 2, 30, 99), "mondrian cut=range") == [("0-2", 3), ("30-99", 2)]


def test_variance_parts_the_far_from_the_many():
    assert published(ages(*range(6), 70, 71), "mondrian cut=variance", k=2)[-1] == ("70-71", 2)
    assert published(ages(*range(6), 70, 71), "mondrian", k=3) == [("0-3", 4), ("4-71", 4)]


def test_loss_cuts_a_gap():
    table = ages(0, 1, 2, 3, 40, 41)
    assert published(table, "mondrian cut=loss") == [("0-1", 2), ("2-3", 2), ("40-41", 2)]
    table = ages(0, 1, 2, 3, 4, 40, 41)
    assert published(table, "mondrian cut=loss", k=2)[-1] == ("40-41", 2)
    assert published(table, "mondrian", k=3) == [("0-2", 3), ("3-41", 4)]


def test_information_gain_cuts_where_the_target_changes():
    rich = ["no"] * 2 + ["yes"] * 6
    table = ages(*range(8), salary=rich)
    assert published(table, "mondrian cut=information-gain target=salary", k=2)[0] == ("0-1", 2)
    release = sfumato.anonymize(table, "k-anonymity k=3", "mondrian cut=information-gain target=salary")
    assert sorted(release.sizes.tolist()) == [3, 5]  # 3 no-no-yes | 5 yes gains more than 4 | 4


def test_information_gain_prefers_the_attribute_that_tells():
    table = ages(0, 50, 0, 50, 99, 99, 99, 0, sex=list("mmmmffff"), salary=list("11110000"))
    release = sfumato.anonymize(table, "k-anonymity k=4", "mondrian cut=information-gain target=salary")
    assert {
        release.cells.quasi[a].name for a in range(2) if (release.boxes.lo[:, a] == release.boxes.hi[:, a]).all()
    } == {"sex"}
    release = sfumato.anonymize(table, "k-anonymity k=4", "mondrian cut=loss")
    assert release.groups == 2


def test_where_nothing_is_gained_cuts_are_median_mondrians():
    table = ages(*range(24), salary=["same"] * 24)
    release = sfumato.anonymize(table, "k-anonymity k=4", "mondrian cut=information-gain target=salary")
    assert release.sizes.tolist() == [6, 6, 6, 6]


def test_variance_of_a_target_is_a_regression():
    pay = [10, 11, 1000, 1001, 1002, 1003, 1004, 1005]
    table = ages(*range(8), pay=pay)
    assert published(table, "mondrian cut=variance target=pay", k=2)[0] == ("0-1", 2)


def test_records_without_a_number_do_not_count_for_the_variance_but_are_published():
    pay = [10, None, 11, 1000, 1001, None, 1002, 1003]
    table = ages(*range(8), pay=pay)
    release = sfumato.anonymize(table, "k-anonymity k=3", "mondrian cut=variance target=pay")
    assert release.suppressed == 0 and release.sizes.sum() == 8
    assert published(table, "mondrian cut=variance target=pay", k=3)[0] == ("0-2", 3)
    assert release.details["target_missing"] == 2


def test_a_sensitive_target_makes_groups_as_alike_as_the_requirement_allows():
    """k-anonymity alone lets information gain sort the sick from the healthy; l-diversity does not."""
    ill = ["flu", "none"] * 10
    columns = frame(age=[(0 if value == "flu" else 50) + i for i, value in enumerate(ill)], ill=ill)
    table = sfumato.read(columns, quasi=["age"], sensitive=["ill"], hierarchies=AGES)
    maker = "mondrian cut=information-gain target=ill"
    alike = sfumato.anonymize(table, "k-anonymity k=10", maker)
    assert alike.groups == 2 and (alike.histograms.counts.max(axis=1) == alike.sizes).all()
    diverse = sfumato.anonymize(table, "l-diversity l=2 variant=distinct", maker)
    assert (diverse.histograms.counts > 0).all()


def test_a_quasi_identifier_may_be_the_target():
    table = ages(0, 1, 2, 3, 50, 51, 52, 53, sex=list("mmffmmff"))
    release = sfumato.anonymize(table, "k-anonymity k=4", "mondrian cut=information-gain target=sex")
    assert release.groups == 2


# ---------------------------------------------------------------- on Adult


def test_a_target_is_better_known_from_the_release_that_was_cut_for_it():
    """Mean entropy of salary within the groups, and the loss of cutting for the loss: both beat the median's."""
    table = sfumato.load("adult-train", neutral=["salary"])
    counted = table.counts_of("salary")
    makers = ["mondrian", "mondrian cut=information-gain target=salary", "mondrian cut=loss"]
    entropy, loss = {}, {}
    for maker in makers:
        release = sfumato.anonymize(table, "k-anonymity k=100", maker)
        group = np.empty(table.cells.size, np.int64)
        group[release.assignment.cell] = release.assignment.group
        pairs = zip(np.repeat(group, np.diff(counted.offsets)), counted.values, counted.counts, strict=True)
        members = {}
        for own, value, count in pairs:
            members.setdefault(own, []).extend([value] * count)
        entropy[maker] = plain.weighted_entropy(list(members.values()))
        loss[maker] = sfumato.measure(release).values["loss"]
    assert entropy[makers[1]] < 0.95 * entropy["mondrian"]
    assert loss[makers[2]] < 0.9 * loss["mondrian"]


# ---------------------------------------------------------------- counts_of


def test_counts_of_any_published_column():
    columns = frame(age=[1, 1, 2, 2, 2], ill=list("abbba"), pay=["5", "6", "5", None, "x"])
    table = sfumato.read(columns, quasi=["age"], sensitive=["ill"], neutral=["pay"], hierarchies=AGES)
    found = {}
    for column in ("age", "ill", "pay"):
        counted = table.counts_of(column)
        cell = np.repeat(np.arange(table.cells.size), np.diff(counted.offsets))
        labels = [counted.labels[value] for value in counted.values]
        found[column] = list(zip(cell.tolist(), labels, counted.counts.tolist(), strict=True))
    # the cells: (1, a), (1, b), (2, a), (2, b) with 1, 1, 1 and 2 records
    assert found["age"] == [(0, "1", 1), (1, "1", 1), (2, "2", 1), (3, "2", 2)]
    assert found["ill"] == [(0, "a", 1), (1, "b", 1), (2, "a", 1), (3, "b", 2)]
    assert found["pay"] == [(0, "5", 1), (1, "6", 1), (2, "x", 1), (3, "5", 1), (3, None, 1)]
    numbers = dict(zip(table.counts_of("pay").labels, table.counts_of("pay").numbers.tolist(), strict=True))
    assert numbers["5"] == 5 and np.isnan(numbers["x"]) and np.isnan(numbers[None])


def test_numbers_of_coded_columns_are_the_middles_of_their_leaves():
    stretches = Hierarchy(
        (Level((0, 1, 2), ("0-9", "10-19", "20+")), Level((0,), ("*",))),
        (10.0, 10.0, 10.0),
        "number",
        (0, 10, 20),
        (9, 19, np.inf),
    )
    table = sfumato.read(frame(age=[3, 15, 30, None]), quasi=["age"], hierarchies={"age": stretches})
    counted = table.counts_of("age")
    assert counted.labels[counted.values[-1]] is None
    numbers = counted.numbers[counted.values]
    assert numbers[:3].tolist() == [4.5, 14.5, 20] and np.isnan(numbers[3])


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    "text",
    [
        "mondrian cut=range",
        "mondrian ranges=region cut=loss",
        "mondrian cut=variance",
        "mondrian cut=variance target=hours-per-week",
        "mondrian cut=information-gain target=salary",
        'mondrian ranges=node cut=information-gain target="marital status"',
    ],
)
def test_text_round_trip(text):
    assert str(sfumato.anonymizer(text)) == text
    assert sfumato.anonymizer(str(sfumato.anonymizer(text))) == sfumato.anonymizer(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mondrian cut=mean", "cut must be one of median, range, variance, loss, information-gain"),
        ("mondrian cut=information-gain", "target=COLUMN"),
        ("mondrian target=salary", "cut=information-gain"),
        ("mondrian cut=loss target=salary", "cut=information-gain"),
        ("mondrian mode=relaxed cut=range", "use mode=strict"),
        ("mondrian mode=relaxed cut=information-gain target=salary", "use mode=strict"),
    ],
)
def test_options_that_do_not_go_together(text, said):
    with pytest.raises(sfumato.BadInputError, match=said):
        sfumato.anonymizer(text)


def test_a_target_that_is_not_there_names_those_that_are():
    table = ages(1, 2, pay=[1, 2])
    with pytest.raises(sfumato.BadInputError, match=r"no column 'slary'.*'age', 'pay'"):
        sfumato.anonymize(table, "k-anonymity k=1", "mondrian cut=information-gain target=slary")


def test_a_target_without_a_role_or_that_names_persons_is_refused():
    columns = frame(age=[1, 2], pay=[1, 2], name=["x", "y"])
    table = sfumato.read(columns, quasi=["age"], identifier=["name"])
    for column, said in (("pay", "is not published; give it a role"), ("name", "is an identifier")):
        with pytest.raises(sfumato.BadInputError, match=f"column '{column}' {said}"):
            sfumato.anonymize(table, "k-anonymity k=1", f"mondrian cut=information-gain target={column}")


def test_a_target_of_words_has_no_variance():
    table = ages(1, 2, job=["cook", "1"])
    with pytest.raises(sfumato.BadInputError, match=r"'cook' is not a finite number.*cut=information-gain target=job"):
        sfumato.anonymize(table, "k-anonymity k=1", "mondrian cut=variance target=job")


# ---------------------------------------------------------------- the rest of the house


STUDY = """
[table]
source = "{source}"
quasi = ["age"]
sensitive = ["ill"]
neutral = ["pay"]
[[candidates]]
anonymizers = ["mondrian", "mondrian cut=information-gain target={target}", "mondrian cut=variance target=pay"]
requirements = ["k-anonymity k=2"]
"""


def study_of(folder, target):
    lines = [f"{i % 40},{'flu' if i % 3 else 'none'},{i * 10}" for i in range(60)]
    (folder / "t.csv").write_text("\n".join(["age,ill,pay", *lines]) + "\n")
    return sfumato.Study.from_toml(STUDY.format(source=folder / "t.csv", target=target))


def test_a_study_makes_candidates_cut_for_a_target(tmp_path):
    points = sfumato.explore(study_of(tmp_path, "ill")).points
    assert [point.status for point in points] == ["measured"] * 3
    assert points[1].parameters["cut"] == "information-gain" and points[1].parameters["target"] == "ill"


def test_check_names_a_target_that_is_not_there_and_passes_good_ones(tmp_path):
    for target, bad in (("ill", 0), ("age", 0), ("pay", 0), ("pai", 1)):
        study = study_of(tmp_path, target)
        found = problems(study, study.table.open())
        assert len(found) == bad
    assert found[0].kind == "failed" and "no column 'pai'" in found[0].reason


def test_a_certificate_says_what_a_target_does():
    ill = ["flu", "none"] * 10
    columns = frame(age=range(20), ill=ill, pay=range(20))
    table = sfumato.read(columns, quasi=["age"], sensitive=["ill"], neutral=["pay"], hierarchies=AGES)
    release = sfumato.anonymize(table, "k-anonymity k=2")
    said = {}
    for target in (None, "ill", "pay", "age"):
        maker = (
            sfumato.anonymizers.Mondrian()
            if target is None
            else sfumato.anonymizers.Mondrian(cut="information-gain", target=target)
        )
        found = cautions_of(release, Candidate(maker, KAnonymity(2)))
        said[target] = [caution.text for caution in found if caution.about == "target"]
    assert said[None] == said["age"] == []
    assert "ill differs between them, as far as the requirement allows" in said["ill"][0]
    assert "Groups were cut using pay" in said["pay"][0] and len(said["ill"]) == len(said["pay"]) == 1


def test_cuts_in_words():
    assert sfumato.anonymizer("mondrian cut=loss").in_words() == "Mondrian (cut where the loss falls most)"
    said = sfumato.anonymizer('mondrian ranges=node cut=information-gain target="marital status"').in_words()
    assert said == "Mondrian (whole nodes of the hierarchies, cut where most is learnt of marital status)"


# -- the rule to stop ------------------------------------------------------------------------------------------------


def plain_stop(rows, k, t):
    """Mondrian on one numeric column with the paper's rule: a part farther than t from the table is not cut."""
    everything = [s for _, s in rows]

    def distance(part):
        values = {*everything}
        own = [s for _, s in part]
        return (
            sum(abs(Fraction(own.count(s), len(own)) - Fraction(everything.count(s), len(everything))) for s in values)
            / 2
        )

    def cut(part):
        part = sorted(part)
        if distance(part) > t + Fraction(1, 10**9):
            return [part]
        half, places = Fraction(len(part), 2), [i for i in range(1, len(part)) if part[i - 1][0] < part[i][0]]
        if not places:
            return [part]
        best = min(places, key=lambda i: (abs(i - half), i))
        if min(best, len(part) - best) < k:
            return [part]
        return cut(part[:best]) + cut(part[best:])

    return sorted(sorted(q for q, _ in part) for part in cut(rows))


@tries(30)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 2)), min_size=4, max_size=40),
    st.integers(1, 4),
    st.fractions(0, 1, max_denominator=8),
)
def test_a_rule_to_stop_is_asked_of_the_group_that_would_be_cut(rows, k, t):
    if len({s for _, s in rows}) < 2:
        return
    frame = pa.table({"q": [q for q, _ in rows], "s": [f"v{s}" for _, s in rows]})
    numeric = {"type": "numeric", "lower": 0, "upper": 20}
    table = sfumato.read(frame, quasi=["q"], sensitive=["s"], hierarchies={"q": numeric})
    stop = f"t-closeness t={float(t)} distance=equal"
    release = sfumato.anonymize(table, f"k-anonymity k={k}", sfumato.anonymizers.Mondrian(stop=stop, ranges="tight"))
    codes = table.cells.codes[:, 0]
    found = [
        sorted(np.repeat(codes[release.assignment.cell[own]], release.assignment.count[own]).tolist())
        for own in (release.assignment.group == g for g in range(release.groups))
    ]
    assert sorted(found) == plain_stop(rows, k, t)


def test_a_rule_to_stop_is_no_promise_and_says_so(tmp_path):
    table = sfumato.load("adult-train", quasi=["workclass", "education", "sex", "hours-per-week", "salary"])
    maker = sfumato.anonymizers.Mondrian(stop="t-closeness t=0.2 distance=equal")
    assert str(maker) == 'mondrian stop="t-closeness t=0.2 distance=equal"'
    assert sfumato.anonymizer(str(maker)) == maker
    stopped = sfumato.measure(sfumato.anonymize(table, "k-anonymity k=8", maker))
    required = sfumato.measure(sfumato.anonymize(table, "k-anonymity k=8 & t-closeness t=0.2 distance=equal"))
    assert stopped["t_equal"] > 0.2 >= required["t_equal"]
    with pytest.raises(sfumato.BadInputError, match="unknown requirement 'closeness'"):
        sfumato.anonymizers.Mondrian(stop="closeness t=0.2")


@tries(30)
@given(st.lists(st.integers(0, 30), min_size=2, max_size=60), st.integers(1, 4), st.integers(1, 4))
def test_the_height_limits_how_often_records_are_parted(values, k, height):
    frame = pa.table({"q": values})
    table = sfumato.read(frame, quasi=["q"], hierarchies={"q": {"type": "numeric", "lower": 0, "upper": 30}})
    if len(values) < k:
        return

    def cut(part, left):
        places = [i for i in range(1, len(part)) if part[i - 1] < part[i]]
        best = min(places, key=lambda i: (abs(2 * i - len(part)), i), default=0)
        if left == 0 or not places or min(best, len(part) - best) < k:
            return [part]
        return cut(part[:best], left - 1) + cut(part[best:], left - 1)

    release = sfumato.anonymize(table, f"k-anonymity k={k}", f"mondrian height={height}")
    assert sorted(release.sizes.tolist()) == sorted(map(len, cut(sorted(values), height)))
    assert release.groups <= 2**height


def test_a_height_with_records_to_suppress_is_refused():
    frame = pa.table({"q": [1, 2, 3, 4]})
    table = sfumato.read(frame, quasi=["q"])
    with pytest.raises(sfumato.BadInputError, match="counts cuts from the whole table"):
        sfumato.anonymize(table, "k-anonymity k=2", "mondrian height=2", suppress=0.5)
