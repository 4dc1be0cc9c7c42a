"""The same numbers in minigrad and in PyTorch, and the expected tolerances."""

import importlib
import importlib.util
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import minigrad


class _Missing:
    """Stands in for PyTorch if it is not installed: tests that use it are skipped, others run."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "_pytest", "pytest")):  # pytest looks at every name in a module
            raise AttributeError(name)
        pytest.skip("PyTorch is not installed: no comparison with it", allow_module_level=True)


if importlib.util.find_spec("torch"):
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
else:
    torch = _Missing()

Array = Any


def ours(array: Array, requires_grad: bool = False, device: str = "cpu") -> minigrad.Tensor:
    """A NumPy array as a leaf tensor with its own memory."""
    tensor = minigrad.tensor(np.array(array), device=device)
    return tensor.requires_grad_() if requires_grad else tensor


def theirs(array: Array, requires_grad: bool = False) -> Any:
    """A NumPy array, or one of our tensors, as a PyTorch leaf tensor with its own memory."""
    tensor = torch.from_numpy(np.array(host(array)))
    return tensor.requires_grad_() if requires_grad else tensor


def host(value: Any) -> Array:
    """A tensor of either library, or an array, as a NumPy array."""
    return value.numpy(force=True) if hasattr(value, "detach") else np.asarray(value)


def in_torch_words(value: Any) -> str:
    """Our text with the library's name replaced by torch."""
    return str(value).replace("minigrad.", "torch.")


def listed(values: Any) -> list[Any]:
    """One value or several, as a list."""
    return list(values) if isinstance(values, (tuple, list)) else [values]


def assert_close(actual: Any, expected: Any, rtol: float = 1e-10, name: str = "") -> None:
    """Assert equal shapes, equal NaN and infinities, and close values relative to the largest finite number."""
    actual, expected = host(actual), host(expected)
    assert actual.shape == expected.shape, f"{name}: shape {actual.shape}, expected {expected.shape}"
    close = (actual == expected) | ((actual != actual) & (expected != expected))
    if expected.dtype.kind == "f":
        largest = float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0))
        with np.errstate(all="ignore"):
            close |= np.abs(actual - expected) <= rtol * (np.abs(expected) + max(largest, 1e-3))
    if not close.all():
        pytest.fail(f"{name or 'the result'} {_worst(actual, expected, ~close)}")


def _worst(actual: Array, expected: Array, is_wrong: Array) -> str:
    """The number of different elements, and the largest difference."""
    with np.errstate(all="ignore"):
        distance = np.nan_to_num(np.abs(actual.astype(complex) - expected), nan=np.inf)
    place = np.unravel_index(np.argmax(np.where(is_wrong, distance, -1.0)), expected.shape)
    return (
        f"({actual.dtype}, {list(expected.shape)}) differs in {is_wrong.sum()} of {is_wrong.size} elements; worst at "
        f"{list(map(int, place))}: {actual[place]!r}, expected {expected[place]!r}"
    )


def assert_same_dtype(actual: Any, expected: Any, name: str = "") -> None:
    """Assert the same dtype by name, and the same shape."""
    assert actual.dtype.name == str(expected.dtype).removeprefix("torch."), name
    assert tuple(actual.shape) == tuple(expected.shape), name


def assert_same_signature(mine: Any, other: Any) -> None:
    """Assert the same arguments, of the same kinds, with the same defaults, except for an optional old argument."""
    actual, expected = (
        [(p.name, p.kind, p.default) for p in inspect.signature(f).parameters.values() if p.name != "verbose"]
        for f in (mine, other)
    )
    assert actual == expected, mine


def gradients(outputs: Sequence[Any], inputs: Sequence[Any], g: Sequence[Any], create_graph: bool = False) -> Any:
    """The gradients of either library's tensors, zeros for unused inputs."""
    library = torch if isinstance(inputs[0], torch.Tensor) else minigrad
    derivatives = library.autograd.grad(
        outputs, inputs, g, create_graph=create_graph, retain_graph=True, allow_unused=True
    )
    return [library.zeros_like(x) if f is None else f for f, x in zip(derivatives, inputs, strict=True)]
