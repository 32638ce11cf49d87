"""Candidates in grids: every kind of study lists, reads, writes and keeps them by the fields of its grid."""

from __future__ import annotations

import importlib
import json
import sys
from collections import Counter
from dataclasses import MISSING, fields, replace
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import numpy as np
import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato
from sfumato.anonymizers import RECORD_MAKERS, anonymizer, makers
from sfumato.anonymizers.items import CANDIDATES, candidate_maker
from sfumato.anonymizers.items.items_of_groups import merging
from sfumato.commands.app import app
from sfumato.config.options import Configured, described, parse
from sfumato.data.declaration import ATTRIBUTES, BOTH, ITEMS, DataDeclaration
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import READ_NOISY
from sfumato.measures.queries import Queries
from sfumato.measures.scales import Scales
from sfumato.requirements.items import (
    BASKET_REQUIREMENTS,
    KKMAnonymity,
    mixed_requirement,
    suppression_limit,
    utility_constraints,
)
from sfumato.requirements.requirement import REQUIREMENTS, KAnonymity
from sfumato.tradeoff import catalogue
from sfumato.tradeoff.exploration.folder import point_values
from sfumato.tradeoff.search.families import families_of
from sfumato.tradeoff.search.tuner import tune
from sfumato.tradeoff.study.candidate import Candidate, files_of
from sfumato.tradeoff.study.grids import Grid, block_options, lists_of
from sfumato.tradeoff.study.presets import preset_notices, with_preset
from sfumato.tradeoff.study.search_plan import SearchPlan
from sfumato.tradeoff.study.study import Study, read_study, study_from_toml
from small_tables import small_table

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
        ({}, "a point lacks items_with"),
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


TWO = """
name = "two"
[table]
source = "people.csv"
quasi = ["age", "sex"]
sensitive = ["illness", "job"]
[table.hierarchy]
age = {type = "numeric", lower = 20, upper = 59}
sex = {type = "flat", values = ["f", "m"]}
illness = {type = "flat", values = ["i0", "i1", "i2", "i3", "i4"]}
job = {type = "flat", values = ["j0", "j1", "j2", "j3", "j4"]}
[[candidates]]
anonymizers = ["mondrian"]
"""


def adult() -> sfumato.Study:
    study = sfumato.read_study("adult")
    assert isinstance(study, sfumato.Study)
    return study


def test_everything_has_every_family_of_makers_on_axes_that_all_have() -> None:
    study = with_preset(adult(), "everything")
    makers = {candidate.anonymizer.name for candidate in study.candidates if not candidate.anonymizer.baseline}
    assert len(makers) >= 12 and {"mondrian", "pram", "cart", "mst", "aim", "dp-grid", "anatomy"} <= makers
    assert study.axes == ("attack_worst", "marginal_error_2") and set(study.axes) <= set(READ_NOISY)
    assert study.scales.attacks is not None and study.scales.fidelity is not None
    assert study.table == adult().table and sfumato.Study.from_toml(study.to_toml()).candidates == study.candidates


def test_what_is_about_sensitive_values_is_asked_of_each_or_left_out() -> None:
    study, columns = adult(), adult().table.roles.quasi
    several = study.with_table(quasi=columns[1:], sensitive=("occupation", columns[0]))
    wanted = {str(one.requirement) for one in with_preset(several, "everything").candidates}
    assert any("on=occupation" in text and f"on={columns[0]}" in text for text in wanted)
    file = replace(study.table, source="people.csv", quasi=columns, sensitive=())
    nothing = with_preset(replace(study, data=DataDeclaration(file)), "everything")
    assert not any(one.requirement.about_sensitive or one.form != "generalization" for one in nothing.candidates)


def test_makers_that_serve_one_sensitive_column_serve_each_in_turn_and_run(tmp_path) -> None:
    generator = np.random.default_rng(1)
    rows = zip(*(generator.integers(0, most, 200) for most in (40, 2, 5, 5)), strict=True)
    text = "age,sex,illness,job\n" + "".join(f"{20 + a},{'fm'[s]},i{i},j{j}\n" for a, s, i, j in rows)
    (tmp_path / "people.csv").write_text(text, encoding="utf-8")
    (tmp_path / "study.toml").write_text(TWO, encoding="utf-8")
    study = sfumato.read_study(str(tmp_path / "study.toml"))
    assert isinstance(study, sfumato.Study)
    given = with_preset(study, "everything")
    makers = ("exchange", "anatomy", "sabre", "burel")
    serving = [one for one in given.candidates if one.anonymizer.name in makers]
    columns = Counter((one.anonymizer.name, getattr(one.requirement, "on", None)) for one in serving)
    assert columns == Counter(
        (maker, on) for maker in ("exchange", "anatomy", "sabre", "burel") for on in ("illness", "job")
    )
    table = study.table.open()
    for one in serving:
        made = one.anonymizer.anonymize(table, one.requirement, one.form, one.suppress)
        assert made.groups > 1, one
    [said] = preset_notices(study, "everything")
    assert said.startswith("left out of the preset: dp-privtree, dp-grid and dp-kd-tree, which count") and "job" in said
    assert preset_notices(adult(), "everything") == []


