"""Requirements as values: their text, their checks, how they join, and what they say of groups that fail."""

import dataclasses
import math
import re

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import plain_twins as twins
from sfumato import (
    AlphaK,
    BadInputError,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    Requirement,
    TCloseness,
    requirement,
)
from sfumato.data.cells import Histograms
from sfumato.requirements.requirement import REQUIREMENTS, All
from strategies import flat_sensitive, group_counts, one_histogram, sensitives, single_requirements, tries

# ---------------------------------------------------------------- text

ODD_NAMES = ["marital status", 'say "hi"', "a & b", "k=3", "", " ", '"', '""', "a\nb", "\u00a0", "größe", "None", "&"]
names = st.one_of(st.none(), st.sampled_from(ODD_NAMES), st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
at_least_one = st.one_of(st.integers(1, 10**6), st.floats(1, 1e300, allow_nan=False))
positive = st.one_of(st.integers(1, 10**6), st.floats(0, 1e300, exclude_min=True, allow_nan=False))
wholes = st.integers(1, 10**12)
any_single = st.one_of(
    st.builds(KAnonymity, wholes),
    st.builds(LDiversity, at_least_one, st.sampled_from(["frequency", "entropy"]), on=names),
    st.builds(LDiversity, wholes, st.just("distinct"), on=names),
    st.builds(LDiversity, wholes, st.just("recursive"), c=positive, on=names),
    st.builds(
        TCloseness,
        st.one_of(st.floats(0, 1), st.sampled_from([0, 1])),
        st.sampled_from(["equal", "ordered", "hierarchical", "js"]),
        on=names,
    ),
    st.builds(DeltaDisclosure, positive, st.sampled_from(["infinite", "ignore"]), on=names),
    st.builds(BetaLikeness, positive, st.sampled_from(["basic", "enhanced"]), on=names),
    st.builds(AlphaK, st.floats(0, 1, exclude_min=True), wholes, on=names),
)


@given(any_single)
@tries(400)
def test_the_text_of_a_requirement_reads_back_as_the_same(one):
    assert requirement(str(one)) == one
    assert str(requirement(str(one))) == str(one)


@given(st.lists(any_single, min_size=2, max_size=4))
@tries(150)
def test_the_text_of_joined_requirements_reads_back_as_the_same(parts):
    joined = All(tuple(parts))
    assert requirement(str(joined)) == joined
    assert requirement(str(joined)).parts == tuple(parts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k-anonymity k=10", KAnonymity(10)),
        ("l-diversity l=3 variant=distinct", LDiversity(3, "distinct")),
        ("l-diversity l=2.5 variant=frequency", LDiversity(2.5, "frequency")),
        ("l-diversity l=3 variant=entropy", LDiversity(3, "entropy")),
        ("l-diversity l=3 variant=recursive c=3", LDiversity(3, "recursive", 3)),
        ("t-closeness t=0.2 distance=js", TCloseness(0.2, "js")),
        ("t-closeness t=0.2 distance=hierarchical on=ill", TCloseness(0.2, "hierarchical", "ill")),
        ("delta-disclosure delta=2", DeltaDisclosure(2)),
        ("delta-disclosure delta=2 absent=ignore", DeltaDisclosure(2, "ignore")),
        ("beta-likeness beta=2 variant=enhanced", BetaLikeness(2, "enhanced")),
        ("alpha-k alpha=0.5 k=10", AlphaK(0.5, 10)),
        ('  alpha-k   k=10\talpha=.5  on="a ""b"" & c" ', AlphaK(0.5, 10, 'a "b" & c')),
        ("k-anonymity\tk=10", KAnonymity(10)),
        ("k-anonymity k=10&t-closeness t=0.2 distance=equal", KAnonymity(10) & TCloseness(0.2, "equal")),
    ],
)
def test_a_requirement_is_read_from_text(text, expected):
    assert requirement(text) == expected


