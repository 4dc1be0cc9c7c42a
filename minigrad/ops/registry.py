"""All ops of the core, by their names. A program loads only the files of those that it needs."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from . import __path__
from .op import REGISTRY as REGISTRY

for _file in iter_modules(__path__):
    import_module(f"{__package__}.{_file.name}")  # which registers its ops
