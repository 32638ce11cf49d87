"""Differential privacy for persons: what is kept of one, what that costs, and what nobody is told."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from command_line import run
from plain_persons import visits, write_rows
from sfumato import BadInputError, anonymizer
from sfumato.anonymizers.dp.account import sampled_counts
from sfumato.anonymizers.dp.noise import OpenDPNoise, UnsafeSeededNoise
from sfumato.anonymizers.dp.trees import DPPrivTree, DPQuadtree
from sfumato.data.persons import PersonPairs
from sfumato.release.content import Budget, rho_of
from test_dp import loss_of

AGES, ILLS = 4, ("flu", "cold", "gout")
DOMAINS = {"age": {"type": "numeric", "lower": 0, "upper": AGES - 1}, "ill": {"type": "flat", "values": list(ILLS)}}
MAKERS = (
    "dp-quadtree epsilon=1 height=2",
    "dp-kd-tree epsilon=2 height=2",
    "dp-privtree epsilon=6",
    "dp-grid epsilon=3",
    "mst epsilon=2",
    "mst epsilon=1 delta=1e-6",
    "aim epsilon=1 delta=1e-6",
)
visit = st.tuples(st.integers(0, AGES - 1), st.sampled_from(ILLS))
ALWAYS = {"a": [(0, "flu"), (1, "cold")]}
"""A person who is in every table, so that two sensitive values occur."""


def table_of(visits_of, **more):
    """Read the visits of persons, with declared domains."""
    rows = [(who, str(age), ill) for who, own in visits_of.items() for age, ill in own]
    columns = dict(zip(("who", "age", "ill"), map(list, zip(*rows, strict=True)), strict=True))
    roles = {"quasi": ["age"], "sensitive": ["ill"], "person": "who", "hierarchies": DOMAINS}
    return sfumato.read(pa.table(columns), **roles | more)


# -- what is kept of a person --------------------------------------------------------------------------------


def plain_samples(visits_of, most):
    """Return the exact distribution of what is kept: every choice of every person is as likely as any other."""
    outcomes = Counter({(): Fraction(1)})
    for own in visits_of:
        choices = list(itertools.combinations(own, min(most, len(own))))
        outcomes = sum(
            (Counter({(*kept, *choice): p / len(choices)}) for kept, p in outcomes.items() for choice in choices),
            Counter(),
        )
    found = Counter()
    for kept, p in outcomes.items():
        found[frozenset(Counter(kept).items())] += p
    return found


@pytest.mark.parametrize("visits_of", [[[0, 1, 1], [1]], [[0, 0, 1, 2]], [[0, 1], [0, 1]], [[2, 2, 2], [0]]])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_every_choice_of_at_most_m_records_of_a_person_is_equally_likely(visits_of, most):
    """All orders in which chance may put the records, against all choices in plain fractions."""
    pairs = [(cell, who, n) for who, own in enumerate(visits_of) for cell, n in sorted(Counter(own).items())]
    persons = PersonPairs(*np.array(pairs).T, 3)
    many = sum(len(own) for own in visits_of if len(own) > most)
    found = Counter()
    for order in itertools.permutations(range(many)):
        chance = SimpleNamespace(permutation=lambda records, order=order: records[list(order)])
        counts = sampled_counts(persons, most, chance)
        kept = frozenset((cell, int(n)) for cell, n in enumerate(counts) if n)
        found[kept] += Fraction(1, math.factorial(many))
    assert found == plain_samples(visits_of, most)


# -- the exact output distributions of two neighbours ----------------------------------------------------------


def likelihoods(samples, noisy, q):
    """Return the exact probability of noisy counts, but for a factor that all tables share: P(z) as q^|z|."""
    return sum(
        p * math.prod(q ** abs(z - dict(kept).get(cell, 0)) for cell, z in enumerate(noisy))
        for kept, p in samples.items()
    )


@pytest.mark.parametrize(
    ("others", "one", "most"),
    [([[0, 1]], [0, 1, 1], 2), ([[0, 0, 1], [1]], [1, 1, 1, 1], 2), ([[0, 1, 1]], [0], 1), ([[1]], [0, 0, 1], 3)],
)
def test_a_person_changes_no_probability_by_more_than_the_budget_of_a_person(others, one, most):
    """Noise of epsilon / m on what is kept: every ratio is within e^epsilon, and one of them is e^epsilon times."""
    q = Fraction(1, 2)  # e^-(epsilon / m): a record's
    with_one, without = plain_samples([*others, one], most), plain_samples(others, most)
    ratios = [
        likelihoods(with_one, noisy, q) / likelihoods(without, noisy, q)
        for noisy in itertools.product(range(-2, 9), repeat=2)
    ]
    assert all(q**most <= ratio <= q**-most for ratio in ratios)
    if len(set(one)) == 1:
        assert max(ratios) == q ** -min(most, len(one)), "all records of a person in one count: the bound is reached"
    for kept in plain_samples([one], most):  # others keep the same: whatever is kept of one is all that differs
        assert sum(n for _, n in kept) <= most


class InOrder(np.random.Generator):
    """Keeps the first records of every person: the same of all others, whoever else is in the table."""

    def permutation(self, records):
        return records


class Coupled(UnsafeSeededNoise):
    """Seeded noise, or the answers of another run; keeps what it was asked and what it answered."""

    def __init__(self, seed, earlier=None):
        super().__init__(seed)
        self.asked, self.earlier = [], earlier

    def generator(self):
        return InOrder(np.random.PCG64(0))

    def answer(self, question, make):
        answer = make() if self.earlier is None else self.earlier[len(self.asked)][-1]
        self.asked.append((*question, answer))
        return answer

    def add(self, counts, amount, unit="epsilon"):
        return self.answer(
            ("add", counts.copy(), amount, unit), lambda: UnsafeSeededNoise.add(self, counts, amount, unit)
        )

    def choose(self, scores, offsets, amount, unit="epsilon", sensitivity=1):
        question = "choose", (scores.copy() / sensitivity, offsets.copy()), amount, unit
        return self.answer(question, lambda: UnsafeSeededNoise.choose(self, scores, offsets, amount, unit, sensitivity))


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(MAKERS),
    st.lists(st.lists(visit, min_size=1, max_size=5), max_size=4),
    st.lists(visit, min_size=1, max_size=7),
    st.integers(1, 4),
    st.integers(0, 9),
)
def test_all_that_a_person_changes_is_paid_for_in_the_persons_budget(text, others, one, most, seed):
    """Replay the answers on the table without a person, others keeping the same records: the loss, exactly."""
    maker = anonymizer(f"{text} contribution={most}")
    here = ALWAYS | {f"o{number}": own for number, own in enumerate(others)}
    first = Coupled(seed)
    release = maker.draw(table_of(here | {"p": one}), first)
    second = Coupled(seed, first.asked)
    assert maker.draw(table_of(here), second).guarantee.spent == release.guarantee.spent
    loss = 0.0
    for (kind, exact, amount, unit, answer), (_, other, paid, *_) in zip(first.asked, second.asked, strict=True):
        assert amount == paid
        if unit == "epsilon":
            decided = isinstance(maker, DPPrivTree) and kind == "add" and exact.ndim == 1
            loss += loss_of((kind, exact, amount), other, answer, decided, most=most)
        else:  # Renyi divergence of Gaussian noise: rho times the square of the distance
            gaps = np.abs(exact - other) if kind == "add" else np.abs(exact[0] - other[0]).max(initial=0)
            loss += amount * float((gaps**2).sum())
    rho = rho_of(maker.epsilon, maker.delta) if release.guarantee.budget.unit == "rho" else maker.epsilon
    assert abs(loss) <= rho * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(MAKERS), st.integers(1, 1000), st.integers(0, 9))
def test_the_account_is_in_the_persons_currency_and_noise_in_a_records(text, most, seed):
    maker, noise = anonymizer(f"{text} contribution={most}"), Coupled(seed)
    promise = maker.draw(table_of(ALWAYS | {"b": [(2, "gout")] * 9}), noise).guarantee
    assert sum(Fraction(part.amount) for part in promise.spent) <= Fraction(promise.budget.amount)
    assert math.fsum(part.amount for part in promise.spent) == pytest.approx(promise.budget.amount, rel=1e-9)
    assert f"at most {most:,} record" in promise.neighbours and promise.neighbours.startswith("one person more or less")
    if "privtree" not in text:  # whose shape is paid for as a whole
        costs = [Fraction(amount) for _, _, amount, _, _ in noise.asked]
        factor = most**2 if promise.budget.unit == "rho" else most
        assert sum(costs) * factor <= Fraction(promise.budget.amount)
        assert [float(cost * factor) for cost in costs] == pytest.approx([part.amount for part in promise.spent])


def test_a_distinguisher_of_two_neighbours_stays_within_epsilon():
    """Sampled: the most telling event (the count of the one person's value), within five standard errors."""
    maker, draws = DPQuadtree(2.0, 1, counts="unbiased", contribution=3), 4000
    tables = table_of(ALWAYS | {"p": [(3, "gout")] * 8}), table_of(ALWAYS | {"b": [(0, "flu")]})
    noise, above = UnsafeSeededNoise(7), []
    for table in tables:
        counts = np.array([maker.draw(table, noise).drawn.sum(axis=0)[2] for _ in range(draws)])
        above.append([(counts >= threshold).sum() for threshold in range(-3, 8)])
    with_p, without = np.array(above)
    assert (with_p <= math.e**2 * without + 5 * np.sqrt(with_p + math.e**4 * np.maximum(without, 1))).all()
    assert max(with_p / np.maximum(without, 1)) > 2, "it is told apart as far as it may be"


# -- what nobody is told -----------------------------------------------------------------------------------------


class Deaf(OpenDPNoise):
    """Gives the same answers to whatever it is asked, as OpenDP might."""

    def __init__(self):
        self._generator = np.random.default_rng(5)

    def add(self, counts, *_):
        return self._generator.integers(0, 20, counts.shape)

    def choose(self, scores, offsets, *_):
        return np.diff(offsets) // 2


@pytest.mark.parametrize("text", MAKERS)
def test_how_many_records_were_not_counted_is_told_to_the_publisher_alone(text, tmp_path):
    """Public files of two tables are the same but for what was measured of them; the publisher's names the number."""
    maker, public = anonymizer(f"{text} contribution=2"), []
    for number, more in enumerate((3, 40)):
        release = maker.draw(table_of(ALWAYS | {"b": [(2, "gout")] * more}), Deaf()).made_by(
            maker, sfumato.KAnonymity(1)
        )
        path = tmp_path / f"{number}" / "out.csv"
        path.parent.mkdir()
        release.publish(path)
        own, shown = (path.with_name(f"out.csv.certificate{which}.json").read_text() for which in ("", "-public"))
        assert f"{more - 2} record" in own and "1 person of 2 not counted" in own
        made = json.loads(shown)
        assert "not counted" not in shown and "at most 2 records were counted" in shown
        public.append({key: value for key, value in made.items() if key not in ("files", "made")})
        # rows are drawn by chance from the same answers, so files differ, and nothing else
    assert public[0] == public[1]


def test_a_person_column_needs_a_contribution_and_the_other_way_round():
    table, alone = table_of(ALWAYS), table_of(ALWAYS, person=None)
    with pytest.raises(BadInputError, match=r"\(--person who\).+the most records of one person.+contribution=3"):
        sfumato.draw(table, "mst epsilon=1")
    with pytest.raises(BadInputError, match=r"name the column that says whose record it is \(--person COLUMN\)"):
        sfumato.draw(alone, "mst epsilon=1 contribution=3")
    for maker, read in (("mst epsilon=1", table), ("dp-grid epsilon=1 contribution=1", alone)):
        with pytest.raises(BadInputError, match="contribution"):  # nor without the check before
            anonymizer(maker).draw(read, UnsafeSeededNoise(1))


def test_the_choice_of_records_comes_from_a_seed_on_maps_only():
    table = table_of(ALWAYS | {f"p{n}": [(age, "flu") for age in range(AGES)] for n in range(40)})
    maker = DPQuadtree(1000.0, 2, contribution=1)
    kept = [maker.draw(table, UnsafeSeededNoise(seed)).counts.tolist() for seed in (1, 1, 2)]
    assert kept[0] == kept[1] != kept[2]
    assert not maker.draw(table, UnsafeSeededNoise(1)).publishable
    drawn = {tuple(maker.draw(table).counts.ravel().tolist()) for _ in range(3)}
    assert len(drawn) > 1 and maker.draw(table).publishable


def test_one_record_each_costs_what_it_cost_without_a_person_column():
    """With a contribution of 1 and one record per person, answers are those of the record-level mechanism."""
    rows = {f"p{n}": [(n % AGES, ILLS[n % 3])] for n in range(30)}
    for text in MAKERS:
        maker = anonymizer(text)
        runs = Coupled(3), Coupled(3)
        maker.draw(table_of(rows, person=None), runs[0])
        replace(maker, contribution=1).draw(table_of(rows), runs[1])
        assert [answer.tolist() for *_, answer in runs[0].asked] == [answer.tolist() for *_, answer in runs[1].asked]
    assert Budget(1.0, 1e-6, 7).factor == 49 and Budget(1.0, 0.0, 7).factor == 7


def test_from_the_visits_to_the_certified_file(tmp_path):
    write_rows(tmp_path / "visits.csv", visits(40, 6))
    domains = """[age]\ntype = "numeric"\nlower = 0\nupper = 99\n
[illness]\ntype = "flat"\nvalues = ["flu", "cold", "gout", "cough", "mumps"]\n"""
    (tmp_path / "domains.toml").write_text(domains)
    roles = [
        "--quasi",
        "age",
        "--sensitive",
        "illness",
        "--person",
        "patient",
        "--hierarchies",
        "domains.toml",
        "--to",
        "out.csv",
    ]
    refused = run("anonymize", "visits.csv", *roles, "--to", "out.csv", "--with", "mst epsilon=5", cwd=tmp_path)
    assert refused.returncode == 2 and "contribution=3" in refused.stderr
    ended = run(
        "anonymize",
        "visits.csv",
        *roles,
        "--to",
        "out.csv",
        "--with",
        "mst epsilon=5 delta=1e-6 contribution=3",
        cwd=tmp_path,
    )
    assert ended.returncode == 0, ended.stderr
    assert (
        "120 records of 40 persons of 40 not counted" in ended.stdout
        and "all records of a given person" in ended.stdout
    )
    audited = run("audit", "out.csv", "--certificate", "out.csv.certificate-public.json", cwd=tmp_path)
    assert "one person more or less, of whom at most 3 records are counted" in audited.stdout
    page = (tmp_path / "out.csv.certificate-public.html").read_text()
    assert "one person more or less" in page and "towards persons with few records" in page
    assert "One record is taken for one person" not in page and "differ by one record" not in page
