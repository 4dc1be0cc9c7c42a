"""Adam's and AdamW's update, one launch for a tensor: see adam.cu."""

from __future__ import annotations

import math

from ..dtype import Array
from ._launch import address, contiguous, each_element, launch


def step(
    param: Array,
    grad: Array,
    exp_avg: Array,
    exp_avg_sq: Array,
    max_exp_avg_sq: Array | None,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    step: int,
    maximize: bool,
) -> None:
    """Update ``param`` and the averages in place: PyTorch's formula. ``step`` counts from 1."""
    states = (param, exp_avg, exp_avg_sq, max_exp_avg_sq)
    dense = [None if s is None else contiguous(s) for s in states]
    p, m, v, v_max = dense
    bias1, sqrt_bias2 = 1 - beta1**step, math.sqrt(1 - beta2**step)
    sign = -1.0 if maximize else 1.0
    args = (
        p,
        contiguous(grad, param.dtype),
        m,
        v,
        address(v_max),
        float(lr),
        float(beta1),
        float(beta2),
        float(eps),
        float(weight_decay),
        int(decoupled),
        float(bias1),
        sqrt_bias2,
        sign,
        param.size,
    )
    launch(param, "adam", "adam", *each_element(param.size), args)
    for state, copy in zip(states, dense, strict=True):
        if state is not None and copy is not state:  # it was not contiguous
            state[...] = copy
