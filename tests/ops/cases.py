"""Test cases of the gradient rules: one line per op, or a few. ``test_rules.py`` runs the tests.

    case("tanh", lambda t, x: t.tanh(x), (3, 4), extreme=True)

``t`` is minigrad, then torch. An input is a shape (normal numbers), ``between(low, high, *shape)`` or a NumPy
array (of ints or bools: without a gradient). ``theirs`` is the torch version if the names differ. ``find``
returns the cases of an op; ``test_rules.py`` fails if an op with a gradient has none.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.compat.ops import decompositions, special
from minigrad.ops import (
    activation as activations,
    attention,
    convolution,
    elementwise,
    indexing,
    joining,
    linear,
    loss,
    normalization,
    recurrent,
    shape,
)

Input = Any
Function = Callable[..., Any]


@dataclass(frozen=True)
class Between:
    """Uniform numbers in a shape."""

    low: float
    high: float
    shape: tuple[int, ...]


def between(low: float, high: float, *shape: int) -> Between:
    return Between(low, high, shape)


@dataclass(frozen=True)
class Case:
    """One use of one op.

    Attributes:
        op: its name in the registry.
        ours, theirs: the same function, called with the library (minigrad, torch) and the inputs.
        inputs: see the module's docstring.
        second: whether its second order is also compared (with torch, and by differences).
        numeric: whether finite differences match its gradient (not at a kink or a step).
        extreme: whether to try very large, tiny, infinite and NaN elements.
        float32: how far it may be from float64, relative to the largest element.
    """

    op: str
    ours: Function
    theirs: Function
    inputs: tuple[Input, ...]
    second: bool = True
    numeric: bool = True
    extreme: bool = False
    float32: float = 1e-5

    def __str__(self) -> str:
        return f"{self.op}-{'-'.join(_dimensions(i) for i in self.inputs)}"

    def arrays(self, seed: int = 0) -> list[Any]:
        """The inputs as NumPy arrays, floats in float64."""
        rng = np.random.default_rng(seed)
        return [_array(i, rng) for i in self.inputs]


def _dimensions(spec: Input) -> str:
    shape = spec if isinstance(spec, tuple) else spec.shape
    return "x".join(map(str, shape)) or "scalar"


def _array(spec: Input, rng: np.random.Generator) -> Any:
    if isinstance(spec, Between):
        return np.asarray(rng.uniform(spec.low, spec.high, spec.shape))
    return np.asarray(rng.standard_normal(spec)) if isinstance(spec, tuple) else spec


CASES: list[Case] = []
_own: Function  # for the library, and for PyTorch, if one line is too short for both
_torch: Function


def case(op: str, ours: Function, *inputs: Input, theirs: Function | None = None, **options: Any) -> None:
    """Add a case."""
    CASES.append(Case(op, ours, theirs or ours, inputs, **options))


def find(op: str) -> list[Case]:
    """The cases of an op."""
    return [c for c in CASES if c.op == op]


# Elementwise: one operand ----------------------------------------------------------------------------------

for _name in ("neg", "square", "exp", "expm1", "sin", "cos", "atan", "tanh", "erf", "sigmoid", "exp2", "abs", "relu"):
    case(_name, lambda t, x, f=_name: getattr(t, f)(x), (3, 4), extreme=True)
for _name in ("sqrt", "rsqrt", "reciprocal", "log", "log2", "log10", "log1p"):
    case(_name, lambda t, x, f=_name: getattr(t, f)(x), between(0.3, 3, 2, 3), extreme=True)
for _name in ("sign", "floor", "ceil", "round", "trunc"):  # torch's sign hides a NaN, ours does not
    case(_name, lambda t, x, f=_name: getattr(t, f)(x), (3, 4), second=False, extreme=_name != "sign")
case("tan", lambda t, x: t.tan(x), between(-1, 1, 2, 3))
case("round", lambda t, x: t.round(x, decimals=2), (3, 4), second=False, numeric=False)
case("clone", lambda t, x: x.clone(), (2, 3))
case("cast", lambda t, x: x.to(t.float32).to(t.float64) * x, (2, 3), second=False, numeric=False)
case("moved", lambda t, x: x.to("cpu").to(x.device) * 2, (2, 3))
case("nan_to_num", lambda t, x: t.nan_to_num(x, 1.0, 2.0, 3.0), (2, 3), extreme=True)
case("silu", lambda t, x: elementwise.silu(x), (3, 4), theirs=lambda t, x: t.nn.functional.silu(x), extreme=True)
_own = lambda t, x: elementwise.softplus(x, 2.0, 3.0)
case("softplus", _own, between(-3, 3, 3, 4), theirs=lambda t, x: t.nn.functional.softplus(x, 2.0, 3.0))
_own = lambda t, x: elementwise.logsigmoid(x)
case("logsigmoid", _own, (3, 4), theirs=lambda t, x: t.nn.functional.logsigmoid(x), extreme=True)
case("elu", lambda t, x: elementwise.elu(x, 0.7), (3, 4), theirs=lambda t, x: t.nn.functional.elu(x, 0.7))
_own = lambda t, x: elementwise.leaky_relu(x, 0.2)
case("leaky_relu", _own, (3, 4), theirs=lambda t, x: t.nn.functional.leaky_relu(x, 0.2))
for _form in ("none", "tanh"):
    _own = lambda t, x, f=_form: activations.gelu(x, f)
    case("gelu", _own, (3, 4), theirs=lambda t, x, f=_form: t.nn.functional.gelu(x, approximate=f))
case("clamp", lambda t, x: t.clamp(x, -0.5, 0.7), (3, 4), extreme=True)
case("clamp", lambda t, x: t.clamp(x, max=0.0), (3, 4))
case("clamp", lambda t, x: x.clamp(min=0.1), (5,))
case("clamp", lambda t, x, low, high: t.clamp(x, low, high), (3, 4), between(-1, 0, 4), between(0.2, 1, 3, 1))
case("clamp", lambda t, x, high: x.clamp(max=high), (3, 4), (3, 4))

# Elementwise: several operands, which broadcast ------------------------------------------------------------

_PAIRS = [((2, 3), (2, 3)), ((3,), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((1,), (2, 3)), ((), (2, 3))]
_PAIRS += [((2, 3), ()), ((2, 2, 3), (2, 3)), ((3, 1, 1), (1, 2)), ((1, 1, 1), (2,)), ((1, 3), (1, 1))]
for _a, _b in _PAIRS[1::2]:
    case("add", lambda t, a, b: a + b, _a, _b)
for _a, _b in _PAIRS[::2]:
    for _name in ("add", "sub", "mul", "maximum", "minimum"):
        case(_name, lambda t, a, b, f=_name: getattr(t, f)(a, b), _a, _b, extreme=_a == _b)
    case("div", lambda t, a, b: a / b, _a, between(0.5, 2, *_b), extreme=_a == _b)
    case("pow", lambda t, a, b: a**b, between(0.5, 2, *_a), _b)
    case("atan2", lambda t, a, b: t.atan2(a, b), between(0.5, 2, *_a), _b)
    case("lerp", lambda t, a, b: t.lerp(a, b, 0.3), _a, _b)
case("remainder", lambda t, a, b: t.remainder(a, b), between(1.1, 1.9, 2, 3), between(0.55, 0.9, 3))
case("remainder", lambda t, a, b: a % b, between(-1.9, -1.1, 2, 3), between(0.55, 0.9, 2, 1))
case("copysign", lambda t, a, b: t.copysign(a, b), between(0.5, 2, 2, 3), between(-2, -0.5, 3))
case("nextafter", lambda t, a, b: t.nextafter(a, b), (2, 3), between(3, 4, 3))
case("level", lambda t, a, b: t.div(a, b, rounding_mode="floor"), between(1.1, 1.3, 2, 3), between(0.55, 0.6, 3))
case("level", lambda t, a, b: elementwise.level(a, b), (2, 3), (3,), theirs=lambda t, a, b: a + 0 * b)
case("fmod", lambda t, a, b: t.fmod(a, b), between(-1.9, -1.1, 2, 3), between(0.55, 0.9, 3))
case("pow", lambda t, a: a**2, (3, 4), extreme=True)
case("pow", lambda t, a: a**3, (3, 4), extreme=True)
case("pow", lambda t, a: a**-1.5, between(0.5, 2, 3))
case("pow", lambda t, a: a**0, (3,))
case("pow", lambda t, a: a**1, (3,))
case("pow", lambda t, b: 2**b, (3,))
case("times", lambda t, a, b: elementwise.times(a, b), (2, 3), (2, 3), theirs=lambda t, a, b: a * b)
case("lerp", lambda t, a, b, w: t.lerp(a, b, w), (2, 3), (2, 3), (2, 3))
case("lerp", lambda t, a, b, w: t.lerp(a, b, w), (3,), (2, 1), (1, 3))
case("addcmul", lambda t, a, b, c: t.addcmul(a, b, c), (2, 3), (2, 3), (3,))
case("addcmul", lambda t, a, b, c: t.addcmul(a, b, c, value=-0.3), (3,), (2, 1), (2, 3))
case("addcdiv", lambda t, a, b, c: t.addcdiv(a, b, c), (2, 3), (2, 3), between(0.5, 2, 3))
case("addcdiv", lambda t, a, b, c: t.addcdiv(a, b, c, value=-0.3), (3,), (2, 1), between(0.5, 2, 2, 3))
_MASK = np.array([[True, False, True], [False, False, True]])
case("where", lambda t, m, a, b: t.where(m, a, b), _MASK, (2, 3), (2, 3))
case("where", lambda t, m, a, b: t.where(m, a, b), _MASK, (3,), (2, 1))
case("where", lambda t, m, a, b: t.where(m, a, b), _MASK[:1], (4, 2, 1), ())
case("where", lambda t, m, a: t.where(m, a, -1.5), _MASK, (2, 3))
case("only", lambda t, x, m: elementwise.only(x, m), (2, 3), _MASK, theirs=lambda t, x, m: x * m)
case("only", lambda t, x, m: elementwise.only(x, m), (3,), _MASK, theirs=lambda t, x, m: x * m)
case("masked_fill", lambda t, x, m: x.masked_fill(m, -2.5), (2, 3), _MASK)
case("masked_fill", lambda t, x, m: x.masked_fill(m, float("-inf")), (4, 2, 3), _MASK, numeric=False)
case("masked_fill", lambda t, x, m: x.masked_fill(m, 0), (3,), _MASK)
case(
    "dropout", lambda t, x, m: activations.dropout(x, m.array, 1.25), (2, 3), _MASK, theirs=lambda t, x, m: x * m * 1.25
)
_own = lambda t, x, m: activations.relu_dropout(x, m.array, 1.25)
case("relu_dropout", _own, (2, 3), _MASK, theirs=lambda t, x, m: t.relu(x) * m * 1.25)

# Shapes ----------------------------------------------------------------------------------------------------

case("reshape", lambda t, x: x.reshape(3, -1), (2, 6))
case("reshape", lambda t, x: x.reshape(()), (1, 1))
case("reshape", lambda t, x: x.mT.reshape(6), (2, 3))
case("reshape", lambda t, x: x.flatten(1), (2, 3, 2))
case("permute", lambda t, x: x.permute(2, 0, 1), (2, 3, 4))
case("transpose", lambda t, x: x.transpose(-1, 0), (2, 3, 2))
case("transpose", lambda t, x: x.t(), (2, 3))
case("unsqueeze", lambda t, x: x.unsqueeze(-1), (2, 3))
case("squeeze", lambda t, x: x.squeeze(), (1, 2, 1, 3))
case("squeeze", lambda t, x: x.squeeze(0), (1, 2, 1))
case("broadcast_to", lambda t, x: x.expand(2, -1, 3), (2, 1))
case("broadcast_to", lambda t, x: x.expand(4, 3), ())
case("diagonal", lambda t, x: t.diagonal(x), (3, 4))
case("diagonal", lambda t, x: t.diagonal(x, 1, 2, 0), (3, 2, 4))
case("diagonal", lambda t, x: t.diagonal(x, -2), (4, 3))
_own = lambda t, x: shape.diagonal_scatter(x, (2, 3, 3), -1, 1, 2)
case("diagonal_scatter", _own, (2, 2), theirs=lambda t, x: t.diag_embed(x, -1, 1, 2))
case("flip", lambda t, x: x.flip(0, -1), (2, 3, 2))
case("flip", lambda t, x: t.flip(x, (1,)), (2, 3))
case("roll", lambda t, x: t.roll(x, 1, 1), (2, 3))
case("roll", lambda t, x: t.roll(x, (1, -2), (0, 1)), (3, 4))
case("roll", lambda t, x: t.roll(x, 2), (2, 3))
case("repeat", lambda t, x: x.repeat(2, 3), (2, 3))
case("repeat", lambda t, x: x.repeat(2, 1, 3), (3,))
case("concatenate", lambda t, a, b: t.cat([a, b]), (2, 3), (1, 3))
case("concatenate", lambda t, a, b, c: t.cat((a, b, c), dim=-1), (2, 3), (2, 1), (2, 2))
case("concatenate", lambda t, a: t.cat([a, a, a * 2], 1), (2, 3))
case("stack", lambda t, a, b: t.stack([a, b]), (2, 3), (2, 3))
case("stack", lambda t, a, b: t.stack((a, b, a), dim=-1), (3,), (3,))
_own = lambda t, x: joining.pad(x, ((1, 0), (2, 1)), 0.5)
case("pad", _own, (2, 3), theirs=lambda t, x: t.nn.functional.pad(x, (2, 1, 1, 0), value=0.5))
case("split", lambda t, x: x.split(2, dim=1), (2, 5))
case("split", lambda t, x: x.split([1, 3], 0)[1], (4, 2))
case("split", lambda t, x: x.chunk(2, dim=-1)[0] * x.chunk(2, dim=-1)[1], (2, 4))
case("unbind", lambda t, x: x.unbind(1), (2, 3))
case("unbind", lambda t, x: x.unbind()[1] * 2, (3,))
case("tril", lambda t, x: x.tril(), (3, 4))
case("tril", lambda t, x: t.tril(x, -1), (2, 3, 3))
case("triu", lambda t, x: t.triu(x, diagonal=1), (3, 3))
case("repeat_interleave", lambda t, x: x.repeat_interleave(3, dim=1), (2, 2))
case("repeat_interleave", lambda t, x: t.repeat_interleave(x, 2), (2, 2))
case("repeat_interleave", lambda t, x, n: t.repeat_interleave(x, n, dim=0), (3, 2), np.array([0, 2, 1]))

# Reductions ------------------------------------------------------------------------------------------------

for _dim in (None, 0, -1, (0, 2), (1,)):
    for _name in ("sum", "mean", "amax", "amin"):
        _own = lambda t, x, d=_dim, f=_name: getattr(t, f)(x, dim=() if d is None and f[0] == "a" else d)
        case(_name, _own, (2, 3, 2))
        case(_name, lambda t, x, d=_dim or (0, 1), f=_name: getattr(t, f)(x, dim=d, keepdim=True), (2, 3, 2))
    for _name in ("var", "std"):
        case(_name, lambda t, x, d=_dim, f=_name: getattr(t, f)(x, dim=d), (2, 3, 2))
    case("logsumexp", lambda t, x, d=_dim: t.logsumexp(x, (0, 1, 2) if d is None else d), (2, 3, 2))
case("sum", lambda t, x: x.sum(), ())
case("sum", lambda t, x: x.sum(0), (70, 64), second=False, numeric=False)  # long enough for the BLAS form
case("sum", lambda t, x: x.sum((0, 1), keepdim=True), (8, 9, 64), second=False, numeric=False)
case("mean", lambda t, x: x.mean(), ())
case("var", lambda t, x: t.var(x, 1, unbiased=False), (2, 3))
case("var", lambda t, x: x.var(correction=0, dim=0, keepdim=True), (3, 2))
case("std", lambda t, x: x.std(dim=-1, keepdim=True, unbiased=False), (2, 3))
case("logsumexp", lambda t, x: t.logsumexp(x, dim=-1, keepdim=True), (2, 3))
for _p in (0.5, 1.5, 2, 3, -1):
    case("norm", lambda t, x, p=_p: t.linalg.vector_norm(x, p, 1), (2, 3))
case("norm", lambda t, x: x.norm(), (2, 3))
case("prod", lambda t, x: t.prod(x), (2, 3))
case("prod", lambda t, x: x.prod(1), (2, 3))
case("prod", lambda t, x: x.prod(dim=0, keepdim=True), (3, 2))
case("prod", lambda t, x, z: t.prod(x * z, 1), (3, 3), np.array([[1.0, 0, 1], [0, 0, 1], [1, 1, 1]]))
case("cumsum", lambda t, x: t.cumsum(x, 0), (3, 2))
case("cumsum", lambda t, x: x.cumsum(dim=-1), (2, 3))
case("cumprod", lambda t, x: t.cumprod(x, 1), (2, 3))
case("cumprod", lambda t, x, z: t.cumprod(x * z, dim=0), (4,), np.array([1.0, 0, 1, 0]), second=False)

# Products --------------------------------------------------------------------------------------------------

_FACTORS = [((2, 3), (3, 4)), ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 2, 3), (3, 4)), ((2, 3), (2, 3, 4))]
_FACTORS += [((2, 2, 3), (2, 3, 2)), ((2, 1, 2, 3), (3, 3, 2)), ((3,), (2, 3, 2)), ((2, 2, 3), (3,))]
for _a, _b in [*_FACTORS, ((2, 1, 2, 3), (1, 3, 3, 1)), ((1, 2, 3), (2, 3, 1))]:
    case("matmul", lambda t, a, b: t.matmul(a, b), _a, _b)
case("matmul", lambda t, a: a @ a, (3, 3))
case("matmul", lambda t, a: a @ a, (3,))
case("matmul", lambda t, a: a.mT @ a, (2, 3, 2))
case("outer", lambda t, a, b: t.outer(a, b), (2,), (3,))
_linear = lambda t, *args: t.nn.functional.linear(*args)
case("linear", lambda t, *a: linear.linear(*a), (2, 3), (4, 3), (4,), theirs=_linear)
case("linear", lambda t, x, w: linear.linear(x, w), (2, 2, 3), (4, 3), theirs=_linear)
case("linear", lambda t, *a: linear.linear(*a), (3,), (2, 3), (2,), theirs=_linear)
_bytes = np.random.default_rng(0).integers(-127, 128, (3, 16)).astype(np.int8), np.array([0.01, 0.02, 0.005])
_own = lambda t, x, b, w, s: linear.narrow_linear(x, w, s, b)
_torch = lambda t, x, b, w, s: t.nn.functional.linear(x, w.to(x.dtype) * s[:, None], b)
case("narrow_linear", _own, (2, 2, 16), (3,), *_bytes, theirs=_torch)
case(
    "narrow_linear",
    lambda t, x, w, s: linear.narrow_linear(x, w, s),
    (16,),
    *_bytes,
    theirs=lambda t, x, w, s: (w * s[:, None]) @ x,
)
for _equation, *_shapes in [
    ("ij,jk->ik", (2, 3), (3, 2)),
    ("bhid,bhjd->bhij", (2, 1, 2, 3), (2, 1, 3, 3)),
    ("i,i->", (3,), (3,)),
    ("i,j->ij", (2,), (3,)),
    ("ij,kj->", (2, 3), (2, 3)),
    ("bij,ij->b", (2, 2, 3), (2, 3)),
    ("ii->i", (3, 3)),
    ("ij->ji", (2, 3)),
    ("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
    ("...ij,...jk->...ik", (2, 1, 2, 3), (3, 3, 2)),
    ("ij,jk", (2, 3), (3, 2)),
    ("ij,jk,kl->il", (2, 3), (3, 2), (2, 2)),
    ("ijk,ij->k", (2, 3, 2), (2, 3)),
    ("ij,ij->ij", (2, 3), (2, 3)),
]:
    case("einsum_pair", lambda t, *a, e=_equation: t.einsum(e, *a), *_shapes)

# Indexing --------------------------------------------------------------------------------------------------

_I, _J = np.array([0, 2, 2, -1]), np.array([1, 0, 1, 1])
_KEYS: list[Any] = [1, -1, slice(None, None, 2), (slice(None), 1), (0, slice(1, None)), (Ellipsis, 0), (None, 1)]
_KEYS.append((slice(1, 2), None))
for _key in _KEYS:
    case("getitem", lambda t, x, k=_key: x[k], (3, 2, 2))
case("getitem", lambda t, x, i: x[i], (3, 2), _I)
case("getitem", lambda t, x, i: x[i], (3,), _I)
case("getitem", lambda t, x, i: x[:, i], (2, 3), _I)
case("getitem", lambda t, x, i, j: x[i, j], (3, 2), _I, _J)
case("getitem", lambda t, x, i, j: x[i, :, j], (3, 2, 2), _I, _J)
case("getitem", lambda t, x, i: x[0, i], (2, 3), _I)
case("getitem", lambda t, x: x[:, [0, 0, 1]], (3, 2))
case("getitem", lambda t, x, m: x[m], (2, 3), _MASK)
case("getitem", lambda t, x, m: x[m], (2, 3, 2), _MASK)
case("getitem", lambda t, x, m: t.masked_select(x, m), (2, 3), _MASK)
case("getitem", lambda t, x: x.narrow(1, 1, 2), (2, 3))
case("getitem", lambda t, x: x.select(-1, 1), (2, 3))
_torch = lambda t, x, i: t.zeros(3, 2, dtype=x.dtype).index_put((i,), x, accumulate=True)
case("put_back", lambda t, x, i: indexing.put_back(x, (3, 2), (i.array,)), (4, 2), _I, theirs=_torch)
_own = lambda t, x: indexing.put_back(x, (3, 2), (slice(1, 2),))
case("put_back", _own, (1, 2), theirs=lambda t, x: t.nn.functional.pad(x, (0, 0, 1, 1)))
_torch = lambda t, x, i: t.zeros(3, 2, dtype=x.dtype).index_put((i,), x, accumulate=True)
case("scatter_add_rows", lambda t, x, i: indexing.scatter_add_rows(x, i % 3, 3), (4, 2), _I, theirs=_torch)
_own = lambda t, x, v: indexing.put(x, v, (slice(None), 1))
case("put", _own, (2, 3), (2,), theirs=lambda t, x, v: t.select_scatter(x, v, 1, 1))
_own = lambda t, x: indexing.put(x, 1.5, (0,))
case("put", _own, (2, 3), theirs=lambda t, x: t.cat([t.full((1, 3), 1.5, dtype=x.dtype), x[1:]]))
_own = lambda t, x, v, i: t.index_copy(x, 0, i, v) if hasattr(t, "index_copy") else x.index_copy(0, i, v)
case("put", _own, (3, 2), (2, 2), np.array([2, 0]), theirs=lambda t, x, v, i: x.index_copy(0, i, v))
_own = lambda t, x, v: indexing.assign_view(x, v, shape.transpose, (0, 1), 0)
case("assign_view", _own, (2, 3), (3, 2), theirs=lambda t, x, v: x * 0 + v.t())
_own = lambda t, x, v: indexing.assign_view(x, v, joining.unbind, (1,), 2)
case("assign_view", _own, (2, 3), (2,), theirs=lambda t, x, v: t.select_scatter(x, v, 1, 2))
_AT = np.array([[0, 1, 1], [2, 0, 1]])
case("gather", lambda t, x, i: t.gather(x, 0, i), (3, 3), _AT)
case("gather", lambda t, x, i: x.gather(dim=-1, index=i), (2, 3), _AT)
case("scatter", lambda t, x, i, v: t.scatter(x, 1, i, v), (2, 4), np.array([[0, 3], [2, 1]]), (2, 2))
_torch = lambda t, x, i, v: t.scatter(x, 0, i, v[:2, :2])  # which has no gradient for a larger src
case("scatter", lambda t, x, i, v: t.scatter(x, 0, i, v), (3, 4), _AT[:, :2], (3, 3), theirs=_torch)
case("scatter", lambda t, x, i: x.scatter(0, i, 1.5), (3, 3), _AT)
case("scatter_add", lambda t, x, i, v: t.scatter_add(x, 0, i, v), (3, 3), _AT, (2, 3))
_own = lambda t, x, i, v: x.scatter_add(1, i, v)
case("scatter_add", _own, (3, 3), _AT, (3, 4), theirs=lambda t, x, i, v: x.scatter_add(1, i, v[:2, :3]))
for _reduce in ("amax", "amin", "prod"):
    _op = "scatter_prod" if _reduce == "prod" else "scatter_extreme"
    case(_op, lambda t, x, i, v, how=_reduce: t.scatter_reduce(x, 0, i, v, how), (3, 3), _AT, (2, 3))
    _own = lambda t, x, i, v, how=_reduce: x.scatter_reduce(1, i, v, how, include_self=False)
    case(_op, _own, (2, 3), np.array([[0, 0, 2, 0, 2], [1, 1, 1, 1, 1]]), (2, 5))
case("index_select", lambda t, x, i: t.index_select(x, 1, i), (2, 3), np.array([0, 2, 2]))
case("index_add", lambda t, x, i, v: t.index_add(x, 0, i, v), (3, 2), np.array([0, 2, 2]), (3, 2))
case("index_add", lambda t, x, i, v: x.index_add(1, i, v, alpha=2), (2, 3), np.array([1, 1]), (2, 2))
_own = lambda t, w, i: indexing.embedding(w, i)
case("embedding", _own, (4, 3), _AT, theirs=lambda t, w, i: t.nn.functional.embedding(i, w))
_torch = lambda t, w, i: t.nn.functional.embedding(i, w, padding_idx=1)
case("embedding", lambda t, w, i: indexing.embedding(w, i, 1), (4, 3), _AT, numeric=False, theirs=_torch)
case("sort", lambda t, x: t.sort(x, dim=0), (4, 3))
case("sort", lambda t, x: x.sort(descending=True)[0], (3, 4))
case("topk", lambda t, x: t.topk(x, 2), (3, 5))
case("topk", lambda t, x: x.topk(3, dim=0, largest=False), (4, 2))
case("topk", lambda t, x: x.topk(2, dim=-1), (2, 40), numeric=False)
case("gather", lambda t, x: x.max(dim=1)[0], (3, 4))
case("gather", lambda t, x: x.min(0, keepdim=True).values, (3, 4))

# The rest of PyTorch's names: one line per op ---------------------------------------------------------------

for _name in ("sinh", "cosh", "asinh", "erfc"):
    case(_name, lambda t, x, f=_name: getattr(t, f)(x), (3, 4), extreme=_name == "asinh")
for _name in ("asin", "acos", "atanh", "erfinv"):
    case(_name, lambda t, x, f=_name: getattr(t, f)(x), between(-0.8, 0.8, 2, 3))
case("acosh", lambda t, x: t.acosh(x), between(1.2, 3, 2, 3))
case("one_minus_square", lambda t, x: elementwise.one_minus_square(x), (2, 3), theirs=lambda t, x: 1 - x * x)
case("tanh_grad", lambda t, x: elementwise.tanh_grad(x), (3, 4), theirs=lambda t, x: 1 / t.cosh(x) ** 2)
case("logit", lambda t, x: t.logit(x), between(0.1, 0.9, 2, 3))
case("ndtri", lambda t, x: t.special.ndtri(x), between(0.1, 0.9, 2, 3))
for _a, _b in _PAIRS[:4]:
    for _name in ("hypot", "logaddexp"):
        case(_name, lambda t, a, b, f=_name: getattr(t, f)(a, b), _a, _b)
case("logcumsumexp", lambda t, x: t.logcumsumexp(x, 1), (2, 5))
case("logcumsumexp", lambda t, x: x.logcumsumexp(dim=0), (3, 2))
case("unfold", lambda t, x: x.unfold(1, 3, 2), (2, 7, 2))
case("unfold", lambda t, x: x.unfold(-1, 2, 1), (2, 4))
case("as_strided", lambda t, x: t.as_strided(x.contiguous(), (2, 3), (1, 2), 1), (3, 4))
case("inverse", lambda t, x: t.linalg.inv(x + 3 * t.eye(3).to(x)), (2, 3, 3))
case("det", lambda t, x: t.linalg.det(x + 2 * t.eye(3).to(x)), (2, 3, 3))
case("slogdet", lambda t, x: t.slogdet(x + 2 * t.eye(3).to(x))[1], (3, 3))
_torch = lambda t, x: t.stack([t.linalg.cross(x[:, i - 2], x[:, i - 1]) for i in range(3)], -1)
case("adjugate", lambda t, x: decompositions.adjugate(x), (2, 3, 3), theirs=_torch)
case("solve", lambda t, a, b: t.linalg.solve(a + 3 * t.eye(3).to(a), b), (3, 3), (3, 2))
case("cholesky", lambda t, x: t.linalg.cholesky(x @ x.mT + t.eye(3).to(x)), (2, 3, 3))
for _upper in (False, True):
    _own = lambda t, a, b, u=_upper: t.cholesky_solve(b, (a.triu() if u else a.tril()) + 3 * t.eye(3).to(a), u)
    case("cholesky_solve", _own, (2, 3, 3), (3, 2))
for _upper in (False, True):
    _own = lambda t, a, b, u=_upper: t.linalg.solve_triangular(a + 3 * t.eye(3).to(a), b, upper=u)
    case("solve_triangular", _own, (2, 3, 3), (3, 2))
    _own = lambda t, a, b, u=_upper: t.linalg.solve_triangular(a, b, upper=u, left=False, unitriangular=True)
    case("solve_triangular", _own, (5, 5), (2, 2, 5))
for _shape in ((3, 3), (2, 4, 3), (3, 5)):  # the signs of the vectors are arbitrary
    case("svd", lambda t, x: [y.abs() for y in t.linalg.svd(x, full_matrices=False)], _shape, float32=1e-3)
    case("svd", lambda t, x: [y.abs() for y in t.svd(x, some=True)][1:], _shape, float32=1e-3)
    case("svd", lambda t, x: t.linalg.svdvals(x), _shape, float32=1e-4)
    case("qr", lambda t, x: tuple(t.linalg.qr(x)), _shape, float32=1e-3)
    case("pinv", lambda t, x: t.linalg.pinv(x), _shape, float32=1e-3)
    case("lu_factor", lambda t, x: t.linalg.lu_factor(x + t.eye(*x.shape[-2:]).to(x))[0], _shape, float32=1e-3)
case("pinv", lambda t, a, b: t.linalg.pinv(a @ b, rtol=1e-5), (4, 2), (2, 3), float32=1e-3)
case("pinv", lambda t, x: t.linalg.pinv(x + x.mT, hermitian=True), (3, 3), float32=1e-3)
case("eigh", lambda t, x: [y.abs() for y in t.linalg.eigh(x + x.mT)], (2, 3, 3), float32=1e-3)
case("eigh", lambda t, x: t.linalg.eigvalsh(x + x.mT, "U"), (3, 3), float32=1e-4)
case("matrix_exp", lambda t, x: t.matrix_exp(x), (2, 3, 3))
case("pinv", lambda t, a, b: t.linalg.lstsq(a, b).solution, (4, 3), (4, 2), float32=1e-3)
case("pinv", lambda t, a, b: t.linalg.lstsq(a, b, driver="gelsd").solution, (2, 3, 4), (2, 3), float32=1e-3)
_own = lambda t, x, b: t.linalg.ldl_solve(*t.linalg.ldl_factor((x + x.mT).detach()), b)
_torch = lambda t, x, b: t.linalg.solve(x + x.mT, b)  # its ldl_solve has no gradient
case("ldl_solve", _own, np.random.default_rng(0).standard_normal((2, 4, 4)), (2, 4, 3), theirs=_torch)
case("eig", lambda t, x: t.linalg.eig(x)[1].abs(), (3, 3), second=False, float32=1e-3)

# Fused ops -------------------------------------------------------------------------------------------------

for _dim in (0, 1, -1):
    case("softmax", lambda t, x, d=_dim: t.softmax(x, dim=d), (2, 3, 4))
    case("log_softmax", lambda t, x, d=_dim: x.log_softmax(d), (2, 3, 4))
_own = lambda t, x, w, b: normalization.layer_norm(x, w, b, 1e-5)
case("layer_norm", _own, (2, 3, 4), (4,), (4,), theirs=lambda t, x, w, b: t.nn.functional.layer_norm(x, (4,), w, b))
_own = lambda t, x: normalization.layer_norm(x, None, None, 1e-5)
case("layer_norm", _own, (3, 5), theirs=lambda t, x: t.nn.functional.layer_norm(x, (5,)))
_own = lambda t, x, w: normalization.layer_norm(x, w, None, 1e-5)
case("layer_norm", _own, (3, 5), (5,), theirs=lambda t, x, w: t.nn.functional.layer_norm(x, (5,), w))
_own = lambda t, x, w, b: normalization.group_norm(x, w, b, 2, 1e-5)
case("group_norm", _own, (3, 4, 5), (4,), (4,), theirs=lambda t, x, w, b: t.nn.functional.group_norm(x, 2, w, b))
_own = lambda t, x: normalization.group_norm(x, None, None, 3, 1e-5)
case("group_norm", _own, (2, 6, 2, 2), theirs=lambda t, x: t.nn.functional.group_norm(x, 3))
_own = lambda t, x, w: normalization.rms_norm(x, w, 1e-6)
case("rms_norm", _own, (2, 3, 4), (4,), theirs=lambda t, x, w: t.nn.functional.rms_norm(x, (4,), w, 1e-6))
_own = lambda t, x: normalization.rms_norm(x, None, 1e-6)
case("rms_norm", _own, (3, 5), theirs=lambda t, x: t.nn.functional.rms_norm(x, (5,), None, 1e-6))
_ANGLES = np.arange(3)[:, None] * [1.0, 0.1]
_TURNS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], -1)  # (T, D/2, 2)


def _rotate(t: Any, x: Any, turns: Any, back: bool) -> Any:
    """As complex numbers."""
    phases = t.view_as_complex(turns)
    phases = phases.conj() if back else phases
    return t.view_as_real(t.view_as_complex(x.unflatten(-1, (2, 2))) * phases).flatten(-2)


for _back, _shape in ((False, (2, 3, 4)), (True, (2, 1, 3, 4)), (False, (0, 3, 4))):
    _own = lambda t, x, turns, back=_back: attention.rotate(x, turns, back)
    case("rotate", _own, _shape, _TURNS, theirs=lambda t, x, turns, back=_back: _rotate(t, x, turns, back))
_TARGET = np.array([2, 0, -100, 4])
case("average", lambda t, x: loss.average(x, 5), (4,), theirs=lambda t, x: x.sum() / 5)
for _smooth in (0.0, 0.1):
    _own = lambda t, x, y, s=_smooth: loss.cross_entropy(x, y, None, -100, s)
    _torch = lambda t, x, y, s=_smooth: t.nn.functional.cross_entropy(x, y, reduction="none", label_smoothing=s)
    case("cross_entropy", _own, (4, 5), _TARGET, theirs=_torch)
    _own = lambda t, x, y, w, s=_smooth: loss.cross_entropy(x, y, w, -100, s)
    _torch = lambda t, x, y, w, s=_smooth: t.nn.functional.cross_entropy(x, y, w, reduction="none", label_smoothing=s)
    case("cross_entropy", _own, (4, 5), _TARGET, np.array([0.5, 1, 2, 1, 3]), theirs=_torch)
    for _reduction in ("mean", "sum"):
        _how = {"label_smoothing": _smooth, "reduction": _reduction}
        _own = lambda t, x, w, b, y, s=_smooth, r=_reduction: loss.linear_cross_entropy(x, w, b, y, -100, s, r)
        _torch = lambda t, x, w, b, y, how=_how: t.nn.functional.cross_entropy(x @ w.t() + b, y, **how)
        case("linear_cross_entropy", _own, (4, 3), (5, 3), (5,), _TARGET, theirs=_torch)
_own = lambda t, x, w, y: loss.linear_cross_entropy(x, w, None, y)
_torch = lambda t, x, w, y: t.nn.functional.cross_entropy(x @ w.t(), y)
case("linear_cross_entropy", _own, (4, 3), (5, 3), _TARGET, theirs=_torch)


_sdpa = attention.scaled_dot_product_attention
_QKV: tuple[Input, ...] = ((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 3))
_ALLOWED = np.array([[True, True, False, True, False], [False, True, True, True, True], [True] * 5])
_attend = lambda t, q, k, v, **more: t.nn.functional.scaled_dot_product_attention(q, k, v, **more)
_own = lambda t, q, k, v: _sdpa(q, k, v, None, None, False, 0.5)
case("scaled_dot_product_attention", _own, *_QKV, theirs=lambda t, q, k, v: _attend(t, q, k, v))
_own = lambda t, q, k, v: _sdpa(q, k, v, None, None, True, 0.5)
_torch = lambda t, q, k, v: _attend(t, q, k, v, is_causal=True)
case("scaled_dot_product_attention", _own, (2, 1, 3, 4), (2, 1, 3, 4), (2, 1, 3, 2), theirs=_torch)
_own = lambda t, q, k, v, m: _sdpa(q, k, v, m, None, False, 0.3)
_torch = lambda t, q, k, v, m: _attend(t, q, k, v, attn_mask=m, scale=0.3)
case("scaled_dot_product_attention", _own, *_QKV, _ALLOWED, theirs=_torch)
_own = lambda t, q, k, v, m: _sdpa(q, k, v, m, None, False, 1 / math.sqrt(4))
case("scaled_dot_product_attention", _own, *_QKV, (3, 5), theirs=lambda t, q, k, v, m: _attend(t, q, k, v, attn_mask=m))

# Windows ---------------------------------------------------------------------------------------------------

_ALONG = convolution.Window((3,), (2,), ((2, 2),), (2,))  # F.conv1d(..., stride=2, padding=2, dilation=2)
_OVER = convolution.Window((2, 3), (1, 2), ((0, 0), (1, 1)), (2, 1))
_OVER_AS = {"stride": (1, 2), "padding": (0, 1), "dilation": (2, 1)}
_ONE = convolution.Window((1,), (1,), ((0, 0),), (1,))


def _conv1d(t: Any, x: Any, w: Any, b: Any = None, groups: int = 1) -> Any:
    return t.nn.functional.conv1d(x, w, b, stride=2, padding=2, dilation=2, groups=groups)


def _derivative(t: Any, name: str, y: Any, of: Any, *others: Any, **how: Any) -> Any:
    """In torch: the gradient of a convolution for an input ``of`` zeros; y is the result's gradient."""
    with t.enable_grad():
        zeros = of.requires_grad_()
        out = getattr(t.nn.functional, name)(*(zeros if o is None else o for o in others), **how)
        return t.autograd.grad(out, zeros, y, create_graph=True)[0]


