"""The functions used in compiled loops, against float64 over all exponents, through kernels that call only them."""

from typing import Any

import numpy as np

from tests.support.cases import cases
from tests.support.compiled_checks import kernel, needs_numba

pytestmark = needs_numba


def numbers() -> Any:
    """float32 numbers with every exponent and sign, and many where the functions curve."""
    bits = np.random.default_rng(0).integers(0, 1 << 23, (256, 400)) + (np.arange(256) << 23)[:, None]
    x = bits.astype(np.uint32).view(np.float32).reshape(-1)
    x = np.concatenate([x, -x, np.linspace(-110, 110, 400_001, dtype=np.float32)])
    return x[np.isfinite(x)]


def error(name: str, expected: Any) -> Any:
    """The error of a function at ``numbers``, in units in the last place of float32."""
    out, _ = kernel(name).forward((False,), numbers())
    assert out.dtype == np.float32
    fits = np.abs(expected) <= np.finfo(np.float32).max
    np.testing.assert_array_equal(out[~fits], expected[~fits].astype(np.float32), err_msg=f"{name}: infinity")
    with np.errstate(all="ignore"):
        unit = np.spacing(np.maximum(np.abs(expected), np.finfo(np.float32).tiny).astype(np.float32))
        return np.where(fits, np.abs(out.astype(np.float64) - expected) / unit, 0)


def test_exp_and_tanh() -> None:
    with np.errstate(over="ignore"):
        assert error("exp", np.exp(numbers().astype(np.float64))).max() < 1.1
    assert error("tanh", np.tanh(numbers().astype(np.float64))).max() < 1.5


def test_sigmoid() -> None:
    x = numbers().astype(np.float64)
    with np.errstate(over="ignore"):
        errors = error("sigmoid", 1 / (1 + np.exp(-x)))
    assert errors[x > -88].max() < 2.5
    out, _ = kernel("sigmoid").forward((False,), numbers())
    assert (out[x <= -88] < 1e-38).all()
    assert (out >= 0).all()


@cases("name", ["exp", "tanh", "sigmoid"])
def test_small_steps_keep_the_order(name: str) -> None:
    """No function falls by more than its error as x grows."""
    x = np.linspace(-12, 12, 300_001, dtype=np.float32)
    out, _ = kernel(name).forward((False,), x)
    assert (np.diff(out) >= -3 * np.spacing(np.abs(out[1:]))).all()
