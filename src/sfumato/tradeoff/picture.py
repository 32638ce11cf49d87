"""A map as a picture that shows wherever it is put: no script and no network, so a notebook shows it offline too."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

from sfumato.quiet import Quiet
from sfumato.tradeoff.chart import drawn_axes, map_chart, specification
from sfumato.tradeoff.map import Map
from sfumato.vega import as_png, as_svg

SHARPNESS = 2
"""Pixels of the picture per point of the chart."""


@dataclass(frozen=True, repr=False)
class Picture(Quiet):
    """A drawn chart, as its Vega-Lite specification."""

    specification: str

    def png(self) -> bytes:
        """Return the picture as a PNG."""
        return as_png(self.specification, SHARPNESS)

    def svg(self) -> str:
        """Return the picture as an SVG."""
        return as_svg(self.specification)

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Show itself in a notebook, in the size of the chart."""
        image = self.png()
        width = int.from_bytes(image[16:20], "big") // SHARPNESS  # where a PNG says how wide it is
        data = {"image/png": b64encode(image).decode("ascii"), "text/plain": repr(self)}
        return data, {"image/png": {"width": width}}


def picture(map_: Map, x: str | None = None, y: str | None = None) -> Picture:
    """Draw a map on two measures, or on those it opens on."""
    usual = drawn_axes(map_)
    return Picture(json.dumps(specification(map_chart(map_, x or usual[0], y or usual[1]))))