def test_a_requirement_prints_as_what_a_person_would_type():
    assert str(LDiversity(3.0, "recursive", c=0.5, on="marital status")) == (
        'l-diversity l=3 variant=recursive c=0.5 on="marital status"'
    )
    assert str(DeltaDisclosure(2.0)) == "delta-disclosure delta=2"


NAMES = ["k-anonymity", "l-diversity", "t-closeness", "delta-disclosure", "beta-likeness", "alpha-k"]


@pytest.mark.parametrize(
    "text", ["m-invariance m=3", "K-anonymity k=3", "k=3", "k-anonymity k=3 &", "& k-anonymity k=3"]
)
def test_an_unknown_name_is_an_error_that_lists_the_known_ones(text):
    with pytest.raises(BadInputError) as caught:
        requirement(text)
    for name in NAMES:
        assert name in str(caught.value)
    assert [kind.name for kind in REQUIREMENTS] == NAMES


@pytest.mark.parametrize(
    ("text", "key", "known"),
    [
        ("k-anonymity k=3 m=4", "m", ["k", "share"]),
        ("l-diversity L=3 variant=distinct", "L", ["l", "variant", "c", "on"]),
        ("t-closeness t=0.2 metric=js", "metric", ["t", "distance", "on"]),
        ("delta-disclosure delta=1 present=x", "present", ["delta", "absent", "on"]),
        ("beta-likeness b=1", "b", ["beta", "variant", "on"]),
        ("alpha-k a=1", "a", ["alpha", "k", "on"]),
        ("k-anonymity k=3 on=ill", "on", ["k", "share"]),
        ("k-anonymity k=3 name=x", "name", ["k", "share"]),
    ],
)
def test_an_unknown_key_is_an_error_that_lists_the_known_ones(text, key, known):
    with pytest.raises(BadInputError) as caught:
        requirement(text)
    message = str(caught.value)
    assert repr(key) in message and text in message
    assert message.endswith(": " + ", ".join(known))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("k-anonymity", ["k is not given", "k-anonymity k=..."]),
        ("l-diversity l=3", ["variant is not given"]),
        ("t-closeness t=0.2", ["distance is not given"]),
        ("beta-likeness beta=2", ["variant is not given"]),
        ("k-anonymity k=3 k=4", ["'k'", "twice"]),
        ("k-anonymity 3", ["'3'", "key=value"]),
        ("k-anonymity k=", ["'k='", "key=value"]),
        ("k-anonymity k=3 on", ["'on'", "key=value"]),
        ('t-closeness t=0.2 distance=js on="ill', ["key=value"]),
        ("k-anonymity k=3.5", ["k must be a whole number", "'3.5'"]),
        ("k-anonymity k=three", ["k must be a whole number", "'three'"]),
        ("t-closeness t=small distance=js", ["t must be a number", "'small'"]),
        ("l-diversity l=2 variant=recursive", ["needs c"]),
    ],
)
def test_a_text_that_cannot_be_read_says_why(text, parts):
    with pytest.raises(BadInputError) as caught:
        requirement(text)
    for part in parts:
        assert part in str(caught.value)


# ---------------------------------------------------------------- checks at construction


