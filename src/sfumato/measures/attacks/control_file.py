"""A control that the publisher has as a file: other records of the same source, in the table's own codes."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import numpy as np

from sfumato.arrays import Codes, Counts
from sfumato.engines import Reading, open_rows
from sfumato.errors import BadInputError
from sfumato.release.records import cell_codes
from sfumato.table import Hierarchy, Roles, Table, distinct_rows
from sfumato.table.table import with_roles

LEAST_NEW, LEAST_SHARE = 20, 0.5
"""With so many new records expected, a control with less than this share of them is not one of other people."""

OUTSIDE = -1
"""The code of a value that the table's domain does not have."""


def control_records(table: Table, file: str) -> Codes:
    """Read the records of a control file: quasi-identifiers in the order of the cells, then sensitive attributes."""
    roles = Roles(table.roles.quasi, table.roles.sensitive)
    rows = open_rows(file, Reading())
    lacking = [name for name in roles.named if name not in rows.columns]
    if lacking:
        raise BadInputError(
            f"{file}: the control has no column {lacking[0]!r}; it must have the table's columns: "
            f"{', '.join(roles.named)}"
        )
    other = with_roles(rows, roles, dict(table.hierarchies), table.missing, unknown="count")
    codes = cell_codes(other.cells)
    for place, name in enumerate([*sorted(roles.quasi), *sorted(roles.sensitive)]):
        codes[:, place] = as_in_table(codes[:, place], other.hierarchies[name], table.hierarchies[name])
    check_other_records(table, codes, other.cells.counts, file)
    return np.repeat(codes, other.cells.counts, axis=0)


def check_other_records(table: Table, codes: Codes, counts: Counts, file: str) -> None:
    """Raise where a control has far fewer records that the table lacks than other people's records would have.

    Of m records of the same source, m x (the share of the table's records that occur once) are expected to be new
    (Good 1953). A control that was taken from the table itself would let every attack look like guessing.
    """
    known, cells = cell_codes(table.cells), table.cells
    first, number = distinct_rows(np.concatenate([known, codes]))
    new = int(counts[first[number[len(known) :]] >= len(known)].sum())
    expected = int(counts.sum()) * int((cells.counts == 1).sum()) / cells.records
    if expected >= LEAST_NEW and new < LEAST_SHARE * expected:
        raise BadInputError(
            f"{file}: only {new:,} of {int(counts.sum()):,} records are not in the table as they are, and of others "
            f"about {expected:,.0f} would be: a control must hold records that the table does not have"
        )


def as_in_table(codes: Codes, theirs: Hierarchy, ours: Hierarchy) -> Codes:
    """Write codes of a domain that has grown by strange and missing values in those of the table's."""
    leaves = np.full(theirs.size + 1, OUTSIDE, np.int32)
    leaves[: ours.domain_size] = np.arange(ours.domain_size)
    if theirs.missing and ours.missing:
        leaves[theirs.size - 1] = ours.size - 1
    return leaves[codes]


def digest_of(file: str) -> str:
    """Digest a control file, so that a changed one is attacked with anew."""
    return sha256(Path(file).read_bytes()).hexdigest() if Path(file).is_file() else ""
