"""Shapes, dtypes, strides and indices drawn by hypothesis: minigrad computes the same results as PyTorch.

Each test draws a function and its arguments: also numbers, empty tensors, views that are transposed, sliced with a step
or expanded. It compares results, dtypes and gradients. The draws of a run are always the same; for different and more
draws, run ``HYPOTHESIS_PROFILE=many python -m pytest tests/peers/test_drawn.py``.
"""

import contextlib
import operator
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.both import derivatives, results, same
from tests.support.parity import torch

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies
pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's

QUICK = [hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.filter_too_much, hypothesis.HealthCheck.data_too_large]
COMMON: dict[str, Any] = {"deadline": None, "database": None, "suppress_health_check": QUICK}
hypothesis.settings.register_profile("same", max_examples=100, derandomize=True, **COMMON)
hypothesis.settings.register_profile("many", max_examples=5000, **COMMON)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

Shape = tuple[int, ...]
FLOATS, WHOLE = ["float64", "float32"], ["int64", "int32", "uint8", "bool"]
EXTREMES = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e300, 1e-300])
REFUSALS = (RuntimeError, TypeError, IndexError, ValueError, NotImplementedError)

# Tensors --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """Describes a tensor: a leaf, and the views that lead from it to the argument."""

    shape: Shape
    dtype: str = "float64"
    seed: int = 0
    views: tuple[tuple[str, Any], ...] = ()
    extremes: bool = False
    gradient: bool = True

    def leaf(self, t: Any) -> Any:
        """The leaf in a library."""
        rng = np.random.default_rng(self.seed)
        values = np.asarray(rng.uniform(-3, 3, self.shape))
        if self.extremes:
            values = np.where(rng.random(self.shape) < 0.5, values, rng.choice(EXTREMES, self.shape))
        if self.dtype in WHOLE:
            values = np.abs(values) if self.dtype == "uint8" else values
            values = values > 0 if self.dtype == "bool" else np.rint(values)
        if self.dtype.startswith("complex"):
            values = values + 1j * rng.uniform(-3, 3, self.shape)
        with np.errstate(all="ignore"):
            tensor = t.from_numpy(np.array(values, self.dtype))
        return tensor.requires_grad_() if self.gradient and self.dtype not in WHOLE else tensor

    def view(self, leaf: Any) -> Any:
        """The argument that is a view of a leaf."""
        for name, arguments in self.views:
            leaf = leaf[arguments] if name == "slice" else getattr(leaf, name)(arguments)
        return leaf


lengths = st.sampled_from([2, 3, 1, 4, 0])
shapes = st.lists(lengths, max_size=4).map(tuple)
matrices = st.tuples(lengths, lengths)


@st.composite
def tensors(draw: Any, shape: Any = shapes, dtypes: Any = FLOATS, expanded: Any = True, extremes: Any = False) -> Drawn:
    """A tensor with a shape (or a shape from a strategy), and any strides."""
    shape = shape if isinstance(shape, tuple) else draw(shape)
    views = []
    for kind in draw(st.lists(st.sampled_from(["permute", "slice", "expand"]), max_size=2)):
        if kind == "permute":
            order = draw(st.permutations(range(len(shape))))
            views.append((kind, tuple(order)))
            shape = tuple(shape[order.index(d)] for d in range(len(shape)))
        elif kind == "slice":
            starts = [draw(st.integers(0, 2)) for _ in shape]
            steps = [draw(st.integers(1, 3)) for _ in shape]
            stops = [i + (n - 1) * s + 1 if n else i for i, n, s in zip(starts, shape, steps, strict=True)]
            views.append((kind, tuple(map(slice, starts, stops, steps))))
            shape = tuple(n + draw(st.integers(0, 1)) for n in stops)
        elif expanded:
            views.append((kind, shape))
            shape = tuple(draw(st.sampled_from([n, 1])) for n in shape)
    dtype = draw(st.sampled_from(dtypes))
    extremes = extremes and dtype in FLOATS and draw(st.booleans())
    return Drawn(shape, dtype, draw(st.integers(0, 99)), tuple(reversed(views)), extremes)


