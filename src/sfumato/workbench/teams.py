"""The workbench for a team: who its members are, how they log in, and that each has a desk of their own.

Passwords are kept as what scrypt makes of them, in a file that its owner alone can read. A session is a random text in
a cookie and nothing else; it ends at logout, after a day's work, when the member is taken out of the file, and with the
workbench. Whoever guesses is slowed down, by address and by name.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
import time
from base64 import b64decode, b64encode
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_bytes, token_urlsafe
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from sfumato.documents import read_text
from sfumato.errors import BadInputError
from sfumato.pages import render
from sfumato.pages.texts import t
from sfumato.release import staged
from sfumato.workbench.errors import RefusedError, StrangerError, TooOftenError
from sfumato.workbench.gate import SAFE, Gate, Visitor

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
SHORTEST = 12
"""Characters of a password."""

COST = {"n": 1 << 15, "r": 8, "p": 1, "maxmem": 1 << 26}
"""Of scrypt: a tenth of a second and 32 MB for every guess."""

SESSION_SECONDS = 12 * 3600.0
"""A session that is not used for so long ends."""

TRIES = 5
"""Wrong passwords for one name from one address before it has to wait; from one address for all names, and for one
name from everywhere, ten times as many."""

TRIES_SECONDS = 300.0
MOST_BYTES = 4096


def digested(password: str, salt: bytes | None = None) -> str:
    """Return what is kept of a password."""
    salt = salt or token_bytes(16)
    made = hashlib.scrypt(password.encode(), salt=salt, dklen=32, **COST)
    return f"scrypt${b64encode(salt).decode()}${b64encode(made).decode()}"


def fits(password: str, kept: str) -> bool:
    """Say whether a password is the one that something was kept of."""
    salt = b64decode(kept.split("$")[1])
    return hmac.compare_digest(digested(password, salt), kept)


NOBODY = digested(token_urlsafe())
"""What a password is held against where there is no such member, so that this takes as long."""


@dataclass(frozen=True)
class MembersFile:
    """The file of who belongs to a team: a line for each, `name:scrypt$salt$digest`."""

    file: Path

    def read(self) -> dict[str, str]:
        """Return what is kept of everybody's password, by name."""
        if not self.file.exists():
            raise BadInputError(t("team.nobody", file=self.file))
        kept = {}
        for number, line in enumerate(read_text(self.file).splitlines(), 1):
            name, colon, digest = line.strip().partition(":")
            if not line.strip() or line.startswith("#"):
                continue
            if not colon or not NAME.fullmatch(name) or not re.fullmatch(r"scrypt\$[\w+/=]+\$[\w+/=]+", digest):
                raise BadInputError(t("team.no_line", file=self.file, number=number))
            kept[name] = digest
        if not kept:
            raise BadInputError(t("team.nobody", file=self.file))
        return kept

    def add(self, name: str, password: str) -> None:
        """Add a member, or give one another password."""
        check_name(name)
        if len(password) < SHORTEST:
            raise BadInputError(t("team.short", shortest=SHORTEST))
        kept = self.read() if self.file.is_file() else {}
        kept[name] = digested(password)
        with staged([self.file], private=[self.file]) as [draft]:
            draft.write_text("".join(f"{name}:{digest}\n" for name, digest in kept.items()), encoding="ascii")


def check_name(name: str) -> None:
    """Raise unless somebody, and their folder, can be called so."""
    if not NAME.fullmatch(name):
        raise BadInputError(t("team.bad_name", name=name))


