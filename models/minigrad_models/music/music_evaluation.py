"""How well a model predicts music that it has not learned from.

The measure for chorales is the note-wise negative log-likelihood of the Music Transformer paper (Huang et al. 2018,
table 2), in nats: the mean of -ln p(cell | all cells before it in its piece) over all cells of all pieces of a part. A
cell is what a voice does in a sixteenth note, silence included; a piece is not transposed. The model reads windows that
move by half of themselves: so a cell sees all of its piece before it, or half a window at least. For performances it is
the same mean over events.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minigrad.utils.bar import bar

from ..programs.validation import Ids, Progress, check_windows, score_pieces
from . import music_data as data
from . import music_run as run
from .languages import LANGUAGES
from .music_settings import Settings


def score(
    model: Any,
    pieces: Sequence[Ids],
    settings: Settings,
    window: int = 0,
    stride: int = 0,
    progress: Progress | None = None,
) -> float:
    """The measure; by default with the windows of the training, which move by half of themselves."""
    window = window or settings.window
    batch = max(1, 8_192 // window)
    return score_pieces(model, pieces, window, stride or window // 2, settings.grid, batch, progress)


def some(pieces: list[Ids], most: int) -> list[Ids]:
    """At most so many of them, at equal distances; 0 for all."""
    if not most or len(pieces) <= most:
        return pieces
    return [pieces[i] for i in np.linspace(0, len(pieces) - 1, most).astype(int).tolist()]


def evaluate(
    path: Path,
    device: str = "cpu",
    part: str = "valid",
    files: Sequence[str] = (),
    window: int | None = None,
    stride: int | None = None,
) -> dict[str, Any]:
    """The loss per token in nats, perplexity, and the numbers of tokens and pieces.

    Args:
        path: of the model. files: music; by default the training's. part: of it.
        window, stride: see ``score``.

    Raises:
        FileNotFoundError: no model, or no music. ValueError: there is no such part; a window or stride out of range.
            And as ``run.load``.
    """
    trained = run.load(path, device)
    settings = trained.settings
    window = window or settings.window
    stride = stride or max(settings.grid, window // 2 // settings.grid * settings.grid)
    check_windows(window, stride, trained.model.context, settings.grid)
    if files:
        language = LANGUAGES[settings.data.kind]
        pieces = [language.encode(piece) for _, piece in data.songs([Path(file) for file in files], language)]
    else:
        pieces = data.read(settings.data).part(part)
    count = sum(len(ids) - 1 for ids in pieces)
    with bar(count, "reading", " tokens") as shown:
        loss = score(trained.model, pieces, settings, window, stride, shown.update)
    return {"loss": loss, "perplexity": math.exp(min(loss, 700.0)), "tokens": count, "pieces": len(pieces)}
