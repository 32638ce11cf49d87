"""A workbench for tests: a desk in a temporary folder, and a client that has come through the gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from sfumato.workbench.app import application
from sfumato.workbench.desk import Desk
from sfumato.workbench.gate import CSRF, Gate

HOST = "127.0.0.1:8765"


def desk_in(folder: Path) -> Desk:
    """Make the folders of a desk."""
    desk = Desk(folder / "desk", folder / "uploads")
    desk.folder.mkdir()
    desk.uploads.mkdir()
    return desk


class Workbench:
    """What a browser does: it has the cookie, and sends along what our pages know."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        gate = Gate(frozenset({HOST}))
        self.client = TestClient(application(desk, gate), base_url=f"http://{HOST}")
        self.client.cookies.set(gate.cookie, gate.token)
        self.headers = {"origin": f"http://{HOST}", CSRF: gate.csrf()}

    def page(self, path: str, status: int = 200) -> str:
        """Get a page."""
        response = self.client.get(path)
        assert response.status_code == status, response.text
        return response.text

    def get(self, path: str, status: int = 200, **query: str) -> Any:
        """Ask the API."""
        response = self.client.get(path, params=query)
        assert response.status_code == status, response.text
        return response.json()

    def send(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        """Change something by the API."""
        response = self.client.request(method, path, json=body, headers=self.headers)
        assert response.status_code == status, response.text
        return response.json()

    def post(self, path: str, body: Any = None, status: int = 200) -> Any:
        """Change something by the API."""
        return self.send("POST", path, body, status)
