"""The user's analysis: its numbers against other programs, its readings leaf by leaf, and what it does to a map."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import log, sqrt
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pytest

import plain_fidelity as plain
import sfumato
from command_line import run
from sfumato.anonymizers import anonymizer
from sfumato.data.hierarchies.categorical import flat
from sfumato.data.hierarchies.numeric import numeric
from sfumato.data.reading import read
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import ANALYSIS
from sfumato.measures.analysis.analysis import Analysis, read_analysis
from sfumato.measures.analysis.findings import Conclusion, Finding, analysis_measures, combined, outcomes
from sfumato.measures.analysis.formulas import formula, table
from sfumato.measures.analysis.frames import Frames
from sfumato.release.records import Records, record_release
from sfumato.requirements.requirement import KAnonymity
from sfumato.tradeoff.question.answer import NothingFitsError
from sfumato.tradeoff.study.study import Study, study_from_toml
from small_tables import small_table

STUDY = """
name = "people"
axes = ["p_loss", "u_loss"]
[table]
source = "people.csv"
quasi = ["age", "sex"]
sensitive = ["illness"]
neutral = ["pay"]
[table.hierarchy.age]
type = "numeric"
lower = 20
upper = 59
[table.hierarchy.sex]
type = "flat"
values = ["f", "m"]
[table.hierarchy.illness]
type = "flat"
values = ["cold", "flu"]
[analysis]
formula = "pay ~ age + sex"
table = ["count by sex", "mean pay by illness"]
file = "own.py"
[[candidates]]
anonymizers = ["mondrian"]
requirements = ["k-anonymity k=3", "k-anonymity k=60"]
[[candidates]]
anonymizers = ["without-quasi", "original"]
"""
OWN = "def analysis(frame):\n    print('nobody reads this')\n    return {'mean pay': frame['pay'].mean()}\n"


def people(records=600):
    generator = np.random.default_rng(3)
    age, sex = generator.integers(20, 60, records), generator.choice(["f", "m"], records)
    pay = 20 * age + 100 * (sex == "m") + generator.normal(0, 60, records)
    illness = np.where(generator.random(records) < (age - 10) / 60, "flu", "cold")
    return pa.table({"age": age, "sex": sex, "illness": illness, "pay": pay.round(1)})


def opened(frame=None, **more):
    declared = {"quasi": ["age", "sex"], "sensitive": ["illness"], "neutral": ["pay"], **more}
    return read(people() if frame is None else frame, hierarchies={"age": numeric(20, 59)}, **declared)


@pytest.fixture
def folder(tmp_path):
    frame = people()
    rows = zip(*(frame[name].to_pylist() for name in frame.column_names), strict=True)
    lines = [",".join(frame.column_names), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


# -- formulas and tables, against other programs -----------------------------------------------------------


def test_least_squares_are_those_of_scikit_learn_with_the_errors_of_the_textbook():
    from scipy.stats import t
    from sklearn.linear_model import LinearRegression

    frame = people()
    found = {each.name: each for each in formula("log(pay) ~ age + age^2 + sex + age:sex")(frame)}
    age, male = frame["age"].to_numpy().astype(float), (frame["sex"].to_numpy() == "m").astype(float)
    y = np.array([log(pay) for pay in frame["pay"].to_pylist()])
    design = np.column_stack([age, age**2, male, age * male])
    model = LinearRegression().fit(design, y)
    names = ["age", "age^2", "sex m against f", "age:sex m against f"]
    assert list(found) == names
    np.testing.assert_allclose([found[name].estimate for name in names], model.coef_, rtol=1e-6)
    whole = np.column_stack([np.ones(600), design])
    residual = ((y - model.predict(design)) ** 2).sum() / 595
    errors = np.sqrt(np.diag(np.linalg.inv(whole.T @ whole)) * residual)[1:]
    half = [(found[name].high - found[name].low) / 2 for name in names]
    np.testing.assert_allclose(half, errors * t.ppf(0.975, 595), rtol=1e-4)


def test_a_logistic_model_is_that_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    frame = people()
    found = formula("illness = flu ~ age + C(sex)")(frame)
    alike = formula("illness ~ age + sex")(frame)
    assert found == [replace(each, analysis="illness = flu ~ age + C(sex)") for each in alike]
    design = np.column_stack([frame["age"].to_numpy(), (frame["sex"].to_numpy() == "m")]).astype(float)
    label = frame["illness"].to_numpy() == "flu"
    model = LogisticRegression(C=1e10, tol=1e-12, max_iter=5000).fit(design, label)
    np.testing.assert_allclose([each.estimate for each in found], model.coef_[0], atol=1e-5)
    chance = model.predict_proba(design)[:, 1]
    whole = np.column_stack([np.ones(600), design])
    information = (whole * (chance * (1 - chance))[:, None]).T @ whole
    errors = np.sqrt(np.diag(np.linalg.inv(information)))[1:]
    half = [(each.high - each.low) / 2 for each in found]
    np.testing.assert_allclose(half, errors * NormalDist().inv_cdf(0.975), rtol=1e-4)


def test_what_the_data_do_not_tell_is_left_out():
    frame = pa.table(
        {"y": [1.0, 2, 3, 5, 8, 9], "x": [1, 2, 3, 4, 5, 6], "twice": [2, 4, 6, 8, 10, 12], "one": ["a"] * 6}
    )
    assert [each.name for each in formula("y ~ x + twice + one")(frame)] == ["x"]
    apart = pa.table({"y": ["a"] * 10 + ["b"] * 10, "x": [*range(10), *range(20, 30)], "z": [1, 2] * 10})
    assert "x" not in [each.name for each in formula("y ~ x + z")(apart)], "x decides y"
    missing = pa.table({"y": [1.0, 2, 3, 5, None], "x": [1, 2, 3, None, 5], "w": [3.0, 1, 2, 7, 9]})
    three = pa.table({"y": [1.0, 2, 3], "x": [1, 2, 3], "w": [3.0, 1, 2]})
    assert [each.estimate for each in formula("y ~ x")(missing)] == pytest.approx([1.0])
    assert formula("w ~ y")(missing.drop(["x"]).drop_null()) != formula("w ~ y")(three)


def test_tables_are_counted():
    frame = people()
    rows = list(zip(frame["sex"].to_pylist(), frame["illness"].to_pylist(), frame["pay"].to_pylist(), strict=True))
    counts = Counter((sex, illness) for sex, illness, _ in rows)
    found = {each.name: each for each in table("count by sex, illness")(frame)}
    assert {name: each.estimate for name, each in found.items()} == {
        f"sex {sex}, illness {illness}": count for (sex, illness), count in counts.items()
    }
    shares = [each.estimate for each in table("share by sex")(frame)]
    assert sum(shares) == pytest.approx(1) and shares[0] == sum(sex == "f" for sex, _, _ in rows) / 600
    pays = [pay for sex, _, pay in rows if sex == "m"]
    mean = table("mean pay by sex")(frame)[1]
    assert mean.estimate == pytest.approx(np.mean(pays)) and mean.low < mean.estimate < mean.high
    assert (mean.high - mean.low) / 2 == pytest.approx(1.968 * np.std(pays, ddof=1) / sqrt(len(pays)), rel=1e-2)
    assert table("median pay by sex")(frame)[1].estimate == pytest.approx(np.median(pays))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("pay ~ ", "cannot be read; write for example"),
        ("many by sex", "the formula 'many by sex' cannot be read"),
        ("count by town", "reads a column 'town', which the release does not have; it has age, sex, illness, pay"),
        ("pay ~ town", "reads a column 'town'"),
        ("pay ~ log(sex) + log(low)", "reads a column 'low'"),
        ("SELECT 1 / 0 FROM nowhere", "nowhere"),
        (7, "is neither a function of a frame nor a text"),
    ],
)
def test_what_cannot_be_read_or_run_on_the_table_is_one_sentence(given, said):
    with pytest.raises(BadInputError) as caught:
        read_analysis(given).prepare(opened())
    assert said in str(caught.value) and "\n" not in str(caught.value).strip()


# -- findings ----------------------------------------------------------------------------------------------


def test_draws_are_combined_by_rubins_rules():
    draws = [[Finding("a", "x", e, e - w, e + w)] for e, w in ((1.0, 0.5), (2.0, 0.7), (3.0, 0.9))]
    [pooled] = combined(draws)
    within = (0.25 + 0.49 + 0.81) / 3
    half = sqrt(within + (1 + 1 / 3) * 1.0 * NormalDist().inv_cdf(0.975) ** 2)
    assert (pooled.estimate, pooled.low, pooled.high) == pytest.approx((2, 2 - half, 2 + half))
    assert combined([[Finding("a", "x", 1.0)], [Finding("a", "y", 1.0)]]) == []
    assert combined([[Finding("a", "x", 1.0)], [Finding("a", "x", 4.0)]]) == [Finding("a", "x", 2.5)]


USUAL = Analysis(formula=("y ~ x",))
EFFECT, NOTHING, COUNT = Finding("a", "x", 10, 8, 12), Finding("a", "x", 1, -3, 5), Finding("a", "x", 100)


@pytest.mark.parametrize(
    ("asked", "original", "released", "kept"),
    [
        (USUAL, EFFECT, Finding("a", "x", 11.9, 1, 22), True),  # within 20 %
        (USUAL, EFFECT, Finding("a", "x", 12.1, 1, 22), False),
        (USUAL, Finding("a", "x", 10, 1, 19), Finding("a", "x", 18, 9, 27), True),  # inside the interval
        (USUAL, EFFECT, Finding("a", "x", 10, -1, 21), False),  # no longer significant
        (USUAL, EFFECT, Finding("a", "x", -10, -12, -8), False),
        (USUAL, NOTHING, Finding("a", "x", -40, -90, 10), True),  # still nothing
        (USUAL, NOTHING, Finding("a", "x", 1, 0.5, 1.5), False),
        (USUAL, COUNT, Finding("a", "x", 120), True),
        (USUAL, COUNT, Finding("a", "x", 121), False),
        (USUAL, COUNT, None, False),
        (replace(USUAL, error=0.5), COUNT, Finding("a", "x", 149), True),
        (replace(USUAL, significance=False), EFFECT, Finding("a", "x", 10, -1, 21), True),
        (replace(USUAL, overlap=0.5), EFFECT, Finding("a", "x", 10, 9.9, 10.1), True),
        (replace(USUAL, overlap=0.6), EFFECT, Finding("a", "x", 10, 9.9, 10.1), False),  # (1/20 + 1) / 2
    ],
)
def test_a_conclusion_is_kept_by_the_rule(asked, original, released, kept):
    [judged] = outcomes([original], [] if released is None else [released], asked.rule, {})
    assert (judged.lost_by == "") == kept
    assert analysis_measures([judged])["conclusions_kept"] == kept


def test_the_ranking_counts_pairs_and_can_be_asked_for():
    original = [Finding("a", name, value) for name, value in (("x", 10), ("y", 11), ("z", 30))]
    released = [Finding("a", name, value) for name, value in (("x", 11), ("y", 10), ("z", 30))]
    usual = outcomes(original, released, USUAL.rule, {})
    assert analysis_measures(usual)["analysis_ranking"] == pytest.approx(2 / 3) and not any(e.lost_by for e in usual)
    strict = outcomes(original, released, replace(USUAL, ranking=True).rule, {})
    assert [bool(each.lost_by) for each in strict] == [True, True, False]


def test_overlap_and_error_are_their_definitions():
    one, other = Finding("a", "x", 4, 2, 6), Finding("a", "x", 5, 4, 12)
    assert Conclusion(one, other, "").overlap == pytest.approx((Fraction(2, 4) + Fraction(2, 8)) / 2)
    assert Conclusion(one, other, "").error == 0.25 and Conclusion(one, None, "").error == 1
    assert Conclusion(Finding("a", "x", 0.0), Finding("a", "x", 0.0), "").error == 0
    assert Conclusion(one, Finding("a", "x", 9, 8, 10), "").overlap == 0


# -- readings ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["generalization", "bucketization"])
def test_counts_by_expectation_are_those_of_all_leaves(form):
    release = sfumato.anonymize(small_table(), "k-anonymity k=12", "mondrian", form=form)
    rows = plain.listed(release)
    towns, illnesses = release.cells.quasi[2].hierarchy.leaves, release.cells.sensitive[0].hierarchy.leaves
    expected: Counter[str] = Counter()
    for (*_, town, illness), mass in rows.items():
        expected[f"town {towns[town]}, illness {illnesses[illness]}"] += mass
    frames = Frames(small_table())
    found = frames.expected_counts(release, ["town", "illness"])
    assert found == pytest.approx({name: mass for name, mass in expected.items() if mass > 0})
    draws = [table("count by town, illness")(frames.drawn(release, np.random.default_rng(i))) for i in range(300)]
    means = Counter()
    for draw in draws:
        means.update({each.name: each.estimate / 300 for each in draw})
    assert all(abs(means[name] - count) < 5 * sqrt(max(count, 1) / 300) for name, count in found.items())
    assert frames.expected_counts(release, ["age"]) is None, "numbers are drawn"
    bare = anonymizer("without-sensitive").anonymize(small_table(), KAnonymity(1))
    assert frames.expected_counts(bare, ["illness"]) is None, "what is not shown is not counted"


def test_a_drawn_record_lies_in_its_box_with_the_neutral_values_of_the_file():
    source = opened()
    release = sfumato.anonymize(source, "k-anonymity k=25", "mondrian")
    drawn = Frames(source).drawn(release, np.random.default_rng(1))
    original = people()
    assert drawn.column_names == original.column_names and drawn.num_rows == original.num_rows
    for name in ("pay", "illness"):
        pairs = zip(original[name].to_pylist(), original["sex"].to_pylist(), strict=True)
        assert Counter(drawn[name].to_pylist()) == Counter(value for value, _ in pairs)
    ends = {(int(lo), int(hi)) for lo, hi in zip(release.boxes.lo[:, 0], release.boxes.hi[:, 0], strict=True)}
    ages = Counter(drawn["age"].to_pylist())
    assert all(any(lo <= age - 20 <= hi for lo, hi in ends) for age in ages) and all(age == int(age) for age in ages)
    same = Frames(source).drawn(release, np.random.default_rng(1))
    assert same.equals(drawn) and not drawn.equals(Frames(source).drawn(release, np.random.default_rng(2)))


def test_suppressed_records_and_hidden_values_are_missing_and_intervals_are_drawn_inside():
    hierarchies = {"age": numeric(20, 59), "pay": numeric(0, 2000, resolution=100, continuous=True)}
    source = read(people(), quasi=["age", "sex"], sensitive=["pay"], hierarchies=hierarchies)
    release = sfumato.anonymize(source, "k-anonymity k=20", "full-domain", suppress=0.2)
    frames = Frames(source)
    drawn = frames.drawn(release, np.random.default_rng(0))
    assert drawn.num_rows == 600 - release.suppressed
    assert not frames.is_exact(anonymizer("original").anonymize(source, KAnonymity(1))), "pay is published in hundreds"
    pays = np.array(drawn["pay"].to_pylist())
    assert ((pays >= 0) & (pays <= 2000)).all() and len(np.unique(pays % 100)) > 50
    bare = anonymizer("without-sensitive").anonymize(source, KAnonymity(1))
    assert frames.drawn(bare, np.random.default_rng(0))["pay"].null_count == 600


def test_the_original_is_exact_and_keeps_everything():
    source = opened()
    prepared = read_analysis(["pay ~ age + sex", "count by sex, illness", "mean age by illness"]).prepare(source)
    values, picture = prepared.compared(anonymizer("original").anonymize(source, KAnonymity(1)))
    assert values == pytest.approx({**dict.fromkeys(ANALYSIS, 1.0), "analysis_error": 0.0})
    assert "exactly" in picture["reading"]
    assert prepared.frames.original.schema.field("age").type == pa.float64()


def test_dates_and_missing_values_are_read():
    days = [f"2020-01-{1 + i % 20:02}" for i in range(60)]
    frame = pa.table({"day": days, "sex": [None, "f", "m"] * 20, "x": [float(i % 20) for i in range(60)]})
    source = read(frame, quasi=["day", "sex"], neutral=["x"])
    frames = Frames(source)
    assert frames.original.schema.field("day").type == pa.date32()
    assert [each.estimate for each in formula("x ~ day")(frames.original)] == pytest.approx([1.0])
    original = anonymizer("original").anonymize(source, KAnonymity(1))
    drawn = frames.drawn(original, np.random.default_rng(0))
    assert sorted(map(str, drawn.to_pylist())) == sorted(map(str, frames.original.to_pylist()))
    assert [each.name for each in table("count by sex")(drawn)] == ["sex None", "sex f", "sex m"]


# -- the user's code ---------------------------------------------------------------------------------------


def judged(given, source=None, **options):
    source = source or opened()
    prepared = replace(read_analysis(given), **options).prepare(source)
    return prepared.compared(sfumato.anonymize(source, "k-anonymity k=40", "mondrian"))


FACTOR = 3


def helper(frame):
    return FACTOR * len(frame)


def test_functions_run_with_the_names_that_they_use():
    offset = 7

    def own(frame):
        return {"n": helper(frame) + offset, "mean": (float(np.mean(frame["pay"])), 0.0, 2e6)}

    prepared = read_analysis(own).prepare(opened())
    assert (prepared.original[0].name, prepared.original[0].estimate) == ("n", 1807)
    assert prepared.original[1].has_interval and prepared.original[0].analysis == "own"
    assert read_analysis(own).prepare(opened()).digest == prepared.digest
    assert read_analysis(lambda frame: 1.0).prepare(opened()).digest != prepared.digest
    with Path(os.devnull).open() as lock, pytest.raises(BadInputError, match="write it into a file"):
        read_analysis(lambda frame: lock.fileno()).prepare(opened())


def test_every_result_that_names_numbers_is_read():
    import pandas as pd

    def named(make):
        return [(each.name, each.estimate) for each in read_analysis(make).prepare(opened()).original]

    assert named(lambda frame: frame.groupby("sex")["pay"].count())[0][0] == "f"
    assert named(
        lambda frame: pd.DataFrame({"of": ["a"], "estimate": [2.0], "low": [1.0], "high": [3.0], "n": [9]})
    ) == [("of a, n 9", 2.0)]
    assert named(lambda frame: 5) == [("result", 5.0)]
    assert named("SELECT sex, count(*) AS n FROM data GROUP BY sex ORDER BY sex")[1][0] == "sex m"
    for bad in ("text", (1, 2)):
        with pytest.raises(BadInputError, match="fails on the original"):
            read_analysis(lambda frame, bad=bad: bad).prepare(opened())


def test_a_query_reads_the_table_alone(tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with pytest.raises(BadInputError, match="fails on the original"):
        read_analysis(f"SELECT a FROM '{tmp_path}/secret.csv'").prepare(opened())


def test_a_failure_on_a_release_is_a_sentence_and_loses_its_conclusions_only():
    def fragile(frame):
        assert abs(frame["age"].mean() - 39.8) < 0.5 and frame["age"].nunique() == 40 and "pay" in frame, "other ages"
        return {"mean": frame["pay"].mean()}

    source = opened()
    prepared = read_analysis([fragile, "mean pay by sex"]).prepare(source)
    records = record_release(source, Records.of(source.cells), people=True)  # perturbed records have no neutral columns
    values, picture = prepared.compared(records)
    lost = {each["analysis"]: each["lost_by"] for each in picture["conclusions"]}
    assert values["conclusions_kept"] == 0 and "fragile failed: AssertionError" in lost["fragile"]
    assert "reads a column 'pay', which the release does not have" in lost["mean pay by sex"]


def test_endless_code_and_code_that_ends_its_process_are_sentences():
    def endless(frame):
        while len(frame):
            pass

    def ending(frame):
        import os

        os._exit(3)

    for given, seconds, said in ((endless, 2, "longer than 2 seconds"), (ending, 60, "its process (exit code 3)")):
        with pytest.raises(BadInputError) as caught:
            replace(read_analysis(given), seconds=float(seconds)).prepare(opened())
        assert said in str(caught.value)


# -- studies, maps, questions ------------------------------------------------------------------------------


def test_a_study_has_an_analysis_and_keeps_it(folder):
    study = sfumato.read_study(str(folder / "study.toml"))
    assert study.scales.analysis.file == str(folder / "own.py") and study.scales.analysis.error == 0.2
    again = study_from_toml(study.to_toml(folder), str(folder / "again.toml"))
    assert again == study
    first = study.opened().key
    (folder / "own.py").write_text(OWN + "# changed\n")
    assert study.opened().key != first, "changed code is run again"
    with pytest.raises(BadInputError, match="unknown key 'formulas'"):
        study_from_toml(STUDY.replace("formula =", "formulas ="), str(folder / "study.toml"))
    with pytest.raises(BadInputError, match="has nothing to run"):
        study_from_toml(STUDY.partition("[analysis]")[0] + "[analysis]\n[[candidates]]\n", str(folder / "s.toml"))
    with pytest.raises(BadInputError, match="in memory"):
        study.with_analysis(helper).to_toml()
    plain_study = Study.from_toml(STUDY.partition("[analysis]")[0] + "[[candidates]]\n", str(folder / "s.toml"))
    with pytest.raises(BadInputError, match="no release of this map was analysed"):
        replace(plain_study, axes=("p_loss", "conclusions_kept"))


def test_the_command_line_explores_asks_and_records_the_purpose(folder):
    done = run("explore", "study.toml", "--out", "map", cwd=folder)
    assert done.returncode == 0, done.stderr
    points = json.loads((folder / "map/points.json").read_text())["points"]
    kept = {point["anonymizer"] + point["requirement"][-3:]: point["measures"]["conclusions_kept"] for point in points}
    assert kept["originalk=1"] == 1.0 and kept["mondriank=3"] == 1.0 > kept["without-quasik=1"]
    asked = run("ask", "map", "safest release that keeps analysis", cwd=folder)
    assert asked.returncode == 0, asked.stderr
    best = min(
        (p for p in points if p["measures"]["conclusions_kept"] == 1 and p["anonymizer"] != "original"),
        key=lambda p: p["measures"]["p_loss"],
    )
    assert best["id"] in asked.stdout
    purpose = (folder / "map/purpose.html").read_text()
    assert stat.S_IMODE((folder / "map/purpose.html").stat().st_mode) == 0o600
    assert (
        best["id"] in purpose.split("</header>")[0] and "sex m against f" in purpose and "nobody reads" not in purpose
    )
    assert "age" in purpose and "Digest of the code" in purpose
    assert "conclusions_kept" not in (folder / "map/report-public.html").read_text()
    both = run(
        "explore", "study.toml", "--out", "map", "--analysis", "mean age by illness", "--analysis", "own.py", cwd=folder
    )
    assert both.returncode == 0 and "mean age by illness" in (folder / "map/purpose.html").read_text()
    plain_study = STUDY.partition("[analysis]")[0] + STUDY[STUDY.index("[[candidates]]") :]
    (folder / "study.toml").write_text(plain_study)
    assert run("explore", "study.toml", "--out", "map", cwd=folder).returncode == 0
    assert not (folder / "map/purpose.html").exists(), "that of an earlier map is gone"
    refused = run("ask", "map", "the safest release that keeps the analysis", cwd=folder)
    assert refused.returncode == 2 and "no release of this map was analysed" in refused.stderr


def test_a_map_is_judged_and_the_safest_release_that_keeps_it_is_chosen(folder):
    text = STUDY.partition("[analysis]")[0] + STUDY[STUDY.index("[[candidates]]") :]
    text = text.replace('"without-quasi",', '"without-quasi", "mst epsilon=5",').replace(
        '"p_loss", "u_loss"', '"attack_accuracy", "query_error"'
    )
    map_ = sfumato.explore(Study.from_toml(text, str(folder / "study.toml")))
    shown = map_.judge(lambda frame: {"old": (frame["age"] > 40).mean()})
    assert shown.points[0].measures.keys() - map_.points[0].measures.keys() == {
        "conclusions_kept", "analysis_error", "analysis_signs"
    }  # fmt: skip
    assert not [point.reason for point in shown.points if point.status == "failed"]
    noisy = next(point for point in shown.points if point.is_noisy)
    assert 0 <= noisy.measures["conclusions_kept"] <= 1 and "analysis_error" in noisy.intervals
    again = map_.judge(lambda frame: {"old": (frame["age"] > 40).mean()})
    assert [p.measures for p in again.points] == [p.measures for p in shown.points], "draws have seeds"
    chosen = shown.choose(by="analysis").point
    kept = [p for p in shown.points if p.measures["conclusions_kept"] == 1 and p.candidate.anonymizer.is_release]
    assert chosen in kept
    alone = shown.choose(min={"conclusions_kept": 1}, prefer="attack_accuracy").point
    assert chosen.measures["k"] >= 11 or chosen == alone, "the most careful recipient first"
    with pytest.raises(NothingFitsError) as caught:
        coarse = replace(map_, points=tuple(p for p in map_.points if p.requirement != "k-anonymity k=3"))
        coarse.judge(Analysis(table=("count by age",), error=0)).choose(by="analysis")
    assert "none of the" in str(caught.value) and caught.value.nearest is not None
    assert str(caught.value.nearest.id) in str(caught.value).splitlines()[0]
    with pytest.raises(BadInputError, match="no release of this map was analysed"):
        map_.choose(by="analysis")
    with pytest.raises(BadInputError, match="no release of this map was analysed"):
        map_.ask("conclusions_kept within p_loss 0.5")


def test_the_workbench_runs_no_code_of_a_study(folder):
    from sfumato.workbench.errors import RefusedError
    from sfumato.workbench.trust import Trust

    study = sfumato.read_study(str(folder / "study.toml"))
    with pytest.raises(RefusedError, match="runs Python code"):
        Trust((str(folder),)).check(study)
    (folder / "own.py").unlink()
    Trust((str(folder),)).check(study.with_analysis("pay ~ age"))


def test_files_of_every_kind_are_read(tmp_path: Path):
    (tmp_path / "q.sql").write_text("SELECT sex, avg(pay) FROM data GROUP BY sex")
    (tmp_path / "a.toml").write_text('[analysis]\ntable = "count by sex"\noverlap = 0.5\n')
    assert read_analysis(str(tmp_path / "q.sql")).sql[0].startswith("SELECT sex")
    assert read_analysis(str(tmp_path / "a.toml")) == Analysis(table=("count by sex",), overlap=0.5)
    assert read_analysis(str(tmp_path / "own.py")).file == str(tmp_path / "own.py")
    several = read_analysis(["pay ~ age", "count by sex", "from data select count(*)", helper])
    assert (several.formula, several.table, len(several.sql), several.functions) == (
        ("pay ~ age",),
        ("count by sex",),
        1,
        (helper,),
    )
    fine = read(people(), quasi=["age", "sex"], hierarchies={"age": numeric(20, 59), "sex": flat(["f", "m"])})
    with pytest.raises(BadInputError, match=r"own\.py"):
        read_analysis(str(tmp_path / "own.py")).prepare(fine)
