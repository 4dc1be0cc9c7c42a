"""Optimisers that divide each number of the gradient by a measure of its size."""

from __future__ import annotations

from ...backend import xp
from ...backend.dtype import Array
from ...optim.optimizer import ZEROS, Optimizer, Params, Rate, State, Values, check, checked, parts, plain_options
from ...tensor import Tensor


class Adagrad(Optimizer):
    """θ ← θ - lr / (1 + (t - 1) lr_decay) · g / (√s + ε), where s is the sum of all g² so far (Duchi et al. 2011).

    It begins with ``initial_accumulator_value``.
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
        parts(state["sum"].array)[...] = options.initial_accumulator_value
        return state

    def share_memory(self) -> None:
        """PyTorch moves the state to shared memory; there is one process here."""

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        state.sum += grad * grad
        rate = options.lr / (1 + (state.step - 1) * options.lr_decay)
        param -= rate * grad / (xp(grad).sqrt(state.sum) + options.eps)


class Adadelta(Optimizer):
    """θ ← θ - lr · d, where d = g · √(u + ε) / √(v + ε); v and u are running means of g² and d² (Zeiler 2012).

    In the paper lr is 1. ``rho`` is how slowly the means forget, in [0, 1].
    """

    _state = {"step": 0, "square_avg": ZEROS, "acc_delta": ZEROS}

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
        check(0 <= rho <= 1, "rho value", rho)
        super().__init__(params, checked(locals(), "lr rho eps weight_decay maximize capturable"))

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        sqrt, rho, eps = xp(param).sqrt, options.rho, options.eps
        square_avg, acc_delta = state.square_avg, state.acc_delta
        square_avg *= rho
        square_avg += (1 - rho) * grad * grad
        change = sqrt(acc_delta + eps) / sqrt(square_avg + eps) * grad
        acc_delta *= rho
        acc_delta += (1 - rho) * change * change
        param -= options.lr * change


class RMSprop(Optimizer):
    """θ ← θ - lr · g / (√v + ε), where v ← α v + (1 - α) g² (Hinton 2012, lecture 6).

    Args:
        alpha: how slowly v forgets.
        momentum: steps along b ← momentum · b + g / (√v + ε) (Sutskever et al. 2013).
        centered: v less the square of the mean gradient (Graves 2013).
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
