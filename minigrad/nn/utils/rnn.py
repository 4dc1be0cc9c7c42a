"""Sequences of different lengths in one tensor, padded to a common length or packed without padding.

A packed sequence contains the first elements of all sequences, then all second elements, and so on. The sequences are
sorted by length, longest first. A single index converts either form to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...autograd.tracebacks import border_functions
from ...backend.dtype import Array
from ...functions.creation import full, tensor
from ...functions.shaping import cat
from ...tensor import Tensor

Indices = Tensor | None


def _to(dtype: str) -> Callable[[PackedSequence], PackedSequence]:
    return lambda self: self.to(dtype)


class PackedSequence_(NamedTuple):
    """The four parts of a PackedSequence."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Indices
    unsorted_indices: Indices


class PackedSequence(PackedSequence_):
    """Sequences without padding, in step order, as returned by ``pack_padded_sequence`` and ``pack_sequence``.

    Attributes:
        data: (N, ...), where N is the sum of all lengths. batch_sizes: int64 (T) on the CPU, the sequences per step.
        sorted_indices, unsorted_indices: the order of the batch by length, and its inverse; None if it was sorted.
    """

    __slots__ = ()

    def __new__(
        cls, data: Any, batch_sizes: Indices = None, sorted_indices: Indices = None, unsorted_indices: Indices = None
    ) -> PackedSequence:
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("PackedSequence takes data and batch_sizes, or a pair of both")
            data, batch_sizes = data
        if not isinstance(batch_sizes, Tensor):
            raise TypeError(f"batch_sizes must be a Tensor, not {type(batch_sizes).__name__}")
        if batch_sizes.device.type != "cpu":
            raise ValueError(f"batch_sizes should always be on CPU, not on {batch_sizes.device}")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """False, as minigrad does not use pinned memory."""
        return False

    def pin_memory(self) -> PackedSequence:
        """Return self, as minigrad does not use pinned memory."""
        return self

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Convert or move the data as ``Tensor.to`` does. ``batch_sizes`` stays on the CPU."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        order = (None if i is None else i.to(data.device) for i in self[2:])
        return type(self)(data, self.batch_sizes, *order)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Move to a GPU."""
        device = kwargs.get("device", args[0] if args else None)
        return self.to("cuda" if device is None else device)

    def cpu(self) -> PackedSequence:
        """Move to main memory."""
        return self.to("cpu")

    double, float, half = _to("float64"), _to("float32"), _to("float16")
    long, int, short = _to("int64"), _to("int32"), _to("int16")
    char, byte = _to("int8"), _to("uint8")


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation of B integers, or None if the permutation is None."""
    return None if permutation is None else permutation.argsort()


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack (T, B, ...), or (B, T, ...) if ``batch_first``, into data (sum of lengths, ...) without padding. ``lengths``
    has B integers, as a list or a CPU tensor. ``enforce_sorted``: require sequences sorted longest first; else, sort.
    Raises RuntimeError if there are not B lengths, if they are unsorted, or if any is not positive or exceeds T."""
    if input.ndim < 2:
        raise IndexError(f"pack_padded_sequence: expected (T, B, ...) or (B, T, ...), but got {tuple(input.shape)}")
    time, batch = (input.shape[1], input.shape[0]) if batch_first else input.shape[:2]
    if isinstance(lengths, Tensor):
        if lengths.device.type != "cpu" or lengths.ndim != 1:
            actual = f"{lengths.ndim}D {lengths.device.type} {lengths.dtype} tensor"
            raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {actual}")
        lengths = lengths.detach().numpy()
    checked = np.asarray([int(n) for n in lengths], np.int64)
    if batch == 0 or len(checked) != batch:
        raise RuntimeError(f"pack_padded_sequence: {len(checked)} lengths for {batch} sequences (at least 1 is needed)")
    if checked.min() <= 0:
        raise RuntimeError(f"pack_padded_sequence: all lengths must be greater than 0, not {checked.min()}")
    if checked.max() > time:
        raise RuntimeError(f"pack_padded_sequence: a length is {checked.max()}, but the input has {time} steps")
    order = None if enforce_sorted else np.argsort(-checked, kind="stable").astype(np.int64)
    if order is None and (checked[1:] > checked[:-1]).any():
        problem = f"the lengths must be sorted in decreasing order, not {checked.tolist()}"
        raise RuntimeError(f"pack_padded_sequence: {problem}: pass enforce_sorted=False to sort the sequences")
    # The number of sequences at each step, (T)
    sizes = (np.arange(int(checked.max()))[:, None] < checked).sum(axis=1, dtype=np.int64)
    index = _packed_rows(sizes, order, time, batch, batch_first)
    data = input.reshape(time * batch, *input.shape[2:])[index]
    return PackedSequence(data, tensor(sizes), None if order is None else tensor(order, device=input.device))


def _packed_rows(sizes: Array, order: Array | None, time: int, batch: int, batch_first: bool) -> Array:
    """The index of each packed row among the rows of the padded tensor, (N,)."""
    step, rank = np.nonzero(np.arange(batch) < sizes[:, None])
    return _rows(step, rank if order is None else order[rank], time, batch, batch_first)


def _rows(step: Array, sequence: Array, time: int, batch: int, batch_first: bool) -> Array:
    return sequence * time + step if batch_first else step * batch + sequence


def _padded(data: Tensor, index: Any, time: int, batch: int, batch_first: bool, value: Any) -> Tensor:
    """Put rows (N, ...) at indices in a tensor (T, B, ...), or (B, T, ...), filled with ``value`` elsewhere."""
    rows = full((time * batch, *data.shape[1:]), value, dtype=data.dtype, device=data.device)
    rows[index] = data
    return rows.reshape(*((batch, time) if batch_first else (time, batch)), *data.shape[1:])


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The inverse of ``pack_padded_sequence``; it restores the batch order. ``total_length``: pad to this length
    instead of the longest length. Returns (T, B, ...), or (B, T, ...), and the lengths, int64 (B) on the CPU. Raises
    ValueError if ``total_length`` is shorter than the longest sequence."""
    sizes = sequence.batch_sizes.numpy()
    longest, batch = len(sizes), int(sizes[0])
    if total_length is not None and total_length < longest:
        raise ValueError(f"total_length={total_length} is shorter than the longest sequence, of {longest} steps")
    time = longest if total_length is None else total_length
    lengths = (sizes[:, None] > np.arange(batch)).sum(axis=0, dtype=np.int64)
    order = None if sequence.sorted_indices is None else sequence.sorted_indices.numpy(force=True)
    lengths = lengths if order is None else lengths[np.argsort(order)]
    index = _packed_rows(sizes, order, time, batch, batch_first)
    return _padded(sequence.data, index, time, batch, batch_first, padding_value), tensor(lengths)


