"""Ready-made candidates: every family of makers, on axes that are said of all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import sfumato
from sfumato.data.declaration import DataDeclaration
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import READ_NOISY
from sfumato.tradeoff.study.presets import left_out, with_preset

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

pytestmark = pytest.mark.quick


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
    said = left_out(study, "everything")
    assert said.startswith("left out of the preset: dp-privtree, dp-grid and dp-kd-tree, which count") and "job" in said
    assert left_out(adult(), "everything") == ""


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(BadInputError, match="preset must be one of everything"):
        with_preset(adult(), "nothing")
