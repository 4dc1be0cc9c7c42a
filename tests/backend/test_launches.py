"""The counter of launches and synchronisations on the stand-in for a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import launches
from tests.support.strict_array import NAMESPACE as xp


def matrix() -> Any:
    return xp.asarray(np.arange(6.0).reshape(2, 3))


VIEWS: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda x: x.reshape(3, 2),
    "transpose": lambda x: x.T.swapaxes(0, 1).transpose(),
    "slice": lambda x: x[1:, None],
    "broadcast": lambda x: xp.broadcast_to(x, (4, 2, 3)),
    "moveaxis": lambda x: xp.moveaxis(x, 0, 1),
    "contiguous already": lambda x: xp.ascontiguousarray(x),
    "same dtype": lambda x: x.astype(x.dtype, copy=False),
    "memory": lambda x: xp.empty_like(x),
}
LAUNCHES: dict[str, tuple[Callable[[Any], Any], int]] = {
    "operators": (lambda x: -x + 2 * x, 3),
    "function": (lambda x: xp.exp(x), 1),
    "function into an array": (lambda x: xp.exp(x, out=x), 1),
    "method": (lambda x: x.sum(axis=0), 1),
    "in place": (lambda x: x.__iadd__(1), 1),
    "product": (lambda x: x @ x.T, 1),
    "copy to contiguous": (lambda x: xp.ascontiguousarray(x.T), 1),
    "reshape that copies": (lambda x: x.T.reshape(-1), 1),
    "conversion": (lambda x: x.astype(np.float32), 1),
    "assignment": (lambda x: x.__setitem__(0, 1.0), 1),
    "rows": (lambda x: x[xp.asarray(np.array([1, 0]))], 2),  # and the upload of the index
    "zeros": (lambda x: xp.zeros(3), 1),
    "joined": (lambda x: xp.concatenate([x, x]), 1),
}
SYNCS: dict[str, Callable[[Any], Any]] = {
    "item": lambda x: x.sum().item(),
    "float": lambda x: float(x.sum()),
    "bool": lambda x: bool((x > 0).all()),
    "host": lambda x: x.get(),
    "mask": lambda x: x[x > 0],
    "nonzero": lambda x: x.nonzero(),
    "text": lambda x: f"{x}",
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_launches_nothing(name: str) -> None:
    x = matrix()
    with launches.count() as counted:
        VIEWS[name](x)
    assert (counted.launches, counted.syncs) == (0, 0), counted


@pytest.mark.parametrize("name", LAUNCHES)
def test_an_operation_is_a_launch(name: str) -> None:
    operation, number = LAUNCHES[name]
    x = matrix()
    with launches.count() as counted:
        operation(x)
    assert (counted.launches, counted.syncs) == (number, 0), counted


@pytest.mark.parametrize("name", SYNCS)
def test_reading_a_value_synchronizes(name: str) -> None:
    x = matrix()
    with launches.count() as counted:
        SYNCS[name](x)
    assert counted.syncs == 1, counted


def test_nothing_is_counted_outside() -> None:
    with launches.count() as outer:
        with launches.count() as inner:
            matrix()
        matrix()
    matrix()
    assert (outer.launches, inner.launches) == (2, 1)
