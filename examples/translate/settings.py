"""All that a training depends on, in four sections, with presets and configuration files in TOML.

What is not given keeps its default; a preset or a ``--config`` file comes before the defaults, and options of
the command line before both. The files in ``presets/`` have every setting written out.
"""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args, get_type_hints

PRESETS = Path(__file__).parent / "presets"
# Where a training runs and what is done besides: these may change when it goes on, its result does not.
FREE = {"device", "minutes", "tensorboard", "save_seconds", "log_every"}


def _says(default: Any, text: str, choices: tuple[str, ...] = ()) -> Any:
    """A setting with its default and what ``--help`` and the configuration files say about it."""
    return field(default=default, metadata={"help": text, "choices": choices})


@dataclass(frozen=True)
class DataSettings:
    """The sentence pairs, and how they become tokens."""

    data: tuple[str, ...] = _says((), "a folder, a .tsv table or two files; empty: the shipped corpus")
    source: str = _says("en", "in a folder, the source files' ending")
    target: str = _says("de", "in a folder, the target files' ending")
    pairs: int = _says(0, "train with the first so many pairs alone; 0: with all")
    tokenizer: str = _says("subwords", "what a token is", ("subwords", "words"))
    vocabulary: int = _says(10_000, "subwords in a vocabulary")
    joint: bool = _says(True, "one vocabulary, and one embedding, for both languages")
    subword_model: str = _says("bpe", "how subwords are found", ("bpe", "unigram"))
    lowercase: bool = _says(False, "make all text lower-case")
    normalization: str = _says("nfc", "Unicode normalisation", ("nfc", "nfkc", "none"))
    longest: int = _says(256, "pairs with more tokens on a side are left out of the training")
    held_out: int = _says(1000, "pairs to validate, and to test, if the data has none; a twentieth at most")


@dataclass(frozen=True)
class ModelSettings:
    """The sizes of the transformer."""

    layers: int = _says(4, "layers of the encoder, and of the decoder")
    d_model: int = _says(128, "width of every layer's input and output")
    heads: int = _says(4, "attention heads")
    d_ff: int = _says(256, "width inside the feed-forward networks")
    norm_first: bool = _says(True, "normalise before each sub-layer (Xiong et al. 2020), not after it")
    positions: int = _says(1024, "the longest sentence that the model reads or writes, in tokens")
    position_encoding: str = _says(
        "sinusoidal",
        "how order is told: sines added to embeddings, or attention by distance (Su et al. 2021)",
        ("sinusoidal", "rotary"),
    )
    dropout: float = _says(0.3, "probability of dropout where a sub-layer's result is added")
    attention_dropout: float = _says(0.0, "probability of dropout of attention weights")
    activation_dropout: float = _says(0.0, "probability of dropout inside the feed-forward networks")
    embedding_dropout: float = _says(-1.0, "probability of dropout of embeddings; -1: as dropout")


@dataclass(frozen=True)
class TrainingSettings:
    """The updates, and what keeps a small corpus from being learned by heart."""

    steps: int = _says(8000, "updates")
    minutes: float = _says(0.0, "stop after so many minutes of training; 0: no limit")
    batch_tokens: int = _says(4096, "at most so many tokens a side in a batch, padding included")
    accumulate: int = _says(1, "batches whose gradients make one update")
    processes: int = _says(1, "processes that share these batches, on the CPU; at most accumulate")
    optimizer: str = _says("adamw", "Adam, or Muon for the matrices of the layers", ("adamw", "muon"))
    learning_rate: float = _says(0.005, "the highest learning rate")
    warm_up: int = _says(2000, "updates in which the learning rate rises")
    schedule: str = _says(
        "inverse_sqrt", "how it falls afterwards", ("inverse_sqrt", "inverse_sqrt_with_decay", "linear", "cosine")
    )
    decay_fraction: float = _says(0.4, "part of the updates in which inverse_sqrt_with_decay falls to zero")
    weight_decay: float = _says(0.0, "decoupled weight decay (AdamW)")
    clip: float = _says(1.0, "the largest norm of the gradient; 0: not clipped")
    label_smoothing: float = _says(0.1, "probability shared among all tokens but the right one")
    r_drop: float = _says(0.0, "weight of R-Drop's divergence between two passes; 0: one pass")
    r_drop_after: int = _says(0, "epochs without R-Drop at first, at half the time each")
    subword_dropout: float = _says(0.0, "probability that a merge of subwords is left out (BPE-dropout)")
    word_dropout: float = _says(0.0, "probability that the model reads <unk> in place of a token")
    both_ways: int = _says(0, "epochs at first in which half of the pairs are learned from target to source")
    evaluate_every: int = _says(500, "updates between evaluations")
    patience: int = _says(0, "stop after so many evaluations without a better one; 0: never")
    metric: str = _says("bleu", "what decides which checkpoint is best", ("bleu", "loss"))
    snapshot_every: int = _says(125, "updates between the snapshots that are averaged")
    average: int = _says(10, "how many of the last snapshots are averaged; 0: the last weights are taken")
    ema: float = _says(0.0, "decay of the exponential moving average that is taken in their place; 0: none")
    save_seconds: float = _says(60.0, "seconds between checkpoints; 0: with snapshots and evaluations alone")
    log_every: int = _says(20, "updates between lines of the log")
    tensorboard: bool = _says(False, "write a log for TensorBoard as well")
    seed: int = _says(0, "the same seed gives the same model, to the bit")
    device: str = _says("cpu", '"cpu", "cuda" or "cuda:1"')


