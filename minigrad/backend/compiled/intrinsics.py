"""LLVM's types and instructions, from which the functions in ``native.py`` build their code. Only ``build.py`` imports
this file. ``b`` is LLVM's builder for the current function."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import lower_builtin, models, register_model, type_callable
from numba.np.arrayobj import make_array, populate_array

from . import native

I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
F32, F64, VOID = ir.FloatType(), ir.DoubleType(), ir.VoidType()
LANES = ir.VectorType(F32, 16)  # LLVM splits it into the registers that the processor has
BOOLS, HALVES, _NUMBERS = (ir.VectorType(kind, 16) for kind in (I8, ir.IntType(16), I32))
b: Any = None
_context: Any = None


class _Lanes(types.Type):  # type: ignore[misc]
    """Numba's type of LANES."""


@register_model(_Lanes)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, LANES)


_TYPES = {  # by annotation
    "int": types.int64,
    "float": types.float64,
    "bool": types.boolean,
    "None": types.void,
    "Single": types.float32,
    "Bits": types.int32,
    "Lanes": _Lanes(name="lanes"),
    "Flat": types.Array(types.float32, 1, "C"),
    "Rows": types.Array(types.float32, 2, "C"),
    "Cube": types.Array(types.float32, 3, "C"),
    "Flags": types.Array(types.uint8, 1, "C"),
    "Indices": types.Array(types.int64, 1, "C"),
    "Words": types.Array(types.uint64, 1, "C"),
    "Doubles": types.Array(types.float64, 1, "C"),
}


def register() -> dict[str, Callable[..., Any]]:
    """Let Numba compile ``native.py``. Returns, by annotation, functions from addresses and lengths to an array."""
    for function in vars(native).values():
        if inspect.isfunction(function) and function.__module__ == native.__name__:
            *kinds, result = (_TYPES[name] for name in function.__annotations__.values())
            _define(function, function, result(*kinds))
    lanes = _TYPES["Lanes"]
    for operation, emit in ((operator.add, _sum), (operator.iadd, _sum), (operator.mul, _product)):
        _define(operation, emit, lanes(lanes, lanes))
    views: dict[str, Callable[..., Any]] = {}
    views |= {kind: partial(array, kind) for kind, numba_type in _TYPES.items() if isinstance(numba_type, types.Array)}
    for kind, view in views.items():
        _define(view, view, _TYPES[kind](*[types.int64] * (_TYPES[kind].ndim + 1)))
    return views


def _define(function: Callable[..., Any], emit: Callable[..., Any], signature: Any) -> None:
    """Let Numba compile calls to a function with these types. ``emit`` builds the code for a call."""

    def typed(*args: Any) -> Any:
        is_operator = isinstance(function, BuiltinFunctionType)  # which Numba defines for other types
        return None if is_operator and args != signature.args else signature

    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        global b, _context
        b, _context = builder, context
        value = emit(*args)
        return context.get_dummy_value() if signature.return_type is types.void else value

    names = [inspect.Parameter(f"a{i}", inspect.Parameter.POSITIONAL_ONLY) for i in range(len(signature.args))]
    typed.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]
    type_callable(function)(lambda context: typed)
    lower_builtin(function, *signature.args)(generate)


def _sum(x: Any, y: Any) -> Any:
    return b.fadd(x, y, flags=["contract"])


def _product(x: Any, y: Any) -> Any:
    return b.fmul(x, y, flags=["contract"])


def pointer(address: Any, kind: Any) -> Any:
    """An address as a pointer to a ``kind``."""
    return b.inttoptr(address, kind.as_pointer())


def call(function: Any, result: Any, *args: Any) -> Any:
    """Call a function by name or address."""
    kind = ir.FunctionType(result, [a.type for a in args])
    by_name = isinstance(function, str)
    return b.call(get_or_insert_function(b.module, kind, function) if by_name else pointer(function, kind), args)


def assembly(text: str) -> None:
    """Emit a processor instruction."""
    b.call(ir.InlineAsm(ir.FunctionType(VOID, []), text, "", side_effect=True), [])


def spread(x: Any) -> Any:
    """A vector of sixteen equal values."""
    nothing = ir.VectorType(x.type, 16)(ir.Undefined)
    return b.shuffle_vector(b.insert_element(nothing, x, I32(0)), nothing, _NUMBERS([0] * 16))


def from_halves(x: Any) -> Any:
    """bfloat16 values, the upper halves of float32 values, as LANES."""
    return b.bitcast(b.shl(b.zext(x, _NUMBERS), _NUMBERS([16] * 16)), LANES)


def first(count: Any) -> Any:
    """Sixteen bits, of which the first ``count`` are 1."""
    return b.icmp_signed("<", _NUMBERS(list(range(16))), spread(b.trunc(count, I32)))


def larger(x: Any, y: Any) -> Any:
    """The larger of each pair."""
    return b.select(b.fcmp_ordered(">", x, y), x, y)


def folded(join: Callable[[Any, Any], Any], x: Any) -> Any:
    """Combine all sixteen values with ``join``: one half with the other half, four times."""
    for n in (8, 4, 2, 1):
        halves = (b.shuffle_vector(x, x, ir.VectorType(I32, n)(list(range(i, i + n)))) for i in (0, n))
        x = join(*halves)
    return b.extract_element(x, I32(0))


def turn(x: Any, step: Any, last: Any, out: Any) -> None:
    """Transpose sixteen vectors: halves are swapped across the diagonal, then quarters, and so on."""
    places = (b.select(b.icmp_signed("<", I64(i), last), I64(i), last) for i in range(16))
    rows = [b.load(pointer(b.add(x, b.mul(i, step)), LANES), align=4) for i in places]
    for n in (8, 4, 2, 1):
        for i in (i for i in range(16) if not i & n):
            upper, lower = ([j + (16 - n if j & n else 0) + k for j in range(16)] for k in (0, n))
            rows[i], rows[i + n] = (b.shuffle_vector(rows[i], rows[i + n], _NUMBERS(to)) for to in (upper, lower))
    for i, lanes in enumerate(rows):
        b.store(lanes, pointer(b.add(out, I64(64 * i)), LANES), align=4)


def truth(value: Any) -> Any:
    """A bool as one bit."""
    return b.trunc(value, ir.IntType(1)) if value.type.width > 1 else value


def array(kind: str, address: Any, *lengths: Any) -> Any:
    """A C-contiguous array in memory that Numba does not own."""
    array_type = _TYPES[kind]
    value = make_array(array_type)(_context, b)
    size = I64(array_type.dtype.bitwidth // 8)
    steps = [size]
    for length in lengths[:0:-1]:
        steps.insert(0, b.mul(steps[0], length))
    data = b.inttoptr(address, value.data.type)
    populate_array(value, data=data, shape=lengths, strides=steps, itemsize=size, meminfo=None)
    return value._getvalue()
