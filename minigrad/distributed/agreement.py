"""Whether all ranks make the same call: a header of a few numbers goes round before the arrays do.

MPI and NCCL leave a call that differs between ranks undefined: they hang, crash, or mix up numbers. One reduction of
some 200 bytes by maximum, of a header and of its negative, tells whether all are equal, for any number of ranks; only
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
    "float64", "complex64", "complex128",
)  # fmt: skip
MOST_AXES = 8
LENGTH = 6 + MOST_AXES
_ANY = -1  # a shape that may differ between ranks
OPS = ("sum", "avg", "prod", "min", "max", "band", "bor", "bxor")

Header = np.ndarray[Any, Any]


def header(
    call: str, array: Any, *, op: str | None = None, root: int = -1, together: bool = True, shaped: bool = True
) -> Header:
    """What a rank says of its call.

    Args:
        array: what it gives; None in a barrier. op: of a reduction. root: where there is one.
        together: whether it is about to wait. shaped: whether shapes must be equal.
    """
    fields = [CALLS.index(call), -1 if op is None else OPS.index(op), root, int(together), 0, 0]
    if array is not None:
        shape = tuple(array.shape) if shaped else ()
        fields[4] = DTYPES.index(dt.of_numpy(array.dtype).name)
        fields[5] = len(shape) if shaped else _ANY
        fields += shape if len(shape) <= MOST_AXES else (*shape[: MOST_AXES - 1], hash(shape) % 2**31)
    line = np.zeros(LENGTH, np.int64)
    line[: len(fields)] = fields
    return line


class Agreement:
    """The comparison of one call's headers, under way."""

    def __init__(self, control: Mpi, line: Header) -> None:
        self.control, self.line = control, line
        self.pair = np.concatenate([line, -line])
        self.request: Request = control.all_reduce(self.pair, "max", together=False)

    def done(self) -> bool:
        """Whether the result is there."""
        return self.request.done()

    def check(self, ranks: Sequence[int]) -> bool:
        """Whether all ranks are about to wait; called when it is done.

        Args:
            ranks: their numbers in the world, for the message.

        Raises:
            RuntimeError: the calls differ.
        """
        largest, smallest = self.pair[:LENGTH], -self.pair[LENGTH:]
        differ = largest != smallest
        together = bool(smallest[3])
        differ[3] = False  # who waits at once and who does not may differ
        if differ.any():
            table = np.empty((self.control.size, LENGTH), np.int64)
            request = self.control.all_gather(table, self.line)
            while not request.done():
                pass
            raise RuntimeError(difference(table, ranks))
        return together


def difference(table: Header, ranks: Sequence[int]) -> str:
    """Which ranks call what."""
    calls: dict[str, list[int]] = {}
    for rank, line in zip(ranks, table, strict=True):
        calls.setdefault(spelled(line), []).append(rank)
    said = "; ".join(f"{_ranks(who)}: {what}" for what, who in calls.items())
    return f"the ranks do not make the same call. {said}"


def _ranks(who: list[int]) -> str:
    if len(who) == 1:
        return f"rank {who[0]}"
    shown = ", ".join(map(str, who[:8])) + (f" and {len(who) - 8} more" if len(who) > 8 else "")
    return f"ranks {shown}"


def spelled(line: Header) -> str:
    """A header as a call."""
    call, op, root, _, number, axes, *shape = (int(value) for value in line)
    if axes == _ANY:
        what = DTYPES[number]
    else:
        lengths = shape[:axes] if axes <= MOST_AXES else [*shape[: MOST_AXES - 1], "…"]
        inner = ", ".join(map(str, lengths)) + ("," if axes == 1 else "")
        what = f"{DTYPES[number]} of shape ({inner})"
    parts = [what] if CALLS[call] != "barrier" else []
    if op >= 0:
        parts.append(f"op={OPS[op]}")
    if root >= 0:
        parts.append(f"{'dst' if CALLS[call] in ('reduce', 'gather') else 'src'}={root}")
    return f"{CALLS[call]}({', '.join(parts)})"