class Patience:
    """How often somebody failed lately, by address and name."""

    def __init__(self) -> None:
        self._failed: dict[tuple[str, str], deque[float]] = {}
        self._lock = threading.Lock()

    def begin(self, address: str, name: str) -> None:
        """Count a try before it is known whether it fails, so that many at once are no more; raise where too many."""
        now = time.monotonic()
        with self._lock:
            for key, most in _keys(address, name).items():
                failed = self._failed.get(key, deque())
                while failed and failed[0] < now - TRIES_SECONDS:
                    failed.popleft()
                if len(failed) >= most:
                    minutes = int((failed[0] + TRIES_SECONDS - now) // 60) + 1
                    raise TooOftenError(t("login.often", minutes=minutes))

            for key in _keys(address, name):
                self._failed.setdefault(key, deque()).append(now)
            stale = [key for key, failed in self._failed.items() if not failed or failed[-1] < now - TRIES_SECONDS]
            for key in stale:
                del self._failed[key]

    def forget(self, address: str, name: str) -> None:
        """Take the last try back: it was the right password."""
        with self._lock:
            for key in _keys(address, name):
                if self._failed.get(key):
                    self._failed[key].pop()


def _keys(address: str, name: str) -> dict[tuple[str, str], int]:
    return {(address, name): TRIES, (address, ""): 10 * TRIES, ("", name): 10 * TRIES}


@dataclass
class Login:
    """Somebody who is logged in."""

    name: str
    csrf: str
    used: float


class Sessions:
    """Everybody who is logged in; the keys are what stands in their cookies, digested."""

    def __init__(self) -> None:
        self._sessions: dict[bytes, Login] = {}
        self._lock = threading.Lock()

    def begin(self, name: str) -> str:
        """Let somebody in; return what their cookie holds."""
        secret, now = token_urlsafe(32), time.monotonic()
        with self._lock:
            ended = [key for key, each in self._sessions.items() if each.used < now - SESSION_SECONDS]
            for key in ended:
                del self._sessions[key]
            self._sessions[_key(secret)] = Login(name, token_urlsafe(32), now)
        return secret

    def of(self, secret: str) -> Login | None:
        """Return the session of a cookie, if there is one."""
        now = time.monotonic()
        with self._lock:
            session = self._sessions.get(_key(secret))
            if session is None or session.used < now - SESSION_SECONDS:
                return None
            session.used = now
            return session

    def end(self, secret: str) -> None:
        """Let somebody out."""
        with self._lock:
            self._sessions.pop(_key(secret), None)


def _key(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


@dataclass(frozen=True)
class TeamGate(Gate):
    """The gate of a team: names and passwords instead of a secret in the address."""

    members: MembersFile = field(kw_only=True)
    sessions: Sessions = field(default_factory=Sessions, kw_only=True, repr=False)
    patience: Patience = field(default_factory=Patience, kw_only=True, repr=False)
    scheme: str = "https"

    @property
    def cookie(self) -> str:
        """The cookie's name, which lets a browser take it from us alone, and over TLS alone."""
        return "__Host-sfumato"

    def admitted(self, request: Request) -> Visitor:
        """Say who asks; raise unless they are logged in, and still of the team."""
        session = self.sessions.of(request.cookies.get(self.cookie, ""))
        if session is None or session.name not in self.members.read():
            raise StrangerError(t("login.first"))
        return Visitor(session.name, session.csrf)

    async def entered(self, request: Request) -> Response | None:
        """Answer what is for strangers: the page to log in, logging in, and logging out."""
        path = request.url.path
        if path not in ("/login", "/logout"):
            return None
        if request.method in SAFE:
            return _login_page() if path == "/login" else RedirectResponse("/", 303)
        if request.method != "POST" or request.headers.get("origin", "") not in self.origins:
            raise RefusedError(t("gate.change"))
        return await self._logged_in(request) if path == "/login" else self._logged_out(request)

    def _logged_out(self, request: Request) -> Response:
        self.sessions.end(request.cookies.get(self.cookie, ""))
        response = RedirectResponse("/login", 303)
        response.delete_cookie(self.cookie, secure=True, httponly=True, samesite="strict")
        return response

    async def _logged_in(self, request: Request) -> Response:
        content = bytearray()
        async for piece in request.stream():
            content += piece
            if len(content) > MOST_BYTES:
                return _login_page(t("login.wrong"), 401)
        given = parse_qs(content.decode("utf-8", "replace"))
        name, password = (given.get(key, [""])[0] for key in ("name", "password"))
        address = request.client.host if request.client is not None else ""
        try:
            self.patience.begin(address, name)
        except TooOftenError as often:
            return _login_page(str(often), 429)
        kept = (await run_in_threadpool(self.members.read)).get(name)
        right = await run_in_threadpool(fits, password, kept or NOBODY)
        if kept is None or not right:
            return _login_page(t("login.wrong"), 401)
        self.patience.forget(address, name)
        response = RedirectResponse("/", 303)
        response.set_cookie(self.cookie, self.sessions.begin(name), httponly=True, samesite="strict", secure=True)
        return response


def _login_page(sentence: str = "", status: int = 200) -> Response:
    return HTMLResponse(render("workbench/login.html", t=t, sentence=sentence), status)
