"""Names and paths that no module of the package holds: a layer above the package may supply them.

``minigrad/__init__.py`` says which layer (``install``), and what stands below knows nothing of it. Modules get
their ``__getattr__`` from here, and the package's folders a finder (PEP 302): it finds files as always, paths that
are another spelling of a module, and both under another name of the package (``torch.nn`` where
``sys.modules["torch"]`` is minigrad). Python's list of finders stays as it is. The layer is imported when something is
missing for the first time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.machinery import FileFinder, ModuleSpec
from types import ModuleType
from typing import Any, Protocol

PACKAGE = __name__.rpartition(".")[0]
NO_FOLDER = os.path.join(os.path.dirname(__file__), "<no folder>")  # of a module without files below it
_HOOK = "__getattr__"
_layer_name = ""
_rooms: Collection[str] = ()


class Layer(Protocol):
    """What a layer supplies. A place is a module's name, or "minigrad.Tensor"."""

    def find(self, place: str, name: str) -> Any:
        """What a module lacks, or MissingName."""

    def others(self, place: str) -> list[str]:
        """All names that ``find`` knows in a place."""

    def has_module(self, path: str) -> bool:
        """Whether a path without a file ("minigrad.nn.modules") is another spelling of a module."""

    def load(self, path: str) -> ModuleType:
        """That module."""

    def missing(self, place: str, name: str) -> str:
        """The text of an error about a name that nothing holds."""


def layer() -> Layer:
    """The layer, imported when first needed."""
    module: Any = import_module(_layer_name)
    return module


def install(layer: str, rooms: Collection[str], classes: Sequence[type]) -> None:
    """Open the package to a layer.

    Args:
        layer: the name of its module, a ``Layer``.
        rooms: the parts of the package whose modules get a ``__getattr__``.
        classes: classes whose objects raise MissingName for what they lack.
    """
    global _layer_name, _rooms
    _layer_name, _rooms = layer, rooms
    _open([NO_FOLDER])
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == PACKAGE:
            _extend(module)
    for cls in classes:
        setattr(cls, _HOOK, _attributes_of(f"{PACKAGE}.{cls.__name__}"))


class MissingName(AttributeError):
    """A name that nothing holds. Its text is written when it is read: ``hasattr`` never reads it.

    Args:
        place: the module, as "minigrad.nn", or "minigrad.Tensor".
        name: what it lacks.
    """

    def __init__(self, place: str, name: str) -> None:
        super().__init__(place, name, name=name)

    def __str__(self) -> str:
        return layer().missing(*self.args)


# Names ----------------------------------------------------------------------------------------------------


def names_of(place: str) -> Callable[[str], Any]:
    """A module's ``__getattr__``: its submodules, what the layer supplies, and MissingName for the rest.

    Args:
        place: the module's ``__name__``.
    """

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise MissingName(place, name)
        path = f"{place}.{name}"
        if path in sys.modules or _is_file(path):
            return import_module(path)
        return layer().find(place, name)

    return __getattr__


class ModuleWithoutFile(ModuleType):
    """A module to which the layer gives all or most of its names.

    Args:
        name: its name, "minigrad.backends.cudnn".
        doc: its docstring.
    """

    __path__: list[str] = [NO_FOLDER]  # it may have further modules below it

    def __getattr__(self, name: str) -> Any:
        return names_of(self.__name__)(name)


def _attributes_of(place: str) -> Callable[[Any, str], Any]:
    """A class's ``__getattr__``."""

    def __getattr__(self: Any, name: str) -> Any:
        if hasattr(type(self), name):  # a property that failed: its error again
            return object.__getattribute__(self, name)
        raise MissingName(place, name)

    return __getattr__


def _is_open(module: str) -> bool:
    """Whether a module is in a room that the layer adds to."""
    return any(f"{module}.".startswith(f"{PACKAGE}.{room}.") for room in _rooms)


