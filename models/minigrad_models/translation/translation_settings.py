"""The settings of a training run, in four sections. Command-line options override a preset or ``--config`` file, which
overrides the defaults. The files in ``presets/`` contain every setting."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from ..programs.settings import ALMOST_ONE, FREE, Sections, Updates, amount, chance, count, setting
from ..text.scores import tokenizer_for

LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")  # "de", "zh-CN", "zho_Hans"
BLEU_TOKENIZERS = ("auto", "13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none")
MODELS = (
    "transformer",
    "convolution",
    *(cell + kind for cell in ("rnn", "lstm", "gru") for kind in ("", "-attention", "-multiplicative")),
)
PRESETS = Path(__file__).parent / "presets"
MOST_TOKENS = 1_000_000  # as in ``check_vocabulary`` in minigrad_models.text.subwords, which is not imported here


@dataclass(frozen=True)
class DataSettings:
    """The sentence pairs and their tokenizers."""

    data: tuple[str, ...] = setting((), "a folder, a .tsv table or two files; empty: the bundled corpus")
    source: str = setting("en", "last part of the source files' names in a folder")
    target: str = setting("de", "last part of the target files' names in a folder")
    pairs: int = amount(0, "train with the first N pairs; 0: all")
    tokenizer: str = setting("subwords", "the kind of tokens", ("subwords", "words"))
    vocabulary: int = count(10_000, "subwords in a vocabulary", MOST_TOKENS)
    joint: bool = setting(True, "one vocabulary, and one embedding, for both languages")
    split_digits: bool = setting(False, "each digit is a separate token")
    longest: int = count(256, "maximum tokens on either side of a training pair; longer pairs are left out")
    held_out: int = amount(1000, "pairs for validation and test, if the data has none; at most a twentieth of all")


@dataclass(frozen=True)
class ModelSettings:
    """The model and its sizes. A model ignores settings that it lacks: only transformers have heads."""

    model: str = setting("transformer", "the architecture: the transformer, or a predecessor", MODELS)
    start: str = setting("", "start from the weights and vocabularies of an earlier run; this also sets the sizes")
    hidden: int = count(256, "width of a recurrent or convolutional layer")
    kernel: int = count(3, "kernel size of a convolution in tokens, an odd number")
    layers: int = count(4, "layers in the encoder, and in the decoder")
    d_model: int = count(128, "width of every layer's input and output")
    heads: int = count(4, "attention heads")
    d_ff: int = count(256, "width inside the feed-forward networks")
    norm_first: bool = setting(True, "normalise before each sub-layer (Xiong et al. 2020), not after it")
    positions: int = count(1024, "the longest sentence that the model reads or writes, in tokens")
    position_encoding: str = setting(
        "sinusoidal", "sinusoids added to embeddings, or rotary attention (Su et al. 2021)", ("sinusoidal", "rotary")
    )
    dropout: float = chance(0.3, "dropout probability for sub-layer outputs")
    attention_dropout: float = chance(0.0, "dropout probability for attention weights")
    activation_dropout: float = chance(0.0, "dropout probability inside the feed-forward networks")
    embedding_dropout: float = setting(-1.0, "dropout of embeddings; -1: same as dropout", limits=(-1, ALMOST_ONE))


@dataclass(frozen=True)
class TrainingSettings(Updates):
    """The updates and their regularisation."""

    batch_tokens: int = count(4096, "maximum tokens on either side of a batch, including padding")
    label_smoothing: float = chance(0.1, "probability shared among all wrong tokens")
    r_drop: float = amount(0.0, "weight of R-Drop's divergence between two passes; 0: one pass")
    metric: str = setting("bleu", "metric that selects the best checkpoint", ("bleu", "loss"))
    bleu_tokenizer: str = setting("auto", "sacreBLEU's tokenizer; auto: chosen by the target language", BLEU_TOKENIZERS)


@dataclass(frozen=True)
class DecodingSettings:
    """The search for translations."""

    beam: int = setting(5, "beam width; 1: greedy", limits=(1, 1000))
    length_penalty: float = setting(1.0, "exponent of the length that divides log-probabilities", limits=(-10, 10))
    mbr: float = amount(0.0, "select by minimum Bayes risk, with weights exp(mbr · score); 0: the best score")
    early_stopping: bool = setting(False, "stop once the beam has as many finished texts as its width, as in fairseq")


@dataclass(frozen=True)
class Settings(Sections):
    """All sections. Raises a ValueError that names the setting if a value is out of range."""

    PRESETS, FREE, LATER = PRESETS, FREE, ("decoding",)

    data: DataSettings = field(default_factory=DataSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    decoding: DecodingSettings = field(default_factory=DecodingSettings)

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = self.model
        if sizes.model == "transformer" and (sizes.d_model % sizes.heads or sizes.d_model % 2):
            raise ValueError(f"d_model ({sizes.d_model}) must be even and a multiple of heads ({sizes.heads})")
        check_positions(sizes.positions, sizes.d_model)
        if self.data.tokenizer != "subwords" and not self.data.joint:
            raise ValueError("joint = false needs tokenizer = 'subwords'")

    @property
    def bleu_tokenizer(self) -> str:
        """The sacreBLEU tokenizer for the target language."""
        choice = self.training.bleu_tokenizer
        return tokenizer_for(self.data.target if self.data.data else "") if choice == "auto" else choice


def languages(data: tuple[str, ...]) -> dict[str, str]:
    """The two languages, read from file names such as "a.en.gz b.fr". For a table or other names, they are "source" and
    "target"; for a folder, there are none."""
    if len(data) == 1 and Path(data[0]).is_dir():
        return {}
    if len(data) == 2:
        endings = [Path(path.removesuffix(".gz")).suffix.removeprefix(".") for path in data]
        if all(LANGUAGE.fullmatch(ending) and ending != "txt" for ending in endings):
            return dict(zip(("source", "target"), endings, strict=True))
    return {"source": "source", "target": "target"}


FIELDS = Settings.fields()
MOST_NUMBERS = 1 << 26  # in the position table: 256 MiB
preset_names, preset, read, as_toml = Settings.preset_names, Settings.preset, Settings.read, Settings.as_toml


def check_positions(positions: int, d_model: int) -> None:
    """Raise ValueError if the table of position encodings would fill the memory."""
    if positions * d_model > MOST_NUMBERS:
        raise ValueError(f"positions ({positions:,}) times d_model ({d_model:,}) exceeds {MOST_NUMBERS:,}")
