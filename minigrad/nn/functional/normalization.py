"""Normalisations and distances."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...autograd.tape import apply
from ...backend import dtype as dt
from ...functions import reduction
from ...ops import normalization as ops
from ...tensor import Tensor
from ._checks import same_dtype

_EPSILON = {2: 2.0**-10, 4: 2.0**-23, 8: 2.0**-52}  # from 1 to the next number, by bytes


def _flat(
    name: str, input: Tensor, shape: Sequence[int], *affine: Tensor | None
) -> tuple[Tensor | None, ...]:
    """The input and its weights with the normalised axes as one, after a check that they fit."""
    wanted, n = tuple(shape), len(tuple(shape))
    given = tuple(input.array.shape)
    if not n or given[len(given) - n :] != wanted:
        raise RuntimeError(
            f"{name}: given normalized_shape={list(wanted)}, expected input with shape [*, "
            f"{str(list(wanted))[1:-1]}], but got input of size {list(given)}"
        )
    for told, tensor in zip(("weight", "bias"), affine, strict=False):
        if tensor is not None and tuple(tensor.array.shape) != wanted:
            raise RuntimeError(
                f"{name}: expected {told} of shape {list(wanted)}, but got {list(tensor.array.shape)}"
            )
    same_dtype(name, input, **dict(zip(("weight", "bias"), affine, strict=False)))
    if n == 1:
        return (input, *affine)
    width = math.prod(wanted)
    flat = input.reshape(*given[: len(given) - n], width)  # (..., a, b) -> (..., ab)
    return (flat, *(None if t is None else t.reshape(width) for t in affine))


def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:  # fmt: skip
    """(x - mean) / √(variance + eps) · weight + bias over the last axes (Ba et al. 2016).

    Args:
        input: (..., *normalized_shape). weight, bias: of ``normalized_shape``.

    Raises:
        RuntimeError: the last axes are not ``normalized_shape``, or dtypes differ.
    """
    out: Tensor = apply(
        ops.layer_norm, (*_flat("layer_norm", input, normalized_shape, weight, bias), float(eps))
    )
    return out if out.array.shape == input.array.shape else out.reshape(input.shape)


def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
             eps: float | None = None) -> Tensor:  # fmt: skip
    """x / √(mean of x² + eps) · weight over the last axes (Zhang and Sennrich 2019).

    Args:
        eps: None takes the dtype's machine epsilon.
    """
    small = _EPSILON[input.array.dtype.itemsize] if eps is None else float(eps)
    out: Tensor = apply(ops.rms_norm, (*_flat("rms_norm", input, normalized_shape, weight), small))
    return out if out.array.shape == input.array.shape else out.reshape(input.shape)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x / max(‖x‖ₚ, eps) along ``dim``."""
    out: Tensor = input / reduction.norm(input, p, dim, True).clamp_min(eps)
    return out


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x₁ · x₂ / (max(‖x₁‖, eps) max(‖x₂‖, eps)) along ``dim``; the operands broadcast."""
    common = dt.result_type(x1.array, x2.array)
    x1, x2 = x1.to(common), x2.to(common)
    norms = [reduction.norm(x, 2.0, dim, True).clamp_min(eps) for x in (x1, x2)]
    out: Tensor = ((x1 / norms[0]) * (x2 / norms[1])).sum(dim)
    return out
