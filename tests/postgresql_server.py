"""A real PostgreSQL for tests: one server per test process, on a socket of its own, gone at the end."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

QUICK = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=16MB", "jit=off"]
OWNER = "keeper"
"""The superuser of the server."""


def programs() -> Path | None:
    """Where initdb and pg_ctl are; None where PostgreSQL is not installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    found = shutil.which("pg_ctl")
    candidates = [*([Path(found).resolve().parent] if found else []), *reversed(folders)]
    return next((folder for folder in candidates if (folder / "initdb").exists()), None)


class Server:
    """A server in a folder of its own, which whoever runs the tests may talk to by a socket and by TCP."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
        self.data = self.folder / "data"
        self.bin = programs()
        self.as_nobody: list[str] = []
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            name = next(name for name in ("postgres", "nobody") if _exists(name))
            self.as_nobody = ["setpriv", f"--reuid={name}", f"--regid={pwd.getpwnam(name).pw_gid}", "--clear-groups"]
            shutil.chown(self.folder, name)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        arguments = ["-D", self.data, "-U", OWNER, "-A", "trust", "-E", "UTF8", "--no-sync", "--no-instructions"]
        self._run("initdb", *arguments, "--locale=C.UTF-8")
        with (self.data / "pg_hba.conf").open("w") as stream:
            stream.write("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
        self.start()

    def _run(self, program: str, *arguments: object) -> None:
        command = [*self.as_nobody, str(self.bin / program), *map(str, arguments)]
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
        with (self.folder / "output").open("a") as output:
            done = subprocess.run(command, stdout=output, stderr=output, env=environment, cwd=self.folder, timeout=600)
        assert done.returncode == 0, (self.folder / "output").read_text()

    def start(self) -> None:
        options = [*QUICK, f"port={self.port}", f"unix_socket_directories={self.folder}", "listen_addresses=127.0.0.1"]
        arguments = ["-D", self.data, "-l", self.folder / "log", "-w", "-o", " ".join(f"-c {one}" for one in options)]
        self._run("pg_ctl", "start", *arguments)

    def stop(self, mode: str = "fast") -> None:
        """Let the server end: it cuts all connections."""
        self._run("pg_ctl", "stop", "-D", self.data, "-m", mode, "-w")

    def remove(self) -> None:
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, table: str | None = None, user: str = OWNER, database: str = "postgres") -> str:
        """The URL of a table, by the socket, which asks for no password."""
        address = f"postgresql://{user}@/{database}?host={self.folder}&port={self.port}"
        return address if table is None else f"{address}#{table}"

    def tcp(self, table: str, user: str, database: str = "postgres") -> str:
        """The URL of a table by TCP, which asks for a password."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}#{table}"

    def run(self, *statements: str, user: str = OWNER) -> list[tuple]:
        """Let the server do something; return the rows of the last answer."""
        import adbc_driver_postgresql.dbapi as driver

        rows: list[tuple] = []
        with driver.connect(self.url(user=user), autocommit=True) as connection, connection.cursor() as cursor:
            for statement in ("SET lock_timeout = '5s'", *statements):
                cursor.execute(statement)
                rows = cursor.fetchall() if cursor.description else []
        return rows

    def load(self, name: str, content) -> str:
        """Make a table of an Arrow table, and return its URL."""
        import adbc_driver_postgresql.dbapi as driver

        with driver.connect(self.url(), autocommit=True) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, content, mode="create")
            for field in content.schema:
                if str(field.type).startswith("decimal"):  # it comes without precision and scale
                    kind = f"numeric({field.type.precision}, {field.type.scale})"
                    cursor.execute(f'ALTER TABLE public."{name}" ALTER COLUMN "{field.name}" TYPE {kind}')
        return self.url(f"public.{name}")


def _exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
