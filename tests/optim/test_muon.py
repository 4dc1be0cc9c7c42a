"""Muon against PyTorch, which rounds its iteration to bfloat16; and with AdamW for parameters that are not matrices."""

from functools import partial
from typing import Any

import numpy as np

import minigrad
from minigrad import nn, optim
from minigrad.backend import parallel
from minigrad.optim.muon import orthogonal
from tests.support.both import outcome
from tests.support.cases import cases, raises
from tests.support.parity import host, ours, torch

SHAPES = ((8, 8), (6, 20), (20, 6))


def matrices(dtype: Any, device: str) -> tuple[list[Any], list[Any]]:
    """Parameters of both libraries, with gradients."""
    rng = np.random.default_rng(0)
    mine, other = [], []
    for shape in SHAPES:
        values, g = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
        mine.append(nn.Parameter(ours(values, device=device)))
        other.append(torch.nn.Parameter(torch.from_numpy(values.copy())))
        mine[-1].grad, other[-1].grad = ours(g, device=device), torch.from_numpy(g.copy())
    return mine, other


@cases(
    "how",
    [
        {},
        {"lr": 0.1, "weight_decay": 0.0, "nesterov": False},
        {"lr": 0.1, "momentum": 0.5, "ns_steps": 3},
        {"lr": 0.02, "adjust_lr_fn": "match_rms_adamw"},
        {"lr": 0.1, "adjust_lr_fn": "original"},
    ],
)
def test_agrees_with_pytorch_as_far_as_bfloat16_goes(how: dict[str, Any], device: str) -> None:
    mine, other = matrices(np.float32, device)
    before = [host(p).copy() for p in mine]
    optimisers = optim.Muon(mine, **how), torch.optim.Muon(other, **how)
    for _ in range(5):
        for o in optimisers:
            o.step()
    for p, t, b in zip(mine, other, before, strict=True):
        moved = np.linalg.norm(host(t) - b)
        assert np.linalg.norm(host(p) - host(t)) < 0.05 * moved
        assert list(optimisers[0].state[p]) == list(optimisers[1].state[t])
        actual, expected = (o.state[q]["momentum_buffer"] for o, q in zip(optimisers, (p, t), strict=True))
        np.testing.assert_allclose(host(actual), host(expected), rtol=1e-5, atol=1e-6)


BAD: list[dict[str, Any]] = [
    {"lr": -1},
    {"weight_decay": -1},
    {"momentum": -1},
    {"adjust_lr_fn": "x"},
    {"ns_steps": 100},
]


@cases("how, shape", [*((how, (2, 2)) for how in BAD), ({}, (2,))])
def test_errors_are_pytorchs(how: dict[str, Any], shape: tuple[int, ...]) -> None:
    def step(t: Any) -> None:
        p = t.nn.Parameter(t.ones(shape))
        p.grad = t.ones(shape)
        t.optim.Muon([p], **how).step()

    actual, expected = (outcome(partial(step, t)) for t in (minigrad, torch))
    assert actual == expected and expected.startswith("ValueError")


@cases("shape", [(5, 5), (3, 40), (40, 3), (1, 7), (2, 0)])
def test_singular_values_come_near_one(shape: tuple[int, int]) -> None:
    matrix = np.random.default_rng(1).standard_normal(shape) * 1e-3
    actual = orthogonal(matrix)
    assert actual.shape == shape and actual.dtype == matrix.dtype
    u, s, vt = np.linalg.svd(matrix, full_matrices=False)
    large = s > 0.02 * np.linalg.norm(s)  # smaller ones need more steps
    size = np.linalg.svd(actual, compute_uv=False)
    assert ((size[: large.sum()] > 0.5) & (size[: large.sum()] < 1.3)).all()
    np.testing.assert_allclose(u.T @ actual @ vt.T, np.diag(np.diag(u.T @ actual @ vt.T)), atol=1e-9)


def test_a_gradient_of_zeros_changes_nothing(device: str) -> None:
    p = nn.Parameter(minigrad.ones(3, 2, device=device))
    p.grad = minigrad.zeros(3, 2, device=device)
    optim.Muon([p], weight_decay=0.0).step()
    assert (host(p) == 1).all()


def test_the_number_of_threads_changes_no_bit() -> None:
    before, actual = parallel.get_num_threads(), []
    try:
        for threads in (1, 3):
            parallel.set_num_threads(threads)
            rng = np.random.default_rng(0)
            params = [nn.Parameter(ours(rng.standard_normal(shape))) for shape in (*SHAPES, (70, 90), (3, 3))]
            for p in params:
                p.grad = ours(rng.standard_normal(p.shape))
            optimiser = optim.Muon(params, lr=0.1)
            for _ in range(3):
                optimiser.step()
            actual.append([host(p).copy() for p in params])
        optimiser.param_groups[0]["ns_coefficients"] = (1.0, 2.0)
        raises(ValueError, "unpack", optimiser.step)
    finally:
        parallel.set_num_threads(before)
    assert all((one == three).all() for one, three in zip(*actual, strict=True))


def test_with_adamw_each_group_has_its_own_rule(device: str) -> None:
    """The matrix moves as with only Muon, the rest as with only AdamW; the state can be loaded again."""

    def parameters() -> list[Any]:
        minigrad.manual_seed(0)
        actual = [nn.Parameter(minigrad.randn(*shape, device=device)) for shape in ((4, 6), (6,), (9, 4))]
        for p in actual:
            p.grad = minigrad.randn(*p.shape, device=device)
        return actual

    mine, alone = parameters(), parameters()
    groups: list[dict[str, Any]] = [{"params": mine[:1], "muon": True}, {"params": mine[1:]}]
    both = optim.MuonWithAdamW(groups, lr=0.01, betas=(0.9, 0.98), weight_decay=0.1)
    muon = optim.Muon(alone[:1], 0.01, 0.1, eps=1e-8, adjust_lr_fn="match_rms_adamw")
    adam = optim.AdamW(alone[1:], lr=0.01, betas=(0.9, 0.98), weight_decay=0.1)
    for _ in range(3):
        for o in (both, muon, adam):
            o.step()
    for p, q in zip(mine, alone, strict=True):
        assert (host(p) == host(q)).all()
    saved, again = both.state_dict(), parameters()
    groups = [{"params": again[:1], "muon": True}, {"params": again[1:]}]
    other = optim.MuonWithAdamW(groups, lr=1.0)
    other.load_state_dict(saved)
    with minigrad.no_grad():
        for p, q in zip(again, mine, strict=True):
            p.copy_(q)
    other.step()
    both.step()
    assert all((host(p) == host(q)).all() for p, q in zip(again, mine, strict=True))


def test_with_adamw_refuses_vectors_for_muon() -> None:
    vectors = [{"params": [nn.Parameter(minigrad.ones(3))], "muon": True}]
    raises(ValueError, r"Muon supports only matrices, .* has shape \(3,\)", lambda: optim.MuonWithAdamW(vectors))
