"""Checks that training on a large corpus of two million synthetic sentence pairs uses at most 2 GiB of memory.

    python -m benchmarks.large_corpus [--pairs 2000000] [--updates 200]

It writes the pairs to a temporary folder (about 300 MB). In a new process, ``minigrad train`` reads the pairs, learns
subwords, encodes the pairs, and trains a transformer. The result is the peak memory of that process.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from .machine import describe
from .process import Answer, ask, peak_mebibytes, progress
from .program import parser, show
from .table import Table

LIMIT = 2048.0  # MiB
WORDS = 200_000  # per language, as many as in Europarl, with Zipf frequencies
MEAN_WORDS = 12  # per sentence
SOURCE_SOUNDS = ("bdfgklmnprst", "aeiou")
TARGET_SOUNDS = ("chjqvwxz", "äeïöu")
BLOCK = 10_000  # pairs per write


def write_corpus(folder: Path, pairs: int, seed: int = 0) -> None:
    """Write train.x and train.y. Each word of x has one translation in y, and the word order is reversed."""
    draw = np.random.default_rng(seed)
    rows = [invented(WORDS, *sounds) for sounds in (SOURCE_SOUNDS, TARGET_SOUNDS)]
    chances = np.cumsum(1 / (np.arange(WORDS) + 2.7))
    with (
        (folder / "train.x").open("w", encoding="utf-8") as source,
        (folder / "train.y").open("w", encoding="utf-8") as target,
    ):
        for start in range(0, pairs, BLOCK):
            progress(f"writing pair {start:,} of {pairs:,}")
            ends = np.cumsum(1 + draw.poisson(MEAN_WORDS - 1, min(BLOCK, pairs - start)))
            words = np.searchsorted(chances, draw.random(ends[-1]) * chances[-1]).tolist()
            for first, last in itertools.pairwise([0, *ends.tolist()]):
                sentence = words[first:last]
                source.write(" ".join([rows[0][i] for i in sentence]) + ".\n")
                target.write(" ".join([rows[1][i] for i in reversed(sentence)]) + ".\n")


def invented(count: int, consonants: str, vowels: str) -> list[str]:
    """Distinct words, shortest first, as the most common words in a language are short."""
    syllables = [c + v for c in consonants for v in vowels]
    lengths = (itertools.product(syllables, repeat=n) for n in itertools.count(1))
    return ["".join(word) for word in itertools.islice(itertools.chain.from_iterable(lengths), count)]


def command(library: str, folder: str, updates: int, vocabulary: int = 10_000) -> Answer:
    """Run ``minigrad train`` on the corpus in a folder: seconds, and peak memory in MiB."""
    from minigrad_models.commands.minigrad_command import main as translate

    start = time.perf_counter()
    options = ["--data", folder, "--source", "x", "--target", "y", "--run", str(Path(folder) / "run")]
    sizes = ["--steps", str(updates), "--warm-up", str(updates // 2), "--vocabulary", str(vocabulary)]
    with contextlib.redirect_stdout(sys.stderr):  # the answer goes to stdout
        status = translate(["train", *options, *sizes])
    if status:
        raise RuntimeError(f"the command ended with status {status}")
    return {"seconds": time.perf_counter() - start, "memory": peak_mebibytes()}


def main() -> int:
    """Write the corpus, measure, and print. Returns 1 if the memory exceeds the limit."""
    options = parser("benchmarks.large_corpus", __doc__, pairs=2_000_000, updates=200).parse_args()
    print(describe(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(Path(folder), options.pairs)
        answer = ask("benchmarks.large_corpus:command", "minigrad", folder=folder, updates=options.updates)
    title = f"minigrad train on {options.pairs:,} pairs"
    result = Table(title, ("seconds", "most MiB", "limit"), (".1f", ".0f", ".0f"))
    result.add(answer["seconds"], answer["memory"], LIMIT)
    show(result)
    return int(answer["memory"] > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
