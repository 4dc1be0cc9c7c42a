"""Scores by distance: what Transformer-XL and the Music Transformer share of relative positions.

Shapes: B batch, H heads, T queries, S keys that end with the queries, W width of a head (D/H). Query i of T has the
distance d = S − T + i − j to key j.
"""

from __future__ import annotations

import minigrad as mg
from minigrad import Tensor, nn


def relative_shift(scores: Tensor) -> Tensor:
    """Scores by distance (B, H, T, S + 1), from S down to 0, -> scores by key (B, H, T, S); memory for these alone.

    Dai et al. 2019 (appendix B) shift, Huang et al. 2018 (section 3.4.1) skew. The row of query i has to move left by
    T − i places, one less than the row above. Rows that are one number longer do so when they are read as rows of
    length S, from number T on: number T + i S + j is number i (S + 1) + (T − i + j), of row i and of the distance
    S − (T − i + j) = d. Keys in the future get other rows' numbers.
    """
    b, h, t, s = scores.shape
    return scores.reshape(b, h, t * s)[..., t:].unflatten(-1, (t, s - 1))


class RelativePositions(nn.Module):
    """Each head's embeddings of distances, E_r (Huang et al. 2018, section 3.4; Shaw et al. 2018, arXiv 1803.02155).

    Args:
        heads, width: H, W.
        distances: how many have an embedding of their own; those beyond count as the largest, ``distances`` − 1.
    """

    def __init__(self, heads: int, width: int, distances: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(mg.zeros(heads, distances, width))

    def forward(self, q: Tensor, keys: int) -> Tensor:
        """Queries (B, H, T, W), the last of S ``keys`` -> q E_rᵀ by key (B, H, T, S), skewed."""
        distance = mg.arange(keys, -1, -1, device=q.device).clamp(max=self.weight.shape[1] - 1)
        return relative_shift(q @ self.weight[:, distance].mT)  # (B, H, T, S + 1) -> (B, H, T, S)
