"""What everything that ``viz`` draws can do: show itself, in a notebook or a browser, and save itself.
vl-convert-python, which the extra ``viz`` brings, makes PNG and PDF of SVG, and draws charts."""

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

from ..backend.extras import how_to_install
from ..utils.bar import in_notebook
from ..utils.showing import shower
from .page import Page, written
from .vector import POINT, checked_scale, scaled, size

DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")  # one of them is set where Linux can open a window
MOST_DRAWN = 1_000_000  # characters of an SVG that a notebook keeps beside the page


class View(ABC):
    """Something to look at, as an interactive page. In a notebook it shows itself."""

    endings: ClassVar[tuple[str, ...]] = (".html",)  # of the files that ``save`` writes, by the method of that name

    @abstractmethod
    def page(self) -> Page:
        """The interactive page: one file that works offline."""

    def html(self) -> str:
        """The text of the page."""
        return self.page().html()

    def show(self) -> None:
        """Show it: below the cell in a notebook, elsewhere as a page in the browser; where there is none, say which
        file to open. It stays in the folder for temporary files: nobody can say when the browser has read it."""
        if shown := shower():
            shown(self)
            return
        if in_notebook():
            import_module("IPython.display").display(self)  # which has types in some versions, and none in others
            return
        file = Path(tempfile.mkdtemp(prefix="minigrad-")) / f"{type(self).__name__.lower()}.html"
        file.write_text(self.html(), encoding="utf-8", newline="\n")
        # A browser of the terminal would take over the program's.
        has_display = not sys.platform.startswith(("linux", "freebsd")) or any(map(os.environ.get, DISPLAYS))
        if not (has_display and webbrowser.open(file.as_uri())):
            instead = "save('x.html') writes another."
            print(f"There is no browser here to show it in. The page is {file}; {instead}", flush=True)

    def save(self, path: str | os.PathLike[str], *args: Any, **look: Any) -> Path:
        """Write a file, whole or not at all. Its ending decides what: .html is the page; a picture's other endings
        (.svg, .png, .pdf) take the arguments of ``svg``, and ``scale``: how large. Of a PNG that is the pixels for each
        CSS pixel, 2 by default; of SVG and PDF a factor, 1 by default. Raises ValueError: another ending, or what
        ``svg`` refuses. OSError: the file cannot be written; an older one stays as it is. ImportError: PNG or PDF, and
        what the extra ``viz`` brings is missing."""
        file, ending = Path(path), self.checked_ending(path)
        if ending == ".html" and (args or look):
            raise ValueError(f"cannot save {file.name}: a page takes no arguments")
        factor = look.pop("scale", None) if ending == ".svg" else None
        content = getattr(self, ending[1:])(*args, **look)
        return written(file, content if factor is None else scaled(content, factor))

    @classmethod
    def checked_ending(cls, path: str | os.PathLike[str]) -> str:
        """How a file's name ends, if ``save`` can write it. Raises as ``save``."""
        name, ending = Path(path).name, Path(path).suffix.lower()
        if ending not in cls.endings:
            raise ValueError(f"cannot save {name}: the ending must be one of {', '.join(cls.endings)}")
        if ending in (".png", ".pdf"):
            converter()
        return ending

    def _drawn(self) -> str:
        return ""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook keeps: a line of text, the page, and for GitHub, a PDF or a mail the drawing."""
        drawn = self._drawn()
        drawn = drawn if len(drawn) <= MOST_DRAWN else ""
        pictures = {"image/svg+xml": drawn} if drawn else {}
        return {"text/plain": repr(self), "text/html": self.page().framed(drawn), **pictures}


class Picture(View):
    """A view that is a vector picture as well, which becomes PNG and PDF."""

    endings: ClassVar[tuple[str, ...]] = (".html", ".svg", ".png", ".pdf")

    @abstractmethod
    def svg(self, *args: Any, **look: Any) -> str:
        """The picture, as the text of an SVG file."""

    def png(self, *args: Any, scale: float = 2.0, **look: Any) -> bytes:
        """What ``svg`` draws from the same arguments, in ``scale`` pixels for each CSS pixel. Raises ImportError: what
        the extra ``viz`` brings is missing. ValueError: ``svg`` refuses, or there would be too many pixels."""
        return png(self.svg(*args, **look), scale)

    def pdf(self, *args: Any, scale: float = 1.0, **look: Any) -> bytes:
        """What ``svg`` draws from the same arguments, as vectors; text stays text. Raises as ``png``."""
        return pdf(self.svg(*args, **look), scale)

    def _drawn(self) -> str:
        try:
            return self.svg()
        except (ImportError, SubprocessError):  # of Graphviz, which draws graphs
            return ""


MOST_PIXELS = 100_000_000  # of a PNG: 400 MB while it is drawn; beyond memory the library ends the whole process


def png(svg: str, scale: float = 2.0) -> bytes:
    """A picture of the text of an SVG, in ``scale`` pixels for each CSS pixel, which is 3/4 of a point. Raises
    ImportError: vl-convert-python is missing. ValueError: a scale that is not positive, or too many pixels."""
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
            f"PNG, PDF and charts need vl-convert-python; pages (.html) do not: {how_to_install('vl-convert-python')}"
        ) from error
    return vl_convert
