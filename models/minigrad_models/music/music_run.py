"""A trained music model: of a run of this program, see ``minigrad_models.programs.folder``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from ..programs.folder import Program
from ..programs.models import Shapes, check_memory, configured, restored
from .chorales import VOICES
from .languages import LANGUAGES, Language
from .music_settings import Settings
from .music_transformer import Config, MusicTransformer
from .notes import PITCHES

MOST = 1 << 28  # numbers in the table of positions, which a file merely claims


class Description(TypedDict):
    """The schema of what a checkpoint says besides weights, see ``extra``."""

    program: str
    version: int
    config: dict[str, Any]
    settings: dict[str, dict[str, Any]]
    model: dict[str, Any]
    ranges: list[list[int]]


PROGRAM = Program("minigrad_models.music", 1, Description, Settings, files=("samples",), earlier=("examples.music",))


class Trained(NamedTuple):
    """A model and its language.

    Attributes:
        settings: of its training. ranges: the lowest and highest pitch of each voice that it has learned from.
        file: where it comes from.
    """

    model: MusicTransformer
    language: Language
    settings: Settings
    ranges: list[list[int]]
    file: Path

    def check(self, kind: str, command: str) -> None:
        """Raise ValueError: a command is for models of another kind."""
        if self.language.kind != kind:
            raise ValueError(
                f"{command} is for {LANGUAGES[kind].plural}, and {self.file} is a model of {self.language.plural}: "
                "choose another with --run"
            )


def extra(
    model: MusicTransformer, settings: Settings, config: dict[str, Any], ranges: list[list[int]]
) -> dict[str, Any]:
    """The rest of a checkpoint, which makes it complete; resuming compares ``config``."""
    return PROGRAM.described(settings, config, model=asdict(model.config), ranges=ranges)


def build(settings: Settings) -> MusicTransformer:
    """A new model. Raises ValueError: sizes that it cannot have, or that are too large for the machine's memory."""
    config, device = settings.config(), settings.training.device
    matrices = config.layers * (4 * config.d_model**2 + 2 * config.d_model * config.d_ff)
    tables = config.vocabulary + config.positions + config.layers * config.distances
    check_memory(matrices + tables * config.d_model, device)
    return MusicTransformer(config).to(device)


def load(path: Path, device: str = "cpu") -> Trained:
    """The model of a run (if it is not finished, the best so far), or of a file. Raises FileNotFoundError: there is
    none; ValueError, RuntimeError: it is damaged, or of another program."""
    file, checkpoint, description = PROGRAM.read(path)
    try:
        settings = Settings.from_dict(description["settings"], str(file))
        language = LANGUAGES[settings.data.kind]
        config = configured(Config, description["model"])
        if config.vocabulary != language.vocabulary:
            raise ValueError(
                f"its model has {config.vocabulary:,} tokens, and {language.plural} have {language.vocabulary}"
            )
        if config.positions * config.d_model > MOST:
            raise ValueError(f"its model claims {config.positions:,} positions")
        ranges = description["ranges"]
        ordered = all(len(pair) == 2 and 0 <= pair[0] <= pair[1] < PITCHES for pair in ranges)
        if len(ranges) not in (0, len(VOICES)) or not ordered:
            raise ValueError("its ranges of voices are none")
        shapes: Shapes = {}
        if config.cycle is not None:
            shapes["place.weight"] = (config.cycle, config.d_model)
        if config.attention == "relative":
            width = config.d_model // config.heads
            table = config.heads, config.distances, width
            shapes |= {f"layers.{i}.attention.distance.weight": table for i in range(min(config.layers, 1 << 16))}
        model = restored(MusicTransformer, config, checkpoint["model"], shapes)
    except ValueError as error:
        raise ValueError(f"{file} cannot be used: {error}") from None
    return Trained(model.to(device).eval(), language, settings, ranges, file)
