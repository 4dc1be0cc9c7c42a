"""Tracebacks of a user's mistake end at the user's line; the library's frames are shown on request."""

import importlib.util
import os
import re
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.nn import functional as F
from tests.support.cases import cases, each, raises

PACKAGE = str(Path(mg.__file__).parent)


@pytest.fixture(autouse=True)
def filtering() -> Iterator[None]:
    """Enable filtering, which is the default."""
    before = mg.get_traceback_filtering()
    mg.set_traceback_filtering(True)
    yield
    mg.set_traceback_filtering(before)


def frames_of(mistake: Callable[[], object]) -> list[str]:
    """The functions in the traceback of a mistake, after ours; library functions as "minigrad"."""
    try:
        mistake()
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)[1:]
        return ["minigrad" if frame.filename.startswith(PACKAGE) else frame.name for frame in frames]
    raise AssertionError("no mistake")


class Inner(nn.Linear):
    def forward(self, input: mg.Tensor) -> Any:
        return super().forward(input)


class Net(nn.Sequential):
    def forward(self, input: mg.Tensor) -> Any:
        return super().forward(input)


NET = Net(nn.ReLU(), Inner(4, 2))  # expects a width other than its input's


class Wrong(mg.autograd.Function):
    """A Function whose backward fails."""

    @staticmethod
    def forward(ctx: Any, x: mg.Tensor) -> mg.Tensor:
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: mg.Tensor) -> Any:
        return grad.reshape(7)


def hook(module: nn.Module, args: Any, result: Any) -> None:
    raise ValueError("mine")


def hooked() -> object:
    layer = nn.Linear(2, 2)
    layer.register_forward_hook(hook)
    return layer(mg.ones(1, 2))


def twice() -> None:
    loss = mg.ones(3, requires_grad=True).exp().sum()
    loss.backward()
    loss.backward()


def of_another_shape() -> None:
    weight = mg.ones(3, requires_grad=True)
    optimizer = mg.optim.SGD([weight], lr=0.1)
    weight._grad = mg.ones(2)
    optimizer.step()


class Schedule(mg.optim.lr_scheduler.LRScheduler):
    def get_lr(self) -> list[Any]:
        return [{}["lr"]]


def scheduled() -> object:
    return Schedule(mg.optim.SGD([mg.ones(1)], lr=0.1))


def unequal() -> None:
    for _ in mg.utils.data.DataLoader([mg.ones(2), mg.ones(3)], batch_size=2):  # type: ignore[arg-type]
        pass


X = mg.ones(2, 3)
LINEAR, ONES, ARRAY = cast("Any", nn.Linear(2, 3)), cast("Any", mg.ones(3)), cast("Any", np.ones(3))
MISTAKES: dict[str, tuple[Callable[[], object], list[str]]] = {
    "operator": (lambda: X @ X, ["<lambda>"]),
    "function": (lambda: mg.cat([X, X[:, 1:]]), ["<lambda>"]),
    "method": (lambda: X.reshape(7), ["<lambda>"]),
    "method in place": (lambda: mg.ones(3).add_(X), ["<lambda>"]),
    "index": (lambda: X[2], ["<lambda>"]),
    "assignment": (lambda: X.__setitem__(0, mg.ones(4)), ["<lambda>"]),
    "functional": (lambda: F.cross_entropy(X, mg.tensor([0, 7])), ["<lambda>"]),
    "new layer": (lambda: nn.Dropout(2.0), ["<lambda>"]),
    "layer": (lambda: nn.LSTM(4, 2)(X), ["<lambda>"]),
    "layers within layers": (lambda: NET(X), ["<lambda>", "forward", "forward"]),
    "hook": (hooked, ["hooked", "hook"]),
    "backward": (twice, ["twice"]),
    "custom rule": (lambda: Wrong.apply(X.clone().requires_grad_()).sum().backward(), ["<lambda>", "backward"]),
    "optimiser": (lambda: mg.optim.SGD([], lr=0.1), ["<lambda>"]),
    "step": (of_another_shape, ["of_another_shape"]),
    "schedule": (scheduled, ["scheduled", "get_lr"]),
    "initialisation": (lambda: nn.init.xavier_uniform_(mg.ones(3)), ["<lambda>"]),
    "state": (lambda: nn.Linear(2, 2).load_state_dict({}), ["<lambda>"]),
    "loader": (unequal, ["unequal"]),
    "distribution": (lambda: mg.distributions.Normal(0.0, -1.0), ["<lambda>"]),
    "file": (lambda: mg.load("no such file"), ["<lambda>"]),
    "callback": (lambda: NET.apply(lambda module: module.nothing), ["<lambda>"]),
}


def test_the_users_frames_stay_and_at_most_one_of_the_library() -> None:
    def check(name: str) -> None:
        mistake, users = MISTAKES[name]
        frames = frames_of(mistake)
        assert [frame for frame in frames if frame != "minigrad"][: len(users)] == users
        assert frames.count("minigrad") <= 1, frames

    each(MISTAKES, check)


def test_the_chain_omits_the_librarys_errors_and_keeps_the_users() -> None:
    try:
        try:
            {}["key"]
        except KeyError:
            X + mg.ones(4)  # NumPy rejects this first
    except RuntimeError as error:
        assert error.__cause__ is None
        assert not isinstance(error.__context__, ValueError)
    reason = ValueError("never raised")
    try:
        nn.Sequential(_Raises(reason))(X)
    except RuntimeError as error:
        assert error.__cause__ is reason


