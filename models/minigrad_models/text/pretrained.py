"""Tokenizers of pretrained models, read from their published files by the tokenizers library, and WordPiece, which BERT
uses for subwords (Wu et al. 2016, arXiv 1609.08144, section 4.1)."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from minigrad.serialization.source import replaced

from ..schema import check, content
from .subwords import byte_level, calmly, check_vocabulary, load_library
from .tokenizer import several

TOKENIZER, VOCABULARY, MERGES, WORDS = "tokenizer.json", "vocab.json", "merges.txt", "vocab.txt"
SETTINGS = "tokenizer_config.json"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CONTINUED = "##"  # begins a piece that is not the first in its word
_MOST_BYTES = 1 << 24  # of tokenizer_config.json


def read_tokenizer(folder: str | os.PathLike[str]) -> Any:
    """The ``tokenizers.Tokenizer`` in a folder, without truncation and padding, or None if it has none. It is read from
    tokenizer.json, from vocab.json and merges.txt (GPT-2's byte-pair encoding over bytes), or from vocab.txt (BERT's
    WordPiece). The last two use tokenizer_config.json; without it, WordPiece lower-cases text. Raises ValueError if a
    file is damaged, ImportError if the tokenizers library is missing, and OSError if a file is unreadable."""
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
            if not (path / MERGES).is_file():
                raise ValueError(f"it has {VOCABULARY}, but no {MERGES}")
            model = calmly(library.models.BPE.from_file, str(path / VOCABULARY), str(path / MERGES))
            tokenizer = byte_level(model, add_prefix_space=bool(_settings(path).get("add_prefix_space")))
            tokenizer.post_processor = library.processors.ByteLevel(trim_offsets=False)
            if tokenizer.token_to_id("<|endoftext|>") is not None:
                tokenizer.add_special_tokens(["<|endoftext|>"])
            return tokenizer
        settings = _settings(path)
        return word_pieces(
            library.models.WordPiece.read_file(str(path / WORDS)),
            lowercase=settings.get("do_lower_case") is not False,
            strip_accents=settings.get("strip_accents"),
            split_chinese=settings.get("tokenize_chinese_chars") is not False,
        )
    except OSError:
        raise
    except Exception as error:  # the library raises plain Exceptions
        raise ValueError(f"the tokenizer in {path} is damaged: {str(error)[:200]}") from None


def write_tokenizer(tokenizer: Any, folder: str | os.PathLike[str]) -> None:
    """Write tokenizer.json atomically. Raises OSError if it cannot be written."""
    with replaced(Path(folder) / TOKENIZER) as temporary:
        Path(temporary).write_text(tokenizer.to_str(pretty=True), encoding="utf-8")


def _settings(path: Path) -> dict[str, Any]:
    """The entries of tokenizer_config.json. Raises ValueError if they are invalid."""
    if not (path / SETTINGS).is_file():
        return {}
    settings: dict[str, Any] = json.loads(content(path / SETTINGS, _MOST_BYTES).decode("utf-8-sig"))
    check(settings, dict[str, Any], SETTINGS)
    for name in ("add_prefix_space", "do_lower_case", "strip_accents", "tokenize_chinese_chars"):
        check(settings.get(name), bool | None, f"{name} of {SETTINGS}")
    return settings


def word_pieces(
    vocabulary: Mapping[str, int],
    *,
    lowercase: bool = True,
    strip_accents: bool | None = None,
    split_chinese: bool = True,
) -> Any:
    """The ``tokenizers.Tokenizer`` for a vocabulary (ids by piece). It adds BERT's special tokens to a text, [CLS] text
    [SEP], or to a pair, [CLS] text [SEP] text [SEP], with types 0 and 1 (Devlin et al. 2019, figure 2).
    ``strip_accents`` defaults to ``lowercase``; with ``split_chinese``, each Chinese character is a word. Raises
    ValueError if the vocabulary lacks [CLS] or [SEP], and ImportError if the tokenizers library is missing."""
    library = load_library()
    tokenizer = library.Tokenizer(library.models.WordPiece(dict(vocabulary), unk_token="[UNK]"))
    tokenizer.normalizer = library.normalizers.BertNormalizer(
        lowercase=lowercase, strip_accents=strip_accents, handle_chinese_chars=split_chinese
    )
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = library.decoders.WordPiece()
    tokenizer.add_special_tokens([token for token in SPECIAL if token in vocabulary])
    if not {"[CLS]", "[SEP]"} <= vocabulary.keys():
        raise ValueError("the vocabulary lacks [CLS] or [SEP]")
    tokenizer.post_processor = library.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def train_word_pieces(texts: Iterable[str], vocabulary: int) -> Any:
    """Learn word pieces from lower-cased texts. The same texts yield the same pieces with the same ids. Texts are read
    once, and stored as words with their counts. ``vocabulary`` is the number of ids, including the five special ids;
    small texts yield fewer ids. Pairs that occur only once are not merged. Raises ValueError if there is no text or the
    vocabulary is too large or smaller than the alphabet, and ImportError if the tokenizers library is missing."""
    check_vocabulary(vocabulary)
    library = load_library()
    blank = word_pieces({token: i for i, token in enumerate(SPECIAL)})
    counts: dict[str, int] = {}
    for text in several(texts):
        for word, _ in blank.pre_tokenizer.pre_tokenize_str(blank.normalizer.normalize_str(text)):
            counts[word] = counts.get(word, 0) + 1
    if not counts:
        raise ValueError("cannot learn word pieces: all texts are empty")
    # The library would number the characters within words in the random order of a hash table, so list them first.
    first = sorted({word[0] for word in counts})
    within = sorted({CONTINUED + character for word in counts for character in word[1:]})
    fixed = [*SPECIAL, *within]
    if len(fixed) + len(first) > vocabulary:
        letters = f"the {len(fixed) + len(first) - len(SPECIAL):,} characters of the texts"
        raise ValueError(f"a vocabulary of {vocabulary:,} is too small for {len(SPECIAL)} special tokens and {letters}")
    learner = library.Tokenizer(library.models.WordPiece(unk_token="[UNK]"))
    learner.pre_tokenizer = library.pre_tokenizers.WhitespaceSplit()
    trainer = library.trainers.WordPieceTrainer(
        vocab_size=vocabulary,
        special_tokens=fixed,
        min_frequency=2,
        show_progress=False,
        continuing_subword_prefix=CONTINUED,
        limit_alphabet=len(first) + len(within),
    )
    words = (word for word, count in sorted(counts.items()) for _ in range(count))
    learner.train_from_iterator(words, trainer, length=sum(counts.values()))
    learned: dict[str, int] = learner.get_vocab(with_added_tokens=False) or learner.get_vocab()
    if len(learned) < vocabulary:
        warnings.warn(f"the texts give only {len(learned):,} word pieces, not {vocabulary:,}", stacklevel=2)
    return word_pieces(learned)
