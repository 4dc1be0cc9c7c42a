"""A vector picture as a list of shapes, and as SVG. Units are points, as of fonts; y goes down.

``raster`` draws the same shapes as PDF and PNG: so there are only three kinds, and what they are is kept.
(``viz.vector`` writes any element of SVG, and can write nothing else.)
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ..vector import escaped

Anchor = Literal["start", "middle", "end"]
FONTS = ("Helvetica", "Arial", "Liberation Sans", "Nimbus Sans", "Noto Sans", "DejaVu Sans")
# Widths of the characters from space to "~" in Helvetica, and fonts to its measure, in 1/1000 of the size.
_WIDTHS = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 "
    "556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 "
    "722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 "
    "500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584 "
)
_ASCII = dict(zip(map(chr, range(32, 127)), map(int, _WIDTHS.split()), strict=True))


class Text(NamedTuple):
    """A line of text; ``y`` is its baseline. ``turn`` is in degrees, anticlockwise around (x, y)."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    anchor: Anchor = "start"
    turn: float = 0.0


class Cells(NamedTuple):
    """Rectangles (x, y, width, height), filled."""

    boxes: list[tuple[float, float, float, float]]
    colour: str
    opacity: float = 1.0


class Strokes(NamedTuple):
    """Lines from (x, y) to (x, y); curved ones leave and arrive horizontally."""

    ends: list[tuple[float, float, float, float]]
    colour: str
    width: float
    opacity: float = 1.0
    curved: bool = False


@dataclass
class Drawing:
    """A picture: its size, the colour behind it, and shapes, the last on top."""

    width: float
    height: float
    title: str
    paper: str
    shapes: list[Text | Cells | Strokes] = field(default_factory=list)

    def add(self, *shapes: Text | Cells | Strokes) -> None:
        """Put shapes on top, but for empty ones."""
        self.shapes += [s for s in shapes if isinstance(s, Text) or s[0]]

    def svg(self) -> str:
        """The picture as a file of its own."""
        body = "\n".join(_TO_SVG[type(shape)](shape) for shape in self.shapes)
        w, h, fonts = _n(self.width), _n(self.height), ", ".join(FONTS)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}pt" height="{h}pt" viewBox="0 0 {w} {h}" '
            f'font-family="{fonts}, sans-serif" role="img">\n<title>{escaped(self.title)}</title>\n'
            f'<rect width="{w}" height="{h}" fill="{self.paper}"/>\n{body}\n</svg>\n'
        )


def width(text: str, size: float) -> float:
    """About how wide a text is: other fonts than Helvetica are up to a tenth wider."""
    return 1.1 * sum(map(_advance, text)) * size / 1000


def shortened(text: str, size: float, most: float) -> str:
    """A text cut to a width, with "…" at its end where something is missing."""
    room, kept = most * 1000 / size / 1.1, 0.0
    for i, c in enumerate(text):
        kept += _advance(c)
        if kept > room:
            return shortened_by(text[:i], room - 1000)
    return text


def wrapped(text: str, size: float, most: float) -> list[str]:
    """A text in lines of at most that width, as far as its words allow."""
    lines: list[str] = []
    for word in text.split():
        if lines and width(f"{lines[-1]} {word}", size) <= most:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def shortened_by(text: str, room: float) -> str:
    """The beginning of a text that fits, and "…", which is as wide as the font's size."""
    while text and sum(map(_advance, text)) > room:
        text = text[:-1]
    return text + "…"


def _advance(c: str) -> int:
    """The width of a character: of Helvetica's where it has one, otherwise of its kind."""
    if (known := _ASCII.get(c)) is not None:
        return known
    if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0
    return 1000 if unicodedata.east_asian_width(c) in "WF" or c == "…" else 600


def _text(t: Text) -> str:
    turn = f' transform="rotate({_n(-t.turn)} {_n(t.x)} {_n(t.y)})"' if t.turn else ""
    anchor = f' text-anchor="{t.anchor}"' if t.anchor != "start" else ""
    return (
        f'<text x="{_n(t.x)}" y="{_n(t.y)}" font-size="{_n(t.size)}" fill="{t.colour}"{anchor}{turn} '
        f'xml:space="preserve">{escaped(t.text)}</text>'
    )


def _cells(c: Cells) -> str:
    path = "".join(f"M{_n(x)} {_n(y)}h{_n(w)}v{_n(h)}h{_n(-w)}z" for x, y, w, h in c.boxes)
    return f'<path fill="{c.colour}"{_opacity("fill", c.opacity)} d="{path}"/>'


def _strokes(s: Strokes) -> str:
    path = "".join(map(_curve if s.curved else _line, s.ends))
    return (
        f'<path fill="none" stroke="{s.colour}" stroke-width="{_n(s.width)}"'
        f'{_opacity("stroke", s.opacity)} d="{path}"/>'
    )


def _line(ends: tuple[float, float, float, float]) -> str:
    a, b, c, d = map(_n, ends)
    return f"M{a} {b}L{c} {d}"


def _curve(ends: tuple[float, float, float, float]) -> str:
    a, b, c, d = map(_n, ends)
    middle = _n((ends[0] + ends[2]) / 2)
    return f"M{a} {b}C{middle} {b} {middle} {d} {c} {d}"


_TO_SVG: dict[type, Callable[..., str]] = {Text: _text, Cells: _cells, Strokes: _strokes}


def _opacity(name: str, opacity: float) -> str:
    return f' {name}-opacity="{_n(opacity)}"' if opacity < 1 else ""


def _n(x: float) -> str:
    """A coordinate with at most two digits after the point."""
    text = f"{x:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
