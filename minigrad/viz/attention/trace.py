"""Finding attention among the ops of a forward: what was multiplied, scaled, masked and normalised.

Attention is either the fused op, or a softmax over the last axis, also one written as e^x / Σ e^x, whose
result multiplies values. Of the latter the way back leads over masks, sums and scalings to the product of
queries and keys.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...autograd.tape import Node, Variable
from ...ops.attention import attention_weights
from ..numbers import Array
from ..numbers import host as on_host
from .data import SLACK, Layer
from .given import host

FORBIDDEN = -1e4  # what is added to a score is a mask from here on: GPT-2 adds this, others -1e9 or -inf
_SHAPES = {
    *("reshape", "permute", "transpose", "unsqueeze", "squeeze", "broadcast_to", "getitem", "clone", "cast"),
    *("identity", "concatenate", "repeat", "repeat_interleave"),
}
_PRODUCTS = {"matmul", "einsum_pair"}
_DEEPEST = 12  # ops between the product and the softmax that are looked through


class Call(NamedTuple):
    """An op that ran: its name, arguments and result."""

    op: str
    args: tuple[Any, ...]
    result: Any


class Match(NamedTuple):
    """An attention: its numbers for a whole batch, (B, H, ...), and queries and keys as the tape has them."""

    layer: Layer
    query: Variable | None
    key: Variable | None


class Trace:
    """What ran so far, and the attentions in it. The number of sentences (``batch``) separates them from heads
    where an array has one axis for both."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.calls: dict[int, Call] = {}
        self._taken: set[int] = set()

    def observe(self, node: Node, args: tuple[Any, ...], result: Any) -> Match | None:
        """Note an op; the attention that it completes, if it does."""
        name = node.op.name
        self.calls[node.order] = Call(name, args, result)
        if name == "scaled_dot_product_attention":
            return self._fused(args)
        for factor in args[:2] if name in _PRODUCTS else ():
            weights = self._behind(factor, _SHAPES | {"dropout"})
            if weights is None or id(weights.result) in self._taken:
                continue
            if (scores := self._scores(weights)) is not None:
                self._taken.add(id(weights.result))
                return self._composed(weights.result, scores)
        return None

    # The fused op -------------------------------------------------------------------------------------------

    def _fused(self, args: tuple[Any, ...]) -> Match:
        """From the arguments of the fused op, by its own definition; its dropout is left out."""
        query, key, _, mask, _, causal, scale, _ = args
        q, k = query.array, key.array
        added = None if mask is None else mask.array
        weights = host(attention_weights(q, k, added, causal, scale))
        shape = weights.shape
        blocked = np.tri(*shape[2:]) == 0 if causal else np.zeros(shape[2:], bool)
        bias = None
        if added is not None:
            forbidden, bias = _parts(on_host(added))
            blocked, bias = blocked | forbidden, None if bias is None else np.broadcast_to(bias, shape)
        parts = [weights, np.broadcast_to(blocked, shape), host(q), host(k), bias]
        call = self._call(query)
        folded = call is not None and call.op == "reshape" and call.args[0].array.ndim == 3
        if len(q) == 1 and folded:  # (1, N, T, Dh) was (N, T, Dh) when attention was called
            parts = [None if p is None else p[0] for p in parts]
        return Match(self._layer(float(scale), *parts), query, key)

    # Softmax and a product ----------------------------------------------------------------------------------

    def _scores(self, weights: Call) -> Any:
        """The tensor whose softmax over the last axis an op computed; None where it did no such thing."""
        x = weights.args[0]
        if weights.op == "softmax":
            axes = x.array.ndim
            return x if axes >= 2 and weights.args[1] % axes == axes - 1 else None
        powers = self._behind(x, _SHAPES) if weights.op == "div" else None
        if powers is None or powers.op != "exp":
            return None
        sums = host(weights.result).sum(-1)
        if not np.all((np.abs(sums - 1) < SLACK) | (sums == 0)):
            return None
        shifted = self._call(powers.args[0])  # by the largest of a row, most often
        return shifted.args[0] if shifted is not None and shifted.op == "sub" else powers.args[0]

    def _composed(self, result: Variable, x: Variable) -> Match:
        """From the result of a softmax, and its argument."""
        weights, scores = host(result), host(x)
        blocked: Array = ~np.isfinite(scores) | (weights == 0) & (scores < FORBIDDEN / 2)
        product = self._scaled_product(x)
        factors = None if product is None else self._factors(*product, scores)
        sides = (None, None) if product is None else product[0].args[:2]
        if factors is None:
            return Match(self._layer(1.0, weights, blocked), *sides)
        q, k, scale = factors
        rest = np.where(blocked, 0, scores - scale * (q @ np.swapaxes(k, -1, -2)))
        biased = np.abs(rest).max(initial=0) > 1e-4 * (1 + np.abs(scores[~blocked]).max(initial=0))
        return Match(self._layer(scale, weights, blocked, q, k, rest if biased else None), *sides)

    def _factors(self, call: Call, scale: float, scores: Array) -> tuple[Array, Array, float] | None:
        """Queries (..., T, Dh), keys (..., S, Dh) with the leading axes of the scores, and the scale of their
        product; None where they do not fit the scores."""
        (left, more_q), (right, more_k) = (self._unscaled(side) for side in call.args[:2])
        sides = host(left), host(right)
        if call.op == "einsum_pair":
            sides = _of_letters(*sides, call.args[2])
        elif sides[1].ndim > 1:
            sides = sides[0], np.swapaxes(sides[1], -1, -2)
        lead = scores.shape[:-2]
        try:
            q, k = (
                np.broadcast_to(side, (*lead, *side.shape[-2:]))
                if side.ndim == scores.ndim
                else side.reshape(*lead, *side.shape[-2:])
                for side in sides
            )
        except ValueError:
            return None
        fits = (q.shape[-2], k.shape[-2]) == scores.shape[-2:] and q.shape[-1] == k.shape[-1]
        return (q, k, scale * more_q * more_k) if fits else None

    def _scaled_product(self, x: Any, depth: int = 0) -> tuple[Call, float] | None:
        """The product behind scores, and what it was multiplied by."""
        call = self._call(x)
        if call is None or depth > _DEEPEST:
            return None
        if call.op in _PRODUCTS:
            return call, 1.0
        for behind, factor in _steps(call):
            if (product := self._scaled_product(behind, depth + 1)) is not None:
                return product[0], product[1] * factor
        return None

    def _unscaled(self, x: Any) -> tuple[Any, float]:
        """Queries or keys before they were multiplied by a number."""
        call = self._call(x)
        if call is not None and call.op in ("mul", "div") and (factor := _factor(call, 1)):
            return call.args[0], factor
        if call is not None and call.op in ("transpose", "permute"):  # (q / √d)ᵀ
            _, factor = self._unscaled(call.args[0])
            if factor != 1:
                return host(x) / factor, factor
        return x, 1.0

    # The tape -----------------------------------------------------------------------------------------------

    def _call(self, x: Any) -> Call | None:
        """The op that made a tensor."""
        node = x._source()[0] if isinstance(x, Variable) else None
        return None if node is None else self.calls.get(node.order)

    def _behind(self, x: Any, through: Container[str]) -> Call | None:
        """The first op behind a tensor that is none of those."""
        call = self._call(x)
        while call is not None and call.op in through:
            call = self._call(call.args[0])
        return call

    def _layer(self, scale: float, weights: Any, blocked: Any, q: Any = None, k: Any = None, bias: Any = None) -> Layer:
        """The layer of arrays (T, S), (N, T, S) or more axes: N is the sentences' heads, one after another."""
        parts = (weights, blocked if blocked.any() else None, q, k, bias)
        weights, blocked, q, k, bias = (None if p is None else self._apart(p) for p in parts)
        return Layer(weights, "", blocked, q, k, scale, bias)

    def _apart(self, x: Array) -> Array:
        *lead, t, s = x.shape
        if len(lead) == 1 and lead[0] % self.batch == 0:
            lead = [self.batch, lead[0] // self.batch]
        lead = [1, *lead] if len(lead) == 1 else lead or [1, 1]
        return x.reshape(math.prod(lead[:-1]), lead[-1], t, s)


def _steps(call: Call) -> Iterator[tuple[Any, float]]:
    """What an op on scores may have been done to, each with the factor that it brought."""
    if call.op in ("mul", "div"):
        for position in (0, 1):
            if factor := _factor(call, 1 - position):
                yield call.args[position], factor
    if call.op in {"add", "sub", "mul", "where", "masked_fill", *_SHAPES}:
        yield from ((x, 1.0) for x in call.args if isinstance(x, Variable))


def _factor(call: Call, position: int) -> float | None:
    """What a product or quotient multiplies by, if that argument is a number, also one in a tensor."""
    x = call.args[position]
    if isinstance(x, Variable):
        x = float(on_host(x.array).reshape(())) if x.array.size == 1 and x._node is None else None
    number = float(x) if isinstance(x, int | float | np.number) else 0.0
    return number if call.op == "mul" or not number else 1 / number


def _parts(mask: Array) -> tuple[Array, Array | None]:
    """What a mask forbids, and what it adds elsewhere (None for nothing), with four axes."""
    mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
    if mask.dtype.kind == "b":
        return ~mask, None
    blocked = mask <= FORBIDDEN
    bias = np.where(blocked, 0, mask).astype(np.float32)
    return blocked, bias if bias.any() else None


def _of_letters(left: Array, right: Array, letters: tuple[str, str, str]) -> tuple[Array, Array]:
    """The factors of an einsum "…td,…sd->…ts" as (..., T, Dh) and (..., S, Dh), whatever their order."""
    a, b, out = letters
    shared = "".join(c for c in a if c in b and c not in out)
    if out[-1] in a and out[-1] not in b:
        (a, b), (left, right) = (b, a), (right, left)
    lead, t, s = out[:-2], out[-2], out[-1]
    return np.einsum(f"{a}->{lead}{t}{shared}", left), np.einsum(f"{b}->{lead}{s}{shared}", right)


def ancestors(x: Any, last: Container[int]) -> Iterator[tuple[int, Node | Variable]]:
    """Nodes and leaves behind a tensor, nearest first, each with the number of maps and products on the way;
    but none behind those whose ``id`` is in ``last``."""
    first = x._source()[0] if isinstance(x, Variable) else None
    waiting: list[tuple[int, Any]] = [] if x is None else [(0, x if first is None else first)]
    seen: set[int] = set()
    for maps, at in waiting:  # grows
        if id(at) not in seen:
            seen.add(id(at))
            yield maps, at
            if isinstance(at, Node) and id(at) not in last:
                more = maps + (at.op.name in ("linear", *_PRODUCTS))
                waiting += [(more, edge[0]) for edge in at.edges]
