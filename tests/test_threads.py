"""Threads of a program: each trains independently, modes are per thread, and processes can be forked meanwhile.

As in PyTorch, all threads share the default generator (dropout draws from it), the default dtype and device, and the
number of threads of the kernels.
"""

import os
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.compat.anomaly import is_anomaly_enabled
from minigrad.nn import functional as F
from minigrad.nn.utils import parametrizations, parametrize
from minigrad.optim import optimizer
from minigrad.profiler import profile, record_function
from minigrad.utils.checkpoint import checkpoint
from tests.support import training
from tests.support.cases import cases
from tests.support.threads import side_by_side

ROOT = Path(__file__).parent.parent
STEPS = 6
Arrays = list[np.ndarray]  # type: ignore[type-arg]


def dropped(x: Tensor, p: float, generator: mg.Generator) -> Tensor:
    """Dropout from a generator of this thread."""
    return x * (mg.rand(x.shape, generator=generator) >= p) / (1 - p)


def of_layers(g: mg.Generator) -> tuple[nn.Module, Callable[[nn.Module], Tensor]]:
    model = nn.Sequential(nn.Linear(24, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 8), nn.BatchNorm1d(8))
    return model, lambda m: (dropped(m(mg.randn(33, 24, generator=g)), 0.3, g) ** 2).mean()


def of_attention(g: mg.Generator) -> tuple[nn.Module, Callable[[nn.Module], Tensor]]:
    model = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)

    def loss(m: nn.Module) -> Tensor:
        x = dropped(mg.randn(3, 17, 32, generator=g), 0.1, g)
        return F.cross_entropy(m(x).flatten(0, 1), mg.randint(0, 32, (51,), generator=g))

    return model, loss


def of_images(g: mg.Generator) -> tuple[nn.Module, Callable[[nn.Module], Tensor]]:
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    model.append(nn.Linear(8 * 36, 5))
    images = (2, 3, 12, 12)
    return model, lambda m: F.nll_loss(m(mg.rand(images, generator=g)).log_softmax(-1), mg.tensor([1, 4]))


def of_sequences(g: mg.Generator) -> tuple[nn.Module, Callable[[nn.Module], Tensor]]:
    """With checkpoints, second-order gradients, and a parametrized matrix."""
    model = nn.ModuleDict({"rnn": nn.LSTM(10, 12), "head": parametrizations.weight_norm(nn.Linear(12, 4))})

    def loss(m: nn.Module) -> Tensor:
        x = mg.randn(7, 5, 10, generator=g, requires_grad=True)
        out = checkpoint(lambda t: m["rnn"](t)[0], x, use_reentrant=False)  # type: ignore[index]
        with parametrize.cached():
            total = m["head"](dropped(out, 0.2, g)).logsumexp(-1).sum()  # type: ignore[index]
        (derivative,) = mg.autograd.grad(total, x, create_graph=True)
        return total / 35 + (derivative * derivative).sum()

    return model, loss


KINDS = (of_layers, of_attention, of_images, of_sequences)


def prepared(number: int) -> Callable[[], Arrays]:
    """A training run that returns its losses and weights; initial weights are drawn here, from the shared generator."""
    mg.manual_seed(number)
    generator = mg.Generator().manual_seed(number)
    model, loss_of = KINDS[number % len(KINDS)](generator)
    kind = (mg.optim.AdamW, mg.optim.SGD, mg.optim.RMSprop)[number % 3]
    return partial(trained, model, loss_of, kind(model.parameters(), lr=0.01))


def trained(model: nn.Module, loss_of: Callable[[nn.Module], Tensor], optimizer: mg.optim.Optimizer) -> Arrays:
    losses: Arrays = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach().numpy())
        with mg.no_grad():
            assert not (next(model.parameters()) * 2).requires_grad
        assert mg.is_grad_enabled() and np.isfinite(losses[step])
    return [*losses, *(value.numpy() for value in model.state_dict().values())]


@pytest.fixture
def kernels_threads() -> object:
    """Use three threads for kernels, and restore the number afterwards."""
    before = mg.get_num_threads()
    mg.set_num_threads(3)
    yield
    mg.set_num_threads(before)


