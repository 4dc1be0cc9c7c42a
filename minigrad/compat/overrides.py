"""``torch.overrides``: classes that override functions with ``__torch_function__``, and modes that intercept calls.

The library's functions check for neither. When the first mode, tensor of a user-defined class, or argument with a
``__torch_function__`` appears, an ``_Asking`` replaces each public function, method and property. By then, programs
have stored functions in tables and variables. So a free function remains the same object, and only the function in its
closure is replaced (``tracebacks.border``). A property also remains the same object, with new functions. Any other
method is replaced, as an attribute of its class, with an object equal to it.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import FunctionType, MethodType
from typing import Any

from ..autograd.mode import at_end
from ..autograd.tracebacks import PACKAGE, answers, border, shorten
from ..backend import Device, dtype
from ..functions import names
from ..nn import functional
from ..nn.parameter import Parameter
from ..tensor import Size, Tensor

__all__ = ["BaseTorchFunctionMode", "TorchFunctionMode", "handle_torch_function", "has_torch_function"]
__all__ += ["is_tensor_like", "resolve_name"]


class _State(threading.local):
    """A thread's modes, innermost last, and whether modes and classes can intercept calls."""

    modes: tuple[TorchFunctionMode, ...] = ()
    ask_modes = ask_classes = True


_state = _State()


@contextmanager
def _set(**changes: Any) -> Iterator[None]:
    with at_end(vars(_state).update, {name: getattr(_state, name) for name in changes}) as end, end:
        vars(_state).update(changes)
        yield


# The first disables classes; the second disables modes as well.
DisableTorchFunctionSubclass = functools.partial(_set, ask_classes=False)
DisableTorchFunction = functools.partial(_set, ask_classes=False, ask_modes=False)
_is_torch_function_enabled = lambda: _state.ask_classes
_is_torch_function_mode_enabled = lambda: bool(_state.modes)
_len_torch_function_stack = lambda: len(_state.modes)

# Dispatching ----------------------------------------------------------------------------------------------

_PLAIN = frozenset({Tensor, Parameter, type(None), bool, int, float, complex, str, slice, Size, Device, dtype.DType})


def _answering(values: Iterable[Any], results: list[Any] | None = None) -> list[Any]:
    """The arguments, including those in lists, whose classes override functions: one per class, subclasses first."""
    results = [] if results is None else results
    for value in values:
        kind = type(value)
        if kind in _PLAIN:
            continue
        if kind is tuple or (kind is list and value and type(value[0]) not in (int, float)):
            _answering(value, results)
        elif answers(kind) and all(type(other) is not kind for other in results):
            place = (i for i, other in enumerate(results) if issubclass(kind, type(other)))
            results.insert(next(place, len(results)), value)
    return results


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether there is a mode, or an argument whose class overrides functions."""
    return _state.ask_modes and bool(_state.modes or (_state.ask_classes and _answering(relevant_args)))


has_torch_function_variadic = has_torch_function_unary = lambda *args: has_torch_function(args)


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a tensor, or its class has a ``__torch_function__``."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def resolve_name(f: Any) -> str | None:
    """The name of a function in PyTorch, "torch.add" or "torch.Tensor.shape.__get__"; None if it has no name."""
    return _table().get(f, (None,))[0]


def handle_torch_function(public_api: Any, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """The result of ``public_api(*args, **kwargs)``, returned by the innermost mode or else by the first class of
    ``relevant_args`` that handles it. Raises TypeError if all return NotImplemented."""
    values = _answering(relevant_args) if _state.ask_classes else []
    types = tuple(map(type, values))
    result: Any = NotImplemented
    if _state.modes and _state.ask_modes:
        *outer, mode = _state.modes
        with _set(modes=tuple(outer)):
            result = mode.__torch_function__(public_api, types, args, kwargs)
    for value in values:
        if result is not NotImplemented:
            break
        result = type(value).__torch_function__(public_api, types, args, kwargs)
    if result is NotImplemented:
        modes = [f"mode object {mode}" for mode in _state.modes[-1:]]
        who = "".join(f"\n\n  - {w}" for w in (*modes, *(f"tensor subclass {t}" for t in types)))
        name = resolve_name(public_api) or getattr(public_api, "__name__", public_api)
        raise TypeError(
            f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:{who}"
        )
    return result


def default(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The default ``__torch_function__`` of tensor classes: the function's result, as a tensor of the class."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return result if func in get_default_nowrap_functions() else _as_class(result, cls)


def disabled(func: Any, args: Any, kwargs: Any) -> Any:
    """Call a function without passing the call to classes."""
    with DisableTorchFunctionSubclass():
        return func(*args, **kwargs)


def _as_class(result: Any, cls: Any) -> Any:
    if cls is Tensor:
        return result
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        parts = [_as_class(part, cls) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def get_default_nowrap_functions() -> set[Any]:
    """Functions whose results keep their own class."""
    return {Tensor.grad.__get__}


class TorchFunctionMode:
    """Intercepts every public function call within a ``with`` block. Subclass it and define ``__torch_function__(self,
    func, types, args=(), kwargs=None)``, which runs outside the mode."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        _open(modes=1)
        _state.modes = (*_state.modes, self)
        return self

    def __exit__(self, *raised: object) -> None:
        _state.modes = _state.modes[:-1]
        _open(modes=-1)


