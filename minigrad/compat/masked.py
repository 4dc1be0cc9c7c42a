"""``torch.masked``: functions over the elements where a mask is True. Other elements do not affect the result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..autograd.tracebacks import border_functions
from ..backend.dtype import get_default_dtype, kind_of
from ..functions import pointwise, reduction
from ..functions.arguments import Dims, axes, common_shape, in_float32
from ..functions.define import named
from ..functions.indexing import extreme
from ..tensor import Tensor
from . import linalg
from .functions import statistics

__all__ = ["amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean"]
__all__ += ["median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var"]

Mask = Tensor | None


def _filled(input: Tensor, mask: Mask, value: Any) -> Tensor:
    return input if mask is None else pointwise.where(_spread(input, mask), input, value)


def _spread(input: Tensor, mask: Tensor) -> Tensor:
    """The mask, expanded to the input's shape. Raises ValueError if the mask has more or longer axes."""
    shape = input.array.shape
    if mask.array.ndim > input.array.ndim or common_shape(mask.array.shape, shape) != shape:
        raise ValueError(f"mask of shape {list(mask.shape)} does not broadcast to the input's shape {list(shape)}")
    return mask.bool().expand(shape)


def _as(result: Tensor, dtype: Any, input: Tensor) -> Tensor:
    return result.to(input.dtype if dtype is None else dtype)


def sum(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Mask = None) -> Tensor:
    """Σ over ``dim``; 0 where the mask selects nothing."""
    return reduction.sum(_filled(input, mask, 0), dim, keepdim, dtype=dtype)


def prod(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Mask = None) -> Tensor:
    """Π over ``dim`` (one axis, several or all); 1 where the mask selects nothing."""
    result = _filled(input, mask, 1)
    places = axes(dim, input.array.ndim)
    if places is None:
        result = reduction.prod(result, dtype=dtype)
        return result.reshape((1,) * input.array.ndim) if keepdim else result
    for place in sorted((places,) if isinstance(places, int) else places, reverse=True):
        result = reduction.prod(result, place, keepdim, dtype=dtype)
    return result


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Mask = None) -> Tensor:
    """Running sums along ``dim``, in the input's dtype."""
    return _as(reduction.cumsum(_filled(input, mask, 0), dim), dtype, input)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Mask = None) -> Tensor:
    """Running products along ``dim``, in the input's dtype."""
    return _as(reduction.cumprod(_filled(input, mask, 1), dim), dtype, input)


def _over(function: Callable[..., Tensor], outside: Callable[[Tensor], Any], doc: str) -> Callable[..., Tensor]:
    """A function over ``dim`` of the masked-in elements. ``outside`` returns the value for all other elements."""

    def over(input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Mask = None) -> Tensor:
        return _as(function(_filled(input, mask, outside(input)), dim, keepdim), dtype, input)

    return named(over, function.__name__, doc)


def _least(x: Tensor) -> Any:
    """The smallest number in a tensor's dtype; -inf for complex dtypes."""
    return -math.inf if x.array.dtype.kind == "c" else extreme(x, "min")


_greatest = lambda x: extreme(x, "max")
amax = _over(reduction.amax, _least, "The maximum over ``dim``; the dtype's smallest value where the mask is empty.")
amin = _over(reduction.amin, _greatest, "The minimum over ``dim``; the dtype's largest value where the mask is empty.")
argmax = _over(reduction.argmax, _least, "The index of the maximum along ``dim``, in the input's dtype.")
argmin = _over(reduction.argmin, _greatest, "The index of the minimum along ``dim``, in the input's dtype.")
logsumexp = _over(reduction.logsumexp, _least, "ln Σ eˣ over ``dim``; -inf where the mask is empty.")


