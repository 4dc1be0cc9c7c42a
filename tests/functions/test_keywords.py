"""Functions and methods take their arguments by the names in PyTorch's schemas."""

from collections.abc import Callable, Iterator
from typing import Any

import minigrad
from tests.support.parity import torch

# Arguments of overloads that Python cannot call, or not by keyword, and arguments only for CUDA or TorchScript.
NOT_FROM_PYTHON = {
    *("as_tensor.t", "tensor.t", "eq.a", "eq.b", "ne.a", "ne.b", "sort.reverse", "backward.tensors"),
    *("backward.grad_tensors", "einsum.tensors", "einsum.path", "einsum.a", "tensordot.self", "tensordot.other"),
    *("tensordot.dims_self", "tensordot.dims_other", "meshgrid.tensors", "broadcast_tensors.tensors"),
    *("block_diag.tensors", "cartesian_prod.tensors", "chain_matmul.matrices", "result_type.scalar", "detach_.self"),
    *(f"atleast_{n}d.{name}" for n in (1, 2, 3) for name in ("self", "tensors")),
    *(f"{name}.out_dtype" for name in ("mm", "bmm", "addmm", "baddbmm")),
    *("rrelu.generator", "rrelu_.generator"),  # it draws from its own generator
    *("to.other", "to.layout", "to.pin_memory"),
}


def arguments() -> Iterator[tuple[str, str, str, bool]]:
    """A class ("Tensor" or ""), a name of both libraries, the name of an argument, and whether another precedes it."""
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        types = [str(value.type) for value in (*schema.arguments, *schema.returns)]
        has_out = any(argument.is_out for argument in schema.arguments)
        if namespace != "aten" or has_out or not any("Tensor" in kind for kind in types):
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
    """Whether a call fails because of the keyword."""
    arguments = (minigrad.ones(2, 2),) if method else ()
    try:
        function(*arguments, **{keyword: object()})
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
