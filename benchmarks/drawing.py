"""What minigrad.viz leaves behind in the time of a training step once it was used: nothing is the goal.

    python -m benchmarks.drawing [--rounds 5] [--seconds 4]

In each round four processes train the default translator of minigrad_models.translation, in turns, a step each.
Halfway one of them imports minigrad.viz; another does so, too, and draws a graph, a playback and an attention
of its model, which it drops; two do nothing. In each turn the time of a process is taken relative to that of
the first, which did nothing, and the median of that afterwards relative to the median before: so a machine
that is busier at times, or a process that is slower from its start, makes no difference. The other that did
nothing tells how near to 1 such a ratio is by chance: a smaller change than that cannot be measured. The time
that processors were at work on a step, which other programs change less, is compared as well.

tests/viz/test_nothing_stays.py asserts the reason: no part of the engine is another one after drawing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from statistics import median
from subprocess import PIPE
from typing import Any

import numpy as np

from .machine import describe
from .process import ROOT, Failed, progress
from .program import parser, show
from .table import Table

Array = np.ndarray[Any, Any]
NOTHING, IMPORT, DRAW = "did nothing", "imported viz", "drew a graph, a playback and an attention"
ACTIONS = (NOTHING, NOTHING, IMPORT, DRAW)  # of the processes; the first is what the others are compared with
ROWS, LENGTH, VOCABULARY = 256, 8, 1284  # pairs and tokens of a batch, and words, as in a run of the preset
WARM_UP, LEAST = 3, 10  # steps of a process in each half: not timed, and timed


# In a process of its own ----------------------------------------------------------------------------------


class Training:
    """The translator of the preset "toy", or a smaller one, and a batch of random words of its vocabulary.

    Args:
        rows: of the batch. sizes: of the model that are other than the preset's.
    """

    def __init__(self, rows: int = ROWS, **sizes: Any) -> None:
        import minigrad as mg
        from minigrad_models.translation.architectures import configuration
        from minigrad_models.translation.train_translator import optimizer_of
        from minigrad_models.translation.transformer import Transformer
        from minigrad_models.translation.translation_data import Batch
        from minigrad_models.translation.translation_loss import loss_of
        from minigrad_models.translation.translation_settings import preset

        mg.manual_seed(0)
        settings = preset("toy")
        config = configuration(replace(settings.model, **sizes), VOCABULARY)
        self.model, self.settings = Transformer(config), settings.training
        self.optimizer, self.loss = optimizer_of(self.model, self.settings), loss_of(self.settings)
        random = np.random.default_rng(0)
        source, target = (mg.tensor(random.integers(4, VOCABULARY, (rows, LENGTH))) for _ in range(2))
        self.batch, self.steps = Batch(source, target, target[:, :-1], rows * (LENGTH - 1)), 0

    def step(self) -> None:
        """An update."""
        from minigrad_models.training.update import update

        update(self.model, self.optimizer, self.loss, [self.batch], self.settings.clip, self.steps)
        self.steps += 1

    def halfway(self, action: str) -> None:
        """Do nothing, import viz, or draw.

        Raises:
            RuntimeError: viz has been imported before.
        """
        if "minigrad.viz" in sys.modules:
            raise RuntimeError("minigrad.viz has been imported already: this is no measurement")
        if action != NOTHING:
            import minigrad.viz  # noqa: F401
        if action == DRAW:
            draw(self.model, *self.batch[:2])


def draw(model: Any, source: Any, target: Any) -> None:
    """A graph, a playback and an attention, each as a page, and nothing of them kept."""
    from minigrad import viz

    source, target = source[:2], target[:2]
    viz.graph(model.loss, source, target).html()
    viz.graph(model.loss(source, target)).html()
    viz.playback(model.loss, source, target).html()
    viz.attention(model, source, target[:, :-1]).html()


def serve(given: str) -> None:
    """Do what each line asks, "step" or an action, and answer with the milliseconds by the clock and of the
    processors.

    Args:
        given: of a Training, as JSON.
    """
    training = Training(**json.loads(given))
    for line in sys.stdin:
        what, clock, work = line.strip(), time.perf_counter(), time.process_time()
        if what == "step":
            training.step()
        else:
            training.halfway(what)
        print(1000 * (time.perf_counter() - clock), 1000 * (time.process_time() - work), flush=True)


# In this one ----------------------------------------------------------------------------------------------


class Worker:
    """A process that trains when it is asked to.

    Args:
        given: of its Training.
    """

    def __init__(self, **given: Any) -> None:
        program = "import sys; from benchmarks.drawing import serve; serve(sys.argv[1])"
        command = [sys.executable, "-c", program, json.dumps(given)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=PIPE, stdout=PIPE, text=True)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *raised: object) -> None:
        self.process.communicate()  # it ends where there is nothing more to read

    def ask(self, what: str) -> tuple[float, float]:
        """The milliseconds that it took, by the clock and of the processors.

        Raises:
            Failed: the process has ended in an error, which it has written.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            print(what, file=self.process.stdin, flush=True)
            clock, work = self.process.stdout.readline().split()
            return float(clock), float(work)
        except (OSError, ValueError) as error:
            raise Failed(f"a training process ended when it was asked for {what!r}") from error


