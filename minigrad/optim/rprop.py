"""Rprop: resilient backpropagation (Riedmiller and Braun 1993)."""

from __future__ import annotations

from ..backend import xp
from ..tensor import Tensor
from .optimizer import Group, Optimizer, Params, Rate, advance, check_number, check_rate, scalar, zeros_like


class Rprop(Optimizer):
    """Each number has a step size of its own, and only the sign of its gradient counts.

    Where the sign is the last one's, the size grows; where it has changed, it shrinks, and this step is left
    out.

    Args:
        params: see Optimizer. lr: the first size.
        etas: the factors by which a size shrinks and grows. step_sizes: its bounds.
        capturable, foreach, differentiable: see Adam. maximize: go up instead.

    Raises:
        ValueError: a negative rate, or factors that are not 0 < shrink < 1 < grow.
    """

    _counts = ("step",)

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_number("eta values", f"{etas[0]}, {etas[1]}", 0 < etas[0] < 1 < etas[1])
        super().__init__(
            params,
            {
                "lr": lr,
                "etas": etas,
                "step_sizes": step_sizes,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _update(self, p: Tensor, group: Group) -> None:
        state = self.state[p]
        if not state:
            state["step"], state["prev"], state["step_size"] = scalar(0), zeros_like(p), zeros_like(p)
            state["step_size"].array[...] = float(group["lr"])
        advance(state)
        array, g, lib = p.array, p._grad.array, xp(p.array)
        g = -g if group["maximize"] else g
        shrink, grow = group["etas"]
        last, size = state["prev"].array, state["step_size"].array
        agree = g * last
        size *= lib.where(agree > 0, grow, lib.where(agree < 0, shrink, 1.0)).astype(size.dtype)
        lib.clip(size, *group["step_sizes"], out=size)
        g = lib.where(agree < 0, 0 * g, g)
        array -= lib.sign(g) * size
        last[...] = g
