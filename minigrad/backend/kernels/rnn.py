"""h ← tanh(x + W h), or relu, over all steps, on CuPy, too; the weight's gradient is one product after the loop."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from ..registry import where_holds, xp
from . import Gradients, Needs, wanted

Sizes = tuple[int, ...]  # of the batch at each step


def steps(sizes: Sizes, reverse: bool) -> list[tuple[slice, int]]:
    """The rows of each step, and how many they are, in the order in which the steps are taken."""
    parts, start = [], 0
    for n in sizes:
        parts.append((slice(start, start + n), n))
        start += n
    return parts[::-1] if reverse else parts


def forward(
    needs: Needs, x: Array, weight: Array, h: Array, sizes: Sizes, reverse: bool, rectify: bool
) -> tuple[tuple[Array, Array], Any]:
    m, keep = xp(x), any(needs)
    out, last, turned = m.array(x, order="C"), m.array(h, order="C"), weight.T
    before = m.empty((len(out), h.shape[1]), x.dtype) if keep else None
    for rows, n in steps(sizes, reverse):
        now, hidden = out[rows], last[:n]
        if before is not None:
            before[rows] = hidden
        now += hidden @ turned
        if rectify:
            m.maximum(now, 0, out=now)
        else:
            m.tanh(now, out=now)
        hidden[...] = now
    return (out, last), (before, out.copy() if keep else None)  # the program may change the result in place


def backward(needs: Needs, saved: Any, g: tuple[Array, Array], *args: Any) -> Gradients:
    x, weight, _, sizes, reverse, rectify = args
    m = xp(x)
    before, outs = saved
    slope, dh = m.array(g[0], order="C"), m.array(g[1], order="C")
    factor = outs > 0 if rectify else 1 - outs * outs
    for rows, n in reversed(steps(sizes, reverse)):
        now, back = slope[rows], dh[:n]
        now += back
        now[...] = where_holds(now, factor[rows]) if rectify else now * factor[rows]
        m.matmul(now, weight, out=back)
    return wanted(needs, slope, slope.T @ before if needs[1] else None, dh)
