"""SVG as PNG and PDF: sharp pixels, clips, dashes, text and sizes."""

import io
from functools import partial

import numpy as np
import pytest

from minigrad.viz import view as convert
from minigrad.viz.vector import Drawing, beside, scaled, size
from tests.support.cases import raises

pytest.importorskip("vl_convert", reason="the extra viz brings it")


TWO_PIXELS = (  # red and blue
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADUlEQVR42mP4zwAE/wEHAAH/PX2MSQAAAABJRU5ErkJggg=="
)


def two_pixels(drawing: Drawing, y: float, width: float, height: float) -> None:
    look = {"preserveAspectRatio": "none", "style": "image-rendering:pixelated", "href": TWO_PIXELS}
    drawing.add("image", x=0, y=y, width=width, height=height, **look)


def picture(text: str = "") -> str:
    """An SVG with a line of text and an image of two pixels."""
    drawing = Drawing(80, 40, "t")
    drawing.text(2, 12, text)
    two_pixels(drawing, 20, 80, 20)
    return drawing.svg()


def test_pixels_stay_sharp_and_clips_and_dashes_are_kept() -> None:
    images = pytest.importorskip("PIL.Image", reason="it reads the PNG: pip install pillow")
    drawing = Drawing(40, 30, "t")
    two_pixels(drawing, 0, 40, 10)
    drawing.parts.append('<clipPath id="c"><rect x="0" y="10" width="20" height="10"/></clipPath>')
    drawing.add("rect", x=0, y=10, width=40, height=10, fill="#008000", clip_path="url(#c)")
    drawing.add("path", d="M0 25H40", stroke="#000000", stroke_width=2, stroke_dasharray="10 10")
    pixels = np.asarray(images.open(io.BytesIO(convert.png(drawing.svg(), 2))).convert("RGB"))
    assert pixels.shape == (60, 80, 3)
    assert (pixels[:20, :40] == (255, 0, 0)).all() and (pixels[:20, 40:] == (0, 0, 255)).all()
    assert (pixels[22:38, :40] == (0, 128, 0)).all() and (pixels[22:38, 40:] == 255).all()
    assert pixels[50, [5, 30, 45, 70], 0].tolist() == [0, 255, 0, 255]


def test_text_stays_text_in_a_pdf() -> None:
    """Its letters have code points, so they can be searched and copied."""
    document = convert.pdf(picture("∂ab"))
    letters = document.partition(b"beginbfchar")[2].partition(b"endbfchar")[0]
    assert all(code in letters for code in (b"<2202>", b"<0061>", b"<0062>"))
    assert document == convert.pdf(picture("∂ab"))


def test_sizes() -> None:
    svg = picture()
    assert size(svg) == (80, 40) and size(scaled(svg, 2.5)) == (200, 100)
    points = svg.replace('width="80" height="40"', 'width="80pt" height="40pt"', 1)
    assert size(points) == pytest.approx((80 * 4 / 3, 40 * 4 / 3)) and 'width="40pt"' in scaled(points, 0.5)
    both = beside("t", svg, points)
    assert size(both) == pytest.approx((80 + 24 + 80 * 4 / 3, 40 * 4 / 3), rel=1e-3)
    assert convert.png(both)
    for wrong in (0, -1, float("nan"), float("inf")):
        for way in (convert.png, convert.pdf, scaled):
            raises(ValueError, "must be positive", partial(way, svg, wrong))
    raises(ValueError, r"16,000 × 8,000 pixels is too large .* at most 1.8e\+02", lambda: convert.png(svg, 200))
    raises(ValueError, "width and height", lambda: convert.png('<svg xmlns="http://www.w3.org/2000/svg"/>'))
    raises(ValueError, "not an SVG", lambda: size("<html/>"))