case("convolve", lambda t, *a: convolution.convolve(*a, _ALONG), (2, 3, 7), (4, 3, 3), (4,), theirs=_conv1d)
_own = lambda t, x, w: convolution.convolve(x, w, None, _ALONG, 2)
case("convolve", _own, (1, 4, 6), (2, 2, 3), theirs=lambda t, x, w: _conv1d(t, x, w, groups=2))
_torch = lambda t, *a: t.nn.functional.conv2d(*a, **_OVER_AS, groups=2)
case("convolve", lambda t, *a: convolution.convolve(*a, _OVER, 2), (2, 2, 4, 5), (4, 1, 2, 3), (4,), theirs=_torch)
_own = lambda t, *a: convolution.convolve(*a, _ONE)
case("convolve", _own, (0, 3, 4), (2, 3, 1), (2,), theirs=lambda t, *a: t.nn.functional.conv1d(*a))
_own = lambda t, y, w: convolution.convolve_back(y, w, _ALONG, 1, (6,))
_torch = lambda t, y, w: t.nn.functional.conv_transpose1d(y, w, None, 2, 2, 1, 1, 2)
case("convolve_back", _own, (2, 4, 3), (4, 3, 3), theirs=_torch)
_own = lambda t, y, w: convolution.convolve_back(y, w, _OVER, 2, (4, 5))
_torch = lambda t, y, w: t.nn.functional.conv_transpose2d(y, w, None, (1, 2), (0, 1), 0, 2, (2, 1))
case("convolve_back", _own, (1, 4, 2, 3), (4, 1, 2, 3), theirs=_torch)
case(
    "convolve_weight",
    lambda t, x, y: convolution.convolve_weight(x, y, _ALONG, 2),
    (2, 4, 7),
    (2, 6, 4),
    theirs=lambda t, x, y: _derivative(
        t, "conv1d", y, t.zeros(6, 2, 3, dtype=x.dtype), x, None, stride=2, padding=2, dilation=2, groups=2
    ),
)
case(
    "columns",
    lambda t, x: convolution.columns(x, _OVER),
    (2, 2, 4, 5),
    theirs=lambda t, x: (
        t.nn.functional.unfold(x, (2, 3), (2, 1), (0, 1), (1, 2)).reshape(2, 2, 2, 3, 2, 3).permute(1, 2, 3, 0, 4, 5)
    ),
)
case(
    "overlay",
    lambda t, x: convolution.overlay(x, _OVER, (4, 5)),
    (2, 2, 3, 2, 2, 3),
    theirs=lambda t, x: t.nn.functional.fold(
        x.permute(3, 0, 1, 2, 4, 5).reshape(2, 12, 6), (4, 5), (2, 3), (2, 1), (0, 1), (1, 2)
    ),
)
_own = lambda t, x: convolution.window_sum(x, convolution.Window((3,), (2,), ((1, 1),), (1,)))
case("window_sum", _own, (2, 3, 6), theirs=lambda t, x: t.nn.functional.avg_pool1d(x, 3, 2, 1) * 3)
_own = lambda t, x: convolution.window_spread(x, convolution.Window((3,), (2,), ((1, 1),), (1,)), (6,))
_torch = lambda t, x: t.nn.functional.conv_transpose1d(x, t.ones(3, 1, 3, dtype=x.dtype), None, 2, 1, 1, 3)
case("window_spread", _own, (2, 3, 3), theirs=_torch)
_CELLS = np.array([[[0, 2, 2], [4, 1, 3]]])
case("pick", lambda t, x, i: convolution.pick(x, i), (1, 2, 5), _CELLS, theirs=lambda t, x, i: x.gather(2, i))
_own = lambda t, x, i: convolution.put_picked(x, i, (5,))
case("put_picked", _own, (1, 2, 3), _CELLS, theirs=lambda t, x, i: t.zeros(1, 2, 5, dtype=x.dtype).scatter_add(2, i, x))