def test_with_a_person_column_the_noisy_makers_of_a_preset_count_a_bounded_number_of_records() -> None:
    studies = [adult().with_table(**more) for more in ({"person": "who"}, {})]
    counted, free = (
        [one.anonymizer for one in with_preset(study, "everything").candidates if one.anonymizer.noisy]
        for study in studies
    )
    assert len(counted) >= 7 and {maker.contribution for maker in counted} == {5}
    assert {maker.contribution for maker in free} == {None}
    assert "count at most 5 records of a person" in preset_notices(studies[0], "everything")[-1]
    assert not preset_notices(studies[1], "everything")


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(BadInputError, match="preset must be one of everything"):
        with_preset(adult(), "nothing")


ENTRIES = [entry for members in catalogue.sections().values() for entry in members]
KINDS = [entry.kind for entry in ENTRIES]
TYPED = [kind for kind in KINDS if issubclass(kind, Configured)]
OUTSIDE_TEXTS = {"scales", "analysis", "functions"}
"""Fields that are set from Python, or by a section of their own."""


SETTINGS = """
@dataclass(frozen=True)
class Base:
    most: Annotated[int, Option(least=1)] = 2
    '''How many
    there are.'''

@dataclass(frozen=True)
class Plugin(Base):
    by: Annotated[str, Option("In its argument.")] = "a"
    bare: Annotated[int, Option()] = 0
"""


def test_a_field_is_explained_below_it_or_in_its_option(tmp_path, monkeypatch):
    head = (
        "from dataclasses import dataclass\nfrom typing import Annotated\nfrom sfumato.config.options import Option\n"
    )
    (tmp_path / "plugin.py").write_text(head + SETTINGS)
    monkeypatch.syspath_prepend(tmp_path)
    own, session = vars(importlib.import_module("plugin")), ModuleType("session")
    monkeypatch.setitem(sys.modules, "session", session)
    exec(head + SETTINGS, vars(session))  # has no file to read
    meanings = [
        {name: each.meaning for name, each in described(each["Plugin"]).items()} for each in (own, vars(session))
    ]
    assert meanings[0] == {"most": "How many there are.", "by": "In its argument.", "bare": ""}
    assert meanings[1] == {"most": "", "by": "In its argument.", "bare": ""}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.kind.__module__.split('.')[1]}:{entry.name}")
def test_every_field_says_what_it_is(entry):
    kind = entry.kind
    options = described(kind)
    assert {field.name for field in fields(kind)} - OUTSIDE_TEXTS == set(options)
    for each in options.values():
        assert each.meaning.endswith("."), f"{each.key} of {entry.name} is told in a sentence"
        if each.option.when:
            on, *values = each.option.when
            assert values and set(values) <= set(options[on].choices), "it applies with choices that there are"
        assert set(each.option.words) <= {"", *each.choices}
    assert entry.meaning[-1] in ".?"
    jsonschema.Draft202012Validator.check_schema(entry.schema())


def test_every_anonymizer_requirement_and_measure_can_be_looked_up():
    names = [entry.name for entry in ENTRIES]
    assert {"mondrian", "dp-kd-tree", "l-diversity", "coat", "[table]", "km-anonymity", "queries", "problem-4"} <= set(
        names
    )
    for name in [*names, *sfumato.MEASURES]:
        ended = CliRunner().invoke(app, ["options", name])
        assert ended.exit_code == 0 and name in ended.output
    both = json.loads(CliRunner().invoke(app, ["options", "k-anonymity", "--json"]).output)
    assert {"requirements", "requirements of baskets"} <= set(both)
    everything = json.loads(CliRunner().invoke(app, ["options", "--json"]).output)
    assert everything["anonymizers"]["mondrian"]["properties"]["mode"]["enum"] == ["strict", "relaxed"]
    assert everything["measures"]["k"]["better"] == "higher"
    with pytest.raises(BadInputError, match="there is no 'mondrain'; the names are mondrian, full-domain"):
        catalogue.find("mondrain")


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 1200),
    st.sampled_from([0.0, 0.5, 0.99, 1.0, 1.5, -0.1, 11.0, inf]),
    st.sampled_from(["strict", "relaxed", "cut", "loss", "words", "", "median", "k", "exact"]),
)