class BaseTorchFunctionMode(TorchFunctionMode):
    """Calls each function unchanged."""

    __torch_function__ = lambda self, func, types, args=(), kwargs=None: func(*args, **(kwargs or {}))


_PLACES = ("", "linalg", "fft", "special", "nn.functional", "nn.init", "autograd")
# These do not take tensors, or are called unchanged.
_IGNORED = set(
    """
    broadcast_shapes from_numpy frombuffer get_rng_state gradcheck gradgradcheck initial_seed is_grad_enabled is_storage
    is_tensor seed set_default_tensor_type set_printoptions set_rng_state typename as_subclass __new__ __init__ __iter__
    __hash__ __getattr__ __reduce__ __dir__ __init_subclass__ __class_getitem__
    """.split()  # noqa: SIM905 (a table)
)
_AS = """
abs add div ge gt iadd=add_ idiv=div_ ifloordiv=floor_divide_ imod=remainder_ imul=mul_ isub=sub_ itruediv=div_ le lt
matmul mod=remainder mul ne neg pos=positive radd=add rand=bitwise_and rmul=mul ror=bitwise_or rxor=bitwise_xor sub
truediv=div
"""
# PyTorch treats each of these special methods as another method. All others are called unchanged.
_OPERATORS = {f"__{name}__": method or name for name, _, method in (pair.partition("=") for pair in _AS.split())}


def modules(place: str) -> list[Any]:
    """The modules that contain a path's functions, in the core and in this layer."""
    above = {"": "functions", "nn.functional": "nn.functional"}
    core = import_module(f"{PACKAGE}.{place}") if place else names
    return [core, import_module(f"{PACKAGE}.compat.{above[place]}")] if place in above else [core]


@functools.cache
def _attributes() -> dict[Any, list[tuple[type, str]]]:
    """The classes and names of each of Tensor's methods and properties before replacement."""
    places: dict[Any, list[tuple[type, str]]] = {}
    for cls in Tensor.__mro__:
        for name, value in vars(cls).items() if cls.__module__.startswith(PACKAGE) else ():
            if isinstance(value, (FunctionType, property)):
                places.setdefault(value, []).append((cls, name))
    return places


@functools.cache
def _table() -> dict[Any, tuple[str, Any]]:
    """The public functions that can be intercepted, each with its PyTorch name and the function to run."""
    table: dict[Any, tuple[str, Any]] = {}
    for place in _PLACES:
        for module in modules(place):
            for name in getattr(module, "__all__", vars(module)):
                value = getattr(module, name)
                if name[0] != "_" and name not in _IGNORED and hasattr(value, "is_border"):
                    table.setdefault(value, (".".join(filter(None, ("torch", place, name))), value))
    for value, places in _attributes().items():
        for _, name in places:
            before = table.get(value, ("",))[0]
            is_new = name.endswith("__") or not (before or name[0] == "_")
            if isinstance(value, property) and name[0] != "_":
                ends = [(getattr(value, method), method, getattr(value, end)) for method, end in _ENDS.items()]
                table |= {public: (f"torch.Tensor.{name}.{method}", f) for public, method, f in ends if f is not None}
            elif type(value) is FunctionType and is_new and not before.endswith("__") and name not in _IGNORED:
                table[value] = f"torch.Tensor.{name}", value
    return table


