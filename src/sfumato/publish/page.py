"""A certificate as a page that a person can read and print: self-contained, no script, everything escaped."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from sfumato.measures import MEASURES
from sfumato.pages import render


def certificate_page(template: str, content: Mapping[str, Any]) -> str:
    """Write a certificate as HTML, by the template for its kind of release."""
    return render(template, certificate=content, measures=MEASURES, command=shlex.join(content["verify"]))
