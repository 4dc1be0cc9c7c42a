"""Places in the user's program, for messages and pictures."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType

_LIBRARIES = {__name__.split(".")[0], "numpy"}  # ops run within a decorator of NumPy's


def user_frames() -> Iterator[FrameType]:
    """The calls on the stack that are neither the library's nor NumPy's, from the innermost out."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").split(".")[0] not in _LIBRARIES:
            yield frame
        frame = frame.f_back


def user_frame() -> FrameType:
    """The innermost of ``user_frames``, or else this one."""
    return next(user_frames(), sys._getframe())


def caller() -> str:
    """The line of the program that called into the library, "file:line"."""
    frame = user_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
