"""Recurrent layers. An op computes all steps of one direction of one layer.

The rows of all steps are concatenated in time order, with ``sizes[t]`` rows at step t, never more than at the previous
step. This is the format of packed sequences. A padded batch of B has ``sizes = (B,) * T``. The input's contribution to
the gates is computed beforehand, as one product for all steps (``linear``). This file computes the rest, step by step.

The rules implement backpropagation through time (Werbos 1990). ``a`` is the input of a step's nonlinearities (the
pre-activation), and ``da`` its gradient. Each ``_through_time`` runs once for all rules. It repeats the steps of the
forward pass, then processes them in reverse.
"""

from __future__ import annotations

from ..backend.dtype import Array
from .elementwise import relu, sigmoid, tanh, where
from .indexing import getitem
from .joining import concatenate, split
from .linear import matmul
from .op import Arguments, op
from .shape import transpose

Sizes = tuple[int, ...]


def order(sizes: Sizes, reverse: bool) -> range:
    """The steps in the order in which they run."""
    return range(len(sizes) - 1, -1, -1) if reverse else range(len(sizes))


def _first(state: Array, n: int) -> Array:
    """The rows of the sequences that have this step: the first n, as sequences are sorted by length."""
    return state if n == state.shape[0] else getitem(state, (slice(0, n),))


def _with_first(state: Array, new: Array) -> Array:
    """A state with its first rows replaced. The other sequences have ended or have not begun yet."""
    n = new.shape[0]
    return new if n == state.shape[0] else concatenate(0, new, getitem(state, (slice(n, None),)))


def _outer(grads: Array, inputs: Array) -> Array:
    return matmul(transpose(grads, 0, 1), inputs)


@op(
    "dx = da, daₜ = (gₜ + daₜ₊₁ W)(1 − hₜ²); dW = Σ daₜᵀ hₜ₋₁; dh₀ = da₁ W",
    x=lambda g, arguments: arguments.once(_rnn_through_time, g)[0],
    weight=lambda g, arguments: _outer(*arguments.once(_rnn_through_time, g)[:2]),
    h=lambda g, arguments: arguments.once(_rnn_through_time, g)[2],
)
def rnn(
    x: Array, weight: Array, h: Array, sizes: Sizes, reverse: bool = False, rectify: bool = False
) -> tuple[Array, Array]:
    """h ← tanh(x + W h), or relu instead of tanh, at every step (Elman 1990)

    For x (N, H), weight (H, H) and h (B, H), it returns each step's h (N, H), and each sequence's last h (B, H)."""
    outs, _, h = _rnn_steps(x, weight, h, sizes, reverse, rectify)
    return concatenate(0, *outs), h


def _rnn_steps(
    x: Array, weight: Array, h: Array, sizes: Sizes, reverse: bool, rectify: bool
) -> tuple[list[Array], list[Array], Array]:
    """Each step's h, each step's previous h, and the last h of each sequence."""
    rows, turned = split(x, sizes, 0), transpose(weight, 0, 1)
    outs, before = list(rows), list(rows)
    for t in order(sizes, reverse):
        before[t] = _first(h, sizes[t])
        outs[t] = (relu if rectify else tanh)(rows[t] + matmul(before[t], turned))
        h = _with_first(h, outs[t])
    return outs, before, h


def _rnn_through_time(g: tuple[Array, ...], arguments: Arguments) -> tuple[Array, Array, Array]:
    """da and each step's previous h, both (N, H), and the gradient for the first h, (B, H)."""
    _, weight, _, sizes, reverse, rectify = arguments
    outs, before, _ = _rnn_steps(*arguments)
    grads, dh = list(split(g[0], sizes, 0)), g[1]
    for t in reversed(order(sizes, reverse)):
        back = grads[t] + _first(dh, sizes[t])
        grads[t] = where(outs[t] > 0, back, 0.0) if rectify else back * (1 - outs[t] * outs[t])
        dh = _with_first(dh, matmul(grads[t], weight))
    return concatenate(0, *grads), concatenate(0, *before), dh


@op(
    "dx = da of r, z and n; dW = Σ d(Wh + b)ₜᵀ hₜ₋₁; db = Σ d(Wh + b)ₜ; dh₀ = dh₁ z + d(Wh + b)₁ W",
    x=lambda g, arguments: arguments.once(_gru_through_time, g)[0],
    weight=lambda g, arguments: _outer(*arguments.once(_gru_through_time, g)[1:3]),
    bias=lambda g, arguments: arguments.once(_gru_through_time, g)[1],
    h=lambda g, arguments: arguments.once(_gru_through_time, g)[3],
)
def gru(x: Array, weight: Array, bias: Array, h: Array, sizes: Sizes, reverse: bool = False) -> tuple[Array, Array]:
    """r, z = σ(x + W h + b), n = tanh(x + r (W h + b)), h ← n + z (h - n) (Cho et al. 2014)

    x (N, 3H), weight (3H, H) and bias (3H, or None) are for r, z and n; h is (B, H). It returns each step's h (N, H),
    and each sequence's last h (B, H). The reset gate r is applied after the product, as in PyTorch."""
    outs, _, _, h = _gru_steps(x, weight, bias, h, sizes, reverse)
    return concatenate(0, *outs), h


