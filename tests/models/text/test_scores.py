"""Scores of translations: BLEU by its formula, chrF by hand, and Multi30k's tokens."""

import gzip
import importlib
import math
import os
import random
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from minigrad_models.text import scores
from minigrad_models.text.scores import (
    bleu,
    chrf,
    moses_bleu,
    moses_tokens,
    report,
    samples,
    sentence_chrf,
    tokenizer_for,
)

DATA = Path(os.environ["MINIGRAD_DATA"]) / "multi30k"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no Multi30k: set MINIGRAD_DATA to its parent")

pytest.importorskip("sacrebleu")


def text(sentences: int, seed: int) -> tuple[list[str], list[str]]:
    """References of random words, and translations with some words changed or dropped."""
    draw = random.Random(seed)
    words = [chr(97 + i) * (1 + i % 3) for i in range(26)]
    references = [[draw.choice(words) for _ in range(draw.randint(4, 15))] for _ in range(sentences)]
    result = [[w if draw.random() < 0.8 else draw.choice(words) for w in r if draw.random() < 0.95] for r in references]
    return [" ".join(f) for f in result], [" ".join(r) for r in references]


def test_bleu_matches_its_formula() -> None:
    """7 of 8 words, 5 of 6 bigrams, 3 of 4 trigrams and 2 of 2 4-grams are correct; the reference is a word longer."""
    score = bleu(["a b c d e", "f g x"], ["a b c d e", "f g h i"], tokenize="none")
    parts = [7 / 8, 5 / 6, 3 / 4, 2 / 2]
    assert score.length_ratio == pytest.approx(8 / 9)
    assert score.brevity_penalty == pytest.approx(math.exp(1 - 9 / 8))
    assert score.value == pytest.approx(100 * math.exp(1 - 9 / 8) * math.prod(parts) ** 0.25)
    assert score.text.startswith(f"BLEU = {score.value:.2f}") and "ref_len = 9" in score.text


def test_the_signature_says_how_it_was_measured() -> None:
    sides = (["Ein Haus steht am See."], ["ein haus steht am See."])
    assert bleu(*sides).value < bleu(*sides, lowercase=True).value == pytest.approx(100)
    assert "case:mixed" in bleu(*sides).signature and "tok:13a" in bleu(*sides).signature
    lower = bleu(*sides, tokenize="char", lowercase=True)
    assert "case:lc" in lower.signature and "tok:char" in lower.signature and "version:" in lower.signature
    assert str(lower) == f"{lower.text}\n{lower.signature}"


def test_chrf_by_hand_and_empty_sentences() -> None:
    """In "abc" and "abd", 2 of 3 characters, 1 of 2 bigrams and no trigram agree: (2/3 + 1/2 + 0) / 3."""
    assert chrf(["abc"], ["abd"]).value == pytest.approx(100 * (2 / 3 + 1 / 2) / 3)
    assert sentence_chrf(["abc", "x", ""], ["abd", "x", "x"]) == pytest.approx([100 * 7 / 18, 100, 0])
    assert bleu(["", ""], ["a b c", "d"]).value == chrf(["", ""], ["", "d"]).value == 0
    assert bleu(["a b c d", ""], ["a b c d", "e f g h"]).brevity_penalty == pytest.approx(math.exp(-1))


def test_the_interval_shrinks_with_the_root_of_the_sentences() -> None:
    result, references = text(30, 0)
    assert bleu(result, references).interval is None
    once = bleu(result, references, bootstrap=300)
    again = bleu(result, references, bootstrap=300)
    many = bleu(9 * result, 9 * references, bootstrap=300)
    assert once == again and once.interval and many.interval
    assert "bs:300" in once.signature and once.value == pytest.approx(bleu(result, references).value)
    assert 2.5 < once.interval / many.interval < 3.6


