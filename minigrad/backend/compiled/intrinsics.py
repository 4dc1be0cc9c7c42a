"""The code of ``native.py``'s functions, for Numba. Only ``build.py`` imports this."""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from . import native

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_F32, _F64, _VOID = ir.FloatType(), ir.DoubleType(), ir.VoidType()
_i64, _f32 = types.int64, types.float32


def _pointer(builder: Any, address: Any, kind: Any) -> Any:
    return builder.inttoptr(address, kind.as_pointer())


def _make(signature: Any, code: Any) -> Any:
    """An intrinsic of a fixed signature: ``code(context, builder, arguments)`` writes it."""

    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        value = code(context, builder, args)
        return context.get_dummy_value() if value is None or signature.return_type is types.void else value

    count = len(signature.args)
    names = ", ".join(f"a{i}" for i in range(count))
    scope: dict[str, Any] = {"signature": signature, "generate": generate}
    exec(f"def typed(typing, {names}):\n    return signature, generate", scope)  # intrinsics count their parameters
    return intrinsic(scope["typed"])


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


def _cast(kind: Any) -> Any:
    return lambda context, b, a: b.inttoptr(a[0], context.get_value_type(kind))


_CODE = {
    "rint": _make(_f32(_f32), _unary("llvm.rint")),
    "from_bits": _make(_f32(types.int32), lambda c, b, a: b.bitcast(a[0], _F32)),
    "to_bits": _make(types.int32(_f32), lambda c, b, a: b.bitcast(a[0], _I32)),
    "fma": _make(_f32(_f32, _f32, _f32), _fma),
    "word": _make(_i64(_i64), lambda c, b, a: b.load(_pointer(b, a[0], _I64))),
    "double": _make(types.float64(_i64), lambda c, b, a: b.load(_pointer(b, a[0], _F64))),
    "load": _make(_i64(_i64), lambda c, b, a: b.load_atomic(_pointer(b, a[0], _I64), "seq_cst", 8)),
    "store": _make(
        types.void(_i64, _i64), lambda c, b, a: b.store_atomic(a[1], _pointer(b, a[0], _I64), "seq_cst", 8)
    ),
    "add": _make(_i64(_i64, _i64), lambda c, b, a: b.atomic_rmw("add", _pointer(b, a[0], _I64), a[1], "seq_cst")),
    "exchange": _make(types.boolean(_i64, _i64, _i64), _exchange),
    "run": _make(
        types.void(*[_i64] * 5), lambda c, b, a: _call(_VOID, [_I64] * 4, b, a[0], list(a[1:])) and None
    ),
    "acquire": _make(
        types.void(_i64, _i64),
        lambda c, b, a: _call(_I32, [_I64, _I32], b, a[0], [a[1], ir.Constant(_I32, 1)]) and None,
    ),
    "release": _make(types.void(_i64, _i64), lambda c, b, a: _call(_VOID, [_I64], b, a[0], [a[1]]) and None),
    "sgemm": _make(
        types.void(_i64, types.boolean, types.boolean, *[_i64] * 3, _f32, *[_i64] * 4, _f32, _i64, _i64), _sgemm
    ),
}
_as_floats = _make(types.CPointer(_f32)(_i64), _cast(types.CPointer(_f32)))
_as_doubles = _make(types.CPointer(types.float64)(_i64), _cast(types.CPointer(types.float64)))
_as_bytes = _make(types.CPointer(types.uint8)(_i64), _cast(types.CPointer(types.uint8)))
_as_integers = _make(types.CPointer(_i64)(_i64), _cast(types.CPointer(_i64)))
_as_words = _make(types.CPointer(types.uint64)(_i64), _cast(types.CPointer(types.uint64)))


@intrinsic
def _pause_here(typing: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _pause(context, builder, args)
        return context.get_dummy_value()

    return types.void(), generate


_ARRAYS = {
    "row": lambda address, count: numba.carray(_as_floats(address), (count,)),
    "rows": lambda address, count, width: numba.carray(_as_floats(address), (count, width)),
    "cube": lambda address, count, height, width: numba.carray(_as_floats(address), (count, height, width)),
    "flags": lambda address, count: numba.carray(_as_bytes(address), (count,)),
    "integers": lambda address, count: numba.carray(_as_integers(address), (count,)),
    "doubles": lambda address, count: numba.carray(_as_doubles(address), (count,)),
    "words": lambda address, count: numba.carray(_as_words(address), (count,)),
    "pause": lambda: _pause_here(),
}


def register() -> None:
    """Let Numba find the code of ``native.py``'s functions."""
    for name in native.NAMES:
        stub = getattr(native, name)
        names = ", ".join(stub.__code__.co_varnames[: stub.__code__.co_argcount])
        scope: dict[str, Any] = {"code": _CODE.get(name)}
        text = "code" if name in _ARRAYS else f"lambda {names}: code({names})"
        scope["code"] = _ARRAYS.get(name, scope["code"])
        exec(f"def typed({names}):\n    return {text}", scope)  # Numba compares the names of parameters
        overload(stub, inline="always")(scope["typed"])
