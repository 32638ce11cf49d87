"""An analysis of the user: its parts, the rule for its conclusions, and whether a release keeps them.

Every part (formula, table, query, function) runs on the original and on every release. A conclusion is a finding of the
original. By the usual rule a release keeps it

- without an interval: if the relative error is at most `error`;
- with an interval that includes 0: if the released interval includes 0, too;
- with an interval that excludes 0: if the released interval excludes 0 on the same side, and the estimate is inside the
  original interval or its relative error is at most `error`;

and if the intervals overlap by `overlap` and the finding keeps its rank (`ranking`), where this is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from sfumato.config.documents import parse_toml, read_text
from sfumato.config.options import Option, check_options
from sfumato.config.sections import section_values
from sfumato.data.reading import Table
from sfumato.errors import SfumatoError
from sfumato.measures.analysis.child import Work, pack, run_apart
from sfumato.measures.analysis.findings import Conclusion, Finding, analysis_measures, combined, outcomes
from sfumato.measures.analysis.formulas import TABLE, formula, table
from sfumato.measures.analysis.frames import Frames
from sfumato.release.release import Published
from sfumato.runtime.cancellation import check_cancelled
from sfumato.texts.catalogue import percent, refusal, t


@dataclass(frozen=True)
class Analysis:
    """The user's own analysis, and when its conclusions count as kept."""

    formula: Annotated[tuple[str, ...], Option()] = ()
    """Linear or logistic models, such as `income ~ age + sex` or `logistic: employed ~ age + C(region)`."""

    table: Annotated[tuple[str, ...], Option()] = ()
    """Tables, such as `count by region, sex` or `mean income by sex`."""

    sql: Annotated[tuple[str, ...], Option()] = ()
    """Queries of the table `data` (DuckDB); the last number of a row is the estimate."""

    file: Annotated[str | None, Option(takes="file")] = None
    """A Python file with a function `analysis(frame)`."""

    error: Annotated[float, Option(least=0)] = 0.2
    """The largest relative error of a number that counts as kept; inside the original interval it may be larger."""

    significance: Annotated[bool, Option()] = True
    """Whether sign and significance of a number with an interval must be kept."""

    overlap: Annotated[float | None, Option(least=0, most=1)] = None
    """The least overlap of intervals with which a conclusion counts as kept."""

    ranking: Annotated[bool, Option()] = False
    """Whether the ranking of the findings of one analysis must be kept."""

    draws: Annotated[int, Option(least=2, most=100)] = 5
    """How often a release is drawn from its boxes, where no exact reading exists."""

    seconds: Annotated[float, Option(more_than=0)] = 60.0
    """The time limit of functions and queries, for each release."""

    seed: Annotated[int, Option(least=0)] = 0
    """The seed of the draws."""

    functions: tuple[Callable[..., Any], ...] = field(default=(), repr=False)
    """Functions of a frame, in Python only (`map.judge`)."""

    def __post_init__(self) -> None:
        check_options(self)
        if not (self.formula or self.table or self.sql or self.file or self.functions):
            raise refusal("analysis.nothing")

    def prepare(self, source: Table) -> JudgedTable:
        """Run it on the original; raise if it fails there."""
        return JudgedTable(self, Frames(source)).ready()

    def rule(self, outcome: Conclusion, in_order: bool) -> str:
        """Return why a conclusion is lost, or an empty text."""
        original, released, error = outcome.original, outcome.released, outcome.error
        inside = released is not None and original.has_interval
        inside = inside and original.low <= released.estimate <= original.high  # type: ignore[operator,union-attr]
        if original.has_interval and self.significance and not outcome.has_same_sign:
            return t("analysis.lost_sign")
        is_effect = not (original.has_interval and self.significance) or original.effect
        if is_effect and error > self.error and not inside:
            return t("analysis.lost_error", error=percent(error, 2))
        if self.overlap is not None and outcome.overlap is not None and outcome.overlap < self.overlap:
            return t("analysis.lost_overlap", overlap=percent(outcome.overlap, 2))
        return "" if in_order or not self.ranking else t("analysis.lost_ranking")

    @property
    def conditions(self) -> str:
        """The rule in words."""
        asked = [t("analysis.rule_sign")] if self.significance else []
        asked += [t("analysis.rule", error=percent(self.error, 2))]
        asked += [] if self.overlap is None else [t("analysis.rule_overlap", overlap=percent(self.overlap, 2))]
        return "; ".join([*asked, *([t("analysis.rule_ranking")] if self.ranking else [])])


