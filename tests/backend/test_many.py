"""Optimisers and clipping change all tensors of a group together, in compiled loops and on a GPU. They are compared
with the plain rules in float64, and with the optimisers without these kernels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.backend.kernels import load, many_cuda, many_numba
from minigrad.nn.utils import clip_grad_norm_, clip_grads_with_norm_
from minigrad.optim import muon
from minigrad.optim.adam import numbers, plain_step
from minigrad.optim.optimizer import Values
from minigrad.optim.swa_utils import move_means
from tests.support import kernel_checks, launches, strict
from tests.support.cases import cases, raises
from tests.support.compiled_checks import needs_numba
from tests.support.kernel_checks import assert_close, needs_emulator, on_device, to_host
from tests.support.plain_checks import on_threads

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Place:
    """A device for kernels of many arrays: "numba", "strict" (the CUDA emulator), "cuda"."""

    name: str

    @property
    def device(self) -> str:
        return "cpu" if self.name == "numba" else self.name

    @property
    def dtypes(self) -> tuple[str, ...]:
        return ("float32",) if self.name == "numba" else ("float16", "float32", "float64")

    @property
    def part(self) -> int:
        """The number of elements in a part of the work."""
        return many_numba.PART if self.name == "numba" else many_cuda.PART

    def kernel(self, name: str) -> Any:
        if self.name == "numba":
            return load(name, "many_numba")
        return kernel_checks.kernel(name)

    def moved(self, table: Rows) -> Rows:
        return [tuple(a.copy() if self.name == "numba" else on_device(a) for a in row) for row in table]

    def rows(self, columns: int, dtype: str, squares: int = 3) -> Rows:
        """Random arrays; from column ``squares`` on they are not negative."""
        rng, part = np.random.default_rng(0), self.part
        shapes: list[tuple[int, ...]] = [(), (0,), (1,), (3,), (17, 5), (64, 65), (part,), (part + 1,), (3, part)]
        signed = [[rng.standard_normal(shape) for _ in range(columns)] for shape in shapes]
        return [tuple(np.asarray(abs(a) if j >= squares else a, dtype) for j, a in enumerate(row)) for row in signed]


@pytest.fixture(params=[pytest.param("numba", marks=needs_numba), *kernel_checks.PLACES])
def place(request: pytest.FixtureRequest) -> Place:
    if request.param != "numba":
        kernel_checks.use(request.param)
    return Place(request.param)


@pytest.fixture
def numba() -> Place:
    return Place("numba")


def wide(row: tuple[Any, ...]) -> list[Any]:
    return [a.astype(np.float64) for a in row]


# the kernels

ADAM: list[dict[str, Any]] = [{}, {"maximize": True}, {"weight_decay": 0.1}]
ADAM += [{"weight_decay": 0.1, "decoupled_weight_decay": True}]


def adam_stepped(place: Place, start: Rows, case: dict[str, Any]) -> tuple[Rows, Values, list[int]]:
    usual = {"lr": 0.01, "betas": (0.9, 0.99), "eps": 1e-3, "weight_decay": 0, "maximize": False}
    options = Values(**usual | {"decoupled_weight_decay": False} | case)
    steps, arrays = [1 + i % 3 for i in range(len(start))], place.moved(start)
    many = place.kernel("adam").Many(arrays)
    assert all(many.fits)
    place.kernel("adam").step_all(many, *numbers(steps, options))
    return arrays, options, steps


@cases("case", ADAM)
def test_adam(case: dict[str, Any], place: Place) -> None:
    for dtype, columns in ((dtype, columns) for dtype in place.dtypes for columns in (4, 5)):  # fifth column: amsgrad
        start = place.rows(columns, dtype)
        arrays, options, steps = adam_stepped(place, start, case)
        for step, after, row in zip(steps, arrays, start, strict=True):
            expected = wide(row) + [None] * (columns == 4)
            plain_step(*expected, step, options)
            for a, b in zip(after, expected, strict=False):
                assert_close(to_host(a), b, dtype)
            np.testing.assert_array_equal(to_host(after[1]), row[1], err_msg="the gradient is only read")


def test_adams_first_step_has_the_size_of_the_rate_and_nan_stays_in_place(place: Place) -> None:
    for bad in (np.nan, np.inf, -np.inf):
        g = np.array([1e-3, -5.0, bad, -7.0], "float32")
        zeros = np.zeros(4, "float32")
        (row,) = place.moved([(zeros, g, zeros, zeros, np.ones(4, "float32"))])
        options = Values(
            lr=0.1, betas=(0.9, 0.999), eps=0.0, weight_decay=0.0, decoupled_weight_decay=False, maximize=False
        )
        adam = place.kernel("adam")
        adam.step_all(adam.Many([row[:4]]), *numbers([1], options))
        assert_close(to_host(row[0]), [-0.1, 0.1, np.nan, 0.1], "float32")
        adam.step_all(adam.Many([row]), *numbers([2], options))
        assert np.isfinite(np.delete(to_host(row[4]), 2)).all() and not np.isfinite(to_host(row[4])[2])


SGD = [  # how, momentum, weight decay
    *((how, m, d) for how in ("", "maximize") for m in (0.0, 0.9) for d in (0.0, 0.1)),
    *(("nesterov", 0.9, 0.1), ("dampening", 0.9, 0.0)),
]


@cases("how, momentum, weight_decay", SGD)
def test_sgd(how: str, momentum: float, weight_decay: float, place: Place) -> None:
    sign, rest, sgd = -1 if how == "maximize" else 1, 0.6 if how == "dampening" else 1, place.kernel("sgd")
    for dtype in place.dtypes:
        start = place.rows(3 if momentum else 2, dtype)
        arrays = place.moved(start)
        sgd.step_all(sgd.Many(arrays), sign, weight_decay, momentum, rest, how == "nesterov", 0.1)
        for after, row in zip(arrays, start, strict=True):
            p, g, *buffer = wide(row)
            step = sign * g + weight_decay * p
            if momentum:
                mean = momentum * buffer[0] + rest * step
                step = step + momentum * mean if how == "nesterov" else mean
                assert_close(to_host(after[2]), mean, dtype)
            assert_close(to_host(after[0]), p - 0.1 * step, dtype)
            np.testing.assert_array_equal(to_host(after[1]), row[1], err_msg="the gradient is only read")


MUON: list[dict[str, Any]] = [{}, {"nesterov": False}, {"weight_decay": 0.0, "ns_steps": 1}]
MUON += [{"ns_steps": 0}, {"adjust_lr_fn": muon.MATCHED}]


def muon_rows(scale: float, dtype: str) -> Rows:
    rng = np.random.default_rng(0)
    shapes = [(1, 1), (9, 1), (3, 5), (40, 130), (5, 3), (0, 4), (17, 17), (3, 5), (130, 40)]
    return [tuple((scale * rng.standard_normal(shape)).astype(dtype) for _ in range(3)) for shape in shapes]


def muon_stepped(place: Place, start: Rows, case: dict[str, Any]) -> tuple[Rows, Values]:
    usual = {"lr": 0.02, "weight_decay": 0.1, "momentum": 0.95, "nesterov": True, "ns_coefficients": muon.JORDAN}
    options = Values(**usual | {"eps": 1e-7, "ns_steps": 5, "adjust_lr_fn": None} | case)
    arrays = place.moved(start)
    rates = [muon.rate_of(options.lr, row[0].shape, options.adjust_lr_fn) for row in start]
    share = options.momentum if options.nesterov else 1.0
    shares = 1 - options.lr * options.weight_decay, 1 - options.momentum, share
    many = (many_numba.Many if place.name == "numba" else place.kernel("muon").Many)(arrays)
    values = *shares, *options.ns_coefficients, options.eps
    assert all(place.kernel("muon").step_all(many, rates, values, options.ns_steps))
    return arrays, options


@cases("scale, case", [(1.0, MUON[0]), (1e-12, MUON[0]), (1e9, MUON[1]), *((1.0, case) for case in MUON[2:])])
def test_muon(case: dict[str, Any], scale: float, place: Place) -> None:
    for dtype in place.dtypes:
        if dtype == "float16":
            continue
        start = muon_rows(scale, dtype)
        arrays, options = muon_stepped(place, start, case)
        tolerance = {"float32": 2e-5, "float64": 1e-12}[dtype]
        for after, row in zip(arrays, start, strict=True):
            expected = wide(row)
            muon.muon_step(*expected, options)
            for a, b in zip(map(to_host, after), expected, strict=True):
                size = np.abs(b).max(initial=0.0)
                np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * size, err_msg=str(b.shape))
            np.testing.assert_array_equal(to_host(after[1]), row[1], err_msg="the gradient is only read")


@needs_numba
def test_any_number_of_threads_gives_the_same_bits(numba: Place) -> None:
    def compute() -> list[Any]:
        adam, _, _ = adam_stepped(numba, numba.rows(5, "float32"), {"weight_decay": 0.1})
        matrices, _ = muon_stepped(numba, muon_rows(1.0, "float32"), {})
        total, gradients = clipped(numba, [row[0] for row in numba.rows(1, "float32")], 1.0)
        return [*(a for row in (*adam, *matrices) for a in row), total.numpy(), *gradients]

    on_threads(compute)


@needs_numba
def test_numbers_that_are_not_finite_stay_in_their_matrix_and_place(numba: Place) -> None:
    start = muon_rows(1.0, "float32")
    start[3][1][:], start[3][2][:] = 0, 0
    start[6][1][2, 2] = np.nan
    after, _ = muon_stepped(numba, start, {"weight_decay": 0.0})
    np.testing.assert_array_equal(after[3][0], start[3][0])
    assert np.isnan(after[6][0]).all() and all(np.isfinite(r[0]).all() for i, r in enumerate(after) if i != 6)
    sgd = numba.kernel("sgd")
    for bad in (np.inf, -np.inf, np.nan):
        p, g, b = np.ones((3, 20), np.float32)
        g[7] = bad
        sgd.step_all(sgd.Many([(p, g, b)]), 1.0, 0.1, 0.9, 1.0, True, 0.1)
        assert np.isfinite(np.delete(p, 7)).all()
        np.testing.assert_equal(p[7], np.float32(-bad))


def test_inputs_that_kernels_do_not_take(place: Place) -> None:
    Many = many_numba.Many if place.name == "numba" else many_cuda.Many
    ((a, b, c, d),) = place.moved([tuple(np.zeros((4, 6), "float32") for _ in range(4))])
    ((double, whole),) = place.moved([(np.zeros((4, 6)), np.zeros((4, 6), "int32"))])
    for other in double, b.T, b[:, ::2], b[:3], whole, None:
        assert Many([(a, c), (d, other)]).fits == [True, False]
    assert Many([(a, b), (a.reshape(-1), c.reshape(-1))]).fits == [False, False]  # shared memory
    if place.name == "numba":
        fixed = a.copy()
        fixed.flags.writeable = False
        assert Many([(a, b), (fixed, c)]).fits == [True, False]
    else:
        assert Many([(a, b), (double, double + 1)]).fits == [True, True]  # a launch for each dtype
        assert Many([(whole,)]).fits == [False]
        assert Many([(a, b), (np.zeros(3), np.zeros(3))]).fits == [True, False]  # a parameter on the CPU


# clipping


def parameters(place: Place, gradients: list[Any]) -> list[mg.Tensor]:
    params = [mg.nn.Parameter(mg.from_numpy(np.zeros_like(g)).to(place.device)) for g in gradients]
    for p, g in zip(params, gradients, strict=True):
        p.grad = mg.from_numpy(g.copy("K")).to(place.device)
    return params


def gradients_of(params: list[mg.Tensor]) -> list[Any]:
    return [p.grad.numpy(force=True) for p in params if p.grad is not None]


def clipped(place: Place, gradients: list[Any], most: float) -> tuple[mg.Tensor, list[Any]]:
    params = parameters(place, gradients)
    total = clip_grad_norm_(params, most)
    assert (total.device.type, total.dtype) == (place.device, params[0].dtype)
    return total, gradients_of(params)


@cases("most", [0.0, 1.0, 1e6])
def test_clipping(most: float, place: Place) -> None:
    for dtype in place.dtypes:
        before = [np.asarray(row[0] / 4, dtype) for row in place.rows(1, dtype)]
        total, gradients = clipped(place, before, most)
        expected = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in before))
        assert_close(total.item() / expected, 1.0, dtype)
        for after, g in zip(gradients, before, strict=True):
            assert_close(after, g.astype(np.float64) * min(1, most / (expected + 1e-6)), dtype)


@needs_numba
def test_clipping_runs_its_loops_where_they_can(numba: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    clip, names = numba.kernel("clip_grad_norm"), list[str]()
    for name in ("norm", "scale"):
        loop = getattr(clip, name)
        for place in (clip, many_numba):
            monkeypatch.setattr(place, name, lambda *args, name=name, loop=loop: (names.append(name), loop(*args))[1])
    for most, expected in ((1.0, ["norm", "scale"]), (1e6, ["norm"])):
        names.clear()
        clipped(numba, [np.ones(4, "float32"), np.ones((3, 4), "float32")], most)
        assert names == expected
    names.clear()
    for other in np.ones((3, 4)), np.asfortranarray(np.ones((3, 4), np.float32)):
        total, gradients = clipped(numba, [np.ones(4, other.dtype), other], 1.0)
        np.testing.assert_allclose([total.item(), *gradients[1].ravel()], [4, *[0.25] * 12], rtol=1e-5)
    assert names == []


def test_clipping_of_several_dtypes(place: Place) -> None:
    """The norm may be too large for the first dtype."""
    before = [np.full(5, 3, "float64"), np.full((2, 2), 2, "float32"), np.full(place.part + 3, 0.5, "float32")]
    norm, tight = np.sqrt(45 + 16 + (place.part + 3) / 4), 1e-6 if place.name == "numba" else 1e-12
    for arrays, dtype, right, near in (
        (before, mg.float64, norm, tight),
        ([np.ones(2, "float16"), np.full(3, 1e5, "float32")], mg.float32, np.sqrt(3e10 + 2), 1e-6),
    ):
        params = parameters(place, arrays)
        total = clip_grad_norm_(params, 1.0)
        assert total.dtype == dtype
        np.testing.assert_allclose(total.item(), right, rtol=near)
        for after, g in zip(gradients_of(params), arrays, strict=True):
            assert after.dtype == g.dtype
            np.testing.assert_allclose(after, g.astype("float64") / (right + 1e-6), rtol=1e-5, atol=1e-7)


@cases("value", [0.0, 1e-30, 1e25, np.inf, -np.inf, np.nan])
def test_clipping_of_extreme_numbers(value: float, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU, squares beyond float32 do no harm; elsewhere the loops change nothing. Numbers that are not finite
    spread as in PyTorch."""
    before = [np.array([value, 0, value], "float32"), np.float32(value) * np.ones(3, "float32")]
    total, gradients = clipped(place, before, 1.0)
    with np.errstate(all="ignore"), monkeypatch.context() as patch:
        norm = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in before))
        expected = [g * np.minimum(1.0, 1.0 / (norm + 1e-6)) for g in before]
        if place.name == "numba":
            patch.setattr("minigrad.nn.utils.clip_grad._together", lambda tensors: (None, None))
            plain, expected = clipped(place, before, 1.0)
            norm = plain.item()
        np.testing.assert_allclose(total.item(), norm, rtol=1e-6)
        for after, right in zip(gradients, expected, strict=True):
            np.testing.assert_allclose(after, right, rtol=1e-5)


