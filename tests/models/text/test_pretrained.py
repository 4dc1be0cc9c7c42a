"""Tokenizers from published folders produce the same ids as the transformers library for all kinds of texts."""

import importlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from minigrad_models.text.pretrained import read_tokenizer, write_tokenizer
from tests.support.hugging_face import needs_transformers

tokenizers = pytest.importorskip("tokenizers")

TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    "the  dog   jumps    over     many      spaces\n\n\n\tand\ttabs   ",
    "   leading spaces, trailing spaces   ",
    "It's John's; they'll say we've won't, I'd say 'so'",
    "Ärger in der École: naïve Straße, ÅNGSTRÖM",
    "e\u0301cole and a\u0308rger, decomposed",
    "👍🏽 👨‍👩‍👧 ❤️ ok 🇮🇹! 😀😀",
    "漢字仮名交じり文。「引用」、終わり",
    "नमस्ते สวัสดี می‌خواهم",
    "http://www.example.com/a_b?c=d&e=%20#f, 1,000.5 and 3.14159",
    "non\u00a0breaking\u2003em\u200bzero\u00adsoft\r\nline",
    "control\x00\x07 characters \ufffd",
    "[MASK] [CLS] is [SEP] text, <|endoftext|> too",
    "antidisestablishmentarianism" * 8,
    "",
    " ",
]


@pytest.fixture(scope="module")
def bytes_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """vocab.json and merges.txt learned from the texts, as in GPT-2."""
    folder = tmp_path_factory.mktemp("bytes")
    tokenizer = tokenizers.ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(TEXTS[:9] * 3, 420, min_frequency=2, special_tokens=["<|endoftext|>"])
    tokenizer.save_model(str(folder))
    (folder / "config.json").write_text('{"model_type": "gpt2"}')
    return folder


def words_folder(folder: Path, settings: dict[str, Any] | None) -> Path:
    """vocab.txt learned from the texts, as in BERT; and tokenizer_config.json, if there are settings."""
    lowercase = (settings or {}).get("do_lower_case", True)
    tokenizer = tokenizers.BertWordPieceTokenizer(lowercase=lowercase)
    tokenizer.train_from_iterator(TEXTS * 3, 400, min_frequency=2, show_progress=False)
    tokenizer.save_model(str(folder))
    (folder / "config.json").write_text('{"model_type": "bert"}')
    if settings is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def same_ids(folder: Path, kind: str) -> None:
    """Compare our ids with transformers' on every text."""
    ours = read_tokenizer(folder)
    theirs = getattr(importlib.import_module("transformers"), kind).from_pretrained(folder)
    assert ours.get_vocab_size() == len(theirs)
    for text in TEXTS:
        assert ours.encode(text).ids == theirs(text)["input_ids"], text
        plain = theirs(text, add_special_tokens=False)["input_ids"]
        assert ours.encode(text, add_special_tokens=False).ids == plain, text
        decoded = theirs.decode(plain, clean_up_tokenization_spaces=False)
        assert ours.decode(plain, skip_special_tokens=False) == decoded, text
    pair = theirs(TEXTS[0], TEXTS[1])
    together = ours.encode(TEXTS[0], TEXTS[1])
    assert together.ids == pair["input_ids"]
    if "token_type_ids" in pair:
        assert together.type_ids == pair["token_type_ids"]


@pytest.mark.nightly
@needs_transformers
@pytest.mark.parametrize("settings", [None, {"add_prefix_space": True}], ids=str)
def test_bytes(settings: dict[str, Any] | None, bytes_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(bytes_folder, tmp_path, dirs_exist_ok=True)
    if settings is not None:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    same_ids(tmp_path, "GPT2Tokenizer")
    importlib.import_module("transformers").GPT2Tokenizer.from_pretrained(tmp_path).save_pretrained(tmp_path / "saved")
    assert (tmp_path / "saved" / "tokenizer.json").is_file()
    same_ids(tmp_path / "saved", "GPT2Tokenizer")


SETTINGS = [None, {"do_lower_case": False, "strip_accents": True}]
SETTINGS.append({"do_lower_case": True, "strip_accents": False, "tokenize_chinese_chars": False})


@needs_transformers
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_word_pieces(settings: dict[str, Any] | None, tmp_path: Path) -> None:
    folder = words_folder(tmp_path, settings)
    same_ids(folder, "BertTokenizer")
    importlib.import_module("transformers").BertTokenizer.from_pretrained(folder).save_pretrained(tmp_path / "saved")
    assert (tmp_path / "saved" / "tokenizer.json").is_file()
    same_ids(tmp_path / "saved", "BertTokenizer")


@needs_transformers
def test_transformers_reads_our_files(bytes_folder: Path, tmp_path: Path) -> None:
    write_tokenizer(read_tokenizer(bytes_folder), tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    same_ids(tmp_path, "GPT2Tokenizer")
    theirs = importlib.import_module("transformers").AutoTokenizer.from_pretrained(tmp_path)
    assert theirs(TEXTS[0])["input_ids"] == read_tokenizer(bytes_folder).encode(TEXTS[0]).ids


def test_texts_are_not_truncated(tmp_path: Path) -> None:
    """Published files may truncate texts to 128 tokens, or pad them; here that is the model's task."""
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1}, "a"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    words.enable_truncation(4)
    words.enable_padding(length=6)
    words.save(str(tmp_path / "tokenizer.json"))
    tokenizer = read_tokenizer(tmp_path)
    assert tokenizer.encode("b " * 10).ids == [1] * 10 and tokenizer.encode("b").ids == [1]


def test_a_folder_without_tokenizer(tmp_path: Path) -> None:
    assert read_tokenizer(tmp_path) is None
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")  # not enough for a tokenizer
    assert read_tokenizer(tmp_path) is None


DAMAGED: list[tuple[dict[str, bytes], str]] = [
    ({"tokenizer.json": b"{"}, "EOF while parsing"),
    ({"tokenizer.json": b"\xff"}, "is damaged"),
    ({"tokenizer.json": b"{}"}, "is damaged"),
    ({"vocab.json": b"{}"}, "vocab.json, but no merges.txt"),
    ({"vocab.json": b"[", "merges.txt": b""}, "is damaged"),
    ({"vocab.json": b'{"a": 0, "b": 1}', "merges.txt": b"a c\n"}, "is damaged"),
    ({"vocab.txt": b"[UNK]\na\n"}, "vocabulary lacks [CLS] or [SEP]"),
    ({"vocab.txt": b"\xff"}, "is damaged"),
    ({"vocab.txt": b"[UNK]\n[CLS]\n[SEP]\n", "tokenizer_config.json": b"{"}, "is damaged"),
    ({"vocab.txt": b"[UNK]\n[CLS]\n[SEP]\n", "tokenizer_config.json": b"[]"}, "tokenizer_config.json is a list"),
    ({"vocab.txt": b"[UNK]\n", "tokenizer_config.json": b'{"do_lower_case": "no"}'}, "do_lower_case of tok"),
]


def test_damaged_files(tmp_path: Path) -> None:
    for number, (files, message) in enumerate(DAMAGED):
        (folder := tmp_path / str(number)).mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        with pytest.raises(ValueError) as raised:
            read_tokenizer(folder)
        text = str(raised.value)
        assert text.startswith(f"the tokenizer in {folder} is damaged: ") and message in text and len(text) < 400


def test_without_the_library(monkeypatch: pytest.MonkeyPatch, bytes_folder: Path) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ImportError, match="pip install"):
        read_tokenizer(bytes_folder)
