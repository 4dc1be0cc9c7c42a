"""The CPU kernel ``rms_norm`` against its plain definition."""

from __future__ import annotations

import pytest

from tests.support.plain_checks import check, normal

pytestmark = pytest.mark.usefixtures("small_blocks")

SHAPES = [(1, 2), (3, 5), (7, 64), (200, 33), (2, 3, 257), (4, 1), (0, 4), (2, 0, 5), (6,)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_and_gradients(shape: tuple[int, ...]) -> None:
    check("rms_norm", [normal(*shape), normal(shape[-1], seed=2), 1e-6], [0, 1])
    check("rms_norm", [normal(*shape), None, 1e-3], [0])
