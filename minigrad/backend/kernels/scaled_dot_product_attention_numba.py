"""Attention, a head of a sentence at a time, PART of its queries at once: their scores never leave the cache.

Shape letters: B batch, H heads, T and S target and source length, D and Dv width of a head. Kept for the backward pass
are a row's largest score and 1 / the sum of its exponentials: its weights are computed again (Dao et al. 2022,
FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness). With a causal mask a part's later keys
are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.layout import at, length, step
from ..compiled.loops import FLOAT32, Flat, Strided, fits, inline, loop, scratch
from ..compiled.native import row
from ..compiled.tiles import product
from ..dtype import Array
from . import Gradients, Needs, wanted
from ._attention import empty_result, factor, laid_like
from ._attention_numba import FEW, against, exponentials, gather, mask_rows, slope_rows, tiles, transpose, weigh_rows

F = np.float32
PART = 32  # queries
WORK = 1 << 16  # multiplications of a block: some microseconds
ROW = 64  # bytes between tiles of columns of rows that are whole


@inline
def head_of(x: int, b: int, h: int) -> int:
    """The address of a head's rows."""
    return at(x) + b * step(x, 0) + h * step(x, 1)


@loop
def attend(
    start: int,
    stop: int,
    thread: int,
    query: Strided,
    key: Strided,
    value: Strided,
    added: Strided,
    added_b: int,
    added_h: int,
    added_t: int,
    keep: int,
    is_causal: int,
    scale: float,
    rest: float,
    memory: Strided,
    out: Strided,
    top: Flat,
    share: Flat,
) -> None:
    """The result, and of each row the largest score and 1 / the sum of exponentials, for heads of sentences."""
    heads, queries, width = length(query, 1), length(query, 2), length(query, 3)
    keys, depth = length(value, 2), length(value, 3)
    turned = at(memory) + thread * step(memory, 0)
    values = turned + 4 * tiles(keys) * width
    weights = values + 4 * keys * tiles(depth)
    for unit in range(start, stop):
        b, h = unit // heads, unit % heads
        q, k, v, y = head_of(query, b, h), head_of(key, b, h), head_of(value, b, h), head_of(out, b, h)
        mask = at(added) + b * added_b + h * added_h if length(added, 0) else 0
        if queries >= FEW:
            transpose(k, step(key, 2), keys, width, turned)
            gather(v, step(value, 2), keys, depth, values, ROW, ROW * keys)
        v_at, v_row, v_tile = (values, ROW, ROW * keys) if queries >= FEW else (v, step(value, 2), ROW)
        for t in range(0, queries, PART):
            n, qt, place = min(PART, queries - t), q + t * step(query, 2), unit * queries + t
            seen = min(keys, t + n) if is_causal else keys
            wide, mask_t = tiles(seen), mask + t * added_t if mask else 0
            against(qt, step(query, 2), n, k, step(key, 2), turned if queries >= FEW else 0, seen, width, weights)
            mask_rows(weights, n, seen, t, is_causal, scale, mask_t, added_t, top, place, False)
            exponentials(weights, n * wide)
            drawn = keep + place * keys if keep else 0
            weigh_rows(weights, n, seen, drawn, keys, rest, share, place)
            yt = y + t * step(out, 2)
            product(weights, 4 * wide, 4, v_at, v_row, v_tile, yt, step(out, 2), n, seen, depth, False)


