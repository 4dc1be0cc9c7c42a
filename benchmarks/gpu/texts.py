"""The texts of the stages: those in ``MINIGRAD_DATA``, or else the corpus that ships with minigrad."""

from __future__ import annotations

import os
from pathlib import Path

from minigrad_models.text import Pairs
from minigrad_models.translation import translation_data as data
from minigrad_models.translation.translation_settings import preset

from .place import Place

DATA = Path(os.environ.get("MINIGRAD_DATA", "data"))


def plays(place: Place) -> tuple[str, str]:
    """Shakespeare's plays, or the English of the shipped corpus, and which of them it is."""
    file = DATA / "tinyshakespeare" / "input.txt"
    if file.exists() and not place.rehearsal:
        return file.read_text(encoding="utf-8"), "Shakespeare"
    pairs = data.read_shipped(place.choose(None, 200))["train"]
    return "\n".join(pairs.source), "the shipped corpus"


def translations(place: Place, name: str) -> tuple[Pairs, str]:
    """The pairs of a preset, and their name; without Multi30k, those of the shipped corpus."""
    folder = DATA / "multi30k"
    if name == "multi30k" and folder.is_dir() and not place.rehearsal:
        return data.read(preset(name).changed({"data": (str(folder),)}).data)["train"], "Multi30k"
    return data.read_shipped(place.choose(None, 200))["train"], "the shipped corpus"
