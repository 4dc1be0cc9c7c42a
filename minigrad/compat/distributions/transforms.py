"""Transforms with inverses and log-determinants of Jacobians, for TransformedDistribution and constraints.

Subclasses of Transform define ``_call``, ``_inverse``, ``log_abs_det_jacobian(x, y)``, ``domain`` and ``codomain``.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self

from ...backend import dtype as dt
from ...functions.names import atanh, broadcast_shapes, cat, eye, full_like, log1p, sigmoid, stack, zeros_like
from ...nn.functional import logsigmoid, pad, softplus
from ...tensor import Size, Tensor
from .. import linalg
from . import constraints
from .utils import broadcast_all, inside, log_odds, method, sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = ["AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform"]
__all__ += ["CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform"]
__all__ += ["PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform"]
__all__ += ["SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform"]
__all__ += ["identity_transform"]


class Transform:
    """A function of a tensor. ``inv`` is its inverse. ``bijective`` is True if each output has a unique input. With
    a ``cache_size`` of 1, the last input and output are cached, so that inverting that output returns that input.
    """

    bijective = False
    domain: Any
    codomain: Any
    _values: ClassVar[tuple[str, ...] | None] = None  # the attributes that ``==`` compares

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_inv": None}

    @property
    def event_dim(self) -> int:
        """The number of trailing axes that form an event."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return int(self.domain.event_dim)

    @property
    def inv(self) -> Any:
        """The inverse transform."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """1 for an increasing function, -1 for a decreasing one."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Self:
        """This transform with a different ``cache_size``."""
        if self._cache_size == cache_size:
            return self
        other = copy.copy(self)
        vars(other).update(_cache_size=cache_size, _inv=None, _cached_x_y=(None, None))
        return other

    def __eq__(self, other: object) -> bool:
        if self is other or self._values is None or type(self) is not type(other):
            return self is other
        pairs = [(getattr(self, name), getattr(other, name)) for name in self._values]
        return all(bool((a == b).all()) if isinstance(a == b, Tensor) else a == b for a, b in pairs)

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Any:
        if self._cache_size == 0:
            return self._call(x)
        if x is not self._cached_x_y[0]:
            self._cached_x_y = x, self._call(x)
        return self._cached_x_y[1]

    def _inv_call(self, y: Tensor) -> Any:
        if self._cache_size == 0:
            return self._inverse(y)
        if y is not self._cached_x_y[1]:
            self._cached_x_y = self._inverse(y), y
        return self._cached_x_y[0]

    def _missing(self, x: Tensor) -> Any:
        raise NotImplementedError

    _call = _inverse = _missing

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """log |dy / dx|, summed over the event axes."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the result for an input of shape ``shape``."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the input for a result of shape ``shape``."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    _values = ("inv",)

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform

    domain = property(lambda self: self._inv.codomain)
    codomain = property(lambda self: self._inv.domain)
    bijective = property(lambda self: self._inv.bijective)
    sign = property(lambda self: self._inv.sign)
    with_cache = method(lambda t, cache_size=1: t.inv.with_cache(cache_size).inv)
    __call__ = method(lambda t, x: t.inv._inv_call(x))
    log_abs_det_jacobian = method(lambda t, x, y: -t.inv.log_abs_det_jacobian(y, x))
    forward_shape = method(lambda t, shape: t.inv.inverse_shape(shape))
    inverse_shape = method(lambda t, shape: t.inv.forward_shape(shape))
    __repr__ = method(lambda t: f"{type(t).__name__}({t.inv!r})")


# Combinations ------------------------------------------------------------------------------------------------


class ComposeTransform(Transform):
    """The composition of several transforms, which are applied in order."""

    _values = ("parts",)

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) if cache_size else part for part in parts]

    def _ends(self, parts: Sequence[Transform], start: str, end: str) -> Any:
        """The domain or codomain (``end``), with as many event axes as the parts need. The last part is at this end."""
        if not parts:
            return constraints.real
        constraint, axes = getattr(parts[-1], end), getattr(parts[0], start).event_dim
        for part in parts:
            here = getattr(part, end).event_dim
            axes = max(axes + here - getattr(part, start).event_dim, here)
        more = axes - constraint.event_dim
        return constraints.independent(constraint, more) if more else constraint

    domain = property(lambda self: self._ends(self.parts[::-1], "codomain", "domain"))
    codomain = property(lambda self: self._ends(self.parts, "domain", "codomain"))
    bijective = property(lambda self: all(p.bijective for p in self.parts))
    sign = property(lambda self: math.prod(p.sign for p in self.parts))

    @property
    def inv(self) -> Any:
        if self._inv is None:
            self._inv = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Tensor) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        if not self.parts:
            return zeros_like(x)
        points = [x]
        for part in self.parts[:-1]:
            points.append(part(points[-1]))
        terms, axes = [], self.domain.event_dim
        for part, (a, b) in zip(self.parts, pairwise([*points, y]), strict=True):
            terms.append(sum_rightmost(part.log_abs_det_jacobian(a, b), axes - part.domain.event_dim))
            axes += part.codomain.event_dim - part.domain.event_dim
        return sum(terms[1:], terms[0])

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    inverse_shape = method(lambda t, shape: t.inv.forward_shape(shape))
    __repr__ = method(lambda t: "ComposeTransform(\n    " + ",\n    ".join(map(repr, t.parts)) + "\n)")


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """``base_transform``, with its last ``reinterpreted_batch_ndims`` batch axes included in the event."""

    _values = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    domain = property(lambda t: constraints.independent(t.base_transform.domain, t.reinterpreted_batch_ndims))
    codomain = property(lambda t: constraints.independent(t.base_transform.codomain, t.reinterpreted_batch_ndims))
    bijective = property(lambda t: t.base_transform.bijective)
    sign = property(lambda t: t.base_transform.sign)

    def _call(self, x: Tensor) -> Any:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Any:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    forward_shape = method(lambda t, shape: t.base_transform.forward_shape(shape))
    inverse_shape = method(lambda t, shape: t.base_transform.inverse_shape(shape))
    __repr__ = method(lambda t: f"IndependentTransform({t.base_transform!r}, {t.reinterpreted_batch_ndims})")


class CatTransform(Transform):
    """Applies one transform to each part of a tensor along an axis. Part i has length ``lengths[i]``."""

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) for t in tseq], dim
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)

    domain = property(lambda self: constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths))
    codomain = property(lambda self: constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths))
    bijective = property(lambda self: all(t.bijective for t in self.transforms))
    _parts = method(lambda t, x: x.split(t.lengths, t.dim))
    _joined = method(lambda t, parts, dim: cat(parts, dim))

    def _call(self, x: Tensor) -> Tensor:
        return self._joined([t(part) for t, part in zip(self.transforms, self._parts(x), strict=True)], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._joined([t.inv(part) for t, part in zip(self.transforms, self._parts(y), strict=True)], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        most = max(t.event_dim for t in self.transforms)
        parts = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        terms = [sum_rightmost(t.log_abs_det_jacobian(a, b), most - t.event_dim) for t, a, b in parts]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + most
        return self._joined(terms, dim) if dim < 0 else sum(terms[1:], terms[0])


class StackTransform(CatTransform):
    """Applies one transform to each slice of a tensor along an axis."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size=cache_size)

    domain = property(lambda self: constraints.stack([t.domain for t in self.transforms], self.dim))
    codomain = property(lambda self: constraints.stack([t.codomain for t in self.transforms], self.dim))
    _parts = method(lambda t, x: x.unbind(t.dim))
    _joined = method(lambda t, parts, dim: stack(parts, dim))


