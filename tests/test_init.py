"""`sfumato init`: what it guesses of names and values, what it keeps to itself, and that `explore` runs on its file."""

from __future__ import annotations

import csv
import datetime
import json
import random
import string
import tomllib
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from court_records import HEADER, records
from sfumato import BadInputError, Scales, Study, TableDeclaration, draft, explore, guess, read_study
from sfumato.commands.app import app
from sfumato.data._column_names import likeness_of, meaning_of, vocabulary_of
from sfumato.data.hierarchies.automatic import looks_like_dates, looks_numeric
from sfumato.data.hierarchies.declared import from_entry
from sfumato.engines import open_rows
from sfumato.engines.protocol import Engine
from sfumato.measures.reconstruction import UniformReader
from sfumato.release.populations import large_populations
from sfumato.tradeoff.exploration.effort import populations_about
from sfumato.tradeoff.study.first_map import FIRST_MAP_LONGEST as LONGEST
from sfumato.tradeoff.study.first_map import FirstMap

ICD = ["J45.0", "I20.9", "E11.9", "F32.1", "C50.9", "K35.8", "M54.5", "N39.0", "A09.9", "G40.2", "I10", "J18.9"]
TOWNS = ["Ulm", "Bonn", "Kiel"]
COURT = records(600)


def write(path: Path, header: list[str], rows: list[list[object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def day(draw: random.Random, first: int, days: int) -> datetime.date:
    return datetime.date(first, 1, 1) + datetime.timedelta(days=draw.randrange(days))


def patients(path: Path, records: int = 300) -> Path:
    draw = random.Random(7)
    names = ["Anna", "Ben", "Carla", "David", "Emma", "Felix", "Greta", "Hugo"]
    rows: list[list[object]] = []
    for i in range(records):
        name = draw.choice(names)
        rows.append(
            [
                4000 + 7 * i + draw.randrange(7),
                name,
                f"{name.lower()}{i}@mail.example",
                f"+49 170 {draw.randrange(10**6, 10**7)}",
                day(draw, 1990, 3000),
                "X" if i == 5 else draw.choice("MF"),
                f"0{draw.choice(range(10, 90, 2))}{draw.randrange(3)}5",
                draw.choice(ICD),
                round(draw.gauss(120, 15), 1),
                draw.choice(["yes", "no"]),
                f"seen by doctor {draw.choice(names)} because of pain in week {i} of the year",
            ]
        )
    header = "patient_id,first name,contact,line,birth date,sex,zip,icd10,systolic,consent,remarks"
    return write(path, header.split(","), rows)


def roles(path: Path | str) -> dict[str, str | None]:
    return {own.column: own.role for own in draft(str(path)).guesses}


def engine(**columns: list[object]) -> Engine:
    return open_rows(pa.table({name: pa.array(values) for name, values in columns.items()}))


def run(*words: str):
    return CliRunner().invoke(app, ["init", *words])


# -- names and values ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("dateOfBirth", "a birth"),
        ("DATE-OF-BIRTH", "a birth"),
        ("Geburtsdatum", "a birth"),
        ("fecha de nacimiento", "a birth"),
        ("age_at_diagnosis", "an age"),
        ("Âge", "an age"),
        ("PLZ", "a postal code"),
        ("zip5", "a postal code"),
        ("code postal", "a postal code"),
        ("Straße", "a way to reach a person"),
        ("E-Mail", "a way to reach a person"),
        ("Nachname", "a name"),
        ("patientID", "a person's number"),
        ("Hauptdiagnose", "health"),
        ("Diagnose_1", "health"),
        ("maladies", "health"),
        ("sexual orientation", "sexual life"),
        ("sex", "a sex or gender"),
        ("Geschlecht", "a sex or gender"),
        ("Familienstand", "a marital status"),
        ("drug_name", "health"),
        ("Name des Patienten", "a name"),
        ("first", "a name"),
        ("nom du patient", "a name"),
        ("prénom", "a name"),
        ("Apellidos", "a name"),
        ("cognome", "a name"),
        ("achternaam", "a name"),
        ("first_visit", None),
        ("Patienten-Nr.", "a person's number"),
        ("número de paciente", "a person's number"),
        ("number of patients", "a number of something"),
        ("Krankenversicherungsnummer", "a person's number"),
        ("leeftijd", "an age"),
        ("data di nascita", "a birth"),
        ("woonplaats", "a place"),
        ("estado civil", "a marital status"),
        ("Staatsangehörigkeit", "a nationality or language"),
        ("niveau d'études", "an education"),
        ("beroep", "work"),
        ("Bruttoeinkommen", "money"),
        ("fecha de ingreso", "an admission or a discharge"),
        ("Entlassungsdatum", "an admission or a discharge"),
        ("geloof", "a belief or conviction"),
        ("courriel", "a way to reach a person"),
        ("c_charge_degree", "crime"),
        ("degree", "an education"),
        ("total_charges", "money"),
        ("two_year_recid", "crime"),
        ("year", "a date"),
        ("weeks worked in year", "work"),
        ("two_year_plan", None),
        ("num persons worked for employer", "work"),
        ("storage", None),
        ("average", None),
        ("Q17", None),
        ("", None),
    ],
)
def test_a_name_says_what_a_column_is_about(name, what):
    found = meaning_of(name)
    assert (None if found is None else found.what) == what


def iban(country: str, account: str) -> str:
    """An IBAN with the check digits by the rule: 98 less the rest by 97."""
    rest = int("".join(str(int(letter, 36)) for letter in f"{account}{country}00")) % 97
    return f"{country}{98 - rest:02d}{account}"


def card(draw: random.Random) -> str:
    start = "4" + "".join(draw.choice(string.digits) for _ in range(14))
    doubled = [int(digit) * (1 + i % 2) for i, digit in enumerate(reversed(start + "0"))]
    return start + str(-sum(digit // 10 + digit % 10 for digit in doubled) % 10)


def test_values_are_known_by_their_look_and_their_check_digits():
    draw = random.Random(2)
    digits = lambda n: "".join(draw.choice(string.digits) for _ in range(n))  # noqa: E731
    looks = {
        "e-mail addresses": ["a@b.de", "x.y@mail.example"],
        "UUIDs": ["123e4567-e89b-12d3-a456-426614174000"],
        "IP addresses": ["10.0.0.1", "2001:db8::1"],
        "web addresses": ["https://example.org/a"],
        "US social security numbers": ["123-45-6789"],
        "telephone numbers": ["+49 170 1234567", "(030) 901820", "555-123-4567"],
        "bank accounts (IBAN)": [iban("DE", digits(18)) for _ in range(5)],
        "payment cards (check digit right)": [card(draw) for _ in range(30)],
        "Spanish identity numbers": ["12345678Z", "X1234567L"],
        "Swiss social insurance numbers": ["756.9217.0769.85"],
        "French social security numbers": ["2 55 08 14 168 025 38"],
        "Italian fiscal codes": ["RSSMRA85T10A562S"],
        "British national insurance numbers": ["AB 12 34 56 C"],
        "British postcodes": ["SW1A 1AA", "M1 1AE"],
        "British NHS numbers (check digit right)": ["943 476 5919", "401 023 2137"] * 5,
        "German tax numbers (check digit right)": ["86095742719"] * 10,
        "ICD-10 diagnoses": ICD,
    }
    for what, values in looks.items():
        found = likeness_of(values)
        assert found is not None and found.what == what, (what, values)
    for values in (["red", "blue"], ["1.5", "2.5"], ["2020-01-31"], [card(draw)], [digits(16) for _ in range(40)]):
        assert likeness_of(values) is None, values
    assert vocabulary_of(["M", "w", "d"]) == ("a sex or gender", "quasi")
    assert vocabulary_of(["yes", "no"]) is None and vocabulary_of(["none", "other"]) is None


def test_patients_get_the_roles_a_person_would_give_them(tmp_path):
    assert roles(patients(tmp_path / "p.csv")) == {
        "patient_id": "identifier",
        "first name": "identifier",
        "contact": "identifier",
        "line": "identifier",
        "birth date": "quasi",
        "sex": "quasi",
        "zip": "quasi",
        "icd10": "sensitive",
        "systolic": None,
        "consent": None,
        "remarks": "identifier",
    }


def test_different_in_every_record_is_an_identifier_unless_it_measures():
    draw = random.Random(3)
    found = guess(
        engine(
            run_of_numbers=list(range(500)),
            measured=[draw.random() for _ in range(500)],
            amount=[draw.randrange(10**6) for _ in range(500)],
            token=["".join(draw.choice(string.ascii_letters) for _ in range(draw.randrange(6, 9))) for _ in range(500)],
        )
    )
    assert [own.role for own in found] == ["identifier", None, None, "identifier"]


def test_the_columns_of_a_court_are_placed_as_a_person_would(tmp_path):
    made = guess(open_rows(write(tmp_path / "c.csv", HEADER, COURT)))
    found = {own.column: own for own in made}
    by_role = {role: {own.column for own in made if own.role == role} for role in ("identifier", "quasi", "sensitive")}
    assert {"name", "first", "last", "c_case_number", "r_case_number", "vr_case_number"} <= by_role["identifier"]
    assert {"sex", "dob", "age", "age_cat", "race"} <= by_role["quasi"]
    assert by_role["sensitive"] == {"decile_score", "priors_count", "c_charge_degree"}
    for name in ("two_year_recid", "juv_fel_count", "days_b_screening_arrest", "is_recid", "c_charge_desc"):
        assert found[name].role is None and "named like crime" in found[name].reason, name
        assert "sensitive? 3 such columns are enough" in found[name].advice
    assert "somebody may remember the day" in found["c_jail_in"].reason
    said = guess(open_rows(pa.table({"days_b_screening_arrest": [i % 90 for i in range(300)]})))
    assert said[0].hierarchy is not None and said[0].hierarchy["type"] == "numeric", "a count has an order"


def test_a_column_named_like_a_name_is_none_where_it_holds_numbers():
    first, nom = guess(engine(first=[i % 60 for i in range(200)], nom=[f"n{i % 60}" for i in range(200)]))
    assert first.role is None and nom.role == "identifier"


def test_the_best_founded_columns_are_kept_and_what_somebody_decided_always():
    draw = random.Random(4)
    columns = {f"diagnosis_{i}": [draw.choice("abc") for _ in range(200)] for i in range(4)}
    columns["hiv"] = ["no" if draw.random() < 0.97 else "yes" for _ in range(200)]
    columns["disease"] = [draw.choice("xyz") if draw.random() < 0.3 else None for _ in range(200)]
    kept = [own.column for own in guess(engine(**columns)) if own.role == "sensitive"]
    assert kept == ["diagnosis_0", "diagnosis_1", "diagnosis_2"]
    few = {name: columns[name] for name in ("hiv", "disease", "diagnosis_0", "diagnosis_1", "diagnosis_2")}
    assert {own.column for own in guess(engine(**few)) if own.role == "sensitive"} == set(few) - {"hiv", "disease"}
    given = dict.fromkeys(("hiv", "disease", "diagnosis_0", "diagnosis_3"), "sensitive")
    assert {own.column for own in guess(engine(**columns), roles=given) if own.role == "sensitive"} == set(given)


def test_nothing_is_ever_guessed_neutral_and_adult_is_placed_sensibly():
    found = roles("adult")
    assert "neutral" not in found.values()
    quasi = {name for name, role in found.items() if role == "quasi"}
    assert {"age", "sex", "race", "marital-status", "education", "native-country", "occupation"} <= quasi
    assert found["salary"] == "sensitive" and found["fnlwgt"] is None


# -- what the engine counts ------------------------------------------------------------------------------------------

TEXTS = st.one_of(
    st.text(max_size=6),
    st.integers(-(10**6), 10**6).map(str),
    st.decimals(-1000, 1000, places=3).map(str),
    st.sampled_from(["007", "1e3", "nan", "inf", "2020-02-29", "2021-02-29", "1999-01-01 10:00", "NA", "1_0"]),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.one_of(st.none(), TEXTS), min_size=1, max_size=12))
@example(["0\x1f"])
def test_facts_of_a_column_agree_with_a_plain_count(values):
    values = [None if value is not None and "\x00" in value else value for value in values]
    found = engine(c=[*values, "x"]).facts("c")
    present = [value for value in [*values, "x"] if value]
    assert found.present == len(present) and found.distinct == len(set(present))
    assert (found.shortest, found.longest) == (min(map(len, present)), max(map(len, present)))
    plain = [value.strip(" ") for value in present]
    numbers = [float(value) for value in plain if looks_numeric([value]) and value.lower() not in ("nan", "inf")]
    days = [value for value in plain if looks_like_dates([value])]
    assert (found.numbers, found.days) == (len(numbers), len(days))
    assert found.lowest == (min(numbers) if numbers else None) and found.highest == (max(numbers) if numbers else None)
    assert str(found.first) == (min(days)[:10] if days else "None")


def test_a_sample_is_about_as_large_as_asked_and_the_bounds_still_cover_the_whole_column():
    rows = engine(age=[*(i % 50 for i in range(20_000)), 85])
    assert rows.sample("age", 10**6).counts.sum() == 20_001
    assert 300 < rows.sample("age", 500).counts.sum() < 700
    entry = guess(rows, 500)[0].hierarchy
    assert entry is not None and entry["open_above"] == entry["upper"] < 85  # a single record moves no bound
    assert (from_entry(dict(entry), lambda: ((), ())).encode(["0", "49", "85"]) >= 0).all()


def test_values_that_the_world_has_put_in_order_tell_of_a_column_whose_name_does_not():
    values = {
        "column1": ["E11.9", "I10", "J44.1", "K35.8", "C50.9", "M16.1", "S72.0", "F32.1", "I21.0", "J18.9"],
        "column2": ["El-Salvador", "Kuba", "United-States", "Puerto-Rico", "Österreich"],
        "column3": ["White", "Black", "Asian or Pacific Islander", "Amer Indian Aleut or Eskimo", "Other"],
        "column4": ["v0", "v1", "v2", "v3", "v4"],
    }
    rows = engine(**{name: [each[i % len(each)] for i in range(200)] for name, each in values.items()})
    assert [own.role for own in guess(rows)] == ["sensitive", "quasi", "quasi", None]


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        (["Ulm", "Köln", "-", "Bonn"], {"-"}),
        (["All other", "Cuban", "NA", "–"], {"NA", "–"}),
        (["DE", "NA", "FR", "ZA"], set()),  # Namibia
        (["+", "-"], set()),  # a rhesus factor
        (["positiv", "-", "nicht getestet"], set()),
        (["none", "Muslim", "Catholic"], set()),
        (["-", "x"], set()),
    ],
)
def test_a_dash_or_na_among_categories_is_proposed_as_missing_where_it_can_mean_nothing_else(values, missing):
    own = guess(engine(a=[values[i % len(values)] for i in range(60)]))[0]
    assert set(own.missing_texts) == missing


