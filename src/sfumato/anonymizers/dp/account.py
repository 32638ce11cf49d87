"""The privacy account of a draw: every question to the records is entered before it is answered; none is overdrawn.

If a table has a person column, `contribution` = m is public, and the promise is about persons: neighbouring tables D
and D' differ by all records of one person u. The draw is M(S(D)): S keeps of every person at most m records, uniformly
without replacement; M is a mechanism that is differentially private for one record more or less. The account runs M
with epsilon / m, or with rho / m^2, and lists what a part costs a person.

Proof. (1) Coupling: what S keeps of a person depends on that person's records and on independent chance alone. So the
records that S keeps of all others have the same distribution in D and in D'; let them be the same records. Then S(D)
and S(D') differ by the at most m records kept of u. (2) Group privacy: at most m - 1 tables lie between them, each
with one record more than the last. With pure differential privacy each step costs a factor e^(epsilon / m), together
e^epsilon. With zCDP, m steps of rho / m^2 cost m^2 (rho / m^2) = rho (Bun & Steinke 2016, proposition 1.9). The third
step: the mean over the coupling keeps the bound: a likelihood ratio of two means of paired terms is at most the
largest ratio of a pair, and Renyi divergences are jointly quasi-convex (van Erven & Harremoes 2014, theorem 13). The
pair (epsilon, delta) is computed once from the rho of the person, never per record, which would cost a factor of m
e^((m
- 1) epsilon).

M is one black box here, whatever it asks. Parallel composition over the boxes of a level, with which a tree is proved,
would fail for persons: a person's records may lie in m boxes, each of whose counts changes. It is used for one record,
which lies in one box, and step (2) pays for the other boxes. The same holds for medians (m choices may move), for
PrivTree (m paths), and for the stopping rules and variances of MST and AIM, which see the amount of a record only.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from sfumato.data.cells import weighted_counts
from sfumato.data.persons import PersonPairs
from sfumato.release.content import Budget, Guarantee, Spent, rounded_down
from sfumato.runtime.arrays import Counts
from sfumato.texts.catalogue import t


class Account:
    """The purposes of a budget, in exact arithmetic, at the cost for one record."""

    def __init__(self, budget: Budget) -> None:
        self.budget, self.amount = budget, rounded_down(Fraction(budget.amount) / budget.factor)
        """The whole budget, or the part of it that remains for one record of a person."""
        self.spent: list[Spent] = []

    @property
    def left(self) -> Fraction:
        """The remaining budget, in the unit in which the budget is kept."""
        return Fraction(self.amount) - sum(Fraction(part.amount) for part in self.spent)

    def spend(self, what: str, level: int, amount: float) -> None:
        """Pay for a question."""
        if not amount > 0 or Fraction(amount) > self.left:
            raise AssertionError(t("refusal.level_exceed_budget", what=what, level=level, amount=amount))
        self.spent.append(Spent(what, level, amount))

    def guarantee(self, public: tuple[str, ...]) -> Guarantee:
        """Return what is promised of a release made of nothing but the answers that were paid for."""
        most, factor = self.budget.contribution, self.budget.factor
        costs = [rounded_down(Fraction(part.amount) * factor) for part in self.spent]
        spent = tuple(replace(part, amount=cost) for part, cost in zip(self.spent, costs, strict=True))
        return Guarantee(
            self.budget, spent, t(f"privacy.neighbours_{'persons' if most else 'records'}", most=most), public
        )


def sampled_counts(persons: PersonPairs, most: int, generator: np.random.Generator) -> Counts:
    """Keep at most so many records of every person, uniformly without replacement; count those of every cell."""
    many = persons.records[persons.person] > most
    kept = np.where(many, 0, persons.count).astype(np.int64)
    shuffled = generator.permutation(np.repeat(np.flatnonzero(many), persons.count[many]))
    shuffled = shuffled[np.argsort(persons.person[shuffled], kind="stable")]
    whose = persons.person[shuffled]
    first = np.arange(len(whose)) - np.searchsorted(whose, whose) < most
    kept += np.bincount(shuffled[first], minlength=len(kept))
    return weighted_counts(persons.cell, kept, persons.cells)
