"""Run every case of cases.toml with the installed program, and keep what it prints and writes: `capture.py OUT`.

The program is started through its console script, in a fork of one interpreter that has imported it. A case therefore
starts in milliseconds, and no case sees the state of another.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import itertools
import json
import os
import pkgutil
import random
import re
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from datetime import UTC, datetime
from html.parser import HTMLParser
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from unittest.mock import patch

HERE = Path(__file__).parent
FIXED = {"COLUMNS": "120", "LANG": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1", "PYTHONHASHSEED": "0"} | dict.fromkeys(
    ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
MASKED_KEYS = {"made", "date", "written", "version", "versions", "seconds", "software", "time"}
DAYS = "|".join({datetime.now(zone).strftime("%Y-%m-%d") for zone in (UTC, None)})
MASKS = (
    (re.compile(rf"(?:{DAYS})(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)?"), "<date>"),
    (
        re.compile(r"\b(sfumato|[Pp]ython|numpy|numba|duckdb|pyarrow|opendp|scikit-learn|scipy) v?\d+(?:\.\d+)+\S*"),
        r"\1 <version>",
    ),
    (re.compile(rf'("(?:{"|".join(sorted(MASKED_KEYS))})": )[^,\n{{\[]+'), r"\1<masked>"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:s|ms|seconds?|minutes?)\b"), "<seconds>"),
)
PROGRESS = re.compile(r"releases: |[a-z][^:]* \.\.\.$")  # printed where a step takes long
LIMIT = 300  # seconds of processor time of one command


def main() -> None:
    """Capture all cases, or those whose id begins with --only."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--times", action="store_true", help="print the processor time of every case")
    given = parser.parse_args()
    if {name: os.environ.get(name) for name in FIXED} != FIXED:
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | FIXED)
    program = load_program()
    folder = Path(tempfile.mkdtemp(prefix="freeze-"))  # not TemporaryDirectory: a fork that ends would remove it
    try:
        capture_all(program, folder, given.out.resolve(), given.only, given.times)
    finally:
        shutil.rmtree(folder)


def capture_all(program: Callable[[], Any], folder: Path, out: Path, only: str, times: bool) -> None:
    """Write the data, then run every case on its own copy of them."""
    sys.path.insert(0, str(HERE))
    from data import write_data

    data = folder / "data"
    data.mkdir()
    write_data(data)
    for path in (HERE / "studies").glob("*.toml"):
        shutil.copy(path, data)
    for case in read_cases():
        if case["id"].startswith(only):
            begun = os.times().children_user
            Capture(case, program, data, out, folder / "work").run()
            if times:
                print(f"{os.times().children_user - begun:6.1f} s  {case['id']}", flush=True)


def load_program() -> Callable[[], Any]:
    """Load the console script, and import all its modules once for all forks."""
    (script,) = entry_points(group="console_scripts", name="sfumato")
    program: Callable[[], Any] = script.load()
    package = script.module.split(".")[0]
    for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}.", onerror=lambda name: None):
        if not module.name.endswith("__main__"):
            try:
                import_module(module.name)
            except Exception as error:  # an extra that is not installed
                print(f"not imported: {module.name}: {error}", file=sys.stderr)
    import numba

    numba.njit(lambda: 0)()  # forks inherit the compiler with its targets, and the parsed command line
    sys.argv = ["sfumato", "--version"]
    with patch("os._exit"), patch("atexit._run_exitfuncs"), redirect_stdout(io.StringIO()), suppress(SystemExit):
        program()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return program