# Elementwise ------------------------------------------------------------------------------------------------

Rule = Callable[..., Any]


def _elementwise(name: str, codomain: Any, call: Rule, inverse: Rule, jacobian: Rule | None, doc: str) -> Any:
    """Create a class that transforms real numbers elementwise. If ``jacobian`` is None, it is not bijective."""
    rules: dict[str, Any] = {"_call": lambda self, x: call(x), "_inverse": lambda self, y: inverse(y)}
    if jacobian is not None:
        rules.update(bijective=True, sign=1, log_abs_det_jacobian=lambda self, x, y: jacobian(x, y))
    described = {"domain": constraints.real, "codomain": codomain, "_values": (), "__doc__": doc}
    return type(name, (Transform,), {**rules, **described, "__module__": __name__})


ExpTransform = _elementwise(
    "ExpTransform", constraints.positive, lambda x: x.exp(), lambda y: y.log(), lambda x, y: x, "eˣ"
)
SigmoidTransform = _elementwise(
    "SigmoidTransform",
    constraints.unit_interval,
    lambda x: inside(sigmoid(x)),
    log_odds,
    lambda x, y: -softplus(-x) - softplus(x),
    "1 / (1 + e⁻ˣ)",
)
SoftplusTransform = _elementwise(
    "SoftplusTransform",
    constraints.positive,
    softplus,
    lambda y: (-y).expm1().neg().log() + y,
    lambda x, y: -softplus(-x),
    "log(1 + eˣ)",
)
TanhTransform = _elementwise(
    "TanhTransform",
    constraints.interval(-1.0, 1.0),
    lambda x: x.tanh(),
    atanh,
    lambda x, y: 2.0 * (math.log(2.0) - x - softplus(-2.0 * x)),
    "tanh x",
)
AbsTransform = _elementwise("AbsTransform", constraints.positive, lambda x: x.abs(), lambda y: y, None, "|x|")


