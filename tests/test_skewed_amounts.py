"""Automatic intervals of skewed amounts: none holds more than half of the records, and their ends are round."""

import math
import random
import tomllib
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from command_line import run
from points import point_of
from sfumato.data.hierarchies.automatic import automatic
from sfumato.data.hierarchies.declared import from_entry
from sfumato.data.hierarchies.written import entry_of
from sfumato.tradeoff.map import Map
from sfumato.tradeoff.question.best_possible import impossible
from sfumato.tradeoff.question.question import Bound
from sfumato.tradeoff.study.grids import Grid
from sfumato.tradeoff.study.study import Study
from strategies import tries


def costs(records=600, decimals=2, spread=2.0, seed=1):
    """Log-normal costs as texts."""
    draw = random.Random(seed)
    return [f"{math.exp(draw.gauss(6, spread)):.{decimals}f}" for _ in range(records)]


def largest_share(values, begins):
    """Count by hand which share of the numbers lies in the fullest interval, given where intervals begin."""
    counted = Counter(sum(float(value) >= begin for begin in begins) for value in values)
    return max(counted.values()) / len(values)


def is_round(number):
    """Say whether a number has at most two digits before its zeros."""
    digits = f"{float(number):.10f}".replace(".", "").strip("0")
    return len(digits) <= 2


@pytest.mark.parametrize("decimals", [0, 2])
def test_a_sensitive_cost_column_gets_intervals_of_as_many_records_with_round_ends(tmp_path, decimals):
    values = costs(decimals=decimals)
    rows = [f"{20 + place % 60},{value}" for place, value in enumerate(values)]
    (tmp_path / "t.csv").write_text("\n".join(["age,cost", *rows]) + "\n")
    ended = run("init", "t.csv", "--quasi", "age", "--sensitive", "cost", "--to", "study.toml", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    entry = tomllib.loads((tmp_path / "study.toml").read_text())["table"]["hierarchy"]["cost"]
    begins = [*entry["edges"], entry["open_above"]]
    assert 5 <= len(begins) <= 20
    assert largest_share(values, begins) < 0.5
    assert all(map(is_round, begins))
    study = sfumato.read_study(str(tmp_path / "study.toml"))
    release = sfumato.anonymize(study.table.open(), "k-anonymity k=5 & l-diversity l=2 variant=frequency")
    published = Counter(str(row["cost"]) for row in release.to_arrow().to_pylist())
    assert max(published.values()) / len(values) < 0.5


def test_an_equal_width_stays_where_no_interval_holds_most():
    draw = random.Random(2)
    values = [str(round(draw.gauss(45, 12))) for _ in range(400)]
    made = automatic("age", sorted(set(values)), [values.count(value) for value in sorted(set(values))])
    widths = {last - first for first, last in zip(made.levels[1].starts[1:-1], made.levels[1].starts[2:], strict=True)}
    assert len(widths) == 1


def test_levels_of_a_skewed_quasi_identifier_lie_at_quantiles():
    values = costs(decimals=0, spread=1.5)
    distinct = sorted(set(values), key=float)
    made = automatic("cost", distinct, [values.count(value) for value in distinct])
    for level in made.levels[1:-1]:
        begins = [made.firsts[start] for start in level.starts[1:]]
        assert largest_share(values, begins) < 0.5
        assert all(map(is_round, begins))
    assert from_entry(dict(entry_of(made)), lambda: ((), ())) == made


@tries(40)
@given(st.lists(st.integers(1, 400), min_size=2, max_size=12, unique=True), st.integers(-5, 10))
def test_edges_of_ones_own_are_the_leaves_and_are_written_back(edges, lower):
    edges = sorted(edge + lower for edge in edges)
    made = from_entry({"type": "numeric", "lower": lower, "upper": edges[-1], "edges": edges[:-1]}, lambda: ((), ()))
    bounds = [lower, *edges[:-1], edges[-1] + 1]
    assert made.size == len(bounds) - 1
    for value in range(lower, edges[-1] + 1):
        leaf = sum(value >= bound for bound in bounds) - 1
        assert made.encode([str(value)]).tolist() == [leaf]
    assert from_entry(dict(entry_of(made)), lambda: ((), ())) == made


@pytest.mark.parametrize("edges", [[5, 5], [0, 5], [5, 200]])
def test_edges_that_do_not_rise_within_the_bounds_are_refused(edges):
    with pytest.raises(sfumato.BadInputError, match="edges must rise"):
        from_entry({"type": "numeric", "lower": 0, "upper": 100, "edges": edges}, lambda: ((), ()))


def test_what_no_release_can_names_the_column_and_the_repair():
    declared = {"cost": {"type": "numeric", "lower": 0, "upper": 99, "resolution": 50, "observed": True}}
    table = sfumato.TableDeclaration("t.csv", ("age",), ("illness", "cost"), hierarchy=declared)
    study = Study("any", table, (Grid((sfumato.anonymizer("mondrian"),), (sfumato.requirement("k-anonymity k=1"),)),))
    measures = {"k": 100, "smallest_group": 100, "l_frequency": 100 / 76, "p_loss": 0.0, "u_loss": 0.1}
    trivial = point_of("none", "without-quasi", "generalization", "k-anonymity k=2", {}, "measured", None, measures)
    about = {"records": 100, "sensitive": ["illness", "cost"]}

    def said(illness, cost):
        shares = {"illness": {"l_frequency": 1 / illness}, "cost": {"l_frequency": 1 / cost}}
        return impossible(Map(study, (replace(trivial, by_sensitive=shares),), about), Bound("l_frequency", "min", 2))

    assert "76.0 % of the 100 records have the same value of 'cost'" in said(0.4, 0.76)
    assert "The intervals of 'cost' were made automatically: give it others in the study" in said(0.4, 0.76)
    assert "automatically" not in said(0.76, 0.4)
