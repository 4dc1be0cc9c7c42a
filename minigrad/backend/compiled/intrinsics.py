"""The code of ``native.py``'s functions, for Numba. Only ``build.py`` imports this."""

from __future__ import annotations

import inspect
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import lower_builtin, models, register_model, type_callable
from numba.np.arrayobj import make_array, populate_array

from . import native

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_F32, _F64, _VOID = ir.FloatType(), ir.DoubleType(), ir.VoidType()
_i64, _f32 = types.int64, types.float32
_LANES = ir.VectorType(_F32, 16)


def _pointer(builder: Any, address: Any, kind: Any) -> Any:
    return builder.inttoptr(address, kind.as_pointer())


def _make(signature: Any, code: Any) -> Any:
    """Of one of ``native.py``'s functions: what it takes and gives, and ``code(context, builder, arguments)``."""
    return signature, code


def _call(result: Any, kinds: list[Any], builder: Any, function: Any, args: list[Any]) -> Any:
    return builder.call(_pointer(builder, function, ir.FunctionType(result, kinds)), args)


def _unary(name: str) -> Any:
    def code(context: Any, b: Any, a: Any) -> Any:
        return b.call(b.module.declare_intrinsic(name, [_F32]), [a[0]])

    return code


def _fma(context: Any, b: Any, a: Any) -> Any:
    kind = ir.FunctionType(_F32, [_F32] * 3)
    return b.call(b.module.declare_intrinsic("llvm.fma", [_F32], kind), a)


def _exchange(context: Any, b: Any, a: Any) -> Any:
    pair = b.cmpxchg(_pointer(b, a[0], _I64), a[1], a[2], "seq_cst")
    return b.extract_value(pair, 1)


def _pause(context: Any, b: Any, a: Any) -> None:
    triple = b.module.triple or ""
    if triple.startswith(("x86_64", "i686")):
        b.call(ir.InlineAsm(ir.FunctionType(_VOID, []), "pause", "", side_effect=True), [])
    elif triple.startswith(("aarch64", "arm64")):
        b.call(ir.InlineAsm(ir.FunctionType(_VOID, []), "yield", "", side_effect=True), [])


def _sgemm(context: Any, b: Any, a: Any) -> None:
    """cblas_sgemm of an OpenBLAS with 64-bit integers."""
    function, turn_a, turn_b, m, n, k, alpha, pa, lda, pb, ldb, beta, pc, ldc = a
    order, plain, turned = (ir.Constant(_I32, n) for n in (101, 111, 112))  # CBLAS's names: row-major and so on
    data = _I8.as_pointer()
    places = [b.inttoptr(p, data) for p in (pa, pb, pc)]
    how = [b.select(b.trunc(t, ir.IntType(1)) if t.type.width > 1 else t, turned, plain) for t in (turn_a, turn_b)]
    args = [order, *how, m, n, k, alpha, places[0], lda, places[1], ldb, beta, places[2], ldc]
    kinds = [_I32] * 3 + [_I64] * 3 + [_F32, data, _I64, data, _I64, _F32, data, _I64]
    _call(_VOID, kinds, b, function, args)


class Lanes(types.Type):  # type: ignore[misc]
    """Sixteen float32: of whatever vectors a processor has, LLVM makes them."""


@register_model(Lanes)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _LANES)


_lanes = Lanes(name="lanes")


def _spread(b: Any, x: Any, kind: Any) -> Any:
    """x in all sixteen."""
    nothing = ir.Constant(ir.VectorType(kind, 16), ir.Undefined)
    first = b.insert_element(nothing, x, ir.Constant(_I32, 0))
    return b.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_I32, 16), [0] * 16))


def _first(b: Any, count: Any) -> Any:
    """A mask of the first ``count``."""
    return b.icmp_signed("<", ir.Constant(ir.VectorType(_I64, 16), list(range(16))), _spread(b, count, _I64))


def _masked(b: Any, name: str, result: Any, args: list[Any]) -> Any:
    """LLVM's load or store of some lanes."""
    return b.call(get_or_insert_function(b.module, ir.FunctionType(result, [a.type for a in args]), name), args)


