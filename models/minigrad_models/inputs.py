"""The names of models' inputs, which are those of transformers, and old names, which work for one more release."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from minigrad import Tensor

Mask = Tensor | None  # 1 or True at tokens, 0 or False at padding
F = TypeVar("F", bound=Callable[..., Any])


def renamed(**names: str) -> Callable[[F], F]:
    """Let a function accept arguments by their old names as well (``old="new"``), with a FutureWarning."""

    def decorate(function: F) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for old in names.keys() & kwargs.keys():
                warnings.warn(f"{function.__qualname__}: {old} is now {names[old]}", FutureWarning, stacklevel=2)
                kwargs.setdefault(names[old], kwargs.pop(old))
            return function(*args, **kwargs)

        return call

    return decorate


old_names = renamed(tokens="input_ids", mask="attention_mask", types="token_type_ids")
