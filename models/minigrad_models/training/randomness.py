"""The random number generators that a training may use: minigrad's, Python's and NumPy's."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minigrad.autograd import no_grad
from minigrad.autograd.mode import at_end, kept
from minigrad.backend.random import default_generator, manual_seed
from minigrad.nn.module import Module

from ..text.schema import check_like


def seed(number: int) -> None:
    """Seed all generators."""
    manual_seed(number)
    random.seed(number)
    np.random.seed(number % 2**32)


def positions() -> dict[str, Any]:
    """The states of all generators, as plain data."""
    return {
        "minigrad": default_generator.get_state(),
        "python": random.getstate(),
        "numpy": np.random.get_state(legacy=False),
    }


def go_to(state: dict[str, Any]) -> None:
    """Restore the states from ``positions``. Raises ValueError: they are none."""
    check_like(state, positions(), "random")
    if not 0 <= state["numpy"]["state"]["pos"] <= 624:  # NumPy would read beyond its words
        raise ValueError("random['numpy'] has a position beyond its words")
    default_generator.set_state(state["minigrad"])
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])


@contextmanager
def undisturbed(model: Module) -> Iterator[None]:
    """For evaluation: no gradients, the model in eval mode; at the end the modes of all modules, and all
    random number generators, are as before."""
    modes = [(module, module.training) for module in model.modules()]
    before = positions()

    def put_back() -> None:
        for module, mode in modes:
            module.training = mode
        go_to(before)

    with at_end(put_back) as end, end, kept() as mode, mode, no_grad():
        model.eval()
        yield
