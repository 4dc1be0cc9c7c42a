"""The colours of images in light and dark mode. assets/base.css and dark.css define the same colours for pages. All
text has a contrast ratio of at least 4.5:1 (WCAG 2.2, success criterion 1.4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Palette:
    """Colours, as "#rrggbb", of text (ink, quiet), thin lines, the background (paper), input fields, highlights
    (accent), positive and negative numbers (plus, minus), graph edges, non-finite numbers (wrong), and series."""

    ink: str
    quiet: str
    line: str
    paper: str
    field: str
    accent: str
    plus: str
    minus: str
    forward: str
    backward: str
    wrong: str
    series: tuple[str, ...]

    def nth(self, number: int) -> str:
        """The colour of a series, run or head. If there are more series than colours, the colours repeat."""
        return self.series[number % len(self.series)]

    def on_accent(self, opacity: float = 1.0) -> str:
        """Black or white, depending on which contrasts more with the accent on the paper (at least 4.58:1)."""
        shade = [p + opacity * (a - p) for a, p in zip(rgb(self.accent), rgb(self.paper), strict=True)]
        return "#000000" if luminance(shade) > 0.179 else "#ffffff"


_ON_LIGHT = ("#2458b3", "#b3402a", "#2b7a4b", "#7d55a8", "#8f6409", "#1d7583", "#a83c76", "#5f6368")
_ON_DARK = ("#8fb6f5", "#f0a08c", "#8ccf9f", "#c5a6ea", "#dfbb67", "#7ecbd6", "#ec9cc5", "#b9bec4")
_COLOURS: dict[str, tuple[Any, Any]] = {  # on a light and on a dark background
    "ink": ("#1b1c1e", "#e9e7e2"),
    "quiet": ("#5f6368", "#9da2a8"),
    "line": ("#dedfe0", "#34383c"),
    "paper": ("#ffffff", "#151719"),
    "field": ("#ffffff", "#1c1f22"),
    "accent": (_ON_LIGHT[0], _ON_DARK[0]),
    "plus": (_ON_LIGHT[0], _ON_DARK[0]),
    "minus": (_ON_LIGHT[1], _ON_DARK[1]),
    "forward": ("#35618f", "#8fb4dc"),
    "backward": ("#9a4a1c", "#e3a377"),
    "wrong": ("#a3261c", "#f0978c"),
    "series": (_ON_LIGHT, _ON_DARK),
}
LIGHT = Palette(**{name: light for name, (light, _) in _COLOURS.items()})
DARK = Palette(**{name: dark for name, (_, dark) in _COLOURS.items()})


def luminance(channels: Sequence[float]) -> float:
    """The relative luminance of red, green and blue from 0 to 255 (WCAG 2.2)."""
    linear = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def rgb(colour: str) -> tuple[int, int, int]:
    """The red, green and blue components of "#rrggbb", from 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
