"""Places in the user's program, for messages and pictures."""

from __future__ import annotations

from ..tracebacks import user_frame as user_frame
from ..tracebacks import user_frames as user_frames


def caller() -> str:
    """The line of the program that called into the library, "file:line"."""
    frame = user_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
