"""Dates such as 31.12.1999 are dates: read with the day first, published as ISO dates, covered by what is published."""

from __future__ import annotations

import csv
import datetime

import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.commands.app import app

pytestmark = pytest.mark.quick

runner = CliRunner()
DAYS = [datetime.date(1990, 1, 1) + datetime.timedelta(37 * i % 3000) for i in range(60)]


def write(path, texts):
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([["born", "ill"], *([text, "ab"[i % 2]] for i, text in enumerate(texts))])
    return path


@pytest.mark.parametrize("how", ["{0.day}.{0.month}.{0.year}", "{0:%d.%m.%Y}", "{0:%Y-%m-%d}"])
def test_however_written_the_release_is_the_same_and_covers(tmp_path, how):
    iso = write(tmp_path / "iso.csv", [day.isoformat() for day in DAYS])
    other = write(tmp_path / "other.csv", [how.format(day) for day in DAYS])
    files = []
    for table in (iso, other):
        to = table.with_suffix(".out.csv")
        words = ["--quasi", "born", "--sensitive", "ill"]
        made = runner.invoke(app, ["anonymize", str(table), *words, "--require", "k-anonymity k=4", "--to", str(to)])
        assert made.exit_code == 0 and "seems to hold" not in made.output, made.output
        found = sfumato.audit(to, ["born"], ["ill"], original=table)
        assert found.coverage is not None and found.coverage.holds and found["k"] >= 4
        files.append((to.read_text(), found["loss"]))
    assert files[0][0] == files[1][0]
    assert files[0][1] == pytest.approx(files[1][1])  # summed up in the order in which DuckDB's threads count
    assert ".." in files[0][0] and "1990-01-01.." in files[0][0]


def test_init_declares_them_as_dates(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.csv", [f"{day:%d.%m.%Y}" for day in DAYS])
    assert runner.invoke(app, ["init", "t.csv"]).exit_code == 0
    declared = sfumato.Study.from_toml((tmp_path / "study.toml").read_text(), "study.toml").table.hierarchy["born"]
    assert declared["type"] == "dates" and declared["first"] == datetime.date(1990, 1, 1)
    checked = runner.invoke(app, ["check", "study.toml"])
    assert checked.exit_code == 0, checked.output


def test_what_is_no_day_is_none_and_slashes_are_left_to_a_person(tmp_path):
    wrong = write(tmp_path / "w.csv", [f"{day:%d.%m.%Y}" for day in DAYS] + ["31.02.1999"])
    table = sfumato.read(wrong, quasi=["born"])
    assert table.hierarchies["born"].scale == "category"
    early = [day.replace(day=day.day % 12 + 1) for day in DAYS]
    slashes = write(tmp_path / "s.csv", [f"{day:%d/%m/%Y}" for day in early])
    table = sfumato.read(slashes, quasi=["born"])
    assert table.hierarchies["born"].scale == "category"
    assert any("05/06/1999" in notice and "--dates" in notice for notice in table.notices)
    with pytest.raises(sfumato.BadInputError, match=r"'31\.02\.1999' is not in the domain"):
        sfumato.read(wrong, quasi=["born"], hierarchies={"born": sfumato.dates("1990-01-01", "1999-12-31")})
