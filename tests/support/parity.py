"""The same numbers in minigrad and in PyTorch, and what they are expected to agree to."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import minigrad


class _Missing:
    """Stands for PyTorch where that is not installed: who asks anything of it is skipped, the others run."""

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
    """A NumPy array as a leaf tensor with memory of its own."""
    made = minigrad.tensor(np.array(array), device=device)
    return made.requires_grad_() if requires_grad else made


def theirs(array: Array, requires_grad: bool = False) -> Any:
    """A NumPy array, or a tensor of ours, as a leaf tensor of PyTorch with memory of its own."""
    made = torch.from_numpy(np.array(host(array)))
    return made.requires_grad_() if requires_grad else made


def host(value: Any) -> Array:
    """A tensor of either library, or an array, as a NumPy array."""
    return value.numpy(force=True) if hasattr(value, "detach") else np.asarray(value)


def in_torch_words(value: Any) -> str:
    """The text of ours with the library's name as torch has it."""
    return str(value).replace("minigrad.", "torch.")


def listed(values: Any) -> list[Any]:
    """One value or several, as a list."""
    return list(values) if isinstance(values, (tuple, list)) else [values]


def assert_close(found: Any, expected: Any, rtol: float = 1e-10, what: str = "") -> None:
    """Equal in shape, and in value relative to the largest finite number; NaN and infinities alike."""
    found, expected = host(found), host(expected)
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, expected {expected.shape}"
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected, err_msg=what)
        return
    finite = np.abs(expected[np.isfinite(expected)])
    largest = float(finite.max(initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * max(largest, 1e-3), err_msg=what)


def assert_same_dtype(found: Any, expected: Any, what: str = "") -> None:
    """The same dtype by name, and the same shape."""
    assert found.dtype.name == str(expected.dtype).removeprefix("torch."), what
    assert tuple(found.shape) == tuple(expected.shape), what


def gradients(outputs: Sequence[Any], inputs: Sequence[Any], g: Sequence[Any], create_graph: bool = False) -> Any:
    """The gradients of either library's tensors, zeros where an input was not used."""
    library = torch if isinstance(inputs[0], torch.Tensor) else minigrad
    found = library.autograd.grad(outputs, inputs, g, create_graph=create_graph, retain_graph=True, allow_unused=True)
    return [library.zeros_like(x) if f is None else f for f, x in zip(found, inputs, strict=True)]
