"""A translator without a model: it reverses the order of words, and has random attention."""

from __future__ import annotations

import html
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from minigrad import nn
from minigrad_models.translation.serve.server import Server
from minigrad_models.translation.translation_settings import Settings


class Hypothesis(NamedTuple):
    text: str
    score: float


class Translation(NamedTuple):
    source: str
    text: str
    score: float
    beam: list[Hypothesis]
    notes: list[str]


class Attention(NamedTuple):
    source: list[str]
    target: list[str]
    weights: np.ndarray


class Reversing:
    """ "one two three" becomes "three two one"; tokens are pieces of at most four letters.

    It has never seen the word "zebra", refuses "forbidden" and has a bug at "bug"; "nothing" becomes "".
    """

    layers, heads = 2, 3

    def __init__(
        self, seconds: float = 0.0, beam: int = 5, mbr: float = 0.0, sentences: tuple[str, ...] = (), words: str = ""
    ) -> None:
        self.examples = {"sentences": list(sentences), "words": words.split()}
        self.model = nn.Linear(10, 100)  # 1,100 parameters
        self.settings = Settings().changed({"beam": beam, "mbr": mbr, "source": "norm.tok.en", "target": "it"})
        self.asked: list[str] = []
        self.seconds, self.at_work, self.most_at_work = seconds, 0, 0
        self.busy = threading.Lock()  # while a test holds it, translations wait

    def translate(self, sentences: list[str], beam: int = 5) -> list[Translation]:
        self.asked += sentences
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        with self.busy:
            time.sleep(self.seconds)
        self.at_work -= 1
        return [self._one(sentence, beam) for sentence in sentences]

    def _one(self, sentence: str, beam: int) -> Translation:
        words = sentence.split()
        if "forbidden" in words:
            raise ValueError("the sentence has a forbidden word")
        if "bug" in words:
            raise KeyError("secret")
        text = "" if words == ["nothing"] else " ".join(reversed(words))
        texts = [text, *(f"{text} {i}" for i in range(1, beam))]
        hypotheses = [Hypothesis(t, -0.5 - i if i < 4 else float("-inf")) for i, t in enumerate(texts)]
        notes = ["the model has never seen: zebra"] if "zebra" in words else []
        return Translation(" ".join(words), text, hypotheses[0].score, hypotheses, notes)

    def attention(self, source: str, target: str) -> Attention:
        pieces = lambda text: [word[i : i + 4] for word in text.split() for i in range(0, len(word), 4)]
        names = [[*pieces(text), "⟨end⟩"] for text in (source, target)]
        shape = (self.layers, self.heads, len(names[1]), len(names[0]))
        random = np.random.default_rng(zlib.crc32(f"{source}|{target}".encode())).exponential(size=shape) ** 3
        return Attention(*names, (random / random.sum(-1, keepdims=True)).astype(np.float32))

    def linked(self, translation: Translation) -> Drawn:
        return Drawn(translation)


class Drawn(NamedTuple):
    """A substitute for the page of a translation's attention and graph: its script writes the title."""

    translation: Translation

    def page(self) -> Drawn:
        return self

    def html(self) -> str:
        body = f"<p>{html.escape(self.translation.text)}, {len(self.translation.beam)}</p>"
        return f"<!doctype html><title>waiting</title>{body}<script>document.title = 'drawn ' + self.origin</script>"


@contextmanager
def served(translator: Reversing) -> Iterator[Server]:
    """A running server at a free port."""
    with Server(translator, port=0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
