"""Dropout's masks as compiled loops draw them: the bits of the plain form, whatever the number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from minigrad.backend import parallel, random, splitmix
from tests.support.compiled_checks import needs_numba

pytestmark = needs_numba


@pytest.mark.parametrize("count", [0, 1, 3, 4, 7, 8, 9, 64, 101, 70_001, 1_000_003])
@pytest.mark.parametrize("bound", [0, 1, 6554, 32768, 65535])
def test_bits_are_those_of_the_plain_form(count: int, bound: int) -> None:
    from minigrad.backend.kernels import keep_mask_numba

    for seed in (0, 1, 2**63 - 1, 2**63, 2**64 - 1):
        keep = keep_mask_numba.draw(count, bound, seed)
        assert (keep.dtype, keep.shape) == (np.bool_, (count,))
        assert set(np.unique(keep.view(np.uint8))) <= {0, 1}
        plain = splitmix.drawn(seed, count // 4 + 1).view(np.uint16)[:count] >= bound
        np.testing.assert_array_equal(keep, plain)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    before, found = parallel.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            parallel.set_num_threads(threads)
            found.append(random.Generator().manual_seed(4).keep_mask((301, 999), 0.3).tobytes())
    finally:
        parallel.set_num_threads(before)
    assert found[0] == found[1] == found[2]
