"""Adam's and AdamW's update, one launch for a tensor: see adam.cu, and ``plain_step`` in ``optim/adam.py``."""

from __future__ import annotations

import math
from typing import Any

from ..dtype import Array
from ._launch import address, contiguous, over_elements


def step(
    param: Array, grad: Array, exp_avg: Array, exp_avg_sq: Array, max_exp_avg_sq: Array | None, *options: Any
) -> None:
    """Update ``param`` and the averages in place. The options are those of ``plain_step``."""
    lr, beta1, beta2, eps, weight_decay, decoupled, step, maximize = options
    states = (param, exp_avg, exp_avg_sq, max_exp_avg_sq)
    dense = [None if s is None else contiguous(s) for s in states]
    p, m, v, v_max = dense
    bias1, sqrt_bias2 = 1 - beta1**step, math.sqrt(1 - beta2**step)
    sign = -1.0 if maximize else 1.0
    arrays = (p, contiguous(grad, param.dtype), m, v, address(v_max))
    rates = map(float, (lr, beta1, beta2, eps, weight_decay))
    over_elements(param, "adam", "adam", *arrays, *rates, int(decoupled), float(bias1), sqrt_bias2, sign)
    for state, copy in zip(states, dense, strict=True):
        if state is not None and copy is not state:  # it was not contiguous
            state[...] = copy
