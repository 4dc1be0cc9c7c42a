"""SVG images, drawn without a library. User-defined names are escaped, and characters that XML forbids are replaced."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from bisect import bisect
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from .palette import LIGHT, Palette

INK, QUIET, LINE, PAPER = LIGHT.ink, LIGHT.quiet, LIGHT.line, LIGHT.paper
PLUS, MINUS = LIGHT.plus, LIGHT.minus
SANS = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', Helvetica, Arial, sans-serif"
POINT = 4 / 3  # CSS pixels
GAP = 24.0  # CSS pixels between pictures
_ROOT = re.compile(r"<svg\b[^>]*>")
_SIDE = re.compile(r'(?<=\s)(width|height)="([\d.eE+]+)(px|pt|)"')
SMALL = 7.0  # points, for captions
# Widths of the characters from space to "~" in Helvetica and compatible fonts, in 1/1000 of the font size.
_WIDTHS = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 "
    "556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 "
    "722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 "
    "500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584 "
)
_ASCII = dict(zip(map(chr, range(32, 127)), map(int, _WIDTHS.split()), strict=True))
Box = tuple[float, float, float, float]
_SHAPELESS = ("Cc", "Cs", "Zl", "Zp")  # control characters, surrogates, line and paragraph separators
# Also characters that XML rejects, or that change the direction of the text around them.
_NO_TEXT = "\ufffe\uffff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_MARKS = str.maketrans({"\n": "↵", "\r": "␍", "\t": "⇥"})
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Drawing:
    """Builds an SVG file. Units are CSS pixels, and the y-axis points downwards."""

    paper, fonts, unit = PAPER, SANS, ""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self.parts: list[str] = []

    def add(self, element: str, content: str = "", **attributes: Any) -> None:
        """Add an element with text ``content``. ``stroke_width=2`` becomes ``stroke-width="2"``; None is skipped."""
        text = "".join(
            f' {name.rstrip("_").replace("_", "-")}="{escaped(_short(value))}"'
            for name, value in attributes.items()
            if value is not None
        )
        self.parts.append(f"<{element}{text}>{escaped(content)}</{element}>")

    def text(
        self, x: float, y: float, text: str, anchor: str = "start", size: float = 12, colour: str = INK, **more: Any
    ) -> None:
        """Add a line of text; y is its baseline."""
        self.add("text", text, x=x, y=y, text_anchor=anchor, font_size=size, fill=colour, **more)

    def line(self, points: Iterable[tuple[float, float]], colour: str = INK, width: float = 1.5) -> None:
        joined = " ".join(f"{_short(float(x))},{_short(float(y))}" for x, y in points)
        look: dict[str, Any] = {"fill": "none", "stroke": colour, "stroke_width": width, "stroke_linejoin": "round"}
        self.add("polyline", points=joined, **look)

    def svg(self) -> str:
        wide, high, unit = _short(self.width), _short(self.height), self.unit
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}{unit}" '
            f'height="{high}{unit}" font-family="{self.fonts}" role="img"><title>{escaped(self.title)}</title>'
            f'<rect width="100%" height="100%" fill="{self.paper}"/>{"".join(self.parts)}</svg>\n'
        )

    _repr_svg_ = svg  # used by notebooks


def escaped(text: Any) -> str:
    """Text escaped for XML."""
    return html.escape(_NO_XML.sub("�", str(text)))


def clean(text: str) -> str:
    """Make invisible characters visible. Leading and trailing spaces become "·", line endings "↵" and "␍", tabs "⇥",
    and others "�". Empty text becomes "∅", and text of only spaces "␣". Text of only joiners and non-ASCII spaces
    becomes its code points. (``viz.visible`` in base.js does the same.)"""
    if text.strip(" ") and all(unicodedata.category(c) in ("Cf", "Zs") for c in text):
        return " ".join(f"U+{ord(c):04X}" for c in text)
    text = text.translate(_MARKS)
    visible = "".join("�" if unicodedata.category(c) in _SHAPELESS or c in _NO_TEXT else c for c in text)
    if not (inner := visible.strip(" ")):
        return "␣" * len(visible) or "∅"
    before = len(visible) - len(visible.lstrip(" "))
    return "·" * before + inner + "·" * (len(visible) - before - len(inner))


def cut(text: str, most: int) -> str:
    """Truncate text to at most ``most`` characters. Truncated text ends in "…"."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _short(value: Any) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def size(svg: str) -> tuple[float, float]:
    """The width and height in CSS pixels. Raises ValueError if the SVG does not specify them in pixels or points."""
    sides = {name: float(x) * (POINT if unit == "pt" else 1) for name, x, unit in _SIDE.findall(_root(svg)[0])}
    if set(sides) != {"width", "height"} or 0 in sides.values():
        raise ValueError("an SVG must have a width and height, in pixels or points")
    return sides["width"], sides["height"]