def read_analysis(given: Any) -> Analysis:
    """Read an analysis: a function, a formula, a table, a file (.py, .sql, .toml), a query, or several of these."""
    if isinstance(given, Analysis):
        return given
    if callable(given):
        return Analysis(functions=(given,))
    if isinstance(given, list | tuple):
        parts = [read_analysis(each) for each in given]
        several: dict[str, Any] = {
            name: tuple(dict.fromkeys(one for part in parts for one in getattr(part, name)))
            for name in ("formula", "table", "sql", "functions")
        }
        return replace(parts[0], **several, file=next((part.file for part in parts if part.file), None))
    if not isinstance(given, str | Path):
        raise refusal("analysis.unknown", given=repr(given)[:60])
    path = Path(given)
    kind = path.suffix.lower()
    if kind == ".py":
        return Analysis(file=str(given))
    if kind == ".sql":
        return Analysis(sql=(read_text(path),))
    if kind == ".toml":
        content = parse_toml(read_text(path), str(path))
        return read_section(content.get("analysis", content))
    text = str(given)
    if text.lstrip().lower().startswith(("select ", "with ", "from ")):
        return Analysis(sql=(text,))
    if "~" in text or not TABLE.fullmatch(text):
        return Analysis(formula=(text,))
    return Analysis(table=(text,))


def read_section(content: Mapping[str, Any]) -> Analysis:
    """Read the section `[analysis]`."""
    return Analysis(**section_values("[analysis]", content, Analysis))


@dataclass(frozen=True, eq=False)
class JudgedTable:
    """An analysis with its findings on the original."""

    asked: Analysis
    frames: Frames

    @cached_property
    def works(self) -> dict[str, Work]:
        """The user's code by name."""
        asked = self.asked
        works: dict[str, Work] = {query: ("sql", query) for query in asked.sql}
        if asked.file is not None:
            works[Path(asked.file).name] = ("file", read_text(Path(asked.file)))
        return works | {getattr(each, "__name__", "function"): pack(each) for each in asked.functions}

    @cached_property
    def texts(self) -> dict[str, Callable[[pa.Table], list[Finding]]]:
        """The formulas and tables by text."""
        return {text: formula(text) for text in self.asked.formula} | {text: table(text) for text in self.asked.table}

    @cached_property
    def original(self) -> list[Finding]:
        """The conclusions: the findings on the original."""
        found, failures = self._run([self.frames.original])
        if failures or not found:
            raise refusal("analysis.original", why=next(iter(failures.values()), t("analysis.no_finding")))
        return found

    @property
    def digest(self) -> str:
        """A digest of all code and texts."""
        return sha256(repr((self.works, list(self.texts))).encode()).hexdigest()

    def ready(self) -> JudgedTable:
        """Work out everything that releases share."""
        assert self.original and self.frames.neutral is not None and self.frames.coded is not None
        return self

    def compared(self, release: Published) -> tuple[dict[str, float], dict[str, Any]]:
        """Return the measures of a release, and the outcome of every conclusion as plain values."""
        asked, exact = self.asked, self.frames.is_exact(release)
        expected = {} if exact else self._expected(release)
        generators = [np.random.default_rng((asked.seed, draw)) for draw in range(1 if exact else asked.draws)]
        everything = set(expected) == {*self.texts, *self.works}
        frames = [] if everything else [self.frames.drawn(release, generator) for generator in generators]
        found, failures = self._run(frames, without=expected)
        judged = outcomes(
            self.original, [*(one for each in expected.values() for one in each), *found], asked.rule, failures
        )
        reading = "exact" if exact else "expectation" if everything else "both" if expected else "draws"
        return analysis_measures(judged), {
            "reading": t(f"analysis.reading_{reading}", draws=asked.draws),
            "rule": asked.conditions,
            "digest": self.digest,
            "conclusions": [
                {
                    "analysis": each.original.analysis,
                    "name": each.original.name,
                    "original": list(astuple(each.original)[2:]),
                    "released": None if each.released is None else list(astuple(each.released)[2:]),
                    "lost_by": each.lost_by,
                }
                for each in judged
            ],
        }

    def _expected(self, release: Published) -> dict[str, list[Finding]]:
        """Return the tables of counts whose expectation is exact."""
        found = {}
        for text in self.asked.table:
            match = TABLE.fullmatch(text)
            assert match is not None
            if match[1]:
                counts = self.frames.expected_counts(release, [name.strip() for name in match[4].split(",")])
                if counts is not None:
                    total = sum(counts.values()) if match[1] == "share" else 1.0
                    found[text] = [Finding(text, name, counted / total) for name, counted in counts.items()]
        return found

    def _run(self, frames: list[pa.Table], without: Mapping[str, Any] = {}) -> tuple[list[Finding], dict[str, str]]:
        """Run all parts on some frames; return their findings, and a sentence for each part that fails."""
        found, failures = list[Finding](), dict[str, str]()
        for name in (*self.texts, *self.works):
            if name in without:
                continue
            check_cancelled()
            try:
                if name in self.works:
                    drawn = run_apart(name, self.works[name], frames, self.asked.seconds)
                else:
                    drawn = [self.texts[name](frame) for frame in frames]
                found += combined(drawn)
            except SfumatoError as error:
                failures[name] = str(error)
            except (ValueError, ArithmeticError, np.linalg.LinAlgError, pa.ArrowException) as error:
                failures[name] = f"{name}: {error}"
        return found, failures
