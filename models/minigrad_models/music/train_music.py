"""The training: music, model, optimiser and loop, samples on the way, and the report at the end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg

from ..programs.models import check_device
from ..programs.start_training import METRIC, report_validation, show, train_to_end, trainer_of
from ..programs.validation import Ids, mean_loss
from . import music_data as data
from . import music_run as run
from .languages import LANGUAGES, TEMPO
from .midi import write_midi
from .music_generation import closed, example
from .music_settings import Settings
from .music_transformer import MusicTransformer

SHOWN = 48  # tokens of a sample in the line that is printed


def train(settings: Settings, folder: Path, fresh: bool = False) -> int:
    """Train, save, and report. Returns the exit status (130 after Ctrl-C)."""
    s, language = settings.training, LANGUAGES[settings.data.kind]
    check_device(s.device)  # all that may be wrong raises before anything is read, or changes
    s.rate()
    corpus = data.read(settings.data)
    config = {**settings.fixed(), "the music": corpus.digest}
    _, config = run.PROGRAM.started(folder, config, fresh, lambda kept: None)
    mg.manual_seed(s.seed)
    model = run.build(settings)
    sizes = settings.window, s.batch, settings.grid, settings.data.transpose
    batches = data.Windows(language, corpus.train, *sizes, s.seed, s.device)
    evaluation = Evaluation(settings, corpus.valid, folder / "samples")
    extra = run.PROGRAM.described(settings, config, model=asdict(model.config), ranges=corpus.ranges)
    trainer = trainer_of(model, batches, mean_loss, evaluation, s, folder, extra)
    evaluation.step = lambda: trainer.state.step

    def report() -> None:
        nats = run.score(model, corpus.valid, settings)
        token = "cell" if settings.data.kind == "chorales" else "event"
        validation = f"loss {nats:.4f} nats per {token}, perplexity {math.exp(min(nats, 700.0)):.3f}"
        report_validation(run.PROGRAM, trainer, folder, validation, "--output", "out.mid")

    described = about(corpus, settings, model, folder)
    return train_to_end(run.PROGRAM, trainer, settings, folder, described, fresh, report)


def about(corpus: data.Corpus, settings: Settings, model: MusicTransformer, folder: Path) -> str:
    """What is trained, on what."""
    count = sum(p.numel() for p in model.parameters())
    tokens = sum(len(piece.versions[0]) for piece in corpus.train)
    heard = sum(map(len, corpus.valid))
    validation = f"{len(corpus.valid):,} ({heard:,}) to validate with"
    if not corpus.is_held_out:
        validation = "NOTHING IS HELD OUT: it is validated with what it learns from"
    plural = LANGUAGES[settings.data.kind].plural
    return (
        f"{corpus.name}: {len(corpus.train):,} {plural} ({tokens:,} tokens) to learn from, {validation}; "
        f"{count:,} parameters, on {settings.training.device}, in {folder}"
    )


class Evaluation:
    """The loss of the pieces that validate (``validated`` of them), and a sample of the model's: a line of its
    beginning, and a MIDI file in a folder. ``step`` says the number of updates so far."""

    def __init__(self, settings: Settings, pieces: list[Ids], folder: Path) -> None:
        most = int(settings.training.validated)
        if most and len(pieces) > most:  # at equal distances
            pieces = [pieces[i] for i in np.linspace(0, len(pieces) - 1, most).astype(int).tolist()]
        self.settings, self.pieces, self.folder = settings, pieces, folder
        self.step: Callable[[], int] = lambda: 0

    def __call__(self, model: Any) -> dict[str, float]:
        """Nats per token: for chorales the note-wise loss."""
        if self.settings.training.sample:
            self.sample(model)
        return {METRIC: run.score(model, self.pieces, self.settings)}

    def sample(self, model: Any) -> None:
        """Write a sample, and print its beginning; a disk that is full does not end the training."""
        s, language = self.settings.training, LANGUAGES[self.settings.data.kind]
        ids = example(model, language, float(s.sample), s.seed)
        show(language.line(ids, SHOWN))
        path = self.folder / f"step-{self.step():06d}.mid"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            total = float(language.seconds(ids, TEMPO).sum())
            write_midi(path, closed(language.decode(ids), total).notes, TEMPO)
        except OSError as error:
            show(f"note: {path} is not written: {error}")
