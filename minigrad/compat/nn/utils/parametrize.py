"""Parametrizations: modules that compute another module's parameter whenever it is read.

The original tensors are in ``module.parametrizations``. The module gets its own class with the parameter as a property.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from ....autograd.mode import at_end
from ....autograd.tracebacks import border_functions
from ....nn.containers import ModuleDict, ModuleList
from ....nn.module import Module
from ....nn.parameter import Parameter
from ....tensor import Tensor

M = TypeVar("M", bound=Module)


_cache: ContextVar[dict[tuple[int, str], Tensor] | None] = ContextVar("_cache", default=None)  # within ``cached``


@contextmanager
def cached() -> Iterator[None]:
    """A context in which each thread that enters it computes each parametrized tensor only once."""
    before = _cache.get()
    with at_end(_cache.set, before) as end, end:
        _cache.set({} if before is None else before)
        yield


class ParametrizationList(ModuleList):
    """The modules that, in order, compute one tensor from ``original`` (or original0, original1, ...).

    Args:
        modules: the parametrizations. If they define ``right_inverse``, it computes the originals.
        original: the tensor to parametrize.
        unsafe: accept any shapes and dtypes.
    """

    def __init__(self, modules: list[Module], original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe, new = unsafe, original
        for module in reversed(modules):
            if hasattr(module, "right_inverse") and isinstance(new, Tensor):
                new = module.right_inverse(new)
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        originals = {"original": new} if self.is_tensor else {f"original{i}": t for i, t in enumerate(new)}
        for name, tensor in originals.items():
            if not isinstance(tensor, Tensor):
                raise ValueError(f"right_inverse must return tensors, not {type(tensor).__name__}")
            if not isinstance(original, Parameter):
                self.register_buffer(name, tensor)
            elif tensor is original:
                self.register_parameter(name, original)
            else:
                self.register_parameter(name, Parameter(tensor.detach(), original.requires_grad))

    def _originals(self) -> list[Tensor]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def forward(self) -> Tensor:
        first, *others = self
        out: Tensor = first(*self._originals())
        for module in others:
            out = module(out)
        return out


def _specialize(module: Module) -> None:
    """Give a module its own class with a property per parametrized tensor or, if there is none, its original class."""
    base = getattr(type(module), "_parametrized_from", type(module))
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = base
        return

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict()")

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        twin: Any = base.__new__(base)
        memo[id(self)] = twin
        twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        _specialize(twin)
        return twin

    members: dict[str, Any] = {name: _property(name) for name in module.parametrizations}
    members.update(__reduce_ex__=__reduce_ex__, __deepcopy__=__deepcopy__, _parametrized_from=base)
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), members)


def _property(name: str) -> property:
    def get(self: Any) -> Tensor:
        cache, key = _cache.get(), (id(self), name)
        cache = {} if cache is None else cache
        if key not in cache:
            cache[key] = self.parametrizations[name]()
        return cache[key]

    def put(self: Any, value: Tensor) -> None:
        listed = self.parametrizations[name]
        inverted = ParametrizationList(list(listed), value)
        for original, new in zip(listed._originals(), inverted._originals(), strict=True):
            original.data = new.data

    return property(get, put)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has any parametrized tensor, or whether ``tensor_name`` is parametrized."""
    listed = module._modules.get("parametrizations")
    if not isinstance(listed, ModuleDict) or not len(listed):
        return False
    return tensor_name is None or tensor_name in listed


def register_parametrization(module: M, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> M:
    """Compute a parameter or buffer with ``parametrization`` whenever it is read.

    Args:
        parametrization: a module that is called with the original tensors. ``right_inverse``, if any, restores these.
        unsafe: do not check that the shape and dtype are unchanged.

    Raises ValueError if the tensor is missing, or the result has a different shape or dtype.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        listed = module.parametrizations[tensor_name]
        if not unsafe:
            _check_same(parametrization(listed()), listed())
        listed.append(parametrization)
        return module
    tables = (module._parameters, module._buffers)
    table: Any = next((t for t in tables if t.get(tensor_name) is not None), None)
    if table is None:
        kinds = "a parameter, a buffer, or a parametrized element"
        raise ValueError(f"Module '{module}' does not have {kinds} with name '{tensor_name}'")
    original = table[tensor_name]
    listed = ParametrizationList([parametrization], original, unsafe)
    if not unsafe:
        _check_same(listed(), original)
    del table[tensor_name]
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = listed
    _specialize(module)
    return module


def _check_same(result: Any, before: Tensor) -> None:
    if not isinstance(result, Tensor) or result.dtype != before.dtype or result.shape != before.shape:
        kind = f"{result.dtype} {tuple(result.shape)}" if isinstance(result, Tensor) else type(result).__name__
        raise ValueError(
            f"Registering a parametrization may not change shape or dtype of the tensor, unless unsafe=True: "
            f"{before.dtype} {tuple(before.shape)} became {kind}"
        )


def remove_parametrizations(module: M, tensor_name: str, leave_parametrized: bool = True) -> M:
    """Turn a parametrized tensor into an ordinary one with the computed or, if not ``leave_parametrized``, original
    value. Raises ValueError if it is not parametrized, or if the original is required but there are several."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    listed = module.parametrizations[tensor_name]
    if not leave_parametrized and not listed.is_tensor:
        raise ValueError("leave_parametrized=False needs a parametrization with a single original")
    first = listed._originals()[0]
    value = (listed() if leave_parametrized else first).detach()
    del module.parametrizations[tensor_name]
    _specialize(module)
    if not isinstance(first, Parameter):
        module.register_buffer(tensor_name, value)
    elif listed.is_tensor:
        first.data = value
        module.register_parameter(tensor_name, first)
    else:
        module.register_parameter(tensor_name, Parameter(value, first.requires_grad))
    return module


border_functions(globals())
