"""Attention for one head of a sequence and PART of its queries at a time, so that scores never leave the cache. Shape
letters: B batch, H heads, T and S target and source length, D and Dv width of a head. It saves each row's largest score
and 1 / the sum of its exponentials, and the backward pass recomputes the weights (Dao et al. 2022, FlashAttention: Fast
and Memory-Efficient Exact Attention with IO-Awareness). With a causal mask, a part skips later keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.functions import at, exp, length, step
from ..compiled.loops import FLOAT32, Flat, Strided, fits, inline, loop, scratch
from ..compiled.native import bools16, first16, load16, max16, row, spread16, store16, sum16, top16
from ..compiled.tiles import TILE, multiply, multiply_turned, pack, pack_turned
from ..dtype import Array
from ..products_numba import leading
from . import Gradients, Needs, wanted
from ._attention import empty_result, factor, laid_like

F = np.float32
PART = 32  # queries
FEW = 4  # queries: with fewer, packing does not pay off
ROW = 4 * TILE  # bytes
WORK = 1 << 16  # multiplications in a block: a few microseconds


@inline
def head_of(x: int, b: int, h: int) -> int:
    """The address of the rows of a head."""
    return at(x) + b * step(x, 0) + h * step(x, 1)


@inline
def columns(keys: int) -> int:
    """``keys`` rounded up to whole tiles."""
    return -(-keys // TILE) * TILE


@inline
def multiply_rows(m: int, n: int, k: int, a: int, lda: int, b: int, ldb: int, c: int, ldc: int) -> None:
    """C = A Bᵀ, an element at a time."""
    for i in range(m):
        line, out = row(a + 4 * i * lda, k), row(c + 4 * i * ldc, n)
        for j in range(n):
            other, total = row(b + 4 * j * ldb, k), F(0.0)
            for d in range(k):
                total += line[d] * other[d]
            out[j] = total


@inline
def score_rows(
    scores: int, wide: int, n: int, keys: int, first: int, is_causal: int, scale: float, mask: int, mask_step: int,
    top: Flat, place: int, has_top: bool,
) -> None:  # fmt: skip
    """e^(score · scale - top) for n queries from index ``first`` on, in rows of ``wide`` elements. The mask is added,
    and masked keys get weight 0, as do columns up to ``wide``. A row's maximum goes to ``top``, unless ``has_top``."""
    for i in range(n):
        line, best = scores + 4 * i * wide, spread16(F(-np.inf))
        count = min(keys, first + i + 1) if is_causal else keys
        for s in range(0, wide, TILE):
            x = load16(line + 4 * s) * spread16(F(scale))
            if mask:
                x += load16(mask + i * mask_step + 4 * s)
            x = first16(count - s, x, F(-np.inf))
            best = max16(x, best)
            store16(line + 4 * s, x)
        if not has_top:
            largest = top16(best)
            top[place + i] = F(0.0) if largest == F(-np.inf) else largest
        shift = spread16(-top[place + i])
        for s in range(0, wide, TILE):
            store16(line + 4 * s, load16(line + 4 * s) + shift)
    elements = row(scores, n * wide)  # a single loop over all rows takes less time than a short loop for each
    for j in range(len(elements)):
        elements[j] = exp(elements[j])


@inline
def weigh_rows(
    weights: int, wide: int, n: int, keep: int, keep_step: int, rest: float, share: Flat, place: int
) -> None:
    """Divide the exponentials of n rows by their sums, write 1 / sum to ``share``, and apply the mask at ``keep``."""
    for i in range(n):
        line, draw, sums = weights + 4 * i * wide, keep + i * keep_step, spread16(F(0.0))
        for s in range(0, wide, TILE):
            sums += load16(line + 4 * s)
        total = sum16(sums)
        share[place + i] = F(0.0) if total == F(0.0) else F(1.0) / total
        for s in range(0, wide, TILE):
            x = load16(line + 4 * s) * spread16(share[place + i] * F(rest))
            store16(line + 4 * s, x * bools16(draw + s) if keep else x)


@inline
def grad_rows(
    weights: int, grads: int, wide: int, n: int, keys: int, keep: int, keep_step: int, rest: float, scale: float,
    share: Flat, place: int,
) -> None:  # fmt: skip
    """From exponentials and the gradients for the weights after dropout, compute these weights, and the gradients for
    the scores before ``scale``, w (gradient - Σ w gradient) · scale."""
    for i in range(n):
        line, grad, draw = weights + 4 * i * wide, grads + 4 * i * wide, keep + i * keep_step
        part, factor, sums = spread16(share[place + i]), spread16(F(rest)), spread16(F(0.0))
        for s in range(0, wide, TILE):
            x = first16(keys - s, load16(grad + 4 * s), F(0.0))
            if keep:
                x = x * factor * bools16(draw + s)
                store16(grad + 4 * s, x)
            sums += load16(line + 4 * s) * part * x
        total = spread16(-sum16(sums))
        for s in range(0, wide, TILE):
            w, x = load16(line + 4 * s) * part, load16(grad + 4 * s)
            store16(grad + 4 * s, w * spread16(F(scale)) * (x + total))
            store16(line + 4 * s, w * factor * bools16(draw + s) if keep else w)


