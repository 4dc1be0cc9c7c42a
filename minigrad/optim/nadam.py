"""NAdam: Adam with Nesterov's momentum (Dozat 2016)."""

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


class NAdam(Optimizer):
    """Adam whose mean of gradients looks one step ahead, with a momentum that grows.

    θ ← θ - lr · ((1 - μₜ) / (1 - Πₜ) · g + μₜ₊₁ / (1 - Πₜ₊₁) · m) / (√(v / (1 - β₂ᵗ)) + ε), where m and v are
    Adam's means, μₜ = β₁ (1 - 0.96^(t · momentum_decay) / 2), and Πₜ is the product of μ₁ to μₜ.

    Args:
        params: see Optimizer. lr: about the length of a step for each number.
        betas: how slowly m and v forget. eps: keeps the division from 0.
        weight_decay: an L2 penalty, or as AdamW's with ``decoupled_weight_decay``.
        momentum_decay: how soon the momentum grows. maximize: go up instead.
        foreach, capturable, differentiable: see Adam.

    Raises:
        ValueError: an option outside its range.
    """

    _counts = ("step", "mu_product")

    def __init__(
        self,
        params: Params,
        lr: Rate = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_number("momentum_decay value", momentum_decay, momentum_decay >= 0)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum_decay": momentum_decay,
                "decoupled_weight_decay": decoupled_weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
            },
        )

    def _update(self, p: Tensor, group: Group) -> None:
        state = self.state[p]
        if not state:
            state["step"], state["mu_product"] = scalar(0), scalar(1)
            state["exp_avg"], state["exp_avg_sq"] = zeros_like(p), zeros_like(p)
        array, step, lr = p.array, advance(state), float(group["lr"])
        if group["decoupled_weight_decay"]:
            array *= 1 - lr * float(group["weight_decay"])
        g = gradient(p, group, decay=not group["decoupled_weight_decay"])
        beta1, beta2 = map(float, group["betas"])
        mean, square = state["exp_avg"].array, state["exp_avg_sq"].array
        mean += (1 - beta1) * (g - mean)
        square *= beta2
        square += (1 - beta2) * g * g
        root = xp(g).sqrt(square / (1 - beta2**step)) + float(group["eps"])
        decay = float(group["momentum_decay"])
        now, then = (beta1 * (1 - 0.5 * 0.96 ** (t * decay)) for t in (step, step + 1))
        state["mu_product"].array *= now
        product = float(state["mu_product"].array)
        array -= lr * (1 - now) / (1 - product) * g / root
        array -= lr * then / (1 - product * then) * mean / root
