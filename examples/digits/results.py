"""All training runs in the lesson, and their results."""

from __future__ import annotations

import math
import time
from functools import cached_property

from minigrad_models.training.progress import Progress

from .digits_data import split
from .train_digits import ARCHITECTURES, EPOCHS, REACH, Trained, accuracy, train, updates

DISTANCES = (0, 1, 2)  # pixels by which digits are shifted


class Results:
    """The four networks, trained once on the original digits and once on shifted digits.

    Args:
        seed: selects the held-out digits, the initial weights, and the order of the digits.
        epochs: the epochs of each training run.
        repeat: with how many seeds, from ``seed`` up, to train each network on the original digits.

    Attributes:
        kept, held_out: the training digits and the other digits.
        in_place, with_shifts: the networks by name, trained without and with shifts.
        repeated: by name, the accuracy on the held-out digits for each seed.
    """

    def __init__(self, seed: int = 0, epochs: int = EPOCHS, repeat: int = 1) -> None:
        self.seed, self.epochs = seed, epochs
        self.kept, self.held_out = split(seed)
        self.began = time.monotonic()
        with Progress(updates(self.kept, epochs) * len(ARCHITECTURES) * (repeat + 1), math.inf, unit="digits") as bar:
            self.in_place = self._all(seed, 0, bar)
            self.with_shifts = self._all(seed, REACH, bar)
            others = [self._all(other, 0, bar) for other in range(seed + 1, seed + repeat)]
        self.repeated = {name: [one[name].accuracies[-1] for one in [self.in_place, *others]] for name in ARCHITECTURES}

    def _all(self, seed: int, reach: int, bar: Progress) -> dict[str, Trained]:
        rest, held_out = split(seed)
        return {name: train(name, rest, held_out, reach, seed, self.epochs, bar, self.began) for name in ARCHITECTURES}

    @cached_property
    def shifted(self) -> dict[str, list[list[float]]]:
        """By name, the accuracies on held-out digits shifted by ``DISTANCES``, for the network trained without shifts
        and the network trained with shifts."""
        return {
            name: [
                [accuracy(one.model, self.held_out, d) for d in DISTANCES] for one in (first, self.with_shifts[name])
            ]
            for name, first in self.in_place.items()
        }
