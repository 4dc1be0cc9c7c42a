"""Random tensors, under PyTorch's names. A seed yields the same numbers on every device, except in ``multinomial``."""

from __future__ import annotations

import math
from _thread import _local as local
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..autograd.inplace import bump, check_mutable
from ..autograd.mode import at_end
from ..autograd.observer import announced
from ..autograd.tape import Variable, wrap
from ..backend import of
from ..backend.dtype import has_gradient, kind_of
from ..backend.order import back, laid_as, memory_order
from ..backend.random import Generator, blocks, default_generator
from ..tensor import Tensor
from .arguments import Maybe, common_shape, raw
from .creation import NoDraw, alike, creating, empty, empty_like, float_dtype, int_dtype, shape_of, sized, tensor_on
from .define import brief, function, method, named

Draw = Callable[[Generator, tuple[int, ...], bool], Any]  # a generator, a shape, whether it is contiguous


class _State(local):
    drawing = True


_state = _State()


@contextmanager
def undrawn() -> Iterator[None]:
    """A context in which this thread draws no random numbers, for a module whose parameters are loaded from a file."""
    with at_end(setattr, _state, "drawing", _state.drawing) as end, end:
        _state.drawing = False
        yield


def fill(input: Tensor, draw: Draw, generator: Generator | None, name: str) -> Tensor:
    """Write random numbers to a tensor in memory order (as PyTorch does), without recording history."""
    check_mutable(input, name)
    if not _state.drawing or input.is_meta:
        return input
    array, source = input.array, generator or default_generator
    if isinstance(array, np.ndarray) and array.flags.c_contiguous:
        for part in blocks(array):
            part[:] = draw(source, part.shape, True)
    else:
        numbers = draw(source, array.shape, bool(array.flags.c_contiguous))
        numbers = numbers if array.flags.c_contiguous else laid_as(numbers, array)
        backend = of(array)
        array[...] = backend.asarray(numbers.astype(array.dtype, copy=False), backend.device_of(array))
    bump(input, name)
    return input


def _from_uniform(input: Tensor, of: Callable[[Any], Any], generator: Generator | None, name: str) -> Tensor:
    """``fill`` with a function of uniform float64 numbers in [0, 1)."""
    return fill(input, lambda source, shape, _: of(source.uniform(shape, np.float64)), generator, name)


def _one_by_one(source: Generator, shape: tuple[int, ...]) -> Any:
    """Normal float64 numbers, drawn one by one as in PyTorch."""
    return source.few_normals(int(np.prod(shape, dtype=np.int64))).reshape(shape)


