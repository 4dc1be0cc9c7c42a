"""What an installation takes on disk: the files of a package and of all that it needs."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from importlib import metadata
from pathlib import Path

from .process import ROOT, progress
from .table import Table, ratio

COMPILED = {".pyc", ".pyo"}  # Python makes them as it goes


def installed(package: str) -> int | None:
    """Bytes of a package's files; None if it is not installed.

    A checkout, installed as editable or not at all, counts as what a wheel of it holds: the package's folder.
    """
    try:
        paths = [Path(str(file.locate())) for file in metadata.files(package) or []]
    except metadata.PackageNotFoundError:
        paths = []
    if all(path.suffix != ".py" or path.name.startswith("__editable__") for path in paths):
        spec = importlib.util.find_spec(package)
        paths = list(Path(spec.origin).parent.rglob("*")) if spec and spec.origin else []
    sizes = [path.stat().st_size for path in paths if path.is_file() and path.suffix not in COMPILED]
    return sum(sizes) if paths else None


def needed(package: str) -> list[str]:
    """Names of the packages that this one needs, without extras; of a checkout by its pyproject.toml."""
    try:
        lines = metadata.requires(package) or []
    except metadata.PackageNotFoundError:
        lines = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    names = [re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in lines if "extra ==" not in line]
    return [name.lower().replace("_", "-") for name in names]


def everything(package: str) -> dict[str, int]:
    """Bytes of the package and of all that it needs, by name; empty if it is not installed."""
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
    """The table, a row for each library."""
    columns = ("installed", "own MiB", "with all it needs MiB", "to minigrad's", "it needs")
    result = Table("Size on disk", columns, ("", ".2f", ".1f", ".1f", ""))
    ours = sum(everything("minigrad").values()) / 2**20
    for package in ("minigrad", "torch"):
        progress(f"size of {package}")
        sizes = everything(package)
        others = ", ".join(sorted(sizes.keys() - {package}))
        if not sizes:
            result.add(package, "not installed", None, None, "")
        else:
            whole = sum(sizes.values()) / 2**20
            result.add(package, sizes[package] / 2**20, whole, ratio(whole, ours), others or "nothing")
    result.notes.append("files as wheels hold them, without what Python compiles")
    return result
