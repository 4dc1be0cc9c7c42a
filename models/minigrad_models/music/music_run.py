"""Loads, trains and generates with a music model. For run folders see ``programs.folder``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad.utils.bar import bar

from ..generation import generate as generation
from ..generation.beam_search import Decoder
from ..generation.generate import GenerationConfig, Model
from ..programs import models
from ..programs.folder import Description, Program
from ..programs.start_training import METRIC, is_finished, report_of, show, train_to_end, trainer_of
from ..programs.validation import Ids, Progress, check_windows, mean_loss, score_windows
from . import music_data as data
from .chorales import VOICES
from .languages import LANGUAGES, TEMPO, Language, Rules, Written
from .midi import PITCHES, write_midi
from .music_settings import Settings
from .music_transformer import Config, MusicTransformer

LEAST = 0.01  # minimum duration of a note in seconds
SHOWN = 48  # tokens of a sample to print
MOST = 1 << 28  # maximum elements in the position table, as a damaged file may declare any size


class Described(Description):
    """The metadata of a checkpoint."""

    ranges: list[list[int]]


PROGRAM = Program("minigrad_models.music", 1, Described, Settings, files=("samples",))


class Trained(NamedTuple):
    """A trained model."""

    model: MusicTransformer
    language: Language
    settings: Settings  # used to train it
    ranges: list[list[int]]  # the lowest and highest pitch of each voice in its training data
    file: Path

    @property
    def voices(self) -> tuple[str, ...]:
        """The names of the tracks in its output."""
        return VOICES if self.language.kind == "chorales" else ()


def build(settings: Settings) -> MusicTransformer:
    """A new model. Raises ValueError if the sizes are invalid or too large for the machine's memory."""
    return models.build(MusicTransformer, settings.config(), settings.training.device)


def load(path: Path, device: str = "cpu") -> Trained:
    """The model of a run (the best one so far if the run is unfinished), or of a file."""
    with PROGRAM.reading(path) as (checkpoint, settings, description):
        language = LANGUAGES[settings.data.kind]
        config = models.configured(Config, description["model"])
        if config.vocabulary != language.vocabulary:
            there = f"its model has a vocabulary of {config.vocabulary:,} tokens"
            raise ValueError(f"{there}, but {language.plural} need {language.vocabulary}")
        if config.positions * config.d_model > MOST:
            raise ValueError(f"its model claims {config.positions:,} positions")
        ranges = description["ranges"]
        ordered = all(len(pair) == 2 and 0 <= pair[0] <= pair[1] < PITCHES for pair in ranges)
        if len(ranges) not in (0, len(VOICES)) or not ordered:
            raise ValueError("its voice ranges are invalid")
        model = models.restored(MusicTransformer, config, checkpoint["model"])
    return Trained(model.to(device).eval(), language, settings, ranges, PROGRAM.find(path))