_TAPS = convolution.Taps([[0, 2, 2, -1], [3, 2, -1, -1]], np.array([[0.5, 2.0, -1.0, 0.0], [3.0, 1.0, 0.0, 0.0]]), 5)
_MATRIX = [[0.5, 0, 0, 3, 0], [0, 0, 3, 0, 0], [0, 0, -1, 0, 0], [0, 0, 0, 0, 0]]  # the same
_own = lambda t, x: convolution.resample(x, 1, _TAPS)
case("resample", _own, (2, 5, 3), theirs=lambda t, x: t.tensor(_MATRIX, dtype=x.dtype) @ x)

# Tensors without elements ----------------------------------------------------------------------------------

for _name in ("exp", "relu", "sigmoid", "abs"):
    case(_name, lambda t, x, f=_name: getattr(t, f)(x), (0,))
case("add", lambda t, a, b: a + b, (0, 3), (3,))
case("mul", lambda t, a, b: a * b, (2, 0), (1,))
case("gelu", lambda t, x: activations.gelu(x), (2, 0), theirs=lambda t, x: t.nn.functional.gelu(x))
case("sum", lambda t, x: x.sum(), (0,))
case("sum", lambda t, x: x.sum(1), (2, 0, 3))
case("mean", lambda t, x: x.mean(0), (2, 0))
case("prod", lambda t, x: x.prod(), (0,))
case("cumsum", lambda t, x: x.cumsum(0), (0, 2))
case("matmul", lambda t, a, b: a @ b, (2, 0), (0, 3))
case("matmul", lambda t, a, b: a @ b, (0, 2), (2, 3))
case("matmul", lambda t, a, b: a @ b, (2, 3, 0), (0, 2))
case("matmul", lambda t, a, b: a @ b, (2, 0, 3), (3, 2))
case("linear", lambda t, *a: linear.linear(*a), (0, 3), (2, 3), (2,), theirs=_linear)
case("linear", lambda t, *a: linear.linear(*a), (2, 0), (3, 0), (3,), theirs=_linear)
case("linear", lambda t, *a: linear.linear(*a), (2, 0, 3), (2, 3), (2,), theirs=_linear)
case("concatenate", lambda t, a, b: t.cat([a, b]), (0, 3), (2, 3))
case("getitem", lambda t, x: x[1:1], (3, 2))
case("getitem", lambda t, x, i: x[i], (3, 2), np.array([], np.int64))
case("getitem", lambda t, x, m: x[m], (3, 2), np.zeros(3, bool))
_own = lambda t, w, i: indexing.embedding(w, i)
case("embedding", _own, (4, 3), np.zeros((2, 0), np.int64), theirs=lambda t, w, i: w[i])
case("softmax", lambda t, x: t.softmax(x, -1), (0, 3))
case("log_softmax", lambda t, x: t.log_softmax(x, -1), (0, 3))
_own = lambda t, x, w, b: normalization.layer_norm(x, w, b, 1e-5)
case("layer_norm", _own, (0, 4), (4,), (4,), theirs=lambda t, x, w, b: t.nn.functional.layer_norm(x, (4,), w, b))
_own = lambda t, x, w: normalization.rms_norm(x, w, 1e-6)
case("rms_norm", _own, (0, 4), (4,), theirs=lambda t, x, w: t.nn.functional.rms_norm(x, (4,), w, 1e-6))
_torch = lambda t, x, y: t.nn.functional.cross_entropy(x, y, reduction="none")
case("cross_entropy", lambda t, x, y: loss.cross_entropy(x, y), (0, 5), np.array([], np.int64), theirs=_torch)
case("einsum_pair", lambda t, a, b: t.einsum("ij,jk->ik", a, b), (2, 0), (0, 3))
case("split", lambda t, x: x.split(2), (0, 2))
case("unbind", lambda t, x: x.unbind(0), (2, 0))
case("broadcast_to", lambda t, x: x.expand(0, 3), (1, 3))
case("sort", lambda t, x: x.sort(), (2, 0))

