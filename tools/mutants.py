"""A fixed, seeded sample of mutants of the code that promises: which of them do the tests notice?

    python tools/mutants.py plant TREE [--number 80]    # write all mutants, switched off, into a copy of the repository
    SFUMATO_MUTANT=reach python -m pytest -p mutant_durations   # in the copy: which test reaches which mutant
    python tools/mutants.py judge TREE [--seconds 120]  # switch each on; run what reaches it, cheapest first

Only the plain Python of the listed parts is mutated: kernels would have to be compiled for each mutant.
`TREE/mutants.json` lists the mutants, `TREE/reached/` what reached them, `TREE/verdicts.json` which test killed each.
"""

import argparse
import ast
import json
import os
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

PARTS = ("requirements", "auditing", "release", "publish", "anonymizers/mondrian", "anonymizers/dp/account.py")
PARTS += ("anonymizers/dp/mechanism.py", "data/persons.py")
COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
COMPARED |= {ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
COUNTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}
SWITCH = '''\
import json, os
from pathlib import Path

ACTIVE = os.environ.get("SFUMATO_MUTANT", "")
FOLDER = Path(__file__).resolve().parents[1] / "reached"
seen = set()


def mutant(number):
    """Say whether this mutant is switched on; note which test reaches it."""
    if ACTIVE == "reach":
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
        if (number, test) not in seen:
            seen.add((number, test))
            with (FOLDER / f"{os.getpid()}.jsonl").open("a") as file:
                file.write(json.dumps([number, test]) + "\\n")
    return ACTIVE == str(number)
'''
DURATIONS = """\
import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "reached"


def pytest_runtest_logreport(report):
    with (FOLDER / "durations.txt").open("a") as file:
        file.write(json.dumps([report.nodeid, report.duration, report.outcome]) + "\\n")
"""


def mutated(node: ast.expr) -> ast.expr | None:
    """Change one expression as a slip would, or nothing where no such slip is known."""
    match node:
        case ast.Compare(left, [op], right) if type(op) in COMPARED:
            return ast.Compare(left, [COMPARED[type(op)]()], right)
        case ast.BoolOp(op, values):
            return ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.BinOp(left, op, right) if type(op) in COUNTED and not any(map(texts, (left, right))):
            return ast.BinOp(left, COUNTED[type(op)](), right)
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.Constant(bool() as value):
            return ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            return ast.Constant(value + 1)
        case ast.Call(ast.Name(name), arguments, keywords) if name in CALLED:
            return ast.Call(ast.Name(CALLED[name], ast.Load()), arguments, keywords)
    return None


def texts(node: ast.expr) -> bool:
    """Say whether an operand is a text, which + joins."""
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str)


def places(tree: ast.Module) -> list[tuple[str, ast.expr]]:
    """All expressions inside functions that run as Python, each with the name of its function."""
    found: list[tuple[str, ast.expr]] = []

    def visit(node: ast.AST, inside: str) -> None:
        if isinstance(node, ast.FunctionDef):
            if any(isinstance(own, ast.Name) and own.id == "kernel" for own in node.decorator_list):
                return
            for child in (*node.args.defaults, *node.body):
                visit(child, f"{inside}.{node.name}".lstrip("."))
            return
        if isinstance(node, ast.ClassDef):
            inside = f"{inside}.{node.name}".lstrip(".")
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                visit(node.value, inside)
            return
        elif isinstance(node, ast.JoinedStr | ast.match_case):
            return
        elif inside and isinstance(node, ast.expr) and mutated(node) is not None:
            found.append((inside, node))
        for child in ast.iter_child_nodes(node):
            visit(child, inside)

    visit(tree, "")
    return found