@st.composite
def broadcasting(draw: Any, count: int = 2, dtypes: Any = FLOATS, expanded: bool = True, **options: Any) -> list[Drawn]:
    """Tensors whose shapes broadcast to the first's, or to a larger one if the first may have ones."""
    shape, arguments = draw(shapes), []
    for number in range(count):
        part = shape[draw(st.integers(0, len(shape))) :] if number else shape
        part = tuple(draw(st.sampled_from([n, n, 1])) for n in part) if number else part
        arguments.append(draw(tensors(part, dtypes, expanded, **options)))
    return arguments


@st.composite
def axes(draw: Any, ndim: int, several: bool = False) -> Any:
    """An axis, or several different ones, counted from either end; for a 0-d tensor 0 or -1."""
    axis = st.integers(-max(ndim, 1), max(ndim, 1) - 1)
    if not (several and draw(st.booleans())):
        return draw(axis)
    dims = draw(st.lists(st.integers(0, ndim - 1), unique=True, min_size=1, max_size=ndim)) if ndim else []
    return tuple(d - ndim if draw(st.booleans()) else d for d in dims)


# Comparison -----------------------------------------------------------------------------------------------


def check(program: Callable[..., Any], *arguments: Drawn, gradient: bool = True, near: float | None = None) -> None:
    """Run a program on both libraries: results agree, and gradients if PyTorch has them.

    If PyTorch raises an error, minigrad may also do so, but its message must not be NumPy's or Python's.
    """
    near = near or (1e-4 if any(d.dtype == "float32" for d in arguments) else None)  # also for float64 in between
    leaves = {t: [d.leaf(t) for d in arguments] for t in (torch, minigrad)}
    views = {t: [d.view(x) for d, x in zip(arguments, leaves[t], strict=True)] for t in leaves}
    try:
        expected = list(results(program(torch, *views[torch])))
    except REFUSALS:
        with contextlib.suppress(*REFUSALS):
            program(minigrad, *views[minigrad])
        return
    outputs = list(results(program(minigrad, *views[minigrad])))
    assert len(outputs) == len(expected), f"{len(outputs)} results, PyTorch's {len(expected)}"
    for number, pair in enumerate(zip(outputs, expected, strict=True)):
        same(*pair, f"result {number}", near)
    numbers = [n for n, e in enumerate(expected) if isinstance(e, torch.Tensor) and e.requires_grad]
    if not (numbers and gradient) or any(bool(expected[n].isnan().any()) for n in numbers):
        return
    try:
        theirs = derivatives(torch, [expected[n] for n in numbers], leaves[torch])
    except REFUSALS:  # PyTorch has no gradient for some
        return
    mine = derivatives(minigrad, [outputs[n] for n in numbers], leaves[minigrad])
    for number, pair in enumerate(zip(mine, theirs, strict=True)):
        same(*pair, f"gradient {number}", near)


# Elementwise ----------------------------------------------------------------------------------------------

ONE = "abs acos acosh angle asin asinh atan atanh ceil conj cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1"
ONE += " floor frac i0 isfinite isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not logit neg"
ONE += " nan_to_num positive rad2deg reciprocal relu round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square tan"
ONE += " tanh trunc"
LAYERS = "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 selu silu"
LAYERS += " softplus softshrink softsign tanhshrink"
TWO = "add sub mul div pow atan2 maximum minimum fmax fmin hypot logaddexp logaddexp2 copysign remainder fmod xlogy eq"
TWO += " ne lt le gt ge logical_and logical_or logical_xor floor_divide bitwise_and bitwise_or bitwise_xor gcd lcm"
TWO += " bitwise_left_shift heaviside float_power ldexp isclose"
COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}
NUMBERS = "add sub mul div pow maximum eq lt remainder fmod floor_divide xlogy"
OTHERS = [0, 1, -2, 0.5, -1.5, 2.0, True, 1 + 2j]
SYMBOLS = {name: name for name in ("add", "sub", "mul", "pow", "eq", "lt")}
SYMBOLS |= {"div": "truediv", "remainder": "mod", "floor_divide": "floordiv"}
THREE = "where addcmul addcdiv lerp clamp"
EVERY = [*FLOATS, *WHOLE, "complex128"]


