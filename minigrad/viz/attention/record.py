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
from ...autograd.observer import Observer, observed
from ...autograd.tape import Node, Variable
from ...nn.module import Module
from ...ops.op import Op
from ...tensor import Tensor
from ..numbers import Array, checked_number
from .data import KINDS, Attention, Kind, Layer, is_causal
from .tokens import Sides, named
from .trace import Match, Trace, ancestors

Ids = list[int] | None  # of tokens; None for what is no list of ids
Seen = tuple[Kind, Layer]  # an attention that ran


class Frame(NamedTuple):
    """A module at work: its path, and the floating tensors that it was called with."""

    path: str
    inputs: tuple[Variable, ...]


def from_call(
    model: Callable[..., Any],
    inputs: tuple[Any, ...],
    named_inputs: Mapping[str, Any],
    tokens: Sides,
    sentence: int = 0,
) -> list[Attention]:
    """The attentions of ``model(*inputs, **named_inputs)``; see ``viz.attention``."""
    seen = recorded(model, inputs, named_inputs, sentence)
    if not seen:
        name = f"this {type(model).__name__}" if isinstance(model, Module) else getattr(model, "__name__", "this")
        raise ValueError(
            f"no attention ran in {name}: what is found is F.scaled_dot_product_attention, "
            f"nn.MultiheadAttention, and a softmax over the last axis whose result multiplies values. What "
            f"runs under no_grad, or with ops on bare arrays (decoding with a cache), is not seen"
        )
    read = [*inputs, *(value for name, value in named_inputs.items() if "mask" not in name)]
    return _grouped(seen, tokens, *_ids(read, sentence, all(kind == "decoder" for kind, _ in seen)))


def recorded(
    model: Callable[..., Any], inputs: tuple[Any, ...], named_inputs: Mapping[str, Any], sentence: int = 0
) -> list[Seen]:
    """Every attention of one sentence, in the order in which they ran."""
    frames = list[Frame]()
    finder = _Finder(_batch([*inputs, *named_inputs.values()]), frames, sentence)
    copies = dict[int, Any]()
    inputs = tuple(_wanting(value, copies) for value in inputs)
    named_inputs = {name: _wanting(value, copies) for name, value in named_inputs.items()}
    with ExitStack() as around:
        if isinstance(model, Module):
            around.enter_context(in_evaluation(model))
            around.enter_context(_framed(model, frames))
        else:
            frames.append(Frame("", _floating([*inputs, *named_inputs.values()])))
        around.enter_context(enable_grad())
        around.enter_context(observed(finder))
        model(*inputs, **named_inputs)
    if finder.error is not None:
        raise finder.error
    return finder.seen


class _Finder(Observer):
    """Notes the attentions among the ops that are recorded."""

    def __init__(self, batch: int, frames: list[Frame], sentence: int) -> None:
        self.trace, self.frames, self.sentence = Trace(batch), frames, sentence
        self.seen: list[Seen] = []
        self.error: ValueError | None = None  # there is no such sentence: said once the call is over

    def applied(self, op: Op, args: tuple[Any, ...], result: Any, node: Node | None) -> None:
        match = None if node is None else self.trace.observe(node, args, result)
        if match is not None and self.error is None:
            path = self.frames[-1].path if self.frames else ""
            try:
                layer = replace(_of_sentence(match.layer, self.sentence), path=path)
            except ValueError as error:
                self.error = error
            else:
                self.seen.append((_kind(match, layer, self.frames), layer))


# Around the forward -----------------------------------------------------------------------------------------


def _wanting(value: Any, copies: dict[int, Any]) -> Any:
    """A copy of a tensor that requires a gradient, so that the tape records its ops; one for each tensor."""
    if not isinstance(value, Tensor) or not value.is_floating_point() or value.requires_grad:
        return value
    if id(value) not in copies:
        copies[id(value)] = value.detach().requires_grad_()
    return copies[id(value)]


