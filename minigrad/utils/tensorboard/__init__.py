"""TensorBoard's files. Importing SummaryWriter from here raises ImportError where TensorBoard is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]


def __getattr__(name: str) -> Any:
    """The classes, if TensorBoard is installed: programs try the import to see whether it is."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import writer
    from .encoding import protocol

    protocol()
    return getattr(writer, name)
