"""The functions that check exercises. They compare an answer with the expected one, and raise ``Wrong`` with the
likeliest mistake, such as the sign, the axis, or a missing factor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import permutations
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import Tensor

__all__ = ["Wrong", "below", "refuses", "rule", "same", "true"]
Array = np.ndarray[Any, Any]


class Wrong(Exception):
    """An answer is wrong; the message says how."""


def verdict(check: str, names: Mapping[str, Any]) -> str:
    """Run a check on the names that a learner has defined. Returns "" if the answer is right, and otherwise the reason
    why it is wrong. An exception in the learner's code passes through."""
    helpers = {name: globals()[name] for name in __all__}
    try:
        exec(compile(check, "<check>", "exec", dont_inherit=True), {**names, **helpers})
    except Wrong as wrong:
        return str(wrong)
    return ""


def same(
    answer: Any, expected: Any, what: str, mistakes: Mapping[str, Any] | None = None, tolerance: float = 1e-5
) -> None:
    """Raise Wrong unless an answer equals what is expected, up to a tolerance relative to its largest element.

    Args:
        answer: the learner's answer: a number, a tensor, an array, a string, or a tuple or list of these.
        what: what was computed, for the message, such as "softmax(x)".
        mistakes: an explanation for each answer that a usual mistake gives."""
    for explanation, value in (mistakes or {}).items():
        if _equal(answer, value, tolerance):
            raise Wrong(f"{what}: {explanation}")
    if answer is None or answer is Ellipsis:
        raise Wrong(f"{what} is {answer}: {'a return is missing' if answer is None else 'the gap ... is still there'}")
    if isinstance(expected, str) or (_is_row(expected) and not isinstance(answer, Tensor | np.ndarray)):
        _same_rows(answer, expected, what, tolerance)
    elif not _equal(answer, expected, tolerance):
        raise Wrong(f"{what} {_difference(_array(answer, what), _array(expected, what), tolerance)}")


