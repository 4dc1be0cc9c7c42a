"""Compares word vectors with gensim's by speed and analogies, with the same text and settings and with one thread.

``python -m benchmarks.embeddings`` requires gensim. Both programs read the shipped corpus as lists of words.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from examples.embeddings.analogies import relations, score
from examples.embeddings.text import BREAK, Corpus, Language, shipped
from examples.embeddings.train_embeddings import Settings, train
from examples.embeddings.vectors import Vectors

from .machine import describe
from .program import parser, show
from .table import Table


def sentences(corpus: Corpus) -> list[list[str]]:
    """The words of each text."""
    ends = np.flatnonzero(corpus.ids == BREAK)
    return [[corpus.words[i] for i in corpus.ids[a + 1 : b]] for a, b in zip([-1, *ends[:-1]], ends, strict=True)]


def gensims(corpus: Corpus, settings: Settings, rate: float) -> tuple[Vectors, float]:
    """The vectors from gensim, and its speed in words per second. Raises ImportError if it is not installed."""
    from gensim.models import Word2Vec

    texts = sentences(corpus)
    options = {"vector_size": settings.width, "window": settings.window, "sample": settings.subsample}
    options |= {"negative": settings.negatives, "sg": 1, "hs": 0, "workers": 1, "min_count": 1, "seed": settings.seed}
    model = Word2Vec(alpha=rate, **options)
    model.build_vocab(texts)
    start = time.perf_counter()
    model.train(texts, total_examples=len(texts), epochs=settings.epochs)
    seconds = time.perf_counter() - start
    return Vectors(corpus.words, model.wv[list(corpus.words)]), settings.epochs * corpus.size / seconds


def main(argv: list[str] | None = None) -> int:
    """Measure, and print a table. Returns the exit status."""
    p = parser("benchmarks.embeddings", __doc__, epochs=Settings.epochs, rate=0.025)
    p.add_argument("--language", choices=("english", "italian"), default="english", help="language of the corpus")
    options = p.parse_args(argv)
    language: Language = options.language
    corpus, settings = shipped(language), Settings(epochs=options.epochs)
    try:
        theirs = gensims(corpus, settings, options.rate)
    except ImportError:
        print("error: gensim is not installed; run: pip install gensim", file=sys.stderr)
        return 1
    trained = train(corpus, settings)
    print(describe("gensim"))
    questions = relations(language)
    columns = ["vectors", "words a second", *(relation.name.split(":")[0] for relation in questions)]
    table = Table("Vectors of words", columns, ("", ",.0f", *(".0%" for _ in questions)))
    for name, vectors, speed in (("minigrad", trained.vectors, trained.speed), ("gensim", *theirs)):
        scores = [score(vectors, relation) for relation in questions]
        table.add(name, speed, *(one.exact if one else None for one in scores))
    show(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
