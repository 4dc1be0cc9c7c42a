"""Texts of ids from lists, functions and tokenizers."""

from functools import partial
from typing import Any

import pytest

from minigrad.viz.attention.attention_data import tokenizer_reader
from minigrad_models.viz.texts import reader
from tests.support.cases import raises


def of_library(model: str, decoder: str, special: str, **options: Any) -> Any:
    """A tokenizer of the tokenizers library."""
    library = pytest.importorskip("tokenizers", reason="GPT-2 and BERT are read with it: pip install tokenizers")
    tokenizer = library.Tokenizer(getattr(library.models, model)(**options))
    tokenizer.decoder = getattr(library.decoders, decoder)()
    tokenizer.add_special_tokens([special])
    return tokenizer


def test_lists_functions_dictionaries_tokenizers_and_nothing() -> None:
    class Words:
        def token(self, i: int) -> str:
            return f"word {i}"

    class Characters:
        def decode(self, ids: list[int]) -> str:
            return "".join(map(chr, ids))

    assert [reader(["a", "b"])(i) for i in (0, 1, 2, -1)] == ["a", "b", "2", "-1"]
    assert reader({7: "seven"})(7) == "seven" and reader({7: "seven"})(8) == "8"
    assert reader(lambda i: i + 1)(1) == "2" and reader(None)(5) == "5"
    assert reader(Words())(3) == reader(None, Words())(3) == "word 3" and reader(["a"], Words())(0) == "a"
    assert reader(Characters())(97) == "a"
    for names in ("one text", 7, 1.5):
        assert tokenizer_reader(names) is None
        raises(TypeError, r"texts of ids must be a list .*, a function .* a tokenizer", partial(reader, names))


def test_parts_of_characters_and_pieces_of_words_keep_their_names() -> None:
    characters = {"Ġcat": 0, "Ã": 1, "©": 2, "<|endoftext|>": 3}  # as for GPT-2 and BERT
    pieces = {"[UNK]": 0, "[CLS]": 1, "play": 2, "##ing": 3}
    by_byte = reader(of_library("BPE", "ByteLevel", "<|endoftext|>", vocab=characters, merges=[]))
    by_piece = reader(of_library("WordPiece", "WordPiece", "[CLS]", vocab=pieces, unk_token="[UNK]"))
    assert [by_byte(i) for i in range(4)] == [" cat", "Ã", "©", "<|endoftext|>"]
    assert [by_piece(i) for i in range(4)] == ["[UNK]", "[CLS]", "play", "##ing"]
