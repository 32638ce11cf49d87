"""Resampling: measures on drawn tables, counted record by record; who is preferred; what is not at hand."""

import json
from math import log
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import sfumato
from points import point_of
from sfumato.cli import app
from sfumato.errors import StoppedError
from sfumato.measures import Scales
from sfumato.process.interrupts import Cancel
from sfumato.table import Assignment
from sfumato.tradeoff import Grid, Map, Study, read_map
from sfumato.tradeoff.choice.choice import choose
from sfumato.tradeoff.choice.robust import NEAR_EQUAL, Resampled
from sfumato.tradeoff.exploration.resampling import SEED, TableJudge, dealt

STUDY = """name = "clinic"
[table]
source = "t.csv"
quasi = ["age", "sex"]
sensitive = ["illness"]
[scales]
min_support = 0.2
reader = "uniform"
queries = "queries number=5"
[[candidates]]
anonymizers = ["mondrian ranges=tight"]
requirements = ["k-anonymity k=3", "k-anonymity k=8", "k-anonymity k=20"]
forms = ["generalization", "bucketization"]
"""


@pytest.fixture(scope="module")
def explored(tmp_path_factory):
    """Sixty made-up patients, explored; the folder of study, table and map."""
    folder = tmp_path_factory.mktemp("clinic")
    rows = [f"{20 + i % 30},{'fm'[i % 2]},{['flu', 'cold', 'none'][(i * i + i // 7) % 3]}" for i in range(60)]
    (folder / "t.csv").write_text("age,sex,illness\n" + "\n".join(rows) + "\n")
    (folder / "study.toml").write_text(STUDY)
    done = CliRunner().invoke(app, ["explore", str(folder / "study.toml"), "--out", str(folder / "map")])
    assert done.exit_code == 0, done.output
    return folder


def js(p, q):
    """The Jensen-Shannon divergence of two histograms, by its definition."""
    p, q = np.array(p) / sum(p), np.array(q) / sum(q)
    return sum(x * log(x / ((x + y) / 2)) / 2 for a, b in ((p, q), (q, p)) for x, y in zip(a, b, strict=True) if x > 0)


def test_measures_of_a_resample_are_those_of_its_records_one_by_one(explored):
    """Records are drawn as the seed says, put into the boxes of the release by comparing codes, and counted."""
    shown = read_map(explored / "map")
    point = next(p for p in shown.points if p.requirement == "k-anonymity k=8" and p.form == "generalization")
    told = TableJudge(shown, 3, workers=1).resampled([point], ("k", "p_loss", "u_loss"))
    table = shown.study.table.open()
    release, cells = point.candidate.anonymizer.anonymize(table, point.candidate.requirement), table.cells
    populations = Scales(min_support=0.2).prepare(table).populations
    assert populations.size > 1 and told.note == ""
    for number in range(3):
        counts = np.random.default_rng([SEED, number]).multinomial(60, cells.counts / 60)
        people = [(cells.codes[c], cells.values[c, 0]) for c in range(cells.size) for _ in range(counts[c])]
        assert len(people) == 60
        boxes = list(zip(release.boxes.lo, release.boxes.hi, strict=True))
        groups = [[v for codes, v in people if (lo <= codes).all() and (codes <= hi).all()] for lo, hi in boxes]
        tallies = [[group.count(s) for s in range(3)] for group in groups if group]
        everybody = [sum(column) for column in zip(*tallies, strict=True)]
        assert told.values[point.id]["k"][number] == min(map(sum, tallies))
        worst = max(js(everybody, tally) for tally in tallies)
        assert told.values[point.id]["p_loss"][number] == pytest.approx(worst, abs=1e-12)
        losses = []
        for low, high in zip(populations.lo, populations.hi, strict=True):
            true = [sum(v == s for c, v in people if (low <= c).all() and (c <= high).all()) for s in range(3)]
            guess = np.zeros(3)
            for (lo, hi), group in zip(boxes, groups, strict=True):
                shared = np.maximum(np.minimum(hi, high) - np.maximum(lo, low) + 1, 0)
                guess += np.prod(shared / (hi - lo + 1)) * np.array([group.count(s) for s in range(3)])
            losses.append(js(true, guess))
        assert told.values[point.id]["u_loss"][number] == pytest.approx(float(np.mean(losses)), abs=1e-9)


def test_the_result_does_not_hang_on_the_number_of_workers(explored):
    shown = read_map(explored / "map")
    points = [p for p in shown.points if not p.is_baseline][:4]
    one, three = (TableJudge(shown, 6, n).resampled(points, ("p_loss", "u_loss")) for n in (1, 3))
    assert one.values == three.values and set(one.values) == {point.id for point in points}
    assert len({*one.values[points[0].id]["p_loss"]}) > 1  # they are different tables
    stop = Cancel()
    stop.set()
    with pytest.raises(StoppedError):
        TableJudge(shown, 2, cancel=stop).resampled(points, ("p_loss",))


def test_records_are_dealt_to_the_groups_of_their_cell():
    """Cell 0 goes to one group, 1 is divided between two, of 2 half is suppressed."""
    entries = Assignment(np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1]), np.array([4, 3, 1, 5]))
    before, after = np.array([4, 4, 10]), np.array([7, 4000, 1000])
    count = dealt(SimpleNamespace(assignment=entries), before, after, np.random.default_rng(5))
    assert count[0] == 7 and count[1] + count[2] == 4000
    assert abs(count[1] - 3000) < 150 and abs(count[3] - 500) < 80


