"""Real sentences: Multi30k read, cut into subwords, put together again, and dealt into batches."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from minigrad.text import EncodedPairs, TokenBatches, TokenizerPair, read_pairs
from minigrad.text.tokenizer import UNKNOWN

DATA = Path(os.environ.get("MINIGRAD_DATA", Path(__file__).parents[3] / "shared" / "data")) / "multi30k"

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not DATA.is_dir(), reason="no Multi30k: set MINIGRAD_DATA to its parent"),
]


def test_sentences_are_read() -> None:
    splits = read_pairs([DATA], "lc.norm.tok.en", "lc.norm.tok.de")
    assert {split: len(pairs.source) for split, pairs in splits.items()} == {
        "train": 29_000,
        "validation": 1014,
        "test": 1000,
    }
    raw = read_pairs([DATA], "en", "de")
    assert raw["train"].source[0] == "Two young, White males are outside near many bushes."


def test_subwords_and_batches() -> None:
    pytest.importorskip("tokenizers")
    splits = read_pairs([DATA], "en", "de")
    train = splits["train"]
    tokenizers = TokenizerPair.train(train.source, train.target, vocabulary=10_000)
    assert len(tokenizers.target) == 10_000
    for text in splits["validation"].target:
        ids = tokenizers.target.encode(text)
        assert UNKNOWN in ids or tokenizers.target.decode(ids) == tokenizers.target.prepare(text)
    encoded = EncodedPairs.build(train, tokenizers, longest=256, progress=False)
    assert len(encoded) == 29_000
    assert encoded[28_999] == tokenizers.encode(train.source[28_999], train.target[28_999])
    lengths = encoded.lengths
    batches = TokenBatches(lengths, 4096)
    for epoch in range(2):
        rows = list(batches.epoch(epoch))
        longest = np.array([lengths[batch].max(axis=0) for batch in rows])
        sizes = np.array([len(batch) for batch in rows])
        assert (longest.max(axis=1) * sizes).max() <= 4096
        padded = (longest * sizes[:, None]).sum(axis=0) / lengths.sum(axis=0)
        # all pairs sorted by target, then source, for the same neighbours in every epoch: 1.146 and 1.005
        assert padded[0] < 1.17
        assert padded[1] < 1.015
