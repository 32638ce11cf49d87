"""What a further release takes by maker, in releases of Mondrian, beside what the maker says of itself (`effort`).

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/effort.py [--source adult]

A tuner weighs what a release may gain by that number, so that no clock has a say in what is tried. Three settings of
what each maker serves, from strict to loose, made and measured in one exploration with one worker; processor time.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from statistics import mean

from common import print_table
from sfumato.anonymizers import anonymizer
from sfumato.tradeoff.exploration.explore import Exploration
from sfumato.tradeoff.search.families import families_of
from sfumato.tradeoff.study import study as studies
from sfumato.tradeoff.study.grids import ends
from sfumato.tradeoff.study.presets import bundled_presets

SHARES = (0.25, 0.5, 0.75)
"""Where on its dial a family is tried, as shares of the way."""


def spent(source: str) -> dict[str, list[float]]:
    """Return the processor seconds of further releases by maker."""
    study = studies.of_table(studies.read_study(source))
    study = replace(study, grids=ends())
    table = study.table.open()
    offered = {anonymizer(maker).name for maker, _ in bundled_presets()["offered"]}
    families = [one for one in families_of(study, table) if not one.example.suppress]
    exploration = Exploration(study, None, 1, table, None)
    list(exploration.measured(study.candidates, None))
    seconds: dict[str, list[float]] = {name: [] for name in sorted(offered)}
    for rounds in range(2):  # the first one compiles machine code and works out what releases share
        for family in families:
            for share in SHARES if rounds else SHARES[1:2]:
                started = time.process_time()
                made = list(exploration.measured([family.at(family.dial.at(share))], None))
                if rounds and made[0][1].status == "measured":
                    seconds[family.example.anonymizer.name].append(time.process_time() - started)
    return seconds


def report(source: str) -> None:
    """Print the ratios."""
    seconds = spent(source)
    unit = mean(seconds["mondrian"])
    rows = [
        (name, len(each), f"{mean(each):.2f} s", f"{mean(each) / unit:.1f}", anonymizer(name).effort)
        for name, each in seconds.items()
        if each
    ]
    print_table(["maker", "releases", "mean", "of Mondrian's", "said"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", default="adult")
    report(parser.parse_args().source)
