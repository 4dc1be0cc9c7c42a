"""``x.float()`` and its like, apart from the rest since their names hide Python's types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backend import dtype as dt
from ..tensor import Tensor
from .define import method, named


def _to(dtype: Any, name: str) -> Callable[..., Tensor]:
    def conversion(input: Tensor, memory_format: Any = None) -> Tensor:
        return input.to(dtype=dtype, memory_format=memory_format)

    return method(free=False)(named(conversion, name, f"As {dtype.name}."))


_NAMED = {**dt._ALIASES, "bfloat16": dt.bfloat16, "bool": dt.bool_}
globals().update({name: _to(dtype, name) for name, dtype in _NAMED.items()})
