"""Real sentences: Multi30k read, cut into subwords and put together again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from minigrad.text import SubwordTokenizer, batches, read_pairs
from minigrad.text.tokenizer import UNKNOWN

DATA = Path(os.environ.get("MINIGRAD_DATA", Path(__file__).parents[3] / "shared" / "data")) / "multi30k"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="no Multi30k: set MINIGRAD_DATA to its parent")


def test_multi30k_in_subwords() -> None:
    pytest.importorskip("tokenizers")
    found = read_pairs([DATA], "lc.norm.tok.en", "lc.norm.tok.de")
    assert {split: len(pairs.source) for split, pairs in found.items()} == {
        "train": 29_000, "validation": 1014, "test": 1000,
    }  # fmt: skip
    raw = read_pairs([DATA], "en", "de")
    assert raw["train"].source[0] == "Two young, White males are outside near many bushes."
    train = found["train"]
    tokenizer = SubwordTokenizer.train([*train.source, *train.target], 10_000)
    assert len(tokenizer) == 10_000
    for text in found["validation"].target:
        ids = tokenizer.encode(text)
        assert UNKNOWN in ids or tokenizer.decode(ids) == " ".join(text.split())
    sides = zip(train.source, train.target, strict=True)
    pairs = [(tokenizer.encode(a), tokenizer.encode(b)) for a, b in sides]
    found_batches = list(batches(pairs, 4096, seed=0))
    padded = sum(len(b) * max(len(pairs[i][1]) for i in b) for b in found_batches)
    assert padded < 1.02 * sum(len(target) for _, target in pairs)
