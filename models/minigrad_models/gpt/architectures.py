"""The models that a run may train, by the setting ``model``. A new one is an entry of ``ARCHITECTURES``, and its name
in ``settings.MODELS``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from minigrad import Tensor

from ..programs.models import Shapes, check_memory, check_shapes, configured, fill
from ..programs.validation import Batch, Score, score_windows
from ..text import Recurrence
from . import gpt2, transformer_xl
from .gpt_settings import ModelSettings
from .segments import score_segments, segments
from .text import Windows


class Architecture(NamedTuple):
    """A model, and how it is made, trained and scored.

    The model has ``config``, with vocabulary, d_model, layers and d_ff; ``context``, the tokens that it sees at most,
    or None if it reads texts of any length; and ``begin(prompts)``, with a ``stride`` if it has a context: see
    ``models.gpt2.GPT2``. If it is a ``Pretrained``, it can be exported.

    Attributes:
        model: its class. config: the class of its configuration.
        configure: of the settings, and the size of the vocabulary, the configuration.
        sizes: of a configuration, the settings that say the same.
        shapes: of a configuration, shapes of weights that prove all its sizes.
        loss: makes the loss function of a training: (model, batch) -> the mean loss, and the number of targets. A
            ``Recurrence`` is carried from update to update.
        batches: of a training, made as ``Windows`` is.
        score: the loss of a text, see ``score_windows``.
    """

    model: Any
    config: Any
    configure: Callable[[ModelSettings, int], Any]
    sizes: Callable[[Any], dict[str, Any]]
    shapes: Callable[[Any], Shapes]
    loss: Callable[[], Callable[[Any, Any], tuple[Tensor, float]]]
    batches: Any
    score: Score


def loss(model: Any, batch: Batch) -> tuple[Tensor, float]:
    """The mean cross-entropy of a batch, and the number of its targets."""
    return model.loss(batch.tokens, batch.targets), float(batch.weight)


def gpt2_config(s: ModelSettings, vocabulary: int) -> gpt2.Config:
    """GPT-2 in other sizes."""
    return gpt2.Config(vocabulary, s.context, s.d_model, s.heads, s.layers, s.d_ff, s.dropout, s.dropout, s.dropout)


def gpt2_sizes(config: gpt2.Config) -> dict[str, Any]:
    """The settings of a GPT-2."""
    names = ("layers", "heads", "d_model", "d_ff")
    return {**{name: getattr(config, name) for name in names}, "context": config.positions}


def gpt2_shapes(config: gpt2.Config) -> Shapes:
    """The embeddings, and a matrix of each layer."""
    tables = {"embedding.weight": config.vocabulary, "position_embedding.weight": config.positions}
    layers = range(min(config.layers, 1 << 16))  # a file may claim any number
    inner = {f"layers.{i}.feed_forward.inner.weight": (config.d_ff, config.d_model) for i in layers}
    return {**{name: (size, config.d_model) for name, size in tables.items()}, **inner}


def xl_config(s: ModelSettings, vocabulary: int) -> transformer_xl.Config:
    """Transformer-XL with GPT-2's norms and activation: what differs is the memory, and how it knows positions."""
    sizes = s.d_model, s.heads, s.layers, s.d_ff or 4 * s.d_model, s.context, s.memory or s.context
    dropouts = s.dropout, s.dropout, s.dropout
    return transformer_xl.Config(vocabulary, *sizes, *dropouts, activation="gelu_tanh", norm_first=True)


def xl_sizes(config: transformer_xl.Config) -> dict[str, Any]:
    """The settings of a Transformer-XL."""
    names = ("layers", "heads", "d_model", "d_ff", "memory")
    return {**{name: getattr(config, name) for name in names}, "context": config.segment}


def xl_shapes(config: transformer_xl.Config) -> Shapes:
    """The embedding, u, and a matrix of each layer."""
    layers = range(min(config.layers, 1 << 16))  # a file may claim any number
    inner = {f"layers.{i}.feed_forward.inner.weight": (config.d_ff, config.d_model) for i in layers}
    u = (1 if config.shared else config.layers, config.heads, 1, config.d_model // config.heads)
    return {"embedding.weight": (config.vocabulary, config.d_model), "u": u, **inner}


ARCHITECTURES = {
    "gpt2": Architecture(
        gpt2.GPT2, gpt2.Config, gpt2_config, gpt2_sizes, gpt2_shapes, lambda: loss, Windows, score_windows
    ),
    "transformer-xl": Architecture(
        transformer_xl.TransformerXL,
        transformer_xl.Config,
        xl_config,
        xl_sizes,
        xl_shapes,
        Recurrence,
        segments,
        score_segments,
    ),
}


def build(sizes: ModelSettings, vocabulary: int, device: str = "cpu") -> Any:
    """A new model. Raises ValueError: sizes that it cannot have, or that are too large for the machine's memory."""
    kind = ARCHITECTURES[sizes.model]
    config = kind.configure(sizes, vocabulary)
    matrices = config.layers * (4 * config.d_model**2 + 2 * config.d_model * config.d_ff)
    check_memory(matrices + (vocabulary + sizes.context) * config.d_model, device)
    return kind.model(config).to(device)


def restored(name: str, arguments: dict[str, Any], weights: dict[str, Any]) -> Any:
    """The model of a file. Raises ValueError: see ``minigrad_models.programs.models``."""
    kind = ARCHITECTURES[name]
    config = configured(kind.config, arguments)
    check_shapes(weights, kind.shapes(config))
    model = kind.model(config)
    fill(model, weights)
    return model


def copied(model: Any, sizes: ModelSettings) -> Any:
    """A trained model with the dropout of some settings."""
    kind = ARCHITECTURES[sizes.model]
    dropouts = {name: sizes.dropout for name in asdict(model.config) if name.endswith("dropout")}
    other = kind.model(replace(model.config, **dropouts))
    other.load_state_dict(model.state_dict())
    return other
