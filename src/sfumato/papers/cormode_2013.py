"""Cormode, Procopiuc, Shen, Srivastava & Yu, "Empirical Privacy and Empirical Utility of Anonymized Data", 2013.

Mondrian trees for k, l and t and private kd-trees are boxes with histograms alike, so one naive Bayes attack and one
workload of queries put them on one map. The paper's t is a rule to stop cutting (`mondrian stop=`), not t-closeness;
both are shown. Its Census table is not ours to ship: those panels are drawn on Adult with salary as sensitive
attribute. Grids, the height of the private trees and all seeds were fixed before any result was looked at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.anonymizers import Mechanism, UnsafeSeededNoise, anonymizer
from sfumato.measures import Attack, Measured, Prepared, Scales, UniformReader
from sfumato.measures.queries import HALF_RANGES
from sfumato.papers.results import Claim, Curve, Figure, Results
from sfumato.requirements import KAnonymity, requirement
from sfumato.table import Table, bundled, read

KS = tuple(2**power for power in range(1, 13))
LS = (1, 2, 3, 4, 5, 6, 7, 8)
TS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
EPSILONS = (0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10)
HEIGHT = 8
HEIGHTS = (2, 4, 6, 8, 10)
SHARES = (0.1, 0.25, 0.5, 1)
DRAWS = 8
SEED = 2013
WORKERS = os.cpu_count() or 1
K, L, T, T_STOP, DP, DP_UNBIASED = (
    "k-anonymity",
    "l-diversity",
    "t-closeness",
    "t as a rule to stop",
    "DP",
    "DP, unbiased",
)
FAMILIES: dict[str, tuple[str, str, Sequence[float]]] = {
    K: ("mondrian", "k-anonymity k={}", KS),
    L: ("mondrian", "l-diversity l={} variant=frequency", LS),
    T: ("mondrian", "k-anonymity k=8 & t-closeness t={} distance=equal", TS),
    T_STOP: ('mondrian stop="t-closeness t={} distance=equal"', "k-anonymity k=8", TS),
    DP: (f"dp-kd-tree epsilon={{}} height={HEIGHT}", "k-anonymity k=1", EPSILONS),
    DP_UNBIASED: (f"dp-kd-tree epsilon={{}} height={HEIGHT} counts=unbiased", "k-anonymity k=1", EPSILONS),
}
"""What is made: the anonymizer, the requirement, and the values of the one parameter that `{}` stands for."""

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Found:
    """What came out of one setting: medians over the draws where there are several, and the number of boxes."""

    parameter: float
    accuracy: float
    error: float
    boxes: int
    errors: tuple[float, float]
    """The smallest and the largest error of the draws."""


@dataclass(frozen=True)
class Panel:
    """A table of the paper: its name, and the roles of its columns."""

    name: str
    quasi: tuple[str, ...]
    sensitive: str

    def open(self, share: float = 1.0) -> Table:
        """Load the table, or a random share of its records."""
        frame: pa.Table = bundled.frame("adult-train")
        if share < 1:
            chosen = np.random.default_rng(SEED).permutation(len(frame))[: round(share * len(frame))]
            frame = frame.take(pa.array(np.sort(chosen)))
        return read(frame, quasi=self.quasi, sensitive=[self.sensitive], hierarchies=bundled.hierarchies("adult-train"))


ADULT = Panel("Adult", ("workclass", "education", "sex", "hours-per-week", "salary"), "occupation")
CENSUS = Panel("Adult for Census", ("age", "workclass", "education", "occupation"), "salary")


class Cormode2013:
    """The trees of the paper, measured once, and what can be said of them."""

    def __init__(
        self,
        progress: Progress | None = None,
        draws: int = DRAWS,
        families: Mapping[str, tuple[str, str, Sequence[float]]] = FAMILIES,
    ) -> None:
        self.progress = progress or (lambda done, total, last: None)
        self.draws, self.families = draws, families
        self.done = 0
        grid = sum(len(values) for _, _, values in families.values())
        self.steps = 2 * grid + 2 * len(HEIGHTS) + 2 * len(SHARES)

    @cached_property
    def panels(self) -> dict[str, dict[str, list[Found]]]:
        """Every family on both tables, by the name of the table."""
        return {panel.name: self._families(panel) for panel in (ADULT, CENSUS)}

    @cached_property
    def prepared(self) -> Prepared:
        """The scales of the Adult table."""
        return _prepared(ADULT)

    @cached_property
    def census(self) -> Prepared:
        """The scales of the table that stands for Census."""
        return _prepared(CENSUS)

    def _families(self, panel: Panel) -> dict[str, list[Found]]:
        prepared = self.prepared if panel == ADULT else self.census
        settings = [
            (name, value, maker.format(value), text.format(value))
            for name, (maker, text, values) in self.families.items()
            for value in values
        ]
        found: dict[str, list[Found]] = {name: [] for name in self.families}
        made = self._all(prepared, [(value, maker, text) for _, value, maker, text in settings])
        for (name, _, _, _), own in zip(settings, made, strict=True):
            found[name].append(own)
        return found

    def _all(self, prepared: Prepared, settings: Sequence[tuple[float, str, str]]) -> list[Found]:
        """Make and measure many settings by threads."""
        assert prepared.points is not None and prepared.truth is not None and prepared.workloads is not None

        found = []
        with ThreadPoolExecutor(WORKERS) as pool:
            made = pool.map(lambda setting: self.measured(prepared, *setting), settings)
            for (_, maker, text), own in zip(settings, made, strict=True):
                found.append(own)
                self.done += 1
                self.progress(self.done, self.steps, f"{maker}, {text}")
        return found

    def measured(self, prepared: Prepared, value: float, maker: str, text: str) -> Found:
        """Make one release, or several draws of a noisy one, and attack and query it."""
        chosen, wanted = anonymizer(maker), requirement(text)
        if isinstance(chosen, Mechanism):
            seeds = np.random.SeedSequence([SEED, round(1000 * value)]).generate_state(self.draws, np.uint64)
            releases: list[Any] = [chosen.draw(prepared.table, UnsafeSeededNoise(int(seed))) for seed in seeds]
        elif not wanted.admits(prepared.table.cells.baseline)[0]:  # the tree has no more than its root
            releases = [anonymizer("without-quasi").anonymize(prepared.table, KAnonymity(1))]
        else:
            releases = [chosen.anonymize(prepared.table, wanted)]
        answers = [_answers(prepared, release) for release in releases]
        accuracies, errors = zip(*answers, strict=True)
        ends = (float(min(errors)), float(max(errors)))
        boxes = len(releases[0].boxes.lo)
        return Found(value, float(np.median(accuracies)), float(np.median(errors)), boxes, ends)

    @cached_property
    def heights(self) -> dict[str, list[Found]]:
        """k = 8 and epsilon = 1 with trees of several heights, on the table that stands for Census."""
        settings = {
            K: ("mondrian height={}", "k-anonymity k=8"),
            DP: ("dp-kd-tree epsilon=1 height={}", "k-anonymity k=1"),
        }
        return {
            name: self._all(self.census, [(h, maker.format(h), text) for h in HEIGHTS])
            for name, (maker, text) in settings.items()
        }

    @cached_property
    def sizes(self) -> dict[str, list[Found]]:
        """k = 8 and epsilon = 1 on shares of Adult."""
        found: dict[str, list[Found]] = {K: [], DP: []}
        for share in SHARES:
            prepared = self.prepared if share == 1 else _prepared(ADULT, share)
            settings = [(share, "mondrian", "k-anonymity k=8"), (share, FAMILIES[DP][0].format(1), "k-anonymity k=1")]
            for name, own in zip(found, self._all(prepared, settings), strict=True):
                found[name].append(own)
        return found

    @property
    def adult(self) -> dict[str, list[Found]]:
        """Every family on Adult."""
        return self.panels[ADULT.name]

    @cached_property
    def root(self) -> Measured:
        """The release of the root alone."""
        return self.prepared.measure(anonymizer("without-quasi").anonymize(self.prepared.table, KAnonymity(1)))


def _prepared(panel: Panel, share: float = 1.0) -> Prepared:
    """Make the queries ready for a table, or for a share of it."""
    return Scales(queries=HALF_RANGES, reader=UniformReader()).prepare(panel.open(share))


def _answers(prepared: Prepared, release: Any) -> tuple[float, float]:
    """Return how often the attack is right, and the median error of the queries."""
    points = prepared.point_estimates(release)
    errors = prepared.query_errors(release, prepared.scales.queries, prepared.workloads[0], points)
    attacked = Attack().against(release, prepared.points, prepared.truth)
    return attacked.accuracy, float(np.median(errors))


# -- claims ------------------------------------------------------------------------------------------------


def reproduce(progress: Progress | None = None) -> Results:
    """Make and measure everything, and compare it with the paper."""
    study = Cormode2013(progress)
    claims = [*_required(study), *_reported(study)]
    return Results("cormode-2013", claims, list(_figures(study)))


def _rounded(found: Iterable[Found], of: str) -> dict[str, float]:
    return {f"{own.parameter:g}": round(getattr(own, of), 4) for own in found}


def _rises(values: Sequence[float], slack: float = 0.0) -> bool:
    """Say whether values rise, each by no less than minus a slack."""
    return all(b >= a - slack for a, b in pairwise(values))


def _required(study: Cormode2013) -> Iterator[Claim]:
    adult = study.adult
    root = study.root["attack_accuracy"]
    yield Claim(
        "root-accuracy",
        "attack on the root alone: always the commonest value (the paper: beta .2 over a rho of .11)",
        0.134,
        round(root, 4),
        abs(root - 0.134) <= 0.0005,
    )
    small = [own for own in adult[K] if own.parameter <= 8]
    yield Claim(
        "k-small",
        "accuracy of the attack above .30 for k <= 8",
        "> .308",
        _rounded(small, "accuracy"),
        all(own.accuracy > 0.30 for own in small),
    )
    accuracies = [own.accuracy for own in adult[K]]
    slope = float(np.polyfit(np.log2(KS[: len(accuracies)]), accuracies, 1)[0])
    ups = [f"{a.parameter:g} to {b.parameter:g}" for a, b in pairwise(adult[K]) if b.accuracy > a.accuracy]
    yield Claim(
        "falls-with-k",
        "the attack loses accuracy as k grows (a line through accuracy over log k falls, the last is below the first)",
        "falls",
        _rounded(adult[K], "accuracy"),
        slope < 0 and accuracies[-1] < accuracies[0],
        reason=f"not step by step: it rises from k = {', '.join(ups)}, where the tree has a few dozen boxes"
        if ups
        else None,
    )
    at_root = {own.parameter: own.boxes for own in adult[L] if own.parameter >= 6}
    yield Claim(
        "l-6-root",
        "from l = 6 on (frequency) the tree does not split beyond the root (boxes)",
        "root only",
        {f"{value:g}": boxes for value, boxes in at_root.items()},
        bool(at_root) and all(boxes == 1 for boxes in at_root.values()),
    )
    errors = {name: [own.error for own in adult[name]] for name in (K, L)}
    yield Claim(
        "error-grows-with-k-and-l",
        "the error of queries grows with k and with l (no step down of more than .02)",
        "grows",
        {name: _rounded(adult[name], "error") for name in (K, L)},
        all(_rises(own, 0.02) and own[-1] > own[0] for own in errors.values()),
    )
    yield from _epsilon_claims(study, root)


def _epsilon_claims(study: Cormode2013, root: float) -> Iterator[Claim]:
    by_epsilon = {own.parameter: own for own in study.adult[DP]}
    least = by_epsilon[0.01]
    yield Claim(
        "epsilon-.01",
        "epsilon = .01: median error above .5, accuracy at most the root's + .02",
        {"error": "about 1", "accuracy": "below the baseline"},
        {"error": round(least.error, 4), "accuracy": round(least.accuracy, 4)},
        least.error > 0.5 and least.accuracy <= root + 0.02,
    )
    own = study.adult[DP]
    yield Claim(
        "epsilon-monotone",
        "with epsilon the error falls and the attack's accuracy rises (medians; no step back of more than .01)",
        "monotone",
        {"error": _rounded(own, "error"), "accuracy": _rounded(own, "accuracy")},
        _rises([-each.error for each in own], 0.01) and _rises([each.accuracy for each in own], 0.01),
    )


def _reported(study: Cormode2013) -> Iterator[Claim]:
    adult = study.adult
    large = next(own for own in adult[K] if own.parameter == 1024)
    yield Claim(
        "k-1024",
        "accuracy at k = 1024 about .165 (beta .5)",
        0.165,
        round(large.accuracy, 4),
        abs(large.accuracy - 0.165) <= 0.02,
        "reported",
        "boxes of 1,024 records still part education and hours, which is what naive Bayes reads",
    )
    for name, title in ((T_STOP, "as a rule to stop"), (T, "as a requirement")):
        levels_off = _levels_off(adult[name])
        yield Claim(
            f"t-levels-off-{'stop' if name == T_STOP else 'required'}",
            f"t {title} has no effect beyond .35 (from which t on are accuracy and error those of t = .9)",
            0.35,
            levels_off,
            levels_off is not None and abs(levels_off - 0.35) <= 0.05,
            "reported",
            "the distances of small groups of Adult reach .8; the paper's distance and its k are not said in full",
        )
    yield from _orderings(study)
    yield _biased(study)
    yield from _sizes_and_heights(study)
    yield _classifiers(study)


def _levels_off(found: Sequence[Found]) -> float | None:
    """Find the first t from which on nothing changes any more."""
    last = found[-1]
    same = [abs(own.accuracy - last.accuracy) <= 0.002 and abs(own.error - last.error) <= 0.002 for own in found]
    return next((own.parameter for i, own in enumerate(found) if all(same[i:])), None)


def _best(found: Iterable[Found], most_error: float) -> float | None:
    """Return the least accuracy of the attack among the settings whose error is small enough."""
    return min((own.accuracy for own in found if own.error <= most_error), default=None)


def _orderings(study: Cormode2013) -> Iterator[Claim]:
    useful = {name: _best(own, 0.10) for name, own in study.adult.items() if name != DP_UNBIASED}
    known = {name: round(value, 4) for name, value in useful.items() if value is not None}
    syntactic = [value for name, value in known.items() if name != DP]
    yield Claim(
        "high-utility",
        "where the error must be below 10 %, t-closeness leaves the attack least (accuracy by model)",
        "t-closeness",
        known,
        bool(known) and min(known, key=known.__getitem__) in (T, T_STOP),
        "reported",
        "where a model is missing, no setting of it has so small an error",
    )
    yield Claim(
        "dp-no-better-at-high-utility",
        "differential privacy protects no better than the others where the error is in single digits",
        "same or worse",
        known,
        DP not in known or not syntactic or known[DP] >= min(syntactic) - 0.005,
        "reported",
    )
    private = {}
    rho = study.root["attack_accuracy"]
    for name, own in study.adult.items():
        errors = [each.error for each in own if each.accuracy / rho - 1 < 1]
        if errors and name != DP_UNBIASED:
            private[name] = round(min(errors), 4)
    yield Claim(
        "dp-at-high-privacy",
        "where the breach must be below 1, differential privacy has the least error (by model)",
        "DP",
        private,
        bool(private) and min(private, key=private.__getitem__) == DP,
        "reported",
        "cutting negative counts at 0 adds up to a large bias over many small boxes; see the unbiased counts",
    )


def _biased(study: Cormode2013) -> Claim:
    found = {name: _rounded(study.adult[name], "error") for name in (DP, DP_UNBIASED)}
    better = sum(b.error < a.error for a, b in zip(study.adult[DP], study.adult[DP_UNBIASED], strict=True))
    return Claim(
        "unbiased-counts",
        "cutting negative counts at 0, as the paper does, makes queries worse than leaving them (error by epsilon)",
        "not compared",
        found,
        better >= len(EPSILONS) / 2,
        "reported",
        f"so it is for the {better} smallest budgets; beyond, cutting takes noise away from empty boxes",
    )


def _sizes_and_heights(study: Cormode2013) -> Iterator[Claim]:
    sizes = {
        name: [[own.parameter, round(own.error, 4), round(own.accuracy, 4)] for own in found]
        for name, found in study.sizes.items()
    }
    first, last = study.sizes[DP][0], study.sizes[DP][-1]
    yield Claim(
        "data-size",
        "more data: better answers and a better attack (share of the data, error, accuracy)",
        "both grow",
        sizes,
        last.error < first.error and last.accuracy >= first.accuracy - 0.005,
        "reported",
    )
    k, dp = study.sizes[K][-1], study.sizes[DP][-1]
    yield Claim(
        "k-dominates-with-more-data",
        "with all data, epsilon = 1 is dominated by k = 8 (less privacy, more utility there)",
        "k-anonymity in front",
        {"k=8": [round(k.error, 4), round(k.accuracy, 4)], "epsilon=1": [round(dp.error, 4), round(dp.accuracy, 4)]},
        k.error < dp.error,
        "reported",
    )
    gaps = [abs(a.accuracy - b.accuracy) for a, b in zip(study.heights[K], study.heights[DP], strict=True)]
    yield Claim(
        "heights-alike",
        "k = 8 and epsilon = 1 trade alike over heights (largest gap of the attack's accuracy)",
        "almost the same",
        round(max(gaps), 4),
        max(gaps) <= 0.05,
        "reported",
    )
    by_epsilon = {own.parameter: own for own in study.adult[DP]}
    rho = study.root["attack_accuracy"]
    breaches = {f"{value:g}": round(by_epsilon[value].accuracy / rho - 1, 4) for value in (0.5, 1)}
    yield Claim(
        "epsilon-.5-and-1",
        "epsilon = 1 is not advisable, epsilon <= .5 suitable (breach below 1 at .5, not at 1)",
        "suitable, not advisable",
        breaches,
        breaches["0.5"] < 1 <= breaches["1"],
        "reported",
        "the breach depends on the height of the tree, which the paper does not print",
    )


def _classifiers(study: Cormode2013) -> Claim:
    release = anonymizer("mondrian").anonymize(study.prepared.table, KAnonymity(64))
    kinds = {
        "naive-bayes": Attack(),
        "pairs": Attack(kind="pairs"),
        "random-forest": Attack("random-forest", seed=SEED, draws=2),
    }
    found = {
        name: round(attack.against(release, study.prepared.points, study.prepared.truth).accuracy, 4)
        for name, attack in kinds.items()
    }
    return Claim(
        "classifiers-agree",
        "different classifiers attack alike, within low single digits of percent (k = 64)",
        "low single digits",
        found,
        max(found.values()) - min(found.values()) <= 0.05,
        "reported",
    )


# -- figures -----------------------------------------------------------------------------------------------


def _curve(label: str, found: Iterable[Found], x: str, y: str, line: bool = True) -> Curve:
    points = [{"x": getattr(own, x), "y": getattr(own, y), "parameter": own.parameter} for own in found]
    return Curve(label, points, line)


def _figures(study: Cormode2013) -> Iterator[Figure]:
    number = {"1": (K,), "2": (L,), "3": (T, T_STOP), "4": (DP, DP_UNBIASED)}
    title = "Cormode et al. 2013, figure"
    for figure, names in number.items():
        for part, y, what in (
            ("error", "error", "median relative error"),
            ("attack", "accuracy", "accuracy of the attack"),
        ):
            curves = [
                _curve(f"{panel}: {name}", found[name], "parameter", y)
                for panel, found in study.panels.items()
                for name in names
            ]
            axis = {"1": "k", "2": "l", "3": "t", "4": "epsilon"}[figure]
            yield Figure(
                f"{figure}-{part}",
                f"{title} {figure}: {what}",
                axis,
                what,
                curves,
                x_scale="log" if figure in "14" else "linear",
            )
    for letter, (panel, found) in zip("ab", study.panels.items(), strict=True):
        curves = [_curve(name, own, "error", "accuracy") for name, own in found.items() if name != DP_UNBIASED]
        yield Figure(
            f"5{letter}",
            f"{title} 5: {panel}",
            "median relative error",
            "accuracy of the attack",
            curves,
            x_scale="symlog",
        )
    for letter, what, found in (("a", "heights", study.heights), ("b", "shares of the data", study.sizes)):
        curves = [_curve(name, own, "error", "accuracy") for name, own in found.items()]
        yield Figure(
            f"6{letter}",
            f"{title} 6{letter}: {what}",
            "median relative error",
            "accuracy of the attack",
            curves,
            x_scale="symlog",
        )