# -- the file --------------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=1, max_size=5, unique=True))
def test_any_column_name_and_value_gives_a_readable_study_with_just_these_names(names):
    values = [f"{names[i % len(names)]} \n ] # \" ''' {i % 3}" for i in range(60)]
    table = pa.table({**{name: pa.array(values) for name in names}, "the age\n": list(range(60))})
    rows = open_rows(table)
    from sfumato.tradeoff.study.draft import Draft

    made = Draft(TableDeclaration("t.csv"), rows.row_count, False, guess(rows))
    content = tomllib.loads(made.to_toml())["table"]
    listed = {role: content[role] for role in ("identifier", "quasi", "sensitive", "neutral")}
    assert listed == {role: [own.column for own in made.guesses if own.role == role] for role in listed}
    assert "the age\n" in listed["quasi"] and set(content.get("hierarchy", {})) <= {*names, "the age\n"}
    Study.from_toml(made.to_toml())


def test_the_file_shows_no_value_of_an_identifier_and_no_rare_value(tmp_path):
    source = patients(tmp_path / "p.csv")
    text = draft(str(source)).to_toml()
    said = run(str(source), "--to", str(tmp_path / "s.toml")).stdout
    with source.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for shown in (text, said):
        for column in ("patient_id", "first name", "contact", "line", "remarks", "birth date", "zip", "systolic"):
            assert not any(row[column] in shown.replace('"first name"', "") for row in rows), column
        assert "X" not in shown.split("sex or gender")[1].split("\n")[0]
    assert "3 values: F, M and 1 more" in text


