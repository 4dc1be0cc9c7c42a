"""Attention in blocks of sentences or heads: a block's scores stay in cache from first product to last.

Shape letters: B batch, H heads, T and S target and source length, D and Dv width of a head. What is small, (T, D), is
scaled or divided by sums, and not the (T, S) scores: the weights that are kept are exp(scores), and beside them the sum
of each row.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..dtype import Array
from ..parallel import BLOCK_BYTES, each
from ..registry import address, xp
from . import Gradients, Needs, wanted
from ._rows import exp_rows


def _blocks(batch: int, heads: int, bytes_each: int) -> list[tuple[int, ...]]:
    """(first sentence, last, first head, last), each block's scores in cache, and at least two blocks."""
    sentences = max(1, min(BLOCK_BYTES // max(1, heads * bytes_each), (batch + 1) // 2))
    some = heads if batch > 1 else (heads + 1) // 2
    return [
        (b, min(batch, b + sentences), h, min(heads, h + some))
        for b in range(0, batch, sentences)
        for h in range(0, heads, some)
    ]


def _additive(mask: Array | None, dtype: Any) -> Array | None:
    """The mask as numbers to add to the scores, with four axes."""
    if mask is None:
        return None
    numbers = np.where(mask, dtype.type(0), dtype.type(-np.inf)) if mask.dtype.kind == "b" else mask
    return numbers.reshape((1,) * (4 - numbers.ndim) + numbers.shape)


def _piece(x: Array, some: tuple[slice, slice]) -> Array:
    """x[some], where axes of length 1 stand for any."""
    return x[tuple(slice(None) if n == 1 else s for n, s in zip(x.shape[:2], some, strict=True))]


def _factor(keep: Array | None, dropout_p: float, dtype: Any) -> Any:
    """What dropout multiplies with."""
    return dtype.type(1 if keep is None else 1 / (1 - dropout_p) if dropout_p < 1 else 0)


def forward(needs: Needs, *args: Any) -> tuple[Array, Any]:
    query, key, value, mask, keep, is_causal, scale, dropout_p = args
    batch, heads, length, _ = query.shape
    keys, dtype = key.shape[2], query.dtype
    added = _additive(mask, dtype)
    later = np.triu(np.full((length, keys), -np.inf, dtype), 1) if is_causal else None
    out = empty_result(query, value)
    store = np.empty((batch, heads, length, keys), dtype) if any(needs) else None
    share = np.empty((batch, heads, length), dtype)  # 1 / sum of the row, and dropout's factor
    rest = _factor(keep, dropout_p, dtype)

    def work(a: int, b: int, c: int, d: int) -> None:
        some = slice(a, b), slice(c, d)
        q, k = query[some] * dtype.type(scale), key[some].swapaxes(-1, -2)
        scores = np.empty((b - a, d - c, length, keys), dtype) if store is None else store[some]

        def fill() -> None:
            np.matmul(q, k, out=scores)
            if later is not None:
                np.add(scores, later, out=scores)
            if added is not None:
                np.add(scores, _piece(added, some), out=scores)

        fill()
        share[some] = rest / exp_rows(scores, fill)[0]
        np.matmul(scores if keep is None else scores * keep[some], value[some], out=out[some])
        out[some] *= share[some][..., None]

    if share.size and keys:
        each(work, _blocks(batch, heads, length * keys * query.itemsize))
    else:
        out[...] = 0
    return out, (store, share, out)


def empty_result(query: Array, value: Array) -> Array:
    """(B, H, T, Dv), which lies as (B, T, H, Dv) in memory: the layer that follows wants it so."""
    batch, heads, length, _ = query.shape
    return xp(query).empty((batch, length, heads, value.shape[-1]), query.dtype).transpose(0, 2, 1, 3)


def backward(needs: Needs, saved: Any, g: Array, *args: Any) -> Gradients:
    query, key, value, mask, keep, _, scale, dropout_p = args
    store, share, out = saved
    batch, heads, length, _ = query.shape
    keys, dtype = key.shape[2], query.dtype
    dquery, dkey, dvalue = laid_like(query, key, value)
    dscores = np.zeros((batch, heads, length, keys), dtype) if needs[3] else None
    rest = _factor(keep, dropout_p, dtype)

    def work(a: int, b: int, c: int, d: int) -> None:
        some = slice(a, b), slice(c, d)
        weights, slopes = store[some], g[some] * share[some][..., None]
        dots = np.einsum("bhtd,bhtd->bht", slopes, out[some]) / (rest or 1)  # over the keys, weight · slope
        dropped = weights if keep is None else weights * keep[some]
        np.matmul(dropped.swapaxes(-1, -2), slopes, out=dvalue[some])
        slope = slopes @ value[some].swapaxes(-1, -2)
        if keep is not None:
            slope *= keep[some]
        slope -= dots[..., None]
        slope *= weights
        if dscores is not None:
            dscores[some] = slope
        np.matmul(slope, key[some] * dtype.type(scale), out=dquery[some])
        np.matmul(slope.swapaxes(-1, -2), query[some] * dtype.type(scale), out=dkey[some])

    if share.size and keys:
        each(work, _blocks(batch, heads, length * keys * query.itemsize))
    else:
        dquery[...], dkey[...], dvalue[...] = 0, 0, 0
    return wanted(needs, dquery, dkey, dvalue, None if dscores is None else sum_to(dscores, mask))


def laid_like(query: Array, key: Array, value: Array) -> list[Array]:
    """Empty arrays of the shapes of the three, side by side in one memory where these are (slices of one
    projection): the way back through the slices is then a view."""
    for together in ((query, key, value), (key, value)):
        if _side_by_side(together):
            packed = _packed(together)
            return packed if len(packed) == 3 else [*_packed((query,)), *packed]
    return [_packed((x,))[0] for x in (query, key, value)]


def _side_by_side(xs: tuple[Array, ...]) -> bool:
    """Whether (B, H, T, D) arrays are neighbouring slices of one (B, T, n, H, D), or (T, B, n, H, D)."""
    first = xs[0]
    _, heads, _, width = first.shape
    size = first.itemsize
    if first.base is None or (first.strides[1], first.strides[3]) != (width * size, size):
        return False
    if any(x.base is not first.base or x.shape != first.shape or x.strides != first.strides for x in xs):
        return False
    places = [address(x) for x in xs]
    return all(b - a == heads * width * size for a, b in pairwise(places))


def _packed(xs: tuple[Array, ...]) -> list[Array]:
    """Empty arrays like (B, H, T, D) ones, in one memory of (B, T, n, H, D), or (T, B, n, H, D)."""
    batch, heads, length, width = xs[0].shape
    by_batch = xs[0].strides[0] >= xs[0].strides[2]
    lead = (batch, length) if by_batch else (length, batch)
    memory = xp(xs[0]).empty((*lead, len(xs), heads, width), xs[0].dtype)
    axes = (0, 2, 1, 3) if by_batch else (1, 2, 0, 3)
    return [memory[:, :, i].transpose(axes) for i in range(len(xs))]


def sum_to(slope: Array, mask: Any) -> Array:
    """The scores' gradient (B, H, T, S) summed over the axes that the mask was broadcast along."""
    full = (1,) * (4 - mask.ndim) + mask.shape
    axes = tuple(i for i, n in enumerate(full) if n == 1 < slope.shape[i])
    return slope.sum(axis=axes, keepdims=True).reshape(mask.shape).astype(mask.dtype, copy=False)
