"""The models that a run may train, by the setting ``model``; and a trained one: of a run of this program, see
``minigrad_models.programs.folder``, or of a folder of transformers'.

A new model is an entry of ``ARCHITECTURES``, and its name in ``gpt_settings.MODELS``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from minigrad import Tensor
from minigrad.serialization.source import replaced
from minigrad.utils.bar import bar

from ..architectures import pretrained
from ..programs import models
from ..programs.folder import Description, Program
from ..programs.validation import Score, check_windows, mean_loss, score_windows
from ..text import Recurrence
from . import gpt2, text, tokens, transformer_xl
from .gpt_settings import ModelSettings, Settings
from .tokens import Tokens


class Architecture(NamedTuple):
    """A model, and how it is made, trained and scored.

    The model has ``config``, with vocabulary, d_model, layers and d_ff; ``context``, the tokens that it sees at most,
    or None if it reads texts of any length; and ``begin(prompts)``, with a ``stride`` if it has a context: see
    ``gpt2.GPT2``. If it is a ``Pretrained``, it can be exported.

    Attributes:
        model: its class. config: the class of its configuration.
        names: of the settings that are sizes, each with the configuration's name of it.
        others: the rest of its configuration; each dropout is the setting's.
        loss: makes the loss function of a training: (model, batch) -> the mean loss, and the number of targets. A
            ``Recurrence`` is carried from update to update.
        batches: of a training, made as ``Windows`` is.
        score: the loss of a text, see ``score_windows``.
    """

    model: Any
    config: Any
    names: dict[str, str]
    others: dict[str, Any]
    loss: Callable[[], Callable[[Any, Any], tuple[Tensor, float]]]
    batches: Any
    score: Score

    def dropouts(self, value: float) -> dict[str, float]:
        """All dropouts of the configuration."""
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
        {"activation": "gelu_tanh", "norm_first": True},  # GPT-2's: what differs is the memory, and the positions
        Recurrence,
        text.segments,
        text.score_segments,
    ),
}


def build(settings: ModelSettings, vocabulary: int, device: str = "cpu") -> Any:
    """A new model. Raises ValueError: sizes that it cannot have, or that are too large for the machine's memory."""
    kind, s = ARCHITECTURES[settings.model], settings
    values = {**asdict(s), "d_ff": s.d_ff or 4 * s.d_model, "memory": s.memory or s.context}
    sizes = {theirs: values[name] for name, theirs in kind.names.items()}
    config = kind.config(vocabulary, **sizes, **kind.dropouts(s.dropout), **kind.others)
    return models.build(kind.model, config, device)


def copied(model: Any, settings: ModelSettings) -> Any:
    """A trained model with the dropout of some settings."""
    kind = ARCHITECTURES[settings.model]
    other = kind.model(replace(model.config, **kind.dropouts(settings.dropout)))
    other.load_state_dict(model.state_dict())
    return other


class Described(Description):
    """What a checkpoint says besides weights."""

    tokenizer: dict[str, str]


PROGRAM = Program("minigrad_models.gpt", 1, Described, Settings, earlier=("examples.gpt",))


class Trained(NamedTuple):
    """A model and its vocabulary; the settings of its training, if this program has trained it."""

    model: Any
    tokens: Tokens
    settings: Settings | None

    @property
    def architecture(self) -> str:
        """The setting ``model``."""
        return next(name for name, kind in ARCHITECTURES.items() if isinstance(self.model, kind.model))

    def sizes(self) -> dict[str, Any]:
        """The settings that a training has to have that begins with this model."""
        about = {"model": self.architecture, "tokenizer": self.tokens.kind, "vocabulary": len(self.tokens)}
        names = ARCHITECTURES[self.architecture].names
        return {**about, **{name: getattr(self.model.config, theirs) for name, theirs in names.items()}}


def load(path: Path, device: str = "cpu") -> Trained:
    """The model of a run (if it is not finished, the best so far), of a file, or of a folder of transformers'."""
    if (path / pretrained.CONFIG).is_file():
        gpt = gpt2.GPT2.from_pretrained(path)
        if gpt.tokenizer is None:
            raise ValueError(f"{path} has no tokenizer: neither tokenizer.json nor vocab.json and merges.txt")
        try:
            return Trained(gpt.to(device), tokens.from_library(gpt.tokenizer), None)
        except ValueError as error:
            raise ValueError(f"{path} cannot be used: {error}") from None
    file, checkpoint, description = PROGRAM.read(path)
    try:
        settings = Settings.from_dict(description["settings"], str(file))
        kind = ARCHITECTURES[settings.model.model]
        config = models.configured(kind.config, description["model"])
        model = models.restored(kind.model, config, checkpoint["model"])
        vocabulary = tokens.from_dict(description["tokenizer"])
        if len(vocabulary) > model.config.vocabulary:
            raise ValueError("its tokenizer has more tokens than its model")
    except ValueError as error:
        raise ValueError(f"{file} cannot be used: {error}") from None
    return Trained(model.to(device).eval(), vocabulary, settings)


def export(trained: Trained, folder: Path) -> None:
    """Write a folder that transformers' GPT2LMHeadModel and AutoTokenizer read."""
    if not isinstance(trained.model, pretrained.Pretrained):
        raise ValueError(f"transformers has no model of the kind {trained.architecture}: it cannot be exported")
    trained.model.tokenizer = trained.tokens.library()
    trained.model.save_pretrained(folder)
    # Else transformers takes it for GPT-2's tokenizer, of which it reads the vocabulary alone.
    about: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    about["model_max_length"] = trained.model.config.positions
    with replaced(folder / "tokenizer_config.json") as temporary:
        Path(temporary).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def evaluate(
    path: Path, device: str = "cpu", file: Path | None = None, window: int | None = None, stride: int | None = None
) -> dict[str, float]:
    """The loss per token, perplexity, bits per character, and the numbers of tokens and characters, of a file's text or
    the validation part of the training's. For the window and stride see ``programs.validation.pieces`` and
    ``text.score_segments``; by default windows are the training's, side by side. Raises FileNotFoundError: no model, or
    no text; ValueError: a window or stride out of range, a text that is too short or has characters that the vocabulary
    lacks; and as ``load``."""
    trained = load(path, device)
    settings, most = trained.settings, trained.model.context
    if file is None and settings is None:
        raise ValueError(f"{path} says nothing of a text to evaluate with: give --input FILE")
    window = window or (settings.window if settings else most)
    check_windows(window, stride, most)
    if file is not None:
        content = text.read_file(file, "bytes" if isinstance(trained.tokens, tokens.Bytes) else "subwords")
    else:
        assert settings is not None
        content = text.read(settings.data).validation
    ids = trained.tokens.encode(content)
    if len(ids) < 2:
        raise ValueError(f"{file or 'the text'} has {len(ids)} tokens: the first is not predicted, so two are needed")
    score = ARCHITECTURES[trained.architecture].score
    with bar(len(ids) - 1, "reading", " tokens") as shown:
        loss = score(trained.model, ids, window, stride or 0, progress=shown.update)
    return {
        "loss": loss,
        "perplexity": math.exp(min(loss, 700.0)),
        "bits_per_character": text.bits(loss, len(content), len(ids)),
        "tokens": len(ids),
        "characters": len(content),
    }