def test_a_single_sentence_is_one_sentence() -> None:
    one, other = "the cat sat on the mat", "the cat sat on a mat"
    for score in (bleu, chrf, sentence_chrf):
        assert score(one, other) == score([one], [other])
    result = report(one, other, other)
    assert (result.sentences, result.exact) == (1, 0) and result == report([one], [other], [other])
    assert samples(one, one, other) == samples([one], [one], [other])
    pytest.importorskip("sacremoses")
    assert moses_tokens("The cat's mat.", "en") == moses_tokens(["The cat's mat."], "en")
    assert moses_bleu(one, other, "en") == moses_bleu([one], [other], "en")


def test_invalid_input_of_scores() -> None:
    with pytest.raises(ValueError, match="3 translations, but 2 references"):
        bleu(["a", "b", "c"], ["a", "b"])
    for score in (bleu, chrf, sentence_chrf):
        with pytest.raises(ValueError, match="no translations"):
            score([], [])
    with pytest.raises(ValueError, match="1 translations, but 3 references"):
        bleu("abc", ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"no tokenizer 'moses'.*13a"):
        bleu(["a"], ["a"], tokenize="moses")


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(ImportError, match=r"pip install sacremoses"):
        moses_bleu(["a"], ["a"], "de")
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.raises(ImportError, match="pip install sacrebleu"):
        bleu(["a"], ["a"])


def lines(name: str) -> list[str]:
    with gzip.open(DATA / f"{name}.gz", "rt", encoding="utf-8", newline="\n") as file:
        return [line.removesuffix("\n") for line in file]


@pytest.mark.nightly
@needs_data
@pytest.mark.parametrize(("split", "language"), [("val", "en"), ("val", "de"), ("test_2016_flickr", "fr")])
def test_moses_tokens_match_the_data_set(split: str, language: str) -> None:
    pytest.importorskip("sacremoses")
    assert moses_tokens(lines(f"{split}.{language}"), language) == lines(f"{split}.lc.norm.tok.{language}")


def test_languages_without_spaces_have_their_tokenizer() -> None:
    names = {"zh": "zh zh-CN zh_TW zho_Hans cmn 2016.zh yue_Hant cn Chinese", "ja-mecab": "ja jpn JA jp"}
    names |= {"ko-mecab": "ko kor_Hang", "13a": "de target jav za", "none": "tok.zh lc.norm.tok.de"}
    for tokenizer, languages in names.items():
        assert {tokenizer_for(language) for language in languages.split()} == {tokenizer}
    assert tokenizer_for("") == "13a"
    score = bleu(["我今天很高兴。"], ["我今天非常高兴。"], tokenizer_for("zh"))
    assert 20 < score.value < 80 and "tok:zh" in score.signature
    assert bleu(["我今天很高兴。"], ["我今天非常高兴。"]).value == 0


def test_japanese_needs_a_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("sacrebleu.tokenizers.tokenizer_ja_mecab")
    monkeypatch.setattr(module, "MeCab", None)
    with pytest.raises(ImportError, match=r"ja-mecab needs mecab-python3: .*pip install mecab-python3 ipadic"):
        scores.bleu_metric("ja-mecab")


def test_moses_bleu_ignores_case_and_quotation_marks() -> None:
    pytest.importorskip("sacremoses")
    score = moses_bleu(['ein mann sagt : "hallo" .'], ["Ein Mann sagt: „Hallo“."], "de")
    assert score.value == pytest.approx(100)
    assert "|case:lc|" in score.signature and "case:mixed" not in score.signature
    assert score.signature.endswith("|before:norm-lc-moses.de|sacremoses:" + version("sacremoses"))
    assert moses_tokens(["It's  “here”…"], "en") == ["it &apos;s &quot; here ... &quot;"]
    assert moses_tokens(["", " "], "de") == ["", ""]
    with pytest.raises(ValueError, match=r"lc\.norm\.tok\.de"):
        moses_tokens(["a"], "lc.norm.tok.de")
