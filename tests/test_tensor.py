"""The Tensor itself: Python's protocols, attributes, conversions."""

import copy
import operator
import pickle
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.cases import raises
from tests.support.parity import torch


def test_numbers() -> None:
    x = minigrad.tensor(3.75)
    assert (float(x), int(x), bool(x), x.item()) == (3.75, 3, True, 3.75) and isinstance(x.item(), float)
    assert isinstance(minigrad.tensor(3).item(), int) and minigrad.tensor(True).item() is True
    assert float(minigrad.tensor([[2.5]])) == 2.5 and not minigrad.tensor([0.0])
    n = minigrad.tensor(2)
    assert [10, 20, 30][n] == 30 and list(range(n)) == [0, 1]
    assert "ab" * n == "abab"
    assert int(minigrad.tensor([[5]])) == 5 and complex(minigrad.tensor([1 + 2j])) == 1 + 2j  # whatever its axes
    assert [10, 20, 30][minigrad.tensor([1])] == [10, 20, 30][minigrad.tensor(True)] == 20
    for wrong in (minigrad.tensor(0.0), minigrad.tensor([1.0]), minigrad.tensor([1, 2]), minigrad.tensor([])):
        raises(TypeError, "only integer tensors of a single element", lambda wrong=wrong: [0, 1][wrong])
    raises(RuntimeError, "3 values is ambiguous", lambda: bool(minigrad.ones(3)))
    raises(RuntimeError, "3 elements cannot be converted to Scalar", lambda: minigrad.ones(3).item())
    for convert in (float, int):
        raises(
            ValueError, "only one element tensors can be converted", lambda convert=convert: convert(minigrad.ones(2))
        )


def test_format() -> None:
    x = minigrad.tensor(3.14159, requires_grad=True)
    assert f"{x:.2f}" == "3.14" and f"{minigrad.tensor(7):03d}" == "007"
    assert f"{x}" == f"{x.item()}" and f"{minigrad.ones(2)}" == "tensor([1., 1.])"
    raises(TypeError, "unsupported format string", lambda: f"{minigrad.ones(2):.2f}")
    assert operator.mod("%.1f", minigrad.tensor(2.5)) == "2.5" and round(float(x), 1) == 3.1


def test_sequences() -> None:
    x = minigrad.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert len(x) == 2 and [row.tolist() for row in x] == [[1, 2], [3, 4]]
    _first, second = x
    assert second.tolist() == [3, 4] and 3.0 in x
    assert 7 not in x and minigrad.tensor(4.0) in x
    assert [r.tolist() for r in reversed(x)] == [[3, 4], [1, 2]]
    assert [int(e) for e in reversed(x[0].long())] == [2, 1]
    raises(RuntimeError, "in", lambda: operator.contains(x, "a"))
    for broken in (lambda: len(minigrad.tensor(1.0)), lambda: iter(minigrad.tensor(1.0))):
        raises(TypeError, "0-d tensor", broken)
    assert all(row.requires_grad for row in minigrad.ones(2, 3, requires_grad=True))
    y = minigrad.ones(2)
    assert len({x, y, x}) == 2 and {x: 1}[x] == 1 and hash(x) != hash(y)  # by identity


