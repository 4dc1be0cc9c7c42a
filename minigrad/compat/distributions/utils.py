"""Helpers that broadcast parameters, and convert probabilities to logarithms and back."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

from ...autograd import enable_grad
from ...backend import dtype as dt
from ...functions.creation import full_like, ones, tensor, tril_indices, zeros
from ...functions.pointwise import log1p, sigmoid, softmax, where
from ...functions.random import normal
from ...functions.shaping import broadcast_tensors
from ...tensor import Size, Tensor

Value = Tensor | float
Maybe = Value | None
Shape = tuple[int, ...]


class lazy_property(cached_property[Any]):
    """A property computed on first use, and recorded even in ``no_grad``, so that later uses have gradients even after
    an initial ``sample()``."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        with enable_grad():
            return super().__get__(instance, owner)


class formula(property):
    """A property from a formula: ``mean = formula(lambda d: d.loc)``. Its docstring comes from the base class."""

    def __init__(self, rule: Callable[[Any], Tensor], doc: str | None = None) -> None:
        super().__init__(rule)
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.__doc__ = self.__doc__ or getattr(super(owner, owner), name).__doc__

    def __get__(self, instance: Any, owner: type | None = None, /) -> Tensor:  # type: ignore[override]
        return super().__get__(instance, owner)


class _Method(NamedTuple):
    """A method from a formula: ``entropy = method(lambda d: d.scale.log())``. Its types come from the base class."""

    rule: Callable[..., Any]

    def __set_name__(self, owner: type, name: str) -> None:
        self.rule.__name__, self.rule.__qualname__ = name, f"{owner.__qualname__}.{name}"
        setattr(owner, name, self.rule)


method: Callable[[Callable[..., Any]], Any] = _Method


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Broadcast numbers and tensors, using the first tensor's dtype for numbers. Raises ValueError otherwise."""
    if not all(isinstance(v, (Tensor, int, float)) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, minigrad.Tensor or objects implementing "
            "__torch_function__."
        )
    like = next((v for v in values if isinstance(v, Tensor)), None)
    kind = dt.get_default_dtype() if like is None else like.dtype
    device = None if like is None else like.device
    return broadcast_tensors(*(v if isinstance(v, Tensor) else tensor(v, dtype=kind, device=device) for v in values))


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from their logarithms (from log-odds if ``is_binary``)."""
    return sigmoid(logits) if is_binary else softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities clamped to at least a rounding error away from 0 and 1."""
    eps = dt.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def inside(probs: Tensor) -> Tensor:
    """Probabilities, kept inside (0, 1) where rounded to 0 or 1."""
    info = dt.finfo(probs.dtype)
    return probs.clamp(min=info.tiny, max=1 - info.eps)


def log_odds(probs: Tensor) -> Tensor:
    """log p / (1 - p), finite at 0 and 1."""
    probs = inside(probs)
    return probs.log() - log1p(-probs)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The logarithms of probabilities (log-odds if ``is_binary``)."""
    probs = clamp_probs(probs)
    return probs.log() - log1p(-probs) if is_binary else probs.log()


def except_where(condition: Tensor, instead: float, value: Tensor) -> Tensor:
    """A given number where the condition is True, otherwise the value."""
    return where(condition, full_like(value.detach(), instead), value)


def size(shape: Any) -> Size:
    """A shape from any sequence of ints."""
    return shape if isinstance(shape, Size) else Size(tuple(shape))


def sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last ``dim`` axes."""
    return value.flatten(-dim).sum(-1) if dim else value


_sum_rightmost = sum_rightmost  # PyTorch's name


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    return normal(zeros(shape, dtype=dtype, device=device), ones(shape, dtype=dtype, device=device))


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements up to a diagonal, row by row: (..., D, D) -> (..., N)."""
    rows, columns = tril_indices(*mat.shape[-2:], diag, device=mat.device).unbind()
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """A matrix with these elements up to a diagonal, else 0: (..., N) -> (..., D, D). ValueError if N does not fit."""
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > dt.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the lower triangular part of "
            f"a square D x D matrix."
        )
    matrix = vec.new_zeros((*vec.shape[:-1], round(n), round(n)))
    rows, columns = tril_indices(round(n), round(n), diag, device=vec.device).unbind()
    matrix[..., rows, columns] = vec
    return matrix
