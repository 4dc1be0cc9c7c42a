"""Each public function is defined once, under a decorator that determines where its name appears:

    @function                  minigrad.cat
    @method                    minigrad.sum and Tensor.sum
    @method(in_place=True)     minigrad.clamp, Tensor.clamp and Tensor.clamp_
    @method(free=False)        Tensor.view
    @attached                  Tensor.size and Tensor.__add__, which do not accept argument aliases
    @attribute                 Tensor.T, a property; with @function below it, minigrad.real and Tensor.real

``unary`` and ``binary`` define a function directly from an op. An alias is an assignment (``multiply = mul``).
``functions/names.py`` collects the names; ``python tasks.py index`` writes stubs for type checkers (``names.pyi``,
``methods.pyi``). Like PyTorch's, the functions accept aliases for argument names (``spelled``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from inspect import signature, unwrap
from types import FunctionType
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np

from ..autograd.inplace import as_it_was, at_once, bump, check_fits, check_mutable, check_no_leaf, mutate, rebase
from ..autograd.methods import Methods
from ..autograd.mode import set_grad_enabled, state
from ..autograd.tape import Variable, wrap
from ..autograd.tracebacks import border, shorten, wrapping
from ..autograd.views import Viewing
from ..backend import dtype as dt, xp
from ..ops import elementwise as e
from ..ops.op import Op
from ..tensor import Tensor, apply, everything
from .arguments import Scalar, operand

Function = TypeVar("Function", bound=Callable[..., Any])
Change = Callable[[Callable[..., Any]], Callable[..., Any]]


class Places(NamedTuple):
    """The places where a function's name appears; ``in_place`` builds ``Tensor.name_`` from the function."""

    free: bool = True
    method: bool = False
    attribute: bool = False
    in_place: Change | None = None


def function(definition: Function) -> Function:
    """Define a free function, ``minigrad.name``."""
    return _placed(definition, Places())


@overload
def method(definition: Function, /) -> Function: ...
@overload
def method(*, free: bool = True, in_place: bool | Change = False) -> Callable[[Function], Function]: ...


def method(definition: Any = None, /, *, free: bool = True, in_place: bool | Change = False) -> Any:
    """Define a Tensor method and, if ``free``, a free function. ``in_place`` can be True to add a method ``name_``, or
    a function that builds that method."""
    places = Places(free, method=True, in_place=_change(in_place, changing))
    if definition is not None:
        return _placed(definition, places)
    return lambda definition: _placed(definition, places)


def attached(definition: Function) -> Function:
    """Define a Tensor method that receives its arguments unchanged, such as an operator."""
    definition.places = Places(free=False, method=True)  # type: ignore[attr-defined]
    return definition


def attribute(definition: Function) -> Function:
    """Define a Tensor property, which may also be a free function."""
    places = getattr(definition, "places", Places(free=False))
    definition.places = Places(places.free, places.method, True, places.in_place)  # type: ignore[attr-defined]
    return definition


def _placed(definition: Function, places: Places) -> Function:
    public = spelled(definition)
    public.places = places  # type: ignore[attr-defined]
    return public


def public(module: Any) -> Iterator[tuple[str, Any, Places]]:
    """The public functions and types of a module, each with its name, value and places."""
    for name, value in vars(module).items():
        places = getattr(value, "places", None) if callable(value) else None
        if places.__class__ is Places and (not name.startswith("_") or name.endswith("__")):
            yield name, value, places


def collect(families: Iterable[Any], beside: Collection[str] = ()) -> dict[str, Any]:
    """Collect the free functions of modules, except the names in ``beside``, and add the methods to Methods."""
    free = {}
    for family in families:
        for name, function, places in public(family):
            if name in beside:
                continue
            if places.free:
                free[name] = function
            if places.method:
                setattr(Methods, name, getattr(function, "bare", function))  # a method needs no aliases
            if places.attribute:
                setattr(Methods, name, _property(name, function))
            if places.in_place is not None:
                setattr(Methods, f"{name}_", places.in_place(function))
    return free


def _property(name: str, function: Any) -> property:
    """A property. ``real`` and ``imag`` support assignment: ``x.real = y`` copies y into x.real."""

    def put(self: Any, value: Any) -> None:
        view = function(self)
        _ = view.copy_(value) if hasattr(value, "array") else view.fill_(value)

    return property(function, put if name in ("real", "imag") else None)


Unary = Callable[[Tensor], Tensor]  # an elementwise function
Binary = Callable[[Any, Any], Tensor]  # for two tensors, or a tensor and a number


def unary(op: Op, *, free: bool = True, method: bool = True, in_place: bool | Change = True) -> Unary:
    """Define a function of one tensor from an op. ``in_place`` works as in ``method``."""

    def function(input: Tensor) -> Tensor:
        try:
            return apply(op, (input,))
        except Exception as error:
            shorten(error)
            raise

    def change(input: Tensor) -> Tensor:
        try:
            return mutate(input, op, (input,))
        except Exception as error:
            shorten(error)
            raise

    places = Places(free, method, in_place=_change(in_place, by(op, change)))
    public = _placed(named(function, op.name, f"{op.__doc__}, elementwise."), places)
    public.bare = function  # type: ignore[attr-defined]
    return public