@pytest.mark.usefixtures("kernels_threads")
@pytest.mark.parametrize("small", [False, True], ids=["", "shared"])
def test_each_training_is_independent_of_other_threads(small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit, even where kernels split small arrays among their threads, which one run uses at a time."""
    if small:
        training.cut_small(monkeypatch)
    numbers = range(len(KINDS))
    alone = [prepared(number)() for number in numbers]
    for places in ((0, 1, 2, 3), (0, 0), (2, 3)):
        together = side_by_side([prepared(number) for number in places])
        for number, mine in zip(places, together, strict=True):
            assert len(mine) == len(alone[number]) > STEPS
            assert all(map(np.array_equal, mine, alone[number])), KINDS[number].__name__


def test_one_model_in_several_threads() -> None:
    """Code that only reads a model, as a server does, needs no lock."""
    mg.manual_seed(0)
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2).eval()
    inputs = [mg.randn(2, 9, 32) for _ in range(4)]

    def answer(x: Tensor) -> Arrays:
        with mg.inference_mode():
            return [model(x).numpy() for _ in range(5)]

    expected = [answer(x) for x in inputs]
    for mine, right in zip(side_by_side([partial(answer, x) for x in inputs]), expected, strict=True):
        assert all(map(np.array_equal, mine, right))


def test_the_default_generator_gives_each_number_once() -> None:
    """The order among threads varies, but no number is lost, invented, or returned twice. Normal numbers are drawn in
    pairs, of which one is cached: with four threads, at most four remain at the end."""

    def draw(make: Callable[..., Tensor], count: int) -> list[float]:
        return [make(1, dtype=mg.float64).item() for _ in range(count)]

    for make, count, waiting in ((mg.rand, 300, 0), (mg.randn, 1000, 8)):
        mg.manual_seed(3)
        numbers = draw(make, 4 * count + waiting)
        mg.manual_seed(3)
        draws = [number for part in side_by_side([partial(draw, make, count)] * 4) for number in part]
        assert len(set(draws)) == len(draws) and set(numbers).issuperset(draws)
        assert waiting or sorted(draws) == sorted(numbers)


def meeting(make: Callable[..., Any]) -> Callable[..., Any]:
    """A constructor in which two threads meet before either has an object, unless a lock separates them."""
    both = threading.Barrier(2)

    def constructor(*args: Any) -> Any:
        with suppress(threading.BrokenBarrierError):
            both.wait(1)
        return make(*args)

    return constructor


@pytest.mark.parametrize("name", ["RandomState", "SFC64"])
def test_threads_that_begin_a_stream_together_share_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np.random, name, meeting(getattr(np.random, name)))
    generator = mg.Generator().manual_seed(1)
    draw = generator.random64 if name == "RandomState" else generator.mask_seed
    draws = {*side_by_side([draw] * 2), draw()}
    generator.manual_seed(1)
    assert draws == {draw(), draw(), draw()} and len(draws) == 3


def test_a_seed_that_arrives_while_a_stream_begins_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that began the old stream draws from it, and the next draw uses the new seed."""
    generator, make = mg.Generator().manual_seed(1), np.random.RandomState

    def constructor(seed: int) -> Any:
        monkeypatch.undo()
        generator.manual_seed(2)
        return make(seed)

    monkeypatch.setattr(np.random, "RandomState", constructor)
    generator.random64()
    assert generator.random64() == mg.Generator().manual_seed(2).random64()


def test_a_state_is_set_completely_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    generator, make, seeds = mg.Generator().manual_seed(1), np.random.RandomState, []
    state = mg.Generator().manual_seed(2).get_state()
    look = lambda seed: seeds.append(generator.initial_seed()) or make(seed)
    monkeypatch.setattr(np.random, "RandomState", look)
    generator.set_state(state)
    assert seeds == [1] and generator.initial_seed() == 2


def test_hooks_that_two_threads_give_an_optimizer(monkeypatch: pytest.MonkeyPatch) -> None:
    sgd, calls = mg.optim.SGD([mg.ones(1, requires_grad=True)]), Counter[str]()
    monkeypatch.setattr(optimizer, "defaultdict", meeting(defaultdict))
    side_by_side([partial(sgd.register_step_pre_hook, lambda *_, name=name: calls.update(name)) for name in "ab"])
    sgd.step()
    assert calls == {"a": 1, "b": 1}


Mode = Callable[[], AbstractContextManager[object]]


def crosswise(mode: Mode, look: Callable[[], object], around: Mode = nullcontext) -> list[Any]:
    """The values that two threads see before, in and after a mode; the first one enters and leaves it first."""
    step = partial(threading.Barrier(2).wait, 30)

    def first() -> tuple[object, ...]:
        before = look()
        with mode():
            step(), step()
            inside = look()
        step()
        return before, inside, look()

    def second() -> tuple[object, ...]:
        with around():
            before = look()
            step()
            with mode():
                step(), step()
                inside = look()
            return before, inside, look()

    return side_by_side([first, second])


shared_mode = mg.no_grad()
MODES: list[tuple[Mode, Callable[[], object]]] = [
    (mg.no_grad, mg.is_grad_enabled),
    (lambda: shared_mode, mg.is_grad_enabled),
    (mg.inference_mode, mg.is_inference_mode_enabled),
    (partial(mg.set_grad_enabled, False), mg.is_grad_enabled),
    (mg.autograd.detect_anomaly, is_anomaly_enabled),
    (partial(mg.autograd.set_detect_anomaly, True), is_anomaly_enabled),
    (parametrize.cached, lambda: parametrize._cache.get() is not None),
    (partial(mg.device, "cuda"), lambda: str(mg.get_default_device())),
]


@cases("mode, look", MODES)
def test_a_mode_holds_for_its_thread(mode: Mode, look: Callable[[], object]) -> None:
    one, other = crosswise(mode, look)
    before, inside, after = one
    assert one == other and before == after != inside


def test_a_mode_that_two_threads_share() -> None:
    """Each thread restores its previous mode: here, one of them records and the other does not."""
    views = crosswise(lambda: shared_mode, mg.is_grad_enabled, mg.no_grad)
    assert views == [(True, False, True), (False, False, False)]


def test_anomaly_mode_affects_only_its_thread() -> None:
    def work(looks: bool) -> bool:
        x = mg.zeros(3, requires_grad=True)
        for _ in range(50):
            if not looks:
                (x / x).sum().backward()
                continue
            with mg.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="div"):
                (x / x).sum()
        return looks

    assert side_by_side([partial(work, True), partial(work, False)]) == [True, False]


