"""Adadelta (Zeiler 2012)."""

from __future__ import annotations

from ..backend import xp
from ..backend.dtype import Array
from .optimizer import ZEROS, Optimizer, Params, Rate, Values, check, checked


class Adadelta(Optimizer):
    """θ ← θ - lr · d, where d = g · √(u + ε) / √(v + ε); v and u are running means of g² and d².

    Args:
        lr: a factor of the step, 1 in the paper. rho: how slowly the means forget, in [0, 1].
        params, eps, weight_decay, maximize and the rest: see Optimizer.
    """

    _state = {"step": 0, "square_avg": ZEROS, "acc_delta": ZEROS}

    def __init__(
        self,
        params: Params,
        lr: Rate = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check(0 <= rho <= 1, "rho value", rho)
        super().__init__(params, checked(locals(), "lr rho eps weight_decay maximize capturable"))

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        sqrt, rho, eps = xp(param).sqrt, options.rho, options.eps
        square_avg, acc_delta = state.square_avg, state.acc_delta
        square_avg *= rho
        square_avg += (1 - rho) * grad * grad
        change = sqrt(acc_delta + eps) / sqrt(square_avg + eps) * grad
        acc_delta *= rho
        acc_delta += (1 - rho) * change * change
        param -= options.lr * change