def test_a_graph_notices_the_change(place: Place) -> None:
    (p,) = parameters(place, [np.ones(3, "float32")])
    out = (mg.ones(3, requires_grad=True, device=place.device) * p.grad).sum()
    clip_grad_norm_([p], 0.1)
    raises(RuntimeError, "modified by an inplace", lambda: out.backward())


def gradients(place: Place, start: list[Any]) -> list[mg.Tensor]:
    return [p.grad for p in parameters(place, start) if p.grad is not None]


def test_a_norm_on_the_cpu_and_an_error_for_one_that_is_not_finite(place: Place) -> None:
    params = parameters(place, [np.full(4, 10, "float32")])
    clip_grads_with_norm_(params, 1.0, mg.tensor(20.0))
    np.testing.assert_allclose(gradients_of(params)[0], 0.5, rtol=1e-6)
    params[0].grad.fill_(mg.inf)
    raises(RuntimeError, "non-finite", lambda: clip_grad_norm_(params, 1.0, error_if_nonfinite=True))


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
    """Some steps with missing gradients, a group that is added later, a loaded state, and all kinds of layouts."""
    rng = np.random.default_rng(1)

    def tensor(shape: tuple[int, ...]) -> mg.Tensor:
        return mg.tensor(rng.standard_normal(shape), dtype=dtype, device=place)

    params = [mg.nn.Parameter(tensor(shape)) for shape in MATRICES]
    params[-1] = mg.nn.Parameter(tensor((6, 12)).t())
    optimizer = rule(params[:4], **options)
    optimizer.param_groups[0]["lr"] = 0.02
    gradients = []
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
            gradients.append(p.grad)  # so that each step has gradients at different addresses
        optimizer.step()
    state = [s[name].numpy(force=True) for p in params for s in [optimizer.state[p]] for name in sorted(s)]
    return [p.numpy(force=True) for p in params], state


