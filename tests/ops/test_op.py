"""Ops of the library and ops of a program: names and kernels."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.compat.ops.registry import REGISTRY
from minigrad.ops.op import Op, op


def cubed(module: str = __name__) -> Op:
    """An op with the name of an op that has a kernel."""

    def layer_norm(x: Any) -> Any:
        """x³"""
        return x * x * x

    layer_norm.__module__ = module
    custom: Op = op("dx = 3 g x²", x=lambda g, x: 3 * g * x * x)(layer_norm)
    return custom


def test_a_program_may_give_its_op_any_name_and_define_it_again() -> None:
    theirs = REGISTRY["layer_norm"]
    first, second = cubed(), cubed()
    x = minigrad.tensor([2.0], requires_grad=True)
    (first(x) + second(x)).backward()
    assert x.grad is not None and x.grad.item() == 24
    assert (first.kernel, theirs.kernel) == ("", "layer_norm")
    assert REGISTRY["layer_norm"] is theirs


def test_the_library_uses_a_name_once() -> None:
    with pytest.raises(ValueError, match=r"there is already an op 'layer_norm', in minigrad\.ops\.normalization"):
        cubed("minigrad.ops.theirs")


def test_an_op_without_a_rule_says_so_when_its_gradient_is_needed() -> None:
    @op
    def triple(x: Any) -> Any:
        return 3 * x

    @op
    def positive(x: Any) -> Any:
        return (x > 0).sum()

    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match=r"the op triple has no gradient rule: define one .*@op\(x=lambda g, …\)"):
        triple(x).sum().backward()
    (x * positive(x)).sum().backward()  # integers have no gradient
    assert not positive(x).requires_grad and x.grad is not None and x.grad.tolist() == [2, 2]
    triple.gradient(x=lambda g: 3 * g)
    assert minigrad.autograd.grad(triple(x).sum(), x)[0].tolist() == [3, 3]


def test_a_rule_that_calls_numpy_on_tensors_is_told_to_use_ops() -> None:
    @op(x=lambda g, x: g * np.cos(x))
    def sine(x: Any) -> Any:
        return np.sin(x)

    x = minigrad.zeros(2, requires_grad=True)
    assert minigrad.autograd.grad(sine(x).sum(), x)[0].tolist() == [1, 1]  # on arrays
    with pytest.raises(RuntimeError, match=r"gradient rules run on tensors: use ops such as x\.cos\(\), not np\.cos"):
        minigrad.autograd.grad(sine(x).sum(), x, create_graph=True)


def test_the_registry_loads_every_file() -> None:
    program = "import sys, minigrad.compat.ops.registry; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    for package in ("minigrad.ops", "minigrad.compat.ops"):
        files = Path(import_module(package).__path__[0]).glob("*.py")
        assert {f"{package}.{path.stem}" for path in files if path.stem != "__init__"} <= {*loaded}
