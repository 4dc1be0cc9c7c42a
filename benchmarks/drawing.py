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

import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context
from statistics import median
from typing import Any

import numpy as np

from .machine import describe
from .process import Failed, progress
from .program import parser, show
from .table import Cell, Table

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
        from minigrad_models.translation.train_translator import loss_of
        from minigrad_models.translation.transformer import Transformer
        from minigrad_models.translation.translation_data import Batch
        from minigrad_models.translation.translation_settings import preset

        mg.manual_seed(0)
        settings = preset("toy")
        config = configuration(replace(settings.model, **sizes), VOCABULARY)
        self.model, self.settings = Transformer(config), settings.training
        self.optimizer, self.loss = self.settings.make_optimizer(self.model), loss_of(self.settings)
        random = np.random.default_rng(0)
        source, target = (mg.tensor(random.integers(4, VOCABULARY, (rows, LENGTH))) for _ in range(2))
        self.batch, self.steps = Batch(source, target, target[:, :-1], rows * (LENGTH - 1)), 0

    def step(self) -> None:
        """An update."""
        from minigrad_models.training.update import update

        update(self.model, self.optimizer, self.loss, [self.batch], self.settings.clip, self.steps)
        self.steps += 1

    def halfway(self, action: str) -> None:
        """Do nothing, import viz, or draw. Raises RuntimeError: viz has been imported before."""
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


def serve(pipe: Any, sizes: dict[str, int]) -> None:
    """Do what each message asks, "step" or an action, and answer with the milliseconds by the clock and of the
    processors; "" is the end."""
    training = Training(**sizes)
    while what := pipe.recv():
        clock, work = time.perf_counter(), time.process_time()
        if what == "step":
            training.step()
        else:
            training.halfway(what)
        pipe.send((1000 * (time.perf_counter() - clock), 1000 * (time.process_time() - work)))


# In this one ----------------------------------------------------------------------------------------------


class Worker:
    """A process that trains when it is asked to.

    Args:
        sizes: of its Training.
    """

    def __init__(self, **sizes: int) -> None:
        context = get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, sizes))
        self.process.start()
        other.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *raised: object) -> None:
        with suppress(OSError):  # it may have ended
            self.pipe.send("")
        self.process.join()

    def ask(self, what: str) -> tuple[float, float]:
        """The milliseconds that it took, by the clock and of the processors. Raises Failed: the process has ended in an
        error, which it has written."""
        try:
            self.pipe.send(what)
            clock, work = self.pipe.recv()
        except (OSError, EOFError) as error:
            raise Failed(f"a training process ended when it was asked for {what!r}") from error
        return clock, work


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
    steps: list[Array] = []
    while len(steps) < WARM_UP + LEAST or sum(turn[0, 0] for turn in steps) < 1000 * seconds:
        turn = np.empty((len(workers), 2))
        for i in range(len(workers)):
            place = (len(steps) + i) % len(workers)
            turn[place] = workers[place].ask("step")
        steps.append(turn)
    return np.stack(steps[WARM_UP:])


def measure(rounds: int, seconds: float, **sizes: int) -> list[Round]:
    """Rounds of new processes; ``sizes`` are of their Training."""
    results = []
    for number in range(rounds):
        progress(f"drawing: round {number + 1} of {rounds}")
        with ExitStack() as stack:
            results.append(one_round([stack.enter_context(Worker(**sizes)) for _ in ACTIONS], seconds))
    return results


def table(rounds: list[Round]) -> Table:
    """The table, a row for each process but the first."""
    columns = ["a process that halfway", "before ms", "afterwards ms", "ratio", "of rounds", "of processors"]
    columns += ["of their rounds", "goal"]
    digits = ("", ".1f", ".1f", ".3f", ">", ".3f", ">", ".1f")
    result = Table("A training step, once pictures were drawn", columns, digits)
    for place, action in list(enumerate(ACTIONS))[1:]:
        cells: list[Cell] = [action]
        cells += [median(each.before[place] for each in rounds), median(each.after[place] for each in rounds)]
        for kind in range(2):
            ratios = [float(each.ratios[place, kind]) for each in rounds]
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
