"""``python -m minigrad.run`` and plain mpiexec: the environment of ranks, and the exit when one of them ends."""

import signal
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from minigrad.distributed.launch import command, main
from tests.support.cases import cases, each
from tests.support.ranks import Ran, answers, begun, finished, is_running, launcher, run, told, until, written

needs_mpi = pytest.mark.skipif(find_spec("mpi4py") is None, reason="several ranks need mpi4py")
nightly = pytest.mark.nightly
VARIABLES = """
import os, sys
from tests.support.ranks import tell
names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR")
tell([*(os.environ.get(name) for name in names), sys.argv[1:]])
"""
BEGIN = """
import os, signal, sys, time
import minigrad
import minigrad.distributed as dist
from tests.support.ranks import raised, tell, until
dist.init_process_group(*sys.argv[1:])
rank = dist.get_rank()
tell(os.getpid(), rank)
dist.barrier()
"""


@needs_mpi
def test_the_variables_and_arguments_that_ranks_get(tmp_path: Path) -> None:
    answer = told(VARIABLES, 3, tmp_path, "--lr", "1", "-n", "7", RANK="9", WORLD_SIZE="9")
    rest = ["localhost", ["--lr", "1", "-n", "7"]]
    assert answer == [[str(rank), "3", str(rank), "3", *rest] for rank in range(3)]
    (tmp_path / "program.py").rename(tmp_path / "module_of_ranks.py")
    words = ["--standalone", "--nproc_per_node=2", "-m", "module_of_ranks", "-m", "x"]
    assert finished(begun([sys.executable, "-m", "minigrad.run", *words], tmp_path)) == Ran(0, "", "")
    assert answers(2, tmp_path) == [[str(rank), "2", str(rank), "2", "localhost", ["-m", "x"]] for rank in range(2)]


@cases(
    "words, message",
    [
        ((), "the following arguments are required: program"),
        (("-n", "0", "x.py"), "-n must be from 1 to 9,999, not 0"),
        (("-n", "10000", "x.py"), "-n must be from 1 to 9,999, not 10000"),
        (("-n", "2", "no_such.py"), "file not found: no_such.py"),
    ],
)
def test_wrong_arguments(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str) -> None:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2 and message in capsys.readouterr().err


def test_without_mpiexec(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    assert main(["-n", "2", __file__]) == 1
    assert "running several ranks requires mpiexec" in capsys.readouterr().err


@needs_mpi
@pytest.mark.parametrize(
    ("code", "status", "texts"),
    [
        ("raise ValueError('no luck')", 1, ("minigrad: rank 1 failed with an error:", "ValueError: no luck")),
        ("sys.exit(70)", 70, ()),
        pytest.param("os.kill(os.getpid(), signal.SIGKILL)", 9, ("EXIT CODE: 9",), marks=nightly),
    ],
)
def test_one_rank_ends_all(tmp_path: Path, code: str, status: int, texts: tuple[str, ...]) -> None:
    ran = run(f"{BEGIN}\nif rank == 1:\n    {code}\ndist.all_reduce(minigrad.ones(3))", 2, tmp_path)
    assert ran.status == status, ran.err
    assert ran.err.count("Traceback") == ("raise" in code)
    each(texts, lambda text: (ran.out + ran.err).index(text))
    until(lambda: not any(map(is_running, answers(2, tmp_path))), "the ranks end")


@needs_mpi
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=nightly)])
def test_signals_are_passed_on(tmp_path: Path, number: signal.Signals) -> None:
    """A rank that handles a signal may finish its work."""
    text = f"""{BEGIN}
came = []
signal.signal({int(number)}, lambda number, frame: came.append(number))
os.write(1, b"ready" + b"\\n")
until(lambda: came, "a signal comes")
dist.barrier()
tell(came, rank)
sys.exit(130)
"""
    process = begun(launcher(2, written(text, tmp_path)), tmp_path)
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    process.send_signal(number)
    assert finished(process).status == 130 and answers(2, tmp_path) == [[number], [number]]


@needs_mpi
def test_an_mpiexec_starts_ranks(tmp_path: Path) -> None:
    """The program's arguments must agree; the world may start again, and an error in one rank ends all ranks."""
    text = f"""
{BEGIN}
dist.destroy_process_group()
assert "PMI_RANK and PMI_SIZE say that" in raised(ValueError, lambda: dist.init_process_group(rank=5, world_size=9))
dist.init_process_group()
x = minigrad.ones(3) * (rank + 1)
dist.all_reduce(x)
assert x.tolist() == [3] * 3 and (dist.get_world_size(), dist.get_node_local_rank()) == (2, rank)
if rank == 1:
    try:
        dist.all_reduce(x, async_op=True)
        raise ValueError("no luck")
    finally:
        dist.destroy_process_group()
dist.all_reduce(x)
dist.all_reduce(x)
"""
    words = [command([], 1)[0], "-n", "2", sys.executable, written(text, tmp_path), "mpi"]
    ran = finished(begun(words, tmp_path))
    assert ran.status == 1 and ran.err.count("ValueError: no luck") == 1, ran.err
    assert "minigrad: rank 1 failed with an error:" in ran.err
    until(lambda: not any(map(is_running, answers(2, tmp_path))), "the ranks end")


@needs_mpi
def test_variables_without_an_mpiexec(tmp_path: Path) -> None:
    ran = finished(begun([sys.executable, written(BEGIN, tmp_path)], tmp_path, RANK="1", WORLD_SIZE="2"))
    assert "this is rank 1 of 2, but MPICH" in ran.err and "has started 1 process(es)" in ran.err, ran.err
    assert "python -m minigrad.run" in ran.err
