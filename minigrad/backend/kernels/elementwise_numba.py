"""Functions of one array (exp, relu, sigmoid, silu, tanh, gelu), with loops for the result and the gradient."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..compiled.functions import exp, normal, normal_and_bell, sigmoid, tanh
from ..compiled.loops import FLOAT32, Flat, Loop, grain, in_memory_order, inline, laid, loop
from ..dtype import Array
from . import LEAST, Gradients, Needs

F = np.float32
_ROOT, _CUBE = F(math.sqrt(2 / math.pi)), F(0.044715)
_BELL = F(1 / math.sqrt(2 * math.pi))  # φ(0)


def _function(value: Callable[..., Any]) -> Loop:
    """The loop for y = value(x)."""

    def body(start: int, stop: int, x: Flat, y: Flat) -> None:
        x, y = x[start:stop], y[start:stop]
        for i in range(stop - start):
            y[i] = value(x[i])

    body.__name__ = f"{value.__name__}_of_each"
    return loop(body)


def _gradient(grad: Callable[..., Any]) -> Loop:
    """The loop for dx = grad(g, x), or grad(g, y)."""

    def body(start: int, stop: int, g: Flat, x: Flat, dx: Flat) -> None:
        g, x, dx = g[start:stop], x[start:stop], dx[start:stop]
        for i in range(stop - start):
            dx[i] = grad(g[i], x[i])

    body.__name__ = f"{grad.__name__}_of_each"
    return loop(body)


def _kernel(
    value: Callable[..., Any], grad: Callable[..., Any], from_result: bool = False, least: int = LEAST
) -> SimpleNamespace:
    """A kernel from two functions of float32: ``value`` of x, and ``grad`` of g and x (or, with ``from_result``, of g
    and y, which the op's rule must then name). Below ``least`` elements, NumPy's functions are faster."""
    function, gradient = _function(value), _gradient(grad)

    @in_memory_order
    def forward(needs: Needs, x: Array) -> Any:
        if type(x) is not np.ndarray or x.size < least or x.dtype != FLOAT32:
            return NotImplemented
        x, y = laid(x), np.empty(x.shape, FLOAT32)
        function(x.size, grain(x.size, 8), x, y)
        return y, y if from_result else None

    def backward(needs: Needs, y: Array | None, g: Array, x: Array | None) -> Gradients:
        of: Any = y if x is None else x
        g, of, dx = laid(g), laid(of), np.empty(g.shape, FLOAT32)
        gradient(g.size, grain(g.size, 12), g, of, dx)
        return (dx,)

    return SimpleNamespace(forward=forward, backward=backward)


@inline
def exp_grad(g: F, y: F) -> F:
    """g y"""
    return g * y


@inline
def relu(x: F) -> F:
    """max(x, 0), or NaN where x is NaN"""
    return F(0.0) if x <= F(0.0) else x


@inline
def relu_grad(g: F, y: F) -> F:
    """0 where y = 0, else g"""
    return F(0.0) if y == F(0.0) else g


@inline
def sigmoid_grad(g: F, x: F) -> F:
    """g σ(x) σ(-x) = g e / (1 + e)², e = e^-|x|"""
    e = exp(-abs(x))
    return g * (e / ((F(1.0) + e) * (F(1.0) + e)))


@inline
def silu(x: F) -> F:
    """x σ(x)"""
    return x * sigmoid(x)


@inline
def silu_grad(g: F, x: F) -> F:
    """g s (1 + x (1 - s)), s = σ(x)"""
    s = sigmoid(x)
    return g * (s * (F(1.0) + x * (F(1.0) - s)))


@inline
def tanh_grad(g: F, x: F) -> F:
    """g / cosh² x = g 4e / (1 + e)², e = e^-2|x|"""
    e = exp(F(-2.0) * abs(x))
    return g * (F(4.0) * e / ((F(1.0) + e) * (F(1.0) + e)))


@inline
def gelu(x: F) -> F:
    """x Φ(x)"""
    return x * normal(x)


@inline
def gelu_grad(g: F, x: F) -> F:
    """g (Φ(x) + x φ(x))"""
    share, bell = normal_and_bell(x)
    return g * (share + x * _BELL * bell)


@inline
def logistic(x: F, square: F) -> F:
    """(1 + tanh u) / 2, where u = √(2/π) (x + 0.044715 x³)"""
    return sigmoid(F(2.0) * _ROOT * x * (F(1.0) + _CUBE * square))


@inline
def gelu_by_tanh(x: F) -> F:
    """x h, where h = (1 + tanh u) / 2"""
    return x * logistic(x, x * x)


@inline
def gelu_by_tanh_grad(g: F, x: F) -> F:
    """g (h + 2 x h (1 - h) u')"""
    c = F(100.0) if x > F(100.0) else x  # 1 - h is 0 there, and infinity times 0 is NaN
    c = F(-100.0) if c < F(-100.0) else c
    square = c * c
    h = logistic(c, square)
    return g * (h + F(2.0) * c * h * (F(1.0) - h) * _ROOT * (F(1.0) + F(3.0) * _CUBE * square))


class Gelu:
    """The ``gelu`` kernel, exact or by tanh. The gradient is computed from x, so nothing else is saved."""

    kinds = {"none": _kernel(gelu, gelu_grad, least=1), "tanh": _kernel(gelu_by_tanh, gelu_by_tanh_grad, least=1)}

    def forward(self, needs: Needs, x: Array, approximate: str) -> Any:
        return self.kinds[approximate].forward(needs, x)

    def backward(self, needs: Needs, saved: None, g: Array, x: Array, approximate: str) -> Gradients:
        return *self.kinds[approximate].backward(needs, None, g, x), None


KERNELS = {
    "exp": _kernel(exp, exp_grad, from_result=True),
    "gelu": Gelu(),
    "relu": _kernel(relu, relu_grad, from_result=True),
    "sigmoid": _kernel(sigmoid, sigmoid_grad),
    "silu": _kernel(silu, silu_grad),
    "tanh": _kernel(tanh, tanh_grad),
}
