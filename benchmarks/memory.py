"""Whether training keeps memory flat: 1,000 steps of a tiny transformer, and what the process takes for them.

    python -m benchmarks.memory [--steps 1000] [--collector]

Memory is the resident set: what the system counts for the process. It grows in the first steps (kernels,
pools of threads, the allocator) and then must stay. The garbage collector is off unless --collector
is given, so that a cycle of references would show. Live tensors and nodes are counted one by one;
tests/test_memory.py asserts the same of many more programs than this.
"""

from __future__ import annotations

import gc
import time

import minigrad
from minigrad import Tensor, nn, optim
from minigrad.autograd.tape import Node

from .machine import describe
from .process import resident_mebibytes
from .program import parser

VOCABULARY, WIDTH, HEADS = 65, 32, 4
BATCH, LENGTH = 8, 16


class TinyDecoder(nn.Module):
    """One causal block between an embedding and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.block = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, batch_first=True, norm_first=True)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.block(self.embed(tokens), src_mask=mask, is_causal=True))


def step(model: nn.Module, optimizer: optim.Optimizer) -> None:
    """One step of training, on random tokens (B, T)."""
    tokens = minigrad.randint(0, VOCABULARY, (BATCH, LENGTH + 1))
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def live(kind: type) -> int:
    """How many objects of a class there are."""
    return sum(issubclass(type(each), kind) for each in gc.get_objects())


def main() -> None:
    """Train, and print a row at the start, a tenth of the way, half of it and the end."""
    p = parser("benchmarks.memory", __doc__, steps=1000)
    p.add_argument("--collector", action="store_true", help="leave Python's garbage collector on")
    options = p.parse_args()
    if not options.collector:
        gc.disable()
    print(describe())
    minigrad.manual_seed(0)
    model = TinyDecoder()
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    print("    steps   MiB resident   live tensors   live nodes    seconds")
    start = time.perf_counter()
    for done in range(options.steps + 1):
        if done in {0, 1, options.steps // 10, options.steps // 2, options.steps}:
            row = f"{done:9,}   {resident_mebibytes():12.1f}   {live(Tensor):12,}   {live(Node):10,}"
            print(f"{row}   {time.perf_counter() - start:8.1f}")
        if done < options.steps:
            step(model, optimizer)


if __name__ == "__main__":
    main()
