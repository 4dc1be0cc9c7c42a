"""``torch.linalg`` against PyTorch: values, gradients, float32 results, and errors."""

import math
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.both import agree
from tests.support.cases import cases, programs, raises
from tests.support.parity import assert_close, in_torch_words, listed, ours, theirs, torch

SMOOTH = programs("""
t.linalg.eigh(a + a.mT).eigenvalues; t.linalg.eigh(a + a.mT)[1].abs(); t.linalg.eigvalsh(a + a.mT);
t.linalg.svdvals(a[:, :2]); [p.shape for p in t.linalg.svd(a[:, :2])]; t.linalg.qr(a[:, :2]).R.abs().detach();
t.linalg.svd(a[:, :2], False).S; t.matmul(*t.linalg.qr(a[:, :2])).detach(); t.linalg.pinv(a[:, :2]);
rebuilt(t.svd(a[:, :2])); t.linalg.matrix_rank(a[:, :2]); [p.shape for p in t.svd(a[:, :2], False)];
list(t.svd(a[:, :2].detach(), compute_uv=False)); t.matmul(*t.qr(a[..., :2]));
[p.shape for p in t.qr(a[..., :2], some=False)]; t.linalg.inv(a); t.linalg.det(a); t.linalg.slogdet(a).logabsdet;
t.logdet(a @ a.mT); t.linalg.solve(a, a[..., :2] + 1); t.linalg.solve(a[0], a[0, 0] * 2);
t.linalg.solve(a, a[:, :2] + 1, left=False); t.linalg.cholesky(a @ a.mT); t.linalg.cholesky(a @ a.mT, upper=True);
t.linalg.norm(a); t.linalg.norm(a, dim=-1, keepdim=True); t.linalg.norm(a, 1, dim=(-2, -1));
t.linalg.vector_norm(a, 3, dim=1); t.linalg.vector_norm(a, math.inf, dim=1); t.linalg.matrix_norm(a);
t.linalg.matrix_norm(a, math.inf, keepdim=True); t.linalg.matrix_power(a, 3); t.linalg.multi_dot([a[0], a[1], a[0]]);
t.linalg.vecdot(a, a + 1); t.linalg.cross(a, a + 1); t.linalg.diagonal(a, offset=1);
t.norm(a, "nuc", dim=(2, 0), keepdim=True); t.linalg.matrix_norm(a, "nuc");
t.linalg.matrix_norm(a, 2, dim=(0, 2), keepdim=True); t.linalg.matrix_norm(a, -2); t.linalg.cond(a);
t.linalg.cond(a[:, :2], -2); t.linalg.inv_ex(a).inverse; t.linalg.solve_ex(a, a[..., :2] + 1).result;
t.linalg.solve_ex(a, a[:, 0]).result; t.linalg.cholesky_ex(a @ a.mT).L; t.cholesky_solve(a + 1, a);
t.cholesky_inverse(a, upper=True); t.cholesky_inverse(a); t.cholesky_solve(a[0] + 1, a, upper=True);
t.triangular_solve(a + 1, a, transpose=True)[0]; sum(t.linalg.lu(a)); t.lu_solve(a + 1, *t.linalg.lu_factor(a));
t.linalg.lu_solve(*t.lu(a), a + 1, left=False, adjoint=True); t.linalg.tensorinv(a[0].reshape(3, 1, 3), ind=1);
t.linalg.tensorsolve(a[0].reshape(1, 3, 3), a[1, :1], dims=None);
t.linalg.tensorsolve(a[0].reshape(3, 1, 3), a[1, :1], dims=(0,)); t.linalg.vander(a, N=4);
t.vander(a[0, 0].detach(), 5); t.vander(a[0, 0].detach(), 2, True); t.vander(a[0, 0].detach(), 0);
t.nn.functional.pdist(a[0], 1.0); t.nn.functional.pdist(a[0]); t.nn.functional.pdist(a[0], math.inf);
t.linalg.householder_product(a, a[:, 0, :2]); t.ormqr(a, a[:, 0], a + 1, left=False, transpose=True);
t.ormqr(a[..., :0], a[:, 0, :0], a + 1); a.matrix_exp(); rebuilt(t.svd_lowrank(a, q=3));
rebuilt(t.pca_lowrank(a, q=2)); t.linalg.lstsq(a[..., :2], a[..., 2:], driver="gelsd").residuals
""")


