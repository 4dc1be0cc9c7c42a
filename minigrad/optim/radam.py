"""RAdam: rectified Adam (Liu et al. 2020)."""

from __future__ import annotations

import math

from ..backend import xp
from ..tensor import Tensor
from .optimizer import (
    Group,
    Optimizer,
    Params,
    Rate,
    advance,
    check_betas,
    check_number,
    check_rate,
    gradient,
    scalar,
    zeros_like,
)


class RAdam(Optimizer):
    """Adam that divides by the root of v only as soon as v is an average of enough steps, and then with care.

    With ρ∞ = 2 / (1 - β₂) - 1 and ρₜ = ρ∞ - 2 t β₂ᵗ / (1 - β₂ᵗ): up to ρₜ = 5 the step is lr · m̂; from there
    on lr · r · m̂ / (√v + ε) · √(1 - β₂ᵗ), where r² = (ρₜ - 4)(ρₜ - 2) ρ∞ / ((ρ∞ - 4)(ρ∞ - 2) ρₜ).

    Args:
        params: see Optimizer. lr: about the length of a step for each number.
        betas: how slowly m and v forget. eps: keeps the division from 0.
        weight_decay: an L2 penalty, or as AdamW's with ``decoupled_weight_decay``.
        foreach, maximize, capturable, differentiable: see Adam.

    Raises:
        ValueError: an option outside its range.
    """

    _counts = ("step",)

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
        check_rate(lr)
        check_number("epsilon value", eps, eps >= 0)
        check_betas(betas)
        check_number("weight_decay value", weight_decay, weight_decay >= 0)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "decoupled_weight_decay": decoupled_weight_decay,
                "differentiable": differentiable,
            },
        )

    def _update(self, p: Tensor, group: Group) -> None:
        state = self.state[p]
        if not state:
            state["step"], state["exp_avg"], state["exp_avg_sq"] = scalar(0), zeros_like(p), zeros_like(p)
        array, step, lr = p.array, advance(state), float(group["lr"])
        if group["decoupled_weight_decay"]:
            array *= 1 - lr * float(group["weight_decay"])
        g = gradient(p, group, decay=not group["decoupled_weight_decay"])
        beta1, beta2 = map(float, group["betas"])
        mean, square = state["exp_avg"].array, state["exp_avg_sq"].array
        mean += (1 - beta1) * (g - mean)
        square *= beta2
        square += (1 - beta2) * g * g
        change = mean / (1 - beta1**step)
        factor = _rectified(beta2, step)
        if factor:
            change = change * factor / (xp(g).sqrt(square) + float(group["eps"]))
        array -= lr * change


def _rectified(beta2: float, step: int) -> float:
    """r √(1 - β₂ᵗ), or 0 while v is an average of too few."""
    last, rest = 2 / (1 - beta2) - 1, 1 - beta2**step
    now = last - 2 * step * beta2**step / rest
    if now <= 5:
        return 0.0
    return math.sqrt((now - 4) * (now - 2) * last / ((last - 4) * (last - 2) * now) * rest)
