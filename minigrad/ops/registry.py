"""All core ops, by name. (Programs only load the op files that they need.)"""

from importlib import import_module
from pkgutil import iter_modules

from . import __path__
from .op import REGISTRY as REGISTRY

for _file in iter_modules(__path__):
    import_module(f"{__package__}.{_file.name}")  # registers its ops
