"""The systems that have command lines of their own: ``minigrad gpt ...``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

SYSTEMS = {
    "gpt": "train a language model on a text, and write with it",
    "bert": "pre-train BERT, fine-tune it, search by meaning",
    "music": "train a Music Transformer, and write music with it",
}


def system(name: str) -> Any:
    """The command line of a system, imported when it is asked for: ``minigrad --help`` needs no model."""
    return import_module(f"..{name}.{name}_command", __package__)
