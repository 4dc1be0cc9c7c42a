"""Dropout's draw: the bits of ``splitmix.drawn``. Not an op's kernel, but what ``Generator.keep_mask`` calls."""

from __future__ import annotations

import numpy as np

from ..compiled.loops import Words, grain, inline, loop
from ..dtype import Array
from ..splitmix import GOLDEN, MIX

W = np.uint64
_GOLDEN, _FIRST, _SECOND = W(GOLDEN), W(MIX[0]), W(MIX[1])
_PAIR, _ONES, _HALF = W(0x0000FFFF0000FFFF), W(0x0000000100000001), W(0xFFFFFFFF)


@inline
def mixed(z: np.uint64) -> np.uint64:
    """The hash of a word."""
    z = (z ^ (z >> W(30))) * _FIRST
    z = (z ^ (z >> W(27))) * _SECOND
    return z ^ (z >> W(31))


@inline
def reached(word: np.uint64, room: np.uint64) -> np.uint64:
    """Four bytes of 0 and 1: whether each 16 bits of a word, with ``room`` added, run over."""
    even = (((word & _PAIR) + room) >> W(16)) & _ONES
    odd = ((((word >> W(16)) & _PAIR) + room) >> W(16)) & _ONES
    both = even | (odd << W(8))
    return (both | (both >> W(16))) & _HALF


@loop
def draw_words(start: int, stop: int, seed: int, bound: int, keep: Words) -> None:
    """Eight elements of the mask a word, of two words that are drawn."""
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
