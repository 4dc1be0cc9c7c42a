"""Adadelta (Zeiler 2012)."""

from __future__ import annotations

from ..backend import xp
from ..tensor import Tensor
from .optimizer import Group, Optimizer, Params, Rate, advance, check_number, check_rate, gradient, scalar, zeros_like


class Adadelta(Optimizer):
    """θ ← θ - lr · d, where d = g · √(u + ε) / √(v + ε); v and u are running means of g² and d².

    Args:
        params: see Optimizer. lr: a factor of the step, 1 in the paper.
        rho: how slowly the means forget. eps: keeps the division from 0, and the first steps from it.
        weight_decay: an L2 penalty. maximize: go up instead.
        foreach, capturable, differentiable: see Adam.

    Raises:
        ValueError: an option outside its range.
    """

    _counts = ("step",)

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
        check_rate(lr)
        check_number("rho value", rho, 0 <= rho <= 1)
        check_number("epsilon value", eps, eps >= 0)
        check_number("weight_decay value", weight_decay, weight_decay >= 0)
        super().__init__(
            params,
            {
                "lr": lr,
                "rho": rho,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "capturable": capturable,
                "foreach": foreach,
                "differentiable": differentiable,
            },
        )

    def _update(self, p: Tensor, group: Group) -> None:
        state = self.state[p]
        if not state:
            state["step"], state["square_avg"], state["acc_delta"] = scalar(0), zeros_like(p), zeros_like(p)
        advance(state)
        array, g, sqrt = p.array, gradient(p, group), xp(p.array).sqrt
        rho, eps = float(group["rho"]), float(group["eps"])
        square, steps = state["square_avg"].array, state["acc_delta"].array
        square *= rho
        square += (1 - rho) * g * g
        change = sqrt(steps + eps) / sqrt(square + eps) * g
        steps *= rho
        steps += (1 - rho) * change * change
        array -= float(group["lr"]) * change
