"""RMSprop (Hinton 2012, lecture 6)."""

from __future__ import annotations

from ..backend import xp
from ..backend.dtype import Array
from .optimizer import ZEROS, Optimizer, Params, Rate, Values, check, checked


class RMSprop(Optimizer):
    """θ ← θ - lr · g / (√v + ε), where v ← α v + (1 - α) g².

    Args:
        alpha: how slowly v forgets.
        momentum: steps along b ← momentum · b + g / (√v + ε) (Sutskever et al. 2013).
        centered: v less the square of the mean gradient (Graves 2013).
        params, lr, eps, weight_decay, maximize and the rest: see Optimizer.
    """

    _state = {"step": 0, "square_avg": ZEROS, "momentum_buffer": "momentum", "grad_avg": "centered"}

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
        defaults = checked(locals(), "lr momentum alpha eps centered")
        check(alpha >= 0, "alpha value", alpha)
        super().__init__(params, defaults)

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        alpha, square_avg = options.alpha, state.square_avg
        square_avg *= alpha
        square_avg += (1 - alpha) * grad * grad
        if options.centered:
            state.grad_avg += (1 - alpha) * (grad - state.grad_avg)
            square_avg = square_avg - state.grad_avg * state.grad_avg
        change = grad / (xp(grad).sqrt(square_avg) + options.eps)
        if options.momentum:
            state.momentum_buffer *= options.momentum
            state.momentum_buffer += change
            change = state.momentum_buffer
        param -= options.lr * change