def _is_row(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(not isinstance(each, int | float) for each in value)


def _same_rows(answer: Any, expected: Any, what: str, tolerance: float) -> None:
    """Compare strings, or sequences element by element."""
    if isinstance(expected, str):
        if answer != expected:
            raise Wrong(f"{what} is {answer!r}, but {expected!r} is expected")
        return
    if not isinstance(answer, list | tuple):
        raise Wrong(f"{what} is {_kind(answer)}, but {len(expected)} values are expected")
    if len(answer) != len(expected):
        raise Wrong(f"{what} has {len(answer)} values, but {len(expected)} are expected")
    if len(answer) > 1 and not _equal_all(answer, expected, tolerance):
        for order in permutations(range(len(answer))) if len(answer) < 5 else ():
            if _equal_all([answer[i] for i in order], expected, tolerance):
                raise Wrong(f"{what}: the values are right, but their order is not")
    for number, (mine, theirs) in enumerate(zip(answer, expected, strict=True)):
        same(mine, theirs, f"value {number} of {what}", None, tolerance)


def _equal_all(answer: Iterable[Any], expected: Iterable[Any], tolerance: float) -> bool:
    return all(_equal(mine, theirs, tolerance) for mine, theirs in zip(answer, expected, strict=True))


def _equal(answer: Any, expected: Any, tolerance: float) -> bool:
    """Whether two answers are equal, including their shapes."""
    if isinstance(answer, str) or isinstance(expected, str):
        return bool(answer == expected)
    try:
        mine, theirs = (np.asarray(v.detach() if isinstance(v, Tensor) else v, np.float64) for v in (answer, expected))
    except (TypeError, ValueError, RuntimeError):  # a sequence of tensors, which may need gradients
        return (
            isinstance(answer, list | tuple)
            and len(answer) == len(expected)
            and _equal_all(answer, expected, tolerance)
        )
    return _close(mine, theirs, tolerance)


def _close(mine: Array, theirs: Array, tolerance: float) -> bool:
    if mine.shape != theirs.shape:
        return False
    scale = max(1e-30, float(np.abs(theirs[np.isfinite(theirs)]).max(initial=0)))
    with np.errstate(invalid="ignore"):
        return bool(np.all((mine == theirs) | (np.abs(mine - theirs) <= tolerance * max(scale, 1e-3))))


def _kind(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _array(value: Any, what: str) -> Array:
    """The numbers of an answer. Raises Wrong if it has none."""
    try:
        return np.asarray(value.detach() if isinstance(value, Tensor) else value, np.float64)
    except (TypeError, ValueError, RuntimeError):
        raise Wrong(f"{what} is {_kind(value)}, but numbers are expected") from None


def _difference(answer: Array, expected: Array, tolerance: float) -> str:
    """The likeliest reason why two arrays differ."""
    if answer.shape != expected.shape:
        return _difference_of_shapes(answer, expected, tolerance)
    if bad := np.count_nonzero(~np.isfinite(answer) & np.isfinite(expected)):
        return f"has {bad} elements that are not finite: a division by zero, a logarithm of 0, or too large a power?"
    if not np.isfinite(expected).all():
        return _worst(answer, expected)
    if _close(-answer, expected, tolerance):
        return "has the wrong sign"
    for axis in range(answer.ndim):
        if answer.shape[axis] > 1 and _close(np.flip(answer, axis), expected, tolerance):
            return "is in reverse order" + (f" along axis {axis}" if answer.ndim > 1 else "")
    if answer.ndim == 2 and _close(answer.T, expected, tolerance):
        return "is transposed"
    if (factor := _factor(answer, expected, tolerance)) is not None:
        return factor
    if answer.ndim > 1 and _sums_to_one(expected, -1) and _sums_to_one(answer, -2):
        return "has columns that sum to 1, instead of rows: the axis is wrong"
    return _worst(answer, expected)


def _sums_to_one(array: Array, axis: int) -> bool:
    return bool((array >= 0).all() and np.allclose(array.sum(axis), 1))


def _difference_of_shapes(answer: Array, expected: Array, tolerance: float) -> str:
    shapes = f"has shape {answer.shape}, but {expected.shape} is expected"
    if answer.ndim == 2 and _close(answer.T, expected, tolerance):
        return f"is transposed: it {shapes}"
    lead = answer.ndim - expected.ndim
    if lead > 0:
        if _close(answer.sum(tuple(range(lead))), expected, tolerance):
            return f"{shapes}: sum over the axis that was broadcast"
        if answer.size == expected.size and _close(answer.reshape(expected.shape), expected, tolerance):
            is_left = np.squeeze(answer).shape == np.squeeze(expected).shape
            return f"{shapes}: {'an axis of size 1 is left over' if is_left else 'join its axes'}"
    if answer.ndim == expected.ndim:
        axes = tuple(i for i, (a, b) in enumerate(zip(answer.shape, expected.shape, strict=True)) if a != b == 1)
        if axes and _close(answer.sum(axes, keepdims=True), expected, tolerance):
            return f"{shapes}: sum over the axis that was broadcast, and keep it"
    return shapes


def _factor(answer: Array, expected: Array, tolerance: float) -> str | None:
    """The constant factor or difference between two arrays, if there is one."""
    nonzero = np.abs(expected) > 1e-12
    if nonzero.any() and np.all((np.abs(answer) > 1e-12) == nonzero):
        ratio = float(np.median(answer[nonzero] / expected[nonzero]))
        if _close(answer / ratio, expected, tolerance):
            size = next((n for n in {*expected.shape, expected.size} if n > 1 and np.isclose(abs(ratio), n)), 0)
            part = next((n for n in {*expected.shape, expected.size} if n > 1 and np.isclose(abs(ratio) * n, 1)), 0)
            reason = ": a sum instead of a mean?" if size else ": a mean instead of a sum?" if part else ""
            return f"is {ratio:.6g} times what is expected{reason}"
    if answer.size > 1 and _close(answer - (shift := float((answer - expected).mean())), expected, tolerance):
        return f"is {abs(shift):.6g} too {'large' if shift > 0 else 'small'} everywhere"
    return None


def _worst(answer: Array, expected: Array) -> str:
    """The element with the largest error."""
    if answer.ndim == 0:
        return f"is {answer:.6g}, but {expected:.6g} is expected"
    with np.errstate(invalid="ignore"):
        error = np.where(answer == expected, 0, np.nan_to_num(np.abs(answer - expected), nan=np.inf, posinf=np.inf))
    place = np.unravel_index(int(error.argmax()), answer.shape)
    right = int((error <= 1e-6).sum())
    return (
        f"is {answer[place]:.6g} at {list(map(int, place))}, but {expected[place]:.6g} is expected there "
        f"({right} of {answer.size} elements are right)"
    )


def rule(function: Callable[..., Any], *inputs: Any, what: str = "the rule") -> None:
    """Raise Wrong unless the gradients of a function agree with finite differences; name the worst element.

    Args:
        inputs: nested lists or arrays, which become float64 tensors that need gradients."""
    leaves = [mg.tensor(np.asarray(each).tolist(), dtype=mg.float64, requires_grad=True) for each in inputs]
    try:
        mg.autograd.gradcheck(function, leaves)
    except RuntimeError as error:
        raise Wrong(f"{what} disagrees with finite differences: {error}") from None


def below(value: Any, limit: float, what: str) -> None:
    """Raise Wrong unless a number is below a limit."""
    number = float(_array(value, what))
    if not number < limit:
        raise Wrong(f"{what} is {number:.4g}, but must be below {limit:g}")


def true(condition: Any, message: str) -> None:
    """Raise Wrong with a message unless a condition holds."""
    if not condition:
        raise Wrong(message)


def refuses(function: Callable[[], Any], error: type[Exception], what: str) -> None:
    """Raise Wrong unless a call raises this error."""
    try:
        function()
    except error:
        return
    raise Wrong(f"{what} must raise {error.__name__}")
