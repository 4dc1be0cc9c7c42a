"""Attention from weights that somebody has already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...tensor import Tensor
from .data import KINDS, Array, Attention, Kind, Layer, inferred_mask, is_causal
from .tokens import Sides, named


def from_weights(weights: Any, tokens: Sides, sentence: int = 0) -> list[Attention]:
    """The kinds of attention in given weights.

    Args:
        weights: an array (L, H, T, S), (H, T, S) or (T, S), or a list with an array (H, T, S) or (B, H, T, S)
            for each layer; or {"encoder": …, "decoder": …, "cross": …} of these.
        tokens: of source and target. sentence: which of a batch.

    Raises:
        TypeError, ValueError: what is no such thing, tokens that do not fit, weights that are no
            probabilities.
    """
    if not isinstance(weights, Mapping):
        layers = _layers(weights, "weights", sentence)
        kind = _kind(layers, tokens)
        return [_attention(kind, layers, tokens)]
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
    target, source = layers[0].shape[-2:]
    of_queries, of_keys = tokens.of(kind)
    blocked = _mask(layers)
    return Attention(
        kind,
        tuple(Layer(w, blocked=blocked) for w in layers),
        named(of_queries, None, target),
        named(of_keys, None, source),
        written=tokens.written_in(kind),
    ).checked()


def _mask(layers: list[Array]) -> Array | None:
    return inferred_mask(np.concatenate(layers))  # heads of all layers side by side


def _layers(weights: Any, name: str, sentence: int) -> list[Array]:
    """An array (H, T, S) for each layer."""
    if isinstance(weights, list | tuple) and weights and hasattr(weights[0], "shape"):
        layers = [_of_sentence(host(w), name, sentence) for w in weights]
    else:
        layers = _stacked(host(weights), name)
    if not layers:
        raise ValueError(f"{name}: there is no layer")
    if len({w.shape[-2:] for w in layers}) > 1:
        raise ValueError(f"{name}: layers differ in their tokens: {[w.shape for w in layers]}")
    return layers


def _stacked(array: Array, name: str) -> list[Array]:
    if not 2 <= array.ndim <= 4:
        raise ValueError(
            f"{name}: weights are (layers, heads, queries, keys), and not of shape {array.shape}; of a batch "
            f"take one sentence, as weights[:, :, 0]"
        )
    return list(array.reshape((1,) * (4 - array.ndim) + array.shape))


def _of_sentence(array: Array, name: str, sentence: int) -> Array:
    if array.ndim == 4:
        array = array[checked_sentence(sentence, len(array))]
    if array.ndim != 3:
        raise ValueError(f"{name}: each layer's weights are (H, T, S) or (B, H, T, S), not {array.shape}")
    return array


def checked_sentence(sentence: int, batch: int) -> int:
    """The number of a sentence in a batch.

    Raises:
        ValueError: there is none of that number.
    """
    if not -batch <= sentence < batch:
        raise ValueError(f"there is no sentence {sentence}: the batch has {batch}, from 0 to {batch - 1}")
    return sentence


def host(array: Any) -> Array:
    """Numbers in main memory, float32, from a Tensor, a NumPy or CuPy array, or lists.

    Raises:
        TypeError: no numbers.
    """
    if isinstance(array, Tensor):
        array = array.detach().float().array
    array = array.get() if hasattr(array, "get") and hasattr(array, "shape") else array
    if array is None or isinstance(array, str):
        raise TypeError(f"attention wants a module or weights, and cannot use a {type(array).__name__}")
    try:
        made: Array = np.array(array, np.float32)  # a copy: the caller's may change
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"attention wants a module or weights, and cannot use a {type(array).__name__}: {error}"
        ) from error
    return made


def strings(given: Sequence[Any]) -> bool:
    """Whether positional arguments are lists of tokens."""
    return all(isinstance(g, list | tuple) and all(isinstance(t, str) for t in g) for g in given)
