"""Vector pictures in points, as of fonts, with texts that have room; y goes down."""

from __future__ import annotations

import unicodedata
from bisect import bisect
from itertools import accumulate
from typing import Any, Literal

from ..palette import Palette
from ..vector import Drawing as Elements

Anchor = Literal["start", "middle", "end"]
SMALL = 7.0  # points: of captions
# Widths of the characters from space to "~" in Helvetica, and fonts to its measure, in 1/1000 of the size.
_WIDTHS = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 "
    "556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 "
    "722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 "
    "500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584 "
)
_ASCII = dict(zip(map(chr, range(32, 127)), map(int, _WIDTHS.split()), strict=True))
Box = tuple[float, float, float, float]


class Drawing(Elements):
    """A picture in the colours of a palette."""

    fonts, unit = "Helvetica, Arial, Liberation Sans, Nimbus Sans, Noto Sans, DejaVu Sans, sans-serif", "pt"

    def __init__(self, width: float, height: float, title: str, palette: Palette) -> None:
        super().__init__(float(width), float(height), title)
        self.palette, self.paper = palette, palette.paper

    def write(
        self, x: float, y: float, text: str, size: float, colour: str, anchor: Anchor = "start", turn: float = 0.0
    ) -> None:
        """A line of text; ``y`` is its baseline. ``turn`` is in degrees, anticlockwise around (x, y)."""
        look: dict[str, Any] = {"font_size": size, "fill": colour, "text_anchor": anchor if anchor != "start" else None}
        turned = f"rotate({-turn:g} {x:.2f} {y:.2f})" if turn else None
        self.add("text", text, x=float(x), y=float(y), **look, transform=turned, **{"xml:space": "preserve"})

    def caption(self, x: float, y: float, text: str, anchor: Anchor = "start") -> None:
        self.write(x, y, text, SMALL, self.palette.quiet, anchor)

    def cells(self, boxes: list[Box], colour: str, opacity: float = 1.0) -> None:
        """Rectangles (x, y, width, height), filled."""
        path = "".join(_path("M{} {}h{}v{}h{}z", x, y, w, h, -w) for x, y, w, h in boxes)
        self.add("path", fill=colour, fill_opacity=opacity if opacity < 1 else None, d=path)

    def strokes(self, ends: list[Box], colour: str, width: float, opacity: float = 1.0, curved: bool = False) -> None:
        """Lines from (x, y) to (x, y); curved ones leave and arrive horizontally."""
        way = "M{0} {1}C{4} {1} {4} {3} {2} {3}" if curved else "M{} {}L{} {}"
        path = "".join(_path(way, a, b, c, d, (a + c) / 2) for a, b, c, d in ends)
        opaque = opacity if opacity < 1 else None
        self.add("path", fill="none", stroke=colour, stroke_width=float(width), stroke_opacity=opaque, d=path)


def width(text: str, size: float) -> float:
    """About how wide a text is: other fonts than Helvetica are up to a tenth wider."""
    return 1.1 * sum(map(_advance, text)) * size / 1000


def shortened(text: str, size: float, most: float) -> str:
    """A text cut to a width, with "…" (as wide as the font's size) at its end where something is missing."""
    room, ends = most * 1000 / size / 1.1, list(accumulate(map(_advance, text)))
    return text if not ends or ends[-1] <= room else text[: bisect(ends, room - 1000)] + "…"


def wrapped(text: str, size: float, most: float) -> list[str]:
    """A text in lines of at most that width, as far as its words allow."""
    lines: list[str] = []
    for word in text.split():
        if lines and width(f"{lines[-1]} {word}", size) <= most:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _advance(c: str) -> int:
    """The width of a character: of Helvetica's where it has one, otherwise of its kind."""
    if (known := _ASCII.get(c)) is not None:
        return known
    if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0
    return 1000 if unicodedata.east_asian_width(c) in "WF" or c == "…" else 600


def _path(way: str, *numbers: float) -> str:
    return way.format(*(f"{x:.2f}".rstrip("0").rstrip(".") for x in numbers))
