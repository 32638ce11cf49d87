"""Every text of our pages in one file, so that it can be translated: `texts/en.toml`, errors of the workbench included.

Templates say `t("columns.title")`, scripts `texts["columns.title"]`, those that draw releases `w("frontier")` for
`drawing.frontier`; what has places takes them by name: `t("runs.done", done=3, total=20)`. What rooms above say of data
and releases (`words`, refusals) is theirs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

LANGUAGE = "en"


@cache
def texts(language: str = LANGUAGE) -> Mapping[str, str]:
    """Return all texts of a language by their names."""
    content = (files("sfumato.texts") / f"{language}.toml").read_text(encoding="utf-8")
    return {f"{part}.{name}": text for part, names in tomllib.loads(content).items() for name, text in names.items()}


def drawing_texts(language: str = LANGUAGE) -> Mapping[str, str]:
    """Return the texts of the scripts that draw maps and releases."""
    return {name: text for name, text in texts(language).items() if name.startswith("drawing.")}


def t(name: str, /, **places: Any) -> str:
    """Return a text with its places filled in."""
    return texts()[name].format(**places)
