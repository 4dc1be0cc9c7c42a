"""What to install where an optional library is missing: a command that works in the environment that misses it."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

__all__ = ["DISTRIBUTION", "how_to_install", "is_on_path", "quoted"]

DISTRIBUTION = "minigrad-nn"  # pyproject.toml's name; the package called minigrad on PyPI is another project
_PACKAGE = Path(__file__).resolve().parents[1]


def how_to_install(extra: str, *packages: str) -> str:
    """A command that installs optional packages for the Python that runs, to be put after a colon.

    It names the packages themselves, which works wherever minigrad came from: a wheel, a checkout on PYTHONPATH, an
    index. Where this checkout is installed for editing, the command for the whole extra follows.

    Args:
        extra: of pyproject.toml, such as "viz". packages: the least that helps, by their names on PyPI.

    >>> how_to_install("music", "mido")  # doctest: +SKIP
    'pip install mido'
    """
    command = f"{_installer()} {' '.join(packages)}"
    if (checkout := _checkout()) is None:
        return command
    return f"{command} (or all of the extra {extra}: {_installer()} -e {quoted(f'{checkout}[{extra}]')})"


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


def _checkout() -> Path | None:
    """The checkout that is installed for editing, if this package is imported from it."""
    import json
    from importlib.metadata import distributions
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    for distribution in distributions(name=DISTRIBUTION):
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        if origin.get("dir_info", {}).get("editable"):
            folder = Path(url2pathname(urlsplit(origin["url"]).path)).resolve()
            if folder == _PACKAGE.parent:
                return folder
    return None
