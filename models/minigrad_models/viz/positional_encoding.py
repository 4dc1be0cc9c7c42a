"""Visualisations of sinusoidal position encodings: a heat map, curves, and a table of numbers."""

from __future__ import annotations

import base64
import json
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.nn.embedding import sinusoids
from minigrad.viz.numbers import Array, cell_means, coded, equal_parts
from minigrad.viz.page import Page
from minigrad.viz.palette import rgb
from minigrad.viz.vector import LINE, MINUS, PAPER, PLUS
from minigrad.viz.view import Picture

from .lines import MOST_DOTS, Curve, layers, svg
from .texts import checked_texts, label

MOST = 2_000_000  # numbers on a page
NAMED = 48  # the most positions at which each one is labelled
CURVES = 4  # pairs of dimensions that the image shows
TALLEST = 1200.0  # of the heat map, in pixels
NARROWEST = 4.0  # of a visible wave, in pixels
SMOOTH = 24  # points per wave, enough to look like a curve


@dataclass(frozen=True)
class PositionalEncoding(Picture):
    """The table of ``nn.SinusoidalPositionalEncoding``. In a notebook it displays itself."""

    values: Array  # (T, D), float32
    tokens: tuple[str, ...] = ()  # T texts, or empty

    def __repr__(self) -> str:
        length, width = self.values.shape
        return f"<positional encoding of {length:,} positions, {width} wide; .save('x.html') or .svg()>"

    def wavelength(self, dimension: int) -> float:
        """The period of a dimension in positions: 2π · 10000^(2i/D), for 2i and 2i + 1. Raises IndexError."""
        width = self.values.shape[1]
        if not 0 <= dimension < width:
            raise IndexError(f"there is no dimension {dimension}: dimensions are numbered from 0 to {width - 1}")
        return float(2 * math.pi * 10000 ** (dimension // 2 * 2 / width))

    def data(self) -> dict[str, Any]:
        """The data for assets/positional.js."""
        length, width = self.values.shape
        return {"length": length, "width": width, "tokens": list(self.tokens), "values": coded(self.values, "<f4")}

    def page(self) -> Page:
        """An interactive heat map, curves and a table, as a single file that works offline."""
        title = "Positional encoding: {:,} positions, {} wide".format(*self.values.shape)
        return Page.of("positional", title, {"positional": self.data()}, height=900)

    def svg(self) -> str:
        """An SVG of the heat map, with curves below it for some dimensions with visible waves."""
        length, width = self.values.shape
        cell = min(16.0, max(4.0, 480 / max(length, width)))
        wide, high = max(cell * width, 320.0), min(max(cell * length, 96.0), TALLEST)
        # If there are more rows than pixels, average adjacent rows, as sampling would show spurious waves.
        pixels = png(diverging(cell_means(self.values, equal_parts(length, int(high)), range(width + 1))))
        image = {"type": "image", "url": f"data:image/png;base64,{base64.b64encode(pixels).decode()}"}
        names = [label(f"{i} {token}") for i, token in enumerate(self.tokens if length <= NAMED else ())]
        rows = {"values": list(range(length)), "labelExpr": f"{json.dumps(names)}[datum.value]"} if names else {}
        shades = {"domain": [-1, 0, 1], "range": [MINUS, PAPER, PLUS], "interpolate": "rgb"}
        number, axis = {"type": "quantitative"}, {"grid": False, "tickMinStep": 1}
        x = {"field": "x", **number, "title": "dimension", "scale": {"domain": [-0.5, width - 0.5]}, "axis": axis}
        y = {"field": "y", **number, "title": "position", "scale": {"domain": [-0.5, length - 0.5], "reverse": True}}
        legend = {"type": "symbol", "values": [1, 0, -1], "symbolSize": 200, "symbolStrokeColor": LINE, "title": None}
        table = {
            "data": {"values": [{"x": -0.5, "y": -0.5, "value": 0}]},
            "encoding": {"x": x, "y": {**y, "axis": {**axis, **rows}}},
            "layer": [
                {
                    "mark": {**image, "aspect": False, "smooth": False},
                    "encoding": {"x2": {"datum": width - 0.5}, "y2": {"datum": length - 0.5}},
                },
                {  # an invisible mark, for the colour legend
                    "mark": {"type": "square", "size": 0, "opacity": 1},
                    "encoding": {"color": {"field": "value", **number, "legend": legend, "scale": shades}},
                },
            ],
        }
        parts = [{"width": wide, "height": high, **table}]
        parts.append({"width": wide, "height": 120, **layers("position", "value", self._curves(wide))})
        own = {"scale": {"color": "independent", "strokeDash": "independent"}}
        return svg({"title": "Sinusoidal positional encoding", "vconcat": parts, "resolve": own})

    def _curves(self, wide: float) -> list[Curve]:
        """The sines for some pairs of dimensions, with dots at the positions if there are few."""
        length = len(self.values)
        last = max(length - 1, 1)
        positions = np.arange(length if length <= NAMED else 0, dtype=np.float64)
        curves = []
        for i, pair in enumerate(self._visible(wide / last)):
            wave = self.wavelength(2 * pair)
            x = np.linspace(0, last, math.ceil(min(SMOOTH * last / wave, 2 * wide)) + MOST_DOTS)
            name = f"{2 * pair}: wavelength {f'{wave:,.1f}'.removesuffix('.0')}"
            curves.append(Curve(name, x, np.sin(2 * math.pi * x / wave), i))
            curves.append(Curve("", positions, self.values[: len(positions), 2 * pair], i, named=False, joined=False))
        return curves

    def _visible(self, scale: float) -> list[int]:
        """Pairs of dimensions with visible waves if a position is ``scale`` pixels wide: not too narrow, and not so
        long that they are almost straight."""
        length, width = self.values.shape
        pairs = [i for i in range(-(-width // 2)) if self.wavelength(2 * i) * scale >= NARROWEST]
        fitting = [i for i in pairs if self.wavelength(2 * i) <= 4 * length] or pairs[:1]
        places = {round(i * (len(fitting) - 1) / (CURVES - 1)) for i in range(CURVES)} if fitting else ()
        return [fitting[place] for place in sorted(places)]


def positional_encoding(length: int, d_model: int, tokens: Sequence[str] | None = None) -> PositionalEncoding:
    """Show PE(t, 2i) = sin(t / 10000^(2i/D)) and PE(t, 2i+1) = cos(t / 10000^(2i/D)) for T = ``length`` positions and D
    = ``d_model`` dimensions (Vaswani et al. 2017, section 3.5), computed by the layer that models use. ``tokens`` label
    the positions. Raises ValueError if a size is not positive, the page would be too large, or the number of tokens
    does not match the length."""
    if length < 1 or d_model < 1:
        raise ValueError(f"length and d_model must be positive: length={length}, d_model={d_model}")
    if length * d_model > MOST:
        raise ValueError(
            f"{length:,} positions of {d_model:,} dimensions are too many to draw: at most {MOST:,} numbers"
        )
    texts = checked_texts("tokens", () if tokens is None else tokens)
    if tokens is not None and len(texts) != length:
        raise ValueError(f"{len(texts)} tokens for a length of {length}: there must be one per position")
    return PositionalEncoding(sinusoids(length, d_model).numpy(), texts)


def diverging(values: Array, most: float = 1.0) -> Array:
    """Numbers (…) as colours (…, 3), uint8: from MINUS at -most through white to PLUS at +most."""
    amount = np.clip(values / most, -1, 1)[..., None]
    ends = np.where(amount < 0, rgb(MINUS), rgb(PLUS))
    return np.rint(255 + np.abs(amount) * (ends - 255)).astype(np.uint8)


def png(pixels: Array) -> bytes:
    """Pixels (rows, columns, 3), uint8, as a PNG file (W3C 2003)."""
    height, width, _ = pixels.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], 1)  # 0: no filter
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    packed = zlib.compress(rows.tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")
