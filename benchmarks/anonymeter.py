"""Our risks beside Anonymeter's own numbers on the same files: singling out, linkability, inference.

Run: python benchmarks/anonymeter.py [--tries 1000] [--environment DIR]

Anonymeter pins old versions, so it runs in an environment of its own, which this script makes (in a temporary folder,
unless one is named, which is then kept). Half of Adult is the table and half the control, so that no correction for
their sizes is needed: Anonymeter 1.1.0 fits its correction to the number of queries instead of that of successes. All
releases are read as points and written as CSV files; both sides read those. The two attackers draw other targets and
break ties otherwise, so values differ by chance; intervals must overlap.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import venv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from common import print_table
from sfumato import anonymizers
from sfumato.data.declaration import TableDeclaration
from sfumato.measures.attacks.attacks import Attacks
from sfumato.release.records import Records, cell_codes, leaf_numbers, read_as_records, record_release
from sfumato.requirements.requirement import requirement

QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "hours-per-week", "native-country")
SEED = 1
RISKS = ("singling_out", "linkability", "inference")
APART = "no"

CHILD = """
import json, sys, warnings
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
warnings.simplefilter("ignore")
task = json.load(open(sys.argv[1]))
train, control = pd.read_csv(task["train"]), pd.read_csv(task["control"])
found = {}
for name, file in task["releases"].items():
    release, tries, risks = pd.read_csv(file), task["tries"], {}
    evaluators = {
        "singling_out": SinglingOutEvaluator(
            ori=train, syn=release, control=control, n_attacks=tries, n_cols=3, max_attempts=400_000, seed=1
        ),
        "linkability": LinkabilityEvaluator(
            ori=train, syn=release, control=control, n_attacks=tries, aux_cols=task["sources"],
            n_neighbors=task["neighbours"],
        ),
        "inference": InferenceEvaluator(
            ori=train, syn=release, control=control, n_attacks=tries, aux_cols=task["known"], secret=task["secret"]
        ),
    }
    for risk, evaluator in evaluators.items():
        extra = {"mode": "multivariate"} if risk == "singling_out" else {"n_jobs": 1}
        try:
            evaluator.evaluate(**extra)
            value = evaluator.risk(confidence_level=0.95)
            rates = evaluator.results()
            risks[risk] = [value.value, *value.ci, rates.attack_rate.value, rates.control_rate.value]
        except Exception as error:
            risks[risk] = repr(error)
    found[name] = risks
json.dump(found, open(sys.argv[2], "w"))
"""


def environment(folder: Path) -> Path:
    """Make an environment with Anonymeter, unless it is there; return its Python."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "anonymeter", "numpy<1.27"], check=True)
    return python


def releases(table, random):
    """Make the releases that are compared, of the training records, each as point records."""
    codes = np.repeat(cell_codes(table.cells), table.cells.counts, axis=0)
    columns = [random.permutation(column) for column in codes.T]
    mondrian = anonymizers.anonymize(table, "k-anonymity k=5")
    rounded = anonymizers.anonymizer("rounding base=5").anonymize(table, requirement("k-anonymity k=1"))
    return {
        "copy of the table": codes,
        "bootstrap": codes[random.integers(len(codes), size=len(codes))],
        "mondrian k=5, read as points": read_as_records(mondrian, random).codes,
        "rounding base=5": read_as_records(rounded, random).codes,
        "independent columns": np.column_stack(columns),
    }


def write(path: Path, records: Records) -> str:
    """Write records as a CSV file, numbers as numbers."""
    columns = {}
    for place, (name, hierarchy) in enumerate(zip(records.names, records.hierarchies, strict=True)):
        leaves = leaf_numbers(hierarchy) if records.is_number(place) else np.array(hierarchy.leaves)
        columns[name] = leaves[records.codes[:, place]]
    pa.csv.write_csv(pa.table(columns), path)
    return str(path)


def main() -> None:
    """Run both and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=1000)
    parser.add_argument("--neighbours", type=int, default=1)
    parser.add_argument("--environment", type=Path)
    options = parser.parse_args()
    table = TableDeclaration("adult", quasi=QUASI, sensitive=("occupation",)).open()
    attacks = Attacks(control=0.5, number=options.tries, neighbours=options.neighbours, seed=SEED).prepare(table)
    made = releases(attacks.training, np.random.default_rng(SEED))
    names = [*sorted(QUASI), "occupation"]
    ours = {}
    for name, codes in made.items():
        release = record_release(attacks.training, Records(table.cells, codes), people=False)
        found = attacks.whole.against(release, np.random.default_rng(SEED))
        ours[name] = {each.name: each for each in found.advantages}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        task = {
            "train": write(folder / "train.csv", Records(table.cells, attacks.whole.training)),
            "control": write(folder / "control.csv", Records(table.cells, attacks.control)),
            "releases": {
                name: write(folder / f"{i}.csv", Records(table.cells, codes))
                for i, (name, codes) in enumerate(made.items())
            },
            "tries": options.tries,
            "neighbours": options.neighbours,
            "sources": [[names[place] for place in source] for source in attacks.whole.sources],
            "known": sorted(QUASI),
            "secret": "occupation",
        }
        (folder / "task.json").write_text(json.dumps(task))
        (folder / "child.py").write_text(CHILD)
        python = environment(options.environment or folder / "environment")
        subprocess.run([python, folder / "child.py", folder / "task.json", folder / "found.json"], check=True)
        theirs = json.loads((folder / "found.json").read_text())
    rows = [compared(name, ours[name][risk], theirs[name][risk]) for name in ours for risk in RISKS]
    print_table(["release", "risk", "ours", "rates", "Anonymeter's", "rates", "ours in its interval"], rows)
    inside = sum(row[-1] == "inside" for row in rows)
    print(f"{inside} of {len(rows)} inside; intervals overlap everywhere: {all(row[-1] != APART for row in rows)}")


def compared(release, ours, theirs):
    """Put one risk beside theirs, with the success rates on the table and on the control."""
    low, high = ours.interval()
    row = [release, ours.name, f"{ours.value:.3f} ({low:.3f} to {high:.3f})"]
    row.append(f"{ours.attack.share:.3f}, {ours.control.share:.3f}")
    if isinstance(theirs, str):
        return [*row, theirs, "", ""]
    value, least, most, attack, control = theirs
    overlap = "intervals overlap" if low <= most and least <= high else APART
    said = "inside" if least <= ours.value <= most else overlap
    return [*row, f"{value:.3f} ({least:.3f} to {most:.3f})", f"{attack:.3f}, {control:.3f}", said]


if __name__ == "__main__":
    main()
