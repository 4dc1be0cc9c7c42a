"""Random numbers from explicit generators, repeatable to the bit from one seed.

``Generator`` draws PyTorch's CPU stream: the Mersenne Twister read as raw 32-bit words and turned into
numbers as PyTorch does, so that one seed gives both libraries the same weights (a numbers' worth of 2.4e-7
apart in ``normal``, whose logarithms and cosines differ in the last place). Dropout masks, which take many
numbers and need no comparison, come from a second, faster stream (SFC64) of the same seed.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

import numpy as np

FloatArray = np.ndarray[Any, Any]
_WORD = 1 << 32


class Generator:
    """A stream of random numbers on the CPU.

    Args:
        device: kept for PyTorch's signature; numbers are drawn on the CPU and moved where they are needed.
    """

    def __init__(self, device: Any = "cpu") -> None:
        self.device = device
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream again from ``seed`` (any integer; 32 bits of it count, as in PyTorch)."""
        self._seed = int(seed)
        self._spare: float | None = None
        vars(self).pop("_bits", None)
        vars(self).pop("_masks", None)
        return self

    # Both streams are made when they are first drawn from: numpy.random costs `import minigrad` a tenth.

    @cached_property
    def _bits(self) -> Any:
        return np.random.RandomState(self._seed % _WORD)._bit_generator

    @cached_property
    def _masks(self) -> np.random.Generator:
        return np.random.Generator(np.random.SFC64(self._seed % (1 << 64)))

    def seed(self) -> int:
        """Start from a seed of the operating system's, and tell it."""
        self.manual_seed(int.from_bytes(os.urandom(4), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed the stream began with."""
        return self._seed

    def get_state(self) -> dict[str, Any]:
        """The stream's position, in plain Python values (so that any file format can hold it)."""
        states = {"bits": self._bits.state, "masks": self._masks.bit_generator.state}
        return {"seed": self._seed, "spare": self._spare, **{k: _as_lists(v) for k, v in states.items()}}

    def set_state(self, state: dict[str, Any]) -> Generator:
        """Go to a position that ``get_state`` told."""
        self.manual_seed(state["seed"])
        self._spare = state["spare"]
        bits, masks = _as_arrays(state["bits"], np.uint32), _as_arrays(state["masks"], np.uint64)
        self._bits.state, self._masks.bit_generator.state = bits, masks
        return self

    def words(self, count: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """``count`` raw 32-bit words, (count,) uint64."""
        raw: np.ndarray[Any, np.dtype[np.uint64]] = self._bits.random_raw(count)
        return raw

    def uniform(self, shape: tuple[int, ...], dtype: Any = np.float32) -> FloatArray:
        """Numbers in [0, 1): 24 random bits each in float32, 53 in float64."""
        count = int(np.prod(shape, dtype=np.int64))
        if dtype == np.float64:
            pairs = self.words(2 * count).reshape(-1, 2)
            bits = (pairs[:, 0] << np.uint64(32) | pairs[:, 1]) & np.uint64((1 << 53) - 1)
            return (bits * 2.0**-53).reshape(shape)
        bits24 = (self.words(count) & np.uint64((1 << 24) - 1)).astype(np.float32)
        return (bits24 * np.float32(2.0**-24)).astype(dtype, copy=False).reshape(shape)

    def normal(self, shape: tuple[int, ...], dtype: Any = np.float32) -> FloatArray:
        """Standard normal numbers, by Box and Muller in PyTorch's order (blocks of 16, or one by one)."""
        count = int(np.prod(shape, dtype=np.int64))
        if count < 16:
            return self._few_normals(count).astype(dtype).reshape(shape)
        wide = np.float64 if dtype == np.float64 else np.float32
        out = self.uniform((count,), wide)
        full = count - count % 16
        out[:full] = _box_muller(out[:full])
        if full < count:  # the last block overlaps the one before it, drawn anew
            out[-16:] = _box_muller(self.uniform((16,), wide))
        return out.astype(dtype, copy=False).reshape(shape)

    def _few_normals(self, count: int) -> FloatArray:
        """Fewer than 16: one by one from pairs of float64 uniforms; the sine waits for the next number."""
        out = np.empty(count)
        for i in range(count):
            if self._spare is not None:
                out[i], self._spare = self._spare, None
                continue
            u1, u2 = self.uniform((2,), np.float64)
            radius, angle = np.sqrt(-2 * np.log1p(-u2)), 2 * np.pi * u1
            out[i], self._spare = radius * np.cos(angle), float(radius * np.sin(angle))
        return out

    def integers(self, low: int, high: int, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Integers in [low, high)."""
        if high <= low:
            raise ValueError(f"random integers need low < high, not low={low}, high={high}")
        count, span = int(np.prod(shape, dtype=np.int64)), high - low
        if span >= _WORD:
            pairs = self.words(2 * count).reshape(-1, 2)
            raw = pairs[:, 0] << np.uint64(32) | pairs[:, 1]
        else:
            raw = self.words(count)
        return (raw % np.uint64(span)).astype(np.int64).reshape(shape) + low

    def permutation(self, n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The numbers 0 .. n-1 in random order (Fisher and Yates)."""
        order = list(range(n))
        for i, word in enumerate(self.words(max(n - 1, 0)).tolist()):
            j = i + word % (n - i)
            order[i], order[j] = order[j], order[i]
        return np.array(order, dtype=np.int64)

    def keep_mask(self, shape: tuple[int, ...], p: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Bools that are False with probability ``p`` (to 1/65536), from the fast stream."""
        count, bound = int(np.prod(shape, dtype=np.int64)), round(p * 65536)
        if bound > 65535:
            return np.zeros(shape, np.bool_)
        raw = self._masks.bit_generator.random_raw((count + 3) // 4).view(np.uint16)[:count]
        keep: np.ndarray[Any, np.dtype[np.bool_]] = raw >= np.uint16(bound)
        return keep.reshape(shape)

    def mask_seed(self) -> int:
        """A seed from the fast stream, for a device that draws its masks itself."""
        return int(self._masks.bit_generator.random_raw())

    def seed_masks(self, seed: int) -> None:
        """Start the fast stream alone again."""
        self._masks = np.random.Generator(np.random.SFC64(int(seed) % (1 << 64)))


def _as_lists(state: Any) -> Any:
    """A bit generator's state with lists for its arrays."""
    if isinstance(state, dict):
        return {key: _as_lists(value) for key, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray) else state


def _as_arrays(state: Any, dtype: Any) -> Any:
    """The state again from ``_as_lists``."""
    if isinstance(state, dict):
        return {key: _as_arrays(value, dtype) for key, value in state.items()}
    return np.array(state, dtype) if isinstance(state, (list, tuple)) else state


def _box_muller(uniforms: FloatArray) -> FloatArray:
    """Normal from uniform numbers, each block of 16 on its own: 8 radii, 8 angles."""
    blocks = uniforms.reshape(-1, 2, 8)
    radius = np.sqrt(-2 * np.log(1 - blocks[:, 0]))
    angle = blocks[:, 1] * uniforms.dtype.type(2 * np.pi)
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1).reshape(-1)


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Start the default generator from ``seed``: the same program then draws the same numbers."""
    return default_generator.manual_seed(seed)


def cpu_keep_mask(shape: tuple[int, ...], p: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Dropout's mask on the CPU, from the default generator."""
    return default_generator.keep_mask(shape, p)
