"""Running the workbench: a socket on loopback, its address with the secret, and what goes when it ends."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

from sfumato.errors import BadInputError
from sfumato.workbench.desk import Desk
from sfumato.workbench.gate import Gate

LOOPBACK = "127.0.0.1"


def serve(folder: Path, port: int, tell: Callable[[str], None]) -> None:
    """Serve a folder until Ctrl-C; `tell` is given the address once it can be opened."""
    import uvicorn

    from sfumato.workbench.app import application

    if not folder.is_dir():
        raise BadInputError(f"{folder}: there is no such folder; make it first, or name another one")
    listening = _listening(port)
    port = listening.getsockname()[1]
    gate = Gate(frozenset(f"{name}:{port}" for name in (LOOPBACK, "localhost")))
    with tempfile.TemporaryDirectory(prefix="sfumato-uploads-") as uploads:
        app = application(Desk(folder.resolve(), Path(uploads)), gate)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, server_header=False))
        tell(f"http://{LOOPBACK}:{port}/?token={gate.token}")
        server.run([listening])


def _listening(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
    except OSError as error:
        raise BadInputError(f"port {port} cannot be used ({error.strerror}); choose another one (--port)") from None
    return listening