@hypothesis.given(st.sampled_from(ONE.split()), tensors(dtypes=EVERY, extremes=True))
def test_functions_of_one(name: str, x: Drawn) -> None:
    check(lambda t, x: getattr(t, name)(x), x, gradient=not x.extremes)


@hypothesis.given(st.sampled_from(LAYERS.split()), tensors())
def test_activations(name: str, x: Drawn) -> None:
    check(lambda t, x: getattr(t.nn.functional, name)(x), x, near=1e-6)  # PyTorch has 1 / 6 in float32


@hypothesis.given(st.sampled_from(TWO.split()), broadcasting(dtypes=EVERY, extremes=True))
def test_functions_of_two(name: str, arguments: list[Drawn]) -> None:
    # PyTorch's gradient of 0 to a complex power is NaN, but to a real power it is 0. Its rules use integers unchanged:
    # ldexp(x, -2) has the gradient 0, not 1/4, and atan2 by a uint8 uses 256 - x for -x.
    unsettled = name in ("pow", "float_power") and arguments[1].dtype == "complex128"
    unsettled |= any(d.dtype in WHOLE or d.extremes for d in arguments)
    # PyTorch compares a uint8 with a 0-d int64 modulo 256; here comparisons are exact.
    kinds = {d.dtype for d in arguments if not d.shape} ^ {d.dtype for d in arguments if d.shape}
    hypothesis.assume(not (name in COMPARISONS and "uint8" in kinds and len(kinds) > 1))
    # The result for a complex number and a real infinity is not specified either.
    hypothesis.assume(not (any(d.extremes for d in arguments) and any(d.dtype == "complex128" for d in arguments)))
    check(lambda t, x, y: getattr(t, name)(x, y), *arguments, gradient=not unsettled)


@hypothesis.given(st.sampled_from(NUMBERS.split()), tensors(dtypes=EVERY), st.sampled_from(OTHERS), st.booleans())
def test_with_a_number(name: str, x: Drawn, number: Any, swapped: bool) -> None:
    # PyTorch compares with -2 modulo 256 there, so that 0 < -2; here comparisons are exact.
    hypothesis.assume(not (name in COMPARISONS and x.dtype == "uint8" and number == -2))
    # The gradient of 0 to a complex power: see above.
    hypothesis.assume(not (name == "pow" and x.dtype == "complex128" and number == 0 and swapped))
    symbol = getattr(operator, SYMBOLS.get(name, ""), None)
    if symbol is None:
        check(lambda t, x: getattr(t, name)(x, number), x)
    else:
        check(lambda t, x: symbol(number, x) if swapped else symbol(x, number), x)


@hypothesis.given(st.sampled_from(THREE.split()), broadcasting(3, [*FLOATS, "int64"]))
def test_functions_of_three(name: str, arguments: list[Drawn]) -> None:
    # If bounds differ only in float64's last digits, PyTorch may compare their float32 roundings.
    hypothesis.assume(not (name == "clamp" and len({d.dtype for d in arguments}) > 1))
    if name == "where":
        check(lambda t, x, y, z: t.where(x > 0, y, z), *arguments)
    else:
        check(lambda t, x, y, z: getattr(t, name)(x, y, z), *arguments)


CHANGES = "add_ sub_ mul_ div_ pow_ copy_ fmod_ remainder_ atan2_ clamp_min_ hypot_ xlogy_ bitwise_or_ floor_divide_"


@hypothesis.given(st.sampled_from(CHANGES.split()), broadcasting(dtypes=EVERY, expanded=False), st.booleans())
def test_changes_in_place(name: str, arguments: list[Drawn], part: bool) -> None:
    def change(t: Any, x: Any, y: Any) -> Any:
        base = x * 1 if x.dtype.is_floating_point or x.dtype.is_complex else x.clone()
        view = base[..., ::2] if part and base.ndim else base
        other = y[..., ::2] if part and y.ndim and y.shape[-1] == x.shape[-1] else y
        getattr(view, name)(other)
        return base, view

    check(change, *arguments)


# Reductions -----------------------------------------------------------------------------------------------

REDUCED = "sum mean prod var std amax amin max min argmax argmin all any logsumexp norm nansum nanmean count_nonzero"
REDUCED += " median nanmedian mode aminmax std_mean var_mean"
ONE_AXIS = {"prod", "max", "min", "argmax", "argmin", "median", "nanmedian", "mode", "aminmax"}


