"""The ways in which PyTorch lets arguments be written."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from inspect import signature, unwrap
from typing import Any, TypeVar

from ..autograd.tape import Variable
from ..backend import dtype as dt

Function = TypeVar("Function", bound=Callable[..., Any])
_SPELLINGS = {
    "axis": "dim",
    "keepdims": "keepdim",
    "x": "input",
    "self": "input",
    "x1": "input",
    "x2": "other",
    "exponent": "other",
    "from": "low",
    "to": "high",
    "axis0": "dim0",
    "axis1": "dim1",
    "split_size": "split_size_or_sections",
}


def spelled(function: Function) -> Function:
    """Let a function take NumPy's names of its arguments (``axis``, ``keepdims``), and ``out=``, tensors for the
    results."""

    def with_spellings(*args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            try:
                return function(*args)
            except AttributeError as error:
                raise _no_tensor(function, error) from error
        out = kwargs.pop("out", None) if "out" in kwargs else None
        if not _SPELLINGS.keys().isdisjoint(kwargs):
            kwargs = _respelled(function, kwargs)
        result = function(*args, **kwargs)
        return result if out is None else _written(result, out)

    return wrapping(with_spellings, function)


def _respelled(function: Callable[..., Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments by the names that a function has for them."""
    known = _parameters(function)
    return {k if k in known else _SPELLINGS.get(k, k): v for k, v in kwargs.items()}


@cache
def _parameters(function: Callable[..., Any]) -> Collection[str]:
    return signature(function).parameters


def wrapping(wrapper: Any, function: Any) -> Any:
    """What ``functools.wraps`` does, in less time: hundreds of functions are wrapped when minigrad is imported."""
    wrapper.__module__, wrapper.__doc__ = function.__module__, function.__doc__
    wrapper.__name__, wrapper.__qualname__ = function.__name__, function.__qualname__
    wrapper.__annotations__ = function.__annotations__
    wrapper.__dict__ = {**function.__dict__, "__wrapped__": function}
    return wrapper


def _no_tensor(function: Callable[..., Any], error: AttributeError) -> Exception:
    """A TypeError for a list or number in a tensor's place; any other error as it is."""
    if error.name not in ("array", "detach", "abs") or isinstance(error.obj, Variable):
        return error
    return TypeError(f"{function.__name__}(): an argument must be Tensor, not {type(error.obj).__name__}")


def _written(result: Any, out: Any) -> Any:
    """Write results to the tensors of ``out=``, which take the results' shapes."""
    if isinstance(result, tuple):
        parts = [_written(r, o) for r, o in zip(result, out, strict=True)]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    if out.requires_grad or result.requires_grad:
        raise RuntimeError("functions with out=... arguments don't support automatic differentiation")
    if not dt.can_cast(dt.of(result.array), dt.of(out.array)):
        raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output type {out.dtype}")
    if out.array.shape != result.array.shape:
        out.resize_(result.array.shape)
    out.copy_(result)
    return out


def factors_first(function: Function) -> Function:
    """Let a function take its factors as older programs write them, before the tensors that they scale:
    ``add(input, alpha, other)``, ``addmm(beta, input, alpha, mat1, mat2)``."""
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
