"""``import torch`` gives minigrad: for a program, or for the body of a ``with`` and what it imported, for good.

Libraries import torch again long after they have been imported: in functions, in modules that load when needed, in C.
So the packages that the body of a ``with`` imported first, and those that they import later, keep minigrad: whoever
imports torch finds its own in ``sys.modules``.
"""

from __future__ import annotations

import builtins
import os
import sys
from contextlib import AbstractContextManager, suppress
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from ..backend import dtype, random
from ..backend.version import __version__
from ..extension import PACKAGE, Alias
from . import channels_last

minigrad = sys.modules[PACKAGE]
Modules = dict[str, ModuleType]
RANKS_OF_MPI = ("OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")


class _Torch(Distribution):
    """What ``importlib.metadata`` knows of an installed package, for PyTorch's name."""

    def read_text(self, filename: str) -> str | None:
        return f"Metadata-Version: 2.1\nName: torch\nVersion: {__version__}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Path:
        return Path(minigrad.__path__[0]) / path


class _Installed(DistributionFinder):
    """A finder that answers ``importlib``'s questions about torch, which no file is there for."""

    def find_spec(self, fullname: str, *args: Any) -> ModuleSpec | None:
        """The module's spec for a keeper. (While ``sys.modules`` has torch, nobody comes to ask.)"""
        global _aside
        alias: Any = Alias(PACKAGE)
        if fullname == "functorch" and sys.modules.get("torch") is minigrad:  # PyTorch installs it beside torch
            alias = Alias(f"{PACKAGE}.functorch")
        elif fullname == "torch" and _asked_by_a_keeper():
            _aside = {}
        else:
            return None
        return ModuleSpec(fullname, alias)

    def find_distributions(self, context: Any = None) -> list[_Torch]:
        there = sys.modules.get("torch") is minigrad or _asked_by_a_keeper()
        return [_Torch()] if there and getattr(context, "name", None) in (None, "torch") else []


_INSTALLED: Any = _Installed()
_keepers: set[str] = set()  # the packages that keep minigrad after the end of a `with`
_aside: Modules | None = None  # the program's torch, while there is a keeper's in its place
_import = builtins.__import__


def _importing(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> ModuleType:
    """What an ``import`` statement calls, once there are keepers: ``builtins.__import__``."""
    if level == 0:
        keeps = globals is not None and _top(globals.get("__name__") or "") in _keepers
        if _top(name) == "torch":
            _give_torch_to(keeps)
        elif keeps and _top(name) not in sys.modules:
            _keepers.add(_top(name))
    return _import(name, globals, locals, fromlist, level)


def _give_torch_to(keeper: bool) -> None:
    """Put a keeper's torch, or the program's, into ``sys.modules``."""
    global _aside
    ours = sys.modules.get("torch") is minigrad
    if keeper and not ours:
        _aside = _now()
        _put({"torch": minigrad})
    elif not keeper and _aside is not None:
        if ours:
            _put(_aside)
        _aside = None


def _asked_by_a_keeper() -> bool:
    frame: Any = sys._getframe(2)
    while frame and _top(frame.f_globals.get("__name__", "")) in ("importlib", "_frozen_importlib"):
        frame = frame.f_back
    return frame is not None and _top(frame.f_globals.get("__name__", "")) in _keepers


def _top(name: str) -> str:
    return name.partition(".")[0]


class _Restoring(AbstractContextManager[ModuleType]):
    """A context whose end restores ``sys.modules`` and the name of dtypes. (A generator that is never left would be
    ended with the process, when modules are gone.)"""

    def __init__(self, modules: Modules, shown: str, ran_as_pytorch: bool) -> None:
        self.modules, self.shown, self.ran_as_pytorch = modules, shown, ran_as_pytorch

    def __enter__(self) -> ModuleType:
        self.before = set(map(_top, list(sys.modules)))
        return minigrad

    def __exit__(self, *raised: object) -> None:
        global _import
        _give_torch_to(keeper=False)
        _put(self.modules)
        dtype.show_as(self.shown)
        minigrad.__name__ = self.shown
        _keepers.update(set(map(_top, list(sys.modules))) - self.before - {"torch", PACKAGE})
        if _keepers and builtins.__import__ is not _importing:
            _import, builtins.__import__ = builtins.__import__, _importing
        random.run_as_pytorch(self.ran_as_pytorch or bool(_keepers))
        if not _keepers and self.modules.get("torch") is not minigrad:
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not _INSTALLED]


def as_torch(replace: bool = False) -> AbstractContextManager[ModuleType]:
    """From now on ``import torch``, and every import from within it, gives minigrad.

    ``as_torch()`` lasts; ``with as_torch() as torch:`` restores ``sys.modules`` at its end. Packages that were imported
    for the first time in between keep minigrad, and so does what they import later. An installed PyTorch is neither
    touched nor imported; with ``replace``, an imported one is put aside (modules that hold it continue to use it).
    Dtypes and sizes show themselves meanwhile as PyTorch's, "torch.float32". Processes that ``multiprocessing`` starts
    get minigrad as well. Those that mpiexec has started get torchrun's variables, which programs for PyTorch read.

    Dropout on the CPU draws from PyTorch's stream meanwhile, and afterwards where packages keep minigrad, unless
    ``set_dropout_stream`` has chosen a stream. Raises RuntimeError: PyTorch is already imported, without
    ``replace``.
    """
    _give_torch_to(keeper=False)
    before = _now()
    real = before.get("torch", minigrad) is not minigrad
    if real and not replace:
        raise RuntimeError(
            "PyTorch is already imported, and tensors of the two cannot be mixed: call as_torch() before "
            "anything imports torch, or put PyTorch aside with `with as_torch(replace=True):`"
        )
    if not os.environ.keys().isdisjoint(RANKS_OF_MPI):
        from .distributed import tell_rank

        tell_rank()
    _reach_processes()
    channels_last.install()
    _put({"torch": minigrad} if real else {**before, "torch": minigrad})
    if _INSTALLED not in sys.meta_path:
        sys.meta_path.insert(0, _INSTALLED)
    shown, minigrad.__name__ = dtype.show_as("torch"), "torch"
    return _Restoring(before, shown, random.run_as_pytorch(True))


def _now() -> Modules:
    """The imported modules under the name torch."""
    return {name: module for name, module in list(sys.modules.items()) if _top(name) in ("torch", "functorch")}


def _put(modules: Modules) -> None:
    for name in _now():
        del sys.modules[name]
    sys.modules.update(modules)


# Such a process begins with Python alone, reads from a pipe how it has to prepare itself, and imports the program. What
# it reads is a pickle, which can also call a function: here ``as_torch``, before the program is imported.


class _AsTorch:
    """An object whose unpickling calls ``as_torch``, with this process's ``sys.path``, which is not there yet."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, (f"import sys; sys.path[:] = {sys.path!r}; from {PACKAGE}.compat import as_torch; as_torch()",)


def _reach_processes() -> None:
    """Add to what such processes read. Again, it does nothing."""
    with suppress(ImportError):  # in a browser there are no processes
        from multiprocessing import spawn

        module: Any = spawn
        original = module.get_preparation_data
        if original.__module__ == __name__:
            return

        def get_preparation_data(name: str) -> dict[str, Any]:
            data = original(name)
            return {**data, PACKAGE: _AsTorch()} if sys.modules.get("torch") is minigrad else data

        module.get_preparation_data = get_preparation_data
