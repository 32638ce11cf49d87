"""Publishing from a page: it says how far it is, can be stopped at any step and leaves nothing; previews stay true."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from sfumato import BadInputError, read_map
from sfumato.publish.publication import STEPS, Publishable
from sfumato.runtime.cancellation import check_cancelled, remove_unfinished
from sfumato.runtime.staging import staged
from sfumato.texts.catalogue import t
from sfumato.workbench.projects import Desk
from sfumato.workbench.runs import Publications, UnderWay
from workbench_maps import ids, made, make_shop
from workbenches import STUDY, client_of, make_desk, make_project

RELEASES = "/api/projects/people/releases"
PUBLISHING = "/api/projects/people/publishing"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = make_desk(tmp_path_factory.mktemp("publishing"))
    made(make_project(desk.folder / "people"), STUDY)
    make_shop(desk)
    return desk


@pytest.fixture(scope="module")
def client(desk: Desk) -> Iterator[TestClient]:
    with client_of(desk) as client:
        yield client


def a_release(desk: Desk, project: str = "people") -> str:
    map_ = read_map(desk.folder / project)
    return ids(map_, requirement="k-anonymity k=5" if project == "people" else "km-anonymity k=5 m=2")[0]


@pytest.mark.parametrize("project", ["people", "shop"])
@pytest.mark.parametrize("last", STEPS)
def test_stopped_at_any_step_nothing_is_left_and_it_can_be_done_again(
    client: TestClient, desk: Desk, monkeypatch: pytest.MonkeyPatch, project: str, last: str
) -> None:
    told: list[str] = []
    folder = desk.folder / project / "releases"

    def tell(under_way: UnderWay, step: str) -> None:
        told.append(step)
        if step == last:
            under_way.cancel.set()

    monkeypatch.setattr(UnderWay, "tell", tell)
    body = {"point": a_release(desk, project), "file": f"{last}.csv", "mapping": True}
    stopped = client.post(f"/api/projects/{project}/releases", json=body)
    assert stopped.status_code == 409 and stopped.json()["error"] == t("publish.stopped")
    assert told == list(STEPS[: STEPS.index(last) + 1])
    assert not folder.exists() or not [path.name for path in folder.iterdir() if last in path.name]
    assert last not in json.dumps(client.get(f"/api/projects/{project}/releases").json())
    assert client.get(f"/api/projects/{project}/publishing").json()["under_way"] is False
    monkeypatch.undo()
    assert client.post(f"/api/projects/{project}/releases", json=body).status_code == 200


def test_another_tab_sees_how_far_it_is_and_stops_it_while_it_writes(
    client: TestClient, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an interrupted query raises is no error of anybody's: it was stopped."""
    begun, stopped = threading.Event(), threading.Event()

    def interrupted(published: Publishable, drafts: list[Path]) -> Any:
        drafts[0].write_text("half of", encoding="utf-8")
        begun.set()
        assert stopped.wait(600)
        raise RuntimeError("INTERRUPT Error: Interrupted!")

    monkeypatch.setattr(Publishable, "write", interrupted)
    answers: list[Any] = []
    body = {"point": a_release(desk), "file": "half.csv"}
    assert client.request("DELETE", PUBLISHING).status_code == 409, "nothing is under way"
    thread = threading.Thread(target=lambda: answers.append(client.post(RELEASES, json=body)))
    thread.start()
    assert begun.wait(600)
    progress = client.get(PUBLISHING).json()
    assert (progress["step"], progress["steps"], progress["file"]) == (3, len(STEPS), "half.csv")
    assert progress["sentence"] == t("publish.step_write")
    assert '"publishing":true' in client.get("/projects/people/publish").text
    assert client.request("DELETE", PUBLISHING).json()["sentence"] == t("publish.stopping")
    stopped.set()
    thread.join(600)
    assert answers[0].status_code == 409 and answers[0].json()["error"] == t("publish.stopped")
    assert not [path.name for path in (desk.folder / "people" / "releases").iterdir() if "half" in path.name]


def test_the_end_of_the_workbench_stops_a_publication_and_removes_its_drafts(desk: Desk) -> None:
    publications, folder = Publications(), desk.folder / "people" / "releases"
    begun, errors = threading.Event(), list[str]()

    def publish() -> None:
        try:
            with publications.alone(folder, "a.csv"):
                begun.set()
                while True:
                    threading.Event().wait(0.01)
                    check_cancelled()
        except Exception as error:
            errors.append(str(error))

    thread = threading.Thread(target=publish)
    thread.start()
    assert begun.wait(600)
    publications.close()
    thread.join(600)
    assert errors == [t("publish.stopped")]
    with pytest.raises(Exception, match=t("run.closed")), publications.alone(folder, "b.csv"):
        pass


def test_what_is_unfinished_goes_when_the_process_is_left(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="nothing was left behind"), staged([tmp_path / "a.csv"]) as [draft]:
        draft.write_text("half", encoding="utf-8")
        remove_unfinished()
        assert list(tmp_path.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


def test_a_preview_is_never_of_data_that_have_changed(client: TestClient, desk: Desk) -> None:
    """The same map, the same study; only the file has another content."""
    path = f"/api/projects/people/points/{a_release(desk)}/certificate"
    file = desk.folder / "people" / "people.csv"
    before = file.read_text(encoding="utf-8")
    assert client.get(path).status_code == 200
    file.write_text(before.replace("flu", "gout", 1), encoding="utf-8")
    try:
        changed = client.get(path)
        assert changed.status_code == 422 and "has changed since the map" in changed.json()["error"]
    finally:
        file.write_text(before, encoding="utf-8")
    assert client.get(path).status_code == 200
