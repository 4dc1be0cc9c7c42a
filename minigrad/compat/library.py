"""``torch.library`` and ``torch.ops``: operators that programs register under a namespace.

An operator ``torch.ops.NAMESPACE.NAME`` calls the registered function. With ``register_autograd``, it becomes an
``autograd.Function``. Nothing is compiled. Fake implementations are only called for "meta" tensors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NoReturn

from ..extension import PACKAGE, MissingName
from ..functions import names
from ..nn import functional as F
from ..tensor import Tensor
from .function import Function

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "impl", "register_autograd", "register_fake"]


class CustomOpDef:
    """An operator ``torch.ops.NAMESPACE.NAME``. All its overloads and the result of ``custom_op`` are the same object.
    ``impl`` sets the function that computes the result."""

    def __init__(self, namespace: str, name: str, function: Callable[..., Any] | None = None) -> None:
        self._namespace, self._opname = namespace, name
        self.__name__, self._qualname = name, f"{namespace}::{name}"
        self._function = function
        self._fake: Callable[..., Any] | None = None
        self._autograd: tuple[Callable[..., Any], Callable[..., Any] | None] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operator. Raises NotImplementedError if no implementation is registered."""
        flat = (*args, *kwargs.values())
        if self._fake is not None and any(isinstance(value, Tensor) and value.is_meta for value in flat):
            return self._fake(*args, **kwargs)
        if self._function is None:
            name = f"torch.ops.{self._namespace}.{self._opname}"
            raise NotImplementedError(f"minigrad has no {name}: no implementation has been registered")
        if self._autograd is None:
            return self._function(*args, **kwargs)
        compute, (backward, setup_context) = self._function, self._autograd
        methods = {"forward": lambda *flat: compute(*flat), "backward": backward}
        methods["setup_context"] = setup_context or (lambda ctx, inputs, output: None)
        function: Any = type(self.__name__, (Function,), {name: staticmethod(m) for name, m in methods.items()})
        return function.apply(*args, *kwargs.values())

    def __getattr__(self, name: str) -> CustomOpDef:
        if name.startswith("_"):
            raise AttributeError(name)
        return self  # all overloads are the same object

    overloads = lambda self: ["default"]

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op={self._namespace!r}.{self._opname!r})>"

    def register_fake(self, func: Any = None, **options: Any) -> Any:
        """Set the function that only infers shapes, for "meta" tensors. Without ``func``, return a decorator."""
        return self._keep("_fake", func)

    def register_kernel(self, device_types: Any = None, func: Any = None) -> Any:
        """Set the operator's function for all devices. Without ``func``, return a decorator."""
        return self._keep("_function", func)

    def _keep(self, attribute: str, func: Any) -> Any:
        if func is None:
            return partial(self._keep, attribute)
        setattr(self, attribute, func)
        return func

    def register_autograd(self, backward: Callable[..., Any], *, setup_context: Any = None) -> None:
        """Set ``backward(ctx, *grads)``, and the ``setup_context(ctx, inputs, output)`` that prepares it."""
        self._autograd = (backward, setup_context)


_OPS: dict[str, CustomOpDef] = {}


class Namespace:
    """The operators in ``torch.ops.NAMESPACE``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> CustomOpDef:
        key = f"{self.name}::{name}"
        if key not in _OPS:
            if self.name not in ("aten", "prims"):
                raise MissingName(f"{PACKAGE}.ops.{self.name}", name)
            # An op of PyTorch's core: the function or method with that name
            holders: tuple[Any, ...] = (names, F, Tensor)
            function = next((getattr(holder, name) for holder in holders if hasattr(holder, name)), None)
            _OPS[key] = CustomOpDef(self.name, name, function)
        return _OPS[key]

    def __dir__(self) -> list[str]:
        return [key.partition("::")[2] for key in _OPS if key.startswith(f"{self.name}::")]


def load_library(path: Any) -> NoReturn:
    """``torch.ops.load_library``, for C++ operators. Always raises OSError, as PyTorch does for foreign libraries."""
    raise OSError(f"{os.fspath(path)}: these operators need PyTorch's C++ library, which minigrad does not have")


def _op(name: Any) -> CustomOpDef:
    """The operator "NAMESPACE::NAME.OVERLOAD(...)", created on first use. Raises ValueError without a namespace."""
    if isinstance(name, CustomOpDef):
        return name
    match = re.match(r"([\w.]+)::(\w+)", name)
    if not match:
        raise ValueError(f"{name!r} is not an operator name: expected 'namespace::name'")
    return _OPS.setdefault(match[0], CustomOpDef(match[1], match[2]))


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str] = (),
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Register a function as the operator "namespace::name". Without ``fn``, return a decorator. The function runs
    unchanged, and the other arguments are ignored. Raises ValueError if there is no namespace."""
    op = _op(name)

    def register(function: Callable[..., Any]) -> CustomOpDef:
        op._function, op.__doc__ = function, function.__doc__
        return op

    return register if fn is None else register(fn)


def _by_name(method: str) -> Callable[..., Any]:
    def register(op: Any, /, *args: Any, lib: Any = None, **options: Any) -> Any:
        return getattr(_op(op), method)(*args, **options)

    register.__name__ = register.__qualname__ = method
    register.__doc__ = getattr(CustomOpDef, method).__doc__
    return register


register_fake = _by_name("register_fake")
register_kernel = _by_name("register_kernel")
register_autograd = _by_name("register_autograd")


def impl(qualname: str, types: Any = None, func: Any = None, *, lib: Any = None) -> Any:
    """``register_kernel`` for an operator given by name."""
    return register_kernel(qualname, types, func)


def define(qualname: str, schema: str = "", *, lib: Any = None, tags: Any = ()) -> None:
    """Declare an operator."""
    _op(qualname)


class Library:
    """The operators in the namespace ``ns``. ``kind``: "DEF", "IMPL" or "FRAGMENT". ``dispatch_key`` is ignored."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        self.ns, self.kind = ns, kind

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Declare an operator by its schema, such as "name(Tensor x) -> Tensor"."""
        return _op(f"{self.ns}::{schema}")._opname

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", **options: Any) -> None:
        """Set an operator's function; a function for "Meta" only infers shapes."""
        op = _op(op_name if "::" in str(op_name) else f"{self.ns}::{op_name}")
        if dispatch_key == "Meta":
            op.register_fake(fn)
        elif dispatch_key != "Autograd":
            op.register_kernel(None, fn)