# Recurrent layers: PyTorch's take the input instead of the gates; an identity matrix converts it -----------

_STEPS = (2, 2, 1)  # number of sequences at each step


def _recurrent(t: Any, mode: str, x: Any, weights: list[Any], states: list[Any], reverse: bool) -> tuple[Any, ...]:
    """PyTorch's layer with equal weights in both directions; returns the results of one of them."""
    bias = weights[1:2] if mode == "gru" and len(weights) > 1 else []
    parameters = [t.eye(x.shape[1], dtype=x.dtype), weights[0], *(t.zeros_like(b) for b in bias), *weights[1:]]
    hx = tuple(t.stack([s, s]) for s in states)
    sizes = t.tensor(_STEPS)
    args = (x, sizes, hx if mode == "lstm" else hx[0], parameters * 2, bool(bias), 1, 0.0, False, True)
    out, *last = getattr(t, mode)(*args)
    return out.chunk(2, -1)[reverse], *(s[int(reverse)] for s in last)


for _back in (False, True):
    for _rectify in (False, True):
        _own = lambda t, x, w, h, r=_back, f=_rectify: recurrent.rnn(x, w, h, _STEPS, r, f)
        _torch = lambda t, x, w, h, r=_back, f=_rectify: _recurrent(t, "rnn_relu" if f else "rnn_tanh", x, [w], [h], r)
        case("rnn", _own, (5, 2), (2, 2), (2, 2), theirs=_torch)
    _own = lambda t, x, w, b, h, r=_back: recurrent.gru(x, w, b, h, _STEPS, r)
    _torch = lambda t, x, w, b, h, r=_back: _recurrent(t, "gru", x, [w, b], [h], r)
    case("gru", _own, (5, 6), (6, 2), (6,), (2, 2), theirs=_torch, numeric=not _back)
    _own = lambda t, x, w, h, c, r=_back: recurrent.lstm(x, w, None, h, c, _STEPS, r)
    _torch = lambda t, x, w, h, c, r=_back: _recurrent(t, "lstm", x, [w], [h, c], r)
    case("lstm", _own, (5, 8), (8, 2), (2, 2), (2, 2), theirs=_torch, numeric=not _back)
    _own = lambda t, x, w, p, h, c, r=_back: recurrent.lstm(x, w, p, h, c, _STEPS, r)
    _torch = lambda t, x, w, p, h, c, r=_back: _recurrent(t, "lstm", x, [w, p], [h, c], r)
    case("lstm", _own, (5, 12), (12, 2), (2, 3), (2, 2), (2, 3), theirs=_torch, numeric=not _back)
