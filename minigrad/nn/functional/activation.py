"""Activations, the softmax family, and dropout."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...autograd.observer import announced
from ...autograd.tracebacks import warn
from ...backend import of, random
from ...functions import pointwise
from ...functions.arguments import axis, rounded_once
from ...functions.define import in_place, spelled
from ...functions.random import rand
from ...ops import activation as a, elementwise as e
from ...ops.activation import dropout as op, relu_dropout as relu_op
from ...ops.op import Op
from ...tensor import Tensor, apply, wrap
from ._checks import applied, probability, same_dtype

__all__ = ["alpha_dropout", "celu", "celu_", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "elu_"]
__all__ += ["feature_alpha_dropout", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish"]
__all__ += ["hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu"]
__all__ += ["relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus"]
__all__ += ["softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_"]

tanh, sigmoid, gelu = pointwise.tanh, pointwise.sigmoid, pointwise.gelu


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0), elementwise.

    >>> F.relu(mg.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return applied(e.relu, input, True) if inplace else apply(e.relu, (input,))


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x σ(x), elementwise (Elfwing et al. 2017; "swish").

    >>> F.silu(mg.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7311])
    """
    return applied(e.silu, input, True) if inplace else apply(e.silu, (input,))


def _of_op(name: str, op: Op, doc: str, *attributes: float) -> Callable[..., Tensor]:
    """An activation that applies an op; its only option is ``inplace``."""

    def activation(input: Tensor, inplace: bool = False) -> Tensor:
        return applied(op, input, inplace, *attributes)

    activation.__name__ = activation.__qualname__ = name
    activation.__doc__ = f"{doc}."
    return activation


# SELU's constants preserve mean 0 and variance 1.
_SELU = (1.6732632423543772, 1.0507009873554805, 1.0)
_SELU_IS = "1.0507 · (x for x > 0, else 1.6733 (eˣ - 1)), elementwise (Klambauer et al. 2017)"
selu = _of_op("selu", a.scaled_elu, _SELU_IS, *_SELU)
mish = _of_op("mish", a.mish, "x tanh ln(1 + eˣ), elementwise (Misra 2019)")
relu6 = _of_op("relu6", a.hardtanh, "x clamped to [0, 6], elementwise (Krizhevsky 2010)", 0, 6)
hardsigmoid = _of_op("hardsigmoid", a.hardsigmoid, "x/6 + 1/2 within [0, 1], elementwise (Courbariaux et al. 2015)")
hardswish = _of_op("hardswish", a.hardswish, "x hardsigmoid(x), elementwise (Howard et al. 2019)")


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x for x > 0, else α (eˣ - 1), elementwise (Clevert et al. 2015)."""
    return applied(e.elu, input, inplace, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x for x > 0, else negative_slope · x, elementwise."""
    return applied(e.leaky_relu, input, inplace, negative_slope)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x for x > 0, else α (exp(x / α) - 1), elementwise (Barron 2017). α must not be 0."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return applied(a.scaled_elu, input, inplace, alpha, 1.0, 1 / alpha)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x clamped to [min_val, max_val], elementwise; min_val must not exceed max_val. Integer inputs stay integers."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    kind = input.array.dtype.kind
    if kind == "b" or (kind == "u" and min_val < 0):
        problem = "bools" if kind == "b" else f"{input.dtype} and a negative limit, {min_val}"
        raise RuntimeError(f"hardtanh: not implemented for {problem}: convert the input with .float()")
    if kind in "iu":
        min_val, max_val = int(min_val), int(max_val)
    return applied(a.hardtanh, input, inplace, min_val, max_val)


@spelled
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 where |x| <= λ, else x, elementwise."""
    return applied(a.hardshrink, input, False, lambd)


@spelled
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 where |x| <= λ, else x - λ sign x, elementwise. λ must not be negative."""
    if lambd < 0:
        raise RuntimeError(f"softshrink: lambda must not be negative, but found {lambd}")
    return applied(a.softshrink, input, False, lambd)


