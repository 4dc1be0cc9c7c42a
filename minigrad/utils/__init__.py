"""Data loading, checkpointing, nested values, TensorBoard, by PyTorch's names.

``minigrad.utils.tensorboard`` is imported by its name, as in PyTorch.
"""

from typing import TYPE_CHECKING

from ..missing import names_of
from . import _pytree, checkpoint, data

__all__ = ["checkpoint", "data"]

if not TYPE_CHECKING:  # mypy knows the names above, and no others
    __getattr__ = names_of(__name__)
