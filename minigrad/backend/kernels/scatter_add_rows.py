"""Rows added up by index: an embedding's gradient."""

from __future__ import annotations

import numpy as np

from ..dtype import Array
from . import Needs

_ROUNDS = 16


def forward(needs: Needs, x: Array, indices: Array, rows: int) -> tuple[Array, None]:
    """Sorted by index, the rows of an index are a run. The first of all runs are copied, the second of all
    are added, and so on; what long runs have left is summed run by run (``np.add.at`` goes by elements)."""
    out = np.zeros((rows, x.shape[1]), x.dtype)
    if not len(indices):
        return out, None
    order = np.argsort(indices, kind="stable")
    ordered = indices[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    counts = np.diff(np.append(starts, len(order)))
    out[ordered[starts]] = x[order[starts]]
    for i in range(1, _ROUNDS):
        longer = counts > i
        starts, counts = starts[longer], counts[longer]
        if not len(starts):
            break
        out[ordered[starts]] += x[order[starts + i]]
    else:
        for start, count in zip(starts, counts, strict=True):
            out[ordered[start]] += x[order[start + _ROUNDS : start + count]].sum(axis=0)
    return out, None
