"""``torch._check`` and its like: errors whose text is made only where it is needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..backend.dtype import bool_
from ..tensor import Tensor

_NAMES = """check check_index check_is_size check_not_implemented check_tensor_all check_tensor_all_with check_type
check_value check_with"""
CHECKS = _NAMES.split()  # each with a _ before it in PyTorch
Message = Callable[[], Any] | None


def check_with(error_type: type[Exception], cond: bool, message: Message = None) -> None:
    """Raise an error where a condition is False: ``torch._check_with``.

    Args:
        error_type: the error's class.
        cond: the condition.
        message: a function without arguments that returns the error's text.

    Raises:
        TypeError: ``cond`` is no bool, or ``message`` no function.
    """
    if not isinstance(cond, bool):
        hint = ". For tensors, use torch._check_tensor_all()" if isinstance(cond, Tensor) else ""
        raise TypeError(f"cond must be a bool, but got {type(cond)}{hint}")
    if cond:
        return
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()) if message else "Expected cond to be True, but got False.")


def check_tensor_all_with(error_type: type[Exception], cond: Tensor, message: Message = None) -> None:
    """The same for a tensor of bools, all of which must be True."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    check_with(error_type, bool(cond.all().item()), message)


def check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """A size is not negative, and at most ``max``."""
    check(i >= 0 and (max is None or i <= max), message)


check = partial(check_with, RuntimeError)
check_index = partial(check_with, IndexError)
check_not_implemented = partial(check_with, NotImplementedError)
check_tensor_all = partial(check_tensor_all_with, RuntimeError)
check_type = partial(check_with, TypeError)
check_value = partial(check_with, ValueError)
