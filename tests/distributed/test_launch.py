"""``python -m minigrad.run``: what ranks get, and how it ends when one of them does."""

import os
import signal
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from minigrad.distributed.launch import main
from minigrad.distributed.meeting import STATUS
from tests.support.cases import cases
from tests.support.ranks import (
    Ran,
    answers,
    begun,
    finished,
    free_port,
    is_running,
    launcher,
    run,
    told,
    until,
    written,
)

needs_mpi = pytest.mark.skipif(find_spec("mpi4py") is None, reason="several ranks that meet need mpi4py")
nightly = pytest.mark.nightly
ENVIRONMENT = """
import os, sys
from tests.support.ranks import tell
names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MINIGRAD_NUM_THREADS")
tell([*(os.environ.get(name) for name in names), sys.argv[1:]])
assert os.environ["MINIGRAD_MEETING"] == f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
assert not [name for name in os.environ if name.startswith(("OMPI_", "PMI_", "SLURM_PROCID"))]
"""


def test_the_variables_that_ranks_get(tmp_path: Path) -> None:
    others = {"OMPI_COMM_WORLD_RANK": "7", "PMI_RANK": "7", "SLURM_PROCID": "7", "RANK": "9", "WORLD_SIZE": "9"}
    answer = told(ENVIRONMENT, 3, tmp_path, "--lr", "1", "-n", "7", **others)
    assert answer == [[str(rank), "3", str(rank), "3", "0", "1", ["--lr", "1", "-n", "7"]] for rank in range(3)]


def test_its_options(tmp_path: Path) -> None:
    written(ENVIRONMENT, tmp_path).rename(tmp_path / "module_of_ranks.py")
    options = ["--standalone", "--nproc_per_node=2", "--threads", "3", "-m", "module_of_ranks", "-m", "x"]
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    ran = finished(begun([sys.executable, "-m", "minigrad.run", *options], tmp_path, PYTHONPATH=path))
    assert ran == Ran(0, "", "")
    assert answers(2, tmp_path) == [[str(rank), "2", str(rank), "2", "0", "3", ["-m", "x"]] for rank in range(2)]


