"""The base of weight norm and spectral norm by hooks: a parameter that is computed from others before each forward."""

from __future__ import annotations

from typing import Any, ClassVar

from ...tensor import Tensor
from ..module import Module
from ..parameter import Parameter


class WeightHook:
    """A forward pre-hook that replaces the parameter ``name`` by one computed from others.

    Attributes:
        kind: its name in messages. suffixes: of the tensors that replace the parameter.
    """

    kind: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]

    def __init__(self, name: str) -> None:
        self.name = name

    def compute_weight(self, module: Module, training: bool = False) -> Tensor:
        """The current weight."""
        raise NotImplementedError

    def split(self, module: Module, weight: Parameter) -> None:
        """Register the tensors from which the weight is computed."""
        raise NotImplementedError

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def _parts(self, module: Module) -> list[Any]:
        return [getattr(module, self.name + suffix) for suffix in self.suffixes]

    def attach(self, module: Module) -> None:
        """Replace the parameter.

        Raises:
            RuntimeError: it has been replaced before. ValueError: it is None.
        """
        if self._find(module, self.name) is not None:
            raise RuntimeError(f"Cannot register two {self.kind} hooks on the same parameter {self.name}")
        weight = module._parameters.pop(self.name)
        if weight is None:
            raise ValueError(f"{module._get_name()}: the parameter {self.name!r} is None")
        self.split(module, weight)
        module.register_forward_pre_hook(self)

    @classmethod
    def detach(cls, module: Module, name: str) -> None:
        """Make the computed weight an ordinary parameter again.

        Raises:
            ValueError: there is no such hook.
        """
        key = cls._find(module, name)
        if key is None:
            raise ValueError(f"{cls.kind} of '{name}' not found in {module}")
        hook: Any = module._forward_pre_hooks.pop(key).function
        weight = hook.compute_weight(module).detach()
        for suffix in ("", *cls.suffixes):
            delattr(module, name + suffix)
        module.register_parameter(name, Parameter(weight))

    @classmethod
    def _find(cls, module: Module, name: str) -> int | None:
        """The key of the hook for a weight, if it has one."""
        for key, hook in module._forward_pre_hooks.items():
            if isinstance(hook.function, cls) and hook.function.name == name:
                return key
        return None
