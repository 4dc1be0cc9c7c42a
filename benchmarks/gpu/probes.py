"""First contact: the library on a GPU, one small thing at a time, against the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import probes_arrays, probes_capture, probes_kernels
from .place import Place


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """All probes. They do not depend on each other; those that CuPy's own tests do not cover come first."""
    return {**probes_kernels.items(place), **probes_capture.items(place), **probes_arrays.items(place)}
