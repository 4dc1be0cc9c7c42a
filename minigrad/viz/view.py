"""What everything that ``viz`` draws can do: show itself in a notebook, and save itself."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from .page import Page, written


class View(ABC):
    """Something to look at, as an interactive page. In a notebook it shows itself."""

    endings: ClassVar[tuple[str, ...]] = (".html",)  # of the files that ``save`` writes, by the method of that name

    @abstractmethod
    def page(self) -> Page:
        """The interactive page: one file that works offline."""

    def html(self) -> str:
        """The text of the page."""
        return self.page().html()

    def save(self, path: str | os.PathLike[str], *args: Any, **look: Any) -> Path:
        """Write a file, whole or not at all. Its ending decides what: .html is the page; a picture's other
        endings (.svg, .png, ...) take the arguments of the method of that name.

        Raises:
            ValueError: another ending, or what that method refuses. OSError: the file cannot be written; an
                older one stays as it is. ImportError, RuntimeError: PNG or PDF, and what draws them is missing.
        """
        file, ending = Path(path), Path(path).suffix.lower()
        if ending not in self.endings:
            rule = "a name ends in" if len(self.endings) < 3 else "the ending must be one of"
            known = (" or " if len(self.endings) < 3 else ", ").join(self.endings)
            raise ValueError(f"cannot save {file.name}: {rule} {known}")
        if ending == ".html" and (args or look):
            raise ValueError(f"cannot save {file.name}: a page takes no arguments")
        return written(file, getattr(self, ending[1:])(*args, **look))

    def _repr_html_(self) -> str:
        return self.page()._repr_html_()


class Picture(View):
    """A view that is a vector picture as well."""

    endings: ClassVar[tuple[str, ...]] = (".html", ".svg")

    @abstractmethod
    def svg(self, *args: Any, **look: Any) -> str:
        """The picture, as the text of an SVG file."""
