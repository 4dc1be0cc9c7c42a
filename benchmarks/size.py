"""The size of an installation on disk: the files of a package and of all its dependencies."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

from .process import ROOT, progress
from .table import Table, ratio

COMPILED = {".pyc", ".pyo"}  # Python writes these when it runs
OWN, OWN_FILES = "minigrad", list((ROOT / "minigrad").rglob("*"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def installed(package: str) -> int | None:
    """Bytes in a package's files (in the checkout for minigrad); None if it is not installed."""
    try:
        paths = [Path(str(file.locate())) for file in metadata.files(package) or []] if package != OWN else OWN_FILES
    except metadata.PackageNotFoundError:
        return None
    return sum(path.stat().st_size for path in paths if path.is_file() and path.suffix not in COMPILED)


def needed(package: str) -> list[str]:
    """The names of the packages that a package requires, without extras."""
    lines = PROJECT["dependencies"] if package == OWN else metadata.requires(package) or []
    names = [re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in lines if "extra ==" not in line]
    return [name.lower().replace("_", "-") for name in names]


def everything(package: str) -> dict[str, int]:
    """Bytes in the package and all its dependencies, by name; empty if it is not installed."""
    sizes: dict[str, int] = {}
    left = [package]
    while left:
        name = left.pop()
        size = None if name in sizes else installed(name)
        if size is not None:
            sizes[name] = size
            left += needed(name)
    return sizes


def table() -> Table:
    """The table, with one row per library."""
    columns = ("installed", "own MiB", "with all it needs MiB", "to minigrad's", "it needs")
    result = Table("Size on disk", columns, ("", ".2f", ".1f", ".1f", ""))
    ours = sum(everything(OWN).values()) / 2**20
    for package in (OWN, "torch"):
        progress(f"size of {package}")
        sizes = everything(package)
        others = ", ".join(sorted(sizes.keys() - {package}))
        if not sizes:
            result.add(package, "not installed", None, None, "")
        else:
            whole = sum(sizes.values()) / 2**20
            result.add(package, sizes[package] / 2**20, whole, ratio(whole, ours), others or "nothing")
    result.notes.append("files as in the wheels, without Python's bytecode")
    return result
