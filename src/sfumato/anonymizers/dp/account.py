"""The privacy account of a draw: every question to the records is entered before it is answered; none is overdrawn."""

from fractions import Fraction

from sfumato.release.content import Budget, Guarantee, Spent

NEIGHBOURS = "one record more or less (one record is one person; the number of records is not public)"


class Account:
    """What a budget was spent on, in exact arithmetic."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.spent: list[Spent] = []

    @property
    def left(self) -> Fraction:
        """What there is still to spend, in what the budget is kept in."""
        return Fraction(self.budget.amount) - sum(Fraction(part.amount) for part in self.spent)

    def spend(self, what: str, level: int, amount: float) -> None:
        """Pay for a question."""
        if not amount > 0 or Fraction(amount) > self.left:
            raise AssertionError(f"{what} at level {level} for {amount} would exceed the budget")
        self.spent.append(Spent(what, level, amount))

    def guarantee(self, public: tuple[str, ...]) -> Guarantee:
        """Return what is promised of a release made of nothing but the answers that were paid for."""
        return Guarantee(self.budget, tuple(self.spent), NEIGHBOURS, public)