@dataclass(frozen=True)
class DecodingSettings:
    """How translations are searched for."""

    beam: int = _says(5, "follow the so many likeliest beginnings; 1: greedy")
    length_penalty: float = _says(1.0, "exponent of the length that log-probabilities are divided by")
    coverage_penalty: float = _says(0.0, "weight of the penalty for source words that were not looked at")
    mbr: float = _says(
        0.0, "choose of the beam by minimum Bayes risk, with weights exp(mbr · score); 0: the best score"
    )


@dataclass(frozen=True)
class Settings:
    """All sections.

    Raises:
        ValueError: a value that makes no sense; the message names the setting.
    """

    data: DataSettings = field(default_factory=DataSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    decoding: DecodingSettings = field(default_factory=DecodingSettings)

    def __post_init__(self) -> None:
        for name, least, most in LIMITS:
            value = getattr(getattr(self, SECTION[name]), name)
            if not least <= value <= most:
                raise ValueError(f"{name} is {value}, and should be from {least:g} to {most:g}")
        for name, (_, kind, described) in FIELDS.items():
            value = getattr(getattr(self, SECTION[name]), name)
            choices = described.metadata["choices"]
            if kind is str and choices and value not in choices:
                raise ValueError(f"{name} is {value!r}, and should be one of: {', '.join(choices)}")
        if self.model.d_model % self.model.heads or self.model.d_model % 2:
            raise ValueError(
                f"d_model ({self.model.d_model}) must be even and a multiple of heads ({self.model.heads})"
            )
        subwords = self.data.tokenizer == "subwords"
        if self.training.subword_dropout and not (subwords and self.data.subword_model == "bpe"):
            raise ValueError("subword_dropout needs tokenizer = 'subwords' and subword_model = 'bpe'")
        if self.training.both_ways and not self.data.joint:
            raise ValueError("both_ways needs joint = true: one vocabulary for both languages")
        if not subwords and (self.data.lowercase or not self.data.joint or self.data.subword_model != "bpe"):
            raise ValueError("lowercase, joint = false and subword_model need tokenizer = 'subwords'")

    def changed(self, values: dict[str, Any]) -> Settings:
        """These settings with others in the place of those named, whatever their section."""
        parts = {}
        for part in dataclasses.fields(self):
            own = {k: v for k, v in values.items() if SECTION[k] == part.name}
            parts[part.name] = dataclasses.replace(getattr(self, part.name), **own)
        return Settings(**parts)

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """By section, in TOML's and JSON's types."""
        return {
            part: {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
            for part, values in dataclasses.asdict(self).items()
        }

    def fixed(self) -> dict[str, Any]:
        """What must be the same for a training to go on: all that its result depends on."""
        parts = self.as_dict()
        return {k: v for part in ("data", "model", "training") for k, v in parts[part].items() if k not in FREE}

    @classmethod
    def from_dict(cls, parts: dict[str, dict[str, Any]], where: str = "the configuration") -> Settings:
        """Read what ``as_dict`` or a TOML file gave; what is missing keeps its default.

        Raises:
            ValueError: an unknown section or setting, or a value of another type; it names ``where``.
        """
        return cls().changed(_checked(parts, where))


def _sections() -> dict[str, type]:
    hints = get_type_hints(Settings)
    return {part.name: hints[part.name] for part in dataclasses.fields(Settings)}


# name -> (section, type, field) of every setting: names are unique, so that options need no prefix
FIELDS: dict[str, tuple[str, Any, Any]] = {
    one.name: (section, get_type_hints(kind)[one.name], one)
    for section, kind in _sections().items()
    for one in dataclasses.fields(kind)
}
SECTION = {name: section for name, (section, _, _) in FIELDS.items()}
_MANY = 1e9
LIMITS = [
    *(
        (name, 1, _MANY)
        for name in (
            "vocabulary",
            "longest",
            "layers",
            "d_model",
            "heads",
            "d_ff",
            "positions",
            "steps",
            "batch_tokens",
            "accumulate",
            "processes",
            "warm_up",
            "evaluate_every",
            "snapshot_every",
            "log_every",
            "beam",
        )
    ),
    *(
        (name, 0, _MANY)
        for name in (
            "minutes",
            "learning_rate",
            "weight_decay",
            "clip",
            "r_drop",
            "r_drop_after",
            "both_ways",
            "patience",
            "average",
            "save_seconds",
            "held_out",
            "pairs",
            "coverage_penalty",
            "mbr",
        )
    ),
    *(
        (name, 0, 0.999999)
        for name in (
            "dropout",
            "attention_dropout",
            "activation_dropout",
            "label_smoothing",
            "subword_dropout",
            "word_dropout",
            "ema",
        )
    ),
    ("embedding_dropout", -1, 0.999999),
    ("decay_fraction", 0, 1),
    ("length_penalty", -10, 10),
    ("seed", 0, 2**63 - 1),
]


# Files ------------------------------------------------------------------------------------------------------


def preset_names() -> list[str]:
    """The presets that there are."""
    return sorted(path.stem for path in PRESETS.glob("*.toml"))


def preset(name: str) -> Settings:
    """The settings of a preset: "toy", "multi30k" or "base"."""
    if name not in preset_names():
        raise ValueError(f"there is no preset {name!r}; there are {', '.join(preset_names())}")
    return read(PRESETS / f"{name}.toml")


def read(path: Path) -> Settings:
    """The settings of a TOML file.

    Raises:
        FileNotFoundError: it is not there. ValueError: not TOML, or settings that make no sense.
    """
    try:
        parts = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from None
    try:
        return Settings.from_dict(parts, str(path))
    except ValueError as error:
        raise ValueError(str(error) if str(path) in str(error) else f"{path}: {error}") from None


def _checked(parts: dict[str, Any], where: str) -> dict[str, Any]:
    """Settings by name, each known and of its type."""
    found = {}
    for section, values in parts.items():
        if section not in _sections() or not isinstance(values, dict):
            raise ValueError(f"{where}: there is no section [{section}]; there are {', '.join(_sections())}")
        for name, value in values.items():
            if SECTION.get(name) != section:
                near = difflib.get_close_matches(name, FIELDS, 1)
                meant = f"; do you mean {near[0]!r} in [{SECTION[near[0]]}]?" if near else ""
                raise ValueError(f"{where}: [{section}] has no setting {name!r}{meant}")
            found[name] = _typed(name, value, where)
    return found


def _typed(name: str, value: Any, where: str) -> Any:
    _, kind, _ = FIELDS[name]
    if get_args(kind):  # tuple[str, ...]
        if isinstance(value, list) and all(isinstance(v, str) for v in value):
            return tuple(value)
    elif kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    elif type(value) is kind:
        return value
    wanted = "list of strings" if get_args(kind) else kind.__name__
    raise ValueError(f"{where}: {name} is {value!r}, and should be of type {wanted}")


def meaning(name: str) -> str:
    """What a setting is, and what it may be."""
    described = FIELDS[name][2].metadata
    return str(described["help"]) + (f": {', '.join(described['choices'])}" if described["choices"] else "")


def as_toml(settings: Settings, title: str) -> str:
    """The settings as a TOML file, each with its meaning."""
    try:
        import tomlkit
    except ImportError:
        raise ImportError(
            "to write settings needs tomlkit: pip install 'minigrad[translate]' (or pip install tomlkit)"
        ) from None
    document = tomlkit.document()
    document.add(tomlkit.comment(title))
    for section, values in settings.as_dict().items():
        table = tomlkit.table()
        for name, value in values.items():
            item = tomlkit.item(value)
            item.comment(meaning(name))
            table.add(name, item)
        document.add(tomlkit.nl())
        document.add(section, table)
    return tomlkit.dumps(document)
