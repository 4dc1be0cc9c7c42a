"""What modules are called: "Net.encoder.layers.0", as in ``named_modules`` of the outermost, a Net."""

from __future__ import annotations

from ..nn.module import Module


class ModuleNames:
    """The paths of modules, each from its first call on."""

    def __init__(self) -> None:
        self._paths: dict[int, str] = {}
        self._roots: dict[str, Module] = {}  # they stay alive, as an id may be used again otherwise

    def path(self, module: Module, place: str) -> str:
        """The path of a module that the one at ``place`` calls, "" for none. What no module has registered (a layer
        in a plain list) is named by that and its class."""
        path = self._paths.get(id(module))
        return path if path is not None else self._enter(module, place)

    def _enter(self, module: Module, place: str) -> str:
        """Name a new root and all below it, but for what has a name."""
        kind = f"{place}.{type(module).__name__}" if place else type(module).__name__
        root, count = kind, 2
        while root in self._roots:
            root, count = f"{kind}#{count}", count + 1
        self._roots[root] = module
        for name, inner in module.named_modules():
            self._paths.setdefault(id(inner), f"{root}.{name}" if name else root)
        return self._paths[id(module)]