def scaled(svg: str, scale: float) -> str:
    """Scale an SVG. Raises ValueError if ``scale`` is not positive, or if ``svg`` is not an SVG."""
    root = _root(svg)
    factor = checked_scale(scale)
    tag = _SIDE.sub(lambda side: f'{side[1]}="{float(side[2]) * factor:.6g}{side[3]}"', root[0])
    return svg[: root.start()] + tag + svg[root.end() :]


def beside(title: str, *pictures: str) -> str:
    """Place SVGs side by side, from left to right. Raises ValueError in the same cases as ``size``."""
    sizes = [size(svg) for svg in pictures]
    drawing = Drawing(sum(wide for wide, _ in sizes) + GAP * (len(sizes) - 1), max(high for _, high in sizes), title)
    left = 0.0
    for svg, (wide, high) in zip(pictures, sizes, strict=True):
        root = _root(svg)
        tag = f'{_SIDE.sub("", root[0])[:-1]} x="{left:.6g}" y="0" width="{wide:.6g}" height="{high:.6g}">'
        drawing.parts.append(tag + svg[root.end() :].rstrip())
        left += wide + GAP
    return drawing.svg()


def checked_scale(scale: float) -> float:
    """Return ``scale``. Raises ValueError unless it is positive and finite."""
    if not 0 < scale < math.inf:
        raise ValueError(f"scale must be positive and finite, not {scale}")
    return scale


def _root(svg: str) -> re.Match[str]:
    if (root := _ROOT.search(svg)) is None:
        raise ValueError("this is not an SVG: it has no svg element")
    return root


class PointDrawing(Drawing):
    """A drawing in a palette's colours. Units are points, as for font sizes."""

    fonts, unit = "Helvetica, Arial, Liberation Sans, Nimbus Sans, Noto Sans, DejaVu Sans, sans-serif", "pt"

    def __init__(self, width: float, height: float, title: str, palette: Palette) -> None:
        super().__init__(float(width), float(height), title)
        self.palette, self.paper = palette, palette.paper

    def caption(self, x: float, y: float, text: str, anchor: str = "start") -> None:
        self.text(x, y, text, anchor, SMALL, self.palette.quiet)

    def cells(self, boxes: list[Box], colour: str, opacity: float = 1.0) -> None:
        """Add filled rectangles (x, y, width, height)."""
        path = "".join(_path("M{} {}h{}v{}h{}z", x, y, w, h, -w) for x, y, w, h in boxes)
        self.add("path", fill=colour, fill_opacity=opacity if opacity < 1 else None, d=path)

    def strokes(self, ends: list[Box], colour: str, width: float, opacity: float = 1.0, curved: bool = False) -> None:
        """Add lines, each between two points (x, y, x, y). Curved lines start and end horizontally."""
        way = "M{0} {1}C{4} {1} {4} {3} {2} {3}" if curved else "M{} {}L{} {}"
        path = "".join(_path(way, a, b, c, d, (a + c) / 2) for a, b, c, d in ends)
        opaque = opacity if opacity < 1 else None
        self.add("path", fill="none", stroke=colour, stroke_width=float(width), stroke_opacity=opaque, d=path)


def width(text: str, size: float) -> float:
    """Estimate the width of text. It is 10% larger than in Helvetica, as other fonts may be wider."""
    return 1.1 * sum(map(_advance, text)) * size / 1000


def shortened(text: str, size: float, most: float) -> str:
    """Truncate text to a width. Truncated text ends in "…", which is as wide as the font size."""
    room, ends = most * 1000 / size / 1.1, list(accumulate(map(_advance, text)))
    return text if not ends or ends[-1] <= room else text[: bisect(ends, room - 1000)] + "…"


def wrapped(text: str, size: float, most: float) -> list[str]:
    """Wrap text into lines of at most a given width. Longer words get their own line."""
    lines: list[str] = []
    for word in text.split():
        if lines and width(f"{lines[-1]} {word}", size) <= most:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _advance(c: str) -> int:
    if (advance := _ASCII.get(c)) is not None:
        return advance
    if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0
    return 1000 if unicodedata.east_asian_width(c) in "WF" or c == "…" else 600


def _path(way: str, *numbers: float) -> str:
    return way.format(*(f"{x:.2f}".rstrip("0").rstrip(".") for x in numbers))
