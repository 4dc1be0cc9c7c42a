"""Where data is that belongs to the tests, and not to the repository."""

from __future__ import annotations

import os
from pathlib import Path

SHARED = Path(__file__).parents[2] / "shared" / "data"


def shared(*parts: str, what: str, instead: str) -> Path:
    """A file or folder of the shared data.

    Args:
        what: its name for a person. instead: what to do where it is missing.

    Raises:
        FileNotFoundError: it is not there; the message says what to do.
    """
    path = Path(os.environ.get("MINIGRAD_DATA", SHARED)).joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(
            f"there is no {path}: {what} are not part of the repository. {instead}; or set MINIGRAD_DATA to the folder "
            f"of {'/'.join(parts)}"
        )
    return path
