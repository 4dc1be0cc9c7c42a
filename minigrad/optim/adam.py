"""Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019)."""

from __future__ import annotations

import math
from typing import Any

from ..backend import of, xp
from ..backend.dtype import Array
from ..tensor import Tensor
from .optimizer import ZEROS, Optimizer, Params, Rate, Values, arguments, checked


def plain_step(
    param: Array,
    grad: Array,
    exp_avg: Array,
    exp_avg_sq: Array,
    max_exp_avg_sq: Array | None,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    step: int,
    maximize: bool,
) -> None:
    """Adam's step number ``step`` (from 1), in place: what the backends' kernels "adam" compute.

    m ← β₁ m + (1 - β₁) g,  v ← β₂ v + (1 - β₂) g²,  θ ← θ - lr m̂ / (√v̂ + ε),  m̂ = m / (1 - β₁ᵗ),  v̂ = v /
    (1 - β₂ᵗ)
    """
    g = -grad if maximize else grad
    if decoupled:
        param *= 1 - lr * weight_decay
    elif weight_decay:
        g = g + weight_decay * param
    update_means(exp_avg, exp_avg_sq, g, (beta1, beta2))
    largest = exp_avg_sq
    if max_exp_avg_sq is not None:  # AMSGrad: the largest v so far (Reddi et al. 2018)
        xp(param).maximum(max_exp_avg_sq, exp_avg_sq, out=max_exp_avg_sq)
        largest = max_exp_avg_sq
    root = xp(param).sqrt(largest) / math.sqrt(1 - beta2**step) + eps
    param -= lr / (1 - beta1**step) * exp_avg / root


def update_means(exp_avg: Array, exp_avg_sq: Array, g: Array, betas: tuple[float, float]) -> None:
    """m ← β₁ m + (1 - β₁) g,  v ← β₂ v + (1 - β₂) g²."""
    beta1, beta2 = betas
    exp_avg += (1 - beta1) * (g - exp_avg)
    exp_avg_sq *= beta2
    exp_avg_sq += (1 - beta2) * g * g


class Adam(Optimizer):
    """Steps along the mean of gradients over the root of the mean of their squares: see ``plain_step``.

    Args:
        amsgrad: divide by the largest mean of squares so far.
        params, lr, betas, eps, weight_decay, maximize and the rest: see Optimizer.
    """

    _state = {"step": 0, "exp_avg": ZEROS, "exp_avg_sq": ZEROS, "max_exp_avg_sq": "amsgrad"}

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        defaults = checked(locals(), "lr betas eps weight_decay amsgrad maximize")
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        super().__init__(params, defaults)

    def _gradient(self, p: Tensor, options: Values) -> Array:
        return p._grad.array  # the kernels apply ``maximize`` and ``weight_decay`` themselves

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        kernel = of(param).kernel("adam")
        run: Any = plain_step if kernel is None else kernel.step  # type: ignore[attr-defined]
        means = state.exp_avg, state.exp_avg_sq, state.max_exp_avg_sq if options.amsgrad else None
        decay = options.weight_decay, options.decoupled_weight_decay
        run(param, grad, *means, options.lr, *options.betas, options.eps, *decay, state.step, options.maximize)


class AdamW(Adam):
    """Adam with ``decoupled_weight_decay``. See Adam."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, **arguments(locals()), decoupled_weight_decay=True)