@hypothesis.given(st.sampled_from(REDUCED.split()), tensors(dtypes=EVERY, extremes=True), st.data())
def test_reductions(name: str, x: Drawn, data: Any) -> None:
    ndim = len(x.view(x.leaf(torch)).shape)
    kwargs = {}
    if data.draw(st.booleans(), "an axis"):
        kwargs["dim"] = data.draw(axes(ndim, name not in ONE_AXIS), "dim")
        if name != "count_nonzero" and data.draw(st.booleans(), "keepdim"):
            kwargs["keepdim"] = True
    hypothesis.assume(not (x.extremes and name in ("std_mean", "var_mean")))  # PyTorch's mean of inf is NaN there
    hypothesis.assume(not (x.extremes and name == "mode"))  # NaNs are not specified either
    # For equal numbers PyTorch's is the rounding error of their mean, and the gradient a quotient of two of these.
    hypothesis.assume(not (name in ("std", "std_mean") and any(kind == "expand" for kind, _ in x.views)))
    if name in ("mode", "median", "nanmedian"):  # which of equal ones is unspecified; PyTorch's fail when expanded
        check(lambda t, x: next(results(getattr(t, name)(x.contiguous(), **kwargs))), x, gradient=False)
    else:
        check(lambda t, x: getattr(t, name)(x, **kwargs), x, gradient=not x.extremes)


ALONG = "cumsum cumprod cummax cummin logcumsumexp softmax log_softmax sort argsort flip diff"


@hypothesis.given(st.sampled_from(ALONG.split()), tensors(dtypes=[*FLOATS, "int64", "bool"]), st.data())
def test_functions_along_an_axis(name: str, x: Drawn, data: Any) -> None:
    dim = data.draw(axes(len(x.view(x.leaf(torch)).shape)), "dim")
    kwargs: dict[str, Any] = {"stable": True} if name in ("sort", "argsort") else {}
    if name == "diff":
        check(lambda t, x: t.diff(x, 1, dim), x)
    elif name == "flip":
        check(lambda t, x: x.flip(dim), x)
    elif not (name in ("softmax", "log_softmax") and x.dtype not in FLOATS):
        check(lambda t, x: getattr(t, name)(x, dim=dim, **kwargs), x)


@hypothesis.given(tensors(), st.integers(1, 4), st.booleans(), st.data())
def test_topk_and_kthvalue(x: Drawn, k: int, largest: bool, data: Any) -> None:
    dim = data.draw(axes(len(x.view(x.leaf(torch)).shape)), "dim")
    check(lambda t, x: x.topk(k, dim, largest)[0], x)
    check(lambda t, x: x.kthvalue(k, dim)[0], x)


# Shapes ---------------------------------------------------------------------------------------------------


@st.composite
def reshaping(draw: Any) -> Any:
    """A tensor, and a method that changes its shape, with arguments."""
    x = draw(tensors(dtypes=[*FLOATS, "int64", "bool", "complex128"]))
    shape = tuple(x.view(x.leaf(torch)).shape)
    ndim, axis = len(shape), axes(len(shape))
    name = draw(st.sampled_from(list(SHAPED)))
    return x, name, SHAPED[name](draw, shape, ndim, axis)