def test_undecided_columns_are_listed_and_not_published(tmp_path):
    source = patients(tmp_path / "p.csv")
    text = draft(str(source)).to_toml(tmp_path)
    (tmp_path / "study.toml").write_text(text)
    block = text.split("UNDECIDED")[1].split("\n\n")[0]
    assert '"systolic"' in block and '"consent"' in block
    table = read_study(str(tmp_path / "study.toml")).table.open()
    assert set(table.published) == {"birth date", "sex", "zip", "icd10"}
    assert any("'systolic', 'consent'" in notice for notice in table.notices)


def test_texts_that_mean_missing_between_numbers_are_declared(tmp_path):
    draw = random.Random(5)
    rows = [[draw.choice([draw.randrange(18, 90), "NA", "?"]), draw.choice(TOWNS)] for _ in range(200)]
    made = draft(str(write(tmp_path / "t.csv", ["age", "town"], rows)))
    assert made.added_na == ("?", "NA") and made.guesses[0].hierarchy is not None
    assert made.guesses[0].hierarchy["type"] == "numeric"
    assert tomllib.loads(made.to_toml())["table"]["na"] == ["?", "NA"]


def test_requirements_are_those_the_table_could_satisfy(tmp_path):
    draw = random.Random(6)
    rows = [[draw.randrange(90), draw.choice(["yes", "no"]), draw.choice("abcdefg")] for _ in range(60)]
    made = draft(str(write(tmp_path / "t.csv", ["age", "hiv", "disease"], rows)))
    texts = list(made.first.requirements)
    assert [text for text in texts if "&" not in text] == ["k-anonymity k=5", "k-anonymity k=10"]
    assert (
        'k-anonymity k=5 & l-diversity l=2 variant=distinct on="hiv" & l-diversity l=5 variant=distinct on="disease"'
        in texts
    )


