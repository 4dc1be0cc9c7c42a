"""Lets a layer above the package supply names and paths that the package's own files do not define.

``minigrad/__init__.py`` calls ``install`` with the layer, a module with the functions ``find``, ``others``,
``has_module``, ``load``, ``missing`` and ``add_methods`` (here ``compat/names.py``). The layer is imported the first
time a name is missing, and the rest of the package does not depend on it.

Names: modules get a ``__dir__``, and a ``__getattr__`` that imports a file registered with ``later`` or asks the layer.

Paths: the package's folders get a finder in ``sys.path_importer_cache``, where Python looks up the finder for a folder.
It finds files as usual, as well as module aliases, even under another name of the package (``torch.nn`` if
``sys.modules["torch"]`` is minigrad). ``sys.meta_path`` stays unchanged.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import Any

PACKAGE = __name__.rpartition(".")[0]
NO_FOLDER = os.path.join(os.path.dirname(__file__), "<no folder>")  # the path of a module that has no folder
_HOOK = "__getattr__"
_layer_name = ""
_packages: Collection[str] = ()
_later: dict[str, str] = {}  # "package.name": the module that defines it


def layer() -> Any:
    """The layer, imported when first needed."""
    return import_module(_layer_name)


def install(layer: str, packages: Collection[str], classes: Sequence[type], methods: dict[type, str]) -> None:
    """Connect a layer to the package.

    Args:
        layer: the name of its module.
        packages: the parts of the package whose modules get a ``__getattr__``.
        classes: classes whose instances raise MissingName for missing attributes.
        methods: for each class, the names of methods that the layer adds when any of them is first looked up.
    """
    global _layer_name, _packages
    _layer_name, _packages = layer, packages
    _open([NO_FOLDER])
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == PACKAGE:
            _extend(module)
    for cls in classes:
        setattr(cls, _HOOK, _attributes_of(f"{PACKAGE}.{cls.__name__}"))
    for cls, names in methods.items():
        for name in names.split():
            setattr(cls, name, _Method(cls, name))


def _extend(module: ModuleType) -> None:
    """Add a ``__getattr__`` to a loaded module, and install the finder for its folders."""
    name, names = module.__name__, vars(module)
    if name.removeprefix(f"{PACKAGE}.").partition(".")[0] in _packages:
        names.setdefault(_HOOK, partial(look_up, name))
        names.setdefault("__dir__", lambda: sorted({*names, *names_later(name), *layer().others(name)}))
        names.setdefault("__path__", [NO_FOLDER])
    _open(names.get("__path__", ()))


def _open(folders: Iterable[str]) -> None:
    """Install the finder for these folders."""
    for folder in folders:
        if not isinstance(sys.path_importer_cache.get(folder), _Finder):
            finder: Any = _Finder(folder, (_Loader, SOURCE_SUFFIXES))
            sys.path_importer_cache[folder] = finder


# Names ----------------------------------------------------------------------------------------------------


class MissingName(AttributeError):
    """Raised for a name that a module or a class ("minigrad.nn", "minigrad.Tensor") lacks. The message is built only
    when it is read, since ``hasattr`` never reads it."""

    def __init__(self, place: str, name: str) -> None:
        super().__init__(place, name, name=name)

    def __str__(self) -> str:
        return layer().missing(*self.args)


def later(place: str, files: dict[str, str]) -> None:
    """Register names that a module gets from ``files`` next to it. A file is imported when a name is first used."""
    package = vars(sys.modules[place])["__package__"]
    _later.update({f"{place}.{name}": f"{package}.{file}" for file, names in files.items() for name in names.split()})


def names_later(place: str) -> list[str]:
    """The names that ``later`` has registered for a module."""
    return [name for package, _, name in (path.rpartition(".") for path in _later) if package == place]


def look_up(place: str, name: str) -> Any:
    """Look up a name that a module lacks: a name registered with ``later``, a submodule that is not loaded yet, or a
    name from the layer. Raises MissingName if none of these has it."""
    if name.startswith("__") and name != "__config__":  # Python looks up many such names; PyTorch has this one
        raise MissingName(place, name)
    path = f"{place}.{name}"
    if path in _later:
        value = getattr(import_module(_later[path]), name)
        setattr(sys.modules[place], name, value)  # the next lookup finds it directly
        return value
    if path in sys.modules or _is_file(place, name):
        return import_module(path)
    return layer().find(place, name)


@cache  # programs look up the same missing names in every step
def _is_file(package: str, name: str) -> bool:
    """Whether a package contains a module or package of that name."""
    folders = getattr(sys.modules.get(package), "__path__", ())
    files = (os.path.join(folder, name) + end for folder in folders for end in (".py", f"{os.sep}__init__.py"))
    return any(map(os.path.isfile, files))


class ModuleWithoutFile(ModuleType):
    """A module, such as "minigrad.backends.cudnn", whose names come mostly or only from the layer."""

    __path__: list[str] = [NO_FOLDER]  # it may have submodules

    def __getattr__(self, name: str) -> Any:
        return look_up(self.__name__, name)


def _attributes_of(place: str) -> Callable[[Any, str], Any]:
    """A ``__getattr__`` for a class."""

    def __getattr__(self: Any, name: str) -> Any:
        if hasattr(type(self), name):  # a property that failed: raise its error again
            return object.__getattribute__(self, name)
        raise MissingName(place, name)

    return __getattr__


class _Method:
    """A placeholder for a method until the layer adds it."""

    def __init__(self, cls: type, name: str) -> None:
        self._cls, self._name = cls, name

    def __get__(self, instance: Any, owner: type) -> Any:
        layer().add_methods()
        return vars(self._cls)[self._name].__get__(instance, owner)


# Paths ----------------------------------------------------------------------------------------------------


class _Finder(FileFinder):
    """The finder for a folder in the package."""

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module's spec, or None if ``importlib.util.find_spec`` asks for a missing module. Raises
        ModuleNotFoundError for an import of a missing module; the message suggests the closest name."""
        top, dot, rest = fullname.partition(".")
        if not dot or sys.modules.get(top) is not sys.modules.get(PACKAGE):
            return super().find_spec(fullname)  # the folder is also on Python's path
        name = f"{PACKAGE}.{rest}"
        package, _, last = name.rpartition(".")
        parent = sys.modules.get(package) or sys.modules[fullname.rpartition(".")[0]]
        real = package if package == PACKAGE else parent.__name__  # the package may have an alias
        spec = super().find_spec(f"{real}.{last}")
        if spec is not None:
            name = f"{real}.{last}"
            if name == fullname:
                return spec
        if spec is not None or name in sys.modules or layer().has_module(name):
            alias: Any = Alias(name)
            return ModuleSpec(fullname, alias)
        frame: Any = sys._getframe(1)
        while frame.f_code.co_name in ("find_spec", "_get_spec", "_find_spec"):
            frame = frame.f_back
        if frame.f_code.co_name == "_find_and_load_unlocked":  # an import, not importlib.util.find_spec
            # If the error named the module, ``from package import name`` would say "cannot import name" instead
            other = "torch" if top == PACKAGE else PACKAGE
            raise ModuleNotFoundError(layer().missing(package, last), name=f"{other}.{rest}")
        return None


class _Loader(SourceFileLoader):
    """A file loader that first installs the finder for a package's folder, and afterwards extends the module."""

    def exec_module(self, module: ModuleType) -> None:
        _open(getattr(module, "__path__", ()))
        super().exec_module(module)
        _extend(module)


class Alias:
    """Loads a module under another name. (An importlib.abc.Loader would slow minigrad's import by a quarter.)"""

    def __init__(self, target: str) -> None:
        self._target = target

    def create_module(self, spec: ModuleSpec) -> None:
        """Use Python's default: an empty module during the import."""

    def get_code(self, name: str) -> Any:
        """The code of the real module, for ``python -m``."""
        spec: Any = import_module(self._target).__spec__
        return spec.loader.get_code(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Replace the empty module: ``import`` uses the entry in ``sys.modules`` afterwards."""
        name, target = module.__name__, self._target
        if name == target:
            real = sys.modules[name] = layer().load(target)
            real.__spec__ = real.__spec__ or module.__spec__
            return
        sys.modules[name] = import_module(target)
        for path in [path for path in sys.modules if path.startswith(f"{target}.")]:
            sys.modules[name + path.removeprefix(target)] = sys.modules[path]