def _extend(module: ModuleType) -> None:
    """Give a loaded module its ``__getattr__``, and its folders the finder."""
    names = vars(module)
    if _is_open(module.__name__):
        names.setdefault(_HOOK, names_of(module.__name__))
        names.setdefault("__path__", [NO_FOLDER])
    _open(names.get("__path__", ()))


# Paths ----------------------------------------------------------------------------------------------------


class _Finder:
    """The finder of a folder of the package.

    Args:
        files: Python's finder for the folder.
    """

    def __init__(self, files: Any) -> None:
        self._files = files

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module's spec; None for ``importlib.util.find_spec`` where there is none.

        Raises:
            ModuleNotFoundError: an import of something that is missing; the text suggests the nearest.
        """
        top, dot, rest = fullname.partition(".")
        if not dot or sys.modules.get(top) is not sys.modules.get(PACKAGE):
            return self.file(fullname)  # the folder is on Python's path, too
        name = f"{PACKAGE}.{rest}"
        spec = self.file(name)
        if spec is not None and name == fullname:
            return spec
        if spec is not None or name in sys.modules or layer().has_module(name):
            alias: Any = _Alias(name)
            return ModuleSpec(fullname, alias)
        if _is_import():
            parent, _, last = name.rpartition(".")
            raise ModuleNotFoundError(layer().missing(parent, last), name=f"torch.{rest}")
        return None

    def file(self, name: str) -> ModuleSpec | None:
        """The spec of a module that is a file or a package in the folder, and is extended when it is loaded."""
        spec: ModuleSpec | None = self._files.find_spec(name)
        if spec is not None and spec.loader is not None:
            _open(spec.submodule_search_locations or ())
            loader: Any = _Loader(spec.loader)
            spec.loader = loader
        return spec

    def iter_modules(self, prefix: str = "") -> Iterable[tuple[str, bool]]:
        """The names of the folder's modules, for ``pkgutil``."""
        return import_module("pkgutil").iter_importer_modules(self._files, prefix)


def _open(folders: Iterable[str]) -> None:
    """Give folders the finder."""
    for folder in folders:
        files: Any = sys.path_importer_cache.get(folder) or _python_finder(folder)
        if not isinstance(files, _Finder):
            finder: Any = _Finder(files)
            sys.path_importer_cache[folder] = finder


def _python_finder(folder: str) -> Any:
    """Python's finder for a folder, or for one in a ZIP file."""
    for hook in sys.path_hooks:
        with suppress(ImportError):
            return hook(folder)
    return FileFinder(folder)


def _is_file(name: str) -> bool:
    """Whether a module of the package is a file or a package."""
    folders = getattr(sys.modules[name.rpartition(".")[0]], "__path__", ())
    finders = (sys.path_importer_cache.get(folder) for folder in folders)
    specs = (finder.file(name) for finder in finders if isinstance(finder, _Finder))
    return any(spec is not None and spec.loader is not None for spec in specs)


def _is_import() -> bool:
    """Whether an import looks for a module, and not a question such as ``importlib.util.find_spec``."""
    frame: Any = sys._getframe(1)
    while frame.f_code.co_name in ("find_spec", "_get_spec", "_find_spec"):
        frame = frame.f_back
    return frame.f_code.co_name == "_find_and_load_unlocked"


class _Loader:
    """A file's loader, which extends the module afterwards."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        """Run the file, and extend the module."""
        self._loader.exec_module(module)
        _extend(module)


class _Alias:
    """Loads a module under another name.

    It is no importlib.abc.Loader: that import would take as long as a quarter of minigrad's.
    """

    def __init__(self, target: str) -> None:
        self._target = target

    def create_module(self, spec: ModuleSpec) -> None:
        """An empty module, for the time of the import."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the real module in its place: ``import`` takes what stands in ``sys.modules`` afterwards."""
        name, target = module.__name__, self._target
        if name == target:
            real = sys.modules[name] = layer().load(target)
            real.__spec__ = real.__spec__ or module.__spec__
            return
        sys.modules[name] = import_module(target)
        for path in [path for path in sys.modules if path.startswith(f"{target}.")]:
            sys.modules[name + path.removeprefix(target)] = sys.modules[path]
