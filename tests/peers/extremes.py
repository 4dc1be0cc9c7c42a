"""All gradient rules at zeros, ones, infinities, NaN, equal, subnormal and huge values, at every position.

    python -m tests.peers.extremes [PATTERN ...]

The programs are the rules' cases (``tests/ops/cases.py``) and functions made of several rules (``composed.py``).
Values, gradients and second gradients are compared with PyTorch's in float64; if an elementwise function's differ, high
precision decides (``references.py``). Differences with a reason are in ``left.toml``.

Not compared: the gradient of a NaN value; and PyTorch's NaN if there is no high-precision function.
"""

import math
import sys
import warnings
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

import numpy as np
import torch

import minigrad
from minigrad.compat.ops.registry import REGISTRY
from tests.ops.cases import CASES, Case
from tests.support.parity import gradients, host, listed, ours, theirs

from .composed import ELEMENT, SQUARE, functions
from .left import reason_for, rows
from .references import arity, reference

Arrays = list[Any]
Result = tuple[int, int, Any]  # the order, the number of the output or input, an array
SMALL = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 40.0, -40.0, 800.0, -800.0, np.inf, -np.inf, np.nan]
VALUES = np.array([*SMALL, 5e-324, 1e-310, -1e-310, 1e-200, -1e-200, 1e200, -1e200, 1e308, -1e308])
FEW = VALUES[[0, 1, 4, 5, 6, 12, 13, 14, 15, 18, 20, 22]]  # for functions of three arguments
ORDERS = ("value", "gradient", "second gradient")
RTOL, OF_MATRICES = 1e-9, 1e-6
MATRICES = ("decompositions", "indefinite")


def _of_elements(case: Case) -> bool:
    """Whether each element of the result depends only on the elements at its position."""
    if case.op not in REGISTRY:
        return bool(case.inputs[0] == ELEMENT)
    is_plain = all(not isinstance(spec, np.ndarray) for spec in case.inputs)
    return is_plain and _family(case) in ("elementwise", "special", "activation") and case.op not in ("prelu", "level")


def _family(case: Case) -> str:
    """The name of the op's file."""
    return REGISTRY[case.op].__module__.rpartition(".")[2] if case.op in REGISTRY else ""


def points(case: Case) -> Iterator[Arrays]:
    """The inputs to try: for elementwise functions all combinations of values, and each repeated; for others each value
    at each position, at all positions, and among zeros and ones."""
    varying = [i for i, spec in enumerate(case.inputs) if not isinstance(spec, np.ndarray)]
    if _of_elements(case):
        grid = np.meshgrid(*[VALUES if len(varying) < 3 else FEW] * len(varying), indexing="ij")
        yield [axis.reshape(-1) for axis in grid]
        yield from ([np.full(1, value)] * len(varying) for value in VALUES)
        return
    plain, rng = case.arrays(), np.random.default_rng(0)
    for i, value in product(varying, _values(case)):
        places = (_with(plain[i], at, value) for at in range(min(plain[i].size, 4)))
        mixed = rng.choice([value, value, 0.0, 1.0], plain[i].shape)
        for changed in (np.full_like(plain[i], value), mixed, *places):
            yield [*plain[:i], changed, *plain[i + 1 :]]


def _values(case: Case) -> Any:
    """Sums of 1e308 overflow depending on their order, and products within an elimination underflow."""
    if _family(case) in MATRICES or case.inputs[0] is SQUARE:
        return VALUES[(VALUES == 0) | ((np.abs(VALUES) > 1e-100) & (np.abs(VALUES) < 1e3))]
    return VALUES[np.abs(VALUES) != 1e308]


def _with(array: Any, place: int, value: float) -> Any:
    """A copy with another element at a position."""
    copy = np.array(array)
    copy.reshape(-1)[place] = value
    return copy


def results(library: Any, program: Any, case: Case, arrays: Arrays) -> list[Result]:
    """A library's values, gradients and second gradients at a point."""
    leaf = theirs if library is torch else ours
    xs = [leaf(a, not isinstance(spec, np.ndarray)) for spec, a in zip(case.inputs, arrays, strict=True)]
    leaves = [x for x in xs if x.requires_grad]
    ends = listed(program(library, *xs))
    out: list[Result] = [(0, n, host(e)) for n, e in enumerate(ends)]
    for order in (1, 2) if case.second else (1,):
        pairs = [(e, leaf(_weights(case, e, n * (order - 1)))) for n, e in enumerate(ends) if e.requires_grad]
        ends = [library.zeros_like(x) for x in leaves]
        if pairs:
            results, weights = zip(*pairs, strict=True)
            ends = gradients(results, leaves, weights, create_graph=order == 1)
        out += [(order, n, host(e)) for n, e in enumerate(ends)]
    return out


def _weights(case: Case, of: Any, number: int) -> Any:
    """The incoming gradient: one number for elementwise functions, so that their gradients are derivatives."""
    shape = tuple(of.shape)
    first, last = (1, 1) if _of_elements(case) else (0.5, 1.5)
    return _weight(number) * np.linspace(first, last, math.prod(shape)).reshape(shape)


