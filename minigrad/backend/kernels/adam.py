"""Adam's and AdamW's update on NumPy: in place, in cache-sized blocks, on all cores.

What it computes is told by ``optim/adam.py``, whose ``plain_step`` is the definition. A block of all arrays
goes through every operation before the next one starts, so that memory is read and written once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtype import Array
from ..parallel import SERIAL_BYTES, over_rows

Numbers = tuple[float | None, float, bool, float, float, float, float]


def step(
    param: Array, grad: Array, exp_avg: Array, exp_avg_sq: Array, max_exp_avg_sq: Array | None, *options: Any
) -> None:
    """Update ``param`` and the averages in place. The options are those of ``plain_step``."""
    lr, beta1, beta2, eps, weight_decay, decoupled, step, maximize = options
    bias1, sqrt_bias2 = 1 - beta1**step, math.sqrt(1 - beta2**step)
    shrink = 1 - lr * weight_decay if decoupled and weight_decay else None
    decay = 0.0 if decoupled else weight_decay
    # m / bias1 / (√v / √bias2 + ε) = √bias2 / bias1 · m / (√v + ε √bias2), a pass less
    numbers = (shrink, decay, maximize, 1 - beta1, beta2, eps * sqrt_bias2, lr * sqrt_bias2 / bias1)
    arrays = [a for a in (param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq) if a is not None]
    if param.nbytes <= SERIAL_BYTES or not all(a.flags.c_contiguous for a in arrays):
        _update(numbers, *arrays)
        return
    flat = [a.reshape(-1) for a in arrays]  # views: (...) -> (N)

    def work(i: int, j: int) -> None:
        _update(numbers, *[a[i:j] for a in flat])

    over_rows(work, param.size, 4 * param.itemsize)


def _update(numbers: Numbers, p: Array, g: Array, m: Array, v: Array, v_max: Array | None = None) -> None:
    """One block, with one block of scratch (two with ``maximize`` or ``decay``)."""
    shrink, decay, maximize, rest1, beta2, eps, step_size = numbers
    if maximize:
        g = -g
    if decay:
        g = g + decay * p
    if shrink is not None:
        p *= shrink
    t = np.subtract(g, m, out=np.empty_like(m))  # an array, of no axes too
    t *= rest1
    m += t  # m + (1 - β₁)(g - m)
    v *= beta2
    np.multiply(g, g, out=t)
    t *= 1 - beta2
    v += t
    np.sqrt(v if v_max is None else np.maximum(v_max, v, out=v_max), out=t)
    t += eps
    np.divide(m, t, out=t)
    t *= step_size
    p -= t