class _Raises(nn.Module):
    def __init__(self, reason: Exception) -> None:
        super().__init__()
        self.reason = reason

    def forward(self, x: mg.Tensor) -> Any:
        raise RuntimeError("mine") from self.reason


class Blocks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([nn.Sequential(nn.ReLU(), nn.Linear(3, 2)), nn.Linear(2, 2)])

    def forward(self, x: mg.Tensor) -> Any:
        try:
            return self.blocks[0](x)
        except RuntimeError as error:
            error.add_note("the user's note")
            raise


def test_a_note_names_the_submodule_by_its_path_in_the_outermost() -> None:
    for model, notes in (
        (nn.Sequential(nn.Identity(), Blocks()), ["the user's note", "in the module 1.blocks.0.1, a Linear"]),
        (Blocks().blocks[0], ["in the module 1, a Linear"]),
        (nn.Linear(3, 2), []),
    ):
        with pytest.raises(RuntimeError, match="mat1 and mat2 shapes") as error:
            model(mg.ones(1, 2))
        assert getattr(error.value, "__notes__", []) == notes


def test_all_frames_on_request() -> None:
    mg.set_traceback_filtering(False)
    assert frames_of(lambda: X @ X).count("minigrad") > 2


PROGRAM = """
import minigrad as mg

class Net(mg.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = mg.nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x)

def test_it():
    Net()(mg.ones(2, 3))

if __name__ == "__main__":
    test_it()
"""


MESSAGES: list[tuple[Callable[[], object], str]] = [
    (lambda: F.mse_loss(ONES, LINEAR), "mse_loss(): argument 'target' must be Tensor, not Linear"),
    (lambda: nn.MSELoss()(LINEAR, ONES), "mse_loss(): argument 'input' (position 1) must be Tensor, not Linear"),
    (lambda: F.layer_norm(ARRAY, (3,)), "layer_norm(): argument 'input' (position 1) must be Tensor, not ndarray"),
    (lambda: ONES.matmul(LINEAR), "matmul(): argument 'other' must be Tensor, not Linear"),
    (lambda: mg.cat([ONES, ARRAY]), "cat(): argument 'tensors' (position 1) must be Tensors, not ndarray"),
    (lambda: mg.block_diag(ONES, LINEAR), "block_diag(): argument 'tensors' (position 1) must be Tensors, not Linear"),
    (lambda: mg.where(ONES > 0, LINEAR, ONES), "where(): argument 'input' must be a Tensor or a number, not Linear"),
    (lambda: ONES.clamp(min=LINEAR), "clamp(): argument 'min' must be a Tensor or a number, not Linear"),
    (lambda: mg.einsum("i,i", [ONES, LINEAR]), "einsum(): an argument must be Tensor, not Linear"),
    (lambda: F.mse_loss(LINEAR), "missing 1 required positional argument: 'target'"),  # type: ignore[call-arg]
    (lambda: F.mse_loss(LINEAR, ONES, speed=3), "unexpected keyword argument 'speed'"),  # type: ignore[call-arg]
    (lambda: ONES.sum("a"), "a dimension must be an int"),
    (lambda: LINEAR.apply(lambda module: module.array), "no attribute 'array'"),
]


@cases("call, text", MESSAGES)
def test_an_argument_that_is_no_tensor_is_named_and_other_errors_keep_their_text(call: Any, text: str) -> None:
    raises((TypeError, AttributeError), re.escape(text), call)


def output(folder: Path, *command: str, filtering: str = "on") -> str:
    """The output of a Python command about the program."""
    path = folder / "test_program.py"
    path.write_text(PROGRAM)
    environment = {**os.environ, "MINIGRAD_TRACEBACK_FILTERING": filtering, "PYTHONPATH": str(Path(PACKAGE).parent)}
    arguments = [part.format(path=path) for part in command]
    ran = subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    assert ran.returncode
    return ran.stdout + ran.stderr


def test_a_script(tmp_path: Path) -> None:
    text = output(tmp_path, "{path}")
    assert text.count('  File "') == 3 and PACKAGE not in text
    error, note = text.splitlines()[-2:]
    assert error.startswith("RuntimeError: linear: mat1 and mat2 shapes cannot be multiplied")
    assert note == "in the module layer, a Linear"
    assert output(tmp_path, "{path}", filtering="off").count(PACKAGE) > 3


@pytest.mark.nightly
@pytest.mark.skipif(not importlib.util.find_spec("IPython"), reason="IPython is not installed")
def test_ipython(tmp_path: Path) -> None:
    text = output(tmp_path, "-m", "IPython", "--colors=NoColor", "--no-banner", "{path}")
    assert "return self.layer(x)" in text and PACKAGE not in text and "minigrad/" not in text


def test_grad_of_a_tensor_that_is_no_leaf_warns_once_a_line() -> None:
    x = mg.ones(2, requires_grad=True)
    y = x * 2
    z = y + 1
    z.retain_grad()
    z.sum().backward()
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("default")
        for _ in range(3):
            assert y.grad is None
        assert x.grad is not None and z.grad is not None and y.detach().grad is None
    (warning,) = messages
    assert issubclass(warning.category, UserWarning) and warning.filename == __file__
    assert ".retain_grad()" in str(warning.message)


def test_warnings_of_layers_name_the_users_line() -> None:
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        nn.MSELoss()(mg.ones(4, 1), mg.ones(4))
        F.mse_loss(mg.ones(4, 1), mg.ones(4))
    assert [warning.filename for warning in messages] == [__file__] * 2
