"""Whether training keeps memory flat: the memory of a process that trains a tiny language model for 1,000 steps.

    python -m benchmarks.memory [--steps 1000]

Memory is the resident set size. It grows in the first steps (kernels, thread pools, the allocator) and then must stay
constant. The garbage collector is off, so that reference cycles would show. Live tensors and nodes are counted;
tests/test_memory.py asserts the same for many more programs.
"""

from __future__ import annotations

import gc

import minigrad
from minigrad import Tensor
from minigrad.autograd.tape import Node

from .machine import describe
from .process import resident_mebibytes
from .program import parser, show
from .steps import stepper
from .table import Table


def live(kind: type) -> int:
    """The number of live objects of a class."""
    return sum(issubclass(type(each), kind) for each in gc.get_objects())


def main() -> None:
    """Train, and print a row at the start, after a tenth of the steps, after half, and at the end."""
    options = parser("benchmarks.memory", __doc__, steps=1000).parse_args()
    gc.disable()
    step = stepper(minigrad, "tiny-gpt")
    table = Table(describe(), ("steps", "MiB resident", "live tensors", "live nodes"), (",d", ".1f", ",d", ",d"))
    for count in range(options.steps + 1):
        if count in {0, 1, options.steps // 10, options.steps // 2, options.steps}:
            table.add(count, resident_mebibytes(), live(Tensor), live(Node))
        if count < options.steps:
            step()
    show(table)


if __name__ == "__main__":
    main()
