"""Keep the results of a reproduction beside the docs: its statements without points, and a few of its figures.

    sfumato reproduce li-li-2009 --full --out runs/li-li-2009
    python tools/paper_results.py runs/li-li-2009
    python tools/docs.py

The pages of the papers are made of these.
"""

import json
import sys
from pathlib import Path

from PIL import Image

PAPERS = Path(__file__).resolve().parent.parent / "docs" / "papers"
KEPT = ("date", "paper", "command", "versions", "made_of", "claims")
SHOWN = {
    "li-li-2009": ("2a", "2b", "3a"),
    "brickell-shmatikov-2008": ("1", "3"),
    "cormode-2013": ("5a", "5a-heights"),
    "dewri-2011": ("6", "7a", "10b"),
    "loukides-2012": ("6c", "7"),
}
WIDTH, COLORS = 900, 200
"""The width of a figure in pixels, and the colours that are kept of it: a third of the bytes, and no visible loss."""


def keep(folder: Path) -> None:
    """Copy what the page needs of a folder of results."""
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    name = results["paper"]
    written = PAPERS / "results" / f"{name}.json"
    written.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({key: results[key] for key in KEPT}, indent=1, ensure_ascii=False)
    written.write_text(f"{text}\n", encoding="utf-8")
    figures = PAPERS / "figures" / name
    figures.mkdir(parents=True, exist_ok=True)
    for figure in SHOWN[name]:
        picture = Image.open(folder / f"figure-{figure}.png").convert("RGB")
        small = picture.resize((WIDTH, round(picture.height * WIDTH / picture.width)), Image.Resampling.LANCZOS)
        small.quantize(COLORS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
            figures / f"figure-{figure}.png", optimize=True
        )


if __name__ == "__main__":
    for each in sys.argv[1:]:
        keep(Path(each))
