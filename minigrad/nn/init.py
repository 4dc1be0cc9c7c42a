"""Initial values of parameters, in place and without history. Numbers come from minigrad's generator.

Each function fills a tensor and returns it. After ``manual_seed(s)`` they give PyTorch's numbers.
"""

from __future__ import annotations

import math
from typing import Any

from ..autograd import no_grad
from ..autograd.tape import wrap
from ..backend import of
from ..backend.random import Generator
from ..functions.creation import eye, randn
from ..tensor import Tensor

_GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance through a nonlinearity ("relu": √2; "leaky_relu": √(2 / (1 +
    slope²))).

    Raises:
        ValueError: the nonlinearity is not known.
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1 + slope**2))
    name = "linear" if nonlinearity.startswith("conv") else nonlinearity
    if name not in _GAINS:
        raise ValueError(
            f"Unsupported nonlinearity {nonlinearity}: expected one of {', '.join(_GAINS)}, leaky_relu"
        )
    return _GAINS[name]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs reach an output, and how many outputs an input, of a weight (out, in, ...)."""
    shape = tensor.array.shape
    if len(shape) < 2:
        raise ValueError(
            f"Fan in and fan out can not be computed for tensor with fewer than 2 dimensions: its shape is "
            f"{tuple(shape)}"
        )
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _fan(tensor: Tensor, mode: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform in [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Normal, of a mean and standard deviation."""
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  generator: Generator | None = None) -> Tensor:  # fmt: skip
    """Normal, cut off outside [a, b] (values, not multiples of ``std``): uniform numbers through Φ⁻¹."""

    def below(x: float) -> float:
        return (1 + math.erf((x - mean) / std / math.sqrt(2))) / 2

    tensor.uniform_(2 * below(a) - 1, 2 * below(b) - 1, generator=generator)
    out: Tensor = tensor.copy_(_erfinv(tensor) * (std * math.sqrt(2)) + mean).clamp_(a, b)
    return out


def _erfinv(y: Tensor) -> Tensor:
    """The inverse of erf: Winitzki's formula (2008), then Newton's method, in float64."""
    y = y.detach().double().clamp(-1 + 1e-15, 1 - 1e-15)
    log = (1 - y * y).log()
    half = 2 / (math.pi * 0.147) + log / 2
    x: Tensor = y.sign() * ((half * half - log / 0.147).sqrt() - half).sqrt()
    for _ in range(3):
        x = x - (x.erf() - y) * (x * x).exp() * (math.sqrt(math.pi) / 2)
    return x


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """One number everywhere."""
    return tensor.fill_(val)


def zeros_(tensor: Tensor) -> Tensor:
    """0 everywhere."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """1 everywhere."""
    return constant_(tensor, 1.0)


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix, as far as the shape goes."""
    if tensor.ndim != 2:
        raise ValueError(
            f"Only tensors with 2 dimensions are supported, this one has shape {tuple(tensor.shape)}"
        )
    return tensor.copy_(eye(*tensor.shape))


@no_grad()
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform in ±gain √(6 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal with standard deviation gain √(2 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return tensor.normal_(0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator=generator)


@no_grad()
def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Generator | None = None) -> Tensor:  # fmt: skip
    """Uniform in ±gain √(3 / fan) (He et al. 2015); ``a`` is the slope of leaky_relu."""
    std = calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Generator | None = None) -> Tensor:  # fmt: skip
    """Normal with standard deviation gain / √fan (He et al. 2015); ``a`` is the slope of leaky_relu."""
    std = calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return tensor.normal_(0.0, std, generator=generator)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """A (semi-)orthogonal matrix times ``gain``; axes after the first count as one (Saxe et al. 2013)."""
    if tensor.ndim < 2:
        raise ValueError(
            f"Only tensors with 2 or more dimensions are supported, this one has shape {tuple(tensor.shape)}"
        )
    rows = tensor.array.shape[0]
    columns = tensor.array.size // max(rows, 1)
    drawn = randn(rows, columns, generator=generator, dtype=tensor.dtype)
    square: Any = (drawn.t() if rows < columns else drawn).array
    q, r = of(square).xp.linalg.qr(square)
    q = q * of(square).xp.sign(r.diagonal())  # makes the result unique, and its distribution uniform
    q = q.T if rows < columns else q
    values: Tensor = wrap(q.reshape(tensor.array.shape))  # (rows, columns) -> the tensor's shape
    out: Tensor = tensor.copy_(values).mul_(gain)
    return out