def plant(tree: Path, number: int, seed: int) -> None:
    """Choose mutants, as many in each part as its share of places, and write them into the files, switched off."""
    package = tree / "src" / "sfumato"
    files = [file for part in PARTS for file in (sorted((package / part).rglob("*.py")) or [package / part])]
    parsed = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    every = [(file, *own) for file, syntax in parsed.items() for own in places(syntax)]
    chosen = sorted(random.Random(seed).sample(range(len(every)), number))
    listed, replaced = [], defaultdict(list)
    for i, which in enumerate(chosen):
        file, function, node = every[which]
        changed = mutated(node)
        place = {"id": i, "file": str(file.relative_to(tree)), "line": node.lineno, "function": function}
        listed.append({**place, "before": ast.unparse(node), "after": ast.unparse(changed)})
        replaced[file].append((node, i))
    for file, nodes in replaced.items():
        numbers = {id(node): i for node, i in nodes}

        class Planted(ast.NodeTransformer):
            def visit(self, node: ast.AST, numbers: dict[int, int] = numbers) -> ast.AST:
                if id(node) not in numbers:
                    return self.generic_visit(node)
                i, changed = numbers[id(node)], mutated(node)
                asked = ast.Call(ast.Name("_mutant", ast.Load()), [ast.Constant(i)], [])
                return ast.IfExp(asked, changed, self.generic_visit(node))

        syntax = Planted().visit(parsed[file])
        first = 1 + max(
            i for i, own in enumerate(syntax.body[:3]) if i == 0 or getattr(own, "module", "") == "__future__"
        )
        syntax.body.insert(first, ast.parse("from _mutants import mutant as _mutant").body[0])
        file.write_text(ast.unparse(ast.fix_missing_locations(syntax)) + "\n", encoding="utf-8")
    (tree / "src" / "_mutants.py").write_text(SWITCH)
    (tree / "tests" / "mutant_durations.py").write_text(DURATIONS)
    (tree / "reached").mkdir(exist_ok=True)
    (tree / "mutants.json").write_text(json.dumps(listed, indent=1))
    print(f"{len(listed)} of {len(every)} places")


def judge(tree: Path, seconds: float, only: set[int]) -> None:
    """Run, for each mutant, the tests that reach it until one fails; keep the verdicts as they come."""
    kept = tree / "verdicts.json"
    verdicts = json.loads(kept.read_text()) if kept.exists() else {}
    lasted: dict[str, float] = defaultdict(float)
    failed = set()
    for line in (tree / "reached" / "durations.txt").read_text().splitlines():
        test, duration, outcome = json.loads(line)
        lasted[test] += duration
        if outcome == "failed":
            failed.add(test)
    reached = defaultdict(set)
    for file in (tree / "reached").glob("*.jsonl"):
        for line in file.read_text().splitlines():
            number, test = json.loads(line)
            if test and test not in failed:
                reached[number].add(test)
    for own in json.loads((tree / "mutants.json").read_text()):
        if str(own["id"]) in verdicts or (only and own["id"] not in only):
            continue
        tests, spent, several = sorted(reached[own["id"]], key=lasted.__getitem__), 0.0, []
        for test in tests:
            spent += lasted[test] + 0.2
            if spent < seconds:
                several.append(test)
        verdict = "not reached" if not tests else f"survived {len(several)} of {len(tests)} tests"
        if several:
            asked = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider", *several]
            environment = {**os.environ, "SFUMATO_MUTANT": str(own["id"])}
            try:
                done = subprocess.run(
                    asked, cwd=tree, env=environment, capture_output=True, text=True, timeout=5 * seconds
                )
                if done.returncode:
                    killer = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
                    verdict = "killed by " + (killer or ["?"])[0].partition(" - ")[0]
            except subprocess.TimeoutExpired:
                verdict = "killed by time"
        verdicts[str(own["id"])] = verdict
        kept.write_text(json.dumps(verdicts, indent=1))
        print(own["id"], f"{own['file']}:{own['line']}", own["before"], "->", own["after"], "|", verdict, flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["plant", "judge"])
    parser.add_argument("tree", type=Path)
    parser.add_argument("--number", type=int, default=80)
    parser.add_argument("--seed", type=int, default=34)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--only", type=int, nargs="*", default=[])
    given = parser.parse_args()
    if given.action == "plant":
        plant(given.tree, given.number, given.seed)
    else:
        judge(given.tree, given.seconds, set(given.only))


if __name__ == "__main__":
    main()
