"""Op calls within the library, which convert operands to a common dtype and device, and name the op in errors.

``tape.apply`` runs and records an op; this file adds type promotion, device handling and error messages. PyTorch's
promotion rules: https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc.
"""

from __future__ import annotations

import math
import re
from contextvars import ContextVar, copy_context
from functools import reduce
from typing import Any

import numpy as np

from ..backend import dtype as dt, of
from ..ops import half_precision as half
from ..ops.complex import for_complex
from ..ops.elementwise import cast, moved, pow
from ..ops.op import Op, bare, watch
from . import tape
from .mode import state
from .tape import Variable
from .tracebacks import of_user
from .views import note_view

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_USUAL = frozenset(map(np.dtype, ("float32", "float64", "bool", "int8", "uint8", "int16", "int32", "int64")))
_REFUSED = (ValueError, TypeError, IndexError, OverflowError)  # errors that array libraries raise for invalid operands
_usual = copy_context()
with np.errstate(all="ignore"):  # as in PyTorch, 1 / 0 is inf without a warning
    _changed = [(v, value) for v, value in copy_context().items() if _usual.get(v) is not value]
# NumPy's variable for this setting, and its value. Setting it directly is seven times as fast as ``np.errstate``.
ERRORS, IGNORED = _changed[0] if _changed else (ContextVar("none", default=None), None)


def apply(op: Op, args: tuple[Any, ...]) -> Any:
    """Call ``tape.apply`` with type promotion and views. Errors from the array library name the op and its operands."""
    dtype: Any = None
    usual, arrays = True, []
    for a in args:
        if isinstance(a, Variable):
            array = a.array
            if dtype is None:
                kind, dtype = type(array), array.dtype
                usual = usual and (dtype is FLOAT32 or dtype is FLOAT64 or (not op.promote and dtype in _USUAL))
            elif array.dtype is not dtype or type(array) is not kind:
                usual = usual and not op.promote and array.dtype in _USUAL and type(array) is kind
            arrays.append(array)
        else:
            usual = usual and a.__class__ is not complex
            arrays.append(a)
    if (not usual or dtype is None) and (converted := _converted(op, args, arrays)) is not None:
        op, args, narrow = converted
        return apply(op, args) if narrow is None else _rounded(apply(op, args), narrow)
    before = ERRORS.get()
    try:
        try:
            ERRORS.set(IGNORED)
            result = tape.watched(tape.run, op, args, arrays) if watch.observers else tape.run(op, args, arrays)
        finally:
            ERRORS.set(before)
    except _REFUSED as error:
        return _again(op, args, arrays, error)
    finally:
        ERRORS.set(before)  # twice, because Ctrl-C may interrupt before any line
    if op.view:
        note_view(op, args, result)
    return result


def _converted(op: Op, args: tuple[Any, ...], arrays: list[Any]) -> tuple[Op, tuple[Any, ...], Any] | None:
    """The op and arguments to use instead, and the 16-bit dtype to round to, if any. None if no change is needed."""
    variables = [a.array for a in args if isinstance(a, Variable)]
    if any(type(x) is not type(variables[0]) for x in variables):
        return op, _one_device(op, args), None
    dtypes = {x.dtype for x in variables}
    if any(map(dt.is_kept, dtypes)):
        if half.keeps(op, args):
            return None
        if op.promote:
            _one_dtype(op, args, arrays)  # raises for dtypes that cannot be promoted
        name = next(dt.of(x).name for x in variables if dt.is_kept(x.dtype))
        raise NotImplementedError(f'"{op.name}" not implemented for {name.capitalize()!r}: convert with .float()')
    if op.promote and (args_of_one_dtype := _one_dtype(op, args, arrays)) is not None:
        return op, args_of_one_dtype, None
    if any(map(half.is_half, dtypes)):
        is_recorded = state.grad and bool(tape.wanted(op, args))
        return None if half.does_without(op, args, is_recorded) else _in_float32(op, args)
    if all(dtype.kind != "c" for dtype in dtypes):
        return None
    other = for_complex(op)
    if other is None:
        raise NotImplementedError(
            f"{op.name} is not implemented for complex tensors: use view_as_real(x), or x.real and x.imag"
        )
    return None if other is op else (other, args, None)


def _is_half(a: Any) -> bool:
    return isinstance(a, Variable) and half.is_half(a.array.dtype)


def _in_float32(op: Op, args: tuple[Any, ...]) -> tuple[Op, tuple[Any, ...], Any]:
    """Convert an op's 16-bit arguments to float32. The results are rounded unless a tensor has a wider dtype."""
    if half.unites(op):
        common = dt.result_type(*(a for a in map(bare, args) if hasattr(a, "dtype") or isinstance(a, dt.NUMBERS)))
    else:
        common = reduce(dt.promote_types, (dt.of(a.array) for a in args if isinstance(a, Variable)))
    narrow = common.numpy if common in (dt.float16, dt.bfloat16) else None
    if half.unites(op) and narrow:
        return op, tuple(_widened(op, i, a, narrow) for i, a in enumerate(args)), narrow
    return op, tuple(_cast(a, FLOAT32) if _is_half(a) else a for a in args), narrow


