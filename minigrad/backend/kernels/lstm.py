"""The LSTM over all steps; the weights' gradients are one product each after the loop."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from ..registry import xp
from . import Gradients, Needs, wanted
from ._steps import Sizes, columns, halves, steps


def forward(
    needs: Needs, x: Array, weight: Array, project: Array | None, h: Array, c: Array, sizes: Sizes, reverse: bool
) -> tuple[tuple[Array, Array, Array], Any]:
    m, keep, width = xp(x), any(needs), c.shape[1]
    half = halves(m, "ssts", width, x.dtype)
    turned, rest = (weight * half[:, None]).T, 1 - half  # σ = ½ tanh + ½, and g = 1 tanh + 0
    last, cell = m.array(h, order="C"), m.array(c, order="C")
    out, share = m.empty((len(x), h.shape[1]), x.dtype), m.empty((len(h), 4 * width), x.dtype)
    kept = len(x) if keep else len(h)  # without a gradient, every step works in the same rows
    acts, before = m.empty((kept, 4 * width), x.dtype), m.empty((kept, h.shape[1]), x.dtype)
    cells, tops = m.empty((2, kept, width), x.dtype)
    for rows, n in steps(sizes, reverse):
        at = rows if keep else slice(n)
        now, top, hidden, held = acts[at], tops[at], last[:n], cell[:n]
        before[at], cells[at] = hidden, held
        m.multiply(x[rows], half, out=now)
        now += m.matmul(hidden, turned, out=share[:n])
        m.tanh(now, out=now)
        now *= half
        now += rest
        i, f, g, o = columns(now, 4)
        held *= f
        held += i * g
        m.tanh(held, out=top)
        if project is None:
            m.multiply(o, top, out=hidden)
        else:
            m.matmul(o * top, project.T, out=hidden)
        out[rows] = hidden
    return (out, last, cell), (acts, before, cells, tops) if keep else None


def backward(needs: Needs, saved: Any, g: tuple[Array, Array, Array], *args: Any) -> Gradients:
    x, weight, project, h, c, sizes, reverse = args
    m = xp(x)
    acts, before, cells, tops = saved
    slope, dh, dc = m.empty_like(acts), m.array(g[1], order="C"), m.array(g[2], order="C")
    outs = None if project is None else m.empty_like(before)  # the gradient at each step's h
    once = halves(m, "ssts", c.shape[1], x.dtype) * 2 - 1  # 0 for σ and 1 for tanh, as σ' = σ (1 - σ), and
    buffer, other = m.empty((len(h), acts.shape[1]), x.dtype), 1 - once  # tanh' = (0 - tanh) tanh + 1
    for rows, n in reversed(steps(sizes, reverse)):
        now, dnow, top, back, held = acts[rows], slope[rows], tops[rows], dh[:n], dc[:n]
        (i, f, new, o), (di, df, dnew, do) = columns(now, 4), columns(dnow, 4)
        back += g[0][rows]
        dtop = back
        if outs is not None:
            outs[rows] = back
            dtop = back @ project
        m.multiply(dtop, top, out=do)
        flow = top * top
        m.subtract(1, flow, out=flow)
        flow *= o
        flow *= dtop
        held += flow
        m.multiply(held, new, out=di)
        m.multiply(held, cells[rows], out=df)
        m.multiply(held, i, out=dnew)
        held *= f
        factor = m.subtract(other, now, out=buffer[:n])
        factor *= now
        factor += once
        dnow *= factor
        m.matmul(dnow, weight, out=back)
    dweight = slope.T @ before if needs[1] else None
    dproject = outs.T @ (columns(acts, 4)[3] * tops) if outs is not None and needs[2] else None
    return wanted(needs, slope, dweight, dproject, dh, dc)
