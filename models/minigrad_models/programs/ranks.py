"""Trainings by several ranks: ``--ranks 2`` starts them; or mpiexec, srun or ``minigrad.run`` has done so.

Rank 0 speaks, writes the run's folder and reports at the end; the others compute their share of each update.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import minigrad as mg
from minigrad import distributed
from minigrad.backend.extras import how_to_install
from minigrad.distributed.group import GRACE, is_of_first, report
from minigrad.distributed.launch import command, find_place, start

from .updates import Updates


def train_as_ranks(words: Sequence[str], s: Updates, train: Callable[[], int], alone: str = "") -> int:
    """Call ``train`` as one of the ranks, or start as many as ``s.ranks`` says, by the words of the command
    ``minigrad`` that trains, unless this process is one of several already. Without mpi4py, one does the work of all.
    ``alone`` says why there can be but one rank; "" if there may be several. Returns the exit status. Raises
    ValueError: there are more ranks than batches in an update, or may not be several; and whatever ``train`` raises."""
    started = find_place().size
    ranks = s.ranks if started == 1 else started
    if ranks > 1 and alone:
        raise ValueError(f"there must be one rank, not {ranks}: {alone}")
    if ranks > s.accumulate:
        there = f"{ranks} ranks share the batches of an update, of which there are {s.accumulate}"
        raise ValueError(f"{there}: set --accumulate to {ranks} or a multiple of it")
    if started > 1:
        return _as_one(train)
    if ranks > 1 and not distributed.is_mpi_available():
        install = how_to_install("mpi4py", "mpich")
        note = f"note: {ranks} ranks need mpi4py, so one does the work of all, which is slower: {install}"
        print(note, file=sys.stderr)
        ranks = 1
    if ranks == 1:
        return train()
    files = (Path(str(sys.modules[name].__file__)) for name in ("minigrad", "minigrad_models"))
    roots = [*(str(file.resolve().parents[1]) for file in files), *filter(None, [os.environ.get("PYTHONPATH")])]
    # -P: Python would look for modules in the folder where a person works, first of all
    os.environ["PYTHONPATH"] = os.pathsep.join(roots)
    rank = [sys.executable, "-P", "-m", "minigrad", *words]
    if list(words) == sys.argv[1:]:
        start(rank, ranks)  # this process is the command: signals then reach mpiexec
    return subprocess.call(command(rank, ranks))


def _as_one(train: Callable[[], int]) -> int:
    distributed.init_process_group()
    if mg.cuda.is_available():
        mg.cuda.set_device(distributed.get_node_local_rank(0) % mg.cuda.device_count())
    first = distributed.get_rank() == 0
    if not first:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (it lasts as long as the program)
    try:
        status = train()
        sys.stdout.flush()
        distributed.barrier()  # mpiexec ends all with the first that ends with an error
        distributed.destroy_process_group()
        return status
    except Exception as error:
        if not first:
            time.sleep(GRACE)  # the first rank shows what all have
        report(error)
        if is_of_first(error):
            sys.exit(1)
        raise
