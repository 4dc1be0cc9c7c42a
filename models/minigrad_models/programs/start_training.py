"""Starts, stops and finishes the training runs of programs, and prints their output. A run can have several ranks.
``--ranks 2`` starts two, unless mpiexec, srun or ``minigrad.run`` did. Rank 0 prints, writes the run folder and reports
at the end; the other ranks compute their share of each update."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import minigrad as mg
from minigrad import distributed, nn
from minigrad.backend.extras import how_to_install
from minigrad.distributed.group import all_end, report as report_error
from minigrad.distributed.launch import command, find_place, start
from minigrad.optim.lr_scheduler import LambdaLR
from minigrad.utils.bar import say

from ..training import Trainer, averaged_state, read_checkpoint
from ..training.batches import Batches
from .folder import BEST, REPORT, Program, write_model, write_text
from .models import check_device
from .settings import Updates

METRIC = "loss"


def trainer_of(
    model: nn.Module,
    batches: Batches[Any],
    loss: Any,
    evaluate: Any,
    s: Updates,
    folder: Path,
    extra: dict[str, Any],
    unit: str = "tokens",
    carried: Any = None,
    **best: Any,
) -> Trainer:
    """The Trainer of a run. For the arguments, see ``Trainer``. ``best`` can set ``metric`` (by default ``METRIC``) and
    ``mode``. Raises ValueError if learning-rate or loop settings are invalid."""
    optimizer = s.make_optimizer(model)
    settings = s.loop_settings(evaluate is not None, unit=unit, **{"metric": METRIC, **best})
    schedule, more = LambdaLR(optimizer, s.rate()), {"evaluate": evaluate, "extra": extra, "carried": carried}
    return Trainer(model, optimizer, batches, loss, folder=folder, settings=settings, schedule=schedule, **more)


def train_to_end(
    program: Program,
    trainer: Trainer,
    settings: Any,
    folder: Path,
    about: str,
    fresh: bool,
    report: Callable[[], str],
    best: bool = True,
) -> int:
    """Resume the run in the folder or, if ``fresh``, rename it and start another. First print ``about`` and the model's
    size. At the end, write the trained model, switch it to eval mode, and print and write the ``report`` on it. Its
    weights are the moving average, the mean of snapshots, those of the best evaluation (if ``best``), or else the last
    ones. ``settings`` are ``Sections`` whose ``training`` is an ``Updates``. Returns the exit status (130 after
    Ctrl-C). Raises the errors of ``Trainer.fit``."""
    trainer.check()
    if fresh and trainer.ranks.is_first:
        program.set_aside(folder)
    count = sum(p.numel() for p in trainer.model.parameters())
    print(f"{about}{count:,} parameters, on {settings.training.device}, in {folder}", flush=True)
    text = settings.as_toml(f"Settings of the run {folder.name}")

    if not trainer.fit(lambda: write_text(folder / "settings.toml", text)).finished:
        print(program.stopped(folder))
        return 130
    if trainer.ranks.is_first:
        model, s = trainer.model, settings.training
        if s.ema:
            assert trainer.averaged is not None
            model.load_state_dict(trainer.averaged.module.state_dict())
        elif s.average and trainer.state.snapshots:
            model.load_state_dict(averaged_state(folder))
        elif best and trainer.state.best is not None:
            model.load_state_dict(read_checkpoint(folder / BEST)["model"])
        (folder / REPORT).unlink(missing_ok=True)  # it describes the earlier model
        path = write_model(folder, model.state_dict(), trainer.state.step, trainer.extra)
        model.eval()
        print(f"saved to {path}", flush=True)
        print(summary := report(), flush=True)
        write_text(folder / REPORT, f"{summary}\n")
    return 0


def is_finished(program: Program, settings: Any, folder: Path, fresh: bool) -> bool:
    """Whether the run in a folder has finished with these settings. If so, its final output is printed again."""
    report = None if fresh else program.report(folder, settings)
    if report is not None:
        print(f"{folder} holds a finished run: --steps N trains it for longer, --fresh starts over", file=sys.stderr)
        print(report, end="", flush=True)
    return report is not None


def report_of(program: Program, trainer: Trainer, folder: Path, validation: str, *words: str) -> str:
    """A model's validation result, and the command to generate with it: ``generate --run FOLDER`` and ``words``."""
    updates = f"{trainer.state.step:,} updates in {trainer.state.seconds:.0f} s"
    write = program.typed("generate", "--run", str(folder), *words)
    return f"full validation: {validation}; {updates}\n\nto generate:  {write}"


def show(text: str) -> None:
    """Print text without disturbing a progress bar."""
    say(f"\n{text.strip()}\n", sys.stdout)


def train_as_ranks(
    program: Program, options: argparse.Namespace, settings: Any, folder: Path, train: Callable[[Any, Path, bool], int]
) -> int:
    """Call ``train(settings, folder, options.fresh)`` as one of several ranks. If this process is not a rank, start as
    many ranks as the settings request, with the same command line. Without mpi4py, one process does all the work.
    Returns the exit status. Raises ValueError if there are more ranks than batches in an update or the learning rate is
    invalid, RuntimeError if the device is unavailable, and the errors of ``train``."""
    s, started, go = settings.training, find_place().size, partial(train, settings, folder, options.fresh)
    ranks = s.ranks if started == 1 else started
    check_device(s.device)
    s.rate()
    if ranks > s.accumulate:
        there = f"{ranks} ranks share the batches of an update, but --accumulate is {s.accumulate}"
        raise ValueError(f"{there}: set --accumulate to {ranks} or a multiple of it")
    if started > 1:
        return _as_one(go)
    if not options.fresh and program.report(folder, settings):
        return go()
    if ranks > 1 and not distributed.is_mpi_available():
        install = how_to_install("mpi4py", "mpich")
        note = f"note: {ranks} ranks need mpi4py, so one process does all the work, more slowly: {install}"
        print(note, file=sys.stderr)
        ranks = 1
    if ranks == 1:
        return go()
    files = (Path(str(sys.modules[name].__file__)) for name in ("minigrad", "minigrad_models"))
    roots = [*(str(file.resolve().parents[1]) for file in files), *filter(None, [os.environ.get("PYTHONPATH")])]
    # -P, as otherwise Python would look for modules in the current folder first
    os.environ["PYTHONPATH"] = os.pathsep.join(roots)
    rank = [sys.executable, "-P", "-m", "minigrad", *program.words, *options.words]
    if rank[4:] == sys.argv[1:]:
        start(rank, ranks)  # this process becomes the command, so that signals reach mpiexec
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
        distributed.barrier()  # mpiexec ends all ranks once one ends with an error
        distributed.destroy_process_group()
        return status
    except Exception as error:
        if all_end(error):
            if not first:
                sys.exit(1)  # the first rank shows the error, which all ranks have
        else:
            report_error(error)
        raise
