"""Relatives of Adam."""

from __future__ import annotations

import math

from ...backend import xp
from ...backend.dtype import Array
from ...optim.adam import update_means
from ...optim.optimizer import ZEROS, Optimizer, Params, Rate, State, Values, check, checked
from ...tensor import Tensor

Betas = tuple[float, float]


class Adamax(Optimizer):
    """θ ← θ - lr / (1 - β₁ᵗ) · m / u, where m ← β₁ m + (1 - β₁) g and u ← max(β₂ u, |g| + ε)
    (Kingma and Ba 2015, section 7.1). All arguments are Optimizer's.
    """

    _state = {"step": 0, "exp_avg": ZEROS, "exp_inf": ZEROS}

    def __init__(
        self,
        params: Params,
        lr: Rate = 2e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, checked(locals()))

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        (beta1, beta2), exp_avg, exp_inf = options.betas, state.exp_avg, state.exp_inf
        exp_avg += (1 - beta1) * (grad - exp_avg)
        exp_inf *= beta2
        xp(grad).maximum(exp_inf, abs(grad) + options.eps, out=exp_inf)
        param -= options.lr / (1 - beta1**state.step) * exp_avg / exp_inf


class NAdam(Optimizer):
    """Adam whose mean of gradients looks one step ahead (Nesterov's momentum), with a momentum that grows (Dozat 2016).

    θ ← θ - lr · ((1 - μₜ) / (1 - Πₜ) · g + μₜ₊₁ / (1 - Πₜ₊₁) · m) / (√(v / (1 - β₂ᵗ)) + ε), where m and v are
    Adam's means, μₜ = β₁ (1 - 0.96^(t · momentum_decay) / 2), and Πₜ is the product of μ₁ to μₜ.
    """

    _state = {"step": 0, "mu_product": 1, "exp_avg": ZEROS, "exp_avg_sq": ZEROS}

    def __init__(
        self,
        params: Params,
        lr: Rate = 2e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(
            params, checked(locals(), "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize")
        )

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        (beta1, beta2), step = options.betas, state.step
        update_means(state.exp_avg, state.exp_avg_sq, grad, options.betas)
        root = xp(grad).sqrt(state.exp_avg_sq / (1 - beta2**step)) + options.eps
        now, then = (beta1 * (1 - 0.5 * 0.96 ** (t * options.momentum_decay)) for t in (step, step + 1))
        state.mu_product *= now
        product = float(state.mu_product)
        param -= options.lr * (1 - now) / (1 - product) * grad / root
        param -= options.lr * then / (1 - product * then) * state.exp_avg / root


class RAdam(Optimizer):
    """Rectified Adam (Liu et al. 2020): it divides by the root of v as soon as v is an average of enough steps.

    With ρ∞ = 2 / (1 - β₂) - 1 and ρₜ = ρ∞ - 2 t β₂ᵗ / (1 - β₂ᵗ): up to ρₜ = 5 the step is lr · m̂; from there
    on lr · r · m̂ / (√v + ε) · √(1 - β₂ᵗ), where r² = (ρₜ - 4)(ρₜ - 2) ρ∞ / ((ρ∞ - 4)(ρ∞ - 2) ρₜ).
    All arguments are Optimizer's.
    """

    _state = {"step": 0, "exp_avg": ZEROS, "exp_avg_sq": ZEROS}

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, checked(locals(), "lr betas eps weight_decay maximize foreach capturable"))

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        beta1, beta2 = options.betas
        update_means(state.exp_avg, state.exp_avg_sq, grad, options.betas)
        change = state.exp_avg / (1 - beta1**state.step)
        last, rest = 2 / (1 - beta2) - 1, 1 - beta2**state.step
        now = last - 2 * state.step * beta2**state.step / rest
        if now > 5:
            factor = math.sqrt((now - 4) * (now - 2) * last / ((last - 4) * (last - 2) * now) * rest)
            change = change * factor / (xp(grad).sqrt(state.exp_avg_sq) + options.eps)
        param -= options.lr * change


class SparseAdam(Optimizer):
    """Adam for the rows of a table of which each batch uses few: only these, and their means, change.

    PyTorch's takes sparse gradients. These are dense, and a row that is all zeros counts as not used.
    The arguments are Optimizer's; lr and eps must be positive.
    """

    _state = {"exp_avg": ZEROS, "exp_avg_sq": ZEROS}

    def __init__(
        self, params: Params, lr: Rate = 1e-3, betas: Betas = (0.9, 0.999), eps: float = 1e-8, maximize: bool = False
    ) -> None:
        defaults = checked(locals())
        check(lr > 0, "learning rate", lr)
        check(eps > 0, "epsilon value", eps)
        super().__init__(params, defaults)
        if any(p.array.dtype.kind == "c" for group in self.param_groups for p in group["params"]):
            raise ValueError("SparseAdam does not support complex parameters")

    def _start(self, p: Tensor, options: Values) -> State:
        return {"step": 0, **super()._start(p, options)}  # a plain number, as in PyTorch

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        arrays = (param, grad, state.exp_avg, state.exp_avg_sq)
        table, grad, exp_avg, exp_avg_sq = (a if a.ndim else a[None] for a in arrays)
        used = (grad != 0).reshape(len(grad), -1).any(1)
        g, (beta1, beta2) = grad[used], options.betas
        exp_avg[used] += (1 - beta1) * (g - exp_avg[used])
        exp_avg_sq[used] += (1 - beta2) * (g * g - exp_avg_sq[used])
        rate = options.lr * math.sqrt(1 - beta2**state.step) / (1 - beta1**state.step)
        table[used] -= rate * exp_avg[used] / (xp(g).sqrt(exp_avg_sq[used]) + options.eps)
