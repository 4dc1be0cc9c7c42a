"""The lesson: its parts, how long each trains, and what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..lesson.blocks import Lesson, Section
from . import codes, denoising, sentences


class Sizes(NamedTuple):
    """How many updates each network for digits has, and each for sentences."""

    updates: int = 2500
    sentence_updates: int = 1000


DEFAULT = Sizes()

PARTS: dict[str, Callable[[Sizes, int], list[Section]]] = {
    "codes": lambda sizes, seed: codes.sections(codes.trained(sizes.updates, seed)),
    "denoising": lambda sizes, seed: denoising.sections(denoising.trained(sizes.updates, seed)),
    "sentences": lambda sizes, seed: sentences.sections(sentences.trained(sizes.sentence_updates, seed)),
}


def lesson(parts: Sequence[str] = tuple(PARTS), sizes: Sizes = DEFAULT, seed: int = 0) -> Lesson:
    """Train the networks of some parts, and tell of them. Raises KeyError: there is no such part. KeyboardInterrupt:
    Ctrl-C. RuntimeError: a loss is not finite."""
    about = (
        "An autoencoder learns to give back what it reads, through a code that is narrower, or from a copy that is "
        "damaged. No labels are needed. What it learns on the way is a code that says what matters; and where the "
        "code is too little, one sees it."
    )
    return Lesson(
        "autoencoder",
        "Autoencoders: through a narrow code and back",
        about,
        [section for part in dict.fromkeys(parts) for section in PARTS[part](sizes, seed)],
    )