def rebuilt(parts: Any) -> Any:
    """U diag(S) Vᴴ, which does not depend on signs."""
    return (parts[0] * parts[1].unsqueeze(-2)) @ parts[2].mT


def matrices() -> Any:
    return np.random.default_rng(0).standard_normal((2, 3, 3)) + 3 * np.eye(3)


@cases("program", SMOOTH)
def test_values_and_gradients_in_float64_and_float32(program: str, device: str) -> None:
    call = lambda t, a: eval(program, {"t": t, "a": a, "math": math, "rebuilt": rebuilt})
    agree(call, matrices(), device=device)
    agree(call, matrices().astype(np.float32), gradient=False, device=device)


def test_equal_values_have_gradients_if_vectors_are_unused(device: str) -> None:
    x = minigrad.eye(3, dtype=minigrad.float64, device=device).requires_grad_()
    for f in (lambda t: t.linalg.svd(x).S, lambda t: t.linalg.eigh(x).eigenvalues, lambda t: t.linalg.svdvals(x)):
        (g,) = minigrad.autograd.grad(f(minigrad).sum(), x)
        assert_close(g, np.eye(3))


def test_singular_matrices_have_an_info(device: str) -> None:
    a = np.stack([np.eye(3), np.diag([1.0, 0.0, 2.0]), np.ones((3, 3))])
    x, y = ours(a, True, device), theirs(a)
    result, info = minigrad.linalg.inv_ex(x)
    assert info.tolist() == torch.linalg.inv_ex(y).info.tolist() == [0, 2, 2] and info.dtype is minigrad.int32
    assert_close(result[0], a[0])
    assert bool(result[1:].isnan().all())
    (g,) = minigrad.autograd.grad(result[0].sum(), x)
    assert_close(g, np.stack([-np.ones((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))]))
    result, info = minigrad.linalg.solve_ex(x, x[..., 0])
    assert info.tolist() == [0, 2, 2] and result.isnan().tolist() == [[False] * 3, [True] * 3, [True] * 3]
    assert minigrad.linalg.lu_factor_ex(x).info.tolist() == torch.linalg.lu_factor_ex(y).info.tolist()
    assert minigrad.linalg.cond(x, 1).tolist()[1:] == [math.inf, math.inf]
    factor, info = minigrad.linalg.cholesky_ex(x)
    assert info.tolist() == torch.linalg.cholesky_ex(y).info.tolist() == [0, 2, 2]
    assert factor.isnan().any(-1).any(-1).tolist() == [False, True, True]
    for refuse in (minigrad.linalg.inv_ex, minigrad.linalg.cholesky_ex, minigrad.linalg.lu_factor_ex):
        raises(minigrad.linalg.LinAlgError, None, lambda refuse=refuse: refuse(x, check_errors=True))
    actual = minigrad.linalg.solve_triangular(x[1], x[0], upper=True)
    assert_close(actual.nan_to_num(7, 8, 9), torch.linalg.solve_triangular(y[1], y[0], upper=True).nan_to_num(7, 8, 9))


