"""An SVG file as PNG or PDF: the one way out for every picture.

The extra ``viz`` brings vl-convert-python: resvg draws the pixels and svg2pdf writes the vectors, in one wheel for
every system, without programs or libraries of the system's. Letters that a font lacks come from any other one.
"""

from __future__ import annotations

from typing import Any

from ..backend.extras import how_to_install
from .vector import POINT, checked_scale, scaled, size

MOST_PIXELS = 100_000_000  # of a PNG: 400 MB while it is drawn; beyond memory the library ends the whole process


def png(svg: str, scale: float = 2.0) -> bytes:
    """A picture of pixels.

    Args:
        svg: the text of the file; its size is in pixels or points.
        scale: pixels for each CSS pixel; 1 CSS pixel is 3/4 of a point.

    Raises:
        ImportError: vl-convert-python is missing. ValueError: a scale that is not positive, or too many pixels.
    """
    library = converter()
    wide, high = size(svg)
    if wide * high * checked_scale(scale) ** 2 > MOST_PIXELS:
        most = (MOST_PIXELS / (wide * high)) ** 0.5
        raise ValueError(
            f"{wide * scale:,.0f} × {high * scale:,.0f} pixels are too many for a PNG: scale can be {most:.2g} at most "
            f"here; SVG and PDF have no such limit"
        )
    return bytes(library.svg_to_png(svg, scale=scale))


def pdf(svg: str, scale: float = 1.0) -> bytes:
    """A vector picture of one page as large as it is, whose text stays text. At scale 1 a point is a point, and a CSS
    pixel 3/4 of one. Raises as ``png``, but for too many pixels."""
    return bytes(converter().svg_to_pdf(scaled(svg, scale / POINT)))  # which takes a pixel for a point


def converter() -> Any:
    """The library. Raises ImportError where it is missing."""
    try:
        import vl_convert
    except ImportError as error:
        raise ImportError(
            f"PNG and PDF need vl-convert-python; SVG and HTML do not: {how_to_install('viz', 'vl-convert-python')}"
        ) from error
    return vl_convert
