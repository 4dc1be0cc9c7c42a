"""What everything that ``viz`` draws can do: show itself in a notebook, and save itself."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from .page import Page, written


class View(ABC):
    """Something to look at, as an interactive page. In a notebook it shows itself."""

    @abstractmethod
    def page(self) -> Page:
        """The interactive page: one file that works offline."""

    def html(self) -> str:
        """The page, whole."""
        return self.page().html()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page (.html): whole, or not at all.

        Raises:
            ValueError: another ending. OSError: it cannot be written; an older file is left as it is.
        """
        file = Path(path)
        if file.suffix.lower() != ".html":
            raise ValueError(f"cannot save {file.name}: a page's name ends in .html")
        return self.page().save(file)

    def _repr_html_(self) -> str:
        return self.page()._repr_html_()


class Picture(View):
    """A view that is a vector picture as well."""

    @abstractmethod
    def svg(self, *args: Any, **look: Any) -> str:
        """The picture, as the text of an SVG file."""

    def save(self, path: str | os.PathLike[str], *args: Any, **look: Any) -> Path:
        """Write the page (.html) or the picture (.svg, with the arguments of ``svg``): whole, or not at all.

        Raises:
            ValueError: another ending, or what ``svg`` refuses. OSError: it cannot be written; an older file
                is left as it is.
        """
        file = Path(path)
        ending = file.suffix.lower()
        if ending == ".html" and not args and not look:
            return self.page().save(file)
        if ending != ".svg":
            told = "a page takes no arguments" if ending == ".html" else "a name ends in .html or .svg"
            raise ValueError(f"cannot save {file.name}: {told}")
        return written(file, self.svg(*args, **look))
