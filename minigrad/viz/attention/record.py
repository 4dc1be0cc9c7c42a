"""Attention as a model computes it: every one that runs in a forward, with the module that it belongs to.

The forward runs once, in evaluation mode, while the tape shows each op to a ``Trace``. Nothing of the model
is replaced, and nothing of it is different afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...autograd import enable_grad
from ...autograd.mode import observed, state
from ...autograd.tape import Node, Variable
from ...nn.module import Module
from ...tensor import Tensor
from .data import KINDS, Array, Attention, Kind, Layer, is_causal
from .given import checked_sentence
from .tokens import Sides, named
from .trace import Found, Trace, ancestors


class Frame(NamedTuple):
    """A module at work: its path, and the floating tensors that it was called with."""

    path: str
    inputs: tuple[Variable, ...]


class Seen(NamedTuple):
    """An attention that ran: what it is, and its layer."""

    kind: Kind
    layer: Layer


class Ids(NamedTuple):
    """What the model read as source and as target; None for what is no list of ids."""

    source: list[int] | None
    target: list[int] | None


def from_call(
    model: Callable[..., Any],
    inputs: tuple[Any, ...],
    named_inputs: Mapping[str, Any],
    tokens: Sides,
    sentence: int = 0,
) -> list[Attention]:
    """The attentions of ``model(*inputs, **named_inputs)``.

    Args:
        tokens: of source and target; functions get the ids in the model's inputs (see ``_ids``).
        sentence: which of the batch.

    Raises:
        ValueError: there is no attention, no such sentence, or tokens that do not fit.
    """
    seen = recorded(model, inputs, named_inputs, sentence)
    if not seen:
        raise ValueError(
            f"no attention ran in {_called(model)}: what is found is F.scaled_dot_product_attention, "
            f"nn.MultiheadAttention, and a softmax over the last axis whose result multiplies values. What "
            f"runs under no_grad, or with ops on bare arrays (decoding with a cache), is not seen"
        )
    read = [*inputs, *(value for name, value in named_inputs.items() if "mask" not in name)]
    return _grouped(seen, tokens, _ids(read, sentence, all(kind == "decoder" for kind, _ in seen)))


def recorded(
    model: Callable[..., Any], inputs: tuple[Any, ...], named_inputs: Mapping[str, Any], sentence: int = 0
) -> list[Seen]:
    """Every attention of one sentence, in the order in which they ran."""
    trace, frames, seen = Trace(_batch([*inputs, *named_inputs.values()])), list[Frame](), list[Seen]()

    def observe(node: Node, args: tuple[Any, ...], result: Any) -> None:
        found = trace.observe(node, args, result)
        if found is not None:
            path = frames[-1].path if frames else ""
            layer = replace(_of_sentence(found.layer, sentence), path=path)
            seen.append(Seen(_kind(found, layer, frames), layer))

    wanting = _Wanting()
    given, given_named = wanting.of(inputs), {k: wanting.of((v,))[0] for k, v in named_inputs.items()}
    with ExitStack() as around:
        if isinstance(model, Module):
            around.enter_context(in_evaluation(model))
            around.enter_context(_framed(model, frames))
        else:
            frames.append(Frame("", _floating([*given, *given_named.values()])))
        around.enter_context(enable_grad())
        around.enter_context(observed((*state.observers, observe)))
        model(*given, **given_named)
    return seen


# Around the forward -----------------------------------------------------------------------------------------


class _Wanting:
    """Tensors that want a gradient in the place of those that want none, so that the tape has their ops."""

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}

    def of(self, values: tuple[Any, ...]) -> list[Any]:
        """The values, one tensor for one tensor; what has no gradient stays as it is."""
        return [self._one(v) for v in values]

    def _one(self, value: Any) -> Any:
        if not isinstance(value, Tensor) or not value.is_floating_point() or value.requires_grad:
            return value
        if id(value) not in self.made:
            self.made[id(value)] = value.detach().requires_grad_()
        return self.made[id(value)]


@contextmanager
def in_evaluation(model: Module) -> Iterator[None]:
    """The model in evaluation mode, its floating parameters wanting gradients; afterwards as it was."""
    modes = [(module, module.training) for module in model.modules()]
    frozen = [p for p in model.parameters() if not p.requires_grad and p.is_floating_point()]
    try:
        model.eval()
        for p in frozen:
            p.requires_grad_()
        yield
    finally:
        for p in frozen:
            p.requires_grad_(False)
        for module, training in modes:
            module.training = training


@contextmanager
def _framed(model: Module, frames: list[Frame]) -> Iterator[None]:
    """Keep ``frames`` to the modules at work, the innermost last."""
    handles = []

    def watch(path: str, module: Module) -> None:
        def enter(_: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            frames.append(Frame(path, _floating([*args, *kwargs.values()])))

        def leave(_: Module, args: tuple[Any, ...], result: Any) -> None:
            frames.pop()

        handles.append(module.register_forward_pre_hook(enter, with_kwargs=True))
        handles.append(module.register_forward_hook(leave, always_call=True))

    try:
        for path, module in model.named_modules():
            watch(path, module)
        yield
    finally:
        for handle in handles:
            handle.remove()


def _floating(values: list[Any]) -> tuple[Variable, ...]:
    return tuple(v for v in values if isinstance(v, Tensor) and v.is_floating_point())


# What an attention is ---------------------------------------------------------------------------------------


def _kind(found: Found, layer: Layer, frames: list[Frame]) -> Kind:
    """Whether queries and keys come from the same tensor; and of self-attention, whose.

    Within a module that was given the model's states, queries and keys go back to one of these or to two. A
    module that was given finished queries and keys does not tell; then the one around it is asked.
    """
    target, source = layer.weights.shape[-2:]
    crosses = target != source
    for frame in reversed(frames):
        if (told := _crosses(found, frame)) is not None:
            crosses = told
            break
    if crosses:
        return "cross"
    if is_causal(layer.blocked):
        return "decoder"
    return "decoder" if any(word.startswith("dec") for word in layer.path.lower().split(".")) else "encoder"


def _crosses(found: Found, frame: Frame) -> bool | None:
    """Whether queries and keys go back to different inputs of a module; None where that does not tell."""
    query, query_maps = _origins(found.query, frame)
    key, key_maps = _origins(found.key, frame)
    if query and query == key:
        return False
    if not (query or key) or not (query_maps or key_maps):
        return None
    return True


def _origins(x: Variable | None, frame: Frame) -> tuple[set[int], bool]:
    """Which inputs of a module a tensor was made from, and whether a map or product lies between."""
    inputs = {id(v if (node := v._source()[0]) is None else node): i for i, v in enumerate(frame.inputs)}
    reached, mapped = set[int](), False
    if x is not None:
        for maps, at in ancestors(x, inputs):
            if id(at) in inputs:
                reached.add(inputs[id(at)])
                mapped = mapped or maps > 0
    return reached, mapped


def _of_sentence(layer: Layer, sentence: int) -> Layer:
    """One sentence of a layer's arrays (B, H, ...); what is alike for all heads is kept once."""
    at = checked_sentence(sentence, len(layer.weights))

    def once(x: Array | None) -> Array | None:
        if x is None:
            return None
        x = x[at]
        return np.array(x[:1] if (x == x[:1]).all() else x)

    q, k = (None if x is None else np.array(x[at]) for x in (layer.query, layer.key))
    weights = np.array(layer.weights[at])
    return Layer(weights, layer.path, once(layer.blocked), q, k, layer.scale, once(layer.bias))


