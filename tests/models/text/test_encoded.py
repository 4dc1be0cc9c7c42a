"""Encoded pairs: the tokenizers' ids, and pairs that are too long."""

import pickle
import re
from typing import Any

import numpy as np
import pytest

from minigrad.utils.data import DataLoader, Dataset
from minigrad_models.text import EncodedPairs, Pairs, TokenBatches, TokenizerPair, WordTokenizer, pair
from minigrad_models.text.tokenizer import BOS, EOS

SOURCE = [f"{'a ' * (i % 5)}b{i}" for i in range(50)]
TARGET = [f"c {'d ' * (i % 7)}e{i}" for i in range(50)]
PAIRS = Pairs(SOURCE, TARGET)


def tokenizers(extra: int = 0, joint: bool = False) -> TokenizerPair:
    more = [f"x{i}" for i in range(extra)]
    if joint:
        both = WordTokenizer(["a", "c", "d", *(f"{x}{i}" for x in "be" for i in range(50)), *more])
        return TokenizerPair(both, both)
    source = WordTokenizer(["a", *(f"b{i}" for i in range(50))])
    return TokenizerPair(source, WordTokenizer(["c", "d", *(f"e{i}" for i in range(50)), *more]))


def expected(pair: TokenizerPair, i: int) -> tuple[list[int], list[int]]:
    return [*pair.source.encode(SOURCE[i]), EOS], [BOS, *pair.target.encode(TARGET[i]), EOS]


@pytest.mark.parametrize(("chunk", "joint"), [(1, True), (7, False), (4096, True)])
def test_pairs_as_ids(chunk: int, joint: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "CHUNK_PAIRS", chunk)
    sides = tokenizers(joint=joint)
    pairs = EncodedPairs(PAIRS, sides, longest=100)
    assert isinstance(pairs, Dataset)
    assert len(pairs) == 50
    assert [pairs[i] for i in range(50)] == [expected(sides, i) for i in range(50)]
    assert pairs[-1] == pairs[np.int64(49)] == expected(sides, 49)
    assert pairs.lengths.tolist() == [[len(a), len(b)] for a, b in pairs]  # type: ignore[attr-defined]
    assert (pairs.lengths.dtype, pairs.ids.dtype) == (np.dtype("<i4"), np.dtype("<u2"))
    assert pairs.left_out == 0
    for outside in (50, -51):
        with pytest.raises(IndexError, match=f"there is no pair {outside}: the corpus has 50"):
            pairs[outside]
    with pytest.raises(ValueError, match="shorter"):
        EncodedPairs(Pairs(["a", "b1"], ["c"]), sides, longest=9)


def test_pairs_that_are_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "CHUNK_PAIRS", 3)
    sides = tokenizers()
    pairs = EncodedPairs(PAIRS, sides, longest=6)
    short = [i for i in range(50) if max(map(len, expected(sides, i))) <= 6]
    assert 10 < len(short) < 40
    assert pairs.left_out == 50 - len(short)
    assert [pairs[k] for k in range(len(pairs))] == [expected(sides, i) for i in short]
    with pytest.raises(ValueError, match=r"every pair of the corpus \(50\) is longer than 3 tokens"):
        EncodedPairs(PAIRS, sides, longest=3)


def test_large_vocabularies_take_four_bytes() -> None:
    sides = tokenizers(extra=1 << 16, joint=True)
    texts = Pairs(["a x65000 x65535"], ["d"])
    pairs = EncodedPairs(texts, sides, longest=9)
    assert pairs.ids.dtype == np.uint32
    assert pairs[0][0] == [*sides.source.encode("a x65000 x65535"), EOS]
    assert max(pairs[0][0]) > 1 << 16


def test_in_a_data_loader() -> None:
    sides = tokenizers()
    pairs = EncodedPairs(PAIRS, sides, longest=9)
    order = list(TokenBatches(pairs.lengths, 40).epoch(0))
    loader: DataLoader[Any] = DataLoader(pairs, batch_sampler=order, collate_fn=list)
    assert list(loader) == [[pairs[i] for i in batch] for batch in order]
    assert pickle.loads(pickle.dumps(pairs))[7] == pairs[7]


def test_a_progress_bar_if_it_takes_long(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    monkeypatch.setattr(pair, "QUIET_SECONDS", 0)
    monkeypatch.setattr(pair, "CHUNK_PAIRS", 1)
    EncodedPairs(PAIRS, tokenizers(), longest=20)
    output = capsys.readouterr()
    assert re.search(r"encoding: .*/50\.0 .* pairs/s", output.err) and output.out == ""
    EncodedPairs(PAIRS, tokenizers(), longest=20, progress=False)
    assert capsys.readouterr().err == ""
