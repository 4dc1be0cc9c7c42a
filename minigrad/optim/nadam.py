"""NAdam: Adam with Nesterov's momentum (Dozat 2016)."""

from __future__ import annotations

from ..backend import xp
from ..backend.dtype import Array
from .adam import update_means
from .optimizer import ZEROS, Optimizer, Params, Rate, Values, checked


class NAdam(Optimizer):
    """Adam whose mean of gradients looks one step ahead, with a momentum that grows.

    θ ← θ - lr · ((1 - μₜ) / (1 - Πₜ) · g + μₜ₊₁ / (1 - Πₜ₊₁) · m) / (√(v / (1 - β₂ᵗ)) + ε), where m and v are
    Adam's means, μₜ = β₁ (1 - 0.96^(t · momentum_decay) / 2), and Πₜ is the product of μ₁ to μₜ.

    Args:
        momentum_decay: how soon the momentum grows.
        params, lr, betas, eps, weight_decay, maximize and the rest: see Optimizer.
    """

    _state = {"step": 0, "mu_product": 1, "exp_avg": ZEROS, "exp_avg_sq": ZEROS}

    def __init__(
        self,
        params: Params,
        lr: Rate = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
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
