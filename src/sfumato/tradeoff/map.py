"""The map: many measured releases of one table, the frontier among them, and what it costs to move along it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import BadInputError
from sfumato.tradeoff.comparison import Disagreements, Verdicts, cost, non_dominated
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
    """One candidate on the map, what became of it, and its measures. Its texts are printed from the candidate."""

    id: str
    candidate: Candidate
    status: str
    """measured, infeasible or failed."""

    reason: str | None = None
    measures: Mapping[str, float] = field(default_factory=dict)
    published: Mapping[str, float] = field(default_factory=dict)
    """Bounds of risks that follow from the published file and its promise alone (`measures.published_risks`)."""

    details: Mapping[str, Any] = field(default_factory=dict)
    """What a person may want to see of the release: group sizes, worst groups, some records. Internal."""

    seconds: float = 0.0
    worth: Mapping[str, Any] | None = None
    """How it compares with the better trivial sanitization where a column was learned: `measures.Worth` as values."""

    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Between which values a measure lies: among the draws of a noisy release, or over workloads of queries."""

    changes: Mapping[str, str] = field(default_factory=dict)
    """What was done to each column, in a few words (`release.changes`). Internal."""

    brought: Mapping[str, Any] | None = None
    """Of what was made elsewhere: what is claimed, the verdict on it, what else was found. Internal."""

    refused: str = ""
    """Why it is no release to publish, where only the release itself shows that (`exposure`). Internal."""

    least: float | None = None
    """What no release of its kind that is required the same is below, where its search ended early. Internal."""

    by_sensitive: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The measures of each sensitive column, where there are several; `measures` has the worst of them. Internal."""

    @property
    def anonymizer(self) -> str:
        """Who makes the release, as one would type it."""
        return str(self.candidate.anonymizer)

    @property
    def requirement(self) -> str:
        """What the release satisfies, as one would type it."""
        return str(self.candidate.requirement)

    @property
    def form(self) -> str:
        """In which form it is published."""
        return self.candidate.form

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The numbers and choices of the candidate, by name."""
        return self.candidate.parameters

    @property
    def words(self) -> str:
        """How the release is made, in a sentence, where its texts do not say it to everybody (`tradeoff.words`)."""
        return self.candidate.in_words

    @property
    def family(self) -> str:
        """What it is drawn as, where that is not its requirement."""
        return self.candidate.family

    @property
    def is_baseline(self) -> bool:
        """Whether this is one of the trivial releases or the original."""
        return bool(self.candidate.anonymizer.baseline)

    @property
    def is_grouped(self) -> bool:
        """Whether its release puts people into groups that satisfy a requirement, and shows them truthfully."""
        return not self.candidate.anonymizer.shown_as

    @property
    def is_noisy(self) -> bool:
        """Whether its release is drawn with noise, differentially privately, so that it has no groups of people."""
        return self.candidate.anonymizer.noisy

    @property
    def is_changed(self) -> bool:
        """Whether its records stand for people and say other things of them than were recorded."""
        maker = self.candidate.anonymizer
        untrue = self.brought is not None and not self.brought.get("truthful", True)
        return maker.people and not maker.noisy and (bool(maker.shown_as) or untrue)

    def __repr__(self) -> str:
        return f"<Point: {self.candidate.public.anonymizer}, {self.requirement}, {self.form}, {self.status}>"

    def has(self, measures: Sequence[str]) -> bool:
        """Say whether all these measures are known."""
        return self.status == "measured" and all(name in self.measures for name in measures)


