"""The base class of all views in ``viz``. A view can be saved, and shown in a notebook or a browser. The
vl-convert-python package, which the ``viz`` extra installs, converts SVG to PNG and PDF, and draws charts."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path
from subprocess import SubprocessError
from typing import Any, ClassVar

from ..backend.extras import library
from ..utils.bar import in_notebook
from ..utils.showing import shower
from .page import Page, written
from .vector import POINT, checked_scale, scaled, size

DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")  # at least one is set if Linux can open a window
MOST_DRAWN = 1_000_000  # characters of an SVG that a notebook stores in addition to the page


class View(ABC):
    """An interactive page, which displays itself in a notebook."""

    endings: ClassVar[tuple[str, ...]] = (".html",)  # extensions that ``save`` supports; each is a method's name

    @abstractmethod
    def page(self) -> Page:
        """The interactive page: one file that works offline."""

    def html(self) -> str:
        """The text of the page."""
        return self.page().html()

    def show(self) -> None:
        """Show the page in the browser or, in a notebook, below the cell. If there is no browser, print the path of the
        page. The file stays in the temporary folder, as there is no way to know when the browser has read it."""
        if show_view := shower():
            show_view(self)
            return
        if in_notebook():
            import_module("IPython.display").display(self)  # only some versions of it have type annotations
            return
        file = Path(tempfile.mkdtemp(prefix="minigrad-")) / f"{type(self).__name__.lower()}.html"
        file.write_text(self.html(), encoding="utf-8", newline="\n")
        # A text browser would take over the program's terminal.
        has_display = not sys.platform.startswith(("linux", "freebsd")) or any(map(os.environ.get, DISPLAYS))
        if not (has_display and webbrowser.open(file.as_uri())):
            instead = "save('x.html') writes it elsewhere."
            print(f"No browser is available. The page is in {file}; {instead}", flush=True)

    def save(self, path: str | os.PathLike[str], *args: Any, **look: Any) -> Path:
        """Write the page (.html) or an image (.svg, .png or .pdf) to a file, which is replaced atomically. Images take
        the arguments of ``svg`` and a ``scale``: the pixels per CSS pixel in a PNG (2 by default), or a factor in an
        SVG or PDF (1 by default). Raises ValueError for any other extension, OSError if writing fails (an existing file
        is kept), ImportError if PNG or PDF requires ``viz``, and the errors of ``svg``."""
        file, ending = Path(path), self.checked_ending(path)
        if ending == ".html" and (args or look):
            raise ValueError(f"cannot save {file.name}: pages take no arguments")
        factor = look.pop("scale", None) if ending == ".svg" else None
        content = getattr(self, ending[1:])(*args, **look)
        return written(file, content if factor is None else scaled(content, factor))

    @classmethod
    def checked_ending(cls, path: str | os.PathLike[str]) -> str:
        """The extension of a file name, if ``save`` can write it. Raises the same errors as ``save``."""
        name, ending = Path(path).name, Path(path).suffix.lower()
        if ending not in cls.endings:
            raise ValueError(f"cannot save {name}: the extension must be one of {', '.join(cls.endings)}")
        if ending in (".png", ".pdf"):
            converter()
        return ending

    def _drawn(self) -> str:
        return ""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """The data for a notebook: a line of text, the page, and an SVG for GitHub, PDF or e-mail."""
        svg = self._drawn()
        svg = svg if len(svg) <= MOST_DRAWN else ""
        pictures = {"image/svg+xml": svg} if svg else {}
        return {"text/plain": repr(self), "text/html": self.page().framed(svg), **pictures}


class Picture(View):
    """A view that can also be saved as an SVG, PNG or PDF."""

    endings: ClassVar[tuple[str, ...]] = (".html", ".svg", ".png", ".pdf")

    @abstractmethod
    def svg(self, *args: Any, **look: Any) -> str:
        """The image as the text of an SVG file."""

    def png(self, *args: Any, scale: float = 2.0, **look: Any) -> bytes:
        """The image as a PNG with ``scale`` pixels per CSS pixel. Also takes the arguments of ``svg``. Raises
        ImportError without the ``viz`` extra, ValueError if there are too many pixels, and the errors of ``svg``."""
        return png(self.svg(*args, **look), scale)

    def pdf(self, *args: Any, scale: float = 1.0, **look: Any) -> bytes:
        """The image as a vector PDF with selectable text. Takes the arguments of ``svg`` (see ``png`` for errors)."""
        return pdf(self.svg(*args, **look), scale)

    def _drawn(self) -> str:
        try:
            return self.svg()
        except (ImportError, SubprocessError):  # from Graphviz, which draws graphs
            return ""


MOST_PIXELS = 100_000_000  # in a PNG (400 MB); the library aborts the process if it runs out of memory


def png(svg: str, scale: float = 2.0) -> bytes:
    """Convert SVG to PNG, with ``scale`` pixels per CSS pixel (3/4 of a point). Raises ImportError if vl-convert-python
    is missing, and ValueError if ``scale`` is not positive or there are too many pixels."""
    library = converter()
    wide, high = size(svg)
    if wide * high * checked_scale(scale) ** 2 > MOST_PIXELS:
        most = (MOST_PIXELS / (wide * high)) ** 0.5
        raise ValueError(
            f"{wide * scale:,.0f} × {high * scale:,.0f} pixels is too large for a PNG: scale can be at most {most:.2g} "
            f"here; SVG and PDF have no limit"
        )
    return bytes(library.svg_to_png(svg, scale=scale))


def pdf(svg: str, scale: float = 1.0) -> bytes:
    """Convert SVG to a PDF page with selectable text. At scale 1, the size stays the same, and a CSS pixel is 3/4 of a
    point. Raises the errors of ``png``, except the one for too many pixels."""
    return bytes(converter().svg_to_pdf(scaled(svg, scale / POINT)))  # svg_to_pdf treats pixels as points


def converter() -> Any:
    """The conversion library. Raises ImportError if it is missing."""
    needed = "PNG, PDF and charts need vl-convert-python; pages (.html) do not"
    return library("vl_convert", needed, "vl-convert-python")
