"""Data loading, checkpointing, finite differences, nested values, TensorBoard, by PyTorch's names.

``minigrad.utils.tensorboard`` is imported by its name, as in PyTorch.
"""

from . import _pytree, checkpoint, data

__all__ = ["checkpoint", "data"]