def read_cases() -> Iterator[dict[str, Any]]:
    """Read cases.toml: a case has commands, a grid one command for all combinations of values, a map a study."""
    stored = tomllib.loads((HERE / "cases.toml").read_text(encoding="utf-8"))
    audits = stored["audits"]
    for case in stored["case"]:
        commands = [case["run"]] if isinstance(case["run"], str) else list(case["run"])
        for options in audits[case["audit"]] if "audit" in case else ():
            commands.append(f"audit {case.get('file', 'out.csv')} {options} --json")
        yield case | {"commands": commands}
    for grid in stored["grid"]:
        names = list(grid["values"])
        combined = (dict(zip(names, values, strict=True)) for values in itertools.product(*grid["values"].values()))
        yield grid | {"commands": [grid["run"].format(**values) for values in combined]}
    for map_ in stored["map"]:
        yield map_ | {"commands": [f"explore {map_['study']} --workers 1 --out map"], "keep": ["map/*"]}


class Capture:
    """One case: its folder, its transcript, the files to keep."""

    def __init__(self, case: dict[str, Any], program: Callable[[], Any], data: Path, out: Path, work: Path) -> None:
        """Begin with a fresh copy of the data, and nothing kept."""
        self.case, self.program, self.work, self.kept = case, program, work, out / case["id"]
        self.transcript: list[str] = []
        self.dealt: set[str] = set()
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(data, work)
        shutil.rmtree(self.kept, ignore_errors=True)
        self.kept.mkdir(parents=True)

    def run(self) -> None:
        """Run the commands and keep what they left."""
        for command in self.case["commands"]:
            self.say(command)
        if (self.work / "map" / "points.json").exists():
            self.use_map()
        self.dealt = {digest(path.read_bytes()) for path in self.work.glob("out*.csv") if is_dealt(path)}
        self.write("transcript.txt", "\n".join(self.transcript))
        for pattern in (*self.case.get("keep", ()), "out*"):
            for path in sorted(self.work.glob(pattern)):
                if path.is_file() and (text := self.normal(path)) is not None:
                    self.write(str(path.relative_to(self.work)), text)

    def say(self, command: str) -> int:
        """Run a command and add it with its exit code and output to the transcript."""
        code, output = self.started(shlex.split(command))
        if self.case.get("refusals") and code == 0:
            output = ""
        self.transcript.append(f"$ sfumato {command}\nexit {code}\n{output}")
        return code

    def started(self, arguments: list[str]) -> tuple[int, str]:
        """Run the program in a fork; return the exit code and the normal form of what it printed."""
        printed = self.work / ".printed"
        if not (child := os.fork()):
            resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
            os.chdir(self.work)
            with printed.open("wb") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            sys.argv = ["sfumato", *arguments]
            code: Any = 99
            try:
                code = self.program()
            except SystemExit as ended:
                code = ended.code
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code if isinstance(code, int) else int(code is not None))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return code, self.masked(printed.read_text(encoding="utf-8", errors="replace"))

    def use_map(self) -> None:
        """Release every point, choose for every recipient, and ask drawn questions."""
        stored = json.loads((self.work / "map" / "points.json").read_text())
        for point in stored["points"]:
            name = " ".join(str(point.get(key) or "") for key in ("anonymizer", "form", "requirement"))
            to = f"out-{point['id']}"
            mapping = f" --mapping {to}-mapping.json" if self.case.get("mapping", "?") in name else ""
            if self.say(f"release map --point {point['id']} --to {to}.csv{mapping}") == 0 and mapping:
                for new in self.case["new"]:
                    self.say(f"apply {to}-mapping.json {new} --to {to}-{Path(new).stem}.csv --rest drop")
        for options in self.case["choose"]:
            self.say(f"choose map {options} --workers 1")
        search = "" if self.started(["ask", "map", self.case["probe"], "--search", "0"])[0] else " --search 0"
        for question in draw_questions(stored["points"], self.case["questions"]):
            self.say(f"ask map {shlex.quote(question)}{search} --workers 1")

    def write(self, name: str, text: str) -> None:
        """Keep a text, without digests of files whose values are dealt out at random."""
        for dealt in self.dealt:
            text = text.replace(dealt, "<dealt>")
        path = self.kept / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")

    def masked(self, text: str) -> str:
        """Mask what differs between two runs; where noise is drawn, every number."""
        text = text.replace(str(self.work.resolve()), "<folder>").replace(str(self.work), "<folder>")
        for pattern, word in MASKS:
            text = pattern.sub(word, text)
        if self.case.get("noisy"):
            text = re.sub(r"\d+(?:[.,]\d+)*(?:e-?\d+)?", "#", text)
        return "\n".join(line.rstrip() for line in text.splitlines() if not PROGRESS.match(line))

    def normal(self, path: Path) -> str | None:
        """Return the normal form of a file; None for a file that is not kept."""
        if path.suffix in (".png", ".jsonl", ".pdf") or path.name == "timings.json":
            return None
        if path.suffix in (".csv", ".dat", ".txt"):
            return self.digests(path)
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            text = json.dumps(normal_json(json.loads(text)), sort_keys=True, indent=1, ensure_ascii=False)
        if path.suffix == ".html":
            text = visible_text(text)
        return self.masked(text)

    def digests(self, path: Path) -> str:
        """Return the first row, and the digests of the bytes and of the sorted rows; of a noisy file the first row."""
        rows = path.read_bytes().splitlines()
        first = rows[0].decode() if rows else ""
        if self.case.get("noisy"):
            return first
        if is_dealt(path):
            columns = zip(*csv.reader(io.StringIO(path.read_text(encoding="utf-8"))), strict=False)
            return "\n".join((first, f"{len(rows)} rows", *(digest("\n".join(sorted(c)).encode()) for c in columns)))
        ordered = digest(b"\n".join(sorted(rows)))
        return f"{first}\n{len(rows)} rows\n{digest(path.read_bytes())}\n{ordered}"