def test_long_tails_and_old_ages_become_one_open_value():
    draw = random.Random(8)
    ages = [*(draw.randrange(20, 90) for _ in range(300)), 93, 101]
    incomes = [*(draw.randrange(1000, 5000) for _ in range(301)), 9_000_000]
    age, income = guess(engine(age=ages, income=incomes))
    assert age.hierarchy is not None and age.hierarchy["open_above"] == 90 == age.hierarchy["upper"]
    assert income.hierarchy is not None and 4000 < income.hierarchy["open_above"] <= 20_000


# -- the command -----------------------------------------------------------------------------------------------------


def test_the_command_says_what_it_guessed_and_what_comes_next(tmp_path):
    source = patients(tmp_path / "p.csv")
    ended = run(str(source), "--to", str(tmp_path / "study.toml"))
    assert ended.exit_code == 0, ended.output
    assert "UNDECIDED" in ended.stdout and "2 columns could not be placed" in ended.stdout
    assert f"sfumato explore {tmp_path / 'study.toml'}" in ended.stdout
    said = json.loads(run(str(source), "--to", str(tmp_path / "two.toml"), "--json").stdout)
    assert said["undecided"] == ["systolic", "consent"] and said["records"] == 300
    assert [own["hierarchy"]["type"] for own in said["columns"] if own["hierarchy"]] == [
        "dates",
        "flat",
        "prefixes",
        "flat",
    ]


