"""What a reproduction says: claims of the paper with our number beside theirs, and the figures as series.

A claim holds or differs over some range (`tested_over`: which parameters, which stretch of an axis). Where no release
is in the range, it is not tested (`holds` is None), which for a required claim is as bad as not holding: a curve that
never gets there cannot confirm anything. `all_of` judges many comparisons that way. Where the paper has no value to
compare with (`paper` is None), ours is shown and nothing is claimed.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from sfumato.config.documents import json_text

Progress = Callable[[int, int, str], None]
"""Told after every step: how many are done, of how many, and which was the last."""


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, what it says there, what comes out here."""

    id: str
    claim: str
    paper: Any
    ours: Any
    holds: bool | None
    """None: not tested, since nothing is in the range that the claim speaks of, or there is nothing to compare with."""

    status: str = "required"
    """required: the reproduction fails without it; reported: told with our number and the likely reason."""

    reason: str | None = None
    tested_over: str | None = None
    """The range over which the claim was tested, where it is not the whole of what the claim names."""

    def __post_init__(self) -> None:
        if self.paper is None and (self.holds is not None or self.status == "required"):
            raise ValueError(f"{self.id}: without a value of the paper a number is shown, it holds nothing")

    @property
    def verdict(self) -> Literal["holds", "differs", "not tested", "shown"]:
        """What came of it, in a word."""
        if self.paper is None:
            return "shown"
        return "not tested" if self.holds is None else "holds" if self.holds else "differs"

    def content(self) -> dict[str, Any]:
        """Return what stands in `results.json`."""
        return {**asdict(self), "verdict": self.verdict}


class ClaimRows:
    """The table of a paper's claims: makes a claim of a row, our value, and whether it holds.

    A row of the TOML file beside a module is an id with the fields of a claim that do not depend on what comes out.
    """

    def __init__(self, module: str) -> None:
        text = (files("sfumato.papers") / f"{module.rpartition('.')[2]}.toml").read_text(encoding="utf-8")
        self.rows: dict[str, dict[str, Any]] = tomllib.loads(text)

    def paper(self, id: str) -> Any:
        """Return what the paper says."""
        return self.rows[id]["paper"]

    def __call__(self, id: str, ours: Any, holds: bool | Callable[[Any], bool | None] | None, **more: Any) -> Claim:
        """Make a claim; whether it holds may be a function of the paper's value."""
        fields = {"paper": None, **self.rows[id], **more}
        return Claim(id=id, ours=ours, holds=holds(fields["paper"]) if callable(holds) else holds, **fields)


def all_of(comparisons: Iterable[bool | None]) -> bool | None:
    """Say whether all comparisons hold: no where one does not, None where one was not tested or there are none."""
    answers = list(comparisons)
    if False in answers:
        return False
    return None if not answers or None in answers else True


@dataclass(frozen=True)
class FigureLine:
    """One line of a figure: a label and its points (x, y, and the parameter that made them)."""

    label: str
    points: Sequence[Mapping[str, Any]]
    line: bool = True
    """Whether a line joins the points."""

    marks: bool = True
    """Whether each point is marked; a line that is no series of releases is dashed and has no marks."""

    opacity: float = 1.0
    """How little of what lies below a mark shines through."""


@dataclass(frozen=True)
class Inset:
    """A small plot inside a figure: the curve of one of its points."""

    curve: FigureLine
    point: Mapping[str, Any]
    """The point (x, y) of the figure that it tells about; a line leads there."""

    place: tuple[float, float]
    """Where its lower left corner is, as shares of the figure's width and height."""

    x: str
    y: str


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, drawn with our points."""

    name: str
    title: str
    x: str
    y: str
    curves: Sequence[FigureLine]
    paper: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    """Points that the paper's text names, drawn as crosses."""

    x_scale: Literal["linear", "log", "symlog"] = "linear"
    """How x is drawn; symlog is logarithmic but for a stretch around 0."""

    y_scale: Literal["linear", "log"] = "linear"
    zero: bool = True
    """Whether y begins at 0."""

    bars: bool = False
    """Whether x are names, side by side, each with a bar for every curve."""

    matrix: Sequence[str] = ()
    """Names of values of which every two are drawn against each other, instead of x and y."""

    insets: Sequence[Inset] = ()
    encircled: Sequence[Mapping[str, Any]] = ()
    """Points (x, y) that a ring is drawn around."""

    whole: bool = False
    """Whether both axes count, so that their ticks are whole numbers."""

    @property
    def series(self) -> list[FigureLine]:
        """All curves, those of insets too."""
        return [*self.curves, *(inset.curve for inset in self.insets)]


@dataclass(frozen=True)
class Results:
    """Everything a reproduction found."""

    paper: str
    claims: Sequence[Claim]
    figures: Sequence[Figure]
    more: Mapping[str, Any] = field(default_factory=dict)
    """What else stands in `results.json`, by key."""

    @property
    def holds(self) -> bool:
        """Whether every required claim was tested and holds."""
        return all(claim.holds is True for claim in self.claims if claim.status == "required")

    def write(self, folder: Path) -> list[Path]:
        """Write `results.json` and one picture per figure."""
        from sfumato.papers.charts import draw  # Altair is slow to import

        folder.mkdir(parents=True, exist_ok=True)
        content = {
            "paper": self.paper,
            "claims": [claim.content() for claim in self.claims],
            "figures": {figure.name: [asdict(curve) for curve in figure.series] for figure in self.figures},
            **self.more,
        }
        written = [folder / "results.json"]
        written[0].write_text(json_text(content), encoding="utf-8")
        for figure in self.figures:
            path = folder / f"figure-{figure.name}.png"
            draw(figure).save(str(path), format="png", scale_factor=2)
            written.append(path)
        return written
