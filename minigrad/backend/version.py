"""The version of the PyTorch API that minigrad implements, for programs that check it, and minigrad's own version."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any

__all__ = ["cuda", "debug", "git_version", "hip", "project", "torch"]

project = "0.1.0"  # pyproject.toml reads it


class TorchVersion(str):
    """A version string that compares by the numbers before its "+": "2.13.0" > "2.4" and > (2, 4)."""

    __slots__ = ()

    def _compare(self, other: Any) -> int:
        pairs = list(zip_longest(_numbers(self), _numbers(other), fillvalue=0))
        mine, theirs = [a for a, _ in pairs], [b for _, b in pairs]
        return (mine > theirs) - (mine < theirs)

    def __eq__(self, other: Any) -> bool:
        is_version = isinstance(other, tuple) or bool(re.match(r"v?\d", str(other)))
        return str.__eq__(self, other) is True or (is_version and self._compare(other) == 0)

    def __ne__(self, other: Any) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return self._compare(other) < 0

    def __le__(self, other: Any) -> bool:
        return self._compare(other) <= 0

    def __gt__(self, other: Any) -> bool:
        return self._compare(other) > 0

    def __ge__(self, other: Any) -> bool:
        return self._compare(other) >= 0

    __hash__ = str.__hash__


def _numbers(version: Any) -> list[int]:
    """The numbers in "2.13.0+cpu", in (2, 13), or in an object whose string form is like the first."""
    parts = version if isinstance(version, tuple) else str(version).partition("+")[0].split(".")
    matches = (re.match(r"v?(\d+)", str(part)) for part in parts)
    return [int(match[1]) for match in matches if match]


torch = __version__ = TorchVersion(f"2.13.0+minigrad.{project}")
cuda = hip = None  # the CUDA version of PyTorch's build: none here, as CuPy has its own
debug = False
git_version = "unknown"