def digest(content: bytes) -> str:
    """Return the SHA-256 digest as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def is_dealt(path: Path) -> bool:
    """Say whether a file is a bucketization: values are dealt out within groups, and no seed repeats that."""
    with path.open(encoding="utf-8") as file:
        return "group" in file.readline().strip().split(",")


def normal_json(value: Any) -> Any:
    """Mask values of keys that change with the day and the machine; round numbers to 10 digits."""
    if isinstance(value, dict):
        return {key: "<masked>" if key in MASKED_KEYS else normal_json(part) for key, part in value.items()}
    if isinstance(value, list):
        return [normal_json(part) for part in value]
    return float(f"{value:.10g}") if isinstance(value, float) else value


class _Text(HTMLParser):
    """Collects the visible text of a page."""

    hidden = 0

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.hidden += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self.hidden and data.strip():
            self.parts.append(" ".join(data.split()))


def visible_text(page: str) -> str:
    """Return the visible text of a page, one line per element."""
    parser = _Text()
    parser.feed(page)
    return "\n".join(parser.parts)


def draw_questions(points: list[dict[str, Any]], number: int) -> Iterator[str]:
    """Draw questions of the grammar `measures [within bounds] [or bounds] [by ways]` over the measures of a map."""
    draw = random.Random(1)
    values: dict[str, list[float]] = {}
    for point in points:
        for name, value in (point["measures"] or {}).items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                values.setdefault(name, []).append(value)
    names = sorted(values)
    for _ in range(number):
        asked = draw.sample(names, draw.choice((1, 1, 1, 2)))
        bounded = draw.sample([name for name in names if name not in asked], draw.choice((0, 1, 1, 2)))
        bounds = [
            f"{name} {draw.choice(('', '', '<= ', '>= '))}{draw.choice(sorted(values[name])):.4g}" for name in bounded
        ]
        question = ", ".join(asked) + (f" within {' and '.join(bounds)}" if bounds else "")
        if bounds and draw.random() < 0.2:
            question += f" or {bounded[0]} {draw.choice(sorted(values[bounded[0]])):.4g}"
        yield question + (draw.choice((" by maker", " by suppression")) if draw.random() < 0.2 else "")


if __name__ == "__main__":
    main()
