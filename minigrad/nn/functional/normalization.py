"""Normalisation over the last axes, per channel or per channel group."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...autograd import no_grad
from ...autograd.graph import as_one
from ...backend.dtype import float32
from ...backend.order import prefers_channels_last
from ...functions import reduction
from ...functions.arguments import in_float32, rounded_once
from ...ops import normalization as ops
from ...tensor import Tensor, apply
from ._checks import same_dtype
from .padding import pad
from .pooling import avg_pool1d

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "normalize", "rms_norm"]

Affine = Tensor | None  # a weight or bias
_EPSILON = {2: 2.0**-23, 4: 2.0**-23, 8: 2.0**-52}  # by itemsize; machine epsilon of the dtype in which the op computes


def _flat(name: str, input: Tensor, shape: Sequence[int], *affine: Tensor | None) -> tuple[Tensor | None, ...]:
    """Check that the shapes match, and flatten the normalised axes of the input and its weights."""
    expected, actual = tuple(shape), input.array.shape
    n = len(expected)
    if not n or actual[-n:] != expected:
        problem = f"expected input with shape [*, {str(list(expected))[1:-1]}], but got input of size {list(actual)}"
        raise RuntimeError(f"{name}: given normalized_shape={list(expected)}, {problem}")
    for role, tensor in zip(("weight", "bias"), affine, strict=False):
        if tensor is not None and tensor.array.shape != expected:
            raise RuntimeError(f"{name}: expected {role} of shape {list(expected)}, but got {list(tensor.array.shape)}")
        if tensor is not None and tensor.array.dtype is not input.array.dtype:
            same_dtype(name, input, **{role: tensor})
    if n == 1:
        return (input, *affine)
    width = math.prod(expected)
    flat = input.reshape(*actual[: len(actual) - n], width)  # (..., a, b) -> (..., ab)
    return (flat, *(None if t is None else t.reshape(width) for t in affine))


def _has_wide(input: Tensor, weight: Affine) -> bool:
    """Whether a 16-bit input has a float32 weight, as in models whose normalisation parameters are float32."""
    dtype = input.array.dtype
    return weight is not None and weight.array.dtype is not dtype and dtype.itemsize == 2 and weight.dtype is float32


def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Affine = None, bias: Affine = None, eps: float = 1e-5
) -> Tensor:
    """(x - mean) / √(variance + eps) · weight + bias over the last axes (Ba et al. 2016). These axes, weight and bias
    have shape ``normalized_shape``. Raises RuntimeError if these shapes do not match, or if dtypes differ (except that
    a 16-bit input may have float32 weights)."""
    if _has_wide(input, weight):
        return layer_norm(input.float(), normalized_shape, weight, bias, eps).to(input.dtype)
    out: Tensor = apply(ops.layer_norm, (*_flat("layer_norm", input, normalized_shape, weight, bias), float(eps)))
    return out if out.array.shape == input.array.shape else out.reshape(input.shape)


def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Affine = None, eps: float | None = None) -> Tensor:
    """x / √(mean of x² + eps) · weight over the last axes (Zhang and Sennrich 2019). See ``nn.RMSNorm`` for ``eps``."""
    small = _EPSILON[input.array.real.itemsize] if eps is None else float(eps)
    out: Tensor = apply(ops.rms_norm, (*_flat("rms_norm", input, normalized_shape, weight), small))
    return out if out.array.shape == input.array.shape else out.reshape(input.shape)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Affine = None,
    bias: Affine = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / √(variance + eps) · weight + bias for each channel (Ioffe and Szegedy 2015).

    Args:
        input: (N, C) or (N, C, *lengths). An input of shape (0) is returned unchanged.
        running_mean, running_var: (C), or None. Training updates them in place from the mean and variance of a
            non-empty batch, with weight ``momentum``; evaluation uses them instead of the batch statistics.
        weight, bias: (C), or None.

    Raises ValueError if there is only one value per channel in training, or eps is not positive."""
    shape = input.array.shape
    if shape == (0,):
        return input.clone()
    if eps <= 0:
        raise ValueError(f"batch_norm: eps must be positive, but got {eps}")
    if len(shape) < 2:
        raise RuntimeError(f"batch_norm: expected an input (N, C, ...), but got one of size {list(shape)}")
    parameters = {"weight": weight, "bias": bias}
    _check_channels("batch_norm", shape[1], running_mean=running_mean, running_var=running_var, **parameters)
    if not _has_wide(input, weight):
        same_dtype("batch_norm", input, **parameters)
    if not (input.array.flags.c_contiguous or prefers_channels_last(input.array)):
        input = input.contiguous()  # so that the result has the same memory layout as in PyTorch
    x, dims = in_float32(input), (0, *range(2, len(shape)))
    if training:
        count = input.array.size // max(shape[1], 1)
        _check_several(count, input)
        mean = x.mean(dims, keepdim=True)
        centred = x - mean
        var = centred.square().mean(dims, keepdim=True)
        if count:
            move(running_mean, mean.detach().reshape(-1), momentum)
            move(running_var, var.detach().reshape(-1) * (count / max(count - 1, 1)), momentum)
    elif running_mean is None or running_var is None:
        raise RuntimeError("batch_norm: running_mean and running_var must be defined in evaluation mode")
    else:
        centred = x - ops.by_channel(in_float32(running_mean), x)
        var = ops.by_channel(in_float32(running_var), x)
    return as_one(scaled(centred, var, weight, bias, eps).to(input.dtype), "NativeBatchNormBackward0")


