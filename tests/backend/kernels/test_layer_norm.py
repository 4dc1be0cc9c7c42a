"""The CPU kernel ``layer_norm`` against its plain definition."""

from __future__ import annotations

import pytest

from tests.support.plain_checks import check, normal

pytestmark = pytest.mark.usefixtures("small_blocks")

SHAPES = [(1, 2), (3, 5), (7, 64), (200, 33), (2, 3, 257), (4, 1), (0, 4), (2, 0, 5), (6,)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_and_gradients(shape: tuple[int, ...]) -> None:
    x, weight, bias = 2 + normal(*shape), normal(shape[-1], seed=2), normal(shape[-1], seed=3)
    check("layer_norm", [x, weight, bias, 1e-5], [0, 1, 2])


@pytest.mark.parametrize("shape", SHAPES[:5], ids=str)
def test_without_weight_or_bias(shape: tuple[int, ...]) -> None:
    x, weight = normal(*shape), normal(shape[-1], seed=2)
    check("layer_norm", [x, None, None, 1e-5], [0])
    check("layer_norm", [x, weight, None, 1e-3], [0, 1])
