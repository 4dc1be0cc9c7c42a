"""Every method that changes a tensor in place writes to its memory in any layout: transposed, with strides, a slice of
a larger array. The result equals that of a contiguous tensor, and PyTorch's."""

from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad
from tests.support.cases import cases
from tests.support.parity import torch

RNG = np.random.default_rng(0)
X, Y = (RNG.uniform(0.2, 0.8, (7, 4)).astype(np.float32) for _ in range(2))
X[1, 1] = -1.25
INTEGERS, SHIFTS = RNG.integers(1, 9, (7, 4)), RNG.integers(1, 5, (7, 4))
MASK, INDEX, ROWS = RNG.random((7, 4)) > 0.5, RNG.integers(0, 7, (7, 4)), np.array([0, 2])
TALL, WIDE = RNG.random((7, 3), np.float32), RNG.random((3, 4), np.float32)
LAYOUTS: dict[str, Callable[[Any, Any], Any]] = {
    "contiguous": lambda t, x: t.from_numpy(x.copy()),
    "transposed": lambda t, x: t.from_numpy(x.T.copy()).t(),
    "in steps": lambda t, x: t.from_numpy(x.repeat(2, 0).repeat(3, 1))[1::2, ::3],
    "transposed, in steps": lambda t, x: t.from_numpy(x.T.repeat(2, 0).repeat(3, 1))[1::2, ::3].t(),
    "a slice": lambda t, x: t.from_numpy(x[:, None].repeat(3, 1))[:, 1],
    "a permuted slice": lambda t, x: t.from_numpy(x.T[:, None].repeat(3, 1)).permute(1, 2, 0)[2],
}
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "addbmm_": (TALL[None], WIDE[None]),
    "addcdiv_": (Y, Y),
    "addcmul_": (Y, X),
    "addmm_": (TALL, WIDE),
    "addr_": (TALL[:, 0], WIDE[0]),
    "apply_": (lambda v: 2 * v,),
    "clamp_": (0.3, 0.6),
    "clamp_max_": (0.5,),
    "clamp_min_": (0.5,),
    "clip_": (0.3, 0.6),
    "cumprod_": (1,),
    "cumsum_": (0,),
    "fill_": (3,),
    "fill_diagonal_": (2.0, True),
    "geometric_": (0.3,),
    "index_add_": (0, ROWS, Y[:2]),
    "index_copy_": (0, ROWS, Y[:2]),
    "index_fill_": (1, ROWS, 5.0),
    "index_put_": ((ROWS, ROWS), Y[0, :2], True),
    "index_reduce_": (0, ROWS, Y[:2], "prod"),
    "ldexp_": (SHIFTS,),
    "lerp_": (Y, 0.3),
    "map_": (Y, lambda a, b: a + b),
    "masked_fill_": (MASK, 4.0),
    "masked_scatter_": (MASK, Y),
    "mvlgamma_": (1,),
    "polygamma_": (1,),
    "put_": (ROWS, Y[0, :2]),
    "random_": (3, 9),
    "renorm_": (2, 0, 0.5),
    "resize_": (3, 5),
    "resize_as_": (WIDE,),
    "scatter_": (0, INDEX, Y),
    "scatter_add_": (0, INDEX, Y),
    "scatter_reduce_": (0, INDEX, Y, "sum"),
    "swapaxes_": (0, 1),
    "swapdims_": (0, 1),
    "transpose_": (0, 1),
    "unsqueeze_": (0,),
}
OF_TWO = (
    "add_ arctan2_ atan2_ copy_ copysign_ div_ divide_ eq_ floor_divide_ fmod_ ge_ greater_ greater_equal_ gt_ "
    "heaviside_ hypot_ igamma_ igammac_ le_ less_ less_equal_ logical_and_ logical_or_ logical_xor_ lt_ mul_ "
    "multiply_ ne_ nextafter_ not_equal_ pow_ remainder_ sub_ subtract_ true_divide_ xlogy_"
)
OF_INTEGERS = "bitwise_and_ bitwise_left_shift_ bitwise_or_ bitwise_right_shift_ bitwise_xor_ gcd_ lcm_"
ARGUMENTS |= dict.fromkeys(OF_TWO.split(), (Y,)) | dict.fromkeys(OF_INTEGERS.split(), (SHIFTS,))
# These need other shapes or values, or replace the tensor's memory.
OTHERS = "acosh_ addmv_ arccosh_ as_strided_ baddbmm_ detach_ float_power_ requires_grad_ set_ share_memory_"
METHODS = sorted(name for name in dir(minigrad.Tensor) if name.endswith("_") and not name.startswith("_"))
METHODS = [name for name in METHODS if name not in OTHERS.split()]
# Random numbers are drawn in the order of memory.
DRAWING = ["bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_"]
UNCHANGED = ("conj_physical_", "nan_to_num_", "squeeze_")  # by these values
OF_MEMORY = ("resize_", "resize_as_")


def changed(t: Any, name: str, layout: str) -> Any:
    """The tensor after the change, in PyTorch or here."""
    start = INTEGERS if name in OF_INTEGERS.split() or name == "bitwise_not_" else X
    x = LAYOUTS[layout](t, start)
    t.manual_seed(3)
    getattr(x, name)(*(tensors(t, v) for v in ARGUMENTS.get(name, ())))
    return x.numpy()


def tensors(t: Any, value: Any) -> Any:
    """Arrays as tensors."""
    if isinstance(value, tuple):
        return tuple(tensors(t, v) for v in value)
    return t.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value


@cases("name", METHODS)
def test_it_writes_to_the_tensors_memory(name: str) -> None:
    """Every layout produces the same result as the contiguous one."""
    expected = changed(minigrad, name, "contiguous")
    assert name in UNCHANGED or not np.array_equal(expected, X), "the arguments change nothing"
    for layout in LAYOUTS if name not in (*DRAWING, *OF_MEMORY) else ():
        np.testing.assert_array_equal(changed(minigrad, name, layout), expected, err_msg=layout)


@cases("name", METHODS)
def test_it_writes_what_pytorch_writes(name: str) -> None:
    """Including random draws and changes of shape, which follow the order of memory."""
    for layout in LAYOUTS:
        mine, other = changed(minigrad, name, layout), changed(torch, name, layout)
        np.testing.assert_allclose(mine, other, rtol=2e-5, atol=1e-5, err_msg=layout)


def test_a_change_of_size_stays_in_its_memory(device: str) -> None:
    """The new elements are the next ones in memory, until the tensor needs more memory."""
    memory = minigrad.arange(12, device=device)
    part = memory[2:8].view(2, 3).t()
    assert part.resize_(2, 2).tolist() == [[2, 3], [4, 5]] and part.resize_(2, 2).stride() == (2, 1)
    part[0, 0] = 99
    assert memory[2].item() == 99 and part.resize_(20)[:10].tolist() == [99, *range(3, 12)]
    assert minigrad.zeros(3, 7, device=device).t().fill_diagonal_(1, wrap=True).sum().item() == 6
