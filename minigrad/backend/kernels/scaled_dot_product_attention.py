"""Attention in blocks of heads: a block's scores stay in cache from the first product to the last."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import Array
from ..parallel import BLOCK_BYTES, each
from .rows import row_dot, softmax_rows


def _blocks(batch: int, bytes_each: int) -> list[tuple[int, int]]:
    """The batch cut so that a block's scores fit into cache, and every core has work."""
    step = max(1, min(BLOCK_BYTES // max(1, bytes_each), -(-batch // 8)))
    return [(a, min(batch, a + step)) for a in range(0, batch, step)]


def _additive(mask: Array | None, is_causal: bool, query: Array, key: Array) -> list[Array]:
    """The masks as numbers to add to the scores, each with four axes."""
    found = []
    infinity = np.array(-np.inf, query.dtype)
    if is_causal:
        allowed = np.tri(query.shape[2], key.shape[2], dtype=bool)
        found.append(np.where(allowed, query.dtype.type(0), infinity)[None, None])
    if mask is not None:
        numbers = np.where(mask, query.dtype.type(0), infinity) if mask.dtype.kind == "b" else mask
        found.append(numbers.reshape((1,) * (4 - numbers.ndim) + numbers.shape))
    return found


def _part(mask: Array, a: int, b: int) -> Array:
    return mask if mask.shape[0] == 1 else mask[a:b]


def forward(
    needs: tuple[bool, ...], query: Array, key: Array, value: Array, mask: Array | None, keep: Array | None,
    is_causal: bool, scale: float, dropout_p: float,
) -> tuple[Array, Any]:  # fmt: skip
    batch, heads, length, _ = query.shape
    keys, width = key.shape[2], value.shape[3]
    masks = _additive(mask, is_causal, query, key)
    # (B, T, H, Dv) in memory, as the layer that follows wants it; the result shows it as (B, H, T, Dv)
    out = np.empty((batch, length, heads, width), query.dtype).transpose(0, 2, 1, 3)
    weights = np.empty((batch, heads, length, keys), query.dtype) if any(needs) else None
    factor = query.dtype.type(1 / (1 - dropout_p) if dropout_p < 1 else 0)

    def work(a: int, b: int) -> None:
        scores = np.empty((b - a, heads, length, keys), query.dtype) if weights is None else weights[a:b]
        np.matmul(query[a:b], key[a:b].swapaxes(-1, -2), out=scores)
        scores *= query.dtype.type(scale)
        for m in masks:
            scores += _part(m, a, b)
        rows = scores.reshape(-1, keys)  # (B·H·T, S)
        softmax_rows(rows, rows)
        if keep is not None:
            scores = scores * keep[a:b]
            scores *= factor
        np.matmul(scores, value[a:b], out=out[a:b])

    if query.size and keys:
        each(work, _blocks(batch, heads * length * keys * query.itemsize))
    else:
        out[...] = 0
    return out, weights


def backward(
    needs: tuple[bool, ...], saved: Array, g: Array, query: Array, key: Array, value: Array,
    mask: Array | None, keep: Array | None, is_causal: bool, scale: float, dropout_p: float,
) -> tuple[Array | None, ...]:  # fmt: skip
    batch, heads, length, keys = saved.shape
    dquery, dkey, dvalue = (_like(x) for x in (query, key, value))
    dscores = np.zeros(saved.shape, saved.dtype) if needs[3] else None
    factor = query.dtype.type(1 / (1 - dropout_p) if dropout_p < 1 else 0)
    scale = query.dtype.type(scale)

    def work(a: int, b: int) -> None:
        weights = saved[a:b]
        dropped = weights if keep is None else weights * keep[a:b] * factor
        np.matmul(dropped.swapaxes(-1, -2), g[a:b], out=dvalue[a:b])
        slope = g[a:b] @ value[a:b].swapaxes(-1, -2)
        if keep is not None:
            slope *= keep[a:b]
            slope *= factor
        rows, own = slope.reshape(-1, keys), weights.reshape(-1, keys)  # (B·H·T, S)
        rows -= row_dot(rows, own)[:, None]
        rows *= own
        if dscores is not None:
            dscores[a:b] = slope
        slope *= scale
        np.matmul(slope, key[a:b], out=dquery[a:b])
        np.matmul(slope.swapaxes(-1, -2), query[a:b], out=dkey[a:b])

    if saved.size:
        each(work, _blocks(batch, heads * length * keys * query.itemsize))
    else:
        dquery[...], dkey[...], dvalue[...] = 0, 0, 0
    return (dquery if needs[0] else None, dkey if needs[1] else None, dvalue if needs[2] else None,
            _sum_to(dscores, mask), None, None, None, None)  # fmt: skip


def _like(x: Array) -> Array:
    """An empty (B, H, T, D) that lies in memory as (B, T, H, D): the way back is then a view."""
    batch, heads, length, width = x.shape
    return np.empty((batch, length, heads, width), x.dtype).transpose(0, 2, 1, 3)


def _sum_to(slope: Array | None, mask: Array | None) -> Array | None:
    """The scores' gradient summed over the axes that the mask was broadcast along."""
    if slope is None or mask is None:
        return None
    full = (1,) * (4 - mask.ndim) + mask.shape
    axes = tuple(i for i, n in enumerate(full) if n == 1 and slope.shape[i] != 1)
    total: Array = slope.sum(axis=axes, keepdims=True).reshape(mask.shape)
    return total
