"""Candidates in grids: every kind of study lists, reads, writes and keeps them by the fields of its grid."""

from dataclasses import fields, replace
from pathlib import Path

import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.anonymizers import anonymizer, makers
from sfumato.anonymizers.items import CANDIDATES, candidate_maker
from sfumato.anonymizers.items.items_of_groups import merging
from sfumato.config.options import described
from sfumato.data.declaration import ATTRIBUTES, BOTH, ITEMS
from sfumato.errors import BadInputError
from sfumato.requirements.items import (
    BASKET_REQUIREMENTS,
    KKMAnonymity,
    mixed_requirement,
    suppression_limit,
    utility_constraints,
)
from sfumato.requirements.requirement import REQUIREMENTS
from sfumato.tradeoff.exploration.folder import point_values
from sfumato.tradeoff.study.candidate import Candidate, files_of
from sfumato.tradeoff.study.grids import Grid, block_options, lists_of
from sfumato.tradeoff.study.study import study_from_toml

pytestmark = pytest.mark.quick

PATIENTS = '[table]\nsource = "p.csv"\nquasi = ["age"]\n[items]\ncolumn = "codes"\n'
BASKETS = '[baskets]\nsource = "b.txt"\n'


@pytest.mark.parametrize("has", [ATTRIBUTES, ITEMS, BOTH])
def test_a_candidate_takes_a_value_of_every_list(has):
    lists = {each.name for each in block_options(has).values() if each.several}
    assert {each.name for each in lists_of(has).values()} == lists and {"anonymizers", "requirements"} <= lists
    assert set(lists_of(has)) <= {each.name for each in fields(Candidate)}


OFFERED = {
    ATTRIBUTES: (*makers(), *REQUIREMENTS),
    ITEMS: (*CANDIDATES, *BASKET_REQUIREMENTS),
    BOTH: (*makers(), KKMAnonymity, *REQUIREMENTS),
}


@pytest.mark.parametrize("has", OFFERED)
def test_no_option_is_taken_for_a_setting_of_the_candidate(has):
    settings = {*lists_of(has), "items_with"}
    options = {name for each in OFFERED[has] for name in described(each)}
    assert options and not options & settings  # both stand among the parameters of a point


def some(texts, read):
    return st.lists(st.sampled_from(texts).map(read), min_size=1, max_size=2, unique=True).map(tuple)


def read_none(text):
    return None if text == "none" else utility_constraints(text)


@settings(max_examples=40, deadline=None)
@given(
    st.builds(
        Grid,
        some(["mondrian", "full-domain", "without-quasi"], anonymizer),
        item_anonymizers=some(["coat", "aa", "coat weights=w.txt"], candidate_maker),
        merging=some(["none", "rt-merge bound=0.3"], merging),
        requirements=some(["k-km-anonymity k=2 m=1", "k-km-anonymity k=3 m=0 & k-anonymity k=4"], mixed_requirement),
        suppress=some([0.0, 0.25], float),
        utility=some(["none", "utility-constraints level=1"], read_none),
        limits=some(["suppression", "suppression share=0.1 of=occurrences"], suppression_limit),
        sets=some(["group", "common"], str),
    )
)
def test_a_block_of_patients_reads_back_as_it_was_written(grid):
    [block] = grid.blocks(None)
    again = tomlkit.parse(tomlkit.dumps({"candidates": [block]})).unwrap()["candidates"]
    assert Grid.read(again[0], Path(), BOTH) == grid
    size = 1
    for each in lists_of(BOTH).values():
        size *= len(getattr(grid, each.name))
    assert len(set(grid.candidates)) == size
    assert set(Grid.of(grid.candidates).candidates) == set(grid.candidates)


def test_what_is_rare_is_written_where_it_is_not_as_usual():
    assert list(Grid.read({}, Path(), BOTH).blocks(None)[0]) == [
        "anonymizers", "item_anonymizers", "merging", "requirements", "suppress",
    ]  # fmt: skip
    usual = Grid.read({}, Path(), ITEMS)
    assert "utility" not in usual.blocks(None)[0] and "lattice" not in Grid().blocks(None)[0]
    within = replace(usual, utility=(None, utility_constraints("utility-constraints level=1")))
    assert within.blocks(None)[0]["utility"] == ["none", "utility-constraints level=1"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "a point says nothing of items_with"),
        ({"items_with": 3}, "items_with must be a text, not 3"),
        ({"items_with": "aa", "sets": "all"}, "sets must be one of group, common, not 'all'"),
        ({"items_with": "aa", "limit": 0.5}, "limit must be a text, not 0.5"),
    ],
)
def test_a_damaged_point_is_refused_in_a_sentence(parameters, message):
    study = study_from_toml(PATIENTS + "[[candidates]]\n", "study.toml")
    entry = {**point_values(study.candidates[0].point()), "parameters": parameters}
    with pytest.raises(BadInputError, match=message):
        study.candidate_of(entry)


def test_a_point_keeps_every_requirement_of_patients():
    wanted = (
        "k-km-anonymity k=2 m=1 & l-diversity l=2 variant=distinct on=out & t-closeness t=0.3 distance=equal on=codes"
    )
    study = study_from_toml(f'{PATIENTS}[[candidates]]\nrequirements = "{wanted}"\n', "study.toml")
    [candidate] = study.candidates
    assert candidate.parameters["on"] == "out" and candidate.parameters["on 2"] == "codes"
    assert study.candidate_of(point_values(candidate.point())) == candidate


def test_every_file_that_a_point_depends_on_is_named():
    maker, asked = "coat weights=weights.txt", "privacy-constraints k=2 file=known.txt"
    scales = (
        'constraints = "sets.txt"\nstudies = "studies.txt"\nlosses = "item-losses weights=file file=worth.txt"\n'
        'queries = "item-queries kind=file file=asked.txt"\n'
    )
    block = f'anonymizers = "{maker}"\nrequirements = "{asked}"\nutility = "utility-constraints file=groups.txt"\n'
    study = study_from_toml(f"{BASKETS}[scales]\n{scales}[[candidates]]\n{block}", "study.toml")
    files = ["sets", "studies", "worth", "asked", "weights", "known", "groups"]
    assert sorted(files_of(study.scales, *study.candidates)) == sorted(f"{name}.txt" for name in files)


def test_further_candidates_stand_in_one_block_by_what_they_share():
    study = study_from_toml(PATIENTS + "[[candidates]]\n", "study.toml")
    [first] = study.candidates
    more = [replace(first, requirement=mixed_requirement(f"k-km-anonymity k={k} m=1"), sets=sets)
            for k in (3, 4) for sets in ("group", "common")]  # fmt: skip
    grown = study.grown(more)
    assert [len(grid.candidates) for grid in grown.grids] == [1, 2, 2]
    assert set(grown.candidates) == {first, *more}
