"""How far from the best possible an answer is: held against all releases of the kind, made by plain Python.

The plain twin shares nothing with the search: it cuts the lists of values in every way, deals records into groups,
leaves groups that are too small out, and works the loss out from its definition.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations, product, repeat
from types import SimpleNamespace

import pytest

from sfumato import Grid, Map, Question, anonymizer, explore, read_map, read_study, requirement, tune
from sfumato.report.answer_summary import bound_words
from sfumato.tradeoff.exploration.folder import point_values, read_point
from sfumato.tradeoff.question.best_possible import Decided, all_decided
from sfumato.tradeoff.question.question import read_question
from sfumato.tradeoff.search._enumeration import Enumeration
from sfumato.tradeoff.search.problems import Problem2, Problem4
from sfumato.tradeoff.study.search_plan import SearchPlan

AGES, TOWNS = tuple(range(1, 7)), ("a", "b", "c", "d")
NODES = [("a", "b", "c", "d"), ("a", "b", "c"), ("a", "b"), ("a",), ("b",), ("c",), ("d",)]


def people(records=70, seed=4):
    """Two people with an age and a town that few have: where they are suppressed, the ends of what is shown move."""
    draw = random.Random(seed)
    rows = [(draw.choice((1, 1, 2, 5, 5, 6)), draw.choice("bbbcccd"), draw.choice("pqr")) for _ in range(records)]
    return [*rows, (3, "a", "p"), (4, "a", "q")]


def cut_anywhere(values):
    """All ways to divide a list into stretches."""
    for size in range(len(values)):
        for places in combinations(range(1, len(values)), size):
            ends = [0, *places, len(values)]
            yield [values[a:b] for a, b in zip(ends, ends[1:], strict=False)]


def cut_along(nodes, values):
    """All ways to divide a list into nodes of a tree."""
    if not values:
        yield []
        return
    for node in (node for node in nodes if node[0] == values[0]):
        for rest in cut_along(nodes, values[len(node) :]):
            yield [node, *rest]


def plain_releases(rows, observed, sensitive=False):
    """Every release of cuts: k, l (or 0), the loss as a fraction, and how many records are left out."""
    for ages, towns in product(cut_anywhere(AGES), cut_along(NODES, TOWNS)):
        groups = Counter()
        values = {}
        for age, town, ill in rows:
            key = next(p for p in ages if age in p), next(p for p in towns if town in p)
            groups[key] += 1
            values.setdefault(key, Counter())[ill] += 1
        diversity = {key: Fraction(groups[key], max(values[key].values())) for key in groups}
        for k, least in product(set(groups.values()), set(diversity.values()) if sensitive else [0]):
            kept = [key for key in groups if groups[key] >= k and diversity[key] >= least]
            if kept:
                left = [row for row in rows if any(row[0] in a and row[1] in t for a, t in kept)]
                shown = {row[0] for row in left} if "age" in observed else AGES
                named = {row[1] for row in left} if "town" in observed else TOWNS
                lost = sum(groups[key] * mean_loss(*key, shown, named) for key in kept)
                out = len(rows) - sum(groups[key] for key in kept)
                size, diverse = min(groups[key] for key in kept), min(diversity[key] for key in kept)
                yield size, diverse, (lost + out) / Fraction(len(rows)), out


def mean_loss(ages, towns, shown, named):
    """The mean loss of both columns; where the domain was observed the ends are values that are shown."""
    return (loss(span(ages, AGES, shown), len(AGES)) + loss(span(towns, TOWNS, named), len(TOWNS))) / 2


def span(part, domain, shown):
    """How many leaves a part shows: the whole domain stays whole."""
    inside = part if len(part) == len(domain) else [value for value in part if value in shown]
    return domain.index(inside[-1]) - domain.index(inside[0]) + 1


def loss(leaves, of):
    return Fraction(0) if leaves == 1 else (Fraction(leaves, of) - Fraction(1, of)) / (1 - Fraction(1, of))


@pytest.fixture(scope="module", params=["", "age", "town"], ids=["declared", "ages observed", "towns observed"])
def known(request, tmp_path_factory):
    """A folder with a study whose ages are declared or observed, and all releases of its cuts."""
    folder, rows, observed = tmp_path_factory.mktemp("s"), people(), request.param
    (folder / "t.csv").write_text("\n".join(["age,town,ill", *(",".join(map(str, row)) for row in rows)]))
    (folder / "study.toml").write_text(
        'schema = 1\nname = "s"\naxes = ["k", "loss"]\n[table]\nsource = "t.csv"\nquasi = ["age", "town"]\n'
        'sensitive = ["ill"]\n[table.hierarchy]\n'
        f'age = {{type = "numeric", lower = 1, upper = 6, observed = {str(observed == "age").lower()}}}\n'
        f'town = {{type = "tree", observed = {str(observed == "town").lower()}, '
        'children = [["abc", ["ab", "a", "b"], "c"], "d"]}\n[search]\nbudget = "1s"\nlevels = ["age=0"]\n'
    )
    return folder, observed, list(plain_releases(rows, observed, sensitive=True))


def study_of(folder, **plan):
    """The study with another search; `age=0` lets ages be cut anywhere, not only between bands."""
    return replace(read_study(str(folder / "study.toml")), search=SearchPlan(levels=("age=0",), **plan))


def best_k(releases, most, share, least_l=0):
    """The largest k of all that fit; 0 where nothing does."""
    fits = [k for k, l, lost, out in releases if lost <= most + 1e-12 and out <= share * 72 + 1e-9 and l >= least_l]
    return max(fits, default=0)


LOSSES = [Fraction(n, 40) for n in range(0, 41, 3)]


@pytest.mark.parametrize("eta", [0.0, 0.05, 0.3])
def test_what_is_decided_of_all_cuts_is_what_plain_python_finds(known, eta):
    folder, observed, releases = known
    table = study_of(folder).table.open()
    search = Enumeration(table, Problem2(eta, minimize="loss"))
    assert search.decided == ()  # nothing was looked at yet
    search.run()
    shares = {each.share: each for each in search.decided}
    assert set(shares) == ({0.0} if observed == "town" else {0.0, eta})  # suppression may narrow what was observed
    for share, each in shares.items():
        assert each.vectors == 2**5 * 4 and "age anywhere, town along its hierarchy" in each.among
        for most in LOSSES:
            value = each.best(read_question(f"k within loss {float(most)}"))
            assert (value or 0) == best_k(releases, most, share)
            assert each.best(read_question(f"l_frequency within loss {float(most)}")) is None
        for k in (2, 5, 9, 30, 72):
            cheapest = min(lost for size, _, lost, out in releases if size >= k and out <= share * 72)
            assert each.best(read_question(f"loss within k {k}")) == pytest.approx(float(cheapest))


def test_narrowing_would_make_the_counted_bound_wrong(known):
    """Why nothing is said of suppression where nodes were observed: some release has more than was counted."""
    folder, observed, releases = known
    table = study_of(folder).table.open()
    search = Enumeration(table, Problem2(0.3, minimize="loss"))
    front = search.run()
    bounds = sorted({lost for _, _, lost, out in releases if out <= 0.3 * 72})[::3]
    counted = [max((p.values["k"] for p in front if p.values["loss"] <= most + 1e-9), default=0) for most in bounds]
    really = [best_k(releases, most, 0.3) for most in bounds]
    assert all(one <= other for one, other in zip(counted, really, strict=True))
    assert (counted != really) == (observed == "town")


def test_k_and_l_together_are_bounded_by_all_pairs(known):
    folder, _, releases = known
    search = Enumeration(study_of(folder).table.open(), Problem4(0.2, minimize="loss"))
    search.run()
    for each in search.decided:
        for most, l in product(LOSSES[::2], (1, 1.5, 2)):
            value = each.best(read_question(f"k within loss {float(most)} and l_frequency {l}"))
            assert (value or 0) >= best_k(releases, most, each.share, Fraction(l))  # l counts whole
            if l != 1.5:
                assert (value or 0) == best_k(releases, most, each.share, l)


def test_a_bound_on_the_better_values_and_endless_measures_prove_nothing():
    front = Decided(("p_loss", "delta"), ((0.1, 3.0), (0.3, 1.0)), 0.0, 9, "a anywhere")
    assert front.best(read_question("p_loss within delta 2")) == 0.3
    assert front.best(read_question("p_loss within k 2")) is None  # a release of infinite delta is on no frontier
    sizes = Decided(("k", "loss"), ((9.0, 0.3), (4.0, 0.1)), 0.0, 9, "a anywhere")
    assert (
        sizes.best(read_question("k within loss 0.2")) == 4 and sizes.best(read_question("k within loss 0.05")) is None
    )
    assert sizes.best(Question(("loss",), read_question("k within k <= 5").bounds)) == 0.1
    assert sizes.best(read_question("k within k <= 5 and loss 0.3")) == 9  # 5 of a release that is beaten may be there


def run(monkeypatch, capsys, *arguments):
    from sfumato.commands.app import main

    for draw in ("report_bytes", "picture_bytes"):
        monkeypatch.setattr(f"sfumato.report.folder.{draw}", lambda *arguments, **options: b"")
    monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code or 0, *capsys.readouterr()


def test_the_commands_say_it_and_the_folder_keeps_it(known, monkeypatch, capsys, tmp_path):
    folder, observed, releases = known

    def answered(eta, *question):
        wanted = ("--preset", f"dewri problem-2 eta={eta} minimize=loss", "--out", tmp_path / f"f{eta}")
        assert run(monkeypatch, capsys, "explore", folder / "study.toml", *wanted)[0] == 0
        code, out, _ = run(monkeypatch, capsys, "ask", tmp_path / f"f{eta}", *question, "--search", "60s")
        assert code == 0
        return out

    said = json.loads(answered(0, "k within loss 0.45 and suppressed 0", "--json"))
    assert said["answer"]["measures"]["k"] == said["bound"]["value"] == best_k(releases, Fraction(45, 100), 0) > 1
    assert said["bound"]["kind"] == "cuts" and said["bound"]["gap"] == 0 and "128 cut vectors" in said["bound"]["words"]
    freer = json.loads(answered(0.05, "k within loss 0.45 and suppressed 5%", "--json"))
    best = best_k(releases, Fraction(45, 100), 0.05)
    assert observed == "town" or (freer["answer"]["measures"]["k"] == best and freer["bound"]["gap"] == 0)
    lines = " ".join(answered(0.05, "k within loss 0.45", "--details").split())
    assert "How far from the best possible" in lines and "128 cut vectors (age anywhere, town along its" in lines
    # the same of a budget, and after another search in the same folder
    map_ = tune(study_of(folder, makers=("cut-vector",)), tries=6, cache=tmp_path / "cache.jsonl")
    assert {each.vectors for each in map_.decided} == {128}
    later = tune(study_of(folder, makers=("mondrian",)), tries=2, cache=tmp_path / "cache.jsonl")
    assert later.decided == map_.decided
    assert read_map(tmp_path / "f0").decided and map_.public().decided == ()
    nothing = Map(map_.study, map_.points, map_.about)
    assert nothing.ask("k within loss 0.45").bound is None
    assert all_decided(map_.decided, map_.decided) == map_.decided


def test_an_answer_beyond_all_cuts_is_said_to_be(known):
    folder, _, releases = known
    map_ = tune(study_of(folder), tries=40)
    for most in (0.2, 0.35, 0.5):
        question = f"k within loss {most} and suppressed 0"
        reply, cuts = map_.ask(question), best_k(releases, Fraction(most), 0)
        words = bound_words(reply, map_)
        if reply.answer is not None and reply.answer.measures["k"] > cuts:
            assert reply.bound is None and f"more k than {cuts} within" in words and "beyond what one kind" in words
        elif reply.answer is not None:
            assert reply.bound.value == cuts and reply.bound.gap == cuts - reply.answer.measures["k"]


@pytest.mark.parametrize("looks", [1, 4, 8, 12, 10**6])
def test_a_search_of_levels_that_was_stopped_still_bounds(known, monkeypatch, looks):
    """Branch and bound: no combination of levels is below what it says, however early it was stopped."""
    folder, _, _ = known
    clock = SimpleNamespace(monotonic=chain(repeat(0.0, looks), repeat(1e9)).__next__)
    monkeypatch.setattr("sfumato.anonymizers.full_domain.full_domain.time", clock)
    monkeypatch.setattr("sfumato.anonymizers.full_domain._search.time", clock)
    table = study_of(folder).table.open()
    grid = Grid((anonymizer("full-domain search=best-first seconds=1"),), (requirement("k-anonymity k=12"),))
    point = explore(replace(study_of(folder), grids=(grid,), search=None), table=table).points[0]
    decided = anonymizer("full-domain").lattice(table, requirement("k-anonymity k=12"))
    least = decided.values[decided.optimum]
    assert point.least is not None and point.least <= least + 1e-12 <= point.measures["loss"] + 2e-12
    assert looks < 100 or point.least == pytest.approx(least)
    bound = Map(study_of(folder), (point,)).ask("loss within k 12 and suppressed 0").bound
    if point.least > 0:
        assert bound.kind == "lattice" and bound.value == pytest.approx(point.least)
    kept = read_point(json.loads(json.dumps(point_values(replace(point, details={})))), point.candidate)
    assert kept.least == point.least
    forgotten = Map(study_of(folder), (replace(point, least=None),))
    assert forgotten.ask("loss within k 12 and suppressed 0").bound is None  # it does not stand for an exact search
