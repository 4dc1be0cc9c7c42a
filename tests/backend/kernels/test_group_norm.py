"""The CPU kernel ``group_norm`` against its plain definition."""

from __future__ import annotations

import pytest

from tests.support.plain_checks import check, normal

pytestmark = pytest.mark.usefixtures("small_blocks")
SHAPES = [
    ((2, 4, 3), 2),
    ((3, 6, 5, 7), 3),
    ((5, 6, 2, 2, 2), 1),
    ((40, 4, 9), 4),
    ((7, 6), 2),
    ((0, 4, 3), 2),
    ((2, 4, 0), 2),
]


@pytest.mark.parametrize(("shape", "groups"), SHAPES, ids=str)
def test_values_and_gradients(shape: tuple[int, ...], groups: int) -> None:
    x, weight, bias = 2 + normal(*shape), normal(shape[1], seed=2), normal(shape[1], seed=3)
    check("group_norm", [x, weight, bias, groups, 1e-5], [0, 1, 2])
    check("group_norm", [x, None, None, groups, 1e-3], [0])
    check("group_norm", [x, weight, None, groups, 1e-3], [0, 1])
