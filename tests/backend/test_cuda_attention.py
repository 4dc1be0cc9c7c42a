"""The attention kernels, run by the emulator, against the plain definition in float64 and difference quotients."""

import itertools
from typing import Any

import numpy as np
import pytest

from minigrad.backend import random
from minigrad.backend.kernels import scaled_dot_product_attention_cuda as attention
from minigrad.backend.registry import address
from minigrad.ops.attention import scaled_dot_product_attention as op
from tests.support import kernel_checks, launches
from tests.support.cases import cases
from tests.support.kernel_checks import assert_close, check, check_derivatives, forward, gradients, kernel, on_device
from tests.support.plain_checks import plain as plain_definition

NAME = "scaled_dot_product_attention"
RNG = np.random.default_rng(11)
# batch, heads, queries, keys, width of keys, width of values
SHAPES = [
    (2, 3, 5, 7, 4, 6),
    (1, 2, 33, 33, 16, 16),
    (1, 1, 70, 19, 20, 9),
    (2, 1, 1, 66, 1, 1),
    (1, 1, 17, 65, 40, 33),
]


@pytest.fixture(params=kernel_checks.PLACES, autouse=True)
def place(request: pytest.FixtureRequest) -> None:
    """Run each test with the emulator, and on a GPU if there is one."""
    kernel_checks.use(request.param)


def inputs(shape: tuple[int, ...], dtype: str = "float64") -> tuple[Any, Any, Any, Any]:
    """q, k, v and the gradient of the result."""
    b, h, t, s, d, dv = shape
    sizes = ((b, h, t, d), (b, h, s, d), (b, h, s, dv), (b, h, t, dv))
    return tuple(RNG.standard_normal(size).astype(dtype) for size in sizes)  # type: ignore[return-value]


