"""ASGD: gradient descent that also averages its path (Polyak and Juditsky 1992)."""

from __future__ import annotations

from ..tensor import Tensor
from .optimizer import Group, Optimizer, Params, Rate, advance, check_number, check_rate, gradient, scalar, zeros_like


class ASGD(Optimizer):
    """θ ← (1 - lambd η) θ - η g; the mean of the θ from step t0 on is ``state[p]["ax"]``.

    Args:
        params: see Optimizer. lr: the first η.
        lambd, alpha: η = lr / (1 + lambd · lr · t)^alpha. t0: where the mean begins.
        weight_decay: an L2 penalty. maximize: go up instead.
        foreach, differentiable, capturable: see Adam.

    Raises:
        ValueError: a negative rate or penalty.
    """

    _counts = ("step", "eta", "mu")

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_number("weight_decay value", weight_decay, weight_decay >= 0)
        super().__init__(
            params,
            {
                "lr": lr,
                "lambd": lambd,
                "alpha": alpha,
                "t0": t0,
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
            state["step"], state["eta"], state["mu"] = scalar(0), scalar(float(group["lr"])), scalar(1)
            state["ax"] = zeros_like(p)
        array, g, step = p.array, gradient(p, group), advance(state)
        lr, lambd, eta = float(group["lr"]), float(group["lambd"]), float(state["eta"].array)
        array *= 1 - lambd * eta
        array -= eta * g
        mean, mu = state["ax"].array, float(state["mu"].array)
        mean += mu * (array - mean)
        state["eta"].array[...] = scalar(lr / (1 + lambd * lr * step) ** float(group["alpha"])).item()
        state["mu"].array[...] = scalar(1 / max(1, step - float(group["t0"]))).item()
