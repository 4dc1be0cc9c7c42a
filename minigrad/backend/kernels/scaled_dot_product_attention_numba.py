"""Attention for one head of a sequence and PART of its queries at a time, so that scores never leave the cache. Shape
letters: B batch, H heads, T and S target and source length, D and Dv width of a head. It saves each row's largest score
and 1 / the sum of its exponentials, and the backward pass recomputes the weights (Dao et al. 2022, FlashAttention: Fast
and Memory-Efficient Exact Attention with IO-Awareness). With a causal mask, a part skips later keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import blas
from ..compiled.functions import at, exp, length, step
from ..compiled.loops import FLOAT32, Flat, Strided, fits, inline, loop, scratch
from ..compiled.native import flags, row
from ..compiled.tiles import TILE, multiply, pack, pack_turned
from ..dtype import Array
from . import Gradients, Needs, wanted
from ._attention import empty_result, factor, laid_like
from ._softmax_numba import top as largest

F = np.float32
PART = 32  # queries
SHORT = 256  # keys: BLAS multiplies the heads of longer sequences
WORK = 1 << 16  # multiplications in a block: a few microseconds


@inline
def head_of(x: int, b: int, h: int) -> int:
    """The address of the rows of a head."""
    return at(x) + b * step(x, 0) + h * step(x, 1)


@inline
def leading(x: int) -> int:
    """The number of elements from one row of a head to the next."""
    return step(x, 2) // 4


@inline
def columns(keys: int) -> int:
    """``keys`` rounded up to whole tiles."""
    return -(-keys // TILE) * TILE


@inline
def score_rows(
    scores: int, wide: int, n: int, keys: int, first: int, is_causal: int, scale: float, mask: int, mask_step: int,
    top: Flat, share: Flat, place: int, has_top: bool,
) -> None:  # fmt: skip
    """e^(score · scale - top) for n queries, from number ``first`` on, in rows of ``wide`` elements. The mask is added,
    and hidden keys get weight 0, as do the columns up to a whole tile: loops over whole tiles are faster. A row's
    largest score is written to ``top``, and 1 / the sum of its exponentials to ``share``, unless it ``has_top``."""
    for i in range(n):
        line = row(scores + 4 * i * wide, columns(keys))
        count = min(keys, first + i + 1) if is_causal else keys
        for s in range(len(line)):
            line[s] = line[s] * F(scale) if s < count else F(-np.inf)
        if mask:
            added = row(mask + i * mask_step, len(line))
            for s in range(len(line)):
                line[s] += added[s]
        if not has_top:
            top[place + i] = largest(line)
        shift, total = top[place + i], F(0.0)
        for s in range(len(line)):
            line[s] = exp(line[s] - shift)
        for s in range(0 if has_top else len(line)):
            total += line[s]
        if not has_top:
            share[place + i] = F(0.0) if total == F(0.0) else F(1.0) / total


@inline
def weigh_rows(
    weights: int, wide: int, n: int, keys: int, keep: int, keep_step: int, rest: float, share: Flat, place: int
) -> None:
    """Divide the exponentials of n rows by their sums, and apply the draw at ``keep`` (or 0)."""
    for i in range(n):
        line, part = row(weights + 4 * i * wide, columns(keys)), share[place + i] * F(rest)
        for s in range(len(line)):
            line[s] *= part
        if keep:
            mask = flags(keep + i * keep_step, keys)
            for s in range(keys):
                line[s] *= F(mask[s])


@inline
def grad_rows(
    weights: int, grads: int, wide: int, n: int, keys: int, keep: int, keep_step: int, rest: float, scale: float,
    share: Flat, place: int,
) -> None:  # fmt: skip
    """From exponentials and the gradients for the weights after dropout, compute these weights, and the gradients for
    the scores before ``scale``, w (gradient - Σ w gradient) · scale."""
    for i in range(n):
        line, grad = row(weights + 4 * i * wide, columns(keys)), row(grads + 4 * i * wide, columns(keys))
        part, total = share[place + i], F(0.0)
        if keep:
            mask = flags(keep + i * keep_step, keys)
            for s in range(keys):
                grad[s] *= F(mask[s]) * F(rest)
        for s in range(len(line)):
            line[s] *= part
            grad[s] = grad[s] if s < keys else F(0.0)
            total += line[s] * grad[s]
        for s in range(len(line)):
            grad[s] = line[s] * F(scale) * (grad[s] - total)
        if keep:
            for s in range(keys):
                line[s] *= F(mask[s]) * F(rest)


@loop
def attend(
    start: int, stop: int, thread: int, gemm: int, query: Strided, key: Strided, value: Strided, added: Strided,
    added_b: int, added_h: int, added_t: int, keep: int, is_causal: int, scale: float, rest: float, memory: Strided,
    out: Strided, top: Flat, share: Flat,
) -> None:  # fmt: skip
    """The result, and for each row the largest score and 1 / the sum of exponentials, for heads of sequences."""
    heads, queries, width = length(query, 1), length(query, 2), length(query, 3)
    keys, depth = length(value, 2), length(value, 3)
    weights, ldq, ldk = at(memory) + thread * step(memory, 0), leading(query), leading(key)
    ldv, ldy = leading(value), leading(out)
    tiled, wide = keys <= SHORT and width % TILE == 0 and depth % TILE == 0, columns(keys)
    kt = weights + 4 * wide * min(PART, queries) if tiled else 0
    vp = kt + 4 * wide * width if tiled else 0
    for unit in range(start, stop):
        b, h = unit // heads, unit % heads
        q, k, v, y = head_of(query, b, h), head_of(key, b, h), head_of(value, b, h), head_of(out, b, h)
        mask = at(added) + b * added_b + h * added_h if length(added, 0) else 0
        if tiled:
            pack_turned(k, ldk, keys, width, kt)
            pack(v, ldv, keys, depth, vp)
        for t in range(0, queries, PART):
            n, place = min(PART, queries - t), unit * queries + t
            count = min(keys, t + n) if is_causal else keys
            qt, yt = q + t * step(query, 2), y + t * step(out, 2)
            added_row = mask + t * added_t if mask else 0
            multiply(gemm, kt, width, False, True, n, count, width, qt, ldq, k, ldk, False, weights, wide)
            score_rows(weights, wide, n, count, t, is_causal, scale, added_row, added_t, top, share, place, False)
            weigh_rows(weights, wide, n, count, keep + place * keys if keep else 0, keys, rest, share, place)
            multiply(gemm, vp, keys, False, False, n, depth, count, weights, wide, v, ldv, False, yt, ldy)


@loop
def attend_back(
    start: int, stop: int, thread: int, gemm: int, g: Strided, query: Strided, key: Strided, value: Strided,
    added: Strided, added_b: int, added_h: int, added_t: int, keep: int, is_causal: int, scale: float, rest: float,
    memory: Strided, top: Flat, share: Flat, dquery: Strided, dkey: Strided, dvalue: Strided,
) -> None:  # fmt: skip
    """The gradients of heads of sequences. The last part, with the most keys, runs first; the others add to it."""
    heads, queries, width = length(query, 1), length(query, 2), length(query, 3)
    keys, depth = length(value, 2), length(value, 3)
    weights, ldq, ldk = at(memory) + thread * step(memory, 0), leading(query), leading(key)
    ldv, ldg = leading(value), leading(g)
    lddq, lddk, lddv = leading(dquery), leading(dkey), leading(dvalue)
    tiled, wide = keys <= SHORT and width % TILE == 0 and depth % TILE == 0, columns(keys)
    grads = weights + 4 * wide * min(PART, queries)
    kt = grads + 4 * wide * min(PART, queries) if tiled else 0
    vt, kp = (kt + 4 * wide * width, kt + 4 * wide * (width + depth)) if tiled else (0, 0)
    qp, gp = (kp + 4 * keys * width, kp + 4 * (keys + PART) * width) if tiled else (0, 0)
    for unit in range(start, stop):
        b, h = unit // heads, unit % heads
        q, k, v, gh = head_of(query, b, h), head_of(key, b, h), head_of(value, b, h), head_of(g, b, h)
        dq, dk, dv = head_of(dquery, b, h), head_of(dkey, b, h), head_of(dvalue, b, h)
        mask = at(added) + b * added_b + h * added_h if length(added, 0) else 0
        if tiled:
            pack_turned(k, ldk, keys, width, kt)
            pack_turned(v, ldv, keys, depth, vt)
            pack(k, ldk, keys, width, kp)
        last = (queries - 1) // PART * PART
        for t in range(last, -1, -PART):
            n, place = min(PART, queries - t), unit * queries + t
            count = min(keys, t + n) if is_causal else keys
            more, added_row = t < last, mask + t * added_t if mask else 0
            qt, gt, dqt = q + t * step(query, 2), gh + t * step(g, 2), dq + t * step(dquery, 2)
            draw = keep + place * keys if keep else 0
            if tiled:
                pack(qt, ldq, n, width, qp)
                pack(gt, ldg, n, depth, gp)
            multiply(gemm, kt, width, False, True, n, count, width, qt, ldq, k, ldk, False, weights, wide)
            score_rows(weights, wide, n, count, t, is_causal, scale, added_row, added_t, top, share, place, True)
            multiply(gemm, vt, depth, False, True, n, count, depth, gt, ldg, v, ldv, False, grads, wide)
            grad_rows(weights, grads, wide, n, count, draw, keys, rest, scale, share, place)
            multiply(gemm, kp, keys, False, False, n, width, count, grads, wide, k, ldk, False, dqt, lddq)
            multiply(gemm, qp, n, True, False, count, width, n, grads, wide, qt, ldq, more, dk, lddk)
            multiply(gemm, gp, n, True, False, count, depth, n, weights, wide, gt, ldg, more, dv, lddv)
        for s in range(min(keys, queries) if is_causal else keys, keys):  # hidden from every query
            dk_row, dv_row = row(dk + s * step(dkey, 2), width), row(dv + s * step(dvalue, 2), depth)
            for j in range(width):
                dk_row[j] = F(0.0)
            for j in range(depth):
                dv_row[j] = F(0.0)


def _in_rows(x: Array) -> Array:
    """The array, or a copy if BLAS cannot read the array's rows."""
    fits = x.strides[3] == 4 and x.strides[2] >= 4 * x.shape[3] and x.strides[2] % 4 == 0 and x.dtype is FLOAT32
    return x if fits else np.array(x, FLOAT32, order="C")


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
    if not (fits(query, key, value) and key.size and value.size and blas.sgemm()) or needs[3]:
        return NotImplemented
    query, key, value = _in_rows(query), _in_rows(key), _in_rows(value)
    batch, heads, length, _ = query.shape
    keep = None if keep is None else np.ascontiguousarray(keep, np.bool_)
    # its address; the array itself is also kept alive
    mask_address = 0 if keep is None else keep.__array_interface__["data"][0]
    how = *_added(mask, query, key), mask_address, bool(is_causal), scale, factor(keep, dropout_p)
    out = empty_result(query, value)
    top, share = np.empty((2, batch * heads * length), FLOAT32)
    memory = scratch(columns(value.shape[2]) * (min(PART, length) + query.shape[3] + value.shape[3]))
    with blas.one_thread() as one, one:
        attend(*_units(query, value), blas.sgemm(), query, key, value, *how, memory, out, top, share)
    return out, (query, key, value, how, top, share, keep) if any(needs) else None


def backward(needs: Needs, saved: Any, g: Array, *args: Any) -> Gradients:
    query, key, value, how, top, share, _ = saved
    gradients = laid_like(query, key, value)
    (part, width), (keys, depth), units = query.shape[2:], value.shape[2:], _units(query, value)
    memory = scratch(columns(keys) * (2 * min(PART, part) + 2 * width + depth) + PART * (width + depth))
    with blas.one_thread() as one, one:
        attend_back(*units, blas.sgemm(), _in_rows(g), query, key, value, *how, memory, top, share, *gradients)
    return wanted(needs, *gradients)
