"""Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019)."""

from __future__ import annotations

import math
from typing import Any

from ..backend import of, xp
from ..backend.dtype import Array
from ..tensor import Tensor
from .optimizer import (
    Group,
    Optimizer,
    Params,
    Rate,
    advance,
    check_betas,
    check_number,
    check_rate,
    scalar,
    zeros_like,
)


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
    exp_avg += (1 - beta1) * (g - exp_avg)
    exp_avg_sq *= beta2
    exp_avg_sq += (1 - beta2) * g * g
    largest = exp_avg_sq
    if max_exp_avg_sq is not None:  # AMSGrad: the largest v so far (Reddi et al. 2018)
        xp(param).maximum(max_exp_avg_sq, exp_avg_sq, out=max_exp_avg_sq)
        largest = max_exp_avg_sq
    root = xp(param).sqrt(largest) / math.sqrt(1 - beta2**step) + eps
    param -= lr / (1 - beta1**step) * exp_avg / root


class Adam(Optimizer):
    """Steps along the mean of gradients over the root of the mean of their squares: see ``plain_step``.

    Args:
        params: see Optimizer. lr: about the length of a step for each number.
        betas: how slowly the two means forget. eps: keeps the division from 0.
        weight_decay: an L2 penalty, part of the gradient (unless ``decoupled_weight_decay``).
        amsgrad: divide by the largest mean of squares so far. maximize: go up instead.
        foreach, capturable, fused: taken for PyTorch's signature, without effect.
        differentiable: True is refused.
        decoupled_weight_decay: shrink the parameters by lr · weight_decay instead, as AdamW does.

    Raises:
        ValueError: an option outside its range. NotImplementedError: ``differentiable=True``.
    """

    _counts = ("step",)

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
        check_rate(lr)
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_number("epsilon value", eps, eps >= 0)
        check_betas(betas)
        check_number("weight_decay value", weight_decay, weight_decay >= 0)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )

    def _update(self, p: Tensor, group: Group) -> None:
        array, state = p.array, self.state[p]
        if not state:
            state["step"], state["exp_avg"], state["exp_avg_sq"] = scalar(0), zeros_like(p), zeros_like(p)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(p)
        kernel = of(array).kernel("adam")
        run: Any = plain_step if kernel is None else kernel.step  # type: ignore[attr-defined]
        beta1, beta2 = group["betas"]
        run(
            array,
            p._grad.array,
            state["exp_avg"].array,
            state["exp_avg_sq"].array,
            state["max_exp_avg_sq"].array if group["amsgrad"] else None,
            float(group["lr"]),
            float(beta1),
            float(beta2),
            float(group["eps"]),
            float(group["weight_decay"]),
            group["decoupled_weight_decay"],
            advance(state),
            group["maximize"],
        )


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters by lr · weight_decay, outside the gradient. See Adam."""

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
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
