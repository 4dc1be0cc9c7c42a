"""Every stream of random numbers that a training may draw from: minigrad's, Python's and NumPy's own."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..autograd import no_grad
from ..backend.random import default_generator, manual_seed
from ..nn.module import Module


def seed(number: int) -> None:
    """Start all streams from one seed."""
    manual_seed(number)
    random.seed(number)
    np.random.seed(number % 2**32)


def positions() -> dict[str, Any]:
    """Where all streams stand, as plain data."""
    return {
        "minigrad": default_generator.get_state(),
        "python": random.getstate(),
        "numpy": np.random.get_state(legacy=False),
    }


def go_to(state: dict[str, Any]) -> None:
    """Put all streams where ``positions`` found them."""
    default_generator.set_state(state["minigrad"])
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])


@contextmanager
def undisturbed(model: Module) -> Iterator[None]:
    """Evaluate: no gradients, the model in eval mode; afterwards each of its modules is in the mode that it
    was in, and no random number counts as drawn."""
    modes = [(module, module.training) for module in model.modules()]
    before = positions()
    model.eval()
    try:
        with no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode
        go_to(before)
