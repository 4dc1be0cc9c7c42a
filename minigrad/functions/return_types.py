"""The named tuples returned by functions with several results, printed as in PyTorch."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Self, TypeVar, TypeVarTuple

from ..backend import dtype as dt

Parts = TypeVarTuple("Parts")
T = TypeVar("T")  # Tensor, which cannot be imported here, as its stub, methods.pyi, names these types


class Result(tuple[*Parts]):
    """A tuple of ``values``, passed separately or as one sequence. The annotations of its class or a base class name
    its elements. (Defining many ``NamedTuple`` classes would take much longer.)"""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()
    _fields: tuple[str, ...] = ()
    n_fields = n_sequence_fields = n_unnamed_fields = 0  # as in PyTorch

    def __init_subclass__(cls) -> None:
        cls.__doc__ = cls.__doc__ or f"The result of ``{cls.__name__.replace('linalg_', 'linalg.')}``."
        if "__annotations__" in vars(cls):
            cls._fields = tuple(cls.__annotations__)
            setattr(cls, "__match_args__", cls._fields)  # noqa: B010 - mypy rejects an assignment
            cls.n_fields = cls.n_sequence_fields = len(cls._fields)
            for i, name in enumerate(cls._fields):
                setattr(cls, name, property(itemgetter(i)))

    def __new__(cls, *values: *Parts) -> Self:
        parts: Any = values
        if len(parts) == 1 and isinstance(parts[0], (tuple, list)):
            parts = parts[0]
        if len(parts) != len(cls._fields):
            raise TypeError(f"{cls.__name__}() takes ({', '.join(cls._fields)}), but got {len(parts)} values")
        return tuple.__new__(cls, parts)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        fields = ",\n".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return dt.shown(f"return_types.{type(self).__name__}(\n{fields})")


class ValuesIndices(Result[T, T]):
    """Elements and their indices along an axis."""

    values: T
    indices: T


class max(ValuesIndices[T]): ...


class min(ValuesIndices[T]): ...


class sort(ValuesIndices[T]): ...


class topk(ValuesIndices[T]): ...


class frexp(Result[T, T]):
    mantissa: T
    exponent: T
