"""Transforms, and the constraints of their results, against PyTorch."""

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad import distributions, nn
from tests.support.both import agree
from tests.support.cases import cases, programs, raises
from tests.support.parity import assert_close, in_torch_words, ours, theirs, torch

_RNG = np.random.default_rng(0)
ARRAYS = _RNG.standard_normal((2, 3)), _RNG.standard_normal((2, 3, 3)), _RNG.random((2, 3)) + 0.2
VECTORS = ARRAYS[0]
# The input, one of ARRAYS, and the transform applied to it
KINDS: list[tuple[int, str]] = [
    *(
        (0, row)
        for row in programs("""
    D.ExpTransform(); D.SigmoidTransform(); D.SoftplusTransform(); D.TanhTransform(); D.AffineTransform(1.0, -2.0);
    D.AffineTransform(1.0, -2.0, event_dim=1); D.CumulativeDistributionTransform(D.Normal(0.0, 2.0));
    D.SoftmaxTransform(); D.StickBreakingTransform(); D.CorrCholeskyTransform(); D.ComposeTransform([]);
    D.IndependentTransform(D.ExpTransform(), 1); D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 3.0)]);
    D.ComposeTransform([D.AffineTransform(1.0, 3.0), D.StickBreakingTransform()]);
    D.CatTransform([D.ExpTransform(), D.TanhTransform()], -1, [1, 2]);
    D.StackTransform([D.ExpTransform(), D.TanhTransform()], 0)
    """)
    ),
    *(
        (1, f"D.{row}")
        for row in ("LowerCholeskyTransform()", "PositiveDefiniteTransform()", "ReshapeTransform((3, 3), (9,))")
    ),
    *((2, f"D.{row}") for row in ("AbsTransform()", "PowerTransform(2.0)", "ExpTransform().inv")),
]
UNCACHED = ("D.ComposeTransform([])", "D.Cat", "D.Stack", "D.ExpTransform().inv")


def both() -> tuple[Any, Any]:
    return distributions, torch.distributions


@cases("kind, cache_size", itertools.product(KINDS, [0, 1]))
def test_values_inverses_and_jacobians(kind: tuple[int, str], cache_size: int) -> None:
    number, name = kind

    def program(t: Any, x: Any) -> list[Any]:
        transform = eval(name, {"D": t.distributions})
        if cache_size and not name.endswith("inv"):
            transform = transform.with_cache(cache_size)
        y = transform(x)
        back = transform.inv(y)
        if not name.startswith(UNCACHED):
            assert (back is x) == bool(cache_size)
        jacobian = transform.log_abs_det_jacobian(x, y) if transform.bijective else y * 0
        shapes = tuple(transform.forward_shape(x.shape)), tuple(transform.inverse_shape(y.shape))
        texts = map(in_torch_words, map(repr, (transform, transform.domain, transform.codomain)))
        return [y, back, jacobian, *shapes, *texts]

    agree(program, ARRAYS[number])


def test_equality() -> None:
    for library in both():
        assert library.ExpTransform() == library.ExpTransform()
        assert library.ExpTransform() != library.TanhTransform()
        assert library.AffineTransform(1, 2) == library.AffineTransform(1, 2)
        assert library.AffineTransform(1, 2) != library.AffineTransform(1, 3)
        assert library.ExpTransform().inv == library.ExpTransform().inv
        assert library.ExpTransform().inv.inv == library.ExpTransform()
        assert type(library.ExpTransform().inv) is library.transforms._InverseTransform
        assert library.ComposeTransform([]) == library.ComposeTransform([])


def test_a_custom_transform() -> None:
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


CONSTRAINTS = programs("""
c.real; c.positive; c.nonnegative; c.greater_than(2.0); c.greater_than_eq(2.0); c.less_than(2.0); c.unit_interval;
c.interval(-1.0, 2.0); c.half_open_interval(-1.0, 2.0); c.simplex; c.lower_cholesky; c.positive_definite;
c.corr_cholesky; c.independent(c.positive, 1); c.cat([c.positive, c.unit_interval], -1, [1, 2]);
c.stack([c.positive, c.unit_interval], 0)
""")


