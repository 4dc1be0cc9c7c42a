"""Records all attention in a model's forward pass in evaluation mode, while a ``Trace`` observes each op. Attention is
the fused op, or a softmax over the last axis whose result multiplies values. The trace follows the inputs of the
softmax back through masks, sums and scalings to the product of queries and keys."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ...autograd import enable_grad
from ...autograd.mode import at_end
from ...autograd.observer import Observer, observed
from ...autograd.tape import Node, Variable
from ...backend.host import host
from ...nn.module import Module
from ...ops.attention import attention_weights
from ...ops.op import Op
from ...profiler.watched import around_calls, untouched
from ...tensor import Tensor
from ..numbers import Array
from .attention_data import KINDS, Ids, Kind, Layer, Seen, Sides, inferred_mask, is_causal


class Frame(NamedTuple):
    """A running module."""

    path: str
    inputs: list[Variable]  # the floating-point tensors among its arguments
    ids: Tensor | None  # the first argument, if it contains integers


def from_call(
    model: Callable[..., Any], inputs: tuple[Any, ...], named_inputs: Mapping[str, Any]
) -> tuple[list[Seen], Ids, Ids]:
    """The attention layers of a call's first sentence, in order, and the ids of its source and target."""
    tensors = [v for v in (*inputs, *named_inputs.values()) if isinstance(v, Tensor)]
    wanting = [v for v in tensors if v.is_floating_point() and not v.requires_grad]
    copies = {id(v): v.detach().requires_grad_() for v in wanting}  # so that the tape records their ops
    args = tuple(copies.get(id(v), v) for v in inputs)
    kwargs = {name: copies.get(id(v), v) for name, v in named_inputs.items()}
    # The number of sentences, inferred from inputs: (B, T) ids, (B, C, T) ids of choices, or (B, T, D) floats.
    batched = (v for v in tensors if v.ndim >= 2 + v.is_floating_point())
    counts = (len(v) if v.is_floating_point() else math.prod(v.shape[:-1]) for v in batched)
    trace = Trace(model, next(filter(None, counts), 1), (*args, *kwargs.values()))
    mode = in_evaluation(model) if isinstance(model, Module) else nullcontext()
    with mode, around_calls(trace.enter, trace.leave), enable_grad(), observed(trace):
        model(*args, **kwargs)
    if not trace.seen:
        name = f"this {type(model).__name__}" if isinstance(model, Module) else getattr(model, "__name__", "this")
        raise ValueError(
            f"no attention was found in {name}. It must be F.scaled_dot_product_attention, nn.MultiheadAttention, or "
            f"a softmax over the last axis whose result multiplies values, and it must not run under no_grad or "
            f"on plain arrays (as in decoding with a cache)"
        )
    read = [*inputs, *(value for name, value in named_inputs.items() if "mask" not in name)]
    ids = _ids(read, all(kind == "decoder" for kind, _ in trace.seen))
    if trace.decoded is not None:
        ids = ids[0], _ids([trace.decoded], True)[1]
    return _joined(trace.seen, [len(side) for side in ids if side is not None]), *ids


def _joined(recorded: list[Seen], lengths: list[int]) -> list[Seen]:
    """Join a recurrent decoder's attention at each token into one layer. Drop parts that are missing at any token."""
    joined: list[Seen] = []
    for _, group in groupby(recorded, lambda one: (one[0], one[1].path, *one[1].weights.shape)):
        looks = list(group)
        kind, first = looks[0]
        if len(looks) > 1 and first.path and first.weights.shape[1] == 1 and len(looks) in lengths:
            joint: dict[str, Any] = {}
            for name in ("weights", "blocked", "query", "bias"):
                parts = [getattr(one, name) for _, one in looks]
                joint[name] = None if any(part is None for part in parts) else np.concatenate(parts, 1)
            looks = [(kind, replace(first, **joint))]
        joined += looks
    return joined


@contextmanager
def in_evaluation(model: Module) -> Iterator[None]:
    """Run in evaluation mode with gradients for all floating-point parameters; both are restored on exit."""
    frozen = [p for p in model.parameters() if not p.requires_grad and p.is_floating_point()]

    def freeze(yes: bool = True) -> None:
        for p in frozen:
            p.requires_grad_(not yes)

    with untouched(model), at_end(freeze) as end, end:
        model.eval()
        freeze(False)
        yield


