"""The GRU over all steps; the weight's gradient is one product after the loop."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from ..registry import xp
from . import Gradients, Needs, wanted
from ._steps import Sizes, columns, sigmoid, steps


def forward(
    needs: Needs, x: Array, weight: Array, bias: Array | None, h: Array, sizes: Sizes, reverse: bool
) -> tuple[tuple[Array, Array], Any]:
    m, kept = xp(x), []
    out, last = m.empty((len(x), h.shape[1]), x.dtype), m.array(h, order="C")
    for rows, n in steps(sizes, reverse):
        before = last[:n].copy()
        share = before @ weight.T if bias is None else before @ weight.T + bias
        (r, z, new), (to_r, to_z, to_new) = columns(x[rows], 3), columns(share, 3)
        r, z = sigmoid(m, r + to_r), sigmoid(m, z + to_z)
        new = m.tanh(new + r * to_new)
        out[rows] = new + z * (before - new)
        last[:n] = out[rows]
        if any(needs):
            kept.append((rows, n, r, z, new, to_new, before))
    return (out, last), kept


def backward(needs: Needs, saved: Any, g: tuple[Array, Array], *args: Any) -> Gradients:
    x, weight, _, h, *_ = args
    m = xp(x)
    slope, shares = m.empty((2, *x.shape), x.dtype)  # of x, and of W h + b
    befores, dh = m.empty((len(x), h.shape[1]), x.dtype), m.array(g[1], order="C")
    for rows, n, r, z, new, to_new, before in reversed(saved):
        back = dh[:n] + g[0][rows]
        dn, dz = back * (1 - z) * (1 - new * new), back * (before - new) * z * (1 - z)
        dr = dn * to_new * r * (1 - r)
        slope[rows], shares[rows] = m.concatenate((dr, dz, dn), axis=1), m.concatenate((dr, dz, dn * r), axis=1)
        befores[rows] = before
        dh[:n] = back * z + shares[rows] @ weight
    dweight = shares.T @ befores if needs[1] else None
    return wanted(needs, slope, dweight, shares.sum(axis=0) if needs[2] else None, dh)