def test_a_profile_keeps_the_events_of_threads_apart() -> None:
    def work(name: str, op: Callable[[Tensor], Tensor]) -> None:
        with record_function(name):
            for _ in range(100):
                op(mg.ones(3, requires_grad=True)).sum().backward()

    with profile() as p:
        side_by_side([partial(work, "exp", mg.exp), partial(work, "tanh", mg.tanh)])
    for name, foreign in (("exp", "tanh"), ("tanh", "exp")):
        (mine,) = (e for e in p.events() if e.name == name and e.cpu_parent is None)
        inside = [child.name for child in mine.cpu_children]
        assert inside.count(name) == 100 and foreign not in inside


FORKS = """
import os, threading, warnings
import numpy as np
import minigrad as mg
from minigrad.utils.data import DataLoader, TensorDataset
from tests import test_threads

warnings.simplefilter("ignore")  # Python 3.12 warns of any fork beside threads
mg.set_num_threads(3)

def numbers():
    return test_threads.prepared(0)()

def large():
    x = mg.ones(600, 600, requires_grad=True)
    (x @ x).softmax(-1).sum().backward()  # shared among the kernels' threads
    return x.grad.numpy()

wanted, product = numbers(), large()
stop = threading.Event()
def busy():
    while not stop.is_set():
        large()
        with mg.no_grad(), mg.autograd.detect_anomaly():
            mg.rand(50)
threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads:
    thread.start()
try:
    for _ in range(3):
        child = os.fork()
        if child == 0:
            same = all(map(np.array_equal, numbers(), wanted)) and np.array_equal(large(), product)
            os._exit(0 if same and mg.is_grad_enabled() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    data = TensorDataset(mg.arange(64.0))
    loader = DataLoader(data, batch_size=8, num_workers=2, multiprocessing_context="fork")
    assert mg.cat([batch for (batch,) in loader]).tolist() == list(range(64))
finally:
    stop.set()
    for thread in threads:
        thread.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forks_while_threads_work(tmp_path: Path) -> None:
    """A child that is forked while other threads compute, and the workers of a data loader."""
    program = tmp_path / "forks.py"
    program.write_text(FORKS, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, str(program)], check=False, capture_output=True, text=True, timeout=300, env=environment
    )
    assert ran.returncode == 0 and ran.stderr == "", ran.stderr[-3000:]
