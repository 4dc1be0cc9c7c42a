"""Internal functions of PyTorch's core, with the same names as in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..functions.arguments import in_float32, rounded_once
from ..functions.shaping import cat, stack
from ..nn import functional as F
from ..tensor import Tensor

Maybe = Tensor | None


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Maybe = None,
    bias: Maybe = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """``F.layer_norm``, ignoring ``cudnn_enable``."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Maybe = None,
    bias: Maybe = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """``F.group_norm``, ignoring ``cudnn_enabled``."""
    return F.group_norm(input, num_groups, weight, bias, eps)


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """``F.pad`` with a constant."""
    return F.pad(input, pad, "constant", value)


@rounded_once
def _statistics(input: Tensor, dim: tuple[int, ...], eps: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The mean and 1 / √(variance + eps)."""
    return input.mean(dim, keepdim), (input.var(dim, correction=0, keepdim=keepdim) + eps).rsqrt()


def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Maybe, bias: Maybe, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The result of ``F.layer_norm``, the mean, and 1 / √(variance + eps)."""
    axes = tuple(range(-len(normalized_shape), 0))
    return F.layer_norm(input, normalized_shape, weight, bias, eps), *_statistics(input, axes, eps, True)


def native_group_norm(
    input: Tensor, weight: Maybe, bias: Maybe, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The ``F.group_norm`` of an input (N, C, ...) with ``HxW`` elements per channel, and the statistics (N, group)."""
    statistics = _statistics(input.reshape(N, group, C // group * HxW), (2,), eps, False)
    return F.group_norm(input, group, weight, bias, eps), *statistics


def native_batch_norm(
    input: Tensor,
    weight: Maybe,
    bias: Maybe,
    running_mean: Maybe,
    running_var: Maybe,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The result of ``F.batch_norm`` and, in training, the statistics (C,) (otherwise two empty tensors)."""
    axes = (0, *range(2, input.ndim))
    statistics = _statistics(input, axes, eps, False) if training else (input.new_empty(0), input.new_empty(0))
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps), *statistics


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """``F.grid_sample`` with integers instead of names for its modes."""
    mode = ("bilinear", "nearest", "bicubic")[interpolation_mode]
    padding = ("zeros", "border", "reflection")[padding_mode]
    return F.grid_sample(input, grid, mode, padding, align_corners)


def _chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Cut each tensor along ``dim`` into ``num_chunks``, padding the last ones with zeros. Row n of the result contains
    the n-th chunk of every tensor, flattened from ``dim`` on."""
    if not tensors or num_chunks < 1 or not all(tensor.numel() for tensor in tensors):
        raise RuntimeError(f"_chunk_cat expects non-empty tensors and at least one chunk, got {num_chunks}")
    rows = []
    for tensor in tensors:
        place = dim % tensor.ndim
        margin = (0, 0) * (tensor.ndim - place - 1) + (0, -tensor.shape[place] % num_chunks)
        rows.append(F.pad(tensor, margin).reshape(*tensor.shape[:place], num_chunks, -1))
    return cat(rows, -1)


def grouped_mm(mat_a: Tensor, mat_b: Tensor, offs: Maybe = None, bias: Maybe = None, out_dtype: Any = None) -> Tensor:
    """A product for each of G groups (``torch._grouped_mm``), as in the layers of a mixture of experts.

    Groups are ranges of rows for (N, K) and (G, K, M) -> (N, M), of columns for (G, N, K) and (K, M) -> (N, M), and of
    K for (N, K) and (K, M) -> (G, N, M). Rows outside all groups are 0. ``offs``, int32, contains the end of each
    group. Two 3D tensors do not need it. Raises RuntimeError if it is missing, or if it is passed with two 3D tensors.
    """
    sides = mat_a.ndim, mat_b.ndim
    if (offs is None) != (sides == (3, 3)):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if offs is None:
        return (mat_a @ mat_b).to(out_dtype or mat_a.dtype)
    ends = offs.tolist()
    groups = list(enumerate(map(slice, [0, *ends], ends)))
    if sides == (2, 2):
        product = stack([mat_a[:, part] @ mat_b[part] for _, part in groups])
    elif sides == (2, 3):
        parts = [mat_a[part] @ mat_b[i] for i, part in groups]
        product = cat([*parts, mat_a.new_zeros(len(mat_a) - ends[-1], mat_b.shape[-1])])
    else:
        product = cat([mat_a[i] @ mat_b[:, part] for i, part in groups], -1)
    return product.to(out_dtype or mat_a.dtype)


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of ``output = softmax(x, dim)`` with respect to x, in ``input_dtype``."""
    g, y = in_float32(grad_output), in_float32(output)
    return (y * (g - (g * y).sum(dim, keepdim=True))).to(input_dtype)
