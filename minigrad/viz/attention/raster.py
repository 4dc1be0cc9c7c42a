"""A drawing as PDF or PNG, by matplotlib, which the extra ``viz`` brings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from io import BytesIO
from typing import Any, Literal

from ..fonts import installed, tell_missing
from .drawing import FONTS, Cells, Drawing, Strokes, Text

_ANCHORS = {"start": "left", "middle": "center", "end": "right"}
DOTS = 200  # an inch of PNG


def rendered(drawing: Drawing, ending: Literal["pdf", "png"]) -> bytes:
    """The file.

    Raises:
        ImportError: matplotlib is missing.
    """
    library = matplotlib()
    size = (drawing.width / 72, drawing.height / 72)
    figure = library.figure.Figure(size, dpi=DOTS, facecolor=drawing.paper)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, drawing.width), ylim=(drawing.height, 0))
    axes.axis("off")
    letters = "".join({c for shape in drawing.shapes if isinstance(shape, Text) for c in shape.text})
    fonts = installed(library, letters, FONTS)
    for order, shape in enumerate(drawing.shapes):
        _DRAWN[type(shape)](axes, shape, order, fonts, library)
    dates = {"pdf": {"CreationDate": None}, "png": {"Software": None}}[ending]  # drawn twice, the same twice
    file = BytesIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with library.rc_context({"pdf.fonttype": 42}):  # text stays text, in a font that journals take
            # Fonts that are wider than the drawing's make the picture larger, and are not cut off.
            figure.savefig(
                file, format=ending, metadata=dates, facecolor=drawing.paper, bbox_inches="tight", pad_inches=0
            )
    tell_missing(caught)
    return file.getvalue()


def _text(axes: Any, t: Text, order: int, fonts: list[str], _: Any) -> None:
    axes.text(
        t.x,
        t.y,
        t.text,
        fontsize=t.size,
        color=t.colour,
        ha=_ANCHORS[t.anchor],
        va="baseline",
        rotation=t.turn,
        rotation_mode="anchor",
        fontfamily=fonts,
        zorder=order,
        parse_math=False,
    )


def _cells(axes: Any, c: Cells, order: int, _: list[str], library: Any) -> None:
    corners = [[(x, y), (x + w, y), (x + w, y + h), (x, y + h)] for x, y, w, h in c.boxes]
    axes.add_collection(
        library.collections.PolyCollection(
            corners, facecolors=c.colour, alpha=c.opacity, edgecolors="none", linewidths=0, zorder=order
        )
    )


def _strokes(axes: Any, s: Strokes, order: int, _: list[str], library: Any) -> None:
    path = library.path.Path
    points: list[tuple[float, float]] = []
    for a, b, c, d in s.ends:
        points += [(a, b), ((a + c) / 2, b), ((a + c) / 2, d), (c, d)] if s.curved else [(a, b), (c, d)]
    codes = [path.MOVETO, *([path.CURVE4] * 3 if s.curved else [path.LINETO])] * len(s.ends)
    axes.add_patch(
        library.patches.PathPatch(
            path(points, codes), fill=False, edgecolor=s.colour, linewidth=s.width, alpha=s.opacity, zorder=order
        )
    )


_DRAWN: dict[type, Callable[..., None]] = {Text: _text, Cells: _cells, Strokes: _strokes}


def matplotlib() -> Any:
    """The library.

    Raises:
        ImportError: it is missing.
    """
    try:
        import matplotlib.collections
        import matplotlib.figure
        import matplotlib.font_manager
        import matplotlib.patches
        import matplotlib.path
    except ImportError as error:
        raise ImportError(
            "a PDF or PNG needs matplotlib: pip install 'minigrad[viz]', or matplotlib alone; SVG does not"
        ) from error
    return matplotlib
