"""Writing a release of baskets: every record as what is published of its items.

The order of rows and of items within a row depends on nothing but what is published, so it tells nothing more.

- `lines`: one record per line, published items separated by commas, quoted where they hold one (RFC 4180); no header;
- `long`: two columns, `record` and `item`; a record without items has one row with an empty item;
- Parquet: one column `items`, a list.

What does not say itself which items it stands for, the legend says beside it (`legend`): written with the data, or
neither is.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from sfumato.auditing._legend import legend_file
from sfumato.config.options import check_choice
from sfumato.engines.formulas import check_escaping
from sfumato.engines.item_files import write_lists
from sfumato.engines.locations import input_files
from sfumato.errors import BadInputError
from sfumato.release.items import BasketRelease
from sfumato.release.legend import Names, release_names, write_legend
from sfumato.release.writing import Format, format_of
from sfumato.runtime.staging import check_targets, staged

LAYOUTS = ("lines", "long")
Row = tuple[str, ...]


def published_rows(release: BasketRelease, names: Names | None = None) -> list[Row]:
    """Return what is published of every record, as a file names it, in an order that depends on nothing else."""
    rows = release.recoded()
    texts = rows.labels if names is None else [names.texts.get(label, label) for label in rows.labels]
    records: list[Row] = []
    for distinct, weight in enumerate(rows.weights.tolist()):
        codes = rows.codes[rows.starts[distinct] : rows.starts[distinct + 1]]
        records += [tuple(sorted(texts[code] for code in codes))] * weight
    return sorted(records, key=lambda row: sha256("\x00".join(row).encode()).digest())


def write_baskets(
    release: BasketRelease,
    path: str | Path,
    layout: str = "lines",
    force: bool = False,
    escape_formulas: bool = False,
    legend: str = "auto",
) -> Path:
    """Write a release to a CSV or Parquet file, with its legend beside it where it needs one, all or nothing.

    `escape_formulas` writes items that a spreadsheet would run as formulas with `'` in front. `legend` is about what
    stands for several items: `auto`, `always` or `never`.
    """
    target = Path(path)
    check_escaping(escape_formulas, target, format_of(target))
    layout = laid_out(layout, format_of(target))
    names = release_names(release, legend)
    targets = files_of(target, names)
    check_targets(targets, force, input_files(release.baskets.origin))
    with staged(targets) as drafts:
        write_drafts(published_rows(release, names), names, drafts, target, layout, escape_formulas)
    return target


def files_of(path: Path, names: Names) -> list[Path]:
    """Name the files of a release: the data, and the legend where it needs one."""
    return [path, *([legend_file(path)] if names.legend else [])]


def write_drafts(
    rows: Sequence[Row], names: Names, drafts: Sequence[Path], path: Path, layout: str, escape_formulas: bool
) -> None:
    """Write rows that will be called `path`, and their legend, to drafts."""
    write_lists(rows, drafts[0], format_of(path), layout, escape_formulas)
    if names.legend:
        write_legend(names.legend, drafts[1], path.name, drafts[0])


def laid_out(layout: str, format: Format) -> str:
    """Say how baskets are laid out, lines where nothing is said (`rows`); raise where a file cannot be laid out so."""
    layout = "lines" if layout == "rows" else layout
    check_choice("layout", layout, LAYOUTS)
    if format == "parquet" and layout != "lines":
        raise BadInputError("a Parquet file has one list of items per record; leave out --layout, or write a .csv file")
    return layout
