"""A model with a memory, on a text in segments: its batches, and the loss of a text that it has not learned from."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg

from ..programs.validation import NONE, Ids, Progress
from ..text import Segments

ROWS = 8  # in which a text is scored side by side: each begins without a memory


def segments(ids: Ids, window: int, batch: int, seed: int = 0, device: str = "cpu") -> Segments:
    """The batches of a training, see ``text.Windows``; the loss function brings them to the device.

    Raises:
        ValueError: the text is too short.
    """
    try:
        return Segments(ids, batch, window, seed)
    except ValueError as error:
        raise ValueError(f"{error}: give a longer text, or a smaller --batch, --window or --context") from None


@mg.no_grad()
def score_segments(
    model: Any,
    ids: Ids,
    window: int,
    stride: int = 0,
    batch: int = ROWS,
    most: int = 0,
    progress: Progress | None = None,
) -> float:
    """The mean cross-entropy of a text's tokens, in nats, read in segments with a memory.

    Args:
        model: any with ``segment_loss``, as ``models.transformer_xl.TransformerXL``.
        ids: (N,), at least two.
        window, stride: a segment has ``stride`` tokens, and the memory the rest of the window, so that a token sees
            ``window`` at most, and attends to ``window - stride`` at least, as soon as there are so many. A stride of
            0: segments of the window's length, and the memory of the training.
        batch: rows of the text side by side, at most ``ROWS``.
        most: tokens to predict, from the first on, if the text has more; 0 for all.
        progress: called with the number of tokens after each segment.
    """
    length, kept = (stride, window - stride) if stride else (window, model.config.memory)
    count = min(len(ids) - 1, most or len(ids))
    rows = min(batch, ROWS, -(-count // length))
    width = -(-count // rows)
    both = np.zeros((2, rows * width), np.int64)
    both[:, :count], both[1, count:] = (ids[:count], ids[1 : count + 1]), NONE
    tokens, targets = both.reshape(2, rows, width)
    device, nats, memory = next(iter(model.parameters())).device, 0.0, None
    for begin in range(0, width, length):
        piece = slice(begin, begin + length)
        counted = int((targets[:, piece] != NONE).sum())
        here = [mg.from_numpy(np.ascontiguousarray(part[:, piece])).to(device) for part in (tokens, targets)]
        loss, memory = model.segment_loss(*here, memory, kept)
        nats += float(loss) * counted
        if progress is not None:
            progress(counted)
    return nats / count
