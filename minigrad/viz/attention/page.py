"""What the interactive page is made from: arrays as base64, everything else as plain data."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..page import Page
from .data import SHORT, Array, Attention, Candidate

EXACT = 600_000  # numbers up to which all keep float32's digits; more are halved to float16's three
MOST = 20_000_000  # numbers that a page can hold: some 50 MB
SCRIPTS = (
    "attention.js",
    "attention_heads.js",
    "attention_matrix.js",
    "attention_model.js",
    "attention_neuron.js",
    "attention_start.js",
)


def page(texts: Sequence[Candidate], title: str) -> Page:
    """The page: one file with all kinds, layers and heads of one text, or of several to choose from.

    Raises:
        ValueError: too many numbers for one page.
    """
    different = list({id(one): one for text in texts for one in text.attentions}.values())  # some share some
    numbers = sum(map(_size, different))
    if numbers > MOST:
        raise ValueError(
            f"{numbers:,} numbers are too many for a page, which holds {MOST:,}: show one text of a beam, as "
            f"view.candidate(0), one kind, as AttentionView(view.attentions[:1]), fewer layers or tokens; "
            f"pictures by svg() have no limit"
        )
    dtype = np.float32 if numbers <= EXACT else np.float16
    places = {id(one): place for place, one in enumerate(different)}
    data = {
        "title": title,
        "digits": 4 if dtype is np.float32 else 3,
        "kinds": [_kind(one, dtype) for one in different],
        "texts": [
            {"text": one.text, "score": one.score, "kinds": [places[id(a)] for a in one.attentions]} for one in texts
        ],
    }
    return Page(title, data, SCRIPTS, ("attention.css",), _BODY, height=760)


_BODY = '<main id="attention"></main>'


def _size(attention: Attention) -> int:
    return sum(
        x.size
        for layer in attention.layers
        for x in (layer.weights, layer.query, layer.key, layer.bias)
        if x is not None
    )


def _kind(attention: Attention, dtype: Any) -> dict[str, Any]:
    masks: list[Array] = []
    layers = []
    for layer in attention.layers:
        layers.append(
            {
                "path": layer.path,
                "heads": len(layer.weights),
                "weights": _packed(layer.weights, dtype),
                "mask": _number_of(layer.blocked, masks),
                "query": _packed(layer.query, dtype),
                "key": _packed(layer.key, dtype),
                "scale": layer.scale,
                "bias": _packed(layer.bias, dtype),
            }
        )
    return {
        "kind": attention.kind,
        "title": attention.title,
        "short": f"{SHORT[attention.kind]} {attention.note}".strip(),
        "meaning": attention.meaning,
        "reads": attention.kind != "encoder" and not attention.written,
        "queries": list(attention.rows),
        "keys": list(attention.keys),
        "masks": [_bytes(np.asarray(mask, np.uint8)) for mask in masks],
        "layers": layers,
    }


def _number_of(mask: Array | None, masks: list[Array]) -> int | None:
    """Which of the masks it is; a new one is put to them."""
    if mask is None:
        return None
    for number, known in enumerate(masks):
        if np.array_equal(known, mask):
            return number
    masks.append(mask)
    return len(masks) - 1


def _packed(array: Array | None, dtype: Any) -> dict[str, Any] | None:
    """An array as the page reads it: its shape, its kind of number, its bytes (little-endian)."""
    if array is None:
        return None
    ordered = np.ascontiguousarray(array, np.dtype(dtype).newbyteorder("<"))
    return {"shape": list(array.shape), "half": dtype is np.float16, "bytes": _bytes(ordered)}


def _bytes(array: Array) -> str:
    return base64.b64encode(array.tobytes()).decode()
