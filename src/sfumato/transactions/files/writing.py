"""Writing a release of baskets: every record as what is published of its items.

The order of rows and of items within a row depends on nothing but what is published, so it tells nothing more.

- `lines`: one record per line, published items separated by commas, quoted where they hold one (RFC 4180); no header;
- `long`: two columns, `record` and `item`; a record without items has one row with an empty item;
- Parquet: one column `items`, a list.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from sfumato.configuration import check_choice
from sfumato.engines.formulas import check_escaping
from sfumato.engines.item_files import write_lists
from sfumato.errors import BadInputError
from sfumato.release import Format, check_targets, format_of, staged
from sfumato.transactions.recoding import BasketRelease

LAYOUTS = ("lines", "long")
Row = tuple[str, ...]


def published_rows(release: BasketRelease) -> list[Row]:
    """Return what is published of every record, in an order that depends on nothing else."""
    rows = release.recoded()
    records: list[Row] = []
    for distinct, weight in enumerate(rows.weights.tolist()):
        codes = rows.codes[rows.starts[distinct] : rows.starts[distinct + 1]]
        records += [tuple(sorted(rows.labels[code] for code in codes))] * weight
    return sorted(records, key=lambda row: sha256("\x00".join(row).encode()).digest())


def write_baskets(
    release: BasketRelease,
    path: str | Path,
    layout: str = "lines",
    force: bool = False,
    escape_formulas: bool = False,
) -> Path:
    """Write a release to a CSV or Parquet file, all or nothing.

    `escape_formulas` writes items that a spreadsheet would run as formulas with `'` in front.
    """
    target = Path(path)
    check_escaping(escape_formulas, target, format_of(target))
    check_layout(layout, format_of(target))
    check_targets([target], force, [Path(release.baskets.origin)])
    with staged([target]) as [draft]:
        write_lists(published_rows(release), draft, format_of(target), layout, escape_formulas)
    return target


def check_layout(layout: str, format: Format) -> None:
    """Raise unless a file of this format can be laid out so."""
    check_choice("layout", layout, LAYOUTS)
    if format == "parquet" and layout != "lines":
        raise BadInputError("a Parquet file has one list of items per record; leave out --layout, or write a .csv file")
