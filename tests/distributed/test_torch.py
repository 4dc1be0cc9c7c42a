"""One program produces the same results under PyTorch's gloo and under minigrad in PyTorch's place."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.ranks import begun, by_hand, finished, launcher

pytestmark = pytest.mark.nightly
PROGRAM = Path(__file__).parent / "programs" / "in_torch.py"
Answers = list[dict[str, Any]]


def _read(folder: Path) -> Answers:
    return [json.loads((folder / f"{rank}.json").read_text(encoding="utf-8")) for rank in range(2)]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed: no comparison with it")
    folder = tmp_path_factory.mktemp("theirs")
    for rank, ran in enumerate(map(finished, by_hand(PROGRAM, 2, folder, None, str(folder)))):
        # Occasionally a thread of PyTorch aborts its process at exit, after the results are written.
        assert ran.status == 0 or (folder / f"{rank}.json").exists(), ran.err
    return _read(folder)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    pytest.importorskip("mpi4py", reason="several ranks need mpi4py")
    folder = tmp_path_factory.mktemp("ours")
    ran = finished(begun(launcher(2, "-m", "minigrad", "compat", PROGRAM, folder), folder))
    assert ran.status == 0, ran.err
    return _read(folder)


def test_the_same_names_and_numbers(theirs: Answers, ours: Answers) -> None:
    for their, our in zip(theirs, ours, strict=True):
        wrong = {name: (value, our.get(name)) for name, value in their.items() if our.get(name) != value}
        assert not wrong, "\n".join(f"{name}: {both[0]}, not {both[1]}" for name, both in wrong.items())
        assert our.keys() == their.keys()
