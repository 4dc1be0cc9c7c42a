"""PyTorch's numbers from the same seed: every kind of draw, single and mixed, and the stream's position."""

import tracemalloc

import numpy as np
import pytest

import minigrad
from tests.support.cases import cases, raises
from tests.support.expressions import assert_alike, split
from tests.support.parity import host, torch

DRAWS = """
t.rand(5) ; t.rand(2,3) ; t.rand((7,),dtype=t.float64) ; t.randint(10,(20,)) ; t.randint(-3,4,(5,5))
t.randint(low=2,high=9,size=(4,)) ; t.randperm(10) ; t.randperm(1) ; t.rand_like(t.zeros(2,2))
t.zeros(4).uniform_(-2,3) ; t.bernoulli(t.full((10,),0.3)) ; t.zeros(9).bernoulli_(0.7)
t.multinomial(t.tensor([0.1,0.5,0.4]),1) ; t.multinomial(t.tensor([[0.1,0.5,0.4],[3.0,1.0,0.0]]),1)
t.multinomial(t.ones(5),3) ; t.randint(0,2,(6,),dtype=t.int32) ; t.rand(0) ; t.randn(16) ; t.randn(5) ; t.randn(3,7)
t.randn(100) ; t.randn(17) ; t.randn((4,4),dtype=t.float64) ; t.randn(3,dtype=t.float64) ; t.zeros(20).normal_(1,2)
t.randn_like(t.zeros(2,9)) ; t.normal(0.0,1.0,(4,5)) ; t.cat([t.randn(3),t.randn(2),t.randn(20)]) ; t.rand(7,3)
t.rand(7,dtype=t.float64) ; t.rand(70,dtype=t.float16) ; t.view_as_real(t.randn(5,8,dtype=t.complex64))
t.view_as_real(t.randn(3,dtype=t.complex128)) ; t.view_as_real(t.rand(3,dtype=t.complex64))
t.cat([t.randn(3),t.rand(2),t.randn(1),t.randn(20),t.randn(2)])
t.cat([t.randn(3).double(),t.randn(1,dtype=t.float64),t.randn(2)]) ; t.empty(6,7).t().normal_(1,2)
t.empty(6,7).t().uniform_(1,2) ; t.empty(90,dtype=t.float64).uniform_(-3,2)
t.empty(90,dtype=t.float16).uniform_(-3,2) ; t.empty(9).uniform_(-3,to=2) ; t.randint(-5,7,(9,)) ; t.randint(5,(9,))
t.randint(high=9,size=(4,)) ; t.randint(0,100,(9,),dtype=t.uint8) ; t.randint(0,100,(9,),dtype=t.float32)
t.randint(0,2 ** 28,(9,)) ; t.randint(0,2 ** 31 + 5,(9,)) ; t.randint(-5,2 ** 40,(9,))
t.randint(-2 ** 63,2 ** 63 - 1,(9,)) ; t.randperm(50,dtype=t.int32) ; t.multinomial(u,1) ; t.multinomial(u,3)
t.multinomial(u,5,replacement=True) ; t.multinomial(u[0],9,True) ; t.multinomial(u.double(),3,True)
t.multinomial(t.arange(1.,15001).view(3,-1),300) ; t.multinomial(t.arange(1.,15001).view(3,-1),300,True)
t.bernoulli(u) ; t.bernoulli(t.zeros(7),0.5) ; t.empty(5,4).bernoulli_(0.3) ; t.empty(3,4).bernoulli_(u)
t.empty(20).exponential_(2.5) ; t.empty(20).geometric_(0.3) ; t.empty(20,dtype=t.float64).cauchy_(1,2)
t.empty(20).log_normal_() ; t.empty(9).random_() ; t.empty(9,dtype=t.int64).random_()
t.empty(9,dtype=t.uint8).random_() ; t.empty(9,dtype=t.bool).random_() ; t.empty(9).random_(10)
t.empty(9,dtype=t.int64).random_(3,10) ; t.empty(9,dtype=t.int64).random_(3,None) ; t.rand_like(t.zeros(5,8).t())
t.randn_like(t.zeros(5,8).t()) ; t.randint_like(t.zeros(3,2),3,7)
t.rand_like(t.ones(3,2).t(),memory_format=t.contiguous_format) ; t.multinomial(t.arange(1.0,13.0).reshape(3,4).t(),2)
t.normal(x,u) ; t.normal(x,2.0) ; t.normal(t.zeros(3,1),t.ones(4)) ; t.normal(mean=2.0,std=3.0,size=(4,))
(t.manual_seed(2 ** 40 + 3),t.rand(4))[1] ; (t.manual_seed(-7),t.rand(4))[1]
t.randn(4,generator=t.Generator().manual_seed(3)) ; t.rand(4,generator=t.Generator()) ; t.randn(1)
t.randn(1,dtype=t.float64) ; t.randn(1,dtype=t.float16) ; t.randn(3) ; t.randn(3,dtype=t.float16) ; t.randn(15)
t.randn(15,dtype=t.float64) ; t.randn(15,dtype=t.float16) ; t.randn(16,dtype=t.float64) ; t.randn(16,dtype=t.float16)
t.randn(17,dtype=t.float64) ; t.randn(17,dtype=t.float16) ; t.randn(31) ; t.randn(31,dtype=t.float64)
t.randn(31,dtype=t.float16) ; t.randn(32) ; t.randn(32,dtype=t.float64) ; t.randn(32,dtype=t.float16)
t.randn(100,dtype=t.float64) ; t.randn(100,dtype=t.float16) ; t.randperm(0) ; t.randperm(30000) ; t.randperm(100000)
(t.manual_seed(2**31),t.rand(4))[1] ; (t.manual_seed(2**32+5),t.randn(20))[1]
t.randn(65541)[-99:] ; t.empty(131090).normal_(1,2)[65500:] ; t.empty(3,70001,dtype=t.float64).uniform_(-1,1)[1:,::999]
t.rand(200003)[131000:] ; t.empty(65541,dtype=t.float16).normal_()[65500:] ; t.empty(70000,dtype=t.int64).random_()[-9:]
t.cat([b for _ in range(2) for b in t.utils.data.DataLoader(t.arange(23),batch_size=4,shuffle=True)])
[[i for part in t.utils.data.random_split(range(20),[12,8]) for i in part.indices] for _ in range(2)]
[t.distributions.Categorical(logits=t.arange(5.0)).sample((30,)) for _ in range(2)]
"""


