"""The settings of a training in four sections, with presets and configuration files in TOML.

Options of the command line override a preset or a ``--config`` file, and these override the defaults. The files
in ``presets/`` contain every setting.
"""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args, get_type_hints

from minigrad.serialization.schema import short

MODELS = (
    "transformer",
    "convolution",
    *(cell + kind for cell in ("rnn", "lstm", "gru") for kind in ("", "-attention", "-multiplicative")),
)
PRESETS = Path(__file__).parent / "presets"
# Settings that do not affect the result of a training: they may change when it resumes.
FREE = {"device", "minutes", "tensorboard", "save_seconds", "log_every"}


def _setting(default: Any, text: str, choices: tuple[str, ...] = ()) -> Any:
    """A setting with its default, and its text for ``--help`` and configuration files."""
    return field(default=default, metadata={"help": text, "choices": choices})


@dataclass(frozen=True)
class DataSettings:
    """The sentence pairs, and how they become tokens."""

    data: tuple[str, ...] = _setting((), "a folder, a .tsv table or two files; empty: the shipped corpus")
    source: str = _setting("en", "in a folder, the last part of the source files' names")
    target: str = _setting("de", "in a folder, the last part of the target files' names")
    pairs: int = _setting(0, "the number of pairs to train with, from the first on; 0: all")
    tokenizer: str = _setting("subwords", "the kind of tokens", ("subwords", "words"))
    vocabulary: int = _setting(10_000, "subwords in a vocabulary")
    joint: bool = _setting(True, "one vocabulary, and one embedding, for both languages")
    subword_model: str = _setting("bpe", "the model of subwords", ("bpe", "unigram"))
    lowercase: bool = _setting(False, "make all text lower-case")
    normalization: str = _setting("nfc", "Unicode normalisation", ("nfc", "nfkc", "none"))
    longest: int = _setting(256, "the most tokens on a side of a training pair; longer pairs are left out")
    held_out: int = _setting(
        1000, "pairs for validation, and for testing, if the data has none; at most a twentieth of all"
    )


@dataclass(frozen=True)
class ModelSettings:
    """The model and its sizes. Only the transformer has heads, d_ff and what follows them; only others have hidden."""

    model: str = _setting("transformer", "the architecture: the transformer, or what it replaced", MODELS)
    hidden: int = _setting(256, "width of a recurrent or convolutional layer")
    kernel: int = _setting(3, "tokens that a convolution mixes, an odd number")
    layers: int = _setting(4, "layers of the encoder, and of the decoder")
    d_model: int = _setting(128, "width of every layer's input and output")
    heads: int = _setting(4, "attention heads")
    d_ff: int = _setting(256, "width inside the feed-forward networks")
    norm_first: bool = _setting(True, "normalise before each sub-layer (Xiong et al. 2020), not after it")
    positions: int = _setting(1024, "the longest sentence that the model reads or writes, in tokens")
    position_encoding: str = _setting(
        "sinusoidal",
        "positions: sines added to embeddings, or attention by distance (Su et al. 2021)",
        ("sinusoidal", "rotary"),
    )
    dropout: float = _setting(0.3, "probability of dropout of the sub-layers' outputs")
    attention_dropout: float = _setting(0.0, "probability of dropout of attention weights")
    activation_dropout: float = _setting(0.0, "probability of dropout inside the feed-forward networks")
    embedding_dropout: float = _setting(-1.0, "probability of dropout of embeddings; -1: as dropout")