@dataclass(frozen=True, repr=False)
class Map:
    """The points of a study. A notebook shows of it what everybody may see: `public`, `chart`, `details`."""

    study: Study
    points: tuple[Point, ...]
    about: Mapping[str, Any] = field(default_factory=dict)
    """What is said of the data themselves: records, digest, notices."""

    limit: Limit | None = None
    """Below which no truthful release can lie on p_loss and u_loss; None where it is not known."""

    decided: tuple[Decided, ...] = ()
    """What all cuts of a small space were found to have, where they were looked at. Internal."""

    def __getitem__(self, id: str) -> Point:
        """Return a point by its id, or by the one it has on the public map."""
        from sfumato.tradeoff.public import public_ids  # it makes maps, so it cannot be imported before them

        names = [point.id for point in self.points]
        names = names if id in names else public_ids(self)
        if id in names:
            return self.points[names.index(id)]
        raise BadInputError(f"there is no point {id!r} on this map; it has {len(self.points)} points")

    def frontier(self, *measures: str) -> list[Point]:
        """Return the points that no other point beats: at least as good in all measures and better in one.

        Without measures it is that of the study's axes. Ordered by the first measure, the better end first.
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
        """Return the area under the staircase frontier as a share of the worst: `docs/concepts/limit.md`.

        Without axes it is that of the study's. Lower is better; the trivial release always counts, the original never.
        """
        return score(self, points, axes)

    def scores(self, axes: Sequence[str] | None = None) -> Scores:
        """Return the scores of all releases, of each anonymizer's and of the limit, with who gives which part."""
        return scores(self, axes)

    def ask(self, question: Question | str) -> Reply:
        """Answer a question such as `k within loss 0.25` over all that may be published: `docs/guides/choosing.md`."""
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
    ) -> Choice:
        """Recommend a point with reasons: `docs/guides/choosing.md` lists the ways. Raise InfeasibleError if none fits.

        `by` is knee, ideal or best (by the measure `prefer`); with bounds it is best, else the knee.
        """
        return choose(self, max, min, prefer, by, recipient, axes)

    def release(self, point: Point | str) -> Release | NoisyRelease | RecordRelease:
        """Make the release of a point again, in memory, from the table as it was measured: `docs/start/python.md`.

        What may not be published is refused as `sfumato release` does. A
        maker that draws at random draws afresh, so a noisy release costs its budget at every call.
        """
        from sfumato.tradeoff.exploration.explore import remade  # it makes maps, so it cannot be imported before them

        return remade(self, self[point] if isinstance(point, str) else point)

    def add(self, given: Any, name: str | None = None, **declared: Any) -> Map:
        """Return the map with a release that was made elsewhere: `docs/guides/other-tools.md`.

        `given` is the path of a file, a frame, a function that makes a frame of the table's frame, or the text of a
        maker (`brought file=...`). What is claimed for it is judged: a requirement (`claim`), `epsilon` and `delta`,
        or nothing. `records` says whether its rows stand for people or are synthetic; `aligned` that they stand in
        the table's order; `id` names a column that says for whom they stand. `missing`, `na`, `suppressed` and `seed`
        are options of its maker too.
        """
        from sfumato.tradeoff.exploration.run import added  # it makes maps, so it cannot be imported before them

        return added(self, given, {"label": name, **declared})

    @cached_property
    def baselines(self) -> tuple[Point, ...]:
        """The trivial releases and the original: the ends of every scale."""
        return tuple(point for point in self.points if point.is_baseline)

    @cached_property
    def verdicts(self) -> Verdicts | None:
        """What the releases are worth against the trivial sanitizations; None where no column was learned."""
        return Verdicts.of(self)

    @cached_property
    def disagreements(self) -> Disagreements | None:
        """Where the measures of a release do not say the same; None where there are too few releases to rank them."""
        return Disagreements.of(self)

    def merged(self, other: Map) -> Map:
        """Put this map and another of the same data and scales together."""
        from sfumato.tradeoff.exploration.folder import merged  # it makes maps, so it cannot be imported before them

        return merged(self, other)

    def public(self) -> Map:
        """Return what of this map is safe to share, and nothing else: `docs/guides/public.md` says what and why."""
        from sfumato.tradeoff.public import public_map  # it makes maps, so it cannot be imported before them

        return public_map(self)

    def details(self, point: Point | str) -> Mapping[str, Any]:
        """Return what a person may want to see of a release: groups and records. Internal; a file does not keep it."""
        return (self[point] if isinstance(point, str) else point).details

    def chart(self, x: str | None = None, y: str | None = None, *, internal: bool = False) -> Picture:
        """Draw the map as everybody may see it; with `internal` as it is, for the publisher's eyes."""
        from sfumato.tradeoff.chart import picture  # Altair is slow to import, and a map is seldom shown

        return picture(self if internal else self.public(), x, y)

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Show the public map as a picture in a notebook, which needs no network for it."""
        data, metadata = self.chart()._repr_mimebundle_(**options)
        return data | {"text/plain": repr(self)}, metadata

    def __repr__(self) -> str:
        states = [point.status for point in self.points]
        counts = ", ".join(f"{states.count(state):,} {state}" for state in dict.fromkeys(states))
        return f"<Map {self.study.name}: {counts or 'no points'}>"