def test_roles_that_are_given_are_taken_and_the_others_guessed(tmp_path):
    source, study = patients(tmp_path / "p.csv"), tmp_path / "study.toml"
    words = ["--sensitive", "consent", "--neutral", "systolic", "--identifier", "zip", "--quasi", "icd10"]
    assert run(str(source), "--to", str(study)).exit_code == 0
    assert run(str(source), "--to", str(study), "--force", *words).exit_code == 0
    table = read_study(str(study)).table
    assert table.quasi == ("birth date", "sex", "icd10") and table.sensitive == ("consent",)
    assert table.neutral == ("systolic",) and "zip" in table.identifier and "patient_id" in table.identifier
    assert "you said so" in study.read_text() and set(table.open().published) >= {"systolic", "consent"}
    before = study.read_bytes()
    for words, said in (
        (["--quasi", "nope"], "there is no column 'nope'"),
        (["--quasi", "sex", "--sensitive", "sex"], "'sex' is named both quasi and sensitive"),
        (["--sensitive", "same"], "the column 'same' cannot be sensitive as it is: with one value only"),
        (["--identifier", "sex,same"], "no quasi-identifier"),
    ):
        (tmp_path / "s.csv").write_text("sex,same\n" + "m,1\nf,1\n" * 30)
        ended = run(str(tmp_path / "s.csv"), "--to", str(study), "--force", *words)
        assert isinstance(ended.exception, BadInputError) and said in str(ended.exception), words
    assert study.read_bytes() == before
    ended = run("--baskets", str(source), "--to", str(tmp_path / "b.toml"), "--quasi", "sex")
    assert isinstance(ended.exception, BadInputError) and "--quasi is about tables" in str(ended.exception)


