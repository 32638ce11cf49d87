"""All measures by name, as `measures.toml` declares them, and risks that follow from a published file.

Measures of items are counted within groups where records have attributes, too: whoever looks for a person knows the
quasi-identifiers.

The risks follow from a published file and from what was promised beforehand, so they are safe to publish. `a_know`
compares groups with Q, the distribution of the whole table, suppressed records included; whoever has the file could
solve it for the suppressed values. Here the distribution is that of the file, F. Let at most the share a of all records
be suppressed. Then Q = (1 - s) F + s R for some s <= a and some distribution R of the suppressed values. Half L1 is
convex in Q, so the measure against Q is at most (1 - a) x + a, where x is the one against F. That bound is returned:
no suppressed value enters it, and no risk is above it. Risks of the worst group are left out: a record that this
release publishes may be missing in another one, and moves its group as far as the group is small.

The declaration of a measure: name, risk or utility, direction, range, what it needs, and its meaning.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from math import inf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.release.release import Release
from sfumato.requirements._predicates import SIZE
from sfumato.requirements.requirement import Requirement


@dataclass(frozen=True)
class Measure:
    """The declaration of one number that describes a release."""

    name: str
    kind: Literal["risk", "utility"]
    better: Literal["lower", "higher"]
    meaning: str
    least: float = 0.0
    most: float = inf
    needs_sensitive: bool = True
    reads_noisy: bool = False
    """Whether it is defined for a noisy or synthetic release, which has boxes and counts but no groups of people."""

    said_of: Literal["table", "baskets", "items"] = "table"
    """The kind of release it is defined for: a table, sets of items, or a table with items, for which all are
    defined."""

    by_persons: bool = False
    """Whether it is a risk that is defined where persons, not records, are counted."""

    by_records: bool = True
    """Whether it is defined where records are counted."""

    function: Callable[[Any], float] | None = None
    """The function that computes it from a release; measures that share their work have none and are computed
    together."""

    @property
    def holds_of_persons(self) -> bool:
        """Whether it is defined where persons are counted: utility is that of records, risks are those of persons."""
        return self.by_persons or self.kind == "utility"

    def is_said_of(self, section: str) -> bool:
        """Return whether it is defined for a kind of study."""
        return section in (self.said_of, "items")


ESTIMATORS = {
    "half": "an item of a published set is in a record or not with probability 1/2",
    "expanded": "all items of a published set are in the record",
    "nonempty": "every non-empty part of a published set is equally likely",
    "uniform": "one item of a published set is in the record, each equally likely",
}
"""How a reader answers a query from a published set of items."""

DECLARED: dict[str, dict[str, Any]] = tomllib.loads(
    (files("sfumato.measures") / "measures.toml").read_text(encoding="utf-8")
)
MEASURES = {
    name: Measure(
        name,
        said["kind"],
        said["better"],
        said["meaning"],
        said.get("least", 0.0),
        said.get("most", inf),
        needs_sensitive=said.get("sensitive", True),
        reads_noisy=said.get("noisy", False),
        said_of=said.get("of", "table"),
        by_persons=bool(said.get("persons", False)),
        by_records=said.get("persons") != "only",
    )
    for name, said in DECLARED.items()
}
ATTACK_MEASURES = tuple(name for name, said in DECLARED.items() if said.get("part_of") == "attacks")
"""The measures that need attacks (`Scales.attacks`)."""

FIDELITY = tuple(name for name, said in DECLARED.items() if said.get("part_of") == "fidelity")
"""The measures of fidelity; all of them are defined for every kind of release."""

ANALYSIS = tuple(name for name, said in DECLARED.items() if said.get("part_of") == "analysis")
"""The measures of the user's own analysis (`Scales.analysis`)."""

MARGINALS = FIDELITY[:3]
"""The errors of one column, two and three."""

READ_NOISY = tuple(name for name, measure in MEASURES.items() if measure.reads_noisy)
"""The measures that noisy releases have too."""

RECONSTRUCTED = ("definetti_accuracy", "definetti_gain", "u_loss_em", "query_error_em")
"""The measures that need a reader who learns across groups (`Scales.reader`)."""

STRETCH = 1 << 16
"""Groups that are looked at together."""


def published_risks(release: Release, requirement: Requirement, suppress: float) -> dict[str, float]:
    """Bound the risks of a release by its promise, its file, and the share of records that may be suppressed."""
    sizes = [least for kind, least, _ in requirement.rules() if kind == SIZE]
    risks = {"k": max(sizes)} if sizes and release.form == "generalization" else {}
    if release.cells.persons is not None:  # the rest counts records
        return risks
    if release.histograms is not None and release.histograms.sensitive:
        positions = range(len(release.histograms.sensitive))
        worst = max(_mean_distance(release.histograms.of(position), release.sizes) for position in positions)
        risks["a_know"] = worst + suppress * (1 - worst)
    return risks


def _mean_distance(counts: NDArray[np.int64], sizes: NDArray[np.int64]) -> float:
    """Compare every group with the distribution of the file itself, by half L1; the mean over records."""
    q = counts.sum(axis=0) / counts.sum()
    mean = 0.0
    for start in range(0, len(sizes), STRETCH):
        part = slice(start, start + STRETCH)
        mean += float(np.abs(counts[part] / sizes[part, None] - q).sum(axis=1) @ sizes[part]) / 2
    return mean / float(sizes.sum())
