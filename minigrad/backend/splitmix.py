"""SplitMix64 (Steele, Lea and Flood 2014): random words that are hashes of a seed and their places.

So any part of a stream can be drawn by itself, by any thread. ``kernels/keep_mask_numba.py`` and
``is_kept`` of ``kernels/common.cuh`` draw the same words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

GOLDEN, MIX = 0x9E3779B97F4A7C15, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def drawn(seed: int, count: int, xp: Any = np) -> Any:
    """``count`` words of the stream, uint64, each of them a hash of the seed and its place, as an array of ``xp``."""
    z = xp.arange(1, count + 1, dtype=np.uint64)
    z *= np.uint64(GOLDEN)
    z += np.uint64(seed)
    z ^= z >> np.uint64(30)
    z *= np.uint64(MIX[0])
    z ^= z >> np.uint64(27)
    z *= np.uint64(MIX[1])
    z ^= z >> np.uint64(31)
    return z
