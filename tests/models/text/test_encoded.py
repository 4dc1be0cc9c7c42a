"""Encoded pairs: what the tokenizers give, from memory and from files, and files that are wrong."""

import errno
import os
import pickle
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minigrad.utils.data import DataLoader, Dataset
from minigrad_models.text import EncodedPairs, Pairs, TokenBatches, TokenizerPair, WordTokenizer, encoded
from minigrad_models.text.tokenizer import BOS, EOS

SOURCE = [f"{'a ' * (i % 5)}b{i}" for i in range(50)]
TARGET = [f"c {'d ' * (i % 7)}e{i}" for i in range(50)]
PAIRS = Pairs(SOURCE, TARGET)


class Counting(WordTokenizer):
    """A tokenizer that counts the texts that it encodes."""

    texts = 0

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        texts = list(texts)
        self.texts += len(texts)
        return [self.encode(text) for text in texts]


def tokenizers(extra: int = 0, joint: bool = False) -> TokenizerPair:
    more = [f"x{i}" for i in range(extra)]
    if joint:
        both = Counting(["a", "c", "d", *(f"{x}{i}" for x in "be" for i in range(50)), *more])
        return TokenizerPair(both, both)
    source = Counting(["a", *(f"b{i}" for i in range(50))])
    return TokenizerPair(source, Counting(["c", "d", *(f"e{i}" for i in range(50)), *more]))


def expected(pair: TokenizerPair, i: int) -> tuple[list[int], list[int]]:
    return [*pair.source.encode(SOURCE[i]), EOS], [BOS, *pair.target.encode(TARGET[i]), EOS]