_own = lambda t, x, w, h: recurrent.gru(x, w, None, h, _STEPS)
case("gru", _own, (5, 6), (6, 2), (2, 2), theirs=lambda t, x, w, h: _recurrent(t, "gru", x, [w], [h], False))

# Activations and losses that few programs use --------------------------------------------------------------

_ARGS: dict[str, tuple[float, ...]] = {"hardtanh": (-0.7, 0.4), "hardswish": (), "hardshrink": (0.4,)}
for _name, _args in (_ARGS | {"softshrink": (0.4,), "threshold": (0.2, -3.0), "mish": ()}).items():
    _own = lambda t, x, f=_name, a=_args: getattr(activations, f)(x, *a)
    case(_name, _own, (3, 4), theirs=lambda t, x, f=_name, a=_args: getattr(t.nn.functional, f)(x, *a), extreme=True)
case("hardtanh", lambda t, x: t.nn.functional.relu6(x), between(-3, 9, 3, 4), extreme=True)
case("hardswish", lambda t, x: t.nn.functional.hardswish(x), between(-5, 5, 3, 4))
_own = lambda t, x: t.nn.functional.hardsigmoid(x)
_torch = lambda t, x: (x + 3).clamp(0, 6) / 6  # its gradient is 1/6 in float32 for every dtype
case("hardsigmoid", _own, between(-5, 5, 3, 4), theirs=_torch, extreme=True)
case("scaled_elu", lambda t, x: t.nn.functional.selu(x), (3, 4), extreme=True)
# α of 2: PyTorch's gradient rounds 1 / α to float32
case("scaled_elu", lambda t, x: t.nn.functional.celu(x, 2.0), (3, 4), extreme=True)
for _shape, _weights in [((3, 2, 2), (2,)), ((3, 2), (2,)), ((4,), (1,)), ((2, 3), (1,)), ((2, 3), ()), ((), (1,))]:
    case("prelu", lambda t, x, w: t.nn.functional.prelu(x, w), _shape, _weights)
