"""Whether all ranks make the same call: a header of a few numbers goes round before the arrays do.

MPI and NCCL leave a call that differs between ranks undefined: they hang, crash, or mix up numbers. One reduction of
240 bytes by maximum, of a header and of its negative, tells whether all are equal, for any number of ranks; only
if they are not, all headers are gathered, for the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend import dtype as dt
from .mpi import Mpi
from .transport import Request

CALLS = (
    "all_reduce", "reduce", "broadcast", "all_gather", "gather", "scatter", "reduce_scatter", "all_to_all", "barrier",
    "send", "recv",
)  # fmt: skip
DTYPES = (
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float8_e8m0fnu", "float4_e2m1fn_x2",
)  # fmt: skip
MOST_AXES = 8
FIRST_AXIS = 7  # of a header's fields
LENGTH = FIRST_AXIS + MOST_AXES
_ANY = -1  # a shape that may differ between ranks
OPS = ("sum", "avg", "prod", "min", "max", "band", "bor", "bxor")

Header = np.ndarray[Any, Any]
Counts = tuple[Sequence[int], Sequence[int]]  # of elements that a rank sends to each, and expects of each


def header(
    call: str,
    array: Any,
    *,
    op: str | None = None,
    root: int = -1,
    together: bool = True,
    shaped: bool = True,
    on_gpu: bool = False,
) -> Header:
    """What a rank says of its call.

    Args:
        array: what it gives; None in a barrier. op: of a reduction. root: where there is one.
        together: whether it is about to wait, and may block. shaped: whether shapes must be equal.
        on_gpu: whether NCCL carries it.

    Raises:
        TypeError: arrays of this dtype cannot be sent.
    """
    fields = [CALLS.index(call), -1 if op is None else OPS.index(op), root, int(together), int(on_gpu), 0, 0]
    if array is not None:
        shape = tuple(array.shape) if shaped else ()
        name = dt.of_numpy(array.dtype).name
        if name not in DTYPES:
            raise TypeError(f"tensors of {name} cannot be sent to other ranks: convert them first")
        fields[5] = DTYPES.index(name)
        fields[6] = len(shape) if shaped else _ANY
        fields += shape if len(shape) <= MOST_AXES else (*shape[: MOST_AXES - 1], hash(shape) % 2**31)
    line = np.zeros(LENGTH, np.int64)
    line[: len(fields)] = fields
    return line


class Agreement:
    """The comparison of one call's headers, under way."""

    def __init__(self, control: Mpi, aside: Mpi, line: Header, counts: Counts | None = None) -> None:
        self.aside, self.line, self._counts = aside, line, counts
        self._theirs: Header | None = None
        self._wrong: Header | None = None
        self.pair = np.concatenate([line, -line])
        self.request: Request = control.all_reduce(self.pair, "max", together=False)

    def done(self) -> bool:
        """Whether the result is there."""
        if not self.request.done():
            return False
        if self._counts is None or self._differs().any():
            return True
        return self._compare(self._counts)

    def _compare(self, counts: Counts) -> bool:
        """Whether all know if the elements that are sent are those that are expected. Two steps: the ranks tell each
        other, and then all whether something does not fit."""
        if self._theirs is None:
            sent, one = np.array(counts[0], np.int64), [1] * self.aside.size
            self._theirs = np.empty_like(sent)
            self._step: Request = self.aside.all_to_all(self._theirs, sent, one, one)
        if self._wrong is None and self._step.done():
            self._wrong = np.array([int((self._theirs != np.array(counts[1])).any())])
            self._step = self.aside.all_reduce(self._wrong, "max", together=False)
        return self._wrong is not None and self._step.done()

    def _differs(self) -> Header:
        """Which fields are not the same everywhere."""
        differ = self.pair[:LENGTH] != -self.pair[LENGTH:]
        differ[3] = False  # who waits at once and who does not may differ
        return np.asarray(differ)

    def check(self, ranks: Sequence[int]) -> bool:
        """Whether all ranks are about to wait; called when it is done.

        Args:
            ranks: their numbers in the world, for the message.

        Raises:
            RuntimeError: the calls differ.
        """
        if self._differs().any():
            table = np.empty((self.aside.size, LENGTH), np.int64)
            request = self.aside.all_gather(table, self.line)
            while not request.done():
                pass
            raise RuntimeError(difference(table, ranks))
        if self._wrong is not None and self._wrong[0]:
            raise RuntimeError(self._misfit(ranks))
        return bool(-self.pair[LENGTH + 3])

    def _misfit(self, ranks: Sequence[int]) -> str:
        assert self._counts is not None and self._theirs is not None
        expected = self._counts[1]
        own = [
            f"rank {rank} sends {sent} elements to rank {ranks[self.aside.rank]}, which expects {wanted}"
            for rank, sent, wanted in zip(ranks, self._theirs.tolist(), expected, strict=True)
            if sent != wanted
        ]
        name = CALLS[int(self.line[0])]
        return f"{name}: {'; '.join(own) or 'between other ranks, the parts that are sent are not those expected'}"


def difference(table: Header, ranks: Sequence[int]) -> str:
    """Which ranks call what."""
    calls: dict[bytes, list[int]] = {}
    for rank, line in zip(ranks, table, strict=True):
        calls.setdefault(line[[i for i in range(LENGTH) if i != 3]].tobytes(), []).append(rank)
    lines = dict(zip(ranks, table, strict=True))
    said = "; ".join(f"{_ranks(who)}: {spelled(lines[who[0]])}" for who in calls.values())
    return f"the ranks do not make the same call. {said}"


def announced(line: Header) -> tuple[str, tuple[int, ...]] | None:
    """The dtype and the shape of a message; None for one with more axes than a header has."""
    axes = int(line[6])
    return None if axes > MOST_AXES else (DTYPES[int(line[5])], tuple(map(int, line[FIRST_AXIS : FIRST_AXIS + axes])))


def _ranks(who: list[int]) -> str:
    if len(who) == 1:
        return f"rank {who[0]}"
    shown = ", ".join(map(str, who[:8])) + (f" and {len(who) - 8} more" if len(who) > 8 else "")
    return f"ranks {shown}"


def spelled(line: Header) -> str:
    """A header as a call."""
    call, op, root, _, on_gpu, number, axes, *shape = (int(value) for value in line)
    if axes == _ANY:
        what = DTYPES[number]
    else:
        lengths = shape[:axes] if axes <= MOST_AXES else [*shape[: MOST_AXES - 1], f"… (mark {shape[-1] % 1000})"]
        inner = ", ".join(map(str, lengths)) + ("," if axes == 1 else "")
        what = f"{DTYPES[number]} of shape ({inner})"
    what += " on a GPU" if on_gpu else ""
    parts = [what] if CALLS[call] != "barrier" else []
    if op >= 0:
        parts.append(f"op={OPS[op]}")
    if root >= 0:
        parts.append(f"{'dst' if CALLS[call] in ('reduce', 'gather') else 'src'}={root}")
    return f"{CALLS[call]}({', '.join(parts)})"
