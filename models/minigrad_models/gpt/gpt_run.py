"""The models that the ``model`` setting selects, and functions that train them, generate text with them, and load them
from a run of this program (see ``minigrad_models.programs.folder``) or a folder in transformers' format.

To add a model, add an entry to ``ARCHITECTURES``, and its name to ``gpt_settings.MODELS``.
"""

from __future__ import annotations

import argparse
import codecs
import json
import math
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import minigrad as mg
from minigrad import Tensor
from minigrad.serialization.source import replaced
from minigrad.utils.bar import bar

from ..architectures import pretrained
from ..generation import generate as generation
from ..generation.beam_search import OnToken
from ..generation.generate import GenerationConfig
from ..programs import models
from ..programs.folder import Description, Program
from ..programs.options import generation_config
from ..programs.start_training import METRIC, is_finished, report_of, show, train_to_end, trainer_of
from ..programs.validation import Ids, Score, check_windows, mean_loss, score_windows
from ..text import Recurrence
from . import gpt2, text, tokens, transformer_xl
from .gpt_settings import ModelSettings, Settings
from .tokens import Tokens, decode


@dataclass(frozen=True)
class Architecture:
    """A model, and how to build, train and score it.

    The model's ``config`` has vocabulary, d_model, layers and d_ff. Its ``context`` is the maximum number of tokens
    that it sees, or None if it reads text of any length. ``begin(prompts)`` takes a ``stride`` if the model has a
    context (see ``gpt2.GPT2``). A ``Pretrained`` model can be exported.
    """

    model: Any  # its class
    config: Any  # the class of its configuration
    names: dict[str, str]  # size settings -> their names in the configuration
    others: dict[str, Any]  # the rest of its configuration; all dropouts have the setting's value
    # Builds the loss function of a training run: (model, batch) -> the mean loss, and the number of targets. A
    # ``Recurrence`` carries a state from update to update.
    loss: Callable[[], Callable[[Any, Any], tuple[Tensor, float]]]
    batches: Any  # of a training run, with the same parameters as ``text.Windows``
    score: Score  # the loss of some text; see ``score_windows``

    def dropouts(self, value: float) -> dict[str, float]:
        return {field.name: value for field in fields(self.config) if field.name.endswith("dropout")}


SIZES = {name: name for name in ("layers", "heads", "d_model", "d_ff")}
ARCHITECTURES = {
    "gpt2": Architecture(
        gpt2.GPT2, gpt2.Config, {**SIZES, "context": "positions"}, {}, lambda: mean_loss, text.Windows, score_windows
    ),
    "transformer-xl": Architecture(
        transformer_xl.TransformerXL,
        transformer_xl.Config,
        {**SIZES, "context": "segment", "memory": "memory"},
        {"activation": "gelu_tanh", "norm_first": True},  # as in GPT-2: only the memory and the positions differ
        Recurrence,
        text.segments,
        text.score_segments,
    ),
}


def build(settings: ModelSettings, vocabulary: int, device: str = "cpu") -> Any:
    """A new model. Raises ValueError if the sizes are invalid or too large for the machine's memory."""
    kind, s = ARCHITECTURES[settings.model], settings
    values = {**asdict(s), "d_ff": s.d_ff or 4 * s.d_model, "memory": s.memory or s.context}
    sizes = {theirs: values[name] for name, theirs in kind.names.items()}
    config = kind.config(vocabulary, **sizes, **kind.dropouts(s.dropout), **kind.others)
    return models.build(kind.model, config, device)


class Described(Description):
    """The metadata of a checkpoint."""

    tokenizer: dict[str, str]


PROGRAM = Program("minigrad_models.gpt", 1, Described, Settings)


class Trained(NamedTuple):
    """A model and its vocabulary, and its training settings if this program trained it."""

    model: Any
    tokens: Tokens
    settings: Settings | None

    @property
    def architecture(self) -> str:
        """The ``model`` setting."""
        return next(name for name, kind in ARCHITECTURES.items() if isinstance(self.model, kind.model))


def load(path: Path, device: str = "cpu", weights: str = "float32") -> Trained:
    """The model in a run (the best so far if it is unfinished), in a file, or in a folder in transformers' format, for
    which ``weights`` can be another dtype; see ``from_pretrained``."""
    if (path / pretrained.CONFIG).is_file():
        gpt = gpt2.GPT2.from_pretrained(path, weights)
        if gpt.tokenizer is None:
            raise ValueError(f"{path} has no tokenizer: it needs tokenizer.json, or vocab.json and merges.txt")
        try:
            return Trained(gpt.to(device), tokens.from_library(gpt.tokenizer), None)
        except ValueError as error:
            raise ValueError(f"{path} cannot be used: {error}") from None
    if weights != "float32":
        raise ValueError(f"{weights} weights need a folder in transformers' format, which minigrad gpt export writes")
    with PROGRAM.reading(path) as (checkpoint, settings, description):
        kind = ARCHITECTURES[settings.model.model]
        config = models.configured(kind.config, description["model"])
        model = models.restored(kind.model, config, checkpoint["model"])
        vocabulary = tokens.from_dict(description["tokenizer"])
        if len(vocabulary) > model.config.vocabulary:
            raise ValueError("its tokenizer has more tokens than its model's vocabulary")
    return Trained(model.to(device).eval(), vocabulary, settings)