def _gru_steps(
    x: Array, weight: Array, bias: Array, h: Array, sizes: Sizes, reverse: bool
) -> tuple[list[Array], list[tuple[Array, ...]], list[Array], Array]:
    """Each step's h, gates (r, z, n, and the part of W h + b for n) and previous h, and each sequence's last h."""
    rows, turned, width = split(x, sizes, 0), transpose(weight, 0, 1), h.shape[1]
    outs, before = list(rows), list(rows)
    gates: list[tuple[Array, ...]] = [()] * len(sizes)
    for t in order(sizes, reverse):
        before[t] = _first(h, sizes[t])
        share = matmul(before[t], turned)
        share = share if bias is None else share + bias
        (r, z, n), (hr, hz, hn) = (split(s, (width,) * 3, 1) for s in (rows[t], share))
        r, z = sigmoid(r + hr), sigmoid(z + hz)
        n = tanh(n + r * hn)
        outs[t], gates[t] = n + z * (before[t] - n), (r, z, n, hn)
        h = _with_first(h, outs[t])
    return outs, gates, before, h


def _gru_through_time(g: tuple[Array, ...], arguments: Arguments) -> tuple[Array, Array, Array, Array]:
    """The gradients for x and W h + b (N, 3H), the previous h (N, H), and the gradient for the first h (B, H)."""
    _, weight, *_, sizes, reverse = arguments
    _, gates, before, _ = _gru_steps(*arguments)
    grads, shares, dh = list(split(g[0], sizes, 0)), list(before), g[1]
    for t in reversed(order(sizes, reverse)):
        r, z, n, hn = gates[t]
        back = grads[t] + _first(dh, sizes[t])
        dn = back * (1 - z) * (1 - n * n)
        dz = back * (before[t] - n) * (z * (1 - z))
        dr = dn * hn * (r * (1 - r))
        grads[t], shares[t] = concatenate(1, dr, dz, dn), concatenate(1, dr, dz, dn * r)
        dh = _with_first(dh, back * z + matmul(shares[t], weight))
    return concatenate(0, *grads), concatenate(0, *shares), concatenate(0, *before), dh


@op(
    "dx = da of i, f, g and o; dW = Σ daₜᵀ hₜ₋₁; dP = Σ dhₜᵀ (oₜ tanh cₜ); dh₀ = da₁ W; dc₀ = dc₁ f₁",
    x=lambda g, arguments: arguments.once(_lstm_through_time, g)[0],
    weight=lambda g, arguments: _outer(*arguments.once(_lstm_through_time, g)[:2]),
    project=lambda g, arguments: _outer(*arguments.once(_lstm_through_time, g)[2:4]),
    h=lambda g, arguments: arguments.once(_lstm_through_time, g)[4],
    c=lambda g, arguments: arguments.once(_lstm_through_time, g)[5],
)
def lstm(
    x: Array, weight: Array, project: Array, h: Array, c: Array, sizes: Sizes, reverse: bool = False
) -> tuple[Array, Array, Array]:
    """i, f, o = σ(x + W h), g = tanh(x + W h), c ← f c + i g, h ← P (o tanh c)

    x (N, 4H) and weight (4H, P) are for i, f, g and o; project is (P, H), or None if P = H; h is (B, P), and c is (B,
    H). It returns each step's h (N, P), and each sequence's last h (B, P) and c (B, H). Hochreiter and Schmidhuber
    1997; the forget gate: Gers et al. 2000; the projection: Sak et al. 2014."""
    outs, _, _, h, c = _lstm_steps(x, weight, project, h, c, sizes, reverse)
    return concatenate(0, *outs), h, c


def _lstm_steps(
    x: Array, weight: Array, project: Array, h: Array, c: Array, sizes: Sizes, reverse: bool
) -> tuple[list[Array], list[tuple[Array, ...]], list[Array], Array, Array]:
    """Each step's h, gates (i, f, g, o, previous c, tanh c) and previous h, and each sequence's last h and c."""
    rows, turned, width = split(x, sizes, 0), transpose(weight, 0, 1), c.shape[1]
    outs, before = list(rows), list(rows)
    gates: list[tuple[Array, ...]] = [()] * len(sizes)
    for t in order(sizes, reverse):
        before[t], cell = _first(h, sizes[t]), _first(c, sizes[t])
        i, f, new, o = split(rows[t] + matmul(before[t], turned), (width,) * 4, 1)
        i, f, new, o = sigmoid(i), sigmoid(f), tanh(new), sigmoid(o)
        c_new = f * cell + i * new
        top = tanh(c_new)
        outs[t] = o * top if project is None else matmul(o * top, transpose(project, 0, 1))
        gates[t] = (i, f, new, o, cell, top)
        h, c = _with_first(h, outs[t]), _with_first(c, c_new)
    return outs, gates, before, h, c


def _lstm_through_time(g: tuple[Array, ...], arguments: Arguments) -> tuple[Array, ...]:
    """da (N, 4H), the previous h and the gradient for each h (N, P), o tanh c (N, H), and the gradients for h and c."""
    _, weight, project, *_, sizes, reverse = arguments
    _, gates, before, _, _ = _lstm_steps(*arguments)
    grads, backs, tops = list(split(g[0], sizes, 0)), list(before), list(before)
    dh, dc = g[1], g[2]
    for t in reversed(order(sizes, reverse)):
        i, f, new, o, cell, top = gates[t]
        backs[t], tops[t] = grads[t] + _first(dh, sizes[t]), o * top
        flow = backs[t] if project is None else matmul(backs[t], project)
        dcell = _first(dc, sizes[t]) + flow * o * (1 - top * top)
        di, df = dcell * new * (i * (1 - i)), dcell * cell * (f * (1 - f))
        dnew, do = dcell * i * (1 - new * new), flow * top * (o * (1 - o))
        grads[t] = concatenate(1, di, df, dnew, do)
        dh, dc = _with_first(dh, matmul(grads[t], weight)), _with_first(dc, dcell * f)
    da, hidden, backs, tops = (concatenate(0, *steps) for steps in (grads, before, backs, tops))
    return da, hidden, backs, tops, dh, dc
