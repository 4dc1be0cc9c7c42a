"""``python -m minigrad.run``: what ranks get, and how it ends when one of them does."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from minigrad.distributed.meeting import STATUS
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

needs_mpi = pytest.mark.skipif(
    subprocess.run([sys.executable, "-c", "import mpi4py"], check=False, capture_output=True).returncode != 0,
    reason="several ranks that meet need mpi4py",
)
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
    found = told(ENVIRONMENT, 3, tmp_path, "--lr", "1", "-n", "7", **others)
    assert found == [[str(rank), "3", str(rank), "3", "0", "1", ["--lr", "1", "-n", "7"]] for rank in range(3)]


def test_its_options(tmp_path: Path) -> None:
    written(ENVIRONMENT, tmp_path).rename(tmp_path / "module_of_ranks.py")
    options = ["--standalone", "--nproc_per_node=2", "--threads", "3", "-m", "module_of_ranks", "-m", "x"]
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    ran = finished(begun([sys.executable, "-m", "minigrad.run", *options], tmp_path, PYTHONPATH=path))
    assert ran == Ran(0, "", "")
    assert answers(2, tmp_path) == [[str(rank), "2", str(rank), "2", "0", "3", ["-m", "x"]] for rank in range(2)]


@pytest.mark.parametrize(
    ("words", "said"),
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
def test_what_cannot_be_right(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    (tmp_path / "x.py").write_text("")
    ran = finished(begun([sys.executable, "-m", "minigrad.run", *words], tmp_path))
    assert ran.status == 2 and said in ran.err and "Traceback" not in ran.err, ran.err


def test_a_module_that_is_not_there(tmp_path: Path) -> None:
    ran = finished(begun(launcher(2, "-m", "no_such_module"), tmp_path))
    assert ran.status == 1 and "no_such_module" in ran.err


def test_a_folder_is_no_program(tmp_path: Path) -> None:
    ran = finished(begun(launcher(2, tmp_path), tmp_path))
    assert ran.status != 0 and "__main__" in ran.err


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        ran = finished(begun(launcher(2, "--master-port", port, written("", tmp_path)), tmp_path))
    assert ran.status == 1 and f"cannot listen at localhost:{port}" in ran.err and "Traceback" not in ran.err


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
WAITS = f"""{BEGIN}
if rank == 1:
    %s
dist.all_reduce(minigrad.ones(3))
"""


@needs_mpi
def test_a_rank_is_killed(tmp_path: Path) -> None:
    ran = run(WAITS % "os.kill(os.getpid(), signal.SIGKILL)", 3, tmp_path, seconds=20)
    assert ran.status == 137
    pid = answers(3, tmp_path)[1]
    assert f"minigrad.run: rank 1 (process {pid}) was killed by SIGKILL; the other ranks are ended" in ran.err
    assert ran.err.count("minigrad.run:") == 1 and "Traceback" not in ran.err
    assert not any(map(is_running, answers(3, tmp_path)))


@needs_mpi
def test_a_rank_raises(tmp_path: Path) -> None:
    ran = run(WAITS % "raise ValueError('no luck')", 3, tmp_path, seconds=20)
    assert ran.status == 1
    assert ran.err.count("ValueError: no luck") == ran.err.count("Traceback") == 1
    assert "minigrad: rank 1 ends with an error:" in ran.err
    assert re.search(r"minigrad\.run: rank 1 \(process \d+\) ended with status 1; the other", ran.err)


@needs_mpi
@pytest.mark.parametrize(("code", "status"), [("3", 3), ("'no luck'", 1), ("70", 70)])
def test_a_rank_exits(tmp_path: Path, code: str, status: int) -> None:
    ran = run(WAITS % f"sys.exit({code})", 2, tmp_path, seconds=20)
    assert ran.status == status
    assert re.search(rf"rank 1 \(process \d+\) ended with status {status}; the other", ran.err), ran.err


def test_a_rank_that_has_not_begun(tmp_path: Path) -> None:
    """An error before ``init_process_group``, while the others already wait."""
    ran = run(f"import os\nif os.environ['RANK'] == '1': raise ValueError('early')\n{BEGIN}", 2, tmp_path, seconds=20)
    assert ran.status == 1 and "ValueError: early" in ran.err and "rank 1 (process" in ran.err


def test_all_raise(tmp_path: Path) -> None:
    ran = run("import sys; sys.exit(4)", 2, tmp_path)
    assert ran.status == 4
    assert all(f"rank {rank} (process" in ran.err for rank in range(2))


def test_what_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    text = """
import os, signal, sys, time
from tests.support.ranks import tell
tell(os.getpid())
if os.environ["RANK"] == "0":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("ready", flush=True)
    time.sleep(60)
time.sleep(1.5)
sys.exit(5)
"""
    ran = run(text, 2, tmp_path, seconds=30)
    assert ran.status == 5
    assert not any(map(is_running, answers(2, tmp_path)))


SIGNALLED = """
import os, signal, sys, time
from tests.support.ranks import tell
seen = []
def note(number, frame):
    seen.append(number)
if sys.argv[1] == "handled":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, note)
os.write(1, b"ready" + b"\\n")
end = time.monotonic() + 30
while not seen and time.monotonic() < end:
    time.sleep(0.01)
