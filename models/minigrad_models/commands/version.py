"""``minigrad --version``: what a report of an error needs to say."""

from __future__ import annotations

import argparse
import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from typing import Any

CUPY = ("cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x", "cupy")  # CuPy by its names on PyPI


class Versions(argparse.Action):
    """An option that prints versions, and ends the program."""

    def __init__(self, option_strings: Any, dest: str, **rest: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, **rest)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print them."""
        print(versions())
        parser.exit()


def versions() -> str:
    """minigrad's version and, below it, those of what it runs on. CuPy is not imported for it, which takes seconds."""
    import numpy

    from minigrad.backend.version import project

    cupy = next(filter(None, map(_installed, CUPY)), "none")
    return f"minigrad {project}\nNumPy {numpy.__version__}, Python {platform.python_version()}, CuPy {cupy}"


def _installed(distribution: str) -> str | None:
    try:
        return version_of(distribution)
    except PackageNotFoundError:
        return None