def mean(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Mask = None) -> Tensor:
    """The mean over ``dim``; NaN where the mask selects nothing. Raises ValueError for integers without a ``dtype``."""
    if kind_of(input.array) not in "fc" and dtype is None:
        raise ValueError(f"mean(): could not infer output dtype from {input.dtype}: pass dtype=")
    total = sum(in_float32(input), dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return _as(total / _count(input, dim, keepdim, mask), dtype, input)


def _count(input: Tensor, dim: Dims, keepdim: bool, mask: Mask) -> Tensor:
    counted = pointwise.eq(input.detach(), input.detach()) | True if mask is None else _spread(input, mask)
    return reduction.sum(counted, dim, keepdim)


def median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Mask = None) -> Tensor:
    """The lower median along ``dim``, ignoring NaN. Where no element is left, it is NaN; integers raise ValueError."""
    floats = input if input.is_floating_point() else input.float()
    result = statistics.nanmedian(_filled(floats, mask, math.nan), dim, keepdim).values
    if floats is input:
        return result
    if bool(result.isnan().any()):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return _as(result, dtype, input)


def logaddexp(
    input: Tensor, other: Tensor, *, dtype: Any = None, input_mask: Mask = None, other_mask: Mask = None
) -> Tensor:
    """ln(eᵃ + eᵇ), elementwise; a masked-out operand counts as -inf."""
    operands = (_filled(x, mask, _least(x)) for x, mask in ((input, input_mask), (other, other_mask)))
    return _as(pointwise.logaddexp(*operands), dtype, input)


def norm(
    input: Tensor, ord: float = 2.0, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Mask = None
) -> Tensor:
    """The norm of order ``ord`` over ``dim``; 0 where the mask selects nothing, or inf for ``ord=-inf``."""
    outside = math.inf if ord == -math.inf else 0.0
    return linalg.vector_norm(_filled(input, mask, outside), ord, dim, keepdim, dtype=dtype)


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Mask = None,
) -> Tensor:
    """The variance over ``dim``: Σ (x - mean)² / (n - correction), over the n masked-in elements. ``unbiased`` means a
    correction of 1 if True, and 0 if False. Raises ValueError if both arguments are passed."""
    if unbiased is not None and correction is not None:
        raise ValueError("var: only one of unbiased and correction may be given")
    minus = float(correction if correction is not None else unbiased is not False)
    floats = input if dtype is None and kind_of(input.array) in "fc" else input.to(dtype or get_default_dtype())
    numbers = in_float32(floats)
    count = _count(input, dim, True, mask)
    centred = numbers - sum(numbers, dim, keepdim=True, mask=mask) / count
    total = sum(centred * centred.conj(), dim, keepdim=keepdim, mask=mask)
    return (total / (count - minus).clamp(min=0).reshape(total.shape)).to(floats.dtype)


def std(input: Tensor, dim: Dims = None, unbiased: bool | None = None, **options: Any) -> Tensor:
    """The standard deviation over ``dim``, with the same arguments as ``var``."""
    return var(input, dim, unbiased, **options).sqrt()


def _nan_of_nothing(function: Callable[..., Tensor], doc: str) -> Callable[..., Tensor]:
    """A function of the masked-in elements along ``dim``. Its result is NaN where the mask is empty."""

    def over(input: Tensor, dim: int, *, dtype: Any = None, mask: Mask = None) -> Tensor:
        filled = _filled(input, mask, extreme(input, "min"))
        return function(filled, dim, dtype).masked_fill((filled.detach() == -math.inf).all(dim, True), math.nan)

    return named(over, function.__name__, doc)


softmax = _nan_of_nothing(pointwise.softmax, "eˣ / Σ eˣ along ``dim``, 0 outside the mask; NaN if the mask is empty.")
log_softmax = _nan_of_nothing(pointwise.log_softmax, "The logarithm of ``softmax``, -inf outside the mask.")


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Mask = None) -> Tensor:
    """``softmax`` of -x."""
    return softmax(-input, dim, dtype=dtype, mask=mask)


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Mask = None
) -> Tensor:
    """x divided by its norm along ``dim``, or by ``eps`` if larger; 0 outside the mask."""
    sizes = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(input, mask, 0) / sizes.maximum(sizes.new_full((), eps))


border_functions(globals())
