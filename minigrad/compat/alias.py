"""``import torch`` gives minigrad: for a program, or for the body of a ``with``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType

from ..backend import dtype
from ..extension import PACKAGE

minigrad = sys.modules[PACKAGE]
Modules = dict[str, ModuleType]


@contextmanager
def _restoring(modules: Modules, shown: str) -> Iterator[ModuleType]:
    """A context whose end restores ``sys.modules``, and the name as whose parts dtypes show themselves."""
    try:
        yield minigrad
    finally:
        _put(modules)
        dtype.show_as(shown)


def as_torch(replace: bool = False) -> AbstractContextManager[ModuleType]:
    """From now on ``import torch``, and every import from within it, gives minigrad.

    ``as_torch()`` lasts; ``with as_torch() as torch:`` restores ``sys.modules`` at its end. An installed PyTorch is
    neither touched nor imported. Dtypes and sizes show themselves meanwhile as PyTorch's, "torch.float32". The call
    does not reach processes started by ``spawn``.

    Args:
        replace: put an imported PyTorch aside (modules that hold it continue to use it).

    Raises:
        RuntimeError: PyTorch is already imported, and ``replace`` is False.
    """
    before = _now()
    real = before.get("torch", minigrad) is not minigrad
    if real and not replace:
        raise RuntimeError(
            "PyTorch is already imported, and tensors of the two cannot be mixed: call as_torch() before "
            "anything imports torch, or put PyTorch aside with `with as_torch(replace=True):`"
        )
    _put({"torch": minigrad} if real else {**before, "torch": minigrad})
    return _restoring(before, dtype.show_as("torch"))


def _now() -> Modules:
    """The imported modules under the name torch."""
    return {name: module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "torch"}


def _put(modules: Modules) -> None:
    """Replace the imported modules under the name torch."""
    for name in _now():
        del sys.modules[name]
    sys.modules.update(modules)
