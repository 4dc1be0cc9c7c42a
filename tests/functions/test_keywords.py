"""Functions and methods take their arguments by the names that PyTorch's schemas have for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.parity import assert_close, ours, theirs, torch

# Arguments of overloads that Python does not reach, or not by keyword, and those of CUDA's and of TorchScript's alone.
NOT_FROM_PYTHON = {
    *("as_tensor.t", "tensor.t", "eq.a", "eq.b", "ne.a", "ne.b", "sort.reverse", "backward.tensors"),
    *("backward.grad_tensors", "einsum.tensors", "einsum.path", "einsum.a", "tensordot.self", "tensordot.other"),
    *("tensordot.dims_self", "tensordot.dims_other", "meshgrid.tensors", "broadcast_tensors.tensors"),
    *("block_diag.tensors", "cartesian_prod.tensors", "chain_matmul.matrices", "result_type.scalar", "detach_.self"),
    *(f"atleast_{n}d.{name}" for n in (1, 2, 3) for name in ("self", "tensors")),
    *(f"{name}.out_dtype" for name in ("mm", "bmm", "addmm", "baddbmm")),
    *("rrelu.generator", "rrelu_.generator"),  # one of its own is drawn from
    *("to.other", "to.layout", "to.pin_memory"),
}


def arguments() -> Iterator[tuple[str, str, str, bool]]:
    """A place ("Tensor" or ""), a name of both libraries, the name of an argument, and whether one precedes it."""
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        types = [str(value.type) for value in (*schema.arguments, *schema.returns)]
        written = any(argument.is_out for argument in schema.arguments)
        if namespace != "aten" or written or not any("Tensor" in kind for kind in types):
            continue
        for place, in_torch, in_ours in (("", torch, minigrad), ("Tensor", torch.Tensor, minigrad.Tensor)):
            inner = name.startswith("_") and not name.startswith("_foreach_")
            if inner or not hasattr(in_torch, name) or not callable(getattr(in_ours, name, None)):
                continue
            for argument in schema.arguments:
                if f"{name}.{argument.name}" not in NOT_FROM_PYTHON and not (place and argument.name == "self"):
                    word = "input" if argument.name == "self" else argument.name
                    yield place, name, word, argument.name != schema.arguments[0].name


def refuses(function: Callable[..., Any], keyword: str, method: bool) -> bool:
    """Whether the keyword is what a call is refused for."""
    given = (minigrad.ones(2, 2),) if method else ()
    try:
        function(*given, **{keyword: object()})
    except TypeError as error:
        return "unexpected keyword" in str(error)
    except Exception:
        pass
    return False


def test_every_argument_has_pytorchs_name() -> None:
    refused = [
        f"{place}.{name}({word}=)"
        for place, name, word, later in arguments()
        if refuses(getattr(minigrad.Tensor if place else minigrad, name), word, later or bool(place))
    ]
    assert not refused, refused


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "mul_": lambda t, x, y: x.mul_(other=y),
    "add_": lambda t, x, y: x.add_(other=y, alpha=2),
    "sub_": lambda t, x, y: x.sub_(other=y, alpha=2),
    "div_": lambda t, x, y: x.div_(other=y, rounding_mode="floor"),
    "lerp_": lambda t, x, y: x.lerp_(end=y, weight=0.25),
    "clamp_": lambda t, x, y: x.clamp_(min=0.2, max=0.8),
    "masked_fill_": lambda t, x, y: x.masked_fill_(mask=y > 0, value=3.0),
    "copy_": lambda t, x, y: x.copy_(other=y, non_blocking=True),
    "addcmul_": lambda t, x, y: x.addcmul_(tensor1=y, tensor2=y, value=0.5),
    "addcdiv_": lambda t, x, y: x.addcdiv_(tensor1=y, tensor2=y + 3, value=0.5),
    "scatter_": lambda t, x, y: x.scatter_(dim=0, index=t.tensor([[1, 0, 1]]), src=y),
    "index_fill_": lambda t, x, y: x.index_fill_(dim=1, index=t.tensor([0, 2]), value=7.0),
    "fill_": lambda t, x, y: x.fill_(value=2.5),
    "pow_": lambda t, x, y: x.pow_(exponent=2),
    "det": lambda t, x, y: t.det(input=x[:, :2]),
    "slogdet": lambda t, x, y: t.slogdet(input=x[:, :2])[1],
    "cholesky": lambda t, x, y: t.cholesky(input=x @ x.T + t.eye(2, dtype=x.dtype)),
    "cholesky_solve": lambda t, x, y: t.cholesky_solve(input=y, input2=t.linalg.cholesky(x @ x.T)),
    "split_with_sizes": lambda t, x, y: t.split_with_sizes(x, split_sizes=[1, 2], dim=1)[1],
    "split": lambda t, x, y: t.split(tensor=x, split_size_or_sections=2, dim=1)[1],
    "tensor_split": lambda t, x, y: t.tensor_split(x, sections=2, dim=1)[1],
    "hsplit": lambda t, x, y: x.hsplit(indices=(1, 2))[2],
    "isin": lambda t, x, y: t.isin(element=1.0, test_elements=x),
    "isin of one": lambda t, x, y: t.isin(elements=x, test_element=1.0),
    "resize_": lambda t, x, y: x.resize_(size=(1, 2)),
    "resize_as_": lambda t, x, y: t.resize_as_(x, the_template=y[:, :2]).shape.numel() * y,
    "sum_to_size": lambda t, x, y: x.sum_to_size(size=(1, 3)),
    "set_": lambda t, x, y: x.set_(source=y, storage_offset=1, size=(2, 2), stride=(2, 1)),
    "set_ in order": lambda t, x, y: x.set_(y, 2, (2, 2)),
    "to": lambda t, x, y: x.to(tensor=y.float()).double(),
    "from": lambda t, x, y: x.uniform_(**{"from": 2, "to": 2}),
    "normal_": lambda t, x, y: x.normal_(mean=2, std=0.0),
}


@pytest.mark.parametrize("name", CALLS)
def test_values(name: str) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.uniform(-1, 1, (2, 3)) for _ in range(2))
    found, expected = (CALLS[name](t, make(x), make(y)) for t, make in ((minigrad, ours), (torch, theirs)))
    assert_close(found, expected, 1e-8)
