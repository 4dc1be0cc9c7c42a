"""A picture of what a translation looked at: how much each written token took from each source token."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from minigrad.serialization.source import replaced
from minigrad.viz.fonts import installed, tell_missing

FORMATS = (".png", ".svg", ".pdf")
NUMBERED = 16  # tokens a side up to which cells are large enough for their number
CELL, SMALL_CELL, WIDEST = 0.42, 0.24, 40.0  # inches: of a cell, and of all together
LONGEST = 24  # characters of a token that are shown


class Attention(Protocol):
    """What is drawn (see translator.py): token texts, and cross-attention (layers, heads, T, S)."""

    @property
    def source(self) -> list[str]: ...

    @property
    def target(self) -> list[str]: ...

    @property
    def weights(self) -> np.ndarray[Any, Any]: ...


def draw(attention: Attention, path: Path | str, layer: int | None = None, head: int | None = None) -> None:
    """Draw the weights as a heat map: source tokens above, written tokens at the side.

    Args:
        attention: of ``Translator.attention``.
        path: where the picture goes; its ending says what it is: .png, .svg or .pdf.
        layer, head: which one; -1 is the last; None takes the mean over all.

    Raises:
        ValueError: another ending, no such layer or head, or no tokens. ImportError: matplotlib is missing.
        OSError, RuntimeError: the file cannot be written; an older one is left as it is.
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"a picture's name ends in {', '.join(FORMATS)}, and not as {path.name}")
    figure = picture(attention.source, attention.target, chosen(attention.weights, layer, head))
    # No dates and no chance: what is drawn twice is the same twice.
    dates: dict[str, dict[str, None]] = {
        ".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None},
    }  # fmt: skip
    kind = path.suffix.lower()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with _matplotlib().rc_context({"svg.hashsalt": "minigrad"}), replaced(path) as temporary:
            figure.savefig(temporary, format=kind[1:], metadata=dates[kind], bbox_inches="tight")
    tell_missing(caught)


def chosen(weights: np.ndarray[Any, Any], layer: int | None, head: int | None) -> np.ndarray[Any, Any]:
    """One layer and head of (layers, heads, T, S), or their mean -> (T, S).

    Raises:
        ValueError: there is no such layer or head.
    """
    for name, number, count in (("layer", layer, weights.shape[0]), ("head", head, weights.shape[1])):
        if number is not None and not -count <= number < count:
            raise ValueError(f"there is no {name} {number}: there are {count}, from 0 to {count - 1}")
    some = weights.mean(0) if layer is None else weights[layer]
    found: np.ndarray[Any, Any] = some.mean(0) if head is None else some[head]
    return found


def picture(source: Sequence[str], target: Sequence[str], weights: np.ndarray[Any, Any]) -> Any:
    """The heat map as a matplotlib Figure; weights (T, S). Readable on light and dark pages."""
    if not source or not target or weights.shape != (len(target), len(source)):
        raise ValueError(
            f"{len(target)} written and {len(source)} source tokens, and weights of shape {weights.shape}"
        )
    library = _matplotlib()
    most = max(len(source), len(target))
    cell = CELL if most <= NUMBERED else min(SMALL_CELL, WIDEST / most)
    # The figure is the cells alone: what is around them is added when it is saved (bbox_inches="tight").
    figure = library.figure.Figure((cell * len(source), cell * len(target)), dpi=100, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow(weights, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    look = {"fontsize": min(11.0, 38 * cell), "fontfamily": installed(library)}
    look["parse_math"] = False  # "$" is text like any other
    slanted = {"rotation": 45 if most <= NUMBERED else 60, "rotation_mode": "anchor", "ha": "left"}
    axes.set_xticks(range(len(source)), [label(token) for token in source], **slanted, **look)
    axes.set_yticks(range(len(target)), [label(token) for token in target], **look)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_ylabel("written")
    if most <= NUMBERED:
        _numbers(axes, weights)
    return figure


def _numbers(axes: Any, weights: np.ndarray[Any, Any]) -> None:
    """The weights that can be seen, in their cells."""
    for row, values in enumerate(weights.tolist()):
        for column, value in enumerate(values):
            if value >= 0.05:
                axes.text(
                    column, row, f"{value:.2f}".lstrip("0"), ha="center", va="center", fontsize=8,
                    color="white" if value > 0.55 else "black",
                )  # fmt: skip


def label(token: str) -> str:
    """A token's text as it can be drawn: spaces marked, what has no shape replaced, not too long."""
    text = "".join(
        "▁" if c == " " else "�" if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in token
    )
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _matplotlib() -> Any:
    try:
        import matplotlib.figure
        import matplotlib.font_manager
    except ImportError as error:
        raise ImportError(
            "a picture needs matplotlib: pip install 'minigrad[pictures]', or matplotlib alone"
        ) from error
    return matplotlib
