"""HTML pages: data are passed to a template, which escapes all of them; and the interface to Vega.

Layout is in `templates/`. Only three things are not escaped, and each is checked here: our own styles and scripts, JSON
for a script, and drawings by Vega.

Vega draws our charts in V8. V8 uses little memory, but reserves 70 GB of addresses, and aborts the process if the shell
allows fewer (ulimit -v). So the limit is checked before drawing, and the caller can continue without the picture.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from sfumato.config.documents import to_plain
from sfumato.errors import BadInputError
from sfumato.runtime.memory import allowed_bytes
from sfumato.texts.catalogue import counted, percent, signed, t, unsigned

if TYPE_CHECKING:
    from jinja2 import Environment

ENDS = re.compile(r"</?(script|style)|<!--", re.IGNORECASE)
"""Text that a style or a script must not contain, because it would end there or be parsed differently."""

ACTS = re.compile(r"<(?!/?(svg|g|defs|clipPath|rect|path|line|text)\b)|\s(on\w+|\S*href|style)\s*=", re.IGNORECASE)
"""Text that a drawing must not contain: anything except shapes and texts."""

QUOTED = re.compile(r"`([^`\n]+)`")
"""Quotations in sentences, as a terminal shows them."""


def render(template: str, **values: Any) -> str:
    """Render a template; a missing value is an error."""
    return _environment().get_template(template).render(values)


def source(text: str) -> Markup:
    """Return our own style or script for a page, unescaped."""
    if ENDS.search(text):
        raise ValueError("a style or a script may not have tags of styles and scripts in it")
    return Markup(text)


def file(name: str) -> Markup:
    """Return a file next to the templates for a page: a style or a script."""
    return source((files("sfumato.texts") / "templates" / name).read_text(encoding="utf-8"))


def in_script(value: Any) -> Markup:
    """Return JSON that can end no script and open no tag: ASCII without `<`, `>` and `&`."""
    text = json.dumps(to_plain(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def drawing(svg: str) -> Markup:
    """Return a drawing by Vega for a page: shapes and texts, no scripts or external resources."""
    if ACTS.search(svg):
        raise ValueError("a drawing may have nothing but shapes and texts in it")
    return Markup(svg)


def number(value: Any) -> str:
    """Format a number for people.

    >>> number(1234), number(0.123456), number("inf")
    ('1,234', '0.1235', 'infinite')
    """
    if value in (float("inf"), "inf"):
        return "infinite"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"


def pieces(text: str) -> list[str]:
    """Split a text at its quotations: every second piece is shown as code.

    >>> pieces("run `sfumato check`, then look")
    ['run ', 'sfumato check', ', then look']
    """
    return QUOTED.split(text)


def initial(text: str) -> str:
    """Capitalize the first letter of a text."""
    return text[:1].upper() + text[1:]


@cache
def _environment() -> Environment:
    from jinja2 import (  # takes a tenth of a second, and only pages need it
        ChoiceLoader,
        Environment,
        PackageLoader,
        PrefixLoader,
        StrictUndefined,
    )

    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader("sfumato.texts"), PrefixLoader({"workbench": PackageLoader("sfumato.workbench")})]
        ),
        autoescape=lambda name: not str(name).endswith(".toml"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["file"] = file
    for written in (counted, initial, number, percent, pieces, signed, unsigned):
        environment.filters[written.__name__] = written
    return environment


RESERVED = 70_000_000_000
"""Bytes of addresses that V8 reserves; 67.4 GB were measured (vl-convert 1, Linux)."""


def no_room() -> str:
    """Return why nothing can be drawn, and the remedy."""
    return t("notice.no_room", gigabytes=RESERVED // 10**9)


class NoRoomError(BadInputError):
    """Drawing is impossible, because the shell allows too few addresses."""


def need_room() -> None:
    """Raise if drawing would abort the process."""
    allowed = allowed_bytes()
    if allowed is not None and allowed < RESERVED:
        raise NoRoomError(no_room())


def as_png(specification: str, scale: float) -> bytes:
    """Draw a Vega-Lite specification as a PNG."""
    need_room()
    from vl_convert import vegalite_to_png

    drawn: bytes = vegalite_to_png(specification, scale=scale)
    return drawn


def as_svg(specification: str) -> str:
    """Draw a Vega-Lite specification as an SVG."""
    need_room()
    from vl_convert import vegalite_to_svg

    drawn: str = vegalite_to_svg(specification)
    return drawn


def libraries(snippet: str) -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that ends in a snippet."""
    need_room()
    from vl_convert import javascript_bundle

    bundled: str = javascript_bundle(snippet)
    return bundled
