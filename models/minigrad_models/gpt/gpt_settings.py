"""The settings for training a language model; see ``minigrad_models.programs.settings``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..programs.settings import FREE, LanguageUpdates, Sections, amount, chance, count, setting

MODELS = ("gpt2", "transformer-xl")
TOKENIZERS = ("characters", "bytes", "subwords")
SHAKESPEARE = "tinyshakespeare", "input.txt"  # in the folder of data sets


@dataclass(frozen=True)
class DataSettings:
    """The text and its tokenizer."""

    input: str = setting("", "a text file; sentences: bundled text; empty: Shakespeare in MINIGRAD_DATA, or sentences")
    tokenizer: str = setting("characters", "the kind of tokens", TOKENIZERS)
    vocabulary: int = count(4000, "subwords in a vocabulary, 256 or more", 1_000_000)
    held_out: float = setting(0.1, "fraction of the text, at its end, for validation", limits=(0.000001, 0.9))


@dataclass(frozen=True)
class ModelSettings:
    """The model and its sizes."""

    model: str = setting("gpt2", "the architecture", MODELS)
    start: str = setting(
        "",
        "start from the weights and tokenizer of an earlier run, or of a folder in transformers' format; this also "
        "sets the sizes",
    )
    layers: int = count(4, "layers")
    heads: int = count(4, "attention heads")
    d_model: int = count(128, "width of every layer's input and output")
    d_ff: int = amount(0, "width inside the feed-forward networks; 0: four times d_model")
    context: int = count(64, "tokens that the model sees at once; transformer-xl: tokens per segment")
    memory: int = amount(0, "transformer-xl: tokens remembered from before a segment; 0: as many as context")
    dropout: float = chance(0.0, "dropout probability for embeddings, attention and sub-layer outputs")


@dataclass(frozen=True)
class TrainingSettings(LanguageUpdates):
    """The updates and their evaluation."""

    validated: int = amount(200_000, "maximum tokens for validation during training; 0: no limit")
    sample: int = amount(200, "tokens of sample text generated at each evaluation; 0: none")


@dataclass(frozen=True)
class Settings(Sections):
    """All sections. Raises a ValueError that names the setting if a value is out of range."""

    PRESETS = Path(__file__).parent / "presets"
    FREE = FREE | {"sample"}

    data: DataSettings = field(default_factory=DataSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes, training = self.model, self.training
        training.check(sizes.d_model, sizes.heads, sizes.context)
        if sizes.memory and sizes.model != "transformer-xl":
            raise ValueError(f"memory is {sizes.memory}, but only transformer-xl has a memory: set it to 0")
        if training.ranks > 1 and sizes.model == "transformer-xl":
            there = f"ranks is {training.ranks}, but {sizes.model} needs 1"
            raise ValueError(f"{there}: each update passes its memory to the next within one process")
        if self.data.tokenizer == "subwords" and self.data.vocabulary < 256 and not sizes.start:
            raise ValueError(f"vocabulary is {self.data.vocabulary}, but subwords need at least 256, one per byte")

    @property
    def window(self) -> int:
        """The number of tokens in a training example."""
        return self.training.window or self.model.context
