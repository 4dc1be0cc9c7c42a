"""The CPU kernel ``gelu`` against its plain definition."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.plain_checks import check, normal

pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (100, 33), (2, 3, 4), (0,), (2, 0)], ids=str)
def test_values_and_gradients(shape: tuple[int, ...], approximate: str) -> None:
    check("gelu", [np.asarray(3 * normal(*shape)), approximate], [0])
