"""Imports optional libraries, or explains how to install them in the current environment."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["how_to_install", "is_on_path", "library", "quoted"]


def library(name: str, needed: str, *packages: str) -> Any:
    """The module of an optional library. ``packages`` are the packages needed to import it (by default, the one with
    its name). Raises ImportError with ``needed``, such as "MIDI files need mido", and an installation command."""
    try:
        return import_module(name)
    except ImportError as error:
        command = how_to_install(*packages or [name.partition(".")[0]])
        raise ImportError(f"{needed}: {command}") from error


def how_to_install(*packages: str) -> str:
    """A command that installs optional packages for the running Python. It follows a colon in a message.

    It names the packages themselves, which also works for a wheel or a checkout on PYTHONPATH.

    >>> how_to_install("mido")  # doctest: +SKIP
    'pip install mido'
    """
    import shutil  # not at the top (also below), as few programs that import this file need it

    if "ipykernel" in sys.modules:
        pip = "%pip install"
    elif is_on_path("pip"):
        pip = "pip install"
    elif find_spec("pip") is None and shutil.which("uv"):
        pip = f"uv pip install --python {quoted(sys.executable)}"
    else:
        pip = f"{quoted(sys.executable)} -m pip install"
    return f"{pip} {' '.join(packages)}"


def quoted(word: str) -> str:
    """A word quoted for this system's shell."""
    import shlex
    import subprocess

    return subprocess.list2cmdline([word]) if os.name == "nt" else shlex.quote(word)


def is_on_path(program: str) -> bool:
    """Whether typing the program's name in a shell runs the copy that belongs to the current Python."""
    import shutil

    path = shutil.which(program)
    return path is not None and Path(path).parent == Path(sys.executable).parent
