"""Optimisers that divide each number of the gradient by a measure of its size."""

from __future__ import annotations

import math

from ...autograd.tape import wrap
from ...backend import xp
from ...backend.dtype import Array
from ...optim.optimizer import ZEROS, Optimizer, Params, Rate, State, Values, arguments, check, checked, parts, scalar
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
                self.state[p] = self._start(p, Values(**group))

    def _start(self, p: Tensor, options: Values) -> State:
        state = super()._start(p, options)
        parts(state["sum"].array)[...] = options.initial_accumulator_value
        return state

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


class Adafactor(Optimizer):
    """Squared gradients of a matrix, remembered by its rows and columns alone (Shazeer and Stern 2018).

    θ ← θ - α u / max(1, rms(u) / d), with u = g / √v and α = max(ε₂, rms(θ)) · min(lr, 1 / √t).

    v is a running mean of g², whose weight of the new one is t^beta2_decay. Of a matrix, and of the last two axes of
    any tensor, it is r c / mean(r): r and c are running means of the rows' and the columns' means of g². So a matrix
    (M, N) has a state of M + N numbers. A weight decay is that of AdamW.

    Args:
        eps: (ε₁, ε₂). ε₁ is the least √v, and the least mean of r; the dtype's machine epsilon if None.
        d: the rms of u from which on it is scaled down.

    Raises ValueError: an option outside its range. RuntimeError: complex parameters.
    """

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        options = arguments(locals())
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for label, fits, value in (
            ("Learning rate should be >= 0", lr >= 0, lr),
            ("beta2_decay should be <= 0", beta2_decay <= 0, beta2_decay),
            ("epsilon1 should be >= 0", eps[0] is None or eps[0] >= 0, eps[0]),
            ("epsilon2 should be >= 0", eps[1] >= 0, eps[1]),
            ("Clipping threshold d should be >= 1", d >= 1, d),
            ("weight_decay should be >= 0", weight_decay >= 0, weight_decay),
        ):
            if not fits:
                raise ValueError(f"{label} but is: {value}")
        super().__init__(params, options)

    def _start(self, p: Tensor, options: Values) -> State:
        shape = p.array.shape
        shapes = {"variance": shape}
        if len(shape) > 1:
            shapes = {"row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, shape[-1])}
        zeros = {name: wrap(xp(p.array).zeros(part, p.array.dtype)) for name, part in shapes.items()}
        return {"step": scalar(0), **zeros}

    def _rule_state(self, p: Tensor, options: Values, names: list[str]) -> Values:
        return super()._rule_state(p, options, [name for name in self._begun(p, options) if name != "step"])

    def _gradient(self, p: Tensor, options: Values) -> Array:
        """The gradient, or its opposite; the weight decays in the rule."""
        if p.array.dtype.kind == "c":
            raise RuntimeError("Adafactor does not support complex parameters")
        grad: Array = -p._grad.array if options.maximize else p._grad.array
        return grad

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        least = float(xp(param).finfo(param.dtype).eps) if options.eps[0] is None else options.eps[0]
        new = state.step**options.beta2_decay
        rate = max(options.eps[1], _rms(param)) * min(options.lr, 1 / math.sqrt(state.step))
        if options.weight_decay:
            param *= 1 - options.lr * options.weight_decay
        squares = grad * grad
        if grad.ndim < 2:
            state.variance += new * (squares - state.variance)
            variance = state.variance
        else:
            state.row_var += new * (squares.mean(axis=-1, keepdims=True) - state.row_var)
            state.col_var += new * (squares.mean(axis=-2, keepdims=True) - state.col_var)
            means = state.row_var.mean(axis=-2, keepdims=True)
            variance = state.row_var * state.col_var / xp(param).maximum(means, least)
        update = grad / xp(param).sqrt(xp(param).maximum(variance, least * least))
        param -= rate / max(1.0, _rms(update) / options.d) * update


def _rms(x: Array) -> float:
    return math.sqrt(float((x * x).sum()) / max(x.size, 1))
