"""The CPU kernel ``gelu`` against its plain definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from minigrad.backend.kernels import gelu
from tests.support.plain_checks import check, normal, run

pytestmark = pytest.mark.usefixtures("small_blocks")

KINDS = pytest.mark.parametrize("approximate", ["none", "tanh"])


@KINDS
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (100, 33), (2, 3, 4), (0,), (2, 0)], ids=str)
def test_values_and_gradients(shape: tuple[int, ...], approximate: str) -> None:
    check("gelu", [np.asarray(3 * normal(*shape)), approximate], [0])


@KINDS
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_far_from_zero_it_is_a_ramp(dtype: Any, approximate: str) -> None:
    """0 or x, with slope 0 or 1, however large x is: also where its square is too large for the dtype."""
    largest = float(np.finfo(dtype).max) ** 0.3 if dtype is not np.float16 else 60000.0
    x = np.array([10.0, 100.0, 255.0, 300.0, 20000.0, largest]).astype(dtype)
    x = np.concatenate([x, -x])
    out, (slope, _) = run("gelu", [x, approximate], (True, False), np.ones_like(x))
    assert out.dtype == slope.dtype == dtype
    np.testing.assert_allclose(out, np.maximum(x, 0), atol=1e-6)
    np.testing.assert_allclose(slope, x > 0, atol=1e-6)
    np.testing.assert_array_equal(out, run("gelu", [x, approximate], (False, False), x)[0])


@KINDS
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_what_is_not_finite_stays_in_its_place(dtype: Any, approximate: str) -> None:
    x = np.array([1.0, np.nan, -1.0, np.inf, 2.0, -np.inf, 0.5], dtype)
    finite = np.isfinite(x)
    out, (slope, _) = run("gelu", [x, approximate], (True, False), np.ones_like(x))
    expected, (slopes, _) = run("gelu", [x[finite], approximate], (True, False), np.ones_like(x[finite]))
    np.testing.assert_allclose(out[finite], expected, rtol=1e-6)
    np.testing.assert_allclose(slope[finite], slopes, rtol=1e-6)
    assert np.isnan(out[1])
    assert np.isnan(slope[1])
    assert out[3] == np.inf


@KINDS
def test_float16_is_as_good_as_its_numbers(approximate: str) -> None:
    x = np.linspace(-6, 6, 997).astype(np.float16)
    wide = x.astype(np.float64)
    g = normal(997).astype(np.float16)
    out, (slope, _) = run("gelu", [x, approximate], (True, False), g)
    expected, (slopes, _) = run("gelu", [wide, approximate], (True, False), g.astype(np.float64))
    np.testing.assert_allclose(out, expected, rtol=2e-3, atol=1e-5)
    np.testing.assert_allclose(slope, slopes, rtol=4e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_normal_distribution(dtype: Any) -> None:
    """Φ(x) = gelu(x) / x, against Python's own erf."""
    x = np.linspace(-9, 9, 4000).astype(dtype)
    expected = [0.5 * (1 + math.erf(n / math.sqrt(2))) for n in x.tolist()]
    out, _ = run("gelu", [x, "none"], (False, False), x)
    np.testing.assert_allclose(out / x, expected, atol=1.3e-7 if dtype is np.float32 else 1e-14)


@KINDS
def test_a_gradient_may_be_asked_for_twice(approximate: str) -> None:
    """What is kept is not used up, and not handed out."""
    x, g = normal(30), normal(30, seed=1)
    _, saved = gelu.forward((True, False), x, approximate)
    first = gelu.backward((True, False), saved, g, x, approximate)[0]
    kept = first.copy()
    first[...] = np.nan
    np.testing.assert_array_equal(gelu.backward((True, False), saved, g, x, approximate)[0], kept)
