"""The LSTM over all steps; the weights' gradients are one product each after the loop."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from ..registry import xp
from . import Gradients, Needs, wanted
from ._steps import Sizes, columns, sigmoid, steps


def forward(
    needs: Needs, x: Array, weight: Array, project: Array | None, h: Array, c: Array, sizes: Sizes, reverse: bool
) -> tuple[tuple[Array, Array, Array], Any]:
    m, kept = xp(x), []
    out, last, cell = m.empty((len(x), h.shape[1]), x.dtype), m.array(h, order="C"), m.array(c, order="C")
    for rows, n in steps(sizes, reverse):
        before, old = last[:n].copy(), cell[:n].copy()
        i, f, new, o = columns(x[rows] + before @ weight.T, 4)
        i, f, new, o = sigmoid(m, i), sigmoid(m, f), m.tanh(new), sigmoid(m, o)
        cell[:n] = f * old + i * new
        top = m.tanh(cell[:n])
        out[rows] = o * top if project is None else (o * top) @ project.T
        last[:n] = out[rows]
        if any(needs):
            kept.append((rows, n, i, f, new, o, before, old, top))
    return (out, last, cell), kept


def backward(needs: Needs, saved: Any, g: tuple[Array, Array, Array], *args: Any) -> Gradients:
    x, weight, project, h, *_ = args
    m = xp(x)
    slope, dh, dc = m.empty_like(x, order="C"), m.array(g[1], order="C"), m.array(g[2], order="C")
    befores, backs, tops = m.empty((len(x), h.shape[1]), x.dtype), m.array(g[0], order="C"), []
    for rows, n, i, f, new, o, before, old, top in reversed(saved):
        backs[rows] += dh[:n]
        befores[rows] = before
        flow = backs[rows] if project is None else backs[rows] @ project
        held = dc[:n] + flow * o * (1 - top * top)
        di, df, do = held * new * i * (1 - i), held * old * f * (1 - f), flow * top * o * (1 - o)
        slope[rows] = m.concatenate((di, df, held * i * (1 - new * new), do), axis=1)
        dh[:n], dc[:n] = slope[rows] @ weight, held * f
        tops.append((rows.start, o * top))
    dweight = slope.T @ befores if needs[1] else None
    dproject = None
    if project is not None and needs[2]:
        dproject = backs.T @ m.concatenate([top for _, top in sorted(tops, key=lambda pair: pair[0])])
    return wanted(needs, slope, dweight, dproject, dh, dc)
