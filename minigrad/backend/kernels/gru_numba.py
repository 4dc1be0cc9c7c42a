"""The GRU over all steps: a thread takes some rows of the batch through all of them (_recurrent_numba.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import blas
from ..compiled.functions import tanh
from ..compiled.layout import at
from ..compiled.loops import FLOAT32, Flat, Indices, Strided, laid, loop
from ..compiled.native import row, sgemm
from ..dtype import Array
from ..products import column_sums, matmul
from . import Gradients, Needs, wanted
from ._recurrent_numba import ROWS, F, copy, plan, sigmoid_of_sum, unfit


@loop
def run(
    start: int,
    stop: int,
    gemm: int,
    steps: Indices,
    x: Strided,
    turned: Strided,
    bias: Flat,
    out: Strided,
    last: Strided,
    kept: int,
    acts: Strided,
    before: Strided,
    shares: Strided,
    inner: int,
) -> None:
    """Rows [start, stop) of the batch. Each step's gates, h of before and share of W h + b in n lie where the step's
    rows do if they are ``kept``, else all steps' in the same place."""
    width, beta = 3 * inner, F(1.0) if bias.size else F(0.0)
    for s in range(len(steps) // 2):
        n = min(stop, steps[2 * s + 1]) - start
        if n <= 0:
            continue
        first = steps[2 * s] + start
        base = first if kept else start
        a, b = at(acts) + 4 * base * width, at(before) + 4 * base * inner
        copy(b, at(last) + 4 * start * inner, n * inner)
        for r in range(n):
            filled = row(a + 4 * r * width, width)
            for j in range(bias.size):
                filled[j] = bias[j]
        sgemm(gemm, False, False, n, width, inner, F(1.0), b, inner, at(turned), width, beta, a, width)
        for r in range(n):
            place, given = a + 4 * r * width, at(x) + 4 * (first + r) * width
            sigmoid_of_sum(place, given, 2 * inner)
            reset, z, new = row(place, inner), row(place + 4 * inner, inner), row(place + 8 * inner, inner)
            share, more = row(at(shares) + 4 * (base + r) * inner, inner), row(given + 8 * inner, inner)
            old, h = row(b + 4 * r * inner, inner), row(at(out) + 4 * (first + r) * inner, inner)
            for j in range(inner):
                share[j] = new[j]
            for j in range(inner):
                new[j] = tanh(more[j] + reset[j] * new[j])
            for j in range(inner):
                h[j] = new[j] + z[j] * (old[j] - new[j])
        copy(at(last) + 4 * start * inner, at(out) + 4 * first * inner, n * inner)


@loop
def run_back(
    start: int,
    stop: int,
    gemm: int,
    steps: Indices,
    g: Strided,
    weight: Strided,
    dh: Strided,
    acts: Strided,
    before: Strided,
    shares: Strided,
    slope: Strided,
    dnew: Strided,
    inner: int,
) -> None:
    """The same rows, from the last step to the first: ``slope`` becomes the gradient of W h + b, ``dnew`` that of what
    tanh acts on, and ``dh``, first the gradient of the last h, that of the first."""
    width = 3 * inner
    for s in range(len(steps) // 2 - 1, -1, -1):
        n = min(stop, steps[2 * s + 1]) - start
        if n <= 0:
            continue
        first = steps[2 * s] + start
        for r in range(n):
            place, to = at(acts) + 4 * (first + r) * width, at(slope) + 4 * (first + r) * width
            back, flow = row(at(dh) + 4 * (start + r) * inner, inner), row(at(g) + 4 * (first + r) * inner, inner)
            reset, z, new = row(place, inner), row(place + 4 * inner, inner), row(place + 8 * inner, inner)
            dr, dz, dshare = row(to, inner), row(to + 4 * inner, inner), row(to + 8 * inner, inner)
            dn, share = row(at(dnew) + 4 * (first + r) * inner, inner), row(at(shares) + 4 * (first + r) * inner, inner)
            old = row(at(before) + 4 * (first + r) * inner, inner)
            for j in range(inner):
                back[j] += flow[j]
            for j in range(inner):
                dz[j] = back[j] * (old[j] - new[j]) * z[j] * (F(1.0) - z[j])
            for j in range(inner):
                dn[j] = back[j] * (F(1.0) - z[j]) * (F(1.0) - new[j] * new[j])
            for j in range(inner):
                back[j] *= z[j]  # what reaches the h before past the gates
            for j in range(inner):
                dr[j] = dn[j] * share[j] * reset[j] * (F(1.0) - reset[j])
            for j in range(inner):
                dshare[j] = dn[j] * reset[j]
        a, c = at(slope) + 4 * first * width, at(dh) + 4 * start * inner
        sgemm(gemm, False, False, n, inner, width, F(1.0), a, width, at(weight), inner, F(1.0), c, inner)


def forward(
    needs: Needs, x: Array, weight: Array, bias: Array | None, h: Array, sizes: tuple[int, ...], reverse: bool
) -> tuple[tuple[Array, Array], Any]:
    if unfit(sizes, x, weight, h, *(() if bias is None else (bias,))) or not blas.sgemm():
        return NotImplemented
    inner, keep = h.shape[1], any(needs)
    out, last, kept = np.empty((len(x), inner), FLOAT32), h.astype(FLOAT32, order="C"), len(x) if keep else len(h)
    acts, (before, shares) = np.empty((kept, 3 * inner), FLOAT32), np.empty((2, kept, inner), FLOAT32)
    steps, given = plan(sizes, reverse), (laid(x), laid(weight.T), laid(bias))
    with blas.one_thread() as one, one:
        run(len(h), ROWS, blas.sgemm(), steps, *given, out, last, int(keep), acts, before, shares, inner)
    return (out, last), (acts, before, shares) if keep else None


def backward(needs: Needs, saved: Any, g: tuple[Array, Array], *args: Any) -> Gradients:
    _, weight, _, h, sizes, reverse = args
    acts, before, shares = saved
    slope, dnew, dh = np.empty_like(acts), np.empty_like(before), g[1].astype(FLOAT32, order="C")
    parts, inner = (acts, before, shares, slope, dnew), h.shape[1]
    with blas.one_thread() as one, one:
        run_back(len(h), ROWS, blas.sgemm(), plan(sizes, reverse), laid(g[0]), laid(weight), dh, *parts, inner)
    dweight = matmul(slope.T, before) if needs[1] else None
    dbias = column_sums(slope) if needs[2] else None
    slope[:, 2 * inner :] = dnew  # from here on it is that of x
    return wanted(needs, slope, dweight, dbias, dh)