number = st.integers(-3, 3)
cuts = st.lists(number, max_size=3).map(tuple)
SHAPED: dict[str, Callable[..., Any]] = {
    "reshape": lambda draw, s, n, a: (draw(st.permutations([*s, 1])),),
    "flatten": lambda draw, s, n, a: tuple(sorted((draw(a), draw(a)))),
    "permute": lambda draw, s, n, a: (draw(st.permutations(range(n))),),
    "transpose": lambda draw, s, n, a: (draw(a), draw(a)),
    "movedim": lambda draw, s, n, a: (draw(a), draw(a)),
    "squeeze": lambda draw, s, n, a: draw(st.sampled_from([(), (draw(a),)])),
    "unsqueeze": lambda draw, s, n, a: (draw(st.integers(-n - 1, n)),),
    "repeat": lambda draw, s, n, a: tuple(draw(st.integers(0, 2)) for _ in range(n + draw(st.integers(0, 1)))),
    "tile": lambda draw, s, n, a: (tuple(draw(st.integers(0, 2)) for _ in range(draw(st.integers(0, 4)))),),
    "repeat_interleave": lambda draw, s, n, a: (draw(st.integers(0, 3)), *draw(st.sampled_from([(), (draw(a),)]))),
    "roll": lambda draw, s, n, a: draw(st.sampled_from([(draw(number),), (draw(number), draw(a))])),
    "flip": lambda draw, s, n, a: (draw(axes(n, True)),),
    "rot90": lambda draw, s, n, a: (draw(number), (draw(a), draw(a))),
    "narrow": lambda draw, s, n, a: (draw(a), draw(number), draw(st.integers(0, 3))),
    "select": lambda draw, s, n, a: (draw(a), draw(number)),
    "unfold": lambda draw, s, n, a: (draw(a), draw(st.integers(0, 3)), draw(st.integers(1, 3))),
    "split": lambda draw, s, n, a: (draw(st.integers(0, 3)), draw(a)),
    "chunk": lambda draw, s, n, a: (draw(st.integers(1, 4)), draw(a)),
    "tensor_split": lambda draw, s, n, a: (draw(st.one_of(st.integers(1, 4), cuts)), draw(a)),
    "unbind": lambda draw, s, n, a: (draw(a),),
    "diagonal": lambda draw, s, n, a: (draw(number), draw(a), draw(a)),
    "diag_embed": lambda draw, s, n, a: (draw(number), draw(a), draw(a)),
    "tril": lambda draw, s, n, a: (draw(number),),
    "triu": lambda draw, s, n, a: (draw(number),),
    "diag": lambda draw, s, n, a: (draw(number),),
    "unflatten": lambda draw, s, n, a: (draw(a), draw(st.sampled_from([(-1, 1), (2, -1), (1, 1)]))),
    "expand": lambda draw, s, n, a: ((draw(lengths), *(draw(st.sampled_from([m, -1])) for m in s)),),
    "contiguous": lambda draw, s, n, a: (),
    "ravel": lambda draw, s, n, a: (),
    "T": lambda draw, s, n, a: None,
}


@hypothesis.given(reshaping())
def test_shapes(case: Any) -> None:
    x, name, arguments = case
    check(lambda t, x: getattr(x, name) if arguments is None else getattr(x, name)(*arguments), x)


@hypothesis.given(broadcasting(3, EVERY), st.data(), st.sampled_from(["cat", "stack"]))
def test_joining(arguments: list[Drawn], data: Any, name: str) -> None:
    dim = data.draw(axes(max(len(arguments[0].shape), 1)), "dim")
    skipped = any(d.view(d.leaf(torch)).shape == (0,) for d in arguments)  # cat skips it
    check(lambda t, *xs: getattr(t, name)(xs, dim), *arguments, gradient=not skipped)


# Indices --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Index:
    """The values of an index tensor, or of a mask."""

    values: Any

    def tensor(self, t: Any) -> Any:
        """The index as a library's tensor."""
        return t.from_numpy(np.array(self.values))


@st.composite
def indices(draw: Any, shape: Shape) -> Any:
    """An expression between brackets, for a tensor of this shape: as in NumPy's and PyTorch's indexing."""
    parts: list[Any] = []
    rows = draw(st.sampled_from([(), (1,), (2,), (2, 1), (3,), (0,)]))  # the shape of index tensors
    left = list(shape)
    while left and draw(st.integers(0, 3)):
        n = left.pop(0)
        kind = draw(st.sampled_from(["slice", "number", "tensor", "list", "mask", "none", "all"]))
        if kind == "none":
            left.insert(0, n)
            parts.append(None)
        elif kind == "number" and n:
            parts.append(draw(st.integers(-n, n - 1)))
        elif kind in ("tensor", "list") and n:
            values = [draw(st.integers(-n, n - 1)) for _ in range(int(np.prod(rows)))]
            table = np.array(values, np.int64).reshape(rows)
            parts.append(table.tolist() if kind == "list" and table.ndim and table.size else Index(table))
        elif kind == "mask" and rows in ((), (1,), (2,)):
            true = draw(st.permutations(range(n)))[: max(int(np.prod(rows)), 1)]
            parts.append(Index(np.isin(np.arange(n), true)))
        elif kind == "slice":
            ends = st.one_of(st.none(), st.integers(-n - 1, n + 1))
            parts.append(slice(draw(ends), draw(ends), draw(st.sampled_from([None, 1, 2, 3]))))
        else:
            parts.append(slice(None))
    if draw(st.integers(0, 3)) == 0:
        parts.append(...)
    return tuple(parts)


