"""The command evaluate: how well a trained model predicts a text."""

from __future__ import annotations

import math
from pathlib import Path

from minigrad.utils.bar import bar

from ..programs.validation import check_windows
from . import gpt_run as run
from . import text
from .architectures import ARCHITECTURES
from .text import bits
from .tokens import Bytes


def evaluate(
    path: Path, device: str = "cpu", file: Path | None = None, window: int | None = None, stride: int | None = None
) -> dict[str, float]:
    """The loss per token, perplexity, bits per character, and the numbers of tokens and characters.

    Args:
        path: of the model. file: the text; None is the validation part of the training's.
        window, stride: see ``programs.validation.pieces`` and ``text.score_segments``; by default the windows of the
            training, side by side.

    Raises:
        FileNotFoundError: no model, or no text. ValueError: a window or stride out of range; a text that is too short,
            or has characters that the vocabulary lacks. And as ``run.load``.
    """
    trained = run.load(path, device)
    settings, most = trained.settings, trained.model.context
    if file is None and settings is None:
        raise ValueError(f"{path} says nothing of a text to evaluate with: give --input FILE")
    window = window or (settings.window if settings else most)
    check_windows(window, stride, most)
    if file is not None:
        content = text.read_file(file, "bytes" if isinstance(trained.tokens, Bytes) else "subwords")
    else:
        assert settings is not None
        content = text.read(settings.data).validation
    ids = trained.tokens.encode(content)
    if len(ids) < 2:
        raise ValueError(f"{file or 'the text'} has {len(ids)} tokens: the first is not predicted, so two are needed")
    score = ARCHITECTURES[trained.architecture].score
    with bar(len(ids) - 1, "reading", " tokens") as shown:
        loss = score(trained.model, ids, window, stride or 0, progress=shown.update)
    return {
        "loss": loss,
        "perplexity": math.exp(min(loss, 700.0)),
        "bits_per_character": bits(loss, len(content), len(ids)),
        "tokens": len(ids),
        "characters": len(content),
    }