_own = lambda t, x, y: loss.binary_cross_entropy(x, y)
_torch = lambda t, x, y: t.nn.functional.binary_cross_entropy(x, y, reduction="none")
case("binary_cross_entropy", _own, between(0.1, 0.9, 3, 4), between(0.0, 1.0, 3, 4), theirs=_torch)
_own = lambda t, x, y: t.nn.functional.binary_cross_entropy_with_logits(x, y, reduction="none")
case("binary_cross_entropy_with_logits", _own, (3, 4), between(0.0, 1.0, 3, 4))

# Complex numbers: real inputs and outputs, for finite differences -----------------------------------------


def _complex(name: str, function: Function, *shapes: tuple[int, ...], theirs: Function | None = None) -> None:
    """Add a case of an op on complex numbers, passed as (..., 2); complex results are returned likewise."""

    def in_reals(function: Function) -> Function:
        def through_reals(t: Any, *xs: Any) -> Any:
            out = function(t, *(t.view_as_complex(x.contiguous()) for x in xs))
            return t.view_as_real(out) if t.is_complex(out) else out

        return through_reals

    case(name, in_reals(function), *shapes, theirs=in_reals(theirs or function))


_complex("view_as_complex", lambda t, z: z, (3, 4, 2))
_complex("view_as_real", lambda t, z: z.transpose(0, 1) * 2, (3, 4, 2))
_complex("mul", lambda t, y, z: y * z, (3, 4, 2), (4, 2))
_complex("mul", lambda t, z: (2 - 3j) * z * 2.0, (3, 2))
_complex("div", lambda t, y, z: y / z, (3, 1, 2), (3, 4, 2))
_complex("div", lambda t, z: z / (1 + 2j), (3, 2))
for _name in ("square", "sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p"):
    _complex(_name, lambda t, z, f=_name: getattr(t, f)(z), (3, 2))
