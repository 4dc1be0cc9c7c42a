"""Adagrad (Duchi et al. 2011)."""

from __future__ import annotations

from ..backend import xp
from ..tensor import Tensor
from .optimizer import Group, Optimizer, Params, Rate, advance, check_number, check_rate, gradient, scalar, zeros_like


class Adagrad(Optimizer):
    """θ ← θ - lr / (1 + (t - 1) lr_decay) · g / (√s + ε), where s is the sum of all g² so far.

    Args:
        params: see Optimizer. lr, lr_decay: as above.
        weight_decay: an L2 penalty. maximize: go up instead.
        initial_accumulator_value: what s starts with. eps: keeps the division from 0.
        foreach, differentiable, fused: see Adam.

    Raises:
        ValueError: a negative option.
    """

    _counts = ("step",)

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_number("lr_decay value", lr_decay, lr_decay >= 0)
        check_number("weight_decay value", weight_decay, weight_decay >= 0)
        check_number("initial_accumulator_value value", initial_accumulator_value, initial_accumulator_value >= 0)
        check_number("epsilon value", eps, eps >= 0)
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "eps": eps,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "fused": fused,
            },
        )
        for group in self.param_groups:
            for p in group["params"]:
                self._start(p, group)

    def _start(self, p: Tensor, group: Group) -> None:
        """The state is there from the beginning, as in PyTorch."""
        state = self.state[p]
        state["step"], state["sum"] = scalar(0), zeros_like(p)
        state["sum"].array[...] = group["initial_accumulator_value"]

    def share_memory(self) -> None:
        """PyTorch moves the state to shared memory; there is one process here."""

    def _update(self, p: Tensor, group: Group) -> None:
        if not self.state[p]:  # of a group that was added later
            self._start(p, group)
        array, g, total = p.array, gradient(p, group), self.state[p]["sum"].array
        step = advance(self.state[p])
        total += g * g
        rate = float(group["lr"]) / (1 + (step - 1) * float(group["lr_decay"]))
        array -= rate * g / (xp(g).sqrt(total) + float(group["eps"]))
