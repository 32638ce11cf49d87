"""The results of a reproduction: claims of the paper with our numbers, and the figures as series.

A claim holds or differs over some range (`tested_over`: parameters, an interval of an axis). If no release is in the
range, it is not tested (`holds` is None), which for a required claim is a failure, because nothing confirms it.
`all_of` judges several comparisons this way. If the paper has no value (`paper` is None), ours is shown and nothing is
claimed.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from sfumato.config.documents import json_text

Progress = Callable[[int, int, str], None]
"""Called after each step with the numbers of done and all steps, and the last one's name."""


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, its value there and here."""

    id: str
    claim: str
    paper: Any
    ours: Any
    holds: bool | None
    """None: not tested, because the claim's range is empty, or the paper has no value."""

    status: str = "required"
    """required: the reproduction fails without it; reported: shown with our number and the likely reason."""

    reason: str | None = None
    tested_over: str | None = None
    """The range over which the claim was tested, if it is not the claim's whole range."""

    def __post_init__(self) -> None:
        if self.paper is None and (self.holds is not None or self.status == "required"):
            raise ValueError(f"{self.id}: without a value of the paper a number is shown, it holds nothing")

    @property
    def verdict(self) -> Literal["holds", "differs", "not tested", "shown"]:
        """The result in a word."""
        if self.paper is None:
            return "shown"
        return "not tested" if self.holds is None else "holds" if self.holds else "differs"

    def content(self) -> dict[str, Any]:
        """Return the entry of `results.json`."""
        return {**asdict(self), "verdict": self.verdict}


class ClaimRows:
    """The table of a paper's claims; makes a claim from a row, our value, and whether it holds.

    A row of the TOML file next to a module is an id with the constant fields of a claim.
    """

    def __init__(self, module: str) -> None:
        text = (files("sfumato.papers") / f"{module.rpartition('.')[2]}.toml").read_text(encoding="utf-8")
        self.rows: dict[str, dict[str, Any]] = tomllib.loads(text)

    def paper(self, id: str) -> Any:
        """Return the paper's value."""
        return self.rows[id]["paper"]

    def __call__(self, id: str, ours: Any, holds: bool | Callable[[Any], bool | None] | None, **more: Any) -> Claim:
        """Make a claim; `holds` may be a function of the paper's value."""
        fields = {"paper": None, **self.rows[id], **more}
        return Claim(id=id, ours=ours, holds=holds(fields["paper"]) if callable(holds) else holds, **fields)


def all_of(comparisons: Iterable[bool | None]) -> bool | None:
    """Return whether all comparisons hold: False if one does not, None if one was not tested or there are none."""
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
    """Whether each point has a mark; a line without marks is dashed."""

    opacity: float = 1.0
    """The opacity of marks."""


@dataclass(frozen=True)
class Inset:
    """A small plot inside a figure: the curve of one of its points."""

    curve: FigureLine
    point: Mapping[str, Any]
    """The point (x, y) of the figure that it details; a line leads there."""

    place: tuple[float, float]
    """The place of its lower left corner, as shares of the figure's width and height."""

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
    """The scale of x; symlog is linear around 0."""

    y_scale: Literal["linear", "log"] = "linear"
    zero: bool = True
    """Whether y begins at 0."""

    bars: bool = False
    """Whether x are names, each with a bar for every curve."""

    matrix: Sequence[str] = ()
    """Names of values for a scatter matrix, instead of x and y."""

    insets: Sequence[Inset] = ()
    encircled: Sequence[Mapping[str, Any]] = ()
    """Points (x, y) with a ring."""

    whole: bool = False
    """Whether both axes are counts with whole-number ticks."""

    @property
    def series(self) -> list[FigureLine]:
        """All curves, including those of insets."""
        return [*self.curves, *(inset.curve for inset in self.insets)]


@dataclass(frozen=True)
class Results:
    """The results of a reproduction."""

    paper: str
    claims: Sequence[Claim]
    figures: Sequence[Figure]
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further entries of `results.json`, by key."""

    @property
    def holds(self) -> bool:
        """Whether every required claim was tested and holds."""
        return all(claim.holds is True for claim in self.claims if claim.status == "required")

    def write(self, folder: Path) -> list[Path]:
        """Write `results.json` and one picture per figure."""
        from sfumato.papers.charts import draw  # importing Altair is slow

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