@loop
def attend(
    start: int, stop: int, thread: int, query: Strided, key: Strided, value: Strided, added: Strided,
    added_b: int, added_h: int, added_t: int, keep: int, is_causal: int, scale: float, rest: float, memory: Strided,
    out: Strided, top: Flat, share: Flat,
) -> None:  # fmt: skip
    """The result, and for each row the largest score and 1 / the sum of exponentials, for heads of sequences."""
    heads, queries, width = length(query, 1), length(query, 2), length(query, 3)
    keys, depth = length(value, 2), length(value, 3)
    weights, ldq, ldk = at(memory) + thread * step(memory, 0), leading(query), leading(key)
    ldv, ldy = leading(value), leading(out)
    kt = weights + 4 * columns(keys) * min(PART, queries)
    vp = kt + 4 * columns(keys) * width
    for unit in range(start, stop):
        b, h = unit // heads, unit % heads
        q, k, v, y = head_of(query, b, h), head_of(key, b, h), head_of(value, b, h), head_of(out, b, h)
        mask = at(added) + b * added_b + h * added_h if length(added, 0) else 0
        v_at, v_row, v_tile = v, 4 * ldv, ROW
        if queries >= FEW:
            pack_turned(k, ldk, keys, width, kt)
            pack(v, ldv, keys, depth, vp)
            v_at, v_row, v_tile = vp, ROW, ROW * keys
        for t in range(0, queries, PART):
            n, place = min(PART, queries - t), unit * queries + t
            count = min(keys, t + n) if is_causal else keys
            qt, yt, wide = q + t * step(query, 2), y + t * step(out, 2), columns(count)
            added_row = mask + t * added_t if mask else 0
            if queries >= FEW:
                multiply(n, count, width, qt, ldq, kt, ROW, ROW * width, False, weights, wide)
            else:
                multiply_rows(n, count, width, qt, ldq, k, ldk, weights, wide)
            score_rows(weights, wide, n, count, t, is_causal, scale, added_row, added_t, top, place, False)
            weigh_rows(weights, wide, n, keep + place * keys if keep else 0, keys, rest, share, place)
            multiply(n, depth, count, weights, wide, v_at, v_row, v_tile, False, yt, ldy)


@loop
def attend_back(
    start: int, stop: int, thread: int, g: Strided, query: Strided, key: Strided, value: Strided,
    added: Strided, added_b: int, added_h: int, added_t: int, keep: int, is_causal: int, scale: float, rest: float,
    memory: Strided, top: Flat, share: Flat, dquery: Strided, dkey: Strided, dvalue: Strided,
) -> None:  # fmt: skip
    """The gradients for heads of sequences. The last part, with the most keys, runs first; the others add to it."""
    heads, queries, width = length(query, 1), length(query, 2), length(query, 3)
    keys, depth = length(value, 2), length(value, 3)
    weights, ldq, ldk = at(memory) + thread * step(memory, 0), leading(query), leading(key)
    ldv, ldg = leading(value), leading(g)
    lddq, lddk, lddv = leading(dquery), leading(dkey), leading(dvalue)
    most, part = columns(keys), min(PART, queries)
    grads, kt = weights + 4 * most * part, weights + 8 * most * part
    vt, kp = kt + 4 * most * width, kt + 4 * most * (width + depth)
    qp, gp = kp + 4 * keys * width, kp + 4 * (keys + part) * width
    for unit in range(start, stop):
        b, h = unit // heads, unit % heads
        q, k, v, gh = head_of(query, b, h), head_of(key, b, h), head_of(value, b, h), head_of(g, b, h)
        dq, dk, dv = head_of(dquery, b, h), head_of(dkey, b, h), head_of(dvalue, b, h)
        mask = at(added) + b * added_b + h * added_h if length(added, 0) else 0
        pack_turned(k, ldk, keys, width, kt)
        pack_turned(v, ldv, keys, depth, vt)
        pack(k, ldk, keys, width, kp)
        last = (queries - 1) // PART * PART
        for t in range(last, -1, -PART):
            n, place = min(PART, queries - t), unit * queries + t
            count = min(keys, t + n) if is_causal else keys
            more, added_row = t < last, mask + t * added_t if mask else 0
            qt, gt, dqt = q + t * step(query, 2), gh + t * step(g, 2), dq + t * step(dquery, 2)
            draw, wide = keep + place * keys if keep else 0, columns(count)
            pack(qt, ldq, n, width, qp)
            pack(gt, ldg, n, depth, gp)
            multiply(n, count, width, qt, ldq, kt, ROW, ROW * width, False, weights, wide)
            score_rows(weights, wide, n, count, t, is_causal, scale, added_row, added_t, top, place, True)
            multiply(n, count, depth, gt, ldg, vt, ROW, ROW * depth, False, grads, wide)
            grad_rows(weights, grads, wide, n, count, draw, keys, rest, scale, share, place)
            multiply(n, width, count, grads, wide, kp, ROW, ROW * keys, False, dqt, lddq)
            multiply_turned(count, width, n, grads, wide, qp, ROW, ROW * n, more, dk, lddk)
            multiply_turned(count, depth, n, weights, wide, gp, ROW, ROW * n, more, dv, lddv)
        hidden = max(0, keys - queries) if is_causal else 0  # masked for every query: their gradients are 0
        dk, dv = dk + (keys - hidden) * step(dkey, 2), dv + (keys - hidden) * step(dvalue, 2)
        multiply(hidden, width, 0, q, ldq, kp, ROW, ROW * keys, False, dk, lddk)
        multiply(hidden, depth, 0, q, ldq, kp, ROW, ROW * keys, False, dv, lddv)