def resolved(t: Any, index: Any) -> Any:
    """An index with tensors of a library."""
    return tuple(part.tensor(t) if isinstance(part, Index) else part for part in index)


@hypothesis.given(tensors(dtypes=[*FLOATS, "int64", "bool"]), st.data())
def test_reading_by_index(x: Drawn, data: Any) -> None:
    index = data.draw(indices(tuple(x.view(x.leaf(torch)).shape)), "index")
    check(lambda t, x: x[resolved(t, index)], x)


@hypothesis.given(tensors(dtypes=[*FLOATS, "int64"], expanded=False), st.data(), st.integers(0, 99))
def test_writing_by_index(x: Drawn, data: Any, seed: int) -> None:
    index = data.draw(indices(tuple(x.view(x.leaf(torch)).shape)), "index")
    try:
        place = tuple(x.view(x.leaf(torch))[resolved(torch, index)].shape)
    except REFUSALS:
        hypothesis.reject()
    flat = [part for part in index if isinstance(part, (Index, list))]
    one = tuple(data.draw(st.sampled_from([n, 1])) for n in place)[data.draw(st.integers(0, len(place))) :]
    value = data.draw(st.one_of(st.sampled_from([0, 1.5]), tensors(one, ["float64", "float32"])), "value")

    def write(t: Any, x: Any, v: Any = value) -> Any:
        base = x * 1
        if flat and not isinstance(v, (int, float)):
            v = v.flatten()[:1].sum() if v.ndim else v  # an element twice: which of its values remains is not specified
        base[resolved(t, index)] = v
        return base

    check(write, x, *([value] if isinstance(value, Drawn) else []))


