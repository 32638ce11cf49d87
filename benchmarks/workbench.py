"""The workbench under load: users at once on loopback (target: flat memory, no error), and a run beside pages.

Run: python benchmarks/workbench.py [--users 20] [--minutes 10] [--candidates 200] [--only users | run]

It starts `sfumato serve` on a folder with a project of Adult that was explored, and one of the same table with so many
candidates. Every user opens pages and asks the API in turns, with a pause as people make it: projects, columns, map,
a release, the run, an upload that is previewed and audited. Memory is that of the server's process (the resident set),
read every ten seconds; it is flat where the median of the last quarter is at most a tenth above that of the second.

A run is a process of its own at low priority: the time that pages take is measured without one and beside it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common import print_table, verdict

PAUSE = 0.5
"""Seconds at most between two things that a user does; half of it in the mean."""

FLAT = 1.1
SLOWER = 3.0
"""How many times as long a page may take at most beside a run, by the median."""

RELEASE = "age,sex,ill\n" + "20-29,f,flu\n20-29,f,gout\n20-29,m,mumps\n30-39,*,flu\n30-39,*,gout\n" * 40


@dataclass
class Server:
    """A workbench that was started."""

    process: subprocess.Popen[str]
    port: int
    token: str

    @staticmethod
    def of(folder: Path) -> Server:
        """Start one on a folder."""
        words = [sys.executable, "-m", "sfumato", "serve", str(folder), "--no-browser"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        found = re.match(r"http://127.0.0.1:(\d+)/\?token=(.+)", process.stdout.readline())
        assert found is not None
        return Server(process, int(found[1]), found[2])

    def megabytes(self) -> float:
        """Return its resident memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024

    def processor(self) -> float:
        """Return the seconds of processor time that it has taken, its workers' not counted."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> float:
        """End it as Ctrl-C does; return how long that took."""
        begun = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        return time.monotonic() - begun


@dataclass
class User:
    """Somebody with a browser: a connection that is kept, the cookie, what pages send along."""

    server: Server
    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.origin = f"http://127.0.0.1:{self.server.port}"
        self.headers = {"cookie": f"sfumato-{self.server.port}={self.server.token}", "origin": self.origin}
        self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
        page = self.ask("GET", "/", "projects")
        self.headers["x-sfumato"] = re.findall(r'name="csrf" content="([^"]+)"', page.decode())[0]

    def ask(self, method: str, path: str, what: str, body: Any = None) -> bytes:
        """Ask for something, and note how long it took."""
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        begun = time.perf_counter()
        try:
            self.connection.request(method, path, content, self.headers)
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            self.errors.append(f"{method} {path}: {type(error).__name__}")
            return b"{}"
        self.seconds.setdefault(what, []).append(time.perf_counter() - begun)
        if answer.status != 200:
            self.errors.append(f"{method} {path}: {answer.status} {text[:200]!r}")
        return text

    def walk(self, point: str) -> None:
        """Do once what somebody does."""
        steps = [
            lambda: self.ask("GET", "/", "projects"),
            lambda: self.ask("GET", "/projects/explored/columns", "columns"),
            lambda: self.ask("GET", "/projects/explored/map", "map"),
            lambda: self.ask("GET", "/api/projects/explored/map", "map's values"),
            lambda: self.ask("GET", f"/projects/explored/points/{point}", "release"),
            lambda: self.ask("GET", "/projects/explored/run", "run"),
            lambda: self.ask("GET", "/projects/explored/wishes", "what matters"),
            lambda: self.ask("GET", "/static/workbench.css", "style"),
            self.hand_in,
        ]
        for step in steps:
            step()
            time.sleep(random.random() * PAUSE)

    def hand_in(self) -> None:
        """Upload a file and have it audited."""
        source = json.loads(self.ask("PUT", "/api/uploads/r.csv", "upload", RELEASE.encode())).get("source")
        body = {"file": source, "quasi": ["age", "sex"], "sensitive": ["ill"], "require": "k-anonymity k=2"}
        self.ask("POST", "/api/audit", "audit", body)


def make_folder(folder: Path, candidates: int) -> str:
    """Make a project that was explored and one to run; return the id of a release."""
    study = 'name = "{}"\n[table]\nsource = "adult"\n[[candidates]]\nrequirements = {}\n'
    few = ["k-anonymity k=5", "k-anonymity k=50", "l-diversity l=3 variant=frequency"]
    many = [f"k-anonymity k={k}" for k in range(2, candidates + 2)]
    for name, requirements in (("explored", few), ("many", many)):
        (folder / name).mkdir()
        (folder / name / "study.toml").write_text(study.format(name, json.dumps(requirements)), encoding="utf-8")
    explored = folder / "explored"
    words = ["explore", str(explored / "study.toml"), "--out", str(explored)]
    subprocess.run([sys.executable, "-m", "sfumato", *words], check=True, capture_output=True)
    return str(json.loads((explored / "points.json").read_text(encoding="utf-8"))["points"][0]["id"])


def load(server: Server, users: int, minutes: float, point: str) -> bool:
    """Let users work at once; say whether memory is flat and nothing failed."""
    ends = time.monotonic() + minutes * 60
    everybody = [User(server) for _ in range(users)]

    def work(user: User) -> None:
        while time.monotonic() < ends:
            user.walk(point)

    threads = [threading.Thread(target=work, args=(user,)) for user in everybody]
    for thread in threads:
        thread.start()
    memory = []
    while any(thread.is_alive() for thread in threads):
        memory.append(server.megabytes())
        time.sleep(min(10.0, minutes * 3))
    seconds: dict[str, list[float]] = {}
    for user in everybody:
        for what, times in user.seconds.items():
            seconds.setdefault(what, []).extend(times)
    rows = [(what, f"{len(times):,}", *_quantiles(times)) for what, times in seconds.items()]
    print_table(["asked for", "times", "median", "95 %", "longest"], rows)
    errors = [error for user in everybody for error in user.errors]
    quarter = max(1, len(memory) // 4)
    early, late = statistics.median(memory[quarter : 2 * quarter] or memory), statistics.median(memory[-quarter:])
    flat = late <= FLAT * early
    told = f"{early:,.0f} MB in the second quarter, {late:,.0f} MB in the last, {max(memory):,.0f} MB at most"
    print(f"\n{users} users, {minutes:g} minutes, {sum(map(len, seconds.values())):,} answers: {len(errors)} errors")
    print(f"memory: {told}: {'flat' if flat else 'NOT flat'}")
    for error in errors[:5]:
        print(f"  {error}")
    return flat and not errors


def beside(server: Server, candidates: int) -> bool:
    """Measure pages without a run and beside one; say whether they wait for it."""
    user = User(server)
    pages = {"projects": "/", "map": "/projects/explored/map", "run": "/projects/explored/run"}

    def measured(while_: Any) -> tuple[dict[str, list[float]], float]:
        """Open pages in turns; return how long each took, and the processor time of one."""
        user.seconds, before, opened = {}, server.processor(), 0
        while while_():
            for what, path in pages.items():
                user.ask("GET", path, what)
                opened += 1
            time.sleep(0.05)
        return user.seconds, (server.processor() - before) / opened

    ends = time.monotonic() + 10
    for path in pages.values():
        user.ask("GET", path, "warm")
    alone, effort = measured(lambda: time.monotonic() < ends)
    begun = time.monotonic()
    user.ask("POST", "/api/projects/many/run", "start", {})
    last: dict[str, Any] = {"state": "waiting"}

    def runs() -> bool:
        last.update(json.loads(user.ask("GET", "/api/projects/many/run", "progress")))
        return last["state"] in ("waiting", "running")

    with_run, effort_beside = measured(runs)
    took = time.monotonic() - begun
    rows = []
    for what in pages:
        ratio = statistics.median(with_run[what]) / statistics.median(alone[what])
        rows.append((what, *_quantiles(alone[what])[:2], *_quantiles(with_run[what])[:2], f"{ratio:.2f}"))
    print_table(["page", "median alone", "95 %", "median beside a run", "95 %", "ratio"], rows)
    worst = max(float(row[-1]) for row in rows)
    print(f"\nrun: {last['state']}, {last['done']} of {candidates} candidates in {took:.0f} s")
    print(
        f"processor time of the server for a page: {1000 * effort:.1f} ms alone, {1000 * effort_beside:.1f} ms beside"
    )
    told = f"slowest page: {worst:.2f} times as long beside a run (target {SLOWER:g})"
    print(f"{told}: {verdict(worst, SLOWER)}")
    for error in user.errors[:5]:
        print(f"  {error}")
    return worst <= SLOWER and not user.errors and last["state"] == "done"


def _quantiles(times: list[float]) -> tuple[str, str, str]:
    ordered = sorted(times)
    chosen = (ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)], ordered[-1])
    return tuple(f"{1000 * each:,.0f} ms" for each in chosen)  # type: ignore[return-value]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--candidates", type=int, default=200)
    parser.add_argument("--only", choices=["users", "run"])
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="sfumato-bench-"))
    try:
        point = make_folder(folder, options.candidates)
        server = Server.of(folder)
        good = True
        if options.only != "users":
            good &= beside(server, options.candidates)
        if options.only != "run":
            good &= load(server, options.users, options.minutes, point)
        print(f"ended {server.end():.1f} s after Ctrl-C")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    raise SystemExit(not good)


if __name__ == "__main__":
    main()