def _load16(context: Any, b: Any, a: Any, kind: Any = _LANES, name: str = "v16f32") -> Any:
    align = ir.Constant(_I32, 4 if kind is _LANES else 1)
    args = [_pointer(b, a[0], kind), align, _first(b, a[1]), ir.Constant(kind, None)]
    return _masked(b, f"llvm.masked.load.{name}.p0", kind, args)


def _store16(context: Any, b: Any, a: Any) -> None:
    args = [a[1], _pointer(b, a[0], _LANES), ir.Constant(_I32, 4), _first(b, a[2])]
    _masked(b, "llvm.masked.store.v16f32.p0", _VOID, args)


def _bools16(context: Any, b: Any, a: Any) -> Any:
    return b.uitofp(_load16(context, b, a, ir.VectorType(_I8, 16), "v16i8"), _LANES)


def _first16(context: Any, b: Any, a: Any) -> Any:
    return b.select(_first(b, a[1]), a[0], _spread(b, a[2], _F32))


def _larger(b: Any, x: Any, y: Any) -> Any:
    return b.select(b.fcmp_ordered(">", x, y), x, y)


def _sum(b: Any, x: Any, y: Any) -> Any:
    return b.fadd(x, y)


def _folded(join: Any) -> Any:
    """All sixteen joined to one: half with half, four times."""

    def code(context: Any, b: Any, a: Any) -> Any:
        x, width = a[0], 16
        while width > 1:
            width //= 2
            low, high = (ir.Constant(ir.VectorType(_I32, width), [i + n for i in range(width)]) for n in (0, width))
            x = join(b, b.shuffle_vector(x, x, low), b.shuffle_vector(x, x, high))
        return b.extract_element(x, ir.Constant(_I32, 0))

    return code


def _transpose8(context: Any, b: Any, a: Any) -> None:
    """Pairs of rows are joined three times, by what x86 has an instruction for: numbers, pairs of them, halves."""
    x, step, count, out = a
    eight, last = ir.VectorType(_F32, 8), b.sub(count, ir.Constant(_I64, 1))
    lines = []
    for i in range(8):
        number = ir.Constant(_I64, i)
        place = b.add(x, b.mul(b.select(b.icmp_signed("<", number, last), number, last), step))
        lines.append(b.load(_pointer(b, place, eight), align=4))
    joins = (1, 2, (0, 8, 1, 9, 4, 12, 5, 13)), (2, 2, (0, 1, 8, 9, 4, 5, 12, 13)), (4, 4, (0, 1, 2, 3, 8, 9, 10, 11))
    for distance, ahead, order in joins:
        orders = [ir.Constant(ir.VectorType(_I32, 8), [n + more for n in order]) for more in (0, ahead)]
        for i in (i for i in range(8) if not i & distance):
            pair = lines[i], lines[i + distance]
            lines[i], lines[i + distance] = (b.shuffle_vector(*pair, order) for order in orders)
    for i, j in enumerate((0, 2, 1, 3, 4, 6, 5, 7)):
        b.store(lines[j], _pointer(b, b.add(out, ir.Constant(_I64, 64 * i)), eight), align=4)


def _fma16(context: Any, b: Any, a: Any) -> Any:
    kind = ir.FunctionType(_LANES, [_LANES] * 3)
    return b.call(get_or_insert_function(b.module, kind, "llvm.fmuladd.v16f32"), [_spread(b, a[0], _F32), a[1], a[2]])


