"""Attention from weights that the caller has already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...backend.host import host
from ..numbers import Array, checked_number
from .attention_data import KINDS, Kind, Layer, Seen, inferred_mask, is_causal
from .tokens import Sides


def from_weights(weights: Any, tokens: Sides, sentence: int = 0) -> list[Seen]:
    """The attentions in some weights; see ``viz.attention``."""
    named: Mapping[Kind | None, Any] = weights if isinstance(weights, Mapping) else {None: weights}
    if not named:
        raise ValueError("there are no weights: the dictionary is empty")
    if unknown := [name for name in named if name is not None and name not in KINDS]:
        raise ValueError(f"kinds of attention are {', '.join(KINDS)}, and not {unknown[0]!r}")
    two = tokens.source is not None and tokens.target is not None and tokens.source is not tokens.target
    seen: list[Seen] = []
    for name, value in named.items():
        layers = _layers(value, name or "weights", sentence)
        blocked = inferred_mask(np.concatenate(layers))  # heads of all layers side by side
        if name is None:  # cross-attention between two texts, else as the mask says
            target, source = layers[0].shape[-2:]
            name = "cross" if two or target != source else "decoder" if is_causal(blocked) else "encoder"
        seen += [(name, Layer(layer, blocked=blocked)) for layer in layers]
    return seen


def _layers(weights: Any, name: str, sentence: int) -> list[Array]:
    """An array (H, T, S) for each layer."""
    if isinstance(weights, list | tuple) and weights and hasattr(weights[0], "shape"):
        layers = list(map(_host, weights))
        layers = [
            w[checked_number("sentence", sentence, len(w), "the batch has")] if w.ndim == 4 else w for w in layers
        ]
        shapes = [w.shape for w in layers]
        if any(len(shape) != 3 for shape in shapes):
            raise ValueError(f"{name}: each layer's weights are (H, T, S) or (B, H, T, S), not {shapes}")
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


def _host(array: Any) -> Array:
    """Numbers in main memory, float32: a copy, as the caller's may change. Raises TypeError for anything else."""
    try:
        return host(array).astype(np.float32, casting="same_kind")
    except (TypeError, ValueError) as error:
        kind = type(array).__name__
        raise TypeError(f"attention wants a module or weights, and cannot use a {kind}: {error}") from error
