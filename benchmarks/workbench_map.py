"""How smooth the map of the workbench is in a browser: 500 made-up releases, every interaction under 100 ms.

    python benchmarks/workbench_map.py [--points 500] [--repeat 40]

Every interaction is a series of events that a script sends, as the mouse and the keys would. Told are milliseconds on
the clock from the first event until the browser has drawn the next frame, and milliseconds of the page's own thread,
which do not count what other processes did meanwhile.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

TARGET_MS = 100
STUDY = """name = "made up"
axes = ["p_loss", "u_loss"]
[table]
source = "adult"
[[candidates]]
requirements = ["k-anonymity k=10"]
"""
WATCH = """() => {
  window.measured_ = (act) => new Promise((done) => {
    const begun = performance.now();
    act();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
  });
}"""


def made_up(folder: Path, many: int) -> None:
    """Write a project with so many releases along a frontier and behind it."""
    draw = random.Random(1)
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    points = []
    families = ("k-anonymity k={}", "l-diversity l={} variant=distinct", "t-closeness t=0.{:04d} distance=js")
    for i in range(many):
        risk = (i + 1) / (many + 1)
        k = 2 + i // 2
        points.append(
            {
                "id": f"{i:08x}",
                "anonymizer": "mondrian",
                "form": ("generalization", "bucketization")[i % 2],
                "requirement": families[i // 2 % 3].format(k),
                "parameters": {},
                "status": "measured",
                "measures": {
                    "k": k,
                    "prosecutor": 1 / k,
                    "p_loss": risk,
                    "a_acc": 0.2 + 0.5 * risk,
                    "u_loss": 0.2 * (1 - risk) ** 2 + 0.05 * draw.random(),
                    "loss": 1 - risk * draw.random(),
                    "query_error": 2 * (1 - risk) + draw.random(),
                },
            }
        )
    about = {"records": 45222, "quasi": ["age", "sex"], "sensitive": ["occupation"]}
    content = {"schema": 1, "study": "made up", "axes": ["p_loss", "u_loss"], "table": about, "points": points}
    (folder / "points.json").write_text(json.dumps(content), encoding="utf-8")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Let the workbench serve a folder; the address lets one in."""
    command = [sys.executable, "-m", "sfumato", "serve", str(folder), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield next(line.strip() for line in process.stdout if line.startswith("http"))
    finally:
        process.terminate()
        process.wait(20)


class Watched:
    """A page whose interactions are timed."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.session = page.context.new_cdp_session(page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.evaluate(WATCH)

    def spent(self) -> float:
        """Return the seconds that the page's thread has worked."""
        told = self.session.send("Performance.getMetrics")["metrics"]
        return next(float(each["value"]) for each in told if each["name"] == "TaskDuration")

    def timed(self, act: str, repeat: int) -> tuple[list[float], list[float]]:
        """Do something so often; return milliseconds by the clock, and of the thread, each from the least on."""
        clock, thread = list[float](), list[float]()
        for i in range(repeat):
            before = self.spent()
            clock.append(self.page.evaluate(f"(i) => measured_(() => {{ {act} }})", i))
            thread.append(1000 * (self.spent() - before))
        return sorted(clock), sorted(thread)


MOVE = """const handle = document.getElementById(`handle-${i % 2 ? "x" : "y"}`), box = handle.getBoundingClientRect();
const at = { pointerId: 1, bubbles: true, clientX: box.left + 9, clientY: box.top + 9 };
handle.hasPointerCapture = () => true;
handle.dispatchEvent(new PointerEvent("pointermove", { ...at, clientX: at.clientX - 7, clientY: at.clientY - 7 }));"""
KEY = """const handle = document.getElementById(`handle-${i % 2 ? "x" : "y"}`);
handle.dispatchEvent(new KeyboardEvent("keydown", { key: i % 4 < 2 ? "ArrowLeft" : "ArrowDown", bubbles: true }));"""
HOVER = """const marks = document.querySelectorAll("#chart .mark-symbol path");
const box = marks[7 * i % marks.length].getBoundingClientRect();
const at = { bubbles: true, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
document.querySelector("#chart svg").dispatchEvent(new MouseEvent("mousemove", at));
marks[7 * i % marks.length].dispatchEvent(new MouseEvent("mousemove", at));"""
CLICK = "choose(points[(13 * i) % points.length].id);"
LASSO = """const chart = document.getElementById("chart"), box = chart.getBoundingClientRect();
const at = (x, y) => ({ bubbles: true, button: 0, clientX: box.left + x, clientY: box.top + y });
chart.dispatchEvent(new PointerEvent("pointerdown", at(200, 100)));
for (const [x, y] of [[300 + i, 100], [300 + i, 200 + i], [200, 200 + i], [200, 104]]) {
  window.dispatchEvent(new PointerEvent("pointermove", at(x, y)));
}
window.dispatchEvent(new PointerEvent("pointerup", at(200, 104)));"""
INTERACTIONS = {
    "drag a bound by a step": MOVE,
    "move a bound by a key": KEY,
    "hover over a mark": HOVER,
    "choose a release": CLICK,
    "draw a lasso": LASSO,
}


def main() -> int:
    """Measure and tell; exit code 1 where an interaction takes longer than it may."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=40)
    asked = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    slow = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        made_up(Path(folder) / "many", asked.points)
        with served(Path(folder)) as address:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(address)
            page.goto(f"{address.split('/?')[0]}/projects/many/map")
            page.wait_for_selector("body[data-ready]", timeout=120_000)
            watched = Watched(page)
            print(
                f"{asked.points} releases; milliseconds: median, 95 %, most by the clock; the same of the page's thread"
            )
            for name, act in INTERACTIONS.items():
                watched.timed(act, 3)
                clock, thread = watched.timed(act, asked.repeat)
                told = [(median(some), some[int(0.95 * len(some))], some[-1]) for some in (clock, thread)]
                print(f"{name:28}" + "".join(f"{each:9.1f}" for some in told for each in some))
                if told[1][1] > TARGET_MS:
                    slow.append(name)
            browser.close()
    print(f"slower than {TARGET_MS} ms: {', '.join(slow)}" if slow else f"every one under {TARGET_MS} ms")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
