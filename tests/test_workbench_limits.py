"""What a file may ask of the workbench: room, memory, time and columns; and processes that end with who asked."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import zipfile
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.request import HTTPCookieProcessor, Request, build_opener, urlopen

import pytest
from starlette.testclient import TestClient

from sfumato.errors import BadInputError
from sfumato.runtime.memory import OpeningLimits
from sfumato.workbench.child_process import run_apart
from sfumato.workbench.errors import TooLargeError
from sfumato.workbench.projects import Desk
from test_workbench_gate import served, workers_of
from workbenches import CSRF, STUDY, client_of, make_desk, make_project, wait_until_gone

LIMITS = OpeningLimits(expanded=5_000_000, memory=1 << 30, seconds=120, columns=50)

GOOD = "age,ill\n" + "".join(f"{20 + n % 5},{'flu' if n % 2 else 'gout'}\n" for n in range(40))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


def previewed(desk: Desk, source: str, limits: OpeningLimits = LIMITS) -> tuple[int, str]:
    """Preview a file of the folder; then nothing may be left running."""
    with client_of(desk, limits=limits) as client:
        answer = client.post("/api/previews", json={"source": source})
    return answer.status_code, answer.json().get("error", "")


def test_a_workbook_that_unpacks_to_too_much_is_refused(desk: Desk) -> None:
    with zipfile.ZipFile(desk.folder / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/worksheets/sheet1.xml", b" " * 6_000_000)
    assert (desk.folder / "bomb.xlsx").stat().st_size < 10_000
    status, said = previewed(desk, "bomb.xlsx")
    assert status == 422 and "bomb.xlsx: unpacked, the file takes" in said and "most" in said


def test_a_file_of_too_many_columns_is_refused(desk: Desk) -> None:
    names = [f"c{number}" for number in range(51)]
    (desk.folder / "wide.csv").write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    status, said = previewed(desk, "wide.csv")
    assert status == 422 and "wide.csv: the file has 51 columns, and at most 50 are opened here" in said
    (desk.folder / "wide.csv").write_text("\n".join(",".join(row[:50]) for row in (names, ["1"] * 51)) + "\n")
    assert previewed(desk, "wide.csv")[0] == 200


def test_a_row_that_is_too_long_is_named(desk: Desk) -> None:
    long = "x" * 40_000_000  # DuckDB's threads passed over it
    (desk.folder / "long.csv").write_text(f"a,b\n1,2\n3,{long}\n")
    status, said = previewed(desk, "long.csv")
    assert status == 422 and "long.csv, line 3: the line is longer than 2 MB" in said
    (desk.folder / "long.csv").write_text(f"a,b\n{long},4\n5,6\n")
    status, said = previewed(desk, "long.csv")
    assert status == 422 and "line 2: the line is longer than 2 MB" in said


def test_a_project_is_made_within_limits_and_nothing_is_left_of_one_that_is_refused(desk: Desk) -> None:
    names = ",".join(f"c{number}" for number in range(51))
    (desk.folder / "wide.csv").write_text(f"{names}\n{names.replace('c', '')}\n")
    (desk.folder / "good.csv").write_text(
        "age,ill\n" + "".join(f"{20 + n % 5},{'flu' if n % 2 else 'gout'}\n" for n in range(40))
    )
    with client_of(desk, limits=LIMITS) as client:
        assert client.post("/api/projects", json={"source": "wide.csv"}).status_code == 422
        assert not (desk.folder / "wide").exists()
        assert client.post("/api/projects", json={"source": "good.csv"}).json() == {"project": "good"}
    assert (desk.folder / "good" / "study.toml").is_file()


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


def test_a_zero_in_a_path_is_no_file(desk: Desk) -> None:
    with client_of(desk) as client:
        made(client, desk)
        (desk.folder / "good" / "releases").mkdir()
        assert client.get("/projects/good/releases/x.csv%00.html").status_code == 404


def made(client: TestClient, desk: Desk) -> None:
    """Make a small project."""
    (desk.folder / "good.csv").write_text(
        "age,ill\n" + "".join(f"{20 + n % 5},{'flu' if n % 2 else 'gout'}\n" for n in range(40))
    )
    assert client.post("/api/projects", json={"source": "good.csv"}).status_code == 200
