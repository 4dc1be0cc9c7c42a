"""Relatives of SGD."""

from __future__ import annotations

from ...backend import xp
from ...backend.dtype import Array
from ...optim.optimizer import ZEROS, Optimizer, Params, Rate, Values, check, checked, scalar


class ASGD(Optimizer):
    """θ ← (1 - lambd η) θ - η g; the mean of the θ from step t0 on is ``state[p]["ax"]`` (Polyak and Juditsky 1992).

    Args:
        lr: the first η. lambd, alpha: η = lr / (1 + lambd · lr · t)^alpha. t0: where the mean begins.
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


class Rprop(Optimizer):
    """Resilient backpropagation (Riedmiller and Braun 1993): only the sign of a gradient counts.

    Each number has a step size of its own. Where the sign is the last one's, the size grows; where it has changed, it
    shrinks, and this step is left out.

    Args:
        lr: the first size. step_sizes: the bounds of sizes.
        etas: the factors by which a size shrinks and grows, 0 < shrink < 1 < grow.
    """

    _state = {"step": 0, "prev": ZEROS, "step_size": ZEROS}

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
        check(0 < etas[0] < 1 < etas[1], "eta values", f"{etas[0]}, {etas[1]}")
        super().__init__(params, checked(locals(), "lr etas step_sizes foreach maximize differentiable"))

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        lib, (shrink, grow), step_size = xp(param), options.etas, state.step_size
        if state.step == 1:
            step_size[...] = options.lr
        agree = grad * state.prev
        step_size *= lib.where(agree > 0, grow, lib.where(agree < 0, shrink, 1.0)).astype(step_size.dtype)
        lib.clip(step_size, *options.step_sizes, out=step_size)
        grad = lib.where(agree < 0, 0 * grad, grad)
        param -= lib.sign(grad) * step_size
        state.prev[...] = grad
