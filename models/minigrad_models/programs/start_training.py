"""The trainings of programs that keep a model: how one begins, what it shows, how it stops and ends; and trainings by
several ranks: ``--ranks 2`` starts them; or mpiexec, srun or ``minigrad.run`` has done so. Rank 0 speaks, writes the
run's folder and reports at the end; the others compute their share of each update."""

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
    """The loop of a training. Arguments are those of ``Trainer``; ``best`` are the settings ``metric``, which is
    ``METRIC`` by default, and ``mode``. Raises ValueError: settings of the rates or of the loop that cannot be."""
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
    """Train, from where an earlier training in the folder stopped, or as a ``fresh`` one, for which the earlier is
    renamed. Then write the trained model, and print and write the ``report`` of what it is worth, in eval mode.
    ``settings`` are ``Sections`` with ``Updates`` as ``training``; ``about``, and the model's size, are printed first.
    The weights are the moving average, the mean of snapshots, or, with ``best``, those with the best evaluation; else
    the last ones. Returns the exit status (130 after Ctrl-C). Raises as ``Trainer.fit``."""
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
        (folder / REPORT).unlink(missing_ok=True)  # it is of the earlier model
        path = write_model(folder, model.state_dict(), trainer.state.step, trainer.extra)
        model.eval()
        print(f"saved to {path}", flush=True)
        print(summary := report(), flush=True)
        write_text(folder / REPORT, f"{summary}\n")
    return 0


def is_finished(program: Program, settings: Any, folder: Path, fresh: bool) -> bool:
    """Whether a training in a folder has ended, with these settings; what it printed then is printed again."""
    report = None if fresh else program.report(folder, settings)
    if report is not None:
        print(f"{folder} holds a finished training; --steps N trains longer, --fresh starts over", file=sys.stderr)
        print(report, end="", flush=True)
    return report is not None


def report_of(program: Program, trainer: Trainer, folder: Path, validation: str, *words: str) -> str:
    """What a model's validation gave, and the command that writes with it, ``generate --run FOLDER`` and more words."""
    updates = f"{trainer.state.step:,} updates in {trainer.state.seconds:.0f} s"
    write = program.typed("generate", "--run", str(folder), *words)
    return f"validation, all of it: {validation}; {updates}\n\nwrite with it:  {write}"


def show(text: str) -> None:
    """Print a text between the lines of a progress bar, if there is one."""
    say(f"\n{text.strip()}\n", sys.stdout)


def train_as_ranks(
    program: Program, options: argparse.Namespace, settings: Any, folder: Path, train: Callable[[Any, Path, bool], int]
) -> int:
    """Call ``train(settings, folder, options.fresh)`` as one of the ranks, or start as many as the settings say, by the
    words of the command, unless this process is one of several already. Without mpi4py, one does the work of all.
    Returns the exit status. Raises ValueError: more ranks than batches in an update, or a rate that cannot be;
    RuntimeError: the device is not there; and whatever ``train`` raises."""
    s, started, go = settings.training, find_place().size, partial(train, settings, folder, options.fresh)
    ranks = s.ranks if started == 1 else started
    check_device(s.device)
    s.rate()
    if ranks > s.accumulate:
        there = f"{ranks} ranks share the batches of an update, of which there are {s.accumulate}"
        raise ValueError(f"{there}: set --accumulate to {ranks} or a multiple of it")
    if started > 1:
        return _as_one(go)
    if not options.fresh and program.report(folder, settings):
        return go()
    if ranks > 1 and not distributed.is_mpi_available():
        install = how_to_install("mpi4py", "mpich")
        note = f"note: {ranks} ranks need mpi4py, so one does the work of all, which is slower: {install}"
        print(note, file=sys.stderr)
        ranks = 1
    if ranks == 1:
        return go()
    files = (Path(str(sys.modules[name].__file__)) for name in ("minigrad", "minigrad_models"))
    roots = [*(str(file.resolve().parents[1]) for file in files), *filter(None, [os.environ.get("PYTHONPATH")])]
    # -P: Python would look for modules in the folder where a person works, first of all
    os.environ["PYTHONPATH"] = os.pathsep.join(roots)
    rank = [sys.executable, "-P", "-m", "minigrad", *program.words, *options.words]
    if rank[4:] == sys.argv[1:]:
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
        if all_end(error):
            if not first:
                sys.exit(1)  # the first rank shows what all have
        else:
            report_error(error)
        raise