@dataclass(frozen=True)
class Round:
    """What a round has found, for each process.

    Attributes:
        before, after: the median milliseconds of a step by the clock. ratios: afterwards to before, relative
            to the first process, by the clock and of the processors (processes, 2).
    """

    before: list[float]
    after: list[float]
    ratios: Array


def one_round(workers: list[Worker], seconds: float) -> Round:
    """Steps for half the time, the actions, and steps for the other half."""
    before = turns(workers, seconds / 2)
    for worker, action in zip(workers, ACTIONS, strict=True):
        worker.ask(action)
    after = turns(workers, seconds / 2)
    relative = [np.median(half / half[:, :1], axis=0) for half in (before, after)]
    times = [np.median(half[..., 0], axis=0).tolist() for half in (before, after)]
    return Round(times[0], times[1], relative[1] / relative[0])


def turns(workers: list[Worker], seconds: float) -> Array:
    """The milliseconds of steps (turns, processes, 2), of so many that those of the first take ``seconds``.

    Each turn begins with another process, as the first may find the machine in another state.
    """
    found: list[Array] = []
    while len(found) < WARM_UP + LEAST or sum(turn[0, 0] for turn in found) < 1000 * seconds:
        turn = np.empty((len(workers), 2))
        for i in range(len(workers)):
            place = (len(found) + i) % len(workers)
            turn[place] = workers[place].ask("step")
        found.append(turn)
    return np.stack(found[WARM_UP:])


def measure(rounds: int, seconds: float, **given: Any) -> list[Round]:
    """Rounds of new processes; ``given`` is of their Training."""
    found = []
    for number in range(rounds):
        progress(f"drawing: round {number + 1} of {rounds}")
        with ExitStack() as stack:
            found.append(one_round([stack.enter_context(Worker(**given)) for _ in ACTIONS], seconds))
    return found


def table(found: list[Round]) -> Table:
    """The table, a row for each process but the first."""
    columns = (
        "a process that halfway",
        "before ms",
        "afterwards ms",
        "ratio",
        "of rounds",
        "of processors",
        "of their rounds",
        "goal",
    )
    digits = ("", ".1f", ".1f", ".3f", ">", ".3f", ">", ".1f")
    result = Table("A training step, once pictures were drawn", columns, digits)
    for place, action in list(enumerate(ACTIONS))[1:]:
        cells: list[float | str | None] = [action]
        cells += [median(each.before[place] for each in found), median(each.after[place] for each in found)]
        for kind in range(2):
            ratios = [float(each.ratios[place, kind]) for each in found]
            cells += [median(ratios), f"{min(ratios):.3f}–{max(ratios):.3f}"]
        result.add(*cells, None if action == NOTHING else 1.0)
    result.notes.append("ratio: afterwards to before, both relative to another process that did nothing")
    result.notes.append("the first row is chance: what differs from 1 no more than it does is no change")
    return result


def main() -> None:
    """Measure and print."""
    options = parser("benchmarks.drawing", __doc__, rounds=5, seconds=4.0).parse_args()
    print(describe(), flush=True)
    show(table(measure(options.rounds, options.seconds)))


if __name__ == "__main__":
    main()
