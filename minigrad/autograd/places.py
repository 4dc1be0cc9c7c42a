"""Places in the user's program, for messages."""

from __future__ import annotations

import sys

_PACKAGE = __name__.split(".")[0]


def caller() -> str:
    """The line of the program that called into the library, "file:line"."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == _PACKAGE:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
