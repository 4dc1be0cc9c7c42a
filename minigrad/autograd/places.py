"""Places in the user's program, for messages and pictures."""

from __future__ import annotations

import sys
from types import FrameType

_PACKAGE = __name__.split(".")[0]


def user_frame() -> FrameType:
    """The innermost call on the stack that is not the library's, or else the outermost."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == _PACKAGE:
        frame = frame.f_back
    return frame


def caller() -> str:
    """The line of the program that called into the library, "file:line"."""
    frame = user_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