@cases("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 3), (0, 3, 3)])
def test_empty_matrices(shape: tuple[int, ...], device: str) -> None:
    x, y = ours(np.zeros(shape), True, device), theirs(np.zeros(shape))
    square = ("eigh", "eig", "inv", "matrix_exp") if shape[-1] == shape[-2] else ()
    for name in ("svd", "qr", "svdvals", "pinv", "matrix_rank", "lu_factor", *square):
        actual, expected = (listed(getattr(t.linalg, name)(a)) for t, a in ((minigrad, x), (torch, y)))
        assert [tuple(f.shape) for f in actual] == [tuple(e.shape) for e in expected], name
        assert [in_torch_words(f.dtype) for f in actual] == [str(e.dtype) for e in expected], name


def test_ranks_and_pseudo_inverses_by_tolerance(device: str) -> None:
    a = np.stack([np.diag([4.0, 1.0, 0.1]), np.diag([2.0, 1e-20, 0.0])])
    x, y = ours(a, device=device), theirs(a)
    limits: list[dict[str, Any]] = [{}, {"atol": 0.5}, {"rtol": 0.3}, {"atol": 0.5, "rtol": 0.3}, {"hermitian": True}]
    limits += [{"atol": [0.0, 3.0]}, {"atol": [0.0, 3.0], "rtol": [0.3, 0.0]}]
    for options in limits:
        mine, others = (
            {k: t(np.array(v)) if isinstance(v, list) else v for k, v in options.items()} for t in (ours, theirs)
        )
        assert_close(minigrad.linalg.matrix_rank(x, **mine), torch.linalg.matrix_rank(y, **others))
        assert_close(minigrad.linalg.pinv(x, **mine), torch.linalg.pinv(y, **others))
    assert minigrad.linalg.matrix_rank(x, 0.5, True).tolist() == [2, 1]
    assert_close(minigrad.pinverse(x, 0.3), torch.pinverse(y, 0.3))


@cases("size", [1e-3, 1.0, 30.0, 1000.0])
def test_matrix_exp_of_small_and_large(size: float, device: str) -> None:
    a = np.random.default_rng(0).standard_normal((3, 4, 4))
    a = np.concatenate([(a - np.swapaxes(a, 1, 2)) * size, a[:1] * 1e-5, np.triu(a[:1], 1) * size])
    computed, expected = minigrad.linalg.matrix_exp(ours(a, device=device)), torch.linalg.matrix_exp(theirs(a))
    assert_close(computed, expected, rtol=1e-9 * size)


def reals(x: Any) -> Any:
    """The real and the imaginary parts of complex numbers."""
    return (torch if isinstance(x, torch.Tensor) else minigrad).view_as_real(x) if x.is_complex() else x


@cases("n", [0, 1, 2, 5, 80])
@cases("kind", ["float64", "complex128", "hermitian"])
def test_ldl(n: int, kind: str, device: str) -> None:
    """With one-row and two-row blocks; LAPACK splits matrices of more than 64 rows."""
    rng = np.random.default_rng(n)
    a = rng.standard_normal((3, n, n)) + (0 if kind == "float64" else 1j * rng.standard_normal((3, n, n)))
    hermitian = kind == "hermitian"
    a = a + np.swapaxes(a.conj() if hermitian else a, 1, 2)
    a[0] -= np.eye(n) * np.diagonal(a[0])[:, None]
    a[1:2] *= 1e-3 if n != 1 else 1
    x, y = ours(a[1:], device=device), theirs(a[1:])
    actual = minigrad.linalg.ldl_factor(x, hermitian=hermitian)
    expected = torch.linalg.ldl_factor(y, hermitian=hermitian)
    assert_close(reals(actual.LD), reals(expected.LD), rtol=1e-6)
    assert_close(actual.pivots, expected.pivots)
    full = ours(a, device=device)
    factors = minigrad.linalg.ldl_factor_ex(full, hermitian=hermitian)
    assert factors.info.tolist() == torch.linalg.ldl_factor_ex(theirs(a), hermitian=hermitian).info.tolist()
    if n > 1:
        b = ours(rng.standard_normal((n, 2)).astype(a.dtype), device=device)
        X = minigrad.linalg.ldl_solve(factors.LD, factors.pivots, b, hermitian=hermitian)
        assert_close(reals(full @ X), reals(b.expand(3, n, 2)), rtol=1e-7)


def test_ldl_of_singular_matrices_or_with_a_gradient() -> None:
    x = minigrad.tensor([[0.0, 0.0], [0.0, 1.0]])
    assert int(minigrad.linalg.ldl_factor_ex(x).info) == 1
    raises(minigrad.linalg.LinAlgError, r"D\[1,1\] is zero", lambda: minigrad.linalg.ldl_factor(x))
    raises(NotImplementedError, "has no gradient", lambda: minigrad.linalg.ldl_factor(x.requires_grad_()))


@cases("p", [1, -math.inf, "fro", "nuc"])
def test_cond_by_the_inverse(p: Any, device: str) -> None:
    x = ours(matrices(), True, device)
    assert_close(minigrad.linalg.cond(x, p), torch.linalg.cond(theirs(matrices()), p))
    assert minigrad.autograd.gradcheck(lambda x: minigrad.linalg.cond(x, p), [x])  # PyTorch's fails


def test_a_result_that_the_rule_needs_may_not_be_changed() -> None:
    x = ours(matrices(), True)
    u, s, _ = minigrad.linalg.svd(x)
    with minigrad.no_grad():
        s.mul_(2)
    raises(RuntimeError, "modified by an inplace", lambda: u.sum().backward())


def test_refusals() -> None:
    tall = ours(matrices()[:, :, :2], True)
    with pytest.raises(RuntimeError, match="not differentiable when mode='complete'"):
        minigrad.linalg.qr(tall, "complete").R.sum().backward()
    raises(RuntimeError, "Incompatible shapes", lambda: minigrad.linalg.solve(minigrad.eye(3), minigrad.ones(2, 2)))
    with pytest.raises(RuntimeError, match="same dtype"):
        minigrad.linalg.solve_triangular(minigrad.eye(3), minigrad.ones(3, 2).double(), upper=True)
    raises(RuntimeError, "at least 2 dimensions", lambda: minigrad.linalg.svd(minigrad.ones(3)))
    with pytest.raises(RuntimeError, match="same number of dimensions"):
        minigrad.linalg.cross(minigrad.ones(2, 3), minigrad.ones(3))
    with pytest.raises(IndexError, match="Dimension out of range"):
        minigrad.linalg.cross(minigrad.ones(2, 3), minigrad.ones(2, 3), dim=2)
    with pytest.raises(RuntimeError, match=r"must be equal to input.shape\[-2\]"):
        minigrad.ormqr(minigrad.ones(3, 2), minigrad.ones(2), minigrad.ones(2, 3))
    raises(RuntimeError, "without pivoting", lambda: minigrad.linalg.lu(minigrad.eye(3), pivot=False))
    raises(RuntimeError, "square matrices", lambda: minigrad.linalg.inv(minigrad.ones(2, 3)))
    raises(RuntimeError, "floating point", lambda: minigrad.linalg.det(minigrad.ones(2, 2).long()))
    raises(minigrad.linalg.LinAlgError, None, lambda: minigrad.linalg.inv(minigrad.zeros(2, 2)))
    raises(ValueError, "is not one of", lambda: minigrad.linalg.matrix_norm(minigrad.ones(2, 2), 3))
    with pytest.raises(AttributeError, match=r"no minigrad\.linalg\.nrom; did you mean minigrad\.linalg\.norm\?"):
        minigrad.linalg.nrom  # type: ignore[attr-defined]


@cases("order", [1, -1, 2, -2, math.inf, -math.inf])
@cases("shape", [(0, 0), (0, 5), (5, 0), (2, 0, 3)])
def test_norms_of_empty_matrices(order: float, shape: tuple[int, ...]) -> None:
    """The largest of an empty set is 0; the smallest is an error."""
    try:
        expected = torch.linalg.matrix_norm(torch.ones(shape), order, keepdim=True)
    except IndexError:
        with pytest.raises(IndexError, match="Expected reduction dim to have non-zero size"):
            minigrad.linalg.matrix_norm(minigrad.ones(shape), order, keepdim=True)
    else:
        assert_close(minigrad.linalg.matrix_norm(minigrad.ones(shape), order, keepdim=True), expected)
