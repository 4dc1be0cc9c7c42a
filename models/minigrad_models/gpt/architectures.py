"""The models that a run may train, by the setting ``model``. A new one is an entry of ``ARCHITECTURES``, and its name
in ``gpt_settings.MODELS``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields, replace
from typing import Any, NamedTuple

from minigrad import Tensor

from ..programs import models
from ..programs.validation import Batch, Score, score_windows
from ..text import Recurrence
from .gpt2 import GPT2
from .gpt2 import Config as GPT2Config
from .gpt_settings import ModelSettings
from .text import Windows, score_segments, segments
from .transformer_xl import Config as XLConfig
from .transformer_xl import TransformerXL


class Architecture(NamedTuple):
    """A model, and how it is made, trained and scored.

    The model has ``config``, with vocabulary, d_model, layers and d_ff; ``context``, the tokens that it sees at most,
    or None if it reads texts of any length; and ``begin(prompts)``, with a ``stride`` if it has a context: see
    ``models.gpt2.GPT2``. If it is a ``Pretrained``, it can be exported.

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

    def sizes(self, config: Any) -> dict[str, Any]:
        """The settings of a configuration."""
        return {name: getattr(config, theirs) for name, theirs in self.names.items()}

    def dropouts(self, value: float) -> dict[str, float]:
        """All dropouts of the configuration."""
        return {field.name: value for field in fields(self.config) if field.name.endswith("dropout")}


def loss(model: Any, batch: Batch) -> tuple[Tensor, float]:
    """The mean cross-entropy of a batch, and the number of its targets."""
    return model.loss(batch.tokens, batch.targets), float(batch.weight)


SIZES = {name: name for name in ("layers", "heads", "d_model", "d_ff")}
ARCHITECTURES = {
    "gpt2": Architecture(GPT2, GPT2Config, {**SIZES, "context": "positions"}, {}, lambda: loss, Windows, score_windows),
    "transformer-xl": Architecture(
        TransformerXL,
        XLConfig,
        {**SIZES, "context": "segment", "memory": "memory"},
        {"activation": "gelu_tanh", "norm_first": True},  # GPT-2's: what differs is the memory, and the positions
        Recurrence,
        segments,
        score_segments,
    ),
}


def build(settings: ModelSettings, vocabulary: int, device: str = "cpu") -> Any:
    """A new model. Raises ValueError: sizes that it cannot have, or that are too large for the machine's memory."""
    kind, s = ARCHITECTURES[settings.model], settings
    values = {**asdict(s), "d_ff": s.d_ff or 4 * s.d_model, "memory": s.memory or s.context}
    sizes = {theirs: values[name] for name, theirs in kind.names.items()}
    config = kind.config(vocabulary, **sizes, **kind.dropouts(s.dropout), **kind.others)
    return models.build(kind.model, config, device)


def restored(name: str, arguments: dict[str, Any], weights: dict[str, Any]) -> Any:
    """The model of a file. Raises ValueError: see ``minigrad_models.programs.models``."""
    kind = ARCHITECTURES[name]
    return models.restored(kind.model, models.configured(kind.config, arguments), weights)


def copied(model: Any, settings: ModelSettings) -> Any:
    """A trained model with the dropout of some settings."""
    kind = ARCHITECTURES[settings.model]
    other = kind.model(replace(model.config, **kind.dropouts(settings.dropout)))
    other.load_state_dict(model.state_dict())
    return other
