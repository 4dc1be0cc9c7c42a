"""Settings for a person's own pairs, which follow from how many there are and what they are made of."""

from __future__ import annotations

import warnings
from typing import Any

from ..text import SubwordTokenizer
from . import translation_data as data
from .translation_settings import Settings, preset

RECIPE = "multi30k"  # the settings for as many pairs as that corpus has, and for more
PAIRS = 29_000
FEW = 20_000  # pairs: below, the sizes follow the corpus
LEAST = 400  # updates
OFTEN = 5  # a subword stands so often, or is not one


def suited(values: dict[str, Any]) -> Settings:
    """The settings for the pairs of ``values["data"]``; the other values are given, and hold."""
    start = preset(RECIPE).changed({"split_digits": True, **values})
    train = data.read(start.data)["train"]
    chosen, s = sizes(len(train.source), values), start.data
    if len(train.source) < FEW and s.tokenizer == "subwords":
        # A subword that stands in the corpus a few times only is learned from nothing, and its pieces stand more often
        # (Gowda and May 2020, arXiv 2004.02334).
        options: dict[str, Any] = {"split_digits": s.split_digits, "min_frequency": OFTEN, "lowercase": s.lowercase}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            chosen["vocabulary"] = len(SubwordTokenizer.train([*train.source, *train.target], s.vocabulary, **options))
    return start.changed({**chosen, **values})


def sizes(pairs: int, values: dict[str, Any]) -> dict[str, Any]:
    """The updates, and the model, for a number of pairs. The recipe's 10,000 updates go over 29,000 pairs fifty times.
    Fewer pairs are gone over more often, and by a smaller model: updates grow with the power 0.8 of their number."""
    chosen: dict[str, Any] = {}
    steps = 100 * round(preset(RECIPE).training.steps / 100 * (min(pairs, PAIRS) / PAIRS) ** 0.8)
    steps = values.get("steps", max(LEAST, steps))
    if pairs < FEW:
        chosen |= {"layers": 2 if pairs < 2000 else 3, "schedule": "cosine", "mbr": 0.0, "early_stopping": False}
        chosen["metric"] = "loss"  # BLEU is zero, or nearly, of texts of less than four words
    if steps == 1:
        chosen["schedule"] = "inverse_sqrt"  # the others need an update after those in which the rate rises
    every = max(1, steps // 10)
    warm_up = min(every, 1000)
    return {**chosen, "steps": steps, "warm_up": warm_up, "evaluate_every": every, "snapshot_every": max(1, every // 4)}
