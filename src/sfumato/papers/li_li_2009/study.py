"""The releases of Li & Li 2009 (figure 2), each made and measured once, and the errors of queries on them (figure 3).

The hierarchies are the bundled ones, the queries those of the Anatomy paper that Li & Li cite (`measures/queries`),
1,000 with an answer above zero. What the paper leaves open (sel and qd of figures 3b and 3c beyond the text) was fixed
here before results were looked at.
"""

from __future__ import annotations

from functools import cached_property

from sfumato.anonymizers import anonymize
from sfumato.measures import Queries, Scales
from sfumato.papers.results import Progress
from sfumato.release import FORMS, Release
from sfumato.table import load
from sfumato.tradeoff.limit.limit import Limit, limit
from sfumato.tradeoff.study.presets import LI_LI_2009

FAMILIES = {
    "k-anonymity": "k-anonymity k={}",
    "l-diversity": "l-diversity l={} variant=frequency",
    "t-closeness": "t-closeness t={} distance=js",
    "semantic privacy (absent ignored)": "delta-disclosure delta={} absent=ignore",
}
STRICT_DELTA = "semantic privacy (absent infinite)"
STRICT = "delta-disclosure delta={}"
T, L, K, DELTA = "t-closeness", "l-diversity", "k-anonymity", "semantic privacy (absent ignored)"
QUERIES = Queries(dimensions=4, selectivity=0.05, sanity=0)
SELECTIVITIES = (0.02, 0.05, 0.1, 0.2)
DIMENSIONS = (2, 3, 4, 5, 6)
Key = tuple[str, float, str]
"""A family of requirements, its parameter, the form."""


class LiLi2009:
    """The releases of the paper, measured once, and what can be said of them."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.table = load("adult")
        self.queries = QUERIES
        self.prepared = Scales(queries=self.queries).prepare(self.table)
        self.progress = progress or (lambda done, total, last: None)

    @cached_property
    def releases(self) -> dict[Key, Release]:
        """All releases: four requirements with eight parameters in two forms, delta also in the strict reading."""
        wanted: list[tuple[str, str, float, str]] = []
        for name, text in FAMILIES.items():
            for value in LI_LI_2009[text]:
                wanted += [(name, text, value, form) for form in FORMS]
        wanted += [(STRICT_DELTA, STRICT, value, "bucketization") for value in LI_LI_2009[FAMILIES[DELTA]]]
        made: dict[Key, Release] = {}
        for number, (name, text, value, form) in enumerate(wanted, start=1):
            made[name, value, form] = anonymize(self.table, text.format(value), "mondrian ranges=tight", form)  # type: ignore[arg-type]
            self.progress(number, 2 * len(wanted), f"{text.format(value)}, {form}")
        return made

    @cached_property
    def measures(self) -> dict[Key, dict[str, float]]:
        """The measures of all releases."""
        measures = {}
        for number, (key, release) in enumerate(self.releases.items(), start=1):
            measures[key] = dict(self.prepared.measure(release).values)
            self.progress(len(self.releases) + number, 2 * len(self.releases), f"{key[0]} {key[1]:g}, {key[2]}")
        return measures

    @cached_property
    def trivial(self) -> dict[str, float]:
        """The measures without quasi-identifiers."""
        return dict(self.prepared.measure(anonymize(self.table, "k-anonymity k=1", "without-quasi")).values)

    @cached_property
    def original(self) -> dict[str, float]:
        """The measures of the original."""
        return dict(self.prepared.measure(anonymize(self.table, "k-anonymity k=1", "original")).values)

    @cached_property
    def limit(self) -> Limit:
        """The line below which no truthful release of the table can lie, whatever its form."""
        line = limit(self.prepared)
        assert line is not None  # Adult has a sensitive attribute and large populations
        return line

    def curve(self, family: str, form: str, y: str) -> list[tuple[float, float, float]]:
        """Return (P_loss, y, parameter) of one family in one form, by rising P_loss."""
        points = [
            (measures["p_loss"], measures[y], value)
            for (name, value, shape), measures in self.measures.items()
            if name == family and shape == form
        ]
        return sorted(points)

    def errors(self, queries: Queries) -> dict[float, float]:
        """Return the mean error of a workload for the bucketized t-closeness releases, by t."""
        workload = queries.workload(self.table.cells, self.prepared.points, 0)
        errors = {}
        for (name, value, form), release in self.releases.items():
            if name == T and form == "bucketization":
                points = self.prepared.point_estimates(release)
                errors[value] = float(self.prepared.query_errors(release, queries, workload, points).mean())
        return errors

    def selected(self, queries: Queries) -> float:
        """Return the mean share of the records that the queries of a workload really select."""
        workload = queries.workload(self.table.cells, self.prepared.points, 0)
        return float(workload.answers.mean()) / self.table.cells.records

    @cached_property
    def by_selectivity(self) -> dict[float, dict[float, float]]:
        """Errors for figure 3b: by sel, then by t."""
        return {sel: self.errors(Queries(dimensions=4, selectivity=sel, sanity=0)) for sel in SELECTIVITIES}

    @cached_property
    def by_dimension(self) -> dict[int, dict[float, float]]:
        """Errors for figure 3c: by qd, then by t."""
        return {qd: self.errors(Queries(dimensions=qd, selectivity=0.05, sanity=0)) for qd in DIMENSIONS}
