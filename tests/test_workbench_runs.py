"""Runs of the workbench: a process of its own, told as it goes, stopped and taken up again, apart from all others."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.cookiejar import CookieJar
from pathlib import Path
from threading import Semaphore
from typing import Any
from urllib.request import HTTPCookieProcessor, Request, build_opener, urlopen

import pytest
from starlette.testclient import TestClient

import sfumato
from held_runs import HELD, held_until
from sfumato.errors import BadInputError
from sfumato.report.folder import save_map
from sfumato.runtime.cancellation import EXIT_CODE
from sfumato.runtime.memory import OpeningLimits
from sfumato.texts.catalogue import t
from sfumato.workbench.child_process import run_apart
from sfumato.workbench.errors import TooLargeError
from sfumato.workbench.projects import Desk
from sfumato.workbench.runs import Progress, Run, Runs
from test_workbench_gate import served, workers_of
from workbenches import (
    CSRF,
    MAY_END,
    STUDY,
    client_of,
    make_desk,
    make_held_project,
    make_project,
    people,
    wait_until_gone,
)

RUN = "/api/projects/{}/run"
KS = range(11, 42)
LONG = f"{STUDY}{HELD}\n[[candidates]]\nrequirements = {json.dumps([f'k-anonymity k={k}' for k in KS])}\n"
ALL = 3 + 1 + len(KS)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = make_desk(tmp_path)
    with held_until(desk.uploads / MAY_END):
        yield desk


@pytest.fixture
def runs() -> Runs:
    return Runs(at_once=2)


@pytest.fixture
def client(desk: Desk, runs: Runs) -> Iterator[TestClient]:
    with client_of(desk, runs=runs) as client:
        yield client


def heard(client: TestClient, name: str, told: str = "") -> list[tuple[str, str, dict[str, Any]]]:
    """Listen until the end; every event as (kind, number, values)."""
    events = []
    with client.stream("GET", f"{RUN.format(name)}/events?told={told}") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        kind = number = ""
        for line in stream.iter_lines():
            field, _, value = line.partition(": ")
            if field == "event":
                kind = value
            elif field == "id":
                number = value
            elif field == "data":
                events.append((kind, number, json.loads(value)))
    return events


def heard_before(
    let_go_on: Callable[[], object], client: TestClient, runs: Runs, *names: str
) -> dict[str, list[tuple[str, str, dict[str, Any]]]]:
    """Listen to runs that cannot end, and let them go on once all are listened to; the events of each."""
    with ThreadPoolExecutor() as pool:
        listening = {name: pool.submit(heard, client, name) for name in names}
        while not all(run._waiting for run in runs._runs.values()) and not any(f.done() for f in listening.values()):
            time.sleep(0.01)
        let_go_on()
        return {name: future.result() for name, future in listening.items()}


def wait(client: TestClient, name: str, until: Any) -> dict[str, Any]:
    for _ in range(6000):
        run: dict[str, Any] = client.get(RUN.format(name)).json()
        if until(run):
            return run
        time.sleep(0.05)
    raise AssertionError(run)


def test_a_run_is_told_as_it_goes_and_leaves_what_explore_leaves(desk: Desk) -> None:
    folder = make_project(desk.folder / "people")
    runs = Runs(at_once=1)
    runs._slots.acquire()  # so that it waits, and cannot end before it is begun again and listened to
    with client_of(desk, runs=runs) as client:
        assert client.get(RUN.format("people")).json()["state"] == "idle"
        begun = client.post(RUN.format("people"), json={})
        assert begun.status_code == 200 and begun.json()["state"] == "waiting"
        assert client.post(RUN.format("people"), json={}).status_code == 409
        events = heard_before(runs._slots.release, client, runs, "people")["people"]
        told_later = heard(client, "people")
    kinds = [kind for kind, _, _ in events]
    assert kinds[-1] == "end" and kinds.count("end") == 1 and "progress" in kinds
    points = [(number, values) for kind, number, values in events if kind == "point"]
    run = points[0][0].partition("-")[0]
    assert [number for number, _ in points] == [f"{run}-{place}" for place in range(1, len(points) + 1)]
    end = events[-1][2]
    assert (end["state"], end["done"], end["total"]) == ("done", 3, 3)
    kept = {point["id"]: point for point in json.loads((folder / "points.json").read_text())["points"]}
    assert {point["id"] for _, point in points} == set(kept) and len(kept) == 3
    for _, point in points:
        assert point["measures"] == kept[point["id"]]["measures"]
        assert {"words", "form", "family", "baseline", "anonymizer", "requirement", "intervals"} <= point.keys()
    assert (folder / "study.toml").read_text(encoding="utf-8") == STUDY
    assert {"report.html", "report-public.html", "cache.jsonl"} <= {path.name for path in folder.iterdir()}
    assert [(kind, values["state"]) for kind, _, values in told_later] == [("end", "done")]


def test_a_run_is_cancelled_and_goes_on_from_there(desk: Desk, client: TestClient, runs: Runs) -> None:
    folder, gate = make_held_project(desk, "held", LONG)
    client.post(RUN.format("held"))
    wait(client, "held", lambda run: run["done"] >= 3)
    changed = client.delete(RUN.format("held"))
    assert changed.status_code == 200
    stopped = wait(client, "held", lambda run: run["state"] not in ("waiting", "running"))
    assert stopped["state"] == "stopped" and stopped["sentence"] == t("run.stopped")
    measured = len((folder / "cache.jsonl").read_text().splitlines())
    assert 3 <= measured < ALL and not (folder / "points.json").exists()
    assert client.delete(RUN.format("held")).status_code == 409
    client.post(RUN.format("held"))
    again = wait(client, "held", lambda run: run["total"] > 0)
    assert again["done"] >= measured
    events = heard_before(gate.touch, client, runs, "held")["held"]
    assert events[-1][2]["state"] == "done"
    assert sum(kind == "point" for kind, _, _ in events) == ALL - measured
    points = json.loads((folder / "points.json").read_text())["points"]
    assert [point["status"] for point in points] == ["measured"] * ALL


def test_two_runs_at_once_do_not_mix(desk: Desk, client: TestClient, runs: Runs) -> None:
    make_project(desk.folder / "one")
    make_project(desk.folder / "other", STUDY.replace("k=10", "k=20"), people(300))
    for _ in range(2):
        runs._slots.acquire()  # both wait, and cannot end before they are listened to
    for name in ("one", "other"):
        assert client.post(RUN.format(name), json={}).status_code == 200
    ids = {}
    told = heard_before(lambda: runs._slots.release(2), client, runs, "one", "other")
    for name, events in told.items():
        assert events[-1][2]["state"] == "done"
        ids[name] = {values["id"] for kind, _, values in events if kind == "point"}
        file = desk.folder / name / "points.json"
        content = json.loads(file.read_text())
        assert ids[name] == {point["id"] for point in content["points"]}
        assert content["table"]["records"] == {"one": 240, "other": 300}[name]
    assert len(ids["one"] & ids["other"]) == 2


def test_whoever_listens_again_is_told_what_they_have_not_heard(desk: Desk) -> None:
    """Of this run; the id of an event of another one says nothing."""
    run = Run(desk.project(make_project(desk.folder / "people").name), None, None, Semaphore())
    run.points += [{"id": name} for name in "abc"]
    runs = Runs()
    runs._runs[run.project.folder.resolve()] = run

    async def first(last: str) -> list[str]:
        heard = []
        async for event in runs.events(run.project, last):
            if not event.startswith("event: point"):
                break
            heard.append(json.loads(event.split("data: ")[1])["id"])
        return heard

    for last, heard in (("", "abc"), (f"{run.id}-2", "c"), (f"{run.id}-3", ""), ("0123456789ab-2", "abc")):
        assert asyncio.run(first(last)) == list(heard)


def test_what_is_more_than_the_places_waits_and_can_be_cancelled_there(desk: Desk) -> None:
    make_held_project(desk, "held")
    make_project(desk.folder / "waits")
    with client_of(desk, runs=Runs(at_once=1)) as client:
        client.post(RUN.format("held"))
        wait(client, "held", lambda run: run["state"] == "running")
        client.post(RUN.format("waits"))
        assert client.get(RUN.format("waits")).json()["state"] == "waiting"
        client.delete(RUN.format("waits"))
        assert wait(client, "waits", lambda run: run["state"] != "waiting")["state"] == "stopped"


def test_a_study_that_is_run_cannot_change_meanwhile(desk: Desk, client: TestClient) -> None:
    make_held_project(desk, "held")
    client.post(RUN.format("held"))
    project = desk.project("held")
    with pytest.raises(Exception, match="cannot change meanwhile"):
        project.change("another name", lambda document: document.update(name="other"))
    client.delete(RUN.format("held"))
    wait(client, "held", lambda run: run["state"] == "stopped")
    project.change("another name", lambda document: document.update(name="other"))
    assert project.study.name == "other"


@pytest.mark.parametrize(("code", "state"), [(0, "done"), (EXIT_CODE, "stopped"), (-9, "stopped")])
def test_a_run_that_is_cancelled_when_its_map_is_there_is_done(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, code: int, state: str
) -> None:
    """As Ctrl-C is too late for a command whose files are there; else no page would know of which study the map is."""
    folder = make_project(desk.folder / "people")
    end = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)" if code < 0 else f"raise SystemExit({code})"
    worker = ["-c", f"import sys; sys.stdin.read(); {end}"]
    started = subprocess.Popen
    monkeypatch.setattr("sfumato.workbench.runs.GRACE_SECONDS", 600)  # on a slow machine it is not killed meanwhile
    monkeypatch.setattr(subprocess, "Popen", lambda words, **options: started([words[0], *worker], **options))
    run = Run(desk.project("people"), None, None, Semaphore(1))
    run.listen(lambda: run.cancel() if run.progress.state == "running" else None)
    (folder / "points.json").touch()
    run.thread.start()
    run.thread.join()
    assert run.progress.state == state
    assert ("mapped" in run.project.notes()) == (state == "done")


def test_a_run_that_is_cancelled_before_it_knows_its_task_is_stopped(desk: Desk) -> None:
    make_project(desk.folder / "people")
    run = Run(desk.project("people"), None, None, Semaphore(1))
    run.listen(lambda: run.cancel() if run.progress.state == "running" else None)  # told before the task is written
    run.thread.start()
    run.thread.join()
    assert run.progress.state == "stopped"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (STUDY.replace("people.csv", "nobody.csv"), "nobody.csv"),
        (STUDY.replace('quasi = ["age", "sex"]', 'quasi = ["agee"]'), "agee"),
    ],
)
def test_what_cannot_be_run_says_why(desk: Desk, client: TestClient, text: str, sentence: str) -> None:
    make_project(desk.folder / "bad", text)
    client.post(RUN.format("bad"))
    failed = wait(client, "bad", lambda run: run["state"] not in ("waiting", "running"))
    assert failed["state"] == "failed" and sentence in failed["sentence"] and "Traceback" not in failed["sentence"]


def test_a_budget_is_a_time(desk: Desk, client: TestClient) -> None:
    make_project(desk.folder / "people")
    refused = client.post(RUN.format("people"), json={"budget": "soon"})
    assert refused.status_code == 422 and "60s" in refused.json()["error"]
    assert client.get(RUN.format("people")).json()["state"] == "idle"


def test_a_map_that_was_made_outside_is_said_to_be_there(desk: Desk, client: TestClient) -> None:
    folder = make_project(desk.folder / "people")
    assert t("run.idle") in client.get("/projects/people/run").text
    save_map(sfumato.explore(str(folder / "study.toml")), folder)
    shown = client.get("/projects/people/run").text
    assert t("run.elsewhere") in shown and t("run.idle") not in re.sub(r"<script.*?</script>", "", shown, flags=re.S)


def test_how_the_last_run_ended_is_read_from_disk(desk: Desk) -> None:
    make_project(desk.folder / "people")
    project = desk.project("people")
    project.note(run=Progress("running", 5, 9).values())
    assert Runs().progress(project).state == "stopped"
    project.note(run=Progress("failed", 5, 9, sentence="no").values())
    assert Runs().progress(project).sentence == "no"


def test_a_worker_ends_with_the_workbench_that_started_it(desk: Desk) -> None:
    """Also where that is killed, and can do nothing any more: its end of the pipe is closed."""
    folder, _ = make_held_project(desk, "held")
    code = (
        "import sys, time; from pathlib import Path; from sfumato.workbench.projects import Desk\n"
        "from sfumato.workbench.runs import Runs\n"
        "desk = Desk(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "runs = Runs(); runs.start(desk.project('held'))\n"
        "run = next(iter(runs._runs.values()))\n"
        "while run.progress.done < 3: time.sleep(.05)\n"
        "print(run._process.pid, flush=True); sys.stdin.read()\n"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", code, str(desk.folder), str(desk.uploads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    worker = int(started.stdout.readline())
    started.send_signal(signal.SIGKILL)
    started.wait()
    wait_until_gone(worker)
    assert not (folder / "points.json").exists()


LIMITS = OpeningLimits(expanded=5_000_000, memory=1 << 30, seconds=120, columns=50)


@pytest.fixture
def plain_desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


def previewed(desk: Desk, source: str, limits: OpeningLimits = LIMITS) -> tuple[int, str]:
    """Preview a file of the folder; then nothing may be left running."""
    with client_of(desk, limits=limits) as client:
        answer = client.post("/api/previews", json={"source": source})
    return answer.status_code, answer.json().get("error", "")


def test_a_workbook_that_unpacks_to_too_much_is_refused(plain_desk: Desk) -> None:
    with zipfile.ZipFile(plain_desk.folder / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/worksheets/sheet1.xml", b" " * 6_000_000)
    assert (plain_desk.folder / "bomb.xlsx").stat().st_size < 10_000
    status, said = previewed(plain_desk, "bomb.xlsx")
    assert status == 422 and "bomb.xlsx: unpacked, the file takes" in said and "most" in said


def test_a_file_of_too_many_columns_is_refused(plain_desk: Desk) -> None:
    names = [f"c{number}" for number in range(51)]
    (plain_desk.folder / "wide.csv").write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    status, said = previewed(plain_desk, "wide.csv")
    assert status == 422 and "wide.csv: the file has 51 columns, and at most 50 are opened here" in said
    (plain_desk.folder / "wide.csv").write_text("\n".join(",".join(row[:50]) for row in (names, ["1"] * 51)) + "\n")
    assert previewed(plain_desk, "wide.csv")[0] == 200


def test_a_row_that_is_too_long_is_named(plain_desk: Desk) -> None:
    long = "x" * 40_000_000  # DuckDB's threads passed over it
    (plain_desk.folder / "long.csv").write_text(f"a,b\n1,2\n3,{long}\n")
    status, said = previewed(plain_desk, "long.csv")
    assert status == 422 and "long.csv, line 3: the line is longer than 2 MB" in said
    (plain_desk.folder / "long.csv").write_text(f"a,b\n{long},4\n5,6\n")
    status, said = previewed(plain_desk, "long.csv")
    assert status == 422 and "line 2: the line is longer than 2 MB" in said


def test_a_project_is_made_within_limits_and_nothing_is_left_of_one_that_is_refused(plain_desk: Desk) -> None:
    names = ",".join(f"c{number}" for number in range(51))
    (plain_desk.folder / "wide.csv").write_text(f"{names}\n{names.replace('c', '')}\n")
    (plain_desk.folder / "good.csv").write_text(
        "age,ill\n" + "".join(f"{20 + n % 5},{'flu' if n % 2 else 'gout'}\n" for n in range(40))
    )
    with client_of(plain_desk, limits=LIMITS) as client:
        assert client.post("/api/projects", json={"source": "wide.csv"}).status_code == 422
        assert not (plain_desk.folder / "wide").exists()
        assert client.post("/api/projects", json={"source": "good.csv"}).json() == {"project": "good"}
    assert (plain_desk.folder / "good" / "study.toml").is_file()


def wait_for_ever(started: str) -> None:
    Path(started).write_text(str(os.getpid()), encoding="ascii")
    threading.Event().wait()


def take_memory(size: int) -> int:
    taken = bytearray(os.urandom(1)) * size
    threading.Event().wait()
    return len(taken)


def raise_ours() -> None:
    raise BadInputError("a sentence")


def child_of(path: Path) -> int:
    """Wait until a child has said its number."""
    while not path.is_file() or not path.read_text():
        time.sleep(0.02)
    return int(path.read_text())


def test_a_child_that_takes_too_long_or_too_much_is_ended(tmp_path: Path) -> None:
    gone = threading.Event()
    with pytest.raises(TooLargeError, match=r"longer than 1 seconds.*--most-seconds"):
        run_apart(wait_for_ever, [str(tmp_path / "a")], OpeningLimits(seconds=1), gone)
    with pytest.raises(TooLargeError, match=r"more than 0.5 GB of memory.*--most-memory"):
        run_apart(take_memory, [1 << 30], OpeningLimits(memory=1 << 29), gone)
    with pytest.raises(BadInputError, match="a sentence"):
        run_apart(raise_ours, [], OpeningLimits(), gone)
    assert multiprocessing.active_children() == []


def test_a_child_ends_when_nobody_waits(tmp_path: Path) -> None:
    gone, started = threading.Event(), tmp_path / "a"
    ended: list[BaseException] = []

    def ask() -> None:
        try:
            run_apart(wait_for_ever, [str(started)], OpeningLimits(), gone)
        except BadInputError as error:
            ended.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    process = child_of(started)
    gone.set()
    asking.join()
    assert len(ended) == 1
    wait_until_gone(process)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="reads /proc")
def test_no_worker_outlives_a_killed_workbench(tmp_path: Path) -> None:
    make_project(tmp_path / "people", STUDY.replace("queries number=20", "queries number=200000"))
    started, address = served(tmp_path)
    base = address.split("/?token=")[0]
    jar = CookieJar()
    page = build_opener(HTTPCookieProcessor(jar)).open(address).read().decode()
    [cookie] = jar
    ours = {
        "cookie": f"{cookie.name}={cookie.value}",
        "origin": base,
        CSRF: page.split('name="csrf" content="')[1].split('"')[0],
    }
    urlopen(Request(f"{base}/api/projects/people/run", b"{}", ours, method="POST")).read()
    while not (workers := workers_of(started.pid)):
        time.sleep(0.05)
    started.send_signal(signal.SIGKILL)
    started.wait()
    wait_until_gone(*workers)


def test_a_zero_in_a_path_is_no_file(plain_desk: Desk) -> None:
    with client_of(plain_desk) as client:
        made(client, plain_desk)
        (plain_desk.folder / "good" / "releases").mkdir()
        assert client.get("/projects/good/releases/x.csv%00.html").status_code == 404


def made(client: TestClient, desk: Desk) -> None:
    """Make a small project."""
    (desk.folder / "good.csv").write_text(
        "age,ill\n" + "".join(f"{20 + n % 5},{'flu' if n % 2 else 'gout'}\n" for n in range(40))
    )
    assert client.post("/api/projects", json={"source": "good.csv"}).status_code == 200
