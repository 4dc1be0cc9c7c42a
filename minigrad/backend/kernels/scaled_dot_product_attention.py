"""Attention in blocks of sentences or heads: a block's scores stay in cache from first product to last.

Shape letters: B batch, H heads, T and S target and source length, D and Dv width of a head. With a causal mask, or one
of numbers or bools that hides the future among other things, the queries are cut into parts of PART rows, each with the
keys that it may see: nearly half of the work is never done. What is small, (T, D), is scaled or divided by sums, and
not the (T, S) scores: the weights that are kept are exp(scores), and beside them the sum of each row.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .. import blas
from ..dtype import Array
from ..parallel import BLOCK_BYTES, each
from . import Gradients, Needs, wanted
from ._rows import exp_rows

PART = 64  # queries
MOST = 1 << 15  # scores of ``few_scores``: above this two threads are faster
Part = tuple[slice, slice]  # queries, and the keys that they see


def _parts(length: int, keys: int, added: Array | None, is_causal: bool) -> list[Part]:
    """What is computed together: all, or each PART queries; the last part sees the most keys."""
    if is_causal:
        return _cut(length, keys, 0)
    parts = _cut(length, keys, max(0, keys - length))
    if added is not None and all(_hides(added, t, slice(s.stop, None)) for t, s in parts[:-1]):
        return parts
    return [(slice(0, length), slice(0, keys))]


def _cut(length: int, keys: int, ahead: int) -> list[Part]:
    """Parts of queries, of which number i sees the keys up to number i + ``ahead``."""
    ends = ((t, min(t + PART, length)) for t in range(0, length, PART))
    return [(slice(t, end), slice(0, min(end + ahead, keys))) for t, end in ends]


def _hides(added: Array, t: slice, s: slice) -> bool:
    """Whether a mask of numbers lets some queries attend to none of some keys; most masks say so at the first look."""
    numbers = _piece(added, slice(None), slice(None), t, s)
    return bool((numbers[..., :1, -1:] == -np.inf).all()) and bool((numbers == -np.inf).all())


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


def _piece(x: Array, *slices: slice) -> Array:
    """x[slices], where axes of length 1 stand for any."""
    return x[tuple(slice(None) if n == 1 else s for n, s in zip(x.shape, slices, strict=True))]


def _factor(keep: Array | None, dropout_p: float, dtype: Any) -> Any:
    """What dropout multiplies with."""
    return dtype.type(1 if keep is None else 1 / (1 - dropout_p) if dropout_p < 1 else 0)


def forward(needs: Needs, *args: Any) -> tuple[Array, Any]:
    query, key, value, mask, keep, is_causal, scale, dropout_p = args
    batch, heads, length, _ = query.shape
    keys, dtype = key.shape[2], query.dtype
    few = 0 < batch * heads * length * keys <= MOST
    if few and keep is None and not is_causal and not any(needs):
        with blas.one_thread():
            return few_scores(query, key, value, mask, scale), None
    added = _additive(mask, dtype)
    parts = _parts(length, keys, added, is_causal)
    later = np.triu(np.full((min(length, PART),) * 2, -np.inf, dtype), 1)
    out = _empty_result(query, value)
    stores = [np.empty((batch, heads, t.stop - t.start, s.stop), dtype) for t, s in parts if any(needs)]
    share = np.empty((batch, heads, length), dtype)  # 1 / sum of the row, and dropout's factor
    rest = _factor(keep, dropout_p, dtype)

    def work(a: int, b: int, c: int, d: int) -> None:
        for i, (t, s) in enumerate(parts):
            at = (slice(a, b), slice(c, d), t)
            q, k = query[at] * dtype.type(scale), key[a:b, c:d, s].swapaxes(-1, -2)
            scores = stores[i][a:b, c:d] if stores else np.empty((b - a, d - c, q.shape[2], s.stop), dtype)

            def fill(q: Array = q, k: Array = k, scores: Array = scores, t: slice = t, s: slice = s) -> None:
                np.matmul(q, k, out=scores)
                if is_causal and s.stop > t.start:
                    scores[..., t.start :] += later[: t.stop - t.start, : s.stop - t.start]
                if added is not None:
                    np.add(scores, _piece(added, slice(a, b), slice(c, d), t, s), out=scores)

            fill()
            share[at] = rest / exp_rows(scores, fill)[0]
            if keep is not None:
                scores = scores * keep[a:b, c:d, t, s]
            np.matmul(scores, value[a:b, c:d, s], out=out[at])
            out[at] *= share[at][..., None]

    if share.size and keys:
        each(work, _blocks(batch, heads, length * keys * query.itemsize))
    else:
        out[...] = 0
    return out, (stores, share, out, parts)


def few_scores(query: Array, key: Array, value: Array, mask: Array | None, scale: float) -> Array:
    """Attention with few scores and no gradient, as where one token is decoded: one block, one thread, few calls.

    Blocks, threads and what a gradient keeps cost more here than the attention itself.
    """
    batch, heads, length, _ = query.shape
    q, k = query * query.dtype.type(scale), key.swapaxes(-1, -2)
    scores = np.empty((batch, heads, length, k.shape[-1]), query.dtype)

    def fill() -> None:
        np.matmul(q, k, out=scores)
        if mask is not None and mask.dtype.kind == "b":
            np.copyto(scores, -np.inf, where=~mask)
        elif mask is not None:
            np.add(scores, mask, out=scores)

    fill()
    total, _ = exp_rows(scores, fill)
    out = _empty_result(query, value)
    np.matmul(scores, value, out=out)
    out /= total[..., None]
    return out


def _empty_result(query: Array, value: Array) -> Array:
    """(B, H, T, Dv), which lies as (B, T, H, Dv) in memory: the layer that follows wants it so."""
    batch, heads, length, _ = query.shape
    return np.empty((batch, length, heads, value.shape[-1]), query.dtype).transpose(0, 2, 1, 3)


def backward(needs: Needs, saved: Any, g: Array, *args: Any) -> Gradients:
    query, key, value, mask, keep, _, scale, dropout_p = args
    stores, share, out, parts = saved
    batch, heads, length, _ = query.shape
    keys, dtype = key.shape[2], query.dtype
    dquery, dkey, dvalue = _laid_like(query, key, value)
    dscores = np.zeros((batch, heads, length, keys), dtype) if needs[3] else None
    rest = _factor(keep, dropout_p, dtype)

    def work(a: int, b: int, c: int, d: int) -> None:
        some = (slice(a, b), slice(c, d))
        for i in reversed(range(len(parts))):
            (t, s), weights = parts[i], stores[i][some]
            at, last = (*some, t), i == len(parts) - 1
            slopes = g[at] * share[at][..., None]
            dots = np.einsum("bhtd,bhtd->bht", slopes, out[at]) / (rest or 1)  # over the keys, weight · slope
            dropped = weights if keep is None else weights * keep[(*some, t, s)]
            _product(dropped.swapaxes(-1, -2), slopes, dvalue[(*some, s)], last)
            slope = slopes @ value[(*some, s)].swapaxes(-1, -2)
            if keep is not None:
                slope *= keep[(*some, t, s)]
            slope -= dots[..., None]
            slope *= weights
            if dscores is not None:
                dscores[(*some, t, s)] = slope
            np.matmul(slope, key[(*some, s)] * dtype.type(scale), out=dquery[at])
            _product(slope.swapaxes(-1, -2), query[at] * dtype.type(scale), dkey[(*some, s)], last)
            if last:
                dkey[a:b, c:d, s.stop :], dvalue[a:b, c:d, s.stop :] = 0, 0  # seen by no query

    if share.size and keys:
        each(work, _blocks(batch, heads, length * keys * query.itemsize))
    else:
        dquery[...], dkey[...], dvalue[...] = 0, 0, 0
    return wanted(needs, dquery, dkey, dvalue, None if dscores is None else sum_to(dscores, mask))


def _product(a: Array, b: Array, out: Array, first: bool) -> None:
    """a b written to ``out``, or added to it."""
    if first:
        np.matmul(a, b, out=out)
    else:
        out += a @ b


def _laid_like(query: Array, key: Array, value: Array) -> list[Array]:
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
    places = [x.__array_interface__["data"][0] for x in xs]
    return all(b - a == heads * width * size for a, b in pairwise(places))


def _packed(xs: tuple[Array, ...]) -> list[Array]:
    """Empty arrays like (B, H, T, D) ones, in one memory of (B, T, n, H, D), or (T, B, n, H, D)."""
    batch, heads, length, width = xs[0].shape
    by_batch = xs[0].strides[0] >= xs[0].strides[2]
    lead = (batch, length) if by_batch else (length, batch)
    memory = np.empty((*lead, len(xs), heads, width), xs[0].dtype)
    axes = (0, 2, 1, 3) if by_batch else (1, 2, 0, 3)
    return [memory[:, :, i].transpose(axes) for i in range(len(xs))]


def sum_to(slope: Array, mask: Any) -> Array:
    """The scores' gradient (B, H, T, S) summed over the axes that the mask was broadcast along."""
    full = (1,) * (4 - mask.ndim) + mask.shape
    axes = tuple(i for i, n in enumerate(full) if n == 1 < slope.shape[i])
    return slope.sum(axis=axes, keepdims=True).reshape(mask.shape).astype(mask.dtype, copy=False)
