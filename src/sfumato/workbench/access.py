"""Access control: the gate of the workbench and the policy of its answers.

The workbench is for one person on one machine. It listens on loopback, and its address contains a secret that works
once: the first visit exchanges it for a cookie. Foreign pages in the same browser must not read or change anything.
Therefore the Host must be ours (no DNS rebinding), and every change must come from our own pages (Origin) with a
CSRF token. The policy of every answer allows only our own scripts and resources.
"""

import hmac
import threading
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_urlsafe

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.errors import SfumatoError
from sfumato.texts.catalogue import t
from sfumato.workbench.errors import RefusedError, answer_of, refused, status_of

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: dict[str, str] = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",  # without it, a browser does not send the origin of a form
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
"""Headers of every answer."""

STATIC: dict[str, str] = {"cache-control": "no-cache"}
"""Headers of our own scripts and styles, which contain no data: cached with revalidation."""

SAFE = ("GET", "HEAD")
"""Methods that change nothing."""

CSRF = "x-sfumato"
"""The header with the CSRF token."""


@dataclass(frozen=True)
class Gate:
    """The secrets of one run of the workbench, and its host names."""

    hosts: frozenset[str]
    """With port: `127.0.0.1:8765`."""

    token: str = field(default_factory=lambda: token_urlsafe(32), repr=False)
    """The secret of the address; it admits one browser, once."""

    session: str = field(default_factory=lambda: token_urlsafe(32), repr=False)
    """The content of that browser's cookie."""

    used: threading.Event = field(default_factory=threading.Event, repr=False)
    """Set when the address was used."""

    secret: bytes = field(default_factory=lambda: token_urlsafe(32).encode(), repr=False)

    @property
    def cookie(self) -> str:
        """The cookie's name; it contains the port, because ports share cookies."""
        return f"sfumato-{min(self.hosts).rpartition(':')[2]}"

    def csrf(self) -> str:
        """The token that our own pages send with changes."""
        return hmac.new(self.secret, self.session.encode(), sha256).hexdigest()

    def is_known(self, request: Request) -> bool:
        """Return whether a browser has our cookie."""
        return hmac.compare_digest(request.cookies.get(self.cookie, "").encode(), self.session.encode())

    @property
    def origins(self) -> frozenset[str]:
        """The origins of our own pages."""
        return frozenset(f"http://{host}" for host in self.hosts)

    def check_cookie(self, request: Request) -> None:
        """Raise unless the browser has the cookie."""
        if not self.is_known(request):
            raise RefusedError(
                t("gate.used" if "token" in request.query_params and self.used.is_set() else "error.secret")
            )

    def entered(self, request: Request) -> Response | None:
        """Exchange the secret of the address for a cookie, if given, and redirect to the address without it."""
        given = request.query_params.get("token", "")
        if request.method != "GET" or not hmac.compare_digest(given.encode(), self.token.encode()):
            return None
        if self.used.is_set() and not self.is_known(request):
            return None
        self.used.set()
        response = RedirectResponse("/" + request.url.path.lstrip("/"), 303)
        response.set_cookie(self.cookie, self.session, httponly=True, samesite="strict")
        return response

    def check_name(self, request: Request) -> None:
        """Raise unless the host name is ours; another name may have been made to resolve to this address."""
        if request.headers.get("host", "") not in self.hosts:
            raise RefusedError(t("gate.name"))

    def check_change(self, request: Request) -> None:
        """Raise unless a change, or a script's request, comes from our page."""
        if request.method in SAFE:
            site = request.headers.get("sec-fetch-site", "same-origin")
            if request.url.path.startswith("/api/") and site not in ("same-origin", "none"):
                raise RefusedError(t("gate.asked"))
            return
        if request.headers.get("origin", "") not in self.origins:
            raise RefusedError(t("gate.change"))
        if not hmac.compare_digest(request.headers.get(CSRF, "").encode(), self.csrf().encode()):
            raise RefusedError(t("gate.earlier"))


class Guarded:
    """The application behind its gate, as an ASGI application; streams pass through unbuffered."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self.app, self.gate = app, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request or refuse it, always with our headers."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # other protocols are not supported
            await send({"type": "websocket.close", "code": 1008})
            return
        static = scope["path"].startswith("/static/")

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in (HEADERS | (STATIC if static else {})).items():
                    headers.setdefault(name, value)
            await send(message)

        request = Request(scope, receive)
        try:
            answer = self._outside(request, static)
        except SfumatoError as error:
            answer = refused(scope["path"], answer_of(error), status_of(error), inside=False)
        if answer is not None:
            await answer(scope, receive, with_headers)
            return
        try:
            await self.app(scope, receive, with_headers)
        except Exception:  # `app` answered and reported it; a traceback might show data
            return

    def _outside(self, request: Request, static: bool) -> Response | None:
        """Answer requests that need no application; raise if a request is refused."""
        self.gate.check_name(request)
        if static and request.method in SAFE:
            return None
        if (entering := self.gate.entered(request)) is not None:
            return entering
        self.gate.check_cookie(request)
        self.gate.check_change(request)
        request.scope["csrf"] = self.gate.csrf()
        return None
