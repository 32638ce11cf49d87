"""Overlapping classes (Brickell & Shmatikov 2008, section 8): what a promise about every group says of them.

Boxes may overlap, and then a person fits several groups. Whatever weight an attacker gives to each, a promise that
survives merging holds for the mixture as well. Counting candidates instead, without a promise for every group, is no
promise: five people show it, over all ways to match them with the published records.
"""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.requirements.requirement import DeltaDisclosure
from strategies import flat_sensitive, group_counts, one_histogram, sensitives, single_requirements, tries

pytestmark = pytest.mark.quick


@given(data=st.data(), attribute=sensitives(), one=single_requirements())
@tries(300)
def test_a_promise_about_every_group_is_one_about_every_mixture_of_them(data, attribute, one):
    groups = data.draw(st.lists(group_counts(attribute.size), min_size=2, max_size=4))
    weights = data.draw(st.lists(st.integers(0, 9), min_size=len(groups), max_size=len(groups)).filter(any))
    mixture = [
        sum(weight * count for weight, count in zip(weights, counts, strict=True))
        for counts in zip(*groups, strict=True)
    ]
    *every, mixed = one.admits(one_histogram(attribute, *groups, mixture)).tolist()
    assert mixed or not all(every) or not one.monotone


def test_a_mixture_can_break_what_ignores_absent_values():
    """q is half of the table: .5 of one group, none of the other, and .05 of a mixture of one part in ten."""
    one = DeltaDisclosure(1.0, "ignore")
    assert not one.monotone
    assert one.admits(one_histogram(flat_sensitive([10, 10]), [1, 1], [2, 0], [19, 1])).tolist() == [True, True, False]


AGES = (1, 2, 3, 4, 5)
BOXES = {"A": (1, 2), "B": (1, 3), "C": (3, 4), "D": (4, 5), "E": (4, 5)}
"""Five people and their five records, each published with a range of ages that covers its own person."""


def fits(age: int, record: str) -> bool:
    low, high = BOXES[record]
    return low <= age <= high


def test_two_candidates_on_both_sides_do_not_keep_anybody_from_being_found():
    assert all(sum(fits(age, record) for record in BOXES) >= 2 for age in AGES)
    assert all(sum(fits(age, record) for age in AGES) >= 2 for record in BOXES)
    matched = [
        dict(zip(AGES, order, strict=True))
        for order in permutations(BOXES)
        if all(fits(age, record) for age, record in zip(AGES, order, strict=True))
    ]
    possible = {age: {own[age] for own in matched} for age in AGES}
    assert possible == {1: {"A", "B"}, 2: {"A", "B"}, 3: {"C"}, 4: {"D", "E"}, 5: {"D", "E"}}


def test_the_audit_of_such_a_file_sees_the_groups_that_are_too_small(tmp_path):
    path = tmp_path / "overlapping.csv"
    rows = [f"{low}-{high},{record}" for record, (low, high) in BOXES.items()]
    path.write_text("\n".join(["age,illness", *rows]) + "\n")
    found = sfumato.audit(path, ["age"], ["illness"], require="k-anonymity k=2")
    assert found["k"] == 1 and not found.holds
