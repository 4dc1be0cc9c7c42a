"""RAdam: rectified Adam (Liu et al. 2020)."""

from __future__ import annotations

import math

from ..backend import xp
from ..backend.dtype import Array
from .adam import update_means
from .optimizer import ZEROS, Optimizer, Params, Rate, Values, checked


class RAdam(Optimizer):
    """Adam that divides by the root of v only as soon as v is an average of enough steps, and then with care.

    With ρ∞ = 2 / (1 - β₂) - 1 and ρₜ = ρ∞ - 2 t β₂ᵗ / (1 - β₂ᵗ): up to ρₜ = 5 the step is lr · m̂; from there
    on lr · r · m̂ / (√v + ε) · √(1 - β₂ᵗ), where r² = (ρₜ - 4)(ρₜ - 2) ρ∞ / ((ρ∞ - 4)(ρ∞ - 2) ρₜ).
    All arguments are Optimizer's.
    """

    _state = {"step": 0, "exp_avg": ZEROS, "exp_avg_sq": ZEROS}

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, checked(locals(), "lr betas eps weight_decay maximize foreach capturable"))

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        beta1, beta2 = options.betas
        update_means(state.exp_avg, state.exp_avg_sq, grad, options.betas)
        change = state.exp_avg / (1 - beta1**state.step)
        factor = _rectified(beta2, state.step)
        if factor:
            change = change * factor / (xp(grad).sqrt(state.exp_avg_sq) + options.eps)
        param -= options.lr * change


def _rectified(beta2: float, step: int) -> float:
    """r √(1 - β₂ᵗ), or 0 while v is an average of too few."""
    last, rest = 2 / (1 - beta2) - 1, 1 - beta2**step
    now = last - 2 * step * beta2**step / rest
    if now <= 5:
        return 0.0
    return math.sqrt((now - 4) * (now - 2) * last / ((last - 4) * (last - 2) * now) * rest)
