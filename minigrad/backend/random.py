"""Random numbers from explicit generators. The same seed always gives the same bits.

``Generator`` draws PyTorch's CPU stream: raw 32-bit words of the Mersenne Twister, converted to numbers as in PyTorch,
so that one seed gives both libraries the same weights (up to 2.4e-7 apart in ``normal``, where logarithms and cosines
differ in the last place). Dropout masks need many numbers that need not match PyTorch's, so they are hashes of
positions, keyed by one word of a second stream (SFC64) from the same seed. Threads draw them in parallel, with the same
result as without compiled loops.
"""

from __future__ import annotations

import math
import os
import struct
from contextlib import nullcontext
from functools import cached_property
from typing import Any

import numpy as np

from .compiled import store
from .device import Device
from .order import laid_as

FloatArray = np.ndarray[Any, Any]
BLOCK = 1 << 16  # numbers drawn at a time: a multiple of 16, which normal numbers need
_WORD = 1 << 32
_WIDE_SPAN = 1 << 28  # from here on, PyTorch uses two words per integer
_PYTORCH_BYTES = 5056
_53 = np.uint64((1 << 53) - 1)
_HERE = nullcontext()
_GOLDEN, _MIX = 0x9E3779B97F4A7C15, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def drawn(seed: int, count: int, xp: Any = np) -> Any:
    """``count`` words of SplitMix64 (Steele, Lea and Flood 2014), uint64. They are hashes of the seed and positions, so
    that any thread can draw a part: see ``kernels/dropout_numba.py`` and ``is_kept`` in ``kernels/common.cuh``."""
    z = xp.arange(1, count + 1, dtype=np.uint64)
    z *= np.uint64(_GOLDEN)
    z += np.uint64(seed)
    z ^= z >> np.uint64(30)
    z *= np.uint64(_MIX[0])
    z ^= z >> np.uint64(27)
    z *= np.uint64(_MIX[1])
    z ^= z >> np.uint64(31)
    return z