@pytest.fixture(params=["memory", "disk"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "a" / "b" if request.param == "disk" else None


@pytest.mark.parametrize(("chunk", "joint"), [(1, True), (7, False), (4096, True)])
def test_pairs_as_ids(folder: Path | None, chunk: int, joint: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoded, "CHUNK_PAIRS", chunk)
    monkeypatch.setattr(encoded, "CHUNK_CHARACTERS", 10 * chunk)
    pair = tokenizers(joint=joint)
    pairs = EncodedPairs.build(PAIRS, pair, longest=100, folder=folder)
    assert isinstance(pairs, Dataset)
    assert len(pairs) == 50
    assert [pairs[i] for i in range(50)] == [expected(pair, i) for i in range(50)]
    assert pairs[-1] == pairs[np.int64(49)] == expected(pair, 49)
    assert pairs.lengths.tolist() == [[len(a), len(b)] for a, b in pairs]  # type: ignore[attr-defined]
    assert (pairs.lengths.dtype, pairs.ids.dtype) == (np.dtype("<i4"), np.dtype("<u2"))
    assert pairs.index.tolist() == list(range(50))
    assert pairs.left_out == 0
    for outside in (50, -51):
        with pytest.raises(IndexError, match=f"no pair {outside} of 50"):
            pairs[outside]
    with pytest.raises(ValueError, match="shorter"):
        EncodedPairs.build(Pairs(["a", "b1"], ["c"]), pair, longest=9)


def test_pairs_that_are_too_long(folder: Path | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoded, "CHUNK_PAIRS", 3)
    pair = tokenizers()
    pairs = EncodedPairs.build(PAIRS, pair, longest=6, folder=folder)
    short = [i for i in range(50) if max(map(len, expected(pair, i))) <= 6]
    assert 10 < len(short) < 40
    assert pairs.index.tolist() == short
    assert pairs.left_out == 50 - len(short)
    assert [pairs[k] for k in range(len(pairs))] == [expected(pair, i) for i in short]
    with pytest.raises(ValueError, match=r"every pair of the corpus \(50\) is longer than 3 tokens"):
        EncodedPairs.build(PAIRS, pair, longest=3, folder=folder)
    if folder:
        assert sorted(path.name for path in folder.iterdir()) == ["encoded.bin"]


def test_large_vocabularies_take_four_bytes(folder: Path | None) -> None:
    pair = tokenizers(extra=1 << 16, joint=True)
    texts = Pairs(["a x65000 x65535"], ["d"])
    pairs = EncodedPairs.build(texts, pair, longest=9, folder=folder)
    assert pairs.ids.dtype == np.uint32
    assert pairs[0][0] == [*pair.source.encode("a x65000 x65535"), EOS]
    assert max(pairs[0][0]) > 1 << 16


def encodings(folder: Path, pairs: Pairs = PAIRS, pair: TokenizerPair | None = None, longest: int = 9) -> int:
    """How many texts were encoded to build from the folder; what comes out is checked."""
    pair = pair or tokenizers()
    assert isinstance(pair.source, Counting)
    ours = EncodedPairs.build(pairs, pair, longest=longest, folder=folder)
    count = pair.source.texts
    fresh = EncodedPairs.build(pairs, pair, longest=longest)
    assert [ours[i] for i in range(len(ours))] == [fresh[i] for i in range(len(fresh))]
    for name in ("lengths", "index", "left_out"):
        assert np.array_equal(getattr(ours, name), getattr(fresh, name))
    return count


def test_files_are_used_again(tmp_path: Path) -> None:
    assert encodings(tmp_path) == 50
    assert encodings(tmp_path) == 0
    again = EncodedPairs.build(PAIRS, tokenizers(), longest=9, folder=tmp_path)
    assert isinstance(again.ids, np.memmap)
    assert not again.ids.flags.writeable


def test_files_of_another_corpus_are_made_again(tmp_path: Path) -> None:
    swapped = [*SOURCE[:3], SOURCE[4], SOURCE[3], *SOURCE[5:]]
    another = [*SOURCE[:30], "a a", *SOURCE[31:]]
    others = [(another, 0, 9), (swapped, 0, 9), (SOURCE, 1, 9), (SOURCE, 0, 8)]
    for number, (source, extra, longest) in enumerate(others):
        folder = tmp_path / str(number)
        encodings(folder)
        for count in (50, 0):
            assert encodings(folder, Pairs(source, TARGET), tokenizers(extra), longest) == count, number


def test_damaged_files_are_made_again(tmp_path: Path) -> None:
    encodings(tmp_path)
    path = tmp_path / "encoded.bin"
    data = path.read_bytes()
    for half in (2, 10, 20, len(data) // 2):
        spoiled = data[:half] + bytes([data[half] ^ 0x55]) + data[half + 1 :]
        for wrong in (None, b"", data[:half], data[:-3], spoiled, data + b"more"):
            path.unlink() if wrong is None else path.write_bytes(wrong)
            assert (encodings(tmp_path), encodings(tmp_path)) == (50, 0)


def test_a_build_that_is_stopped_leaves_nothing_half_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encodings(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def stopped(*_: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(encoded.zlib, "crc32", stopped)
    with pytest.raises(KeyboardInterrupt):
        EncodedPairs.build(PAIRS, tokenizers(), longest=8, folder=tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    monkeypatch.undo()
    left, of_another = (tmp_path / f".encoded.bin.{n}.tmp" for n in (0, 1))
    for path in (left, of_another):
        path.mkdir()
        (path / "encoded.bin").write_bytes(b"written in part")
    os.utime(left, (0, 0))  # of a process that was killed
    assert encodings(tmp_path, longest=8) == 50
    assert sorted(path.name for path in tmp_path.iterdir()) == [of_another.name, "encoded.bin"]


def test_two_that_build_in_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second begins, and ends, when the first is about to end; what either gets is its own."""
    encode, second, longest = encoded._encode, [], 8

    def interrupted(*args: Any) -> Any:
        result = encode(*args)
        monkeypatch.undo()
        second.append(EncodedPairs.build(PAIRS, tokenizers(), longest=longest, folder=tmp_path))
        return result

    monkeypatch.setattr(encoded, "_encode", interrupted)
    assert encodings(tmp_path, longest=9) == 50
    alone = EncodedPairs.build(PAIRS, tokenizers(), longest=longest)
    assert [second[0][i] for i in range(len(second[0]))] == [alone[i] for i in range(len(alone))]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["encoded.bin"]
    assert encodings(tmp_path, longest=9) == 0


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
    assert encodings(tmp_path) == 50


def test_a_tokenizer_with_functions_of_its_own_needs_memory(tmp_path: Path) -> None:
    """Files are known by the description of the tokenizers, and it has none."""
    letters = WordTokenizer(["a", "b"], split=list)
    pair, pairs = TokenizerPair(letters, letters), Pairs(["ab"], ["ba"])
    assert EncodedPairs.build(pairs, pair, longest=9)[0] == ([4, 5, EOS], [BOS, 5, 4, EOS])
    with pytest.raises(ValueError, match="functions of its own"):
        EncodedPairs.build(pairs, pair, longest=9, folder=tmp_path)


def test_in_a_data_loader(folder: Path | None) -> None:
    pair = tokenizers()
    pairs = EncodedPairs.build(PAIRS, pair, longest=9, folder=folder)
    order = list(TokenBatches(pairs.lengths, 40).epoch(0))
    loader: DataLoader[Any] = DataLoader(pairs, batch_sampler=order, collate_fn=list)
    assert list(loader) == [[pairs[i] for i in batch] for batch in order]
    assert pickle.loads(pickle.dumps(pairs))[7] == pairs[7]


def test_a_bar_if_it_takes_long(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    monkeypatch.setattr(encoded, "QUIET_SECONDS", 0)
    monkeypatch.setattr(encoded, "CHUNK_PAIRS", 1)
    EncodedPairs.build(PAIRS, tokenizers(), longest=20)
    shown = capsys.readouterr()
    assert re.search(r"encoding: .*/50\.0 .* pairs/s", shown.err) and shown.out == ""
    EncodedPairs.build(PAIRS, tokenizers(), longest=20, progress=False)
    assert capsys.readouterr().err == ""
