"""Types for annotations, as in ``torch.types``, ``nn.common_types`` and ``nn.modules.utils``."""

from __future__ import annotations

import collections.abc
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

from ..backend import Device as _device
from ..backend.dtype import DType as _dtype  # noqa: F401 (torch.types has it)
from ..tensor import Size, Tensor

__all__ = ["Device", "FileLike", "Number", "Size", "Tensor"]

Device = _device | str | int | None
FileLike = Any
Number = int | float | bool
_bool, _int, _float = bool, int, float
_size = Size | list[int] | tuple[int, ...]

_size_any_t = _size_1_t = _size_2_t = _size_3_t = int | tuple[int, ...]
_size_any_opt_t = _size_2_opt_t = _size_3_opt_t = int | None | tuple[int | None, ...]
_ratio_any_t = _ratio_2_t = _ratio_3_t = float | tuple[float, ...]
_TensorOrTensors = Tensor | Sequence[Tensor]
_tensor_list_t = Tensor | list[Tensor]
_maybe_indices_t = Tensor | tuple[Tensor, Tensor]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that repeats a value n times, and converts an iterable to a tuple."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, collections.abc.Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (_ntuple(n) for n in (1, 2, 3, 4))


def _reverse_repeat_tuple(t: Sequence[Any], n: int) -> tuple[Any, ...]:
    """Repeat each value n times, from last to first, in the order of ``pad``'s sizes."""
    return tuple(value for value in reversed(t) for _ in range(n))
