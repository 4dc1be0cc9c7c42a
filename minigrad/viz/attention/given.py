"""Attention from weights that the caller has already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..numbers import Array, checked_number, host
from .data import KINDS, Kind, Layer, Seen, inferred_mask, is_causal
from .tokens import Sides


def from_weights(weights: Any, tokens: Sides, sentence: int = 0) -> list[Seen]:
    """The attentions in some weights; see ``viz.attention``."""
    named: Mapping[Kind | None, Any] = weights if isinstance(weights, Mapping) else {None: weights}
    if not named:
        raise ValueError("there are no weights: the dictionary is empty")
    if unknown := [name for name in named if name is not None and name not in KINDS]:
        raise ValueError(f"kinds of attention are {', '.join(KINDS)}, and not {unknown[0]!r}")
    seen: list[Seen] = []
    for name, value in named.items():
        layers = _layers(value, name or "weights", sentence)
        blocked = inferred_mask(np.concatenate(layers))  # heads of all layers side by side
        kind = name or _kind(layers[0].shape[-2:], blocked, tokens)
        seen += [(kind, Layer(layer, blocked=blocked)) for layer in layers]
    return seen


def _kind(lengths: tuple[int, ...], blocked: Array | None, tokens: Sides) -> Kind:
    """What weights without a name are: cross-attention between two texts, else by their mask."""
    two = tokens.source is not None and tokens.target is not None and tokens.source is not tokens.target
    if two or lengths[0] != lengths[1]:
        return "cross"
    return "decoder" if is_causal(blocked) else "encoder"


def _layers(weights: Any, name: str, sentence: int) -> list[Array]:
    """An array (H, T, S) for each layer."""
    if isinstance(weights, list | tuple) and weights and hasattr(weights[0], "shape"):
        layers = [_of_sentence(_host(w), name, sentence) for w in weights]
    else:
        array = _host(weights)
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


def _host(array: Any) -> Array:
    """Numbers in main memory, float32: a copy, as the caller's may change. Raises TypeError for anything else."""
    error: Exception | None = None
    if array is not None and not isinstance(array, str):
        try:
            return np.array(host(array), np.float32)
        except (TypeError, ValueError) as refused:
            error = refused
    reason = f": {error}" if error else ""
    raise TypeError(f"attention wants a module or weights, and cannot use a {type(array).__name__}{reason}") from error


def strings(arguments: Sequence[Any]) -> bool:
    """Whether positional arguments are lists of tokens."""
    return all(isinstance(a, list | tuple) and all(isinstance(text, str) for text in a) for a in arguments)
