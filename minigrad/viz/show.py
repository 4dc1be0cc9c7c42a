"""Shows a page to whoever runs the program: in the notebook, or in a browser."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from ..utils.bar import in_notebook
from ..utils.showing import shower

DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")  # one of them is set where Linux can open a window


def show(view: Any, html: Callable[[], str]) -> None:
    """Show a view below the notebook's cell, or else its page in a browser. The page stays in the system's folder for
    temporary files, as nobody can say when the browser has read it."""
    if shown := shower():
        shown(view)
        return
    if in_notebook():
        import_module("IPython.display").display(view)  # which has types in some versions, and none in others
        return
    file = Path(tempfile.mkdtemp(prefix="minigrad-")) / f"{type(view).__name__.lower()}.html"
    file.write_text(html(), encoding="utf-8", newline="\n")
    if not (has_display() and webbrowser.open(file.as_uri())):
        print(f"There is no browser here to show it in. The page is {file}; save('x.html') writes another.", flush=True)


def has_display() -> bool:
    """Whether a window can be opened: a browser of the terminal would take over the program's."""
    return not sys.platform.startswith(("linux", "freebsd")) or any(map(os.environ.get, DISPLAYS))
