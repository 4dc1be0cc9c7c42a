"""New tensors, by PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.tape import Variable, wrap
from ..backend import Device, for_device, of
from ..backend import dtype as dt
from ..backend.random import Generator, default_generator
from .arguments import raw, sizes, to_array

if TYPE_CHECKING:
    from ..tensor import Tensor

Maybe = Any  # a dtype or a device in any of the ways they can be written, or None


def _made(array: Any, device: Maybe, requires_grad: bool) -> Tensor:
    """A tensor from a NumPy array, on the device asked for."""
    where = Device(device) if device is not None else None
    if where is not None and where.type != "cpu":
        array = for_device(where).asarray(array, where)
    made: Tensor = wrap(array)
    return made.requires_grad_() if requires_grad else made


def _float(dtype: Maybe) -> Any:
    return (dt.get_default_dtype() if dtype is None else dt.as_dtype(dtype)).numpy


def _shape(size: tuple[Any, ...]) -> tuple[int, ...]:
    shape = sizes(size)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(shape)}")
    return shape


def tensor(data: Any, *, dtype: Maybe = None, device: Maybe = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A tensor with memory of its own from numbers, nested lists, arrays or tensors.

    Python floats give the default dtype (float32), ints int64, bools bool; arrays keep their dtype.
    """
    where = Device(device) if device is not None else None
    array = to_array(data, dtype, where)
    made: Tensor = wrap(array.copy() if array is raw(data) else array)
    return made.requires_grad_() if requires_grad else made


def as_tensor(data: Any, dtype: Maybe = None, device: Maybe = None) -> Tensor:
    """``tensor``, but in the same memory where neither dtype nor device change."""
    if isinstance(data, Variable) and dtype is None and device is None:
        return data  # type: ignore[return-value]
    if isinstance(data, Variable):
        return data.to(dtype=dtype, device=device)
    where = Device(device) if device is not None else None
    return wrap(to_array(data, dtype, where))


asarray = as_tensor


def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """A tensor in the memory of a NumPy array.

    Raises:
        TypeError: not a NumPy array, or of a dtype that tensors do not have.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dt.of(ndarray)
    return wrap(ndarray)


def zeros(
    *size: Any, dtype: Maybe = None, device: Maybe = None, requires_grad: bool = False, **size_kw: Any
) -> Tensor:
    """Zeros of a shape."""
    return _made(np.zeros(_sized(size, size_kw), _float(dtype)), device, requires_grad)


def ones(
    *size: Any, dtype: Maybe = None, device: Maybe = None, requires_grad: bool = False, **size_kw: Any
) -> Tensor:
    """Ones of a shape."""
    return _made(np.ones(_sized(size, size_kw), _float(dtype)), device, requires_grad)


def empty(
    *size: Any, dtype: Maybe = None, device: Maybe = None, requires_grad: bool = False, **size_kw: Any
) -> Tensor:
    """A tensor of a shape whose elements are whatever its memory held."""
    return _made(np.empty(_sized(size, size_kw), _float(dtype)), device, requires_grad)


def _sized(size: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[int, ...]:
    """A shape given by position or as ``size=``; PyTorch's layout keywords are taken and ignored."""
    given = keywords.pop("size", None)
    for name in ("out", "layout", "pin_memory", "memory_format", "generator"):
        keywords.pop(name, None)
    if keywords:
        raise TypeError(f"got an unexpected keyword argument {next(iter(keywords))!r}")
    return _shape(size if given is None else (given,))


def full(
    size: Any, fill_value: Any, *, dtype: Maybe = None, device: Maybe = None, requires_grad: bool = False
) -> Tensor:
    """A shape filled with one number, whose type decides the dtype unless it is given."""
    value = raw(fill_value)
    value = value.item() if hasattr(value, "item") else value
    of_value = dt.as_dtype(type(value)) if dtype is None else dt.as_dtype(dtype)
    shape = _shape((size,) if isinstance(size, int) else tuple(size))
    return _made(np.full(shape, value, of_value.numpy), device, requires_grad)


def _like(make: Callable[..., Tensor], name: str, doc: str) -> Any:
    def function(input: Tensor, *, dtype: Maybe = None, device: Maybe = None, requires_grad: bool = False,
                 memory_format: Any = None) -> Tensor:  # fmt: skip
        return make(
            input.array.shape, dtype=input.dtype if dtype is None else dtype,
            device=input.device if device is None else device, requires_grad=requires_grad,
        )  # fmt: skip

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc} with the shape, dtype and device of a tensor, unless they are given."
    return function


zeros_like = _like(zeros, "zeros_like", "Zeros")
ones_like = _like(ones, "ones_like", "Ones")
empty_like = _like(empty, "empty_like", "Unset elements")


def full_like(input: Tensor, fill_value: Any, *, dtype: Maybe = None, device: Maybe = None,
              requires_grad: bool = False) -> Tensor:  # fmt: skip
    """One number, with the shape, dtype and device of a tensor, unless they are given."""
    return full(input.array.shape, fill_value, dtype=input.dtype if dtype is None else dtype,
                device=input.device if device is None else device, requires_grad=requires_grad)  # fmt: skip