def test_operators_of_python() -> None:
    x = minigrad.tensor([1.0, -2.0])
    assert (+x).tolist() == [1, -2] and (-x).tolist() == [-1, 2]
    assert abs(x).tolist() == [1, 2] and (7 // x).tolist() == [7, -4]
    y = x
    y **= 2
    assert y is x and x.tolist() == [1, 4]
    m = minigrad.tensor([True, False])
    m &= minigrad.tensor([True, True])
    m |= minigrad.tensor([False, True])
    m ^= minigrad.tensor([True, False])
    assert m.tolist() == [False, True]
    x @= minigrad.ones(2, 2)
    assert x.tolist() == [5, 5]


def test_to_numpy_and_back() -> None:
    x = minigrad.ones(2, 3)
    array = x.numpy()
    array[0, 0] = 5
    assert x[0, 0].item() == 5
    assert np.asarray(x) is array or np.shares_memory(np.asarray(x), array)
    assert np.array(x, dtype=np.float64).dtype == np.float64
    assert np.array([minigrad.tensor(1.0), minigrad.tensor(2.0)]).tolist() == [1, 2]
    assert np.mean([minigrad.tensor(1.0), minigrad.tensor(2.0)]) == 1.5
    g = minigrad.ones(2, requires_grad=True)
    for out in (g.numpy, lambda: np.asarray(g)):
        raises(RuntimeError, r"requires grad. Use tensor.detach\(\).numpy\(\)", out)
    assert g.numpy(force=True).tolist() == [1, 1] and g.detach().numpy().tolist() == [1, 1]
    assert x.tolist() == array.tolist()


def test_numpy_of_another_device(device: str) -> None:
    x = minigrad.ones(2, device=device)
    if device != "cpu":
        raises(TypeError, r"Use Tensor\.cpu\(\)", x.numpy)
    assert x.cpu().numpy().tolist() == x.numpy(force=True).tolist() == [1, 1] and x.device.type == device
    assert x.to("cpu").device.type == "cpu" and x.to(device) is x
    assert x.tolist() == [1, 1]


def test_copies() -> None:
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    assert y.is_leaf and y.requires_grad
    assert y.grad.tolist() == [2, 2]
    y.data[0] = 9
    assert x.tolist() == [1, 2]
    shared = copy.deepcopy({"a": x, "b": x})
    assert shared["a"] is shared["b"]
    raises(RuntimeError, "only leaf tensors", lambda: copy.deepcopy(x * 2))
    z = copy.copy(x)
    assert z.tolist() == [1, 2]
    detached = copy.deepcopy((x * 2).detach())
    assert not detached.requires_grad


def test_pickle() -> None:
    randn = minigrad.randn(2, 3, requires_grad=True)
    for x in (randn, minigrad.arange(4), minigrad.tensor(True), minigrad.ones(2, 3).t()):
        y = pickle.loads(pickle.dumps(x))
        assert (y.tolist(), y.dtype, y.requires_grad, y.shape) == (x.tolist(), x.dtype, x.requires_grad, x.shape)
    copy = pickle.loads(pickle.dumps(minigrad.ones(2, requires_grad=True) * 2))
    assert copy.requires_grad and copy.is_leaf  # as in PyTorch: without the history
    assert pickle.loads(pickle.dumps(minigrad.float16)) is minigrad.float16


def test_attributes() -> None:
    x = minigrad.zeros(2, 3, dtype=minigrad.float64)
    assert (x.itemsize, x.element_size(), x.nbytes, x.is_cuda, x.get_device()) == (8, 8, 48, False, -1)
    assert (x.device.type, x.device == minigrad.device("cpu"), str(x.device)) == ("cpu", True, "cpu")
    assert (x.is_leaf, x.grad_fn, x.output_nr, x.grad) == (True, None, 0, None) and x.is_floating_point()
    assert x.type() == "torch.DoubleTensor" and x.data_ptr() == x.array.ctypes.data
    assert x[1:].data_ptr() == x.data_ptr() + 24 and isinstance(x, minigrad.Tensor)
    assert minigrad.is_tensor(x) and not minigrad.is_tensor(x.array)
    assert "relu" in dir(x)


def test_grad_attribute() -> None:
    x = minigrad.ones(2, requires_grad=True)
    x.grad = minigrad.zeros(2)
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match=r"assigned grad has data of a different size: \[3\], expected \[2\]"):
        x.grad = minigrad.zeros(3)
    x.grad = None
    assert x.grad is None
    y = x * 2
    assert (y.is_leaf, y.grad_fn.name(), y.requires_grad) == (False, "MulBackward0", True)
    (leaf, slot), number = y.grad_fn.next_functions
    assert number == (None, 0) and (leaf.variable is x, leaf.next_functions, slot) == (True, (), 0)
    raises(RuntimeError, "leaf variables", lambda: y.requires_grad_(False))
    assert not y.detach().requires_grad and x.requires_grad_(False) is x
    assert not (x * 2).requires_grad
    y.detach_()
    assert y.is_leaf and not y.requires_grad


def test_detach_and_data_share_memory() -> None:
    x = minigrad.ones(3, requires_grad=True)
    d = x.detach()
    d[0] = 5
    assert x[0].item() == 5
    x.data.mul_(2)
    assert x.tolist() == [10, 2, 2]
    x.data = minigrad.zeros(2)
    assert x.shape == (2,) and x.requires_grad


