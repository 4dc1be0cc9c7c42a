"""The command line: train vectors on the shipped corpus or a text file, and explore them."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from itertools import chain
from pathlib import Path

from minigrad.viz.numbers import similar
from minigrad_models.programs.options import whole
from minigrad_models.viz.blocks import Lesson

from ..lesson import program
from .lesson import learning, lesson, save_map
from .text import from_file, shipped
from .train_embeddings import Settings, train
from .vectors import Vectors

ABOUT = "Word vectors learned from a text, by skip-gram with negative sampling: nearest words, analogies, a map."
HELP = {  # for the fields of Settings
    "width": "dimension of a vector",
    "window": "at most so many words on each side; each word draws its window",
    "negatives": "noise words per pair",
    "subsample": "threshold t for dropping frequent words; inf keeps all",
    "epochs": "passes over the text",
    "rate": "Adam's initial learning rate; it decays to zero",
    "piece": "words of the text per batch",
    "shared": "consecutive pairs that share noise words; 1 as in the paper, but slower",
}


def parser() -> argparse.ArgumentParser:
    """The command-line options."""
    p = program.parser("examples.embeddings", ABOUT)
    source = p.add_mutually_exclusive_group()
    source.add_argument("--language", choices=("english", "italian"), default="english", help="shipped corpus")
    source.add_argument("--text", type=Path, metavar="FILE", help="a UTF-8 text instead")
    source.add_argument("--load", type=Path, metavar="FILE", help="load an earlier run's vectors instead of training")
    rarer, most = "drop rarer words of --text (default: 5)", "largest vocabulary of --text (default: 50000)"
    p.add_argument("--min-count", type=whole(), default=5, metavar="N", help=rarer)
    p.add_argument("--vocabulary", type=whole(), default=50_000, metavar="N", help=most)
    p.add_argument("--nearest", nargs="+", default=[], metavar="WORD", help="show the words nearest to these")
    about = "A is to B as C to what?"
    p.add_argument("--analogy", nargs=3, action="append", default=[], metavar=("A", "B", "C"), help=about)
    p.add_argument("--vectors", type=Path, metavar="FILE", help="save them as a tensor (.safetensors, .pt)")
    p.add_argument("--run", type=Path, metavar="DIR", help="folder for checkpoints: resumes an interrupted run")
    for field in fields(Settings):
        if field.name in HELP:
            kind = float if field.default in (1e-3, 0.01) else int
            text = f"{HELP[field.name]} (default: {field.default})"
            p.add_argument(f"--{field.name}", type=kind, default=field.default, metavar="N", help=text)
    return p


def main(argv: list[str] | None = None) -> int:
    """Run the command line. Returns the exit status, which is 1 if any claim of the lesson does not hold."""
    p = parser()
    options = p.parse_args(argv)
    try:
        settings = Settings(**{f.name: getattr(options, f.name) for f in fields(Settings)})
    except ValueError as error:
        p.error(str(error))
    if options.vectors is not None and not options.vectors.absolute().parent.is_dir():
        p.error(f"--vectors: folder not found: {options.vectors.parent}")
    return program.main(p, lambda options: _make(options, settings), argv)


def _make(options: program.Options, settings: Settings) -> Lesson:
    """Train or load vectors, save them if requested, and build the lesson."""
    questions = [(a, b, c) for a, b, c in options.analogy]
    learned, language = None, None
    if options.load is not None:
        name, vectors = options.load.name, Vectors.load(options.load)
    else:
        language = None if options.text else options.language
        corpus = shipped(language) if language else from_file(options.text, options.min_count, options.vocabulary)
        for word in (*options.nearest, *chain.from_iterable(questions)):  # before training
            if word not in corpus.words:
                raise ValueError(f"{corpus.name} has no word {word!r}{similar(word, corpus.words)}")
        trained = train(corpus, settings, options.run)
        name, vectors, learned = corpus.name, trained.vectors, learning(corpus, trained, settings)
        print(f"{trained.speed:,.0f} words a second", file=sys.stderr)
    page = lesson(name, vectors, learned, language, options.nearest, questions)
    if options.vectors is not None:
        vectors.save(options.vectors)
        print(f"wrote {options.vectors}", file=sys.stderr)
    if options.save is not None:
        print(f"wrote {save_map(vectors, name, options.save)}", file=sys.stderr)
    return page


if __name__ == "__main__":
    sys.exit(main())
