"""RMSprop (Hinton 2012, lecture 6)."""

from __future__ import annotations

from ..backend import xp
from ..tensor import Tensor
from .optimizer import Group, Optimizer, Params, Rate, advance, check_number, check_rate, gradient, scalar, zeros_like


class RMSprop(Optimizer):
    """θ ← θ - lr · g / (√v + ε), where v ← α v + (1 - α) g².

    Args:
        params: see Optimizer. lr: about the length of a step for each number.
        alpha: how slowly v forgets. eps: keeps the division from 0.
        weight_decay: an L2 penalty. maximize: go up instead.
        momentum: steps along b ← momentum · b + g / (√v + ε) (Sutskever et al. 2013).
        centered: v less the square of the mean gradient (Graves 2013).
        capturable, foreach, differentiable: see Adam.

    Raises:
        ValueError: a negative option.
    """

    _counts = ("step",)

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_number("epsilon value", eps, eps >= 0)
        check_number("momentum value", momentum, momentum >= 0)
        check_number("weight_decay value", weight_decay, weight_decay >= 0)
        check_number("alpha value", alpha, alpha >= 0)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "centered": centered,
                "weight_decay": weight_decay,
                "capturable": capturable,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
            },
        )

    def _update(self, p: Tensor, group: Group) -> None:
        state = self.state[p]
        if not state:
            state["step"], state["square_avg"] = scalar(0), zeros_like(p)
            if group["momentum"] > 0:
                state["momentum_buffer"] = zeros_like(p)
            if group["centered"]:
                state["grad_avg"] = zeros_like(p)
        advance(state)
        array, g, alpha = p.array, gradient(p, group), float(group["alpha"])
        square = state["square_avg"].array
        square *= alpha
        square += (1 - alpha) * g * g
        if group["centered"]:
            mean = state["grad_avg"].array
            mean += (1 - alpha) * (g - mean)
            square = square - mean * mean
        change = g / (xp(g).sqrt(square) + float(group["eps"]))
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"].array
            buffer *= float(group["momentum"])
            buffer += change
            change = buffer
        array -= float(group["lr"]) * change