def test_conversions_keep_the_graph() -> None:
    x = minigrad.tensor([1.5], requires_grad=True)
    (x.double() * 2).half().float().sum().backward()
    assert x.grad.tolist() == [2] and x.to(minigrad.float32) is x
    assert x.to("cpu") is x and x.to(x, copy=True) is not x
    raises(TypeError, "is not a dtype", lambda: x.to(dtype="real"))
    raises(RuntimeError, "is not a device", lambda: x.to("gpu:0"))


def test_methods_equal_functions() -> None:
    """Every function that is also a method in torch is a method here."""
    methods = [n for n in minigrad.__all__ if callable(getattr(torch, n, None)) and hasattr(torch.Tensor, n)]
    assert [name for name in methods if not hasattr(minigrad.Tensor, name)] == []


def test_equality_helpers() -> None:
    x = minigrad.tensor([1.0, float("nan")])
    assert not minigrad.equal(x, x) and minigrad.equal(minigrad.ones(2), minigrad.ones(2))
    assert not minigrad.equal(minigrad.ones(2), minigrad.ones(3)) and not minigrad.allclose(x, x)
    assert minigrad.allclose(x, x, equal_nan=True)
    assert minigrad.allclose(minigrad.tensor([float("inf"), 1.0]), minigrad.tensor([float("inf"), 1.0 + 1e-7]))
    assert not minigrad.allclose(minigrad.ones(1), minigrad.tensor([float("inf")]))


def test_hooks_after_the_gradient_has_grown() -> None:
    leaf = minigrad.ones(2, requires_grad=True)
    calls: list[Any] = []
    handle = leaf.register_post_accumulate_grad_hook(lambda t: calls.append((t is leaf, t.grad.tolist())))
    (leaf * 2).sum().backward()
    (leaf * 2).sum().backward(inputs=[leaf])
    minigrad.autograd.grad((leaf * 2).sum(), leaf)
    assert calls == [(True, [2, 2]), (True, [4, 4])] and copy.deepcopy(leaf)._after is None
    pickle.dumps(leaf)
    handle.remove()
    (leaf * 2).sum().backward()
    assert len(calls) == 2
    raises(RuntimeError, "doesn't require gradient", lambda: minigrad.ones(1).register_post_accumulate_grad_hook(print))
    raises(RuntimeError, "non-leaf", lambda: (leaf * 2).register_post_accumulate_grad_hook(print))


def test_conjugate_transposes() -> None:
    x = minigrad.tensor([[1 + 2j, 3 - 1j]])
    assert x.H.tolist() == x.mH.tolist() == x.adjoint().tolist() == [[1 - 2j], [3 + 1j]]
    y = minigrad.arange(6).view(1, 2, 3)
    assert y.mH.shape == (1, 3, 2)
    raises(RuntimeError, "Got 3-D", lambda: y.H)


def test_the_dict_holds_the_attributes_of_the_program() -> None:
    """As in PyTorch; changes to it reach the tensor."""
    p = minigrad.nn.Parameter(minigrad.zeros(2))
    assert vars(p) == {}
    p.tag = 3
    assert vars(p) == {"tag": 3}
    p.__dict__["more"] = 4
    p.__dict__.update(third=5)
    assert (p.more, p.third, sorted(vars(p))) == (4, 5, ["more", "tag", "third"])
    assert vars(p).pop("third") == 5 and not hasattr(p, "third")
    p.__dict__ = {"other": 1}
    assert vars(p) == vars(copy.copy(p)) == {"other": 1}
    assert (p.shape, p.requires_grad, hasattr(p, "tag")) == ((2,), True, False)
    assert vars(minigrad.nn.Parameter(p.data, **vars(minigrad.nn.Parameter(p.data)))) == {}
    z = minigrad.ones(2, requires_grad=True) * 2
    z.tag = 1
    z.unsqueeze_(0).add_(1)
    assert vars(z) == {"tag": 1}
    z.sum().backward()


def test_views_say_that_they_are() -> None:
    x = minigrad.zeros(3)
    assert [v._is_view() for v in (x, x[1:], x.view(3), x.detach(), x.clone())] == [False, True, True, False, False]
    assert x.to_dense() is x
