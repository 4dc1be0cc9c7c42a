"""One of our modules and PyTorch's with the same values: compares their results and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad
from minigrad import nn

from .both import results, same, tensor
from .parity import assert_close, host, in_torch_words, ours, theirs, torch


def twinned(mine: nn.Module, other: Any, device: str = "cpu") -> tuple[nn.Module, Any]:
    """Both modules in float64, ours on a device and with PyTorch's values, loaded by PyTorch's names."""
    other = other.double()
    mine.double().load_state_dict({name: ours(host(value)) for name, value in other.state_dict().items()})
    return mine.to(device), other


def pair(array: Any, device: str = "cpu", requires_grad: bool = False) -> tuple[minigrad.Tensor, Any]:
    """One array as a leaf in each library."""
    return ours(array, requires_grad, device), theirs(array, requires_grad)


def compare_gradients(mine: nn.Module, other: Any, rtol: float = 1e-10) -> None:
    """Compare every parameter's gradient by name."""
    expected = dict(other.named_parameters())
    outputs = dict(mine.named_parameters())
    assert list(outputs) == list(expected)
    for name, parameter in outputs.items():
        if expected[name].grad is None:
            assert parameter.grad is None, name
            continue
        assert parameter.grad is not None, name
        assert parameter.grad.dtype == parameter.dtype, name
        assert_close(parameter.grad, expected[name].grad, rtol, name)


def check_twins(
    make: Callable[[Any], Any],
    *values: Any,
    device: str = "cpu",
    call: Callable[..., Any] = lambda t, module, *inputs: module(*inputs),
    near: float | None = None,
) -> tuple[nn.Module, Any]:
    """Compare ``make(nn)`` and ``make(torch.nn)`` with equal states: repr, results, gradients of arrays and parameters.

    Args:
        make: returns a module of a library's nn.
        values: inputs; arrays become tensors, leaves if they have gradients.
        call: called with the library, the module and the inputs, if these are not all of its arguments.
        near: the largest allowed difference, absolute and relative; the default depends on the dtype.
    """
    mine, other = make(nn), make(torch.nn)
    assert in_torch_words(repr(mine)) == repr(other)
    mine, other = twinned(mine, other, device)
    inputs, expected = [tensor(minigrad, v, device) for v in values], [tensor(torch, v) for v in values]
    outputs, references = (list(results(call(minigrad, mine, *inputs))), list(results(call(torch, other, *expected))))
    assert len(outputs) == len(references)
    for number, pair_ in enumerate(zip(outputs, references, strict=True)):
        same(*pair_, f"result {number}", near)
    index = [n for n, out in enumerate(references) if isinstance(out, torch.Tensor) and out.requires_grad]
    for library, outs in ((minigrad, outputs), (torch, references)) if index else ():
        weights = [np.linspace(0.5, 1.5, references[n].numel()).reshape(tuple(references[n].shape)) for n in index]
        tensors = [library.from_numpy(w).to(outs[n].device, outs[n].dtype) for n, w in zip(index, weights, strict=True)]
        library.autograd.backward([outs[n] for n in index], tensors)
    for number, (x, y) in enumerate(zip(inputs, expected, strict=True)):
        if getattr(y, "grad", None) is not None:
            same(x.grad, y.grad, f"gradient of input {number}", near)
    compare_gradients(mine, other, near or 1e-9)
    return mine, other