tell(seen)
sys.exit(int(sys.argv[2]))
"""


def _signalled(folder: Path, number: signal.Signals, *arguments: str, ranks: int = 2) -> Ran:
    process = begun(launcher(ranks, written(SIGNALLED, folder), *arguments), folder)
    assert process.stdout is not None
    for _ in range(ranks):
        assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    return finished(process, 20)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_passed_on(tmp_path: Path, number: signal.Signals) -> None:
    """A rank that handles one may finish what it is at; its status is that of the whole."""
    assert _signalled(tmp_path, number, "handled", "0").status == 0
    assert answers(2, tmp_path) == [[number], [number]]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_ranks(tmp_path: Path, number: signal.Signals) -> None:
    ran = _signalled(tmp_path, number, "plain", "0")
    assert ran.status == 130 and "minigrad.run" not in ran.err


def test_a_signal_and_another_error(tmp_path: Path) -> None:
    ran = _signalled(tmp_path, signal.SIGINT, "handled", "6")
    assert ran.status == 6 and "ended with status 6" in ran.err


@needs_mpi
def test_ctrl_c_ends_ranks_that_wait_for_each_other(tmp_path: Path) -> None:
    text = f"{BEGIN}\nos.write(1, b'ready\\n')\nwhile True:\n    dist.all_reduce(minigrad.ones(3))\n"
    process = begun(launcher(2, written(text, tmp_path)), tmp_path)
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    process.send_signal(signal.SIGINT)
    ran = finished(process, 20)
    assert ran.status == 130
    assert not any(map(is_running, answers(2, tmp_path)))


@needs_mpi
def test_ranks_end_when_the_launcher_is_killed(tmp_path: Path) -> None:
    text = f"{BEGIN}\nos.write(1, b'ready\\n')\ntime.sleep(60)\n"
    process = begun(launcher(2, written(text, tmp_path)), tmp_path)
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    process.kill()
    process.wait()
    until(lambda: not any(map(is_running, answers(2, tmp_path))), "the ranks end", 10)
    process.communicate()


@needs_mpi
def test_memory_is_not_left_behind(tmp_path: Path) -> None:
    """MPICH's shared memory has no name as soon as all ranks have it."""
    before = set(Path("/dev/shm").glob("mpich_shm_*"))
    run(WAITS % "os.kill(os.getpid(), signal.SIGKILL)", 2, tmp_path, seconds=20)
    assert set(Path("/dev/shm").glob("mpich_shm_*")) <= before


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
tell([x.tolist(), dist.get_node_local_rank(), os.environ["GROUP_RANK"]])
"""


@needs_mpi
def test_two_machines(tmp_path: Path) -> None:
    for ran in map(finished, _nodes(TWO, tmp_path, (2, 2))):
        assert ran.status == 0, ran.err
    assert answers(4, tmp_path) == [[[10, 10], rank % 2, str(rank // 2)] for rank in range(4)]


@needs_mpi
def test_a_rank_on_the_other_machine_is_killed(tmp_path: Path) -> None:
    text = f"{BEGIN}\nif rank == 1:\n    os.kill(os.getpid(), signal.SIGKILL)\ndist.all_reduce(minigrad.ones(3))\n"
    first, second = (finished(process, 20) for process in _nodes(text, tmp_path, (1, 1)))
    assert second.status == 137 and "rank 1 (process" in second.err and "SIGKILL" in second.err
    assert first.status == STATUS and "rank 1 has died; the other ranks are ended" in first.err


@needs_mpi
def test_a_rank_on_the_first_machine_is_killed(tmp_path: Path) -> None:
    text = f"{BEGIN}\nif rank == 0:\n    os.kill(os.getpid(), signal.SIGKILL)\ndist.all_reduce(minigrad.ones(3))\n"
    first, second = (finished(process, 20) for process in _nodes(text, tmp_path, (1, 1)))
    assert first.status == 137 and "rank 0 (process" in first.err
    assert second.status == STATUS and "has died; the other ranks are ended" in second.err


@needs_mpi
def test_machines_with_different_numbers_of_ranks(tmp_path: Path) -> None:
    """The second is told what is wrong; the first waits for more ranks."""
    first, second = _nodes(BEGIN, tmp_path, (2, 1))
    ran = finished(second, 25)
    first.terminate()
    assert (
        ran.status == 1 and "rank 1 expects a world of 2, and at localhost:" in ran.err and "one of 4 meets" in ran.err
    )
    assert finished(first, 25).status == 130


@needs_mpi
def test_a_launcher_that_is_killed_at_once_leaves_no_rank_behind(tmp_path: Path) -> None:
    """Ranks that have not met yet notice it, too."""
    text = f"import os, sys, time\nprint(os.getpid(), flush=True)\ntime.sleep(1)\n{BEGIN}\n"
    process = begun(launcher(2, written(text, tmp_path)), tmp_path)
    assert process.stdout is not None
    pids = [int(process.stdout.readline()) for _ in range(2)]
    process.kill()
    until(lambda: not any(map(is_running, pids)), "the ranks have ended")
    finished(process)
