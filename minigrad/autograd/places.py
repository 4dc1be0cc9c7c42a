"""Places in the user's program, for messages and pictures."""

from __future__ import annotations

import re
import sys

from .origin import Place
from .tracebacks import user_frame as user_frame
from .tracebacks import user_frames as user_frames

_CELL = re.compile(r"cell \d+")


def caller(depth: int = 0) -> Place:
    """Where the program called into the library. ``depth`` calls are known to be the library's."""
    frame = user_frame(depth + 1)
    return frame.f_code, frame.f_lasti


def line_of(place: Place) -> str:
    """A place as "file:line"."""
    lines = (line for start, end, line in place[0].co_lines() if start <= place[1] < end)
    return f"{place[0].co_filename}:{next(lines, 0)}"


def spelled(place: str | Place) -> str:
    """A place, or "file:line", as a person knows it: in a notebook "cell 5, line 2"."""
    place = place if isinstance(place, str) else line_of(place)
    file, _, line = place.rpartition(":")
    return at(cell(file) or file, line) if file else place


def at(file: str, line: int | str) -> str:
    """A line of a file, or of what ``cell`` calls a cell."""
    return f"{file}, line {line}" if _CELL.fullmatch(file) else f"{file}:{line}"


def cell(file: str) -> str:
    """What a person calls the file of a notebook's cell, such as ipykernel_123/456.py: "cell 5" after its
    execution count. "" for other files, and where no IPython runs."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    known = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(file)
    number = known and re.search(r"\d+", known[1])
    return f"cell {number[0]}" if number else ""