def pad_sequence(
    sequences: Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Pad tensors (L, ...) with different L to one tensor (T, B, ...), or (B, T, ...), where T is the largest L. Raises
    RuntimeError if the side is unknown, if there are no sequences, or if axes after the first differ.

    >>> nn.utils.rnn.pad_sequence([mg.tensor([1, 2, 3]), mg.tensor([4])], batch_first=True)
    tensor([[1, 2, 3],
            [4, 0, 0]])
    """
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: expected an iterable of tensors, but got {type(sequences)}")
    listed = list(sequences)
    if not listed:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    shapes = [tuple(s.shape) for s in listed]
    if any(not shape or shape[1:] != shapes[0][1:] for shape in shapes):
        raise RuntimeError(f"pad_sequence: sequences (L, ...) must differ only in L, got {shapes}")
    lengths = np.array([len(s) for s in listed])
    time, batch = int(lengths.max()), len(listed)
    steps, start = np.arange(time), (time - lengths)[:, None] if padding_side == "left" else 0
    sequence, step = np.nonzero((steps >= start) & (steps < start + lengths[:, None]))  # (B, T)
    index = _rows(step, sequence, time, batch, batch_first)
    data = cat([s.to(listed[0].dtype) for s in listed])
    return _padded(data, index, time, batch, batch_first, padding_value)


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences (L, ...) of a padded tensor (T, B, ...), or (B, T, ...): the inverse of ``pad_sequence``."""
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(n)] for row, n in zip(batch, lengths, strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack tensors (L, ...) of different L into a PackedSequence; see ``pack_padded_sequence``."""
    lengths = [len(s) for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences (L, ...) of a PackedSequence; the inverse of ``pack_sequence``."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


border_functions(globals())