def _kind(layer: Layer, query: Variable | None, key: Variable | None, frames: list[Frame]) -> Kind:
    """The kind of attention. The innermost module with states as inputs decides whether it is cross-attention."""
    target, source = layer.weights.shape[-2:]
    crosses = target != source  # unless a module's inputs determine it
    for frame in reversed(frames):
        (query_mapped, query_plain), (key_mapped, key_plain) = (_origins(x, frame) for x in (query, key))
        of_query, of_key = query_mapped or query_plain, key_mapped or key_plain
        are_same = bool(of_query) and of_query <= of_key
        are_inputs = (of_query and not query_mapped) or (of_key and not key_mapped)
        if are_same or ((of_query or of_key) and not are_inputs):
            crosses = not are_same
            break
    if crosses:
        return "cross"
    decodes = any(word.startswith("dec") for word in layer.path.lower().split("."))
    return "decoder" if is_causal(layer.blocked) or decodes else "encoder"


def _origins(x: Variable | None, frame: Frame) -> tuple[set[int], set[int]]:
    """The module inputs that a tensor was computed from, with and without linear maps or products in between."""
    inputs = {id(v._source()[0] or v): i for i, v in enumerate(frame.inputs)}  # by node, or by the leaf itself
    waiting: list[tuple[Any, bool]] = [] if x is None else [(x._source()[0] or x, False)]
    reached: tuple[set[int], set[int]] = set(), set()
    visited = set[tuple[int, bool]]()
    for at, mapped in waiting:  # the list grows
        if (id(at), mapped) in visited:
            continue
        visited.add((id(at), mapped))
        if id(at) in inputs:
            reached[0 if mapped else 1].add(inputs[id(at)])
        elif isinstance(at, Node):
            waiting += [(edge[0], mapped or at.op.name in ("linear", *PRODUCTS)) for edge in at.edges]
    return reached


def _ids(values: list[Any], decoder_only: bool) -> tuple[Ids, Ids]:
    """The first sentence's ids in the source (first tensor) and the target (next integer tensor), or None."""

    def read(value: Tensor) -> Ids:
        if value.array.dtype.kind not in "iu" or value.ndim not in (1, 2, 3):
            return None
        return value.reshape(-1, value.shape[-1])[0].tolist()

    ids = [read(value) for value in values if isinstance(value, Tensor)]
    first = next((one for one in ids if one is not None), None)
    if decoder_only or not ids:
        return first, first
    return ids[0], next((one for one in ids[1:] if one is not None), first)


def from_weights(weights: Any, tokens: Sides) -> list[Seen]:
    """Convert the weights that were passed to ``viz.attention``."""
    by_kind: Mapping[Kind | None, Any] = weights if isinstance(weights, Mapping) else {None: weights}
    if not by_kind:
        raise ValueError("there are no weights: the dictionary is empty")
    if unknown := [name for name in by_kind if name is not None and name not in KINDS]:
        raise ValueError(f"the kind of attention must be one of {', '.join(KINDS)}, not {unknown[0]!r}")
    two = tokens.source is not None and tokens.target is not None and tokens.source is not tokens.target
    recorded: list[Seen] = []
    for name, value in by_kind.items():
        label = name or "weights"
        if isinstance(value, list | tuple) and value and hasattr(value[0], "shape"):
            layers = [w[0] if w.ndim == 4 else w for w in map(_host, value)]
            shapes = [w.shape for w in layers]
            if any(len(shape) != 3 for shape in shapes):
                raise ValueError(f"{label}: each layer needs weights of shape (H, T, S) or (B, H, T, S), not {shapes}")
        else:
            array = _host(value)
            if not 2 <= array.ndim <= 4:
                raise ValueError(
                    f"{label}: weights must have shape (layers, heads, queries, keys), not {array.shape}; select "
                    f"one sentence of a batch, for example with weights[:, :, 0]"
                )
            layers = list(array.reshape((1,) * (4 - array.ndim) + array.shape))
        if not layers:
            raise ValueError(f"{label} has no layers")
        if len({w.shape[-2:] for w in layers}) > 1:
            raise ValueError(f"{label}: layers have different numbers of tokens: {[w.shape for w in layers]}")
        blocked = inferred_mask(np.concatenate(layers))  # from the heads of all layers
        if name is None:  # cross-attention if there are two texts; otherwise, the mask decides
            target, source = layers[0].shape[-2:]
            name = "cross" if two or target != source else "decoder" if is_causal(blocked) else "encoder"
        recorded += [(name, Layer(layer, blocked=blocked)) for layer in layers]
    return recorded


