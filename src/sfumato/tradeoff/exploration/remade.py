"""Making the release of a point again: from the table that was measured, and only if it may be published."""

from __future__ import annotations

from sfumato.anonymizers import Mechanism
from sfumato.errors import BadInputError
from sfumato.release import NoisyRelease, RecordRelease, Release
from sfumato.table import Table
from sfumato.tradeoff.choice.exposure import check_changed, check_published, check_shown
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.study.study import of_table


def remade(map_: Map, point: Point) -> Release | NoisyRelease | RecordRelease:
    """Open the table of a map, which must be the one that was measured, and make the release of a point."""
    check_published(point)
    return made(point, opened_again(map_))


def opened_again(map_: Map) -> Table:
    """Open the table of a map, which must be the one that was measured."""
    study = of_table(map_.study)
    table = study.table.open()
    if study.digest_of(table) != map_.about.get("digest"):
        raise BadInputError(
            f"{table.engine.origin} has changed since the map was made, so its points say nothing of it any more; "
            "explore it again"
        )
    return table


def made(point: Point, table: Table) -> Release | NoisyRelease | RecordRelease:
    """Make a release by the settings of a point; refuse it where it shows somebody alone."""
    candidate = point.candidate
    if isinstance(candidate.anonymizer, Mechanism):
        return candidate.anonymizer.draw(table)
    release: Release | NoisyRelease | RecordRelease = candidate.make(table)
    if isinstance(release, Release) and not candidate.anonymizer.foreign:
        check_shown(release, point.id)
    if isinstance(release, RecordRelease) and not candidate.anonymizer.foreign:
        check_changed(release, f"point {point.id}")
    return release
