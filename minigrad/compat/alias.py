"""``import torch`` gives minigrad: for a program, or for the body of a ``with``."""

from __future__ import annotations

import sys
from types import ModuleType, TracebackType

from ..extension import PACKAGE

minigrad = sys.modules[PACKAGE]
Modules = dict[str, ModuleType]


class _Aliased:
    """What ``as_torch`` returns: leaving it as a context puts ``sys.modules`` back."""

    def __init__(self, before: Modules) -> None:
        self._before = before

    def __enter__(self) -> ModuleType:
        return minigrad

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _put(self._before)


def as_torch(replace: bool = False) -> _Aliased:
    """From here on ``import torch``, and every import from within it, gives minigrad.

    ``as_torch()`` lasts; ``with as_torch() as torch:`` puts ``sys.modules`` back as it was at the end. An
    installed PyTorch is not touched, and not imported. Processes started by ``spawn`` are not covered.

    Args:
        replace: put a PyTorch that is already imported aside (modules that hold it go on using it).

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
    return _Aliased(before)


def _now() -> Modules:
    """The modules that are called torch."""
    return {name: module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "torch"}


def _put(modules: Modules) -> None:
    """Make these, and no others, the modules that are called torch."""
    for name in _now():
        del sys.modules[name]
    sys.modules.update(modules)