def binary(op: Op, *, name: str = "", free: bool = True, method: bool = True, in_place: bool | Change = True) -> Binary:
    """Define a function of two tensors, or of a tensor and a number, from an op."""

    def function(input: Tensor, other: Tensor | Scalar) -> Tensor:
        return apply(op, pair(op, input, other))

    def change(input: Tensor, other: Tensor | Scalar) -> Tensor:
        return mutate(input, op, pair(op, input, other))

    places = Places(free, method, in_place=_change(in_place, by(op, spelled(change))))
    doc = f"{op.__doc__}, elementwise; the operands broadcast."
    return _placed(named(function, name or op.name, doc), places)


def _change(in_place: bool | Change, usual: Change) -> Change | None:
    return usual if in_place is True else in_place or None


# The types of parameters, by name.
_NOT_TENSORS = dict.fromkeys(("dim", "dim1", "dim2", "length", "offset", "start"), "int")
_NOT_TENSORS |= dict.fromkeys(("data", "device", "fill_value", "indices", "memory_format"), "Any")
_NOT_TENSORS |= dict.fromkeys(("size", "stride", "value"), "Any")
_NOT_TENSORS |= {"accumulate": "bool", "non_blocking": "bool", "min": "Scalar", "max": "Scalar"}
_NOT_TENSORS |= {"tensors": "Sequence[Tensor]"}


def brief(place: Callable[[Any], Any], rows: dict[str, tuple[Any, str]], returns: str = "Tensor") -> dict[str, Any]:
    """A dict of single-expression functions, from lambdas and docstrings."""
    functions = {}
    for name, (function, doc) in rows.items():
        code = function.__code__
        kinds = {p: _NOT_TENSORS.get(p, "Tensor") for p in code.co_varnames[: code.co_argcount]}
        function.__annotations__ = {**kinds, "return": returns}
        functions[name] = place(named(function, name, doc))
    return functions


def named(function: Function, name: str, doc: str) -> Function:
    """Give a function a public name and a docstring."""
    function.__module__, function.__doc__ = "minigrad", doc  # pickle looks up the name in that module
    function.__name__ = function.__qualname__ = name
    return function


_OF_NUMBERS = {e.add, e.sub, e.mul, e.div, e.floor_divide}  # these also accept two numbers


