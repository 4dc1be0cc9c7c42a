"""Adafactor (Shazeer and Stern 2018): squared gradients of a matrix remembered by its rows and columns alone."""

from __future__ import annotations

import math

from ...autograd.tape import wrap
from ...backend import xp
from ...backend.dtype import Array
from ...optim.optimizer import Optimizer, Params, Rate, State, Values, arguments, scalar, zeros_like
from ...tensor import Tensor


class Adafactor(Optimizer):
    """θ ← θ - α u / max(1, rms(u) / d), with u = g / √v and α = max(ε₂, rms(θ)) · min(lr, 1 / √t).

    v is a running mean of g², whose weight of the new one is t^beta2_decay. Of a matrix, and of the last two axes of
    any tensor, it is r c / mean(r): r and c are running means of the rows' and the columns' means of g². So a matrix
    (M, N) has a state of M + N numbers. A weight decay is that of AdamW.

    Args:
        eps: (ε₁, ε₂). ε₁ is the least √v, and the least mean of r; the dtype's machine epsilon if None.
        d: the rms of u from which on it is scaled down.

    Raises:
        ValueError: an option outside its range. RuntimeError: complex parameters.
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
        if len(shape) < 2:
            return {"step": scalar(0), "variance": zeros_like(p)}
        parts = {"row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, shape[-1])}
        zeros = {name: wrap(xp(p.array).zeros(part, p.array.dtype)) for name, part in parts.items()}
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
    """√ of the mean of x²."""
    return math.sqrt(float((x * x).sum()) / max(x.size, 1))
