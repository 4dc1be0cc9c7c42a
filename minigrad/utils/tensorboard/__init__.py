"""Writes TensorBoard files. Importing SummaryWriter raises ImportError if TensorBoard is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...backend.extras import how_to_install

if TYPE_CHECKING:
    from .writer import SummaryWriter

__all__ = ["SummaryWriter"]


def __getattr__(name: str) -> Any:
    """The class, if TensorBoard is installed. Programs test for TensorBoard by importing the class."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import tensorboard
    except ImportError as error:
        command = how_to_install("tensorboard")
        raise ImportError(f"SummaryWriter needs tensorboard ({error}): {command}") from error
    from .writer import SummaryWriter

    return SummaryWriter