@rounded_once
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh x, elementwise."""
    return input - tanh(input)


@rounded_once
def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|), elementwise."""
    return input / (input.abs() + 1)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where x > threshold, else ``value``, elementwise."""
    return applied(a.threshold, input, inplace, threshold, value)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x for x > 0, else weight · x, elementwise (He et al. 2015). ``input``: (N, C, ...), (N) or (). ``weight``: one
    slope per channel, (C), or a single slope, (1) or (). Raises RuntimeError if shapes or dtypes do not match."""
    same_dtype("prelu", input, weight=weight)
    if weight.array.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: {weight.ndim = }")
    ndim, count = input.array.ndim, weight.array.size
    if count == 1:
        return apply(a.prelu, (input, weight.reshape(())))
    channels = input.array.shape[1] if ndim > 1 else 1
    if not ndim or count != channels:
        problem = f"Found parameter numbers = {count} and channel size = {channels}."
        raise RuntimeError(f"prelu: Mismatch of parameter numbers and input channel size. {problem}")
    return apply(a.prelu, (input, weight.reshape(count, *(1,) * (ndim - 2))))  # (C) -> (C, 1, ...)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """x for x > 0, else r · x, elementwise (Xu et al. 2015). In training, r is drawn uniformly from [lower, upper) for
    each element; otherwise it is their mean. Raises RuntimeError if lower > upper."""
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    backend = of(input.array)
    negative = backend.to_numpy(input.array) <= 0
    slopes = np.ones(negative.shape, input.array.dtype)
    uniform = random.default_generator.uniform((int(negative.sum()),), np.float64)
    slopes[negative] = uniform * (upper - lower) + lower
    return applied(e.mul, input, inplace, wrap(backend.asarray(slopes, backend.device_of(input.array))))


def _in_place(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return in_place(lambda input, *args, **kwargs: function(input, *args, **kwargs, inplace=True), function)


relu_, elu_, selu_, celu_ = _in_place(relu), _in_place(elu), _in_place(selu), _in_place(celu)
leaky_relu_, hardtanh_ = _in_place(leaky_relu), _in_place(hardtanh)
threshold_, rrelu_ = _in_place(threshold), _in_place(rrelu)


@spelled
def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """ln(1 + eᵝˣ) / β, elementwise, or x itself where βx is above the threshold."""
    return applied(e.softplus, input, False, float(beta), float(threshold))


@spelled
def logsigmoid(input: Tensor) -> Tensor:
    """ln σ(x), elementwise."""
    return applied(e.logsigmoid, input, False)


@rounded_once
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """a σ(b), where a and b are the halves of an axis (Dauphin et al. 2016). Raises RuntimeError for an odd length."""
    length = input.array.shape[axis(dim, input.array.ndim)]
    if length % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {length}")
    value, gate = input.split((length // 2, length // 2), dim)
    return value * gate.sigmoid()


def _softmax_axis(name: str, ndim: int, dim: int | None) -> int:
    """The axis. If ``dim`` is None, warn and choose the axis as PyTorch does."""
    if dim is not None:
        return dim
    warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X.")
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """eˣ / Σ eˣ along ``dim``, computed in ``dtype`` if given. A row that is all -inf yields zeros.

    >>> F.softmax(mg.zeros(2, 2), dim=-1)
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]])
    """
    return pointwise.softmax(input, _softmax_axis("softmax", input.array.ndim, dim), dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax of -x."""
    return pointwise.softmax(-input, _softmax_axis("softmin", input.array.ndim, dim), dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """ln softmax along ``dim``, computed in ``dtype`` if given.

    >>> F.log_softmax(mg.zeros(2), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return pointwise.log_softmax(input, _softmax_axis("log_softmax", input.array.ndim, dim), dtype)


@rounded_once
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A differentiable sample from the categorical distribution of ``logits`` (Jang et al. 2016). ``tau``: the
    temperature. ``hard``: return a one-hot sample with the soft sample's gradient."""
    uniform = rand(logits.shape, dtype="float64")
    noise = -(-(-uniform).log1p()).log()  # Gumbel(0, 1), drawn through the exponential distribution
    soft = pointwise.softmax((logits + noise.to(logits)) / tau, dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim, keepdim=True)
    sample = soft.detach().mul(0.0).scatter(dim, index, 1.0)
    return sample - soft.detach() + soft


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zero each element with probability ``p`` and scale the others by 1 / (1 - p) (Srivastava et al.
    2014). Raises ValueError if ``p`` is outside [0, 1]."""
    probability("dropout", p)
    if not training or p == 0.0:
        return input
    return applied(op, input, inplace, keep_mask(input, None, p), _scale(input, p))


def relu_dropout(input: Tensor, p: float) -> Tensor:
    """``dropout(relu(input), p)`` in training, fused into one pass; the backward pass needs only the result."""
    return apply(relu_op, (input, keep_mask(input, None, p), _scale(input, p)))


def _scale(input: Tensor, p: float) -> float:
    """1 / (1 - p), or 0 if p is 1, rounded to the dtype of a 16-bit input as in PyTorch's CPU kernel."""
    array, scale = input.array, 0.0 if p == 1 else 1 / (1 - p)
    rounds = array.itemsize == 2 and random.follows_pytorch(input.device)
    return float(array.dtype.type(np.float32(scale))) if rounds else scale


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Channel-wise ``dropout`` for an input (N, C, L) or (C, L) (Tompson et al. 2015). Raises ValueError if ``p`` is
    outside [0, 1], and RuntimeError if the input has the wrong number of axes."""
    ndim = input.array.ndim
    if ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input: (N, C, L) or (C, L)")
    return channels(input, p, training, inplace, batched=ndim == 3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Channel-wise ``dropout`` for an input (N, C, H, W). An input with three axes is interpreted as (N, C, L)."""
    _warn_of_axes("dropout2d", input, (3, 4))
    if input.array.ndim == 3:
        remedy = "To drop channels of (C, H, W), add a batch axis; for (N, C, L), use dropout1d."
        warn(f"dropout2d: Received a 3D input, which is interpreted as (N, C, L), as in PyTorch. {remedy}")
    return channels(input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Channel-wise ``dropout`` for an input (N, C, D, H, W) or (C, D, H, W)."""
    _warn_of_axes("dropout3d", input, (4, 5))
    return channels(input, p, training, inplace, batched=input.array.ndim != 4)


def _warn_of_axes(name: str, input: Tensor, usual: tuple[int, int]) -> None:
    ndim = input.array.ndim
    if ndim not in usual:
        rule = f"{name} expects {usual[0]} or {usual[1]} axes. To drop individual elements, use dropout."
        warn(f"{name}: Received a {ndim}-D input, which PyTorch deprecates: {rule}")


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that preserves the zero mean and unit variance of SELU activations (Klambauer et al. 2017): it sets
    dropped elements to SELU's infimum, then applies an affine map. Raises ValueError if ``p`` is outside [0, 1]."""
    return _alpha(input, p, training, inplace)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Channel-wise ``alpha_dropout`` for an input (N, C, ...)."""
    return _alpha(input, p, training, inplace, lead=2)


def channels(input: Tensor, p: float, training: bool, inplace: bool, batched: bool = True) -> Tensor:
    """Channel-wise ``dropout`` of each sample."""
    keep = _mask(input, p, training, lead=2 if batched else 1)
    return input if keep is None else applied(op, input, inplace, keep, _scale(input, p))


def _mask(input: Tensor, p: float, training: bool, lead: int | None = None) -> Any:
    """A bool for each element, or for each index into the first ``lead`` axes, or None if nothing is dropped."""
    probability("dropout", p)
    if not training or p == 0.0 or not input.array.size:
        return None
    if lead is None:
        keep = keep_mask(input, None, p)
    elif input.array.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    else:
        keep = keep_mask(input, (*input.array.shape[:lead], *(1,) * (input.array.ndim - lead)), p)
    return keep.array() if isinstance(keep, random.Draw) else keep


def _alpha(input: Tensor, p: float, training: bool, inplace: bool, lead: int | None = None) -> Tensor:
    keep = _mask(input, p, training, lead)
    if keep is None:
        return input
    least = 1.7580993408473766  # SELU's infimum is minus this product of scale and alpha
    slope = 0.0 if p == 1 else 1 / math.sqrt((least * least * p + 1) * (1 - p))
    dropped = wrap(~keep * input.array.dtype.type(-least * slope))
    return applied(op, input, inplace, keep, slope).add_(dropped + least * slope * p)


@announced
def keep_mask(like: Tensor, shape: tuple[int, ...] | None, p: float) -> Any:
    """A dropout mask on a tensor's device, whose bools are False with probability ``p``. If ``shape`` is None, the mask
    has the tensor's shape, and PyTorch draws it in memory order instead of index order."""
    array, backend = like.array, of(like.array)
    where = backend.device_of(array)
    in_order = shape is not None or array.flags.c_contiguous
    shape = array.shape if shape is None else shape
    if random.follows_pytorch(where):
        return backend.asarray(random.pytorch_keep_mask(shape, p, None if in_order else array), where)
    return backend.keep_mask(shape, p, where)
