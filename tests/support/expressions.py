"""A line of a program, said to both libraries: their values, or the kinds of their errors, must be equal."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import minigrad
from minigrad.backend.dtype import show_as

from .parity import torch


def _names(t: Any) -> dict[str, Any]:
    """What an expression may speak of: ``t`` is the library; x, y, u (3, 4) and so on are its tensors."""
    rng = np.random.RandomState(0)

    def floats(*shape: int) -> Any:
        return t.tensor(rng.randn(*shape).astype(np.float32))

    return {
        "t": t,
        "np": np,
        "x": floats(3, 4),
        "y": floats(3, 4),
        "v": floats(5),
        "w": floats(5),
        "m": floats(4, 4),
        "z": floats(2, 3, 4),
        "i": t.tensor(rng.randint(0, 9, (3, 4))),
        "j": t.tensor(rng.randint(1, 9, (3, 4))),
        "b": t.tensor(rng.rand(3, 4) > 0.5),
        "u": t.tensor(rng.rand(3, 4).astype(np.float32)),
        "n": t.tensor(np.array([1.0, np.nan, -2.0, np.inf, 3.0], np.float32)),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)) and type(value).__name__ != "Size":
        return [_plain(v) for v in value]
    if hasattr(value, "numpy"):
        return np.array(value.numpy(force=True))
    return value if isinstance(value, (bool, int, float, str, np.ndarray)) else str(value)


def _result(expression: str, t: Any) -> Any:
    t.manual_seed(7)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _plain(eval(expression, _names(t)))
    except Exception as error:
        return type(error)


def assert_alike(expression: str) -> None:
    """Equal values, dtypes and shapes in both libraries, or errors of one type."""
    expected = _result(expression, torch)
    before = show_as("torch")
    try:
        found = _result(expression, minigrad)
    finally:
        show_as(before)
    _compare(found, expected, expression)


def _compare(found: Any, expected: Any, what: str) -> None:
    if isinstance(expected, list):
        assert isinstance(found, list), f"{what}: {found}"
        assert len(found) == len(expected), what
        for f, e in zip(found, expected, strict=True):
            _compare(f, e, what)
    elif isinstance(expected, np.ndarray):
        assert isinstance(found, np.ndarray), f"{what}: {found}"
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), what
        tolerance = 1e-3 if expected.dtype == np.float16 else 2e-6
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=what)
    else:
        assert found == expected, what
