"""Plain values for JSON: infinities as texts, numpy numbers as numbers; and back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np


def to_plain(value: Any) -> Any:
    """Make a value fit for JSON."""
    if isinstance(value, dict):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return value


def from_plain(value: Any) -> Any:
    """Read the infinities of measures back."""
    if isinstance(value, dict):
        return {key: from_plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    return float(value) if value in ("inf", "-inf") else value


def json_text(content: dict[str, Any], schema: int = 1) -> str:
    """Write a JSON document of ours, with its schema version first."""
    plain = {"schema": schema, **to_plain(content)}
    return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
