"""The translator of models/minigrad_models/translation/transformer.py, so small that all its numbers can be shown."""

from typing import Any

import minigrad
from minigrad_models.translation.transformer import Config, Transformer

VOCABULARY = 12


def small(**sizes: Any) -> Transformer:
    """Two layers of width 4, with tied weights and dropout; ``sizes`` are arguments of its Config."""
    usual = {"vocabulary": VOCABULARY, "d_model": 4, "heads": 2, "layers": 2, "d_ff": 8, "positions": 8}
    return Transformer(Config(**{**usual, "dropout": 0.2, **sizes}))


def sentences(device: str = "cpu") -> tuple[Any, Any]:
    """Tokens of two pairs, the second padded; 2 begins a target and 3 ends each side."""
    source = minigrad.tensor([[5, 6, 7, 3], [8, 5, 3, 0]], device=device)
    return source, minigrad.tensor([[2, 9, 10, 11, 3], [2, 9, 3, 0, 0]], device=device)