@given(st.data(), st.sampled_from(KINDS))
def test_a_value_that_the_schema_refuses_is_refused_and_the_other_way_round(data, kind):
    """JSON Schema, read by somebody else's validator, is the second opinion on every single option."""
    options = {name: each for name, each in described(kind).items() if each.option.takes == ""}
    if not options:
        return
    each = options[data.draw(st.sampled_from(sorted(options)))]
    value = data.draw(values)
    if each.several:
        value = (value,)
    if isinstance(value, float) and each.type is int:
        return  # JSON has one kind of number: 1.0 is whole there
    schema = catalogue.property_of(each)
    schema_says = value is None and each.optional
    if value not in (None, inf, (inf,)):
        schema_says = jsonschema.Draft202012Validator(schema).is_valid(list(value) if each.several else value)
    try:
        each.check(value)
        accepted = True
    except BadInputError as error:
        accepted = False
        assert each.key in str(error)
    assert accepted == schema_says


@pytest.mark.parametrize("kind", TYPED, ids=lambda kind: f"{kind.__module__.split('.')[1]}:{kind.name}")
def test_what_is_printed_is_read_back(kind):
    """For every choice and both ends of every range, one option at a time."""
    needed = {
        "k": 5, "l": 2, "variant": "distinct" if kind.name == "l-diversity" else "basic", "t": 0.2, "distance": "js",
        "delta": 1.5, "beta": 2, "alpha": 0.5, "cuts": "age=20|40", "epsilon": 0.5, "height": 8, "switch": 3,
        "target": "job title", "eta": 0.1, "base": 5, "minimize": "p_loss, u_loss", "m": 2, "file": "known items.txt",
        "keep": 0.5, "scale": 0.2, "bound": 0.3, "rho": 0.5, "h": 0.5, "c": 0.5, "p": 2,
        "run": "python make.py {table} {out}",
    }  # fmt: skip
    options = described(kind)
    base = {name: needed[name] for name, each in options.items() if each.default is MISSING}
    base |= {
        name: ("b, c", "a") for name in ("sensitive", "private") if kind.name.endswith(("-uncertainty", "-coherence"))
    }
    base = {name: value for name, value in base.items() if name in options}
    tried = 0
    for name, each in options.items():
        ends = [end for end in (each.option.least, each.option.most) if end is not None and abs(end) < 1e200]
        for value in [*each.choices, *(each.type(end) for end in ends)]:
            on, *allowed = each.option.when or ("",)
            given = base | ({on: allowed[0]} if on else {}) | {name: value}
            try:
                made = kind(**given)
            except BadInputError:
                continue  # options that do not go together say so themselves
            tried += 1
            assert parse(str(made), [kind], "thing") == made
    assert tried or not any(each.choices for each in options.values())


def test_an_option_that_does_not_apply_is_refused_by_what_it_belongs_to():
    for text, said in {
        "full-domain seed=3": "seed belongs to search=genetic, not to search=exact",
        "full-domain weights=age=2 minimize=discernibility": "weights belongs to minimize=loss or minimize=general",
        "mondrian seed=3": "seed belongs to mode=relaxed, not to mode=strict",
    }.items():
        with pytest.raises(BadInputError, match=said):
            sfumato.anonymizer(text)
    with pytest.raises(BadInputError, match="variant=recursive needs c as well, for example c=3"):
        sfumato.requirement("l-diversity l=3 variant=recursive")


def test_makers_and_requirements_say_themselves_what_they_are():
    maker = sfumato.anonymizer
    assert maker("mondrian mode=relaxed").in_words() == "Mondrian (equal records may be parted)"
    text = 'mondrian cut=information-gain target="job title"'
    assert maker(text).in_words() == "Mondrian (cut where most is learnt of job title)"
    assert maker("hilbert within=0.25").in_words() == "cut along a Hilbert curve (within=0.25)"
    assert maker("original").baseline and not maker("mondrian").baseline
    said = sfumato.requirement("l-diversity l=4 variant=frequency").rule_in_words("bucket")
    assert said == "no sensitive value above 1/4 (25 %) of a bucket"
