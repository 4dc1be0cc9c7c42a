"""Runs an expression in both libraries: their values, or the types of their errors, must be equal."""

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
    """The expressions in a text, separated by semicolons and line ends."""
    return [part.strip() for part in re.split(r";|\n", text) if part.strip()]


def evaluate(expression: str, **names: Any) -> Any:
    """The value of an expression that uses these names, NumPy and ``math``."""
    return eval(expression, {"np": np, "math": math, **names})


@functools.cache
def _arrays() -> dict[str, Any]:
    """The tensors that an expression may use."""
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
    """Assert equal values, dtypes and shapes in both libraries, or errors of the same type."""
    expected = _result(expression, torch)
    before = show_as("torch")
    try:
        actual = _result(expression, minigrad)
    finally:
        show_as(before)
    _compare(actual, expected, expression)


def _compare(actual: Any, expected: Any, what: str) -> None:
    if isinstance(expected, list):
        assert isinstance(actual, list), f"{what}: {actual}"
        assert len(actual) == len(expected), what
        for f, e in zip(actual, expected, strict=True):
            _compare(f, e, what)
    elif isinstance(expected, np.ndarray):
        assert isinstance(actual, np.ndarray), f"{what}: {actual}"
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), what
        tolerance = 1e-3 if expected.dtype == np.float16 else 2e-6
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance, err_msg=what)
    else:
        assert actual == expected, what
