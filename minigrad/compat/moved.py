"""Paths that earlier releases had for what is now in ``minigrad_models``: they work for a release, with a warning."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..autograd.tracebacks import warn
from ..extension import PACKAGE, ModuleWithoutFile

MODELS = "minigrad_models"
PLACES = {  # longer paths first
    **{f"models.{name}": f"translation.{name}" for name in ("transformer", "seq2seq", "conv_seq2seq", "r_drop")},
    **{f"models.{name}": f"generation.{name}" for name in ("cache", "causal", "continuation")},
    **{f"models.{name}": f"architectures.{name}" for name in ("autoencoder", "classifiers", "layers", "pretrained")},
    **{f"models.{name}": f"architectures.{name}" for name in ("relative", "skip_gram")},
    "models.decoding": "translation.decoding",
    "models.generation": "generation.generate",
    "models.translation": "translation.encoder_decoder",
    "models.music_transformer": "music.music_transformer",
    "models.gpt2": "gpt.gpt2",
    "models.transformer_xl": "gpt.transformer_xl",
    "models.bert": "bert.bert",
    "models": "architectures",
    "text.generate": "generation.beam_search",
    "text.risk": "generation.minimum_bayes_risk",
    "translate.inference": "translation.translate_and_evaluate",
    "translate.settings": "translation.translation_settings",
    "translate.data": "translation.translation_data",
    "translate.training": "translation.train_translator",
    "translate.run": "translation.translator_run",
    "translate.loss": "translation.translation_loss",
    "translate": "translation",
    "training.settings": "training.trainer_settings",
    **{f"viz.{name}": f"viz.{name}" for name in ("embedding", "logit_lens", "piano_roll")},
    **{f"viz.{name}": f"viz.{name}" for name in ("positional_encoding", "training")},
    **{name: name for name in ("text", "music", "training", "programs")},
}


def place(path: str) -> str | None:
    """The full name that a module has now; None if it has not moved. ``path`` is the old one, without "minigrad."."""
    for old, new in PLACES.items():
        if path == old or path.startswith(f"{old}."):
            now = f"{MODELS}.{new}{path.removeprefix(old)}"
            with suppress(ModuleNotFoundError):  # what it would be in is no package
                return now if find_spec(now) else None
    return None


def picture(name: str) -> Any:
    """A function that ``minigrad.viz`` had. Its module has the same name."""
    warn(f"{PACKAGE}.viz.{name} is now {MODELS}.viz.{name}; the old name goes in a later release", FutureWarning)
    return getattr(import_module(f"{MODELS}.viz"), name)


class Moved(ModuleWithoutFile):
    """The module at an old path: it has the names of the one at the new path.

    Args:
        name: the old path, with "minigrad.".
        now: the new one.
    """

    def __init__(self, name: str, now: str) -> None:
        super().__init__(name, f"It is now ``{now}``.")
        self._now = import_module(now)
        warn(f"{name} is now {now}; the old path goes in a later release", FutureWarning)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._now, name)

    def __dir__(self) -> list[str]:
        return dir(self._now)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """``viz.embedding(...)``, where a program has imported the module ``minigrad.viz.embedding`` as well."""
        return getattr(self._now, self.__name__.rpartition(".")[2])(*args, **named)
