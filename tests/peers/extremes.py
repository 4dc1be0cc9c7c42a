"""All gradient rules at zeros, ones, infinities, NaN, equal, subnormal and huge values, in every place.

    python -m tests.peers.extremes [OP ...]

The programs are the rules' cases (``tests/ops/cases.py``) and ``PROGRAMS``, which are made of several rules. Values,
gradients and second gradients are compared with PyTorch's in float64; where those of a function of elements differ,
many digits decide (``references.py``). What is not compared: the gradient of a value that is NaN, and, of an op that is
no function of elements, what is NaN in PyTorch.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator
from inspect import signature
from itertools import product
from operator import attrgetter
from typing import Any

import numpy as np
import torch

import minigrad
from minigrad.ops.registry import REGISTRY
from tests.ops.cases import CASES, Case
from tests.support.parity import gradients, host, listed, ours, theirs


from .references import FUNCTIONS, reference

Arrays = list[Any]
SMALL = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 40.0, -40.0, 800.0, -800.0, np.inf, -np.inf, np.nan]
VALUES = np.array([*SMALL, 5e-324, 1e-310, -1e-310, 1e-200, -1e-200, 1e200, -1e200, 1e308, -1e308])
FEW = VALUES[[0, 1, 4, 5, 6, 12, 13, 14, 15, 18, 20, 22]]  # for three arguments at once
ORDERS = ("value", "gradient", "second gradient")
RTOL = 1e-9
MATRICES = ("decompositions", "determinants", "indefinite")


def _of_elements(case: Case) -> bool:
    """Whether each element of the result depends on those at its place only."""
    drawn = all(not isinstance(spec, np.ndarray) for spec in case.inputs)
    if case.op.startswith("torch."):
        return case.inputs[0] == (2,)
    return drawn and _family(case) in ("elementwise", "special", "activation") and case.op not in ("prelu", "level")


def _family(case: Case) -> str:
    """The file of the op."""
    return REGISTRY[case.op].__module__.rpartition(".")[2] if case.op in REGISTRY else ""


def points(case: Case) -> Iterator[Arrays]:
    """The inputs to try: of a function of elements all values with all, and each alone; of others each value in each
    place, in all places, and beside zeros and ones."""
    drawn = [i for i, spec in enumerate(case.inputs) if not isinstance(spec, np.ndarray)]
    if _of_elements(case):
        grid = np.meshgrid(*[VALUES if len(drawn) < 3 else FEW] * len(drawn), indexing="ij")
        yield [axis.reshape(-1) for axis in grid]
        for value in VALUES:
            yield [np.full(1, value)] * len(drawn)
        return
    plain = case.arrays()
    of_matrices = _family(case) in MATRICES or case.inputs[0] is _SQUARE
    values = VALUES[np.abs(VALUES) < 1000] if of_matrices else VALUES  # elimination may subtract infinite rows
    rng = np.random.default_rng(0)
    for i, value in product(drawn, values):
        size = plain[i].size
        mixed = rng.choice([value, value, 0.0, 1.0], plain[i].shape)
        for changed in (np.full_like(plain[i], value), mixed, *(_with(plain[i], at, value) for at in range(min(size, 4)))):
            yield [*plain[:i], changed, *plain[i + 1 :]]


def _with(array: Any, place: int, value: float) -> Any:
    """A copy with another element at a place."""
    copy = np.array(array)
    copy.reshape(-1)[place] = value
    return copy


def results(library: Any, program: Any, case: Case, arrays: Arrays) -> list[tuple[int, int, Any]]:
    """What a library makes of a point: (order, number, array) of values, gradients and second gradients."""
    leaf = theirs if library is torch else ours
    xs = [leaf(a, not isinstance(spec, np.ndarray)) for spec, a in zip(case.inputs, arrays, strict=True)]
    leaves = [x for x in xs if x.requires_grad]
    found = listed(program(library, *xs))
    out = [(0, n, f) for n, f in enumerate(found)]
    ends = [f for f in found if f.requires_grad]
    for order in (1, 2) if case.second else (1,):
        if ends:
            weights = [library.ones_like(e) * (1.0 if order == 1 else _weight(n)) for n, e in enumerate(ends)]
            slopes = gradients(ends, leaves, weights, create_graph=order == 1 and case.second)
        else:
            slopes = [library.zeros_like(x) for x in leaves]
        out += [(order, n, s) for n, s in enumerate(slopes)]
        ends = [s if s.requires_grad else s + 0 * leaves[0].sum() * 0 for s in slopes if s.requires_grad]
    return [(order, n, host(f)) for order, n, f in out]


def _weight(number: int) -> float:
    """That of the gradient of an input in the sum whose gradients are the second ones."""
    return 1.0 - 0.3 * number


def differences(case: Case) -> Iterator[str]:
    """A line for each order in which a case differs somewhere, with the first place."""
    seen: set[tuple[int, int]] = set()
    for arrays in points(case):
        try:
            expected = results(torch, case.theirs, case, arrays)
        except (RuntimeError, ValueError):  # such as a matrix that is singular: minigrad may have an answer
            continue
        try:
            found = results(minigrad, case.ours, case, arrays)
        except Exception as error:
            if (-1, 0) not in seen:
                seen.add((-1, 0))
                yield f"raises {type(error).__name__}: {error} at {_told(arrays)}"
            continue
        value = expected[0][2]
        for (order, number, f), (_, _, e) in zip(found, expected, strict=True):
            if (order, number) in seen or e.dtype.kind != "f":
                continue
            wrong = _wrong(case, arrays, order, number, f, e, value)
            if wrong is not None:
                seen.add((order, number))
                yield f"{ORDERS[order]} {number} {wrong}"


def _wrong(case: Case, arrays: Arrays, order: int, number: int, found: Any, expected: Any, value: Any) -> str | None:
    """Where and how one result differs, or None."""
    if found.shape != expected.shape:
        return f"has shape {found.shape}, expected {expected.shape}"
    elements = _of_elements(case)
    numbers = [a for a in [expected, *arrays] if a.dtype.kind == "f"]
    least = 1e-300 if elements else 1e-12 * max(np.abs(a[np.isfinite(a)]).max(initial=0.01) for a in numbers)
    with np.errstate(all="ignore"):
        apart = ~(np.abs(found - expected) <= RTOL * np.abs(expected) + least) & (found != expected)
    apart &= ~(np.isnan(found) & np.isnan(expected))
    if elements and order and value.shape == expected.shape:
        apart &= ~np.isnan(value)
    judged = elements and len(arrays) == _arity(case.op)
    apart &= ~np.isnan(expected) | (judged & ~np.isnan(sum(arrays) if judged else expected))
    for place in np.argwhere(apart):
        at, mine, other = tuple(place), float(found[tuple(place)]), float(expected[tuple(place)])
        if not elements:
            return f"is {mine:.6g}, PyTorch's {other:.6g}, in {_told([found])} at {_told(arrays)}"
        point = [float(a[at]) for a in arrays]
        if judged:
            right = reference(case.op, point, order, number, [_weight(n) for n in range(len(point))])
            if _near(mine, right) or (math.isnan(other) and right is None):
                continue
            return f"is {mine:.9g}, PyTorch's {other:.9g}, right is {right}, at {point}"
        return f"is {mine:.9g}, PyTorch's {other:.9g}, at {point}"
    return None


def _near(found: float, right: float | None) -> bool:
    """Equal to six digits; what grows as a logarithm is some hundreds where it is infinite in the limit."""
    if right is None:
        return False
    if math.isinf(found):
        return found * right > 0 and abs(right) > 300
    return abs(found - right) <= 1e-6 * abs(right) + 1e-300 or (math.isnan(found) and math.isnan(right))


def _arity(op: str) -> int:
    """How many arguments the function in many digits has; -1 where there is none."""
    return len(signature(FUNCTIONS[op]).parameters) if op in FUNCTIONS else -1


def _told(arrays: Arrays) -> str:
    return str([a.tolist() for a in arrays])[:300]


def _program(name: str, *inputs: Any, of: Any = None) -> Case:
    """A function that both libraries have, "nn.functional.normalize" say, or one of them."""
    function = of or (lambda t, *xs: attrgetter(name)(t)(*xs))
    return Case(f"torch.{name}", function, function, inputs)


_ROWS, _SQUARE = (3, 4), (3, 3)
UNARY = ["logit", "sinc", "frac", "sgn", "special.entr", "special.ndtri", "special.ndtr", "special.expit", "nn.functional.selu"]
UNARY += [f"nn.functional.{name}" for name in ("softplus", "softsign", "tanhshrink", "silu", "gelu", "celu", "relu6")]
BINARY = ["logaddexp2", "xlogy", "special.xlog1py", "fmax", "fmin", "float_power", "ldexp", "fmod", "remainder", "true_divide"]
BINARY += [f"nn.functional.{name}" for name in ("poisson_nll_loss", "soft_margin_loss", "hinge_embedding_loss")]
LOSSES = ["mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "kl_div", "binary_cross_entropy_with_logits"]
OF_ROWS = ["std", "var", "logsumexp", "softmax", "log_softmax", "nn.functional.softmin", "nn.functional.normalize", "cumprod"]
OF_ROWS += ["prod", "cumsum", "logcumsumexp", "amax", "amin", "median", "nanmedian", "nansum", "nanmean"]
OF_PAIRS = ["nn.functional.cosine_similarity", "nn.functional.pairwise_distance", "cdist", "dist", "nn.functional.cross_entropy"]
OF_MATRICES = ["det", "logdet", "linalg.slogdet", "linalg.pinv", "linalg.svdvals", "linalg.matrix_norm", "matrix_exp", "trace"]
OF_MATRICES += ["linalg.inv", "linalg.cholesky", "linalg.eigvalsh"]

PROGRAMS = [
    *(_program(name, (2,)) for name in UNARY),
    *(_program(name, (2,), (2,)) for name in BINARY),
    *(
        _program(name, (2,), (2,), of=lambda t, a, b, f=name: getattr(t.nn.functional, f)(a, b, reduction="none"))
        for name in LOSSES
    ),
    _program("binary_cross_entropy", (2,), (2,), of=lambda t, x, y: t.nn.functional.binary_cross_entropy(
        x.clamp(0, 1), y.clamp(0, 1).detach(), reduction="none")),
    _program("gaussian_nll_loss", (2,), (2,), (2,), of=lambda t, x, y, v: t.nn.functional.gaussian_nll_loss(
        x, y, v.abs(), reduction="none")),
    *(
        _program(name, _ROWS, of=lambda t, x, f=name: attrgetter(f)(t)(x, dim=1))
        for name in OF_ROWS
    ),
    *(
        _program(f"norm {p}", _ROWS, of=lambda t, x, p=p: t.linalg.vector_norm(x, p, 1))
        for p in (0, 0.5, 1, 1.5, 2, 3, np.inf, -np.inf, -1, -2)
    ),
    _program("renorm", _ROWS, of=lambda t, x: t.renorm(x, 2, 0, 1.0)),
    _program("std of one", (3, 1), of=lambda t, x: x.std(1)),
    _program("var of one", (3, 1), of=lambda t, x: x.var(1)),
    *(
        _program(name, _ROWS, of=lambda t, x, f=name: getattr(t.nn.functional, f)(x, (4,)))
        for name in ("layer_norm", "rms_norm")
    ),
    *(_program(name, _ROWS, _ROWS) for name in OF_PAIRS),
    *(_program(name, _SQUARE) for name in OF_MATRICES),
    *(_program(f"norm {p}", _SQUARE, of=lambda t, x, p=p: t.linalg.matrix_norm(x, p)) for p in ("nuc", 2, -2, 1)),
]


def walk(chosen: tuple[str, ...] = (), part: slice = slice(None)) -> Iterator[tuple[str, list[str]]]:
    """Each case by its name, with its differences."""
    known = [c for c in [*CASES, *PROGRAMS] if not chosen or c.op in chosen]
    distinct = {(c.op, c.ours.__code__, str(c.ours.__defaults__), len(c.inputs) if _of_elements(c) else str(c.inputs)): c for c in reversed(known)}
    for case in [*distinct.values()][::-1][part]:
        if all(a.size and a.dtype.kind != "c" for a in case.arrays()):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                yield str(case), list(differences(case))


def main() -> int:
    """Print what differs and is not listed. Returns 1 if something is."""
    for name, found in walk(tuple(sys.argv[1:])):
        for line in found:
            print(f"{name}: {line}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
