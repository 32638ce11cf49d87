"""The gate of the workbench: who gets in, what a stranger's page and a stranger's study can do, what is left behind."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.request import HTTPCookieProcessor, Request, build_opener, urlopen

import duckdb
import pytest
from starlette.testclient import TestClient
from starlette.types import Message, Scope

from command_line import run
from sfumato.workbench import app as of_app
from sfumato.workbench.access import CSRF, HEADERS, Gate
from sfumato.workbench.app import _listening, opened
from sfumato.workbench.endpoints import Call, Endpoint, House
from sfumato.workbench.errors import RefusedError
from sfumato.workbench.projects import Desk
from sfumato.workbench.views.files import harmless
from sfumato.workbench.views.point import PREVIEWS
from workbenches import HOST, ORIGIN, STUDY, client_of, make_desk, make_project, wait_until_gone

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


@pytest.fixture
def client(desk: Desk) -> Iterator[TestClient]:
    with client_of(desk) as client:
        yield client


# -- who gets in


def test_without_the_secret_nothing_but_scripts_and_styles_is_answered(client: TestClient) -> None:
    client.cookies.clear()
    for path in ("/", "/api/projects", "/api/openapi.json", "/projects/x/run", "/nothing", "/?token=wrong", "/?token="):
        answer = client.get(path)
        assert answer.status_code == 403, path
        assert "it holds a secret" in answer.text
        assert ("text/html" in answer.headers["content-type"]) is not path.startswith("/api/")
    assert client.get("/static/workbench.css").status_code == 200
    assert client.get("/static/..%2fapp.py").status_code == 404
    assert client.put("/api/uploads/x.csv", content=b"a").status_code == 403


def test_the_secret_of_the_address_becomes_a_cookie(desk: Desk) -> None:
    gate = Gate(frozenset([HOST]))
    with TestClient(opened(House(desk), gate), ORIGIN, follow_redirects=False) as client:
        answer = client.get(f"/audit?token={gate.token}")
        assert (answer.status_code, answer.headers["location"]) == (303, "/audit")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower() and "sfumato-8765=" in cookie
        assert client.get("/").status_code == 200
        assert gate.token not in client.get("/").text and gate.token not in repr(gate)
        assert gate.token not in cookie and gate.session not in repr(gate)
        elsewhere = client.get(f"/%2Fevil.example/?token={gate.token}").headers["location"]  # with the cookie, again
        assert elsewhere.startswith("/") and not elsewhere.startswith("//")
        client.cookies.clear()
        answer = client.get(f"/?token={gate.token}")
        assert answer.status_code == 403 and "was used already" in answer.text and "set-cookie" not in answer.headers
    gate = Gate(frozenset([HOST]))
    with TestClient(opened(House(desk), gate), "http://evil.example") as client:
        answer = client.get(f"/?token={gate.token}")
        assert answer.status_code == 403 and "set-cookie" not in answer.headers
    assert not gate.used.is_set()


@pytest.mark.parametrize("host", ["evil.example:8765", "127.0.0.1", "127.0.0.1:80", "", "localhost:8765.evil.example"])
def test_a_name_that_was_made_to_lead_here_is_refused(client: TestClient, host: str) -> None:
    for path in ("/", "/api/projects", "/static/workbench.css"):
        assert client.get(path, headers={"host": host}).status_code == 403


def test_a_change_comes_from_our_own_pages_alone(desk: Desk, client: TestClient) -> None:
    make_project(desk.folder / "people")
    ours = dict(client.headers)
    for strange in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://127.0.0.1:9999"},
        {CSRF: "guess"},
        {CSRF: ""},
    ):
        for method, path in (
            ("PUT", "/api/uploads/x.csv"),
            ("POST", "/api/audit"),
            ("DELETE", "/api/projects/people/run"),
        ):
            answer = client.request(method, path, headers={**ours, **strange}, content=b"{}")
            assert answer.status_code == 403, (strange, path)
    assert list(desk.uploads.iterdir()) == []
    assert client.get("/api/projects", headers={"sec-fetch-site": "same-site"}).status_code == 403
    assert client.get("/api/projects", headers={"sec-fetch-site": "same-origin"}).status_code == 200
    assert client.put("/api/uploads/x.csv", content=b"a,b\n").status_code == 200


def test_every_answer_has_our_headers_and_a_sentence(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def breaks(call: Call) -> Any:
        raise ValueError("a patient's name")

    broken = (Endpoint("GET", "/api/broken", "Breaks.", breaks), Endpoint("GET", "/broken", "Breaks.", breaks))
    monkeypatch.setattr(of_app, "ENDPOINTS", (*of_app.ENDPOINTS, *broken))
    monkeypatch.delenv("SFUMATO_DEBUG", raising=False)
    make_project(desk.folder / "people")
    asked = [
        *(("GET", path, 200) for path in ("/", "/audit", "/projects/people/run", "/projects/people/files")),
        *(("HEAD", path, 200) for path in ("/", "/api/projects", "/api/projects/people/run/events")),
        *(("GET", path, 404) for path in ("/nothing", "/api/nothing", "/projects/none/run", "/static/none.js")),
        *((method, "/api/openapi.json", 405) for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH")),
        *(("GET", path, 500) for path in ("/broken", "/api/broken")),
    ]
    with client_of(desk) as client:
        for method, path, status in asked:
            answer = client.request(method, path)
            assert answer.status_code == status, (method, path)
            for name, value in HEADERS.items():
                if not (path.startswith("/static/") and name == "cache-control"):
                    assert answer.headers[name] == value, (method, path, name)
            if status >= 400:
                is_api = path.startswith("/api/")
                sentence = answer.json()["error"] if is_api else re.findall(r'class="lead">(.+?)</p>', answer.text)[0]
                assert sentence.endswith((".", "here", "here.")) and "Traceback" not in answer.text
            assert "patient" not in answer.text
    said = capfd.readouterr().err
    assert "patient" not in said and "Traceback" not in said
    reference = re.search(r"sfumato: (\w{8}): ValueError at /broken", said)
    assert reference is not None
    monkeypatch.setenv("SFUMATO_DEBUG", "1")
    with client_of(desk) as client:
        client.get("/api/broken")
    assert "a patient's name" in capfd.readouterr().err


def test_no_policy_lets_anything_run_that_is_not_ours(desk: Desk, client: TestClient) -> None:
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy.replace("https:", "")
    make_project(desk.folder / f"a {SCRIPT.replace('/', '')}")
    page = client.get("/").text
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    assert not re.search(r"<script(?! type=\"(module|application/json)\")|\son\w+=|\sstyle=|<style", page)


# -- what comes in


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("..%2F..%2Fetc%2Fpasswd", "passwd"),
        ("a%00b.csv", "a_b.csv"),
        ("%2E%2E", "upload"),
        ("=HYPERLINK(1).csv", "=HYPERLINK(1).csv"),
        ("Ärzte%20%3Cb%3E.csv", "Ärzte _b_.csv"),
        ("x" * 300 + ".csv", "x" * 100 + ".csv"),
        (".hidden", "hidden"),
        ("c:%5Cwindows%5Cx.csv", "x.csv"),
    ],
)
def test_an_upload_lies_in_a_folder_of_its_own_whatever_it_is_called(
    desk: Desk, client: TestClient, name: str, kept: str
) -> None:
    answer = client.put(f"/api/uploads/{name}", content=b"a,b\n1,2\n")
    if answer.status_code != 200:  # a name with a slash in it is no such address
        assert answer.status_code in (404, 405)
        assert harmless("../../etc/passwd") == kept
        return
    path = desk.inside(answer.json()["source"])
    assert path.name == kept == answer.json()["name"] and path.read_bytes() == b"a,b\n1,2\n"
    assert path.parent.parent == desk.uploads and path.parent.stat().st_mode & 0o077 == 0
    again = client.put(f"/api/uploads/{name}", content=b"x").json()["source"]
    assert again != answer.json()["source"] and path.read_bytes() == b"a,b\n1,2\n"


def test_uploads_are_limited_together_and_leave_nothing_when_refused(desk: Desk) -> None:
    with client_of(desk, most_upload=1000) as client:
        assert client.put("/api/uploads/a.csv", content=b"x" * 600).status_code == 200
        refused = client.put("/api/uploads/b.csv", content=b"x" * 600)
        assert refused.status_code == 413 and "--most-upload" in refused.json()["error"]
        assert client.put("/api/uploads/c.csv", content=b"").status_code == 422
        assert [path.name for path in desk.uploads.rglob("*") if path.is_file()] == ["a.csv"]
        assert len(list(desk.uploads.iterdir())) == 1


def test_an_upload_that_is_broken_off_leaves_nothing_and_is_no_error(
    desk: Desk, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whoever sends it has gone, so there is nobody to tell and nothing to report."""
    gate = Gate(frozenset([HOST]))
    sent: list[Message] = []
    headers = {"host": HOST, "origin": ORIGIN, CSRF: gate.csrf(), "cookie": f"{gate.cookie}={gate.session}"}
    scope: Scope = {
        "type": "http",
        "method": "PUT",
        "path": "/api/uploads/a.csv",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    pieces: Iterator[Message] = iter(
        [{"type": "http.request", "body": b"a,b\n", "more_body": True}, {"type": "http.disconnect"}]
    )

    async def receive() -> Message:
        return next(pieces)

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(opened(House(desk), gate)(scope, receive, send))
    assert sent[0]["status"] == 400 and list(desk.uploads.iterdir()) == []
    assert capfd.readouterr().err == ""


# -- paths that lead out


def test_no_path_leads_out_of_the_folder(desk: Desk, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    (desk.folder / "link.csv").symlink_to(secret)
    (desk.folder / "links").symlink_to(tmp_path)
    (desk.folder / "round").symlink_to(desk.folder / "round")
    (desk.folder / "own.csv").write_text("a\n")
    for text in (
        "../secret.csv",
        str(secret),
        "link.csv",
        "links/secret.csv",
        "upload:../secret.csv",
        "a/../../secret.csv",
    ):
        with pytest.raises(RefusedError):
            desk.inside(text)
    for text in ("a\0b", "x" * 5000, "round"):
        with pytest.raises(RefusedError, match="no file can be called so"):
            desk.inside(text)
    assert desk.inside("own.csv") == (desk.folder / "own.csv").resolve()
    assert desk.inside("./x/../own.csv") == (desk.folder / "own.csv").resolve()


def test_a_project_is_no_link_and_no_path(desk: Desk, client: TestClient, tmp_path: Path) -> None:
    make_project(tmp_path / "outside")
    (desk.folder / "linked").symlink_to(tmp_path / "outside")
    half = desk.folder / "half"
    half.mkdir()
    (half / "study.toml").symlink_to(tmp_path / "outside" / "study.toml")
    for name in ("linked", "half", "..", ".", "..%2Foutside", "%2e%2e%2Foutside", "x%00", "y" * 300, "%2Fetc"):
        assert client.get(f"/api/projects/{name}/run").status_code in (403, 404), name
    assert client.get("/api/projects").json() == {"projects": []}


SEX = '[table.hierarchy.sex]\ntype = "flat"\nvalues = ["f", "m"]\n'
BASKETS = """
name = "b"
[baskets]
source = "people.csv"
[[candidates]]
anonymizers = ["coat"]
"""
SECRET_VIEW = "CREATE VIEW people AS SELECT * FROM read_csv('/etc/passwd', header=false, columns={'age': 'VARCHAR'})"


def test_a_database_from_elsewhere_is_not_opened(desk: Desk, client: TestClient) -> None:
    """Its views may read any file, by whichever way it is named."""
    with duckdb.connect(desk.folder / "evil.duckdb") as connection:
        connection.execute(SECRET_VIEW)
    evil = client.put("/api/uploads/evil.duckdb", content=(desk.folder / "evil.duckdb").read_bytes()).json()["source"]
    for source in ("evil.duckdb", "evil.duckdb#people", evil, f"{evil}#people"):
        for path, body in (
            ("/api/previews", {"source": source}),
            ("/api/projects", {"source": source}),
            ("/api/audit/columns", {"file": source}),
            ("/api/audit", {"file": source, "quasi": ["age"]}),
        ):
            answer = client.post(path, json=body)
            assert answer.status_code == 403 and "root" not in answer.text, (source, path)


def test_no_file_of_a_project_is_a_link(desk: Desk, client: TestClient, tmp_path: Path) -> None:
    """What is measured would be added to whatever it leads to."""
    own = tmp_path / "own"
    own.write_text("mine")
    for name in ("cache.jsonl", "workbench.json", "points.json", "search.npz"):
        folder = make_project(desk.folder / name.partition(".")[0])
        (folder / name).symlink_to(own)
        answer = client.post(f"/api/projects/{folder.name}/run")
        assert answer.status_code == 403 and f"{name} of {folder.name} is a link" in answer.json()["error"]
    hidden = make_project(desk.folder / "hidden")
    (hidden / ".study.toml").symlink_to(own)
    desk.project("hidden").change("another name", lambda document: document.update(name="other"))
    assert own.read_text() == "mine" and desk.project("hidden").study.name == "other"


HOSTILE = {
    "an absolute source": STUDY.replace('"people.csv"', '"/etc/passwd"'),
    "a source above": STUDY.replace('"people.csv"', '"../../secret.csv"'),
    "a link": STUDY.replace('"people.csv"', '"link.csv"'),
    "a pattern": STUDY.replace('"people.csv"', '"/etc/*.conf"'),
    "a pattern that climbs": STUDY.replace('"people.csv"', '"../../*.csv"'),
    "a folder with a link in it": STUDY.replace('"people.csv"', '"parts"'),
    "a pattern with a link in it": STUDY.replace('"people.csv"', '"parts/*.csv"'),
    "a file of hierarchies": STUDY.replace("quasi = ", 'hierarchies = "/etc/passwd"\nquasi = '),
    "a level table": STUDY.replace(SEX, "").replace("quasi = ", "hierarchy.sex = '/etc/passwd'\nquasi = "),
    "a level table of a file": STUDY.replace("quasi = ", 'hierarchies = "levels.toml"\nquasi = '),
    "a place to spill": STUDY.replace("quasi = ", 'spill = "/var/tmp"\nquasi = '),
    "a file made elsewhere": STUDY + '[[candidates]]\nfile = "/etc/passwd"\n',
    "a control file": STUDY.replace("[scales]", '[scales]\nattacks = "attacks file=/etc/passwd"'),
    "a database": STUDY.replace('"people.csv"', '"people.duckdb#people"'),
    "a server": STUDY.replace('"people.csv"', '"postgresql://localhost/census#people"'),
    "an address": STUDY.replace('"people.csv"', '"https://example.org/people.csv"'),
    "a store": STUDY.replace('"people.csv"', '"s3://bucket/people.parquet"'),
    "baskets": BASKETS.replace("people.csv", "/etc/passwd"),
    "a tree": BASKETS.replace("[[", 'tree = "/etc/passwd"\n[['),
    "constraints": BASKETS + 'requirements = ["privacy-constraints k=2 file=/etc/passwd"]\n',
    "queries of a file": BASKETS.replace("[[", '[scales]\nqueries = "item-queries kind=file file=/etc/passwd"\n[['),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_study_from_elsewhere_reaches_nothing_of_this_machine(
    desk: Desk, client: TestClient, tmp_path: Path, what: str
) -> None:
    (tmp_path / "secret.csv").write_text("age,sex,ill\n")
    folder = make_project(desk.folder / "people", HOSTILE[what])
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    (folder / "parts").mkdir()
    (folder / "parts" / "a.csv").symlink_to(tmp_path / "secret.csv")
    (folder / "levels.toml").write_text('sex = "/etc/passwd"\n')
    for method, path in (("POST", "/api/projects/people/run"), ("GET", "/projects/people/run")):
        answer = client.request(method, path)
        assert answer.status_code == 403, answer.text
        assert "root:" not in answer.text
    assert client.get("/api/projects/people/run").json()["error"].count("workbench")
    assert not (folder / "workbench.json").exists()


def test_the_same_study_cannot_be_made_by_changing_one(desk: Desk) -> None:
    project = desk.project(make_project(desk.folder / "people").name)
    for change in (
        lambda document: document["table"].update(source="/etc/passwd"),
        lambda document: document["candidates"].append({"file": "/etc/passwd"}),
    ):
        with pytest.raises(RefusedError):
            project.change("reach out", change)
    assert project.file.read_text(encoding="utf-8") == STUDY
    assert [path.name for path in project.folder.iterdir() if "toml" in path.name] == ["study.toml"]


def test_whoever_started_it_may_allow_more(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, databases=True, servers=True)
    for number, what in enumerate(("a server", "an address", "a database")):
        assert desk.project(make_project(desk.folder / f"p{number}", HOSTILE[what]).name).study.name == "people"
    make_project(desk.folder / "still", HOSTILE["an absolute source"])
    with pytest.raises(RefusedError):
        desk.project("still")


def test_a_source_that_is_not_there_is_no_secret(desk: Desk) -> None:
    """Such as a link to an upload that went with an earlier run of the workbench: whoever opens it says so."""
    folder = make_project(desk.folder / "gone", STUDY.replace("people.csv", "link.csv"))
    for leads_to in ("/tmp/sfumato-uploads-gone/a.csv", "/etc/passwd"):
        (folder / "link.csv").unlink(missing_ok=True)
        (folder / "link.csv").symlink_to(leads_to)
        if leads_to == "/etc/passwd":  # made after the study was looked at
            with pytest.raises(RefusedError):
                desk.project("gone")
        else:
            assert desk.project("gone").study.name == "people"
    make_project(desk.folder / "other", STUDY.replace("people.csv", "/nothing/a.csv"))
    with pytest.raises(RefusedError):
        desk.project("other")


# -- starting and ending


def test_what_is_lacking_is_a_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = run("serve", tmp_path, "--no-browser", "--port", taken.getsockname()[1])
        assert ended.returncode == 2 and "cannot be used" in ended.stderr and "--port" in ended.stderr
    for options, word in ((["--most-upload", "much"], "must be a size"),):
        ended = run("serve", tmp_path, "--no-browser", *options)
        assert ended.returncode == 2 and word in ended.stderr, ended
    ended = run("serve", tmp_path / "nowhere", "--no-browser")
    assert ended.returncode == 2 and "there is no such folder" in ended.stderr


def served(folder: Path, *options: str) -> tuple[subprocess.Popen[str], str]:
    """Start the workbench as a shell does; return it with the address that it prints."""
    words = [sys.executable, "-m", "sfumato", "serve", str(folder), "--no-browser", *options]
    started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert started.stdout is not None
    address = started.stdout.readline().strip()
    assert address, started.stderr and started.stderr.read()
    return started, address


def uploads_of(process: subprocess.Popen[str], prefix: str = "sfumato-uploads-") -> list[Path]:
    """The folders of uploads, or of previews, that a process holds the lock of."""
    open_files = (link.readlink() for link in Path(f"/proc/{process.pid}/fd").iterdir() if link.exists())
    return [file.parent for file in open_files if prefix in str(file)]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="reads /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_within_seconds_and_leaves_nothing(tmp_path: Path, how: signal.Signals) -> None:
    """While somebody listens to a run."""
    slow = STUDY.replace("k=10", "k=11").replace("queries number=20", "queries number=20000")
    make_project(tmp_path / "people", slow)
    started, address = served(tmp_path)
    base, jar = address.split("/?token=")[0], CookieJar()
    page = build_opener(HTTPCookieProcessor(jar)).open(address).read().decode()
    csrf = re.findall(r'name="csrf" content="([^"]+)"', page)[0]
    [cookie] = jar
    ours = {"cookie": f"{cookie.name}={cookie.value}", "origin": base, CSRF: csrf}
    urlopen(Request(f"{base}/api/uploads/a.csv", b"a\n1\n", ours, method="PUT")).read()
    urlopen(Request(f"{base}/api/projects/people/run", b"{}", ours, method="POST")).read()
    listening = urlopen(Request(f"{base}/api/projects/people/run/events", headers=ours))
    assert listening.readline().startswith(b"event: ")
    [uploads] = uploads_of(started)
    assert len(list(uploads.glob("*/a.csv"))) == 1
    workers = workers_of(started.pid)
    started.send_signal(how)
    assert started.wait(90) == 0, started.stderr and started.stderr.read()
    assert not uploads.exists()
    wait_until_gone(*workers)
    assert not [path for path in tmp_path.rglob("*") if ".part" in path.name]


def workers_of(pid: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(status.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="reads /proc")
def test_what_a_killed_workbench_left_is_removed_by_the_next(tmp_path: Path) -> None:
    started, _ = served(tmp_path)
    left = [*uploads_of(started), *uploads_of(started, PREVIEWS)]
    (left[1] / "release.csv").write_text("a,b", encoding="utf-8")
    started.kill()
    started.wait()
    assert len(left) == 2 and all(folder.exists() for folder in left)
    again, _ = served(tmp_path)
    own = [*uploads_of(again), *uploads_of(again, PREVIEWS)]
    assert not any(folder.exists() for folder in left) and all(folder.exists() for folder in own)
    again.send_signal(signal.SIGINT)
    assert again.wait(90) == 0 and not any(folder.exists() for folder in own)


def test_answers_leave_at_once() -> None:
    """Only of a socket that says it is TCP asyncio takes the delay of 40 ms that a page with two packets would have."""
    with _listening("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP
