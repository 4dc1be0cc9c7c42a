"""The counter of launches and synchronisations on the stand-in for a GPU."""

from typing import Any

import numpy as np

from tests.support import launches
from tests.support.expressions import split
from tests.support.strict_array import NAMESPACE as xp


def matrix() -> Any:
    return xp.asarray(np.arange(6.0).reshape(2, 3))


VIEWS = """
x.reshape(3, 2) ; x.T.swapaxes(0, 1).transpose() ; x[1:, None] ; xp.broadcast_to(x, (4, 2, 3)) ; xp.moveaxis(x, 0, 1)
xp.ascontiguousarray(x) ; x.astype(x.dtype, copy=False) ; xp.empty_like(x)
"""
LAUNCHES = """
xp.exp(x) ; xp.exp(x, out=x) ; x.sum(axis=0) ; x.__iadd__(1) ; x @ x.T ; xp.ascontiguousarray(x.T) ; x.T.reshape(-1)
x.astype(np.float32) ; x.__setitem__(0, 1.0) ; xp.zeros(3) ; xp.concatenate([x, x])
"""
SYNCS = """
x.sum().item() ; float(x.sum()) ; bool((x > 0).all()) ; x.get() ; x[x > 0] ; x.nonzero() ; f'{x}'
"""


def counted(expression: str) -> tuple[int, int]:
    """The launches and synchronisations of an expression."""
    names = {"x": matrix(), "xp": xp, "np": np}
    with launches.count() as counts:
        eval(expression, names)
    return counts.launches, counts.syncs


def test_launches_and_syncs() -> None:
    """A view launches nothing, an operation launches a kernel, and reading a value synchronises."""
    for expressions, expected in ((VIEWS, (0, 0)), (LAUNCHES, (1, 0))):
        assert [(e, counted(e)) for e in split(expressions) if counted(e) != expected] == []
    assert counted("x[xp.asarray(np.array([1, 0]))]") == (2, 0)  # and the upload of the index
    assert counted("-x + 2 * x") == (3, 0)
    assert [(e, counted(e)) for e in split(SYNCS) if counted(e)[1] != 1] == []
