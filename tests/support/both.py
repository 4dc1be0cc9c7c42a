"""Runs one program on both libraries, and compares results, dtypes and gradients, or errors."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import minigrad

from .parity import host, in_torch_words, torch

Program = Callable[..., Any]  # called with a library and tensors of it
NEAR = {"float16": 1e-2, "float32": 1e-4, "complex64": 1e-4}  # others: 1e-9


def numbers(*shape: int, seed: int = 0, low: float = -2, high: float = 2, dtype: Any = np.float64) -> Any:
    """Numbers between two limits."""
    return np.asarray(np.random.default_rng([seed, *shape]).uniform(low, high, shape)).astype(dtype)


def complexes(*shape: int, seed: int = 0) -> Any:
    """Complex numbers between -2 - 2j and 2 + 2j."""
    return numbers(*shape, seed=seed) + 1j * numbers(*shape, seed=seed + 1)


def tensor(t: Any, value: Any, device: str = "cpu") -> Any:
    """An array as a tensor with its own memory, a leaf if it has gradients; anything else unchanged."""
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    copy = t.from_numpy(np.array(value)).to(device)
    return copy.requires_grad_() if value.dtype.kind in "fc" else copy


def results(value: Any) -> Iterator[Any]:
    """The tensors in a result, one after another."""
    if isinstance(value, (tuple, list)) and not isinstance(value, (torch.Size, minigrad.Size)):
        for part in value:
            yield from results(part)
    else:
        yield value


def same(ours: Any, theirs: Any, what: str, near: float | None = None) -> None:
    """Raise AssertionError unless two results have the same shape, dtype and values."""
    if not isinstance(theirs, torch.Tensor):
        assert ours == theirs, f"{what}: {ours!r}, PyTorch's {theirs!r}"
        return
    assert tuple(ours.shape) == tuple(theirs.shape), f"{what}: {tuple(ours.shape)}, PyTorch's {tuple(theirs.shape)}"
    assert in_torch_words(ours.dtype) == str(theirs.dtype), f"{what}: {ours.dtype}, PyTorch's {theirs.dtype}"
    near = near or NEAR.get(str(theirs.dtype).removeprefix("torch."), 1e-9)
    expected = host(theirs.resolve_conj().resolve_neg())
    np.testing.assert_allclose(host(ours), expected, rtol=near, atol=near, err_msg=what)


def agree(
    program: Program,
    *values: Any,
    near: float | None = None,
    orders: int = 1,
    gradient: bool = True,
    device: str = "cpu",
) -> None:
    """Run a program on both libraries, and compare results and gradients.

    Args:
        program: called with the library and a tensor for each array; other values are passed unchanged.
        near: the largest allowed difference, absolute and relative; the default depends on the dtype.
        orders: the orders of gradients, 1 or 2.
        gradient: False where PyTorch has none.
        device: of minigrad's tensors.

    Raises:
        AssertionError: something differs.
    """
    ours, theirs = [tensor(minigrad, v, device) for v in values], [tensor(torch, v) for v in values]
    mine, other = list(results(program(minigrad, *ours))), list(results(program(torch, *theirs)))
    assert len(mine) == len(other), f"{len(mine)} results, PyTorch's {len(other)}"
    for number, pair in enumerate(zip(mine, other, strict=True)):
        same(*pair, f"result {number}", near)
    for order in range(1, gradient * orders + 1):
        indices = [n for n, o in enumerate(other) if isinstance(o, torch.Tensor) and o.requires_grad]
        assert all(mine[n].requires_grad for n in indices), f"order {order}: a result requires no gradient"
        if order == 1:
            assert not any(getattr(m, "requires_grad", False) for n, m in enumerate(mine) if n not in indices)
        if not indices:
            return
        mine = derivatives(minigrad, [mine[n] for n in indices], ours, order < orders)
        other = derivatives(torch, [other[n] for n in indices], theirs, order < orders)
        for number, pair in enumerate(zip(mine, other, strict=True)):
            same(*pair, f"gradient {number} of order {order}", near)


def derivatives(t: Any, outputs: Sequence[Any], inputs: Sequence[Any], again: bool = False) -> list[Any]:
    """The gradients of differently weighted outputs, for the inputs that have one."""
    leaves = [x for x in inputs if isinstance(x, t.Tensor) and x.requires_grad]
    weights = [np.linspace(0.5, 1.5, o.numel()).reshape(tuple(o.shape)) for o in outputs]
    weights = [t.from_numpy(w).to(o.device, o.dtype) for w, o in zip(weights, outputs, strict=True)]
    gradients = t.autograd.grad(outputs, leaves, weights, create_graph=again, allow_unused=True)
    return [t.zeros_like(x) if g is None else g for g, x in zip(gradients, leaves, strict=True)]


def refuse(program: Program, *values: Any) -> None:
    """Assert that both libraries raise an error of the same type."""
    with pytest.raises(Exception) as theirs:
        program(torch, *(tensor(torch, v) for v in values))
    with pytest.raises(theirs.type):
        program(minigrad, *(tensor(minigrad, v) for v in values))


def outcome(call: Callable[[], Any]) -> str:
    """The result of a call, or the type and the text of its error, in PyTorch's words."""
    try:
        return str(call()).replace("minigrad", "torch")
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace("minigrad", "torch")


def alike(program: Program) -> Callable[[], None]:
    """A test that a program returns the same in both libraries, compared as text."""

    def run() -> None:
        mine, other = str(program(minigrad)).replace("minigrad", "torch"), str(program(torch))
        assert mine == other

    run.__name__, run.__doc__, run.__module__ = program.__name__, program.__doc__, program.__module__
    return run
