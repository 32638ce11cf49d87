"""Ready-made candidates: every family of makers, on axes that are said of all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sfumato
from sfumato.errors import BadInputError
from sfumato.measures import READ_NOISY
from sfumato.tradeoff.study.presets import with_preset

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
    several = replace(study, table=replace(study.table, quasi=columns[1:], sensitive=("occupation", columns[0])))
    wanted = {str(one.requirement) for one in with_preset(several, "everything").candidates}
    assert any("on=occupation" in text and f"on={columns[0]}" in text for text in wanted)
    file = replace(study.table, source="people.csv", quasi=columns, sensitive=())
    nothing = with_preset(replace(study, table=file), "everything")
    assert not any(one.requirement.about_sensitive or one.form != "generalization" for one in nothing.candidates)


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(BadInputError, match="preset must be one of everything"):
        with_preset(adult(), "nothing")
