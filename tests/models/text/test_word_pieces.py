"""WordPiece: learning is deterministic, and its files are read as BERT's."""

from pathlib import Path

import pytest

pytest.importorskip("tokenizers", reason="the tokenizers library learns word pieces")

from minigrad_models.text.pretrained import SPECIAL, read_tokenizer, train_word_pieces, word_pieces

TEXTS = ["The lowest river of the low lands", "a lower river flows slowly, slower than the others"] * 3


def test_special_tokens_come_first_and_around_texts() -> None:
    tokenizer = train_word_pieces(TEXTS, 60)
    assert [tokenizer.id_to_token(i) for i in range(5)] == list(SPECIAL)
    pair = tokenizer.encode("The LOW river", "[MASK] low")
    assert pair.tokens[0] == "[CLS]" and pair.tokens[-1] == "[SEP]" and "[MASK]" in pair.tokens
    first = pair.tokens.index("[SEP]") + 1
    assert pair.type_ids == [0] * first + [1] * (len(pair.tokens) - first)
    assert tokenizer.decode(pair.ids) == "the low river low"


def test_the_same_texts_give_the_same_ids() -> None:
    vocabularies = [train_word_pieces(TEXTS, 60).get_vocab() for _ in range(5)]
    assert all(vocabulary == vocabularies[0] for vocabulary in vocabularies)
    assert sorted(vocabularies[0].values()) == list(range(60))
    pieces = [piece for piece, _ in sorted(vocabularies[0].items(), key=lambda item: item[1])]
    assert "##er" in pieces and "low" in pieces and "##low" not in pieces[:20]


def test_saved_files_load_again(tmp_path: Path) -> None:
    """The file is vocab.txt, as for BERT."""
    tokenizer = train_word_pieces(TEXTS, 60)
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    (tmp_path / "vocab.txt").write_text("".join(f"{piece}\n" for piece, _ in pieces), encoding="utf-8")
    assert read_tokenizer(tmp_path).encode("Slower rivers").ids == tokenizer.encode("Slower rivers").ids


def test_special_marks_in_texts_are_text() -> None:
    """ "##s" in a text is three characters, none of which may be treated as special."""
    tokenizer = train_word_pieces([*TEXTS, "a ##s b ##s"], 60)
    assert tokenizer.encode("##s", add_special_tokens=False).tokens == ["#", "#", "s"]


def test_refusals() -> None:
    with pytest.raises(ValueError, match="all texts are empty"):
        train_word_pieces(["", " \n"], 100)
    with pytest.raises(ValueError, match=r"too small for 5 special tokens and the \d+ characters of the texts"):
        train_word_pieces(TEXTS, 20)
    with pytest.warns(UserWarning, match="the texts give .* word pieces, not 5,000"):
        train_word_pieces(TEXTS, 5000)
    with pytest.raises(ValueError, match=r"lacks \[CLS\] or \[SEP\]"):
        word_pieces({"[UNK]": 0, "a": 1})
    for most in (1_000_001, 2**70):  # the library would allocate all of it, or crash the program
        with pytest.raises(ValueError, match=rf"^a vocabulary of {most:,} tokens is too large: at most 1,000,000$"):
            train_word_pieces(TEXTS, most)
