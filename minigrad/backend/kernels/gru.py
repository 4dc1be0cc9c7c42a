"""The GRU over all steps; the weight's gradient is one product after the loop."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from ..registry import xp
from . import Gradients, Needs, wanted
from ._steps import Sizes, columns, halves, steps


def forward(
    needs: Needs, x: Array, weight: Array, bias: Array | None, h: Array, sizes: Sizes, reverse: bool
) -> tuple[tuple[Array, Array], Any]:
    m, keep, width = xp(x), any(needs), h.shape[1]
    half = halves(m, "sst", width, x.dtype)
    acts, last, turned = x * half, m.array(h, order="C"), (weight * half[:, None]).T
    shift = None if bias is None else bias * half
    out = m.empty((len(x), width), x.dtype)
    before, shares = (m.empty_like(out), m.empty_like(out)) if keep else (None, None)
    for rows, n in steps(sizes, reverse):
        now, hidden = acts[rows], last[:n]
        share = hidden @ turned
        if shift is not None:
            share += shift
        if before is not None and shares is not None:
            before[rows], shares[rows] = hidden, share[:, 2 * width :]
        gates, (r, z, new) = now[:, : 2 * width], columns(now, 3)
        gates += share[:, : 2 * width]
        m.tanh(gates, out=gates)
        gates *= 0.5
        gates += 0.5
        new += r * share[:, 2 * width :]
        m.tanh(new, out=new)
        hidden -= new
        hidden *= z
        hidden += new
        out[rows] = hidden
    return (out, last), (acts, before, shares) if keep else None


def backward(needs: Needs, saved: Any, g: tuple[Array, Array], *args: Any) -> Gradients:
    x, weight, _, h, sizes, reverse = args
    m, width = xp(x), h.shape[1]
    acts, before, shares = saved
    slope, dnew = m.empty_like(acts), m.empty_like(before)  # of W h + b, and n's own
    dh = m.array(g[1], order="C")
    for rows, n in reversed(steps(sizes, reverse)):
        (r, z, new), (dr, dz, dshare) = columns(acts[rows], 3), columns(slope[rows], 3)
        back, dn = dh[:n], dnew[rows]
        back += g[0][rows]
        m.subtract(before[rows], new, out=dz)
        dz *= back
        m.multiply(new, new, out=dn)
        m.subtract(1, dn, out=dn)
        dn *= back
        back *= z  # what reaches the last h past the gates
        dn -= dn * z
        m.multiply(dn, shares[rows], out=dr)
        m.multiply(dn, r, out=dshare)
        gates, dgates = acts[rows][:, : 2 * width], slope[rows][:, : 2 * width]
        factor = 1 - gates
        factor *= gates
        dgates *= factor
        back += slope[rows] @ weight
    dweight = slope.T @ before if needs[1] else None
    dbias = slope.sum(axis=0) if needs[2] else None
    slope[:, 2 * width :] = dnew  # from here on it is that of x
    return wanted(needs, slope, dweight, dbias, dh)