def _array(kind: Any, axes: int) -> Any:
    """A C-contiguous array from an address and its lengths on, of memory that is not Numba's."""
    made = types.Array(kind, axes, "C")

    def code(context: Any, b: Any, a: Any) -> Any:
        array = make_array(made)(context, b)
        size = ir.Constant(_I64, kind.bitwidth // 8)
        steps = [size]
        for length in a[:1:-1]:
            steps.insert(0, b.mul(steps[0], length))
        data = b.inttoptr(a[0], array.data.type)
        populate_array(array, data=data, shape=a[1:], strides=steps, itemsize=size, meminfo=None)
        return array._getvalue()

    return _make(made(*[_i64] * (axes + 1)), code)


_CODE = {
    "rint": _make(_f32(_f32), _unary("llvm.rint")),
    "from_bits": _make(_f32(types.int32), lambda c, b, a: b.bitcast(a[0], _F32)),
    "to_bits": _make(types.int32(_f32), lambda c, b, a: b.bitcast(a[0], _I32)),
    "fma": _make(_f32(_f32, _f32, _f32), _fma),
    "word": _make(_i64(_i64), lambda c, b, a: b.load(_pointer(b, a[0], _I64))),
    "double": _make(types.float64(_i64), lambda c, b, a: b.load(_pointer(b, a[0], _F64))),
    "load": _make(_i64(_i64), lambda c, b, a: b.load_atomic(_pointer(b, a[0], _I64), "seq_cst", 8)),
    "store": _make(types.void(_i64, _i64), lambda c, b, a: b.store_atomic(a[1], _pointer(b, a[0], _I64), "seq_cst", 8)),
    "add": _make(_i64(_i64, _i64), lambda c, b, a: b.atomic_rmw("add", _pointer(b, a[0], _I64), a[1], "seq_cst")),
    "exchange": _make(types.boolean(_i64, _i64, _i64), _exchange),
    "run": _make(types.void(*[_i64] * 5), lambda c, b, a: _call(_VOID, [_I64] * 4, b, a[0], list(a[1:])) and None),
    "acquire": _make(
        types.void(_i64, _i64),
        lambda c, b, a: _call(_I32, [_I64, _I32], b, a[0], [a[1], ir.Constant(_I32, 1)]) and None,
    ),
    "release": _make(types.void(_i64, _i64), lambda c, b, a: _call(_VOID, [_I64], b, a[0], [a[1]]) and None),
    "sgemm": _make(
        types.void(_i64, types.boolean, types.boolean, *[_i64] * 3, _f32, *[_i64] * 4, _f32, _i64, _i64), _sgemm
    ),
    "zeros16": _make(_lanes(), lambda c, b, a: ir.Constant(_LANES, None)),
    "spread16": _make(_lanes(_f32), lambda c, b, a: _spread(b, a[0], _F32)),
    "add16": _make(_lanes(_lanes, _lanes), lambda c, b, a: _sum(b, *a)),
    "mul16": _make(_lanes(_lanes, _lanes), lambda c, b, a: b.fmul(*a)),
    "max16": _make(_lanes(_lanes, _lanes), lambda c, b, a: _larger(b, *a)),
    "sum16": _make(_f32(_lanes), _folded(_sum)),
    "top16": _make(_f32(_lanes), _folded(_larger)),
    "first16": _make(_lanes(_lanes, _i64, _f32), _first16),
    "transpose8": _make(types.void(_i64, _i64, _i64, _i64), _transpose8),
    "bools16": _make(_lanes(_i64, _i64), _bools16),
    "load16": _make(_lanes(_i64, _i64), _load16),
    "store16": _make(types.void(_i64, _lanes, _i64), _store16),
    "fma16": _make(_lanes(_f32, _lanes, _lanes), _fma16),
    "pause": _make(types.void(), _pause),
    "row": _array(_f32, 1),
    "rows": _array(_f32, 2),
    "cube": _array(_f32, 3),
    "flags": _array(types.uint8, 1),
    "integers": _array(_i64, 1),
    "words": _array(types.uint64, 1),
    "doubles": _array(types.float64, 1),
}


def register() -> None:
    """Let Numba find the code of ``native.py``'s functions."""
    for name, (signature, code) in _CODE.items():
        _define(getattr(native, name), signature, code)


def _define(stub: Any, signature: Any, code: Any) -> None:
    def typed(*args: Any) -> Any:
        return signature

    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        value = code(context, builder, args)
        return context.get_dummy_value() if signature.return_type is types.void else value

    typed.__signature__ = inspect.signature(stub)  # type: ignore[attr-defined]
    type_callable(stub)(lambda context: typed)
    lower_builtin(stub, *signature.args)(generate)
