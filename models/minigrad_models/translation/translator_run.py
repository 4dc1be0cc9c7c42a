"""The folder of a translator's run, see ``programs.folder``; a corpus too large for memory has its token ids in the
folder ``corpus``, which is written anew where it is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NotRequired, TypedDict

from ..programs.folder import Program
from ..programs.folder import write_model as write_model
from ..text import Pairs, TokenizerPair, tokenizer_pair_from_dict
from ..text.lines import Texts
from . import english_italian as english_italian  # its scheme must be known to load a tokenizer
from .architectures import restored
from .encoder_decoder import TranslationModel
from .overview import Examples, examples_of, limited
from .translation_data import read_shipped
from .translation_settings import Settings

SHOWN = 2000  # pairs of the shipped corpus that are drawn for the words of an earlier version's model


class Description(TypedDict):
    """The schema of what a checkpoint says besides weights, see ``extra``."""

    program: str
    version: int
    config: dict[str, bool | int | float | str | list[str]]
    settings: dict[str, dict[str, bool | int | float | str | list[str]]]
    model: dict[str, Any]
    tokenizers: dict[str, Any]
    examples: NotRequired[Examples]


def configuration(settings: Settings, train: Pairs) -> dict[str, Any]:
    """The values that must not change when a training resumes: settings, and the sentences themselves."""
    sides = (train.source, train.target)
    digests = [side.digest for side in sides if isinstance(side, Texts)]
    return {**settings.fixed(), "the text of the corpus": digests}


REPORTS = ("validation.json", "test.json")
EARLIER = ("minigrad.translate", "examples.translate")
PROGRAM = Program("minigrad_models.translation", 2, Description, Settings, REPORTS, EARLIER)


def extra(
    model: TranslationModel,
    tokenizers: TokenizerPair,
    settings: Settings,
    config: dict[str, Any],
    examples: Examples | None = None,
) -> dict[str, Any]:
    """The rest of a checkpoint, which makes it complete; resuming compares ``config``."""
    more = {} if examples is None else {"examples": examples}
    return PROGRAM.described(settings, config, model=model.config.as_dict(), tokenizers=tokenizers.as_dict(), **more)


def load(path: Path, device: str) -> tuple[TranslationModel, TokenizerPair, Settings, Examples]:
    """The model of a run (if it is not finished, the best so far), or of a file, with what it shows of itself. Raises
    FileNotFoundError: there is none; ValueError, RuntimeError: it is damaged, or of another program."""
    file, checkpoint, description = PROGRAM.read(path)
    try:
        settings = Settings.from_dict(description["settings"], str(file))
        model = restored(settings.model.model, description["model"], checkpoint["model"])
        tokenizers = tokenizer_pair_from_dict(description["tokenizers"])
        lengths = {"vocabulary": len(tokenizers.target), "source_vocabulary": len(tokenizers.source)}
        if any(getattr(model.config, name) not in (None, length) for name, length in lengths.items()):
            raise ValueError("its tokenizers have other vocabularies than its model")
    except ValueError as error:
        raise ValueError(f"{file} cannot be used: {error}") from None
    examples: Examples = {"sentences": [], "words": []}
    if "examples" in description:
        examples = limited(description["examples"])
    elif not settings.data.data:  # a file of an earlier version; the shipped corpus is always there
        examples = examples_of(read_shipped(SHOWN))
    return model.to(device).eval(), tokenizers, settings, examples
