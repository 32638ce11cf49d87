"""Options as data: what a field declares is what is read, checked, printed and shown, for all that has options."""

import json
from dataclasses import MISSING, fields
from math import inf

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato
from sfumato.commands.app import app
from sfumato.config.options import Configured, described, parse
from sfumato.errors import BadInputError
from sfumato.tradeoff import catalogue

pytestmark = pytest.mark.quick

ENTRIES = [entry for members in catalogue.sections().values() for entry in members]
KINDS = [entry.kind for entry in ENTRIES]
TYPED = [kind for kind in KINDS if issubclass(kind, Configured)]
OUTSIDE_TEXTS = {"scales"}
"""Fields that are set from Python only."""


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.kind.__module__.split('.')[1]}:{entry.name}")
def test_every_field_says_what_it_is(entry):
    kind = entry.kind
    options = described(kind)
    assert {field.name for field in fields(kind)} - OUTSIDE_TEXTS == set(options)
    for each in options.values():
        assert each.option.meaning.endswith("."), f"{each.key} of {entry.name} is told in a sentence"
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
    with pytest.raises(BadInputError, match="nothing is called 'mondrain'; there are mondrian, full-domain"):
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
