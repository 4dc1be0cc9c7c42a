"""Functions applied to each tensor of a list."""

import numpy as np

import minigrad
from minigrad.compat import foreach as _foreach_utils
from tests.support.cases import raises
from tests.support.expressions import evaluate, split
from tests.support.parity import assert_close, ours, theirs, torch

SHAPES = [(2,), (3, 2), ()]
CALLS = {  # x, y and z are lists of tensors
    "add": "x, y, alpha=2 ; x, scalars=[1.0, 2.0, 3.0] ; self=x, other=y, alpha=0.5 ; x, scalar=2",
    "sub": "x, 0.5 ; x, other=y",
    "mul": "x, [2.0, 3.0, 4.0] ; x, y[2]",
    "lerp": "x, y, 0.25 ; x, tensors1=y, weights=z ; x, y, weight=0.25",
    "addcdiv": "x, y, z, [1.0, -2.0, 3.0] ; x, y, tensor2=z, scalars=[1.0, -2.0, 3.0]",
    "addcmul": "x, y, z, value=0.5 ; x, y, z, x[0].new_tensor([1.0, -2.0, 3.0])",
    "norm": "x, ord=1 ; x",
    "mm": "[x[1]], [y[1].T]",
    "copy_": "x, y ; x, src=y, non_blocking=True",
    "pow": "x, y ; x, exponent=2 ; x, exponent=y",
    **dict.fromkeys(("div", "maximum", "minimum"), "x, y"),
    **dict.fromkeys(("clamp_max", "clamp_min"), "x, 0.4 ; x, other=y"),
}
NOT_OF_TENSOR = {"powsum"}


def names() -> list[str]:
    """The names after ``_foreach_`` in PyTorch."""
    return [name.removeprefix("_foreach_") for name in dir(torch) if name.startswith("_foreach_")]


def calls(name: str) -> list[str]:
    """The arguments for calls of a function, by default only the list."""
    return split(CALLS.get(name) or CALLS.get(name.removesuffix("_"), "x"))


def test_each() -> None:
    """Every ``_foreach_`` function that PyTorch has."""
    rng = np.random.default_rng(0)
    values = [[np.asarray(rng.uniform(0.2, 0.9, shape)) for shape in SHAPES] for _ in range(3)]
    for name in set(names()) - NOT_OF_TENSOR:
        for arguments in calls(name):
            results = []
            for t, make in ((minigrad, ours), (torch, theirs)):
                lists = [[make(v) for v in each] for each in values]
                function = getattr(t, f"_foreach_{name}")
                out = evaluate(f"function({arguments})", function=function, **dict(zip("xyz", lists, strict=True)))
                results.append([*out, *lists[0]])
                assert (out is lists[0]) == name.endswith("_"), name
                assert isinstance(out, list if name.endswith("_") else tuple), name
            for result, expected in zip(*results, strict=True):
                assert_close(result, expected, 1e-8, name)


def test_a_number_to_the_power_of_each() -> None:
    for result, expected in zip(
        minigrad._foreach_pow(2, [ours(np.arange(3.0))]), torch._foreach_pow(2, [theirs(np.arange(3.0))]), strict=True
    ):
        assert_close(result, expected)


def test_methods_without_a_foreach_function_in_pytorch() -> None:
    x = [ours(np.array([0.5, 2.0]))]
    assert [t.tolist() for t in minigrad._foreach_square(x)] == [[0.25, 4.0]]
    assert not hasattr(minigrad, "_foreach_nothing")


def test_errors() -> None:
    x = [ours(np.ones(2))] * 2
    raises(RuntimeError, "same number of tensors, got 2 and 1", lambda: minigrad._foreach_add(x, x[:1]))
    raises(RuntimeError, "at least one tensor", lambda: minigrad._foreach_add([], 1))


def test_groups_by_device_and_dtype() -> None:
    from torch.utils import _foreach_utils as reference

    groups = []
    for t, module in ((minigrad, _foreach_utils), (torch, reference)):
        params = [t.zeros(1), t.zeros(2, dtype=t.float64), t.zeros(3)]
        result = module._group_tensors_by_device_and_dtype([params, [None, None, None]], with_indices=True)
        groups.append(
            {
                (str(device), str(dtype).rpartition(".")[2]): ([[p.shape[0] for p in lists[0]], lists[1]], places)
                for (device, dtype), (lists, places) in result.items()
            }
        )
        assert module._has_foreach_support(params, params[0].device)
    assert groups[0] == groups[1]
