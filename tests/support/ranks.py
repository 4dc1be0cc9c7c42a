"""Programs that run as several ranks (``python -m minigrad.run``), and the results of each rank.

A program reports results with ``tell``. A module of checks, functions named ``check_...`` that take a group, runs
completely in one launch for each number of ranks; each check is a separate test.
"""

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

ROOT = Path(__file__).parents[2]
FOLDER = "MINIGRAD_TEST_FOLDER"  # the folder for the results of ranks
PATIENCE = 10.0  # seconds that a rank waits in a call within a check
SECONDS = 60.0  # time limit of a program
Check = TypeVar("Check", bound=Callable[..., None])


@dataclass(frozen=True)
class Ran:
    """A program's exit status and output."""

    status: int
    out: str
    err: str


# In a rank ---------------------------------------------------------------------------------------------------


def tell(value: Any, rank: int | None = None) -> None:
    """Store this rank's results for ``told``."""
    number = os.environ["RANK"] if rank is None else rank
    (Path(os.environ[FOLDER]) / f"{number}.pickle").write_bytes(pickle.dumps(value))


def at_least(ranks: int) -> Callable[[Check], Check]:
    """Mark a check that needs at least this many ranks."""

    def marked(check: Check) -> Check:
        check.fewest = ranks  # type: ignore[attr-defined]
        return check

    return marked


def raised(kind: type[BaseException], call: Callable[[], Any]) -> str:
    """The message of the exception that a call must raise."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"{kind.__name__} was not raised")


def checks(module: ModuleType, ranks: int) -> list[str]:
    """The names of a module's checks for a number of ranks."""
    return [n for n, f in vars(module).items() if n.startswith("check_") and getattr(f, "fewest", 1) <= ranks]


def _main(name: str) -> None:
    """Run a module's checks, each with a new group, so that a failure does not affect the next check."""
    import minigrad.distributed as dist

    warnings.filterwarnings("error", category=RuntimeWarning, module=r"minigrad\..*")
    module = import_module(name)
    dist.init_process_group(timeout=timedelta(seconds=PATIENCE))
    path = Path(os.environ[FOLDER]) / f"{dist.get_rank()}.jsonl"
    for check in checks(module, dist.get_world_size()):
        group, error = dist.new_group(), None
        assert isinstance(group, dist.ProcessGroup)
        try:
            getattr(module, check)(group)
        except Exception:
            error = traceback.format_exc()
        with path.open("a", encoding="utf-8") as file:
            print(json.dumps([check, error]), file=file)
        dist.destroy_process_group(group)
    dist.destroy_process_group()


# In a test ---------------------------------------------------------------------------------------------------


def environment(**extra: str) -> dict[str, str]:
    """This process's environment, without variables that would make its children ranks."""
    from minigrad.distributed.launch import MPI_VARIABLES, TORCHRUN_VARIABLES

    others = {*TORCHRUN_VARIABLES, *(name for names in MPI_VARIABLES for name in names)}
    ours = {n: v for n, v in os.environ.items() if n not in others}
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "MINIGRAD")}
    return {
        **ours,
        **threads,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "models")]),
        "PYTHONUNBUFFERED": "1",
        **extra,
    }


def free_port() -> int:
    """A port on this machine that is not in use."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def begun(command: Sequence[str | Path], folder: Path, **extra: str) -> subprocess.Popen[str]:
    """Start a process in a new session, so that ``finished`` can end it with its children."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    env = environment(**{FOLDER: str(folder), **extra})
    return subprocess.Popen([*map(str, command)], cwd=folder, env=env, start_new_session=True, **pipes)


def finished(process: subprocess.Popen[str], seconds: float = SECONDS) -> Ran:
    """Wait for a process; after a timeout it is killed with its children, and the test fails."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"not over after {seconds:g} s\n{out}\n{err}") from None
    return Ran(process.returncode, out, err)


def written(program: str | Path, folder: Path) -> Path:
    """A program's file; a text is written to a file first."""
    if isinstance(program, Path):
        return program
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "program.py"
    path.write_text(program, encoding="utf-8")
    return path


def launcher(ranks: int, *options: str | Path) -> list[str]:
    """The command that starts a number of ranks."""
    return [sys.executable, "-m", "minigrad.run", "-n", str(ranks), *map(str, options)]


def run(program: str | Path, ranks: int, folder: Path, *arguments: str, seconds: float = SECONDS, **extra: str) -> Ran:
    """Run a program, or a program's text, on a number of ranks; ``extra`` are environment variables."""
    return finished(begun(launcher(ranks, written(program, folder), *arguments), folder, **extra), seconds)


def told(program: str | Path, ranks: int, folder: Path, *arguments: str, **options: Any) -> list[Any]:
    """The same, but return the results of each rank. The program must end without an error."""
    ran = run(program, ranks, folder, *arguments, **options)
    assert ran.status == 0, f"status {ran.status}\n{ran.out}\n{ran.err}"
    return answers(ranks, folder)


def answers(ranks: int, folder: Path) -> list[Any]:
    """The results that each rank has stored."""
    return [pickle.loads((folder / f"{rank}.pickle").read_bytes()) for rank in range(ranks)]


def by_hand(
    program: str | Path, ranks: int, folder: Path, which: Sequence[int] | None = None, *arguments: str, **extra: str
) -> list[subprocess.Popen[str]]:
    """Start ranks without a launcher, with torchrun's variables: all of them, or some."""
    path = written(program, folder)
    place = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "localhost", "MASTER_PORT": str(free_port()), **extra}
    numbers = range(ranks) if which is None else which
    return [begun([sys.executable, path, *arguments], folder, **place, RANK=str(rank)) for rank in numbers]


def until(condition: Callable[[], bool], what: str, seconds: float = SECONDS) -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: not after {seconds:g} s"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


class Outcomes:
    """The outcomes of modules of checks, each launched once per number of ranks, even if several processes run tests.

    Args:
        shared: a folder that these processes share.
    """

    def __init__(self, shared: Path) -> None:
        self.shared = shared

    def confirm(self, module: str, ranks: int, check: str) -> None:
        """Raise AssertionError if a check has failed, with the traceback of each rank."""
        outcomes, log = self._outcomes(module, ranks)
        errors = {rank: outcome[check] for rank, outcome in enumerate(outcomes) if check in outcome}
        wrong = [f"rank {rank} of {ranks}:\n{error}" for rank, error in errors.items() if error]
        assert not wrong, "\n".join(wrong)
        missing = [rank for rank in range(ranks) if rank not in errors]
        assert not missing, f"of {ranks} ranks, {missing} did not finish {check}:\n{log}"

    def _outcomes(self, module: str, ranks: int) -> tuple[list[dict[str, str | None]], str]:
        from filelock import FileLock

        folder = self.shared / f"{module}-{ranks}"
        with FileLock(self.shared / f"{folder.name}.lock"):
            if not folder.exists():
                folder.mkdir()
                (folder / "log").write_text(self._launch(module, ranks, folder), encoding="utf-8")
        outcomes = []
        for rank in range(ranks):
            path = folder / f"{rank}.jsonl"
            lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
            outcomes.append(dict(map(json.loads, lines)))
        return outcomes, (folder / "log").read_text(encoding="utf-8")

    def _launch(self, module: str, ranks: int, folder: Path) -> str:
        try:
            ran = finished(begun(launcher(ranks, "-m", "tests.support.ranks", module), folder), 3 * SECONDS)
        except AssertionError as error:
            return str(error)
        return f"status {ran.status}\n{ran.out}\n{ran.err}"


if __name__ == "__main__":
    _main(sys.argv[1])
