"""Optimisers and clipping on a GPU change all tensors of a group together: against the plain rules in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.backend import many_cuda
from minigrad.nn.utils import clip_grad_norm_, clip_grads_with_norm_, get_total_norm
from minigrad.nn.utils.clip_grad import scale_
from minigrad.optim import muon
from minigrad.optim.adam import numbers, plain_step
from minigrad.optim.optimizer import Values
from minigrad.optim.swa_utils import move_means
from tests.support import kernel_checks, launches, strict
from tests.support.kernel_checks import assert_close, kernel, needs_emulator, on_device
from tests.support.tables import in_one_test

PART = many_cuda.PART
DTYPES = ("float16", "float32", "float64")
SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (3,), (17, 5), (64, 65), (PART,), (PART + 1,), (3, PART)]
Rows = list[tuple[Any, ...]]


@pytest.fixture(params=kernel_checks.PLACES, autouse=True)
def place(request: pytest.FixtureRequest) -> str:
    """Run each test with the emulator, and on a GPU where there is one."""
    kernel_checks.use(request.param)
    return str(request.param)


def rows(columns: int, dtype: str, shapes: list[tuple[int, ...]] = SHAPES, squares: int = 3) -> Rows:
    """Random arrays; those from column ``squares`` on are not negative."""
    rng = np.random.default_rng(0)
    signed = [[rng.standard_normal(shape) for _ in range(columns)] for shape in shapes]
    return [tuple(np.asarray(abs(a) if j >= squares else a, dtype) for j, a in enumerate(row)) for row in signed]


def moved(table: Rows) -> Rows:
    return [tuple(on_device(a) for a in row) for row in table]


def wide(row: tuple[Any, ...]) -> list[Any]:
    return [a.astype(np.float64) for a in row]


# the kernels


@in_one_test("dtype", DTYPES)
@in_one_test("amsgrad", [False, True])
@in_one_test(
    "case", [{}, {"maximize": True}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True}]
)
def test_adam(case: dict[str, Any], amsgrad: bool, dtype: str) -> None:
    usual = {"lr": 0.01, "betas": (0.9, 0.99), "eps": 1e-3, "weight_decay": 0, "maximize": False}
    options = Values(**usual | {"decoupled_weight_decay": False} | case)
    start = rows(5 if amsgrad else 4, dtype)
    steps, arrays = [1 + i % 3 for i in range(len(start))], moved(start)
    many = kernel("adam").Many(arrays)
    assert all(many.fits)
    kernel("adam").step_all(many, *numbers(steps, options))
    for step, after, row in zip(steps, arrays, start, strict=True):
        expected = wide(row) + [None] * (not amsgrad)
        decay = options.weight_decay, options.decoupled_weight_decay
        plain_step(*expected, options.lr, *options.betas, options.eps, *decay, step, options.maximize)
        for a, b in zip(after, expected, strict=False):
            assert_close(a.get(), b, dtype)
        np.testing.assert_array_equal(after[1].get(), row[1], err_msg="the gradient is only read")


def test_adams_first_step_has_the_rates_size_and_nan_stays_where_it_is() -> None:
    g = np.array([1e-3, -5.0, np.nan, -7.0])
    row = tuple(on_device(a) for a in (np.zeros(4), g, np.zeros(4), np.zeros(4), np.ones(4)))
    options = Values(
        lr=0.1, betas=(0.9, 0.999), eps=0.0, weight_decay=0.0, decoupled_weight_decay=False, maximize=False
    )
    kernel("adam").step_all(kernel("adam").Many([row[:4]]), *numbers([1], options))
    np.testing.assert_allclose(row[0].get(), [-0.1, 0.1, np.nan, 0.1])
    kernel("adam").step_all(kernel("adam").Many([row]), *numbers([2], options))
    np.testing.assert_array_equal(np.isnan(row[4].get()), np.isnan(g))


@in_one_test("dtype", DTYPES)
@in_one_test("weight_decay", [0.0, 0.1])
@in_one_test("momentum", [0.0, 0.9])
@in_one_test("how", ["", "maximize", "nesterov", "dampening"])
def test_sgd(how: str, momentum: float, weight_decay: float, dtype: str) -> None:
    start = rows(3 if momentum else 2, dtype)
    sign, rest = -1 if how == "maximize" else 1, 0.6 if how == "dampening" else 1
    arrays = moved(start)
    kernel("sgd").step_all(kernel("sgd").Many(arrays), sign, weight_decay, momentum, rest, how == "nesterov", 0.1)
    for after, row in zip(arrays, start, strict=True):
        p, g, *buffer = wide(row)
        step = sign * g + weight_decay * p
        if momentum:
            mean = momentum * buffer[0] + rest * step
            step = step + momentum * mean if how == "nesterov" else mean
            assert_close(after[2].get(), mean, dtype)
        assert_close(after[0].get(), p - 0.1 * step, dtype)
        np.testing.assert_array_equal(after[1].get(), row[1], err_msg="the gradient is only read")


@in_one_test("dtype", ["float32", "float64"])
@in_one_test("scale", [1.0, 1e-12, 1e9])
@in_one_test(
    "case",
    [{}, {"nesterov": False}, {"weight_decay": 0.0, "ns_steps": 1}, {"ns_steps": 0}, {"adjust_lr_fn": muon.MATCHED}],
)
def test_muon(case: dict[str, Any], scale: float, dtype: str) -> None:
    usual = {"lr": 0.02, "weight_decay": 0.1, "momentum": 0.95, "nesterov": True, "ns_coefficients": muon.JORDAN}
    options = Values(**usual | {"eps": 1e-7, "ns_steps": 5, "adjust_lr_fn": None} | case)
    shapes: list[tuple[int, ...]] = [(1, 1), (9, 1), (3, 5), (40, 130), (5, 3), (0, 4), (17, 17), (3, 5), (130, 40)]
    start = [tuple(np.asarray(scale * a, dtype) for a in row) for row in rows(3, "float64", [*shapes, (3, 5)])]
    arrays = moved(start)
    rates = [muon.rate_of(options.lr, row[0].shape, options.adjust_lr_fn) for row in start]
    share = options.momentum if options.nesterov else 1.0
    shares = 1 - options.lr * options.weight_decay, 1 - options.momentum, share
    values = *shares, *options.ns_coefficients, options.eps
    many = kernel("muon").Many(arrays)
    assert all(kernel("muon").step_all(many, rates, values, options.ns_steps))
    tolerance = {"float32": 2e-5, "float64": 1e-12}[dtype]
    for after, row in zip(arrays, start, strict=True):
        expected = wide(row)
        muon.muon_step(*expected, options)
        for a, b in zip(after, expected, strict=True):
            size = np.abs(b).max(initial=0.0)
            np.testing.assert_allclose(a.get(), b, rtol=tolerance, atol=tolerance * size, err_msg=str(b.shape))
        np.testing.assert_array_equal(after[1].get(), row[1], err_msg="the gradient is only read")


def test_what_kernels_do_not_take() -> None:
    a, b, c, d = (on_device(np.zeros((4, 6), "float32")) for _ in range(4))
    double = on_device(np.zeros((4, 6)))
    for other in double, b.T, b[:, ::2], b[:3], on_device(np.zeros((4, 6), "int32")), np.zeros((4, 6), "float32"), None:
        assert many_cuda.Many([(a, c), (d, other)]).fits == [True, False]
    assert many_cuda.Many([(a, b), (double, double + 1)]).fits == [True, True]  # a launch for each dtype
    assert many_cuda.Many([(a, b), (a.reshape(-1), c.reshape(-1))]).fits == [False, False]  # one memory
    assert many_cuda.Many([(on_device(np.zeros(3, "int32")),)]).fits == [False]
    assert many_cuda.Many([(a, b), (np.zeros(3), np.zeros(3))]).fits == [True, False]  # a parameter on the CPU


# clipping


def parameters(place: str, gradients: list[Any]) -> list[mg.Tensor]:
    params = [mg.nn.Parameter(mg.from_numpy(np.zeros_like(g)).to(place)) for g in gradients]
    for p, g in zip(params, gradients, strict=True):
        p.grad = mg.from_numpy(g.copy()).to(place)
    return params


def gradients_of(params: list[mg.Tensor]) -> list[Any]:
    return [p.grad.numpy(force=True) for p in params if p.grad is not None]


@in_one_test("dtype", DTYPES)
@in_one_test("most", [0.0, 1.0, 1e6])
def test_clipping(place: str, most: float, dtype: str) -> None:
    before = [np.asarray(row[0] / 4, dtype) for row in rows(1, dtype)]
    params = parameters(place, before)
    total = clip_grad_norm_(params, most)
    expected = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in before))
    assert total.device.type == place
    assert total.dtype == params[0].dtype
    assert_close(total.item() / expected, 1.0, dtype)
    for after, g in zip(gradients_of(params), before, strict=True):
        assert_close(after, g.astype(np.float64) * min(1, most / (expected + 1e-6)), dtype)


def test_clipping_of_several_dtypes(place: str) -> None:
    before = [np.full(5, 3, "float64"), np.full((2, 2), 2, "float32"), np.full(PART + 3, 0.5, "float32")]
    params = parameters(place, before)
    total = clip_grad_norm_(params, 1.0)
    norm = np.sqrt(45 + 16 + (PART + 3) / 4)
    assert total.dtype == mg.float64
    np.testing.assert_allclose(total.item(), norm, rtol=1e-12)
    for after, g in zip(gradients_of(params), before, strict=True):
        assert after.dtype == g.dtype
        np.testing.assert_allclose(after, g / (norm + 1e-6), rtol=1e-6)


def test_a_norm_too_large_for_the_first_dtype(place: str) -> None:
    params = parameters(place, [np.ones(2, "float16"), np.full(3, 1e5, "float32")])
    total = clip_grad_norm_(params, 1.0)
    assert total.dtype == mg.float32
    np.testing.assert_allclose(total.item(), np.sqrt(3e10 + 2), rtol=1e-6)
    np.testing.assert_allclose(gradients_of(params)[1], 3**-0.5, rtol=1e-5)


@in_one_test("value", [0.0, 1e-30, 1e25, np.inf, -np.inf, np.nan])
def test_clipping_of_extreme_numbers_is_as_in_float64(place: str, value: float) -> None:
    """Squares that float32 does not hold are no matter; what is not finite spreads as in PyTorch."""
    before = [np.array([value, 0, value], "float32"), np.float32(value) * np.ones(3, "float32")]
    params = parameters(place, before)
    total = clip_grad_norm_(params, 1.0).item()
    with np.errstate(all="ignore"):
        expected = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in before))
        np.testing.assert_allclose(total, expected, rtol=1e-6)
        factor = np.minimum(1.0, 1.0 / (expected + 1e-6))
        for after, g in zip(gradients_of(params), before, strict=True):
            np.testing.assert_allclose(after, g * factor, rtol=1e-5)


def test_norms_are_the_same_bits_each_time(place: str) -> None:
    start = [np.random.default_rng(3).standard_normal(5 * PART).astype("float32")]
    assert len({get_total_norm(gradients(place, start)).item() for _ in range(3)}) == 1


def gradients(place: str, start: list[Any]) -> list[mg.Tensor]:
    return [p.grad for p in parameters(place, start) if p.grad is not None]


def test_a_norm_on_the_cpu_and_an_error_for_one_that_is_not_finite(place: str) -> None:
    params = parameters(place, [np.full(4, 10, "float32")])
    clip_grads_with_norm_(params, 1.0, mg.tensor(20.0))
    np.testing.assert_allclose(gradients_of(params)[0], 0.5, rtol=1e-6)
    params[0].grad.fill_(mg.inf)
    with pytest.raises(RuntimeError, match="non-finite"):
        clip_grad_norm_(params, 1.0, error_if_nonfinite=True)


@in_one_test("dtype", DTYPES)
def test_scaling(place: str, dtype: str) -> None:
    start = [row[0] for row in rows(1, dtype)]
    tensors = gradients(place, start)
    scale_(tensors, 0.3)
    clip = kernel("clip_grad_norm")
    clip.scale(clip.Many([(t.array,) for t in tensors]), on_device(np.array(0.25, "float32")))
    for t, g in zip(tensors, start, strict=True):
        assert_close(t.numpy(force=True), 0.075 * g.astype(np.float64), dtype)


# optimisers

RULES: list[tuple[Any, dict[str, Any]]] = [
    (mg.optim.Adam, {"amsgrad": True, "weight_decay": 0.1, "maximize": True}),
    (mg.optim.AdamW, {"lr": 0.05}),
    (mg.optim.SGD, {"lr": 0.1}),
    (mg.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    (mg.optim.Muon, {"lr": 0.1}),
]
MATRICES = [(5, 7), (7, 5), (5, 7), (70, 90), (1, 1), (0, 3), (12, 6)]


def trained(place: str, dtype: Any, rule: Any, options: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Some steps: gradients are missing, a group comes later, the state is loaded, layouts are of all kinds."""
    rng = np.random.default_rng(1)

    def tensor(shape: tuple[int, ...]) -> mg.Tensor:
        return mg.tensor(rng.standard_normal(shape), dtype=dtype, device=place)

    params = [mg.nn.Parameter(tensor(shape)) for shape in MATRICES]
    params[-1] = mg.nn.Parameter(tensor((6, 12)).t())
    optimizer = rule(params[:4], **options)
    optimizer.param_groups[0]["lr"] = 0.02
    kept = []
    for step in range(4):
        if step == 1:
            optimizer.add_param_group({"params": params[4:]})
        if step == 3:
            other = rule([{"params": params[:4]}, {"params": params[4:]}], **options)
            other.load_state_dict(optimizer.state_dict())
            optimizer = other
        for i, p in enumerate(params):
            p.grad = None if (step + i) % 5 == 0 else tensor(tuple(p.shape))
            if i == 1 and p.grad is not None:
                p.grad = tensor(tuple(p.shape)[::-1]).t()
            kept.append(p.grad)  # so that each step has gradients in other places
        optimizer.step()
    state = [s[name].numpy(force=True) for p in params for s in [optimizer.state[p]] for name in sorted(s)]
    return [p.numpy(force=True) for p in params], state