@cases(
    "words, message",
    [
        ((), "the following arguments are required: program"),
        (("-n", "0", "x.py"), "a positive whole number is needed, not '0'"),
        (("-n", "1025", "x.py"), "at most 1,024 are possible, not 1025"),
        (("-n", "9" * 5000, "x.py"), "at most 1,024 are possible, not 999"),
        (("--threads", "1000000000", "x.py"), "at most 1,024 are possible, not 1000000000"),
        (("-n", "two", "x.py"), "a positive whole number is needed, not 'two'"),
        (("-n", "-1", "x.py"), "a positive whole number is needed, not '-1'"),
        (("-n", "2", "no_such.py"), "there is no file no_such.py"),
        (("--nodes", "2", "x.py"), "several machines need --master-addr and --master-port"),
        (("--nodes", "2", "--node-rank", "2", "x.py"), "--node-rank is 2, of 2 machines"),
        (("--master-port", "70000", "x.py"), "port"),
    ],
)
def test_wrong_arguments(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").write_text("")
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2 and message in capsys.readouterr().err


def test_a_port_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert main(["-n", "2", "--master-port", port, str(written("", tmp_path))]) == 1
    assert f"cannot listen at localhost:{port}" in capsys.readouterr().err


def test_no_program(tmp_path: Path) -> None:
    for words, name in ((("-m", "no_such_module"), "no_such_module"), ((tmp_path,), "__main__")):
        ran = finished(begun(launcher(2, *words), tmp_path))
        assert ran.status == 1 and name in ran.err


# How it ends -------------------------------------------------------------------------------------------------

BEGIN = """
import os, signal, sys, time
import minigrad
import minigrad.distributed as dist
from tests.support.ranks import tell
dist.init_process_group()
rank = dist.get_rank()
tell(os.getpid())
dist.barrier()
"""
READY = "os.write(1, b'ready\\n')"  # in one piece, also where ranks write at the same time
WAITS = f"""{BEGIN}
if rank == 1:
    %s
dist.all_reduce(minigrad.ones(3))
"""


@needs_mpi
@pytest.mark.parametrize(
    ("code", "status", "end"),
    [
        ("raise ValueError('no luck')", 1, "ended with status 1"),
        pytest.param("sys.exit('no luck')", 1, "ended with status 1", marks=nightly),
        pytest.param("sys.exit(70)", 70, "ended with status 70", marks=nightly),
        pytest.param("os.kill(os.getpid(), signal.SIGKILL)", 137, "was killed by SIGKILL", marks=nightly),
    ],
)
def test_one_rank_ends_all(tmp_path: Path, code: str, status: int, end: str) -> None:
    ran = run(WAITS % code, 2, tmp_path)
    pids = answers(2, tmp_path)
    assert ran.status == status and ran.err.count("minigrad.run:") == 1
    assert f"minigrad.run: rank 1 (process {pids[1]}) {end}; the other" in ran.err, ran.err
    assert ran.err.count("Traceback") == ran.err.count("minigrad: rank 1 ends with an error:") == ("raise" in code)
    assert not any(map(is_running, pids))


def test_a_rank_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    text = """
import os, signal, sys
from pathlib import Path
from tests.support.ranks import tell, until
if os.environ["RANK"] == "0":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    tell(os.getpid())
    signal.sigwait([signal.SIGINT])
until(Path("0.pickle").exists, "rank 0 ignores SIGTERM")
tell(os.getpid())
sys.exit(5)
"""
    ran = run(text, 2, tmp_path)
    assert ran.status == 5 and "rank 1 (process" in ran.err
    assert not any(map(is_running, answers(2, tmp_path)))


SIGNALLED = """
import os, signal, sys
from tests.support.ranks import tell, until
came = []
def note(number, frame):
    came.append(number)
if sys.argv[1] == "handled":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, note)
os.write(1, b"ready" + b"\\n")
until(lambda: came, "a signal comes")
tell(came)
sys.exit(int(sys.argv[2]))
"""


def _ready(text: str, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Two ranks that are at their word."""
    process = begun(launcher(2, written(text, folder), *arguments), folder)
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=nightly)])
def test_signals_are_passed_on(tmp_path: Path, number: signal.Signals) -> None:
    """A rank that handles one may finish what it is at; its status is that of the whole."""
    for status in (0, 6):
        process = _ready(SIGNALLED, tmp_path, "handled", str(status))
        process.send_signal(number)
        ran = finished(process)
        assert ran.status == status and ("ended with status 6" in ran.err) == (status == 6), ran.err
        assert answers(2, tmp_path) == [[number], [number]]


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=nightly), signal.SIGTERM])
def test_signals_end_ranks(tmp_path: Path, number: signal.Signals) -> None:
    process = _ready(SIGNALLED, tmp_path, "plain", "0")
    process.send_signal(number)
    ran = finished(process)
    assert ran.status == 130 and "minigrad.run" not in ran.err


@needs_mpi
@nightly
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_ranks_end_with_the_launcher(tmp_path: Path, number: signal.Signals) -> None:
    """Also those that wait for each other."""
    process = _ready(f"{BEGIN}\n{READY}\nwhile True:\n    dist.all_reduce(minigrad.ones(3))\n", tmp_path)
    process.send_signal(number)
    ran = finished(process)
    assert ran.status == (130 if number == signal.SIGINT else -number)
    until(lambda: not any(map(is_running, answers(2, tmp_path))), "the ranks end")


# Several machines ----------------------------------------------------------------------------------------------


def _nodes(program: str, folder: Path, ranks: tuple[int, int] = (2, 1)) -> list[subprocess.Popen[str]]:
    path, port = written(program, folder), str(free_port())
    meet = ["--nodes", "2", "--master-addr", "localhost", "--master-port", port]
    return [
        begun(launcher(ranks[node], *meet, "--node-rank", str(node), path), folder, MINIGRAD_HOST=f"machine{node}")
        for node in (1, 0)
    ][::-1]


TWO = f"""{BEGIN}
x = minigrad.ones(2) * (rank + 1)
dist.all_reduce(x)
large = minigrad.full((2_000_000,), float(rank + 1))
dist.all_reduce(large)
tell([x.tolist(), dist.get_node_local_rank(), os.environ["GROUP_RANK"], large.min().item(), large.max().item()])
assert not dist.group.WORLD.data.is_local
"""
KILLED = f"{BEGIN}\nif rank == %d:\n    os.kill(os.getpid(), signal.SIGKILL)\ndist.all_reduce(minigrad.ones(3))\n"


@needs_mpi
@nightly
def test_two_machines(tmp_path: Path) -> None:
    """Whose ranks share no memory."""
    for ran in map(finished, _nodes(TWO, tmp_path, (2, 2))):
        assert ran.status == 0, ran.err
    assert answers(4, tmp_path) == [[[10, 10], rank % 2, str(rank // 2), 10, 10] for rank in range(4)]


@needs_mpi
@nightly
@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_on_one_of_two_machines_is_killed(tmp_path: Path, rank: int) -> None:
    ends = [finished(process) for process in _nodes(KILLED % rank, tmp_path, (1, 1))]
    assert ends[rank].status == 137 and f"rank {rank} (process" in ends[rank].err and "SIGKILL" in ends[rank].err
    assert ends[1 - rank].status == STATUS and "has died; the other ranks are ended" in ends[1 - rank].err


@needs_mpi
@nightly
def test_machines_with_different_numbers_of_ranks(tmp_path: Path) -> None:
    """The second hears of it; the first waits for more ranks."""
    first, second = _nodes(BEGIN, tmp_path, (2, 1))
    ran = finished(second)
    first.terminate()
    assert ran.status == 1 and "one of 4 meets" in ran.err
    assert "rank 1 expects a world of 2, and at localhost:" in ran.err
    assert finished(first).status == 130
