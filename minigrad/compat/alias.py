"""Makes ``import torch`` return minigrad, for a whole program or for a ``with`` block and packages imported in it.

Libraries import torch again long after they are imported: in functions, in lazily loaded modules and in C code. So
packages first imported in a ``with`` block ("keepers"), and packages that they import later, still get minigrad after
the block. Each importer of torch gets the right module from ``sys.modules``.
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

from ..backend import dtype, random, version
from ..extension import PACKAGE, Alias
from . import channels_last

minigrad: Any = sys.modules[PACKAGE]
Modules = dict[str, ModuleType]
RANKS_OF_MPI = ("OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")


class _Torch(Distribution):
    """The metadata of a package named torch, for ``importlib.metadata``."""

    def read_text(self, filename: str) -> str | None:
        return f"Metadata-Version: 2.1\nName: torch\nVersion: {version.torch}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Path:
        return Path(minigrad.__path__[0]) / path


class _Installed(DistributionFinder):
    """A finder that answers ``importlib``'s queries about torch, which does not have a file."""

    def find_spec(self, fullname: str, *args: Any) -> ModuleSpec | None:
        """The spec of torch for a keeper. (``importlib`` calls this only if torch is not in ``sys.modules``.)"""
        global _aside
        alias: Any = Alias(PACKAGE)
        if fullname == "functorch" and sys.modules.get("torch") is minigrad:  # PyTorch installs functorch next to torch
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
_keepers: set[str] = set()  # the packages that still get minigrad after a `with` block
_aside: Modules | None = None  # the program's torch while a keeper's torch replaces it
_import = builtins.__import__


def _importing(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> ModuleType:
    """Replacement for ``builtins.__import__`` once keepers exist."""
    if level == 0:
        keeps = globals is not None and _top(globals.get("__name__") or "") in _keepers
        if _top(name) == "torch":
            _give_torch_to(keeps)
        elif keeps and _top(name) not in sys.modules:
            _keepers.add(_top(name))
    return _import(name, globals, locals, fromlist, level)


def _give_torch_to(keeper: bool) -> None:
    """Put the keepers' or the program's torch into ``sys.modules``."""
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
    """A context that restores ``sys.modules`` and dtype names on exit. (An unfinished generator would only be closed
    when the process exits, after its modules have been cleared.)"""

    def __init__(self, modules: Modules, name: str, ran_as_pytorch: bool) -> None:
        self.modules, self.name, self.ran_as_pytorch = modules, name, ran_as_pytorch

    def __enter__(self) -> ModuleType:
        self.before = set(map(_top, list(sys.modules)))
        return minigrad

    def __exit__(self, *raised: object) -> None:
        global _import
        _give_torch_to(keeper=False)
        _put(self.modules)
        dtype.show_as(self.name)
        minigrad.__name__ = self.name
        _keepers.update(set(map(_top, list(sys.modules))) - self.before - {"torch", PACKAGE})
        if _keepers and builtins.__import__ is not _importing:
            _import, builtins.__import__ = builtins.__import__, _importing
        random.run_as_pytorch(self.ran_as_pytorch or bool(_keepers))
        minigrad.__version__ = version.torch if self.ran_as_pytorch or _keepers else version.project
        if not _keepers and self.modules.get("torch") is not minigrad:
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not _INSTALLED]


def as_torch(replace: bool = False) -> AbstractContextManager[ModuleType]:
    """Make ``import torch``, and imports of its submodules, return minigrad from now on.

    ``as_torch()`` is permanent; ``with as_torch() as torch:`` restores ``sys.modules`` on exit. Packages first imported
    in the block still get minigrad afterwards, as do packages that they import later. An installed PyTorch is not
    imported or modified. With ``replace``, a previously imported PyTorch is set aside (modules that refer to it still
    use it). While ``as_torch`` is active, dtypes and sizes print as in PyTorch ("torch.float32"), and ``__version__``
    is ``minigrad.version.torch``. Processes started by ``multiprocessing`` get minigrad as well. In processes started
    by mpiexec, torchrun's environment variables are set for programs that read them.

    As long as any code gets minigrad, CPU dropout draws from PyTorch's stream unless ``set_dropout_stream`` has chosen
    a stream. Raises RuntimeError if PyTorch is already imported and ``replace`` is False.
    """
    _give_torch_to(keeper=False)
    before = _now()
    real = before.get("torch", minigrad) is not minigrad
    if real and not replace:
        raise RuntimeError(
            "PyTorch is already imported, and its tensors cannot be mixed with minigrad's: call as_torch() before "
            "anything imports torch, or replace PyTorch with `with as_torch(replace=True):`"
        )
    if not os.environ.keys().isdisjoint(RANKS_OF_MPI):
        from .distributed import tell_rank

        tell_rank()
    _reach_processes()
    channels_last.install()
    _put({"torch": minigrad} if real else {**before, "torch": minigrad})
    if _INSTALLED not in sys.meta_path:
        sys.meta_path.insert(0, _INSTALLED)
    name, minigrad.__name__, minigrad.__version__ = dtype.show_as("torch"), "torch", version.torch
    return _Restoring(before, name, random.run_as_pytorch(True))


def _now() -> Modules:
    """The imported modules named torch."""
    return {name: module for name, module in list(sys.modules.items()) if _top(name) in ("torch", "functorch")}


def _put(modules: Modules) -> None:
    for name in _now():
        del sys.modules[name]
    sys.modules.update(modules)


# A spawned process starts without any of this. It reads preparation data from a pipe, then imports the program. The
# data is a pickle, so unpickling it can call a function: here, ``as_torch``, before the program is imported.


class _AsTorch:
    """An object whose unpickling calls ``as_torch`` with this process's ``sys.path``, which the new process lacks."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, (f"import sys; sys.path[:] = {sys.path!r}; from {PACKAGE}.compat import as_torch; as_torch()",)


def _reach_processes() -> None:
    """Add ``as_torch`` to the data that spawned processes read. Calling this again has no effect."""
    with suppress(ImportError):  # processes do not exist in a browser
        from multiprocessing import spawn

        module: Any = spawn
        original = module.get_preparation_data
        if original.__module__ == __name__:
            return

        def get_preparation_data(name: str) -> dict[str, Any]:
            data = original(name)
            return {**data, PACKAGE: _AsTorch()} if sys.modules.get("torch") is minigrad else data

        module.get_preparation_data = get_preparation_data
