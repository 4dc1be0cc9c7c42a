"""What an installation takes on disk: the files of a package and of all that it needs."""

from __future__ import annotations

import importlib.util
import re
from importlib import metadata
from pathlib import Path

from .process import progress
from .table import Table, ratio

COMPILED = {".pyc", ".pyo"}  # Python makes them as it goes


def installed(package: str) -> int | None:
    """Bytes of a package's files; None if it is not installed.

    A checkout, installed as editable or not at all, counts as what a wheel of it holds: the package's folder.
    """
    try:
        distribution = metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return of_folder(package)
    paths = [Path(str(file.locate())) for file in distribution.files or []]
    if all(path.suffix != ".py" or path.name.startswith("__editable__") for path in paths):
        return of_folder(package)
    return sum(path.stat().st_size for path in paths if path.is_file() and path.suffix not in COMPILED)


def of_folder(package: str) -> int | None:
    """Bytes of the files in a package's folder."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    paths = Path(spec.origin).parent.rglob("*")
    return sum(path.stat().st_size for path in paths if path.is_file() and path.suffix not in COMPILED)


def needed(package: str) -> list[str]:
    """Names of the packages that this one needs, without extras, as far as they are installed."""
    try:
        lines = metadata.requires(package) or []
    except metadata.PackageNotFoundError:
        lines = of_project()
    names = [re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in lines if "extra ==" not in line]
    return [name.lower().replace("_", "-") for name in names]


def of_project() -> list[str]:
    """The dependencies in the checkout's pyproject.toml."""
    import tomllib

    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    lines: list[str] = project["project"]["dependencies"]
    return lines


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
