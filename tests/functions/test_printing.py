"""``repr`` equals PyTorch's, character by character."""

import importlib

import numpy as np
import pytest

import minigrad
from tests.support.cases import cases, programs
from tests.support.parity import in_torch_words, torch

SHOWN = programs("""
t.tensor(3.5); t.tensor(3); t.tensor(True); t.tensor([]); t.zeros(2, 0); t.tensor([1.5, 200.25]);
t.tensor([1e-8, 1.0]); t.tensor([1e10, 1.0]); t.tensor([[1, -20], [300, 4]]); t.tensor([0.1, float("nan"), 1.0]);
t.tensor([float("inf"), 1.0, -float("inf")]); t.tensor([float("nan")]); t.tensor([0.0, 1e-5]);
t.arange(24.0).reshape(2, 3, 4) / 7; t.arange(200.0); t.arange(2000); t.arange(2000.0) / 3;
t.arange(10000).reshape(100, 100); t.zeros(20, 20, 20); t.ones(2, dtype=t.int32); t.ones(2, dtype=t.float16);
t.ones(2, dtype=t.uint8); t.ones(2, requires_grad=True) * 2; t.tensor(2.5, requires_grad=True).exp();
t.ones(3, 3, dtype=t.float64, requires_grad=True); t.tensor([123456.0, 0.5]); t.tensor([1e8, 1.0]);
t.tensor([99999.5]); t.tensor(1e-10); t.tensor([0.0, -0.0]); t.tensor([[1.0, 10000.0], [0.001, 3.0]]);
t.zeros(1, 1, 1, 1); t.arange(60.0).reshape(3, 20) * 1.5; t.tensor([], dtype=t.int64); t.tensor([-5, 1234567890123]);
t.arange(30.0, requires_grad=True) * 1.01; t.tensor([3.4e38, 1.0]); t.arange(5000.0).reshape(5, 1000); t.arange(1001);
t.arange(1000); t.full((7,), -1.5)
""")


@cases("program", SHOWN)
def test_repr_is_torchs(program: str) -> None:
    actual, expected = (eval(program, {"t": t}) for t in (minigrad, torch))
    assert in_torch_words(repr(actual)) == repr(expected) and str(actual) == repr(actual)


def test_the_values_without_the_class() -> None:
    """``torch._tensor_str``, which classes that wrap a tensor use for their text."""
    theirs, ours = torch._tensor_str, importlib.import_module("minigrad._tensor_str")
    for shape in ((3,), (2, 3), (0, 2), (), (2000,)):
        values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        assert ours._tensor_str(minigrad.tensor(values), 6) == theirs._tensor_str(torch.tensor(values), 6)
    assert ours.PRINT_OPTS.threshold == theirs.PRINT_OPTS.threshold


def test_random_values() -> None:
    rng = np.random.default_rng(0)
    for n in range(60):
        shape = tuple(rng.integers(1, 6, rng.integers(0, 4)))
        values = rng.standard_normal(shape).astype(np.float32) * np.float32(10.0 ** rng.integers(-6, 9))
        values = np.round(values) if n % 3 == 0 else values
        actual, expected = minigrad.tensor(values), torch.tensor(values)
        assert in_torch_words(repr(actual)) == repr(expected), n


def test_device_is_shown() -> None:
    pytest.importorskip("tests.support.strict").install(emulate=False)
    assert repr(minigrad.ones(2, device="strict")) == "tensor([1., 1.], device='strict')"


@cases("shape", [(1,), (2,), (2, 2, 2)])
def test_where_a_line_ends_before_grad_fn(shape: tuple[int, ...]) -> None:
    for n in range(1, 14):
        x, y = (t.full((*shape[:-1], n), 0.5, requires_grad=True).sigmoid() for t in (minigrad, torch))
        assert repr(x) == repr(y)


COMPLEX = [
    *([1.5 + 10j, 2 - 3j], [1 + 2j, -3.5e-5j, 1e6 + 0j], [1j], [complex(0, -0.0), 1], [1.5 + 1j] * 9, [0j, 0j]),
    *([complex("nan"), complex(1, np.inf), complex(-2.5, -np.inf)], [-1 - 1j, 100.25 + 2000.5j], [1e9 + 1e-9j]),
    *([-0.0, 1.0] * n for n in (9, 10, 20)),
]


@cases("values", COMPLEX)
def test_complex_numbers_and_negative_zeros_as_in_torch(values: list[complex]) -> None:
    assert repr(minigrad.tensor([values, values])) == repr(torch.tensor([values, values]))
