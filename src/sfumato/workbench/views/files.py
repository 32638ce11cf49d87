"""Files that come in: an upload lies in a private folder until a project takes it, or the workbench ends."""

from __future__ import annotations

from typing import Any

from sfumato.workbench.desk import UPLOADED
from sfumato.workbench.endpoints import Call, Endpoint


def uploaded(call: Call) -> dict[str, Any]:
    """Say under which source what was received can be opened."""
    place = call.body.relative_to(call.desk.uploads).as_posix()
    return {"source": f"{UPLOADED}{place}", "name": call.body.name, "bytes": call.body.stat().st_size}


ENDPOINTS = (Endpoint("PUT", "/api/uploads/{file}", "Takes in a file and says its source.", uploaded, is_upload=True),)
