"""Music that a model writes: from nothing, or as a motif goes on. It writes no token that has no meaning.

Shapes: N rows, T tokens so far, V vocabulary.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad.utils.bar import bar

from ..generation import generate as generation
from ..generation.beam_search import Decoder
from ..generation.generate import Model, Search
from ..programs.options import search_of
from ..programs.validation import Ids
from . import files
from . import music_data as data
from . import music_run as run
from .chorales import ROWS
from .languages import TEMPO, Language, Rules, Written, shifts
from .midi import check_tempo
from .performance import STEPS

LEAST = 0.01  # seconds of a note


class Allowed:
    """A decoder whose logits of tokens that the rules of its rows do not allow are -inf. After the end, the decoder
    within is not asked. ``vocabulary`` is V."""

    def __init__(self, decoder: Decoder, rules: Rules, vocabulary: int) -> None:
        self.decoder, self.rules, self.vocabulary, self.start = decoder, rules, vocabulary, decoder.start
        self.read = 0  # tokens of a row that the rules know

    def next_logits(self, tokens: Tensor) -> Tensor:
        for column in tokens[:, self.read :].numpy().T:
            self.rules.add(column)
        self.read = tokens.shape[1]
        if self.rules.over():
            logits = mg.zeros(len(tokens), self.vocabulary, device=tokens.device)
        else:
            logits = self.decoder.next_logits(tokens)
        mask = mg.from_numpy(np.ascontiguousarray(~self.rules.allowed())).to(tokens.device)
        return logits.masked_fill(mask, -np.inf)

    def reorder(self, rows: Tensor, beam_size: int) -> None:
        self.rules.reorder(rows.numpy())
        self.decoder.reorder(rows, beam_size)


class Restricted:
    """A ``generation.generate.Model`` that writes as another, but by the rules of a language, for so many seconds."""

    def __init__(self, model: Any, language: Language, seconds: float) -> None:
        self.model: Model = model
        self.language, self.seconds, self.context = language, seconds, model.context

    def begin(self, prompts: Sequence[Sequence[int]], **options: Any) -> Allowed:
        rules = self.language.rules(len(prompts), self.seconds)
        return Allowed(self.model.begin(prompts, **options), rules, self.language.vocabulary)


def compose(
    model: Any,
    language: Language,
    prompt: Ids,
    seconds: float,
    search: Search,
    count: int = 1,
    tempo: float = TEMPO,
    progress: Any = None,
) -> list[Ids]:
    """Several sequences that go on from one, the prompt (T,), for so many seconds; it is their beginning, and begins
    with ``language.begin``. The tempo is of chorales. ``progress`` hears seconds of music, as they are written."""
    total = float(language.seconds(prompt, tempo).sum()) + seconds

    heard = lambda _, token: progress(float(language.seconds(np.array([token]), tempo)[0]))
    hypotheses = generation.write(
        Restricted(model, language, total),
        [prompt.tolist()] * count,
        language.most_tokens(seconds, tempo),
        search,
        language.begin,
        None if progress is None else heard,
    )
    return [np.array([*prompt, *(i for i in h.tokens if i != language.begin)], np.int64) for h in hypotheses]


def closed(written: Written, seconds: float) -> Written:
    """The same, with notes that end after so many seconds at the latest."""
    notes = [note._replace(end=max(min(note.end, seconds), note.start + LEAST)) for note in written.notes]
    return written._replace(notes=notes)


def example(model: Any, language: Language, seconds: float, seed: int) -> Ids:
    """A sequence to show while the model trains: the same draws each time."""
    mg.manual_seed(seed)
    return compose(model, language, np.array([language.begin]), seconds, Search(temperature=0.9))[0]


def motif(path: Path, language: Language, seconds: float | None) -> tuple[Ids, float]:
    """The beginning of a MIDI file as tokens, and its tempo. Notes that sound at its end are not closed."""
    piece, song = data.piece_in(path, language)
    ids = language.encode(piece)
    if seconds is not None:
        if language.kind == "chorales":
            ids = ids[: 1 + language.unit * max(1, round(ROWS * song.quarters(seconds)))]
        else:
            ids = ids[np.cumsum(shifts(ids)) <= STEPS * seconds]
    if not len(language.pitches(ids)):
        raise ValueError(f"{path} has no note in its first {seconds:g} s: give more --seed-seconds")
    return ids, files.tempo_of(song)


def generate(options: argparse.Namespace) -> int:
    """The command: write music. Returns the exit status."""
    files.check_endings(options.output, options.page, options.wav)
    search = search_of(options)
    trained = run.load(options.run, options.device)
    language, tempo, prompt = trained.language, TEMPO, np.array([trained.language.begin])
    if options.tempo is not None and language.kind != "chorales":
        raise ValueError("--tempo is for chorales: a performance's times are seconds")
    if options.seed_seconds is not None and options.seed_file is None:
        raise ValueError("--seed-seconds is the length of a motif: give one, --seed-file")
    if options.seed_file is not None:
        prompt, tempo = motif(options.seed_file, language, options.seed_seconds)
    tempo = tempo if options.tempo is None else options.tempo
    check_tempo(tempo, "--tempo")
    if len(prompt) > (context := trained.model.context):
        print(f"note: the motif has {len(prompt):,} tokens, and the model sees the last {context:,}", file=sys.stderr)
    mg.manual_seed(options.seed)
    begin = time.perf_counter()
    with bar(options.seconds * options.batch, "writing", " s of music") as shown:
        asked = options.seconds, search, options.batch, tempo
        sequences = compose(trained.model, language, prompt, *asked, shown.update)
    spent = time.perf_counter() - begin
    count = sum(len(ids) - len(prompt) for ids in sequences)
    total = float(language.seconds(prompt, tempo).sum()) + options.seconds
    for number, ids in enumerate(sequences, 1):
        paths = [options.output, options.page, options.wav]
        if options.batch > 1:  # out-1.mid, out-2.mid, …
            paths = [path and path.with_stem(f"{path.stem}-{number}") for path in paths]
        files.save(trained, ids, closed(language.decode(ids, tempo), total), tempo, *paths)
    print(f"{count:,} tokens, {count / spent:,.0f} a second", file=sys.stderr)
    return 0