@contextmanager
def in_evaluation(model: Module) -> Iterator[None]:
    """The model in evaluation mode, its floating parameters requiring gradients; afterwards as before."""
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
    paths = {id(module): path for path, module in model.named_modules()}

    def enter(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        frames.append(Frame(paths[id(module)], _floating([*args, *kwargs.values()])))

    def leave(module: Module, args: tuple[Any, ...], result: Any) -> None:
        frames.pop()

    with ExitStack() as hooks:
        for module in model.modules():
            hooks.callback(module.register_forward_pre_hook(enter, with_kwargs=True).remove)
            hooks.callback(module.register_forward_hook(leave, always_call=True).remove)
        yield


def _floating(values: list[Any]) -> tuple[Variable, ...]:
    return tuple(v for v in values if isinstance(v, Tensor) and v.is_floating_point())


# What an attention is ---------------------------------------------------------------------------------------


def _kind(match: Match, layer: Layer, frames: list[Frame]) -> Kind:
    """Whether queries and keys come from the same tensor; and of self-attention, whose.

    Within a module whose inputs are the model's states, queries and keys go back to one of these or to two. A
    module whose inputs are finished queries and keys does not show it; then the one around it is asked.
    """
    target, source = layer.weights.shape[-2:]
    answers = (answer for frame in reversed(frames) if (answer := _crosses(match, frame)) is not None)
    if next(answers, target != source):
        return "cross"
    decodes = any(word.startswith("dec") for word in layer.path.lower().split("."))
    return "decoder" if is_causal(layer.blocked) or decodes else "encoder"


def _crosses(match: Match, frame: Frame) -> bool | None:
    """Whether queries and keys go back to different inputs of a module; None where that cannot be seen."""
    query, query_maps = _origins(match.query, frame)
    key, key_maps = _origins(match.key, frame)
    if query and query == key:
        return False
    return True if (query or key) and (query_maps or key_maps) else None


def _origins(x: Variable | None, frame: Frame) -> tuple[set[int], bool]:
    """Which inputs of a module a tensor was made from, and whether a map or product lies between."""
    inputs = {id(v if (node := v._source()[0]) is None else node): i for i, v in enumerate(frame.inputs)}
    reached = [(inputs[id(at)], maps) for maps, at in ancestors(x, inputs) if id(at) in inputs]
    return {number for number, _ in reached}, any(maps for _, maps in reached)


def _of_sentence(layer: Layer, sentence: int) -> Layer:
    """One sentence of a layer's arrays (B, H, ...); masks that all heads share are kept once."""
    at = checked_number("sentence", sentence, len(layer.weights), "the batch has")

    def one(x: Array | None, shared: bool = False) -> Array | None:
        return None if x is None else np.array(x[at][:1] if shared and (x[at] == x[at][:1]).all() else x[at])

    weights = np.array(layer.weights[at])
    blocked, bias = one(layer.blocked, True), one(layer.bias, True)
    return Layer(weights, layer.path, blocked, one(layer.query), one(layer.key), layer.scale, bias)


# Tokens and groups ------------------------------------------------------------------------------------------


def _batch(values: list[Any]) -> int:
    """How many sentences the first input holds: ids (B, T), or states (B, T, D)."""
    for value in values:
        if isinstance(value, Tensor) and value.ndim >= (3 if value.is_floating_point() else 2):
            return int(value.shape[0])
    return 1


def _ids(values: list[Any], sentence: int, decoder_alone: bool) -> tuple[Ids, Ids]:
    """The source's and the target's ids of one sentence, (T) or (B, T), if they are among a model's inputs.

    The source is the first tensor, the target the next one of integers. A decoder alone reads the first one
    of integers, and what follows it, as a mask, is something else.
    """

    def read(value: Tensor) -> Ids:
        if value.array.dtype.kind not in "iu" or value.ndim not in (1, 2):
            return None
        return (value if value.ndim == 1 else value[sentence if len(value) > 1 else 0]).tolist()

    ids = [read(value) for value in values if isinstance(value, Tensor)]
    first = next((one for one in ids if one is not None), None)
    if decoder_alone or not ids:
        return first, first
    return ids[0], next((one for one in ids[1:] if one is not None), first)


def _grouped(seen: list[Seen], tokens: Sides, source_ids: Ids, target_ids: Ids) -> list[Attention]:
    """Layers of one kind and of the same lengths together."""
    groups: dict[tuple[Kind, int, int], list[Layer]] = {}
    for kind, layer in seen:
        groups.setdefault((kind, *layer.weights.shape[-2:]), []).append(layer)
    kinds = [kind for kind, _, _ in groups]
    attentions = []
    for (kind, target, source), layers in sorted(groups.items(), key=lambda group: KINDS.index(group[0][0])):
        of_queries, of_keys = tokens.of(kind)
        queries = named(of_queries, source_ids if kind == "encoder" else target_ids, target)
        keys = named(of_keys, target_ids if kind == "decoder" else source_ids, source)
        note = f"({target} × {source})" if kinds.count(kind) > 1 else ""
        attentions.append(Attention(kind, tuple(layers), queries, keys, note, tokens.written_in(kind)).checked())
    return attentions
