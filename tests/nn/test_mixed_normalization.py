"""Normalisation of 16 bits with weights in float32: computed in float32, and rounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.both import agree, numbers
from tests.support.cases import cases

F: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "layer_norm": lambda t, x, w, b: t.nn.functional.layer_norm(x, (6,), w, b),
    "group_norm": lambda t, x, w, b: t.nn.functional.group_norm(x.view(2, 6, 4), 3, w, b),
    "batch_norm": lambda t, x, w, b: t.nn.functional.batch_norm(x.view(4, 6, 2), None, None, w, b, True),
    "batch_norm with statistics": lambda t, x, w, b: t.nn.functional.batch_norm(
        x.view(4, 6, 2), t.ones(6), t.ones(6) * 2, w, b
    ),
}


@cases("name", F)
@cases("dtype", ["float16", "bfloat16"])
@cases("has_bias", [True, False])
def test_weights_in_float32(name: str, dtype: str, has_bias: bool) -> None:
    def program(t: Any, x: Any, w: Any, b: Any) -> Any:
        out = F[name](t, x.to(getattr(t, dtype)), w, b if has_bias else None)
        return out.float(), str(out.dtype).rpartition(".")[2]

    agree(program, *(numbers(*shape).astype("float32") for shape in [(8, 6), (6,), (6,)]), near=0.02)


@cases("kind, shape", [("InstanceNorm1d", (2, 3, 5)), ("InstanceNorm2d", (2, 3, 5, 2))])
def test_instance_norm_without_eps(kind: str, shape: tuple[int, ...]) -> None:
    def program(t: Any, x: Any) -> Any:
        layer = getattr(t.nn, kind)(3, eps=0, track_running_stats=True).double()
        return layer(x), layer.eval()(x)

    agree(program, numbers(*shape))