def score(
    model: Any,
    pieces: Sequence[Ids],
    settings: Settings,
    window: int = 0,
    stride: int = 0,
    progress: Progress | None = None,
) -> float:
    """The loss on held-out music, in nats per token. By default, windows are as long as in training and advance by half
    their length.

    For chorales it is the note-wise negative log-likelihood of Huang et al. 2018 (table 2): the mean of
    -ln p(cell | all cells before it in its piece) over all cells of all pieces, not transposed. A cell is the pitch or
    silence of a voice in a sixteenth note.
    """
    window = window or settings.window
    batch = max(1, 8_192 // window)
    return score_windows(model, pieces, window, stride or window // 2, batch, 0, progress, settings.grid)


class InKeys:
    """A model for ``score`` that reads music in ``keys`` keys, from ``keys`` // 2 semitones lower, and averages its
    probabilities of the original notes."""

    def __init__(self, model: Any, language: Language, keys: int) -> None:
        self.model, self.language, self.parameters = model, language, model.parameters
        self.shifts = range(-(keys // 2), keys - keys // 2)

    def loss(self, tokens: Tensor, targets: Tensor, ignore: int) -> Tensor:
        """The mean of -ln of these averages, over the targets that are not ignored."""
        counted = targets != ignore
        parts, both = [], [tokens.numpy(force=True), targets.where(counted, tokens).numpy(force=True)]
        for shift in self.shifts:
            here, after = (mg.from_numpy(self.language.moved(ids, shift)).to(tokens.device) for ids in both)
            parts.append(self.model(here).log_softmax(-1).gather(-1, after[..., None])[..., 0])
        return math.log(len(parts)) - mg.stack(parts).logsumexp(0)[counted].mean()


def evaluate(
    path: Path,
    device: str = "cpu",
    part: str = "valid",
    files: Sequence[str] = (),
    window: int = 0,
    stride: int = 0,
    keys: int = 1,
) -> dict[str, Any]:
    """The loss in nats per token, the perplexity, and the numbers of tokens and pieces, for files or for a part of the
    training data. For the window and stride, see ``score``, and for the keys ``InKeys``. Raises FileNotFoundError if
    the model or the music is missing; ValueError if the part is unknown, the window or stride out of range, or the
    music in a key outside MIDI's range; and the errors of ``load``."""
    trained = load(path, device)
    settings = trained.settings
    window = window or settings.window
    stride = stride or max(settings.grid, window // 2 // settings.grid * settings.grid)
    check_windows(window, stride, trained.model.context, settings.grid)
    if files:
        language = LANGUAGES[settings.data.kind]
        pieces = [language.encode(piece) for piece in data.songs(files, language)]
    else:
        pieces = data.read(settings.data).part(part)
    count = sum(len(ids) - 1 for ids in pieces)
    reader: Any = trained.model
    if keys > 1:
        reader, pitches = InKeys(reader, trained.language, keys), trained.language.pitches(np.concatenate(pieces))
        if pitches.size and not 0 < pitches.min() + reader.shifts[0] <= pitches.max() + reader.shifts[-1] < PITCHES:
            raise ValueError(f"in {keys} keys, this music has pitches outside MIDI's range: choose fewer with --keys")
    with bar(count, "reading", " tokens") as progress:
        loss = score(reader, pieces, settings, window, stride, progress.update)
    return {"loss": loss, "perplexity": math.exp(min(loss, 700.0)), "tokens": count, "pieces": len(pieces)}


class Allowed:
    """Wraps a decoder and sets the logits of the tokens that each row's rules forbid to -inf. Once all rows have ended,
    it no longer calls the inner decoder. ``vocabulary`` is V."""

    def __init__(self, decoder: Decoder, rules: Rules, vocabulary: int) -> None:
        self.decoder, self.rules, self.vocabulary, self.start = decoder, rules, vocabulary, decoder.start
        self.read = 0  # tokens per row that the rules have read

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

    def reorder(self, rows: Tensor, num_beams: int) -> None:
        self.rules.reorder(rows.numpy())
        self.decoder.reorder(rows, num_beams)


class Restricted:
    """A ``generation.generate.Model`` that restricts another model to a language's rules for ``seconds``."""

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
    config: GenerationConfig,
    count: int = 1,
    tempo: float = TEMPO,
    progress: Any = None,
) -> list[Ids]:
    """Generate ``count`` sequences, each of which continues a prompt (T,) by ``seconds``. The prompt begins with
    ``language.begin``. Only chorales use the tempo. ``progress`` is called with the duration of each new token."""
    total = float(language.seconds(prompt, tempo).sum()) + seconds

    report = lambda _, token: progress(float(language.seconds(np.array([token]), tempo)[0]))
    on_token = None if progress is None else report
    rows, most = [prompt.tolist()] * count, language.most_tokens(seconds, tempo)
    hypotheses = generation.generate(Restricted(model, language, total), rows, most, config, language.begin, on_token)
    return [np.array([*prompt, *(i for i in h.tokens if i != language.begin)], np.int64) for h in hypotheses]


def closed(music: Written, seconds: float) -> Written:
    """The same music, with every note ending within ``seconds``."""
    notes = [note._replace(end=max(min(note.end, seconds), note.start + LEAST)) for note in music.notes]
    return music._replace(notes=notes)


def train(settings: Settings, folder: Path, fresh: bool = False) -> int:
    """Train, save, and report. Returns the exit status (130 after Ctrl-C)."""
    s, language = settings.training, LANGUAGES[settings.data.kind]
    corpus = data.read(settings.data)
    config = {**settings.fixed(), "the music": corpus.digest}
    _, config = PROGRAM.started(folder, config, fresh, lambda extra: None)
    if is_finished(PROGRAM, settings, folder, fresh):
        return 0
    mg.manual_seed(s.seed)
    model = build(settings)
    sizes = settings.window, s.batch, settings.grid, settings.data.transpose
    batches = data.Windows(language, corpus.train, *sizes, s.seed, s.device)

    def evaluation(model: Any) -> dict[str, float]:
        sample = folder / "samples" / f"step-{trainer.state.step:06d}.mid"
        return evaluated(model, settings, corpus.valid, sample)

    extra = PROGRAM.described(settings, config, model=asdict(model.config), ranges=corpus.ranges)
    trainer = trainer_of(model, batches, mean_loss, evaluation, s, folder, extra)

    def report() -> str:
        nats = score(model, corpus.valid, settings)
        token = "cell" if settings.data.kind == "chorales" else "event"
        validation = f"loss {nats:.4f} nats per {token}, perplexity {math.exp(min(nats, 700.0)):.3f}"
        return report_of(PROGRAM, trainer, folder, validation, "--output", "out.mid")

    tokens = sum(len(piece.versions[0]) for piece in corpus.train)
    validation = f"{len(corpus.valid):,} ({sum(map(len, corpus.valid)):,}) for validation"
    if not corpus.is_held_out:
        validation = "NOTHING IS HELD OUT: validation uses the training data"
    about = f"{corpus.name}: {len(corpus.train):,} {language.plural} ({tokens:,} tokens) for training, {validation}; "
    return train_to_end(PROGRAM, trainer, settings, folder, about, fresh, report)


def evaluated(model: Any, settings: Settings, pieces: list[Ids], path: Path) -> dict[str, float]:
    """The loss in nats per token (for chorales, the note-wise loss) on at most ``validated`` validation pieces. Also
    generates a sample, prints its beginning, and writes it to a MIDI file."""
    s, language, most = settings.training, LANGUAGES[settings.data.kind], int(settings.training.validated)
    if most and len(pieces) > most:  # evenly spaced
        pieces = [pieces[i] for i in np.linspace(0, len(pieces) - 1, most).astype(int).tolist()]
    if s.sample:
        mg.manual_seed(s.seed)  # the same draws each time
        begin, config = np.array([language.begin]), GenerationConfig(temperature=0.9)
        (ids,) = compose(model, language, begin, float(s.sample), config)
        show(language.line(ids, SHOWN))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            total = float(language.seconds(ids, TEMPO).sum())
            write_midi(path, closed(language.decode(ids), total).notes, TEMPO)
        except OSError as error:  # a full disk must not end training
            show(f"note: {path} was not written: {error.strerror or error}")
    return {METRIC: score(model, pieces, settings)}
