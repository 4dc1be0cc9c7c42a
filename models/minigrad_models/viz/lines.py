"""Line charts as vector images, drawn by Vega-Lite (Satyanarayan et al. 2017, doi 10.1109/TVCG.2016.2599030)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad.viz.numbers import Floats
from minigrad.viz.palette import LIGHT
from minigrad.viz.vector import LINE, QUIET, SANS, clean
from minigrad.viz.view import converter

LONGEST = 240  # pixels for the name of a curve
NARROWEST = 200  # pixels for a chart
MOST_DOTS = 32  # the most points for a curve with a dot at each point


class Curve(NamedTuple):
    """A line in a chart."""

    name: str
    x: Floats
    y: Floats
    colour: int  # its index in the palette
    dashed: bool = False  # without dots, as for a theoretical curve
    named: bool = True  # the legend shows its name
    joined: bool = True  # a line connects the points; otherwise each point is a dot


def draw(
    title: str,
    across: str,
    up: str,
    curves: Sequence[Curve],
    log: tuple[bool, bool] = (False, False),
    width: float = 640.0,
) -> str:
    """Draw a chart, ``width`` pixels wide, on white, as SVG text. ``across`` and ``up`` label the axes; ``log`` makes
    them logarithmic. Lines have gaps at points that are not finite or have no logarithm. Raises ValueError if there are
    no curves or the chart is narrower than 200 pixels, and ImportError if vl-convert-python is missing."""
    if not curves or width < NARROWEST:
        raise ValueError(f"a width of {width:g} leaves no room for curves" if curves else "there are no curves to draw")
    chart = {"title": {"text": clean(title), "anchor": "start"}, "width": width, "height": 0.6 * width}
    return svg({**chart, "autosize": {"type": "fit", "contains": "padding"}, **layers(across, up, curves, log)})


def layers(across: str, up: str, curves: Sequence[Curve], log: tuple[bool, bool] = (False, False)) -> dict[str, Any]:
    """The part of a Vega-Lite specification that draws curves, with axes and a legend."""
    rows = []
    for number, curve in enumerate(curves):
        points = np.stack([curve.x, curve.y], 1)
        finite = np.isfinite(points) & ((points > 0) | ~np.array(log))
        dots = not curve.joined or (not curve.dashed and len(points) <= MOST_DOTS)
        exact = [[float(f"{value:.12g}") for value in point] for point in points.tolist()]  # 100.00000000000004 is 100
        for point, is_drawn in zip(exact, finite.all(1).tolist(), strict=True):
            x, y = point if is_drawn else (point[0] if np.isfinite(point[0]) else None, None)
            rows.append({"x": x, "y": y, "curve": number, "line": curve.joined, "dot": dots and is_drawn})
    numbers = list(range(len(curves)))
    in_legend = [number for number in numbers if curves[number].named]
    label = f"{json.dumps([clean(curve.name) for curve in curves])}[datum.value]"
    legend = {"values": in_legend, "labelExpr": label, "title": None, "symbolType": "stroke", "symbolStrokeWidth": 2}
    of_curve = {"field": "curve", "type": "nominal", "legend": legend if in_legend else None}
    colours = [LIGHT.nth(curve.colour) for curve in curves]
    dashes = [[4, 3] if curve.dashed else [1, 0] for curve in curves]
    place = {
        name: {"field": name, "type": "quantitative", "title": clean(text), "scale": scale(is_log, name == "y")}
        for name, text, is_log in zip("xy", (across, up), log, strict=True)
    }
    return {
        "data": {"values": rows},
        "encoding": {**place, "color": {**of_curve, "scale": {"domain": numbers, "range": colours}}},
        "layer": [
            {
                "mark": {"type": "line", "strokeWidth": 1.6},
                "transform": [{"filter": "datum.line"}],
                "encoding": {"strokeDash": {**of_curve, "scale": {"domain": numbers, "range": dashes}}},
            },
            {"mark": {"type": "circle", "size": 16, "opacity": 1}, "transform": [{"filter": "datum.dot"}]},
        ],
    }


def scale(log: bool, nice: bool) -> dict[str, Any]:
    """The scale of an axis, which need not begin at zero; a ``nice`` scale ends at round numbers."""
    return {"type": "log", "nice": nice} if log else {"zero": False, "nice": nice}


def svg(chart: dict[str, Any]) -> str:
    """Draw a Vega-Lite specification in the colours and fonts of all images. Returns the text of an SVG file. Raises
    ImportError if vl-convert-python is missing."""
    axis = {"gridColor": LINE, "domainColor": QUIET, "tickColor": QUIET, "labelColor": QUIET, "titleColor": QUIET}
    look = {
        "aria": False,  # a label for each point would make up most of the file
        "font": SANS.replace("'", '"'),
        "axis": {**axis, "titleFontWeight": "normal"},
        "legend": {"labelLimit": LONGEST, "labelFontSize": 12},
        "title": {"fontSize": 14},
        "view": {"stroke": None},
    }
    return str(converter().vegalite_to_svg({"background": LIGHT.paper, "padding": 8, "config": look, **chart}))
