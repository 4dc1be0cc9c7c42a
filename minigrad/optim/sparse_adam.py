"""SparseAdam: Adam that leaves alone what has no gradient."""

from __future__ import annotations

import math

from ..backend import xp
from ..backend.dtype import Array
from ..tensor import Tensor
from .optimizer import ZEROS, Optimizer, Params, Rate, State, Values, check, checked


class SparseAdam(Optimizer):
    """Adam for the rows of a table of which each batch uses few: only these, and their means, change.

    PyTorch's takes sparse gradients. These are dense, and a row that is all zeros counts as not used.
    The arguments are Optimizer's; lr and eps must be positive.
    """

    _state = {"exp_avg": ZEROS, "exp_avg_sq": ZEROS}

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        defaults = checked(locals())
        check(lr > 0, "learning rate", lr)
        check(eps > 0, "epsilon value", eps)
        super().__init__(params, defaults)

    def _start(self, p: Tensor, options: Values) -> State:
        return {"step": 0, **super()._start(p, options)}  # a plain number, as in PyTorch

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        arrays = (param, grad, state.exp_avg, state.exp_avg_sq)
        table, grad, exp_avg, exp_avg_sq = (a if a.ndim else a[None] for a in arrays)
        used = (grad != 0).reshape(len(grad), -1).any(1)
        g, (beta1, beta2) = grad[used], options.betas
        exp_avg[used] += (1 - beta1) * (g - exp_avg[used])
        exp_avg_sq[used] += (1 - beta2) * (g * g - exp_avg_sq[used])
        rate = options.lr * math.sqrt(1 - beta2**state.step) / (1 - beta1**state.step)
        table[used] -= rate * exp_avg[used] / (xp(g).sqrt(exp_avg_sq[used]) + options.eps)
