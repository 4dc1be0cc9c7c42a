"""Whether training keeps memory flat: 1,000 steps of a tiny language model, and what the process takes for them.

    python -m benchmarks.memory [--steps 1000]

Memory is the resident set: what the system counts for the process. It grows in the first steps (kernels,
pools of threads, the allocator) and then must stay. The garbage collector is off, so that a cycle of references would
show. Live tensors and nodes are counted one by one; tests/test_memory.py asserts the same of many more programs than
this.
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
    """How many objects of a class there are."""
    return sum(issubclass(type(each), kind) for each in gc.get_objects())


def main() -> None:
    """Train, and print a row for the start, a tenth of the way, half of it and the end."""
    options = parser("benchmarks.memory", __doc__, steps=1000).parse_args()
    gc.disable()
    step = stepper(minigrad, "tiny-gpt")
    table = Table(describe(), ("steps", "MiB resident", "live tensors", "live nodes"), (",d", ".1f", ",d", ",d"))
    for done in range(options.steps + 1):
        if done in {0, 1, options.steps // 10, options.steps // 2, options.steps}:
            table.add(done, resident_mebibytes(), live(Tensor), live(Node))
        if done < options.steps:
            step()
    show(table)


if __name__ == "__main__":
    main()
