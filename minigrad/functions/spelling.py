"""The ways in which PyTorch lets arguments be written."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from inspect import signature, unwrap
from types import FunctionType
from typing import Any, TypeVar

from ..autograd.tape import Variable
from ..autograd.tracebacks import border, wrapping
from ..backend import dtype as dt
from ..backend import xp

Function = TypeVar("Function", bound=Callable[..., Any])
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
        "A": ("input",),  # of functions that stand in linalg as well
    }.items()
    for other in others
}
_SPECIAL = {*_SPELLINGS, "out"}


def spelled(function: Function) -> Function:
    """Let a function take NumPy's names of arguments (``axis``, ``keepdims``), and ``out=``, tensors for results."""
    return border(function, _call)


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if _SPECIAL.isdisjoint(kwargs) or function.__class__ is not FunctionType:  # it asks (compat/overrides.py)
        return function(*args, **kwargs)
    named = {_name(k, function) if k in _SPELLINGS else k: v for k, v in kwargs.items() if k != "out"}
    result = function(*args, **named)
    return _written(result, kwargs["out"], [*args, *named.values()]) if kwargs.get("out") is not None else result


def _name(keyword: str, function: Callable[..., Any]) -> str:
    """The parameter that a keyword is another spelling of, or the keyword: "x" may be "input", and that "A"."""
    name, known = keyword, _parameters(function)
    while name not in known and name in _SPELLINGS:
        name = _SPELLINGS[name]
    return name if name in known else keyword


@cache
def _parameters(function: Callable[..., Any]) -> Collection[str]:
    return signature(function).parameters


def _written(result: Any, out: Any, arguments: list[Any]) -> Any:
    """Write results to the tensors of ``out=``, which take the results' shapes; RuntimeError where they cannot."""
    if isinstance(result, tuple):
        parts = [_written(r, o, arguments) for r, o in zip(result, out, strict=True)]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    if any(step == 0 and n > 1 for step, n in zip(out.array.strides, out.array.shape, strict=True)):
        problem = "more than one element of the written-to tensor refers to a single memory location"
        raise RuntimeError(
            f"unsupported operation: {problem}. Please clone() the tensor before performing the operation."
        )
    if out.requires_grad or result.requires_grad:
        raise RuntimeError("functions with out=... arguments don't support automatic differentiation")
    if not dt.can_cast(dt.of(result.array), dt.of(out.array)):
        raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output type {out.dtype}")
    if out.array.shape != result.array.shape:
        if _is_among(out, arguments):
            out_is = f"out= of shape {list(out.array.shape)} is an argument as well, or a view of one"
            remedy = f"the result's shape is {list(result.array.shape)}: write it to another tensor"
            raise RuntimeError(f"unsupported operation: {out_is}, and {remedy}")
        out.resize_(result.array.shape)
    out.copy_(result)
    return out


def _is_among(out: Any, arguments: Any) -> bool:
    """Whether a tensor may share memory with one of the arguments, lists of tensors included."""
    if isinstance(arguments, (list, tuple)):
        return any(_is_among(out, argument) for argument in arguments)
    if arguments is out:
        return True
    return isinstance(arguments, Variable) and bool(xp(out.array).may_share_memory(out.array, arguments.array))


def factors_first(function: Function) -> Function:
    """Let a function take its factors before the tensors they scale, as in old programs: ``add(x, alpha, y)``."""
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