@hypothesis.given(matrices, st.integers(0, 1), st.data())
def test_gather_and_scatter(shape: Shape, dim: int, data: Any) -> None:
    smaller = tuple(data.draw(lengths if d == dim else st.integers(0, n), "length") for d, n in enumerate(shape))
    hypothesis.assume(shape[dim] or not int(np.prod(smaller)))
    x, source = data.draw(tensors(shape, FLOATS[:1])), data.draw(tensors(smaller, FLOATS[:1]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    index = rng.integers(0, max(shape[dim], 1), smaller)
    one = index.reshape(-1)[:3]
    i = lambda t: t.from_numpy(index.copy())
    line = lambda t: t.from_numpy(one.copy())
    check(lambda t, x: t.gather(x, dim, i(t)), x)
    check(lambda t, x: t.take_along_dim(x, i(t), dim), x)
    check(lambda t, x: t.index_select(x, dim, line(t)), x)
    check(lambda t, x, s: t.scatter_add(x, dim, i(t), s), x, source)
    reduce = data.draw(st.sampled_from(["sum", "prod", "mean", "amax", "amin"]), "reduce")
    include_self = data.draw(st.booleans(), "include_self")
    check(lambda t, x, s: t.scatter_reduce(x, dim, i(t), s * 1.25, reduce, include_self=include_self), x, source)


# Products -------------------------------------------------------------------------------------------------


@hypothesis.given(st.data(), lengths, lengths, lengths)
def test_matmul(data: Any, n: int, k: int, m: int) -> None:
    batch = data.draw(st.lists(lengths, max_size=2).map(tuple), "batch")
    part = lambda: tuple(data.draw(st.sampled_from([b, 1])) for b in batch)[data.draw(st.integers(0, len(batch))) :]
    one = data.draw(st.sampled_from([(k,), (n, k), (*part(), n, k)]), "one")
    other = data.draw(st.sampled_from([(k,), (k, m), (*part(), k, m)]), "other")
    dtypes = data.draw(st.sampled_from([["float64"], ["float32"], ["int64"], ["complex128"]]), "dtype")
    check(lambda t, x, y: x @ y, data.draw(tensors(one, dtypes)), data.draw(tensors(other, dtypes)))


EINSUMS = "ij,jk->ik ij,ij-> bij,bjk->bik ...i,...j->...ij ii->i ij->j i,j,k->ijk ab,bc,cd->ad ij,j"


@hypothesis.given(st.data(), st.sampled_from(EINSUMS.split()))
def test_einsum(data: Any, text: str) -> None:
    length = {c: data.draw(lengths, c) for c in "abcdijk"}
    more = data.draw(st.lists(lengths, max_size=2).map(tuple), "...")
    operands = []
    for part in text.split("->", maxsplit=1)[0].split(","):
        shape = (*more, *(length[c] for c in part[3:])) if part.startswith("...") else tuple(length[c] for c in part)
        operands.append(data.draw(tensors(shape, FLOATS[:1])))
    check(lambda t, *xs: t.einsum(text, *xs), *operands)


# Layers ---------------------------------------------------------------------------------------------------


@hypothesis.given(st.data(), st.integers(1, 2), st.booleans())
def test_convolutions(data: Any, dims: int, transposed: bool) -> None:
    groups = data.draw(st.integers(1, 2), "groups")
    channels, out = groups * data.draw(st.integers(1, 2)), groups * data.draw(st.integers(1, 2))
    size = tuple(data.draw(st.integers(1, 6)) for _ in range(dims))
    kernel = tuple(data.draw(st.integers(1, 3)) for _ in range(dims))
    limits = {"stride": 1, "padding": 0, "dilation": 1}
    options = {name: data.draw(st.integers(low, 2), name) for name, low in limits.items()}
    weight = (channels, out // groups, *kernel) if transposed else (out, channels // groups, *kernel)
    batch = data.draw(st.integers(int(transposed), 2), "batch")
    x, w = data.draw(tensors((batch, channels, *size), FLOATS[:1])), data.draw(tensors(weight, FLOATS[:1]))
    name = f"conv_transpose{dims}d" if transposed else f"conv{dims}d"
    check(lambda t, x, w: getattr(t.nn.functional, name)(x, w, groups=groups, **options), x, w)


POOLS = "max_pool2d avg_pool2d lp_pool2d adaptive_avg_pool2d adaptive_max_pool2d"


@hypothesis.given(st.data(), st.sampled_from(POOLS.split()))
def test_pooling(data: Any, name: str) -> None:
    shape = (data.draw(lengths), 2, data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6)))
    x, pair = (
        data.draw(tensors(shape[data.draw(st.integers(0, 1)) :], FLOATS[:1])),
        st.tuples(st.integers(1, 3), st.integers(1, 3)),
    )
    arguments: list[Any] = [data.draw(pair)]
    if name == "lp_pool2d":
        arguments.insert(0, 2)
    kwargs: dict[str, Any] = {}
    if "adaptive" not in name:
        kwargs = {"stride": data.draw(pair, "stride"), "ceil_mode": data.draw(st.booleans(), "ceil_mode")}
        if name != "lp_pool2d":
            kwargs["padding"] = data.draw(st.integers(0, 1), "padding")
    check(lambda t, x: getattr(t.nn.functional, name)(x, *arguments, **kwargs), x)


@hypothesis.given(st.data(), st.sampled_from(["constant", "reflect", "replicate", "circular"]))
def test_pad(data: Any, mode: str) -> None:
    x = data.draw(tensors(st.lists(st.integers(0, 4), min_size=2, max_size=4).map(tuple), FLOATS[:1]))
    amounts = data.draw(st.lists(st.integers(-2, 3), max_size=6), "amounts")
    # PyTorch's gradient is wrong if the rest of an axis wraps around more than once.
    hypothesis.assume(not (mode == "circular" and min(amounts, default=0) < 0))
    # If nothing is left, PyTorch returns uninitialised memory.
    shape = x.view(x.leaf(torch)).shape
    left = [n + a + b for n, a, b in zip(reversed(shape), amounts[::2], amounts[1::2], strict=False)]
    hypothesis.assume(mode == "constant" or all(left))
    check(lambda t, x: t.nn.functional.pad(x, amounts, mode=mode), x)