@pytest.mark.parametrize(("rule", "options"), RULES, ids=str)
@pytest.mark.parametrize("dtype", [mg.float32, mg.float64])
def test_optimisers_are_what_they_are_without_kernels(
    place: str, dtype: Any, rule: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    after = trained(place, dtype, rule, options)
    for file in "adam", "sgd", "muon":
        monkeypatch.setattr(f"minigrad.optim.{file}.together", lambda name, params: None)
    expected = trained("cpu", mg.float64, rule, options)
    tolerance = 1e-10 if dtype is mg.float64 else 2e-4 if rule is mg.optim.Muon else 1e-5
    for ours, theirs in zip(after, expected, strict=True):
        assert len(ours) == len(theirs) > 0 or not theirs
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_two_optimisers_of_the_same_shapes_do_not_mix_their_tables(place: str) -> None:
    groups = [parameters(place, [np.full(3, value, "float32"), np.full(3, value, "float32")]) for value in (1, 2)]
    optimizers = [mg.optim.SGD(params, lr=0.5) for params in groups]
    for _ in range(2):
        for optimizer in optimizers:
            optimizer.step()
    for value, params in zip((1, 2), groups, strict=True):
        for p in params:
            np.testing.assert_array_equal(p.numpy(force=True), np.full(3, -value))


# launches


def counted(shapes: list[tuple[int, ...]], rule: Any, **options: Any) -> tuple[Any, Any]:
    """The launches of clipping and of a step when the state has begun, and gradients are where they were."""
    params = parameters("strict", [np.ones(shape, "float32") for shape in shapes])
    optimizer = rule(params, **options)
    for _ in range(3):
        with launches.count() as clipping:
            clip_grad_norm_(params, 1.0)
        with launches.count() as step:
            optimizer.step()
    assert clipping.syncs == step.syncs == 0
    return clipping, step


@needs_emulator
def test_launches() -> None:
    strict.install()
    shapes: list[tuple[int, ...]] = [(3 + i, 5) for i in range(20)]
    for rule, options in RULES[:4]:
        clipping, step = counted(shapes, rule, **options)
        assert clipping.launches == 3, clipping.by_name
        assert step.launches == 1, step.by_name
    _, step = counted([(4, 6), (6, 4), (5, 5)] * 4, mg.optim.Muon)
    assert step.launches <= 3 * 25, step.by_name


@needs_emulator
def test_a_gradient_elsewhere_is_one_upload() -> None:
    strict.install()
    params = parameters("strict", [np.ones(9, "float32"), np.ones(4, "float32")])
    optimizer = mg.optim.Adam(params)
    optimizer.step()
    kept = [p.grad for p in params]
    for p in params:
        p.grad = mg.zeros(p.shape, device="strict")
    with launches.count() as step:
        optimizer.step()
    assert (step.by_name, step.syncs, len(kept)) == ({"adam": 1, "asarray": 1}, 0, 2)


@needs_emulator
def test_means_of_weights_move_in_one_launch() -> None:
    strict.install()
    start = [np.arange(n, dtype="float32") for n in (3, 5, PART + 1)]
    means = [mg.from_numpy(g).to("strict") for g in start] + [mg.ones(2, dtype=mg.int64, device="strict")]
    new = [mg.ones_like(m) for m in means[:-1]] + [mg.full((2,), 7, device="strict")]
    for _ in range(2):
        with launches.count() as step:
            move_means(means, new, 0.25)
    assert step.by_name == {"sgd": 1, "setitem": 1}
    for m, g in zip(means, start, strict=False):
        np.testing.assert_allclose(m.numpy(force=True), 1 + 0.75**2 * (g - 1), rtol=1e-6)
    assert (means[-1] == 7).all()
