"""Activations, and softmax with its relatives."""

from __future__ import annotations

import warnings
from typing import Any

from ...autograd.tape import apply, mutate
from ...functions import pointwise
from ...functions.arguments import axis
from ...functions.creation import rand
from ...ops import elementwise as e
from ...ops.op import Op
from ...tensor import Tensor

tanh, sigmoid, gelu = pointwise.tanh, pointwise.sigmoid, pointwise.gelu


def _activate(op: Op, input: Tensor, inplace: bool, *attributes: Any) -> Tensor:
    """An op on a tensor, or in its place."""
    args = (input, *attributes)
    return mutate(input, op, args) if inplace else apply(op, args)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0), elementwise."""
    return _activate(e.relu, input, inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x σ(x), elementwise (Elfwing et al. 2017; "swish")."""
    return _activate(e.silu, input, inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x for x > 0, else α (eˣ - 1), elementwise (Clevert et al. 2015)."""
    return _activate(e.elu, input, inplace, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x for x > 0, else negative_slope · x, elementwise."""
    return _activate(e.leaky_relu, input, inplace, negative_slope)


def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """ln(1 + eᵝˣ) / β, elementwise; x itself where βx is above the threshold."""
    return _activate(e.softplus, input, False, float(beta), float(threshold))


def logsigmoid(input: Tensor) -> Tensor:
    """ln σ(x), elementwise."""
    return _activate(e.logsigmoid, input, False)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """a σ(b), a and b being the halves of an axis (Dauphin et al. 2016).

    Raises:
        RuntimeError: the axis has an odd length.
    """
    length = input.array.shape[axis(dim, input.array.ndim)]
    if length % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {length}")
    a, b = input.chunk(2, dim)
    out: Tensor = a * b.sigmoid()
    return out


def _softmax_axis(name: str, ndim: int, dim: int | None) -> int:
    """The axis; where it was left out, PyTorch's choice, with PyTorch's warning."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X.",
        stacklevel=3,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """eˣ / Σ eˣ along ``dim``, computed in ``dtype`` if one is given; an axis all of -inf gives zeros."""
    return pointwise.softmax(input, _softmax_axis("softmax", input.array.ndim, dim), dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax of -x."""
    return pointwise.softmax(-input, _softmax_axis("softmin", input.array.ndim, dim), dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """ln softmax along ``dim``, computed in ``dtype`` if one is given."""
    return pointwise.log_softmax(input, _softmax_axis("log_softmax", input.array.ndim, dim), dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample from the categorical distribution of ``logits`` that gradients flow through (Jang et al.
    2016).

    Args:
        tau: the temperature. hard: a one-hot sample, with the soft one's gradient.
    """
    uniform = rand(logits.shape, dtype="float64")
    noise = -(-(-uniform).log1p()).log()  # Gumbel(0, 1), from an exponential number
    soft = pointwise.softmax((logits + noise.to(logits)) / tau, dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim, keepdim=True)
    sample = soft.detach().mul(0.0).scatter(dim, index, 1.0)
    out: Tensor = sample - soft.detach() + soft
    return out
