"""Recurrent layers, one direction of one layer at a time, over all steps.

Rows of all steps lie below one another, time by time: ``sizes[t]`` rows at step t, never more than at the
step before. That is how packed sequences are kept; a padded batch of B has ``sizes = (B,) * T``. The input's
share of the gates, one product for all steps, is made before (``linear``); here is the rest, step by step.
"""

from __future__ import annotations

from ..backend.dtype import Array
from .elementwise import relu, sigmoid, tanh
from .indexing import getitem
from .linear import matmul
from .op import op
from .shape import concatenate, split, transpose

Sizes = tuple[int, ...]


@op(kernel="rnn")
def rnn(
    x: Array, weight: Array, h: Array, sizes: Sizes, reverse: bool = False, rectify: bool = False
) -> tuple[Array, Array]:
    """h ← tanh(x + W h), or relu, at every step (Elman 1990)

    x (N, H), weight (H, H), h (B, H) -> each step's h (N, H), the last of each sequence (B, H).
    """
    rows, turned = split(x, sizes, 0), transpose(weight, 0, 1)
    outs = list(rows)
    for t in order(sizes, reverse):
        before = _first(h, sizes[t])
        outs[t] = (relu if rectify else tanh)(rows[t] + matmul(before, turned))
        h = _with_first(h, outs[t])
    return concatenate(0, *outs), h


rnn.gradient(x=None, weight=None, h=None)


@op(kernel="gru")
def gru(x: Array, weight: Array, bias: Array, h: Array, sizes: Sizes, reverse: bool = False) -> tuple[Array, Array]:
    """r, z = σ(x + W h + b), n = tanh(x + r (W h + b)), h ← n + z (h - n) (Cho et al. 2014)

    x (N, 3H) and weight (3H, H) for r, z and n, bias (3H) or None, h (B, H) -> each step's h (N, H), the last
    of each sequence (B, H). The reset gate r acts after the product, as in PyTorch.
    """
    rows, turned, width = split(x, sizes, 0), transpose(weight, 0, 1), h.shape[1]
    outs = list(rows)
    for t in order(sizes, reverse):
        before = _first(h, sizes[t])
        share = matmul(before, turned)
        share = share if bias is None else share + bias
        (r, z, n), (hr, hz, hn) = (split(s, (width,) * 3, 1) for s in (rows[t], share))
        n = tanh(n + sigmoid(r + hr) * hn)
        outs[t] = n + sigmoid(z + hz) * (before - n)
        h = _with_first(h, outs[t])
    return concatenate(0, *outs), h


gru.gradient(x=None, weight=None, bias=None, h=None)


@op(kernel="lstm")
def lstm(
    x: Array, weight: Array, project: Array, h: Array, c: Array, sizes: Sizes, reverse: bool = False
) -> tuple[Array, Array, Array]:
    """i, f, o = σ(x + W h), g = tanh(x + W h), c ← f c + i g, h ← P (o tanh c)

    x (N, 4H) and weight (4H, P) for i, f, g and o, project (P, H) or None (then P = H), h (B, P), c (B, H) ->
    each step's h (N, P), the last of each sequence (B, P), its c (B, H). Hochreiter and Schmidhuber 1997; the
    forget gate: Gers et al. 2000; the projection: Sak et al. 2014.
    """
    rows, turned, width = split(x, sizes, 0), transpose(weight, 0, 1), c.shape[1]
    outs = list(rows)
    for t in order(sizes, reverse):
        i, f, g, o = split(rows[t] + matmul(_first(h, sizes[t]), turned), (width,) * 4, 1)
        cell = sigmoid(f) * _first(c, sizes[t]) + sigmoid(i) * tanh(g)
        outs[t] = sigmoid(o) * tanh(cell)
        if project is not None:
            outs[t] = matmul(outs[t], transpose(project, 0, 1))
        h, c = _with_first(h, outs[t]), _with_first(c, cell)
    return concatenate(0, *outs), h, c


lstm.gradient(x=None, weight=None, project=None, h=None, c=None)


def order(sizes: Sizes, reverse: bool) -> range:
    """The steps in the order in which they are taken."""
    return range(len(sizes) - 1, -1, -1) if reverse else range(len(sizes))


def _first(state: Array, n: int) -> Array:
    """The rows of the sequences that have this step: they are sorted by length, so the first n."""
    return state if n == state.shape[0] else getitem(state, (slice(0, n),))


def _with_first(state: Array, new: Array) -> Array:
    """A state with its first rows new: the others have ended, or not begun yet."""
    n = new.shape[0]
    return new if n == state.shape[0] else concatenate(0, new, getitem(state, (slice(n, None),)))
