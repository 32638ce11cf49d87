"""Who may come in, and what a browser may do with what it gets.

The workbench is for one person on one machine: it listens on loopback, and its address holds a secret that the first
visit turns into a cookie. A page of somebody else that is open in the same browser must not be able to read or change
anything: the Host must be ours (no rebinding of names), every change must come from our own pages (Origin) with a
secret that only they know, and the policy of every answer lets nothing run or load that is not ours.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_urlsafe

from starlette.requests import HTTPConnection

from sfumato.workbench.errors import RefusedError

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
"""What every answer says to the browser."""

CSRF = "x-sfumato"
"""The header in which our pages send along what only they know."""


@dataclass(frozen=True)
class Gate:
    """The secrets of one run of the workbench, and the names under which it can be reached."""

    hosts: frozenset[str]
    """With port: `127.0.0.1:8765`."""

    scheme: str = "http"
    token: str = field(default_factory=lambda: token_urlsafe(32), repr=False)
    secret: bytes = field(default_factory=lambda: token_urlsafe(32).encode(), repr=False)

    @property
    def cookie(self) -> str:
        """The cookie's name; ports share cookies, so it has ours in it."""
        return f"sfumato-{min(self.hosts).rpartition(':')[2]}"

    def csrf(self) -> str:
        """What our own pages send along when they change something."""
        return hmac.new(self.secret, self.token.encode(), sha256).hexdigest()

    def admits_token(self, given: str) -> bool:
        """Say whether this is the secret of the address."""
        return hmac.compare_digest(given.encode(), self.token.encode())

    def check(self, request: HTTPConnection, method: str) -> None:
        """Raise unless a request may be answered."""
        if request.headers.get("host", "") not in self.hosts:
            raise RefusedError("the workbench does not go by this name; open the address that it printed")
        if not self.admits_token(request.cookies.get(self.cookie, "")):
            raise RefusedError("open the workbench by the address that it printed: it holds a secret of this run")
        if method in ("GET", "HEAD"):
            return
        origin = request.headers.get("origin", "")
        if origin not in {f"{self.scheme}://{host}" for host in self.hosts}:
            raise RefusedError("a change must come from a page of the workbench itself")
        if not hmac.compare_digest(request.headers.get(CSRF, "").encode(), self.csrf().encode()):
            raise RefusedError("this page is of an earlier run of the workbench; load it again")
