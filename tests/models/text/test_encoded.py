"""Encoded pairs: what the tokenizers give, from memory and from files, and files that are wrong."""

import errno
import pickle
import re
from pathlib import Path
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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "a" / "b"


@pytest.mark.parametrize(("chunk", "joint"), [(1, True), (7, False), (4096, True)])
def test_pairs_as_ids(folder: Path, chunk: int, joint: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "CHUNK_PAIRS", chunk)
    monkeypatch.setattr(pair, "CHUNK_CHARACTERS", 10 * chunk)
    sides = tokenizers(joint=joint)
    pairs = EncodedPairs.build(PAIRS, sides, longest=100, folder=folder)
    assert isinstance(pairs, Dataset)
    assert len(pairs) == 50
    assert [pairs[i] for i in range(50)] == [expected(sides, i) for i in range(50)]
    assert pairs[-1] == pairs[np.int64(49)] == expected(sides, 49)
    assert pairs.lengths.tolist() == [[len(a), len(b)] for a, b in pairs]  # type: ignore[attr-defined]
    assert (pairs.lengths.dtype, pairs.ids.dtype) == (np.dtype("<i4"), np.dtype("<u2"))
    assert pairs.index.tolist() == list(range(50))
    assert pairs.left_out == 0
    for outside in (50, -51):
        with pytest.raises(IndexError, match=f"no pair {outside} of 50"):
            pairs[outside]
    with pytest.raises(ValueError, match="shorter"):
        EncodedPairs.build(Pairs(["a", "b1"], ["c"]), sides, longest=9)


def test_pairs_that_are_too_long(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "CHUNK_PAIRS", 3)
    sides = tokenizers()
    pairs = EncodedPairs.build(PAIRS, sides, longest=6, folder=folder)
    short = [i for i in range(50) if max(map(len, expected(sides, i))) <= 6]
    assert 10 < len(short) < 40
    assert pairs.index.tolist() == short
    assert pairs.left_out == 50 - len(short)
    assert [pairs[k] for k in range(len(pairs))] == [expected(sides, i) for i in short]
    with pytest.raises(ValueError, match=r"every pair of the corpus \(50\) is longer than 3 tokens"):
        EncodedPairs.build(PAIRS, sides, longest=3, folder=folder)
    assert isinstance(pairs.ids, np.memmap) and not pairs.ids.flags.writeable
    assert not list(folder.iterdir()), "the file has no name"


def test_large_vocabularies_take_four_bytes(folder: Path) -> None:
    sides = tokenizers(extra=1 << 16, joint=True)
    texts = Pairs(["a x65000 x65535"], ["d"])
    pairs = EncodedPairs.build(texts, sides, longest=9, folder=folder)
    assert pairs.ids.dtype == np.uint32
    assert pairs[0][0] == [*sides.source.encode("a x65000 x65535"), EOS]
    assert max(pairs[0][0]) > 1 << 16


def test_a_full_disk(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="a limit on the size of files needs Unix")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    pairs = Pairs(SOURCE * 200, TARGET * 200)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(OSError, match=r"token ids cannot be written to .*File too large") as caught:
            EncodedPairs.build(pairs, tokenizers(), longest=9, folder=tmp_path, progress=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno == errno.EFBIG
    assert list(tmp_path.iterdir()) == []


def test_in_a_data_loader(folder: Path) -> None:
    sides = tokenizers()
    pairs = EncodedPairs.build(PAIRS, sides, longest=9, folder=folder)
    order = list(TokenBatches(pairs.lengths, 40).epoch(0))
    loader: DataLoader[Any] = DataLoader(pairs, batch_sampler=order, collate_fn=list)
    assert list(loader) == [[pairs[i] for i in batch] for batch in order]
    assert pickle.loads(pickle.dumps(pairs))[7] == pairs[7]


def test_a_bar_if_it_takes_long(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    monkeypatch.setattr(pair, "QUIET_SECONDS", 0)
    monkeypatch.setattr(pair, "CHUNK_PAIRS", 1)
    EncodedPairs.build(PAIRS, tokenizers(), longest=20)
    shown = capsys.readouterr()
    assert re.search(r"encoding: .*/50\.0 .* pairs/s", shown.err) and shown.out == ""
    EncodedPairs.build(PAIRS, tokenizers(), longest=20, progress=False)
    assert capsys.readouterr().err == ""