def sizes(path: Path) -> dict[str, Any]:
    """The settings that a training run must share with the model that it starts from. Raises the errors of ``load``."""
    gpt = load(path)
    about = {"model": gpt.architecture, "tokenizer": gpt.tokens.kind, "vocabulary": len(gpt.tokens)}
    names = ARCHITECTURES[gpt.architecture].names
    return {**about, **{name: getattr(gpt.model.config, theirs) for name, theirs in names.items()}}


def export(trained: Trained, folder: Path) -> None:
    """Write a folder that GPT2LMHeadModel and AutoTokenizer from transformers can read."""
    if not isinstance(trained.model, pretrained.Pretrained):
        raise ValueError(f"cannot export this model: transformers has no {trained.architecture}")
    trained.model.tokenizer = trained.tokens.library()
    trained.model.save_pretrained(folder)
    # Without this, transformers assumes GPT-2's tokenizer, and reads only the vocabulary.
    about: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    about["model_max_length"] = trained.model.config.positions
    with replaced(folder / "tokenizer_config.json") as temporary:
        Path(temporary).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def evaluate(
    path: Path, device: str = "cpu", file: Path | None = None, window: int | None = None, stride: int | None = None
) -> dict[str, float]:
    """Evaluate a model on a file, or on the validation part of its training text. Returns the loss per token,
    perplexity, bits per character, and numbers of tokens and characters. For the window and stride see
    ``programs.validation.pieces`` and ``text.score_segments``; by default, windows are as in training, without overlap.
    Raises FileNotFoundError if the model or the text is missing; ValueError if the window or stride is out of range, or
    the text is too short or has characters that the vocabulary lacks; and the errors of ``load``."""
    trained = load(path, device)
    settings, most = trained.settings, trained.model.context
    window = window or (settings.window if settings else most)
    check_windows(window, stride, most)
    if file is not None:
        content = text.read_file(file, "bytes" if isinstance(trained.tokens, tokens.Bytes) else "subwords")
    elif settings is not None:
        content = text.read(settings.data).validation
    else:
        raise ValueError(f"{path} does not name a text to evaluate: give --input FILE")
    ids = trained.tokens.encode(content)
    if len(ids) < 2:
        raise ValueError(f"{file or 'the text'} has {len(ids)} tokens, but evaluation needs at least two")
    score = ARCHITECTURES[trained.architecture].score
    with bar(len(ids) - 1, "reading", " tokens") as progress:
        loss = score(trained.model, ids, window, stride or 0, progress=progress.update)
    per_character = text.bits(loss, len(content), len(ids))
    losses = {"loss": loss, "perplexity": math.exp(min(loss, 700.0)), "bits_per_character": per_character}
    return {**losses, "tokens": len(ids), "characters": len(content)}


def write(
    trained: Trained, prompts: list[list[int]], length: int, config: GenerationConfig, on_token: OnToken | None = None
) -> list[list[int]]:
    """Continue prompts with ``generation.generate``, without the end-of-text token."""
    end = trained.tokens.end
    hypotheses = generation.generate(trained.model, prompts, length, config, end, on_token)
    return [[i for i in hypothesis.tokens if i != end] for hypothesis in hypotheses]


def prompt_of(tokens: Tokens, text: str | None) -> list[int]:
    """The ids of ``text``. If it is None: the end-of-text token, else a line break, else the first token."""
    if text is not None:
        if not text:
            raise ValueError("the prompt is empty: a language model needs at least one token")
        return [int(i) for i in tokens.encode(text)]
    if tokens.end is not None:
        return [tokens.end]
    with suppress(ValueError):
        return [int(i) for i in tokens.encode("\n")]
    return [0]


def generate(options: argparse.Namespace) -> int:
    """Generate texts. A single text is printed token by token. Returns the exit status."""
    config = generation_config(options)
    trained = load(options.run, options.device)
    context = trained.model.context
    texts = options.prompt if options.prompt is not None else [None]
    prompts = [prompt_of(trained.tokens, text) for text in texts]
    if context is not None and (longest := max(map(len, prompts))) > context:
        print(f"note: a prompt has {longest:,} tokens, but the model sees only the last {context:,}", file=sys.stderr)
    rows = [(text or "", ids) for text, ids in zip(texts, prompts, strict=True) for _ in range(options.batch)]
    mg.manual_seed(options.seed)
    begin = time.perf_counter()
    show = stream if len(rows) == 1 and config.num_beams == 1 else several
    count = show(trained, rows, options.tokens, config)
    seconds = time.perf_counter() - begin
    print(f"{count:,} tokens, {count / seconds:,.0f} a second", file=sys.stderr)
    return 0


