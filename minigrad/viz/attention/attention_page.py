"""What the interactive page is made from: arrays as base64, everything else as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..numbers import Array, coded
from ..page import Page
from .attention_data import Attention, Candidate

EXACT = 600_000  # numbers up to which all keep float32's digits; more are halved to float16's three
MOST = 20_000_000  # numbers that a page can hold: some 50 MB
PARTS = ("weights", "query", "key", "bias")  # of a layer: its arrays
SCRIPTS = tuple(f"attention{part}.js" for part in ("", "_heads", "_matrix", "_model", "_neuron", "_start"))


def page(texts: Sequence[Candidate], title: str) -> Page:
    """All kinds, layers and heads of one text, or of several to choose from. Raises ValueError: too many numbers."""
    different = list({id(one): one for text in texts for one in text.attentions}.values())  # some share some
    arrays = (getattr(layer, name) for one in different for layer in one.layers for name in PARTS)
    numbers = sum(array.size for array in arrays if array is not None)
    if numbers > MOST:
        raise ValueError(
            f"{numbers:,} numbers are too many for a page, which holds {MOST:,}: show one text of a beam, as "
            f"view.candidate(0), one kind, as AttentionView(view.attentions[:1]), fewer layers or tokens; "
            f"pictures by svg() have no limit"
        )
    half = numbers > EXACT
    places = {id(one): place for place, one in enumerate(different)}
    data = {
        "title": title,
        "digits": 3 if half else 4,
        "kinds": [_kind(one, half) for one in different],
        "texts": [
            {"text": one.text, "score": one.score, "kinds": [places[id(a)] for a in one.attentions]} for one in texts
        ],
    }
    return Page.of("attention", title, data, SCRIPTS)


def _kind(attention: Attention, half: bool) -> dict[str, Any]:
    blocked = [None if layer.blocked is None else coded(layer.blocked, "u1") for layer in attention.layers]
    masks = list(dict.fromkeys(mask for mask in blocked if mask is not None))  # many layers share one
    layers = [
        {
            "path": layer.path,
            "heads": len(layer.weights),
            "mask": None if mask is None else masks.index(mask),
            "scale": layer.scale,
            **{name: _packed(getattr(layer, name), half) for name in PARTS},
        }
        for layer, mask in zip(attention.layers, blocked, strict=True)
    ]
    return {
        "kind": attention.kind,
        "title": attention.title,
        "short": f"{attention.kind.title()} {attention.note}".strip(),
        "meaning": attention.meaning,
        "reads": attention.kind != "encoder" and not attention.written,
        "queries": list(attention.rows),
        "keys": list(attention.keys),
        "masks": masks,
        "layers": layers,
    }


def _packed(array: Array | None, half: bool) -> dict[str, Any] | None:
    """An array as the page reads it: shape, width of the numbers, bytes."""
    if array is None:
        return None
    return {"shape": list(array.shape), "half": half, "bytes": coded(array, "<f2" if half else "<f4")}