def _host(array: Any) -> Array:
    """A float32 copy in main memory, as the caller may modify the array. Raises TypeError if it is not an array."""
    try:
        return host(array).astype(np.float32, casting="same_kind")
    except (TypeError, ValueError) as error:
        kind = type(array).__name__
        raise TypeError(f"attention takes a module or weights, not a {kind}: {error}") from error


FORBIDDEN = -5e3  # values below this, when added to scores, are masks: GPT-2 adds -1e4, others -1e9 or -inf
_SHAPES = {
    *("reshape", "permute", "transpose", "unsqueeze", "squeeze", "broadcast_to", "getitem", "clone", "cast"),
    *("identity", "concatenate", "repeat", "repeat_interleave"),
}
_SUMS = {"add", "sub", "mul", "where", "masked_fill", *_SHAPES}  # ops allowed on scores
PRODUCTS = {"matmul", "einsum_pair"}
_DEEPEST = 12  # maximum number of ops between the product and the softmax


class Call(NamedTuple):
    """An op that ran: its name, arguments and result."""

    op: str
    args: tuple[Any, ...]
    result: Any


class Trace(Observer):
    """Records each attention layer for the first sentence in a batch, and tracks the inputs of running modules."""

    def __init__(self, model: Callable[..., Any], batch: int, inputs: Iterable[Any]) -> None:
        self.batch = batch
        self.seen: list[Seen] = []
        self.decoded: Tensor | None = None  # the ids passed to a decoder inside the model, if any
        self._paths = {module: path for path, module in model.named_modules()} if isinstance(model, Module) else {}
        self._frames: list[Frame] = []  # innermost last
        self._begin("", inputs)
        self._calls: dict[int, Call] = {}
        self._taken: set[int] = set()

    def _begin(self, path: str, values: Iterable[Any]) -> None:
        tensors = [v for v in values if isinstance(v, Tensor)]
        ids = tensors[0] if tensors and not tensors[0].is_floating_point() else None
        self._frames.append(Frame(path, [v for v in tensors if v.is_floating_point()], ids))

    def enter(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._begin(self._paths.get(module, self._frames[-1].path), (*args, *kwargs.values()))

    def leave(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        self._frames.pop()

    def applied(self, op: Op, args: tuple[Any, ...], result: Any, node: Node | None) -> None:
        if node is None:
            return
        self._calls[node.order] = Call(op.name, args, result)
        if op.name == "scaled_dot_product_attention":
            self._fused(args)
        for factor in args[:2] if op.name in PRODUCTS else ():
            weights = self._call(factor)
            while weights is not None and (weights.op in _SHAPES or weights.op == "dropout"):
                weights = self._call(weights.args[0])
            if weights is None or weights.op != "softmax" or id(weights.result) in self._taken:
                continue
            scores, axes = weights.args[0], weights.result.array.ndim
            if axes >= 2 and weights.args[1] % axes == axes - 1:
                self._taken.add(id(weights.result))
                self._composed(weights.result, scores)
                break

    def _fused(self, args: tuple[Any, ...]) -> None:
        """Record the attention defined by the fused op's arguments, without dropout."""
        query, key, _, mask, _, causal, scale, _ = args
        weights = attention_weights(query.array, key.array, None if mask is None else mask.array, causal, scale)
        added = np.zeros(1) if mask is None else host(mask.array)
        added = np.where(added, 0, -np.inf) if added.dtype.kind == "b" else added
        if causal:
            added = np.where(np.tri(*weights.shape[-2:]), added, -np.inf)
        parts: Iterable[Array] = map(_floats, (weights, np.broadcast_to(added, weights.shape), query.array, key.array))
        call = self._call(query)
        if len(weights) == 1 and call is not None and call.op == "reshape" and call.args[0].array.ndim == 3:
            parts = (x[0] for x in parts)  # (1, N, T, Dh), passed as (N, T, Dh)
        self._note(0.0, parts, float(scale), query, key)

    def _composed(self, result: Variable, x: Variable) -> None:
        weights, scores = _floats(result), _floats(x)
        call, scale = self._scaled_product(x) or (None, 1.0)
        sides = None if call is None else self._factors(call, scores)
        factors = (None, None) if call is None else call.args[:2]
        if sides is None:
            self._note(np.inf, (weights, scores, None, None), 1.0, *factors)
        else:
            q, k = sides
            noise = 1e-4 * (1 + np.abs(scores[weights > 0]).max(initial=0))
            self._note(noise, (weights, scores - scale * (q @ k.mT), q, k), scale, *factors)

    def _factors(self, call: Call, scores: Array) -> tuple[Array, Array] | None:
        """Queries (..., T, Dh) and keys (..., S, Dh); None if they do not match the scores."""
        lead = scores.shape[:-2]
        left, right = _floats(call.args[0]), _floats(call.args[1])
        try:
            if call.op == "einsum_pair":  # "…td,…sd->…ts", in any order
                a, b, out = call.args[2]
                shared = "".join(c for c in a if c in b and c not in out)
                if out[-1] in a and out[-1] not in b:
                    (a, b), (left, right) = (b, a), (right, left)
                queries, keys = (f"{out[:-2]}{axis}{shared}" for axis in out[-2:])
                sides = np.einsum(f"{a}->{queries}", left), np.einsum(f"{b}->{keys}", right)
            else:
                sides = left, right.mT
            q, k = (
                np.broadcast_to(side, (*lead, *side.shape[-2:]))
                if side.ndim == scores.ndim
                else side.reshape(*lead, *side.shape[-2:])
                for side in sides
            )
        except ValueError:
            return None
        fits = (q.shape[-2], k.shape[-2]) == scores.shape[-2:] and q.shape[-1] == k.shape[-1]
        return (q, k) if fits else None

    def _scaled_product(self, x: Any, depth: int = 0) -> tuple[Call, float] | None:
        """Find the product that the scores come from, and its scale."""
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
        return None if node is None else self._calls.get(node.order)

    def _note(
        self, noise: float, parts: Iterable[Array | None], scale: float, query: Variable | None, key: Variable | None
    ) -> None:
        """Record the weights, the mask or bias added to the scores, the queries and the keys."""

        def first(x: Array) -> Array:
            """The first sentence in (B, H, ...)."""
            *lead, t, s = x.shape
            if len(lead) == 1 and lead[0] % self.batch == 0:
                lead = [self.batch, lead[0] // self.batch]
            return x.reshape(math.prod(lead[:-1]), lead[-1] if lead else 1, t, s)[0]

        def shared(x: Array) -> Array:
            """Keep a single copy of an array that is the same for all heads."""
            return np.array(x[:1] if (x == x[:1]).all() else x)

        weights, added, q, k = (None if p is None else np.array(first(p)) for p in parts)
        assert weights is not None and added is not None
        blocked = (weights == 0) & ~(added > FORBIDDEN)
        bias = np.where(blocked, 0, added)
        biased, path = np.abs(bias).max(initial=0) > noise, self._frames[-1].path
        masks = shared(blocked) if blocked.any() else None, shared(bias) if biased else None
        layer = Layer(weights, path, masks[0], q, k, scale, masks[1])
        kind = _kind(layer, query, key, self._frames)
        self.seen.append((kind, layer))
        if kind != "encoder" and self.decoded is None:
            ids = (frame.ids for frame in reversed(self._frames) if frame.path and frame.ids is not None)
            self.decoded = next(ids, None)


def _factor(call: Call, position: int) -> float | None:
    """The factor in a product or quotient, if that argument is a number or a tensor with a single element."""
    x = call.args[position]
    if isinstance(x, Variable):
        x = float(host(x.array).reshape(())) if x.array.size == 1 and x._node is None else None
    number = float(x) if isinstance(x, int | float | np.number) else 0.0
    return number if call.op == "mul" or not number else 1 / number


def _floats(x: Any) -> Array:
    return np.array(host(x), np.float32)
