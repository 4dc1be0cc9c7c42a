"""Dropout's mask from PyTorch's stream, the Mersenne Twister (Matsumoto and Nishimura 1998). Not an op's kernel, but
what ``Generator.below`` calls. Each word of 64 bits holds two of the generator's, the earlier one in its lower half.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ..compiled.loops import Flags, Words, grain, inline, loop
from ..dtype import Array

W = np.uint64
_WORDS, _PAIRS = 624, 312  # of a state
_BOTH = W(0x0000000100000001)
_TOP, _REST, _HALVED = W(0x80000000) * _BOTH, W(0x7FFFFFFF) * _BOTH, W(0x7FFFFFFF) * _BOTH
_TWIST = W(0x9908B0DF)
_B, _C, _BY11, _BY18 = W(0x9D2C5680) * _BOTH, W(0xEFC60000) * _BOTH, W(0x001FFFFF) * _BOTH, W(0x00003FFF) * _BOTH
_53 = W((1 << 53) - 1)


@inline
def straddled(low: np.uint64, high: np.uint64) -> np.uint64:
    """The pair of a pair's later word and the next pair's earlier one."""
    return (low >> W(32)) | (high << W(32))


@inline
def twisted(here: np.uint64, after: np.uint64, ahead: np.uint64) -> np.uint64:
    """Two new words, of themselves, those after them, and those 397 places ahead."""
    y = (here & _TOP) | (after & _REST)
    return ahead ^ ((y >> W(1)) & _HALVED) ^ ((y & _BOTH) * _TWIST)


@inline
def temper(key: Words, out: Words) -> None:
    """The words that a state stands for."""
    for i in range(_PAIRS):
        y = key[i]
        y ^= (y >> W(11)) & _BY11
        y ^= (y << W(7)) & _B
        y ^= (y << W(15)) & _C
        out[i] = y ^ ((y >> W(18)) & _BY18)


@loop
def tempered(start: int, stop: int, key: Words, out: Words) -> None:
    """The words of the state as it is."""
    temper(key, out)


@loop
def rounds(start: int, stop: int, key: Words, out: Words) -> None:
    """The words of the states that follow, one after another."""
    for n in range(start, stop):
        for i in range(113):  # 397 words ahead are halves of the pairs i + 198 and i + 199, the second of them new
            ahead = straddled(key[i + 198], key[i + 199])
            key[i] = twisted(key[i], straddled(key[i], key[i + 1]), ahead)
        key[113] = twisted(key[113], straddled(key[113], key[114]), straddled(key[311], key[0]))
        for i in range(114, 311):
            ahead = straddled(key[i - 114], key[i - 113])
            key[i] = twisted(key[i], straddled(key[i], key[i + 1]), ahead)
        key[311] = twisted(key[311], straddled(key[311], key[0]), straddled(key[197], key[198]))
        temper(key, out[n * _PAIRS : (n + 1) * _PAIRS])


@loop
def below(start: int, stop: int, words: Words, bound: int, keep: Flags) -> None:
    """Whether 53 bits of each two words, the earlier one above, are less than a bound."""
    words, keep = words[start:stop], keep[start:stop]
    limit = W(bound)
    for i in range(stop - start):
        keep[i] = (((words[i] << W(32)) | (words[i] >> W(32))) & _53) < limit


def draw(bits: Any, count: int, bound: int) -> Array:
    """(count,) bools: whether 53 bits of each two words of NumPy's MT19937 are less than a bound.

    Args:
        bits: the bit generator, whose state moves on by 2 ``count`` words.
        count: more than what is left of the state.
    """
    keep = np.empty(count, np.bool_)
    with bits.lock:
        memory: Any = (ctypes.c_uint32 * (_WORDS + 1)).from_address(bits.ctypes.state_address)
        state = np.frombuffer(memory, np.uint32)
        key, place = state[:_WORDS].view(W), int(state[_WORDS])
        wanted = 2 * count - (_WORDS - place)  # of later states
        later = -(-wanted // _WORDS)
        words = np.empty((later + 1) * _PAIRS, W)
        tempered(1, 1, key, words)
        rounds(later, later, key, words[_PAIRS:])
        state[_WORDS] = wanted - (later - 1) * _WORDS
    pairs = words.view(np.uint32)[place : place + 2 * count]
    pairs = pairs.copy() if place % 2 else pairs
    below(count, grain(count, 9), pairs.view(W), bound, keep)
    return keep
