"""Products with weights in int8 and bfloat16, with and without compiled loops, equal those of the widened weight."""

import numpy as np
import pytest

from minigrad.backend import narrow
from minigrad.backend.compiled import store
from tests.support.cases import cases

SHAPES = [(1, 1, 16), (1, 40, 384), (2, 384, 48), (7, 33, 1536), (49, 100, 64), (60, 20, 32), (3, 5, 20), (0, 4, 16)]
SHAPES += [(3, 0, 16), (2, 4, 0), (50, 70, 80_000)]  # the last in two parts


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32)


@cases("is_half", [False, True])
@cases("rows, columns, inner", SHAPES)
@pytest.mark.parametrize("fast", [True, False])
def test_products(
    fast: bool, rows: int, columns: int, inner: int, is_half: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not fast:
        monkeypatch.setattr(store, "library", lambda *unit: None)
    x, weight = drawn(rows, inner), drawn(columns, inner)
    stored, scale = narrow.narrowed(weight, is_half)
    out = narrow.multiply(x, stored, scale)
    expected = x.astype(float) @ narrow.widened(stored, scale).T.astype(float)
    assert out.shape == (rows, columns) and out.dtype == np.float32
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4 * np.sqrt(max(inner, 1)))


def test_a_view_of_a_weight() -> None:
    stored, scale = narrow.narrowed(drawn(40, 32), False)
    x = drawn(3, 32)
    np.testing.assert_allclose(
        narrow.multiply(x, stored[::2], scale[::2]), narrow.multiply(x, stored, scale)[:, ::2], rtol=1e-5, atol=1e-5
    )
    np.testing.assert_array_equal(
        narrow.multiply(x[:, ::-1], stored, scale), narrow.multiply(x[:, ::-1].copy(), stored, scale)
    )


def test_rounding() -> None:
    """The largest number of a row is exact, and the others are off by at most half a step. Zeros stay zeros."""
    weight = drawn(20, 64)
    weight[3] = 0
    stored, scale = narrow.narrowed(weight, False)
    assert stored.dtype == np.int8 and (np.abs(stored).max(1) == [127] * 3 + [0] + [127] * 16).all()
    assert (np.abs(narrow.widened(stored, scale) - weight) <= scale[:, None] * 0.5001).all()
    halves, ones = narrow.narrowed(weight, True)
    assert halves.itemsize == 2 and (ones == 1).all()
    np.testing.assert_allclose(narrow.widened(halves, ones), weight, rtol=2**-8)
