"""Tokenizers of pretrained models, read by the tokenizers library from the files that others publish."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from minigrad.serialization.source import replaced

from ..schema import check, content
from .subwords import byte_level, calmly, load_library
from .word_pieces import word_pieces

TOKENIZER, VOCABULARY, MERGES, WORDS = "tokenizer.json", "vocab.json", "merges.txt", "vocab.txt"
SETTINGS = "tokenizer_config.json"
_MOST_BYTES = 1 << 24  # of tokenizer_config.json


def read_tokenizer(folder: str | os.PathLike[str]) -> Any:
    """The ``tokenizers.Tokenizer`` of a folder, without truncation and padding; None if it has no such files. It is
    tokenizer.json; or vocab.json and merges.txt, byte-pair encoding over bytes (GPT-2); or vocab.txt, WordPiece (BERT).
    The latter two follow tokenizer_config.json; without it texts become lower-case for WordPiece. Raises ValueError: a
    file is damaged; ImportError: no tokenizers library; OSError: a file cannot be read."""
    path = Path(folder)
    if not any((path / name).is_file() for name in (TOKENIZER, VOCABULARY, WORDS)):
        return None
    library = load_library()
    try:
        if (path / TOKENIZER).is_file():
            tokenizer = calmly(library.Tokenizer.from_file, str(path / TOKENIZER))
            tokenizer.no_truncation()
            tokenizer.no_padding()
            return tokenizer
        if (path / VOCABULARY).is_file():
            return _bytes(library, path, _settings(path))
        settings = _settings(path)
        return word_pieces(
            library.models.WordPiece.read_file(str(path / WORDS)),
            lowercase=settings.get("do_lower_case") is not False,
            strip_accents=settings.get("strip_accents"),
            split_chinese=settings.get("tokenize_chinese_chars") is not False,
        )
    except OSError:
        raise
    except Exception as error:  # the library raises nothing more special
        raise ValueError(f"the tokenizer of {path} is damaged: {str(error)[:200]}") from None


def write_tokenizer(tokenizer: Any, folder: str | os.PathLike[str]) -> None:
    """Write tokenizer.json, as a whole. Raises OSError."""
    with replaced(Path(folder) / TOKENIZER) as temporary:
        Path(temporary).write_text(tokenizer.to_str(pretty=True), encoding="utf-8")


def _settings(path: Path) -> dict[str, Any]:
    """The entries of tokenizer_config.json. Raises ValueError: it is none."""
    if not (path / SETTINGS).is_file():
        return {}
    settings: dict[str, Any] = json.loads(content(path / SETTINGS, _MOST_BYTES).decode("utf-8-sig"))
    check(settings, dict[str, Any], SETTINGS)
    for name in ("add_prefix_space", "do_lower_case", "strip_accents", "tokenize_chinese_chars"):
        check(settings.get(name), bool | None, f"{name} of {SETTINGS}")
    return settings


def _bytes(library: Any, path: Path, settings: dict[str, Any]) -> Any:
    """Byte-pair encoding over bytes."""
    if not (path / MERGES).is_file():
        raise ValueError(f"{VOCABULARY} without {MERGES}")
    model = calmly(library.models.BPE.from_file, str(path / VOCABULARY), str(path / MERGES))
    tokenizer = byte_level(model, add_prefix_space=bool(settings.get("add_prefix_space")))
    tokenizer.post_processor = library.processors.ByteLevel(trim_offsets=False)
    if tokenizer.token_to_id("<|endoftext|>") is not None:
        tokenizer.add_special_tokens(["<|endoftext|>"])
    return tokenizer
