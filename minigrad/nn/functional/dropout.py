"""Dropout: of elements, and of whole channels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...autograd.observer import announced
from ...autograd.tracebacks import warn
from ...backend import of, random
from ...ops.activation import dropout as op
from ...ops.activation import relu_dropout as relu_op
from ...tensor import Tensor, apply, wrap
from ._checks import applied, probability

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zero each element with probability ``p`` and scale the others by 1 / (1 - p) (Srivastava et al.
    2014). Raises ValueError: ``p`` is not a probability."""
    probability("dropout", p)
    if not training or p == 0.0:
        return input
    return applied(op, input, inplace, keep_mask(input, None, p), _scale(input, p))


def relu_dropout(input: Tensor, p: float) -> Tensor:
    """``dropout(relu(input), p)`` in training: one pass, of which the backward pass needs the result alone."""
    return apply(relu_op, (input, keep_mask(input, None, p), _scale(input, p)))


def _scale(input: Tensor, p: float) -> float:
    """1 / (1 - p), or 0: as PyTorch's CPU kernel multiplies by it, in the input's dtype if that has 16 bits."""
    array, scale = input.array, 0.0 if p == 1 else 1 / (1 - p)
    rounds = array.itemsize == 2 and random.follows_pytorch(input.device)
    return float(array.dtype.type(np.float32(scale))) if rounds else scale


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``dropout`` of whole channels (Tompson et al. 2015): input (N, C, L) or (C, L). Raises ValueError: ``p`` is not a
    probability; RuntimeError: the input has another number of axes."""
    ndim = input.array.ndim
    if ndim not in (2, 3):
        problem = f"Expected 2D or 3D input, but received a {ndim}D input: it takes (N, C, L) or (C, L)"
        raise RuntimeError(f"dropout1d: {problem}")
    return channels(input, p, training, inplace, batched=ndim == 3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``dropout`` of whole channels: input (N, C, H, W); three axes are taken as (N, C, L)."""
    _warn_of_axes("dropout2d", input, (3, 4))
    if input.array.ndim == 3:
        warn(
            "dropout2d: Received a 3D input, which is interpreted as (N, C, L), as PyTorch does. To drop "
            "channels of (C, H, W), add an axis for the batch; for (N, C, L) there is dropout1d."
        )
    return channels(input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``dropout`` of whole channels: input (N, C, D, H, W) or (C, D, H, W)."""
    _warn_of_axes("dropout3d", input, (4, 5))
    return channels(input, p, training, inplace, batched=input.array.ndim != 4)


def _warn_of_axes(name: str, input: Tensor, usual: tuple[int, int]) -> None:
    ndim = input.array.ndim
    if ndim not in usual:
        rule = f"{name} is for inputs of {usual[0]} or {usual[1]} axes. To drop elements use dropout."
        warn(f"{name}: Received a {ndim}-D input, which PyTorch deprecates: {rule}")


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean 0 and variance 1, for SELU: dropped elements become SELU's least value, and a linear map
    follows (Klambauer et al. 2017). Raises ValueError: ``p`` is not a probability."""
    return _alpha(input, p, training, inplace)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """``alpha_dropout`` of whole channels: input (N, C, ...)."""
    return _alpha(input, p, training, inplace, lead=2)


def channels(input: Tensor, p: float, training: bool, inplace: bool, batched: bool = True) -> Tensor:
    """``dropout`` of whole channels of each sample."""
    keep = _mask(input, p, training, lead=2 if batched else 1)
    return input if keep is None else applied(op, input, inplace, keep, _scale(input, p))


def _mask(input: Tensor, p: float, training: bool, lead: int | None = None) -> Any:
    """A bool for each element or, with ``lead``, for each of the first axes; None if nothing is dropped."""
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
    least = 1.7580993408473766  # SELU's infimum is minus this: scale times alpha
    slope = 0.0 if p == 1 else 1 / math.sqrt((least * least * p + 1) * (1 - p))
    dropped = wrap(~keep * input.array.dtype.type(-least * slope))
    return applied(op, input, inplace, keep, slope).add_(dropped + least * slope * p)


@announced
def keep_mask(like: Tensor, shape: tuple[int, ...] | None, p: float) -> Any:
    """A dropout mask on the device of a tensor: a bool array, False with probability ``p``. ``shape``: the tensor's if
    None. PyTorch then draws in the order of its memory, not of indices."""
    array, backend = like.array, of(like.array)
    where = backend.device_of(array)
    in_order = shape is not None or array.flags.c_contiguous
    shape = array.shape if shape is None else shape
    if random.follows_pytorch(where):
        return backend.asarray(random.pytorch_keep_mask(shape, p, None if in_order else array), where)
    return backend.keep_mask(shape, p, where)