def test_choose_gives_the_intervals(explored):
    words = ["choose", str(explored / "map"), "--json", "--resamples"]
    said = json.loads(CliRunner().invoke(app, [*words, "20"]).stdout)
    told = said["resampled"]
    assert (told["resamples"], told["share"], told["note"]) == (20, 0.9, "")
    shown = read_map(explored / "map")
    point = shown[said["point"]["id"]]
    values = TableJudge(shown, 20).resampled([point], ("p_loss", "u_loss")).values[point.id]
    for name, ends in told["intervals"][said["point"]["id"]].items():
        middle = sorted(values[name])[1:-1]  # of 20 one is left out on either side
        assert ends == pytest.approx([middle[0], middle[-1]])
    assert json.loads(CliRunner().invoke(app, [*words, "0"]).stdout)["resampled"] is None
    printed = " ".join(CliRunner().invoke(app, ["choose", str(explored / "map"), "--resamples", "3"]).stdout.split())
    assert "How firm is it: - In 90 % of 3 resampled tables (as many records, drawn with replacement" in printed


def test_what_no_release_can_have_is_told_from_the_table_where_the_map_has_no_trivial_release(explored):
    """The study has no ends: its 60 records and their commonest illness are read from the table."""
    words = ["choose", str(explored / "map"), "--min", "l_frequency=9", "--min", "k=61"]
    told = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)["impossible"]
    illnesses = [line.split(",")[2] for line in (explored / "t.csv").read_text().split()[1:]]
    share = max(map(illnesses.count, illnesses)) / 60
    assert len(told) == 2 and f"{100 * share:.1f} % of the 60 records have the same value of 'illness'" in told[0]
    assert "the table has 60 records" in told[1]
    without = json.loads(CliRunner().invoke(app, [*words, "--json", "--resamples", "0"]).stdout)["impossible"]
    assert without == told[1:]


def test_where_the_table_is_gone_or_another_it_goes_on_without(explored):
    table = explored / "t.csv"
    content = table.read_text()
    try:
        table.write_text(content + "33,f,flu\n")
        changed = CliRunner().invoke(app, ["choose", str(explored / "map")])
        table.unlink()
        gone = CliRunner().invoke(app, ["choose", str(explored / "map")])
        told = json.loads(CliRunner().invoke(app, ["choose", str(explored / "map"), "--json"]).stdout)["resampled"]
    finally:
        table.write_text(content)
    assert changed.exit_code == gone.exit_code == 0
    assert "has changed since the map was made, so there is no interval." in " ".join(changed.stdout.split())
    assert "The table is not at hand, so there is no interval: " in " ".join(gone.stdout.split())
    assert told["intervals"] == {} and "t.csv" in told["note"]


# ---------------------------------------------------------------- who is preferred

ANY = Study(
    "any",
    sfumato.TableDeclaration("adult"),
    (Grid((sfumato.anonymizer("mondrian"),), (sfumato.requirement("k-anonymity k=1"),)),),
)


def near_map():
    """Two near-equal knees (advantages 0.60 and 0.595), two that are not (0.578, 0.5); ends at (0, 1) and (0.5, 0)."""
    places = {"first": (0.1, 0.2), "second": (0.05, 0.305), "third": (0.2, 0.1), "fourth": (0.02, 0.382)}
    makers = {"without-quasi": (0, 1), "original": (0.5, 0)}
    return Map(
        ANY,
        tuple(
            point_of(
                id, id if id in makers else "mondrian", "generalization", "k-anonymity k=2", {}, "measured", None,
                {"p_loss": x, "u_loss": y},
            )
            for id, (x, y) in {**places, **makers}.items()
        ),
    )  # fmt: skip


def judge(shifts):
    """Resamples that raise the p_loss of each point by these shifts."""

    def judged(points, measures):
        assert tuple(measures) == ("p_loss", "u_loss")
        values = {
            p.id: {
                "p_loss": tuple(p.measures["p_loss"] + s for s in shifts[p.id]),
                "u_loss": (p.measures["u_loss"],) * len(shifts[p.id]),
            }
            for p in points
        }
        return Resampled(2, 1, values)

    return SimpleNamespace(resampled=judged)


def test_of_near_equal_knees_the_one_that_loses_less_is_taken():
    shown = near_map()
    assert shown.choose().point.id == "first"
    firm = {"first": (0, 0.1), "second": (0, 0.01), "third": (-0.2, -0.2)}
    choice = choose(shown, by="knee", judge=judge(firm))
    assert choice.point.id == "second" and set(choice.resampled.values) == {"first", "second"}
    assert (
        "(0 % is the trivial release (without-quasi), 100 % the original (original)). But it loses less"
        in choice.why[0]
    )
    assert "its share of the risk is at least 57.5 percentage points, that of first 40.0." in choice.why[0]
    steady = choose(shown, by="knee", judge=judge({"first": (0, 0.01), "second": (0, 0.1)}))
    assert steady.point.id == "first" and steady.why == shown.choose().why
    best = choose(shown, prefer="u_loss", judge=judge(firm))  # what was asked for is not traded away
    assert best.point.id == "third" and set(best.resampled.values) == {"third"}
    assert NEAR_EQUAL < 0.1


def test_a_tighter_bound_moves_the_firm_knee_only_by_cutting_it_off():
    shown, firm = near_map(), {"first": (0, 0.1), "second": (0, 0.01), "third": (0, 0), "fourth": (-0.1, -0.1)}
    taken = [choose(shown, {"p_loss": most}, by="knee", judge=judge(firm)).point.id for most in (0.3, 0.15, 0.05)]
    assert taken == ["second", "second", "second"]
    others = [choose(shown, None, {"p_loss": least}, by="knee", judge=judge(firm)).point.id for least in (0.06, 0.15)]
    assert others == ["first", "third"]