def stream(trained: Trained, rows: list[tuple[str, list[int]]], length: int, config: GenerationConfig) -> int:
    """Print one text, token by token. Returns the number of its tokens."""
    ((text, prompt),) = rows
    decoder = codecs.getincrementaldecoder("utf-8")("replace")  # it buffers the bytes of an unfinished character
    emit = partial(print, end="", flush=True)
    emit(text)
    end, piece = trained.tokens.end, trained.tokens.piece
    on_token = lambda _, token: None if token == end else emit(decoder.decode(piece(token)))
    (ids,) = write(trained, [prompt], length, config, on_token)
    emit(decoder.decode(b"", final=True) + "\n")
    return len(ids)


def several(trained: Trained, rows: list[tuple[str, list[int]]], length: int, config: GenerationConfig) -> int:
    """Generate and print several texts, or one with beam search. Shows a progress bar. Returns the number of tokens."""
    with bar(length * len(rows), "writing", " tokens", shown=config.num_beams <= 1) as progress:
        texts = write(trained, [ids for _, ids in rows], length, config, lambda *_: progress.update())
    for number, ((prompt, _), ids) in enumerate(zip(rows, texts, strict=True), 1):
        if len(rows) > 1:
            print(f"{'' if number == 1 else chr(10)}--- {number} ---")
        print(prompt + decode(trained.tokens, ids))
    return sum(map(len, texts))


def train(settings: Settings, folder: Path, fresh: bool = False) -> int:
    """Train, save, and report. Returns the exit status (130 after Ctrl-C)."""
    s = settings.training
    corpus = text.read(settings.data)
    config = {**settings.fixed(), "the text": corpus.digest}
    vocabulary, config = PROGRAM.started(folder, config, fresh, lambda extra: tokens.from_dict(extra["tokenizer"]))
    if is_finished(PROGRAM, settings, folder, fresh):
        return 0
    mg.manual_seed(s.seed)
    model, vocabulary = model_of(settings, corpus, vocabulary)
    ids, held_out = (vocabulary.encode(part) for part in (corpus.train, corpus.validation))
    if len(held_out) < 2:
        end = corpus.validation[:60]
        raise ValueError(f"the validation text, {end!r}, is a single token, which is too short")
    characters = len(corpus.validation)
    evaluation = lambda model: evaluated(model, settings, vocabulary, held_out, characters)
    kind = ARCHITECTURES[settings.model.model]
    batches, loss = kind.batches(ids, settings.window, s.batch, s.seed, s.device), kind.loss()
    extra = PROGRAM.described(settings, config, model=asdict(model.config), tokenizer=vocabulary.as_dict())
    carried = loss if isinstance(loss, Recurrence) else None
    trainer = trainer_of(model, batches, loss, evaluation, s, folder, extra, settings.data.tokenizer, carried)
    about = f"{corpus.name}: {len(ids):,} {settings.data.tokenizer} for training, {len(held_out):,} for validation, "
    about += f"a vocabulary of {len(vocabulary):,}; "

    def report() -> str:
        nats = kind.score(model, held_out, settings.window)
        per_character = text.bits(nats, characters, len(held_out))
        validation = f"loss {nats:.4f} per token, {per_character:.3f} bits per character"
        return report_of(PROGRAM, trainer, folder, validation)

    return train_to_end(PROGRAM, trainer, settings, folder, about, fresh, report)


def model_of(settings: Settings, corpus: text.Text, vocabulary: Tokens | None) -> tuple[Any, Tokens]:
    """The model to train, and its vocabulary. The model's weights are random, or those of ``start``. Its vocabulary is
    that of the run to resume (``vocabulary``) or of ``start``, or is learned from the text."""
    sizes, data, device = settings.model, settings.data, settings.training.device
    if sizes.start:
        trained, kind = load(Path(sizes.start)), ARCHITECTURES[sizes.model]
        model = kind.model(replace(trained.model.config, **kind.dropouts(sizes.dropout)))
        model.load_state_dict(trained.model.state_dict())
        return model.to(device), vocabulary or trained.tokens
    whole = corpus.train + corpus.validation
    vocabulary = vocabulary or tokens.learn(data.tokenizer, whole, corpus.train, data.vocabulary)
    return build(sizes, len(vocabulary), device), vocabulary


def evaluated(model: Any, settings: Settings, vocabulary: Tokens, ids: Ids, characters: int) -> dict[str, float]:
    """Nats per token and bits per character of the validation text (T,). Prints text generated by the model."""
    s = settings.training
    score = ARCHITECTURES[settings.model.model].score
    loss = score(model, ids, settings.window, batch=4 * s.batch, most=s.validated)
    if s.sample:
        mg.manual_seed(s.seed)  # the same draws each time
        trained = Trained(model, vocabulary, settings)
        (sample,) = write(trained, [prompt_of(vocabulary, None)], s.sample, GenerationConfig(temperature=0.8))
        show(decode(vocabulary, sample))
    return {METRIC: loss, "bits_per_character": text.bits(loss, characters, len(ids))}
