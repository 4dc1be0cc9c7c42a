"""Anomaly mode: every recorded op stores the program line that called it, and the first NaN or Inf raises an error.

In the forward pass, the error names the first op whose result contains NaN although its inputs do not, or Inf although
no input or argument is infinite. In the backward pass, it names the first gradient rule with such a result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..autograd.graph import shown
from ..autograd.observer import Observer, register, restore
from ..autograd.tape import Node, Variable
from ..autograd.tracebacks import caller, line_of, spelled
from ..backend import dtype as dt, xp
from ..ops.op import Op, Watch, bare, watch


class Anomalies(Observer):
    """Records each op's line. With ``check_nan``, raises an error at the first non-finite result or gradient."""

    def __init__(self, check_nan: bool) -> None:
        self.check_nan = check_nan

    def applied(self, op: Op, args: tuple[Any, ...], result: Any, node: Node | None) -> None:
        if node is None:
            return
        node.place = line_of(caller())
        for r in (result if type(result) is tuple else (result,)) if self.check_nan else ():
            flaw = _flaw(r.array)
            if flaw and not any(_brings(flaw, a) for a in args):
                raise RuntimeError(
                    f"{op.name} at {spelled(node.place)} produced the first {flaw}, in a result of shape "
                    f"{tuple(r.array.shape)}"
                )

    def passed(self, node: Node, gradients: Sequence[Any]) -> None:
        for i, gradient in zip(node.plan.inputs, gradients, strict=True) if self.check_nan else ():
            flaw = "" if gradient is None else _flaw(bare(gradient))
            if flaw:
                name, at = node.op.param(i), node.plan.inputs.index(i) if node.op.backward is None else i
                raise RuntimeError(
                    f"Function {shown(node).name()!r} returned {flaw.lower()} values in its {at}th output: the "
                    f"gradient of {node.op.name} with respect to {name} contains {flaw} (rule at "
                    f"{spelled(node.op.rule_place(name))}; the op was called at {spelled(node.place or '')})"
                )


def _flaw(array: dt.Array) -> str:
    """ "NaN", "Inf", or "" if all numbers are finite."""
    if dt.kind_of(array) not in "fc" or bool(xp(array).isfinite(array).all()):
        return ""
    return "NaN" if bool((array != array).any()) else "Inf"


def _brings(flaw: str, value: Any) -> bool:
    """Whether an input already contains the NaN or Inf. (In Inf - Inf, the subtraction produces the NaN.)"""
    if isinstance(value, Variable):
        return _flaw(value.array) == flaw
    if isinstance(value, float):
        return math.isnan(value) if flaw == "NaN" else math.isinf(value)
    return False


class set_detect_anomaly:
    """Turn anomaly mode on or off, immediately or for a ``with`` block. Without ``check_nan``, nodes store their lines,
    but values are not checked."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before, self._everywhere = watch.observers, Watch.observers
        others = tuple(o for o in watch.observers if not isinstance(o, Anomalies))
        register((*others, Anomalies(check_nan)) if mode else others)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: object) -> None:
        restore(self._before, self._everywhere)


class detect_anomaly(set_detect_anomaly):
    """A context in which each op stores the program line that called it. The first op or gradient rule whose result
    contains NaN or Inf raises an error that shows this line. This slows programs down."""

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan

    def __enter__(self) -> None:
        super().__init__(True, self.check_nan)


# Whether anomaly mode is on, and whether it checks values.
is_anomaly_enabled = lambda: any(isinstance(o, Anomalies) for o in watch.observers)
is_anomaly_check_nan_enabled = lambda: any(isinstance(o, Anomalies) and o.check_nan for o in watch.observers)
