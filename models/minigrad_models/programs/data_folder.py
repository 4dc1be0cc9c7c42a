"""The data sets that programs use by default: a folder that the environment names, as they are not ours to ship."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "MINIGRAD_DATA"


def data_set(*parts: str, what: str, instead: str) -> Path:
    """A file or folder of the data sets, by its path in the folder. Raises FileNotFoundError: it is not there; the
    message says ``what`` it is, and what to do ``instead``."""
    name, folder = "/".join(parts), os.environ.get(VARIABLE)
    if folder and (path := Path(folder, *parts)).exists():
        return path
    place = f"there is no {name} in {folder}" if folder else f"{what} do not ship with minigrad"
    raise FileNotFoundError(f"{place}: {instead}; or set {VARIABLE} to the folder that has {name}")
