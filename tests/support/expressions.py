"""A line of a program, said to both libraries: their values, or the kinds of their errors, must be equal."""

import functools
import math
import re
import warnings
from typing import Any

import numpy as np

import minigrad
from minigrad.backend.dtype import show_as

from .parity import torch


def split(text: str) -> list[str]:
    """The expressions in a text: semicolons and ends of lines separate them."""
    return [part.strip() for part in re.split(r";|\n", text) if part.strip()]


def evaluate(expression: str, **names: Any) -> Any:
    """The value of an expression that speaks of these names, and of NumPy and ``math``."""
    return eval(expression, {"np": np, "math": math, **names})


@functools.cache
def _arrays() -> dict[str, Any]:
    """The tensors that an expression may speak of."""
    rng = np.random.RandomState(0)
    floats = {"x": (3, 4), "y": (3, 4), "v": (5,), "w": (5,), "m": (4, 4), "z": (2, 3, 4)}
    return {name: rng.randn(*shape).astype(np.float32) for name, shape in floats.items()} | {
        "i": rng.randint(0, 9, (3, 4)),
        "j": rng.randint(1, 9, (3, 4)),
        "b": rng.rand(3, 4) > 0.5,
        "u": rng.rand(3, 4).astype(np.float32),
        "n": np.array([1.0, np.nan, -2.0, np.inf, 3.0], np.float32),
    }


def _names(t: Any, expression: str) -> dict[str, Any]:
    words = set(re.findall(r"\w+", expression))
    return {"t": t, "np": np} | {name: t.tensor(array) for name, array in _arrays().items() if name in words}


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
            return _plain(eval(expression, _names(t, expression)))
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
