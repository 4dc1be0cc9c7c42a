"""Transforms and the constraints that they lead to, against PyTorch."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minigrad import distributions, nn
from tests.support.cases import cases
from tests.support.parity import assert_close, host, in_torch_words, ours, theirs, torch

_RNG = np.random.default_rng(0)
VECTORS, MATRICES, POSITIVE = _RNG.standard_normal((2, 3)), _RNG.standard_normal((2, 3, 3)), _RNG.random((2, 3)) + 0.2
# An input, and the transform by a library's module of distributions
KINDS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "exp": (VECTORS, lambda D: D.ExpTransform()),
    "sigmoid": (VECTORS, lambda D: D.SigmoidTransform()),
    "softplus": (VECTORS, lambda D: D.SoftplusTransform()),
    "tanh": (VECTORS, lambda D: D.TanhTransform()),
    "abs": (POSITIVE, lambda D: D.AbsTransform()),
    "affine": (VECTORS, lambda D: D.AffineTransform(1.0, -2.0)),
    "affine, vectors": (VECTORS, lambda D: D.AffineTransform(1.0, -2.0, event_dim=1)),
    "power": (POSITIVE, lambda D: D.PowerTransform(2.0)),
    "cdf": (VECTORS, lambda D: D.CumulativeDistributionTransform(D.Normal(0.0, 2.0))),
    "softmax": (VECTORS, lambda D: D.SoftmaxTransform()),
    "stick breaking": (VECTORS, lambda D: D.StickBreakingTransform()),
    "lower cholesky": (MATRICES, lambda D: D.LowerCholeskyTransform()),
    "positive definite": (MATRICES, lambda D: D.PositiveDefiniteTransform()),
    "correlations": (VECTORS, lambda D: D.CorrCholeskyTransform()),
    "reshape": (MATRICES, lambda D: D.ReshapeTransform((3, 3), (9,))),
    "independent": (VECTORS, lambda D: D.IndependentTransform(D.ExpTransform(), 1)),
    "composed": (VECTORS, lambda D: D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 3.0)])),
    "composed, of vectors": (
        VECTORS,
        lambda D: D.ComposeTransform([D.AffineTransform(1.0, 3.0), D.StickBreakingTransform()]),
    ),
    "nothing": (VECTORS, lambda D: D.ComposeTransform([])),
    "cat": (VECTORS, lambda D: D.CatTransform([D.ExpTransform(), D.TanhTransform()], -1, [1, 2])),
    "stack": (VECTORS, lambda D: D.StackTransform([D.ExpTransform(), D.TanhTransform()], 0)),
    "inverse": (POSITIVE, lambda D: D.ExpTransform().inv),
}


def both() -> tuple[Any, Any]:
    return distributions, torch.distributions


@cases("cache_size", [0, 1])
@cases("name", KINDS)
def test_values_inverses_and_jacobians(name: str, cache_size: int) -> None:
    array, make = KINDS[name]
    results = []
    for library, tensor in zip(both(), (ours, theirs), strict=True):
        transform = make(library)
        if cache_size and name != "inverse":
            transform = transform.with_cache(cache_size)
        x = tensor(array, True)
        y = transform(x)
        back = transform.inv(y)
        if name not in ("nothing", "cat", "stack", "inverse"):
            assert (back is x) == bool(cache_size)
        jacobian = transform.log_abs_det_jacobian(x, y) if transform.bijective else y * 0
        (y.sum() + jacobian.sum()).backward()
        shapes = tuple(transform.forward_shape(x.shape)), tuple(transform.inverse_shape(y.shape))
        told = in_torch_words(repr(transform)), transform.bijective, shapes
        told += (in_torch_words(repr(transform.domain)), in_torch_words(repr(transform.codomain)))
        results.append(([y, back, jacobian, x.grad], told))
    for found, expected in zip(results[0][0], results[1][0], strict=True):
        assert_close(found, expected, 1e-9)
    assert results[0][1] == results[1][1]


def test_equality() -> None:
    for library in both():
        assert library.ExpTransform() == library.ExpTransform()
        assert library.ExpTransform() != library.TanhTransform()
        assert library.AffineTransform(1, 2) == library.AffineTransform(1, 2)
        assert library.AffineTransform(1, 2) != library.AffineTransform(1, 3)
        assert library.ExpTransform().inv == library.ExpTransform().inv
        assert library.ExpTransform().inv.inv == library.ExpTransform()
        assert library.ComposeTransform([]) == library.ComposeTransform([])


def test_a_transform_of_ones_own() -> None:
    for library, tensor in zip(both(), (ours, theirs), strict=True):

        class Cube(library.Transform):  # type: ignore[name-defined,misc]
            domain = codomain = library.constraints.real
            bijective = True
            sign = 1

            def _call(self, x: Any) -> Any:
                return x**3

            def _inverse(self, y: Any) -> Any:
                return y.sign() * y.abs() ** (1 / 3)

            def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
                return (3 * x**2).log()

        cube = Cube(cache_size=1)
        x = tensor(VECTORS)
        assert cube.inv(cube(x)) is x
        d = library.TransformedDistribution(library.Normal(tensor(VECTORS), 1.0), [cube])
        expected = library.Normal(tensor(VECTORS), 1.0).log_prob(x) - (3 * x**2).log()
        assert_close(d.log_prob(x**3), expected, 1e-6)


CONSTRAINTS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "real": (VECTORS, lambda c: c.real),
    "positive": (VECTORS, lambda c: c.positive),
    "nonnegative": (VECTORS, lambda c: c.nonnegative),
    "greater_than": (VECTORS, lambda c: c.greater_than(2.0)),
    "greater_than_eq": (VECTORS, lambda c: c.greater_than_eq(2.0)),
    "less_than": (VECTORS, lambda c: c.less_than(2.0)),
    "unit_interval": (VECTORS, lambda c: c.unit_interval),
    "interval": (VECTORS, lambda c: c.interval(-1.0, 2.0)),
    "half_open_interval": (VECTORS, lambda c: c.half_open_interval(-1.0, 2.0)),
    "simplex": (VECTORS, lambda c: c.simplex),
    "lower_cholesky": (MATRICES, lambda c: c.lower_cholesky),
    "positive_definite": (MATRICES, lambda c: c.positive_definite),
    "corr_cholesky": (VECTORS, lambda c: c.corr_cholesky),
    "independent": (VECTORS, lambda c: c.independent(c.positive, 1)),
    "cat": (VECTORS, lambda c: c.cat([c.positive, c.unit_interval], -1, [1, 2])),
    "stack": (VECTORS, lambda c: c.stack([c.positive, c.unit_interval], 0)),
}


@cases("registry", ["biject_to", "transform_to"])
@cases("name", CONSTRAINTS)
def test_registries(name: str, registry: str) -> None:
    array, make = CONSTRAINTS[name]
    results = []
    for library, tensor in zip(both(), (ours, theirs), strict=True):
        constraint = make(library.constraints)
        try:
            transform = getattr(library, registry)(constraint)
        except NotImplementedError as error:
            results.append(str(error))
            continue
        y = transform(tensor(array))
        assert bool(constraint.check(y).all())
        results.append([y, transform.inv(y)])
    if isinstance(results[1], str):
        assert results[0] == results[1]
    else:
        for found, expected in zip(*results, strict=True):
            assert_close(found, expected, 1e-9)


BAD = {
    "greater_than": (lambda c: c.greater_than(0.0), [-1.0, 0.0, 1.0, np.nan]),
    "interval": (lambda c: c.interval(0.0, 1.0), [-1.0, 0.0, 1.0, 2.0]),
    "half_open_interval": (lambda c: c.half_open_interval(0.0, 1.0), [-1.0, 0.0, 1.0, 2.0]),
    "integer_interval": (lambda c: c.integer_interval(0, 2), [-1.0, 0.0, 0.5, 2.0, 3.0]),
    "boolean": (lambda c: c.boolean, [0.0, 1.0, 2.0]),
    "one_hot": (lambda c: c.one_hot, [[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]]),
    "simplex": (lambda c: c.simplex, [[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]]),
    "lower_triangular": (lambda c: c.lower_triangular, [[[1.0, 0.0], [2.0, -1.0]], [[1.0, 1.0], [1.0, 1.0]]]),
    "corr_cholesky": (lambda c: c.corr_cholesky, [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.9]]]),
    "symmetric": (lambda c: c.symmetric, [[[1.0, 2.0], [2.0, -1.0]], [[1.0, 1.0], [2.0, 1.0]]]),
    "positive_semidefinite": (lambda c: c.positive_semidefinite, [[[1.0, 0.0], [0.0, 1.0]], [[-1.0, 0.0], [0.0, 1.0]]]),
    "square": (lambda c: c.square, [[1.0, 2.0, 3.0]]),
    "multinomial": (lambda c: c.multinomial(3), [[1.0, 2.0], [2.0, 2.0], [-1.0, 1.0]]),
    "independent": (lambda c: c.independent(c.positive, 1), [[1.0, 2.0], [-1.0, 1.0]]),
}


@cases("name", BAD)
def test_constraints_say_where_they_hold(name: str) -> None:
    make, values = BAD[name]
    mine, other = (make(library.constraints) for library in both())
    np.testing.assert_array_equal(host(mine.check(ours(np.array(values)))), host(other.check(theirs(np.array(values)))))
    assert repr(mine) == repr(other)
    assert (mine.event_dim, mine.is_discrete) == (other.event_dim, other.is_discrete)


def test_dependent_constraints() -> None:
    for library in both():
        c = library.constraints

        class Own(library.Distribution):  # type: ignore[name-defined,misc]
            @c.dependent_property(is_discrete=False, event_dim=1)  # type: ignore[misc]
            def support(self) -> Any:
                return "of the object"

        assert c.is_dependent(Own.support)
        assert Own.support.event_dim == 1
        assert Own(validate_args=False).support == "of the object"
        assert not c.is_dependent(c.real)
        assert c.dependent(event_dim=2).event_dim == 2
        with pytest.raises(NotImplementedError):
            c.dependent.is_discrete


@cases("library", both())
def test_a_subclass_of_independent_is_expanded_into_the_object_that_it_gives(library: Any) -> None:
    class Diagonal(library.Independent):  # type: ignore[misc]
        def __init__(self, loc: Any, scale: Any) -> None:
            super().__init__(library.Normal(loc, scale), 1)

    class Expanded(Diagonal):
        def expand(self, batch_shape: Any, new: Any = None) -> Any:
            return super().expand(batch_shape, self._get_checked_instance(Expanded, new))

    normal = library.Normal(0.0, 1.0).expand((3,))
    larger = Expanded(normal.loc, normal.scale).expand((4,))
    assert type(larger) is Expanded
    assert (tuple(larger.batch_shape), tuple(larger.event_shape)) == ((4,), (3,))
    assert tuple(larger.log_prob(larger.sample()).shape) == (4,)
    with pytest.raises(NotImplementedError, match=r"must also define a custom \.expand"):
        Diagonal(normal.loc, normal.scale).expand((4,))


def test_the_inverse_is_of_a_class_with_pytorchs_name() -> None:
    for library in both():
        assert type(library.ExpTransform().inv) is library.transforms._InverseTransform


def test_a_transform_may_be_a_module_and_pickled() -> None:
    class Scale(distributions.Transform, nn.Module):
        pass

    assert list(Scale().parameters()) == []
    transform = distributions.AffineTransform(1.0, 2.0)
    assert transform.inv.inv is transform
    assert pickle.loads(pickle.dumps(transform)) == transform
