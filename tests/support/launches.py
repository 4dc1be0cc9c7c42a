"""Count the kernels that a program launches on the stand-in for a GPU, and how often it waits for their results.

    with launches.count() as counted:
        step()
    counted.launches, counted.syncs  # numbers
    counted.by_name, counted.sync_names  # the same by operation

Each array operation that is not a view is one launch, and so is each CUDA kernel, fill, copy and upload. Rare ones, for
which CuPy needs several (a sort, a variance), are counted as one. A synchronisation makes the host wait for the device:
reading a number, copying an array to the host, a result whose shape depends on values.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(eq=False)
class Counts:
    """The operations within a ``with count()``, by name."""

    by_name: Counter[str] = field(default_factory=Counter)
    sync_names: Counter[str] = field(default_factory=Counter)

    @property
    def launches(self) -> int:
        """The number of kernels that were launched."""
        return self.by_name.total()

    @property
    def syncs(self) -> int:
        """How often the host waited."""
        return self.sync_names.total()


_active: list[Counts] = []
_total = 0


@contextmanager
def count() -> Iterator[Counts]:
    """Count within the ``with``; nested ones count the same operations again."""
    counts = Counts()
    _active.append(counts)
    try:
        yield counts
    finally:
        _active.remove(counts)


def total() -> int:
    """How many kernels this process has launched."""
    return _total


def launched(name: str) -> None:
    """Record a launch."""
    global _total
    _total += 1
    for counts in _active:
        counts.by_name[name] += 1


def synchronized(name: str) -> None:
    """Record that the host waits for the device."""
    for counts in _active:
        counts.sync_names[name] += 1
