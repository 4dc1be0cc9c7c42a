"""Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..backend import in_order, xp
from ..backend.dtype import Array
from ..tensor import Tensor
from .optimizer import ZEROS, Optimizer, Params, Rate, Values, advance, arguments, checked, together


def plain_step(
    param: Array, grad: Array, exp_avg: Array, exp_avg_sq: Array, largest: Array | None, step: int, options: Values
) -> None:
    """Perform step number ``step`` (counted from 1) of Adam in place. The "adam" kernels compute the same step.

    m ← β₁ m + (1 - β₁) g,  v ← β₂ v + (1 - β₂) g²,  θ ← θ - lr m̂ / (√v̂ + ε),  m̂ = m/(1 - β₁ᵗ),  v̂ = v/(1 - β₂ᵗ)"""
    g, (beta1, beta2) = -grad if options.maximize else grad, options.betas
    if options.decoupled_weight_decay:
        param *= 1 - options.lr * options.weight_decay
    elif options.weight_decay:
        g = g + options.weight_decay * param
    update_means(exp_avg, exp_avg_sq, g, options.betas)
    if largest is not None:  # AMSGrad: the largest v so far (Reddi et al. 2018)
        xp(param).maximum(largest, exp_avg_sq, out=largest)
    root = xp(param).sqrt(exp_avg_sq if largest is None else largest) / math.sqrt(1 - beta2**step) + options.eps
    param -= options.lr / (1 - beta1**step) * exp_avg / root


def numbers(steps: Sequence[int], options: Values) -> tuple[Any, ...]:
    """The arguments with which the "adam" kernels apply ``plain_step`` to many parameters. Step number 0 means no step.

    With x = sign · g + decay · θ:  m ← m + rest₁ (x - m),  v ← β₂ v + rest₂ x²,  θ ← shrink · θ - rate · m / (√v + ε'),
    where m̂ / (√v̂ + ε) = √(1 - β₂ᵗ) / (1 - β₁ᵗ) · m / (√v + ε'). Returns (ε', rate) per parameter and shared numbers.
    """
    lr, (beta1, beta2), weight_decay = options.lr, options.betas, options.weight_decay
    rates = {0: (0.0, 0.0)}
    for t in {*steps} - {0}:
        root = math.sqrt(1 - beta2**t)
        rates[t] = options.eps * root, lr * root / (1 - beta1**t)
    decay, shrink = (0.0, 1 - lr * weight_decay) if options.decoupled_weight_decay else (weight_decay, 1.0)
    sign = -1.0 if options.maximize else 1.0
    return [rates[t] for t in steps], sign, decay, shrink, 1 - beta1, beta2, 1 - beta2


def update_means(exp_avg: Array, exp_avg_sq: Array, g: Array, betas: tuple[float, float]) -> None:
    """m ← β₁ m + (1 - β₁) g,  v ← β₂ v + (1 - β₂) g²."""
    beta1, beta2 = betas
    exp_avg += (1 - beta1) * (g - exp_avg)
    exp_avg_sq *= beta2
    exp_avg_sq += (1 - beta2) * g * g


class Adam(Optimizer):
    """Each step is lr times the gradient's running mean over the root of its running mean square; see ``plain_step``.

    ``amsgrad``: divide by the root of the largest running mean square so far.

    >>> w = mg.tensor([5.0], requires_grad=True)
    >>> adam = mg.optim.Adam([w], lr=0.1)
    >>> for _ in range(200):
    ...     adam.zero_grad()
    ...     (w * w).sum().backward()
    ...     adam.step()
    >>> abs(w.item()) < 0.1
    True
    """

    _state = {"step": 0, "exp_avg": ZEROS, "exp_avg_sq": ZEROS, "max_exp_avg_sq": "amsgrad"}
    _kernel = "adam"

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

    def _update_together(self, params: list[Tensor], options: Values) -> list[Tensor]:
        kernel = together("adam", params)
        names = [name for name in self._names(options) if name != "step"]
        states = [self.state[p] or self._begun(p, options) for p in params]
        rows = [
            (p.array, in_order(p._grad.array), *[state[name].array for name in names])
            for p, state in zip(params, states, strict=True)
        ]
        many = kernel.Many(rows)
        steps = [advance(state) if fits else 0 for state, fits in zip(states, many.fits, strict=True)]
        kernel.step_all(many, *numbers(steps, options))
        return [p for p, fits in zip(params, many.fits, strict=True) if not fits]

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        largest = state.max_exp_avg_sq if options.amsgrad else None
        plain_step(param, grad, state.exp_avg, state.exp_avg_sq, largest, state.step, options)


class AdamW(Adam):
    """Adam with decoupled weight decay (see ``Optimizer``).

    >>> mg.optim.AdamW(nn.Linear(2, 1).parameters(), lr=1e-3, weight_decay=0.1).defaults["weight_decay"]
    0.1
    """

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