@method(free=False)
def uniform_(input: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """In place: fill with uniform random numbers in [low, high). PyTorch calls these bounds ``from`` and ``to``."""
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    kind: Any = np.float64 if input.array.dtype == np.float64 else np.float32
    start, end = kind(low), kind(high)

    def draw(source: Generator, shape: tuple[int, ...], contiguous: bool) -> Any:
        # in a wider format, rounded once, like PyTorch's fused multiply-add
        wide: Any = np.longdouble if kind is np.float64 else np.float64
        return source.uniform(shape, kind).astype(wide) * wide(end - start) + wide(start)

    return fill(input, draw, generator, "uniform")


@method(free=False)
def normal_(input: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """In place: fill with normally distributed random numbers."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    kind = input.array.dtype

    def draw(source: Generator, shape: tuple[int, ...], contiguous: bool) -> Any:
        numbers = source.normal(shape, kind) if contiguous else _one_by_one(source, shape)
        return numbers * numbers.dtype.type(std) + numbers.dtype.type(mean)

    return fill(input, draw, generator, "normal")


@method(free=False)
def bernoulli_(input: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """In place: set each element to 1 with probability p (a number, or a tensor of numbers), else to 0."""
    if isinstance(p, Variable):
        chances: Any = p
        order = memory_order(input.array)
        numbers: Any = bernoulli(chances.expand(input.array.shape).permute(order), generator=generator)
        input[...] = numbers.permute(back(order))
        return input
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return _from_uniform(input, lambda u: u < p, generator, "bernoulli")


@method(free=False)
def exponential_(input: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """In place: fill with numbers from the exponential distribution with rate ``lambd``."""
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return _from_uniform(input, lambda u: -np.log1p(-u) / lambd, generator, "exponential")


@method(free=False)
def geometric_(input: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """In place: fill with numbers of trials up to the first success, which has probability p in each trial."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return _from_uniform(input, lambda u: np.ceil(np.log(u) / np.log1p(-p)), generator, "geometric")


@method(free=False)
def cauchy_(input: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """In place: fill with numbers from the Cauchy distribution."""
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return _from_uniform(input, lambda u: median + sigma * np.tan(np.pi * (u - 0.5)), generator, "cauchy")


@method(free=False)
def log_normal_(input: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Tensor:
    """In place: fill with numbers whose logarithms are normal with this mean and standard deviation."""
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    draw: Draw = lambda source, shape, _: np.exp(_one_by_one(source, shape) * std + mean)
    return fill(input, draw, generator, "log_normal")


_LARGEST = {"float64": 1 << 53, "float32": 1 << 24, "float16": 1 << 11, "bfloat16": 1 << 8, "bool": 1}
_UNSET: Any = object()


@method(free=False)
def random_(
    input: Tensor, low: int = _UNSET, high: int | None = _UNSET, *, generator: Generator | None = None
) -> Tensor:
    """In place: fill with integers in [low, high). PyTorch calls the bounds ``from`` and ``to``. ``random_(n)`` and
    ``random_()`` start at 0. Without bounds, the maximum is the dtype's or, for floats, the limit of exact integers."""
    name = input.dtype.name
    most = _LARGEST[name] if name in _LARGEST else int(np.iinfo(input.array.dtype).max)
    if low is _UNSET:

        def draw(source: Generator, shape: tuple[int, ...], contiguous: bool) -> Any:
            count = int(np.prod(shape, dtype=np.int64))
            words = source.words64(count) if most >> 32 else source.words(count)  # 32 bits each, or 64
            return (words % np.uint64(most + 1)).reshape(shape)

        return fill(input, draw, generator, "random")
    if high is _UNSET:
        low, high = 0, low
    bounds = (int(low), most + 1 if high is None else int(high))
    if bounds[0] >= bounds[1]:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return fill(input, lambda source, shape, _: source.integers(*bounds, shape), generator, "random")


def _of_shape(name: str, doc: str, stream: str, scale: float) -> Callable[..., Tensor]:
    """A function that draws from a generator's ``stream``. ``scale`` applies to the parts of complex numbers."""

    def create(*size: Any, generator: Generator | None = None, dtype: Maybe, **size_kw: Any) -> Any:
        kind = np.dtype(float_dtype(dtype))
        if not has_gradient(kind):
            raise NotImplementedError(f"{name}: {doc.lower()} need a floating-point dtype, not {dtype}")
        draw, shape = getattr(generator or default_generator, stream), sized(size, size_kw)
        if kind.kind != "c":
            return draw(shape, kind)
        parts = draw((*shape, 2), np.float64 if kind == np.complex128 else np.float32)
        return parts.view(kind)[..., 0] * kind.type(scale)

    return creating(named(create, name, f"{doc}."))


rand = announced(_of_shape("rand", "Uniform numbers in [0, 1)", "uniform", 1))
# The two parts of a complex number each have half the variance.
randn = announced(_of_shape("randn", "Standard normal numbers", "normal", math.sqrt(0.5)))


@announced
@creating
def randint(
    *bounds: Any, low: Any = None, high: Any = None, size: Any = None, generator: Any = None, dtype: Any, **ignored: Any
) -> Any:
    """Random integers in [low, high): ``randint(low, high, size)``. ``randint(high, size)`` starts at 0.

    >>> _ = mg.manual_seed(0)
    >>> mg.randint(0, 10, (5,))
    tensor([4, 9, 3, 0, 3])
    """
    numbers = list(bounds)
    if size is None:
        if not numbers or not isinstance(numbers[-1], (tuple, list)):
            raise TypeError("randint() takes (high, size) or (low, high, size), where size is a tuple of ints")
        size = numbers.pop()
    if high is None and numbers:
        high = numbers.pop()
    if low is None:
        low = numbers.pop() if numbers else 0
    if high is None or numbers:
        raise TypeError("randint() takes (high, size) or (low, high, size)")
    low, high = int(low), int(high)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if low < -(1 << 63) or high > 1 << 63:
        raise ValueError(f"randint: the range [{low}, {high}) does not fit in 64 bits")
    return (generator or default_generator).integers(low, high, shape_of(size)).astype(int_dtype(dtype), copy=False)


@announced
@creating
def randperm(n: int, *, generator: Generator | None = None, dtype: Maybe) -> Any:
    """A random permutation of the integers from 0 to n - 1.

    >>> _ = mg.manual_seed(0)
    >>> mg.randperm(5)
    tensor([4, 0, 1, 3, 2])
    """
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    return (generator or default_generator).permutation(n).astype(int_dtype(dtype), copy=False)


def _like(change: Callable[..., Tensor], name: str, doc: str) -> Callable[..., Tensor]:
    def like(input: Tensor, *, generator: Generator | None = None, dtype: Maybe, device: Maybe) -> Tensor:
        return change(empty_like(input.detach(), dtype=dtype, device=device), generator=generator)

    doc = f"{doc} with the shape and, by default, the dtype and device of a tensor."
    return announced(function(alike(named(like, name, doc))))


rand_like = _like(uniform_, "rand_like", "Uniform numbers")
randn_like = _like(normal_, "randn_like", "Normal numbers")


@announced
@function
@alike
def randint_like(
    input: Tensor,
    *bounds: int,
    low: int = 0,
    high: int | None = None,
    generator: Generator | None = None,
    dtype: Maybe,
    device: Maybe,
) -> Tensor:
    """Random integers in [low, high) with the shape (and by default the dtype and device) of a tensor."""
    if len(bounds) == 2 or (bounds and high is not None):
        low, high = bounds[0], bounds[-1] if high is None else high
    elif bounds:
        high = bounds[0]
    return random_(empty_like(input.detach(), dtype=dtype, device=device), low, high, generator=generator)


@announced
@function
def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Maybe = None,
    layout: Any = None,
    device: Maybe = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Normally distributed numbers. ``mean`` and ``std`` may be tensors; if both are numbers, ``size`` is required.

    >>> _ = mg.manual_seed(0)
    >>> mg.normal(0.0, 1.0, (3,))
    tensor([ 1.5410, -0.2934, -2.1788])
    """
    if size is not None:
        numbers = normal_(empty(size, dtype=dtype, device=device), mean, std, generator=generator)
        return numbers.requires_grad_() if requires_grad else numbers
    mean, std = (v.detach() if hasattr(v, "array") else v for v in (mean, std))
    if not isinstance(mean, Variable) and not isinstance(std, Variable):
        raise TypeError("normal() requires a size if both mean and std are numbers")
    if np.any(of(raw(std)).to_numpy(raw(std)) < 0):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    shape = common_shape(*(getattr(v, "shape", ()) for v in (mean, std)))
    like: Any = mean if isinstance(mean, Variable) else std
    numbers = normal_(empty(shape, dtype=like.dtype, device=like.device), generator=generator)
    return numbers * std + mean


@announced
@method
def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """For each element, 1 with the probability that it contains (or with probability ``p``), else 0.

    >>> _ = mg.manual_seed(0)
    >>> mg.bernoulli(mg.full((4,), 0.5))
    tensor([1., 0., 1., 1.])
    """
    if p is not None:
        like = {"dtype": input.dtype, "device": input.device}
        return bernoulli_(empty(input.array.shape, **like), p, generator=generator)
    chances = of(input.array).to_numpy(input.array)
    if kind_of(chances) != "f":
        raise RuntimeError(f"bernoulli: the probabilities must be floating point, not {input.dtype}")
    if chances.size and not ((chances >= 0) & (chances <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true: a probability is out of range")
    wide = np.float64 if chances.dtype == np.float64 else np.float32
    draw = (generator or default_generator).uniform(chances.shape, wide)
    return tensor_on((draw < chances).astype(chances.dtype), input.device)


@announced
@method
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Draw indices from each row, in proportion to its weights. The result (..., num_samples) is int64. One sample
    per row, or several without replacement, are the largest p / Exp(1), as in PyTorch. Several with replacement come
    from cumulative sums. So does one sample per row on a GPU, where the indices therefore differ from those on a CPU.
    Weights on a GPU are not checked, because a check would require synchronisation.

    Raises RuntimeError if weights are negative, not finite or all 0 (on the CPU), if there are more samples than
    weights, or if there are more than 2²⁴ weights, the limit for cumulative sums in float32.

    >>> _ = mg.manual_seed(0)
    >>> mg.multinomial(mg.tensor([0.0, 1.0, 0.0]), 1)
    tensor([1])
    """
    weights, backend = input.array, of(input.array)
    is_host = backend.xp is np
    if kind_of(weights) != "f":
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype}")
    if weights.ndim not in (1, 2) or not weights.shape[-1]:
        raise RuntimeError(f"prob_dist must be 1 or 2 dim and not empty, not of shape {weights.shape}")
    if weights.shape[-1] > 2**24:
        raise RuntimeError(f"multinomial: the number of categories cannot exceed 2^24, got {weights.shape[-1]:,}")
    valid = np.isfinite(weights).all() and (weights >= 0).all() and (weights.sum(-1) > 0).all() if is_host else True
    if not valid:
        rule = "multinomial: the weights must be finite, not negative, and not all 0 in a row"
        problem = "probability tensor contains either `inf`, `nan` or element < 0, or a row that sums to 0"
        raise RuntimeError(f"{problem}: {rule}")
    if num_samples < 1 or (not replacement and num_samples > weights.shape[-1]):
        raise RuntimeError(f"multinomial: cannot draw {num_samples} samples without replacement from these weights")
    source = NoDraw() if input.is_meta else generator or default_generator
    if replacement if num_samples > 1 else not is_host:
        draws = source.uniform((*weights.shape[:-1], num_samples), np.float64)
        rows, m = backend.asarray(draws.reshape(-1, num_samples), input.device), backend.xp
        # a GPU does not add from left to right, and rounding could select a weight of 0 unless in float64
        kind = weights.dtype if is_host else np.float64
        shares = m.cumsum(weights.reshape(-1, weights.shape[-1]), -1, dtype=kind)
        shares = shares / shares[:, -1:]
        shares[:, -1] = 1
        if num_samples == 1:
            indices = (shares < rows).sum(-1)
        else:
            pairs = zip(shares, rows, strict=True)
            indices = m.stack([m.searchsorted(share.astype(np.float64), row) for share, row in pairs])
        indices = indices.reshape(draws.shape)
    else:
        exponential = (-np.log1p(-laid_as(source.uniform(weights.shape, np.float64), weights))).astype(weights.dtype)
        race = weights / backend.asarray(exponential, input.device)
        indices = backend.xp.argsort(-race, axis=-1, kind="stable")[..., :num_samples]
    return wrap(indices.astype(np.int64))


@function
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson-distributed numbers with these means. For the same seed, they differ from PyTorch's."""
    rates = of(input.array).to_numpy(input.array)
    seed = (generator or default_generator).random64()
    numbers = np.asarray(np.random.default_rng(seed).poisson(rates), rates.dtype)
    return tensor_on(numbers, input.device)


@function
def get_rng_state() -> Tensor:
    """The default generator's state, as a tensor of bytes."""
    state: Tensor = default_generator.get_state()
    return state


@function
def set_rng_state(new_state: Tensor) -> None:
    """Restore a state returned by ``get_rng_state``."""
    default_generator.set_state(new_state)


_SEEDS = {
    "seed": (lambda: default_generator.seed(), "Seed the default generator randomly and return the seed."),
    "initial_seed": (lambda: default_generator.initial_seed(), "The initial seed of the default generator."),
}
globals().update(brief(function, _SEEDS, "int"))


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, device_type: str = "cuda") -> Iterator[None]:
    """Restore the default generator's state at the end of a ``with fork_rng():`` block."""
    if not enabled:
        yield
        return
    with at_end(default_generator.set_state, default_generator.get_state()) as end, end:
        yield
