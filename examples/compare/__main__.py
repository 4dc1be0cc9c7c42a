"""The command line of the comparison: train the missing models, evaluate them, and show the results."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from examples.lesson import program
from examples.variants import slug, train_all
from minigrad_models.programs.options import whole
from minigrad_models.translation import translation_data as data
from minigrad_models.translation.translation_settings import Settings, preset
from minigrad_models.viz.blocks import Lesson

from .lesson import lesson
from .measure import result
from .sizes import KINDS, sized

PRESET = "toy"
# As in the papers on attention, the recurrent networks have one layer on each side.
OPTIONS = {"layers": 1, "dropout": 0.1, "position_encoding": "sinusoidal"}
ADAM = {"optimizer": "adamw", "learning_rate": 0.002, "weight_decay": 0.0, "batch_tokens": 2048}  # the same for all
MUON = {**ADAM, "optimizer": "muon", "learning_rate": 0.01, "batch_tokens": 1024}  # learns in fewer updates
LAYERS = {"convolution": 4, "transformer": 2}
QUICK = ("gru", "gru-attention", "transformer"), 200, MUON  # models, the updates of each, and how they learn
FULL = tuple(KINDS), 3000, ADAM


def parser() -> argparse.ArgumentParser:
    """The command-line options."""
    p = program.parser(
        "examples.compare",
        "Train translators of equal size on the corpus that ships with minigrad, and compare them. You can stop "
        "the program: the same command resumes it, and trains no model twice.",
    )
    quick = f"(default: {', '.join(QUICK[0])})"
    p.add_argument("--models", nargs="+", metavar="NAME", choices=KINDS, help=f"{', '.join(KINDS)} {quick}")
    p.add_argument("--updates", type=whole(), help=f"updates of each model (default: {QUICK[1]})")
    p.add_argument("--full", action="store_true", help=f"all models, with {FULL[1]:,} updates each: about an hour")
    p.add_argument("--weights", type=whole(), default=1_000_000, help="per model (default: about 1,000,000)")
    folder = Path("runs") / "compare"
    p.add_argument("--folder", type=Path, default=folder, metavar="DIR", help="run folder (default: %(default)s)")
    return p


def main(argv: list[str] | None = None) -> int:
    """Run the command line. Returns the exit status: 1 if any claim does not hold, 130 after Ctrl-C."""
    return program.main(parser(), compared, argv)


def compared(options: argparse.Namespace) -> Lesson:
    """Train the untrained models, and compare all models. Raises ValueError for an impossible size or a folder
    with other training runs, RuntimeError if training fails, and KeyboardInterrupt after Ctrl-C."""
    models, updates, how = FULL if options.full else QUICK
    options.models, options.updates = options.models or models, options.updates or updates
    start = preset(PRESET).changed({"seed": options.seed})
    splits = data.read(start.data)
    vocabulary = len(data.tokenizers_for(splits["train"], start.data).target)
    variants = {name: settings_of(name, start, options, vocabulary, how) for name in options.models}
    status = train_all(variants, ["--preset", PRESET], options.folder, lambda: None)
    if status == 130:
        raise KeyboardInterrupt
    if status:
        raise RuntimeError("a training run failed; see its output")
    test = splits["test"]
    return lesson({name: result(options.folder / slug(name), test) for name in variants}, test)


def settings_of(
    name: str, start: Settings, options: argparse.Namespace, vocabulary: int, how: dict[str, Any]
) -> dict[str, Any]:
    """The settings of a model that differ from those of the preset."""
    shape = {**OPTIONS, "layers": LAYERS.get(name, OPTIONS["layers"])}
    updates = options.updates
    lengths = {"steps": updates, "warm_up": min(200, updates // 5), "evaluate_every": updates}
    sizes = sized(name, start.changed(shape), options.weights, vocabulary)
    return {**shape, **how, **sizes, **lengths, "snapshot_every": updates, "seed": options.seed}


if __name__ == "__main__":
    sys.exit(main())
