"""What a search turns: makers that serve no requirement name a number of their own, and keep within its bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sfumato.anonymizers import RECORD_MAKERS, anonymizer
from sfumato.measures.queries import Queries
from sfumato.measures.scales import Scales
from sfumato.requirements.requirement import KAnonymity
from sfumato.tradeoff.search.families import families_of
from sfumato.tradeoff.search.tuner import tune
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.grids import Grid
from sfumato.tradeoff.study.search_plan import SearchPlan
from sfumato.tradeoff.study.study import Study, read_study
from small_tables import small_table

SCALES = Scales(min_support=0.2, queries=Queries(number=10))
MAKERS = [kind.example or kind.name for kind in RECORD_MAKERS]


def study_of(*makers: str, plan: SearchPlan | None = None) -> Study:
    """A study of the small table on axes that say something of every release."""
    adult: Any = read_study("adult")
    grid = Grid(tuple(map(anonymizer, makers)), (KAnonymity(1),), ("generalization",), (0.0,))
    return replace(adult, grids=(grid,), axes=("empirical_breach", "query_error_median"), search=plan, scales=SCALES)


@pytest.mark.parametrize("text", [*MAKERS, "dp-kd-tree epsilon=1 height=4", "mst epsilon=1"])
def test_a_maker_is_what_people_would_type_all_along_its_dial(text: str) -> None:
    maker: Any = anonymizer(text)
    dial = maker.dial(1000)
    for share in (0.0, 0.3, 0.5, 1.0):
        turned = replace(maker, **{dial.field: dial.at(share)})
        assert anonymizer(str(turned)) == turned


def test_what_a_study_lists_is_varied_by_its_own_number() -> None:
    table = small_table()
    families = {family.example.anonymizer.name: family for family in families_of(study_of(*MAKERS), table)}
    fields = {"microaggregation": "k", "pram": "keep", "rank-swapping": "distance", "record-swapping": "share"}
    fields |= {"noise": "scale", "rounding": "base", "cart": "leaf"}
    assert {name: families[name].dial.field for name in fields} == fields
    for name in fields:
        member = families[name].at(families[name].dial.at(0.25))
        assert families[name].value_of(member) == families[name].dial.at(0.25)
        assert member.requirement == KAnonymity(1) and isinstance(member, Candidate)


def test_open_ends_are_varied_by_their_share_and_blanks_by_the_requirement() -> None:
    adult: Any = read_study("adult")
    makers = tuple(map(anonymizer, ("top-coding share=0.1", 'top-coding upper="age=24"', "local-suppression")))
    study = replace(adult, grids=(Grid(makers, (KAnonymity(3),), ("generalization",), (0.5,)),))
    found = {str(family.example.anonymizer): family for family in families_of(study, small_table())}
    assert found["top-coding share=0.1"].dial.field == "share" and not found["top-coding share=0.1"].places
    assert found['top-coding upper="age=24"'].dial.field == found["local-suppression"].dial.field == "k"


def test_where_a_search_requires_something_those_who_promise_nothing_are_not_proposed() -> None:
    study = study_of(*MAKERS, plan=SearchPlan(require="k-anonymity k=3"))
    names = {family.example.anonymizer.name for family in families_of(study, small_table())}
    assert names.isdisjoint(kind.name for kind in RECORD_MAKERS) and "mondrian" in names


def test_a_budget_turns_the_dials_of_perturbation() -> None:
    study = study_of("microaggregation k=5", "pram keep=0.5", plan=SearchPlan(makers=("microaggregation", "pram")))
    map_ = tune(study, tries=6, table=small_table(), workers=1)
    tried = {str(point.candidate.anonymizer): point.status for point in map_.points}
    more = {text for text in tried if text.split()[0] in ("microaggregation", "pram")}
    assert more > {"microaggregation k=5", "pram keep=0.5"} and len(more) >= 6
    assert {tried[text] for text in more} == {"measured"}