@dataclass(frozen=True)
class TrainingSettings:
    """The updates, and regularisation."""

    steps: int = _setting(8000, "updates")
    minutes: float = _setting(0.0, "the most minutes of training; 0: no limit")
    batch_tokens: int = _setting(4096, "the most tokens on a side of a batch, padding included")
    accumulate: int = _setting(1, "batches whose gradients make one update")
    processes: int = _setting(1, "processes that share these batches, on the CPU; at most accumulate")
    optimizer: str = _setting("adamw", "Adam, or Muon for the matrices of the layers", ("adamw", "muon"))
    learning_rate: float = _setting(0.005, "the highest learning rate")
    warm_up: int = _setting(2000, "updates in which the learning rate rises")
    schedule: str = _setting(
        "inverse_sqrt", "the fall of the learning rate", ("inverse_sqrt", "inverse_sqrt_with_decay", "linear", "cosine")
    )
    decay_fraction: float = _setting(0.4, "the part of all updates in which inverse_sqrt_with_decay falls to zero")
    weight_decay: float = _setting(0.0, "decoupled weight decay (AdamW)")
    clip: float = _setting(1.0, "the largest norm of the gradient; 0: no limit")
    label_smoothing: float = _setting(0.1, "probability that is shared among all wrong tokens")
    r_drop: float = _setting(0.0, "weight of R-Drop's divergence between two passes; 0: one pass")
    r_drop_after: int = _setting(0, "first epochs without R-Drop, which take half the time")
    subword_dropout: float = _setting(0.0, "probability of skipping a merge of subwords (BPE-dropout)")
    word_dropout: float = _setting(0.0, "probability that the model reads <unk> in place of a token")
    both_ways: int = _setting(0, "first epochs, in which half of the pairs are learned from target to source")
    evaluate_every: int = _setting(500, "updates between evaluations")
    patience: int = _setting(0, "evaluations without improvement before the training stops; 0: no limit")
    metric: str = _setting("bleu", "the metric of the best checkpoint", ("bleu", "loss"))
    snapshot_every: int = _setting(125, "updates between snapshots of the weights")
    average: int = _setting(10, "the number of last snapshots to average; 0: the last weights alone")
    ema: float = _setting(0.0, "decay of an exponential moving average, which replaces that of snapshots; 0: none")
    save_seconds: float = _setting(60.0, "seconds between checkpoints; 0: only with snapshots and evaluations")
    log_every: int = _setting(20, "updates between lines of the log")
    tensorboard: bool = _setting(False, "write a log for TensorBoard as well")
    seed: int = _setting(0, "the same seed gives the same model, to the bit")
    device: str = _setting("cpu", '"cpu", "cuda" or "cuda:1"')


@dataclass(frozen=True)
class DecodingSettings:
    """The search for translations."""

    beam: int = _setting(5, "the width of the beam search; 1: greedy")
    length_penalty: float = _setting(1.0, "exponent of the length by which log-probabilities are divided")
    coverage_penalty: float = _setting(0.0, "weight of the penalty for source words without attention")
    mbr: float = _setting(
        0.0, "choose from the beam by minimum Bayes risk, with weights exp(mbr · score); 0: the best score"
    )


