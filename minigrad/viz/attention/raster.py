"""A drawing as PDF or PNG, by matplotlib, which the extra ``viz`` brings."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable
from io import BytesIO
from typing import Any, Literal

from .drawing import FONTS, Cells, Drawing, Strokes, Text

_ANCHORS = {"start": "left", "middle": "center", "end": "right"}
_NO_DATES = {"pdf": {"CreationDate": None}, "png": {"Software": None}}  # drawn twice, the same twice
DOTS = 200  # an inch of PNG
# Tried before all other fonts, in this order: plain ones, and those that have many scripts.
OTHER_SCRIPTS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "PingFang SC", "Microsoft YaHei", "Malgun Gothic"),
    *("Noto Sans Devanagari", "Noto Sans Thai", "Noto Emoji", "Arial Unicode MS", "Unifont"),
)
NO_LETTERS = ("Last Resort", ".LastResort")  # fonts that have a box for everything


def rendered(drawing: Drawing, ending: Literal["pdf", "png"]) -> bytes:
    """The content of the file. Raises ImportError where matplotlib is missing."""
    library = matplotlib()
    size = (drawing.width / 72, drawing.height / 72)
    figure = library.figure.Figure(size, dpi=DOTS, facecolor=drawing.palette.paper)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, drawing.width), ylim=(drawing.height, 0))
    axes.axis("off")
    letters = "".join({c for shape in drawing.shapes if isinstance(shape, Text) for c in shape.text})
    fonts = installed(library, letters, FONTS)
    for order, shape in enumerate(drawing.shapes):
        artist = _text(shape, fonts, library) if isinstance(shape, Text) else _shape(shape, library)
        artist.set_zorder(order)
        axes.add_artist(artist)
    file = BytesIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with library.rc_context({"pdf.fonttype": 42}):  # text stays text, in a font that journals take
            # Fonts that are wider than the drawing's make the picture larger, and are not cut off.
            around = {"facecolor": drawing.palette.paper, "bbox_inches": "tight", "pad_inches": 0}
            figure.savefig(file, format=ending, metadata=_NO_DATES[ending], **around)
    tell_missing(caught)
    return file.getvalue()


def _text(t: Text, fonts: list[str], library: Any) -> Any:
    place = {"ha": _ANCHORS[t.anchor], "va": "baseline", "rotation": t.turn, "rotation_mode": "anchor"}
    look = {"fontsize": t.size, "color": t.colour, "fontfamily": fonts, "parse_math": False, "clip_on": False}
    return library.text.Text(t.x, t.y, t.text, **place, **look)


def _shape(shape: Cells | Strokes, library: Any) -> Any:
    if isinstance(shape, Cells):
        corners = [[(x, y), (x + w, y), (x + w, y + h), (x, y + h)] for x, y, w, h in shape.boxes]
        look = {"facecolors": shape.colour, "alpha": shape.opacity, "edgecolors": "none", "linewidths": 0}
        return library.collections.PolyCollection(corners, **look)
    path = library.path.Path
    points: list[tuple[float, float]] = []
    for a, b, c, d in shape.ends:
        points += [(a, b), ((a + c) / 2, b), ((a + c) / 2, d), (c, d)] if shape.curved else [(a, b), (c, d)]
    codes = [path.MOVETO, *([path.CURVE4] * 3 if shape.curved else [path.LINETO])] * len(shape.ends)
    look = {"edgecolor": shape.colour, "linewidth": shape.width, "alpha": shape.opacity}
    return library.patches.PathPatch(path(points, codes), fill=False, **look)


def matplotlib() -> Any:
    """The library. Raises ImportError where it is missing."""
    try:
        import matplotlib.figure  # and with it shapes, text and fonts
    except ImportError as error:
        raise ImportError(
            "a PDF or PNG needs matplotlib: pip install 'minigrad[viz]', or matplotlib alone; SVG does not"
        ) from error
    return matplotlib


# Fonts that have the letters which matplotlib's own lacks --------------------------------------------------


def installed(library: Any, letters: str, first: Iterable[str] = ("DejaVu Sans",)) -> list[str]:
    """The installed fonts in which matplotlib is to look for letters: the ``first``, and others until all are found."""
    manager = library.font_manager
    # of a font's faces the one that is neither slanted, bold nor narrow comes last, and is kept
    faces = sorted(
        manager.fontManager.ttflist, key=lambda f: (f.style == "normal", f.weight == 400, f.stretch == "normal")
    )
    files = {face.name: face.fname for face in faces}
    fonts = [name for name in first if name in files] or ["DejaVu Sans"]
    missing = {ord(c) for c in letters if unicodedata.category(c)[0] not in "CZ"}  # spaces, and what joins
    missing.difference_update(*(_code_points(manager, files[name]) for name in fonts))
    for name in (*(other for other in OTHER_SCRIPTS if other in files), *sorted(files)):
        if not missing:
            break
        if not name.startswith(NO_LETTERS) and (new := missing & _code_points(manager, files[name])):
            fonts.append(name)
            missing -= new
    return fonts


def _code_points(manager: Any, file: str) -> set[int]:
    try:
        return set(manager.get_font(file).get_charmap())
    except (OSError, RuntimeError):  # a damaged file
        return set()


def tell_missing(caught: list[warnings.WarningMessage]) -> None:
    """One warning about all letters without a font, in place of matplotlib's for each; others are repeated."""
    missing = {str(w.message) for w in caught if "missing from" in str(w.message)}
    for other in caught:
        if str(other.message) not in missing:
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    if missing:
        warnings.warn(
            f"no font is known here for {len(missing)} of the letters, which become boxes; the Noto fonts "
            f"have all scripts, and an SVG file takes the fonts of whoever opens it",
            stacklevel=4,
        )
