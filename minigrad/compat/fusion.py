"""``torch.nn.utils.fusion``: a batch norm in evaluation as a part of the layer before it, whose result it scales."""

from __future__ import annotations

import copy
from typing import Any

from ..functions.creation import ones_like, zeros_like
from ..nn.parameter import Parameter
from ..tensor import Tensor

Maybe = Tensor | None
Pair = tuple[Parameter, Parameter]


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Maybe, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Maybe, bn_b: Maybe
) -> Pair:
    """Weight (out, in) and bias (out) of a linear layer and the batch norm of (out) channels after it.

    Args:
        bn_rm, bn_rv: the running mean and variance. bn_eps: added to the variance.
        bn_w, bn_b: weight and bias of the batch norm; None for 1 and 0.
    """
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Maybe,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Maybe,
    bn_b: Maybe,
    transpose: bool = False,
) -> Pair:
    """The same for a convolution (O, C, ...) or, with ``transpose``, a transposed one (C, O, ...)."""
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, int(transpose))


def _fused(w: Tensor, b: Maybe, mean: Tensor, var: Tensor, eps: float, scale: Maybe, shift: Maybe, axis: int) -> Pair:
    bias = zeros_like(mean) if b is None else b
    factor = (var + eps).rsqrt() * (ones_like(mean) if scale is None else scale)
    weight = w * factor.reshape([-1 if i == axis else 1 for i in range(w.ndim)])
    moved = (bias - mean) * factor + (0.0 if shift is None else shift)
    return Parameter(weight.to(w.dtype), w.requires_grad), Parameter(moved.to(bias.dtype), bias.requires_grad)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution that also does what the batch norm after it does, both in evaluation mode.

    Raises:
        AssertionError: one of them is in training mode.

    >>> conv, bn = nn.Conv2d(2, 3, 3).eval(), nn.BatchNorm2d(3).eval()
    >>> x = mg.rand(1, 2, 5, 5)
    >>> mg.allclose(mg.nn.utils.fusion.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
    True
    """
    return _fused_copy(conv, bn, int(transpose))


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """The same for a linear layer. Raises AssertionError also if the batch norm has another number of channels."""
    if bn.num_features not in (1, linear.out_features):
        expected = f"linear.out_features={linear.out_features} or 1"
        raise AssertionError(
            f"To fuse, the batch norm must have {expected} channels, not bn.num_features={bn.num_features}"
        )
    return _fused_copy(linear, bn, 0)


def _fused_copy(layer: Any, bn: Any, axis: int) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(layer)
    norm = (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    fused.weight, fused.bias = _fused(layer.weight, layer.bias, *norm, axis)
    return fused
