"""Conversion to arrays on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import dtype as dt
from .registry import is_array, of


def host(value: Any) -> NDArray[Any]:
    """Convert a tensor (including PyTorch's), an array on any device, or nested lists to a NumPy array, and
    bfloat16 to float32. The result is a copy only if necessary."""
    array = getattr(value, "array", value)
    if is_array(array):
        return np.asarray(dt.widened(of(array).to_numpy(array)))
    return np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