# Tokens and groups ------------------------------------------------------------------------------------------


def _batch(values: list[Any]) -> int:
    """How many sentences the first input holds: ids (B, T), or states (B, T, D)."""
    for value in values:
        if isinstance(value, Tensor) and value.ndim >= (3 if value.is_floating_point() else 2):
            return int(value.shape[0])
    return 1


def _ids(values: list[Any], sentence: int, decoder_alone: bool) -> Ids:
    """The ids of one sentence, (T) or (B, T), as far as they are among a model's inputs.

    The source is the first tensor, the target the next one of integers. A decoder alone reads the first one
    of integers, and what follows it, as a mask, is something else.
    """

    def read(value: Tensor) -> list[int] | None:
        if value.array.dtype.kind not in "iu" or value.ndim not in (1, 2):
            return None
        return (value if value.ndim == 1 else value[sentence if len(value) > 1 else 0]).tolist()

    given = [read(value) for value in values if isinstance(value, Tensor)]
    first = next((ids for ids in given if ids is not None), None)
    if decoder_alone or not given:
        return Ids(first, first)
    return Ids(given[0], next((ids for ids in given[1:] if ids is not None), first))


def _grouped(seen: list[Seen], tokens: Sides, ids: Ids) -> list[Attention]:
    """Layers of one kind and of the same lengths together."""
    groups: dict[tuple[Kind, int, int], list[Layer]] = {}
    for kind, layer in seen:
        groups.setdefault((kind, *layer.weights.shape[-2:]), []).append(layer)
    kinds = [kind for kind, _, _ in groups]
    made = []
    for (kind, target, source), layers in sorted(groups.items(), key=lambda group: KINDS.index(group[0][0])):
        of_queries, of_keys = tokens.of(kind)
        queries = named(of_queries, ids.source if kind == "encoder" else ids.target, target)
        keys = named(of_keys, ids.target if kind == "decoder" else ids.source, source)
        note = f"({target} × {source})" if kinds.count(kind) > 1 else ""
        made.append(Attention(kind, tuple(layers), queries, keys, note, tokens.written_in(kind)).checked())
    return made


def _called(model: Any) -> str:
    return f"this {type(model).__name__}" if isinstance(model, Module) else getattr(model, "__name__", "this")
