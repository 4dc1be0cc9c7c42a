"""Helpers that broadcast parameters, and convert between probabilities and logits."""

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
    """A property computed on first use. The computation is recorded even within ``no_grad``, so that the property has a
    gradient even if ``sample()`` was the first to use it."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        with enable_grad():
            return super().__get__(instance, owner)


class formula(property):
    """A property defined by a formula, as in ``mean = formula(lambda d: d.loc)``. Its docstring is inherited."""

    def __init__(self, rule: Callable[[Any], Tensor], doc: str | None = None) -> None:
        super().__init__(rule)
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.__doc__ = self.__doc__ or getattr(super(owner, owner), name).__doc__

    def __get__(self, instance: Any, owner: type | None = None, /) -> Tensor:  # type: ignore[override]
        return super().__get__(instance, owner)


class _Method(NamedTuple):
    """A method defined by a formula, as in ``entropy = method(lambda d: d.scale.log())``. Type hints are inherited."""

    rule: Callable[..., Any]

    def __set_name__(self, owner: type, name: str) -> None:
        self.rule.__name__, self.rule.__qualname__ = name, f"{owner.__qualname__}.{name}"
        setattr(owner, name, self.rule)


method: Callable[[Callable[..., Any]], Any] = _Method


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Broadcast numbers and tensors. Numbers get the first tensor's dtype. Raises ValueError for other types."""
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
    """Convert log-probabilities (log-odds if ``is_binary``) to probabilities."""
    return sigmoid(logits) if is_binary else softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Clamp probabilities to [eps, 1 - eps], where eps depends on the dtype."""
    eps = dt.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def inside(probs: Tensor) -> Tensor:
    """Clamp probabilities to the open interval (0, 1), as rounding may have made them 0 or 1."""
    info = dt.finfo(probs.dtype)
    return probs.clamp(min=info.tiny, max=1 - info.eps)


def log_odds(probs: Tensor) -> Tensor:
    """log(p / (1 - p)), which is finite even for p = 0 and p = 1."""
    probs = inside(probs)
    return probs.log() - log1p(-probs)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Convert probabilities to log-probabilities (log-odds if ``is_binary``)."""
    probs = clamp_probs(probs)
    return probs.log() - log1p(-probs) if is_binary else probs.log()


def except_where(condition: Tensor, instead: float, value: Tensor) -> Tensor:
    """``instead`` where the condition is True, and ``value`` elsewhere."""
    return where(condition, full_like(value.detach(), instead), value)


def size(shape: Any) -> Size:
    """Convert any sequence of ints to a shape."""
    return shape if isinstance(shape, Size) else Size(tuple(shape))


def sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last ``dim`` axes."""
    return value.flatten(-dim).sum(-1) if dim else value


_sum_rightmost = sum_rightmost  # PyTorch's name


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    return normal(zeros(shape, dtype=dtype, device=device), ones(shape, dtype=dtype, device=device))


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below a diagonal, row by row: (..., D, D) -> (..., N)."""
    rows, columns = tril_indices(*mat.shape[-2:], diag, device=mat.device).unbind()
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of ``tril_matrix_to_vec``: (..., N) -> (..., D, D), 0 elsewhere. Raises ValueError if no D fits N."""
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
