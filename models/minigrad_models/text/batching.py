"""The order of the training data: batches of sentence pairs of similar length, or consecutive segments of a text for a
model with a memory. Shapes: B rows in a batch, T tokens in a segment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minigrad import Tensor, from_numpy

IntArray = np.ndarray[Any, np.dtype[Any]]

# Source lengths that count as equal. On Multi30k, 3 halves the fraction of pairs that share a batch again in the next
# epoch (29 %, versus 58 % with 1), at the cost of 3 % more padding.
NOISE = 3
Plan = tuple[IntArray, IntArray]  # an epoch: batch k has the pairs order[first : last], from row k of the second array


class TokenBatches:
    """Batches of pair indices with a maximum number of tokens. Each pair occurs once per epoch.

    Pairs are sorted by target length and, roughly, source length, and split into batches with at most ``tokens`` on
    either side, including padding (a longer pair gets its own batch). The batches are shuffled; without ``shuffle``,
    they go from short to long in every epoch. The order depends only on the seed and the epoch, so an epoch and an
    index define a position in the training data (see ``training.LoaderBatches``). ``lengths`` (N, 2) are the source and
    target lengths. Raises ValueError if ``lengths`` has the wrong shape, or ``tokens`` is below 1.
    """

    def __init__(self, lengths: Any, tokens: int = 4096, *, seed: int = 0, shuffle: bool = True) -> None:
        self.lengths: IntArray = np.asarray(lengths)
        if self.lengths.ndim != 2 or self.lengths.shape[1] != 2:
            raise ValueError(f"lengths must have shape (N, 2), for source and target, not {self.lengths.shape}")
        if tokens < 1 or seed < 0:
            raise ValueError(f"tokens ({tokens}) must be at least 1, and seed ({seed}) at least 0")
        self.tokens, self.seed, self.shuffle = tokens, seed, shuffle
        self._plan: tuple[int, Plan] | None = None

    def epoch(self, number: int, start: int = 0) -> Iterator[list[int]]:
        if self._plan is None or self._plan[0] != number:
            self._plan = None  # frees its memory before the new plan needs it
            self._plan = number, self._planned(number)
        order, spans = self._plan[1]
        for first, last in spans[start:].tolist():
            yield order[first:last].tolist()

    def _planned(self, number: int) -> Plan:
        source, target = self.lengths.T.astype(np.int64)
        if not self.shuffle:
            order = np.argsort(target << 32 | source, kind="stable")
            return order, self._cut(order)
        # The raw numbers are the same in every version of NumPy, but permutations may differ.
        bits = np.random.SFC64(np.random.SeedSequence([self.seed, number]))
        random = bits.random_raw(len(self.lengths))
        source += (random % np.uint64(NOISE)).astype(np.int64)
        # Sort by target length, then by source length, alternately ascending and descending. If it always ascended, it
        # would drop from longest to shortest where the target grows by one, and that batch would be half padding.
        order = np.lexsort((random, (target << 32) + np.where(target % 2, -source, source)))
        batches = self._cut(order)
        return order, batches[np.argsort(bits.random_raw(len(batches)), kind="stable")]

    def _cut(self, order: IntArray) -> IntArray:
        """The start and end of each batch in an order, (batches, 2) int64."""
        longest = self.lengths[order].max(axis=1, initial=1)
        edges = [0]
        while edges[-1] < len(order):
            start = edges[-1]
            running = np.maximum.accumulate(longest[start : start + self.tokens // longest[start]])
            fits = np.searchsorted(running * np.arange(1, len(running) + 1), self.tokens, side="right")
            edges.append(start + max(1, int(fits)))
        return np.column_stack([edges[:-1], edges[1:]]).astype(np.int64)


class Segment(NamedTuple):
    """A batch. Each row continues the same row of the previous batch, unless ``begins`` is set."""

    tokens: Tensor  # (B, T), int64
    targets: Tensor  # (B, T): the token after each token
    begins: bool


class Segments:
    """A text (N,) of ints, cut into ``rows`` of equal length that are read in parallel, ``length`` tokens at a time. In
    each epoch, the cuts shift by a random fraction of a segment, which depends on the seed and the epoch, so that
    segments end at different places. The incomplete last segment of a row is dropped. Raises ValueError if ``rows`` or
    ``length`` is below 1, or the text is too short for one segment in an epoch."""

    def __init__(self, tokens: IntArray, rows: int, length: int, seed: int = 0) -> None:
        if rows < 1 or length < 1:
            raise ValueError(f"a batch needs at least 1 row and 1 token, not {rows} rows of {length} tokens")
        if len(tokens) <= rows * length + length:
            raise ValueError(f"a text of {len(tokens):,} tokens is too short for {rows} rows of {length} tokens")
        self.tokens, self.rows, self.length, self.seed = tokens, rows, length, seed

    def epoch(self, number: int, start: int = 0) -> Iterator[Segment]:
        first = int(np.random.default_rng([self.seed % 2**64, number]).integers(self.length))
        count = (len(self.tokens) - 1 - first) // (self.rows * self.length)  # the last token is only a target
        begins = first + count * self.length * np.arange(self.rows)[:, None]
        for i in range(start, count):
            places = begins + np.arange(i * self.length, (i + 1) * self.length + 1)
            window = self.tokens[places].astype(np.int64)  # (B, T + 1)
            yield Segment(from_numpy(window[:, :-1].copy()), from_numpy(window[:, 1:].copy()), i == 0)


class Recurrence:
    """The loss function for training on ``Segments``, with the memory that it carries from batch to batch (None at
    first). It serves as the trainer's ``loss`` and ``carried``. The memory depends on the weights with which the model
    read a segment, so it cannot be recomputed from the position in the text, and must be saved in the checkpoint."""

    def __init__(self) -> None:
        self.memory: Tensor | None = None

    def __call__(self, model: Any, segment: Segment) -> tuple[Tensor, float]:
        """The mean loss on a segment, and its number of targets. The model's ``segment_loss(tokens, targets, memory)``
        returns the loss given a memory (None: empty), and the next memory, detached."""
        device = next(model.parameters()).device
        before = None if segment.begins or self.memory is None else self.memory.to(device)
        loss, self.memory = model.segment_loss(segment.tokens.to(device), segment.targets.to(device), before)
        return loss, segment.targets.numel()

    def state_dict(self) -> dict[str, Any]:
        return {"memory": self.memory}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the memory. Raises LookupError or ValueError if the state has no memory."""
        memory = state["memory"]
        if not isinstance(memory, Tensor | None):
            raise ValueError(f"memory must be a tensor, not {type(memory).__name__}")
        self.memory = memory
