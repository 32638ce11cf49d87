"""Requirements on tables with a set-valued column: what they read, print, ask of either side, and refuse."""

import pytest

from sfumato.errors import BadInputError
from sfumato.requirements.items import KKMAnonymity, mixed_requirement

pytestmark = pytest.mark.quick


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
        ("k-anonymity k=5", "says nothing of who knows items"),
        ("", "says nothing of who knows items"),
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
