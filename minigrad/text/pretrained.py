"""Tokenizers of pretrained models, read by the tokenizers library from the files that others publish."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ..serialization.source import replaced
from .subwords import load_library
from .word_pieces import word_pieces

TOKENIZER, VOCABULARY, MERGES, WORDS = "tokenizer.json", "vocab.json", "merges.txt", "vocab.txt"


def read_tokenizer(folder: str | os.PathLike[str]) -> Any:
    """The ``tokenizers.Tokenizer`` of a folder, without truncation and padding; None if it has no such files.

    It is tokenizer.json; or vocab.json and merges.txt, byte-pair encoding over bytes (GPT-2); or vocab.txt, WordPiece
    (BERT; lower-case unless tokenizer_config.json says otherwise).

    Raises:
        ValueError: a file is damaged. ImportError: no tokenizers library. OSError: a file cannot be read.
    """
    path = Path(folder)
    if not any((path / name).is_file() for name in (TOKENIZER, VOCABULARY, WORDS)):
        return None
    library = load_library()
    try:
        if (path / TOKENIZER).is_file():
            tokenizer = library.Tokenizer.from_file(str(path / TOKENIZER))
            tokenizer.no_truncation()
            tokenizer.no_padding()
            return tokenizer
        if (path / VOCABULARY).is_file():
            return _bytes(library, path)
        return _word_pieces(library, path)
    except OSError:
        raise
    except Exception as error:  # the library raises nothing more special
        raise ValueError(f"the tokenizer of {path} is damaged: {str(error)[:200]}") from None


def write_tokenizer(tokenizer: Any, folder: str | os.PathLike[str]) -> None:
    """Write tokenizer.json, as a whole. Raises OSError."""
    with replaced(Path(folder) / TOKENIZER) as temporary:
        Path(temporary).write_text(tokenizer.to_str(pretty=True), encoding="utf-8")


def _bytes(library: Any, path: Path) -> Any:
    """Byte-pair encoding over bytes (Radford et al. 2019, section 2.2)."""
    if not (path / MERGES).is_file():
        raise ValueError(f"{VOCABULARY} without {MERGES}")
    model = library.models.BPE.from_file(str(path / VOCABULARY), str(path / MERGES))
    tokenizer = library.Tokenizer(model)
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = library.decoders.ByteLevel()
    tokenizer.post_processor = library.processors.ByteLevel(trim_offsets=False)
    if tokenizer.token_to_id("<|endoftext|>") is not None:
        tokenizer.add_special_tokens(["<|endoftext|>"])
    return tokenizer


def _word_pieces(library: Any, path: Path) -> Any:
    """WordPiece; see ``word_pieces``."""
    settings_file = path / "tokenizer_config.json"
    settings = json.loads(settings_file.read_text(encoding="utf-8")) if settings_file.is_file() else {}
    vocabulary = library.models.WordPiece.read_file(str(path / WORDS))
    return word_pieces(vocabulary, bool(settings.get("do_lower_case", True)))
