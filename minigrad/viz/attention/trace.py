"""Finding attention among the ops of a forward: the fused op, or a softmax over the last axis whose result multiplies
values. From there the way back leads over masks, sums and scalings to the product of queries and keys."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable
from typing import Any, NamedTuple

import numpy as np

from ...autograd.observer import Observer
from ...autograd.tape import Node, Variable
from ...backend.host import host
from ...ops.attention import attention_weights
from ...ops.op import Op
from ..numbers import Array
from .attention_data import Layer

FORBIDDEN = -5e3  # what is added to a score is a mask from here on: GPT-2 adds -1e4, others -1e9 or -inf
_SHAPES = {
    *("reshape", "permute", "transpose", "unsqueeze", "squeeze", "broadcast_to", "getitem", "clone", "cast"),
    *("identity", "concatenate", "repeat", "repeat_interleave"),
}
_SUMS = {"add", "sub", "mul", "where", "masked_fill", *_SHAPES}  # what may be done to scores
PRODUCTS = {"matmul", "einsum_pair"}
_DEEPEST = 12  # ops between the product and the softmax that are looked through


class Call(NamedTuple):
    """An op that ran: its name, arguments and result."""

    op: str
    args: tuple[Any, ...]
    result: Any


Report = Callable[[Layer, Variable | None, Variable | None], None]


class Trace(Observer):
    """Reports each attention of a batch: its numbers (B, H, ...), and queries and keys as the tape has them."""

    def __init__(self, batch: int, report: Report) -> None:
        self.batch, self.report = batch, report
        self.calls: dict[int, Call] = {}
        self._taken: set[int] = set()

    def applied(self, op: Op, args: tuple[Any, ...], result: Any, node: Node | None) -> None:
        if node is None:
            return
        self.calls[node.order] = Call(op.name, args, result)
        if op.name == "scaled_dot_product_attention":
            self._fused(args)
        for factor in args[:2] if op.name in PRODUCTS else ():
            weights = self._behind(factor, _SHAPES | {"dropout"})
            if weights is None or weights.op != "softmax" or id(weights.result) in self._taken:
                continue
            scores, axes = weights.args[0], weights.result.array.ndim
            if axes >= 2 and weights.args[1] % axes == axes - 1:
                self._taken.add(id(weights.result))
                self._composed(weights.result, scores)
                break

    def _fused(self, args: tuple[Any, ...]) -> None:
        """From the arguments of the fused op, by its own definition; its dropout is left out."""
        query, key, _, mask, _, causal, scale, _ = args
        weights = attention_weights(query.array, key.array, None if mask is None else mask.array, causal, scale)
        added = np.zeros(1) if mask is None else host(mask.array)
        added = np.where(added, 0, -np.inf) if added.dtype.kind == "b" else added
        if causal:
            added = np.where(np.tri(*weights.shape[-2:]), added, -np.inf)
        parts: Iterable[Array] = map(_floats, (weights, np.broadcast_to(added, weights.shape), query.array, key.array))
        call = self._call(query)
        if len(weights) == 1 and call is not None and call.op == "reshape" and call.args[0].array.ndim == 3:
            parts = (x[0] for x in parts)  # (1, N, T, Dh) was (N, T, Dh) when attention was called
        self.report(self._layer(0.0, parts, float(scale)), query, key)

    def _composed(self, result: Variable, x: Variable) -> None:
        weights, scores = _floats(result), _floats(x)
        product = self._scaled_product(x)
        factors = None if product is None else self._factors(*product, scores)
        if factors is None:
            layer = self._layer(np.inf, (weights, scores, None, None), 1.0)
        else:
            q, k, scale = factors
            noise = 1e-4 * (1 + np.abs(scores[weights > 0]).max(initial=0))
            layer = self._layer(noise, (weights, scores - scale * (q @ np.swapaxes(k, -1, -2)), q, k), scale)
        self.report(layer, *((None, None) if product is None else product[0].args[:2]))

    def _factors(self, call: Call, scale: float, scores: Array) -> tuple[Array, Array, float] | None:
        """Queries (..., T, Dh), keys (..., S, Dh), their product's scale; None where they do not fit the scores."""
        lead = scores.shape[:-2]
        try:
            sides = _floats(call.args[0]), _floats(call.args[1])
            sides = _of_letters(*sides, call.args[2]) if call.op == "einsum_pair" else (sides[0], sides[1].mT)
            q, k = (
                np.broadcast_to(side, (*lead, *side.shape[-2:]))
                if side.ndim == scores.ndim
                else side.reshape(*lead, *side.shape[-2:])
                for side in sides
            )
        except ValueError:
            return None
        fits = (q.shape[-2], k.shape[-2]) == scores.shape[-2:] and q.shape[-1] == k.shape[-1]
        return (q, k, scale) if fits else None

    def _scaled_product(self, x: Any, depth: int = 0) -> tuple[Call, float] | None:
        """The product behind scores, and what it was multiplied by."""
        call = self._call(x)
        if call is None or depth > _DEEPEST:
            return None
        if call.op in PRODUCTS:
            return call, 1.0
        for position, behind in enumerate(call.args):
            factor = _factor(call, 1 - position) if call.op in ("mul", "div") else None
            if not factor and not (call.op in _SUMS and isinstance(behind, Variable)):
                continue
            if (product := self._scaled_product(behind, depth + 1)) is not None:
                return product[0], product[1] * (factor or 1.0)
        return None

    def _call(self, x: Any) -> Call | None:
        node = x._source()[0] if isinstance(x, Variable) else None
        return None if node is None else self.calls.get(node.order)

    def _behind(self, x: Any, through: Container[str]) -> Call | None:
        """The first op behind a tensor that is none of those."""
        call = self._call(x)
        while call is not None and call.op in through:
            call = self._call(call.args[0])
        return call

    def _layer(self, noise: float, parts: Iterable[Array | None], scale: float) -> Layer:
        """The layer of weights, what was added to its scores, queries and keys; what was added blocks, or is a bias."""

        def apart(x: Array) -> Array:
            *lead, t, s = x.shape
            if len(lead) == 1 and lead[0] % self.batch == 0:
                lead = [self.batch, lead[0] // self.batch]
            lead = [1, *lead] if len(lead) == 1 else lead or [1, 1]
            return x.reshape(math.prod(lead[:-1]), lead[-1], t, s)

        weights, added, q, k = (None if p is None else apart(p) for p in parts)
        assert weights is not None and added is not None
        blocked = (weights == 0) & ~(added > FORBIDDEN)
        bias = np.where(blocked, 0, added)
        biased = np.abs(bias).max(initial=0) > noise
        return Layer(weights, "", blocked if blocked.any() else None, q, k, scale, bias if biased else None)


def _factor(call: Call, position: int) -> float | None:
    """What a product or quotient multiplies by, if that argument is a number, also one in a tensor."""
    x = call.args[position]
    if isinstance(x, Variable):
        x = float(host(x.array).reshape(())) if x.array.size == 1 and x._node is None else None
    number = float(x) if isinstance(x, int | float | np.number) else 0.0
    return number if call.op == "mul" or not number else 1 / number


def _floats(x: Any) -> Array:
    return np.array(host(x), np.float32)


def _of_letters(left: Array, right: Array, letters: tuple[str, str, str]) -> tuple[Array, Array]:
    """The factors of an einsum "…td,…sd->…ts" as (..., T, Dh) and (..., S, Dh), whatever their order."""
    a, b, out = letters
    shared = "".join(c for c in a if c in b and c not in out)
    if out[-1] in a and out[-1] not in b:
        (a, b), (left, right) = (b, a), (right, left)
    lead, t, s = out[:-2], out[-2], out[-1]
    return np.einsum(f"{a}->{lead}{t}{shared}", left), np.einsum(f"{b}->{lead}{s}{shared}", right)
