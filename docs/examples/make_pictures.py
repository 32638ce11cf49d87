"""Write the pictures of docs/concepts/pictures.md from real releases of a small made-up table.

python docs/examples/make_pictures.py
"""

import random
from pathlib import Path

import pandas as pd

import sfumato

IMAGES = Path(__file__).resolve().parents[1] / "images"
COLOURS = {"flu": "#4c78a8", "cold": "#f58518", "gout": "#54a24b"}
SIDE, LEFT, TOP = 300, 46, 26


def people(number: int = 48) -> pd.DataFrame:
    """Draw persons with an age, a distance of their home from the centre, and an illness that depends on the age."""
    draw = random.Random(5)
    rows = []
    for _ in range(number):
        age = min(79, max(20, round(draw.gauss(45, 16))))
        illness = draw.choices(list(COLOURS), [80 - age, 35, age - 15])[0]
        rows.append((age, draw.randrange(0, 60), illness))
    return pd.DataFrame(rows, columns=["age", "km", "illness"])


def place(age: float, km: float) -> tuple[float, float]:
    """Return where a point is in the picture."""
    return LEFT + (age - 20) * SIDE / 60, TOP + SIDE - km * SIDE / 60


def ends(text: str, domain: tuple[int, int]) -> tuple[int, int]:
    """Read a published range; its upper end is that of the last value."""
    if text == "*":
        return domain
    first, _, last = text.partition("-")
    return int(first), int(last or first) + 1


def svg(title: str, body: list[str]) -> str:
    """Put a picture together: frame, axes, legend."""
    dots = "".join(
        f'<circle cx="{LEFT + 70 + 70 * i}" cy="14" r="4" fill="{colour}"/>'
        f'<text x="{LEFT + 78 + 70 * i}" y="18">{name}</text>'
        for i, (name, colour) in enumerate(COLOURS.items())
    )
    width, height = LEFT + SIDE + 14, TOP + SIDE + 36
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="sans-serif" font-size="12" role="img" aria-label="{title}">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            f'<rect x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#888"/>',
            dots,
            *body,
            f'<text x="{LEFT + SIDE / 2 - 10}" y="{TOP + SIDE + 28}">age</text>',
            f'<text x="12" y="{TOP + SIDE / 2}" transform="rotate(-90 12 {TOP + SIDE / 2})">km</text>',
            *(f'<text x="{place(a, 0)[0] - 7}" y="{TOP + SIDE + 14}">{a}</text>' for a in (20, 40, 60, 80)),
            *(f'<text x="{LEFT - 18}" y="{place(20, k)[1] + 4}">{k}</text>' for k in (0, 20, 40, 60)),
            "</svg>\n",
        ]
    )


def dots(frame: pd.DataFrame) -> list[str]:
    """Draw every person as a dot."""
    return [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{COLOURS[illness]}"/>'
        for age, km, illness in frame.itertuples(index=False)
        for x, y in [place(age + 0.5, km + 0.5)]
    ]


def boxes(frame: pd.DataFrame) -> list[str]:
    """Draw every group as its box, with the number of its rows."""
    drawn = []
    for (age, km), group in frame.groupby(["age", "km"]):
        (a, b), (c, d) = ends(age, (20, 80)), ends(km, (0, 60))
        (x, y), (right, low) = place(a, d), place(b, c)
        drawn.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{right - x:.1f}" height="{low - y:.1f}" fill="#000" '
            f'fill-opacity=".06" stroke="#333"/><text x="{x + 4:.1f}" y="{y + 14:.1f}">{len(group)}</text>'
        )
    return drawn


def main() -> None:
    """Write the three pictures."""
    table = people()
    hierarchies = {
        "age": sfumato.numeric(20, 79, intervals=[5, 20]),
        "km": sfumato.numeric(0, 59, intervals=[5, 20]),
    }
    roles = {"quasi": ["age", "km"], "sensitive": ["illness"], "hierarchies": hierarchies}
    ranges = sfumato.anonymize(table, "k-anonymity k=6", "mondrian", **roles).frame()
    levels = sfumato.anonymize(table, "k-anonymity k=3", "full-domain", **roles).frame()
    (IMAGES / "records.svg").write_text(svg("48 records", dots(table)))
    (IMAGES / "groups.svg").write_text(svg("boxes of Mondrian, k=6", boxes(ranges) + dots(table)))
    (IMAGES / "levels.svg").write_text(svg("boxes of full-domain recoding, k=3", boxes(levels) + dots(table)))


if __name__ == "__main__":
    main()