def _weight(number: int) -> float:
    """The weight of an input's gradient in the sum that is differentiated for second gradients."""
    return 1.0 - 0.3 * number


def differences(case: Case) -> Iterator[tuple[str, str]]:
    """For each order in which a case differs, its name and the first difference."""
    orders: set[int] = set()
    for arrays in points(case):
        try:
            expected = results(torch, case.theirs, case, arrays)
        except (RuntimeError, ValueError):  # for a singular matrix, say: minigrad may have an answer
            continue
        try:
            mine = results(minigrad, case.ours, case, arrays)
        except Exception as error:  # any error is a difference
            if -1 not in orders:
                orders.add(-1)
                yield f"{case} error", f"{type(error).__name__}: {error} at {_cut(arrays)}"
            continue
        for result, right in zip(mine, expected, strict=True):
            if result[0] in orders or right[2].dtype.kind != "f":
                continue
            if line := _wrong(case, arrays, result, right[2], expected[0][2]):
                orders.add(result[0])
                yield f"{case} {ORDERS[result[0]]}", line


def _wrong(case: Case, arrays: Arrays, result: Result, expected: Any, value: Any) -> str | None:
    """Where and how a result differs, or None."""
    order, number, actual = result
    if actual.shape != expected.shape:
        return f"shape {actual.shape}, PyTorch's {expected.shape}"
    elements, judged = _of_elements(case), arity(case.op) == len(case.inputs)
    floats = [a for a in (expected, *arrays) if a.dtype.kind == "f"]
    least = 1e-300 if elements else 1e-12 * max(np.abs(a[np.isfinite(a)]).max(initial=0.01) for a in floats)
    rtol = OF_MATRICES if _family(case) in MATRICES or case.inputs[0] is SQUARE else RTOL
    near = np.isfinite(expected) & (np.abs(actual - expected) <= rtol * np.abs(expected) + least)
    apart = ~near & (actual != expected) & ~(np.isnan(actual) & np.isnan(expected))
    if elements and order:
        apart &= ~np.isnan(value)
    if not judged:
        apart &= ~np.isnan(expected)
    for at in map(tuple, np.argwhere(apart)):
        text = f"{number} is {actual[at]:.9g}, PyTorch's {expected[at]:.9g}"
        if not elements:
            return f"{text}, in {_cut([actual])} at {_cut(arrays)}"
        point = [float(a[at]) for a in arrays]
        right = reference(case.op, point, order, number, [_weight(n) for n in range(len(point))]) if judged else None
        unknown = right is None or math.isnan(right)
        if judged and (_near(float(actual[at]), right, point) or (unknown and np.isnan(expected[at]))):
            continue
        return f"{text}, in high precision {right}, at {point}"
    return None


def _near(actual: float, right: float | None, point: list[float]) -> bool:
    """Equal to six digits; where the limit is infinite, a function that grows logarithmically may be a few hundred, and
    where it is 0, one that falls like a root may be 1e-160."""
    if right is None or math.isinf(actual):
        return right is not None and actual * right > 0 and abs(right) > 300
    least = 1e-150 if any(map(math.isinf, point)) else 1e-300
    return abs(actual - right) <= 1e-6 * abs(right) + least or (math.isnan(actual) and math.isnan(right))


def _cut(arrays: Arrays) -> str:
    return str([a.tolist() for a in arrays])[:300]


def walk(patterns: tuple[str, ...] = ("*",), part: slice = slice(None)) -> Iterator[tuple[str, str]]:
    """The differences in all cases of the given ops, or in a part of them."""
    distinct: dict[Any, Case] = {}
    for case in (*CASES, *functions()):
        inputs = len(case.inputs) if _of_elements(case) else str(case)  # for elementwise functions one shape is enough
        complex = case.ours.__name__ == "through_reals"
        if all(a.size for a in case.arrays()) and not complex and any(fnmatchcase(case.op, c) for c in patterns):
            distinct.setdefault((case.op, case.ours.__code__, str(case.ours.__defaults__), inputs), case)
    for case in [*distinct.values()][part]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield from differences(case)


def problems(patterns: tuple[str, ...] = ()) -> list[str]:
    """Print the differences of some ops, or of all. Returns those without a reason and, for all ops, unused reasons."""
    names, wrong = [], []
    for name, line in walk(patterns or ("*",)):
        names.append(name)
        reason = reason_for(name, "extreme")
        print(f"{name} {line} ({reason or 'not listed'})", flush=True)
        wrong += [] if reason else [f"{name} differs and is not listed: {line}"]
    listed = [] if patterns else [pattern for row in rows("extreme") for pattern in row.names]
    idle = [p for p in listed if not any(fnmatchcase(name, p) for name in names)]
    return wrong + [f"extreme: {pattern} matches nothing" for pattern in idle]


if __name__ == "__main__":
    sys.exit(1 if problems(tuple(sys.argv[1:])) else 0)
