"""Attention from weights that the caller has already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..numbers import Array, checked_number
from ..numbers import host as on_host
from .data import KINDS, Attention, Kind, Layer, inferred_mask, is_causal
from .tokens import Sides, named


def from_weights(weights: Any, tokens: Sides, sentence: int = 0) -> list[Attention]:
    """The kinds of attention in some weights; see ``viz.attention``."""
    if not isinstance(weights, Mapping):
        layers = _layers(weights, "weights", sentence)
        return [_attention(_kind(layers, tokens), layers, tokens)]
    if unknown := [name for name in weights if name not in KINDS]:
        raise ValueError(f"kinds of attention are {', '.join(KINDS)}, and not {unknown[0]!r}")
    if not weights:
        raise ValueError("there are no weights: the dictionary is empty")
    return [_attention(kind, _layers(weights[kind], kind, sentence), tokens) for kind in KINDS if kind in weights]


def _kind(layers: list[Array], tokens: Sides) -> Kind:
    """What weights without a name are: cross-attention between two texts, else by their mask."""
    target, source = layers[0].shape[-2:]
    two = tokens.source is not None and tokens.target is not None and tokens.source is not tokens.target
    if two or target != source:
        return "cross"
    return "decoder" if is_causal(_mask(layers)) else "encoder"


def _attention(kind: Kind, layers: list[Array], tokens: Sides) -> Attention:
    blocked = _mask(layers)
    sides = zip(tokens.of(kind), layers[0].shape[-2:], strict=True)
    queries, keys = (named(texts, None, count) for texts, count in sides)
    made = tuple(Layer(weights, blocked=blocked) for weights in layers)
    return Attention(kind, made, queries, keys, written=tokens.written_in(kind)).checked()


def _mask(layers: list[Array]) -> Array | None:
    return inferred_mask(np.concatenate(layers))  # heads of all layers side by side


def _layers(weights: Any, name: str, sentence: int) -> list[Array]:
    """An array (H, T, S) for each layer."""
    if isinstance(weights, list | tuple) and weights and hasattr(weights[0], "shape"):
        layers = [_of_sentence(host(w), name, sentence) for w in weights]
    else:
        array = host(weights)
        if not 2 <= array.ndim <= 4:
            raise ValueError(
                f"{name}: weights are (layers, heads, queries, keys), and not of shape {array.shape}; of a batch "
                f"take one sentence, as weights[:, :, 0]"
            )
        layers = list(array.reshape((1,) * (4 - array.ndim) + array.shape))
    if not layers:
        raise ValueError(f"{name}: there is no layer")
    if len({w.shape[-2:] for w in layers}) > 1:
        raise ValueError(f"{name}: layers differ in their tokens: {[w.shape for w in layers]}")
    return layers


def _of_sentence(array: Array, name: str, sentence: int) -> Array:
    if array.ndim == 4:
        array = array[checked_number("sentence", sentence, len(array), "the batch has")]
    if array.ndim != 3:
        raise ValueError(f"{name}: each layer's weights are (H, T, S) or (B, H, T, S), not {array.shape}")
    return array


def host(array: Any) -> Array:
    """Numbers in main memory, float32: a copy, as the caller's may change. Raises TypeError for anything else."""
    error: Exception | None = None
    if array is not None and not isinstance(array, str):
        try:
            return np.array(on_host(array), np.float32)
        except (TypeError, ValueError) as refused:
            error = refused
    reason = f": {error}" if error else ""
    raise TypeError(f"attention wants a module or weights, and cannot use a {type(array).__name__}{reason}") from error


def strings(arguments: Sequence[Any]) -> bool:
    """Whether positional arguments are lists of tokens."""
    return all(isinstance(a, list | tuple) and all(isinstance(text, str) for text in a) for a in arguments)
