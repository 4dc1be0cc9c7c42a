"""The size of SVG files: told, changed, and of several as one."""

from __future__ import annotations

import math
import re

from .vector import Drawing

POINT = 4 / 3  # CSS pixels
GAP = 24.0  # CSS pixels between pictures
_ROOT = re.compile(r"<svg\b[^>]*>")
_SIDE = re.compile(r'(?<=\s)(width|height)="([\d.eE+]+)(px|pt|)"')


def size(svg: str) -> tuple[float, float]:
    """Width and height in CSS pixels. Raises ValueError: the SVG does not say them in pixels or points."""
    sides = {
        name: float(number) * (POINT if unit == "pt" else 1) for name, number, unit in _SIDE.findall(_root(svg)[0])
    }
    if set(sides) != {"width", "height"} or 0 in sides.values():
        raise ValueError("an SVG has to say its width and height, in pixels or points")
    return sides["width"], sides["height"]


def scaled(svg: str, scale: float) -> str:
    """The same picture with its size times ``scale``. Raises ValueError: that is not positive, or it is no SVG."""
    root = _root(svg)
    factor = checked_scale(scale)
    tag = _SIDE.sub(lambda side: f'{side[1]}="{float(side[2]) * factor:.6g}{side[3]}"', root[0])
    return svg[: root.start()] + tag + svg[root.end() :]


def beside(title: str, *pictures: str) -> str:
    """Pictures from left to right, as one. Raises ValueError as ``size``."""
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
    """A factor that is positive and finite. Raises ValueError: it is not."""
    if not 0 < scale < math.inf:
        raise ValueError(f"scale is {scale}; it must be positive")
    return scale


def _root(svg: str) -> re.Match[str]:
    if (root := _ROOT.search(svg)) is None:
        raise ValueError("this is no SVG: it has no element svg")
    return root