class _Asking:
    """Replaces a public function, and passes calls to modes and classes first. It equals the method that it replaces.

    Attributes:
        public: the function as called by programs.
        func: the function passed to modes and classes.
        switch: installs either this object or ``own``.
        run: the function to run if no mode or class handles the call.
    """

    asks = True

    def __init__(self, public: Any) -> None:
        name, function = _table()[public]
        self.attribute = name.rpartition(".")[2]
        self.is_operator = public is function and self.attribute.endswith("__")
        if self.is_operator:
            function.__name__ = {"__pow__": "pow", "__ipow__": "pow_"}.get(self.attribute, self.attribute)
        functools.update_wrapper(self, function)
        self.switch, self.own, self.run = _switch(public, function)
        self.func = self.public = self if self.own is public else public
        if self.is_operator and self.attribute in _OPERATORS:
            self.func = asking(getattr(Tensor, _OPERATORS[self.attribute])).public

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            values = (*args, *kwargs.values()) if kwargs else args
            if has_torch_function(values):
                return handle_torch_function(self.func, values, *args, **kwargs)
            return self.run(*args, **kwargs)
        except Exception as error:
            if self.is_operator and len(args) == 2 and isinstance(error, TypeError) and has_torch_function(args):
                return NotImplemented  # Python tries the other operand
            error._asked = True  # type: ignore[attr-defined]
            shorten(error)
            raise

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["__wrapped__"], name)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.__wrapped__

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> Any:
        return getattr, (Tensor, self.attribute)


_askings: dict[Any, _Asking] = {}
# The code of functions that run ``function`` from their closure.
_ANNOUNCED, _BORDER = names.zeros.__code__, functional.linear.__code__


def asking(public: Any) -> _Asking:
    """The object that replaces a public function."""
    return _askings.get(public) or _askings.setdefault(public, _Asking(public))


def _switch(public: Any, function: Any) -> tuple[Callable[[Any], None], Any, Any]:
    """Return a callable that replaces a public function's inner function, the inner function, and a caller for it."""
    if not isinstance(public, FunctionType):
        return functools.partial(_set_end, public.__self__, _ENDS[public.__name__]), function, function
    code = function.__code__
    if code is not _ANNOUNCED and code is not _BORDER:
        return functools.partial(_set_attributes, _attributes()[function]), function, function
    cells = dict(zip(code.co_freevars, function.__closure__, strict=True))
    cell, own = cells["function"], cells["function"].cell_contents
    if code is _ANNOUNCED:
        return _switch(public, own)
    return functools.partial(setattr, cell, "cell_contents"), own, border(own, cells["named"].cell_contents)


def _set_attributes(places: list[tuple[type, str]], value: Any) -> None:
    for cls, name in places:
        if vars(cls).get(name) == value:  # not one set by a program
            setattr(cls, name, value)


_ENDS = {"__get__": "fget", "__set__": "fset", "__delete__": "fdel"}


def _set_end(whole: Any, end: str, function: Any) -> None:
    """Replace a function of a property, which remains the same object."""
    ends = {name: getattr(whole, name) for name in _ENDS.values()} | {end: function}
    whole.__init__(**ends, doc=whole.__doc__)
    _set_attributes(_attributes()[whole], whole)  # makes Python, which may have cached the function, look it up again


def interpose(wrappers: Mapping[Any, Callable[[Any], Any]]) -> None:
    """Make functions run ``wrapper(function)`` from now on. Modes and classes, if any, still intercept calls first.
    Non-public functions are replaced in the library's modules."""
    with _lock:
        within = {f: functools.wraps(f)(wrapper(f)) for f, wrapper in wrappers.items() if f not in _table()}
        for function in wrappers.keys() - within.keys():
            public = asking(function)
            public.run, public.own = wrappers[function](public.run), public
            public.switch(public)
        modules = [module for name, module in list(sys.modules.items()) if name.startswith(f"{PACKAGE}.")]
        for module in modules:
            changes = {n: within[v] for n, v in vars(module).items() if type(v) is FunctionType and v in within}
            vars(module).update(changes)


_lock = threading.Lock()
_counts = {"modes": 0, "classes": 0}
_is_open = False
# How often functions can still switch back: CPython 3.13 stops caching attributes of a class after 1,000 changes.
_closings = 100


def _open(**more: int) -> None:
    """Count modes and classes. The first enables interception, and the end of the last mode disables it."""
    global _is_open, _closings
    with _lock:
        counts = {name: n + more.get(name, 0) for name, n in _counts.items()}
        if any(counts.values()) is not _is_open and (_closings or not _is_open):
            _closings -= _is_open
            for public in map(asking, _table()):
                public.switch(public.own if _is_open else public)
            _is_open = not _is_open
        _counts.update(counts)


def met(values: Iterable[Any], error: Exception | None) -> bool:
    """Record that a class with overrides has appeared. Returns True if the call that rejected it was not passed to the
    class, because interception was still disabled or another thread enabled it during the call."""
    if not _counts["classes"]:
        _open(classes=1)
        return True
    return has_torch_function(values) and not hasattr(error, "_asked")
