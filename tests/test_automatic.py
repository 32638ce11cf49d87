"""Automatic hierarchies are those a person would have drawn: round, with tails, by what the values are."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.auditing._against_original import observed_hierarchy
from sfumato.auditing.published_file import Counted, TextColumn
from sfumato.config.documents import bundled_facts
from sfumato.data.hierarchies.automatic import automatic, rounded_span
from sfumato.data.hierarchies.categorical import similar_groups
from sfumato.data.hierarchies.classifications import CLASSIFICATIONS, _keys, _names, _words, countries, icd
from sfumato.data.hierarchies.classifications import _education_place as level
from sfumato.data.hierarchies.classifications import _place as country
from sfumato.data.hierarchies.declared import from_entry

LADDERS = {
    (17, 90): [5, 10, 20],
    (140, 200): [5, 10],
    (80, 220): [5, 10, 50],
    (0, 500): [5, 25, 50, 100],
    (0, 1000): [10, 50, 100, 200],
    (0, 3): [5],
    (0, 2): [],
}


@pytest.mark.parametrize(("low", "high"), LADDERS)
def test_intervals_are_round_as_people_write_them(low, high):
    span = rounded_span(Decimal(low), Decimal(high), 0, 10_000)
    assert list(span.intervals) == LADDERS[low, high]
    assert span.lower <= low and high < span.end
    widest = span.intervals[-1] if span.intervals else 1
    assert span.lower % widest == 0 == span.end % widest


def test_intervals_nest_whatever_the_scale():
    for low, reach in [(-7, 13), (0, 1), (3, 77), (12285, 1478115), (5, 20_000_001), (0, 299), (0, 30)]:
        for exponent in (0, -1, -3):
            unit = Decimal(1).scaleb(exponent)
            span = rounded_span(low * unit, (low + reach) * unit, exponent, 1000)
            widths = [span.resolution, *span.intervals]
            assert all(wide % fine == 0 and wide > fine for fine, wide in zip(widths, widths[1:], strict=False))
            assert (span.end - span.lower) / widths[-1] <= 8  # six, and one more cut at either end
            assert reach * unit / span.resolution <= 1000


def test_a_long_thin_tail_is_one_value_and_a_short_one_is_not():
    body = {str(n): 10 for n in range(1000, 3000, 50)}
    for values, ends in [
        (body, ("1000", "2999")),
        (body | {"90000": 1}, ("1000", "3000+")),
        (body | {"-5000": 2}, ("<1000", "2999")),
        (body | {"90000": 1, "-5000": 2}, ("<1000", "3000+")),
        (body | {"90000": 30}, ("0", "99999")),  # 7 % of the records are no tail
    ]:
        made = automatic("income", list(values), list(values.values()))
        assert (made.leaves[0], made.leaves[-1]) == ends, ends
        assert (made.encode(list(values)) >= 0).all()
        assert made.observed
    few = {str(n): 100 for n in range(10)} | {"5000": 5}
    assert automatic("n", list(few), list(few.values())).leaves[-1] == "5999"  # so few values have no tail


def test_an_auditor_builds_the_domain_that_the_publisher_had():
    """From the texts of the original and their counts, one tuple per row here, a missing value among them."""
    incomes = [*map(str, range(1000, 3000, 50)), *["1000"] * 30, "90000", ""]
    texts = tuple(dict.fromkeys(incomes))
    codes = np.array([texts.index(text) for text in incomes], np.int32)
    domain = observed_hierarchy("income", Counted({"income": TextColumn(texts, codes)}, np.ones(len(codes), np.int64)))
    table = sfumato.read(pa.table({"income": [text or None for text in incomes]}), quasi=["income"])
    assert domain.leaves[-1] == "3000+"
    assert domain.with_missing() == table.hierarchies["income"]


def above(hierarchy, value):
    """The labels of all groups of a value, from fine to coarse."""
    leaf = hierarchy.leaves.index(value)
    return [level.labels[node] for level, node in zip(hierarchy.levels, hierarchy.ancestors[:, leaf], strict=True)][1:]


def test_countries_are_grouped_by_region_in_names_and_codes():
    names = ["Germany", "Austria", "Poland", "Japan", "United-States", "Trinidad&Tobago", "South"]
    made = automatic("native", names)
    assert above(made, "Germany") == above(made, "Austria") == ["Western Europe", "Europe", "*"]
    assert above(made, "United-States") == ["Northern America", "Americas", "*"]
    assert above(made, "Trinidad&Tobago")[1] == "Americas"
    assert above(made, "South") == ["South", "South", "*"]  # nobody knows which one: it stays by itself
    assert above(automatic("land", ["Österreich", "Schweiz", "Türkei", "Japan"]), "Schweiz")[0] == "Western Europe"
    codes = ["DE", "CA", "IN", "PA"]
    assert above(automatic("country", codes), "DE") == ["Europe", "*"]  # the parts of these regions would join nothing
    assert automatic("state", codes).height == 1  # Delaware, California, Indiana, Pennsylvania


def test_every_country_has_one_region_and_codes_are_their_own():
    entries = list(_names())
    places = {}
    for region, part, name in entries:
        for key in _keys(_words(name)):
            assert places.setdefault(key, (region, part)) == (region, part), name
    codes = [name for _, _, name in entries if len(name) == 2]
    assert len(codes) == len(set(codes)) == 248 + len(["EL", "UK", "XK"])  # ISO 3166 has 249, Antarctica among them


def test_diagnoses_are_grouped_by_block_and_chapter():
    made = automatic("diagnosis", ["E11.9", "E11.65", "E10.1", "E05", "J45.0", "C50.1", "E08.2"])
    assert above(made, "E11.65") == ["E11.-", "E10-E14", "E00-E90", "*"]
    assert above(made, "C50.1") == ["C50.-", "C50.-", "C00-D49", "*"]
    assert above(made, "E08.2") == ["E08.-", "E08.-", "E00-E90", "*"]  # ICD-10-CM only: in no block
    old = automatic("diag_1", ["250.83", "250.01", "8", "428", "V27", "E909", "414", "410", "401.9", "786.5", "99.1"])
    assert above(old, "250.83")[-3:] == ["249-259", "240-279", "*"]
    assert above(old, "8")[-2] == "001-139" and above(old, "V27")[-2] == "V01-V91"
    assert automatic("number_diagnoses", list(map(str, range(1, 17)))).scale == "number"
    assert automatic("room", [f"A{n}" for n in range(10, 40)]).levels[1].labels[0] == "A1*"


BLOCKS = {
    "icd10": {  # tabular lists: WHO 2019; ICD-10-CM of April 2026, where D3A (benign) and C7A are blocks of their own
        "A91": ("A91.-", "A00-B99"),
        "B99": ("B99.-", "A00-B99"),
        "C7A.0": ("C7A.-", "C00-D49"),
        "D3A.01": ("D3A.-", "C00-D49"),
        "D48.9": ("D37-D48", "C00-D49"),
        "D49.2": ("D49.-", "C00-D49"),
        "E90": ("E70-E90", "E00-E90"),
        "g14": ("G10-G14", "G00-G99"),
        "H59.8": ("H55-H59", "H00-H59"),
        "H60": ("H60-H62", "H60-H95"),
        "K95.01": ("K95.-", "K00-K95"),
        "O9A.1": ("O9A.-", "O00-O9A"),
        "T98": ("T90-T98", "S00-T98"),
        "U07.1": ("U00-U49", "U00-U99"),
        "V00.1": ("V00.-", "V00-Y99"),
        "X59": ("X58-X59", "V00-Y99"),
        "X60": ("X60-X84", "V00-Y99"),
        "Y99": ("Y99.-", "V00-Y99"),
    },
    "icd9": {  # CMS's list, version 32: 612 came in 2008, E979 in 2002, and there is no V92
        "042": ("042.-", "001-139"),
        "209.1": ("209.-", "140-239"),
        "249": ("249-259", "240-279"),
        "612.0": ("610-612", "580-629"),
        "678": ("678-679", "630-679"),
        "25000": ("249-259", "240-279"),
        "e979.1": ("E970-E979", "E000-E999"),
        "E0300": ("E001-E030", "E000-E999"),
        "V84.01": ("V83-V84", "V01-V91"),
        "V85": ("V85.-", "V01-V91"),
    },
}


@pytest.mark.parametrize(
    ("place", "found"),
    [(CLASSIFICATIONS["icd-10"].place, BLOCKS["icd10"]), (CLASSIFICATIONS["icd-9-cm"].place, BLOCKS["icd9"])],
)
def test_hard_cases_of_diagnoses_stand_where_the_lists_have_them(place, found):
    assert {code: place(code)[1][1:] for code in found} == found
    assert [place(code) for code in ("", "?", "n/a", "E11,9", "0.5", "S", "12345678")] == [None] * 7


def test_diagnoses_of_two_revisions_are_read_as_those_of_most():
    made = icd(["E11.9", "e11.9", "E11", "I10", "J45.0", "E10.-", "250.01", "428", "-"])
    assert above(made, "e11.9")[0] == above(made, "E11")[0] == "E11.-"
    assert above(made, "250.01") == ["250.01"] * (made.height - 1) + ["*"]


MOVED = {  # M49 as of 2024, where other lists disagree
    "Cyprus": "Western Asia",
    "Türkei": "Western Asia",
    "Georgia": "Western Asia",
    "Kazakhstan": "Central Asia",
    "Iran (Islamic Republic of)": "Southern Asia",
    "Sudan": "Northern Africa",
    "South Sudan": "Sub-Saharan Africa",
    "Korea, Republic of": "Eastern Asia",
    "Lithuania": "Northern Europe",
    "Gibraltar": "Southern Europe",
    "Tschechische Republik": "Eastern Europe",
    "Oesterreich": "Western Europe",
    "Réunion": "Sub-Saharan Africa",
    "GREENLAND": "Northern America",
    "Mexico": "Latin America and the Caribbean",
    "U.S.A.": "Northern America",
    "St. Lucia": "Latin America and the Caribbean",
    "AND": "Southern Europe",
    "xkx": "Southern Europe",
    "Kingdom of the Netherlands": "Western Europe",
    "Demokratische Republik Kongo": "Sub-Saharan Africa",
    "Hong Kong": "Eastern Asia",
    "Hongkong": "Eastern Asia",
}


def test_countries_stand_where_the_united_nations_have_them():
    assert {name: country(name)[1][0] for name in MOVED} == MOVED
    nowhere = ("", "?", "-", "and", "the", "Republic", "Other", "unknown", "Antarctica")
    assert [name for name in nowhere if country(name)] == ["and"]  # which is Andorra's code


@pytest.mark.parametrize("ranges", [each for one in CLASSIFICATIONS.values() for each in one.ranges])
def test_ranges_of_diagnoses_rise_and_do_not_overlap(ranges):
    ends = [end for pair in zip(ranges.firsts, ranges.lasts, strict=True) for end in pair]
    assert ends == sorted(ends)
    assert all(first <= last for first, last in zip(ranges.firsts, ranges.lasts, strict=True))
    strict = zip(ranges.lasts, ranges.firsts[1:], strict=False)
    assert all(last < first for last, first in strict)


@pytest.mark.parametrize("pair", [one.ranges for one in CLASSIFICATIONS.values()])
def test_every_block_lies_in_one_chapter(pair):
    chapters, blocks = pair
    assert len(chapters.labels) in (19, 22)
    for first, last in zip(blocks.firsts, blocks.lasts, strict=True):
        assert chapters.around(first) == chapters.around(last) is not None, first


def test_education_is_grouped_by_level():
    adult = ["Preschool", "1st-4th", "9th", "12th", "HS-grad", "Some-college", "Assoc-voc", "Bachelors", "Masters"]
    adult += ["Prof-school", "Doctorate"]
    made = automatic("education", adult)
    assert list(made.levels[1].labels) == bundled_facts("education")["order"]
    assert above(made, "12th") == ["secondary school", "up to secondary school", "*"]
    assert above(made, "Prof-school") == ["master", "beyond secondary school", "*"]
    german = automatic("bildung", ["Abitur", "Realschule", "Ausbildung", "Diplom", "ohne Abschluss", "Promotion"])
    assert above(german, "Abitur") == above(german, "Realschule")
    assert automatic("c_charge_degree", ["(F1)", "(M1)", "(CO3)", "(X)"]).height == 1
    told = {
        "Diplom": "master",
        "Dr. med.": "doctorate",
        "Fachhochschule": "bachelor",
        "Fachschule": bundled_facts("education")["order"][2],
    }
    told |= {"Fachhochschulreife": "secondary school"}
    assert {value: level(value)[1][0] for value in told} == told
    assert not any(map(level, ("Diploma", "No degree", "?", "")))


def test_a_group_named_like_a_value_is_told_apart():
    made = countries(["Germany", "France", "Poland", "Japan", "Europe", "Asia"])
    assert above(made, "Germany")[1] == "Europe (group)" and above(made, "Europe")[1] == "Europe"


def test_days_that_stand_for_none_are_told_by_column_and_value():
    days = ["0001-01-01", "2020-02-29", "9999-12-31"]
    with pytest.raises(sfumato.BadInputError, match=r"column 'birth' has days .* 0001 to 9999, .* --na 9999-12-31"):
        automatic("birth", days)
    assert automatic("birth", days[1:2]).scale == "date"


def test_dates_of_few_years_have_quarters_and_those_of_many_decades():
    short = automatic("seen", ["2019-03-31", "2019-04-01", "2020-12-31"])
    assert above(short, "2019-03-31")[1:] == ["2019-Q1", "2019", "2010-2019", "*"]
    assert above(short, "2019-04-01")[1] == "2019-Q2" and above(short, "2020-12-31")[1] == "2020-Q4"
    assert above(automatic("born", ["1959-01-01", "2001-05-05"]), "1959-01-01") == ["1959-01", "1959", "1950-1959", "*"]
    assert above(automatic("seen", ["1968-02-03"]), "1968-02-03") == ["1968-02", "1968-Q1", "1968", "*"]


@pytest.fixture
def jobs():
    """Eight jobs: four are done by the young in the north, four by the old in the south; a ninth one is rare."""
    rows = [(f"job {n}", *((25, "north") if n < 4 else (65, "south"))) for n in range(8) for _ in range(30)]
    rows += [("spy", 25, "north")] * 19
    job, age, place = zip(*rows, strict=True)
    return pa.table({"job": job, "age": age, "place": place, "illness": [f"i{i % 8}" for i in range(len(rows))]})


def test_frequent_categories_are_grouped_by_the_others_and_rare_ones_stay_alone(jobs):
    table = sfumato.read(jobs, quasi=["job", "age", "place"], sensitive=["illness"])
    groups = similar_groups(table.cells, "job")
    young, old = {f"job {n}" for n in range(4)}, {f"job {n}" for n in range(4, 8)}
    assert groups and all(set(members) <= young or set(members) <= old for _, *members in groups)
    assert all(label == f"similar: {', '.join(members)}" for label, *members in groups)
    assert "spy" not in {value for _, *members in groups for value in members}
    made = sfumato.hierarchy(table, "job", similar=True)
    assert above(made.hierarchy, "spy") == ["spy", "*"]
    assert made.hierarchy.observed  # so that differential privacy refuses it
    assert from_entry(made.entry(), lambda: ((), ())) == made.hierarchy


def test_groups_do_not_depend_on_sensitive_values_or_the_order_of_rows(jobs):
    plain = similar_groups(sfumato.read(jobs, quasi=["job", "age", "place"]).cells, "job")
    turned = jobs.take(list(range(len(jobs)))[::-1])
    by_illness = sfumato.read(turned, quasi=["place", "job", "age"], sensitive=["illness"])
    assert similar_groups(by_illness.cells, "job") == plain


def test_groups_take_enough_values_and_other_columns(jobs):
    with pytest.raises(sfumato.BadInputError, match="cannot be grouped by similarity"):
        sfumato.hierarchy(sfumato.read(jobs, quasi=["job"]), "job", similar=True)
    with pytest.raises(sfumato.BadInputError, match="cannot be grouped by similarity"):
        sfumato.hierarchy(sfumato.read(jobs, quasi=["age", "job"]), "age", similar=True)
    for entry in ([["a"]], 3, [["x", "job 1"], ["y", "job 1"]]):
        with pytest.raises(sfumato.BadInputError, match=r"'job'.*(a group is|must be a list|in two groups)"):
            sfumato.read(jobs, quasi=["job"], hierarchies={"job": {"type": "groups", "groups": entry}})


def test_a_draft_groups_plain_categories_and_shows_no_rare_one(jobs, tmp_path):
    from pyarrow import csv

    csv.write_csv(jobs.rename_columns(["occupation", "age", "region", "illness"]), tmp_path / "t.csv")
    draft = sfumato.draft(str(tmp_path / "t.csv"))
    entry = next(guess.hierarchy for guess in draft.guesses if guess.column == "occupation")
    assert entry["type"] == "groups"
    text = draft.to_toml()
    assert "spy" not in text and "similar: job 0" in text
    table = sfumato.Study.from_toml(text).table.open()
    assert table.hierarchies["occupation"].height == 2