@pytest.mark.parametrize(("rule", "options"), RULES, ids=str)
@pytest.mark.parametrize("dtype", [mg.float32, mg.float64])
def test_optimisers_are_the_same_without_kernels(
    place: Place, dtype: Any, rule: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    after = trained(place.device, dtype, rule, options)
    for file in "optimizer", "adam", "sgd", "muon":
        monkeypatch.setattr(f"minigrad.optim.{file}.together", lambda name, params: None)
    expected = trained("cpu", mg.float64, rule, options)
    tolerance = 1e-10 if dtype is mg.float64 else 2e-4 if rule is mg.optim.Muon else 1e-5
    for ours, theirs in zip(after, expected, strict=True):
        assert len(ours) == len(theirs) > 0 or not theirs
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_two_optimisers_of_the_same_shapes_do_not_mix_their_tables(place: Place) -> None:
    groups = [parameters(place, [np.full(3, value, "float32"), np.full(3, value, "float32")]) for value in (1, 2)]
    optimizers = [mg.optim.SGD(params, lr=0.5) for params in groups]
    for _ in range(2):
        for optimizer in optimizers:
            optimizer.step()
    for value, params in zip((1, 2), groups, strict=True):
        for p in params:
            np.testing.assert_array_equal(p.numpy(force=True), np.full(3, -value))


@needs_numba
def test_loops_take_small_enough_matrices(numba: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """float32 matrices small enough for one core; products of larger ones are cut for the threads."""
    rng, changed = np.random.default_rng(1), []
    matrices: list[Any] = [rng.standard_normal(s).astype(np.float32) for s in ((5, 7), (30, 20), (512, 512))]
    matrices[1] = matrices[1].astype(np.float64)
    module = numba.kernel("muon")
    assert matrices[2].size * 512 > many_numba.SMALL
    step_all = module.step_all
    monkeypatch.setattr(module, "step_all", lambda *args: changed.append(step_all(*args)) or changed[-1])
    params = [mg.nn.Parameter(mg.tensor(a)) for a in matrices]
    for p in params:
        p.grad = mg.ones_like(p)
    mg.optim.Muon(params, lr=0.01).step()
    assert changed == [[True, False]] or changed == [[True, False, False]]
    p = mg.nn.Parameter(mg.ones(10))
    p.grad = mg.ones(10)
    with pytest.warns(UserWarning, match="duplicate"):
        optimizer = mg.optim.Adam([p] * 2, lr=0.1)  # a parameter that is listed twice is changed twice
    optimizer.step()
    assert optimizer.state[p]["step"].item() == 2
    np.testing.assert_allclose(p.detach().numpy(), 0.8, rtol=1e-4)


# launches


def counted(shapes: list[tuple[int, ...]], rule: Any, **options: Any) -> tuple[Any, Any]:
    """The launches of clipping and of a step, once the state exists and gradients are at their old addresses."""
    params = parameters(Place("strict"), [np.ones(shape, "float32") for shape in shapes])
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
    params = parameters(Place("strict"), [np.ones(9, "float32"), np.ones(4, "float32")])
    optimizer = mg.optim.Adam(params)
    optimizer.step()
    gradients = [p.grad for p in params]
    for p in params:
        p.grad = mg.zeros(p.shape, device="strict")
    with launches.count() as step:
        optimizer.step()
    assert (step.by_name, step.syncs, len(gradients)) == ({"adam": 1, "asarray": 1}, 0, 2)


@needs_emulator
def test_means_of_weights_move_in_one_launch() -> None:
    strict.install()
    start = [np.arange(n, dtype="float32") for n in (3, 5, many_cuda.PART + 1)]
    means = [mg.from_numpy(g).to("strict") for g in start] + [mg.ones(2, dtype=mg.int64, device="strict")]
    new = [mg.ones_like(m) for m in means[:-1]] + [mg.full((2,), 7, device="strict")]
    for _ in range(2):
        with launches.count() as step:
            move_means(means, new, 0.25)
    assert step.by_name == {"sgd": 1, "setitem": 1}
    for m, g in zip(means, start, strict=False):
        np.testing.assert_allclose(m.numpy(force=True), 1 + 0.75**2 * (g - 1), rtol=1e-6)
    assert (means[-1] == 7).all()