def _in_tiles(x: Array) -> Array:
    """The array, or a copy with contiguous rows of whole tiles. The columns that it adds are 0."""
    width, line = x.shape[3], x.strides[2]
    if x.dtype is FLOAT32 and x.strides[3] == 4 and line >= 4 * width and not (width % TILE or line % 4):
        return x
    padded = np.zeros((*x.shape[:3], columns(width)), FLOAT32)
    padded[..., :width] = x
    return padded


def _added(mask: Array | None, query: Array, key: Array) -> tuple[Array | None, int, int, int]:
    """The mask as numbers, in rows of whole tiles, and its strides in bytes along B, H and T."""
    if mask is None:
        return None, 0, 0, 0
    numbers: Any = np.where(mask, FLOAT32.type(0), FLOAT32.type(-np.inf)) if mask.dtype.kind == "b" else mask
    numbers = numbers.reshape((1,) * (4 - numbers.ndim) + numbers.shape)
    padded = np.zeros((*numbers.shape[:3], columns(key.shape[2])), FLOAT32)
    padded[..., : key.shape[2]] = numbers
    b, h, t = (0 if n == 1 else s for n, s in zip(padded.shape[:3], padded.strides[:3], strict=True))
    return padded, b, h, t


def _units(query: Array, value: Array) -> tuple[int, int]:
    """The number of heads in all sequences, and the number of heads in a block."""
    batch, heads, length, width = query.shape
    return batch * heads, WORK // (length * value.shape[2] * (width + value.shape[3]))


def forward(needs: Needs, *args: Any) -> tuple[Array, Any]:
    query, key, value, mask, keep, is_causal, scale, dropout_p = args
    if not (fits(query, key, value) and key.size and value.size) or needs[3]:
        return NotImplemented
    query, key, value = map(_in_tiles, args[:3])
    batch, heads, length, _ = query.shape
    if keep is not None:  # loops read whole tiles
        keep = np.append(np.asarray(keep, np.bool_), np.zeros(TILE, np.bool_))
    mask_address = 0 if keep is None else keep.__array_interface__["data"][0]  # keep itself is among the saved values
    how = *_added(mask, query, key), mask_address, bool(is_causal), scale, factor(keep, dropout_p)
    out = empty_result(query, value)
    top, share = np.empty((2, batch * heads * length), FLOAT32)
    memory = scratch(columns(value.shape[2]) * (min(PART, length) + query.shape[3] + value.shape[3]))
    attend(*_units(query, value), query, key, value, *how, memory, out, top, share)
    return out[..., : args[2].shape[3]], (query, key, value, how, top, share, keep) if any(needs) else None


def backward(needs: Needs, saved: Any, g: Array, *args: Any) -> Gradients:
    query, key, value, how, top, share, _ = saved
    gradients = laid_like(query, key, value)
    (length, width), (keys, depth) = query.shape[2:], value.shape[2:]
    part = min(PART, length)
    memory = scratch(columns(keys) * (2 * part + 2 * width + depth) + part * (width + depth))
    attend_back(*_units(query, value), _in_tiles(g), query, key, value, *how, memory, top, share, *gradients)
    return wanted(needs, *(grad[..., : x.shape[3]] for grad, x in zip(gradients, args, strict=False)))
