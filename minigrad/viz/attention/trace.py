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
from .data import SLACK, Array, Layer
from .given import host

FORBIDDEN = -1e4  # what is added to a score is a mask from here on: GPT-2 adds this, others -1e9 or -inf
_SHAPES = {
    "reshape",
    "permute",
    "transpose",
    "unsqueeze",
    "squeeze",
    "broadcast_to",
    "getitem",
    "clone",
    "cast",
    "identity",
    "concatenate",
    "repeat",
    "repeat_interleave",
}
_PRODUCTS = {"matmul", "einsum_pair"}
_DEEPEST = 12  # ops between the product and the softmax that are looked through


class Call(NamedTuple):
    """An op that ran: its name, arguments and result."""

    op: str
    args: tuple[Any, ...]
    result: Any


class Product(NamedTuple):
    """scale · q kᵀ, as arrays (..., T, Dh) and (..., S, Dh) with the leading axes of the scores."""

    query: Array
    key: Array
    scale: float


class Found(NamedTuple):
    """An attention: its numbers for a whole batch, (B, H, ...), and queries and keys as the tape has them."""

    layer: Layer
    query: Variable | None
    key: Variable | None


class Trace:
    """What ran so far, and the attentions in it. ``observe`` goes among ``state.observers``.

    Args:
        batch: how many sentences the model was given: tells heads from sentences where an array has one axis
            for both.
    """

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.calls: dict[int, Call] = {}
        self._taken: set[int] = set()

    def observe(self, node: Node, args: tuple[Any, ...], result: Any) -> Found | None:
        """Note an op; what it completes, if that is attention."""
        name = node.op.name
        self.calls[node.order] = Call(name, args, result)
        if name == "scaled_dot_product_attention":
            return self._fused(args)
        if name in _PRODUCTS:
            for factor in args[:2]:
                made = self._behind(factor, _SHAPES | {"dropout"})
                scores = None if made is None or id(made.result) in self._taken else self._scores(made)
                if made is not None and scores is not None:
                    self._taken.add(id(made.result))
                    return self._composed(made.result, scores)
        return None

    # The fused op -------------------------------------------------------------------------------------------

    def _fused(self, args: tuple[Any, ...]) -> Found:
        """From the arguments of the fused op, by its own definition; its dropout is left out."""
        query, key, _, mask, _, causal, scale, _ = args
        q, k = query.array, key.array
        added = None if mask is None else mask.array
        weights = host(attention_weights(q, k, added, causal, scale))
        shape = weights.shape
        blocked = np.zeros((1, 1, *shape[2:]), bool)
        bias = None
        if causal:
            blocked = blocked | (np.tri(*shape[2:]) == 0)
        if mask is not None:
            of_mask, bias = _parts(_given(added), mask.array.dtype.kind == "b")
            blocked = blocked | of_mask
        parts = (
            weights,
            np.broadcast_to(blocked, shape),
            host(q),
            host(k),
            None if bias is None else np.broadcast_to(bias, shape),
        )
        if len(q) == 1 and self._folded(query):
            parts = tuple(None if p is None else self._apart(p[0]) for p in parts)  # type: ignore[assignment]
        w, b, q, k, more = parts
        return Found(Layer(w, "", b if b.any() else None, q, k, float(scale), more), query, key)

    def _folded(self, x: Variable) -> bool:
        """Whether (1, N, T, Dh) was (N, T, Dh) when attention was called."""
        call = self._call(x)
        return call is not None and call.op == "reshape" and call.args[0].array.ndim == 3

    # Softmax and a product ----------------------------------------------------------------------------------

    def _scores(self, made: Call) -> Any:
        """What a softmax over the last axis was taken of; None where ``made`` is no such thing."""
        x = made.args[0]
        if made.op == "softmax":
            axes = x.array.ndim
            return x if axes >= 2 and made.args[1] % axes == axes - 1 else None
        powers = self._behind(x, _SHAPES) if made.op == "div" else None
        if powers is None or powers.op != "exp":
            return None
        sums = host(made.result).sum(-1)
        if not np.all((np.abs(sums - 1) < SLACK) | (sums == 0)):
            return None
        shifted = self._call(powers.args[0])  # by the largest of a row, most often
        return shifted.args[0] if shifted is not None and shifted.op == "sub" else powers.args[0]

    def _composed(self, made: Variable, x: Variable) -> Found:
        """From what a softmax made, and what it was taken of."""
        weights, scores = host(made), host(x)
        product = self._product(x, scores)
        blocked: Array = ~np.isfinite(scores) | (weights == 0) & (scores < FORBIDDEN / 2)
        q = k = bias = None
        scale = 1.0
        if product is not None:
            q, k, scale = product
            rest = np.where(blocked, 0, scores - scale * (q @ np.swapaxes(k, -1, -2)))
            if np.abs(rest).max(initial=0) > 1e-4 * (1 + np.abs(scores[~blocked]).max(initial=0)):
                bias = rest
        parts = [None if p is None else self._apart(p) for p in (weights, blocked, q, k, bias)]
        w, b, q, k, more = parts
        assert w is not None and b is not None
        sides = self._sides(x)
        return Found(Layer(w, "", b if b.any() else None, q, k, scale, more), *sides)

    def _product(self, x: Any, scores: Array) -> Product | None:
        """The product of queries and keys behind scores; None where they are made in another way."""
        found = self._scaled_product(x)
        if found is None:
            return None
        call, scale = found
        (left_of, more_q), (right_of, more_k) = (self._unscaled(side) for side in call.args[:2])
        left, right = host(left_of), host(right_of)
        if call.op == "einsum_pair":
            left, right = _of_letters(left, right, call.args[2])
        else:
            right = np.swapaxes(right, -1, -2) if right.ndim > 1 else right
        lead = scores.shape[:-2]
        try:
            made = [
                np.broadcast_to(side, (*lead, *side.shape[-2:]))
                if side.ndim == scores.ndim
                else side.reshape(*lead, *side.shape[-2:])
                for side in (left, right)
            ]
        except ValueError:
            return None
        q, k = made
        fits = (q.shape[-2], k.shape[-2]) == scores.shape[-2:] and q.shape[-1] == k.shape[-1]
        return Product(q, k, scale * more_q * more_k) if fits else None

    def _scaled_product(self, x: Any, depth: int = 0) -> tuple[Call, float] | None:
        """The product behind scores, and what it was multiplied by."""
        call = self._call(x)
        if call is None or depth > _DEEPEST:
            return None
        if call.op in _PRODUCTS:
            return call, 1.0
        for behind, factor in _steps(call):
            if (found := self._scaled_product(behind, depth + 1)) is not None:
                return found[0], found[1] * factor
        return None

    def _unscaled(self, x: Any) -> tuple[Any, float]:
        """Queries or keys before they were multiplied by a number."""
        call = self._call(x)
        if call is not None and call.op in ("mul", "div"):
            number = _number(call.args[1])
            if number:
                return call.args[0], number if call.op == "mul" else 1 / number
        if call is not None and call.op in ("transpose", "permute"):  # (q / √d)ᵀ
            _, number = self._unscaled(call.args[0])
            if number != 1:
                return host(x) / number, number
        return x, 1.0

    def _sides(self, x: Any) -> tuple[Variable | None, Variable | None]:
        found = self._scaled_product(x)
        return (None, None) if found is None else (found[0].args[0], found[0].args[1])

    # The tape -----------------------------------------------------------------------------------------------

    def _call(self, x: Any) -> Call | None:
        """The op that made a tensor."""
        node = x._source()[0] if isinstance(x, Variable) else None
        return None if node is None else self.calls.get(node.order)

    def _behind(self, x: Any, through: set[str]) -> Call | None:
        """The first op behind a tensor that is none of those."""
        call = self._call(x)
        while call is not None and call.op in through:
            call = self._call(call.args[0])
        return call

    def _apart(self, x: Array) -> Array:
        """(T, S), (N, T, S) or more axes -> (B, H, T, S); N is the sentences' heads, one after another."""
        *lead, t, s = x.shape
        if len(lead) == 1 and lead[0] % self.batch == 0:
            lead = [self.batch, lead[0] // self.batch]
        lead = [1, *lead] if len(lead) == 1 else lead or [1, 1]
        return x.reshape(math.prod(lead[:-1]), lead[-1], t, s)


def _steps(call: Call) -> Iterator[tuple[Any, float]]:
    """What an op on scores may have been done to, each with the factor that it brought."""
    if call.op in ("mul", "div"):
        for x, other in (call.args[:2], call.args[1::-1]):
            number = _number(other)
            if number:
                yield x, number if call.op == "mul" else 1 / number
    if call.op in {"add", "sub", "mul", "where", "masked_fill", *_SHAPES}:
        yield from ((x, 1.0) for x in call.args if isinstance(x, Variable))


def _given(array: Any) -> Array:
    """An array in main memory, in its own dtype."""
    made: Array = np.asarray(array.get() if hasattr(array, "get") else array)
    return made


def _parts(mask: Array, allows: bool) -> tuple[Array, Array | None]:
    """What a mask forbids, and what it adds elsewhere (None for nothing), with four axes."""
    mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
    if allows:
        return ~mask, None
    blocked = mask <= FORBIDDEN
    bias = np.where(blocked, 0, mask).astype(np.float32)
    return blocked, bias if bias.any() else None


def _number(x: Any) -> float | None:
    """A number, also one in a tensor; None for anything else."""
    if isinstance(x, Variable):
        return float(_given(x.array).reshape(())) if x.array.size == 1 and x._node is None else None
    return float(x) if isinstance(x, int | float | np.number) else None


def _of_letters(left: Array, right: Array, letters: tuple[str, str, str]) -> tuple[Array, Array]:
    """The factors of an einsum "…td,…sd->…ts" as (..., T, Dh) and (..., S, Dh), whatever their order."""
    a, b, out = letters
    shared = "".join(c for c in a if c in b and c not in out)
    if out[-1] in a and out[-1] not in b:
        (a, b), (left, right) = (b, a), (right, left)
    made = (np.einsum(f"{a}->{out[:-2]}{out[-2]}{shared}", left), np.einsum(f"{b}->{out[:-2]}{out[-1]}{shared}", right))
    return made


def ancestors(x: Any, last: Container[int]) -> Iterator[tuple[int, Node | Variable]]:
    """Nodes and leaves behind a tensor, nearest first, each with the number of maps and products on the way.

    Nothing is looked for behind those whose ``id`` is in ``last``.
    """
    first = x._source()[0] if isinstance(x, Variable) else None
    waiting: list[tuple[int, Any]] = [(0, x if first is None else first)]
    seen: set[int] = set()
    while waiting:
        later: list[tuple[int, Any]] = []
        for maps, at in waiting:
            if id(at) in seen:
                continue
            seen.add(id(at))
            yield maps, at
            if isinstance(at, Node) and id(at) not in last:
                more = maps + (at.op.name in ("linear", *_PRODUCTS))
                later += [(more, edge[0]) for edge in at.edges]
        waiting = later
