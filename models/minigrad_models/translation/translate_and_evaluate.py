"""The ``translate`` command (for sentences from arguments, a file, or a pipe) and the ``evaluate`` command."""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, cast

import minigrad as mg
from minigrad.serialization.source import replaced
from minigrad.utils.bar import bar

from ..text import read_lines, read_pairs
from ..text.corpus import decoded
from ..text.scores import bleu_metric, report, tokenizer_for, write
from . import translation_data as data
from .translation_settings import languages
from .translator import Translation, Translator

LINES = 1000  # lines of a file to translate at a time
AT_ONCE = 1 << 16  # bytes of a pipe to read at a time
LONGEST_LINE = 1_000_000  # bytes; rejecting a sentence of this length takes a few seconds
TOO_LONG = f"line {{:,}} has more than {LONGEST_LINE:,} bytes: give one sentence per line"
NOTES = 10  # the maximum number of notes to print


def translate(options: argparse.Namespace) -> int:
    """Print the translation of each sentence. Returns 1 if an argument is an empty sentence."""
    _check(options)
    lines = None if options.input is None else list(read_lines(options.input))  # before writing anything
    translator = Translator.load(options.run, options.device)
    mg.manual_seed(options.seed)
    with _output(options.output) as out:
        if options.sentences:
            return _sentences(translator, options, out)
        chunks = _stdin() if lines is None else (lines[i : i + LINES] for i in range(0, len(lines), LINES))
        _text(translator, options, chunks, out)
    return 0


def _check(options: argparse.Namespace) -> None:
    """Reject options that have no effect, before reading or writing anything."""
    sampling = options.sample is not None
    searching = (options.beam, options.length_penalty, options.mbr)
    if sampling and (any(value is not None for value in searching) or options.n_best > 1):
        others = "but --beam, --n-best, --length-penalty and --mbr search for the best"
        raise ValueError(f"--sample draws a random translation, {others}: choose one")
    if not sampling and (options.top_k is not None or options.top_p is not None):
        raise ValueError("--top-k and --top-p restrict --sample: also give --sample")
    if options.sentences and options.input is not None:
        raise ValueError("give either sentences or --input, not both")
    for name in ("attention", "graph"):
        if getattr(options, name) is not None and len(options.sentences) != 1:
            raise ValueError(f"--{name} draws one sentence: give it as an argument")
    if options.attention is not None:
        from minigrad.viz.attention import AttentionView

        AttentionView.checked_ending(options.attention)
    if options.graph is not None and options.graph.suffix.lower() != ".html":
        raise ValueError(f"--graph writes an HTML page: the name must end in .html, not {options.graph.name}")


def _text(translator: Translator, options: argparse.Namespace, chunks: Iterable[list[str]], out: TextIO) -> None:
    """Translate line by line. Notes are printed on stderr after the last line."""
    notes: list[str] = []
    before = 0
    for lines in chunks:
        for number, line in enumerate(lines, before + 1):
            if len(line) > LONGEST_LINE:
                raise ValueError(TOO_LONG.format(number))
        for number, translation in enumerate(_translated(translator, options, lines), before + 1):
            out.write(_formatted(translation, options.n_best))
            notes += [f"line {number:,}: {note}" for note in translation.notes]
        before += len(lines)
        out.flush()
    for note in notes[:NOTES]:
        _tell(f"note: {note}")
    if len(notes) > NOTES:
        _tell(f"note: and {len(notes) - NOTES:,} more notes")


def _sentences(translator: Translator, options: argparse.Namespace, out: TextIO) -> int:
    """Translate the sentences of the command line, each with its notes on stderr."""
    status = 0
    for sentence in options.sentences:
        if not sentence.strip():
            _tell("error: the sentence is empty")
            status = 1
            continue
        (translation,) = _translated(translator, options, [sentence])
        for note in translation.notes:
            _tell(f"note: {note}")
        out.write(_formatted(translation, options.n_best))
        if options.attention is not None:
            view, path = translator.look(translation), options.attention
            if path.suffix.lower() == ".html":  # a page with all attention
                view.save(path)
            else:
                view.save(path, "matrix", kind="cross", layer=None)
            _tell(f"wrote {options.attention}")
        if options.graph is not None:
            translator.linked(translation).save(options.graph)
            _tell(f"wrote {options.graph}")
    return status