@cases("draw", split(DRAWS))
def test_as_torch_from_one_seed(draw: str) -> None:
    """The stream then continues identically."""
    assert_alike(f"({draw}, t.rand(3))")


@cases("name", ["normal_", "uniform_", "exponential_"])
def test_large_draws_take_little_memory(name: str) -> None:
    x = minigrad.empty(1 << 21)
    tracemalloc.start()
    getattr(x, name)()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < x.nbytes / 4


def test_a_state_moves_from_one_library_to_the_other() -> None:
    torch.manual_seed(5)
    torch.randn(3), torch.rand(700)
    state = torch.get_rng_state().numpy()
    minigrad.set_rng_state(minigrad.from_numpy(state))
    np.testing.assert_allclose(host(minigrad.randn(5)), host(torch.randn(5)), atol=1e-6)
    state = host(minigrad.get_rng_state())[:5056]
    minigrad.rand(3)
    torch.set_rng_state(torch.from_numpy(state.copy()))
    minigrad.set_rng_state(minigrad.from_numpy(state.copy()))
    np.testing.assert_allclose(host(minigrad.randn(5)), host(torch.randn(5)), atol=1e-6)


def test_state_of_both_streams() -> None:
    state = minigrad.get_rng_state()
    assert (state.dtype, state.dim()) == (minigrad.uint8, 1)
    first = minigrad.rand(3).tolist(), minigrad.default_generator.keep_mask((50,), 0.5).tolist()
    minigrad.set_rng_state(state)
    assert (minigrad.rand(3).tolist(), minigrad.default_generator.keep_mask((50,), 0.5).tolist()) == first
    raises(RuntimeError, "5056 bytes", lambda: minigrad.set_rng_state(minigrad.zeros(3, dtype=minigrad.uint8)))


def test_seeds() -> None:
    minigrad.manual_seed(11)
    assert minigrad.initial_seed() == 11
    assert minigrad.seed() == minigrad.initial_seed() != 11


def test_fork_rng() -> None:
    from minigrad.functions.random import fork_rng

    minigrad.manual_seed(1)
    with fork_rng():
        minigrad.rand(10)
    after = minigrad.rand(2).tolist()
    minigrad.manual_seed(1)
    assert minigrad.rand(2).tolist() == after


def test_errors() -> None:
    x = minigrad.zeros(3)
    for draw in (
        lambda: x.uniform_(2, 1),
        lambda: x.normal_(0, -1),
        lambda: x.bernoulli_(2.0),
        lambda: x.exponential_(0),
        lambda: x.geometric_(0.0),
        lambda: x.random_(3, 3),
        lambda: minigrad.bernoulli(x + 2),
        lambda: minigrad.randperm(-1),
        lambda: minigrad.ones(3, requires_grad=True).normal_(),
    ):
        with pytest.raises(RuntimeError):
            draw()
    raises(TypeError, "size", lambda: minigrad.randint(3, 4))