for _name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"):
    _complex(_name, lambda t, z, f=_name: getattr(t, f)(z), (3, 2))
_complex("one_minus_square", lambda t, z: elementwise.one_minus_square(z), (3, 2), theirs=lambda t, z: 1 - z * z)
_complex("tanh_grad", lambda t, z: elementwise.tanh_grad(z), (3, 2), theirs=lambda t, z: 1 / t.cosh(z) ** 2)
_complex("sigmoid", lambda t, z: t.sigmoid(z), (3, 2))
_complex("silu", lambda t, z: t.nn.functional.silu(z), (3, 2), theirs=lambda t, z: z * t.sigmoid(z))
_complex("pow", lambda t, y, z: y**z, (3, 1, 2), (3, 4, 2))
_complex("pow", lambda t, z: z**2 + z**3 + z ** (0.5 - 1j), (3, 2))
_complex("pow", lambda t, z: 2.0**z + (1 - 2j) ** z, (3, 2))
_complex("lerp", lambda t, y, z: t.lerp(y, z, 0.3), (3, 2), (3, 2))
_complex("addcmul", lambda t, x, y, z: t.addcmul(x, y, z, value=2), (3, 2), (3, 2), (3, 2))
_complex("addcdiv", lambda t, x, y, z: t.addcdiv(x, y, z, value=2), (3, 2), (3, 2), (3, 2))
_complex("logaddexp", lambda t, y, z: t.logaddexp(y, z), (3, 2), (3, 2))
_complex("where", lambda t, y, z: t.where(y.real > z.real, y * z, z), (3, 2), (3, 2))
_complex("prod", lambda t, z: z.prod(0), (3, 4, 2))
_complex("cumsum", lambda t, z: z.cumsum(0) * z, (3, 4, 2))
_complex("cumprod", lambda t, z: z.cumprod(1), (3, 3, 2))
_complex("logcumsumexp", lambda t, z: t.logcumsumexp(z, 1), (3, 4, 2))
_complex("logsumexp", lambda t, z: t.logsumexp(z, 1), (3, 4, 2))
_complex("var", lambda t, z: z.var(0), (3, 4, 2))
_complex("std", lambda t, z: z.std(1, correction=0), (3, 4, 2))
_complex("matmul", lambda t, y, z: y @ z, (2, 3, 4, 2), (4, 3, 2))
_complex("matmul", lambda t, y, z: y @ z, (4, 2), (3, 4, 2, 2))
_complex("linear", lambda t, x, y, z: t.nn.functional.linear(x, y, z), (3, 4, 2), (2, 4, 2), (2, 2))
_complex("einsum_pair", lambda t, y, z: t.einsum("ijk,kl->jil", y, z), (2, 3, 4, 2), (4, 3, 2))
_complex("outer", lambda t, y, z: t.outer(y, z), (3, 2), (4, 2))
_complex("gather", lambda t, z: z.gather(1, t.tensor([[0, 0], [2, 1]], device=z.device)) * z[:2, :2], (3, 3, 2))
_own = lambda t, y, z: y.scatter_add(0, t.tensor([[0, 0]], device=y.device), z) * y
_complex("scatter_add", _own, (3, 3, 2), (1, 2, 2))
_own = lambda t, y, z: y.scatter(0, t.tensor([[0, 1]], device=y.device), z, reduce="multiply")
_torch = lambda t, y, z: y * t.where(t.eye(2, dtype=t.bool), z, t.ones_like(y))
_complex("scatter_prod", _own, (2, 2, 2), (1, 2, 2), theirs=_torch)
_complex("phase", lambda t, z: t.sgn(z) * z[0], (3, 2))
_complex("conj", lambda t, z: z.conj() * z[0], (3, 2))
_complex("fft", lambda t, z: t.fft.fft(z, dim=0, norm="ortho"), (3, 4, 2))
_complex("ifft", lambda t, z: t.fft.ifft(z) * z, (3, 4, 2))
_complex("modulus", lambda t, z: z.abs(), (3, 2))
_complex("angle", lambda t, z: z.angle(), (3, 2))
_complex("real", lambda t, z: z.real * z.imag, (3, 2))
_complex("imag", lambda t, z: (z - z.sum()).imag, (3, 2))
case("complex", lambda t, x, y: t.view_as_real(t.complex(x, y) * t.polar(x.exp(), y)), (3, 4), (3, 4))

