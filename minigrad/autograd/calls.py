"""Calls of ops by the library: operands of one dtype and on one device first, errors that name the op.

``tape.apply`` is what happens when an op is called; here is what a program expects around it. PyTorch's rules of
promotion: https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc.
"""

from __future__ import annotations

import math
from contextvars import ContextVar, copy_context
from functools import reduce
from typing import Any

import numpy as np

from ..backend import Device, of
from ..backend import dtype as dt
from ..ops import half_precision as half
from ..ops.complex import for_complex
from ..ops.device import moved
from ..ops.elementwise import cast, pow
from ..ops.op import Op, bare, watch
from . import tape
from .mode import state
from .tape import Variable
from .tracebacks import of_user
from .views import note_view

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_SPECIAL = "eEFD"  # NumPy's letters of float16, bfloat16 and complex numbers
_USUAL = frozenset(map(np.dtype, ("float32", "float64", "bool", "int8", "uint8", "int16", "int32", "int64")))
_REFUSED = (ValueError, TypeError, IndexError, OverflowError)  # how an array library refuses its operands
_usual = copy_context()
with np.errstate(all="ignore"):  # as in PyTorch, 1 / 0 is inf without a warning
    _changed = [(v, value) for v, value in copy_context().items() if _usual.get(v) is not value]
# Where NumPy keeps this, and its value: to set it takes a seventh of the time that ``np.errstate`` takes.
ERRORS, IGNORED = _changed[0] if _changed else (ContextVar("none", default=None), None)


def apply(op: Op, args: tuple[Any, ...]) -> Any:
    """Run an op on Variables and attributes, recording it where an input wants a gradient.

    Raises:
        RuntimeError: operands on different devices, or whose shapes do not go together.
        NotImplementedError: complex numbers for an op that has no meaning for them.
        TypeError, IndexError, NotImplementedError: what the array library refuses; the op and its operands are named.
    """
    dtype: Any = None
    uniform, usual, arrays = True, True, []
    for a in args:
        if isinstance(a, Variable):
            array = a.array
            if dtype is None:
                kind, dtype = type(array), array.dtype
            elif type(array) is not kind:
                return apply(op, _one_device(op, args))
            elif array.dtype is not dtype:
                uniform = False
                usual = usual and array.dtype in _USUAL
            arrays.append(array)
        else:
            if a.__class__ is complex:
                uniform = False
            arrays.append(a)
    floats = dtype is FLOAT32 or dtype is FLOAT64
    if not (uniform and floats if op.promote else usual and (floats or dtype in _USUAL)):
        converted = _converted(op, args, arrays, dtype, uniform)
        if converted is not None:
            op, args, narrow = converted
            return apply(op, args) if narrow is None else _rounded(apply(op, args), narrow)
    before = ERRORS.get()
    try:
        try:
            ERRORS.set(IGNORED)
            if state.grad or watch.observers:
                result = tape.apply(op, args)
            else:  # which is the same
                result = tape.record(op, args, 0, op.compute(arrays)[0])
        finally:
            ERRORS.set(before)
    except _REFUSED as error:
        if any(o.packs for o in watch.observers) and of_user(error.__traceback__):  # from a pack hook
            raise
        if isinstance(error, OverflowError) and (within := _in_range(op, args, dtype)) != args:
            return apply(op, within)
        raise _explained(op, arrays, error) from error
    finally:
        ERRORS.set(before)  # twice, as Ctrl-C may come before any line
    if op.view:
        note_view(op, args, result)
    return result


def _converted(
    op: Op, args: tuple[Any, ...], arrays: list[Any], dtype: Any, uniform: bool
) -> tuple[Op, tuple[Any, ...], Any] | None:
    """The op and the arguments to use in their place, and the dtype of 16 bits to round the results to, if any; None
    where they are right as they are."""
    if dtype is not None and (dtype.itemsize == 1 or not uniform) and any(map(_is_kept, args)):
        if half.keeps(op, args):
            return None
        if op.promote:
            _one_dtype(op, args, arrays)  # which refuses dtypes that go with no other
        name = next(dt.of(a.array).name for a in args if _is_kept(a))
        raise NotImplementedError(f'"{op.name}" not implemented for {name.capitalize()!r}: convert with .float()')
    if op.promote and (not uniform or dtype is None or dtype.kind != "f"):
        args_of_one_dtype = _one_dtype(op, args, arrays)
        if args_of_one_dtype is not None:
            return op, args_of_one_dtype, None
    if dtype is None or not (dtype.char in _SPECIAL if uniform else any(map(_is_special, args))):
        return None
    if any(map(_is_half, args)):
        is_recorded = state.grad and bool(tape.wanted(op, args))
        return None if half.does_without(op, args, is_recorded) else _in_float32(op, args)
    other = for_complex(op)
    if other is None:
        raise NotImplementedError(
            f"{op.name} is not implemented for complex tensors: take view_as_real(x), or x.real and x.imag, and "
            f"compute with these"
        )
    return None if other is op else (other, args, None)


def _is_special(a: Any) -> bool:
    return isinstance(a, Variable) and a.array.dtype.char in _SPECIAL


