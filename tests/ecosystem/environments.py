"""Scratch environments, created by uv: for each library one with PyTorch, and one with minigrad instead.

The environment with PyTorch comes first, with the running Python's release. The other one then gets the same versions
of all packages except PyTorch, which an override excludes: it has minigrad's wheel instead, whose extra compat installs
the requirements of PyTorch's package, because libraries rely on them. uv caches unpacked packages and links their
files: the second environment with the same package takes a second.

uv does not read pip's settings, but often only these lead to PyTorch's CPU build. So they are passed on.
"""

import os
import shutil
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

from tests.newcomer.run import build

from .table import Library

__all__ = ["NotInstalled", "build", "both", "torch_version", "uv"]
HARNESS = ("numpy", "safetensors")  # run.py needs them
NO_TORCH = 'torch ; python_version < "0"\n'


class NotInstalled(Exception):
    """uv failed; the message is the end of its output."""


def uv() -> str | None:
    """The program uv: from the running environment, or else from the system."""
    beside = Path(sys.executable).with_name("uv.exe" if os.name == "nt" else "uv")
    return str(beside) if beside.exists() else shutil.which("uv")


def torch_version() -> str | None:
    """The PyTorch release of the running Python."""
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None


def both(library: Library, place: Path, wheel: Path) -> tuple[Path, Path]:
    """The Pythons of the library's two environments: with PyTorch, and with minigrad.

    Args:
        library: the library whose requirements are installed.
        place: the folder for them; existing environments are completed.
        wheel: minigrad's wheel.

    Raises:
        NotInstalled: the requirements cannot be met.
    """
    no_torch, versions = place / "no-torch.txt", place / "versions.txt"
    theirs = _make(place / "torch", [*library.requirements, *HARNESS, f"torch=={torch_version()}"])
    frozen = _uv("pip", "freeze", "--python", str(theirs)).splitlines()
    versions.write_text("\n".join(line for line in frozen if "==" in line and not line.startswith("torch==")))
    no_torch.write_text(NO_TORCH, encoding="utf-8")
    ours = f"minigrad-nn[compat] @ {wheel.as_uri()}"
    options = ["--override", str(no_torch), "--constraint", str(versions), "--reinstall-package", "minigrad-nn"]
    return theirs, _make(place / "minigrad", [*library.requirements, *HARNESS, ours], *options)


def _make(folder: Path, requirements: list[str], *options: str) -> Path:
    """The Python of an environment with some packages."""
    _uv("venv", "--allow-existing", "--python", sys.executable, str(folder))
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    _uv("pip", "install", "--python", str(python), *options, *requirements)
    return python


def _uv(*arguments: str) -> str:
    """Run uv, and return its output."""
    program = uv()
    assert program is not None, "uv is not installed: pip install uv"
    command = [program, "--no-progress", *arguments]
    process = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, **_as_pip()})
    if process.returncode:
        raise NotInstalled(" ".join(process.stderr.split())[-500:])
    return process.stdout


@cache
def _as_pip() -> dict[str, str]:
    """The environment variables that pass pip's settings of package locations to uv."""
    names = {"find-links": "UV_FIND_LINKS", "index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX"}
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    settings = {"UV_INDEX_STRATEGY": "unsafe-best-match"}  # as pip: the newest release of any index
    for line in listed.splitlines():  # global.find-links='...'; the last one counts
        key, _, value = line.partition("=")
        if (name := names.get(key.rpartition(".")[2])) is not None:
            settings[name] = value.strip("'\"").replace("\\n", " ")
    return settings
