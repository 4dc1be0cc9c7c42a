"""``import torch`` gives minigrad: for a program, or for the body of a ``with``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from ..backend import dtype
from ..extension import PACKAGE
from ..version import __version__

minigrad = sys.modules[PACKAGE]
Modules = dict[str, ModuleType]


class _Torch(Distribution):
    """What ``importlib.metadata`` knows of an installed package, for PyTorch's name."""

    def read_text(self, filename: str) -> str | None:
        return f"Metadata-Version: 2.1\nName: torch\nVersion: {__version__}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Path:
        return Path(minigrad.__file__).parent / path


class _Installed(DistributionFinder):
    """Among the finders of modules, one that finds no module: it answers ``importlib.metadata.version("torch")``."""

    def find_spec(self, *args: Any) -> None:
        """None."""

    def find_distributions(self, context: DistributionFinder.Context | None = None) -> list[_Torch]:
        return [_Torch()] if context is None or context.name in (None, "torch") else []


_INSTALLED: Any = _Installed()


@contextmanager
def _restoring(modules: Modules, shown: str) -> Iterator[ModuleType]:
    """A context whose end restores ``sys.modules``, and the name as whose parts dtypes show themselves."""
    try:
        yield minigrad
    finally:
        _put(modules)
        dtype.show_as(shown)
        if modules.get("torch") is not minigrad:
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not _INSTALLED]


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
    if _INSTALLED not in sys.meta_path:
        sys.meta_path.insert(0, _INSTALLED)
    return _restoring(before, dtype.show_as("torch"))


def _now() -> Modules:
    """The imported modules under the name torch."""
    return {name: module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "torch"}


def _put(modules: Modules) -> None:
    """Replace the imported modules under the name torch."""
    for name in _now():
        del sys.modules[name]
    sys.modules.update(modules)
