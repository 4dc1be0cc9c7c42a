"""A training step of the workloads, for ideas that only a whole step shows."""

from __future__ import annotations

from collections.abc import Callable

import minigrad

from ..workloads import SIZES, build, loss_function, optimizer


def trainer(work: str) -> Callable[[], None]:
    """A training step of workloads.py on minigrad."""
    minigrad.manual_seed(0)
    model = build(minigrad, SIZES[work], SIZES[work].dropout)
    loss_of, adam = loss_function(minigrad, SIZES[work]), optimizer(minigrad, SIZES[work], model)

    def step() -> None:
        adam.zero_grad()
        loss_of(model).backward()
        adam.step()

    return step
