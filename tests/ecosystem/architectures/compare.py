"""The criteria by which two measurements are equal.

Outputs: the largest difference, relative to the largest magnitude where that is above 1, is at most 1e-4. Gradients: at
most 1e-4 of the largest magnitude in the parameter's gradient, to which a hundredth of the largest in the whole model's
is added: some gradients are sums that cancel to 0, leaving only rounding. Losses: 1e-4, relative where above 1. Ids
and other integers: equal.
"""

from typing import Any

import numpy as np

TOLERANCE = 1e-4
Arrays = dict[str, Any]


def compare(actual: Arrays, expected: Arrays) -> list[str]:
    """Describe the differences."""
    problems = [f"{name} is missing" for name in expected if name not in actual]
    problems += [f"{name} is not torch's" for name in actual if name not in expected]
    gradients = [np.abs(value).max(initial=0) for name, value in expected.items() if name.startswith("gradient.")]
    floor = 0.01 * max(gradients, default=0.0)
    for name in expected:
        if name in actual:
            problems += _difference(name, actual[name], expected[name], floor if name.startswith("gradient.") else None)
    return problems


def _difference(name: str, actual: Any, expected: Any, floor: float | None) -> list[str]:
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return [f"{name} is {actual.dtype}{actual.shape}, torch's {expected.dtype}{expected.shape}"]
    if expected.dtype.kind not in "fc":
        return [] if np.array_equal(actual, expected) else [f"{name} differs: {_ids(actual)}, torch's {_ids(expected)}"]
    finite = np.isfinite(expected)
    if not np.array_equal(actual[~finite], expected[~finite], equal_nan=True):
        return [f"{name} has other infinities or NaN"]
    actual, expected = actual[finite].astype(np.float64), expected[finite].astype(np.float64)
    largest = float(np.abs(expected).max(initial=0.0))
    scale = max(largest, 1.0) if floor is None else largest + floor or 1.0
    error = float(np.abs(actual - expected).max(initial=0.0)) / scale
    return [f"{name} differs by {error:.1e}"] if not error <= TOLERANCE else []


def _ids(value: Any) -> str:
    return str(value.reshape(-1)[:12].tolist())
