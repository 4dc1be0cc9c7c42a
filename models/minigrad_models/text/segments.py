"""Segments of a text, each of which goes on where the one before it ended: what a model with a memory reads.

Shapes: B rows of a batch, T tokens of a segment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minigrad import Tensor, from_numpy

Array = np.ndarray[Any, np.dtype[Any]]


class Segment(NamedTuple):
    """A batch: each row goes on where that row of the batch before it ended, unless the segment is a beginning."""

    tokens: Tensor  # (B, T), int64
    targets: Tensor  # (B, T): the token after each
    begins: bool


class Segments:
    """A text (N,) of ints, cut into ``rows`` of equal length that are read side by side, ``length`` tokens at a time.
    From epoch to epoch the cuts move by less than a segment, by the seed and the epoch, so that its ends are not always
    the same; without a seed, each epoch begins with the first token. What does not fill a row's last segment is left
    out. Raises ValueError: ``rows`` or ``length`` is below 1, or the text has no segment of that size in an epoch."""

    def __init__(self, tokens: Array, rows: int, length: int, seed: int | None = 0) -> None:
        if rows < 1 or length < 1:
            raise ValueError(f"{rows} rows of {length} tokens are no batch")
        if len(tokens) <= (rows * length + length if seed is not None else rows * length):
            raise ValueError(f"a text of {len(tokens):,} tokens is too short for {rows} rows of {length} tokens")
        self.tokens, self.rows, self.length, self.seed = tokens, rows, length, seed

    def epoch(self, number: int, start: int = 0) -> Iterator[Segment]:
        """The segments of an epoch, from number ``start`` on. The same arguments give the same segments."""
        first = 0
        if self.seed is not None:
            first = int(np.random.default_rng([self.seed % 2**64, number]).integers(self.length))
        count = (len(self.tokens) - 1 - first) // (self.rows * self.length)  # the last token is only a target
        begins = first + count * self.length * np.arange(self.rows)[:, None]
        for i in range(start, count):
            places = begins + np.arange(i * self.length, (i + 1) * self.length + 1)
            window = self.tokens[places].astype(np.int64)  # (B, T + 1)
            yield Segment(from_numpy(window[:, :-1].copy()), from_numpy(window[:, 1:].copy()), i == 0)


class Recurrence:
    """The loss function of a training on ``Segments``, and the memory that it carries from batch to batch (None at a
    beginning): the trainer's ``loss`` and its ``carried``. The memory is the model's at the time when it read a
    segment. It cannot be computed anew from the place in the text, since the weights have changed; so it belongs in the
    checkpoint."""

    def __init__(self) -> None:
        self.memory: Tensor | None = None

    def __call__(self, model: Any, segment: Segment) -> tuple[Tensor, float]:
        """The mean loss of a segment, and the number of its targets. The model's ``segment_loss(tokens, targets,
        memory)`` returns that loss after a memory (None: of nothing), and the next one, without a gradient."""
        device = next(model.parameters()).device
        before = None if segment.begins or self.memory is None else self.memory.to(device)
        loss, self.memory = model.segment_loss(segment.tokens.to(device), segment.targets.to(device), before)
        return loss, segment.targets.numel()

    def state_dict(self) -> dict[str, Any]:
        """The memory."""
        return {"memory": self.memory}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from there. Raises LookupError, ValueError: there is no memory in it."""
        memory = state["memory"]
        if not isinstance(memory, Tensor | None):
            raise ValueError(f"memory must be a tensor, not {type(memory).__name__}")
        self.memory = memory
