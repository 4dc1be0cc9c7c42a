"""Scaled dot-product attention."""

from __future__ import annotations

from typing import Any

from ..backend import xp
from ..backend.dtype import Array
from .dropout import dropout
from .elementwise import where
from .linear import matmul
from .op import op
from .shape import transpose
from .softmax import softmax


@op(kernel="scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    mask: Array = None,
    keep: Array = None,
    is_causal: bool = False,
    scale: float = 1.0,
    dropout_p: float = 0.0,
) -> Array:
    """softmax(scale · q kᵀ + mask) v (Vaswani et al. 2017, equation 1)

    query (B, H, T, D), key (B, H, S, D), value (B, H, S, Dv) -> (B, H, T, Dv). A bool mask (broadcastable to
    (B, H, T, S)) is True where attention is allowed; a float mask is added. ``keep`` is dropout's draw over
    (B, H, T, S). A query that may attend to nothing gets zeros.
    """
    weights = attention_weights(query, key, mask, is_causal, scale)
    if keep is not None:
        weights = dropout(weights, keep, 1 / (1 - dropout_p) if dropout_p < 1 else 0.0)
    return matmul(weights, value)


scaled_dot_product_attention.gradient(query=None, key=None, value=None, mask=None)


def attention_weights(query: Array, key: Array, mask: Array, is_causal: bool, scale: float) -> Array:
    """softmax(scale · q kᵀ + mask), (B, H, T, S)."""
    scores = matmul(query * scale, transpose(key, -1, -2))
    if is_causal:
        scores = where(causal_mask(scores), scores, float("-inf"))
    if mask is not None:
        array: Any = getattr(mask, "array", mask)
        is_bool = array.dtype.kind == "b"
        scores = where(mask, scores, float("-inf")) if is_bool else scores + mask
    return softmax(scores, -1)


def causal_mask(scores: Array) -> Array:
    """(T, S) bools: query i may see the keys up to i."""
    m = xp(getattr(scores, "array", scores))
    return m.tri(scores.shape[-2], scores.shape[-1], dtype=bool)
