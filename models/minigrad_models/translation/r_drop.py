"""R-Drop (Liang et al. 2021, arXiv 2106.14448): two passes with different dropout masks should agree."""

from __future__ import annotations

import minigrad as mg
from minigrad import Tensor
from minigrad.nn import functional


def r_drop_loss(
    states: Tensor, weight: Tensor, target: Tensor, alpha: float, label_smoothing: float = 0.0, ignore_index: int = -100
) -> Tensor:
    """Half the loss of the paper's equation 4; with α = 0 it is the mean cross-entropy:

        mean of ½ (CE(P₁) + CE(P₂)) + α/4 · (KL(P₁‖P₂) + KL(P₂‖P₁))

    over the tokens that are not ``ignore_index``. P₁ and P₂ are softmax(states · weightᵀ) of the two passes.
    If there is no token, the mean is NaN, as in ``cross_entropy``, and the gradients are zero.

    Args:
        states: of a batch of B sentences that contains each sentence twice, (2B, T, D).
        weight: of the last linear layer (V, D).
        target: the tokens to predict (B, T).
        alpha: α, 0 or more.
        label_smoothing: of the cross-entropies.
        ignore_index: a target that does not count: padding.

    Raises ValueError: α is negative.
    """
    if not alpha >= 0:
        raise ValueError(f"R-Drop's alpha must be 0 or more, not {alpha}")
    counts = target != ignore_index
    both, counted = mg.cat([half[counts] for half in states.chunk(2)]), target[counts]  # (2N, D), (N,)
    entropy = functional.linear_cross_entropy(both, weight, mg.cat((counted, counted)), label_smoothing=label_smoothing)
    log_p = functional.linear(both, weight).log_softmax(-1)
    first, second = log_p.reshape(2, len(counted), len(weight))  # (2N, V) -> (N, V) each
    # KL(P₁‖P₂) + KL(P₂‖P₁) = Σ (P₁ - P₂)(ln P₁ - ln P₂)
    divergence = ((first.exp() - second.exp()) * (first - second)).sum() / (len(counted) or float("nan"))
    return entropy + divergence * (alpha / 4)
