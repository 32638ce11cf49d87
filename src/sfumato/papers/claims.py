"""The results of a reproduction: statements of the paper with our numbers, checks of our own, and the figures.

A claim is a statement of the paper: `paper` is its number or a quotation, `place` where it is printed. It is reproduced
or differs over some range (`tested_over`: parameters, an interval of an axis); if no release is in the range, it is not
tested (`holds` is None). A headline is a statement of the abstract or the conclusions. A check is ours: it follows from
a theorem, or from how the reproduction is made, so it says nothing of the paper, and a failed one is our error.
`all_of` judges several comparisons this way.
"""

import platform
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from sfumato.config.documents import json_text
from sfumato.texts.catalogue import counted, listed, t

Progress = Callable[[int, int, str], None]
"""Called after each step with the numbers of done and all steps, and the last one's name."""

KINDS = ("headline", "claim", "check")
VERDICTS = ("reproduced", "differs", "not tested", "holds", "fails", "shown")
PACKAGES = ("sfumato", "numpy", "scikit-learn", "pymoo")
"""The packages whose versions may change numbers."""


@dataclass(frozen=True)
class Claim:
    """One statement of a paper with its value there and here, or a check of our own."""

    id: str
    claim: str
    """The statement as it is tested here."""

    paper: Any
    """What is printed there: a number, or one sentence in its words."""

    ours: Any
    holds: bool | None
    """None: not tested, because the claim's range is empty; or a number of ours that is only shown."""

    kind: Literal["headline", "claim", "check"] = "claim"
    place: str | None = None
    """Where the paper prints it."""

    reason: str | None = None
    """Why ours probably differs."""

    erratum: str | None = None
    """What we believe to be an error of the paper, and why."""

    reading: str | None = None
    """What we had to choose, because the paper leaves it open."""

    tested_over: str | None = None
    """The range over which the claim was tested, if it is not the claim's whole range."""

    def __post_init__(self) -> None:
        if (self.kind == "check") != (self.paper is None) or (self.paper is None) != (self.place is None):
            raise ValueError(f"{self.id}: a statement has the paper's words and their place, a check has neither")

    @property
    def verdict(self) -> Literal["reproduced", "differs", "not tested", "holds", "fails", "shown"]:
        """The result in a word."""
        if self.kind == "check":
            return "shown" if self.holds is None else "holds" if self.holds else "fails"
        return "not tested" if self.holds is None else "reproduced" if self.holds else "differs"

    def content(self) -> dict[str, Any]:
        """Return the entry of `results.json`."""
        return {**asdict(self), "verdict": self.verdict}


def tally(claims: Iterable[Mapping[str, Any]]) -> list[str]:
    """Count the verdicts of entries of `results.json`, a sentence for each kind that there is."""
    found: dict[str, dict[str, int]] = {kind: {} for kind in KINDS}
    for claim in claims:
        of_kind = found[claim["kind"]]
        of_kind[claim["verdict"]] = of_kind.get(claim["verdict"], 0) + 1
    return [
        t(
            "paper.tally",
            number=counted(sum(of_kind.values()), t(f"paper.{kind}"), t(f"paper.{kind}s")),
            each=listed(f"{of_kind[name]} {t(f'paper.verdicts.{name}')}" for name in VERDICTS if name in of_kind),
        )
        for kind, of_kind in found.items()
        if of_kind
    ]


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
        fields = {"paper": None, **self.rows[id], **{name: value for name, value in more.items() if value is not None}}
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

    made_of: Mapping[str, Any] = field(default_factory=dict)
    """Digests of the data with their hierarchies, seeds and settings."""

    @property
    def sound(self) -> bool:
        """Whether none of our own checks fails."""
        return not any(claim.verdict == "fails" for claim in self.claims)

    def content(self) -> dict[str, Any]:
        """Return `results.json`: what was made of what, when and by which versions, the claims, and the figures."""
        return {
            "paper": self.paper,
            "date": datetime.now(UTC).date().isoformat(),
            "command": shlex.join(["sfumato", *sys.argv[1:]]),
            "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
            "made_of": dict(self.made_of),
            "claims": [claim.content() for claim in self.claims],
            "figures": {figure.name: [asdict(curve) for curve in figure.series] for figure in self.figures},
            **self.more,
        }

    def write(self, folder: Path) -> list[Path]:
        """Write `results.json` and one picture per figure."""
        from sfumato.papers.charts import draw  # importing Altair is slow

        folder.mkdir(parents=True, exist_ok=True)
        written = [folder / "results.json"]
        written[0].write_text(json_text(self.content()), encoding="utf-8")
        for figure in self.figures:
            path = folder / f"figure-{figure.name}.png"
            draw(figure).save(str(path), format="png", scale_factor=2)
            written.append(path)
        return written
