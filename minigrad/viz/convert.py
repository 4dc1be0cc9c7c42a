"""An SVG file as PNG or PDF: the one way out for every picture.

The extra ``viz`` brings vl-convert-python: resvg draws the pixels and svg2pdf writes the vectors, in one wheel for
every system, without programs or libraries of the system's. Letters that a font lacks come from any other one.
"""

from __future__ import annotations

import unicodedata
import warnings
from functools import cache
from typing import Any
from xml.etree import ElementTree

from ..backend.extras import how_to_install
from .vector import POINT, checked_scale, scaled, size

MOST_PIXELS = 100_000_000  # of a PNG: 400 MB while it is drawn; beyond memory the library ends the whole process
_NO_SHAPE = ("Cc", "Cf", "Zs", "Zl", "Zp", "Mn", "Mc", "Me")  # controls, spaces, and marks that join a letter
_UNASSIGNED = "\u0378"  # a character that Unicode will hardly ever have: fonts draw it as what they draw for none


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
    _tell_missing(svg)
    return bytes(library.svg_to_png(svg, scale=scale))


def pdf(svg: str, scale: float = 1.0) -> bytes:
    """A vector picture of one page as large as it is, whose text stays text. At scale 1 a point is a point, and a CSS
    pixel 3/4 of one. Raises as ``png``, but for too many pixels."""
    library = converter()
    _tell_missing(svg)
    return bytes(library.svg_to_pdf(scaled(svg, scale / POINT)))  # which takes a pixel for a point


def converter() -> Any:
    """The library. Raises ImportError where it is missing."""
    try:
        import vl_convert
    except ImportError as error:
        raise ImportError(
            f"PNG and PDF need vl-convert-python; SVG and HTML do not: {how_to_install('vl-convert-python')}"
        ) from error
    return vl_convert


def _tell_missing(svg: str) -> None:
    """One warning about all letters of a picture that would be boxes."""
    elements = ElementTree.fromstring(svg).iter()
    texts = ("".join(element.itertext()) for element in elements if element.tag.rpartition("}")[2] == "text")
    letters = sorted({letter for text in texts for letter in text if ord(letter) > 126})
    if missing := [c for c in letters if unicodedata.category(c) not in _NO_SHAPE and _alone(c) == _alone(_UNASSIGNED)]:
        some = " ".join(missing[:10]) + " …" * (len(missing) > 10)
        warnings.warn(
            f"no font here has {len(missing)} of the picture's letters, which become boxes: {some} (the Noto fonts "
            f"have all scripts; an SVG takes the fonts of whoever opens it)",
            stacklevel=5,
        )


@cache
def _alone(letter: str) -> bytes:
    text = f'<text y="10" font-size="10" font-family="sans-serif">{letter}</text>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="12" height="12">{text}</svg>'
    return bytes(converter().svg_to_png(svg, scale=1))