@pytest.mark.parametrize(
    ("make", "field", "value", "allowed"),
    [
        (lambda: KAnonymity(0), "k", "0", "whole number of at least 1"),
        (lambda: KAnonymity(-3), "k", "-3", "whole number of at least 1"),
        (lambda: KAnonymity(2.5), "k", "2.5", "whole number of at least 1"),
        (lambda: KAnonymity(True), "k", "True", "whole number of at least 1"),
        (lambda: KAnonymity("3"), "k", "'3'", "whole number of at least 1"),
        (lambda: KAnonymity(None), "k", "None", "whole number of at least 1"),
        (lambda: LDiversity(0.5, "frequency"), "l", "0.5", "at least 1"),
        (lambda: LDiversity(math.nan, "entropy"), "l", "nan", "at least 1"),
        (lambda: LDiversity(math.inf, "entropy"), "l", "inf", "at least 1"),
        (lambda: LDiversity("3", "distinct"), "l", "'3'", "at least 1"),
        (lambda: LDiversity(2.5, "distinct"), "l", "2.5", "whole number for variant=distinct"),
        (lambda: LDiversity(2.5, "recursive", 3), "l", "2.5", "whole number for variant=recursive"),
        (lambda: LDiversity(2, "recursive", 0), "c", "0", "more than 0"),
        (lambda: LDiversity(2, "recursive", math.nan), "c", "nan", "more than 0"),
        (lambda: LDiversity(2, "common"), "variant", "'common'", "frequency, distinct, entropy, recursive"),
        (lambda: LDiversity(2, None), "variant", "None", "frequency, distinct, entropy, recursive"),
        (lambda: TCloseness(-0.1, "js"), "t", "-0.1", "at least 0"),
        (lambda: TCloseness(math.inf, "js"), "t", "inf", "at least 0"),
        (lambda: TCloseness(0.2, "emd"), "distance", "'emd'", "equal, ordered, hierarchical, js"),
        (lambda: DeltaDisclosure(0), "delta", "0", "more than 0"),
        (lambda: DeltaDisclosure(1, "skip"), "absent", "'skip'", "infinite, ignore"),
        (lambda: BetaLikeness(0, "basic"), "beta", "0", "more than 0"),
        (lambda: BetaLikeness(1, "strong"), "variant", "'strong'", "basic, enhanced"),
        (lambda: AlphaK(0, 2), "alpha", "0", "more than 0 and at most 1"),
        (lambda: AlphaK(1.5, 2), "alpha", "1.5", "more than 0 and at most 1"),
        (lambda: AlphaK(0.5, 0), "k", "0", "whole number of at least 1"),
    ],
)
def test_a_bad_parameter_is_named_with_its_value_and_what_is_allowed(make, field, value, allowed):
    with pytest.raises(BadInputError) as caught:
        make()
    message = str(caught.value)
    assert message.startswith(f"{field} must be")
    assert allowed in message
    assert message.endswith(f"not {value}")


@pytest.mark.parametrize(
    ("make", "admitted"),
    [
        (lambda: KAnonymity(10**400), False),
        (lambda: LDiversity(10**400, "distinct"), False),
        (lambda: TCloseness(10**400, "js"), True),
        (lambda: requirement("k-anonymity k=1" + "0" * 400), False),
    ],
)
def test_a_number_too_large_for_a_float_is_bad_input_or_means_what_it_says(make, admitted):
    try:
        wanted = make()
    except BadInputError:
        return
    assert wanted.admits(one_histogram(flat_sensitive([2, 2]), [1, 1])).tolist() == [admitted]


def test_variant_and_distance_have_no_silent_default():
    for make in (lambda: LDiversity(3), lambda: TCloseness(0.2), lambda: BetaLikeness(2)):
        with pytest.raises(TypeError):
            make()


def test_c_belongs_to_recursive_diversity_alone():
    with pytest.raises(BadInputError, match="c belongs to variant=recursive, not to variant=distinct"):
        LDiversity(2, "distinct", c=3)
    with pytest.raises(BadInputError, match="needs c as well"):
        LDiversity(2, "recursive")


