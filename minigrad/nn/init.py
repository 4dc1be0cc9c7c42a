"""Initial values of parameters. Each function fills a tensor in place, which autograd does not record, and returns it.

Random numbers are drawn from minigrad's generator; after ``manual_seed(s)`` they equal PyTorch's.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from ..autograd import no_grad
from ..autograd.tracebacks import border_functions, warn
from ..backend import of
from ..backend.random import Generator
from ..functions import creation
from ..functions.creation import empty_like, ones_like
from ..functions.pointwise import where
from ..functions.random import randn, randperm, undrawn
from ..tensor import Tensor, wrap
from .module import Module

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=Module)
Source = Generator | None  # the source of random numbers; None means the default generator
_GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}
_GAINS.update({f"conv{kind}{n}d": 1.0 for kind in ("", "_transpose") for n in (1, 2, 3)})


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The gain that preserves the variance through a nonlinearity ("relu": √2; "leaky_relu": √(2 / (1 + slope²))).
    ``param``: the slope, 0.01 if None. Raises ValueError for an unknown nonlinearity or a non-numeric slope."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}: expected one of {', '.join(_GAINS)}, leaky_relu")
    return _GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """The fan-in and fan-out of a weight (out, in, ...): the inputs per output, and the outputs per input."""
    shape = tuple(tensor.array.shape)
    if len(shape) < 2:
        problem = "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        raise ValueError(f"{problem}: its shape is {shape}")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Source = None) -> Tensor:
    """Fill with samples from the uniform distribution on [a, b).

    >>> nn.init.uniform_(mg.empty(100), -1, 1).abs().max() <= 1
    tensor(True)
    """
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Source = None) -> Tensor:
    """Fill with samples from a normal distribution with this mean and standard deviation.

    >>> _ = mg.manual_seed(0)
    >>> nn.init.normal_(mg.empty(2, 2), std=0.02).shape
    minigrad.Size([2, 2])
    """
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Source = None
) -> Tensor:
    """Fill with samples from a normal distribution truncated to [a, b] (absolute bounds, not multiples of ``std``)."""
    if not a - 2 * std <= mean <= b + 2 * std:
        problem = "mean is more than 2 std from [a, b] in nn.init.trunc_normal_"
        warn(f"{problem}. The distribution of values may be incorrect.")
    below, above = (math.erf((bound - mean) / std / math.sqrt(2)) / 2 for bound in (a, b))
    low, high = tensor.new_tensor([a, b])
    peak = ((max(a, min(mean, b)) - mean) / std) ** 2 / -2
    pending: Any = ones_like(tensor, dtype="bool")
    while not tensor.is_meta and pending.any():
        fresh = empty_like(tensor)
        if above - below > 0.3:  # most normal samples lie in [a, b]
            fresh.normal_(mean, std, generator=generator)
            refused = (fresh < low) | (fresh > high)
        else:
            fresh.uniform_(a, b, generator=generator)
            log_density = ((fresh - mean) / std) ** 2 * -0.5 - peak
            refused = empty_like(fresh).uniform_(generator=generator).log() > log_density
        tensor.copy_(where(pending, fresh, tensor))
        pending = pending & refused
    return tensor


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with a constant.

    >>> nn.init.constant_(mg.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    return tensor.fill_(val)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    >>> nn.init.zeros_(mg.empty(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fill with the identity matrix, padded with zeros if not square."""
    if tensor.ndim != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, this one has shape {tuple(tensor.shape)}")
    return tensor.copy_(creation.eye(*tensor.shape))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution weight (out, in, ...) so that as many channels as possible pass through unchanged. Raises
    ValueError unless the weight has 3, 4 or 5 axes and ``groups`` divides the number of output channels."""
    shape = tensor.array.shape
    if len(shape) not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    each = shape[0] // groups
    middle = tuple(n // 2 for n in shape[2:])
    tensor.zero_()
    for group in range(groups):
        for channel in range(min(each, shape[1])):
            tensor[(group * each + channel, channel, *middle)] = 1
    return tensor


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Source = None) -> Tensor:
    """Fill a matrix with normal samples, and then zero a fraction ``sparsity`` of each column (Martens 2010)."""
    if tensor.ndim != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, this one has shape {tuple(tensor.shape)}")
    rows, columns = tensor.array.shape
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        order = randperm(rows, device=tensor.device)
        tensor[order[: math.ceil(sparsity * rows)], column] = 0
    return tensor


@no_grad()
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Source = None) -> Tensor:
    """Fill with samples from U(-a, a), where a = gain √(6 / (fan_in + fan_out)) (Glorot and Bengio 2010).

    >>> nn.init.xavier_uniform_(mg.empty(3, 3)).abs().max() <= 1
    tensor(True)
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Source = None) -> Tensor:
    """Fill with normal samples of standard deviation gain √(2 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return tensor.normal_(0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator=generator)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode.lower() == "fan_in" else fan_out


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """gain / √fan, or 0 with a warning for an empty tensor."""
    if 0 in tensor.array.shape:
        warn("Initializing zero-element tensors is a no-op")
        return 0.0
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


@no_grad()
def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Source = None
) -> Tensor:
    """Fill with samples from U(-b, b), b = gain √(3 / fan) (He et al. 2015). ``a``: leaky_relu's negative slope."""
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Source = None
) -> Tensor:
    """Fill with normal samples of standard deviation gain / √fan (He et al. 2015). ``a``: see kaiming_uniform_."""
    return tensor.normal_(0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator=generator)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Source = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix times ``gain``, flattening the axes after the first (Saxe et al. 2013)."""
    if tensor.ndim < 2:
        raise ValueError(f"Only tensors with 2 or more dimensions are supported, not shape {tuple(tensor.shape)}")
    if tensor.is_meta:  # it has no elements to fill
        return tensor
    rows = tensor.array.shape[0]
    columns = tensor.array.size // max(rows, 1)
    normal = randn(rows, columns, generator=generator, dtype=tensor.dtype)
    tall: Any = (normal.t() if rows < columns else normal).array
    q, r = of(tall).xp.linalg.qr(tall)
    q = q * of(tall).xp.sign(r.diagonal())  # makes the result unique and uniformly distributed
    q = q.T if rows < columns else q
    values: Tensor = wrap(q.reshape(tensor.array.shape))  # (rows, columns) -> the tensor's shape
    return tensor.copy_(values).mul_(gain)


def skip_init(module_cls: type[M], *args: Any, **kwargs: Any) -> M:
    """A module with uninitialised parameters. Raises RuntimeError unless it is a Module that accepts ``device``."""
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with undrawn():
        module = module_cls(*args, **kwargs)
    return module.to_empty(device=kwargs.get("device") or "cpu")


def renamed(function: Callable[P, T], name: str = "`nn.init.{}`") -> Callable[P, T]:
    """A function under its old name, without the underscore. ``name``: the format of both names in the warning."""
    new = function.__name__
    old = new[:-1]

    @functools.wraps(function)
    def warning(*args: P.args, **kwargs: P.kwargs) -> T:
        warn(f"{name.format(old)} is now deprecated in favor of {name.format(new)}.", FutureWarning)
        return function(*args, **kwargs)

    warning.__name__ = warning.__qualname__ = old
    return warning


uniform, normal, constant, eye = (renamed(f) for f in (uniform_, normal_, constant_, eye_))
dirac, sparse, orthogonal = (renamed(f) for f in (dirac_, sparse_, orthogonal_))
xavier_uniform, xavier_normal = renamed(xavier_uniform_), renamed(xavier_normal_)
kaiming_uniform, kaiming_normal = renamed(kaiming_uniform_), renamed(kaiming_normal_)


border_functions(globals())
