"""Anomaly mode: every recorded op remembers its line of the program, and the first NaN or Inf is named.

In the forward the first op is named whose result holds NaN though its inputs do not, or Inf though none of
its inputs and arguments is infinite; in the backward, the first gradient rule that gives NaN or Inf.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..backend import dtype as dt
from ..backend import xp
from .mode import state
from .tape import Node, Variable, caller


def note_place(node: Node, args: tuple[Any, ...], result: Any) -> None:
    """An observer of the tape: note the line, and stop at the first result that is not finite.

    Raises:
        RuntimeError: the result holds the first NaN or Inf.
    """
    node.place = caller()
    for r in result if type(result) is tuple else (result,):
        told = _not_finite(r.array)
        if told and not any(_holds(told, a) for a in args):
            raise RuntimeError(
                f"{node.op.name} at {node.place} made the first {told}, in a result of shape {tuple(r.array.shape)}"
            )


def check_gradients(node: Node, gradients: Sequence[Any]) -> None:
    """Stop at the first rule whose result is not finite.

    Raises:
        RuntimeError: it names the rule, and the line of the program that called the op.
    """
    for i, gradient in zip(node.plan.inputs, gradients, strict=True):
        array = gradient.array if isinstance(gradient, Variable) else gradient
        told = "" if array is None else _not_finite(array)
        if told:
            name = node.op.param(i)
            raise RuntimeError(
                f"the gradient of {node.op.name} for {name} holds {told} (rule at "
                f"{node.op.rule_place(name)}; the op was called at {node.place})"
            )


def _not_finite(array: dt.Array) -> str:
    """ "NaN", "Inf", or "" for finite numbers."""
    if array.dtype.kind not in "fc" or bool(xp(array).isfinite(array).all()):
        return ""
    return "NaN" if bool((array != array).any()) else "Inf"


def _holds(told: str, value: Any) -> bool:
    """Whether an input brings the NaN or Inf along. (Of Inf - Inf, the subtraction makes the NaN.)"""
    if isinstance(value, Variable):
        return _not_finite(value.array) == told
    if isinstance(value, float):
        return math.isnan(value) if told == "NaN" else math.isinf(value)
    return False


class set_detect_anomaly:
    """Anomaly mode on or off, at once or within ``with``.

    Args:
        mode: whether it is on.
        check_nan: whether values are looked at; without that, nodes remember their lines alone.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = state.observers
        others = tuple(o for o in state.observers if o not in (note_place, _note_line))
        state.observers = (*others, note_place if check_nan else _note_line) if mode else others

    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: object) -> None:
        state.observers = self._before


class detect_anomaly(set_detect_anomaly):
    """Within it, each op remembers the line of the program that called it; the op whose result is the first
    to hold NaN or Inf is reported with that line, and so is a gradient rule that makes one. It costs time."""

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan

    def __enter__(self) -> None:
        super().__init__(True, self.check_nan)


def _note_line(node: Node, args: tuple[Any, ...], result: Any) -> None:
    node.place = caller()


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return any(o in (note_place, _note_line) for o in state.observers)


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode is on and looks at values."""
    return note_place in state.observers
