"""Learning-rate schedules for LambdaLR. They map e, the number of updates so far, to a fraction of the peak rate.

    schedule = LambdaLR(optimizer, inverse_sqrt(warmup=4000))

All rates rise linearly over ``warmup`` updates (Goyal et al. 2017, arXiv 1706.02677); the last of these has the peak
rate. ``steps`` is the total, and s = e + 1. They raise ValueError if a number is out of range or the warm-up too long.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Schedule = Callable[[int], float]


def inverse_sqrt(warmup: int) -> Schedule:
    """Warm-up, then inverse square root decay: min(s / warmup, √(warmup / s)) (Vaswani et al. 2017, equation 3)."""
    if warmup < 1:
        raise ValueError(f"inverse_sqrt: warmup must be at least 1, not {warmup}")
    return lambda e: min((e + 1) / warmup, math.sqrt(warmup / (e + 1)))


def cosine(warmup: int, steps: int, final: float = 0.0) -> Schedule:
    """Linear warm-up, then half a cosine to ``final`` at ``steps`` (Loshchilov and Hutter 2017, arXiv 1608.03983)."""
    _check("cosine", warmup, steps)
    if not 0 <= final <= 1:
        raise ValueError(f"cosine: final must be in [0, 1], not {final}")

    def rate(e: int) -> float:
        if e < warmup:
            return (e + 1) / warmup
        return final + (1 - final) * 0.5 * (1 + math.cos(math.pi * min(1.0, (e - warmup) / (steps - warmup))))

    return rate


def linear(warmup: int, steps: int) -> Schedule:
    """Linear warm-up, then linear decay to zero at ``steps`` (Devlin et al. 2019, arXiv 1810.04805, appendix A.2)."""
    _check("linear", warmup, steps)
    return lambda e: (e + 1) / warmup if e < warmup else max(0.0, (steps - e) / (steps - warmup))


def inverse_sqrt_with_decay(warmup: int, steps: int, decay_fraction: float = 0.2) -> Schedule:
    """``inverse_sqrt``, followed by a linear decay to zero at ``steps``. Such a "cooldown" is as good as a cosine for a
    run of any length, but the rate before it does not depend on the length (Zhai et al. 2022, arXiv 2106.04560, section
    3.5). The decay takes ``decay_fraction`` of all updates. Raises ValueError if it begins within the warm-up."""
    if not 0 <= decay_fraction <= 1:
        raise ValueError(f"inverse_sqrt_with_decay: decay_fraction must be in [0, 1], not {decay_fraction}")
    _check("inverse_sqrt_with_decay", warmup, steps)
    begin = steps - round(decay_fraction * steps)
    if begin < warmup:
        last = f"the decay takes {decay_fraction:g} of {steps} steps, so it begins before the {warmup} warmup steps end"
        raise ValueError(f"inverse_sqrt_with_decay: {last}")
    before = inverse_sqrt(warmup)

    return lambda e: before(min(e, begin)) * min(1.0, max(0.0, (steps - e) / max(1, steps - begin)))


def _check(name: str, warmup: int, steps: int) -> None:
    if not 0 <= warmup < steps:
        raise ValueError(f"{name}: warmup must be in [0, steps), but warmup is {warmup} and steps is {steps}")
