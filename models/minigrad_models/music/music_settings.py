"""The settings for training a music model; see ``minigrad_models.programs.settings``."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..programs.settings import FREE, LanguageUpdates, Sections, amount, chance, count, other, setting
from .languages import KINDS, LANGUAGES
from .music_transformer import ATTENTIONS, Config

BACH = "jsb", "Jsb16thSeparated.json"  # in the folder of data sets


@dataclass(frozen=True)
class DataSettings:
    """The music and its augmentation."""

    kind: str = setting("chorales", "four voices in sixteenth notes, or a pianist's performances", KINDS)
    data: tuple[str, ...] = setting(
        (),
        "chorales: a .json file, or .mid files with four voices; performances: .mid files; or folders; composed: the "
        "bundled chorales; empty: the data set in MINIGRAD_DATA, or else, for chorales, the bundled ones",
    )
    held_out: float = setting(
        0.1,
        "fraction held out: the last .mid files of chorales, or the end of each performance; 0: nothing is held "
        "out, and validation uses the training data",
        limits=(0, 0.9),
    )
    transpose: int = setting(
        0,
        "each epoch transposes each piece by a random -N to N - 1 semitones; 6: all twelve keys; 0: none",
        limits=(0, 24),
    )
    stretch: float = setting(
        0.0,
        "performances: each epoch slows or speeds up each piece by at most this fraction, in five steps; 0: never",
        limits=(0, 0.5),
    )


@dataclass(frozen=True)
class ModelSettings:
    """The model and its sizes."""

    attention: str = setting("relative", "attention by distance, or the plain transformer's with sinusoids", ATTENTIONS)
    layers: int = count(3, "layers")
    heads: int = count(4, "attention heads")
    d_model: int = count(128, "width of every layer's input and output")
    d_ff: int = amount(0, "width inside the feed-forward networks; 0: four times d_model")
    context: int = count(256, "tokens that the model sees at once")
    distances: int = amount(0, "distances with their own embeddings; 0: as many as context")
    cycle: int = amount(0, "tokens in a cycle whose positions have embeddings; 64: a bar of a chorale; 0: none")
    dropout: float = chance(0.1, "dropout probability for embeddings and sub-layer outputs")
    attention_dropout: float = chance(0.0, "dropout probability for attention weights")


@dataclass(frozen=True)
class TrainingSettings(LanguageUpdates):
    """The updates and their evaluation."""

    batch: int = other(LanguageUpdates, "batch", 16)
    weight_decay: float = other(LanguageUpdates, "weight_decay", 0.01)
    ema: float = other(LanguageUpdates, "ema", 0.999)
    validated: int = amount(0, "maximum pieces for validation during training; 0: all")
    sample: int = amount(8, "seconds of music generated at each evaluation; 0: none")


@dataclass(frozen=True)
class Settings(Sections):
    """All sections. Raises ValueError if a value is out of range; the message names the setting."""

    PRESETS = Path(__file__).parent / "presets"
    FREE = FREE | {"sample"}

    data: DataSettings = field(default_factory=DataSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes, training = self.model, self.training
        training.check(sizes.d_model, sizes.heads, sizes.context)
        for name, value in (("context", sizes.context), ("window", training.window)):
            if value % (2 * self.grid):
                raise ValueError(
                    f"{name} is {value}, but must be a multiple of {2 * self.grid}: windows begin at multiples of "
                    f"{self.grid} tokens and advance by half their length"
                )

    @property
    def window(self) -> int:
        """The number of tokens in a training example."""
        return self.training.window or self.model.context

    @property
    def grid(self) -> int:
        """The grid, in tokens. Windows begin at its multiples, so they begin at whole steps and cycles of the music."""
        return math.lcm(LANGUAGES[self.data.kind].unit, int(self.model.cycle) or 1)

    def config(self) -> Config:
        """The configuration of the model. Raises ValueError for invalid sizes."""
        sizes = asdict(self.model)
        context, d_model = sizes.pop("context"), self.model.d_model
        for name, usual in {"d_ff": 4 * d_model, "distances": context, "cycle": None}.items():
            sizes[name] = sizes[name] or usual  # TOML has no None, so 0 means None
        return Config(LANGUAGES[self.data.kind].vocabulary, context, **sizes)
