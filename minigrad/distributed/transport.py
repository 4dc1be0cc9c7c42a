"""What carries arrays between ranks: one protocol, which MPI, NCCL and a world of one implement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ..backend import xp
from ..backend.dtype import Array


class Request(Protocol):
    """A transfer that has begun."""

    def done(self) -> bool:
        """Whether it is complete; the call also moves it on."""


class Transport(Protocol):
    """Collectives of ``size`` ranks, of which this process is ``rank``, and messages between two of them.

    Arrays are contiguous, and of dtypes that the transport knows; ``out`` and ``parts`` have ``size`` rows, one for
    each rank. Reductions are "sum", "prod", "min", "max", "band", "bor" and "bxor". All ranks make the same calls in
    the same order; whether they do is checked above (``agreement.py``).
    """

    name: str
    rank: int
    size: int

    def all_reduce(self, array: Array, op: str, together: bool) -> Request:
        """Reduce in place. ``together``: every rank is about to wait for it, so that it may block."""

    def reduce(self, array: Array, op: str, root: int) -> Request:
        """Reduce in place, on the root alone; the others' arrays stay as they are."""

    def broadcast(self, array: Array, root: int) -> Request:
        """Make all arrays the root's."""

    def all_gather(self, out: Array, array: Array) -> Request:
        """Put the array of each rank into its row of ``out``."""

    def gather(self, out: Array | None, array: Array, root: int) -> Request:
        """The same, on the root alone."""

    def scatter(self, array: Array, parts: Array | None, root: int) -> Request:
        """Give each rank its row of the root's ``parts``."""

    def reduce_scatter(self, out: Array, parts: Array, op: str) -> Request:
        """Reduce all ``parts``, and give each rank its row of the result."""

    def all_to_all(self, out: Array, parts: Array, received: Sequence[int], sent: Sequence[int]) -> Request:
        """Send ``sent[r]`` elements to rank r, and receive ``received[r]`` from it; flat arrays."""

    def send(self, array: Array, to: int, tag: int) -> Request:
        """Send to one rank."""

    def receive(self, array: Array, source: int, tag: int) -> Request:
        """Receive from one rank."""

    def close(self) -> None:
        """Free what the transport holds."""


class Done:
    """A transfer that is complete."""

    def done(self) -> bool:
        """True."""
        return True


class Alone:
    """The transport of a world of one: copies."""

    name = "alone"
    rank, size = 0, 1

    def all_reduce(self, array: Array, op: str, together: bool) -> Request:
        """The array as it is."""
        return Done()

    def reduce(self, array: Array, op: str, root: int) -> Request:
        """The array as it is."""
        return Done()

    def broadcast(self, array: Array, root: int) -> Request:
        """The array as it is."""
        return Done()

    def all_gather(self, out: Array, array: Array) -> Request:
        """Copy it to the one row."""
        return _copy(out, array)

    def gather(self, out: Array | None, array: Array, root: int) -> Request:
        """Copy it to the one row."""
        return _copy(out, array)

    def scatter(self, array: Array, parts: Array | None, root: int) -> Request:
        """Copy the one row."""
        return _copy(array, parts)

    def reduce_scatter(self, out: Array, parts: Array, op: str) -> Request:
        """Copy the one row."""
        return _copy(out, parts)

    def all_to_all(self, out: Array, parts: Array, received: Sequence[int], sent: Sequence[int]) -> Request:
        """Copy all."""
        return _copy(out, parts)

    def send(self, array: Array, to: int, tag: int) -> Request:
        """Not possible: a rank cannot send to itself."""
        raise ValueError("a rank cannot send to itself, and there is no other")

    receive = send

    def close(self) -> None:
        """Nothing to free."""


def _copy(out: Any, array: Any) -> Request:
    xp(out).copyto(out.reshape(-1), array.reshape(-1))
    return Done()
