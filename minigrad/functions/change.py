"""Methods that change a tensor in place, built from functions that return a new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.inplace import as_it_was, at_once, bump, check_fits, check_mutable, check_no_leaf, rebase
from ..autograd.mode import set_grad_enabled, state
from ..autograd.tape import Variable
from ..autograd.tracebacks import shorten
from ..autograd.views import Viewing
from ..ops.op import Op
from ..tensor import everything

Change = Callable[[Callable[..., Any]], Callable[..., Any]]


def changing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The method that changes a tensor to the result of ``function``."""
    name = function.__name__

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            check_mutable(self, name)
            source = as_it_was(self) if state.grad and _any_wanted(self, *args, *kwargs.values()) else self
            return _become(self, function(source, *args, **kwargs), name)
        except Exception as error:
            shorten(error)
            raise

    return in_place(method, function)


def by(op: Op, usual: Callable[..., Any] | None = None) -> Change:
    """What builds the method of a function that of floats is one op; ``usual`` is the method for all else."""

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
    """The method after which a tensor is the view of itself that ``function`` returns, also within ``no_grad``."""
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
    """A method under the name of a function, with an underscore, and with its signature."""
    method.__name__ = method.__qualname__ = f"{function.__name__}_"
    method.__doc__ = f"In place: {function.__doc__}"
    method.__wrapped__ = function
    return method


def _any_wanted(*values: Any) -> bool:
    return any(isinstance(v, Variable) and v._wanted() for v in values)


def _become(self: Any, result: Any, name: str) -> Any:
    """Take the values and the history of a result."""
    check_fits(self, result.array, name)
    self.array[...] = result.array
    bump(self, name)
    if state.grad:
        rebase(self, result if result.array.dtype == self.array.dtype else result.to(self.dtype))
    return self