def _translated(
    translator: Translator, options: argparse.Namespace, lines: list[str], progress: Any = None
) -> list[Translation]:
    beam = translator.settings.decoding.beam if options.beam is None else options.beam
    beam = max(beam, options.n_best)
    search = (beam, options.length_penalty, options.sample, options.top_k, options.top_p)
    return translator.translate(lines, *search, not options.no_cache, options.batch, progress, options.mbr)


def _formatted(translation: Translation, n_best: int) -> str:
    if n_best == 1:
        return translation.text + "\n"
    return "".join(f"{h.score:.4f}\t{h.text}\n" for h in translation.beam[:n_best]) + "\n"


def _stdin() -> Iterator[list[str]]:
    """Yield the lines of stdin as they arrive, as a program may write a line and wait for its translation."""
    if sys.stdin.isatty():
        _tell("one sentence per line; end with Ctrl-D")
    rest, count = b"", 0
    raw = cast(io.BufferedIOBase, sys.stdin.buffer)
    while data := raw.read1(AT_ONCE):
        *whole, rest = (rest + data).split(b"\n")
        if whole:
            yield [decoded(line, count + i, "standard input") for i, line in enumerate(whole, 1)]
        count += len(whole)
        if len(rest) > LONGEST_LINE:
            raise ValueError(f"standard input: {TOO_LONG.format(count + 1)}")
    if rest:
        yield [decoded(rest, count + 1, "standard input")]


def _tell(text: str) -> None:
    """Print a line to stderr if possible, as a closed stderr must not end a translation."""
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


@contextmanager
def _output(path: Path | None) -> Iterator[TextIO]:
    """The output stream. A file is replaced once all translations are written, and stays unchanged after an error."""
    if path is None:
        yield sys.stdout
    elif path.exists() and not path.is_file():  # a pipe, a terminal
        with path.open("w", encoding="utf-8") as file:
            yield file
    else:
        with replaced(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            yield file


def evaluate(options: argparse.Namespace) -> int:
    """Translate a held-out split, and print a report."""
    translator = Translator.load(options.run, options.device)
    settings = translator.settings.data
    if options.data:
        splits = read_pairs(options.data, settings.source, settings.target, required=(options.split,))
        pairs = splits[options.split if options.data[0].is_dir() else "train"]  # two files, or a table, have no splits
    else:
        splits = data.read(settings)
        if options.split not in splits:
            raise ValueError(f"the training data has no {options.split} set; give --data")
        pairs = splits[options.split]
    language = settings.target if len(options.data or ()) != 2 else languages(tuple(map(str, options.data)))["target"]
    language = settings.target if language == "target" else language
    tokenizer = options.bleu_tokenizer or translator.settings.training.bleu_tokenizer
    if tokenizer == "auto":
        tokenizer = tokenizer_for(language)
    bleu_metric(tokenizer)  # fails before translating for minutes
    options.n_best, options.sample, options.top_k, options.top_p = 1, None, None, None
    start = time.perf_counter()
    with bar(len(pairs.source), "translating", " sentences") as progress:
        translations = _translated(translator, options, pairs.source, progress.update)
    _tell(f"{len(translations):,} sentences translated in {time.perf_counter() - start:.1f} s")
    sources, texts = [t.source for t in translations], [t.text for t in translations]
    results = report(texts, pairs.target, sources, language, options.worst, tokenizer)
    print(results.text())
    if options.json is not None:
        write(options.json, results, texts)
        _tell(f"wrote {options.json}")
    return 0