def masks(shape: tuple[int, ...]) -> dict[str, Any]:
    b, h, t, s = shape[:4]
    rows = RNG.random((b, 1, t, s)) < 0.6
    rows[:, :, 0] = False  # a row that may attend to nothing
    bias = RNG.standard_normal((h, t, s))
    bias[:, :, s // 2] = -np.inf
    return {
        "none": None,
        "padding": np.arange(s) < RNG.integers(1, s + 1, (b, 1, 1, 1)),
        "rows": rows,
        "bias": bias,
        "keys": RNG.standard_normal((s,)),
        "all": np.zeros((1, 1, 1, 1), bool),
    }


@cases("kind", ["none", "padding", "rows", "bias", "keys", "all"])
@pytest.mark.parametrize("shape", SHAPES[:3])
def test_attention(shape: tuple[int, ...], kind: str) -> None:
    q, k, v, _ = inputs(shape)
    mask = masks(shape)[kind]
    needs = (0, 1, 2) if mask is None or mask.dtype == bool else (0, 1, 2, 3)
    for is_causal, subset in itertools.product((False, True), (needs, *((i,) for i in needs))):
        dtypes = ("float32", "float64") if subset == needs else ("float64",)
        check(NAME, q, k, v, mask, None, is_causal, 0.3, 0.0, needs=subset, dtypes=dtypes)


@cases("tile", [16, 32, 64])
@cases("shape", SHAPES)
def test_every_tile_agrees(shape: tuple[int, ...], tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = attention.Plan(-(-max(shape[4:]) // 16) * 16, tile, 8)
    if cut.shared_bytes(4, 2) > kernel_checks.most_shared_bytes():
        return  # this GPU has too little shared memory for such tiles
    monkeypatch.setattr(attention, "plan", lambda *_: cut)
    args = [*inputs(shape)[:3], masks(shape)["bias"], None, shape[2] > 20, 0.3, 0.0]
    out, derivatives, g = plain_definition(NAME, args, (0, 1, 2, 3))
    fused = gradients(NAME, g, *args, needs=(0, 1, 2, 3))
    for one, other in zip(fused, (out, *derivatives.values()), strict=True):
        assert_close(one, other)


@cases("kind", ["none", "rows", "bias", "keys"])
@cases("dropped", [False, True])
def test_derivatives(dropped: bool, kind: str) -> None:
    shape = (2, 2, 9, 18, 5, 3)
    q, k, v, _ = inputs(shape)
    mask = masks(shape)[kind]
    keep = RNG.random((2, 2, 9, 18)) < 0.75 if dropped else None
    needs = (0, 1, 2, 3) if mask is not None and mask.dtype != bool else (0, 1, 2)
    how = (np.nan_to_num(mask, neginf=-3.0) if 3 in needs else mask, keep, True, 0.5, 0.25)
    check_derivatives(NAME, q, k, v, *how, needs=needs)


def test_large_scores_do_not_overflow() -> None:
    q, k, v, _ = inputs((1, 1, 4, 40, 8, 8), "float32")
    how = (None, None, False, 400.0, 0.0)
    args = [a.astype("float64") for a in (q, k, v)]
    assert_close(forward(NAME, q, k, v, *how), plain_definition(NAME, [*args, *how], (0,))[0], "float16")


def test_half_precision() -> None:
    q, k, v, g = inputs((1, 2, 20, 20, 8, 8), "float16")
    how = (None, None, True, 0.35, 0.0)
    half = gradients(NAME, g, q, k, v, *how, needs=(0, 1, 2))
    full = gradients(NAME, *(a.astype("float64") for a in (g, q, k, v)), *how, needs=(0, 1, 2))
    for one, other in zip(half, full, strict=True):
        assert one.dtype == np.float16
        assert_close(one, other, "float16")


@cases("shape", [(0, 2, 3, 3, 4, 4), (1, 2, 0, 3, 4, 4), (2, 0, 3, 3, 4, 4), (1, 1, 3, 0, 4, 4), (1, 1, 3, 3, 2, 2)])
def test_empty_inputs_and_full_dropout_give_zeros(shape: tuple[int, ...]) -> None:
    q, k, v, g = inputs(shape)
    keep, p = (np.zeros(shape[:4], bool), 1.0) if all(shape) else (None, 0.0)
    for derivative in gradients(NAME, g, q, k, v, None, keep, False, 1.0, p, needs=(0, 1, 2)):
        assert not derivative.any()


def test_plan_fits_the_gpu() -> None:
    for most_bytes in (48, 64, 99, 163, 227):  # KiB that a block may request: Turing to Hopper
        for itemsize in (4, 8):
            for width in (1, 16, 17, 64, 80, 128, 256):
                cut = attention.plan(width, 1000, itemsize, most_bytes << 10)
                if cut is not None:
                    assert cut.shared_bytes(4, 2) <= most_bytes << 10
                    assert cut.head % 16 == 0
                    assert width <= cut.head < width + 16
    assert attention.plan(64, 1000, 4, 99 << 10) == attention.Plan(64, 64, 4)
    assert attention.plan(128, 1000, 4, 99 << 10) == attention.Plan(128, 32, 4)
    assert attention.plan(64, 10, 4, 99 << 10) == attention.Plan(64, 16, 4)
    assert attention.plan(257, 1000, 4, 1 << 30) is None
    for cut, multiprocessor in ((attention.Plan(64, 64, 4), 228), (attention.Plan(128, 32, 4), 164)):  # H100, A100
        assert 2 * (cut.shared_bytes(4, 2) + 1024) <= multiprocessor << 10  # CUDA reserves 1024 bytes per block


def test_the_widest_heads_are_left_to_the_plain_definition() -> None:
    q, k, v, _ = map(on_device, inputs((1, 1, 5, 4, 257, 2)))
    how = (None, None, True, 0.1, 0.0)
    assert kernel(NAME).forward((False,) * 8, q, k, v, *how) is NotImplemented
    assert_close(op(q, k, v, *how).get(), plain_definition(NAME, [*(x.get() for x in (q, k, v)), *how], (0,))[0])


def test_slices_of_a_projection_are_not_copied() -> None:
    """The kernel reads q, k and v by their strides; the gradients are slices of one array."""
    b, t, h, d = 2, 19, 3, 5
    projection = on_device(RNG.standard_normal((b, t, 3, h, d)))
    g = on_device(RNG.standard_normal((b, t, h, d))).transpose(0, 2, 1, 3)
    qkv = [projection[:, :, i].transpose(0, 2, 1, 3) for i in range(3)]
    how = (None, None, True, 0.5, 0.0)
    needs = (True, True, True, *(False for _ in how))
    with launches.count() as counted:
        out, saved = kernel(NAME).forward(needs, *qkv, *how)
        derivatives = kernel(NAME).backward(needs, saved, g, *qkv, *how)[:3]
    if kernel_checks.namespace().__name__ == "strict_cupy":  # a GPU's launches are not counted
        assert sorted(counted.by_name) == ["attention", "attention_key_gradients", "attention_query_gradients"]
        assert counted.launches == 3
    assert out.transpose(0, 2, 1, 3).flags.c_contiguous
    places = [address(derivative) for derivative in derivatives]
    assert places == [places[0] + i * h * d * 8 for i in range(3)]
    assert {derivative.strides for derivative in derivatives} == {qkv[0].strides}
    dense = gradients(NAME, g.get(), *(x.get() for x in qkv), *how, needs=(0, 1, 2))
    for one, other in zip((out, *derivatives), dense, strict=True):
        assert_close(one.get(), other)


def test_a_draw_is_made_in_the_kernel() -> None:
    shape = (2, 2, 9, 35, 5, 3)
    q, k, v, g = inputs(shape)
    draw = random.default_generator.draw((2, 2, 9, 35), 0.3, kernel_checks.namespace())
    by_mask = gradients(NAME, g, q, k, v, None, draw.array().get(), False, 0.5, 0.3, needs=(0, 1, 2))
    by_draw = gradients(NAME, g, q, k, v, None, draw, False, 0.5, 0.3, needs=(0, 1, 2))
    for one, other in zip(by_draw, by_mask, strict=True):
        np.testing.assert_array_equal(one, other)