RECIPIENTS_REQUIRE = [
    " & ".join(
        [f"k-anonymity k={k}", *(f"l-diversity l=2 variant={variant} on={name}" for name in ("disease", "illness"))]
    )
    for k, variant in ((11, "frequency"), (5, "distinct"))
]


def test_a_first_map_takes_about_a_minute_and_says_what_was_left_out_for_that(tmp_path, monkeypatch):
    draw = random.Random(14)
    rows: list[list[object]] = [
        [draw.randrange(90), draw.randrange(90), draw.choice("mf"), *(f"d{draw.randrange(1900)}" for _ in "ab")]
        for _ in range(20_000)
    ]
    made = draft(str(write(tmp_path / "t.csv", ["age", "edad", "sex", "disease", "illness"], rows)))
    usual = FirstMap(tuple(made.first.requirements), ("mondrian", "full-domain"), Scales()).timed(made.cells)
    assert made.first.effort.seconds <= LONGEST < usual.effort.seconds
    text = made.to_toml()
    assert made.first.left_out and all(f"Left out: {what}." in text for what in made.first.left_out)
    scales = Study.from_toml(text).scales
    assert scales == made.first.scales and scales.queries.number == 100
    assert len(Study.from_toml(text).candidates) == len(made.first.candidates)
    monkeypatch.setattr("sfumato.tradeoff.study.first_map.FIRST_MAP_LONGEST", 0.0)
    least = replace(made).first
    assert made.first.ends == ("without-quasi",) and usual.effort.gigabytes > 4 > made.first.effort.gigabytes
    assert [str(one) for one in least.candidates[:-1]] == [
        f"mondrian, {text}, generalization, suppress 0.05"
        for text in (*RECIPIENTS_REQUIRE, "k-anonymity k=20", "k-anonymity k=100")
    ]
    assert len(least.left_out) == 7 and isinstance(least.scales.reader, UniformReader)
    assert least.effort.seconds < made.first.effort.seconds


def test_what_hardly_any_group_could_satisfy_is_left_out_with_the_reason(tmp_path):
    rows: list[list[object]] = [[i % 70, "yes" if i < 12 else "no"] for i in range(200)]
    made = draft(str(write(tmp_path / "t.csv", ["age", "hiv"], rows)))
    assert [text for text in made.first.requirements if "l=" in text] == [
        "k-anonymity k=5 & l-diversity l=2 variant=distinct"
    ]
    few = draft(str(write(tmp_path / "u.csv", ["age", "hiv"], [[i % 70, "ny"[i < 3]] for i in range(200)])))
    assert not any("l-diversity" in text for text in few.first.requirements)
    assert any("98% of the records have one value of 'hiv'" in what for what in few.first.left_out)


def test_large_populations_are_counted_about_right_in_a_sample():
    cells = TableDeclaration("adult-train").open().cells
    for share in (0.5, 0.2):
        exact = large_populations(cells, share).size
        assert exact / 2 < populations_about(cells, share) < 2 * exact


def test_an_existing_study_is_kept_and_nothing_half_written_stays(tmp_path):
    source, study = patients(tmp_path / "p.csv", 30), tmp_path / "study.toml"
    study.write_text("mine")
    ended = run(str(source), "--to", str(study))
    assert isinstance(ended.exception, BadInputError) and "--force" in str(ended.exception)
    assert study.read_text() == "mine"
    assert run(str(source), "--to", str(study), "--force").exit_code == 0
    assert study.read_text() != "mine"
    for words in ([str(tmp_path / "none.csv")], [str(source), "--sample", "0"], [str(source), "--to", str(tmp_path)]):
        ended = run("--to", str(tmp_path / "other.toml"), *words)
        assert isinstance(ended.exception, BadInputError)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["p.csv", "study.toml"]


def test_a_table_without_quasi_identifiers_still_gets_a_study_that_says_what_to_decide(tmp_path):
    source = write(tmp_path / "t.csv", ["value", "thing"], [[i / 7, "abc"[i % 3]] for i in range(90)])
    ended = run(str(source), "--to", str(tmp_path / "study.toml"))
    assert ended.exit_code == 0 and "No column looks like a quasi-identifier" in ended.stdout
    text = (tmp_path / "study.toml").read_text()
    assert "Write at least one name here" in text
    with pytest.raises(BadInputError, match="no quasi-identifier"):
        read_study(str(tmp_path / "study.toml")).table.open()


