"""The architectures that the ``model`` setting selects: the transformer and earlier models."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from ..programs import models
from ..text import TokenizerPair
from . import conv_seq2seq, seq2seq, transformer
from .encoder_decoder import TranslationModel
from .translation_settings import ModelSettings, check_positions


class Architecture(NamedTuple):
    """A model class, its configuration class, and the configuration arguments that the architecture's name implies."""

    model: Callable[[Any], TranslationModel]
    config: Any
    arguments: dict[str, Any]


ARCHITECTURES = {
    "transformer": Architecture(transformer.Transformer, transformer.Config, {}),
    "convolution": Architecture(conv_seq2seq.ConvSeq2Seq, conv_seq2seq.Config, {}),
    **{
        f"{cell}{suffix}": Architecture(seq2seq.Seq2Seq, seq2seq.Config, {"cell": cell, "attention": attention})
        for cell in seq2seq.CELLS
        for suffix, attention in (("", "none"), ("-attention", "additive"), ("-multiplicative", "multiplicative"))
    },
}


def configuration(sizes: ModelSettings, vocabulary: int, source_vocabulary: int | None = None) -> Any:
    """The configuration of a model. Raises ValueError if the sizes are invalid."""
    kind = ARCHITECTURES[sizes.model]
    parameters = inspect.signature(kind.config).parameters
    arguments = {name: value for name, value in vars(sizes).items() if name in parameters}
    if arguments.get("embedding_dropout", 0) < 0:
        arguments["embedding_dropout"] = None  # TOML has no None
    return kind.config(**arguments, **kind.arguments, vocabulary=vocabulary, source_vocabulary=source_vocabulary)


def build(sizes: ModelSettings, tokenizers: TokenizerPair, device: str = "cpu") -> TranslationModel:
    """A new model. Raises ValueError if the sizes are invalid or too large for the machine's memory."""
    source_vocabulary = None if tokenizers.joint else len(tokenizers.source)
    config = configuration(sizes, len(tokenizers.target), source_vocabulary)
    return models.build(ARCHITECTURES[sizes.model].model, config, device)


def restored(name: str, arguments: dict[str, Any], weights: dict[str, Any]) -> TranslationModel:
    """Restore a model from the ``arguments`` of its configuration and its ``weights``."""
    kind = ARCHITECTURES[name]
    config = models.configured(kind.config, arguments)
    check_positions(config.positions, config.d_model)
    return models.restored(kind.model, config, weights)
