"""Whether neutral columns of a large file hold what they do in its original, by digests that engines work out.

With neutral columns nearly every row is another one, so rows of a large file cannot be brought here to be matched by
them. Where every record is published, the values of these columns, beside those of sensitive ones where these are
published as they are, must be the same on both sides however rows are ordered: so must be the digests, which are sums
over rows. Where records were left out that says nothing, and the columns are left aside.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.engines import Engine
from sfumato.evidence.coverage import Coverage
from sfumato.publish.audit.question import AuditQuestion


def carried_values(asked: AuditQuestion, neutral: Sequence[str]) -> Coverage:
    """Compare the values of neutral columns of all rows together."""
    assert asked.original is not None
    file, original = asked.file.engine, asked.original.engine
    named = ", ".join(neutral)
    if file.row_count != original.row_count:
        return Coverage(f" ({named} left aside: records are left out, and too many to be matched)", False, 0, ())
    kept = (
        [] if asked.group is not None else [name for name in asked.sensitive if _has_same_texts(name, file, original)]
    )
    columns = [*neutral, *kept]
    beside = f" beside {', '.join(kept)}" if kept else ""
    if file.digest(columns) == original.digest(columns):
        return Coverage(f"; {named}{beside}: the values of all rows by a digest", True, 0, ())
    if any(engine.facts(name).shortest == 0 for name in columns for engine in (file, original)):
        return Coverage(f" ({named} left aside: some are empty, which files write in different ways)", False, 0, ())
    example = f"{named}: taken together, rows have not the values{beside} that the original has"
    return Coverage(f"; {named}{beside}: the values of all rows by a digest", True, 1, (example,))


def _has_same_texts(name: str, file: Engine, original: Engine) -> bool:
    """Say whether a column has the same texts in both: sensitive values may be published by other names."""
    return set(file.distinct(name).values) == set(original.distinct(name).values)
