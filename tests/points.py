"""Points by the texts that a person would type, for tests that make maps by hand; and the page of such a map."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from sfumato import Candidate, anonymizer, requirement
from sfumato.anonymizers.items import candidate_maker
from sfumato.report.page import page
from sfumato.requirements.items import basket_requirement
from sfumato.tradeoff.map import Map, Point


def point_of(
    id: str, maker: str, form: str, asked: str, parameters: Mapping[str, Any], status: str, *rest: Any, **more: Any
) -> Point:
    """Make the point of a table; of baskets, where the maker is one of theirs."""
    if maker == "one-item":
        return Point(
            id, Candidate(candidate_maker(maker), basket_requirement("km-anonymity k=1 m=1")), status, *rest, **more
        )
    share = parameters.get("suppress", 0.0)
    candidate = Candidate(anonymizer(maker), requirement(asked or "k-anonymity k=1"), form, share)  # type: ignore[arg-type]
    return Point(id, candidate, status, *rest, **more)


def write_report(map_: Map, path: Path, public: bool = False, day: date | None = None) -> Path:
    """Write the report of a map to a file."""
    path.write_text(page(map_, public, day or date.today()), encoding="utf-8")
    return path