def scaled(centred: Tensor, var: Tensor, weight: Affine, bias: Affine, eps: float) -> Tensor:
    """centred / √(var + eps) · weight + bias for each channel."""
    scale = (var + eps).rsqrt()
    out: Tensor = centred * (scale if weight is None else scale * ops.by_channel(weight, centred))
    return out if bias is None else out + ops.by_channel(bias, centred)


@no_grad()
def move(running: Tensor | None, now: Tensor, momentum: float) -> None:
    """Update a running statistic in place from the batch statistic, whose weight is ``momentum``."""
    if running is not None:
        running.mul_(1 - momentum).add_(now.to(running) * momentum)


def _check_channels(name: str, channels: int, **others: Tensor | None) -> None:
    for role, tensor in others.items():
        if tensor is not None and tuple(tensor.array.shape) != (channels,):
            expected = f"should contain {channels} elements not {tensor.array.size}, one per input channel"
            raise RuntimeError(f"{name}: {role} {expected}")


def _check_several(values: int, input: Tensor) -> None:
    if values == 1:
        remedy = "a single value has no variance; use a larger batch, or call eval() on the model"
        size = f"got input size {tuple(input.shape)}"
        raise ValueError(f"Expected more than 1 value per channel when training, {size}: {remedy}")


def group_norm(input: Tensor, num_groups: int, weight: Affine = None, bias: Affine = None, eps: float = 1e-5) -> Tensor:
    """(x - mean) / √(variance + eps) · weight + bias, over each channel group (Wu and He 2018). ``input``: (N, C, ...).
    ``num_groups`` must divide C. ``weight``, ``bias``: (C), or None. Raises ValueError if a group has one value."""
    if _has_wide(input, weight):
        return group_norm(input.float(), num_groups, weight, bias, eps).to(input.dtype)
    shape = input.array.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    if num_groups < 1 or shape[1] % num_groups:
        actual = f"input of shape {list(shape)} and num_groups={num_groups}"
        raise RuntimeError(f"Expected number of channels in input to be divisible by num_groups, but got {actual}")
    _check_several(math.prod(shape) // num_groups, input)
    _check_channels("group_norm", shape[1], weight=weight, bias=bias)
    same_dtype("group_norm", input, weight=weight, bias=bias)
    return apply(ops.group_norm, (input, weight, bias, num_groups, float(eps)))


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Affine = None,
    bias: Affine = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / √(variance + eps) · weight + bias for each channel of each sample (Ulyanov et al. 2016). See
    ``batch_norm`` for the arguments. The running statistics are means over the samples; an empty batch does not change
    them. ``use_input_stats``: use the input's mean and variance instead of the running ones."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, max(eps, 5e-324))
    shape = input.array.shape
    if math.prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {tuple(input.shape)}")
    _check_channels("instance_norm", shape[1], running_mean=running_mean, running_var=running_var)
    if input.array.size and (running_mean is not None or running_var is not None):
        flat = in_float32(input.detach()).flatten(2)
        move(running_mean, flat.mean((0, 2)), momentum)
        move(running_var, flat.var(2).mean(0), momentum)
    return group_norm(input, shape[1], weight, bias, eps)


@rounded_once
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + alpha · mean of x² over ``size`` adjacent channels)ᵝ (Krizhevsky et al. 2012)."""
    if input.array.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.array.ndim} dimensions)")
    n, c = input.array.shape[:2]
    if not input.array.size:
        return input.clone()
    flat = input.square().reshape(n, c, -1).transpose(1, 2)  # (N, P, C)
    means = avg_pool1d(pad(flat, (size // 2, (size - 1) // 2)), size, 1)
    return input / (means.transpose(1, 2).reshape(input.shape) * alpha + k).pow(beta)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x / max(‖x‖ₚ, eps) along ``dim``."""
    return input / reduction.norm(input, p, dim, True).clamp_min(eps)