def arange(start: Any, end: Any = None, step: Any = 1, *, dtype: Maybe = None, device: Maybe = None,
           requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Numbers from ``start`` up to, without, ``end``; int64 unless one of them is a float."""
    if end is None:
        start, end = 0, start
    bounds = [n.item() if hasattr(n, "item") else n for n in (start, end, step)]
    if bounds[2] == 0 or (bounds[1] - bounds[0]) * bounds[2] < 0:
        raise RuntimeError(
            f"arange: bounds {bounds[0]} and {bounds[1]} are inconsistent with step {bounds[2]}"
        )
    if dtype is None and any(isinstance(n, float) for n in bounds):
        dtype = dt.get_default_dtype()
    array = np.arange(*bounds).astype(np.int64 if dtype is None else dt.as_dtype(dtype).numpy)
    return _made(array, device, requires_grad)


def linspace(start: float, end: float, steps: int, *, dtype: Maybe = None, device: Maybe = None,
             requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``steps`` numbers at equal distances from ``start`` to ``end``, both included."""
    return _made(np.linspace(start, end, steps).astype(_float(dtype)), device, requires_grad)


def eye(
    n: int, m: int | None = None, *, dtype: Maybe = None, device: Maybe = None, requires_grad: bool = False
) -> Tensor:
    """Ones on the diagonal of an n by m matrix."""
    return _made(np.eye(n, m, dtype=_float(dtype)), device, requires_grad)


# Random numbers: drawn on the CPU, so that a seed gives every device the same -------------------------------


def rand(*size: Any, generator: Generator | None = None, dtype: Maybe = None, device: Maybe = None,
         requires_grad: bool = False, **size_kw: Any) -> Tensor:  # fmt: skip
    """Uniform numbers in [0, 1)."""
    draw = (generator or default_generator).uniform(_sized(size, size_kw), _float(dtype))
    return _made(draw, device, requires_grad)


def randn(*size: Any, generator: Generator | None = None, dtype: Maybe = None, device: Maybe = None,
          requires_grad: bool = False, **size_kw: Any) -> Tensor:  # fmt: skip
    """Standard normal numbers."""
    draw = (generator or default_generator).normal(_sized(size, size_kw), _float(dtype))
    return _made(draw, device, requires_grad)


def randint(low: int, high: Any = None, size: Any = None, *, generator: Generator | None = None,
            dtype: Maybe = None, device: Maybe = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Integers in [low, high); ``randint(high, size)`` counts from 0."""
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    draw = (generator or default_generator).integers(
        low, high, _shape((size,) if isinstance(size, int) else size)
    )
    return _made(draw.astype(np.int64 if dtype is None else dt.as_dtype(dtype).numpy), device, requires_grad)


def randperm(
    n: int, *, generator: Generator | None = None, dtype: Maybe = None, device: Maybe = None
) -> Tensor:
    """The numbers 0 .. n-1 in random order."""
    draw = (generator or default_generator).permutation(n)
    return _made(draw.astype(np.int64 if dtype is None else dt.as_dtype(dtype).numpy), device, False)


rand_like = _like(rand, "rand_like", "Uniform numbers")
randn_like = _like(randn, "randn_like", "Normal numbers")


def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None
) -> Tensor:
    """Normal numbers of a mean and standard deviation (numbers with a ``size``, or tensors)."""
    shape = size if size is not None else (mean if isinstance(mean, Variable) else std).array.shape
    draw: Tensor = randn(*shape, generator=generator) * std + mean
    return draw


def bernoulli(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that each element tells, else 0."""
    draw = (generator or default_generator).uniform(input.array.shape, input.array.dtype)
    chosen = draw < of(input.array).to_numpy(input.array)
    return _made(chosen.astype(input.array.dtype), input.device, False)


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *,
                generator: Generator | None = None) -> Tensor:  # fmt: skip
    """Indices drawn with the weights in each row, (..., num_samples) int64.

    One sample a row, or several without replacement, by PyTorch's race of exponentials: the largest of
    p / Exp(1). Several with replacement by inverting the running sums.

    Raises:
        RuntimeError: weights that are negative, not finite or all 0; more samples than weights.
    """
    weights = of(input.array).to_numpy(input.array)
    if weights.size and not (
        np.isfinite(weights).all() and (weights >= 0).all() and (weights.sum(-1) > 0).all()
    ):
        raise RuntimeError("multinomial: the weights must be finite, not negative, and not all 0 in a row")
    if num_samples < 1 or (not replacement and num_samples > (weights > 0).sum(-1).min(initial=num_samples)):
        raise RuntimeError(
            f"multinomial: cannot draw {num_samples} samples without replacement from these weights"
        )
    source = generator or default_generator
    if replacement and num_samples > 1:
        edges = np.cumsum(weights, -1, dtype=np.float64)
        draws = source.uniform((*weights.shape[:-1], num_samples), np.float64) * edges[..., -1:]
        chosen = (draws[..., None] >= edges[..., None, :]).sum(-1).clip(max=weights.shape[-1] - 1)
    else:
        race = weights / -np.log1p(-source.uniform(weights.shape, np.float64))
        chosen = np.argsort(-race, axis=-1, kind="stable")[..., :num_samples]
    return _made(chosen.astype(np.int64), input.device, False)