def pair(op: Op, input: Any, other: Any) -> tuple[Any, Any]:
    """Convert two operands. Raises TypeError for other objects, and for two numbers unless the op is arithmetic."""
    if isinstance(input, Variable) and isinstance(other, Variable):
        return input, other
    if not hasattr(input, "array"):
        if not hasattr(other, "array") and op in _OF_NUMBERS:
            return wrap(np.asarray(input, dt.of_number(input).numpy)), other
        if not hasattr(other, "array"):
            raise TypeError(f"{op.name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        return operand(input, other), other
    right = operand(other, input)
    if right is NotImplemented:
        raise TypeError(f"{op.name}(): argument 'other' must be a Tensor or a number, not {type(other).__name__}")
    return input, right


def changing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The in-place method that sets a tensor to the result of ``function``."""
    name = function.__name__

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            check_mutable(self, name)
            values = (self, *args, *kwargs.values())
            is_recorded = state.grad and any(isinstance(v, Variable) and v._wanted() for v in values)
            result = function(as_it_was(self) if is_recorded else self, *args, **kwargs)
            check_fits(self, result.array, name)
            self.array[...] = result.array
            bump(self, name)
            if state.grad:
                rebase(self, result if result.array.dtype == self.array.dtype else result.to(self.dtype))
            return self
        except Exception as error:
            shorten(error)
            raise

    return in_place(method, function)


def by(op: Op, usual: Callable[..., Any] | None = None) -> Change:
    """A builder for the in-place method of a function that is a single op for floats; ``usual`` handles other cases."""

    def build(function: Callable[..., Any]) -> Callable[..., Any]:
        general, names, least = usual or changing(function), op.params, op.arity - 1

        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            others = args
            if kwargs:
                if (*kwargs,) != names[len(args) + 1 : len(args) + 1 + len(kwargs)]:
                    return general(self, *args, **kwargs)
                others = (*args, *kwargs.values())
            if (others or not least) and isinstance(self, Viewing) and at_once(self, op, others):
                return self
            return general(self, *args, **kwargs)

        return in_place(method, function)

    return build


def reshaping(function: Callable[..., Any]) -> Callable[..., Any]:
    """The in-place method that turns a tensor into the view that ``function`` returns, even within ``no_grad``."""
    name = function.__name__

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = object.__new__(type(self))
        everything(before).update(everything(self), _is_former=True)
        try:
            check_no_leaf(self, name)
            with set_grad_enabled(state.grad or self._source()[0] is not None):
                view = function(before, *args, **kwargs)
        except Exception as error:
            shorten(error)
            raise
        if view is not before:
            self.array, self._parent, self._view = view.array, view._parent, view._view
            self._seen, self._node, self._slot = view._seen, view._node, view._slot
            self._needs = view._needs or before._needs
        return self

    return in_place(method, function)


def in_place(method: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a method a function's name plus an underscore, and the function's signature."""
    method.__name__ = method.__qualname__ = f"{function.__name__}_"
    method.__doc__ = f"In place: {function.__doc__}"
    method.__wrapped__ = function
    return method


_SPELLINGS = {
    other: name
    for name, others in {
        "dim": ("axis",),
        "keepdim": ("keepdims",),
        "input": ("x", "self", "x1", "tensor"),
        "other": ("x2", "exponent", "the_template", "src"),
        "low": ("from",),
        "high": ("to",),
        "dim0": ("axis0",),
        "dim1": ("axis1",),
        "split_size_or_sections": ("split_size", "split_sizes"),
        "indices_or_sections": ("sections", "indices", "tensor_indices_or_sections"),
        "elements": ("element",),
        "test_elements": ("test_element",),
        "A": ("input",),  # for functions that linalg also has
    }.items()
    for other in others
}
_SPECIAL = {*_SPELLINGS, "out"}


def spelled(function: Function) -> Function:
    """Let a function accept NumPy's argument names (``axis``, ``keepdims``) and ``out=`` tensors for the results."""
    return border(function, _call)


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if _SPECIAL.isdisjoint(kwargs) or function.__class__ is not FunctionType:  # see compat/overrides.py
        return function(*args, **kwargs)
    keywords = {_name(k, function) if k in _SPELLINGS else k: v for k, v in kwargs.items() if k != "out"}
    result = function(*args, **keywords)
    return _written(result, kwargs["out"], [*args, *keywords.values()]) if kwargs.get("out") is not None else result


def _name(keyword: str, function: Callable[..., Any]) -> str:
    """The parameter that a keyword is an alias for, or the keyword itself. "x" may mean "input", which may mean "A"."""
    name, parameters = keyword, _parameters(function)
    while name not in parameters and name in _SPELLINGS:
        name = _SPELLINGS[name]
    return name if name in parameters else keyword


@cache
def _parameters(function: Callable[..., Any]) -> Collection[str]:
    return signature(function).parameters


def _written(result: Any, out: Any, arguments: list[Any]) -> Any:
    """Write results to the ``out=`` tensors, resizing them if necessary. Raises RuntimeError if that is impossible."""
    if isinstance(result, tuple):
        parts = [_written(r, o, arguments) for r, o in zip(result, out, strict=True)]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    if any(step == 0 and n > 1 for step, n in zip(out.array.strides, out.array.shape, strict=True)):
        problem = "more than one element of the written-to tensor refers to a single memory location"
        raise RuntimeError(f"unsupported operation: {problem}. Please clone() the tensor before.")
    if out.requires_grad or result.requires_grad:
        raise RuntimeError("functions with out=... arguments don't support automatic differentiation")
    if not dt.can_cast(dt.of(result.array), dt.of(out.array)):
        raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output type {out.dtype}")
    if out.array.shape != result.array.shape:
        if _is_among(out, arguments):
            out_is = f"out= of shape {list(out.array.shape)} is also an argument, or a view of one"
            remedy = f"the result has shape {list(result.array.shape)}: pass another tensor as out="
            raise RuntimeError(f"unsupported operation: {out_is}, and {remedy}")
        out.resize_(result.array.shape)
    out.copy_(result)
    return out


def _is_among(out: Any, arguments: Any) -> bool:
    """Whether a tensor may share memory with an argument, or with a tensor in a list."""
    if isinstance(arguments, (list, tuple)):
        return any(_is_among(out, argument) for argument in arguments)
    if arguments is out:
        return True
    return isinstance(arguments, Variable) and bool(xp(out.array).may_share_memory(out.array, arguments.array))


def factors_first(function: Function) -> Function:
    """Let a function accept factors before the tensors that they scale, as in PyTorch's old ``add(x, alpha, y)``."""
    code = unwrap(function).__code__
    count = code.co_argcount
    factors = code.co_varnames[count : count + code.co_kwonlyargcount]

    def with_factors(*args: Any, **kwargs: Any) -> Any:
        if len(args) > count and hasattr(args[-1], "array"):
            numbers = [a for a in args if isinstance(a, (int, float))]
            tensors = [a for a in args if hasattr(a, "array")]
            if len(numbers) <= len(factors) and len(numbers) + len(tensors) == len(args):
                kwargs.update(zip(factors, numbers, strict=False))
                return function(*tensors, **kwargs)
        return function(*args, **kwargs)

    return wrapping(with_factors, function)
