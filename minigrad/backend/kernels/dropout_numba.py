"""Dropout masks with the same bits as ``random.drawn``, and dropout in one pass, optionally after ReLU."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..compiled.loops import FLOAT32, Flags, Flat, Words, fits, grain, in_memory_order, inline, laid, loop
from ..dtype import Array
from . import Gradients, Needs

ZERO = np.float32(0.0)
W = np.uint64
_GOLDEN, _FIRST, _SECOND = W(0x9E3779B97F4A7C15), W(0xBF58476D1CE4E5B9), W(0x94D049BB133111EB)  # SplitMix64's constants
_PAIR, _ONES, _HALF = W(0x0000FFFF0000FFFF), W(0x0000000100000001), W(0xFFFFFFFF)


@inline
def mixed(z: np.uint64) -> np.uint64:
    """The hash of a word."""
    z = (z ^ (z >> W(30))) * _FIRST
    z = (z ^ (z >> W(27))) * _SECOND
    return z ^ (z >> W(31))


@inline
def reached(word: np.uint64, room: np.uint64) -> np.uint64:
    """Four bytes, 0 or 1: whether each 16-bit part of a word overflows when ``room`` is added."""
    even = (((word & _PAIR) + room) >> W(16)) & _ONES
    odd = ((((word >> W(16)) & _PAIR) + room) >> W(16)) & _ONES
    both = even | (odd << W(8))
    return (both | (both >> W(16))) & _HALF


@loop
def draw_words(start: int, stop: int, seed: int, bound: int, keep: Words) -> None:
    """Draw two words for every eight mask elements, which form one word."""
    keep = keep[start:stop]
    state, room = W(seed) + W(2 * start) * _GOLDEN, W(65536 - bound) * _ONES
    for i in range(stop - start):
        before = state + W(2 * i) * _GOLDEN
        early, late = mixed(before + _GOLDEN), mixed(before + _GOLDEN + _GOLDEN)
        keep[i] = reached(early, room) | (reached(late, room) << W(32))


def draw(count: int, bound: int, seed: int) -> Array:
    """(count,) bools, False with probability ``bound`` / 65536."""
    words = np.empty((count + 7) // 8, W)
    draw_words(words.size, grain(words.size, 64), (seed + 2**63) % 2**64 - 2**63, bound, words)
    return words.view(np.bool_)[:count]


@loop
def masked(start: int, stop: int, x: Flat, keep: Flags, scale: float, rectify: int, out: Flat) -> None:
    """x · scale where it is kept, else 0 with the sign of x. ``rectify`` uses max(x, 0), which keeps NaN."""
    x, keep, out = x[start:stop], keep[start:stop], out[start:stop]
    factor = np.float32(scale)
    for i in range(stop - start):
        rectified = ZERO if x[i] <= ZERO else x[i]
        value = rectified if rectify else x[i]
        scaled = value * factor
        out[i] = scaled if keep[i] else np.copysign(ZERO, value)


def dropped(x: Array, keep: Array, scale: float, rectify: bool = False) -> Array:
    """dropout(x), or with ``rectify`` dropout(max(x, 0))."""
    x, out = laid(x), np.empty(x.shape, FLOAT32)
    masked(x.size, grain(x.size, 9), x, np.ascontiguousarray(keep), scale, rectify, out)
    return out


@in_memory_order
def forward(needs: Needs, x: Array, keep: Array, scale: float, rectify: bool = False) -> Any:
    if not fits(x) or keep.dtype != np.bool_ or keep.shape != x.shape:
        return NotImplemented
    out = dropped(x, keep, scale, rectify)
    return out, out if rectify else None


def backward(needs: Needs, saved: None, g: Array, x: None, keep: Array, scale: float) -> Gradients:
    return dropped(g, keep, scale), None, None


@loop
def grad(start: int, stop: int, g: Flat, y: Flat, scale: float, dx: Flat) -> None:
    """0 where y = 0, else g · scale"""
    g, y, dx = g[start:stop], y[start:stop], dx[start:stop]
    factor = np.float32(scale)
    for i in range(stop - start):
        scaled = g[i] * factor
        dx[i] = ZERO if y[i] == ZERO else scaled


def relu_forward(needs: Needs, x: Array, keep: Array, scale: float) -> Any:
    return forward(needs, x, keep, scale, True)


def relu_backward(needs: Needs, y: Array, g: Array, x: None, keep: None, scale: float) -> Gradients:
    g, y, dx = laid(g), laid(y), np.empty(g.shape, FLOAT32)
    grad(g.size, grain(g.size, 12), g, y, scale, dx)
    return dx, None, None


KERNELS = {
    "dropout": SimpleNamespace(forward=forward, backward=backward),
    "relu_dropout": SimpleNamespace(forward=relu_forward, backward=relu_backward),
}
