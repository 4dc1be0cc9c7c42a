"""What to install where an optional library is missing: a command that works in the environment that misses it."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

__all__ = ["how_to_install", "is_on_path", "quoted"]


def how_to_install(*packages: str) -> str:
    """A command that installs optional packages for the Python that runs, to be put after a colon.

    It names the packages themselves, which works wherever minigrad came from: a wheel, a checkout on PYTHONPATH, an
    index.

    Args:
        extra: of pyproject.toml, such as "viz", for a reader of the code. packages: by their names on PyPI.

    >>> how_to_install("mido")  # doctest: +SKIP
    'pip install mido'
    """
    return f"{_installer()} {' '.join(packages)}"


def quoted(word: str) -> str:
    """A word as this system's shell reads it."""
    import shlex  # here, as below: few programs miss a library, and all import this file
    import subprocess

    return subprocess.list2cmdline([word]) if os.name == "nt" else shlex.quote(word)


def is_on_path(program: str) -> bool:
    """Whether a person who types the program's name gets that of the Python that runs."""
    import shutil

    found = shutil.which(program)
    return found is not None and Path(found).parent == Path(sys.executable).parent


def _installer() -> str:
    """How a person calls the pip of the Python that runs; in a notebook, the cell's magic."""
    import shutil

    if "ipykernel" in sys.modules:
        return "%pip install"
    if is_on_path("pip"):
        return "pip install"
    if find_spec("pip") is None and shutil.which("uv"):
        return f"uv pip install --python {quoted(sys.executable)}"
    return f"{quoted(sys.executable)} -m pip install"
