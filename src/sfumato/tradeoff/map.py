"""The map: the measured releases of one table, their frontier, and the exchange rates along it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import BadInputError
from sfumato.tradeoff.comparison import Verdicts, cost, non_dominated
from sfumato.tradeoff.limit import Limit, Scores, score, scores
from sfumato.tradeoff.question.answer import Choice, Reply, ask, choose
from sfumato.tradeoff.question.best_possible import Decided
from sfumato.tradeoff.question.question import Question, check_measure

if TYPE_CHECKING:
    from sfumato.release.content import NoisyRelease
    from sfumato.release.records import RecordRelease
    from sfumato.release.release import Release
    from sfumato.tradeoff.chart import Picture
    from sfumato.tradeoff.study.candidate import Candidate
    from sfumato.tradeoff.study.study import Study


@dataclass(frozen=True, repr=False)
class Point:
    """A candidate on the map, its status and its measures. The candidate prints the texts."""

    id: str
    candidate: Candidate
    status: str
    """measured, infeasible or failed."""

    reason: str | None = None
    measures: Mapping[str, float] = field(default_factory=dict)
    published: Mapping[str, float] = field(default_factory=dict)
    """Bounds on risks that follow from the published file and its promise alone (`measures.published_risks`)."""

    details: Mapping[str, Any] = field(default_factory=dict)
    """Details for the publisher: group sizes, worst groups, some records. Internal."""

    seconds: float = 0.0
    worth: Mapping[str, Any] | None = None
    """The comparison with the better trivial sanitization, if a column was learned: `measures.Worth` as values."""

    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The range of a measure: over the draws of a noisy release, or over workloads of queries."""

    changes: Mapping[str, str] = field(default_factory=dict)
    """A summary of the changes of each column (`release.changes`). Internal."""

    brought: Mapping[str, Any] | None = None
    """Of an external release: the claim, its verdict, further results. Internal."""

    refused: str = ""
    """Why it may not be published, if only the release itself shows it (`unpublishable_reason`). Internal."""

    least: float | None = None
    """If the search ended early: a lower bound for all releases of its kind with the same requirement. Internal."""

    by_sensitive: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The measures of each of several sensitive columns; `measures` has the worst of them. Internal."""

    @property
    def anonymizer(self) -> str:
        """The text form of the anonymizer."""
        return str(self.candidate.anonymizer)

    @property
    def requirement(self) -> str:
        """The text form of the requirement."""
        return str(self.candidate.requirement)

    @property
    def form(self) -> str:
        """The form of the release."""
        return self.candidate.form

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters of the candidate by name."""
        return self.candidate.parameters

    @property
    def words(self) -> str:
        """A sentence that describes the candidate, if its text form is not self-explanatory (`tradeoff.words`)."""
        return self.candidate.in_words

    @property
    def family(self) -> str:
        """Its family in the chart, if that is not its requirement."""
        return self.candidate.family

    @property
    def is_baseline(self) -> bool:
        """Whether this is one of the trivial releases or the original."""
        return bool(self.candidate.anonymizer.baseline)

    @property
    def is_grouped(self) -> bool:
        """Whether its release is truthful and has groups that satisfy a requirement."""
        return not self.candidate.anonymizer.shown_as

    @property
    def is_noisy(self) -> bool:
        """Whether its release is differentially private, without groups of people."""
        return self.candidate.anonymizer.noisy

    @property
    def is_changed(self) -> bool:
        """Whether its records represent people but have changed values."""
        maker = self.candidate.anonymizer
        untrue = self.brought is not None and not self.brought.get("truthful", True)
        return maker.people and not maker.noisy and (bool(maker.shown_as) or untrue)

    def __repr__(self) -> str:
        return f"<Point: {self.candidate.public.anonymizer}, {self.requirement}, {self.form}, {self.status}>"

    def has(self, measures: Sequence[str]) -> bool:
        """Return whether all these measures are known."""
        return self.status == "measured" and all(name in self.measures for name in measures)