def _is_kept(a: Any) -> bool:
    return isinstance(a, Variable) and dt.is_kept(a.array.dtype)


def _is_half(a: Any) -> bool:
    return isinstance(a, Variable) and half.is_half(a.array.dtype)


def _in_float32(op: Op, args: tuple[Any, ...]) -> tuple[Op, tuple[Any, ...], Any]:
    """The arguments of an op on 16 bits in float32. The results are rounded where no tensor is of a wider dtype."""
    if half.unites(op):
        common = dt.result_type(*(a for a in map(bare, args) if hasattr(a, "dtype") or isinstance(a, dt.NUMBERS)))
    else:
        common = reduce(dt.promote_types, (dt.of(a.array) for a in args if isinstance(a, Variable)))
    narrow = common.numpy if common in (dt.float16, dt.bfloat16) else None
    if half.unites(op) and narrow:
        return op, tuple(_widened(op, i, a, narrow) for i, a in enumerate(args)), narrow
    return op, tuple(_cast(a, FLOAT32) if _is_half(a) else a for a in args), narrow


def _widened(op: Op, position: int, a: Any, narrow: Any) -> Any:
    """An operand rounded to 16 bits, unless it keeps its digits, and in float32."""
    if isinstance(a, Variable):
        rounds = a.array.ndim or half.rounds(op, position, False)
        return _cast(_cast(a, narrow) if rounds else a, FLOAT32)
    if isinstance(a, (int, float)) and half.rounds(op, position, True):
        with np.errstate(over="ignore"):
            number = float(np.float64(a).astype(narrow))
        return a if op is pow and math.isinf(number) else number  # an exponent that PyTorch refuses
    return a


def _rounded(result: Any, narrow: Any) -> Any:
    """The results of an op in float32, as numbers of 16 bits."""
    if result.__class__ is tuple:
        return tuple(_rounded(part, narrow) for part in result)
    return apply(cast, (result, narrow)) if result.array.dtype == FLOAT32 else result


def _one_device(op: Op, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Move CPU tensors without axes to the device of the others, as PyTorch does; refuse all else."""
    variables = [a for a in args if isinstance(a, Variable)]
    backends = {id(of(a.array)): a for a in variables if a.array.ndim or of(a.array).device_type != "cpu"}
    if len(backends) > 1:
        places = " and ".join(
            f"{tuple(a.array.shape)} {dt.of(a.array).name} on {of(a.array).device_of(a.array)}"
            for a in backends.values()
        )
        raise RuntimeError(
            f"{op.name}: expected all tensors to be on the same device, but found {places}; move one with .to(device)"
        )
    device = of((target := next(iter(backends.values()))).array).device_of(target.array)
    return tuple(_moved(a, device) if isinstance(a, Variable) else a for a in args)


def _moved(a: Variable, device: Device) -> Any:
    here = of(a.array).device_of(a.array)
    return a if here == device else apply(moved, (a, device, here))


def _one_dtype(op: Op, args: tuple[Any, ...], arrays: list[Any]) -> tuple[Any, ...] | None:
    """The arguments brought to the dtype of the result; None where they have it already (nearly always)."""
    first: Any = None
    agree = True
    for a in arrays:
        if hasattr(a, "dtype"):
            if first is None:
                first = a.dtype
            elif a.dtype != first:
                agree = False
                break
    if first is None:
        value = next((a for a in args if not isinstance(a, Variable)), None)
        kind = type(value).__name__
        raise TypeError(f"{op.name}(): argument 'input' (position 1) must be Tensor, not {kind}")
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


def _in_range(op: Op, args: tuple[Any, ...], dtype: Any) -> tuple[Any, ...]:
    """Python integers that the dtype cannot hold, modulo 2ⁿ: in PyTorch they do not change the dtype."""
    if not op.promote or dtype is None or dtype.kind not in "iu":
        return args
    low, count = int(np.iinfo(dtype).min), 1 << 8 * dtype.itemsize
    return tuple((a - low) % count + low if a.__class__ is int else a for a in args)


def _explained(op: Op, arrays: list[Any], error: Exception) -> Exception:
    """An array library's error as one that names the op and its operands."""
    shapes = ", ".join(f"{tuple(a.shape)} {a.dtype}" for a in arrays if hasattr(a, "dtype") and hasattr(a, "shape"))
    if isinstance(error, TypeError) and "not supported for the input types" in str(error):
        return NotImplementedError(f"{op.name} is not implemented for these dtypes (given {shapes})")
    if "could not be broadcast together" in str(error) and not isinstance(error, IndexError):
        misfit = _misfit([a.shape for a in arrays if hasattr(a, "shape")])
        return RuntimeError(f"{op.name}: {misfit or 'the shapes of the operands do not fit together'} (given {shapes})")
    message = f"{op.name}: {error} (given {shapes})"
    if isinstance(error, IndexError):
        return IndexError(message)
    return TypeError(message) if isinstance(error, TypeError) else RuntimeError(message)


def _misfit(shapes: list[tuple[int, ...]]) -> str:
    """PyTorch's words for the last axis along which shapes do not broadcast; "" if there is none."""
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
