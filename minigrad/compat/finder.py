"""Imports of paths that are another spelling: ``minigrad.nn.modules.linear``; ``torch.nn`` where torch is us.

The finder stands first among Python's finders, as a package whose ``sys.modules["torch"]`` is minigrad would
otherwise be read from its files a second time. For other imports it costs a comparison.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

PACKAGE = "minigrad"


class _Loader:
    """Loads a module that is already there, or is made elsewhere, under one more name.

    It is no importlib.abc.Loader, as that import would take as long as a quarter of minigrad's.
    """

    def __init__(self, target: str) -> None:
        self._target = target

    def create_module(self, spec: ModuleSpec) -> None:
        """An empty module, for the time of the import."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the real module in its place: ``import`` takes what stands in ``sys.modules`` afterwards."""
        name, target = module.__name__, self._target
        if name == target:
            made = sys.modules[name] = import_module(f"{PACKAGE}.compat.names").load(target)
            made.__spec__ = made.__spec__ or module.__spec__
            return
        sys.modules[name] = import_module(target)
        for path in [path for path in sys.modules if path.startswith(f"{target}.")]:
            sys.modules[name + path.removeprefix(target)] = sys.modules[path]


class AliasFinder:
    """Finds minigrad's files, its other spellings, and both of these under a name such as ``torch``."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's spec; None for what is not ours.

        Raises:
            ModuleNotFoundError: an import of something that is not here; the text suggests the nearest.
        """
        top, dot, rest = fullname.partition(".")
        if not dot or (top != PACKAGE and sys.modules.get(top) is not sys.modules[PACKAGE]):
            return None
        own = f"{PACKAGE}.{rest}"
        spec = PathFinder.find_spec(own, _path_of(own))
        if spec is not None and top == PACKAGE:
            return spec
        if spec is not None or own in sys.modules or rest in import_module(f"{PACKAGE}.compat.names").MODULES:
            loader: Any = _Loader(own)
            return ModuleSpec(fullname, loader)
        if sys._getframe(2).f_code.co_name == "_find_and_load_unlocked":  # not importlib.util.find_spec
            parent, _, name = own.rpartition(".")
            advice = import_module(f"{PACKAGE}.compat.advice")
            raise ModuleNotFoundError(advice.missing(parent, name), name=f"torch.{rest}")
        return None


def _path_of(module: str) -> list[str] | None:
    """Where the files of a module's package are; an empty list where that is no package with files."""
    package = sys.modules.get(module.rpartition(".")[0])
    return list(getattr(package, "__path__", []))


def install() -> None:
    """Put the finder first, once."""
    if AliasFinder not in sys.meta_path:
        sys.meta_path.insert(0, AliasFinder)
