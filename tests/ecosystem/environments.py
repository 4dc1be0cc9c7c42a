"""Scratch environments, which uv makes: for a library one with PyTorch, and one without, in which minigrad stands.

The environment with PyTorch comes first, with the release that the running Python has. The other one then gets the same
versions of all packages, but PyTorch, which an override excludes: nothing is added in its place but minigrad's wheel
with its extra compat, which brings what PyTorch's package asks for, as libraries count on that. uv keeps what it has
unpacked, and links files from there: the second environment with the same package takes a second.

uv does not read pip's settings; PyTorch's CPU build often lies where only these lead. So they are handed on.
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
    """uv's last words."""


def uv() -> str | None:
    """The program uv: of the package in the running environment, or else of the system."""
    beside = Path(sys.executable).with_name("uv.exe" if os.name == "nt" else "uv")
    return str(beside) if beside.exists() else shutil.which("uv")


def torch_version() -> str | None:
    """The release of PyTorch that the running Python has."""
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None


def both(library: Library, place: Path, wheel: Path) -> tuple[Path, Path]:
    """The Pythons of the library's two environments: with PyTorch, and with minigrad.

    Args:
        library: whose requirements they fulfil.
        place: the folder for them; environments that are there are completed.
        wheel: minigrad's.

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
    """What uv printed."""
    program = uv()
    assert program is not None, "uv is not installed: pip install uv"
    command = [program, "--no-progress", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, **_as_pip()})
    if done.returncode:
        raise NotInstalled(" ".join(done.stderr.split())[-500:])
    return done.stdout


@cache
def _as_pip() -> dict[str, str]:
    """The environment variables that tell uv what pip's settings tell pip: where packages are found."""
    names = {"find-links": "UV_FIND_LINKS", "index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX"}
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    told = {"UV_INDEX_STRATEGY": "unsafe-best-match"}  # pip's: the newest release, wherever it is
    for line in listed.splitlines():  # global.find-links='...'; of two the later one holds
        key, _, value = line.partition("=")
        if (name := names.get(key.rpartition(".")[2])) is not None:
            told[name] = value.strip("'\"").replace("\\n", " ")
    return told