def _widened(op: Op, position: int, a: Any, narrow: Any) -> Any:
    """An operand in float32, rounded to 16 bits first unless the op uses it at full precision."""
    if isinstance(a, Variable):
        rounds = a.array.ndim or half.rounds(op, position, False)
        return _cast(_cast(a, narrow) if rounds else a, FLOAT32)
    if isinstance(a, (int, float)) and half.rounds(op, position, True):
        with np.errstate(over="ignore"):
            number = float(np.float64(a).astype(narrow))
        return a if op is pow and math.isinf(number) else number  # PyTorch rejects this exponent
    return a


def _rounded(result: Any, narrow: Any) -> Any:
    """Round an op's float32 results to 16 bits."""
    if result.__class__ is tuple:
        return tuple(_rounded(part, narrow) for part in result)
    return apply(cast, (result, narrow)) if result.array.dtype == FLOAT32 else result


def _one_device(op: Op, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Move 0-d CPU tensors to the device of the other operands, and reject other mixed devices, as PyTorch does."""
    variables = [a for a in args if isinstance(a, Variable)]
    backends = {id(of(a.array)): a for a in variables if a.array.ndim or of(a.array).device_type != "cpu"}
    if len(backends) > 1:
        arrays = [a.array for a in backends.values()]
        where = " and ".join(f"{tuple(x.shape)} {dt.of(x).name} on {of(x).device_of(x)}" for x in arrays)
        raise RuntimeError(
            f"{op.name}: expected all tensors to be on the same device, but found {where}; move one with .to(device)"
        )
    device = of((target := next(iter(backends.values()))).array).device_of(target.array)
    places = [of(a.array).device_of(a.array) if isinstance(a, Variable) else device for a in args]
    return tuple(
        a if place == device else apply(moved, (a, device, place)) for a, place in zip(args, places, strict=True)
    )


def _one_dtype(op: Op, args: tuple[Any, ...], arrays: list[Any]) -> tuple[Any, ...] | None:
    """The arguments, cast to the result dtype, or None if they already have it, as they nearly always do."""
    dtypes = [a.dtype for a in arrays if hasattr(a, "dtype")]
    if not dtypes:
        kind = type(args[0] if args else None).__name__
        raise TypeError(f"{op.name}(): argument 'input' (position 1) must be Tensor, not {kind}")
    first, agree = dtypes[0], all(dtype == dtypes[0] for dtype in dtypes)
    if agree and first.kind == "f" and not any(isinstance(a, complex) for a in arrays):
        return None
    common = dt.result_type(*(a for a in arrays if hasattr(a, "dtype") or isinstance(a, dt.NUMBERS)))
    if op.promote == "float" and common.rank < 2:
        common = dt.get_default_dtype()
    if (common.itemsize == 2 and any(map(_is_half, args))) or (agree and first == common.numpy):
        return None
    return tuple(_cast(a, common.numpy) if isinstance(a, Variable) else a for a in args)


def _cast(a: Variable, dtype: Any) -> Any:
    return a if a.array.dtype == dtype else apply(cast, (a, dtype))


def _again(op: Op, args: tuple[Any, ...], arrays: list[Any], error: Exception) -> Any:
    """Retry with wrapped values if a Python integer was too large. (PyTorch wraps it modulo 2ⁿ and keeps the dtype.)
    Otherwise, raise the array library's error with the op's name and the shapes and dtypes of its operands."""
    if any(o.packs for o in watch.observers) and of_user(error.__traceback__):  # from a pack hook
        raise error
    dtype = next((a.array.dtype for a in args if isinstance(a, Variable)), None)
    if isinstance(error, OverflowError) and op.promote and dtype is not None and dtype.kind in "iu":
        low, count = int(np.iinfo(dtype).min), 1 << 8 * dtype.itemsize
        within = tuple((a - low) % count + low if a.__class__ is int else a for a in args)
        if within != args:
            return apply(op, within)
    shapes = ", ".join(f"{tuple(a.shape)} {a.dtype}" for a in arrays if hasattr(a, "dtype") and hasattr(a, "shape"))
    # NumPy's wording and CuPy's
    if isinstance(error, TypeError) and re.search("not supported for the input types|^Wrong type", str(error)):
        raise NotImplementedError(f"{op.name} is not implemented for these dtypes (given {shapes})") from error
    if "could not be broadcast together" in str(error) and not isinstance(error, IndexError):
        misfit = _misfit([a.shape for a in arrays if hasattr(a, "shape")])
        problem = misfit or "the operands' shapes are incompatible"
        raise RuntimeError(f"{op.name}: {problem} (given {shapes})") from error
    kind = next((kind for kind in (IndexError, TypeError) if isinstance(error, kind)), RuntimeError)
    raise kind(f"{op.name}: {error} (given {shapes})") from error


def _misfit(shapes: list[tuple[int, ...]]) -> str:
    """PyTorch's message for the last axis along which shapes do not broadcast, or "" if all axes do."""
    ndim = max(map(len, shapes))
    for place in reversed(range(ndim)):
        lengths = [shape[place - ndim] for shape in shapes if place - ndim >= -len(shape)]
        different = list(dict.fromkeys(n for n in lengths if n != 1))
        if len(different) > 1:
            return (
                f"The size of tensor a ({different[0]}) must match the size of tensor b ({different[1]}) at "
                f"non-singleton dimension {place}"
            )
    return ""
