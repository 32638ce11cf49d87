"""The verdict on a release in words: is it worth it against the trivial sanitizations, for the column that was learned?

One place for what the map, the report and the terminal say, so that they say the same. Brickell & Shmatikov (2008)
ask it: a release has to give a researcher more than the better trivial sanitization does, and what it gives is to be
held against what an adversary gains. Accuracies are shares; gains are differences of them, told in percentage points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sfumato.measures import Classification
from sfumato.measures.classification.worth import CONFIDENCE
from sfumato.phrases import counted, listed, percent
from sfumato.quiet import Quiet
from sfumato.tradeoff.map import Map, Point

VERDICTS = {
    "better": "beats both trivial sanitizations",
    "no better": "does not beat the better trivial sanitization",
    "not shown": "not shown to beat the better trivial sanitization: the interval of its gain contains zero",
}
SENTENCES = {
    "better": "It beats both trivial sanitizations",
    "no better": "It does not beat the better trivial sanitization",
    "not shown": "It is not shown to beat the better trivial sanitization",
}
INTERVAL = f"{100 * CONFIDENCE:g} % interval"
TRIVIAL = {
    "without-quasi": "without quasi-identifiers",
    "without-sensitive": "without sensitive values",
}
METHODS = {
    "decision-tree": "a decision tree",
    "naive-bayes": "naive Bayes",
    "random-forest": "a random forest",
    "gradient-boosting": "gradient boosting",
    "logistic-regression": "logistic regression",
}


@dataclass(frozen=True, repr=False)
class Verdicts(Quiet):
    """What the releases of a map are worth for the workload of its study."""

    shown: Map
    workload: Classification

    @staticmethod
    def of(shown: Map) -> Verdicts | None:
        """Return the verdicts of a map; None where no column was learned."""
        workload = shown.study.learned
        if workload is None or all(point.worth is None for point in shown.points):
            return None
        return Verdicts(shown, workload)

    @cached_property
    def known(self) -> list[Point]:
        """All points that were compared, trivial sanitizations and original included."""
        return [point for point in self.shown.points if point.worth is not None]

    @cached_property
    def releases(self) -> list[Point]:
        """The releases that were judged, the largest gain first."""
        found = [point for point in self.known if not point.is_baseline]
        return sorted(found, key=lambda point: (-worth_of(point)["gain"], point.id))

    @property
    def by_verdict(self) -> dict[str, list[str]]:
        """The ids of the judged releases by verdict."""
        return {verdict: [p.id for p in self.releases if worth_of(p)["verdict"] == verdict] for verdict in VERDICTS}

    @property
    def has_adversary(self) -> bool:
        """Whether there is a sensitive value for an adversary to guess."""
        return any("a_acc" in point.measures for point in self.known)

    # -- what was asked, and what there is to be had

    def question(self) -> str:
        """Say what was asked of every release."""
        own, records = self.workload, int(self.shown.about.get("records", 0))
        methods = [METHODS[name] for name in own.methods]
        best = "" if len(methods) == 1 else ", whichever was right more often"
        drawn = f"{own.sample:,} of the {records:,} records, drawn at random,"
        dealt = drawn if 0 < own.sample < records else "The records"
        taught = f"by {listed(methods)}{best}, taught with the other parts"
        shown = "" if own.test == "release" else ", shown as they are in the original table"
        return (
            f"How well can the column {own.target} be learned from each release? {dealt} were dealt into {own.folds} "
            f"parts (folds); {own.target} was guessed in each part{shown} {taught}. The same was done with the trivial "
            "sanitizations, which need no anonymizer: they leave out all quasi-identifiers, or all sensitive values."
        )

    def reach(self) -> str:
        """Say what the better trivial sanitization gives already, and what the original would give."""
        own = worth_of(self.known[0])
        base, original = own["base_accuracy"], own["original_accuracy"]
        if not self.shown.about.get("sensitive"):
            return (
                "No column is sensitive, so a table without sensitive values is the original table itself "
                f"({percent(original)} right): no release can be expected to beat it, and the verdicts only say "
                "whether learning suffers."
            )
        alone = self.workload.target in self.shown.about.get("sensitive", ())
        which = (
            f"trivial sanitization that still has {self.workload.target}" if alone else "better trivial sanitization"
        )
        left = (
            f"so there are about {unsigned(original - base)} percentage points to be gained by publishing more"
            if original > base
            else "so there is hardly anything to be gained by publishing more"
        )
        return (
            f"The {which}, {TRIVIAL[own['base']]}, already gives {percent(base)} right; the "
            f"original table gives {percent(original)}, {left}."
        )

    # -- the answer

    def tally(self) -> str:
        """Say how many releases beat both trivial sanitizations."""
        if not self.releases:
            return f"No release was compared with the trivial sanitizations at learning {self.workload.target}."
        many = {verdict: len(ids) for verdict, ids in self.by_verdict.items()}
        better, of = many["better"], counted(len(self.releases), "release")
        less, unclear = many["no better"], many["not shown"]
        rest = [f"{less:,} {'is' if less == 1 else 'are'} no better than one of them"] if less else []
        rest += [f"for {unclear:,} it is not shown, since the interval of the gain contains zero"] if unclear else []
        told = (
            f"{better:,} of {of} {'beats' if better == 1 else 'beat'}" if better else f"None of {of} is shown to beat"
        )
        told = f"All {of} beat" if better == len(self.releases) > 1 else told
        return f"{'; '.join([f'{told} both trivial sanitizations at learning {self.workload.target}', *rest])}."

    def best(self) -> str:
        """Say what the release with the largest gain gives, and what its adversary."""
        if not self.releases:
            return ""
        point = self.releases[0]
        own = worth_of(point)
        return (
            f"The largest gain is that of {point.id}: {percent(own['accuracy'])} right, {gain_words(own)}"
            f"{self._beside(own)}."
        )

    def by_chance(self) -> str:
        """Say how far a single interval can be trusted."""
        return (
            f"A {INTERVAL} compares a release with the better trivial sanitization fold by fold, and allows for folds "
            "that share records. Each holds for its own release: among "
            f"{2 / (1 - CONFIDENCE):.0f} releases that are no better, about one would seem better by chance."
        )

    def adversaries(self) -> str:
        """Say in how many releases the adversary gains more than the researcher."""
        if not self.has_adversary or not self.releases:
            return ""
        more = sum(worth_of(point)["adversary"] > worth_of(point)["gain"] for point in self.releases)
        gains = [worth_of(point)["adversary"] for point in self.releases]
        low, high = unsigned(min(gains)), unsigned(max(gains))
        span = f"{low} percentage points" if low == high else f"{low} to {high} percentage points"
        sensitive = listed(self.shown.about.get("sensitive", ()))
        text = (
            f"An adversary who knows somebody's quasi-identifiers guesses {sensitive} right by {span} more often "
            f"than from the table's totals alone (a_acc). {_share(more, len(gains))} that is more than the researcher "
            "gains."
        )
        if self.workload.target in self.shown.about.get("sensitive", ()):
            text += f" {self.workload.target} is itself sensitive: what is learned of it here, an adversary learns too."
        return text

    def sentence(self, point: Point) -> str:
        """Say what one point is worth; nothing where the column cannot be learned from it."""
        if point.worth is None:
            return ""
        own, target = point.worth, self.workload.target
        right = f"{percent(own['accuracy'])} right"
        if point.anonymizer == "original":
            return f"The original table is no release; learning {target} from it gives {right}."
        if point.anonymizer == own["base"]:
            return f"It is itself a trivial sanitization, the better one at learning {target}: {right}."
        if point.is_baseline:
            better = f"the better one, {TRIVIAL[own['base']]}, gives {percent(own['base_accuracy'])}"
            return f"It is itself a trivial sanitization: learning {target} from it gives {right}; {better}."
        return f"{SENTENCES[own['verdict']]} at learning {target}: {right}, {gain_words(own)}{self._beside(own)}."

    def marks(self) -> str:
        """Say what the marks of the map mean; nothing where no release is marked."""
        crossed, struck = (bool(self.by_verdict[verdict]) for verdict in ("no better", "not shown"))
        beat = f"beat the better trivial sanitization at learning {self.workload.target}"
        if crossed:
            other = "; a single stroke marks one that is not shown to" if struck else ""
            return f"A cross marks a release that does not {beat}{other}."
        return f"A stroke marks a release that is not shown to {beat}." if struck else ""

    def _beside(self, own: Mapping[str, Any]) -> str:
        if not self.has_adversary:
            return ""
        more = "more" if own["adversary"] > own["gain"] else "no more"
        return f"; an adversary gains {unsigned(own['adversary'])} percentage points, {more} than the researcher"


def _share(some: int, of: int) -> str:
    """Say in how many of the releases something holds.

    >>> _share(2, 5), _share(5, 5), _share(0, 5)
    ('In 2 of 5 releases', 'In all 5 releases', 'In none of 5 releases')
    """
    many = counted(of, "release")
    if some == of:
        return f"In {'the only' if of == 1 else 'all'} {many.removeprefix('1 ')}"
    return f"In {some:,} of {many}" if some else f"In none of {many}"


def worth_of(point: Point) -> Mapping[str, Any]:
    """Return the worth of a point that has one."""
    assert point.worth is not None
    return point.worth


def mark_of(point: Point) -> str:
    """Name the mark of a point on the map: its verdict, where it is a release that is not the better for it."""
    if point.is_baseline or point.worth is None or point.worth["verdict"] == "better":
        return ""
    return str(point.worth["verdict"])


def gain_words(own: Mapping[str, Any]) -> str:
    """Write a gain with its interval."""
    gain, low, high = (signed(own[name]) for name in ("gain", "low", "high"))
    zero = ", which contains zero" if own["verdict"] == "not shown" else ""
    return f"{gain} percentage points ({INTERVAL} {low} to {high}{zero})"


def signed(difference: float) -> str:
    """Write a difference of accuracies in percentage points with its sign; what is not zero never reads as zero.

    >>> signed(0.0235), signed(-0.00012), signed(0.0)
    ('+2.4', '-0.01', '0')
    """
    value = 100 * difference
    if abs(value) < 1e-9:
        return "0"
    return f"{value:+.1f}" if abs(value) >= 0.05 else f"{value:+.1g}"


def unsigned(difference: float) -> str:
    """Write a difference of accuracies in percentage points, with a sign only where it is negative."""
    return signed(difference).removeprefix("+")
