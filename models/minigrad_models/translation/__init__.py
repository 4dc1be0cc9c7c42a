"""A translator. ``minigrad train`` trains it; the file can be loaded in Python or used from the command line.

from minigrad_models.translation import Translator

translator = Translator.load("runs/toy/model.safetensors")
for translation in translator.translate(["I like cats", "You love dogs"]):
    print(translation.text)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .translator import Attention, Hypothesis, Translation, Translator

__all__ = ["Attention", "Hypothesis", "Translation", "Translator"]


def __getattr__(name: str) -> Any:
    """Import an exported name on first use, so that the command line can list its options without the models."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import translator

    return getattr(translator, name)


def __dir__() -> list[str]:
    """List the exported names; other names are imported from their modules."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