@dataclass(frozen=True, repr=False)
class Map:
    """The points of a study. A notebook shows its public part: `public`, `chart`, `details`."""

    study: Study
    points: tuple[Point, ...]
    about: Mapping[str, Any] = field(default_factory=dict)
    """Facts of the data: records, digest, notices."""

    limit: Limit | None = None
    """The bound on p_loss and u_loss of truthful releases; None if unknown."""

    decided: tuple[Decided, ...] = ()
    """The frontiers of all cuts of a small space, if they were enumerated. Internal."""

    def __getitem__(self, id: str) -> Point:
        """Return a point by its id, or by its id on the public map."""
        from sfumato.tradeoff.public import public_ids  # it imports maps

        names = [point.id for point in self.points]
        names = names if id in names else public_ids(self)
        if id in names:
            return self.points[names.index(id)]
        raise BadInputError(f"there is no point {id!r} on this map; it has {len(self.points)} points")

    def frontier(self, *measures: str) -> list[Point]:
        """Return the nondominated points: no other is at least as good in all measures and better in one.

        The default is the study's axes. Ordered by the first measure, best first.
        """
        names = measures or self.study.axes
        for name in names:
            check_measure(name)
        if len(names) < 2:
            raise BadInputError("a frontier needs at least two measures")
        known = [point for point in self.points if point.has(names)]
        values = np.array([[cost(name, point.measures[name]) for name in names] for point in known])
        kept = non_dominated(values.reshape(len(known), len(names)))
        return [known[i] for i in sorted(kept, key=lambda i: (tuple(values[i]), known[i].id))]

    def score(self, points: Iterable[Point] | None = None, axes: Sequence[str] | None = None) -> float:
        """Return the area under the staircase frontier as a share of the maximum: `docs/concepts/limit.md`.

        The default is the study's axes. Lower is better; the trivial release always counts, the original never.
        """
        return score(self, points, axes)

    def scores(self, axes: Sequence[str] | None = None) -> Scores:
        """Return the scores of all releases, of each anonymizer and of the limit, with each anonymizer's intervals."""
        return scores(self, axes)

    def ask(self, question: Question | str) -> Reply:
        """Answer a question such as `k within loss 0.25` over all publishable releases: `docs/guides/choosing.md`."""
        return ask(self, question)

    def choose(
        self,
        *,
        max: Mapping[str, float] | None = None,
        min: Mapping[str, float] | None = None,
        prefer: str | None = None,
        by: str | None = None,
        recipient: str | None = None,
        axes: Sequence[str] | None = None,
        allow: Collection[str] = (),
    ) -> Choice:
        """Recommend a point with reasons: `docs/guides/choosing.md`. Raise InfeasibleError if no point is feasible.

        `by` is knee, ideal, best (by the measure `prefer`) or analysis (the least risk that keeps all conclusions of
        the user's analysis). Without arguments the point is the best one for the
        most careful recipient for which a useful release is fit. `allow=["exact"]` allows exact quasi-identifiers.
        """
        return choose(self, max, min, prefer, by, recipient, axes, allow)

    def judge(self, analysis: Any) -> Map:
        """Run an analysis on all releases and return the map with its measures: `docs/guides/analysis.md`.

        `analysis` is a function of a frame, a formula, a table, a query, the name of a file, or several of these.
        """
        from sfumato.tradeoff.exploration.explore import judged  # it imports maps

        return judged(self, analysis)

    def release(self, point: Point | str) -> Release | NoisyRelease | RecordRelease:
        """Make the release of a point again, in memory, from the unchanged table: `docs/start/python.md`.

        It refuses the same releases as `sfumato release`. A random maker draws again, so each call of a noisy release
        spends its epsilon.
        """
        from sfumato.tradeoff.exploration.explore import remade  # it imports maps

        return remade(self, self[point] if isinstance(point, str) else point)

    def add(self, given: Any, name: str | None = None, **declared: Any) -> Map:
        """Return the map with an external release added: `docs/guides/other-tools.md`.

        `given` is a path, a frame, a function from the table's frame to a frame, or the text of a maker
        (`brought file=...`). Its claim is verified: a requirement (`claim`), `epsilon` and `delta`, or nothing.
        `records` is "people" or "synthetic". `aligned` means that the rows are in the table's order; `id` names a
        column that identifies the person of each row. `missing`, `na`, `suppressed` and `seed` are options, too.
        """
        from sfumato.tradeoff.exploration.run import added  # it imports maps

        return added(self, given, {"label": name, **declared})

    @cached_property
    def baselines(self) -> tuple[Point, ...]:
        """The trivial releases and the original."""
        return tuple(point for point in self.points if point.is_baseline)

    @cached_property
    def verdicts(self) -> Verdicts | None:
        """The worth of the releases against the trivial sanitizations; None if no column was learned."""
        return Verdicts.of(self)

    def public(self) -> Map:
        """Return the part of this map that is safe to share: `docs/guides/public.md`."""
        from sfumato.tradeoff.public import public_map  # it imports maps

        return public_map(self)

    def details(self, point: Point | str) -> Mapping[str, Any]:
        """Return details of a release: groups and records. Internal; files do not contain them."""
        return (self[point] if isinstance(point, str) else point).details

    def chart(self, x: str | None = None, y: str | None = None, *, internal: bool = False) -> Picture:
        """Draw the public map, or with `internal` the full map."""
        from sfumato.tradeoff.chart import picture  # importing Altair is slow

        return picture(self if internal else self.public(), x, y)

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the public map as a picture for a notebook; it needs no network."""
        data, metadata = self.chart()._repr_mimebundle_(**options)
        return data | {"text/plain": repr(self)}, metadata

    def __repr__(self) -> str:
        states = [point.status for point in self.points]
        counts = ", ".join(f"{states.count(state):,} {state}" for state in dict.fromkeys(states))
        return f"<Map {self.study.name}: {counts or 'no points'}>"
