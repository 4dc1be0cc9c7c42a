"""Models with equal numbers of weights, and the number of sequential steps in each."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from minigrad_models.programs import models
from minigrad_models.translation.architectures import ARCHITECTURES, configuration
from minigrad_models.translation.translation_settings import Settings

WIDTHS = range(8, 2049, 2)  # candidates


@dataclass(frozen=True)
class Kind:
    """An architecture of the comparison."""

    title: str  # for readers
    width: str  # the setting that determines its size
    steps: str  # sequential steps to encode S tokens with L layers
    path: str  # steps on a signal path from the first token to the last


_RECURRENT = ("L · S", "S")
KINDS = {
    "rnn": Kind("RNN", "hidden", *_RECURRENT),
    "rnn-attention": Kind("RNN with attention", "hidden", *_RECURRENT),
    "lstm": Kind("LSTM", "hidden", *_RECURRENT),
    "lstm-attention": Kind("LSTM with attention", "hidden", *_RECURRENT),
    "gru": Kind("GRU", "hidden", *_RECURRENT),
    "gru-attention": Kind("GRU with attention", "hidden", *_RECURRENT),
    "convolution": Kind("convolutions with attention", "hidden", "L", "S / (K − 1)"),
    "transformer": Kind("transformer", "d_ff", "L", "1"),
}


def sized(name: str, start: Settings, weights: int, vocabulary: int) -> dict[str, Any]:
    """The settings for an architecture with about ``weights`` weights. Raises ValueError if none come within 3 %."""

    def size(width: int) -> int:
        settings = start.changed({"model": name, KINDS[name].width: width})
        return models.size(ARCHITECTURES[name].model, configuration(settings.model, vocabulary))

    place = bisect_left(WIDTHS, weights, key=size)
    width = min(WIDTHS[max(0, place - 1) : place + 1], key=lambda width: abs(size(width) - weights))
    if abs(size(width) - weights) > 0.03 * weights:
        raise ValueError(f"{KINDS[name].title} cannot have {weights:,} weights: the nearest size is {size(width):,}")
    return {"model": name, KINDS[name].width: width}
