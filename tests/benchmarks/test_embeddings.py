"""The measurement beside gensim: what both are given, and a small run where gensim is installed."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from benchmarks import embeddings
from examples.embeddings.text import shipped


def test_both_read_the_same_words() -> None:
    corpus = shipped("english", 200)
    texts = embeddings.sentences(corpus)
    assert len(texts) == 200 and sum(map(len, texts)) == corpus.size
    assert [corpus.words[i] for i in corpus.ids[: len(texts[0])]] == texts[0]


def test_a_small_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(embeddings, "shipped", lambda language: shipped(language, 2000))
    if importlib.util.find_spec("gensim") is None:
        monkeypatch.setitem(sys.modules, "gensim", None)
        assert embeddings.main(["--epochs", "1"]) == 1
        assert "gensim is not installed" in capsys.readouterr().err
    else:
        assert embeddings.main(["--epochs", "1"]) == 0
        printed = capsys.readouterr().out
        assert "minigrad | " in printed and "gensim | " in printed
