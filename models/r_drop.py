"""R-Drop (Liang et al. 2021, arXiv 2106.14448): two passes with different dropout shall predict the same."""

from __future__ import annotations

import minigrad as mg
from minigrad import Tensor
from minigrad.nn import functional as F
from minigrad.utils.checkpoint import checkpoint

CHUNK = 1 << 20  # logits of one pass that are in memory at a time


def r_drop_loss(
    states: Tensor,
    weight: Tensor,
    target: Tensor,
    alpha: float,
    label_smoothing: float = 0.0,
    ignore_index: int = -100,
) -> Tensor:
    """The loss of the paper's equation 4, halved, so that α = 0 gives the mean cross-entropy:

        mean of ½ (CE(P₁) + CE(P₂)) + α/4 · (KL(P₁‖P₂) + KL(P₂‖P₁))

    over the tokens that count. P₁ and P₂ are softmax(states · weightᵀ) of the two passes. The logits are
    computed in chunks, and once more in the backward. Without any token the mean is NaN, as that of
    ``cross_entropy`` is, and gradients are zero.

    Args:
        states: of a batch of B sentences that stands twice in it, (2B, T, D).
        weight: the last linear layer's (V, D).
        target: the tokens to be predicted (B, T).
        alpha: α.
        label_smoothing: of the cross-entropies.
        ignore_index: the target that does not count: padding.

    Raises:
        ValueError: α is negative.
    """
    if not alpha >= 0:
        raise ValueError(f"R-Drop's alpha must be 0 or more, not {alpha}")
    counts = target != ignore_index
    first, second = (half[counts] for half in states.chunk(2))  # (N, D)
    target, n = target[counts], int(counts.sum())
    entropy = F.linear_cross_entropy(
        mg.cat((first, second)), weight, mg.cat((target, target)), label_smoothing=label_smoothing
    )
    step = max(1, CHUNK // len(weight))
    parts = [
        checkpoint(divergence, first[i : i + step], second[i : i + step], weight) for i in range(0, n, step)
    ]
    total = sum(parts, mg.zeros((), dtype=entropy.dtype, device=entropy.device))
    return entropy + total * (alpha / 4 / max(n, 1))


def divergence(first: Tensor, second: Tensor, weight: Tensor) -> Tensor:
    """The sum of KL(P₁‖P₂) + KL(P₂‖P₁) over rows of states (N, D).

    Both together are Σ (P₁ - P₂)(ln P₁ - ln P₂). In the second factor logits will do for ln P: they differ by
    a number for each row, and the first factor sums to 0.
    """
    logits = F.linear(first, weight), F.linear(second, weight)
    p1, p2 = (x.softmax(-1) for x in logits)
    return ((p1 - p2) * (logits[0] - logits[1])).sum()
