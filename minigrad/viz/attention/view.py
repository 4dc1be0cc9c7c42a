"""What ``viz.attention`` gives back: it shows itself in a notebook, and saves itself as a page or picture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from ..page import Page, written
from ..palette import DARK, LIGHT
from ..view import Picture
from .choice import chosen
from .data import Array, Attention, Kind
from .drawing import Drawing
from .page import page
from .pictures import head_picture, matrix_picture, model_picture
from .raster import rendered
from .tokens import clean

Look = Literal["head", "matrix", "model"]
ENDINGS = (".html", ".svg", ".pdf", ".png")


class AttentionView(Picture):
    """Attention of some tokens: all kinds, layers and heads.

    Layers and heads are counted from 0, as everywhere in Python; -1 is the last.

    Attributes:
        attentions: what is known, a kind each: see ``data.Attention``. title: of the page.
    """

    def __init__(self, attentions: Sequence[Attention], title: str = "Attention") -> None:
        self.attentions = tuple(attentions)
        self.title = clean(title)

    def __repr__(self) -> str:
        told = "; ".join(
            f"{a.title}: {len(a.layers)} layers, {len(a.layers[0].weights)} heads, "
            f"{len(a.queries)} × {len(a.keys)} tokens"
            for a in self.attentions
        )
        return f"<attention: {told}>"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that there are: "encoder", "decoder", "cross"."""
        return tuple(a.kind for a in self.attentions)

    def weights(self, kind: Kind | None = None) -> list[Array]:
        """The weights (H, T, S) of each layer; of the first kind, if none is named."""
        return [layer.weights for layer in self._of(kind).layers]

    def page(self) -> Page:
        """The interactive page, with all views."""
        return page(self.attentions, self.title)

    def svg(self, view: Look = "head", *, kind: Kind | None = None, layer: int | None = -1,
            head: int | Sequence[int] | None = None, dark: bool = False) -> str:  # fmt: skip
        """A picture for a paper or a slide, as SVG with text that stays text; sizes are in points.

        Args:
            view: "head" (lines between tokens), "matrix" (cells), or "model" (all layers and heads).
            kind: "encoder", "decoder" or "cross"; the first that there is, if None.
            layer: which; None takes the mean over layers.
            head: which, or several; None takes all. Lines have a colour for each head, cells their mean.
            dark: light on dark, for slides.

        Raises:
            ValueError: there is no such view, kind, layer or head.
        """
        return self._drawing(view, kind=kind, layer=layer, head=head, dark=dark).svg()

    def save(self, path: str | os.PathLike[str], *args: Any, **look: Any) -> Path:
        """Write a file: its ending says what, .html (the page), .svg, .pdf or .png (a picture, with the
        arguments of ``svg``).

        Raises:
            ValueError: another ending, or what ``svg`` refuses. ImportError: matplotlib is missing, for PDF
                or PNG. OSError: it cannot be written; an older file is left as it is.
        """
        ending = Path(path).suffix.lower()
        if ending not in ENDINGS:
            raise ValueError(f"a file of attention ends in {', '.join(ENDINGS)}, not as {Path(path).name}")
        if ending not in (".pdf", ".png"):
            return super().save(path, *args, **look)
        drawing = self._drawing(*args, **look)
        return written(path, rendered(drawing, "pdf" if ending == ".pdf" else "png"))

    def _drawing(self, view: Look = "head", *, kind: Kind | None = None, layer: int | None = -1,
                 head: int | Sequence[int] | None = None, dark: bool = False) -> Drawing:  # fmt: skip
        attention, palette = self._of(kind), DARK if dark else LIGHT
        if view == "model":
            return model_picture(attention, palette)
        if view not in ("head", "matrix"):
            raise ValueError(f"a view is 'head', 'matrix' or 'model' ('neuron': in the page), not {view!r}")
        draw = head_picture if view == "head" else matrix_picture
        return draw(attention, chosen(attention, layer, head), palette)

    def _of(self, kind: Kind | None) -> Attention:
        for attention in self.attentions:
            if kind is None or attention.kind == kind:
                return attention
        raise ValueError(f"there is no {kind!r} attention here, but {', '.join(map(repr, self.kinds))}")
