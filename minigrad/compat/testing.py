"""``torch.testing``: the function ``assert_close``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..backend import dtype as dt
from ..functions.creation import as_tensor
from ..tensor import Tensor

__all__ = ["assert_close"]

_TOLERANCES: dict[Any, tuple[float, float]] = {
    dt.float16: (1e-3, 1e-5),
    dt.bfloat16: (1.6e-2, 1e-5),
    **dict.fromkeys((dt.float32, dt.complex64), (1.3e-6, 1e-5)),
    **dict.fromkeys((dt.float64, dt.complex128), (1e-7, 1e-7)),
}
_OF_NUMBERS: dict[type, Any] = {float: dt.float64, complex: dt.complex128}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Check that ``|actual - expected| <= atol + rtol |expected|``, for numbers, tensors or structures of them.

    Args:
        rtol, atol: the tolerances; by default, the looser of the values for the two dtypes.
        equal_nan: whether NaN equals NaN.
        check_device, check_dtype, check_stride: whether these must also be equal.
        msg: a message, or a function that takes the default message and returns one.

    Raises AssertionError if they differ. Its message states how many elements differ, and the largest difference.
    Raises ValueError if only one tolerance is passed.
    """
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be specified or both be unspecified")
    checks = {"device": check_device, "dtype": check_dtype, "stride": check_stride}
    attributes = [name for name, check in checks.items() if check]
    text = _difference(actual, expected, partial(_tensor_difference, attributes, rtol, atol, equal_nan))
    if text:
        raise AssertionError(msg(text) if callable(msg) else msg or text)


def _difference(actual: Any, expected: Any, compare: Callable[[Any, Any], str]) -> str:
    """The difference in words; "" if the values match."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        if set(actual) != set(expected):
            return f"The keys of the mappings do not match: {sorted(map(str, set(actual) ^ set(expected)))}"
        items = ((f"[{key!r}]", _difference(actual[key], expected[key], compare)) for key in expected)
    elif all(isinstance(value, Sequence) and not isinstance(value, str) for value in (actual, expected)):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
        pairs = enumerate(zip(actual, expected, strict=True))
        items = ((f"[{i}]", _difference(a, e, compare)) for i, (a, e) in pairs)
    else:
        return compare(actual, expected)
    return next((f"{text}\n\nThe failure occurred for item {place}" for place, text in items if text), "")


def _tensor_difference(
    attributes: list[str], rtol: float | None, atol: float | None, equal_nan: bool, actual: Any, expected: Any
) -> str:
    if actual is None or expected is None or isinstance(actual, str) or isinstance(expected, str):
        return "" if actual == expected else f"{actual!r} is not {expected!r}"
    both = isinstance(actual, Tensor) and isinstance(expected, Tensor)
    a, e = (as_tensor(value, dtype=_OF_NUMBERS.get(type(value))) for value in (actual, expected))
    ours, theirs = (
        {"device": t.device, "dtype": t.dtype, "stride": t.stride(), "shape": tuple(t.shape)} for t in (a, e)
    )
    for name in (*(attributes if both else ()), "shape"):
        if ours[name] != theirs[name]:
            return f"The values for attribute '{name}' do not match: {ours[name]} != {theirs[name]}."
    if rtol is None or atol is None:
        rtol, atol = map(max, zip(*(_TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in (a, e)), strict=True))
    x, y = ((t.float() if t.dtype is dt.bfloat16 else t).numpy(force=True) for t in (a, e))
    return _compare(x, y, rtol, atol, equal_nan)


def _compare(a: Any, e: Any, rtol: float, atol: float, equal_nan: bool) -> str:
    """A message that states how many elements of two arrays differ, and where they differ most; "" if all match."""
    wrong, wide = a != e, np.result_type(a, e, np.float64)
    a, e = a.astype(wide), e.astype(wide)
    with np.errstate(all="ignore"):
        distance = np.abs(a - e)
        relative = distance / np.abs(e)
        if rtol or atol:  # otherwise, 64-bit integers would lose digits
            wrong &= ~(np.isfinite(distance) & (distance <= atol + rtol * np.abs(e)))
    if equal_nan:
        wrong &= ~(np.isnan(a) & np.isnan(e))
    if not wrong.any():
        return ""
    lines = [f"Mismatched elements: {int(wrong.sum())} / {wrong.size} ({wrong.mean():.1%})"]
    for name, values, allowed in (("absolute", distance, atol), ("relative", relative, rtol)):
        at = np.unravel_index(int(np.argmax(np.where(wrong, values, -1))), wrong.shape) if wrong.ndim else ()
        place = f" at index {tuple(int(i) for i in at)}" if wrong.ndim else ""
        lines.append(f"Greatest {name} difference: {values[at]}{place} (up to {allowed} allowed)")
    return "Tensor-likes are not close!\n\n" + "\n".join(lines)
