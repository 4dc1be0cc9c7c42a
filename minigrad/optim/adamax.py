"""Adamax (Kingma and Ba 2015, section 7.1)."""

from __future__ import annotations

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


class Adamax(Optimizer):
    """θ ← θ - lr / (1 - β₁ᵗ) · m / u, where m ← β₁ m + (1 - β₁) g and u ← max(β₂ u, |g| + ε).

    Args:
        params: see Optimizer. lr: about the length of a step for each number.
        betas: how slowly m and u forget. eps: keeps the division from 0.
        weight_decay: an L2 penalty. maximize: go up instead.
        foreach, differentiable, capturable: see Adam.

    Raises:
        ValueError: an option outside its range.
    """

    _counts = ("step",)

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
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _update(self, p: Tensor, group: Group) -> None:
        state = self.state[p]
        if not state:
            state["step"], state["exp_avg"], state["exp_inf"] = scalar(0), zeros_like(p), zeros_like(p)
        array, g, step = p.array, gradient(p, group), advance(state)
        beta1, beta2 = map(float, group["betas"])
        mean, largest = state["exp_avg"].array, state["exp_inf"].array
        mean += (1 - beta1) * (g - mean)
        largest *= beta2
        xp(g).maximum(largest, abs(g) + float(group["eps"]), out=largest)
        array -= float(group["lr"]) / (1 - beta1**step) * mean / largest
