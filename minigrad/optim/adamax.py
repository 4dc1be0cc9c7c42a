"""Adamax (Kingma and Ba 2015, section 7.1)."""

from __future__ import annotations

from ..backend import xp
from ..backend.dtype import Array
from .optimizer import ZEROS, Optimizer, Params, Rate, Values, checked


class Adamax(Optimizer):
    """θ ← θ - lr / (1 - β₁ᵗ) · m / u, where m ← β₁ m + (1 - β₁) g and u ← max(β₂ u, |g| + ε).

    All arguments are Optimizer's.
    """

    _state = {"step": 0, "exp_avg": ZEROS, "exp_inf": ZEROS}

    def __init__(
        self,
        params: Params,
        lr: Rate = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, checked(locals()))

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        (beta1, beta2), exp_avg, exp_inf = options.betas, state.exp_avg, state.exp_inf
        exp_avg += (1 - beta1) * (grad - exp_avg)
        exp_inf *= beta2
        xp(grad).maximum(exp_inf, abs(grad) + options.eps, out=exp_inf)
        param -= options.lr / (1 - beta1**state.step) * exp_avg / exp_inf
