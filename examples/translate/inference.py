"""Translating what a person gives: arguments, a file, or a pipe; and measuring how well it is done."""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import minigrad as mg
from minigrad.text import Lines, read_pairs

from . import data
from .evaluation import report, write
from .translator import Translation, Translator

LINES = 1000  # of a file or a pipe, translated at a time


def translate(options: argparse.Namespace) -> int:
    """Print the translation of each sentence; 1 if one given as an argument is empty."""
    if options.sample is not None and options.beam is not None:
        raise ValueError("--sample draws one translation, and --beam searches for the best: choose one")
    translator = Translator.load(options.run, options.device)
    mg.manual_seed(options.seed)
    with _output(options.output) as out:
        if options.sentences:
            return _sentences(translator, options, out)
        for lines in _chunks(options.input):
            for found in _translated(translator, options, lines):
                out.write(_written(found, options.n_best))
            out.flush()
    return 0


def _sentences(translator: Translator, options: argparse.Namespace, out: TextIO) -> int:
    """Those of the command line, with what a person should know about each."""
    status = 0
    for given in options.sentences:
        if not given.strip():
            print("error: the sentence is empty", file=sys.stderr)
            status = 1
            continue
        (found,) = _translated(translator, options, [given])
        for note in found.notes:
            print(f"note: {note}", file=sys.stderr)
        out.write(_written(found, options.n_best))
        if options.attention is not None:
            from .attention_picture import draw

            draw(translator.attention(found.source, found.text), options.attention)
            print(f"wrote {options.attention}", file=sys.stderr)
    return status


def _translated(
    translator: Translator, options: argparse.Namespace, lines: list[str], progress: Any = None
) -> list[Translation]:
    beam = max(options.n_best, options.beam or 0) if options.n_best > 1 else options.beam
    return translator.translate(
        lines, beam, options.length_penalty, options.coverage_penalty, options.sample, options.top_k,
        options.top_p, not options.no_cache, options.batch, progress,
    )  # fmt: skip


def _written(found: Translation, n_best: int) -> str:
    if n_best == 1:
        return found.text + "\n"
    return "".join(f"{h.score:.4f}\t{h.text}\n" for h in found.beam[:n_best]) + "\n"


def _chunks(path: Path | None) -> Iterator[list[str]]:
    """The lines of a file or of standard input, some at a time; from a terminal, each as it is typed.

    Raises:
        ValueError: bytes that are not UTF-8; it names the line.
    """
    if path is not None:
        lines = Lines(path)
        yield from (lines[i : i + LINES] for i in range(0, len(lines), LINES))
        return
    typed = sys.stdin.isatty()
    if typed:
        print("a sentence a line; end with Ctrl-D", file=sys.stderr)
    raw = sys.stdin.buffer if hasattr(sys.stdin, "buffer") else io.BytesIO(sys.stdin.read().encode())
    chunk: list[str] = []
    for number, line in enumerate(raw, 1):
        try:
            chunk.append(line.decode("utf-8").rstrip("\r\n"))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"standard input, line {number}: not UTF-8 (byte {line[error.start]:#04x} at {error.start})"
            ) from None
        if typed or len(chunk) == LINES:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


@contextmanager
def _output(path: Path | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
    else:
        with path.open("w", encoding="utf-8") as file:
            yield file


def evaluate(options: argparse.Namespace) -> int:
    """Translate a split that training never saw, and report on it."""
    from tqdm import tqdm

    translator = Translator.load(options.run, options.device)
    chosen = translator.settings.data
    if options.data:
        found = read_pairs(options.data, chosen.source, chosen.target)
        pairs = found.get(options.split) or found["train"]  # two files, or a table: all of it
    else:
        splits = data.read(chosen)
        if options.split not in splits:
            raise ValueError(f"the training's data has no {options.split} set; give --data")
        pairs = splits[options.split]
    options.n_best, options.sample, options.top_k, options.top_p = 1, None, None, None
    source, begun = list(pairs.source), time.perf_counter()
    with tqdm(total=len(source), desc="translating", leave=False, delay=2, mininterval=1) as bar:
        translations = _translated(translator, options, source, bar.update)
    print(f"{len(source):,} sentences translated in {time.perf_counter() - begun:.1f} s", file=sys.stderr)
    told = report(translations, list(pairs.target), language=chosen.target, worst=options.worst)
    print(told.text())
    if options.json is not None:
        write(options.json, told, translations)
        print(f"wrote {options.json}", file=sys.stderr)
    return 0