@loop
def attend_back(
    start: int,
    stop: int,
    thread: int,
    g: Strided,
    query: Strided,
    key: Strided,
    value: Strided,
    added: Strided,
    added_b: int,
    added_h: int,
    added_t: int,
    keep: int,
    is_causal: int,
    scale: float,
    rest: float,
    memory: Strided,
    top: Flat,
    share: Flat,
    dquery: Strided,
    dkey: Strided,
    dvalue: Strided,
) -> None:
    """The gradients of heads of sentences. The last part sees the most keys: it comes first, the others add to it."""
    heads, queries, width = length(query, 1), length(query, 2), length(query, 3)
    keys, depth = length(value, 2), length(value, 3)
    turned = at(memory) + thread * step(memory, 0)
    values = turned + 4 * tiles(keys) * width
    k_rows = values + 4 * tiles(keys) * depth
    q_rows = k_rows + 4 * keys * tiles(width)
    g_rows = q_rows + 4 * min(PART, queries) * width
    weights = g_rows + 4 * min(PART, queries) * depth
    for unit in range(start, stop):
        b, h = unit // heads, unit % heads
        q, k, v, gh = head_of(query, b, h), head_of(key, b, h), head_of(value, b, h), head_of(g, b, h)
        dq, dk, dv = head_of(dquery, b, h), head_of(dkey, b, h), head_of(dvalue, b, h)
        mask = at(added) + b * added_b + h * added_h if length(added, 0) else 0
        if queries >= FEW:
            transpose(k, step(key, 2), keys, width, turned)
            transpose(v, step(value, 2), keys, depth, values)
        gather(k, step(key, 2), keys, width, k_rows, ROW, ROW * keys)
        last = (queries - 1) // PART * PART
        for t in range(last, -1, -PART):
            n, place = min(PART, queries - t), unit * queries + t
            seen = min(keys, t + n) if is_causal else keys
            wide, mask_t = tiles(seen), mask + t * added_t if mask else 0
            slopes, dqt, more = weights + 4 * n * wide, dq + t * step(dquery, 2), t < last
            gather(q + t * step(query, 2), step(query, 2), n, width, q_rows, 4 * width, ROW)
            gather(gh + t * step(g, 2), step(g, 2), n, depth, g_rows, 4 * depth, ROW)
            against(q_rows, 4 * width, n, k, step(key, 2), turned if queries >= FEW else 0, seen, width, weights)
            mask_rows(weights, n, seen, t, is_causal, scale, mask_t, added_t, top, place, True)
            exponentials(weights, n * wide)
            against(g_rows, 4 * depth, n, v, step(value, 2), values if queries >= FEW else 0, seen, depth, slopes)
            drawn = keep + place * keys if keep else 0
            slope_rows(weights, slopes, n, seen, drawn, keys, rest, scale, share, place)
            product(slopes, 4 * wide, 4, k_rows, ROW, ROW * keys, dqt, step(dquery, 2), n, seen, width, False)
            product(slopes, 4, 4 * wide, q_rows, 4 * width, ROW, dk, step(dkey, 2), seen, n, width, more)
            product(weights, 4, 4 * wide, g_rows, 4 * depth, ROW, dv, step(dvalue, 2), seen, n, depth, more)
        for s in range(min(keys, queries) if is_causal else keys, keys):  # seen by no query
            dk_row, dv_row = row(dk + s * step(dkey, 2), width), row(dv + s * step(dvalue, 2), depth)
            for j in range(width):
                dk_row[j] = F(0.0)
            for j in range(depth):
                dv_row[j] = F(0.0)


def _in_rows(x: Array) -> Array:
    """The array, or a copy whose rows are contiguous."""
    return x if x.strides[3] == 4 and x.dtype is FLOAT32 else np.array(x, FLOAT32, order="C")


def _added(mask: Array | None, query: Array, key: Array) -> tuple[Array | None, int, int, int]:
    """The mask as numbers, and the bytes of its steps along B, H and T."""
    if mask is None:
        return None, 0, 0, 0
    numbers: Any = np.where(mask, FLOAT32.type(0), FLOAT32.type(-np.inf)) if mask.dtype.kind == "b" else mask
    numbers = numbers.reshape((1,) * (4 - numbers.ndim) + numbers.shape)
    if numbers.shape[3] != key.shape[2]:
        numbers = np.broadcast_to(numbers, (*numbers.shape[:3], key.shape[2]))
    numbers = np.ascontiguousarray(numbers, FLOAT32)
    b, h, t = (0 if n == 1 else s for n, s in zip(numbers.shape[:3], numbers.strides[:3], strict=True))
    return numbers, b, h, t


def _units(query: Array, value: Array) -> tuple[int, int]:
    """How many heads of sentences there are, and how many of them make a block."""
    batch, heads, length, width = query.shape
    return batch * heads, WORK // (length * value.shape[2] * (width + value.shape[3]))


def forward(needs: Needs, *args: Any) -> tuple[Array, Any]:
    query, key, value, mask, keep, is_causal, scale, dropout_p = args
    if not (fits(query, key, value) and key.size and value.size) or needs[3]:
        return NotImplemented
    query, key, value = _in_rows(query), _in_rows(key), _in_rows(value)
    batch, heads, length, width = query.shape
    keep = None if keep is None else np.ascontiguousarray(keep, np.bool_)
    # its address: the array itself is kept beside it
    drawn = 0 if keep is None else keep.__array_interface__["data"][0]
    how = *_added(mask, query, key), drawn, bool(is_causal), scale, factor(keep, dropout_p)
    out = empty_result(query, value)
    top, share = np.empty((2, batch * heads * length), FLOAT32)
    keys, depth = value.shape[2:]
    memory = scratch(tiles(keys) * (width + tiles(depth) + min(PART, length)))
    attend(*_units(query, value), query, key, value, *how, memory, out, top, share)
    return out, (query, key, value, how, top, share, keep) if any(needs) else None


def backward(needs: Needs, saved: Any, g: Array, *args: Any) -> Gradients:
    query, key, value, how, top, share, _ = saved
    gradients = laid_like(query, key, value)
    (_, _, length, width), (_, _, keys, depth) = query.shape, value.shape
    part = min(PART, length)
    memory = scratch(tiles(keys) * (width + depth + tiles(width) + 2 * part) + part * (width + depth))
    attend_back(*_units(query, value), _in_rows(g), query, key, value, *how, memory, top, share, *gradients)
    return wanted(needs, *gradients)