class AffineTransform(Transform):
    """loc + scale · x, where an event has ``event_dim`` axes."""

    bijective = True
    event_dim = 0
    _values = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim

    domain = codomain = property(
        lambda self: constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real
    )
    sign = property(lambda self: self.scale.sign() if isinstance(self.scale, Tensor) else math.copysign(1, self.scale))
    _call = method(lambda t, x: t.loc + t.scale * x)
    _inverse = method(lambda t, y: (y - t.loc) / t.scale)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        scale = self.scale
        term = scale.abs().log() if isinstance(scale, Tensor) else full_like(x, math.log(abs(scale)))
        return sum_rightmost(term.expand(broadcast_shapes(x.shape, term.shape)), self.event_dim)

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, *(getattr(value, "shape", ()) for value in (self.loc, self.scale)))

    inverse_shape = forward_shape


class PowerTransform(Transform):
    """x to the power ``exponent``."""

    domain = codomain = constraints.positive
    bijective = True
    _values = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    sign = property(lambda self: self.exponent.sign())
    _call = method(lambda t, x: x.pow(t.exponent))
    _inverse = method(lambda t, y: y.pow(1 / t.exponent))
    log_abs_det_jacobian = method(lambda t, x, y: (t.exponent * y / x).abs().log())
    forward_shape = method(lambda t, shape: broadcast_shapes(shape, t.exponent.shape))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """The ``cdf`` of a distribution, which is the probability that a sample is at most x."""

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution
        self._call, self._inverse = distribution.cdf, distribution.icdf  # type: ignore[method-assign]

    domain = property(lambda self: self.distribution.support)
    log_abs_det_jacobian = method(lambda t, x, y: t.distribution.log_prob(x))


# Vectors and matrices ----------------------------------------------------------------------------------------


class ReshapeTransform(Transform):
    """The same elements in a different shape."""

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)

    domain = property(lambda self: constraints.independent(constraints.real, len(self.in_shape)))
    codomain = property(lambda self: constraints.independent(constraints.real, len(self.out_shape)))
    _call = method(lambda t, x: x.reshape(t.forward_shape(x.shape)))
    _inverse = method(lambda t, y: y.reshape(t.inverse_shape(y.shape)))
    log_abs_det_jacobian = method(lambda t, x, y: x.new_zeros(x.shape[: x.dim() - len(t.in_shape)]))
    forward_shape = method(lambda t, shape: t._replaced(shape, t.in_shape, t.out_shape))
    inverse_shape = method(lambda t, shape: t._replaced(shape, t.out_shape, t.in_shape))

    def _replaced(self, shape: Any, old: Size, new: Size) -> Size:
        cut = len(shape) - len(old)
        if cut < 0:
            raise ValueError("Too few dimensions on input")
        if tuple(shape[cut:]) != old:
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
        return Size((*shape[:cut], *new))


class SoftmaxTransform(Transform):
    """Converts unnormalised log-probabilities to probabilities."""

    domain, codomain = constraints.real_vector, constraints.simplex
    _values = ()
    _call = method(lambda t, x: x.softmax(-1))
    _inverse = method(lambda t, y: y.log())


class StickBreakingTransform(Transform):
    """Converts K - 1 numbers to K probabilities. Each number sets the next class's fraction of the remainder."""

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True
    _values = ()

    def _left(self, x: Tensor) -> Tensor:
        """The logarithm of the number of classes remaining after each class."""
        return (x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)).log()

    def _call(self, x: Tensor) -> Tensor:
        fractions = inside(sigmoid(x - self._left(x)))
        return pad(fractions, [0, 1], value=1) * pad((1 - fractions).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        first = y[..., :-1]
        rest = (1 - first.cumsum(-1)).clamp(min=dt.finfo(y.dtype).tiny)
        return first.log() - rest.log() + self._left(first)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._left(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    forward_shape = method(lambda t, shape: Size((*shape[:-1], shape[-1] + 1)))
    inverse_shape = method(lambda t, shape: Size((*shape[:-1], shape[-1] - 1)))


class LowerCholeskyTransform(Transform):
    """The lower triangle of a matrix, with eˣ in place of each diagonal element x."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky
    _values = ()
    _call = method(lambda t, x: x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed())
    _inverse = method(lambda t, y: y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed())


class PositiveDefiniteTransform(LowerCholeskyTransform):
    """L Lᵀ, where L is the result of LowerCholeskyTransform."""

    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        lower = super()._call(x)
        return lower @ lower.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return super()._inverse(linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """Converts D (D - 1) / 2 numbers to the Cholesky factor of a D by D correlation matrix."""

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = dt.finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)
        return (r + eye(r.shape[-1], dtype=r.dtype, device=r.device)) * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (log1p(t) - log1p(-t)) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        return 0.5 * left.log().sum(-1) - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], size, size))

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2 or shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))