# -- from init to explore --------------------------------------------------------------------------------------------


def survey(path: Path) -> Path:
    draw = random.Random(9)
    rows: list[list[object]] = [
        [i, draw.randrange(16, 95), draw.choice(TOWNS), *(draw.randrange(1, 6) for _ in range(9)), draw.choice("RGB")]
        for i in range(150)
    ]
    return write(path, ["respondent", "age", "Wohnort", *(f"Q{i}" for i in range(9)), "Partei"], rows)


def weird(path: Path) -> Path:
    draw = random.Random(10)
    header = [
        'a"quote',
        "new\nline",
        "do.t",
        "select",
        "grö\u202eße",
        "",
        "two  blanks",
        "age # years",
        "'sex'",
        "[table]",
        "\\b",
    ]
    rows: list[list[object]] = [
        [
            draw.choice("ab"),
            "x\ny",
            i % 7,
            'r"2',
            draw.random(),
            "u",
            i,
            draw.randrange(99),
            draw.choice("mf"),
            "k",
            "g",
        ]
        for i in range(120)
    ]
    return write(path, header, rows)


def hollow(path: Path) -> Path:
    """Missing and constant columns, and a zip that is a number."""
    draw = random.Random(11)
    rows: list[list[object]] = [
        [draw.choice([draw.randrange(90), "NA"]), "", draw.choice(["m", "f", ""]), "x", draw.randrange(10_000, 10_090)]
        for _ in range(150)
    ]
    return write(path, ["age", "empty", "sex", "const", "zip"], rows)


def wide(path: Path) -> Path:
    draw = random.Random(12)
    header = ["age", "sex", "diagnosis", *(f"date{i}" for i in range(20)), *(f"item{i}" for i in range(177))]
    rows: list[list[object]] = [
        [draw.randrange(90), draw.choice("mf"), draw.choice(ICD)]
        + [day(draw, 2020, 60) for _ in range(20)]
        + [draw.randrange(9) for _ in range(177)]
        for _ in range(80)
    ]
    return write(path, header, rows)


def single(path: Path) -> Path:
    return write(path, ["name", "age", "zip", "diagnosis"], [["Bob", 44, "01234", "flu"]])


def without_sensitive(path: Path) -> Path:
    draw = random.Random(13)
    rows: list[list[object]] = [[draw.randrange(90), draw.choice(TOWNS), draw.choice("mf")] for _ in range(150)]
    return write(path, ["age", "town", "gender"], rows)


def court(path: Path) -> Path:
    return write(path, HEADER, COURT[:250])


def one_column(path: Path) -> Path:
    return write(path, ["age"], [[i * i % 83] for i in range(120)])


def constant(path: Path) -> Path:
    rows: list[list[object]] = [[40 + i % 7, "m", "DE", "yes" if i % 16 == 0 else "no"] for i in range(160)]
    return write(path, ["age", "sex", "country", "hiv"], rows)


def times(path: Path) -> Path:
    """A day and a time in every record, over two centuries."""
    draw = random.Random(15)
    start = datetime.datetime(1850, 1, 1)
    rows: list[list[object]] = [
        [start + datetime.timedelta(seconds=draw.randrange(6 * 10**9)), draw.choice("mf"), draw.choice(ICD)]
        for _ in range(150)
    ]
    return write(path, ["seen", "sex", "icd"], rows)


ALL = [patients, survey, weird, hollow, wide, single, without_sensitive, court, one_column, constant, times]


@pytest.mark.parametrize("make", ALL)
def test_explore_runs_on_the_study_as_it_was_written(tmp_path, make):
    source = make(tmp_path / "t.csv")
    assert run(str(source), "--to", str(tmp_path / "study.toml")).exit_code == 0
    study = read_study(str(tmp_path / "study.toml"))
    shown = explore(study)
    assert all(point.status in ("measured", "infeasible") for point in shown.points), [p.reason for p in shown.points]
    assert shown.frontier()
    if make is not single:
        assert all(point.status == "measured" for point in shown.points), [p.reason for p in shown.points]
