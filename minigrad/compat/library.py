"""``torch.library`` and ``torch.ops``: operators that programs register under a namespace.

``torch.ops.NAMESPACE.NAME`` is the operator. It calls the function that was registered; with ``register_autograd`` it
is an ``autograd.Function``. Nothing is compiled: fake implementations are called for tensors on "meta" alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ..autograd import Function
from ..extension import PACKAGE, MissingName
from ..nn import functional as F
from ..tensor import Tensor

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "impl", "register_autograd", "register_fake"]


class CustomOpDef:
    """An operator: ``torch.ops.NAMESPACE.NAME``, all its overloads, and what ``custom_op`` returns.

    Args:
        namespace, name: its name.
        function: what it computes; None until ``impl``.
    """

    def __init__(self, namespace: str, name: str, function: Callable[..., Any] | None = None) -> None:
        self._namespace, self._opname = namespace, name
        self._qualname = f"{namespace}::{name}"
        self.__name__ = name
        self._function = function
        self._fake: Callable[..., Any] | None = None
        self._autograd: tuple[Callable[..., Any], Callable[..., Any] | None] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute it.

        Raises:
            NotImplementedError: no implementation is registered.
        """
        flat = (*args, *kwargs.values())
        if self._fake is not None and any(isinstance(value, Tensor) and value.is_meta for value in flat):
            return self._fake(*args, **kwargs)
        if self._function is None:
            name = f"torch.ops.{self._namespace}.{self._opname}"
            raise NotImplementedError(f"minigrad has no {name}: nothing that computes it has been registered")
        if self._autograd is None:
            return self._function(*args, **kwargs)
        return _differentiable(self._function, *self._autograd).apply(*args, *kwargs.values())

    def __getattr__(self, name: str) -> CustomOpDef:
        if name.startswith("_"):
            raise AttributeError(name)
        return self  # an overload

    def overloads(self) -> list[str]:
        """Their names: the only one's."""
        return ["default"]

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op={self._namespace!r}.{self._opname!r})>"

    def register_fake(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Keep a function that knows shapes alone, for tensors on "meta"."""
        self._fake = fn
        return fn

    register_meta = register_fake

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None) -> Any:
        """Replace the implementation, for all devices."""
        if fn is None:
            return lambda function: self.register_kernel(device_types, function)
        self._function = fn
        return fn

    def register_autograd(self, backward: Callable[..., Any], *, setup_context: Any = None) -> None:
        """Set ``backward(ctx, *grads)``, and ``setup_context(ctx, inputs, output)`` that prepares it."""
        self._autograd = (backward, setup_context)

    def register_vmap(self, fn: Any = None) -> Any:
        """Without effect: ``func.vmap`` calls the function itself."""
        return fn


def _differentiable(function: Any, rule: Any, prepare: Any) -> type[Function]:
    """The function with a gradient rule."""

    class Registered(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            output = function(*args)
            if prepare is not None:
                prepare(ctx, args, output)
            return output

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return rule(ctx, *grads)

    return Registered


# Namespaces -----------------------------------------------------------------------------------------------

_OPS: dict[str, CustomOpDef] = {}


class Namespace:
    """``torch.ops.NAMESPACE``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> CustomOpDef:
        op = _OPS.get(f"{self.name}::{name}") or _of_pytorch(self.name, name)
        if op is None:
            raise MissingName(f"{PACKAGE}.ops.{self.name}", name)
        return op

    def __dir__(self) -> list[str]:
        return [key.partition("::")[2] for key in _OPS if key.startswith(f"{self.name}::")]


def _of_pytorch(namespace: str, name: str) -> CustomOpDef | None:
    """An op of PyTorch's core, by the function or method of that name."""
    if namespace not in ("aten", "prims"):
        return None
    from ..functions import names

    holders: tuple[Any, ...] = (names, F, Tensor)
    function = next((getattr(holder, name) for holder in holders if hasattr(holder, name)), None)
    return _OPS.setdefault(f"{namespace}::{name}", CustomOpDef(namespace, name, function))


def namespace(name: str) -> Namespace:
    """``torch.ops.NAME``."""
    return Namespace(name)


def load_library(path: Any) -> NoReturn:
    """``torch.ops.load_library``, which loads operators that are written in C++.

    Raises:
        OSError: always, as PyTorch for a library that was built for another version.
    """
    raise OSError(f"{os.fspath(path)}: a library of operators for PyTorch's C++ library, which is not behind minigrad")


# Registration ---------------------------------------------------------------------------------------------


def _parts(qualname: str) -> tuple[str, str]:
    """ "NAMESPACE::NAME.OVERLOAD(...)" -> its namespace and name.

    Raises:
        ValueError: it has no namespace.
    """
    match = re.match(r"([\w.]+)::(\w+)", qualname)
    if not match:
        raise ValueError(f"{qualname!r} is no operator's name: expected 'namespace::name'")
    return match[1], match[2]


def _op(qualname: Any) -> CustomOpDef:
    """The operator of a name, made when it is first named."""
    if isinstance(qualname, CustomOpDef):
        return qualname
    space, name = _parts(qualname)
    return _OPS.setdefault(f"{space}::{name}", CustomOpDef(space, name))


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
    """Register a function as ``torch.ops.NAMESPACE.NAME``; without ``fn``, a decorator.

    Args:
        name: "namespace::name".
        mutates_args, device_types, schema, tags: not used: Python calls the function as it is.

    Raises:
        ValueError: the name has no namespace.
    """
    op = _op(name)

    def register(function: Callable[..., Any]) -> CustomOpDef:
        op._function, op.__doc__ = function, function.__doc__
        return op

    return register if fn is None else register(fn)


triton_op = custom_op


def register_fake(
    op: Any, func: Any = None, /, *, lib: Any = None, _stacklevel: int = 1, allow_override: Any = None
) -> Any:
    """Keep a function that knows shapes alone, for tensors on "meta"; without ``func``, a decorator."""
    return _op(op).register_fake if func is None else _op(op).register_fake(func)


impl_abstract = register_fake


def register_autograd(op: Any, backward: Any, /, *, setup_context: Any = None, lib: Any = None) -> None:
    """Set an operator's gradient rule."""
    _op(op).register_autograd(backward, setup_context=setup_context)


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """Set what an operator computes; without ``func``, a decorator."""
    return _op(op).register_kernel(device_types, func)


def register_vmap(op: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """Without effect: ``func.vmap`` calls the function itself."""
    return (lambda function: function) if func is None else func


def define(qualname: str, schema: str = "", *, lib: Any = None, tags: Any = ()) -> None:
    """Name an operator."""
    _op(qualname)


def impl(qualname: str, types: Any = None, func: Any = None, *, lib: Any = None) -> Any:
    """Set what an operator computes; without ``func``, a decorator."""
    return _op(qualname).register_kernel(types, func)


class Library:
    """The operators of a namespace.

    Args:
        ns: the namespace.
        kind: "DEF", "IMPL" or "FRAGMENT".
        dispatch_key: not used.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        self.ns, self.kind = ns, kind

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Name an operator by its schema: "name(Tensor x) -> Tensor"."""
        return _op(f"{self.ns}::{schema}")._opname

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", **options: Any) -> None:
        """Set what an operator computes; a function for "Meta" is one for shapes alone."""
        op = _op(op_name if "::" in str(op_name) else f"{self.ns}::{op_name}")
        if dispatch_key == "Meta":
            op.register_fake(fn)
        elif dispatch_key != "Autograd":
            op.register_kernel(None, fn)


def infer_schema(prototype_function: Callable[..., Any], /, **options: Any) -> str:
    """ "(...) -> ...": a schema is not checked here."""
    return "(...) -> (...)"