# The gamma function's family, and Bessel's ------------------------------------------------------------------

for _name in ("lgamma", "digamma"):  # near 0 PyTorch's trigamma has nine digits: see test_special.py
    case(_name, lambda t, x, f=_name: getattr(t, f)(x), between(15, 40, 3, 4))
    case(_name, lambda t, x, f=_name: getattr(x, f)(), between(20, 30, 2, 3))
case("polygamma", lambda t, x: t.polygamma(2, x), between(0.3, 20, 2, 3))
case("polygamma", lambda t, x: x.polygamma(3), between(1.3, 20, 2, 3))
for _name in ("i0", "i0e", "i1", "i1e"):
    case(_name, lambda t, x, f=_name: getattr(t.special, f)(x), (3, 4))
    case(_name, lambda t, x, f=_name: getattr(t.special, f)(x), between(8, 20, 2, 2))
case("sinc", lambda t, x: t.sinc(x), between(0.3, 3, 3, 4))
case("entr", lambda t, x: t.special.entr(x), between(0.2, 3, 3, 4))
for _name in ("erfcx", "log_ndtr", "ndtr"):
    case(_name, lambda t, x, f=_name: getattr(t.special, f)(x), (3, 4))
for _name in ("xlogy", "xlog1py"):
    case(_name, lambda t, a, b, f=_name: getattr(t.special, f)(a, b), (3, 4), between(0.2, 3, 4))
    case(_name, lambda t, b, f=_name: getattr(t.special, f)(1.5, b) + getattr(t.special, f)(b, 3), between(0.2, 3, 4))
for _name in ("igamma", "igammac"):
    case(_name, lambda t, x, f=_name: getattr(t, f)(t.ones_like(x) * 2.5, x), between(0.5, 6, 3, 4))
    case(_name, lambda t, x, f=_name: getattr(t, f)(t.ones_like(x) * 12, x), between(9, 20, 2, 3))


# Order 2, for which PyTorch has no functions: it differentiates integrals instead.
_ANGLES = (np.arange(40) + 0.5) * math.pi / 80


def _mean_of_cosh(t: Any, x: Any) -> Any:
    """I of order 2"""
    return (t.cosh(x[..., None] * t.tensor(np.cos(_ANGLES))) * t.tensor(np.cos(2 * _ANGLES))).mean(-1)


_OF_ORDER: dict[str, Function] = {
    "modified_bessel_i": _mean_of_cosh,
    "scaled_modified_bessel_i": lambda t, x: _mean_of_cosh(t, x) * t.exp(-x),
    "spherical_bessel_j": lambda t, x: (3 / x**3 - 1 / x) * t.sin(x) - 3 * t.cos(x) / x**2,
}
for _name, _theirs in _OF_ORDER.items():
    case(_name, lambda t, x, f=_name: getattr(special, f)(x, 2), between(0.8, 6, 3, 4), theirs=_theirs)
case("zeta", lambda t, q: t.special.zeta(t.ones_like(q) * 3.5, q), between(0.4, 8, 2, 3))
