"""Text and tokens of a language model: round trips, the windows of batches, the loss on a text."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.nn import functional as F
from minigrad_models.gpt import text, tokens
from minigrad_models.gpt.gpt2 import GPT2, Config
from minigrad_models.gpt.gpt_settings import DataSettings, Settings
from minigrad_models.gpt.text import Windows
from minigrad_models.gpt.tokens import Bytes, Characters, Subwords, Tokens, decode
from minigrad_models.programs.validation import pieces, score_windows
from tests.support.cases import raises


def windows(*, tokens: int = 50, window: int = 6, batch: int = 2, seed: int = 0) -> Windows:
    return Windows(np.arange(tokens, dtype=np.uint16), window, batch, seed)


def test_the_end_of_the_text_is_for_validation(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("".join(chr(ord("a") + i % 26) for i in range(1000)).encode())
    read = text.read(DataSettings(str(path)))
    assert (len(read.train), len(read.validation)) == (900, 100)  # as in nanoGPT
    assert (read.train + read.validation).encode() == path.read_bytes()
    other = text.read(DataSettings(str(path), held_out=0.5))
    assert len(other.train) == 500 and other.digest == read.digest
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    assert text.read(DataSettings(str(path))).digest != read.digest


def test_without_shakespeare_it_uses_the_shipped_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINIGRAD_DATA", raising=False)
    read = text.read(DataSettings())
    assert " data tinyshakespeare)" in read.name and (read.train + read.validation).count("\n") == 14_500
    assert "\nI like cats." not in read.train and all(line[0].isupper() for line in read.train.splitlines())
    (tmp_path / "tinyshakespeare").mkdir()
    (tmp_path / "tinyshakespeare" / "input.txt").write_text("To be, or not to be.\n")
    monkeypatch.setenv("MINIGRAD_DATA", str(tmp_path))
    assert text.read(DataSettings()).name == "input.txt"
    assert text.read(Settings.preset("sentences").data) == read


def test_line_ends_and_bytes_are_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert text.read_file(path, "characters") == "one\r\ntwo\r\n"
    path.write_bytes(b"one\xff\x00")
    assert text.read_file(path, "bytes").encode("utf-8", "surrogateescape") == b"one\xff\x00"


def test_files_that_are_not_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for content, message in (
        (b"", "is empty"),
        (b"abc", "has 3 characters: too few"),
        (b"abc\xff", "is not UTF-8 text .byte 0xff at 3.. .*--tokenizer bytes"),
    ):
        path.write_bytes(content)
        raises(ValueError, message, lambda: text.read(DataSettings(str(path))))
    raises(FileNotFoundError, "there is no file", lambda: text.read(DataSettings(str(tmp_path / "none.txt"))))
    raises(ValueError, "is a folder", lambda: text.read(DataSettings(str(tmp_path))))


def test_targets_are_the_next_tokens() -> None:
    for batch in windows().epoch(0):
        assert batch.tokens.shape == batch.targets.shape == (2, 6) and batch.tokens.dtype == mg.int64
        assert mg.equal(batch.tokens + 1, batch.targets)  # the text counts up


def test_an_epoch_reads_the_text_once() -> None:
    batches = windows(tokens=101, window=10, batch=1)
    starts = []
    for number in range(8):
        read = [int(i) for batch in batches.epoch(number) for i in batch.tokens.flatten().tolist()]
        assert len(set(read)) == len(read) >= 80
        starts.append(min(read))
        whole = [batch.tokens.tolist() for batch in batches.epoch(number)]
        assert [batch.tokens.tolist() for batch in batches.epoch(number, 2)] == whole[2:]
    assert len(set(starts)) > 3, "each epoch cuts the text at another place"


def test_a_text_of_one_window_is_enough() -> None:
    (batch,) = windows(tokens=7, batch=4).epoch(0)
    assert batch.tokens.tolist() == [[0, 1, 2, 3, 4, 5]]
    raises(ValueError, "6 tokens for training, but a window needs 7", lambda: windows(tokens=6))


def test_each_token_is_predicted_once() -> None:
    for size, window, stride in ((50, 8, 8), (50, 8, 3), (9, 8, 8), (5, 8, 8), (2, 8, 1)):
        cuts = pieces(size, window, stride)
        assert [i for _, first, end in cuts for i in range(first, end)] == list(range(size - 1))
        for begin, first, end in cuts:
            assert 0 <= begin <= first < end and end - begin <= window
            assert first - begin >= min(first, window - stride), "the least that each token sees"


def model_of_nine() -> GPT2:
    mg.manual_seed(0)
    return GPT2(Config(9, 8, 8, 2, 1, dropout=0.0, embedding_dropout=0.0, attention_dropout=0.0)).eval()


@pytest.mark.parametrize("stride", [8, 3])
def test_the_loss_is_the_mean_over_all_tokens(stride: int) -> None:
    model, ids = model_of_nine(), np.random.default_rng(0).integers(0, 9, 47)
    losses = []
    for begin, first, end in pieces(47, 8, stride):
        logits = model(mg.from_numpy(ids[begin:end])[None])[0, first - begin :]
        losses.append(F.cross_entropy(logits, mg.from_numpy(ids[first + 1 : end + 1]), reduction="sum").item())
    assert score_windows(model, ids, 8, stride, batch=4) == pytest.approx(sum(losses) / 46, rel=1e-5)


def test_a_part_of_a_long_text_is_enough() -> None:
    model, ids, counts = model_of_nine(), np.random.default_rng(0).integers(0, 9, 801), []
    part = score_windows(model, ids, 8, most=80, progress=counts.append)
    assert sum(counts) == 80 and part == pytest.approx(score_windows(model, ids, 8), rel=0.05)


TEXT = "A rose is a rose is a rose. È così: «rose», ‘roses’ and 🌹!\n\tA rose\r\nis.\n" * 3


def learned(kind: str) -> Tokens:
    if kind == "subwords":
        pytest.importorskip("tokenizers")
    return tokens.learn(kind, TEXT, TEXT, 280)


KINDS = ("characters", "bytes", "subwords")


@pytest.mark.parametrize("kind", KINDS)
def test_text_and_back(kind: str) -> None:
    pytest.importorskip("tokenizers")
    vocabulary = learned(kind)
    ids = vocabulary.encode(TEXT)
    assert decode(vocabulary, ids) == TEXT
    assert len(ids) <= len(TEXT.encode()) and int(ids.max()) < len(vocabulary)
    assert vocabulary.piece(len(vocabulary)) == b"" != vocabulary.piece(len(vocabulary) - 1)  # one past the last id
    there = vocabulary.library()
    assert there.encode(TEXT).ids == ids.tolist() and there.decode(ids.tolist()) == TEXT
    for again in (tokens.from_dict(vocabulary.as_dict()), tokens.from_library(there)):
        assert len(again) == len(vocabulary)
        np.testing.assert_array_equal(again.encode(TEXT), ids)


def test_bytes_need_not_be_text() -> None:
    raw = bytes(range(256))
    assert Bytes().encode(raw.decode("utf-8", "surrogateescape")).tobytes() == raw


def test_characters_outside_the_vocabulary() -> None:
    for unknown, message in (
        ("aé", "never seen 'é': its vocabulary has only the 3 characters"),
        ("\udc80", r"never seen '\\udc80'"),
        ("€" * 99, "'€'"),
        ("0123456789xyz", "'0123456789' and others: "),
    ):
        with pytest.raises(ValueError, match=message):
            Characters("\nab").encode(unknown)


WRONG: list[dict[str, Any]] = [
    {},
    {"kind": "words"},
    {"kind": "characters"},
    {"kind": "characters", "alphabet": "aa"},
    {"kind": "bytes", "size": 3},
    {"kind": "subwords"},
    {"kind": "subwords", "json": "{"},
    {"kind": "subwords", "json": "[" * 100_000},
    {"kind": "subwords", "json": json.dumps({"model": {"type": "WordLevel", "vocab": {}, "unk_token": "a"}})},
]


def test_invalid_descriptions() -> None:
    pytest.importorskip("tokenizers")
    for state in WRONG:
        raises(ValueError, "tokenizer", partial(tokens.from_dict, state))
    sound = json.loads(learned("subwords").library().to_str())
    slow = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    for changed in ({"pre_tokenizer": slow}, {"normalizer": {"type": "NFC"}}, {"decoder": None}):
        with pytest.raises(ValueError, match="not byte-level BPE"):
            tokens.from_dict({"kind": "subwords", "json": json.dumps({**sound, **changed})})


def test_a_vocabulary_beyond_memory() -> None:
    """The library would allocate all of it, or crash the program."""
    raises(ValueError, r"^a vocabulary of 1,000,000,000 tokens is too large", lambda: Subwords.train("a text", 10**9))
