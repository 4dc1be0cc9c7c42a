"""Old paths of modules that moved to ``minigrad_models``. They work for one more release, with a warning."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..autograd.tracebacks import warn
from ..extension import PACKAGE
from .absent import rows

MODELS = "minigrad_models"
_MODULES = """
models | translation.transformer translation.seq2seq translation.conv_seq2seq r_drop=translation.encoder_decoder
    decoding=translation.transformer cache=generation.continuation causal=generation.continuation
    generation.continuation generation=generation.generate
    architectures.layers architectures.pretrained relative=architectures.layers
    translation=translation.encoder_decoder music.music_transformer gpt.gpt2 gpt.transformer_xl bert.bert
text | generate=generation.beam_search risk=generation.beam_search segments=text.batching
    word_pieces=text.pretrained encoded=text.pair
translate | inference=translation.translate_and_evaluate settings=translation.translation_settings
    data=translation.translation_data training=translation.train_translator run=translation.translator
    loss=translation.train_translator validation=translation.train_translator
    evaluation=text.scores overview=translation.own_pairs suited=translation.own_pairs
music | augmentation=music.midi notes=music.midi
training | settings=training.trainer_settings lock=training.checkpoints
programs | typed=programs.folder drawing=programs.options batches=programs.validation
viz | viz.training viz.piano_roll viz.embedding viz.logit_lens viz.positional_encoding
"""
PLACES = {  # longer paths first
    f"{package}.{pair.partition('=')[0].rpartition('.')[2]}": pair.rpartition("=")[2]
    for package, pairs in rows(_MODULES)
    for pair in pairs.split()
}
PLACES |= {"models": "architectures", "translate": "translation"}
PLACES |= {name: name for name in ("text", "music", "training", "programs")}


def new_path(path: str) -> str | None:
    """A module's full new path, or None if it has not moved. ``path`` is the old path without "minigrad."."""
    for old, new in PLACES.items():
        if path == old or path.startswith(f"{old}."):
            now = f"{MODELS}.{new}{path.removeprefix(old)}"
            with suppress(ModuleNotFoundError):  # its parent is not a package
                return now if find_spec(now) else None
    return None


def picture(name: str) -> Any:
    """A function that was in ``minigrad.viz``, in a module of the same name."""
    note(f"{PACKAGE}.viz.{name}", f"{MODELS}.viz.{name}")
    return getattr(import_module(f"{MODELS}.viz"), name)


def note(old: str, new: str) -> None:
    """Warn that a name has changed."""
    warn(f"{old} is now {new}; a later release will remove the old name", FutureWarning)
