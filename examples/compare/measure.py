"""Evaluates the trained models: exact translations by length, and the time per token."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minigrad_models.text import Pairs
from minigrad_models.translation.translator import Translator

GROUPS = 4  # of sentences by length, nearly equal in size
TIMED = 50  # sentences, one at a time
FILE = "compared.json"


@dataclass(frozen=True)
class Result:
    """The results of a trained model."""

    parameters: int  # all of them
    updates: int  # of its training run
    minutes: float
    exact: float  # the share of test sentences that are translated exactly
    by_length: tuple[float, ...]  # the same share for each group of sentences, shortest first
    seconds: float  # per token, when sentences are translated greedily, one at a time


def lengths(sentences: Sequence[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The number of words in each sentence."""
    return np.array([len(sentence.split()) for sentence in sentences])


def groups(sentences: Sequence[str]) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    """The indices of the sentences in groups by length, shortest first. Equal lengths stay together."""
    words = lengths(sentences)
    edges = np.quantile(words, np.linspace(0, 1, GROUPS + 1)[1:-1])
    numbers = np.searchsorted(edges, words)
    return [np.flatnonzero(numbers == i) for i in range(GROUPS)]


def result(folder: Path, test: Pairs) -> Result:
    """The result of a run, measured once and then read from the run folder."""
    file = folder / FILE
    if not file.exists():
        file.write_text(json.dumps(_measured(folder, test)), encoding="utf-8")
    stored = json.loads(file.read_text(encoding="utf-8"))
    return Result(**{**stored, "by_length": tuple(stored["by_length"])})


def _measured(folder: Path, test: Pairs) -> dict[str, Any]:
    translations = json.loads((folder / "test.json").read_text(encoding="utf-8"))["translations"]
    right = np.array([a == b for a, b in zip(translations, test.target, strict=True)])
    *_, last = (json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines())
    translator = Translator.load(folder)
    return {
        "parameters": sum(p.numel() for p in translator.model.parameters()),
        "updates": last["step"],
        "minutes": last["seconds"] / 60,
        "exact": float(right.mean()),
        "by_length": [float(right[places].mean()) for places in groups(test.source)],
        "seconds": _seconds(translator, list(test.source[:TIMED])),
    }


def _seconds(translator: Translator, sentences: list[str]) -> float:
    """The seconds per written token when sentences are translated one at a time."""
    translator.translate(sentences[:3], beam=1, batch=1)  # warms up imports and buffers
    start = time.perf_counter()
    translations = translator.translate(sentences, beam=1, batch=1)
    seconds = time.perf_counter() - start
    return seconds / sum(len(translator.tokenizers.target.encode(t.text)) + 1 for t in translations)
