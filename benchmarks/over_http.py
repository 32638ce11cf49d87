"""Parquet behind a URL: the same cells, digest and release as from the file, read by ranges over loopback.

    pip install duckdb-extension-httpfs==VERSION       # of the DuckDB that is installed; or INSTALL httpfs in it
    python benchmarks/over_http.py [httpfs.duckdb_extension]

The extension is DuckDB's own and not part of sfumato. It is installed from a file where one is given.
"""

from __future__ import annotations

import re
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import duckdb

import sfumato
from census import SENSITIVE, make_census

ROWS = 50_000


class Ranges(BaseHTTPRequestHandler):
    """Serve one file, whole or by ranges."""

    protocol_version = "HTTP/1.1"
    content = b""
    served: list[int] = []  # noqa: RUF012 (of the class: there is one server)

    def do_HEAD(self) -> None:
        """Say how long the file is."""
        self.answer(b"")

    def do_GET(self) -> None:
        """Send it, or the part asked for."""
        self.answer(self.content)

    def answer(self, body: bytes) -> None:
        """Answer with what is asked for of a body."""
        wanted, last = re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")), len(self.content) - 1
        start, stop = (int(wanted[1]), min(int(wanted[2] or last), last)) if wanted else (0, last)
        self.send_response(206 if wanted else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(stop - start + 1))
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{stop}/{last + 1}")
        self.end_headers()
        self.wfile.write(body[start : stop + 1])
        self.served.append(len(body[start : stop + 1]))

    def log_message(self, *given: Any) -> None:
        """Print nothing."""


def walked(source: str | Path, to: Path) -> tuple[int, str, bytes]:
    """Read a census, make a release of it; return what came of it."""
    roles = {"quasi": ("age", "sex", "marital"), "sensitive": SENSITIVE, "neutral": ("hours",)}
    table = sfumato.read(source, **roles)
    sfumato.anonymize(table, "k-anonymity k=10").to_parquet(to, force=True)
    return table.cells.size, table.engine.digest(roles["quasi"]), to.read_bytes()


def main() -> None:
    """Serve a census on loopback, and read it there and here."""
    if len(sys.argv) > 1:
        duckdb.connect().execute(f"INSTALL '{sys.argv[1]}'")
    with tempfile.TemporaryDirectory() as name:
        path = make_census(Path(name) / "people.parquet", ROWS)
        Ranges.content = path.read_bytes()
        server = ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
        Thread(target=server.serve_forever, daemon=True).start()
        there = walked(f"http://127.0.0.1:{server.server_address[1]}/people.parquet", Path(name) / "out.parquet")
        here = walked(path, Path(name) / "out.parquet")
    sent = f"{len(Ranges.served)} requests, {sum(Ranges.served):,} bytes of {len(Ranges.content):,}"
    print(f"DuckDB {duckdb.__version__}: {sent}")
    print(f"the same cells ({here[0]:,}), digest and bytes of the release: {there == here}")


if __name__ == "__main__":
    main()
