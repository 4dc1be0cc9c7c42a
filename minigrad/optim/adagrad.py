"""Adagrad (Duchi et al. 2011)."""

from __future__ import annotations

from ..backend import xp
from ..backend.dtype import Array
from ..tensor import Tensor
from .optimizer import ZEROS, Optimizer, Params, Rate, State, Values, checked, plain_options


class Adagrad(Optimizer):
    """θ ← θ - lr / (1 + (t - 1) lr_decay) · g / (√s + ε), where s is the sum of all g² so far.

    Args:
        lr_decay: as above. initial_accumulator_value: what s starts with.
        params, lr, eps, weight_decay, maximize and the rest: see Optimizer.
    """

    _state = {"step": 0, "sum": ZEROS}

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
        super().__init__(params, checked(locals(), "lr lr_decay eps"))
        for group in self.param_groups:  # as in PyTorch, the state is there from the beginning
            for p in group["params"]:
                self.state[p] = self._start(p, plain_options(group))

    def _start(self, p: Tensor, options: Values) -> State:
        state = super()._start(p, options)
        state["sum"].array[...] = options.initial_accumulator_value
        return state

    def share_memory(self) -> None:
        """PyTorch moves the state to shared memory; there is one process here."""

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        state.sum += grad * grad
        rate = options.lr / (1 + (state.step - 1) * options.lr_decay)
        param -= rate * grad / (xp(grad).sqrt(state.sum) + options.eps)
