"""``torch.nn.utils.fusion``: fuses a batch norm in evaluation mode into the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from ..functions.creation import ones_like, zeros_like
from ..nn.parameter import Parameter
from ..tensor import Tensor

Maybe = Tensor | None
Pair = tuple[Parameter, Parameter]


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
    """Fuse a convolution and the batch norm after it. Returns the fused weight (O, C, ...) and bias (O). The ``bn_``
    arguments are the norm's running mean and variance, eps, weight (1 if None) and bias (0 if None). ``transpose`` says
    whether the convolution is transposed, with weight (C, O, ...)."""
    bias = zeros_like(bn_rm) if conv_b is None else conv_b
    factor = (bn_rv + bn_eps).rsqrt() * (ones_like(bn_rm) if bn_w is None else bn_w)
    weight = conv_w * factor.reshape([-1 if axis == int(transpose) else 1 for axis in range(conv_w.ndim)])
    shifted = (bias - bn_rm) * factor + (0.0 if bn_b is None else bn_b)
    return Parameter(weight.to(conv_w.dtype), conv_w.requires_grad), Parameter(
        shifted.to(bias.dtype), bias.requires_grad
    )


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution that includes the batch norm after it, both in evaluation mode. Raises AssertionError if
    either is in training mode.

    >>> conv, bn = nn.Conv2d(2, 3, 3).eval(), nn.BatchNorm2d(3).eval()
    >>> x = mg.rand(1, 2, 5, 5)
    >>> mg.allclose(mg.nn.utils.fusion.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
    True
    """
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused, norm = copy.deepcopy(conv), (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    fused.weight, fused.bias = fuse_conv_bn_weights(conv.weight, conv.bias, *norm, transpose)
    return fused
