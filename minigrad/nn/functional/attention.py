"""Scaled dot-product attention for any leading axes.

Shape letters: B batch, H heads, T and S target and source length, Dh width of a head, Dv of a value.
"""

from __future__ import annotations

import math

from ...backend.dtype import kind_of
from ...functions.arguments import common_shape
from ...ops import attention as ops
from ...tensor import Tensor, apply
from ._checks import probability, same_dtype
from .dropout import keep_mask

__all__ = ["scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(scale · q kᵀ + mask) v (Vaswani et al. 2017, equation 1).

    Args:
        query: (..., T, Dh). key: (..., S, Dh). value: (..., S, Dv). Leading axes broadcast.
        attn_mask: broadcasts to (..., T, S): bools, True where attention is allowed, or numbers to add to the
            scores.
        dropout_p: dropout of the attention weights, also in evaluation: pass 0.0 there.
        is_causal: query i may attend to the keys up to i; there must be no mask then.
        scale: 1 / √Dh if None.
        enable_gqa: key and value may have fewer heads (axis -3) than the query, each shared by several.

    Returns (..., T, Dv). A query that may attend to nothing gets zeros.

    >>> q = k = v = mg.zeros(1, 2, 5, 4)
    >>> F.scaled_dot_product_attention(q, k, v, is_causal=True).shape
    minigrad.Size([1, 2, 5, 4])
    """
    if is_causal and attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    _check_attention(query, key, value, attn_mask)
    probability("dropout", dropout_p)
    if enable_gqa and key.ndim >= 3 and key.shape[-3] != query.shape[-3]:
        key, value = _shared_heads(query, key), _shared_heads(query, value)
    lead, *others = (t.array.shape[:-2] for t in (query, key, value))
    lead = lead if lead == others[0] == others[1] else common_shape(lead, *others)
    if attn_mask is not None:
        _check_mask(attn_mask, (*lead, query.array.shape[-2], key.array.shape[-2]))
    q, k, v = (_folded(t, lead) for t in (query, key, value))
    out = attend(q, k, v, _folded_mask(attn_mask, lead), dropout_p, is_causal, scale)
    return out if len(lead) == 2 else out.reshape(*lead, *out.shape[-2:])  # (B, H, T, Dv) -> (..., T, Dv)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """The fused op: (B, H, T, Dh), (B, H, S, Dh), (B, H, S, Dv) and an optional mask -> (B, H, T, Dv)."""
    keep = None
    if dropout_p:
        keep = keep_mask(query, (*query.array.shape[:-1], key.array.shape[-2]), dropout_p)
    scale = 1 / math.sqrt(query.array.shape[-1]) if scale is None else scale
    args = (query, key, value, mask, keep, is_causal, float(scale), float(dropout_p))
    out: Tensor = apply(ops.scaled_dot_product_attention, args)
    return out if out.array.dtype == query.array.dtype else out.to(query.dtype)  # a wider mask changes no dtype


def _check_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    name = "scaled_dot_product_attention"
    same_dtype(name, query, key=key, value=value)
    q, k, v = query.array.shape, key.array.shape, value.array.shape
    if min(len(q), len(k), len(v)) < 2 or q[-1] != k[-1] or k[-2] != v[-2]:
        expected = "query (..., T, Dh), key (..., S, Dh) and value (..., S, Dv)"
        raise RuntimeError(f"{name}: {expected} do not fit: got {q}, {k} and {v}")
    if mask is not None and kind_of(mask.array) not in "bf":
        problem = f"Expected attn_mask dtype to be bool or float, but got {mask.dtype}"
        raise RuntimeError(f"{name}: {problem}: a mask of 0 and 1 becomes bool with .bool()")


def _check_mask(mask: Tensor, scores: tuple[int, ...]) -> None:
    shape = mask.array.shape
    if len(shape) > len(scores) or any(n not in (1, m) for n, m in zip(shape[::-1], scores[::-1], strict=False)):
        fits = f"the scores (..., T, S), {scores}: {scores[-2:]} fits"
        problem = f"attn_mask of shape {tuple(shape)} does not broadcast to {fits}"
        raise RuntimeError(f"scaled_dot_product_attention: {problem}")


def _shared_heads(query: Tensor, few: Tensor) -> Tensor:
    """Each head of key or value repeated for the queries that share it: (..., Hk, S, D) -> (..., H, S, D)."""
    heads, shared = query.shape[-3], few.shape[-3]
    if heads % shared:
        problem = f"{heads} query heads cannot share {shared} key or value heads evenly"
        raise RuntimeError(f"scaled_dot_product_attention: {problem}")
    return few.repeat_interleave(heads // shared, -3)


def _folded(x: Tensor, lead: tuple[int, ...]) -> Tensor:
    """(..., T, D), its leading axes broadcast to ``lead``, -> (B, H, T, D)."""
    x = x if x.array.shape[:-2] == lead else x.expand(*lead, *x.shape[-2:])
    return x if len(lead) == 2 else x.reshape(math.prod(lead[:-1]), lead[-1] if lead else 1, *x.shape[-2:])


def _folded_mask(mask: Tensor | None, lead: tuple[int, ...]) -> Tensor | None:
    """A mask that broadcasts to (*lead, T, S) as one that broadcasts to (B, H, T, S)."""
    if mask is None or len(lead) == 2 or mask.array.ndim <= min(3, len(lead) + 1):
        return mask
    shape = tuple(mask.array.shape)
    wide = mask.expand(*lead[:-1], *((1,) * (len(lead) + 2 - len(shape)) + shape)[-3:])
    return wide.reshape(math.prod(lead[:-1]), *wide.shape[-3:])  # (..., H, T, S) -> (B, H, T, S)