@cases("row, registry", itertools.product(CONSTRAINTS, ["biject_to", "transform_to"]))
def test_registries(row: str, registry: str) -> None:
    def program(t: Any, x: Any) -> list[Any]:
        constraint = eval(row, {"c": t.distributions.constraints})
        try:
            transform = getattr(t.distributions, registry)(constraint)
        except NotImplementedError as error:
            return [str(error)]
        y = transform(x)
        assert bool(constraint.check(y).all())
        return [y, transform.inv(y)]

    agree(program, ARRAYS["cholesky" in row.partition("corr_")[0] or "definite" in row])


BAD = [
    (lambda c: c.greater_than(0.0), [-1.0, 0.0, 1.0, np.nan]),
    (lambda c: c.interval(0.0, 1.0), [-1.0, 0.0, 1.0, 2.0]),
    (lambda c: c.half_open_interval(0.0, 1.0), [-1.0, 0.0, 1.0, 2.0]),
    (lambda c: c.integer_interval(0, 2), [-1.0, 0.0, 0.5, 2.0, 3.0]),
    (lambda c: c.boolean, [0.0, 1.0, 2.0]),
    (lambda c: c.one_hot, [[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]]),
    (lambda c: c.simplex, [[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]]),
    (lambda c: c.lower_triangular, [[[1.0, 0.0], [2.0, -1.0]], [[1.0, 1.0], [1.0, 1.0]]]),
    (lambda c: c.corr_cholesky, [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.9]]]),
    (lambda c: c.symmetric, [[[1.0, 2.0], [2.0, -1.0]], [[1.0, 1.0], [2.0, 1.0]]]),
    (lambda c: c.positive_semidefinite, [[[1.0, 0.0], [0.0, 1.0]], [[-1.0, 0.0], [0.0, 1.0]]]),
    (lambda c: c.square, [[1.0, 2.0, 3.0]]),
    (lambda c: c.multinomial(3), [[1.0, 2.0], [2.0, 2.0], [-1.0, 1.0]]),
    (lambda c: c.independent(c.positive, 1), [[1.0, 2.0], [-1.0, 1.0]]),
]


@cases("make, values", BAD)
def test_constraints_say_where_they_hold(make: Callable[[Any], Any], values: list[Any]) -> None:
    def program(t: Any) -> list[Any]:
        constraint = make(t.distributions.constraints)
        holds = constraint.check(t.tensor(values, dtype=t.float64))
        return [holds, repr(constraint), constraint.event_dim, constraint.is_discrete]

    agree(program)


def test_dependent_constraints() -> None:
    for library in both():
        c = library.constraints

        class Own(library.Distribution):  # type: ignore[name-defined,misc]
            @c.dependent_property(is_discrete=False, event_dim=1)  # type: ignore[misc]
            def support(self) -> Any:
                return "of the object"

        assert c.is_dependent(Own.support) and Own.support.event_dim == 1
        assert Own(validate_args=False).support == "of the object" and not c.is_dependent(c.real)
        assert c.dependent(event_dim=2).event_dim == 2
        raises(NotImplementedError, None, lambda c=c: c.dependent.is_discrete)


@cases("library", both())
def test_a_subclass_of_independent_expands_into_the_object_that_it_provides(library: Any) -> None:
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
    expand = Diagonal(normal.loc, normal.scale).expand
    raises(NotImplementedError, r"must also define a custom \.expand", lambda: expand((4,)))


def test_a_transform_may_be_a_module_and_pickled() -> None:
    class Scale(distributions.Transform, nn.Module):
        pass

    assert list(Scale().parameters()) == []
    transform = distributions.AffineTransform(1.0, 2.0)
    assert transform.inv.inv is transform and pickle.loads(pickle.dumps(transform)) == transform