@dataclass(frozen=True)
class Settings:
    """All sections.

    Raises:
        ValueError: a value out of range; the message names the setting.
    """

    data: DataSettings = field(default_factory=DataSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    decoding: DecodingSettings = field(default_factory=DecodingSettings)

    def __post_init__(self) -> None:
        for name, least, most in LIMITS:
            value = getattr(getattr(self, SECTION[name]), name)
            if not least <= value <= most:
                raise ValueError(f"{name} is {short(value)}, and should be from {least:g} to {most:g}")
        for name, (_, kind, definition) in FIELDS.items():
            value = getattr(getattr(self, SECTION[name]), name)
            choices = definition.metadata["choices"]
            if kind is str and choices and value not in choices:
                raise ValueError(f"{name} is {short(value)}, and should be one of: {', '.join(choices)}")
        sizes = self.model
        if sizes.model == "transformer" and (sizes.d_model % sizes.heads or sizes.d_model % 2):
            raise ValueError(
                f"d_model ({self.model.d_model}) must be even and a multiple of heads ({self.model.heads})"
            )
        check_positions(self.model.positions, self.model.d_model)
        subwords = self.data.tokenizer == "subwords"
        if self.training.subword_dropout and not (subwords and self.data.subword_model == "bpe"):
            raise ValueError("subword_dropout needs tokenizer = 'subwords' and subword_model = 'bpe'")
        if self.training.both_ways and not self.data.joint:
            raise ValueError("both_ways needs joint = true: one vocabulary for both languages")
        if not subwords and (self.data.lowercase or not self.data.joint or self.data.subword_model != "bpe"):
            raise ValueError("lowercase, joint = false and subword_model need tokenizer = 'subwords'")

    def changed(self, values: dict[str, Any]) -> Settings:
        """These settings with other values, by name, in any section."""
        parts = {}
        for part in dataclasses.fields(self):
            changes = {k: v for k, v in values.items() if SECTION[k] == part.name}
            parts[part.name] = dataclasses.replace(getattr(self, part.name), **changes)
        return Settings(**parts)

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """By section, in TOML's and JSON's types."""
        return {
            part: {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
            for part, values in dataclasses.asdict(self).items()
        }

    def fixed(self) -> dict[str, Any]:
        """The settings that affect the result of a training: they may not change when it resumes."""
        parts = self.as_dict()
        return {k: v for part in ("data", "model", "training") for k, v in parts[part].items() if k not in FREE}

    @classmethod
    def from_dict(cls, parts: dict[str, dict[str, Any]], where: str = "the configuration") -> Settings:
        """Settings from ``as_dict`` or a TOML file; missing ones have their defaults.

        Raises:
            ValueError: an unknown section or setting, or a value of another type.
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
MOST_NUMBERS = 1 << 26  # of the table of positions: 256 MiB
LIMITS = [
    *(
        (name, 1, _MANY)
        for name in (
            "vocabulary",
            "longest",
            "layers",
            "hidden",
            "kernel",
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
    ("beam", 1, 1000),
    ("decay_fraction", 0, 1),
    ("length_penalty", -10, 10),
    ("seed", 0, 2**63 - 1),
]


def check_positions(positions: int, d_model: int) -> None:
    """Raise ValueError for so many positions that the table of their encodings would fill the memory."""
    if positions * d_model > MOST_NUMBERS:
        raise ValueError(f"positions ({positions:,}) times d_model ({d_model:,}) is more than {MOST_NUMBERS:,}")


# Files ------------------------------------------------------------------------------------------------------


def preset_names() -> list[str]:
    """The names of all presets."""
    return sorted(path.stem for path in PRESETS.glob("*.toml"))


def preset(name: str) -> Settings:
    """The settings of a preset, such as "toy"."""
    if name not in preset_names():
        raise ValueError(f"there is no preset {name!r}; there are {', '.join(preset_names())}")
    return read(PRESETS / f"{name}.toml")


def read(path: Path) -> Settings:
    """The settings of a TOML file.

    Raises:
        FileNotFoundError: there is no such file. ValueError: not TOML, or wrong settings.
    """
    if path.is_char_device():
        raise ValueError(f"{path} is a device, which may have no end, not a file")
    try:
        parts = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from None
    try:
        return Settings.from_dict(parts, str(path))
    except ValueError as error:
        raise ValueError(str(error) if str(path) in str(error) else f"{path}: {error}") from None


def _checked(parts: dict[str, Any], where: str) -> dict[str, Any]:
    """Settings by name, each known and of its type."""
    settings = {}
    for section, values in parts.items():
        if section not in _sections() or not isinstance(values, dict):
            raise ValueError(f"{where}: there is no section [{section[:60]}]; there are {', '.join(_sections())}")
        for name, value in values.items():
            if SECTION.get(name) != section:
                near = difflib.get_close_matches(name[:60], FIELDS, 1)
                hint = f"; do you mean {near[0]!r} in [{SECTION[near[0]]}]?" if near else ""
                raise ValueError(f"{where}: [{section}] has no setting {short(name)}{hint}")
            settings[name] = _typed(name, value, where)
    return settings


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
    raise ValueError(f"{where}: {name} is {short(value)}, and should be of type {wanted}")


def meaning(name: str) -> str:
    """The text of a setting, with its choices."""
    metadata = FIELDS[name][2].metadata
    return str(metadata["help"]) + (f": {', '.join(metadata['choices'])}" if metadata["choices"] else "")


def as_toml(settings: Settings, title: str) -> str:
    """The settings as a TOML file, each with its meaning."""
    try:
        import tomlkit
    except ImportError:
        raise ImportError(
            "writing settings needs tomlkit: pip install 'minigrad[translate]' (or pip install tomlkit)"
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
