"""The lesson: its parts, and how long each part trains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from minigrad_models.viz.blocks import Lesson, Section

from . import codes, denoising, sentences


class Sizes(NamedTuple):
    """The number of updates for each digit network and each sentence network."""

    updates: int = 2500
    sentence_updates: int = 500


DEFAULT = Sizes()

PARTS: dict[str, Callable[[Sizes, int], list[Section]]] = {
    "codes": lambda sizes, seed: codes.sections(codes.trained(sizes.updates, seed)),
    "denoising": lambda sizes, seed: denoising.sections(denoising.trained(sizes.updates, seed)),
    "sentences": lambda sizes, seed: sentences.sections(sentences.trained(sizes.sentence_updates, seed)),
}


def lesson(parts: Sequence[str] = tuple(PARTS), sizes: Sizes = DEFAULT, seed: int = 0) -> Lesson:
    """Train the networks for some parts, and build their lesson. Raises KeyError for an unknown part, KeyboardInterrupt
    after Ctrl-C, and RuntimeError if a loss is not finite."""
    about = (
        "An autoencoder learns to reconstruct its input, through a code that is narrower, or from a copy that is "
        "damaged. It needs no labels. On the way it learns a code that keeps the essentials; and you see where it "
        "is too small."
    )
    return Lesson(
        "autoencoder",
        "Autoencoders: through a narrow code and back",
        about,
        [section for part in dict.fromkeys(parts) for section in PARTS[part](sizes, seed)],
    )