def test_requirements_are_frozen_values():
    assert KAnonymity(3) == KAnonymity(3) and hash(KAnonymity(3)) == hash(KAnonymity(3))
    assert len({KAnonymity(3) & LDiversity(2, "distinct"), KAnonymity(3) & LDiversity(2, "distinct")}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        KAnonymity(3).k = 4


# ---------------------------------------------------------------- joining, on=


@given(st.lists(any_single, min_size=3, max_size=3))
@tries(50)
def test_joining_is_flat_whatever_the_brackets(parts):
    a, b, c = parts
    assert (a & b) & c == a & (b & c) == All((a, b, c))
    assert str(a & b & c) == f"{a} & {b} & {c}"
    assert (a & b).monotone == (a.monotone and b.monotone)


@given(st.data(), sensitives(), st.lists(single_requirements(), min_size=2, max_size=3))
@tries(150)
def test_joined_requirements_admit_what_all_of_them_admit(data, attribute, parts):
    groups = data.draw(st.lists(group_counts(attribute.size), min_size=1, max_size=5))
    histograms = one_histogram(attribute, *groups)
    expected = np.logical_and.reduce([part.admits(histograms) for part in parts])
    assert All(tuple(parts)).admits(histograms).tolist() == expected.tolist()


def two_attributes(*groups):
    """Histograms over two sensitive attributes, `ill` and `job`, of two values each."""
    attributes = flat_sensitive([2, 2], "ill"), flat_sensitive([2, 2], "job")
    counts = np.array(groups, np.int64)
    return Histograms(attributes, counts[:, :2].sum(axis=1), counts)


def test_on_names_the_sensitive_attribute():
    histograms = two_attributes([2, 0, 1, 1], [1, 1, 0, 2])
    assert LDiversity(2, "distinct", on="ill").admits(histograms).tolist() == [False, True]
    assert LDiversity(2, "distinct", on="job").admits(histograms).tolist() == [True, False]
    both = LDiversity(2, "distinct", on="ill") & LDiversity(2, "distinct", on="job")
    assert both.admits(histograms).tolist() == [False, False]


def test_several_sensitive_attributes_need_on():
    with pytest.raises(BadInputError, match=r"several sensitive attributes \(ill, job\).*on="):
        LDiversity(2, "distinct").admits(two_attributes([1, 1, 1, 1]))
    assert KAnonymity(2).admits(two_attributes([1, 1, 1, 1])).tolist() == [True]


def test_on_an_unknown_attribute_lists_the_known_ones():
    with pytest.raises(BadInputError, match="on='pay' is no sensitive attribute of the table; these are: ill, job"):
        LDiversity(2, "distinct", on="pay").admits(two_attributes([1, 1, 1, 1]))


def test_a_requirement_about_sensitive_values_needs_some():
    nothing = Histograms((), np.array([3]), np.zeros((1, 0), np.int64))
    with pytest.raises(BadInputError, match="the table has none"):
        LDiversity(2, "distinct").admits(nothing)
    assert KAnonymity(3).admits(nothing).tolist() == [True]


def test_a_group_without_records_is_never_admitted():
    empty = one_histogram(flat_sensitive([2, 2]), [0, 0], [1, 1])
    for one in (KAnonymity(1), TCloseness(1, "js"), DeltaDisclosure(9, "ignore"), LDiversity(1, "distinct")):
        assert one.admits(empty).tolist() == [False, True]


# ---------------------------------------------------------------- monotone under merging

MONOTONE = [
    KAnonymity(2),
    *(LDiversity(2, variant) for variant in ("frequency", "distinct", "entropy")),
    LDiversity(2, "recursive", c=2),
    LDiversity(3, "recursive", c=2),
    *(TCloseness(0.1, distance) for distance in ("equal", "ordered", "hierarchical", "js")),
    DeltaDisclosure(1),
    BetaLikeness(1, "basic"),
    BetaLikeness(1, "enhanced"),
    AlphaK(0.5, 2),
]


def just_admitting(one, groups, attribute):
    """The strictest requirement of a kind, nearly, that admits all of these groups."""
    table = attribute.counts.tolist()
    levels = attribute.hierarchy.ancestors.tolist()
    if one.name == "k-anonymity":
        return KAnonymity(min(map(sum, groups)))
    if one.name == "alpha-k":
        return AlphaK(float(max(max(twins.shares(own)) for own in groups)), min(map(sum, groups)))
    if one.name == "l-diversity" and one.variant == "recursive":
        tails = [twins.recursive_tail(own, int(one.l)) for own in groups]
        assume(all(tails))
        strictest = max(max(own) / tail for own, tail in zip(groups, tails, strict=True))
        return LDiversity(one.l, "recursive", c=strictest * (1 + 1e-6))
    if one.name == "l-diversity":
        own = {"frequency": twins.frequency_l, "distinct": twins.distinct_l, "entropy": exp_entropy}[one.variant]
        return LDiversity(max(1, float(min(map(own, groups)))), one.variant)
    if one.name == "t-closeness":
        distance = {
            "equal": twins.equal,
            "ordered": twins.ordered,
            "hierarchical": lambda own, whole: twins.hierarchical(own, whole, levels),
            "js": twins.js,
        }[one.distance]
        return TCloseness(float(max(distance(own, table) for own in groups)), one.distance)
    if one.name == "delta-disclosure":
        strictest = max(twins.delta(own, table, one.absent) for own in groups)
        assume(strictest < math.inf)
        return DeltaDisclosure(strictest + 1e-6, one.absent)
    return BetaLikeness(max(float(max(twins.beta(own, table) for own in groups)), 1e-6), one.variant)


def exp_entropy(counts):
    return math.exp(twins.entropy(counts))


def merged_too(one, groups, attribute):
    """Both groups, and whether their union is admitted as well."""
    union = [a + b for a, b in zip(*groups, strict=True)]
    return one.admits(one_histogram(attribute, *groups, union)).tolist()


@pytest.mark.parametrize("kind", MONOTONE, ids=str)
@given(data=st.data(), attribute=sensitives())
@tries(150)
def test_merging_two_admitted_groups_gives_an_admitted_one(kind, data, attribute):
    assert kind.monotone
    present = group_counts(attribute.size)
    if kind.name == "delta-disclosure":
        present = st.lists(st.integers(1, 12), min_size=attribute.size, max_size=attribute.size)
    groups = data.draw(present), data.draw(present)
    one = just_admitting(kind, groups, attribute)
    first, second, union = merged_too(one, groups, attribute)
    if (kind.name, getattr(kind, "variant", "")) != ("beta-likeness", "enhanced"):
        assert first and second
    assert union or not (first and second)


@given(data=st.data(), attribute=sensitives(), one=single_requirements())
@tries(300)
def test_any_requirement_that_says_it_is_monotone_is(data, attribute, one):
    groups = data.draw(group_counts(attribute.size)), data.draw(group_counts(attribute.size))
    first, second, union = merged_too(one, groups, attribute)
    assert union or not (first and second and one.monotone)


def test_delta_disclosure_that_ignores_absent_values_is_not_monotone():
    """A group without the rare value and a group like the table are good; together the rare value is too rare."""
    one = DeltaDisclosure(0.1, "ignore")
    assert not one.monotone
    assert merged_too(one, ([0, 100], [1, 99]), flat_sensitive([1, 99])) == [True, True, False]
    assert not (KAnonymity(2) & one).monotone


def test_only_delta_disclosure_that_ignores_absent_values_is_not_monotone():
    assert all(one.monotone for one in MONOTONE)
    assert {kind.name for kind in MONOTONE} == {kind.name for kind in REQUIREMENTS}


# ---------------------------------------------------------------- what would admit a group

NUMBER = r"(-?[0-9.]+(?:e[+-]?[0-9]+)?)"
FEASIBLE = re.compile(rf"(up to|from|above) (k|l|c|t|delta|beta|alpha)={NUMBER}")


def named_in(message, one):
    """The requirement with the parameters that a message names put in; None where it names none."""
    named = FEASIBLE.findall(message)
    if not named:
        return None
    values = {}
    for bound, key, number in named:
        value = float(number)
        if key == "k" or (key == "l" and getattr(one, "variant", "") in ("distinct", "recursive")):
            value = int(value)
        values[key] = value * (1 + 1e-6) + 1e-6 if bound == "above" else value
    if "with variant=basic" in message:
        values["variant"] = "basic"
    if "with c large enough" in message:
        values["c"] = 1e6
    return dataclasses.replace(one, **values)


def assert_named_parameter_admits(one: Requirement, counts, attribute):
    histograms = one_histogram(attribute, counts)
    message = one.explain_failure(histograms, 0)
    assert str(one) in message
    nearest = named_in(message, one)
    if nearest is None:
        assert "a value of the table is absent" in message and 0 in counts
        return
    assert nearest.admits(histograms)[0], f"{message}: but {nearest} does not hold either"


@given(data=st.data(), attribute=sensitives(), one=single_requirements(k=40))
@tries(600)
def test_the_parameter_that_is_named_as_feasible_is(data, attribute, one):
    counts = data.draw(group_counts(attribute.size))
    assume(not one.admits(one_histogram(attribute, counts))[0])
    assert_named_parameter_admits(one, counts, attribute)


@given(data=st.data(), one=single_requirements())
@tries(400)
def test_the_parameter_that_is_named_as_feasible_is_in_large_tables_too(data, one):
    attribute = flat_sensitive(data.draw(st.lists(st.integers(1, 10**6), min_size=2, max_size=4)))
    counts = data.draw(group_counts(attribute.size, most=10**6))
    assume(not one.admits(one_histogram(attribute, counts))[0])
    assert_named_parameter_admits(one, counts, attribute)


@given(st.lists(st.integers(1, 30), min_size=2, max_size=5), st.integers(2, 4))
@example([2, 1], 2)
@tries(200)
def test_the_c_that_is_named_as_feasible_is(counts, ell):
    attribute = flat_sensitive([1] * len(counts))
    one = LDiversity(ell, "recursive", c=1e-6)
    assert_named_parameter_admits(one, counts, attribute)


def test_the_beta_that_is_named_as_feasible_is_also_when_it_is_large():
    """q = 1/12346, p = 1/10: the gain is 1233.6."""
    assert_named_parameter_admits(BetaLikeness(1, "basic"), [1, 10 - 1], flat_sensitive([1, 12345]))
    assert_named_parameter_admits(BetaLikeness(1, "basic"), [3, 7], flat_sensitive([1, 1234567]))


@given(data=st.data(), attribute=sensitives(), one=single_requirements(k=40))
@tries(300)
def test_the_parameter_that_is_named_as_feasible_is_the_nearest_one(data, attribute, one):
    """A step of two thousandths (or of one, for whole numbers) towards the requirement that failed fails too."""
    assume(one.name != "alpha-k" and getattr(one, "variant", "") not in ("enhanced", "recursive"))
    counts = data.draw(group_counts(attribute.size))
    histograms = one_histogram(attribute, counts)
    assume(not one.admits(histograms)[0])
    nearest = named_in(one.explain_failure(histograms, 0), one)
    assume(nearest is not None)
    key = next(field.name for field in dataclasses.fields(one))
    step = 1 if key == "k" or getattr(one, "variant", "") == "distinct" else 2e-3
    closer = getattr(nearest, key) + (step if key in ("k", "l") else -step)
    assume(closer > 0)
    assert not dataclasses.replace(nearest, **{key: closer}).admits(histograms)[0]


def test_a_failure_names_every_part_that_fails_and_no_other():
    attribute = flat_sensitive([5, 5])
    joined = KAnonymity(3) & LDiversity(2, "distinct") & TCloseness(0.1, "equal")
    message = joined.explain_failure(one_histogram(attribute, [4, 4], [4, 0]), 1)
    assert "k-anonymity" not in message
    assert "l-diversity l=2 variant=distinct does not hold (feasible up to l=1)" in message
    assert "t-closeness t=0.1 distance=equal does not hold (feasible from t=0.5)" in message
    assert joined.explain_failure(one_histogram(attribute, [4, 4]), 0) == ""


def test_a_failure_is_about_the_attribute_named_by_on():
    message = LDiversity(2, "distinct", on="job").explain_failure(two_attributes([1, 1, 2, 0]), 0)
    assert message == "l-diversity l=2 variant=distinct on=job does not hold (feasible up to l=1)"


def test_the_c_that_is_named_as_feasible_is_where_the_rest_is_a_millionth():
    """Compared as shares, so a thousandth of c is not enough here."""
    assert_named_parameter_admits(LDiversity(2, "recursive", c=1.0), [10**6, 1], flat_sensitive([10**6, 1]))
    assert_named_parameter_admits(LDiversity(2, "recursive", c=1.0), [9 * 10**6, 2], flat_sensitive([9 * 10**6, 2]))
