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


half, float, double = _to(dt.float16, "half"), _to(dt.float32, "float"), _to(dt.float64, "double")
bfloat16 = _to(dt.bfloat16, "bfloat16")
cfloat, cdouble = _to(dt.complex64, "cfloat"), _to(dt.complex128, "cdouble")
long, int, short = _to(dt.int64, "long"), _to(dt.int32, "int"), _to(dt.int16, "short")
char, byte, bool = _to(dt.int8, "char"), _to(dt.uint8, "byte"), _to(dt.bool_, "bool")
