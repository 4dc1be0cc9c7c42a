"""ASGD: gradient descent that also averages its path (Polyak and Juditsky 1992)."""

from __future__ import annotations

from ..backend.dtype import Array
from .optimizer import ZEROS, Optimizer, Params, Rate, Values, checked, scalar


class ASGD(Optimizer):
    """θ ← (1 - lambd η) θ - η g; the mean of the θ from step t0 on is ``state[p]["ax"]``.

    Args:
        lr: the first η. lambd, alpha: η = lr / (1 + lambd · lr · t)^alpha. t0: where the mean begins.
        params, weight_decay, maximize and the rest: see Optimizer.
    """

    _state = {"step": 0, "eta": 0, "mu": 1, "ax": ZEROS}

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
        super().__init__(params, checked(locals()))

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        lr, lambd, step = options.lr, options.lambd, state.step
        if step == 1:
            state.eta.fill(lr)
        eta = float(state.eta)
        param *= 1 - lambd * eta
        param -= eta * grad
        state.ax += float(state.mu) * (param - state.ax)
        state.eta.fill(scalar(lr / (1 + lambd * lr * step) ** options.alpha).item())
        state.mu.fill(scalar(1 / max(1, step - options.t0)).item())