class _Streams:
    """Both streams of one seed. A new seed or state is a new object, so no thread sees half of a change. A stream is
    created on its first draw, as numpy.random would add 10% to ``import minigrad``. If several threads draw first
    at the same time, each may create a stream, but ``setdefault`` gives all of them the same one."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.spares: list[float] = []  # the second normal number of each pair, taken with ``pop``

    @cached_property
    def bits(self) -> Any:
        return vars(self).setdefault("bits", np.random.RandomState(self.seed % _WORD)._bit_generator)

    @cached_property
    def draws(self) -> np.random.Generator:
        return np.random.Generator(self.bits)

    @cached_property
    def masks(self) -> Any:
        return vars(self).setdefault("masks", np.random.SFC64(self.seed))


class Generator:
    """A stream of random numbers on the CPU.

    Args:
        device: kept for PyTorch's signature. Numbers are drawn on the CPU and moved to where they are needed.

    >>> generator = mg.Generator().manual_seed(0)
    >>> mg.randperm(4, generator=generator)
    tensor([0, 1, 3, 2])
    """

    as_state: Any = staticmethod(lambda array: array)  # tensor.py, which imports this file, makes the state a Tensor

    def __init__(self, device: Any = "cpu") -> None:
        self.device = Device(device)
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: int) -> Generator:
        """Restart the stream from ``seed`` (64 bits, signed or unsigned; only 32 matter, as in PyTorch). Raises
        ValueError if the seed has more bits."""
        if not -(1 << 63) <= int(seed) < 1 << 64:
            raise ValueError(f"a seed must fit into 64 bits, but {seed} does not")
        self._streams = _Streams(int(seed) % (1 << 64))
        return self

    def seed(self) -> int:
        """Restart from a seed provided by the operating system, and return the seed."""
        return self.manual_seed(int.from_bytes(os.urandom(4), "little")).initial_seed()

    def initial_seed(self) -> int:
        """The seed with which the stream began."""
        return self._streams.seed

    def get_state(self) -> Any:
        """The state of both streams as a tensor of bytes: PyTorch's 5056 bytes, then the fast stream's."""
        streams = self._streams
        twister, spare = streams.bits.state["state"], streams.spares[-1:]
        head = struct.pack("<QiiQ", streams.seed, 625 - twister["pos"], 1, twister["pos"])
        tail = struct.pack("<dddi4xf?3x", 0.0, *(spare or [0.0]), 0.0, len(spare), 0.0, False)
        masks = streams.masks.state["state"]["state"]
        parts = (head, twister["key"].astype("<u8").tobytes(), tail, masks.astype("<u8").tobytes())
        return self.as_state(np.frombuffer(b"".join(parts), np.uint8).copy())

    def set_state(self, new_state: Any) -> Generator:
        """Restore a state from ``get_state`` (here or in PyTorch). Raises RuntimeError for anything else."""
        data = np.asarray(getattr(new_state, "array", new_state), np.uint8).tobytes()
        if len(data) not in (_PYTORCH_BYTES, _PYTORCH_BYTES + 32):
            raise RuntimeError(f"a generator state must have {_PYTORCH_BYTES} bytes or 32 more, not {len(data)}")
        seed, _, _, position = struct.unpack_from("<QiiQ", data)
        if position > 624:  # NumPy would read past the end of the words
            raise RuntimeError(f"the position in a generator state can be at most 624, not {position}")
        _, spare, _, is_valid = struct.unpack_from("<dddi", data, 24 + 624 * 8)
        streams = _Streams(seed)
        key = np.frombuffer(data, "<u8", 624, 24).astype(np.uint32)
        # PyTorch's position is 0 only before the first number, where NumPy's is at the end of the words
        streams.bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": position or 624}}
        streams.spares += [spare] if is_valid else []
        if len(data) > _PYTORCH_BYTES:
            state = streams.masks.state
            state["state"]["state"] = np.frombuffer(data, "<u8", 4, _PYTORCH_BYTES).astype(np.uint64)
            streams.masks.state = state
        self._streams = streams
        return self

    def clone_state(self) -> Generator:
        """Another generator with the same state."""
        return Generator(self.device).set_state(self.get_state())

    def words(self, count: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
        """``count`` raw 32-bit words, (count,) uint32."""
        return self._streams.draws.integers(0, _WORD, count, np.uint32)

    def words64(self, count: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """``count`` 64-bit words, (count,) uint64, each composed of two raw words, the high one first."""
        return self._streams.draws.integers(0, 1 << 64, count, np.uint64)

    def uniform(self, shape: tuple[int, ...], dtype: Any = np.float32) -> FloatArray:
        """Numbers in [0, 1), with 24 random bits each in float32 and 53 in float64."""
        out = np.empty(shape, dtype)
        for part in blocks(out):
            if dtype == np.float64:
                np.multiply(self.words64(part.size) & _53, 2.0**-53, part)
            else:
                bits24 = self.words(part.size) & np.uint32((1 << 24) - 1)
                part[:] = bits24 * np.float32(2.0**-24)
        return out

    def normal(self, shape: tuple[int, ...], dtype: Any = np.float32) -> FloatArray:
        """Standard normal numbers by the Box-Muller method, in PyTorch's order (blocks of 16, or one by one)."""
        count = int(np.prod(shape, dtype=np.int64))
        if count < 16:
            return self.few_normals(count).astype(dtype).reshape(shape)
        wide = np.float64 if dtype == np.float64 else np.float32
        full = count - count % 16
        out = np.empty(count, dtype)
        for part in blocks(out[:full]):
            part[:] = _box_muller(self.uniform(part.shape, wide))
        if full < count:  # the last 16 numbers are drawn again, and overlap the numbers before them
            self.words((0 if np.dtype(dtype).itemsize == 2 else count - full) * (2 if wide == np.float64 else 1))
            out[-16:] = _box_muller(self.uniform((16,), wide))
        return out.reshape(shape)

    def few_normals(self, count: int) -> FloatArray:
        """Float64 normal numbers (count,), drawn one by one from pairs of uniforms. The sine is kept for the next."""
        out, spares = np.empty(count), self._streams.spares
        for i in range(count):
            try:
                out[i] = spares.pop()
            except IndexError:
                u1, u2 = self.uniform((2,), np.float64)
                radius, angle = np.sqrt(-2 * np.log1p(-u2)), 2 * np.pi * u1
                out[i] = radius * np.cos(angle)
                spares.append(float(radius * np.sin(angle)))
        return out

    def integers(self, low: int, high: int, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Integers in [low, high)."""
        if high <= low:
            raise ValueError(f"random integers need low < high, but low is {low} and high is {high}")
        count, span = int(np.prod(shape, dtype=np.int64)), high - low
        raw = self.words64(count) if span >= _WIDE_SPAN else self.words(count)
        offsets = raw % np.uint64(span) if span < 1 << 64 else raw
        return (offsets + np.uint64(low % (1 << 64))).astype(np.int64).reshape(shape)  # modulo 2**64

    def random64(self) -> int:
        """An integer in [0, 2**63), drawn as in PyTorch's ``random_()`` for int64."""
        return int(self.words64(1)[0]) & ((1 << 63) - 1)

    def permutation(self, n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The numbers 0 .. n-1 in random order (Fisher and Yates)."""
        numbers = np.empty(n, np.int64)  # allocated first, since its MemoryError shows the requested size
        order = list(range(n))
        for i, word in enumerate(self.words(max(n - 1, 0)).tolist()):
            j = i + word % (n - i)
            order[i], order[j] = order[j], order[i]
        numbers[:] = order
        return numbers

    def keep_mask(self, shape: tuple[int, ...], p: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Bools that are False with probability ``p`` (rounded to 1/65536), from the fast stream."""
        count, bound = math.prod(shape), round(p * 65536)
        if bound > 65535 or store.library() is None:
            return self.draw(shape, p).array()
        seed = self.mask_seed()
        from .kernels import dropout_numba

        return dropout_numba.draw(count, bound, seed).reshape(shape)

    def draw(self, shape: tuple[int, ...], p: float, xp: Any = np, on: Any = _HERE) -> Draw:
        """The mask of ``keep_mask``, drawn lazily."""
        bound = round(p * 65536)
        return Draw(shape, bound, self.mask_seed() if bound < 65536 else 0, xp, on)

    def mask_seed(self) -> int:
        """A seed for one mask, from the fast stream."""
        return int(self._streams.masks.random_raw())

    def seed_masks(self, seed: int) -> None:
        """Restart only the fast stream."""
        self._streams.masks = np.random.SFC64(int(seed) % (1 << 64))


class Draw:
    """A dropout mask that is not drawn yet. GPU kernels call ``is_kept`` (common.cuh) for each element, without a mask
    in memory. Other code uses the array. An element is kept if its 16 bits, a hash, are at least ``bound``. ``xp`` and
    ``on`` are the mask's library and device."""

    def __init__(self, shape: tuple[int, ...], bound: int, seed: int, xp: Any, on: Any) -> None:
        self.shape, self.bound, self.seed, self.xp, self.on = shape, bound, seed, xp, on

    def array(self) -> Any:
        """The mask as bools."""
        with self.on:
            if self.bound > 65535:
                return self.xp.zeros(self.shape, bool)
            count = math.prod(self.shape)
            bits = drawn(self.seed, (count + 3) // 4, self.xp).view(np.uint16)[:count]
            return (bits >= np.uint16(self.bound)).reshape(self.shape)


def blocks(array: FloatArray) -> list[FloatArray]:
    """The elements of a contiguous array as views of BLOCK elements (the last with up to twice as many), to fill one
    after the other, so that the temporary arrays of a large draw stay small."""
    flat = array.reshape(-1)
    starts = range(0, max(flat.size - BLOCK, 0) + 1, BLOCK)
    return [flat[i : i + BLOCK] if i < starts[-1] else flat[i:] for i in starts]


def _box_muller(uniforms: FloatArray) -> FloatArray:
    """Convert uniform to normal numbers, in groups of 16: 8 radii and 8 angles."""
    pairs = uniforms.reshape(-1, 2, 8)
    radius = np.sqrt(-2 * np.log(1 - pairs[:, 0]))
    angle = pairs[:, 1] * uniforms.dtype.type(2 * np.pi)
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1).reshape(-1)


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Seed the default generator, so that the same program draws the same numbers.

    >>> _ = mg.manual_seed(0)
    >>> first = mg.rand(2)
    >>> _ = mg.manual_seed(0)
    >>> mg.equal(first, mg.rand(2))
    True
    """
    return default_generator.manual_seed(seed)


_STREAMS = ("auto", "fast", "pytorch")
_dropout_stream = "auto"
_is_pytorchs = False  # whether the process runs a PyTorch program


def set_dropout_stream(name: str) -> None:
    """Choose the dropout stream: "fast", "pytorch" (which is slower), or "auto", which depends on the program.

    With PyTorch's stream, a training run from the same seed has the same dropout masks as in PyTorch. The default,
    "auto", selects PyTorch's stream on the CPU for PyTorch programs (``minigrad compat``, ``as_torch``), and the fast
    stream otherwise. The MINIGRAD_DROPOUT_STREAM environment variable sets the initial stream.

    Raises ValueError if the stream does not exist.
    """
    global _dropout_stream
    if name not in _STREAMS:
        raise ValueError(f"the dropout stream must be one of {', '.join(map(repr, _STREAMS))}, not {name!r}")
    _dropout_stream = name


def get_dropout_stream() -> str:
    """The current dropout stream: "auto", "fast" or "pytorch"."""
    return _dropout_stream


def run_as_pytorch(value: bool) -> bool:
    """Set whether the process runs a PyTorch program. Returns the old value."""
    global _is_pytorchs
    before, _is_pytorchs = _is_pytorchs, value
    return before


def follows_pytorch(device: Device) -> bool:
    """Whether masks on a device use PyTorch's stream."""
    return _dropout_stream == "pytorch" or (_is_pytorchs and _dropout_stream == "auto" and device.type == "cpu")


def pytorch_keep_mask(shape: tuple[int, ...], p: float, like: Any = None) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The dropout mask as PyTorch draws it: True where a float64 uniform is below 1 - p, in the memory order of
    ``like``, an array of this shape, or in index order without ``like``."""
    if p == 1:
        return np.zeros(shape, np.bool_)
    draw = default_generator.words64(math.prod(shape)) & _53 < np.uint64(math.ceil((1 - p) * 2**53))
    return draw.reshape(shape) if like is None else laid_as(draw, like)


set_dropout_stream(os.environ.get("MINIGRAD_DROPOUT_STREAM", "auto"))
