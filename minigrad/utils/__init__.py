"""Data loading, checkpointing, gradient checks, pytrees and TensorBoard, under PyTorch's names.

``minigrad.utils.tensorboard`` must be imported explicitly, as in PyTorch.
"""

from . import _pytree, checkpoint, data

__all__ = ["checkpoint", "data"]
