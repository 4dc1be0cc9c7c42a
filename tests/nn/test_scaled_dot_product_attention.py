"""F.scaled_dot_product_attention against PyTorch, and against the definition of attention."""

from typing import Any

import numpy as np

import minigrad
import minigrad.nn.functional as F
from tests.support.both import agree
from tests.support.cases import cases, pairwise, raises, rng
from tests.support.parity import assert_close, host, ours

T, S, D, DV = 5, 6, 4, 3
LEADS: list[tuple[int, ...]] = [(), (3,), (2, 3), (2, 2, 3)]
MASKS: dict[str, Any] = {
    "none": lambda lead: None,
    "bool (T, S)": lambda lead: rng.random((T, S)) < 0.7,
    "bool (1, S)": lambda lead: rng.random((1, S)) < 0.7,
    "bool of all axes": lambda lead: rng.random((*lead, T, S)) < 0.7,
    "bool over heads": lambda lead: rng.random((*lead[:-1], 1, T, S)) < 0.7 if lead else rng.random((T, S)) < 0.7,
    "float (T, S)": lambda lead: rng.standard_normal((T, S)),
    "float of all axes": lambda lead: rng.standard_normal((*lead, T, S)),
}


def arrays(*shapes: tuple[int, ...]) -> list[Any]:
    return [rng.standard_normal(shape) for shape in shapes]


def attention(t: Any, *args: Any, **how: Any) -> Any:
    return t.nn.functional.scaled_dot_product_attention(*args, **how)


@cases("lead, mask", pairwise(LEADS, list(MASKS)))
def test_masks_and_leading_axes(lead: tuple[int, ...], mask: str, device: str) -> None:
    array = MASKS[mask](lead)
    if array is not None and array.dtype == bool:
        array[..., 0] = True  # every query sees at least one key
    agree(attention, *arrays((*lead, T, D), (*lead, S, D), (*lead, S, DV)), array, device=device)


@cases("lead, scale", pairwise(LEADS, (None, 0.3)))
def test_causal(lead: tuple[int, ...], scale: float | None, device: str) -> None:
    inputs = arrays((*lead, T, D), (*lead, S, D), (*lead, S, DV))
    agree(lambda t, *args: attention(t, *args, is_causal=True, scale=scale), *inputs, device=device)


def test_causal_gradients_by_the_rule_equal_the_kernels(device: str) -> None:
    inputs = [ours(a, True, device) for a in arrays((2, 3, T, D), (2, 3, S, D), (2, 3, S, DV))]
    loss = F.scaled_dot_product_attention(*inputs, is_causal=True).square().sum()  # type: ignore[misc, arg-type]
    derivatives = [minigrad.autograd.grad(loss, inputs, retain_graph=True, create_graph=rule) for rule in (False, True)]
    for kernel, rule in zip(*derivatives, strict=True):
        assert_close(rule, kernel)


def test_shared_heads_and_leading_axes_that_broadcast(device: str) -> None:
    shared = arrays((2, 6, T, D), (2, 2, S, D), (2, 2, S, DV))
    agree(lambda t, *args: attention(t, *args, enable_gqa=True), *shared, device=device)
    agree(attention, *arrays((2, 3, T, D), (3, S, D), (1, 3, S, DV)), device=device)


def test_a_query_that_sees_nothing_gets_zeros(device: str) -> None:
    mask = np.ones((T, S), bool)
    mask[2] = False
    inputs = [ours(a, True, device) for a in arrays((2, 3, T, D), (2, 3, S, D), (2, 3, S, DV))]
    out = F.scaled_dot_product_attention(*inputs, attn_mask=ours(mask, device=device))
    assert not host(out)[:, :, 2].any() and host(out)[:, :, 1].any()
    out.sum().backward()
    assert all(np.isfinite(host(x.grad)).all() for x in inputs) and not host(inputs[0].grad)[:, :, 2].any()


def test_dropout_of_the_weights(device: str) -> None:
    q, k, v = (minigrad.zeros(1, 1, *shape, device=device) for shape in ((400, D), (500, D), (500, 1)))
    v += 1

    def run() -> Any:
        minigrad.manual_seed(1)
        return host(F.scaled_dot_product_attention(q, k, v, dropout_p=0.25))

    out = run()  # the kept share, divided by 1 - p
    assert abs(out.mean() - 1) < 0.01 and 0.01 < out.std() < 0.05
    np.testing.assert_array_equal(run(), out)


def test_float32_is_kept(device: str) -> None:
    q, k, v = (ours(a.astype(np.float32), True, device) for a in arrays(*[(2, 3, 4, 4)] * 3))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=minigrad.zeros(4, 4, device=device))
    out.sum().backward()
    assert {out.dtype, *(x.grad.dtype for x in (q, k, v))} == {minigrad.float32}


def test_errors() -> None:
    f, q, mask, k = F.scaled_dot_product_attention, minigrad.ones(1, 2, 3, 4), minigrad.ones(3, 3), minigrad.ones
    raises(RuntimeError, "not be set when is_causal=True", lambda: f(q, q, q, attn_mask=mask.bool(), is_causal=True))
    raises(RuntimeError, r"query \(\.\.\., T, Dh\), key .* do not match: got \(1, 2", lambda: f(q, k(1, 2, 3, 5), q))
    raises(RuntimeError, "expected input and value to have the same dtype", lambda: f(q, q, q.double()))
    raises(RuntimeError, r"dtype to be bool or float.*\.bool\(\)", lambda: f(q, q, q, attn_mask=mask.long()))
    three = k(1, 3, 3, 4)
    raises(RuntimeError, "2 query heads cannot share 3", lambda: f(q, three, three, enable_gqa=True))
    raises(ValueError, "between 0 and 1", lambda: f(q, q, q, dropout_p=2.0))
