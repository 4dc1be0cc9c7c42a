"""The data sets that programs use by default: a folder that the environment names, as they are not ours to ship."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "MINIGRAD_DATA"


def data_set(*parts: str, what: str, instead: str) -> Path:
    """A file or folder of the data sets.

    Args:
        parts: its path in the folder. what: its name for a person. instead: what to do where it is missing.

    Raises FileNotFoundError: it is not there; the message says what to do.
    """
    name, folder = "/".join(parts), os.environ.get(VARIABLE)
    if folder and (path := Path(folder, *parts)).exists():
        return path
    place = f"there is no {name} in {folder}" if folder else f"{what} do not ship with minigrad"
    raise FileNotFoundError(f"{place}: {instead}; or set {VARIABLE} to the folder that has {name}")
