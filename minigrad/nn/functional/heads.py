"""The parts of multi-head attention: projections split into heads, masks, and additional keys.

Shape letters: B batch, H heads, T and S target and source length, D model width, Dh width of a head.
"""

from __future__ import annotations

import math
from typing import Any

from ...backend.random import get_dropout_stream
from ...functions.creation import ones, zeros
from ...functions.shaping import cat
from ...ops import attention as ops
from ...tensor import Tensor
from .dropout import dropout
from .linear import linear


def split_heads(x: Tensor, heads: int, batch_first: bool) -> Tensor:
    """(B, T, D), or (T, B, D) if not ``batch_first``, -> (B, H, T, Dh), a view."""
    a, b, width = x.array.shape
    return heads_first(x.reshape(a, b, heads, width // heads), batch_first)


def heads_first(x: Tensor, batch_first: bool) -> Tensor:
    """(B, T, H, Dh), or (T, B, H, Dh) if not ``batch_first``, -> (B, H, T, Dh), a view."""
    return x.transpose(1, 2) if batch_first else x.permute(1, 2, 0, 3)


def merge_heads(x: Tensor, batch_first: bool) -> Tensor:
    """(B, H, T, Dh) -> (B, T, D), or (T, B, D) if not ``batch_first``."""
    batch, heads, length, width = x.array.shape
    if batch_first:
        return x.transpose(1, 2).reshape(batch, length, heads * width)
    return x.permute(2, 0, 1, 3).reshape(length, batch, heads * width)


def laid_out(x: Tensor, batch_first: bool) -> Tensor:
    """(B, T, D), with PyTorch's memory layout, (T, B, D), if dropout follows PyTorch's stream, which is drawn in
    the order of memory."""
    if batch_first and get_dropout_stream() == "pytorch":
        return x.transpose(0, 1).contiguous().transpose(0, 1)
    return x


def project_in(
    query: Tensor, key: Tensor, value: Tensor, weights: tuple[Tensor | None, ...], bias: Tensor | None, heads: int
) -> tuple[Tensor, ...]:
    """x Wᵀ + b for query, key and value, as (., ., H, Dh): one product if they are one tensor, two if key is value.

    Args:
        weights: (3 D, D), then ignored ones; or None, then (D, D), (D, kdim), (D, vdim).
        bias: (3 D) or None.
    """
    joint = weights[0]
    if joint is not None and query is key and key is value:
        return _split_projections(linear(query, joint, bias), 3, heads)
    width = weights[1].array.shape[0] if weights[1] is not None else query.array.shape[-1]
    if joint is not None and key is value:
        first, rest = joint.split((width, 2 * width))
        biases = (None, None) if bias is None else bias.split((width, 2 * width))
        q = linear(query, first, biases[0])
        kv = linear(key, rest, biases[1])
        return *_split_projections(q, 1, heads), *_split_projections(kv, 2, heads)
    matrices = joint.chunk(3) if joint is not None else [w for w in weights[1:] if w is not None]
    vectors = (None, None, None) if bias is None else bias.chunk(3)
    projected = [linear(x, w, b) for x, w, b in zip((query, key, value), matrices, vectors, strict=True)]
    return tuple(_split_projections(x, 1, heads)[0] for x in projected)


def _split_projections(x: Tensor, count: int, heads: int) -> tuple[Tensor, ...]:
    """``count`` projections in one, (., ., count D), each as (., ., H, Dh)."""
    a, b, width = x.array.shape
    return x.reshape(a, b, count, heads, width // count // heads).unbind(2)


def causal_mask(target: int, source: int, like: Tensor) -> Tensor:
    """(T, S) bools, True where query i may not see key j: j > i."""
    return ones(target, source, dtype="bool", device=like.device).triu(1)


def joint_mask(attn_mask: Tensor | None, padding_mask: Tensor | None, heads: int, like: Tensor) -> Tensor | None:
    """PyTorch's two masks (True is masked out) as one for ``attend`` (True may attend), or None.

    Args:
        attn_mask: (T, S) or (B H, T, S), padding_mask: (B, S); bools, or numbers to add to the scores.
    """
    parts: list[Tensor] = []
    if attn_mask is not None:
        is_by_head = attn_mask.ndim == 3
        parts.append(attn_mask.unflatten(0, (-1, heads)) if is_by_head else attn_mask)  # (B H, ...) -> (B, H, ...)
    if padding_mask is not None:
        parts.append(padding_mask[:, None, None, :])  # (B, S) -> (B, 1, 1, S)
    if not parts:
        return None
    if all(m.array.dtype.kind == "b" for m in parts):
        return ~parts[0] if len(parts) == 1 else ~(parts[0] | parts[1])
    added = [_additive(m, like) for m in parts]
    return added[0] if len(added) == 1 else added[0] + added[1]


def _additive(mask: Tensor, like: Tensor) -> Tensor:
    """A mask as numbers to add to the scores: -inf where a bool is True."""
    if mask.array.dtype.kind == "b":
        return zeros(mask.shape, dtype=like.dtype, device=mask.device).masked_fill_(mask, float("-inf"))
    return mask.to(dtype=like.dtype)


def attend_with_weights(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool
) -> tuple[Tensor, Tensor]:
    """``attend``, and the attention weights (B, H, T, S) after dropout, as in PyTorch."""
    weights = ops.attention_weights(query, key, mask, is_causal, 1 / math.sqrt(query.array.shape[-1]))
    weights = dropout(weights, dropout_p)
    return weights @ value, weights


def extended(x: Tensor, *rows: Tensor) -> Tensor:
    """Rows (1 or B, H, 1, Dh) after the S rows of (B, H, S, Dh), for each batch."""
    batch = x.array.shape[0]
    return cat([x, *(row.expand(batch, *row.shape[1:]) for row in rows)], 2)


def extended_mask(mask: Tensor | None, count: int) -> Tensor | None:
    """A mask (True is masked out) with ``count`` more keys, which are not masked."""
    if mask is None or not count:
        return mask
    more: Any = zeros(*mask.shape[:-1], count, dtype=mask.dtype, device=mask.device)
    return cat([mask, more], -1)
